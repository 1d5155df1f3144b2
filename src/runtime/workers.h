/*- workers.h: threads of one VM, or those that a host lends.
 *
 *     rlx_workers_run(w, 3, fn, user);      fn(user, 0) here, fn(user, 1) and fn(user, 2) on other threads
 *
 * Threads are started when they are first asked for, sleep when there is nothing to do, and end with their VM. A process
 * that forks while they are idle has none of them in the child, where new ones are started.
 */
#ifndef RLX_RUNTIME_WORKERS_H
#define RLX_RUNTIME_WORKERS_H

#include <relax/vm.h>
#include "base/base.h"

#define RLX_MAX_THREADS 256

typedef struct rlx_workers rlx_workers;
/* `slot` tells those that run at the same time apart. It runs in the default floating-point environment. */
typedef void rlx_worker_fn(void *user, size_t slot);

/* For `threads` (at least 1) at a time, the caller's among them. parallel_for NULL: threads of our own. NULL: out of memory. */
rlx_workers *rlx_workers_make(rlx_memory *m, size_t threads, relax_parallel_for_fn parallel_for, void *user);
void rlx_workers_free(rlx_workers *w); /* NULL is fine; ends the threads. One thread at a time, as run */
size_t rlx_workers_count(const rlx_workers *w); /* NULL: 1 */
/* How many of those will begin at once, the caller among them: threads look for work for a moment before they sleep. Those of a
 * host are taken to be ready. */
size_t rlx_workers_awake(const rlx_workers *w);
/* While work is expected, because a call of the VM is under way, threads look for it longer. */
void rlx_workers_expect(rlx_workers *w, bool work);
/* Calls fn for slots 0 ... slots - 1, each at most once and slot 0 surely, unless a host's parallel_for does not; returns
 * when all calls have ended. What there is to do is to be shared out by fn itself. */
void rlx_workers_run(rlx_workers *w, size_t slots, rlx_worker_fn *fn, void *user);

#endif
