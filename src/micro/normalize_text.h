/* normalize_text.h: rows that are shifted and scaled, included once by set_text.h. */

/* A row, whose sides are at these places: y, x, r, which stands still, and m, g, b, a, which go on by a vector or stand still. */
SET_INLINE void normalize_row(const rlx_micro_normalize *z, float *const *at, const int64_t *by, f32_vec zero)
{
    const bool more = z->more;
    float *to = at[0];
    const float *from = at[1], *minus = at[2], *again = at[4], *plus = at[5], *add = at[6];
    f32_vec r = f32_fill(*at[3]), low = f32_fill(z->low), high = f32_fill(z->high);
    int64_t j = 0, n = z->columns;
    for (; j + f32_LANES <= n; j += f32_LANES, minus += by[2], again += by[4], plus += by[5], add += by[6]) {
        f32_vec v = (f32_load(from + j) - f32_load(minus)) * r * f32_load(again) + f32_load(plus);
        if (more)
            v = f32_least(high, f32_greatest(low, v + f32_load(add)) + zero);
        f32_store(to + j, v);
    }
#if SET_PARTS
    if (j < n) {
        f32_tail t = f32_first(n - j);
        f32_vec v = (f32_load_part(from + j, t) - f32_load_part(minus, t)) * r * f32_load_part(again, t) + f32_load_part(plus, t);
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

SET static void normalize_f32(const rlx_micro_normalize *z)
{
    enum { SIDES = RLX_NORMALIZE_SIDES };
    bool fast = z->stride[0][1] == 1 && z->stride[1][1] == 1 && !z->stride[3][1];
    int64_t by[SIDES], i = 0;
    float *at[SIDES], *side[SIDES], still[SIDES][f32_LANES];
    for (int k = 0; k < SIDES; k++) {
        side[k] = at[k] = z->side[k];
        fast &= !(z->stride[k][1] & ~(int64_t)1);
        by[k] = z->stride[k][1] * f32_LANES;
        if (!by[k]) {
            at[k] = still[k];
            f32_store(at[k], f32_fill(*side[k]));
        }
    }
    int64_t whole = !fast ? 0 : SET_PARTS ? z->columns : z->columns / f32_LANES * f32_LANES;
    f32_vec zero = f32_fill(z->low == 0 && !signbit(z->low) ? 0.0f : -0.0f); /* +0 is above -0 */
    const float *g = z->side[4], *a = z->side[6];
    bool bounded = z->more || (z->low == -INFINITY && z->high == INFINITY);
    bool plain = bounded && fast && whole && !by[2] && !z->stride[4][0] && !by[4] && !by[5] && !z->stride[6][0] && !by[6] && *g == 1 && *a == 0 && signbit(*a);
    if (plain) {
        rlx_micro_normalize all = *z;
        all.columns = whole;
        normalize_plain(&all, zero);
    }
    while (whole && !plain) {
        normalize_row(z, at, by, zero);
        if (++i == z->rows)
            break;
        for (int k = 0; k < SIDES; k++) {
            side[k] += z->stride[k][0];
            if (by[k])
                at[k] = side[k];
            else if (z->stride[k][0])
                f32_store(at[k], f32_fill(*side[k]));
        }
    }
    if (whole < z->columns) {
        rlx_micro_normalize rest = *z;
        rest.columns -= whole;
        for (int k = 0; k < SIDES; k++)
            rest.side[k] = (float *)z->side[k] + whole * z->stride[k][1];
        rlx_micro_normalize_any(&rest);
    }
}
