/* ir_text.c: text of struct info, integer expressions and leaf expressions. A node that is taken
 * off the stack writes its beginning and pushes the rest: literal pieces, children, a closing
 * piece. */
/* built for size */
#include "ir/ir_int.h"

#include <math.h>

/* Precedence, as Python has it. */
enum {
    ANY = 0,
    OR_PREC = 3,
    AND_PREC,
    NOT_PREC,
    COMPARE_PREC,
    ADD_PREC = 11,
    MUL_PREC,
    ATOM_PREC = 15
};

enum item_kind { LITERAL, NODE, DTYPE_TEXT, INTEGER, NAME };
struct item {
    uint8_t what, prec;
    union {
        const char *text;
        const rlx_node *node;
        int64_t number;
    } u;
};
struct state {
    rlx_buf *b;
    RLX_VEC(struct item) items;
    size_t start, limit; /* stop when so much was written since start */
};

/* ---- the stack */

static void push(struct state *s, struct item i)
{
    if (!s->b->failed && !rlx_vec_push(s->b->memory, &s->items, i))
        s->b->failed = true;
}

static void lit(struct state *s, const char *text)
{
    push(s, (struct item){ .what = LITERAL, .u.text = text });
}
static void node(struct state *s, const rlx_node *n, int prec)
{
    push(s, (struct item){ .what = NODE, .prec = (uint8_t)prec, .u.node = n });
}
static void name(struct state *s, const rlx_node *n)
{
    push(s, (struct item){ .what = NAME, .u.node = n });
}
static void integer(struct state *s, int64_t v)
{
    push(s, (struct item){ .what = INTEGER, .u.number = v });
}
static void dtype(struct state *s, rlx_dtype t)
{
    push(s, (struct item){ .what = DTYPE_TEXT, .u.number = t });
}

static void list_of(struct state *s, const rlx_node *const *items, size_t count,
                    enum item_kind what)
{
    if (count > s->limit)
        count = s->limit; /* more would be cut anyway */
    for (size_t i = 0; i < count; i++) {
        if (i)
            lit(s, ", ");
        push(s, (struct item){ .what = (uint8_t)what, .u.node = items[i] });
    }
}

static void list(struct state *s, const rlx_node *const *items, size_t count)
{
    list_of(s, items, count, NODE);
}

/* (a, b)   (a,)   () */
static void tuple_of(struct state *s, const rlx_node *const *items, size_t count,
                     enum item_kind what)
{
    lit(s, "(");
    list_of(s, items, count, what);
    lit(s, count == 1 ? ",)" : ")");
}

/* ---- leaves */

static void t_prefix(struct state *s)
{
    rlx_buf_lit(s->b, "T.");
}

static void write_dtype(rlx_buf *b, rlx_dtype t)
{
    char text[RLX_DTYPE_TEXT];
    rlx_buf_put(b, text, rlx_dtype_name(t, text));
}

static void quoted_dtype(rlx_buf *b, rlx_dtype t)
{
    rlx_buf_char(b, '"');
    write_dtype(b, t);
    rlx_buf_char(b, '"');
}

