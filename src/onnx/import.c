/* import.c: a model as a module: reading, inputs, outputs, the function. */
#include "onnx/onnx_int.h"
#include "transform/transform.h"

static void *stop(rlx_importer *m, enum rlx_code_id code, const char *text)
{
    return rlx_error(m->ctx, code, RLX_NO_PLACE, "%.*s: %s",
                     (int)(m->options->name.len < 200 ? m->options->name.len : 200),
                     m->options->name.data, text);
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* What a file that is taken for a model often is, by bytes at a place. */
static const struct { size_t at; const char *bytes; const char *what; } others[] = {
    { 4, "ORTM", "it is a file of another format, that of ONNX Runtime: export the model as .onnx" },
    { 0, "{", "it is a file of another format than ONNX's binary one" },
    { 0, "version https://git-lfs", "it is a pointer of Git LFS, not the model: fetch it with git lfs pull" },
    { 0, "\x1f\x8b", "it is compressed by gzip: unpack it first" },
    { 0, "PK\x03\x04", "it is a ZIP archive, as PyTorch and others write: export the model as .onnx" },
    { 0, "<!DOCTYPE", "it is a page of the web, not the model" },
    { 0, "<html", "it is a page of the web, not the model" },
    { 4, "TFL3", "it is a file of another format, that of TensorFlow Lite: export the model as .onnx" },
    { 0, "\x89HDF", "it is a file of another format, HDF5: export the model as .onnx" },
};

/* NULL: it may be a model. */
static const char *looks_like_other(rlx_slice f)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t n = strlen(others[i].bytes);
        if (f.len >= others[i].at + n && !memcmp(f.data + others[i].at, others[i].bytes, n))
            return others[i].what;
    }
    return NULL;
}

bool rlx_onnx_read_model(rlx_importer *m)
{
    rlx_slice bytes = { (const char *)m->file->data, m->file->size };
    rlx_onnx_model *model = rlx_region_alloc(&m->region, sizeof *model);
    rlx_wire_reader r = { .region = &m->region,
                          .file = bytes.data,
                          .file_size = bytes.len,
                          .most_depth = 64,
                          .most_structs = (size_t)1 << 24 };
    if (!model)
        return false;
    const char *other = looks_like_other(bytes);
    if (other)
        return stop(m, RLX_ON01, other) != NULL;
    if (!rlx_wire_read(&r, &rlx_onnx_model_message, bytes, model)) {
        if (r.reason[0])
            rlx_error(m->ctx, r.is_limit ? RLX_ON02 : RLX_ON01, RLX_NO_PLACE,
                      "%.*s: byte %llu, in %s: %s", (int)m->options->name.len,
                      m->options->name.data, (unsigned long long)r.at,
                      r.path[0] ? r.path : "the model", r.reason);
        return false;
    }
    m->model = model;
    if (!model->graph)
        return stop(m, RLX_ON01, bytes.len ? "it holds no graph, so it is no ONNX model"
                                           : "the file is empty") != NULL;
    return rlx_onnx_list_nodes(m);
}

/* ---- types ------------------------------------------------------------------------------------- */

/* The size that a name stands for: the same one wherever it stands. Names that exporters write for
 * anything unknown stand for a new one. */
static const rlx_prim *named_size(rlx_importer *m, rlx_slice name)
{
    const rlx_string *s = name.len ? rlx_string_intern(m->ctx, name) : NULL;
    const rlx_prim *p = s ? rlx_ptrmap_get(&m->sizes, s) : NULL;
    if (p)
        return p;
    bool unnamed = !s || rlx_slice_is(name, "?");
    for (size_t i = 0; i < m->options->num_bindings; i++) {
        const rlx_onnx_binding *b = &m->options->bindings[i];
        if (b->is_size && rlx_slice_equal(b->name, name))
            p = rlx_int64(m->ctx, b->size);
    }
    const rlx_string *id = p ? NULL : rlx_string_identifier(m->ctx, name, "n");
    if (!p) {
        rlx_prim_var *v = rlx_prim_var_new(m->ctx, id, RELAX_INT64, RLX_NO_PLACE);
        p = v ? &v->node : NULL;
    }
    if (p && !unnamed && !rlx_ptrmap_put(&m->sizes, s, (uintptr_t)p))
        return NULL;
    return p;
}

