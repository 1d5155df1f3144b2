/* move_text.h: copies and panels of elements of 4 bytes, included once by set_text.h; only those that are transposed, where a part of a vector
 * is many instructions. What runs neither along every nor every second element is left to generic.c.
 */
#define LANES u32_LANES

/* d[k * d_step + l] = s[l * s_step + k] for l < lanes, k < steps, neither of them fewer than a square has: a vector of lanes by
 * four steps. The last squares cover some of those before once more. Where a vector is a line a few rows of d at a time are written from end to
 * end, while lines of s stay near. So many where lines of s do not stay: those an even number of lines apart fall on each other in the cache, and a thousand pages are too
 * many; or where rows of s are so short that they are read at once. */
enum { AT_ONCE = 8, PAGES = 64, TWO_LINES = 32, MOST_NEAR = 1 << 20 };
SET static void transpose_words(uint32_t *d, int64_t d_step, const uint32_t *s, int64_t s_step, int64_t lanes, int64_t steps)
{
    const int64_t rows = SET_MASKS && s_step % TWO_LINES && steps > PAGES && lanes <= MOST_NEAR / s_step ? AT_ONCE : PAGES;
    for (int64_t first = 0, last; first < steps; first = last) {
        last = rlx_micro_less(steps, first + rows);
        for (int64_t l = 0; l < lanes; l += LANES) {
            l = rlx_micro_less(l, lanes - LANES);
            for (int64_t k = first; k < last; k += 4) {
                k = rlx_micro_less(k, steps - 4);
                u32_vec columns[4];
                turn_four(s + l * s_step + k, s_step, columns);
                RLX_UNROLL for (int i = 0; i < 4; i++) u32_store(d + (k + i) * d_step + l, columns[i]);
            }
        }
    }
}

#if SET_SHORT_PARTS
/* Where the last n elements of a row begin, and how many they are, as one vector: where masks are dear, and the row has as many, a
 * whole one, some elements of which are moved twice. */
SET_INLINE int64_t last_lanes(int64_t n) { return !SET_MASKS && n >= LANES ? LANES : n - (n - 1) / LANES * LANES; }
SET_INLINE void store_last(uint32_t *d, u32_vec v, int64_t lanes, u32_tail tail)
{
    f32_store_end((float *)d, (f32_vec)v, (f32_tail)tail, lanes);
}

/*- One panel of columns, in n lanes of it that stand side by side in memory:
 *     d[k * 32 + l] = s[k . strides + l * step]      l < n <= 32, step 1 or 2 */
