/* reader_operator.c: operators and builtin functions of Python, on Python values and on IR. */
#include <math.h>

#include "format/kernel_math.h"
#include "script/reader.h"

/* ---- Python numbers ------------------------------------------------------------------------- */

static bool is_number(const rlx_val *v)
{
    return v->kind == RLX_VAL_INT || v->kind == RLX_VAL_BOOL || v->kind == RLX_VAL_FLOAT;
}

static bool int_power(int64_t a, int64_t b, int64_t *out)
{
    int64_t result = 1;
    for (; b > 0; b--) {
        if (!rlx_mul_i64(result, a, &result))
            return false;
        if (result == 0 || (a == 1))
            break;
        if (a == -1) {
            result = b % 2 ? -1 : 1;
            break;
        }
    }
    *out = result;
    return true;
}

/* False: the result does not fit (or the operation has none). */
static bool int_result(uint8_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case RLX_TOK_PLUS: return rlx_add_i64(a, b, out);
    case RLX_TOK_MINUS: return rlx_sub_i64(a, b, out);
    case RLX_TOK_STAR: return rlx_mul_i64(a, b, out);
    case RLX_TOK_DSLASH:
        return b && !(a == INT64_MIN && b == -1) && (*out = rlx_floor_div_i64(a, b), true);
    case RLX_TOK_PERCENT:
        return b && (*out = rlx_floor_mod_i64(a, b), true);
    case RLX_TOK_POWER: return b >= 0 && int_power(a, b, out);
    case RLX_TOK_SHL: return b >= 0 && b < 63 && rlx_mul_i64(a, (int64_t)1 << b, out);
    case RLX_TOK_SHR:
        return b >= 0 && (*out = b > 62 ? (a < 0 ? -1 : 0) : a >= 0 ? a >> b : ~(~a >> b), true);
    case RLX_TOK_AMPERSAND: *out = a & b; return true;
    case RLX_TOK_PIPE: *out = a | b; return true;
    case RLX_TOK_CARET: *out = a ^ b; return true;
    default: return false;
    }
}

static bool float_result(uint8_t op, double a, double b, double *out)
{
    switch (op) {
    case RLX_TOK_PLUS: *out = a + b; return true;
    case RLX_TOK_MINUS: *out = a - b; return true;
    case RLX_TOK_STAR: *out = a * b; return true;
    case RLX_TOK_SLASH: return b != 0 && (*out = a / b, true);
    case RLX_TOK_DSLASH: return b != 0 && (*out = floor(a / b), true);
    case RLX_TOK_PERCENT: return b != 0 && (*out = a - floor(a / b) * b, true);
    case RLX_TOK_POWER: *out = pow(a, b); return true;
    default: return false;
    }
}

/* Numbers from 2^63 on, which have `sub`, are the largest; among them the bits decide as well. */
static int order_ints(const rlx_val *a, const rlx_val *b)
{
    return a->sub != b->sub ? (a->sub ? 1 : -1) : (a->i > b->i) - (a->i < b->i);
}

static bool compare_numbers(uint8_t op, const rlx_val *a, const rlx_val *b)
{
    bool ints = a->kind != RLX_VAL_FLOAT && b->kind != RLX_VAL_FLOAT;
    double x = rlx_val_number(a), y = rlx_val_number(b);
    int order = ints ? order_ints(a, b) : (x > y) - (x < y);
    switch (op) {
    case RLX_TOK_LT: return order < 0;
    case RLX_TOK_LE: return order <= 0;
    case RLX_TOK_GT: return order > 0;
    case RLX_TOK_GE: return order >= 0;
    case RLX_TOK_EQ: return order == 0;
    default: return order != 0;
    }
}

static bool is_comparison(uint8_t op) { return op >= RLX_TOK_LT && op <= RLX_TOK_NE; }

