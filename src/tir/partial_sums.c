/*- partial_sums: the meaning of the block attribute relax.partial_sums.
 *
 *     for i, k in T.grid(n, m):
 *         with T.block("sum"):
 *             T.block_attr({"relax.partial_sums": 32})
 *             vi, vk = T.axis.remap("SR", [i, k])
 *             with T.init():
 *                 B[vi] = 0
 *             B[vi] = B[vi] + A[vi, vk]
 *
 * becomes, for every 64 i (r counts them, l < 32):
 *
 *     p[r, l] = 0
 *     p[r, l] = p[r, l] + A[i, t * 32 + l]       for t < m // 32
 *     p[r, l] = p[r, l] + A[i, m // 32 * 32 + l] for l < m % 32
 *     q[r, l] = 0
 *     q[r, l] = q[r, l] + p[r, k * 16 + l]       for k < 2, l < 16; then l < 8, 4, 2
 *     B[i] = 0
 *     B[i] = B[i] + q[r, k]                      for k < 2
 *
 * Let t be the position within the innermost run of reduced axes that are neighbours in memory's
 * order: element t goes to partial sum t mod 32, reduced axes outside of the run continue the same
 * partial sums, and these are added in a tree: 16 to 16, 8 to 8, ... All of it starts with +0, so
 * that no sum is -0, and partial sums that no element goes to need not be there.
 *
 * The run ends in the innermost reduced axis. Axes in front of it belong to it as they stand next
 * to each other in the first load that has the innermost one as an index.
 *
 * Where blocks are lowered, a sum that one instruction computes stays a nest (`steps` is the length of the run):
 *
 *     B[i] = 0                                              for i
 *     B[i] = B[i] + A[i, t]                                 for i, and t in T.serial(steps, annotations={"relax.partial_sums": 32})
 *
 * Loops with the attribute are innermost, in each other: the innermost is the run, the others continue its partial
 * sums. Their tree ends in B[i] = B[i] + q[r, k] for k < 2, without a zero before.
 *
 * It is a statement about blocks that store X[..] = X[..] + value, or T.fma(a, b, X[..]), of
 * float32 or float64, begin with 0, and have one loop from 0 for each axis. Of any other block it
 * says nothing.
 *
 * The innermost spatial axis has partial sums of its own for each of up to 64 points; where a
 * spatial axis is the contiguous one (a sum of rows, where that is no instruction), for each of up to 1024 columns. Values that
 * are more than a load are computed first, so that adding them up is one instruction. */
#include "tir/tir_int.h"

#include <math.h>

enum {
    LANES = 32, LEVELS = 6,
    ROW_TILE = 64, COLUMN_TILE = 1024,
    NEAR_COLUMNS = 128, FEW_COLUMNS = 2048,   /* what is one instruction: so few columns of any sums, */
    MOST_ROWS = 512, FEW_ROWS = 160,       /* or of so few rows, and any columns of fewer */
    VALUE_TILE = 1024, VALUE_ROWS = 8,     /* values computed first, and of how many rows */
    MAX_AXES = RLX_TIR_MAX_DIMS * 2
};

typedef struct axis {
    const rlx_prim *var;                   /* as the block has it */
    const rlx_for_stmt *loop;
    const rlx_prim *extent;                /* int64 */
    bool reduced;
} axis;

/* A loop of the result; one that surely runs once is none, and its variable is 0. */
typedef struct loop { const rlx_prim *var, *extent; } loop;

/* Points of an axis that have partial sums at one time. */
typedef struct tile { int axis; loop outer; const rlx_prim *begin, *count, *size; } tile;

typedef struct sums {
    rlx_context *ctx;
    rlx_place place;
    const rlx_ptrmap *matched;             /* buffers that are parts of others */
    axis axes[MAX_AXES];
    size_t count;
    const rlx_buffer_store *store;
    const rlx_buffer *target;
    const rlx_prim *terms[2];              /* what is added; fused: factors */
    bool fused;
    bool keeps;                            /* sums that are one instruction stay loops with the attribute */
    bool continues;                        /* loops with the attribute: the target has begun */
    int run[MAX_AXES], run_length;         /* axes, outermost first */
    const rlx_prim *steps;                 /* of the run */
    const rlx_prim *t;                     /* stands for the position in it where loads are views */
    rlx_ptrs views;
    tile row, column;                      /* axis -1: none */
    int64_t width;                         /* partial sums */
    const rlx_buffer *level[LEVELS];       /* the last one is the target */
    const rlx_buffer *values;              /* NULL: none */
} sums;

/* ---- small expressions ---------------------------------------------------------------------- */

static const rlx_prim *number(const sums *s, int64_t v) { return rlx_int64(s->ctx, v); }

static const rlx_prim *add(const sums *s, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_add(s->ctx, a, b);
}

static const rlx_prim *times(const sums *s, const rlx_prim *a, int64_t n)
{
    return rlx_fold_mul(s->ctx, a, number(s, n));
}

static const rlx_prim *quotient(const sums *s, const rlx_prim *a, int64_t n)
{
    return rlx_fold_binary(s->ctx, RLX_NODE_FLOOR_DIV, a, number(s, n));
}

static const rlx_prim *least(const sums *s, const rlx_prim *a, const rlx_prim *b)
{
    if (rlx_prove_compare(s->ctx, NULL, RLX_NODE_LE, a, b) == RLX_TRUE)
        return a;
    return rlx_fold_binary(s->ctx, RLX_NODE_MIN, a, b);
}

