/* test_numbers.c: every case of numbers.txt (calls and what numpy gives for them) is built,
 * inferred, lowered and run by the evaluator and as kernel bytecode, with literal sizes, with one
 * variable for each size, and with a variable of its own for every dimension, where nothing is
 * proved and the kernel must check. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <relax/dlpack.h>
#include <relax/value.h>
#include "../base/failing.h"
#include "codegen/kgen.h"
#include "op/op.h"
#include "runtime/kernel.h"
#include "sinfo/builder.h"

#define MAX_ARGS 8
#define MAX_OUTS 4
#define MAX_INPUTS 24 /* of a kernel */
#define MAX_RANK 6
#define MAX_BYTES 16384

/* SCALAR_NAMED, TUPLE_NAMED: numbers that are not negative are variables where sizes are. */
enum { IS_SHAPE = -1, IS_SCALAR = -2, IS_TUPLE = -3, IS_TUPLE_NAMED = -4, IS_SCALAR_NAMED = -5 };

typedef struct array {
    rlx_dtype dtype;
    int ndim;                   /* or what the argument is, its text in `text` */
    int64_t shape[MAX_RANK];
    unsigned char bytes[MAX_BYTES];
    char text[64];
} array;

typedef struct number_case {
    int line;
    char op[48], fault[8];
    struct { char name[32], type[16], value[64]; } attrs[12];
    int num_attrs, num_args, num_outs;
    array args[MAX_ARGS], outs[MAX_OUTS];
    double tol;
    bool loose;
} number_case;

/* ---- reading the file ----------------------------------------------------------------------- */

static int read_ints(const char *text, int64_t *out)
{
    int n = 0;
    if (text[0] == '-' && !text[1])
        return 0;
    for (char *end; n < MAX_RANK * 2; text = end + 1) {
        out[n++] = strtoll(text, &end, 10);
        if (*end != ',')
            break;
    }
    return n;
}

static void read_array(char *line, array *a)
{
    char dtype[32], shape[64];
    int at = 0;
    assert_int_equal(sscanf(line, "%31s %63s %n", dtype, shape, &at), 2);
    assert_true(rlx_dtype_parse(rlx_slice_z(dtype), &a->dtype));
    a->ndim = read_ints(shape, a->shape);
    const char *hex = line + at;
    size_t n = hex[0] == '-' ? 0 : strlen(hex) / 2;
    assert_true(n <= MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        a->bytes[i] = (unsigned char)byte;
    }
}

static int kind_of(const char *tag)
{
    static const struct { const char *tag; int kind;
    } kinds[] = {
        { "shape", IS_SHAPE },        { "scalar", IS_SCALAR },      { "tuple", IS_TUPLE },
        { "bounds", IS_TUPLE_NAMED }, { "bound", IS_SCALAR_NAMED },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(tag, kinds[i].tag))
            return kinds[i].kind;
    return 0;
}

static void read_line(number_case *c, char *line)
{
    char tag[16];
    int at = 0;
    sscanf(line, "%15s %n", tag, &at);
    char *rest = line + at;
    if (!strcmp(tag, "op"))
        snprintf(c->op, sizeof c->op, "%s", rest);
    else if (!strcmp(tag, "attr"))
        sscanf(rest, "%31s %15s %63s", c->attrs[c->num_attrs].name, c->attrs[c->num_attrs].type,
               c->attrs[c->num_attrs].value),
            c->num_attrs++;
    else if (!strcmp(tag, "arg"))
        read_array(rest, &c->args[c->num_args++]);
    else if (kind_of(tag))
        c->args[c->num_args].ndim = kind_of(tag),
        snprintf(c->args[c->num_args++].text, 64, "%s", rest);
    else if (!strcmp(tag, "out"))
        read_array(rest, &c->outs[c->num_outs++]);
    else if (!strcmp(tag, "fault"))
        snprintf(c->fault, sizeof c->fault, "%s", rest);
    else if (!strcmp(tag, "tol"))
        c->tol = atof(rest);
    else if (!strcmp(tag, "loose"))
        c->loose = true;
    else
        fail_msg("line %d: %s", c->line, tag);
}

