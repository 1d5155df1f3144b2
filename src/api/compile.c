/* compile.c: from a module to an executable (relax/compile.h). With api_kernel.c the only file of
 * api that knows both sides. */
#include <relax/compile.h>
#include <relax/dlpack.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "analysis/well_formed.h"
#include "codegen/cgen.h"
#include "codegen/codegen.h"
#include "codegen/native.h"
#include "desc/desc.h"
#include "transform/transform.h"
#include "vm/vm.h"

/* ---- weights -------------------------------------------------------------------------------- */

/* Memory of the host that constants lie in; the last of them gives it back. */
typedef struct lent {
    rlx_memory *memory;
    atomic_size_t users;
    void *user;
    void (*destroy)(void *user);
} lent;

static void give_back(void *of, void *data, size_t size)
{
    lent *l = of;
    if (atomic_fetch_sub_explicit(&l->users, 1, memory_order_acq_rel) != 1)
        return;
    if (l->destroy)
        l->destroy(l->user);
    rlx_mem_free(l->memory, l, sizeof *l);
}

/* Smaller ones are copied, too: what is looked at element by element is aligned then. */
enum { LENT_FROM = 4096 };

/* A blob of the content. l NULL: a copy. */
static rlx_blob *content_of(relax_context *ctx, const DLTensor *view, size_t bytes, lent *l)
{
    unsigned char *data = bytes ? rlx_view_data(view) : NULL;
    if (!l || bytes < LENT_FROM)
        return rlx_blob_create(&ctx->memory, data, bytes);
    atomic_fetch_add_explicit(&l->users, 1, memory_order_relaxed);
    return rlx_blob_wrap(&ctx->memory, data, bytes, give_back, l);
}

static bool read_weight(relax_context *ctx, const char *name, const DLTensor *view, lent *l,
                        rlx_weight *w)
{
    rlx_fault why = { 0 };
    size_t bytes;
    if (!rlx_api_name(ctx, name, strlen(name), "name", &w->name))
        return false;
    if (!view)
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "what is given for %s is no tensor", name) !=
               NULL;
    if (view->ndim < 0 || (view->ndim && !view->shape))
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "array %s: malformed shape", name) != NULL;
    if (view->device.device_type != 1)
        return rlx_error(ctx, RLX_CG12, RLX_NO_PLACE, "array %s is not on the CPU", name) != NULL;
    w->dtype = rlx_dl_dtype(view);
    w->shape = view->shape;
    w->ndim = (size_t)view->ndim;
    if (!rlx_shape_bytes(w->dtype, view->ndim, view->shape, &bytes, &why) ||
        !rlx_view_is_compact(view)) {
        rlx_error(ctx, RLX_CG12, RLX_NO_PLACE, "array %s: %s", name,
                  why.code ? why.text : "its elements do not lie one behind the other");
        return false;
    }
    if (bytes && !view->data)
        return rlx_error(ctx, RLX_OP01, RLX_NO_PLACE, "array %s: its data is NULL", name) != NULL;
    w->data = content_of(ctx, view, bytes, l);
    return w->data != NULL;
}

/* The views of an array of tensors or of DLTensors. */
static const DLTensor *view_at(const void *const *items, size_t i, bool are_tensors)
{
    return are_tensors ? relax_tensor_view(items[i]) : items[i];
}

static relax_module *bind(relax_context *ctx, const relax_module *module, const char *function,
                          size_t function_len, const char *const *names, const void *const *items,
                          bool are_tensors, size_t count, lent *l)
{
    rlx_slice only = { NULL, 0 };
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !rlx_api_array(ctx, (const void *const *)names, count, "names") ||
        !rlx_api_array(ctx, items, count, are_tensors ? "tensors" : "arrays") ||
        (function && !rlx_api_name(ctx, function, function_len, "function", &only)))
        return NULL;
    rlx_weight *weights = rlx_mem_alloc_zero(&ctx->memory, (count + 1) * sizeof *weights);
    bool ok = weights != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = read_weight(ctx, names[i], view_at(items, i, are_tensors), l, &weights[i]);
    const rlx_module *out =
        ok ? rlx_bind_params(ctx, rlx_as_module(node_of(module)), only, weights, count) : NULL;
    for (size_t i = 0; weights && i < count; i++)
        rlx_blob_release(weights[i].data);
    rlx_mem_free(&ctx->memory, weights, weights ? (count + 1) * sizeof *weights : 0);
    return (relax_module *)(uintptr_t)out;
}

