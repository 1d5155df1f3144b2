/* test_layout.c: convert_layout beside its golden cases. Sides of random graphs against all choices there are; and random networks of
 * convolutions, whose results are the same to the bit whatever the order of their axes. RELAX_LONG=1 tries many more networks;
 * PROGRAM_SEED=n tries one and shows it. */
#include "../api/api_fixture.h"
#include "random_host.h"
#include "random_program.h"
#include "text_file.h"

#include "transform/minimal_cut.h"

#define NETWORKS 150
#define LONG_NETWORKS 5000

/* ---- sides ---------------------------------------------------------------------------------- */

enum { MOST_NODES = 9, MOST_EDGES = 30 };
typedef struct edge { uint32_t a, b; int64_t cost; } edge;

static int64_t cost_of(const edge *edges, size_t count, uint32_t far)
{
    int64_t cost = 0;
    for (size_t i = 0; i < count; i++)
        cost += !(far >> edges[i].a & 1) && (far >> edges[i].b & 1) ? edges[i].cost : 0;
    return cost;
}

static void test_sides(void **state)
{
    uint64_t s = 7;
    rlx_memory memory = { 0 };
    (void)state;
    assert_true(rlx_memory_init(&memory, NULL, SIZE_MAX));
    for (int round = 0; round < 4000; round++) {
        rlx_cut c = { .memory = &memory };
        edge edges[MOST_EDGES];
        uint32_t nodes = 3 + random_roll(&s, MOST_NODES - 3), count = 1 + random_roll(&s, MOST_EDGES), fewest = UINT32_MAX, best = 0, have = 0;
        for (uint32_t i = 2; i < nodes; i++)
            assert_int_equal(rlx_cut_node_new(&c), i);
        for (uint32_t i = 0; i < count; i++) {
            edges[i] = (edge){ random_roll(&s, nodes), random_roll(&s, nodes), random_roll(&s, 6) ? random_roll(&s, 5) : 100 };
            rlx_cut_connect(&c, edges[i].a, edges[i].b, edges[i].cost);
        }
        int64_t least = INT64_MAX;
        for (uint32_t far = 0; far < 1u << nodes; far++) {
            if ((far & 1) || !(far & 2))
                continue;
            int64_t cost = cost_of(edges, count, far);
            uint32_t size = (uint32_t)__builtin_popcount(far);
            if (cost < least || (cost == least && size < fewest))
                least = cost, fewest = size, best = far;
        }
        assert_true(rlx_cut_solve(&c));
        for (uint32_t i = 0; i < nodes; i++)
            have |= (uint32_t)rlx_cut_is_far(&c, i) << i;
        assert_int_equal(cost_of(edges, count, have), least);
        assert_int_equal(have, best);
        rlx_cut_free(&c);
    }
}

/* ---- networks ------------------------------------------------------------------------------- */

enum { MOST_VALUES = 64, MOST_PARAMS = 64 };
typedef struct network {
    char text[65536], params[16384], body[40000];
    size_t num_params, num_values;
    struct { int64_t c, h, w; } values[MOST_VALUES]; /* t0, t1, ...: images of so many channels */
    int64_t shapes[MOST_PARAMS][4];
    size_t ranks[MOST_PARAMS];
    int64_t batch;
} network;

static void put(char *to, size_t size, const char *format, ...)
{
    va_list args;
    size_t len = strlen(to);
    va_start(args, format);
    int more = vsnprintf(to + len, size - len, format, args);
    va_end(args);
    assert_true(more >= 0 && len + (size_t)more < size);
}
#define BODY(...) put(n->body, sizeof n->body, __VA_ARGS__)

static size_t param(network *n, size_t rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t shape[4] = { a, b, c, d };
    size_t at = n->num_params++;
    assert_true(at < MOST_PARAMS);
    put(n->params, sizeof n->params, "%sw%zu: R.Tensor((", at ? ", " : "", at);
    for (size_t i = 0; i < rank; i++)
        put(n->params, sizeof n->params, "%d,", (int)shape[i]);
    put(n->params, sizeof n->params, "), \"float32\")");
    memcpy(n->shapes[at], shape, sizeof shape);
    n->ranks[at] = rank;
    return at;
}

