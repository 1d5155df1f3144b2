/* test_rules_by_api.c: the rules of programs tried on nodes that no reader made, each in four
 * surroundings: in a function, in a branch, in a local function, and twice in one function. A row
 * plants a violation, or its cure, where bindings stand; every violation is one diagnostic, at a
 * place of what was planted, and nothing else is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text_module.h"
#include "analysis/analysis.h"
#include "analysis/well_formed.h"

/* ---- making programs ------------------------------------------------------------------------ */

typedef struct sequence {
    const rlx_binding *list[64]; size_t count;
    const rlx_node *blocks[16]; size_t num_blocks;
} sequence;
typedef struct maker {
    rlx_context *ctx;
    bool good;                  /* plant the cure */
    uint32_t source, serial;    /* places: every binding has one of its own */
    const rlx_prim *n;          /* bound by x */
    const rlx_sinfo *f32n;
    const rlx_var *x, *c;       /* in scope: R.Tensor((n,), "float32"), a Boolean scalar */
    const rlx_global_var *self;
    sequence *at;
} maker;

static rlx_place here(maker *k) { return rlx_place_make(k->source, 10 * ++k->serial, 5); }
static const rlx_prim *new_size(maker *k)
{
    return &rlx_prim_var_new(k->ctx, rlx_string_z(k->ctx, "m"), RELAX_INT64, RLX_NO_PLACE)->node;
}
static const rlx_sinfo *vec_of(maker *k, const rlx_prim *n)
{
    return rlx_tensor_info(k->ctx, rlx_shape_new(k->ctx, &n, 1), RELAX_FLOAT32, -1, NULL);
}
static const rlx_var *new_var(maker *k, const char *name, const rlx_sinfo *s)
{
    return rlx_var_new(k->ctx, false, rlx_string_z(k->ctx, name), -1, s, here(k));
}
static const rlx_var *flow_var(maker *k, const char *name, const rlx_sinfo *s)
{
    return rlx_var_new(k->ctx, true, rlx_string_z(k->ctx, name), -1, s, here(k));
}
static const rlx_expr *call(maker *k, const rlx_expr *op, const rlx_expr *a, const rlx_expr *b)
{
    const rlx_expr *args[] = { a, b };
    return rlx_call_new(k->ctx, op, args, b ? 2 : a ? 1 : 0, NULL, 0, NULL, here(k));
}
static const rlx_expr *op(maker *k, const char *name)
{
    return rlx_op_node(k->ctx, rlx_op_find(rlx_slice_z(name)));
}
static const rlx_expr *apply(maker *k, const char *name, const rlx_var *a)
{
    return call(k, op(k, name), &a->node, NULL);
}
static const rlx_expr *packed(maker *k, const rlx_expr *a)
{
    const rlx_expr *args[] = { rlx_extern_func_new(k->ctx, RLX_SLICE("p")), a };
    const rlx_sinfo *object = rlx_object_info(k->ctx);
    return rlx_call_new(k->ctx, op(k, "call_pure_packed"), args, 2, &object, 1, NULL, here(k));
}
static void bind(maker *k, const rlx_var *v, const rlx_expr *value)
{
    k->at->list[k->at->count++] = rlx_var_binding_new(k->ctx, v, value, here(k));
}
static const rlx_var *bound(maker *k, const char *name, const rlx_expr *value)
{
    const rlx_var *v = new_var(k, name, k->f32n);
    bind(k, v, value);
    return v;
}
static void object(maker *k, const rlx_expr *value)
{
    bind(k, new_var(k, "o", rlx_object_info(k->ctx)), value);
}
static void cast(maker *k, const rlx_sinfo *s)
{
    k->at->list[k->at->count++] =
        rlx_match_cast_new(k->ctx, new_var(k, "v", s), s, packed(k, &k->x->node), here(k));
}
static void end_block(maker *k, bool dataflow)
{
    sequence *s = k->at;
    if (s->count)
        s->blocks[s->num_blocks++] =
            rlx_block_new(k->ctx, dataflow, s->list, s->count, here(k));
    s->count = 0;
}
static const rlx_expr *end_sequence(maker *k, const rlx_expr *result)
{
    end_block(k, false);
    return rlx_seq_new(k->ctx, k->at->blocks, k->at->num_blocks, result, here(k));
}
static const rlx_expr *leaf_sequence(maker *k, const rlx_expr *result)
{
    return rlx_seq_new(k->ctx, NULL, 0, result, here(k));
}
static const rlx_function *function(maker *k, const rlx_var *const *params, size_t count,
                                    const rlx_expr *body, const rlx_sinfo *ret, bool pure,
                                    const rlx_attr *attrs)
{
    return rlx_function_new(k->ctx, (const rlx_expr *const *)params, count, body,
                            ret ? ret : rlx_object_info(k->ctx), ret != NULL, pure, attrs, NULL,
                            here(k));
}
/* A local function of one parameter p that returns `result`. */
static void local(maker *k, const rlx_sinfo *param, const rlx_sinfo *ret)
{
    const rlx_var *p = new_var(k, "p", param);
    const rlx_function *f =
        function(k, &p, 1, leaf_sequence(k, &p->node), ret, true, NULL);
    object(k, (const rlx_expr *)f);
}

