/* test_threads.c: two threads, each with a context of its own, a machine of its own over one
 * executable, and values that go between them. Built with TSAN=1 it is the proof that nothing
 * is shared in secret.
 */
#include "../fault/world.h"

#include <pthread.h>

enum { ROUNDS = 30 };

typedef struct worker {
    const program *program;
    relax_executable *shared;
    uint64_t digest;
    bool good;
} worker;

static bool one_round(worker *t, world *w)
{
    *w = (world){ 0 };
    world_open(w, t->program, NULL);
    bool good = world_reach(w, MACHINE) && step_check(w) && step_print(w) && step_pipeline(w) &&
                step_call(w);
    world_forget(w);
    relax_vm_release(w->vm);
    w->vm = NULL;
    relax_executable_release(w->exe);
    w->exe = relax_executable_retain(t->shared);
    good = good && open_machine(w) && step_call(w);
    t->digest = world_digest(w);
    world_close(w);
    return good;
}

static void *work(void *user)
{
    worker *t = user;
    world *w = malloc(sizeof *w);
    t->good = w;
    for (int i = 0; i < ROUNDS && t->good; i++)
        t->good = one_round(t, w);
    free(w);
    return NULL;
}

static void two_threads(void **state)
{
    static world first;
    (void)state;
    for (size_t i = 0; i < N(programs); i++) {
        if (programs[i].reach < RUNS || programs[i].outcome != RELAX_OK)
            continue;
        first = (world){ 0 };
        world_open(&first, &programs[i], NULL);
        assert_true(world_reach(&first, EXECUTABLE));
        worker t[2] = { { &programs[i], first.exe, 0, false },
                        { &programs[i], first.exe, 0, false } };
        pthread_t threads[2];
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, work, &t[k]), 0);
        for (int k = 0; k < 2; k++)
            pthread_join(threads[k], NULL);
        assert_true(t[0].good && t[1].good);
        assert_int_equal(t[0].digest, t[1].digest);
        world_close(&first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
