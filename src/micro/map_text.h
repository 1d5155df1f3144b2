/* map_text.h: one function of each element of rows, written once and included by set_text.h for each function of enum
 * rlx_kernel_map. Defined before: KIND, its name, MAP(x, y, n), n vectors x become the function of x and a vector y, MAP_ONE(x, y), of
 * elements, and BESIDE, the vectors that are computed side by side.
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

SET static void NAME(map)(const rlx_micro_map *m)
{
    bool runs = m->dst_j == 1 && m->a_j == 1 && m->b_j == 0;
    for (int64_t i = 0; i < m->rows; i++) {
        float *d = m->dst + i * m->dst_i;
        const float *x = m->a + i * m->a_i, *y = m->b + i * m->b_i;
        if (runs)
            NAME(row)(d, x, *y, m->columns);
        else
            for (int64_t j = 0; j < m->columns; j++)
                d[j * m->dst_j] = MAP_ONE(x[j * m->a_j], y[j * m->b_j]);
    }
}

#undef MAP
#undef MAP_ONE
#undef KIND
