/* test_vm_writer_memory.c: compiling and binding weights with every allocation failed in turn: a
 * diagnostic, no crash, nothing left behind. */
#include "program.h"
#include "../base/failing.h"
#include "text_file.h"

typedef struct hard { failing f; relax_context *ctx; relax_module *m; relax_tensor *w; } hard;

static void begin(hard *h)
{
    rlx_memory unused;
    relax_context_options o;
    const float w[4] = { 1, 2, 3, 4 };
    failing_init(&h->f, &unused, 0);
    relax_context_options_init(&o, sizeof o);
    o.allocator = &h->f.allocator;
    h->ctx = relax_context_create(&o);
    const char *text = PROGRAM("every instruction");
    h->m = relax_module_parse(h->ctx, "m.py", 4, text, strlen(text));
    assert_non_null(h->m);
    assert_int_equal(relax_context_num_errors(h->ctx), 0);
    h->w = NULL;
    assert_int_equal(
        relax_tensor_create(RELAX_FLOAT32, (const int64_t[]){ 4 }, 1, NULL, &h->w, NULL),
        RELAX_OK);
    relax_tensor_copy_in(h->w, w, sizeof w);
}

/* The n-th allocation from here on fails. True: all went well. */
static bool attempt(hard *h, int32_t level, size_t n)
{
    static const char *const names[] = { "w" };
    const relax_tensor *tensors[] = { h->w };
    relax_compile_options c;
    relax_load_options load;
    relax_load_options_init(&load, sizeof load);
    relax_compile_options_init(&c, sizeof c);
    load.allocator = &h->f.allocator;
    c.load = &load;
    c.opt_level = level;
    h->f.calls = 0;
    h->f.fail_at = n;
    relax_module *m = relax_module_bind_params(h->ctx, h->m, NULL, 0, names, tensors, 1);
    relax_executable *e = relax_module_compile(h->ctx, m, &c);
    bool refused = n && h->f.calls >= n;
    h->f.fail_at = 0;
    assert_true(e || refused);
    assert_true(e || relax_context_num_errors(h->ctx) > 0);
    relax_executable_release(e);
    relax_context_clear_diagnostics(h->ctx);
    return !refused;
}

static void end(hard *h)
{
    relax_tensor_release(h->w);
    relax_context_release(h->ctx);
    assert_int_equal(h->f.live, 0);
    assert_int_equal(h->f.blocks, 0);
}

static void test_each_allocation_fails(void **state)
{
    for (int32_t level = 0; level < 2; level++) {
        hard h;
        begin(&h);
        size_t n = 1;
        while (!attempt(&h, level, n))
            n++;
        assert_true(n > 100);
        end(&h);
        /* in a context that has compiled nothing yet */
        for (size_t k = 1; k < n; k += n / 50 + 1) {
            begin(&h);
            attempt(&h, level, k);
            end(&h);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_allocation_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
