/* normalize_text.h: rows that are shifted and scaled, included once by set_text.h. */

/* n columns of a row: what moves with them steps by 1, what stands still is LANES times the same. */
SET static void normalize_row(float *to, const float *from, float minus, float times, const float *again,
                              int64_t again_step, const float *plus, int64_t plus_step, int64_t n)
{
    f32_vec m = f32_fill(minus), r = f32_fill(times);
    int64_t j = 0;
    for (; j + f32_LANES <= n; j += f32_LANES, again += again_step, plus += plus_step)
        f32_store(to + j, (f32_load(from + j) - m) * r * f32_load(again) + f32_load(plus));
#if SET_PARTS
    if (j < n) {
        f32_tail t = f32_first(n - j);
        f32_vec v = (f32_load_part(from + j, t) - m) * r * f32_load_part(again, t) + f32_load_part(plus, t);
        f32_store_part(to + j, v, t);
    }
#else
    for (int64_t l = 0; j < n; j++, l++)
        to[j] = (from[j] - minus) * times * again[l] + plus[l];
#endif
}

SET static void normalize_f32(const rlx_micro_normalize *z)
{
    if (z->stride[0][1] != 1 || z->stride[1][1] != 1 || z->stride[2][1] || z->stride[3][1] ||
        (z->stride[4][1] & ~(int64_t)1) || (z->stride[5][1] & ~(int64_t)1)) {
        rlx_micro_normalize_any(z);
        return;
    }
    int64_t again_step = z->stride[4][1] * f32_LANES, plus_step = z->stride[5][1] * f32_LANES;
    for (int64_t i = 0; i < z->rows; i++) {
        const float *at[6];
        float again[f32_LANES], plus[f32_LANES];
        for (int k = 0; k < 6; k++)
            at[k] = (const float *)z->side[k] + i * z->stride[k][0];
        if (!again_step)
            f32_store(again, f32_fill(*at[4]));
        if (!plus_step)
            f32_store(plus, f32_fill(*at[5]));
        normalize_row((float *)z->side[0] + i * z->stride[0][0], at[1], *at[2], *at[3], again_step ? at[4] : again,
                      again_step, plus_step ? at[5] : plus, plus_step, z->columns);
    }
}
