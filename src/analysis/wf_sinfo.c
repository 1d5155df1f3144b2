/* wf_sinfo.c: annotations and integer expressions: dtypes, ranks, devices, and shape variables
 * in scope. */
#include "analysis/wf_int.h"

#define MEMORY(w) (&(w)->ctx->memory)
#define MAX_NESTING 1000 /* WX10 */

/* ---- integer expressions -------------------------------------------------------------------- */

/* Sizes and scalars hold arithmetic only: no memory, no text, no lanes, no calls with effects. */
static bool is_arithmetic(const rlx_prim *p)
{
    static const char *const intrinsics[] = { "if_then_else", "shift_left", "shift_right",
                                              "bitwise_and",  "bitwise_or", "bitwise_xor",
                                              "bitwise_not",  "abs",        "likely",
                                              "max_value",    "min_value",  "ceildiv" };
    const rlx_prim_call *call = rlx_as_prim_call(p);
    if (!call)
        return (p->kind >= RLX_NODE_PRIM_VAR && p->kind <= RLX_NODE_FLOAT_IMM) ||
               rlx_as_binary(p) || rlx_as_unary(p) || rlx_as_select(p);
    for (size_t i = 0; call->op && i < RLX_COUNT(intrinsics); i++)
        if (rlx_slice_is(rlx_string_slice(call->op), intrinsics[i]))
            return true;
    return false;
}

static bool push_prim(rlx_wf *w, const rlx_prim *p)
{
    return rlx_vec_push(MEMORY(w), &w->pending, p);
}

/* Variables in scope, kinds allowed. Shared parts are looked at once. */
static void check_prim(rlx_wf *w, const rlx_prim *p, rlx_wf_spot *spot)
{
    size_t found = w->findings.len;
    w->pending.len = 0;
    push_prim(w, p);
    while (w->pending.len && !w->ctx->diags.out_of_memory) {
        const rlx_prim *n = rlx_vec_pop(&w->pending);
        if (n->kind == RLX_NODE_PRIM_VAR) {
            rlx_wf_use_size(w, (const rlx_prim_var *)n, spot, n != p);
            continue;
        }
        if (n->kind == RLX_NODE_INT_IMM || rlx_wf_known_good(w, n))
            continue;
        if (!is_arithmetic(n)) {
            rlx_wf_found(w, RLX_WF18, RLX_WF_KIND, rlx_wf_place(spot), n);
            continue;
        }
        rlx_wf_remember(w, n);
        for (size_t i = rlx_child_count(n); i-- > 0;)
            if (rlx_child(n, i) && rlx_family_of(rlx_child(n, i)) == RLX_FAMILY_PRIM)
                push_prim(w, rlx_child(n, i));
    }
    if (w->findings.len > found)
        rlx_wf_new_epoch(w); /* what was remembered on the way holds violations */
}

void rlx_wf_dims(rlx_wf *w, const rlx_prim *const *dims, size_t count, rlx_wf_spot *spot)
{
    for (size_t i = 0; i < count; i++, spot->part++) {
        const rlx_prim *p = dims[i];
        rlx_dtype t = rlx_prim_dtype(p);
        if (t != RELAX_INT64) {
            rlx_finding *f = rlx_wf_found(w, RLX_WX06, RLX_WF_PLAIN, rlx_wf_place(spot), p);
            if (f)
                f->n = t;
        } else if (p->kind == RLX_NODE_PRIM_VAR) {
            rlx_wf_use_size(w, (const rlx_prim_var *)p, spot, false);
        } else if (p->kind != RLX_NODE_INT_IMM) {
            check_prim(w, p, spot);
        }
    }
}

void rlx_wf_prim_value(rlx_wf *w, const rlx_prim *p, rlx_wf_spot *spot)
{
    rlx_dtype t = rlx_prim_dtype(p);
    if (rlx_dtype_lanes(t) != 1) {
        rlx_finding *f = rlx_wf_found(w, RLX_WF18, RLX_WF_LANES, rlx_wf_place(spot), p);
        if (f)
            f->n = t;
    } else if (p->kind != RLX_NODE_INT_IMM && p->kind != RLX_NODE_FLOAT_IMM) {
        size_t found = w->findings.len;
        check_prim(w, p, spot);
        if (w->notes_scalars && spot->role == RLX_WF_IN_EXPR && w->findings.len == found)
            rlx_wf_found(w, RLX_WF18, RLX_WF_COMPUTED, rlx_wf_place(spot), p);
    }
}

