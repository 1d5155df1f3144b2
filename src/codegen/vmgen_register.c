/* vmgen_register.c: values and the registers they are in.
 *
 * A value lives from its binding to its last use, counted in its own sequence: a use inside a
 * branch keeps it to the end of the if. Registers of dead values that may hold memory wait in
 * `dead` until a value is made in them, or until memory is asked for: then one KILL empties
 * them all.
 */
#include "codegen/vmgen_int.h"

/* ---- finding values ------------------------------------------------------------------------- */

rlx_vmgen_value *rlx_vmgen_value_of(const rlx_vmgen_fn *n, const rlx_expr *var)
{
    uintptr_t at;
    return var && rlx_ptrmap_find(&n->vars, var, &at) ? &n->values.data[at - 1] : NULL;
}

static const rlx_expr *value_of_binding(const rlx_binding *b)
{
    const rlx_var_binding *v = rlx_as_var_binding(b);
    const rlx_match_cast *c = rlx_as_match_cast(b);
    return v ? v->value : c ? c->value : NULL;
}

static const rlx_var *var_of_binding(const rlx_binding *b)
{
    const rlx_var_binding *v = rlx_as_var_binding(b);
    const rlx_match_cast *c = rlx_as_match_cast(b);
    return rlx_as_var(v ? v->var : c ? c->var : NULL);
}

const rlx_expr *rlx_vmgen_same_value(const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    bool same = op && op->row && op->row->flags & RLX_OP_IDENTITY && call->num_args;
    return same ? call->args[0] : value;
}

const rlx_var *rlx_vmgen_copied(const rlx_binding *b)
{
    return rlx_as_var(rlx_vmgen_same_value(value_of_binding(b)));
}

/* The event that a use of the value at this point counts for: the binding itself, or the if
 * around it in the value's own sequence. */
static uint32_t event_for(const rlx_vmgen_fn *n, const rlx_vmgen_value *v)
{
    uint32_t depth = (uint32_t)n->order.parts.len - 1;
    return v->depth >= depth ? n->order.number : n->order.parts.data[v->depth + 1].holder_number;
}

static bool use(rlx_vmgen_fn *n, const rlx_expr *var)
{
    rlx_vmgen_value *v = rlx_vmgen_value_of(n, var);
    if (!v)
        return true; /* not bound: reported where code is written */
    v->used = true;
    v->last_use = n->order.next_number;
    if (v->last != RLX_VMGEN_FOREVER)
        v->last = event_for(n, v);
    return true;
}

static bool keep(rlx_vmgen_fn *n, const rlx_expr *var)
{
    rlx_vmgen_value *v = rlx_vmgen_value_of(n, var);
    if (v) {
        v->used = true;
        v->last = RLX_VMGEN_FOREVER;
    }
    return true;
}

static bool push_work(rlx_vmgen_fn *n, const rlx_expr *e)
{
    return rlx_vec_push(&n->ctx->memory, &n->work, e);
}

/* Value and field as a key; NULL: a field that no key says. */
static const void *field_key(const rlx_vmgen_fn *n, const rlx_tuple_get_item *get)
{
    const rlx_vmgen_value *v = rlx_vmgen_value_of(n, get->tuple);
    uint64_t key = v && get->index >= 0 && get->index < 1 << 16
                       ? (uint64_t)(v - n->values.data + 1) << 16 | (uint64_t)get->index
                       : 0;
    return key <= UINTPTR_MAX ? (const void *)(uintptr_t)key : NULL;
}

bool rlx_vmgen_takes_field(const rlx_vmgen_fn *n, const rlx_tuple_get_item *get)
{
    const rlx_vmgen_value *v = rlx_vmgen_value_of(n, get->tuple);
    const void *key = field_key(n, get);
    return key && !v->whole && !v->leaf && rlx_ptrmap_has(&n->fields, key) &&
           (uintptr_t)rlx_ptrmap_get(&n->fields, key) == n->order.next_number;
}

/* Variables of a flat value. */
static bool use_all(rlx_vmgen_fn *n, const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(e);
    bool ok = call ? push_work(n, call->op) : push_work(n, get ? get->tuple : e);
    const void *key = ok && get ? field_key(n, get) : NULL;
    if (key)
        ok = rlx_ptrmap_put(&n->fields, key, n->order.next_number);
    for (size_t i = 0; ok && call && i < call->num_args; i++)
        ok = push_work(n, call->args[i]);
    while (ok && n->work.len) {
        const rlx_expr *at = rlx_vec_pop(&n->work);
        const rlx_tuple *t = rlx_as_tuple(at);
        rlx_vmgen_value *v = rlx_vmgen_value_of(n, at);
        if (v && !key)
            v->whole = true;
        if (rlx_as_var(at))
            ok = use(n, at);
        for (size_t i = 0; ok && t && i < t->num_fields; i++)
            ok = push_work(n, t->fields[i]);
    }
    n->work.len = 0;
    return ok;
}

