/* graph.c: graphs, functions and nodes: which are needed, in which order values come, who converts a node. */
#include "onnx/onnx_int.h"

enum { MOST_TRIED = 100000 }; /* nodes of attempts, of which those of loops in loops are more and more */

/* ---- scopes and values ------------------------------------------------------------------------ */

void rlx_onnx_scope_init(rlx_importer *m, rlx_onnx_scope *s, rlx_onnx_scope *outer)
{
    *s = (rlx_onnx_scope){ .outer = outer,
                           .opsets = outer ? outer->opsets : &m->model->opsets,
                           .depth = outer ? outer->depth + 1 : 0 };
    rlx_ptrmap_init(&s->values, &m->ctx->memory);
}

void rlx_onnx_scope_free(rlx_onnx_scope *s) { rlx_ptrmap_free(&s->values); }

rlx_onnx_value *rlx_onnx_value_new(rlx_importer *m, const rlx_string *name)
{
    rlx_onnx_value *v = rlx_region_zero(&m->region, sizeof *v);
    if (v) {
        v->name = name;
        v->level = m->level;
    }
    return v;
}

size_t rlx_onnx_enter(rlx_importer *m)
{
    m->level++;
    return m->former.len;
}

void rlx_onnx_leave(rlx_importer *m, size_t mark)
{
    while (m->former.len > mark) {
        rlx_onnx_former *f = &m->former.data[--m->former.len];
        *f->value = f->content;
    }
    m->level--;
}

bool rlx_onnx_touch(rlx_importer *m, rlx_onnx_value *v)
{
    rlx_onnx_former f = { v, *v };
    return v->level == m->level || rlx_vec_push(&m->ctx->memory, &m->former, f);
}

rlx_onnx_value *rlx_onnx_value_find(const rlx_onnx_scope *s, const rlx_string *name)
{
    rlx_onnx_value *v = NULL;
    for (; s && !v; s = s->outer)
        v = rlx_ptrmap_get(&s->values, name);
    return v;
}

bool rlx_onnx_value_bind(rlx_importer *m, rlx_onnx_scope *s, rlx_slice name, rlx_onnx_value *v)
{
    const rlx_string *text = rlx_string_intern(m->ctx, name);
    return text && v && rlx_ptrmap_put(&s->values, text, (uintptr_t)v);
}

/* ---- which nodes are needed -------------------------------------------------------------------- */

typedef struct needs { rlx_importer *m; rlx_ptrmap names; bool ok; } needs;

static void need_name(needs *n, rlx_slice name)
{
    const rlx_string *s = name.len ? rlx_string_intern(n->m->ctx, name) : NULL;
    if (s)
        n->ok = n->ok && rlx_ptrmap_put(&n->names, s, 1);
    else if (name.len)
        n->ok = false;
}

static void need_graph(needs *n, const rlx_onnx_graph *g, int depth);

static void need_node(needs *n, const rlx_onnx_node *node, int depth)
{
    for (size_t i = 0; i < node->inputs.len; i++)
        need_name(n, node->inputs.data[i]);
    for (size_t i = 0; i < node->attributes.len; i++) {
        const rlx_onnx_attribute *a = RLX_ONNX_ITEM(rlx_onnx_attribute, node->attributes, i);
        if (a->g)
            need_graph(n, a->g, depth + 1);
    }
}

/* Whatever a branch mentions may be a name of the graph around it. */
static void need_graph(needs *n, const rlx_onnx_graph *g, int depth)
{
    if (depth > 64)
        return;
    for (size_t i = 0; i < g->nodes.len; i++)
        need_node(n, RLX_ONNX_ITEM(rlx_onnx_node, g->nodes, i), depth);
    for (size_t i = 0; i < g->outputs.len; i++)
        need_name(n, RLX_ONNX_ITEM(rlx_onnx_value_info, g->outputs, i)->name);
}

static bool is_needed(needs *n, const rlx_onnx_node *node)
{
    for (size_t i = 0; i < node->outputs.len; i++) {
        const rlx_string *s =
            node->outputs.data[i].len ? rlx_string_intern(n->m->ctx, node->outputs.data[i]) : NULL;
        if (s && rlx_ptrmap_has(&n->names, s))
            return true;
    }
    return false;
}

