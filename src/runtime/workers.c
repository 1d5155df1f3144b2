/* workers.c: a few threads that wait for something to do. Each has a state of its own: who calls sets it to CALLED; the thread
 * takes the call (RUNNING), or the caller takes it back when everything has been done before the thread woke up. */
/* built for size */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "runtime/workers.h"

#define SPINS 1024                      /* looks between calls of the VM before going to sleep: some 20 us */
#define BUSY_SPINS (16 * SPINS)         /* looks in all: while a call is under way the next loop is probably near */
#define END_SPINS (4 * SPINS)           /* of the caller: whom it waits for may want its core on a busy machine */
#define STACK_BYTES ((size_t)1 << 20)
#define LINE 128                        /* bytes that cores hand to each other: lines come in pairs */

enum { IDLE, CALLED, RUNNING };

/* A thread looks at its own state alone while it waits, and at what all read. */
typedef struct worker {
    _Alignas(LINE) _Atomic int state;
    _Atomic bool sleeps;                /* written under the lock */
    rlx_workers *all;
    size_t slot;
    pthread_t thread;
    pthread_cond_t wake;
} worker;

struct rlx_workers {
    rlx_memory *memory;
    size_t threads, started;            /* started: without the caller's */
    relax_parallel_for_fn parallel_for;
    void *user;
    pid_t process;                      /* that they were started in */
    pthread_mutex_t lock;               /* for those that sleep alone */
    pthread_cond_t done;
    bool ends;                          /* under the lock */
    _Alignas(LINE) rlx_worker_fn *fn;   /* of the call under way */
    void *fn_user;
    int caller;                         /* the processor that it came from */
    _Atomic bool busy;                  /* a call of the VM is under way */
    _Alignas(LINE) _Atomic size_t left; /* calls that have not ended */
    _Atomic bool waits;                 /* the caller sleeps until they have; written under the lock */
    worker at[];                        /* threads - 1 */
};

static size_t bytes_of(size_t threads)
{
    return sizeof(rlx_workers) + (threads - 1) * sizeof(worker);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Waits for a call. False: there are no more. */
static bool await_call(worker *me)
{
    rlx_workers *w = me->all;
    for (int i = 0, idle = 0; i < BUSY_SPINS && idle < SPINS; i++) {
        idle = atomic_load_explicit(&w->busy, memory_order_relaxed) ? 0 : idle + 1;
        if (atomic_load_explicit(&me->state, memory_order_acquire) == CALLED)
            return true;
        RLX_CPU_RELAX();
    }
    pthread_mutex_lock(&w->lock);
    atomic_store(&me->sleeps, true);
    while (!w->ends && atomic_load(&me->state) != CALLED)
        pthread_cond_wait(&me->wake, &w->lock);
    atomic_store_explicit(&me->sleeps, false, memory_order_relaxed);
    bool goes_on = !w->ends;
    pthread_mutex_unlock(&w->lock);
    return goes_on;
}

/* The last one wakes the caller if that sleeps: it says so before it looks at `left`. */
static void end_call(rlx_workers *w)
{
    if (atomic_fetch_sub(&w->left, 1) != 1 || !atomic_load(&w->waits))
        return;
    pthread_mutex_lock(&w->lock);
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->lock);
}

/* The processors that a thread was given, and those that it has kept of them. */
typedef struct processors { cpu_set_t given, kept; } processors;

/* Who is woken up may be put on the processor of who woke it up, in front of it, though others are idle; and both may stay there from
 * call to call. So it goes away, to any other of those that it was given. */
static void leave_caller(processors *p, int caller)
{
    cpu_set_t now;
    if (caller < 0 || caller >= CPU_SETSIZE || sched_getcpu() != caller || sched_getaffinity(0, sizeof now, &now))
        return;
    if (!CPU_EQUAL(&now, &p->kept)) /* somebody else has given it these */
        p->given = now;
    p->kept = p->given;
    CPU_CLR(caller, &p->kept);
    if (sched_setaffinity(0, sizeof p->kept, &p->kept)) /* there is no other */
        p->kept = now;
}

static void *serve(void *user)
{
    worker *me = user;
    processors mine;
    CPU_ZERO(&mine.kept);
    (void)rlx_float_enter();
    while (await_call(me)) {
        int called = CALLED;
        if (!atomic_compare_exchange_strong_explicit(&me->state, &called, RUNNING,
                                                     memory_order_acq_rel, memory_order_relaxed))
            continue; /* taken back */
        leave_caller(&mine, me->all->caller);
        me->all->fn(me->all->fn_user, me->slot);
        atomic_store_explicit(&me->state, IDLE, memory_order_release);
        end_call(me->all);
    }
    return NULL;
}

/* Signals are for the threads of the host. */
static bool start_thread(rlx_workers *w, worker *me)
{
    pthread_attr_t how;
    sigset_t all, before;
    if (pthread_cond_init(&me->wake, NULL))
        return false;
    if (pthread_attr_init(&how)) {
        pthread_cond_destroy(&me->wake);
        return false;
    }
    (void)pthread_attr_setstacksize(&how, STACK_BYTES);
    me->all = w;
    me->slot = (size_t)(me - w->at) + 1;
    atomic_store_explicit(&me->sleeps, false, memory_order_relaxed);
    atomic_store_explicit(&me->state, IDLE, memory_order_relaxed);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&me->thread, &how, serve, me) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&how);
    if (!ok)
        pthread_cond_destroy(&me->wake);
    return ok;
}

