/* run_vm.c: registries, executables and machines as the host sees them (relax/vm.h). */
#include <relax/vm.h>

#include <stdio.h>
#include <string.h>

#include "micro/micro.h"
#include "vm/vm.h"

/* ---- helpers -------------------------------------------------------------------------------- */

/* The error comes from the memory of the object that the call is about; NULL: there is none
 * yet, malloc. */
static relax_status fault(rlx_shared_memory *memory, relax_error **out_error,
                          enum rlx_code_id code, const char *what)
{
    rlx_fault why;
    rlx_fail(&why, code, "%s", what);
    return rlx_error_give(memory, out_error, &why);
}

static relax_status misuse(relax_error **out_error, enum rlx_code_id code, const char *what)
{
    return fault(NULL, out_error, code, what);
}

static void clear_error(relax_error **out_error)
{
    if (out_error)
        *out_error = NULL;
}

static bool allocator_fits(const relax_allocator *host)
{
    rlx_memory probe;
    return rlx_memory_init(&probe, host, 0);
}

/* Names are UTF-8 without NUL bytes, and not empty. */
static bool name_fits(const char *name, size_t len)
{
    return name && len && !memchr(name, 0, len) && rlx_utf8_valid(name, len) == len;
}

/* How much of a name of the host's is shown. */
static int shown(size_t len) { return (int)(len < 200 ? len : 200); }

static bool is_registry(const relax_registry *r) { return rlx_handle_is(r, RLX_TAG_REGISTRY); }
static bool is_executable(const relax_executable *e)
{
    return rlx_handle_is(e, RLX_TAG_EXECUTABLE);
}
static bool is_vm(const relax_vm *vm) { return rlx_handle_is(vm, RLX_TAG_VM); }

/* ---- registries ----------------------------------------------------------------------------- */

relax_status relax_registry_create(const relax_allocator *allocator, relax_registry **out,
                                   relax_error **out_error)
{
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!out)
        return misuse(out_error, RLX_OP01, "relax_registry_create: out is NULL");
    if (!allocator_fits(allocator))
        return misuse(out_error, RLX_OP05, "relax_registry_create: malformed allocator");
    rlx_shared_memory *memory = rlx_shared_memory_create(allocator, SIZE_MAX);
    *out = memory ? rlx_registry_make(memory) : NULL;
    rlx_shared_memory_release(memory);
    return *out ? RELAX_OK : rlx_error_no_memory(out_error);
}

relax_registry *relax_registry_retain(relax_registry *registry)
{
    return is_registry(registry) ? rlx_registry_retain(registry) : NULL;
}

void relax_registry_release(relax_registry *registry)
{
    if (is_registry(registry))
        rlx_registry_release(registry);
}

relax_status relax_registry_register(relax_registry *registry, const char *name, size_t name_len,
                                     relax_packed_fn fn, void *user, void (*destroy)(void *user),
                                     relax_error **out_error)
{
    clear_error(out_error);
    bool fits = is_registry(registry) && fn && name_fits(name, name_len);
    if (!fits) {
        if (destroy)
            destroy(user);
        return is_registry(registry) && fn && name
                   ? misuse(out_error, RLX_OP04,
                            "relax_registry_register: the name is empty or not UTF-8")
                   : misuse(out_error, RLX_OP01,
                            "relax_registry_register: an argument is NULL or no registry");
    }
    rlx_slice key = { name, name_len };
    rlx_packed *f = rlx_packed_make(registry->memory, fn, user, destroy);
    void *old = rlx_map_get(&registry->functions, key);
    if (!f)
        return rlx_error_no_memory(out_error);
    if (!rlx_map_put(&registry->functions, key, f)) {
        rlx_object_release(f);
        return rlx_error_no_memory(out_error);
    }
    rlx_object_release(old);
    return RELAX_OK;
}

relax_packed_func *relax_registry_find(const relax_registry *registry, const char *name,
                                       size_t name_len)
{
    return is_registry(registry) && name
               ? rlx_map_get(&registry->functions, (rlx_slice){ name, name_len })
               : NULL;
}

/* ---- loading and saving --------------------------------------------------------------------- */

static const relax_load_options load_defaults = { .struct_size = sizeof(relax_load_options),
                                                  .max_bytes = (uint64_t)16 << 30,
                                                  .check_constants = 1 };

