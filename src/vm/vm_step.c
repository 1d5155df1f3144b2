/* vm_step.c: what instructions do. */
#include <string.h>
#include <time.h>
#include "vm/vm_int.h"

/* ---- the stack ------------------------------------------------------------------------------ */

#define CHUNK_BYTES ((size_t)64 << 10)

/* A chunk with capacity for `bytes` becomes the current one. */
static bool grow_stack(relax_vm *vm, size_t bytes)
{
    rlx_chunk_of_stack *at = vm->stack, *next = at ? at->next : NULL;
    if (next && next->size - sizeof *next < bytes) { /* too small for this one: replace it */
        at->next = NULL;
        rlx_mem_free(&vm->memory->memory, next, next->size);
        next = NULL;
    }
    if (!next) {
        size_t size = bytes + sizeof *next < CHUNK_BYTES ? CHUNK_BYTES : bytes + sizeof *next;
        next = rlx_mem_alloc(&vm->memory->memory, size);
        if (!next)
            return false;
        *next = (rlx_chunk_of_stack){ at, NULL, size, sizeof *next };
        if (at)
            at->next = next;
    }
    vm->stack = next;
    return true;
}

rlx_vm_frame *rlx_vm_frame_push(relax_vm *vm, const rlx_file_function *fn, uint32_t dst,
                                rlx_fault *why)
{
    size_t regs = (size_t)fn->num_regs * sizeof(relax_value),
           bytes = sizeof(rlx_vm_frame) + regs + ((size_t)fn->num_syms + 1) / 2 * 16;
    if (RLX_UNLIKELY(vm->depth >= vm->max_depth)) {
        rlx_fail(why, RLX_RT11, "more than %zu calls are active", vm->max_depth);
        return NULL;
    }
    rlx_chunk_of_stack *chunk = vm->stack;
    if (RLX_UNLIKELY(!chunk || chunk->size - chunk->used < bytes)) {
        if (!grow_stack(vm, bytes)) {
            rlx_fail(why, RLX_RT10, "out of memory for the stack");
            return NULL;
        }
        chunk = vm->stack;
    }
    rlx_vm_frame *f = (rlx_vm_frame *)(void *)((char *)chunk + chunk->used);
    f->parent = vm->frame;
    f->fn = fn;
    f->pc = vm->exe->code + fn->code;
    f->regs = (relax_value *)(f + 1);
    f->syms = (int64_t *)((char *)f->regs + regs);
    f->dst = dst;
    f->chunk = chunk;
    f->before = chunk->used;
    chunk->used += bytes;
    memset(f->regs, 0, bytes - sizeof *f);
    vm->frame = f;
    vm->depth++;
    vm->env.regs = f->regs;
    vm->env.syms = f->syms;
    return f;
}
_Static_assert(sizeof(rlx_vm_frame) % 16 == 0 && sizeof(rlx_chunk_of_stack) % 16 == 0,
               "cells behind them are aligned");

static void drop_cells(relax_vm *vm, const rlx_vm_frame *f)
{
    for (uint32_t i = 0; i < f->fn->num_regs; i++)
        if (f->regs[i].reserved == RLX_HELD_BY_FRAME)
            rlx_pool_drop(&vm->pool, &f->regs[i]);
}

void rlx_vm_frame_pop(relax_vm *vm)
{
    rlx_vm_frame *f = vm->frame;
    drop_cells(vm, f);
    f->chunk->used = f->before;
    if (f->before == sizeof(rlx_chunk_of_stack) && f->chunk->prev)
        vm->stack = f->chunk->prev;
    vm->frame = f->parent;
    vm->depth--;
    vm->env.regs = f->parent ? f->parent->regs : NULL;
    vm->env.syms = f->parent ? f->parent->syms : NULL;
}

bool rlx_vm_frame_enter(relax_vm *vm, bool proved, rlx_fault *why)
{
    const rlx_vm_frame *f = vm->frame;
    if (proved && !rlx_desc_binds(vm->exe->descs, f->fn->params))
        return true;
    if (RLX_LIKELY(rlx_desc_match_params(&vm->env, f->fn->params, f->regs, f->fn->num_params,
                                         rlx_name(&vm->exe->names, f->fn->name), why)))
        return true;
    if (why)
        rlx_vm_name_argument(vm, why);
    vm->frame->pc = NULL; /* it fails at its border */
    return false;
}

/* ---- stopping ------------------------------------------------------------------------------- */

int64_t rlx_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#define POLLS_PER_CLOCK 32
#define COPIES_PER_CLOCK 8 /* polls that a builtin counts as */

