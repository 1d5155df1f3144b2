/*- lower_layout.c: layout_transform: each element of x at its new place, the rest of the result
 * padding.
 *
 * Where it can be seen that every place is taken, nothing is padded. The indices of the map are
 * read as sums of digits: (i // lower) % extent * scale. No two elements meet if
 *     the digits of each index of x are all there: 1 .. 4, 4 .. 12, 12 .. (or as far as x goes)
 *     and those of a sum do not overlap: each scale is at least that of the digit below times its
 *     extent.
 * Otherwise what decides is the number of places; of elements that meet, the last one stays.
 */
/* built for size */
#include "op/lower_int.h"

#define MAX_DIGITS 32
#define WHOLE INT64_MAX /* the extent of a digit that has no end of its own */

typedef struct digit {
    size_t from, to;              /* index of x, of the result */
    int64_t lower, extent, scale; /* all positive */
} digit;

typedef struct digits {
    const rlx_index_map *map;
    const rlx_lowering_list *sizes; /* of x */
    digit at[MAX_DIGITS];
    size_t n;
} digits;

/* ---- reading a map -------------------------------------------------------------------------- */

static bool divide_digit(digit *d, int64_t by)
{
    if (d->extent != WHOLE && d->extent % by != 0)
        return false;
    d->extent = d->extent == WHOLE ? WHOLE : d->extent / by;
    return rlx_mul_i64(d->lower, by, &d->lower);
}

static bool reduce_digit(digit *d, int64_t by)
{
    if (d->extent != WHOLE && d->extent % by != 0)
        return by % d->extent == 0;
    d->extent = by;
    return true;
}

/* An index with divisions and remainders by literals. */
static bool read_digit(const digits *s, const rlx_prim *e, digit *out)
{
    int64_t by[MAX_DIGITS];
    bool quotient[MAX_DIGITS];
    size_t n = 0;
    const rlx_binary *b;
    for (; (b = rlx_as_binary(e)) && n < MAX_DIGITS; e = b->a, n++) {
        quotient[n] = e->kind == RLX_NODE_FLOOR_DIV;
        if ((!quotient[n] && e->kind != RLX_NODE_FLOOR_MOD) || !rlx_int_literal(b->b, &by[n]) ||
            by[n] <= 0)
            return false;
    }
    while (out->from < s->map->num_initial && s->map->initial[out->from] != e)
        out->from++;
    bool good = out->from < s->map->num_initial;
    while (good && n--)
        good = quotient[n] ? divide_digit(out, by[n]) : reduce_digit(out, by[n]);
    return good;
}

/* A sum of digits times literals. */
static bool read_index(digits *s, const rlx_prim *e, size_t to)
{
    for (;;) {
        const rlx_binary *sum = rlx_is(e, RLX_NODE_ADD) ? rlx_as_binary(e) : NULL;
        const rlx_prim *term = sum ? sum->b : e;
        const rlx_binary *product = rlx_is(term, RLX_NODE_MUL) ? rlx_as_binary(term) : NULL;
        digit d = { .to = to, .lower = 1, .extent = WHOLE, .scale = 1 };
        bool scaled = product && (rlx_int_literal(product->b, &d.scale) ||
                                  rlx_int_literal(product->a, &d.scale));
        if (scaled)
            term = rlx_is(product->b, RLX_NODE_INT_IMM) ? product->a : product->b;
        if (d.scale <= 0 || s->n == MAX_DIGITS || !read_digit(s, term, &d))
            return false;
        s->at[s->n++] = d;
        if (!sum)
            return true;
        e = sum->a;
    }
}

/* ---- what the digits say -------------------------------------------------------------------- */

/* How many values a digit takes, at most; WHOLE: not known. */
static int64_t values_of(const digits *s, const digit *d)
{
    int64_t size;
    if (!rlx_int_literal(s->sizes->at[d->from], &size) || size < 0)
        return d->extent;
    size = size / d->lower + (size % d->lower != 0);
    return size < d->extent ? size : d->extent;
}

/* a can take all its values below one step of b. */
static bool fits_below(const digits *s, const digit *a, const digit *b)
{
    int64_t end;
    return rlx_mul_i64(a->scale, values_of(s, a), &end) && end <= b->scale;
}

static bool overlap(const digits *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = i + 1; k < s->n; k++)
            if (s->at[i].to == s->at[k].to && !fits_below(s, &s->at[i], &s->at[k]) &&
                !fits_below(s, &s->at[k], &s->at[i]))
                return true;
    return false;
}

