/* plan_parallel.c: which loop of a nest threads share, and how much work a nest is. */
#include "arith/arith.h"
#include "schedule/plan_int.h"

enum {
    ENOUGH_PARTS = 16,       /* so many let a few threads end together */
    PROBABLY = ENOUGH_PARTS - 1, /* parts of a size that only the run knows */
    COLUMNS_OF_SUM = 256,    /* a part of them fills the tiles of a contraction */
    COLUMNS_OF_ROW = 256,    /* shorter runs cost more than they gain */
    ROWS_OF_SUM = 4,         /* a part of them, where one alone would read all columns; of columns that are rows of what is summed */
    ELEMENTS_OF_STRIP = 256, /* half of the longest one */
    ROWS_OF_STRIP = 16,      /* where each element of a strip is a row */
    BOX_DIMENSIONS = 4
};

/* ---- loops ---------------------------------------------------------------------------------- */

/* A loop or dimension that could be shared. */
typedef struct candidate { int loop, dimension; const rlx_prim *extent; int64_t grain; } candidate;

static int64_t parts_of(const rlx_nest_plan *n, const candidate *c)
{
    int64_t extent;
    bool small = n->form == RLX_PLAN_FUSED && n->fused.contract; /* few rows are what is left as it stands */
    if (!rlx_int_literal(c->extent, &extent))
        return small && c->dimension == RLX_FUSED_ROW ? 1 : PROBABLY;
    int64_t parts = (extent + c->grain - 1) / c->grain;
    return parts < ENOUGH_PARTS ? parts : ENOUGH_PARTS;
}

typedef struct choice { const rlx_nest_plan *plan; candidate best; int64_t parts; } choice;

/* Of equals the first one stays: the outermost. */
static void offer(choice *c, candidate next)
{
    int64_t parts = next.extent ? parts_of(c->plan, &next) : 0;
    if (parts > c->parts) {
        c->best = next;
        c->parts = parts;
    }
}

static void offer_loop(choice *c, int loop, int dimension, int64_t grain)
{
    if (loop >= 0 && c->plan->loops[loop].determined)
        offer(c, (candidate){ loop, dimension, c->plan->loops[loop].extent, grain });
}

/* A part along a dimension of an instruction that sums. */
static int64_t grain_of_sum(const rlx_nest_plan *n, int dimension)
{
    const bool far = !n->fused.contract && n->fused.loop[dimension] >= 0 && !rlx_plan_is_unit(&n->accesses.data[n->fused.a], n->fused.loop[dimension]);
    return dimension == RLX_FUSED_COLUMN                    ? (far ? ROWS_OF_SUM : COLUMNS_OF_SUM)
           : dimension == RLX_FUSED_ROW && n->fused.contract ? ROWS_OF_SUM
                                                             : 1;
}

static void offer_inner(choice *c)
{
    const rlx_nest_plan *n = c->plan;
    switch (n->form) {
    case RLX_PLAN_STRIP:
        offer(c, (candidate){ n->strip, -1, n->strip_extent, n->row < 0 ? ELEMENTS_OF_STRIP : ROWS_OF_STRIP });
        return;
    case RLX_PLAN_FUSED: case RLX_PLAN_PARTIAL:
        for (int d = RLX_FUSED_GROUP; d <= RLX_FUSED_COLUMN; d++)
            offer_loop(c, n->fused.loop[d], d, grain_of_sum(n, d));
        return;
    case RLX_PLAN_COPY:
        for (int d = 0; d < BOX_DIMENSIONS; d++)
            offer(c, (candidate){ -1, d, n->copy.extent[d], d + 1 < BOX_DIMENSIONS ? 1 : COLUMNS_OF_ROW });
        return;
    case RLX_PLAN_NORMALIZE:
        for (int d = 0; d < 2; d++)
            offer(c, (candidate){ -1, d, n->normalize.extent[d], d ? COLUMNS_OF_ROW : 1 });
        return;
    case RLX_PLAN_MAP:
        if (n->map.row >= 0)
            offer(c, (candidate){ n->map.row, 0, n->map.rows, 1 });
        if (n->map.column >= 0)
            offer(c, (candidate){ n->map.column, 1, n->map.columns, COLUMNS_OF_ROW });
        return;
    case RLX_PLAN_UNPACK:
        offer_loop(c, n->unpack.group, 0, 1);
        offer_loop(c, n->unpack.word, 1, 1);
        return;
    default: return;
    }
}

/* ---- work ----------------------------------------------------------------------------------- */

/* Of one element, in picoseconds, on a machine with long vectors: what a kernel reads has often been written by the other threads, and goes from
 * core to core then, which is what small kernels cost when they are shared. What moves memory alone gains less from threads than it costs, and counts
 * for less; a product that is summed up is one of many in an instruction, and cheap unless each brings an operand of its own from memory; of bytes so
 * many are one. */
