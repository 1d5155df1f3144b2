/*- vm.h: compiled programs and the machine that runs them.
 *
 *     relax_executable *exe = NULL;  relax_vm *vm = NULL;  relax_error *err = NULL;
 *     relax_executable_load_file("m.rlx", 5, NULL, &exe, &err);
 *     relax_vm_create(exe, NULL, &vm, &err);
 *     relax_vm_call(vm, "main", 4, args, 1, &result, &err);
 *
 * Executables are immutable and shared between threads; a VM is used by one thread at a time.
 * Release in any order. Runs compute in the default floating-point environment (rounding to
 * nearest, no traps); packed functions are called in it too. Rounding mode and exception flags
 * of the caller come back as they were: what kernels raise does not show. A failing call
 * returns a status and, if `out_error` is not NULL, an error that the caller releases. On
 * failure every other result is NULL, 0 or the null value.
 */
#ifndef RELAX_VM_H
#define RELAX_VM_H

#include <relax/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_executable relax_executable; /* counted, immutable */
typedef struct relax_vm relax_vm;                 /* counted, one thread at a time */
typedef struct relax_registry relax_registry;     /* counted: packed functions by name */

/* ---- packed function registries ------------------------------------------------------------- */

/* An empty registry. `allocator` NULL: malloc. It may serve any number of VMs. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_registry_create(RELAX_NULLABLE const relax_allocator *allocator,
                                   RELAX_OWN relax_registry **out,
                                   RELAX_OWN relax_error **out_error);
/* Adds a reference and returns `registry`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_registry *relax_registry_retain(relax_registry *registry);
/* Drops a reference; the last one releases the functions. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_registry_release(relax_registry *registry);
/* Adds or replaces the function of that name; a VM that has already called it keeps the one it
 * found. `destroy` (may be NULL) runs exactly once with `user`: when the function is gone, or
 * before this call fails.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(registry)
relax_status relax_registry_register(relax_registry *registry, const char *name, size_t name_len,
                                     relax_packed_fn fn, void *user, void (*destroy)(void *user),
                                     RELAX_OWN relax_error **out_error);
/* The function of that name, or NULL. Lives as long as the registry has it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_BORROWED RELAX_NULLABLE
    relax_packed_func *relax_registry_find(const relax_registry *registry, const char *name,
                                           size_t name_len);

/* ---- executables ---------------------------------------------------------------------------- */

typedef struct relax_load_options {
    size_t struct_size;
    const relax_allocator *allocator; /* NULL: malloc */
    uint64_t max_bytes;               /* larger files are refused; default 16 GiB */
    /* 1: map the file instead of reading it; it must not change meanwhile */
    int32_t map_file;
    /* 1: native code in the file may be loaded; default 0. It does what it wants from then on, as
     * it is loaded even: allow it for files from sources you trust alone. Digests in the file
     * guard against damage, not against whoever made the file. Code that cannot be used, as of
     * another machine, is no failure: relax_executable_native_refused. */
    int32_t allow_native;
    int32_t check_constants;          /* 1 (default): verify the checksum of the constants too */
    int32_t reserved;                 /* 0 */
} relax_load_options;