bool rlx_vm_poll_slow(relax_vm *vm, rlx_fault *why)
{
    vm->fuel = POLLS_PER_CLOCK;
    if (*vm->cancel)
        return rlx_fail(why, RLX_RT12, "cancelled");
    if (vm->deadline == INT64_MAX)
        vm->fuel = INT32_MAX;
    else if (rlx_clock_ns() >= vm->deadline)
        return rlx_fail(why, RLX_RT12, "time limit reached");
    return true;
}

int rlx_vm_poll_kernel(void *user)
{
    const relax_vm *vm = user;
    return *vm->cancel || (vm->deadline != INT64_MAX && rlx_clock_ns() >= vm->deadline);
}

/* ---- operands ------------------------------------------------------------------------------- */

#define LONG_EXPR 256 /* words, from which on evaluating is polled */

bool rlx_vm_int_slow(relax_vm *vm, uint32_t x, int64_t *out, rlx_fault *why)
{
    uint32_t at = rlx_operand_index(x);
    bool is_long = rlx_item_words(vm->exe->descs + at) > LONG_EXPR;
    return (!is_long || rlx_vm_poll(vm, why)) && rlx_desc_expr_eval(&vm->env, at, out, why);
}

bool rlx_vm_arg_slow(relax_vm *vm, uint32_t x, bool views, relax_value *out, rlx_fault *why)
{
    int64_t i;
    if (rlx_operand_kind_of(x) == RLX_OPERAND_CONST) {
        *out = vm->exe->constants[rlx_operand_index(x)];
        if (views && out->type_index == RELAX_VALUE_TENSOR) {
            out->type_index = RELAX_VALUE_TENSOR_VIEW;
            out->v.i += (int64_t)sizeof(rlx_object);
        }
        return true;
    }
    if (!rlx_vm_int(vm, x, &i, why))
        return false;
    *out = rlx_value_int(i);
    return true;
}

/* ---- simple values -------------------------------------------------------------------------- */

bool rlx_vm_step_match(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    if (RLX_UNLIKELY(!rlx_vm_poll(vm, why)))
        return false;
    if (RLX_LIKELY(rlx_desc_match(&vm->env, pc[2], &vm->env.regs[pc[1]], why)))
        return true;
    const char *name = rlx_name(&vm->exe->names, pc[4]).data;
    switch (pc[3]) {
    case RLX_MATCH_CAST:
        return rlx_fault_wrap(why, RLX_RT06, "match_cast%s%.64s", *name ? " of " : "", name);
    case RLX_MATCH_ASSUME:
        return rlx_fault_wrap(why, RLX_RT06, "%.64s", *name ? name : "a stated result");
    default: return false;
    }
}

static bool no_memory(rlx_fault *why, const char *what)
{
    return rlx_fail(why, RLX_RT10, "out of memory for %s", what);
}

bool rlx_vm_step_shape(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    uint32_t count = rlx_ins_count(pc[0]);
    rlx_shape_object *s = rlx_shape_make(&vm->pool, NULL, count);
    if (!s)
        return no_memory(why, "a shape");
    relax_value v = rlx_value_object(RELAX_VALUE_SHAPE, s);
    if (!rlx_vm_eval_dims(vm, pc + 2, count, s->values, why)) {
        rlx_pool_drop(&vm->pool, &v);
        return false;
    }
    rlx_cell_put(vm, &vm->frame->regs[pc[1]], v, RLX_HELD_BY_FRAME);
    return true;
}

bool rlx_vm_step_tuple(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    uint32_t count = rlx_ins_count(pc[0]);
    rlx_tuple_object *t = rlx_tuple_make(&vm->pool, count);
    if (!t)
        return no_memory(why, "a tuple");
    relax_value v = rlx_value_object(RELAX_VALUE_OBJECT, t);
    for (uint32_t i = 0; i < count; i++) {
        if (!rlx_vm_args(vm, pc + 2 + i, 1, false, &t->fields[i], why)) {
            t->fields[i] = rlx_value_none();
            rlx_pool_drop(&vm->pool, &v);
            return false;
        }
        rlx_value_hold(&t->fields[i]);
    }
    rlx_cell_put(vm, &vm->frame->regs[pc[1]], v, RLX_HELD_BY_FRAME);
    return true;
}

