/* relay_print.c: Relay's nodes as text (relay 1.6).
 *
 * A scope (body of a function, a branch, an arm) is a list of lines. What is no leaf and not in
 * place gets a line `%N = ...;` in front of the line that needs it, found by a stack of its own:
 * chains are as long as the program. Only scopes in scopes are recursion.
 */
#include "relay/relay.h"
#include "relay/relay_infer.h"

#include <stdlib.h>

enum { MAX_SCOPES = 400 };

typedef struct type_name { const rlx_relay_type_var *var; rlx_slice name; } type_name;
typedef struct printer {
    rlx_context *ctx;
    rlx_buf *out;
    uint32_t indent, scopes;
    uint32_t next_number;
    rlx_ptrmap users;       /* of an expression: places that mention it */
    rlx_ptrmap numbers;     /* expression -> its %N + 1 */
    rlx_ptrmap names;       /* variable -> its name, a rlx_slice of the region */
    rlx_map taken;          /* names in use in the function */
    RLX_VEC(type_name) type_names; /* of the type parameters in scope */
    rlx_ptrmap meta;        /* constant, size variable -> its index + 1 */
    rlx_ptrs constants, sizes;
    rlx_region region;
    bool too_deep;
} printer;

static void put_type(printer *p, rlx_buf *b, const rlx_relay_type *t, uint32_t depth);
static void put_scope(printer *p, rlx_relay_expr *e);

/* ---- names ----------------------------------------------------------------------------------------- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* The name that a variable has in this function, made on first use. */
static rlx_slice name_of(printer *p, const void *var, rlx_slice hint)
{
    const rlx_slice *known = rlx_ptrmap_get(&p->names, var);
    if (known)
        return *known;
    rlx_buf b;
    rlx_buf_init(&b, &p->ctx->memory);
    if (!hint.len || !is_letter(hint.data[0]))
        rlx_buf_lit(&b, "v");
    for (size_t i = 0; i < hint.len; i++)
        rlx_buf_char(&b, hint.data[i] == '.' ? '_' : hint.data[i]);
    size_t len = b.len;
    uint64_t n = (uint64_t)(uintptr_t)rlx_map_get(&p->taken, (rlx_slice){ b.data, b.len });
    while (!b.failed && rlx_map_has(&p->taken, (rlx_slice){ b.data, b.len })) {
        b.len = len;
        rlx_buf_u64(&b, n++);
    }
    rlx_slice *name = rlx_region_zero(&p->region, sizeof *name);
    char *text = b.failed ? NULL : rlx_region_copy(&p->region, b.data, b.len);
    if (name && text) {
        *name = (rlx_slice){ text, b.len };
        rlx_map_put(&p->taken, *name, (void *)(uintptr_t)1);
        if (b.len != len) /* the next search goes on from here */
            rlx_map_put(&p->taken, (rlx_slice){ text, len }, (void *)(uintptr_t)n);
        rlx_ptrmap_put(&p->names, var, (uintptr_t)name);
    }
    rlx_buf_free(&b);
    return name && text ? *name : RLX_SLICE("?");
}

static void put_slice(rlx_buf *b, rlx_slice s) { rlx_buf_put(b, s.data, s.len); }

static void put_line(printer *p)
{
    rlx_buf_char(p->out, '\n');
    for (uint32_t i = 0; i < p->indent; i++)
        rlx_buf_lit(p->out, "  ");
}

/* ---- types ----------------------------------------------------------------------------------------- */

/* The name of a type variable: that of the innermost scope that binds it. */
static rlx_slice type_name_of(const printer *p, const rlx_relay_type_var *v)
{
    for (size_t i = p ? p->type_names.len : 0; i-- > 0;)
        if (p->type_names.data[i].var == v)
            return p->type_names.data[i].name;
    return v->name;
}

/* Its name from here on: its own, unless a parameter of an outer scope has that. */
static rlx_slice bind_type_name(printer *p, const rlx_relay_type_var *v)
{
    rlx_buf b;
    rlx_slice name = v->name;
    rlx_buf_init(&b, &p->ctx->memory);
    for (size_t i = 0, n = 0; i < p->type_names.len; i++) {
        if (!rlx_slice_equal(p->type_names.data[i].name, name))
            continue;
        b.len = 0;
        rlx_buf_put(&b, v->name.data, v->name.len);
        rlx_buf_u64(&b, ++n);
        name = (rlx_slice){ b.data, b.len };
        i = (size_t)-1; /* from the first one on */
    }
    if (b.len)
        name.data = rlx_region_copy(&p->region, b.data ? b.data : "", b.len);
    type_name bound = { v, name };
    if (b.failed || !name.data || !rlx_vec_push(&p->ctx->memory, &p->type_names, bound))
        p->out->failed = true;
    rlx_buf_free(&b);
    return p->out->failed ? v->name : name;
}