relax_status relax_load_options_init(relax_load_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &load_defaults, sizeof load_defaults);
}

static bool read_load_options(const relax_load_options *given, relax_load_options *o)
{
    *o = load_defaults;
    return rlx_options_read(o, sizeof *o, given) && o->reserved == 0 &&
           allocator_fits(o->allocator);
}

/* Takes over the image. */
static relax_status load_image(rlx_shared_memory *memory, rlx_blob *image,
                               const relax_load_options *o, relax_executable **out,
                               relax_error **out_error)
{
    rlx_fault why = { 0 };
    rlx_load_how how = { .check_constants = o->check_constants != 0,
                         .allow_native = o->allow_native != 0 };
    relax_status status = RELAX_OK;
    if (!rlx_executable_load(memory, image, how, out, &why))
        status = rlx_error_give(memory, out_error, &why);
    rlx_shared_memory_release(memory);
    return status;
}

relax_status relax_executable_load(const void *data, size_t size,
                                   const relax_load_options *options, relax_executable **out,
                                   relax_error **out_error)
{
    relax_load_options o;
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!out || (!data && size))
        return misuse(out_error, RLX_OP01, "relax_executable_load: an argument is NULL");
    if (!read_load_options(options, &o))
        return misuse(out_error, RLX_OP05, "relax_executable_load: malformed options");
    rlx_shared_memory *memory = rlx_shared_memory_create(o.allocator, SIZE_MAX);
    bool fits = size <= o.max_bytes;
    rlx_blob *image = memory && fits ? rlx_blob_create(&memory->memory, data, size) : NULL;
    if (image)
        return load_image(memory, image, &o, out, out_error);
    relax_status status = !memory || fits ? rlx_error_no_memory(out_error)
                                          : fault(memory, out_error, RLX_LD13,
                                                  "the program is larger than the options allow");
    rlx_shared_memory_release(memory);
    return status;
}

/* A NUL-terminated copy of a path. */
static char *copy_path(rlx_memory *m, const char *path, size_t len)
{
    char *z = rlx_mem_alloc(m, len + 1);
    if (z) {
        memcpy(z, path, len);
        z[len] = 0;
    }
    return z;
}

static relax_status file_failed(rlx_shared_memory *memory, relax_error **out_error,
                                enum rlx_code_id code, const char *path, size_t path_len,
                                const rlx_file_why *why)
{
    rlx_fault said;
    if (why->failure == RLX_FILE_NO_MEMORY)
        return rlx_error_no_memory(out_error);
    rlx_fail(&said, why->failure == RLX_FILE_TOO_LARGE ? RLX_LD13 : code, "%.*s: %s",
             shown(path_len), path, why->text);
    return rlx_error_give(memory, out_error, &said);
}

relax_status relax_executable_load_file(const char *path, size_t path_len,
                                        const relax_load_options *options, relax_executable **out,
                                        relax_error **out_error)
{
    relax_load_options o;
    rlx_file_why why = rlx_file_no_memory;
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!out || !path)
        return misuse(out_error, RLX_OP01, "relax_executable_load_file: an argument is NULL");
    if (!path_len || memchr(path, 0, path_len))
        return misuse(out_error, RLX_OP04, "relax_executable_load_file: malformed path");
    if (!read_load_options(options, &o))
        return misuse(out_error, RLX_OP05, "relax_executable_load_file: malformed options");
    rlx_shared_memory *memory = rlx_shared_memory_create(o.allocator, SIZE_MAX);
    rlx_blob *image = NULL;
    char *z = memory ? copy_path(&memory->memory, path, path_len) : NULL;
    size_t max = o.max_bytes > SIZE_MAX - 1 ? SIZE_MAX - 1 : (size_t)o.max_bytes;
    if (z)
        image = o.map_file ? rlx_file_map(&memory->memory, z, max, &why)
                           : rlx_file_read(&memory->memory, z, max, &why);
    if (z)
        rlx_mem_free(&memory->memory, z, path_len + 1);
    if (image)
        return load_image(memory, image, &o, out, out_error);
    relax_status status = file_failed(memory, out_error, RLX_LD14, path, path_len, &why);
    rlx_shared_memory_release(memory);
    return status;
}

relax_executable *relax_executable_retain(relax_executable *executable)
{
    return is_executable(executable) ? rlx_executable_retain(executable) : NULL;
}

