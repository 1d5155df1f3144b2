/*- fuse_multiply_add: a product that a block sums up is not rounded on its own.
 *
 *     vi, vj, vk = T.axis.remap("SSR", [i, j, k])
 *     C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
 *         ->   C[vi, vj] = T.fma(A[vi, vk], B[vk, vj], C[vi, vj])
 *
 * The products of blocks with a reduction axis, of float32 and float64, in either order of the sum.
 * Lowerings of operators write T.fma themselves, and what they do not write so is meant: a block
 * with the attribute relax.partial_sums is left as it is. After this pass nothing makes one
 * rounding of two, or two of one.
 *
 * In a module with the attribute relax.arithmetic = "separate" the pass does nothing, and lowerings
 * write the product and the sum apart. The attribute belongs to the module, so that whoever lowers
 * operators does it alike: legalize_ops, fold_constant, a pass of the host. A T.fma that the
 * program itself has stays.
 *
 * needs: any program. keeps: the rest. */
#include "transform/transform_int.h"

static bool sums_up(const rlx_tir_block *b)
{
    bool reduces = false;
    for (size_t i = 0; i < b->num_iter_vars; i++)
        reduces |= ((const rlx_iter_var *)b->iter_vars[i])->iter_type == RLX_ITER_REDUCE;
    return reduces && !(b->annotations && rlx_attrs_get(b->annotations, "relax.partial_sums"));
}

static bool is_own(const rlx_buffer_store *s, const rlx_prim *p)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(p);
    bool same = l && l->buffer == s->buffer && !l->predicate && l->num_indices == s->num_indices;
    for (size_t i = 0; same && i < l->num_indices; i++)
        same = l->indices[i] == s->indices[i];
    return same;
}

/* The sum of X[..] and a product: the product, and X[..] in *own; NULL: it is none. */
static const rlx_binary *product_of(const rlx_buffer_store *s, const rlx_prim **own)
{
    const rlx_binary *sum = rlx_as_binary(s->value);
    rlx_dtype t = rlx_prim_dtype(s->value);
    if (!sum || sum->node.kind != RLX_NODE_ADD || s->predicate ||
        (t != RELAX_FLOAT32 && t != RELAX_FLOAT64))
        return NULL;
    bool first = is_own(s, sum->a) && sum->b->kind == RLX_NODE_MUL;
    *own = first ? sum->a : sum->b;
    return first || (is_own(s, sum->b) && sum->a->kind == RLX_NODE_MUL)
               ? rlx_as_binary(first ? sum->b : sum->a)
               : NULL;
}

/* ---- which stores? -------------------------------------------------------------------------- */

typedef struct search { rlx_context *ctx; rlx_ptrmap stores; } search;

static enum rlx_step note_store(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    search *q = user;
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_prim *own;
    if (s && product_of(s, &own))
        (void)rlx_ptrmap_put(&q->stores, s, 1);
    return s || n->kind == RLX_NODE_BLOCK_REALIZE ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static enum rlx_step search_block(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    search *q = user;
    const rlx_tir_block *b = rlx_as_tir_block(n);
    rlx_walker w = { .enter = note_store, .user = q, .terse = true };
    if (b && sums_up(b))
        rlx_walk(&q->ctx->memory, b->body, &w, NULL);
    return n->kind == RLX_NODE_BUFFER_STORE ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* ---- rewriting ------------------------------------------------------------------------------ */

static const rlx_node *fuse(rlx_rewriter *r, const rlx_node *n)
{
    const search *q = r->user;
    if (n->kind != RLX_NODE_BUFFER_STORE || !rlx_ptrmap_has(&q->stores, n))
        return NULL;
    const rlx_buffer_store *s = (const rlx_buffer_store *)n;
    const rlx_prim *own;
    const rlx_binary *product = product_of(s, &own);
    const rlx_prim *args[3] = { product->a, product->b, own },
                   *value = rlx_prim_call_z(r->ctx, rlx_prim_dtype(s->value), "fma", args, 3);
    const rlx_node *out = value ? rlx_store(r->ctx, rlx_as_buffer(s->buffer), value, s->indices,
                                            s->num_indices, s->place)
                                : NULL;
    r->failed |= !out;
    return out;
}

/* f itself where there is nothing to do; NULL: out of memory. */
static const rlx_prim_func *fuse_in(rlx_context *ctx, const rlx_prim_func *f)
{
    search q = { .ctx = ctx };
    rlx_walker w = { .enter = search_block, .user = &q, .terse = true };
    rlx_rewriter r;
    const rlx_prim_func *out = f;
    rlx_ptrmap_init(&q.stores, &ctx->memory);
    rlx_walk(&ctx->memory, f->body, &w, NULL);
    if (q.stores.len && !ctx->diags.out_of_memory) {
        rlx_rewriter_init(&r, ctx);
        r.before = fuse;
        r.user = &q;
        out = rlx_prim_func_with_body(ctx, f, rlx_rewrite(&r, f->body));
        rlx_rewriter_free(&r);
    }
    rlx_ptrmap_free(&q.stores);
    return ctx->diags.out_of_memory ? NULL : out;
}

const rlx_module *rlx_pass_fuse_multiply_add(rlx_pass_run *run, const rlx_module *m)
{
    if (rlx_products_are_separate(m->attrs))
        return m;
    const rlx_node **functions = rlx_new(run->ctx, (m->num_functions + 1) * sizeof *functions);
    if (!functions)
        return NULL;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_prim_func *f = rlx_as_prim_func(m->functions[i]);
        functions[i] = f ? (const rlx_node *)fuse_in(run->ctx, f) : m->functions[i];
        if (!functions[i])
            return NULL;
    }
    return rlx_module_with(run->ctx, m, functions);
}