static bool number_binary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a,
                          const rlx_val *b, rlx_val *out)
{
    *out = (rlx_val){ .begin = at->begin, .end = at->end };
    if (is_comparison(op)) {
        out->kind = RLX_VAL_BOOL;
        out->i = compare_numbers(op, a, b);
        return true;
    }
    if (op == RLX_TOK_AND || op == RLX_TOK_OR) {
        bool first = a->kind == RLX_VAL_FLOAT ? a->f != 0 : a->i != 0;
        *out = first == (op == RLX_TOK_AND) ? *b : *a;
        return true;
    }
    if (a->kind == RLX_VAL_FLOAT || b->kind == RLX_VAL_FLOAT || op == RLX_TOK_SLASH) {
        out->kind = RLX_VAL_FLOAT;
        if (float_result(op, rlx_val_number(a), rlx_val_number(b), &out->f))
            return true;
    } else {
        out->kind = RLX_VAL_INT;
        if (!a->sub && !b->sub && int_result(op, a->i, b->i, &out->i))
            return true;
    }
    return rlx_read_error(r, RLX_PA24, at,
                          "this calculation has no result that fits into 64 bits");
}

/* ---- PrimExprs ------------------------------------------------------------------------------ */

static const uint8_t prim_kinds[RLX_TOK_COUNT] = {
    [RLX_TOK_PLUS] = RLX_NODE_ADD,
    [RLX_TOK_MINUS] = RLX_NODE_SUB,
    [RLX_TOK_STAR] = RLX_NODE_MUL,
    [RLX_TOK_SLASH] = RLX_NODE_DIV,
    [RLX_TOK_DSLASH] = RLX_NODE_FLOOR_DIV,
    [RLX_TOK_PERCENT] = RLX_NODE_FLOOR_MOD,
    [RLX_TOK_LT] = RLX_NODE_LT,
    [RLX_TOK_LE] = RLX_NODE_LE,
    [RLX_TOK_GT] = RLX_NODE_GT,
    [RLX_TOK_GE] = RLX_NODE_GE,
    [RLX_TOK_EQ] = RLX_NODE_EQ,
    [RLX_TOK_NE] = RLX_NODE_NE,
    [RLX_TOK_AND] = RLX_NODE_AND,
    [RLX_TOK_OR] = RLX_NODE_OR,
};
static const struct { uint8_t tok; const char *name;
} bit_calls[] = {
    { RLX_TOK_SHL, "shift_left" },        { RLX_TOK_SHR, "shift_right" },
    { RLX_TOK_AMPERSAND, "bitwise_and" }, { RLX_TOK_PIPE, "bitwise_or" },
    { RLX_TOK_CARET, "bitwise_xor" },     { RLX_TOK_POWER, "pow" },
};

bool rlx_prims_differ(rlx_reader *r, const rlx_ast *at, const rlx_prim *a, const rlx_prim *b)
{
    char ta[RLX_DTYPE_TEXT], tb[RLX_DTYPE_TEXT];
    rlx_dtype_name(rlx_prim_dtype(a), ta);
    rlx_dtype_name(rlx_prim_dtype(b), tb);
    return rlx_read_error(r, RLX_PA18, at, "operands of type %s and %s do not fit together", ta,
                          tb);
}

bool rlx_read_is_extent(rlx_reader *r, const rlx_ast *at, const rlx_prim *p)
{
    rlx_dtype t = rlx_prim_dtype(p);
    return (rlx_dtype_lanes(t) == 1 && rlx_dtype_is_int(t)) ||
           rlx_read_error(r, RLX_PA18, at, "a bound, stride or offset is one integer, found %s",
                          rlx_show(r->ctx, p));
}

/* The length of a range that prints as start : start + length; it has no other form. */
static const rlx_prim *length_of(rlx_context *ctx, const rlx_prim *start, const rlx_prim *stop)
{
    if (start == stop) /* nothing, also of what could fail, which the prover leaves alone */
        return rlx_int(ctx, rlx_prim_dtype(stop), 0);
    const rlx_binary *sum = rlx_is(stop, RLX_NODE_ADD) ? (const rlx_binary *)stop : NULL;
    const rlx_int_imm *begin = rlx_as_int_imm(start), *first = rlx_as_int_imm(sum ? sum->a : NULL);
    bool same_number = begin && first && begin->value == first->value; /* of two types, perhaps */
    return sum && (sum->a == start || same_number) ? sum->b : NULL;
}

/* The sum of two numbers prints as a number, of one type. */
static bool same_numbers(rlx_reader *r, const rlx_prim **begin, const rlx_prim **length)
{
    const rlx_int_imm *a = rlx_as_int_imm(*begin), *b = rlx_as_int_imm(*length);
    if (a && b && a->dtype != b->dtype) {
        rlx_dtype t = rlx_dtype_bits(a->dtype) > rlx_dtype_bits(b->dtype) ? a->dtype : b->dtype;
        *begin = rlx_int(r->ctx, t, a->value);
        *length = rlx_int(r->ctx, t, b->value);
    }
    return *begin && *length;
}

