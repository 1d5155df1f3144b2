/*- plan_unpack.c: nests that make floats of fields of bits.
 *
 *     for g, w, v, l:    Y[.. g, w, v, l ..] = (T.Cast("float32", words[g, w, l] >> v * bits & mask) - zero) * scales[g, l]
 *
 * l is contiguous on all sides; words do not move along v, nor scales along v and w. Each of g, w, v may be missing, and so
 * may the mask where the words are a field themselves. bits: 1 to 16, and `mask` is as many ones; zero is a whole number,
 * which all floats of so few bits keep apart.
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

enum { MOST_BITS = 16, MOST_ZERO = 1 << 20 };

typedef struct unpacking {
    rlx_context *ctx;
    rlx_nest_plan *plan;
    rlx_plan_unpack *u;
    const rlx_prim *amount;          /* of the shift; NULL: none */
} unpacking;

static bool find_load(const rlx_nest_plan *n, const rlx_prim *e, size_t *at)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(e);
    *at = rlx_plan_find_access(n, e);
    return l && !l->predicate && *at < n->accesses.len && n->accesses.data[*at].literal;
}

static bool is_call(const rlx_prim *e, enum rlx_bit_op op)
{
    const rlx_prim_call *c = rlx_as_prim_call(e);
    return c && c->op && c->num_args == 2 && rlx_bit_op_named(rlx_string_slice(c->op)) == op;
}

static const rlx_prim *operand(const rlx_prim *call, int i)
{
    return ((const rlx_prim_call *)call)->args[i];
}

/* words >> amount & mask, words & mask, words. */
static bool match_field(unpacking *x, const rlx_prim *e)
{
    rlx_dtype dtype = rlx_prim_dtype(e);
    int64_t size = (int64_t)rlx_dtype_bytes(dtype) * 8, mask;
    enum rlx_kernel_elem elem = rlx_kernel_elem_of(dtype);
    if (elem != RLX_ELEM_U32 && elem != RLX_ELEM_I32 && elem != RLX_ELEM_U8 && elem != RLX_ELEM_I8)
        return false;
    x->u->bits = size;
    if (is_call(e, RLX_BIT_AND)) {
        int at = rlx_int_literal(operand(e, 0), &mask) ? 0 : 1;
        if (!rlx_int_literal(operand(e, at), &mask) || mask < 1 || mask & (mask + 1))
            return false;
        for (x->u->bits = 0; mask >> x->u->bits; x->u->bits++) {
        }
        e = operand(e, 1 - at);
        /* a field of all bits is one with a sign, where its type has one */
        if (x->u->bits > MOST_BITS || (x->u->bits == size && elem == RLX_ELEM_I8))
            return false;
        if (is_call(e, RLX_BIT_SHR)) {
            x->amount = operand(e, 1);
            e = operand(e, 0);
        }
    }
    return x->u->bits <= MOST_BITS && find_load(x->plan, e, &x->u->words);
}

/* T.Cast("float32", field) - zero */
static bool match_distance(unpacking *x, const rlx_prim *e)
{
    const rlx_binary *b = e->kind == RLX_NODE_SUB ? rlx_as_binary(e) : NULL;
    const rlx_float_imm *zero = b ? rlx_as_float_imm(b->b) : NULL;
    x->u->zero = 0;
    if (zero && zero->value >= 0 && zero->value <= MOST_ZERO &&
        zero->value == (double)(int64_t)zero->value) {
        x->u->zero = (int64_t)zero->value;
        e = b->a;
    }
    return e->kind == RLX_NODE_CAST && rlx_prim_dtype(e) == RELAX_FLOAT32 &&
           match_field(x, ((const rlx_unary *)e)->a);
}

static bool match_value(unpacking *x, const rlx_prim *value)
{
    const rlx_binary *b = value->kind == RLX_NODE_MUL ? rlx_as_binary(value) : NULL;
    if (!b || rlx_prim_dtype(value) != RELAX_FLOAT32)
        return false;
    return (find_load(x->plan, b->b, &x->u->scales) && match_distance(x, b->a)) ||
           (find_load(x->plan, b->a, &x->u->scales) && match_distance(x, b->b));
}

/* Which loop is what; of several the innermost, the others stay loops. False: some loop moves the shift and more. */
static bool find_loops(unpacking *x)
{
    rlx_plan_unpack *u = x->u;
    u->group = u->word = u->digit = u->lane = -1;
    for (int i = 0; i < (int)x->plan->count; i++) {
        const rlx_plan_access *all = x->plan->accesses.data, *words = &all[u->words], *scales = &all[u->scales];
        bool shifts = x->amount && rlx_plan_mentions(x->ctx, x->amount, x->plan->loops[i].var);
        if (shifts && (u->digit >= 0 || rlx_plan_moves(words, i) || rlx_plan_moves(scales, i)))
            return false;
        if (shifts)
            u->digit = i;
        else if (rlx_plan_is_unit(&all[0], i) && rlx_plan_is_unit(words, i) && rlx_plan_is_unit(scales, i))
            u->lane = i;
        else if (rlx_plan_moves(words, i))
            *(rlx_plan_moves(scales, i) ? &u->group : &u->word) = i;
    }
    return u->lane >= 0 && (!x->amount || u->digit >= 0);
}

/* Digit d is shifted by d * bits, and all of them are in the word. */
static bool shifts_digits(const unpacking *x)
{
    rlx_dtype words = rlx_as_buffer(x->plan->accesses.data[x->u->words].buffer)->dtype;
    int64_t size = (int64_t)rlx_dtype_bytes(words) * 8, count, amount;
    bool ok = true;
    if (x->u->digit < 0)
        return true;
    if (!rlx_int_literal(x->plan->loops[x->u->digit].extent, &count) || count > size / x->u->bits)
        return false;
    for (int64_t d = 0; d < count && ok; d++) {
        rlx_rewriter r;
        rlx_tir_folder_init(&r, x->ctx);
        const rlx_prim_var *v = rlx_as_prim_var(x->plan->loops[x->u->digit].var);
        ok = rlx_ptrmap_put(&r.map, v, (uintptr_t)rlx_int(x->ctx, v->dtype, d));
        ok = ok && rlx_int_literal(rlx_rewrite(&r, x->amount), &amount) && amount == d * x->u->bits;
        rlx_rewriter_free(&r);
    }
    return ok;
}

bool rlx_plan_unpacking(rlx_context *ctx, rlx_nest_plan *plan)
{
    unpacking x = { .ctx = ctx, .plan = plan, .u = &plan->unpack };
    const rlx_buffer_store *s = rlx_as_buffer_store(plan->body);
    bool fits = s && !s->predicate && plan->accesses.len == 3 && plan->accesses.data[0].literal &&
                rlx_as_buffer(s->buffer)->dtype == RELAX_FLOAT32 && match_value(&x, s->value);
    for (size_t i = 0; i < plan->count && fits; i++)
        fits = plan->loops[i].determined && rlx_is_int_value(plan->loops[i].min, 0);
    const rlx_plan_access *all = plan->accesses.data;
    fits = fits && x.u->words != x.u->scales &&
           !rlx_plan_share_memory(&all[x.u->words], &all[0]) &&
           !rlx_plan_share_memory(&all[x.u->scales], &all[0]) &&
           find_loops(&x) && shifts_digits(&x);
    const int roles[4] = { x.u->group, x.u->word, x.u->digit, x.u->lane };
    for (int i = 0; i < 4 && fits; i++)
        if (roles[i] >= 0)
            plan->loops[roles[i]].role = RLX_PLAN_FIELD;
    return fits;
}
