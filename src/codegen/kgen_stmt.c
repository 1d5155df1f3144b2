/* kgen_stmt.c: a PrimFunc as kernel bytecode: parameters, buffers, statements. */
#include "codegen/kgen_int.h"

#include "analysis/analysis.h"

/* ---- buffers -------------------------------------------------------------------------------- */

static const char *name_of(const rlx_buffer *b)
{
    return b->name ? b->name->data : "buffer";
}

rlx_kgen_buffer *rlx_kgen_buffer_of(rlx_kgen *w, const rlx_node *buffer)
{
    uintptr_t at;
    if (rlx_ptrmap_find(&w->buffers, buffer, &at))
        return w->buffer_infos.data[at - 1];
    const rlx_buffer *b = rlx_as_buffer(buffer);
    rlx_kgen_fail(w, "buffer %s is not defined here", b ? name_of(b) : "?");
    return NULL;
}

static uint32_t add_row(rlx_kgen *w, const rlx_buffer *b, const rlx_prim *data,
                        enum rlx_kernel_buffer_kind kind)
{
    rlx_kgen_row row = { .kind = (uint8_t)kind, .rank = (uint8_t)b->num_shape, .dtype = b->dtype };
    row.name = rlx_kgen_name(w, rlx_slice_z(name_of(b)));
    if (w->rows.len >= 30000) {
        rlx_kgen_too_large(w, "buffers");
        return 0;
    }
    if (rlx_vec_push(&w->ctx->memory, &w->rows, row) && data)
        (void)rlx_ptrmap_put(&w->storage, data, w->rows.len);
    return (uint32_t)w->rows.len - 1;
}

/* Shape and compact strides as int64 expressions. */
static bool lay_out(rlx_kgen *w, rlx_kgen_buffer *info)
{
    const rlx_buffer *b = info->buffer;
    for (size_t d = b->num_shape; d-- > 0;)
        info->shape[d] = rlx_kgen_wide_index(w, b->shape[d]);
    w->refused |= !rlx_plan_strides(w->ctx, info->shape, b->num_shape, info->strides);
    return !rlx_kgen_failed(w);
}

/* Strides given as variables take the compact ones; given as numbers they must be those. */
static bool bind_strides(rlx_kgen *w, const rlx_kgen_buffer *info)
{
    const rlx_buffer *b = info->buffer;
    for (size_t d = 0; d < b->num_strides; d++) {
        const rlx_prim *s = rlx_kgen_wide_index(w, b->strides[d]);
        if (b->strides[d]->kind == RLX_NODE_PRIM_VAR)
            rlx_kgen_bind_var(w, b->strides[d], rlx_kgen_int64(w, info->strides[d]));
        else if (s != info->strides[d])
            return rlx_kgen_fail(
                w, "buffer %s: strides other than compact ones are not supported in kernels",
                name_of(b));
    }
    if (b->elem_offset && b->elem_offset->kind == RLX_NODE_PRIM_VAR)
        rlx_kgen_bind_var(w, b->elem_offset,
                          (rlx_kgen_value){ .reg = rlx_kgen_const_i64(w, 0),
                                            .klass = RLX_CLASS_I64,
                                            .dtype = RELAX_INT64 });
    else if (b->elem_offset && !rlx_is_int_value(b->elem_offset, 0))
        return rlx_kgen_fail(w, "buffer %s: an element offset is not supported in kernels",
                             name_of(b));
    return !rlx_kgen_failed(w);
}

