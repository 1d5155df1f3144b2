/*- test_api_hostile: programs that never end, call themselves without end, want more memory than
 * there is, compute sizes that do not fit, or work on nothing at all. Each is read, compiled
 * and run on the stack that relax/context.h promises.
 *     test_api_hostile NAME      one of them alone, with what it answers
 */
#include "api_fixture.h"
#include "text_file.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
enum { STACK = 2 << 20 };
#else
enum { STACK = 256 << 10 };
#endif

#define HEAD                                                                                     \
    "from tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import " \
    "tir as T\n\n@I.ir_module\nclass Module:\n"
#define VEC "R.Tensor((2,), \"float32\")"
#define MAIN(params) "    @R.function\n    def main(" params ")"
#define BIG (INT64_C(1) << 60)
#define LAST INT64_MAX

typedef struct hostile {
    const char *name, *text;
    /* of the shape that is its argument; all 0: a vector of two floats */
    int64_t dims[3];
    const char *code;         /* how it ends; NULL: with a value */
    double value;             /* its first element */
    int milliseconds;         /* not 0: the deadline that ends it */
} hostile;

static const hostile programs[] = {
    /* ---- recursion ---- */
    { "itself",
      HEAD MAIN("x: " VEC) " -> " VEC
                           ":\n        y = Module.main(x)\n        return R.add(y, y)\n",
      { 0 },
      "RT11",
      0,
      0 },
    { "each_other", "= each_other",
      { 0 },
      "RT11",
      0,
      0 },
    { "in_a_branch", "= in_a_branch",
      { 0 },
      "RT11",
      0,
      0 },
    { "through_the_host", "= through_the_host",
      { 0 },
      "RT16",
      0,
      0 },
    /* ---- no end ---- */
    { "tail_calls",
      HEAD MAIN("x: " VEC) " -> " VEC ":\n        y = Module.main(x)\n        return y\n",
      { 0 },
      "RT12",
      0,
      20 },
    { "tail_calls_of_two", "= tail_calls_of_two",
      { 0 },
      "RT12",
      0,
      20 },
    { "tail_calls_with_work", "= tail_calls_with_work",
      { 0 },
      "RT12",
      0,
      20 },
    { "many_calls", "= many_calls",
      { 0 },
      "RT12",
      0,
      20 },
#define KERNEL(body)                                                                              \
    HEAD "    @T.prim_func\n    def k(A: T.Buffer((T.int64(2),), \"float32\"), "                  \
         "B: T.Buffer((T.int64(2),), \"float32\")):\n" body MAIN("x: " VEC) " -> " VEC            \
         ":\n        y = R.call_tir(Module.k, (x,), out_sinfo=" VEC ")\n"                         \
         "        return y\n"
    { "long_loops",
      KERNEL("        for i, j, l in T.grid(T.int64(1048576), T.int64(1048576), "
             "T.int64(1048576)):\n            B[T.int64(0)] = B[T.int64(0)] + A[T.int64(1)]\n"),
      { 0 },
      "RT12",
      0,
      20 },
    { "long_strips",
      KERNEL("        for i, j in T.grid(T.int64(1099511627776), T.int64(2)):\n            B[j] = "
             "A[j] + T.float32(1)\n"),
      { 0 },
      "RT12",
      0,
      20 },
    { "one_long_loop",
      KERNEL("        for i in range(T.int64(4611686018427387904)):\n            B[i % "
             "T.int64(2)] = A[T.int64(0)]\n"),
      { 0 },
      "RT12",
      0,
      20 },
    { "a_long_sum", "= a_long_sum",
      { 0 },
      "RT12",
      0,
      20 },
    { "an_empty_loop",
      KERNEL("        for i in range(T.int64(4611686018427387904)):\n            if i < "
             "T.int64(0):\n                B[T.int64(0)] = T.float32(0)\n"),
      { 0 },
      "RT12",
      0,
      20 },
    { "while_true",
      KERNEL("        while T.bool(True):\n            B[T.int64(0)] = A[T.int64(1)]\n"),
      { 0 },
      "RT12",
      0,
      20 },
    { "while_nothing_changes",
      KERNEL("        B[T.int64(0)] = T.float32(0)\n        while B[T.int64(0)] < T.float32(1):\n "
             "           B[T.int64(1)] = A[T.int64(1)]\n"),
      { 0 },
      "RT12",
      0,
      20 },
    { "a_long_product", "= a_long_product",
      { 3000 },
      "RT12",
      0,
      60 },
    { "a_long_map", "= a_long_map",
      { 60000000 },
      "RT12",
      0,
      60 },

    /* ---- too large ---- */
#define SIZED(body)                                                                         \
    HEAD MAIN("x: R.Shape([\"n\", \"m\", \"k\"])") ":\n        n = T.int64()\n        m = " \
                                                   "T.int64()\n        k = T.int64()\n" body
    { "huge_zeros",
      SIZED("        y = R.zeros(R.shape([n]), dtype=\"float32\")\n        return y\n"),
      { BIG, 1, 1 },
      "RT10",
      0,
      0 },
    { "huge_zeros_of_bytes",
      SIZED("        y = R.zeros(R.shape([n]), dtype=\"int8\")\n        return y\n"),
      { LAST, 1, 1 },
      "RT10",
      0,
      0 },
    { "more_bytes_than_fit",
      SIZED("        y = R.zeros(R.shape([n]), dtype=\"float64\")\n        return y\n"),
      { INT64_C(1) << 61, 1, 1 },
      "RT10",
      0,
      0 },
    { "bytes_that_wrap_to_0",
      SIZED("        y = R.zeros(R.shape([n, m]), dtype=\"float32\")\n        return y\n"),
      { INT64_C(1) << 31, INT64_C(1) << 31, 1 },
      "RT10",
      0,
      0 },
    { "elements_that_wrap_to_0",
      SIZED("        y = R.zeros(R.shape([n, m]), dtype=\"int8\")\n        return y\n"),
      { INT64_C(1) << 32, INT64_C(1) << 32, 1 },
      "RT10",
      0,
      0 },
    { "wrap_to_1",
      SIZED("        y = R.zeros(R.shape([n, m]), dtype=\"int8\")\n        return y\n"),
      { INT64_C(6700417), INT64_C(2753074036095), 1 },
      "RT10",
      0,
      0 },
    { "three_sizes",
      SIZED("        y = R.zeros(R.shape([n, m, k]), dtype=\"float32\")\n        return y\n"),
      { 1 << 22, 1 << 22, 1 << 22 },
      "RT10",
      0,
      0 },
    { "huge_full",
      SIZED("        y = R.full(R.shape([n]), R.const(1.0, \"float32\"), dtype=\"float32\")\n     "
            "   return y\n"),
      { BIG, 1, 1 },
      "RT10",
      0,
      0 },
    { "huge_broadcast",
      SIZED("        a = R.zeros(R.shape([m]), dtype=\"float32\")\n        y = R.broadcast_to(a, "
            "R.shape([n, m]))\n        return y\n"),
      { BIG, 1, 1 },
      "RT10",
      0,
      0 },
    { "huge_product", "= huge_product",
      { 100000, 100000, 1 },
      "RT10",
      0,
      0 },
    { "huge_in_between", "= huge_in_between",
      { INT64_C(1) << 40, INT64_C(1) << 40, 1 },
      "RT14",
      0,
      0 },
    { "long_sort",
      SIZED("        a = R.zeros(R.shape([n]), dtype=\"float32\")\n"
            "        y = R.sort(a, axis=0, descending=True)\n        "
            "return y\n"),
      { 1 << 22, 1, 1 },
      "RT12",
      0,
      20 },
    { "long_argsort",
      SIZED("        a = R.zeros(R.shape([n]), dtype=\"float32\")\n"
            "        y = R.argsort(a, axis=0, dtype=\"int64\")\n        "
            "return y\n"),
      { 1 << 22, 1, 1 },
      "RT12",
      0,
      20 },
    { "long_unique",
      SIZED("        a = R.zeros(R.shape([n]), dtype=\"float32\")\n"
            "        y = R.unique(a)\n        "
            "return y\n"),
      { 1 << 22, 1, 1 },
      "RT12",
      0,
      20 },
    { "size_overflows",
      SIZED("        y = R.zeros(R.shape([n * m]), dtype=\"int8\")\n        return y\n"),
      { INT64_C(1) << 32, INT64_C(1) << 32, 1 },
      "RT14",
      0,
      0 },
    { "sum_overflows",
      SIZED("        y = R.zeros(R.shape([n + m]), dtype=\"int8\")\n        return y\n"),
      { LAST, 1, 1 },
      "RT14",
      0,
      0 },
    { "shape_overflows",
      SIZED("        y = R.shape([n * m * k * 4])\n        return y\n"),
      { INT64_C(1) << 31, INT64_C(1) << 31, 1 },
      "RT14",
      0,
      0 },
    { "division_by_zero",
      SIZED("        y = R.shape([n // (m - 1)])\n        return y\n"),
      { 4, 1, 1 },
      "RT14",
      0,
      0 },
    { "remainder_by_zero",
      SIZED("        y = R.shape([n % (m - 1)])\n        return y\n"),
      { 4, 1, 1 },
      "RT14",
      0,
      0 },
    { "negative_size",
      SIZED("        y = R.zeros(R.shape([n - 5]), dtype=\"float32\")\n        return y\n"),
      { 3, 1, 1 },
      "RT05",
      0,
      0 },
    { "negative_in_a_shape",
      SIZED("        y = R.shape([n - 5])\n        return y\n"),
      { 3, 1, 1 },
      NULL,
      0,
      0 },
    { "concat_overflows",
      SIZED("        a = R.zeros(R.shape([n, 0]), dtype=\"int8\")\n        y = R.concat((a, a), "
            "axis=0)\n        return y\n"),
      { INT64_C(1) << 62, 1, 1 },
      "RT10",
      0,
      0 },
    { "flatten_overflows",
      SIZED("        a = R.zeros(R.shape([n, m, 0]), dtype=\"int8\")\n        y = R.reshape(a, "
            "R.shape([n * m, 0]))\n        return y\n"),
      { INT64_C(1) << 32, INT64_C(1) << 32, 1 },
      "RT10",
      0,
      0 },
#define LOCAL(shape)                                                                              \
    HEAD "    @T.prim_func\n    def k(a: T.handle, b: T.handle):\n        n = T.int64()\n"        \
         "        A = T.match_buffer(a, (n,))\n        B = T.match_buffer(b, (n,))\n"             \
         "        C = T.alloc_buffer((" shape "))\n"                                              \
         "        for i in range(n):\n            C[i, 0] = A[i]\n"                               \
         "        for i in range(n):\n            C[i, 0] = C[i, 0] * T.float32(2)\n"             \
         "        for i in range(n):\n            B[i] = C[i, 0]\n"                               \
    MAIN("x: R.Tensor((\"n\",), \"float32\")")                                                    \
         " -> R.Tensor((\"n\",), \"float32\"):\n        n = T.int64()\n"                          \
         "        y = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((n,), \"float32\"))\n"        \
         "        return y\n"
    /* Arithmetic of TIR wraps; what a size came to is what accesses are checked against. */
    { "local_buffer", LOCAL("n, 8"), { 0 }, NULL, 1, 0 },
    { "huge_local_buffer", LOCAL("n, n * T.int64(1152921504606846976)"), { 0 }, "RT10", 0, 0 },
    { "local_buffer_wraps", LOCAL("n, n * T.int64(4611686018427387904)"), { 0 }, "RT09", 0, 0 },
    { "local_buffer_wraps_to_8",
      LOCAL("n, n * T.int64(4611686018427387908)"),
      { 0 },
      "RT09",
      0,
      0 },
    { "local_buffer_negative", LOCAL("n, n - T.int64(8)"), { 0 }, "RT05", 0, 0 },
    { "local_buffer_wraps_to_0",
      LOCAL("n * T.int64(2147483648), n * T.int64(2147483648)"),
      { 0 },
      "RT09",
      0,
      0 },
    { "local_buffer_wraps_to_16",
      LOCAL("n * T.int64(2147483648), n * T.int64(2147483648) + T.int64(8)"),
      { 0 },
      "RT10",
      0,
      0 },
    { "static_local_buffer",
      LOCAL("T.int64(2), T.int64(4611686018427387904)"),
      { 0 },
      "RT05",
      0,
      0 },
    { "static_overflow",
      HEAD MAIN("x: R.Shape([\"n\"])") ":\n        y = R.zeros(R.shape([4611686018427387904, 4]), "
                                       "dtype=\"float32\")\n        return y\n",
      { 1 },
      "RT10",
      0,
      0 },
    { "static_huge", "= static_huge",
      { 1 },
      "RT10",
      0,
      0 },
    { "static_planned", "= static_planned",
      { 1 },
      "RT10",
      0,
      0 },
};

