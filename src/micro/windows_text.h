/*- windows_text.h: windows of many small pictures, one of each channel, included once by set_text.h where SET_MASKS.
 *
 * All rows of a picture and what lies between them are one run of a few vectors, whose sums wait in registers; in the end the
 * lanes that are results move together:
 *
 *     b       x x x x . . x x x x . . x x x x          '.': computed, and left
 *     acc     x x x x x x x x x x x x
 */
enum { RUN_VECTORS = 4, RUN = RUN_VECTORS * f32_LANES };

/* Lanes of each vector of a run that it has, and those of them that are results. */
typedef struct run_lanes { f32_tail have[RUN_VECTORS], wanted[RUN_VECTORS], first[RUN_VECTORS]; int64_t count[RUN_VECTORS]; } run_lanes;

SET static void find_lanes(const rlx_micro_sum *r, int64_t length, run_lanes *l)
{
    *l = (run_lanes){ .count = { 0 } };
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++) {
            int64_t at = i * r->b_i + j * r->b_j;
            l->wanted[at / f32_LANES] |= (f32_tail)(1 << at % f32_LANES);
            l->count[at / f32_LANES]++;
        }
    for (int64_t v = 0; v < RUN_VECTORS; v++, length -= f32_LANES) {
        l->have[v] = f32_first(length < 0 ? 0 : rlx_micro_less(length, f32_LANES));
        l->first[v] = f32_first(l->count[v]);
    }
}

#define RUNS(V)                                                                                         \
    SET static void runs_of_##V(const rlx_micro_sum *r, const rlx_micro_groups *g, const run_lanes *l)   \
    {                                                                                                   \
        const float *a = r->a, *b = r->b;                                                               \
        float *acc = r->acc;                                                                            \
        for (int64_t n = g->count; n > 0; n--, a += g->a, b += g->b, acc += g->acc) {                   \
            f32_vec s[V];                                                                               \
            float *to = acc;                                                                            \
            RLX_UNROLL for (int v = 0; v < V; v++) s[v] = f32_fill(0);                                  \
            for (int64_t t = 0; t < r->turns; t++) {                                                    \
                const float *x = a + t * r->a_t, *y = b + t * r->b_t;                                   \
                for (int64_t k = r->depth; k > 0; k--, x += r->a_k, y += r->b_k)                        \
                    RLX_UNROLL for (int v = 0; v < V; v++)                                              \
                        s[v] = f32_fma(f32_fill(*x), f32_load_part(y + v * f32_LANES, l->have[v]), s[v]); \
            }                                                                                           \
            RLX_UNROLL for (int v = 0; v < V; to += l->count[v], v++)                                   \
                f32_store_part(to, f32_together(s[v], l->wanted[v]), l->first[v]);                      \
        }                                                                                               \
    }
RUNS(2)
RUNS(4)
#undef RUNS

SET static bool small_windows(const rlx_micro_sum *r, const rlx_micro_groups *g)
{
    run_lanes lanes;
    if (!r->fresh || r->acc_j != 1 || (r->rows > 1 && r->acc_i != r->columns) || r->a_i || r->a_j || r->b_j < 1 || r->b_j > 2 ||
        r->rows < 2 || r->rows > RUN || r->columns > RUN || r->b_i < r->columns * r->b_j || r->b_i > RUN)
        return false;
    int64_t length = (r->rows - 1) * r->b_i + (r->columns - 1) * r->b_j + 1;
    if (length > RUN)
        return false;
    find_lanes(r, length, &lanes);
    (length <= 2 * f32_LANES ? runs_of_2 : runs_of_4)(r, g, &lanes);
    return true;
}
