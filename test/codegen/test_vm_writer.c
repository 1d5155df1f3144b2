/* test_vm_writer.c: whole programs: text, compiled at every level, run, compared with numbers
 * worked out by hand. */
#include "program.h"
#include "text_file.h"
#include "transform/transform.h"

/* The block runs for the program compiled at each level. */
#define EACH_LEVEL(p, source) \
    for (program each_ = { 0 }, *p = begin_level(&each_, (source)); p; p = next_level(p, (source)))

static program *begin_level(program *p, const char *source)
{
    program_build(p, source);
    return p;
}

static program *next_level(program *p, const char *source)
{
    int32_t level = p->opt_level + 1;
    program_end(p);
    *p = (program){ .opt_level = level };
    return level <= 2 ? begin_level(p, source) : NULL;
}

/* ---- straight code -------------------------------------------------------------------------- */

static void test_chain(void **state)
{
    EACH_LEVEL(p, PROGRAM("chain")) {
        for (int64_t n = 1; n <= 3; n++) { /* twice as many each time: the plan is symbolic */
            const int64_t shape[] = { n, 2 };
            float x[6] = { 1, -2, 0.5f, 3, -1, 0 }, want[6];
            for (int i = 0; i < 6; i++) {
                float a = x[i] + 1, c = a * a - x[i];
                want[i] = (c > 0 ? c : 0) + a;
            }
            program_tensor(p, RELAX_FLOAT32, shape, 2, x);
            program_ok(p, "main");
            expect_f32(p, (size_t)n * 2, want);
        }
    }
}

static void test_chain_of_50_uses_3_buffers(void **state)
{
    char text[8192];
    int len = snprintf(text, sizeof text, "%s", PROGRAM("chain of 50 uses 3 buffers"));
    for (int i = 1; i < 50; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, "            v%d = R.%s(v%d, x)\n",
                        i, i % 2 ? "subtract" : "add", i - 1);
    snprintf(text + len, sizeof text - (size_t)len,
             "            R.output(v49)\n        return v49\n");
    EACH_LEVEL(p, text) {
        relax_vm_counters c = { .struct_size = sizeof c };
        program_f32(p, 2, (const float[]){ 3, -4 });
        program_ok(p, "main");
        expect_f32(p, 2, (const float[]){ 3, -4 });
        assert_int_equal(relax_vm_get_counters(p->vm, &c), RELAX_OK);
        assert_true(c.peak_buffers >= 1 && c.peak_buffers <= 3);
    }
}

/* Results go into the caller's buffers; nothing is allocated from the second call on. */
static void test_results_in_place(void **state)
{
    EACH_LEVEL(p, PROGRAM("chain")) {
        const int64_t shape[] = { 2, 2 };
        const float x[4] = { 0, 1, 2, 3 }, want[4] = { 2, 5, 10, 17 };
        float out[4] = { 0 };
        relax_tensor *buffer = NULL;
        relax_vm_counters c = { .struct_size = sizeof c };
        assert_int_equal(
            relax_tensor_from_memory(RELAX_FLOAT32, shape, 2, out, NULL, NULL, &buffer, NULL),
            RELAX_OK);
        program_tensor(p, RELAX_FLOAT32, shape, 2, x);
        program_vm(p, 0);
        for (int i = 0; i < 4; i++) {
            memset(out, 0, sizeof out);
            assert_int_equal(relax_vm_call_into(p->vm, 0, p->args, 1, &buffer, 1, NULL), RELAX_OK);
            for (int k = 0; k < 4; k++)
                assert_true(out[k] == want[k]);
        }
        relax_vm_get_counters(p->vm, &c);
        assert_int_equal(c.allocations, 0);
        relax_value_release(&p->args[0]);
        relax_tensor_release(buffer);
        assert_true(program_shows(p, "alloc_result") || program_shows(p, "alloc_over"));
    }
}

