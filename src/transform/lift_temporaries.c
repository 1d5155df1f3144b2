/*- lift_temporaries.c: large temporaries of TIR functions become arguments of their calls.
 *     def f(x: T.Buffer((64, 56, 56), "float32"), y: ...):
 *         spread = T.decl_buffer((64, 58, 58))
 *         ...
 *     _ = cls.f(x, y)
 *     ->
 *     def f(x: T.Buffer((64, 56, 56), "float32"), y: ..., spread: T.Buffer((64, 58, 58), "float32")):
 *         ...
 *     temporary = R.builtin.alloc_tensor(R.shape([64, 58, 58]), R.dtype("float32"), ...)
 *     _ = cls.f(x, y, temporary)
 * So plan_memory places them in the arena of the function that calls, between tensors that live then, and they
 * count in what a call is said to need. Only those of known sizes that are allocated once in each call, be it in a loop that runs once:
 * what is allocated in others may be each thread's own. Only of functions that nothing but direct calls mentions.
 * needs: call_tir_rewrite, schedule_tir, behind reuse_operands, which looks for results alone. keeps: numbers, order, the rest. */
#include "tir/tir.h"
#include "transform/transform_int.h"

/* Bytes of those that an argument more is worth; what is smaller stays in the first-level cache wherever it lies. */
#define LEAST_BYTES 8192
/* Blocks and allocations inside each other that are gone into: each is depth of the stack. */
#define MOST_DEPTH 16
/* Parameters of a function at most: the VM notes in as many bits which of them are known to fit. */
#define MOST_PARAMS 24

/* What one PrimFunc loses. */
typedef struct lifted {
    const rlx_prim_func *now;            /* NULL: it stays as it is */
    size_t first;                        /* of its buffers in `buffers` */
    size_t count;
} lifted;

typedef struct lifter {
    rlx_context *ctx;
    const rlx_module *module;
    bool *is_called;                     /* by function: by direct calls, and nothing else mentions it */
    lifted *functions;                   /* by function */
    RLX_VEC(const rlx_buffer *) buffers;
    size_t room;                         /* parameters that the function at hand may still get */
    size_t depth;                        /* of what is gone into at the place at hand */
} lifter;

/* ---- who is called and not used otherwise --------------------------------------------------- */

/* The number of the PrimFunc that a call calls directly with all its arguments; -1: none. */
static int64_t prim_callee(const rlx_module *m, const rlx_node *n)
{
    const rlx_call *call = rlx_as_call(n);
    int64_t i = call ? rlx_module_named_by(m, call->op) : -1;
    const rlx_prim_func *f = i >= 0 ? rlx_as_prim_func(m->functions[i]) : NULL;
    return f && f->num_params == call->num_args ? i : -1;
}

static enum rlx_step note_mention(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    lifter *l = user;
    int64_t i = rlx_module_named_by(l->module, n);
    const rlx_call *call = rlx_as_call(parent);
    (void)via;
    if (i >= 0 && (!call || call->op != n || prim_callee(l->module, parent) != i))
        l->is_called[i] = false;
    return RLX_STEP_ON;
}

