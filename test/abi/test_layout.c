/* test_layout: the numbers and layouts that other libraries share with ours, as literals.
 *
 * The value cell and its type numbers are those of tvm-ffi 0.1, the tensor structs those of
 * DLPack 1.x. What is only ours (option structs) is watched by abidiff against the baseline
 * instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <relax/common.h>
#include <relax/dlpack.h>
#include <relax/value.h>

#define PLACE(type, field, offset) { #type "." #field, offsetof(type, field), offset }
#define SIZE(type, size) { "sizeof " #type, sizeof(type), size }

typedef struct DLManagedTensorVersioned versioned;

/* On 64 bits. `got` first, then what the other library's header says. */
static const struct { const char *what; size_t got, want; } layouts[] = {
    SIZE(relax_value, 16),
    PLACE(relax_value, type_index, 0),
    PLACE(relax_value, reserved, 4),
    PLACE(relax_value, v, 8),
    SIZE(DLDevice, 8),
    SIZE(DLDataType, 4),
    SIZE(DLTensor, 48),
    PLACE(DLTensor, data, 0),
    PLACE(DLTensor, device, 8),
    PLACE(DLTensor, ndim, 16),
    PLACE(DLTensor, dtype, 20),
    PLACE(DLTensor, shape, 24),
    PLACE(DLTensor, strides, 32),
    PLACE(DLTensor, byte_offset, 40),
    SIZE(DLManagedTensor, 64),
    PLACE(DLManagedTensor, manager_ctx, 48),
    PLACE(DLManagedTensor, deleter, 56),
    SIZE(versioned, 80),
    PLACE(versioned, version, 0),
    PLACE(versioned, manager_ctx, 8),
    PLACE(versioned, deleter, 16),
    PLACE(versioned, flags, 24),
    PLACE(versioned, dl_tensor, 32),
};

static const struct { const char *what; int64_t got, want; } numbers[] = {
    { "none", RELAX_VALUE_NONE, 0 },
    { "int", RELAX_VALUE_INT, 1 },
    { "bool", RELAX_VALUE_BOOL, 2 },
    { "float", RELAX_VALUE_FLOAT, 3 },
    { "pointer", RELAX_VALUE_POINTER, 4 },
    { "dtype", RELAX_VALUE_DTYPE, 5 },
    { "device", RELAX_VALUE_DEVICE, 6 },
    { "tensor view", RELAX_VALUE_TENSOR_VIEW, 7 },
    { "raw string", RELAX_VALUE_RAW_STRING, 8 },
    { "byte array", RELAX_VALUE_BYTE_ARRAY, 9 },
    { "rvalue reference", RELAX_VALUE_RVALUE_REF, 10 },
    { "small string", RELAX_VALUE_SMALL_STRING, 11 },
    { "small bytes", RELAX_VALUE_SMALL_BYTES, 12 },
    { "object", RELAX_VALUE_OBJECT, 64 },
    { "string", RELAX_VALUE_STRING, 65 },
    { "bytes", RELAX_VALUE_BYTES, 66 },
    { "error", RELAX_VALUE_ERROR, 67 },
    { "function", RELAX_VALUE_FUNCTION, 68 },
    { "shape", RELAX_VALUE_SHAPE, 69 },
    { "tensor", RELAX_VALUE_TENSOR, 70 },
    /* a dtype is DLPack's three fields in one word: code | bits << 8 | lanes << 16 */
    { "float32", RELAX_FLOAT32, 2 | 32 << 8 | 1 << 16 },
    { "int64", RELAX_INT64, 0 | 64 << 8 | 1 << 16 },
    { "uint8", RELAX_UINT8, 1 | 8 << 8 | 1 << 16 },
    { "bfloat16", RELAX_BFLOAT16, 4 | 16 << 8 | 1 << 16 },
    { "float8_e4m3fn", RELAX_FLOAT8_E4M3FN, 10 | 8 << 8 | 1 << 16 },
    { "float8_e5m2", RELAX_FLOAT8_E5M2, 12 | 8 << 8 | 1 << 16 },
};

static void layouts_are_those_of_the_others(void **state)
{
    (void)state;
    if (sizeof(void *) != 8)
        skip();
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].got != layouts[i].want)
            fail_msg("%s is %zu, not %zu", layouts[i].what, layouts[i].got, layouts[i].want);
}

static void numbers_are_those_of_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].got != numbers[i].want)
            fail_msg("%s is %lld, not %lld", numbers[i].what, (long long)numbers[i].got,
                     (long long)numbers[i].want);
}

/* Cells are compared and hashed as bytes elsewhere: no field may leave a gap. */
static void the_cell_has_no_padding(void **state)
{
    (void)state;
    assert_int_equal(sizeof(int32_t) + sizeof(uint32_t) + sizeof(union relax_payload),
                     sizeof(relax_value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_those_of_the_others),
        cmocka_unit_test(numbers_are_those_of_the_others),
        cmocka_unit_test(the_cell_has_no_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