enum { PRODUCT = 15, FETCH = 150, BYTES = 10, MOVE = 30, PICK = 800, NODE = 40, FUNCTION = 200, LIKELY = 64, MOST_DEPTH = 64 };
/* Of each run of an innermost loop beside that: short ones cost more than their elements. */
enum { RUN = 6000 };

typedef struct tally { rlx_context *ctx; int64_t cost; } tally;

static enum rlx_step find_load(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    return n->kind == RLX_NODE_BUFFER_LOAD ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Does data say where? */
static bool is_picked(rlx_context *ctx, const rlx_buffer_load *l)
{
    rlx_walker w = { .enter = find_load, .terse = true };
    bool is = false;
    for (size_t i = 0; i < l->num_indices && !is; i++)
        is = l->indices[i]->kind != RLX_NODE_PRIM_VAR && l->indices[i]->kind != RLX_NODE_INT_IMM &&
             rlx_walk(&ctx->memory, l->indices[i], &w, NULL) == RLX_STEP_STOP;
    return is;
}

static bool is_function(const rlx_prim *p)
{
    static const char *const cheap[] = { "fma",  "if_then_else", "likely", "fabs",       "floor",       "ceil",       "trunc",
                                         "sqrt", "round",        "isnan",  "shift_left", "shift_right", "bitwise_and" };
    const rlx_prim_call *call = rlx_as_prim_call(p);
    bool is = call && call->op;
    for (size_t i = 0; i < RLX_COUNT(cheap) && is; i++)
        is = !rlx_slice_is(rlx_string_slice(call->op), cheap[i]);
    return is;
}

static enum rlx_step add_cost(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    int64_t *cost = &((tally *)user)->cost;
    if (n->kind == RLX_NODE_BUFFER_LOAD) /* other indices cost nothing worth mentioning */
        *cost += is_picked(((tally *)user)->ctx, (const rlx_buffer_load *)n) ? PICK : MOVE;
    else if (rlx_family_of(n) == RLX_FAMILY_PRIM)
        *cost += is_function(n) ? FUNCTION : rlx_child_count(n) ? NODE : 0;
    return n->kind == RLX_NODE_BUFFER_LOAD ? RLX_STEP_SKIP : RLX_STEP_ON;
}

typedef struct weighing {
    rlx_context *ctx;
    rlx_ptrmap inside;                  /* variables that are bound inside */
    const rlx_prim *loops[MOST_DEPTH];  /* variables of those around that run more than once */
    const rlx_prim *runs[MOST_DEPTH];   /* how often */
    int num_loops;
    const rlx_prim *sum;
} weighing;

/* The operands of a product that the store adds to its element. */
static bool match_product(const rlx_buffer_store *s, const rlx_prim **a, const rlx_prim **b)
{
    const rlx_prim_call *call = rlx_as_prim_call(s->value);
    const rlx_binary *sum = s->value->kind == RLX_NODE_ADD ? rlx_as_binary(s->value) : NULL,
                     *product = sum && sum->b->kind == RLX_NODE_MUL ? rlx_as_binary(sum->b) : NULL;
    bool fma = call && call->op && call->num_args == 3 && rlx_slice_is(rlx_string_slice(call->op), "fma");
    if (fma)
        *a = call->args[0], *b = call->args[1];
    else if (product && sum->a->kind == RLX_NODE_BUFFER_LOAD)
        *a = product->a, *b = product->b;
    return fma || (product && sum->a->kind == RLX_NODE_BUFFER_LOAD);
}

static bool moves(const weighing *w, int loop, const rlx_prim *p) { return rlx_plan_mentions(w->ctx, p, w->loops[loop]); }

/* What an operand loads, though it be made another type; NULL: it is something else. */
static const rlx_buffer_load *load_of(const rlx_prim *operand)
{
    return rlx_as_buffer_load(operand->kind == RLX_NODE_CAST ? ((const rlx_unary *)operand)->a : operand);
}

static bool moves_sum(const weighing *w, int loop, const rlx_buffer_store *sum)
{
    bool does = false;
    for (size_t k = 0; k < sum->num_indices && !does; k++)
        does = moves(w, loop, sum->indices[k]);
    return does;
}

/* Do places overlap, as those of windows do: an index of the load has loops of the result and loops that are summed over? */
static bool is_window(const weighing *w, const rlx_buffer_store *sum, const rlx_prim *operand)
{
    const rlx_buffer_load *l = load_of(operand);
    bool is = !l;
    for (size_t d = 0; !is && d < l->num_indices; d++) {
        bool result = false, summed = false;
        for (int i = 0; i < w->num_loops && l->indices[d]->kind != RLX_NODE_PRIM_VAR; i++)
            if (moves(w, i, l->indices[d]))
                *(moves_sum(w, i, sum) ? &result : &summed) = true;
        is = result && summed;
    }
    return is;
}

/* Elements of the operand that are fetched, once each. Those of windows count where each iteration of all loops has another one; those that only
 * the run knows may run once. */
static const rlx_prim *fetches_of(const weighing *w, const rlx_buffer_store *sum, const rlx_prim *operand)
{
    const rlx_prim *all = rlx_int64(w->ctx, 1);
    const bool window = is_window(w, sum, operand);
    int64_t runs;
    for (int i = 0; i < w->num_loops; i++) {
        if (moves(w, i, operand))
            all = rlx_fold_mul(w->ctx, all, w->runs[i]);
        else if (window && rlx_int_literal(w->runs[i], &runs))
            return rlx_int64(w->ctx, 0);
    }
    return all;
}

static bool is_byte(const rlx_prim *operand)
{
    const rlx_buffer_load *l = operand->kind == RLX_NODE_CAST ? load_of(operand) : NULL;
    return l && rlx_dtype_bytes(rlx_as_buffer(l->buffer)->dtype) == 1;
}

/* Sums of products: of bytes so many are one. They run along other loops than the innermost one. */
static const rlx_prim *cost_of_products(const weighing *w, const rlx_buffer_store *s, const rlx_prim *a, const rlx_prim *b, const rlx_prim *times)
{
    rlx_context *ctx = w->ctx;
    const int64_t together = is_byte(a) && is_byte(b) ? BYTES : 1;
    const rlx_prim *fetched = rlx_fold_add(ctx, fetches_of(w, s, a), fetches_of(w, s, b));
    return rlx_fold_add(ctx, rlx_fold_mul(ctx, times, rlx_int64(ctx, PRODUCT / together)),
                        rlx_fold_mul(ctx, fetched, rlx_int64(ctx, FETCH / together)));
}

/* Of `times` such stores in so many runs. */
static const rlx_prim *cost_of_stores(const weighing *w, const rlx_buffer_store *s, const rlx_prim *times, const rlx_prim *runs)
{
    rlx_context *ctx = w->ctx;
    const rlx_prim *a, *b;
    if (match_product(s, &a, &b))
        return cost_of_products(w, s, a, b, times);
    tally t = { ctx, MOVE };
    rlx_walker walker = { .enter = add_cost, .user = &t, .unique = true };
    rlx_walk(&ctx->memory, s->value, &walker, NULL);
    return rlx_fold_add(ctx, rlx_fold_mul(ctx, times, rlx_int64(ctx, t.cost)), rlx_fold_mul(ctx, runs, rlx_int64(ctx, RUN)));
}

static enum rlx_step find_failing(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_binary *b = rlx_as_binary(n);
    int64_t divisor;
    bool divides = n->kind == RLX_NODE_DIV || n->kind == RLX_NODE_MOD || n->kind == RLX_NODE_FLOOR_DIV ||
                   n->kind == RLX_NODE_FLOOR_MOD;
    bool fails = n->kind == RLX_NODE_PRIM_CALL || (divides && !(rlx_int_literal(b->b, &divisor) && divisor));
    return fails ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Could it fail? An estimate is made even where the loop does not run. */
static bool may_fail(rlx_context *ctx, const rlx_prim *p)
{
    rlx_walker w = { .enter = find_failing, .terse = true };
    return rlx_walk(&ctx->memory, p, &w, NULL) == RLX_STEP_STOP;
}

/* The extent of a tile's loop, what is left if that is less, in the first tile; NULL: it is none, or only more than loops around it knows. */
static const rlx_prim *extent_of_first(const weighing *w, const rlx_prim *extent)
{
    rlx_rewriter r;
    if (extent->kind != RLX_NODE_MIN)
        return NULL;
    rlx_tir_folder_init(&r, w->ctx);
    for (int i = 0; i < w->num_loops; i++)
        (void)rlx_ptrmap_put(&r.map, w->loops[i], (uintptr_t)rlx_int(w->ctx, rlx_prim_dtype(w->loops[i]), 0));
    const rlx_prim *first = rlx_rewrite(&r, extent);
    rlx_rewriter_free(&r);
    return first && !rlx_plan_hangs_on(w->ctx, first, &w->inside) && !may_fail(w->ctx, first) ? first : NULL;
}

/* How often a loop runs: as often as it may, where only loops around it know; those are inside. */
static const rlx_prim *runs_of(const weighing *w, const rlx_for_stmt *f)
{
    rlx_context *ctx = w->ctx;
    int64_t low, high;
    const rlx_prim *extent = rlx_fold_cast(ctx, RELAX_INT64, f->extent);
    if (!extent || extent->kind == RLX_NODE_INT_IMM)
        return extent;
    const rlx_prim *first = extent_of_first(w, extent);
    if (first)
        return first;
    rlx_bounds(ctx, NULL, extent, &low, &high);
    if (high != INT64_MAX)
        return rlx_int64(ctx, high < 0 ? 0 : high);
    return rlx_plan_hangs_on(ctx, extent, &w->inside) || may_fail(ctx, extent) ? rlx_int64(ctx, LIKELY) : extent;
}

/* Adds what the statement does, `times` times, in `runs` runs of the loop around it. */
static bool weigh(weighing *w, const rlx_stmt *s, const rlx_prim *times, const rlx_prim *runs, int depth)
{
    rlx_context *ctx = w->ctx;
    const rlx_for_stmt *f = rlx_as_for_stmt(s);
    if (!times || depth >= MOST_DEPTH)
        return times != NULL;
    if (s->kind == RLX_NODE_BUFFER_STORE) {
        const rlx_prim *cost = cost_of_stores(w, (const rlx_buffer_store *)s, times, runs);
        w->sum = cost ? rlx_fold_add(ctx, w->sum, cost) : NULL;
        return w->sum != NULL;
    }
    if (f) {
        const int around = w->num_loops;
        bool once = rlx_is_int_value(f->extent, 1);
        runs = once ? runs : times;
        const rlx_prim *count = runs_of(w, f);
        times = rlx_fold_mul(ctx, times, count);
        if (!once)
            w->runs[w->num_loops] = count, w->loops[w->num_loops++] = f->loop_var;
        bool fine = rlx_ptrmap_put(&w->inside, f->loop_var, 1) && weigh(w, f->body, times, runs, depth + 1);
        w->num_loops = around;
        return fine;
    }
    if (s->kind == RLX_NODE_LET_STMT && !rlx_ptrmap_put(&w->inside, ((const rlx_let_stmt *)s)->var, 1))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < rlx_child_count(s); i++) {
        const rlx_node *child = rlx_child(s, i);
        ok = !child || rlx_family_of(child) != RLX_FAMILY_STMT || weigh(w, child, times, runs, depth + 1);
    }
    return ok;
}

const rlx_prim *rlx_work_of(rlx_context *ctx, const rlx_stmt *s)
{
    if (ctx->share_none)
        return NULL;
    weighing w = { .ctx = ctx, .sum = rlx_int64(ctx, 0) };
    rlx_ptrmap_init(&w.inside, &ctx->memory);
    const rlx_prim *one = rlx_int64(ctx, 1);
    bool ok = w.sum && one && weigh(&w, s, one, one, 0);
    rlx_ptrmap_free(&w.inside);
    return ok ? w.sum : NULL;
}

bool rlx_is_worth_sharing(const rlx_context *ctx, const rlx_prim *work)
{
    int64_t known;
    return work && (ctx->share_all || !rlx_int_literal(work, &known) || known >= RLX_KERNEL_LEAST_SHARED);
}

typedef struct shared_work { rlx_context *ctx; int64_t sum; } shared_work;

static enum rlx_step add_shared(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    shared_work *s = user;
    int64_t known, more;
    if (n->kind != RLX_NODE_FOR)
        return RLX_STEP_ON;
    const rlx_prim *work = rlx_work_of(s->ctx, n);
    if (work && rlx_int_literal(work, &known) && rlx_is_worth_sharing(s->ctx, work) && rlx_add_i64(s->sum, known, &more))
        s->sum = more;
    return RLX_STEP_SKIP;
}

int64_t rlx_shared_work_of(rlx_context *ctx, const rlx_stmt *s)
{
    shared_work all = { ctx, 0 };
    rlx_walker w = { .enter = add_shared, .user = &all, .terse = true };
    rlx_walk(&ctx->memory, s, &w, NULL);
    return all.sum;
}

void rlx_plan_sharing(rlx_context *ctx, const rlx_for_stmt *nest, rlx_nest_plan *n)
{
    choice c = { .plan = n, .parts = 1 };
    if (n->form == RLX_PLAN_PLAIN || n->form == RLX_PLAN_EMPTY)
        return;
    const rlx_prim *work = rlx_work_of(ctx, &nest->node);
    if (!rlx_is_worth_sharing(ctx, work))
        return;
    for (size_t i = 0; i < n->num_order; i++)
        offer_loop(&c, n->order[i], -1, 1);
    offer_inner(&c);
    if (c.parts > 1)
        n->parallel = (rlx_plan_parallel){ .extent = c.best.extent,
                                           .work = work,
                                           .loop = c.best.loop,
                                           .dimension = c.best.dimension,
                                           .grain = c.best.grain };
}