/* What "sizes come again" gives for these numbers. */
static void sizes_by_hand(int64_t n, const float *x, float *out)
{
    double total[32] = { 0 }, sums[32] = { 0 }; /* of columns; of the rows of `running` */
    for (int64_t i = 0; i < n * 32; i++)
        total[i % 32] += x[i];
    for (int64_t i = 0; i < n; i++) {
        double running = 0;
        for (int k = 0; k < 32; k++)
            sums[k] += running += x[i * 32 + k] + total[k];
    }
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int k = 0; k < 32; k++)
            sum += x[i * 32 + k] * sums[k];
        out[i] = (float)sum;
    }
}

/* Sizes that grow ask for memory a few times; once all were met, none does. */
static void test_sizes_come_again(void **state)
{
    enum { FIRST = 24, COUNT = 16, MOST = FIRST + COUNT };
    static float x[MOST * 32], out[MOST], want[MOST];
    relax_vm_counters c = { .struct_size = sizeof c };
    for (int i = 0; i < MOST * 32; i++)
        x[i] = (float)(i % 7 - 2);
    EACH_LEVEL(p, PROGRAM("sizes come again")) {
        uint64_t asked[4] = { 0 };
        program_vm(p, 0);
        for (int call = 0; call < 4 * COUNT; call++) {
            int turn = call / COUNT, i = call % COUNT;
            const int64_t n = FIRST + (turn == 2 ? COUNT - 1 - i : i);
            relax_tensor *buffer = NULL;
            p->num_args = 0;
            program_tensor(p, RELAX_FLOAT32, (const int64_t[]){ n, 32 }, 2, x);
            assert_int_equal(relax_tensor_from_memory(RELAX_FLOAT32, &n, 1, out, NULL, NULL, &buffer, NULL), RELAX_OK);
            assert_int_equal(relax_vm_call_into(p->vm, 0, p->args, 1, &buffer, 1, NULL), RELAX_OK);
            sizes_by_hand(n, x, want);
            for (int k = 0; k < n; k++)
                assert_true(out[k] == want[k]);
            relax_vm_get_counters(p->vm, &c);
            asked[turn] += call ? c.allocations : 0;
            relax_tensor_release(buffer);
            relax_value_release(&p->args[0]);
        }
        assert_true(asked[0] < 2 * COUNT && asked[1] < COUNT);
        assert_true(!asked[2] && !asked[3]);
    }
}

static void test_tuples_and_shapes(void **state)
{
    const char *source = PROGRAM("tuples and shapes");
    EACH_LEVEL(p, source) {
        relax_value inner, field;
        const int64_t *dims;
        size_t ndim;
        int64_t i;
        program_f32(p, 3, (const float[]){ 1, 2, 3 });
        program_ok(p, "main");
        assert_int_equal(relax_value_tuple_size(&p->result), 2);
        relax_value_tuple_get(&p->result, 0, &field);
        expect_f32_value(&field, 3, (const float[]){ 2, 8, 18 });
        relax_value_tuple_get(&p->result, 1, &inner);
        relax_value_tuple_get(&inner, 0, &field);
        expect_f32_value(&field, 3, (const float[]){ 2, 4, 6 });
        relax_value_tuple_get(&inner, 1, &field);
        assert_int_equal(relax_value_get_shape(&field, &dims, &ndim), RELAX_OK);
        assert_true(ndim == 2 && dims[0] == 3 && dims[1] == 7);
        relax_value_tuple_get(&inner, 2, &field);
        assert_int_equal(relax_value_get_int(&field, &i), RELAX_OK);
        assert_int_equal(i, 9);
    }
}

/* ---- branches, recursion -------------------------------------------------------------------- */

static void test_branches(void **state)
{
    const char *source = PROGRAM("branches");
    static const struct { int c, d; float want[2]; } rows[] = {
        { 1, 1, { 2 * 1 + 4, 2 * 4 + 8 } }, /* 2xx + 2x - x + x + 2x */
        { 1, 0, { 5, 10 } },
        { 0, 1, { 3, 6 } },
    };
    EACH_LEVEL(p, source) {
        for (size_t i = 0; i < 3; i++) {
            program_bool(p, rows[i].c);
            program_bool(p, rows[i].d);
            program_f32(p, 2, (const float[]){ 1, 2 });
            program_ok(p, "main");
            expect_f32(p, 2, rows[i].want);
        }
    }
}

