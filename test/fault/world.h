/* world.h: programs of different kinds, and everything a host does with one, as a table of
 * steps.
 *
 * A world is one program on its way: context, module, executable, machine. `world_reach` brings
 * it to the level that a step needs; then the step alone is what a test watches. Public
 * interface only.
 */
#ifndef TEST_FAULT_WORLD_H
#define TEST_FAULT_WORLD_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault.h"
#include "host_parts.h"
#include <relax/ops.h>

enum { ROWS = 3, COLUMNS = 4, TEXT_BYTES = 1 << 14, WEIGHTS = 32, CACHES = 4 };
/* How far a program gets. */
enum reach { READS_NOT, IS_READ, IS_CHECKED, RUNS };
enum level { NOTHING, CONTEXT, MODULE, EXECUTABLE, MACHINE };

struct world;
typedef struct program {
    const char *name;
    enum reach reach;
    /* of the run, or of the stage that it does not pass */
    relax_status outcome;
    const relax_module *(*build)(struct world *w);         /* NULL: programs/NAME.py */
    /* NULL: programs/NAME.py, if it is not built */
    const char *path;
    /* NULL, or an archive of those of all parameters after the inputs */
    const char *weights;
    const char *entry;                                     /* NULL: main */
    bool is_large;                                         /* the short run tries few requests */
    size_t most;                                           /* and the long run so many; 0: each */
    bool is_native;                                        /* also compiled by way of C */
    bool has_host_parts;                                   /* see host_parts.h */
} program;

/* An array of the weights of a program, read before the library is on the stack. */
typedef struct weight { char name[64]; int64_t shape[2]; int32_t ndim; const void *data; } weight;

typedef struct world {
    const program *program;
    fault *fault;                   /* NULL: the default allocator */
    uint64_t max_bytes, max_memory; /* caps, 0: none */
    char text[TEXT_BYTES];
    size_t text_len;
    relax_context *ctx, *other;
    const relax_module *module, *out;
    relax_executable *exe, *loaded;
    relax_bytes *bytes;
    relax_registry *registry;
    relax_vm *vm;
    relax_tensor *in, *tensor, *caches[CACHES];
    relax_tensor *buffers[2];
    struct DLManagedTensorVersioned *exported;
    relax_value arg, result;
    relax_status status;
    relax_error *error;
    int64_t number;                 /* what a step found out beside */
    bool refused;                   /* memory, but not by the context */
    int kept;                       /* things of the host that the library still holds */
    char path[256], temp[256], cache[256], compiler[256];
    const relax_pattern *pattern;   /* of the rewriting under way */
    const char *pass;               /* of steps that there is one of for each pass */
} world;

static const relax_allocator *allocator_of(world *w)
{
    return w->fault ? &w->fault->allocator : NULL;
}

/* ---- programs made without text */

/* relu(x @ w + b) with constants that are no scalars, and a PrimFunc made by hand behind it. */
static relax_base_func *halve(relax_context *ctx)
{
    relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
    const relax_prim_expr *shape[] = { relax_tir_dim(t, Z("n")), relax_prim_int_new(ctx, 2) },
                          *at[2];
    relax_buffer *a = relax_tir_param(t, Z("A"), RELAX_FLOAT32, shape, 2),
                 *b = relax_tir_param(t, Z("B"), RELAX_FLOAT32, shape, 2);
    relax_tir_begin_block(t, Z("halve"));
    at[0] = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("i"), shape[0]);
    at[1] = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("j"), shape[1]);
    relax_prim_expr *half = relax_prim_float_new(ctx, RELAX_FLOAT32, 0.5);
    relax_tir_store(t, b, at, 2,
                    relax_prim_binary_new(ctx, RELAX_PRIM_MUL, relax_tir_load(t, a, at, 2), half));
    relax_tir_end_block(t);
    relax_base_func *f = relax_tir_finish(t);
    relax_tir_builder_destroy(t);
    return f;
}

static const relax_module *build_network(world *w)
{
    static const float weights[] = { 1, -2, 3, 0.5f, 0.25f, 4, -1, 2 }, bias[] = { 0.125f, -1 };
    relax_context *ctx = w->ctx;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_expr *gv = relax_module_builder_add(mb, Z("halve"), halve(ctx));
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *dims[] = { n, relax_prim_int_new(ctx, COLUMNS) },
                          *out[] = { n, relax_prim_int_new(ctx, 2) };
    const relax_expr *x =
        relax_var_new(ctx, Z("x"), relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32), 0);
    relax_expr *c = relax_constant_new(ctx, RELAX_FLOAT32, (int64_t[]){ COLUMNS, 2 }, 2, weights,
                                       sizeof weights);
    relax_expr *d = relax_constant_new(ctx, RELAX_FLOAT32, (int64_t[]){ 2 }, 1, bias, sizeof bias);
    relax_builder_begin_function(b, Z("main"), &x, 1, NULL);
    relax_builder_begin_dataflow(b);
    const relax_expr *h = relax_builder_emit(
        b, relax_r_nn_relu(ctx, relax_r_add(ctx, relax_r_matmul(ctx, x, c, NULL), d)), NULL, 0, 0);
    const relax_expr *args[] = { gv, relax_tuple_new(ctx, &h, 1) };
    relax_struct_info *info = relax_struct_info_tensor_new(ctx, out, 2, RELAX_FLOAT32);
    relax_expr *y = relax_builder_emit_output(
        b, relax_call_op_new_with_result(ctx, Z("call_tir"), args, 2, NULL, info, 0), Z("y"), 0);
    relax_builder_end_dataflow(b);
    relax_builder_end_function(b, y);
    const relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return m;
}

/* Branches, a local function, tuples, a cast: what the builder has scopes for. */
static const relax_module *build_scopes(world *w)
{
    relax_context *ctx = w->ctx;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *m = relax_shape_var_new(ctx, Z("m"));
    const relax_prim_expr *dims[] = { n, relax_prim_int_new(ctx, COLUMNS) },
                          *cast[] = { m, relax_prim_int_new(ctx, COLUMNS) };
    relax_struct_info *info = relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *y = relax_var_new(ctx, Z("y"), info, 0);
    relax_builder_begin_function(b, Z("main"), &x, 1, NULL);
    relax_function_options options;
    relax_function_options_init(&options, sizeof options);
    options.ret = info;
    relax_builder_begin_function(b, Z("inner"), &y, 1, &options);
    relax_expr *inner = relax_builder_end_function(b, relax_r_add(ctx, x, y));
    relax_expr *z = relax_builder_emit(b, relax_call_new(ctx, inner, &x, 1, NULL, 0), NULL, 0, 0);
    const relax_expr *pair[] = { z, x };
    relax_expr *t = relax_builder_emit(b, relax_tuple_new(ctx, pair, 2), NULL, 0, 0);
    relax_expr *c = relax_builder_emit(
        b, relax_r_less(ctx, relax_r_sum(ctx, x, NULL), relax_r_sum(ctx, z, NULL)), NULL, 0, 0);
    relax_builder_begin_if(b, c);
    relax_builder_begin_else(b, relax_builder_emit(b, relax_r_exp(ctx, x), NULL, 0, 0));
    relax_expr *r = relax_builder_end_if(b, relax_tuple_get_item_new(ctx, t, 0), Z("r"), 0);
    relax_expr *v = relax_builder_emit_match_cast(
        b, r, relax_struct_info_tensor_new(ctx, cast, 2, RELAX_FLOAT32), NULL, 0, 0);
    relax_builder_end_function(b, relax_tuple_new(ctx, (const relax_expr *[]){ v, t }, 2));
    const relax_module *module = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return module;
}

