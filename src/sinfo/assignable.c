/* assignable.c: fit and overlap: language sections 5.4 and 5.5. */
#include "sinfo/sinfo_int.h"

typedef struct fitter {
    rlx_context *ctx;
    const rlx_scope *scope;
    rlx_budget budget;
    rlx_mismatch *why;
    enum rlx_assignability worst; /* so far */
    uint8_t path_len;
    int32_t path[6];
} fitter;

/* Takes an answer of a part: the first of the worst ones is the reason. */
static void judge(fitter *f, enum rlx_assignability answer, enum rlx_mismatch_part part,
                  int32_t index, const rlx_node *want, const rlx_node *have)
{
    if (answer >= f->worst)
        return;
    f->worst = answer;
    if (!f->why)
        return;
    *f->why = (rlx_mismatch){
        .part = (uint8_t)part, .depth = f->path_len, .index = index, .want = want, .have = have
    };
    for (int i = 0; i < 6; i++)
        f->why->path[i] = i < f->path_len ? f->path[i] : -1;
}

static enum rlx_assignability fit_of(enum rlx_answer a)
{
    return a == RLX_EQUAL       ? RLX_ASSIGNABLE_YES
           : a == RLX_DIFFERENT ? RLX_ASSIGNABLE_NO
                                : RLX_ASSIGNABLE_VALUE;
}

/* Lists of equal length. */
static enum rlx_answer prove_dims(rlx_context *ctx, const rlx_scope *s, const rlx_prim *const *a,
                                  const rlx_prim *const *b, size_t count, int32_t *index)
{
    enum rlx_answer all = RLX_EQUAL;
    *index = -1;
    for (size_t i = 0; i < count && all != RLX_DIFFERENT; i++) {
        enum rlx_answer one = rlx_prove_equal(ctx, s, a[i], b[i]);
        if (one == RLX_EQUAL || one == all)
            continue;
        all = one;
        *index = (int32_t)i;
    }
    return all;
}

enum rlx_answer rlx_prove_shapes(rlx_context *ctx, const rlx_scope *s, const rlx_expr *a,
                                 const rlx_expr *b, int32_t *index)
{
    size_t na = 0, nb = 0;
    *index = -1;
    if (a == b)
        return RLX_EQUAL;
    const rlx_prim *const *da = rlx_shape_dims(a, &na), *const *db = rlx_shape_dims(b, &nb);
    if (!da || !db)
        return RLX_UNKNOWN;
    return na == nb ? prove_dims(ctx, s, da, db, na, index) : RLX_DIFFERENT;
}

enum rlx_answer rlx_prove_same_shape(rlx_context *ctx, const rlx_scope *s, const rlx_expr *a,
                                     const rlx_expr *b)
{
    int32_t index;
    return rlx_prove_shapes(ctx, s, a, b, &index);
}

/* --- the kinds --- */

static void fit_prims(fitter *f, const rlx_prim_sinfo *a, const rlx_prim_sinfo *b)
{
    if (a->dtype != b->dtype)
        judge(f, RLX_ASSIGNABLE_NO, RLX_MISMATCH_DTYPE, -1, &b->node, &a->node);
    else if (b->value && !a->value)
        judge(f, RLX_ASSIGNABLE_VALUE, RLX_MISMATCH_VALUE, -1, b->value, NULL);
    else if (b->value)
        judge(f, fit_of(rlx_prove_equal(f->ctx, f->scope, a->value, b->value)), RLX_MISMATCH_VALUE,
              -1, b->value, a->value);
}

static bool fit_ranks(fitter *f, const rlx_sinfo *a, int rank_a, const rlx_sinfo *b, int rank_b)
{
    if (rank_b >= 0 && rank_a != rank_b)
        judge(f, rank_a < 0 ? RLX_ASSIGNABLE_KIND : RLX_ASSIGNABLE_NO, RLX_MISMATCH_RANK, -1, b, a);
    return rank_a >= 0 && rank_a == rank_b;
}

static void fit_shapes(fitter *f, const rlx_shape_sinfo *a, const rlx_shape_sinfo *b)
{
    int32_t index;
    if (!fit_ranks(f, &a->node, a->ndim, &b->node, b->ndim) || !b->has_values)
        return;
    if (!a->has_values) {
        judge(f, RLX_ASSIGNABLE_VALUE, RLX_MISMATCH_SHAPE, -1, &b->node, &a->node);
        return;
    }
    enum rlx_answer answer =
        prove_dims(f->ctx, f->scope, a->values, b->values, a->num_values, &index);
    if (answer != RLX_EQUAL)
        judge(f, fit_of(answer), RLX_MISMATCH_DIMENSION, index, b->values[index], a->values[index]);
}

