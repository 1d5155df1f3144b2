/* print_call.c: Relax calls, constants and attribute values. */
#include "script/print_int.h"

#include <math.h>

/* ---- constants */
static double float_at(const rlx_constant *c, size_t i)
{
    return rlx_dtype_load_float(c->dtype, c->data->data + i * rlx_dtype_bytes(c->dtype));
}

/* Little-endian, widened by its sign where it has one. */
static int64_t int_at(const rlx_constant *c, size_t i)
{
    size_t size = rlx_dtype_bytes(c->dtype);
    const unsigned char *at = c->data->data + i * size;
    uint64_t v = 0;
    for (size_t k = 0; k < size && k < 8; k++)
        v |= (uint64_t)at[k] << 8 * k;
    if (rlx_dtype_code(c->dtype) == RELAX_DTYPE_INT && size < 8 && (at[size - 1] & 0x80))
        v |= ~(uint64_t)0 << 8 * size;
    return (int64_t)v;
}

/* The NaN that float("nan") or float("-nan") reads as; any other keeps its bits in the metadata. */
static bool is_plain_nan(const rlx_constant *c)
{
    unsigned char want[8];
    rlx_dtype_store_float(c->dtype, want, (double)NAN);
    size_t last = rlx_dtype_bytes(c->dtype) - 1;
    return memcmp(c->data->data, want, last) == 0 &&
           ((c->data->data[last] ^ want[last]) & 0x7f) == 0;
}

static bool is_printable(const rlx_constant *c)
{
    if (c->num_shape || !c->data || c->data->size < rlx_dtype_bytes(c->dtype))
        return false;
    switch (c->dtype) {
    case RELAX_BOOL: return c->data->data[0] <= 1;
    case RELAX_INT8: case RELAX_INT16: case RELAX_INT32: case RELAX_INT64: return true;
    case RELAX_FLOAT16: case RELAX_FLOAT32: case RELAX_FLOAT64: {
        double v = float_at(c, 0);
        return v == v || is_plain_nan(c);
    }
    default: return false;
    }
}

static void put_const_float(rlx_printer *p, double v)
{
    bool finite = v - v == 0;
    if (!finite)
        rlx_put(p, "float(");
    rlx_put_float(p, v);
    if (!finite)
        rlx_put(p, ")");
}

static void put_element(rlx_printer *p, const rlx_constant *c, size_t i)
{
    if (c->dtype == RELAX_BOOL)
        rlx_buf_z(p->out, c->data->data[i] ? "True" : "False");
    else if (rlx_dtype_is_float(c->dtype))
        put_const_float(p, float_at(c, i));
    else if (rlx_dtype_code(c->dtype) == RELAX_DTYPE_UINT)
        rlx_buf_u64(p->out, (uint64_t)int_at(c, i));
    else
        rlx_buf_i64(p->out, int_at(c, i));
}

/* R.const([[1.0, 2.0]], "float32"): TVM 0.27 reads no metadata of tensors. False: no such text. */
static bool put_nested(rlx_printer *p, const rlx_constant *c)
{
    size_t rank = c->num_shape, count = 1, size = rlx_dtype_bytes(c->dtype);
    for (size_t i = 0; i < rank; i++)
        count *= (size_t)c->shape[i];
    if (!rank || !count || !c->data || !size || c->data->size / size < count ||
        !rlx_dtype_is_computable(c->dtype))
        return false;
    rlx_put_r(p);
    rlx_put(p, "const(");
    for (size_t i = 0; i < count && !p->out->failed; i++) {
        size_t inner = 1, opens = 0;
        for (size_t axis = rank; axis-- > 0 && i % (inner *= (size_t)c->shape[axis]) == 0;)
            opens++;
        if (i)
            rlx_put(p, ", ");
        for (size_t k = 0; k < opens; k++)
            rlx_put(p, "[");
        put_element(p, c, i);
        inner = 1;
        for (size_t axis = rank; axis-- > 0 && (i + 1) % (inner *= (size_t)c->shape[axis]) == 0;)
            rlx_put(p, "]");
    }
    rlx_put(p, ", ");
    rlx_put_dtype(p, c->dtype);
    rlx_put(p, ")");
    return true;
}

