/*- test_infer.c: inference rules: each line of inference.txt is a call and what is known of its
 * result.
 *
 *     operator ; argument | argument ; name=value name=value ; result or "error"
 *
 * Tensors: dtype[sizes], dtype#rank, dtype alone when nothing more is known ("?" unknown
 * dtype); <sizes> a shape literal, <#2> a shape variable of rank 2, dtype@0 a tensor whose
 * shape is the first variable among the arguments; $3 a scalar value; (a b) a tuple. Sizes are
 * expressions over p, q, r (at least 0). */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "op/op.h"

typedef struct reader {
    rlx_context *ctx;
    const char *at;
    const rlx_prim_var *vars[3];
    const rlx_expr *args[16];
    rlx_scope scope;
    int count;
} reader;

/* ---- the small language --------------------------------------------------------------------- */

static const rlx_prim *read_sum(reader *r);

static const rlx_prim *read_pair(reader *r, enum rlx_node_kind kind)
{
    r->at += 4; /* "min(" */
    const rlx_prim *a = read_sum(r);
    r->at++;
    const rlx_prim *b = read_sum(r);
    r->at++;
    return rlx_fold_binary(r->ctx, kind, a, b);
}

static const rlx_prim *read_atom(reader *r)
{
    if (strncmp(r->at, "min(", 4) == 0)
        return read_pair(r, RLX_NODE_MIN);
    if (strncmp(r->at, "max(", 4) == 0)
        return read_pair(r, RLX_NODE_MAX);
    if (*r->at == '(') {
        r->at++;
        const rlx_prim *p = read_sum(r);
        r->at++;
        return p;
    }
    if (*r->at >= 'p' && *r->at <= 'r')
        return &r->vars[*r->at++ - 'p']->node;
    char *end;
    int64_t v = strtoll(r->at, &end, 10);
    if (end == r->at)
        fail_msg("cannot read a size at \"%s\"", r->at);
    r->at = end;
    return rlx_int64(r->ctx, v);
}

static const rlx_prim *read_product(reader *r)
{
    const rlx_prim *p = read_atom(r);
    for (;;) {
        enum rlx_node_kind kind = *r->at == '*'   ? RLX_NODE_MUL
                                  : *r->at == '%' ? RLX_NODE_FLOOR_MOD
                                  : *r->at == '/' ? RLX_NODE_FLOOR_DIV
                                                  : RLX_NODE_NONE;
        if (kind == RLX_NODE_NONE)
            return p;
        r->at += kind == RLX_NODE_FLOOR_DIV ? 2 : 1;
        p = rlx_fold_binary(r->ctx, kind, p, read_atom(r));
    }
}

static const rlx_prim *read_sum(reader *r)
{
    const rlx_prim *p = read_product(r);
    while (*r->at == '+' || *r->at == '-') {
        enum rlx_node_kind kind = *r->at++ == '+' ? RLX_NODE_ADD : RLX_NODE_SUB;
        p = rlx_fold_binary(r->ctx, kind, p, read_product(r));
    }
    return p;
}

static size_t read_sizes(reader *r, char close, const rlx_prim **out)
{
    size_t n = 0;
    while (*r->at != close) {
        out[n++] = read_sum(r);
        r->at += *r->at == ',';
    }
    r->at++;
    return n;
}

static rlx_dtype read_dtype(reader *r)
{
    static const struct { const char *text; rlx_dtype dtype;
    } names[] = {
        { "f32", RELAX_FLOAT32 }, { "f16", RELAX_FLOAT16 }, { "f64", RELAX_FLOAT64 },
        { "i64", RELAX_INT64 },   { "i32", RELAX_INT32 },   { "i8", RELAX_INT8 },
        { "u8", RELAX_UINT8 },    { "b1", RELAX_BOOL },     { "?", RELAX_VOID },
    };
    for (size_t i = 0; i < RLX_COUNT(names); i++)
        if (strncmp(r->at, names[i].text, strlen(names[i].text)) == 0)
            return r->at += strlen(names[i].text), names[i].dtype;
    fail_msg("cannot read a dtype at \"%s\"", r->at);
    return RELAX_VOID;
}

static const rlx_sinfo *read_sinfo(reader *r);