/* A program of examples/ with its weights bound; parameters are named in the order of the
 * archive, dots as underscores. */
static const relax_module *build_example(world *w);

static const program programs[] = {
    { .name = "prim_func", .reach = RUNS, .is_native = true },
    { .name = "decoded", .reach = RUNS },
    { .name = "quantised", .reach = RUNS },
    { .name = "legalised", .reach = RUNS },
    { .name = "symbolic", .reach = RUNS },
    { .name = "grows", .reach = RUNS },
    { .name = "match_cast", .reach = RUNS },
    { .name = "branches", .reach = RUNS },
    { .name = "recursion", .reach = RUNS },
    { .name = "tuples", .reach = RUNS },
    { .name = "packed", .reach = RUNS },
    { .name = "host", .reach = RUNS, .has_host_parts = true },
    { .name = "packed_refuses", .reach = RUNS, .outcome = RELAX_ERROR_RUNTIME },
    { .name = "cast_fails", .reach = RUNS, .outcome = RELAX_ERROR_RUNTIME },
    { .name = "unknown_sizes", .reach = RUNS },
    { .name = "unknown_ranks", .reach = RUNS },
    { .name = "vision", .reach = RUNS, .is_large = true },
    { .name = "unknown_refused", .reach = RUNS, .outcome = RELAX_ERROR_RUNTIME },
    { .name = "closures", .reach = RUNS },
    { .name = "bounds", .reach = RUNS },
    { .name = "bounds_broken", .reach = RUNS, .outcome = RELAX_ERROR_RUNTIME },
    { .name = "network", .reach = RUNS, .build = build_network, .is_native = true },
    { .name = "digits",
      .reach = RUNS,
      .build = build_example,
      .path = "examples/digits/digits.py",
      .weights = "examples/digits/mlp_weights.npz",
      .is_large = true },
    { .name = "adder",
      .reach = RUNS,
      .build = build_example,
      .path = "examples/adder/adder.py",
      .weights = "examples/adder/weights.npz",
      .entry = "prefill",
      .is_large = true,
      .most = 64 },
    { .name = "scopes",
      .reach = IS_CHECKED,
      .outcome = RELAX_ERROR_CODEGEN,
      .build = build_scopes },
    { .name = "local_function", .reach = IS_CHECKED, .outcome = RELAX_ERROR_CODEGEN },
    { .name = "distributed", .reach = IS_CHECKED, .outcome = RELAX_ERROR_UNSUPPORTED },
    { .name = "ill_formed", .reach = IS_READ, .outcome = RELAX_ERROR_TYPE },
    { .name = "errors", .reach = READS_NOT, .outcome = RELAX_ERROR_TEXT },
};

static const char *entry_of(const world *w)
{
    return w->program->entry ? w->program->entry : "main";
}

/* ---- weights: arrays of a zip archive whose entries are stored, not packed */

static struct {
    unsigned char bytes[1 << 19];
    weight at[WEIGHTS];
    size_t count;
    const char *path;
} archive;

static uint32_t little(const unsigned char *p, int size)
{
    uint32_t n = 0;
    for (int i = size; i-- > 0;)
        n = n << 8 | p[i];
    return n;
}

/* One entry: its local header, the name, an .npy header, floats. */
static const unsigned char *read_weight(const unsigned char *p, weight *out)
{
    uint32_t size = little(p + 18, 4), name = little(p + 26, 2), extra = little(p + 28, 2);
    const unsigned char *npy = p + 30 + name + extra;
    assert_int_equal(little(p + 8, 2), 0);
    snprintf(out->name, sizeof out->name, "%.*s", (int)name - 4, (const char *)p + 30);
    for (char *c = out->name; *c; c++)
        *c = *c == '.' ? '_' : *c;
    const char *shape = strstr((const char *)npy + 10, "'shape': (");
    long long dims[2] = { 0, 0 };
    out->ndim = sscanf(shape + 10, "%lld, %lld", &dims[0], &dims[1]);
    out->shape[0] = dims[0], out->shape[1] = dims[1];
    out->data = (const void *)(npy + 10 + little(npy + 8, 2));
    return npy + size;
}

static void read_archive(const char *path)
{
    if (!path || (archive.path && strcmp(path, archive.path) == 0))
        return;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(archive.bytes, 1, sizeof archive.bytes, file);
    fclose(file);
    assert_true(size < sizeof archive.bytes);
    archive.count = 0;
    for (const unsigned char *p = archive.bytes; memcmp(p, "PK\3\4", 4) == 0;)
        p = read_weight(p, &archive.at[archive.count++]);
    archive.path = path;
    assert_true(archive.count > 0);
}

static void give_back(void *user) { --*(int *)user; }

/* The weights stay where they are in the archive, at addresses of any kind. */
static const relax_module *build_example(world *w)
{
    const char *names[WEIGHTS];
    DLTensor views[WEIGHTS];
    const DLTensor *arrays[WEIGHTS];
    const relax_module *m = relax_module_parse(w->ctx, Z(w->program->name), w->text, w->text_len);
    for (size_t i = 0; i < archive.count; i++) {
        weight *from = &archive.at[i];
        names[i] = from->name;
        views[i] = (DLTensor){ .data = (void *)(uintptr_t)from->data,
                               .device = { 1, 0 },
                               .ndim = from->ndim,
                               .dtype = { 2, 32, 1 },
                               .shape = from->shape };
        arrays[i] = &views[i];
    }
    if (!m)
        return NULL;
    w->kept++;
    return relax_module_bind_memory(w->ctx, m, Z(entry_of(w)), names, arrays, archive.count,
                                    &w->kept, give_back);
}

/* ---- what the programs call */

static int scale(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)self;
    const DLTensor *in = num_args == 2 && args[0].type_index == RELAX_VALUE_TENSOR_VIEW
                             ? args[0].v.p
                             : NULL,
                   *out = in ? args[1].v.p : NULL;
    if (!in)
        return relax_value_set_error(result, Z("TypeError"), Z("scale takes two tensors"));
    for (int64_t i = 0; i < in->shape[0] * in->shape[1]; i++)
        ((float *)out->data)[i] = ((const float *)in->data)[i] * 2;
    return 0;
}

static int keep_first(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)self;
    return num_args && relax_value_keep(&args[0], result) == RELAX_OK ? 0 : -1;
}

static int refuse(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)self, (void)args, (void)num_args;
    bool ours = fault_malloc.is_ours;
    fault_malloc.is_ours = true; /* as relax_value_set_error says */
    int failed = relax_value_set_error(result, Z("ValueError"),
                                       Z("this function never does what it is asked for"));
    fault_malloc.is_ours = ours;
    return failed;
}

