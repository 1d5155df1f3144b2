/* test_second_opinion: random programs on the machine and on the oracle (support/oracle.h), which
 * follows the rules of language 7 on expressions. Both give the same values to the bit, or fail with
 * the same code; the host sees the same calls in the same order, tensors of the host are changed
 * alike, and results share memory with arguments where the oracle's do. At levels 0, 1 and 2, some
 * as C. RELAX_LONG=1 tries many more; PROGRAM_SEED=n tries one and shows it, PROGRAM_COUNT=k as many
 * from there on; ORACLE_UNKNOWN=1 writes programs with unknown ranks. */
#include "../api/api_fixture.h"
#include "oracle.h"
#include "random_host.h"
#include "random_program.h"

#define PROGRAMS 500
#define LONG_PROGRAMS 15000
#define COMPILED_EACH 250 /* programs, one of them as C */

/* What a run shows. */
typedef struct outcome { char code[8], inner[8]; random_seen seen; char text[300]; } outcome;

static void explain(relax_context *ctx, const char *text, const char *what)
{
    fprintf(stderr, "%s\n%s\n", text, what);
    for (size_t i = 0; ctx && i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *said = relax_diagnostic_render(ctx, i);
        fprintf(stderr, "%s\n", relax_bytes_data(said));
        relax_bytes_release(said);
    }
}

/* ---- which results are arguments ------------------------------------------------------------ */

/* Where a tensor with that memory is among the tensors of a value; counts them in *at. */
static bool find_memory(const relax_value *v, const void *data, int32_t *at)
{
    relax_tensor *t = relax_value_get_tensor(v);
    size_t fields = relax_value_tuple_size(v);
    relax_value field;
    if (t && relax_tensor_bytes(t) && relax_tensor_data(t) == data)
        return true;
    *at += t != NULL;
    for (size_t i = 0; fields != RELAX_NOT_FOUND && i < fields; i++)
        if (relax_value_tuple_get(v, i, &field) == RELAX_OK && find_memory(&field, data, at))
            return true;
    return false;
}