/* ---- dtypes and devices --------------------------------------------------------------------- */

static bool width_is_legal(rlx_dtype t)
{
    int code = rlx_dtype_code(t), bits = rlx_dtype_bits(t);
    bool integer = code == rlx_dtype_code(RELAX_INT64) || code == rlx_dtype_code(RELAX_UINT8);
    if (integer)
        return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
    if (code == rlx_dtype_code(RELAX_FLOAT32)) /* 8: of no stated format */
        return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    return rlx_dtype_is_float(t); /* bfloat16, float8: extensions */
}

/* Several elements of less than a byte that fill whole bytes together: int4x8. */
static bool is_packed(rlx_dtype t)
{
    int bits = rlx_dtype_bits(t), lanes = rlx_dtype_lanes(t);
    return lanes > 1 && bits < 8 && bits * lanes % 8 == 0 && bits * lanes <= 64;
}

static enum rlx_wf_detail judge_dtype(rlx_dtype t)
{
    return rlx_dtype_code(t) == rlx_dtype_code(RELAX_HANDLE) ? RLX_WF_KIND
           : rlx_dtype_lanes(t) != 1 && !is_packed(t)        ? RLX_WF_LANES
           : width_is_legal(t)                               ? RLX_WF_PLAIN
                                                             : RLX_WF_WIDTH;
}

bool rlx_dtype_is_legal(rlx_dtype t) { return judge_dtype(t) == RLX_WF_PLAIN; }

static void check_dtype(rlx_wf *w, rlx_dtype t, rlx_place place)
{
    enum rlx_wf_detail detail = judge_dtype(t);
    rlx_finding *f = t != RELAX_VOID && detail != RLX_WF_PLAIN
                         ? rlx_wf_found(w, RLX_WF20, detail, place, NULL)
                         : NULL;
    if (f)
        f->n = t;
}

void rlx_wf_device(rlx_wf *w, const rlx_node *vdevice, rlx_place place)
{
    const rlx_attr_list *list = rlx_listed_vdevices(w->module);
    (void)rlx_device_table_fill(&w->devices, list);
    if (rlx_device_number(&w->devices, vdevice) >= 0)
        return;
    rlx_finding *f = rlx_wf_found(w, RLX_WF24, RLX_WF_PLAIN, place, vdevice);
    if (f)
        f->n = list != NULL;
}

/* ---- struct info ---------------------------------------------------------------------------- */

static void rank_differs(rlx_wf *w, const rlx_wf_spot *spot, uint16_t code, int64_t says,
                         size_t gives)
{
    bool variable = spot->role == RLX_WF_IN_VAR || spot->role == RLX_WF_IN_PARAM;
    rlx_finding *f = rlx_wf_found(w, variable ? RLX_WF10 : (enum rlx_code_id)code, RLX_WF_RANK,
                                  rlx_wf_place(spot), spot->owner);
    if (f) {
        f->n = says;
        f->k = (int64_t)gives;
    }
}

static void check_shape_var(rlx_wf *w, const rlx_var *v, const rlx_tensor_sinfo *t,
                            rlx_wf_spot *spot)
{
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(v->sinfo);
    if (!rlx_wf_var_is_open(w, v)) {
        rlx_wf_found(w, RLX_WF14, RLX_WF_VARIABLE, rlx_wf_place(spot), &v->node);
    } else if (!s || (s->ndim >= 0 && t->ndim >= 0 && s->ndim != t->ndim)) {
        rlx_finding *f = rlx_wf_found(w, RLX_TY14, RLX_WF_PLAIN, rlx_wf_place(spot), &v->node);
        if (f)
            f->n = t->ndim;
    }
    spot->part++;
}

static void check_tensor(rlx_wf *w, const rlx_tensor_sinfo *t, rlx_wf_spot *spot)
{
    const rlx_shape_expr *list = rlx_as_shape_expr(t->shape);
    rlx_wf_spot whole = *spot;
    spot->part++;
    check_dtype(w, t->dtype, rlx_wf_place(&whole));
    if (t->vdevice && !rlx_is(t->vdevice, RLX_NODE_SHARDING))
        rlx_wf_device(w, t->vdevice, rlx_wf_place(&whole));
    if (list && t->ndim != (int64_t)list->num_values)
        rank_differs(w, &whole, RLX_WF14, t->ndim, list->num_values);
    if (list)
        rlx_wf_dims(w, list->values, list->num_values, spot);
    else if (rlx_as_var(t->shape))
        check_shape_var(w, rlx_as_var(t->shape), t, spot);
    else if (t->shape)
        rlx_wf_found(w, RLX_WF14, RLX_WF_FORM, rlx_wf_place(&whole), t->shape);
}

