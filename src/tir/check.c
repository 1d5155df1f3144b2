/* check.c: well-formedness of PrimFuncs. */
#include "tir/tir_int.h"

/* ---- verification --------------------------------------------------------------------------- */

typedef struct verifier {
    rlx_context *ctx;
    rlx_ptrmap defined;       /* variables and buffers in scope now */
    rlx_place place;
    bool quiet, bad;
} verifier;

static void *complain(verifier *v, rlx_place place, const char *what, const rlx_node *about)
{
    v->bad = true;
    if (!v->quiet)
        rlx_error(v->ctx, RLX_WX08, place ? place : v->place, "%s%s%s", what, about ? ": " : "",
                  about ? rlx_show(v->ctx, about) : "");
    return NULL;
}

static void define(verifier *v, const rlx_node *n)
{
    if (n)
        (void)rlx_ptrmap_put(&v->defined, n, 1);
}

static void undefine(verifier *v, const rlx_node *n)
{
    if (n)
        rlx_ptrmap_remove(&v->defined, n);
}

static enum rlx_step enter_defining(void *user, const rlx_node *n, const rlx_field *via,
                                    const rlx_node *parent);
static enum rlx_step leave(void *user, const rlx_node *n);

static const rlx_walker parts = { .enter = enter_defining, .leave = leave, .terse = true };

/* One of the sizes, strides and the offset of a buffer. A plain variable is bound with the buffer
 * or (binds false) known before; all else mentions what is known. */
static void check_size(verifier *v, const rlx_prim *p, bool binds)
{
    rlx_walker w = parts;
    w.user = v;
    if (!p || (binds && p->kind == RLX_NODE_PRIM_VAR))
        return;
    if (p->kind != RLX_NODE_PRIM_VAR)
        rlx_walk(&v->ctx->memory, p, &w, NULL);
    else if (!rlx_ptrmap_has(&v->defined, p))
        complain(v, RLX_NO_PLACE, "a variable is used where it is not defined", p);
}

static void check_sizes(verifier *v, const rlx_buffer *b, bool binds)
{
    for (size_t i = 0; i < b->num_shape; i++)
        check_size(v, b->shape[i], binds);
    for (size_t i = 0; i < b->num_strides; i++)
        check_size(v, b->strides[i], binds);
    check_size(v, b->elem_offset, binds);
}

static void bind_size(verifier *v, const rlx_prim *p)
{
    if (p && p->kind == RLX_NODE_PRIM_VAR)
        define(v, p);
}

/* A buffer brings its data pointer; sizes, strides and offset that are plain variables are
 * bound with it. */
static void bind_buffer(verifier *v, const rlx_buffer *b)
{
    define(v, &b->node);
    define(v, b->data);
    for (size_t i = 0; i < b->num_shape; i++)
        bind_size(v, b->shape[i]);
    for (size_t i = 0; i < b->num_strides; i++)
        bind_size(v, b->strides[i]);
    bind_size(v, b->elem_offset);
}

static void declare_buffer(verifier *v, const rlx_buffer *b)
{
    check_sizes(v, b, true);
    bind_buffer(v, b);
}

/* Memory of its own: its sizes are known before. */
static void allocate_buffer(verifier *v, const rlx_buffer *b)
{
    check_sizes(v, b, false);
    define(v, &b->node);
    define(v, b->data);
}

static void check_access(verifier *v, const rlx_node *buffer, const rlx_prim *const *indices,
                         size_t count, rlx_place place)
{
    const rlx_buffer *b = rlx_as_buffer(buffer);
    if (!rlx_ptrmap_has(&v->defined, buffer))
        complain(v, place, "a buffer is used where it is not defined", buffer);
    if (b->num_shape != count)
        complain(v, place, "a buffer is accessed with a wrong number of indices", buffer);
    for (size_t i = 0; i < count; i++)
        if (rlx_prim_dtype(indices[i]) != RELAX_BOOL &&
            !rlx_dtype_is_int(rlx_dtype_with_lanes(rlx_prim_dtype(indices[i]), 1)))
            complain(v, place, "an index is no integer", indices[i]);
}

static void check_condition(verifier *v, const rlx_prim *p, rlx_place place)
{
    if (p && !rlx_dtype_is_bool(rlx_prim_dtype(p)))
        complain(v, place, "a condition is no bool", p);
}

static void check_binary(verifier *v, const rlx_binary *b)
{
    if (rlx_prim_dtype(b->a) != rlx_prim_dtype(b->b))
        complain(v, RLX_NO_PLACE, "the operands of an operator have different dtypes", &b->node);
}

static void enter_block(verifier *v, const rlx_tir_block *b)
{
    for (size_t i = 0; i < b->num_iter_vars; i++)
        define(v, ((const rlx_iter_var *)b->iter_vars[i])->var);
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        allocate_buffer(v, rlx_as_buffer(b->alloc_buffers[i]));
    for (size_t i = 0; i < b->num_match_buffers; i++)
        declare_buffer(
            v, rlx_as_buffer(((const rlx_match_buffer_region *)b->match_buffers[i])->buffer));
}