/* Marks the nodes that the outputs hang on, from the last to the first. */
static bool *find_needed(rlx_importer *m, needs *n, const rlx_wire_list *nodes)
{
    bool *used = rlx_region_zero(&m->region, nodes->len + 1);
    for (size_t i = nodes->len; used && i-- > 0;) {
        const rlx_onnx_node *node = RLX_ONNX_ITEM(rlx_onnx_node, *nodes, i);
        used[i] = is_needed(n, node);
        if (used[i])
            need_node(n, node, 0);
    }
    return n->ok ? used : NULL;
}

/* ---- one node ---------------------------------------------------------------------------------- */

static bool is_main_domain(rlx_slice d) { return !d.len || rlx_slice_is(d, "ai.onnx"); }

static int64_t opset_of(const rlx_onnx_scope *s, rlx_slice domain)
{
    bool is_main = is_main_domain(domain);
    for (size_t i = 0; i < s->opsets->len; i++) {
        const rlx_onnx_opset *o = RLX_ONNX_ITEM(rlx_onnx_opset, *s->opsets, i);
        if (is_main ? is_main_domain(o->domain) : rlx_slice_equal(o->domain, domain))
            return o->version;
    }
    return is_main && !s->opsets->len ? 1 : 0;
}

static bool find_operands(rlx_onnx_conv *c)
{
    const rlx_onnx_node *n = c->node;
    c->inputs = rlx_onnx_array(c, n->inputs.len, sizeof *c->inputs);
    c->outputs = rlx_onnx_array(c, n->outputs.len, sizeof *c->outputs);
    c->num_inputs = n->inputs.len;
    c->num_outputs = n->outputs.len;
    bool fine = true;
    for (size_t i = 0; c->inputs && i < n->inputs.len; i++) {
        rlx_slice name = n->inputs.data[i];
        const rlx_string *s = name.len ? rlx_string_intern(c->ctx, name) : NULL;
        c->inputs[i] = s ? rlx_onnx_value_find(c->scope, s) : NULL;
        if (name.len && !c->inputs[i])
            fine = rlx_onnx_fail(c, RLX_ON10, "nothing before it defines %.*s",
                                 (int)(name.len < 80 ? name.len : 80), name.data) != NULL;
        fine = fine && !(c->inputs[i] && c->inputs[i]->failed);
    }
    return c->inputs && c->outputs && fine;
}

static uint64_t depends_of(const rlx_onnx_conv *c)
{
    uint64_t on = 0;
    for (size_t i = 0; i < c->num_inputs; i++)
        on |= c->inputs[i] ? c->inputs[i]->depends : 0;
    return on;
}

/* Outputs get their values when their node begins; the ones that fail are silent afterwards. */
static bool make_outputs(rlx_onnx_conv *c)
{
    if (!c->inputs || !c->outputs)
        return false;
    uint64_t on = depends_of(c);
    for (size_t i = 0; i < c->num_outputs; i++) {
        rlx_slice name = c->node->outputs.data[i];
        c->outputs[i] = NULL;
        if (!name.len)
            continue;
        const rlx_string *s = rlx_string_intern(c->ctx, name);
        c->outputs[i] = s ? rlx_onnx_value_new(c->m, s) : NULL;
        if (!c->outputs[i])
            return false;
        c->outputs[i]->depends = on;
        if (rlx_ptrmap_has(&c->scope->values, s))
            rlx_onnx_fail(c, RLX_ON10, "two nodes define %s", s->data);
        if (!rlx_ptrmap_put(&c->scope->values, s, (uintptr_t)c->outputs[i]))
            return false;
    }
    return true;
}

/* Domain, name and overload, none of which holds the byte between them: such a function is not found. */
static bool function_key(rlx_buf *b, rlx_slice domain, rlx_slice name, rlx_slice overload)
{
    domain = is_main_domain(domain) ? (rlx_slice){ "", 0 } : domain;
    rlx_buf_put(b, domain.data ? domain.data : "", domain.len);
    rlx_buf_char(b, '\0');
    rlx_buf_put(b, name.data ? name.data : "", name.len);
    rlx_buf_char(b, '\0');
    rlx_buf_put(b, overload.data ? overload.data : "", overload.len);
    return !b->failed;
}

