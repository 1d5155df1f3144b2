/* compiled_file.c: compiled files taken apart, put together, loaded and run. */
#include "compiled_file.h"

#include <relax/context.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layout --------------------------------------------------------------------------------- */

static bool read_header(const unsigned char *file, size_t size, rlx_file_header *h)
{
    if (size < sizeof *h)
        return false;
    memcpy(h, file, sizeof *h);
    return h->num_sections <= 64 && sizeof *h + h->num_sections * sizeof(rlx_file_section) <= size;
}

static bool read_section(const unsigned char *file, size_t size, uint32_t i, rlx_file_section *s)
{
    memcpy(s, file + sizeof(rlx_file_header) + i * sizeof *s, sizeof *s);
    return s->offset <= size && s->length <= size - s->offset;
}

void compiled_repair(unsigned char *file, size_t size)
{
    rlx_file_header h;
    rlx_file_section s;
    if (!read_header(file, size, &h))
        return;
    for (uint32_t i = 0; i < h.num_sections; i++) {
        if (!read_section(file, size, i, &s))
            continue;
        s.checksum = rlx_crc32c(0, file + s.offset, s.length);
        memcpy(file + sizeof h + i * sizeof s, &s, sizeof s);
    }
    h.checksum = 0;
    memcpy(file, &h, sizeof h);
    h.checksum = rlx_crc32c(0, file, sizeof h + h.num_sections * sizeof s);
    memcpy(file, &h, sizeof h);
}

bool compiled_unpack(const unsigned char *file, size_t size, compiled_file *out)
{
    rlx_file_header h;
    rlx_file_section s;
    *out = (compiled_file){ .count = 0 };
    if (!read_header(file, size, &h) || h.num_sections > COMPILED_MAX_SECTIONS)
        return false;
    for (uint32_t i = 0; i < h.num_sections; i++) {
        unsigned char *copy = read_section(file, size, i, &s) ? malloc(s.length + 1) : NULL;
        if (!copy) {
            compiled_free(out);
            return false;
        }
        memcpy(copy, file + s.offset, s.length);
        out->sections[out->count++] = (compiled_section){ s.kind, copy, s.length };
    }
    return true;
}

size_t compiled_pack(const compiled_file *f, unsigned char *out, size_t room)
{
    rlx_file_header h = { .major = RLX_FILE_MAJOR,
                          .minor = RLX_FILE_MINOR,
                          .num_sections = f->count };
    size_t at = sizeof h + f->count * sizeof(rlx_file_section);
    if (at > room)
        return 0;
    for (uint32_t i = 0; i < f->count; i++) {
        size_t begin = (at + RLX_FILE_ALIGN - 1) & ~(size_t)(RLX_FILE_ALIGN - 1),
               size = f->sections[i].size;
        rlx_file_section s = { .kind = f->sections[i].kind, .offset = begin, .length = size };
        if (begin > room || size > room - begin)
            return 0;
        memset(out + at, 0, begin - at);
        memcpy(out + begin, f->sections[i].data, size);
        memcpy(out + sizeof h + i * sizeof s, &s, sizeof s);
        at = begin + size;
    }
    memcpy(h.magic, RLX_FILE_MAGIC, sizeof h.magic);
    h.file_size = at;
    memcpy(out, &h, sizeof h);
    compiled_repair(out, at);
    return at;
}

void compiled_free(compiled_file *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        free(f->sections[i].data);
    f->count = 0;
}

/* ---- a host --------------------------------------------------------------------------------- */

const compiled_limits compiled_usual_limits = { .load_memory = (size_t)64 << 20,
                                                .run_memory = (size_t)16 << 20,
                                                .timeout = 20000000 };

typedef struct budget { relax_allocator allocator; size_t live, limit; } budget;

static void *budget_alloc(void *user, size_t size, size_t align)
{
    budget *b = user;
    void *p = NULL;
    if (size > b->limit - b->live || posix_memalign(&p, align < 16 ? 16 : align, size))
        return NULL;
    b->live += size;
    return p;
}

static void budget_free(void *user, void *ptr, size_t size, size_t align)
{
    ((budget *)user)->live -= size;
    free(ptr);
}

static void *budget_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = budget_alloc(user, new_size, align);
    if (!p)
        return NULL;
    memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    budget_free(user, ptr, old_size, align);
    return p;
}

typedef struct host {
    const compiled_limits *limits;
    compiled_report *report;
    budget memory;
    relax_executable *exe;
    relax_registry *registry;
    relax_vm *vm;
} host;

static void complain(host *h, const char *what, const relax_error *error)
{
    if (!h->report->problem[0])
        snprintf(h->report->problem, sizeof h->report->problem, "%s: %s: %.180s", what,
                 error ? relax_error_code(error) : "-",
                 error ? relax_error_message(error, NULL) : "");
}