static const rlx_prim *size_of(rlx_importer *m, const rlx_onnx_dimension *d)
{
    /* old exporters wrote 0 for what they did not know */
    bool is_number = d->head.has & 1 << 1 && d->value >= 0 && !(d->head.has & 1 << 2);
    bool is_zero = is_number && !d->value && m->model->ir_version >= 7;
    return is_number && (d->value > 0 || is_zero) ? rlx_int64(m->ctx, d->value)
           : is_number && d->value == 0 ? named_size(m, (rlx_slice){ "", 0 })
                                        : named_size(m, d->param);
}

const rlx_sinfo *rlx_onnx_type_info(rlx_importer *m, const rlx_onnx_type *t)
{
    rlx_dtype dtype;
    if (!t || !t->tensor || !rlx_onnx_dtype(t->tensor->elem_type, &dtype))
        return NULL;
    const rlx_onnx_shape *s = t->tensor->shape;
    if (!s)
        return rlx_tensor_info(m->ctx, NULL, dtype, -1, NULL);
    const rlx_prim **dims = rlx_region_array(&m->region, s->dims.len + 1, sizeof *dims);
    for (size_t i = 0; dims && i < s->dims.len; i++)
        if (!(dims[i] = size_of(m, RLX_ONNX_ITEM(rlx_onnx_dimension, s->dims, i))))
            return NULL;
    const rlx_expr *shape = dims ? rlx_shape_new(m->ctx, dims, s->dims.len) : NULL;
    return shape ? rlx_tensor_info(m->ctx, shape, dtype, (int)s->dims.len, NULL) : NULL;
}

static void *bad_input(rlx_importer *m, enum rlx_code_id code, rlx_slice name, const char *what)
{
    return rlx_onnx_issue_add(m, code, false, (rlx_slice){ "", 0 }, (rlx_slice){ "", 0 }, 0,
                              RLX_NO_PLACE, "input %.*s: %s", (int)(name.len < 80 ? name.len : 80),
                              name.data ? name.data : "", what);
}

/* ---- parameters -------------------------------------------------------------------------------- */

typedef struct params { const rlx_expr **vars; size_t len, room; rlx_ptrmap names; } params;

/* `names` holds for a name the number that the next one like it is tried with: many may become the same. */
static const rlx_string *unique_name(rlx_importer *m, params *p, rlx_slice name)
{
    const rlx_string *base = rlx_string_identifier(m->ctx, name, "x"), *id = base;
    uintptr_t k = 1;
    bool again = base && rlx_ptrmap_find(&p->names, base, &k);
    for (; id && rlx_ptrmap_has(&p->names, id); k++) {
        rlx_buf b;
        rlx_buf_init(&b, &m->ctx->memory);
        rlx_buf_put(&b, base->data, base->len);
        rlx_buf_char(&b, '_');
        rlx_buf_i64(&b, (int64_t)k);
        id = b.failed ? NULL : rlx_string_intern(m->ctx, (rlx_slice){ b.data, b.len });
        rlx_buf_free(&b);
    }
    bool ok = id && rlx_ptrmap_put(&p->names, id, 1) && (!again || rlx_ptrmap_put(&p->names, base, k));
    return ok ? id : NULL;
}

static bool room_for_param(rlx_importer *m, params *p)
{
    if (p->len < p->room)
        return true;
    size_t room = 2 * p->room + 16;
    const rlx_expr **vars = rlx_region_array(&m->region, room, sizeof *vars);
    if (!vars)
        return false;
    if (p->len)
        memcpy(vars, p->vars, p->len * sizeof *vars);
    p->vars = vars;
    p->room = room;
    return true;
}