static const rlx_sinfo *read_tuple_sinfo(reader *r)
{
    const rlx_sinfo *fields[16];
    size_t n = 0;
    for (r->at++; *r->at != ')'; r->at += *r->at == ' ')
        fields[n++] = read_sinfo(r);
    r->at++;
    return rlx_tuple_info(r->ctx, fields, n);
}

static const rlx_sinfo *read_shape_sinfo(reader *r)
{
    const rlx_prim *sizes[16];
    r->at++;
    if (*r->at == '#') {
        char *end;
        long ndim = strtol(r->at + 1, &end, 10);
        bool known = end != r->at + 1;
        r->at = end + 1;
        return rlx_shape_info_rank(r->ctx, known ? (int)ndim : -1);
    }
    size_t n = read_sizes(r, '>', sizes);
    return rlx_shape_info(r->ctx, sizes, n);
}

static const rlx_sinfo *read_sinfo(reader *r)
{
    const rlx_prim *sizes[16];
    if (*r->at == '(')
        return read_tuple_sinfo(r);
    if (*r->at == '<')
        return read_shape_sinfo(r);
    rlx_dtype t = read_dtype(r);
    if (*r->at == '#') {
        char *end;
        long ndim = strtol(r->at + 1, &end, 10);
        r->at = end;
        return rlx_tensor_info(r->ctx, NULL, t, (int)ndim, NULL);
    }
    if (*r->at == '@') {
        const rlx_expr *shape = r->args[r->at[1] - '0'];
        r->at += 2;
        return rlx_tensor_info(r->ctx, shape, t,
                               rlx_as_shape_sinfo(rlx_as_var(shape)->sinfo)->ndim, NULL);
    }
    if (*r->at != '[')
        return rlx_tensor_info(r->ctx, NULL, t, -1, NULL);
    r->at++;
    size_t n = read_sizes(r, ']', sizes);
    return rlx_tensor_info(r->ctx, rlx_shape_new(r->ctx, sizes, n), t, (int)n, NULL);
}

/* An argument: scalars and shapes as literals, tuples of arguments, everything else a variable. */
static const rlx_expr *read_arg(reader *r)
{
    char name[16];
    if (*r->at == '$') {
        r->at++;
        return rlx_prim_value_new(r->ctx, read_sum(r));
    }
    if (*r->at == '(') {
        const rlx_expr *fields[16];
        size_t n = 0;
        for (r->at++; *r->at != ')'; r->at += *r->at == ' ')
            fields[n++] = read_arg(r);
        r->at++;
        return rlx_tuple_new(r->ctx, fields, n, RLX_NO_PLACE);
    }
    const rlx_sinfo *s = read_sinfo(r);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    if (shape && shape->has_values)
        return rlx_shape_new(r->ctx, shape->values, shape->num_values);
    snprintf(name, sizeof name, "v%d", r->count++);
    r->args[r->count - 1] =
        &rlx_var_new(r->ctx, false, rlx_string_z(r->ctx, name), -1, s, RLX_NO_PLACE)->node;
    return r->args[r->count - 1];
}

static const rlx_attr *read_value(reader *r)
{
    const rlx_attr *items[16];
    size_t n = 0;
    if (*r->at == '[') {
        for (r->at++; *r->at != ']'; r->at += *r->at == ',')
            items[n++] = read_value(r);
        r->at++;
        return rlx_attr_list_new(r->ctx, items, n);
    }
    size_t len = strcspn(r->at, " ,]");
    rlx_slice text = { r->at, len };
    bool number = isdigit((unsigned char)text.data[0]) || text.data[0] == '-';
    r->at += len;
    if (rlx_slice_is(text, "None"))
        return rlx_attr_none(r->ctx);
    if (rlx_slice_is(text, "True") || rlx_slice_is(text, "False"))
        return rlx_attr_bool_new(r->ctx, text.len == 4);
    /* "i,i->" keeps its commas: subscripts are the last attribute of their line */
    if (number && memchr(text.data, '.', text.len))
        return rlx_attr_float_new(r->ctx, atof(text.data));
    return number ? rlx_attr_int_new(r->ctx, atoll(text.data)) : rlx_attr_string_new(r->ctx, text);
}

