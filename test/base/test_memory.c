/* test_memory.c: memory, regions, vectors, blobs: sizes, caps, alignment, every failure. */
#include "cmocka_all.h"

#include <errno.h>

#include "base/base.h"
#include "failing.h"

static void refuses_malformed_allocators(void **unused)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 0);
    relax_allocator bad = f.allocator;
    bad.struct_size = sizeof bad - 1;
    assert_false(rlx_memory_init(&m, &bad, SIZE_MAX));
    bad = f.allocator;
    bad.resize = NULL;
    assert_false(rlx_memory_init(&m, &bad, SIZE_MAX));
    bad = f.allocator;
    bad.struct_size = sizeof bad + 100; /* a newer host */
    assert_true(rlx_memory_init(&m, &bad, SIZE_MAX));
}

static void counts_and_caps(void **unused)
{
    rlx_memory m;
    assert_true(rlx_memory_init(&m, NULL, 1000));
    void *a = rlx_mem_alloc(&m, 600);
    assert_non_null(a);
    assert_int_equal((uintptr_t)a % 16, 0);
    assert_null(rlx_mem_alloc(&m, 401));
    assert_null(rlx_mem_alloc(&m, SIZE_MAX));
    assert_null(rlx_mem_alloc(&m, 0));
    assert_null(rlx_mem_resize(&m, a, 600, 1001));
    a = rlx_mem_resize(&m, a, 600, 1000);
    assert_non_null(a);
    assert_int_equal(rlx_mem_live(&m), 1000);
    a = rlx_mem_resize(&m, a, 1000, 10);
    void *b = rlx_mem_alloc_aligned(&m, 100, 256);
    assert_int_equal((uintptr_t)b % 256, 0);
    assert_int_equal(rlx_mem_live(&m), 110);
    rlx_mem_free(&m, a, 10);
    rlx_mem_free_aligned(&m, b, 100, 256);
    rlx_mem_free(&m, NULL, 0);
    assert_int_equal(rlx_mem_live(&m), 0);
    assert_int_equal(m.peak, 1000);
}

static void failure_keeps_the_old_block_and_errno(void **unused)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 2);
    char *a = rlx_mem_alloc(&m, 10);
    memcpy(a, "123456789", 10);
    errno = 42;
    assert_null(rlx_mem_resize(&m, a, 10, 20));
    assert_string_equal(a, "123456789");
    assert_int_equal(rlx_mem_live(&m), 10);
    a = rlx_mem_resize(&m, a, 10, 20);
    assert_string_equal(a, "123456789");
    rlx_mem_free(&m, a, 20);
    assert_int_equal(f.live + f.blocks + rlx_mem_live(&m), 0);
#ifndef __SANITIZE_ADDRESS__ /* which ends the program instead of refusing */
    rlx_memory_init(&m, NULL, SIZE_MAX);
    assert_null(rlx_mem_alloc(&m, SIZE_MAX / 2));
#endif
    assert_int_equal(errno, 42);
    errno = 0;
}

static void take_many(rlx_region *r)
{
    for (int i = 0; i < 3000; i++) {
        unsigned char *p = rlx_region_zero(r, (size_t)(i % 90));
        assert_true(p && (uintptr_t)p % 8 == 0 && (i % 90 == 0 || p[i % 90 - 1] == 0));
    }
}

static void region_hands_out_and_rewinds(void **unused)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 0);
    rlx_region r;
    rlx_region_init(&r, &m);
    assert_non_null(rlx_region_alloc(&r, 0));
    assert_int_equal(f.blocks, 0);
    rlx_region_mark empty = rlx_region_save(&r);
    char *small = rlx_region_copy(&r, "hello", 6);
    rlx_region_mark mark = rlx_region_save(&r);
    size_t bytes = r.bytes;
    take_many(&r);
    char *large = rlx_region_alloc(&r, 500000);
    memset(large, 1, 500000);
    char *next = rlx_region_copy(&r, "next", 5); /* the chunk before the large one goes on */
    assert_true(next < large || next >= large + 500000);
    rlx_region_rewind(&r, mark);
    assert_int_equal(r.bytes, bytes);
    assert_string_equal(small, "hello");
    char *again = rlx_region_alloc(&r, 8);
    assert_ptr_equal(again, small + 8);
    size_t calls = f.calls;
    for (size_t round = 0; round < 3; round++) {
        take_many(&r); /* one chunk holds it now, which is then kept */
        assert_int_equal(f.calls, calls + 1);
        rlx_region_rewind(&r, mark);
    }
    rlx_region_rewind(&r, empty);
    assert_int_equal(r.bytes, 0);
    assert_non_null(rlx_region_alloc(&r, 100000)); /* a large one first */
    assert_non_null(rlx_region_alloc(&r, 10));
    assert_null(rlx_region_alloc(&r, SIZE_MAX));
    assert_null(rlx_region_alloc(&r, SIZE_MAX - 100));
    assert_null(rlx_region_array(&r, SIZE_MAX / 2, 3));
    rlx_region_drop(&r);
    assert_int_equal(f.live + f.blocks + rlx_mem_live(&m), 0);
    assert_non_null(rlx_region_alloc(&r, 10)); /* usable again */
    rlx_region_drop(&r);
}

/* Nested marks with single chunks between them, against a model that remembers what must
 * survive. */
static void fill_region(rlx_region *r, size_t bytes)
{
    for (size_t i = 0; i < bytes / 100; i++) {
        char *p = rlx_region_alloc(r, 100);
        assert_non_null(p);
        memset(p, (int)i, 100);
    }
}