/* Fills `options` with the defaults. RELAX_ERROR_INVALID_ARGUMENT for NULL or a size too small
 * to be one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_load_options_init(relax_load_options *options, size_t struct_size);

/* Loads a compiled program from memory, which is copied. Everything in it is verified first: a
 * damaged or hostile file is RELAX_ERROR_LOAD. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_executable_load(const void *data, size_t size,
                                   RELAX_NULLABLE const relax_load_options *options,
                                   RELAX_OWN relax_executable **out,
                                   RELAX_OWN relax_error **out_error);
/* Loads a compiled program from a file and verifies it as relax_executable_load does. The path is
 * what the operating system takes, without NUL bytes. RELAX_ERROR_IO if the file cannot be
 * read. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_executable_load_file(const char *path, size_t path_len,
                                        RELAX_NULLABLE const relax_load_options *options,
                                        RELAX_OWN relax_executable **out,
                                        RELAX_OWN relax_error **out_error);
/* Adds a reference and returns `executable`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_executable *relax_executable_retain(relax_executable *executable);
/* Drops a reference. NULL is fine; VMs and results keep what they need alive. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_executable_release(relax_executable *executable);
/* Writes the file whole or not at all (temporary file, then rename). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_executable_save(const relax_executable *executable, const char *path,
                                   size_t path_len, RELAX_OWN relax_error **out_error);
/* The content of the program's file, as relax_executable_load takes it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_executable_serialize(const relax_executable *executable,
                                        RELAX_OWN relax_bytes **out,
                                        RELAX_OWN relax_error **out_error);

/* Number of kernels that run as native code: in the file, for this machine, and allowed by the
 * options of loading. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_num_native_kernels(const relax_executable *executable);
/* Why native code that the options of loading allowed is not used, and its kernels are
 * interpreted; "": none was refused. Lives as long as the executable. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_executable_native_refused(const relax_executable *executable);
/* Number of compiler processes that relax_module_compile started to make the program. 0 for one
 * that was loaded. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_compiler_processes(const relax_executable *executable);

/* Public functions are numbered from 0 in the order of the module. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_num_functions(const relax_executable *executable);
/* NUL-terminated, lives as long as the executable; NULL if there is no such function. `len` may
 * be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_executable_function_name(
        const relax_executable *executable, size_t function, RELAX_NULLABLE size_t *len);
/* Number of the public function of that name, or RELAX_NOT_FOUND. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_find(const relax_executable *executable, const char *name,
                                      size_t name_len);
/* Number of parameters; RELAX_NOT_FOUND if there is no such function. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_num_params(const relax_executable *executable, size_t function);
/* Name of a parameter; NUL-terminated, lives as long as the executable. NULL if there is none
 * or names were stripped. `len` may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_executable_param_name(
        const relax_executable *executable, size_t function, size_t param,
        RELAX_NULLABLE size_t *len);
/* Kind of value that a parameter takes, enum relax_value_kind_code (RELAX_VALUE_KIND_TENSOR,
 * _SHAPE, _TUPLE, _INT, _BOOL, _FLOAT, _FUNCTION; RELAX_VALUE_KIND_OTHER: anything). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_executable_param_kind(const relax_executable *executable, size_t function,
                                    size_t param);
/* dtype of a tensor or scalar parameter; RELAX_VOID if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_executable_param_dtype(const relax_executable *executable, size_t function,
                                         size_t param);
/* Rank of a tensor or shape parameter; -1 if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_executable_param_ndim(const relax_executable *executable, size_t function,
                                    size_t param);
/* A size of a parameter that is a plain number; -1 if it is symbolic or not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_executable_param_dim(const relax_executable *executable, size_t function,
                                   size_t param, size_t dim);
/* The description of a parameter as text: `R.Tensor((n, 64), dtype="float32")`. NULL if there is
 * none or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_executable_param_text(
        const relax_executable *executable, size_t function, size_t param);
/* The description of the result as text. NULL if there is none or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_executable_result_text(
        const relax_executable *executable, size_t function);
/* ---- what parameters and results are, as data */

/* Description of a value: a parameter, a result, a field of one. Borrowed: lives as long as its
 * executable, and is asked together with it. */
