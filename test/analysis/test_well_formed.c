/* test_well_formed.c: each criterion with a program that violates it and the corrected one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text_file.h"
#include "text_module.h"
#include "analysis/analysis.h"
#include "analysis/well_formed.h"

/* What is wrong stands in the program of that name, beside it the corrected one. message: part
 * of the text, with the line and column of the place. */
static const struct { const char *name, *codes, *message;
} texts[] = {
    { "a size before it is bound", "WF05", "shape variable m is used before it is bound" },
    { "a size that nothing gives", "WF05", "cannot bind m; give m a dimension of its own" },
    { "a size without a dimension", "WF06",
      "shape variable m of main has no dimension of its own in any parameter" },
    { "recursion in a dataflow block", "WF07",
      "call to main inside a dataflow block of main is recursive" },
    { "mutual recursion in a dataflow block", "WF07", "which is mutually recursive with" },
    { "recursion without a return annotation", "WF08",
      "main is recursive but states no return annotation" },
    { "a captured dataflow variable", "WF11", "function g captures dataflow variable a" },
    { "no public function", "WF12", "module has no public function" },
    { "another global symbol", "WF13", "global_symbol \"g\" differs from the function name f" },
    { "a size in an annotation", "WF14", "shape variable k is not in scope" },
    { "a size in a shape annotation", "WF15", "is not in scope" },
    { "a size in a scalar annotation", "WF16", "shape variable k is not in scope" },
    { "an integer of 24 bits", "WF20", "int24 is not a supported width" },
    { "force_pure of an impure function", "WF21",
      "relax.force_pure is set on f, which is not declared pure" },
};

/* ---- programs that text cannot spell: built by hand ----------------------------------------- */

typedef struct maker {
    rlx_context *ctx;
    bool good;                       /* make the corrected program */
    const rlx_prim *n, *m;
    const rlx_sinfo *f32n;           /* R.Tensor((n,), "float32") */
    const rlx_var *x;                /* of that kind */
    const rlx_binding *list[8]; size_t count;
    const rlx_node *blocks[4]; size_t num_blocks;
} maker;

static const rlx_prim *size_var(maker *k, const char *name)
{
    return &rlx_prim_var_new(k->ctx, rlx_string_z(k->ctx, name), RELAX_INT64, RLX_NO_PLACE)->node;
}
static const rlx_sinfo *vec_of(maker *k, const rlx_prim *n)
{
    return rlx_tensor_info(k->ctx, rlx_shape_new(k->ctx, &n, 1), RELAX_FLOAT32, -1, NULL);
}
static const rlx_var *make_var(maker *k, bool dataflow, const char *name, const rlx_sinfo *s)
{
    return rlx_var_new(k->ctx, dataflow, rlx_string_z(k->ctx, name), -1, s, RLX_NO_PLACE);
}

static const rlx_expr *apply(maker *k, const char *op, const rlx_var *a, const rlx_var *b)
{
    const rlx_expr *args[] = { &a->node, (const rlx_expr *)b };
    return rlx_call_op_z(k->ctx, op, args, b ? 2 : 1, NULL, RLX_NO_PLACE);
}

static void bind(maker *k, const rlx_var *v, const rlx_expr *value)
{
    k->list[k->count++] = rlx_var_binding_new(k->ctx, v, value, RLX_NO_PLACE);
}
static void end_block(maker *k, bool dataflow)
{
    k->blocks[k->num_blocks++] = rlx_block_new(k->ctx, dataflow, k->list, k->count, RLX_NO_PLACE);
    k->count = 0;
}

static const rlx_node *function_of(maker *k, const rlx_var *const *params, size_t num_params,
                                   const rlx_expr *result, const rlx_sinfo *ret)
{
    if (k->count)
        end_block(k, false);
    const rlx_expr *body = rlx_seq_new(k->ctx, k->blocks, k->num_blocks, result, RLX_NO_PLACE);
    k->num_blocks = 0;
    return (const rlx_node *)rlx_function_new(k->ctx, (const rlx_expr *const *)params, num_params,
                                              body, ret ? ret : rlx_object_info(k->ctx), true,
                                              true, NULL, NULL, RLX_NO_PLACE);
}