static rlx_onnx_value *add_param(rlx_importer *m, params *p, rlx_slice name, const rlx_sinfo *info)
{
    const rlx_string *id = unique_name(m, p, name);
    rlx_var *v = id ? rlx_var_new(m->ctx, false, id, -1, info, RLX_NO_PLACE) : NULL;
    rlx_onnx_value *value = v ? rlx_onnx_value_new(m, rlx_string_intern(m->ctx, name)) : NULL;
    if (!value || !room_for_param(m, p))
        return NULL;
    p->vars[p->len++] = &v->node;
    value->expr = &v->node;
    return value;
}

static const rlx_onnx_binding *find_binding(const rlx_importer *m, rlx_slice name)
{
    for (size_t i = 0; i < m->options->num_bindings; i++)
        if (!m->options->bindings[i].is_size && rlx_slice_equal(m->options->bindings[i].name, name))
            return &m->options->bindings[i];
    return NULL;
}

/* May its value decide sizes or a rank? Then it is noted on whom results depend. */
static bool note_small(rlx_importer *m, rlx_onnx_value *v, const rlx_sinfo *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(info);
    size_t ndim = 0, count = 1;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &ndim);
    for (size_t i = 0; i < ndim && dims; i++) {
        int64_t n;
        count *= rlx_int_literal(dims[i], &n) && n < 1024 ? (size_t)n : 1;
    }
    if (ndim > 2 || count > 1024 || m->small_inputs.len >= 64)
        return true;
    v->depends = (uint64_t)1 << m->small_inputs.len;
    return rlx_vec_push(&m->ctx->memory, &m->small_inputs, v->name);
}

/* The sizes of an input whose shape is known are known wherever their names stand. */
static bool note_shape(rlx_importer *m, const rlx_onnx_type *t, const rlx_onnx_binding *b)
{
    const rlx_onnx_shape *s = t && t->tensor ? t->tensor->shape : NULL;
    bool ok = true;
    for (size_t i = 0; s && ok && i < s->dims.len && i < b->ndim; i++) {
        rlx_slice name = RLX_ONNX_ITEM(rlx_onnx_dimension, s->dims, i)->param;
        const rlx_string *text = name.len ? rlx_string_intern(m->ctx, name) : NULL;
        if (text && !rlx_slice_is(name, "?") && !rlx_ptrmap_has(&m->sizes, text))
            ok = rlx_ptrmap_put(&m->sizes, text, (uintptr_t)rlx_int64(m->ctx, b->shape[i]));
    }
    return ok;
}

/* Is it a type without a dtype? Then the input is bytes, which become values where the function begins. */
static bool is_codes(const rlx_onnx_type *t)
{
    return t && t->tensor && rlx_onnx_is_narrow(t->tensor->elem_type);
}

/* Arrays of float8 lie in files as bytes, too. */
static rlx_dtype dtype_of_binding(const rlx_onnx_binding *b, const rlx_onnx_type *t)
{
    rlx_dtype declared;
    bool bytes = b->dtype == RELAX_UINT8 && t && t->tensor && rlx_onnx_dtype(t->tensor->elem_type, &declared) &&
                 rlx_dtype_is_float(declared) && rlx_dtype_bits(declared) == 8;
    return bytes ? declared : b->dtype;
}