/* Begin and length are of one type, or their sum, which is printed, has none; a literal takes
 * that of the other. */
static bool same_type(rlx_reader *r, const rlx_prim **begin, const rlx_prim **length)
{
    if (!*length)
        return false;
    if (!rlx_is(*begin, RLX_NODE_INT_IMM) && !rlx_is(*length, RLX_NODE_INT_IMM))
        *begin = rlx_fold_cast(r->ctx, rlx_prim_dtype(*length), *begin);
    return same_numbers(r, begin, length);
}

/* A range from 0 prints without its begin, which is then as wide as the end. */
static bool begins_at_0(rlx_reader *r, const rlx_prim **begin, const rlx_prim *end)
{
    rlx_dtype t = rlx_prim_dtype(end);
    if (!rlx_is_int_value(*begin, 0))
        return false;
    if (rlx_dtype_bits(t) > rlx_dtype_bits(rlx_prim_dtype(*begin)))
        *begin = rlx_int(r->ctx, t, 0);
    return true;
}

const rlx_prim *rlx_read_span(rlx_reader *r, const rlx_ast *at, const rlx_prim **start,
                              const rlx_prim *stop)
{
    const rlx_prim *length = length_of(r->ctx, *start, stop);
    if (length)
        return same_numbers(r, start, &length) ? length : NULL;
    if (begins_at_0(r, start, stop))
        return stop;
    const rlx_prim *d = rlx_fold_sub(r->ctx, stop, *start);
    if (!d)
        return rlx_prims_differ(r, at, *start, stop), NULL;
    length = rlx_simplify(r->ctx, NULL, d);
    return same_type(r, start, &length) ? length : NULL;
}

/* Of a region, which prints with its begin: that stays what it is, `0` an int32 also in front of an
 * int64 end. */
const rlx_prim *rlx_read_region_length(rlx_reader *r, const rlx_ast *at, const rlx_prim **begin,
                                       const rlx_prim *end)
{
    bool literal = rlx_is(*begin, RLX_NODE_INT_IMM);
    const rlx_prim *length = rlx_is_int_value(*begin, 0) ? end : length_of(r->ctx, *begin, end);
    if (!literal)
        return rlx_read_span(r, at, begin, end);
    if (length)
        return length;
    const rlx_prim *d = rlx_fold_sub(r->ctx, end, *begin);
    return d ? rlx_simplify(r->ctx, NULL, d) : (rlx_prims_differ(r, at, *begin, end), NULL);
}

/* From begin to end, which may be missing. The length keeps its form unless it is a number. */
const rlx_node *rlx_read_bounds(rlx_reader *r, const rlx_ast *at, const rlx_prim *begin,
                                const rlx_prim *end)
{
    if (!rlx_read_is_extent(r, at, begin) || (end && !rlx_read_is_extent(r, at, end)))
        return NULL;
    if (!end)
        return rlx_range_new(r->ctx, rlx_int(r->ctx, rlx_prim_dtype(begin), 0), begin);
    const rlx_prim *length = begins_at_0(r, &begin, end) ? end : length_of(r->ctx, begin, end);
    if (length)
        return same_numbers(r, &begin, &length) ? rlx_range_new(r->ctx, begin, length) : NULL;
    if (!(length = rlx_fold_sub(r->ctx, end, begin)))
        return rlx_prims_differ(r, at, begin, end), NULL;
    const rlx_prim *number = rlx_simplify(r->ctx, NULL, length);
    length = rlx_is(number, RLX_NODE_INT_IMM) ? number : length;
    return number && same_type(r, &begin, &length) ? rlx_range_new(r->ctx, begin, length) : NULL;
}

/* T.Range(begin, end), I.Range(begin, end) */
const rlx_node *rlx_read_range_of(rlx_reader *r, const rlx_ast *call, const rlx_ast *begin,
                                  const rlx_ast *end)
{
    const rlx_prim *a = rlx_read_prim(r, begin), *b = a && end ? rlx_read_prim(r, end) : NULL;
    return a && (b || !end) ? rlx_read_bounds(r, call, a, b) : NULL;
}