static void put_scalar(rlx_printer *p, const rlx_constant *c)
{
    if (c->dtype == RELAX_BOOL)
        rlx_buf_z(p->out, c->data->data[0] ? "True" : "False");
    else if (rlx_dtype_is_float(c->dtype))
        put_const_float(p, float_at(c, 0));
    else
        rlx_buf_i64(p->out, int_at(c, 0));
}

/* R.dist.const(1, R.DTensor((), "float32", "mesh[0]", "R")) */
static void put_distributed(rlx_printer *p, const rlx_constant *c)
{
    const rlx_sharding *lies = rlx_as_sharding(c->sharding);
    rlx_put_r(p);
    rlx_put(p, "dist.const(");
    if (is_printable(c))
        put_scalar(p, c);
    else
        rlx_put_metadata(p, RLX_META_CONSTANT, &c->node);
    rlx_put(p, ", ");
    rlx_put_r(p);
    rlx_put(p, "DTensor((");
    for (size_t i = 0; i < c->num_shape; i++) {
        rlx_buf_z(p->out, i ? ", " : "");
        rlx_buf_i64(p->out, c->shape[i]);
    }
    rlx_buf_z(p->out, c->num_shape == 1 ? ",), " : "), ");
    rlx_put_dtype(p, c->dtype);
    rlx_put(p, ", ");
    rlx_print_mesh(p, lies->mesh);
    rlx_put(p, ", \"");
    rlx_put_placement(p->out, lies);
    rlx_put(p, "\"))");
}

void rlx_put_constant(rlx_printer *p, const rlx_constant *c)
{
    if (c->sharding) {
        put_distributed(p, c);
        return;
    }
    if (p->newer && put_nested(p, c))
        return;
    if (!is_printable(c)) {
        rlx_put_metadata(p, RLX_META_CONSTANT, &c->node);
        return;
    }
    rlx_put_r(p);
    rlx_put(p, "const(");
    put_scalar(p, c);
    rlx_put(p, ", ");
    rlx_put_dtype(p, c->dtype);
    rlx_put(p, ")");
}

/* Elements of a table, as a flat list. */
void rlx_put_elements(rlx_printer *p, const rlx_constant *c)
{
    size_t size = rlx_dtype_bytes(c->dtype), count = size && c->data ? c->data->size / size : 0;
    for (size_t i = 0; i < count && !p->out->failed; i++) {
        if (i)
            rlx_put(p, ", ");
        if (rlx_dtype_is_float(c->dtype))
            put_const_float(p, float_at(c, i));
        else if (rlx_dtype_code(c->dtype) == RELAX_DTYPE_UINT)
            rlx_buf_u64(p->out, (uint64_t)int_at(c, i));
        else
            rlx_buf_i64(p->out, int_at(c, i));
    }
}

/* ---- devices */
/* Number among the module's devices of this kind (of all, for one without a target); else the
 * device's own number. */
static int64_t device_index(rlx_printer *p, const rlx_node *device)
{
    if (!rlx_device_table_fill(&p->devices, p->module ? rlx_listed_vdevices(p->module) : NULL))
        rlx_print_fail(p);
    int64_t number = rlx_device_number(&p->devices, device);
    return number >= 0 ? number : ((const rlx_vdevice *)device)->id;
}

void rlx_put_vdevice(rlx_printer *p, const rlx_node *device)
{
    rlx_slice kind = rlx_vdevice_kind(rlx_as_vdevice(device));
    rlx_buf_put(p->out, kind.data, kind.len);
    rlx_put(p, ":");
    rlx_buf_i64(p->out, rlx_is(device, RLX_NODE_VDEVICE) ? device_index(p, device) : 0);
}

static const char *key_at(const rlx_attrs *a, size_t i)
{
    const rlx_attr_string *s = rlx_as_attr_string(a->keys[i]);
    return s ? s->value->data : "";
}

static void put_mesh(rlx_printer *p, const rlx_device_mesh *mesh)
{
    p->uses |= mesh->ranged ? RLX_USES_I : 0;
    rlx_put_r(p);
    rlx_put(p, "device_mesh(");
    rlx_put_mesh(p->out, mesh);
    rlx_put(p, ")");
}

