/* encode.c: struct info and integer expressions in the flat form of desc. */
/* built for size */
#include "sinfo/sinfo_int.h"

#include "desc/desc.h"

static rlx_slice name_of(const rlx_encoder *e, const rlx_prim_var *v)
{
    return v->name && !e->no_names ? rlx_string_slice(v->name) : RLX_SLICE("");
}

static bool not_known(rlx_encoder *e, const rlx_node *n)
{
    e->unknown = n;
    return false;
}

/* ---- expressions: postfix order with an explicit stack -------------------------------------- */

/* words: nodes may be shared, so that a small graph is a huge sum */
enum { LONGEST_EXPR = 1 << 16 };

/* A part still to be written: a node, or (node NULL) an operator behind its operands. */
typedef struct job { const rlx_prim *node; uint8_t op; rlx_dtype cast; } job;
typedef struct jobs { rlx_encoder *e; rlx_desc_expr_writer x; RLX_VEC(job) stack; } jobs;

static const uint8_t binary_ops[RLX_NODE_COUNT] = {
    [RLX_NODE_ADD] = RLX_EXPR_ADD,
    [RLX_NODE_SUB] = RLX_EXPR_SUB,
    [RLX_NODE_MUL] = RLX_EXPR_MUL,
    [RLX_NODE_DIV] = RLX_EXPR_TRUNC_DIV,
    [RLX_NODE_MOD] = RLX_EXPR_TRUNC_MOD,
    [RLX_NODE_FLOOR_DIV] = RLX_EXPR_FLOOR_DIV,
    [RLX_NODE_FLOOR_MOD] = RLX_EXPR_FLOOR_MOD,
    [RLX_NODE_MIN] = RLX_EXPR_MIN,
    [RLX_NODE_MAX] = RLX_EXPR_MAX,
    [RLX_NODE_EQ] = RLX_EXPR_EQ,
    [RLX_NODE_NE] = RLX_EXPR_NE,
    [RLX_NODE_LT] = RLX_EXPR_LT,
    [RLX_NODE_LE] = RLX_EXPR_LE,
    [RLX_NODE_GT] = RLX_EXPR_GT,
    [RLX_NODE_GE] = RLX_EXPR_GE,
    [RLX_NODE_AND] = RLX_EXPR_AND,
    [RLX_NODE_OR] = RLX_EXPR_OR,
};
static const struct { const char *name; uint8_t num_args, op;
} intrinsics[] = {
    { "if_then_else", 3, RLX_EXPR_SELECT },
    { "shift_left", 2, RLX_EXPR_SHL },
    { "shift_right", 2, RLX_EXPR_SHR },
    { "bitwise_and", 2, RLX_EXPR_BIT_AND },
    { "bitwise_or", 2, RLX_EXPR_BIT_OR },
    { "bitwise_xor", 2, RLX_EXPR_BIT_XOR },
    { "bitwise_not", 1, RLX_EXPR_BIT_NOT },
    { "abs", 1, RLX_EXPR_ABS },
    { "fabs", 1, RLX_EXPR_ABS },
    { "likely", 1, RLX_EXPR_OPS }, /* no operator: its operand */
};

static bool push(jobs *w, job j) { return rlx_vec_push(&w->e->ctx->memory, &w->stack, j); }
static bool push_op(jobs *w, enum rlx_desc_expr_op op)
{
    return push(w, (job){ .op = (uint8_t)op });
}
static bool push_node(jobs *w, const rlx_prim *p) { return push(w, (job){ .node = p }); }

/* Operands and operators of one node, the last first. */
static bool open_select(jobs *w, const rlx_prim *cond, const rlx_prim *yes, const rlx_prim *no)
{
    return push_op(w, RLX_EXPR_SELECT) && push_node(w, no) && push_op(w, RLX_EXPR_OTHERWISE) &&
           push_node(w, yes) && push_op(w, RLX_EXPR_THEN) && push_node(w, cond);
}

static bool open_binary(jobs *w, enum rlx_desc_expr_op op, const rlx_prim *a, const rlx_prim *b)
{
    enum rlx_desc_expr_op early = op == RLX_EXPR_AND ? RLX_EXPR_AND_THEN : RLX_EXPR_OR_ELSE;
    return push_op(w, op) && push_node(w, b) && (op < RLX_EXPR_AND || push_op(w, early)) &&
           push_node(w, a);
}

