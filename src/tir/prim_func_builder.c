/* prim_func_builder.c: the builder of PrimFuncs: open constructs on a stack, blocks completed as
 * they close. */
#include "tir/tir.h"
#include "tir/tir_int.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

const rlx_tir_intrinsic_row rlx_tir_intrinsics[RLX_TIR_NUM_INTRINSICS] = {
#define ROW(name, args_and_result, rule) \
    [RLX_TIR_##name] = { #name, args_and_result, RLX_TIR_RULE_##rule },
#define OF_FLOAT1 1, RLX_TIR_SAME
#define OF_WIDE1 1, RLX_TIR_SAME
#define OF_WIDEST1 1, RLX_TIR_SAME
#define OF_WIDE_LANES1 1, RLX_TIR_SAME
#define OF_TURN1 1, RLX_TIR_SAME
#define OF_ROW1 1, RLX_TIR_SAME
#define OF_LANES1 1, RLX_TIR_SAME
#define OF_FLOAT2 2, RLX_TIR_SAME
#define OF_LANES2 2, RLX_TIR_SAME
#define OF_WIDE_LANES2 2, RLX_TIR_SAME
#define OF_FLOAT3 3, RLX_TIR_SAME
#define OF_LDEXP 2, RLX_TIR_SAME
#define OF_TEST1 1, RLX_TIR_BOOL
#define OF_SAME1 1, RLX_TIR_SAME
#define OF_SAME2 2, RLX_TIR_SAME
#define OF_COUNT1 1, RLX_TIR_I32
#define OF_CHOICE3 3, RLX_TIR_SAME
#define SCALAR_FLOAT(name, kind, rule, f32, f64) ROW(name, OF_##kind, rule)
#define SCALAR_SYNONYM(name, of, kind, rule) ROW(name, OF_##kind, rule)
#define SCALAR_OTHER(name, kind, rule) ROW(name, OF_##kind, rule)
#include "format/scalar_op.def"
};

enum rlx_tir_intrinsic rlx_tir_find_intrinsic(rlx_slice name)
{
    for (int i = 1; i < RLX_TIR_NUM_INTRINSICS; i++)
        if (rlx_slice_is(name, rlx_tir_intrinsics[i].name))
            return (enum rlx_tir_intrinsic)i;
    return RLX_TIR_NO_INTRINSIC;
}

/* ---- open constructs ------------------------------------------------------------------------ */

/* Contents of a construct: statements, and lets, asserts and views, which cover all that comes
 * after them. */
enum item_kind { ITEM_STMT, ITEM_LET, ITEM_ASSERT, ITEM_VIEW };
typedef struct item {
    enum item_kind kind;
    const rlx_stmt *stmt;
    const rlx_prim_var *var;
    const rlx_prim *value, *message;
    enum rlx_assertion assertion;
    const rlx_buffer *buffer;
} item;
typedef RLX_VEC(item) items;

enum frame_kind { FRAME_FUNC, FRAME_FOR, FRAME_BLOCK, FRAME_WHILE, FRAME_IF, FRAME_ELSE };
typedef struct axis {
    const rlx_iter_var *iter;
    const rlx_prim *value;
    const rlx_prim_var *loop;
    const rlx_prim *extent;
} axis;
struct rlx_tir_frame {
    rlx_tir_frame *up;
    enum frame_kind kind;
    items body;
    /* IF: the then case while the else case is collected; BLOCK: stores of init */
    items first;
    const rlx_prim_var *var;           /* FOR */
    const rlx_prim *min, *extent;
    int for_kind;
    const rlx_string *thread;          /* FOR: tag of the thread axis, or NULL */
    const rlx_prim *cond;              /* WHILE, IF; BLOCK: predicate */
    const rlx_string *name;            /* BLOCK */
    RLX_VEC(axis) axes;
    rlx_ptrs allocs;                   /* BLOCK, FUNC */
    rlx_ptrs regions[2];               /* BLOCK: reads and writes that are stated */
    bool stated[2];
    rlx_ptrs matches;                  /* BLOCK: buffers over regions */
    const rlx_attr *attrs;             /* BLOCK, FOR */
};

static bool fail(rlx_tir *t)
{
    t->incomplete = true;
    return false;
}

/* Every value that goes in or out passes here: NULL latches the failure. */
static const rlx_prim *keep(rlx_tir *t, const rlx_prim *p)
{
    if (!p)
        fail(t);
    return t->incomplete ? NULL : p;
}

static bool misuse(rlx_tir *t, enum rlx_code_id code, const char *what)
{
    if (!t->incomplete)
        rlx_error(t->ctx, code, t->place, "building a PrimFunc: %s", what);
    return fail(t);
}

static rlx_memory *memory_of(rlx_tir *t)
{
    return &t->ctx->memory;
}

static rlx_tir_frame *push(rlx_tir *t, enum frame_kind kind)
{
    if (t->incomplete)
        return NULL;
    rlx_tir_frame *f = rlx_new_zero(t->ctx, sizeof *f);
    if (!f) {
        fail(t);
        return NULL;
    }
    f->kind = kind;
    f->up = t->top;
    t->top = f;
    return f;
}

static void free_frame(rlx_tir *t, rlx_tir_frame *f)
{
    rlx_memory *m = memory_of(t);
    rlx_vec_free(m, &f->body);
    rlx_vec_free(m, &f->first);
    rlx_vec_free(m, &f->axes);
    rlx_vec_free(m, &f->allocs);
    rlx_vec_free(m, &f->regions[0]);
    rlx_vec_free(m, &f->regions[1]);
    rlx_vec_free(m, &f->matches);
}

static void pop(rlx_tir *t)
{
    rlx_tir_frame *f = t->top;
    t->top = f->up;
    free_frame(t, f);
}

/* The innermost open construct, which must be of this kind. */
static rlx_tir_frame *expect(rlx_tir *t, enum frame_kind kind)
{
    if (t->incomplete)
        return NULL;
    if (t->top && t->top->kind == kind)
        return t->top;
    misuse(t, RLX_OP09, "this belongs to another construct than the innermost open one");
    return NULL;
}

static bool add_item(rlx_tir *t, items *list, item it)
{
    return rlx_vec_push(memory_of(t), list, it) || fail(t);
}

static void emit(rlx_tir *t, const rlx_stmt *s)
{
    if (!s)
        fail(t);
    if (!t->incomplete)
        add_item(t, &t->top->body, (item){ .kind = ITEM_STMT, .stmt = s });
}


const rlx_stmt *rlx_tir_nothing(rlx_context *ctx, rlx_place place)
{
    rlx_evaluate *e = rlx_node_new(ctx, RLX_NODE_EVALUATE);
    if (!e)
        return NULL;
    e->place = place;
    e->value = rlx_int(ctx, RELAX_INT32, 0);
    return e->value ? &e->node : NULL;
}

const rlx_stmt *rlx_tir_sequence(rlx_context *ctx, const rlx_stmt *const *stmts, size_t count,
                                 rlx_place place)
{
    if (count == 0)
        return rlx_tir_nothing(ctx, place);
    return count == 1 ? stmts[0] : rlx_seq_stmt_new(ctx, stmts, count, place);
}

/* A let, an assert or a view over `rest`. */
static const rlx_stmt *cover(rlx_tir *t, const item *it, const rlx_stmt *rest)
{
    if (it->kind == ITEM_LET) {
        rlx_let_stmt *l = rlx_node_new(t->ctx, RLX_NODE_LET_STMT);
        if (!l)
            return NULL;
        l->place = t->place;
        l->value = it->value;
        l->var = &it->var->node;
        l->body = rest;
        return &l->node;
    }
    if (it->kind == ITEM_VIEW) {
        rlx_decl_buffer *d = rlx_node_new(t->ctx, RLX_NODE_DECL_BUFFER);
        if (!d)
            return NULL;
        d->place = t->place;
        d->buffer = &it->buffer->node;
        d->body = rest;
        return &d->node;
    }
    rlx_assert_stmt *a = rlx_node_new(t->ctx, RLX_NODE_ASSERT_STMT);
    if (!a)
        return NULL;
    a->place = t->place;
    a->cond = it->value;
    a->message = it->message;
    a->assertion = it->assertion;
    a->body = rest;
    return &a->node;
}

/* The items as one statement; lets cover what follows them, so it is built from the end. */
static const rlx_stmt *finish(rlx_tir *t, const items *list)
{
    rlx_ptrs run = { 0 };
    const rlx_stmt *result = NULL;
    size_t i = list->len;
    rlx_memory *m = memory_of(t);
    /* run holds statements in reverse */
    while (!t->incomplete) {
        if (i && list->data[i - 1].kind == ITEM_STMT) {
            if (!rlx_vec_push(m, &run, (void *)list->data[--i].stmt))
                fail(t);
            continue;
        }
        for (size_t a = 0, b = run.len; a + 1 < b; a++) {
            void *swap = run.data[a];
            run.data[a] = run.data[--b];
            run.data[b] = swap;
        }
        const rlx_stmt *rest =
            rlx_tir_sequence(t->ctx, (const rlx_stmt *const *)run.data, run.len, t->place);
        if (rest && i)
            rest = cover(t, &list->data[--i], rest);
        else if (rest) {
            result = rest;
            break;
        }
        run.len = 0;
        if (!rest || !rlx_vec_push(m, &run, (void *)rest))
            fail(t);
    }
    rlx_vec_free(m, &run);
    return t->incomplete ? NULL : result;
}

/* ---- functions ------------------------------------------------------------------------------ */

void rlx_tir_begin(rlx_tir *t, rlx_context *ctx, rlx_place place)
{
    *t = (rlx_tir){ .ctx = ctx, .place = place };
    push(t, FRAME_FUNC);
}

void rlx_tir_attr(rlx_tir *t, const char *key, const rlx_attr *value)
{
    if (t->incomplete)
        return;
    if (!value || !(t->attrs = rlx_attrs_with(t->ctx, t->attrs, key, value)))
        fail(t);
}

void rlx_tir_annotate(rlx_tir *t, const char *key, const rlx_attr *value)
{
    rlx_tir_frame *f = t->incomplete ? NULL : t->top;
    if (value && value->kind == RLX_NODE_ATTR_BOOL) /* as text reads it */
        value = rlx_int(t->ctx, RELAX_BOOL, ((const rlx_attr_int *)value)->value);
    while (f && f->kind != FRAME_BLOCK && f->kind != FRAME_FOR)
        f = f->up;
    if (!f)
        rlx_tir_attr(t, key, value);
    else if (!value || !(f->attrs = rlx_attrs_with(t->ctx, f->attrs, key, value)))
        fail(t);
}

static const rlx_prim_func *make_func(rlx_tir *t, const rlx_stmt *body)
{
    rlx_prim_func *f = rlx_node_new(t->ctx, RLX_NODE_PRIM_FUNC);
    bool ok = f != NULL, ok2 = false;
    if (!ok)
        return NULL;
    f->place = t->place;
    f->params =
        rlx_nodes_copy(t->ctx, (const rlx_node *const *)t->params.data, t->params.len, &ok);
    f->buffers =
        rlx_nodes_copy(t->ctx, (const rlx_node *const *)t->buffers.data, t->buffers.len, &ok2);
    f->num_params = t->params.len;
    f->num_buffers = t->buffers.len;
    f->ret_dtype = RELAX_VOID;
    f->body = body;
    f->attrs = t->attrs;
    return ok && ok2 ? f : NULL;
}

const rlx_prim_func *rlx_tir_end(rlx_tir *t)
{
    const rlx_prim_func *f = NULL;
    rlx_tir_frame *top = expect(t, FRAME_FUNC);
    if (top) {
        const rlx_stmt *body = finish(t, &top->body);
        if (body)
            body = rlx_tir_add_root(t->ctx, body, (const rlx_buffer *const *)top->allocs.data,
                                    top->allocs.len, t->place);
        f = body ? make_func(t, body) : NULL;
    }
    while (t->top)
        pop(t);
    rlx_vec_free(memory_of(t), &t->params);
    rlx_vec_free(memory_of(t), &t->buffers);
    return f;
}

static const rlx_prim_var *new_var(rlx_tir *t, const char *prefix, const char *name,
                                   rlx_dtype dtype)
{
    char text[96];
    int n = snprintf(text, sizeof text, "%s%s", prefix, name);
    const rlx_string *s = rlx_string_intern(
        t->ctx, (rlx_slice){ text, n < (int)sizeof text ? (size_t)n : sizeof text - 1 });
    return s ? rlx_prim_var_new(t->ctx, s, dtype, t->place) : NULL;
}

const rlx_prim *rlx_tir_dim(rlx_tir *t, const char *name)
{
    if (t->incomplete)
        return NULL;
    const rlx_prim_var *v = new_var(t, "", name, RELAX_INT64);
    return keep(t, v ? &v->node : NULL);
}

static bool good_list(rlx_tir *t, rlx_prim_list list)
{
    if (t->incomplete)
        return false;
    if (list.count > RLX_TIR_MAX_DIMS)
        return misuse(t, RLX_OP18, "more dimensions than a kernel may have");
    for (size_t i = 0; i < list.count; i++)
        if (!list.items[i])
            return fail(t);
    return true;
}

/* Begin and length of a range are integers of one type, as their sum is printed. */
static bool good_range(rlx_tir *t, const rlx_prim **min, const rlx_prim **extent)
{
    if (t->incomplete || !*min || !*extent)
        return fail(t);
    if (!rlx_dtype_is_int(rlx_prim_dtype(*min)) || !rlx_dtype_is_int(rlx_prim_dtype(*extent)))
        return misuse(t, RLX_OP02, "begin and length of a range are integers");
    return rlx_match_types(t->ctx, min, extent) || fail(t);
}

static const rlx_buffer *new_buffer(rlx_tir *t, const char *name, rlx_dtype dtype,
                                    rlx_prim_list shape)
{
    if (!good_list(t, shape))
        return NULL;
    const rlx_string *s = rlx_string_z(t->ctx, name);
    const rlx_buffer *b =
        s ? rlx_buffer_new(t->ctx, s, dtype, shape.items, shape.count, NULL, t->place) : NULL;
    if (!b)
        fail(t);
    return b;
}

/* A buffer with strides (none: compact), an offset (NULL: 0) and the memory of `source` (NULL: its
 * own). */
static const rlx_buffer *new_strided(rlx_tir *t, const char *name, rlx_dtype dtype,
                                     rlx_prim_list shape, rlx_prim_list strides,
                                     const rlx_prim *offset, const rlx_buffer *source)
{
    const rlx_buffer *plain = new_buffer(t, name, dtype, shape);
    rlx_buffer *b = plain && good_list(t, strides) ? rlx_node_new(t->ctx, RLX_NODE_BUFFER) : NULL;
    bool ok = true;
    if (!b) {
        fail(t);
        return NULL;
    }
    const rlx_node head = b->node;
    *b = *plain;
    b->node = head;
    b->strides = rlx_nodes_copy(t->ctx, strides.items, strides.count, &ok);
    b->num_strides = strides.count;
    /* text does not show an offset of 0, nor its dtype */
    b->elem_offset = offset && !rlx_is_int_value(offset, 0) ? offset : plain->elem_offset;
    b->data = source ? source->data : plain->data;
    b->scope = source ? source->scope : plain->scope;
    return ok || fail(t) ? b : NULL;
}

static void add_param(rlx_tir *t, const rlx_prim *var, const rlx_buffer *buffer)
{
    if (!var)
        fail(t);
    if (t->incomplete)
        return;
    if (!rlx_vec_push(memory_of(t), &t->params, (void *)var) ||
        !rlx_vec_push(memory_of(t), &t->buffers, (void *)buffer))
        fail(t);
}

static const rlx_buffer *buffer_param(rlx_tir *t, const char *name, const rlx_buffer *b)
{
    const rlx_prim_var *v = b ? new_var(t, "var_", name, RELAX_HANDLE) : NULL;
    add_param(t, v ? &v->node : NULL, b);
    return t->incomplete ? NULL : b;
}

const rlx_buffer *rlx_tir_param(rlx_tir *t, const char *name, rlx_dtype dtype, rlx_prim_list shape)
{
    return buffer_param(t, name, new_buffer(t, name, dtype, shape));
}

const rlx_buffer *rlx_tir_param_strided(rlx_tir *t, const char *name, rlx_dtype dtype,
                                        rlx_prim_list shape, rlx_prim_list strides,
                                        const rlx_prim *offset)
{
    return buffer_param(t, name, new_strided(t, name, dtype, shape, strides, offset, NULL));
}

const rlx_buffer *rlx_tir_view(rlx_tir *t, const char *name, rlx_dtype dtype,
                               const rlx_buffer *source, rlx_prim_list shape,
                               rlx_prim_list strides, const rlx_prim *offset)
{
    const rlx_buffer *b =
        source ? new_strided(t, name, dtype, shape, strides, offset, source) : NULL;
    if (!b)
        fail(t);
    else
        add_item(t, &t->top->body, (item){ .kind = ITEM_VIEW, .buffer = b });
    return t->incomplete ? NULL : b;
}

void rlx_tir_scalar_var(rlx_tir *t, const rlx_prim *var)
{
    add_param(t, var, NULL);
}

const rlx_prim *rlx_tir_scalar(rlx_tir *t, const char *name, rlx_dtype dtype)
{
    if (t->incomplete)
        return NULL;
    const rlx_prim_var *v = new_var(t, "", name, dtype);
    rlx_tir_scalar_var(t, v ? &v->node : NULL);
    return keep(t, v ? &v->node : NULL);
}

const rlx_buffer *rlx_tir_alloc(rlx_tir *t, const char *name, rlx_dtype dtype, rlx_prim_list shape)
{
    const rlx_buffer *b = new_buffer(t, name, dtype, shape);
    rlx_tir_frame *f = t->top;
    while (b && f->kind != FRAME_BLOCK && f->kind != FRAME_FUNC)
        f = f->up;
    if (b && !rlx_vec_push(memory_of(t), &f->allocs, (void *)b))
        fail(t);
    return t->incomplete ? NULL : b;
}

/* ---- blocks --------------------------------------------------------------------------------- */

void rlx_tir_begin_block(rlx_tir *t, const char *name)
{
    rlx_tir_frame *f = push(t, FRAME_BLOCK);
    if (f && !(f->name = rlx_string_z(t->ctx, name)))
        fail(t);
}

/* loop: NULL for an axis bound by rlx_tir_axis, whose `value` is given. */
static const rlx_prim *add_axis(rlx_tir *t, enum rlx_iter_type type, const char *name,
                                const rlx_prim *min, const rlx_prim *extent,
                                const rlx_prim_var *loop, const rlx_prim *value)
{
    const rlx_prim_var *v = new_var(t, "v_", name, rlx_prim_dtype(extent));
    const rlx_node *dom = rlx_range_new(t->ctx, min, extent);
    rlx_iter_var *iter = rlx_node_new(t->ctx, RLX_NODE_ITER_VAR);
    if (!v || !dom || !iter || !(iter->thread_tag = rlx_string_z(t->ctx, ""))) {
        fail(t);
        return NULL;
    }
    iter->dom = dom;
    iter->var = &v->node;
    iter->iter_type = type;
    if (!rlx_vec_push(memory_of(t), &t->top->axes,
                      ((axis){ iter, loop ? &loop->node : value, loop, extent })))
        fail(t);
    return keep(t, &v->node);
}

const rlx_prim *rlx_tir_loop_axis(rlx_tir *t, enum rlx_iter_type type, const char *name,
                                  const rlx_prim *extent)
{
    if (!keep(t, extent) || !expect(t, FRAME_BLOCK))
        return NULL;
    const rlx_prim *zero = rlx_int(t->ctx, rlx_prim_dtype(extent), 0);
    const rlx_prim_var *loop =
        good_range(t, &zero, &extent) ? new_var(t, "", name, rlx_prim_dtype(extent)) : NULL;
    if (!loop) {
        fail(t);
        return NULL;
    }
    return add_axis(t, type, name, zero, extent, loop, NULL);
}

const rlx_prim *rlx_tir_spatial(rlx_tir *t, const char *name, const rlx_prim *extent)
{
    return rlx_tir_loop_axis(t, RLX_ITER_SPATIAL, name, extent);
}

const rlx_prim *rlx_tir_reduce(rlx_tir *t, const char *name, const rlx_prim *extent)
{
    return rlx_tir_loop_axis(t, RLX_ITER_REDUCE, name, extent);
}

const rlx_prim *rlx_tir_axis(rlx_tir *t, enum rlx_iter_type type, const char *name,
                             const rlx_prim *min, const rlx_prim *extent, const rlx_prim *value)
{
    if (!keep(t, extent) || !keep(t, value) || !expect(t, FRAME_BLOCK))
        return NULL;
    if (!min)
        min = rlx_int(t->ctx, rlx_prim_dtype(extent), 0);
    return good_range(t, &min, &extent) ? add_axis(t, type, name, min, extent, NULL, value) : NULL;
}

void rlx_tir_where(rlx_tir *t, const rlx_prim *predicate)
{
    rlx_tir_frame *f = expect(t, FRAME_BLOCK);
    if (f && keep(t, predicate))
        f->cond = predicate;
}

/* NULL after a failure. */
static const rlx_buffer_region *new_region(rlx_tir *t, const rlx_buffer *b, rlx_prim_list mins,
                                           rlx_prim_list extents)
{
    if (!good_list(t, mins) || !good_list(t, extents))
        return NULL;
    if (mins.count != b->num_shape || extents.count != b->num_shape) {
        misuse(t, RLX_OP03, "as many ranges as dimensions are needed in a region");
        return NULL;
    }
    rlx_buffer_region *r = rlx_node_new(t->ctx, RLX_NODE_BUFFER_REGION);
    const rlx_node **ranges = r ? rlx_new(t->ctx, (mins.count + 1) * sizeof *ranges) : NULL;
    for (size_t i = 0; ranges && i < mins.count; i++) {
        const rlx_prim *min = mins.items[i], *extent = extents.items[i];
        if (!good_range(t, &min, &extent) || !(ranges[i] = rlx_range_new(t->ctx, min, extent)))
            ranges = NULL;
    }
    if (!ranges) {
        fail(t);
        return NULL;
    }
    r->buffer = &b->node;
    r->region = ranges;
    r->num_region = mins.count;
    return r;
}

void rlx_tir_region(rlx_tir *t, bool written, const rlx_buffer *b, rlx_prim_list mins,
                    rlx_prim_list extents)
{
    rlx_tir_frame *f = expect(t, FRAME_BLOCK);
    if (!f)
        return;
    f->stated[written] = true;
    const rlx_buffer_region *r = b ? new_region(t, b, mins, extents) : NULL;
    if (r && !rlx_vec_push(memory_of(t), &f->regions[written], (void *)r))
        fail(t);
}

/* May a buffer leave this many leading dimensions of the region out? */
static bool can_drop(rlx_tir *t, rlx_prim_list extents, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!rlx_is_int_value(extents.items[i], 1))
            return misuse(t, RLX_OP03, "dimensions left out of a region are one element wide");
    return true;
}

