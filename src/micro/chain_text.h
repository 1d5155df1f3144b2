/* chain_text.h: chains of functions of elements, included once by set_text.h. A block of CHAIN_VECTORS vectors goes through all
 * steps before the next one begins; or, where CHAIN_STRIP is defined, a strip of so many elements, whole blocks, through one step
 * after the other: what leads from step to step then costs nothing, and what is held between them stays in the nearest cache. Long
 * functions take CHAIN_BESIDE vectors at a time. Those give the bits of format/elementary.def. */
#define BLOCK (CHAIN_VECTORS * f32_LANES)
_Static_assert(BLOCK % RLX_PARTIAL_SUMS == 0 && BLOCK <= RLX_CHAIN_BLOCK, "a block of a chain has room");

/* Each of some vectors, one beside the other: their steps do not wait for each other. */
#define EACH RLX_UNROLL for (int w = 0; w < beside; w++)
#if !defined(SUMS_BESIDE)
#define SUMS_BESIDE CHAIN_BESIDE /* of exp with its sums, and of sigmoid */
#define ERF_BESIDE CHAIN_BESIDE  /* which is two polynomials anyway */
#endif
enum { MOST_BESIDE = SUMS_BESIDE > CHAIN_BESIDE ? SUMS_BESIDE : CHAIN_BESIDE };
#define ALL_OF_THEM RLX_UNROLL for (int w = 0; w < vectors; w++)

/* Where it takes many instructions it is a function, as here it is written often. */
#if SET_FUSES
#define FMA(a, b, c) f32_fma(a, b, c)
#else
SET static RLX_NOINLINE f32_vec f32_fma_called(f32_vec a, f32_vec b, f32_vec c) { return f32_fma(a, b, c); }
#define FMA(a, b, c) f32_fma_called(a, b, c)
#endif
#define FILL(x) f32_fill(x)

SET_INLINE f32_vec f32_abs(f32_vec x) { return (f32_vec)((u32_vec)x & 0x7fffffffu); }
SET_INLINE f32_vec f32_below_zero(f32_vec x) { return (f32_vec)((u32_vec)x | 0x80000000u); }
/* x, which has no sign yet. */
SET_INLINE f32_vec f32_with_sign(f32_vec x, f32_vec sign)
{
    return (f32_vec)((u32_vec)x | ((u32_vec)sign & 0x80000000u));
}

/* rlx_exp_rest_f32 */
SET_INLINE void exp_rest(f32_vec *p, const f32_vec *r, float unit, int beside)
{
    EACH p[w] = FMA(FILL(0x1.6ad14ap-10f * unit), r[w], FILL(0x1.123f3p-7f * unit));
    EACH p[w] = FMA(p[w], r[w], FILL(0x1.55584ep-5f * unit));
    EACH p[w] = FMA(p[w], r[w], FILL(0x1.55548ap-3f * unit));
    EACH p[w] = FMA(p[w], r[w], FILL(0x1.fffffcp-2f * unit));
}

/* exp of what is not above 89, or not above 0 (rlx_exp_down_f32). */
SET_INLINE void exp_below(f32_vec *x, bool above_0, int beside)
{
    const float turn = above_0 ? 12583166.0f : 12583104.0f, unit = above_0 ? 1.0f : F32_DOWN_UNIT;
    f32_vec z[MOST_BESIDE], k[MOST_BESIDE], r[MOST_BESIDE], p[MOST_BESIDE];
    f32_live live[MOST_BESIDE];
    EACH live[w] = f32_not_below(x[w], -104.0f); /* what is gives 0 */
    if (!SET_MASKS)
        EACH x[w] = f32_greatest(FILL(-105.0f), x[w]);
    EACH z[w] = FMA(x[w], FILL(0x1.715476p+0f), FILL(turn));
    EACH k[w] = z[w] - turn;
    EACH r[w] = FMA(k[w], FILL(-0x1.62e43p-1f), x[w]);
    EACH r[w] = FMA(k[w], FILL(0x1.05c61p-29f), r[w]);
    exp_rest(p, r, unit, beside);
    EACH p[w] = FMA(p[w], r[w], FILL(unit));
    EACH p[w] = FMA(p[w], r[w], FILL(unit));
    EACH x[w] = above_0 ? f32_times_2_to(p[w], k[w], z[w], live[w]) : f32_times_2_down_to(p[w], k[w], z[w], live[w]);
}

