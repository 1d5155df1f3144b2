/* program.h: text compiled and run, for the tests of codegen. */
#ifndef TEST_CODEGEN_PROGRAM_H
#define TEST_CODEGEN_PROGRAM_H

#include <relax/relax.h>
#include <stdbool.h>
#include "../base/cmocka_all.h"

#define HEAD                                  \
    "from tvm.script import ir as I\n"        \
    "from tvm.script import relax as R\n"     \
    "from tvm.script import tir as T\n"       \
    "@I.ir_module\n"                          \
    "class Module:\n"
/* Descriptions that most programs use. */
#define VEC "R.Tensor((\"n\",), dtype=\"float32\")"
#define VEC_M "R.Tensor((\"m\",), dtype=\"float32\")"
#define VEC_2 "R.Tensor((2,), dtype=\"float32\")"
#define INT0 "R.Tensor((), dtype=\"int64\")"

typedef struct program {
    relax_context *ctx;
    relax_executable *exe;
    relax_registry *registry;
    relax_vm *vm;
    relax_value result;
    relax_error *err;
    int32_t opt_level, strip, trust; /* set before program_build */
    relax_value args[8];             /* of the next call; released by it */
    size_t num_args;
} program;

static inline void program_show(program *p)
{
    for (size_t i = 0; i < relax_context_num_diagnostics(p->ctx); i++) {
        relax_bytes *text = relax_diagnostic_render(p->ctx, i);
        print_message("%s\n", text ? (const char *)relax_bytes_data(text) : "?");
        relax_bytes_release(text);
    }
}

/* Compiles; NULL in p->exe if it cannot. */
static inline void program_try(program *p, const char *text)
{
    relax_context_options o;
    relax_context_options_init(&o, sizeof o);
    o.trust_annotations = p->trust;
    p->ctx = relax_context_create(&o);
    relax_module *m = relax_module_parse(p->ctx, "m.py", 4, text, strlen(text));
    relax_compile_options c;
    relax_compile_options_init(&c, sizeof c);
    c.opt_level = p->opt_level;
    c.strip = p->strip;
    if (m && !relax_context_num_errors(p->ctx))
        p->exe = relax_module_compile(p->ctx, m, &c);
}

static inline void program_build_checked(program *p)
{
    if (!p->exe)
        program_show(p);
    assert_non_null(p->exe);
}

static inline void program_build(program *p, const char *text)
{
    program_try(p, text);
    program_build_checked(p);
}

static inline void program_register(program *p, const char *name, relax_packed_fn fn, void *user)
{
    if (!p->registry)
        assert_int_equal(relax_registry_create(NULL, &p->registry, NULL), RELAX_OK);
    assert_int_equal(
        relax_registry_register(p->registry, name, strlen(name), fn, user, NULL, NULL), RELAX_OK);
}

static inline void program_vm(program *p, size_t max_depth)
{
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.registry = p->registry;
    if (max_depth)
        o.max_depth = max_depth;
    relax_vm_release(p->vm);
    p->vm = NULL;
    assert_int_equal(relax_vm_create(p->exe, &o, &p->vm, NULL), RELAX_OK);
}

static inline relax_value *program_arg(program *p)
{
    assert_true(p->num_args < 8);
    return &p->args[p->num_args++];
}

static inline void program_tensor(program *p, relax_dtype dtype, const int64_t *shape,
                                  int32_t ndim, const void *data)
{
    relax_tensor *t = NULL;
    assert_int_equal(relax_tensor_create(dtype, shape, ndim, NULL, &t, NULL), RELAX_OK);
    if (data)
        relax_tensor_copy_in(t, data, relax_tensor_bytes(t));
    relax_value_set_tensor(program_arg(p), t);
    relax_tensor_release(t);
}
static inline void program_f32(program *p, int64_t n, const float *data)
{
    program_tensor(p, RELAX_FLOAT32, &n, 1, data);
}
static inline void program_i64(program *p, int64_t v)
{
    program_tensor(p, RELAX_INT64, NULL, 0, &v);
}
static inline void program_bool(program *p, int v)
{
    unsigned char b = v != 0;
    program_tensor(p, RELAX_BOOL, NULL, 0, &b);
}

