/* device_propagation.c: points and edges of a module, and how devices propagate along them. */
#include "transform/device_propagation.h"
#include "transform/transform_int.h"

#define MEMORY(d) (&(d)->ctx->memory)
#define MAX_TUPLE_DEPTH 32 /* tuples in tuples deeper than that have no points */
#define MAX_CHAIN 8        /* reasons told for one side of a contradiction */

/* The device of what an earlier mistake left open: contradicts nothing. */
static const rlx_vdevice unknowable = { .node = { .kind = RLX_NODE_VDEVICE } };

/* ---- points --------------------------------------------------------------------------------- */

/* Tensors in s. SIZE_MAX: it nests too deeply. */
static size_t count_tensors(rlx_device_propagation *d, const rlx_sinfo *s, int depth)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    uintptr_t known;
    size_t sum = 0;
    if (!t)
        return rlx_is(s, RLX_NODE_TENSOR_SINFO);
    if (rlx_ptrmap_find(&d->sizes, s, &known))
        return known;
    for (size_t i = 0; depth && i < t->num_fields; i++) {
        size_t n = count_tensors(d, t->fields[i], depth - 1);
        if (n == SIZE_MAX)
            return n;
        sum += n;
    }
    if (!depth)
        return SIZE_MAX;
    (void)rlx_ptrmap_put(&d->sizes, s, sum);
    return sum;
}

static size_t num_tensors(rlx_device_propagation *d, const rlx_sinfo *s)
{
    size_t n = s ? count_tensors(d, s, MAX_TUPLE_DEPTH) : 0;
    return n == SIZE_MAX ? 0 : n;
}

static bool add_point(rlx_device_propagation *d, const rlx_node *owner)
{
    if (d->points.len >= UINT32_MAX / 4)
        return false;
    return rlx_vec_push(MEMORY(d), &d->points, ((rlx_device_point){ .owner = owner }));
}

/* A device that names no target says nothing. */
static bool is_open(const rlx_node *device)
{
    const rlx_vdevice *v = rlx_as_vdevice(device);
    return !v || !v->target;
}

static void say(rlx_device_propagation *d, uint32_t at, const rlx_node *device, rlx_place place,
                enum rlx_device_said said)
{
    rlx_device_point *p = &d->points.data[at];
    if (is_open(device))
        return;
    p->device = device;
    p->place = place;
    p->said = (uint8_t)said;
}

/* Puts what s says of the points from `base` on; device not NULL: all are said to be there. */
static void say_all(rlx_device_propagation *d, const rlx_sinfo *s, uint32_t base,
                    const rlx_node *device, rlx_place place, enum rlx_device_said said)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_tuple_sinfo *tuple = num_tensors(d, s) ? rlx_as_tuple_sinfo(s) : NULL;
    if (t)
        say(d, base, device ? device : t->vdevice, place, said);
    for (size_t i = 0; tuple && i < tuple->num_fields; i++) {
        say_all(d, tuple->fields[i], base, device, place, said);
        base += (uint32_t)num_tensors(d, tuple->fields[i]);
    }
}

/* First point of what `owner` (a variable, cast or function) is described by. */
static bool base_of(rlx_device_propagation *d, const rlx_node *owner, const rlx_sinfo *s,
                    rlx_place place, uint32_t *base)
{
    uintptr_t known;
    bool found = rlx_ptrmap_find(&d->base, owner, &known);
    *base = found ? (uint32_t)known - 1 : (uint32_t)d->points.len;
    if (found)
        return true;
    for (size_t n = num_tensors(d, s); n--;)
        if (!add_point(d, rlx_as_match_cast(owner) ? NULL : owner))
            return false;
    if (!rlx_ptrmap_put(&d->base, owner, *base + (uintptr_t)1))
        return false;
    say_all(d, s, *base, NULL, place, RLX_SAID_ANNOTATION);
    return !rlx_as_var(owner) ||
           rlx_vec_push(MEMORY(d), &d->vars, ((rlx_device_owner){ owner, *base }));
}

static bool base_of_var(rlx_device_propagation *d, const rlx_var *v, uint32_t *base)
{
    return base_of(d, &v->node, v->sinfo, v->place, base);
}

const rlx_sinfo *rlx_device_result_info(rlx_context *ctx, const rlx_function *f)
{
    const rlx_func_sinfo *s = rlx_as_func_sinfo(f->sinfo);
    return s && !s->derive && s->ret ? s->ret : f->ret_sinfo ? f->ret_sinfo : ctx->object;
}

static bool base_of_result(rlx_device_propagation *d, const rlx_function *f, uint32_t *base)
{
    return base_of(d, &f->node, rlx_device_result_info(d->ctx, f), f->place, base);
}

/* ---- edges ---------------------------------------------------------------------------------- */

static bool add_site(rlx_device_propagation *d, rlx_place place)
{
    return rlx_vec_push(MEMORY(d), &d->sites, ((rlx_device_site){ place, false }));
}

