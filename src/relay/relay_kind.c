/* relay_kind.c: kinds of types (relay 2.3), and the groups of functions that call each other. */
#include "relay/relay_infer.h"

/* ---- kinds ----------------------------------------------------------------------------------------- */

/* Does t have kind TYPE, as the position says it must? */
static bool must_be_type(rlx_context *ctx, const rlx_relay_type *t, const char *position)
{
    if (t->kind != RLX_RELAY_TYPE_VAR || t->var->kind == RLX_RELAY_KIND_TYPE)
        return true;
    return rlx_error(ctx, RLX_RY12, t->place, "%s has kind Type, %.*s has kind %s", position,
                     (int)t->var->name.len, t->var->name.data, rlx_relay_kind_text(t->var->kind));
}

static bool check_list(rlx_context *ctx, rlx_relay_type *const *list, size_t count, const char *position)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok = must_be_type(ctx, list[i], position) && rlx_relay_check_kinds(ctx, list[i]) && ok;
    return ok;
}

static bool check_call(rlx_context *ctx, const rlx_relay_type *t)
{
    const rlx_relay_adt *adt = t->call.adt;
    if (!adt) /* reported where it was read */
        return false;
    if (t->call.num_args != adt->num_params)
        return rlx_error(ctx, RLX_RY13, t->place, "%.*s takes %zu type argument%s, found %zu",
                         (int)adt->name.len, adt->name.data, adt->num_params,
                         adt->num_params == 1 ? "" : "s", t->call.num_args);
    return check_list(ctx, t->call.args, t->call.num_args, "an argument of a data type");
}

/* Types of the text nest as deep as the parser allows. */
bool rlx_relay_check_kinds(rlx_context *ctx, const rlx_relay_type *t)
{
    switch (t->kind) {
    case RLX_RELAY_TYPE_TUPLE: return check_list(ctx, t->tuple.fields, t->tuple.count, "a member of a tuple");
    case RLX_RELAY_TYPE_FUNC: {
        bool ok = check_list(ctx, t->func.args, t->func.num_args, "an argument of a function");
        return check_list(ctx, &t->func.result, 1, "the result of a function") && ok;
    }
    case RLX_RELAY_TYPE_REF: return check_list(ctx, &t->ref.content, 1, "what a reference holds");
    case RLX_RELAY_TYPE_CALL: return check_call(ctx, t);
    default: return true; /* the parts of a tensor are checked where they are read */
    }
}

static bool check_definition(rlx_context *ctx, const rlx_relay_adt *adt)
{
    bool ok = true;
    for (size_t i = 0; i < adt->num_params; i++)
        if (adt->params[i]->kind != RLX_RELAY_KIND_TYPE)
            ok = rlx_error(ctx, RLX_RY12, adt->params[i]->place,
                           "a parameter of a data type has kind Type, %.*s has kind %s",
                           (int)adt->params[i]->name.len, adt->params[i]->name.data,
                           rlx_relay_kind_text(adt->params[i]->kind)) != NULL;
    for (size_t i = 0; i < adt->num_ctors; i++)
        ok = check_list(ctx, adt->ctors[i]->fields, adt->ctors[i]->num_fields,
                        "a field of a constructor") && ok;
    return ok;
}

/* Annotations of one function: visited with all expressions of its body, by a stack. */
typedef struct annotations {
    rlx_context *ctx;
    rlx_ptrs stack;
    rlx_ptrmap seen;
    bool ok;
} annotations;

static bool check_annotation(annotations *a, const rlx_relay_type *t)
{
    if (t)
        a->ok = must_be_type(a->ctx, t, "an annotation") && rlx_relay_check_kinds(a->ctx, t) && a->ok;
    return true;
}

static bool push_expr(annotations *a, rlx_relay_expr *e)
{
    if (!e || rlx_ptrmap_has(&a->seen, e))
        return true;
    return rlx_ptrmap_put(&a->seen, e, 1) && rlx_vec_push(&a->ctx->memory, &a->stack, e);
}

static void check_pattern(annotations *a, const rlx_relay_pattern *p)
{
    if (p->var)
        check_annotation(a, p->var->var.given);
    for (size_t i = 0; i < p->num_parts; i++)
        check_pattern(a, p->parts[i]);
}

static void check_own(annotations *a, const rlx_relay_expr *e)
{
    switch (e->kind) {
    case RLX_RELAY_VAR: check_annotation(a, e->var.given); break;
    case RLX_RELAY_LET: check_annotation(a, e->let.var->var.given); break;
    case RLX_RELAY_FUNC:
        for (size_t i = 0; i < e->func->num_params; i++)
            check_annotation(a, e->func->params[i]->var.given);
        check_annotation(a, e->func->result);
        break;
    case RLX_RELAY_MATCH:
        for (size_t i = 0; i < e->match.num_arms; i++)
            check_pattern(a, e->match.arms[i].pattern);
        break;
    default: break;
    }
}

static bool check_annotations(annotations *a, rlx_relay_expr *root)
{
    if (!push_expr(a, root))
        return false;
    while (a->stack.len) {
        rlx_relay_expr *e = rlx_vec_pop(&a->stack), *child;
        check_own(a, e);
        for (size_t i = 0; (child = rlx_relay_child(e, i)) != NULL; i++)
            if (!push_expr(a, child))
                return false;
    }
    return true;
}