static const rlx_module *module_of(maker *k, const rlx_node *f, const rlx_node *g)
{
    const rlx_expr *names[] = {
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "f"), RLX_NO_PLACE)->node,
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "g"), RLX_NO_PLACE)->node
    };
    const rlx_node *functions[] = { f, g };
    return rlx_module_new(k->ctx, names, functions, g ? 2 : 1, NULL, NULL, RLX_NO_PLACE);
}

static const rlx_module *simple(maker *k, const rlx_expr *result)
{
    return module_of(k, function_of(k, &k->x, 1, result, NULL), NULL);
}

static const rlx_module *outside_block(maker *k)
{
    const rlx_var *a = make_var(k, !k->good, "a", k->f32n), *b = make_var(k, false, "b", k->f32n);
    bind(k, a, apply(k, "exp", k->x, NULL));
    end_block(k, true);
    bind(k, b, apply(k, "sin", a, NULL));
    return simple(k, &b->node);
}

static const rlx_module *bound_outside_block(maker *k)
{
    const rlx_var *a = make_var(k, !k->good, "a", k->f32n);
    bind(k, a, apply(k, "exp", k->x, NULL));
    return simple(k, &k->x->node);
}

static const rlx_module *bound_twice(maker *k)
{
    const rlx_var *y = make_var(k, false, "y", k->f32n), *y2 = make_var(k, false, "y", k->f32n);
    bind(k, y, apply(k, "exp", k->x, NULL));
    bind(k, k->good ? y2 : y, apply(k, "sin", k->x, NULL));
    return simple(k, &y->node);
}

static const rlx_module *bound_nowhere(maker *k)
{
    const rlx_var *y = make_var(k, false, "y", k->f32n), *z = make_var(k, false, "z", k->f32n);
    bind(k, z, apply(k, "exp", k->good ? k->x : y, NULL));
    return simple(k, &z->node);
}

static const rlx_module *own_value(maker *k)
{
    const rlx_var *y = make_var(k, false, "y", k->f32n);
    bind(k, y, apply(k, "add", k->good ? k->x : y, k->x));
    return simple(k, &y->node);
}

static const rlx_module *too_early(maker *k)
{
    const rlx_var *a = make_var(k, false, "a", k->f32n), *b = make_var(k, false, "b", k->f32n);
    const rlx_binding *first =
                          rlx_var_binding_new(k->ctx, a, apply(k, "exp", b, NULL), RLX_NO_PLACE),
                      *second =
                          rlx_var_binding_new(k->ctx, b, apply(k, "sin", k->x, NULL), RLX_NO_PLACE);
    k->list[k->count++] = k->good ? second : first;
    k->list[k->count++] = k->good ? first : second;
    return simple(k, &a->node);
}

static const rlx_module *after_branch(maker *k)
{
    const rlx_var *c = make_var(k, false, "c", rlx_prim_info(k->ctx, RELAX_BOOL, NULL)),
                  *a = make_var(k, false, "a", k->f32n), *r = make_var(k, false, "r", k->f32n);
    const rlx_binding *inner =
        rlx_var_binding_new(k->ctx, a, apply(k, "exp", k->x, NULL), RLX_NO_PLACE);
    const rlx_node *block = rlx_block_new(k->ctx, false, &inner, 1, RLX_NO_PLACE);
    const rlx_expr *then = rlx_seq_new(k->ctx, &block, 1, &a->node, RLX_NO_PLACE),
                   *other = rlx_seq_new(k->ctx, NULL, 0, &k->x->node, RLX_NO_PLACE);
    const rlx_var *params[] = { k->x, c };
    bind(k, r, rlx_if_new(k->ctx, &c->node, then, other, RLX_NO_PLACE));
    return module_of(k, function_of(k, params, 2, k->good ? &r->node : &a->node, NULL), NULL);
}

static const rlx_module *return_size(maker *k)
{
    return module_of(k, function_of(k, &k->x, 1, &k->x->node, vec_of(k, k->good ? k->n : k->m)),
                     NULL);
}

static const rlx_module *no_position(maker *k)
{
    const rlx_var *y =
        make_var(k, false, "y", vec_of(k, rlx_fold_mul(k->ctx, k->n, k->good ? k->n : k->m)));
    const rlx_var *params[] = { y, k->x };
    return module_of(k, function_of(k, params, 2, &y->node, NULL), NULL);
}