static void see_sharing(random_seen *seen, const relax_value *result, const relax_value *args)
{
    relax_tensor *t = relax_value_get_tensor(result);
    size_t fields = relax_value_tuple_size(result);
    relax_value field, which;
    int32_t at = 0, found = -1;
    for (int i = 0; t && i < RANDOM_NUM_ARGS && found < 0; i++)
        found = find_memory(&args[i], relax_tensor_data(t), &at) ? at : -1;
    relax_value_set_int(&which, found);
    random_see(seen, &which);
    for (size_t i = 0; fields != RELAX_NOT_FOUND && i < fields; i++)
        if (relax_value_tuple_get(result, i, &field) == RELAX_OK)
            see_sharing(seen, &field, args);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Now and then a call that main does not take. */
static void spoil(uint64_t seed, relax_value *args)
{
    uint64_t state = seed * 77 + 5;
    uint32_t how = random_roll(&state, 40);
    if (how < 2) {
        relax_value_release(&args[how]);
        relax_value_set_int(&args[how], 3);
    } else if (how == 3) {
        relax_value other = args[0];
        args[0] = args[1];
        args[1] = other;
    } else if (how == 4) {
        int64_t dims[] = { 5, 4 };
        relax_value_release(&args[3]);
        assert_int_equal(relax_value_set_shape(&args[3], dims, 2, NULL), RELAX_OK);
    } else if (how == 5) {
        relax_value_release(&args[6]);
        relax_value_set_null(&args[6]);
    }
}

static int64_t rows_of(uint64_t seed)
{
    static const int64_t rows[] = { 3, 1, 4, 6, 0 };
    return rows[seed % N(rows)];
}

/* Of nothing there is no maximum, and nobody has to compute one that is not used; and functions that
 * call each other until a sum is large never end, which calls of the oracle do. */
static bool may_differ(const outcome *wanted, uint64_t seed)
{
    return rows_of(seed) == 0 &&
           (strcmp(wanted->code, "RT14") == 0 || strcmp(wanted->code, "RT11") == 0);
}

static void begin_run(uint64_t seed, random_host *h, relax_value *args)
{
    *h = (random_host){ 0 };
    random_host_args(seed, rows_of(seed), (int)(seed / 5 % 4), args);
    h->x = args[2];
    relax_value_retain(&h->x);
    spoil(seed, args);
}

static void end_run(random_host *h, relax_value *args, const relax_value *result, outcome *out)
{
    out->seen = h->seen;
    if (result) {
        random_see(&out->seen, result);
        see_sharing(&out->seen, result, args);
    }
    for (int i = 0; i < RANDOM_NUM_ARGS; i++) {
        random_see(&out->seen, &args[i]);
        relax_value_release(&args[i]);
    }
    relax_value_release(&h->x);
}

/* ---- the two -------------------------------------------------------------------------------- */

/* False: the oracle does not know. */
static bool ask_oracle(relax_context *ctx, const relax_module *m, uint64_t seed, outcome *out)
{
    random_host h;
    relax_value args[RANDOM_NUM_ARGS], result = { 0 };
    rlx_fault why;
    begin_run(seed, &h, args);
    relax_registry *registry = random_host_registry(&h);
    oracle *o = oracle_create(ctx, m, registry);
    assert_non_null(o);
    bool ok = oracle_call(o, "main", args, RANDOM_NUM_ARGS, &result, &why);
    *out = (outcome){ .code = "" };
    if (!ok && why.code) {
        snprintf(out->code, sizeof out->code, "%s", rlx_code_row(why.code)->name);
        if (why.inner)
            snprintf(out->inner, sizeof out->inner, "%s", rlx_code_row(why.inner)->name);
    }
    if (!ok)
        snprintf(out->text, sizeof out->text, "%s", why.text);
    end_run(&h, args, ok ? &result : NULL, out);
    oracle_free(o);
    relax_registry_release(registry);
    return ok || why.code;
}

static relax_executable *compile(relax_context *ctx, const relax_module *m, int32_t level, bool c)
{
    relax_compile_options options;
    relax_load_options load;
    relax_compile_options_init(&options, sizeof options);
    relax_load_options_init(&load, sizeof load);
    options.opt_level = level;
    if (c) {
        options.target = "c";
        options.allow_compiler = load.allow_native = 1;
        options.load = &load;
    }
    return relax_module_compile(ctx, m, &options);
}

static void run_machine(relax_executable *exe, uint64_t seed, outcome *out)
{
    random_host h;
    relax_value args[RANDOM_NUM_ARGS], result = { 0 };
    relax_vm_options options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    begin_run(seed, &h, args);
    relax_vm_options_init(&options, sizeof options);
    options.max_depth = 200;
    options.registry = random_host_registry(&h);
    assert_int_equal(relax_vm_create(exe, &options, &vm, NULL), RELAX_OK);
    relax_status status = relax_vm_call(vm, Z("main"), args, RANDOM_NUM_ARGS, &result, &error);
    *out = (outcome){ .code = "" };
    if (status != RELAX_OK) {
        const char *inner = relax_error_inner_code(error);
        snprintf(out->code, sizeof out->code, "%s", relax_error_code(error));
        snprintf(out->inner, sizeof out->inner, "%s", inner ? inner : "");
        snprintf(out->text, sizeof out->text, "%s", relax_error_message(error, NULL));
    }
    end_run(&h, args, status == RELAX_OK ? &result : NULL, out);
    relax_value_release(&result);
    relax_error_release(error);
    relax_vm_release(vm);
    relax_registry_release(options.registry);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static unsigned long tried, failing, not_known, failures;

static bool same_outcome(const outcome *a, const outcome *b)
{
    return strcmp(a->code, b->code) == 0 && strcmp(a->inner, b->inner) == 0 &&
           a->seen.len == b->seen.len && memcmp(a->seen.data, b->seen.data, a->seen.len) == 0;
}

static void compare(relax_context *ctx, const relax_module *m, const char *text, uint64_t seed,
                    int32_t level, bool c, const outcome *wanted)
{
    outcome got;
    char what[900];
    relax_executable *exe = compile(ctx, m, level, c);
    snprintf(what, sizeof what, "PROGRAM_SEED=%llu, level %d: it builds", (unsigned long long)seed,
             (int)level);
    if (!exe) {
        explain(ctx, text, what);
        failures++;
        return;
    }
    run_machine(exe, seed, &got);
    if (!same_outcome(&got, wanted)) {
        size_t at = 0;
        while (at < got.seen.len && at < wanted->seen.len &&
               got.seen.data[at] == wanted->seen.data[at])
            at++;
        snprintf(what, sizeof what,
                 "PROGRAM_SEED=%llu, level %d%s: wanted %s %s (%s), got %s %s (%s); bytes %zu and "
                 "%zu, different from %zu on",
                 (unsigned long long)seed, (int)level, c ? " as C" : "",
                 *wanted->code ? wanted->code : "a result", wanted->inner, wanted->text,
                 *got.code ? got.code : "a result", got.inner, got.text, wanted->seen.len,
                 got.seen.len, at);
        explain(NULL, text, what);
        failures++;
    }
    free(got.seen.data);
    relax_executable_release(exe);
}

static void try_seed(uint64_t seed, bool show)
{
    char *text = random_tried_program(seed, getenv("ORACLE_UNKNOWN") != NULL);
    relax_context *ctx = relax_context_create(NULL);
    outcome wanted;
    if (show)
        printf("%s\n", text);
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    if (!m || relax_context_num_errors(ctx)) {
        explain(ctx, text, "it is well-formed");
        fail();
    }
    tried++;
    bool knows = ask_oracle(ctx, m, seed, &wanted);
    not_known += !knows;
    failing += *wanted.code != 0;
    if (show)
        printf("%s %s %s\n", wanted.code, wanted.inner, wanted.text);
    knows = knows && !may_differ(&wanted, seed);
    for (int32_t level = 0; knows && level < 3; level++)
        compare(ctx, m, text, seed, level, false, &wanted);
    if (knows && seed % COMPILED_EACH == 0)
        compare(ctx, m, text, seed, (int32_t)(seed / COMPILED_EACH % 3), true, &wanted);
    free(wanted.seen.data);
    relax_context_release(ctx);
    free(text);
}

static void the_machine_agrees(void **state)
{
    const char *first = getenv("PROGRAM_SEED"), *many = getenv("PROGRAM_COUNT");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    uint64_t count = many                   ? strtoull(many, NULL, 10)
                     : first                ? 1
                     : getenv("RELAX_LONG") ? LONG_PROGRAMS
                                            : PROGRAMS;
    (void)state;
    for (uint64_t end = seed + count; seed < end && failures < 5; seed++)
        try_seed(seed, first && !many);
    printf("%lu programs, %lu of them fail when they run; of %lu the oracle knows nothing\n", tried,
           failing, not_known);
    assert_int_equal(failures, 0);
    assert_true(not_known * 50 <= tried);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_machine_agrees) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