static rlx_kgen_buffer *add_buffer(rlx_kgen *w, const rlx_buffer *b, uint32_t row)
{
    rlx_kgen_buffer *info = rlx_new_zero(w->ctx, sizeof *info);
    enum rlx_kernel_elem e = rlx_kernel_elem_of(b->dtype);
    char text[RLX_DTYPE_TEXT];
    rlx_dtype_name(b->dtype, text);
    if (e == RLX_ELEM_COUNT || b->num_shape > RLX_TIR_MAX_DIMS) {
        if (e == RLX_ELEM_COUNT && !rlx_kgen_failed(w))
            rlx_error(w->ctx, RLX_CG05, w->place, "buffer %s: kernels do not compute with %s",
                      name_of(b), text);
        else
            rlx_kgen_too_large(w, "dimensions");
        w->refused = true;
        return NULL;
    }
    if (!info)
        return NULL;
    *info = (rlx_kgen_buffer){ .buffer = b, .index = row, .elem = e };
    if (rlx_kgen_failed(w) || !lay_out(w, info))
        return NULL;
    if (!rlx_vec_push(&w->ctx->memory, &w->buffer_infos, info) ||
        !rlx_ptrmap_put(&w->buffers, b, w->buffer_infos.len))
        return NULL;
    return info;
}

/* A buffer over memory that is there already. */
static bool declare_buffer(rlx_kgen *w, const rlx_buffer *b)
{
    uintptr_t at;
    if (!rlx_ptrmap_find(&w->storage, b->data, &at))
        return rlx_kgen_fail(w, "buffer %s: its memory is not defined here", name_of(b));
    if (w->rows.data[at - 1].dtype != b->dtype)
        return rlx_kgen_fail(w, "buffer %s: memory of another dtype is not supported in kernels",
                             name_of(b));
    rlx_kgen_buffer *info = add_buffer(w, b, (uint32_t)at - 1);
    return info && bind_strides(w, info);
}

static bool allocate(rlx_kgen *w, const rlx_allocate *a)
{
    rlx_buffer like = { .dtype = a->dtype, .num_shape = a->num_extents };
    const rlx_prim_var *v = rlx_as_prim_var(a->var);
    const rlx_prim *count = rlx_int64(w->ctx, 1);
    like.name = v ? v->name : NULL;
    if (a->condition && !rlx_is_int_value(a->condition, 1))
        return rlx_kgen_fail(w, "a conditional allocation is not supported in kernels");
    if (rlx_kernel_elem_of(a->dtype) == RLX_ELEM_COUNT)
        return rlx_kgen_fail(w, "an allocation of this dtype is not supported in kernels");
    for (size_t i = 0; i < a->num_extents && count; i++)
        count = rlx_fold_mul(w->ctx, count, rlx_kgen_wide_index(w, a->extents[i]));
    uint32_t row = add_row(w, &like, a->var, RLX_KERNEL_BUFFER_TEMP);
    rlx_kgen_value n = rlx_kgen_int64(w, count);
    RLX_KGEN_EMIT(w, w->top, RLX_K_ALLOC, row, n.reg);
    return !rlx_kgen_failed(w);
}

static bool allocate_const(rlx_kgen *w, const rlx_allocate_const *a)
{
    const rlx_constant *c = rlx_as_constant(a->data);
    rlx_buffer like = { .dtype = a->dtype, .num_shape = a->num_extents };
    const rlx_prim_var *v = rlx_as_prim_var(a->var);
    enum rlx_kernel_elem e = rlx_kernel_elem_of(a->dtype);
    like.name = v ? v->name : NULL;
    if (!c || !c->data || e == RLX_ELEM_COUNT || c->dtype != a->dtype)
        return rlx_kgen_fail(w, "constant data of this form is not supported in kernels");
    uint32_t row = add_row(w, &like, a->var, RLX_KERNEL_BUFFER_CONST);
    if (rlx_kgen_failed(w))
        return false;
    while (w->data.len % 64 && !w->data.failed)
        rlx_buf_char(&w->data, 0);
    w->rows.data[row].data = (uint32_t)w->data.len;
    w->rows.data[row].count = c->data->size / rlx_kernel_elems[e].bytes;
    rlx_buf_put(&w->data, (const char *)c->data->data, c->data->size);
    return w->data.len > (1u << 29) ? rlx_kgen_too_large(w, "constants") : true;
}

/* ---- statements ----------------------------------------------------------------------------- */

