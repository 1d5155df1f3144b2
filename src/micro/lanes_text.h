/*- lanes_text.h: sums of products whose columns move both operands, included once by set_text.h.
 *
 *     acc[g, i, j] = sum over t, k of  a[g, i, j, t, k] * b[j, t, k]           all of them contiguous along j
 *
 * So are windows of pictures whose channels lie beside each other: a lane is a channel, and several places wait in registers.
 * The last rows of a group, and its last lanes, are done together with some that are done already, which come out the same once more.
 */

#define LANE_TILE(N)                                                                                  \
    SET static void lane_tile_##N(const rlx_micro_sum *r, float *acc, const float *a, const float *b) \
    {                                                                                                 \
        f32_vec s[N];                                                                                 \
        const int64_t a_i = r->a_i, acc_i = r->acc_i;                                                 \
        RLX_UNROLL for (int i = 0; i < N; i++) s[i] = f32_fill(0);                                    \
        for (int64_t t = r->turns; t > 0; t--, a += r->a_t, b += r->b_t) {                            \
            const float *x = a, *y = b;                                                               \
            for (int64_t k = r->depth; k > 0; k--, x += r->a_k, y += r->b_k) {                        \
                f32_vec w = f32_load(y);                                                              \
                RLX_UNROLL for (int i = 0; i < N; i++) s[i] = f32_fma(f32_load(x + i * a_i), w, s[i]); \
            }                                                                                         \
        }                                                                                             \
        RLX_UNROLL for (int i = 0; i < N; i++) f32_store(acc + i * acc_i, s[i]);                      \
    }
LANE_TILE(1)
LANE_TILE(4)
LANE_TILE(8)
#undef LANE_TILE

enum { LANES_NEAR = 64 }; /* lanes for which one place is done after the other: their elements fill lines of the cache, what they are multiplied with stays near */

RLX_SMALL SET static bool contract_lanes(const rlx_micro_sum *sum, const rlx_micro_groups *groups)
{
    rlx_micro_sum r;
    rlx_micro_copy_sum(&r, sum);
    rlx_micro_groups g = *groups;
    if (!r.a_i && !g.a) {
        r.a = sum->b, r.a_i = sum->b_i, r.a_j = sum->b_j, r.a_t = sum->b_t, r.a_k = sum->b_k, g.a = groups->b;
        r.b = sum->a, r.b_i = sum->a_i, r.b_j = sum->a_j, r.b_t = sum->a_t, r.b_k = sum->a_k, g.b = groups->a;
    }
    if (!r.fresh || r.acc_j != 1 || r.a_j != 1 || r.b_j != 1 || r.b_i || g.b || r.columns < f32_LANES)
        return false;
    const int64_t height = r.rows >= 8 ? 8 : r.rows >= 4 ? 4 : 1;
    void (*tile)(const rlx_micro_sum *, float *, const float *, const float *) =
        height == 8 ? lane_tile_8 : height == 4 ? lane_tile_4 : lane_tile_1;
    for (int64_t begin = 0; begin < r.columns; begin += LANES_NEAR) /* lines that groups share are still near */
        for (int64_t n = 0; n < g.count; n++)
            for (int64_t row = 0; row < r.rows; row += height)
                for (int64_t next = begin; next < rlx_micro_less(begin + LANES_NEAR, r.columns); next += f32_LANES) {
                    const int64_t i = rlx_micro_less(row, r.rows - height), j = rlx_micro_less(next, r.columns - f32_LANES);
                    tile(&r, (float *)r.acc + n * g.acc + i * r.acc_i + j, (const float *)r.a + n * g.a + i * r.a_i + j,
                         (const float *)r.b + j);
                }
    return true;
}