static void let_go(void *user) { (*(int *)user)--; }

/* ---- reaching a level */

static relax_status register_one(world *w, const char *name, relax_packed_fn fn)
{
    w->kept++;
    return relax_registry_register(w->registry, Z(name), fn, &w->kept, let_go, &w->error);
}

static bool open_registry(world *w)
{
    w->status = relax_registry_create(allocator_of(w), &w->registry, &w->error);
    if (w->status == RELAX_OK)
        w->status = register_one(w, "test.scale", scale);
    if (w->status == RELAX_OK)
        w->status = register_one(w, "test.keep", keep_first);
    if (w->status == RELAX_OK)
        w->status = register_one(w, "test.refuse", refuse);
    return w->status == RELAX_OK;
}

static bool open_context(world *w)
{
    relax_context_options o;
    relax_context_options_init(&o, sizeof o);
    o.allocator = allocator_of(w);
    o.max_bytes = w->max_bytes;
    w->ctx = relax_context_create(&o);
    w->status = w->ctx ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
    if (w->ctx && w->program->has_host_parts)
        w->status = add_host_parts(w->ctx, &w->kept);
    if (w->status == RELAX_OK)
        return true;
    relax_context_release(w->ctx);
    w->ctx = NULL;
    return false;
}

/* The status that the context has when a step came back with nothing. */
static bool said(world *w, const void *result)
{
    w->status = relax_context_num_errors(w->ctx) ? relax_context_status(w->ctx) : RELAX_OK;
    return result && w->status == RELAX_OK;
}

static bool make_module(world *w)
{
    w->refused = false;
    w->out = w->program->build
                 ? w->program->build(w)
                 : relax_module_parse(w->ctx, Z(w->program->name), w->text, w->text_len);
    bool good = said(w, w->out);
    if (w->refused)
        w->status = RELAX_ERROR_OUT_OF_MEMORY;
    return good;
}

static bool compile_to(world *w, int32_t opt_level, relax_executable **out)
{
    relax_compile_options o;
    relax_load_options load;
    relax_compile_options_init(&o, sizeof o);
    relax_load_options_init(&load, sizeof load);
    load.allocator = allocator_of(w);
    o.opt_level = opt_level;
    o.load = &load;
    *out = relax_module_compile(w->ctx, w->module, &o);
    return said(w, *out);
}

static bool open_machine(world *w)
{
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.allocator = allocator_of(w);
    o.registry = w->registry;
    o.max_memory = w->max_memory;
    w->status = relax_vm_create(w->exe, &o, &w->vm, &w->error);
    return w->status == RELAX_OK;
}

static relax_status new_tensor(world *w, int64_t rows, int64_t columns, relax_tensor **out)
{
    relax_tensor_options o;
    relax_tensor_options_init(&o, sizeof o);
    o.allocator = allocator_of(w);
    int64_t shape[] = { rows, columns };
    return relax_tensor_create(RELAX_FLOAT32, shape, 2, &o, out, &w->error);
}

/* A prompt for the adder, pixels for digits, a small matrix for all others. */
static bool make_input(world *w)
{
    static const int64_t prompt[] = { 3, 5, 7, 10, 4, 6, 8, 11 };
    float data[ROWS * 64];
    int64_t columns = w->program->weights ? 64 : COLUMNS;
    for (int i = 0; i < ROWS * 64; i++)
        data[i] = (float)(i % 5) / 2;
    if (w->program->entry) {
        relax_tensor_options o;
        relax_tensor_options_init(&o, sizeof o);
        o.allocator = allocator_of(w);
        w->status =
            relax_tensor_create(RELAX_INT64, (int64_t[]){ N(prompt) }, 1, &o, &w->in, &w->error);
    } else {
        w->status = new_tensor(w, ROWS, columns, &w->in);
    }
    if (w->status == RELAX_OK)
        w->status = relax_tensor_copy_in(w->in, w->program->entry ? (const void *)prompt : data,
                                         relax_tensor_bytes(w->in));
    relax_value_set_tensor(&w->arg, w->in);
    return w->status == RELAX_OK;
}

/* Keys and values of two layers, which the adder writes in place. */
static bool make_caches(world *w)
{
    for (size_t i = 0; w->program->entry && i < CACHES && w->status == RELAX_OK; i++) {
        w->status = new_tensor(w, 16, 64, &w->caches[i]);
        if (w->status == RELAX_OK)
            memset(relax_tensor_data(w->caches[i]), 0, relax_tensor_bytes(w->caches[i]));
    }
    return w->status == RELAX_OK;
}

/* All arguments, of which `first` is the first; how many. */
static size_t arguments(world *w, const relax_value *first, relax_value args[1 + CACHES])
{
    size_t n = 1;
    args[0] = *first;
    for (size_t i = 0; i < CACHES && w->caches[i]; i++, n++)
        /* borrowed */
        args[n] = (relax_value){ .type_index = RELAX_VALUE_TENSOR, .v.p = w->caches[i] };
    return n;
}

static void read_text(world *w)
{
    char path[128];
    const program *p = w->program;
    bool is_text = !p->build || p->path;
    snprintf(path, sizeof path, p->path ? "%s" : "test/fault/programs/%s.py",
             p->path ? p->path : p->name);
    FILE *file = is_text ? fopen(path, "rb") : NULL;
    w->text_len = file ? fread(w->text, 1, sizeof w->text, file) : 0;
    if (file)
        fclose(file);
    assert_true(!is_text || (w->text_len && w->text_len < sizeof w->text));
    read_archive(p->weights);
}

/* ---- compiling by way of C: where that leaves its things, and a compiler that knows what it
 * has compiled before */

static const char remembering_compiler[] =
    "#!/bin/sh\n"
    "for last; do case $last in *.c) source=$last ;; *.so) object=$last ;; esac; done\n"
    "kept=${0%/*}/known-$(cksum < \"$source\" | tr ' ' '-')\n"
    "[ -f \"$kept\" ] || { cc \"$@\" -O0 && mv \"$object\" \"$kept\"; } || exit 1\n"
    "exec cp \"$kept\" \"$object\"\n";

/* How many names are in a folder; those are removed. */
static int sweep(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        count++;
        unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
    return count;
}