static void check_prim_info(rlx_wf *w, const rlx_prim_sinfo *s, rlx_wf_spot *spot)
{
    rlx_place place = rlx_wf_place(spot);
    rlx_finding *f = NULL;
    spot->part++;
    if (s->dtype == RELAX_VOID || rlx_dtype_code(s->dtype) == rlx_dtype_code(RELAX_HANDLE))
        f = rlx_wf_found(w, RLX_WF19, RLX_WF_PLAIN, place, NULL);
    else
        check_dtype(w, s->dtype, place);
    if (f)
        f->n = s->dtype;
    if (!s->value)
        return;
    if (!f && rlx_prim_dtype(s->value) != s->dtype &&
        (f = rlx_wf_found(w, RLX_WF22, RLX_WF_PLAIN, place, NULL))) {
        f->n = rlx_prim_dtype(s->value);
        f->k = s->dtype;
    }
    rlx_wf_prim_value(w, s->value, spot);
    spot->part++;
}

static void check_shape_info(rlx_wf *w, const rlx_shape_sinfo *s, rlx_wf_spot *spot)
{
    if (s->has_values && s->ndim != (int64_t)s->num_values)
        rank_differs(w, spot, RLX_WF15, s->ndim, s->num_values);
    spot->part++;
    rlx_wf_dims(w, s->values, s->num_values, spot);
}

static void open_binder(rlx_wf *w, const rlx_prim_var *v)
{
    size_t at = rlx_wf_size_index(w, v);
    if (at == SIZE_MAX || w->sizes.data[at].state == RLX_WF_OPEN)
        return;
    w->sizes.data[at].state = RLX_WF_OPEN;
    (void)rlx_vec_push(MEMORY(w), &w->binders, (uint32_t)at);
}

static void open_position(void *user, const rlx_prim *p, bool is_size)
{
    if (rlx_position_var(p))
        open_binder(user, rlx_position_var(p));
}

static void push_part(rlx_wf *w, const rlx_sinfo *s, uint32_t depth, uint32_t binders)
{
    rlx_wf_part part = { s, depth, binders, w->epoch };
    (void)rlx_vec_push(MEMORY(w), &w->parts, part);
}

/* Binders of a description are in scope within it: its own, and what stands alone in its
 * parameters. */
static void enter_func(rlx_wf *w, const rlx_func_sinfo *s, uint32_t depth, rlx_wf_spot *spot)
{
    uint32_t mark = (uint32_t)w->binders.len;
    if (s->derive != RLX_DERIVE_NONE && s->num_params)
        rlx_wf_found(w, RLX_WF17, RLX_WF_PLAIN, rlx_wf_place(spot), NULL);
    if (s->derive == RLX_DERIVE_NAMED &&
        !(s->derive_name && (rlx_derive_operator(rlx_string_slice(s->derive_name)) ||
                             rlx_extension_derive_find(w->ctx, rlx_string_slice(s->derive_name)))))
        rlx_wf_found(w, RLX_WF17, RLX_WF_FORM, rlx_wf_place(spot), &s->node);
    spot->part++;
    for (size_t i = 0; i < s->num_binders; i++)
        if (rlx_as_prim_var(s->binders[i]))
            open_binder(w, (const rlx_prim_var *)s->binders[i]);
    for (size_t i = 0; i < s->num_params; i++)
        (void)rlx_each_position(MEMORY(w), s->params[i], open_position, w);
    push_part(w, NULL, depth, mark);
    rlx_wf_new_epoch(w);
    if (s->ret)
        push_part(w, s->ret, depth + 1, 0);
    for (size_t i = s->num_params; i-- > 0;)
        push_part(w, s->params[i], depth + 1, 0);
}

/* Struct info that mentions the binders of a function description is in order inside of it
 * only. */
static void leave_func(rlx_wf *w, uint32_t mark, uintptr_t epoch)
{
    while (w->binders.len > mark)
        w->sizes.data[rlx_vec_pop(&w->binders)].state = RLX_WF_SEEN;
    w->epoch = epoch;
}

/* Operands of a kind of the host use variables and bind none; those that are no struct info
 * share the place of the whole. */
