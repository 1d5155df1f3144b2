/*- reshape_pattern.c: PrimFuncs that give tensors, or a part of their rows, another shape and nothing
 * else.
 *
 *     for i, j in T.grid(n, 4):                    flat index written   i * 4 + j
 *         B[i, j] = A[8 + i * 4 + j]               flat index read      i * 4 + j + 8
 *
 * Yes only if both are proved to be 8 apart everywhere, and every element of B to be written. */
/* built for size */
#include "analysis/analysis.h"

typedef struct nest {
    rlx_context *ctx;
    rlx_scope scope;
    RLX_VEC(const rlx_for_stmt *) loops;
    RLX_VEC(const rlx_prim *) from, to;   /* variables of blocks -> what they stand for */
    const rlx_buffer_store *store;
    bool joins;                           /* what is read is to be gone through, not what is written */
} nest;

static const rlx_prim *in_loops(nest *n, const rlx_prim *p)
{
    return rlx_substitute(n->ctx, p, n->from.data, n->to.data, n->from.len);
}

/* ---- down to the store ---------------------------------------------------------------------- */

static bool enter_loop(nest *n, const rlx_for_stmt *f)
{
    const rlx_prim_var *v = rlx_as_prim_var(f->loop_var);
    int64_t extent = 0;
    if (!rlx_is_int_value(f->min, 0) || f->thread_binding || !v)
        return false;
    bool fixed = rlx_int_literal(f->extent, &extent);
    if (fixed && extent == 1)
        return rlx_vec_push(&n->ctx->memory, &n->from, f->loop_var) &&
               rlx_vec_push(&n->ctx->memory, &n->to, f->min);
    return rlx_scope_add(&n->scope, v, true) &&
           (!fixed || extent <= 0 || rlx_scope_bound(&n->scope, v, 0, extent - 1)) &&
           rlx_vec_push(&n->ctx->memory, &n->loops, f);
}

static bool enter_block(nest *n, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    if (!b || !rlx_is_int_value(r->predicate, 1) || b->init || b->num_match_buffers ||
        b->num_alloc_buffers || b->num_iter_vars != r->num_iter_values)
        return false;
    size_t known = n->from.len;
    for (size_t i = 0; i < b->num_iter_vars; i++) {
        const rlx_iter_var *iter = rlx_as_iter_var(b->iter_vars[i]);
        if (!iter || iter->iter_type != RLX_ITER_SPATIAL ||
            rlx_prim_dtype(iter->var) != rlx_prim_dtype(r->iter_values[i]))
            return false;
        const rlx_prim *value =
            rlx_substitute(n->ctx, r->iter_values[i], n->from.data, n->to.data, known);
        if (!value || !rlx_vec_push(&n->ctx->memory, &n->from, iter->var) ||
            !rlx_vec_push(&n->ctx->memory, &n->to, value))
            return false;
    }
    return true;
}

/* Loops and blocks around one store. */
static bool find_store(nest *n, const rlx_stmt *s)
{
    while (s) {
        const rlx_for_stmt *loop = rlx_as_for_stmt(s);
        const rlx_block_realize *block = rlx_as_block_realize(s);
        const rlx_seq_stmt *seq = rlx_as_seq_stmt(s);
        if ((n->store = rlx_as_buffer_store(s)) != NULL)
            return true;
        if ((loop && !enter_loop(n, loop)) || (block && !enter_block(n, block)))
            return false;
        s = loop                          ? loop->body
            : block                       ? ((const rlx_tir_block *)block->block)->body
            : seq && seq->num_stmts == 1 ? seq->stmts[0]
                                          : NULL;
    }
    return false;
}

/* ---- indices -------------------------------------------------------------------------------- */

/* i % n, where i counts up to n, is i: what the prover cannot know, to which n is just a number. */
static const rlx_prim *without_mod(nest *n, const rlx_prim *p)
{
    const rlx_binary *mod = p->kind == RLX_NODE_FLOOR_MOD ? (const rlx_binary *)p : NULL;
    const rlx_prim *rest = mod ? rlx_simplify(n->ctx, &n->scope, mod->a) : NULL;
    for (size_t i = 0; rest && i < n->loops.len; i++)
        if (n->loops.data[i]->loop_var == rest && n->loops.data[i]->extent == mod->b)
            return rest;
    return p;
}

/* Row-major, as int64; NULL: out of memory. */
static const rlx_prim *flat(nest *n, const rlx_prim *const *indices, const rlx_prim *const *dims,
                            size_t count)
{
    const rlx_prim *sum = rlx_int64(n->ctx, 0);
    for (size_t i = 0; sum && i < count; i++) {
        const rlx_prim *index = in_loops(n, indices[i]);
        index = index ? without_mod(n, index) : NULL;
        sum = index ? rlx_fold_mul(n->ctx, sum, rlx_fold_cast(n->ctx, RELAX_INT64, dims[i]))
                    : NULL;
        sum = sum ? rlx_fold_add(n->ctx, sum, rlx_fold_cast(n->ctx, RELAX_INT64, index)) : NULL;
    }
    return sum;
}

