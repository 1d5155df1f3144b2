/* lower_call.c: from an operator call to a call_tir of a PrimFunc, and what lowerings have in
 * common. */
/* built for size */
#include "op/lower_int.h"

#include <math.h>
#include <stdio.h>

/* ---- one lowering --------------------------------------------------------------------------- */

bool rlx_lowering_give_up(rlx_lowering *b, const char *why)
{
    if (!b->why)
        b->why = why;
    return false;
}

static const char wrong_dtype[] = "the operator does not compute with this dtype",
                  no_kernels[] = "no kernels compute with this dtype";

bool rlx_lowering_refuse_dtype(rlx_lowering *b)
{
    return rlx_lowering_give_up(b, wrong_dtype);
}

bool rlx_op_is_dtype_refused(const char *why)
{
    return why == wrong_dtype || why == no_kernels;
}

void rlx_lowering_begin(rlx_lowering *b, rlx_lower_request *l)
{
    memset(b, 0, sizeof *b);
    b->l = l;
    rlx_tir_begin(&b->t, l->ctx, l->place);
    b->t.separate = l->separate;
    /* as T.func_attr reads it */
    rlx_tir_attr(&b->t, "tir.noalias", rlx_int(l->ctx, RELAX_BOOL, 1));
}

const rlx_prim_func *rlx_lowering_end(rlx_lowering *b)
{
    rlx_context *ctx = b->l->ctx;
    rlx_lower_request *l = b->l;
    const rlx_prim_func *f = rlx_tir_end(&b->t);
    bool good = f && !b->why;
    l->why = b->why;
    if (good && (l->num_inputs = b->inputs.len) != 0) {
        l->inputs = rlx_new_copy(ctx, b->inputs.data, b->inputs.len * sizeof *b->inputs.data);
        l->sources = rlx_new_copy(ctx, b->sources.data, b->sources.len * sizeof *b->sources.data);
        good = l->inputs && l->sources;
    }
    rlx_vec_free(&ctx->memory, &b->inputs);
    rlx_vec_free(&ctx->memory, &b->sources);
    rlx_vec_free(&ctx->memory, &b->sizes);
    return good ? f : NULL;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static bool pair_sizes(rlx_lowering *b, const rlx_prim *program, const rlx_prim *size)
{
    rlx_lowering_size_pair pair = { program, size };
    if (size && rlx_vec_push(&b->l->ctx->memory, &b->sizes, pair))
        return true;
    b->t.incomplete = true;
    return false;
}

static const rlx_prim *fresh_size(rlx_lowering *b, const rlx_prim *program)
{
    char name[RLX_LOW_NAME];
    const rlx_prim_var *v = rlx_as_prim_var(program);
    rlx_lowering_name(name, 'd', b->sizes.len);
    const rlx_prim *size = rlx_tir_dim(&b->t, v && v->name ? v->name->data : name);
    return pair_sizes(b, program, size) ? size : NULL;
}

const rlx_prim *rlx_lowering_size(rlx_lowering *b, const rlx_prim *program)
{
    int64_t v;
    if (rlx_int_literal(program, &v))
        return rlx_tir_int(&b->t, v);
    for (size_t i = 0; program && i < b->sizes.len; i++) {
        const rlx_prim *p = b->sizes.data[i].program;
        if (p && rlx_prove_equal_sizes(b->l->ctx, b->l->scope, p, program) == RLX_EQUAL)
            return b->sizes.data[i].size;
    }
    return fresh_size(b, program);
}

void rlx_lowering_express(rlx_lowering *b, const rlx_prim *program, const rlx_prim *size)
{
    pair_sizes(b, program, size);
}

/* The product of the numbers among the factors; what wraps around proves nothing. */
static uint64_t number_in(const rlx_prim *p)
{
    const rlx_binary *mul = rlx_is(p, RLX_NODE_MUL) && !rlx_is_long_size(p) ? (const rlx_binary *)p : NULL;
    int64_t v = 1;
    return mul ? number_in(mul->a) * number_in(mul->b) : rlx_int_literal(p, &v) ? (uint64_t)v : 1;
}

int64_t rlx_lowering_times(rlx_lowering *b, const rlx_prim *size, const rlx_prim *of)
{
    rlx_context *ctx = b->l->ctx;
    /* of a sum no factor is seen, but it may be the other as it is */
    uint64_t in_size = number_in(size), in_other = number_in(of);
    int64_t times = in_other && in_size > in_other ? (int64_t)(in_size / in_other) : 1;
    const rlx_prim *product = rlx_fold_mul(ctx, rlx_int64(ctx, times), of);
    return times > 0 && rlx_prove_equal_sizes(ctx, b->l->scope, size, product) == RLX_EQUAL ? times : 0;
}

void rlx_lowering_express_line(rlx_lowering *b, const rlx_prim *size, const rlx_prim *of, int64_t times)
{
    rlx_context *ctx = b->l->ctx;
    int64_t known, more;
    if (!size || !of || rlx_int_literal(size, &known) || rlx_int_literal(of, &known))
        return;
    const rlx_prim *rest = rlx_fold_sub(ctx, size, rlx_fold_mul(ctx, of, rlx_int64(ctx, times)));
    if (rest && !rlx_is_long_size(rest) && rlx_int_literal(rlx_simplify(ctx, b->l->scope, rest), &more))
        rlx_lowering_express(b, size, rlx_tir_add(&b->t, rlx_tir_mul(&b->t, rlx_lowering_size(b, of), rlx_tir_int(&b->t, times)),
                                                  rlx_tir_int(&b->t, more)));
}

void rlx_lowering_alias(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y)
{
    bool lx = rlx_is(x, RLX_NODE_INT_IMM), ly = rlx_is(y, RLX_NODE_INT_IMM);
    if (!x || !y || x == y || (lx && ly))
        return;
    const rlx_prim *size = rlx_lowering_size(b, lx ? x : y);
    pair_sizes(b, lx ? y : x, size);
}

void rlx_lowering_name(char out[RLX_LOW_NAME], char letter, size_t number)
{
    snprintf(out, RLX_LOW_NAME, "%c%zu", letter, number);
}

static bool read_shape(rlx_lowering *b, const rlx_tensor_sinfo *t, rlx_lowering_shape *out)
{
    if (t->ndim < 0 || t->ndim > RLX_LOW_RANK)
        return rlx_lowering_give_up(b,
                                    t->ndim < 0 ? "the rank is not known" : "the rank is above 16");
    if (!rlx_dtype_is_computable(t->dtype))
        return rlx_lowering_give_up(b, rlx_dtype_is_void(t->dtype)
                                           ? "the dtype is not known"
                                           : no_kernels);
    size_t known = 0;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &known);
    out->sizes.n = (size_t)t->ndim;
    for (size_t i = 0; i < out->sizes.n; i++) {
        out->program[i] = dims ? dims[i] : NULL;
        out->sizes.at[i] = rlx_lowering_size(b, out->program[i]);
    }
    return !b->t.incomplete;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* An input under way: the expression and where it comes from. */
typedef struct input {
    const rlx_expr *e;
    const rlx_sinfo *s;
    rlx_input_source source;
    const char *name;
} input;

static bool remember_input(rlx_lowering *b, const input *in)
{
    rlx_memory *m = &b->l->ctx->memory;
    if (rlx_vec_push(m, &b->inputs, in->e) && rlx_vec_push(m, &b->sources, in->source))
        return true;
    b->t.incomplete = true;
    return false;
}

const rlx_attr *rlx_lowering_attr(const rlx_lower_request *l, size_t i)
{
    const rlx_attrs *a = rlx_as_attrs(l->call->attrs);
    return a && i < a->num_values ? a->values[i] : NULL;
}

const rlx_prim *rlx_lowering_literal(const rlx_expr *e)
{
    const rlx_prim_value *v = rlx_as_prim_value(e);
    return v && (rlx_is(v->value, RLX_NODE_INT_IMM) || rlx_is(v->value, RLX_NODE_FLOAT_IMM))
               ? v->value
               : NULL;
}

const rlx_prim *rlx_lowering_constant(rlx_context *ctx, const rlx_expr *e)
{
    const rlx_constant *c = rlx_as_constant(e);
    if (!c || c->num_shape || (c->dtype != RELAX_FLOAT32 && c->dtype != RELAX_FLOAT64) || c->data->size < rlx_dtype_bytes(c->dtype))
        return NULL;
    const double value = rlx_dtype_load_float(c->dtype, c->data->data);
    return isfinite(value) ? rlx_float(ctx, c->dtype, value) : NULL;
}

static bool scalar_input(rlx_lowering *b, const input *in, const rlx_prim_sinfo *p,
                         rlx_lowering_tensor *out)
{
    *out = (rlx_lowering_tensor){ .dtype = p->dtype, .scalar = rlx_lowering_literal(in->e) };
    if (!rlx_dtype_is_computable(p->dtype))
        return rlx_lowering_give_up(b, no_kernels);
    if (out->scalar)
        return true;
    out->scalar = rlx_tir_scalar(&b->t, in->name, p->dtype);
    return remember_input(b, in) && out->scalar;
}

static bool take_input(rlx_lowering *b, const input *in, rlx_lowering_tensor *out)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(in->s);
    if (rlx_as_prim_sinfo(in->s))
        return scalar_input(b, in, rlx_as_prim_sinfo(in->s), out);
    if (!t)
        return rlx_lowering_give_up(b, "an argument is not known to be a tensor");
    *out = (rlx_lowering_tensor){ .dtype = t->dtype };
    if (!read_shape(b, t, &out->shape))
        return false;
    out->buffer = rlx_tir_param(&b->t, in->name, t->dtype, rlx_lowering_items(&out->shape.sizes));
    return remember_input(b, in) && out->buffer;
}

