/* query.c: what a model contains, from its bytes alone. */
#include "onnx/onnx_int.h"

typedef struct query {
    rlx_importer m;
    rlx_onnx_summary *out;
    rlx_map seen;                        /* "domain op": number of the use + 1 */
    RLX_VEC(rlx_onnx_use) uses;
    bool ok;
} query;

/* Text of a file, made harmless. */
static const rlx_string *text_of(query *q, rlx_slice s)
{
    char text[256];
    size_t n = s.len < sizeof text ? s.len : sizeof text;
    memcpy(text, s.data ? s.data : "", s.data ? n : 0);
    n = s.data ? n : 0;
    rlx_utf8_mend(text, n);
    const rlx_string *t = rlx_string_intern(q->m.ctx, (rlx_slice){ text, n });
    q->ok = q->ok && t;
    return t;
}

/* ---- operators --------------------------------------------------------------------------------- */

static bool is_function(const query *q, const rlx_onnx_node *n)
{
    const rlx_wire_list *list = &q->m.model->functions;
    for (size_t i = 0; i < list->len; i++) {
        const rlx_onnx_function *f = RLX_ONNX_ITEM(rlx_onnx_function, *list, i);
        if (rlx_slice_equal(f->name, n->op) && rlx_slice_equal(f->domain, n->domain))
            return true;
    }
    return false;
}

static void count_use(query *q, const rlx_onnx_node *n)
{
    rlx_slice domain = rlx_slice_is(n->domain, "ai.onnx") ? RLX_SLICE("") : n->domain;
    const rlx_string *d = text_of(q, domain), *op = text_of(q, n->op);
    rlx_buf key;
    rlx_buf_init(&key, &q->m.ctx->memory);
    if (d && op) {
        rlx_buf_put(&key, d->data, d->len);
        rlx_buf_char(&key, ' ');
        rlx_buf_put(&key, op->data, op->len);
    }
    size_t at = key.len ? (size_t)(uintptr_t)rlx_map_get(&q->seen, (rlx_slice){ key.data, key.len }) : 0;
    if (at) {
        q->uses.data[at - 1].count++;
    } else if (key.len) {
        const rlx_onnx_row *row = rlx_onnx_row_find(domain, n->op);
        rlx_onnx_use use = { d, op, 1, (row && !row->refused) || is_function(q, n) };
        q->ok = q->ok && rlx_vec_push(&q->m.ctx->memory, &q->uses, use) &&
                rlx_map_put(&q->seen, (rlx_slice){ key.data, key.len },
                            (void *)(uintptr_t)q->uses.len);
    }
    q->ok = q->ok && !key.failed && key.len;
    rlx_buf_free(&key);
}

static void count_nodes(query *q, const rlx_wire_list *nodes, int depth);

static void add_weight(query *q, const rlx_onnx_tensor *t)
{
    rlx_dtype dtype;
    uint64_t n = rlx_onnx_dtype(t->data_type, &dtype) ? rlx_dtype_bytes(dtype) : 0;
    for (size_t i = 0; i < t->dims.len; i++)
        if (t->dims.data[i] < 0 || RLX_MUL_OVERFLOWS(n, (uint64_t)t->dims.data[i], &n))
            n = 0;
    q->out->num_weights++;
    q->out->weight_bytes += n;
    if (t->data_location == 1)
        q->out->external_bytes += n;
}

static void count_graph(query *q, const rlx_onnx_graph *g, int depth)
{
    for (size_t i = 0; i < g->initializers.len; i++)
        add_weight(q, RLX_ONNX_ITEM(rlx_onnx_tensor, g->initializers, i));
    count_nodes(q, &g->nodes, depth);
}

static void count_nodes(query *q, const rlx_wire_list *nodes, int depth)
{
    for (size_t i = 0; i < nodes->len && q->ok && depth < 64; i++) {
        const rlx_onnx_node *n = RLX_ONNX_ITEM(rlx_onnx_node, *nodes, i);
        q->out->num_nodes++;
        count_use(q, n);
        for (size_t k = 0; k < n->attributes.len; k++) {
            const rlx_onnx_attribute *a = RLX_ONNX_ITEM(rlx_onnx_attribute, n->attributes, k);
            if (a->g)
                count_graph(q, a->g, depth + 1);
        }
    }
}

/* ---- inputs and outputs ------------------------------------------------------------------------ */