/* A failure must come with an error of one of the families in `letters`. */
static void check_error(host *h, const char *what, relax_status status, relax_error *error,
                        const char *letters)
{
    const char *code = error ? relax_error_code(error) : "";
    bool fits = code && strlen(code) == 4 &&
                (!strncmp(code, letters, 2) || status == RELAX_ERROR_OUT_OF_MEMORY);
    if (status != RELAX_OK && !fits)
        complain(h, what, error);
    if (status == RELAX_OK && error)
        complain(h, "an error beside a success", error);
    relax_error_release(error);
}

static int echo(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    if (n == 0)
        return relax_value_set_string(result, "nothing", 7, NULL);
    return relax_value_keep(&args[0], result) == RELAX_OK
               ? 0
               : relax_value_set_error(result, "ValueError", 10, "cannot keep", 11);
}

static int refuse(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return relax_value_set_error(result, "ValueError", 10, "no", 2);
}

static void make_tensor(const relax_executable *exe, int32_t function, int32_t param,
                        relax_value *out)
{
    relax_dtype dtype = relax_executable_param_dtype(exe, function, param);
    int32_t ndim = relax_executable_param_ndim(exe, function, param);
    int64_t shape[8];
    relax_tensor *t = NULL;
    size_t elements = 1;
    if (ndim < 0 || ndim > 8)
        ndim = 1;
    for (int32_t i = 0; i < ndim; i++) {
        int64_t size = relax_executable_param_dim(exe, function, param, i);
        shape[i] = size >= 0 && size <= 64 ? size : 3;
        elements *= (size_t)shape[i];
    }
    relax_value_set_null(out);
    if (elements > 1 << 16 || relax_tensor_create(relax_dtype_size(dtype) ? dtype : RELAX_FLOAT32,
                                                  shape, ndim, NULL, &t, NULL) != RELAX_OK)
        return;
    for (size_t i = 0; i < relax_tensor_bytes(t); i++)
        ((unsigned char *)relax_tensor_data(t))[i] = i % 4 == 0;
    relax_value_set_tensor(out, t);
    relax_tensor_release(t);
}

static void make_argument(const relax_executable *exe, size_t function, size_t param,
                          relax_value *out)
{
    static const int64_t dims[] = { 2, 3 };
    relax_value fields[2];
    relax_value_set_null(out);
    switch (relax_executable_param_kind(exe, function, param)) {
    case RELAX_VALUE_KIND_TENSOR: make_tensor(exe, function, param, out); break;
    case RELAX_VALUE_KIND_SHAPE: relax_value_set_shape(out, dims, 2, NULL); break;
    case RELAX_VALUE_KIND_INT: relax_value_set_int(out, 3); break;
    case RELAX_VALUE_KIND_BOOL: relax_value_set_bool(out, 1); break;
    case RELAX_VALUE_KIND_FLOAT: relax_value_set_float(out, 0.5); break;
    case RELAX_VALUE_KIND_TUPLE:
        relax_value_set_int(&fields[1], 3);
        make_tensor(exe, function, param, &fields[0]);
        relax_value_set_tuple(out, fields, 2, NULL);
        relax_value_release(&fields[0]);
        break;
    default: make_tensor(exe, function, param, out); break;
    }
}

/* All that can be asked without running. */
static void read_facts(host *h)
{
    const relax_executable *exe = h->exe;
    relax_bytes *text = NULL;
    size_t count = relax_executable_num_functions(exe);
    for (size_t f = SIZE_MAX; f == SIZE_MAX || f <= count; f++) {
        size_t len = 0;
        const char *name = relax_executable_function_name(exe, f, &len);
        if (name && relax_executable_find(exe, name, len) != f)
            complain(h, "a function is not found by its name", NULL);
        size_t params = f < count ? relax_executable_num_params(exe, f) : 0;
        for (size_t p = SIZE_MAX; p == SIZE_MAX || (p <= params && p < 64); p++) {
            relax_executable_param_name(exe, f, p, NULL);
            relax_executable_param_kind(exe, f, p);
            relax_executable_param_dtype(exe, f, p);
            int32_t ndim = relax_executable_param_ndim(exe, f, p);
            for (int32_t d = -1; d <= ndim && d < 64; d++)
                relax_executable_param_dim(exe, f, p, (size_t)d);
            relax_bytes_release(relax_executable_param_text(exe, f, p));
        }
        relax_bytes_release(relax_executable_result_text(exe, f));
    }
    if (relax_executable_disassemble(exe, &text, NULL) == RELAX_OK)
        relax_bytes_release(text);
    if (relax_executable_serialize(exe, &text, NULL) == RELAX_OK)
        relax_bytes_release(text);
}

#define MAX_ARGS 64

