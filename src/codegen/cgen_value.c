/* cgen_value.c: expressions. The text of an operation is that of its row in kernel_value.def with
 * the operands in place of a, b and c; sums and products are written without it, so that no
 * parentheses stand where none are needed. */
#include "codegen/cgen_int.h"

#include <math.h>

const char *const rlx_cgen_class_types[RLX_CLASS_COUNT] = { "int32_t", "int64_t", "float",
                                                            "double" };
const rlx_cgen_elem_row rlx_cgen_elems[RLX_ELEM_COUNT] = {
#define INTEGER(name, elem, text, code, bits, klass, C, npy) [RLX_ELEM_##elem] = { #C, NULL, NULL },
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    [RLX_ELEM_##elem] = { #C, "rlx_" #function "_to_float(", "rlx_float_to_" #function "(" },
#define REAL(name, elem, text, code, bits, klass, C, ...) [RLX_ELEM_##elem] = { #C, NULL, NULL },
#include "base/dtype.def"
};

typedef struct value_row {
    const char *result, *type;  /* type NULL: operands as they are */
    const char *text;
    const char *fails, *why;    /* NULL: cannot fail; number of its enum rlx_kernel_trouble */
} value_row;

#define TROUBLE_RLX_TROUBLE_DIVISION "1"
#define TROUBLE_RLX_TROUBLE_SHIFT "2"
#define TROUBLE_RLX_TROUBLE_EXPONENT "3"
static const value_row rows[RLX_K_COUNT] = {
#define VALUE1(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define VALUE2(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define WIDE1(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define WIDE2(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define LANES1(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define LANES2(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define WIDE_LANES1(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define WIDE_LANES2(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define WIDEST1(name, R, T, expr) [RLX_K_##name] = { #R, #T, #expr, NULL, NULL },
#define TURN1(name, expr, near) [RLX_K_##name] = { "float", "float", #expr, NULL, NULL },
#define WHOLE1(name, R, expr, near) [RLX_K_##name] = { #R, "float", #expr, NULL, NULL },
#define SHORT1(name, R) VALUE1(name, R, int64_t, a)
#define ROW1 TURN1
#define SATURATE(name, low, high) VALUE1(name, int32_t, double, rlx_saturate_i32(a, low, high))
#define SATURATE_F32(name, low, high) VALUE1(name, int32_t, float, rlx_saturate_f32(a, low, high))
#define BYTES1(name, expr) VALUE1(name, int32_t, int32_t, expr)
#define BYTES2 BYTES1
#define QUANTIZE(name, low, high) VALUE2(name, int32_t, float, rlx_quantize_f32(a, b, c, low, high))
#define RISKY(name, T, fails, why, expr) [RLX_K_##name] = { #T, #T, #expr, #fails, TROUBLE_##why },
#define SELECT(name, T) [RLX_K_##name] = { #T, NULL, "a ? b : c", NULL, NULL },
#define COPY(name, bytes, expr) [RLX_K_##name] = { NULL, NULL, #expr, NULL, NULL },
#define LDEXP(name, T, expr) [RLX_K_##name] = { NULL, NULL, #expr, NULL, NULL },
#define FMA(name, T, expr) [RLX_K_##name] = { NULL, NULL, #expr, NULL, NULL },
#define ROUND1(name, function) VALUE1(name, float, float, rlx_##function##_to_float(rlx_float_to_##function(a)))
#include "format/kernel_value.def"
};

/* Operators of C that need no row. */
typedef struct sum_row { uint16_t op; char text[4]; uint8_t rank, right; } sum_row;
static const sum_row sums[] = {
    { RLX_K_XADD, " + ", C_SUM, C_SUM },
    { RLX_K_XSUB, " - ", C_SUM, C_PRODUCT },
    { RLX_K_XMUL, " * ", C_PRODUCT, C_PRODUCT },
    { RLX_K_ADD_I32, " + ", C_SUM, C_SUM },
    { RLX_K_SUB_I32, " - ", C_SUM, C_PRODUCT },
    { RLX_K_MUL_I32, " * ", C_PRODUCT, C_PRODUCT },
    { RLX_K_ADD_I64, " + ", C_SUM, C_SUM },
    { RLX_K_SUB_I64, " - ", C_SUM, C_PRODUCT },
    { RLX_K_MUL_I64, " * ", C_PRODUCT, C_PRODUCT },
    /* the order of floats matters */
    { RLX_K_ADD_F32, " + ", C_SUM, C_PRODUCT },
    { RLX_K_SUB_F32, " - ", C_SUM, C_PRODUCT },
    { RLX_K_MUL_F32, " * ", C_PRODUCT, C_UNARY },
    { RLX_K_ADD_F64, " + ", C_SUM, C_PRODUCT },
    { RLX_K_SUB_F64, " - ", C_SUM, C_PRODUCT },
    { RLX_K_MUL_F64, " * ", C_PRODUCT, C_UNARY },
    { RLX_K_DIV_F32, " / ", C_PRODUCT, C_UNARY },
    { RLX_K_DIV_F64, " / ", C_PRODUCT, C_UNARY },
};

/* ---- text ----------------------------------------------------------------------------------- */

rlx_cgen_value rlx_cgen_text(rlx_cgen_kernel *g, size_t begin, int rank)
{
    return (rlx_cgen_value){ .at = (uint32_t)begin,
                             .len = (uint32_t)(g->pool.len - begin),
                             .rank = (uint8_t)rank };
}

/* The pool may be what is appended to: it may move. */
static void put_text(rlx_cgen_kernel *g, rlx_buf *b, rlx_cgen_value v)
{
    if (b->failed || g->pool.failed || !rlx_buf_grow(b, v.len))
        return;
    rlx_buf_put(b, g->pool.data + v.at, v.len);
}

void rlx_cgen_put(rlx_cgen_kernel *g, rlx_buf *b, rlx_cgen_value v, int rank)
{
    if (v.rank < rank)
        rlx_buf_char(b, '(');
    put_text(g, b, v);
    if (v.rank < rank)
        rlx_buf_char(b, ')');
}

static void put_float(rlx_buf *b, double v, bool is_float32)
{
    if (v != v)
        rlx_buf_z(b, signbit(v) ? "-NAN" : "NAN");
    else if (v - v != 0)
        rlx_buf_z(b, v < 0 ? "-INFINITY" : "INFINITY");
    else {
        rlx_print_double_short(b, v, is_float32);
        if (is_float32)
            rlx_buf_char(b, 'f');
    }
}

static void put_int(rlx_buf *b, int64_t v)
{
    if (v == INT64_MIN)
        rlx_buf_lit(b, "INT64_MIN");
    else if (v == INT32_MIN)
        rlx_buf_lit(b, "INT32_MIN");
    else if (v > INT32_MAX || v < INT32_MIN)
        rlx_buf_format(b, "INT64_C(%lld)", (long long)v);
    else
        rlx_buf_i64(b, v);
}

static rlx_cgen_value literal(rlx_cgen_kernel *g, uint32_t r)
{
    uint64_t bits = c_constant(g, r);
    uint32_t low = (uint32_t)bits;
    size_t begin = g->pool.len;
    double d;
    float f;
    bool negative = false;
    switch (rlx_cgen_class(g, r)) {
    case RLX_CLASS_I32: put_int(&g->pool, (int32_t)low), negative = (int32_t)low < 0; break;
    case RLX_CLASS_I64: put_int(&g->pool, (int64_t)bits), negative = (int64_t)bits < 0; break;
    case RLX_CLASS_F32:
        memcpy(&f, &low, 4);
        put_float(&g->pool, (double)f, true), negative = signbit(f);
        break;
    default:
        memcpy(&d, &bits, 8);
        put_float(&g->pool, d, false), negative = signbit(d);
    }
    rlx_cgen_value v = rlx_cgen_text(g, begin, negative ? C_OTHER : C_ATOM);
    v.literal = true;
    return v;
}

rlx_cgen_value rlx_cgen_operand(rlx_cgen_kernel *g, uint32_t r)
{
    if (c_is_constant(g, r) && !g->values[r].len)
        g->values[r] = literal(g, r);
    return g->values[r];
}

/* ---- operations ----------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* `text` with values for the words a, b, c; each cast to `type` if that is unsigned. */
static void put_with(rlx_cgen_kernel *g, rlx_buf *b, const char *text, const char *type,
                     const rlx_cgen_value *v)
{
    bool cast = type && type[0] == 'u';
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (is_word(p[n]))
            n++;
        if (n == 1 && *p >= 'a' && *p <= 'c') {
            bool alone = p > text && (p[-1] == '(' || p[-1] == ' ') &&
                         (p[1] == ')' || p[1] == ',') && !(p[-1] == ' ' && p[-2] != ',');
            if (cast)
                rlx_buf_format(b, "(%s)", type);
            rlx_cgen_put(g, b, v[*p - 'a'], cast ? C_UNARY : alone ? C_OTHER : C_ATOM);
        } else
            rlx_buf_put(b, p, n ? n : 1);
        p += n ? n : 1;
    }
}

