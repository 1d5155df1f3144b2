/* reader_tir_call.c: calls of T.name(...) that are values: casts, nodes, intrinsics. */
/* built for size */
#include <math.h>

#include "script/reader_tir.h"
#include "tir/tir.h"

/* ---- helpers -------------------------------------------------------------------------------- */

const rlx_prim *rlx_read_prim_operand(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    return rlx_read_operand(r, a, &v) ? rlx_to_prim(r, a, &v) : NULL;
}

const rlx_prim *rlx_bool_prim(rlx_reader *r, bool value)
{
    return rlx_int(r->ctx, RELAX_BOOL, value);
}

static bool set_prim(rlx_val *out, const rlx_prim *p, const rlx_ast *at)
{
    return rlx_val_set(out, RLX_VAL_PRIM, p, at);
}

static bool read_dtype(rlx_reader *r, const rlx_ast *a, rlx_dtype *out)
{
    rlx_val v;
    return rlx_read_value(r, a, &v) && rlx_to_dtype(r, a, &v, out);
}

/* Positional arguments, each a PrimExpr, at most `max`. Returns how many, or SIZE_MAX after a
 * report. */
static size_t read_prims(rlx_reader *r, const rlx_ast *call, const rlx_prim **out, size_t min,
                         size_t max)
{
    size_t n = 0;
    for (const rlx_ast *a = call->first; a; a = a->next) {
        if (a->kind == RLX_AST_KEYWORD && rlx_slice_is(rlx_string_slice(a->name->text), "dtype"))
            continue; /* dropped, as in TVM: the result's dtype follows from the arguments */
        if (n == max ||
            !(out[n++] = rlx_read_prim_operand(r, a->kind == RLX_AST_KEYWORD ? a->base : a)))
            return n == max ? (rlx_read_error(r, RLX_PA12, a, "%zu argument%s expected, found %u", max,
                                              max == 1 ? " is" : "s are", (unsigned)call->count),
                               SIZE_MAX)
                            : SIZE_MAX;
    }
    if (n < min)
        return rlx_read_error(r, RLX_PA12, call, "%zu argument%s expected, found %zu", min,
                              min == 1 ? " is" : "s are", n),
               SIZE_MAX;
    return n;
}

/* ---- dtypes as functions -------------------------------------------------------------------- */

bool rlx_tir_reader_dtype_name(rlx_slice name, rlx_dtype *out)
{
    if (rlx_slice_is(name, "boolean"))
        return *out = RELAX_BOOL, true;
    if (rlx_slice_is(name, "int") || rlx_slice_is(name, "float") || rlx_slice_is(name, "uint"))
        return false;
    return rlx_dtype_parse(name, out);
}

/* "inf", "-inf", "nan", "-nan" */
static const rlx_prim *float_text(rlx_reader *r, const rlx_ast *at, rlx_slice text, rlx_dtype t)
{
    bool minus = text.len && text.data[0] == '-';
    if (minus)
        text.data++, text.len--;
    double f = rlx_slice_is(text, "inf") ? INFINITY : NAN;
    if (!rlx_dtype_is_float(t) || (!rlx_slice_is(text, "inf") && !rlx_slice_is(text, "nan")))
        return rlx_read_error(r, RLX_PA12, at,
                              "a number, \"inf\", \"-inf\", \"nan\" or \"-nan\" is expected"),
               NULL;
    return rlx_float(r->ctx, t, minus ? -f : f);
}

static const rlx_prim *cast_value(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype t)
{
    bool number = v->kind == RLX_VAL_INT || v->kind == RLX_VAL_FLOAT || v->kind == RLX_VAL_BOOL;
    if (number && rlx_dtype_lanes(t) == 1 &&
        (rlx_dtype_is_int(t) || rlx_dtype_is_float(t) || rlx_dtype_is_bool(t)))
        return rlx_dtype_is_bool(t) ? rlx_int(r->ctx, t, rlx_val_number(v) != 0)
                                    : rlx_val_literal(r, at, v, t);
    if (v->kind == RLX_VAL_STR)
        return float_text(r, at, v->s, t);
    const rlx_prim *p = rlx_to_prim(r, at, v);
    size_t errors = rlx_error_count(r->ctx);
    const rlx_prim *c = p ? rlx_fold_cast(r->ctx, t, p) : NULL;
    if (p && !c && errors == rlx_error_count(r->ctx))
        rlx_read_error(r, RLX_PA18, at, "this value cannot be cast so");
    return c;
}

static const rlx_string *string_of(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    rlx_slice s;
    return rlx_read_value(r, a, &v) && rlx_to_string(r, a, &v, &s) ? rlx_string_intern(r->ctx, s)
                                                                   : NULL;
}

/* T.handle("float32", "shared"): a typed pointer variable without a name yet */
static bool call_handle(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[3];
    rlx_dtype elem = RELAX_VOID;
    if (!rlx_bind_args(r, call, "T.handle", RLX_PARAMS("dtype", "storage_scope", "is_size_var"), 0,
                       slot))
        return false;
    const rlx_string *empty = rlx_string_z(r->ctx, ""), *scope = NULL;
    if (slot[0] && slot[0]->kind != RLX_AST_NONE &&
        (!read_dtype(r, slot[0], &elem) ||
         !(scope = slot[1] ? string_of(r, slot[1]) : rlx_string_z(r->ctx, "global"))))
        return false;
    if (!empty)
        return false;
    if (!scope)
        return set_prim(out,
                        (const rlx_prim *)rlx_prim_var_new(r->ctx, empty, RELAX_HANDLE,
                                                           rlx_read_place(r, call)),
                        call);
    return set_prim(out, rlx_pointer_var(r->ctx, empty, elem, scope, rlx_read_place(r, call)),
                    call);
}

