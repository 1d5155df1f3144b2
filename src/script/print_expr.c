/* print_expr.c: the machine that prints expressions: a stack of things still to be put.
 *
 * A step puts what comes first and pushes the rest in reverse order. Nodes that need no rest
 * (variables, literals, struct info seen before) are put at once, so that ordinary calls hardly
 * touch the stack.
 */
#include "script/print_int.h"

void rlx_push_item(rlx_printer *p, rlx_item item)
{
    if (!rlx_vec_push(p->m, &p->items, item))
        rlx_print_fail(p);
}

void rlx_push_text(rlx_printer *p, const char *text)
{
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_TEXT, .ptr = text });
}

void rlx_push_node(rlx_printer *p, const rlx_node *n, unsigned prec, unsigned flags)
{
    rlx_push_item(
        p, (rlx_item){
               .what = RLX_ITEM_NODE, .prec = (uint8_t)prec, .flags = (uint16_t)flags, .ptr = n });
}

void rlx_push_list(rlx_printer *p, const rlx_node *const *nodes, size_t count, unsigned flags)
{
    if (count)
        rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_LIST,
                                     .flags = (uint16_t)flags,
                                     .count = count,
                                     .ptr = nodes });
}

/* ---- leaves */
static void put_global(rlx_printer *p, const rlx_global_var *g)
{
    p->names_global = true;
    if (p->where == RLX_PRINT_TIR) {
        rlx_buf_z(p->out, p->module_name);
    } else {
        rlx_use_alias(p);
        rlx_put(p, "cls");
    }
    rlx_put(p, ".");
    rlx_put_identifier(p, rlx_string_slice(g->name));
}

static void put_unit(rlx_printer *p)
{
    rlx_put_r(p);
    rlx_put(p, "tuple()");
}

static void put_quoted_call(rlx_printer *p, const char *name, rlx_slice text)
{
    rlx_put_r(p);
    rlx_buf_z(p->out, name);
    rlx_put_string(p, text);
    rlx_put(p, ")");
}

static void put_relax_var(rlx_printer *p, const rlx_var *v)
{
    if (rlx_sinfo_is_void(v->sinfo))
        put_unit(p);
    else
        rlx_put_var(p, &v->node);
}

static void put_dtype_call(rlx_printer *p, rlx_dtype t)
{
    char name[RLX_DTYPE_TEXT];
    size_t len = rlx_dtype_name(t, name);
    put_quoted_call(p, "dtype(", (rlx_slice){ name, len });
}

static bool put_extern(rlx_printer *p, const rlx_extern_func *f, unsigned flags)
{
    if (f->sinfo) {
        rlx_put_r(p);
        rlx_put(p, "ExternFunc(");
        rlx_put_string(p, rlx_string_slice(f->symbol));
        rlx_put(p, ", ");
        rlx_push_text(p, ")");
        rlx_push_node(p, f->sinfo, 0, 0);
    } else if (flags & RLX_ITEM_SYMBOL) {
        rlx_put_string(p, rlx_string_slice(f->symbol));
    } else {
        put_quoted_call(p, "ExternFunc(", rlx_string_slice(f->symbol));
    }
    return true;
}

bool rlx_put_again(rlx_printer *p, const rlx_node *n)
{
    uintptr_t v;
    if (!rlx_ptrmap_find(&p->texts, n, &v))
        return false;
    size_t at = p->start + (v >> 20), len = v & 0xfffff;
    if ((n->flags & RLX_FLAG_HAS_VARS) && (at < p->body || p->hidden.len))
        return false;
    if (!rlx_buf_grow(p->out, len))
        return true;
    rlx_buf_put(p->out, p->out->data + at, len);
    return true;
}

bool rlx_print_leaf(rlx_printer *p, const rlx_node *n, unsigned flags)
{
    if (!n)
        return rlx_put(p, "None"), true;
    switch (rlx_family_of(n)) {
    case RLX_FAMILY_PRIM: return rlx_print_prim_leaf(p, n, flags);
    case RLX_FAMILY_SINFO: return !p->signature && rlx_put_again(p, n);
    default: break;
    }
    switch (n->kind) {
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR:
        return put_relax_var(p, (const rlx_var *)n), true;
    case RLX_NODE_GLOBAL_VAR: return put_global(p, (const rlx_global_var *)n), true;
    case RLX_NODE_CONSTANT: return rlx_put_constant(p, (const rlx_constant *)n), true;
    case RLX_NODE_STRING_IMM:
        return put_quoted_call(p, "str(", rlx_string_slice(((const rlx_string_imm *)n)->value)),
               true;
    case RLX_NODE_DTYPE_IMM: return put_dtype_call(p, ((const rlx_dtype_imm *)n)->value), true;
    case RLX_NODE_EXTERN_FUNC: return put_extern(p, (const rlx_extern_func *)n, flags);
    case RLX_NODE_BUFFER: return rlx_put_var(p, n), true;
    default: return false;
    }
}

