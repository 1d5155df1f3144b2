/*- late.c: operators on operands that only the run knows.
 *
 * CALL_LATE holds a program with holes (codegen/vmgen_late.c). What it meets makes a signature:
 *
 *     f(x: tensor of float32 and rank 2, s: shape of 3)   ->   | program | tensor word | SHAPE 3 |
 *
 * Where there are several operands, a tensor's word is followed by one that says which of its sizes
 * are 1, and which those of the first operand: then nothing has to be broadcast element by
 * element.
 *
 * For each signature there is a small executable, compiled when it is first met, or found in the
 * file. Sizes are left open; if the operator cannot be compiled so, its signature is noted as
 * `detailed`, and sizes follow the words of each operand.
 *
 *     rlx_late_link     of one VM: found without a lock, with argument cells of its own
 *     rlx_late_entry    of the executable, for all VMs of it (late_compile.c)
 *
 * A late call runs in its VM: the same pool, limits and threads. The code that runs changes to
 * that of the small executable and back (rlx_vm_run_code_of), one frame above. */
/* built for size */
#include "vm/vm_int.h"

#define MOST_LINKS 256 /* of a VM */

/* ---- signatures ----------------------------------------------------------------------------- */

/* Room for `more` words. */
static RLX_NOINLINE bool grow_key(relax_vm *vm, size_t more)
{
    rlx_late *l = &vm->late;
    size_t cap = 2 * l->key_cap > l->key_len + more ? 2 * l->key_cap : l->key_len + more;
    uint64_t *now = rlx_mem_alloc(&vm->memory->memory, cap * sizeof *now);
    if (!now)
        return false;
    if (l->key_len)
        memcpy(now, l->key, l->key_len * sizeof *now);
    rlx_mem_free(&vm->memory->memory, l->key, l->key_cap * sizeof *l->key);
    l->key = now;
    l->key_cap = cap;
    return true;
}

static bool put_word(relax_vm *vm, uint64_t word)
{
    rlx_late *l = &vm->late;
    if (RLX_UNLIKELY(l->key_len == l->key_cap) && !grow_key(vm, 16))
        return false;
    l->key[l->key_len++] = word;
    return true;
}

static bool put_sizes(relax_vm *vm, const int64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!put_word(vm, (uint64_t)sizes[i]))
            return false;
    return true;
}

static bool put_operand(relax_vm *vm, const relax_value *v, bool detailed, int depth)
{
    const DLTensor *t = rlx_value_view(v);
    const rlx_shape_object *s = rlx_value_shape(v);
    const rlx_tuple_object *tuple = depth ? rlx_value_tuple(v) : NULL;
    bool scalar = v->type_index == RELAX_VALUE_INT || v->type_index == RELAX_VALUE_BOOL;
    if (RLX_LIKELY(t != NULL))
        return put_word(vm, rlx_dl_key(t)) &&
               (!detailed || put_sizes(vm, t->shape, (size_t)t->ndim));
    if (s)
        return put_word(vm, rlx_late_word(RLX_LATE_SHAPE, s->ndim)) &&
               (!detailed || put_sizes(vm, s->dims, s->ndim));
    if (!tuple)
        return put_word(vm, rlx_late_word(scalar ? RLX_LATE_SCALAR : RLX_LATE_OTHER, (uint32_t)v->type_index));
    bool ok = put_word(vm, rlx_late_word(RLX_LATE_TUPLE, tuple->count));
    for (size_t i = 0; ok && i < tuple->count; i++)
        ok = put_operand(vm, &tuple->fields[i], detailed, depth - 1);
    return ok;
}

/* Two bits for each size, from the last one on. */
static uint64_t like_first(const DLTensor *first, const DLTensor *t, bool is_first)
{
    uint64_t bits = 0;
    for (int32_t i = t->ndim; i-- > 0;)
        bits = bits << 2 | (uint64_t)rlx_late_size(first, t, is_first, i);
    return bits;
}