static const rlx_module *op_as_value(maker *k)
{
    const rlx_var *f = make_var(k, false, "f", rlx_object_info(k->ctx));
    bind(k, f, k->good ? &k->x->node : rlx_op_node(k->ctx, rlx_op_find(RLX_SLICE("add"))));
    return simple(k, &k->x->node);
}

static const rlx_module *rank_of_var(maker *k)
{
    rlx_tensor_sinfo key = *(const rlx_tensor_sinfo *)k->f32n;
    key.ndim = k->good ? 1 : 3;
    const rlx_var *y = make_var(k, false, "y", rlx_node_intern(k->ctx, &key.node));
    const rlx_var *params[] = { k->x, y };
    return module_of(k, function_of(k, params, 2, &y->node, NULL), NULL);
}

static const rlx_module *shape_is_call(maker *k)
{
    rlx_tensor_sinfo key = *(const rlx_tensor_sinfo *)k->f32n;
    const rlx_var *s = make_var(k, false, "s", rlx_shape_info(k->ctx, &k->n, 1));
    bind(k, s, apply(k, "shape_of", k->x, NULL));
    key.shape = k->good ? &s->node : apply(k, "shape_of", k->x, NULL);
    const rlx_var *y = make_var(k, false, "y", rlx_node_intern(k->ctx, &key.node));
    bind(k, y, apply(k, "exp", k->x, NULL));
    return simple(k, &y->node);
}

static const rlx_module *shape_of_no_shape(maker *k)
{
    rlx_tensor_sinfo key = *(const rlx_tensor_sinfo *)k->f32n;
    const rlx_var *s = make_var(k, false, "s", k->good ? rlx_shape_info_rank(k->ctx, 1) : k->f32n);
    key.shape = &s->node;
    const rlx_var *y = make_var(k, false, "y", rlx_node_intern(k->ctx, &key.node));
    const rlx_var *params[] = { k->x, s };
    bind(k, y, apply(k, "exp", k->x, NULL));
    return module_of(k, function_of(k, params, 2, &y->node, NULL), NULL);
}

static const rlx_module *scalar_lanes(maker *k)
{
    const rlx_var *p = make_var(k, false, "p", rlx_object_info(k->ctx));
    const rlx_prim *one = rlx_int(k->ctx, RELAX_INT32, 1), *four = rlx_int(k->ctx, RELAX_INT32, 4);
    rlx_broadcast key = { .node.kind = RLX_NODE_BROADCAST,
                          .dtype = rlx_dtype_with_lanes(RELAX_INT32, 4),
                          .value = one,
                          .lanes = four };
    bind(k, p, rlx_prim_value_new(k->ctx, k->good ? one : rlx_node_intern(k->ctx, &key.node)));
    return simple(k, &p->node);
}

static const rlx_module *with_kind(maker *k, const rlx_sinfo *s)
{
    const rlx_var *y = make_var(k, false, "y", s);
    const rlx_var *params[] = { k->x, y };
    return module_of(k, function_of(k, params, 2, &y->node, NULL), NULL);
}

static const rlx_module *prim_handle(maker *k)
{
    return with_kind(k, rlx_prim_info(k->ctx, k->good ? RELAX_INT64 : RELAX_HANDLE, NULL));
}
static const rlx_module *tensor_lanes(maker *k)
{
    return with_kind(k, rlx_tensor_info(k->ctx, NULL,
                                        rlx_dtype_with_lanes(RELAX_FLOAT32, k->good ? 1 : 4), 1,
                                        NULL));
}
static const rlx_module *float_dimension(maker *k)
{
    return with_kind(k, vec_of(k, k->good ? k->n : rlx_float(k->ctx, RELAX_FLOAT32, 2)));
}

static const rlx_module *prim_value_dtype(maker *k)
{
    rlx_prim_sinfo key = { .node.kind = RLX_NODE_PRIM_SINFO,
                           .dtype = k->good ? RELAX_INT64 : RELAX_INT32,
                           .value = k->n };
    return with_kind(k, rlx_node_intern(k->ctx, &key.node));
}