/* Devices: the null target means any. */
static enum rlx_assignability fit_devices(const rlx_node *a, const rlx_node *b)
{
    const rlx_vdevice *va = rlx_as_vdevice(a), *vb = rlx_as_vdevice(b);
    if (a != b && (rlx_as_sharding(a) || rlx_as_sharding(b)))
        return RLX_ASSIGNABLE_NO; /* distributed tensors are values of their own kind */
    if (!vb || a == b)
        return RLX_ASSIGNABLE_YES;
    if (!va)
        return RLX_ASSIGNABLE_KIND;
    if (va->id != vb->id || va->scope != vb->scope || (va->target && vb->target))
        return RLX_ASSIGNABLE_NO;
    return vb->target ? RLX_ASSIGNABLE_KIND : RLX_ASSIGNABLE_YES;
}

static enum rlx_mismatch_part device_part(const rlx_tensor_sinfo *a, const rlx_tensor_sinfo *b)
{
    return rlx_as_sharding(a->vdevice) || rlx_as_sharding(b->vdevice) ? RLX_MISMATCH_SHARDING
                                                                      : RLX_MISMATCH_DEVICE;
}

static void fit_tensors(fitter *f, const rlx_tensor_sinfo *a, const rlx_tensor_sinfo *b)
{
    int32_t index;
    if (!rlx_dtype_is_void(b->dtype) && a->dtype != b->dtype)
        judge(f, rlx_dtype_is_void(a->dtype) ? RLX_ASSIGNABLE_KIND : RLX_ASSIGNABLE_NO,
              RLX_MISMATCH_DTYPE, -1, &b->node, &a->node);
    bool same_rank = fit_ranks(f, &a->node, a->ndim, &b->node, b->ndim);
    judge(f, fit_devices(a->vdevice, b->vdevice), device_part(a, b), -1, &b->node, &a->node);
    if (!same_rank || !b->shape || a->shape == b->shape)
        return;
    enum rlx_answer answer =
        a->shape ? rlx_prove_shapes(f->ctx, f->scope, a->shape, b->shape, &index) : RLX_UNKNOWN;
    size_t n;
    if (answer == RLX_EQUAL)
        return;
    if (!a->shape || index < 0)
        judge(f, fit_of(answer), RLX_MISMATCH_SHAPE, -1, &b->node, &a->node);
    else
        judge(f, fit_of(answer), RLX_MISMATCH_DIMENSION, index, rlx_shape_dims(b->shape, &n)[index],
              rlx_shape_dims(a->shape, &n)[index]);
}

static void fit_any(fitter *f, const rlx_sinfo *a, const rlx_sinfo *b);

static void fit_tuples(fitter *f, const rlx_tuple_sinfo *a, const rlx_tuple_sinfo *b)
{
    if (a->num_fields != b->num_fields) {
        judge(f, RLX_ASSIGNABLE_NO, RLX_MISMATCH_LENGTH, -1, &b->node, &a->node);
        return;
    }
    uint8_t at = f->path_len;
    for (size_t i = 0; i < a->num_fields && f->worst != RLX_ASSIGNABLE_NO; i++) {
        if (at < 6) {
            f->path[at] = (int32_t)i;
            f->path_len = (uint8_t)(at + 1);
        }
        fit_any(f, a->fields[i], b->fields[i]);
        f->path_len = at;
    }
}

/* An answer about a parameter or the result: named as a whole. */
static enum rlx_assignability part_fit(fitter *f, const rlx_sinfo *a, const rlx_sinfo *b)
{
    fitter inner = {
        .ctx = f->ctx, .scope = f->scope, .budget = f->budget, .worst = RLX_ASSIGNABLE_YES
    };
    if (!a || !b)
        return RLX_ASSIGNABLE_VALUE; /* out of memory: latched */
    fit_any(&inner, a, b);
    f->budget.parts = inner.budget.parts;
    return inner.worst;
}

