/* partial_text.h: sums in 32 partial sums, written once and included by set_text.h for each kind of value and element
 * type. Defined before: X, the elements, T, their type in C, KIND, the name of the value, JOIN(s, a, b), the
 * sum s and the value of a and b, of vectors and of elements, and READS: 1 if the value has no b.
 */
#define VEC OF(X, vec)
#define LANES OF(X, LANES)
#define VECTORS (RLX_PARTIAL_SUMS / LANES)

/* A vector, or a part of one. */
#define GET(p, whole, tail) ((whole) ? OF(X, load)(p) : OF(X, load_part)(p, tail))

/* The last elements of a run, less than there are partial sums. */
#if SET_PARTS
SET_INLINE void NAME(add_rest)(VEC *s, const T *a, T b, int64_t n)
{
    RLX_UNROLL for (int v = 0; v < VECTORS; v++)
    {
        if (n <= v * LANES)
            break;
        OF(X, tail) tail = OF(X, first)(rlx_micro_less(n - v * LANES, LANES));
        VEC sum = JOIN(s[v], OF(X, load_part)(a + v * LANES, tail), OF(X, fill)(b));
        s[v] = OF(X, merge)(s[v], sum, tail);
    }
}
#else
SET_INLINE void NAME(add_rest)(VEC *s, const T *a, T b, int64_t n)
{
    T each[RLX_PARTIAL_SUMS];
    memcpy(each, s, sizeof each);
    for (int64_t k = 0; k < n; k++)
        each[k] = JOIN(each[k], a[k], b);
    memcpy(s, each, sizeof each);
}
#endif

/* n elements, the first of which goes to the first partial sum; b is one for all of them. */
SET_INLINE void NAME(add_run)(VEC *s, const T *a, T b, int64_t n)
{
    VEC all_b = OF(X, fill)(b);
    for (; n >= RLX_PARTIAL_SUMS; n -= RLX_PARTIAL_SUMS, a += RLX_PARTIAL_SUMS)
        RLX_UNROLL for (int v = 0; v < VECTORS; v++) s[v] =
            JOIN(s[v], OF(X, load)(a + v * LANES), all_b);
    if (n > 0)
        NAME(add_rest)(s, a, b, n);
    (void)all_b;
}

/* What becomes one element is contiguous. */
SET static void NAME(partial_along)(const rlx_micro_partial *r)
{
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++) {
            const T *a = (const T *)r->a + i * r->a_i + j * r->a_j,
                    *b = READS == 1 ? a : (const T *)r->b + i * r->b_i + j * r->b_j;
            VEC s[VECTORS];
            RLX_UNROLL for (int v = 0; v < VECTORS; v++) s[v] =
                r->partial ? OF(X, load)((const T *)r->partial + v * LANES) : OF(X, fill)(0);
            for (int64_t t = 0; t < r->turns; t++, a += r->a_t, b += r->b_t)
                NAME(add_run)(s, a, READS == 1 ? 0 : *b, r->depth);
            if (!r->ends) {
                RLX_UNROLL for (int v = 0; v < VECTORS; v++)
                    OF(X, store)((T *)r->partial + v * LANES, s[v]);
                continue;
            }
            RLX_UNROLL for (int w = VECTORS / 2; w > 0; w /= 2)
                RLX_UNROLL for (int v = 0; v < w; v++) s[v] += s[v + w];
            T *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j;
            OF(X, fold)(s[0], ADD);
            *acc = *acc + s[0][0] + s[0][1];
        }
}

#if COMMON && READS == 1
/*- Columns side by side, not a part of a sum, some vectors of them at a time. Partial sums l, l + 1, l + 16 and l + 17 are summed up at once, l in
 * the order of its bits, the lowest of which come last, so that few of them wait for what they are joined with:
 *
 *     0 + 16; 8 + 24, joined to the first; 4 + 20; 12 + 28, joined; both joined ..        likewise the odd ones
 *
 * Those that no element goes to are +0, which adds nothing, so few elements need not all bits. Of many elements, more than few columns are
 * added up row by row instead, as they lie in memory. */