SET_INLINE void exp_of(f32_vec *x, int beside)
{
    EACH x[w] = f32_at_most(x[w], 89.0f);
    exp_below(x, true, beside);
}

SET_INLINE void sigmoid_of(f32_vec *x, int beside)
{
    f32_vec e[MOST_BESIDE], q[MOST_BESIDE];
    EACH e[w] = f32_below_zero(x[w]);
    exp_below(e, false, beside);
    EACH q[w] = e[w] / (e[w] + 1.0f);
    /* Of zero both are the same, so that its sign may decide. */
    EACH x[w] = f32_where_sign(x[w], FMA(-e[w], q[w], e[w]), 1.0f - q[w]);
}

SET_INLINE void tanh_of(f32_vec *x, int beside)
{
    f32_vec r[MOST_BESIDE], z[MOST_BESIDE], p[MOST_BESIDE];
    EACH r[w] = f32_greatest(FILL(-10.0f), f32_below_zero(x[w]));
    EACH r[w] += r[w];
    EACH z[w] = FMA(r[w], FILL(0x1.715476p+0f), FILL(12583039.0f));
    EACH r[w] = FMA(z[w] - 12583039.0f, FILL(-0x1.62e43p-1f), r[w]);
    exp_rest(p, r, 1.0f, beside);
    EACH p[w] = FMA(r[w] * r[w], p[w], r[w]);
    EACH z[w] = (f32_vec)((u32_vec)z[w] << 23);
    EACH p[w] = FMA(-z[w], p[w], 1.0f - z[w]) / FMA(z[w], p[w], z[w] + 1.0f);
    EACH x[w] = f32_with_sign(p[w], x[w]);
}

SET_INLINE void erf_of(f32_vec *x, int beside)
{
    f32_vec a[MOST_BESIDE], z[MOST_BESIDE], p[MOST_BESIDE];
    EACH a[w] = f32_abs(x[w]);
    EACH z[w] = a[w] * a[w];
    EACH p[w] = FMA(FILL(0x1.28415ap-14f), z[w], FILL(-0x1.9725e4p-11f));
    EACH p[w] = FMA(p[w], z[w], FILL(0x1.522eaep-8f));
    EACH p[w] = FMA(p[w], z[w], FILL(-0x1.b7bbdap-6f));
    EACH p[w] = FMA(p[w], z[w], FILL(0x1.ce2984p-4f));
    EACH p[w] = FMA(p[w], z[w], FILL(-0x1.81272ep-2f));
    EACH p[w] = FMA(p[w], z[w], FILL(0x1.06eba8p-3f));
    EACH p[w] = FMA(a[w], p[w], a[w]);
    EACH a[w] = f32_at_most(a[w], 3.9375f);
    EACH z[w] = FMA(FILL(0x1.39e948p-18f), a[w], FILL(0x1.b357eep-14f));
    EACH z[w] = FMA(z[w], a[w], FILL(-0x1.2cf586p-9f));
    EACH z[w] = FMA(z[w], a[w], FILL(0x1.9df03ap-7f));
    EACH z[w] = FMA(z[w], a[w], FILL(-0x1.70175p-7f));
    EACH z[w] = FMA(z[w], a[w], FILL(-0x1.f562e4p-5f));
    EACH z[w] = FMA(z[w], a[w], FILL(-0x1.29bd72p-3f));
    EACH z[w] = FMA(z[w], a[w], FILL(0x1.003e8ap+0f));
    EACH z[w] *= z[w];
    EACH z[w] *= z[w];
    EACH z[w] *= z[w];
    EACH x[w] = f32_with_sign(f32_where_sign(a[w] - 1.14f, p[w], 1.0f - z[w]), x[w]);
}

