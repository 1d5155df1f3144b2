/* test_normalize.c: normal form of random nestings: every result is normal, comes back as the same
 * object, runs in the order of evaluation and says where its bindings come from.
 *
 * Calls of packed functions are numbered; each notes its number when it runs. What the order must
 * be is told by a walk over the tree as it was made: operands before the operation, left to
 * right, the condition before the one branch that is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <relax/relax.h>
#include "analysis/analysis.h"
#include "analysis/well_formed.h"
#include "ir/ir.h"

#define MOST_CALLS 400

typedef struct world {
    rlx_context *ctx;
    uint64_t seed;
    int calls;               /* made so far: their numbers */
    int expected[MOST_CALLS], num_expected;
    int seen[MOST_CALLS], num_seen;
    const rlx_expr *vars[64]; /* that may be used */
    int num_vars;
    bool taken;              /* is what is made now evaluated? */
} world;

static uint64_t pick(world *w, uint64_t below)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 7;
    w->seed ^= w->seed << 17;
    return (w->seed >> 11) % below;
}

static rlx_place place_of(int number)
{
    return rlx_place_make(0, 10 + (uint32_t)number, 1);
}

/* Of bindings that were written as such. */
#define STATED rlx_place_make(0, 5, 1)

/* f(number, args...), noting when it runs. As a condition it is true for odd numbers. */
static const rlx_expr *call(world *w, const rlx_expr *const *args, size_t count, bool is_condition,
                            int *number)
{
    const rlx_expr *all[8];
    const rlx_sinfo *info = is_condition ? rlx_prim_info(w->ctx, RELAX_BOOL, NULL)
                                         : rlx_object_info(w->ctx);
    *number = w->calls++;
    all[0] = rlx_prim_value_new(w->ctx, rlx_int64(w->ctx, *number));
    for (size_t i = 0; i < count; i++)
        all[i + 1] = args[i];
    if (w->taken && w->num_expected < MOST_CALLS)
        w->expected[w->num_expected++] = *number;
    rlx_slice name = is_condition ? RLX_SLICE("test.odd") : RLX_SLICE("test.note");
    return rlx_call_new(w->ctx, rlx_extern_func_new(w->ctx, name), all, count + 1, &info, 1, NULL,
                        place_of(*number));
}

static const rlx_expr *grow(world *w, int depth);

static const rlx_expr *grow_call(world *w, int depth)
{
    const rlx_expr *args[3];
    size_t count = pick(w, 4);
    int number;
    for (size_t i = 0; i < count; i++)
        args[i] = grow(w, depth - 1);
    return call(w, args, count, false, &number);
}

static const rlx_expr *grow_tuple(world *w, int depth, bool item)
{
    const rlx_expr *fields[3];
    size_t count = 1 + pick(w, 3);
    for (size_t i = 0; i < count; i++)
        fields[i] = grow(w, depth - 1);
    const rlx_expr *t = rlx_tuple_new(w->ctx, fields, count, RLX_NO_PLACE);
    return item ? rlx_tuple_get_item_new(w->ctx, t, (int64_t)pick(w, count), RLX_NO_PLACE) : t;
}

static const rlx_expr *grow_if(world *w, int depth)
{
    int number, vars = w->num_vars;
    const rlx_expr *arg = grow(w, depth - 1), *branches[2];
    const rlx_expr *cond = call(w, &arg, 1, true, &number);
    bool before = w->taken;
    for (int i = 0; i < 2; i++) {
        w->taken = before && (number % 2 == 1) == (i == 0);
        branches[i] = grow(w, depth - 1);
        w->num_vars = vars;
    }
    w->taken = before;
    return rlx_if_new(w->ctx, cond, branches[0], branches[1], RLX_NO_PLACE);
}

static const rlx_binding *grow_binding(world *w, int depth)
{
    const rlx_expr *value = grow(w, depth - 1);
    const rlx_var *v = rlx_var_new(w->ctx, false, rlx_string_z(w->ctx, "v"), -1,
                                   rlx_object_info(w->ctx), RLX_NO_PLACE);
    if (w->num_vars < 64)
        w->vars[w->num_vars++] = &v->node;
    rlx_place place = rlx_place_of(value);
    return rlx_var_binding_new(w->ctx, v, value, place ? place : STATED);
}

