/* test_views: what is computed does not depend on who shares memory. Random programs of reshapes, splits, joins,
 * slices, elementwise operators, in-place calls, branches, calls and packed functions that write into
 * what they get or once got are built at level 0, where each tensor has memory of its own, and at
 * levels 1 and 2: results, arguments and what shares memory with what are the same.
 * VIEWS_SEED=n tries one program and shows it; RELAX_LONG=1 tries many, every 40th as C as well. */
#include "../api/api_fixture.h"
#include "random_program.h"
#include "text_file.h"

enum { PROGRAMS = 700, LONG_PROGRAMS = 20000, MAX_ITEMS = 200, ROWS = 4, ELEMENTS = 24 };

/* ---- programs ------------------------------------------------------------------------------- */

static const struct { const char *shape, *half; } forms[] = {
    { "(n, 6)", "(n // 2, 6)" }, { "(n * 6,)", "(n * 3,)" }, { "(n, 2, 3)", "(n // 2, 2, 3)" },
    { "(2, n * 3)", "(1, n * 3)" }, { "(4, 6)", "(2, 6)" }, { "(1, 24)", "(1, 12)" }, { "(24,)", "(12,)" },
};
typedef struct item { char name[8]; uint8_t form; bool half; } item;
typedef struct gen {
    uint64_t state;
    char text[60000];
    size_t len;
    item items[MAX_ITEMS];
    uint32_t num_items, names;
    bool symbolic, impure;
} gen;

static uint32_t roll(gen *g, uint32_t n) { return random_roll(&g->state, n); }

#define LINE(g, ...) \
    ((g)->len += (size_t)snprintf((g)->text + (g)->len, sizeof (g)->text - (g)->len, "        " __VA_ARGS__), \
     (g)->text[(g)->len++] = '\n', (g)->text[(g)->len] = 0)

static uint8_t some_form(gen *g)
{
    return (uint8_t)(g->symbolic ? roll(g, 4) : 4 + roll(g, 3));
}

static const char *shape_of(const item *a) { return a->half ? forms[a->form].half : forms[a->form].shape; }

static item fresh(gen *g, uint8_t form, bool half)
{
    item a = { .form = form, .half = half };
    snprintf(a.name, sizeof a.name, "v%u", g->names++);
    return a;
}

static void keep(gen *g, item a)
{
    if (g->num_items < MAX_ITEMS)
        g->items[g->num_items++] = a;
}

static const item *any_item(gen *g) { return &g->items[roll(g, g->num_items)]; }

/* An item of the form and size, if a few attempts find one. */
static const item *like(gen *g, const item *a)
{
    for (int i = 0; i < 20; i++) {
        const item *b = any_item(g);
        if (b->form == a->form && b->half == a->half)
            return b;
    }
    return a;
}

static void unary(gen *g)
{
    static const char *const ops[] = { "exp", "negative", "nn.relu", "tanh", "nn.gelu", "nn.silu" };
    const item *a = any_item(g);
    item v = fresh(g, a->form, a->half);
    LINE(g, "%s = R.%s(%s)", v.name, ops[roll(g, N(ops))], a->name);
    keep(g, v);
}

static void binary(gen *g)
{
    static const char *const ops[] = { "add", "subtract", "multiply", "maximum" };
    const item *a = any_item(g), *b = like(g, a);
    item v = fresh(g, a->form, a->half);
    LINE(g, "%s = R.%s(%s, %s)", v.name, ops[roll(g, N(ops))], a->name, b->name);
    keep(g, v);
}

static void reshape(gen *g)
{
    const item *a = any_item(g);
    item v = fresh(g, some_form(g), a->half);
    LINE(g, "%s = R.reshape(%s, R.shape([%.*s]))", v.name, a->name, (int)strcspn(shape_of(&v) + 1, ")"),
         shape_of(&v) + 1);
    keep(g, v);
}

static void split(gen *g)
{
    const item *a = any_item(g);
    if (a->half || a->form == 5)
        return;
    item t = fresh(g, 0, false), u = fresh(g, a->form, true), w = fresh(g, a->form, true);
    LINE(g, "%s = R.split(%s, 2, axis=0)", t.name, a->name);
    LINE(g, "%s = R.match_cast(%s[0], R.Tensor(%s, \"float32\"))", u.name, t.name, shape_of(&u));
    LINE(g, "%s = R.match_cast(%s[1], R.Tensor(%s, \"float32\"))", w.name, t.name, shape_of(&w));
    keep(g, u);
    keep(g, w);
}

static void slice(gen *g)
{
    const item *a = any_item(g);
    if (a->half || a->form != 4)
        return;
    uint32_t begin = roll(g, 3);
    item v = fresh(g, a->form, true);
    LINE(g, "%s = R.strided_slice(%s, axes=[0], begin=[%u], end=[%u])", v.name, a->name, begin, begin + 2);
    keep(g, v);
}

