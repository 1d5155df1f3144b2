/* test_fusion.c: fusion beside the golden cases: patterns of operators, post-dominators and groups of random graphs. */
#include "analysis/analysis.h"
#include "transform/fuse_graph.h"
#include "transform/transform.h"

#include "text_file.h"
#include "text_module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- patterns of operators ------------------------------------------------------------------ */

static const struct { const char *call; int64_t pattern; } operators[] = {
    { "R.exp(x)", RLX_ELEMWISE },
    { "R.nn.gelu(x)", RLX_ELEMWISE },
    { "R.add(x, y)", RLX_ELEMWISE },
    { "R.add(x, b)", RLX_ELEMWISE },               /* one operand is as large as the result */
    { "R.where(R.greater(x, y), x, y)", RLX_ELEMWISE },
    { "R.astype(x, \"float16\")", RLX_ELEMWISE },
    { "R.clip(x, 0, 6)", RLX_ELEMWISE },
    { "R.broadcast_to(b, (6, 8))", RLX_BROADCAST },
    { "R.full((6, 8), R.const(1.0), dtype=\"float32\")", RLX_BROADCAST },
    { "R.expand_dims(b, 0)", RLX_BROADCAST },
    { "R.permute_dims(a)", RLX_INJECTIVE },
    { "R.reshape(a, (4, 12))", RLX_INJECTIVE },
    { "R.concat((a, w), axis=0)", RLX_INJECTIVE },
    { "R.split(a, 2, axis=1)", RLX_INJECTIVE },
    { "R.strided_slice(a, [0], [1], [5], [2])", RLX_INJECTIVE },
    { "R.strided_slice(a, [0], [0], [5], [1])", RLX_INJECTIVE }, /* the first rows */
    { "R.take(a, i, axis=0)", RLX_INJECTIVE },
    { "R.flip(a, axis=0)", RLX_INJECTIVE },
    { "R.nn.pad(a, (1, 1, 2, 2))", RLX_INJECTIVE },
    { "R.sum(x, axis=1)", RLX_REDUCTION },
    { "R.max(x)", RLX_REDUCTION },
    { "R.mean(x, axis=[2, 3])", RLX_OUT_FUSABLE }, /* the sum, and then the quotient */
    { "R.nn.softmax(x)", RLX_OUT_FUSABLE },
    { "R.nn.layer_norm(a, b, b, axes=[-1])", RLX_OUT_FUSABLE },
    { "R.matmul(a, w)", RLX_OUT_FUSABLE },
    { "R.nn.conv2d(x, k)", RLX_OUT_FUSABLE },
    { "R.nn.conv2d(x, k, padding=(1, 1))", RLX_OUT_FUSABLE },
    { "R.nn.conv2d(x, g, padding=(1, 1), groups=4)", RLX_OUT_FUSABLE },
    { "R.nn.max_pool2d(x, (2, 2))", RLX_OUT_FUSABLE },
    { "R.nn.avg_pool2d(x, (2, 2))", RLX_OUT_FUSABLE },
    { "R.cumsum(a, axis=0)", RLX_OPAQUE },
};

static int64_t pattern_of_last(const rlx_module *m)
{
    int64_t pattern = -1;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_prim_func *f = rlx_as_prim_func(m->functions[i]);
        int64_t stated;
        if (f && rlx_stated_op_pattern(f, &stated) && stated > pattern)
            pattern = stated;
    }
    return pattern;
}

static void test_operators(void **state)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        rlx_pass_step steps[3] = { { .row = rlx_pass_find(RLX_SLICE("normalize")) },
                                   { .row = rlx_pass_find(RLX_SLICE("legalize_ops")) },
                                   { .row = rlx_pass_find(RLX_SLICE("annotate_tir_op_pattern")) } };
        char text[2048];
        snprintf(text, sizeof text, PROGRAM("one operator"), operators[i].call);
        const rlx_module *m = text_module(ctx, text);
        m = m ? rlx_run_passes(ctx, m, steps, 3, NULL) : NULL;
        int64_t have = m ? pattern_of_last(m) : -2;
        if (have != operators[i].pattern)
            print_message("%s: %d, wanted %d\n", operators[i].call, (int)have, (int)operators[i].pattern);
        assert_int_equal(have, operators[i].pattern);
        rlx_context_release(ctx);
    }
}

/* ---- graphs --------------------------------------------------------------------------------- */