/* One to three ordinary blocks, some of them empty, and a body. */
static const rlx_expr *grow_seq(world *w, int depth)
{
    const rlx_node *blocks[3];
    size_t count = 1 + pick(w, 3);
    for (size_t i = 0; i < count; i++) {
        const rlx_binding *bindings[2];
        size_t len = pick(w, 3);
        for (size_t k = 0; k < len; k++)
            bindings[k] = grow_binding(w, depth);
        blocks[i] = rlx_block_new(w->ctx, false, bindings, len, RLX_NO_PLACE);
    }
    return rlx_seq_new(w->ctx, blocks, count, grow(w, depth - 1), RLX_NO_PLACE);
}

static const rlx_expr *grow(world *w, int depth)
{
    if (depth <= 0 || w->calls > MOST_CALLS / 2)
        return w->vars[pick(w, (uint64_t)w->num_vars)];
    switch (pick(w, 8)) {
    case 0: return w->vars[pick(w, (uint64_t)w->num_vars)];
    case 1: return grow_tuple(w, depth, false);
    case 2: return grow_tuple(w, depth, true);
    case 3: return grow_if(w, depth);
    case 4:
    case 5: return grow_seq(w, depth);
    default: return grow_call(w, depth);
    }
}

static const rlx_module *module_of(world *w, const rlx_expr *param, const rlx_expr *body)
{
    const rlx_global_var *gv =
        rlx_global_var_new(w->ctx, rlx_string_z(w->ctx, "main"), RLX_NO_PLACE);
    const rlx_attr *key = rlx_attr_string_new(w->ctx, RLX_SLICE("global_symbol")),
                   *name = rlx_attr_string_new(w->ctx, RLX_SLICE("main"));
    const rlx_function *f =
        rlx_function_new(w->ctx, &param, 1, body, rlx_object_info(w->ctx), true, false,
                         rlx_attrs_new(w->ctx, &key, &name, 1), NULL, RLX_NO_PLACE);
    const rlx_expr *gvars[] = { &gv->node };
    const rlx_node *functions[] = { &f->node };
    return rlx_module_new(w->ctx, gvars, functions, 1, NULL, NULL, RLX_NO_PLACE);
}

static const rlx_expr *parameter(world *w)
{
    const rlx_var *x = rlx_var_new(w->ctx, false, rlx_string_z(w->ctx, "x"), -1,
                                   rlx_object_info(w->ctx), RLX_NO_PLACE);
    w->vars[0] = &x->node;
    w->num_vars = 1;
    return &x->node;
}

static const rlx_module *normalized(world *w, const rlx_module *m)
{
    const relax_module *out = relax_module_normalize(w->ctx, (const relax_module *)(const void *)m);
    for (size_t i = 0; !out && i < relax_context_num_diagnostics(w->ctx); i++)
        print_error("%s\n", relax_diagnostic_message(w->ctx, i, NULL));
    return (const rlx_module *)(const void *)out;
}

static const rlx_function *main_of(const rlx_module *m)
{
    return rlx_as_function(m->functions[0]);
}

/* Normal, the same object when asked again. */
static const rlx_module *check_normal(world *w, const rlx_module *m)
{
    const rlx_module *out = normalized(w, m);
    assert_non_null(out);
    assert_true(rlx_is_normal(w->ctx, main_of(out), true));
    assert_ptr_equal(normalized(w, out), out);
    assert_int_equal(relax_context_num_errors(w->ctx), 0);
    return out;
}

/* --- running --- */

static int note(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    world *w = self;
    (void)num_args;
    if (w->num_seen < MOST_CALLS)
        w->seen[w->num_seen++] = (int)args[0].v.i;
    relax_value_set_int(result, args[0].v.i);
    return 0;
}

static int odd(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    note(self, args, num_args, result);
    relax_value_set_bool(result, args[0].v.i % 2);
    return 0;
}

