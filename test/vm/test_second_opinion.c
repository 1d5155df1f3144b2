/* test_second_opinion: programs on the machine and on the oracle (support/oracle.h), which
 * follows the rules of language 7 on expressions. Both give the same values to the bit, or fail with
 * the same code; the host sees the same calls in the same order, tensors of the host are changed
 * alike, and results share memory with arguments where the oracle's do. At levels 0, 1 and 2, some
 * as C. First the programs of second_opinion.programs, which change tensors that have several names,
 * then random ones. RELAX_LONG=1 tries many more; PROGRAM_SEED=n tries one and shows it, PROGRAM_COUNT=k as many
 * from there on; ORACLE_UNKNOWN=1 writes programs with unknown ranks. */
#include "../api/api_fixture.h"
#include "oracle.h"
#include "random_host.h"
#include "random_program.h"
#include "text_file.h"

#define PROGRAMS 1000
#define LONG_PROGRAMS 60000
#define COMPILED_EACH 500 /* programs, one of them as C */

/* A program, what main is called with, and what an outcome is compared with. */
typedef struct question {
    char name[120];
    const char *text;
    uint64_t seed;
    int64_t n;
    int shared;            /* random_host_args */
    bool written;          /* main takes x and t alone */
    bool spoiled;          /* the arguments may be wrong */
} question;

#define MOST_LEAVES 64
enum { CONSTANT = -2, OWN = -1 };
/* What a run shows. memory: of each tensor of the result, where its memory is met before: among
 * the tensors of the arguments, or behind them those of the result. */
typedef struct outcome {
    char code[8], inner[8];
    random_seen seen;
    int memory[MOST_LEAVES];
    size_t num_leaves;
    char text[300];
} outcome;

static void explain(relax_context *ctx, const char *text, const char *what)
{
    fprintf(stderr, "%s\n%s\n", text, what);
    for (size_t i = 0; ctx && i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *said = relax_diagnostic_render(ctx, i);
        fprintf(stderr, "%s\n", relax_bytes_data(said));
        relax_bytes_release(said);
    }
}

/* ---- which results are arguments, or each other --------------------------------------------- */

/* What the leaves of values are: their memory, NULL of those without. */
typedef struct leaves { const void *data[2 * MOST_LEAVES]; bool fixed[2 * MOST_LEAVES]; size_t n; } leaves;

static void add_leaves(leaves *l, const relax_value *v)
{
    relax_tensor *t = relax_value_get_tensor(v);
    size_t fields = relax_value_tuple_size(v);
    relax_value field;
    if (t && l->n < N(l->data)) {
        l->data[l->n] = relax_tensor_bytes(t) ? relax_tensor_data(t) : NULL;
        l->fixed[l->n++] = relax_tensor_is_read_only(t);
    }
    for (size_t i = 0; fields != RELAX_NOT_FOUND && i < fields; i++)
        if (relax_value_tuple_get(v, i, &field) == RELAX_OK)
            add_leaves(l, &field);
}

static void see_sharing(outcome *out, const relax_value *result, const relax_value *args, size_t n)
{
    leaves l = { .n = 0 };
    for (size_t i = 0; i < n; i++)
        add_leaves(&l, &args[i]);
    size_t first = l.n;
    add_leaves(&l, result);
    out->num_leaves = l.n - first < MOST_LEAVES ? l.n - first : MOST_LEAVES;
    for (size_t i = 0; i < out->num_leaves; i++) {
        size_t at = 0;
        while (at < first + i && (!l.data[at] || l.data[at] != l.data[first + i]))
            at++;
        out->memory[i] = l.fixed[first + i] ? CONSTANT : at < first + i ? (int)at : OWN;
    }
}