/* T.int64(): a fresh variable, named when it is bound. T.int64(x): a cast. */
static bool call_dtype(rlx_reader *r, rlx_dtype t, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v;
    bool size = false;
    if (t == RELAX_HANDLE)
        return call_handle(r, call, out);
    if (!rlx_bind_args(r, call, "this function", RLX_PARAMS("expr", "is_size_var"), 0, slot))
        return false;
    if (slot[0] && slot[0]->kind != RLX_AST_NONE) {
        rlx_val x;
        return rlx_read_operand(r, slot[0], &x) &&
               set_prim(out, cast_value(r, slot[0], &x, t), call);
    }
    if (slot[1] && (!rlx_read_value(r, slot[1], &v) || !rlx_to_bool(r, slot[1], &v, &size)))
        return false;
    const rlx_string *empty = rlx_string_z(r->ctx, "");
    rlx_prim_var *var =
        empty ? (rlx_prim_var *)rlx_prim_var_new(r->ctx, empty, t, rlx_read_place(r, call)) : NULL;
    if (!var)
        return false;
    var->is_size = size;
    return set_prim(out, &var->node, call);
}

/* T.var("int32"), the older form of T.int32() */
static bool call_var(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_dtype t = RELAX_INT32;
    if (!rlx_bind_args(r, call, "T.var", RLX_PARAMS("dtype", "name"), 0, slot) ||
        (slot[0] && !read_dtype(r, slot[0], &t)))
        return false;
    rlx_read_note(r, call, "T.var(\"int32\") is an older spelling of T.int32()");
    const rlx_string *empty = rlx_string_z(r->ctx, "");
    return set_prim(
        out,
        empty ? (const rlx_prim *)rlx_prim_var_new(r->ctx, empty, t, rlx_read_place(r, call))
              : NULL,
        call);
}

/* T.Var("x", "int32"), T.SizeVar */
static bool call_named_var(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                           rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_dtype t = RELAX_INT32;
    if (!rlx_bind_args(r, call, fn->name, RLX_PARAMS("name", "dtype"), 1, slot) ||
        (slot[1] && !read_dtype(r, slot[1], &t)))
        return false;
    const rlx_string *name = string_of(r, slot[0]);
    rlx_prim_var *var =
        name ? (rlx_prim_var *)rlx_prim_var_new(r->ctx, name, t, rlx_read_place(r, call)) : NULL;
    if (!var)
        return false;
    var->is_size = fn->what;
    return set_prim(out, &var->node, call);
}

/* ---- nodes as written ----------------------------------------------------------------------- */

static bool node_binary(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        rlx_val *out)
{
    const rlx_prim *p[2];
    if (read_prims(r, call, p, 2, 2) == SIZE_MAX)
        return false;
    if (rlx_prim_dtype(p[0]) != rlx_prim_dtype(p[1])) {
        /* a literal takes the type of the other side */
        const rlx_prim *a = p[0], *b = p[1];
        bool literal = rlx_is(a, RLX_NODE_INT_IMM) || rlx_is(b, RLX_NODE_INT_IMM) ||
                       rlx_is(a, RLX_NODE_FLOAT_IMM) || rlx_is(b, RLX_NODE_FLOAT_IMM);
        if (!literal || !rlx_match_types(r->ctx, &p[0], &p[1]))
            return rlx_prims_differ(r, call, a, b);
    }
    return set_prim(out, rlx_binary_new(r->ctx, (enum rlx_node_kind)fn->what, p[0], p[1]), call);
}

/* The function forms match types and fold: T.min, T.floordiv ... */
static bool fold_binary(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        rlx_val *out)
{
    const rlx_prim *p[2];
    size_t errors = rlx_error_count(r->ctx);
    if (read_prims(r, call, p, 2, 2) == SIZE_MAX)
        return false;
    bool divides = fn->what == RLX_NODE_FLOOR_DIV || fn->what == RLX_NODE_FLOOR_MOD ||
                   fn->what == RLX_NODE_DIV || fn->what == RLX_NODE_MOD;
    if (divides && rlx_is_int_value(p[1], 0))
        return rlx_read_error(r, RLX_PA18, call, "division by zero");
    const rlx_prim *q = rlx_fold_binary(r->ctx, (enum rlx_node_kind)fn->what, p[0], p[1]);
    if (!q && errors == rlx_error_count(r->ctx))
        return rlx_prims_differ(r, call, p[0], p[1]);
    return set_prim(out, q, call);
}

static bool fold_bits(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_prim *p[2];
    return read_prims(r, call, p, 2, 2) != SIZE_MAX &&
           rlx_prim_intrinsic(r, fn->name, call, p[0], p[1], out);
}

static bool call_not(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_prim *p[1];
    return read_prims(r, call, p, 1, 1) != SIZE_MAX && set_prim(out, rlx_not(r->ctx, p[0]), call);
}