/* ---- variables ------------------------------------------------------------------------------ */

static void used_outside_block(maker *k)
{
    const rlx_var *a = k->good ? new_var(k, "a", k->f32n) : flow_var(k, "a", k->f32n);
    end_block(k, false);
    bind(k, a, apply(k, "exp", k->x));
    end_block(k, true);
    bound(k, "b", apply(k, "sin", a));
}
static void bound_outside_block(maker *k)
{
    bind(k, k->good ? new_var(k, "a", k->f32n) : flow_var(k, "a", k->f32n),
         apply(k, "exp", k->x));
}
static void bound_twice(maker *k)
{
    const rlx_var *y = bound(k, "y", apply(k, "exp", k->x));
    bind(k, k->good ? new_var(k, "y", k->f32n) : y, apply(k, "sin", k->x));
}
static void bound_nowhere(maker *k)
{
    bound(k, "y", apply(k, "exp", k->good ? k->x : new_var(k, "z", k->f32n)));
}
static void own_value(maker *k)
{
    const rlx_var *y = new_var(k, "y", k->f32n);
    bind(k, y, apply(k, "exp", k->good ? k->x : y));
}
static void too_early(maker *k)
{
    const rlx_var *b = new_var(k, "b", k->f32n);
    if (k->good)
        bind(k, b, apply(k, "sin", k->x));
    bound(k, "a", apply(k, "exp", b));
    if (!k->good)
        bind(k, b, apply(k, "sin", k->x));
}
static void out_of_branch(maker *k)
{
    sequence inside = { .count = 0 }, *around = k->at;
    k->at = &inside;
    const rlx_var *a = bound(k, "a", apply(k, "exp", k->x));
    const rlx_expr *yes = end_sequence(k, &a->node);
    k->at = around;
    const rlx_var *r =
        bound(k, "r", rlx_if_new(k->ctx, &k->c->node, yes, leaf_sequence(k, &k->x->node), here(k)));
    bound(k, "u", apply(k, "sin", k->good ? r : a));
}
static void captured(maker *k)
{
    const rlx_var *a = k->good ? new_var(k, "a", k->f32n) : flow_var(k, "a", k->f32n);
    const rlx_var *p = new_var(k, "p", rlx_object_info(k->ctx));
    end_block(k, false);
    bind(k, a, apply(k, "exp", k->x));
    object(k, (const rlx_expr *)function(k, &p, 1, leaf_sequence(k, &a->node), NULL, true, NULL));
    end_block(k, true);
}
static void shared_param(maker *k)
{
    const rlx_var *p = new_var(k, "p", rlx_object_info(k->ctx)),
                  *q = new_var(k, "p", rlx_object_info(k->ctx));
    object(k, (const rlx_expr *)function(k, &p, 1, leaf_sequence(k, &p->node), NULL, true, NULL));
    const rlx_var *again = k->good ? q : p;
    object(k, (const rlx_expr *)function(k, &again, 1, leaf_sequence(k, &again->node), NULL, true,
                                         NULL));
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void size_in_expression(maker *k)
{
    const rlx_prim *m = k->good ? k->n : new_size(k);
    bind(k, new_var(k, "s", rlx_shape_info_rank(k->ctx, 1)), rlx_shape_new(k->ctx, &m, 1));
}
static void size_in_cast(maker *k)
{
    const rlx_prim *m = new_size(k);
    cast(k, vec_of(k, k->good ? m : rlx_fold_mul(k->ctx, m, rlx_int64(k->ctx, 2))));
}
static void size_of_result(maker *k)
{
    local(k, rlx_object_info(k->ctx), vec_of(k, k->good ? k->n : new_size(k)));
}
static void size_without_position(maker *k)
{
    const rlx_prim *m = new_size(k);
    local(k, vec_of(k, k->good ? m : rlx_fold_mul(k->ctx, m, m)), NULL);
}
static void size_in_tensor(maker *k)
{
    bind(k, new_var(k, "y", vec_of(k, k->good ? k->n : new_size(k))), apply(k, "exp", k->x));
}
static void size_in_shape(maker *k)
{
    const rlx_prim *m = k->good ? k->n : new_size(k);
    bind(k, new_var(k, "s", rlx_shape_info(k->ctx, &m, 1)), apply(k, "shape_of", k->x));
}
static void size_in_scalar(maker *k)
{
    bind(k, new_var(k, "s", rlx_prim_info(k->ctx, RELAX_INT64, k->good ? k->n : new_size(k))),
         rlx_prim_value_new(k->ctx, rlx_int64(k->ctx, 4)));
}
static void float_size(maker *k)
{
    const rlx_prim *two = k->good ? rlx_int64(k->ctx, 2) : rlx_float(k->ctx, RELAX_FLOAT32, 2);
    bind(k, new_var(k, "y", vec_of(k, two)), apply(k, "exp", k->x));
}

/* ---- annotations ---------------------------------------------------------------------------- */

static void annotated(maker *k, const rlx_node *key)
{
    bind(k, new_var(k, "y", rlx_node_intern(k->ctx, key)), packed(k, &k->x->node));
}
static void rank_of_variable(maker *k)
{
    rlx_tensor_sinfo t = *(const rlx_tensor_sinfo *)k->f32n;
    t.ndim = k->good ? 1 : 3;
    annotated(k, &t.node);
}
static const rlx_sinfo *shaped(maker *k, int ndim)
{
    rlx_shape_sinfo s = *(const rlx_shape_sinfo *)rlx_shape_info(k->ctx, &k->n, 1);
    s.ndim = ndim;
    return rlx_node_intern(k->ctx, &s.node);
}
static void packed_as(maker *k, const rlx_sinfo *s)
{
    const rlx_expr *args[] = { rlx_extern_func_new(k->ctx, RLX_SLICE("p")), &k->x->node };
    object(k, rlx_call_new(k->ctx, op(k, "call_pure_packed"), args, 2, &s, 1, NULL, here(k)));
}
static void rank_of_argument(maker *k)
{
    rlx_tensor_sinfo t = *(const rlx_tensor_sinfo *)k->f32n;
    t.ndim = k->good ? 1 : 3;
    packed_as(k, rlx_node_intern(k->ctx, &t.node));
}
static void rank_of_shape(maker *k) { packed_as(k, shaped(k, k->good ? 1 : 2)); }
static void shape_is_call(maker *k)
{
    const rlx_var *s = new_var(k, "s", rlx_shape_info(k->ctx, &k->n, 1));
    bind(k, s, apply(k, "shape_of", k->x));
    rlx_tensor_sinfo t = *(const rlx_tensor_sinfo *)k->f32n;
    t.shape = k->good ? &s->node : apply(k, "shape_of", k->x);
    annotated(k, &t.node);
}
static void shape_is_tensor(maker *k)
{
    const rlx_var *s = new_var(k, "s", k->good ? rlx_shape_info(k->ctx, &k->n, 1) : k->f32n);
    bind(k, s, packed(k, &k->x->node));
    rlx_tensor_sinfo t = *(const rlx_tensor_sinfo *)k->f32n;
    t.shape = &s->node;
    annotated(k, &t.node);
}
static void two_forms(maker *k)
{
    rlx_func_sinfo f = { .node.kind = RLX_NODE_FUNC_SINFO,
                         .params = &k->f32n,
                         .num_params = 1,
                         .ret = k->f32n,
                         .derive = k->good ? RLX_DERIVE_NONE : RLX_DERIVE_CONST };
    annotated(k, &f.node);
}
static void prim_dtype(maker *k)
{
    annotated(k, rlx_prim_info(k->ctx, k->good ? RELAX_INT64 : RELAX_HANDLE, NULL));
}
static void lanes(maker *k)
{
    rlx_dtype four;
    rlx_dtype_parse(RLX_SLICE("float32x4"), &four);
    packed_as(k, rlx_tensor_info(k->ctx, NULL, k->good ? RELAX_FLOAT32 : four, 1, NULL));
}
static void prim_value_dtype(maker *k)
{
    packed_as(k, rlx_prim_info(k->ctx, k->good ? RELAX_INT64 : RELAX_INT32, k->n));
}
static void scalar_text(maker *k)
{
    const rlx_prim *four = rlx_prim_call_z(k->ctx, RELAX_INT64, "some_call", &k->n, 1);
    object(k, rlx_prim_value_new(k->ctx, k->good ? k->n : four));
}
static void unlisted_device(maker *k)
{
    rlx_vdevice key = { .node.kind = RLX_NODE_VDEVICE,
                        .target = rlx_attr_string_new(k->ctx, RLX_SLICE("cuda")),
                        .scope = rlx_string_z(k->ctx, "global") };
    const rlx_node *device = k->good ? NULL : rlx_node_intern(k->ctx, &key.node);
    packed_as(k, rlx_tensor_info(k->ctx, NULL, RELAX_FLOAT32, 1, device));
}
static void deep(maker *k)
{
    const rlx_sinfo *s = k->f32n;
    for (int i = 0; i < (k->good ? 100 : 2000); i++)
        s = rlx_tuple_info(k->ctx, &s, 1);
    packed_as(k, s);
}

/* ---- expressions and functions -------------------------------------------------------------- */

static void if_in_block(maker *k)
{
    const rlx_expr *choice = rlx_if_new(k->ctx, &k->c->node, leaf_sequence(k, &k->x->node),
                                        leaf_sequence(k, &k->x->node), here(k));
    end_block(k, false);
    bound(k, "y", choice);
    end_block(k, !k->good);
}
static void recursion_in_block(maker *k)
{
    end_block(k, false);
    object(k, call(k, &k->self->node, &k->x->node, &k->c->node));
    end_block(k, !k->good);
}
static void unstated_recursion(maker *k)
{
    const rlx_var *g = new_var(k, "g", rlx_object_info(k->ctx)),
                  *p = new_var(k, "p", rlx_object_info(k->ctx));
    sequence inside = { .count = 0 }, *around = k->at;
    k->at = &inside;
    const rlx_var *r = bound(k, "r", call(k, &g->node, &p->node, NULL));
    const rlx_expr *body = end_sequence(k, &r->node);
    k->at = around;
    bind(k, g,
         (const rlx_expr *)function(k, &p, 1, body, k->good ? rlx_object_info(k->ctx) : NULL, true,
                                    NULL));
}
static void op_as_value(maker *k) { object(k, k->good ? &k->x->node : op(k, "add")); }
static void op_as_argument(maker *k)
{
    object(k, packed(k, k->good ? &k->x->node : op(k, "add")));
}
static void forced(maker *k)
{
    const rlx_var *p = new_var(k, "p", rlx_object_info(k->ctx));
    const rlx_attr *yes = rlx_attr_bool_new(k->ctx, true);
    object(k, (const rlx_expr *)function(k, &p, 1, leaf_sequence(k, &p->node), NULL, k->good,
                                         rlx_attrs_with(k->ctx, NULL, "relax.force_pure", yes)));
}
static void not_member(maker *k)
{
    const rlx_expr *other =
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "other"), RLX_NO_PLACE)->node;
    object(k, k->good ? &k->self->node : other);
}
static void unknown_op(maker *k)
{
    rlx_op key = { .node.kind = RLX_NODE_OP, .name = rlx_string_z(k->ctx, "relax.flor") };
    object(k, call(k, k->good ? op(k, "floor") : rlx_node_intern(k->ctx, &key.node), &k->x->node,
                   NULL));
}
static void inline_prim_func(maker *k)
{
    rlx_prim_func *f = rlx_node_new(k->ctx, RLX_NODE_PRIM_FUNC);
    object(k, k->good ? &k->x->node : (const rlx_expr *)f);
}
static void negative_index(maker *k)
{
    object(k, rlx_tuple_get_item_new(k->ctx, &k->x->node, k->good ? 0 : -1, here(k)));
}

