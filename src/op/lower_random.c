/*- lower_random.c: random numbers that follow from a seed: the same on every machine and in any order.
 *
 *     lane_j[k], j = 0 .. 3        block "lanes": Philox4x32-10 (Salmon and others, 2011) of counter k under the seed
 *     words[4 * k + j]             lane_j[k]
 *     out[i]                       of the words that element i has: one for up to 24 bits, two for 53, twice as many of
 *                                  normal numbers, by Box and Muller
 */
/* built for size */
#include "op/lower_int.h"

enum { ROUNDS = 10, LANES = 4 };

typedef struct random_numbers {
    rlx_lowering_tensor out;
    const rlx_buffer *lane[LANES];  /* a buffer each, so that each is stored to in a row */
    const rlx_buffer *words;
    rlx_dtype wide;
    bool normal;
    double from, to;               /* of uniform numbers; mean and deviation of normal ones */
} random_numbers;

static const rlx_prim *wide_word(rlx_lowering *b, uint32_t v)
{
    return rlx_tir_cast(&b->t, RELAX_UINT64, rlx_int(b->t.ctx, RELAX_UINT32, v));
}

static const rlx_prim *word(rlx_lowering *b, const rlx_prim *x)
{
    return rlx_tir_cast(&b->t, RELAX_UINT32, x);
}

static const rlx_prim *either(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y)
{
    return rlx_tir_call2(&b->t, "bitwise_xor", x, y);
}

/* Both halves of a product of 32 by 32 bits. */
static void product(rlx_lowering *b, const rlx_prim *x, uint32_t by, const rlx_prim **high,
                    const rlx_prim **low)
{
    rlx_tir *t = &b->t;
    const rlx_prim *p = rlx_tir_mul(t, rlx_tir_cast(t, RELAX_UINT64, x), wide_word(b, by));
    p = rlx_tir_let(t, "p", p);
    *high = word(b, rlx_tir_call2(t, "shift_right", p, rlx_int(t->ctx, RELAX_UINT64, 32)));
    *low = word(b, rlx_tir_call2(t, "bitwise_and", p, rlx_int(t->ctx, RELAX_UINT64, 0xffffffff)));
}

/* One block of four words for counter k. */
static void write_lanes(rlx_lowering *b, const random_numbers *r, const rlx_prim *k, uint64_t seed)
{
    static const uint32_t weyl[2] = { 0x9E3779B9, 0xBB67AE85 }, factor[2] = { 0xD2511F53, 0xCD9E8D57 };
    rlx_tir *t = &b->t;
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    const rlx_prim *wide = rlx_tir_let(t, "counter", rlx_tir_cast(t, RELAX_UINT64, k));
    const rlx_prim *zero = rlx_int(t->ctx, RELAX_UINT32, 0);
    const rlx_prim *low = rlx_tir_call2(t, "bitwise_and", wide, rlx_int(t->ctx, RELAX_UINT64, 0xffffffff));
    const rlx_prim *c[LANES] = {
        word(b, low), word(b, rlx_tir_call2(t, "shift_right", wide, rlx_int(t->ctx, RELAX_UINT64, 32))), zero, zero
    };
    for (int i = 0; i < ROUNDS; i++) {
        const rlx_prim *high0, *low0, *high1, *low1;
        product(b, c[0], factor[0], &high0, &low0);
        product(b, c[2], factor[1], &high1, &low1);
        c[0] = either(b, either(b, high1, c[1]), rlx_int(t->ctx, RELAX_UINT32, key[0]));
        c[2] = either(b, either(b, high0, c[3]), rlx_int(t->ctx, RELAX_UINT32, key[1]));
        c[1] = low1;
        c[3] = low0;
        for (int j = 0; j < LANES; j++)
            c[j] = rlx_tir_let(t, "word", c[j]);
        key[0] += weyl[0];
        key[1] += weyl[1];
    }
    for (int j = 0; j < LANES; j++)
        rlx_tir_store(t, r->lane[j], RLX_TIR_LIST(k), c[j]);
}

/* In 0 <= x < 1, of as many bits as the result holds: the words from `at` on. */
static const rlx_prim *fraction(rlx_lowering *b, const random_numbers *r, const rlx_prim *at)
{
    rlx_tir *t = &b->t;
    const rlx_prim *x = rlx_tir_load(t, r->words, RLX_TIR_LIST(at));
    if (r->wide != RELAX_FLOAT64) {
        uint32_t bits = r->normal || r->out.dtype == RELAX_FLOAT32 ? 24 : r->out.dtype == RELAX_FLOAT16 ? 11 : 8;
        x = rlx_tir_call2(t, "shift_right", x, rlx_int(t->ctx, RELAX_UINT32, 32 - (int64_t)bits));
        return rlx_tir_mul(t, rlx_tir_cast(t, r->wide, x), rlx_tir_float(t, r->wide, 1.0 / (double)(1u << bits)));
    }
    const rlx_prim *y = rlx_tir_load(t, r->words, RLX_TIR_LIST(rlx_tir_add(t, at, rlx_tir_int(t, 1))));
    x = rlx_tir_cast(t, r->wide, rlx_tir_call2(t, "shift_right", x, rlx_int(t->ctx, RELAX_UINT32, 5)));
    y = rlx_tir_cast(t, r->wide, rlx_tir_call2(t, "shift_right", y, rlx_int(t->ctx, RELAX_UINT32, 6)));
    x = rlx_tir_add(t, rlx_tir_mul(t, x, rlx_tir_float(t, r->wide, 0x1p26)), y);
    return rlx_tir_mul(t, x, rlx_tir_float(t, r->wide, 0x1p-53));
}

