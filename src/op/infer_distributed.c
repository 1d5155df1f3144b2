/*- infer_distributed.c: struct info of calls on distributed tensors.
 *
 *     matmul((8, 4) "S[0], R", (4, 6) "R, S[1]")  ->  (8, 6) "S[0], S[1]"
 *
 * An operator's own rule says shape and dtype, as of tensors that lie in one place. Where the
 * result lies follows from which of its axes an axis of an operand becomes: it is divided as that
 * one is. What is divided and becomes no axis (a sum over it) leaves nothing behind: all devices
 * then hold the same, which is for the run to bring about. */
/* built for size */
#include "op/op_int.h"

typedef struct dist {
    rlx_infer *in;              /* sees operands as if they lay in one place */
    const rlx_infer *whole;     /* sees them as they are */
    const rlx_device_mesh *mesh;
    const rlx_sinfo *result;    /* of the operator's own rule */
    int64_t *axes;              /* of the result, by axis of the mesh; -1: none yet */
    int64_t *owner;             /* the operand that said so */
} dist;

/* ---- operands as if they lay in one place --------------------------------------------------- */

static const rlx_sharding *sharding_of(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    return t ? rlx_as_sharding(t->vdevice) : NULL;
}

bool rlx_is_distributed(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    bool some = sharding_of(s) != NULL;
    for (size_t i = 0; tuple && i < tuple->num_fields && !some; i++)
        some = sharding_of(tuple->fields[i]) != NULL;
    return some;
}

static const rlx_sinfo *undivided(rlx_context *ctx, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    if (sharding_of(s))
        return rlx_tensor_info(ctx, t->shape, t->dtype, t->ndim, NULL);
    if (!tuple || !rlx_is_distributed(s))
        return s;
    const rlx_sinfo **fields = rlx_new(ctx, tuple->num_fields * sizeof *fields);
    for (size_t i = 0; fields && i < tuple->num_fields; i++)
        if (!(fields[i] = undivided(ctx, tuple->fields[i])))
            return NULL;
    return fields ? rlx_tuple_info(ctx, fields, tuple->num_fields) : NULL;
}

static const rlx_sinfo *undivided_operand(void *user, const rlx_expr *e)
{
    const rlx_infer *whole = user;
    const rlx_sinfo *s = whole->sinfo_of(whole->user, e);
    return s ? undivided(whole->ctx, s) : NULL;
}

static const rlx_expr *value_of_operand(void *user, const rlx_expr *e)
{
    const rlx_infer *whole = user;
    return whole->value_of ? whole->value_of(whole->user, e) : NULL;
}

/* ---- which axis of the result an axis of operand `arg` becomes, -1: none -------------------- */

#define ALONE (-1)

static const rlx_tensor_sinfo *operand(const dist *d, size_t arg)
{
    return rlx_as_tensor_sinfo(d->in->sinfo_of(d->in->user, d->in->call->args[arg]));
}

static int64_t rank_of(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    return t ? t->ndim : -1;
}

static int64_t same_axis(const dist *d, size_t arg, int64_t axis)
{
    return axis;
}

static bool is_one(const rlx_tensor_sinfo *x, int64_t axis)
{
    size_t n = 0;
    const rlx_prim *const *dims = rlx_shape_dims(x->shape, &n);
    return dims && (size_t)axis < n && rlx_is_int_value(dims[axis], 1);
}

/* Counted from the end, as broadcasting does; what is broadcast is not divided. */
static int64_t broadcast_axis(const dist *d, size_t arg, int64_t axis)
{
    const rlx_tensor_sinfo *x = operand(d, arg);
    if (!x || x->ndim < 0 || rank_of(d->result) < 0 || is_one(x, axis))
        return ALONE;
    return axis + rank_of(d->result) - x->ndim;
}

static bool names_axis(const rlx_attr *list, int64_t axis, int64_t ndim)
{
    for (size_t i = 0; i < rlx_attr_count(list); i++) {
        int64_t at = rlx_attr_item(list, i);
        if ((at < 0 ? at + ndim : at) == axis)
            return true;
    }
    return false;
}