static void call_once(host *h, size_t function, const relax_value *args, size_t num_args)
{
    relax_value result;
    relax_error *error = NULL;
    relax_vm_set_timeout(h->vm, h->limits->timeout);
    relax_status s = relax_vm_call_function(h->vm, function, args, num_args, &result, &error);
    h->report->calls++;
    h->report->succeeded += s == RELAX_OK;
    if (s != RELAX_OK && relax_value_kind(&result) != RELAX_VALUE_KIND_NULL)
        complain(h, "a result beside a failure", error);
    check_error(h, "call", s, error, "RT");
    relax_value_release(&result);
}

static void call_into(host *h, size_t function, const relax_value *args, size_t num_args)
{
    static const int64_t shape[] = { 3 };
    relax_tensor *buffer = NULL;
    relax_error *error = NULL;
    if (relax_tensor_create(RELAX_FLOAT32, shape, 1, NULL, &buffer, NULL) != RELAX_OK)
        return;
    for (size_t buffers = 0; buffers < 2; buffers++) {
        error = NULL;
        relax_vm_set_timeout(h->vm, h->limits->timeout);
        relax_status s =
            relax_vm_call_into(h->vm, function, args, num_args, &buffer, buffers, &error);
        check_error(h, "call with buffers", s, error, "RT");
    }
    relax_tensor_release(buffer);
}

static void call_function(host *h, size_t function)
{
    relax_value args[MAX_ARGS];
    size_t n = relax_executable_num_params(h->exe, function);
    relax_bytes *profile = NULL;
    if (n > MAX_ARGS)
        n = 0;
    for (size_t i = 0; i < n; i++)
        make_argument(h->exe, function, i, &args[i]);
    call_once(h, function, args, n);
    if (h->limits->every_loop) {
        relax_vm_profile_start(h->vm);
        call_once(h, function, args, n);
        relax_vm_profile_stop(h->vm);
        if (relax_vm_profile_json(h->vm, &profile, NULL) == RELAX_OK)
            relax_bytes_release(profile);
        call_into(h, function, args, n);
    }
    for (size_t i = 0; i < n; i++)
        relax_value_release(&args[i]);
}

static void run_all(host *h)
{
    relax_vm_options o;
    relax_error *error = NULL;
    relax_vm_options_init(&o, sizeof o);
    if (relax_registry_create(NULL, &h->registry, NULL) != RELAX_OK)
        return;
    relax_registry_register(h->registry, "test.echo", 9, echo, NULL, NULL, NULL);
    relax_registry_register(h->registry, "test.refuse", 11, refuse, NULL, NULL, NULL);
    o.registry = h->registry;
    o.max_memory = h->limits->run_memory;
    o.max_depth = 200;
    check_error(h, "machine", relax_vm_create(h->exe, &o, &h->vm, &error), error, "RT");
    size_t count = h->vm ? relax_executable_num_functions(h->exe) : 0;
    for (size_t f = 0; f < count && f < 16; f++)
        call_function(h, f);
    relax_vm_release(h->vm);
    relax_registry_release(h->registry);
}

static void begin(host *h, const compiled_limits *limits, size_t size, relax_load_options *o,
                  compiled_report *report)
{
    *h = (host){ .limits = limits, .report = report };
    *report = (compiled_report){ .calls = 0 };
    h->memory.limit = limits->load_memory + 2 * size;
    h->memory.allocator = (relax_allocator){ sizeof(relax_allocator), &h->memory, budget_alloc,
                                             budget_resize, budget_free };
    relax_load_options_init(o, sizeof *o);
    o->allocator = &h->memory.allocator;
}

static void finish(host *h, relax_status status, relax_error *error)
{
    h->report->loaded = status == RELAX_OK;
    if (error)
        snprintf(h->report->code, sizeof h->report->code, "%s", relax_error_code(error));
    check_error(h, "load", status, error, "LD");
    if (status == RELAX_OK) {
        if (h->limits->every_loop)
            read_facts(h);
        run_all(h);
    } else if (h->exe) {
        complain(h, "a program beside a failure", NULL);
    }
    relax_executable_release(h->exe);
    if (h->memory.live)
        complain(h, "memory was not given back", NULL);
}

void compiled_drive(const void *data, size_t size, const compiled_limits *limits,
                    compiled_report *out)
{
    host h;
    relax_load_options o;
    relax_error *error = NULL;
    relax_bytes *text = NULL;
    begin(&h, limits, size, &o, out);
    relax_status s = relax_executable_load(data, size, &o, &h.exe, &error);
    finish(&h, s, error);
    if (!out->loaded && limits->every_loop &&
        relax_disassemble(data, size, &text, NULL) == RELAX_OK)
        relax_bytes_release(text);
}

void compiled_drive_file(const char *path, bool map, const compiled_limits *limits,
                         compiled_report *out)
{
    host h;
    relax_load_options o;
    relax_error *error = NULL;
    begin(&h, limits, 1 << 20, &o, out);
    o.map_file = map;
    relax_status s = relax_executable_load_file(path, strlen(path), &o, &h.exe, &error);
    finish(&h, s, error);
}