/* Edges belong to the newest site. */
static bool join(rlx_device_propagation *d, uint32_t from, uint32_t to, bool one_way)
{
    rlx_device_edge e = { .end = { from, to },
                          .site = (uint32_t)d->sites.len - 1,
                          .one_way = one_way };
    if (d->edges.len >= UINT32_MAX / 4)
        return false;
    return rlx_vec_push(MEMORY(d), &d->edges, e);
}

/* Joins what two descriptions have in common. Depth is bounded, so recursion is. */
static bool join_all(rlx_device_propagation *d, const rlx_sinfo *from, uint32_t from_base,
                     const rlx_sinfo *to, uint32_t to_base, bool one_way)
{
    const rlx_tuple_sinfo *a = rlx_as_tuple_sinfo(from), *b = rlx_as_tuple_sinfo(to);
    if (rlx_is(from, RLX_NODE_TENSOR_SINFO) && rlx_is(to, RLX_NODE_TENSOR_SINFO))
        return join(d, from_base, to_base, one_way);
    if (!a || !b || a->num_fields != b->num_fields || !num_tensors(d, from) ||
        !num_tensors(d, to))
        return true;
    for (size_t i = 0; i < a->num_fields; i++) {
        if (!join_all(d, a->fields[i], from_base, b->fields[i], to_base, one_way))
            return false;
        from_base += (uint32_t)num_tensors(d, a->fields[i]);
        to_base += (uint32_t)num_tensors(d, b->fields[i]);
    }
    return true;
}

/* The point of one use of a variable; its own, unless it is bound to a constant: that is on
 * whatever device it is used. */
static bool point_of_use(rlx_device_propagation *d, const rlx_var *v, uint32_t *base)
{
    if (!rlx_ptrmap_has(&d->constants, v))
        return base_of_var(d, v, base);
    *base = (uint32_t)d->points.len;
    return add_point(d, &v->node) &&
           rlx_vec_push(MEMORY(d), &d->uses, ((rlx_device_owner){ &v->node, *base }));
}

/* Joins a leaf (variable, tuple of leaves) with what describes it elsewhere. */
static bool join_leaf(rlx_device_propagation *d, const rlx_sinfo *s, uint32_t base,
                      const rlx_expr *e, bool one_way, int depth)
{
    const rlx_var *v = rlx_as_var(e);
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_tuple_sinfo *fields = num_tensors(d, s) ? rlx_as_tuple_sinfo(s) : NULL;
    uint32_t at;
    if (v && v->sinfo)
        return point_of_use(d, v, &at) && join_all(d, s, base, v->sinfo, at, one_way);
    if (!t || !fields || t->num_fields != fields->num_fields || !depth)
        return true;
    for (size_t i = 0; i < t->num_fields; i++) {
        if (!join_leaf(d, fields->fields[i], base, t->fields[i], one_way, depth - 1))
            return false;
        base += (uint32_t)num_tensors(d, fields->fields[i]);
    }
    return true;
}

static bool join_value(rlx_device_propagation *d, const rlx_sinfo *s, uint32_t base,
                       const rlx_expr *e)
{
    return join_leaf(d, s, base, e, false, MAX_TUPLE_DEPTH);
}

static bool join_item(rlx_device_propagation *d, const rlx_sinfo *s, uint32_t base,
                      const rlx_tuple_get_item *g)
{
    const rlx_tuple *t = rlx_as_tuple(g->tuple);
    const rlx_var *v = rlx_as_var(g->tuple);
    const rlx_tuple_sinfo *fields = v ? rlx_as_tuple_sinfo(v->sinfo) : NULL;
    uint32_t at;
    if (t && g->index >= 0 && (uint64_t)g->index < t->num_fields)
        return join_value(d, s, base, t->fields[g->index]);
    if (!fields || g->index < 0 || (uint64_t)g->index >= fields->num_fields ||
        !num_tensors(d, v->sinfo))
        return true;
    if (!base_of_var(d, v, &at))
        return false;
    for (int64_t i = 0; i < g->index; i++)
        at += (uint32_t)num_tensors(d, fields->fields[i]);
    return join_all(d, fields->fields[g->index], at, s, base, false);
}

/* ---- calls ---------------------------------------------------------------------------------- */

const rlx_node *rlx_hinted_device(const rlx_module *m, const rlx_call *hint)
{
    const rlx_attr_list *list = rlx_listed_vdevices(m);
    int64_t type = rlx_attr_as_int(rlx_call_attr(hint, "dev_type"), 0),
            id = rlx_attr_as_int(rlx_call_attr(hint, "dev_id"), 0);
    for (size_t i = 0; list && i < list->num_items; i++) {
        const rlx_vdevice *v = rlx_as_vdevice(list->items[i]);
        if (v && rlx_vdevice_type(v) == type && v->id == id)
            return &v->node;
    }
    return NULL;
}