static void read_port(query *q, const rlx_onnx_value_info *v, rlx_onnx_port *p)
{
    const rlx_onnx_tensor_type *t = v->type ? v->type->tensor : NULL;
    const rlx_onnx_shape *s = t ? t->shape : NULL;
    *p = (rlx_onnx_port){ .name = text_of(q, v->name), .type = "", .dtype = RELAX_VOID, .ndim = -1 };
    if (!t)
        return;
    p->type = rlx_onnx_dtype_name(t->elem_type);
    if (!rlx_onnx_dtype(t->elem_type, &p->dtype))
        p->dtype = RELAX_VOID;
    if (rlx_onnx_is_narrow(t->elem_type))
        p->dtype = RELAX_UINT8; /* codes */
    int64_t *sizes = s ? rlx_new(q->m.ctx, (s->dims.len + 1) * sizeof *sizes) : NULL;
    const rlx_string **names = s ? rlx_new(q->m.ctx, (s->dims.len + 1) * sizeof *names) : NULL;
    q->ok = q->ok && (!s || (sizes && names));
    for (size_t i = 0; q->ok && s && i < s->dims.len; i++) {
        const rlx_onnx_dimension *d = RLX_ONNX_ITEM(rlx_onnx_dimension, s->dims, i);
        bool named = d->param.len != 0, stated = d->head.has & 1 << 1 && !named && d->value >= 0;
        sizes[i] = stated ? d->value : -1;
        names[i] = named ? text_of(q, d->param) : NULL;
    }
    p->ndim = s ? (int)(s->dims.len < 1 << 20 ? s->dims.len : 1 << 20) : -1;
    p->sizes = sizes;
    p->size_names = names;
}

static bool is_weight(const rlx_ptrmap *weights, const rlx_string *name)
{
    return rlx_ptrmap_has(weights, name);
}

/* Initialisers that old files list among the inputs are none. */
static void read_ports(query *q, const rlx_onnx_graph *g)
{
    rlx_ptrmap weights;
    rlx_onnx_summary *out = q->out;
    rlx_ptrmap_init(&weights, &q->m.ctx->memory);
    for (size_t i = 0; q->ok && i < g->initializers.len; i++) {
        const rlx_string *s = text_of(q, RLX_ONNX_ITEM(rlx_onnx_tensor, g->initializers, i)->name);
        q->ok = s && rlx_ptrmap_put(&weights, s, 1);
    }
    out->inputs = rlx_new(q->m.ctx, (g->inputs.len + 1) * sizeof *out->inputs);
    out->outputs = rlx_new(q->m.ctx, (g->outputs.len + 1) * sizeof *out->outputs);
    q->ok = q->ok && out->inputs && out->outputs;
    for (size_t i = 0; q->ok && i < g->inputs.len; i++) {
        rlx_onnx_port *p = &out->inputs[out->num_inputs];
        read_port(q, RLX_ONNX_ITEM(rlx_onnx_value_info, g->inputs, i), p);
        out->num_inputs += q->ok && !is_weight(&weights, p->name);
    }
    for (size_t i = 0; q->ok && i < g->outputs.len; i++)
        read_port(q, RLX_ONNX_ITEM(rlx_onnx_value_info, g->outputs, i), &out->outputs[out->num_outputs++]);
    rlx_ptrmap_free(&weights);
}

static void read_sets(query *q)
{
    const rlx_wire_list *list = &q->m.model->opsets;
    q->out->sets = rlx_new(q->m.ctx, (list->len + 1) * sizeof *q->out->sets);
    q->ok = q->ok && q->out->sets;
    for (size_t i = 0; q->ok && i < list->len; i++) {
        const rlx_onnx_opset *o = RLX_ONNX_ITEM(rlx_onnx_opset, *list, i);
        q->out->sets[q->out->num_sets++] = (rlx_onnx_set){ text_of(q, o->domain), o->version };
    }
}

static void give_uses(query *q)
{
    q->out->uses = rlx_new(q->m.ctx, (q->uses.len + 1) * sizeof *q->out->uses);
    q->ok = q->ok && q->out->uses;
    if (q->ok && q->uses.len)
        memcpy(q->out->uses, q->uses.data, q->uses.len * sizeof *q->uses.data);
    q->out->num_uses = q->ok ? q->uses.len : 0;
}

bool rlx_onnx_query(rlx_context *ctx, rlx_blob *file, rlx_slice name, rlx_onnx_summary *out)
{
    rlx_onnx_options options = { .name = name, .most_nodes = SIZE_MAX };
    query q = { .m = { .ctx = ctx, .file = file, .options = &options }, .out = out, .ok = true };
    *out = (rlx_onnx_summary){ .ir_version = 0 };
    rlx_region_init(&q.m.region, &ctx->memory);
    rlx_map_init(&q.seen, &ctx->memory);
    if ((q.ok = rlx_onnx_read_model(&q.m))) {
        const rlx_onnx_model *model = q.m.model;
        out->ir_version = model->ir_version;
        out->producer = text_of(&q, model->producer);
        out->num_functions = model->functions.len;
        count_graph(&q, model->graph, 0);
        for (size_t i = 0; i < model->functions.len; i++)
            count_nodes(&q, &RLX_ONNX_ITEM(rlx_onnx_function, model->functions, i)->nodes, 0);
        read_ports(&q, model->graph);
        read_sets(&q);
        give_uses(&q);
    }
    rlx_map_free(&q.seen);
    rlx_vec_free(&ctx->memory, &q.uses);
    rlx_region_drop(&q.m.region);
    return q.ok;
}
