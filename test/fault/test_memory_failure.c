/* test_memory_failure.c: each request for memory is refused in turn, once or from there on, in
 * every step of every program: the step fails cleanly or gives what it always gives, the same
 * objects do it right when memory is back, and nothing is left in the end.
 *
 * The host's allocator refuses first; then the host gives none and malloc itself refuses. With
 * RELAX_LONG each single request is tried (of a program with `most`, so many per step), otherwise
 * a few per step.
 */
#include "world.h"

/* Requests that the short run tries per step and mode: of most programs, of large ones. */
enum { FEW = 6, FEWER = 2 };

static bool is_long;
static size_t tried, requests;

/* What the step does when nothing is refused. */
typedef struct verdict { bool good; relax_status status; uint64_t digest; size_t calls; } verdict;

static void explain(world *w, const step *s, size_t at, const char *what)
{
    print_error("%s, %s%s%s, request %zu refused: %s\n", w->program->name, s->name,
                w->pass ? " " : "", w->pass ? w->pass : "", at, what);
    for (size_t i = 0; w->ctx && i < relax_context_num_diagnostics(w->ctx); i++)
        print_error("    [%s] %s\n", relax_diagnostic_code(w->ctx, i),
                    relax_diagnostic_message(w->ctx, i, NULL));
    if (w->error)
        print_error("    [%s] %s\n", relax_error_code(w->error),
                    relax_error_message(w->error, NULL));
    fail();
}

#define EXPECT(yes, what) do { if (!(yes)) explain(w, s, at, what); } while (0)

/* The plan that counts for this world: the host's or malloc's. */
static fault_plan *plan_of(world *w) { return w->fault ? &w->fault->plan : &fault_malloc.plan; }

static verdict watched(world *w, const step *s, size_t at, bool forever)
{
    *plan_of(w) = (fault_plan){ .at = at, .forever = forever };
    fault_malloc.plan = (fault_plan){ .at = w->fault ? 0 : at, .forever = forever };
    fault_malloc.is_ours = !w->fault || s->takes != HOST;
    fault_malloc.strangers = 0;
    errno = 4711;
    fault_enter();
    bool good = s->act(w);
    fault_leave();
    EXPECT(errno == 4711, "errno was changed");
    verdict v = { good, w->status, 0, plan_of(w)->calls };
    plan_of(w)->at = 0;
    EXPECT(fault_malloc.strangers == 0, "memory was taken past the allocator of the host");
    return v;
}

/* An internal error, or a mistake that the program does not make, is no clean failure. */
static void expect_clean(world *w, const step *s, size_t at, const verdict *v,
                         const verdict *usual)
{
    if (v->good == usual->good && v->status == usual->status)
        return;
    EXPECT(!v->good && v->status == RELAX_ERROR_OUT_OF_MEMORY,
           "neither out of memory nor the usual outcome");
    EXPECT(!w->error || relax_error_status(w->error) == RELAX_ERROR_OUT_OF_MEMORY,
           "the error has another status");
    for (size_t i = 0;
         w->ctx && usual->status == RELAX_OK && i < relax_context_num_diagnostics(w->ctx); i++)
        EXPECT(relax_diagnostic_severity(w->ctx, i) != RELAX_SEVERITY_ERROR,
               "an error is reported that is none");
}

static void expect_nothing_left(world *w, const step *s, size_t at)
{
    EXPECT(w->kept == 0, "something of the host was not let go exactly once");
    EXPECT(!w->fault || (w->fault->live == 0 && w->fault->blocks == 0),
           "memory of the host is left");
    EXPECT(fault_malloc.blocks == 0 || s->takes == SYSTEM, "memory of malloc is left");
}