/* The next case, false at the end. */
static bool read_case(FILE *f, number_case *c, int *line_number)
{
    static char line[2 * MAX_BYTES + 256];
    memset(c, 0, sizeof *c);
    while (fgets(line, sizeof line, f)) {
        ++*line_number;
        line[strcspn(line, "\n")] = 0;
        if (!line[0] && c->op[0])
            return true;
        if (!line[0])
            continue;
        if (!c->line)
            c->line = *line_number;
        read_line(c, line);
    }
    return c->op[0] != 0;
}

/* ---- building the call ---------------------------------------------------------------------- */

enum mode { MODE_LITERAL, MODE_SHARED, MODE_LOOSE, MODE_COUNT };

typedef struct bench {
    rlx_context *ctx;
    rlx_scope scope;
    const rlx_prim_var *vars[64];
    int64_t values[64];
    size_t num_vars;
} bench;

static const rlx_prim *symbol(bench *b, int64_t value)
{
    char name[16];
    snprintf(name, sizeof name, "n%zu", b->num_vars);
    rlx_prim_var *v = rlx_node_new(b->ctx, RLX_NODE_PRIM_VAR);
    v->name = rlx_string_z(b->ctx, name);
    v->dtype = RELAX_INT64;
    assert_true(rlx_scope_add(&b->scope, v, true));
    b->vars[b->num_vars] = v;
    b->values[b->num_vars++] = value;
    return &v->node;
}

static const rlx_prim *size_of(bench *b, enum mode mode, int64_t value)
{
    if (mode == MODE_LITERAL || (mode == MODE_SHARED && value == 1))
        return rlx_int64(b->ctx, value);
    for (size_t i = 0; mode == MODE_SHARED && i < b->num_vars; i++)
        if (b->values[i] == value)
            return &b->vars[i]->node;
    return symbol(b, value);
}

static const rlx_expr *scalar_expr(bench *b, const char *text)
{
    char name[32], value[32];
    rlx_dtype t;
    sscanf(text, "%31s %31s", name, value);
    assert_true(rlx_dtype_parse(rlx_slice_z(name), &t));
    const rlx_prim *p = rlx_dtype_is_float(t) ? rlx_float(b->ctx, t, atof(value))
                                              : rlx_int(b->ctx, t, atoll(value));
    return rlx_prim_value_new(b->ctx, p);
}

static const rlx_expr *number_expr(bench *b, enum mode mode, int64_t value)
{
    const rlx_prim *p =
        mode == MODE_LITERAL || value < 0 ? rlx_int64(b->ctx, value) : size_of(b, mode, value);
    return rlx_prim_value_new(b->ctx, p);
}

static const rlx_expr *tuple_expr(bench *b, enum mode mode, const char *text)
{
    const rlx_expr *fields[MAX_RANK * 2];
    int64_t values[MAX_RANK * 2];
    int n = read_ints(text, values);
    for (int i = 0; i < n; i++)
        fields[i] = number_expr(b, mode, values[i]);
    return rlx_tuple_new(b->ctx, fields, (size_t)n, RLX_NO_PLACE);
}