/* Parameters against the arrow, results with it, after A's placeholders have taken B's sizes. */
static void fit_params(fitter *f, const rlx_func_sinfo *a, const rlx_func_sinfo *b)
{
    rlx_mapping m;
    rlx_mapping_init(&m, f->ctx, f->scope, a->binders, a->num_binders);
    for (size_t i = 0; i < a->num_params; i++)
        rlx_mapping_add(&m, a->params[i], b->params[i], (int32_t)i);
    for (size_t i = 0; i < a->num_params; i++) {
        enum rlx_assignability one = part_fit(f, b->params[i], rlx_mapping_apply(&m, a->params[i]));
        judge(f, one == RLX_ASSIGNABLE_KIND ? RLX_ASSIGNABLE_VALUE : one, RLX_MISMATCH_PARAM,
              (int32_t)i, b->params[i], a->params[i]);
    }
    judge(f, part_fit(f, rlx_mapping_apply(&m, a->ret), b->ret), RLX_MISMATCH_RESULT, -1, b->ret,
          a->ret);
    rlx_mapping_free(&m);
}

static bool is_open(const rlx_func_sinfo *f)
{
    return f->derive == RLX_DERIVE_EMPTY || f->derive == RLX_DERIVE_CONST;
}

static bool same_derive(const rlx_func_sinfo *a, const rlx_func_sinfo *b)
{
    return a->derive == b->derive && a->derive_name == b->derive_name;
}

static void fit_functions(fitter *f, const rlx_func_sinfo *a, const rlx_func_sinfo *b)
{
    bool lost = false;
    if (!is_open(b) && b->derive && !a->derive) {
        judge(f, RLX_ASSIGNABLE_NO, RLX_MISMATCH_KIND, -1, &b->node, &a->node);
        return;
    }
    if (!a->derive && !b->derive && a->num_params != b->num_params) {
        judge(f, RLX_ASSIGNABLE_NO, RLX_MISMATCH_ARITY, -1, &b->node, &a->node);
        return;
    }
    if (b->is_pure && !a->is_pure)
        judge(f, RLX_ASSIGNABLE_NO, RLX_MISMATCH_PURITY, -1, &b->node, &a->node);
    if (is_open(b)) {
        const rlx_sinfo *top = rlx_object_info(f->ctx);
        judge(f,
              part_fit(f, a->derive == RLX_DERIVE_EMPTY ? top : a->ret,
                       b->derive == RLX_DERIVE_EMPTY ? top : b->ret),
              RLX_MISMATCH_RESULT, -1, b->ret, a->ret);
    } else if (a->derive) {
        judge(f, same_derive(a, b) ? RLX_ASSIGNABLE_YES : RLX_ASSIGNABLE_VALUE, RLX_MISMATCH_KIND,
              -1, &b->node, &a->node);
    } else if (f->worst != RLX_ASSIGNABLE_NO &&
               !(a->is_pure == b->is_pure &&
                 rlx_equal(&f->ctx->memory, &a->node, &b->node, false, &lost))) {
        fit_params(f, a, b);
    }
}

static void fit_same_kind(fitter *f, const rlx_sinfo *a, const rlx_sinfo *b)
{
    switch (a->kind) {
    case RLX_NODE_PRIM_SINFO: fit_prims(f, rlx_as_prim_sinfo(a), rlx_as_prim_sinfo(b)); break;
    case RLX_NODE_SHAPE_SINFO: fit_shapes(f, rlx_as_shape_sinfo(a), rlx_as_shape_sinfo(b)); break;
    case RLX_NODE_TENSOR_SINFO:
        fit_tensors(f, rlx_as_tensor_sinfo(a), rlx_as_tensor_sinfo(b));
        break;
    case RLX_NODE_TUPLE_SINFO: fit_tuples(f, rlx_as_tuple_sinfo(a), rlx_as_tuple_sinfo(b)); break;
    case RLX_NODE_EXTENSION_SINFO:
        judge(f, rlx_extension_assignable(f->ctx, f->scope, a, b), RLX_MISMATCH_KIND, -1, b, a);
        break;
    default: fit_functions(f, rlx_as_func_sinfo(a), rlx_as_func_sinfo(b)); break;
    }
}