/* T.Cast("float32", x) always, T.cast(x, "float32") folding */
static bool call_cast(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_dtype t;
    rlx_val v;
    bool node = fn->what;
    if (!rlx_bind_args(r, call, fn->name,
                       node ? RLX_PARAMS("dtype", "value") : RLX_PARAMS("value", "dtype"), 2,
                       slot))
        return false;
    if (!read_dtype(r, slot[!node], &t) || !rlx_read_operand(r, slot[node], &v))
        return false;
    if (!node)
        return set_prim(out, cast_value(r, slot[0], &v, t), call);
    const rlx_prim *p = rlx_to_prim(r, slot[1], &v);
    if (p && rlx_dtype_lanes(t) != rlx_dtype_lanes(rlx_prim_dtype(p)))
        return rlx_read_error(r, RLX_PA18, slot[1], "a cast keeps the number of lanes");
    return p && set_prim(out, rlx_cast(r->ctx, t, p), call);
}

static bool call_select(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        rlx_val *out)
{
    const rlx_prim *p[3];
    if (read_prims(r, call, p, 3, 3) == SIZE_MAX)
        return false;
    if (rlx_prim_dtype(p[1]) != rlx_prim_dtype(p[2]))
        return rlx_prims_differ(r, call, p[1], p[2]);
    return set_prim(out, rlx_select_new(r->ctx, p[0], p[1], p[2]), call);
}

static bool call_if_then_else(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                              rlx_val *out)
{
    const rlx_prim *p[3];
    size_t errors = rlx_error_count(r->ctx);
    if (read_prims(r, call, p, 3, 3) == SIZE_MAX)
        return false;
    const rlx_prim *q = rlx_fold_select(r->ctx, p[0], p[1], p[2]);
    if (!q && errors == rlx_error_count(r->ctx))
        return rlx_prims_differ(r, call, p[1], p[2]);
    return set_prim(out, q, call);
}

static bool lanes_of(rlx_reader *r, const rlx_ast *at, const rlx_prim *p, int64_t *lanes)
{
    if (!rlx_int_literal(p, lanes))
        return rlx_read_error(r, RLX_PA16, at, "vectors of scalable length are not supported");
    return (*lanes > 0 && *lanes < 32768) ||
           rlx_read_error(r, RLX_PA24, at, "%lld is no number of lanes", (long long)*lanes);
}

static bool call_ramp(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_prim *p[3];
    int64_t lanes;
    if (read_prims(r, call, p, 3, 3) == SIZE_MAX || !lanes_of(r, call, p[2], &lanes))
        return false;
    if (!rlx_match_types(r->ctx, &p[0], &p[1]))
        return rlx_prims_differ(r, call, p[0], p[1]);
    rlx_ramp key = { .node = { .kind = RLX_NODE_RAMP },
                     .dtype = rlx_dtype_with_lanes(rlx_prim_dtype(p[0]), (int)lanes),
                     .base = p[0],
                     .stride = p[1],
                     .lanes = p[2] };
    return set_prim(out, rlx_node_intern(r->ctx, &key.node), call);
}

static bool call_broadcast(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                           rlx_val *out)
{
    const rlx_prim *p[2];
    int64_t lanes;
    if (read_prims(r, call, p, 2, 2) == SIZE_MAX || !lanes_of(r, call, p[1], &lanes))
        return false;
    rlx_broadcast key = { .node = { .kind = RLX_NODE_BROADCAST },
                          .dtype = rlx_dtype_with_lanes(rlx_prim_dtype(p[0]), (int)lanes),
                          .value = p[0],
                          .lanes = p[1] };
    return set_prim(out, rlx_node_intern(r->ctx, &key.node), call);
}

/* A list of PrimExprs onto the stack. */
static bool push_list(rlx_reader *r, const rlx_ast *a, size_t *count)
{
    if (a->kind != RLX_AST_LIST && a->kind != RLX_AST_TUPLE)
        return rlx_read_error(r, RLX_PA12, a, "a list is expected");
    *count = 0;
    for (const rlx_ast *i = a->first; i; i = i->next, ++*count) {
        const rlx_prim *p = rlx_read_prim_operand(r, i);
        if (!p || !rlx_tir_reader_push(r, &r->stack, p))
            return false;
    }
    return true;
}

static bool call_shuffle(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         rlx_val *out)
{
    const rlx_ast *slot[2];
    size_t mark = r->stack.len, n = 0, k = 0;
    if (!rlx_bind_args(r, call, "T.Shuffle", RLX_PARAMS("vectors", "indices"), 2, slot))
        return false;
    bool ok = push_list(r, slot[0], &n) && push_list(r, slot[1], &k);
    if (ok && (!n || !k || k > 32767))
        ok = rlx_read_error(r, RLX_PA12, call, "T.Shuffle needs vectors and indices");
    const rlx_node *const *p = (const rlx_node *const *)(r->stack.data + mark);
    rlx_shuffle key = { .node = { .kind = RLX_NODE_SHUFFLE },
                        .vectors = p,
                        .num_vectors = n,
                        .indices = p ? p + n : NULL,
                        .num_indices = k };
    if (ok)
        key.dtype = rlx_dtype_with_lanes(rlx_prim_dtype(p[0]), (int)k);
    const rlx_prim *result = ok ? rlx_node_intern(r->ctx, &key.node) : NULL;
    r->stack.len = mark;
    return set_prim(out, result, call);
}