relax_module *relax_module_bind_params(relax_context *ctx, const relax_module *module,
                                       const char *function, size_t function_len,
                                       const char *const *names, const relax_tensor *const *tensors,
                                       size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx, bind(ctx, module, function, function_len, names,
                          (const void *const *)tensors, true, count, NULL));
}

relax_module *relax_module_bind_memory(relax_context *ctx, const relax_module *module,
                                       const char *function, size_t function_len,
                                       const char *const *names, const DLTensor *const *arrays,
                                       size_t count, void *user, void (*destroy)(void *user))
{
    bool known = RLX_API_CONTEXT(ctx);
    lent *l = known ? rlx_mem_alloc(&ctx->memory, sizeof *l) : NULL;
    if (!l) {
        if (destroy)
            destroy(user);
        return known ? give(ctx, NULL) : NULL;
    }
    *l = (lent){ .memory = &ctx->memory, .user = user, .destroy = destroy };
    atomic_init(&l->users, 1);
    relax_module *out = bind(ctx, module, function, function_len, names,
                             (const void *const *)arrays, false, count, l);
    give_back(l, NULL, 0);
    return give(ctx, out);
}

/* ---- options -------------------------------------------------------------------------------- */

static const relax_compile_options defaults = { .struct_size = sizeof(relax_compile_options),
                                                .opt_level = RLX_DEFAULT_OPT_LEVEL,
                                                .cache_bytes = (uint64_t)256 << 20,
                                                .compiler_seconds = 120,
                                                .compiler_memory = (uint64_t)2 << 30 };

relax_status relax_compile_options_init(relax_compile_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &defaults, sizeof defaults);
}

const char *relax_target_name(size_t target)
{
    const rlx_target *t = rlx_target_at(target);
    return t ? t->name : NULL;
}

static const rlx_target *find_target(relax_context *ctx, const char *name)
{
    const rlx_target *t = name ? rlx_target_find(rlx_slice_z(name)) : rlx_target_at(0);
    rlx_slice text;
    if (!t && rlx_api_name(ctx, name, strlen(name), "target", &text))
        rlx_error(ctx, RLX_CG09, RLX_NO_PLACE, "target %s is not part of this build; there are interp and c", name);
    return t;
}

static bool read_options(relax_context *ctx, const relax_compile_options *given,
                         relax_compile_options *o)
{
    *o = defaults;
    if (!rlx_options_read(o, sizeof *o, given)) {
        rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed compile options: relax_compile_options_init fills them");
        return false;
    }
    if (o->compiler_seconds == 0)
        o->compiler_seconds = defaults.compiler_seconds;
    if (o->cache_bytes == 0)
        o->cache_bytes = defaults.cache_bytes;
    if (o->compiler_memory == 0)
        o->compiler_memory = defaults.compiler_memory;
    if (o->arithmetic && strcmp(o->arithmetic, "fused") && strcmp(o->arithmetic, "separate")) {
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "arithmetic is fused or separate");
        return false;
    }
    if (o->allow_compiler < 0 || o->allow_compiler > 1 || o->unchecked < 0 || o->unchecked > 1 ||
        !(o->compiler_seconds > 0 && o->compiler_seconds < 1e6)) {
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                  "allow_compiler and unchecked are 0 or 1, compiler_seconds is not negative");
        return false;
    }
    if (o->opt_level >= 0 && o->opt_level <= 2 && o->strip >= 0 && o->strip <= 1)
        return true;
    rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
              "opt_level is 0, 1 or 2 and strip 0 or 1; found %d and %d", (int)o->opt_level,
              (int)o->strip);
    return false;
}

/* ---- compiling ------------------------------------------------------------------------------ */

typedef struct hook { const relax_compile_options *o; } hook;

static void tell_host(void *user, const char *pass, const rlx_module *m, double seconds,
                      bool changed)
{
    const hook *h = user;
    h->o->after_pass(h->o->user, pass, (const relax_module *)(const void *)m, seconds, changed);
}