static input argument(const rlx_lowering *b, size_t i)
{
    return (
        input){ b->l->call->args[i], b->l->args[i], { (uint32_t)i, -1 }, b->l->row->args[i].name };
}

bool rlx_lowering_input(rlx_lowering *b, size_t i, rlx_lowering_tensor *out)
{
    input in = argument(b, i);
    return take_input(b, &in, out);
}

const rlx_expr *rlx_lowering_field(rlx_context *ctx, const rlx_expr *e, size_t i, rlx_place place)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    return t ? t->fields[i] : rlx_tuple_get_item_new(ctx, e, (int64_t)i, place);
}

bool rlx_lowering_input_field(rlx_lowering *b, size_t arg, size_t i, const char *name,
                              rlx_lowering_tensor *out)
{
    const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(b->l->args[arg]);
    if (!fields || i >= fields->num_fields)
        return rlx_lowering_give_up(b, "the fields of a tuple are not known");
    const rlx_expr *e = rlx_lowering_field(b->l->ctx, b->l->call->args[arg], i, b->l->place);
    input in = { e, fields->fields[i], { (uint32_t)arg, (int32_t)i }, name };
    b->t.incomplete |= !e;
    return e && take_input(b, &in, out);
}

const rlx_prim *rlx_lowering_scalar(rlx_lowering *b, size_t i, rlx_dtype dtype)
{
    rlx_lowering_tensor s;
    input in = argument(b, i);
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(in.s);
    if (!p) {
        rlx_lowering_give_up(b, "an argument is not known to be a scalar");
        return NULL;
    }
    return scalar_input(b, &in, p, &s) ? rlx_tir_cast(&b->t, dtype, s.scalar) : NULL;
}

