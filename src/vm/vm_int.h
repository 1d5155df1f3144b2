/* vm_int.h: shared by the files of vm. */
#ifndef RLX_VM_INT_H
#define RLX_VM_INT_H

#include "format/late_key.h"
#include "vm/vm.h"

/* ---- loading -------------------------------------------------------------------------------- */

/* Checks the code of every function. `starts`: items of DESCS (rlx_desc_verify). Sets *max_args
 * to the longest operand list, *has_late if there is a CALL_LATE. */
bool rlx_verify_code(const relax_executable *e, const uint64_t *starts, uint32_t *max_args,
                     bool *has_late, rlx_fault *why);

/* Finds out which arguments of kernels need no checks; the code has been verified. */
bool rlx_prove_calls(relax_executable *e, rlx_fault *why);

/* load_native.c: kernels that have code of their own in the file. */
bool rlx_load_native(relax_executable *e, const unsigned char *data, uint64_t size, bool allow,
                     rlx_fault *why);
void rlx_free_native(relax_executable *e);

/* ---- running -------------------------------------------------------------------------------- */

typedef struct rlx_chunk_of_stack rlx_chunk_of_stack;
/* One active function:  | rlx_vm_frame | num_regs cells | num_syms slots |  in a chunk of the VM's
 * stack. */
typedef struct rlx_vm_frame {
    struct rlx_vm_frame *parent; /* the VM's base: called from outside */
    const rlx_file_function *fn;
    const uint32_t *pc;            /* while it waits or has failed: the instruction at hand */
    relax_value *regs;
    int64_t *syms;
    uint32_t dst;                  /* register of the parent for the result, or RLX_NO_INDEX */
    rlx_chunk_of_stack *chunk;
    size_t before;                 /* chunk->used without this frame */
} rlx_vm_frame;
struct rlx_chunk_of_stack { rlx_chunk_of_stack *prev, *next; size_t size, used; };

#define RLX_VM_MAX_NESTED 64 /* calls out of packed functions: each takes C stack */

/* A packed function as this VM found it. All zero: not looked for yet. */
typedef struct rlx_packed_slot {
    relax_packed_fn fn;   /* NULL: not found yet, or a function of the module */
    void *self;
    rlx_object *object;   /* one reference */
    bool in_module;
    uint32_t function;
} rlx_packed_slot;

/* native: calls of a kernel that ran native code. */
typedef struct rlx_tally { uint64_t count, nanoseconds, native; } rlx_tally;
typedef struct rlx_profile {
    rlx_tally ops[RLX_OPCODE_COUNT];
    rlx_tally *kernels, *packed, *functions; /* by number */
    uint64_t calls, nanoseconds;
} rlx_profile;

typedef struct rlx_late_link rlx_late_link;
/* Operators bound late, as this VM knows them (late.c). */
typedef struct rlx_late {
    relax_late_fn compile;        /* NULL: nothing is compiled */
    void *user;
    rlx_late_link *links[64];     /* by hash of the signature */
    rlx_late_link *recent[16];    /* by program: the one that was used last */
    size_t count;
    uint64_t *key;                /* signature at hand */
    size_t key_len, key_cap;
    uint64_t bits;                /* which of its first 64 words are bits of sizes */
    uint64_t calls;
} rlx_late;

/* What was found out of a site that calls a value, and of a function that it met: the site by its
 * descriptions. */
enum { RLX_SITE_ARGS_FIT = 1, RLX_SITE_RESULT_FITS = 2 };
typedef struct rlx_value_site {
    uint32_t known;               /* of the arguments, DESC */
    uint32_t want;                /* of the result, DESC, or RLX_NO_INDEX */
    uint32_t function, verdict;   /* 0: nothing is sure */
} rlx_value_site;

struct relax_vm {
    _Atomic uint64_t refs;
    int32_t tag;                  /* RLX_TAG_VM */
    rlx_shared_memory *memory;
    relax_executable *exe;        /* whose code runs: the program, or what was compiled for a late call */
    relax_executable *program;    /* what the VM was made for */
    relax_registry *registry;
    rlx_pool pool;
    rlx_kernel_env kernels;
    rlx_packed_slot *packed;      /* of exe */
    rlx_packed_slot *own_packed;  /* of the program */
    relax_value *args;            /* capacity: the longest operand list */
    rlx_chunk_of_stack *stack;    /* the chunk in use */
    rlx_vm_frame *frame;          /* innermost */
    size_t depth, max_depth;
    /* where the call at hand began: NULL, or the frame whose packed function called the VM again */
    rlx_vm_frame *base;
    size_t base_depth;
    int nested;                   /* such calls that are active */
    rlx_desc_env env;             /* of the innermost frame */
    int64_t deadline;             /* monotonic nanoseconds; INT64_MAX: none */
    const volatile int32_t *cancel; /* never NULL */
    int32_t never;                  /* 0: what cancel points to when the host gave no flag */
    int32_t fuel;                 /* polls until the clock is read */
    bool running, profiling, use_switch;
    /* the last reference went while it ran: it goes when the call ends */
    bool given_up;
    relax_error *cause;           /* what a packed function said, until the failure is reported */
    rlx_slice cause_kind;
    rlx_slice last_name;          /* of the public function that was looked for last */
    size_t last_function;
    relax_tensor *const *into;    /* buffers for the results of this call */
    size_t num_into;
    size_t allocations_before, allocations;
    uint64_t instructions;
    rlx_profile *profile;
    rlx_late late;
    rlx_value_site sites[16];     /* of the program; by hash */
};

