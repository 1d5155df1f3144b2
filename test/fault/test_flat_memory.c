/* test_flat_memory.c: a context that is collected serves any number of jobs, and a machine any
 * number of calls, in the same memory. */
#include "world.h"
#include "text_file.h"

enum { JOBS = 1000, SHAPES = 50, CALLS = 10000 };

/* ---- collecting */

static relax_module *read_again(world *w)
{
    relax_module *m = relax_module_parse(w->ctx, Z(w->program->name), w->text, w->text_len);
    assert_non_null(m);
    return m;
}

static char *printed(world *w, const relax_module *m)
{
    relax_bytes *text = relax_node_print(w->ctx, relax_module_as_node(m), NULL);
    assert_non_null(text);
    char *copy = strdup(relax_bytes_data(text));
    relax_bytes_release(text);
    return copy;
}

static uint32_t line_of(world *w, const relax_module *m)
{
    uint32_t line = 0;
    size_t last = relax_module_num_functions(m) - 1;
    relax_place_locate(w->ctx,
                       relax_expr_place(relax_base_func_as_expr(relax_module_function(m, last))),
                       &line, NULL, NULL);
    return line;
}

static world *open_world(const char *name, fault *f, enum level level)
{
    static world w;
    size_t i = 0;
    while (strcmp(programs[i].name, name) != 0)
        i++;
    fault_init(f);
    w = (world){ 0 };
    world_open(&w, &programs[i], f);
    assert_true(world_reach(&w, level));
    return &w;
}

static void expect_closed(world *w, fault *f)
{
    world_close(w);
    assert_int_equal(f->live, 0);
    assert_int_equal(f->blocks, 0);
}

static void what_is_named_stays(void **state)
{
    (void)state;
    fault f;
    world *w = open_world("recursion", &f, CONTEXT);
    relax_module *kept[2] = { read_again(w), NULL };
    kept[1] = relax_pass_run(w->ctx, kept[0], Z("legalize_ops"), NULL);
    char *before[] = { printed(w, kept[0]), printed(w, kept[1]) };
    uint32_t line = line_of(w, kept[0]);
    assert_true(line > 1);
    for (int i = 0; i < 20; i++)
        read_again(w);
    size_t much = relax_context_bytes(w->ctx);
    assert_int_equal(relax_context_collect(w->ctx, kept, 2), RELAX_OK);
    assert_true(relax_context_bytes(w->ctx) < much);
    assert_int_equal(relax_context_num_diagnostics(w->ctx), 0);
    for (int i = 0; i < 2; i++) {
        char *after = printed(w, kept[i]);
        assert_string_equal(after, before[i]);
        assert_int_equal(relax_module_well_formed(w->ctx, kept[i], RELAX_CHECK_ALL), 1);
        free(after);
        free(before[i]);
    }
    assert_int_equal(line_of(w, kept[0]), line);
    relax_executable *exe = relax_module_compile(w->ctx, kept[0], NULL);
    assert_non_null(exe);
    relax_executable_release(exe);
    expect_closed(w, &f);
}

/* Also with no module at all; the same handle named twice stays one. */
static void nothing_or_one_twice(void **state)
{
    (void)state;
    fault f;
    world *w = open_world("tuples", &f, CONTEXT);
    size_t least = relax_context_bytes(w->ctx);
    relax_module *m = read_again(w), *twice[] = { m, m };
    assert_int_equal(relax_context_collect(w->ctx, twice, 2), RELAX_OK);
    assert_ptr_equal(twice[0], twice[1]);
    assert_int_equal(relax_context_collect(w->ctx, NULL, 0), RELAX_OK);
    assert_true(relax_context_bytes(w->ctx) < least + 16384);
    assert_int_equal(relax_module_num_functions(read_again(w)), 2);
    expect_closed(w, &f);
}

/* Numbers of sources that nobody needs are used again; those of the host and of diagnostics are
 * not. */
