/* normalize_text.h: rows that are shifted and scaled, included once by set_text.h. */

/* A row, whose sides are at these places: y, x, m, r, and g, b, a, which go on by a vector or stand still. */
SET_INLINE void normalize_row(const rlx_micro_normalize *z, float *const *at, const int64_t *by, f32_vec zero)
{
    const bool more = z->more;
    float *to = at[0];
    const float *from = at[1], *again = at[4], *plus = at[5], *add = at[6];
    f32_vec m = f32_fill(*at[2]), r = f32_fill(*at[3]), low = f32_fill(z->low), high = f32_fill(z->high);
    int64_t j = 0, n = z->columns;
    for (; j + f32_LANES <= n; j += f32_LANES, again += by[0], plus += by[1], add += by[2]) {
        f32_vec v = (f32_load(from + j) - m) * r * f32_load(again) + f32_load(plus);
        if (more)
            v = f32_least(high, f32_greatest(low, v + f32_load(add)) + zero);
        f32_store(to + j, v);
    }
#if SET_PARTS
    if (j < n) {
        f32_tail t = f32_first(n - j);
        f32_vec v = (f32_load_part(from + j, t) - m) * r * f32_load_part(again, t) + f32_load_part(plus, t);
        if (more)
            v = f32_least(high, f32_greatest(low, v + f32_load_part(add, t)) + zero);
        f32_store_end(to + j, v, t, n - j);
    }
#endif
}

/* Rows without g and a, whose b stands still. b takes the zero in: a sum of which one part is not -0 is not -0. */
SET static void normalize_plain(const rlx_micro_normalize *z, f32_vec zero)
{
    float *to = z->side[0];
    const float *from = z->side[1], *m = z->side[2], *r = z->side[3], *b = z->side[5];
    f32_vec low = f32_fill(z->low), high = f32_fill(z->high);
    for (int64_t i = z->rows; i > 0; i--) {
        f32_vec mean = f32_fill(*m), factor = f32_fill(*r), plus = f32_fill(*b) + zero;
        int64_t j = 0, n = z->columns;
#define PLAIN(X) f32_least(high, f32_greatest(low, ((X) - mean) * factor + plus))
        for (; j + f32_LANES <= n; j += f32_LANES)
            f32_store(to + j, PLAIN(f32_load(from + j)));
#if SET_PARTS
        if (j < n) {
            f32_tail t = f32_first(n - j);
            f32_store_end(to + j, PLAIN(f32_load_part(from + j, t)), t, n - j);
        }
#endif
#undef PLAIN
        to += z->stride[0][0], from += z->stride[1][0], m += z->stride[2][0], r += z->stride[3][0], b += z->stride[5][0];
    }
}

/* What is added where that is a bound: +0 is above -0. */
#define ZERO_ABOVE(low) ((low) == 0 && !signbit(low) ? 0.0f : -0.0f)

#if defined(SET_LENDS_ALIKE)
/* Rows of which nothing is there but b, the same to all of them: some rows at a time, vector by vector, so that b stays in a register. It takes
 * the zero in, as above. */
SET static void normalize_bias(const rlx_micro_normalize *z, f32_vec zero)
{
    enum { ROWS = 16 };
    const f32_vec low = f32_fill(z->low), high = f32_fill(z->high);
    const int64_t to_row = z->stride[0][0], from_row = z->stride[1][0];
    for (int64_t first = 0; first < z->rows; first += ROWS)
        for (int64_t j = 0; j < z->columns; j += f32_LANES) {
            const f32_tail t = f32_first(rlx_micro_less(z->columns - j, f32_LANES));
            const f32_vec plus = f32_load_part((const float *)z->side[5] + j, t) + zero;
            float *to = (float *)z->side[0] + first * to_row + j;
            const float *from = (const float *)z->side[1] + first * from_row + j;
            RLX_ROLLED for (int64_t i = rlx_micro_less(z->rows - first, ROWS); i > 0; i--, to += to_row, from += from_row)
                f32_store_part(to, f32_least(high, f32_greatest(low, f32_load_part(from, t) + plus)), t);
        }
}

