/* vm_machine.c: machines, what hosts set and read, failures of calls and their traces. */
/* built for size */
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
    if (!options->allocator && !options->max_memory) /* whoever counts gets back what was let go of */
        rlx_pool_takes_back(&vm->pool);
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

relax_status rlx_vm_report(relax_vm *vm, const rlx_fault *why, relax_error **out)
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
