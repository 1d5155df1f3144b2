/* test_pass_numbers: what is computed does not depend on the passes that ran. Random modules
 * (support/random_program.h) are built as they are, and again after one pass or several in any
 * order; results and what the host saw are the same to the bit. RELAX_LONG=1 tries many more;
 * PROGRAM_SEED=n tries one and shows it, PROGRAM_COUNT=k as many from there on. */
#include "../api/api_fixture.h"
#include "random_host.h"
#include "random_program.h"

#define PROGRAMS 1000
#define LONG_PROGRAMS 20000
#define VARIANTS 3
#define MOST_PASSES 4

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
static random_seen run(relax_context *ctx, const relax_module *m, int32_t level, uint64_t seed,
                 const char *text, const char *what)
{
    random_host h = { { 0 }, { 0 } };
    relax_value args[RANDOM_NUM_ARGS], result = { 0 };
    relax_compile_options options;
    relax_vm_options vm_options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_compile_options_init(&options, sizeof options);
    options.opt_level = level;
    relax_executable *exe = relax_module_compile(ctx, m, &options);
    if (!exe)
        complain(ctx, text, what);
    random_host_args(seed, 3, 0, args);
    h.x = args[2];
    relax_vm_options_init(&vm_options, sizeof vm_options);
    vm_options.registry = random_host_registry(&h);
    assert_int_equal(relax_vm_create(exe, &vm_options, &vm, NULL), RELAX_OK);
    relax_status status = relax_vm_call(vm, Z("main"), args, RANDOM_NUM_ARGS, &result, &error);
    if (status != RELAX_OK) {
        fprintf(stderr, "%s\n", relax_error_message(error, NULL));
        complain(NULL, text, what);
    }
    random_see(&h.seen, &result);
    relax_value_release(&result);
    relax_error_release(error);
    relax_vm_release(vm);
    relax_registry_release(vm_options.registry);
    relax_executable_release(exe);
    for (int i = 0; i < RANDOM_NUM_ARGS; i++)
        relax_value_release(&args[i]);
    return h.seen;
}

static const char *const passes[] = {
    "canonicalize_bindings", "canonicalize_bindings", "fold_constant", "dead_code_elimination",
    "eliminate_common_subexpr", "normalize", "legalize_ops", "to_non_dataflow", "convert_to_dataflow",
    "realize_vdevice", "normalize_global_var", "attach_global_symbol",
};

static void try_variant(relax_context *ctx, const relax_module *m, uint64_t seed,
                        uint64_t *state, const random_seen *want, const char *text)
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
    random_seen got = run(ctx, m, level, seed, text, what);
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
    random_seen want = run(ctx, m, 0, seed, text, "as it is");
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