/* Also TAKE_FIELD, whose tuple is not asked for that field again: one that this frame alone has lets go of it. */
bool rlx_vm_step_get(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    relax_value *from = &vm->frame->regs[pc[2]];
    rlx_tuple_object *t = (rlx_tuple_object *)rlx_value_tuple(from);
    if (!t)
        return rlx_fail(why, RLX_RT02, "field %u of a value that is no tuple", pc[3]);
    if (pc[3] >= t->count)
        return rlx_fail(why, RLX_RT09, "field %u of a tuple of %zu", pc[3], t->count);
    relax_value v = t->fields[pc[3]];
    uint32_t hold = rlx_value_is_boxed(&v) ? from->reserved : RLX_HELD_BY_RUN;
    if (hold == RLX_HELD_BY_FRAME && rlx_ins_opcode(pc[0]) == RLX_OP_TAKE_FIELD && rlx_object_is_unique(t))
        t->fields[pc[3]] = (relax_value){ .type_index = RELAX_VALUE_NONE };
    else if (hold == RLX_HELD_BY_FRAME) /* the tuple may go before the field */
        rlx_object_retain(v.v.p);
    rlx_cell_put(vm, &vm->frame->regs[pc[1]], v, hold);
    return true;
}

bool rlx_vm_step_truth(const relax_value *v, bool *out, rlx_fault *why)
{
    const DLTensor *t = rlx_value_view(v);
    if (v->type_index == RELAX_VALUE_BOOL) {
        *out = v->v.i != 0;
        return true;
    }
    if (!t || t->ndim != 0 || !rlx_dtype_is_bool(rlx_dl_dtype(t)))
        return rlx_fail(why, RLX_RT17, "the condition is no Boolean scalar");
    *out = *rlx_view_data(t) != 0;
    return true;
}

/* ---- memory --------------------------------------------------------------------------------- */

bool rlx_vm_step_alloc_storage(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    int64_t size;
    if (!rlx_vm_int(vm, pc[2], &size, why))
        return false;
    if (size < 0)
        return rlx_fail(why, RLX_RT05, "a storage of %lld bytes", (long long)size);
    rlx_storage *s = rlx_storage_create(&vm->pool, (size_t)size, pc);
    if (!s)
        return rlx_fail(why, RLX_RT10, "out of memory for a storage of %lld bytes",
                        (long long)size);
    rlx_cell_put(vm, &vm->frame->regs[pc[1]], rlx_value_object(RELAX_VALUE_OBJECT, s),
                 RLX_HELD_BY_FRAME);
    return true;
}

/* Does the register hold this very tensor already, and nobody else? Planned memory is used again by
 * values of one shape. What was checked of it then holds. */
static bool holds_view(const relax_value *cell, const rlx_storage *s, int64_t offset,
                       rlx_dtype dtype, uint32_t ndim, const int64_t *dims)
{
    const rlx_tensor_object *t = cell->v.p;
    int64_t differ = 0;
    if (cell->reserved != RLX_HELD_BY_FRAME || cell->type_index != RELAX_VALUE_TENSOR ||
        !rlx_object_is_ours(&t->base) || t->storage != s || t->read_only ||
        t->view.data != (unsigned char *)s->data + offset || t->view.ndim != (int32_t)ndim ||
        rlx_dl_dtype(&t->view) != dtype)
        return false;
    for (uint32_t d = 0; d < ndim; d++)
        differ |= t->dims[d] ^ dims[d];
    return !differ && rlx_object_is_unique(t);
}

bool rlx_vm_step_alloc_view(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    int64_t dims[RLX_MAX_RANK], offset;
    uint32_t ndim = rlx_ins_count(pc[0]);
    rlx_dtype dtype = (rlx_dtype)pc[4];
    size_t bytes;
    const relax_value *from = &vm->frame->regs[pc[2]];
    if (!rlx_value_has_mark(from, RLX_MARK_STORAGE))
        return rlx_fail(why, RLX_RT02, "a tensor in a value that is no storage");
    rlx_storage *s = from->v.p;
    if (!rlx_vm_int(vm, pc[3], &offset, why) || !rlx_vm_eval_dims(vm, pc + 5, ndim, dims, why))
        return false;
    if (holds_view(&vm->frame->regs[pc[1]], s, offset, dtype, ndim, dims))
        return true;
    if (!rlx_shape_bytes(dtype, (int32_t)ndim, dims, &bytes, why))
        return false;
    if (offset < 0 || (size_t)offset > s->size || bytes > s->size - (size_t)offset ||
        (size_t)offset % rlx_dtype_bytes(dtype))
        return rlx_fail(why, RLX_RT09, "%zu bytes at %lld of a storage of %zu", bytes,
                        (long long)offset, s->size);
    rlx_tensor_object *t =
        rlx_tensor_view(&vm->pool, s, (size_t)offset, dtype, (int32_t)ndim, dims);
    if (!t)
        return no_memory(why, "a tensor");
    rlx_cell_put(vm, &vm->frame->regs[pc[1]], rlx_value_object(RELAX_VALUE_TENSOR, t),
                 RLX_HELD_BY_FRAME);
    return true;
}