static size_t meta_index(printer *p, const void *what, rlx_ptrs *list)
{
    uintptr_t at;
    if (rlx_ptrmap_find(&p->meta, what, &at))
        return at - 1;
    rlx_ptrmap_put(&p->meta, what, list->len + 1);
    if (!rlx_vec_push(&p->ctx->memory, list, (void *)(uintptr_t)what))
        p->out->failed = true;
    return list->len ? list->len - 1 : 0;
}

static void put_dim(printer *p, rlx_buf *b, rlx_relay_dim d)
{
    d = rlx_relay_dim_find(d);
    switch (d.kind) {
    case RLX_RELAY_DIM_INT: rlx_buf_i64(b, d.value); break;
    case RLX_RELAY_DIM_ANY: rlx_buf_lit(b, "?"); break;
    case RLX_RELAY_DIM_PARAM: put_slice(b, type_name_of(p, d.param)); break;
    default:
        if (p && !d.var->is_hole)
            rlx_buf_format(b, "meta[tir.SizeVar][%zu]", meta_index(p, d.var, &p->sizes));
        else
            put_slice(b, d.var->name);
    }
}

static void put_dims(printer *p, rlx_buf *b, const rlx_relay_type *t)
{
    rlx_buf_lit(b, "(");
    for (size_t i = 0; i < t->tensor.ndim; i++) {
        rlx_buf_z(b, i ? ", " : "");
        put_dim(p, b, t->tensor.dims[i]);
    }
    rlx_buf_lit(b, ")");
}

static void put_dtype(rlx_buf *b, rlx_dtype t)
{
    char text[RLX_DTYPE_TEXT];
    rlx_dtype_name(t, text);
    rlx_buf_z(b, text);
}

static void put_tensor(printer *p, rlx_buf *b, const rlx_relay_type *t, uint32_t depth)
{
    if (!t->tensor.ndim && !t->tensor.shape && !t->tensor.elem && rlx_dtype_code(t->tensor.dtype) <= 2) {
        put_dtype(b, t->tensor.dtype);
        return;
    }
    rlx_buf_lit(b, "Tensor[");
    if (t->tensor.shape)
        put_type(p, b, t->tensor.shape, depth + 1);
    else
        put_dims(p, b, t);
    rlx_buf_lit(b, ", ");
    if (t->tensor.elem)
        put_type(p, b, t->tensor.elem, depth + 1);
    else
        put_dtype(b, t->tensor.dtype);
    rlx_buf_lit(b, "]");
}

static void put_types(printer *p, rlx_buf *b, rlx_relay_type *const *list, size_t count, uint32_t depth)
{
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(b, i ? ", " : "");
        put_type(p, b, list[i], depth + 1);
    }
}

static void put_type_params(printer *p, rlx_buf *b, rlx_relay_type_var *const *params, size_t count)
{
    if (!count)
        return;
    rlx_buf_lit(b, "[");
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(b, i ? ", " : "");
        put_slice(b, p ? bind_type_name(p, params[i]) : params[i]->name);
        if (params[i]->kind != RLX_RELAY_KIND_TYPE)
            rlx_buf_format(b, ": %s", rlx_relay_kind_text(params[i]->kind));
    }
    rlx_buf_lit(b, "]");
}

static void put_constraints(printer *p, rlx_buf *b, const rlx_relay_constraint *c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(b, i ? ", " : " where ");
        put_slice(b, c[i].name);
        if (!c[i].num_args)
            continue;
        rlx_buf_lit(b, "(");
        put_types(p, b, c[i].args, c[i].num_args, 0);
        rlx_buf_lit(b, ")");
    }
}

static void put_function_type(printer *p, rlx_buf *b, const rlx_relay_type *t, uint32_t depth)
{
    size_t scope = p ? p->type_names.len : 0;
    rlx_buf_lit(b, "fn ");
    put_type_params(p, b, t->func.params, t->func.num_params);
    rlx_buf_lit(b, "(");
    put_types(p, b, t->func.args, t->func.num_args, depth);
    rlx_buf_lit(b, ") -> ");
    put_type(p, b, t->func.result, depth + 1);
    put_constraints(p, b, t->func.constraints, t->func.num_constraints);
    if (p)
        p->type_names.len = scope;
}

/* Shared parts are written out: beyond these limits three dots stand for what is left. */
enum { MAX_DEPTH = 200, MAX_BYTES = 65536 };