static bool open_cast(jobs *w, const rlx_unary *c)
{
    rlx_dtype from = rlx_prim_dtype(c->a);
    bool widens = c->dtype == RELAX_INT64 && rlx_dtype_code(from) == RELAX_DTYPE_INT;
    if (!rlx_dtype_is_bool(c->dtype) && !rlx_dtype_is_int(c->dtype))
        return not_known(w->e, &c->node);
    if (rlx_dtype_is_bool(c->dtype))
        return push_op(w, RLX_EXPR_NE) && push(w, (job){ .op = RLX_EXPR_INT }) &&
               push_node(w, c->a);
    return (widens || push(w, (job){ .op = RLX_EXPR_CAST, .cast = c->dtype })) &&
           push_node(w, c->a);
}

static bool open_call(jobs *w, const rlx_prim_call *c)
{
    for (size_t i = 0; c->op && i < RLX_COUNT(intrinsics); i++) {
        if (!rlx_slice_is(rlx_string_slice(c->op), intrinsics[i].name) ||
            c->num_args != intrinsics[i].num_args)
            continue;
        enum rlx_desc_expr_op op = (enum rlx_desc_expr_op)intrinsics[i].op;
        if (c->num_args == 3)
            return open_select(w, c->args[0], c->args[1], c->args[2]);
        if (c->num_args == 2)
            return open_binary(w, op, c->args[0], c->args[1]);
        return (op == RLX_EXPR_OPS || push_op(w, op)) && push_node(w, c->args[0]);
    }
    return not_known(w->e, &c->node);
}

static bool put_variable(jobs *w, const rlx_prim_var *v)
{
    int32_t slot = w->e->slot_of(w->e->user, v);
    if (slot < 0)
        return not_known(w->e, &v->node);
    rlx_desc_expr_symbol(&w->x, (uint32_t)slot, name_of(w->e, v));
    return true;
}

static bool open_node(jobs *w, const rlx_prim *p)
{
    const rlx_select *s = rlx_as_select(p);
    const rlx_binary *b = rlx_as_binary(p);
    rlx_dtype dtype = rlx_prim_dtype(p);
    uintptr_t slot;
    if (rlx_dtype_is_float(dtype) || rlx_dtype_lanes(dtype) != 1)
        return not_known(w->e, p);
    if (b && w->e->computed && rlx_ptrmap_find(w->e->computed, p, &slot)) {
        rlx_desc_expr_symbol(&w->x, (uint32_t)slot - 1, RLX_SLICE(""));
        return true;
    }
    if (b)
        return open_binary(w, (enum rlx_desc_expr_op)binary_ops[p->kind], b->a, b->b);
    if (s)
        return open_select(w, s->cond, s->true_value, s->false_value);
    switch (p->kind) {
    case RLX_NODE_INT_IMM:
        if (rlx_dtype_is_large(dtype, ((const rlx_int_imm *)p)->value))
            return not_known(w->e, p); /* these expressions compute in int64 */
        rlx_desc_expr_int(&w->x, ((const rlx_int_imm *)p)->value);
        return true;
    case RLX_NODE_PRIM_VAR: return put_variable(w, (const rlx_prim_var *)p);
    case RLX_NODE_NOT: return push_op(w, RLX_EXPR_NOT) && push_node(w, ((const rlx_unary *)p)->a);
    case RLX_NODE_CAST: return open_cast(w, (const rlx_unary *)p);
    case RLX_NODE_PRIM_CALL: return open_call(w, (const rlx_prim_call *)p);
    default: return not_known(w->e, p);
    }
}

static void put_op(jobs *w, const job *j)
{
    if (j->op == RLX_EXPR_CAST)
        rlx_desc_expr_cast(&w->x, j->cast);
    else if (j->op == RLX_EXPR_INT)
        rlx_desc_expr_int(&w->x, 0);
    else
        rlx_desc_expr_put_op(&w->x, (enum rlx_desc_expr_op)j->op);
}

/* Ends the expression whatever came of it: its working memory goes with it. */
static void abandon(rlx_desc_expr_writer *x)
{
    rlx_vec_free(x->out->memory, &x->words);
    rlx_vec_free(x->out->memory, &x->open);
}

bool rlx_prim_encode(rlx_encoder *e, const rlx_prim *p, uint32_t *offset)
{
    jobs w = { .e = e };
    rlx_desc_expr_begin(&w.x, e->out);
    bool ok = push_node(&w, p);
    while (ok && w.stack.len) {
        job j = rlx_vec_pop(&w.stack);
        if (j.node)
            ok = open_node(&w, j.node);
        else
            put_op(&w, &j);
        if (w.x.words.len > LONGEST_EXPR)
            e->out->too_large = true;
        ok = ok && rlx_file_writer_ok(e->out);
    }
    rlx_vec_free(&e->ctx->memory, &w.stack);
    if (ok)
        *offset = rlx_desc_expr_end(&w.x);
    else
        abandon(&w.x);
    return ok && rlx_file_writer_ok(e->out);
}