static bool add_value(rlx_vmgen_fn *n, const rlx_var *var, const rlx_expr *definition)
{
    rlx_vmgen_value v = {
        .definition = definition, .reg = RLX_NO_INDEX, .wish = RLX_NO_INDEX, .result = RLX_NO_INDEX
    };
    v.last = n->order.number;
    v.depth = (uint32_t)n->order.parts.len - 1;
    v.serial = rlx_vmgen_serial(rlx_vmgen_top(&n->order));
    v.boxed = !rlx_as_prim_sinfo(var->sinfo);
    /* Shapes stay in registers: descriptions may refer to them there. */
    v.leaf = rlx_vmgen_is_constant(definition) && definition->kind != RLX_NODE_SHAPE_EXPR
                 ? definition
                 : NULL;
    bool ok = rlx_vec_push(&n->ctx->memory, &n->values, v) &&
              rlx_ptrmap_put(&n->vars, var, n->values.len);
    return ok;
}

/* ---- results over what dies ----------------------------------------------------------------- */

/* May its memory be this function's alone? Whether it is only the run knows. What lies in planned storage never is. */
static bool may_be_alone(const rlx_vmgen_value *v)
{
    const rlx_call *call = rlx_as_call(v->definition);
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    return v->boxed && !v->leaf && v->last != RLX_VMGEN_FOREVER &&
           (!op || (op->row && op->row->id == RLX_OP_ID_BUILTIN_ALLOC_TENSOR));
}

static bool is_allocation(const rlx_vmgen_value *v)
{
    const rlx_call *call = v->definition ? rlx_is_call_op(v->definition, RLX_OP_ID_BUILTIN_ALLOC_TENSOR) : NULL;
    return call && rlx_as_shape_expr(call->args[0]);
}

/* Outputs of a kernel that nobody has written to before, and inputs that may be their memory. */
static bool find_over(rlx_vmgen_fn *n, const rlx_call *call)
{
    const rlx_global_var *gv = call ? rlx_as_global_var(call->op) : NULL;
    int64_t index = gv ? rlx_module_index(n->w->m, gv) : -1;
    const rlx_prim_func *f = index < 0 ? NULL : rlx_as_prim_func(n->w->m->functions[index]);
    const int32_t *places = NULL;
    for (size_t o = 0; f && f->num_params == call->num_args && o < call->num_args; o++) {
        rlx_vmgen_value *out = rlx_vmgen_value_of(n, call->args[o]);
        if (!out || out->used || !is_allocation(out))
            continue;
        if (!rlx_vmgen_kernel_places(n->w, (size_t)index, &places))
            return false;
        for (size_t i = 0; places && !out->over && i < call->num_args; i++) {
            const rlx_vmgen_value *in = rlx_vmgen_value_of(n, call->args[i]);
            if (places[i] != (int32_t)o || !in || in >= out || !may_be_alone(in))
                continue;
            out->over = (uint32_t)(in - n->values.data) + 1;
            out->over_at = n->order.next_number;
        }
    }
    return true;
}

const rlx_vmgen_value *rlx_vmgen_over(const rlx_vmgen_fn *n, const rlx_vmgen_value *v)
{
    const rlx_vmgen_value *in = v && v->over ? &n->values.data[v->over - 1] : NULL;
    bool dies = in && in->last != RLX_VMGEN_FOREVER && in->last_use == v->over_at;
    return dies && in->reg != RLX_NO_INDEX ? in : NULL;
}

/* ---- bindings ------------------------------------------------------------------------------- */