static void put_type(printer *p, rlx_buf *b, const rlx_relay_type *given, uint32_t depth)
{
    const rlx_relay_type *t = rlx_relay_find((rlx_relay_type *)(uintptr_t)given);
    if (depth > MAX_DEPTH || (!p && b->len > MAX_BYTES)) {
        rlx_buf_lit(b, "...");
        return;
    }
    switch (t->kind) {
    case RLX_RELAY_TYPE_TENSOR: put_tensor(p, b, t, depth); break;
    case RLX_RELAY_TYPE_TUPLE:
        rlx_buf_lit(b, "(");
        put_types(p, b, t->tuple.fields, t->tuple.count, depth);
        rlx_buf_z(b, t->tuple.count == 1 ? ",)" : ")");
        break;
    case RLX_RELAY_TYPE_FUNC: put_function_type(p, b, t, depth); break;
    case RLX_RELAY_TYPE_REF:
        rlx_buf_lit(b, "ref(");
        put_type(p, b, t->ref.content, depth + 1);
        rlx_buf_lit(b, ")");
        break;
    case RLX_RELAY_TYPE_CALL: case RLX_RELAY_TYPE_HANDLE:
        put_slice(b, t->call.name);
        rlx_buf_lit(b, "[");
        put_types(p, b, t->call.args, t->call.num_args, depth);
        rlx_buf_lit(b, "]");
        break;
    case RLX_RELAY_TYPE_VAR: put_slice(b, type_name_of(p, t->var)); break;
    case RLX_RELAY_TYPE_EXTENTS: put_dims(p, b, t); break;
    case RLX_RELAY_TYPE_EXTENT: put_dim(p, b, t->tensor.dims[0]); break;
    case RLX_RELAY_TYPE_DTYPE: put_dtype(b, t->tensor.dtype); break;
    case RLX_RELAY_TYPE_HOLE: rlx_buf_lit(b, "_"); break;
    default: rlx_buf_lit(b, "_");
    }
}

void rlx_relay_print_type(const rlx_relay_type *t, rlx_buf *out) { put_type(NULL, out, t, 0); }

/* ---- leaves ---------------------------------------------------------------------------------------- */

/* Scalars that the text has a literal for. */
static bool is_literal(const rlx_relay_expr *e)
{
    rlx_dtype t = e->constant.dtype;
    int bits = rlx_dtype_bits(t);
    if (e->constant.ndim || rlx_dtype_lanes(t) != 1)
        return false;
    if (rlx_dtype_code(t) == RELAX_DTYPE_INT)
        return bits == 16 || bits == 32 || bits == 64;
    if (rlx_dtype_code(t) != RELAX_DTYPE_FLOAT)
        return rlx_dtype_is_bool(t);
    double v = rlx_dtype_load_float(t, e->constant.data);
    bool is_finite = v - v == 0;
    return (bits == 16 || bits == 32 || bits == 64) && (is_finite || (v == v && bits == 32));
}

static void put_int(rlx_buf *b, int64_t v, rlx_dtype t)
{
    int bits = rlx_dtype_bits(t);
    bool as_read = v >= INT32_MIN && v <= INT32_MAX ? bits == 32 : bits == 64;
    rlx_buf_i64(b, v);
    if (!as_read)
        rlx_buf_format(b, "i%d", bits);
}

static void put_float(rlx_buf *b, double v, rlx_dtype t)
{
    if (v - v != 0) {
        rlx_buf_z(b, v > 0 ? "inff" : "-inff");
        return;
    }
    size_t at = b->len;
    if (rlx_dtype_bits(t) == 64)
        rlx_print_double_17g(b, v);
    else
        rlx_print_double_g(b, v, 9);
    bool shorter = !b->failed && rlx_dtype_bits(t) == 32;
    if (shorter) { /* the fewest digits that read back */
        b->len = at;
        rlx_print_double_short(b, v, true);
        if (b->len - at > 2 && memcmp(b->data + b->len - 2, ".0", 2) == 0)
            b->len -= 2;
    }
    rlx_buf_z(b, rlx_dtype_bits(t) == 64 ? "f64" : rlx_dtype_bits(t) == 16 ? "f16" : "f");
}

static int64_t load_int(const rlx_relay_expr *e)
{
    int64_t v = 0;
    const unsigned char *data = e->constant.data;
    for (size_t i = 0; i < e->constant.bytes; i++)
        v |= (int64_t)((uint64_t)data[i] << (8 * i));
    return rlx_dtype_wrap(e->constant.dtype, v);
}

static void put_constant(printer *p, rlx_relay_expr *e)
{
    rlx_buf *b = p->out;
    if (!is_literal(e))
        rlx_buf_format(b, "meta[relay.Constant][%zu]", meta_index(p, e, &p->constants));
    else if (rlx_dtype_is_bool(e->constant.dtype))
        rlx_buf_z(b, load_int(e) ? "True" : "False");
    else if (rlx_dtype_is_float(e->constant.dtype))
        put_float(b, rlx_dtype_load_float(e->constant.dtype, e->constant.data), e->constant.dtype);
    else
        put_int(b, load_int(e), e->constant.dtype);
}

static void put_var(printer *p, const rlx_relay_expr *v)
{
    rlx_buf_char(p->out, '%');
    put_slice(p->out, name_of(p, v, v->var.name));
}

/* A variable where it is bound, with its annotation. */
static void put_binder(printer *p, const rlx_relay_expr *v)
{
    put_var(p, v);
    const rlx_relay_type *t = v->var.given;
    if (v->type && v->type->kind != RLX_RELAY_TYPE_ERROR)
        t = v->type;
    if (t) {
        rlx_buf_lit(p->out, ": ");
        put_type(p, p->out, t, 0);
    }
}

