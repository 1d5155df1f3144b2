/* desc_expr.c: evaluating integer expressions, and their text. */
#include "desc/desc_int.h"

#include "format/kernel_math.h"

const rlx_desc_expr_row rlx_desc_expr_rows[RLX_EXPR_OPS] = {
    [RLX_EXPR_INT] = { 0, 1, 12, NULL, NULL },
    [RLX_EXPR_WIDE] = { 0, 1, 12, NULL, NULL },
    [RLX_EXPR_SYMBOL] = { 0, 1, 12, NULL, NULL },
    [RLX_EXPR_ADD] = { 2, 1, 9, " + ", NULL },
    [RLX_EXPR_SUB] = { 2, 1, 9, " - ", NULL },
    [RLX_EXPR_MUL] = { 2, 1, 10, " * ", NULL },
    [RLX_EXPR_FLOOR_DIV] = { 2, 1, 10, " // ", NULL },
    [RLX_EXPR_FLOOR_MOD] = { 2, 1, 10, " % ", NULL },
    [RLX_EXPR_TRUNC_DIV] = { 2, 1, 12, NULL, "T.truncdiv(" },
    [RLX_EXPR_TRUNC_MOD] = { 2, 1, 12, NULL, "T.truncmod(" },
    [RLX_EXPR_MIN] = { 2, 1, 12, NULL, "T.min(" },
    [RLX_EXPR_MAX] = { 2, 1, 12, NULL, "T.max(" },
    [RLX_EXPR_EQ] = { 2, 1, 4, " == ", NULL },
    [RLX_EXPR_NE] = { 2, 1, 4, " != ", NULL },
    [RLX_EXPR_LT] = { 2, 1, 4, " < ", NULL },
    [RLX_EXPR_LE] = { 2, 1, 4, " <= ", NULL },
    [RLX_EXPR_GT] = { 2, 1, 4, " > ", NULL },
    [RLX_EXPR_GE] = { 2, 1, 4, " >= ", NULL },
    [RLX_EXPR_SHL] = { 2, 1, 8, " << ", NULL },
    [RLX_EXPR_SHR] = { 2, 1, 8, " >> ", NULL },
    [RLX_EXPR_BIT_AND] = { 2, 1, 7, " & ", NULL },
    [RLX_EXPR_BIT_OR] = { 2, 1, 5, " | ", NULL },
    [RLX_EXPR_BIT_XOR] = { 2, 1, 6, " ^ ", NULL },
    [RLX_EXPR_NOT] = { 1, 1, 3, NULL, "not " },
    [RLX_EXPR_BIT_NOT] = { 1, 1, 11, NULL, "~" },
    [RLX_EXPR_ABS] = { 1, 1, 12, NULL, "T.abs(" },
    [RLX_EXPR_CAST] = { 1, 1, 12, NULL, "T.Cast(" },
    [RLX_EXPR_AND] = { 2, 1, 2, " and ", NULL },
    [RLX_EXPR_OR] = { 2, 1, 1, " or ", NULL },
    [RLX_EXPR_SELECT] = { 3, 1, 12, NULL, "T.Select(" },
    [RLX_EXPR_AND_THEN] = { 0, 0, 0, NULL, NULL },
    [RLX_EXPR_OR_ELSE] = { 0, 0, 0, NULL, NULL },
    [RLX_EXPR_THEN] = { 0, 0, 0, NULL, NULL },
    [RLX_EXPR_OTHERWISE] = { 0, 0, 0, NULL, NULL },
};

/* ---- evaluating ----------------------------------------------------------------------------- */

enum outcome { FINE, OVERFLOW, ZERO_DIVISOR, BAD_SHIFT };

static enum outcome divide(uint32_t op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return ZERO_DIVISOR;
    bool remainder = op == RLX_EXPR_FLOOR_MOD || op == RLX_EXPR_TRUNC_MOD;
    if (a == INT64_MIN && b == -1 && !remainder)
        return OVERFLOW;
    switch (op) {
    case RLX_EXPR_FLOOR_DIV: *out = rlx_floor_div_i64(a, b); break;
    case RLX_EXPR_FLOOR_MOD: *out = rlx_floor_mod_i64(a, b); break;
    case RLX_EXPR_TRUNC_DIV: *out = rlx_div_i64(a, b); break;
    default: *out = rlx_mod_i64(a, b); break;
    }
    return FINE;
}