typedef struct relax_description relax_description;
/* Of a parameter; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_description *relax_executable_param(
        const relax_executable *executable, size_t function, size_t param);
/* Of what a function gives; NULL if it is not known. Sizes computed from others are open in it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_description *relax_executable_result(
        const relax_executable *executable, size_t function);
/* Kind of the value, enum relax_value_kind_code, as for relax_executable_param_kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_description_kind(const relax_executable *executable, const relax_description *of);
/* dtype of a tensor or scalar; RELAX_VOID if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_description_dtype(const relax_executable *executable,
                                    const relax_description *of);
/* Rank of a tensor or shape; -1 if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_description_ndim(const relax_executable *executable, const relax_description *of);
/* A size that is a plain number; -1 if it is symbolic or not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_description_dim(const relax_executable *executable, const relax_description *of,
                              size_t dim);
/* The name of a size that is a symbol alone ("n"), NUL-terminated, lives as long as the executable;
 * NULL for others. `len` may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_description_dim_name(
        const relax_executable *executable, const relax_description *of, size_t dim,
        RELAX_NULLABLE size_t *len);
/* A size as text: "4", "n", "n * 4 + 1". NULL if it is not known, or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_description_dim_text(
        const relax_executable *executable, const relax_description *of, size_t dim);
/* Number of fields of a tuple; RELAX_NOT_FOUND for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_description_num_fields(const relax_executable *executable,
                                    const relax_description *of);
/* Field of a tuple; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_description *relax_description_field(
        const relax_executable *executable, const relax_description *of, size_t field);
/* The description as text: `R.Tensor((n, 64), dtype="float32")`. NULL if there is none or out of
 * memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_description_text(const relax_executable *executable,
                                                             const relax_description *of);

/* Number of packed functions that the program may call and the library does not have: those that a
 * registry has to know, or that a branch never reached may name. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_num_packed(const relax_executable *executable);
/* Name of such a function, NUL-terminated, lives as long as the executable; NULL if there is none.
 * `len` may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_executable_packed_name(
        const relax_executable *executable, size_t index, RELAX_NULLABLE size_t *len);
/* Bytes of the program's file. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_size(const relax_executable *executable);
/* Bytes of the constants in it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_constant_size(const relax_executable *executable);
/* The kind of machine that native code in the file is for ("x86_64"), and *cpu (may be NULL) the
 * instructions it needs beyond those of all such machines, "" for none. NULL: the file carries
 * none. Bytecode is always there. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_executable_native_target(
        const relax_executable *executable, RELAX_NULLABLE const char **cpu);
/* Number of kernels in the program. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_executable_num_kernels(const relax_executable *executable);
/* The program as text: sections, functions, instructions, kernels. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_executable_disassemble(const relax_executable *executable,
                                          RELAX_OWN relax_bytes **out,
                                          RELAX_OWN relax_error **out_error);
/* Shows bytes that need not be a sound file as text: as relax_executable_disassemble as far as
 * they can be made out, and where that breaks off. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_disassemble(const void *data, size_t size, RELAX_OWN relax_bytes **out,
                               RELAX_OWN relax_error **out_error);

/* ---- machines ------------------------------------------------------------------------------- */

/* Threads that a host lends: calls task(data, index) once for each index below `count`, on any threads and in any order, and
 * returns when all of these calls have ended. The calling thread may be among them. */
typedef void (*relax_parallel_for_fn)(void *user, void (*task)(void *data, size_t index), void *data,
                                      size_t count);

/* What a VM asks for when an operator meets operands whose ranks and dtypes the compiled file does not say (R.Tensor): one
 * program, for operands of that kind and any sizes, or of these very sizes if that is not enough. Lives during the
 * call. */
typedef struct relax_late_request {
    size_t struct_size;
    const char *program; /* TVMScript: one function, `main`; `program_len` bytes and a NUL */
    size_t program_len;
    const relax_allocator *allocator; /* of the executable: memory for compiling may come from it */
    /* 1: the operands are small and were not met before, so that compiling quickly counts more than fast code; the same
     * program is asked for again, with 0, when it is run more often */
    int32_t brief;
    int32_t reserved;    /* 0 */
    void *reply;         /* first argument of what follows */
    /* Takes the bytes of a .rlx file with that function; they are copied. Called once. */
    void (*deliver)(void *reply, const void *file, size_t size);
    /* Takes why there is none: the text is part of the failure of the call. */
    void (*explain)(void *reply, const char *message, size_t message_len);
    /* not 0: the call has been cancelled, or its time is over */
    int32_t (*cancelled)(void *reply);
} relax_late_request;

/* Compiles what only the run knows. Called on the VM's thread while it runs, for several VMs at a time. RELAX_OK
 * after `deliver`, else why not: RELAX_ERROR_OUT_OF_MEMORY ends the call with RT10, RELAX_ERROR_CANCELLED with RT12;
 * after another status the VM asks once more, with sizes as numbers, and then fails with RT21. What comes back is
 * verified as any file, kept with the executable, and used by all VMs of it; it may not ask again. */
