/* print_sinfo.c: struct info as annotations. */
#include "script/print_int.h"

/* "(" or ", " before the next argument. */
static void next(rlx_printer *p, bool *any)
{
    rlx_buf_z(p->out, *any ? ", " : "(");
    *any = true;
}

static void keyword_dtype(rlx_printer *p, rlx_dtype t, bool *any)
{
    next(p, any);
    rlx_put(p, "dtype=");
    rlx_put_dtype(p, t);
}

/* R.DTensor((8, 8), "float32", "mesh[0]", "S[0], R"): by position, until something is missing. */
static void distributed_rest(rlx_printer *p, const rlx_tensor_sinfo *t, bool any)
{
    const rlx_sharding *lies = rlx_as_sharding(t->vdevice);
    bool named = !any, untyped = rlx_dtype_is_void(t->dtype);
    if (!untyped) {
        next(p, &any);
        rlx_buf_z(p->out, named ? "dtype=" : "");
        rlx_put_dtype(p, t->dtype);
    }
    named |= untyped;
    next(p, &any);
    rlx_buf_z(p->out, named ? "device_mesh=" : "");
    rlx_print_mesh(p, lies->mesh);
    rlx_buf_z(p->out, named ? ", placement=\"" : ", \"");
    rlx_put_placement(p->out, lies);
    rlx_put(p, "\"");
    if (!t->shape && t->ndim >= 0) {
        rlx_put(p, ", ndim=");
        rlx_buf_i64(p->out, t->ndim);
    }
    rlx_put(p, ")");
}

/* After the shape: dtype, ndim, vdevice and the closing bracket. */
static void tensor_rest(rlx_printer *p, const rlx_tensor_sinfo *t, bool any)
{
    if (RLX_UNLIKELY(rlx_as_sharding(t->vdevice))) {
        distributed_rest(p, t, any);
        return;
    }
    if (!rlx_dtype_is_void(t->dtype))
        keyword_dtype(p, t->dtype, &any);
    if (!t->shape && t->ndim >= 0) {
        next(p, &any);
        rlx_put(p, "ndim=");
        rlx_buf_i64(p->out, t->ndim);
    }
    if (t->vdevice) {
        next(p, &any);
        rlx_put(p, "vdevice=\"");
        rlx_put_vdevice(p, t->vdevice);
        rlx_put(p, "\"");
    }
    if (any)
        rlx_put(p, ")");
}

/* Literal and variable dimensions, put at once. False: nothing put. */
static bool plain_dims(const rlx_printer *p, const rlx_shape_expr *s)
{
    if (p->signature && (s->node.flags & RLX_FLAG_HAS_VARS))
        return false;
    for (size_t i = 0; i < s->num_values; i++) {
        const rlx_node *d = s->values[i];
        if (d->kind != RLX_NODE_PRIM_VAR &&
            (d->kind != RLX_NODE_INT_IMM || ((const rlx_int_imm *)d)->dtype != RELAX_INT64))
            return false;
    }
    return true;
}

static void step_tensor(rlx_printer *p, const rlx_tensor_sinfo *t)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(t->shape);
    rlx_buf_z(p->out, rlx_as_sharding(t->vdevice) ? "DTensor" : "Tensor");
    if (!t->shape) {
        tensor_rest(p, t, false);
    } else if (!s) {
        rlx_put(p, "(");
        rlx_print_leaf(p, t->shape, 0);
        tensor_rest(p, t, true);
    } else if (plain_dims(p, s)) {
        rlx_put(p, "((");
        for (size_t i = 0; i < s->num_values; i++) {
            if (i)
                rlx_put(p, ", ");
            rlx_print_leaf(p, s->values[i], RLX_ITEM_BARE);
        }
        rlx_buf_z(p->out, s->num_values == 1 ? ",)" : ")");
        tensor_rest(p, t, true);
    } else {
        rlx_put(p, "((");
        rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .ptr = t });
        rlx_push_text(p, s->num_values == 1 ? ",)" : ")");
        rlx_push_list(p, s->values, s->num_values, RLX_ITEM_BARE | RLX_ITEM_DIMS);
    }
}