static bool in_strip(const rlx_kgen *w) { return w->nest && w->nest->strip_level >= 0; }

static bool let_stmt(rlx_kgen *w, const rlx_let_stmt *s, rlx_kgen_value mask)
{
    const rlx_prim_var *v = rlx_as_prim_var(s->var);
    if (v && v->dtype == RELAX_HANDLE)
        return rlx_kgen_fail(w, "a pointer as a value is not supported in kernels");
    rlx_kgen_begin_statement(w, &s->node);
    rlx_kgen_value value = rlx_kgen_real(w, rlx_kgen_expr(w, s->value, mask));
    /* the name keeps the register: what memory held then, whatever is stored later */
    uintptr_t at;
    if (!rlx_kgen_failed(w) && rlx_ptrmap_find(&w->memo, s->value, &at) &&
        w->memos.data[at - 1].value.reg == value.reg)
        w->memos.data[at - 1].uses = UINT32_MAX;
    rlx_kgen_bind_var(w, s->var, value);
    return !rlx_kgen_failed(w);
}

static bool assert_stmt(rlx_kgen *w, const rlx_assert_stmt *s)
{
    const rlx_tir_string *text = rlx_as_tir_string(s->message);
    rlx_kgen_begin_statement(w, &s->node);
    rlx_kgen_value v = rlx_kgen_expr(w, s->cond, RLX_KGEN_ALWAYS);
    if (v.klass != RLX_CLASS_I32 && !rlx_kgen_failed(w))
        return rlx_kgen_fail(w, "a condition must be a bool");
    RLX_KGEN_EMIT(w, w->top, RLX_K_ASSERT, v.reg, (uint32_t)s->assertion,
            rlx_kgen_name(w, text ? rlx_string_slice(text->value) : RLX_SLICE("assertion failed")));
    return !rlx_kgen_failed(w);
}

/* What is known of the variable of a loop while its body is written. Nothing where numbers might not hold it. */
static void add_range(rlx_kgen *w, const rlx_for_stmt *s)
{
    const rlx_prim_var *var = rlx_as_prim_var(s->loop_var);
    int64_t low, high, least, most;
    rlx_bounds(w->ctx, &w->ranges, s->min, &low, &high);
    rlx_bounds(w->ctx, &w->ranges, s->extent, &least, &most);
    const int64_t large = INT64_C(1) << 40;
    if (var && low > -large && high < large && most > 0 && most < large)
        (void)rlx_scope_bound(&w->ranges, var, low, high + most - 1);
}

static bool loop_over(rlx_kgen *w, const rlx_for_stmt *s, uint32_t min, uint32_t extent)
{
    uint32_t var = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0),
             limit = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
    int32_t level = rlx_kgen_open(w, false, NULL);
    rlx_kgen_bind_var(
        w, s->loop_var,
        (rlx_kgen_value){
            .reg = var, .level = level, .klass = RLX_CLASS_I64, .dtype = RELAX_INT64 });
    const size_t known = w->ranges.facts.len;
    add_range(w, s);
    w->loop_depth++;
    rlx_kgen_stmt(w, s->body, RLX_KGEN_ALWAYS);
    w->loop_depth--;
    rlx_scope_forget(&w->ranges, known);
    size_t length = rlx_kgen_length(w, w->top), head = rlx_kernel_op_words(RLX_K_LOOP),
           tail = rlx_kernel_op_words(RLX_K_NEXT);
    RLX_KGEN_EMIT(w, w->top, RLX_K_NEXT, var, limit, (uint32_t)-(int32_t)length);
    RLX_KGEN_EMIT(w, w->top - 1, RLX_K_LOOP, var, min, extent, limit,
            (uint32_t)(head + length + tail));
    rlx_kgen_close(w);
    return !rlx_kgen_failed(w);
}

