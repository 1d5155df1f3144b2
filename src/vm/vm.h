/*- vm: compiled programs: loading and verifying them, running them, showing them.
 *
 *   loader.c    bytes -> relax_executable; everything is checked here, so that running trusts
 *   verify.c    the code: operands, jumps, registers set before use
 *   vm_call.c   calls from outside, frames, failures and their traces
 *   vm_loop.h   the loop, a template of vm_threaded.c, vm_switch.c and vm_profile.c
 *   disassemble.c
 */
#ifndef RLX_VM_H
#define RLX_VM_H

#include <relax/vm.h>
#include "runtime/runtime.h"

/* A loaded program. Immutable; pointers go into `image`. */
struct relax_executable {
    _Atomic uint64_t refs;
    int32_t tag;                    /* RLX_TAG_EXECUTABLE */
    rlx_shared_memory *memory;
    rlx_blob *image;
    rlx_names names;
    const rlx_file_function *functions;
    uint32_t num_functions;
    const uint32_t *code;
    uint32_t num_code, max_args;    /* max_args: longest operand list */
    uint8_t *known;                 /* by word of the code: prove_calls.c */
    const int64_t *descs;
    uint32_t num_descs;
    const uint32_t *packed;
    uint32_t num_packed;
    const rlx_builtin **builtins;   /* by packed number; NULL: not a builtin */
    const rlx_file_place *places;
    uint32_t num_places;
    rlx_kernel **kernels;
    uint32_t num_kernels;
    const rlx_file_kernel *kernel_table;
    rlx_native *natives;            /* shared objects of native kernels */
    uint32_t num_natives, num_native_kernels;
    uint32_t compiler_processes;    /* started to make this program */
    /* why some were not loaded though they may be; "": none */
    char native_why[160];
    relax_value *constants;
    uint32_t num_constants;
    uint32_t *public_functions;     /* function numbers */
    uint32_t num_public;
    rlx_map by_name;                /* public name to its number in public_functions, plus 1 */
    rlx_slice module_text;
    bool allow_native;              /* the host lets native code of the file be loaded */
    bool has_late;                  /* its code has CALL_LATE */
    struct rlx_late_cache *late;    /* what was compiled for it (late.c) */
    const unsigned char *ahead;     /* section LATE: the same, compiled ahead */
    uint64_t ahead_bytes;
};

typedef struct rlx_load_how {
    bool check_constants;           /* their checksum too */
    bool allow_native;              /* load native code for this machine */
} rlx_load_how;
/* Takes over `image`, whose memory must be memory->memory, also on failure. */
bool rlx_executable_load(rlx_shared_memory *memory, rlx_blob *image, rlx_load_how how,
                         relax_executable **out, rlx_fault *why);
relax_executable *rlx_executable_retain(relax_executable *e);
void rlx_executable_release(relax_executable *e);
/* Text of a file, as far as it makes sense. */
void rlx_disassemble(const void *data, size_t size, rlx_buf *out);

/* ---- machines: arguments are checked by the caller, in api/run_vm.c ------------------------- */

/* NULL: out of memory. registry may be NULL. The numbers of `options` are good. */
relax_vm *rlx_vm_make(relax_executable *exe, rlx_shared_memory *memory, const relax_vm_options *options,
                      const struct rlx_micro_set *micro);
void rlx_vm_retain(relax_vm *vm);
void rlx_vm_release(relax_vm *vm);
/* After a call: a packed function may have dropped the last reference of the VM that called it. */
void rlx_vm_settle(relax_vm *vm);
relax_executable *rlx_vm_executable(const relax_vm *vm);
/* Number of a public function; RELAX_NOT_FOUND. Most hosts ask for the same one again. */
size_t rlx_vm_find(relax_vm *vm, rlx_slice name);
/* `function` is a number of public_functions. While the VM runs, a packed function that it called
 * may call this, and nobody else. */
relax_status rlx_vm_call(relax_vm *vm, uint32_t function, const relax_value *args, size_t num_args,
                         relax_value *result, relax_error **out);
/* The same; arguments that the function got are null values then, and whatever it did not get stays. */
relax_status rlx_vm_call_move(relax_vm *vm, uint32_t function, relax_value *args, size_t num_args,
                              relax_value *result, relax_error **out);
/* `function` is any value; RT18 if it is no function of this program and not packed. */
relax_status rlx_vm_call_value(relax_vm *vm, const relax_value *function, const relax_value *args,
                               size_t num_args, relax_value *result, relax_error **out);
/* Buffers are writable tensors of ours. */
relax_status rlx_vm_call_into(relax_vm *vm, uint32_t function, const relax_value *args,
                              size_t num_args, relax_tensor *const *buffers, size_t num_buffers,
                              relax_error **out);
bool rlx_vm_is_running(const relax_vm *vm);
void rlx_vm_set_cancel(relax_vm *vm, const volatile int32_t *flag);
void rlx_vm_set_deadline(relax_vm *vm, int64_t nanoseconds_from_now); /* negative: none */
bool rlx_vm_set_profiling(relax_vm *vm, bool on);                     /* false: out of memory */
void rlx_vm_profile_text(const relax_vm *vm, rlx_buf *out);           /* JSON */
void rlx_vm_read_counters(const relax_vm *vm, relax_vm_counters *out);
rlx_shared_memory *rlx_vm_memory(const relax_vm *vm);

/* What only the run knows is compiled from text. api_late.c has this table, and no_late_compiler.c
 * one of NULLs for libraries that lack the compiler or the text form. */
struct rlx_node;
struct rlx_late_text {
    relax_late_fn compile;
    /* The text of an expression, for the program of a late call (script/print.h). */
    void (*print)(rlx_memory *m, const struct rlx_node *n, rlx_buf *out);
};
extern const struct rlx_late_text rlx_late_text;

/* Which loop runs: both give the same results. */
enum rlx_vm_dispatch { RLX_DISPATCH_THREADED = 0, RLX_DISPATCH_SWITCH = 1 };
void rlx_vm_set_dispatch(relax_vm *vm, enum rlx_vm_dispatch dispatch);

#endif