/* The first of equal ones counts. */
bool rlx_onnx_list_functions(rlx_importer *m)
{
    const rlx_wire_list *list = &m->model->functions;
    rlx_buf b;
    rlx_buf_init(&b, &m->ctx->memory);
    bool ok = true;
    for (size_t i = 0; ok && i < list->len; i++) {
        const rlx_onnx_function *f = RLX_ONNX_ITEM(rlx_onnx_function, *list, i);
        b.len = 0;
        ok = function_key(&b, f->domain, f->name, f->overload);
        rlx_slice key = { b.data, b.len };
        ok = ok && (rlx_map_get(&m->functions, key) || rlx_map_put(&m->functions, key, (void *)(uintptr_t)f));
    }
    rlx_buf_free(&b);
    return ok;
}

static const rlx_onnx_function *find_function(rlx_importer *m, const rlx_onnx_node *n)
{
    rlx_buf b;
    rlx_buf_init(&b, &m->ctx->memory);
    const rlx_onnx_function *f = function_key(&b, n->domain, n->op, n->overload)
                                     ? rlx_map_get(&m->functions, (rlx_slice){ b.data, b.len })
                                     : NULL;
    rlx_buf_free(&b);
    return f;
}

static bool import_nodes(rlx_importer *m, rlx_onnx_scope *s, const rlx_wire_list *nodes,
                         needs *n);

static bool is_recursive(const rlx_onnx_scope *s, const rlx_onnx_function *f)
{
    for (; s; s = s->function && s->call ? s->call->scope : s->outer)
        if (s->function == f)
            return true;
    return false;
}

/* The body of a function in place of its call. */
static bool inline_function(rlx_onnx_conv *c, const rlx_onnx_function *f)
{
    rlx_onnx_scope inner;
    needs n = { .m = c->m, .ok = true };
    if (is_recursive(c->scope, f) || c->scope->depth > 32)
        return rlx_onnx_fail(c, RLX_ON10, "the function calls itself, or calls nest too deep") !=
               NULL;
    rlx_onnx_scope_init(c->m, &inner, NULL);
    rlx_ptrmap_init(&n.names, &c->ctx->memory);
    inner.depth = c->scope->depth + 1;
    inner.opsets = &f->opsets;
    inner.function = f;
    inner.call = c;
    bool ok = true;
    for (size_t i = 0; ok && i < f->inputs.len && i < c->num_inputs; i++)
        ok = !c->inputs[i] || rlx_onnx_value_bind(c->m, &inner, f->inputs.data[i], c->inputs[i]);
    for (size_t i = 0; i < f->outputs.len; i++)
        if (rlx_onnx_wants(c, i))
            need_name(&n, f->outputs.data[i]);
    /* An operand that is left out is left out inside. */
    for (size_t i = 0; ok && i < f->inputs.len; i++)
        if (i >= c->num_inputs || !c->inputs[i]) {
            rlx_onnx_value *v = rlx_onnx_value_new(c->m, NULL);
            if (v)
                v->is_optional = true;
            ok = rlx_onnx_value_bind(c->m, &inner, f->inputs.data[i], v);
        }
    ok = ok && import_nodes(c->m, &inner, &f->nodes, &n);
    for (size_t i = 0; ok && i < f->outputs.len; i++) {
        const rlx_string *s = rlx_string_intern(c->ctx, f->outputs.data[i]);
        const rlx_onnx_value *v = s ? rlx_onnx_value_find(&inner, s) : NULL;
        if (rlx_onnx_wants(c, i) && s && !v)
            rlx_onnx_fail(c, RLX_ON10, "no node of the function defines its output %.80s", s->data);
        else if (rlx_onnx_wants(c, i) && (!v || v->failed))
            c->failed = true;
        else if (v)
            ok = rlx_onnx_output_value(c, i, v);
    }
    rlx_ptrmap_free(&n.names);
    rlx_onnx_scope_free(&inner);
    return ok && !c->failed;
}