static void open_folders(world *w, const char *folder)
{
    char base[200];
    snprintf(base, sizeof base, "%.100s/fault-native-%ld", folder, (long)getpid());
    mkdir(base, 0700);
    snprintf(w->temp, sizeof w->temp, "%s/temp", base);
    snprintf(w->cache, sizeof w->cache, "%s/cache", base);
    snprintf(w->compiler, sizeof w->compiler, "%s/compiler", base);
    mkdir(w->temp, 0700);
    sweep(w->cache);
    int fd = open(w->compiler, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (fd < 0)
        return; /* it is there */
    assert_int_equal(write(fd, remembering_compiler, sizeof remembering_compiler - 1),
                     sizeof remembering_compiler - 1);
    close(fd);
}

/* Nothing stays of a job but whole entries of the cache. */
static inline void expect_folders_clean(world *w)
{
    if (!w->program->is_native)
        return;
    assert_int_equal(sweep(w->temp), 0);
    DIR *d = opendir(w->cache);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (strstr(e->d_name, ".new"))
            fail_msg("%s is left in the cache", e->d_name);
    if (d)
        closedir(d);
}

/* Before the library is on the stack. */
static void world_open(world *w, const program *p, fault *f)
{
    const char *folder = getenv("TMPDIR");
    w->program = p;
    w->fault = f;
    read_text(w);
    snprintf(w->path, sizeof w->path, "%s/fault-%ld.rlx", folder ? folder : "/tmp",
             (long)getpid());
    if (p->is_native)
        open_folders(w, folder ? folder : "/tmp");
}

/* Nothing may go wrong on the way (limits are in the caller's hand: false if one was met). */
static bool world_reach(world *w, enum level level)
{
    if (level >= CONTEXT && !open_context(w))
        return false;
    if (level >= MODULE) {
        bool good = make_module(w);
        w->module = w->out;
        if (!good && !(w->module && w->program->reach == IS_READ))
            return false;
        w->out = NULL;
        relax_context_clear_diagnostics(w->ctx);
    }
    if (level >= EXECUTABLE && !compile_to(w, 1, &w->exe))
        return false;
    relax_context_clear_diagnostics(w->ctx); /* warnings */
    return level < MACHINE ||
           (open_registry(w) && open_machine(w) && make_input(w) && make_caches(w));
}

/* What a step left behind. */
static void world_forget(world *w)
{
    relax_bytes_release(w->bytes);
    relax_error_release(w->error);
    relax_executable_release(w->loaded);
    relax_value_release(&w->result);
    relax_tensor_release(w->tensor);
    for (size_t i = 0; i < N(w->buffers); i++)
        relax_tensor_release(w->buffers[i]), w->buffers[i] = NULL;
    if (w->exported)
        w->exported->deleter(w->exported);
    relax_context_release(w->other);
    w->bytes = NULL, w->error = NULL, w->loaded = NULL, w->tensor = NULL, w->exported = NULL,
    w->other = NULL, w->out = NULL;
    w->number = 0;
    if (w->ctx)
        relax_context_clear_diagnostics(w->ctx);
}

static void world_close(world *w)
{
    world_forget(w);
    relax_value_release(&w->arg);
    relax_tensor_release(w->in);
    for (size_t i = 0; i < CACHES; i++)
        relax_tensor_release(w->caches[i]);
    relax_vm_release(w->vm);
    relax_registry_release(w->registry);
    relax_executable_release(w->exe);
    relax_context_release(w->ctx);
    w->ctx = NULL;
    unlink(w->path);
}

/* ---- steps. Each returns true for success and leaves in w->status what it came to. */

static bool step_context(world *w) { return open_context(w); }
static bool step_module(world *w) { return make_module(w); }

static bool step_check(world *w)
{
    w->number = relax_module_well_formed(w->ctx, w->module, RELAX_CHECK_ALL);
    return said(w, w->number == 1 ? w : NULL);
}

static bool step_normalize(world *w)
{
    return said(w, w->out = relax_module_normalize(w->ctx, w->module));
}
static bool step_infer(world *w) { return said(w, w->out = relax_module_infer(w->ctx, w->module)); }

static bool step_print(world *w)
{
    w->bytes = relax_node_print(w->ctx, relax_module_as_node(w->module), NULL);
    w->status = w->bytes ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
    return w->bytes;
}

static bool step_read_back(world *w)
{
    if (step_print(w))
        w->out = relax_module_parse(w->ctx, Z("again"), relax_bytes_data(w->bytes),
                                    relax_bytes_size(w->bytes));
    return w->bytes && said(w, w->out);
}

static bool step_equal(world *w)
{
    const relax_node *n = relax_module_as_node(w->module);
    relax_node_hash(w->ctx, n);
    w->number = relax_node_equal(w->ctx, n, n, 0);
    return said(w, w->number == 1 ? w : NULL);
}

static bool step_copy(world *w)
{
    relax_context *mine = w->ctx;
    if (!open_context(w)) {
        w->ctx = mine;
        return false;
    }
    w->other = w->ctx;
    w->ctx = mine;
    w->out = relax_module_copy(w->other, w->ctx, w->module, 1);
    w->status = relax_context_num_errors(w->other) ? relax_context_status(w->other) : RELAX_OK;
    return w->out && w->status == RELAX_OK;
}

static bool step_free_vars(world *w)
{
    const relax_expr *vars[4];
    const relax_prim_expr *sizes[4];
    const relax_node *main = relax_expr_as_node(relax_base_func_as_expr(
        relax_module_function(w->module, relax_module_num_functions(w->module) - 1)));
    w->number = relax_free_vars(w->ctx, main, vars, N(vars));
    if (w->number >= 0)
        w->number = relax_bound_vars(w->ctx, main, vars, N(vars));
    if (w->number >= 0)
        relax_free_shape_vars(w->ctx, main, sizes, N(sizes));
    return said(w, w->number >= 0 ? w : NULL);
}

/* Uses and liveness of one function; true if it has none to ask about. */
static bool analyse_function(world *w, const relax_base_func *func)
{
    const relax_expr *vars[4];
    const relax_prim_expr *tensors, *storages;
    if (relax_base_func_kind(func) == RELAX_FUNC_PRIM)
        return relax_has_reshape_pattern(w->ctx, func) || said(w, w);
    if (relax_base_func_kind(func) != RELAX_FUNC_RELAX)
        return true;
    relax_liveness *l = relax_liveness_create(w->ctx, func);
    bool good = l &&
                relax_computable_at_compile_time(w->ctx, w->module, func, vars, 4) !=
                    RELAX_NOT_FOUND &&
                relax_memory_estimate(w->ctx, func, &tensors, &storages) != RELAX_NOT_FOUND &&
                (relax_contains_impure_call(w->ctx, w->module, relax_base_func_as_expr(func), NULL,
                                            NULL, 0) ||
                 said(w, w));
    relax_liveness_destroy(l);
    return good;
}

static bool step_analyse(world *w)
{
    const relax_node *all = relax_module_as_node(w->module);
    relax_use_def *u = relax_use_def_create(w->ctx, all);
    w->number = u ? (int64_t)relax_use_def_num_outputs(u) : -1;
    relax_use_def_destroy(u);
    bool good = u && relax_global_vars(w->ctx, all, NULL, 0) != RELAX_NOT_FOUND &&
                relax_called_global_vars(w->ctx, all, NULL, 0) != RELAX_NOT_FOUND &&
                relax_function_groups(w->ctx, w->module, NULL, NULL, 0) != RELAX_NOT_FOUND &&
                relax_reachable_functions(w->ctx, w->module, NULL, 0, NULL, 0) != RELAX_NOT_FOUND;
    for (size_t i = 0; good && i < relax_module_num_functions(w->module); i++)
        good = analyse_function(w, relax_module_function(w->module, i));
    return said(w, good ? w : NULL);
}

/* A module beside an edited one, where they differ, and both in one. */
static bool step_edit(world *w)
{
    relax_bytes *path = NULL;
    const char *name = relax_expr_name(relax_module_global_var(w->module, 0), NULL);
    const relax_module *now =
        name ? relax_module_rename(w->ctx, w->module, Z(name), Z("renamed")) : w->module;
    if (now)
        w->number = relax_node_first_difference(w->ctx, relax_module_as_node(w->module),
                                                relax_module_as_node(now), 0, NULL, NULL, NULL,
                                                NULL, &path);
    relax_bytes_release(path);
    if (now && w->number >= 0)
        w->out = relax_module_merge(w->ctx, w->module, now);
    return said(w, w->out);
}

/* Two modules stay, of which one is part of the other's making; all else goes. */
static bool step_collect(world *w)
{
    relax_module *kept[] = { (relax_module *)(uintptr_t)w->module,
                             relax_module_normalize(w->ctx, w->module) };
    if (!said(w, kept[1]))
        return false;
    w->status = relax_context_collect(w->ctx, kept, N(kept));
    w->module = kept[0]; /* as it was, if that failed */
    w->out = kept[1];
    return w->status == RELAX_OK;
}

static inline bool step_pass(world *w)
{
    return said(w, w->out = relax_pass_run(w->ctx, w->module, Z(w->pass), NULL));
}

static bool step_pipeline(world *w)
{
    relax_pipeline *p = relax_pipeline_create(w->ctx);
    w->status = RELAX_ERROR_OUT_OF_MEMORY;
    if (p && relax_pipeline_add(p, Z("normalize"), NULL) == RELAX_OK &&
        relax_pipeline_add_build(p, 2) == RELAX_OK) {
        relax_pipeline_set_verify(p, 1);
        w->out = relax_pipeline_run(p, w->module);
    }
    relax_pipeline_destroy(p);
    return said(w, w->out);
}

/* ---- walking and rewriting */

static int32_t count_expr(void *user, const relax_expr *e)
{
    ((world *)user)->number += e != NULL;
    return 0;
}

static const relax_expr *rename_variable(void *user, relax_mutator *m, const relax_expr *v)
{
    (void)m;
    return relax_var_new(((world *)user)->ctx, Z("renamed"), relax_expr_struct_info(v), 0);
}

static const relax_expr *emit_again(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)user;
    relax_builder *b = relax_mutator_builder(m);
    const relax_expr *v = relax_mutator_find(m, relax_expr_operand(e, 1));
    return v ? relax_builder_emit(b, e, NULL, 0, 0) : e;
}