const rlx_buffer *rlx_tir_match(rlx_tir *t, const char *name, const rlx_buffer *source,
                                rlx_prim_list mins, rlx_prim_list extents, size_t ndim)
{
    rlx_tir_frame *f = expect(t, FRAME_BLOCK);
    const rlx_buffer_region *region =
        f && source ? new_region(t, source, mins, extents) : NULL;
    if (!region)
        return NULL;
    if (ndim > extents.count) {
        misuse(t, RLX_OP03, "a buffer has no more dimensions than the region it is over");
        return NULL;
    }
    size_t lead = extents.count - ndim;
    rlx_prim_list shape = RLX_TIR_ITEMS(extents.items + lead, ndim);
    const rlx_buffer *b =
        can_drop(t, extents, lead) ? new_buffer(t, name, source->dtype, shape) : NULL;
    rlx_match_buffer_region *m = b ? rlx_node_new(t->ctx, RLX_NODE_MATCH_BUFFER_REGION) : NULL;
    if (!m || !rlx_vec_push(memory_of(t), &f->matches, (void *)m)) {
        if (!t->incomplete)
            fail(t);
        return NULL;
    }
    m->source = &region->node;
    m->buffer = &b->node;
    return b;
}

static const rlx_stmt *make_store(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices,
                                  const rlx_prim *value)
{
    if (!b || !keep(t, value) || !good_list(t, indices)) {
        fail(t);
        return NULL;
    }
    if (indices.count != b->num_shape) {
        misuse(t, RLX_OP03, "as many indices as dimensions are needed in a store");
        return NULL;
    }
    value = rlx_tir_cast(t, b->dtype, value);
    return value ? rlx_store(t->ctx, b, value, indices.items, indices.count, t->place) : NULL;
}

