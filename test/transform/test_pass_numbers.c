/* test_pass_numbers: what is computed does not depend on the passes that ran. Random modules
 * (support/random_program.h) are built as they are, and again after one pass or several in any
 * order; results and what the host saw are the same to the bit. RELAX_LONG=1 tries many more;
 * PROGRAM_SEED=n tries one and shows it, PROGRAM_COUNT=k as many from there on. */
#include "../api/api_fixture.h"
#include "random_program.h"

#define PROGRAMS 1000
#define LONG_PROGRAMS 20000
#define VARIANTS 3
#define MOST_PASSES 4

/* ---- what is seen of a run ------------------------------------------------------------------ */

typedef struct bytes { uint8_t *data; size_t len, cap; } bytes;

static void put(bytes *b, const void *data, size_t len)
{
    if (b->len + len > b->cap)
        b->data = realloc(b->data, b->cap = 2 * (b->len + len));
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

static relax_dtype dtype_of(const char *name)
{
    relax_dtype dtype;
    assert_int_equal(relax_dtype_parse(Z(name), &dtype), RELAX_OK);
    return dtype;
}

/* One NaN is as good as another. */
static void put_tensor(bytes *b, relax_tensor *t)
{
    relax_dtype dtype = relax_tensor_dtype(t);
    size_t size = relax_tensor_bytes(t), start;
    put(b, &dtype, sizeof dtype);
    put(b, relax_tensor_shape(t), (size_t)relax_tensor_ndim(t) * sizeof(int64_t));
    start = b->len;
    put(b, relax_tensor_data(t), size);
    if (dtype != dtype_of("float32"))
        return;
    for (size_t i = start; i + 4 <= b->len; i += 4) {
        float f;
        memcpy(&f, b->data + i, 4);
        if (f != f)
            memset(b->data + i, 0xff, 4);
    }
}

/* Depth first; nothing random_program returns nests deeper than its own text. */
static void put_value(bytes *b, const relax_value *v)
{
    int32_t kind = relax_value_kind(v);
    const int64_t *dims;
    size_t ndim;
    int64_t number;
    relax_value field;
    put(b, &kind, sizeof kind);
    if (kind == RELAX_VALUE_KIND_TENSOR)
        put_tensor(b, relax_value_get_tensor(v));
    else if (kind == RELAX_VALUE_KIND_INT && relax_value_get_int(v, &number) == RELAX_OK)
        put(b, &number, sizeof number);
    else if (kind == RELAX_VALUE_KIND_SHAPE && relax_value_get_shape(v, &dims, &ndim) == RELAX_OK)
        put(b, dims, ndim * sizeof *dims);
    size_t fields = relax_value_tuple_size(v);
    for (size_t i = 0; fields != RELAX_NOT_FOUND && i < fields; i++)
        if (relax_value_tuple_get(v, i, &field) == RELAX_OK)
            put_value(b, &field);
}

/* ---- the host ------------------------------------------------------------------------------- */

enum { ROWS = 3, LONG = 5 };
typedef struct host { bytes seen; relax_value x; } host;

static relax_tensor *new_tensor(const char *dtype, int64_t rows, int64_t columns)
{
    relax_tensor *t = NULL;
    int64_t shape[2] = { rows, columns };
    assert_int_equal(relax_tensor_create(dtype_of(dtype), shape, columns ? 2 : 1, NULL, &t, NULL),
                     RELAX_OK);
    return t;
}

static int host_dps(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_tensor *from = relax_value_get_tensor(&args[0]),
                 *to = relax_value_get_tensor(&args[num_args - 1]);
    (void)user;
    relax_value_set_null(result);
    memcpy(relax_tensor_data(to), relax_tensor_data(from), relax_tensor_bytes(to));
    return 0;
}

static int host_same(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user;
    (void)num_args;
    return relax_value_keep(&args[0], result) == RELAX_OK ? 0 : -1;
}

static int host_impure(void *user, const relax_value *args, int32_t num_args,
                       relax_value *result)
{
    host *h = user;
    for (int32_t i = 0; i < num_args; i++)
        put_value(&h->seen, &args[i]);
    return host_same(user, args, num_args, result);
}

static int host_any(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    host *h = user;
    (void)args;
    (void)num_args;
    return relax_value_keep(&h->x, result) == RELAX_OK ? 0 : -1;
}

static int host_print(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_value_set_null(result);
    host *h = user;
    for (int32_t i = 0; i < num_args; i++)
        put_value(&h->seen, &args[i]);
    return 0;
}

static relax_registry *registry_of(host *h)
{
    static const struct { const char *name; relax_packed_fn fn; } rows[] = {
        { "host.dps", host_dps }, { "host.same", host_same }, { "host.impure", host_impure },
        { "host.any", host_any }, { "relax.run.print", host_print },
    };
    relax_registry *r = NULL;
    assert_int_equal(relax_registry_create(NULL, &r, NULL), RELAX_OK);
    for (size_t i = 0; i < N(rows); i++)
        assert_int_equal(relax_registry_register(r, Z(rows[i].name), rows[i].fn, h, NULL, NULL),
                         RELAX_OK);
    return r;
}

/* ---- arguments of main ---------------------------------------------------------------------- */

enum { NUM_ARGS = 7 };

static void set_tensor(relax_value *out, relax_tensor *t)
{
    relax_value_set_tensor(out, t);
    relax_tensor_release(t);
}

static relax_tensor *some_floats(uint64_t *state, int64_t rows, int64_t columns)
{
    static const float odd[] = { -0.0f, 0.0f, 1e30f, -1e-40f, 3.5f, -2.0f };
    relax_tensor *t = new_tensor("float32", rows, columns);
    float *data = relax_tensor_data(t);
    for (int64_t i = 0; i < rows * (columns ? columns : 1); i++)
        data[i] = random_roll(state, 4) ? (float)((int)random_roll(state, 64) - 32) / 8
                                        : odd[random_roll(state, N(odd))];
    return t;
}

static void make_args(uint64_t seed, relax_value *args)
{
    uint64_t state = seed;
    int64_t dims[2] = { LONG, ROWS };
    relax_value pair[2];
    relax_tensor *y = new_tensor("int32", LONG, 0);
    relax_packed_func *same = relax_packed_func_create(host_same, NULL, NULL);
    for (int i = 0; i < LONG; i++)
        ((int32_t *)relax_tensor_data(y))[i] = (int32_t)random_roll(&state, 100) - 50;
    set_tensor(&args[0], some_floats(&state, ROWS, 4));
    set_tensor(&args[1], y);
    set_tensor(&args[2], some_floats(&state, ROWS, 4));
    assert_int_equal(relax_value_set_shape(&args[3], dims, 2, NULL), RELAX_OK);
    relax_value_set_int(&args[4], 7);
    set_tensor(&pair[0], some_floats(&state, ROWS, 4));
    set_tensor(&pair[1], some_floats(&state, 2 * ROWS, 0));
    assert_int_equal(relax_value_set_tuple(&args[5], pair, 2, NULL), RELAX_OK);
    relax_value_release(&pair[0]);
    relax_value_release(&pair[1]);
    relax_value_set_packed_func(&args[6], same);
    relax_packed_func_release(same);
}

/* ---- building and running ------------------------------------------------------------------- */

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

/* What a run shows: results, the host's view of it, or only how it failed. */
static bytes run(relax_context *ctx, const relax_module *m, int32_t level, uint64_t seed,
                 const char *text, const char *what)
{
    host h = { { 0 }, { 0 } };
    relax_value args[NUM_ARGS], result = { 0 };
    relax_compile_options options;
    relax_vm_options vm_options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_compile_options_init(&options, sizeof options);
    options.opt_level = level;
    relax_executable *exe = relax_module_compile(ctx, m, &options);
    if (!exe)
        complain(ctx, text, what);
    make_args(seed, args);
    h.x = args[2];
    relax_vm_options_init(&vm_options, sizeof vm_options);
    vm_options.registry = registry_of(&h);
    assert_int_equal(relax_vm_create(exe, &vm_options, &vm, NULL), RELAX_OK);
    relax_status status = relax_vm_call(vm, Z("main"), args, NUM_ARGS, &result, &error);
    if (status != RELAX_OK) {
        fprintf(stderr, "%s\n", relax_error_message(error, NULL));
        complain(NULL, text, what);
    }
    put_value(&h.seen, &result);
    relax_value_release(&result);
    relax_error_release(error);
    relax_vm_release(vm);
    relax_registry_release(vm_options.registry);
    relax_executable_release(exe);
    for (int i = 0; i < NUM_ARGS; i++)
        relax_value_release(&args[i]);
    return h.seen;
}

static const char *const passes[] = {
    "canonicalize_bindings", "canonicalize_bindings", "fold_constant", "dead_code_elimination",
    "eliminate_common_subexpr", "normalize", "legalize_ops", "to_non_dataflow", "convert_to_dataflow",
    "realize_vdevice", "normalize_global_var", "attach_global_symbol",
};

static void try_variant(relax_context *ctx, const relax_module *m, uint64_t seed,
                        uint64_t *state, const bytes *want, const char *text)
{
    char what[400];
    int len = snprintf(what, sizeof what, "PROGRAM_SEED=%llu:", (unsigned long long)seed);
    for (uint32_t i = 0, count = 1 + random_roll(state, MOST_PASSES); i < count; i++) {
        const char *pass = passes[random_roll(state, N(passes))];
        len += snprintf(what + len, sizeof what - (size_t)len, " %s", pass);
        m = relax_pass_run(ctx, m, Z(pass), NULL);
        if (!m || relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL) != 1)
            complain(ctx, text, what);
    }
    int32_t level = (int32_t)random_roll(state, 3);
    snprintf(what + len, sizeof what - (size_t)len, ", level %d", level);
    bytes got = run(ctx, m, level, seed, text, what);
    if (got.len != want->len || memcmp(got.data, want->data, want->len) != 0)
        complain(ctx, text, what);
    free(got.data);
}

static void try_seed(uint64_t seed, bool show)
{
    char *text = random_runnable_program(seed);
    relax_context *ctx = relax_context_create(NULL);
    uint64_t state = seed;
    if (show)
        printf("%s\n", text);
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    if (!m)
        complain(ctx, text, "it is well-formed");
    bytes want = run(ctx, m, 0, seed, text, "as it is");
    for (int i = 0; i < VARIANTS; i++)
        try_variant(ctx, m, seed, &state, &want, text);
    free(want.data);
    relax_context_release(ctx);
    free(text);
}

static void passes_keep_the_numbers(void **state)
{
    const char *first = getenv("PROGRAM_SEED"), *many = getenv("PROGRAM_COUNT");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    uint64_t count = many                   ? strtoull(many, NULL, 10)
                     : first                ? 1
                     : getenv("RELAX_LONG") ? LONG_PROGRAMS
                                            : PROGRAMS;
    (void)state;
    for (uint64_t end = seed + count; seed < end; seed++)
        try_seed(seed, first && !many);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(passes_keep_the_numbers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
