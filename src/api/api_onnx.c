/* api_onnx.c: models in ONNX's format, relax/onnx.h. With api_onnx_query.c the only file of this room that
 * calls onnx. */
#include <relax/onnx.h>
#include "api/api_int.h"

#include <string.h>
#include "onnx/onnx.h"
#include "sinfo/sinfo.h"

struct relax_onnx_import {
    RLX_API_TAG
    rlx_context *ctx;
    rlx_onnx_result result;
};

static const relax_onnx_options defaults = { .struct_size = sizeof(relax_onnx_options),
                                             .max_nodes = 1000000,
                                             .max_constant_bytes = (uint64_t)1 << 30 };

relax_status relax_onnx_options_init(relax_onnx_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &defaults, sizeof defaults);
}

/* ---- options ----------------------------------------------------------------------------------- */

static bool copy_input(rlx_context *ctx, const char *name, const DLTensor *t, rlx_onnx_binding *b)
{
    rlx_fault why = { 0 };
    size_t bytes = 0;
    b->name = rlx_slice_z(name);
    b->dtype = t ? rlx_dl_dtype(t) : RELAX_VOID;
    if (!t || t->ndim < 0 || (t->ndim && !t->shape) || t->device.device_type != 1 ||
        !rlx_shape_bytes(b->dtype, t->ndim, t->shape, &bytes, &why) || !rlx_view_is_compact(t))
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE,
                         "array %s: it is no contiguous array on the CPU", name) != NULL;
    b->shape = t->shape;
    b->ndim = (size_t)t->ndim;
    if (!t->data && bytes)
        return true;
    b->data = rlx_blob_create(&ctx->memory, t->data ? (const char *)t->data + t->byte_offset : "", bytes);
    return b->data != NULL;
}

static rlx_onnx_binding *read_bindings(rlx_context *ctx, const relax_onnx_options *o)
{
    size_t n = o->num_inputs + o->num_sizes, bytes = 0;
    bool ok = rlx_api_array(ctx, (const void *const *)o->input_names, o->num_inputs, "input_names") &&
              rlx_api_array(ctx, (const void *const *)o->inputs, o->num_inputs, "inputs") &&
              rlx_api_array(ctx, (const void *const *)o->size_names, o->num_sizes, "size_names") &&
              (!o->num_sizes || rlx_api_required(ctx, o->sizes, "sizes")) &&
              rlx_mul_size(n + 1, sizeof(rlx_onnx_binding), &bytes);
    rlx_onnx_binding *b = ok ? rlx_mem_alloc_zero(&ctx->memory, bytes) : NULL;
    for (size_t i = 0; b && ok && i < o->num_inputs; i++)
        ok = copy_input(ctx, o->input_names[i], o->inputs[i], &b[i]);
    for (size_t i = 0; b && i < o->num_sizes; i++)
        b[o->num_inputs + i] =
            (rlx_onnx_binding){ .name = rlx_slice_z(o->size_names[i]), .is_size = true, .size = o->sizes[i] };
    for (size_t i = 0; b && !ok && i < n; i++)
        rlx_blob_release(b[i].data);
    if (b && !ok)
        rlx_mem_free(&ctx->memory, b, bytes);
    return ok ? b : NULL;
}

static void free_bindings(rlx_context *ctx, const relax_onnx_options *o, rlx_onnx_binding *b)
{
    size_t n = o->num_inputs + o->num_sizes;
    for (size_t i = 0; i < n; i++)
        rlx_blob_release(b[i].data);
    rlx_mem_free(&ctx->memory, b, (n + 1) * sizeof *b);
}

/* ---- imports ----------------------------------------------------------------------------------- */

/* One converter of the host. */
typedef struct hosted { relax_onnx_converter converter; rlx_context *ctx; rlx_api_borrow *borrow; } hosted;
/* What a converter of the host sees. */
struct relax_onnx_node { rlx_context *ctx; rlx_onnx_conv *c; rlx_onnx_host_node view; };

static bool ask_host(void *user, rlx_onnx_conv *c)
{
    hosted *h = user;
    relax_module_builder *modules;
    relax_onnx_node node = { h->ctx, c, rlx_onnx_host_view(c) };
    relax_builder *b = rlx_api_borrow_begin(h->borrow, node.view.modules, node.view.builder,
                                            node.view.place, &modules);
    bool ok = h->converter.convert(h->converter.user, b, &node) == 1;
    return rlx_api_borrow_end(h->borrow) && ok;
}