static const rlx_expr *arg_expr(bench *b, enum mode mode, const array *a, int i)
{
    char name[16];
    const rlx_prim *dims[MAX_RANK];
    if (a->ndim == IS_SCALAR)
        return scalar_expr(b, a->text);
    if (a->ndim == IS_SCALAR_NAMED)
        return number_expr(b, mode, atoll(a->text));
    if (a->ndim == IS_TUPLE || a->ndim == IS_TUPLE_NAMED)
        return tuple_expr(b, a->ndim == IS_TUPLE ? MODE_LITERAL : mode, a->text);
    if (a->ndim == IS_SHAPE) {
        int64_t sizes[MAX_RANK * 2];
        return rlx_shape_of_ints(b->ctx, sizes, (size_t)read_ints(a->text, sizes));
    }
    for (int k = 0; k < a->ndim; k++)
        dims[k] = size_of(b, mode, a->shape[k]);
    snprintf(name, sizeof name, "a%d", i);
    const rlx_sinfo *s = rlx_tensor_info(b->ctx, rlx_shape_new(b->ctx, dims, (size_t)a->ndim),
                                         a->dtype, a->ndim, NULL);
    return &rlx_var_new(b->ctx, false, rlx_string_z(b->ctx, name), -1, s, RLX_NO_PLACE)->node;
}

static const rlx_attr *attr_value(rlx_context *ctx, const char *type, const char *value)
{
    if (!strcmp(type, "none"))
        return rlx_attr_none(ctx);
    if (!strcmp(type, "bool"))
        return rlx_attr_bool_new(ctx, atoi(value));
    if (!strcmp(type, "int"))
        return rlx_attr_int_new(ctx, atoll(value));
    if (!strcmp(type, "float"))
        return rlx_attr_float_new(ctx, atof(value));
    if (!strcmp(type, "dtype") || !strcmp(type, "string"))
        return rlx_attr_string_new(ctx, rlx_slice_z(value));
    int64_t v[MAX_RANK * 2];
    const rlx_attr *items[MAX_RANK * 2];
    if (!strcmp(type, "floats")) {
        size_t count = 0;
        for (char *end, *at = (char *)value; *at && count < MAX_RANK; at = *end ? end + 1 : end)
            items[count++] = rlx_attr_float_new(ctx, strtod(at, &end));
        return rlx_attr_list_new(ctx, items, count);
    }
    int n = read_ints(value, v);
    for (int i = 0; i < n; i++)
        items[i] = rlx_attr_int_new(ctx, v[i]);
    return rlx_attr_list_new(ctx, items, (size_t)n);
}

static const rlx_attr *attrs_of(rlx_context *ctx, const number_case *c)
{
    const rlx_attr *keys[12], *values[12];
    for (int i = 0; i < c->num_attrs; i++) {
        keys[i] = rlx_attr_string_new(ctx, rlx_slice_z(c->attrs[i].name));
        values[i] = attr_value(ctx, c->attrs[i].type, c->attrs[i].value);
    }
    return c->num_attrs ? rlx_attrs_new(ctx, keys, values, (size_t)c->num_attrs) : NULL;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static double element(const array *a, const unsigned char *bytes, size_t i)
{
    return rlx_dtype_load_float(a->dtype, bytes + i * rlx_dtype_bytes(a->dtype));
}

static bool near(double got, double want, double tol)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (got == want)
        return true;
    return fabs(got - want) <= tol * fmax(fabs(want), tol > 1e-7 ? 1e-2 : 1e-3);
}

static size_t count_of(const array *a)
{
    size_t n = 1;
    for (int i = 0; i < a->ndim; i++)
        n *= (size_t)a->shape[i];
    return n;
}

static bool same_numbers(const number_case *c, const array *want, const unsigned char *got,
                         enum mode mode)
{
    size_t size = rlx_dtype_bytes(want->dtype);
    for (size_t i = 0; i < count_of(want); i++) {
        bool same = rlx_dtype_is_float(want->dtype)
                        ? near(element(want, got, i), element(want, want->bytes, i), c->tol)
                        : memcmp(got + i * size, want->bytes + i * size, size) == 0;
        if (same)
            continue;
        if (rlx_dtype_is_float(want->dtype))
            print_error("line %d: %s mode %d: element %zu is %.9g, expected %.9g\n", c->line,
                        c->op, mode, i, element(want, got, i), element(want, want->bytes, i));
        else
            print_error("line %d: %s mode %d: element %zu differs\n", c->line, c->op, mode, i);
        return false;
    }
    return true;
}