static int open_files(void)
{
    int count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* One world in which request `at` of the step is refused; 0: none. Returns what the step came
 * to when memory was there. */
static verdict attempt(const program *p, const char *pass, const step *s, fault *f, size_t at,
                       bool forever, const verdict *usual)
{
    static world fresh;
    world *w = &fresh;
    *w = (world){ .pass = pass };
    if (f)
        fault_init(f);
    fault_malloc.plan = (fault_plan){ 0 };
    fault_malloc.is_ours = true;
    fault_malloc.blocks = 0;
    fault_leave();
    world_open(w, p, f);
    int files = open_files();
    fault_enter();
    bool there = world_reach(w, s->needs);
    fault_leave();
    if (!there)
        explain(w, s, at, "the step was not reached");
    verdict v = watched(w, s, at, forever);
    if (at && plan_of(w)->refused) {
        expect_clean(w, s, at, &v, usual);
        fault_enter();
        world_forget(w);
        fault_leave();
        v = watched(w, s, 0, false);
    }
    fault_enter();
    v.digest = world_digest(w);
    world_close(w);
    fault_leave();
    if (usual)
        EXPECT(v.good == usual->good && v.digest == usual->digest,
               "the step gives something else after the failure");
    expect_nothing_left(w, s, at);
    expect_folders_clean(w);
    EXPECT(open_files() == files, "a descriptor is left open");
    tried++;
    return v;
}

/* `test_memory_failure PROGRAM [STEP [N]]` (a pass: its name) tries that alone; a debugger stops
 * in fault_first_refused. */
static const char *only_program, *only_step;
static size_t only_at;

/* How many of a step's requests are tried. */
static size_t few_of(const program *p, size_t calls)
{
    if (is_long || only_program)
        return p->most && !only_program ? p->most : calls;
    return p->is_large ? FEWER : FEW;
}

static void fail_in_turn(const program *p, const char *pass, const step *s, fault *f)
{
    if (only_program && strcmp(only_program, p->name) != 0)
        return;
    if (only_step && strcmp(only_step, pass ? pass : s->name) != 0)
        return;
    verdict usual = attempt(p, pass, s, f, 0, false, NULL);
    if (usual.good != (!s->is_verdict || usual.status == RELAX_OK))
        fail_msg("%s, %s: %s", p->name, s->name, usual.good ? "succeeded" : "failed");
    verdict again = attempt(p, pass, s, f, 0, false, &usual);
    if (again.calls != usual.calls &&
        s->act != step_profile) /* whose times are texts of different length */
        fail_msg("%s, %s: %zu requests, then %zu", p->name, pass ? pass : s->name, usual.calls,
                 again.calls);
    size_t few = few_of(p, usual.calls);
    size_t stride = usual.calls <= few ? 1 : (usual.calls + few - 1) / few;
    size_t close = few >= FEW ? 4 : 2; /* the first ones are tried one by one */
    for (size_t at = only_at ? only_at : 1; at <= (only_at ? only_at : usual.calls);
         at += at < close ? 1 : stride) {
        attempt(p, pass, s, f, at, false, &usual);
        attempt(p, pass, s, f, at, true, &usual);
        requests++;
    }
}

static void all_steps(fault *f)
{
    for (size_t i = 0; i < N(programs); i++) {
        const program *p = &programs[i];
        if (p->is_large && (!f || !FAULT_SEES_MALLOC) && !is_long &&
            !only_program) /* minutes under the sanitizers */
            continue;
        for (size_t k = 0; k < N(steps); k++)
            if (goes_with(p, &steps[k]) &&
                (f || steps[k].takes !=
                          SYSTEM)) /* what the C library says without memory is its own affair */
                fail_in_turn(p, NULL, &steps[k], f);
        static const step pass_step = { "pass", MODULE, IS_CHECKED, step_pass, true, HOST };
        const char *name;
        for (int32_t pass = 0; p->reach >= pass_step.from && (name = relax_pass_name(pass));
             pass++)
            fail_in_turn(p, name, &pass_step, f);
    }
}

static void host_refuses(void **state)
{
    (void)state;
    fault f;
    all_steps(&f);
}

static void malloc_refuses(void **state)
{
    (void)state;
    if (!FAULT_SEES_MALLOC)
        skip();
    all_steps(NULL);
}

int main(int argc, char **argv)
{
    is_long = getenv("RELAX_LONG") != NULL;
    only_program = argc > 1 ? argv[1] : NULL;
    only_step = argc > 2 ? argv[2] : NULL;
    only_at = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    const struct CMUnitTest tests[] = { cmocka_unit_test(host_refuses),
                                        cmocka_unit_test(malloc_refuses) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("%zu requests refused, %zu worlds\n", requests, tried);
    return failed;
}