/* Struct info of a result with the sizes a lowering computed. NULL if they are not all known. */
static const rlx_tensor_sinfo *with_sizes(rlx_lowering *b, const rlx_tensor_sinfo *r,
                                          const rlx_lowering_shape *computed)
{
    rlx_context *ctx = b->l->ctx;
    for (size_t i = 0; i < computed->sizes.n; i++)
        if (!computed->program[i])
            return NULL;
    const rlx_expr *shape = rlx_shape_new(ctx, computed->program, computed->sizes.n);
    const rlx_sinfo *s =
        shape ? rlx_tensor_info(ctx, shape, r->dtype, (int)computed->sizes.n, r->vdevice) : NULL;
    b->t.incomplete |= !s;
    return rlx_as_tensor_sinfo(s);
}

/* One output; its struct info, with sizes, or NULL after giving up. */
static const rlx_sinfo *take_output(rlx_lowering *b, const rlx_sinfo *s, const char *name,
                                    const rlx_lowering_shape *computed, rlx_lowering_tensor *out)
{
    const rlx_tensor_sinfo *r = rlx_as_tensor_sinfo(s);
    if (!r)
        return rlx_lowering_give_up(b, "a result is not known to be a tensor"), NULL;
    if (!rlx_dtype_is_computable(r->dtype))
        return rlx_lowering_give_up(b, rlx_dtype_is_void(r->dtype)
                                           ? "the dtype is not known"
                                           : no_kernels),
               NULL;
    *out = (rlx_lowering_tensor){ .dtype = r->dtype };
    if (!r->shape && !(computed && (r = with_sizes(b, r, computed))))
        return rlx_lowering_give_up(b, "the sizes of the result are not known"), NULL;
    if (computed)
        out->shape = *computed;
    else if (!read_shape(b, r, &out->shape))
        return NULL;
    out->buffer = rlx_tir_param(&b->t, name, r->dtype, rlx_lowering_items(&out->shape.sizes));
    return out->buffer ? &r->node : NULL;
}