/* Branches bind the same names, constants and tuples come out of them. */
static void test_branch_results(void **state)
{
    const char *source = PROGRAM("branch results");
    EACH_LEVEL(p, source) {
        for (int c = 0; c < 2; c++) {
            relax_value field;
            program_bool(p, c);
            program_f32(p, 2, (const float[]){ 1, 2 });
            program_ok(p, "main");
            relax_value_tuple_get(&p->result, 0, &field);
            assert_int_equal(*(const int64_t *)relax_tensor_data(relax_value_get_tensor(&field)),
                             c ? 7 : 8);
            relax_value_tuple_get(&p->result, 1, &field);
            expect_f32_value(&field, 2, c ? (const float[]){ 2, 4 } : (const float[]){ 1, 2 });
        }
        program_tensor(p, RELAX_FLOAT32, NULL, 0, NULL);
        program_f32(p, 1, (const float[]){ 1 });
        program_fails(p, "main", "RT03", "", "argument 1 (c) of main");
    }
}

static void test_recursion(void **state)
{
    EACH_LEVEL(p, PROGRAM("factorial")) {
        program_vm(p, 40);
        program_i64(p, 10);
        program_ok(p, "fact");
        expect_i64(p, 3628800);
        program_i64(p, 41);
        program_fails(p, "fact", "RT11", "", "40");
        assert_true(strstr(relax_error_trace(p->err, NULL), "binding k (m.py:13:13)"));
        /* a tail call takes no depth */
        program_i64(p, 10000);
        program_i64(p, 0);
        program_ok(p, "count");
        expect_i64(p, 50005000);
    }
}