bool rlx_vm_put_tensor(relax_vm *vm, uint32_t reg, rlx_dtype dtype, uint32_t ndim,
                       const int64_t *dims, rlx_fault *why)
{
    size_t bytes;
    if (!rlx_shape_bytes(dtype, (int32_t)ndim, dims, &bytes, why))
        return false;
    rlx_tensor_object *t = rlx_tensor_make(&vm->pool, dtype, (int32_t)ndim, dims);
    if (!t)
        return rlx_fail(why, RLX_RT10, "out of memory for a tensor of %zu bytes", bytes);
    rlx_cell_put(vm, &vm->frame->regs[reg], rlx_value_object(RELAX_VALUE_TENSOR, t),
                 RLX_HELD_BY_FRAME);
    return true;
}

bool rlx_vm_step_alloc_tensor(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    int64_t dims[RLX_MAX_RANK];
    uint32_t ndim = rlx_ins_count(pc[0]);
    return rlx_vm_eval_dims(vm, pc + 3, ndim, dims, why) &&
           rlx_vm_put_tensor(vm, pc[1], (rlx_dtype)pc[2], ndim, dims, why);
}

static bool same_shape(const DLTensor *t, rlx_dtype dtype, uint32_t ndim, const int64_t *dims)
{
    return rlx_dl_dtype(t) == dtype && t->ndim == (int32_t)ndim &&
           memcmp(t->shape, dims, ndim * sizeof *dims) == 0;
}

/* Only the function that the host called returns to the host. A buffer that does not fit is told at the end. */
bool rlx_vm_put_buffer(relax_vm *vm, uint32_t reg, uint32_t result, rlx_dtype dtype, uint32_t ndim,
                       const int64_t *dims)
{
    bool given = vm->frame->parent == vm->base && result < vm->num_into;
    rlx_tensor_object *t = given ? (rlx_tensor_object *)vm->into[result] : NULL;
    if (!t || !same_shape(&t->view, dtype, ndim, dims))
        return false;
    rlx_cell_put(vm, &vm->frame->regs[reg], rlx_value_object(RELAX_VALUE_TENSOR, t), RLX_HELD_BY_RUN);
    return true;
}

bool rlx_vm_step_alloc_result(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    int64_t dims[RLX_MAX_RANK];
    uint32_t ndim = rlx_ins_count(pc[0]);
    rlx_dtype dtype = (rlx_dtype)pc[3];
    return rlx_vm_eval_dims(vm, pc + 4, ndim, dims, why) &&
           (rlx_vm_put_buffer(vm, pc[1], pc[2], dtype, ndim, dims) || rlx_vm_put_tensor(vm, pc[1], dtype, ndim, dims, why));
}

/* ---- kernels, builtins ---------------------------------------------------------------------- */

/* Constants may lie in read-only memory, and are shared between threads. */
static RLX_NOINLINE bool writes_constant(relax_vm *vm, uint32_t number, uint64_t written,
                                         const relax_value *args, int32_t num_args, rlx_fault *why)
{
    for (int32_t i = 0; i < num_args; i++) {
        bool may_be = i >= 63 ? written >> 63 && rlx_kernel_param_is_written(vm->exe->kernels[number], i)
                              : written >> i & 1;
        if (!may_be || args[i].type_index != RELAX_VALUE_TENSOR_VIEW)
            continue;
        const rlx_tensor_object *t = rlx_tensor_of_view(args[i].v.p);
        if (t && t->read_only) {
            rlx_fail(why, RLX_RT02, "kernel %s would write to argument %d, a constant",
                     rlx_name(&vm->exe->names, vm->exe->kernel_table[number].name).data, (int)i);
            return true;
        }
    }
    return false;
}

/* A kernel or builtin was stopped: by whom? Returns false. */
static bool say_which(relax_vm *vm, rlx_fault *why)
{
    if (why->code == RLX_RT12)
        rlx_vm_poll_slow(vm, why);
    return false;
}

/* known: bits of arguments that are known to fit. */
RLX_ALWAYS_INLINE bool run_kernel(relax_vm *vm, uint32_t number, uint32_t known, relax_value *args,
                                  int32_t num_args, rlx_fault *why)
{
    const rlx_kernel *k = vm->exe->kernels[number];
    uint64_t written = rlx_kernel_written(k) & ~(uint64_t)known;
    if (RLX_UNLIKELY(written) && writes_constant(vm, number, written, args, num_args, why))
        return false;
    return RLX_LIKELY(rlx_kernel_call_known(k, &vm->kernels, args, num_args, known, why)) ||
           say_which(vm, why);
}