/* Two halves, which are read later, too, or what was made of others, become one. */
static void join(gen *g)
{
    item half[2];
    for (int i = 0; i < 2; i++) {
        const item *a = any_item(g);
        for (int k = 0; k < 20 && (!a->half || (i && a->form != half[0].form)); k++)
            a = any_item(g);
        if (!a->half || a->form < 4 || (i && a->form != half[0].form))
            return;
        half[i] = *a;
        if (roll(g, 4)) {
            half[i] = fresh(g, a->form, true);
            LINE(g, "%s = R.%s(%s)", half[i].name, roll(g, 2) ? "exp" : "nn.relu", a->name);
            keep(g, half[i]);
        }
    }
    item v = fresh(g, half[0].form, false), u = fresh(g, v.form, false);
    LINE(g, "%s = R.concat((%s, %s), axis=%d)", v.name, half[0].name, half[roll(g, 6) > 0].name, v.form == 5);
    if (v.form != 4 || roll(g, 3)) {
        keep(g, v);
        return;
    }
    LINE(g, "%s = R.call_tir_inplace(cls.bump, (%s,), inplace_indices=[0], out_sinfo=R.Tensor(%s, \"float32\"))", u.name, v.name,
         shape_of(&u));
    keep(g, u);
}

static void permute(gen *g)
{
    const item *a = any_item(g);
    if (a->form != 0 && a->form != 4)
        return;
    item w = fresh(g, 0, false), v = fresh(g, a->form, a->half);
    LINE(g, "%s = R.permute_dims(%s)", w.name, a->name);
    LINE(g, "%s = R.reshape(%s, R.shape([%.*s]))", v.name, w.name, (int)strcspn(shape_of(&v) + 1, ")"),
         shape_of(&v) + 1);
    keep(g, v);
}

/* A cast there and back: elements of one size, and of another one. */
static void cast(gen *g)
{
    const item *a = any_item(g);
    item w = fresh(g, 0, false), v = fresh(g, a->form, a->half);
    LINE(g, "%s = R.astype(%s, \"%s\")", w.name, a->name, roll(g, 2) ? "int32" : "float16");
    LINE(g, "%s = R.astype(%s, \"float32\")", v.name, w.name);
    keep(g, v);
}

/* Overwrites what was made here, of which a reshape was taken before. */
static void inplace(gen *g)
{
    const item *a = any_item(g);
    if (a->half || (a->form != 0 && a->form != 4))
        return;
    item w = fresh(g, a->form, false), v = fresh(g, some_form(g), false), u = fresh(g, a->form, false);
    LINE(g, "%s = R.add(%s, %s)", w.name, a->name, a->name);
    if (roll(g, 2)) {
        LINE(g, "%s = R.reshape(%s, R.shape([%.*s]))", v.name, w.name, (int)strcspn(shape_of(&v) + 1, ")"),
             shape_of(&v) + 1);
        keep(g, v);
    }
    LINE(g, "%s = R.call_tir_inplace(cls.bump, (%s,), inplace_indices=[0], out_sinfo=R.Tensor(%s, \"float32\"))",
         u.name, w.name, shape_of(&u));
    keep(g, u);
}

static void packed(gen *g)
{
    if (!g->impure)
        return;
    switch (roll(g, 3)) {
    case 0: LINE(g, "R.call_packed(\"host.bump\", %s, sinfo_args=(R.Tuple,))", any_item(g)->name); break;
    case 1: LINE(g, "R.call_packed(\"host.keep\", %s, sinfo_args=(R.Tuple,))", any_item(g)->name); break;
    default: LINE(g, "R.call_packed(\"host.poke\", sinfo_args=(R.Tuple,))"); break;
    }
}

static void branch(gen *g)
{
    const item *a = any_item(g), *b = like(g, a);
    item v = fresh(g, a->form, a->half), w = fresh(g, 0, false), u = fresh(g, 0, false);
    const char *flat = g->symbolic ? a->half ? "n * 3" : "n * 6" : a->half ? "12" : "24";
    LINE(g, "if c:");
    LINE(g, "    %s = R.reshape(%s, R.shape([%s]))", w.name, a->name, flat);
    LINE(g, "    %s = R.exp(%s)", u.name, w.name);
    LINE(g, "    %s = R.reshape(%s, R.shape([%.*s]))", v.name, u.name, (int)strcspn(shape_of(&v) + 1, ")"),
         shape_of(&v) + 1);
    LINE(g, "else:");
    if (roll(g, 2))
        LINE(g, "    %s = R.add(%s, %s)", v.name, b->name, a->name);
    else
        LINE(g, "    %s = %s", v.name, b->name);
    keep(g, v);
}