static size_t value(network *n, int64_t c, int64_t h, int64_t w)
{
    assert_true(n->num_values < MOST_VALUES && h > 0 && w > 0);
    n->values[n->num_values].c = c, n->values[n->num_values].h = h, n->values[n->num_values].w = w;
    return n->num_values++;
}

static void convolution(network *n, uint64_t *s, size_t x)
{
    const int64_t c = n->values[x].c, h = n->values[x].h, w = n->values[x].w;
    const int64_t sizes[] = { 1, 1, 3, 3, 5 }, k = sizes[random_roll(s, 5)], step = 1 + (random_roll(s, 4) == 0), pad = random_roll(s, 3) ? k / 2 : 0;
    if (h + 2 * pad < k || w + 2 * pad < k)
        return;
    const int kind = (int)random_roll(s, 3);
    const int64_t groups = kind == 0 ? c : kind == 1 && c % 2 == 0 ? 2 : 1, out = groups * (groups == c ? 1 : 1 + random_roll(s, 12));
    const bool turned = random_roll(s, 5) == 0;
    size_t weight = turned ? param(n, 4, out, k, k, c / groups) : param(n, 4, out, c / groups, k, k);
    size_t y = value(n, out, (h + 2 * pad - k) / step + 1, (w + 2 * pad - k) / step + 1);
    BODY("            t%zu = R.nn.conv2d(t%zu, w%zu, strides=[%d, %d], padding=[%d, %d, %d, %d], groups=%d, kernel_layout=\"%s\")\n", y, x, weight,
         (int)step, (int)step, (int)pad, (int)pad, (int)pad, (int)pad, (int)groups, turned ? "OHWI" : "OIHW");
}

static void normalisation(network *n, uint64_t *s, size_t x)
{
    const int64_t c = n->values[x].c;
    size_t p[4], y = value(n, c, n->values[x].h, n->values[x].w);
    for (int i = 0; i < 4; i++)
        p[i] = param(n, 1, c, 0, 0, 0);
    BODY("            b%zu = R.nn.batch_norm(t%zu, w%zu, w%zu, w%zu, w%zu, axis=%d, training=%s)\n", y, x, p[0], p[1], p[2], p[3],
         random_roll(s, 2) ? 1 : -3, random_roll(s, 3) ? "False" : "True");
    BODY("            t%zu = b%zu[0]\n", y, y);
}

static void elementwise(network *n, uint64_t *s, size_t x)
{
    static const char *const calls[] = { "R.nn.relu(t%zu)", "R.sigmoid(t%zu)", "R.clip(t%zu, 0, 1)", "R.nn.leakyrelu(t%zu, alpha=0.2)",
                                         "R.maximum(t%zu, R.const(0.25, \"float32\"))", "R.negative(t%zu)" };
    char call[128];
    size_t y = value(n, n->values[x].c, n->values[x].h, n->values[x].w);
    snprintf(call, sizeof call, calls[random_roll(s, 6)], x);
    BODY("            t%zu = %s\n", y, call);
}

static void by_channel(network *n, uint64_t *s, size_t x)
{
    const int64_t c = n->values[x].c;
    size_t p = random_roll(s, 2) ? param(n, 3, c, 1, 1, 0) : random_roll(s, 2) ? param(n, 4, 1, c, 1, 1) : param(n, 1, n->values[x].w, 0, 0, 0);
    size_t y = value(n, c, n->values[x].h, n->values[x].w);
    BODY("            t%zu = R.%s(w%zu, t%zu)\n", y, random_roll(s, 2) ? "multiply" : "add", p, x);
}

/* An operator on two images of the same size, if there are two. */
static void pair(network *n, uint64_t *s, size_t x)
{
    size_t other = random_roll(s, (uint32_t)n->num_values);
    const int64_t c = n->values[x].c, h = n->values[x].h, w = n->values[x].w;
    if (n->values[other].h != h || n->values[other].w != w)
        return;
    if (n->values[other].c == c && random_roll(s, 2)) {
        size_t y = value(n, c, h, w);
        BODY("            t%zu = R.add(t%zu, t%zu)\n", y, x, other);
    } else if (c + n->values[other].c < 64) {
        size_t y = value(n, c + n->values[other].c, h, w);
        BODY("            t%zu = R.concat((t%zu, t%zu), axis=1)\n", y, x, other);
    }
}