static bool is_leaf(const rlx_relay_expr *e)
{
    return e->kind == RLX_RELAY_VAR || e->kind == RLX_RELAY_CONST || e->kind == RLX_RELAY_GLOBAL ||
           e->kind == RLX_RELAY_OP || e->kind == RLX_RELAY_CTOR || e->kind == RLX_RELAY_ERROR;
}

/* A leaf, or the number of a line above. */
static void put_atom(printer *p, rlx_relay_expr *e)
{
    uintptr_t number;
    if (rlx_ptrmap_find(&p->numbers, e, &number)) {
        rlx_buf_format(p->out, "%%%llu", (unsigned long long)number - 1);
        return;
    }
    switch (e->kind) {
    case RLX_RELAY_VAR: put_var(p, e); break;
    case RLX_RELAY_CONST: put_constant(p, e); break;
    case RLX_RELAY_GLOBAL: rlx_buf_char(p->out, '@'); put_slice(p->out, e->global->name); break;
    case RLX_RELAY_OP: rlx_buf_z(p->out, e->op->name); break;
    case RLX_RELAY_CTOR: put_slice(p->out, e->ctor->name); break;
    default: rlx_buf_lit(p->out, "_");
    }
}

static void put_atoms(printer *p, rlx_relay_expr *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(p->out, i ? ", " : "");
        put_atom(p, list[i]);
    }
}

/* Attributes are doubles, whatever the suffix says. */
static void put_attr_float(rlx_buf *b, double v)
{
    size_t at = b->len;
    if (v - v == 0) {
        rlx_print_double_short(b, v, false);
        if (b->len - at > 2 && memcmp(b->data + b->len - 2, ".0", 2) == 0)
            b->len -= 2;
    }
    rlx_buf_z(b, v - v == 0 ? "f" : v > 0 ? "inff" : "-inff");
}

/* ---- attributes ------------------------------------------------------------------------------------ */

static void put_value(printer *p, rlx_buf *b, const rlx_relay_value *v)
{
    switch (v->kind) {
    case RLX_RELAY_VALUE_INT: rlx_buf_i64(b, v->i); break;
    case RLX_RELAY_VALUE_FLOAT: put_attr_float(b, v->f); break;
    case RLX_RELAY_VALUE_BOOL: rlx_buf_z(b, v->i ? "True" : "False"); break;
    case RLX_RELAY_VALUE_STRING: rlx_json_quote(b, v->s); break;
    case RLX_RELAY_VALUE_LIST:
        rlx_buf_lit(b, "[");
        for (size_t i = 0; i < v->list.count; i++) {
            rlx_buf_z(b, i ? ", " : "");
            put_value(p, b, &v->list.items[i]);
        }
        rlx_buf_lit(b, "]");
        break;
    case RLX_RELAY_VALUE_EXPR: put_atom(p, v->expr); break;
    default: rlx_buf_lit(b, "None");
    }
}

static void put_attr(printer *p, const rlx_relay_attr *a, bool first)
{
    rlx_buf_z(p->out, first ? "" : ", ");
    put_slice(p->out, a->name);
    rlx_buf_lit(p->out, "=");
    put_value(p, p->out, &a->value);
}

/* What the record would have anyway is left out. */
static bool is_default(printer *p, const rlx_relay_field *f, const rlx_relay_attr *a)
{
    rlx_buf b;
    rlx_buf_init(&b, &p->ctx->memory);
    if (a->value.kind != RLX_RELAY_VALUE_EXPR)
        put_value(p, &b, &a->value);
    bool same = f->otherwise && rlx_slice_is((rlx_slice){ b.data, b.len }, f->otherwise);
    rlx_buf_free(&b);
    return same;
}

static const rlx_relay_attr *attr_named(rlx_relay_attrs attrs, const char *name)
{
    for (size_t i = 0; i < attrs.count; i++)
        if (rlx_slice_is(attrs.items[i].name, name))
            return &attrs.items[i];
    return NULL;
}

static void put_attrs(printer *p, const rlx_relay_op *op, rlx_relay_attrs attrs, bool first)
{
    for (size_t i = 0; !op && i < attrs.count; i++, first = false)
        put_attr(p, &attrs.items[i], first);
    for (size_t i = 0; op && i < op->num_fields; i++) {
        const rlx_relay_attr *a = attr_named(attrs, op->fields[i].name);
        if (!a || is_default(p, &op->fields[i], a))
            continue;
        put_attr(p, a, first);
        first = false;
    }
}

/* ---- expressions ----------------------------------------------------------------------------------- */

static void put_block(printer *p, rlx_relay_expr *body)
{
    rlx_buf_lit(p->out, "{");
    p->indent++;
    put_line(p);
    put_scope(p, body);
    p->indent--;
    put_line(p);
    rlx_buf_lit(p->out, "}");
}

