/* test_threads.c: two threads, each with a context of its own, a machine of its own over one
 * executable, and values that go between them; and sixteen that load, run and release one program at
 * the same time. Built with TSAN=1 it is the proof that nothing is shared in secret.
 */
#include "../fault/world.h"
#include "text_file.h"

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

/* ---- one program, many threads -------------------------------------------------------------- */

enum { THREADS = 16, TURNS = 25, SIDE = 24 };

/* What they have in common: an executable, its bytes, packed functions, a tensor that they read, and a
 * function value that a machine of another thread made. */
typedef struct common {
    relax_executable *exe;
    relax_bytes *file;
    relax_registry *registry;
    relax_tensor *x;
    relax_value closure;
    pthread_barrier_t start;
} common;

typedef struct sharer { common *of; int number; bool good; relax_value kept; } sharer;

static int give_back_argument(void *user, const relax_value *args, int32_t num_args,
                              relax_value *result)
{
    (void)user;
    (void)num_args;
    return relax_value_keep(&args[0], result) == RELAX_OK ? 0 : -1;
}

static bool first_element_is(const relax_value *v, float want)
{
    relax_tensor *t = relax_value_get_tensor(v);
    return t && relax_tensor_bytes(t) == SIDE * SIDE * 4 && *(float *)relax_tensor_data(t) == want;
}

/* Calls the function, which adds to x what it has captured, the sum of a row of x with itself. */
static bool call_closure(relax_vm *vm, const relax_value *f, const relax_value *x)
{
    relax_value sum = { 0 };
    bool good = relax_vm_call_value(vm, f, x, 1, &sum, NULL) == RELAX_OK &&
                first_element_is(&sum, 1 + 2 * SIDE);
    relax_value_release(&sum);
    return good;
}

/* Every other machine runs an executable of its own, loaded from the same bytes. A result is kept
 * beyond its machine, and the executable goes before the machine. */
static bool one_turn(sharer *t, int turn)
{
    const common *c = t->of;
    relax_executable *exe = NULL;
    relax_vm *vm = NULL;
    relax_vm_options options;
    relax_value x, f = { 0 };
    bool own = (t->number + turn) % 2;
    if (!own)
        exe = relax_executable_retain(c->exe);
    else if (relax_executable_load(relax_bytes_data(c->file), relax_bytes_size(c->file), NULL, &exe,
                                   NULL) != RELAX_OK)
        return false;
    relax_vm_options_init(&options, sizeof options);
    options.registry = c->registry;
    options.num_threads = t->number % 4 == 0 ? 2 : 1;
    bool good = relax_vm_create(exe, &options, &vm, NULL) == RELAX_OK;
    relax_executable_release(exe);
    relax_value_set_tensor(&x, c->x);
    good = good && relax_vm_call(vm, Z("main"), &x, 1, &f, NULL) == RELAX_OK && call_closure(vm, &f, &x);
    good = good && (own || call_closure(vm, &c->closure, &x));
    relax_value_release(&t->kept);
    t->kept = f;
    relax_value_release(&x);
    relax_vm_release(vm);
    return good;
}

static void *share(void *user)
{
    sharer *t = user;
    pthread_barrier_wait(&t->of->start);
    t->good = true;
    for (int i = 0; i < TURNS && t->good; i++)
        t->good = one_turn(t, i);
    relax_value_release(&t->kept);
    return NULL;
}

static void make_common(common *c)
{
    int64_t shape[] = { SIDE, SIDE };
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("a closure of its argument")));
    relax_vm_options options;
    relax_vm *vm = NULL;
    relax_value x;
    assert_non_null(m);
    assert_non_null(c->exe = relax_module_compile(ctx, m, NULL));
    relax_context_release(ctx);
    assert_int_equal(relax_executable_serialize(c->exe, &c->file, NULL), RELAX_OK);
    assert_int_equal(relax_registry_create(NULL, &c->registry, NULL), RELAX_OK);
    assert_int_equal(relax_registry_register(c->registry, Z("host.same"), give_back_argument, NULL,
                                             NULL, NULL),
                     RELAX_OK);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, shape, 2, NULL, &c->x, NULL), RELAX_OK);
    for (int i = 0; i < SIDE * SIDE; i++)
        ((float *)relax_tensor_data(c->x))[i] = 1;
    relax_vm_options_init(&options, sizeof options);
    options.registry = c->registry;
    assert_int_equal(relax_vm_create(c->exe, &options, &vm, NULL), RELAX_OK);
    relax_value_set_tensor(&x, c->x);
    assert_int_equal(relax_vm_call(vm, Z("main"), &x, 1, &c->closure, NULL), RELAX_OK);
    relax_value_release(&x);
    relax_vm_release(vm);
}