static void run(world *w, const rlx_module *m)
{
    relax_registry *registry = NULL;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_value arg = { 0 }, result = { 0 };
    relax_vm_options options;
    relax_executable *exe =
        relax_module_compile(w->ctx, (const relax_module *)(const void *)m, NULL);
    for (size_t i = 0; !exe && i < relax_context_num_diagnostics(w->ctx); i++)
        print_error("%s\n", relax_diagnostic_message(w->ctx, i, NULL));
    assert_non_null(exe);
    assert_int_equal(relax_registry_create(NULL, &registry, &error), RELAX_OK);
    relax_registry_register(registry, "test.note", 9, note, w, NULL, &error);
    relax_registry_register(registry, "test.odd", 8, odd, w, NULL, &error);
    relax_vm_options_init(&options, sizeof options);
    options.registry = registry;
    assert_int_equal(relax_vm_create(exe, &options, &vm, &error), RELAX_OK);
    relax_value_set_int(&arg, 7);
    if (relax_vm_call(vm, "main", 4, &arg, 1, &result, &error) != RELAX_OK)
        fail_msg("%s", relax_error_message(error, NULL));
    relax_value_release(&result);
    relax_vm_release(vm);
    relax_registry_release(registry);
    relax_executable_release(exe);
}

/* --- places: each call is bound where it was written --- */

static void check_places(const rlx_expr *body)
{
    const rlx_expr *stack[256] = { body };
    size_t len = 1;
    while (len) {
        const rlx_seq_expr *s = rlx_as_seq_expr(stack[--len]);
        assert_non_null(s);
        for (size_t i = 0; i < s->num_blocks; i++) {
            const rlx_block *block = rlx_as_block(s->blocks[i]);
            for (size_t k = 0; k < block->num_bindings; k++) {
                const rlx_var_binding *b = rlx_as_var_binding(block->bindings[k]);
                const rlx_call *c = rlx_as_call(b->value);
                const rlx_if_expr *f = rlx_as_if_expr(b->value);
                if (c) {
                    int64_t number = -1;
                    rlx_int_literal(rlx_as_prim_value(c->args[0])->value, &number);
                    if (rlx_place_of(block->bindings[k]) != STATED)
                        assert_int_equal(rlx_place_of(block->bindings[k]), place_of((int)number));
                }
                if (f && len + 2 <= RLX_COUNT(stack)) {
                    stack[len++] = f->true_branch;
                    stack[len++] = f->false_branch;
                }
            }
        }
    }
}

static void test_random_nestings(void **state)
{
    (void)state;
    int cases = getenv("RELAX_LONG") ? 5000 : 500, total = 0;
    for (int i = 0; i < cases; i++) {
        world w = { .ctx = rlx_context_create(NULL, 0), .seed = 88172645463325252ull + (unsigned)i,
                    .taken = true };
        const rlx_expr *x = parameter(&w);
        const rlx_expr *body = grow(&w, 2 + (int)pick(&w, 4));
        const rlx_module *m = check_normal(&w, module_of(&w, x, body));
        check_places(main_of(m)->body);
        run(&w, m);
        if (w.num_seen != w.num_expected ||
            memcmp(w.seen, w.expected, (size_t)w.num_seen * sizeof *w.seen) != 0)
            fail_msg("case %d: %d calls ran, wanted %d, or in another order", i, w.num_seen,
                     w.num_expected);
        total += w.num_seen;
        rlx_context_release(w.ctx);
    }
    assert_true(total > cases); /* there was something to order */
}

/* --- dataflow blocks --- */

static const rlx_expr *pure(world *w, const rlx_expr *x)
{
    const rlx_expr *fields[] = { x, x };
    return rlx_tuple_get_item_new(w->ctx, rlx_tuple_new(w->ctx, fields, 2, RLX_NO_PLACE), 0,
                                  RLX_NO_PLACE);
}

/* outer block of one kind binds what an inner one of another kind gives */
static const rlx_expr *block_in_block(world *w, bool outer, bool inner, bool empty)
{
    const rlx_var *a = rlx_var_new(w->ctx, false, rlx_string_z(w->ctx, "a"), -1,
                                   rlx_object_info(w->ctx), RLX_NO_PLACE),
                  *b = rlx_var_new(w->ctx, false, rlx_string_z(w->ctx, "b"), -1,
                                   rlx_object_info(w->ctx), RLX_NO_PLACE);
    const rlx_binding *inside = rlx_var_binding_new(w->ctx, a, pure(w, w->vars[0]), RLX_NO_PLACE);
    const rlx_node *block =
        rlx_block_new(w->ctx, inner, &inside, empty ? 0 : 1, rlx_place_make(0, 5, 1));
    const rlx_expr *seq =
        rlx_seq_new(w->ctx, &block, 1, empty ? w->vars[0] : &a->node, RLX_NO_PLACE);
    const rlx_binding *outside = rlx_var_binding_new(w->ctx, b, seq, RLX_NO_PLACE);
    block = rlx_block_new(w->ctx, outer, &outside, 1, RLX_NO_PLACE);
    return rlx_seq_new(w->ctx, &block, 1, &b->node, RLX_NO_PLACE);
}