/* Runs the innermost frame until the outermost one returns. The result's reference is the
 * caller's. */
typedef bool (*rlx_vm_loop)(relax_vm *vm, relax_value *result, rlx_fault *why);
bool rlx_vm_run_threaded(relax_vm *vm, relax_value *result, rlx_fault *why);
bool rlx_vm_run_switch(relax_vm *vm, relax_value *result, rlx_fault *why);
bool rlx_vm_run_profile(relax_vm *vm, relax_value *result, rlx_fault *why);

/* ---- what the loops call, in vm_step.c ------------------------------------------------------ */

/* A frame for fn on top of the stack, its cells beyond the parameters empty; it becomes
 * vm->frame. RT10, RT11. */
rlx_vm_frame *rlx_vm_frame_push(relax_vm *vm, const rlx_file_function *fn, uint32_t dst,
                                rlx_fault *why);
/* Drops what the frame holds and takes it off the stack; its parent becomes vm->frame. */
void rlx_vm_frame_pop(relax_vm *vm);
/* Entry of the frame on top, whose parameters are filled: checks them and binds sizes. */
bool rlx_vm_frame_enter(relax_vm *vm, bool proved, rlx_fault *why);
/* Puts the parameter's name into a failure of the frame on top (vm_rare.c). */
void rlx_vm_name_argument(const relax_vm *vm, rlx_fault *why);
/* Finds out what is sure of a call of f from a site of the program: descriptions of what is known of its
 * num_args arguments, and of the result that is wanted (vm_rare.c). */
void rlx_vm_judge_site(relax_vm *vm, rlx_value_site *s, const rlx_module_function *f, uint32_t known,
                       uint32_t want, uint32_t num_args);
/* RT01: fn is called with so many arguments and those that a closure has bound. */
bool rlx_vm_wrong_count(const relax_vm *vm, const rlx_file_function *fn, uint32_t count, size_t bound,
                        rlx_fault *why);
/* Slow part of a poll. */
bool rlx_vm_poll_slow(relax_vm *vm, rlx_fault *why);
int rlx_vm_poll_kernel(void *vm);
int64_t rlx_clock_ns(void);

RLX_ALWAYS_INLINE bool rlx_vm_poll(relax_vm *vm, rlx_fault *why)
{
    return RLX_LIKELY(!*vm->cancel && --vm->fuel > 0) || rlx_vm_poll_slow(vm, why);
}

/* Gives a cell of the frame a new value. */
RLX_ALWAYS_INLINE void rlx_cell_put(relax_vm *vm, relax_value *cell, relax_value v, uint32_t hold)
{
    if (RLX_UNLIKELY(cell->reserved == RLX_HELD_BY_FRAME))
        rlx_pool_drop(&vm->pool, cell);
    *cell = v;
    cell->reserved = hold;
}

/* Value of an integer operand; slow: of an expression. */
RLX_NODISCARD bool rlx_vm_int_slow(relax_vm *vm, uint32_t x, int64_t *out, rlx_fault *why);
RLX_ALWAYS_INLINE bool rlx_vm_int(relax_vm *vm, uint32_t x, int64_t *out, rlx_fault *why)
{
    uint32_t kind = rlx_operand_kind_of(x);
    if (RLX_UNLIKELY(kind == RLX_OPERAND_EXPR))
        return rlx_vm_int_slow(vm, x, out, why);
    *out = kind == RLX_OPERAND_SYMBOL ? vm->env.syms[rlx_operand_index(x)] : rlx_operand_value(x);
    return true;
}
/* Argument cells for something outside the frame: reserved 0; tensors as views if `views`. */
RLX_NODISCARD bool rlx_vm_arg_slow(relax_vm *vm, uint32_t x, bool views, relax_value *out,
                                   rlx_fault *why);
RLX_ALWAYS_INLINE bool rlx_vm_args(relax_vm *vm, const uint32_t *operands, uint32_t count,
                                   bool views, relax_value *out, rlx_fault *why)
{
    const relax_value *regs = vm->env.regs;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t x = operands[i];
        if (RLX_LIKELY(rlx_operand_kind_of(x) == RLX_OPERAND_REGISTER)) {
            relax_value v = regs[x];
            bool borrows = views && v.type_index == RELAX_VALUE_TENSOR;
            out[i].type_index = borrows ? RELAX_VALUE_TENSOR_VIEW : v.type_index;
            out[i].reserved = 0;
            out[i].v.i = v.v.i + (borrows ? (int64_t)sizeof(rlx_object) : 0);
        } else if (RLX_UNLIKELY(!rlx_vm_arg_slow(vm, x, views, &out[i], why))) {
            return false;
        }
    }
    return true;
}