static bool find_in_binding(rlx_vmgen_fn *n, const rlx_binding *b)
{
    const rlx_var *var = var_of_binding(b), *copied = rlx_vmgen_copied(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    uintptr_t at;
    if (!var && !cast) {
        rlx_error(n->ctx, RLX_CG02, rlx_place_of(b), "a value is bound to no variable");
        return false;
    }
    if (!find_over(n, rlx_as_call(value_of_binding(b))) || !use_all(n, value_of_binding(b)) ||
        (cast && !rlx_vmgen_each_shape_var(n, cast->sinfo, use)) ||
        (var && !rlx_vmgen_each_shape_var(n, var->sinfo, use)))
        return false;
    if (!var)
        return true;
    if (copied && rlx_ptrmap_find(&n->vars, copied, &at))
        return rlx_ptrmap_put(&n->vars, var, at);
    return add_value(n, var, value_of_binding(b));
}

/* The branches of an if have ended: its variable is bound in the sequence around. */
static bool find_if_result(rlx_vmgen_fn *n, const rlx_binding *b)
{
    const rlx_vmgen_part p = rlx_vec_pop(&n->order.parts);
    const rlx_var *var = var_of_binding(b);
    bool ok = find_in_binding(n, b);
    rlx_vmgen_value *v = ok && var ? rlx_vmgen_value_of(n, &var->node) : NULL;
    if (v)
        memcpy(v->branch, p.serial, sizeof p.serial);
    return ok;
}

static bool find_in_event(rlx_vmgen_fn *n, enum rlx_event_kind event)
{
    const rlx_binding *b = rlx_vmgen_at(&n->order)->binding;
    switch (event) {
    case RLX_EVENT_VALUE:
        return use_all(n, ((const rlx_if_expr *)value_of_binding(b))->cond) &&
               rlx_vmgen_order_into(&n->order, (rlx_vmgen_part){ .target = RLX_NO_INDEX });
    case RLX_EVENT_BIND: return rlx_vmgen_is_if(b) ? find_if_result(n, b) : find_in_binding(n, b);
    default: return use_all(n, rlx_vmgen_result(&n->order));
    }
}

static bool find_params(rlx_vmgen_fn *n)
{
    bool ok = true;
    n->order.number = 0;
    for (size_t i = 0; ok && i < n->f->num_params; i++) {
        const rlx_var *v = rlx_as_var(n->f->params[i]);
        ok = v ? add_value(n, v, NULL)
               : rlx_error(n->ctx, RLX_CG02, n->f->place, "parameter %zu is no variable", i + 1) !=
                     NULL;
        if (ok)
            rlx_vec_last(&n->values).reg = (uint32_t)i;
    }
    return ok;
}

/* ---- which tensors are results -------------------------------------------------------------- */

/* A part of the result: where it comes from (a sequence), and the number of its first tensor. */
typedef struct part { const rlx_expr *e; uint32_t serial, index; } part;
typedef struct parts { rlx_vmgen_fn *n; RLX_VEC(part) pending; } parts;

static bool push_part(parts *w, part p) { return rlx_vec_push(&w->n->ctx->memory, &w->pending, p); }

/* Fields of a tuple are numbered on as long as each is one tensor. */
static bool push_fields(parts *w, const rlx_tuple *t, part p)
{
    for (size_t i = 0; i < t->num_fields; i++) {
        const rlx_var *v = rlx_as_var(t->fields[i]);
        if (!v || !rlx_as_tensor_sinfo(v->sinfo))
            return true;
        if (!push_part(w, (part){ t->fields[i], p.serial, p.index + (uint32_t)i }))
            return false;
    }
    return true;
}

static bool push_branches(parts *w, const rlx_vmgen_value *v, const rlx_if_expr *e, part p)
{
    const rlx_seq_expr *yes = rlx_as_seq_expr(e->true_branch),
                       *no = rlx_as_seq_expr(e->false_branch);
    part a = { yes ? yes->body : NULL, v->branch[0], p.index };
    part b = { no ? no->body : NULL, v->branch[1], p.index };
    return push_part(w, a) && push_part(w, b);
}

/* A tensor made in the very sequence whose result it is may be made in a buffer of the caller:
 * nothing that comes later in another sequence can meet it. */
static bool mark_part(parts *w, part p)
{
    rlx_vmgen_value *v = p.e ? rlx_vmgen_value_of(w->n, p.e) : NULL;
    if (rlx_as_tuple(p.e))
        return push_fields(w, rlx_as_tuple(p.e), p);
    if (!v || v->serial != p.serial || !v->definition)
        return true;
    if (rlx_as_tuple(v->definition))
        return push_fields(w, rlx_as_tuple(v->definition), p);
    if (rlx_as_if_expr(v->definition)) {
        bool one_tensor = rlx_as_var(p.e) && rlx_as_tensor_sinfo(((const rlx_var *)p.e)->sinfo);
        return !one_tensor || push_branches(w, v, rlx_as_if_expr(v->definition), p);
    }
    if (v->result == RLX_NO_INDEX)
        v->result = p.index;
    return true;
}

static bool mark_results(rlx_vmgen_fn *n)
{
    parts w = { .n = n };
    const rlx_seq_expr *body = rlx_as_seq_expr(n->f->body);
    bool ok = push_part(&w, (part){ body ? body->body : n->f->body, 0, 0 });
    while (ok && w.pending.len)
        ok = mark_part(&w, rlx_vec_pop(&w.pending));
    rlx_vec_free(&n->ctx->memory, &w.pending);
    return ok;
}

/* ---- lives ---------------------------------------------------------------------------------- */

static bool list_deaths(rlx_vmgen_fn *n)
{
    n->dying = rlx_mem_alloc_zero(&n->ctx->memory, n->num_events * sizeof *n->dying);
    if (!n->dying)
        return false;
    for (size_t i = n->values.len; i-- > 0;) {
        rlx_vmgen_value *v = &n->values.data[i];
        if (v->last == RLX_VMGEN_FOREVER)
            continue;
        v->next = n->dying[v->last];
        n->dying[v->last] = (uint32_t)i + 1;
    }
    return true;
}

bool rlx_vmgen_find_values(rlx_vmgen_fn *n)
{
    enum rlx_event_kind event;
    bool ok = rlx_vmgen_order_begin(&n->order, n->ctx, n->f->body) && find_params(n);
    while (ok && (event = rlx_vmgen_order_next(&n->order)) != RLX_EVENT_DONE)
        ok = find_in_event(n, event);
    n->num_events = n->order.next_number;
    /* The check of the result looks at them at every return. */
    ok = ok && rlx_vmgen_each_shape_var(n, n->f->ret_sinfo, keep) && mark_results(n) &&
         list_deaths(n);
    rlx_vmgen_order_free(&n->order);
    return ok;
}

/* ---- registers ------------------------------------------------------------------------------ */

bool rlx_vmgen_take(rlx_vmgen_fn *n, uint32_t *reg)
{
    if (n->dead.len)
        *reg = rlx_vec_pop(&n->dead);
    else if (n->free.len)
        *reg = rlx_vec_pop(&n->free);
    else
        *reg = n->num_regs++;
    if (n->num_regs <= RLX_MAX_REGISTERS)
        return true;
    n->out->too_large = true;
    return rlx_vmgen_failed(n->w, n->place);
}

bool rlx_vmgen_define(rlx_vmgen_fn *n, rlx_vmgen_value *v, uint32_t *reg)
{
    if (v->wish != RLX_NO_INDEX) {
        v->reg = v->wish;
        v->borrowed = true;
    } else if (!rlx_vmgen_take(n, &v->reg)) {
        return false;
    }
    *reg = v->reg;
    return true;
}

bool rlx_vmgen_temp_register(rlx_vmgen_fn *n, bool boxed, uint32_t *reg)
{
    return rlx_vmgen_take(n, reg) &&
           rlx_vec_push(&n->ctx->memory, &n->temps, ((rlx_vmgen_temp){ *reg, boxed }));
}

bool rlx_vmgen_release(rlx_vmgen_fn *n, uint32_t reg, bool boxed)
{
    bool ok = boxed ? rlx_vec_push(&n->ctx->memory, &n->dead, reg)
                    : rlx_vec_push(&n->ctx->memory, &n->free, reg);
    return ok;
}

bool rlx_vmgen_die(rlx_vmgen_fn *n, uint32_t number)
{
    bool ok = true;
    for (uint32_t i = n->dying[number]; ok && i; i = n->values.data[i - 1].next) {
        rlx_vmgen_value *v = &n->values.data[i - 1];
        /* What a parameter holds is the caller's. */
        if (v->reg != RLX_NO_INDEX && !v->borrowed)
            ok = rlx_vmgen_release(n, v->reg, v->boxed && v->definition);
        v->reg = RLX_NO_INDEX;
    }
    return ok;
}

bool rlx_vmgen_end_binding(rlx_vmgen_fn *n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n->temps.len; i++)
        ok = rlx_vmgen_release(n, n->temps.data[i].reg, n->temps.data[i].boxed);
    n->temps.len = 0;
    return ok;
}

bool rlx_vmgen_forget_dead(rlx_vmgen_fn *n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n->dead.len; i++)
        ok = rlx_vec_push(&n->ctx->memory, &n->free, n->dead.data[i]);
    n->dead.len = 0;
    return ok;
}

bool rlx_vmgen_flush(rlx_vmgen_fn *n)
{
    for (size_t i = 0; i < n->dead.len; i += RLX_MAX_OPERANDS) {
        size_t count = n->dead.len - i < RLX_MAX_OPERANDS ? n->dead.len - i : RLX_MAX_OPERANDS;
        rlx_file_writer_emit(n->out, RLX_OP_KILL, NULL, n->dead.data + i, count);
    }
    return rlx_vmgen_forget_dead(n);
}
