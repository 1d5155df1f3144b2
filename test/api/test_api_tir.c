/* test_api_tir: each construct of PrimFuncs built through the public interface: printed, read
 * back, run by bytecode and as C. */
#include "api_fixture.h"

#include <unistd.h>

#define CELLS 8
typedef const relax_prim_expr *prim;

typedef struct kernel {
    relax_context *ctx;
    relax_tir_builder *t;
    relax_buffer *a, *b; /* float32, 2 by 4 */
    prim shape[2];
} kernel;

static prim num(kernel *k, int64_t value) { return relax_prim_int_new(k->ctx, value); }
static prim real(kernel *k, double value)
{
    return relax_prim_float_new(k->ctx, RELAX_FLOAT32, value);
}
static prim both(kernel *k, int32_t op, prim a, prim b)
{
    return relax_prim_binary_new(k->ctx, op, a, b);
}
static prim loop(kernel *k, int32_t kind, const char *name, int64_t extent)
{
    return relax_tir_for(k->t, kind, Z(name), NULL, num(k, extent));
}
static prim load(kernel *k, prim i, prim j)
{
    return relax_tir_load(k->t, k->a, (prim[]){ i, j }, 2);
}
static void store(kernel *k, prim i, prim j, prim value)
{
    relax_tir_store(k->t, k->b, (prim[]){ i, j }, 2, value);
}

static void open_kernel(kernel *k, relax_context *ctx)
{
    *k = (kernel){ .ctx = ctx, .t = relax_tir_builder_create(ctx, 0) };
    k->shape[0] = num(k, 2);
    k->shape[1] = num(k, 4);
    k->a = relax_tir_param(k->t, Z("A"), RELAX_FLOAT32, k->shape, 2);
    k->b = relax_tir_param(k->t, Z("B"), RELAX_FLOAT32, k->shape, 2);
}

/* ---- programs; each fills all of B */

static void all_loops(kernel *k, int32_t outer, int32_t inner)
{
    prim i = loop(k, outer, "i", 2), j = loop(k, inner, "j", 4);
    store(k, i, j, both(k, RELAX_PRIM_ADD, load(k, i, j), real(k, 1)));
    relax_tir_end_for(k->t);
    relax_tir_end_for(k->t);
}
static void parallel_and_vectorized(kernel *k)
{
    all_loops(k, RELAX_LOOP_PARALLEL, RELAX_LOOP_VECTORIZED);
}
static void serial_and_unrolled(kernel *k)
{
    all_loops(k, RELAX_LOOP_SERIAL, RELAX_LOOP_UNROLLED);
}
static float plus_one(const float *a, int i) { return a[i] + 1; }

static void threads(kernel *k)
{
    prim i = relax_tir_for_thread(k->t, Z("blockIdx.x"), Z("i"), num(k, 2));
    prim j = relax_tir_for_thread(k->t, Z("threadIdx.x"), Z("j"), num(k, 4));
    store(k, i, j, both(k, RELAX_PRIM_ADD, load(k, i, j), real(k, 1)));
    relax_tir_end_for(k->t);
    relax_tir_end_for(k->t);
}

/* Adds 2 while below 5: a counter in a buffer without dimensions. */
static void while_and_scalar(kernel *k)
{
    relax_buffer *c = relax_tir_alloc(k->t, Z("C"), RELAX_FLOAT32, NULL, 0);
    prim i = loop(k, RELAX_LOOP_SERIAL, "i", 2), j = loop(k, RELAX_LOOP_SERIAL, "j", 4);
    relax_tir_store(k->t, c, NULL, 0, load(k, i, j));
    relax_tir_while(k->t, both(k, RELAX_PRIM_LT, relax_tir_load(k->t, c, NULL, 0), real(k, 5)));
    relax_tir_store(k->t, c, NULL, 0,
                    both(k, RELAX_PRIM_ADD, relax_tir_load(k->t, c, NULL, 0), real(k, 2)));
    relax_tir_end_while(k->t);
    store(k, i, j, relax_tir_load(k->t, c, NULL, 0));
    relax_tir_end_for(k->t);
    relax_tir_end_for(k->t);
}
static float at_least_five(const float *a, int i)
{
    float c = a[i];
    while (c < 5)
        c += 2;
    return c;
}

