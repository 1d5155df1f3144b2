/* kernel_env.c: what calls of kernels work with, and how they fail. */
/* built for size */
#include "runtime/kernel_int.h"

#include <inttypes.h>

/* Units of work of about 50 to 100 ns between two polls; of float64 functions, or of products that are emulated, up to 5 us. */
#define FUEL 2000

typedef rlx_kernel_run running;

/* ---- working memory ------------------------------------------------------------------------- */

static bool no_memory(rlx_fault *why)
{
    return rlx_fail(why, RLX_RT10, "out of memory in a kernel");
}

static const char *buffer_name(const rlx_kernel *k, uint32_t b)
{
    return k->names + k->buffers[b].name;
}

void rlx_kernel_env_init(rlx_kernel_env *env, rlx_memory *m)
{
    *env = (rlx_kernel_env){ .memory = m,
                             .fuel = FUEL,
                             .least_work = RLX_KERNEL_LEAST_SHARED / 2,
                             .least_waking = RLX_KERNEL_LEAST_WAKING / 2,
                             .micro = rlx_micro_find(NULL) };
}

void rlx_kernel_env_free(rlx_kernel_env *env)
{
    rlx_kernel_free_helpers(env);
    for (size_t i = 0; i < env->num_slots; i++)
        rlx_mem_free_aligned(env->memory, env->slots[i].data, env->slots[i].size, 64);
    rlx_mem_free_aligned(env->memory, env->copies.data, env->copies.size, 64);
    rlx_mem_free(env->memory, env->slots, env->num_slots * sizeof *env->slots);
    rlx_mem_free(env->memory, env->views, env->num_views * sizeof *env->views);
    rlx_mem_free_aligned(env->memory, env->frame, env->frame_size, 64);
    env->slots = NULL;
    env->copies = (rlx_kernel_slot){ NULL, 0 };
    env->views = NULL;
    env->frame = NULL;
    env->num_slots = env->num_views = env->frame_size = 0;
}

bool rlx_kernel_env_grow(const rlx_kernel *k, rlx_kernel_env *env, rlx_fault *why)
{
    if (k->frame_size > env->frame_size) {
        unsigned char *frame = rlx_mem_alloc_aligned(env->memory, k->frame_size, 64);
        if (!frame)
            return no_memory(why);
        memset(frame, 0, k->frame_size);
        rlx_mem_free_aligned(env->memory, env->frame, env->frame_size, 64);
        env->frame = frame;
        env->frame_size = k->frame_size;
    }
    if (k->num_buffers > env->num_views) {
        void *p = rlx_mem_resize(env->memory, env->views, env->num_views * sizeof *env->views,
                                 k->num_buffers * sizeof *env->views);
        if (!p)
            return no_memory(why);
        env->views = p;
        env->num_views = k->num_buffers;
    }
    if (k->num_temps > env->num_slots) {
        void *p = rlx_mem_resize(env->memory, env->slots, env->num_slots * sizeof *env->slots,
                                 k->num_temps * sizeof *env->slots);
        if (!p)
            return no_memory(why);
        env->slots = p;
        memset(env->slots + env->num_slots, 0,
               (k->num_temps - env->num_slots) * sizeof *env->slots);
        env->num_slots = k->num_temps;
    }
    return true;
}

bool rlx_kernel_alloc(running *r, uint32_t b, int64_t count)
{
    size_t slot = r->k->buffers[b].data, bytes;
    if (count < 0 || !rlx_mul_size((size_t)count, r->k->buffers[b].bytes, &bytes) ||
        bytes > SIZE_MAX / 4)
        return rlx_fail(r->why, count < 0 ? RLX_RT05 : RLX_RT10,
                        "kernel %s: %s would have %" PRId64 " elements", r->k->names,
                        buffer_name(r->k, b), count);
    rlx_kernel_slot *s = &r->env->slots[slot];
    if (bytes > s->size) {
        /* Room, so that sizes that grow from call to call do not meet fresh pages each time; or none. */
        size_t room = s->size ? bytes / 4 : 0;
        rlx_mem_free_aligned(r->env->memory, s->data, s->size, 64);
        s->size = 0;
        s->data = rlx_mem_alloc_aligned(r->env->memory, bytes + room, 64);
        if (!s->data && room) {
            room = 0;
            s->data = rlx_mem_alloc_aligned(r->env->memory, bytes, 64);
        }
        if (!s->data)
            return no_memory(r->why);
        s->size = bytes + room;
    }
    r->views[b] = (rlx_kernel_view){ s->data, count, NULL };
    return true;
}

/* ---- arguments that share memory ------------------------------------------------------------ */