static void pooling(network *n, uint64_t *s, size_t x)
{
    const int64_t c = n->values[x].c, h = n->values[x].h, w = n->values[x].w;
    switch (random_roll(s, 4)) {
    case 0:
        if (h < 2 || w < 2)
            return;
        BODY("            t%zu = R.nn.%s_pool2d(t%zu, pool_size=[2, 2], strides=[2, 2])\n", n->num_values, random_roll(s, 2) ? "max" : "avg", x);
        value(n, c, h / 2, w / 2);
        return;
    case 1:
        BODY("            g%zu = R.%s(t%zu, axis=[2, 3], keepdims=True)\n", n->num_values, random_roll(s, 2) ? "mean" : "max", x);
        BODY("            t%zu = R.multiply(t%zu, g%zu)\n", n->num_values, x, n->num_values);
        value(n, c, h, w);
        return;
    case 2:
        BODY("            t%zu = R.nn.pad(t%zu, pad_width=[0, 0, 0, 0, 1, 0, 0, 2])\n", n->num_values, x);
        value(n, c, h + 1, w + 2);
        return;
    default:
        BODY("            p%zu = R.permute_dims(t%zu, axes=[0, 2, 3, 1])\n", n->num_values, x);
        BODY("            q%zu = R.tanh(p%zu)\n", n->num_values, n->num_values);
        BODY("            t%zu = R.permute_dims(q%zu, axes=[0, 3, 1, 2])\n", n->num_values, n->num_values);
        value(n, c, h, w);
    }
}

static void halves(network *n, uint64_t *s, size_t x)
{
    const int64_t c = n->values[x].c, h = n->values[x].h, w = n->values[x].w;
    if (c % 2)
        return;
    BODY("            s%zu = R.split(t%zu, 2, axis=1)\n", n->num_values, x);
    BODY("            t%zu = s%zu[%d]\n", n->num_values, n->num_values, (int)random_roll(s, 2));
    value(n, c / 2, h, w);
}

static void build_network(network *n, uint64_t seed)
{
    typedef void step(network *n, uint64_t *s, size_t x);
    static step *const steps[] = { convolution, convolution, convolution, normalisation, elementwise, elementwise, by_channel, pair, pair, pooling, halves };
    uint64_t s = seed * 77777;
    memset(n, 0, sizeof *n);
    n->batch = 1 + (random_roll(&s, 4) == 0);
    const int64_t c = 1 + random_roll(&s, 20), h = 3 + random_roll(&s, 14), w = 3 + random_roll(&s, 30);
    param(n, 4, n->batch, c, h, w);
    value(n, c, h, w);
    BODY("            t0 = R.abs(w0)\n");
    for (uint32_t i = 0, count = 3 + random_roll(&s, 12); i < count && n->num_params + 5 < MOST_PARAMS; i++) {
        size_t x = random_roll(&s, 3) ? n->num_values - 1 : random_roll(&s, (uint32_t)n->num_values);
        steps[random_roll(&s, N(steps))](n, &s, x);
    }
    size_t last = n->num_values - 1, other = random_roll(&s, (uint32_t)n->num_values);
    BODY("            m = R.mean(t%zu, axis=[2, 3])\n            u = R.abs(t%zu)\n            R.output(m, u, t%zu)\n        return (m, u, t%zu)\n", last, last, other,
         other);
    put(n->text, sizeof n->text, PROGRAM("parameters and bindings"), n->params, n->body);
}

/* A window for each channel: over a picture that is large, or whose channels lie a power of two apart, rows at a time
 * (schedule/channel_rows.c); over a small one some channels at a time (schedule/channels.c). */