/* One that is there even if it runs once. */
static loop step_loop(const sums *s, const char *name, const rlx_prim *extent)
{
    const rlx_string *text = rlx_string_z(s->ctx, name);
    const rlx_prim_var *v =
        text ? rlx_prim_var_new(s->ctx, text, RELAX_INT64, RLX_NO_PLACE) : NULL;
    return (loop){ v ? &v->node : NULL, extent };
}

static loop loop_new(const sums *s, const char *name, const rlx_prim *extent)
{
    return rlx_is_int_value(extent, 1) ? (loop){ number(s, 0), extent }
                                       : step_loop(s, name, extent);
}

static const rlx_stmt *wrap(const sums *s, loop l, const rlx_stmt *body)
{
    const rlx_prim_var *v = l.var ? rlx_as_prim_var(l.var) : NULL;
    if (!v || !body)
        return l.var ? body : NULL;
    return rlx_for(s->ctx, v, number(s, 0), l.extent, RLX_FOR_SERIAL, body, s->place);
}

static const rlx_stmt *both(const sums *s, const rlx_stmt *a, const rlx_stmt *b)
{
    const rlx_stmt *parts[2] = { a, b };
    return a && b ? rlx_tir_sequence(s->ctx, parts, 2, s->place) : NULL;
}

/* ---- is it such a block? -------------------------------------------------------------------- */

static bool is_marked(const rlx_attr *annotations)
{
    const rlx_attr *a = annotations ? rlx_attrs_get(annotations, "relax.partial_sums") : NULL;
    const rlx_attr_int *i = rlx_as_attr_int(a);
    return i ? i->value == LANES : a && rlx_is_int_value(a, LANES);
}

static const rlx_prim *without_cast(const rlx_prim *p)
{
    return p->kind == RLX_NODE_CAST ? ((const rlx_unary *)p)->a : p;
}

/* The axis that a loop is bound to; -1: none, or it is no such loop. */
static int bound_axis(const rlx_block_realize *r, const rlx_tir_block *b, const rlx_for_stmt *f)
{
    int found = -1;
    for (size_t i = 0; i < b->num_iter_vars; i++)
        if (without_cast(r->iter_values[i]) == f->loop_var)
            found = found < 0 ? (int)i : -2;
    bool plain = f->for_kind == RLX_FOR_SERIAL || f->for_kind == RLX_FOR_PARALLEL;
    return plain && rlx_is_int_value(f->min, 0) ? found : -1;
}

/* One loop for each axis, of extents that do not depend on each other. */
static bool read_axes(sums *s, const rlx_for_stmt *nest, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    rlx_ptrmap vars;
    bool ok = rlx_is_int_value(r->predicate, 1) && b->num_iter_vars == r->num_iter_values;
    rlx_ptrmap_init(&vars, &s->ctx->memory);
    for (const rlx_for_stmt *f = nest; ok && f; f = rlx_as_for_stmt(f->body)) {
        int i = s->count < MAX_AXES ? bound_axis(r, b, f) : -1;
        axis *a = &s->axes[s->count];
        ok = i >= 0 && !rlx_tir_mentions(s->ctx, f->extent, &vars) &&
             rlx_ptrmap_put(&vars, f->loop_var, 1);
        if (!ok)
            break;
        const rlx_iter_var *iter = (const rlx_iter_var *)b->iter_vars[i];
        *a = (axis){ .var = iter->var,
                     .loop = f,
                     .extent = rlx_fold_cast(s->ctx, RELAX_INT64, f->extent) };
        a->reduced = iter->iter_type == RLX_ITER_REDUCE;
        ok = a->extent && (a->reduced || iter->iter_type == RLX_ITER_SPATIAL);
        s->count++;
    }
    rlx_ptrmap_free(&vars);
    return ok && s->count == b->num_iter_vars;
}

static bool is_own(const sums *s, const rlx_prim *p)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(p);
    bool same = l && l->buffer == s->store->buffer && !l->predicate &&
                l->num_indices == s->store->num_indices;
    for (size_t i = 0; same && i < l->num_indices; i++)
        same = l->indices[i] == s->store->indices[i];
    return same;
}