static const relax_expr *same_expr(void *user, relax_mutator *m, const relax_expr *e)
{
    ((world *)user)->number += relax_mutator_module_builder(m) != NULL;
    return e;
}

static const relax_struct_info *same_info(void *user, relax_mutator *m,
                                          const relax_struct_info *info)
{
    ((world *)user)->number += relax_mutator_builder(m) != NULL;
    return info;
}

/* Every variable anew, calls of what is bound once more; then all expressions once. */
static bool step_mutate(world *w)
{
    relax_mutations t = { .struct_size = sizeof t,
                          .user = w,
                          .function = same_expr,
                          .call = emit_again,
                          .sinfo_dep = same_info,
                          .var_def = rename_variable };
    w->out = relax_module_mutate(w->ctx, w->module, NULL, 0, &t);
    if (w->out && relax_node_visit_post_order(w->ctx, relax_module_as_node(w->out), count_expr,
                                              w) != RELAX_OK)
        w->out = NULL;
    return said(w, w->out);
}

static int32_t visit_expr(void *user, const relax_expr *e)
{
    ((world *)user)->number += e != NULL;
    return RELAX_VISIT_CHILDREN;
}

static int32_t walk_node(void *user, const relax_node *n)
{
    ((world *)user)->number += n != NULL;
    return 0;
}

static bool step_visit(world *w)
{
    const relax_node *all = relax_module_as_node(w->module);
    relax_visitor v = { .struct_size = sizeof v, .user = w, .expr = visit_expr };
    w->status = relax_node_visit(w->ctx, all, &v);
    if (w->status == RELAX_OK)
        w->status = relax_node_walk(w->ctx, all, walk_node, walk_node, w);
    return w->status == RELAX_OK;
}

/* A call of a common operator, of float32. */
static const relax_pattern *some_pattern(relax_context *ctx)
{
    const relax_pattern *x = relax_pattern_any_new(ctx);
    const relax_pattern *ops[] = {
        relax_pattern_op_new(ctx, Z("add"), (const relax_pattern *const[]){ x, x }, 2,
                             RELAX_PATTERN_COMMUTATIVE),
        relax_pattern_op_new(ctx, Z("exp"), &x, 1, 0),
        relax_pattern_op_new(ctx, Z("nn.relu"), &x, 1, 0),
        relax_pattern_op_new(ctx, Z("multiply"), &x, 1, RELAX_PATTERN_OPEN),
    };
    return relax_pattern_with_dtype(ctx, relax_pattern_or_new(ctx, ops, N(ops)), RELAX_FLOAT32);
}

static const relax_expr *absolute(void *user, relax_module_builder *mb, relax_builder *b,
                                  const relax_match *match)
{
    relax_context *ctx = ((world *)user)->ctx;
    const relax_expr *value = relax_match_value(match, ((world *)user)->pattern);
    (void)mb;
    return relax_r_abs(ctx, relax_builder_emit(b, value, NULL, 0, 0));
}

static int32_t count_match(void *user, const relax_match *match)
{
    ((world *)user)->number += relax_match_root(match) != NULL;
    return 0;
}

static bool step_rewrite(world *w)
{
    const relax_pattern *p = w->pattern = some_pattern(w->ctx);
    bool good = p;
    for (size_t i = 0; good && i < relax_module_num_functions(w->module); i++) {
        const relax_base_func *f = relax_module_function(w->module, i);
        if (relax_base_func_kind(f) == RELAX_FUNC_RELAX)
            good = relax_pattern_match_all(w->ctx, p, w->module, f, count_match, w) == RELAX_OK;
    }
    if (good)
        w->out = relax_pattern_rewrite(w->ctx, w->module, NULL, 0, p, absolute, w, NULL);
    return said(w, w->out);
}

/* What a pattern matches as functions for a back end, one each and then merged. */
static bool step_fuse(world *w)
{
    const relax_pattern *p = some_pattern(w->ctx);
    relax_fuse_options o;
    relax_fuse_options_init(&o, sizeof o);
    o.annotate_codegen = 1;
    relax_module *m = p ? relax_pattern_fuse(w->ctx, w->module, NULL, 0, Z("host.one"), p, NULL, NULL, &o) : NULL;
    m = m ? relax_pattern_fuse(w->ctx, w->module, NULL, 0, Z("host.one"), p, NULL, NULL, NULL) : NULL;
    w->out = m ? relax_pass_run(w->ctx, m, Z("merge_composite_functions"), NULL) : NULL;
    return said(w, w->out);
}