/* A constant may be that of another expression. */
static bool same_sharing(const outcome *got, const outcome *wanted)
{
    bool same = got->num_leaves == wanted->num_leaves;
    for (size_t i = 0; same && i < got->num_leaves; i++)
        same = got->memory[i] == CONSTANT || got->memory[i] == wanted->memory[i];
    return same;
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

/* Of nothing there is no maximum, and nobody has to compute one that is not used; and functions that
 * call each other until a sum is large never end, which calls of the oracle do. */
static bool may_differ(const outcome *wanted, const question *q)
{
    return q->n == 0 && (strcmp(wanted->code, "RT14") == 0 || strcmp(wanted->code, "RT11") == 0);
}

static size_t begin_run(const question *q, random_host *h, relax_value *args)
{
    *h = (random_host){ 0 };
    random_host_args(q->seed, q->n, q->shared, args);
    h->x = args[2];
    relax_value_retain(&h->x);
    if (q->spoiled)
        spoil(q->seed, args);
    if (!q->written)
        return RANDOM_NUM_ARGS;
    relax_value t = args[5];
    args[5] = args[1];
    args[1] = t;
    return 2;
}

static void end_run(random_host *h, relax_value *args, size_t n, const relax_value *result,
                    outcome *out)
{
    out->seen = h->seen;
    if (result) {
        random_see(&out->seen, result);
        see_sharing(out, result, args, n);
    }
    for (int i = 0; i < RANDOM_NUM_ARGS; i++) {
        random_see(&out->seen, &args[i]);
        relax_value_release(&args[i]);
    }
    relax_value_release(&h->x);
}

/* ---- the two -------------------------------------------------------------------------------- */

/* False: the oracle does not know. */
static bool ask_oracle(relax_context *ctx, const relax_module *m, const question *q, outcome *out)
{
    random_host h;
    relax_value args[RANDOM_NUM_ARGS], result = { 0 };
    rlx_fault why;
    size_t n = begin_run(q, &h, args);
    relax_registry *registry = random_host_registry(&h);
    oracle *o = oracle_create(ctx, m, registry);
    assert_non_null(o);
    bool ok = oracle_call(o, "main", args, n, &result, &why);
    *out = (outcome){ .code = "" };
    if (!ok && why.code) {
        snprintf(out->code, sizeof out->code, "%s", rlx_code_row(why.code)->name);
        if (why.inner)
            snprintf(out->inner, sizeof out->inner, "%s", rlx_code_row(why.inner)->name);
    }
    if (!ok)
        snprintf(out->text, sizeof out->text, "%s", why.text);
    end_run(&h, args, n, ok ? &result : NULL, out);
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

static void run_machine(relax_executable *exe, const question *q, outcome *out)
{
    random_host h;
    relax_value args[RANDOM_NUM_ARGS], result = { 0 };
    relax_vm_options options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    size_t n = begin_run(q, &h, args);
    relax_vm_options_init(&options, sizeof options);
    options.max_depth = 200;
    options.registry = random_host_registry(&h);
    assert_int_equal(relax_vm_create(exe, &options, &vm, NULL), RELAX_OK);
    relax_status status = relax_vm_call(vm, Z("main"), args, n, &result, &error);
    *out = (outcome){ .code = "" };
    if (status != RELAX_OK) {
        const char *inner = relax_error_inner_code(error);
        snprintf(out->code, sizeof out->code, "%s", relax_error_code(error));
        snprintf(out->inner, sizeof out->inner, "%s", inner ? inner : "");
        snprintf(out->text, sizeof out->text, "%s", relax_error_message(error, NULL));
    }
    end_run(&h, args, n, status == RELAX_OK ? &result : NULL, out);
    relax_value_release(&result);
    relax_error_release(error);
    relax_vm_release(vm);
    relax_registry_release(options.registry);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static unsigned long tried, failing, not_known, failures;


static bool same_outcome(const outcome *got, const outcome *wanted)
{
    return strcmp(got->code, wanted->code) == 0 && strcmp(got->inner, wanted->inner) == 0 &&
           got->seen.len == wanted->seen.len && same_sharing(got, wanted) &&
           (!wanted->seen.len || memcmp(got->seen.data, wanted->seen.data, wanted->seen.len) == 0);
}

static void complain(const question *q, const char *how, const outcome *got, const outcome *wanted)
{
    char what[1200];
    size_t at = 0;
    while (at < got->seen.len && at < wanted->seen.len && got->seen.data[at] == wanted->seen.data[at])
        at++;
    snprintf(what, sizeof what,
             "%s, %s: wanted %s %s (%s), got %s %s (%s); bytes %zu and %zu, different from %zu on%s",
             q->name, how, *wanted->code ? wanted->code : "a result", wanted->inner, wanted->text,
             *got->code ? got->code : "a result", got->inner, got->text, wanted->seen.len,
             got->seen.len, at, same_sharing(got, wanted) ? "" : "; other results share memory");
    explain(NULL, q->text, what);
    failures++;
}

static void compare(relax_context *ctx, const relax_module *m, const question *q, int32_t level,
                    bool c, const outcome *wanted)
{
    outcome got;
    char how[40];
    relax_executable *exe = compile(ctx, m, level, c);
    snprintf(how, sizeof how, "level %d%s", (int)level, c ? " as C" : "");
    if (!exe) {
        explain(ctx, q->text, q->name);
        failures++;
        return;
    }
    run_machine(exe, q, &got);
    if (!same_outcome(&got, wanted))
        complain(q, how, &got, wanted);
    free(got.seen.data);
    relax_executable_release(exe);
}

static void answer(const question *q, int compiled_level)
{
    relax_context *ctx = relax_context_create(NULL);
    outcome wanted;
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), q->text, strlen(q->text));
    if (!m || relax_context_num_errors(ctx)) {
        explain(ctx, q->text, "it is well-formed");
        fail();
    }
    tried++;
    bool knows = ask_oracle(ctx, m, q, &wanted);
    if (!knows)
        explain(NULL, q->text, wanted.text);
    not_known += !knows;
    failing += *wanted.code != 0;
    knows = knows && !may_differ(&wanted, q);
    for (int32_t level = 0; knows && level < 3; level++)
        compare(ctx, m, q, level, false, &wanted);
    if (knows && compiled_level >= 0)
        compare(ctx, m, q, compiled_level, true, &wanted);
    free(wanted.seen.data);
    relax_context_release(ctx);
}

static void try_seed(uint64_t seed, bool show)
{
    static const int64_t rows[] = { 3, 1, 4, 6, 0 };
    char *text = random_tried_program(seed, getenv("ORACLE_UNKNOWN") != NULL);
    question q = { .text = text,
                   .seed = seed,
                   .n = rows[seed % N(rows)],
                   .shared = (int)(seed / 5 % 4),
                   .spoiled = true };
    snprintf(q.name, sizeof q.name, "PROGRAM_SEED=%llu", (unsigned long long)seed);
    if (show)
        printf("%s\n", text);
    answer(&q, seed % COMPILED_EACH == 0 ? (int)(seed / COMPILED_EACH % 3) : -1);
    free(text);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void tensors_with_several_names(void **state)
{
    size_t count;
    const text_part *parts = text_file_parts("test/vm/second_opinion.programs", &count);
    (void)state;
    assert_non_null(parts);
    for (size_t i = 0; i < count; i++) {
        question q = { .text = text_file_program(__FILE__, parts[i].name),
                       .seed = i,
                       .n = 3,
                       .shared = 2,
                       .written = true };
        snprintf(q.name, sizeof q.name, "%s", parts[i].name);
        answer(&q, -1);
    }
    assert_int_equal(failures, 0);
    assert_int_equal(not_known, 0);
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(tensors_with_several_names),
                                        cmocka_unit_test(the_machine_agrees) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
