/* test_memory_caps.c: a context with max_bytes and a machine with max_memory never take more
 * from the host, whatever the cap; each step then succeeds or is out of memory; and what they
 * say they hold is what the host gave.
 */
#include "world.h"

/* A machine's memory is accounted in a block of its own that the cap does not count. */
enum { UNCOUNTED = 256 };

static size_t next_cap(size_t cap) { return cap + cap / 3 + 1; }

static void expect_answer(world *w, bool good, const char *what)
{
    if (!good && w->status != RELAX_ERROR_OUT_OF_MEMORY && w->status != w->program->outcome)
        fail_msg("%s, %s: status %d", w->program->name, what, (int)w->status);
}

/* As far as the cap lets it; true if all the way. */
static bool compile_capped(world *w)
{
    bool good = open_context(w);
    expect_answer(w, good, "create a context");
    if (!good)
        return false;
    good = make_module(w);
    expect_answer(w, good, "read");
    w->module = w->out;
    if (good && (good = step_check(w)))
        good = step_infer(w);
    expect_answer(w, good, "check");
    if (good)
        good = step_pipeline(w);
    expect_answer(w, good, "pipeline");
    if (good)
        w->exe = relax_module_compile(w->ctx, w->module, NULL), good = said(w, w->exe);
    expect_answer(w, good, "compile");
    return good;
}

static void contexts_keep_their_cap(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(programs); i++) {
        bool through = false;
        size_t tries = 0;
        for (size_t cap = 1; cap < (size_t)1 << 26 && !through; cap = next_cap(cap), tries++) {
            static world w;
            fault f;
            fault_init(&f);
            w = (world){ .max_bytes = cap };
            world_open(&w, &programs[i], &f);
            through = compile_capped(&w) || (w.status && w.status != RELAX_ERROR_OUT_OF_MEMORY);
            if (f.peak > cap)
                fail_msg("%s: cap %zu, %zu bytes were taken", programs[i].name, cap, f.peak);
            if (w.ctx)
                assert_int_equal(relax_context_bytes(w.ctx), f.live);
            world_close(&w);
            assert_int_equal(f.live, 0);
        }
        assert_true(through && tries > 10);
    }
}

static size_t held(const relax_vm *vm)
{
    relax_vm_counters counters = { .struct_size = sizeof counters };
    assert_int_equal(relax_vm_get_counters(vm, &counters), RELAX_OK);
    return (size_t)counters.total_bytes;
}

/* The machine alone takes from `f`; what it runs and what it is given come from elsewhere. */
static bool run_capped(world *w, fault *f, size_t cap)
{
    w->fault = f;
    w->max_memory = cap;
    bool good = open_machine(w);
    expect_answer(w, good, "create a machine");
    for (int i = 0; good && i < 2; i++) {
        good = step_call(w);
        expect_answer(w, good, "run");
        size_t said_to_hold = held(w->vm);
        if (said_to_hold > f->live || said_to_hold + UNCOUNTED < f->live)
            fail_msg("%s: the machine says it holds %zu bytes, the host gave %zu",
                     w->program->name, said_to_hold, f->live);
        relax_value_release(&w->result);
    }
    bool through = good || (w->status == w->program->outcome && w->status != RELAX_OK);
    relax_error_release(w->error);
    w->error = NULL;
    relax_vm_release(w->vm);
    w->vm = NULL;
    w->fault = NULL;
    return through;
}

static void machines_keep_their_cap(void **state)
{
    (void)state;
    for (size_t i = 0; i < N(programs); i++) {
        static world w;
        w = (world){ 0 };
        if (programs[i].reach < RUNS)
            continue;
        world_open(&w, &programs[i], NULL);
        assert_true(world_reach(&w, EXECUTABLE) && open_registry(&w) && make_input(&w) &&
                    make_caches(&w));
        bool through = false;
        for (size_t cap = 1; cap < (size_t)1 << 26 && !through; cap = next_cap(cap)) {
            fault f;
            fault_init(&f);
            through = run_capped(&w, &f, cap);
            if (f.peak > cap + UNCOUNTED)
                fail_msg("%s: cap %zu, %zu bytes were taken", programs[i].name, cap, f.peak);
            assert_int_equal(f.live, 0);
        }
        assert_true(through);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(contexts_keep_their_cap),
                                        cmocka_unit_test(machines_keep_their_cap) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
