/* test_map.c: the three hash tables: against a plain model, and with every allocation failing. */
#include "cmocka_all.h"

#include "base/base.h"
#include "failing.h"

static rlx_slice key_of(int i, char text[24])
{
    int len = snprintf(text, 24, "key %d", i * 7919 % 5000);
    return (rlx_slice){ text, (size_t)len };
}

static size_t count_of(const rlx_map *map)
{
    rlx_map_entry *it = NULL;
    rlx_slice key;
    void *value;
    size_t count = 0;
    while (rlx_map_next(map, &it, &key, &value))
        count++;
    return count;
}

static void map_keeps_insertion_order(void **unused)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 0);
    rlx_map map;
    rlx_map_init(&map, &m);
    char text[24];
    for (int i = 0; i < 2000; i++)
        assert_true(rlx_map_put(&map, key_of(i, text), (void *)(uintptr_t)(i + 1)));
    assert_int_equal(count_of(&map), 2000);
    assert_true(rlx_map_put(&map, key_of(3, text), (void *)(uintptr_t)77));
    assert_int_equal((uintptr_t)rlx_map_get(&map, key_of(3, text)), 77);
    assert_null(rlx_map_get(&map, RLX_SLICE("absent")));
    assert_false(rlx_map_remove(&map, RLX_SLICE("absent")));
    for (int i = 0; i < 2000; i += 2)
        assert_true(rlx_map_remove(&map, key_of(i, text)));
    rlx_map_entry *it = NULL;
    rlx_slice key;
    void *value;
    int expected = 1;
    while (rlx_map_next(&map, &it, &key, &value)) {
        assert_true(rlx_slice_equal(key, key_of(expected, text)));
        assert_int_equal((uintptr_t)value, expected == 3 ? 77 : expected + 1);
        expected += 2;
    }
    assert_int_equal(expected, 2001);
    /* the empty key and keys with NUL bytes are keys like others; NULL values are values */
    assert_true(rlx_map_put(&map, (rlx_slice){ NULL, 0 }, &m) &&
                rlx_map_put(&map, (rlx_slice){ "a\0b", 3 }, NULL));
    assert_ptr_equal(rlx_map_get(&map, RLX_SLICE("")), &m);
    assert_true(rlx_map_has(&map, (rlx_slice){ "a\0b", 3 }) &&
                !rlx_map_has(&map, (rlx_slice){ "a\0c", 3 }));
    rlx_map_free(&map);
    assert_int_equal(f.live + f.blocks, 0);
    assert_int_equal(count_of(&map), 0);
    assert_true(rlx_map_put(&map, RLX_SLICE("again"), &m));
    rlx_map_free(&map);
}

/* A refused insertion leaves every other key in place. Returns how many allocations it took. */
static size_t fill_map(size_t fail_at, int count)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, fail_at);
    rlx_map map;
    rlx_map_init(&map, &m);
    char text[24];
    size_t lost = 0;
    int lost_at = -1;
    for (int i = 0; i < count; i++)
        if (!rlx_map_put(&map, key_of(i, text), &m))
            lost++, lost_at = i;
    assert_int_equal(lost, fail_at > 0 && fail_at <= f.calls);
    for (int i = 0; i < count; i++)
        assert_int_equal(rlx_map_has(&map, key_of(i, text)), i != lost_at);
    assert_int_equal(count_of(&map), (size_t)count - lost);
    rlx_map_free(&map);
    assert_int_equal(f.live + f.blocks, 0);
    return f.calls;
}

static void map_survives_every_failure(void **unused)
{
    size_t calls = fill_map(0, 1200);
    for (size_t n = 1; n <= calls; n += n < 40 ? 1 : 3)
        fill_map(n, 1200);
}

/* Keys lie `stride` bytes apart: few of them make one table, many a table for each page. */
static void compare_with_model(size_t num_keys, size_t stride, int steps)
{
    enum { MOST_KEYS = 40000, MOST_BYTES = 3 * MOST_KEYS };
    static char keys[MOST_BYTES];
    static uintptr_t model[MOST_KEYS];
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 0);
    rlx_ptrmap map;
    rlx_ptrmap_init(&map, &m);
    memset(model, 0, sizeof model);
    uint32_t x = 99;
    uintptr_t v;
    assert_false(rlx_ptrmap_has(&map, keys) || rlx_ptrmap_has(&map, NULL));
    rlx_ptrmap_remove(&map, keys);
    size_t count = 0;
    for (int i = 0; i < steps; i++) {
        x = x * 1664525 + 1013904223;
        size_t k = (x >> 8) % num_keys;
        if (x >> 30 == 0) {
            rlx_ptrmap_remove(&map, &keys[k * stride]);
            count -= model[k] != 0;
            model[k] = 0;
        } else {
            assert_true(rlx_ptrmap_put(&map, &keys[k * stride], x | 1));
            count += model[k] == 0;
            model[k] = x | 1;
        }
        assert_int_equal(map.len, count);
        k = (x >> 5) % num_keys;
        bool found = rlx_ptrmap_find(&map, &keys[k * stride], &v);
        assert_true(found == (model[k] != 0) && (!found || v == model[k]));
    }
    for (size_t k = 0; k < num_keys; k++)
        assert_true(rlx_ptrmap_get(&map, &keys[k * stride]) == (void *)model[k]);
    size_t calls = f.calls;
    rlx_ptrmap_clear(&map);
    for (size_t k = 0; k < num_keys; k++)
        assert_false(rlx_ptrmap_has(&map, &keys[k * stride]));
    for (size_t k = 0; k < num_keys / 3; k++)
        assert_true(rlx_ptrmap_put(&map, &keys[k * stride], k));
    assert_true(f.calls == calls || num_keys > 3000);
    rlx_ptrmap_free(&map);
    assert_int_equal(f.live + f.blocks, 0);
}

