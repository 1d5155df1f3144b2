/* vm_call.c: machines, calls from outside, failures and their traces. */
#include "vm/vm_int.h"

/* ---- machines ------------------------------------------------------------------------------- */

static void free_stack(relax_vm *vm)
{
    rlx_chunk_of_stack *c = vm->stack;
    while (c && c->prev)
        c = c->prev;
    while (c) {
        rlx_chunk_of_stack *next = c->next;
        rlx_mem_free(&vm->memory->memory, c, c->size);
        c = next;
    }
}

static void free_vm(relax_vm *vm)
{
    rlx_shared_memory *memory = vm->memory;
    rlx_memory *m = &memory->memory;
    for (uint32_t i = 0; vm->packed && i < vm->exe->num_packed; i++)
        if (vm->packed[i].object)
            rlx_object_release(vm->packed[i].object);
    rlx_late_free(vm);
    rlx_profile_free(vm);
    rlx_mem_free(m, vm->packed, vm->exe->num_packed * sizeof *vm->packed);
    rlx_mem_free(m, vm->args, (vm->exe->max_args + (size_t)1) * sizeof *vm->args);
    free_stack(vm);
    rlx_error_release(vm->cause);
    rlx_kernel_env_free(&vm->kernels);
    rlx_workers_free(vm->kernels.workers);
    rlx_pool_free(&vm->pool);
    rlx_registry_release(vm->registry);
    rlx_executable_release(vm->program);
    rlx_handle_ends(vm);
    rlx_mem_free(m, vm, sizeof *vm);
    rlx_shared_memory_release(memory);
}

relax_vm *rlx_vm_make(relax_executable *exe, rlx_shared_memory *memory, const relax_vm_options *options,
                      const struct rlx_micro_set *micro)
{
    const bool alone = options->num_threads < 2;
    relax_vm *vm = rlx_mem_alloc_zero(&memory->memory, sizeof *vm);
    if (!vm)
        return NULL;
    atomic_init(&vm->refs, 1);
    vm->tag = RLX_TAG_VM;
    vm->memory = rlx_shared_memory_retain(memory);
    vm->exe = vm->program = rlx_executable_retain(exe);
    vm->late.compile = options->no_late ? NULL : options->late ? options->late : rlx_late_text.compile;
    vm->late.user = options->late ? options->late_user : NULL;
    vm->registry = rlx_registry_retain(options->registry);
    vm->max_depth = options->max_depth < SIZE_MAX ? (size_t)options->max_depth : SIZE_MAX;
    vm->deadline = INT64_MAX;
    vm->cancel = &vm->never;
    vm->env.descs = exe->descs;
    vm->env.names = &exe->names;
    rlx_pool_init(&vm->pool, memory);
    rlx_kernel_env_init(&vm->kernels, &memory->memory);
    vm->kernels.micro = micro;
    vm->kernels.poll = vm->pool.poll = rlx_vm_poll_kernel;
    vm->kernels.poll_user = vm->pool.poll_user = vm;
    if (exe->num_packed)
        vm->packed = vm->own_packed =
            rlx_mem_alloc_zero(&memory->memory, exe->num_packed * sizeof *vm->packed);
    vm->args = rlx_mem_alloc_zero(&memory->memory, (exe->max_args + (size_t)1) * sizeof *vm->args);
    if (!alone)
        vm->kernels.workers = rlx_workers_make(&memory->memory, (size_t)options->num_threads,
                                               options->parallel_for, options->parallel_user);
    if (vm->args && (vm->packed || !exe->num_packed) && (vm->kernels.workers || alone))
        return vm;
    free_vm(vm);
    return NULL;
}

void rlx_vm_retain(relax_vm *vm)
{
    atomic_fetch_add_explicit(&vm->refs, 1, memory_order_relaxed);
}