#if !SET_LENDS_WORDS
/* Steps whose x or result is int32, which x has the bits of. */
SET_INLINE f32_vec sum_of_words(f32_vec x, f32_vec b) { return (f32_vec)((u32_vec)x + (u32_vec)b); }
SET_INLINE f32_vec rest_of_words(f32_vec x, f32_vec b) { return (f32_vec)((u32_vec)x - (u32_vec)b); }
SET_INLINE f32_vec floats_of(f32_vec x, f32_vec b) { return (void)b, f32_of_words((u32_vec)x); }
SET_INLINE f32_vec quantized(f32_vec x, f32_vec zero, float low)
{
    x = f32_clamp(f32_nearest(x) + zero, low, low + 255.0f);
    x = (f32_vec)((u32_vec)x & (u32_vec)(x == x));
    return (f32_vec)words_of_f32(x);
}
#endif
#if SET_FUSES && !SET_LENDS_WORDS && !defined(CHAIN_STRIP)
#define CHAIN_MULTIPLIES
/* Is the quotient of step s quantised next, by numbers of moderate size? A divisor whose bits are all ones has no such reciprocal. */
SET_INLINE bool may_multiply(const rlx_micro_step *s)
{
    const uint32_t bits = s->same ? rlx_float_bits(*s->with) : 0, exponent = bits >> 23 & 255;
    return exponent > 127 - 60 && exponent < 127 + 60 && ~bits & 0x7fffff && (s[1].op == RLX_STEP_QUANTIZE_I8 || s[1].op == RLX_STEP_QUANTIZE_U8) &&
           s[1].same && fabsf(*s[1].with) <= 0x1p20f;
}

/* x / c for that, which takes a quarter of the time of a division: the product by the reciprocal, corrected twice by what is left, is the
 * quotient rounded once (Markstein), but for tiny ones, which become 0 anyway; those beyond 2^24 are beyond all bounds. */
SET_INLINE f32_vec quotient(f32_vec x, float c)
{
    const float most = fabsf(c) * 0x1p24f;
    const f32_vec by = f32_fill(1 / c), minus = f32_fill(-c);
    x = f32_clamp(x, -most, most);
    f32_vec q = x * by;
    q = f32_fma(f32_fma(q, minus, x), by, q);
    return f32_fma(f32_fma(q, minus, x), by, q);
}
#endif

#if defined(CHAIN_STRIP)
#define OF_BLOCK(name, at_once) SET static void strip_##name(float *d, const float *a, int64_t n) OF_ELEMENTS(name, at_once)
#else
#define OF_BLOCK(name, at_once) SET static void block_##name(float *d, int64_t n) { const float *a = d; OF_ELEMENTS(name, at_once) }
#endif
#define OF_ELEMENTS(name, at_once)                                \
    {                                                             \
        enum { beside = at_once };                                \
        for (int64_t j = 0; j < n; j += beside * f32_LANES) {     \
            f32_vec x[MOST_BESIDE];                               \
            EACH x[w] = f32_load(a + j + w * f32_LANES);          \
            name##_of(x, beside);                                 \
            EACH f32_store(d + j + w * f32_LANES, x[w]);          \
        }                                                         \
    }