/* What follows fn, or def @name. */
static void put_function(printer *p, const rlx_relay_func *f)
{
    size_t scope = p->type_names.len;
    put_type_params(p, p->out, f->type_params, f->num_type_params);
    rlx_buf_lit(p->out, "(");
    for (size_t i = 0; i < f->num_params; i++) {
        rlx_buf_z(p->out, i ? ", " : "");
        put_binder(p, f->params[i]);
    }
    put_attrs(p, NULL, f->attrs, f->num_params == 0);
    rlx_buf_lit(p->out, ")");
    if (f->result) {
        rlx_buf_lit(p->out, " -> ");
        put_type(p, p->out, f->result, 0);
    }
    put_constraints(p, p->out, f->constraints, f->num_constraints);
    rlx_buf_lit(p->out, " ");
    put_block(p, f->body);
    p->type_names.len = scope;
}

static void put_pattern(printer *p, const rlx_relay_pattern *t)
{
    if (t->kind == RLX_RELAY_PATTERN_ANY) {
        rlx_buf_lit(p->out, "_");
        return;
    }
    if (t->kind == RLX_RELAY_PATTERN_VAR) {
        put_binder(p, t->var);
        return;
    }
    if (t->kind == RLX_RELAY_PATTERN_CTOR)
        put_slice(p->out, t->ctor->name);
    if (t->kind == RLX_RELAY_PATTERN_CTOR && !t->num_parts)
        return;
    rlx_buf_lit(p->out, "(");
    for (size_t i = 0; i < t->num_parts; i++) {
        rlx_buf_z(p->out, i ? ", " : "");
        put_pattern(p, t->parts[i]);
    }
    rlx_buf_lit(p->out, ")");
}

static void put_match(printer *p, const rlx_relay_expr *e)
{
    rlx_buf_z(p->out, e->match.partial ? "match? (" : "match (");
    put_atom(p, e->match.data);
    rlx_buf_lit(p->out, ") {");
    p->indent++;
    for (size_t i = 0; i < e->match.num_arms; i++) {
        put_line(p);
        put_pattern(p, e->match.arms[i].pattern);
        rlx_buf_lit(p->out, " => ");
        put_block(p, e->match.arms[i].body);
        rlx_buf_lit(p->out, ",");
    }
    p->indent--;
    put_line(p);
    rlx_buf_lit(p->out, "}");
}

static void put_call(printer *p, const rlx_relay_expr *e)
{
    const rlx_relay_expr *callee = e->call.callee;
    const rlx_relay_op *op = callee->kind == RLX_RELAY_OP ? callee->op : NULL;
    put_atom(p, e->call.callee);
    if (callee->kind == RLX_RELAY_CTOR && !e->call.num_args && !callee->ctor->num_fields)
        return;
    rlx_buf_lit(p->out, "(");
    put_atoms(p, e->call.args, e->call.num_args);
    put_attrs(p, op, e->call.attrs, e->call.num_args == 0);
    rlx_buf_lit(p->out, ")");
}

static void put_ref(printer *p, const rlx_relay_expr *e)
{
    rlx_buf_z(p->out, e->kind == RLX_RELAY_REF ? "ref(" : e->kind == RLX_RELAY_REF_READ ? "ref_read("
                                                                                         : "ref_write(");
    if (e->ref.ref)
        put_atom(p, e->ref.ref);
    rlx_buf_z(p->out, e->ref.ref && e->ref.value ? ", " : "");
    if (e->ref.value)
        put_atom(p, e->ref.value);
    rlx_buf_lit(p->out, ")");
}

/* The expression itself; what it mentions are leaves or have numbers. */
static void put_expr(printer *p, rlx_relay_expr *e)
{
    switch (e->kind) {
    case RLX_RELAY_TUPLE:
        rlx_buf_lit(p->out, "(");
        put_atoms(p, e->tuple.items, e->tuple.count);
        rlx_buf_z(p->out, e->tuple.count == 1 ? ",)" : ")");
        break;
    case RLX_RELAY_FIELD:
        put_atom(p, e->field.tuple);
        rlx_buf_format(p->out, ".%lld", (long long)e->field.index);
        break;
    case RLX_RELAY_FUNC: rlx_buf_lit(p->out, "fn "); put_function(p, e->func); break;
    case RLX_RELAY_IF:
        rlx_buf_lit(p->out, "if (");
        put_atom(p, e->branch.condition);
        rlx_buf_lit(p->out, ") ");
        put_block(p, e->branch.then);
        rlx_buf_lit(p->out, " else ");
        put_block(p, e->branch.otherwise);
        break;
    case RLX_RELAY_MATCH: put_match(p, e); break;
    case RLX_RELAY_REF: case RLX_RELAY_REF_READ: case RLX_RELAY_REF_WRITE: put_ref(p, e); break;
    case RLX_RELAY_CALL: put_call(p, e); break;
    case RLX_RELAY_LET: /* not in place */
        rlx_buf_lit(p->out, "(");
        p->indent++;
        put_line(p);
        put_scope(p, e);
        p->indent--;
        put_line(p);
        rlx_buf_lit(p->out, ")");
        break;
    default: put_atom(p, e);
    }
}