static void report_unlisted(rlx_device_propagation *d, const rlx_call *c)
{
    int64_t type = rlx_attr_as_int(rlx_call_attr(c, "dev_type"), 0);
    rlx_error(d->ctx, RLX_VD03, c->place, "device %s:%lld is not listed in the module",
              rlx_device_type_name(type),
              (long long)rlx_attr_as_int(rlx_call_attr(c, "dev_id"), 0));
    rlx_note(d->ctx, d->module->place, "the list is the entry vdevice of I.module_global_infos");
}

/* The result is where the hint says; an annotation that only repeats where the operand is says
 * nothing. */
static bool say_hinted(rlx_device_propagation *d, const rlx_call *c, const rlx_node *device,
                       const rlx_sinfo *s, uint32_t base)
{
    const rlx_var *v = c->num_args ? rlx_as_var(c->args[0]) : NULL;
    const rlx_tensor_sinfo *operand = v ? rlx_as_tensor_sinfo(v->sinfo) : NULL;
    uint32_t at = base;
    if (num_tensors(d, s) != 1)
        return true;
    const rlx_node *said = d->points.data[base].device;
    if (said && !(operand && operand->vdevice == said)) {
        at = (uint32_t)d->points.len;
        if (!add_point(d, NULL) || !join(d, at, base, false))
            return false;
    }
    d->points.data[at].device = device;
    d->points.data[at].place = c->place;
    d->points.data[at].said = RLX_SAID_HINT;
    return true;
}

static bool hint(rlx_device_propagation *d, const rlx_call *c, const rlx_sinfo *s, uint32_t base)
{
    const rlx_node *device = rlx_hinted_device(d->module, c);
    const rlx_var *v = c->num_args ? rlx_as_var(c->args[0]) : NULL;
    uint32_t at;
    if (!device) {
        report_unlisted(d, c);
        device = &unknowable.node;
    }
    if (!say_hinted(d, c, device, s, base))
        return false;
    if (!v || num_tensors(d, v->sinfo) != 1)
        return true;
    return point_of_use(d, v, &at) &&
           rlx_vec_push(MEMORY(d), &d->hints, ((rlx_device_hint){ at, device }));
}

/* Every tensor of an operand is where the operation is. */
static bool join_operand(rlx_device_propagation *d, uint32_t hub, const rlx_expr *e, int depth)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_var *v = rlx_as_var(e);
    uint32_t at;
    for (size_t i = 0; t && depth && i < t->num_fields; i++)
        if (!join_operand(d, hub, t->fields[i], depth - 1))
            return false;
    size_t n = v ? num_tensors(d, v->sinfo) : 0;
    if (n && !point_of_use(d, v, &at))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!join(d, at + (uint32_t)i, hub, false))
            return false;
    return true;
}

/* Is there a tensor in it of which a device can be known? */
static bool has_tensor(rlx_device_propagation *d, const rlx_expr *e, int depth)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_var *v = rlx_as_var(e);
    for (size_t i = 0; t && depth && i < t->num_fields; i++)
        if (has_tensor(d, t->fields[i], depth - 1))
            return true;
    return v && num_tensors(d, v->sinfo) && !rlx_ptrmap_has(&d->constants, v);
}

/* Joins the points of a call_tir's stated result. */
static bool join_stated(rlx_device_propagation *d, uint32_t hub, const rlx_sinfo *s)
{
    uint32_t base = (uint32_t)d->points.len;
    size_t n = num_tensors(d, s);
    for (size_t i = 0; i < n; i++)
        if (!add_point(d, NULL) || !join(d, base + (uint32_t)i, hub, false))
            return false;
    say_all(d, s, base, NULL, d->sites.data[d->sites.len - 1].place, RLX_SAID_ANNOTATION);
    return true;
}

static bool operation(rlx_device_propagation *d, const rlx_call *c, const rlx_sinfo *s,
                      uint32_t base)
{
    uint32_t hub = (uint32_t)d->points.len;
    if (!add_point(d, &c->node) ||
        !rlx_vec_push(MEMORY(d), &d->operations, ((rlx_device_owner){ &c->node, hub })))
        return false;
    bool good = true;
    for (size_t i = 0; good && i < c->num_args; i++)
        good = join_operand(d, hub, c->args[i], MAX_TUPLE_DEPTH);
    for (size_t i = 0, n = num_tensors(d, s); good && i < n; i++)
        good = join(d, hub, base + (uint32_t)i, false);
    for (size_t i = 0; good && i < c->num_sinfo_args; i++)
        good = c->sinfo_args[i] == s || join_stated(d, hub, c->sinfo_args[i]);
    return good;
}

/* Operators that call what may move tensors. */
static bool is_opaque(const rlx_expr *callee)
{
    switch (rlx_op_id_of(callee)) {
    case RLX_OP_ID_CALL_PURE_PACKED:
    case RLX_OP_ID_CALL_INPLACE_PACKED:
    case RLX_OP_ID_INVOKE_CLOSURE:
    case RLX_OP_ID_INVOKE_PURE_CLOSURE:
    case RLX_OP_ID_CALL_BUILTIN_WITH_CTX: return true;
    default: return false;
    }
}