/* ---- normal form ---------------------------------------------------------------------------- */

static void nested_call(maker *k)
{
    const rlx_expr *inner = apply(k, "exp", k->x);
    bound(k, "y", call(k, op(k, "sin"), k->good ? &k->x->node : inner, NULL));
}
static void nested_in_tuple(maker *k)
{
    const rlx_expr *inner = apply(k, "exp", k->x), *field = k->good ? &k->x->node : inner,
                   *pair = rlx_tuple_new(k->ctx, &field, 1, here(k));
    object(k, rlx_tuple_new(k->ctx, &pair, 1, here(k)));
}
static void sequence_value(maker *k)
{
    object(k, k->good ? &k->x->node : leaf_sequence(k, &k->x->node));
}
static void bare_body(maker *k)
{
    const rlx_var *p = new_var(k, "p", rlx_object_info(k->ctx));
    const rlx_expr *body = k->good ? leaf_sequence(k, &p->node) : &p->node;
    object(k, (const rlx_expr *)function(k, &p, 1, body, NULL, true, NULL));
}
static void split_blocks(maker *k)
{
    end_block(k, false);
    bound(k, "a", apply(k, "exp", k->x));
    end_block(k, true);
    if (k->good)
        bound(k, "m", apply(k, "exp", k->x));
    end_block(k, false);
    bound(k, "b", apply(k, "sin", k->x));
    end_block(k, true);
}
static void result_no_leaf(maker *k)
{
    const rlx_var *p = new_var(k, "p", k->f32n);
    const rlx_expr *result = k->good ? &p->node : apply(k, "exp", p);
    object(k, (const rlx_expr *)function(k, &p, 1, leaf_sequence(k, result), NULL, true, NULL));
}
static void unbound_literal(maker *k)
{
    const rlx_var *p = new_var(k, "p", rlx_object_info(k->ctx));
    const rlx_expr *f = (const rlx_expr *)function(k, &p, 1, leaf_sequence(k, &p->node), NULL,
                                                   true, NULL);
    object(k, call(k, k->good ? &k->self->node : f, &k->x->node, NULL));
}
static void item_of_call(maker *k)
{
    object(k, rlx_tuple_get_item_new(k->ctx, k->good ? &k->x->node : apply(k, "exp", k->x), 0,
                                     here(k)));
}
static void condition_no_leaf(maker *k)
{
    const rlx_expr *cond = k->good ? &k->c->node : packed(k, &k->c->node);
    bound(k, "y",
          rlx_if_new(k->ctx, cond, leaf_sequence(k, &k->x->node), leaf_sequence(k, &k->x->node),
                     here(k)));
}
static void arguments_in_variable(maker *k)
{
    const rlx_expr *x = &k->x->node, *tuple = rlx_tuple_new(k->ctx, &x, 1, here(k));
    const rlx_var *t = new_var(k, "t", rlx_tuple_info(k->ctx, &k->f32n, 1));
    bind(k, t, tuple);
    const rlx_expr *args[] = { rlx_extern_func_new(k->ctx, RLX_SLICE("p")),
                               k->good ? tuple : &t->node };
    object(k, rlx_call_new(k->ctx, op(k, "call_tir"), args, 2, &k->f32n, 1, NULL, here(k)));
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* code: what is said. rule: the page of relax explain that is shown so, where it is another. */
static const struct {
    const char *code, *rule, *message;
    void (*plant)(maker *k);
    enum rlx_stage stage;
} rows[] = {
    { "WF01", NULL, "dataflow variable a is used outside its dataflow block", used_outside_block,
      0 },
    { "WF01", NULL, "dataflow variable a is bound outside a dataflow block", bound_outside_block,
      0 },
    { "WF02", NULL, "variable y is bound twice", bound_twice, 0 },
    { "WF02", NULL, "variable z is not bound anywhere", bound_nowhere, 0 },
    { "WF02", NULL, "variable y occurs in its own value, which is not a function", own_value, 0 },
    { "WF03", NULL, "variable b is used before it is bound", too_early, 0 },
    { "WF03", NULL, "variable a is out of scope here", out_of_branch, 0 },
    { "WF04", NULL, "uses shape variable m, which is not bound by its parameters", size_of_result,
      0 },
    { "WF05", NULL, "shape variable m is used before it is bound", size_in_expression, 0 },
    { "WF05", NULL, "shape variable m is used before it is bound", size_in_cast, 0 },
    { "WF06", NULL, "has no dimension of its own in any parameter", size_without_position, 0 },
    { "WF07", NULL, "if inside a dataflow block", if_in_block, 0 },
    { "WF07", NULL, "call to f inside a dataflow block of f is recursive", recursion_in_block, 0 },
    { "WF08", NULL, "g is recursive but states no return annotation", unstated_recursion, 0 },
    { "WF09", NULL, "operator add is used as a value", op_as_value, 0 },
    { "WF09", NULL, "operator add is used as a value", op_as_argument, 0 },
    { "WF10", NULL, "annotation of y says rank 3 but gives 1 dimensions", rank_of_variable, 0 },
    { "WF11", NULL, "captures dataflow variable a", captured, 0 },
    { "WF14", NULL, "shape variable m is not in scope", size_in_tensor, 0 },
    { "WF14", NULL, "annotation says rank 3 but gives 1 dimensions", rank_of_argument, 0 },
    { "WF14", "NF09", "must be a variable or a list of dimensions, found a call", shape_is_call,
      0 },
    { "WF15", NULL, "is not in scope", size_in_shape, 0 },
    { "WF15", NULL, "shape annotation says rank 2 but gives 1 dimensions", rank_of_shape, 0 },
    { "WF16", NULL, "shape variable m is not in scope", size_in_scalar, 0 },
    { "WF17", "WF17", "function annotation has both parameters and a derive function", two_forms,
      0 },
    { "WF18", NULL, "scalar value must be arithmetic on numbers and shape variables", scalar_text,
      0 },
    { "WF19", NULL, "R.Prim needs an integer, unsigned or float dtype, found handle", prim_dtype,
      0 },
    { "WF20", NULL, "float32x4 has 4 lanes", lanes, 0 },
    { "WF21", NULL, "which is not declared pure", forced, 0 },
    { "WF22", NULL, "value has dtype int64 but R.Prim says int32", prim_value_dtype, 0 },
    { "WF23", "NF05", "call_tir needs its arguments as a tuple literal", arguments_in_variable,
      RLX_STAGE_NORMAL },
    { "WF24", NULL, "is not listed in the module", unlisted_device, 0 },
    { "WX01", NULL, "cls.other is not a function of this module", not_member, 0 },
    { "WX02", "WX02", "unknown operator relax.flor; did you mean", unknown_op, 0 },
    { "WX03", "WX03", "parameter p occurs twice", shared_param, 0 },
    { "WX06", NULL, "dimension has dtype float32", float_size, 0 },
    { "WX07", NULL, "inline PrimFunc", inline_prim_func, 0 },
    { "WX08", "WX08", "structurally damaged", negative_index, 0 },
    { "WX10", "WX10", "annotation nests deeper than 1000 levels", deep, 0 },
    { "TY14", NULL, "shape variable s of a tensor annotation is R.Tensor", shape_is_tensor, 0 },
    { "NF01", "NF01", "argument 1 of sin is a call", nested_call, RLX_STAGE_NORMAL },
    { "NF01", "NF01", "tuple field is a call", nested_in_tuple, RLX_STAGE_NORMAL },
    { "NF02", "NF02", "value of a binding is a sequence", sequence_value, RLX_STAGE_NORMAL },
    { "NF03", "NF03", "it must be a sequence", bare_body, RLX_STAGE_NORMAL },
    { "NF04", "NF04", "block follows another of its kind", split_blocks, RLX_STAGE_NORMAL },
    { "NF06", "NF06", "result of a sequence is a call", result_no_leaf, RLX_STAGE_NORMAL },
    { "NF08", "NF08", "callee is a function literal", unbound_literal, RLX_STAGE_NORMAL },
    { "NF10", "NF10", "indexed tuple is a call", item_of_call, RLX_STAGE_NORMAL },
    { "NF10", "NF10", "condition is a call", condition_no_leaf, RLX_STAGE_NORMAL },
};

/* ---- surroundings --------------------------------------------------------------------------- */

enum surroundings { PLAIN, BRANCH, LOCAL, TWICE, NUM_SURROUNDINGS };
static const char *const surrounding_names[] = { "plain", "in a branch", "in a local function",
                                                 "twice" };

static void plant(maker *k, size_t row)
{
    rows[row].plant(k);
    /* a binding between two plants keeps their blocks apart */
    bound(k, "w", apply(k, "cos", k->x));
}

static void plant_in_branch(maker *k, size_t row)
{
    sequence inside = { .count = 0 }, *around = k->at;
    k->at = &inside;
    plant(k, row);
    const rlx_expr *yes = end_sequence(k, &k->x->node);
    k->at = around;
    bound(k, "r", rlx_if_new(k->ctx, &k->c->node, yes, leaf_sequence(k, &k->x->node), here(k)));
}

static void plant_in_local(maker *k, size_t row)
{
    sequence inside = { .count = 0 }, *around = k->at;
    const rlx_var *p = new_var(k, "p", k->f32n);
    k->at = &inside;
    plant(k, row);
    const rlx_expr *body = end_sequence(k, &p->node);
    k->at = around;
    object(k, (const rlx_expr *)function(k, &p, 1, body, k->f32n, true, NULL));
}

static const rlx_module *program(maker *k, size_t row, enum surroundings where, uint32_t *first,
                                 uint32_t *last)
{
    sequence body = { .count = 0 };
    k->n = new_size(k);
    k->f32n = vec_of(k, k->n);
    k->x = new_var(k, "x", k->f32n);
    k->c = new_var(k, "c", rlx_prim_info(k->ctx, RELAX_BOOL, NULL));
    k->self = rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "f"), here(k));
    k->at = &body;
    *first = k->serial;
    if (where == BRANCH)
        plant_in_branch(k, row);
    else if (where == LOCAL)
        plant_in_local(k, row);
    else
        for (int i = 0; i < (where == TWICE ? 2 : 1); i++)
            plant(k, row);
    *last = k->serial;
    const rlx_var *params[] = { k->x, k->c };
    const rlx_node *f = (const rlx_node *)function(k, params, 2, end_sequence(k, &k->x->node),
                                                   rlx_object_info(k->ctx), true, NULL);
    const rlx_expr *name = &k->self->node;
    return rlx_module_new(k->ctx, &name, &f, 1, NULL, NULL, here(k));
}