static void call(gen *g)
{
    const item *a = any_item(g);
    if (a->half || (a->form != 0 && a->form != 4))
        return;
    item v = fresh(g, a->form, false);
    LINE(g, "%s: R.Tensor(%s, \"float32\") = cls.part(%s)", v.name, shape_of(&v), a->name);
    keep(g, v);
}

static void tuple(gen *g)
{
    const item *a = any_item(g);
    item t = fresh(g, 0, false), v = fresh(g, a->form, a->half);
    LINE(g, "%s = (%s, %s)", t.name, any_item(g)->name, a->name);
    LINE(g, "%s = %s[1]", v.name, t.name);
    keep(g, v);
}

static const char *write_program(gen *g, uint64_t seed)
{
    static void (*const statements[])(gen *) = { unary, unary, binary, binary, reshape, reshape, reshape, split, split,
                                                 join, join, slice, permute, cast, inplace, packed, packed, branch, call,
                                                 tuple };
    *g = (gen){ .state = seed };
    g->symbolic = roll(g, 2);
    g->impure = roll(g, 2);
    const char *form = g->symbolic ? "(\"n\", 6)" : "(4, 6)";
    g->len = (size_t)snprintf(g->text, sizeof g->text, PROGRAM("a random program begins"), form, form, form,
                              g->impure ? "(pure=False)" : "", form, form);
    g->len = strlen(g->text);
    if (g->symbolic)
        LINE(g, "n = T.int64()");
    LINE(g, "cls = Module");
    for (int i = 0; i < 2; i++) {
        item a = { .form = g->symbolic ? 0 : 4 };
        snprintf(a.name, sizeof a.name, "%c", "xy"[i]);
        keep(g, a);
    }
    for (uint32_t i = 0, count = 3 + roll(g, 22); i < count; i++)
        statements[roll(g, N(statements))](g);
    LINE(g, "result = (%s, %s, %s)", any_item(g)->name, any_item(g)->name,
         g->items[g->num_items - 1].name);
    LINE(g, "return result");
    return g->text;
}

/* ---- the host ------------------------------------------------------------------------------- */

typedef struct host { relax_value kept; bool keeps; } host;

static void bump(relax_tensor *t)
{
    float *data = relax_tensor_data(t);
    for (size_t i = 0; i < relax_tensor_bytes(t) / sizeof *data; i++)
        data[i] += 0.5f;
}

static int host_bump(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user, (void)num_args;
    relax_value_set_null(result);
    bump(relax_value_get_tensor(&args[0]));
    return 0;
}

static int host_keep(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    host *h = user;
    (void)num_args;
    relax_value_set_null(result);
    if (h->keeps)
        relax_value_release(&h->kept);
    h->keeps = relax_value_keep(&args[0], &h->kept) == RELAX_OK;
    return 0;
}

static int host_poke(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    host *h = user;
    (void)args, (void)num_args;
    relax_value_set_null(result);
    if (h->keeps)
        bump(relax_value_get_tensor(&h->kept));
    return 0;
}

static relax_registry *registry_of(host *h)
{
    static const struct { const char *name; relax_packed_fn fn; } rows[] = {
        { "host.bump", host_bump }, { "host.keep", host_keep }, { "host.poke", host_poke },
    };
    relax_registry *r = NULL;
    assert_int_equal(relax_registry_create(NULL, &r, NULL), RELAX_OK);
    for (size_t i = 0; i < N(rows); i++)
        assert_int_equal(relax_registry_register(r, Z(rows[i].name), rows[i].fn, h, NULL, NULL), RELAX_OK);
    return r;
}

/* ---- building and running ------------------------------------------------------------------- */

enum { RESULTS = 3, TENSORS = RESULTS + 3 };
typedef struct outcome {
    float data[TENSORS][ELEMENTS];         /* of the results, then of the arguments and what the host kept */
    size_t bytes[TENSORS];
    bool shared[TENSORS][TENSORS];
} outcome;

static void complain(relax_context *ctx, const char *text, const char *what)
{
    fprintf(stderr, "%s\n%s\n", text, what);
    for (size_t i = 0; ctx && i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *said = relax_diagnostic_render(ctx, i);
        fprintf(stderr, "%s\n", relax_bytes_data(said));
        relax_bytes_release(said);
    }
    fail();
}

static relax_value new_argument(const char *dtype, const int64_t *shape, int32_t ndim, uint64_t *state)
{
    relax_dtype type;
    relax_tensor *t = NULL;
    relax_value v = { 0 };
    assert_int_equal(relax_dtype_parse(Z(dtype), &type), RELAX_OK);
    assert_int_equal(relax_tensor_create(type, shape, ndim, NULL, &t, NULL), RELAX_OK);
    if (ndim)
        for (int i = 0; i < ELEMENTS; i++)
            ((float *)relax_tensor_data(t))[i] = (float)((int)random_roll(state, 64) - 32) / 16;
    else
        *(uint8_t *)relax_tensor_data(t) = (uint8_t)random_roll(state, 2);
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    return v;
}

