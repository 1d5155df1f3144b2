/* test_micro_tiles.c: Linux is asked for tiles when the first sum needs them, by any thread; where it refuses, sums are the same. Each
 * case is a process of its own, as what was granted stays. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "micro/micro.h"

enum { ROWS = 40, COLUMNS = 64, STEPS = 400, THREADS = 2, ROUNDS = 50 };
static unsigned char a[ROWS][STEPS], b[STEPS / 4][COLUMNS][4];
static uint32_t want[ROWS][COLUMNS];

static bool has_tiles(void)
{
#if defined(__x86_64__)
    enum { ARCH_GET_XCOMP_PERM = 0x1022, XFEATURE_XTILEDATA = 18 };
    uint64_t permitted = 0;
    return syscall(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &permitted) == 0 && permitted >> XFEATURE_XTILEDATA & 1;
#else
    return false;
#endif
}

/* NULL: right every time */
static void *sum_up(void *wrong)
{
    uint32_t acc[ROWS][COLUMNS];
    rlx_micro_sum s = { .acc = acc, .a = a, .b = b, .acc_i = COLUMNS, .acc_j = 1, .a_i = STEPS, .a_t = 4, .a_k = 1,
                        .b_t = 4 * COLUMNS, .b_j = 4, .b_k = 1, .rows = ROWS, .columns = COLUMNS, .turns = STEPS / 4, .depth = 4,
                        .fresh = true, .a_signed = true, .b_fours = true };
    for (int n = 0; n < ROUNDS; n++) {
        memset(acc, 0x55, sizeof acc);
        rlx_micro_find("avx512amx")->dot(&s);
        if (memcmp(acc, want, sizeof acc) != 0)
            return wrong;
    }
    return NULL;
}

static int small_stack(void)
{
    static char memory[2048];
    stack_t small = { .ss_sp = memory, .ss_size = sizeof memory };
    if (sigaltstack(&small, NULL) != 0)
        return 0; /* this machine has no such stacks at all */
    return sum_up(a) || has_tiles();
}

static int some_threads(void)
{
    pthread_t threads[THREADS];
    int failed = has_tiles();
    for (int i = 0; i < THREADS; i++)
        failed |= pthread_create(&threads[i], NULL, sum_up, a);
    for (int i = 0; i < THREADS; i++) {
        void *wrong = a;
        failed |= pthread_join(threads[i], &wrong) || wrong;
    }
    return failed;
}

static void expect_of_child(int (*child)(void))
{
    int status = -1;
    if (!rlx_micro_find("avx512amx"))
        skip();
    pid_t pid = fork();
    if (pid == 0)
        _exit(child());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_refused(void **state) { expect_of_child(small_stack); }
static void test_threads(void **state) { expect_of_child(some_threads); }

static int set_up(void **state)
{
    unsigned char *bytes[] = { a[0], b[0][0] };
    const size_t sizes[] = { sizeof a, sizeof b };
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[i][k] = (unsigned char)(k * k * 7 + k / 5);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            for (int k = 0; k < STEPS; k++)
                want[i][j] += (uint32_t)((int8_t)a[i][k] * b[k / 4][j][k % 4]);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_refused), cmocka_unit_test(test_threads) };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