static bool bind_input(rlx_importer *m, rlx_onnx_scope *s, params *p, const rlx_onnx_value_info *in)
{
    const rlx_onnx_binding *b = find_binding(m, in->name);
    rlx_onnx_value *v;
    if (b && b->data) {
        v = rlx_onnx_value_new(m, rlx_string_intern(m->ctx, in->name));
        if (v)
            v->expr = rlx_constant_blob(m->ctx, dtype_of_binding(b, in->type), b->shape, b->ndim, b->data, RLX_NO_PLACE);
        return v && v->expr && rlx_onnx_value_bind(m, s, in->name, v);
    }
    if (b && !note_shape(m, in->type, b))
        return false;
    const rlx_sinfo *info = b ? rlx_tensor_ints(m->ctx, b->shape, b->ndim, dtype_of_binding(b, in->type))
                              : rlx_onnx_type_info(m, in->type);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(info);
    if (t && is_codes(in->type))
        info = rlx_tensor_info(m->ctx, t->shape, RELAX_UINT8, t->ndim, NULL);
    if (!info) {
        v = rlx_onnx_value_new(m, rlx_string_intern(m->ctx, in->name));
        if (v)
            v->failed = true;
        bad_input(m, RLX_ON06, in->name, !in->type || !in->type->tensor
                                   ? "it is no tensor, which is not supported"
                                   : rlx_onnx_dtype_name(in->type->tensor->elem_type));
        return v && rlx_onnx_value_bind(m, s, in->name, v);
    }
    v = add_param(m, p, in->name, info);
    return v && note_small(m, v, info) && rlx_onnx_value_bind(m, s, in->name, v);
}

enum { IS_INITIALIZER = 1, IS_INPUT };

/* Files of the first versions list each initialiser among the inputs as well. */
static bool find_initializers(rlx_importer *m, const rlx_onnx_graph *g, rlx_ptrmap *names)
{
    for (size_t i = 0; i < g->initializers.len; i++) {
        const rlx_string *s = rlx_string_intern(
            m->ctx, RLX_ONNX_ITEM(rlx_onnx_tensor, g->initializers, i)->name);
        if (!s || !rlx_ptrmap_put(names, s, IS_INITIALIZER))
            return false;
    }
    return true;
}

/* A value is given for inputs only. */
static bool bindings_are_inputs(rlx_importer *m)
{
    bool all = true;
    for (size_t i = 0; i < m->options->num_bindings; i++) {
        const rlx_onnx_binding *b = &m->options->bindings[i];
        const rlx_string *name = b->is_size ? NULL : rlx_string_intern(m->ctx, b->name);
        bool found = b->is_size;
        for (size_t k = 0; k < m->out->num_inputs && !found; k++)
            found = name && m->out->inputs[k] == name;
        if (!found)
            bad_input(m, RLX_ON06, b->name, "the model has no such input");
        all = all && found;
    }
    return all;
}

static bool bind_inputs(rlx_importer *m, rlx_onnx_scope *s, params *p)
{
    const rlx_onnx_graph *g = m->model->graph;
    rlx_ptrmap names;
    rlx_ptrmap_init(&names, &m->ctx->memory);
    m->out->inputs = rlx_new(m->ctx, (g->inputs.len + 1) * sizeof *m->out->inputs);
    bool ok = m->out->inputs && find_initializers(m, g, &names);
    for (size_t i = 0; ok && i < g->inputs.len; i++) {
        const rlx_onnx_value_info *in = RLX_ONNX_ITEM(rlx_onnx_value_info, g->inputs, i);
        const rlx_string *name = rlx_string_intern(m->ctx, in->name);
        uintptr_t known = 0;
        if (name && rlx_ptrmap_find(&names, name, &known)) {
            if (known == IS_INPUT)
                bad_input(m, RLX_ON10, in->name, "another input has this name");
            continue;
        }
        m->out->inputs[m->out->num_inputs++] = name;
        ok = name && rlx_ptrmap_put(&names, name, IS_INPUT) && bind_input(m, s, p, in);
    }
    rlx_ptrmap_free(&names);
    return ok && bindings_are_inputs(m);
}

/* Integers of rank 0 and 1 may be sizes, which have to be known. */
static bool is_weight(const rlx_importer *m, const rlx_onnx_tensor *t)
{
    rlx_dtype dtype;
    size_t bytes = rlx_onnx_dtype(t->data_type, &dtype) ? rlx_dtype_bytes(dtype) : 0;
    for (size_t k = 0; k < t->dims.len; k++)
        if (t->dims.data[k] < 0 || !rlx_mul_size(bytes, (size_t)t->dims.data[k], &bytes))
            return false;
    return bytes >= m->options->params_from && (t->dims.len > 1 || rlx_dtype_is_float(dtype));
}