static void fit_any(fitter *f, const rlx_sinfo *a, const rlx_sinfo *b)
{
    if (a == b || b->kind == RLX_NODE_OBJECT_SINFO || a == f->ctx->underived)
        return;
    if (a->kind != b->kind) {
        judge(f, a->kind == RLX_NODE_OBJECT_SINFO ? RLX_ASSIGNABLE_KIND : RLX_ASSIGNABLE_NO,
              RLX_MISMATCH_KIND, -1, b, a);
        return;
    }
    if (!rlx_budget_enter(&f->budget)) {
        judge(f, RLX_ASSIGNABLE_VALUE, RLX_MISMATCH_KIND, -1, b, a);
        return;
    }
    fit_same_kind(f, a, b);
    rlx_budget_leave(&f->budget);
}

enum rlx_assignability rlx_assignable(rlx_context *ctx, const rlx_scope *s, const rlx_sinfo *a,
                                      const rlx_sinfo *b, rlx_mismatch *why)
{
    if (why)
        *why = (rlx_mismatch){ .index = -1 };
    if (RLX_LIKELY(a == b))
        return RLX_ASSIGNABLE_YES;
    if (!a || !b)
        return RLX_ASSIGNABLE_NO;
    fitter f = {
        .ctx = ctx, .scope = s, .budget = RLX_FRESH_BUDGET, .why = why, .worst = RLX_ASSIGNABLE_YES
    };
    fit_any(&f, a, b);
    return f.worst;
}

/* --- the reason as text --- */

static void put_node(rlx_buf *out, const rlx_node *n)
{
    if (!n)
        rlx_buf_lit(out, "unknown");
    else if (rlx_family_of(n) == RLX_FAMILY_SINFO)
        rlx_text_sinfo(out, n);
    else
        rlx_text_prim(out, n);
}

static void put_dtype(rlx_buf *out, const rlx_sinfo *s)
{
    char name[RLX_DTYPE_TEXT];
    rlx_dtype t = s->kind == RLX_NODE_TENSOR_SINFO ? rlx_as_tensor_sinfo(s)->dtype
                                                   : rlx_as_prim_sinfo(s)->dtype;
    if (rlx_dtype_is_void(t)) {
        rlx_buf_lit(out, "unknown");
        return;
    }
    rlx_dtype_name(t, name);
    rlx_buf_z(out, name);
}

static void put_number(rlx_buf *out, int64_t n)
{
    if (n < 0)
        rlx_buf_lit(out, "unknown");
    else
        rlx_buf_i64(out, n);
}

/* The sizes of a Tensor or Shape: "(n, 4)", "s" for a variable, or that they are not known. */
static void put_shape(rlx_buf *out, const rlx_node *n)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(n);
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(n);
    const rlx_shape_expr *e = t ? rlx_as_shape_expr(t->shape) : NULL;
    if (t && t->shape && !e) {
        rlx_text_expr(out, t->shape);
        return;
    }
    if (!e && !(s && s->has_values)) {
        rlx_buf_lit(out, "not known");
        return;
    }
    size_t count = e ? e->num_values : s->num_values;
    rlx_buf_char(out, '(');
    for (size_t i = 0; i < count; i++) {
        if (i)
            rlx_buf_lit(out, ", ");
        rlx_text_prim(out, e ? e->values[i] : s->values[i]);
    }
    rlx_buf_z(out, count == 1 ? ",)" : ")");
}

static void put_rank(rlx_buf *out, const rlx_sinfo *s)
{
    put_number(out, s->kind == RLX_NODE_TENSOR_SINFO ? rlx_as_tensor_sinfo(s)->ndim
                                                     : rlx_as_shape_sinfo(s)->ndim);
}

static void put_length(rlx_buf *out, const rlx_sinfo *s)
{
    rlx_buf_u64(out, rlx_as_tuple_sinfo(s)->num_fields);
}

static void put_arity(rlx_buf *out, const rlx_sinfo *s)
{
    rlx_buf_u64(out, rlx_as_func_sinfo(s)->num_params);
}

static void put_device(rlx_buf *out, const rlx_sinfo *s)
{
    const rlx_vdevice *v = rlx_as_vdevice(rlx_as_tensor_sinfo(s)->vdevice);
    rlx_slice kind = rlx_vdevice_kind(v);
    if (!v) {
        rlx_buf_lit(out, "unknown");
        return;
    }
    rlx_buf_put(out, kind.data, kind.len);
    rlx_buf_char(out, ':');
    rlx_buf_i64(out, v->id);
}