OF_BLOCK(exp, CHAIN_BESIDE)
OF_BLOCK(sigmoid, SUMS_BESIDE)
OF_BLOCK(tanh, CHAIN_BESIDE)
OF_BLOCK(erf, ERF_BESIDE)
#if !defined(CHAIN_ALONE)
SET static float exp_sum(float *d, const float *a, float b, float *sums, bool fresh, int64_t columns, int64_t ahead)
{
    enum { SIDE = RLX_PARTIAL_SUMS / f32_LANES, beside = SET_MASKS ? SIDE : SUMS_BESIDE, STEP = beside * f32_LANES };
    f32_vec sum[SIDE], minus = f32_fill(-b);
    RLX_UNROLL for (int v = 0; v < SIDE; v++) sum[v] = fresh ? f32_fill(0) : f32_load(sums + v * f32_LANES);
#if SET_MASKS
    f32_tail tail[SIDE];
    RLX_UNROLL for (int v = 0; v < SIDE; v++) tail[v] = f32_first(f32_LANES);
    for (int64_t j = 0, n = columns; n > 0; j += RLX_PARTIAL_SUMS, n -= RLX_PARTIAL_SUMS) {
        f32_vec x[MOST_BESIDE];
        if (n < RLX_PARTIAL_SUMS)
            EACH tail[w] = (f32_tail)((((uint32_t)1 << n) - 1) >> w * f32_LANES);
        EACH RLX_PREFETCH((uintptr_t)a + (uintptr_t)(j + ahead + w * f32_LANES) * sizeof(float));
        EACH x[w] = f32_load_part(a + j + w * f32_LANES, tail[w]) + minus;
        exp_below(x, false, beside);
        EACH f32_store_part(d + j + w * f32_LANES, x[w], tail[w]);
        EACH sum[w] = f32_merge(sum[w], sum[w] + x[w], tail[w]);
    }
    RLX_UNROLL for (int v = 0; v < SIDE; v++) f32_store(sums + v * f32_LANES, sum[v]);
#else
    int64_t j = 0, n = columns;
    for (; n >= STEP; j += STEP, n -= STEP) {
        f32_vec x[MOST_BESIDE];
        for (int w = 0; w < STEP; w += 64 / (int)sizeof(float))
            RLX_PREFETCH((uintptr_t)a + (uintptr_t)(j + ahead + w) * sizeof(float));
        EACH x[w] = f32_load(a + j + w * f32_LANES) + minus;
        exp_below(x, false, beside);
        EACH f32_store(d + j + w * f32_LANES, x[w]);
        if (STEP % RLX_PARTIAL_SUMS == 0)
            EACH sum[w % SIDE] += x[w];
        else
            EACH sum[(j / f32_LANES + w) % SIDE] += x[w];
    }
    RLX_UNROLL for (int v = 0; v < SIDE; v++) f32_store(sums + v * f32_LANES, sum[v]);
    for (; n > 0; j += f32_LANES, n -= f32_LANES) {
        const int64_t here = rlx_micro_less(n, f32_LANES);
        const f32_tail tail = f32_first(here);
        float *of = sums + j % RLX_PARTIAL_SUMS;
        f32_vec x = f32_load_part(a + j, tail) + minus;
        exp_below(&x, false, 1);
        f32_store_end(d + j, x, tail, here);
#if SET_PARTS
        x = f32_merge(f32_fill(0), x, tail); /* what is not there adds nothing */
#else
        x = f32_load_part(d + j, tail);
#endif
        f32_store(of, f32_load(of) + x);
    }
    RLX_UNROLL for (int v = 0; v < SIDE; v++) sum[v] = f32_load(sums + v * f32_LANES);
#endif
    RLX_UNROLL for (int half = SIDE / 2; half > 0; half /= 2)
        RLX_UNROLL for (int v = 0; v < half; v++) sum[v] += sum[v + half];
    f32_fold(sum[0], ADD);
    return 0.0f + sum[0][0] + sum[0][1];
}
#endif

#if defined(CHAIN_STRIP)
static void (*const strip_functions[])(float *d, const float *a, int64_t n) = { strip_exp, strip_sigmoid, strip_tanh, strip_erf };

/* Vectors two by two, or (SLOW) one by one, where the operation itself takes longer or is seldom. */
#define CASE_OF(step, value) ONE_CASE(RLX_STEP_##step, value)
#define SLOW_CASE_OF(step, value)                                             \
    case RLX_STEP_##step:                                                     \
        for (int64_t i = 0; i < count; i += f32_LANES, b += by)               \
            f32_store(d + i, value(f32_load(a + i), f32_load(b)));            \
        break;
#define ONE_CASE(step, value)                                                 \
    case step:                                                                \
        for (int64_t i = 0; i < count; i += 2 * f32_LANES, b += 2 * by) {     \
            f32_vec x0 = f32_load(a + i), x1 = f32_load(a + i + f32_LANES);   \
            f32_vec b0 = f32_load(b), b1 = f32_load(b + by);                  \
            (void)x0, (void)x1, (void)b0, (void)b1;                           \
            f32_store(d + i, value(x0, b0));                                  \
            f32_store(d + i + f32_LANES, value(x1, b1));                      \
        }                                                                     \
        break;