bool rlx_vm_step_kernel(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    uint32_t count = rlx_ins_count(pc[0]);
    return rlx_vm_poll(vm, why) && rlx_vm_args(vm, pc + 2, count, true, vm->args, why) &&
           run_kernel(vm, pc[1], vm->exe->known[pc - vm->exe->code], vm->args, (int32_t)count, why);
}

void rlx_vm_put_result(relax_vm *vm, uint32_t dst, relax_value v)
{
    if (dst == RLX_NO_INDEX)
        rlx_pool_drop(&vm->pool, &v);
    else
        rlx_cell_put(vm, &vm->frame->regs[dst], v,
                     rlx_value_is_boxed(&v) ? RLX_HELD_BY_FRAME : RLX_HELD_BY_RUN);
}

bool rlx_vm_step_builtin(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    uint32_t count = rlx_ins_count(pc[0]);
    relax_value result = rlx_value_none();
    vm->fuel -= COPIES_PER_CLOCK; /* a copy may be of any size */
    if (!rlx_vm_poll(vm, why) || !rlx_vm_args(vm, pc + 3, count, false, vm->args, why))
        return false;
    if (!vm->exe->builtins[pc[2]]->fn(&vm->pool, vm->args, (int32_t)count, &result, why))
        return say_which(vm, why);
    rlx_vm_put_result(vm, pc[1], result);
    return true;
}

/* ---- packed functions ----------------------------------------------------------------------- */

/* Arguments of a call: operands, and behind them what a closure has bound. */
typedef struct call_args {
    const uint32_t *operands;
    uint32_t count;
    const relax_value *bound;
    size_t num_bound;
    rlx_tuple_object *closure; /* NULL: nothing is bound */
} call_args;

static size_t num_args(const call_args *a) { return a->count + a->num_bound; }

/* The arguments as cells for something outside the frame; NULL: failed. To be given back. */
static relax_value *gather(relax_vm *vm, const call_args *a, bool views, rlx_fault *why)
{
    size_t n = num_args(a);
    relax_value *out = n <= vm->exe->max_args ? vm->args
                                              : rlx_mem_alloc(&vm->memory->memory, n * sizeof *out);
    if (!out) {
        rlx_fail(why, RLX_RT10, "out of memory for %zu arguments", n);
        return NULL;
    }
    if (!rlx_vm_args(vm, a->operands, a->count, views, out, why)) {
        if (out != vm->args)
            rlx_mem_free(&vm->memory->memory, out, n * sizeof *out);
        return NULL;
    }
    for (size_t i = 0; i < a->num_bound; i++) {
        relax_value *to = &out[a->count + i];
        const DLTensor *view = views ? rlx_value_view(&a->bound[i]) : NULL;
        *to = a->bound[i];
        if (view)
            *to = (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = (void *)(uintptr_t)view } };
    }
    return out;
}

static void give_back(relax_vm *vm, const call_args *a, relax_value *args)
{
    if (args != vm->args)
        rlx_mem_free(&vm->memory->memory, args, num_args(a) * sizeof *args);
}

/* Calls function `number` of the module with arguments whose count nobody has checked. The frame
 * that goes on is on top. */
static bool call_module(relax_vm *vm, uint32_t number, uint32_t dst, const call_args *a,
                        rlx_fault *why);

static bool call_packed_fn(relax_vm *vm, relax_packed_fn fn, void *self, uint32_t dst,
                           const call_args *a, rlx_slice name, rlx_fault *why)
{
    relax_value result = rlx_value_none();
    relax_value *args = rlx_vm_poll(vm, why) ? gather(vm, a, true, why) : NULL;
    if (!args)
        return false;
    int rc = fn(self, args, (int32_t)num_args(a), &result);
    give_back(vm, a, args);
    if (!rlx_packed_finish(vm, rc, &result, name, why))
        return false;
    rlx_vm_put_result(vm, dst, result);
    return true;
}

static bool call_packed_slot(relax_vm *vm, uint32_t number, uint32_t dst, const call_args *a,
                             rlx_fault *why)
{
    rlx_packed_slot *slot = &vm->packed[number];
    if (!rlx_vm_find_packed(vm, number, why))
        return false;
    if (slot->in_module)
        return call_module(vm, slot->function, dst, a, why);
    return call_packed_fn(vm, slot->fn, slot->self, dst, a,
                          rlx_name(&vm->exe->names, vm->exe->packed[number]), why);
}

bool rlx_vm_step_packed(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    const call_args a = { .operands = pc + 3, .count = rlx_ins_count(pc[0]) };
    vm->frame->pc = pc + 3 + a.count;
    if (call_packed_slot(vm, pc[2], pc[1], &a, why))
        return true;
    vm->frame->pc = pc;
    return false;
}