static outcome look_at(const relax_value *result, const relax_value *args, const relax_value *kept)
{
    outcome o;
    const relax_tensor *all[TENSORS];
    memset(&o, 0, sizeof o);
    for (size_t i = 0; i < TENSORS; i++) {
        relax_value field = { 0 };
        if (i < RESULTS)
            assert_int_equal(relax_value_tuple_get(result, i, &field), RELAX_OK);
        relax_tensor *t = relax_value_get_tensor(i < RESULTS       ? &field
                                                 : i < TENSORS - 1 ? &args[i - RESULTS]
                                                                   : kept);
        all[i] = t;
        o.bytes[i] = relax_tensor_bytes(t);
        memcpy(o.data[i], relax_tensor_data(t), o.bytes[i]);
        for (size_t k = 0; k < i; k++) {
            const char *a = relax_tensor_data(t), *b = relax_tensor_data((relax_tensor *)(uintptr_t)all[k]);
            o.shared[i][k] = a < b + o.bytes[k] && b < a + o.bytes[i];
        }
        for (size_t k = 0; k < o.bytes[i] / 4; k++) /* one NaN is as good as another */
            if (o.data[i][k] != o.data[i][k])
                memset(&o.data[i][k], 0xff, 4);
    }
    return o;
}

static outcome run(relax_context *ctx, const relax_module *m, int32_t level, const char *target, uint64_t seed,
                   const char *text)
{
    host h = { { 0 }, false };
    uint64_t state = seed;
    int64_t shape[2] = { ROWS, 6 };
    relax_value args[3], result = { 0 };
    relax_compile_options options;
    relax_vm_options vm_options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    char what[80];
    snprintf(what, sizeof what, "VIEWS_SEED=%llu, level %d, %s", (unsigned long long)seed, level, target);
    relax_compile_options_init(&options, sizeof options);
    options.opt_level = level;
    options.target = target;
    options.allow_compiler = strcmp(target, "c") == 0;
    relax_executable *exe = relax_module_compile(ctx, m, &options);
    if (!exe)
        complain(ctx, text, what);
    for (int i = 0; i < 3; i++)
        args[i] = i < 2 ? new_argument("float32", shape, 2, &state) : new_argument("bool", NULL, 0, &state);
    if (seed % 2) /* the host may write to an argument that it passes to nobody else */
        h.keeps = relax_value_keep(&args[0], &h.kept) == RELAX_OK;
    relax_vm_options_init(&vm_options, sizeof vm_options);
    vm_options.registry = registry_of(&h);
    assert_int_equal(relax_vm_create(exe, &vm_options, &vm, NULL), RELAX_OK);
    if (relax_vm_call(vm, Z("main"), args, 3, &result, &error) != RELAX_OK) {
        fprintf(stderr, "%s\n", relax_error_message(error, NULL));
        complain(NULL, text, what);
    }
    outcome o = look_at(&result, args, h.keeps ? &h.kept : &args[0]);
    relax_value_release(&result);
    if (h.keeps)
        relax_value_release(&h.kept);
    relax_vm_release(vm);
    relax_registry_release(vm_options.registry);
    relax_executable_release(exe);
    for (int i = 0; i < 3; i++)
        relax_value_release(&args[i]);
    return o;
}

static void try_seed(uint64_t seed, bool show, bool as_c)
{
    static gen g;
    const char *text = write_program(&g, seed);
    if (show)
        printf("%s\n", text);
    relax_context *ctx = relax_context_create(NULL);
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    if (!m)
        complain(ctx, text, "it is well-formed");
    outcome want = run(ctx, m, 0, "interp", seed, text);
    for (int32_t level = 1; level <= 2 + as_c; level++) {
        outcome got = run(ctx, m, level < 3 ? level : 1, level < 3 ? "interp" : "c", seed, text);
        if (memcmp(&got, &want, sizeof got) != 0) {
            fprintf(stderr, "VIEWS_SEED=%llu, level %d\n", (unsigned long long)seed, level);
            complain(NULL, text, memcmp(got.shared, want.shared, sizeof got.shared) ? "memory is shared" : "numbers");
        }
    }
    relax_context_release(ctx);
}

static void shared_memory_is_not_seen(void **state)
{
    const char *only = getenv("VIEWS_SEED"), *cc = getenv("RELAX_CC");
    bool many = getenv("RELAX_LONG") != NULL;
    uint64_t seed = only ? strtoull(only, NULL, 10) : 1;
    uint64_t end = only ? seed + 1 : many ? LONG_PROGRAMS : PROGRAMS;
    (void)state;
    for (; seed < end; seed++)
        try_seed(seed, only != NULL, cc && *cc && many && seed % 40 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(shared_memory_is_not_seen) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