static bool operator_call(rlx_device_propagation *d, const rlx_call *c, const rlx_sinfo *s,
                          uint32_t base)
{
    if (!rlx_as_op(c->op)->row || is_opaque(c->op))
        return true;
    if (rlx_is_op(c->op, RLX_OP_ID_HINT_ON_DEVICE))
        return hint(d, c, s, base);
    if (rlx_is_op(c->op, RLX_OP_ID_TO_VDEVICE)) {
        say_all(d, s, base, rlx_call_attr(c, "dst_vdevice"), c->place, RLX_SAID_COPY);
        return true;
    }
    return !num_tensors(d, s) || operation(d, c, s, base);
}

/* Parameters and result give their devices to a call of the function, and take none. */
static bool function_call(rlx_device_propagation *d, const rlx_function *f, const rlx_call *c,
                          const rlx_sinfo *s, uint32_t base)
{
    uint32_t at;
    for (size_t i = 0; i < c->num_args && i < f->num_params; i++) {
        const rlx_var *v = rlx_as_var(f->params[i]);
        if (v && (!base_of_var(d, v, &at) ||
                  !join_leaf(d, v->sinfo, at, c->args[i], true, MAX_TUPLE_DEPTH)))
            return false;
    }
    return base_of_result(d, f, &at) &&
           join_all(d, rlx_device_result_info(d->ctx, f), at, s, base, true);
}

/* A call of a function of which only the description is known. */
static bool described_call(rlx_device_propagation *d, const rlx_func_sinfo *f, const rlx_call *c)
{
    for (size_t i = 0; i < c->num_args && i < f->num_params; i++) {
        uint32_t base = (uint32_t)d->points.len;
        for (size_t n = num_tensors(d, f->params[i]); n--;)
            if (!add_point(d, NULL))
                return false;
        say_all(d, f->params[i], base, NULL, c->place, RLX_SAID_ANNOTATION);
        if (!join_leaf(d, f->params[i], base, c->args[i], true, MAX_TUPLE_DEPTH))
            return false;
    }
    return true;
}

/* The function that is called, of whatever kind; NULL: it is not known. */
static const rlx_node *callee_of(const rlx_device_propagation *d, const rlx_call *c)
{
    const rlx_global_var *gv = rlx_as_global_var(c->op);
    const rlx_var *v = rlx_as_var(c->op);
    int64_t i = gv ? rlx_module_index(d->module, gv) : -1;
    return i >= 0 ? d->module->functions[i] : v ? rlx_ptrmap_get(&d->literals, v) : NULL;
}

static const rlx_function *called_function(const rlx_device_propagation *d, const rlx_call *c)
{
    return rlx_as_function(callee_of(d, c));
}

/* Does the function that is called alone decide where its result is, whoever uses it? */
static bool gives(const rlx_device_propagation *d, const rlx_expr *e)
{
    const rlx_call *c = rlx_as_call(e);
    const rlx_op_row *row = rlx_callee_op(e);
    return c && (row ? is_opaque(c->op) : !rlx_as_prim_func(callee_of(d, c)));
}

static bool call(rlx_device_propagation *d, const rlx_call *c, const rlx_sinfo *s, uint32_t base)
{
    const rlx_var *v = rlx_as_var(c->op);
    if (rlx_as_op(c->op))
        return operator_call(d, c, s, base);
    if (called_function(d, c))
        return function_call(d, called_function(d, c), c, s, base);
    if (rlx_as_prim_func(callee_of(d, c)))
        return operation(d, c, s, base);
    const rlx_func_sinfo *f = v ? rlx_as_func_sinfo(v->sinfo) : NULL;
    return !f || f->derive || described_call(d, f, c);
}

/* ---- what inference said -------------------------------------------------------------------- */

/* Struct info was inferred before devices were propagated: what it says of a result because an
 * operand says it too is no saying of its own (behind a hint it is wrong). */
static void unsay_like(rlx_device_propagation *d, const rlx_sinfo *s, uint32_t base,
                       const rlx_sinfo *from)
{
    const rlx_tensor_sinfo *a = rlx_as_tensor_sinfo(s), *b = rlx_as_tensor_sinfo(from);
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s), *fields = rlx_as_tuple_sinfo(from);
    if (a && b && a->vdevice && a->vdevice == b->vdevice)
        d->points.data[base].device = NULL;
    if (!t || !fields || t->num_fields != fields->num_fields || !num_tensors(d, s))
        return;
    for (size_t i = 0; i < t->num_fields; i++) {
        unsay_like(d, t->fields[i], base, fields->fields[i]);
        base += (uint32_t)num_tensors(d, t->fields[i]);
    }
}