static bool quoted_byte(rlx_buf *b, unsigned char c)
{
    static const struct {
        char c, letter;
    } escapes[] = { { '"', '"' }, { '\\', '\\' }, { '\t', 't' }, { '\n', 'n' }, { '\r', 'r' } };
    for (size_t i = 0; i < RLX_COUNT(escapes); i++)
        if (escapes[i].c == (char)c) {
            rlx_buf_char(b, '\\');
            rlx_buf_char(b, escapes[i].letter);
            return true;
        }
    if (c >= 0x20 && c != 0x7f)
        return false;
    rlx_buf_format(b, "\\x%c%c", "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]);
    return true;
}

void rlx_text_quoted(rlx_buf *b, rlx_slice text)
{
    size_t valid = rlx_utf8_valid(text.data, text.len);
    rlx_buf_char(b, '"');
    for (size_t i = 0; i < text.len && !b->failed; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (i == valid) { /* one stray byte, then on with the rest */
            rlx_buf_format(b, "\\x%c%c", "0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]);
            valid = i + 1 + rlx_utf8_valid(text.data + i + 1, text.len - i - 1);
        } else if (!quoted_byte(b, c)) {
            rlx_buf_char(b, (char)c);
        }
    }
    rlx_buf_char(b, '"');
}

void rlx_text_var_name(rlx_buf *b, const rlx_var *v)
{
    if (!v)
        return;
    rlx_buf_put(b, v->name->data, v->name->len);
    if (!v->name->len)
        rlx_buf_char(b, 'v');
    if (v->number > 0)
        rlx_buf_i64(b, v->number);
}

static const rlx_string *hint_of(const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_PRIM_VAR: return ((const rlx_prim_var *)n)->name;
    case RLX_NODE_BUFFER: return ((const rlx_buffer *)n)->name;
    case RLX_NODE_GLOBAL_VAR: return ((const rlx_global_var *)n)->name;
    default: return NULL;
    }
}

static void write_name(struct state *s, const rlx_node *n)
{
    if (rlx_is_relax_var(n)) {
        rlx_text_var_name(s->b, (const rlx_var *)n);
        return;
    }
    const rlx_string *hint = hint_of(n);
    if (hint && hint->len)
        rlx_buf_put(s->b, hint->data, hint->len);
    else
        rlx_buf_z(s->b, n->kind == RLX_NODE_BUFFER ? "buffer" : "v");
}

/* Bare, whatever its dtype is, as in Relax positions. */
static void write_int(struct state *s, rlx_dtype t, int64_t v)
{
    if (rlx_dtype_is_bool(t))
        rlx_buf_z(s->b, v ? "True" : "False");
    else if (rlx_dtype_is_large(t, v))
        rlx_buf_u64(s->b, (uint64_t)v);
    else
        rlx_buf_i64(s->b, v);
}

static void write_float(rlx_buf *b, double v, const char *open, const char *close)
{
    bool finite = isfinite(v);
    if (!finite)
        rlx_buf_z(b, open);
    rlx_print_double_tvm(b, v);
    if (!finite)
        rlx_buf_z(b, close);
}

static void float_imm(struct state *s, const rlx_float_imm *f)
{
    t_prefix(s);
    write_dtype(s->b, f->dtype);
    rlx_buf_char(s->b, '(');
    write_float(s->b, f->value, "\"", "\"");
    rlx_buf_char(s->b, ')');
}

/* ---- operators */

/* symbol NULL: always a call */
struct operator { const char *symbol; uint8_t prec; const char *call; };
static const struct operator operators[] = {
    [RLX_NODE_ADD - RLX_NODE_ADD] = { " + ", ADD_PREC, NULL },
    [RLX_NODE_SUB - RLX_NODE_ADD] = { " - ", ADD_PREC, NULL },
    [RLX_NODE_MUL - RLX_NODE_ADD] = { " * ", MUL_PREC, NULL },
    [RLX_NODE_DIV - RLX_NODE_ADD] = { " / ", MUL_PREC, NULL },
    [RLX_NODE_MOD - RLX_NODE_ADD] = { NULL, ATOM_PREC, "truncmod" },
    [RLX_NODE_FLOOR_DIV - RLX_NODE_ADD] = { " // ", MUL_PREC, NULL },
    [RLX_NODE_FLOOR_MOD - RLX_NODE_ADD] = { " % ", MUL_PREC, NULL },
    [RLX_NODE_MIN - RLX_NODE_ADD] = { NULL, ATOM_PREC, "min" },
    [RLX_NODE_MAX - RLX_NODE_ADD] = { NULL, ATOM_PREC, "max" },
    [RLX_NODE_EQ - RLX_NODE_ADD] = { " == ", COMPARE_PREC, NULL },
    [RLX_NODE_NE - RLX_NODE_ADD] = { " != ", COMPARE_PREC, NULL },
    [RLX_NODE_LT - RLX_NODE_ADD] = { " < ", COMPARE_PREC, NULL },
    [RLX_NODE_LE - RLX_NODE_ADD] = { " <= ", COMPARE_PREC, NULL },
    [RLX_NODE_GT - RLX_NODE_ADD] = { " > ", COMPARE_PREC, NULL },
    [RLX_NODE_GE - RLX_NODE_ADD] = { " >= ", COMPARE_PREC, NULL },
    [RLX_NODE_AND - RLX_NODE_ADD] = { " and ", AND_PREC, NULL },
    [RLX_NODE_OR - RLX_NODE_ADD] = { " or ", OR_PREC, NULL },
};

/* Writes T.NAME( and leaves the arguments to the caller, who closes. */
static void call(struct state *s, const char *function)
{
    t_prefix(s);
    rlx_buf_z(s->b, function);
    rlx_buf_char(s->b, '(');
}

static void open_paren(struct state *s, bool needed)
{
    if (needed)
        rlx_buf_char(s->b, '(');
}

static void binary(struct state *s, const rlx_binary *n, int outer)
{
    const struct operator *op = &operators[n->node.kind - RLX_NODE_ADD];
    const rlx_node *args[] = { n->a, n->b };
    bool int_div = n->node.kind == RLX_NODE_DIV && !rlx_dtype_is_float(n->dtype);
    if (int_div || !op->symbol) {
        call(s, int_div ? "Div" : op->call);
        list(s, args, 2);
        lit(s, ")");
        return;
    }
    bool paren = op->prec < outer;
    open_paren(s, paren);
    node(s, n->a, op->prec + (op->prec == COMPARE_PREC)); /* a < b < c would be a chain */
    lit(s, op->symbol);
    node(s, n->b, op->prec + 1);
    if (paren)
        lit(s, ")");
}

static void not_or_cast(struct state *s, const rlx_unary *n, int outer)
{
    if (n->node.kind == RLX_NODE_CAST) {
        call(s, "Cast");
        quoted_dtype(s->b, n->dtype);
        lit(s, ", ");
        node(s, n->a, ANY);
        lit(s, ")");
        return;
    }
    bool paren = NOT_PREC < outer;
    open_paren(s, paren);
    rlx_buf_lit(s->b, "not ");
    node(s, n->a, NOT_PREC);
    if (paren)
        lit(s, ")");
}

/* Intrinsics whose result dtype is written: as first or last argument. */
static const struct { const char *name; bool last;
} typed_calls[] = {
    { "reinterpret", false },
    { "call_extern", false },
    { "call_pure_extern", false },
    { "call_intrin", false },
    { "call_llvm_intrin", false },
    { "call_llvm_pure_intrin", false },
    { "ptx_mma", false },
    { "ptx_mma_sp", false },
    { "ptx_ldmatrix", false },
    { "ptx_cp_async", false },
    { "ptx_cp_async_bulk", false },
    { "mma_store", false },
    { "mma_fill", false },
    { "vectorlow", false },
    { "vectorhigh", false },
    { "vectorcombine", false },
    { "get_active_lane_mask", false },
    { "type_annotation", false },
    { "tvm_struct_get", true },
};

static void prim_call(struct state *s, const rlx_prim_call *c)
{
    int typed = 0; /* 1: dtype first, 2: last */
    const char *op = c->op ? c->op->data : "";
    if (c->callee) {
        rlx_buf_lit(s->b, "Module.");
        write_name(s, c->callee);
        rlx_buf_char(s->b, '(');
    } else {
        call(s, op);
    }
    for (size_t i = 0; !c->callee && i < RLX_COUNT(typed_calls); i++)
        if (strcmp(typed_calls[i].name, op) == 0)
            typed = 1 + typed_calls[i].last;
    if (typed == 1) {
        dtype(s, c->dtype);
        if (c->num_args)
            lit(s, ", ");
    }
    list(s, c->args, c->num_args);
    if (typed == 2) {
        lit(s, ", ");
        dtype(s, c->dtype);
    }
    lit(s, ")");
}

/* ---- loads */

/* An index that is a ramp over constant positive steps is a slice: A[i:i + 4], A[0:8:2]. */
static bool is_slice(const rlx_node *index, int64_t *stride, int64_t *span)
{
    const rlx_ramp *r = rlx_as_ramp(index);
    int64_t lanes;
    return r && rlx_int_literal(r->stride, stride) && rlx_int_literal(r->lanes, &lanes) &&
           *stride > 0 && lanes > 0 && rlx_mul_i64(*stride, lanes, span);
}

static void slice(struct state *s, const rlx_ramp *r, int64_t stride, int64_t span)
{
    int64_t base;
    bool fixed = rlx_int_literal(r->base, &base) && rlx_add_i64(base, span, &base);
    node(s, r->base, ANY);
    lit(s, ":");
    if (!fixed) {
        node(s, r->base, ADD_PREC);
        lit(s, " + ");
    }
    integer(s, fixed ? base : span);
    if (stride != 1) {
        lit(s, ":");
        integer(s, stride);
    }
}

static void indices(struct state *s, const rlx_node *const *items, size_t count)
{
    int64_t stride, span;
    for (size_t i = 0; i < count; i++) {
        if (i)
            lit(s, ", ");
        if (is_slice(items[i], &stride, &span))
            slice(s, (const rlx_ramp *)items[i], stride, span);
        else
            node(s, items[i], ANY);
    }
}

static void buffer_load(struct state *s, const rlx_buffer_load *l)
{
    write_name(s, l->buffer);
    if (l->predicate) {
        lit(s, ".vload([");
        list(s, l->indices, l->num_indices);
        lit(s, "], predicate=");
        node(s, l->predicate, ANY);
        lit(s, ")");
        return;
    }
    lit(s, l->num_indices ? "[" : "[()");
    indices(s, l->indices, l->num_indices);
    lit(s, "]");
}

/* ---- the rarer expressions */

static void call_of(struct state *s, const char *function, const rlx_node *a, const rlx_node *b,
                    const rlx_node *c)
{
    const rlx_node *args[] = { a, b, c };
    call(s, function);
    list(s, args, c ? 3 : 2);
    lit(s, ")");
}

static void shuffle(struct state *s, const rlx_shuffle *n)
{
    call(s, "Shuffle");
    lit(s, "[");
    list(s, n->vectors, n->num_vectors);
    lit(s, "], [");
    list(s, n->indices, n->num_indices);
    lit(s, "])");
}

static void prim_let(struct state *s, const rlx_prim_let *n)
{
    call(s, "Let");
    node(s, n->body, ANY);
    lit(s, ", where={");
    name(s, n->var);
    lit(s, ": ");
    node(s, n->value, ANY);
    lit(s, "})");
}

static void comm_reducer(struct state *s, const rlx_comm_reducer *n)
{
    call(s, "comm_reducer");
    lit(s, "lambda ");
    list_of(s, n->lhs, n->num_lhs, NAME);
    lit(s, n->num_lhs && n->num_rhs ? ", " : "");
    list_of(s, n->rhs, n->num_rhs, NAME);
    lit(s, ": ");
    if (n->num_result == 1)
        node(s, n->result[0], ANY);
    else
        tuple_of(s, n->result, n->num_result, NODE);
    lit(s, ", [");
    list(s, n->identity, n->num_identity);
    lit(s, "])");
}

static void reduce(struct state *s, const rlx_reduce *n)
{
    call(s, "Reduce");
    node(s, n->combiner, ANY);
    lit(s, ", [");
    list(s, n->source, n->num_source);
    lit(s, "], [");
    list(s, n->axis, n->num_axis);
    lit(s, "], ");
    node(s, n->condition, ANY);
    lit(s, ", ");
    integer(s, n->value_index);
    lit(s, ", [");
    list(s, n->init, n->num_init);
    lit(s, "])");
}

static void index_map(struct state *s, const rlx_index_map *n)
{
    call(s, "index_map");
    lit(s, "lambda ");
    list_of(s, n->initial, n->num_initial, NAME);
    lit(s, ": ");
    tuple_of(s, n->final, n->num_final, NODE);
    if (n->inverse) {
        lit(s, ", inverse_index_map=");
        node(s, n->inverse, ANY);
    }
    lit(s, ")");
}

static void range(struct state *s, const rlx_range *n)
{
    int64_t min, extent;
    call(s, "Range");
    node(s, n->min, ANY);
    lit(s, ", ");
    if (rlx_is_int_value(n->min, 0)) {
        node(s, n->extent, ANY);
    } else if (rlx_int_literal(n->min, &min) && rlx_int_literal(n->extent, &extent) &&
               rlx_add_i64(min, extent, &min)) {
        integer(s, min);
    } else {
        node(s, n->min, ADD_PREC);
        lit(s, " + ");
        node(s, n->extent, ADD_PREC + 1);
    }
    lit(s, ")");
}

static bool prim(struct state *s, const rlx_node *n, int outer)
{
    if (n->kind >= RLX_NODE_ADD && n->kind <= RLX_NODE_OR) {
        binary(s, (const rlx_binary *)n, outer);
        return true;
    }
    switch (n->kind) {
    case RLX_NODE_PRIM_VAR: case RLX_NODE_BUFFER: write_name(s, n); return true;
    case RLX_NODE_INT_IMM:
        write_int(s, ((const rlx_int_imm *)n)->dtype, ((const rlx_int_imm *)n)->value);
        return true;
    case RLX_NODE_FLOAT_IMM: float_imm(s, (const rlx_float_imm *)n); return true;
    case RLX_NODE_TIR_STRING:
        rlx_text_quoted(s->b, rlx_string_slice(((const rlx_tir_string *)n)->value));
        return true;
    case RLX_NODE_NOT:
    case RLX_NODE_CAST:
        not_or_cast(s, (const rlx_unary *)n, outer);
        return true;
    case RLX_NODE_SELECT: {
        const rlx_select *x = (const rlx_select *)n;
        call_of(s, "Select", x->cond, x->true_value, x->false_value);
        return true;
    }
    case RLX_NODE_PRIM_CALL: prim_call(s, (const rlx_prim_call *)n); return true;
    case RLX_NODE_BUFFER_LOAD: buffer_load(s, (const rlx_buffer_load *)n); return true;
    case RLX_NODE_RAMP: {
        const rlx_ramp *x = (const rlx_ramp *)n;
        call_of(s, "Ramp", x->base, x->stride, x->lanes);
        return true;
    }
    case RLX_NODE_BROADCAST: {
        const rlx_broadcast *x = (const rlx_broadcast *)n;
        call_of(s, "Broadcast", x->value, x->lanes, NULL);
        return true;
    }
    case RLX_NODE_SHUFFLE: shuffle(s, (const rlx_shuffle *)n); return true;
    case RLX_NODE_PRIM_LET: prim_let(s, (const rlx_prim_let *)n); return true;
    case RLX_NODE_COMM_REDUCER: comm_reducer(s, (const rlx_comm_reducer *)n); return true;
    case RLX_NODE_REDUCE: reduce(s, (const rlx_reduce *)n); return true;
    case RLX_NODE_INDEX_MAP: index_map(s, (const rlx_index_map *)n); return true;
    case RLX_NODE_RANGE: range(s, (const rlx_range *)n); return true;
    case RLX_NODE_ITER_VAR: write_name(s, ((const rlx_iter_var *)n)->var); return true;
    default: return false;
    }
}

/* ---- struct info */

static void vdevice(struct state *s, const rlx_vdevice *v)
{
    rlx_slice kind = rlx_vdevice_kind(v);
    rlx_buf_char(s->b, '"');
    rlx_buf_put(s->b, kind.data, kind.len);
    rlx_buf_format(s->b, ":%d", (int)v->id);
    rlx_buf_char(s->b, '"');
}

static void sharding(struct state *s, const rlx_sharding *lies)
{
    rlx_buf_lit(s->b, "device_mesh=R.device_mesh(");
    rlx_put_mesh(s->b, rlx_as_device_mesh(lies->mesh));
    rlx_buf_lit(s->b, "), placement=\"");
    rlx_put_placement(s->b, lies);
    rlx_buf_lit(s->b, "\"");
}

/* ", " between keywords and before them, unless they come first. */
static void comma(struct state *s, bool *first)
{
    if (!*first)
        lit(s, ", ");
    *first = false;
}

static void tensor_info(struct state *s, const rlx_tensor_sinfo *t)
{
    bool first = true, has_dtype = !rlx_dtype_is_void(t->dtype),
         has_ndim = !t->shape && t->ndim >= 0;
    const rlx_shape_expr *shape = rlx_as_shape_expr(t->shape);
    rlx_buf_z(s->b, rlx_as_sharding(t->vdevice) ? "R.DTensor" : "R.Tensor");
    if (!t->shape && !has_dtype && !has_ndim && !t->vdevice)
        return;
    lit(s, "(");
    if (t->shape) {
        comma(s, &first);
        if (shape)
            tuple_of(s, shape->values, shape->num_values, NODE);
        else
            node(s, t->shape, ANY);
    }
    if (has_dtype) {
        comma(s, &first);
        lit(s, "dtype=");
        dtype(s, t->dtype);
    }
    if (has_ndim) {
        comma(s, &first);
        lit(s, "ndim=");
        integer(s, t->ndim);
    }
    if (t->vdevice) {
        comma(s, &first);
        lit(s, rlx_as_sharding(t->vdevice) ? "" : "vdevice=");
        node(s, t->vdevice, ANY);
    }
    lit(s, ")");
}

static void shape_info(struct state *s, const rlx_shape_sinfo *n)
{
    rlx_buf_lit(s->b, "R.Shape(");
    lit(s, n->has_values ? "[" : "ndim=");
    if (n->has_values)
        list_of(s, n->values, n->num_values, NODE);
    else
        integer(s, n->ndim);
    lit(s, n->has_values ? "])" : ")");
}

static void prim_info(struct state *s, const rlx_prim_sinfo *n)
{
    rlx_buf_lit(s->b, "R.Prim(");
    if (n->value) {
        lit(s, "value=");
        node(s, n->value, ANY);
    } else {
        dtype(s, n->dtype);
    }
    lit(s, ")");
}

static void tuple_info(struct state *s, const rlx_tuple_sinfo *n)
{
    rlx_buf_lit(s->b, "R.Tuple");
    if (!n->num_fields)
        return;
    lit(s, "(");
    list(s, n->fields, n->num_fields);
    lit(s, ")");
}

static void opaque_func_info(struct state *s, const rlx_func_sinfo *n)
{
    bool first = true, named = n->derive == RLX_DERIVE_NAMED && n->derive_name;
    bool has_ret = n->ret && n->ret->kind != RLX_NODE_OBJECT_SINFO;
    if (!has_ret && !n->is_pure && !named)
        return;
    lit(s, "(");
    if (has_ret) {
        comma(s, &first);
        lit(s, "ret=");
        node(s, n->ret, ANY);
    }
    if (n->is_pure) {
        comma(s, &first);
        lit(s, "purity=True");
    }
    if (named) {
        comma(s, &first);
        lit(s, "derive_func=\"");
        lit(s, n->derive_name->data);
        lit(s, "\"");
    }
    lit(s, ")");
}

static void func_info(struct state *s, const rlx_func_sinfo *n)
{
    rlx_buf_lit(s->b, "R.Callable");
    if (n->derive) {
        opaque_func_info(s, n);
        return;
    }
    lit(s, "(");
    tuple_of(s, n->params, n->num_params, NODE);
    lit(s, ", ");
    node(s, n->ret, ANY);
    lit(s, n->is_pure ? ", True)" : ", False)");
}

/* Operands as annotations have them: shapes in brackets, integers bare. */
static void host_argument(struct state *s, const rlx_extension_argument *a)
{
    const rlx_node *operand = a->operand ? *a->operand : NULL;
    const rlx_shape_expr *shape = rlx_as_shape_expr(operand);
    if (a->name) {
        lit(s, a->name);
        lit(s, "=");
    }
    if (!operand) {
        lit(s, "R.str(\"");
        lit(s, a->text);
        lit(s, "\")");
    } else if (shape) {
        tuple_of(s, shape->values, shape->num_values, NODE);
    } else if (rlx_family_of(operand) == RLX_FAMILY_PRIM) {
        node(s, operand, ANY);
    } else {
        node(s, operand, ANY);
    }
}

static void host_info(struct state *s, const rlx_extension_sinfo *n)
{
    rlx_extension_sink sink;
    if (!rlx_extension_arguments(s->b->memory, &n->node, &sink))
        s->b->failed = true;
    rlx_buf_lit(s->b, "R.");
    lit(s, n->name->data);
    lit(s, "(");
    for (size_t i = 0; i < sink.args.len; i++) {
        if (i)
            lit(s, ", ");
        host_argument(s, &sink.args.data[i]);
    }
    lit(s, ")");
    rlx_vec_free(s->b->memory, &sink.args);
}

static bool sinfo(struct state *s, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_OBJECT_SINFO: rlx_buf_lit(s->b, "R.Object"); return true;
    case RLX_NODE_PRIM_SINFO: prim_info(s, (const rlx_prim_sinfo *)n); return true;
    case RLX_NODE_SHAPE_SINFO: shape_info(s, (const rlx_shape_sinfo *)n); return true;
    case RLX_NODE_TENSOR_SINFO: tensor_info(s, (const rlx_tensor_sinfo *)n); return true;
    case RLX_NODE_TUPLE_SINFO: tuple_info(s, (const rlx_tuple_sinfo *)n); return true;
    case RLX_NODE_FUNC_SINFO: func_info(s, (const rlx_func_sinfo *)n); return true;
    case RLX_NODE_EXTENSION_SINFO: host_info(s, (const rlx_extension_sinfo *)n); return true;
    case RLX_NODE_VDEVICE: vdevice(s, (const rlx_vdevice *)n); return true;
    case RLX_NODE_SHARDING: sharding(s, (const rlx_sharding *)n); return true;
    default: return false;
    }
}