/* Questions to a prover; the program plays no part. */
static bool ask(world *w, relax_prover *p)
{
    relax_context *ctx = w->ctx;
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *m = relax_shape_var_new(ctx, Z("m")), *four = relax_prim_int_new(ctx, 4),
                          *vars[2];
    const relax_prim_expr *n4 = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, n, four),
                          *sum = relax_prim_binary_new(ctx, RELAX_PRIM_ADD, n4, m),
                          *less = relax_prim_binary_new(ctx, RELAX_PRIM_LT, n, m),
                          *dims[] = { n4, m };
    relax_prim_expr *value = NULL;
    int64_t low = 0, high = 0, values[2];
    int32_t solved = relax_prover_solve(p, n4, sum, m, &value);
    bool good = relax_prover_bound(p, n, 1, 100) == RELAX_OK && solved >= 0 &&
                relax_prover_enter(p, relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32)) ==
                    RELAX_OK &&
                relax_prover_assume_equal(p, m, n4) >= 0 && relax_prover_holds(p, less) >= 0 &&
                relax_prover_bounds(p, sum, &low, &high) == RELAX_OK &&
                relax_prover_simplify(p, sum) != NULL && relax_prover_equal(p, sum, n4) >= 0;
    size_t found =
        good ? relax_prover_counterexample(p, sum, n, vars, values, 2) : RELAX_NOT_FOUND;
    w->number = low + high + solved + (int64_t)found;
    return good && found != RELAX_NOT_FOUND;
}

static bool step_prove(world *w)
{
    relax_prover *p = relax_prover_create(w->ctx);
    bool good = p && ask(w, p);
    relax_prover_destroy(p);
    return said(w, good ? w : NULL);
}

/* The first Relax function that binds something, and its first block; NULL: there is none. */
static const relax_block *first_block(const relax_module *m, const char **name)
{
    for (size_t i = 0; i < relax_module_num_functions(m); i++) {
        const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, i));
        size_t count =
            relax_expr_kind(f) == RELAX_EXPR_KIND_FUNCTION ? relax_expr_num_operands(f) : 0;
        const relax_block *block =
            count ? relax_seq_block(relax_expr_operand(f, count - 1), 0) : NULL;
        *name = relax_expr_name(relax_module_global_var(m, i), NULL);
        if (block)
            return block;
    }
    return NULL;
}

/* The first binding goes into a function and comes back. */
static bool step_extract(world *w)
{
    const char *name;
    const relax_module *m = relax_module_normalize(w->ctx, w->module);
    const relax_block *block = m ? first_block(m, &name) : NULL;
    const relax_binding *first = relax_block_binding(block, 0);
    w->out = m;
    if (block)
        w->out = relax_module_extract_function(w->ctx, m, Z(name), first, first, Z("part"));
    if (block && w->out)
        w->out = relax_module_inline_function(w->ctx, w->out, Z("part"));
    return said(w, w->out);
}

/* What is unused goes from the first block, if it is one of dataflow, and comes back copied. */
static bool step_edit_block(world *w)
{
    const char *name;
    const relax_block *block = first_block(w->module, &name);
    relax_block_edit *e = NULL;
    w->out = w->module;
    if (block && relax_block_is_dataflow(block)) {
        const relax_expr *first = relax_binding_var(relax_block_binding(block, 0));
        e = relax_block_edit_create(w->ctx, w->module, Z(name), block);
        const relax_expr *copy = e && first ? relax_block_edit_add(e, first, NULL, 0, 0) : NULL;
        bool good = e && (!first || copy);
        if (good && first)
            good = relax_block_edit_replace_uses(e, copy, first) == RELAX_OK;
        good = good && relax_block_edit_remove_unused(e) == RELAX_OK;
        w->out = good ? relax_block_edit_module(e) : NULL;
        relax_block_edit_destroy(e);
    }
    return said(w, w->out);
}

static bool step_compile_0(world *w) { return compile_to(w, 0, &w->loaded); }
static bool step_compile_1(world *w) { return compile_to(w, 1, &w->loaded); }
static bool step_compile_2(world *w) { return compile_to(w, 2, &w->loaded); }

static bool step_emit_c(world *w)
{
    w->bytes = relax_module_compile_to_c(w->ctx, w->module, NULL);
    return said(w, w->bytes);
}

/* How many bytes came, each piece where the one before it ended, but for the head. */
static int32_t count_bytes(void *user, uint64_t offset, const void *data, size_t size)
{
    int64_t *end = user;
    bool is_head = offset == 0 && *end > 0;
    if (!is_head && (uint64_t)*end != offset)
        return 0;
    *end += is_head ? 0 : (int64_t)size;
    return 1;
}

static bool step_compile_to_file(world *w)
{
    w->number = 0;
    w->status = relax_module_compile_to_file(w->ctx, w->module, NULL, count_bytes, &w->number);
    if (w->status != RELAX_OK)
        w->number = 0;
    return said(w, w->module);
}

static bool compile_by(world *w, const char *compiler, relax_executable **out)
{
    relax_compile_options o;
    relax_load_options load;
    relax_compile_options_init(&o, sizeof o);
    relax_load_options_init(&load, sizeof load);
    load.allocator = allocator_of(w);
    o.load = &load;
    o.target = "c";
    o.allow_compiler = 1;
    o.compiler = compiler;
    o.temp_dir = w->temp;
    o.cache_dir = w->cache;
    *out = relax_module_compile(w->ctx, w->module, &o);
    return said(w, *out);
}

/* The second time the cache has it. */
static bool step_native(world *w)
{
    relax_executable *first = NULL;
    bool good = compile_by(w, w->compiler, &first) && compile_by(w, w->compiler, &w->loaded);
    w->number = good ? relax_executable_num_native_kernels(w->loaded) : 0;
    relax_executable_release(first);
    return good;
}

static bool step_bad_compiler(world *w) { return compile_by(w, "/bin/false", &w->loaded); }

static bool step_load_native(world *w)
{
    relax_load_options o;
    relax_load_options_init(&o, sizeof o);
    relax_executable *made = NULL;
    o.allocator = allocator_of(w);
    o.allow_native = 1;
    if (compile_by(w, w->compiler, &made))
        w->status = relax_executable_serialize(made, &w->bytes, &w->error);
    relax_executable_release(made);
    if (w->status == RELAX_OK)
        w->status = relax_executable_load(relax_bytes_data(w->bytes), relax_bytes_size(w->bytes),
                                          &o, &w->loaded, &w->error);
    w->number = w->loaded ? relax_executable_num_native_kernels(w->loaded) : 0;
    return w->status == RELAX_OK;
}

static bool step_bind(world *w)
{
    const char *names[] = { w->program->entry ? "prompt" : w->program->weights ? "images" : "x" };
    const relax_tensor *tensors[] = { w->in };
    w->out = relax_module_bind_params(w->ctx, w->module, Z(entry_of(w)), names, tensors, 1);
    return said(w, w->out);
}

static bool step_serialize(world *w)
{
    return (w->status = relax_executable_serialize(w->exe, &w->bytes, &w->error)) == RELAX_OK;
}
static bool step_disassemble(world *w)
{
    return (w->status = relax_executable_disassemble(w->exe, &w->bytes, &w->error)) == RELAX_OK;
}

static bool load_with(world *w, int32_t mapped)
{
    relax_load_options o;
    relax_load_options_init(&o, sizeof o);
    o.allocator = allocator_of(w);
    o.map_file = mapped;
    w->status = relax_executable_save(w->exe, Z(w->path), &w->error);
    if (w->status == RELAX_OK)
        w->status = relax_executable_load_file(Z(w->path), &o, &w->loaded, &w->error);
    return w->status == RELAX_OK;
}
static bool step_save_load(world *w) { return load_with(w, 0); }
static bool step_save_map(world *w) { return load_with(w, 1); }