static void sixteen_threads(void **state)
{
    static common c;
    sharer t[THREADS];
    pthread_t threads[THREADS];
    (void)state;
    make_common(&c);
    pthread_barrier_init(&c.start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        t[i] = (sharer){ .of = &c, .number = i };
        assert_int_equal(pthread_create(&threads[i], NULL, share, &t[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    relax_value_release(&c.closure);
    relax_executable_release(c.exe);
    relax_bytes_release(c.file);
    relax_registry_release(c.registry);
    relax_tensor_release(c.x);
    pthread_barrier_destroy(&c.start);
    for (int i = 0; i < THREADS; i++)
        assert_true(t[i].good);
}

/* ---- results that others let go of ---------------------------------------------------------- */

enum { TALL = 256, WIDE = 512, ANSWERS = 300, MOST_WAITING = 4 };

static relax_vm *make_doubler(uint64_t max_memory, relax_value *x)
{
    const int64_t shape[] = { TALL, WIDE };
    relax_vm_options options;
    relax_vm *vm = NULL;
    relax_tensor *t = NULL;
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("twice the argument")));
    relax_executable *exe = m ? relax_module_compile(ctx, m, NULL) : NULL;
    assert_non_null(exe);
    relax_context_release(ctx);
    relax_vm_options_init(&options, sizeof options);
    options.max_memory = max_memory;
    assert_int_equal(relax_vm_create(exe, &options, &vm, NULL), RELAX_OK);
    relax_executable_release(exe);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, shape, 2, NULL, &t, NULL), RELAX_OK);
    for (int i = 0; i < TALL * WIDE; i++)
        ((float *)relax_tensor_data(t))[i] = (float)i;
    relax_value_set_tensor(x, t);
    relax_tensor_release(t);
    return vm;
}

static relax_value twice(relax_vm *vm, const relax_value *x)
{
    relax_value y = { 0 };
    assert_int_equal(relax_vm_call(vm, Z("main"), x, 1, &y, NULL), RELAX_OK);
    assert_true(((const float *)relax_tensor_data(relax_value_get_tensor(&y)))[TALL * WIDE - 1] == 2 * (TALL * WIDE - 1));
    return y;
}

static const void *data_of(const relax_value *v) { return relax_tensor_data(relax_value_get_tensor(v)); }

static uint64_t total_bytes(relax_vm *vm)
{
    relax_vm_counters c = { .struct_size = sizeof c };
    assert_int_equal(relax_vm_get_counters(vm, &c), RELAX_OK);
    return c.total_bytes;
}

/* The memory of a result that was let go of is that of the next one; who has set a limit gets it back at once. */
static void results_come_back(void **state)
{
    relax_value x, first, second, third;
    relax_vm *vm = make_doubler(0, &x);
    (void)state;
    first = twice(vm, &x);
    const void *was = data_of(&first);
    const uint64_t most = total_bytes(vm);
    relax_value_release(&first);
    second = twice(vm, &x);
    assert_ptr_equal(data_of(&second), was);
    assert_true(total_bytes(vm) <= most + 4096);
    third = twice(vm, &x);
    assert_ptr_not_equal(data_of(&third), was);
    relax_value_release(&third);
    relax_vm_release(vm);
    relax_value_release(&second);
    relax_value_release(&x);
    vm = make_doubler((uint64_t)64 << 20, &x);
    first = twice(vm, &x);
    const uint64_t with = total_bytes(vm);
    relax_value_release(&first);
    assert_true(total_bytes(vm) + TALL * WIDE * sizeof(float) <= with);
    relax_value_release(&x);
    relax_vm_release(vm);
}

typedef struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    relax_value at[MOST_WAITING];
    int count;
    bool ends;
} waiting;

static void *release_all(void *user)
{
    waiting *w = user;
    for (bool goes_on = true; goes_on;) {
        relax_value mine[MOST_WAITING];
        pthread_mutex_lock(&w->lock);
        while (!w->count && !w->ends)
            pthread_cond_wait(&w->changed, &w->lock);
        int n = w->count;
        memcpy(mine, w->at, sizeof mine);
        w->count = 0;
        goes_on = !w->ends;
        pthread_cond_signal(&w->changed);
        pthread_mutex_unlock(&w->lock);
        for (int i = 0; i < n; i++)
            relax_value_release(&mine[i]);
    }
    return NULL;
}

/* Another thread lets go of them while the machine goes on, and while it goes. */
static void results_come_back_from_elsewhere(void **state)
{
    static waiting w;
    pthread_t other;
    relax_value x;
    relax_vm *vm = make_doubler(0, &x);
    (void)state;
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    assert_int_equal(pthread_create(&other, NULL, release_all, &w), 0);
    for (int i = 0; i < ANSWERS; i++) {
        relax_value y = twice(vm, &x);
        pthread_mutex_lock(&w.lock);
        while (w.count == MOST_WAITING)
            pthread_cond_wait(&w.changed, &w.lock);
        w.at[w.count++] = y;
        w.ends = i + 1 == ANSWERS;
        pthread_cond_signal(&w.changed);
        pthread_mutex_unlock(&w.lock);
        if (i % 10 == 9) { /* a new one, while results of this one are let go of */
            relax_value_release(&x);
            relax_vm_release(vm);
            vm = make_doubler(0, &x);
        }
    }
    relax_vm_release(vm);
    relax_value_release(&x);
    pthread_join(other, NULL);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(two_threads),
                                        cmocka_unit_test(sixteen_threads),
                                        cmocka_unit_test(results_come_back),
                                        cmocka_unit_test(results_come_back_from_elsewhere) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