/* ---- dimensions ----------------------------------------------------------------------------- */

static bool encode_dim(rlx_encoder *e, const rlx_prim *p, int64_t *out)
{
    const rlx_prim_var *v = rlx_position_var(p);
    int64_t value;
    uint32_t offset;
    uintptr_t binds = 0;
    if (rlx_int_literal(p, &value)) {
        *out = rlx_desc_dim_literal(e->out, value);
        return true;
    }
    if (!v) {
        if (!rlx_prim_encode(e, p, &offset))
            return false;
        *out = rlx_desc_dim_expr(offset);
        return true;
    }
    int32_t slot = e->slot_of(e->user, v);
    if (slot < 0)
        return not_known(e, &v->node);
    if (e->to_bind && rlx_ptrmap_find(e->to_bind, v, &binds))
        rlx_ptrmap_remove(e->to_bind, v);
    *out = binds == RLX_BINDS_SIZE ? rlx_desc_dim_bind(e->out, (uint32_t)slot, name_of(e, v))
           : binds == RLX_BINDS_SIGNED
               ? rlx_desc_dim_bind_signed(e->out, (uint32_t)slot, name_of(e, v))
               : rlx_desc_dim_symbol(e->out, (uint32_t)slot, name_of(e, v));
    return true;
}

#define NUMBERED_BINDERS 64 /* of a function description; others are names only */

/* Number + 1 of a placeholder of the function description; 0: none. */
static uint32_t binder_number(const rlx_func_sinfo *f, const rlx_prim_var *v)
{
    for (uint32_t i = 0; i < f->num_binders && i < NUMBERED_BINDERS; i++)
        if (f->binders[i] == &v->node)
            return i + 1;
    return 0;
}

/* In a function description nothing is bound: numbers stay, so do variables that have a value here, placeholders
 * are names, the rest is open. */
static int64_t placeholder(rlx_encoder *e, const rlx_func_sinfo *f, const rlx_prim *p)
{
    const rlx_prim_var *v = rlx_position_var(p);
    int64_t value;
    if (rlx_int_literal(p, &value))
        return value >= 0 && value < (int64_t)1 << 55 ? rlx_desc_dim_literal(e->out, value)
                                                      : RLX_DIM_WILD;
    if (!v)
        return RLX_DIM_WILD;
    bool waits = e->to_bind && rlx_ptrmap_has(e->to_bind, v);
    int32_t slot = waits || !e->is_bound || !e->is_bound(e->user, v) ? -1 : e->slot_of(e->user, v);
    return slot >= 0 ? rlx_desc_dim_symbol(e->out, (uint32_t)slot, name_of(e, v))
                     : rlx_desc_dim_binder(e->out, binder_number(f, v), name_of(e, v));
}

static bool encode_dims(rlx_encoder *e, const rlx_prim *const *values, size_t count,
                        const rlx_func_sinfo *in_func, int64_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (in_func)
            out[i] = placeholder(e, in_func, values[i]);
        else if (!encode_dim(e, values[i], &out[i]))
            return false;
    }
    return true;
}

/* ---- struct info: recursion no deeper than descriptions nest -------------------------------- */

static bool encode(rlx_encoder *e, const rlx_sinfo *s, rlx_desc_writer *d, const rlx_func_sinfo *in_func,
                   int depth);

/* The device of the tensor that comes next; one of no known kind is not checked. All numbers of
 * processors mean the host. */
static void encode_device(const rlx_vdevice *v, rlx_desc_writer *d)
{
    int32_t type = rlx_vdevice_type(v);
    if (type)
        rlx_desc_device(d, type, type == RLX_HOST_DEVICE ? 0 : v->id);
}

static bool encode_tensor(rlx_encoder *e, const rlx_tensor_sinfo *t, rlx_desc_writer *d,
                          const rlx_func_sinfo *in_func)
{
    const rlx_shape_expr *shape = rlx_as_shape_expr(t->shape);
    const rlx_var *like = rlx_as_var(t->shape);
    int64_t dims[RLX_MAX_RANK];
    if (t->ndim > RLX_MAX_RANK) {
        e->out->too_large = true;
        return false;
    }
    if (shape && !encode_dims(e, shape->values, shape->num_values, in_func, dims))
        return false;
    encode_device(rlx_as_vdevice(t->vdevice), d);
    if (!like || in_func || !e->register_of) {
        rlx_desc_tensor(d, t->dtype, t->ndim, shape ? dims : NULL);
        return true;
    }
    int32_t reg = e->register_of(e->user, like);
    if (reg < 0)
        return not_known(e, &like->node);
    rlx_desc_tensor_like(d, t->dtype, t->ndim, (uint32_t)reg);
    return true;
}

