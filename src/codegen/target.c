/* target.c: the targets of this build. */
#include "codegen/codegen.h"
#include "codegen/native.h"

static const rlx_target targets[] = {
    { "interp", NULL, "kernel bytecode: portable, needs nothing else" },
    { "c", rlx_native_add, "kernel bytecode, and kernels as C compiled by the C compiler" },
};

const rlx_target *rlx_target_at(size_t index)
{
    return index < RLX_COUNT(targets) ? &targets[index] : NULL;
}

const rlx_target *rlx_target_find(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(targets); i++)
        if (rlx_slice_is(name, targets[i].name))
            return &targets[i];
    return NULL;
}