static int64_t reduced_axis(const dist *d, size_t arg, int64_t axis)
{
    const rlx_tensor_sinfo *x = operand(d, arg);
    const rlx_attr *axes = rlx_infer_attr(d->in, 0), *keep = rlx_infer_attr(d->in, 1);
    int64_t kept = rlx_attr_as_int(keep, 0), out = 0;
    if (!rlx_as_attr_list(axes) || !x || x->ndim < 0 || names_axis(axes, axis, x->ndim))
        return ALONE;
    for (int64_t i = 0; i < axis; i++)
        out += kept || !names_axis(axes, i, x->ndim);
    return out;
}

static int64_t matmul_axis(const dist *d, size_t arg, int64_t axis)
{
    const rlx_tensor_sinfo *x = operand(d, arg), *other = operand(d, 1 - arg);
    int64_t rank = rank_of(d->result);
    if (!x || !other || x->ndim < 1 || other->ndim < 1 || rank < 0)
        return ALONE;
    int64_t behind = x->ndim - axis, /* 1: the last axis */
        of_matrix = (x->ndim > 1) + (other->ndim > 1);
    if (behind > 2) /* of the batch */
        return is_one(x, axis) ? ALONE : rank - of_matrix - (behind - 2);
    if (arg == 0) /* the sum runs over columns of the first and rows of the second */
        return behind == 2 ? rank - of_matrix : ALONE;
    return behind == 1 && x->ndim > 1 ? rank - 1 : ALONE;
}

static int64_t permuted_axis(const dist *d, size_t arg, int64_t axis)
{
    const rlx_attr *axes = rlx_infer_attr(d->in, 0);
    int64_t rank = rank_of(d->result);
    if (!rlx_as_attr_list(axes))
        return rank < 0 ? ALONE : rank - 1 - axis;
    for (size_t i = 0; i < rlx_attr_count(axes); i++) {
        int64_t from = rlx_attr_item(axes, i);
        if ((from < 0 ? from + rank : from) == axis)
            return (int64_t)i;
    }
    return ALONE;
}

/* Axes in front of which as many elements stand on both sides go on: (8, 4) to (8, 2, 2) keeps axis
 * 0, to (2, 4, 4) none. */
static int64_t reshaped_axis(const dist *d, size_t arg, int64_t axis)
{
    const rlx_tensor_sinfo *x = operand(d, 0), *y = rlx_as_tensor_sinfo(d->result);
    rlx_context *ctx = d->in->ctx;
    size_t from = 0, to = 0;
    const rlx_prim *const *old = x ? rlx_shape_dims(x->shape, &from) : NULL;
    const rlx_prim *const *now = y ? rlx_shape_dims(y->shape, &to) : NULL;
    if (arg || !old || !now || (size_t)axis >= from)
        return ALONE;
    const rlx_prim *before = rlx_dims_product(ctx, old, (size_t)axis);
    for (size_t i = 0; before && i < to; i++) {
        const rlx_prim *here = rlx_dims_product(ctx, now, i);
        if (here && !rlx_is_int_value(now[i], 1) && rlx_infer_equal(d->in, here, before) == RLX_EQUAL)
            return (int64_t)i;
    }
    return ALONE;
}

/* ---- the result ----------------------------------------------------------------------------- */

static const char *arg_text(const dist *d, int64_t arg)
{
    return rlx_show(d->in->ctx, d->in->call->args[arg]);
}

/* Axis j of the mesh divides axis `to` of the result, as it does operand `arg`. */
static bool divide(dist *d, size_t j, int64_t to, size_t arg)
{
    size_t rank = rlx_mesh_rank(d->mesh);
    if (d->axes[j] >= 0 && d->axes[j] != to) {
        rlx_infer_fail(d->in,
                       "axis %zu of the mesh divides axis %lld of the result by %s and axis %lld by "
                       "%s; insert R.dist.redistribute",
                       j, (long long)d->axes[j], arg_text(d, d->owner[j]), (long long)to,
                       arg_text(d, (int64_t)arg));
        return false;
    }
    for (size_t i = 0; i < rank; i++)
        if (i != j && d->axes[i] == to && d->owner[i] != (int64_t)arg) {
            rlx_infer_fail(d->in,
                           "axis %lld of the result is divided by axis %zu of the mesh by %s and by "
                           "axis %zu by %s; insert R.dist.redistribute",
                           (long long)to, i, arg_text(d, d->owner[i]), j,
                           arg_text(d, (int64_t)arg));
            return false;
        }
    d->axes[j] = to;
    d->owner[j] = (int64_t)arg;
    return true;
}