static const rlx_sinfo *result_part(const rlx_sinfo *result, int i)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(result);
    return !t ? result : (size_t)i < t->num_fields ? t->fields[i] : NULL;
}

/* The stated sizes of a result must evaluate to the real ones. */
static bool right_part(bench *b, const array *want, const rlx_sinfo *result)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(result);
    const rlx_shape_expr *s = t ? rlx_as_shape_expr(t->shape) : NULL;
    rlx_assignment values = { b->vars, b->values, b->num_vars };
    if (!s || s->num_values != (size_t)want->ndim || t->dtype != want->dtype)
        return false;
    for (size_t i = 0; i < s->num_values; i++) {
        int64_t v;
        if (!rlx_prim_evaluate(s->values[i], &values, &b->ctx->memory, &v) || v != want->shape[i])
            return false;
    }
    return true;
}

static bool right_sizes(bench *b, const number_case *c, const rlx_sinfo *result)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(result);
    for (int i = 0; i < c->num_outs; i++)
        if (!right_part(b, &c->outs[i], result_part(result, i)))
            return false;
    return !t || t->num_fields == (size_t)c->num_outs;
}

/* ---- one case ------------------------------------------------------------------------------- */

enum outcome { PASSED, FAILED, NOT_LOWERED };

/* The PrimFunc's arguments: inputs in the order of the call, then the outputs, of the sizes
 * that are stated. */
typedef struct run {
    const rlx_prim_func *f;
    rlx_tir_arg args[MAX_INPUTS + MAX_OUTS];
    size_t num_args;
    int64_t sizes[MAX_OUTS][MAX_RANK];
} run;

static _Alignas(64) unsigned char out_data[MAX_OUTS][MAX_BYTES], in_data[MAX_ARGS][MAX_BYTES];

static void add_input(bench *b, const number_case *c, const rlx_expr *input,
                      const rlx_expr *const *exprs, run *r)
{
    rlx_assignment values = { b->vars, b->values, b->num_vars };
    const rlx_prim_value *p = rlx_as_prim_value(input);
    rlx_tir_arg *arg = &r->args[r->num_args++];
    assert_true(r->num_args <= MAX_INPUTS);
    if (p) {
        *arg = (rlx_tir_arg){ .dtype = rlx_prim_dtype(p->value) };
        assert_true(rlx_prim_evaluate(p->value, &values, &b->ctx->memory, &arg->i));
    }
    for (int k = 0; k < c->num_args && !p; k++)
        if (input == exprs[k]) {
            memcpy(in_data[k], c->args[k].bytes, MAX_BYTES);
            *arg = (rlx_tir_arg){ .dtype = c->args[k].dtype,
                                  .data = in_data[k],
                                  .shape = c->args[k].shape,
                                  .ndim = c->args[k].ndim };
        }
}

static void prepare_run(bench *b, const number_case *c, rlx_module_builder *mb,
                        const rlx_call *tir, const rlx_expr *const *exprs, run *r)
{
    memset(r, 0, sizeof *r);
    r->f = rlx_as_prim_func(rlx_module_builder_function(mb, rlx_as_global_var(tir->args[0])));
    const rlx_tuple *inputs = rlx_as_tuple(tir->args[1]);
    const rlx_tuple_sinfo *several = rlx_as_tuple_sinfo(tir->sinfo_args[0]);
    assert_non_null(r->f);
    assert_true(rlx_tir_verify(b->ctx, r->f, false));
    for (size_t i = 0; i < inputs->num_fields; i++)
        add_input(b, c, inputs->fields[i], exprs, r);
    for (int i = 0; i < (several ? (int)several->num_fields : 1); i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(result_part(tir->sinfo_args[0], i));
        const rlx_shape_expr *s = rlx_as_shape_expr(t->shape);
        rlx_assignment values = { b->vars, b->values, b->num_vars };
        for (size_t k = 0; k < s->num_values; k++)
            assert_true(
                rlx_prim_evaluate(s->values[k], &values, &b->ctx->memory, &r->sizes[i][k]));
        r->args[r->num_args++] = (rlx_tir_arg){ .dtype = t->dtype,
                                                .data = out_data[i],
                                                .shape = r->sizes[i],
                                                .ndim = (int32_t)s->num_values };
    }
}