/* Was every function inferred already? Those that the reader and the builders make were. */
static bool is_inferred(relax_context *ctx, const rlx_module *m)
{
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        if (f && (!f->sinfo || !rlx_is_normal(ctx, f, false)))
            return false;
    }
    return true;
}

/* The first variable or operator of distributed programs. */
static enum rlx_step find_distributed(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    const rlx_node **found = user;
    const rlx_var *var = rlx_as_var(n);
    const rlx_call *call = rlx_as_call(n);
    const rlx_op *op = rlx_as_op(call ? call->op : NULL);
    bool some = (var && var->sinfo && rlx_is_distributed(var->sinfo)) ||
                (op && op->name->len > 11 && memcmp(op->name->data, "relax.dist.", 11) == 0);
    if (some && !*found)
        *found = n;
    return some ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* CG19 at the first thing of a function that lies on a mesh of devices. */
static bool lies_in_one_place(relax_context *ctx, const rlx_module *m)
{
    bool lost = false, whole = true;
    for (size_t i = 0; ctx->distributed && i < m->num_functions && !lost; i++) {
        const rlx_node *found = NULL;
        rlx_walker w = { .enter = find_distributed, .user = &found, .unique = true };
        const rlx_function *f = rlx_as_function(m->functions[i]);
        if (f)
            (void)rlx_walk(&ctx->memory, &f->node, &w, &lost);
        const rlx_var *var = rlx_as_var(found);
        const rlx_call *call = rlx_as_call(found);
        whole &= !found;
        if (var)
            rlx_error(ctx, RLX_CG19, var->place, "%s: %s is %s; nothing here runs programs of several devices",
                      rlx_as_global_var(m->gvars[i])->name->data, rlx_show(ctx, &var->node),
                      rlx_show(ctx, var->sinfo));
        else if (call)
            rlx_error(ctx, RLX_CG19, call->place, "%s: nothing here runs %s, which is for several devices",
                      rlx_as_global_var(m->gvars[i])->name->data,
                      rlx_as_op(call->op)->row->short_name);
    }
    return whole && !lost;
}

static const rlx_module *prepare(relax_context *ctx, const rlx_module *m)
{
    if (!rlx_well_formed(ctx, m, RLX_STAGE_BUILD) || !lies_in_one_place(ctx, m))
        return NULL;
    /* The mistakes may have been cleared away, or corrected by now. */
    if (m->node.flags & RLX_FLAG_AFTER_ERROR)
        m = rlx_infer_module_again(ctx, m, false);
    if (!m)
        return NULL;
    if (is_inferred(ctx, m))
        return ctx->diags.out_of_memory ? NULL : m;
    m = rlx_infer_module(ctx, m);
    return m && rlx_well_formed(ctx, m, RLX_STAGE_NORMAL) ? m : NULL;
}

/* A job under way, and what comes of it beside the file. */
typedef struct job {
    const relax_compile_options *o;
    const rlx_target *target;
    uint32_t compiler_processes;
    rlx_buf *source;                 /* NULL: not wanted */
    relax_load_options load;
    rlx_shared_memory *memory;       /* of the executable, so that its file is written once */
    const rlx_file_sink *sink;       /* NULL: the file is in memory */
    bool late;                       /* what a VM has asked for (relax_late_compile) */
    rlx_ahead ahead;                 /* what is compiled ahead; no params: nothing */
} job;

/* The module as the option has it; lowerings and passes read its attribute. */
static const rlx_module *with_arithmetic(rlx_context *ctx, const rlx_module *m, const char *how)
{
    if (!how)
        return m;
    const rlx_attr *value = rlx_attr_string_new(ctx, rlx_slice_z(how)),
                   *attrs =
                       value ? rlx_attrs_with(ctx, m->attrs, "relax.arithmetic", value) : NULL;
    return attrs ? rlx_module_new(ctx, m->gvars, m->functions, m->num_functions, attrs,
                                  m->global_infos, m->place)
                 : NULL;
}

/* The file in *out, or in the job's sink. */
static bool generate(relax_context *ctx, const rlx_module *m, job *j, rlx_blob **out)
{
    const relax_compile_options *o = j->o;
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    hook h = { o };
    rlx_pass_hooks hooks = { .after = o->after_pass ? tell_host : NULL,
                             .user = &h,
                             .defers = !o->after_pass };
    rlx_codegen_options code = { .target = j->target,
                                 .strip_names = o->strip != 0,
                                 .trust_annotations = ctx->trust_annotations,
                                 .no_late = j->late,
                                 .print_late = rlx_late_text.print,
                                 .ahead = j->ahead.num_params ? &j->ahead : NULL,
                                 .compiler_processes = &j->compiler_processes,
                                 .source = j->source,
                                 .file_memory = j->memory ? &j->memory->memory : NULL };
    rlx_native_options native = { .compiler = o->compiler,
                                  .environment = o->environment,
                                  .cpu = o->cpu,
                                  .cache_dir = o->cache_dir,
                                  .cache_bytes = o->cache_bytes,
                                  .temp_dir = o->temp_dir,
                                  .seconds = o->compiler_seconds,
                                  .memory = o->compiler_memory,
                                  .unchecked = o->unchecked != 0,
                                  .cancelled = o->cancelled,
                                  .user = o->user };
    code.native = &native;
    size_t count = rlx_build_pipeline(o->opt_level, steps), errors = rlx_error_count(ctx);
    m = with_arithmetic(ctx, m, o->arithmetic);
    m = m ? rlx_run_passes(ctx, m, steps, count, &hooks) : NULL;
    bool ok = m && (j->sink ? rlx_codegen_send(ctx, m, &code, j->sink)
                            : (*out = rlx_codegen(ctx, m, &code)) != NULL);
    if (!ok && rlx_error_count(ctx) == errors)
        RLX_BUG(ctx, "compiling failed without saying why");
    return ok;
}

/* ---- what is compiled ahead ----------------------------------------------------------------- */

/* Takes an item off the list in front of a comma. False: there is none. */
static bool next_item(rlx_slice *list, rlx_slice *item)
{
    const char *comma = list->len ? memchr(list->data, ',', list->len) : NULL;
    *item = (rlx_slice){ list->data, comma ? (size_t)(comma - list->data) : list->len };
    /* A comma at the end stays, and is no item. */
    size_t skip = item->len + (comma && item->len + 1 < list->len);
    *list = (rlx_slice){ list->data + skip, list->len - skip };
    return item->len > 0;
}

static bool read_rank(rlx_slice item, int *out)
{
    *out = 0;
    for (size_t i = 0; i < item.len && *out <= RLX_MAX_RANK; i++)
        *out = item.data[i] >= '0' && item.data[i] <= '9' ? 10 * *out + (item.data[i] - '0')
                                                          : RLX_MAX_RANK + 1;
    return *out <= RLX_MAX_RANK;
}

/* The row of a name, made if there is none; NULL: too many. */
static rlx_ahead_param *param_of(job *j, rlx_slice name)
{
    rlx_ahead_param *params = (rlx_ahead_param *)(uintptr_t)j->ahead.params;
    for (size_t i = 0; i < j->ahead.num_params; i++)
        if (rlx_slice_equal(params[i].name, name))
            return &params[i];
    params[j->ahead.num_params].name = name;
    return &params[j->ahead.num_params++];
}

/* "x=2,3" */
static bool read_said(rlx_context *ctx, job *j, const char *text, bool ranks)
{
    const char *equals = strchr(text, '=');
    rlx_slice item, list = rlx_slice_z(equals ? equals + 1 : "");
    rlx_ahead_param *p =
        equals ? param_of(j, (rlx_slice){ text, (size_t)(equals - text) }) : NULL;
    bool good = p && p->name.len && list.len;
    int *rank = good && ranks ? rlx_new_zero(ctx, (list.len + 1) * sizeof *rank) : NULL;
    rlx_dtype *dtype = good && !ranks ? rlx_new_zero(ctx, (list.len + 1) * sizeof *dtype) : NULL;
    if (good && !rank && !dtype)
        return false;
    size_t n = 0;
    for (; good && next_item(&list, &item); n++)
        good = ranks ? read_rank(item, &rank[n]) : rlx_dtype_parse(item, &dtype[n]) &&
                                                           rlx_dtype_is_computable(dtype[n]) &&
                                                           rlx_dtype_lanes(dtype[n]) == 1;
    if (!good || !n || list.len)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "%s are said as NAME=%s, found %.100s",
                         ranks ? "ranks" : "dtypes", ranks ? "2,3" : "float32,float16",
                         text) != NULL;
    if (ranks) {
        p->ranks = rank;
        p->num_ranks = n;
    } else {
        p->dtypes = dtype;
        p->num_dtypes = n;
    }
    return true;
}