/* T.Let(body, where={x: v}) */
static bool call_let(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    if (!rlx_bind_args(r, call, "T.Let", RLX_PARAMS("expr", "where"), 2, slot))
        return false;
    const rlx_ast *pairs = slot[1];
    if (pairs->kind != RLX_AST_DICT || pairs->count != 2 || pairs->first->kind != RLX_AST_NAME)
        return rlx_read_error(r, RLX_PA12, pairs, "where={variable: value} is expected");
    const rlx_prim *var = rlx_read_prim(r, pairs->first),
                   *value = var ? rlx_read_prim_operand(r, pairs->first->next) : NULL;
    const rlx_prim *body = value ? rlx_read_prim_operand(r, slot[0]) : NULL;
    if (!body)
        return false;
    if (!rlx_as_prim_var(var) || rlx_prim_dtype(var) != rlx_prim_dtype(value))
        return rlx_as_prim_var(var) ? rlx_prims_differ(r, pairs, var, value)
                                    : rlx_read_error(r, RLX_PA12, pairs, "T.Let binds a variable");
    rlx_prim_let key = { .node = { .kind = RLX_NODE_PRIM_LET },
                         .dtype = rlx_prim_dtype(body),
                         .value = value,
                         .var = var,
                         .body = body };
    return set_prim(out, rlx_node_intern(r->ctx, &key.node), call);
}

static bool call_literal_node(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                              rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_dtype t;
    rlx_val v;
    if (!rlx_bind_args(r, call, fn->name, RLX_PARAMS("dtype", "value"), 2, slot) ||
        !read_dtype(r, slot[0], &t) || !rlx_read_value(r, slot[1], &v))
        return false;
    return set_prim(out, cast_value(r, slot[1], &v, t), call);
}

static bool call_string(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        rlx_val *out)
{
    const rlx_ast *slot[1];
    if (!rlx_bind_args(r, call, "T.StringImm", RLX_PARAMS("value"), 1, slot))
        return false;
    rlx_tir_string key = { .node = { .kind = RLX_NODE_TIR_STRING },
                           .value = string_of(r, slot[0]) };
    return set_prim(out, key.value ? rlx_node_intern(r->ctx, &key.node) : NULL, call);
}

static bool call_reducer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         rlx_val *out)
{
    return rlx_val_set(out, RLX_VAL_PRIM, rlx_read_reducer(r, call), call);
}

/* ---- values of other kinds ------------------------------------------------------------------ */

static bool call_index_map(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                           rlx_val *out)
{
    const rlx_ast *slot[3];
    rlx_dtype t = RELAX_INT64;
    const rlx_attr *inverse = NULL;
    if (!rlx_bind_args(r, call, "T.index_map",
                       RLX_PARAMS("mapping", "inverse_index_map", "index_dtype"), 1, slot))
        return false;
    if (slot[2] && !read_dtype(r, slot[2], &t))
        return false;
    if (slot[1] && slot[1]->kind != RLX_AST_NONE &&
        !(inverse = rlx_read_index_map(r, slot[1], t, NULL)))
        return false;
    return rlx_val_set(out, RLX_VAL_NODE, rlx_read_index_map(r, slot[0], t, inverse), call);
}

/* T.target({...}) is the dictionary itself (or the text): the key of the attribute says what it
 * means */
static bool call_target(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        rlx_val *out)
{
    const rlx_ast *slot[2];
    return rlx_bind_args(r, call, "T.target", RLX_PARAMS("target_config", "host"), 1, slot) &&
           rlx_read_value(r, slot[0], out);
}

static bool call_range(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                       rlx_val *out)
{
    const rlx_ast *slot[2];
    if (!rlx_bind_args(r, call, "T.Range", RLX_PARAMS("begin", "end"), 1, slot))
        return false;
    return rlx_val_set(out, RLX_VAL_RANGE, rlx_read_range_of(r, call, slot[0], slot[1]), call);
}

/* T.iter_var(v, T.Range(0, 8), "ThreadIndex", "threadIdx.x") */
static bool call_iter_var(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          rlx_val *out)
{
    static const struct { const char *text; uint8_t type;
    } types[] = {
        { "DataPar", RLX_ITER_SPATIAL },   { "ThreadIndex", RLX_ITER_THREAD },
        { "CommReduce", RLX_ITER_REDUCE }, { "Ordered", RLX_ITER_SCAN },
        { "Opaque", RLX_ITER_OPAQUE },
    };
    const rlx_ast *slot[4];
    rlx_val v;
    if (!rlx_bind_args(r, call, "T.iter_var", RLX_PARAMS("var", "dom", "iter_type", "thread_tag"),
                       3, slot))
        return false;
    const rlx_prim *var = rlx_read_prim(r, slot[0]);
    const rlx_string *type = var ? string_of(r, slot[2]) : NULL,
                     *tag =
                         type ? slot[3] ? string_of(r, slot[3]) : rlx_string_z(r->ctx, "") : NULL;
    if (!tag || !rlx_read_value(r, slot[1], &v))
        return false;
    if (v.kind != RLX_VAL_NONE && v.kind != RLX_VAL_RANGE)
        return rlx_read_expected(r, slot[1], "a T.Range or None", &v);
    size_t i = 0;
    while (i < RLX_COUNT(types) && !rlx_slice_is(rlx_string_slice(type), types[i].text))
        i++;
    if (i == RLX_COUNT(types))
        return rlx_read_error(r, RLX_PA12, slot[2], "\"%s\" is no kind of iteration", type->data);
    rlx_iter_var *iter = rlx_node_new(r->ctx, RLX_NODE_ITER_VAR);
    if (!iter)
        return false;
    iter->dom = v.kind == RLX_VAL_RANGE ? v.node : NULL;
    iter->var = var;
    iter->iter_type = types[i].type;
    iter->thread_tag = tag;
    return rlx_val_set(out, RLX_VAL_ITER, &iter->node, call);
}

