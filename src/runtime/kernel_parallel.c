/* kernel_parallel.c: loops whose iterations run on several threads, in parts that follow each other. Each thread has registers,
 * views and temporaries of its own, made from those in front of the loop. It begins with parts that are next to each other,
 * in a chain of loops always with the same ones, whose memory is near by then; when it has no more it takes what others have not
 * begun. Whatever comes before a part that fails is done, too: so the failure of lowest index is known. */
/* built for size */
#include <stdatomic.h>

#include "runtime/kernel_int.h"
#include "runtime/workers.h"

#define PARTS_PER_THREAD 4   /* some are done sooner than others */
#define LEAST_PART RLX_KERNEL_LEAST_WAKING /* picoseconds: what begins and ends with each part costs more in smaller ones */

typedef struct sharing {
    const rlx_kernel_run *run;
    const rlx_kernel_loop *loop;
    size_t slots, handed;        /* handed: bytes of registers that a thread gets */
    int64_t units, parts;        /* of `grain` iterations each; of units */
    _Atomic int64_t failed;      /* the first part that has; `parts`: none */
} sharing;

/* What one thread works with. */
typedef struct rlx_kernel_helper {
    rlx_kernel_env env;
    const sharing *at_work;
    _Atomic int64_t next;        /* of its parts, that nobody has begun */
    int64_t end;
    int64_t part;                /* at hand */
    int64_t failed;              /* the first part of those it did that has; `parts`: none */
    rlx_fault why, first;        /* of the part at hand, of that one */
} helper;

/* ---- one thread ----------------------------------------------------------------------------- */

static bool is_in_vain(const sharing *s, int64_t part)
{
    return atomic_load_explicit(&s->failed, memory_order_relaxed) < part;
}

/* What comes behind a failure is in vain. */
static int poll_helper(void *user)
{
    const helper *h = user;
    const rlx_kernel_env *env = h->at_work->run->env;
    return is_in_vain(h->at_work, h->part) || (env->poll && env->poll(env->poll_user));
}

static void note_failure(sharing *s, helper *h)
{
    int64_t first = atomic_load_explicit(&s->failed, memory_order_relaxed);
    while (h->part < first && !atomic_compare_exchange_weak_explicit(
                                  &s->failed, &first, h->part, memory_order_relaxed, memory_order_relaxed))
        ;
    if (h->part < h->failed) {
        h->failed = h->part;
        h->first = h->why;
    }
}

/* Memory that is allocated in the loop is each thread's own. */
static void copy_views(const sharing *s, rlx_kernel_view *views)
{
    const rlx_kernel *k = s->run->k;
    memcpy(views, s->run->views, k->num_buffers * sizeof *views);
    for (uint32_t b = 0; b < k->num_buffers; b++)
        if (k->buffers[b].allocated && k->buffers[b].region >= s->loop->region &&
            k->buffers[b].region < s->loop->end)
            views[b] = (rlx_kernel_view){ NULL, 0, NULL };
}

/* Iterations in front of a part. The parts that have one unit more lie between the others: so each thread begins with as many. */
static int64_t part_begin(const sharing *s, int64_t part)
{
    int64_t each = s->units / s->parts, more = s->units % s->parts;
    return part < s->parts ? (part * each + part * more / s->parts) * s->loop->grain : s->loop->extent;
}

static void do_part(sharing *s, rlx_kernel_run *r, helper *h)
{
    int64_t begin = part_begin(s, h->part), end = part_begin(s, h->part + 1);
    if (!s->loop->part(r, s->loop, s->loop->min + begin, end - begin))
        note_failure(s, h);
}

/* Its own parts, then those of the others, in their order. */
static void work(void *user, size_t slot)
{
    sharing *s = user;
    const rlx_kernel *k = s->run->k;
    helper *all = s->run->env->helpers, *h = &all[slot];
    rlx_kernel_run r = { .k = k,
                         .env = &h->env,
                         .frame = h->env.frame,
                         .views = h->env.views,
                         .why = &h->why,
                         .micro = s->run->micro,
                         .shared = true };
    memcpy(r.frame, s->run->frame, s->handed);
    copy_views(s, r.views);
    for (size_t i = 0; i < s->slots; i++) {
        helper *of = &all[(slot + i) % s->slots];
        while ((h->part = atomic_fetch_add_explicit(&of->next, 1, memory_order_relaxed)) < of->end &&
               !is_in_vain(s, h->part))
            do_part(s, &r, h);
    }
}