RLX_ALWAYS_INLINE bool rlx_vm_eval_dims(relax_vm *vm, const uint32_t *operands, uint32_t count, int64_t *dims,
                      rlx_fault *why)
{
    for (uint32_t i = 0; i < count; i++)
        if (!rlx_vm_int(vm, operands[i], &dims[i], why))
            return false;
    return true;
}
/* What instructions that make tensors do. */
bool rlx_vm_put_tensor(relax_vm *vm, uint32_t reg, rlx_dtype dtype, uint32_t ndim,
                       const int64_t *dims, rlx_fault *why);
/* The caller's buffer for that tensor of the result. False: there is none. */
bool rlx_vm_put_buffer(relax_vm *vm, uint32_t reg, uint32_t result, rlx_dtype dtype, uint32_t ndim,
                       const int64_t *dims);
/* One instruction each; `pc` is its header. False: failed. */
bool rlx_vm_step_match(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_shape(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_alloc_storage(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_alloc_view(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_alloc_tensor(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_alloc_result(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_alloc_over(relax_vm *vm, const uint32_t *pc, rlx_fault *why); /* vm_over.c */
bool rlx_vm_step_kernel(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_builtin(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_tuple(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_get(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_truth(const relax_value *v, bool *out, rlx_fault *why); /* condition of a BRANCH */
/* These leave the frame that goes on in vm->frame. */
bool rlx_vm_step_call(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_tail_call(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
/* Finds packed function `number` of the program, if that was not done before. RT08. */
bool rlx_vm_find_packed(relax_vm *vm, uint32_t number, rlx_fault *why);
/* not found yet, or in the module */
bool rlx_vm_step_packed(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_value(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_value_known(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_tail_value(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
bool rlx_vm_step_late(relax_vm *vm, const uint32_t *pc, rlx_fault *why);
/* late_compile.c: what is compiled for the signature at hand, which has this hash; kept from here
 * on. */
typedef struct rlx_late_instance {
    relax_executable *exe; /* one reference; NULL: nothing can be compiled without sizes */
    bool brief;            /* compiled quickly; a better one may be asked for */
} rlx_late_instance;
bool rlx_late_find(relax_vm *vm, const uint32_t *pc, bool detailed, bool brief, uint64_t hash,
                   rlx_late_instance *out, rlx_fault *why);
bool rlx_late_no_memory(rlx_fault *why); /* false */
/* A CALL_LATE: how many arguments its signature has, and how messages show it, "add(x, y)". */
#define RLX_LATE_HOLES(pc) ((pc)[4])
rlx_slice rlx_late_shown(const relax_vm *vm, const uint32_t *pc);
RLX_INLINE bool rlx_late_same_key(const uint64_t *a, const uint64_t *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (a[i] != b[i])
            return false;
    return true;
}
bool rlx_late_cache_make(relax_executable *e); /* false: out of memory */
void rlx_late_cache_free(relax_executable *e);
void rlx_late_read_counters(const relax_vm *vm, relax_vm_counters *out);
void rlx_late_free(relax_vm *vm);
/* The code that runs is that of e from here on. */
RLX_INLINE void rlx_vm_run_code_of(relax_vm *vm, relax_executable *e, rlx_packed_slot *packed,
                                   relax_value *args)
{
    vm->exe = e;
    vm->packed = packed;
    vm->args = args;
    vm->env.descs = e->descs;
    vm->env.names = &e->names;
}
/* A value for a register of the innermost frame; RLX_NO_INDEX: it is dropped. */
void rlx_vm_put_result(relax_vm *vm, uint32_t dst, relax_value v);
/* Result of a packed function; a failure becomes RT16. */
bool rlx_packed_finish(relax_vm *vm, int rc, relax_value *result, rlx_slice name, rlx_fault *why);
/* Ends the innermost frame with register r. *done: it was the outermost, *result is the
 * caller's. */
bool rlx_vm_step_return(relax_vm *vm, uint32_t r, bool *done, relax_value *result, rlx_fault *why);

/* ---- from outside, in vm_machine.c and vm_profile.c -------------------------------------------- */

/* Takes the frames of a call that failed off the stack. The status; an error with the trace unless `out` is NULL. */
relax_status rlx_vm_report(relax_vm *vm, const rlx_fault *why, relax_error **out);
bool rlx_profile_start(relax_vm *vm); /* false: out of memory */
void rlx_profile_free(relax_vm *vm);
void rlx_profile_json(const relax_vm *vm, rlx_buf *out);

#endif