/* Are all digits of index `from` of x there? */
static bool is_whole(const digits *s, size_t from)
{
    int64_t reached = 1, size = WHOLE;
    rlx_int_literal(s->sizes->at[from], &size);
    for (size_t i = 0; i < s->n && reached < size;) {
        const digit *d = &s->at[i++];
        if (d->from != from || d->lower != reached || d->extent == 1)
            continue;
        if (d->extent == WHOLE || !rlx_mul_i64(reached, d->extent, &reached))
            return true;
        i = 0;
    }
    return reached >= size;
}

/* No two elements of x go to one place. */
static bool keeps_apart(const rlx_index_map *map, const rlx_lowering_list *sizes)
{
    digits s = { .map = map, .sizes = sizes };
    for (size_t i = 0; i < map->num_final; i++)
        if (!read_index(&s, map->final[i], i))
            return false;
    for (size_t i = 0; i < map->num_initial; i++)
        if (!is_whole(&s, i))
            return false;
    return !overlap(&s);
}

/* ---- the PrimFunc --------------------------------------------------------------------------- */

static const rlx_prim *pad_value(rlx_lowering *b, const rlx_lowering_tensor *out)
{
    const rlx_prim_value *pad = rlx_as_prim_value(rlx_lowering_attr(b->l, 1));
    return pad ? rlx_tir_cast(&b->t, out->dtype, pad->value)
               : rlx_tir_number(&b->t, out->dtype, 0);
}

static bool new_indices(rlx_lowering *b, const rlx_index_map *map, const rlx_lowering_list *index,
                        rlx_lowering_list *out)
{
    const rlx_prim *from[RLX_LOW_RANK];
    out->n = map->num_final;
    for (size_t i = 0; i < index->n; i++) {
        from[i] = rlx_tir_cast(&b->t, rlx_prim_dtype(map->initial[i]), index->at[i]);
        if (!from[i])
            return false;
    }
    for (size_t i = 0; i < map->num_final; i++)
        out->at[i] = rlx_substitute(b->l->ctx, map->final[i], map->initial, from, index->n);
    return true;
}

/* Indices of int32 cannot name more. */
static void require_narrow(rlx_lowering *b, const rlx_index_map *map,
                           const rlx_lowering_list *sizes)
{
    bool narrow = false;
    for (size_t i = 0; i < map->num_initial; i++)
        narrow |= rlx_prim_dtype(map->initial[i]) == RELAX_INT32;
    for (size_t i = 0; i < sizes->n && narrow; i++)
        rlx_lowering_require(b, rlx_tir_le(&b->t, sizes->at[i], rlx_tir_int(&b->t, INT32_MAX)),
                             RLX_ASSERTION_SIZES, "a size is too large for an index map of int32");
}

static void move_elements(rlx_lowering *b, const rlx_index_map *map, const rlx_lowering_tensor *x,
                          const rlx_lowering_tensor *out)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list index, to;
    const rlx_prim *have = rlx_lowering_product(b, &x->shape.sizes, NULL),
                   *places = rlx_lowering_product(b, &out->shape.sizes, NULL);
    bool apart = keeps_apart(map, &x->shape.sizes);
    require_narrow(b, map, &x->shape.sizes);
    require_narrow(b, map, &out->shape.sizes);
    if (!apart)
        rlx_lowering_require(b, rlx_tir_le(t, have, places),
                             RLX_ASSERTION_SIZES,
                             "the index map moves several elements to one place");
    if (!apart || rlx_prove_equal(b->l->ctx, NULL, have, places) != RLX_EQUAL) {
        rlx_lowering_open(b, "pad", &out->shape.sizes, &index);
        rlx_tir_store(t, out->buffer, rlx_lowering_items(&index), pad_value(b, out));
        rlx_tir_end_block(t);
    }
    rlx_lowering_open(b, "layout_transform", &x->shape.sizes, &index);
    if (new_indices(b, map, &index, &to))
        rlx_tir_store(t, out->buffer, rlx_lowering_items(&to),
                      rlx_tir_load(t, x->buffer, rlx_lowering_items(&index)));
    rlx_tir_end_block(t);
}

const rlx_prim_func *rlx_lower_layout_transform(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    const rlx_index_map *map = rlx_as_index_map(rlx_lowering_attr(l, 0));
    rlx_lowering_begin(&b, l);
    if (!map || map->num_final > RLX_LOW_RANK)
        rlx_lowering_give_up(&b, "the index map is not known");
    if (b.why || !rlx_lowering_input(&b, 0, &x) || !rlx_lowering_output(&b, NULL, &out))
        return rlx_lowering_end(&b);
    if (x.shape.sizes.n != map->num_initial || out.shape.sizes.n != map->num_final)
        rlx_lowering_give_up(&b, "the index map does not fit the rank");
    else
        move_elements(&b, map, &x, &out);
    return rlx_lowering_end(&b);
}
