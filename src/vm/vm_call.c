/* vm_call.c: calls from outside. */
#include "vm/vm_int.h"

/* ---- calls ---------------------------------------------------------------------------------- */

static bool run(relax_vm *vm, relax_value *result, rlx_fault *why)
{
    if (!vm->profiling)
        return vm->use_switch ? rlx_vm_run_switch(vm, result, why)
                              : rlx_vm_run_threaded(vm, result, why);
    int64_t started = rlx_clock_ns();
    bool ok = rlx_vm_run_profile(vm, result, why);
    if (vm->profile) {
        vm->profile->calls++;
        vm->profile->nanoseconds += (uint64_t)(rlx_clock_ns() - started);
    }
    return ok;
}

/* The parameters of the outermost frame are the host's. */
static bool take_args(relax_vm *vm, relax_value *to, const relax_value *args, size_t num_args,
                      rlx_fault *why)
{
    for (size_t i = 0; i < num_args; i++) {
        int32_t tag = args[i].type_index;
        bool boxed = tag >= RLX_TAG_BOXED;
        rlx_tensor_object *lent =
            tag == RELAX_VALUE_TENSOR_VIEW && vm->nested ? rlx_tensor_of_view(args[i].v.p) : NULL;
        if (lent) { /* what the packed function that calls was given */
            to[i] = rlx_value_object(RELAX_VALUE_TENSOR, lent);
            to[i].reserved = RLX_HELD_BY_RUN;
            continue;
        }
        if ((tag > RELAX_VALUE_DEVICE && !boxed) || tag < 0 || (boxed && !args[i].v.p))
            return rlx_fail(why, RLX_RT02,
                            "argument %zu has type %d: strings and tensors must be boxed values",
                            i + 1, (int)tag);
        if (tag == RELAX_VALUE_TENSOR && !rlx_value_tensor(&args[i])) {
            relax_value copy = args[i];
            if (!rlx_value_adopt(&vm->pool, &copy, why))
                return rlx_fault_wrap(why, RLX_RT02, "argument %zu", i + 1);
        }
        to[i] = args[i];
        to[i].reserved = RLX_HELD_BY_RUN;
    }
    return true;
}

static bool call_kernel(relax_vm *vm, const rlx_file_function *fn, const relax_value *args,
                        size_t num_args, rlx_fault *why)
{
    const rlx_kernel *k = vm->exe->kernels[fn->code];
    int64_t params = rlx_kernel_num_params(k);
    rlx_slice name = rlx_name(&vm->exe->names, fn->name);
    if ((int64_t)num_args != params)
        return rlx_fail(why, RLX_RT01, "%.*s takes %lld arguments, got %zu",
                        (int)(name.len & 0xff), name.data, (long long)params, num_args);
    relax_value *cells = num_args <= vm->exe->max_args
                             ? vm->args
                             : rlx_mem_alloc(&vm->memory->memory, num_args * sizeof *cells);
    if (!cells)
        return rlx_fail(why, RLX_RT10, "out of memory");
    bool ok = take_args(vm, cells, args, num_args, why);
    for (size_t i = 0; ok && i < num_args; i++) {
        const rlx_tensor_object *t = rlx_value_tensor(&cells[i]);
        if (t && t->read_only && rlx_kernel_param_is_written(k, (int32_t)i))
            ok = rlx_fail(why, RLX_RT02,
                          "argument %zu of %.*s is written, but the tensor is read-only", i + 1,
                          (int)(name.len & 0xff), name.data);
        const DLTensor *view = rlx_value_view(&cells[i]);
        if (view)
            cells[i] =
                (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = (void *)(uintptr_t)view } };
    }
    ok = ok && rlx_kernel_call(k, &vm->kernels, cells, (int32_t)num_args, why);
    if (cells != vm->args)
        rlx_mem_free(&vm->memory->memory, cells, num_args * sizeof *cells);
    return ok;
}

static bool call_relax(relax_vm *vm, const rlx_file_function *fn, const relax_value *args,
                       size_t num_args, relax_value *result, rlx_fault *why)
{
    rlx_slice name = rlx_name(&vm->exe->names, fn->name);
    if (num_args != fn->num_params)
        return rlx_fail(why, RLX_RT01, "%.*s takes %u argument%s, got %zu", (int)(name.len & 0xff),
                        name.data, fn->num_params, fn->num_params == 1 ? "" : "s", num_args);
    rlx_vm_frame *f = rlx_vm_frame_push(vm, fn, RLX_NO_INDEX, why);
    return f && take_args(vm, f->regs, args, num_args, why) && rlx_vm_poll_slow(vm, why) &&
           rlx_vm_frame_enter(vm, false, why) && run(vm, result, why);
}