static void step_shape(rlx_printer *p, const rlx_shape_sinfo *s)
{
    rlx_put(p, "Shape(");
    if (!s->has_values) {
        rlx_put(p, "ndim=");
        rlx_buf_i64(p->out, s->ndim);
        rlx_put(p, ")");
        return;
    }
    rlx_put(p, "[");
    rlx_push_text(p, "])");
    rlx_push_list(p, s->values, s->num_values, RLX_ITEM_BARE | RLX_ITEM_DIMS);
}

/* T.int64: TVM 0.27 keeps the value elsewhere. Inside of other types it does not read that. */
static void put_scalar_type(rlx_printer *p, rlx_dtype t, bool inner)
{
    char name[RLX_DTYPE_TEXT];
    size_t len = rlx_dtype_name(t, name);
    if (inner) {
        rlx_put_r(p);
        rlx_put(p, "Prim(");
        rlx_put_dtype(p, t);
        rlx_put(p, ")");
        return;
    }
    rlx_put_t(p);
    rlx_buf_put(p->out, name, len);
}

static void step_prim(rlx_printer *p, const rlx_prim_sinfo *s)
{
    rlx_put(p, "Prim(");
    if (!s->value) {
        rlx_put_dtype(p, s->dtype);
        rlx_put(p, ")");
        return;
    }
    rlx_put(p, "value=");
    rlx_push_text(p, ")");
    rlx_push_list(p, &s->value, 1, RLX_ITEM_BARE | RLX_ITEM_DIMS);
}

static void step_tuple(rlx_printer *p, const rlx_tuple_sinfo *t)
{
    rlx_put(p, "Tuple");
    if (!t->num_fields)
        return;
    rlx_put(p, "(");
    rlx_push_text(p, ")");
    rlx_push_list(p, t->fields, t->num_fields, RLX_ITEM_INNER);
}

static void derived_rest(rlx_printer *p, const rlx_func_sinfo *f)
{
    if (f->derive == RLX_DERIVE_NAMED && f->derive_name) {
        rlx_put(p, ", derive_func=");
        rlx_put_string(p, rlx_string_slice(f->derive_name));
    }
    rlx_put(p, ")");
}

/* R.Callable without parameters: what is known of the result. */
static void step_opaque(rlx_printer *p, const rlx_func_sinfo *f)
{
    bool named = f->derive == RLX_DERIVE_NAMED && f->derive_name;
    bool plain = rlx_is(f->ret, RLX_NODE_OBJECT_SINFO) && !f->is_pure && !named;
    rlx_put(p, "Callable");
    if (plain)
        return;
    if (p->newer && named) { /* TVM 0.27 takes one of the two */
        rlx_buf_z(p->out, f->is_pure ? "(purity=True" : "(purity=False");
        derived_rest(p, f);
        return;
    }
    rlx_put(p, "(ret=");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .ptr = f });
    rlx_push_node(p, f->ret, 0, RLX_ITEM_INNER);
}

static void opaque_rest(rlx_printer *p, const rlx_func_sinfo *f)
{
    rlx_buf_z(p->out, f->is_pure ? ", purity=True" : ", purity=False");
    derived_rest(p, f);
}

static void step_func(rlx_printer *p, const rlx_func_sinfo *f)
{
    if (f->derive != RLX_DERIVE_NONE) {
        step_opaque(p, f);
        return;
    }
    if (f->num_binders) {
        rlx_print_open_binders(p, f);
        rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_CLOSE, .ptr = f });
    }
    rlx_put(p, "Callable((");
    rlx_push_text(p, f->is_pure ? ", True)" : ", False)");
    rlx_push_node(p, f->ret, 0, RLX_ITEM_INNER);
    rlx_push_text(p, f->num_params == 1 ? ",), " : "), ");
    rlx_push_list(p, f->params, f->num_params, RLX_ITEM_INNER);
}