void rlx_print_mesh(rlx_printer *p, const rlx_node *mesh)
{
    const rlx_attrs *infos = p->module ? rlx_as_attrs(p->module->global_infos) : NULL;
    for (size_t i = 0; infos && i < infos->num_values; i++) {
        const rlx_attr_list *list = rlx_as_attr_list(infos->values[i]);
        for (size_t k = 0; list && k < list->num_items; k++)
            if (list->items[k] == mesh) {
                rlx_put(p, "\"");
                rlx_buf_z(p->out, key_at(infos, i));
                rlx_buf_format(p->out, "[%zu]\"", k);
                return;
            }
    }
    put_mesh(p, rlx_as_device_mesh(mesh));
}

/* I.vdevice({...}, 0, "global") */
static void step_vdevice(rlx_printer *p, const rlx_vdevice *d)
{
    p->uses |= RLX_USES_I;
    rlx_put(p, "I.vdevice(");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .ptr = d });
    rlx_push_node(p, d->target, 0, RLX_ITEM_PLAIN);
}

static void vdevice_rest(rlx_printer *p, const rlx_vdevice *d)
{
    rlx_put(p, ", ");
    rlx_buf_i64(p->out, d->id);
    rlx_put(p, ", ");
    rlx_put_string(p, d->scope ? rlx_string_slice(d->scope) : RLX_SLICE("global"));
    rlx_put(p, ")");
}

/* ---- attribute values */
static void put_bool(rlx_printer *p, bool value, unsigned flags)
{
    bool plain = flags & RLX_ITEM_PLAIN;
    if (!plain)
        rlx_put_t(p);
    rlx_buf_z(p->out, plain ? (value ? "True" : "False") : value ? "bool(True)" : "bool(False)");
}

static void put_attr_float(rlx_printer *p, double v, unsigned flags)
{
    bool plain = (flags & (RLX_ITEM_PLAIN | RLX_ITEM_MODULE)) && !(flags & RLX_ITEM_FLOAT32);
    if (plain) {
        put_const_float(p, v);
        return;
    }
    rlx_put_t(p);
    rlx_put(p, "float32(");
    rlx_put_float(p, v);
    rlx_put(p, ")");
}

static void put_attr_string(rlx_printer *p, const rlx_attr_string *s, unsigned flags)
{
    if (memchr(s->value->data, '\n', s->value->len))
        rlx_put_metadata(p, RLX_META_STRING, &s->node);
    else
        rlx_put_string(p, rlx_string_slice(s->value));
}

/* A description of a target: {"keys": ["cpu"], "kind": "llvm", ...} under a name of its own in
 * TIR. */
static bool is_target(const rlx_attrs *a)
{
    return rlx_as_attr_string(rlx_attrs_get(&a->node, "kind")) &&
           rlx_as_attr_list(rlx_attrs_get(&a->node, "keys"));
}

static void step_attrs(rlx_printer *p, const rlx_attrs *a, unsigned flags)
{
    bool target = !(flags & (RLX_ITEM_PLAIN | RLX_ITEM_MODULE)) && is_target(a);
    if (target) {
        rlx_put_t(p);
        rlx_put(p, "target(");
        rlx_push_text(p, ")");
        flags |= RLX_ITEM_PLAIN;
    }
    rlx_put(p, "{");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_ATTRS,
                                 .flags = (uint16_t)(flags & ~(unsigned)RLX_ITEM_FLOAT32),
                                 .ptr = a });
}

static void step_index_map(rlx_printer *p, const rlx_index_map *m, unsigned flags)
{
    unsigned inside = flags & RLX_ITEM_PLAIN ? RLX_ITEM_BARE : 0;
    rlx_put_t(p);
    rlx_put(p, "index_map(");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .flags = (uint16_t)inside, .ptr = m });
    rlx_print_step_index_map(p, m, inside);
}

static void index_map_rest(rlx_printer *p, const rlx_index_map *m, unsigned flags)
{
    rlx_push_text(p, ")");
    if (rlx_as_index_map(m->inverse)) {
        rlx_put(p, ", inverse_index_map=");
        rlx_print_step_index_map(p, rlx_as_index_map(m->inverse), flags);
    }
    rlx_dtype t = m->num_initial ? rlx_prim_dtype(m->initial[0]) : RELAX_INT64;
    if (t != RELAX_INT64) {
        rlx_put(p, ", index_dtype=");
        rlx_put_dtype(p, t);
    }
}