static void sources_go_with_their_modules(void **state)
{
    (void)state;
    fault f;
    world *w = open_world("errors", &f, CONTEXT);
    uint32_t mine = relax_context_add_source(w->ctx, Z("mine"), Z("one\ntwo\n")), line = 0;
    read_text(w);
    assert_null(relax_module_parse(w->ctx, Z("errors"), w->text, w->text_len));
    relax_bytes *said = relax_diagnostic_render(w->ctx, 0);
    static const char good[] =
        "@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    return x\n";
    relax_module *m = NULL;
    for (int i = 0; i < 100; i++) {
        m = relax_module_parse(w->ctx, Z("good"), Z(good));
        assert_int_equal(relax_context_collect(w->ctx, &m, 1), RELAX_OK);
        assert_int_equal(relax_module_is_standalone(m), 1);
        assert_int_equal(line_of(w, m), 2);
    }
    assert_true(relax_context_add_source(w->ctx, Z("next"), NULL, 0) < 6);
    assert_int_equal(relax_place_locate(w->ctx, relax_place_make(mine, 4, 1), &line, NULL, NULL),
                     RELAX_OK);
    assert_int_equal(line, 2);
    relax_bytes *again = relax_diagnostic_render(w->ctx, 0);
    assert_string_equal(relax_bytes_data(again), relax_bytes_data(said));
    relax_bytes_release(said);
    relax_bytes_release(again);
    expect_closed(w, &f);
}

static void refused_while_nodes_are_held(void **state)
{
    (void)state;
    fault f;
    world *w = open_world("tuples", &f, CONTEXT);
    relax_module *m = read_again(w), *was = m;
    relax_module_builder *mb = relax_module_builder_create(w->ctx, m);
    relax_builder *b = relax_builder_create(w->ctx, mb);
    relax_tir_builder *t = relax_tir_builder_create(w->ctx, 0);
    relax_pipeline *p = relax_pipeline_create(w->ctx);
    for (int i = 0; i < 4; i++) {
        relax_context_clear_diagnostics(w->ctx);
        assert_int_equal(relax_context_collect(w->ctx, &m, 1), RELAX_ERROR_INVALID_ARGUMENT);
        assert_string_equal(relax_diagnostic_code(w->ctx, 0), "OP09");
        assert_ptr_equal(m, was);
        i == 0   ? relax_builder_destroy(b)
        : i == 1 ? relax_module_builder_destroy(mb)
        : i == 2 ? relax_tir_builder_destroy(t)
                 : relax_pipeline_destroy(p);
    }
    assert_int_equal(relax_context_collect(w->ctx, &m, 1), RELAX_OK);
    relax_module *bad[] = { m, NULL };
    assert_int_equal(relax_context_collect(w->ctx, bad, 2), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_context_collect(NULL, NULL, 0), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_module_num_functions(m), 2);
    expect_closed(w, &f);
}

static const relax_module *collect_inside(void *user, relax_context *ctx,
                                          const relax_module *module, const relax_attr *options)
{
    (void)options;
    *(relax_status *)user = relax_context_collect(ctx, NULL, 0);
    relax_context_clear_diagnostics(ctx);
    return module;
}

static void refused_inside_a_pipeline(void **state)
{
    (void)state;
    fault f;
    world *w = open_world("tuples", &f, MODULE);
    relax_status inside = RELAX_OK;
    relax_pipeline *p = relax_pipeline_create(w->ctx);
    relax_pipeline_add_host(p, Z("collects"), NULL, collect_inside, &inside, NULL);
    assert_non_null(relax_pipeline_run(p, w->module));
    relax_pipeline_destroy(p);
    assert_int_equal(inside, RELAX_ERROR_INVALID_ARGUMENT);
    expect_closed(w, &f);
}

/* ---- many jobs */

/* Everything that a host does with a program; what it makes is released. */
static void one_job(world *w)
{
    w->module = read_again(w);
    w->bytes = relax_node_print(w->ctx, relax_module_as_node(w->module), NULL);
    assert_int_equal(relax_module_well_formed(w->ctx, w->module, RELAX_CHECK_ALL), 1);
    assert_non_null(relax_pass_run(w->ctx, w->module, Z("legalize_ops"), NULL));
    assert_true(compile_to(w, 1, &w->exe) && open_machine(w) && make_input(w) && step_call(w));
    relax_value_release(&w->arg);
    relax_tensor_release(w->in);
    relax_vm_release(w->vm);
    relax_executable_release(w->exe);
    w->in = NULL, w->vm = NULL, w->exe = NULL;
    world_forget(w);
}

/* One job with mistakes in it, for they leave diagnostics. */
static void one_bad_job(world *w)
{
    const char *bad = PROGRAM("a mistake");
    relax_module_parse(w->ctx, Z("bad.py"), Z(bad));
    assert_true(relax_context_num_errors(w->ctx) > 0);
    relax_context_clear_diagnostics(w->ctx);
}