#define MOST_LOOKED_AT 6 /* loops inside each other: all of each is looked through */
/* Whatever a loop says of itself, it is parallel where that is proved and something is to gain. */
static bool is_shared(rlx_kgen *w, const rlx_for_stmt *s, const rlx_prim **work)
{
    bool looks = w->loop_depth < MOST_LOOKED_AT && !w->shared_depth;
    *work = looks ? rlx_work_of(w->ctx, &s->node) : NULL;
    return rlx_is_worth_sharing(w->ctx, *work) && rlx_is_independent(w->ctx, s);
}

/* Three parts leave one of two threads idle for half of its time: more of them inside are better. As iterations of both loops are independent
 * the inner one goes around the other then, so that threads meet once. The loop itself: it stays. NULL: out of memory. */
static const rlx_for_stmt *more_parts_around(rlx_kgen *w, const rlx_for_stmt *s)
{
    const rlx_for_stmt *inner = rlx_as_for_stmt(s->body);
    const rlx_prim *work;
    int64_t parts;
    if (!inner || inner->for_kind == RLX_FOR_THREAD_BINDING || inner->annotations || !rlx_is_int_value(s->extent, 3) ||
        !rlx_int_literal(inner->extent, &parts) || parts <= 3 || rlx_plan_mentions(w->ctx, inner->min, s->loop_var) || !is_shared(w, inner, &work))
        return s;
    const rlx_stmt *each = rlx_for(w->ctx, rlx_as_prim_var(s->loop_var), s->min, s->extent, s->for_kind, inner->body, s->place),
                   *all = each ? rlx_for(w->ctx, rlx_as_prim_var(inner->loop_var), inner->min, inner->extent, inner->for_kind, each, inner->place) : NULL;
    return all ? rlx_as_for_stmt(all) : NULL;
}

static bool loop_stmt(rlx_kgen *w, const rlx_for_stmt *s)
{
    const rlx_prim *work;
    if (s->for_kind == RLX_FOR_THREAD_BINDING)
        return rlx_kgen_fail(w, "a thread binding is not supported in kernels");
    if (!is_shared(w, s, &work)) {
        uint32_t extent = rlx_kgen_int64(w, s->extent).reg;
        return loop_over(w, s, rlx_kgen_int64(w, s->min).reg, extent);
    }
    s = more_parts_around(w, s);
    if (!s)
        return false;
    rlx_kgen_parallel p = rlx_kgen_begin_parallel(w, s->min, s->extent, work, 1, NULL);
    loop_over(w, s, p.begin, p.count);
    rlx_kgen_end_parallel(w, p);
    return !rlx_kgen_failed(w);
}

static bool for_stmt(rlx_kgen *w, const rlx_for_stmt *s)
{
    bool done = false;
    if (w->nest)
        return rlx_kgen_fail(w, "a loop is not supported here");
    if (!rlx_kgen_try_nest(w, s, &done))
        return false;
    if (!done && rlx_tir_is_partial_loop(s)) { /* no instruction */
        const rlx_stmt *plain = rlx_tir_partial_loops(w->ctx, s);
        if (!plain || plain != &s->node)
            return plain && rlx_kgen_stmt(w, plain, RLX_KGEN_ALWAYS);
    }
    return done || loop_stmt(w, s);
}

static bool while_stmt(rlx_kgen *w, const rlx_while_stmt *s)
{
    rlx_kgen_open(w, false, NULL);
    rlx_kgen_begin_statement(w, &s->node);
    rlx_kgen_value cond = rlx_kgen_expr(w, s->cond, RLX_KGEN_ALWAYS);
    size_t jump = rlx_kgen_length(w, w->top);
    RLX_KGEN_EMIT(w, w->top, RLX_K_JUMP_IF_NOT, cond.reg, 0);
    rlx_kgen_forget_loads(w);
    rlx_kgen_stmt(w, s->body, RLX_KGEN_ALWAYS);
    size_t back = rlx_kgen_length(w, w->top);
    RLX_KGEN_EMIT(w, w->top, RLX_K_JUMP, (uint32_t)-(int32_t)back);
    rlx_kgen_patch_jump(w, w->top, jump, 1, (int64_t)(rlx_kgen_length(w, w->top) - jump));
    rlx_kgen_close(w);
    return !rlx_kgen_failed(w);
}