bool rlx_relay_check_definitions(rlx_relay_module *m)
{
    annotations a = { .ctx = m->ctx, .ok = true };
    rlx_ptrmap_init(&a.seen, &m->ctx->memory);
    for (size_t i = 0; i < m->adts.len; i++)
        a.ok = check_definition(m->ctx, m->adts.data[i]) && a.ok;
    bool ok = true;
    for (size_t i = 0; ok && i < m->globals.len; i++)
        ok = check_annotations(&a, m->globals.data[i]->func);
    ok = ok && (!m->expr || check_annotations(&a, m->expr));
    rlx_ptrmap_free(&a.seen);
    rlx_vec_free(&m->ctx->memory, &a.stack);
    return ok && a.ok;
}

/* ---- groups of functions --------------------------------------------------------------------------- */

/* Tarjan's algorithm (1972) with a stack of its own; the calls of a function are found first. */
typedef struct call_path { uint32_t function, next; } call_path;
typedef struct grouping {
    rlx_relay_module *m;
    rlx_memory *memory;
    RLX_VEC(uint32_t) calls, first, stack;        /* calls of i: first[i] .. first[i + 1] */
    RLX_VEC(call_path) path;
    uint32_t *index, *low;                        /* 0: not visited; low UINT32_MAX: grouped */
    uint32_t counter;
    rlx_relay_groups *out;
} grouping;

static bool collect_calls(grouping *g, annotations *a, rlx_relay_expr *root)
{
    rlx_ptrmap_clear(&a->seen);
    if (!push_expr(a, root))
        return false;
    while (a->stack.len) {
        rlx_relay_expr *e = rlx_vec_pop(&a->stack), *child;
        if (e->kind == RLX_RELAY_GLOBAL && e->global->func &&
            !rlx_vec_push(g->memory, &g->calls, e->global->number))
            return false;
        for (size_t i = 0; (child = rlx_relay_child(e, i)) != NULL; i++)
            if (!push_expr(a, child))
                return false;
    }
    return true;
}

static bool collect_all(grouping *g)
{
    annotations a = { .ctx = g->m->ctx };
    rlx_ptrmap_init(&a.seen, g->memory);
    bool ok = true;
    for (size_t i = 0; ok && i < g->m->globals.len; i++)
        ok = rlx_vec_push(g->memory, &g->first, (uint32_t)g->calls.len) &&
             collect_calls(g, &a, g->m->globals.data[i]->func);
    ok = ok && rlx_vec_push(g->memory, &g->first, (uint32_t)g->calls.len);
    rlx_ptrmap_free(&a.seen);
    rlx_vec_free(g->memory, &a.stack);
    return ok;
}

static bool begin_function(grouping *g, uint32_t f)
{
    g->index[f] = g->low[f] = ++g->counter;
    call_path p = { f, g->first.data[f] };
    return rlx_vec_push(g->memory, &g->path, p) && rlx_vec_push(g->memory, &g->stack, f);
}

static bool end_group(grouping *g, uint32_t f)
{
    uint32_t member;
    do {
        member = rlx_vec_pop(&g->stack);
        g->low[member] = UINT32_MAX;
        if (!rlx_vec_push(g->memory, &g->out->order, member))
            return false;
    } while (member != f);
    return rlx_vec_push(g->memory, &g->out->ends, (uint32_t)g->out->order.len);
}

static bool visit_from(grouping *g, uint32_t root)
{
    if (!begin_function(g, root))
        return false;
    while (g->path.len) {
        size_t top = g->path.len - 1;
        uint32_t f = g->path.data[top].function;
        if (g->path.data[top].next < g->first.data[f + 1]) {
            uint32_t callee = g->calls.data[g->path.data[top].next++];
            if (!g->index[callee]) {
                if (!begin_function(g, callee))
                    return false;
            } else if (g->low[callee] != UINT32_MAX && g->index[callee] < g->low[f]) {
                g->low[f] = g->index[callee];
            }
            continue;
        }
        g->path.len--;
        if (g->path.len) {
            uint32_t caller = g->path.data[g->path.len - 1].function;
            if (g->low[f] < g->low[caller])
                g->low[caller] = g->low[f];
        }
        if (g->low[f] == g->index[f] && !end_group(g, f))
            return false;
    }
    return true;
}

bool rlx_relay_call_groups(rlx_relay_module *m, rlx_relay_groups *out)
{
    grouping g = { .m = m, .memory = &m->ctx->memory, .out = out };
    size_t n = m->globals.len;
    g.index = rlx_region_zero(&m->region, (n + 1) * sizeof *g.index);
    g.low = rlx_region_zero(&m->region, (n + 1) * sizeof *g.low);
    for (size_t i = 0; i < n; i++)
        m->globals.data[i]->number = (uint32_t)i;
    bool ok = g.index && g.low && collect_all(&g);
    for (uint32_t i = 0; ok && i < n; i++)
        ok = g.index[i] || visit_from(&g, i);
    rlx_vec_free(g.memory, &g.calls);
    rlx_vec_free(g.memory, &g.first);
    rlx_vec_free(g.memory, &g.stack);
    rlx_vec_free(g.memory, &g.path);
    return ok;
}