static int64_t words_for_one(const random_numbers *r)
{
    return (r->wide == RELAX_FLOAT64 ? 2 : 1) * (r->normal ? 2 : 1);
}

static const rlx_prim *random_value(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    random_numbers *r = user;
    rlx_tir *t = &b->t;
    const rlx_prim *at = rlx_tir_flatten(t, rlx_lowering_items(index), rlx_lowering_items(&r->out.shape.sizes));
    at = rlx_tir_mul(t, at, rlx_tir_int(t, words_for_one(r)));
    const rlx_prim *x = fraction(b, r, at);
    const rlx_prim *from = rlx_tir_float(t, r->wide, r->from);
    if (!r->normal) {
        x = rlx_tir_mul(t, x, rlx_tir_float(t, r->wide, r->to - r->from));
        return rlx_tir_cast(t, r->out.dtype, rlx_tir_add(t, x, from));
    }
    const rlx_prim *angle = fraction(b, r, rlx_tir_add(t, at, rlx_tir_int(t, words_for_one(r) / 2)));
    const rlx_prim *left = rlx_tir_sub(t, rlx_tir_float(t, r->wide, 1), x);
    const rlx_prim *radius = rlx_tir_mul(t, rlx_tir_call1(t, "log", left), rlx_tir_float(t, r->wide, -2));
    radius = rlx_tir_call1(t, "sqrt", radius);
    angle = rlx_tir_mul(t, angle, rlx_tir_float(t, r->wide, 6.283185307179586));
    x = rlx_tir_mul(t, radius, rlx_tir_call1(t, "cos", angle));
    x = rlx_tir_mul(t, x, rlx_tir_float(t, r->wide, r->to));
    return rlx_tir_cast(t, r->out.dtype, rlx_tir_add(t, x, from));
}

/* attributes dtype, seed, and low and high or mean and scale */
const rlx_prim_func *rlx_lower_random(rlx_lower_request *l)
{
    rlx_lowering b;
    random_numbers r = { .normal = l->row->member.number != 0,
                         .from = rlx_attr_as_float(rlx_lowering_attr(l, 2), 0),
                         .to = rlx_attr_as_float(rlx_lowering_attr(l, 3), 1) };
    rlx_lowering_list sizes = { .n = 1 }, at;
    rlx_lowering_begin(&b, l);
    rlx_tir *t = &b.t;
    if (!rlx_lowering_output(&b, NULL, &r.out))
        return rlx_lowering_end(&b);
    if (!rlx_dtype_is_float(r.out.dtype)) {
        rlx_lowering_refuse_dtype(&b);
        return rlx_lowering_end(&b);
    }
    r.wide = rlx_lowering_accumulator(r.out.dtype);
    const rlx_prim *count = rlx_tir_mul(t, rlx_lowering_product(&b, &r.out.shape.sizes, NULL), rlx_tir_int(t, words_for_one(&r)));
    sizes.at[0] = rlx_tir_floor_div(t, rlx_tir_add(t, count, rlx_tir_int(t, LANES - 1)), rlx_tir_int(t, LANES));
    r.words = rlx_tir_alloc(t, "words", RELAX_UINT32, RLX_TIR_LIST(rlx_tir_mul(t, sizes.at[0], rlx_tir_int(t, LANES))));
    for (int j = 0; j < LANES; j++)
        r.lane[j] = rlx_tir_alloc(t, "lane", RELAX_UINT32, RLX_TIR_LIST(sizes.at[0]));
    rlx_lowering_open(&b, "lanes", &sizes, &at);
    write_lanes(&b, &r, at.at[0], (uint64_t)rlx_attr_as_int(rlx_lowering_attr(l, 1), 0));
    rlx_tir_end_block(t);
    for (int j = 0; j < LANES; j++) {
        rlx_lowering_open(&b, "words", &sizes, &at);
        const rlx_prim *to = rlx_tir_add(t, rlx_tir_mul(t, at.at[0], rlx_tir_int(t, LANES)), rlx_tir_int(t, j));
        rlx_tir_store(t, r.words, RLX_TIR_LIST(to), rlx_tir_load(t, r.lane[j], RLX_TIR_LIST(at.at[0])));
        rlx_tir_end_block(t);
    }
    return rlx_lowering_mapped(&b, &r.out, random_value, &r);
}
