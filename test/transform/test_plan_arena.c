/* test_plan_arena.c: tensors in an arena never overlap while both are needed, it is hardly larger than
 * what is needed at once, and a hundred thousand of them are placed quickly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "random_program.h"
#include "transform/plan_arena.h"

static int64_t aligned(int64_t bytes)
{
    return (bytes + RLX_ARENA_ALIGN - 1) / RLX_ARENA_ALIGN * RLX_ARENA_ALIGN;
}

/* The most bytes that are needed at one event. */
static int64_t peak_of(const rlx_arena_tensor *t, size_t count)
{
    int64_t peak = 0;
    for (size_t k = 0; k < count; k++) {
        int64_t live = 0;
        for (size_t i = 0; i < count; i++)
            live += t[i].first <= t[k].first && t[k].first <= t[i].last ? aligned(t[i].bytes) : 0;
        peak = live > peak ? live : peak;
    }
    return peak;
}

static void check_places(const rlx_arena_tensor *t, size_t count, int64_t total)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(t[i].offset >= 0 && t[i].offset % RLX_ARENA_ALIGN == 0);
        assert_true(t[i].offset + t[i].bytes <= total);
        for (size_t k = 0; k < i; k++) {
            bool together = t[i].first <= t[k].last && t[k].first <= t[i].last;
            bool apart = t[i].offset + t[i].bytes <= t[k].offset ||
                         t[k].offset + t[k].bytes <= t[i].offset;
            assert_true(!together || apart || !t[i].bytes || !t[k].bytes);
        }
    }
}

static void test_random(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    uint64_t r = 11;
    enum { MOST = 400 };
    static rlx_arena_tensor t[MOST];
    double worst = 0;
    for (int round = 0; round < 300; round++) {
        size_t count = random_roll(&r, MOST);
        uint32_t length = 1 + (uint32_t)random_roll(&r, round % 3 ? 20 : 300);
        for (size_t i = 0; i < count; i++)
            t[i] = (rlx_arena_tensor){ (uint32_t)(2 * i),
                                       (uint32_t)(2 * i + random_roll(&r, length)),
                                       (int64_t)random_roll(&r, 100000), -1 };
        int64_t total = rlx_arena_place(ctx, t, count), peak = peak_of(t, count);
        assert_true(total >= 0);
        check_places(t, count, total);
        if (round % 3 && peak && (double)total / (double)peak > worst)
            worst = (double)total / (double)peak;
    }
    assert_true(worst < 1.4);
    rlx_context_release(ctx);
}

/* What a network asks for: a block keeps its input until its end. */
static void test_blocks(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    enum { BLOCKS = 50 };
    static rlx_arena_tensor t[4 * BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        int64_t bytes = 4096 * (1 + i / 10);
        t[4 * i] = (rlx_arena_tensor){ 8 * i, 8 * i + 7, bytes, -1 };
        t[4 * i + 1] = (rlx_arena_tensor){ 8 * i + 1, 8 * i + 3, 6 * bytes, -1 };
        t[4 * i + 2] = (rlx_arena_tensor){ 8 * i + 3, 8 * i + 5, 6 * bytes, -1 };
        t[4 * i + 3] = (rlx_arena_tensor){ 8 * i + 5, 8 * i + 8, bytes, -1 };
    }
    int64_t total = rlx_arena_place(ctx, t, 4 * BLOCKS);
    check_places(t, 4 * BLOCKS, total);
    assert_true((double)total <= 1.05 * (double)peak_of(t, 4 * BLOCKS));
    rlx_context_release(ctx);
}

static void test_many_at_once(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    enum { MANY = 100000 };
    rlx_arena_tensor *t = calloc(MANY, sizeof *t);
    int64_t total = 0;
    clock_t begin = clock();
    for (uint32_t i = 0; i < MANY; i++) {
        t[i] = (rlx_arena_tensor){ i, MANY + i, 64 * (1 + i % 7), -1 };
        total += t[i].bytes;
    }
    assert_int_equal(rlx_arena_place(ctx, t, MANY), total);
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
    assert_int_equal(rlx_arena_place(ctx, t, 0), 0);
    free(t);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