/* Code that is skipped unless `cond` holds. */
static bool write_branch(rlx_kgen *w, const rlx_stmt *s, uint32_t cond)
{
    rlx_kgen_open(w, false, NULL);
    rlx_kgen_stmt(w, s, RLX_KGEN_ALWAYS);
    size_t length = rlx_kgen_length(w, w->top);
    RLX_KGEN_EMIT(w, w->top - 1, RLX_K_JUMP_IF_NOT, cond,
            (uint32_t)(length + rlx_kernel_op_words(RLX_K_JUMP_IF_NOT)));
    rlx_kgen_close(w);
    return !rlx_kgen_failed(w);
}

static bool if_stmt(rlx_kgen *w, const rlx_if_stmt *s, rlx_kgen_value mask)
{
    rlx_kgen_begin_statement(w, &s->node);
    rlx_kgen_value cond = rlx_kgen_real(w, rlx_kgen_expr(w, s->cond, mask));
    if (cond.klass != RLX_CLASS_I32 && !rlx_kgen_failed(w))
        return rlx_kgen_fail(w, "a condition must be a bool");
    if (in_strip(w)) {
        uintptr_t at;
        if (!rlx_kgen_failed(w) && rlx_ptrmap_find(&w->memo, s->cond, &at))
            w->memos.data[at - 1].uses = UINT32_MAX; /* wanted until both sides are done */
        if (!rlx_kgen_stmt(w, s->then_case, rlx_kgen_and(w, mask, cond, false)))
            return false;
        return !s->else_case || rlx_kgen_stmt(w, s->else_case, rlx_kgen_and(w, mask, cond, true));
    }
    rlx_kgen_value negated = s->else_case ? rlx_kgen_and(w, RLX_KGEN_ALWAYS, cond, true) : cond;
    /* known before the first side runs, which may change what it was computed from */
    if (s->else_case && negated.level > w->top)
        return rlx_kgen_fail(w, "a condition cannot be compiled");
    return write_branch(w, s->then_case, cond.reg) &&
           (!s->else_case || write_branch(w, s->else_case, negated.reg));
}

static bool evaluate_stmt(rlx_kgen *w, const rlx_evaluate *s)
{
    const rlx_prim_call *c = rlx_as_prim_call(s->value);
    static const char *const harmless[] = { "likely", "assume", "start_profile_intrinsic",
                                            "end_profile_intrinsic", "undef" };
    if (s->value->kind == RLX_NODE_INT_IMM || s->value->kind == RLX_NODE_FLOAT_IMM ||
        s->value->kind == RLX_NODE_PRIM_VAR)
        return true;
    for (size_t i = 0; c && c->op && i < RLX_COUNT(harmless); i++)
        if (rlx_slice_is(rlx_string_slice(c->op), harmless[i]))
            return true;
    if (c)
        return rlx_kgen_fail(w, "call of %s is not supported in kernels",
                             c->op ? c->op->data : "another function");
    rlx_kgen_begin_statement(w, &s->node);
    rlx_kgen_expr(w, s->value, RLX_KGEN_ALWAYS); /* it may fail */
    return !rlx_kgen_failed(w);
}

static bool attr_stmt(rlx_kgen *w, const rlx_attr_stmt *s)
{
    if (rlx_slice_is(rlx_string_slice(s->key), "thread_extent") ||
        rlx_slice_is(rlx_string_slice(s->key), "virtual_thread"))
        return rlx_kgen_fail(w, "threads are not supported in kernels");
    return true;
}