void relax_executable_release(relax_executable *executable)
{
    if (is_executable(executable))
        rlx_executable_release(executable);
}

relax_status relax_executable_save(const relax_executable *executable, const char *path,
                                   size_t path_len, relax_error **out_error)
{
    rlx_file_why why = rlx_file_no_memory;
    clear_error(out_error);
    if (!is_executable(executable) || !path)
        return misuse(out_error, RLX_OP01,
                      "relax_executable_save: an argument is NULL or of another kind");
    if (!path_len || memchr(path, 0, path_len))
        return fault(executable->memory, out_error, RLX_OP04,
                     "relax_executable_save: malformed path");
    rlx_memory *m = &executable->memory->memory;
    char *z = copy_path(m, path, path_len);
    bool ok = z && rlx_file_write(m, z, executable->image->data, executable->image->size, &why);
    if (z)
        rlx_mem_free(m, z, path_len + 1);
    return ok ? RELAX_OK
              : file_failed(executable->memory, out_error, RLX_IO02, path, path_len, &why);
}

/* The content of a buffer as bytes of the host's. */
static relax_status give_bytes(rlx_shared_memory *memory, rlx_buf *buf, relax_bytes **out,
                               relax_error **out_error)
{
    *out = rlx_bytes_make(memory, buf);
    return *out ? RELAX_OK : rlx_error_no_memory(out_error);
}

relax_status relax_executable_serialize(const relax_executable *executable, relax_bytes **out,
                                        relax_error **out_error)
{
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!is_executable(executable) || !out)
        return misuse(out_error, RLX_OP01,
                      "relax_executable_serialize: an argument is NULL or of another kind");
    rlx_blob *image = executable->image;
    if (!image->free_data) { /* nobody else's memory: a NUL follows the content */
        *out = rlx_bytes_show(executable->memory, image);
        return *out ? RELAX_OK : rlx_error_no_memory(out_error);
    }
    rlx_buf buf;
    rlx_buf_init(&buf, &executable->memory->memory);
    rlx_buf_put(&buf, (const char *)image->data, image->size);
    return give_bytes(executable->memory, &buf, out, out_error);
}

/* ---- the text of it -------------------------------------------------------------------------- */

static relax_status disassemble(rlx_shared_memory *memory, const void *data, size_t size,
                                relax_bytes **out, relax_error **out_error)
{
    rlx_buf buf;
    rlx_buf_init(&buf, &memory->memory);
    rlx_disassemble(data, size, &buf);
    return give_bytes(memory, &buf, out, out_error);
}

relax_status relax_disassemble(const void *data, size_t size, relax_bytes **out,
                               relax_error **out_error)
{
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!out || (!data && size))
        return misuse(out_error, RLX_OP01, "relax_disassemble: an argument is NULL");
    rlx_shared_memory *memory = rlx_shared_memory_create(NULL, SIZE_MAX);
    if (!memory)
        return rlx_error_no_memory(out_error);
    relax_status status = disassemble(memory, data, size, out, out_error);
    rlx_shared_memory_release(memory);
    return status;
}

relax_status relax_executable_disassemble(const relax_executable *executable, relax_bytes **out,
                                          relax_error **out_error)
{
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!is_executable(executable) || !out)
        return misuse(out_error, RLX_OP01,
                      "relax_executable_disassemble: an argument is NULL or of another kind");
    return disassemble(executable->memory, executable->image->data, executable->image->size, out,
                       out_error);
}

/* ---- machines ------------------------------------------------------------------------------- */

static const relax_vm_options vm_defaults = { .struct_size = sizeof(relax_vm_options),
                                              .max_depth = 10000,
                                              .num_threads = 1 };

relax_status relax_vm_options_init(relax_vm_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &vm_defaults, sizeof vm_defaults);
}