static size_t count_said(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

static void put_file(void *reply, const void *file, size_t size)
{
    rlx_buf_put(reply, file, size);
}

static void say_nothing(void *reply, const char *message, size_t message_len)
{
}

static int32_t never(void *reply)
{
    return 0;
}

/* One of the late calls that are compiled ahead. user: the context, for its allocator. False: it
 * cannot be compiled so, or out of memory, which is latched. */
static bool compile_ahead(void *user, rlx_slice program, rlx_buf *file)
{
    rlx_context *ctx = user;
    const relax_late_request request = { .struct_size = sizeof request,
                                         .program = program.data,
                                         .program_len = program.len,
                                         .allocator = &ctx->memory.host,
                                         .reply = file,
                                         .deliver = put_file,
                                         .explain = say_nothing,
                                         .cancelled = never };
    relax_status status = rlx_late_text.compile(NULL, &request);
    if (status == RELAX_ERROR_OUT_OF_MEMORY)
        rlx_no_memory(ctx);
    return status == RELAX_OK && !file->failed;
}

static bool read_ahead(rlx_context *ctx, job *j)
{
    const char *const *ranks = j->o->ranks, *const *dtypes = j->o->dtypes;
    size_t n = count_said(ranks) + count_said(dtypes);
    j->ahead = (rlx_ahead){ .compile = compile_ahead,
                            .user = ctx,
                            .params = n ? rlx_new_zero(ctx, n * sizeof(rlx_ahead_param)) : NULL };
    bool ok = !n || j->ahead.params;
    for (size_t i = 0; ok && ranks && ranks[i]; i++)
        ok = read_said(ctx, j, ranks[i], true);
    for (size_t i = 0; ok && dtypes && dtypes[i]; i++)
        ok = read_said(ctx, j, dtypes[i], false);
    return ok;
}

/* All that is made on the way lives in a scratch layer: a context does not grow by compiling. */
static bool compile(relax_context *ctx, const rlx_module *m, job *j, rlx_blob **out)
{
    bool own_layer = ctx->top == 0;
    if (own_layer && !rlx_scratch_begin(ctx))
        return false;
    rlx_float_env host = rlx_float_enter();
    m = prepare(ctx, m);
    bool ok = m && (j->late || read_ahead(ctx, j)) && generate(ctx, m, j, out);
    rlx_float_leave(host);
    if (own_layer)
        rlx_scratch_end(ctx, NULL);
    return ok;
}

static bool read_load_options(relax_context *ctx, job *j)
{
    rlx_memory probe;
    relax_load_options_init(&j->load, sizeof j->load);
    if (!rlx_options_read(&j->load, sizeof j->load, j->o->load) || j->load.reserved ||
        !rlx_memory_init(&probe, j->load.allocator, 0))
        return rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed load options: relax_load_options_init fills them"), false;
    j->memory = rlx_shared_memory_create(j->load.allocator, SIZE_MAX);
    return j->memory || rlx_no_memory(ctx);
}

/* Takes over the file. One that we have just written and cannot load is a fault of ours, unless a
 * limit or memory is in the way. The sum of the constants was made of these very bytes. */
static relax_executable *load(relax_context *ctx, rlx_blob *file, const job *j)
{
    rlx_load_how how = { .allow_native = j->load.allow_native != 0 || j->target->add_code };
    relax_executable *exe = NULL;
    rlx_fault why = { 0 };
    if (file->size > j->load.max_bytes) {
        rlx_blob_release(file);
        return rlx_error(ctx, RLX_LD13, RLX_NO_PLACE,
                         "the program is larger than the options allow"),
               NULL;
    }
    if (rlx_executable_load(j->memory, file, how, &exe, &why)) {
        exe->compiler_processes = j->compiler_processes;
        if (exe->native_why[0])
            rlx_report(ctx, RLX_CG13, RLX_SEVERITY_WARNING, RLX_NO_PLACE,
                       "%s; kernels are interpreted", exe->native_why);
        return exe;
    }
    if (why.code == RLX_RT10)
        rlx_no_memory(ctx); /* the run side's, which says so by its fault alone */
    else
        RLX_BUG(ctx, "the compiled program cannot be loaded: %s", why.text);
    return NULL;
}

/* Starting compilers is for hosts to allow. */
static bool may_start(relax_context *ctx, const job *j)
{
    return !j->target->add_code || j->o->allow_compiler == 1 ||
           rlx_error(ctx, RLX_CG14, RLX_NO_PLACE,
                     "target %s starts a C compiler, which the options do not allow",
                     j->target->name);
}

relax_executable *relax_module_compile(relax_context *ctx, const relax_module *module,
                                       const relax_compile_options *options)
{
    relax_compile_options o;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !read_options(ctx, options, &o))
        return give(ctx, NULL);
    job j = { .o = &o, .target = find_target(ctx, o.target) };
    bool ok = j.target && may_start(ctx, &j) && read_load_options(ctx, &j);
    rlx_blob *file = NULL;
    ok = ok && compile(ctx, rlx_as_module(node_of(module)), &j, &file);
    relax_executable *exe = ok ? load(ctx, file, &j) : NULL;
    rlx_shared_memory_release(j.memory);
    return give(ctx, exe);
}