void rlx_cgen_put_condition(rlx_cgen_kernel *g, rlx_buf *b, const char *text,
                            const rlx_cgen_value *v)
{
    put_with(g, b, text, NULL, v);
}

bool rlx_cgen_is_function(rlx_slice name)
{
    for (size_t i = RLX_K_FIRST_VALUE; i < RLX_K_COUNT; i++) {
        const char *text = rows[i].text;
        size_t n = 0;
        while (text && is_word(text[n]))
            n++;
        if (n && text[n] == '(' && n == name.len && memcmp(text, name.data, n) == 0)
            return true;
    }
    return false;
}

bool rlx_cgen_may_fail(unsigned op) { return rows[op].fails != NULL; }

const char *rlx_cgen_trouble(unsigned op, const char **condition)
{
    *condition = rows[op].fails;
    return rows[op].why;
}

static const sum_row *find_sum(unsigned op)
{
    for (size_t i = 0; i < RLX_COUNT(sums); i++)
        if (sums[i].op == op)
            return &sums[i];
    return NULL;
}

static bool is_zero(const rlx_cgen_kernel *g, rlx_cgen_value v)
{
    return v.literal && v.len == 1 && !g->pool.failed && g->pool.data[v.at] == '0';
}

static bool is_float_zero(const rlx_cgen_kernel *g, rlx_cgen_value v)
{
    if (!v.literal || g->pool.failed)
        return false;
    rlx_slice text = { g->pool.data + v.at, v.len };
    return rlx_slice_is(text, "0.0") || rlx_slice_is(text, "0.0f");
}