/* ---- Relax functions ------------------------------------------------------------------------ */

/* Parameters of a frame that is not on the stack yet come from registers of its parent. */
static bool pass_args(relax_vm *vm, const relax_value *from, const uint32_t *operands,
                      uint32_t count, relax_value *to, rlx_fault *why)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t x = operands[i];
        if (RLX_LIKELY(rlx_operand_kind_of(x) == RLX_OPERAND_REGISTER)) {
            to[i] = from[x];
            if (to[i].reserved == RLX_HELD_BY_FRAME)
                to[i].reserved = RLX_HELD_BY_PARENT;
        } else if (!rlx_vm_arg_slow(vm, x, false, &to[i], why)) {
            return false;
        }
    }
    return true;
}

/* What a closure has bound lives as long as the closure, which the caller holds. */
static void pass_bound(const call_args *a, relax_value *to)
{
    for (size_t i = 0; i < a->num_bound; i++) {
        to[a->count + i] = a->bound[i];
        if (rlx_value_is_boxed(&a->bound[i]))
            to[a->count + i].reserved = RLX_HELD_BY_PARENT;
    }
}

static bool push_call(relax_vm *vm, uint32_t number, uint32_t dst, const call_args *a, bool proved,
                      rlx_fault *why)
{
    rlx_vm_frame *caller = vm->frame;
    const rlx_file_function *fn = &vm->exe->functions[number];
    if (!rlx_vm_poll(vm, why))
        return false;
    rlx_vm_frame *f = rlx_vm_frame_push(vm, fn, dst, why);
    if (!f)
        return false;
    /* Operands are read in the caller's frame. */
    vm->env.regs = caller->regs;
    vm->env.syms = caller->syms;
    bool ok = pass_args(vm, caller->regs, a->operands, a->count, f->regs, why);
    vm->env.regs = f->regs;
    vm->env.syms = f->syms;
    if (a->num_bound)
        pass_bound(a, f->regs);
    if (RLX_UNLIKELY(!ok || !rlx_vm_frame_enter(vm, proved, why))) {
        rlx_vm_frame_pop(vm);
        return false;
    }
    if (RLX_UNLIKELY(a->closure && !proved) && rlx_desc_is_closed(vm->exe->descs, fn->params))
        atomic_store_explicit(&a->closure->bound_fits, 1, memory_order_relaxed);
    return true;
}

static bool count_fits(relax_vm *vm, const rlx_file_function *fn, const call_args *a,
                       rlx_fault *why)
{
    return num_args(a) == fn->num_params ||
           rlx_vm_wrong_count(vm, fn, a->count, a->num_bound, why);
}

static bool call_kernel_value(relax_vm *vm, const rlx_file_function *fn, uint32_t dst,
                              const call_args *a, rlx_fault *why)
{
    int64_t params = rlx_kernel_num_params(vm->exe->kernels[fn->code]);
    if ((int64_t)num_args(a) != params)
        return rlx_fail(why, RLX_RT01, "%.64s takes %lld arguments, got %zu",
                        rlx_name(&vm->exe->names, fn->name).data, (long long)params, num_args(a));
    relax_value *args = rlx_vm_poll(vm, why) ? gather(vm, a, true, why) : NULL;
    if (!args)
        return false;
    bool ok = run_kernel(vm, fn->code, 0, args, (int32_t)num_args(a), why);
    give_back(vm, a, args);
    if (ok)
        rlx_vm_put_result(vm, dst, rlx_value_none());
    return ok;
}

static bool call_module(relax_vm *vm, uint32_t number, uint32_t dst, const call_args *a,
                        rlx_fault *why)
{
    const rlx_file_function *fn = &vm->exe->functions[number];
    if (fn->flags & RLX_FUNCTION_KERNEL)
        return call_kernel_value(vm, fn, dst, a, why);
    return count_fits(vm, fn, a, why) && push_call(vm, number, dst, a, false, why);
}

bool rlx_vm_step_call(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    rlx_vm_frame *caller = vm->frame;
    const call_args a = { .operands = pc + 4, .count = rlx_ins_count(pc[0]) };
    caller->pc = pc + 4 + a.count;
    if (RLX_LIKELY(push_call(vm, pc[2], pc[1], &a, pc[3] & RLX_CALL_PROVED, why)))
        return true;
    caller->pc = pc;
    return false;
}

