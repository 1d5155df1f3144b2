/* test_partial_sums.c: random blocks with the attribute relax.partial_sums against sums that are
 * made as it says, one element after the other. The evaluator, kernels of every set of instructions
 * and schedules must agree on them to the bit (kernel_case.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "../support/kernel_case.h"
#include "../support/text_file.h"
#include "../support/text_module.h"

enum { CASES = 150, LONG_CASES = 3000, MAX_NDIM = 4 };
enum kind { PLAIN, SCALED, FUSED, NARROW, FROM_ONE, SQUARE, DISTANCE, KINDS };

typedef struct sum_case {
    uint64_t state;
    enum kind kind;
    rlx_dtype dtype, from;
    int ndim;
    int64_t size[MAX_NDIM];
    bool reduced[MAX_NDIM], symbolic[MAX_NDIM];
    bool last_inside;               /* the last spatial axis runs innermost */
} sum_case;

static uint64_t draw(sum_case *c, uint64_t below)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (c->state >> 33) % below;
}

static sum_case make_case(uint64_t seed)
{
    static const int64_t sizes[] = { 1, 2, 3, 5, 7, 8, 31, 32, 33, 64, 70, 0, 300, 1100 };
    sum_case c = { .state = seed * 977 + 5 };
    int64_t cells = 1;
    draw(&c, 2);
    c.kind = (enum kind)draw(&c, KINDS);
    c.dtype = draw(&c, 3) ? RELAX_FLOAT32 : RELAX_FLOAT64;
    c.from = c.kind == NARROW ? RELAX_FLOAT16 : c.dtype;
    c.dtype = c.kind == NARROW ? RELAX_FLOAT32 : c.dtype;
    c.ndim = 1 + (int)draw(&c, MAX_NDIM);
    for (int i = 0; i < c.ndim; i++) {
        c.size[i] = sizes[draw(&c, cells > 15 ? 5 : RLX_COUNT(sizes))];
        cells *= c.size[i] ? c.size[i] : 1;
        c.reduced[i] = draw(&c, 2);
        c.symbolic[i] = !draw(&c, 3);
    }
    c.reduced[draw(&c, (uint64_t)c.ndim)] = true;
    c.last_inside = draw(&c, 2);
    return c;
}

/* ---- the function --------------------------------------------------------------------------- */

static int last_spatial(const sum_case *c)
{
    int last = -1;
    for (int i = 0; i < c->ndim; i++)
        last = c->reduced[i] ? last : i;
    return last;
}

static void open_axis(rlx_tir *t, const sum_case *c, int i, const rlx_prim *const *size,
                      const rlx_prim **at)
{
    at[i] = c->reduced[i] ? rlx_tir_reduce(t, "k", size[i]) : rlx_tir_spatial(t, "i", size[i]);
}

static const rlx_prim *value_of(rlx_tir *t, const sum_case *c, const rlx_prim *own,
                                const rlx_prim *a, const rlx_prim *b)
{
    if (c->kind == FUSED)
        return rlx_tir_multiply_add(t, own, a, b);
    if (c->kind == DISTANCE)
        a = rlx_tir_sub(t, a, b);
    if (c->kind == SCALED || c->kind == SQUARE || c->kind == DISTANCE)
        a = rlx_tir_mul(t, a, c->kind == SCALED ? b : a);
    return rlx_tir_add(t, own, rlx_tir_cast(t, c->dtype, a));
}