/* ---- steps of Relax expressions */
static void step_tuple(rlx_printer *p, const rlx_tuple *t, unsigned flags)
{
    if (t->num_fields == 0) {
        put_unit(p);
        return;
    }
    bool open = (flags & RLX_ITEM_OPEN) && t->num_fields > 1;
    if (!open) {
        rlx_put(p, "(");
        rlx_push_text(p, t->num_fields == 1 ? ",)" : ")");
    }
    rlx_push_list(p, t->fields, t->num_fields, 0);
}

static void step_shape(rlx_printer *p, const rlx_shape_expr *s)
{
    rlx_put_r(p);
    rlx_put(p, "shape([");
    rlx_push_text(p, "])");
    rlx_push_list(p, s->values, s->num_values, RLX_ITEM_BARE);
}

static void step_prim_value(rlx_printer *p, const rlx_prim_value *v, unsigned flags)
{
    if (p->newer) { /* a scalar stands for itself */
        rlx_push_node(p, v->value, 0, flags & RLX_ITEM_TYPED ? 0 : RLX_ITEM_BARE);
        return;
    }
    rlx_put_r(p);
    rlx_put(p, "prim_value(");
    rlx_push_text(p, ")");
    rlx_push_node(p, v->value, 0, RLX_ITEM_BARE);
}

/* A field of a tuple in brackets reads as the field alone. */
static void step_get_item(rlx_printer *p, const rlx_tuple_get_item *g)
{
    const rlx_tuple *t = rlx_as_tuple(g->tuple);
    if (t) {
        rlx_put_r(p);
        rlx_put(p, "TupleGetItem(");
    }
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .ptr = g });
    if (t && p->newer) { /* which takes brackets for a list there */
        rlx_put_r(p);
        rlx_put(p, "tuple(");
        rlx_push_text(p, ")");
        rlx_push_list(p, t->fields, t->num_fields, 0);
        return;
    }
    rlx_push_node(p, g->tuple, 0, 0);
}

/* Operators outside of a call. */
static void put_operator(rlx_printer *p, const rlx_op *op)
{
    p->uses |= RLX_USES_I;
    rlx_put(p, "I.Op(");
    rlx_put_string(p, rlx_string_slice(op->name));
    rlx_put(p, ")");
}

/* Statements where an expression is expected: not in normal form, and no text says it. */
static void put_kind(rlx_printer *p, const rlx_node *n)
{
    rlx_put(p, "<");
    rlx_buf_z(p->out, rlx_kinds[n->kind].name);
    rlx_put(p, ">");
}

static void step_expr(rlx_printer *p, const rlx_node *n, unsigned flags)
{
    switch (n->kind) {
    case RLX_NODE_TUPLE: step_tuple(p, (const rlx_tuple *)n, flags); break;
    case RLX_NODE_CALL: rlx_print_step_call(p, (const rlx_call *)n); break;
    case RLX_NODE_TUPLE_GET_ITEM: step_get_item(p, (const rlx_tuple_get_item *)n); break;
    case RLX_NODE_SHAPE_EXPR: step_shape(p, (const rlx_shape_expr *)n); break;
    case RLX_NODE_PRIM_VALUE: step_prim_value(p, (const rlx_prim_value *)n, flags); break;
    case RLX_NODE_OP: put_operator(p, (const rlx_op *)n); break;
    default: put_kind(p, n); break;
    }
}

/* n is no leaf. */
static void open_node(rlx_printer *p, const rlx_node *n, unsigned prec, unsigned flags)
{
    switch (rlx_family_of(n)) {
    case RLX_FAMILY_EXPR: step_expr(p, n, flags); break;
    case RLX_FAMILY_PRIM: rlx_print_step_prim(p, n, prec, flags); break;
    case RLX_FAMILY_SINFO: rlx_print_step_sinfo(p, n, flags); break;
    case RLX_FAMILY_ATTR: case RLX_FAMILY_DEVICE: rlx_print_step_attr(p, n, flags); break;
    case RLX_FAMILY_TIR: rlx_print_step_region(p, n); break;
    default: put_kind(p, n); break;
    }
}

static void step_node(rlx_printer *p, const rlx_item *it)
{
    if (!rlx_print_leaf(p, it->ptr, it->flags))
        open_node(p, it->ptr, it->prec, it->flags);
}

/* ---- steps of the machine */
static void put_quote(rlx_printer *p)
{
    rlx_put(p, "\"");
}

/* Dimensions in a signature stand in quotes when they mention a variable. */
static bool quoted(const rlx_printer *p, const rlx_node *n, unsigned flags)
{
    return (flags & RLX_ITEM_DIMS) && p->signature &&
           (n->kind == RLX_NODE_PRIM_VAR ? !p->newer : (n->flags & RLX_FLAG_HAS_VARS) != 0);
}

static void push_quoted(rlx_printer *p, const rlx_node *n, unsigned flags)
{
    rlx_item end = { .what = RLX_ITEM_QUOTE, .count = p->out->len + 1 };
    put_quote(p);
    rlx_push_item(p, end);
    rlx_push_node(p, n, 0, flags & ~(unsigned)RLX_ITEM_DIMS);
}

