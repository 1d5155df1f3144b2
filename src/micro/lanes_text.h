/*- lanes_text.h: sums of products whose columns move both operands, included once by set_text.h.
 *
 *     acc[g, i, j] = sum over t, k of  a[g, i, j, t, k] * b[j, t, k]           all of them contiguous along j
 *
 * So are windows of pictures whose channels lie beside each other: a lane is a channel, and several places wait in registers.
 * The last rows of a group are done together with some that are done already, which come out the same once more.
 */

#if SET_PARTS
#define LANE_LOAD(p) f32_load_part(p, lanes)
#define LANE_STORE(p, x) (!SET_MASKS && whole ? f32_store(p, x) : f32_store_part(p, x, lanes))
#else
#define LANE_LOAD(p) f32_load(p)
#define LANE_STORE(p, x) f32_store(p, x)
#endif
#define LANE_TILE(N)                                                                                  \
    SET static void lane_tile_##N(const rlx_micro_sum *r, float *acc, const float *a, const float *b, \
                                  f32_tail lanes, bool whole)                                        \
    {                                                                                                 \
        f32_vec s[N];                                                                                 \
        const int64_t a_i = r->a_i, acc_i = r->acc_i;                                                 \
        RLX_UNROLL for (int i = 0; i < N; i++) s[i] = f32_fill(0);                                    \
        for (int64_t t = r->turns; t > 0; t--, a += r->a_t, b += r->b_t) {                            \
            const float *x = a, *y = b;                                                               \
            for (int64_t k = r->depth; k > 0; k--, x += r->a_k, y += r->b_k) {                        \
                f32_vec w = LANE_LOAD(y);                                                             \
                RLX_UNROLL for (int i = 0; i < N; i++) s[i] = f32_fma(LANE_LOAD(x + i * a_i), w, s[i]); \
            }                                                                                         \
        }                                                                                             \
        (void)lanes, (void)whole;                                                                     \
        RLX_UNROLL for (int i = 0; i < N; i++) LANE_STORE(acc + i * acc_i, s[i]);                     \
    }
LANE_TILE(1)
LANE_TILE(4)
LANE_TILE(8)
#undef LANE_TILE
#undef LANE_LOAD
#undef LANE_STORE

RLX_SMALL SET static bool contract_lanes(const rlx_micro_sum *sum, const rlx_micro_groups *groups)
{
    rlx_micro_sum r = *sum;
    rlx_micro_groups g = *groups;
    if (!r.a_i && !g.a) {
        r.a = sum->b, r.a_i = sum->b_i, r.a_j = sum->b_j, r.a_t = sum->b_t, r.a_k = sum->b_k, g.a = groups->b;
        r.b = sum->a, r.b_i = sum->a_i, r.b_j = sum->a_j, r.b_t = sum->a_t, r.b_k = sum->a_k, g.b = groups->a;
    }
    if (!r.fresh || r.acc_j != 1 || r.a_j != 1 || r.b_j != 1 || r.b_i || g.b || (!SET_PARTS && r.columns % f32_LANES))
        return false;
    for (int64_t n = 0; n < g.count; n++)
        for (int64_t j = 0; j < r.columns; j += f32_LANES) {
            float *acc = (float *)r.acc + n * g.acc + j;
            const float *a = (const float *)r.a + n * g.a + j, *b = (const float *)r.b + j;
            const bool whole = r.columns - j >= f32_LANES; /* parts may take long to store */
            const f32_tail lanes = f32_first(rlx_micro_less(r.columns - j, f32_LANES));
            int64_t left = r.rows, height = left >= 8 ? 8 : left >= 4 ? 4 : 1;
            for (int64_t i = 0; i < r.rows; i += height) {
                if (i + height > r.rows)
                    i = r.rows - height;
                (height == 8 ? lane_tile_8 : height == 4 ? lane_tile_4 : lane_tile_1)(&r, acc + i * r.acc_i, a + i * r.a_i, b, lanes, whole);
            }
        }
    return true;
}