#else
/* Rows that rlx_micro_is_alike says are: some of them at a time, vector by vector, as far as vectors are whole. */
SET static void normalize_alike(const rlx_micro_normalize *z)
{
    enum { ROWS = 16 };
    const float least = z->more ? z->low : -INFINITY;
    const f32_vec low = f32_fill(least), high = f32_fill(z->more ? z->high : INFINITY), zero = f32_fill(ZERO_ABOVE(least));
    const int64_t to_row = z->stride[0][0], from_row = z->stride[1][0], add_row = z->stride[6][0];
    const bool adds = z->more && z->stride[6][1];
    for (int64_t first = 0; first < z->rows; first += ROWS)
        for (int64_t j = 0; j + f32_LANES <= z->columns; j += f32_LANES) {
            f32_vec side[4];
            RLX_ROLLED for (int k = 0; k < 4; k++)
            {
                const float *at = z->side[2 + k];
                side[k] = z->stride[2 + k][1] ? f32_load(at + j) : f32_fill(*at);
            }
            const f32_vec minus = side[0], times = side[2], plus = side[3] + zero;
            float *to = (float *)z->side[0] + first * to_row + j;
            const float *from = (const float *)z->side[1] + first * from_row + j;
            const float *add = (const float *)z->side[6] + first * add_row + j;
            int64_t i = rlx_micro_less(z->rows - first, ROWS);
            for (; adds && i > 0; i--, to += to_row, from += from_row, add += add_row)
                f32_store(to, f32_least(high, f32_greatest(low, (f32_load(from) - minus) * times + side[3] + f32_load(add)) + zero));
            for (; i > 0; i--, to += to_row, from += from_row)
                f32_store(to, f32_least(high, f32_greatest(low, (f32_load(from) - minus) * times + plus)));
        }
}
#endif

SET static void normalize_rows(const rlx_micro_normalize *z)
{
    enum { SIDES = RLX_NORMALIZE_SIDES, MOVE = 4 };
    bool fast = z->stride[0][1] == 1 && z->stride[1][1] == 1 && !z->stride[2][1] && !z->stride[3][1];
    int64_t by[SIDES - MOVE], i = 0;
    float *at[SIDES], *side[SIDES], still[SIDES - MOVE][f32_LANES];
    for (int k = 0; k < SIDES; k++) {
        side[k] = at[k] = z->side[k];
        if (k < MOVE)
            continue;
        fast &= !(z->stride[k][1] & ~(int64_t)1);
        by[k - MOVE] = z->stride[k][1] * f32_LANES;
        if (!z->stride[k][1]) {
            at[k] = still[k - MOVE];
            f32_store(at[k], f32_fill(*side[k]));
        }
    }
    int64_t whole = !fast ? 0 : SET_PARTS ? z->columns : z->columns / f32_LANES * f32_LANES;
    f32_vec zero = f32_fill(ZERO_ABOVE(z->low));
    const float *g = z->side[4], *a = z->side[6];
    bool bounded = z->more || (z->low == -INFINITY && z->high == INFINITY);
    bool simple = bounded && fast && whole && !z->stride[4][0] && !by[0] && !z->stride[6][0] && !by[2] && *g == 1 && *a == 0 && signbit(*a),
         plain = simple && !by[1];
#if defined(SET_LENDS_ALIKE)
    const float *m = z->side[2];
    if (simple && by[1] && *m == 0 && !signbit(*m) && rlx_micro_is_alike(z)) {
        normalize_bias(z, zero);
        return;
    }
#endif
    if (plain) {
        rlx_micro_normalize all = *z;
        all.columns = whole;
        normalize_plain(&all, zero);
    }
    while (whole && !plain) {
        normalize_row(z, at, by, zero);
        if (++i == z->rows)
            break;
        RLX_UNROLL for (int k = 0; k < MOVE; k++)
            at[k] += z->stride[k][0];
        for (int k = MOVE; k < SIDES; k++) {
            side[k] += z->stride[k][0];
            if (z->stride[k][1])
                at[k] = side[k];
            else if (z->stride[k][0])
                f32_store(at[k], f32_fill(*side[k]));
        }
    }
    rlx_micro_normalize_end(z, whole);
}

SET static void normalize_f32(const rlx_micro_normalize *z)
{
    bool alike = rlx_micro_is_alike(z);
#if defined(SET_LENDS_ALIKE)
    enum { LENT_LANES = 8 };
    /* here a part of a vector costs no more than a whole one, and a bias has a function of its own */
    alike &= z->columns % LENT_LANES == 0 && (z->stride[2][1] | z->stride[4][1] | z->stride[6][1]);
#endif
    if (!alike)
        normalize_rows(z);
    else {
#if defined(SET_LENDS_ALIKE)
        SET_LENDER.normalize(z);
#else
        normalize_alike(z);
        rlx_micro_normalize_end(z, z->columns & -(int64_t)f32_LANES);
#endif
    }
}