static enum rlx_step find_alias(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    const sums *s = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    bool bad = (l && (rlx_ptrmap_has(s->matched, l->buffer) ||
                      rlx_as_buffer(l->buffer)->data == s->target->data)) ||
               (n->kind == RLX_NODE_PRIM_VAR && ((const rlx_prim_var *)n)->dtype == RELAX_HANDLE);
    return bad ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool is_apart(const sums *s, const rlx_prim *term)
{
    rlx_walker w = { .enter = find_alias, .user = (void *)s, .terse = true };
    return rlx_walk(&s->ctx->memory, term, &w, NULL) != RLX_STEP_STOP &&
           !s->ctx->diags.out_of_memory;
}

/* X[..] = X[..] + value, the other way round, or T.fma(a, b, X[..]). */
static bool read_terms(sums *s)
{
    const rlx_prim_call *call = rlx_as_prim_call(s->store->value);
    const rlx_binary *sum = rlx_as_binary(s->store->value);
    if (call && call->op && call->num_args == 3 &&
        rlx_slice_is(rlx_string_slice(call->op), "fma") && is_own(s, call->args[2])) {
        s->fused = true;
        memcpy(s->terms, call->args, sizeof s->terms);
        return is_apart(s, s->terms[0]) && is_apart(s, s->terms[1]);
    }
    if (!sum || sum->node.kind != RLX_NODE_ADD || (!is_own(s, sum->a) && !is_own(s, sum->b)))
        return false;
    s->terms[0] = is_own(s, sum->a) ? sum->b : sum->a;
    return is_apart(s, s->terms[0]);
}

static bool starts_with_zero(const sums *s, const rlx_stmt *init)
{
    const rlx_buffer_store *first = rlx_as_buffer_store(init);
    const rlx_float_imm *zero = first ? rlx_as_float_imm(first->value) : NULL;
    bool same = zero && zero->value == 0 && !signbit(zero->value) &&
                first->buffer == s->store->buffer && !first->predicate &&
                first->num_indices == s->store->num_indices;
    for (size_t i = 0; same && i < first->num_indices; i++)
        same = first->indices[i] == s->store->indices[i];
    return same;
}

/* Every spatial axis is an index of its own, no reduced one is part of any. */
static bool points_are_apart(const sums *s)
{
    rlx_ptrmap reduced;
    bool ok = true;
    rlx_ptrmap_init(&reduced, &s->ctx->memory);
    for (size_t i = 0; i < s->count && ok; i++) {
        bool found = s->axes[i].reduced;
        if (found)
            ok = rlx_ptrmap_put(&reduced, s->axes[i].var, 1);
        for (size_t d = 0; d < s->store->num_indices && !found; d++)
            found = s->store->indices[d] == s->axes[i].var;
        ok = ok && found;
    }
    for (size_t d = 0; d < s->store->num_indices && ok; d++)
        ok = !rlx_tir_mentions(s->ctx, s->store->indices[d], &reduced);
    rlx_ptrmap_free(&reduced);
    return ok;
}

static bool read_block(sums *s, const rlx_for_stmt *nest)
{
    const rlx_stmt *inner = &nest->node;
    while (inner && inner->kind == RLX_NODE_FOR)
        inner = ((const rlx_for_stmt *)inner)->body;
    const rlx_block_realize *r = rlx_as_block_realize(inner);
    const rlx_tir_block *b = r ? rlx_as_tir_block(r->block) : NULL;
    if (!b || !is_marked(b->annotations) || !b->init || b->num_alloc_buffers ||
        b->num_match_buffers)
        return false;
    s->place = b->place;
    s->store = rlx_as_buffer_store(b->body);
    s->target = s->store ? rlx_as_buffer(s->store->buffer) : NULL;
    return s->target && !rlx_ptrmap_has(s->matched, s->target) && !s->store->predicate &&
           (s->target->dtype == RELAX_FLOAT32 || s->target->dtype == RELAX_FLOAT64) &&
           rlx_prim_dtype(s->store->value) == s->target->dtype && read_axes(s, nest, r) &&
           starts_with_zero(s, b->init) && read_terms(s) && points_are_apart(s);
}

static bool is_marked_loop(const rlx_node *n)
{
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    return f && is_marked(f->annotations);
}

/* Loops with the attribute, innermost: each of them a reduced axis, none of which moves the target. */
static bool read_loops(sums *s, const rlx_for_stmt *nest)
{
    const rlx_stmt *inner = &nest->node;
    rlx_ptrmap reduced;
    bool ok = true;
    rlx_ptrmap_init(&reduced, &s->ctx->memory);
    for (const rlx_for_stmt *f; ok && (f = rlx_as_for_stmt(inner)); inner = f->body) {
        ok = s->count < MAX_AXES && is_marked(f->annotations) && rlx_is_int_value(f->min, 0) &&
             f->for_kind == RLX_FOR_SERIAL && !rlx_tir_mentions(s->ctx, f->extent, &reduced) &&
             rlx_ptrmap_put(&reduced, f->loop_var, 1);
        if (ok)
            s->axes[s->count++] = (axis){ f->loop_var, f,
                                          rlx_fold_cast(s->ctx, RELAX_INT64, f->extent), true };
    }
    s->continues = true;
    s->store = rlx_as_buffer_store(inner);
    s->target = s->store ? rlx_as_buffer(s->store->buffer) : NULL;
    s->place = s->store ? s->store->place : nest->place;
    ok = ok && s->target && !rlx_ptrmap_has(s->matched, s->target) && !s->store->predicate &&
         (s->target->dtype == RELAX_FLOAT32 || s->target->dtype == RELAX_FLOAT64) &&
         rlx_prim_dtype(s->store->value) == s->target->dtype && read_terms(s);
    for (size_t d = 0; ok && d < s->store->num_indices; d++)
        ok = !rlx_tir_mentions(s->ctx, s->store->indices[d], &reduced);
    rlx_ptrmap_free(&reduced);
    return ok;
}

/* ---- which axes are the run, the rows, the columns? ----------------------------------------- */

static int innermost(const sums *s, bool reduced, int not)
{
    int found = -1;
    for (int i = 0; i < (int)s->count; i++)
        if (s->axes[i].reduced == reduced && i != not)
            found = i;
    return found;
}

typedef struct search { const rlx_prim *var; const rlx_buffer_load *found; } search;

static enum rlx_step find_load_of(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    search *q = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    for (size_t d = 0; l && d < l->num_indices; d++)
        if (l->indices[d] == q->var)
            q->found = l;
    return q->found ? RLX_STEP_STOP : n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* The first load that has the variable as an index. */
static const rlx_buffer_load *load_of(const sums *s, const rlx_prim *var)
{
    search q = { var, NULL };
    rlx_walker w = { .enter = find_load_of, .user = &q, .terse = true };
    for (int i = 0; i < 1 + s->fused && !q.found; i++)
        rlx_walk(&s->ctx->memory, s->terms[i], &w, NULL);
    return q.found;
}

static bool is_run_of_lanes(const rlx_prim *steps)
{
    int64_t n;
    return rlx_int_literal(steps, &n) && n % LANES == 0;
}

/* Axes of the run, the innermost one first; where all of them together go on from one multiple of
 * the lanes to the next, those in front of them need not be known to belong to it: one of them, which an
 * instruction repeats the run for. */
static void find_run(sums *s, const rlx_buffer_load *load)
{
    int last = innermost(s, true, -1), at = -1, others = -1;
    for (int i = 0; i < (int)s->count; i++)
        others += s->axes[i].reduced;
    for (int d = 0; load && d < (int)load->num_indices; d++)
        if (load->indices[d] == s->axes[last].var)
            at = d;
    s->run[0] = last;
    s->run_length = 1;
    s->steps = s->axes[last].extent;
    for (int i = s->continues ? 0 : last; i-- > 0 && at-- > 0 && (others > 1 || !is_run_of_lanes(s->steps)); others--) {
        while (i > 0 && !s->axes[i].reduced)
            i--;
        if (!s->axes[i].reduced || load->indices[at] != s->axes[i].var)
            break;
        memmove(s->run + 1, s->run, (size_t)s->run_length * sizeof *s->run);
        s->run[0] = i;
        s->run_length++;
        s->steps = rlx_fold_mul(s->ctx, s->axes[i].extent, s->steps);
    }
}

static bool is_in_run(const sums *s, int i)
{
    for (int k = 0; k < s->run_length; k++)
        if (s->run[k] == i)
            return true;
    return false;
}

/* `most` points of an axis at a time. */
static tile tile_of(const sums *s, int i, const char *name, int64_t most)
{
    const rlx_prim *one = number(s, 1), *zero = number(s, 0);
    tile t = { i, { zero, one }, zero, one, one };
    int64_t n;
    if (i < 0)
        return t;
    const rlx_prim *extent = s->axes[i].extent;
    bool whole = rlx_int_literal(extent, &n) && n <= most;
    t.size = whole ? extent : number(s, most);
    t.count = extent;
    if (whole)
        return t;
    t.outer = loop_new(s, name, quotient(s, add(s, extent, number(s, most - 1)), most));
    t.begin = times(s, t.outer.var, most);
    t.count = least(s, number(s, most), rlx_fold_sub(s->ctx, extent, t.begin));
    return t;
}

/* ---- loads of several axes as one index of a view ------------------------------------------- */

/* Where a load has the axes of the run as its indices, each as long as its dimension; -1: nowhere.
 */
static int run_at(const sums *s, const rlx_buffer_load *l)
{
    const rlx_buffer *b = rlx_as_buffer(l->buffer);
    bool compact = b->num_strides == 0 &&
                   (!b->elem_offset || b->elem_offset->kind == RLX_NODE_PRIM_VAR ||
                    rlx_is_int_value(b->elem_offset, 0));
    for (int d = 0; compact && d + s->run_length <= (int)l->num_indices; d++) {
        bool all = true;
        for (int k = 0; k < s->run_length && all; k++)
            all = l->indices[d + k] == s->axes[s->run[k]].var &&
                  (k == 0 || rlx_fold_cast(s->ctx, RELAX_INT64, b->shape[d + k]) ==
                                 s->axes[s->run[k]].extent);
        if (all)
            return d;
    }
    return -1;
}

static const rlx_buffer *view_of(sums *s, const rlx_buffer *b, int at)
{
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    rlx_buffer *view = rlx_node_new(s->ctx, RLX_NODE_BUFFER);
    size_t n = 0;
    for (int d = 0; d < (int)b->num_shape; d++) {
        const rlx_prim *size = rlx_fold_cast(s->ctx, RELAX_INT64, b->shape[d]);
        if (d > at && d < at + s->run_length)
            shape[n - 1] = rlx_fold_mul(s->ctx, shape[n - 1], size);
        else
            shape[n++] = size;
    }
    const rlx_prim **copy = view ? rlx_new_copy(s->ctx, shape, n * sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    rlx_node head = view->node;
    *view = *b;
    view->node = head;
    view->shape = copy;
    view->num_shape = n;
    view->elem_offset = number(s, 0);
    return view->elem_offset && rlx_vec_push(&s->ctx->memory, &s->views, view) ? view : NULL;
}

static const rlx_node *merge_run(rlx_rewriter *r, const rlx_node *n)
{
    sums *s = r->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    int d = l && !l->predicate ? run_at(s, l) : -1;
    if (d < 0)
        return rlx_tir_refold(r, n);
    const rlx_buffer *view = view_of(s, rlx_as_buffer(l->buffer), d);
    size_t count = 0;
    for (int i = 0; i < (int)l->num_indices; i++)
        if (i <= d || i >= d + s->run_length)
            at[count++] = i == d ? s->t : l->indices[i];
    return view ? rlx_load(s->ctx, view, at, count) : NULL;
}

static bool merge_runs(sums *s)
{
    if (s->run_length == 1)
        return true;
    rlx_rewriter r;
    s->t = step_loop(s, "t", s->steps).var;
    rlx_tir_folder_init(&r, s->ctx);
    r.after = merge_run;
    r.user = s;
    bool ok = s->t != NULL;
    for (int i = 0; i < 1 + s->fused && ok; i++)
        ok = (s->terms[i] = rlx_rewrite(&r, s->terms[i])) != NULL;
    rlx_rewriter_free(&r);
    return ok;
}

/* ---- expressions of the block at a point ---------------------------------------------------- */

/* In the tiles; t: position in the run, NULL where it does not matter. */
typedef struct point { const rlx_prim *row, *lane, *column, *t; } point;

static const rlx_prim *axis_value(const sums *s, int i, const point *p)
{
    if (i == s->row.axis)
        return add(s, s->row.begin, p->row);
    if (i == s->column.axis)
        return add(s, s->column.begin, p->column);
    if (!is_in_run(s, i))
        return s->axes[i].loop->loop_var;
    const rlx_prim *digit = p->t;
    for (int k = s->run_length; k-- > 0 && digit;) {
        const rlx_prim *extent = s->axes[s->run[k]].extent;
        if (s->run[k] == i)
            return k ? rlx_fold_binary(s->ctx, RLX_NODE_FLOOR_MOD, digit, extent) : digit;
        digit = rlx_fold_binary(s->ctx, RLX_NODE_FLOOR_DIV, digit, extent);
    }
    return NULL;
}

static const rlx_prim *at_point(const sums *s, const rlx_prim *expr, const point *p)
{
    rlx_rewriter r;
    bool ok = true;
    rlx_tir_folder_init(&r, s->ctx);
    for (int i = 0; i < (int)s->count && ok; i++) {
        const rlx_prim *var = s->axes[i].var, *value = axis_value(s, i, p);
        ok = (!value && !p->t && is_in_run(s, i)) ||
             (value && rlx_ptrmap_put(
                           &r.map, var,
                           (uintptr_t)rlx_fold_cast(s->ctx, rlx_prim_dtype(var), value)));
    }
    ok = ok && (!s->t || !p->t || rlx_ptrmap_put(&r.map, s->t, (uintptr_t)p->t));
    const rlx_prim *out = ok ? rlx_rewrite(&r, expr) : NULL;
    rlx_rewriter_free(&r);
    return out;
}

/* A number of dimensions that are there. */
static size_t indices_at(const sums *s, const point *p, bool lanes, const rlx_prim **at)
{
    size_t n = 0;
    if (s->row.axis >= 0)
        at[n++] = p->row;
    if (lanes)
        at[n++] = p->lane;
    if (s->column.axis >= 0)
        at[n++] = p->column;
    return n;
}

/* The place of partial sum p->lane of a level. The number of its indices; 0: out of memory. */
static size_t place_at(const sums *s, const rlx_buffer *b, const point *p, const rlx_prim **at)
{
    if (b != s->target)
        return indices_at(s, p, true, at);
    for (size_t d = 0; d < s->store->num_indices; d++)
        if (!(at[d] = at_point(s, s->store->indices[d], p)))
            return 0;
    return s->store->num_indices;
}

/* b[p] = b[p] + term, or fused with a second factor. */
static const rlx_stmt *update(const sums *s, const rlx_buffer *b, const point *p,
                              const rlx_prim *term, const rlx_prim *factor)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    size_t n = place_at(s, b, p, at);
    const rlx_prim *own = n || b == s->target ? rlx_load(s->ctx, b, at, n) : NULL,
                   *args[3] = { term, factor, own };
    if (!own || !term)
        return NULL;
    const rlx_prim *value = factor ? rlx_prim_call_z(s->ctx, b->dtype, "fma", args, 3)
                                   : rlx_binary_new(s->ctx, RLX_NODE_ADD, own, term);
    return value ? rlx_store(s->ctx, b, value, at, n, s->place) : NULL;
}

/* ---- statements ----------------------------------------------------------------------------- */

/* What a nest over all rows, lanes and columns has around its body. */
typedef struct grid { loop row, step, lane, column; point at; } grid;

static grid grid_new(const sums *s, const rlx_prim *steps, const rlx_prim *lanes)
{
    grid g = { loop_new(s, "r", s->row.count), loop_new(s, "k", steps), loop_new(s, "l", lanes),
               loop_new(s, "c", s->column.count), { 0 } };
    g.at = (point){ g.row.var, g.lane.var, g.column.var, NULL };
    return g;
}

static const rlx_stmt *close_grid(const sums *s, const grid *g, const rlx_stmt *body)
{
    return wrap(s, g->row, wrap(s, g->step, wrap(s, g->lane, wrap(s, g->column, body))));
}

static const rlx_stmt *clear(const sums *s, int level, int64_t width)
{
    const rlx_buffer *b = s->level[level];
    grid g = grid_new(s, number(s, 1), number(s, width));
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *zero = rlx_float(s->ctx, b->dtype, 0);
    size_t n = place_at(s, b, &g.at, at);
    bool ok = zero && (n || b == s->target);
    return ok ? close_grid(s, &g, rlx_store(s->ctx, b, zero, at, n, s->place)) : NULL;
}

/* The values of positions begin + k * width + l, or those computed first, from 0 on. */
static const rlx_stmt *accumulate(const sums *s, const rlx_prim *begin, const rlx_prim *from,
                                  const rlx_prim *steps, const rlx_prim *lanes)
{
    grid g = grid_new(s, steps, lanes);
    g.step = step_loop(s, "k", steps); /* what makes it a reduction also where it runs once */
    const rlx_prim *position = add(s, from, add(s, times(s, g.step.var, s->width), g.lane.var)),
                   *at[2], *term, *factor = NULL;
    g.at.t = add(s, begin, position);
    if (s->values) {
        size_t n = 0;
        if (s->row.axis >= 0)
            at[n++] = g.at.row;
        at[n++] = position;
        term = position ? rlx_load(s->ctx, s->values, at, n) : NULL;
    } else {
        term = g.at.t ? at_point(s, s->terms[0], &g.at) : NULL;
        factor = term && s->fused ? at_point(s, s->terms[1], &g.at) : NULL;
    }
    if (!term || (s->fused && !factor))
        return NULL;
    return close_grid(s, &g, update(s, s->level[0], &g.at, term, factor));
}

/* `count` elements from `begin` on, which goes to the first partial sum. */
static const rlx_stmt *take(const sums *s, const rlx_prim *begin, const rlx_prim *count)
{
    const rlx_prim *steps = quotient(s, count, s->width),
                   *done = steps ? times(s, steps, s->width) : NULL,
                   *rest = done ? rlx_fold_sub(s->ctx, count, done) : NULL,
                   *zero = number(s, 0), *one = number(s, 1);
    if (!rest || !zero || !one)
        return NULL;
    if (rlx_is_int_value(rest, 0))
        return accumulate(s, begin, zero, steps, number(s, s->width));
    const rlx_stmt *tail = accumulate(s, begin, done, one, rest);
    if (rlx_is_int_value(steps, 0))
        return tail;
    return both(s, accumulate(s, begin, zero, steps, number(s, s->width)), tail);
}

/* The values of a part of the run first, then their sums. */
static const rlx_stmt *take_values(const sums *s)
{
    tile part = { 0, { number(s, 0), number(s, 1) }, number(s, 0), s->steps, NULL };
    int64_t n;
    if (!rlx_int_literal(s->steps, &n) || n > VALUE_TILE) {
        part.outer =
            loop_new(s, "to", quotient(s, add(s, s->steps, number(s, VALUE_TILE - 1)), VALUE_TILE));
        part.begin = times(s, part.outer.var, VALUE_TILE);
        part.count = least(s, number(s, VALUE_TILE), rlx_fold_sub(s->ctx, s->steps, part.begin));
    }
    loop row = loop_new(s, "r", s->row.count), x = loop_new(s, "x", part.count);
    point p = { row.var, NULL, number(s, 0), add(s, part.begin, x.var) };
    const rlx_prim *value = p.t && p.row ? at_point(s, s->terms[0], &p) : NULL, *at[2];
    size_t count = 0;
    if (s->row.axis >= 0)
        at[count++] = row.var;
    at[count++] = x.var;
    const rlx_stmt *first = value ? rlx_store(s->ctx, s->values, value, at, count, s->place) : NULL;
    first = wrap(s, row, wrap(s, x, first));
    return wrap(s, part.outer, both(s, first, take(s, part.begin, part.count)));
}

/* Partial sums of a level in pairs: l and l + width go to l of the next. */
static const rlx_stmt *join(const sums *s, int level, int64_t width)
{
    grid g = grid_new(s, number(s, 2), number(s, width));
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    point from = g.at;
    from.lane = add(s, times(s, g.step.var, width), g.lane.var);
    size_t n = indices_at(s, &from, true, at);
    const rlx_prim *term = from.lane ? rlx_load(s->ctx, s->level[level - 1], at, n) : NULL;
    const rlx_stmt *sum = close_grid(s, &g, update(s, s->level[level], &g.at, term, NULL));
    return s->continues && s->level[level] == s->target ? sum : both(s, clear(s, level, width), sum);
}

/* Loops of axes that are neither tiled nor in the run, as they stand. */
static const rlx_stmt *wrap_axes(const sums *s, bool reduced, const rlx_stmt *body)
{
    for (int i = (int)s->count; i-- > 0 && body;) {
        const axis *a = &s->axes[i];
        if (a->reduced == reduced && i != s->row.axis && i != s->column.axis && !is_in_run(s, i))
            body = rlx_for(s->ctx, rlx_as_prim_var(a->loop->loop_var), a->loop->min,
                           a->loop->extent, a->loop->for_kind, body, s->place);
    }
    return body;
}

/* ---- memory --------------------------------------------------------------------------------- */

static const rlx_buffer *temporary(const sums *s, const char *name, const rlx_prim *lanes,
                                   bool columns)
{
    const rlx_prim *shape[3];
    const rlx_string *text = rlx_string_z(s->ctx, name);
    size_t n = 0;
    if (s->row.axis >= 0)
        shape[n++] = s->row.size;
    shape[n++] = lanes;
    if (columns && s->column.axis >= 0)
        shape[n++] = s->column.size;
    return text && lanes ? rlx_buffer_new(s->ctx, text, s->target->dtype, shape, n, NULL, s->place)
                         : NULL;
}

/* Is the value, as it stands, what REDUCE adds? */
static bool is_plain(const sums *s)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(s->terms[0]);
    return l && !l->predicate && rlx_as_buffer(l->buffer)->dtype == s->target->dtype;
}

/* The run; the axis of columns, -1: there is none. */
static int choose_axes(sums *s)
{
    const rlx_prim *last = s->axes[innermost(s, true, -1)].var;
    const rlx_buffer_load *load = load_of(s, last);
    int column = -1;
    find_run(s, load);
    for (int i = 0; load && i < (int)s->count; i++)
        if (!s->axes[i].reduced && load->indices[load->num_indices - 1] == s->axes[i].var)
            column = i;
    return column;
}

static bool choose_tiles(sums *s, int column)
{
    int64_t n;
    bool values = column < 0 && !s->fused && !is_plain(s);
    s->width = LANES;
    while (!s->fused && s->width > 1 + s->continues && rlx_int_literal(s->steps, &n) &&
           n <= s->width / 2)
        s->width /= 2;
    s->column = tile_of(s, column, "co", COLUMN_TILE);
    s->row = tile_of(s, column < 0 ? innermost(s, false, -1) : -1, "ro",
                     values ? VALUE_ROWS : ROW_TILE);
    int level = 0;
    for (int64_t w = s->width; w > 1; w /= 2)
        if (!(s->level[level++] = temporary(s, "partial", number(s, w), true)))
            return false;
    s->level[level] = s->target;
    if (!values)
        return true;
    bool few = rlx_int_literal(s->steps, &n) && n < VALUE_TILE;
    return (s->values = temporary(s, "values", few ? s->steps : number(s, VALUE_TILE), false));
}

static const rlx_stmt *add_memory(const sums *s, const rlx_stmt *body)
{
    for (size_t i = 0; i < s->views.len && body; i++) {
        rlx_decl_buffer *d = rlx_node_new(s->ctx, RLX_NODE_DECL_BUFFER);
        if (!d)
            return NULL;
        d->place = s->place;
        d->buffer = s->views.data[i];
        d->body = body;
        body = &d->node;
    }
    if (s->values)
        body = rlx_tir_with_temporary(s->ctx, s->values, body, s->place);
    for (int i = 0; i < LEVELS && s->level[i] && s->level[i] != s->target; i++)
        body = rlx_tir_with_temporary(s->ctx, s->level[i], body, s->place);
    return body;
}

/* ---- loops that keep the attribute ---------------------------------------------------------- */

/* Indices by the axes, with literal coefficients. */
static bool is_affine(const sums *s, const rlx_buffer_load *l)
{
    const rlx_prim *vars[MAX_AXES + 1];
    size_t n = 0;
    rlx_tir_affine a;
    int64_t c;
    for (size_t i = 0; i < s->count; i++)
        vars[n++] = s->axes[i].var;
    if (s->t)
        vars[n++] = s->t;
    bool is = n <= RLX_TIR_MAX_DIMS * 2 && !l->predicate && rlx_as_buffer(l->buffer)->dtype == s->target->dtype;
    for (size_t d = 0; is && d < l->num_indices; d++) {
        is = rlx_tir_affine_of(s->ctx, l->indices[d], vars, n, &a);
        for (size_t i = 0; is && i < n; i++)
            is = !a.coeff[i] || rlx_int_literal(a.coeff[i], &c);
    }
    return is;
}

/* Is it the same for all that goes to one sum? */
static bool stands_still(const sums *s, const rlx_buffer_load *l)
{
    rlx_ptrmap reduced;
    bool still = true;
    rlx_ptrmap_init(&reduced, &s->ctx->memory);
    for (size_t i = 0; i < s->count; i++)
        still = still && (!s->axes[i].reduced || rlx_ptrmap_put(&reduced, s->axes[i].var, 1));
    still = still && (!s->t || rlx_ptrmap_put(&reduced, s->t, 1));
    for (size_t d = 0; still && d < l->num_indices; d++)
        still = !rlx_tir_mentions(s->ctx, l->indices[d], &reduced);
    rlx_ptrmap_free(&reduced);
    return still;
}

/* An element, its square, or that of its distance from one that stands still, contiguous along the run; or elements of few
 * columns; in one run, or in one that an axis around it repeats: what schedule/plan.c knows an instruction for. */
static bool is_one_instruction(const sums *s, int column)
{
    const rlx_binary *product = rlx_as_binary(s->terms[0]),
                     *distance = product && product->node.kind == RLX_NODE_MUL && product->a == product->b
                                     ? rlx_as_binary(product->a)
                                     : NULL;
    bool squares = distance && distance->node.kind == RLX_NODE_SUB,
         own = product && product->node.kind == RLX_NODE_MUL && product->a == product->b && !squares;
    const rlx_buffer_load *a = rlx_as_buffer_load(squares ? distance->a : own ? product->a : s->terms[0]),
                          *b = squares ? rlx_as_buffer_load(distance->b) : NULL;
    int outer = -s->run_length;
    int64_t n, steps;
    if (s->fused || !a || (squares && !b) || !is_affine(s, a) || (b && (!is_affine(s, b) || !stands_still(s, b))))
        return false;
    for (size_t i = 0; i < s->count; i++)
        outer += s->axes[i].reduced;
    const rlx_prim *last = a->num_indices ? a->indices[a->num_indices - 1] : NULL,
                   *run = s->t ? s->t : s->axes[s->run[0]].var;
    const int64_t rows = rlx_int_literal(s->steps, &steps) ? steps : 0;
    bool few = column >= 0 && !product && rlx_int_literal(s->axes[column].extent, &n) &&
               (n <= NEAR_COLUMNS || (n <= FEW_COLUMNS && rows <= MOST_ROWS) || (rows > 0 && rows <= FEW_ROWS));
    return outer <= 1 && (last == run || few);
}

/* The loop, which has just been made, gets the attribute. */
static const rlx_stmt *mark(const sums *s, const rlx_stmt *made)
{
    const rlx_attr *n = rlx_int(s->ctx, RELAX_INT32, LANES);
    rlx_for_stmt *f = made && n ? (rlx_for_stmt *)(uintptr_t)made : NULL;
    if (f)
        f->annotations = rlx_attrs_with(s->ctx, NULL, "relax.partial_sums", n);
    return f && f->annotations ? made : NULL;
}

static const rlx_stmt *mark_axis(const sums *s, int i, const rlx_stmt *body)
{
    const rlx_for_stmt *f = s->axes[i].loop;
    return body ? mark(s, rlx_for(s->ctx, rlx_as_prim_var(f->loop_var), f->min, f->extent,
                                  RLX_FOR_SERIAL, body, s->place))
                : NULL;
}

/* The target is 0; then a nest whose innermost loops, those of the sum, have the attribute. */
static const rlx_stmt *keep_loops(sums *s)
{
    bool own = s->run_length == 1; /* the loop as it stands */
    loop t = own ? (loop){ s->axes[s->run[0]].loop->loop_var, s->steps } : step_loop(s, "t", s->steps);
    point p = { NULL, NULL, NULL, t.var };
    const rlx_prim *term = t.var ? at_point(s, s->terms[0], &p) : NULL;
    s->row = s->column = tile_of(s, -1, NULL, 0);
    s->level[0] = s->target;
    const rlx_stmt *body = term ? update(s, s->target, &p, term, NULL) : NULL,
                   *first = wrap_axes(s, false, clear(s, 0, 1));
    body = own ? mark_axis(s, s->run[0], body) : mark(s, wrap(s, t, body));
    for (int i = (int)s->count; i-- > 0;)
        if (s->axes[i].reduced && !is_in_run(s, i))
            body = mark_axis(s, i, body);
    first = first ? rlx_copy_fresh(s->ctx, first) : NULL;
    return add_memory(s, both(s, first, wrap_axes(s, false, body)));
}

/* ---- all of a sum ------------------------------------------------------------------------------ */

static const rlx_stmt *lower_sums(sums *s)
{
    int column = choose_axes(s);
    if (!merge_runs(s))
        return NULL;
    if (s->keeps && is_one_instruction(s, column))
        return keep_loops(s);
    if (!choose_tiles(s, column))
        return NULL;
    const rlx_stmt *body = s->values ? take_values(s) : take(s, number(s, 0), s->steps);
    body = both(s, clear(s, 0, s->width), wrap_axes(s, true, body));
    int level = 1;
    for (int64_t w = s->width / 2; w >= 1; w /= 2)
        body = both(s, body, join(s, level++, w));
    body = wrap(s, s->row.outer, wrap(s, s->column.outer, body));
    return add_memory(s, wrap_axes(s, false, body));
}

/* ---- a function ----------------------------------------------------------------------------- */

typedef struct survey { rlx_ptrmap matched; bool marked, keeps; } survey;

/* A loop of which the attribute says nothing, without it: what is lowered must not say more. */
static const rlx_node *without_mark(rlx_rewriter *r, const rlx_for_stmt *f)
{
    rlx_for_stmt *copy = rlx_node_new(r->ctx, RLX_NODE_FOR);
    const rlx_stmt *body = copy ? rlx_rewrite(r, f->body) : NULL;
    if (!body) {
        r->failed = true;
        return NULL;
    }
    rlx_node head = copy->node;
    *copy = *f;
    copy->node = head;
    copy->annotations = NULL;
    copy->body = body;
    return &copy->node;
}

static const rlx_node *replace_nest(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_for_stmt *nest = rlx_as_for_stmt(n);
    const survey *q = r->user;
    if (!nest)
        return NULL;
    sums s = { .ctx = r->ctx, .matched = &q->matched, .keeps = q->keeps, .row.axis = -1, .column.axis = -1 };
    const rlx_stmt *out = NULL;
    bool marked = is_marked_loop(n), is = marked ? read_loops(&s, nest) : read_block(&s, nest);
    if (marked && q->keeps)
        return is ? NULL : without_mark(r, nest);
    if (is && innermost(&s, true, -1) >= 0 && !(out = lower_sums(&s)))
        r->failed = true;
    rlx_vec_free(&r->ctx->memory, &s.views);
    return out;
}

static enum rlx_step survey_block(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    survey *q = user;
    const rlx_tir_block *b = rlx_as_tir_block(n);
    q->marked |= (b && is_marked(b->annotations)) || is_marked_loop(n);
    for (size_t i = 0; b && i < b->num_match_buffers; i++)
        (void)rlx_ptrmap_put(&q->matched, rlx_as_match_buffer_region(b->match_buffers[i])->buffer,
                             1);
    return n->kind == RLX_NODE_BUFFER_STORE ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static const rlx_node *rewrite(rlx_context *ctx, const rlx_node *n, bool keeps)
{
    survey q = { .keeps = keeps };
    rlx_walker w = { .enter = survey_block, .user = &q, .terse = true };
    rlx_rewriter r;
    rlx_ptrmap_init(&q.matched, &ctx->memory);
    rlx_walk(&ctx->memory, n, &w, NULL);
    if (q.marked && !ctx->diags.out_of_memory) {
        rlx_rewriter_init(&r, ctx);
        r.before = replace_nest;
        r.user = &q;
        n = rlx_rewrite(&r, n);
        rlx_rewriter_free(&r);
    }
    rlx_ptrmap_free(&q.matched);
    return ctx->diags.out_of_memory ? NULL : n;
}

const rlx_prim_func *rlx_tir_partial_sums(rlx_context *ctx, const rlx_prim_func *f, bool keeps)
{
    const rlx_stmt *body = rewrite(ctx, f->body, keeps);
    return body && body != f->body ? rlx_prim_func_with_body(ctx, f, body) : body ? f : NULL;
}

bool rlx_tir_is_partial_loop(const rlx_for_stmt *f)
{
    return f->for_kind == RLX_FOR_SERIAL && is_marked(f->annotations);
}

const rlx_stmt *rlx_tir_partial_loops(rlx_context *ctx, const rlx_for_stmt *nest)
{
    return rewrite(ctx, &nest->node, false);
}