static void lets_and_assertions(kernel *k)
{
    relax_attr *yes = relax_attr_bool_new(k->ctx, 1);
    relax_tir_attr(k->t, Z("tir.noalias"), yes);
    prim i = loop(k, RELAX_LOOP_SERIAL, "i", 2), j = loop(k, RELAX_LOOP_SERIAL, "j", 4);
    relax_tir_attr(k->t, Z("pragma_note"), relax_attr_int_new(k->ctx, 3));
    relax_tir_attr(k->t, Z("pragma_sure"), yes);
    prim x = relax_tir_let(k->t, Z("x"), load(k, i, j));
    relax_tir_assert(k->t, both(k, RELAX_PRIM_LT, x, real(k, 100)), Z("less than a hundred"));
    relax_tir_evaluate(k->t, num(k, 7));
    store(k, i, j, both(k, RELAX_PRIM_MUL, x, x));
    relax_tir_end_for(k->t);
    relax_tir_end_for(k->t);
}
static float square(const float *a, int i) { return a[i] * a[i]; }

/* Three rounds of a block whose predicate leaves the last one out; regions and an attribute
 * stated. */
static void guarded_block(kernel *k)
{
    prim o = loop(k, RELAX_LOOP_SERIAL, "o", 3), j = loop(k, RELAX_LOOP_SERIAL, "j", 4),
         one = num(k, 1);
    relax_tir_begin_block(k->t, Z("copy"));
    prim vi = relax_tir_axis_at(k->t, RELAX_AXIS_SPATIAL, Z("i"), NULL, num(k, 2), o);
    prim vj = relax_tir_axis_at(k->t, RELAX_AXIS_OPAQUE, Z("j"), num(k, 0), num(k, 4), j),
         at[] = { vi, vj }, ones[] = { one, one };
    relax_tir_where(k->t, both(k, RELAX_PRIM_LT, o, num(k, 2)));
    relax_tir_reads(k->t, k->a, at, ones, 2);
    relax_tir_writes(k->t, k->b, at, ones, 2);
    relax_tir_attr(k->t, Z("note"), relax_attr_string_new(k->ctx, Z("kept")));
    store(k, vi, vj, load(k, vi, vj));
    relax_tir_end_block(k->t);
    relax_tir_end_for(k->t);
    relax_tir_end_for(k->t);
}
static float same(const float *a, int i) { return a[i]; }

static void scan_axes(kernel *k)
{
    relax_tir_begin_block(k->t, Z("scan"));
    prim i = relax_tir_axis(k->t, RELAX_AXIS_SPATIAL, Z("i"), num(k, 2)),
         j = relax_tir_axis(k->t, RELAX_AXIS_SCAN, Z("j"), num(k, 4));
    prim before = both(k, RELAX_PRIM_SUB, j, num(k, 1)), at[] = { i, before };
    relax_tir_if(k->t, both(k, RELAX_PRIM_GT, j, num(k, 0)));
    store(k, i, j, both(k, RELAX_PRIM_ADD, load(k, i, j), relax_tir_load(k->t, k->b, at, 2)));
    relax_tir_else(k->t);
    store(k, i, j, load(k, i, j));
    relax_tir_end_if(k->t);
    relax_tir_end_block(k->t);
}
static float running_sum(const float *a, int i)
{
    float sum = 0;
    for (int j = i / 4 * 4; j <= i; j++)
        sum += a[j];
    return sum;
}

/* The upper row and then the lower, each column turned: B seen from element 4 on and by
 * columns. */
static void views(kernel *k)
{
    prim turned[] = { num(k, 4), num(k, 2) }, steps[] = { num(k, 1), num(k, 4) }, four = num(k, 4);
    relax_buffer *columns =
        relax_tir_view(k->t, Z("columns"), RELAX_FLOAT32, k->a, turned, steps, 2, NULL);
    relax_buffer *lower =
        relax_tir_view(k->t, Z("lower"), RELAX_FLOAT32, k->b, &four, NULL, 1, four);
    prim j = loop(k, RELAX_LOOP_SERIAL, "j", 4), at[] = { j, num(k, 1) };
    store(k, num(k, 0), j, relax_tir_load(k->t, columns, at, 2));
    relax_tir_store(k->t, lower, &j, 1, load(k, num(k, 0), j));
    relax_tir_end_for(k->t);
}
static float rows_exchanged(const float *a, int i) { return a[(i + 4) % 8]; }

/* A row of A and all of B seen as buffers of their own: the row, doubled, into both rows. The
 * leading dimension of the row is left out. */