static void region_inherits_what_another_leaves(void **unused)
{
    for (size_t most = 0; most <= 8000000; most += 4000000) {
        rlx_memory m;
        rlx_region old, heir;
        assert_true(rlx_memory_init(&m, NULL, SIZE_MAX));
        rlx_region_init(&old, &m);
        rlx_region_init(&heir, &m);
        fill_region(&old, 6000000);
        assert_non_null(rlx_region_alloc(&old, 3000000)); /* a chunk of its own: not kept */
        fill_region(&heir, 1000000);
        size_t before = rlx_mem_live(&m);
        rlx_region_inherit(&heir, &old, most);
        assert_true(rlx_mem_live(&m) <= before - 3000000);
        assert_int_equal(old.bytes, 0);
        assert_int_equal(heir.bytes, 10000 * 104);
        size_t count = atomic_load(&m.count);
        rlx_region_mark mark = rlx_region_save(&heir);
        fill_region(&heir, 5000000);
        assert_true((atomic_load(&m.count) == count) == (most == 8000000));
        rlx_region_rewind(&heir, mark);
        fill_region(&heir, 1000000);
        rlx_region_drop(&heir);
        rlx_region_drop(&old);
        assert_int_equal(rlx_mem_live(&m), 0);
    }
}

static void region_survives_random_rewinds(void **unused)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 0);
    rlx_region r;
    rlx_region_init(&r, &m);
    struct { unsigned char *p; size_t size; unsigned char fill; } live[4000];
    struct { rlx_region_mark mark; size_t count; } marks[64];
    size_t n = 0, depth = 0;
    uint32_t x = 12345;
    for (int i = 0; i < 4000; i++) {
        x = x * 1664525 + 1013904223;
        uint32_t what = x >> 28, size = x >> 8 & 0xff;
        if (what == 0 && depth < 64) {
            marks[depth].mark = rlx_region_save(&r);
            marks[depth++].count = n;
        } else if (what == 1 && depth) {
            depth--;
            rlx_region_rewind(&r, marks[depth].mark);
            n = marks[depth].count;
        } else {
            size = what == 2 ? size * 300 : size + 1;
            live[n].p = rlx_region_alloc(&r, size);
            live[n].size = size;
            live[n].fill = (unsigned char)i;
            memset(live[n].p, i & 0xff, size);
            n++;
        }
        if (i % 64 == 0)
            for (size_t k = 0; k < n; k++)
                for (size_t b = 0; b < live[k].size; b += 97)
                    assert_int_equal(live[k].p[b], live[k].fill);
    }
    rlx_region_drop(&r);
    assert_int_equal(f.live + f.blocks, 0);
}

static void vector_grows_or_stays(void **unused)
{
    for (size_t n = 0; n < 12; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        RLX_VEC(int) v = { 0 };
        int pushed = 0;
        for (int i = 0; i < 1000; i++)
            pushed += rlx_vec_push(&m, &v, i - (i - pushed));
        for (int i = 0; i < pushed; i++)
            assert_int_equal(v.data[i], i);
        assert_int_equal(v.len, (size_t)pushed);
        assert_true(n == 0 ? pushed == 1000 : pushed >= 999);
        assert_true(rlx_vec_pop(&v) == pushed - 1 && rlx_vec_last(&v) == pushed - 2);
        assert_false(rlx_vec_reserve(&m, &v, SIZE_MAX / 2));
        rlx_vec_free(&m, &v);
        assert_int_equal(f.live + f.blocks, 0);
    }
}

static int freed;

static void note_free(void *user, void *data, size_t size)
{
    freed += *(int *)user + (int)size;
}

static void blobs_count(void **unused)
{
    for (size_t n = 0; n < 4; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        rlx_blob *b = rlx_blob_create(&m, "abc", 3);
        if (b) {
            assert_int_equal((uintptr_t)b->data % 64, 0);
            assert_string_equal((char *)b->data, "abc");
            assert_ptr_equal(rlx_blob_retain(b), b);
            rlx_blob_release(b);
        }
        rlx_blob_release(b);
        rlx_blob_release(NULL);
        assert_int_equal(f.live + f.blocks, 0);
    }
    for (size_t n = 0; n < 2; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        int user = 100;
        freed = 0;
        rlx_blob *b = rlx_blob_wrap(&m, "xy", 2, note_free, &user);
        assert_true((b == NULL) == (n == 1));
        rlx_blob_release(b);
        assert_int_equal(freed, 102); /* once, also if wrapping failed */
        rlx_blob_release(rlx_blob_wrap(&m, "xy", 2, NULL, NULL));
        assert_int_equal(f.live + f.blocks, 0);
    }
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 0);
    assert_null(rlx_blob_create(&m, NULL, SIZE_MAX));
    rlx_shared_memory *s = rlx_shared_memory_create(&f.allocator, SIZE_MAX);
    assert_ptr_equal(rlx_shared_memory_retain(s), s);
    rlx_blob *b = rlx_blob_create(&s->memory, NULL, 0);
    rlx_shared_memory_release(s);
    assert_int_equal(b->data[0], 0);
    rlx_blob_release(b);
    rlx_shared_memory_release(s);
    rlx_shared_memory_release(NULL);
    assert_int_equal(f.live + f.blocks, 0);
    f.fail_at = f.calls + 1;
    assert_null(rlx_shared_memory_create(&f.allocator, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_malformed_allocators),
        cmocka_unit_test(counts_and_caps),
        cmocka_unit_test(failure_keeps_the_old_block_and_errno),
        cmocka_unit_test(region_hands_out_and_rewinds),
        cmocka_unit_test(region_inherits_what_another_leaves),
        cmocka_unit_test(region_survives_random_rewinds),
        cmocka_unit_test(vector_grows_or_stays),
        cmocka_unit_test(blobs_count),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