/* Entry i of the host, whole. False after a report. */
static bool read_host(rlx_context *ctx, const relax_onnx_options *o, size_t i, relax_onnx_converter *out)
{
    *out = (relax_onnx_converter){ .struct_size = sizeof *out };
    if (!rlx_api_options(ctx, out, sizeof *out, o->converters[i], "relax_onnx_converter") ||
        !rlx_api_required(ctx, out->op, "op"))
        return false;
    return out->convert || rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "convert is NULL");
}

/* Both tables in one piece of memory, of *bytes. NULL after a report. */
static rlx_onnx_host *read_hosts(rlx_context *ctx, const relax_onnx_options *o, rlx_api_borrow *borrow,
                                 size_t *bytes)
{
    rlx_onnx_host *hosts = NULL;
    if (rlx_api_array(ctx, (const void *const *)o->converters, o->num_converters, "converters") &&
        rlx_mul_size(o->num_converters + 1, sizeof(rlx_onnx_host) + sizeof(hosted), bytes))
        hosts = rlx_mem_alloc_zero(&ctx->memory, *bytes);
    hosted *h = hosts ? (hosted *)(void *)(hosts + o->num_converters + 1) : NULL;
    for (size_t i = 0; h && i < o->num_converters; i++) {
        relax_onnx_converter own;
        if (!read_host(ctx, o, i, &own))
            return rlx_mem_free(&ctx->memory, hosts, *bytes), NULL;
        const char *domain = own.domain && strcmp(own.domain, "ai.onnx") ? own.domain : "";
        h[i] = (hosted){ own, ctx, borrow };
        hosts[i] = (rlx_onnx_host){ .domain = rlx_slice_z(domain),
                                    .op = rlx_slice_z(own.op),
                                    .convert = ask_host,
                                    .user = &h[i] };
    }
    return hosts;
}

static relax_onnx_import *import(rlx_context *ctx, rlx_blob *file, const relax_onnx_options *o,
                                 const char *name, const char *directory)
{
    size_t host_bytes = 0;
    rlx_api_borrow *borrow = o->num_converters ? rlx_api_borrow_create(ctx) : NULL;
    rlx_onnx_host *hosts = !o->num_converters || borrow ? read_hosts(ctx, o, borrow, &host_bytes) : NULL;
    rlx_onnx_binding *b = hosts ? read_bindings(ctx, o) : NULL;
    relax_onnx_import *i = b ? rlx_mem_alloc_zero(&ctx->memory, sizeof *i) : NULL;
    rlx_onnx_options inner = { .name = rlx_slice_z(o->name ? o->name : name),
                               .entry = rlx_slice_z(o->entry),
                               .directory = o->directory ? o->directory : directory,
                               .allow_links = o->allow_links,
                               .known_sizes = o->known_sizes,
                               .params_from = (size_t)o->params_from,
                               .most_nodes = (size_t)o->max_nodes,
                               .most_constants = (size_t)o->max_constant_bytes,
                               .bindings = b,
                               .num_bindings = o->num_inputs + o->num_sizes,
                               .packed_calls = o->packed_calls,
                               .hosts = hosts,
                               .num_hosts = o->num_converters };
    if (i) {
        RLX_API_SET_TAG(i, API_ONNX_IMPORT);
        i->ctx = rlx_context_retain(ctx);
        rlx_float_env host = rlx_float_enter();
        rlx_onnx_import(ctx, file, &inner, &i->result);
        rlx_float_leave(host);
    }
    if (b)
        free_bindings(ctx, o, b);
    if (hosts)
        rlx_mem_free(&ctx->memory, hosts, host_bytes);
    rlx_api_borrow_free(borrow);
    return i;
}

typedef struct lent { rlx_memory *memory; void *user; void (*destroy)(void *user); } lent;

static void give_back(void *user, void *data, size_t size)
{
    lent *l = user;
    (void)data;
    (void)size;
    if (l->destroy)
        l->destroy(l->user);
    rlx_mem_free(l->memory, l, sizeof *l);
}

relax_onnx_import *relax_onnx_import_memory(relax_context *ctx, const void *data, size_t size,
                                            const relax_onnx_options *options, void *user,
                                            void (*destroy)(void *user))
{
    relax_onnx_options o = defaults;
    bool ok = RLX_API_CONTEXT(ctx) && (!size || rlx_api_required(ctx, data, "data")) &&
              (!options || rlx_api_options(ctx, &o, sizeof o, options, "relax_onnx_options"));
    lent *l = ok ? rlx_mem_alloc(&ctx->memory, sizeof *l) : NULL;
    if (!l) {
        if (destroy)
            destroy(user);
        return ctx && rlx_context_is(ctx) ? give(ctx, NULL) : NULL;
    }
    *l = (lent){ &ctx->memory, user, destroy };
    rlx_blob *file = rlx_blob_wrap(&ctx->memory, (void *)(uintptr_t)data, size, give_back, l);
    relax_onnx_import *i = file ? import(ctx, file, &o, "model.onnx", NULL) : NULL;
    rlx_blob_release(file);
    return give(ctx, i);
}