static bool call_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        rlx_val *out)
{
    const rlx_ast *slot[RLX_BUF_COUNT];
    if (!rlx_bind_args(r, call, "T.Buffer", RLX_PARAMS(RLX_BUF_PARAMS), 1, slot))
        return false;
    const rlx_string *name = rlx_string_z(r->ctx, "");
    const rlx_buffer *b = name ? rlx_make_buffer(r, name, call, slot, NULL) : NULL;
    return rlx_val_set(out, RLX_VAL_BUFFER, b ? &b->node : NULL, call);
}

static bool call_meta_var(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          rlx_val *out)
{
    const rlx_ast *slot[1];
    return rlx_bind_args(r, call, "T.meta_var", RLX_PARAMS("value"), 1, slot) &&
           rlx_read_value(r, slot[0], out);
}

/* ---- functions that expand while they are read ---------------------------------------------- */

static bool call_abs(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_prim *x;
    if (read_prims(r, call, &x, 1, 1) == SIZE_MAX)
        return false;
    rlx_dtype t = rlx_prim_dtype(x);
    if (!rlx_dtype_is_int(t))
        return set_prim(out, rlx_prim_call_z(r->ctx, t, "fabs", &x, 1), call);
    const rlx_prim *zero = rlx_fold_cast(r->ctx, t, rlx_int(r->ctx, RELAX_INT32, 0));
    return set_prim(out,
                    rlx_select_new(r->ctx, rlx_binary_new(r->ctx, RLX_NODE_GE, x, zero), x,
                                   rlx_fold_sub(r->ctx, zero, x)),
                    call);
}

static bool call_ceildiv(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         rlx_val *out)
{
    const rlx_prim *p[2];
    if (read_prims(r, call, p, 2, 2) == SIZE_MAX)
        return false;
    if (rlx_is_int_value(p[1], 0))
        return rlx_read_error(r, RLX_PA18, call, "division by zero");
    const rlx_prim *sum =
        rlx_fold_sub(r->ctx, rlx_fold_add(r->ctx, p[0], p[1]), rlx_int(r->ctx, RELAX_INT32, 1));
    const rlx_prim *q = sum ? rlx_fold_binary(r->ctx, RLX_NODE_FLOOR_DIV, sum, p[1]) : NULL;
    return q ? set_prim(out, q, call) : rlx_prims_differ(r, call, p[0], p[1]);
}

static const rlx_prim *is_inf(rlx_reader *r, const rlx_prim *x)
{
    rlx_dtype t = rlx_prim_dtype(x);
    const rlx_prim *magnitude = rlx_prim_call_z(r->ctx, t, "fabs", &x, 1);
    const rlx_prim *nan = rlx_prim_call_z(
        r->ctx, rlx_dtype_with_lanes(RELAX_BOOL, rlx_dtype_lanes(t)), "isnan", &x, 1);
    const rlx_prim *equal =
        rlx_binary_new(r->ctx, RLX_NODE_EQ, magnitude, rlx_float(r->ctx, t, INFINITY));
    return rlx_binary_new(r->ctx, RLX_NODE_AND, equal, rlx_not(r->ctx, nan));
}

static bool call_isinf(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                       rlx_val *out)
{
    const rlx_prim *x;
    if (read_prims(r, call, &x, 1, 1) == SIZE_MAX)
        return false;
    if (!rlx_dtype_is_float(rlx_prim_dtype(x)))
        return set_prim(out, rlx_bool_prim(r, fn->what), call);
    const rlx_prim *inf = is_inf(r, x);
    if (!fn->what)
        return set_prim(out, inf, call);
    const rlx_prim *nan = rlx_prim_call_z(r->ctx, RELAX_BOOL, "isnan", &x, 1);
    return set_prim(
        out, rlx_binary_new(r->ctx, RLX_NODE_AND, rlx_not(r->ctx, inf), rlx_not(r->ctx, nan)),
        call);
}

/* Rounding of an integer is the integer. */
static bool call_round(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                       rlx_val *out)
{
    const rlx_prim *x;
    if (read_prims(r, call, &x, 1, 1) == SIZE_MAX)
        return false;
    rlx_dtype t = rlx_prim_dtype(x);
    return set_prim(out, rlx_dtype_is_int(t) ? x : rlx_prim_call_z(r->ctx, t, fn->name, &x, 1),
                    call);
}

/* T.max_value("int8"), T.min_value, T.infinity */
static bool call_limit(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                       rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_dtype t;
    if (!rlx_bind_args(r, call, fn->name, RLX_PARAMS("dtype"), 1, slot) ||
        !read_dtype(r, slot[0], &t))
        return false;
    int bits = rlx_dtype_bits(t);
    if (rlx_dtype_is_float(t))
        return set_prim(out,
                        rlx_float(r->ctx, t,
                                  fn->what == 2 ? INFINITY
                                  : fn->what    ? rlx_dtype_greatest(t)
                                                : -rlx_dtype_greatest(t)),
                        call);
    if (fn->what == 2 || !(rlx_dtype_is_int(t) || rlx_dtype_is_bool(t)))
        return rlx_read_error(r, RLX_PA18, call, "this dtype has no such value");
    bool is_unsigned = rlx_dtype_code(t) == RELAX_DTYPE_UINT;
    int64_t top = (int64_t)(UINT64_MAX >> (64 - bits + !is_unsigned));
    return set_prim(out, rlx_int(r->ctx, t, fn->what ? top : is_unsigned ? 0 : -top - 1), call);
}

/* ---- intrinsics ----------------------------------------------------------------------------- */