static bool run_evaluator(bench *b, run *r, rlx_fault *why)
{
    return rlx_tir_eval(b->ctx, r->f, r->args, r->num_args, NULL, why);
}

static bool run_bytecode(bench *b, run *r, rlx_fault *why)
{
    DLTensor tensors[MAX_INPUTS + MAX_OUTS];
    relax_value values[MAX_INPUTS + MAX_OUTS] = { 0 };
    rlx_kernel_env env;
    rlx_kernel *kernel = NULL;
    rlx_buf bytes;
    rlx_buf_init(&bytes, &b->ctx->memory);
    for (size_t i = 0; i < r->num_args; i++) {
        rlx_dtype t = r->args[i].dtype;
        if (!r->args[i].data) {
            relax_value_set_int(&values[i], r->args[i].i);
            continue;
        }
        bool truth = rlx_dtype_is_bool(t);
        tensors[i] = (DLTensor){ .data = r->args[i].data,
                                 .device = { 1, 0 },
                                 .ndim = r->args[i].ndim,
                                 .dtype = { (uint8_t)(truth ? 6 : rlx_dtype_code(t)),
                                            (uint8_t)(truth ? 8 : rlx_dtype_bits(t)), 1 },
                                 .shape = (int64_t *)r->args[i].shape };
        values[i].type_index = RELAX_VALUE_TENSOR_VIEW;
        values[i].v.p = &tensors[i];
    }
    if (!rlx_kernel_write(b->ctx, r->f, RLX_SLICE("kernel"), &bytes, NULL)) {
        rlx_buf_free(&bytes);
        return rlx_fail(why, RLX_CG07, "the kernel cannot be written");
    }
    assert_true(
        rlx_kernel_load(&b->ctx->memory, (const uint8_t *)bytes.data, bytes.len, &kernel, why));
    rlx_kernel_env_init(&env, &b->ctx->memory);
    bool ran = rlx_kernel_call(kernel, &env, values, (int32_t)r->num_args, why);
    rlx_kernel_env_free(&env);
    rlx_kernel_free(kernel);
    rlx_buf_free(&bytes);
    return ran;
}

static enum outcome judge(const number_case *c, enum mode mode, const char *how, bool ran,
                          const rlx_fault *why)
{
    if (c->fault[0]) {
        if (!ran && strcmp(rlx_code_row(why->code)->name, c->fault) == 0)
            return PASSED;
        print_error("line %d: %s mode %d, %s: expected %s, %s\n", c->line, c->op, mode, how,
                    c->fault, ran ? "but it ran" : why->text);
        return FAILED;
    }
    if (!ran)
        print_error("line %d: %s mode %d, %s: %s\n", c->line, c->op, mode, how, why->text);
    for (int i = 0; i < c->num_outs && ran; i++)
        ran = same_numbers(c, &c->outs[i], out_data[i], mode);
    return ran ? PASSED : FAILED;
}

/* Equal elements, any NaN for any NaN. */
static bool agree(const array *want, const unsigned char *first, const unsigned char *second)
{
    size_t size = rlx_dtype_bytes(want->dtype);
    for (size_t i = 0; i < count_of(want); i++) {
        if (memcmp(first + i * size, second + i * size, size) == 0)
            continue;
        if (!rlx_dtype_is_float(want->dtype) ||
            !near(element(want, first, i), element(want, second, i), 0))
            return false;
    }
    return true;
}

