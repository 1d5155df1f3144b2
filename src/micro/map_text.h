/* map_text.h: one function of each element of a row, written once and included by set_text.h for each function of enum
 * rlx_kernel_map. Defined before: KIND, its name, MAP(x, y, n), n vectors x become the function of x and a vector y, and
 * BESIDE, the vectors that are computed side by side.
 */
SET static void NAME(row)(float *d, const float *x, float y, int64_t columns)
{
    int64_t j = 0;
    f32_vec v[BESIDE], all = f32_fill(y);
    for (; j + BESIDE * f32_LANES <= columns; j += BESIDE * f32_LANES) {
        enum { n = BESIDE };
        EACH v[w] = f32_load(x + j + w * f32_LANES);
        MAP(v, all, n);
        EACH f32_store(d + j + w * f32_LANES, v[w]);
    }
    for (; j < columns; j += f32_LANES) {
        enum { n = 1 };
        f32_tail tail = f32_first(rlx_micro_less(columns - j, f32_LANES));
        v[0] = f32_load_part(x + j, tail);
        MAP(v, all, n);
        f32_store_part(d + j, v[0], tail);
    }
}

#undef MAP
#undef KIND
#undef BESIDE
