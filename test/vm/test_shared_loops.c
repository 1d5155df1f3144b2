/* test_shared_loops.c: kernels whose loops are shared out to threads: of the VM, or of a host. Results and failures do not depend on
 * how many; nothing is left behind. */
#include "../codegen/program.h"
#include "text_file.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const size_t counts[] = { 1, 2, 3, 7 };
#define EACH_COUNT(n) for (size_t at_ = 0, n; at_ < sizeof counts / sizeof *counts && (n = counts[at_], true); at_++)

/* ---- pieces --------------------------------------------------------------------------------- */

static int num_threads_now(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    if (!d)
        return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

typedef struct setup { size_t threads, max_memory; relax_parallel_for_fn parallel_for; void *user; } setup;

static void open_vm(program *p, const setup *s)
{
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    assert_int_equal(o.num_threads, 1);
    o.num_threads = s->threads;
    o.max_memory = s->max_memory;
    o.parallel_for = s->parallel_for;
    o.parallel_user = s->user;
    relax_vm_release(p->vm);
    p->vm = NULL;
    assert_int_equal(relax_vm_create(p->exe, &o, &p->vm, NULL), RELAX_OK);
}

static void add_floats(program *p, int32_t ndim, const int64_t *shape)
{
    size_t n = 1;
    for (int32_t d = 0; d < ndim; d++)
        n *= (size_t)shape[d];
    float *data = malloc(n * sizeof *data + 1);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++)
        data[i] = (float)((i * 2654435761u >> 7) % 2001) / 1000.0f - 1.0f;
    program_tensor(p, RELAX_FLOAT32, shape, ndim, data);
    free(data);
}

static void add_layers_args(program *p)
{
    const int64_t shape[] = { 256, 256 };
    add_floats(p, 2, shape);
    add_floats(p, 2, shape);
}

static void add_convolution_args(program *p)
{
    add_floats(p, 4, (const int64_t[]){ 2, 8, 40, 40 });
    add_floats(p, 4, (const int64_t[]){ 24, 8, 3, 3 });
}

/* Of the loops over groups it is the inner ones that are shared, and the depthwise convolution overwrites what it reads. */
static void add_groups_args(program *p)
{
    add_floats(p, 4, (const int64_t[]){ 1, 120, 28, 28 });
    add_floats(p, 4, (const int64_t[]){ 120, 40, 1, 1 });
    add_floats(p, 4, (const int64_t[]){ 120, 1, 3, 3 });
}

/* Rows 1000 and 3000 are out of range where there are `bad` ones. */
static void add_rows_args(program *p, int bad)
{
    const int64_t table[] = { 100, 64 }, n = 4096;
    static int64_t at[4096];
    for (int64_t i = 0; i < n; i++)
        at[i] = i * 7 % 100;
    if (bad)
        at[1000] = 111, at[3000] = 333;
    add_floats(p, 2, table);
    program_tensor(p, RELAX_INT64, &n, 1, at);
}

static void add_good_rows(program *p) { add_rows_args(p, 0); }

static uint64_t digest(const program *p)
{
    const relax_tensor *t = relax_value_get_tensor(&p->result);
    const unsigned char *data = relax_tensor_data(t);
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < relax_tensor_bytes(t); i++)
        h = (h ^ data[i]) * 1099511628211u;
    return h;
}

static void end(program *p)
{
    relax_value_release(&p->result);
    relax_error_release(p->err);
    relax_vm_release(p->vm);
    relax_executable_release(p->exe);
    relax_context_release(p->ctx);
}

static const struct { const char *name; void (*add_args)(program *p); int opt_level; } programs[] = {
    { "layers", add_layers_args, 1 },
    { "convolution", add_convolution_args, 1 },
    { "groups of three", add_groups_args, 2 },
    { "rows of a table", add_good_rows, 1 },
};
#define EACH_PROGRAM(i) for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)

static program build_at(const char *name, int opt_level)
{
    program p = { .opt_level = opt_level };
    program_build(&p, PROGRAM(name));
    return p;
}

static program build(const char *name) { return build_at(name, 1); }

/* ---- results -------------------------------------------------------------------------------- */

static void same_bits_for_any_number(void **state)
{
    EACH_PROGRAM(i) {
        program p = build_at(programs[i].name, programs[i].opt_level);
        uint64_t want = 0;
        EACH_COUNT(n) {
            open_vm(&p, &(setup){ .threads = n });
            for (int round = 0; round < 3; round++) {
                programs[i].add_args(&p);
                program_ok(&p, "main");
                want = n == 1 ? digest(&p) : want;
                assert_true(digest(&p) == want);
            }
        }
        end(&p);
    }
}