bool rlx_prim_intrinsic(rlx_reader *r, const char *name, const rlx_ast *at, const rlx_prim *a,
                        const rlx_prim *b, rlx_val *out)
{
    size_t errors = rlx_error_count(r->ctx);
    if (!a || !b)
        return false;
    if (!rlx_match_types(r->ctx, &a, &b))
        return errors == rlx_error_count(r->ctx) ? rlx_prims_differ(r, at, a, b) : false;
    return rlx_val_set(out, RLX_VAL_PRIM, rlx_fold_call(r->ctx, name, a, b), at);
}

static bool prim_binary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_prim *a,
                        const rlx_prim *b, rlx_val *out)
{
    if (!a || !b)
        return false;
    for (size_t i = 0; !prim_kinds[op] && i < RLX_COUNT(bit_calls); i++)
        if (bit_calls[i].tok == op)
            return rlx_prim_intrinsic(r, bit_calls[i].name, at, a, b, out);
    if (!prim_kinds[op])
        return rlx_read_error(r, RLX_PA16, at, "%s has no meaning for scalar expressions",
                              rlx_tok_text(op));
    rlx_dtype ta = rlx_prim_dtype(a), tb = rlx_prim_dtype(b);
    bool ints = (rlx_dtype_is_int(ta) || rlx_dtype_is_bool(ta)) &&
                (rlx_dtype_is_int(tb) || rlx_dtype_is_bool(tb));
    if (op == RLX_TOK_SLASH && ints)
        return rlx_read_error(
            r, RLX_PA18, at,
            "/ of integers is ambiguous: write // or T.floordiv, T.truncdiv or T.Div");
    if ((op == RLX_TOK_DSLASH || op == RLX_TOK_PERCENT) && (!ints || rlx_is_int_value(b, 0)))
        return ints ? rlx_read_error(r, RLX_PA18, at, "division by zero")
                    : rlx_read_error(r, RLX_PA18, at, "%s is for integers", rlx_tok_text(op));
    size_t errors = rlx_error_count(r->ctx);
    const rlx_prim *p = rlx_fold_binary(r->ctx, (enum rlx_node_kind)prim_kinds[op], a, b);
    if (!p && errors == rlx_error_count(r->ctx))
        return rlx_prims_differ(r, at, a, b);
    return rlx_val_set(out, RLX_VAL_PRIM, p, at);
}

/* ---- Relax expressions ---------------------------------------------------------------------- */

static bool relax_binary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a,
                         const rlx_val *b, rlx_val *out)
{
    static const struct { uint8_t tok; const char *op;
    } ops[] = {
        { RLX_TOK_PLUS, "relax.add" },
        { RLX_TOK_MINUS, "relax.subtract" },
        { RLX_TOK_STAR, "relax.multiply" },
        { RLX_TOK_SLASH, "relax.divide" },
        { RLX_TOK_DSLASH, "relax.floor_divide" },
        { RLX_TOK_POWER, "relax.power" },
        { RLX_TOK_LT, "relax.less" },
        { RLX_TOK_GT, "relax.greater" },
        { RLX_TOK_LE, "relax.less_equal" },
        { RLX_TOK_GE, "relax.greater_equal" },
    };
    for (size_t i = 0; i < RLX_COUNT(ops); i++) {
        if (ops[i].tok != op)
            continue;
        const rlx_ast pa = { .begin = a->begin, .end = a->end },
                      pb = { .begin = b->begin, .end = b->end };
        r->unit.beside = b->kind == RLX_VAL_EXPR ? b->node : NULL;
        const rlx_expr *x = rlx_to_expr(r, &pa, a, false);
        r->unit.beside = x;
        const rlx_expr *y = x ? rlx_to_expr(r, &pb, b, false) : NULL;
        const rlx_expr *args[] = { x, y };
        r->unit.beside = NULL;
        return rlx_val_set(
            out, RLX_VAL_EXPR,
            y ? rlx_read_op_call(r, ops[i].op, args, 2, NULL, rlx_read_place(r, at)) : NULL, at);
    }
    return rlx_no_operator(r, op, at, false);
}

/* ---- the operators -------------------------------------------------------------------------- */