bool rlx_lowering_output(rlx_lowering *b, const rlx_lowering_shape *computed,
                         rlx_lowering_tensor *out)
{
    const rlx_sinfo *s = take_output(b, b->l->result, "out", computed, out);
    b->l->result = s ? s : b->l->result;
    return s != NULL;
}

bool rlx_lowering_outputs(rlx_lowering *b, const rlx_lowering_shape *const *computed,
                          rlx_lowering_tensor *out, size_t n)
{
    rlx_context *ctx = b->l->ctx;
    const rlx_tuple_sinfo *r = rlx_as_tuple_sinfo(b->l->result);
    char name[RLX_LOW_NAME + 4] = "out";
    if (!r || r->num_fields != n)
        return rlx_lowering_give_up(b, "the result is not known to be a tuple of tensors");
    const rlx_sinfo **fields = rlx_new_copy(ctx, r->fields, n * sizeof *fields);
    b->t.incomplete |= !fields;
    for (size_t i = 0; fields && i < n; i++) {
        rlx_lowering_name(name + 2, 't', i);
        if (!(fields[i] = take_output(b, fields[i], name, computed ? computed[i] : NULL, &out[i])))
            return false;
    }
    const rlx_sinfo *s = fields ? rlx_tuple_info(ctx, fields, n) : NULL;
    b->t.incomplete |= !s;
    b->l->result = s ? s : b->l->result;
    return s != NULL;
}

/* ---- broadcasting --------------------------------------------------------------------------- */

void rlx_lowering_require(rlx_lowering *b, const rlx_prim *cond, enum rlx_assertion assertion,
                          const char *message)
{
    int64_t v;
    if (rlx_int_literal(cond, &v) && v)
        return;
    rlx_tir_assert(&b->t, cond, assertion, message);
}

static const rlx_prim *equal(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y)
{
    return rlx_tir_eq(&b->t, x, y);
}

/* select(a == 1, b, a) in the program; NULL if a part is not known. */
static const rlx_prim *joined_program(rlx_lowering *b, const rlx_prim *x, const rlx_prim *y)
{
    rlx_context *ctx = b->l->ctx;
    const rlx_prim *one = rlx_int64(ctx, 1);
    if (!x || !y || rlx_is(x, RLX_NODE_INT_IMM) || rlx_is(y, RLX_NODE_INT_IMM))
        return !x || !y ? NULL : rlx_is(x, RLX_NODE_INT_IMM) ? x : y;
    return rlx_fold_select(ctx, rlx_binary_new(ctx, RLX_NODE_EQ, x, one), y, x);
}

