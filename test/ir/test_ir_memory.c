/* test_ir_memory.c: every allocation of a small life of a context fails in turn: no crash, no
 * leak, and the failure is told. */
#include "ir_fixture.h"

#include <stdlib.h>
#include <string.h>

struct host { size_t count, fail_at, live; };

static bool refuse(struct host *h) { return ++h->count == h->fail_at; }

static void *host_alloc(void *user, size_t size, size_t align)
{
    struct host *h = user;
    void *p = NULL;
    if (refuse(h) || posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size))
        return NULL;
    h->live += size;
    return p;
}

static void host_free(void *user, void *ptr, size_t size, size_t align)
{
    struct host *h = user;
    h->live -= size;
    free(ptr);
}

static void *host_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = host_alloc(user, new_size, align);
    if (!p)
        return NULL;
    memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    host_free(user, ptr, old_size, align);
    return p;
}

/* Builds, compares, hashes, rewrites, substitutes, shows, copies. False as soon as something
 * fails. */
static bool life(rlx_context *c)
{
    const char *names[] = { "f", "g" };
    const rlx_node *functions[] = { NULL, NULL };
    bool oom = false;
    int64_t shape[] = { 2 };
    const rlx_function *f = small_function(c, "n", "x", "op");
    if (!rlx_scratch_begin(c) || !f ||
        rlx_error_count(c)) /* optional parts fail unseen: the latch tells */
        return false;
    functions[0] = &f->node;
    functions[1] = rlx_constant_new(c, RELAX_INT8, shape, 1, "ab", N);
    const rlx_expr *gvars[] = {
        (const rlx_expr *)rlx_global_var_new(c, rlx_string_z(c, names[0]), N),
        (const rlx_expr *)rlx_global_var_new(c, rlx_string_z(c, names[1]), N)
    };
    const rlx_module *m = rlx_module_new(c, gvars, functions, 2, NULL, NULL, N);
    const rlx_prim *n = rlx_as_shape_expr(rlx_as_tensor_sinfo(f->ret_sinfo)->shape)->values[0],
                   *seven = rlx_int64(c, 7777);
    const rlx_node *sub = m && seven ? rlx_substitute(c, &m->node, &n, &seven, 1) : NULL;
    const rlx_node *fresh = sub ? rlx_copy_fresh(c, functions[0]) : NULL;
    if (!fresh || !rlx_equal(&c->memory, functions[0], fresh, false, &oom) ||
        !rlx_hash(&c->memory, fresh, &oom))
        return false;
    rlx_rewriter r;
    rlx_rewriter_init(&r, c);
    const rlx_node *again = rlx_rewrite(&r, sub);
    rlx_rewriter_free(&r);
    rlx_prim_vars vars = { 0 };
    bool collected = rlx_collect_prim_vars(&c->memory, fresh, true, &vars);
    rlx_vec_free(&c->memory, &vars);
    const char *text = rlx_show(c, f->ret_sinfo);
    const rlx_node *down = again && collected && text[0] != '?' ? rlx_scratch_end(c, sub) : NULL;
    return down && rlx_equal(&c->memory, sub == again ? down : NULL, down, false, &oom);
}

static void every_allocation_may_fail(void **state)
{
    bool done = false;
    for (size_t n = 1; !done && n < 10000; n++) {
        struct host h = { .fail_at = n };
        relax_allocator a = { sizeof a, &h, host_alloc, host_resize, host_free };
        rlx_context *c = rlx_context_create(&a, 0);
        bool fine = c && life(c);
        done = h.count < n;
        assert_int_equal(fine, done || (fine && c->diags.out_of_memory == false));
        rlx_context_release(c);
        assert_int_equal(h.live, 0);
    }
    assert_true(done);
}

static void a_cap_is_a_failure_too(void **state)
{
    rlx_context *c = rlx_context_create(NULL, 200 * 1024);
    assert_non_null(c);
    const rlx_prim *e = dim(c, "n");
    for (int i = 0; i < 100000 && e; i++)
        e = rlx_binary_new(c, RLX_NODE_ADD, e, rlx_int64(c, i));
    assert_null(e);
    assert_true(rlx_error_count(c) > 0);
    assert_true(rlx_context_bytes(c) <= 200 * 1024);
    rlx_context_release(c);
    relax_allocator broken = { 0 };
    assert_null(rlx_context_create(&broken, 0));
    assert_null(rlx_context_create(NULL, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail),
                                        cmocka_unit_test(a_cap_is_a_failure_too) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