static void build_rows(network *n, uint64_t seed)
{
    uint64_t s = seed * 77777;
    memset(n, 0, sizeof *n);
    static const int64_t channels[] = { 64, 100, 256, 512, 48, 192, 336 };
    const bool small = random_roll(&s, 2);
    const int64_t c = channels[random_roll(&s, small ? N(channels) : 4)], k = 2 + random_roll(&s, 4), step = 1 + random_roll(&s, 3), dilation = 1 + (random_roll(&s, 4) == 0);
    const int64_t h = small ? 1 + random_roll(&s, 9) : 5 + random_roll(&s, 60), w = small ? 1 + random_roll(&s, 9) : 5 + random_roll(&s, c > 100 ? 15 : 40), top = random_roll(&s, 4), left = random_roll(&s, 3),
                  below = random_roll(&s, 4), right = random_roll(&s, 3), reach = dilation * (k - 1) + 1;
    n->batch = 1 + (random_roll(&s, 6) == 0);
    param(n, 4, n->batch, h + reach, w + reach, c);
    param(n, 4, c, 1, k, k);
    for (int i = 0; i < 4; i++)
        param(n, 1, c, 0, 0, 0);
    BODY("            t0 = R.nn.conv2d(w0, w1, strides=[%d, %d], padding=[%d, %d, %d, %d], dilation=[%d, %d], groups=%d, data_layout=\"NHWC\")\n", (int)step, (int)step,
         (int)top, (int)left, (int)below, (int)right, (int)dilation, (int)dilation, (int)c);
    if (random_roll(&s, 3))
        BODY("            b = R.nn.batch_norm(t0, w2, w3, w4, w5, axis=3, training=False)\n            t1 = b[0]\n            t2 = R.clip(t1, 0, 1)\n");
    else
        BODY("            t1 = R.add(t0, w2)\n            t2 = R.multiply(t1, R.sigmoid(t1))\n");
    BODY("%s", random_roll(&s, 4) ? "            R.output(t2)\n        return t2\n" : "            R.output(t0, t2)\n        return (t0, t2)\n");
    put(n->text, sizeof n->text, PROGRAM("parameters and bindings"), n->params, n->body);
}

static void complain(relax_context *ctx, const network *n, const char *what)
{
    fprintf(stderr, "%s\n%s\n", n->text, what);
    for (size_t i = 0; ctx && i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *said = relax_diagnostic_render(ctx, i);
        fprintf(stderr, "%s\n", relax_bytes_data(said));
        relax_bytes_release(said);
    }
    fail();
}

static relax_value random_tensor(const network *n, size_t i, uint64_t *s)
{
    relax_tensor *t = NULL;
    size_t count = 1;
    for (size_t d = 0; d < n->ranks[i]; d++)
        count *= (size_t)n->shapes[i][d];
    float *data = malloc((count + 1) * sizeof *data);
    for (size_t k = 0; k < count; k++)
        data[k] = (float)random_roll(s, 2000) / 1000 - (n->ranks[i] == 1 ? 0 : 1);
    relax_value v = { 0 };
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, n->shapes[i], (int32_t)n->ranks[i], NULL, &t, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_copy_in(t, data, count * sizeof *data), RELAX_OK);
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    free(data);
    return v;
}

enum { NONE = MOST_PARAMS };

/* bound: a parameter that is a constant, whose content the program is given when it is built. */
static random_seen run_bound(relax_context *ctx, const relax_module *m, const network *n, size_t bound, int32_t level, const char *what)
{
    random_seen seen = { 0 };
    relax_value args[MOST_PARAMS], result = { 0 };
    relax_compile_options options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    uint64_t s = 99;
    relax_compile_options_init(&options, sizeof options);
    options.opt_level = level;
    for (size_t i = 0; i < n->num_params; i++)
        args[i] = random_tensor(n, i, &s);
    size_t num_args = n->num_params;
    if (bound < num_args) {
        char text[32];
        snprintf(text, sizeof text, "w%zu", bound);
        const char *name = text;
        const relax_tensor *content = relax_value_get_tensor(&args[bound]);
        m = relax_module_bind_params(ctx, m, NULL, 0, &name, &content, 1);
        relax_value_release(&args[bound]);
        memmove(args + bound, args + bound + 1, (--num_args - bound) * sizeof *args);
    }
    relax_executable *exe = m ? relax_module_compile(ctx, m, &options) : NULL;
    if (!exe)
        complain(ctx, n, what);
    assert_int_equal(relax_vm_create(exe, NULL, &vm, NULL), RELAX_OK);
    if (relax_vm_call(vm, Z("main"), args, num_args, &result, &error) != RELAX_OK) {
        fprintf(stderr, "%s\n", relax_error_message(error, NULL));
        complain(NULL, n, what);
    }
    random_see(&seen, &result);
    relax_value_release(&result);
    relax_vm_release(vm);
    relax_executable_release(exe);
    for (size_t i = 0; i < num_args; i++)
        relax_value_release(&args[i]);
    return seen;
}