relax_status relax_vm_create(relax_executable *executable, const relax_vm_options *options,
                             relax_vm **out, relax_error **out_error)
{
    relax_vm_options o = vm_defaults;
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!is_executable(executable) || !out)
        return misuse(out_error, RLX_OP01,
                      "relax_vm_create: an argument is NULL or of another kind");
    if (!rlx_options_read(&o, sizeof o, options) || !allocator_fits(o.allocator) ||
        (o.registry && !is_registry(o.registry)) || o.num_threads > RLX_MAX_THREADS)
        return misuse(out_error, RLX_OP05, "relax_vm_create: malformed options (relax_vm_options_init)");
    const rlx_micro_set *micro = rlx_micro_find(o.instruction_set);
    if (!micro) {
        rlx_fault why;
        rlx_fail(&why, RLX_OP05,
                 "relax_vm_create: instruction set '%.40s' is not known, or not on this machine",
                 o.instruction_set);
        return rlx_error_give(NULL, out_error, &why);
    }
    size_t cap = o.max_memory && o.max_memory < SIZE_MAX ? (size_t)o.max_memory : SIZE_MAX;
    rlx_shared_memory *memory = rlx_shared_memory_create(o.allocator, cap);
    *out = memory ? rlx_vm_make(executable, memory, &o, micro) : NULL;
    rlx_shared_memory_release(memory);
    return *out ? RELAX_OK : rlx_error_no_memory(out_error);
}

relax_vm *relax_vm_retain(relax_vm *vm)
{
    if (!is_vm(vm))
        return NULL;
    rlx_vm_retain(vm);
    return vm;
}

void relax_vm_release(relax_vm *vm)
{
    if (is_vm(vm))
        rlx_vm_release(vm);
}

relax_executable *relax_vm_executable(const relax_vm *vm)
{
    return is_vm(vm) ? rlx_vm_executable(vm) : NULL;
}

/* Checks that every call makes; fills *status and says whether it may go on. */
static bool may_call(relax_vm *vm, size_t function, const relax_value *args, size_t num_args,
                     relax_error **out_error, relax_status *status)
{
    if (!is_vm(vm) || (!args && num_args))
        *status =
            misuse(out_error, RLX_OP01, "call of a VM: an argument is NULL or of another kind");
    else if (function >= rlx_vm_executable(vm)->num_public)
        *status = fault(rlx_vm_memory(vm), out_error, RLX_OP03,
                        "the program has no public function of that number");
    else
        return true;
    return false;
}

relax_status relax_vm_call_function(relax_vm *vm, size_t function, const relax_value *args,
                                    size_t num_args, relax_value *result, relax_error **out_error)
{
    relax_status status;
    clear_error(out_error);
    relax_value_set_null(result);
    if (!result)
        return misuse(out_error, RLX_OP01, "relax_vm_call_function: result is NULL");
    if (!may_call(vm, function, args, num_args, out_error, &status))
        return status;
    status = rlx_vm_call(vm, (uint32_t)function, args, num_args, result, out_error);
    rlx_vm_settle(vm);
    return status;
}

relax_status relax_vm_call_move(relax_vm *vm, size_t function, relax_value *args, size_t num_args,
                                relax_value *result, relax_error **out_error)
{
    relax_status status;
    clear_error(out_error);
    relax_value_set_null(result);
    if (!result)
        status = misuse(out_error, RLX_OP01, "relax_vm_call_move: result is NULL");
    else if (may_call(vm, function, args, num_args, out_error, &status))
        status = rlx_vm_call_move(vm, (uint32_t)function, args, num_args, result, out_error);
    for (size_t i = 0; args && i < num_args; i++)
        relax_value_release(&args[i]);
    if (is_vm(vm))
        rlx_vm_settle(vm);
    return status;
}

/* "; it has f, g", as far as there is room. */
static void list_functions(const relax_executable *e, rlx_fault *why)
{
    size_t used = strlen(why->text), room = sizeof why->text;
    for (uint32_t i = 0; i < e->num_public; i++) {
        rlx_slice name = rlx_name(&e->names, e->functions[e->public_functions[i]].name);
        if (used + name.len + 16 > room)
            return;
        int n = snprintf(why->text + used, room - used, "%s%.*s", i ? ", " : "; it has ",
                         (int)name.len, name.data);
        used += n > 0 ? (size_t)n : 0;
    }
}

relax_status relax_vm_call(relax_vm *vm, const char *name, size_t name_len,
                           const relax_value *args, size_t num_args, relax_value *result,
                           relax_error **out_error)
{
    clear_error(out_error);
    relax_value_set_null(result);
    if (!is_vm(vm) || !name || !result)
        return misuse(out_error, RLX_OP01,
                      "relax_vm_call: an argument is NULL or of another kind");
    size_t function = rlx_vm_find(vm, (rlx_slice){ name, name_len });
    if (function != RELAX_NOT_FOUND)
        return relax_vm_call_function(vm, function, args, num_args, result, out_error);
    rlx_fault why;
    rlx_fail(&why, RLX_RT20, "the program has no public function %.*s", shown(name_len), name);
    list_functions(rlx_vm_executable(vm), &why);
    return rlx_error_give(rlx_vm_memory(vm), out_error, &why);
}