bool rlx_lowering_join(rlx_lowering *b, const rlx_lowering_shape *from, size_t i,
                       rlx_lowering_shape *into, size_t at)
{
    const rlx_prim *x = into->sizes.at[at], *y = from->sizes.at[i];
    if (x == y || rlx_is_int_value(y, 1))
        return true;
    if (rlx_is_int_value(x, 1)) {
        into->sizes.at[at] = y;
        into->program[at] = from->program[i];
        return true;
    }
    const rlx_prim *one = rlx_tir_int(&b->t, 1);
    const rlx_prim *fits =
        rlx_tir_or(&b->t, equal(b, x, y), rlx_tir_or(&b->t, equal(b, x, one), equal(b, y, one)));
    rlx_lowering_require(b, fits, RLX_ASSERTION_SIZES, "sizes do not broadcast");
    /* A literal that is not 1 is the only size that passes the check. */
    bool literal = rlx_is(x, RLX_NODE_INT_IMM) || rlx_is(y, RLX_NODE_INT_IMM);
    into->sizes.at[at] = literal ? (rlx_is(x, RLX_NODE_INT_IMM) ? x : y)
                                 : rlx_tir_if_then_else(&b->t, equal(b, x, one), y, x);
    into->program[at] = joined_program(b, into->program[at], from->program[i]);
    return !b->t.incomplete;
}

bool rlx_lowering_broadcast(rlx_lowering *b, const rlx_lowering_tensor *const *operands,
                            size_t count, rlx_lowering_shape *out)
{
    memset(out, 0, sizeof *out);
    for (size_t k = 0; k < count; k++)
        if (operands[k]->shape.sizes.n > out->sizes.n)
            out->sizes.n = operands[k]->shape.sizes.n;
    for (size_t i = 0; i < out->sizes.n; i++) {
        out->program[i] = rlx_int64(b->l->ctx, 1);
        out->sizes.at[i] = rlx_tir_int(&b->t, 1);
        for (size_t k = 0; k < count; k++) {
            const rlx_lowering_shape *s = &operands[k]->shape;
            size_t pad = out->sizes.n - s->sizes.n;
            if (i >= pad && !rlx_lowering_join(b, s, i - pad, out, i))
                return false;
        }
    }
    return !b->t.incomplete;
}

const rlx_prim *rlx_lowering_load(rlx_lowering *b, const rlx_lowering_tensor *t,
                                  const rlx_lowering_list *index, const rlx_lowering_list *sizes)
{
    if (t->scalar)
        return t->scalar;
    if (b->t.incomplete) /* the lists may be shorter then */
        return NULL;
    rlx_lowering_list at = { .n = t->shape.sizes.n };
    for (size_t i = 0; i < at.n; i++) {
        const rlx_prim *have = t->shape.sizes.at[i], *to = sizes->at[i + sizes->n - at.n],
                       *k = index->at[i + index->n - at.n];
        if (have == to)
            at.at[i] = k;
        else if (rlx_is_int_value(have, 1))
            at.at[i] = rlx_tir_int(&b->t, 0);
        else if (rlx_is(have, RLX_NODE_INT_IMM))
            at.at[i] = k; /* the check leaves only equal sizes */
        else
            at.at[i] = rlx_tir_if_then_else(&b->t, equal(b, have, rlx_tir_int(&b->t, 1)),
                                            rlx_tir_int(&b->t, 0), k);
    }
    return rlx_tir_load(&b->t, t->buffer, rlx_lowering_items(&at));
}

const rlx_prim *rlx_lowering_position(rlx_lowering *b, const rlx_prim *k, const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    bool may_be_negative = !k || rlx_dtype_code(rlx_prim_dtype(k)) != RELAX_DTYPE_UINT;
    k = rlx_tir_cast(t, RELAX_INT64, k);
    int64_t v;
    if (!may_be_negative || (rlx_int_literal(k, &v) && v >= 0))
        return k;
    if (rlx_int_literal(k, &v))
        return rlx_tir_add(t, size, k);
    return rlx_tir_select(t, rlx_tir_lt(t, k, rlx_tir_int(t, 0)), rlx_tir_add(t, k, size), k);
}