static bool make_locks(rlx_workers *w)
{
    if (pthread_mutex_init(&w->lock, NULL))
        return false;
    if (!pthread_cond_init(&w->done, NULL))
        return true;
    pthread_mutex_destroy(&w->lock);
    return false;
}

/* At most `wanted` threads beside the caller's. In a child process there are none of those that the parent has started, and what
 * they waited on is made anew. */
static size_t start_threads(rlx_workers *w, size_t wanted)
{
    pid_t here = getpid();
    if (w->process != here) {
        w->started = 0;
        if (!make_locks(w))
            return 0;
        w->process = here;
    }
    while (w->started < wanted && start_thread(w, &w->at[w->started]))
        w->started++;
    return w->started < wanted ? w->started : wanted;
}

static void end_threads(rlx_workers *w)
{
    if (w->process != getpid())
        return; /* of the parent process, or there never were any */
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    for (size_t i = 0; i < w->started; i++)
        pthread_cond_signal(&w->at[i].wake);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->started; i++) {
        pthread_join(w->at[i].thread, NULL);
        pthread_cond_destroy(&w->at[i].wake);
    }
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void call_threads(rlx_workers *w, size_t count, rlx_worker_fn *fn, void *user)
{
    w->fn = fn;
    w->fn_user = user;
    w->caller = sched_getcpu();
    atomic_store_explicit(&w->left, count, memory_order_relaxed);
    for (size_t i = 0; i < count; i++) {
        atomic_store(&w->at[i].state, CALLED); /* a thread says that it sleeps before it looks at that */
        if (!atomic_load(&w->at[i].sleeps))
            continue;
        pthread_mutex_lock(&w->lock);
        pthread_cond_signal(&w->at[i].wake);
        pthread_mutex_unlock(&w->lock);
    }
}

/* The caller has found nothing left to do: who has not begun need not. */
static void await_threads(rlx_workers *w, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int called = atomic_load_explicit(&w->at[i].state, memory_order_relaxed); /* mostly it runs, and keeps the line */
        if (called == CALLED && atomic_compare_exchange_strong_explicit(&w->at[i].state, &called, IDLE, memory_order_acq_rel, memory_order_relaxed))
            atomic_fetch_sub_explicit(&w->left, 1, memory_order_acq_rel);
    }
    for (int i = 0; i < END_SPINS; i++) {
        if (!atomic_load_explicit(&w->left, memory_order_acquire))
            return;
        RLX_CPU_RELAX();
    }
    pthread_mutex_lock(&w->lock);
    atomic_store(&w->waits, true);
    while (atomic_load(&w->left))
        pthread_cond_wait(&w->done, &w->lock);
    atomic_store_explicit(&w->waits, false, memory_order_relaxed);
    pthread_mutex_unlock(&w->lock);
}

typedef struct lent { rlx_worker_fn *fn; void *user; } lent;

static void run_lent(void *user, size_t slot)
{
    const lent *l = user;
    rlx_float_env host = rlx_float_enter();
    l->fn(l->user, slot);
    rlx_float_leave(host);
}

void rlx_workers_run(rlx_workers *w, size_t slots, rlx_worker_fn *fn, void *user)
{
    if (w->parallel_for) {
        lent l = { fn, user };
        w->parallel_for(w->user, run_lent, &l, slots);
        return;
    }
    size_t count = slots > 1 ? start_threads(w, slots - 1) : 0;
    if (count)
        call_threads(w, count, fn, user);
    fn(user, 0);
    if (count)
        await_threads(w, count);
}

void rlx_workers_expect(rlx_workers *w, bool work)
{
    atomic_store_explicit(&w->busy, work, memory_order_relaxed);
}

size_t rlx_workers_count(const rlx_workers *w)
{
    return w ? w->threads : 1;
}

size_t rlx_workers_awake(const rlx_workers *w)
{
    size_t n = 0;
    while (n < w->started && !atomic_load_explicit(&w->at[n].sleeps, memory_order_relaxed))
        n++;
    return w->parallel_for ? w->threads : n + 1;
}

rlx_workers *rlx_workers_make(rlx_memory *m, size_t threads, relax_parallel_for_fn parallel_for, void *user)
{
    size_t bytes = bytes_of(threads);
    rlx_workers *w = rlx_mem_alloc_aligned(m, bytes, LINE);
    if (!w)
        return NULL;
    memset(w, 0, bytes);
    w->memory = m;
    w->threads = threads;
    w->parallel_for = parallel_for;
    w->user = user;
    return w;
}

void rlx_workers_free(rlx_workers *w)
{
    if (!w)
        return;
    if (w->process)
        end_threads(w);
    rlx_mem_free_aligned(w->memory, w, bytes_of(w->threads), LINE);
}