static size_t allocations_now(const relax_vm *vm)
{
    return atomic_load_explicit(&vm->memory->memory.count, memory_order_relaxed);
}

static void begin_call(relax_vm *vm)
{
    rlx_pool *p = &vm->pool;
    rlx_pool_look(p);
    p->calls++;
    p->live_bytes = p->live_buffers = p->peak_bytes = p->peak_buffers = 0;
    vm->allocations_before = allocations_now(vm);
    vm->instructions = 0;
    vm->running = true;
    if (RLX_UNLIKELY(vm->kernels.workers))
        rlx_workers_expect(vm->kernels.workers, true);
}

static void end_call(relax_vm *vm)
{
    vm->allocations = allocations_now(vm) - vm->allocations_before;
    vm->running = false;
    if (RLX_UNLIKELY(vm->kernels.workers))
        rlx_workers_expect(vm->kernels.workers, false);
}

/* What of a running VM a call out of a packed function keeps for that. */
typedef struct suspended {
    rlx_vm_frame *base;
    size_t base_depth;
    relax_executable *exe;
    rlx_packed_slot *packed;
    relax_value *args;
    relax_tensor *const *into;
    size_t num_into;
    relax_error *cause;
} suspended;

/* The arguments of the packed function lie in vm->args, so the call gets others. */
static bool suspend(relax_vm *vm, suspended *s, rlx_fault *why)
{
    *s = (suspended){ vm->base, vm->base_depth, vm->exe, vm->packed, vm->args,
                      vm->into, vm->num_into,   vm->cause };
    if (vm->nested >= RLX_VM_MAX_NESTED)
        return rlx_fail(why, RLX_RT11, "more than %d calls out of packed functions are active",
                        RLX_VM_MAX_NESTED);
    relax_value *args =
        rlx_mem_alloc_zero(&vm->memory->memory, (vm->program->max_args + (size_t)1) * sizeof *args);
    if (!args)
        return rlx_fail(why, RLX_RT10, "out of memory for a call");
    vm->nested++;
    vm->base = vm->frame;
    vm->base_depth = vm->depth;
    rlx_vm_run_code_of(vm, vm->program, vm->own_packed, args);
    vm->into = NULL;
    vm->num_into = 0;
    vm->cause = NULL;
    return true;
}

static void resume(relax_vm *vm, const suspended *s)
{
    rlx_mem_free(&vm->memory->memory, vm->args, (vm->exe->max_args + (size_t)1) * sizeof *vm->args);
    rlx_vm_run_code_of(vm, s->exe, s->packed, s->args);
    vm->nested--;
    vm->base = s->base;
    vm->base_depth = s->base_depth;
    vm->into = s->into;
    vm->num_into = s->num_into;
    vm->cause = s->cause;
}

/* Something to be called, with all its arguments. */
typedef bool (*call_fn)(relax_vm *vm, const void *callee, const relax_value *args, size_t num_args,
                        relax_value *result, rlx_fault *why);

static bool call_record(relax_vm *vm, const void *callee, const relax_value *args, size_t num_args,
                        relax_value *result, rlx_fault *why)
{
    const rlx_file_function *fn = callee;
    return (fn->flags & RLX_FUNCTION_KERNEL) ? call_kernel(vm, fn, args, num_args, why)
                                             : call_relax(vm, fn, args, num_args, result, why);
}

static relax_status call(relax_vm *vm, call_fn fn, const void *callee, const relax_value *args,
                         size_t num_args, relax_value *result, relax_error **out)
{
    rlx_fault why;
    suspended s;
    bool nested = vm->running;
    rlx_fault_begin(&why);
    *result = rlx_value_none();
    if (nested && !suspend(vm, &s, &why))
        return rlx_error_give(vm->memory, out, &why);
    if (!nested)
        begin_call(vm);
    relax_status status = RELAX_OK;
    rlx_float_env host = rlx_float_enter();
    bool ok = fn(vm, callee, args, num_args, result, &why);
    rlx_float_leave(host);
    if (RLX_UNLIKELY(!ok))
        status = rlx_vm_report(vm, &why, out);
    if (nested) {
        resume(vm, &s);
        return status;
    }
    end_call(vm);
    return status;
}

