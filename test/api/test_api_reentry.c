/* test_api_reentry: callbacks that fail, give nonsense or call back, and objects let go in
 * every order. */
#include "api_fixture.h"
#include "text_file.h"

#include <pthread.h>

static relax_module *parsed(relax_context *ctx, const char *text)
{
    relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

#define RELU "@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    return R.nn.relu(x)\n"
/* ---- packed functions: each has the machine that calls it in its hands ---------------------- */

typedef struct world {
    relax_vm *vm;
    relax_registry *registry;
    relax_executable *exe;
    int calls;
} world;

static int gives_nothing(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    (void)args;
    (void)result;
    return 0;
}
static int fails_silently(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    (void)args;
    (void)result;
    return -1;
}
static int fails_oddly(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    (void)args;
    (void)result;
    return 12345;
}
static int gives_a_number(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    (void)args;
    relax_value_set_int(result, 7);
    return 0;
}
static int gives_a_tuple(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    return (int)relax_value_set_tuple(result, args, 1, NULL);
}
static int gives_no_kind(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    (void)args;
    result->type_index = 50; /* below the boxed ones: nothing is behind it */
    return 0;
}
static int says_and_succeeds(world *w, const relax_value *args, relax_value *result)
{
    (void)w;
    (void)args;
    relax_value_set_error(result, Z("Odd"), Z("an error, and yet 0"));
    return 0;
}
/* Three machines deep; the innermost call ends it. */
static int calls_back(world *w, const relax_value *args, relax_value *result)
{
    relax_error *error = NULL;
    assert_int_equal(relax_vm_profile_start(w->vm), RELAX_ERROR_INVALID_ARGUMENT);
    if (w->calls % 3 == 0)
        return (int)relax_value_keep(&args[0], result);
    assert_int_equal(relax_vm_call(w->vm, Z("main"), args, 1, result, &error), RELAX_OK);
    assert_null(error);
    return 0;
}
/* Each failure is told to the one who called. */
static int calls_forever(world *w, const relax_value *args, relax_value *result)
{
    relax_error *error = NULL;
    relax_status status = relax_vm_call(w->vm, Z("main"), args, 1, result, &error);
    assert_int_not_equal(status, RELAX_OK);
    assert_true(w->calls > 64);
    assert_non_null(error);
    relax_error_release(error);
    return -1;
}
static int calls_wrongly(world *w, const relax_value *args, relax_value *result)
{
    relax_error *error = NULL;
    relax_value number;
    relax_value_set_int(&number, 3);
    assert_int_not_equal(relax_vm_call(w->vm, Z("main"), &number, 1, result, &error), RELAX_OK);
    assert_string_equal(relax_error_code(error), "RT02");
    relax_error_release(error);
    return (int)relax_value_keep(&args[0], result); /* the call around it goes on */
}
static int lets_all_go(world *w, const relax_value *args, relax_value *result)
{
    relax_vm_release(w->vm);
    relax_registry_release(w->registry);
    relax_executable_release(w->exe);
    w->vm = NULL;
    w->registry = NULL;
    w->exe = NULL;
    return (int)relax_value_keep(&args[0], result);
}
static int is_replaced(world *w, const relax_value *args, relax_value *result);

typedef int (*host_function)(world *w, const relax_value *args, relax_value *result);
typedef struct bound { host_function fn; world *w; } bound;

static int call_bound(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    bound *b = user;
    assert_int_equal(num_args, 1);
    b->w->calls++;
    return b->fn(b->w, args, result);
}

static void bind(world *w, host_function fn)
{
    bound *b = malloc(sizeof *b);
    *b = (bound){ fn, w };
    assert_int_equal(relax_registry_register(w->registry, Z("host"), call_bound, b, free, NULL),
                     RELAX_OK);
}

static int is_replaced(world *w, const relax_value *args, relax_value *result)
{
    bind(w, gives_a_number);
    return (int)relax_value_keep(&args[0], result);
}

static void packed_functions(void **state)
{
    static const struct { host_function fn; bool fine;
    } rows[] = {
        { gives_nothing, false },     { fails_silently, false }, { fails_oddly, false },
        { gives_a_number, false },    { gives_a_tuple, false },  { gives_no_kind, false },
        { says_and_succeeds, false }, { calls_back, true },      { is_replaced, true },
        { calls_forever, false },     { calls_wrongly, true },
        { lets_all_go, true },
    };
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("a packed call"));
    for (size_t i = 0; i < N(rows); i++) {
        world w = { .calls = 0 };
        relax_vm_options options;
        relax_value arg, result;
        relax_error *error = NULL;
        w.exe = relax_module_compile(ctx, m, NULL);
        assert_quiet(ctx);
        assert_int_equal(relax_registry_create(NULL, &w.registry, NULL), RELAX_OK);
        bind(&w, rows[i].fn);
        relax_vm_options_init(&options, sizeof options);
        options.registry = w.registry;
        assert_int_equal(relax_vm_create(w.exe, &options, &w.vm, NULL), RELAX_OK);
        relax_tensor *t = tensor_of((const float[]){ 1, 2 }, 1, 2), *flat = NULL;
        relax_tensor_release(t);
        assert_int_equal(
            relax_tensor_create(RELAX_FLOAT32, (int64_t[]){ 2 }, 1, NULL, &flat, NULL), RELAX_OK);
        relax_value_set_tensor(&arg, flat);
        /* a failed call leaves a machine that works */
        for (int again = 0; again < 2 && w.vm; again++) {
            relax_status status = relax_vm_call(w.vm, Z("main"), &arg, 1, &result, &error);
            if ((status == RELAX_OK) != rows[i].fine)
                fail_msg("row %zu: status %d: %s", i, (int)status,
                         relax_error_message(error, NULL));
            assert_true(rows[i].fine || (error && *relax_error_message(error, NULL)));
            relax_value_release(&result);
            relax_error_release(error);
        }
        assert_true(w.calls >= 1);
        relax_value_release(&arg);
        relax_tensor_release(flat);
        relax_vm_release(w.vm);
        relax_registry_release(w.registry);
        relax_executable_release(w.exe);
    }
}

