/* normalize_text.h: rows that are shifted and scaled, included once by set_text.h. */

/* A row, whose sides are at these places: y, x, m, r, and g, b, a, which go on by a vector or stand still. */
SET static void normalize_row(const rlx_micro_normalize *z, float *const *at, const int64_t *by)
{
    const bool more = z->more;
    float *to = at[0];
    const float *from = at[1], *again = at[4], *plus = at[5], *add = at[6];
    f32_vec m = f32_fill(*at[2]), r = f32_fill(*at[3]), low = f32_fill(z->low), high = f32_fill(z->high),
            zero = f32_fill(z->low == 0 && !signbit(z->low) ? 0.0f : -0.0f); /* +0 is above -0 */
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
        f32_store_part(to + j, v, t);
    }
#endif
}

SET static void normalize_f32(const rlx_micro_normalize *z)
{
    bool fast = z->stride[0][1] == 1 && z->stride[1][1] == 1 && !z->stride[2][1] && !z->stride[3][1];
    int64_t by[3];
    for (int k = 4; k < RLX_NORMALIZE_SIDES; k++) {
        fast &= !(z->stride[k][1] & ~(int64_t)1);
        by[k - 4] = z->stride[k][1] * f32_LANES;
    }
    int64_t whole = !fast ? 0 : SET_PARTS ? z->columns : z->columns / f32_LANES * f32_LANES;
    for (int64_t i = 0; i < z->rows && whole; i++) {
        float *at[RLX_NORMALIZE_SIDES], still[RLX_NORMALIZE_SIDES - 4][f32_LANES];
        for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
            at[k] = (float *)z->side[k] + i * z->stride[k][0];
            if (k >= 4 && !by[k - 4]) {
                f32_store(still[k - 4], f32_fill(*at[k]));
                at[k] = still[k - 4];
            }
        }
        normalize_row(z, at, by);
    }
    if (whole < z->columns) {
        rlx_micro_normalize rest = *z;
        rest.columns -= whole;
        for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
            rest.side[k] = (float *)z->side[k] + whole * z->stride[k][1];
        rlx_micro_normalize_any(&rest);
    }
}