typedef struct weights { params *p; RLX_VEC(rlx_onnx_param) found; bool ok; } weights;

/* Wherever the tensor is meant, the parameter is taken (m->tensors). */
static void add_weight(rlx_importer *m, weights *w, const rlx_onnx_tensor *t, rlx_slice name)
{
    if (!w->ok || !is_weight(m, t))
        return;
    const rlx_expr *e = rlx_onnx_tensor_constant(m, t, RLX_NO_PLACE);
    const rlx_constant *k = rlx_as_constant(e);
    if (!k)
        return; /* reported, if it is wrong */
    rlx_onnx_value *v =
        add_param(m, w->p, name, rlx_tensor_ints(m->ctx, k->shape, k->num_shape, k->dtype));
    w->ok = v && rlx_ptrmap_put(&m->tensors, t, (uintptr_t)v->expr) &&
            rlx_vec_push(&m->ctx->memory, &w->found,
                         ((rlx_onnx_param){ rlx_as_var(v->expr)->name, e }));
}

static void add_weights_of(rlx_importer *m, weights *w, const rlx_onnx_graph *g, int depth)
{
    for (size_t i = 0; i < g->initializers.len; i++) {
        const rlx_onnx_tensor *t = RLX_ONNX_ITEM(rlx_onnx_tensor, g->initializers, i);
        add_weight(m, w, t, t->name);
    }
    for (size_t i = 0; i < g->nodes.len && depth < 32; i++) {
        const rlx_onnx_node *n = RLX_ONNX_ITEM(rlx_onnx_node, g->nodes, i);
        for (size_t k = 0; k < n->attributes.len; k++) {
            const rlx_onnx_attribute *a = RLX_ONNX_ITEM(rlx_onnx_attribute, n->attributes, k);
            if (a->g)
                add_weights_of(m, w, a->g, depth + 1);
            else if (a->t && n->outputs.len == 1 && rlx_slice_is(n->op, "Constant"))
                add_weight(m, w, a->t, n->outputs.data[0]);
        }
    }
}

/* Large weights as parameters behind the inputs. */
static bool add_weights(rlx_importer *m, params *p)
{
    weights w = { .p = p, .ok = true };
    if (m->options->params_from)
        add_weights_of(m, &w, m->model->graph, 0);
    size_t n = w.found.len;
    m->out->params = rlx_new(m->ctx, (n + 1) * sizeof *m->out->params);
    if (m->out->params && n)
        memcpy(m->out->params, w.found.data, n * sizeof *w.found.data);
    m->out->num_params = m->out->params ? n : 0;
    rlx_vec_free(&m->ctx->memory, &w.found);
    return w.ok && m->out->params;
}

/* ---- outputs ----------------------------------------------------------------------------------- */

/* What a converter has, for what stands where the model begins and ends. */
static rlx_onnx_conv border(rlx_importer *m, rlx_onnx_scope *s)
{
    static const rlx_onnx_node node = { .op = { "Border", 6 } };
    return (rlx_onnx_conv){ .m = m, .ctx = m->ctx, .scope = s, .node = &node };
}

/* Inputs of types without a dtype are codes, of which values are made. */
static bool decode_inputs(rlx_importer *m, rlx_onnx_scope *s)
{
    const rlx_onnx_graph *g = m->model->graph;
    rlx_onnx_conv c = border(m, s);
    for (size_t i = 0; i < g->inputs.len; i++) {
        const rlx_onnx_value_info *in = RLX_ONNX_ITEM(rlx_onnx_value_info, g->inputs, i);
        const rlx_string *name = is_codes(in->type) ? rlx_string_intern(m->ctx, in->name) : NULL;
        rlx_onnx_value *v = name ? rlx_onnx_value_find(s, name) : NULL;
        if (!v || v->failed || !v->expr)
            continue;
        v->narrow = (uint8_t)in->type->tensor->elem_type;
        v->expr = rlx_onnx_decode(&c, v->narrow, v->expr);
        if (!v->expr)
            return false;
    }
    return true;
}