/* The folder of a path, into `to`; "" is the one in which the process is. */
static bool folder_of(const char *path, char *to, size_t room)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= room)
        return false;
    memcpy(to, path, n);
    to[n] = 0;
    if (slash == path)
        memcpy(to, "/", 2);
    return true;
}

relax_onnx_import *relax_onnx_import_file(relax_context *ctx, const char *path,
                                          const relax_onnx_options *options)
{
    relax_onnx_options o = defaults;
    char folder[4096];
    rlx_file_why why;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_required(ctx, path, "path") ||
        (options && !rlx_api_options(ctx, &o, sizeof o, options, "relax_onnx_options")))
        return give(ctx, NULL);
    rlx_blob *file = rlx_file_map(&ctx->memory, path, SIZE_MAX >> 1, &why);
    if (!file) {
        if (why.failure != RLX_FILE_NO_MEMORY)
            rlx_error(ctx, RLX_IO01, RLX_NO_PLACE, "%.*s: %s", rlx_api_width(rlx_slice_z(path)),
                      path, why.text);
        return give(ctx, NULL);
    }
    bool short_enough = folder_of(path, folder, sizeof folder);
    relax_onnx_import *i = import(ctx, file, &o, path, short_enough ? folder : NULL);
    rlx_blob_release(file);
    return give(ctx, i);
}

void relax_onnx_import_destroy(relax_onnx_import *i)
{
    if (!RLX_API_IS(i, API_ONNX_IMPORT))
        return;
    rlx_context *ctx = i->ctx;
    RLX_API_SET_TAG(i, API_GONE);
    rlx_mem_free(&ctx->memory, i, sizeof *i);
    rlx_context_release(ctx);
}

/* ---- what was found ---------------------------------------------------------------------------- */

static const rlx_onnx_result *result_of(const relax_onnx_import *i)
{
    static const rlx_onnx_result none;
    return i ? &i->result : &none;
}

static const char *text_of(const rlx_string *s, size_t *len)
{
    if (len)
        *len = s ? s->len : 0;
    return s ? s->data : NULL;
}

static const rlx_onnx_issue *issue_at(const relax_onnx_import *i, size_t index)
{
    const rlx_onnx_result *r = result_of(i);
    return index < r->num_issues ? &r->issues[index] : NULL;
}

relax_module *relax_onnx_import_module(const relax_onnx_import *i)
{
    return (relax_module *)(uintptr_t)result_of(i)->module;
}

size_t relax_onnx_import_num_nodes(const relax_onnx_import *i) { return result_of(i)->num_nodes; }
size_t relax_onnx_import_num_issues(const relax_onnx_import *i) { return result_of(i)->num_issues; }
size_t relax_onnx_import_num_needed(const relax_onnx_import *i) { return result_of(i)->num_needed; }
size_t relax_onnx_import_num_inputs(const relax_onnx_import *i) { return result_of(i)->num_inputs; }
size_t relax_onnx_import_num_params(const relax_onnx_import *i) { return result_of(i)->num_params; }

const char *relax_onnx_issue_code(const relax_onnx_import *i, size_t index)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return s ? rlx_code_row(s->code)->name : NULL;
}

const char *relax_onnx_issue_operator(const relax_onnx_import *i, size_t index, size_t *len)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return text_of(s ? s->op : NULL, len);
}

const char *relax_onnx_issue_domain(const relax_onnx_import *i, size_t index, size_t *len)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return text_of(s ? s->domain : NULL, len);
}

const char *relax_onnx_issue_reason(const relax_onnx_import *i, size_t index, size_t *len)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return text_of(s ? s->reason : NULL, len);
}

int64_t relax_onnx_issue_version(const relax_onnx_import *i, size_t index)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return s ? s->version : 0;
}

size_t relax_onnx_issue_count(const relax_onnx_import *i, size_t index)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return s ? s->count : 0;
}

int32_t relax_onnx_issue_is_warning(const relax_onnx_import *i, size_t index)
{
    const rlx_onnx_issue *s = issue_at(i, index);
    return s && s->is_warning;
}

const char *relax_onnx_import_needed(const relax_onnx_import *i, size_t index, size_t *len)
{
    const rlx_onnx_result *r = result_of(i);
    return text_of(index < r->num_needed ? r->needed[index] : NULL, len);
}