static const char *version_trouble(const rlx_onnx_conv *c)
{
    if (!c->version)
        return "the model does not say which version of its domain it uses";
    return c->row->since > c->version ? "the operator is not part of the operator set that the "
                                        "model imports"
                                      : NULL;
}

/* Nodes of newer operator sets are taken as the newest one that the table knows. */
static bool check_row(rlx_onnx_conv *c)
{
    rlx_slice domain = is_main_domain(c->node->domain) ? (rlx_slice){ "", 0 } : c->node->domain;
    c->version = opset_of(c->scope, c->node->domain);
    c->row = rlx_onnx_row_find(domain, c->node->op);
    if (!c->row)
        return rlx_onnx_fail(c, RLX_ON03, "the operator is not known") != NULL;
    if (c->row->refused)
        return rlx_onnx_fail(c, RLX_ON03, "the operator is not supported: %s", c->row->refused) !=
               NULL;
    const char *trouble = *domain.data == 0 || !domain.len || c->version ? version_trouble(c) : NULL;
    /* exporters write the normalisation of another domain into this one */
    if (trouble && c->row->since > c->version && c->version >= 7 && !domain.len &&
        rlx_slice_is(c->node->op, "SimplifiedLayerNormalization"))
        trouble = NULL;
    if (trouble && domain.len)
        trouble = NULL; /* com.microsoft is often not imported */
    if (trouble)
        return rlx_onnx_fail(c, RLX_ON04, "%s", trouble) != NULL;
    if (!domain.len && c->version > RLX_ONNX_NEWEST)
        rlx_onnx_warn(c, "operator set %lld is newer than the newest one that is known, %d",
                      (long long)c->version, RLX_ONNX_NEWEST);
    return true;
}

static bool is_known(const rlx_onnx_conv *c)
{
    rlx_slice domain = is_main_domain(c->node->domain) ? RLX_SLICE("") : c->node->domain;
    const rlx_onnx_row *row = rlx_onnx_row_find(domain, c->node->op);
    return row && !row->refused;
}

/* Errors of inference are told where they are found. */
static bool run_converter(rlx_onnx_conv *c, const rlx_onnx_function *f)
{
    size_t errors = rlx_error_count(c->ctx);
    rlx_place outer = c->ctx->diags.otherwise;
    c->ctx->diags.otherwise = c->place;
    const rlx_onnx_host *host = rlx_onnx_host_find(c);
    bool ok = host                                ? host->convert(host->user, c)
              : f                                 ? inline_function(c, f)
              : c->m->options->packed_calls && !is_known(c) ? rlx_onnx_packed_call(c)
                                                  : check_row(c) && c->row->convert(c);
    ok = ok && !c->failed;
    c->ctx->diags.otherwise = outer;
    if (!ok && !c->failed && rlx_error_count(c->ctx) == errors)
        rlx_onnx_fail(c, RLX_ON05, "the node could not be imported");
    return ok;
}

static bool too_many(rlx_importer *m)
{
    size_t most = m->options->most_nodes;
    return ++m->num_nodes > most || (m->unheard && ++m->num_tried > MOST_TRIED);
}

static bool import_node(rlx_importer *m, rlx_onnx_scope *s, const rlx_onnx_node *n)
{
    rlx_onnx_conv c = { .m = m,
                        .ctx = m->ctx,
                        .scope = s,
                        .node = n,
                        .version = opset_of(s, n->domain),
                        .place = rlx_place_make(m->source, n->line_begin, n->line_len) };
    if (too_many(m)) {
        rlx_onnx_fail(&c, RLX_ON02, "there are more nodes than %zu, or loops nest too deep",
                      m->options->most_nodes);
        return false;
    }
    rlx_mark mark = rlx_builder_mark(m->b);
    const rlx_onnx_function *f = m->model->functions.len ? find_function(m, n) : NULL;
    bool ok = find_operands(&c), made = make_outputs(&c);
    if (!made)
        return false;
    if (!ok && !f) /* says at least whether the operator is known */
        check_row(&c);
    ok = ok && run_converter(&c, f);
    for (size_t i = 0; i < c.num_outputs; i++) {
        rlx_onnx_value *v = c.outputs[i];
        if (!v)
            continue;
        bool missing = !v->expr && !v->tensor && !v->has_ints && !v->is_sequence && !v->is_optional;
        if (ok && missing)
            rlx_onnx_fail(&c, RLX_ON05, "output %zu is not supported", i);
        v->failed |= !ok || missing;
    }
    if (!ok && !f && !m->ctx->diags.out_of_memory)
        rlx_builder_rollback(m->b, &mark);
    return !m->ctx->diags.out_of_memory;
}