bool rlx_lowering_axis(rlx_lowering *b, int64_t axis, size_t ndim, size_t *out)
{
    axis += axis < 0 ? (int64_t)ndim : 0;
    *out = (size_t)axis;
    return axis >= 0 && axis < (int64_t)ndim ? true
                                             : rlx_lowering_give_up(b, "an axis is out of range");
}

static const rlx_prim *size_in_program(const rlx_lowering *b, size_t arg, size_t i)
{
    const rlx_tensor_sinfo *t =
        arg < b->l->call->num_args ? rlx_as_tensor_sinfo(b->l->args[arg]) : NULL;
    size_t known = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &known) : NULL;
    return dims && i < known ? dims[i] : NULL;
}

void rlx_lowering_trust(rlx_lowering *b, size_t x, size_t i, size_t y, size_t k)
{
    rlx_lowering_alias(b, size_in_program(b, x, i), size_in_program(b, y, k));
}

/* ---- blocks --------------------------------------------------------------------------------- */

static const rlx_prim *open_axis(rlx_lowering *b, size_t i, bool reduce, const rlx_prim *size)
{
    char name[RLX_LOW_NAME];
    rlx_lowering_name(name, reduce ? 'k' : 'i', i);
    return reduce ? rlx_tir_reduce(&b->t, name, size) : rlx_tir_spatial(&b->t, name, size);
}

void rlx_lowering_open(rlx_lowering *b, const char *name, const rlx_lowering_list *sizes,
                       rlx_lowering_list *index)
{
    rlx_tir_begin_block(&b->t, name);
    index->n = sizes->n;
    for (size_t i = 0; i < sizes->n; i++)
        index->at[i] = open_axis(b, i, false, sizes->at[i]);
}

void rlx_lowering_open_reduce(rlx_lowering *b, const char *name, const rlx_lowering_list *sizes,
                              const bool *reduced, rlx_lowering_list *index)
{
    size_t last = sizes->n; /* the spatial axis that goes innermost */
    for (size_t i = 0; i < sizes->n; i++)
        if (!reduced[i])
            last = i;
    rlx_tir_begin_block(&b->t, name);
    index->n = sizes->n;
    for (size_t i = 0; i < sizes->n; i++)
        if (!reduced[i] && i != last)
            index->at[i] = open_axis(b, i, false, sizes->at[i]);
    for (size_t i = 0; i < sizes->n; i++)
        if (reduced[i])
            index->at[i] = open_axis(b, i, true, sizes->at[i]);
    if (last < sizes->n)
        index->at[last] = open_axis(b, last, false, sizes->at[last]);
}

const rlx_prim *rlx_lowering_product(rlx_lowering *b, const rlx_lowering_list *sizes,
                                     const bool *which)
{
    const rlx_prim *p = rlx_tir_int(&b->t, 1);
    for (size_t i = 0; i < sizes->n; i++)
        if (!which || which[i])
            p = rlx_tir_mul(&b->t, p, sizes->at[i]);
    return p;
}

const rlx_prim_func *rlx_lowering_mapped(rlx_lowering *b, const rlx_lowering_tensor *out,
                                         rlx_lowering_value_fn value, void *user)
{
    rlx_lowering_list index;
    if (b->why || b->t.incomplete)
        return rlx_lowering_end(b);
    rlx_lowering_open(b, b->l->name.data, &out->shape.sizes, &index);
    const rlx_prim *v = value(b, user, &index);
    if (v)
        rlx_tir_store(&b->t, out->buffer, rlx_lowering_items(&index), v);
    else
        rlx_lowering_refuse_dtype(b);
    rlx_tir_end_block(&b->t);
    return rlx_lowering_end(b);
}

rlx_dtype rlx_lowering_accumulator(rlx_dtype t)
{
    return rlx_dtype_is_narrow_float(t) ? RELAX_FLOAT32 : t;
}