/* The signature in vm->late.key. */
static bool make_key(relax_vm *vm, uint32_t program, const relax_value *args, uint32_t count,
                     bool detailed)
{
    rlx_late *l = &vm->late;
    const DLTensor *first = count > 1 && !detailed ? rlx_value_view(args) : NULL;
    l->key_len = 0;
    l->bits = 0;
    if (!put_word(vm, program | (detailed ? RLX_LATE_DETAILED : 0)))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const DLTensor *t = rlx_value_view(&args[i]);
        if (RLX_UNLIKELY(l->key_cap - l->key_len < 2) && !grow_key(vm, 16))
            return false;
        if (RLX_UNLIKELY(!t || detailed)) {
            if (!put_operand(vm, &args[i], detailed, RLX_DESC_MAX_NESTING))
                return false;
            continue;
        }
        l->key[l->key_len++] = rlx_dl_key(t);
        if (!first)
            continue;
        l->bits |= l->key_len < 64 ? (uint64_t)1 << l->key_len : 0;
        l->key[l->key_len++] = like_first(first, t, i == 0);
    }
    return true;
}

static uint64_t hash_key(const uint64_t *key, size_t len)
{
    uint64_t h = len;
    for (size_t i = 0; i < len; i++)
        h = (h ^ key[i] ^ h >> 29) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* ---- what a VM keeps ------------------------------------------------------------------------ */

struct rlx_late_link {
    rlx_late_link *next;
    uint64_t hash;
    relax_executable *exe;     /* one reference; NULL: asked with sizes */
    const rlx_file_function *main;
    rlx_packed_slot *packed;
    relax_value *args;
    int64_t patience;          /* work until it is compiled again, better; 0: it is good */
    uint32_t active;           /* calls of it */
    size_t key_len;
    uint64_t key[];
};

/* Lets go of what was compiled. */
static void empty_link(relax_vm *vm, rlx_late_link *x)
{
    rlx_memory *m = &vm->memory->memory;
    relax_executable *e = x->exe;
    if (!e)
        return;
    for (uint32_t i = 0; x->packed && i < e->num_packed; i++)
        if (x->packed[i].object)
            rlx_object_release(x->packed[i].object);
    rlx_mem_free(m, x->packed, e->num_packed * sizeof *x->packed);
    rlx_mem_free(m, x->args, (e->max_args + (size_t)1) * sizeof *x->args);
    rlx_executable_release(e);
    x->exe = NULL;
    x->packed = NULL;
    x->args = NULL;
}

static void free_link(relax_vm *vm, rlx_late_link *x)
{
    empty_link(vm, x);
    rlx_mem_free(&vm->memory->memory, x, sizeof *x + x->key_len * sizeof *x->key);
}

#define PATIENCE 64 /* small calls that a quick compilation is good for */

/* Takes over the reference. False: out of memory. */
static bool fill_link(relax_vm *vm, rlx_late_link *x, const rlx_late_instance *is)
{
    rlx_memory *m = &vm->memory->memory;
    relax_executable *e = is->exe;
    empty_link(vm, x);
    x->exe = e;
    x->patience = is->brief ? PATIENCE : 0;
    if (!e)
        return true;
    uintptr_t main = (uintptr_t)rlx_map_get(&e->by_name, RLX_SLICE("main"));
    x->main = &e->functions[e->public_functions[main - 1]];
    x->args = rlx_mem_alloc_zero(m, (e->max_args + (size_t)1) * sizeof *x->args);
    x->packed = e->num_packed ? rlx_mem_alloc_zero(m, e->num_packed * sizeof *x->packed) : NULL;
    return x->args && (!e->num_packed || x->packed);
}

/* Forgets all that are not active. */
static void forget_links(relax_vm *vm)
{
    rlx_late *l = &vm->late;
    l->count = 0;
    memset(l->recent, 0, sizeof l->recent);
    for (size_t i = 0; i < RLX_COUNT(l->links); i++) {
        rlx_late_link **at = &l->links[i];
        while (*at) {
            rlx_late_link *x = *at;
            if (x->active) {
                at = &x->next;
                l->count++;
                continue;
            }
            *at = x->next;
            free_link(vm, x);
        }
    }
}

void rlx_late_free(relax_vm *vm)
{
    forget_links(vm);
    rlx_mem_free(&vm->memory->memory, vm->late.key, vm->late.key_cap * sizeof *vm->late.key);
}

/* Takes over the reference. NULL: out of memory. */
static rlx_late_link *make_link(relax_vm *vm, uint64_t hash, const rlx_late_instance *is)
{
    rlx_late *l = &vm->late;
    if (l->count >= MOST_LINKS)
        forget_links(vm);
    rlx_late_link *x =
        rlx_mem_alloc_zero(&vm->memory->memory, sizeof *x + l->key_len * sizeof *x->key);
    if (!x) {
        if (is->exe)
            rlx_executable_release(is->exe);
        return NULL;
    }
    x->hash = hash;
    x->key_len = l->key_len;
    memcpy(x->key, l->key, l->key_len * sizeof *l->key);
    if (!fill_link(vm, x, is)) {
        free_link(vm, x);
        return NULL;
    }
    x->next = l->links[hash % RLX_COUNT(l->links)];
    l->links[hash % RLX_COUNT(l->links)] = x;
    l->count++;
    return x;
}

static rlx_late_link *find_link(const rlx_late *l, uint64_t hash)
{
    for (rlx_late_link *x = l->links[hash % RLX_COUNT(l->links)]; x; x = x->next)
        if (x->hash == hash && x->key_len == l->key_len &&
            rlx_late_same_key(x->key, l->key, l->key_len))
            return x;
    return NULL;
}

static void take_link(relax_vm *vm, rlx_late_link *x)
{
    rlx_late_link **at = &vm->late.links[x->hash % RLX_COUNT(vm->late.links)];
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    memset(vm->late.recent, 0, sizeof vm->late.recent);
    vm->late.count--;
    free_link(vm, x);
}

/* What a call is good for: one, and more for large operands. */
static int64_t work_of(const relax_value *args, uint32_t count)
{
    int64_t work = 1;
    for (uint32_t i = 0; i < count && work < PATIENCE; i++) {
        const DLTensor *t = rlx_value_view(&args[i]);
        int64_t elements = 1;
        for (int32_t d = 0; t && d < t->ndim && elements < PATIENCE * 256; d++)
            elements *= t->shape[d] < PATIENCE * 256 ? t->shape[d] : PATIENCE * 256;
        work += t ? elements / 256 : 0;
    }
    return work;
}

/* The link of a signature that this VM meets for the first time. */
static RLX_NOINLINE rlx_late_link *meet(relax_vm *vm, const uint32_t *pc, bool detailed,
                                        uint64_t hash, rlx_fault *why)
{
    rlx_late_instance is = { NULL, false };
    if (!rlx_late_find(vm, pc, detailed, work_of(vm->args, RLX_LATE_HOLES(pc)) < PATIENCE, hash, &is, why))
        return NULL;
    rlx_late_link *x = find_link(&vm->late, hash); /* the compiler may have called the VM */
    if (x) {
        if (is.exe)
            rlx_executable_release(is.exe);
        return x;
    }
    x = make_link(vm, hash, &is);
    if (!x)
        rlx_late_no_memory(why);
    return x;
}

/* Counts a call of what was compiled quickly, and has it compiled again when that pays. */
static RLX_NOINLINE bool wear(relax_vm *vm, const uint32_t *pc, bool detailed, rlx_late_link *x,
                              rlx_fault *why)
{
    rlx_late_instance is = { NULL, false };
    x->patience -= work_of(vm->args, RLX_LATE_HOLES(pc));
    if (x->patience > 0 || x->active) {
        x->patience += x->patience <= 0;
        return true;
    }
    x->patience = 1; /* until it is done */
    x->active++;     /* and nobody forgets it, whom the compiler calls */
    bool found = rlx_late_find(vm, pc, detailed, false, x->hash, &is, why);
    x->active--;
    if (!found)
        return false;
    if (fill_link(vm, x, &is))
        return true;
    take_link(vm, x);
    return rlx_late_no_memory(why);
}

static rlx_late_link *link_of(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    for (int detailed = 0; detailed < 2; detailed++) {
        if (RLX_UNLIKELY(!make_key(vm, pc[2], vm->args, RLX_LATE_HOLES(pc), detailed))) {
            rlx_late_no_memory(why);
            return NULL;
        }
        rlx_late_link **recent = &vm->late.recent[pc[2] % RLX_COUNT(vm->late.recent)], *x = *recent;
        if (RLX_UNLIKELY(!x || x->key_len != vm->late.key_len ||
                         !rlx_late_same_key(x->key, vm->late.key, x->key_len))) {
            uint64_t hash = hash_key(vm->late.key, vm->late.key_len);
            x = find_link(&vm->late, hash);
            if (!x && !(x = meet(vm, pc, detailed, hash, why)))
                return NULL;
            *recent = x;
        }
        if (RLX_UNLIKELY(x->patience) && !wear(vm, pc, detailed, x, why))
            return NULL;
        if (x->exe)
            return x;
    }
    rlx_fail(why, RLX_RT21, "a late call without a program");
    return NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Runs main of the link on the arguments in vm->args, in a frame of its own, with these cells for
 * arguments. */
static bool run_with(relax_vm *vm, rlx_late_link *x, relax_value *cells, uint32_t count,
                     relax_value *result, rlx_fault *why)
{
    rlx_vm_frame *base = vm->base;
    size_t base_depth = vm->base_depth, num_into = vm->num_into;
    relax_executable *exe = vm->exe;
    rlx_packed_slot *packed = vm->packed;
    relax_value *args = vm->args;
    vm->base = vm->frame;
    vm->base_depth = vm->depth;
    vm->num_into = 0; /* buffers are those of the function that the host called */
    x->active++;
    rlx_vm_run_code_of(vm, x->exe, x->packed, cells);
    rlx_vm_frame *f = rlx_vm_frame_push(vm, x->main, RLX_NO_INDEX, why);
    if (f)
        memcpy(f->regs, args, count * sizeof *args);
    bool ok = f && rlx_vm_frame_enter(vm, false, why) &&
              (vm->use_switch ? rlx_vm_run_switch(vm, result, why)
                              : rlx_vm_run_threaded(vm, result, why));
    while (vm->frame != vm->base)
        rlx_vm_frame_pop(vm);
    rlx_vm_run_code_of(vm, exe, packed, args);
    x->active--;
    vm->base = base;
    vm->base_depth = base_depth;
    vm->num_into = num_into;
    return ok;
}

/* The cells of the link may hold the arguments of a packed function that it has called, and that has
 * called the VM: then the call gets others. */
static bool run_link(relax_vm *vm, rlx_late_link *x, uint32_t count, relax_value *result,
                     rlx_fault *why)
{
    rlx_memory *m = &vm->memory->memory;
    size_t bytes = (x->exe->max_args + (size_t)1) * sizeof *x->args;
    if (RLX_LIKELY(!x->active))
        return run_with(vm, x, x->args, count, result, why);
    relax_value *cells = rlx_mem_alloc_zero(m, bytes);
    bool ok = cells ? run_with(vm, x, cells, count, result, why) : rlx_late_no_memory(why);
    rlx_mem_free(m, cells, bytes);
    return ok;
}

/* The failure of a late call is told with the operator's name in front. */
static bool say_operator(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    rlx_slice shown = rlx_late_shown(vm, pc);
    rlx_fault_wrap(why, (enum rlx_code_id)why->code, "R.%.*s", (int)(shown.len & 0xff), shown.data);
    why->inner = 0;
    return false;
}

bool rlx_vm_step_late(relax_vm *vm, const uint32_t *pc, rlx_fault *why)
{
    uint32_t count = rlx_ins_count(pc[0]);
    relax_value result = rlx_value_none();
    if (RLX_UNLIKELY(!rlx_vm_poll(vm, why)) || !rlx_vm_args(vm, pc + 5, count, false, vm->args, why))
        return false;
    rlx_late_link *x = link_of(vm, pc, why);
    if (RLX_UNLIKELY(!x))
        return false;
    vm->late.calls++;
    if (RLX_UNLIKELY(count != x->main->num_params))
        return rlx_fail(why, RLX_RT21, "what was compiled takes %u arguments, not %u",
                        x->main->num_params, count);
    if (RLX_UNLIKELY(!run_link(vm, x, count, &result, why)))
        return say_operator(vm, pc, why);
    rlx_vm_put_result(vm, pc[1], result);
    return true;
}