static enum outcome shift(uint32_t op, int64_t a, int64_t b, int64_t *out)
{
    if (b < 0 || b > 63)
        return BAD_SHIFT;
    if (op == RLX_EXPR_SHR) {
        *out = a >> b;
        return FINE;
    }
    *out = (int64_t)((uint64_t)a << b);
    return *out >> b == a ? FINE : OVERFLOW;
}

static enum outcome binary(uint32_t op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case RLX_EXPR_ADD: return rlx_add_i64(a, b, out) ? FINE : OVERFLOW;
    case RLX_EXPR_SUB: return rlx_sub_i64(a, b, out) ? FINE : OVERFLOW;
    case RLX_EXPR_MUL: return rlx_mul_i64(a, b, out) ? FINE : OVERFLOW;
    case RLX_EXPR_FLOOR_DIV:
    case RLX_EXPR_FLOOR_MOD:
    case RLX_EXPR_TRUNC_DIV:
    case RLX_EXPR_TRUNC_MOD: return divide(op, a, b, out);
    case RLX_EXPR_MIN: *out = a < b ? a : b; return FINE;
    case RLX_EXPR_MAX: *out = a > b ? a : b; return FINE;
    case RLX_EXPR_EQ: *out = a == b; return FINE;
    case RLX_EXPR_NE: *out = a != b; return FINE;
    case RLX_EXPR_LT: *out = a < b; return FINE;
    case RLX_EXPR_LE: *out = a <= b; return FINE;
    case RLX_EXPR_GT: *out = a > b; return FINE;
    case RLX_EXPR_GE: *out = a >= b; return FINE;
    case RLX_EXPR_SHL:
    case RLX_EXPR_SHR: return shift(op, a, b, out);
    case RLX_EXPR_BIT_AND: *out = a & b; return FINE;
    case RLX_EXPR_BIT_OR: *out = a | b; return FINE;
    case RLX_EXPR_BIT_XOR: *out = a ^ b; return FINE;
    case RLX_EXPR_AND: *out = a && b; return FINE;
    default: *out = a || b; return FINE; /* OR */
    }
}