relax_status rlx_vm_call(relax_vm *vm, uint32_t function, const relax_value *args, size_t num_args,
                         relax_value *result, relax_error **out)
{
    return call(vm, call_record, &vm->program->functions[vm->program->public_functions[function]], args,
                num_args, result, out);
}

/* ---- calls that take their arguments over --------------------------------------------------- */

/* What the frame has taken is nobody's outside any more. */
static void own_args(relax_value *to, relax_value *args, size_t num_args)
{
    for (size_t i = 0; i < num_args; i++)
        if (rlx_value_is_boxed(&args[i])) {
            to[i].reserved = RLX_HELD_BY_FRAME;
            args[i] = rlx_value_none();
        }
}

typedef struct moved { const rlx_file_function *fn; relax_value *args; } moved;

static bool call_moved(relax_vm *vm, const void *callee, const relax_value *args, size_t num_args,
                       relax_value *result, rlx_fault *why)
{
    const moved *m = callee;
    if ((m->fn->flags & RLX_FUNCTION_KERNEL) || num_args != m->fn->num_params)
        return call_record(vm, m->fn, args, num_args, result, why);
    rlx_vm_frame *f = rlx_vm_frame_push(vm, m->fn, RLX_NO_INDEX, why);
    if (!f || !take_args(vm, f->regs, args, num_args, why))
        return false;
    own_args(f->regs, m->args, num_args);
    return rlx_vm_poll_slow(vm, why) && rlx_vm_frame_enter(vm, false, why) && run(vm, result, why);
}

relax_status rlx_vm_call_move(relax_vm *vm, uint32_t function, relax_value *args, size_t num_args,
                              relax_value *result, relax_error **out)
{
    const moved m = { &vm->program->functions[vm->program->public_functions[function]], args };
    return call(vm, call_moved, &m, args, num_args, result, out);
}

/* ---- calls of values ------------------------------------------------------------------------ */

static bool call_packed(relax_vm *vm, relax_packed_fn fn, void *self, rlx_slice name,
                        const relax_value *args, size_t num_args, relax_value *result,
                        rlx_fault *why)
{
    if (num_args > INT32_MAX)
        return rlx_fail(why, RLX_RT01, "%zu arguments", num_args);
    return rlx_packed_finish(vm, fn(self, args, (int32_t)num_args, result), result, name, why);
}

static bool call_named(relax_vm *vm, uint32_t number, const relax_value *args, size_t num_args,
                       relax_value *result, rlx_fault *why)
{
    rlx_packed_slot *slot = &vm->packed[number];
    if (!rlx_vm_find_packed(vm, number, why))
        return false;
    if (slot->in_module)
        return call_record(vm, &vm->exe->functions[slot->function], args, num_args, result, why);
    return call_packed(vm, slot->fn, slot->self,
                       rlx_name(&vm->exe->names, vm->exe->packed[number]), args, num_args, result,
                       why);
}

static bool call_callee(relax_vm *vm, const relax_value *callee, const relax_value *args,
                        size_t num_args, relax_value *result, rlx_fault *why)
{
    static const rlx_slice value = { "(value)", 7 };
    const rlx_module_function *f =
        rlx_value_has_mark(callee, RLX_MARK_FUNCTION) ? callee->v.p : NULL;
    const rlx_extern_function *e =
        rlx_value_has_mark(callee, RLX_MARK_EXTERN) ? callee->v.p : NULL;
    if (callee->type_index == RELAX_VALUE_FUNCTION) {
        rlx_packed *p = callee->v.p;
        return call_packed(vm, p->safe_call, p, value, args, num_args, result, why);
    }
    if (f && f->image == vm->exe->image)
        return call_record(vm, &vm->exe->functions[f->number], args, num_args, result, why);
    if (e && e->image == vm->exe->image)
        return call_named(vm, e->packed, args, num_args, result, why);
    return rlx_fail(why, RLX_RT18, "the value that is called is no function of this program");
}