static bool step_load(world *w)
{
    relax_load_options o;
    relax_load_options_init(&o, sizeof o);
    o.allocator = allocator_of(w);
    w->status = relax_executable_serialize(w->exe, &w->bytes, &w->error);
    if (w->status == RELAX_OK)
        w->status = relax_executable_load(relax_bytes_data(w->bytes), relax_bytes_size(w->bytes),
                                          &o, &w->loaded, &w->error);
    return w->status == RELAX_OK;
}

static bool step_texts(world *w)
{
    relax_bytes *result = relax_executable_result_text(w->exe, 0);
    w->bytes = relax_executable_param_text(
        w->exe, relax_executable_find(w->exe, Z(entry_of(w))), 0);
    w->status = w->bytes && (result || !relax_executable_num_functions(w->exe))
                    ? RELAX_OK
                    : RELAX_ERROR_OUT_OF_MEMORY;
    relax_bytes_release(result);
    return w->status == RELAX_OK;
}

static bool step_registry(world *w)
{
    relax_registry *mine = w->registry;
    bool good = open_registry(w);
    relax_registry_release(w->registry);
    w->registry = mine;
    return good;
}

static bool step_machine(world *w)
{
    relax_vm *mine = w->vm;
    bool good = open_machine(w);
    relax_vm_release(w->vm);
    w->vm = mine;
    return good;
}

static bool step_input(world *w)
{
    relax_tensor *mine = w->in;
    w->in = NULL;
    relax_value_release(&w->arg);
    bool good = make_input(w);
    w->tensor = w->in;
    w->in = mine;
    relax_value_release(&w->arg);
    relax_value_set_tensor(&w->arg, mine);
    return good;
}

static bool call_with_first(world *w, const relax_value *first)
{
    relax_value args[1 + CACHES];
    size_t n = arguments(w, first, args);
    return (w->status = relax_vm_call(w->vm, Z(entry_of(w)), args, n, &w->result, &w->error)) ==
           RELAX_OK;
}

static bool step_call(world *w) { return call_with_first(w, &w->arg); }

static bool step_first_and_second_call(world *w)
{
    if (!step_call(w))
        return false;
    relax_value_release(&w->result);
    return step_call(w);
}

static bool step_profile(world *w)
{
    w->status = relax_vm_profile_start(w->vm);
    if (w->status == RELAX_OK && step_call(w))
        w->status = relax_vm_profile_json(w->vm, &w->bytes, &w->error);
    relax_vm_profile_stop(w->vm);
    relax_bytes_release(w->bytes); /* times differ */
    w->bytes = NULL;
    return w->status == RELAX_OK;
}

/* Results into buffers of the caller, for programs with one tensor as result. */
static bool step_call_into(world *w)
{
    size_t main = relax_executable_find(w->exe, Z(entry_of(w)));
    relax_value args[1 + CACHES];
    if (!step_call(w))
        return false;
    const relax_tensor *like = relax_value_get_tensor(&w->result);
    if (!like)
        return true;
    relax_tensor_options o;
    relax_tensor_options_init(&o, sizeof o);
    o.allocator = allocator_of(w);
    w->status = relax_tensor_create(relax_tensor_dtype(like), relax_tensor_shape(like),
                                    relax_tensor_ndim(like), &o, &w->buffers[0], &w->error);
    if (w->status == RELAX_OK)
        w->status = relax_vm_call_into(w->vm, main, args, arguments(w, &w->arg, args), w->buffers,
                                       1, &w->error);
    return w->status == RELAX_OK;
}

/* The second call gets what the first one gave, and both are given up. */
static bool step_call_move(world *w)
{
    size_t main = relax_executable_find(w->exe, Z(entry_of(w)));
    for (int i = 0; i < 2; i++) {
        relax_value args[1 + CACHES], first = w->arg;
        bool again = i && relax_tensor_ndim(relax_value_get_tensor(&w->result)) == 2;
        if (again) {
            first = w->result;
            w->result = (relax_value){ 0 };
        } else {
            relax_value_retain(&first);
            relax_value_release(&w->result);
        }
        size_t n = arguments(w, &first, args);
        for (size_t k = 1; k < n; k++)
            relax_value_retain(&args[k]);
        w->status = relax_vm_call_move(w->vm, main, args, n, &w->result, &w->error);
        if (w->status != RELAX_OK || strcmp(w->program->name, "grows") != 0)
            break;
    }
    return w->status == RELAX_OK;
}

/* Out by DLPack, in again, and through the program. */
static bool step_dlpack(world *w)
{
    struct DLManagedTensorVersioned *mine = NULL;
    relax_value arg = { 0 };
    w->status = relax_tensor_to_dlpack(w->in, &w->exported, &w->error);
    if (w->status == RELAX_OK)
        w->status = relax_tensor_to_dlpack(w->in, &mine, &w->error);
    if (w->status == RELAX_OK)
        w->status = relax_tensor_from_dlpack(mine, &w->tensor, &w->error);
    if (w->status != RELAX_OK)
        return false;
    relax_value_set_tensor(&arg, w->tensor);
    bool good = call_with_first(w, &arg);
    relax_value_release(&arg);
    return good;
}