static bool fits_dtype(int64_t v, rlx_dtype t)
{
    int bits = rlx_dtype_bits(t);
    if (rlx_dtype_is_bool(t))
        return v == 0 || v == 1;
    if (rlx_dtype_code(t) == RELAX_DTYPE_UINT)
        return v >= 0 && (bits >= 63 || v < (int64_t)1 << bits);
    return bits >= 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

static enum outcome unary(int64_t word, int64_t a, int64_t *out)
{
    switch (rlx_desc_expr_code(word)) {
    case RLX_EXPR_NOT: *out = !a; return FINE;
    case RLX_EXPR_BIT_NOT: *out = ~a; return FINE;
    case RLX_EXPR_ABS:
        *out = a;
        return a >= 0 || rlx_sub_i64(0, a, out) ? FINE : OVERFLOW;
    default: /* CAST */
        *out = a;
        return fits_dtype(a, (rlx_dtype)(word >> 32)) ? FINE : OVERFLOW;
    }
}

static bool arithmetic_failed(const rlx_desc_env *env, uint32_t offset, enum outcome what,
                              rlx_fault *why)
{
    static const char *const texts[] = { [OVERFLOW] = "overflow of 64-bit integers",
                                         [ZERO_DIVISOR] = "division by zero",
                                         [BAD_SHIFT] = "shift by less than 0 or more than 63" };
    char buffer[RLX_EXPR_TEXT];
    rlx_desc_line text = { buffer, sizeof buffer, 0 };
    rlx_desc_expr_line(env, offset, &text);
    return rlx_fail(why, RLX_RT14, "%s in %s", texts[what], text.data);
}

bool rlx_desc_expr_eval(const rlx_desc_env *env, uint32_t offset, int64_t *out, rlx_fault *why)
{
    const int64_t *code = env->descs + offset + RLX_ITEM_HEADER;
    uint32_t end = rlx_item_words(env->descs + offset) - RLX_ITEM_HEADER;
    int64_t stack[RLX_EXPR_MAX_STACK + 1];
    int64_t *top = stack; /* one past the last */
    for (uint32_t i = 0; i < end; i++) {
        int64_t w = code[i];
        uint32_t op = rlx_desc_expr_code(w);
        enum outcome result = FINE;
        switch (op) {
        case RLX_EXPR_INT: *top++ = w >> 8; break;
        case RLX_EXPR_WIDE: *top++ = code[++i]; break;
        case RLX_EXPR_SYMBOL: *top++ = env->syms[rlx_desc_dim_slot(w)]; break;
        case RLX_EXPR_NOT:
        case RLX_EXPR_BIT_NOT:
        case RLX_EXPR_ABS:
        case RLX_EXPR_CAST: result = unary(w, top[-1], &top[-1]); break;
        case RLX_EXPR_SELECT: break; /* the arm's value is there already */
        case RLX_EXPR_AND_THEN:
            if (!top[-1])
                i = rlx_desc_dim_index(w) - 1;
            break;
        case RLX_EXPR_OR_ELSE:
            if (top[-1]) {
                top[-1] = 1;
                i = rlx_desc_dim_index(w) - 1;
            }
            break;
        case RLX_EXPR_THEN:
            if (!*--top)
                i = rlx_desc_dim_index(w) - 1;
            break;
        case RLX_EXPR_OTHERWISE: i = rlx_desc_dim_index(w) - 1; break;
        default: {
            int64_t value = 0;
            result = binary(op, top[-2], top[-1], &value);
            top--;
            top[-1] = value;
            break;
        }
        }
        if (RLX_UNLIKELY(result != FINE))
            return arithmetic_failed(env, offset, result, why);
    }
    *out = top[-1];
    return true;
}

/* ---- text ----------------------------------------------------------------------------------- */

void rlx_desc_line_put(rlx_desc_line *l, const char *data, size_t len)
{
    size_t space = l->cap - 1 - l->len;
    if (len > space)
        len = space;
    memcpy(l->data + l->len, data, len);
    l->len += len;
    l->data[l->len] = 0;
}

void rlx_line_format(rlx_desc_line *l, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        rlx_desc_line_put(l, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

#define MAX_SHOWN 64 /* words; longer expressions are cut */

/* Operand positions of each op, from a run over the postfix code; false if there are too many. */
typedef struct tree { const int64_t *code; uint8_t operand[MAX_SHOWN][3]; uint8_t root; } tree;

static bool make_tree(tree *t, uint32_t words)
{
    uint8_t stack[RLX_EXPR_MAX_STACK + 1];
    int top = 0;
    if (words > MAX_SHOWN)
        return false;
    for (uint32_t i = 0; i < words; i++) {
        uint32_t op = rlx_desc_expr_code(t->code[i]);
        const rlx_desc_expr_row *row = &rlx_desc_expr_rows[op];
        if (!row->pushes)
            continue;
        top -= row->pops;
        for (int k = 0; k < row->pops; k++)
            t->operand[i][k] = stack[top + k];
        stack[top++] = (uint8_t)i;
        i += op == RLX_EXPR_WIDE;
    }
    t->root = stack[top - 1];
    return true;
}

/* A piece still to be printed: a literal text, or a node that needs parentheses below
 * `precedence`. */
typedef struct piece { const char *text; uint8_t node, precedence; } piece;
typedef struct pieces { piece data[4 * MAX_SHOWN]; int len; } pieces;

static void push_text(pieces *p, const char *text) { p->data[p->len++] = (piece){ text, 0, 0 }; }
static void push_node(pieces *p, uint8_t node, int precedence)
{
    p->data[p->len++] = (piece){ NULL, node, (uint8_t)precedence };
}

static void print_leaf(const rlx_desc_env *env, const int64_t *code, rlx_desc_line *out)
{
    int64_t w = code[0];
    if (rlx_desc_expr_code(w) == RLX_EXPR_SYMBOL) {
        rlx_slice name = rlx_name(env->names, rlx_desc_dim_index(w));
        if (name.len)
            rlx_desc_line_put(out, name.data, name.len);
        else /* as operands are written */
            rlx_line_format(out, "s%u", (unsigned)rlx_desc_dim_slot(w));
        return;
    }
    rlx_line_format(out, "%lld",
                    (long long)(rlx_desc_expr_code(w) == RLX_EXPR_WIDE ? code[1] : w >> 8));
}

/* Pushes the parts of a node, last one first. */
static void expand(const tree *t, piece at, pieces *pending, rlx_desc_line *out)
{
    const rlx_desc_expr_row *row = &rlx_desc_expr_rows[rlx_desc_expr_code(t->code[at.node])];
    const uint8_t *operand = t->operand[at.node];
    bool parens = row->precedence < at.precedence, call = row->prefix && row->precedence == 12;
    if (parens)
        rlx_desc_line_put(out, "(", 1);
    if (parens || call)
        push_text(pending, ")");
    if (row->infix) {
        push_node(pending, operand[1], row->precedence + 1);
        push_text(pending, row->infix);
        push_node(pending, operand[0], row->precedence);
        return;
    }
    for (int k = row->pops - 1; k >= 0; k--) {
        push_node(pending, operand[k], call ? 0 : row->precedence);
        if (k > 0)
            push_text(pending, ", ");
    }
    rlx_desc_line_put(out, row->prefix, strlen(row->prefix));
    if (rlx_desc_expr_code(t->code[at.node]) == RLX_EXPR_CAST) {
        char name[RLX_DTYPE_TEXT];
        rlx_dtype_name((rlx_dtype)(t->code[at.node] >> 32), name);
        rlx_line_format(out, "\"%s\", ", name);
    }
}

RLX_SMALL void rlx_desc_expr_line(const rlx_desc_env *env, uint32_t offset, rlx_desc_line *out)
{
    tree t = { .code = env->descs + offset + RLX_ITEM_HEADER };
    if (!make_tree(&t, rlx_item_words(env->descs + offset) - RLX_ITEM_HEADER)) {
        rlx_desc_line_put(out, "...", 3);
        return;
    }
    pieces pending = { .len = 0 };
    push_node(&pending, t.root, 0);
    while (pending.len) {
        piece p = pending.data[--pending.len];
        if (p.text)
            rlx_desc_line_put(out, p.text, strlen(p.text));
        else if (rlx_desc_expr_rows[rlx_desc_expr_code(t.code[p.node])].pops == 0)
            print_leaf(env, t.code + p.node, out);
        else
            expand(&t, p, &pending, out);
    }
}

void rlx_desc_dim_line(const rlx_desc_env *env, int64_t dim, rlx_desc_line *out)
{
    switch (rlx_desc_dim_tag_of(dim)) {
    case RLX_DIM_LITERAL: rlx_line_format(out, "%lld", (long long)rlx_desc_dim_value(dim)); break;
    case RLX_DIM_EXPR: rlx_desc_expr_line(env, rlx_desc_dim_index(dim), out); break;
    case RLX_DIM_ANY: rlx_desc_line_put(out, "?", 1); break;
    default: {
        rlx_slice name = rlx_name(env->names, rlx_desc_dim_index(dim));
        rlx_desc_line_put(out, name.len ? name.data : "?", name.len ? name.len : 1);
    }
    }
}

void rlx_desc_expr_text(const rlx_desc_env *env, uint32_t offset, rlx_buf *out)
{
    char buffer[1024];
    rlx_desc_line line = { buffer, sizeof buffer, 0 };
    rlx_desc_line_put(&line, "", 0);
    rlx_desc_expr_line(env, offset, &line);
    rlx_buf_put(out, line.data, line.len);
}