/* A statement that covers the rest of its suite makes its own code; *body: the rest. */
static bool write_covering(rlx_kgen *w, const rlx_stmt *s, rlx_kgen_value mask,
                           const rlx_stmt **body)
{
    bool outside = !in_strip(w);
    *body = NULL;
    switch (s->kind) {
    case RLX_NODE_LET_STMT:
        *body = ((const rlx_let_stmt *)s)->body;
        return let_stmt(w, (const rlx_let_stmt *)s, mask);
    case RLX_NODE_ATTR_STMT:
        *body = ((const rlx_attr_stmt *)s)->body;
        return attr_stmt(w, (const rlx_attr_stmt *)s);
    case RLX_NODE_ASSERT_STMT:
        *body = ((const rlx_assert_stmt *)s)->body;
        return outside && assert_stmt(w, (const rlx_assert_stmt *)s);
    case RLX_NODE_ALLOCATE:
        *body = ((const rlx_allocate *)s)->body;
        return outside && allocate(w, (const rlx_allocate *)s);
    case RLX_NODE_ALLOCATE_CONST:
        *body = ((const rlx_allocate_const *)s)->body;
        return outside && allocate_const(w, (const rlx_allocate_const *)s);
    case RLX_NODE_DECL_BUFFER:
        *body = ((const rlx_decl_buffer *)s)->body;
        return outside && declare_buffer(w, rlx_as_buffer(((const rlx_decl_buffer *)s)->buffer));
    default: return true;
    }
}

/* What fills with zeros what the next nest sums up is part of that. */
static bool sequence(rlx_kgen *w, const rlx_seq_stmt *s, rlx_kgen_value mask)
{
    for (size_t i = 0; i < s->num_stmts; i++) {
        bool done = false;
        const rlx_for_stmt *sum = !w->nest && i + 1 < s->num_stmts ? rlx_as_for_stmt(s->stmts[i + 1]) : NULL;
        if (sum && !rlx_kgen_try_sum(w, s->stmts[i], sum, &done))
            return false;
        i += done;
        if (!done && !rlx_kgen_stmt(w, s->stmts[i], mask))
            return false;
    }
    return true;
}

static bool plain_stmt(rlx_kgen *w, const rlx_stmt *s, rlx_kgen_value mask)
{
    switch (s->kind) {
    case RLX_NODE_SEQ_STMT:
        return sequence(w, (const rlx_seq_stmt *)s, mask);
    case RLX_NODE_BUFFER_STORE:
        if (((const rlx_buffer_store *)s)->predicate)
            return rlx_kgen_fail(w, "a predicated store is not supported in kernels");
        return rlx_kgen_store(w, (const rlx_buffer_store *)s, mask);
    case RLX_NODE_EVALUATE: return evaluate_stmt(w, (const rlx_evaluate *)s);
    case RLX_NODE_IF_THEN_ELSE: return if_stmt(w, (const rlx_if_stmt *)s, mask);
    case RLX_NODE_FOR: return for_stmt(w, (const rlx_for_stmt *)s);
    case RLX_NODE_WHILE: return while_stmt(w, (const rlx_while_stmt *)s);
    default: return rlx_kgen_fail(w, "%s is not supported in kernels", rlx_kinds[s->kind].name);
    }
}

bool rlx_kgen_stmt(rlx_kgen *w, const rlx_stmt *s, rlx_kgen_value mask)
{
    const rlx_stmt *body;
    rlx_place place = w->place;
    if (w->depth >= RLX_KGEN_MAX_DEPTH)
        return rlx_kgen_too_large(w, "statements inside each other");
    w->depth++;
    for (;;) {
        if (rlx_place_of(s))
            w->place = rlx_place_of(s);
        if (!write_covering(w, s, mask, &body) && !rlx_kgen_failed(w))
            rlx_kgen_fail(w, "%s is not supported here", rlx_kinds[s->kind].name);
        if (rlx_kgen_failed(w) || !body)
            break;
        s = body;
    }
    bool ok = !rlx_kgen_failed(w) && plain_stmt(w, s, mask);
    w->depth--;
    w->place = place;
    return ok && !rlx_kgen_failed(w);
}

/* ---- the function --------------------------------------------------------------------------- */

