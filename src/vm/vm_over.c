/*- vm_over.c: tensors in the memory of what dies.
 *
 *     alloc_over   r5, r1, ...       r1: a cache of n rows, which nobody else has
 *     call_kernel  concat, r1, r2, r5    writes row n behind those that are there: r1 and r5 begin as one
 *     kill         r1                so that r5 can grow in its turn
 *
 * Whoever has a tensor, a view or the memory of it counts as somebody else. What is full moves once into twice the memory, so that
 * n steps of one row copy at most 2 n rows. */
/* built for size */
#include "vm/vm_int.h"

/* The tensor in a cell, if this frame has it and nobody else, nor another tensor in its memory; NULL: not so. */
static const rlx_tensor_object *tensor_alone(const relax_value *cell)
{
    const rlx_tensor_object *t = cell->reserved == RLX_HELD_BY_FRAME ? rlx_value_tensor(cell) : NULL;
    return t && !t->read_only && rlx_object_is_unique(&t->base) && rlx_object_is_unique(&t->storage->base) &&
                   t->view.data == (void *)t->storage->data
               ? t
               : NULL;
}

/* A storage for what dies here and grows: its own, if it is large enough, or one with as much again to grow. One reference; NULL:
 * neither, which is no failure. */
static rlx_storage *storage_for(rlx_pool *p, const rlx_tensor_object *dying, size_t bytes)
{
    rlx_storage *s = dying->storage;
    if (bytes <= s->capacity)
        rlx_object_retain(s);
    else
        s = bytes > s->size && bytes <= SIZE_MAX / 4 ? rlx_storage_create(p, 2 * bytes, NULL) : NULL;
    return s;
}

bool rlx_vm_step_alloc_over(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    int64_t dims[RLX_MAX_RANK];
    uint32_t ndim = rlx_ins_count(pc[0]);
    rlx_dtype dtype = (rlx_dtype)pc[4];
    size_t bytes;
    if (!rlx_vm_eval_dims(vm, pc + 5, ndim, dims, why))
        return false;
    if (rlx_vm_put_buffer(vm, pc[1], pc[3], dtype, ndim, dims))
        return true;
    const rlx_tensor_object *dying = tensor_alone(&vm->frame->regs[pc[2]]);
    rlx_storage *s = dying && rlx_shape_bytes(dtype, (int32_t)ndim, dims, &bytes, NULL) && bytes
                         ? storage_for(&vm->pool, dying, bytes)
                         : NULL;
    if (!s)
        return rlx_vm_put_tensor(vm, pc[1], dtype, ndim, dims, why);
    rlx_tensor_object *t = rlx_tensor_view(&vm->pool, s, 0, dtype, (int32_t)ndim, dims);
    rlx_object_release(s);
    if (!t)
        return rlx_fail(why, RLX_RT10, "out of memory for a tensor of %zu bytes", bytes);
    rlx_cell_put(vm, &vm->frame->regs[pc[1]], rlx_value_object(RELAX_VALUE_TENSOR, t), RLX_HELD_BY_FRAME);
    return true;
}