static const rlx_module *device_listed(maker *k)
{
    rlx_vdevice key = { .node.kind = RLX_NODE_VDEVICE,
                        .target = rlx_attr_string_new(k->ctx, RLX_SLICE("cuda")),
                        .scope = rlx_string_z(k->ctx, "global") };
    const rlx_node *device = rlx_node_intern(k->ctx, &key.node);
    const rlx_module *m = with_kind(k, rlx_tensor_info(k->ctx, NULL, RELAX_FLOAT32, 1, device));
    const rlx_attr *name = rlx_attr_string_new(k->ctx, RLX_SLICE("vdevice")),
                   *list = rlx_attr_list_new(k->ctx, &device, 1);
    return k->good ? rlx_module_new(k->ctx, m->gvars, m->functions, m->num_functions, NULL,
                                    rlx_attrs_new(k->ctx, &name, &list, 1), RLX_NO_PLACE)
                   : m;
}

static const rlx_module *deep_annotation(maker *k)
{
    const rlx_sinfo *s = k->f32n;
    for (int i = 0; i < (k->good ? 100 : 3000); i++)
        s = rlx_tuple_info(k->ctx, &s, 1);
    return with_kind(k, s);
}

/* 2^18 parts, 19 of them different. */
static const rlx_module *shared_annotation(maker *k)
{
    const rlx_sinfo *s = k->good ? k->f32n : vec_of(k, rlx_float(k->ctx, RELAX_FLOAT32, 2));
    for (int i = 0; i < 18; i++) {
        const rlx_sinfo *two[] = { s, s };
        s = i % 2 ? rlx_tuple_info(k->ctx, two, 2)
                  : rlx_func_info(k->ctx, NULL, 0, &s, 1, s, true);
    }
    return with_kind(k, s);
}

static const rlx_module *not_member(maker *k)
{
    const rlx_var *y = make_var(k, false, "y", rlx_object_info(k->ctx));
    const rlx_expr *gv =
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "g"), RLX_NO_PLACE)->node;
    bind(k, y, k->good ? &k->x->node : gv);
    return simple(k, &y->node);
}

static const rlx_module *unknown_op(maker *k)
{
    rlx_op key = { .node.kind = RLX_NODE_OP, .name = rlx_string_z(k->ctx, "relax.flor") };
    const rlx_expr *args[] = { &k->x->node };
    const rlx_var *y = make_var(k, false, "y", k->f32n);
    bind(k, y,
         k->good ? apply(k, "floor", k->x, NULL)
                 : rlx_call_new(k->ctx, rlx_node_intern(k->ctx, &key.node), args, 1, NULL, 0, NULL,
                                RLX_NO_PLACE));
    return simple(k, &y->node);
}

static const rlx_module *shared_param(maker *k)
{
    const rlx_var *x = make_var(k, false, "x", rlx_object_info(k->ctx)),
                  *own = make_var(k, false, "x", rlx_object_info(k->ctx));
    const rlx_node *f = function_of(k, &x, 1, &x->node, NULL);
    const rlx_var *y = k->good ? own : x;
    return module_of(k, f, function_of(k, &y, 1, &y->node, NULL));
}

static const rlx_module *shared_size(maker *k)
{
    const rlx_node *f = function_of(k, &k->x, 1, &k->x->node, NULL);
    const rlx_var *y = make_var(k, false, "y", vec_of(k, k->good ? size_var(k, "n") : k->n));
    return module_of(k, f, function_of(k, &y, 1, &y->node, NULL));
}

static const rlx_module *same_name(maker *k)
{
    const rlx_node *f = function_of(k, &k->x, 1, &k->x->node, NULL);
    const rlx_prim *n = size_var(k, "n");
    const rlx_var *y = make_var(k, false, "y", vec_of(k, n));
    const rlx_node *functions[] = { f, function_of(k, &y, 1, &y->node, NULL) };
    const rlx_expr *names[] = {
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "f"), RLX_NO_PLACE)->node,
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, k->good ? "g" : "f"), RLX_NO_PLACE)->node
    };
    return rlx_module_new(k->ctx, names, functions, 2, NULL, NULL, RLX_NO_PLACE);
}