static const rlx_prim_func *write_func(rlx_context *ctx, const sum_case *c)
{
    static const char *const names[] = { "n", "m", "p", "q" };
    const rlx_prim *size[MAX_NDIM], *at[MAX_NDIM], *kept[MAX_NDIM], *place[MAX_NDIM];
    rlx_tir t;
    size_t n = 0;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    for (int i = 0; i < c->ndim; i++) {
        size[i] = c->symbolic[i] ? rlx_tir_dim(&t, names[i]) : rlx_tir_int(&t, c->size[i]);
        if (!c->reduced[i])
            kept[n++] = size[i];
    }
    rlx_prim_list shape = RLX_TIR_ITEMS(size, (size_t)c->ndim);
    const rlx_buffer *a = rlx_tir_param(&t, "A", c->from, shape),
                     *b = rlx_tir_param(&t, "B", c->from, shape),
                     *out = rlx_tir_param(&t, "C", c->dtype, RLX_TIR_ITEMS(kept, n));
    int inside = c->last_inside ? last_spatial(c) : -1;
    rlx_tir_begin_block(&t, "sum");
    for (int i = 0; i < c->ndim; i++)
        if (i != inside)
            open_axis(&t, c, i, size, at);
    if (inside >= 0)
        open_axis(&t, c, inside, size, at);
    rlx_tir_annotate(&t, "relax.partial_sums", rlx_int(ctx, RELAX_INT32, 32));
    n = 0;
    for (int i = 0; i < c->ndim; i++)
        if (!c->reduced[i])
            place[n++] = at[i];
    const rlx_prim *still[MAX_NDIM]; /* where a distance is measured from */
    for (int i = 0; i < c->ndim; i++)
        still[i] = c->kind == DISTANCE && c->reduced[i] ? rlx_tir_int(&t, 0) : at[i];
    rlx_prim_list to = RLX_TIR_ITEMS(place, n), from = RLX_TIR_ITEMS(at, (size_t)c->ndim),
                  second = RLX_TIR_ITEMS(still, (size_t)c->ndim);
    rlx_tir_init(&t, out, to, rlx_tir_float(&t, c->dtype, c->kind == FROM_ONE));
    rlx_tir_store(&t, out, to,
                  value_of(&t, c, rlx_tir_load(&t, out, to), rlx_tir_load(&t, a, from),
                           rlx_tir_load(&t, b, second)));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

/* ---- what it is ----------------------------------------------------------------------------- */

static double element(const kc_arg *a, size_t i)
{
    if (a->dtype == RELAX_FLOAT64)
        return ((const double *)a->data)[i];
    return a->dtype == RELAX_FLOAT32 ? (double)((const float *)a->data)[i]
                                     : (double)rlx_half_to_float(((const uint16_t *)a->data)[i]);
}

/* Rounded as the sums are. */
static double step(const sum_case *c, double sum, double a, double b)
{
    bool wide = c->dtype == RELAX_FLOAT64;
    if (c->kind == FUSED)
        return wide ? fma(a, b, sum) : (double)fmaf((float)a, (float)b, (float)sum);
    if (c->kind == DISTANCE)
        a = wide ? a - b : (double)((float)a - (float)b);
    if (c->kind == SQUARE || c->kind == DISTANCE)
        b = a;
    if (c->kind == SCALED || c->kind == SQUARE || c->kind == DISTANCE)
        a = wide ? a * b : (double)((float)a * (float)b);
    return wide ? sum + a : (double)((float)sum + (float)a);
}

static double join(const sum_case *c, double a, double b)
{
    return c->dtype == RELAX_FLOAT64 ? 0.0 + a + b : (double)(0.0f + (float)a + (float)b);
}

/* The number of the element's place among axes that are reduced, or not, or in the run. */
enum which { RESULT, RUN };
static int64_t digits(const sum_case *c, const int64_t *at, enum which which, int begin)
{
    int64_t p = 0;
    for (int i = 0; i < c->ndim; i++)
        if (which == RUN ? c->reduced[i] && i >= begin : !c->reduced[i])
            p = p * c->size[i] + at[i];
    return p;
}

/* The first axis of the run that ends in the innermost reduced axis. */
static int run_begin(const sum_case *c)
{
    int i = c->ndim - 1;
    while (!c->reduced[i])
        i--;
    while (i > 0 && c->reduced[i - 1])
        i--;
    return i;
}

static void expect(const sum_case *c, const kc *k, double *p, double *out, size_t results)
{
    int64_t at[MAX_NDIM] = { 0 };
    size_t cells = kc_count(&k->args[0]);
    for (size_t i = 0; i < results * 32; i++)
        p[i] = c->kind == FROM_ONE;
    for (size_t i = 0; i < cells; i++) {
        size_t rest = i;
        for (int d = c->ndim; d-- > 0; rest /= (size_t)c->size[d])
            at[d] = (int64_t)(rest % (size_t)c->size[d]);
        int64_t t = c->kind == FROM_ONE ? 0 : digits(c, at, RUN, run_begin(c)) % 32;
        double *sum = &p[digits(c, at, RESULT, 0) * 32 + t];
        size_t still = 0;
        for (int d = 0; d < c->ndim; d++)
            still = still * (size_t)c->size[d] +
                    (size_t)(c->kind == DISTANCE && c->reduced[d] ? 0 : at[d]);
        *sum = step(c, *sum, element(&k->args[0], i), element(&k->args[1], still));
    }
    for (size_t i = 0; i < results; i++, p += 32) {
        for (int h = 16; h && c->kind != FROM_ONE; h /= 2)
            for (int l = 0; l < h; l++)
                p[l] = join(c, p[l], p[l + h]);
        out[i] = p[0];
    }
}

static void random_blocks(void **state)
{
    uint64_t count = getenv("RELAX_LONG") ? LONG_CASES : CASES;
    for (uint64_t seed = 0; seed < count; seed++) {
        sum_case c = make_case(seed);
        rlx_context *ctx = rlx_context_create(NULL, 0);
        kc k = { .seed = seed };
        int64_t kept[MAX_NDIM];
        int n = 0;
        for (int i = 0; i < c.ndim; i++)
            if (!c.reduced[i])
                kept[n++] = c.size[i];
        kc_tensor(&k, c.from, c.ndim, c.size);
        kc_tensor(&k, c.from, c.ndim, c.size);
        kc_tensor(&k, c.dtype, n, kept);
        const rlx_prim_func *f = write_func(ctx, &c);
        assert_non_null(f);
        if (kc_run(ctx, f, &k, NULL) != RLX_CODE_NONE)
            fail_msg("case %d fails", (int)seed);
        size_t results = kc_count(&k.args[2]);
        double *p = calloc(results * 33 + 1, sizeof *p), *want = p + results * 32;
        assert_non_null(p);
        expect(&c, &k, p, want, results);
        for (size_t i = 0; i < results; i++) {
            double got = element(&k.args[2], i);
            if (memcmp(&got, &want[i], sizeof got) != 0 && !(got != got && want[i] != want[i]))
                fail_msg("case %d, kind %d, element %d: %a, wanted %a", (int)seed, (int)c.kind,
                         (int)i, got, want[i]);
        }
        free(p);
        kc_free(&k);
        rlx_context_release(ctx);
    }
}

/* Loops with the attribute, some of which no instruction does: the evaluator and kernels agree. */
static void loops_with_the_attribute(void **state)
{
    size_t count = 0;
    const text_part *parts = text_file_parts("test/tir/partial_sums.programs", &count);
    assert_non_null(parts);
    for (size_t i = 0; i < count; i++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        const rlx_module *m = text_module(ctx, parts[i].text);
        int64_t at = m ? rlx_module_find(m, RLX_SLICE("f")) : -1;
        kc k = { .seed = i };
        assert_true(at >= 0);
        kc_tensor2(&k, RELAX_FLOAT32, 6, 75);
        float *sums = kc_tensor1(&k, RELAX_FLOAT32, 6);
        if (kc_run(ctx, rlx_as_prim_func(m->functions[at]), &k, NULL) != RLX_CODE_NONE)
            fail_msg("%s fails", parts[i].name);
        const float *x = k.args[0].data;
        float p[32] = { 0 };
        for (int t = 0; t < 75; t++) /* what is done for the first row: every program sums the elements, or their doubles */
            p[t % 32] += strstr(parts[i].name, "doubles") ? x[t] + x[t] : x[t];
        for (int w = 16; w; w /= 2)
            for (int l = 0; l < w; l++)
                p[l] += p[l + w];
        bool plain = strncmp(parts[i].name, "plain", 5) == 0; /* what is said of other loops means nothing */
        for (int t = 0; plain && t < 75; t++)
            p[0] = t ? p[0] + x[t] : x[0];
        if (sums[0] != p[0])
            fail_msg("%s: %a, wanted %a", parts[i].name, sums[0], p[0]);
        kc_free(&k);
        rlx_context_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_blocks),
                                        cmocka_unit_test(loops_with_the_attribute) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