typedef relax_status (*relax_late_fn)(void *user, const relax_late_request *request);

typedef struct relax_vm_options {
    size_t struct_size;
    const relax_allocator *allocator; /* NULL: malloc */
    relax_registry *registry;         /* packed functions; the VM keeps a reference. NULL: none */
    /* bytes that the VM and its values may hold, constants not counted; 0: no limit */
    uint64_t max_memory;
    uint64_t max_depth;               /* active Relax functions; default 10000 */
    /* instructions that kernels compute with: "baseline", which every machine has, "avx2", "avx512", "avx512vnni",
     * "avx512amx", "neon", "neondot"; NULL: the best that this machine has. Results are the same to the bit. "avx512amx" asks
     * Linux to permit AMX tiles when it first computes products of bytes, for the whole process: alternate signal
     * stacks then have to be as large as getauxval(AT_MINSIGSTKSZ) says. Where one is smaller it does as
     * "avx512vnni", which never asks. */
    const char *instruction_set;
    /* Threads that long loops of kernels are shared out to, the caller's among them: 1 (default) to 256. Results are
     * the same to the bit, and a call that fails does so with any number of them, with the same code; of several
     * indices that are out of range the message may name another one. The VM starts them when they are first
     * needed, and ends them when it is released; between kernels they sleep. They keep off the processor that the call
     * is on, within the affinity that they were given. Packed functions are called on the caller's thread only. In a
     * child process of a host that forks between calls the VM starts new ones. */
    uint64_t num_threads;
    /* NULL: threads of the VM's own. Otherwise it lends them, up to num_threads at a time, in calls of the VM alone;
     * `parallel_user` is its first argument. */
    relax_parallel_for_fn parallel_for;
    void *parallel_user;
    /* Compiles operators on operands that only the run knows; `late_user` is its first argument. NULL: the library does it
     * (relax_late_compile); librelax-runtime has no compiler, nor have builds without the text form: there a call that
     * was not compiled ahead fails (RT22). */
    relax_late_fn late;
    void *late_user;
    int32_t no_late;                  /* 1: nothing is compiled when it runs (RT22); default 0 */
    int32_t reserved;                 /* 0 */
} relax_vm_options;

