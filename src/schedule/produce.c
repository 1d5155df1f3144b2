/*- produce.c: elements that are computed where they are packed.
 *
 *     for k, j:  W[k, j] = decode(Q[k // 8, j], k % 8) * S[k // 32, j]         the producer: each element of W once
 *     for i, j, k:  C[i, j] += A[i, k] * W[k, j]                               the only nest that reads W
 *
 * becomes, tile by tile of the sum,
 *
 *     for p, g, w, l:     q[p, g, w, l] = Q[..]                                what the producer reads, in panels
 *     for p, g, l:        s[p, g, l] = S[..]
 *     for p, g, w, v, l:  columns[p, (g * 4 + w) * 8 + v, l] = decode(q[p, g, w, l], v) * s[p, g, l]
 *
 * and W is gone. Steps k of the sum are taken apart at what the producer divides them by (8 and 32 here), so that quotients and
 * remainders are loops of their own: nothing is divided, and what stands still along a loop is read once.
 *
 * A producer is taken only if it cannot fail: what it reads is surely in range and stored nowhere in the function. Each element
 * is computed once for 1024 rows of the sum, as it would be packed.
 */
#include "schedule/schedule_int.h"

#include "format/kernel_format.h"

enum {
    MOST_PARTS = 256,       /* of its value */
    MOST_DEEP = 24,         /* operands inside each other, in an index */
    MOST_TILE = 768,
    LARGE_BYTES = 1 << 23   /* so much is better not written and read again, even if what computes it has short strips */
};

/* ---- what is stored and read ---------------------------------------------------------------- */

static void count(rlx_ptrmap *map, const rlx_node *key)
{
    uintptr_t n = 0;
    rlx_ptrmap_find(map, key, &n);
    (void)rlx_ptrmap_put(map, key, n + 1);
}

/* A use of memory that is neither a load nor a store counts as many loads. Loads of one statement may count as one: a sum
 * of products has one of each operand. */
static enum rlx_step count_uses(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    rlx_producers *p = user;
    if (n->kind == RLX_NODE_BUFFER_STORE)
        count(&p->stored, rlx_plan_memory(((const rlx_buffer_store *)n)->buffer));
    else if (n->kind == RLX_NODE_BUFFER_LOAD)
        count(&p->loaded, rlx_plan_memory(((const rlx_buffer_load *)n)->buffer));
    else if (n->kind == RLX_NODE_DECL_BUFFER)
        count(&p->declared, rlx_plan_memory(((const rlx_decl_buffer *)n)->buffer));
    else if (n->kind == RLX_NODE_PRIM_VAR && parent && parent->kind != RLX_NODE_BUFFER &&
             !rlx_field_is_def(via)) {
        count(&p->loaded, n);
        count(&p->loaded, n);
    }
    return RLX_STEP_ON;
}

static void count_statement(rlx_context *ctx, rlx_producers *p, const rlx_stmt *body)
{
    rlx_walker w = { .enter = count_uses, .user = p, .terse = true };
    rlx_walk(&ctx->memory, body, &w, NULL);
}

static void init_counts(rlx_context *ctx, rlx_producers *p)
{
    *p = (rlx_producers){ .count = 0 };
    rlx_ptrmap_init(&p->stored, &ctx->memory);
    rlx_ptrmap_init(&p->loaded, &ctx->memory);
    rlx_ptrmap_init(&p->declared, &ctx->memory);
    rlx_ptrmap_init(&p->dropped, &ctx->memory);
}

/* The memory of a parameter is declared outside: what is stored to a view of it is seen by the caller. */
void rlx_producers_init(rlx_context *ctx, rlx_producers *p, const rlx_prim_func *f)
{
    init_counts(ctx, p);
    count_statement(ctx, p, f->body);
    for (size_t i = 0; i < f->num_buffers; i++)
        if (f->buffers[i])
            (void)rlx_ptrmap_put(&p->declared, rlx_plan_memory(f->buffers[i]), UINT32_MAX);
}

void rlx_producers_free(rlx_producers *p)
{
    rlx_ptrmap_free(&p->stored);
    rlx_ptrmap_free(&p->loaded);
    rlx_ptrmap_free(&p->declared);
    rlx_ptrmap_free(&p->dropped);
}