/* ---- expressions */

static uint64_t int_element(const unsigned char *data, size_t bytes, bool is_signed)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)data[i] << (8 * i);
    if (is_signed && bytes < 8 && (data[bytes - 1] & 0x80))
        v |= ~(uint64_t)0 << (8 * bytes);
    return v;
}

static void scalar(rlx_buf *b, const rlx_constant *c)
{
    const unsigned char *data = c->data->data;
    if (rlx_dtype_is_bool(c->dtype))
        rlx_buf_z(b, data[0] ? "True" : "False");
    else if (rlx_dtype_is_float(c->dtype))
        write_float(b, rlx_dtype_load_float(c->dtype, data), "float(\"", "\")");
    else if (rlx_dtype_code(c->dtype) == RELAX_DTYPE_INT)
        rlx_buf_i64(b, (int64_t)int_element(data, rlx_dtype_bytes(c->dtype), true));
    else
        rlx_buf_u64(b, int_element(data, rlx_dtype_bytes(c->dtype), false));
}

/* Larger constants are shown by what they are; a printer has metadata for them. */
static void constant(struct state *s, const rlx_constant *c)
{
    size_t bytes = rlx_dtype_bytes(c->dtype);
    rlx_buf_lit(s->b, "R.const(");
    if (!c->num_shape && rlx_dtype_is_computable(c->dtype) && c->data && c->data->size >= bytes) {
        scalar(s->b, c);
    } else {
        rlx_buf_lit(s->b, "<tensor of shape (");
        for (size_t i = 0; i < c->num_shape; i++) {
            rlx_buf_z(s->b, i ? ", " : "");
            rlx_buf_i64(s->b, c->shape[i]);
        }
        rlx_buf_z(s->b, c->num_shape == 1 ? ",)>" : ")>");
    }
    rlx_buf_lit(s->b, ", ");
    quoted_dtype(s->b, c->dtype);
    rlx_buf_char(s->b, ')');
}