static const rlx_expr *output_expr(rlx_importer *m, rlx_onnx_scope *s, rlx_onnx_value *v)
{
    rlx_onnx_node node = { .op = { "Output", 6 } };
    rlx_onnx_conv c = { .m = m, .ctx = m->ctx, .scope = s, .node = &node };
    if (v->failed)
        return NULL;
    if (!v->is_sequence)
        return rlx_onnx_value_expr(&c, v);
    const rlx_expr **items = rlx_onnx_array(&c, v->num_items, sizeof *items);
    bool whole = items != NULL;
    for (size_t i = 0; whole && i < v->num_items; i++)
        whole = (items[i] = rlx_onnx_value_expr(&c, v->items[i])) != NULL;
    return whole ? rlx_tuple_new(m->ctx, items, v->num_items, RLX_NO_PLACE) : NULL;
}

static const rlx_expr *result_of(rlx_importer *m, rlx_onnx_scope *s, rlx_onnx_value **values)
{
    size_t n = m->model->graph->outputs.len;
    const rlx_expr **items = rlx_region_array(&m->region, n + 1, sizeof *items);
    bool whole = items != NULL;
    for (size_t i = 0; items && i < n; i++) {
        const rlx_onnx_type *t = RLX_ONNX_ITEM(rlx_onnx_value_info, m->model->graph->outputs, i)->type;
        items[i] = output_expr(m, s, values[i]);
        if (items[i] && is_codes(t)) {
            rlx_onnx_conv c = border(m, s);
            items[i] = rlx_onnx_encode(&c, t->tensor->elem_type, items[i]);
        }
        whole = whole && items[i];
    }
    if (!whole)
        return NULL;
    return n == 1 ? items[0] : rlx_tuple_new(m->ctx, items, n, RLX_NO_PLACE);
}

/* ---- the function ------------------------------------------------------------------------------ */

static const rlx_attr *function_attrs(rlx_importer *m, rlx_slice entry, size_t num_input)
{
    const rlx_attr *a = rlx_attrs_with(m->ctx, NULL, "global_symbol",
                                       rlx_attr_string_new(m->ctx, entry));
    return m->out->num_params
               ? rlx_attrs_with(m->ctx, a, "num_input",
                                rlx_attr_int_new(m->ctx, (int64_t)num_input))
               : a;
}

static const rlx_function *build_function(rlx_importer *m, rlx_onnx_scope *s, params *p,
                                          rlx_slice entry, const rlx_global_var *self)
{
    if (!bind_inputs(m, s, p))
        return NULL;
    size_t num_input = p->len;
    if (!add_weights(m, p))
        return NULL;
    const rlx_attr *attrs = function_attrs(m, entry, num_input);
    rlx_onnx_value **values = NULL;
    if (!rlx_builder_begin_function(m->b, p->vars, p->len, true, attrs, entry, &self->node))
        return NULL;
    size_t errors = rlx_error_count(m->ctx);
    bool ok = decode_inputs(m, s) && rlx_onnx_graph_body(m, s, m->model->graph, &values);
    const rlx_expr *result = ok ? result_of(m, s, values) : NULL;
    for (size_t i = 0; i < m->issues.len; i++)
        ok = ok && m->issues.data[i].is_warning;
    if (!ok || !result || rlx_error_count(m->ctx) > errors) {
        rlx_builder_reset(m->b);
        return NULL;
    }
    return rlx_builder_end_function(m->b, result, NULL, attrs, RLX_NO_PLACE);
}