enum { TREE_BITS = 3, TREE_BESIDE = 2, TREE_STEPS = 160, FEW_BESIDE = 16, TREE_SUMS = 4, TREE_HALF = RLX_PARTIAL_SUMS / 2 };
SET_INLINE void NAME(add_tree)(const rlx_micro_partial *r, const T *a, T *acc, int64_t n)
{
#define EACH(w) RLX_UNROLL for (int w = 0; w < TREE_BESIDE; w++)
    const int64_t depth = r->depth, a_k = r->a_k;
    OF(X, tail) tail[TREE_BESIDE];
    VEC waiting[TREE_BITS + 1][2][TREE_BESIDE], s[TREE_SUMS][TREE_BESIDE];
    int bits = 0;
    EACH(w) tail[w] = OF(X, first)(n <= w * LANES ? 0 : rlx_micro_less(n - w * LANES, LANES));
    while ((2 << bits) < depth && bits < TREE_BITS)
        bits++;
    for (int i = 0; i < 1 << bits; i++) {
        static const uint8_t order[1 << TREE_BITS] = { 0, 8, 4, 12, 2, 10, 6, 14 };
        const int64_t first = order[i] >> (TREE_BITS - bits);
        int64_t level = 0;
        RLX_UNROLL for (int q = 0; q < TREE_SUMS; q++)
            EACH(w) s[q][w] = OF(X, fill)(0);
        for (int64_t t = 0; t < r->turns; t++)
            for (int64_t k = first; k < depth; k += RLX_PARTIAL_SUMS)
                RLX_UNROLL for (int q = 0; q < TREE_SUMS; q++)
                {
                    const int64_t at = k + q / 2 * TREE_HALF + q % 2;
                    if (at < depth)
                        EACH(w) if (SET_PARTS || n > w * LANES) /* else a part is never empty */
                            s[q][w] = JOIN(s[q][w], OF(X, load_part)(a + t * r->a_t + at * a_k + w * LANES, tail[w]), 0);
                }
        RLX_UNROLL for (int q = 0; q < 2; q++)
            EACH(w) s[q][w] += s[2 + q][w];
        for (int m = i; m & 1; m >>= 1, level++)
            RLX_UNROLL for (int q = 0; q < 2; q++)
                EACH(w) s[q][w] += waiting[level][q][w];
        RLX_UNROLL for (int q = 0; q < 2; q++)
            EACH(w) waiting[level][q][w] = s[q][w];
    }
    EACH(w) if (n > w * LANES)
        OF(X, store_end)(acc + w * LANES, OF(X, load_part)(acc + w * LANES, tail[w]) + s[0][w] + s[1][w], tail[w],
                         rlx_micro_less(n - w * LANES, LANES));
#undef EACH
}

SET static void NAME(partial_tree)(const rlx_micro_partial *r)
{
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j += TREE_BESIDE * LANES)
            NAME(add_tree)(r, (const T *)r->a + i * r->a_i + j, (T *)r->acc + i * r->acc_i + j,
                           rlx_micro_less(r->columns - j, TREE_BESIDE * LANES));
}

/* rlx_micro_turn_fn */
SET static void NAME(add_turn)(T *p, int64_t p_k, const T *a, int64_t a_k, int64_t depth, int64_t begun, int64_t n)
{
    const int64_t whole = n / LANES * LANES;
    const OF(X, tail) tail = OF(X, first)(whole < n ? n - whole : LANES);
    for (int64_t k = 0; k < depth; k++, a += a_k) {
        const bool is = k < begun || k >= RLX_PARTIAL_SUMS;
        T *s = p + k % RLX_PARTIAL_SUMS * p_k;
        int64_t c = 0;
        for (; is && c + 2 * LANES <= n; c += 2 * LANES) {
            VEC x = OF(X, load)(s + c) + OF(X, load)(a + c), y = OF(X, load)(s + c + LANES) + OF(X, load)(a + c + LANES);
            OF(X, store)(s + c, x);
            OF(X, store)(s + c + LANES, y);
        }
        for (; c < n; c += LANES)
            OF(X, store)(s + c, (is ? OF(X, load)(s + c) : OF(X, fill)(0)) +
                                    (c < whole ? OF(X, load)(a + c) : OF(X, load_part)(a + c, tail)));
    }
}
#endif

SET static void NAME(partial)(const rlx_micro_partial *r)
{
    bool along = r->a_k == 1 && (READS == 1 || r->b_k == 0) && !(r->partial && r->columns > 1);
#if COMMON && READS == 1
    if (!along && r->acc_j == 1 && r->a_j == 1) {
        if (!r->partial && (r->depth <= TREE_STEPS || r->columns <= FEW_BESIDE))
            NAME(partial_tree)(r);
        else
            rlx_micro_partial_columns(r, NAME(add_turn));
        return;
    }
#endif
    if (along) {
        NAME(partial_along)(r);
        return;
    }
    NAME(rlx_micro_partial_any)(r);
}

#undef VEC
#undef LANES
#undef VECTORS
#undef GET
#undef JOIN
#undef KIND
#undef READS
