/* api_fixture.h: what the tests of the public interface share. Public headers only. */
#ifndef API_FIXTURE_H
#define API_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <relax/relax.h>

#define Z(s) (s), strlen(s)
#define N(array) (sizeof(array) / sizeof(array)[0])

/* A context whose memory is counted: when it is gone, nothing may be left. */
typedef struct fixture {
    relax_context *ctx;
    relax_allocator allocator;
    size_t live;
} fixture;

static inline void *count_alloc(void *user, size_t size, size_t align)
{
    ((fixture *)user)->live += size;
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static inline void count_free(void *user, void *ptr, size_t size, size_t align)
{
    (void)align;
    if (ptr)
        ((fixture *)user)->live -= size;
    free(ptr);
}

static inline void *count_resize(void *user, void *ptr, size_t old_size, size_t new_size,
                                 size_t align)
{
    void *p = count_alloc(user, new_size, align);
    if (p && ptr)
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    if (p)
        count_free(user, ptr, old_size, align);
    return p;
}

static inline int open_fixture(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    relax_context_options options;
    f->allocator =
        (relax_allocator){ sizeof f->allocator, f, count_alloc, count_resize, count_free };
    relax_context_options_init(&options, sizeof options);
    options.allocator = &f->allocator;
    f->ctx = relax_context_create(&options);
    *state = f;
    return f->ctx ? 0 : -1;
}

static inline int close_fixture(void **state)
{
    fixture *f = *state;
    relax_context_release(f->ctx);
    size_t left = f->live;
    free(f);
    if (left)
        print_error("%zu bytes are left\n", left);
    return left ? -1 : 0;
}

/* Nothing was said; what was is shown. */
static inline void assert_quiet(relax_context *ctx)
{
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *text = relax_diagnostic_render(ctx, i);
        print_error("%s", relax_bytes_data(text));
        relax_bytes_release(text);
    }
    assert_int_equal(relax_context_num_diagnostics(ctx) + relax_context_num_errors(ctx), 0);
}

/* The first error is `code`; forgets all. */
static inline void assert_said(relax_context *ctx, const char *code)
{
    size_t i = 0, count = relax_context_num_diagnostics(ctx);
    while (i < count && relax_diagnostic_severity(ctx, i) != RELAX_SEVERITY_ERROR)
        i++;
    if (i == count)
        fail_msg("wanted error[%s], nothing was said", code);
    const char *got = relax_diagnostic_code(ctx, i);
    if (!got || strcmp(got, code) != 0)
        fail_msg("wanted error[%s], got error[%s]: %s", code, got ? got : "none",
                 relax_diagnostic_message(ctx, i, NULL));
    relax_context_clear_diagnostics(ctx);
}

static inline char *printed(relax_context *ctx, const relax_node *node)
{
    relax_bytes *text = relax_node_print(ctx, node, NULL);
    assert_non_null(text);
    char *copy = strdup(relax_bytes_data(text));
    relax_bytes_release(text);
    return copy;
}

static inline relax_struct_info *floats(relax_context *ctx, const relax_prim_expr *rows,
                                        int64_t columns)
{
    const relax_prim_expr *dims[] = { rows, relax_prim_int_new(ctx, columns) };
    return relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32);
}

/* A float32 tensor with that content. */
static inline relax_tensor *tensor_of(const float *data, int64_t rows, int64_t columns)
{
    relax_tensor *t = NULL;
    int64_t shape[] = { rows, columns };
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, shape, 2, NULL, &t, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_copy_in(t, data, (size_t)(rows * columns) * sizeof *data),
                     RELAX_OK);
    return t;
}

/* Compiles, calls `main` with one tensor and copies `count` floats of the result. */
static inline void run_main(relax_context *ctx, const relax_module *module, relax_tensor *in,
                            float *out, size_t count)
{
    relax_executable *exe = relax_module_compile(ctx, module, NULL);
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_value arg, result;
    assert_quiet(ctx);
    assert_non_null(exe);
    assert_int_equal(relax_vm_create(exe, NULL, &vm, &error), RELAX_OK);
    relax_value_set_tensor(&arg, in);
    relax_status status = relax_vm_call(vm, "main", 4, &arg, 1, &result, &error);
    if (status != RELAX_OK)
        fail_msg("error[%s]: %s", relax_error_code(error), relax_error_message(error, NULL));
    assert_int_equal(
        relax_tensor_copy_out(relax_value_get_tensor(&result), out, count * sizeof *out),
        RELAX_OK);
    relax_value_release(&result);
    relax_value_release(&arg);
    relax_vm_release(vm);
    relax_executable_release(exe);
}

#endif