/* Rules by what an axis becomes; what no row names has none for distributed tensors. */
static const struct {
    const rlx_sinfo *(*rule)(rlx_infer *in);
    int64_t (*axis)(const dist *d, size_t arg, int64_t axis); /* NULL: the call says the result */
} rules[] = {
    { rlx_infer_same, same_axis },        { rlx_infer_same_float, same_axis },
    { rlx_infer_same_bool, same_axis },   { rlx_infer_softmax, same_axis },
    { rlx_infer_binary, broadcast_axis }, { rlx_infer_compare, broadcast_axis },
    { rlx_infer_reduce, reduced_axis },   { rlx_infer_matmul, matmul_axis },
    { rlx_infer_permute, permuted_axis }, { rlx_infer_reshape, reshaped_axis },
    { rlx_infer_call_tir, NULL },         { rlx_infer_call_tir_local_view, NULL },
    { rlx_infer_annotate_sharding, NULL }, { rlx_infer_redistribute, NULL },
    { rlx_infer_replica_to_shard, NULL }, { rlx_infer_call_pure_packed, NULL },
    { rlx_infer_object, NULL },           { rlx_infer_unit, NULL },
    { rlx_infer_call_dps, NULL },         { rlx_infer_shape_of, NULL },
};

/* The mesh that all distributed operands share; an operand that lies in one place is refused. */
static bool find_mesh(dist *d)
{
    const rlx_call *call = d->in->call;
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_sinfo *s = rlx_infer_arg((rlx_infer *)(uintptr_t)d->whole, i);
        const rlx_sharding *lies = sharding_of(s);
        if (!s)
            return d->in->failed = true, false;
        if (rlx_as_tensor_sinfo(s) && !lies) {
            rlx_infer_fail(d->in,
                           "%s is %s, expected a distributed tensor as the other operand is: write "
                           "R.dist.annotate_sharding, or R.dist.const for a constant",
                           arg_text(d, (int64_t)i), rlx_show(d->in->ctx, s));
            return false;
        }
        if (lies && d->mesh && lies->mesh != &d->mesh->node) {
            rlx_infer_fail(d->in, "the operands lie on different meshes; insert R.dist.redistribute");
            return false;
        }
        d->mesh = lies ? rlx_as_device_mesh(lies->mesh) : d->mesh;
    }
    return d->mesh || rlx_infer_fail(d->in, "no rule says how its result lies on the mesh");
}

static bool place_result(dist *d, int64_t (*axis)(const dist *, size_t, int64_t))
{
    size_t rank = rlx_mesh_rank(d->mesh);
    const rlx_call *call = d->in->call;
    d->axes = rlx_new(d->in->ctx, (rank + 1) * sizeof *d->axes);
    d->owner = rlx_new(d->in->ctx, (rank + 1) * sizeof *d->owner);
    if (!d->axes || !d->owner)
        return false;
    for (size_t j = 0; j < rank; j++)
        d->axes[j] = -1;
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_sharding *lies =
            sharding_of(d->whole->sinfo_of(d->whole->user, call->args[i]));
        for (size_t j = 0; lies && j < rank; j++) {
            int64_t from = rlx_sharding_axis(lies, j), to = from < 0 ? ALONE : axis(d, i, from);
            if (to >= 0 && !divide(d, j, to, i))
                return false;
        }
    }
    return true;
}

const rlx_sinfo *rlx_infer_distributed(rlx_infer *in)
{
    bool some = false;
    for (size_t i = 0; i < in->call->num_args && !some; i++) {
        const rlx_sinfo *s = in->sinfo_of(in->user, in->call->args[i]);
        some = s && rlx_is_distributed(s);
    }
    size_t i = 0;
    while (some && i < RLX_COUNT(rules) && rules[i].rule != in->row->infer)
        i++;
    if (some && i == RLX_COUNT(rules))
        return rlx_infer_fail(in, "no rule says how its result lies on the mesh");
    if (!some || !rules[i].axis)
        return in->row->infer(in);
    rlx_infer flat = *in;
    dist d = { .in = &flat, .whole = in };
    flat.sinfo_of = undivided_operand;
    flat.value_of = value_of_operand;
    flat.user = in;
    bool ok = find_mesh(&d) && (d.result = in->row->infer(&flat)) && place_result(&d, rules[i].axis);
    in->failed |= flat.failed;
    const rlx_tensor_sinfo *t = ok ? rlx_as_tensor_sinfo(d.result) : NULL;
    if (!t)
        return ok ? d.result : rlx_infer_done(in, NULL);
    const rlx_node *lies = rlx_sharding_new(in->ctx, &d.mesh->node, d.axes);
    return rlx_infer_done(in,
                          lies ? rlx_tensor_info(in->ctx, t->shape, t->dtype, t->ndim, lies) : NULL);
}