#define X_OF(x, b) (x)
#define OTHER_OF(x, b) (b)
#define ADD_OF(x, b) ((x) + (b))
#define SUB_OF(x, b) ((x) - (b))
#define MUL_OF(x, b) ((x) * (b))
#define DIV_OF(x, b) ((x) / (b))
#define SUB_FROM_OF(x, b) ((b) - (x))
#define DIV_FROM_OF(x, b) ((b) / (x))
#define LEAST_OF(x, b) f32_least(b, x)
#define GREATEST_OF(x, b) f32_greatest(b, x)
#define RELU_OF(x, b) (f32_greatest(f32_fill(0), x) + 0.0f)
#define RELU_OF_SUM(x, b) RELU_OF((x) + (b), b)
#define PRODUCT_OF_REST(x, b) (((x) - (b)) * other)
#define SUM_OF_PRODUCT(x, b) ((x) * (b) + other)
#define REST_FROM_OF(x, b) rest_of_words(b, x)
#define ABS_OF(x, b) f32_abs(x)
#define SQRT_OF(x, b) f32_sqrt(x)

/* Two steps that are mostly together: one way through the strip for both. */
enum { ADD_THEN_RELU = RLX_STEP_COUNT, SUB_THEN_MUL, MUL_THEN_ADD, LINE };
/* As rlx_micro_chain_line has it. */
#define LINE_OF(x) f32_least(k[4], f32_greatest(k[2], (x) * k[0] + k[1]) + k[3])

/* a: where x is; d: where it goes, which is what the next step stores. A step with x alone has it on both sides. */
SET static void chain(const rlx_micro_step *steps, int64_t n)
{
    rlx_micro_chain_end end;
    _Alignas(64) float held[CHAIN_STRIP], same[f32_LANES], line[RLX_LINE_NUMBERS];
    const int64_t least = rlx_micro_chain_has_functions(steps) ? BLOCK : 2 * f32_LANES, /* elements at a time */
                  whole = n & -least,
                  most = rlx_micro_chain_at_once(steps, n, CHAIN_STRIP);
    bool ends = whole < n;
    for (int64_t j = 0, count; j < whole || ends; ends = false) {
        int64_t at = j;
        const rlx_micro_step *s = steps;
        if (ends)
            s = rlx_micro_chain_begin_end(&end, steps, n, count = least), at = 0;
        else
            j += count = rlx_micro_less(whole - j, most);
        const float *a = held;
        f32_vec other = f32_fill(0);
        for (; s->op != RLX_STEP_END; s++) {
            uint32_t op = s->op;
            int64_t by = s->same ? 0 : f32_LANES;
            const float *b = s->moves ? s->with + at : a;
            float *d = held;
            if (op == RLX_STEP_LOAD && by) {
                a = b;
                continue;
            }
            if (!by) {
                u32_store((void *)same, u32_fill(rlx_float_bits(*s->with)));
                b = same;
            }
            const rlx_micro_step *last = op == RLX_STEP_MUL && !by ? rlx_micro_chain_line(s, line) : s;
            if (last != s) {
                s = last, op = LINE;
                f32_store(same, f32_fill(1));
                if (s[1].op == RLX_STEP_MUL && s[1].moves)
                    s++, b = s->with + at, by = f32_LANES;
            } else if ((op == RLX_STEP_ADD || op == RLX_STEP_TWICE) && s[1].op == RLX_STEP_RELU)
                s++, op = ADD_THEN_RELU;
            else if (s[1].same && s[1].op == (op == RLX_STEP_SUB ? RLX_STEP_MUL : op == RLX_STEP_MUL ? RLX_STEP_ADD : RLX_STEP_COUNT))
                s++, op = op == RLX_STEP_SUB ? SUB_THEN_MUL : MUL_THEN_ADD, other = f32_fill(*s->with);
            if (op == RLX_STEP_STORE)
                d = s->with + at;
            else if (s[1].op == RLX_STEP_STORE)
                s++, d = s->with + at;
            switch (op) {
            SLOW_CASE_OF(STORE, X_OF)
            SLOW_CASE_OF(LOAD, OTHER_OF)
            case RLX_STEP_TWICE:
            CASE_OF(ADD, ADD_OF)
            CASE_OF(SUB, SUB_OF)
            case RLX_STEP_SQUARE:
            CASE_OF(MUL, MUL_OF)
            SLOW_CASE_OF(DIV, DIV_OF)
            SLOW_CASE_OF(MIN, f32_min)
            SLOW_CASE_OF(MAX, f32_max)
            SLOW_CASE_OF(SUB_FROM, SUB_FROM_OF)
            SLOW_CASE_OF(DIV_FROM, DIV_FROM_OF)
            CASE_OF(LEAST, LEAST_OF)
            SLOW_CASE_OF(GREATEST, GREATEST_OF)
            CASE_OF(RELU, RELU_OF)
            SLOW_CASE_OF(fabs, ABS_OF)
            SLOW_CASE_OF(sqrt, SQRT_OF)
            SLOW_CASE_OF(ADD_WORDS, sum_of_words)
            SLOW_CASE_OF(SUB_WORDS, rest_of_words)
            SLOW_CASE_OF(SUB_WORDS_FROM, REST_FROM_OF)
            SLOW_CASE_OF(FLOATS, floats_of)
            case RLX_STEP_QUANTIZE_I8:
            case RLX_STEP_QUANTIZE_U8: {
                const float low = op == RLX_STEP_QUANTIZE_I8 ? INT8_MIN : 0;
                for (int64_t i = 0; i < count; i += f32_LANES, b += by)
                    f32_store(d + i, quantized(f32_load(a + i), f32_load(b), low));
                break;
            }
            ONE_CASE(ADD_THEN_RELU, RELU_OF_SUM)
            ONE_CASE(SUB_THEN_MUL, PRODUCT_OF_REST)
            ONE_CASE(MUL_THEN_ADD, SUM_OF_PRODUCT)
            case LINE: {
                f32_vec k[RLX_LINE_NUMBERS];
                RLX_UNROLL for (int i = 0; i < RLX_LINE_NUMBERS; i++) k[i] = f32_fill(line[i]);
                for (int64_t i = 0; i < count; i += f32_LANES, b += by)
                    f32_store(d + i, LINE_OF(f32_load(a + i)) * f32_load(b));
                break;
            }
            default: strip_functions[op - RLX_STEP_exp](d, a, count);
            }
            a = d;
        }
    }
    if (whole < n)
        rlx_micro_chain_store_end(&end);
}
#else
static void (*const block_functions[])(float *block, int64_t n) = { block_exp, block_sigmoid, block_tanh, block_erf };