/* The values of a frame that a tail call replaces are not those that its caller has lent. */
static void test_tail_call_with_buffers(void **state)
{
    const char *source = PROGRAM("tail call with buffers");
    EACH_LEVEL(p, source) {
        float out[2];
        relax_tensor *buffer = NULL;
        relax_tensor_from_memory(RELAX_FLOAT32, (const int64_t[]){ 2 }, 1, out, NULL, NULL,
                                 &buffer, NULL);
        program_vm(p, 0);
        for (int c = 0; c < 2; c++) {
            program_bool(p, c);
            program_f32(p, 2, (const float[]){ 1, 2 });
            assert_int_equal(relax_vm_call_into(p->vm, 0, p->args, 2, &buffer, 1, NULL), RELAX_OK);
            assert_true(out[0] == (c ? 2 : 23) && out[1] == (c ? 4 : 46));
            while (p->num_args)
                relax_value_release(&p->args[--p->num_args]);
        }
        relax_tensor_release(buffer);
        assert_true(program_shows(p, "tail_call"));
    }
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void test_casts(void **state)
{
    const char *source = PROGRAM("casts");
    EACH_LEVEL(p, source) {
        program_tensor(p, RELAX_FLOAT32, (const int64_t[]){ 4, 2 }, 2,
                       (const float[]){ 1, 2, 3, 4, 5, 6, 7, 8 });
        program_ok(p, "main");
        expect_f32(p, 2, (const float[]){ 16, 20 });
        program_tensor(p, RELAX_FLOAT32, (const int64_t[]){ 4, 3 }, 2, NULL);
        program_fails(p, "main", "RT06", "RT05",
                      "match_cast of y: dimension 0 is 4, expected m * 2 = 6");
        assert_true(strstr(relax_error_trace(p->err, NULL), "in main, binding y (m.py:9:9)"));
        program_f32(p, 4, NULL);
        program_fails(p, "main", "RT06", "RT04", "match_cast of y: rank is 1, expected 2");
        program_tensor(p, RELAX_INT64, (const int64_t[]){ 4, 2 }, 2, NULL);
        program_fails(p, "main", "RT03", "", "argument 1 (x) of main");
        program_f32(p, 1, (const float[]){ 5 });
        program_ok(p, "same");
        expect_f32(p, 1, (const float[]){ 5 });
        /* proved */
        assert_false(
            program_shows(p, "match          r0, R.Tensor((n,), dtype=\"float32\"), 0, y"));
    }
}

/* What a cast has checked is not checked again behind it; the other branch knows nothing of it. */
static void test_behind_casts(void **state)
{
    const char *source = PROGRAM("behind casts");
    EACH_LEVEL(p, source) {
        for (int c = 0; c < 2; c++)
            for (int64_t m = 2; m < 4; m++) {
                program_bool(p, c);
                program_f32(p, 2, (const float[]){ 0, 0 });
                program_f32(p, m, NULL);
                if (m == 2)
                    program_ok(p, "main");
                else
                    program_fails(p, "main", "RT06", "RT05",
                                  c ? "match_cast of q: dimension 0 is 2, expected m = 3"
                                    : "dimension 0 is 2, expected m = 3");
            }
        assert_true(program_shows(p, "R.Tensor((m,), dtype=\"float32\"), 0, q"));
        assert_true(program_shows(p, "R.Tensor((m,), dtype=\"float32\"), 1, w_else"));
        assert_false(program_shows(p, "R.Tensor((m,), dtype=\"float32\"), 1, w_then"));
    }
}

static void test_scalars(void **state)
{
    const char *source = PROGRAM("scalars");
    EACH_LEVEL(p, source) {
        relax_value_set_int(program_arg(p), -5);
        relax_value_set_shape(program_arg(p), (const int64_t[]){ 1, 5 }, 2, NULL);
        program_ok(p, "main");
        expect_f32(p, 3, (const float[]){ 2, 2, 2 });
        relax_value_set_int(program_arg(p), 2);
        relax_value_set_shape(program_arg(p), (const int64_t[]){ 1, -5 }, 2, NULL);
        program_fails(p, "main", "RT05", "", "argument 2 (s) of main: ");
        relax_value_set_int(program_arg(p), 2);
        relax_value_set_int(program_arg(p), 2);
        program_fails(p, "main", "RT02", "",
                      "argument 2 (s) of main: found an integer, expected a shape");
    }
}

static void test_boundary(void **state)
{
    const char *source = PROGRAM("boundary");
    EACH_LEVEL(p, source) {
        const float x[12] = { 0 };
        program_f32(p, 12, x);
        program_fails(p, "main", "RT01", "", "main takes 2 arguments, got 1");
        program_f32(p, 12, x);
        program_tensor(p, RELAX_FLOAT32, (const int64_t[]){ 3, 5 }, 2, NULL);
        program_fails(p, "main", "RT05", "",
                      "argument 1 (x) of main: dimension 0 is 12, expected n * m = 15");
        program_f32(p, 12, x);
        program_f32(p, 12, x);
        program_fails(p, "main", "RT04", "", "argument 2 (y) of main: rank is 1, expected 2");
        program_i64(p, 1);
        program_f32(p, 12, x);
        program_fails(p, "main", "RT03", "",
                      "argument 1 (x) of main: dtype is int64, expected float32");
        relax_value_set_int(program_arg(p), 1);
        program_f32(p, 12, x);
        program_fails(p, "main", "RT02", "",
                      "argument 1 (x) of main: found an integer, expected a tensor");
        relax_value_set_int(program_arg(p), 1);
        program_fails(p, "hidden", "RT20", "", "hidden");
        relax_value_set_int(program_arg(p), 1);
        program_fails(p, "stated", "RT08", "", "test.same");
    }
}

/* ---- functions of the host ------------------------------------------------------------------ */

static int give_argument(void *self, const relax_value *args, int32_t num_args,
                         relax_value *result)
{
    *(int *)self += 1;
    return relax_value_keep(&args[0], result) == RELAX_OK ? 0 : -1;
}

static int complain(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    return relax_value_set_error(result, "ValueError", 10, "not today", 9);
}

/* Writes 1 over its first argument, adds it up in the last: a caller that vouches for nothing. */
static int overwrite(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_tensor *t = relax_value_get_tensor(&args[0]);
    assert_false(relax_tensor_is_read_only(t));
    *(float *)relax_tensor_data(t) = 1;
    return 0;
}

/* Last argument: double of the first. */
static int twice(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    const relax_tensor *x = relax_value_get_tensor(&args[0]);
    float *out = relax_tensor_data(relax_value_get_tensor(&args[num_args - 1]));
    for (size_t i = 0; i < relax_tensor_bytes(x) / sizeof *out; i++)
        out[i] = 2 * ((const float *)relax_tensor_data(x))[i];
    return 0;
}

static void test_host_functions(void **state)
{
    EACH_LEVEL(p, PROGRAM("host")) {
        int calls = 0;
        program_register(p, "test.same", give_argument, &calls);
        program_register(p, "test.twice", twice, NULL);
        program_register(p, "test.overwrite", overwrite, NULL);
        program_register(p, "test.complain", complain, NULL);
        program_f32(p, 2, (const float[]){ 3, 4 });
        program_ok(p, "same");
        expect_f32(p, 2, (const float[]){ 3, 4 });
        program_f32(p, 3, NULL); /* not the result that was stated */
        program_fails(p, "same", "RT06", "RT05", "z: dimension 0 is 3, expected 2");
        relax_value_set_int(program_arg(p), 1);
        program_fails(p, "same", "RT06", "RT02", "y: found an integer, expected a tensor");
        program_f32(p, 2, (const float[]){ 3, 4 });
        program_ok(p, "vouched");
        expect_f32(p, 2, (const float[]){ 6, 8 });
        for (int i = 0; i < 2; i++) { /* what c names is changed, the constant is not */
            relax_value_set_int(program_arg(p), 1);
            program_ok(p, "writes");
            expect_f32(p, 2, (const float[]){ 1, 6 });
        }
        relax_value_set_int(program_arg(p), 1);
        program_ok(p, "unit");
        assert_int_equal(relax_value_tuple_size(&p->result), 0);
        relax_value_set_int(program_arg(p), 1);
        program_fails(p, "fails", "RT16", "", "ValueError: not today");
        program_f32(p, 1, (const float[]){ 3 }); /* a public function by its name */
        program_ok(p, "inner");
        expect_f32(p, 1, (const float[]){ 6 });
        assert_int_equal(calls, 6);
    }
}

/* An annotation that claims more than is proved is checked, unless it is trusted. */
static void test_trust(void **state)
{
    for (int trust = 0; trust < 2; trust++) {
        program p = { .opt_level = 1, .trust = trust };
        int calls = 0;
        program_build(&p, PROGRAM("host"));
        program_register(&p, "test.same", give_argument, &calls);
        program_f32(&p, 3, NULL);
        if (trust)
            program_ok(&p, "same");
        else
            program_fails(&p, "same", "RT06", "RT05", "z: ");
        program_end(&p);
    }
}

/* Every kind of leaf reaches a packed function as what it is. */
static int look_at_kinds(void *self, const relax_value *args, int32_t num_args,
                         relax_value *result)
{
    static const int32_t kinds[] = { RELAX_VALUE_KIND_STRING, RELAX_VALUE_KIND_DTYPE,
                                     RELAX_VALUE_KIND_SHAPE,  RELAX_VALUE_KIND_SHAPE,
                                     RELAX_VALUE_KIND_INT,    RELAX_VALUE_KIND_INT,
                                     RELAX_VALUE_KIND_BOOL,   RELAX_VALUE_KIND_BOOL,
                                     RELAX_VALUE_KIND_FLOAT,  RELAX_VALUE_KIND_NULL,
                                     RELAX_VALUE_KIND_TUPLE,  RELAX_VALUE_KIND_TENSOR };
    const char *text;
    const int64_t *dims;
    size_t n;
    relax_dtype dtype;
    int64_t i;
    int32_t b;
    double d;
    assert_int_equal(num_args, 12);
    for (int32_t k = 0; k < num_args; k++)
        assert_int_equal(relax_value_kind(&args[k]), kinds[k]);
    relax_value_get_string(&args[0], &text, &n);
    assert_true(n == 5 && !memcmp(text, "hello", 5));
    relax_value_get_dtype(&args[1], &dtype);
    assert_int_equal(dtype, RELAX_INT8);
    relax_value_get_shape(&args[2], &dims, &n);
    assert_true(n == 2 && dims[0] == 2 && dims[1] == 3);
    relax_value_get_shape(&args[3], &dims, &n);
    assert_true(n == 2 && dims[0] == 2 && dims[1] == 7);
    relax_value_get_int(&args[4], &i);
    assert_int_equal(i, 5000000000);
    relax_value_get_int(&args[5], &i);
    assert_int_equal(i, 1);
    relax_value_get_bool(&args[6], &b);
    assert_int_equal(b, 1);
    relax_value_get_bool(&args[7], &b);
    assert_int_equal(b, 0);
    relax_value_get_float(&args[8], &d);
    assert_true(d == 2.5);
    assert_int_equal(relax_value_tuple_size(&args[10]), 2);
    *(int *)self += 1;
    return 0;
}

static void test_values(void **state)
{
    const char *source = PROGRAM("values");
    EACH_LEVEL(p, source) {
        int calls = 0;
        program_register(p, "test.kinds", look_at_kinds, &calls);
        program_f32(p, 2, (const float[]){ 1, 3 });
        program_ok(p, "main");
        assert_int_equal(calls, 1);
        assert_int_equal(relax_value_tuple_size(&p->result), 0);
    }
}

/* A function of the host by name as a value, and one that the host gives. */
static void test_packed_values(void **state)
{
    const char *source = PROGRAM("packed values");
    EACH_LEVEL(p, source) {
        int calls = 0;
        program_register(p, "test.same", give_argument, &calls);
        program_f32(p, 2, (const float[]){ 1, 3 });
        relax_value_set_packed_func(program_arg(p),
                                    relax_registry_find(p->registry, "test.same", 9));
        program_ok(p, "main");
        assert_int_equal(calls, 2);
        program_f32(p, 2, (const float[]){ 1, 3 });
        relax_value_set_int(program_arg(p), 1);
        program_fails(p, "main", "RT06", "RT02",
                      "match_cast of f: found an integer, expected a function");
    }
}

static void test_failing_sizes(void **state)
{
    const char *source = PROGRAM("failing sizes");
    EACH_LEVEL(p, source) {
        program_f32(p, 2, NULL);
        relax_value_set_shape(program_arg(p), (const int64_t[]){ 0 }, 1, NULL);
        program_fails(p, "divide", "RT14", "", NULL);
        program_f32(p, 1, NULL);
        program_fails(p, "shrink", "RT05", "", NULL);
        relax_value_set_int(program_arg(p), 1);
        program_f32(p, 1, NULL);
        program_fails(p, "choose", "RT17", "", NULL);
        relax_value_set_bool(program_arg(p), 1);
        program_f32(p, 1, (const float[]){ 4 });
        program_ok(p, "choose");
        expect_f32(p, 1, (const float[]){ 4 });
    }
}

/* ---- PrimFuncs ------------------------------------------------------------------------------ */

static void test_kernels(void **state)
{
    EACH_LEVEL(p, PROGRAM("kernel")) {
        program_f32(p, 4, (const float[]){ 1, 2, 3, 4 });
        relax_value_set_shape(program_arg(p), (const int64_t[]){ 2 }, 1, NULL);
        program_ok(p, "main");
        expect_f32(p, 4, (const float[]){ 4, 8, 12, 16 });
        /* public: called by the host; private: not */
        float x[3] = { 1, 2, 3 };
        relax_tensor *t = NULL;
        relax_tensor_from_memory(RELAX_FLOAT32, (const int64_t[]){ 3 }, 1, x, NULL, NULL, &t,
                                 NULL);
        relax_value_set_tensor(program_arg(p), t);
        relax_value_set_int(program_arg(p), 10);
        program_ok(p, "fill");
        assert_true(x[0] == 11 && x[2] == 13);
        for (int i = 1; i < 3; i++) { /* each time c is a tensor of its own */
            relax_value_set_tensor(program_arg(p), t);
            program_ok(p, "direct");
            assert_true(x[0] == 11 + 3 * (float)i);
            expect_f32(p, 2, (const float[]){ 8, 9 });
        }
        relax_tensor_release(t);
        program_fails(p, "scale", "RT20", "", "scale");
    }
}

static void test_outputs(void **state)
{
    const char *source = PROGRAM("outputs");
    EACH_LEVEL(p, source) {
        for (int i = 0; i < 2; i++) { /* the constant is as it was */
            relax_value field;
            program_f32(p, 3, (const float[]){ 0, 1, 2 });
            program_ok(p, "main");
            relax_value_tuple_get(&p->result, 0, &field);
            expect_f32_value(&field, 3, (const float[]){ 1 + 1, 16 + 4, 49 + 9 });
            relax_value_tuple_get(&p->result, 1, &field);
            expect_f32_value(&field, 3, (const float[]){ 0, 2, 4 });
        }
    }
}

/* ---- functions as values -------------------------------------------------------------------- */

static void test_function_values(void **state)
{
    const char *source = PROGRAM("function values");
    EACH_LEVEL(p, source) {
        program_f32(p, 2, (const float[]){ 1, 3 });
        program_ok(p, "main");
        expect_f32(p, 2, (const float[]){ 4, 36 });
        relax_value_set_int(program_arg(p), 1);
        program_f32(p, 2, (const float[]){ 1, 3 });
        program_fails(p, "apply", "RT02", "",
                      "argument 1 (f) of apply: found an integer, expected a function");
    }
}

/* What fails in a fused kernel is named: the last binding, and all that the kernel holds. */
static void test_failing_group(void **state)
{
    static const char *const traces[] = {
        "  in main, binding t (m.py:10:17)\n", "  in main, binding t (m.py:10:17)\n",
        "  in main, binding v (m.py:12:13), computed with a (m.py:9:13), t (m.py:10:13), u (m.py:11:13)\n"
    };
    for (int level = 0; level < 3; level++) {
        program p = { .opt_level = level };
        const int64_t beyond[2] = { 1, 9 };
        program_build(&p, PROGRAM("failing group"));
        program_tensor(&p, RELAX_FLOAT32, (const int64_t[]){ 5, 3 }, 2, (const float[15]){ 0 });
        program_tensor(&p, RELAX_INT64, (const int64_t[]){ 2 }, 1, beyond);
        program_f32(&p, 3, (const float[]){ 1, 2, 3 });
        program_fails(&p, "main", "RT09", "", "index 9 is out of range");
        assert_string_equal(relax_error_trace(p.err, NULL), traces[level]);
        program_end(&p);
    }
}

/* ---- the file ------------------------------------------------------------------------------- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* Equal content is there once; names and places go when they are stripped. */
static void test_file(void **state)
{
    const char *source = PROGRAM("file");
    for (int strip = 0; strip < 2; strip++) {
        program p = { .opt_level = 1, .strip = strip };
        relax_bytes *b = NULL;
        program_build(&p, source);
        program_f32(&p, 1, (const float[]){ 1 });
        program_ok(&p, "main");
        expect_f32(&p, 1, (const float[]){ 10.25f });
        assert_int_equal(relax_executable_disassemble(p.exe, &b, NULL), RELAX_OK);
        assert_int_equal(count(relax_bytes_data(b), "first") > 0, !strip);
        assert_int_equal(count(relax_bytes_data(b), "m.py"),
                         strip ? 0 : count(relax_bytes_data(b), "m.py"));
        assert_true(strip || strstr(relax_bytes_data(b), "argument"));
        assert_null(strip ? strstr(relax_bytes_data(b), "argument") : NULL);
        assert_null(strip ? strstr(relax_bytes_data(b), "size") : NULL);
        assert_non_null(strstr(relax_bytes_data(b), "c1"));
        assert_null(strstr(relax_bytes_data(b), "c2"));
        relax_bytes_release(b);
        program_end(&p);
    }
}

/* ---- what cannot be compiled ---------------------------------------------------------------- */

static void test_refusals(void **state)
{
    const struct { const char *code, *message, *source;
    } rows[] = {
        { "CG02", "there is no run-time builtin vm.builtin.nothing",
          PROGRAM("refusals, no such builtin") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int32_t level = 0; level < 3; level++) {
            program p = { .opt_level = level };
            program_refused(&p, rows[i].source, rows[i].code, rows[i].message);
            program_end(&p);
        }
}

/* Every function that cannot be compiled is named, each at its place. */
static void test_several_errors(void **state)
{
    program p = { .opt_level = 1 };
    program_try(&p, PROGRAM("several errors"));
    assert_null(p.exe);
    assert_int_equal(relax_context_num_errors(p.ctx), 2);
    relax_bytes *text = relax_diagnostic_render(p.ctx, 1);
    assert_non_null(strstr(relax_bytes_data(text), "m.py:13:"));
    relax_bytes_release(text);
    program_end(&p);
}

static void test_options(void **state)
{
    program p = { .opt_level = 1 };
    program_build(&p, PROGRAM("factorial"));
    relax_module *m =
        relax_module_parse(p.ctx, "m.py", 4, PROGRAM("factorial"), strlen(PROGRAM("factorial")));
    relax_compile_options o;
    assert_int_equal(relax_compile_options_init(&o, sizeof o), RELAX_OK);
    assert_int_equal(o.opt_level, RLX_DEFAULT_OPT_LEVEL);
    o.target = "gpu";
    assert_null(relax_module_compile(p.ctx, m, &o));
    assert_string_equal(relax_diagnostic_code(p.ctx, 0), "CG09");
    relax_context_clear_diagnostics(p.ctx);
    o.target = relax_target_name(0);
    o.opt_level = 3;
    assert_null(relax_module_compile(p.ctx, m, &o));
    assert_string_equal(relax_diagnostic_code(p.ctx, 0), "OP03");
    assert_null(relax_target_name(1000));
    assert_null(relax_module_compile(NULL, m, NULL));
    assert_null(relax_module_compile(p.ctx, NULL, NULL));
    program_end(&p);
}

/* A context does not grow by compiling again and again. */
static void test_context_stays_small(void **state)
{
    program p = { .opt_level = 1 };
    program_build(&p, PROGRAM("factorial"));
    relax_module *m =
        relax_module_parse(p.ctx, "m.py", 4, PROGRAM("factorial"), strlen(PROGRAM("factorial")));
    relax_executable_release(relax_module_compile(p.ctx, m, NULL));
    uint64_t before = relax_context_bytes(p.ctx);
    for (int i = 0; i < 10; i++) {
        relax_executable *e = relax_module_compile(p.ctx, m, NULL);
        assert_non_null(e);
        relax_executable_release(e);
    }
    assert_true(relax_context_bytes(p.ctx) <= before + 1024);
    program_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_chain_of_50_uses_3_buffers),
        cmocka_unit_test(test_results_in_place),
        cmocka_unit_test(test_sizes_come_again),
        cmocka_unit_test(test_tuples_and_shapes),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_branch_results),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_tail_call_with_buffers),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_behind_casts),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_boundary),
        cmocka_unit_test(test_host_functions),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_packed_values),
        cmocka_unit_test(test_failing_sizes),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_function_values),
        cmocka_unit_test(test_failing_group),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_several_errors),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_context_stays_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