/* "float16", or T.float16 where a string would stay a string. */
static void put_attr_dtype(rlx_printer *p, rlx_dtype t, unsigned flags)
{
    char name[RLX_DTYPE_TEXT];
    if (p->newer && rlx_dtype_is_void(t)) {
        rlx_put(p, "None");
        return;
    }
    if (flags & RLX_ITEM_QUOTED) {
        rlx_put_dtype(p, t);
        return;
    }
    size_t len = rlx_dtype_name(t, name);
    rlx_put_t(p);
    rlx_buf_put(p->out, name, len);
}

void rlx_print_step_attr(rlx_printer *p, const rlx_attr *a, unsigned flags)
{
    switch (a->kind) {
    case RLX_NODE_ATTR_NULL: rlx_put(p, "None"); break;
    case RLX_NODE_ATTR_INT: rlx_buf_i64(p->out, ((const rlx_attr_int *)a)->value); break;
    case RLX_NODE_ATTR_BOOL: put_bool(p, ((const rlx_attr_int *)a)->value != 0, flags); break;
    case RLX_NODE_ATTR_FLOAT: put_attr_float(p, ((const rlx_attr_float *)a)->value, flags); break;
    case RLX_NODE_ATTR_STRING: put_attr_string(p, (const rlx_attr_string *)a, flags); break;
    case RLX_NODE_ATTR_DTYPE: put_attr_dtype(p, ((const rlx_attr_dtype *)a)->value, flags); break;
    case RLX_NODE_ATTR_LIST:
        rlx_put(p, "[");
        rlx_push_text(p, "]");
        rlx_push_list(p, ((const rlx_attr_list *)a)->items, ((const rlx_attr_list *)a)->num_items,
                      (flags & ~(unsigned)RLX_ITEM_FLOAT32) | RLX_ITEM_TYPED);
        break;
    case RLX_NODE_ATTRS: step_attrs(p, (const rlx_attrs *)a, flags); break;
    case RLX_NODE_INDEX_MAP: step_index_map(p, (const rlx_index_map *)a, flags); break;
    case RLX_NODE_VDEVICE: step_vdevice(p, (const rlx_vdevice *)a); break;
    case RLX_NODE_DEVICE_MESH:
        if (flags & RLX_ITEM_MODULE)
            put_mesh(p, (const rlx_device_mesh *)a);
        else
            rlx_print_mesh(p, a);
        break;
    default:
        p->uses |= RLX_USES_I;
        rlx_put(p, "I.dummy_global_info()");
        break;
    }
}

/* ---- calls */

/* How the calls print that are not `R.name(arguments, attributes, sinfo_args)`. */
enum form {
    FORM_PLAIN, FORM_TIR, FORM_PRINT, FORM_ASSERT, FORM_HINT, FORM_VDEVICE, FORM_PURE_CLOSURE
};

static enum form form_of(const rlx_op *op)
{
    switch (rlx_op_id_of(&op->node)) {
    case RLX_OP_ID_CALL_TIR:
    case RLX_OP_ID_CALL_TIR_LOCAL_VIEW:
    case RLX_OP_ID_CALL_TIR_WITH_GRAD:
    case RLX_OP_ID_CALL_TIR_INPLACE:
    case RLX_OP_ID_CALL_DPS_PACKED: return FORM_TIR;
    case RLX_OP_ID_PRINT: return FORM_PRINT;
    case RLX_OP_ID_ASSERT_OP: return FORM_ASSERT;
    case RLX_OP_ID_HINT_ON_DEVICE: return FORM_HINT;
    case RLX_OP_ID_TO_VDEVICE: return FORM_VDEVICE;
    case RLX_OP_ID_INVOKE_PURE_CLOSURE: return FORM_PURE_CLOSURE;
    default: return FORM_PLAIN;
    }
}

/* Pushes the arguments behind the positional ones, from step `at` on. comma: something stands
 * before. */
static void push_keywords(rlx_printer *p, const rlx_node *n, size_t at, bool comma, unsigned form)
{
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_KEYWORDS,
                                 .prec = (uint8_t)form,
                                 .flags = comma,
                                 .count = at,
                                 .ptr = n });
}

static void open_op(rlx_printer *p, const rlx_op *op)
{
    size_t skip = op->name->len > 6 && memcmp(op->name->data, "relax.", 6) == 0 ? 6 : 0;
    rlx_put_r(p);
    rlx_buf_put(p->out, op->name->data + skip, op->name->len - skip);
    rlx_put(p, "(");
}