/* One operand: a shape as a tensor has its, an integer bare, both quoted in signatures. */
static void push_operand(rlx_printer *p, const rlx_node *const *operand)
{
    const rlx_shape_expr *shape = rlx_as_shape_expr(*operand);
    if (!shape) {
        rlx_push_list(p, operand, 1, RLX_ITEM_BARE | RLX_ITEM_DIMS);
        return;
    }
    rlx_push_text(p, shape->num_values == 1 ? ",)" : ")");
    rlx_push_list(p, shape->values, shape->num_values, RLX_ITEM_BARE | RLX_ITEM_DIMS);
    rlx_push_text(p, "(");
}

static void push_argument(rlx_printer *p, const rlx_extension_argument *a)
{
    if (a->operand) {
        push_operand(p, a->operand);
    } else {
        rlx_push_text(p, "\")");
        rlx_push_text(p, a->text);
        rlx_push_text(p, "R.str(\"");
    }
    if (a->name) {
        rlx_push_text(p, "=");
        rlx_push_text(p, a->name);
    }
}

static void step_host(rlx_printer *p, const rlx_extension_sinfo *s)
{
    rlx_extension_sink sink;
    if (!rlx_extension_arguments(p->m, &s->node, &sink))
        rlx_print_fail(p);
    rlx_buf_put(p->out, s->name->data, s->name->len);
    rlx_put(p, "(");
    rlx_push_text(p, ")");
    for (size_t i = sink.args.len; i-- > 0;) {
        push_argument(p, &sink.args.data[i]);
        if (i)
            rlx_push_text(p, ", ");
    }
    rlx_vec_free(p->m, &sink.args);
}

/* Prints what is behind the shape of a tensor, the result of an opaque function, the arguments of
 * a call. */
void rlx_print_step_sinfo_rest(rlx_printer *p, const rlx_node *n)
{
    if (n->kind == RLX_NODE_TENSOR_SINFO)
        tensor_rest(p, (const rlx_tensor_sinfo *)n, true);
    else
        opaque_rest(p, (const rlx_func_sinfo *)n);
}

/* May the text be copied when the same struct info comes again? A Relax variable inside changes
 * its name from place to place, and so does a binder; quoted dimensions stand in signatures
 * only. */
static bool text_keeps(const rlx_printer *p, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (p->aside || s->kind == RLX_NODE_OBJECT_SINFO)
        return false;
    if (!(s->flags & RLX_FLAG_HAS_VARS))
        return true;
    if (p->signature || p->hidden.len || s->kind == RLX_NODE_TUPLE_SINFO ||
        s->kind == RLX_NODE_FUNC_SINFO || s->kind == RLX_NODE_EXTENSION_SINFO)
        return false;
    return !t || rlx_is(t->shape, RLX_NODE_SHAPE_EXPR);
}

void rlx_print_step_sinfo(rlx_printer *p, const rlx_sinfo *s, unsigned flags)
{
    if (text_keeps(p, s) && !(p->newer && s->kind == RLX_NODE_PRIM_SINFO))
        rlx_push_item(
            p, (rlx_item){ .what = RLX_ITEM_CACHE, .count = p->out->len - p->start, .ptr = s });
    if (p->newer && s->kind == RLX_NODE_PRIM_SINFO) {
        put_scalar_type(p, ((const rlx_prim_sinfo *)s)->dtype, flags & RLX_ITEM_INNER);
        return;
    }
    rlx_put_r(p);
    switch (s->kind) {
    case RLX_NODE_OBJECT_SINFO:
        rlx_put_for(p, flags & RLX_ITEM_OBJECT ? "Object()" : "Object",
                    flags & RLX_ITEM_OBJECT ? "Any()" : "Any");
        break;
    case RLX_NODE_PRIM_SINFO: step_prim(p, (const rlx_prim_sinfo *)s); break;
    case RLX_NODE_SHAPE_SINFO: step_shape(p, (const rlx_shape_sinfo *)s); break;
    case RLX_NODE_TENSOR_SINFO: step_tensor(p, (const rlx_tensor_sinfo *)s); break;
    case RLX_NODE_TUPLE_SINFO: step_tuple(p, (const rlx_tuple_sinfo *)s); break;
    case RLX_NODE_EXTENSION_SINFO: step_host(p, (const rlx_extension_sinfo *)s); break;
    default: step_func(p, (const rlx_func_sinfo *)s); break;
    }
}