static const struct {
    const char *codes, *message;
    const rlx_module *(*make)(maker *k);
} built[] = {
    { "WF01", "dataflow variable a is used outside its dataflow block", outside_block },
    { "WF01", "dataflow variable a is bound outside a dataflow block", bound_outside_block },
    { "WF02", "variable y is bound twice", bound_twice },
    { "WF02", "variable y is not bound anywhere", bound_nowhere },
    { "WF02", "variable y occurs in its own value, which is not a function", own_value },
    { "WF03", "variable b is used before it is bound", too_early },
    { "WF03", "variable a is out of scope here", after_branch },
    { "WF04", "return annotation of f uses shape variable m, which is not bound by its parameters",
      return_size },
    { "WF06", "shape variable m of f has no dimension of its own in any parameter", no_position },
    { "WF09", "operator add is used as a value", op_as_value },
    { "WF10", "says rank 3 but gives 1 dimensions", rank_of_var },
    { "WF14",
      "shape of a tensor annotation must be a variable or a list of dimensions, found a call",
      shape_is_call },
    { "TY14", "shape variable s of a tensor annotation is R.Tensor", shape_of_no_shape },
    { "WF18", "scalar value must have one lane, found int32x4", scalar_lanes },
    { "WF19", "R.Prim needs an integer, unsigned or float dtype, found handle", prim_handle },
    { "WF20", "float32x4 has 4 lanes; Relax tensors have scalar elements", tensor_lanes },
    { "WF22", "value has dtype int64 but R.Prim says int32", prim_value_dtype },
    { "WF24", "is not listed in the module", device_listed },
    { "WX01", "cls.g is not a function of this module", not_member },
    { "WX02", "unknown operator relax.flor; did you mean", unknown_op },
    { "WX03", "parameter x is shared by functions f and g", shared_param },
    { "WX04", "shape variable n is shared by functions f and g", shared_size },
    { "WX05", "two functions are named f", same_name },
    { "WX06", "dimension has dtype float32", float_dimension },
    { "WX06", NULL, shared_annotation },
    { "WX10", "annotation nests deeper than 1000 levels", deep_annotation },
};

static void expect(rlx_context *ctx, const char *name, const char *codes, const char *message);

static void test_built(void **state)
{
    for (size_t i = 0; i < sizeof built / sizeof built[0]; i++)
        for (int good = 0; good < 2; good++) {
            maker k = { .ctx = rlx_context_create(NULL, 0), .good = good };
            k.n = size_var(&k, "n");
            k.m = size_var(&k, "m");
            k.f32n = vec_of(&k, k.n);
            k.x = make_var(&k, false, "x", k.f32n);
            const rlx_module *m = built[i].make(&k);
            assert_non_null(m);
            bool ok = rlx_well_formed(k.ctx, m, RLX_STAGE_ANY);
            expect(k.ctx, built[i].codes, good ? "" : built[i].codes,
                   good ? NULL : built[i].message);
            assert_int_equal(ok, good);
            rlx_context_release(k.ctx);
        }
}

static void expect(rlx_context *ctx, const char *name, const char *codes, const char *message)
{
    char room[256];
    char *all = text_diagnostics(ctx);
    if (strcmp(text_codes(ctx, room), codes) != 0 || (message && !strstr(all, message))) {
        print_error("%s: wanted %s (%s), got:\n%s\n", name, codes, message ? message : "", all);
        fail();
    }
    free(all);
}

static void test_texts(void **state)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int good = 0; good < 2; good++) {
            rlx_context *ctx = rlx_context_create(NULL, 0);
            char name[100];
            snprintf(name, sizeof name, "%s%s", texts[i].name, good ? ", corrected" : "");
            const rlx_module *m = text_module(ctx, PROGRAM(name));
            rlx_diags_flush(&ctx->diags);
            if (!m) {
                char *d = text_diagnostics(ctx);
                print_error("%s: cannot read: %s\n", name, d);
                free(d);
                fail();
            }
            rlx_diags_clear(&ctx->diags); /* TY warnings of reading are another test's */
            bool ok = rlx_well_formed(ctx, m, RLX_STAGE_EXPLICIT);
            assert_int_equal(ok, good || strcmp(texts[i].codes, "WF12") == 0);
            expect(ctx, name, good ? "" : texts[i].codes,
                   good ? NULL : texts[i].message);
            rlx_context_release(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