static void push_args(rlx_printer *p, const rlx_call *c, size_t first, size_t count)
{
    rlx_push_list(p, c->args + first, count, first == 0 ? RLX_ITEM_SYMBOL : 0);
}

/* (out_sinfo=, inplace_indices= ...): the two first arguments are positional. */
static void step_call_tir(rlx_printer *p, const rlx_call *c)
{
    size_t count = c->num_args < 2 ? c->num_args : 2;
    const rlx_tuple *args = count == 2 ? rlx_as_tuple(c->args[1]) : NULL;
    const rlx_shape_expr *vars = c->num_args > 2 ? rlx_as_shape_expr(c->args[2]) : NULL;
    push_keywords(p, &c->node, 0, count != 0, FORM_TIR);
    if (!p->newer || !args || !vars) {
        push_args(p, c, 0, count);
        return;
    }
    /* TVM 0.27 has integers among the arguments */
    rlx_push_text(p, args->num_fields + vars->num_values == 1 ? ",)" : ")");
    rlx_push_list(p, vars->values, vars->num_values, RLX_ITEM_BARE);
    if (args->num_fields && vars->num_values)
        rlx_push_text(p, ", ");
    rlx_push_list(p, args->fields, args->num_fields, 0);
    rlx_push_text(p, ", (");
    push_args(p, c, 0, 1);
}

/* R.print(values, format=...): the format is the first argument. */
static void step_print(rlx_printer *p, const rlx_call *c)
{
    rlx_push_text(p, ")");
    if (!c->num_args)
        return;
    rlx_push_node(p, c->args[0], 0, 0);
    rlx_push_text(p, c->num_args > 1 ? ", format=" : "format=");
    push_args(p, c, 1, c->num_args - 1);
}

/* R.assert_op(condition, values, format=...): several values stand in a list. */
static void step_assert(rlx_printer *p, const rlx_call *c)
{
    size_t values = c->num_args > 2 ? c->num_args - 2 : 0;
    rlx_push_text(p, ")");
    if (c->num_args > 1) {
        rlx_push_node(p, c->args[1], 0, 0);
        rlx_push_text(p, ", format=");
    }
    if (values) {
        if (values > 1)
            rlx_push_text(p, "]");
        push_args(p, c, 2, values);
        rlx_push_text(p, values > 1 ? ", [" : ", ");
    }
    push_args(p, c, 0, c->num_args ? 1 : 0);
}

static void step_packed(rlx_printer *p, const rlx_call *c, const rlx_extern_func *f)
{
    rlx_put_r(p);
    rlx_put(p, "call_packed(");
    rlx_put_string(p, rlx_string_slice(f->symbol));
    if (c->num_args)
        rlx_put(p, ", ");
    push_keywords(p, &c->node, 0, true, FORM_PLAIN);
    rlx_push_list(p, c->args, c->num_args, 0);
}

/* Where the function of the text takes the arguments in another order than the operator has them
 * (attention_var_len), they print in that order, so that they read back. False: the orders are
 * the same. */
static bool push_reordered(rlx_printer *p, const rlx_call *c, const rlx_op_row *row)
{
    uint8_t order[RLX_OP_MAX_ARGS], n = 0;
    bool moved = false;
    if (c->num_args != row->num_args || c->num_args > RLX_OP_MAX_ARGS)
        return false;
    for (const char *at = row->params; *at; at += *at == ' ') {
        size_t len = strcspn(at, " ");
        for (uint8_t i = 0; i < row->num_args && n < row->num_args; i++)
            if (rlx_slice_is((rlx_slice){ at, len }, row->args[i].name)) {
                moved |= n != i;
                order[n++] = i;
            }
        at += len;
    }
    for (size_t i = n; moved && i > 0; i--) {
        rlx_push_node(p, c->args[order[i - 1]], 0, 0);
        if (i > 1)
            rlx_push_text(p, ", ");
    }
    return moved;
}