static bool find_called(lifter *l)
{
    const rlx_module *m = l->module;
    rlx_walker w = { .enter = note_mention, .user = l, .code = true };
    bool lost = false;
    for (size_t i = 0; i < m->num_functions; i++)
        l->is_called[i] = rlx_as_prim_func(m->functions[i]) && !rlx_link_name(m->functions[i]);
    for (size_t i = 0; i < m->num_functions && !lost; i++)
        if (!rlx_as_prim_func(m->functions[i]))
            rlx_walk(&l->ctx->memory, m->functions[i], &w, &lost);
    return !lost;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* May this buffer be a tensor that the caller makes? */
static bool is_large(const rlx_buffer *b)
{
    size_t bytes = rlx_dtype_bytes(b->dtype);
    int64_t size;
    if (!bytes || b->dtype == RELAX_BOOL || b->num_strides ||
        (b->scope && !rlx_slice_equal(rlx_string_slice(b->scope), RLX_SLICE("global"))) ||
        (b->elem_offset && !rlx_is_int_value(b->elem_offset, 0)))
        return false;
    for (size_t i = 0; i < b->num_shape; i++)
        if (!rlx_int_literal(b->shape[i], &size) || size <= 0 ||
            !rlx_mul_size(bytes, (size_t)size, &bytes))
            return false;
    return bytes >= LEAST_BYTES && bytes <= PTRDIFF_MAX;
}

/* The buffer that is all of an allocation, declared in it; NULL: there is none. */
static const rlx_buffer *buffer_of(const rlx_allocate *a)
{
    const rlx_decl_buffer *d = rlx_as_decl_buffer(a->body);
    const rlx_buffer *b = d ? rlx_as_buffer(d->buffer) : NULL;
    if (!b || b->data != a->var || b->dtype != a->dtype || b->num_shape != a->num_extents ||
        (a->condition && !rlx_is_int_value(a->condition, 1)))
        return NULL;
    for (size_t i = 0; i < b->num_shape; i++)
        if (b->shape[i] != a->extents[i])
            return NULL;
    return b;
}

/* Takes a buffer; false: it stays. */
static bool take(rlx_rewriter *r, const rlx_buffer *b)
{
    lifter *l = r->user;
    if (!l->room || !b || !is_large(b))
        return false;
    l->room--;
    r->failed |= !rlx_vec_push(&r->ctx->memory, &l->buffers, b);
    return !r->failed;
}

/* What is inside of a block or an allocation, without the buffers that are taken. */
static const rlx_stmt *inside(rlx_rewriter *r, const rlx_stmt *body)
{
    lifter *l = r->user;
    if (l->depth == MOST_DEPTH)
        return body;
    l->depth++;
    body = rlx_rewrite(r, body);
    l->depth--;
    return body;
}

/* All of a buffer, as what a block writes. */
static const rlx_node *whole_region(rlx_context *ctx, const rlx_buffer *b)
{
    rlx_buffer_region *region = rlx_node_new(ctx, RLX_NODE_BUFFER_REGION);
    const rlx_node **ranges = rlx_new(ctx, (b->num_shape + 1) * sizeof *ranges);
    if (!region || !ranges)
        return NULL;
    for (size_t i = 0; i < b->num_shape; i++)
        if (!(ranges[i] = rlx_range_new(ctx, rlx_fold_cast(ctx, rlx_prim_dtype(b->shape[i]), rlx_int64(ctx, 0)), b->shape[i])))
            return NULL;
    region->buffer = &b->node;
    region->region = ranges;
    region->num_region = b->num_shape;
    return &region->node;
}

/* A block that states what it touches writes the buffers, too, that are taken from inside: those from number `first` on. */
static bool state_writes(const lifter *l, rlx_tir_block *now, size_t first)
{
    size_t more = l->buffers.len - first, n = now->num_writes;
    if (!now->num_reads && !n)
        return true;
    const rlx_node **writes = rlx_new(l->ctx, (n + more + 1) * sizeof *writes);
    if (!writes)
        return false;
    memcpy(writes, now->writes, n * sizeof *writes);
    for (size_t i = 0; i < more; i++)
        if (!(writes[n++] = whole_region(l->ctx, l->buffers.data[first + i])))
            return false;
    now->writes = writes;
    now->num_writes = n;
    return true;
}

/* A block that is run once, without the buffers that are taken. */
static const rlx_node *without_large(rlx_rewriter *r, const rlx_tir_block *b)
{
    lifter *l = r->user;
    rlx_tir_block *now = NULL;
    const rlx_node **kept = rlx_new(r->ctx, (b->num_alloc_buffers + 1) * sizeof *kept);
    size_t count = 0, first = l->buffers.len;
    for (size_t i = 0; kept && i < b->num_alloc_buffers; i++)
        if (!take(r, rlx_as_buffer(b->alloc_buffers[i])))
            kept[count++] = b->alloc_buffers[i];
    const rlx_stmt *body = kept ? inside(r, b->body) : NULL;
    if (body && l->buffers.len == first)
        return &b->node;
    if (!body || !(now = rlx_node_new(r->ctx, RLX_NODE_TIR_BLOCK))) {
        r->failed = true;
        return &b->node;
    }
    rlx_node head = now->node;
    *now = *b;
    now->node = head;
    now->alloc_buffers = kept;
    now->num_alloc_buffers = count;
    now->body = body;
    r->failed |= !state_writes(l, now, first);
    return &now->node;
}

/* Goes down to what is not done exactly once. */
static const rlx_node *lift(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_allocate *a = rlx_as_allocate(n);
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    switch (n->kind) {
    case RLX_NODE_ALLOCATE:
        return take(r, buffer_of(a)) ? inside(r, rlx_as_decl_buffer(a->body)->body) : NULL;
    case RLX_NODE_SEQ_STMT:
    case RLX_NODE_DECL_BUFFER:
    case RLX_NODE_ATTR_STMT:
    case RLX_NODE_ASSERT_STMT:
    case RLX_NODE_BLOCK_REALIZE: return NULL;
    case RLX_NODE_FOR: return rlx_is_int_value(f->extent, 1) ? NULL : n;
    case RLX_NODE_TIR_BLOCK: return without_large(r, (const rlx_tir_block *)n);
    default: return n;
    }
}

/* f with the buffers from number `first` on as last parameters. NULL: out of memory. */
static const rlx_prim_func *with_params(lifter *l, const rlx_prim_func *f, const rlx_stmt *body,
                                        size_t first)
{
    rlx_context *ctx = l->ctx;
    size_t count = f->num_params + l->buffers.len - first;
    rlx_prim_func *out = rlx_prim_func_with_body(ctx, f, body);
    const rlx_prim **params = rlx_new_zero(ctx, (count + 1) * sizeof *params);
    const rlx_node **buffers = rlx_new_zero(ctx, (count + 1) * sizeof *buffers);
    if (!out || !params || !buffers)
        return NULL;
    memcpy(params, f->params, f->num_params * sizeof *params);
    memcpy(buffers, f->buffers, f->num_buffers * sizeof *buffers);
    for (size_t i = f->num_params; i < count; i++) {
        const rlx_buffer *b = l->buffers.data[first + i - f->num_params];
        const rlx_prim_var *var = rlx_prim_var_new(ctx, b->name, RELAX_HANDLE, b->place);
        if (!var)
            return NULL;
        params[i] = &var->node;
        buffers[i] = &b->node;
    }
    out->params = params;
    out->buffers = buffers;
    out->num_params = out->num_buffers = count;
    out->sinfo = NULL;
    return out;
}

static bool lift_from(lifter *l, size_t i)
{
    const rlx_prim_func *f = rlx_as_prim_func(l->module->functions[i]);
    lifted *to = &l->functions[i];
    rlx_rewriter r;
    *to = (lifted){ .first = l->buffers.len };
    l->room = f->num_params < MOST_PARAMS ? MOST_PARAMS - f->num_params : 0;
    rlx_rewriter_init(&r, l->ctx);
    r.before = lift;
    r.user = l;
    const rlx_stmt *body = rlx_rewrite(&r, f->body);
    rlx_rewriter_free(&r);
    to->count = l->buffers.len - to->first;
    if (body && to->count)
        to->now = with_params(l, f, body, to->first);
    return body && (to->now || !to->count);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static const rlx_expr *allocate_for(rlx_seq_pass *p, const rlx_buffer *b, rlx_place place)
{
    rlx_context *ctx = p->ctx;
    const rlx_prim **sizes = rlx_new(ctx, (b->num_shape + 1) * sizeof *sizes);
    for (size_t i = 0; sizes && i < b->num_shape; i++) /* of a shape they are int64, of a buffer they may be less */
        sizes[i] = rlx_fold_cast(ctx, RELAX_INT64, b->shape[i]);
    const rlx_expr *shape = sizes ? rlx_shape_new(ctx, sizes, b->num_shape) : NULL;
    const rlx_expr *args[4] = { shape, rlx_dtype_imm_new(ctx, b->dtype),
                                rlx_prim_value_new(ctx, rlx_int64(ctx, 0)),
                                rlx_string_imm_new(ctx, RLX_SLICE("global")) };
    const rlx_sinfo *info = shape ? rlx_tensor_info(ctx, shape, b->dtype, (int)b->num_shape, NULL) : NULL;
    const rlx_expr *call = info ? rlx_plain_call(ctx, "relax.builtin.alloc_tensor", args, 4, place) : NULL;
    return call ? (const rlx_expr *)rlx_seq_bind(p, "temporary", info, call, place) : NULL;
}

static bool give_temporaries(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    lifter *l = p->user;
    const rlx_expr *value = rlx_binding_value(now);
    int64_t i = prim_callee(l->module, value);
    const lifted *f = i < 0 ? NULL : &l->functions[i];
    (void)old;
    if (!f || !f->now)
        return rlx_seq_emit(p, now);
    const rlx_call *call = rlx_as_call(value);
    const rlx_expr **args = rlx_new(p->ctx, f->now->num_params * sizeof *args);
    if (!args)
        return false;
    memcpy(args, call->args, call->num_args * sizeof *args);
    for (size_t k = 0; k < f->count; k++)
        if (!(args[call->num_args + k] = allocate_for(p, l->buffers.data[f->first + k], call->place)))
            return false;
    value = rlx_call_new(p->ctx, call->op, args, f->now->num_params, call->sinfo_args,
                         call->num_sinfo_args, call->attrs, call->place);
    return value && rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
}

static const rlx_module *lift_all(lifter *l)
{
    const rlx_module *m = l->module;
    const rlx_node **functions = rlx_new(l->ctx, (m->num_functions + 1) * sizeof *functions);
    rlx_seq_pass p;
    l->is_called = rlx_new_zero(l->ctx, m->num_functions + 1);
    l->functions = rlx_new_zero(l->ctx, (m->num_functions + 1) * sizeof *l->functions);
    if (!functions || !l->is_called || !l->functions || !find_called(l))
        return NULL;
    for (size_t i = 0; i < m->num_functions; i++)
        if (l->is_called[i] && !lift_from(l, i))
            return NULL;
    if (!l->buffers.len)
        return m;
    rlx_seq_init(&p, l->ctx, m, l);
    p.binding = give_temporaries;
    const rlx_module *now = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    for (size_t i = 0; now && i < m->num_functions; i++)
        functions[i] = l->functions[i].now ? &l->functions[i].now->node : now->functions[i];
    return now ? rlx_module_with(l->ctx, now, functions) : NULL;
}

const rlx_module *rlx_pass_lift_temporaries(rlx_pass_run *run, const rlx_module *m)
{
    lifter l = { .ctx = run->ctx, .module = m };
    const rlx_module *out = lift_all(&l);
    rlx_vec_free(&run->ctx->memory, &l.buffers);
    return out;
}