void rlx_tir_init(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices, const rlx_prim *value)
{
    rlx_tir_frame *f = expect(t, FRAME_BLOCK);
    const rlx_stmt *s = f ? make_store(t, b, indices, value) : NULL;
    if (!s)
        fail(t);
    else
        add_item(t, &f->first, (item){ .kind = ITEM_STMT, .stmt = s });
}

static const rlx_node *const *copied(rlx_tir *t, const rlx_ptrs *list, size_t *count, bool *ok)
{
    bool here = false;
    *count = list->len;
    const rlx_node *const *copy =
        rlx_nodes_copy(t->ctx, (const rlx_node *const *)list->data, list->len, &here);
    *ok &= here;
    return copy;
}

static const rlx_tir_block *make_block(rlx_tir *t, const rlx_tir_frame *f)
{
    rlx_tir_block *b = rlx_node_new(t->ctx, RLX_NODE_TIR_BLOCK);
    const rlx_node **iters = rlx_new(t->ctx, (f->axes.len + 1) * sizeof *iters);
    bool ok = b && iters;
    if (!ok)
        return NULL;
    for (size_t i = 0; i < f->axes.len; i++)
        iters[i] = &f->axes.data[i].iter->node;
    b->place = t->place;
    b->iter_vars = iters;
    b->num_iter_vars = f->axes.len;
    b->name = f->name;
    b->alloc_buffers = copied(t, &f->allocs, &b->num_alloc_buffers, &ok);
    b->match_buffers = copied(t, &f->matches, &b->num_match_buffers, &ok);
    b->reads = copied(t, &f->regions[0], &b->num_reads, &ok);
    b->writes = copied(t, &f->regions[1], &b->num_writes, &ok);
    b->annotations = f->attrs;
    b->init = f->first.len ? finish(t, &f->first) : NULL;
    b->body = finish(t, &f->body);
    if (!ok || !b->body || (!b->init && f->first.len))
        return NULL;
    return rlx_tir_complete_block(t->ctx, b, !f->stated[0], !f->stated[1]);
}