static bool names_device(const rlx_sinfo *s, const rlx_node *device, int depth)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    for (size_t i = 0; tuple && depth && i < tuple->num_fields; i++)
        if (names_device(tuple->fields[i], device, depth - 1))
            return true;
    return t && t->vdevice == device;
}

static void unsay_result(rlx_device_propagation *d, const rlx_call *c, const rlx_sinfo *s,
                         uint32_t base)
{
    bool says = is_opaque(c->op) || rlx_is_op(c->op, RLX_OP_ID_TO_VDEVICE);
    for (size_t k = 0, n = says ? 0 : num_tensors(d, s); k < n; k++) {
        rlx_device_point *p = &d->points.data[base + k];
        for (size_t i = 0; p->device && i < c->num_args; i++)
            if (names_device(rlx_leaf_sinfo(d->ctx, NULL, c->args[i]), p->device,
                             MAX_TUPLE_DEPTH))
                p->device = NULL;
    }
}

static void unsay_inferred(rlx_device_propagation *d, const rlx_expr *e, const rlx_sinfo *s,
                           uint32_t base)
{
    const rlx_call *c = rlx_as_call(e);
    const rlx_function *f = c ? called_function(d, c) : NULL;
    if (f)
        unsay_like(d, s, base, rlx_device_result_info(d->ctx, f));
    else if (c && rlx_as_op(c->op))
        unsay_result(d, c, s, base);
    else if (!c && !rlx_as_function(e) && !rlx_as_if_expr(e))
        unsay_like(d, s, base, rlx_leaf_sinfo(d->ctx, NULL, e));
}

/* ---- functions ------------------------------------------------------------------------------ */

/* A value that is described by s. */
static bool value(rlx_device_propagation *d, const rlx_expr *e, const rlx_sinfo *s, uint32_t base)
{
    if (rlx_as_call(e))
        return call(d, rlx_as_call(e), s, base);
    if (rlx_as_tuple_get_item(e))
        return join_item(d, s, base, rlx_as_tuple_get_item(e));
    return join_value(d, s, base, e);
}

static bool binding(rlx_device_propagation *d, const rlx_binding *b)
{
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    const rlx_var *v = rlx_binding_var(b);
    const rlx_expr *e = rlx_binding_value(b);
    const rlx_tensor_sinfo *t = v ? rlx_as_tensor_sinfo(v->sinfo) : NULL;
    rlx_place place = rlx_place_of(e) ? rlx_place_of(e) : rlx_place_of(b);
    uint32_t base = 0, target;
    if (!add_site(d, place) || (v && !base_of_var(d, v, &base)))
        return false;
    if (cast)
        return base_of(d, b, cast->sinfo, rlx_place_of(b), &target) &&
               (!v || join_all(d, cast->sinfo, target, v->sinfo, base, false)) &&
               value(d, e, cast->sinfo, target);
    if (t && is_open(t->vdevice) && rlx_as_constant(e))
        return rlx_ptrmap_put(&d->constants, v, (uintptr_t)e);
    if (v)
        unsay_inferred(d, e, v->sinfo, base);
    if (v && gives(d, e) &&
        !rlx_ptrmap_put(&d->given, v, (uintptr_t)called_function(d, rlx_as_call(e))))
        return false;
    return !v || value(d, e, v->sinfo, base);
}

static bool begin_function(rlx_device_propagation *d, const rlx_function *f)
{
    const rlx_sinfo *result = rlx_device_result_info(d->ctx, f);
    rlx_place place = f->num_ret_places ? f->ret_places[0] : f->place;
    uint32_t at;
    for (size_t i = 0; i < f->num_params; i++)
        if (rlx_as_var(f->params[i]) && !base_of_var(d, rlx_as_var(f->params[i]), &at))
            return false;
    if (!add_site(d, place) || !base_of_result(d, f, &at))
        return false;
    if (!f->ret_stated || num_tensors(d, f->ret_sinfo) != num_tensors(d, result))
        return true;
    say_all(d, f->ret_sinfo, at, NULL, place, RLX_SAID_ANNOTATION);
    return true;
}

static bool end_function(rlx_device_propagation *d, const rlx_function *f, const rlx_expr *result)
{
    rlx_place place = rlx_place_of(result);
    const rlx_sinfo *s = rlx_device_result_info(d->ctx, f);
    uint32_t at;
    if (!add_site(d, place ? place : f->place) || !base_of_result(d, f, &at))
        return false;
    if (!f->ret_stated)
        unsay_like(d, s, at, rlx_leaf_sinfo(d->ctx, NULL, result));
    return join_value(d, s, at, result);
}

static bool enter_literal(rlx_device_propagation *d, const rlx_binding *holder)
{
    const rlx_function *f = rlx_as_function(rlx_binding_value(holder));
    const rlx_var *v = rlx_binding_var(holder);
    uint32_t at;
    if (!f || !v)
        return true;
    return rlx_ptrmap_put(&d->literals, v, (uintptr_t)f) && begin_function(d, f) &&
           base_of_result(d, f, &at) &&
           rlx_vec_push(MEMORY(d), &d->locals, ((rlx_device_owner){ &v->node, at }));
}