void rlx_vm_release(relax_vm *vm)
{
    if (atomic_fetch_sub_explicit(&vm->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (vm->running)
        vm->given_up = true;
    else
        free_vm(vm);
}

void rlx_vm_settle(relax_vm *vm)
{
    if (RLX_UNLIKELY(vm->given_up && !vm->running))
        free_vm(vm);
}

relax_executable *rlx_vm_executable(const relax_vm *vm)
{
    return vm->program;
}

size_t rlx_vm_find(relax_vm *vm, rlx_slice name)
{
    if (name.len && rlx_slice_equal(name, vm->last_name))
        return vm->last_function;
    const relax_executable *e = vm->program;
    /* 0, which is no number counted from 1, becomes RELAX_NOT_FOUND */
    size_t number = (size_t)(uintptr_t)rlx_map_get(&e->by_name, name) - 1;
    if (number != RELAX_NOT_FOUND) {
        vm->last_name = rlx_name(&e->names, e->functions[e->public_functions[number]].name);
        vm->last_function = number;
    }
    return number;
}

void rlx_vm_set_dispatch(relax_vm *vm, enum rlx_vm_dispatch dispatch)
{
    vm->use_switch = dispatch == RLX_DISPATCH_SWITCH;
}

void rlx_vm_set_cancel(relax_vm *vm, const volatile int32_t *flag)
{
    vm->cancel = flag ? flag : &vm->never;
}

bool rlx_vm_is_running(const relax_vm *vm)
{
    return vm->running;
}

rlx_shared_memory *rlx_vm_memory(const relax_vm *vm)
{
    return vm->memory;
}

void rlx_vm_set_deadline(relax_vm *vm, int64_t nanoseconds_from_now)
{
    if (nanoseconds_from_now < 0 ||
        !rlx_add_i64(rlx_clock_ns(), nanoseconds_from_now, &vm->deadline))
        vm->deadline = INT64_MAX;
}

bool rlx_vm_set_profiling(relax_vm *vm, bool on)
{
    if (on && !rlx_profile_start(vm))
        return false;
    vm->profiling = on;
    return true;
}

void rlx_vm_profile_text(const relax_vm *vm, rlx_buf *out)
{
    rlx_profile_json(vm, out);
}

void rlx_vm_read_counters(const relax_vm *vm, relax_vm_counters *out)
{
    out->peak_bytes = vm->pool.peak_bytes;
    out->peak_buffers = vm->pool.peak_buffers;
    out->allocations = vm->allocations;
    out->instructions = vm->instructions;
    out->total_bytes = rlx_mem_live(&vm->memory->memory);
    out->compiler_processes = vm->program->compiler_processes;
    out->native_kernels = vm->program->num_native_kernels;
    rlx_late_read_counters(vm, out);
}

/* ---- failures ------------------------------------------------------------------------------- */

#define MOST_HELD 16   /* bindings of a group that are named */
#define TRACE_ENDS 16 /* of a deep stack the innermost and the outermost are shown */

/* The place that covers word `at` of the code. */
static const rlx_file_place *place_of(const relax_executable *e, uint32_t at)
{
    uint32_t low = 0, high = e->num_places;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (e->places[middle].word <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &e->places[low - 1] : NULL;
}

/* The place of the function itself comes before that of its first binding. */
static const rlx_file_place *place_of_boundary(const relax_executable *e, uint32_t code)
{
    const rlx_file_place *p = place_of(e, code);
    while (p && p > e->places && p[-1].word == code)
        p--;
    return p;
}

static void put_binding(const relax_executable *e, const rlx_file_place *p, rlx_buf *out)
{
    if (p->binding != RLX_NO_INDEX)
        rlx_buf_format(out, " %s", rlx_name(&e->names, p->binding).data);
    if (p->file != RLX_NO_INDEX)
        rlx_buf_format(out, " (%s:%u:%u)", rlx_name(&e->names, p->file).data, p->line, p->column);
}

/* The other bindings of the group that the code at this place computes. */
static void put_held(const relax_executable *e, const rlx_file_place *p, rlx_buf *out)
{
    const rlx_file_place *first = p;
    while (first > e->places && first[-1].word == p->word && first[-1].binding != RLX_NO_INDEX)
        first--;
    for (const rlx_file_place *held = first; held < p && held - first < MOST_HELD; held++) {
        rlx_buf_format(out, "%s", held == first ? ", computed with" : ",");
        put_binding(e, held, out);
    }
    if (p - first > MOST_HELD)
        rlx_buf_format(out, " and %d more", (int)(p - first - MOST_HELD));
}

static void put_frame(const relax_vm *vm, const rlx_vm_frame *f, bool innermost, rlx_buf *out)
{
    const relax_executable *e = vm->exe;
    uint32_t at = f->pc ? (uint32_t)(f->pc - e->code) : f->fn->code;
    /* A caller waits behind its call. */
    const rlx_file_place *p =
        !f->pc ? place_of_boundary(e, at) : place_of(e, innermost || at == 0 ? at : at - 1);
    rlx_buf_format(out, "  in %s", rlx_name(&e->names, f->fn->name).data);
    if (p && p->word >= f->fn->code) {
        if (p->binding != RLX_NO_INDEX)
            rlx_buf_lit(out, ", binding");
        put_binding(e, p, out);
        if (innermost)
            put_held(e, p, out);
    }
    rlx_buf_lit(out, "\n");
}

static void put_trace(const relax_vm *vm, rlx_buf *out)
{
    size_t i = 0, depth = vm->depth - vm->base_depth;
    for (const rlx_vm_frame *f = vm->frame; f != vm->base; f = f->parent, i++) {
        if (i == TRACE_ENDS && depth > 2 * TRACE_ENDS)
            rlx_buf_format(out, "  ... %zu more\n", depth - 2 * TRACE_ENDS);
        if (i < TRACE_ENDS || i + TRACE_ENDS >= depth)
            put_frame(vm, f, i == 0, out);
    }
}

static rlx_slice kind_of(const struct relax_error *cause)
{
    return cause ? (rlx_slice){ cause->kind.data, cause->kind.size } : (rlx_slice){ "", 0 };
}

static void unwind(relax_vm *vm)
{
    while (vm->frame != vm->base)
        rlx_vm_frame_pop(vm);
}

/* For callers that do not want an error. */
static relax_status report_status(relax_vm *vm, const rlx_fault *why)
{
    unwind(vm);
    relax_status status = rlx_fault_status(why, vm->cause);
    rlx_error_release(vm->cause);
    vm->cause = NULL;
    return status;
}

static relax_status report(relax_vm *vm, const rlx_fault *why, relax_error **out)
{
    rlx_buf trace;
    if (!out)
        return report_status(vm, why);
    rlx_buf_init(&trace, &vm->memory->memory);
    put_trace(vm, &trace);
    unwind(vm);
    relax_error *cause = vm->cause;
    vm->cause = NULL;
    rlx_slice text =
        trace.failed || !trace.data ? (rlx_slice){ "", 0 } : (rlx_slice){ trace.data, trace.len };
    *out = rlx_error_make(vm->memory, why, kind_of(cause), text, cause);
    rlx_buf_free(&trace);
    return (*out)->status;
}

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
    p->live_bytes = p->live_buffers = p->peak_bytes = p->peak_buffers = 0;
    vm->allocations_before = allocations_now(vm);
    vm->instructions = 0;
    vm->running = true;
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
        status = report(vm, &why, out);
    if (nested) {
        resume(vm, &s);
        return status;
    }
    vm->allocations = allocations_now(vm) - vm->allocations_before;
    vm->running = false;
    return status;
}

relax_status rlx_vm_call(relax_vm *vm, uint32_t function, const relax_value *args, size_t num_args,
                         relax_value *result, relax_error **out)
{
    return call(vm, call_record, &vm->program->functions[vm->program->public_functions[function]], args,
                num_args, result, out);
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