/* ---- operators of distributed programs ------------------------------------------------------ */

/* The sharding that the attributes device_mesh and placement say, for a tensor of this rank. */
static const rlx_node *stated_sharding(rlx_infer *in, const rlx_tensor_sinfo *x)
{
    const rlx_device_mesh *mesh = rlx_as_device_mesh(rlx_infer_attr(in, 0));
    const rlx_attr_string *text = rlx_as_attr_string(rlx_infer_attr(in, 1));
    if (!mesh || !text)
        return rlx_infer_fail(in, "device_mesh is a mesh of the module, placement text such as "
                                  "\"S[0], R\""),
               NULL;
    size_t rank = rlx_mesh_rank(mesh);
    int64_t *axes = rlx_new(in->ctx, (rank + 1) * sizeof *axes);
    size_t count = axes ? rlx_placement_read(rlx_string_slice(text->value), axes, rank) : 0;
    if (!axes)
        return rlx_infer_done(in, NULL), NULL;
    if (count != rank)
        return rlx_infer_fail(in, "placement is \"%.60s\", expected an entry S[axis] or R for each "
                                  "of the %zu axes of the mesh",
                              text->value->data, rank),
               NULL;
    for (size_t i = 0; i < rank; i++)
        if (x && x->ndim >= 0 && axes[i] >= x->ndim)
            return rlx_infer_fail(in, "placement divides axis %lld of a tensor of rank %d",
                                  (long long)axes[i], (int)x->ndim),
                   NULL;
    return rlx_sharding_new(in->ctx, &mesh->node, axes);
}

const rlx_sinfo *rlx_infer_annotate_sharding(rlx_infer *in)
{
    const rlx_sinfo *s = rlx_infer_arg(in, 0);
    return s && stated_sharding(in, rlx_as_tensor_sinfo(s)) ? s : rlx_infer_done(in, NULL);
}

const rlx_sinfo *rlx_infer_redistribute(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    if (!x)
        return NULL;
    if (!rlx_as_sharding(x->vdevice))
        return rlx_infer_fail(in, "input is %s, expected a distributed tensor (R.DTensor)",
                              rlx_show(in->ctx, &x->node));
    const rlx_node *lies = stated_sharding(in, x);
    return rlx_infer_done(in, lies ? rlx_tensor_info(in->ctx, x->shape, x->dtype, x->ndim, lies)
                                   : NULL);
}

const rlx_sinfo *rlx_infer_replica_to_shard(rlx_infer *in)
{
    const rlx_tensor_sinfo *x = rlx_infer_tensor(in, 0);
    const rlx_sharding *lies = x ? rlx_as_sharding(x->vdevice) : NULL;
    size_t axis;
    if (!x)
        return NULL;
    if (!lies) /* a part of what every worker has */
        return rlx_infer_scatter_worker(in);
    if (rlx_mesh_rank(rlx_as_device_mesh(lies->mesh)) != 1 || rlx_sharding_axis(lies, 0) >= 0)
        return rlx_infer_fail(in, "input is %s, expected one with the placement \"R\" on a mesh of "
                                  "one axis",
                              rlx_show(in->ctx, &x->node));
    if (!rlx_infer_axis(in, rlx_attr_as_int(rlx_infer_attr(in, 1), 0), x->ndim, &axis))
        return NULL;
    int64_t to = (int64_t)axis;
    const rlx_node *divided = rlx_sharding_new(in->ctx, lies->mesh, &to);
    return rlx_infer_done(
        in, divided ? rlx_tensor_info(in->ctx, x->shape, x->dtype, x->ndim, divided) : NULL);
}
