/* vm_profile.c: the loop that times, and what it found. */
/* built for size */
#include "vm/vm_int.h"

static void rlx_profile_add(relax_vm *vm, uint32_t op, const uint32_t *pc,
                            const rlx_vm_frame *frame, int64_t ns);

#define RLX_LOOP_NAME rlx_vm_run_profile
#define RLX_LOOP_THREADED 0
#define RLX_LOOP_PROFILE 1
#include "vm/vm_loop.h"

static void tally(rlx_tally *t, int64_t ns)
{
    t->count++;
    t->nanoseconds += ns > 0 ? (uint64_t)ns : 0;
}

static void rlx_profile_add(relax_vm *vm, uint32_t op, const uint32_t *pc,
                            const rlx_vm_frame *frame, int64_t ns)
{
    rlx_profile *p = vm->profile;
    vm->instructions++;
    if (!p)
        return;
    tally(&p->ops[op], ns);
    if (op == RLX_OP_CALL_KERNEL && p->kernels) {
        tally(&p->kernels[pc[1]], ns);
        p->kernels[pc[1]].native += vm->kernels.native;
    }
    if ((op == RLX_OP_CALL_PACKED || op == RLX_OP_CALL_BUILTIN) && p->packed)
        tally(&p->packed[pc[2]], ns);
    if (op == RLX_OP_CALL && p->functions) /* calls and the time to get there, not what they do */
        tally(&p->functions[pc[2]], ns);
}

/* ---- starting, stopping, reading ------------------------------------------------------------ */

static rlx_tally *make_tallies(relax_vm *vm, uint32_t count)
{
    return count ? rlx_mem_alloc_zero(&vm->memory->memory, count * sizeof(rlx_tally)) : NULL;
}

void rlx_profile_free(relax_vm *vm)
{
    rlx_profile *p = vm->profile;
    rlx_memory *m = &vm->memory->memory;
    if (!p)
        return;
    rlx_mem_free(m, p->kernels, vm->exe->num_kernels * sizeof(rlx_tally));
    rlx_mem_free(m, p->packed, vm->exe->num_packed * sizeof(rlx_tally));
    rlx_mem_free(m, p->functions, vm->exe->num_functions * sizeof(rlx_tally));
    rlx_mem_free(m, p, sizeof *p);
    vm->profile = NULL;
}

bool rlx_profile_start(relax_vm *vm)
{
    rlx_profile_free(vm);
    rlx_profile *p = vm->profile = rlx_mem_alloc_zero(&vm->memory->memory, sizeof *p);
    if (!p)
        return false;
    p->kernels = make_tallies(vm, vm->exe->num_kernels);
    p->packed = make_tallies(vm, vm->exe->num_packed);
    p->functions = make_tallies(vm, vm->exe->num_functions);
    if ((!p->kernels && vm->exe->num_kernels) || (!p->packed && vm->exe->num_packed) ||
        (!p->functions && vm->exe->num_functions)) {
        rlx_profile_free(vm);
        return false;
    }
    return true;
}

/* False: there is none, as nothing is counted. The row is still open. */
static bool begin_row(rlx_buf *out, bool *first, rlx_slice name, const rlx_tally *t)
{
    if (!t->count)
        return false;
    if (!*first)
        rlx_buf_lit(out, ", ");
    *first = false;
    rlx_buf_lit(out, "{\"name\": ");
    rlx_json_quote(out, name);
    rlx_buf_lit(out, ", \"count\": ");
    rlx_buf_u64(out, t->count);
    rlx_buf_lit(out, ", \"ns\": ");
    rlx_buf_u64(out, t->nanoseconds);
    return true;
}

static void put_row(rlx_buf *out, bool *first, rlx_slice name, const rlx_tally *t)
{
    if (begin_row(out, first, name, t))
        rlx_buf_lit(out, "}");
}

static void put_ops(const relax_vm *vm, rlx_buf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < RLX_OPCODE_COUNT; i++)
        put_row(out, &first, rlx_slice_z(rlx_opcode_info(i)->text), &vm->profile->ops[i]);
}

static void put_kernels(const relax_vm *vm, rlx_buf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < vm->exe->num_kernels; i++)
        if (begin_row(out, &first, rlx_name(&vm->exe->names, vm->exe->kernel_table[i].name), &vm->profile->kernels[i])) {
            rlx_buf_lit(out, ", \"native\": ");
            rlx_buf_u64(out, vm->profile->kernels[i].native);
            rlx_buf_lit(out, "}");
        }
}

static void put_packed(const relax_vm *vm, rlx_buf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < vm->exe->num_packed; i++)
        put_row(out, &first, rlx_name(&vm->exe->names, vm->exe->packed[i]),
                &vm->profile->packed[i]);
}

static void put_functions(const relax_vm *vm, rlx_buf *out)
{
    bool first = true;
    for (uint32_t i = 0; i < vm->exe->num_functions; i++)
        put_row(out, &first, rlx_name(&vm->exe->names, vm->exe->functions[i].name),
                &vm->profile->functions[i]);
}

void rlx_profile_json(const relax_vm *vm, rlx_buf *out)
{
    static const struct { const char *name; void (*put)(const relax_vm *, rlx_buf *);
    } parts[] = {
        { "instructions", put_ops },
        { "kernels", put_kernels },
        { "packed", put_packed },
        { "functions", put_functions },
    };
    rlx_buf_lit(out, "{\"calls\": ");
    rlx_buf_u64(out, vm->profile ? vm->profile->calls : 0);
    rlx_buf_lit(out, ", \"ns\": ");
    rlx_buf_u64(out, vm->profile ? vm->profile->nanoseconds : 0);
    rlx_buf_lit(out, ", \"peak_bytes\": ");
    rlx_buf_u64(out, vm->pool.peak_bytes);
    rlx_buf_lit(out, ", \"peak_buffers\": ");
    rlx_buf_u64(out, vm->pool.peak_buffers);
    rlx_buf_lit(out, ", \"allocations\": ");
    rlx_buf_u64(out, vm->allocations);
    rlx_buf_lit(out, ", \"compiler_processes\": ");
    rlx_buf_u64(out, vm->exe->compiler_processes);
    rlx_buf_lit(out, ", \"native_kernels\": ");
    rlx_buf_u64(out, vm->exe->num_native_kernels);
    for (size_t i = 0; i < RLX_COUNT(parts); i++) {
        rlx_buf_format(out, ", \"%s\": [", parts[i].name);
        if (vm->profile)
            parts[i].put(vm, out);
        rlx_buf_lit(out, "]");
    }
    rlx_buf_lit(out, "}\n");
}