static void a_thousand_jobs(void **state)
{
    (void)state;
    fault f;
    size_t live = 0, blocks = 0, peak = 0;
    int jobs = getenv("RELAX_LONG") || FAULT_SEES_MALLOC ? JOBS : JOBS / 10;
    world *w = open_world("branches", &f, CONTEXT);
    for (int i = 0; i < jobs; i++) {
        one_job(w);
        one_bad_job(w);
        assert_int_equal(relax_context_collect(w->ctx, NULL, 0), RELAX_OK);
        assert_int_equal(relax_context_bytes(w->ctx), f.live);
        if (i == 2) /* from now on nothing grows */
            live = f.live, blocks = f.blocks, peak = f.peak;
        if (i > 2 && (f.live > live || f.blocks > blocks || f.peak > peak))
            fail_msg(
                "job %d: %zu bytes in %zu blocks (peak %zu), after the third job %zu in %zu (%zu)",
                i, f.live, f.blocks, f.peak, live, blocks, peak);
    }
    expect_closed(w, &f);
}

/* The same with a module that stays from job to job. */
static void a_thousand_passes_on_one_module(void **state)
{
    (void)state;
    fault f;
    size_t live = 0;
    world *w = open_world("symbolic", &f, CONTEXT);
    relax_module *m = read_again(w);
    for (int i = 0; i < JOBS / 4; i++) {
        relax_executable *exe = relax_module_compile(w->ctx, m, NULL);
        assert_non_null(relax_pass_run(w->ctx, m, Z("legalize_ops"), NULL));
        assert_non_null(exe);
        relax_executable_release(exe);
        assert_int_equal(relax_context_collect(w->ctx, &m, 1), RELAX_OK);
        live = i == 2 ? f.live : live;
        assert_true(i <= 2 || f.live <= live);
    }
    expect_closed(w, &f);
}

/* ---- many calls: 50 sizes in changing order, results by value and into a buffer of the caller */

static void call_with(world *w, int64_t rows, bool into)
{
    relax_tensor *in = NULL, *out = NULL;
    relax_value arg, result = { 0 };
    assert_int_equal(new_tensor(w, rows, COLUMNS, &in), RELAX_OK);
    float *x = relax_tensor_data(in);
    for (int64_t i = 0; i < rows * COLUMNS; i++)
        x[i] = (float)i;
    relax_value_set_tensor(&arg, in);
    if (into) {
        assert_int_equal(new_tensor(w, rows, COLUMNS, &out), RELAX_OK);
        assert_int_equal(relax_vm_call_into(w->vm,
                                            relax_executable_find(w->exe, Z("main")),
                                            &arg, 1, &out, 1, NULL),
                         RELAX_OK);
    } else {
        assert_int_equal(relax_vm_call(w->vm, Z("main"), &arg, 1, &result, NULL), RELAX_OK);
        assert_int_equal(relax_tensor_shape(relax_value_get_tensor(&result))[0], rows);
    }
    relax_value_release(&result);
    relax_value_release(&arg);
    relax_tensor_release(out);
    relax_tensor_release(in);
}

static void ten_thousand_calls(void **state)
{
    (void)state;
    fault f;
    size_t live = 0, blocks = 0;
    int calls = getenv("RELAX_LONG") || FAULT_SEES_MALLOC ? CALLS : CALLS / 10;
    world *w = open_world("recursion", &f, MACHINE);
    for (int i = 0; i < calls; i++) {
        call_with(w, 1 + (i * 7 % SHAPES) * 3, i % 3 == 0);
        /* each size has been there in both ways, after each other */
        bool settled = i >= 6 * SHAPES;
        if (settled && (f.live > live || f.blocks > blocks))
            fail_msg("call %d: %zu bytes in %zu blocks, before %zu in %zu", i, f.live, f.blocks,
                     live, blocks);
        live = f.live > live ? f.live : live;
        blocks = f.blocks > blocks ? f.blocks : blocks;
    }
    expect_closed(w, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named_stays),
        cmocka_unit_test(nothing_or_one_twice),
        cmocka_unit_test(sources_go_with_their_modules),
        cmocka_unit_test(refused_while_nodes_are_held),
        cmocka_unit_test(refused_inside_a_pipeline),
        cmocka_unit_test(a_thousand_jobs),
        cmocka_unit_test(a_thousand_passes_on_one_module),
        cmocka_unit_test(ten_thousand_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