relax_status relax_vm_call_value(relax_vm *vm, const relax_value *function,
                                 const relax_value *args, size_t num_args, relax_value *result,
                                 relax_error **out_error)
{
    clear_error(out_error);
    relax_value_set_null(result);
    if (!is_vm(vm) || !function || (!args && num_args) || !result)
        return misuse(out_error, RLX_OP01,
                      "relax_vm_call_value: an argument is NULL or of another kind");
    relax_status status = rlx_vm_call_value(vm, function, args, num_args, result, out_error);
    rlx_vm_settle(vm);
    return status;
}

relax_status relax_vm_call_into(relax_vm *vm, size_t function, const relax_value *args,
                                size_t num_args, relax_tensor *const *buffers, size_t num_buffers,
                                relax_error **out_error)
{
    relax_status status;
    clear_error(out_error);
    if (!buffers && num_buffers)
        return misuse(out_error, RLX_OP01, "relax_vm_call_into: buffers is NULL");
    for (size_t i = 0; i < num_buffers; i++)
        if (!rlx_handle_is(buffers[i], RELAX_VALUE_TENSOR) ||
            relax_tensor_is_read_only(buffers[i]))
            return misuse(out_error, buffers[i] ? RLX_OP02 : RLX_OP01,
                          "relax_vm_call_into: a buffer is NULL, no tensor or read-only");
    if (!may_call(vm, function, args, num_args, out_error, &status))
        return status;
    status =
        rlx_vm_call_into(vm, (uint32_t)function, args, num_args, buffers, num_buffers, out_error);
    rlx_vm_settle(vm);
    return status;
}

relax_status relax_vm_set_timeout(relax_vm *vm, int64_t nanoseconds)
{
    if (!is_vm(vm))
        return RELAX_ERROR_INVALID_ARGUMENT;
    rlx_vm_set_deadline(vm, nanoseconds);
    return RELAX_OK;
}

relax_status relax_vm_set_cancel_flag(relax_vm *vm, const volatile int32_t *flag)
{
    if (!is_vm(vm))
        return RELAX_ERROR_INVALID_ARGUMENT;
    rlx_vm_set_cancel(vm, flag);
    return RELAX_OK;
}

relax_status relax_vm_get_counters(const relax_vm *vm, relax_vm_counters *counters)
{
    relax_vm_counters all = { .struct_size = 0 };
    if (!is_vm(vm) || !counters || counters->struct_size < sizeof(size_t) ||
        counters->struct_size > 4096)
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t size = counters->struct_size;
    rlx_vm_read_counters(vm, &all);
    all.struct_size = size;
    memset(counters, 0, size);
    memcpy(counters, &all, size < sizeof all ? size : sizeof all);
    return RELAX_OK;
}

relax_status relax_vm_profile_start(relax_vm *vm)
{
    if (!is_vm(vm) || rlx_vm_is_running(vm))
        return RELAX_ERROR_INVALID_ARGUMENT;
    return rlx_vm_set_profiling(vm, true) ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
}

relax_status relax_vm_profile_stop(relax_vm *vm)
{
    if (!is_vm(vm) || rlx_vm_is_running(vm))
        return RELAX_ERROR_INVALID_ARGUMENT;
    rlx_vm_set_profiling(vm, false);
    return RELAX_OK;
}

relax_status relax_vm_profile_json(const relax_vm *vm, relax_bytes **out, relax_error **out_error)
{
    rlx_buf buf;
    clear_error(out_error);
    if (out)
        *out = NULL;
    if (!is_vm(vm) || !out)
        return misuse(out_error, RLX_OP01,
                      "relax_vm_profile_json: an argument is NULL or of another kind");
    rlx_buf_init(&buf, &rlx_vm_memory(vm)->memory);
    rlx_vm_profile_text(vm, &buf);
    return give_bytes(rlx_vm_memory(vm), &buf, out, out_error);
}