/* ---- running one ---- */

typedef struct run {
    const hostile *program;
    bool loud, failed;
    relax_vm *vm;
} run;

/* Of this thread's processor time: a busy machine makes nothing late. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int call_back(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    run *r = self;
    relax_value arg = { 0 };
    relax_value_keep(&args[0], &arg);
    relax_status status = relax_vm_call(r->vm, Z("main"), &arg, 1, result, NULL);
    relax_value_release(&arg);
    return status ? relax_value_set_error(result, Z("Refused"), Z("no way back")) : 0;
}

static void judge(run *r, relax_status status, const relax_value *result, const relax_error *error,
                  double took)
{
    const hostile *p = r->program;
    const char *code = status ? relax_error_code(error) : "a value";
    if (r->loud)
        printf("%-24s %s, %s, %.1f ms\n", p->name, code,
               status ? relax_error_message(error, NULL) : "", took * 1e3);
    if (strcmp(code, p->code ? p->code : "a value") != 0) {
        print_error("%s: wanted %s, got %s %s\n", p->name, p->code ? p->code : "a value", code,
                    status ? relax_error_message(error, NULL) : "");
        r->failed = true;
    }
    if (p->milliseconds && took > p->milliseconds * 1e-3 + 2) {
        print_error("%s: ended %.0f ms after its deadline\n", p->name,
                    took * 1e3 - p->milliseconds);
        r->failed = true;
    }
}

static void run_compiled(run *r, relax_executable *exe)
{
    const hostile *p = r->program;
    relax_vm_options options;
    relax_error *error = NULL;
    relax_value arg, result = { 0 };
    relax_tensor *t = NULL;
    size_t ndim = p->dims[0] == 0 ? 0 : p->dims[1] == 0 ? 1 : 3;
    relax_vm_options_init(&options, sizeof options);
    options.max_memory = UINT64_C(2) << 30;
    relax_registry_create(NULL, &options.registry, NULL);
    relax_registry_register(options.registry, Z("call_back"), call_back, r, NULL, NULL);
    relax_vm_create(exe, &options, &r->vm, NULL);
    relax_tensor_create(RELAX_FLOAT32, (int64_t[]){ 2 }, 1, NULL, &t, NULL);
    relax_tensor_copy_in(t, (const float[]){ 1, 1 }, 8);
    if (ndim)
        relax_value_set_shape(&arg, p->dims, ndim, NULL);
    else
        relax_value_set_tensor(&arg, t);
    for (int again = 0; again < 2; again++) { /* the VM is as good as new after a failure */
        double begun = seconds();
        relax_vm_set_timeout(r->vm, p->milliseconds ? p->milliseconds * INT64_C(1000000) : -1);
        relax_status status = relax_vm_call(r->vm, Z("main"), &arg, 1, &result, &error);
        judge(r, status, &result, error, seconds() - begun);
        relax_value_release(&result);
        relax_error_release(error);
        error = NULL;
    }
    relax_value_release(&arg);
    relax_tensor_release(t);
    relax_vm_release(r->vm);
    relax_registry_release(options.registry);
}