/* Arguments that are kept alive by themselves, as the frame they come from goes. */
static bool hold_args(relax_vm *vm, const relax_value *from, const call_args *a, relax_value *to,
                      rlx_fault *why)
{
    if (!pass_args(vm, from, a->operands, a->count, to, why))
        return false;
    pass_bound(a, to);
    for (size_t i = 0; i < num_args(a); i++) {
        uint32_t x = i < a->count ? a->operands[i] : 0;
        bool own = i >= a->count ? to[i].reserved == RLX_HELD_BY_PARENT
                                 : rlx_operand_kind_of(x) == RLX_OPERAND_REGISTER &&
                                       from[x].reserved == RLX_HELD_BY_FRAME;
        if (!own)
            continue;
        rlx_value_hold(&to[i]);
        to[i].reserved = RLX_HELD_BY_FRAME;
    }
    return true;
}

/* fn takes the place of the function on top, which called it last. */
static bool replace_frame(relax_vm *vm, const rlx_file_function *fn, const call_args *a,
                          bool proved, rlx_fault *why)
{
    rlx_vm_frame *old = vm->frame;
    uint32_t dst = old->dst;
    size_t count = num_args(a);
    if (!rlx_vm_poll(vm, why) || !hold_args(vm, old->regs, a, vm->args, why))
        return false;
    rlx_vm_frame_pop(vm);
    rlx_vm_frame *f = rlx_vm_frame_push(vm, fn, dst, why);
    if (!f) {
        for (size_t i = 0; i < count; i++)
            if (vm->args[i].reserved == RLX_HELD_BY_FRAME)
                rlx_value_drop(&vm->args[i]);
        return false;
    }
    memcpy(f->regs, vm->args, count * sizeof *f->regs);
    return rlx_vm_frame_enter(vm, proved, why);
}

bool rlx_vm_step_tail_call(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    const call_args a = { .operands = pc + 3, .count = rlx_ins_count(pc[0]) };
    vm->frame->pc = pc;
    return replace_frame(vm, &vm->exe->functions[pc[1]], &a, pc[2] & RLX_CALL_PROVED, why);
}

#define MATCH_WORDS 5

static bool is_of_program(const relax_vm *vm, const rlx_blob *image, rlx_fault *why)
{
    return image == vm->exe->image ||
           rlx_fail(why, RLX_RT18, "the function that is called is one of another program");
}

/* A packed function object: ours is called directly, a foreign one through the entry that its
 * layout promises. */
static bool call_value(relax_vm *vm, const relax_value *callee, uint32_t dst, const call_args *a,
                       rlx_fault *why)
{
    static const rlx_slice name = { "(value)", 7 };
    if (callee->type_index == RELAX_VALUE_FUNCTION) {
        rlx_packed *f = callee->v.p;
        return call_packed_fn(vm, f->safe_call, f, dst, a, name, why);
    }
    if (rlx_value_has_mark(callee, RLX_MARK_FUNCTION)) {
        const rlx_module_function *f = callee->v.p;
        return is_of_program(vm, f->image, why) && call_module(vm, f->number, dst, a, why);
    }
    if (rlx_value_has_mark(callee, RLX_MARK_EXTERN)) {
        const rlx_extern_function *f = callee->v.p;
        return is_of_program(vm, f->image, why) && call_packed_slot(vm, f->packed, dst, a, why);
    }
    return rlx_fail(why, RLX_RT18, "the value that is called is no function of this program");
}

RLX_ALWAYS_INLINE void set_callee(const relax_value *callee, call_args *a, const relax_value **fn)
{
    a->closure = rlx_value_has_mark(callee, RLX_MARK_CLOSURE) ? callee->v.p : NULL;
    *fn = rlx_value_callee(callee, &a->bound, &a->num_bound);
}

/* What is sure of a call of f from here; `behind`: the next instruction, which may check its result. */
RLX_ALWAYS_INLINE uint32_t verdict_of(relax_vm *vm, const uint32_t *pc, const uint32_t *behind,
                                      const rlx_module_function *f)
{
    bool checks = rlx_ins_opcode(*behind) == RLX_OP_MATCH && behind[1] == pc[1];
    uint32_t known = pc[3], want = checks ? behind[2] : RLX_NO_INDEX;
    rlx_value_site *s = &vm->sites[(known / 2 ^ want / 4 ^ f->number) % RLX_COUNT(vm->sites)];
    if (RLX_UNLIKELY(s->known != known || s->want != want || s->function != f->number))
        rlx_vm_judge_site(vm, s, f, known, want, rlx_ins_count(*pc));
    return s->verdict;
}

bool rlx_vm_step_value(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    rlx_vm_frame *caller = vm->frame;
    call_args a = { .operands = pc + 3, .count = rlx_ins_count(pc[0]) };
    const relax_value *callee;
    set_callee(&caller->regs[pc[2]], &a, &callee);
    caller->pc = pc + 3 + a.count;
    if (call_value(vm, callee, pc[1], &a, why))
        return true;
    caller->pc = pc;
    return false;
}