/* Both ways to run; where there are numbers both give the same bits. */
static enum outcome evaluate(bench *b, const number_case *c, enum mode mode,
                             rlx_module_builder *mb, const rlx_call *tir,
                             const rlx_expr *const *exprs)
{
    static unsigned char first[MAX_OUTS][MAX_BYTES];
    rlx_fault why = { 0 };
    run r;
    prepare_run(b, c, mb, tir, exprs, &r);
    memset(out_data, 0x5a, sizeof out_data);
    enum outcome slow = judge(c, mode, "evaluator", run_evaluator(b, &r, &why), &why);
    memcpy(first, out_data, sizeof first);
    memset(out_data, 0x5a, sizeof out_data);
    enum outcome fast = judge(c, mode, "bytecode", run_bytecode(b, &r, &why), &why);
    for (int i = 0; i < c->num_outs; i++)
        if (slow == PASSED && fast == PASSED && !agree(&c->outs[i], first[i], out_data[i])) {
            print_error("line %d: %s mode %d: evaluator and bytecode differ\n", c->line, c->op,
                        mode);
            return FAILED;
        }
    return slow == PASSED ? fast : slow;
}

static bool is_joined(const number_case *c)
{
    return !strcmp(c->op, "concat") || !strcmp(c->op, "einsum");
}

static enum outcome lower_and_run(bench *b, const number_case *c, enum mode mode)
{
    const rlx_expr *exprs[MAX_ARGS], *tuple;
    for (int i = 0; i < c->num_args; i++)
        exprs[i] = arg_expr(b, mode, &c->args[i], i);
    bool joined = is_joined(c);
    if (joined)
        tuple = rlx_tuple_new(b->ctx, exprs, (size_t)c->num_args, RLX_NO_PLACE);
    const rlx_expr *e =
        rlx_call_op_z(b->ctx, c->op, joined ? &tuple : exprs, joined ? 1 : (size_t)c->num_args,
                      attrs_of(b->ctx, c), RLX_NO_PLACE);
    const rlx_call *call = rlx_as_call(e);
    const rlx_sinfo *result =
        call ? rlx_op_infer(b->ctx, &b->scope, NULL, call, mode != MODE_LITERAL) : NULL;
    if (!result)
        return mode == MODE_LITERAL ? FAILED : NOT_LOWERED;
    rlx_module_builder *mb = rlx_module_builder_create(b->ctx, NULL);
    const char *why = NULL;
    enum outcome out = NOT_LOWERED;
    const rlx_call *tir = rlx_as_call(rlx_op_lower(mb, &b->scope, call, result, &why));
    if (tir && !c->fault[0] && !right_sizes(b, c, tir->sinfo_args[0])) {
        print_error("line %d: %s mode %d: result stated as %s\n", c->line, c->op, mode,
                    rlx_show(b->ctx, tir->sinfo_args[0]));
        out = FAILED;
    } else if (tir) {
        out = evaluate(b, c, mode, mb, tir, exprs);
    } else if (mode == MODE_LITERAL || !why) {
        print_error("line %d: %s mode %d: not lowered: %s\n", c->line, c->op, mode,
                    why ? why : "an error");
        out = FAILED;
    }
    rlx_module_builder_free(mb);
    return out;
}

static enum outcome run_case(const number_case *c, enum mode mode)
{
    bench b = { 0 };
    b.ctx = rlx_context_create(NULL, 0);
    assert_non_null(b.ctx);
    b.ctx->ops = rlx_op_table_get();
    rlx_scope_init(&b.scope, b.ctx, NULL);
    enum outcome out = lower_and_run(&b, c, mode);
    for (const rlx_diag *d = b.ctx->diags.first; d; d = d->next) {
        print_error("line %d: %s mode %d: %.*s\n", c->line, c->op, mode, (int)d->len, d->message);
        out = FAILED;
    }
    rlx_scope_free(&b.scope);
    rlx_context_release(b.ctx);
    return out;
}