/* The least or greatest of a value and a number that leaves nothing to decide but which is which. False: it is not that. */
static bool bounded(rlx_cgen_kernel *g, unsigned op, const rlx_cgen_value *v, rlx_cgen_value *out)
{
    const bool most = op == RLX_K_MIN_F32;
    const rlx_cgen_value number = v[1].literal ? v[1] : v[0], of = v[1].literal ? v[0] : v[1];
    if ((!most && op != RLX_K_MAX_F32) || !number.literal || of.literal || g->pool.failed)
        return false;
    const rlx_slice text = { g->pool.data + number.at, number.len };
    const bool is_zero = is_float_zero(g, number);
    if (memchr(text.data, 'A', text.len) || rlx_slice_is(text, "-0.0f"))   /* NAN */
        return false;
    const size_t begin = g->pool.len;
    rlx_buf_z(&g->pool, most ? "rlx_at_most_f32(" : is_zero ? "rlx_at_least_0_f32(" : "rlx_at_least_f32(");
    rlx_cgen_put(g, &g->pool, of, C_OTHER);
    if (most || !is_zero) {
        rlx_buf_lit(&g->pool, ", ");
        rlx_cgen_put(g, &g->pool, number, C_OTHER);
    }
    rlx_buf_char(&g->pool, ')');
    *out = rlx_cgen_text(g, begin, C_ATOM);
    return true;
}

static rlx_cgen_value zero_minus(rlx_cgen_kernel *g, bool is_float32, rlx_cgen_value v)
{
    size_t begin = g->pool.len;
    rlx_buf_z(&g->pool, is_float32 ? "rlx_zero_minus_f32(" : "rlx_zero_minus_f64(");
    rlx_cgen_put(g, &g->pool, v, C_OTHER);
    rlx_buf_char(&g->pool, ')');
    return rlx_cgen_text(g, begin, C_ATOM);
}

static rlx_cgen_value sum(rlx_cgen_kernel *g, const sum_row *s, const rlx_cgen_value *v, bool wide)
{
    if ((s->op == RLX_K_SUB_F32 || s->op == RLX_K_SUB_F64) && is_float_zero(g, v[0]))
        return zero_minus(g, s->op == RLX_K_SUB_F32, v[1]);
    if (s->rank == C_SUM && is_zero(g, v[1])) /* integers: the text of a float has a point */
        return v[0];
    size_t begin = g->pool.len;
    if (wide && v[0].literal && v[1].literal)
        rlx_buf_lit(&g->pool, "(int64_t)");
    rlx_cgen_put(g, &g->pool, v[0], wide && v[0].literal && v[1].literal ? C_UNARY : s->rank);
    rlx_buf_z(&g->pool, s->text);
    rlx_cgen_put(g, &g->pool, v[1], s->right);
    return rlx_cgen_text(g, begin, s->rank);
}

/* Is a conversion needed, so that C computes on in the class of the result? */
static const char *result_cast(const value_row *r, unsigned klass)
{
    const char *natural = rlx_cgen_class_types[klass];
    if (!r->result || !r->type)
        return NULL;
    if (strcmp(r->result, natural) != 0)
        return natural; /* computed unsigned */
    bool is_narrow = klass == RLX_CLASS_I32 || klass == RLX_CLASS_F32;
    if (strcmp(r->result, r->type) == 0 || (is_narrow && strcmp(r->text, "a") != 0 &&
                                            strncmp(r->text, "rlx_saturate", 12) != 0))
        return NULL;
    return natural;
}