/* NF04, NF07: how many blocks of the kinds are left; -1: malformed. */
static void test_blocks_in_blocks(void **state)
{
    (void)state;
    static const struct { bool outer, inner, empty; int blocks; } rows[] = {
        { false, false, false, 1 }, { true, true, false, 1 },  { false, true, false, 2 },
        { true, false, false, -1 }, { true, false, true, 1 },  { false, true, true, 1 },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        world w = { .ctx = rlx_context_create(NULL, 0), .seed = 1 };
        const rlx_expr *x = parameter(&w);
        const rlx_module *m = module_of(
            &w, x, block_in_block(&w, rows[i].outer, rows[i].inner, rows[i].empty));
        if (rows[i].blocks < 0) {
            assert_null(relax_module_normalize(w.ctx, (const relax_module *)(const void *)m));
            assert_int_equal(relax_context_num_errors(w.ctx), 1);
            assert_string_equal(relax_diagnostic_code(w.ctx, 0), "NF07");
        } else {
            const rlx_module *out = check_normal(&w, m);
            assert_int_equal(rlx_as_seq_expr(main_of(out)->body)->num_blocks, rows[i].blocks);
        }
        rlx_context_release(w.ctx);
    }
}

/* --- depth --- */

static const rlx_expr *deepen(world *w, const rlx_expr *e, int form)
{
    const rlx_sinfo *info = rlx_object_info(w->ctx);
    const rlx_node *block = rlx_block_new(w->ctx, false, NULL, 0, RLX_NO_PLACE);
    const rlx_expr *extern_fn = rlx_extern_func_new(w->ctx, RLX_SLICE("test.note"));
    switch (form) {
    case 0: return rlx_call_new(w->ctx, extern_fn, &e, 1, &info, 1, NULL, RLX_NO_PLACE);
    case 1: return rlx_seq_new(w->ctx, &block, 1, e, RLX_NO_PLACE);
    case 2:
        return rlx_tuple_get_item_new(w->ctx, rlx_tuple_new(w->ctx, &e, 1, RLX_NO_PLACE), 0,
                                      RLX_NO_PLACE);
    case 3: return rlx_if_new(w->ctx, w->vars[0], e, w->vars[0], RLX_NO_PLACE);
    default: { /* a literal, called */
        const rlx_expr *y =
            &rlx_var_new(w->ctx, false, rlx_string_z(w->ctx, "y"), -1, info, 0)->node;
        const rlx_function *f = rlx_function_new(w->ctx, &y, 1, e, info, true, false, NULL, NULL,
                                                 RLX_NO_PLACE);
        return rlx_call_new(w->ctx, &f->node, w->vars, 1, NULL, 0, NULL, RLX_NO_PLACE);
    }
    }
}

static void test_depth(void **state)
{
    (void)state;
    static const int depths[] = { 100000, 100000, 100000, 100000, 20000 };
    for (int form = 0; form < 5; form++) {
        world w = { .ctx = rlx_context_create(NULL, 0), .seed = 1 };
        const rlx_expr *x = parameter(&w), *e = x;
        if (form == 3)
            w.vars[0] = rlx_prim_value_new(w.ctx, rlx_int(w.ctx, RELAX_BOOL, 1));
        for (int i = 0; i < depths[form]; i++)
            e = deepen(&w, e, form);
        const rlx_module *out = check_normal(&w, module_of(&w, x, e));
        if (form == 0) /* one ordinary block of all of them */
            assert_int_equal(
                rlx_as_block(rlx_as_seq_expr(main_of(out)->body)->blocks[0])->num_bindings,
                depths[form]);
        rlx_context_release(w.ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_nestings),
        cmocka_unit_test(test_blocks_in_blocks),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests_name("transform/normalize", tests, NULL, NULL);
}