static void matched(kernel *k)
{
    prim one = num(k, 1), zero = num(k, 0), row[] = { one, num(k, 4) }, four = num(k, 4);
    relax_tir_begin_block(k->t, Z("rows"));
    prim i = relax_tir_axis(k->t, RELAX_AXIS_SPATIAL, Z("i"), num(k, 2)), from[] = { one, zero },
         to[] = { i, zero };
    relax_buffer *in = relax_tir_match(k->t, Z("in_row"), k->a, from, row, 2, 1);
    relax_buffer *out = relax_tir_match(k->t, Z("out_row"), k->b, to, row, 2, 2);
    prim j = relax_tir_for(k->t, RELAX_LOOP_SERIAL, Z("j"), NULL, four), at[] = { zero, j };
    prim x = relax_tir_load(k->t, in, &j, 1);
    relax_tir_store(k->t, out, at, 2, both(k, RELAX_PRIM_ADD, x, x));
    relax_tir_end_for(k->t);
    relax_tir_end_block(k->t);
}
static float lower_row_doubled(const float *a, int i) { return 2 * a[4 + i % 4]; }

static const struct program {
    const char *name;
    void (*build)(kernel *k);
    float (*expected)(const float *a, int i);
    const char *line; /* of the text */
} programs[] = {
    { "parallel_and_vectorized", parallel_and_vectorized, plus_one, "T.vectorized(" },
    { "serial_and_unrolled", serial_and_unrolled, plus_one, "T.unroll(" },
    { "threads", threads, plus_one, "thread=\"threadIdx.x\"" },
    { "while_and_scalar", while_and_scalar, at_least_five, "while C[()] < T.float32(5.0)" },
    { "lets_and_assertions", lets_and_assertions, square, "less than a hundred" },
    { "guarded_block", guarded_block, same, "T.where(o < " },
    { "scan_axes", scan_axes, running_sum, "T.axis.scan(" },
    { "views", views, rows_exchanged, "T.decl_buffer(" },
    { "matched", matched, lower_row_doubled,
      "in_row = T.match_buffer(A[T.int64(1), T.int64(0):T.int64(4)], (T.int64(4),))" },
};

/* A module whose main calls that kernel. NULL after a failure. */
static const relax_module *module_of(relax_context *ctx, const struct program *p)
{
    kernel k;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = mb ? relax_builder_create(ctx, mb) : NULL;
    open_kernel(&k, ctx);
    p->build(&k);
    relax_base_func *f = relax_tir_finish(k.t);
    relax_tir_builder_destroy(k.t);
    relax_expr *gv = f && b ? relax_module_builder_add(mb, Z("kernel"), f) : NULL;
    relax_struct_info *info = gv ? floats(ctx, relax_prim_int_new(ctx, 2), 4) : NULL;
    const relax_expr *x = info ? relax_var_new(ctx, Z("x"), info, 0) : NULL,
                     *args[] = { gv, x ? relax_tuple_new(ctx, &x, 1) : NULL };
    relax_module *m = NULL;
    if (args[1] && relax_builder_begin_function(b, Z("main"), &x, 1, NULL) == RELAX_OK) {
        relax_expr *y = relax_builder_emit(
            b, relax_call_op_new_with_result(ctx, Z("call_tir"), args, 2, NULL, info, 0), NULL, 0,
            0);
        m = y && relax_builder_end_function(b, y) ? relax_module_builder_finish(mb) : NULL;
    }
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return m;
}

static const float input[CELLS] = { 1, 2, 3, 4, -1, 0.5f, 8, 0 };

static void check_run(relax_context *ctx, const struct program *p, const relax_module *m,
                      const relax_compile_options *options)
{
    float out[CELLS];
    relax_vm *vm = NULL;
    relax_value arg, result;
    relax_tensor *in = tensor_of(input, 2, 4);
    relax_executable *exe = relax_module_compile(ctx, m, options);
    assert_quiet(ctx);
    assert_int_equal(relax_executable_num_native_kernels(exe) > 0, options != NULL);
    assert_int_equal(relax_vm_create(exe, NULL, &vm, NULL), RELAX_OK);
    relax_value_set_tensor(&arg, in);
    assert_int_equal(relax_vm_call(vm, "main", 4, &arg, 1, &result, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_copy_out(relax_value_get_tensor(&result), out, sizeof out),
                     RELAX_OK);
    for (int i = 0; i < CELLS; i++)
        if (out[i] != p->expected(input, i))
            fail_msg("%s: element %d is %g, not %g", p->name, i, (double)out[i],
                     (double)p->expected(input, i));
    relax_value_release(&result);
    relax_value_release(&arg);
    relax_tensor_release(in);
    relax_vm_release(vm);
    relax_executable_release(exe);
}

static void reads_back(relax_context *ctx, const struct program *p, const relax_module *m)
{
    char *text = printed(ctx, relax_module_as_node(m));
    if (!strstr(text, p->line))
        fail_msg("%s: no %s in\n%s", p->name, p->line, text);
    const relax_module *again = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    assert_quiet(ctx);
    if (!again || !relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(again), 0))
        fail_msg("%s: reads back as something else\n%s", p->name, text);
    free(text);
}