/* ---- a host's threads ----------------------------------------------------------------------- */

typedef struct task { void (*run)(void *data, size_t index); void *data; size_t index; } task;

static void *run_task(void *user)
{
    const task *t = user;
    t->run(t->data, t->index);
    return NULL;
}

/* The last one first, each on a thread of its own. */
static void host_parallel_for(void *user, void (*run)(void *data, size_t index), void *data, size_t count)
{
    pthread_t threads[16];
    task tasks[16];
    assert_true(count > 1 && count <= 7);
    ++*(int *)user;
    for (size_t i = count; i-- > 0;) {
        tasks[i] = (task){ run, data, i };
        assert_int_equal(pthread_create(&threads[i], NULL, run_task, &tasks[i]), 0);
    }
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void in_order(void *user, void (*run)(void *data, size_t index), void *data, size_t count)
{
    ++*(int *)user;
    for (size_t i = 0; i < count; i++)
        run(data, i);
}

static void a_host_lends_its_threads(void **state)
{
    const relax_parallel_for_fn ways[] = { host_parallel_for, in_order };
    EACH_PROGRAM(i) {
        program p = build_at(programs[i].name, programs[i].opt_level);
        programs[i].add_args(&p);
        open_vm(&p, &(setup){ .threads = 1 });
        program_ok(&p, "main");
        uint64_t want = digest(&p);
        for (int way = 0; way < 2; way++) {
            int calls = 0;
            open_vm(&p, &(setup){ .threads = 7, .parallel_for = ways[way], .user = &calls });
            programs[i].add_args(&p);
            program_ok(&p, "main");
            assert_true(digest(&p) == want);
            assert_true(calls > 0);
        }
        end(&p);
    }
}

/* ---- several machines ----------------------------------------------------------------------- */

typedef struct machine { relax_executable *exe; const program *args; uint64_t want; bool good; } machine;

static void *run_machine(void *user)
{
    machine *m = user;
    program p = { .exe = m->exe };
    m->good = true;
    open_vm(&p, &(setup){ .threads = 2 });
    for (int round = 0; round < 5; round++) {
        relax_value_release(&p.result);
        m->good &= relax_vm_call(p.vm, "main", 4, m->args->args, m->args->num_args, &p.result, NULL) == RELAX_OK &&
                   digest(&p) == m->want;
    }
    relax_value_release(&p.result);
    relax_vm_release(p.vm);
    return NULL;
}

/* 16 of them, in threads of the host, each with two of its own; one executable, the same arguments. */
static void machines_do_not_meet(void **state)
{
    enum { MACHINES = 16 };
    program p = build("layers");
    pthread_t threads[MACHINES];
    machine machines[MACHINES];
    open_vm(&p, &(setup){ .threads = 1 });
    add_layers_args(&p);
    program_ok(&p, "main");
    add_layers_args(&p);
    for (int i = 0; i < MACHINES; i++) {
        machines[i] = (machine){ p.exe, &p, digest(&p), false };
        assert_int_equal(pthread_create(&threads[i], NULL, run_machine, &machines[i]), 0);
    }
    for (int i = 0; i < MACHINES; i++) {
        pthread_join(threads[i], NULL);
        assert_true(machines[i].good);
    }
    while (p.num_args)
        relax_value_release(&p.args[--p.num_args]);
    end(&p);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void the_first_failing_row_is_named(void **state)
{
    program p = build("rows of a table");
    EACH_COUNT(n) {
        open_vm(&p, &(setup){ .threads = n });
        for (int round = 0; round < 20; round++) {
            add_rows_args(&p, 1);
            program_fails(&p, "main", "RT09", "", "111");
        }
        add_rows_args(&p, 0);
        program_ok(&p, "main");
    }
    end(&p);
}

/* An estimate of the work must not fail where the loop would not have. */
static void what_never_runs_never_fails(void **state)
{
    program p = build("a size that cannot be computed");
    EACH_COUNT(n) {
        open_vm(&p, &(setup){ .threads = n });
        add_floats(&p, 1, (const int64_t[]){ 0 });
        add_floats(&p, 1, (const int64_t[]){ 0 });
        program_ok(&p, "main");
        add_floats(&p, 1, (const int64_t[]){ 20 });
        add_floats(&p, 1, (const int64_t[]){ 0 });
        program_fails(&p, "main", "RT14", "", NULL);
        add_floats(&p, 1, (const int64_t[]){ 20 });
        add_floats(&p, 1, (const int64_t[]){ 1000 });
        program_ok(&p, "main");
    }
    end(&p);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct canceller { volatile int32_t flag; double at; } canceller;

static void *cancel_soon(void *user)
{
    canceller *c = user;
#ifdef __SANITIZE_THREAD__
    return NULL; /* the flag is volatile, not atomic: there the limit of time ends it */
#endif
    nanosleep(&(struct timespec){ 0, 30000000 }, NULL);
    c->at = seconds();
    c->flag = 1;
    return NULL;
}

static void ends_when_cancelled(void **state)
{
    program p = build("a long one");
    const int64_t shape[] = { 4096, 4096 };
    EACH_COUNT(n) {
        canceller c = { 0, 0 };
        pthread_t thread;
        open_vm(&p, &(setup){ .threads = n });
        relax_vm_set_cancel_flag(p.vm, &c.flag);
        relax_vm_set_timeout(p.vm, 2000000000);
        add_floats(&p, 2, shape);
        assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &c), 0);
        program_fails(&p, "main", "RT12", "", NULL);
        pthread_join(thread, NULL);
        /* 50 ms, and room for a machine that does something else as well */
        assert_true(c.at == 0 || seconds() - c.at < 1.0);
        relax_vm_set_cancel_flag(p.vm, NULL);
        relax_vm_set_timeout(p.vm, 20000000);
        add_floats(&p, 2, shape);
        program_fails(&p, "main", "RT12", "", NULL);
    }
    end(&p);
}

/* Whatever memory there is: it is enough, or there is none. */
static void memory_limits_hold(void **state)
{
    program p = build("layers");
    uint64_t want = 0;
    for (size_t limit = 0; limit < 8000000; limit = limit ? limit * 5 / 4 : 20000)
        EACH_COUNT(n) {
            relax_vm_counters c = { .struct_size = sizeof c };
            open_vm(&p, &(setup){ .threads = n, .max_memory = limit });
            add_layers_args(&p);
            relax_status s = program_call(&p, "main");
            assert_true(s == RELAX_OK || (limit && strcmp(relax_error_code(p.err), "RT10") == 0));
            relax_vm_get_counters(p.vm, &c);
            assert_true(!limit || c.total_bytes <= limit);
            if (s == RELAX_OK) {
                want = want ? want : digest(&p);
                assert_true(digest(&p) == want);
            }
        }
    end(&p);
}

/* ---- what is left behind -------------------------------------------------------------------- */

static void threads_end_with_their_vm(void **state)
{
    const int before = num_threads_now();
    program p = build("layers");
    open_vm(&p, &(setup){ .threads = 4 });
    assert_int_equal(num_threads_now(), before); /* started when they are needed */
    add_layers_args(&p);
    program_ok(&p, "main");
    assert_true(num_threads_now() > before && num_threads_now() <= before + 3);
    open_vm(&p, &(setup){ .threads = 1 });
    /* a thread that has been joined may be listed for a moment */
    for (int i = 0; i < 1000 && num_threads_now() != before; i++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    assert_int_equal(num_threads_now(), before);
    end(&p);
}

static void a_child_starts_its_own(void **state)
{
#ifdef __SANITIZE_THREAD__
    skip(); /* it does not follow threads into a child process */
#endif
    program p = build("layers");
    open_vm(&p, &(setup){ .threads = 3 });
    add_layers_args(&p);
    program_ok(&p, "main");
    uint64_t want = digest(&p);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool good = num_threads_now() == 1;
        for (int i = 0; i < 2 && good; i++) {
            add_layers_args(&p);
            good = program_call(&p, "main") == RELAX_OK && digest(&p) == want;
        }
        good = good && num_threads_now() > 1;
        relax_vm_release(p.vm);
        _exit(good ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    child = fork();
    if (child == 0) { /* which never computes */
        relax_vm_release(p.vm);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    add_layers_args(&p);
    program_ok(&p, "main");
    assert_true(digest(&p) == want);
    end(&p);
}

static void more_than_256_are_refused(void **state)
{
    program p = build("layers");
    relax_vm_options o;
    relax_vm *vm = NULL;
    relax_vm_options_init(&o, sizeof o);
    o.num_threads = 257;
    assert_int_equal(relax_vm_create(p.exe, &o, &vm, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(vm);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_for_any_number),    cmocka_unit_test(a_host_lends_its_threads),
        cmocka_unit_test(what_never_runs_never_fails),
        cmocka_unit_test(machines_do_not_meet),        cmocka_unit_test(the_first_failing_row_is_named), cmocka_unit_test(ends_when_cancelled),
        cmocka_unit_test(memory_limits_hold),          cmocka_unit_test(threads_end_with_their_vm),
        cmocka_unit_test(a_child_starts_its_own),      cmocka_unit_test(more_than_256_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