static void tuple(struct state *s, const rlx_tuple *t)
{
    if (t->num_fields)
        tuple_of(s, t->fields, t->num_fields, NODE);
    else
        rlx_buf_lit(s->b, "R.tuple()");
}

static void shape(struct state *s, const rlx_shape_expr *n)
{
    rlx_buf_lit(s->b, "R.shape([");
    list(s, n->values, n->num_values);
    lit(s, "])");
}

static void quoted_call(struct state *s, const char *function, const rlx_string *text)
{
    rlx_buf_z(s->b, function);
    rlx_text_quoted(s->b, rlx_string_slice(text));
    rlx_buf_char(s->b, ')');
}

static void operator_name(struct state *s, const rlx_op *n)
{
    rlx_slice full = rlx_string_slice(n->name);
    bool ours = full.len > 6 && memcmp(full.data, "relax.", 6) == 0;
    rlx_buf_lit(s->b, "R.");
    rlx_buf_put(s->b, full.data + (ours ? 6 : 0), full.len - (ours ? 6 : 0));
}

static void relax_call_new(struct state *s, const rlx_call *c)
{
    node(s, c->op, ATOM_PREC);
    lit(s, "(");
    list(s, c->args, c->num_args);
    lit(s, ")");
}

static void tuple_get(struct state *s, const rlx_tuple_get_item *t)
{
    node(s, t->tuple, ATOM_PREC);
    lit(s, "[");
    integer(s, t->index);
    lit(s, "]");
}

