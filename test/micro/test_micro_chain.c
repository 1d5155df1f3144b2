/* test_micro_chain.c: chains of steps, and rows of exp with their sums, of every set that this machine has: the numbers of the
 * functions of format/elementary.def one element at a time, bit by bit, and no element beside the strips. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "fenced.h"
#include "format/kernel_math.h"
#include "micro/micro.h"

static const char *const sets[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };
/* Strips side by side, each between fences; longer than a set takes through a step at a time. */
enum { MOST = 2300, STRIPS = 4, FENCE = 8, WIDTH = MOST + 2 * FENCE, ALL = STRIPS * WIDTH };

static uint64_t state_of_random = 0x9e3779b97f4a7c15u;
static uint64_t next_random(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

/* Any bits, special values, or of moderate size. */
static float any_float(void)
{
    static const float special[] = { 0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 0x1p-149f, -0x1p-149f, 88.7f, -104, 1.14f };
    uint64_t r = next_random();
    if ((r & 7) == 0)
        return rlx_bits_float((uint32_t)(r >> 32));
    if ((r & 7) == 1)
        return special[(r >> 8) % RLX_COUNT(special)];
    return (float)((double)(int64_t)next_random() * 0x1p-63 * (r & 8 ? 30 : 2));
}

static bool is_same(float a, float b)
{
    return rlx_float_bits(a) == rlx_float_bits(b) || (a != a && b != b);
}

/* What a step makes of x and b. */
static float one_step(uint32_t op, float x, float b)
{
    switch (op) {
    case RLX_STEP_LOAD: return b;
    case RLX_STEP_ADD: return x + b;
    case RLX_STEP_SUB: return x - b;
    case RLX_STEP_MUL: return x * b;
    case RLX_STEP_DIV: return x / b;
    case RLX_STEP_MIN: case RLX_STEP_LEAST: return rlx_min_f32(x, b);
    case RLX_STEP_MAX: case RLX_STEP_GREATEST: return rlx_max_f32(x, b);
    case RLX_STEP_SUB_FROM: return b - x;
    case RLX_STEP_DIV_FROM: return b / x;
    case RLX_STEP_RELU: return rlx_max_f32(x, 0.0f);
    case RLX_STEP_TWICE: return x + x;
    case RLX_STEP_SQUARE: return x * x;
    case RLX_STEP_fabs: return fabsf(x);
    case RLX_STEP_sqrt: return sqrtf(x);
    case RLX_STEP_ADD_WORDS: return rlx_bits_float(rlx_float_bits(x) + rlx_float_bits(b));
    case RLX_STEP_SUB_WORDS: return rlx_bits_float(rlx_float_bits(x) - rlx_float_bits(b));
    case RLX_STEP_SUB_WORDS_FROM: return rlx_bits_float(rlx_float_bits(b) - rlx_float_bits(x));
    case RLX_STEP_FLOATS: return (float)(int32_t)rlx_float_bits(x);
    case RLX_STEP_QUANTIZE_I8: return rlx_bits_float((uint32_t)rlx_saturate_f32(rlx_round_f32(x) + b, INT8_MIN, INT8_MAX));
    case RLX_STEP_QUANTIZE_U8: return rlx_bits_float((uint32_t)rlx_saturate_f32(rlx_round_f32(x) + b, 0, UINT8_MAX));
    case RLX_STEP_exp: return rlx_exp_f32(x);
    case RLX_STEP_sigmoid: return rlx_sigmoid_f32(x);
    case RLX_STEP_tanh: return rlx_tanh_f32(x);
    case RLX_STEP_erf: return rlx_erf_f32(x);
    default: return x;
    }
}

static bool has_operand(uint32_t op)
{
    return op <= RLX_STEP_GREATEST || (op >= RLX_STEP_ADD_WORDS && op < RLX_STEP_FLOATS) || op == RLX_STEP_QUANTIZE_I8 || op == RLX_STEP_QUANTIZE_U8;
}

/* Of steps that see bits: those of a NaN that was computed are not defined. */
static bool sees_bits(uint32_t op) { return op >= RLX_STEP_ADD_WORDS && op <= RLX_STEP_FLOATS; }

/* Does the step take such an operand? */
static bool takes(uint32_t op, float b)
{
    bool least = op == RLX_STEP_LEAST, greatest = op == RLX_STEP_GREATEST;
    return (!least && !greatest) || (b == b && rlx_float_bits(b) != (least ? 0x80000000u : 0));
}

typedef struct program {
    rlx_micro_step steps[RLX_CHAIN_STEPS];
    float numbers[RLX_CHAIN_STEPS], first;
} program;

/* Random steps over the strips: loads, operations with strips and numbers, stores in between. */
static float *any_strip(float *strips) { return strips + next_random() % STRIPS * WIDTH + FENCE; }

static void make(program *p, float *strips, size_t count)
{
    const bool in_lines = next_random() & 1;
    rlx_micro_step *s = p->steps;
    uint32_t words = next_random() & 1 ? RLX_STEP_ADD_WORDS : 0; /* begins with sums of integers */
    p->first = any_float();
    *s++ = next_random() % 8 ? RLX_STEP_STRIP(RLX_STEP_LOAD, any_strip(strips)) : RLX_STEP_NUMBER(RLX_STEP_LOAD, &p->first);
    for (size_t i = 0; i < count; i++) {
        /* often what some sets do as one: a scale, a shift, bounds, a product */
        const uint32_t line[] = { RLX_STEP_MUL, RLX_STEP_ADD, next_random() & 1 ? RLX_STEP_RELU : RLX_STEP_GREATEST, RLX_STEP_LEAST, RLX_STEP_MUL };
        const bool in_line = in_lines && next_random() % 8;
        uint32_t op;
        do
            op = in_line                      ? line[i % 5]
                 : words && next_random() % 4 ? words + (uint32_t)(next_random() & 3)
                                              : RLX_STEP_LOAD + (uint32_t)(next_random() % (RLX_STEP_COUNT - RLX_STEP_LOAD));
        while (sees_bits(op) && !words);
        if (i && s[-1].op == RLX_STEP_DIV && next_random() & 1) /* mostly these come together */
            op = next_random() & 1 ? RLX_STEP_QUANTIZE_I8 : RLX_STEP_QUANTIZE_U8;
        words = sees_bits(op) && op != RLX_STEP_FLOATS ? words : 0;
        bool number = in_line ? i % 5 < 4 : next_random() & 1;
        do
            p->numbers[i] = any_float();
        while (!takes(op, p->numbers[i]));
        if (!has_operand(op))
            *s++ = RLX_STEP_ALONE(op);
        else if (op == RLX_STEP_LEAST || op == RLX_STEP_GREATEST || (number && op > RLX_STEP_STORE))
            *s++ = RLX_STEP_NUMBER(op, &p->numbers[i]);
        else
            *s++ = RLX_STEP_STRIP(op, any_strip(strips));
    }
    *s++ = RLX_STEP_STRIP(RLX_STEP_STORE, any_strip(strips));
    *s = RLX_STEP_ALONE(RLX_STEP_END);
}

/* Element k of each strip, through all steps. */
static void run_plainly(const program *p, const float *strips, float *want, size_t k)
{
    float x = 0;
    for (const rlx_micro_step *s = p->steps; s->op != RLX_STEP_END; s++) {
        float *b = want + (s->moves ? (size_t)(s->with - strips) : 0) + k;
        if (s->op == RLX_STEP_STORE)
            *b = x;
        else
            x = one_step(s->op, x, s->moves ? *b : s->same ? *s->with : 0);
    }
}

static void chains(void **state)
{
    static float strips[ALL], kept[ALL], want[ALL];
    program p;
    const size_t rounds = (size_t)rounds_of(3000), short_ones = rounds / 10;
    for (size_t round = 0; round < rounds; round++) {
        size_t n = round < short_ones ? round + 1 : 1 + next_random() % MOST;
        for (size_t i = 0; i < ALL; i++)
            kept[i] = any_float();
        memcpy(want, kept, sizeof kept);
        make(&p, strips, next_random() % (round % 4 ? 20 : 3));
        for (size_t k = 0; k < n; k++)
            run_plainly(&p, strips, want, k);
        for (size_t s = 0; s < RLX_COUNT(sets); s++) {
            const rlx_micro_set *set = rlx_micro_find(sets[s]);
            if (!set)
                continue;
            memcpy(strips, kept, sizeof kept);
            set->chain(p.steps, (int64_t)n);
            for (size_t i = 0; i < ALL; i++)
                if (!is_same(strips[i], want[i]))
                    fail_msg("%s, round %zu, %zu elements: element %zu of strip %zu is %a, want %a", sets[s], round, n,
                             i % WIDTH - FENCE, i / WIDTH, (double)strips[i], (double)want[i]);
        }
    }
}

/* Rows in two parts, whose sums go on. */
static void rows_of_exp(void **state)
{
    static float x[MOST], got[MOST + FENCE], want[MOST + FENCE];
    const size_t lengths = 2000, rounds = (size_t)rounds_of((int)lengths);
    for (size_t round = 0; round < rounds; round++) {
        size_t n = 1 + round * lengths / rounds, first = n / 2 / RLX_PARTIAL_SUMS * RLX_PARTIAL_SUMS;
        float b = round & 1 ? any_float() : 3, sums[RLX_PARTIAL_SUMS] = { 0 };
        for (size_t i = 0; i < n; i++)
            x[i] = round & 2 ? any_float() : (float)((double)(int64_t)next_random() * 0x1p-60);
        for (size_t i = 0; i < n; i++)
            x[i] = x[i] - b > 0.0f ? b : x[i];
        for (size_t i = 0; i < MOST + FENCE; i++)
            want[i] = 42;
        for (size_t i = 0; i < n; i++)
            sums[i % RLX_PARTIAL_SUMS] += want[i] = rlx_exp_f32(x[i] - b);
        for (size_t s = 0; s < RLX_COUNT(sets); s++) {
            const rlx_micro_set *set = rlx_micro_find(sets[s]);
            if (!set)
                continue;
            float part[RLX_PARTIAL_SUMS], half[RLX_PARTIAL_SUMS];
            for (size_t i = 0; i < MOST + FENCE; i++)
                got[i] = 42;
            if (first)
                set->exp_sum(got, x, b, part, true, (int64_t)first, 0);
            float total = set->exp_sum(got + first, x + first, b, part, !first, (int64_t)(n - first), 0);
            for (size_t i = 0; i < MOST + FENCE; i++)
                if (!is_same(got[i], want[i]))
                    fail_msg("%s: exp(%a) of %zu is %a", sets[s], (double)(x[i] - b), n, (double)got[i]);
            for (size_t i = 0; i < RLX_PARTIAL_SUMS; i++)
                if (!is_same(part[i], sums[i]))
                    fail_msg("%s: partial sum %zu of %zu is %a, want %a", sets[s], i, n, (double)part[i], (double)sums[i]);
            memcpy(half, sums, sizeof half);
            for (size_t h = RLX_PARTIAL_SUMS / 2; h > 1; h /= 2)
                for (size_t i = 0; i < h; i++)
                    half[i] += half[i + h];
            assert_true(is_same(total, 0.0f + half[0] + half[1]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains),
        cmocka_unit_test(rows_of_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