/* Child i that stands in the same scope as e. */
static rlx_relay_expr *operand(const rlx_relay_expr *e, size_t i)
{
    switch (e->kind) {
    case RLX_RELAY_LET: case RLX_RELAY_FUNC: return NULL;
    case RLX_RELAY_IF: case RLX_RELAY_MATCH: return i == 0 ? rlx_relay_child(e, 0) : NULL;
    default: return rlx_relay_child(e, i);
    }
}

typedef struct visit { rlx_relay_expr *e; size_t next; } visit;

/* Lines for everything that e mentions and that has none yet. */
static bool put_operands(printer *p, rlx_relay_expr *root)
{
    RLX_VEC(visit) stack = { 0 };
    rlx_memory *memory = &p->ctx->memory;
    bool ok = rlx_vec_push(memory, &stack, ((visit){ root, 0 }));
    while (ok && stack.len) {
        rlx_relay_expr *e = rlx_vec_last(&stack).e;
        rlx_relay_expr *child = operand(e, rlx_vec_last(&stack).next++);
        if (child && (is_leaf(child) || rlx_ptrmap_has(&p->numbers, child)))
            continue;
        if (child) {
            ok = rlx_vec_push(memory, &stack, ((visit){ child, 0 }));
            continue;
        }
        stack.len--;
        if (!stack.len)
            break;
        uint32_t number = p->next_number++;
        rlx_buf_format(p->out, "%%%u = ", (unsigned)number);
        put_expr(p, e);
        rlx_buf_lit(p->out, ";");
        put_line(p);
        ok = rlx_ptrmap_put(&p->numbers, e, (uintptr_t)number + 1);
    }
    rlx_vec_free(memory, &stack);
    return ok;
}

static bool is_shared(const printer *p, const rlx_relay_expr *e)
{
    uintptr_t n;
    return rlx_ptrmap_find(&p->users, e, &n) && n > 1;
}

/* e where it may stand in place: as a line's value, or as the end of a scope. */
static void put_in_place(printer *p, rlx_relay_expr *e)
{
    if (!is_leaf(e) && is_shared(p, e) && !rlx_ptrmap_has(&p->numbers, e)) {
        put_operands(p, e);
        uint32_t number = p->next_number++;
        rlx_buf_format(p->out, "%%%u = ", (unsigned)number);
        put_expr(p, e);
        rlx_buf_lit(p->out, ";");
        put_line(p);
        rlx_ptrmap_put(&p->numbers, e, (uintptr_t)number + 1);
    }
}

static void put_value_of(printer *p, rlx_relay_expr *e)
{
    if (rlx_ptrmap_has(&p->numbers, e) || is_leaf(e))
        put_atom(p, e);
    else
        put_expr(p, e);
}

static void put_scope(printer *p, rlx_relay_expr *e)
{
    if (p->scopes++ >= MAX_SCOPES) {
        p->too_deep = true;
        p->scopes--;
        return;
    }
    while (e->kind == RLX_RELAY_LET && !p->out->failed) {
        rlx_relay_expr *value = e->let.value;
        put_in_place(p, value);
        if (!rlx_ptrmap_has(&p->numbers, value))
            put_operands(p, value);
        rlx_buf_lit(p->out, "let ");
        put_binder(p, e->let.var);
        rlx_buf_lit(p->out, " = ");
        put_value_of(p, value);
        rlx_buf_lit(p->out, ";");
        put_line(p);
        e = e->let.body;
    }
    put_in_place(p, e);
    if (!rlx_ptrmap_has(&p->numbers, e))
        put_operands(p, e);
    put_value_of(p, e);
    p->scopes--;
}

/* ---- users ----------------------------------------------------------------------------------------- */

static bool count_users(printer *p, rlx_relay_expr *root)
{
    rlx_ptrs stack = { 0 };
    rlx_memory *memory = &p->ctx->memory;
    bool ok = rlx_vec_push(memory, &stack, root);
    while (ok && stack.len) {
        rlx_relay_expr *e = rlx_vec_pop(&stack), *child;
        uintptr_t n = 0;
        rlx_ptrmap_find(&p->users, e, &n);
        ok = rlx_ptrmap_put(&p->users, e, n + 1);
        for (size_t i = 0; ok && !n && (child = rlx_relay_child(e, i)) != NULL; i++)
            if (!is_leaf(child))
                ok = rlx_vec_push(memory, &stack, child);
    }
    rlx_vec_free(memory, &stack);
    return ok;
}

/* ---- metadata -------------------------------------------------------------------------------------- */