/* Fills `options` with the defaults. RELAX_ERROR_INVALID_ARGUMENT for NULL or a size too small
 * to be one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_vm_options_init(relax_vm_options *options, size_t struct_size);
/* A machine for the program; it keeps references of the executable and the registry. Any number
 * may share one executable. Memory of large results that the host has released waits for the next call, 64 MB
 * at most, unless the host has given an allocator or max_memory. RELAX_ERROR_INVALID_ARGUMENT for an instruction set that nobody knows or
 * that this machine lacks, and for more than 256 threads. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_vm_create(relax_executable *executable,
                             RELAX_NULLABLE const relax_vm_options *options,
                             RELAX_OWN relax_vm **out, RELAX_OWN relax_error **out_error);
/* Adds a reference and returns `vm`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_vm *relax_vm_retain(relax_vm *vm);
/* Drops a reference. Values that came out of the VM stay. NULL is fine, and so is a packed
 * function that drops that of its caller. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_vm_release(relax_vm *vm);
/* The executable that the VM runs; lives as long as the VM. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
RELAX_BORROWED relax_executable *relax_vm_executable(const relax_vm *vm);

/* Calls the public function `name`. Arguments are borrowed and always checked against its
 * description; tensors must be boxed (relax_value_set_tensor). *result gets one reference.
 * A packed function may call the VM that calls it, with views that it was given too: depth counts
 * on, limits of time hold for both, at most 64 such calls may be active (RT11). Codes of failures:
 * RT01-RT22.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_call(relax_vm *vm, const char *name, size_t name_len,
                           const relax_value *args, size_t num_args, RELAX_OWN relax_value *result,
                           RELAX_OWN relax_error **out_error);
/* Calls a public function by number (relax_executable_find), without the look-up by name.
 * Otherwise as relax_vm_call. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_call_function(relax_vm *vm, size_t function, const relax_value *args,
                                    size_t num_args, RELAX_OWN relax_value *result,
                                    RELAX_OWN relax_error **out_error);
/* As relax_vm_call_function, and takes the references of the arguments over, whether it fails or not: each is the null value
 * afterwards. Memory of a tensor that nobody else has may become that of a result, which saves copies where a result is an
 * argument with few elements changed, or one that grows: concat of a cache and what follows it, all dimensions in front of the
 * axis being 1, only writes what is new, into memory that is doubled when it is full. That holds for fields
 * of tuples, too. What is to be used again, as weights
 * are, the caller retains before. Results are those of relax_vm_call_function.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_call_move(relax_vm *vm, size_t function, relax_value *args, size_t num_args,
                                RELAX_OWN relax_value *result, RELAX_OWN relax_error **out_error);
/* Calls a function that is a value: one that a call gave (a closure, a function of the program, a
 * packed function), as long as the host keeps it; RT18 for what is no function of the VM's program.
 * Otherwise as relax_vm_call. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_call_value(relax_vm *vm, const relax_value *function,
                                 const relax_value *args, size_t num_args,
                                 RELAX_OWN relax_value *result, RELAX_OWN relax_error **out_error);
/* Calls with buffers for the results: the tensors of the result, tuples flattened depth first,
 * end up in `buffers`, whose number, dtypes and shapes must be those of the result (RT07).
 * Results are computed in place where the compiler arranged for it and copied otherwise. After
 * the first calls such a call allocates nothing. A buffer must not overlap an argument or
 * another buffer.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_call_into(relax_vm *vm, size_t function, const relax_value *args,
                                size_t num_args, relax_tensor *const *buffers, size_t num_buffers,
                                RELAX_OWN relax_error **out_error);

/* Ends calls that run longer than `nanoseconds` from now (RT12, RELAX_ERROR_CANCELLED);
 * negative: no limit. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_set_timeout(relax_vm *vm, int64_t nanoseconds);
/* `flag` is read at calls, back edges and in long kernels; not 0 ends the call (RT12). Any
 * thread may set it. It must outlive its use; NULL: none.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_set_cancel_flag(relax_vm *vm, RELAX_NULLABLE const volatile int32_t *flag);

/* Figures about the last call (bytes of tensors that the VM made, not inputs; results count
 * until the next call) and about the VM's whole life.
 */
typedef struct relax_vm_counters {
    size_t struct_size;
    uint64_t peak_bytes;    /* last call: most bytes of buffers live at a time */
    uint64_t peak_buffers;  /* last call: most buffers live at a time */
    uint64_t allocations;   /* last call: requests that went to the allocator */
    uint64_t instructions;  /* last profiled call: instructions executed */
    uint64_t total_bytes;   /* now: everything the VM and its values hold, pools included */
    uint64_t compiler_processes; /* of its program: see relax_executable_compiler_processes */
    uint64_t native_kernels;     /* of its program: see relax_executable_num_native_kernels */
    uint64_t late_calls;         /* of the VM: operators bound when they met their operands */
    uint64_t late_compiled;      /* of its program: compiled for that, by all VMs */
    uint64_t late_kept;          /* of its program, now: at most 1,024, those used last */
} relax_vm_counters;

/* Fills as much of `counters` as its struct_size covers. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_get_counters(const relax_vm *vm, relax_vm_counters *counters);

/* From start to stop, calls are timed per kind of instruction, kernel, packed function and
 * Relax function. Starting again forgets the figures.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_profile_start(relax_vm *vm);
/* Ends timing; the figures stay. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_profile_stop(relax_vm *vm);
/* The figures as one JSON object. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(vm)
relax_status relax_vm_profile_json(const relax_vm *vm, RELAX_OWN relax_bytes **out,
                                   RELAX_OWN relax_error **out_error);

#ifdef __cplusplus
}
#endif
#endif