static const rlx_attr *read_attrs(reader *r)
{
    const rlx_attr *keys[16], *values[16];
    size_t n = 0;
    while (*r->at) {
        size_t len = strcspn(r->at, "=");
        rlx_slice name = { r->at, len };
        keys[n] = rlx_attr_string_new(r->ctx, name);
        r->at += len + 1;
        if (rlx_slice_is(name, "subscripts")) {
            values[n++] = rlx_attr_string_new(r->ctx, rlx_slice_z(r->at));
            break;
        }
        values[n++] = read_value(r);
        r->at += *r->at == ' ';
    }
    return n ? rlx_attrs_new(r->ctx, keys, values, n) : NULL;
}

/* ---- one line ------------------------------------------------------------------------------- */

static const rlx_sinfo *infer_line(reader *r, const char *op, const char *args, const char *attrs)
{
    const rlx_expr *exprs[16];
    size_t n = 0;
    for (r->at = args; *r->at; r->at += *r->at == '|')
        exprs[n++] = read_arg(r);
    r->at = attrs;
    const rlx_attr *given = read_attrs(r);
    const rlx_call *call = rlx_as_call(rlx_call_op_z(r->ctx, op, exprs, n, given, RLX_NO_PLACE));
    return call ? rlx_op_infer(r->ctx, &r->scope, NULL, call, false) : NULL;
}

static bool same(reader *r, const rlx_sinfo *got, const rlx_sinfo *want)
{
    return rlx_assignable(r->ctx, &r->scope, got, want, NULL) == RLX_ASSIGNABLE_YES &&
           rlx_assignable(r->ctx, &r->scope, want, got, NULL) == RLX_ASSIGNABLE_YES;
}

static bool check_line(int number, const char *op, const char *args, const char *attrs,
                       const char *want)
{
    reader r = { .ctx = rlx_context_create(NULL, 0) };
    r.ctx->ops = rlx_op_table_get();
    rlx_scope_init(&r.scope, r.ctx, NULL);
    for (int i = 0; i < 3; i++) {
        rlx_prim_var *v = rlx_node_new(r.ctx, RLX_NODE_PRIM_VAR);
        v->name = rlx_string_intern(r.ctx, (rlx_slice){ &"pqr"[i], 1 });
        v->dtype = RELAX_INT64;
        r.vars[i] = v;
        rlx_scope_add(&r.scope, v, true);
    }
    const rlx_sinfo *got = infer_line(&r, op, args, attrs);
    bool good;
    if (strcmp(want, "error") == 0) {
        good = !got && r.ctx->diags.num_errors == 1;
    } else {
        r.at = want;
        good = got && same(&r, got, read_sinfo(&r)) && r.ctx->diags.num_errors == 0;
    }
    if (!good)
        print_error("line %d: %s ; %s ; %s: %s, expected %s (%s)\n", number, op, args, attrs,
                    got ? rlx_show(r.ctx, got) : "error", want,
                    r.ctx->diags.first ? r.ctx->diags.first->message : "");
    rlx_scope_free(&r.scope);
    rlx_context_release(r.ctx);
    return good;
}

/* Cuts at " ; ", in place. */
static char *cut(char *line)
{
    char *end = strstr(line, " ; ");
    if (!end)
        fail_msg("too few parts: %s", line);
    *end = 0;
    return end + 2; /* the blank stays: an empty part ends where the next begins */
}

static char *trimmed(char *part)
{
    return part + (part[0] == ' ');
}

static void every_line(void **state)
{
    const char *path = getenv("RLX_INFERENCE_FILE");
    FILE *f = fopen(path ? path : "test/op/inference.txt", "r");
    char line[1024];
    int number = 0, wrong = 0, right = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        number++;
        line[strcspn(line, "\n")] = 0;
        if (!line[0] || line[0] == '#')
            continue;
        char *args = cut(line), *attrs = cut(args), *want = cut(attrs);
        check_line(number, line, trimmed(args), trimmed(attrs), trimmed(want)) ? right++ : wrong++;
    }
    fclose(f);
    print_message("%d right, %d wrong\n", right, wrong);
    assert_int_equal(wrong, 0);
    assert_true(right > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_line) };
    return cmocka_run_group_tests_name("inference of operators", tests, NULL, NULL);
}