/* What step s has beside vector w of x; is_part: only where there is such. */
#define WITH(w) (is_part ? f32_load_part(b + w * by, tail[w]) : f32_load(b + w * by))
#define CASE_OF(step, to, value) case RLX_STEP_##step: ALL_OF_THEM to = value; continue;

/* The n elements from `at` on, as so many vectors. */
SET_INLINE void chain_block(const rlx_micro_step *s, int64_t at, int64_t n, int vectors, bool is_part)
{
    _Alignas(64) float block[BLOCK], same[f32_LANES];
    f32_vec x[CHAIN_VECTORS];
    f32_tail tail[CHAIN_VECTORS];
    ALL_OF_THEM x[w] = f32_fill(0);
    if (is_part)
        ALL_OF_THEM tail[w] = f32_first(n <= w * f32_LANES ? 0 : rlx_micro_less(n - w * f32_LANES, f32_LANES));
    (void)tail;
    for (; s->op != RLX_STEP_END; s++) {
        int64_t by = f32_LANES & s->moves;
        float *b = s->with + (at & s->moves);
        if (s->same) {
            u32_store((void *)same, u32_fill(rlx_float_bits(*b)));
            b = same;
        }
        switch (s->op) {
        CASE_OF(LOAD, x[w], WITH(w))
        case RLX_STEP_STORE:
            if (is_part)
                ALL_OF_THEM f32_store_part(b + w * f32_LANES, x[w], tail[w]);
            else
                ALL_OF_THEM f32_store(b + w * f32_LANES, x[w]);
            continue;
        CASE_OF(ADD, x[w], x[w] + WITH(w))
        CASE_OF(SUB, x[w], x[w] - WITH(w))
        CASE_OF(MUL, x[w], x[w] * WITH(w))
        case RLX_STEP_DIV:
            if (s->same && *b == 1)
                continue;
#if defined(CHAIN_MULTIPLIES)
            if (may_multiply(s)) {
                ALL_OF_THEM x[w] = quotient(x[w], *s->with);
                continue;
            }
#endif
            ALL_OF_THEM x[w] /= WITH(w);
            continue;
        CASE_OF(MIN, x[w], f32_min(x[w], WITH(w)))
        CASE_OF(MAX, x[w], f32_max(x[w], WITH(w)))
        CASE_OF(SUB_FROM, x[w], WITH(w) - x[w])
        CASE_OF(DIV_FROM, x[w], WITH(w) / x[w])
        CASE_OF(LEAST, x[w], f32_least(WITH(w), x[w]))
        CASE_OF(GREATEST, x[w], f32_greatest(WITH(w), x[w]))
        CASE_OF(RELU, x[w], f32_greatest(f32_fill(0), x[w]) + 0.0f)
        CASE_OF(TWICE, x[w], x[w] + x[w])
        CASE_OF(SQUARE, x[w], x[w] * x[w])
        CASE_OF(fabs, x[w], f32_abs(x[w]))
        CASE_OF(sqrt, x[w], f32_sqrt(x[w]))
#if !SET_LENDS_WORDS
        CASE_OF(ADD_WORDS, x[w], sum_of_words(x[w], WITH(w)))
        CASE_OF(SUB_WORDS, x[w], rest_of_words(x[w], WITH(w)))
        CASE_OF(SUB_WORDS_FROM, x[w], rest_of_words(WITH(w), x[w]))
        CASE_OF(FLOATS, x[w], floats_of(x[w], x[w]))
        CASE_OF(QUANTIZE_I8, x[w], quantized(x[w], WITH(w), INT8_MIN))
        CASE_OF(QUANTIZE_U8, x[w], quantized(x[w], WITH(w), 0))
#endif
        default: break;
        }
        ALL_OF_THEM f32_store(block + w * f32_LANES, x[w]);
        block_functions[s->op - RLX_STEP_exp](block, vectors * f32_LANES);
        ALL_OF_THEM x[w] = f32_load(block + w * f32_LANES);
    }
}