static const rlx_stmt *make_realize(rlx_tir *t, const rlx_tir_frame *f)
{
    const rlx_tir_block *b = make_block(t, f);
    rlx_block_realize *r = b ? rlx_node_new(t->ctx, RLX_NODE_BLOCK_REALIZE) : NULL;
    const rlx_node **values = r ? rlx_new(t->ctx, (f->axes.len + 1) * sizeof *values) : NULL;
    if (!values)
        return NULL;
    for (size_t i = 0; i < f->axes.len; i++)
        values[i] = f->axes.data[i].value;
    r->place = t->place;
    r->iter_values = values;
    r->num_iter_values = f->axes.len;
    r->predicate = f->cond ? f->cond : rlx_int(t->ctx, RELAX_BOOL, 1);
    r->block = &b->node;
    return r->predicate ? &r->node : NULL;
}

void rlx_tir_end_block(rlx_tir *t)
{
    rlx_tir_frame *f = expect(t, FRAME_BLOCK);
    const rlx_stmt *s = f ? make_realize(t, f) : NULL;
    for (size_t i = s ? f->axes.len : 0; s && i > 0; i--) {
        const axis *a = &f->axes.data[i - 1];
        if (a->loop)
            s = rlx_for(t->ctx, a->loop, rlx_int(t->ctx, a->loop->dtype, 0), a->extent,
                        RLX_FOR_SERIAL, s, t->place);
    }
    if (!s)
        fail(t);
    if (t->incomplete)
        return;
    pop(t);
    emit(t, s);
}