static void put_array(printer *p, const rlx_relay_expr *e)
{
    rlx_buf raw;
    rlx_dtype t = e->constant.dtype;
    bool is_bool = rlx_dtype_is_bool(t);
    rlx_buf_init(&raw, &p->ctx->memory);
    unsigned char head[32] = { 0x3f, 0xa1, 0xb4, 0x96, 0xf0, 0x40, 0x5e, 0xdd };
    head[16] = 1; /* a processor */
    head[24] = (unsigned char)e->constant.ndim;
    head[28] = (unsigned char)(is_bool ? RELAX_DTYPE_UINT : rlx_dtype_code(t));
    head[29] = (unsigned char)(is_bool ? 1 : rlx_dtype_bits(t));
    head[30] = (unsigned char)rlx_dtype_lanes(t);
    rlx_buf_put(&raw, (const char *)head, sizeof head);
    for (size_t i = 0; i <= e->constant.ndim; i++) {
        uint64_t v = i < e->constant.ndim ? (uint64_t)e->constant.dims[i] : e->constant.bytes;
        char bytes[8];
        for (size_t k = 0; k < 8; k++)
            bytes[k] = (char)(v >> (8 * k));
        rlx_buf_put(&raw, bytes, sizeof bytes);
    }
    rlx_buf_put(&raw, e->constant.data, e->constant.bytes);
    rlx_buf_lit(p->out, "\n    \"");
    if (!raw.failed)
        rlx_base64_encode(p->out, raw.data, raw.len);
    rlx_buf_lit(p->out, "\"");
    p->out->failed = p->out->failed || raw.failed;
    rlx_buf_free(&raw);
}

static void put_indices(printer *p, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rlx_buf_format(p->out, "%s%zu", i ? ", " : "", first + i);
}

/* Nodes: 0 null, 1 the map, then the arrays, their items, the names of sizes. */
static void put_metadata(printer *p)
{
    size_t consts = p->constants.len, sizes = p->sizes.len, arrays = (consts != 0) + (sizes != 0);
    if (!arrays)
        return;
    size_t item = 2 + arrays;
    rlx_buf_lit(p->out, "\n#[metadata]\n{\n  \"root\": 1,\n  \"nodes\": [\n    {\"type_key\": \"\"},\n"
                        "    {\"type_key\": \"Map\", \"keys\": [");
    rlx_buf_z(p->out, consts ? "\"relay.Constant\"" : "");
    rlx_buf_z(p->out, consts && sizes ? ", " : "");
    rlx_buf_z(p->out, sizes ? "\"tir.SizeVar\"" : "");
    rlx_buf_lit(p->out, "], \"data\": [");
    put_indices(p, 2, arrays);
    rlx_buf_lit(p->out, "]}");
    if (consts) {
        rlx_buf_lit(p->out, ",\n    {\"type_key\": \"Array\", \"data\": [");
        put_indices(p, item, consts);
        rlx_buf_lit(p->out, "]}");
    }
    if (sizes) {
        rlx_buf_lit(p->out, ",\n    {\"type_key\": \"Array\", \"data\": [");
        put_indices(p, item + consts, sizes);
        rlx_buf_lit(p->out, "]}");
    }
    for (size_t i = 0; i < consts; i++)
        rlx_buf_format(p->out, ",\n    {\"type_key\": \"relay.Constant\", \"attrs\": {\"_checked_type_\": "
                               "\"0\", \"data\": \"%zu\", \"span\": \"0\", \"virtual_device_\": \"0\"}}", i);
    for (size_t i = 0; i < sizes; i++)
        rlx_buf_format(p->out, ",\n    {\"type_key\": \"tir.SizeVar\", \"attrs\": {\"dtype\": \"int32\", "
                               "\"name\": \"%zu\", \"span\": \"0\", \"type_annotation\": \"0\"}}",
                       item + consts + sizes + i);
    for (size_t i = 0; i < sizes; i++) {
        rlx_buf_lit(p->out, ",\n    {\"type_key\": \"runtime.String\", \"repr_str\": ");
        rlx_json_quote(p->out, ((const rlx_relay_dim_var *)p->sizes.data[i])->name);
        rlx_buf_lit(p->out, "}");
    }
    rlx_buf_lit(p->out, "\n  ],\n  \"b64ndarrays\": [");
    for (size_t i = 0; i < consts; i++) {
        rlx_buf_z(p->out, i ? "," : "");
        put_array(p, p->constants.data[i]);
    }
    rlx_buf_z(p->out, consts ? "\n  ],\n" : "],\n");
    rlx_buf_lit(p->out, "  \"attrs\": {\"tvm_version\": \"0.18.0\"}\n}\n");
}

/* ---- modules --------------------------------------------------------------------------------------- */

static void put_definition(printer *p, const rlx_relay_adt *adt)
{
    rlx_buf_z(p->out, adt->is_extern ? "extern type " : "type ");
    put_slice(p->out, adt->name);
    put_type_params(p, p->out, adt->params, adt->num_params);
    if (!adt->is_extern) {
        rlx_buf_lit(p->out, " {");
        for (size_t i = 0; i < adt->num_ctors; i++) {
            rlx_buf_lit(p->out, "\n  ");
            put_slice(p->out, adt->ctors[i]->name);
            if (adt->ctors[i]->num_fields) {
                rlx_buf_lit(p->out, "(");
                put_types(p, p->out, adt->ctors[i]->fields, adt->ctors[i]->num_fields, 0);
                rlx_buf_lit(p->out, ")");
            }
            rlx_buf_lit(p->out, ",");
        }
        rlx_buf_lit(p->out, "\n}");
    }
    rlx_buf_lit(p->out, "\n");
}