static bool leave(rlx_device_propagation *d, const rlx_binding *holder, const rlx_expr *result)
{
    const rlx_function *f = rlx_as_function(rlx_binding_value(holder));
    const rlx_var *v = rlx_binding_var(holder);
    uint32_t at;
    if (f)
        return end_function(d, f, result);
    rlx_place place = rlx_place_of(result);
    if (!v)
        return true;
    if (!add_site(d, place ? place : rlx_place_of(holder)) || !base_of_var(d, v, &at))
        return false;
    unsay_like(d, v->sinfo, at, rlx_leaf_sinfo(d->ctx, NULL, result));
    return join_value(d, v->sinfo, at, result);
}

static bool look_at_function(rlx_device_propagation *d, const rlx_function *f)
{
    rlx_flow w;
    bool good = rlx_flow_build(&w, d->ctx, f) && begin_function(d, f);
    for (size_t i = 0; good && i < w.events.len; i++) {
        const rlx_event *e = &w.events.data[i];
        good = e->kind == RLX_EVENT_BIND    ? binding(d, e->binding)
               : e->kind == RLX_EVENT_ENTER ? enter_literal(d, e->binding)
                                            : leave(d, e->binding, w.seqs.data[e->seq].result);
    }
    good = good && end_function(d, f, w.seqs.data[0].result);
    rlx_flow_free(&w, d->ctx);
    return good;
}

/* ---- contradictions ------------------------------------------------------------------------- */

static const char *owner_name(rlx_device_propagation *d, uint32_t at)
{
    const rlx_node *owner = d->points.data[at].owner;
    const rlx_call *c = rlx_as_call(owner);
    const rlx_op_row *row = c ? rlx_callee_op(owner) : NULL;
    if (row)
        return row->short_name;
    if (rlx_as_function(owner))
        return "the result";
    return owner ? rlx_show(d->ctx, c ? c->op : owner) : "what is stated";
}

static uint32_t reason_of(const rlx_device_propagation *d, uint32_t at)
{
    const rlx_device_edge *e = &d->edges.data[d->points.data[at].cause - 1];
    return e->end[e->end[0] == at];
}

/* One step back, over calls of operators. */
static uint32_t tell_reason(rlx_device_propagation *d, uint32_t at)
{
    const rlx_device_point *p = &d->points.data[at];
    rlx_place place = d->sites.data[d->edges.data[p->cause - 1].site].place;
    uint32_t from = reason_of(d, at), through = from;
    if (rlx_as_call(d->points.data[from].owner) && d->points.data[from].cause)
        from = reason_of(d, from);
    if (rlx_as_call(p->owner))
        return from;
    if (from == through)
        rlx_note(d->ctx, place, "%s is on the device of %s", owner_name(d, at),
                 owner_name(d, from));
    else
        rlx_note(d->ctx, place, "%s is on the device of %s: both take part in %s",
                 owner_name(d, at), owner_name(d, from), owner_name(d, through));
    return from;
}

/* Why this point is where it is: back to where that is said. */
static void tell_reasons(rlx_device_propagation *d, uint32_t at)
{
    static const char *const said[] = {
        [RLX_SAID_ANNOTATION] = "by its annotation",
        [RLX_SAID_COPY] = "by R.to_vdevice",
        [RLX_SAID_HINT] = "by R.hint_on_device",
        [RLX_SAID_OPERAND] = "as operand of R.hint_on_device",
        [RLX_SAID_DEFAULT] = "as the first device of the module",
    };
    for (int i = 0; d->points.data[at].cause && i < MAX_CHAIN; i++)
        at = tell_reason(d, at);
    const rlx_device_point *p = &d->points.data[at];
    if (!p->cause)
        rlx_note(d->ctx, p->place, "%s is on %s %s", owner_name(d, at),
                 rlx_show_vdevice(d->ctx, p->device), said[p->said]);
}

static void report_conflict(rlx_device_propagation *d, const rlx_device_edge *e)
{
    rlx_device_site *site = &d->sites.data[e->site];
    uint32_t x = e->end[0], y = e->end[1];
    if (site->reported || d->points.data[x].device == &unknowable.node ||
        d->points.data[y].device == &unknowable.node)
        return;
    if (e->one_way || !rlx_as_var(d->points.data[x].owner)) {
        x = e->end[1];
        y = e->end[0];
    }
    site->reported = true;
    rlx_error(d->ctx, RLX_VD01, site->place,
              "%s is on %s here but on %s there; insert R.to_vdevice", owner_name(d, x),
              rlx_show_vdevice(d->ctx, d->points.data[x].device),
              rlx_show_vdevice(d->ctx, d->points.data[y].device));
    tell_reasons(d, x);
    tell_reasons(d, y);
}

/* ---- spreading ------------------------------------------------------------------------------ */