static void *in_thread(void *argument)
{
    run *r = argument;
    relax_context *ctx = relax_context_create(NULL);
    const char *program = PROGRAM_CELL(r->program->text);
    const relax_module *m = relax_module_parse(ctx, Z("hostile.py"), Z(program));
    relax_executable *exe = m ? relax_module_compile(ctx, m, NULL) : NULL;
    for (size_t i = 0; !exe && i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *text = relax_diagnostic_render(ctx, i);
        print_error("%s: %s", r->program->name, relax_bytes_data(text));
        relax_bytes_release(text);
        r->failed = true;
    }
    relax_context_release(ctx);
    if (exe)
        run_compiled(r, exe);
    relax_executable_release(exe);
    return NULL;
}

static bool try_one(const hostile *p, bool loud)
{
    run r = { .program = p, .loud = loud };
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (pthread_create(&thread, &attributes, in_thread, &r))
        return false;
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return !r.failed;
}

/* ---- a flag that another thread sets ---- */

static void *set_flag(void *argument)
{
    usleep(20000);
    __atomic_store_n((int32_t *)argument, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void another_thread_cancels(void **state)
{
    relax_context *ctx = relax_context_create(NULL);
    for (const hostile *p = programs; p < programs + N(programs); p++) {
        if (!p->milliseconds || p->dims[0])
            continue;
        volatile int32_t flag = 0;
        relax_error *error = NULL;
        relax_vm *vm = NULL;
        relax_value arg, result;
        relax_tensor *t = NULL;
        pthread_t thread;
        relax_executable *exe = relax_module_compile(
            ctx, relax_module_parse(ctx, Z("m.py"), Z(PROGRAM_CELL(p->text))), NULL);
        relax_tensor_create(RELAX_FLOAT32, (int64_t[]){ 2 }, 1, NULL, &t, NULL);
        relax_tensor_copy_in(t, (const float[]){ 1, 1 }, 8);
        relax_value_set_tensor(&arg, t);
        assert_int_equal(relax_vm_create(exe, NULL, &vm, NULL), RELAX_OK);
        relax_vm_set_cancel_flag(vm, &flag);
        assert_int_equal(pthread_create(&thread, NULL, set_flag, (void *)(uintptr_t)&flag), 0);
        double begun = seconds();
        assert_int_equal(relax_vm_call(vm, Z("main"), &arg, 1, &result, &error),
                         RELAX_ERROR_CANCELLED);
        double took = seconds() - begun;
        pthread_join(thread, NULL);
        assert_string_equal(relax_error_code(error), "RT12");
        if (took > 2.02)
            fail_msg("%s ended %.0f ms after the flag was set", p->name, took * 1e3 - 20);
        relax_error_release(error);
        relax_value_release(&arg);
        relax_tensor_release(t);
        relax_vm_release(vm);
        relax_executable_release(exe);
    }
    relax_context_release(ctx);
}

static void each_ends_as_it_should(void **state)
{
    size_t failed = 0;
    for (const hostile *p = programs; p < programs + N(programs); p++)
        failed += !try_one(p, false);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_ends_as_it_should),
                                        cmocka_unit_test(another_thread_cancels) };
    bool fine = true;
    if (argc < 2)
        return cmocka_run_group_tests(tests, NULL, NULL);
    for (const hostile *p = programs; p < programs + N(programs); p++)
        if (!strcmp(argv[1], "all") || !strcmp(argv[1], p->name))
            fine = try_one(p, true) && fine;
    return fine ? 0 : 1;
}