static void ptrmap_agrees_with_a_model(void **unused)
{
    compare_with_model(3000, 1, 60000);
    compare_with_model(40000, 1, 400000);
    compare_with_model(40000, 3, 400000);
}

/* More keys need more memory, but not more of it for each, however far apart they lie. */
static void ptrmap_grows_with_its_keys(void **unused)
{
    for (size_t stride = 8; stride <= 32768; stride *= 4) {
        size_t peak[2];
        for (size_t i = 0; i < 2; i++) {
            rlx_memory m;
            rlx_ptrmap map;
            assert_true(rlx_memory_init(&m, NULL, SIZE_MAX));
            rlx_ptrmap_init(&map, &m);
            for (size_t k = 0; k < (size_t)20000 << i; k++)
                assert_true(rlx_ptrmap_put(&map, (void *)(uintptr_t)(64 + k * stride), k));
            peak[i] = atomic_load(&m.peak);
            rlx_ptrmap_free(&map);
        }
        assert_in_range(peak[1], 0, peak[0] * 5 / 2);
        assert_in_range(peak[1], 0, (size_t)40000 * 300);
    }
}

static void ptrmap_survives_failures(size_t num_keys, size_t n)
{
    static char keys[20000];
    rlx_memory m;
    failing f;
    failing_init(&f, &m, n);
    rlx_ptrmap map;
    rlx_ptrmap_init(&map, &m);
    size_t lost = num_keys, times = 0;
    for (size_t i = 0; i < num_keys; i++)
        if (!rlx_ptrmap_put(&map, &keys[i], i))
            lost = i, times++;
    assert_int_equal(times, n <= f.calls);
    for (size_t i = 0; i < num_keys; i++)
        assert_int_equal(rlx_ptrmap_has(&map, &keys[i]), i != lost);
    rlx_ptrmap_free(&map);
    assert_int_equal(f.live + f.blocks, 0);
}

static void ptrmap_survives_every_failure(void **unused)
{
    for (size_t n = 1; n < 9; n++)
        ptrmap_survives_failures(1000, n);
    for (size_t n = 1; n < 40; n++)
        ptrmap_survives_failures(20000, n);
}

static int *intern_find(rlx_intern *t, uint64_t hash, int want)
{
    size_t at;
    for (int *item = rlx_intern_first(t, hash, &at); item; item = rlx_intern_next(t, hash, &at))
        if (*item == want)
            return item;
    return NULL;
}

static void intern_finds_all(void **unused)
{
    static int items[5000];
    for (size_t n = 0; n < 9; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        rlx_intern t;
        rlx_intern_init(&t, &m);
        assert_null(intern_find(&t, 1, 1));
        int lost = -1;
        for (int i = 0; i < 5000; i++) {
            items[i] = i;
            /* some collide */
            uint64_t hash = i % 3 ? rlx_hash_mix(1, (uint64_t)i) : (uint64_t)(i % 9);
            if (!rlx_intern_add(&t, hash, &items[i]))
                lost = i;
        }
        assert_true((lost >= 0) == (n > 0 && n <= f.calls));
        for (int i = 0; i < 5000; i++) {
            uint64_t hash = i % 3 ? rlx_hash_mix(1, (uint64_t)i) : (uint64_t)(i % 9);
            assert_ptr_equal(intern_find(&t, hash, i), i == lost ? NULL : &items[i]);
            assert_null(intern_find(&t, hash, -1));
        }
        rlx_intern_free(&t);
        assert_int_equal(f.live + f.blocks, 0);
    }
}

static void hash_depends_on_every_byte(void **unused)
{
    unsigned char data[40] = { 0 };
    uint64_t zero[41];
    for (size_t len = 0; len <= 40; len++) {
        zero[len] = rlx_hash_bytes(data, len);
        for (size_t k = 0; k < len; k++)
            assert_true(zero[k] != zero[len]); /* lengths count */
    }
    for (size_t i = 0; i < 40; i++) {
        data[i] = 1;
        assert_true(rlx_hash_bytes(data, 40) != zero[40]);
        data[i] = 0;
    }
    assert_true(rlx_hash_bytes("relax", 5) == rlx_hash_bytes("relax", 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_keeps_insertion_order),
        cmocka_unit_test(map_survives_every_failure),
        cmocka_unit_test(ptrmap_agrees_with_a_model),
        cmocka_unit_test(ptrmap_grows_with_its_keys),
        cmocka_unit_test(ptrmap_survives_every_failure),
        cmocka_unit_test(intern_finds_all),
        cmocka_unit_test(hash_depends_on_every_byte),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