/* call_tir with a result that is distributed has a name of its own. */
static bool is_distributed_call(const rlx_call *c)
{
    const rlx_sinfo *out = c->num_sinfo_args ? c->sinfo_args[0] : NULL;
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(out);
    bool some = false;
    if (!rlx_is_op(c->op, RLX_OP_ID_CALL_TIR))
        return false;
    for (size_t i = 0; out && i < (tuple ? tuple->num_fields : 1) && !some; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tuple ? tuple->fields[i] : out);
        some = t && rlx_as_sharding(t->vdevice);
    }
    return some;
}

void rlx_print_step_call(rlx_printer *p, const rlx_call *c)
{
    const rlx_op *op = rlx_as_op(c->op);
    const rlx_extern_func *f = rlx_as_extern_func(c->op);
    if (f && !f->sinfo) {
        step_packed(p, c, f);
        return;
    }
    if (!op) {
        push_keywords(p, &c->node, 0, c->num_args != 0, FORM_PLAIN);
        /* operators take a bare number as int64, functions of TVM 0.27 as int32 */
        rlx_push_list(p, c->args, c->num_args, RLX_ITEM_TYPED);
        rlx_push_text(p, "(");
        rlx_push_node(p, c->op, 0, 0);
        return;
    }
    enum form form = form_of(op);
    if (is_distributed_call(c)) {
        rlx_put_r(p);
        rlx_put(p, "dist.call_tir(");
    } else {
        open_op(p, op);
    }
    switch (form) {
    case FORM_TIR: step_call_tir(p, c); break;
    case FORM_PRINT: step_print(p, c); break;
    case FORM_ASSERT: step_assert(p, c); break;
    default:
        push_keywords(p, &c->node, 0, c->num_args != 0, form);
        if (!op->row || !op->row->params || !push_reordered(p, c, op->row))
            rlx_start_list(p, c->args, c->num_args, RLX_ITEM_SYMBOL);
        break;
    }
}

/* ---- keyword arguments */
static void put_key(rlx_printer *p, const char *name, bool *comma)
{
    if (*comma)
        rlx_put(p, ", ");
    *comma = true;
    rlx_buf_z(p->out, name);
    rlx_put(p, "=");
}

/* Are floats of this attribute nodes, T.float32(0.5), or plain numbers? Is a string a dtype? */
static unsigned value_flags(const rlx_call *c, size_t i)
{
    const rlx_op *op = rlx_as_op(c->op);
    if (!op)
        return RLX_ITEM_PLAIN | RLX_ITEM_FLOAT32;
    if (!op->row || i >= op->row->num_attrs)
        return RLX_ITEM_PLAIN;
    switch (op->row->attrs[i].type) {
    case RLX_ATTR_FLOAT_OR_NONE: return RLX_ITEM_PLAIN | RLX_ITEM_FLOAT32;
    case RLX_ATTR_DTYPE: return RLX_ITEM_PLAIN | RLX_ITEM_QUOTED;
    default: return RLX_ITEM_PLAIN;
    }
}

static bool is_plain_attr(const rlx_attr *a)
{
    return a && a->kind >= RLX_NODE_ATTR_NULL && a->kind <= RLX_NODE_ATTR_DTYPE;
}

static bool is_plain_list(const rlx_attr *a)
{
    const rlx_attr_list *list = rlx_as_attr_list(a);
    for (size_t i = 0; list && i < list->num_items; i++)
        if (!is_plain_attr(list->items[i]))
            return false;
    return list != NULL;
}

/* axis=[1, 2]; and roi=[T.float32(0.0), ...] */
static void put_plain_list(rlx_printer *p, const rlx_call *c, const rlx_attr_list *list, size_t i)
{
    const rlx_op *op = rlx_as_op(c->op);
    bool floats =
        op && op->row && i < op->row->num_attrs && op->row->attrs[i].type == RLX_ATTR_FLOATS;
    rlx_put(p, "[");
    for (size_t k = 0; k < list->num_items; k++) {
        if (k)
            rlx_put(p, ", ");
        rlx_print_step_attr(p, list->items[k],
                            floats ? RLX_ITEM_PLAIN | RLX_ITEM_FLOAT32 : RLX_ITEM_PLAIN);
    }
    rlx_put(p, "]");
}

/* Do these attributes print the same wherever they are given? Floats depend on the operator,
 * some strings on their number. */