static const rlx_prim *product(nest *n, const rlx_prim *const *dims, size_t count)
{
    const rlx_prim *p = rlx_int64(n->ctx, 1);
    for (size_t i = 0; p && i < count; i++)
        p = rlx_fold_mul(n->ctx, p, rlx_fold_cast(n->ctx, RELAX_INT64, dims[i]));
    return p;
}

static bool equal(nest *n, const rlx_prim *a, const rlx_prim *b)
{
    return a && b && rlx_prove_equal(n->ctx, &n->scope, a, b) == RLX_EQUAL;
}

/* Does each dimension have a loop of its own, of that extent? */
static bool covers_by_dimension(nest *n, const rlx_buffer *b, const rlx_prim *const *indices)
{
    rlx_ptrmap used;
    bool yes = true;
    rlx_ptrmap_init(&used, &n->ctx->memory);
    for (size_t i = 0; yes && i < b->num_shape; i++) {
        const rlx_prim *index = in_loops(n, indices[i]);
        size_t k = 0;
        while (k < n->loops.len && n->loops.data[k]->loop_var != index)
            k++;
        if (rlx_is_int_value(index, 0))
            yes = rlx_is_int_value(b->shape[i], 1);
        else
            yes = k < n->loops.len && !rlx_ptrmap_has(&used, index) &&
                  equal(n, n->loops.data[k]->extent, b->shape[i]) &&
                  rlx_ptrmap_put(&used, index, 1);
    }
    rlx_ptrmap_free(&used);
    return yes;
}

/* Or do the loops together count through the elements? */
static bool covers_by_counting(nest *n, const rlx_prim *flat_index, const rlx_prim *elements)
{
    const rlx_prim *count = rlx_int64(n->ctx, 0), *all = rlx_int64(n->ctx, 1);
    for (size_t i = 0; count && all && i < n->loops.len; i++) {
        const rlx_prim *extent = rlx_fold_cast(n->ctx, RELAX_INT64, n->loops.data[i]->extent);
        const rlx_prim *var = rlx_fold_cast(n->ctx, RELAX_INT64, n->loops.data[i]->loop_var);
        all = extent ? rlx_fold_mul(n->ctx, all, extent) : NULL;
        count = extent ? rlx_fold_mul(n->ctx, count, extent) : NULL;
        count = count && var ? rlx_fold_add(n->ctx, count, var) : NULL;
    }
    return equal(n, flat_index, count) && equal(n, all, elements);
}

/* ---- the question --------------------------------------------------------------------------- */

static bool is_plain(const rlx_prim_func *f, const rlx_buffer *b)
{
    bool is_param = false;
    for (size_t i = 0; i < f->num_buffers; i++)
        is_param |= f->buffers[i] == &b->node;
    return is_param && !b->num_strides && !b->num_axis_separators &&
           (!b->elem_offset || rlx_as_prim_var(b->elem_offset) ||
            rlx_is_int_value(b->elem_offset, 0));
}

static bool add_sizes(nest *n, const rlx_buffer *b)
{
    rlx_prim_vars vars = { 0 };
    bool good = true;
    for (size_t i = 0; good && i < b->num_shape; i++)
        good = rlx_collect_prim_vars(&n->ctx->memory, b->shape[i], false, &vars);
    for (size_t i = 0; good && i < vars.len; i++)
        good = rlx_scope_add(&n->scope, vars.data[i], true);
    rlx_vec_free(&n->ctx->memory, &vars);
    return good;
}

static int32_t param_of(const rlx_prim_func *f, const rlx_buffer *b)
{
    for (size_t i = 0; i < f->num_buffers; i++)
        if (f->buffers[i] == &b->node)
            return (int32_t)i;
    return -1;
}

static bool mentions_loop(nest *n, const rlx_prim *p)
{
    rlx_prim_vars vars = { 0 };
    bool yes = !rlx_collect_prim_vars(&n->ctx->memory, p, false, &vars);
    for (size_t i = 0; i < vars.len; i++)
        for (size_t k = 0; k < n->loops.len; k++)
            yes |= n->loops.data[k]->loop_var == (const rlx_prim *)vars.data[i];
    rlx_vec_free(&n->ctx->memory, &vars);
    return yes;
}

/* How much further on one place is than the other, everywhere; NULL: that differs, or is not known. */
static const rlx_prim *distance(nest *n, const rlx_prim *there, const rlx_prim *at)
{
    if (equal(n, there, at))
        return rlx_int64(n->ctx, 0);
    const rlx_prim *d = there && at ? rlx_fold_sub(n->ctx, there, at) : NULL;
    d = d ? rlx_simplify(n->ctx, &n->scope, d) : NULL;
    return d && !mentions_loop(n, d) && equal(n, there, rlx_fold_add(n->ctx, at, d)) ? d : NULL;
}