static const rlx_module *build_module(rlx_importer *m)
{
    rlx_slice entry = m->options->entry.len ? m->options->entry : RLX_SLICE("main");
    params p = { .len = 0 };
    const rlx_global_var *self = rlx_module_builder_declare(m->mb, entry, NULL, RLX_NO_PLACE);
    rlx_onnx_scope s;
    rlx_onnx_scope_init(m, &s, NULL);
    rlx_ptrmap_init(&p.names, &m->ctx->memory);
    const rlx_function *f = self && room_for_param(m, &p) ? build_function(m, &s, &p, entry, self) : NULL;
    rlx_ptrmap_free(&p.names);
    rlx_onnx_scope_free(&s);
    return f && rlx_module_builder_define(m->mb, self, &f->node)
               ? rlx_module_builder_finish(m->mb, RLX_NO_PLACE)
               : NULL;
}

static bool make_builders(rlx_importer *m)
{
    m->mb = rlx_module_builder_create(m->ctx, NULL);
    m->folded = rlx_module_builder_create(m->ctx, NULL);
    m->env = m->mb ? rlx_module_builder_env(m->mb) : NULL;
    m->b = m->env ? rlx_builder_create(m->ctx, m->env, NULL) : NULL;
    return m->b && m->folded;
}

static bool give_issues(rlx_importer *m)
{
    rlx_onnx_result *out = m->out;
    out->issues = rlx_new(m->ctx, (m->issues.len + 1) * sizeof *out->issues);
    out->needed = rlx_new(m->ctx, (m->small_inputs.len + 1) * sizeof *out->needed);
    if (!out->issues || !out->needed)
        return false;
    if (m->issues.len)
        memcpy(out->issues, m->issues.data, m->issues.len * sizeof *out->issues);
    out->num_issues = m->issues.len;
    for (size_t i = 0; i < m->small_inputs.len; i++)
        if (m->needed >> i & 1)
            out->needed[out->num_needed++] = m->small_inputs.data[i];
    out->num_nodes = m->num_nodes;
    out->num_constant_bytes = m->constant_bytes;
    return true;
}

static void free_importer(rlx_importer *m)
{
    rlx_map_entry *it = NULL;
    rlx_slice key;
    void *blob;
    while (rlx_map_next(&m->external, &it, &key, &blob))
        rlx_blob_release(blob);
    rlx_map_free(&m->external);
    rlx_map_free(&m->functions);
    rlx_map_free(&m->issue_of);
    rlx_ptrmap_free(&m->sizes);
    rlx_ptrmap_free(&m->tensors);
    rlx_vec_free(&m->ctx->memory, &m->issues);
    rlx_vec_free(&m->ctx->memory, &m->small_inputs);
    rlx_vec_free(&m->ctx->memory, &m->former);
    rlx_builder_free(m->b);
    rlx_module_builder_free(m->folded);
    rlx_module_builder_free(m->mb);
    rlx_region_drop(&m->region);
}

bool rlx_onnx_import(rlx_context *ctx, rlx_blob *file, const rlx_onnx_options *options,
                     rlx_onnx_result *out)
{
    rlx_importer m = { .ctx = ctx, .file = file, .options = options, .out = out };
    *out = (rlx_onnx_result){ .module = NULL };
    rlx_region_init(&m.region, &ctx->memory);
    rlx_ptrmap_init(&m.sizes, &ctx->memory);
    rlx_ptrmap_init(&m.tensors, &ctx->memory);
    rlx_map_init(&m.issue_of, &ctx->memory);
    rlx_map_init(&m.external, &ctx->memory);
    rlx_map_init(&m.functions, &ctx->memory);
    m.bind_first = options->known_sizes;
    if (rlx_onnx_read_model(&m) && rlx_onnx_list_functions(&m) && make_builders(&m))
        out->module = rlx_tidied(ctx, build_module(&m));
    rlx_onnx_issues_report(&m);
    if (!give_issues(&m))
        out->module = NULL;
    free_importer(&m);
    return out->module != NULL;
}
