/* packed.c: packed functions as objects, and registries of them. */
/* built for size */
#include "runtime/runtime_int.h"

#include <relax/vm.h>

static int call_packed(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    const rlx_packed *f = self;
    return f->fn(f->user, args, num_args, result);
}

rlx_packed *rlx_packed_make(rlx_shared_memory *memory, relax_packed_fn fn, void *user,
                            void (*destroy)(void *))
{
    rlx_pool once;
    rlx_packed *f = NULL;
    if (rlx_pool_open_once(&once, memory, NULL)) {
        f = rlx_object_alloc(&once, sizeof *f, RELAX_VALUE_FUNCTION);
        rlx_shared_memory *m = once.memory;
        if (f) {
            f->safe_call = call_packed;
            f->cpp_call = NULL;
            f->fn = fn;
            f->user = user;
            f->destroy = destroy;
            f->memory = m;
        }
        rlx_pool_free(&once);
    }
    if (!f && destroy)
        destroy(user);
    return f;
}

bool rlx_packed_is_ours(const rlx_object *function)
{
    return function->type_index == RELAX_VALUE_FUNCTION && rlx_object_is_ours(function);
}

/* ---- registries ----------------------------------------------------------------------------- */

relax_registry *rlx_registry_make(rlx_shared_memory *memory)
{
    relax_registry *r = rlx_mem_alloc_zero(&memory->memory, sizeof *r);
    if (!r)
        return NULL;
    atomic_init(&r->refs, 1);
    r->tag = RLX_TAG_REGISTRY;
    r->memory = rlx_shared_memory_retain(memory);
    rlx_map_init(&r->functions, &memory->memory);
    return r;
}

relax_registry *rlx_registry_retain(relax_registry *registry)
{
    if (registry)
        atomic_fetch_add_explicit(&registry->refs, 1, memory_order_relaxed);
    return registry;
}

void rlx_registry_release(relax_registry *registry)
{
    rlx_map_entry *it = NULL;
    rlx_slice name;
    void *function;
    if (!registry || atomic_fetch_sub_explicit(&registry->refs, 1, memory_order_acq_rel) != 1)
        return;
    rlx_shared_memory *memory = registry->memory;
    while (rlx_map_next(&registry->functions, &it, &name, &function))
        rlx_object_release(function);
    rlx_map_free(&registry->functions);
    rlx_handle_ends(registry);
    rlx_mem_free(&memory->memory, registry, sizeof *registry);
    rlx_shared_memory_release(memory);
}