static uintptr_t times(const rlx_ptrmap *map, const rlx_node *key)
{
    uintptr_t n = 0;
    rlx_ptrmap_find(map, key, &n);
    return n;
}

bool rlx_is_temporary_of_nests(rlx_context *ctx, const rlx_panel_params *p, const rlx_buffer *b,
                         const rlx_stmt *const *stmts, size_t count)
{
    const rlx_producers *all = p->producers;
    rlx_producers here;
    init_counts(ctx, &here);
    for (size_t i = 0; i < count; i++)
        count_statement(ctx, &here, stmts[i]);
    bool is = times(&all->declared, b->data) == 1 &&
              times(&all->stored, b->data) == times(&here.stored, b->data) &&
              times(&all->loaded, b->data) == times(&here.loaded, b->data);
    rlx_producers_free(&here);
    return is && !ctx->diags.out_of_memory;
}

void rlx_drop_temporary(rlx_context *ctx, const rlx_panel_params *p, const rlx_buffer *b)
{
    (void)rlx_ptrmap_put(&p->producers->dropped, b->data, 1);
    (void)rlx_ptrmap_put(&p->producers->dropped, &b->node, 1);
}

/* ---- ranges of integers --------------------------------------------------------------------- */

typedef struct range { int64_t low, high; } range;

/* Is it a number from 0 on, in an integer type that holds all of the range? */
static bool holds(const rlx_prim *e, range r)
{
    rlx_dtype dtype = rlx_prim_dtype(e);
    size_t bytes = rlx_dtype_is_float(dtype) ? 0 : rlx_dtype_bytes(dtype);
    int64_t most = bytes >= 4 ? INT32_MAX : bytes ? ((int64_t)1 << (8 * bytes - 1)) - 1 : -1;
    return r.low >= 0 && r.high <= most;
}

static int dimension_of(const rlx_producer *p, const rlx_prim *var)
{
    for (size_t d = 0; d < p->buffer->num_shape; d++)
        if (p->vars[d] == var)
            return (int)d;
    return -1;
}

/* What an expression of the producer's loops may be, from 0 to INT32_MAX. False: not known. */
static bool find_range(const rlx_producer *p, const rlx_prim *e, int deep, range *out)
{
    const rlx_binary *b = rlx_as_binary(e);
    range x, y;
    int64_t c;
    int d = dimension_of(p, e);
    if (rlx_int_literal(e, &c) || (d >= 0 && rlx_int_literal(p->buffer->shape[d], &c))) {
        *out = d < 0 ? (range){ c, c } : (range){ 0, c > 0 ? c - 1 : 0 };
        return holds(e, *out);
    }
    if (e->kind == RLX_NODE_CAST)
        return deep && find_range(p, ((const rlx_unary *)e)->a, deep - 1, out) && holds(e, *out);
    if (!b || !deep || !find_range(p, b->a, deep - 1, &x) || !find_range(p, b->b, deep - 1, &y))
        return false;
    switch (b->node.kind) {
    case RLX_NODE_ADD: *out = (range){ x.low + y.low, x.high + y.high }; break;
    case RLX_NODE_SUB: *out = (range){ x.low - y.high, x.high - y.low }; break;
    case RLX_NODE_MUL: *out = (range){ x.low * y.low, x.high * y.high }; break;
    case RLX_NODE_FLOOR_DIV:
        if (!y.low)
            return false;
        *out = (range){ x.low / y.high, x.high / y.low };
        break;
    case RLX_NODE_FLOOR_MOD:
        if (!y.low)
            return false;
        *out = (range){ 0, x.high < y.high - 1 ? x.high : y.high - 1 };
        break;
    default: return false;
    }
    return holds(e, *out);
}

static bool index_fits(rlx_context *ctx, const rlx_producer *p, const rlx_prim *index,
                       const rlx_prim *size)
{
    range r;
    int64_t c;
    int d = dimension_of(p, index->kind == RLX_NODE_CAST ? ((const rlx_unary *)index)->a : index);
    if (d >= 0 && rlx_prove_compare(ctx, NULL, RLX_NODE_LE, p->buffer->shape[d], size) == RLX_TRUE)
        return true;
    return rlx_int_literal(size, &c) && find_range(p, index, MOST_DEEP, &r) && r.high < c;
}