void rlx_lowering_partial_sums(rlx_lowering *b, rlx_dtype dtype)
{
    if (rlx_lowering_is_float(dtype))
        rlx_tir_annotate(&b->t, "relax.partial_sums", rlx_int(b->l->ctx, RELAX_INT32, 32));
}

/* ---- the call ------------------------------------------------------------------------------- */

static rlx_slice func_name(const rlx_op_row *row)
{
    const char *dot = strrchr(row->short_name, '.');
    return rlx_slice_z(dot ? dot + 1 : row->short_name);
}

const rlx_expr *rlx_lowering_call(rlx_lower_request *l, const rlx_global_var *gv)
{
    const rlx_expr *args[3] = { &gv->node,
                                rlx_tuple_new(l->ctx, l->inputs, l->num_inputs, l->place), NULL };
    size_t n = 2;
    if (l->tir_vars && l->tir_vars->len)
        args[n++] = rlx_shape_new(l->ctx, l->tir_vars->data, l->tir_vars->len);
    const rlx_op_row *call_tir = rlx_op_find(RLX_SLICE("call_tir"));
    return args[1] && args[n - 1]
               ? rlx_call_op_sinfo(l->ctx, call_tir, args, n, &l->result, 1, NULL, l->place)
               : NULL;
}

bool rlx_lowering_prepare(rlx_lower_request *l, const rlx_sinfo **args, const rlx_env *env,
                          const rlx_scope *scope, const rlx_call *call, const rlx_sinfo *result,
                          const char **why)
{
    rlx_context *ctx = scope->ctx;
    const rlx_op *op = rlx_as_op(call->op);
    *why = "the operator has no lowering";
    if (!op || !op->row || !op->row->lower)
        return false;
    *why = "an argument is not known";
    if (call->num_args > RLX_OP_MAX_ARGS)
        return false;
    for (size_t i = 0; i < call->num_args; i++)
        if (!(args[i] = rlx_leaf_sinfo(ctx, env, call->args[i])))
            return false;
    *why = "no kernel takes distributed tensors";
    for (size_t i = 0; ctx->distributed && i < call->num_args; i++)
        if (rlx_is_distributed(args[i]))
            return false;
    if (ctx->distributed && rlx_is_distributed(result))
        return false;
    *l = (rlx_lower_request){ .ctx = ctx,
                      .call = call,
                      .row = op->row,
                      .args = args,
                      .result = result,
                      .scope = (rlx_scope *)scope,
                      .name = func_name(op->row),
                      .place = call->place };
    *why = NULL;
    return true;
}

const rlx_expr *rlx_lowering_lower(rlx_module_builder *mb, rlx_lower_request *l,
                                   const rlx_global_var **gv, const char **why)
{
    rlx_prims tir_vars = { 0 };
    l->tir_vars = &tir_vars;
    l->separate = rlx_products_are_separate(rlx_module_builder_attrs(mb));
    const rlx_prim_func *f = l->row->lower(l);
    if (!f)
        *why = l->why;
    *gv = f ? rlx_module_builder_add(mb, l->name, &f->node) : NULL;
    const rlx_expr *call = *gv ? rlx_lowering_call(l, *gv) : NULL;
    if (tir_vars.len)
        l->sources = NULL; /* another call would need sizes of its own */
    rlx_vec_free(&l->ctx->memory, &tir_vars);
    l->tir_vars = NULL;
    return call;
}

const rlx_expr *rlx_op_lower(rlx_module_builder *mb, const rlx_scope *scope, const rlx_call *call,
                             const rlx_sinfo *result, const char **why)
{
    const rlx_sinfo *args[RLX_OP_MAX_ARGS];
    const rlx_global_var *gv;
    const char *unused;
    rlx_lower_request l;
    why = why ? why : &unused;
    return rlx_lowering_prepare(&l, args, rlx_module_builder_env(mb), scope, call, result, why)
               ? rlx_lowering_lower(mb, &l, &gv, why)
               : NULL;
}