static void all_cases(void **state)
{
    enum mode mode = (enum mode)(intptr_t)*state;
    static number_case c;
    int line = 0, count[3] = { 0 };
    FILE *f = fopen("test/op/numbers.txt", "r");
    assert_non_null(f);
    while (read_case(f, &c, &line))
        if (!c.loose || mode == MODE_LOOSE)
            count[run_case(&c, mode)]++;
    fclose(f);
    print_message("%d right, %d wrong, %d not lowered\n", count[PASSED], count[FAILED],
                  count[NOT_LOWERED]);
    assert_int_equal(count[FAILED], 0);
    assert_true(count[PASSED] > 1000);
    if (mode == MODE_LITERAL)
        assert_int_equal(count[NOT_LOWERED], 0);
}

/* ---- without memory ------------------------------------------------------------------------- */

/* Inference and lowering with the allocation number `fail_at` refused; how many there were. */
static size_t attempt(const number_case *c, size_t fail_at)
{
    failing f;
    rlx_memory unused;
    bench b = { 0 };
    const rlx_expr *exprs[MAX_ARGS], *tuple;
    failing_init(&f, &unused, 0);
    b.ctx = rlx_context_create(&f.allocator, 0);
    b.ctx->ops = rlx_op_table_get();
    rlx_scope_init(&b.scope, b.ctx, NULL);
    for (int i = 0; i < c->num_args; i++)
        exprs[i] = arg_expr(&b, MODE_SHARED, &c->args[i], i);
    tuple = rlx_tuple_new(b.ctx, exprs, (size_t)c->num_args, RLX_NO_PLACE);
    const rlx_attr *attrs = attrs_of(b.ctx, c);
    size_t before = f.calls;
    f.fail_at = fail_at ? before + fail_at : 0;
    const rlx_call *call =
        rlx_as_call(rlx_call_op_z(b.ctx, c->op, is_joined(c) ? &tuple : exprs,
                                  is_joined(c) ? 1 : (size_t)c->num_args, attrs, RLX_NO_PLACE));
    const rlx_sinfo *result = call ? rlx_op_infer(b.ctx, &b.scope, NULL, call, true) : NULL;
    rlx_module_builder *mb = result ? rlx_module_builder_create(b.ctx, NULL) : NULL;
    const rlx_expr *tir = mb ? rlx_op_lower(mb, &b.scope, call, result, NULL) : NULL;
    size_t calls = f.calls - before;
    if (!tir && fail_at && f.calls >= f.fail_at && rlx_error_count(b.ctx) == 0)
        fail_msg("line %d: %s: allocation %zu failed without an error", c->line, c->op, fail_at);
    f.fail_at = 0;
    rlx_module_builder_free(mb);
    rlx_scope_free(&b.scope);
    rlx_context_release(b.ctx);
    assert_int_equal(f.live, 0);
    return calls;
}

/* The first case of each operator. */
static void without_memory(void **state)
{
    static number_case c;
    char last[48] = "";
    int line = 0;
    FILE *f = fopen("test/op/numbers.txt", "r");
    assert_non_null(f);
    while (read_case(f, &c, &line)) {
        if (!strcmp(c.op, last) || c.loose)
            continue;
        memcpy(last, c.op, sizeof last);
        size_t calls = attempt(&c, 0), step = calls / 60 + 1;
        for (size_t i = 1; i <= calls; i += step)
            attempt(&c, i);
    }
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        { "literal sizes", all_cases, NULL, NULL, (void *)MODE_LITERAL },
        { "shared variables", all_cases, NULL, NULL, (void *)MODE_SHARED },
        { "nothing proved", all_cases, NULL, NULL, (void *)MODE_LOOSE },
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("numbers of operators", tests, NULL, NULL);
}
