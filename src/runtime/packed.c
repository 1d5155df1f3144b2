/* packed.c: packed functions as objects. */
#include "runtime/runtime_int.h"

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