static void by_text_and_bytecode(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (size_t i = 0; i < N(programs); i++) {
        const relax_module *m = module_of(ctx, &programs[i]);
        assert_quiet(ctx);
        assert_non_null(m);
        assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
        reads_back(ctx, &programs[i], m);
        check_run(ctx, &programs[i], m, NULL);
    }
}

static void as_c(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_compile_options options;
    char directory[200];
    snprintf(directory, sizeof directory, "%s/tir-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(directory));
    relax_compile_options_init(&options, sizeof options);
    options.target = "c";
    options.allow_compiler = 1;
    options.temp_dir = directory;
    if (getenv("CC"))
        options.compiler = getenv("CC");
    for (size_t i = 0; i < N(programs); i++)
        check_run(ctx, &programs[i], module_of(ctx, &programs[i]), &options);
    rmdir(directory);
}

/* ---- what only text shows */

static void written_not_run(void **state)
{
    kernel k;
    relax_context *ctx = ((fixture *)*state)->ctx;
    open_kernel(&k, ctx);
    prim steps[] = { num(&k, 8), num(&k, 1) }, x = real(&k, 2);
    assert_non_null(
        relax_tir_param_strided(k.t, Z("S"), RELAX_FLOAT32, k.shape, steps, 2, num(&k, 8)));
    assert_int_equal(
        relax_tir_evaluate(k.t, relax_tir_call_extern(k.t, RELAX_VOID, Z("go"), &x, 1)), RELAX_OK);
    store(&k, num(&k, 0), num(&k, 0),
          relax_tir_call_extern(k.t, RELAX_FLOAT32, Z("give"), NULL, 0));
    relax_tir_begin_block(k.t, Z("nothing"));
    assert_int_equal(relax_tir_reads(k.t, NULL, NULL, NULL, 0), RELAX_OK);
    assert_int_equal(relax_tir_writes(k.t, NULL, NULL, NULL, 0), RELAX_OK);
    relax_tir_evaluate(k.t, relax_tir_call_extern(k.t, RELAX_VOID, Z("go"), &x, 1));
    relax_tir_end_block(k.t);
    relax_base_func *f = relax_tir_finish(k.t);
    assert_quiet(ctx);
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_module_builder_add(mb, Z("kernel"), f);
    const struct program p = { .name = "extern",
                               .line = "T.call_extern(\"void\", \"go\", T.float32(2.0))" };
    reads_back(ctx, &p, relax_module_builder_finish(mb));
    relax_module_builder_destroy(mb);
    relax_tir_builder_destroy(k.t);
}

/* ---- misuse: a diagnostic, no function, no crash */

static void end_while_of_for(kernel *k) { loop(k, 1, "i", 2), relax_tir_end_while(k->t); }
static void end_for_of_while(kernel *k)
{
    relax_tir_while(k->t, relax_prim_int_of_dtype(k->ctx, RELAX_BOOL, 1)), relax_tir_end_for(k->t);
}
static void open_while(kernel *k)
{
    relax_tir_while(k->t, relax_prim_int_of_dtype(k->ctx, RELAX_BOOL, 1));
}
static void while_of_number(kernel *k) { relax_tir_while(k->t, num(k, 1)); }
static void where_outside(kernel *k)
{
    relax_tir_where(k->t, relax_prim_int_of_dtype(k->ctx, RELAX_BOOL, 1));
}
static void where_of_nothing(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b")), relax_tir_where(k->t, NULL);
}
static void reads_outside(kernel *k) { relax_tir_reads(k->t, k->a, k->shape, k->shape, 2); }
static void writes_of_few(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b")), relax_tir_writes(k->t, k->a, k->shape, k->shape, 1);
}
static void reads_of_no_buffer(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b"));
    relax_tir_reads(k->t, (const relax_buffer *)(const void *)num(k, 1), k->shape, k->shape, 2);
}
static void reads_of_null_ranges(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b")), relax_tir_reads(k->t, k->a, NULL, k->shape, 2);
}
static void axis_outside(kernel *k)
{
    relax_tir_axis_at(k->t, RELAX_AXIS_SCAN, Z("i"), NULL, num(k, 2), num(k, 0));
}
static void unknown_axis(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b")),
        relax_tir_axis_at(k->t, 5, Z("i"), NULL, num(k, 2), num(k, 0));
}
static void let_of_nothing(kernel *k) { relax_tir_let(k->t, Z("x"), NULL); }
static void let_without_name(kernel *k) { relax_tir_let(k->t, NULL, 0, num(k, 1)); }
static void assert_of_number(kernel *k) { relax_tir_assert(k->t, num(k, 1), Z("m")); }
static void evaluate_nothing(kernel *k) { relax_tir_evaluate(k->t, NULL); }
static void extern_without_name(kernel *k)
{
    relax_tir_call_extern(k->t, RELAX_VOID, Z(""), NULL, 0);
}
static void extern_of_no_dtype(kernel *k)
{
    relax_tir_call_extern(k->t, 0x7fffffff, Z("f"), NULL, 0);
}
static void attr_of_nothing(kernel *k) { relax_tir_attr(k->t, Z("key"), NULL); }
static void thread_without_tag(kernel *k)
{
    relax_tir_for_thread(k->t, NULL, 0, Z("i"), num(k, 2));
}
static void view_of_nothing(kernel *k)
{
    relax_tir_view(k->t, Z("v"), RELAX_FLOAT32, NULL, k->shape, NULL, 2, NULL);
}
static void match_outside(kernel *k)
{
    relax_tir_match(k->t, Z("m"), k->a, k->shape, k->shape, 2, 2);
}
static void match_in_loop(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b")), loop(k, 1, "i", 2);
    match_outside(k);
}
static void match_of_nothing(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b"));
    relax_tir_match(k->t, Z("m"), NULL, k->shape, k->shape, 2, 2);
}
static void match_of_few(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b"));
    relax_tir_match(k->t, Z("m"), k->a, k->shape, k->shape, 1, 1);
}
static void match_of_many(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b"));
    relax_tir_match(k->t, Z("m"), k->a, k->shape, k->shape, 2, 3);
}
static void match_of_wide_drop(kernel *k)
{
    relax_tir_begin_block(k->t, Z("b"));
    relax_tir_match(k->t, Z("m"), k->a, k->shape, k->shape, 2, 1);
}
static void param_of_null_steps(kernel *k)
{
    prim steps[] = { NULL, NULL };
    relax_tir_param_strided(k->t, Z("v"), RELAX_FLOAT32, k->shape, steps, 2, NULL);
}

static const struct { const char *name, *code; void (*build)(kernel *k);
} wrong[] = {
#define WRONG(code, name) { #name, code, name }
    WRONG("OP09", end_while_of_for),    WRONG("OP09", end_for_of_while),
    WRONG("OP09", open_while),          WRONG("OP02", while_of_number),
    WRONG("OP09", where_outside),       WRONG("OP01", where_of_nothing),
    WRONG("OP09", reads_outside),       WRONG("OP03", writes_of_few),
    WRONG("OP02", reads_of_no_buffer),  WRONG("OP01", reads_of_null_ranges),
    WRONG("OP09", axis_outside),        WRONG("OP03", unknown_axis),
    WRONG("OP01", let_of_nothing),      WRONG("OP01", let_without_name),
    WRONG("OP02", assert_of_number),    WRONG("OP01", evaluate_nothing),
    WRONG("OP03", extern_without_name), WRONG("OP03", extern_of_no_dtype),
    WRONG("OP01", attr_of_nothing),     WRONG("OP01", thread_without_tag),
    WRONG("OP01", view_of_nothing),     WRONG("OP01", param_of_null_steps),
    WRONG("OP09", match_outside),       WRONG("OP09", match_in_loop),
    WRONG("OP01", match_of_nothing),    WRONG("OP03", match_of_few),
    WRONG("OP03", match_of_many),       WRONG("OP03", match_of_wide_drop),
};

static void misuse_is_said(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (size_t i = 0; i < N(wrong); i++) {
        kernel k;
        open_kernel(&k, ctx);
        wrong[i].build(&k);
        if (relax_tir_finish(k.t))
            fail_msg("%s gives a function", wrong[i].name);
        assert_said(ctx, wrong[i].code);
        relax_tir_builder_destroy(k.t);
    }
}

/* A variable of a let is gone when its construct is closed. */
static void let_ends(void **state)
{
    kernel k;
    relax_context *ctx = ((fixture *)*state)->ctx;
    open_kernel(&k, ctx);
    prim i = loop(&k, RELAX_LOOP_SERIAL, "i", 2), x = relax_tir_let(k.t, Z("x"), load(&k, i, i));
    relax_tir_end_for(k.t);
    store(&k, num(&k, 0), num(&k, 0), x);
    assert_null(relax_tir_finish(k.t));
    assert_said(ctx, "WX08");
    relax_tir_builder_destroy(k.t);
}

/* ---- memory refused at every request */

typedef struct refusing { relax_allocator allocator; size_t calls, fail_at, live; } refusing;

/* An expression of 60 nodes that is 2^60 long when it is written out. */
static void doubled(kernel *k)
{
    prim i = loop(k, RELAX_LOOP_SERIAL, "i", 2), j = loop(k, RELAX_LOOP_SERIAL, "j", 4);
    prim x = load(k, i, j);
    for (int n = 0; n < 60; n++)
        x = both(k, RELAX_PRIM_ADD, x, x);
    store(k, i, j, x);
    relax_tir_end_for(k->t);
    relax_tir_end_for(k->t);
}
static void doubled_in_block(kernel *k)
{
    relax_tir_begin_block(k->t, Z("rows"));
    prim i = relax_tir_axis(k->t, RELAX_AXIS_SPATIAL, Z("i"), num(k, 2));
    prim j = relax_tir_axis(k->t, RELAX_AXIS_SPATIAL, Z("j"), num(k, 4)), x = load(k, i, j);
    for (int n = 0; n < 60; n++)
        x = both(k, RELAX_PRIM_ADD, x, x);
    store(k, i, j, x);
    relax_tir_end_block(k->t);
}
static float times_two_to_sixty(const float *a, int i) { return a[i] * 1152921504606846976.0f; }

static void shared_parts_cost_once(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const struct program shared[] = {
        { "doubled", doubled, times_two_to_sixty, "" },
        { "doubled_in_block", doubled_in_block, times_two_to_sixty, "" },
    };
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        const relax_module *m = module_of(ctx, &shared[i]);
        assert_quiet(ctx);
        assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ALL), 1);
        check_run(ctx, &shared[i], m, NULL);
    }
}

