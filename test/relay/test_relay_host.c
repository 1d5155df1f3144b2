/* test_relay_host.c: relations and operators of Relay that a host adds, good ones and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <relax/relax.h>

#define Z(text) text, strlen(text)

static int destroyed;
static void count_destroy(void *user)
{
    (void)user;
    destroyed++;
}

/* ---- relations ------------------------------------------------------------------------------- */

static int32_t identity(void *user, const relax_relay_call *call)
{
    (void)user;
    return relax_relay_call_equal(call, relax_relay_call_type(call, 0), relax_relay_call_type(call, 1)) == RELAX_OK
               ? RELAX_RELAY_HOLDS : RELAX_RELAY_FAILS;
}

/* (d0, d1, ...) -> (d0, d1 * ...) */
static int32_t flatten(void *user, const relax_relay_call *call)
{
    const relax_relay_type *x = relax_relay_call_type(call, 0);
    size_t rank = relax_relay_type_rank(x);
    (void)user;
    if (relax_relay_type_kind(x) == RELAX_RELAY_TYPE_UNKNOWN)
        return RELAX_RELAY_UNDECIDED;
    if (rank == 0 || rank == RELAX_NOT_FOUND) {
        relax_relay_call_fail(call, Z("takes a tensor of rank 1 at least"));
        return RELAX_RELAY_FAILS;
    }
    int64_t out[2] = { relax_relay_type_extent(x, 0), 1 };
    for (size_t i = 1; i < rank; i++)
        out[1] = out[1] < 0 || relax_relay_type_extent(x, i) < 0 ? -1 : out[1] * relax_relay_type_extent(x, i);
    const relax_relay_type *t = relax_relay_call_tensor(call, out, 2, relax_relay_type_dtype(x));
    return relax_relay_call_assign(call, 1, t) == RELAX_OK ? RELAX_RELAY_HOLDS : RELAX_RELAY_FAILS;
}