static bool expr(struct state *s, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_CONSTANT: constant(s, (const rlx_constant *)n); return true;
    case RLX_NODE_VAR: case RLX_NODE_DATAFLOW_VAR: write_name(s, n); return true;
    case RLX_NODE_GLOBAL_VAR: rlx_buf_lit(s->b, "cls."); write_name(s, n); return true;
    case RLX_NODE_TUPLE: tuple(s, (const rlx_tuple *)n); return true;
    case RLX_NODE_PRIM_VALUE:
        rlx_buf_lit(s->b, "R.prim_value(");
        node(s, ((const rlx_prim_value *)n)->value, ANY);
        lit(s, ")");
        return true;
    case RLX_NODE_STRING_IMM:
        quoted_call(s, "R.str(", ((const rlx_string_imm *)n)->value);
        return true;
    case RLX_NODE_DTYPE_IMM:
        rlx_buf_lit(s->b, "R.dtype(");
        quoted_dtype(s->b, ((const rlx_dtype_imm *)n)->value);
        rlx_buf_char(s->b, ')');
        return true;
    case RLX_NODE_SHAPE_EXPR: shape(s, (const rlx_shape_expr *)n); return true;
    case RLX_NODE_EXTERN_FUNC:
        quoted_call(s, "R.ExternFunc(", ((const rlx_extern_func *)n)->symbol);
        return true;
    case RLX_NODE_OP: operator_name(s, (const rlx_op *)n); return true;
    case RLX_NODE_CALL: relax_call_new(s, (const rlx_call *)n); return true;
    case RLX_NODE_TUPLE_GET_ITEM: tuple_get(s, (const rlx_tuple_get_item *)n); return true;
    default: return false;
    }
}