/* Ends a quoted dimension; what is inside may itself hold strings. */
static void step_quote(rlx_printer *p, const rlx_item *it)
{
    rlx_buf *out = p->out;
    size_t escapes = 0;
    for (size_t i = it->count; i < out->len; i++)
        escapes += out->data[i] == '"' || out->data[i] == '\\';
    if (escapes && rlx_buf_grow(out, escapes)) {
        size_t from = out->len, to = out->len + escapes;
        out->len = to;
        out->data[to] = 0;
        while (from > it->count) {
            char c = out->data[--from];
            out->data[--to] = c;
            if (c == '"' || c == '\\')
                out->data[--to] = '\\';
        }
    }
    put_quote(p);
}

static void step_list(rlx_printer *p, const rlx_item *list)
{
    rlx_item it = *list;
    const rlx_node *const *nodes = it.ptr;
    for (size_t i = 0; i < it.count; i++) {
        const rlx_node *n = nodes[i];
        if (i)
            rlx_put(p, ", ");
        unsigned flags = i || list->at ? it.flags & ~(unsigned)RLX_ITEM_SYMBOL : it.flags;
        bool quote = n && quoted(p, n, flags);
        if (!quote && rlx_print_leaf(p, n, flags))
            continue;
        it.ptr = nodes + i + 1; /* what is left, with its comma */
        it.count -= i + 1;
        it.at = 1;
        if (it.count) {
            rlx_push_item(p, it);
            rlx_push_text(p, ", ");
        }
        if (quote)
            push_quoted(p, n, flags);
        else
            rlx_push_node(p, n, 0, flags);
        return;
    }
}

void rlx_note_text(rlx_printer *p, const rlx_node *n, size_t at)
{
    size_t len = p->out->len - p->start - at;
    if (len < 0xfffff && at < UINTPTR_MAX >> 20 && !p->out->failed)
        if (!rlx_ptrmap_put(&p->texts, n, (uintptr_t)at << 20 | len))
            rlx_print_fail(p);
}

/* {"a": 1, "b": 2}: from entry `at` on. */
static void step_attrs(rlx_printer *p, const rlx_item *it)
{
    const rlx_attrs *a = it->ptr;
    size_t i = it->count;
    if (i == a->num_keys) {
        rlx_put(p, "}");
        return;
    }
    const rlx_attr_string *key = rlx_as_attr_string(a->keys[i]);
    if (i)
        rlx_put(p, ", ");
    rlx_put_string(p, key ? rlx_string_slice(key->value) : (rlx_slice){ "", 0 });
    rlx_put(p, ": ");
    rlx_item rest = *it;
    rest.count++;
    rlx_push_item(p, rest);
    rlx_push_node(p, a->values[i], 0, it->flags | RLX_ITEM_TYPED);
}

static void print_item(rlx_printer *p, const rlx_item *it)
{
    switch (it->what) {
    case RLX_ITEM_TEXT: rlx_buf_z(p->out, it->ptr); break;
    case RLX_ITEM_NODE: step_node(p, it); break;
    case RLX_ITEM_LIST: step_list(p, it); break;
    case RLX_ITEM_QUOTE: step_quote(p, it); break;
    case RLX_ITEM_CACHE: rlx_note_text(p, it->ptr, it->count); break;
    case RLX_ITEM_ATTRS: step_attrs(p, it); break;
    case RLX_ITEM_LEAVE: rlx_print_leave(p); break;
    case RLX_ITEM_CLOSE: rlx_print_close_binders(p, it->ptr); break;
    case RLX_ITEM_KEYWORDS: rlx_print_step_keywords(p, it); break;
    case RLX_ITEM_REST: rlx_print_step_rest(p, it); break;
    case RLX_ITEM_COUNT: rlx_buf_u64(p->out, it->count); break;
    case RLX_ITEM_INDEX: rlx_print_step_index(p, it); break;
    default: break;
    }
}

static void run(rlx_printer *p, size_t base)
{
    while (p->items.len > base && !p->failed && !p->out->failed) {
        rlx_item it = rlx_vec_pop(&p->items);
        print_item(p, &it);
    }
    p->items.len = base;
}

void rlx_print_expr(rlx_printer *p, const rlx_node *n, unsigned flags)
{
    size_t base = p->items.len;
    if (n && quoted(p, n, flags))
        push_quoted(p, n, flags);
    else if (rlx_print_leaf(p, n, flags))
        return;
    else
        open_node(p, n, 0, flags);
    run(p, base);
}

void rlx_start_list(rlx_printer *p, const rlx_node *const *nodes, size_t count, unsigned flags)
{
    rlx_item all = {
        .what = RLX_ITEM_LIST, .flags = (uint16_t)flags, .count = count, .ptr = nodes
    };
    step_list(p, &all);
}

void rlx_print_list(rlx_printer *p, const rlx_node *const *nodes, size_t count, unsigned flags)
{
    size_t base = p->items.len;
    rlx_start_list(p, nodes, count, flags);
    run(p, base);
}

void rlx_print_item(rlx_printer *p, rlx_item item)
{
    size_t base = p->items.len;
    rlx_push_item(p, item);
    run(p, base);
}