/* ---- plain statements ----------------------------------------------------------------------- */

const rlx_prim *rlx_tir_for(rlx_tir *t, const char *name, const rlx_prim *min,
                            const rlx_prim *extent, int kind)
{
    if (!keep(t, extent))
        return NULL;
    if (!min)
        min = rlx_int(t->ctx, rlx_prim_dtype(extent), 0);
    rlx_tir_frame *f = good_range(t, &min, &extent) ? push(t, FRAME_FOR) : NULL;
    if (!f)
        return NULL;
    f->var = new_var(t, "", name, rlx_prim_dtype(extent));
    f->min = min;
    f->extent = extent;
    f->for_kind = kind;
    return f->var ? &f->var->node : keep(t, NULL);
}

const rlx_prim *rlx_tir_thread(rlx_tir *t, const char *tag, const char *name,
                               const rlx_prim *extent)
{
    const rlx_prim *var = rlx_tir_for(t, name, NULL, extent, RLX_FOR_THREAD_BINDING);
    if (var && !(t->top->thread = rlx_string_z(t->ctx, tag)))
        fail(t);
    return keep(t, var);
}

/* The iteration variable of a thread axis; its own name is empty. */
static const rlx_node *thread_of(rlx_tir *t, const rlx_tir_frame *f)
{
    rlx_iter_var *iter = rlx_node_new(t->ctx, RLX_NODE_ITER_VAR);
    const rlx_prim_var *v = iter ? new_var(t, "", "", f->var->dtype) : NULL;
    if (!v)
        return NULL;
    iter->var = &v->node;
    iter->iter_type = RLX_ITER_THREAD;
    iter->thread_tag = f->thread;
    return &iter->node;
}