static void attr_map(struct state *s, const rlx_attrs *a)
{
    lit(s, "{");
    for (size_t i = 0; i < a->num_keys; i++) {
        lit(s, i ? ", " : "");
        node(s, a->keys[i], ANY);
        lit(s, ": ");
        node(s, a->values[i], ANY);
    }
    lit(s, "}");
}

/* Attribute values that are plain. */
static bool attr(struct state *s, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_ATTR_NULL: rlx_buf_lit(s->b, "None"); return true;
    case RLX_NODE_ATTR_INT: rlx_buf_i64(s->b, ((const rlx_attr_int *)n)->value); return true;
    case RLX_NODE_ATTR_BOOL:
        rlx_buf_z(s->b, ((const rlx_attr_int *)n)->value ? "True" : "False");
        return true;
    case RLX_NODE_ATTR_FLOAT:
        write_float(s->b, ((const rlx_attr_float *)n)->value, "\"", "\"");
        return true;
    case RLX_NODE_ATTR_STRING:
        rlx_text_quoted(s->b, rlx_string_slice(((const rlx_attr_string *)n)->value));
        return true;
    case RLX_NODE_ATTR_DTYPE: quoted_dtype(s->b, ((const rlx_attr_dtype *)n)->value); return true;
    case RLX_NODE_ATTR_LIST:
        lit(s, "[");
        list(s, ((const rlx_attr_list *)n)->items, ((const rlx_attr_list *)n)->num_items);
        lit(s, "]");
        return true;
    case RLX_NODE_ATTRS: attr_map(s, (const rlx_attrs *)n); return true;
    default: return false;
    }
}