static bool join_lists(rlx_reader *r, const rlx_ast *at, const rlx_val *a, const rlx_val *b,
                       rlx_val *out)
{
    size_t n = a->list.count + b->list.count;
    if (!rlx_take_items(r, at, n))
        return false;
    rlx_val *items = rlx_region_array(&r->parser.region, n ? n : 1, sizeof *items);
    if (!items)
        return false;
    memcpy(items, a->list.items, a->list.count * sizeof *items);
    memcpy(items + a->list.count, b->list.items, b->list.count * sizeof *items);
    *out = (rlx_val){ .kind = a->kind, .begin = at->begin, .end = at->end, .list = { items, n } };
    return true;
}

static bool compare_strings(uint8_t op, const rlx_ast *at, const rlx_val *a, const rlx_val *b,
                            rlx_val *out)
{
    *out = (rlx_val){ .kind = RLX_VAL_BOOL,
                      .begin = at->begin,
                      .end = at->end,
                      .i = rlx_slice_equal(a->s, b->s) == (op == RLX_TOK_EQ) };
    return true;
}

/* The type of a scalar expression; RELAX_VOID of what is none or has no type yet. */
static rlx_dtype dtype_of(const rlx_val *v)
{
    const rlx_prim_value *value = v->kind == RLX_VAL_EXPR ? rlx_as_prim_value(v->node) : NULL;
    switch (v->kind) {
    case RLX_VAL_PRIM: return rlx_prim_dtype(v->node);
    case RLX_VAL_ITER: return rlx_prim_dtype(((const rlx_iter_var *)v->node)->var);
    case RLX_VAL_BUFFER: return ((const rlx_buffer *)v->node)->dtype;
    default: return value ? rlx_prim_dtype(value->value) : RELAX_VOID;
    }
}

/* One operand of a scalar expression. A Python number in a comparison takes the type of the other
 * side and has to fit; in other operators it is an int32 or float32, and types are matched, which
 * comes to the same where the other side is an int64 or a float that is wide enough. */
static const rlx_prim *prim_operand(rlx_reader *r, uint8_t op, const rlx_val *v,
                                    const rlx_val *other)
{
    const rlx_ast at = { .begin = v->begin, .end = v->end };
    rlx_dtype t = dtype_of(other), one = rlx_dtype_with_lanes(t, 1);
    bool is_int = rlx_dtype_is_int(one) || rlx_dtype_is_bool(one),
         whole = v->kind == RLX_VAL_INT || v->kind == RLX_VAL_BOOL;
    bool takes = is_comparison(op)
                     ? (is_int && whole) || rlx_dtype_is_float(one)
                     : v->kind == RLX_VAL_INT && t == (v->sub ? RELAX_UINT64 : RELAX_INT64);
    const rlx_prim *p = is_number(v) && takes ? rlx_val_literal(r, &at, v, one) : rlx_to_prim(r, &at, v);
    if (!p && is_number(v) && is_comparison(op) && rlx_dtype_is_bool(one))
        rlx_note(r->ctx, RLX_NO_PLACE, "a < b < c means (a < b) < c: write T.And(a < b, b < c)");
    return p;
}

bool rlx_read_binary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a,
                     const rlx_val *b, rlx_val *out)
{
    if (is_number(a) && is_number(b))
        return number_binary(r, op, at, a, b, out);
    if (a->kind == RLX_VAL_STR && b->kind == RLX_VAL_STR && (op == RLX_TOK_EQ || op == RLX_TOK_NE))
        return compare_strings(op, at, a, b, out);
    if (op == RLX_TOK_PLUS && (a->kind == RLX_VAL_LIST || a->kind == RLX_VAL_TUPLE) &&
        a->kind == b->kind)
        return join_lists(r, at, a, b, out);
    bool relax = (a->kind == RLX_VAL_EXPR && !rlx_as_prim_value(a->node)) ||
                 (b->kind == RLX_VAL_EXPR && !rlx_as_prim_value(b->node));
    if (relax && r->unit.dialect == RLX_DIALECT_RELAX)
        return relax_binary(r, op, at, a, b, out);
    if (op == RLX_TOK_STAR && (a->kind == RLX_VAL_LIST || b->kind == RLX_VAL_LIST))
        return rlx_read_error(r, RLX_PA16, at, "a list is not repeated: lists are written out");
    const rlx_prim *x = prim_operand(r, op, a, b), *y = x ? prim_operand(r, op, b, a) : NULL;
    return prim_binary(r, op, at, x, y, out);
}