/* Does another argument that is written share memory with this one? */
static bool is_shared(const rlx_kernel *k, const rlx_kernel_view *views, uint32_t j)
{
    uintptr_t begin = (uintptr_t)views[j].data, end = begin + rlx_kernel_view_bytes(k, views, j);
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        uintptr_t other = (uintptr_t)views[i].data;
        if (i != j && k->buffers[i].written && other < end &&
            begin < other + rlx_kernel_view_bytes(k, views, i) && !rlx_kernel_same_place(k, views, j, i))
            return true;
    }
    return false;
}

bool rlx_kernel_outputs_overlap(const rlx_kernel *k, const rlx_kernel_view *views)
{
    for (uint32_t j = 0; j < k->num_tensors; j++)
        if (k->buffers[j].written && is_shared(k, views, j))
            return true;
    return false;
}

bool rlx_kernel_copy_shared(running *r)
{
    const rlx_kernel *k = r->k;
    rlx_memory *m = r->env->memory;
    size_t total = 0, at = 0;
    for (uint32_t j = 0; j < k->num_tensors; j++)
        if (!k->buffers[j].written && is_shared(k, r->views, j))
            total += (rlx_kernel_view_bytes(k, r->views, j) + 63) / 64 * 64;
    rlx_kernel_slot *copies = &r->env->copies;
    if (total > copies->size) {
        rlx_mem_free_aligned(m, copies->data, copies->size, 64);
        copies->size = 0;
        if (!(copies->data = rlx_mem_alloc_aligned(m, total, 64)))
            return no_memory(r->why);
        copies->size = total;
    }
    for (uint32_t j = 0; j < k->num_tensors; j++)
        if (!k->buffers[j].written && is_shared(k, r->views, j)) {
            size_t bytes = rlx_kernel_view_bytes(k, r->views, j);
            unsigned char *copy = (unsigned char *)copies->data + at;
            memcpy(copy, r->views[j].data, bytes);
            r->views[j].data = copy;
            at += (bytes + 63) / 64 * 64;
        }
    return true;
}

/* ---- failures --------------------------------------------------------------------------------- */

bool rlx_kernel_stopped(running *r)
{
    r->env->fuel = FUEL;
    if (!r->env->poll || !r->env->poll(r->env->poll_user))
        return false;
    rlx_fail(r->why, RLX_RT12, "kernel %s was stopped", r->k->names);
    return true;
}

bool rlx_kernel_out_of_buffer(running *r, uint32_t b, int64_t offset)
{
    return rlx_fail(r->why, RLX_RT09,
                    "kernel %s: offset %" PRId64 " is outside %s, which has %" PRId64 " elements",
                    r->k->names, offset, buffer_name(r->k, b), r->views[b].count);
}

bool rlx_kernel_out_of_dim(running *r, uint32_t b, uint32_t dim, int64_t index, int64_t size)
{
    return rlx_fail(r->why, RLX_RT09,
                    "kernel %s: index %" PRId64
                    " is out of range for dimension %u of %s, which has size %" PRId64,
                    r->k->names, index, dim, buffer_name(r->k, b), size);
}

bool rlx_kernel_troubled(running *r, int trouble)
{
    static const char *const texts[] = { "failed", "integer division by zero",
                                         "negative shift count",
                                         "negative exponent of an integer" };
    return rlx_fail(r->why, RLX_RT14, "kernel %s: %s", r->k->names, texts[trouble]);
}

/* Appends the sizes that a message is about, "; x (3, 4), out (5, 3)", as far as there is room. */
static void add_shapes(running *r)
{
    char *text = r->why->text;
    size_t len = strlen(text), room = sizeof r->why->text;
    for (uint32_t b = 0; b < r->k->num_tensors; b++) {
        char one[160];
        int n = snprintf(one, sizeof one, "%s %.60s (", b ? "," : ";", buffer_name(r->k, b));
        for (uint32_t i = 0; i < r->k->buffers[b].rank && n < 120; i++)
            n += snprintf(one + n, sizeof one - (size_t)n, "%s%" PRId64, i ? ", " : "",
                          r->views[b].shape[i]);
        if (n >= 120 || len + (size_t)n + 2 > room)
            return;
        memcpy(text + len, one, (size_t)n);
        len += (size_t)n;
        text[len++] = ')';
        text[len] = 0;
    }
}

bool rlx_kernel_failed_assertion(running *r, uint32_t assertion, const char *text)
{
    rlx_fail(r->why, rlx_assertion_code(assertion), "kernel %s: %s", r->k->names, text);
    if (r->why && assertion == RLX_ASSERTION_SIZES)
        add_shapes(r);
    return false;
}

bool rlx_kernel_wrong_size(running *r, uint32_t b, uint32_t dim, int64_t found, int64_t expected)
{
    return rlx_fail(r->why, RLX_RT05,
                    "kernel %s: dimension %u of %s is %" PRId64 ", expected %" PRId64, r->k->names,
                    dim, buffer_name(r->k, b), found, expected);
}