typedef struct host_file { relax_context *ctx; relax_write_fn write; void *user; } host_file;

static bool write_to_host(void *user, uint64_t at, const void *data, size_t size)
{
    const host_file *f = user;
    return f->write(f->user, at, data, size) == 1 ||
           (rlx_error(f->ctx, RLX_IO02, RLX_NO_PLACE, "the compiled program could not be written"),
            false);
}

relax_status relax_module_compile_to_file(relax_context *ctx, const relax_module *module,
                                          const relax_compile_options *options,
                                          relax_write_fn write, void *user)
{
    relax_compile_options o;
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    host_file f = { ctx, write, user };
    rlx_file_sink sink = { write_to_host, &f };
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !rlx_api_required(ctx, (const void *)(uintptr_t)write, "write") ||
        !read_options(ctx, options, &o))
        return rlx_api_failed(ctx, errors);
    job j = { .o = &o, .target = find_target(ctx, o.target), .sink = &sink };
    if (j.target && may_start(ctx, &j))
        (void)compile(ctx, rlx_as_module(node_of(module)), &j, NULL);
    return rlx_api_failed(ctx, errors);
}

rlx_blob *rlx_api_compile_late(relax_context *ctx, const relax_module *module,
                               const relax_compile_options *options)
{
    relax_compile_options o;
    rlx_blob *file = NULL;
    if (!read_options(ctx, options, &o))
        return NULL;
    job j = { .o = &o, .target = find_target(ctx, o.target), .late = true };
    bool ok = j.target && may_start(ctx, &j) &&
              compile(ctx, rlx_as_module(node_of(module)), &j, &file);
    rlx_diags_flush(&ctx->diags);
    return ok ? file : NULL;
}