static bool number_unary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a,
                         rlx_val *out)
{
    *out = (rlx_val){ .kind = a->kind == RLX_VAL_FLOAT ? RLX_VAL_FLOAT : RLX_VAL_INT,
                      .begin = at->begin,
                      .end = at->end };
    if (op == RLX_TOK_NOT) {
        out->kind = RLX_VAL_BOOL;
        out->i = a->kind == RLX_VAL_FLOAT ? a->f == 0 : a->i == 0;
        return true;
    }
    if (a->kind == RLX_VAL_FLOAT && op != RLX_TOK_TILDE) {
        out->f = op == RLX_TOK_MINUS ? -a->f : a->f;
        return true;
    }
    if (a->sub == 1 && op == RLX_TOK_MINUS &&
        a->i == INT64_MIN) /* -2^63, written as its positive */
        return out->i = INT64_MIN, true;
    if (a->kind != RLX_VAL_FLOAT && !a->sub &&
        (op == RLX_TOK_PLUS || op == RLX_TOK_TILDE || a->i != INT64_MIN)) {
        out->i = op == RLX_TOK_MINUS ? -a->i : op == RLX_TOK_TILDE ? ~a->i : a->i;
        return true;
    }
    return rlx_read_error(r, RLX_PA24, at,
                          "this calculation has no result that fits into 64 bits");
}

/* 0 - a: there is no -1 of an unsigned type. */
static bool unsigned_minus(rlx_reader *r, const rlx_ast *at, const rlx_prim *a, rlx_val *out)
{
    const rlx_int_imm *literal = rlx_as_int_imm(a);
    if (literal && literal->value)
        return rlx_read_error(r, RLX_PA24, at, "an unsigned number has no negative");
    rlx_dtype one = rlx_dtype_with_lanes(rlx_prim_dtype(a), 1);
    return prim_binary(r, RLX_TOK_MINUS, at, rlx_int(r->ctx, one, 0), a, out);
}

static bool prim_unary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_prim *a,
                       rlx_val *out)
{
    rlx_dtype t = rlx_prim_dtype(a), one = rlx_dtype_with_lanes(t, 1);
    switch (op) {
    case RLX_TOK_MINUS:
        if (rlx_dtype_code(one) == RELAX_DTYPE_UINT && !rlx_dtype_is_bool(one))
            return unsigned_minus(r, at, a, out);
        return prim_binary(r, RLX_TOK_STAR, at, a,
                           rlx_dtype_is_float(one)
                               ? rlx_float(r->ctx, one, -1)
                               : rlx_int(r->ctx, rlx_dtype_is_int(one) ? one : RELAX_INT32, -1),
                           out);
    case RLX_TOK_NOT: return rlx_val_set(out, RLX_VAL_PRIM, rlx_not(r->ctx, a), at);
    case RLX_TOK_TILDE:
        return rlx_val_set(out, RLX_VAL_PRIM, rlx_prim_call_z(r->ctx, t, "bitwise_not", &a, 1),
                           at);
    default: return rlx_val_set(out, RLX_VAL_PRIM, a, at);
    }
}

bool rlx_read_unary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a, rlx_val *out)
{
    if (is_number(a))
        return number_unary(r, op, at, a, out);
    if (a->kind == RLX_VAL_EXPR && !rlx_as_prim_value(a->node) &&
        r->unit.dialect == RLX_DIALECT_RELAX) {
        if (op != RLX_TOK_MINUS)
            return rlx_no_operator(r, op, at, true);
        return rlx_val_set(
            out, RLX_VAL_EXPR,
            rlx_read_op_call(r, "relax.negative", &a->node, 1, NULL, rlx_read_place(r, at)), at);
    }
    const rlx_prim *p = rlx_to_prim(r, at, a);
    return p && prim_unary(r, op, at, p, out);
}

/* ---- builtin functions ---------------------------------------------------------------------- */

static bool py_float(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_val *out)
{
    double d = 0;
    if (v->kind == RLX_VAL_STR) {
        rlx_slice s = v->s;
        bool minus = s.len && s.data[0] == '-';
        if (s.len && (s.data[0] == '-' || s.data[0] == '+'))
            s.data++, s.len--;
        if (rlx_slice_is(s, "inf") || rlx_slice_is(s, "infinity"))
            d = INFINITY;
        else if (rlx_slice_is(s, "nan"))
            d = NAN;
        else if (!rlx_parse_double(s, &d))
            return rlx_read_expected(r, at, "a number", v);
        d = minus ? -d : d;
    } else if (is_number(v)) {
        d = rlx_val_number(v);
    } else {
        return rlx_read_expected(r, at, "a number", v);
    }
    *out = (rlx_val){ .kind = RLX_VAL_FLOAT, .begin = at->begin, .end = at->end, .f = d };
    return true;
}