/* ---- the judge ------------------------------------------------------------------------------ */

static bool is_there(const rlx_diag *d, size_t row, uint32_t first, uint32_t last)
{
    uint32_t at = rlx_place_begin(d->place) / 10;
    return strcmp(d->code->name, rows[row].code) == 0 && strstr(d->message, rows[row].message) &&
           at > first && at <= last;
}

static void try_row(size_t row, enum surroundings where, bool good)
{
    maker k = { .ctx = rlx_context_create(NULL, 0), .good = good };
    uint32_t first, last;
    k.source = rlx_diags_add_source(&k.ctx->diags, RLX_SLICE("host"), NULL, 0);
    const rlx_module *m = program(&k, row, where, &first, &last);
    assert_non_null(m);
    size_t want = good ? 0 : where == TWICE ? 2 : 1, found = 0;
    bool ok = rlx_well_formed(k.ctx, m, rows[row].stage);
    for (const rlx_diag *d = k.ctx->diags.first; d; d = d->next)
        found += is_there(d, row, first, last);
    if (ok != good || found != want || k.ctx->diags.num_diags != want) {
        char *all = text_diagnostics(k.ctx);
        print_error("%s (%s) %s, %s: wanted %zu, got:\n%s\n", rows[row].code, rows[row].message,
                    surrounding_names[where], good ? "cured" : "bad", want, all);
        free(all);
        fail();
    }
    rlx_context_release(k.ctx);
}