static void check_host(rlx_wf *w, const rlx_extension_sinfo *s, uint32_t depth, rlx_wf_spot *spot)
{
    rlx_wf_spot whole = *spot;
    spot->part++;
    for (size_t i = 0; i < s->num_operands; i++) {
        const rlx_node *n = s->operands[i];
        const rlx_shape_expr *shape = rlx_as_shape_expr(n);
        rlx_wf_spot here = whole;
        if (rlx_family_of(n) == RLX_FAMILY_PRIM)
            rlx_wf_dims(w, &n, 1, &here);
        else if (shape)
            for (size_t k = 0; k < shape->num_values; k++, here = whole)
                rlx_wf_dims(w, &shape->values[k], 1, &here);
        else if (rlx_as_prim_value(n))
            rlx_wf_prim_value(w, rlx_as_prim_value(n)->value, &here);
        else if (rlx_as_var(n) && !rlx_wf_var_is_open(w, rlx_as_var(n)))
            rlx_wf_found(w, RLX_WF14, RLX_WF_VARIABLE, rlx_wf_place(&whole), n);
    }
    for (size_t i = s->num_operands; i-- > 0;)
        if (rlx_family_of(s->operands[i]) == RLX_FAMILY_SINFO)
            push_part(w, s->operands[i], depth + 1, 0);
}

static void check_part(rlx_wf *w, const rlx_sinfo *s, uint32_t depth, rlx_wf_spot *spot)
{
    spot->kind = s->kind;
    /* Shared parts once; where text gave places, all of them, as they are counted. */
    bool nests = s->kind == RLX_NODE_TUPLE_SINFO || s->kind == RLX_NODE_FUNC_SINFO ||
                 s->kind == RLX_NODE_EXTENSION_SINFO;
    if (!spot->num_places && nests) {
        if (rlx_wf_known_good(w, s))
            return;
        rlx_wf_remember(w, s);
    }
    switch (s->kind) {
    case RLX_NODE_TENSOR_SINFO: check_tensor(w, (const rlx_tensor_sinfo *)s, spot); break;
    case RLX_NODE_SHAPE_SINFO: check_shape_info(w, (const rlx_shape_sinfo *)s, spot); break;
    case RLX_NODE_PRIM_SINFO: check_prim_info(w, (const rlx_prim_sinfo *)s, spot); break;
    case RLX_NODE_FUNC_SINFO: enter_func(w, (const rlx_func_sinfo *)s, depth, spot); break;
    case RLX_NODE_TUPLE_SINFO:
        spot->part++;
        for (size_t i = ((const rlx_tuple_sinfo *)s)->num_fields; i-- > 0;)
            push_part(w, ((const rlx_tuple_sinfo *)s)->fields[i], depth + 1, 0);
        break;
    case RLX_NODE_EXTENSION_SINFO:
        check_host(w, (const rlx_extension_sinfo *)s, depth, spot);
        break;
    default: spot->part++;
    }
}

void rlx_wf_sinfo(rlx_wf *w, const rlx_sinfo *s, rlx_wf_spot spot)
{
    size_t found = w->findings.len;
    if (!s || (s == w->last_good && w->epoch == w->last_good_epoch))
        return;
    w->last_good = s;
    w->last_good_epoch = w->epoch;
    if (rlx_wf_known_good(w, s))
        return;
    w->parts.len = 0;
    push_part(w, s, 0, 0);
    while (w->parts.len && !w->ctx->diags.out_of_memory) {
        rlx_wf_part part = rlx_vec_pop(&w->parts);
        if (!part.s)
            leave_func(w, part.binders, part.epoch);
        else if (part.depth < MAX_NESTING)
            check_part(w, part.s, part.depth, &spot);
        else
            rlx_wf_found(w, RLX_WX10, RLX_WF_PLAIN, spot.place, NULL);
    }
    if (w->findings.len == found)
        rlx_wf_remember(w, s);
    else
        rlx_wf_new_epoch(w); /* so it is not the last good one either */
}

/* ---- binding positions ---------------------------------------------------------------------- */

typedef struct binding { rlx_wf *w; rlx_place place; } binding;

static void bind_position(void *user, const rlx_prim *p, bool is_size)
{
    binding *b = user;
    if (rlx_position_var(p))
        rlx_wf_bind_size(b->w, rlx_position_var(p), b->place);
}

void rlx_wf_bind_sinfo(rlx_wf *w, const rlx_sinfo *s, rlx_place place)
{
    binding b = { w, place };
    if (s && s->flags & RLX_FLAG_HAS_VARS)
        (void)rlx_each_position(MEMORY(w), s, bind_position, &b);
}