static bool py_extreme(rlx_reader *r, const rlx_ast *call, bool greatest, rlx_val *out)
{
    rlx_val v;
    bool first = true;
    for (const rlx_ast *a = call->first; a; a = a->next, first = false) {
        if (!rlx_read_value(r, a, &v))
            return false;
        if (!is_number(&v))
            return rlx_read_error(r, RLX_PA16, a, "%s is for Python numbers: write T.%s",
                                  greatest ? "max" : "min", greatest ? "max" : "min");
        if (first || compare_numbers(greatest ? RLX_TOK_GT : RLX_TOK_LT, &v, out))
            *out = v;
    }
    return !first || rlx_read_error(r, RLX_PA12, call, "an argument is missing");
}

static bool py_int(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_val *out)
{
    *out = (rlx_val){ .kind = RLX_VAL_INT, .begin = at->begin, .end = at->end };
    if (v->kind == RLX_VAL_FLOAT && rlx_val_truncate(v->f, out))
        return true;
    if (!is_number(v) || v->kind == RLX_VAL_FLOAT)
        return rlx_read_expected(r, at, "a number", v);
    out->i = v->i;
    out->sub = v->kind == RLX_VAL_INT && v->sub;
    return true;
}

bool rlx_call_python(rlx_reader *r, int which, const rlx_ast *call, rlx_val *out)
{
    rlx_val v;
    if (which == RLX_PY_RANGE)
        return rlx_read_error(r, RLX_PA15, call, "range stands only in a for loop");
    if (which == RLX_PY_MAX || which == RLX_PY_MIN)
        return py_extreme(r, call, which == RLX_PY_MAX, out);
    if (call->count != 1 || call->first->kind == RLX_AST_KEYWORD)
        return rlx_read_error(r, RLX_PA12, call, "one argument is expected");
    if (!rlx_read_value(r, call->first, &v))
        return false;
    bool list = v.kind == RLX_VAL_TUPLE || v.kind == RLX_VAL_LIST;
    switch (which) {
    case RLX_PY_TYPE_VAR:
        if (v.kind != RLX_VAL_STR)
            return rlx_read_expected(r, call->first, "a name as a string", &v);
        *out = (rlx_val){
            .kind = RLX_VAL_TYPE_VAR, .begin = call->begin, .end = call->end, .s = v.s
        };
        return true;
    case RLX_PY_FLOAT: return py_float(r, call->first, &v, out);
    case RLX_PY_INT: return py_int(r, call->first, &v, out);
    case RLX_PY_BOOL:
        if (!is_number(&v))
            break;
        *out = (rlx_val){ .kind = RLX_VAL_BOOL,
                          .begin = call->begin,
                          .end = call->end,
                          .i = v.kind == RLX_VAL_FLOAT ? v.f != 0 : v.i != 0 };
        return true;
    case RLX_PY_LEN:
        if (!list)
            break;
        *out = (rlx_val){
            .kind = RLX_VAL_INT, .begin = call->begin, .end = call->end, .i = (int64_t)v.list.count
        };
        return true;
    case RLX_PY_TUPLE: case RLX_PY_LIST:
        if (!list)
            break;
        *out = v;
        out->kind = which == RLX_PY_TUPLE ? RLX_VAL_TUPLE : RLX_VAL_LIST;
        return true;
    case RLX_PY_ABS:
        if (!is_number(&v) || v.sub || (v.kind == RLX_VAL_INT && v.i == INT64_MIN))
            break;
        *out = v;
        if (v.kind == RLX_VAL_FLOAT)
            out->f = fabs(v.f);
        else
            out->i = v.i < 0 ? -v.i : v.i;
        return true;
    default: break;
    }
    return rlx_read_error(r, RLX_PA16, call,
                          "this call of a Python function is not supported: the text is not run "
                          "as Python%s",
                          which == RLX_PY_LEN ? "; a size is x.shape[0]" : "");
}