static rlx_dtype result_dtype(uint8_t rule, const rlx_prim *const *args, size_t n)
{
    static const rlx_dtype fixed[] = { [RLX_TIR_RULE_BOOL] = RELAX_BOOL,
                                       [RLX_TIR_RULE_I32] = RELAX_INT32,
                                       [RLX_TIR_RULE_U32] = RELAX_UINT32,
                                       [RLX_TIR_RULE_HANDLE] = RELAX_HANDLE,
                                       [RLX_TIR_RULE_VOID] = RELAX_VOID };
    size_t from = rule == RLX_TIR_RULE_SECOND;
    if (rule == RLX_TIR_RULE_SAME || rule == RLX_TIR_RULE_SECOND)
        return from < n ? rlx_prim_dtype(args[from]) : RELAX_INT32;
    rlx_dtype t = fixed[rule];
    return rule == RLX_TIR_RULE_BOOL && n
               ? rlx_dtype_with_lanes(t, rlx_dtype_lanes(rlx_prim_dtype(args[0])))
               : t;
}

/* The dtype a call states: by keyword anywhere, else its first (or last) positional argument,
 * which *skip then names. */
static bool stated_dtype(rlx_reader *r, uint8_t rule, const rlx_ast *call, rlx_dtype *t,
                         const rlx_ast **skip)
{
    const rlx_ast *a = rlx_keyword(call, "dtype"), *last = NULL;
    *skip = NULL;
    for (const rlx_ast *i = call->first; i; i = i->next)
        last = i->kind == RLX_AST_KEYWORD ? last : i;
    if (!a)
        *skip = a = rule == RLX_TIR_RULE_LAST ? last : call->first;
    if (!a || a->kind == RLX_AST_KEYWORD)
        return rlx_read_error(r, RLX_PA12, call, "this call states its dtype %s",
                              rule == RLX_TIR_RULE_LAST ? "last" : "first");
    rlx_val v;
    rlx_dtype any;
    if (!rlx_read_value(r, a, &v))
        return false;
    if (*skip && v.kind == RLX_VAL_STR && !rlx_dtype_parse(v.s, &any) && !rlx_cure_dtype(r, v.s))
        return rlx_read_error(r, RLX_PA25, a, "expected the dtype of the result in front, as \"float32\", found \"%.*s\"",
                              (int)(v.s.len > 60 ? 60 : v.s.len), v.s.data);
    return rlx_to_dtype(r, a, &v, t);
}