/* ---- all of them ---------------------------------------------------------------------------- */

static bool make_helpers(rlx_kernel_env *env)
{
    size_t n = rlx_workers_count(env->workers);
    if (!env->helpers)
        env->helpers = rlx_mem_alloc_zero(env->memory, n * sizeof *env->helpers);
    for (size_t i = 0; env->helpers && i < n && !env->helpers[i].env.memory; i++) {
        rlx_kernel_env_init(&env->helpers[i].env, env->memory);
        env->helpers[i].env.poll = poll_helper;
        env->helpers[i].env.poll_user = &env->helpers[i];
    }
    return env->helpers != NULL;
}

void rlx_kernel_free_helpers(rlx_kernel_env *env)
{
    size_t n = rlx_workers_count(env->workers);
    for (size_t i = 0; env->helpers && i < n; i++)
        rlx_kernel_env_free(&env->helpers[i].env);
    rlx_mem_free(env->memory, env->helpers, env->helpers ? n * sizeof *env->helpers : 0);
    env->helpers = NULL;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t num_units(const rlx_kernel_loop *loop)
{
    return (loop->extent - 1) / loop->grain + 1;
}

/* Threads that the work is worth: those that are awake need less of it. */
static int64_t wanted_threads(const rlx_kernel_env *env, int64_t work)
{
    int64_t woken = least((int64_t)rlx_workers_count(env->workers), work / env->least_waking);
    int64_t awake = least((int64_t)rlx_workers_awake(env->workers), work / env->least_work);
    return awake > woken ? awake : woken;
}

bool rlx_kernel_is_shared(const rlx_kernel_run *r, const rlx_kernel_loop *loop)
{
    int64_t end;
    return r->env->workers && !r->shared && num_units(loop) > 1 && wanted_threads(r->env, loop->work) > 1 &&
           rlx_add_i64(loop->min, loop->extent, &end);
}

/* As many helpers as the work is worth and memory is there for. */
static size_t ready_helpers(const rlx_kernel_run *r, const rlx_kernel_loop *loop)
{
    int64_t wanted = wanted_threads(r->env, loop->work);
    size_t n = 0;
    if (!make_helpers(r->env))
        return 0;
    for (; (int64_t)n < least(wanted, num_units(loop)); n++) {
        helper *h = &r->env->helpers[n];
        h->env.micro = r->micro;
        if (!rlx_kernel_env_grow(r->k, &h->env, NULL))
            break;
    }
    return n;
}

bool rlx_kernel_share(rlx_kernel_run *r, const rlx_kernel_loop *loop, bool *done)
{
    sharing s = { .run = r, .loop = loop, .units = num_units(loop) };
    size_t slots = ready_helpers(r, loop);
    *done = slots > 1;
    if (!*done)
        return true;
    s.handed = r->k->code[loop->region - 1] & RLX_KERNEL_UNSTORED ? r->k->frame_size : r->k->cells;
    int64_t each = loop->work / LEAST_PART / (int64_t)slots;
    s.parts = least(s.units, (int64_t)slots * (each < 1 ? 1 : least(each, PARTS_PER_THREAD)));
    s.slots = slots;
    atomic_init(&s.failed, s.parts);
    for (size_t i = 0; i < slots; i++) {
        helper *h = &r->env->helpers[i];
        h->at_work = &s;
        h->failed = s.parts;
        h->end = s.parts * (int64_t)(i + 1) / (int64_t)slots;
        atomic_store_explicit(&h->next, s.parts * (int64_t)i / (int64_t)slots, memory_order_relaxed);
    }
    rlx_workers_run(r->env->workers, slots, work, &s);
    int64_t failed = atomic_load_explicit(&s.failed, memory_order_relaxed);
    for (size_t i = 0; i < slots && failed < s.parts && r->why; i++)
        if (r->env->helpers[i].failed == failed)
            *r->why = r->env->helpers[i].first;
    return failed == s.parts;
}