static bool text_keeps(const rlx_attrs *a)
{
    for (size_t i = 0; i < a->num_values; i++) {
        const rlx_attr_list *list = rlx_as_attr_list(a->values[i]);
        const rlx_attr *const *items = list ? list->items : &a->values[i];
        for (size_t k = 0; k < (list ? list->num_items : 1); k++)
            if (!is_plain_attr(items[k]) || items[k]->kind == RLX_NODE_ATTR_FLOAT ||
                items[k]->kind == RLX_NODE_ATTR_STRING)
                return false;
    }
    return true;
}

static void sinfo_args(rlx_printer *p, const rlx_call *c, bool comma, enum form form)
{
    if (!c->num_sinfo_args) {
        rlx_put(p, ")");
        return;
    }
    rlx_push_text(p, ")");
    put_key(p, p->newer ? "ty_args" : "sinfo_args", &comma);
    rlx_put(p, "(");
    rlx_push_text(p, c->num_sinfo_args == 1 ? ",)" : ")");
    rlx_push_list(p, c->sinfo_args, c->num_sinfo_args,
                  form == FORM_PURE_CLOSURE ? RLX_ITEM_OBJECT : 0);
}

static void hint_device(rlx_printer *p, const rlx_attrs *a)
{
    rlx_put(p, ", ");
    rlx_put_r(p);
    rlx_put(p, "device(");
    bool comma = false;
    for (size_t i = 0; i < a->num_keys; i++) {
        put_key(p, !p->newer ? key_at(a, i) : i ? "index" : "device_type", &comma);
        rlx_print_step_attr(p, a->values[i], RLX_ITEM_PLAIN);
    }
    rlx_put(p, "))");
}

/* Does TVM 0.27 not have attribute i any more? */
static bool is_gone(const rlx_attrs *a, size_t i)
{
    static const char *const gone[] = { "axis_separators", "input_axis_separators" };
    const rlx_attr_list *list = rlx_as_attr_list(a->values[i]);
    for (size_t k = 0; k < RLX_COUNT(gone); k++)
        if (strcmp(key_at(a, i), gone[k]) == 0)
            return !list || !list->num_items;
    return false;
}

/* Does attribute i say only what TVM 0.20, which does not know it, takes for granted? */
static bool goes_unsaid(const rlx_printer *p, const rlx_call *c, const rlx_attrs *a, size_t i)
{
    const rlx_op *op = rlx_as_op(c->op);
    const rlx_attr_string *text = rlx_as_attr_string(a->values[i]);
    /* its gradients have what the operators of 0.20 had */
    bool older = !p->newer || (op && op->row && strncmp(op->row->short_name, "grad.", 5) == 0);
    return older && op && op->row && i < op->row->num_attrs && op->row->attrs[i].newer && text &&
           (rlx_slice_is(rlx_string_slice(text->value), op->row->attrs[i].deflt) ||
            (p->newer && !text->value->len));
}

/* Attributes at `at` and after. */
static void plain_keywords(rlx_printer *p, const rlx_item *it)
{
    const rlx_call *c = it->ptr;
    const rlx_attrs *a = rlx_as_attrs(c->attrs);
    bool comma = it->flags;
    size_t at = it->count, count = a ? a->num_keys : 0;
    if (at == 0 && a && rlx_as_extern_func(c->op) && !rlx_as_extern_func(c->op)->sinfo) {
        put_key(p, "attrs_type_key", &comma);
        rlx_put_for(p, "\"DictAttrs\"", "\"ir.DictAttrs\"");
    }
    bool whole = at == 0 && count && comma && rlx_as_op(c->op),
         again = whole && rlx_put_again(p, &a->node);
    size_t begin = p->out->len - p->start;
    for (at = again ? count : at; at < count; at++) {
        if (goes_unsaid(p, c, a, at) || (p->newer && is_gone(a, at)))
            continue;
        put_key(p, key_at(a, at), &comma);
        if (is_plain_attr(a->values[at])) {
            rlx_print_step_attr(p, a->values[at], value_flags(c, at));
        } else if (is_plain_list(a->values[at])) {
            put_plain_list(p, c, (const rlx_attr_list *)a->values[at], at);
        } else {
            push_keywords(p, &c->node, at + 1, true, it->prec);
            rlx_push_node(p, a->values[at], 0, value_flags(c, at));
            return;
        }
    }
    if (whole && !again && !p->aside && text_keeps(a))
        rlx_note_text(p, &a->node, begin);
    sinfo_args(p, c, comma, (enum form)it->prec);
}