/* The simple form: n copies of the input, as a tuple. */
static const relax_relay_type *copies(void *user, const relax_relay_call *call)
{
    const relax_relay_type *all[8];
    int64_t n = 0;
    (void)user;
    assert_int_equal(relax_relay_call_num_inputs(call), 1);
    assert_int_equal(relax_relay_call_num_types(call), 2);
    if (relax_relay_call_int(call, "n", &n) != RELAX_OK || n < 0 || n > 8) {
        relax_relay_call_fail(call, Z("n is between 0 and 8"));
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        all[i] = relax_relay_call_type(call, 0);
    return relax_relay_call_tuple(call, all, (size_t)n);
}

static const relax_relay_type *kept; /* of a call that is over */
static int wrong;                     /* what the callback below does */
static int32_t misbehave(void *user, const relax_relay_call *call)
{
    (void)user;
    switch (wrong) {
    case 0: return 77;
    case 1: relax_relay_call_assign(call, 1, kept); return RELAX_RELAY_HOLDS;
    case 2: relax_relay_call_assign(call, 99, relax_relay_call_type(call, 0)); return RELAX_RELAY_HOLDS;
    case 3: return RELAX_RELAY_HOLDS;                 /* the output stays open */
    case 4: return RELAX_RELAY_UNDECIDED;             /* for ever */
    case 5: return RELAX_RELAY_FAILS;                 /* says nothing */
    case 6: relax_relay_call_fail(call, Z("never")); return RELAX_RELAY_HOLDS;
    case 7: relax_relay_call_assign(call, 1, NULL); return RELAX_RELAY_HOLDS;
    default: kept = relax_relay_call_type(call, 0); return identity(user, call);
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static const relax_expr *convert_copies(void *user, relax_context *ctx, const relax_relay_call *call)
{
    const relax_expr *all[8];
    int64_t n = 0, seen = 0;
    size_t count = 0, len = 0;
    double scale = 0;
    const char *text = NULL;
    (void)user;
    assert_int_equal(relax_relay_call_int(call, "n", &n), RELAX_OK);
    assert_int_equal(relax_relay_call_float(call, "scale", &scale), RELAX_OK);
    assert_int_equal(relax_relay_call_text(call, "mode", &text, &len), RELAX_OK);
    assert_memory_equal(text, "plain", 5);
    assert_int_equal(relax_relay_call_ints(call, "n", &seen, 1, &count), RELAX_OK);
    assert_true(seen == n && count == 1);
    assert_int_equal(relax_relay_call_int(call, "mode", &seen), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_relay_call_assign(call, 0, relax_relay_call_type(call, 0)), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_relay_call_arg(call, 1));
    float value = (float)scale;
    const relax_expr *factor = relax_constant_new(ctx, RELAX_FLOAT32, NULL, 0, &value, sizeof value);
    for (int64_t i = 0; i < n; i++) {
        const relax_expr *args[] = { relax_relay_call_arg(call, 0), factor };
        all[i] = relax_call_op_new(ctx, Z("multiply"), args, 2, NULL, 0);
    }
    return relax_tuple_new(ctx, all, (size_t)n);
}

static void add_all(relax_context *ctx)
{
    static const char *const names[] = { "n", "scale", "mode" }, *const defaults[] = { "2", "0.5f", "\"plain\"" };
    static const int32_t types[] = { RELAX_OP_ATTR_INT, RELAX_OP_ATTR_FLOAT, RELAX_OP_ATTR_STRING };
    relax_relay_op_options o;
    assert_int_equal(relax_relay_relation_register(ctx, Z("host.Flatten"), flatten, NULL, NULL, count_destroy), RELAX_OK);
    assert_int_equal(relax_relay_relation_register(ctx, Z("host.Copies"), NULL, copies, NULL, count_destroy), RELAX_OK);
    assert_int_equal(relax_relay_relation_register(ctx, Z("host.Same"), identity, NULL, NULL, NULL), RELAX_OK);
    assert_int_equal(relax_relay_relation_register(ctx, Z("host.Bad"), misbehave, NULL, NULL, NULL), RELAX_OK);
    relax_relay_op_options_init(&o, sizeof o);
    o.name = "host.flat", o.name_len = 9;
    o.num_inputs = 1;
    o.relation = "host.Flatten", o.relation_len = 12;
    o.relax_op = "nn.batch_flatten", o.relax_op_len = 16;
    o.destroy = count_destroy;
    assert_int_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    relax_relay_op_options_init(&o, sizeof o);
    o.name = "host.copies", o.name_len = 11;
    o.num_inputs = 1;
    o.relation = "host.Copies", o.relation_len = 11;
    o.attr_names = names, o.attr_types = types, o.attr_defaults = defaults, o.num_attrs = 3;
    o.convert = convert_copies;
    assert_int_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    o.name = "host.bad", o.name_len = 8;
    o.relation = "host.Bad", o.relation_len = 8;
    o.convert = NULL;
    assert_int_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    assert_int_equal(relax_context_num_errors(ctx), 0);
}

static relax_context *new_context(void)
{
    relax_context *ctx = relax_context_create(NULL);
    assert_non_null(ctx);
    add_all(ctx);
    return ctx;
}

static relax_relay_module *read_text(relax_context *ctx, const char *text)
{
    relax_relay_module *m = relax_relay_module_parse(ctx, Z("m.rly"), Z(text));
    if (m && relax_relay_module_infer(m) == RELAX_OK)
        return m;
    relax_relay_module_destroy(m);
    return NULL;
}

static void assert_text_has(relax_relay_module *m, const char *part)
{
    relax_bytes *text = relax_relay_module_print(m);
    assert_non_null(text);
    if (!strstr(relax_bytes_data(text), part))
        print_error("%s", relax_bytes_data(text));
    assert_non_null(strstr(relax_bytes_data(text), part));
    relax_bytes_release(text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void operators_are_typed_and_translated(void **unused)
{
    relax_context *ctx = new_context();
    relax_relay_module *m = read_text(ctx, "#[version = \"0.0.5\"]\n"
        "def @main(%x: Tensor[(2, 3, 4), float32]) { %0 = host.flat(%x); host.copies(%0, n=3) }\n");
    (void)unused;
    assert_non_null(m);
    assert_text_has(m, "-> (Tensor[(2, 12), float32], Tensor[(2, 12), float32], Tensor[(2, 12), float32])");
    assert_text_has(m, "host.copies(%0, n=3)");
    relax_module *module = relax_relay_module_translate(m);
    relax_relay_module_destroy(m);
    assert_non_null(module);
    relax_executable *exe = relax_module_compile(ctx, module, NULL);
    assert_non_null(exe);
    relax_executable_release(exe);
    relax_context_release(ctx);
    assert_int_equal(destroyed, 3);
}

static const relax_expr *convert_fixed(void *user, relax_context *ctx, const relax_relay_call *call)
{
    const relax_expr *args[] = { relax_relay_call_arg(call, 0), relax_relay_call_arg(call, 0) };
    (void)user;
    return relax_call_op_new(ctx, Z("add"), args, 2, NULL, 0);
}

static void operators_of_relay_may_be_converted_by_the_host(void **unused)
{
    relax_context *ctx = new_context();
    (void)unused;
    destroyed = 0;
    assert_int_equal(relax_relay_converter_register(ctx, Z("memory.kill"), convert_fixed, NULL, NULL), RELAX_OK);
    assert_int_equal(relax_relay_converter_register(ctx, Z("tanh"), convert_fixed, NULL, count_destroy), RELAX_OK);
    assert_int_not_equal(relax_relay_converter_register(ctx, Z("tanh"), convert_fixed, NULL, count_destroy), RELAX_OK);
    assert_int_not_equal(relax_relay_converter_register(ctx, Z("tan h"), convert_fixed, NULL, count_destroy), RELAX_OK);
    assert_int_not_equal(relax_relay_converter_register(ctx, Z("sin"), NULL, NULL, count_destroy), RELAX_OK);
    assert_int_equal(destroyed, 3);
    relax_context_clear_diagnostics(ctx);
    relax_relay_module *m = read_text(ctx, "fn (%x: Tensor[(2), float32]) { tanh(%x) }");
    relax_module *module = m ? relax_relay_module_translate(m) : NULL;
    assert_non_null(module);
    relax_bytes *text = relax_node_print(ctx, relax_module_as_node(module), NULL);
    assert_non_null(text);
    assert_non_null(strstr(relax_bytes_data(text), "R.add(x, x)"));
    relax_bytes_release(text);
    relax_relay_module_destroy(m);
    relax_context_release(ctx);
}

static void relations_are_constraints_of_functions(void **unused)
{
    relax_context *ctx = new_context();
    (void)unused;
    relax_relay_module *m = read_text(ctx, "#[version = \"0.0.5\"]\n"
        "def @same[A, B](%x: A, %y: B) -> B where host.Same(A, B) { %y }\n"
        "def @main(%x: Tensor[(2), float32]) { @same(%x, %x) }\n");
    assert_non_null(m);
    relax_relay_module_destroy(m);
    assert_null(read_text(ctx, "#[version = \"0.0.5\"]\n"
        "def @same[A, B](%x: A, %y: B) -> B where host.Same(A, B) { %y }\n"
        "def @main(%x: Tensor[(2), float32]) { @same(%x, (%x, %x)) }\n"));
    relax_context_release(ctx);
}

static void mistakes_of_a_text_are_said_in_the_hosts_words(void **unused)
{
    relax_context *ctx = new_context();
    (void)unused;
    assert_null(read_text(ctx, "host.flat(1f)"));
    relax_bytes *said = relax_diagnostic_render(ctx, 0);
    assert_non_null(said);
    assert_non_null(strstr(relax_bytes_data(said), "RY21"));
    assert_non_null(strstr(relax_bytes_data(said), "host.flat: takes a tensor of rank 1 at least"));
    relax_bytes_release(said);
    assert_null(read_text(ctx, "host.copies(1f, n=9)"));
    assert_null(read_text(ctx, "host.copies(1f, m=1)"));
    relax_context_release(ctx);
}

static void callbacks_that_misbehave_are_refused(void **unused)
{
    static const char *const codes[] = { "OP17", "OP17", "OP17", "RY22", "RY22", "RY21", "RY21", "OP17" };
    (void)unused;
    wrong = -1;
    relax_context *first = new_context();
    relax_relay_module *m = read_text(first, "host.bad(1f)");
    assert_non_null(m);
    assert_non_null(kept);
    for (wrong = 0; wrong < 8; wrong++) {
        relax_context *ctx = new_context();
        assert_null(read_text(ctx, "host.bad(1f)"));
        relax_bytes *said = relax_diagnostic_render(ctx, 0);
        if (!strstr(relax_bytes_data(said), codes[wrong]))
            print_error("%d: %s\n", wrong, relax_bytes_data(said));
        assert_non_null(strstr(relax_bytes_data(said), codes[wrong]));
        relax_bytes_release(said);
        relax_context_release(ctx);
    }
    wrong = -1;
    assert_null(relax_relay_module_translate(m)); /* no converter */
    relax_relay_module_destroy(m);
    relax_context_release(first);
}

static void bad_registrations_are_refused(void **unused)
{
    relax_context *ctx = new_context();
    relax_relay_op_options o;
    (void)unused;
    relax_relay_op_options_init(&o, sizeof o);
    destroyed = 0;
    o.destroy = count_destroy;
    o.num_inputs = 1;
    o.relation = "Broadcast", o.relation_len = 9;
    o.name = "add", o.name_len = 3; /* Relay has it */
    assert_int_not_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    o.name = "host.flat", o.name_len = 9; /* twice */
    assert_int_not_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    o.name = "host.x", o.name_len = 6;
    o.relation = "NoSuch", o.relation_len = 6;
    assert_int_not_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    o.relation = "Broadcast", o.relation_len = 9;
    o.relax_op = "no.such", o.relax_op_len = 7;
    assert_int_not_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    o.relax_op = NULL;
    o.num_inputs = -2;
    assert_int_not_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    o.num_inputs = 1;
    o.num_attrs = 1000;
    assert_int_not_equal(relax_relay_op_register(ctx, &o), RELAX_OK);
    assert_int_not_equal(relax_relay_op_register(ctx, NULL), RELAX_OK);
    assert_int_not_equal(relax_relay_relation_register(ctx, Z("host.R"), NULL, NULL, NULL, count_destroy), RELAX_OK);
    assert_int_not_equal(relax_relay_relation_register(ctx, Z("host.R"), identity, copies, NULL, count_destroy), RELAX_OK);
    assert_int_not_equal(relax_relay_relation_register(ctx, Z("Broadcast"), identity, NULL, NULL, count_destroy), RELAX_OK);
    assert_int_equal(destroyed, 9);
    assert_int_equal(relax_relay_call_num_types(NULL), 0);
    assert_null(relax_relay_call_type(NULL, 0));
    assert_int_equal(relax_relay_type_kind(NULL), 0);
    relax_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_typed_and_translated),
        cmocka_unit_test(operators_of_relay_may_be_converted_by_the_host),
        cmocka_unit_test(relations_are_constraints_of_functions),
        cmocka_unit_test(mistakes_of_a_text_are_said_in_the_hosts_words),
        cmocka_unit_test(callbacks_that_misbehave_are_refused),
        cmocka_unit_test(bad_registrations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