static void put_sharding(rlx_buf *out, const rlx_sinfo *s)
{
    const rlx_sharding *lies = rlx_as_sharding(rlx_as_tensor_sinfo(s)->vdevice);
    if (!lies) {
        rlx_buf_lit(out, "none (a tensor in one place)");
        return;
    }
    rlx_buf_lit(out, "\"");
    rlx_put_placement(out, lies);
    rlx_buf_lit(out, "\" on the mesh ");
    rlx_put_mesh(out, rlx_as_device_mesh(lies->mesh));
}

void rlx_assignable_explain(rlx_buf *out, const rlx_mismatch *why)
{
    static const struct {
        const char *name;
        void (*put)(rlx_buf *out, const rlx_node *n);
    } parts[] = {
        [RLX_MISMATCH_NONE] = { "it", put_node },
        [RLX_MISMATCH_KIND] = { "it", put_node },
        [RLX_MISMATCH_DTYPE] = { "dtype", put_dtype },
        [RLX_MISMATCH_RANK] = { "rank", put_rank },
        [RLX_MISMATCH_DIMENSION] = { "dimension", put_node },
        [RLX_MISMATCH_DEVICE] = { "device", put_device },
        [RLX_MISMATCH_SHARDING] = { "sharding", put_sharding },
        [RLX_MISMATCH_SHAPE] = { "shape", put_shape },
        [RLX_MISMATCH_VALUE] = { "value", put_node },
        [RLX_MISMATCH_LENGTH] = { "number of fields", put_length },
        [RLX_MISMATCH_ARITY] = { "number of parameters", put_arity },
        [RLX_MISMATCH_PARAM] = { "parameter", put_node },
        [RLX_MISMATCH_RESULT] = { "result", put_node },
    };
    for (int i = 0; i < why->depth && i < 6; i++)
        rlx_buf_format(out, "field %d: ", (int)why->path[i]);
    if (why->part == RLX_MISMATCH_PURITY) {
        rlx_buf_lit(out, "an impure function is given where a pure one is expected");
        return;
    }
    rlx_buf_z(out, parts[why->part].name);
    if (why->index >= 0)
        rlx_buf_format(out, " %d", (int)why->index);
    rlx_buf_lit(out, " is ");
    parts[why->part].put(out, why->have);
    rlx_buf_lit(out, ", expected ");
    parts[why->part].put(out, why->want);
}

/* --- overlap: fit with everything forgiven that a run-time check could still find true --- */

static bool clash(rlx_mismatch *why, enum rlx_mismatch_part part, int32_t index,
                  const rlx_node *want, const rlx_node *have)
{
    if (why)
        *why = (rlx_mismatch){ .part = (uint8_t)part, .index = index, .want = want, .have = have };
    return false;
}

static bool overlap_tensors(rlx_context *ctx, const rlx_scope *s, const rlx_tensor_sinfo *a,
                            const rlx_tensor_sinfo *b, rlx_mismatch *why)
{
    int32_t index;
    size_t n;
    if (!rlx_dtype_is_void(a->dtype) && !rlx_dtype_is_void(b->dtype) && a->dtype != b->dtype)
        return clash(why, RLX_MISMATCH_DTYPE, -1, &b->node, &a->node);
    if (a->ndim >= 0 && b->ndim >= 0 && a->ndim != b->ndim)
        return clash(why, RLX_MISMATCH_RANK, -1, &b->node, &a->node);
    if ((a->vdevice || rlx_as_sharding(b->vdevice)) && fit_devices(a->vdevice, b->vdevice) == RLX_ASSIGNABLE_NO)
        return clash(why, device_part(a, b), -1, &b->node, &a->node);
    if (a->shape && b->shape &&
        rlx_prove_shapes(ctx, s, a->shape, b->shape, &index) == RLX_DIFFERENT)
        return index < 0
                   ? clash(why, RLX_MISMATCH_SHAPE, -1, &b->node, &a->node)
                   : clash(why, RLX_MISMATCH_DIMENSION, index, rlx_shape_dims(b->shape, &n)[index],
                           rlx_shape_dims(a->shape, &n)[index]);
    return true;
}

static bool overlap_shapes(rlx_context *ctx, const rlx_scope *s, const rlx_shape_sinfo *a,
                           const rlx_shape_sinfo *b, rlx_mismatch *why)
{
    int32_t index;
    if (a->ndim >= 0 && b->ndim >= 0 && a->ndim != b->ndim)
        return clash(why, RLX_MISMATCH_RANK, -1, &b->node, &a->node);
    if (a->has_values && b->has_values &&
        prove_dims(ctx, s, a->values, b->values, a->num_values, &index) == RLX_DIFFERENT)
        return clash(why, RLX_MISMATCH_DIMENSION, index, b->values[index], a->values[index]);
    return true;
}