static void *refuse_alloc(void *user, size_t size, size_t align)
{
    refusing *r = user;
    if (++r->calls == r->fail_at)
        return NULL;
    r->live += size;
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static void refuse_free(void *user, void *ptr, size_t size, size_t align)
{
    (void)align;
    if (ptr)
        ((refusing *)user)->live -= size;
    free(ptr);
}

static void *refuse_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = refuse_alloc(user, new_size, align);
    if (p && ptr)
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    if (p)
        refuse_free(user, ptr, old_size, align);
    return p;
}

/* True: the program was made. */
static bool made_with(refusing *r, const struct program *p, size_t fail_at)
{
    *r = (refusing){ .fail_at = fail_at };
    r->allocator =
        (relax_allocator){ sizeof r->allocator, r, refuse_alloc, refuse_resize, refuse_free };
    relax_context_options options;
    relax_context_options_init(&options, sizeof options);
    options.allocator = &r->allocator;
    relax_context *ctx = relax_context_create(&options);
    bool made = ctx && module_of(ctx, p);
    assert_true(made || !ctx || relax_context_num_diagnostics(ctx) > 0 || r->calls >= fail_at);
    relax_context_release(ctx);
    assert_int_equal(r->live, 0);
    return made;
}

static void memory_fails(void **state)
{
    (void)state;
    refusing r;
    for (size_t i = 0; i < N(programs); i++) {
        assert_true(made_with(&r, &programs[i], 0));
        for (size_t n = 1, all = r.calls; n <= all; n++)
            made_with(&r, &programs[i], n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_text_and_bytecode, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(as_c, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(written_not_run, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(misuse_is_said, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(let_ends, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(shared_parts_cost_once, open_fixture, close_fixture),
        cmocka_unit_test(memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