/* Values have no allocator of their own: they come from malloc, as their contract says. */
static bool step_values(world *w)
{
    relax_value fields[3] = { { 0 } };
    int64_t dims[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    w->status = relax_value_set_string(&fields[0], Z("a string that does not fit into a cell"),
                                       NULL);
    if (w->status == RELAX_OK)
        w->status = relax_value_set_shape(&fields[1], dims, N(dims), NULL);
    relax_value_set_tensor(&fields[2], w->in);
    if (w->status == RELAX_OK)
        w->status = relax_value_set_tuple(&w->result, fields, N(fields), NULL);
    w->kept++;
    relax_packed_func *f = w->status == RELAX_OK ? relax_packed_func_create(scale, &w->kept, let_go)
                                                 : (w->kept--, NULL);
    if (w->status == RELAX_OK && !f)
        w->status = RELAX_ERROR_OUT_OF_MEMORY;
    relax_packed_func_release(f);
    for (size_t i = 0; i < N(fields); i++)
        relax_value_release(&fields[i]);
    return w->status == RELAX_OK;
}

/* What went wrong, as text. The mistakes are made again each time. */
static bool step_diagnostics(world *w)
{
    bool whole = true;
    w->out = relax_module_parse(w->ctx, Z(w->program->name), w->text, w->text_len);
    if (w->out)
        relax_module_well_formed(w->ctx, w->out, RELAX_CHECK_ALL);
    w->status = relax_context_status(w->ctx);
    for (size_t i = 0; i < relax_context_num_diagnostics(w->ctx); i++) {
        relax_bytes *text = relax_diagnostic_render(w->ctx, i),
                    *json = relax_diagnostic_json(w->ctx, i);
        whole = whole && text && json;
        w->number += (int64_t)(relax_bytes_size(text) + relax_bytes_size(json));
        relax_bytes_release(text);
        relax_bytes_release(json);
    }
    if (!whole)
        w->status = RELAX_ERROR_OUT_OF_MEMORY;
    return w->status == RELAX_OK;
}

/* Where memory comes from beside the allocator: values and tensors of the host's own take it
 * from malloc; what starts compilers and loads what they made, from the C library, which may
 * keep it. */
typedef struct step {
    const char *name;
    enum level needs;
    enum reach from;     /* only programs that get as far */
    bool (*act)(world *w);
    bool is_verdict;     /* the outcome is that of the program, not always success */
    enum memory { HOST, MALLOC, SYSTEM } takes;
} step;

static const step steps[] = {
    { "create a context", NOTHING, READS_NOT, step_context, false, HOST },
    { "read or build", CONTEXT, READS_NOT, step_module, true, HOST },
    { "show diagnostics", CONTEXT, READS_NOT, step_diagnostics, true, HOST },
    { "check", MODULE, IS_READ, step_check, true, HOST },
    { "normalize", MODULE, IS_CHECKED, step_normalize, false, HOST },
    { "infer", MODULE, IS_CHECKED, step_infer, false, HOST },
    { "print", MODULE, IS_READ, step_print, false, HOST },
    { "read back", MODULE, IS_CHECKED, step_read_back, false, HOST },
    { "compare", MODULE, IS_READ, step_equal, false, HOST },
    { "copy", MODULE, IS_READ, step_copy, false, HOST },
    { "collect", MODULE, IS_CHECKED, step_collect, false, HOST },
    { "free variables", MODULE, IS_READ, step_free_vars, false, HOST },
    { "analyse", MODULE, IS_READ, step_analyse, false, HOST },
    { "edit", MODULE, IS_READ, step_edit, true, HOST },
    { "pipeline", MODULE, IS_CHECKED, step_pipeline, false, HOST },
    { "mutate", MODULE, IS_CHECKED, step_mutate, false, HOST },
    { "visit", MODULE, IS_READ, step_visit, false, HOST },
    { "match and rewrite", MODULE, IS_CHECKED, step_rewrite, false, HOST },
    { "fuse", MODULE, IS_CHECKED, step_fuse, false, HOST },
    { "prove", CONTEXT, IS_CHECKED, step_prove, false, HOST },
    { "extract and inline", MODULE, IS_CHECKED, step_extract, false, HOST },
    { "edit a block", MODULE, IS_CHECKED, step_edit_block, false, HOST },
    { "compile -O0", MODULE, IS_CHECKED, step_compile_0, true, HOST },
    { "compile -O1", MODULE, IS_CHECKED, step_compile_1, true, HOST },
    { "compile -O2", MODULE, IS_CHECKED, step_compile_2, true, HOST },
    { "compile to a file", MODULE, IS_CHECKED, step_compile_to_file, true, HOST },
    { "emit c", MODULE, RUNS, step_emit_c, false, HOST },
    { "compile by way of c", MODULE, RUNS, step_native, false, SYSTEM },
    { "compile with a compiler that fails", MODULE, RUNS, step_bad_compiler, false, SYSTEM },
    { "load native code", MODULE, RUNS, step_load_native, false, SYSTEM },
    { "bind a parameter", MACHINE, RUNS, step_bind, false, HOST },
    { "serialize", EXECUTABLE, RUNS, step_serialize, false, HOST },
    { "load", EXECUTABLE, RUNS, step_load, false, HOST },
    { "save and load", EXECUTABLE, RUNS, step_save_load, false, HOST },
    { "save and map", EXECUTABLE, RUNS, step_save_map, false, HOST },
    { "disassemble", EXECUTABLE, RUNS, step_disassemble, false, HOST },
    { "texts", EXECUTABLE, RUNS, step_texts, false, HOST },
    { "create a registry", EXECUTABLE, RUNS, step_registry, false, HOST },
    { "create a machine", MACHINE, RUNS, step_machine, false, HOST },
    { "make input", MACHINE, RUNS, step_input, false, HOST },
    { "run", MACHINE, RUNS, step_first_and_second_call, true, HOST },
    { "profile", MACHINE, RUNS, step_profile, true, HOST },
    { "run into buffers", MACHINE, RUNS, step_call_into, true, HOST },
    { "run, arguments handed over", MACHINE, RUNS, step_call_move, true, HOST },
    { "exchange by dlpack", MACHINE, RUNS, step_dlpack, true, MALLOC },
    { "make values", MACHINE, RUNS, step_values, false, MALLOC },
};

/* Does a step make sense for a program? */
static inline bool goes_with(const program *p, const step *s)
{
    return p->reach >= s->from && !(s->act == step_diagnostics && p->build) &&
           (s->takes != SYSTEM || p->is_native);
}

/* ---- what came out, as a number: the same input must give the same again */

static uint64_t mix(uint64_t h, const void *data, size_t size)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static uint64_t mix_bytes(uint64_t h, relax_bytes *b)
{
    return b ? mix(h, relax_bytes_data(b), relax_bytes_size(b)) : h;
}

static uint64_t mix_value(uint64_t h, const relax_value *v)
{
    const relax_tensor *t = relax_value_get_tensor(v);
    if (t)
        return mix(mix(h, relax_tensor_shape(t), (size_t)relax_tensor_ndim(t) * sizeof(int64_t)),
                   relax_tensor_data(t), relax_tensor_bytes(t));
    size_t n = relax_value_tuple_size(v);
    for (size_t i = 0; n != RELAX_NOT_FOUND && i < n; i++) {
        relax_value field;
        relax_value_tuple_get(v, i, &field);
        h = mix_value(h + 1, &field); /* the programs nest three deep */
    }
    return h;
}

static uint64_t mix_executable(uint64_t h, const relax_executable *exe)
{
    relax_bytes *b = NULL;
    if (exe)
        relax_executable_serialize(exe, &b, NULL);
    h = mix_bytes(h, b);
    relax_bytes_release(b);
    return h;
}

static inline uint64_t world_digest(world *w)
{
    uint64_t h = mix(0xcbf29ce484222325u, &w->status, sizeof w->status);
    h = mix(h, &w->number, sizeof w->number);
    relax_bytes *text =
        w->out ? relax_node_print(w->ctx, relax_module_as_node(w->out), NULL) : NULL;
    h = mix_bytes(h, text);
    relax_bytes_release(text);
    h = mix_value(mix_bytes(mix_executable(h, w->loaded), w->bytes), &w->result);
    for (size_t i = 0; i < N(w->buffers); i++)
        h = w->buffers[i]
                ? mix(h, relax_tensor_data(w->buffers[i]), relax_tensor_bytes(w->buffers[i]))
                : h;
    for (size_t i = 0; w->ctx && i < relax_context_num_diagnostics(w->ctx); i++) {
        size_t len;
        const char *message = relax_diagnostic_message(w->ctx, i, &len);
        h = mix(mix(h, relax_diagnostic_code(w->ctx, i), 4), message, len);
    }
    return mix(h, relax_error_message(w->error, NULL),
               strlen(relax_error_message(w->error, NULL)));
}

#endif