static const rlx_stmt *make_for(rlx_tir *t, const rlx_tir_frame *f, const rlx_stmt *body)
{
    const rlx_node *thread = f->thread ? thread_of(t, f) : NULL;
    const rlx_stmt *s = thread || !f->thread ? rlx_for(t->ctx, f->var, f->min, f->extent,
                                                       f->for_kind, body, t->place)
                                             : NULL;
    rlx_for_stmt *loop = (rlx_for_stmt *)(uintptr_t)s; /* made just now */
    if (loop) {
        loop->thread_binding = thread;
        loop->annotations = f->attrs;
    }
    return s;
}

/* Closes the innermost construct: its body, or NULL after a failure. The frame stays. */
static const rlx_stmt *body_of(rlx_tir *t, enum frame_kind kind, rlx_tir_frame **f)
{
    *f = expect(t, kind);
    return *f ? finish(t, &(*f)->body) : NULL;
}

void rlx_tir_end_for(rlx_tir *t)
{
    rlx_tir_frame *f;
    const rlx_stmt *s = body_of(t, FRAME_FOR, &f);
    if (s)
        s = make_for(t, f, s);
    if (s)
        pop(t);
    emit(t, s);
}

static void push_cond(rlx_tir *t, enum frame_kind kind, const rlx_prim *cond)
{
    rlx_tir_frame *f = keep(t, cond) ? push(t, kind) : NULL;
    if (f)
        f->cond = cond;
}

void rlx_tir_while(rlx_tir *t, const rlx_prim *cond)
{
    push_cond(t, FRAME_WHILE, cond);
}

void rlx_tir_end_while(rlx_tir *t)
{
    rlx_tir_frame *f;
    const rlx_stmt *body = body_of(t, FRAME_WHILE, &f);
    rlx_while_stmt *w = body ? rlx_node_new(t->ctx, RLX_NODE_WHILE) : NULL;
    if (w) {
        w->place = t->place;
        w->cond = f->cond;
        w->body = body;
        pop(t);
    }
    emit(t, w ? &w->node : NULL);
}

void rlx_tir_if(rlx_tir *t, const rlx_prim *cond)
{
    push_cond(t, FRAME_IF, cond);
}

