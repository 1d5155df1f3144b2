/* test_api_closure: functions that are values in the hands of the host: called, kept, passed back,
 * let go in every order. */
#include "api_fixture.h"
#include "text_file.h"

typedef struct machine {
    relax_registry *registry;
    relax_executable *exe;
    relax_vm *vm;
} machine;

static int doubles(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    const float *in = relax_tensor_data(relax_value_get_tensor(&args[0]));
    relax_tensor *out = NULL;
    int64_t shape[] = { 1, 2 };
    (void)user;
    assert_int_equal(num_args, 1);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, shape, 2, NULL, &out, NULL), RELAX_OK);
    relax_tensor_copy_in(out, (const float[]){ 2 * in[0], 2 * in[1] }, 2 * sizeof *in);
    relax_value_set_tensor(result, out);
    relax_tensor_release(out);
    return 0;
}

static machine start(relax_context *ctx)
{
    machine w = { NULL, NULL, NULL };
    relax_vm_options options;
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("gives a closure")));
    assert_quiet(ctx);
    w.exe = relax_module_compile(ctx, m, NULL);
    assert_quiet(ctx);
    assert_int_equal(relax_registry_create(NULL, &w.registry, NULL), RELAX_OK);
    assert_int_equal(relax_registry_register(w.registry, Z("host"), doubles, NULL, NULL, NULL),
                     RELAX_OK);
    relax_vm_options_init(&options, sizeof options);
    options.registry = w.registry;
    assert_int_equal(relax_vm_create(w.exe, &options, &w.vm, NULL), RELAX_OK);
    return w;
}

static void stop(machine *w)
{
    relax_vm_release(w->vm);
    relax_executable_release(w->exe);
    relax_registry_release(w->registry);
    *w = (machine){ NULL, NULL, NULL };
}

static relax_value row_of(float a, float b)
{
    relax_value v;
    relax_tensor *t = tensor_of((const float[]){ a, b }, 1, 2);
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    return v;
}

/* function(arg) is (a, b). */
static void gives(machine *w, const relax_value *function, const relax_value *arg, float a,
                  float b)
{
    relax_value result;
    relax_error *error = NULL;
    relax_status status = relax_vm_call_value(w->vm, function, arg, 1, &result, &error);
    if (status != RELAX_OK)
        fail_msg("%s", relax_error_message(error, NULL));
    const float *got = relax_tensor_data(relax_value_get_tensor(&result));
    assert_float_equal(got[0], a, 0);
    assert_float_equal(got[1], b, 0);
    relax_value_release(&result);
}

static void fails(machine *w, const relax_value *function, const relax_value *args, size_t n,
                  const char *code)
{
    relax_value result;
    relax_error *error = NULL;
    assert_int_not_equal(relax_vm_call_value(w->vm, function, args, n, &result, &error), RELAX_OK);
    assert_string_equal(relax_error_code(error), code);
    assert_int_equal(relax_value_kind(&result), RELAX_VALUE_KIND_NULL);
    relax_error_release(error);
}

static void called_and_kept(void **state)
{
    machine w = start(((fixture *)*state)->ctx);
    relax_value x = row_of(1, 2), y = row_of(10, 20), f, g, number, wide;
    assert_int_equal(relax_vm_call(w.vm, Z("main"), &x, 1, &f, NULL), RELAX_OK);
    assert_int_equal(relax_vm_call(w.vm, Z("main"), &y, 1, &g, NULL), RELAX_OK);
    assert_int_equal(relax_value_kind(&f), RELAX_VALUE_KIND_FUNCTION);
    relax_value_release(&x); /* the closure has it */
    gives(&w, &f, &y, 11, 22);
    gives(&w, &g, &y, 20, 40);
    gives(&w, &f, &y, 11, 22);
    relax_value_set_int(&number, 3);
    fails(&w, &f, &number, 1, "RT02");
    fails(&w, &f, NULL, 0, "RT01");
    fails(&w, &number, &y, 1, "RT18");
    fails(&w, &y, &y, 1, "RT18");
    relax_tensor *t = tensor_of((const float[]){ 1, 2, 3 }, 1, 3);
    relax_value_set_tensor(&wide, t);
    relax_tensor_release(t);
    fails(&w, &f, &wide, 1, "RT05");
    relax_value_release(&wide);
    relax_value both[2] = { f, y }, result; /* and back into the program */
    assert_int_equal(relax_vm_call(w.vm, Z("apply"), both, 2, &result, NULL), RELAX_OK);
    assert_float_equal(((const float *)relax_tensor_data(relax_value_get_tensor(&result)))[1], 22, 0);
    relax_value_release(&result);
    stop(&w);
    relax_value_release(&g);
    assert_int_equal(relax_value_kind(&f), RELAX_VALUE_KIND_FUNCTION); /* stays, without machine */
    relax_value_release(&f);
    relax_value_release(&y);
}

static void functions_without_captures(void **state)
{
    machine w = start(((fixture *)*state)->ctx);
    relax_value x = row_of(1, 2), pair, f, field;
    assert_int_equal(relax_vm_call(w.vm, Z("plain"), &x, 1, &pair, NULL), RELAX_OK);
    assert_int_equal(relax_value_tuple_get(&pair, 0, &field), RELAX_OK);
    assert_int_equal(relax_value_keep(&field, &f), RELAX_OK);
    relax_value_release(&pair);
    gives(&w, &f, &x, 2, 4);
    relax_value_release(&f);
    assert_int_equal(relax_vm_call(w.vm, Z("named"), NULL, 0, &f, NULL), RELAX_OK);
    gives(&w, &f, &x, 2, 4);
    relax_value_release(&f);
    relax_value_release(&x);
    stop(&w);
}

/* A function runs in its own program only. */
static void other_programs(void **state)
{
    machine a = start(((fixture *)*state)->ctx), b = start(((fixture *)*state)->ctx);
    relax_value x = row_of(1, 2), f;
    assert_int_equal(relax_vm_call(a.vm, Z("main"), &x, 1, &f, NULL), RELAX_OK);
    fails(&b, &f, &x, 1, "RT18");
    stop(&a);
    fails(&b, &f, &x, 1, "RT18");
    relax_value_release(&f);
    relax_value_release(&x);
    stop(&b);
}

static void misuse(void **state)
{
    machine w = start(((fixture *)*state)->ctx);
    relax_value x = row_of(1, 2), result;
    assert_int_equal(relax_vm_call_value(NULL, &x, &x, 1, &result, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_vm_call_value(w.vm, NULL, &x, 1, &result, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_vm_call_value(w.vm, &x, NULL, 1, &result, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_vm_call_value(w.vm, &x, &x, 1, NULL, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    relax_value_release(&x);
    stop(&w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(called_and_kept),
        TEST(functions_without_captures),
        TEST(other_programs),
        TEST(misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