static inline relax_status program_call(program *p, const char *function)
{
    if (!p->vm)
        program_vm(p, 0);
    relax_value_release(&p->result);
    relax_error_release(p->err);
    p->err = NULL;
    relax_status s = relax_vm_call(p->vm, function, strlen(function), p->args, p->num_args,
                                   &p->result, &p->err);
    while (p->num_args)
        relax_value_release(&p->args[--p->num_args]);
    return s;
}

static inline void program_ok(program *p, const char *function)
{
    relax_status s = program_call(p, function);
    if (s != RELAX_OK)
        print_message("%s: [%s] %s\n", function, relax_error_code(p->err),
                      relax_error_message(p->err, NULL));
    assert_int_equal(s, RELAX_OK);
}

/* The call fails with this code, and the message has that text. */
static inline void program_fails(program *p, const char *function, const char *code,
                                 const char *inner, const char *text)
{
    assert_int_not_equal(program_call(p, function), RELAX_OK);
    assert_string_equal(relax_error_code(p->err), code);
    assert_string_equal(relax_error_inner_code(p->err), inner);
    if (text && !strstr(relax_error_message(p->err, NULL), text)) {
        print_message("message: %s\nwanted: %s\n", relax_error_message(p->err, NULL), text);
        fail();
    }
}

/* It does not compile: some diagnostic has the code and the text. */
static inline void program_refused(program *p, const char *text, const char *code,
                                   const char *message)
{
    program_try(p, text);
    bool found = false;
    for (size_t i = 0; i < relax_context_num_diagnostics(p->ctx); i++)
        found = found || (strcmp(relax_diagnostic_code(p->ctx, i), code) == 0 &&
                          strstr(relax_diagnostic_message(p->ctx, i, NULL), message));
    if (!found)
        program_show(p);
    assert_null(p->exe);
    assert_true(found);
}

/* `value` is a float32 tensor of n elements with these. */
static inline void expect_f32_value(const relax_value *value, size_t n, const float *want)
{
    const relax_tensor *t = relax_value_get_tensor(value);
    assert_non_null(t);
    assert_int_equal(relax_tensor_dtype(t), RELAX_FLOAT32);
    assert_int_equal(relax_tensor_bytes(t), n * sizeof *want);
    const float *have = relax_tensor_data(t);
    for (size_t i = 0; i < n; i++) {
        float off = have[i] - want[i], most = 1e-5f + 1e-5f * (want[i] < 0 ? -want[i] : want[i]);
        if (!(off <= most && off >= -most))
            print_message("element %zu is %g, expected %g\n", i, (double)have[i], (double)want[i]);
        assert_true(off <= most && off >= -most);
    }
}
static inline void expect_f32(program *p, size_t n, const float *want)
{
    expect_f32_value(&p->result, n, want);
}

static inline void expect_i64(program *p, int64_t want)
{
    const relax_tensor *t = relax_value_get_tensor(&p->result);
    assert_non_null(t);
    assert_int_equal(relax_tensor_dtype(t), RELAX_INT64);
    assert_int_equal(relax_tensor_ndim(t), 0);
    assert_int_equal(*(const int64_t *)relax_tensor_data(t), want);
}

/* Text of the program as `relax dis` shows it. */
static inline bool program_shows(program *p, const char *text)
{
    relax_bytes *b = NULL;
    assert_int_equal(relax_executable_disassemble(p->exe, &b, NULL), RELAX_OK);
    bool found = strstr((const char *)relax_bytes_data(b), text) != NULL;
    relax_bytes_release(b);
    return found;
}

static inline void program_end(program *p)
{
    relax_value_release(&p->result);
    relax_error_release(p->err);
    relax_vm_release(p->vm);
    relax_executable_release(p->exe);
    relax_registry_release(p->registry);
    relax_context_release(p->ctx);
}

#endif