void rlx_tir_else(rlx_tir *t)
{
    rlx_tir_frame *f = expect(t, FRAME_IF);
    if (!f)
        return;
    f->kind = FRAME_ELSE;
    f->first = f->body;
    f->body = (items){ 0 };
}

void rlx_tir_end_if(rlx_tir *t)
{
    bool has_else = !t->incomplete && t->top && t->top->kind == FRAME_ELSE;
    rlx_tir_frame *f;
    const rlx_stmt *body = body_of(t, has_else ? FRAME_ELSE : FRAME_IF, &f);
    const rlx_stmt *then_case = body && has_else ? finish(t, &f->first) : body;
    rlx_if_stmt *s = then_case ? rlx_node_new(t->ctx, RLX_NODE_IF_THEN_ELSE) : NULL;
    if (s) {
        s->place = t->place;
        s->cond = f->cond;
        s->then_case = then_case;
        s->else_case = has_else ? body : NULL;
        pop(t);
    }
    emit(t, s ? &s->node : NULL);
}

const rlx_prim *rlx_tir_let(rlx_tir *t, const char *name, const rlx_prim *value)
{
    if (!keep(t, value))
        return NULL;
    const rlx_prim_var *v = new_var(t, "", name, rlx_prim_dtype(value));
    if (!v)
        fail(t);
    else
        add_item(t, &t->top->body, (item){ .kind = ITEM_LET, .var = v, .value = value });
    return keep(t, v ? &v->node : NULL);
}

void rlx_tir_store(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices, const rlx_prim *value)
{
    if (!t->incomplete)
        emit(t, make_store(t, b, indices, value));
}

void rlx_tir_evaluate(rlx_tir *t, const rlx_prim *value)
{
    /* as text is read: nothing among other statements; what stays empty holds one */
    if (value && rlx_is_int_value(value, 0))
        return;
    rlx_evaluate *e = keep(t, value) ? rlx_node_new(t->ctx, RLX_NODE_EVALUATE) : NULL;
    if (e) {
        e->place = t->place;
        e->value = value;
    }
    emit(t, e ? &e->node : NULL);
}

static const rlx_prim *string_node(rlx_context *ctx, const char *text)
{
    rlx_tir_string key = { .node.kind = RLX_NODE_TIR_STRING, .value = rlx_string_z(ctx, text) };
    return key.value ? rlx_node_intern(ctx, &key.node) : NULL;
}

void rlx_tir_assert(rlx_tir *t, const rlx_prim *cond, enum rlx_assertion assertion,
                    const char *message)
{
    if (!keep(t, cond))
        return;
    const rlx_prim *text = keep(t, string_node(t->ctx, message));
    if (text)
        add_item(t, &t->top->body,
                 (item){ .kind = ITEM_ASSERT,
                         .value = cond,
                         .message = text,
                         .assertion = assertion });
}

void rlx_tir_assert_text(rlx_tir *t, const rlx_prim *cond, const char *text)
{
    rlx_slice message = rlx_slice_z(text);
    enum rlx_assertion assertion = rlx_assertion_take(&message);
    rlx_tir_assert(t, cond, assertion, message.data); /* the end of `text` */
}

/* ---- expressions ---------------------------------------------------------------------------- */

const rlx_prim *rlx_tir_int(rlx_tir *t, int64_t value)
{
    return t->incomplete ? NULL : keep(t, rlx_int64(t->ctx, value));
}

const rlx_prim *rlx_tir_float(rlx_tir *t, rlx_dtype dtype, double value)
{
    return t->incomplete ? NULL : keep(t, rlx_float(t->ctx, dtype, value));
}

const rlx_prim *rlx_tir_number(rlx_tir *t, rlx_dtype dtype, double value)
{
    if (t->incomplete)
        return NULL;
    if (rlx_dtype_is_float(dtype))
        return rlx_tir_float(t, dtype, value);
    rlx_scalar v = rlx_scalar_convert(dtype, RELAX_FLOAT64, (rlx_scalar){ .f = value });
    return keep(t, rlx_int(t->ctx, dtype, v.i));
}

const rlx_prim *rlx_tir_lowest(rlx_tir *t, rlx_dtype dtype)
{
    if (t->incomplete)
        return NULL;
    if (rlx_dtype_is_float(dtype))
        return rlx_tir_float(t, dtype, -rlx_dtype_greatest(dtype));
    bool is_signed = rlx_dtype_code(dtype) == RELAX_DTYPE_INT;
    return keep(t,
                rlx_int(t->ctx, dtype, is_signed ? INT64_MIN >> (64 - rlx_dtype_bits(dtype)) : 0));
}

const rlx_prim *rlx_tir_highest(rlx_tir *t, rlx_dtype dtype)
{
    if (t->incomplete)
        return NULL;
    if (rlx_dtype_is_float(dtype))
        return rlx_tir_float(t, dtype, rlx_dtype_greatest(dtype));
    int bits = rlx_dtype_bits(dtype) - (rlx_dtype_code(dtype) == RELAX_DTYPE_INT);
    return keep(t, rlx_int(t->ctx, dtype, (int64_t)(UINT64_MAX >> (64 - bits))));
}

const rlx_prim *rlx_tir_infinity(rlx_tir *t, rlx_dtype dtype, bool negative)
{
    double v = rlx_dtype_round(dtype, (double)INFINITY);
    v = v == v ? v : rlx_dtype_greatest(dtype);
    return rlx_tir_float(t, dtype, negative ? -v : v);
}