static bool is_copy(nest *n, const rlx_prim_func *f, rlx_copied *out)
{
    const rlx_buffer_store *store = n->store;
    const rlx_buffer_load *load = rlx_as_buffer_load(store->value);
    const rlx_buffer *to = rlx_as_buffer(store->buffer);
    const rlx_buffer *from = load ? rlx_as_buffer(load->buffer) : NULL;
    if (!from || !to || load->predicate || store->predicate || from->data == to->data ||
        from->dtype != to->dtype || load->dtype != from->dtype || !is_plain(f, from) ||
        !is_plain(f, to) || load->num_indices != from->num_shape ||
        store->num_indices != to->num_shape || !add_sizes(n, from) || !add_sizes(n, to))
        return false;
    const bool joins = n->joins;
    const rlx_buffer *part = joins ? from : to, *other = joins ? to : from;
    const rlx_prim *const *indices = joins ? load->indices : store->indices, *const *others = joins ? store->indices : load->indices;
    const rlx_prim *at = flat(n, indices, part->shape, part->num_shape), *there = flat(n, others, other->shape, other->num_shape),
                   *elements = product(n, part->shape, part->num_shape), *whole = product(n, other->shape, other->num_shape),
                   *offset = at ? distance(n, there, at) : NULL;
    rlx_copied *one = &out[param_of(f, part)];
    if (!offset || !elements || !whole || one->offset ||
        !(covers_by_dimension(n, part, indices) || covers_by_counting(n, at, elements)))
        return false;
    *one = (rlx_copied){ param_of(f, other), offset, elements, whole, equal(n, elements, whole) };
    return true;
}

static bool look_at_nest(nest *n, const rlx_prim_func *f, const rlx_stmt *s, rlx_copied *out)
{
    rlx_scope_init(&n->scope, n->ctx, NULL);
    n->loops.len = n->from.len = n->to.len = 0;
    bool yes = find_store(n, s) && is_copy(n, f, out);
    rlx_scope_free(&n->scope);
    return yes;
}

/* The list of nests below blocks without loops; NULL: there is one. */
static const rlx_seq_stmt *list_of(const rlx_stmt *s)
{
    const rlx_block_realize *block = rlx_as_block_realize(s);
    const rlx_tir_block *b = block ? rlx_as_tir_block(block->block) : NULL;
    bool root = b && rlx_is_int_value(block->predicate, 1) && !b->init && !b->num_iter_vars &&
                !b->num_match_buffers && !b->num_alloc_buffers;
    return rlx_as_seq_stmt(root ? b->body : s);
}

static bool find_parts(rlx_context *ctx, const rlx_prim_func *f, bool joins, rlx_copied *out)
{
    nest n = { .ctx = ctx, .joins = joins };
    const rlx_seq_stmt *list = list_of(f->body);
    bool yes = !list || list->num_stmts;
    for (size_t i = 0; i < f->num_params; i++)
        out[i] = (rlx_copied){ .of = -1 };
    for (size_t i = 0; yes && i < (list ? list->num_stmts : 1); i++)
        yes = look_at_nest(&n, f, list ? list->stmts[i] : f->body, out);
    for (size_t i = 0; yes && i < f->num_params; i++) /* what is stored is read nowhere */
        yes = out[i].of < 0 || out[out[i].of].of < 0;
    rlx_vec_free(&ctx->memory, &n.loops);
    rlx_vec_free(&ctx->memory, &n.from);
    rlx_vec_free(&ctx->memory, &n.to);
    return yes && !ctx->diags.out_of_memory;
}

bool rlx_find_copies(rlx_context *ctx, const rlx_prim_func *f, rlx_copied *out) { return find_parts(ctx, f, false, out); }
bool rlx_find_joins(rlx_context *ctx, const rlx_prim_func *f, rlx_copied *out) { return find_parts(ctx, f, true, out); }

bool rlx_is_reshape(rlx_context *ctx, const rlx_prim_func *f)
{
    rlx_copied *out = rlx_mem_alloc(&ctx->memory, (f->num_params + 1) * sizeof *out);
    bool yes = out && rlx_find_copies(ctx, f, out);
    size_t stored = 0;
    for (size_t i = 0; yes && i < f->num_params; i++) {
        stored += out[i].of >= 0;
        yes = out[i].of < 0 || (out[i].all && rlx_is_int_value(out[i].offset, 0));
    }
    rlx_mem_free(&ctx->memory, out, out ? (f->num_params + 1) * sizeof *out : 0);
    return yes && stored == 1;
}