const char *relax_onnx_import_input(const relax_onnx_import *i, size_t index, size_t *len)
{
    const rlx_onnx_result *r = result_of(i);
    return text_of(index < r->num_inputs ? r->inputs[index] : NULL, len);
}

const char *relax_onnx_import_param_name(const relax_onnx_import *i, size_t index, size_t *len)
{
    const rlx_onnx_result *r = result_of(i);
    return text_of(index < r->num_params ? r->params[index].name : NULL, len);
}

const relax_expr *relax_onnx_import_param_value(const relax_onnx_import *i, size_t index)
{
    const rlx_onnx_result *r = result_of(i);
    return index < r->num_params ? (const relax_expr *)(const void *)r->params[index].value : NULL;
}

/* ---- nodes, for converters of the host --------------------------------------------------------- */

static rlx_onnx_host_node view_of(const relax_onnx_node *n)
{
    return n ? n->view : (rlx_onnx_host_node){ .version = 0 };
}

static const char *slice_of(rlx_slice s, size_t *len)
{
    if (len)
        *len = s.len;
    return s.data ? s.data : "";
}

const char *relax_onnx_node_operator(const relax_onnx_node *n, size_t *len) { return slice_of(view_of(n).op, len); }
const char *relax_onnx_node_domain(const relax_onnx_node *n, size_t *len) { return slice_of(view_of(n).domain, len); }
const char *relax_onnx_node_name(const relax_onnx_node *n, size_t *len) { return slice_of(view_of(n).name, len); }
int64_t relax_onnx_node_version(const relax_onnx_node *n) { return view_of(n).version; }
size_t relax_onnx_node_num_inputs(const relax_onnx_node *n) { return view_of(n).num_inputs; }
size_t relax_onnx_node_num_outputs(const relax_onnx_node *n) { return view_of(n).num_outputs; }

const relax_expr *relax_onnx_node_input(relax_onnx_node *n, size_t index)
{
    return n ? RLX_API_EXPR(rlx_onnx_host_input(n->c, index)) : NULL;
}

relax_status relax_onnx_node_set_output(relax_onnx_node *n, size_t index, const relax_expr *value)
{
    if (!n || index >= n->view.num_outputs || !rlx_api_family(n->ctx, value, RLX_FAMILY_EXPR, "value"))
        return RELAX_ERROR_INVALID_ARGUMENT;
    return rlx_onnx_host_output(n->c, index, node_of(value)) ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

void relax_onnx_node_fail(relax_onnx_node *n, const char *reason)
{
    if (n)
        rlx_onnx_host_fail(n->c, reason ? reason : "the host's converter failed");
}

enum { HOST_FLOAT = 1, HOST_INT, HOST_STRING, HOST_TENSOR, HOST_FLOATS = 6, HOST_INTS };

static bool attribute(relax_onnx_node *n, const char *name, int type, rlx_onnx_host_attr *out)
{
    return n && name && rlx_onnx_host_attribute(n->c, name, out) && out->type == type;
}

int32_t relax_onnx_node_int(relax_onnx_node *n, const char *name, int64_t *value)
{
    rlx_onnx_host_attr a;
    bool there = attribute(n, name, HOST_INT, &a);
    if (there && value)
        *value = a.i;
    return there;
}

int32_t relax_onnx_node_float(relax_onnx_node *n, const char *name, double *value)
{
    rlx_onnx_host_attr a;
    bool there = attribute(n, name, HOST_FLOAT, &a);
    if (there && value)
        *value = a.f;
    return there;
}

const char *relax_onnx_node_string(relax_onnx_node *n, const char *name, size_t *len)
{
    rlx_onnx_host_attr a;
    return attribute(n, name, HOST_STRING, &a) ? slice_of(a.s, len) : NULL;
}

const int64_t *relax_onnx_node_ints(relax_onnx_node *n, const char *name, size_t *count)
{
    rlx_onnx_host_attr a;
    static const int64_t none;
    if (!attribute(n, name, HOST_INTS, &a))
        return NULL;
    if (count)
        *count = a.num_ints;
    return a.num_ints ? a.ints : &none;
}

const double *relax_onnx_node_floats(relax_onnx_node *n, const char *name, size_t *count)
{
    rlx_onnx_host_attr a;
    if (!attribute(n, name, HOST_FLOATS, &a))
        return NULL;
    if (count)
        *count = a.num_floats;
    return a.floats;
}

const relax_expr *relax_onnx_node_tensor(relax_onnx_node *n, const char *name)
{
    rlx_onnx_host_attr a;
    return attribute(n, name, HOST_TENSOR, &a) ? RLX_API_EXPR(a.tensor) : NULL;
}