const rlx_prim *rlx_tir_load(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices)
{
    if (!b || !good_list(t, indices))
        return keep(t, NULL);
    if (indices.count != b->num_shape) {
        misuse(t, RLX_OP03, "as many indices as dimensions are needed in a load");
        return NULL;
    }
    return keep(t, rlx_load(t->ctx, b, indices.items, indices.count));
}

const rlx_prim *rlx_tir_binary(rlx_tir *t, enum rlx_node_kind kind, const rlx_prim *a,
                               const rlx_prim *b)
{
    return keep(t, a) && keep(t, b) ? keep(t, rlx_fold_binary(t->ctx, kind, a, b)) : NULL;
}

const rlx_prim *rlx_tir_not(rlx_tir *t, const rlx_prim *a)
{
    return keep(t, a) ? keep(t, rlx_not(t->ctx, a)) : NULL;
}

const rlx_prim *rlx_tir_cast(rlx_tir *t, rlx_dtype dtype, const rlx_prim *a)
{
    return keep(t, a) ? keep(t, rlx_fold_cast(t->ctx, dtype, a)) : NULL;
}

const rlx_prim *rlx_tir_select(rlx_tir *t, const rlx_prim *cond, const rlx_prim *a,
                               const rlx_prim *b)
{
    if (!keep(t, cond) || !keep(t, a) || !keep(t, b) || !rlx_match_types(t->ctx, &a, &b))
        return keep(t, NULL);
    return keep(t, rlx_select_new(t->ctx, cond, a, b));
}

const rlx_prim *rlx_tir_if_then_else(rlx_tir *t, const rlx_prim *cond, const rlx_prim *a,
                                     const rlx_prim *b)
{
    if (!keep(t, cond) || !keep(t, a) || !keep(t, b) || !rlx_match_types(t->ctx, &a, &b))
        return keep(t, NULL);
    return keep(t, rlx_fold_select(t->ctx, cond, a, b));
}

static const rlx_prim *call(rlx_tir *t, const char *op, const rlx_prim *const *args, size_t count)
{
    enum rlx_tir_intrinsic id = rlx_tir_find_intrinsic(rlx_slice_z(op));
    if (id == RLX_TIR_NO_INTRINSIC || rlx_tir_intrinsics[id].num_args != count) {
        misuse(t, RLX_OP06, "no such intrinsic");
        return NULL;
    }
    uint8_t r = rlx_tir_intrinsics[id].result;
    rlx_dtype dtype = r == RLX_TIR_BOOL  ? RELAX_BOOL
                      : r == RLX_TIR_I32 ? RELAX_INT32
                                         : rlx_prim_dtype(args[0]);
    return keep(t, rlx_prim_call_z(t->ctx, dtype, op, args, count));
}

const rlx_prim *rlx_tir_call1(rlx_tir *t, const char *op, const rlx_prim *a)
{
    return keep(t, a) ? call(t, op, &a, 1) : NULL;
}

const rlx_prim *rlx_tir_call2(rlx_tir *t, const char *op, const rlx_prim *a, const rlx_prim *b)
{
    return keep(t, a) && keep(t, b) ? call(t, op, (const rlx_prim *const[]){ a, b }, 2) : NULL;
}

const rlx_prim *rlx_tir_multiply_add(rlx_tir *t, const rlx_prim *sum, const rlx_prim *a,
                                     const rlx_prim *b)
{
    if (!keep(t, sum) || !keep(t, a) || !keep(t, b))
        return NULL;
    rlx_dtype dtype = rlx_prim_dtype(sum);
    if (rlx_dtype_is_bool(dtype))
        return rlx_tir_or(t, sum, rlx_tir_and(t, a, b));
    if (t->separate || (dtype != RELAX_FLOAT32 && dtype != RELAX_FLOAT64))
        return rlx_tir_add(t, sum, rlx_tir_mul(t, a, b));
    return call(t, "fma", (const rlx_prim *const[]){ a, b, sum }, 3);
}

const rlx_prim *rlx_tir_call_extern(rlx_tir *t, rlx_dtype dtype, const char *symbol,
                                    rlx_prim_list args)
{
    const rlx_prim **all = t->incomplete ? NULL : rlx_new(t->ctx, (args.count + 1) * sizeof *all);
    if (!all)
        return keep(t, NULL);
    all[0] = string_node(t->ctx, symbol);
    for (size_t i = 0; i < args.count; i++)
        all[i + 1] = args.items[i];
    return keep(t, all[0] ? rlx_prim_call_z(t->ctx, dtype, "call_extern", all, args.count + 1)
                          : NULL);
}

const rlx_prim *rlx_tir_flatten(rlx_tir *t, rlx_prim_list indices, rlx_prim_list shape)
{
    const rlx_prim *p = rlx_tir_int(t, 0);
    for (size_t i = 0; i < indices.count; i++)
        p = rlx_tir_add(t, rlx_tir_mul(t, p, shape.items[i]), indices.items[i]);
    return p;
}

void rlx_tir_unflatten(rlx_tir *t, const rlx_prim *position, rlx_prim_list shape,
                       const rlx_prim **out)
{
    for (size_t i = shape.count; i-- > 0;) {
        out[i] = i ? rlx_tir_floor_mod(t, position, shape.items[i]) : position;
        position = i ? rlx_tir_floor_div(t, position, shape.items[i]) : position;
    }
}