static rlx_kgen_value new_scalar(rlx_kgen *w, rlx_dtype dtype)
{
    unsigned klass = rlx_kernel_elems[rlx_kernel_elem_of(dtype)].klass;
    return (rlx_kgen_value){ .reg = rlx_kgen_new_reg(w, klass, 0),
                             .klass = (uint8_t)klass,
                             .dtype = dtype };
}

static bool scalar_param(rlx_kgen *w, const rlx_prim_var *v)
{
    if (rlx_kernel_elem_of(v->dtype) == RLX_ELEM_COUNT) {
        if (v->dtype == RELAX_HANDLE)
            return rlx_kgen_fail(
                w, "parameter %s: a pointer without a buffer is not supported in kernels",
                v->name ? v->name->data : "?");
        rlx_error(w->ctx, RLX_CG05, w->place,
                  "parameter %s: kernels do not compute with its dtype",
                  v->name ? v->name->data : "?");
        w->refused = true;
        return false;
    }
    rlx_kgen_value x = new_scalar(w, v->dtype);
    rlx_kgen_bind_var(w, &v->node, x);
    return rlx_vec_push(&w->ctx->memory, &w->params,
                        ((rlx_kgen_param){ RLX_KERNEL_PARAM_SCALAR, x.reg, v->dtype }));
}

/* Sizes that stand alone in a dimension get their value there. */
static bool bind_dims(rlx_kgen *w, const rlx_buffer *b, uint32_t row)
{
    for (size_t d = 0; d < b->num_shape; d++) {
        const rlx_prim *p = b->shape[d];
        if (p->kind != RLX_NODE_PRIM_VAR || rlx_ptrmap_has(&w->vars, p))
            continue;
        rlx_kgen_value x = new_scalar(w, RELAX_INT64);
        RLX_KGEN_EMIT(w, 0, RLX_K_DIM, x.reg, row, (uint32_t)d);
        rlx_kgen_bind_var(w, p, x);
    }
    return !rlx_kgen_failed(w);
}

/* Parameters that may be the memory of others, or its beginning. */
static bool note_same_place(rlx_kgen *w, const rlx_prim_func *f)
{
    size_t size = (f->num_params + 1) * sizeof(int32_t);
    int32_t *into = rlx_mem_alloc(&w->ctx->memory, size);
    bool any = into && rlx_find_first_place(w->ctx, f, into);
    for (size_t i = 0; any && i < f->num_params; i++)
        if (into[i] >= 0)
            w->rows.data[w->params.data[i].index].same =
                (uint16_t)(1 + w->params.data[into[i]].index);
    rlx_mem_free(&w->ctx->memory, into, into ? size : 0);
    return !w->ctx->diags.out_of_memory;
}

static bool write_params(rlx_kgen *w, const rlx_prim_func *f)
{
    if (f->num_params > RLX_KERNEL_MAX_PARAMS)
        return rlx_kgen_too_large(w, "parameters");
    /* buffers of parameters come first in the table, in order */
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = rlx_as_buffer(f->buffers[i]);
        if (b && b->num_shape > RLX_TIR_MAX_DIMS)
            return rlx_kgen_too_large(w, "dimensions");
        if (b && !rlx_vec_push(&w->ctx->memory, &w->params,
                               ((rlx_kgen_param){ RLX_KERNEL_PARAM_BUFFER,
                                                  add_row(w, b, b->data, RLX_KERNEL_BUFFER_PARAM),
                                                  b->dtype })))
            return false;
        if (!b && !scalar_param(w, rlx_as_prim_var(f->params[i])))
            return false;
    }
    uint32_t row = 0;
    for (size_t i = 0; i < f->num_params; i++)
        if (f->buffers[i] && !bind_dims(w, rlx_as_buffer(f->buffers[i]), row++))
            return false;
    row = 0;
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = rlx_as_buffer(f->buffers[i]);
        rlx_kgen_buffer *info = b ? add_buffer(w, b, row) : NULL;
        if (b && (!info || !bind_strides(w, info)))
            return false;
        /* all sizes are compared, also those that gave a variable its value */
        for (size_t d = 0; b && d < b->num_shape; d++) {
            const rlx_prim_var *size = rlx_as_prim_var(b->shape[d]);
            RLX_KGEN_EMIT(w, 0, RLX_K_WANT_DIM, row, (uint32_t)d,
                    rlx_kgen_int64(w, b->shape[d]).reg);
            if (size)
                (void)rlx_scope_add(&w->ranges, size, true);
        }
        row += b != NULL;
    }
    return !rlx_kgen_failed(w);
}