/* Edges of each point in order: the last one first, so that lists come out so. */
static void link_edges(rlx_device_propagation *d)
{
    for (size_t i = d->edges.len; i--;)
        for (uint32_t side = 2; side--;) {
            rlx_device_edge *e = &d->edges.data[i];
            rlx_device_point *p = &d->points.data[e->end[side]];
            e->next[side] = p->first;
            p->first = (uint32_t)(2 * i + side + 1);
        }
}

static bool cross(rlx_device_propagation *d, uint32_t edge, uint32_t side)
{
    const rlx_device_edge *e = &d->edges.data[edge];
    const rlx_device_point *from = &d->points.data[e->end[side]];
    rlx_device_point *to = &d->points.data[e->end[!side]];
    if (e->one_way && side == 1)
        return true;
    if (to->device) {
        if (to->device != from->device)
            report_conflict(d, e);
        return true;
    }
    to->device = from->device;
    to->cause = edge + 1;
    return rlx_vec_push(MEMORY(d), &d->queue, e->end[!side]);
}

/* From the points in the queue on. */
static bool propagate(rlx_device_propagation *d)
{
    for (size_t i = 0; i < d->queue.len; i++)
        for (uint32_t at = d->points.data[d->queue.data[i]].first; at;
             at = d->edges.data[(at - 1) / 2].next[(at - 1) % 2])
            if (!cross(d, (at - 1) / 2, (at - 1) % 2))
                return false;
    d->queue.len = 0;
    return true;
}

static bool spread_from(rlx_device_propagation *d, uint32_t at, const rlx_node *device,
                        rlx_place place, enum rlx_device_said said)
{
    rlx_device_point *p = &d->points.data[at];
    if (p->device)
        return true;
    p->device = device;
    p->place = place;
    p->said = (uint8_t)said;
    return rlx_vec_push(MEMORY(d), &d->queue, at) && propagate(d);
}

static bool spread_sayings(rlx_device_propagation *d)
{
    for (size_t i = 0; i < d->points.len; i++)
        if (d->points.data[i].device && !rlx_vec_push(MEMORY(d), &d->queue, (uint32_t)i))
            return false;
    return propagate(d);
}

/* Operands of hints are where the hints want them, if nothing else is known. */
static bool spread_hints(rlx_device_propagation *d)
{
    for (size_t i = 0; i < d->hints.len; i++) {
        const rlx_device_hint *h = &d->hints.data[i];
        const rlx_var *v = rlx_as_var(d->points.data[h->operand].owner);
        if (!spread_from(d, h->operand, h->device, v ? v->place : RLX_NO_PLACE,
                         RLX_SAID_OPERAND))
            return false;
    }
    return true;
}

static void report_unknown(rlx_device_propagation *d, const rlx_call *c, const rlx_node *device)
{
    size_t i = 0;
    while (i < c->num_args && !has_tensor(d, c->args[i], MAX_TUPLE_DEPTH))
        i++;
    if (i == c->num_args) /* constants are everywhere */
        return;
    const rlx_op_row *row = rlx_callee_op(&c->node);
    rlx_report(d->ctx, RLX_VD02, device ? RLX_SEVERITY_WARNING : RLX_SEVERITY_ERROR, c->place,
               "device of argument %zu of %s is unknown", i + 1,
               row ? row->short_name : rlx_show(d->ctx, c->op));
    if (device)
        rlx_note(d->ctx, RLX_NO_PLACE, "%s, the first device of the module, is taken",
                 rlx_show_vdevice(d->ctx, device));
    else
        rlx_note(d->ctx, RLX_NO_PLACE, "the first device of the module has no target");
}

/* Calls of which nothing was said; what depends on one of them is not reported again. */
static bool spread_default(rlx_device_propagation *d)
{
    const rlx_node *first = d->listed->num_items ? d->listed->items[0] : NULL;
    const rlx_node *device = is_open(first) ? NULL : first;
    for (size_t i = 0; i < d->operations.len; i++) {
        const rlx_call *c = (const rlx_call *)d->operations.data[i].node;
        uint32_t hub = d->operations.data[i].base;
        if (d->points.data[hub].device)
            continue;
        report_unknown(d, c, device);
        if (!spread_from(d, hub, device ? device : &unknowable.node, c->place,
                         RLX_SAID_DEFAULT))
            return false;
    }
    return true;
}

/* A constant that all use on one device is there; else it is written at each use. */
static bool settle_constants(rlx_device_propagation *d)
{
    for (size_t i = 0; i < d->uses.len; i++) {
        const rlx_var *v = rlx_as_var(d->uses.data[i].node);
        const rlx_node *device = d->points.data[d->uses.data[i].base].device;
        uint32_t base;
        if (!base_of_var(d, v, &base))
            return false;
        rlx_device_point *p = &d->points.data[base];
        if (!device || p->device == device)
            continue;
        if (!p->device)
            p->device = device;
        else if (!rlx_ptrmap_put(&d->scattered, v, (uintptr_t)rlx_ptrmap_get(&d->constants, v)))
            return false;
    }
    return true;
}