static bool import_nodes(rlx_importer *m, rlx_onnx_scope *s, const rlx_wire_list *nodes, needs *n)
{
    const bool *used = find_needed(m, n, nodes);
    for (size_t i = 0; used && i < nodes->len; i++)
        if (used[i] && !import_node(m, s, RLX_ONNX_ITEM(rlx_onnx_node, *nodes, i)))
            return false;
    return used != NULL;
}

/* ---- graphs ------------------------------------------------------------------------------------ */

static bool bind_initializers(rlx_importer *m, rlx_onnx_scope *s, const rlx_onnx_graph *g)
{
    for (size_t i = 0; i < g->initializers.len; i++) {
        const rlx_onnx_tensor *t = RLX_ONNX_ITEM(rlx_onnx_tensor, g->initializers, i);
        const rlx_string *name = rlx_string_intern(m->ctx, t->name);
        rlx_onnx_value *v = name ? rlx_onnx_value_new(m, name) : NULL;
        if (!v)
            return false;
        v->tensor = t;
        if (!rlx_ptrmap_has(&s->values, name) &&
            !rlx_ptrmap_put(&s->values, name, (uintptr_t)v))
            return false;
    }
    for (size_t i = 0; i < g->sparse_initializers.len; i++) {
        const rlx_onnx_sparse *t = RLX_ONNX_ITEM(rlx_onnx_sparse, g->sparse_initializers, i);
        const rlx_string *name = t->values ? rlx_string_intern(m->ctx, t->values->name) : NULL;
        rlx_onnx_value *v = name ? rlx_onnx_value_new(m, name) : NULL;
        if (t->values && !v)
            return false;
        if (!v)
            continue;
        v->expr = rlx_onnx_sparse_constant(m, t, RLX_NO_PLACE);
        v->failed = !v->expr;
        if (!rlx_ptrmap_put(&s->values, name, (uintptr_t)v))
            return false;
    }
    return true;
}

bool rlx_onnx_graph_body(rlx_importer *m, rlx_onnx_scope *s, const rlx_onnx_graph *g,
                         rlx_onnx_value ***outputs)
{
    needs n = { .m = m, .ok = true };
    s->graph = g;
    rlx_ptrmap_init(&n.names, &m->ctx->memory);
    for (size_t i = 0; i < g->outputs.len; i++)
        need_name(&n, RLX_ONNX_ITEM(rlx_onnx_value_info, g->outputs, i)->name);
    bool ok = n.ok && bind_initializers(m, s, g) && import_nodes(m, s, &g->nodes, &n);
    rlx_ptrmap_free(&n.names);
    rlx_onnx_value **out = ok ? rlx_region_array(&m->region, g->outputs.len + 1, sizeof *out) : NULL;
    for (size_t i = 0; out && i < g->outputs.len; i++) {
        rlx_slice name = RLX_ONNX_ITEM(rlx_onnx_value_info, g->outputs, i)->name;
        const rlx_string *text = rlx_string_intern(m->ctx, name);
        out[i] = text ? rlx_onnx_value_find(s, text) : NULL;
        if (!out[i])
            rlx_onnx_issue_add(m, RLX_ON10, false, (rlx_slice){ "", 0 }, (rlx_slice){ "", 0 }, 0,
                               RLX_NO_PLACE, "no node defines the output %.*s",
                               (int)(name.len < 80 ? name.len : 80), name.data ? name.data : "");
        ok = ok && out[i];
    }
    *outputs = out;
    return ok && out;
}