/* ---- is it a producer? ---------------------------------------------------------------------- */

typedef struct checking {
    rlx_context *ctx;
    const rlx_producers *all;        /* what they store is not loaded; NULL: no matter */
    const rlx_producer *p;
    bool bad;
} checking;

static bool load_fits(const checking *c, const rlx_buffer_load *l)
{
    const rlx_buffer *b = rlx_as_buffer(l->buffer);
    bool fits = !l->predicate && rlx_is_compact(b) && l->num_indices == b->num_shape &&
                l->num_indices <= RLX_TIR_MAX_DIMS - 4 && !(c->all && times(&c->all->stored, b->data));
    for (size_t d = 0; d < l->num_indices && fits; d++)
        fits = index_fits(c->ctx, c->p, l->indices[d], b->shape[d]);
    return fits;
}

/* Bits of integers that a shift surely leaves in their type, functions of floats. */
static bool call_fits(const checking *c, const rlx_prim_call *call)
{
    range r;
    enum rlx_bit_op op = call->op ? rlx_bit_op_named(rlx_string_slice(call->op)) : RLX_BIT_NONE;
    if (op == RLX_BIT_SHL || op == RLX_BIT_SHR)
        return find_range(c->p, call->args[1], MOST_DEEP, &r) &&
               r.high < (int64_t)rlx_dtype_bytes(call->dtype) * 8;
    if (op != RLX_BIT_NONE)
        return true;
    bool fits = call->op && rlx_dtype_is_float(call->dtype);
    enum rlx_tir_intrinsic id =
        fits ? rlx_tir_find_intrinsic(rlx_string_slice(call->op)) : RLX_TIR_NO_INTRINSIC;
    fits = id != RLX_TIR_NO_INTRINSIC && id != RLX_TIR_ret &&
           rlx_tir_intrinsics[id].num_args == call->num_args;
    for (size_t i = 0; i < call->num_args && fits; i++)
        fits = rlx_dtype_is_float(rlx_prim_dtype(call->args[i]));
    return fits;
}

static bool divides_safely(const rlx_binary *b)
{
    int64_t c;
    bool whole = !rlx_dtype_is_float(rlx_prim_dtype(b->a));
    return !whole || (rlx_int_literal(b->b, &c) && c > 0);
}

