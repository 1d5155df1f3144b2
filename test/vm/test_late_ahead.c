/* test_late_ahead: files in a file, which late calls find there: what a host must not be made to load, and calls inside of each other. */
#include "assemble.h"

#include <relax/relax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "format/late_key.h"
#include "text_file.h"

/* A file whose main(x) is a late call, with `inner` compiled ahead for a vector of float32. */
static void put_outer(kit *k, const void *inner, size_t inner_size)
{
    static const char zeros[8];
    rlx_file_writer *w = &k->w;
    uint32_t f = rlx_file_writer_function(w), params = kit_objects(k, 1), x = 0,
             text = rlx_file_writer_const_string(w, RLX_SLICE("no program: $")), code = rlx_file_writer_here(w);
    RLX_EMIT_LIST(w, RLX_OP_CALL_LATE, &x, 1, 1, text, rlx_file_writer_name(w, RLX_SLICE("own(x)")), 1);
    RLX_EMIT(w, RLX_OP_RETURN, 1);
    kit_function(k, f, "main", code, params, 1, 2, 0);
    const uint64_t head[] = { 2, text, rlx_dl_key_make(1, RELAX_FLOAT32), inner_size };
    rlx_buf_put(&w->late, (const char *)head, sizeof head);
    rlx_buf_put(&w->late, inner, inner_size);
    rlx_buf_put(&w->late, zeros, -inner_size & 7);
    assert_non_null(k->file = rlx_file_writer_finish(w, &k->memory));
}

static void load(kit *k, int32_t allow_native)
{
    relax_load_options how;
    relax_vm_options options;
    relax_load_options_init(&how, sizeof how);
    how.allow_native = allow_native;
    assert_int_equal(relax_executable_load(k->file->data, k->file->size, &how, &k->exe, &k->err), RELAX_OK);
    relax_vm_options_init(&options, sizeof options);
    options.registry = k->registry;
    options.no_late = 1;
    assert_int_equal(relax_vm_create(k->exe, &options, &k->vm, &k->err), RELAX_OK);
}

static relax_status call(kit *k, float start, relax_value *result)
{
    relax_value x = kit_vector(3, start);
    relax_status status = relax_vm_call(k->vm, "main", 4, &x, 1, result, &k->err);
    relax_value_release(&x);
    return status;
}

/* ---- machine code --------------------------------------------------------------------------- */

/* Parts of this process that are native kernels. */
static size_t native_parts(void)
{
    char line[500];
    size_t n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        n += strstr(line, "relax-kernels") != NULL;
    fclose(f);
    return n;
}

static relax_bytes *native_file(void)
{
    const char *text = PROGRAM("a square");
    relax_context *ctx = relax_context_create(NULL);
    relax_compile_options options;
    relax_bytes *file = NULL;
    relax_module *module = relax_module_parse(ctx, "m.py", 4, text, strlen(text));
    relax_compile_options_init(&options, sizeof options);
    options.target = "c";
    options.allow_compiler = 1;
    options.compiler = getenv("CC");
    relax_executable *exe = relax_module_compile(ctx, module, &options);
    assert_non_null(exe);
    assert_true(relax_executable_num_native_kernels(exe) > 0);
    assert_int_equal(relax_executable_serialize(exe, &file, NULL), RELAX_OK);
    relax_executable_release(exe);
    relax_context_release(ctx);
    return file;
}

static void native_code_only_where_allowed(void **state)
{
    relax_bytes *inner = native_file();
    for (int32_t allow = 0; allow < 2; allow++) {
        kit kit_, *k = &kit_;
        relax_value y;
        kit_begin(k);
        put_outer(k, relax_bytes_data(inner), relax_bytes_size(inner));
        size_t before = native_parts();
        load(k, allow);
        assert_int_equal(call(k, 2, &y), RELAX_OK);
        assert_true(((float *)relax_tensor_data(relax_value_get_tensor(&y)))[2] == 16.0f);
        assert_int_equal(native_parts() > before, allow);
        relax_value_release(&y);
        kit_end(k);
    }
    relax_bytes_release(inner);
}

/* ---- calls inside of calls ------------------------------------------------------------------ */

enum { DEEP = 4 };
typedef struct again { kit *k; int depth; float seen[DEEP]; } again;

static float first_of(const relax_value *v) { return *(const float *)relax_tensor_data(relax_value_get_tensor(v)); }

/* Calls main, and gives back its own argument, which has to be there still. */
static int call_again(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    again *a = self;
    relax_value inner = { 0 };
    int depth = a->depth++;
    if (a->depth < DEEP && call(a->k, 10.0f * (float)a->depth, &inner) != RELAX_OK)
        return 1;
    relax_value_release(&inner);
    a->seen[depth] = num_args == 1 ? first_of(&args[0]) : -1;
    *result = args[0];
    relax_value_retain(result);
    return 0;
}

static void arguments_stay_while_it_is_called_again(void **state)
{
    kit inner_, *inner = &inner_, kit_, *k = &kit_;
    again a = { .k = k };
    kit_begin(inner);
    rlx_file_writer *w = &inner->w;
    uint32_t f = rlx_file_writer_function(w), params = kit_objects(inner, 1), x = 0,
             packed = rlx_file_writer_packed(w, RLX_SLICE("again")), code = rlx_file_writer_here(w);
    RLX_EMIT_LIST(w, RLX_OP_CALL_PACKED, &x, 1, 1, packed);
    RLX_EMIT(w, RLX_OP_RETURN, 1);
    kit_function(inner, f, "main", code, params, 1, 2, 0);
    assert_non_null(inner->file = rlx_file_writer_finish(w, &inner->memory));
    kit_begin(k);
    kit_register(k, "again", call_again, &a);
    put_outer(k, inner->file->data, inner->file->size);
    load(k, 0);
    relax_value y;
    assert_int_equal(call(k, 0, &y), RELAX_OK);
    for (int i = 0; i < DEEP; i++)
        assert_true(a.seen[i] == 10.0f * (float)i);
    assert_true(first_of(&y) == 0);
    relax_value_release(&y);
    kit_end(k);
    kit_end(inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_code_only_where_allowed),
        cmocka_unit_test(arguments_stay_while_it_is_called_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