static void init_writer(rlx_kgen *w, rlx_context *ctx, rlx_slice name, rlx_place place)
{
    memset(w, 0, sizeof *w);
    w->ctx = ctx;
    w->name = name;
    w->place = place;
    rlx_map_init(&w->const_index, &ctx->memory);
    rlx_ptrmap *maps[] = {
        &w->memo, &w->vars, &w->uses, &w->broadcasts, &w->buffers, &w->storage
    };
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &ctx->memory);
    rlx_scope_init(&w->ranges, ctx, NULL);
    rlx_buf_init(&w->names, &ctx->memory);
    rlx_buf_init(&w->data, &ctx->memory);
}

static void release_writer(rlx_kgen *w)
{
    rlx_memory *m = &w->ctx->memory;
    for (int i = 0; i < RLX_KGEN_MAX_LEVELS; i++) {
        rlx_vec_free(m, &w->levels[i].code);
        rlx_vec_free(m, &w->levels[i].memo);
    }
    for (int k = 0; k < RLX_CLASS_COUNT; k++) {
        rlx_vec_free(m, &w->free_strips[k]);
        rlx_vec_free(m, &w->idle_strips[k]);
        rlx_vec_free(m, &w->same_strips[k]);
    }
    rlx_scope_free(&w->ranges);
    rlx_vec_free(m, &w->strips);
    rlx_vec_free(m, &w->regs);
    rlx_vec_free(m, &w->consts);
    rlx_vec_free(m, &w->const_classes);
    rlx_vec_free(m, &w->memos);
    rlx_vec_free(m, &w->load_memos);
    rlx_vec_free(m, &w->var_values);
    rlx_vec_free(m, &w->buffer_infos);
    rlx_vec_free(m, &w->rows);
    rlx_vec_free(m, &w->params);
    rlx_map_free(&w->const_index);
    rlx_ptrmap *maps[] = {
        &w->memo, &w->vars, &w->uses, &w->broadcasts, &w->buffers, &w->storage
    };
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    rlx_buf_free(&w->names);
    rlx_buf_free(&w->data);
    rlx_mem_free(m, w, sizeof *w);
}

static bool compile_kernel(rlx_kgen *w, const rlx_prim_func *f, rlx_buf *out)
{
    rlx_kgen_name(w, w->name);
    if (f->ret_dtype != RELAX_VOID)
        return rlx_kgen_fail(w, "a PrimFunc that returns a value cannot be a kernel");
    w->wakes_for = f->body;
    if (!write_params(w, f) || !note_same_place(w, f) || !rlx_kgen_stmt(w, f->body, RLX_KGEN_ALWAYS))
        return false;
    rlx_kgen_emit(w, 0, RLX_K_END, NULL);
    return rlx_kgen_serialise(w, out);
}

bool rlx_kernel_write(rlx_context *ctx, const rlx_prim_func *f, rlx_slice name, rlx_buf *out,
                      rlx_kernel_hints *hints)
{
    const rlx_prim_func *plain = f ? rlx_tir_lower_blocks(ctx, f) : NULL;
    rlx_kgen *w = plain ? rlx_mem_alloc(&ctx->memory, sizeof *w) : NULL;
    if (!w)
        return false;
    init_writer(w, ctx, name, f->place);
    w->hints = hints;
    bool ok = compile_kernel(w, plain, out);
    release_writer(w);
    return ok;
}