static bool is_empty_map(const rlx_attr *a)
{
    return !a || a->kind == RLX_NODE_ATTR_NULL ||
           (rlx_as_attrs(a) && rlx_as_attrs(a)->num_keys == 0);
}

static void out_sinfo(rlx_printer *p, const rlx_call *c)
{
    const rlx_tuple_sinfo *t =
        c->num_sinfo_args == 1 ? rlx_as_tuple_sinfo(c->sinfo_args[0]) : NULL;
    bool comma = true;
    if (!c->num_sinfo_args)
        return;
    put_key(p, p->newer ? "out_ty" : "out_sinfo", &comma);
    if (!t && c->num_sinfo_args == 1) {
        rlx_push_node(p, c->sinfo_args[0], 0, 0);
        return;
    }
    rlx_put(p, "[");
    rlx_push_text(p, "]");
    rlx_push_list(p, t ? t->fields : c->sinfo_args, t ? t->num_fields : c->num_sinfo_args, 0);
}

/* Stages of a call of the call_tir family: out_sinfo, then each attribute, then tir_vars. */
static void call_tir_keywords(rlx_printer *p, const rlx_item *it)
{
    const rlx_call *c = it->ptr;
    const rlx_attrs *a = rlx_as_attrs(c->attrs);
    size_t at = it->count, count = a ? a->num_keys : 0;
    bool comma = true;
    if (at == 0) {
        push_keywords(p, &c->node, 1, true, FORM_TIR);
        out_sinfo(p, c);
    } else if (at <= count) {
        push_keywords(p, &c->node, at + 1, true, FORM_TIR);
        if (strcmp(key_at(a, at - 1), "te_grad_kwargs") == 0 && is_empty_map(a->values[at - 1]))
            return;
        put_key(p, key_at(a, at - 1), &comma);
        rlx_push_node(p, a->values[at - 1], 0, RLX_ITEM_PLAIN);
    } else {
        rlx_push_text(p, ")");
        if (c->num_args > 2 && !(p->newer && rlx_as_tuple(c->args[1]))) {
            put_key(p, "tir_vars", &comma);
            rlx_push_node(p, c->args[2], 0, 0);
        }
    }
}

void rlx_print_step_keywords(rlx_printer *p, const rlx_item *it)
{
    const rlx_call *c = it->ptr;
    const rlx_attrs *a = rlx_as_attrs(c->attrs);
    switch ((enum form)it->prec) {
    case FORM_TIR: call_tir_keywords(p, it); break;
    case FORM_HINT:
        if (a)
            hint_device(p, a);
        else
            rlx_put(p, ")");
        break;
    case FORM_VDEVICE:
        rlx_put(p, ", dst_vdevice=\"");
        if (a && a->num_values)
            rlx_put_vdevice(p, a->values[0]);
        rlx_put(p, "\")");
        break;
    default: plain_keywords(p, it); break;
    }
}

/* Prints a node behind its first part: of a tensor its shape, of a device its target ... */
void rlx_print_step_rest(rlx_printer *p, const rlx_item *it)
{
    const rlx_node *n = it->ptr;
    bool literal;
    switch (n->kind) {
    case RLX_NODE_TENSOR_SINFO: case RLX_NODE_FUNC_SINFO: rlx_print_step_sinfo_rest(p, n); break;
    case RLX_NODE_VDEVICE: vdevice_rest(p, (const rlx_vdevice *)n); break;
    case RLX_NODE_INDEX_MAP: index_map_rest(p, (const rlx_index_map *)n, it->flags); break;
    case RLX_NODE_PRIM_CALL: rlx_print_step_call_end(p, (const rlx_prim_call *)n); break;
    case RLX_NODE_ITER_VAR: rlx_print_step_iter_tag(p, (const rlx_iter_var *)n); break;
    case RLX_NODE_TUPLE_GET_ITEM:
        literal = rlx_as_tuple(((const rlx_tuple_get_item *)n)->tuple);
        rlx_buf_z(p->out, literal ? ", " : "[");
        rlx_buf_i64(p->out, ((const rlx_tuple_get_item *)n)->index);
        rlx_buf_z(p->out, literal ? ")" : "]");
        break;
    default: break;
    }
}