static bool call_any(relax_vm *vm, const void *function, const relax_value *args, size_t num_args,
                     relax_value *result, rlx_fault *why)
{
    const relax_value *bound, *callee;
    size_t num_bound, all;
    callee = rlx_value_callee(function, &bound, &num_bound);
    if (!num_bound)
        return call_callee(vm, callee, args, num_args, result, why);
    rlx_memory *m = &vm->memory->memory;
    if (!rlx_add_size(num_args, num_bound, &all) || all > SIZE_MAX / sizeof *args)
        return rlx_fail(why, RLX_RT10, "out of memory for arguments");
    relax_value *list = rlx_mem_alloc(m, all * sizeof *list);
    if (!list)
        return rlx_fail(why, RLX_RT10, "out of memory for %zu arguments", all);
    if (num_args)
        memcpy(list, args, num_args * sizeof *list);
    memcpy(list + num_args, bound, num_bound * sizeof *list);
    bool ok = call_callee(vm, callee, list, all, result, why);
    rlx_mem_free(m, list, all * sizeof *list);
    return ok;
}

relax_status rlx_vm_call_value(relax_vm *vm, const relax_value *function, const relax_value *args,
                               size_t num_args, relax_value *result, relax_error **out)
{
    return call(vm, call_any, function, args, num_args, result, out);
}

/* ---- calls with buffers for the results ----------------------------------------------------- */

/* One leaf of the result: already in its buffer, or copied there. */
static bool deliver(relax_vm *vm, size_t i, const relax_value *leaf, rlx_fault *why)
{
    const DLTensor *have = rlx_value_view(leaf);
    if (i >= vm->num_into)
        return rlx_fail(why, RLX_RT07, "the result holds more tensors than the %zu buffers",
                        vm->num_into);
    const rlx_tensor_object *to = (const rlx_tensor_object *)vm->into[i];
    if (!have)
        return rlx_fail(why, RLX_RT07, "part %zu of the result is no tensor", i);
    return have == &to->view || rlx_tensor_copy(have, &to->view, why) ||
           rlx_fault_wrap(why, RLX_RT07, "buffer %zu", i);
}

#define MAX_PARTS                                                                                \
    ((size_t)1 << 20) /* a tuple may hold one tuple many times, and that one another: small, but \
                         no end of parts */

/* Tuples depth first; nesting is followed to a fixed depth, without recursion. */
static bool deliver_all(relax_vm *vm, const relax_value *result, rlx_fault *why)
{
    struct { const relax_value *at; size_t left; } open[RLX_DESC_MAX_NESTING + 1];
    size_t depth = 1, next = 0, parts = 0;
    open[0].at = result;
    open[0].left = 1;
    while (depth) {
        if (open[depth - 1].left == 0) {
            depth--;
            continue;
        }
        const relax_value *v = open[depth - 1].at++;
        open[depth - 1].left--;
        if (parts++ == MAX_PARTS)
            return rlx_fail(why, RLX_RT07, "the result has more than %zu parts", MAX_PARTS);
        const rlx_tuple_object *t = rlx_value_tuple(v);
        if (!t) {
            if (!deliver(vm, next++, v, why))
                return false;
            continue;
        }
        if (depth > RLX_DESC_MAX_NESTING)
            return rlx_fail(why, RLX_RT07, "the result is nested deeper than %d",
                            RLX_DESC_MAX_NESTING);
        open[depth].at = t->fields;
        open[depth++].left = t->count;
    }
    return next == vm->num_into ||
           rlx_fail(why, RLX_RT07, "the result holds %zu tensors, got %zu buffers", next,
                    vm->num_into);
}

typedef struct buffered {
    const rlx_file_function *fn;
    relax_tensor *const *into;
    size_t num_into;
} buffered;

static bool call_buffered(relax_vm *vm, const void *callee, const relax_value *args,
                          size_t num_args, relax_value *result, rlx_fault *why)
{
    const buffered *b = callee;
    vm->into = b->into;
    vm->num_into = b->num_into;
    bool ok = call_record(vm, b->fn, args, num_args, result, why) && deliver_all(vm, result, why);
    vm->into = NULL;
    vm->num_into = 0;
    return ok;
}

relax_status rlx_vm_call_into(relax_vm *vm, uint32_t function, const relax_value *args,
                              size_t num_args, relax_tensor *const *buffers, size_t num_buffers,
                              relax_error **out)
{
    const buffered b = { &vm->program->functions[vm->program->public_functions[function]], buffers,
                         num_buffers };
    relax_value result;
    relax_status status = call(vm, call_buffered, &b, args, num_args, &result, out);
    rlx_pool_drop(&vm->pool, &result);
    return status;
}