relax_bytes *relax_module_compile_to_c(relax_context *ctx, const relax_module *module,
                                       const relax_compile_options *options)
{
    relax_compile_options o;
    rlx_api_bytes out;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !read_options(ctx, options, &o))
        return give(ctx, NULL);
    job j = { .o = &o, .target = find_target(ctx, o.target) };
    if (!j.target)
        return give(ctx, NULL);
    if (!rlx_api_bytes_begin(&out, ctx)) {
        rlx_no_memory(ctx); /* the host's bytes have memory of their own */
        return give(ctx, NULL);
    }
    j.source = &out.buf;
    rlx_blob *file = NULL;
    rlx_float_env host = rlx_float_enter();
    (void)compile(ctx, rlx_as_module(node_of(module)), &j, &file);
    rlx_float_leave(host);
    relax_bytes *text = rlx_api_bytes_end(&out);
    if (!file) {
        relax_bytes_release(text);
        text = NULL;
    } else if (!text)
        rlx_no_memory(ctx); /* the same */
    rlx_blob_release(file);
    return give(ctx, text);
}

relax_bytes *relax_module_c_header(relax_context *ctx)
{
    rlx_api_bytes out;
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_bytes_begin(&out, ctx))
        return NULL;
    rlx_c_header(&out.buf);
    return rlx_api_bytes_end(&out);
}
