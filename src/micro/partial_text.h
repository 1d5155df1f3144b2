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
enum { FEW_BESIDE = 16 };
/* Few columns side by side, not a part of a sum, each with partial sums of its own: a vector for each partial sum, some of which are in
 * registers while k runs. */
SET_INLINE void NAME(add_columns)(const rlx_micro_partial *r, const T *a, OF(X, tail) tail, VEC *p)
{
    enum { SIDE = SET_PARTS ? 8 : 4 };
    int64_t most = r->depth / RLX_PARTIAL_SUMS * RLX_PARTIAL_SUMS, a_k = r->a_k;
    for (int64_t l = 0; most && l < RLX_PARTIAL_SUMS; l += SIDE) {
        VEC s[SIDE];
        RLX_UNROLL for (int c = 0; c < SIDE; c++) s[c] = p[l + c];
        for (int64_t k = l; k < most; k += RLX_PARTIAL_SUMS)
            RLX_UNROLL for (int c = 0; c < SIDE; c++) s[c] =
                JOIN(s[c], OF(X, load_part)(a + (k + c) * a_k, tail), 0);
        RLX_UNROLL for (int c = 0; c < SIDE; c++) p[l + c] = s[c];
    }
    for (int64_t k = most; k < r->depth; k++)
        p[k - most] = JOIN(p[k - most], OF(X, load_part)(a + k * a_k, tail), 0);
}

SET static void NAME(partial_few)(const rlx_micro_partial *r)
{
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j += LANES) {
            const int64_t n = rlx_micro_less(r->columns - j, LANES);
            OF(X, tail) tail = OF(X, first)(n);
            const T *a = (const T *)r->a + i * r->a_i + j;
            T *acc = (T *)r->acc + i * r->acc_i + j;
            /* partial sums that no element went to are +0, which adds nothing */
            const int64_t used = r->depth, begun = SET_MASKS ? RLX_PARTIAL_SUMS : rlx_micro_less(used, RLX_PARTIAL_SUMS);
            VEC p[RLX_PARTIAL_SUMS];
            if (begun < 2)
                p[0] = p[1] = OF(X, fill)(0);
            for (int64_t l = 0; l < begun; l++)
                p[l] = OF(X, fill)(0);
            for (int64_t t = 0; t < r->turns; t++, a += r->a_t)
                NAME(add_columns)(r, a, tail, p);
            for (int64_t w = RLX_PARTIAL_SUMS / 2; w > 1; w /= 2)
                for (int64_t l = 0; l < w && l + w < used; l++)
                    p[l] += p[l + w];
            VEC sum = OF(X, load_part)(acc, tail) + p[0] + p[1];
            OF(X, store_end)(acc, sum, tail, n);
        }
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
        if (r->columns <= FEW_BESIDE && !r->partial)
            NAME(partial_few)(r);
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