/* ---- passes of the host --------------------------------------------------------------------- */

typedef struct pass_world {
    relax_pipeline *pipeline;
    const void *give;
    relax_context *ctx;
    const relax_module *module;
    int destroyed;
} pass_world;

static void count_destroy(void *user) { ((pass_world *)user)->destroyed++; }
static const relax_module *give_that(void *user, relax_context *ctx, const relax_module *m,
                                     const relax_attr *options)
{
    (void)options;
    (void)ctx;
    (void)m;
    return ((pass_world *)user)->give;
}
static const relax_module *run_again(void *user, relax_context *ctx, const relax_module *m,
                                     const relax_attr *options)
{
    (void)options;
    pass_world *w = user;
    assert_null(relax_pipeline_run(w->pipeline, m));
    assert_said(ctx, "OP09");
    assert_int_equal(relax_pipeline_add(w->pipeline, Z("normalize"), NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    return relax_pass_run(ctx, m, Z("legalize_ops"), NULL); /* another run is fine */
}
static const relax_module *destroy_it(void *user, relax_context *ctx, const relax_module *m,
                                     const relax_attr *options)
{
    (void)options;
    (void)ctx;
    relax_pipeline_destroy(((pass_world *)user)->pipeline);
    relax_pipeline_destroy(((pass_world *)user)->pipeline);
    return m;
}

static void host_passes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = parsed(ctx, RELU);
    const relax_expr *unit = relax_tuple_new(ctx, NULL, 0);
    const struct {
        relax_pass_fn run;
        const void *give;
        const char *code;
    } rows[] = {
        { give_that, NULL, "OP17" }, { give_that, unit, "OP17" }, { give_that, m, NULL },
        { run_again, NULL, NULL },   { destroy_it, NULL, NULL },
    };
    for (size_t i = 0; i < N(rows); i++) {
        pass_world w = { relax_pipeline_create(ctx), rows[i].give, ctx, m, 0 };
        assert_int_equal(
            relax_pipeline_add_host(w.pipeline, Z("host"), NULL, rows[i].run, &w, count_destroy),
            RELAX_OK);
        assert_int_equal(relax_pipeline_add(w.pipeline, Z("normalize"), NULL), RELAX_OK);
        const relax_module *out = relax_pipeline_run(w.pipeline, m);
        assert_true(!out == (rows[i].code != NULL));
        if (rows[i].code)
            assert_said(ctx, rows[i].code);
        assert_quiet(ctx);
        if (rows[i].run != destroy_it)
            relax_pipeline_destroy(w.pipeline);
        assert_int_equal(w.destroyed, 1);
    }
}

/* ---- hosts that listen, walk and write ------------------------------------------------------ */

static void misbehave(void *user, relax_context *ctx, size_t index)
{
    assert_non_null(relax_diagnostic_message(ctx, index, NULL));
    ++*(int *)user;
    relax_context_clear_diagnostics(ctx);
    assert_int_equal(relax_context_on_diagnostic(ctx, NULL, NULL, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_tuple_new(ctx, NULL, 3));
}

static void listeners_only_look(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    int told = 0;
    relax_builder *b;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    b = relax_builder_create(ctx, mb);
    assert_int_equal(relax_context_on_diagnostic(ctx, misbehave, &told, NULL), RELAX_OK);
    assert_int_equal(relax_builder_begin_function(b, NULL, 0, NULL, 0, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_end_function(b, NULL)); /* of the begin that failed */
    assert_int_equal(told, 1);
    /* that of the call, and that of the listener's own mistake */
    assert_int_equal(relax_context_num_errors(ctx), 2);
    assert_null(relax_module_parse(ctx, Z("m.py"),
                                   Z("@R.function\ndef main(x: R.Tensor((2,)):\n    return y\n")));
    assert_true(told > 1 && relax_context_num_errors(ctx) > 2);
    assert_int_equal(relax_context_on_diagnostic(ctx, NULL, NULL, NULL), RELAX_OK);
    relax_context_clear_diagnostics(ctx);
    relax_module_builder_destroy(mb); /* before its builder */
    relax_builder_begin_function(b, Z("f"), NULL, 0, NULL);
    assert_non_null(relax_builder_end_function(b, relax_tuple_new(ctx, NULL, 0)));
    relax_builder_destroy(b);
    assert_quiet(ctx);
}

typedef struct stopper { relax_context *ctx; int left; int32_t answer; } stopper;
static int32_t stop_later(void *user, const relax_node *node)
{
    stopper *s = user;
    assert_non_null(relax_node_kind_name(node));
    assert_non_null(
        relax_prim_int_new(s->ctx, 1000 + s->left)); /* making nodes meanwhile is fine */
    return s->left-- ? 0 : s->answer;
}
/* What is being walked may not be taken away. */
static int32_t collects(void *user, const relax_node *node)
{
    relax_context *ctx = user;
    (void)node;
    assert_int_equal(relax_context_collect(ctx, NULL, 0), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    return 0;
}
static int32_t write_fails(void *user, const char *data, size_t size)
{
    (void)data;
    (void)size;
    return --*(int *)user < 0;
}

static void walks_and_sinks(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_node *m = relax_module_as_node(parsed(ctx, RELU));
    static const int32_t stops[] = { 2, 3, -1, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < N(stops); i++)
        for (int at = 0; at < 8; at++) {
            stopper s = { ctx, at, stops[i] }, t = s;
            assert_int_equal(relax_node_walk(ctx, m, stop_later, NULL, &s), RELAX_ERROR_CANCELLED);
            assert_int_equal(relax_node_walk(ctx, m, NULL, stop_later, &t), RELAX_ERROR_CANCELLED);
        }
    assert_int_equal(relax_node_walk(ctx, m, collects, collects, ctx), RELAX_OK);
    int pieces = 0;
    assert_int_equal(relax_node_print_to(ctx, m, NULL, write_fails, &pieces),
                     RELAX_ERROR_CANCELLED);
    pieces = 1;
    assert_int_equal(relax_node_print_to(ctx, m, NULL, write_fails, &pieces), RELAX_OK);
    assert_quiet(ctx);
}

static int32_t count_node(void *user, const relax_node *node)
{
    (void)node;
    ++*(size_t *)user;
    return 0;
}

/* a = a * a, 60 times: 61 nodes, each entered as often as it is mentioned and left as often. */
static void shared_parts_are_opened_once(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_prim_expr *a = relax_shape_var_new(ctx, Z("n"));
    size_t entered = 0, left = 0;
    for (int i = 0; i < 60; i++)
        a = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, a, a);
    const relax_node *node = relax_prim_expr_as_node(a);
    assert_int_equal(relax_node_walk(ctx, node, count_node, NULL, &entered), RELAX_OK);
    assert_int_equal(relax_node_walk(ctx, node, NULL, count_node, &left), RELAX_OK);
    assert_int_equal(entered, 121);
    assert_int_equal(left, 121);
    assert_true(relax_node_hash(ctx, node) != 0 && relax_node_equal(ctx, node, node, 0) == 1);
    assert_int_equal(relax_free_shape_vars(ctx, node, NULL, 0), 1);
    assert_quiet(ctx);
}

/* ---- every order of letting go -------------------------------------------------------------- */

enum { CONTEXT, EXECUTABLE, VM, TENSOR, FUNCTION, ERROR, REGISTRY, BYTES, OBJECTS };

static int echo(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user;
    return num_args == 1 ? (int)relax_value_keep(&args[0], result) : -1;
}

static void make_all(void *all[OBJECTS])
{
    relax_vm_options options;
    relax_value arg, result;
    relax_context *ctx = relax_context_create(NULL);
    relax_executable *exe = relax_module_compile(ctx, parsed(ctx, PROGRAM("a packed call")), NULL);
    relax_vm *vm = NULL;
    relax_registry *registry = NULL;
    relax_tensor *t = NULL;
    relax_error *error = NULL;
    relax_bytes *bytes = NULL;
    relax_registry_create(NULL, &registry, NULL);
    assert_int_equal(relax_registry_register(registry, Z("host"), echo, NULL, NULL, NULL),
                     RELAX_OK);
    relax_vm_options_init(&options, sizeof options);
    options.registry = registry;
    assert_int_equal(relax_vm_create(exe, &options, &vm, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, (int64_t[]){ 2 }, 1, NULL, &t, NULL),
                     RELAX_OK);
    relax_value_set_tensor(&arg, t);
    assert_int_equal(relax_vm_call(vm, Z("main"), &arg, 1, &result, NULL), RELAX_OK);
    relax_value_release(&result);
    relax_value_release(&arg);
    assert_int_not_equal(relax_vm_call(vm, Z("nothing"), NULL, 0, &result, &error), RELAX_OK);
    assert_int_equal(relax_executable_serialize(exe, &bytes, NULL), RELAX_OK);
    relax_packed_func *f = relax_packed_func_retain(relax_registry_find(registry, Z("host")));
    void *made[OBJECTS] = { ctx, exe, vm, t, f, error, registry, bytes };
    memcpy(all, made, sizeof made);
}

static void let_go(void *const all[OBJECTS], int which)
{
    switch (which) {
    case CONTEXT: relax_context_release(all[which]); break;
    case EXECUTABLE: relax_executable_release(all[which]); break;
    case VM: relax_vm_release(all[which]); break;
    case TENSOR: relax_tensor_release(all[which]); break;
    case FUNCTION: relax_packed_func_release(all[which]); break;
    case ERROR: relax_error_release(all[which]); break;
    case REGISTRY: relax_registry_release(all[which]); break;
    default: relax_bytes_release(all[which]); break;
    }
}

/* All permutations; in the short run every 97th, a number that has no factor in common with
 * theirs. */
static void every_order(void **state)
{
    (void)state;
    const int total = 40320, step = getenv("RELAX_LONG") ? 1 : 97;
    for (int order = 0; order < total; order += step) {
        int left[OBJECTS], count = OBJECTS, code = order;
        void *all[OBJECTS];
        make_all(all);
        for (int i = 0; i < OBJECTS; i++)
            left[i] = i;
        for (; count; code /= count, count--) {
            int at = code % count;
            let_go(all, left[at]);
            left[at] = left[count - 1];
            if (count == 1)
                break;
        }
    }
}

/* ---- counts from several threads ------------------------------------------------------------ */

static void *retain_and_release(void *user)
{
    void **all = user;
    for (int i = 0; i < 20000; i++) {
        relax_context_release(relax_context_retain(all[CONTEXT]));
        relax_executable_release(relax_executable_retain(all[EXECUTABLE]));
        relax_vm_release(relax_vm_retain(all[VM]));
        relax_tensor_release(relax_tensor_retain(all[TENSOR]));
        relax_packed_func_release(relax_packed_func_retain(all[FUNCTION]));
        relax_error_release(relax_error_retain(all[ERROR]));
        relax_registry_release(relax_registry_retain(all[REGISTRY]));
        relax_bytes_release(relax_bytes_retain(all[BYTES]));
    }
    return NULL;
}

static void counts_in_threads(void **state)
{
    (void)state;
    void *all[OBJECTS];
    pthread_t threads[4];
    make_all(all);
    for (size_t i = 0; i < N(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, all), 0);
    for (size_t i = 0; i < N(threads); i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < OBJECTS; i++)
        let_go(all, i);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(packed_functions),
        TEST(host_passes),
        TEST(listeners_only_look),
        TEST(walks_and_sinks),
        TEST(shared_parts_are_opened_once),
        TEST(every_order),
        TEST(counts_in_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