static bool encode_shape(rlx_encoder *e, const rlx_shape_sinfo *s, rlx_desc_writer *d,
                         const rlx_func_sinfo *in_func)
{
    rlx_memory *m = &e->ctx->memory;
    size_t n = s->has_values ? s->num_values : 0;
    if (!s->has_values) {
        rlx_desc_shape(d, s->ndim, NULL);
        return true;
    }
    int64_t *dims = rlx_mem_alloc(m, (n + 1) * sizeof *dims);
    bool ok = dims && encode_dims(e, s->values, n, in_func, dims);
    if (ok && n > 0xffff)
        e->out->too_large = true;
    else if (ok)
        rlx_desc_shape(d, (int32_t)n, dims);
    rlx_mem_free(m, dims, dims ? (n + 1) * sizeof *dims : 0);
    return ok;
}

static bool encode_prim_info(rlx_encoder *e, const rlx_prim_sinfo *s, rlx_desc_writer *d,
                             const rlx_func_sinfo *in_func)
{
    int64_t value;
    bool has_value = s->value && !rlx_dtype_is_float(s->dtype); /* floats are not compared */
    if (has_value && !encode_dims(e, &s->value, 1, in_func, &value))
        return false;
    rlx_desc_prim(d, s->dtype, has_value ? &value : NULL);
    return true;
}

static bool encode_tuple(rlx_encoder *e, const rlx_tuple_sinfo *t, rlx_desc_writer *d,
                         const rlx_func_sinfo *in_func, int depth)
{
    bool ok = true;
    rlx_desc_tuple(d);
    for (size_t i = 0; ok && i < t->num_fields; i++)
        ok = encode(e, t->fields[i], d, in_func, depth - 1);
    rlx_desc_close(d);
    return ok;
}

/* in_func: the outermost function description around. */
static bool encode_func(rlx_encoder *e, const rlx_func_sinfo *f, rlx_desc_writer *d,
                        const rlx_func_sinfo *in_func, int depth)
{
    const rlx_func_sinfo *outermost = in_func ? in_func : f;
    bool any = f->derive == RLX_DERIVE_EMPTY || f->derive == RLX_DERIVE_CONST, ok = true;
    uint32_t flags = (f->is_pure ? RLX_DESC_PURE : 0) | (f->derive ? RLX_DESC_OPEN : 0) |
                     (f->derive && !any ? RLX_DESC_PACKED : 0);
    rlx_desc_func(d, flags);
    for (size_t i = 0; ok && !f->derive && i < f->num_params; i++)
        ok = encode(e, f->params[i], d, outermost, depth - 1);
    ok = ok && encode(e, f->ret ? f->ret : rlx_object_info(e->ctx), d, outermost, depth - 1);
    rlx_desc_close(d);
    return ok;
}

static bool encode(rlx_encoder *e, const rlx_sinfo *s, rlx_desc_writer *d, const rlx_func_sinfo *in_func, int depth)
{
    if (!s)
        return false;
    if (depth <= 0)
        e->out->too_large = true;
    if (!rlx_file_writer_ok(e->out))
        return false;
    switch (s->kind) {
    case RLX_NODE_TENSOR_SINFO: return encode_tensor(e, (const rlx_tensor_sinfo *)s, d, in_func);
    case RLX_NODE_SHAPE_SINFO: return encode_shape(e, (const rlx_shape_sinfo *)s, d, in_func);
    case RLX_NODE_PRIM_SINFO: return encode_prim_info(e, (const rlx_prim_sinfo *)s, d, in_func);
    case RLX_NODE_TUPLE_SINFO:
        return encode_tuple(e, (const rlx_tuple_sinfo *)s, d, in_func, depth);
    case RLX_NODE_FUNC_SINFO: return encode_func(e, (const rlx_func_sinfo *)s, d, in_func, depth);
    default: rlx_desc_object(d); return true;
    }
}

bool rlx_sinfo_encode(rlx_encoder *e, const rlx_sinfo *s, rlx_desc_writer *d)
{
    return encode(e, s, d, NULL, RLX_DESC_MAX_NESTING) && rlx_file_writer_ok(e->out);
}