static enum rlx_step check_node(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    verifier *v = user;
    if (rlx_place_of(n) && rlx_family_of(n) == RLX_FAMILY_STMT)
        v->place = rlx_place_of(n);
    switch (n->kind) {
    case RLX_NODE_BUFFER: return RLX_STEP_SKIP;
    case RLX_NODE_PRIM_VAR:
        if (via && via->type != RLX_FIELD_DEF && via->type != RLX_FIELD_DEFS &&
            !rlx_ptrmap_has(&v->defined, n))
            complain(v, RLX_NO_PLACE, "a variable is used where it is not defined", n);
        break;
    case RLX_NODE_BUFFER_LOAD: {
        const rlx_buffer_load *l = (const rlx_buffer_load *)n;
        check_access(v, l->buffer, l->indices, l->num_indices, RLX_NO_PLACE);
        break;
    }
    case RLX_NODE_BUFFER_STORE: {
        const rlx_buffer_store *s = (const rlx_buffer_store *)n;
        check_access(v, s->buffer, s->indices, s->num_indices, s->place);
        if (rlx_dtype_with_lanes(rlx_prim_dtype(s->value), 1) !=
            rlx_dtype_with_lanes(rlx_as_buffer(s->buffer)->dtype, 1))
            complain(v, s->place, "a store has another dtype than its buffer", s->buffer);
        break;
    }
    case RLX_NODE_LET_STMT: {
        const rlx_let_stmt *l = (const rlx_let_stmt *)n;
        if (rlx_prim_dtype(l->var) != rlx_prim_dtype(l->value))
            complain(v, l->place, "a name has another dtype than its value", l->var);
        break;
    }
    case RLX_NODE_FOR: define(v, ((const rlx_for_stmt *)n)->loop_var); break;
    case RLX_NODE_WHILE: check_condition(v, ((const rlx_while_stmt *)n)->cond, v->place); break;
    case RLX_NODE_IF_THEN_ELSE:
        check_condition(v, ((const rlx_if_stmt *)n)->cond, v->place);
        break;
    case RLX_NODE_ASSERT_STMT:
        check_condition(v, ((const rlx_assert_stmt *)n)->cond, v->place);
        break;
    case RLX_NODE_BLOCK_REALIZE:
        check_condition(v, ((const rlx_block_realize *)n)->predicate, v->place);
        break;
    case RLX_NODE_TIR_BLOCK: enter_block(v, (const rlx_tir_block *)n); break;
    case RLX_NODE_ALLOCATE: define(v, ((const rlx_allocate *)n)->var); break;
    case RLX_NODE_ALLOCATE_CONST: define(v, ((const rlx_allocate_const *)n)->var); break;
    case RLX_NODE_DECL_BUFFER:
        declare_buffer(v, rlx_as_buffer(((const rlx_decl_buffer *)n)->buffer));
        break;
    default:
        if (rlx_as_binary(n))
            check_binary(v, (const rlx_binary *)n);
        break;
    }
    return v->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Names end with what defines them. A let's name is in scope in its body only: the walk gives
 * value, name, body in this order, so it is defined when the name is passed. */
static enum rlx_step leave(void *user, const rlx_node *n)
{
    verifier *v = user;
    switch (n->kind) {
    case RLX_NODE_FOR: undefine(v, ((const rlx_for_stmt *)n)->loop_var); break;
    case RLX_NODE_LET_STMT: undefine(v, ((const rlx_let_stmt *)n)->var); break;
    case RLX_NODE_PRIM_LET: undefine(v, ((const rlx_prim_let *)n)->var); break;
    case RLX_NODE_TIR_BLOCK: {
        const rlx_tir_block *b = (const rlx_tir_block *)n;
        for (size_t i = 0; i < b->num_iter_vars; i++)
            undefine(v, ((const rlx_iter_var *)b->iter_vars[i])->var);
        for (size_t i = 0; i < b->num_alloc_buffers; i++)
            undefine(v, b->alloc_buffers[i]);
        for (size_t i = 0; i < b->num_match_buffers; i++)
            undefine(v, ((const rlx_match_buffer_region *)b->match_buffers[i])->buffer);
        break;
    }
    case RLX_NODE_DECL_BUFFER: undefine(v, ((const rlx_decl_buffer *)n)->buffer); break;
    default: break;
    }
    return RLX_STEP_ON;
}

static enum rlx_step enter_defining(void *user, const rlx_node *n, const rlx_field *via,
                                    const rlx_node *parent)
{
    verifier *v = user;
    if (n->kind == RLX_NODE_PRIM_VAR && via &&
        (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS) && parent &&
        (parent->kind == RLX_NODE_LET_STMT || parent->kind == RLX_NODE_PRIM_LET))
        define(v, n);
    return check_node(user, n, via, parent);
}

bool rlx_tir_verify(rlx_context *ctx, const rlx_prim_func *f, bool quiet)
{
    verifier v = { .ctx = ctx, .quiet = quiet, .place = f->place };
    rlx_ptrmap_init(&v.defined, &ctx->memory);
    for (size_t i = 0; i < f->num_params; i++) {
        define(&v, f->params[i]);
        if (f->buffers[i])
            bind_buffer(&v, rlx_as_buffer(f->buffers[i]));
    }
    for (size_t i = 0; i < f->num_params; i++)
        if (f->buffers[i])
            check_sizes(&v, rlx_as_buffer(f->buffers[i]), true);
    rlx_walker w = parts;
    w.user = &v;
    rlx_walk(&ctx->memory, f->body, &w, NULL);
    rlx_ptrmap_free(&v.defined);
    return !v.bad && !ctx->diags.out_of_memory;
}