static enum rlx_step check_part(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    checking *c = user;
    switch (n->kind) {
    case RLX_NODE_BUFFER: return RLX_STEP_SKIP;
    case RLX_NODE_BUFFER_LOAD: c->bad |= !load_fits(c, (const rlx_buffer_load *)n); break;
    case RLX_NODE_PRIM_CALL: c->bad |= !call_fits(c, (const rlx_prim_call *)n); break;
    case RLX_NODE_DIV: case RLX_NODE_MOD: case RLX_NODE_FLOOR_DIV: case RLX_NODE_FLOOR_MOD:
        c->bad |= !divides_safely((const rlx_binary *)n);
        break;
    case RLX_NODE_INT_IMM: case RLX_NODE_FLOAT_IMM: case RLX_NODE_PRIM_VAR: case RLX_NODE_CAST:
    case RLX_NODE_SELECT: break;
    default: c->bad |= !rlx_as_binary(n); break;
    }
    return c->bad ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool is_safe(rlx_context *ctx, const rlx_producers *all, const rlx_producer *p)
{
    checking c = { .ctx = ctx, .all = all, .p = p };
    rlx_walker w = { .enter = check_part, .user = &c, .unique = true };
    if (rlx_prim_parts(p->value) > MOST_PARTS)
        return false;
    rlx_walk(&ctx->memory, p->value, &w, NULL);
    return !c.bad && !ctx->diags.out_of_memory;
}

bool rlx_is_safe_producer(rlx_context *ctx, const rlx_producer *p) { return is_safe(ctx, NULL, p); }

/* Loops from 0 around one store, each as long as the dimension that it is the index of. */
static bool read_nest(rlx_context *ctx, const rlx_for_stmt *nest, rlx_producer *p)
{
    const rlx_stmt *body = &nest->node;
    const rlx_for_stmt *loops[RLX_TIR_MAX_DIMS];
    size_t count = 0;
    for (; body->kind == RLX_NODE_FOR && count < RLX_TIR_MAX_DIMS;
         body = ((const rlx_for_stmt *)body)->body) {
        loops[count++] = (const rlx_for_stmt *)body;
        if (loops[count - 1]->for_kind == RLX_FOR_THREAD_BINDING)
            return false;
    }
    const rlx_buffer_store *s = rlx_as_buffer_store(body);
    const rlx_buffer *b = s ? rlx_as_buffer(s->buffer) : NULL;
    if (!b || s->predicate || count != b->num_shape || s->num_indices != count || !rlx_is_compact(b))
        return false;
    *p = (rlx_producer){ .nest = nest, .buffer = b, .value = s->value };
    for (size_t d = 0; d < count; d++) {
        size_t i = 0;
        while (i < count && loops[i]->loop_var != s->indices[d])
            i++;
        if (i == count || dimension_of(p, loops[i]->loop_var) >= 0 ||
            !rlx_is_int_value(loops[i]->min, 0) ||
            rlx_prove_equal(ctx, NULL, loops[i]->extent, b->shape[d]) != RLX_EQUAL)
            return false;
        p->vars[d] = loops[i]->loop_var;
    }
    return true;
}

static rlx_producer *visible(rlx_producers *all, const rlx_node *buffer)
{
    for (size_t i = all->first; i < all->count; i++)
        if (&all->at[i].buffer->node == buffer && !all->at[i].hidden)
            return &all->at[i];
    return NULL;
}

typedef struct inlining { rlx_producers *all; uint32_t through; } inlining;

/* A load of what another producer fills becomes its value. */
static const rlx_node *inline_load(rlx_rewriter *r, const rlx_node *n)
{
    inlining *i = r->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_producer *from = l ? visible(i->all, l->buffer) : NULL;
    rlx_rewriter inner;
    if (!from || l->predicate || l->num_indices != from->buffer->num_shape)
        return NULL;
    rlx_tir_folder_init(&inner, r->ctx);
    for (size_t d = 0; d < l->num_indices; d++)
        if (rlx_prim_dtype(l->indices[d]) == rlx_prim_dtype(from->vars[d]))
            (void)rlx_ptrmap_put(&inner.map, from->vars[d], (uintptr_t)l->indices[d]);
        else
            (void)rlx_ptrmap_put(
                &inner.map, from->vars[d],
                (uintptr_t)rlx_fold_cast(r->ctx, rlx_prim_dtype(from->vars[d]), l->indices[d]));
    const rlx_prim *value = rlx_rewrite(&inner, from->value);
    rlx_rewriter_free(&inner);
    i->through |= from->through | 1u << (from - i->all->at);
    return value;
}

bool rlx_push_producer(rlx_context *ctx, rlx_producers *all, const rlx_for_stmt *nest)
{
    rlx_producer p;
    if (all->count == RLX_MOST_PRODUCERS || !read_nest(ctx, nest, &p) ||
        times(&all->declared, p.buffer->data) != 1 || times(&all->stored, p.buffer->data) != 1 ||
        times(&all->loaded, p.buffer->data) != 1)
        return !ctx->diags.out_of_memory;
    inlining i = { all, 0 };
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    r.before = inline_load;
    r.user = &i;
    p.value = rlx_rewrite(&r, p.value);
    rlx_rewriter_free(&r);
    p.through = i.through;
    if (p.value && is_safe(ctx, all, &p))
        all->at[all->count++] = p;
    return !ctx->diags.out_of_memory;
}

rlx_producer *rlx_find_producer(rlx_producers *all, const rlx_node *buffer)
{
    return all ? visible(all, buffer) : NULL;
}

void rlx_take_producer(rlx_producers *all, rlx_producer *p)
{
    p->taken = true;
    for (size_t i = 0; i < all->count; i++)
        if (p->through >> i & 1)
            all->at[i].taken = true;
}

void rlx_hide_producers(rlx_producers *all, size_t first)
{
    for (size_t i = first; i < all->count; i++)
        all->at[i].hidden = true;
}

bool rlx_is_taken(const rlx_producers *all, const rlx_node *n)
{
    if (rlx_ptrmap_has(&all->dropped, n))
        return true;
    for (size_t i = 0; i < all->count; i++)
        if (all->at[i].taken && (n == &all->at[i].nest->node || n == &all->at[i].buffer->node ||
                                 n == all->at[i].buffer->data))
            return true;
    return false;
}

/* ---- steps of the sum as digits -------------------------------------------------------------- */

typedef struct dividing { const rlx_prim *var; int64_t by[2]; int count; bool bad; } dividing;

static enum rlx_step find_divisor(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    dividing *x = user;
    const rlx_binary *b = rlx_as_binary(n);
    int64_t c;
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (!b || (n->kind != RLX_NODE_FLOOR_DIV && n->kind != RLX_NODE_FLOOR_MOD) || b->a != x->var ||
        !rlx_int_literal(b->b, &c) || c == 1)
        return RLX_STEP_ON;
    for (int i = 0; i < x->count; i++)
        if (x->by[i] == c)
            return RLX_STEP_SKIP;
    x->bad |= x->count == 2 || c < 1;
    if (!x->bad)
        x->by[x->count++] = c;
    return RLX_STEP_SKIP;
}

/* What the producer divides its loop of dimension d by, the least first; each divides the next. */
static bool find_divisors(rlx_context *ctx, const rlx_producer *p, size_t d, dividing *out)
{
    *out = (dividing){ .var = p->vars[d] };
    rlx_walker w = { .enter = find_divisor, .user = out, .unique = true };
    rlx_walk(&ctx->memory, p->value, &w, NULL);
    if (out->count == 2 && out->by[0] > out->by[1]) {
        int64_t c = out->by[0];
        out->by[0] = out->by[1];
        out->by[1] = c;
    }
    return !out->bad && (out->count < 2 || out->by[1] % out->by[0] == 0);
}

int64_t rlx_producer_tile(rlx_context *ctx, const rlx_producer *p, size_t d, const rlx_prim *extent,
                          int64_t wanted)
{
    dividing x;
    int64_t all, whole;
    if (!rlx_int_literal(extent, &all) || all < 1 || !find_divisors(ctx, p, d, &x))
        return 0;
    whole = x.count ? x.by[x.count - 1] : 1;
    if (all % whole || whole > MOST_TILE)
        return 0;
    if (all <= wanted + wanted / 2)
        return all;
    for (int64_t tile = (wanted + wanted / 2) / whole * whole; tile > wanted / 8; tile -= whole)
        if (all % tile == 0 && (tile <= wanted || all % wanted))
            return tile;
    return whole > wanted ? whole : 0;
}

/* ---- panels --------------------------------------------------------------------------------- */

/* A digit of the steps: its loop, and how many steps it goes on by. */
typedef struct digit { rlx_sched_loop loop; int64_t weight; } digit;

typedef struct producing {
    rlx_context *ctx;
    rlx_producer *p;
    const rlx_panel_fill *fill;
    dividing by;
    digit digits[3];                 /* outermost first */
    int count;
    rlx_rewriter index, value;       /* of expressions of the producer's loops */
    const rlx_stmt *packs[RLX_MOST_LEAVES + 1];
    int num_packs;
    bool in_place;                   /* lanes beside each other are not packed */
    bool bad;
} producing;

static const rlx_prim *number(const producing *x, int64_t v) { return rlx_int64(x->ctx, v); }

static const rlx_prim *plus_product(const producing *x, const rlx_prim *sum, const rlx_prim *a,
                                    int64_t b)
{
    return rlx_fold_add(x->ctx, sum, rlx_fold_mul(x->ctx, a, number(x, b)));
}

/* The step divided by c (a weight of a digit), or (high false) what is left of it. */
static const rlx_prim *step(const producing *x, int64_t c, bool high)
{
    const rlx_prim *sum = high ? rlx_fold_mul(x->ctx, x->fill->tile_at, number(x, x->fill->tile / c))
                               : number(x, 0);
    for (int i = 0; i < x->count; i++)
        if (high == (x->digits[i].weight >= c))
            sum = plus_product(x, sum, x->digits[i].loop.var,
                               high ? x->digits[i].weight / c : x->digits[i].weight);
    return sum;
}

static void make_digits(producing *x)
{
    static const char *const names[] = { "g", "w", "v" };
    int64_t weight[4] = { x->fill->tile };
    int n = 0;
    for (int i = x->by.count; i-- > 0;)
        weight[++n] = x->by.by[i];
    weight[++n] = 1;
    for (int i = 0; i < n; i++)
        if (weight[i] != weight[i + 1] || n == 1)
            x->digits[x->count++] = (digit){
                rlx_sched_loop_new(x->ctx, names[i], number(x, weight[i] / weight[i + 1])),
                weight[i + 1]
            };
}

/* Quotients and remainders of the steps are digits. */
static const rlx_prim *divided(const producing *x, const rlx_node *n)
{
    const rlx_binary *b = rlx_as_binary(n);
    int64_t c;
    return (n->kind == RLX_NODE_FLOOR_DIV || n->kind == RLX_NODE_FLOOR_MOD) &&
                   b->a == x->by.var && rlx_int_literal(b->b, &c) && c > 1
               ? step(x, c, n->kind == RLX_NODE_FLOOR_DIV)
               : NULL;
}

static const rlx_node *take_index(rlx_rewriter *r, const rlx_node *n)
{
    return divided(r->user, n);
}

/* A value that is wanted of lanes that there are, else 0. NULL: out of memory. */
static const rlx_prim *where_inside(const producing *x, const rlx_prim *value)
{
    const rlx_dtype dtype = value ? rlx_prim_dtype(value) : RELAX_FLOAT32;
    const rlx_prim *choice[3] = { x->fill->inside, value,
                                  rlx_dtype_is_float(dtype) ? rlx_float(x->ctx, dtype, 0)
                                                            : rlx_int(x->ctx, dtype, 0) };
    return !x->fill->inside || !value ? value
           : choice[2] ? rlx_prim_call_z(x->ctx, dtype, "if_then_else", choice, 3)
                       : NULL;
}

/* for p, .., l: panel[p, .., l] = load, in range or 0. `used` are the digits that move it. */
static const rlx_prim *pack_leaf(producing *x, const rlx_buffer *b, const rlx_prim *load,
                                 const bool *used)
{
    const rlx_dtype dtype = load ? rlx_prim_dtype(load) : RELAX_FLOAT32;
    const rlx_panel_fill *f = x->fill;
    rlx_context *ctx = x->ctx;
    const rlx_prim *shape[5], *at[5];
    size_t n = 0;
    shape[n] = f->panel->shape[0], at[n++] = f->panels.var;
    for (int i = 0; i < x->count; i++)
        if (used[i])
            shape[n] = x->digits[i].loop.extent, at[n++] = x->digits[i].loop.var;
    shape[n] = f->panel->shape[2], at[n++] = f->lanes.var;
    const rlx_buffer *panel =
        b->name ? rlx_buffer_new(ctx, b->name, dtype, shape, n, NULL, f->place) : NULL;
    const rlx_prim *value = where_inside(x, load);
    if (!panel || !value)
        return NULL;
    const rlx_stmt *body = rlx_store(ctx, panel, value, at, n, f->place);
    body = rlx_sched_wrap(ctx, &f->lanes, body, f->place);
    for (int i = x->count; i-- > 0;)
        if (used[i])
            body = rlx_sched_wrap(ctx, &x->digits[i].loop, body, f->place);
    body = rlx_sched_wrap(ctx, &f->panels, body, f->place);
    x->packs[x->num_packs++] = body ? rlx_copy_fresh(ctx, body) : NULL;
    x->p->panels[x->p->num_panels++] = panel;
    return rlx_load(ctx, panel, at, n);
}

/* Lanes that lie beside each other, all of them there, are read where they are. */
static bool is_in_place(const producing *x, const rlx_buffer_load *l, const rlx_prim *const *indices)
{
    const rlx_prim *lane = x->fill->lanes.var;
    size_t n = l->num_indices;
    rlx_tir_affine a;
    bool is = x->in_place && !x->fill->inside && n;
    for (size_t d = 0; d < n && is; d++)
        is = rlx_tir_affine_of(x->ctx, indices[d], &lane, 1, &a) &&
             (d + 1 == n ? rlx_is_int_value(a.coeff[0], 1)
                         : !a.coeff[0] || rlx_is_int_value(a.coeff[0], 0));
    return is;
}

/* A load, also one that packing makes float32. */
static const rlx_buffer_load *leaf_of(const rlx_node *n)
{
    const rlx_buffer_load *l =
        rlx_as_buffer_load(n->kind == RLX_NODE_CAST ? ((const rlx_unary *)n)->a : n);
    bool widens = l && n->kind == RLX_NODE_CAST;
    return !widens || (rlx_prim_dtype(n) == RELAX_FLOAT32 &&
                       rlx_kernel_copies(RLX_ELEM_F32, rlx_kernel_elem_of(rlx_as_buffer(l->buffer)->dtype)))
               ? l
               : NULL;
}

/* A load becomes one of a panel. */
static const rlx_node *take_value(rlx_rewriter *r, const rlx_node *n)
{
    producing *x = r->user;
    const rlx_buffer_load *l = leaf_of(n);
    const rlx_prim *at = divided(x, n), *indices[RLX_TIR_MAX_DIMS], *vars[3];
    bool used[3] = { false };
    if (at)
        return rlx_fold_cast(x->ctx, rlx_prim_dtype(n), at);
    if (!l)
        return NULL;
    for (int i = 0; i < x->count; i++)
        vars[i] = x->digits[i].loop.var;
    for (size_t d = 0; d < l->num_indices; d++) {
        rlx_tir_affine a;
        indices[d] = rlx_rewrite(&x->index, l->indices[d]);
        indices[d] = indices[d] ? rlx_fold_cast(x->ctx, RELAX_INT64, indices[d]) : NULL;
        x->bad |= !indices[d] ||
                  !rlx_tir_affine_of(x->ctx, indices[d], vars, (size_t)x->count, &a);
        for (int i = 0; i < x->count && !x->bad; i++)
            used[i] |= a.coeff[i] && !rlx_is_int_value(a.coeff[i], 0);
    }
    x->bad |= x->num_packs == RLX_MOST_LEAVES;
    const rlx_buffer *b = rlx_as_buffer(l->buffer);
    const rlx_prim *load = x->bad ? n : rlx_load(x->ctx, b, indices, l->num_indices);
    if (!x->bad && rlx_prim_dtype(n) != b->dtype)
        return pack_leaf(x, b, rlx_fold_cast(x->ctx, rlx_prim_dtype(n), load), used);
    return x->bad || is_in_place(x, l, indices) ? load : pack_leaf(x, b, load, used);
}

static void map_loops(producing *x)
{
    const rlx_panel_fill *f = x->fill;
    for (size_t d = 0; d < x->p->buffer->num_shape; d++) {
        const rlx_prim *at = d == f->depth ? step(x, 1, true) : f->at[d], *var = x->p->vars[d];
        if (at && rlx_ptrmap_put(&x->index.map, var, (uintptr_t)at))
            (void)rlx_ptrmap_put(&x->value.map, var,
                                 (uintptr_t)rlx_fold_cast(x->ctx, rlx_prim_dtype(var), at));
    }
}

/* Is the nest one instruction, or else (strips) one strip loop? */
static bool is_fast(rlx_context *ctx, const rlx_stmt *nest, bool strips)
{
    rlx_nest_plan plan;
    const rlx_for_stmt *f = nest ? rlx_as_for_stmt(nest) : NULL;
    bool is = f && rlx_plan_nest(ctx, &rlx_plan_everywhere, f, &plan);
    if (!f)
        return false;
    is = is && (plan.form == RLX_PLAN_PACK || plan.form == RLX_PLAN_COPY ||
                plan.form == RLX_PLAN_UNPACK ||
                (strips && plan.form == RLX_PLAN_STRIP && !plan.num_order));
    rlx_nest_plan_free(ctx, &plan);
    return is;
}

/* What is no more than a copy, made of another type or not, is packed as it is. NULL: it is more, or out of memory. */
static const rlx_prim *copied(producing *x)
{
    const rlx_prim *value = x->p->value, *indices[RLX_TIR_MAX_DIMS];
    bool casts = value->kind == RLX_NODE_CAST;
    const rlx_buffer_load *l = rlx_as_buffer_load(casts ? ((const rlx_unary *)value)->a : value);
    for (size_t d = 0; l && d < l->num_indices; d++) {
        indices[d] = rlx_rewrite(&x->index, l->indices[d]);
        indices[d] = indices[d] ? rlx_fold_cast(x->ctx, RELAX_INT64, indices[d]) : NULL;
    }
    const rlx_prim *load =
        l ? rlx_load(x->ctx, rlx_as_buffer(l->buffer), indices, l->num_indices) : NULL;
    load = load && casts ? rlx_fold_cast(x->ctx, rlx_prim_dtype(value), load) : load;
    return load ? where_inside(x, rlx_fold_cast(x->ctx, x->fill->panel->dtype, load)) : NULL;
}

/* for p, g, w, v, l: panel[p, g.., l] = value */
static const rlx_stmt *fill_panels(producing *x)
{
    const rlx_panel_fill *f = x->fill;
    rlx_context *ctx = x->ctx;
    const rlx_prim *value = copied(x), *at[3] = { f->panels.var, number(x, 0), f->lanes.var };
    for (int i = 0; i < x->count; i++)
        at[1] = plus_product(x, at[1], x->digits[i].loop.var, x->digits[i].weight);
    value = value ? value : rlx_rewrite(&x->value, x->p->value);
    value = value ? rlx_fold_cast(ctx, f->panel->dtype, value) : NULL;
    const rlx_stmt *body = value && at[1] ? rlx_store(ctx, f->panel, value, at, 3, f->place) : NULL;
    body = rlx_sched_wrap(ctx, &f->lanes, body, f->place);
    for (int i = x->count; i-- > 0;)
        body = rlx_sched_wrap(ctx, &x->digits[i].loop, body, f->place);
    return rlx_sched_wrap(ctx, &f->panels, body, f->place);
}

static bool is_large(const rlx_producer *p)
{
    int64_t all = (int64_t)rlx_dtype_bytes(p->buffer->dtype), size;
    for (size_t d = 0; d < p->buffer->num_shape; d++)
        if (!rlx_int_literal(p->buffer->shape[d], &size) || !rlx_mul_i64(all, size, &all))
            return false;
    return all >= LARGE_BYTES;
}

/* NULL: out of memory, or it would not be fast. */
static const rlx_stmt *try_panels(producing *x)
{
    rlx_context *ctx = x->ctx;
    const rlx_stmt *out = NULL;
    x->p->num_panels = 0;
    make_digits(x);
    rlx_tir_folder_init(&x->index, ctx);
    rlx_tir_folder_init(&x->value, ctx);
    x->index.before = take_index;
    x->value.before = take_value;
    x->index.user = x->value.user = x;
    map_loops(x);
    const rlx_stmt *last = fill_panels(x);
    bool fast = !x->bad && is_fast(ctx, last, !x->in_place);
    for (int i = 0; i < x->num_packs && fast; i++)
        fast = is_fast(ctx, x->packs[i], false);
    x->packs[x->num_packs++] = last;
    if (fast)
        out = rlx_seq_stmt_new(ctx, x->packs, (size_t)x->num_packs, x->fill->place);
    rlx_rewriter_free(&x->index);
    rlx_rewriter_free(&x->value);
    return out;
}

const rlx_stmt *rlx_produce_panels(rlx_context *ctx, rlx_producer *p, const rlx_panel_fill *fill)
{
    const rlx_stmt *out = NULL;
    for (int i = 0; i < (is_large(p) ? 2 : 1) && !out && !ctx->diags.out_of_memory; i++) {
        producing x = { .ctx = ctx, .p = p, .fill = fill, .in_place = i == 0 };
        if (find_divisors(ctx, p, fill->depth, &x.by))
            out = try_panels(&x);
    }
    p->refused = !out;
    return out;
}

const rlx_stmt *rlx_with_produced(rlx_context *ctx, const rlx_producer *p, const rlx_stmt *body,
                                  rlx_place place)
{
    for (size_t i = 0; p && body && i < p->num_panels; i++)
        body = rlx_tir_with_temporary(ctx, p->panels[i], body, place);
    return body;
}