static uint32_t random_state = 1;
static uint32_t pick(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

static void random_graph(rlx_fuse_graph *g, uint32_t n)
{
    static const uint8_t patterns[] = { 0, 0, 0, 0, 1, 2, 2, 3, 4, 8 };
    for (uint32_t i = 0; i < n; i++) {
        rlx_fuse_node node = { .pattern = patterns[pick(sizeof patterns)], .kept = !pick(8), .section = i / 40 };
        assert_true(rlx_vec_push(g->memory, &g->nodes, node));
        for (uint32_t k = pick(3); i && k-- > 0;) {
            uint32_t near = pick(4) ? i - 1 - pick(i < 4 ? i : 4) : pick(i);
            assert_true(rlx_vec_push(g->memory, &g->edges, ((rlx_fuse_edge){ near, i })));
        }
    }
}

/* Does every way from `from` to where nothing follows go through `through`? A node that is kept is such an end. */
static bool is_passed(const rlx_fuse_graph *g, uint32_t from, uint32_t through)
{
    bool reached[64] = { false };
    reached[from] = true;
    for (uint32_t i = from; i < g->nodes.len; i++) {
        bool ends = g->nodes.data[i].kept;
        size_t users = 0;
        if (!reached[i] || i == through)
            continue;
        for (size_t e = 0; e < g->edges.len; e++) {
            users += g->edges.data[e].group == i;
            reached[g->edges.data[e].item] |= g->edges.data[e].group == i;
        }
        if (ends || !users)
            return false;
    }
    return true;
}

static uint32_t dominator(const rlx_fuse_graph *g, uint32_t n)
{
    for (uint32_t i = n + 1; i < g->nodes.len; i++)
        if (is_passed(g, n, i))
            return i + 1;
    return 0;
}

/* Only the last node of a group is used outside; nothing opaque is in one, nor two kinds of places. */
static void check_groups(rlx_fuse_graph *g, size_t most)
{
    uint32_t last[64] = { 0 }, size[64] = { 0 };
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        uint32_t group = rlx_fuse_group(g, i);
        last[group] = i;
        size[group]++;
    }
    for (uint32_t i = 0; i < g->nodes.len; i++) {
        uint32_t group = rlx_fuse_group(g, i);
        assert_true(size[group] <= most);
        if (size[group] < 2)
            continue;
        assert_true(g->nodes.data[i].pattern <= RLX_OUT_FUSABLE);
        assert_int_equal(g->nodes.data[i].section, g->nodes.data[group].section);
        assert_true(i == last[group] || !g->nodes.data[i].kept);
    }
    for (size_t e = 0; e < g->edges.len; e++) {
        uint32_t from = g->edges.data[e].group, group = rlx_fuse_group(g, from);
        assert_true(from == last[group] || rlx_fuse_group(g, g->edges.data[e].item) == group);
    }
}

static void test_random_graphs(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    size_t groups = 0;
    for (int round = 0; round < 2000; round++) {
        rlx_fuse_graph g = { .memory = &ctx->memory };
        size_t most = round % 3 ? 256 : 3;
        random_graph(&g, 1 + pick(60));
        assert_true(rlx_fuse_partition(&g, most));
        for (uint32_t i = 0; i < g.nodes.len; i++) {
            bool used = false;
            for (size_t e = 0; e < g.edges.len; e++)
                used |= g.edges.data[e].group == i;
            assert_int_equal(g.nodes.data[i].parent, used && !g.nodes.data[i].kept ? dominator(&g, i) : 0);
            groups += rlx_fuse_group(&g, i) != i;
        }
        check_groups(&g, most);
        rlx_fuse_graph_free(&g);
    }
    assert_true(groups > 2000);
    rlx_context_release(ctx);
}

/* A long chain with jumps over all of it costs as much as one without, roughly. */
static void test_large_graph(void **state)
{
    enum { NODES = 200000 };
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_fuse_graph g = { .memory = &ctx->memory };
    for (uint32_t i = 0; i < NODES; i++) {
        rlx_fuse_node n = { .pattern = i % 5 == 4 ? RLX_INJECTIVE : RLX_ELEMWISE };
        assert_true(rlx_vec_push(g.memory, &g.nodes, n));
        assert_true(!i || rlx_vec_push(g.memory, &g.edges, ((rlx_fuse_edge){ i - 1, i })));
        assert_true(i + 2 >= NODES || rlx_vec_push(g.memory, &g.edges, ((rlx_fuse_edge){ i, NODES - 1 })));
    }
    assert_true(rlx_fuse_partition(&g, 256));
    assert_int_equal(g.nodes.data[0].parent, NODES);
    rlx_fuse_graph_free(&g);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_operators), cmocka_unit_test(test_random_graphs),
                                        cmocka_unit_test(test_large_graph) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