static random_seen run(relax_context *ctx, const relax_module *m, const network *n, int32_t level, const char *what)
{
    return run_bound(ctx, m, n, NONE, level, what);
}

static const char *const layouts[][2] = { { "NHWC", "" }, { "NHWC", "OHWI" }, { "NHWC", "HWIO" }, { "CHWN", "" }, { "", "" } };

static const relax_module *converted(relax_context *ctx, const relax_module *m, const char *const *layout)
{
    static const char *const names[] = { "data_layout", "kernel_layout" };
    const relax_attr *options = NULL;
    for (size_t i = 0; i < 2; i++)
        options = relax_attr_map_with(ctx, options, Z(names[i]), relax_attr_string_new(ctx, Z(layout[i])));
    return relax_pass_run(ctx, m, Z("convert_layout"), options);
}

/* In how many networks a layout changed something. */
static size_t num_converted[N(layouts)];

static void try_network(uint64_t seed, bool show)
{
    static network n;
    build_network(&n, seed);
    relax_context *ctx = relax_context_create(NULL);
    if (show)
        printf("%s\n", n.text);
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), n.text, strlen(n.text));
    if (!m)
        complain(ctx, &n, "it is well-formed");
    random_seen want = run(ctx, m, &n, 0, "as it is");
    for (size_t i = 0; i < N(layouts); i++) {
        const relax_module *now = converted(ctx, m, layouts[i]);
        if (!now || relax_module_well_formed(ctx, now, RELAX_CHECK_NORMAL) != 1)
            complain(ctx, &n, layouts[i][0]);
        num_converted[i] += now != m;
        random_seen got = run(ctx, now, &n, i % 2 ? 2 : 0, layouts[i][0]);
        if (got.len != want.len || memcmp(got.data, want.data, want.len) != 0)
            complain(ctx, &n, layouts[i][0]);
        free(got.data);
    }
    free(want.data);
    relax_context_release(ctx);
}

static void layouts_keep_the_numbers(void **state)
{
    const char *first = getenv("PROGRAM_SEED");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1, count = first ? 1 : getenv("RELAX_LONG") ? LONG_NETWORKS : NETWORKS;
    (void)state;
    for (uint64_t end = seed + count; seed < end; seed++)
        try_network(seed, first != NULL);
    for (size_t i = 0; i < N(layouts) && !first; i++)
        assert_true(num_converted[i] > (layouts[i][0][0] ? NETWORKS / 2 : 0));
}

static void rows_keep_the_numbers(void **state)
{
    static network n;
    (void)state;
    for (uint64_t seed = 1; seed <= (getenv("RELAX_LONG") ? 1000 : 40); seed++) {
        build_rows(&n, seed);
        relax_context *ctx = relax_context_create(NULL);
        const relax_module *m = relax_module_parse(ctx, Z("m.py"), n.text, strlen(n.text));
        if (!m)
            complain(ctx, &n, "it is well-formed");
        random_seen want = run(ctx, m, &n, 0, "as it is"), got = run_bound(ctx, m, &n, seed % 3 ? 1 : NONE, 2, "in rows");
        if (got.len != want.len || memcmp(got.data, want.data, want.len) != 0)
            complain(ctx, &n, "in rows");
        free(want.data);
        free(got.data);
        relax_context_release(ctx);
    }
}

/* What a context has reported before is nothing that a later build failed at. */
static void earlier_errors_do_not_count(void **state)
{
    static network n;
    relax_context *ctx = relax_context_create(NULL);
    (void)state;
    assert_null(relax_module_parse(ctx, Z("m.py"), Z("no program")));
    for (uint64_t seed = 1; seed <= 4; seed++) {
        build_rows(&n, seed);
        const relax_module *m = relax_module_parse(ctx, Z("m.py"), n.text, strlen(n.text));
        assert_non_null(m);
        assert_ptr_equal(relax_pass_run(ctx, m, Z("convert_layout"), NULL), m);
        random_seen seen = run(ctx, m, &n, 2, "behind an error");
        free(seen.data);
    }
    relax_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sides), cmocka_unit_test(layouts_keep_the_numbers),
                                        cmocka_unit_test(rows_keep_the_numbers), cmocka_unit_test(earlier_errors_do_not_count) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