static bool overlap_prims(rlx_context *ctx, const rlx_scope *s, const rlx_prim_sinfo *a,
                          const rlx_prim_sinfo *b, rlx_mismatch *why)
{
    if (a->dtype != b->dtype)
        return clash(why, RLX_MISMATCH_DTYPE, -1, &b->node, &a->node);
    if (a->value && b->value && rlx_prove_equal(ctx, s, a->value, b->value) == RLX_DIFFERENT)
        return clash(why, RLX_MISMATCH_VALUE, -1, b->value, a->value);
    return true;
}

static bool overlap_functions(const rlx_func_sinfo *a, const rlx_func_sinfo *b, rlx_mismatch *why)
{
    if (!a->derive && b->derive && !is_open(b))
        return clash(why, RLX_MISMATCH_KIND, -1, &b->node, &a->node);
    if (!a->derive && !b->derive && a->num_params != b->num_params)
        return clash(why, RLX_MISMATCH_ARITY, -1, &b->node, &a->node);
    return true;
}

static bool overlaps(rlx_context *ctx, const rlx_scope *s, rlx_budget *budget, const rlx_sinfo *a,
                     const rlx_sinfo *b, rlx_mismatch *why);

static bool overlap_tuples(rlx_context *ctx, const rlx_scope *s, rlx_budget *budget,
                           const rlx_tuple_sinfo *a, const rlx_tuple_sinfo *b, rlx_mismatch *why)
{
    if (a->num_fields != b->num_fields)
        return clash(why, RLX_MISMATCH_LENGTH, -1, &b->node, &a->node);
    for (size_t i = 0; i < a->num_fields; i++) {
        if (overlaps(ctx, s, budget, a->fields[i], b->fields[i], why))
            continue;
        if (why && why->depth < 6) { /* from the inside out */
            for (int k = why->depth; k > 0; k--)
                why->path[k] = why->path[k - 1];
            why->path[0] = (int32_t)i;
            why->depth++;
        }
        return false;
    }
    return true;
}

static bool overlaps(rlx_context *ctx, const rlx_scope *s, rlx_budget *budget, const rlx_sinfo *a,
                     const rlx_sinfo *b, rlx_mismatch *why)
{
    bool yes = true;
    if (a == b || a->kind == RLX_NODE_OBJECT_SINFO || b->kind == RLX_NODE_OBJECT_SINFO)
        return true;
    if (a->kind != b->kind)
        return clash(why, RLX_MISMATCH_KIND, -1, b, a);
    if (!rlx_budget_enter(budget))
        return true;
    switch (a->kind) {
    case RLX_NODE_PRIM_SINFO:
        yes = overlap_prims(ctx, s, rlx_as_prim_sinfo(a), rlx_as_prim_sinfo(b), why);
        break;
    case RLX_NODE_SHAPE_SINFO:
        yes = overlap_shapes(ctx, s, rlx_as_shape_sinfo(a), rlx_as_shape_sinfo(b), why);
        break;
    case RLX_NODE_TENSOR_SINFO:
        yes = overlap_tensors(ctx, s, rlx_as_tensor_sinfo(a), rlx_as_tensor_sinfo(b), why);
        break;
    case RLX_NODE_TUPLE_SINFO:
        yes = overlap_tuples(ctx, s, budget, rlx_as_tuple_sinfo(a), rlx_as_tuple_sinfo(b), why);
        break;
    case RLX_NODE_EXTENSION_SINFO:
        yes = rlx_extension_assignable(ctx, s, a, b) != RLX_ASSIGNABLE_NO ||
              clash(why, RLX_MISMATCH_KIND, -1, b, a);
        break;
    default: yes = overlap_functions(rlx_as_func_sinfo(a), rlx_as_func_sinfo(b), why); break;
    }
    rlx_budget_leave(budget);
    return yes;
}

bool rlx_overlap(rlx_context *ctx, const rlx_scope *s, const rlx_sinfo *a, const rlx_sinfo *b,
                 rlx_mismatch *why)
{
    rlx_budget budget = RLX_FRESH_BUDGET;
    if (why)
        *why = (rlx_mismatch){ .index = -1 };
    return !a || !b || overlaps(ctx, s, &budget, a, b, why);
}