/* ---- the loop */

static void write_node(struct state *s, const rlx_node *n, int prec)
{
    if (!n)
        rlx_buf_lit(s->b, "None");
    else if (!prim(s, n, prec) && !sinfo(s, n) && !expr(s, n) && !attr(s, n))
        rlx_buf_format(s->b, "<%s>", rlx_kinds[n->kind].name);
}

static void write_item(struct state *s, struct item i)
{
    switch (i.what) {
    case LITERAL: rlx_buf_z(s->b, i.u.text); break;
    case NODE: write_node(s, i.u.node, i.prec); break;
    case DTYPE_TEXT: quoted_dtype(s->b, (rlx_dtype)i.u.number); break;
    case INTEGER: rlx_buf_i64(s->b, i.u.number); break;
    case NAME: write_name(s, i.u.node); break;
    default: break;
    }
}

/* Pieces pushed in reading order are turned round, so that the first comes off first. */
static void turn_round(struct state *s, size_t base)
{
    for (size_t i = base, j = s->items.len; i + 1 < j; i++, j--) {
        struct item swap = s->items.data[i];
        s->items.data[i] = s->items.data[j - 1];
        s->items.data[j - 1] = swap;
    }
}

static void write(rlx_buf *b, const rlx_node *n, size_t limit)
{
    struct state s = { .b = b, .start = b->len, .limit = limit };
    if (b->failed)
        return;
    node(&s, n, ANY);
    while (s.items.len && !b->failed && b->len - s.start <= limit) {
        struct item i = rlx_vec_pop(&s.items);
        size_t base = s.items.len;
        write_item(&s, i);
        turn_round(&s, base);
    }
    rlx_vec_free(b->memory, &s.items);
}

void rlx_text_sinfo(rlx_buf *b, const rlx_sinfo *s) { write(b, s, SIZE_MAX); }
void rlx_text_prim(rlx_buf *b, const rlx_prim *p) { write(b, p, SIZE_MAX); }
void rlx_text_expr(rlx_buf *b, const rlx_expr *e) { write(b, e, SIZE_MAX); }
#define LONGEST_SHOWN 2000

const char *rlx_show(rlx_context *ctx, const rlx_node *n)
{
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    write(&b, n, LONGEST_SHOWN);
    if (!b.failed && b.len > LONGEST_SHOWN) {
        b.len = LONGEST_SHOWN - 3;
        while (b.len && ((unsigned char)b.data[b.len] & 0xC0) == 0x80)
            b.len--; /* not in the middle of a character */
        rlx_buf_lit(&b, "...");
    }
    const char *copy = b.failed ? NULL : rlx_new_copy(ctx, b.len ? b.data : "", b.len + 1);
    rlx_buf_free(&b);
    return copy ? copy : "?";
}