/* A function of this program that takes so many arguments is entered without checks where they
 * surely fit, and goes on behind the check of a result that surely fits. */
bool rlx_vm_step_value_known(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    rlx_vm_frame *caller = vm->frame;
    call_args a = { .operands = pc + 4, .count = rlx_ins_count(pc[0]) };
    const relax_value *callee;
    const uint32_t *behind = pc + 4 + a.count;
    set_callee(&caller->regs[pc[2]], &a, &callee);
    caller->pc = behind;
    const rlx_module_function *f =
        rlx_value_has_mark(callee, RLX_MARK_FUNCTION) ? callee->v.p : NULL;
    const rlx_file_function *fn =
        f && f->image == vm->program->image && vm->exe == vm->program
            ? &vm->exe->functions[f->number]
            : NULL;
    bool ok;
    if (RLX_LIKELY(fn && !(fn->flags & RLX_FUNCTION_KERNEL) && num_args(&a) == fn->num_params)) {
        uint32_t verdict = verdict_of(vm, pc, behind, f);
        bool proved = verdict & RLX_SITE_ARGS_FIT &&
                      (!a.closure ||
                       atomic_load_explicit(&a.closure->bound_fits, memory_order_relaxed));
        if (verdict & RLX_SITE_RESULT_FITS)
            caller->pc = behind + MATCH_WORDS;
        ok = push_call(vm, f->number, pc[1], &a, proved, why);
    } else {
        ok = call_value(vm, callee, pc[1], &a, why);
    }
    if (RLX_UNLIKELY(!ok))
        caller->pc = pc;
    return ok;
}

/* The function of the module whose call can take the place of this one, as its result surely is
 * what item `want` describes; NULL: none. */
static const rlx_file_function *replacement(const relax_vm *vm, const relax_value *callee,
                                            uint32_t want)
{
    const rlx_module_function *f =
        rlx_value_has_mark(callee, RLX_MARK_FUNCTION) ? callee->v.p : NULL;
    const rlx_file_function *fn =
        f && f->image == vm->exe->image ? &vm->exe->functions[f->number] : NULL;
    return fn && !(fn->flags & RLX_FUNCTION_KERNEL) &&
                   rlx_desc_result_fits(&vm->env, f->signature, want)
               ? fn
               : NULL;
}

bool rlx_vm_step_tail_value(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    rlx_vm_frame *old = vm->frame;
    call_args a = { .operands = pc + 4, .count = rlx_ins_count(pc[0]) };
    const relax_value *callee;
    set_callee(&old->regs[pc[2]], &a, &callee);
    const rlx_file_function *fn = replacement(vm, callee, pc[3]);
    bool ok;
    if (fn) {
        old->pc = pc;
        return count_fits(vm, fn, &a, why) && replace_frame(vm, fn, &a, false, why);
    }
    old->pc = pc + 4 + a.count;
    ok = call_value(vm, callee, pc[1], &a, why);
    if (!ok)
        old->pc = pc;
    return ok;
}

bool rlx_vm_step_return(relax_vm *vm, uint32_t r, bool *done, relax_value *result, rlx_fault *why)
{
    rlx_vm_frame *f = vm->frame;
    relax_value *from = &f->regs[r];
    if (f->fn->result != RLX_NO_INDEX && !rlx_desc_match(&vm->env, f->fn->result, from, why))
        return rlx_fault_wrap(why, RLX_RT07, "result of %.64s",
                              rlx_name(&vm->exe->names, f->fn->name).data);
    /* Word by word, as whoever wrote the cell just now may have: a load of all of it would wait. */
    relax_value v = { from->type_index, from->reserved, { .i = from->v.i } };
    if (v.reserved == RLX_HELD_BY_PARENT || (v.reserved == RLX_HELD_BY_RUN && f->parent == vm->base)) {
        rlx_value_hold(&v);
        v.reserved = RLX_HELD_BY_FRAME;
    }
    *from = rlx_value_none();
    uint32_t dst = f->dst;
    rlx_vm_frame_pop(vm);
    *done = vm->frame == vm->base;
    if (*done) {
        *result = (relax_value){ v.type_index, 0, { .i = v.v.i } };
        return true;
    }
    uint32_t hold = rlx_value_is_boxed(&v) ? v.reserved : RLX_HELD_BY_RUN;
    if (dst != RLX_NO_INDEX)
        rlx_cell_put(vm, &vm->frame->regs[dst], v, hold);
    else if (hold == RLX_HELD_BY_FRAME)
        rlx_pool_drop(&vm->pool, &v);
    return true;
}