static const rlx_prim *intrinsic_argument(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (!rlx_read_operand(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_BUFFER)
        return ((const rlx_buffer *)v.node)->data;
    return rlx_to_prim(r, a, &v);
}

static bool intrinsic(rlx_reader *r, const char *op, uint8_t rule, const rlx_ast *given,
                      rlx_val *out)
{
    size_t mark = r->stack.len;
    const rlx_ast *skip = NULL, *call = rlx_expand_stars(r, given);
    rlx_dtype t = RELAX_VOID;
    bool states = rule == RLX_TIR_RULE_FIRST || rule == RLX_TIR_RULE_LAST;
    bool ok = call && (!states || stated_dtype(r, rule, call, &t, &skip));
    for (const rlx_ast *a = ok ? call->first : NULL; a && ok; a = a->next) {
        bool dtype = a == skip || (a->kind == RLX_AST_KEYWORD &&
                                   rlx_slice_is(rlx_string_slice(a->name->text), "dtype"));
        const rlx_prim *p =
            dtype ? NULL : intrinsic_argument(r, a->kind == RLX_AST_KEYWORD ? a->base : a);
        if (p && rule == RLX_TIR_RULE_SAME && rlx_is(p, RLX_NODE_TIR_STRING))
            ok = rlx_read_error(r, RLX_PA12, a, "T.%s computes with numbers, found a string", op);
        ok = ok && (dtype || (p && rlx_tir_reader_push(r, &r->stack, p)));
    }
    const rlx_prim *const *args = (const rlx_prim *const *)(r->stack.data + mark);
    size_t n = r->stack.len - mark;
    if (ok && !states)
        t = result_dtype(rule, args, n);
    const rlx_prim *p = ok ? rlx_prim_call_z(r->ctx, t, op, args, n) : NULL;
    r->stack.len = mark;
    return set_prim(out, p, given);
}

/* How many arguments a function of numbers takes, the last character of its kind; 0: no such
 * function. */
static unsigned arity_of(const char *name)
{
    static const struct { const char *name, *kind; } rows[] = {
#define SCALAR_FLOAT(name, kind, rule, f32, f64) { #name, #kind },
#define SCALAR_SYNONYM(name, of, kind, rule) { #name, #kind },
#define SCALAR_OTHER(name, kind, rule) { #name, #kind },
#include "format/scalar_op.def"
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (!strcmp(rows[i].name, name)) {
            char last = rows[i].kind[strlen(rows[i].kind) - 1];
            return last >= '1' && last <= '3' ? (unsigned)(last - '0') : 2; /* LDEXP */
        }
    return 0;
}

static bool call_intrinsic(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                           rlx_val *out)
{
    unsigned arity = fn->what == RLX_TIR_RULE_SAME || fn->what == RLX_TIR_RULE_BOOL ? arity_of(fn->name) : 0,
             given = 0;
    bool plain = true;
    for (const rlx_ast *a = call->first; a; a = a->next) {
        plain &= a->kind != RLX_AST_STAR;
        given += a->kind != RLX_AST_KEYWORD || !rlx_slice_is(rlx_string_slice(a->name->text), "dtype");
    }
    if (arity && plain && given != arity)
        return rlx_read_error(r, RLX_PA12, call, "T.%s takes %u argument%s, found %u", fn->name, arity,
                              arity == 1 ? "" : "s", given);
    return intrinsic(r, fn->text ? fn->text : fn->name, fn->what, call, out);
}

/* T.call_intrin("float32", "tir.exp", x) */
static bool call_by_name(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         rlx_val *out)
{
    const rlx_ast *name = call->first ? call->first->next : NULL;
    if (!name || name->kind == RLX_AST_KEYWORD)
        return rlx_read_error(r, RLX_PA12, call,
                              "T.call_intrin takes a dtype and the name of an intrinsic");
    const rlx_string *op = string_of(r, name);
    if (!op)
        return false;
    rlx_ast rest = *call, dtype = *call->first;
    rest.first = &dtype;
    dtype.next = name->next;
    rest.count--;
    return intrinsic(r, strncmp(op->data, "tir.", 4) == 0 ? op->data + 4 : op->data,
                     RLX_TIR_RULE_FIRST, &rest, out);
}

static bool not_supported(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          rlx_val *out)
{
    return rlx_read_error(r, RLX_PA16, call, "T.%s is not supported", fn->name);
}

#define NODE(name, kind) { name, node_binary, NULL, RLX_NODE_##kind, NULL }
#define FOLD(name, kind) { name, fold_binary, NULL, RLX_NODE_##kind, NULL }
#define NAMED(name, rule, op) { name, call_intrinsic, NULL, RLX_TIR_RULE_##rule, op }
/* How a row of tir_call.def is read, by its rule; isinf and isfinite have rows below. */
#define READ_SAME(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_SAME, NULL },
#define READ_SECOND(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_SECOND, NULL },
#define READ_BOOL(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_BOOL, NULL },
#define READ_I32(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_I32, NULL },
#define READ_U32(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_U32, NULL },
#define READ_HANDLE(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_HANDLE, NULL },
#define READ_VOID(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_VOID, NULL },
#define READ_FIRST(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_FIRST, NULL },
#define READ_LAST(name) { name, call_intrinsic, NULL, RLX_TIR_RULE_LAST, NULL },
#define READ_FOLD(name) { name, fold_bits, NULL, 0, NULL },
#define READ_ROUND(name) { name, call_round, NULL, 0, NULL },
#define READ_CHOICE(name) { name, call_if_then_else, NULL, 0, NULL },
#define READ_EXPANDED(name)
#define TIR_CALL(name, rule) READ_##rule(#name)

const rlx_tir_reader_fn rlx_tir_reader_values[] = {
    NODE("Add", ADD),
    NODE("Sub", SUB),
    NODE("Mul", MUL),
    NODE("Div", DIV),
    NODE("Mod", MOD),
    NODE("FloorDiv", FLOOR_DIV),
    NODE("FloorMod", FLOOR_MOD),
    NODE("Min", MIN),
    NODE("Max", MAX),
    NODE("EQ", EQ),
    NODE("NE", NE),
    NODE("LT", LT),
    NODE("LE", LE),
    NODE("GT", GT),
    NODE("GE", GE),
    NODE("And", AND),
    NODE("Or", OR),
    FOLD("min", MIN),
    FOLD("max", MAX),
    FOLD("floordiv", FLOOR_DIV),
    FOLD("floormod", FLOOR_MOD),
    FOLD("truncdiv", DIV),
    FOLD("truncmod", MOD),
    { "Not", call_not, NULL, 0, NULL },
    { "Cast", call_cast, NULL, 1, NULL },
    { "cast", call_cast, NULL, 0, NULL },
    { "Select", call_select, NULL, 0, NULL },
    { "Ramp", call_ramp, NULL, 0, NULL },
    { "ramp", call_ramp, NULL, 0, NULL },
    { "Broadcast", call_broadcast, NULL, 0, NULL },
    { "broadcast", call_broadcast, NULL, 0, NULL },
    { "Shuffle", call_shuffle, NULL, 0, NULL },
    { "Let", call_let, NULL, 0, NULL },
    { "IntImm", call_literal_node, NULL, 0, NULL },
    { "FloatImm", call_literal_node, NULL, 0, NULL },
    { "StringImm", call_string, NULL, 0, NULL },
    { "comm_reducer", call_reducer, NULL, 0, NULL },
    { "var", call_var, NULL, 0, NULL },
    { "Var", call_named_var, NULL, 0, NULL },
    { "SizeVar", call_named_var, NULL, 1, NULL },
    { "index_map", call_index_map, NULL, 0, NULL },
    { "target", call_target, NULL, 0, NULL },
    { "Range", call_range, NULL, 0, NULL },
    { "iter_var", call_iter_var, NULL, 0, NULL },
    { "Buffer", call_buffer, NULL, 0, NULL },
    { "buffer", call_buffer, NULL, 0, NULL },
    { "buffer_decl", call_buffer, NULL, 0, NULL },
    { "meta_var", call_meta_var, NULL, 0, NULL },
    { "abs", call_abs, NULL, 0, NULL },
    { "ceildiv", call_ceildiv, NULL, 0, NULL },
    { "isinf", call_isinf, NULL, 0, NULL },
    { "isfinite", call_isinf, NULL, 1, NULL },
    { "max_value", call_limit, NULL, 1, NULL },
    { "min_value", call_limit, NULL, 0, NULL },
    { "infinity", call_limit, NULL, 2, NULL },
#include "script/tir_call.def"
    NAMED("call_packed", I32, "tvm_call_packed"),
    NAMED("call_cpacked", I32, "tvm_call_cpacked"),
    NAMED("call_packed_lowered", I32, "tvm_call_packed_lowered"),
    NAMED("call_cpacked_lowered", I32, "tvm_call_cpacked_lowered"),
    { "call_intrin", call_by_name, NULL, 0, NULL },
    { "Reduce", not_supported, NULL, 0, NULL },
    { "ProducerLoad", not_supported, NULL, 0, NULL },
    { "Call", not_supported, NULL, 0, NULL },
    { "call_ffi_kernel", not_supported, NULL, 0, NULL },
    { "llvm_lookup_intrinsic_id", not_supported, NULL, 0, NULL },
    { "macro", not_supported, NULL, 0, NULL },
    { NULL, NULL, NULL, 0, NULL },
};

/* ---- look-up -------------------------------------------------------------------------------- */

const rlx_tir_reader_fn *rlx_tir_reader_fn_of(rlx_reader *r, rlx_word *path)
{
    rlx_functions *known = rlx_word_functions(&r->names, path);
    if (!known || known->looked_tir)
        return known ? known->tir : NULL;
    known->looked_tir = true;
    rlx_slice name = rlx_string_slice(path->text);
    for (const rlx_tir_reader_fn *f = rlx_tir_reader_values; f->name && !known->tir; f++)
        if (rlx_slice_is(name, f->name))
            known->tir = f;
    for (const rlx_tir_reader_fn *f = rlx_tir_reader_statements; f->name && !known->tir; f++)
        if (rlx_slice_is(name, f->name))
            known->tir = f;
    return known->tir;
}

const rlx_tir_reader_fn *rlx_tir_reader_callee(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    const rlx_ast *root = a;
    while (root->kind == RLX_AST_ATTR)
        root = root->base;
    if (a == root || root->kind != RLX_AST_NAME || root->name->value.kind != RLX_VAL_SPACE ||
        root->name->value.sub != RLX_SPACE_T)
        return NULL;
    return rlx_read_value(r, a, &v) && v.kind == RLX_VAL_FUNC
               ? rlx_tir_reader_fn_of(r, (rlx_word *)v.fn.path)
               : NULL;
}

static const char *tir_name_at(void *user, size_t i)
{
    size_t values = 0;
    while (rlx_tir_reader_values[values].name)
        values++;
    return i < values ? rlx_tir_reader_values[i].name : rlx_tir_reader_statements[i - values].name;
}

static bool unknown(rlx_reader *r, const rlx_word *path, const rlx_ast *at)
{
    size_t n = 0, k = 0;
    while (rlx_tir_reader_values[n].name)
        n++;
    while (rlx_tir_reader_statements[k].name)
        k++;
    rlx_slice name = rlx_string_slice(path->text);
    const char *made = rlx_cure_function(name, true);
    if (made)
        return rlx_read_error(r, RLX_PA11, at, "T.%s is not known; write %s", path->text->data, made);
    const char *near = rlx_slice_is(name, "alloc") || rlx_slice_is(name, "empty") || rlx_slice_is(name, "zeros")
                           ? "alloc_buffer"
                           : rlx_nearest(r, name, tir_name_at, NULL, n + k);
    return rlx_read_error(r, RLX_PA11, at, "T.%s is not known%s%s", path->text->data,
                          near ? "; did you mean T." : "", near ? near : "");
}

bool rlx_call_tir(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out)
{
    rlx_dtype t;
    const rlx_tir_reader_fn *fn = rlx_tir_reader_fn_of(r, path);
    if (fn && fn->expr)
        return fn->expr(r, fn, call, out);
    if (fn)
        return rlx_read_error(r, RLX_PA15, call, "T.%s is a statement, not a value", fn->name);
    if (rlx_tir_reader_dtype_name(rlx_string_slice(path->text), &t))
        return call_dtype(r, t, call, out);
    return unknown(r, path, call->base);
}

bool rlx_call_sibling(rlx_reader *r, const rlx_expr *callee, const rlx_ast *call, rlx_val *out)
{
    const rlx_global_var *gv = rlx_as_global_var(callee);
    rlx_dtype t = RELAX_VOID;
    if (!gv)
        return rlx_read_error(r, RLX_PA12, call,
                              "only functions of the module are called in a PrimFunc");
    for (size_t i = 0; i < r->module.pending.len; i++) {
        const rlx_pending *f = r->module.pending.data[i];
        if (f->gvar == gv && !f->tir)
            return rlx_read_error(r, RLX_PA12, call, "%s is a Relax function; a PrimFunc calls PrimFuncs of the module",
                                  gv->name->data);
        if (f->gvar == gv)
            t = f->ret_dtype;
    }
    size_t mark = r->stack.len;
    bool ok = true;
    for (const rlx_ast *a = call->first; a && ok; a = a->next) {
        const rlx_prim *p = intrinsic_argument(r, a->kind == RLX_AST_KEYWORD ? a->base : a);
        ok = p && rlx_tir_reader_push(r, &r->stack, p);
    }
    rlx_prim_call key = { .node = { .kind = RLX_NODE_PRIM_CALL },
                          .dtype = t,
                          .callee = callee,
                          .args = (const rlx_node *const *)(r->stack.data + mark),
                          .num_args = r->stack.len - mark };
    const rlx_prim *p = ok ? rlx_node_intern(r->ctx, &key.node) : NULL;
    r->stack.len = mark;
    return set_prim(out, p, call);
}