static void test_violations(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        for (int where = 0; where < NUM_SURROUNDINGS; where++)
            try_row(i, (enum surroundings)where, false);
}

static void test_cures(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        for (int where = 0; where < NUM_SURROUNDINGS; where++)
            try_row(i, (enum surroundings)where, true);
}

/* "NF07": flattening would put an ordinary binding into a dataflow block. */
static void test_ordinary_in_dataflow(void **state)
{
    for (int good = 0; good < 2; good++) {
        char codes[256];
        maker k = { .ctx = rlx_context_create(NULL, 0), .good = good };
        sequence inside = { .count = 0 }, body = { .count = 0 };
        k.n = new_size(&k);
        k.f32n = vec_of(&k, k.n);
        k.x = new_var(&k, "x", k.f32n);
        k.at = &inside;
        bound(&k, "a", apply(&k, "exp", k.x));
        end_block(&k, good);
        const rlx_expr *nested = end_sequence(&k, &k.x->node);
        k.at = &body;
        bound(&k, "y", nested);
        end_block(&k, true);
        const rlx_node *f = (const rlx_node *)function(&k, &k.x, 1, end_sequence(&k, &k.x->node),
                                                       rlx_object_info(k.ctx), true, NULL);
        const rlx_expr *name =
            &rlx_global_var_new(k.ctx, rlx_string_z(k.ctx, "f"), RLX_NO_PLACE)->node;
        const rlx_module *m = rlx_module_new(k.ctx, &name, &f, 1, NULL, NULL, RLX_NO_PLACE);
        assert_int_equal(rlx_infer_module(k.ctx, m) != NULL, good);
        assert_string_equal(text_codes(k.ctx, codes), good ? "" : "NF07");
        rlx_context_release(k.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_violations),
        cmocka_unit_test(test_cures),
        cmocka_unit_test(test_ordinary_in_dataflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