bool rlx_device_propagation_find(rlx_device_propagation *d, rlx_context *ctx, const rlx_module *m)
{
    *d = (rlx_device_propagation){ .ctx = ctx, .module = m, .listed = rlx_listed_vdevices(m) };
    rlx_ptrmap_init(&d->base, &ctx->memory);
    rlx_ptrmap_init(&d->sizes, &ctx->memory);
    rlx_ptrmap_init(&d->literals, &ctx->memory);
    rlx_ptrmap_init(&d->constants, &ctx->memory);
    rlx_ptrmap_init(&d->scattered, &ctx->memory);
    rlx_ptrmap_init(&d->given, &ctx->memory);
    for (size_t i = 0; i < m->num_functions; i++)
        if (rlx_as_function(m->functions[i]) &&
            !look_at_function(d, rlx_as_function(m->functions[i])))
            return false;
    link_edges(d);
    return !ctx->diags.out_of_memory && spread_sayings(d) && spread_hints(d) &&
           spread_default(d) && settle_constants(d);
}

void rlx_device_propagation_free(rlx_device_propagation *d)
{
    rlx_memory *m = MEMORY(d);
    rlx_vec_free(m, &d->points);
    rlx_vec_free(m, &d->edges);
    rlx_vec_free(m, &d->sites);
    rlx_vec_free(m, &d->queue);
    rlx_vec_free(m, &d->vars);
    rlx_vec_free(m, &d->locals);
    rlx_vec_free(m, &d->operations);
    rlx_vec_free(m, &d->uses);
    rlx_vec_free(m, &d->hints);
    rlx_ptrmap_free(&d->base);
    rlx_ptrmap_free(&d->sizes);
    rlx_ptrmap_free(&d->literals);
    rlx_ptrmap_free(&d->constants);
    rlx_ptrmap_free(&d->scattered);
    rlx_ptrmap_free(&d->given);
}

/* ---- answers -------------------------------------------------------------------------------- */

static const rlx_sinfo *with_devices(rlx_device_propagation *d, const rlx_sinfo *s, uint32_t base)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_tuple_sinfo *tuple = num_tensors(d, s) ? rlx_as_tuple_sinfo(s) : NULL;
    if (t) {
        const rlx_node *device = d->points.data[base].device;
        return is_open(device) || device == t->vdevice
                   ? s
                   : rlx_tensor_info(d->ctx, t->shape, t->dtype, t->ndim, device);
    }
    if (!tuple)
        return s;
    size_t bytes = tuple->num_fields * sizeof *tuple->fields;
    const rlx_sinfo **fields = rlx_mem_alloc(MEMORY(d), bytes), *out = NULL;
    bool good = fields;
    for (size_t i = 0; good && i < tuple->num_fields; i++) {
        good = (fields[i] = with_devices(d, tuple->fields[i], base)) != NULL;
        base += (uint32_t)num_tensors(d, tuple->fields[i]);
    }
    if (good)
        out = rlx_tuple_info(d->ctx, fields, tuple->num_fields);
    rlx_mem_free(MEMORY(d), fields, bytes);
    return out;
}

const rlx_sinfo *rlx_device_propagation_sinfo(rlx_device_propagation *d, const rlx_node *owner,
                                              const rlx_sinfo *like, const rlx_sinfo *s)
{
    uintptr_t base;
    if (!s || !rlx_ptrmap_find(&d->base, owner, &base) ||
        num_tensors(d, like) != num_tensors(d, s))
        return s;
    return with_devices(d, s, (uint32_t)base - 1);
}

bool rlx_device_propagation_assumes(rlx_device_propagation *d, const rlx_var *v)
{
    uintptr_t given;
    if (!v || !v->sinfo || !rlx_ptrmap_find(&d->given, v, &given))
        return false;
    const rlx_function *f = (const rlx_function *)given;
    const rlx_sinfo *said =
        f ? rlx_device_propagation_sinfo(d, &f->node, rlx_device_result_info(d->ctx, f), v->sinfo)
          : v->sinfo;
    return rlx_device_propagation_sinfo(d, &v->node, v->sinfo, v->sinfo) != said;
}

bool rlx_device_propagation_is_on(rlx_device_propagation *d, const rlx_expr *operand,
                                  const rlx_node *device)
{
    const rlx_var *v = rlx_as_var(operand);
    const rlx_vdevice *want = rlx_as_vdevice(device);
    uintptr_t base;
    if (!v || rlx_ptrmap_has(&d->constants, v))
        return true;
    if (!rlx_ptrmap_find(&d->base, v, &base) || num_tensors(d, v->sinfo) != 1)
        return false;
    const rlx_vdevice *have = rlx_as_vdevice(d->points.data[base - 1].device);
    return have && rlx_vdevice_type(have) == rlx_vdevice_type(want) && have->id == want->id;
}