#define PACK_RUN(by)                                                                          \
    SET static void pack_run_##by(const rlx_micro_pack *p, uint32_t *d, const uint32_t *lane, \
                                  int64_t n)                                                  \
    {                                                                                         \
        int64_t lanes = last_lanes(n), last = n - lanes, step = p->depth_stride[2];           \
        OF(u32, TAIL_##by) pair = OF(u32, FIRST_##by)(lanes);                                 \
        u32_tail tail = u32_first(lanes);                                                     \
        for (int64_t i = 0; i < p->depth[0]; i++)                                             \
            for (int64_t j = 0; j < p->depth[1]; j++) {                                       \
                const uint32_t *s = lane + i * p->depth_stride[0] + j * p->depth_stride[1];   \
                for (int64_t k = 0; k < p->depth[2]; k++, s += step, d += RLX_PANEL_COLUMNS) { \
                    for (int64_t l = 0; l < last; l += LANES)                                 \
                        u32_store(d + l, TURN_##by(u32, OF(u32, GET_##by)(s + l * STEP_##by)));               \
                    store_last(d + last, TURN_##by(u32, OF(u32, GET_PART_##by)(s + last * STEP_##by, pair)), lanes, tail); \
                }                                                                             \
            }                                                                                 \
    }
#if SET_MASKS
PACK_RUN(one)
#endif
PACK_RUN(two)
#undef PACK_RUN

#if SET_MASKS
/* Steps of a panel whose vectors are RUNS runs each, of which mask says what lanes they have. */
#define PACK_VECTORS(name, RUNS)                                                                    \
    SET static void name(const rlx_micro_pack *p, uint32_t *to, ptrdiff_t from[][2], u32_tail mask[][2]) \
    {                                                                                               \
        float *d = (float *)to;                                                                     \
        const int64_t step = p->depth_stride[2], depth = p->depth[2];                               \
        const ptrdiff_t a = from[0][0], b = from[1][0], a_next = from[0][RUNS - 1], b_next = from[1][RUNS - 1]; \
        const u32_tail in_a = mask[0][0], in_b = mask[1][0], in_a_next = mask[0][RUNS - 1],         \
                       in_b_next = mask[1][RUNS - 1];                                               \
        for (int64_t i = 0; i < p->depth[0]; i++)                                                   \
            for (int64_t j = 0; j < p->depth[1]; j++) {                                             \
                const float *s = (const float *)p->src + i * p->depth_stride[0] + j * p->depth_stride[1]; \
                for (int64_t k = depth; k > 0; k--, s += step, d += RLX_PANEL_COLUMNS) {            \
                    f32_vec v = f32_load_part(s + a, in_a), w = f32_load_part(s + b, in_b);         \
                    if (RUNS > 1)                                                                   \
                        v = f32_load_over(v, s + a_next, in_a_next), w = f32_load_over(w, s + b_next, in_b_next); \
                    f32_store(d, v);                                                                \
                    f32_store(d + LANES, w);                                                        \
                }                                                                                   \
            }                                                                                       \
    }
PACK_VECTORS(pack_one_run, 1)
PACK_VECTORS(pack_two_runs, 2)
#undef PACK_VECTORS

/* A panel whose vectors are two runs at most, in one go: each vector is written once, whole. False: they are more. */
enum { PANEL_VECTORS = RLX_PANEL_COLUMNS / LANES };
SET static bool pack_vectors(const rlx_micro_pack *p, uint32_t *d, int64_t first, int64_t lanes)
{
    int64_t at = p->start + first, high = at / p->width, low = at % p->width;
    ptrdiff_t from[PANEL_VECTORS][2] = { { 0 } };
    u32_tail mask[PANEL_VECTORS][2] = { { 0 } };
    bool twice = false;
    for (int64_t l = 0, n; l < lanes; l += n) {
        int64_t w = l / LANES, inside = l % LANES, run = mask[w][0] != 0;
        if (run && mask[w][1])
            return false;
        n = rlx_micro_less(rlx_micro_less(p->width - low, lanes - l), LANES - inside);
        from[w][run] = high * p->lane_stride[0] + low - inside;
        mask[w][run] = (u32_tail)(u32_first(n) << inside);
        twice |= run;
        low += n;
        if (low == p->width)
            low = 0, high++;
    }
    (twice ? pack_two_runs : pack_one_run)(p, d, from, mask);
    return true;
}
#else
/*- A panel as vectors in ascending order, all of which are stored whole. What a short run lacks is stored as 0, and then
 * overwritten by what comes next: the next run, the zeros behind the last lane, or the next step.
 *     lanes   0 1 2 3 4 5 6|7 8 9 ...          runs of 7: each is a vector, the eighth element of which is the next run's */
enum { MOST_VECTORS = 12 };
typedef struct panel_vectors {
    u32_tail mask[MOST_VECTORS];
    ptrdiff_t from[MOST_VECTORS];
    int64_t to[MOST_VECTORS], count;
} panel_vectors;
SET static bool find_vectors(const rlx_micro_pack *p, int64_t first, int64_t lanes, panel_vectors *v)
{
    int64_t at = p->start + first, high = at / p->width, low = at % p->width;
    v->count = 0;
    for (int64_t l = 0, n; l < RLX_PANEL_COLUMNS; l += n, high++, low = 0) {
        bool there = l < lanes;
        n = there ? rlx_micro_less(p->width - low, lanes - l) : RLX_PANEL_COLUMNS - l;
        for (int64_t q = 0; q < n; q += LANES) {
            if (v->count == MOST_VECTORS)
                return false;
            int64_t begin = n < LANES ? 0 : rlx_micro_less(q, n - LANES);
            v->mask[v->count] = u32_first(there ? rlx_micro_less(n, LANES) : 0);
            v->from[v->count] = there ? high * p->lane_stride[0] + low + begin : 0;
            v->to[v->count++] = l + begin;
        }
    }
    return true;
}

/* All steps but the last, of N vectors and as many as there are more: what is known of each stays in registers. */
#define PACK_STEPS(N)                                                                              \
    SET static void pack_steps_##N(const rlx_micro_pack *p, uint32_t *d, const panel_vectors *v)   \
    {                                                                                              \
        const int64_t step = p->depth_stride[2];                                                   \
        int64_t left = p->depth[0] * p->depth[1] * p->depth[2], to[N];                             \
        ptrdiff_t from[N];                                                                         \
        u32_tail mask[N];                                                                          \
        RLX_UNROLL for (int n = 0; n < N; n++)                                                     \
            from[n] = v->from[n], to[n] = v->to[n], mask[n] = v->mask[n];                          \
        for (int64_t i = 0; i < p->depth[0]; i++)                                                  \
            for (int64_t j = 0; j < p->depth[1]; j++) {                                            \
                const uint32_t *s = (const uint32_t *)p->src + i * p->depth_stride[0] + j * p->depth_stride[1]; \
                for (int64_t k = p->depth[2]; k > 0; k--, s += step, d += RLX_PANEL_COLUMNS) {     \
                    if (--left == 0)                                                               \
                        return;                                                                    \
                    RLX_UNROLL for (int n = 0; n < N; n++)                                         \
                        u32_store(d + to[n], u32_load_part(s + from[n], mask[n]));                 \
                    for (int64_t n = N; N > 5 && n < v->count; n++)                                \
                        u32_store(d + v->to[n], u32_load_part(s + v->from[n], v->mask[n]));        \
                }                                                                                  \
            }                                                                                      \
    }
PACK_STEPS(4)
PACK_STEPS(5)
PACK_STEPS(6)
#undef PACK_STEPS

SET static bool pack_vectors(const rlx_micro_pack *p, uint32_t *d, int64_t first, int64_t lanes)
{
    panel_vectors v;
    if (!find_vectors(p, first, lanes, &v))
        return false;
    (v.count == 4 ? pack_steps_4 : v.count == 5 ? pack_steps_5 : pack_steps_6)(p, d, &v);
    /* behind the last step is something else */
    const uint32_t *s = (const uint32_t *)p->src;
    for (int i = 0; i < 3; i++)
        s += (p->depth[i] - 1) * p->depth_stride[i];
    d += (p->depth[0] * p->depth[1] * p->depth[2] - 1) * RLX_PANEL_COLUMNS;
    for (int64_t n = 0; n < v.count; n++)
        u32_store_part(d + v.to[n], u32_load_part(s + v.from[n], v.mask[n]), u32_first(rlx_micro_less(RLX_PANEL_COLUMNS - v.to[n], LANES)));
    return true;
}
#endif

/* A panel: runs in which the high digit of the lane's number stands still; what it lacks is 0. */
SET static void pack_panel(const rlx_micro_pack *p, uint32_t *d, int64_t first, int64_t lanes)
{
    bool runs = p->lane_stride[1] == 1;
    if (runs && lanes > 0 && pack_vectors(p, d, first, lanes)) /* without lanes there is no source */
        return;
#if !SET_MASKS
    if (runs) { /* too short */
        rlx_micro_pack panel = *p;
        panel.dst = d, panel.start += first, panel.lanes = lanes;
        rlx_micro_packs[RLX_ELEM_U32][RLX_ELEM_U32](&panel);
        return;
    }
#endif
    int64_t step = p->lane_stride[1], at = p->start + first, high = at / p->width, low = at % p->width;
    for (int64_t l = 0, n; l < lanes; l += n, high++, low = 0) {
        const uint32_t *s = (const uint32_t *)p->src + high * p->lane_stride[0] + low * step;
        n = rlx_micro_less(p->width - low, lanes - l);
#if SET_MASKS
        if (runs)
            pack_run_one(p, d + l, s, n);
        else
#endif
            pack_run_two(p, d + l, s, n);
    }
    for (int64_t k = p->depth[0] * p->depth[1] * p->depth[2]; k > 0 && lanes < RLX_PANEL_COLUMNS; k--) {
        memset(d + lanes, 0, (size_t)(RLX_PANEL_COLUMNS - lanes) * sizeof *d);
        d += RLX_PANEL_COLUMNS;
    }
}

#endif

SET static void pack_words(const rlx_micro_pack *p)
{
    int64_t steps = p->depth[0] * p->depth[1] * p->depth[2];
    uint32_t *d = p->dst;
    rlx_micro_pack one = *p;
    if (p->lane_stride[0] == p->width * p->lane_stride[1] || p->start + p->lanes <= p->width) { /* the digits are one number */
        one.width = p->start + p->lanes + 1;
        p = &one;
    }
    if (!SET_SHORT_PARTS || p->panel != RLX_PANEL_COLUMNS || (p->lane_stride[1] != 1 && p->lane_stride[1] != 2)) {
        bool straight = p->depth_stride[2] == 1 && (p->depth[1] == 1 || p->depth_stride[1] == p->depth[2]) &&
                        (p->depth[0] == 1 || p->depth_stride[0] == p->depth[1] * p->depth[2]),
             turned = p == &one && p->panel == RLX_PANEL_COLUMNS && straight && steps >= 4;
        const uint32_t *s = (const uint32_t *)p->src + p->start * p->lane_stride[1];
        const bool none = !p->lanes;
        for (; turned && one.lanes >= RLX_PANEL_COLUMNS; one.start += RLX_PANEL_COLUMNS, one.lanes -= RLX_PANEL_COLUMNS) {
            transpose_words(d, RLX_PANEL_COLUMNS, s, p->lane_stride[1], RLX_PANEL_COLUMNS, steps);
            s += RLX_PANEL_COLUMNS * p->lane_stride[1];
            one.dst = d += steps * RLX_PANEL_COLUMNS;
        }
        if (one.lanes || none)
            rlx_micro_packs[RLX_ELEM_U32][RLX_ELEM_U32](&one);
        return;
    }
#if SET_SHORT_PARTS
    for (int64_t l = 0; !l || l < p->lanes; l += RLX_PANEL_COLUMNS, d += steps * RLX_PANEL_COLUMNS)
        pack_panel(p, d, l, rlx_micro_less(p->lanes - l, RLX_PANEL_COLUMNS));
#endif
}

#if SET_SHORT_PARTS
#define COPY_ROWS(by)                                                                          \
    SET static void copy_rows_##by(uint32_t *d, const uint32_t *s, const rlx_micro_box *b)     \
    {                                                                                          \
        int64_t n = b->extent[3], lanes = last_lanes(n), last = n - lanes;                     \
        OF(u32, TAIL_##by) pair = OF(u32, FIRST_##by)(lanes);                                  \
        u32_tail tail = u32_first(lanes);                                                      \
        for (int64_t k = 0; k < b->extent[2]; k++, d += b->dst_stride[2], s += b->src_stride[2]) { \
            for (int64_t l = 0; l < last; l += LANES)                                          \
                u32_store(d + l, TURN_##by(u32, OF(u32, GET_##by)(s + l * STEP_##by)));                        \
            store_last(d + last, TURN_##by(u32, OF(u32, GET_PART_##by)(s + last * STEP_##by, pair)), lanes, tail); \
        }                                                                                      \
    }
COPY_ROWS(one)
COPY_ROWS(two)
#undef COPY_ROWS
#endif

/* Rows in vectors, and transposes in squares; long rows, and what runs along neither, as everywhere. */
enum { LONG_ROW = 256 };
SET static void copy_words(const rlx_micro_box *box)
{
    rlx_micro_box b = *box;
    bool turned = rlx_micro_straighten_box(&b) && b.extent[3] >= LANES && b.extent[2] >= 4;
    int64_t step = b.src_stride[3];
#if SET_MASKS /* a vector is a line */
    turned = b.src_stride[2] == 1 && (uint64_t)step > 1 && b.extent[3] >= LANES && b.extent[2] >= 4;
#endif
    if (b.dst_stride[3] != 1 || (!turned && (!SET_SHORT_PARTS || (step != 1 && step != 2) || (step == 1 && b.extent[3] > LONG_ROW)))) {
        rlx_micro_copies[RLX_ELEM_U32][RLX_ELEM_U32](&b);
        return;
    }
    for (int64_t i = 0; i < b.extent[0]; i++)
        for (int64_t j = 0; j < b.extent[1]; j++) {
            uint32_t *d = (uint32_t *)b.dst + i * b.dst_stride[0] + j * b.dst_stride[1];
            const uint32_t *s =
                (const uint32_t *)b.src + i * b.src_stride[0] + j * b.src_stride[1];
            if (turned)
                transpose_words(d, b.dst_stride[2], s, step, b.extent[3], b.extent[2]);
#if SET_SHORT_PARTS
            else
                step == 2 ? copy_rows_two(d, s, &b) : copy_rows_one(d, s, &b);
#endif
        }
}
#undef LANES