static int order(rlx_slice a, rlx_slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.data, b.data, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}
static int order_adts(const void *a, const void *b)
{
    return order((*(rlx_relay_adt *const *)a)->name, (*(rlx_relay_adt *const *)b)->name);
}
static int order_globals(const void *a, const void *b)
{
    return order((*(rlx_relay_global *const *)a)->name, (*(rlx_relay_global *const *)b)->name);
}

/* Names begin anew in each definition. */
static void forget_names(printer *p)
{
    rlx_map_free(&p->taken);
    rlx_map_init(&p->taken, &p->ctx->memory);
    rlx_ptrmap_clear(&p->names);
}

static bool put_module(printer *p, const rlx_relay_module *m)
{
    rlx_relay_adt **adts = rlx_region_copy(&p->region, m->adts.len ? (void *)m->adts.data : (void *)"",
                                           m->adts.len * sizeof *adts);
    rlx_relay_global **globals =
        rlx_region_copy(&p->region, m->globals.len ? (void *)m->globals.data : (void *)"",
                        m->globals.len * sizeof *globals);
    bool first = true;
    if (!adts || !globals)
        return false;
    qsort(adts, m->adts.len, sizeof *adts, order_adts);
    qsort(globals, m->globals.len, sizeof *globals, order_globals);
    for (size_t i = 0; i < m->globals.len; i++)
        if (!count_users(p, globals[i]->func))
            return false;
    for (size_t i = 0; i < m->adts.len; i++) {
        if (adts[i]->is_prelude)
            continue;
        rlx_buf_z(p->out, first ? "" : "\n");
        forget_names(p);
        put_definition(p, adts[i]);
        p->type_names.len = 0;
        first = false;
    }
    for (size_t i = 0; i < m->globals.len; i++) {
        if (globals[i]->is_prelude)
            continue;
        rlx_buf_z(p->out, first ? "" : "\n");
        forget_names(p);
        rlx_buf_lit(p->out, "def @");
        put_slice(p->out, globals[i]->name);
        put_function(p, globals[i]->func->func);
        rlx_buf_lit(p->out, "\n");
        first = false;
    }
    return true;
}

/* A free variable is declared in front of everything. */
static void put_free_vars(printer *p, rlx_relay_expr *root)
{
    rlx_ptrs stack = { 0 };
    rlx_ptrmap seen;
    rlx_memory *memory = &p->ctx->memory;
    rlx_ptrmap_init(&seen, memory);
    bool ok = rlx_vec_push(memory, &stack, root);
    while (ok && stack.len) {
        rlx_relay_expr *e = rlx_vec_pop(&stack), *child;
        if (rlx_ptrmap_has(&seen, e))
            continue;
        ok = rlx_ptrmap_put(&seen, e, 1);
        if (e->kind == RLX_RELAY_VAR && e->var.is_free) {
            rlx_buf_lit(p->out, "free_var ");
            put_binder(p, e);
            rlx_buf_lit(p->out, ";\n");
        }
        size_t at = stack.len;
        for (size_t i = 0; ok && (child = rlx_relay_child(e, i)) != NULL; i++)
            ok = rlx_vec_push(memory, &stack, child);
        for (size_t i = at, j = stack.len; ok && i + 1 < j; i++, j--) { /* the first one is on top */
            void *t = stack.data[i];
            stack.data[i] = stack.data[j - 1];
            stack.data[j - 1] = t;
        }
    }
    rlx_vec_free(memory, &stack);
    rlx_ptrmap_free(&seen);
    p->out->failed = p->out->failed || !ok;
}

void rlx_relay_print(const rlx_relay_module *m, rlx_buf *out)
{
    rlx_memory *memory = &m->ctx->memory;
    printer p = { .ctx = m->ctx, .out = out };
    rlx_ptrmap_init(&p.users, memory);
    rlx_ptrmap_init(&p.numbers, memory);
    rlx_ptrmap_init(&p.names, memory);
    rlx_ptrmap_init(&p.meta, memory);
    rlx_map_init(&p.taken, memory);
    rlx_region_init(&p.region, memory);
    rlx_buf_lit(out, "#[version = \"0.0.5\"]\n");
    if (m->has_prelude)
        rlx_buf_lit(out, "import \"prelude.rly\"\n");
    bool ok;
    if (m->expr) {
        put_free_vars(&p, m->expr);
        ok = count_users(&p, m->expr);
        put_scope(&p, m->expr);
        rlx_buf_lit(out, "\n");
    } else {
        ok = put_module(&p, m);
    }
    put_metadata(&p);
    out->failed = out->failed || !ok || p.too_deep;
    rlx_ptrmap_free(&p.users);
    rlx_ptrmap_free(&p.numbers);
    rlx_ptrmap_free(&p.names);
    rlx_ptrmap_free(&p.meta);
    rlx_map_free(&p.taken);
    rlx_vec_free(memory, &p.type_names);
    rlx_vec_free(memory, &p.constants);
    rlx_vec_free(memory, &p.sizes);
    rlx_region_drop(&p.region);
}