static int rank_of(const char *text)
{
    size_t n = 0;
    int depth = 0;
    while (is_word(text[n]))
        n++;
    if (!text[n])
        return C_ATOM;
    if (!n || text[n] != '(')
        return C_OTHER;
    for (; text[n]; n++) {
        depth += (text[n] == '(') - (text[n] == ')');
        if (!depth)
            return text[n + 1] ? C_OTHER : C_ATOM;
    }
    return C_OTHER;
}

static rlx_cgen_value by_row(rlx_cgen_kernel *g, unsigned op, unsigned klass,
                             const rlx_cgen_value *v)
{
    const value_row *r = &rows[op];
    const char *cast = result_cast(r, klass);
    if (strcmp(r->text, "a") == 0 && !cast)
        return v[0];
    size_t begin = g->pool.len;
    int rank = strcmp(r->text, "a") == 0 ? v[0].rank : rank_of(r->text);
    if (cast)
        rlx_buf_format(&g->pool, "(%s)%s", cast, rank < C_UNARY ? "(" : "");
    put_with(g, &g->pool, r->text, r->type, v);
    if (cast && rank < C_UNARY)
        rlx_buf_char(&g->pool, ')');
    return rlx_cgen_text(g, begin, cast ? C_UNARY : rank);
}

static rlx_cgen_value extreme(rlx_cgen_kernel *g, unsigned op, const rlx_cgen_value *v)
{
    size_t begin = g->pool.len;
    for (int i = 0; i < 2; i++) {
        rlx_cgen_put(g, &g->pool, v[0], C_ATOM);
        if (!i) {
            rlx_buf_z(&g->pool, op == RLX_K_XMIN ? " < " : " > ");
            rlx_cgen_put(g, &g->pool, v[1], C_ATOM);
        }
        rlx_buf_z(&g->pool, i ? " : " : " ? ");
    }
    rlx_cgen_put(g, &g->pool, v[1], C_ATOM);
    return rlx_cgen_text(g, begin, C_OTHER);
}

/* a * b + c */
static rlx_cgen_value product_sum(rlx_cgen_kernel *g, const rlx_cgen_value *v)
{
    const sum_row *add = find_sum(RLX_K_XADD), *mul = find_sum(RLX_K_XMUL);
    rlx_cgen_value pair[2] = { sum(g, mul, v, true), v[2] };
    return sum(g, add, pair, true);
}

rlx_cgen_value rlx_cgen_arithmetic(rlx_cgen_kernel *g, uint32_t at)
{
    unsigned op = c_word_at(g, at), klass = rlx_cgen_class(g, c_word_at(g, at + 1));
    const char *letters = rlx_kernel_ops[op].operands;
    const sum_row *s = find_sum(op);
    rlx_cgen_value v[4] = { { 0 } }, result;
    bool loads = false;
    for (int i = 1; letters[i] && i < 5; i++) {
        if (letters[i] == 'm')
            continue;
        v[i - 1] = rlx_cgen_operand(g, c_word_at(g, at + 1 + (uint32_t)i));
        loads |= v[i - 1].loads;
    }
    if (s)
        result = sum(g, s, v, klass == RLX_CLASS_I64);
    else if (op == RLX_K_XMIN || op == RLX_K_XMAX)
        result = extreme(g, op, v);
    else if (op == RLX_K_XMADD)
        result = product_sum(g, v);
    else if (op == RLX_K_XMOVE)
        result = v[0];
    else if (!bounded(g, op, v, &result))
        result = by_row(g, op, klass, v);
    result.loads = loads;
    return result;
}

/* The element of a buffer as a value of its class. */
rlx_cgen_value rlx_cgen_load(rlx_cgen_kernel *g, uint32_t row, rlx_cgen_value offset)
{
    enum rlx_kernel_elem e =
        rlx_kernel_elem_of((int32_t)rlx_get_u32(c_buffer(g, row)));
    const char *call = rlx_cgen_elems[e].load;
    const char *before = call                                     ? call
                         : e == RLX_ELEM_U32 || e == RLX_ELEM_U64 ? "(int64_t)"
                                                                  : "";
    const char *after = call ? "])" : e == RLX_ELEM_BOOL ? "] != 0" : "]";
    size_t begin = g->pool.len;
    rlx_buf_z(&g->pool, before);
    rlx_cgen_put(g, &g->pool, g->buffers[row], C_ATOM);
    rlx_buf_char(&g->pool, '[');
    rlx_cgen_put(g, &g->pool, offset, C_OTHER);
    rlx_buf_z(&g->pool, after);
    rlx_cgen_value v = rlx_cgen_text(g, begin,
                                     e == RLX_ELEM_BOOL                       ? C_OTHER
                                     : e == RLX_ELEM_U32 || e == RLX_ELEM_U64 ? C_UNARY
                                                                              : C_ATOM);
    v.loads = true;
    return v;
}