#if SET_MASKS
/* The last elements as half blocks, parts of which cost no more than whole ones. */
SET static void chain(const rlx_micro_step *steps, int64_t n)
{
    enum { HALF = CHAIN_VECTORS / 2 };
    int64_t at = 0;
#if SET_LENDS_WORDS
    for (const rlx_micro_step *s = steps; s->op != RLX_STEP_END; s++)
        if (s->op >= RLX_STEP_ADD_WORDS && s->op <= RLX_STEP_QUANTIZE_U8) {
            SET_LENDER.chain(steps, n);
            return;
        }
#endif
    for (; at + BLOCK <= n; at += BLOCK)
        chain_block(steps, at, BLOCK, CHAIN_VECTORS, false);
    for (; at < n; at += BLOCK / 2)
        chain_block(steps, at, rlx_micro_less(n - at, BLOCK / 2), HALF, true);
}
#else
SET static void chain(const rlx_micro_step *steps, int64_t n)
{
    rlx_micro_chain_end end;
    bool ends = n % BLOCK > 0;
    for (int64_t j = 0; j + BLOCK <= n || ends; ends = false) {
        int64_t at = j;
        const rlx_micro_step *s = steps;
        if (ends)
            s = rlx_micro_chain_begin_end(&end, steps, n, BLOCK), at = 0;
        else
            j += BLOCK;
        chain_block(s, at, BLOCK, CHAIN_VECTORS, false);
    }
    if (n % BLOCK)
        rlx_micro_chain_store_end(&end);
}
#endif
#endif
#undef BLOCK
#undef EACH
#undef ALL_OF_THEM
#undef FMA
#undef FILL
#undef OF_BLOCK
#undef WITH
#undef CASE_OF
