/* test_value.c: values, tensors and DLPack as a host sees them. */
#include "../base/cmocka_all.h"
#include "../base/failing.h"
#include <relax/dlpack.h>
#include <relax/vm.h>
#include "runtime/runtime.h"

/* ---- numbers that other programs rely on ---------------------------------------------------- */

static void layouts_are_those_of_tvm_ffi(void **state)
{
    assert_int_equal(sizeof(relax_value), 16);
    assert_int_equal(offsetof(relax_value, v), 8);
    assert_int_equal(sizeof(rlx_object), 24);
    assert_int_equal(offsetof(rlx_object, type_index), 8);
    assert_int_equal(offsetof(rlx_object, deleter), 16);
    assert_int_equal(offsetof(rlx_tensor_object, view), 24);
    assert_int_equal(offsetof(rlx_string_object, data), 24);
    assert_int_equal(offsetof(rlx_shape_object, dims), 24);
    assert_int_equal(offsetof(rlx_packed, safe_call), 24);
    assert_int_equal(offsetof(struct relax_error, kind), 24);
    assert_int_equal(offsetof(struct relax_error, message), 40);
    assert_int_equal(offsetof(struct relax_error, update_trace), 72);
    assert_int_equal(sizeof(DLTensor), 48);
    assert_int_equal(offsetof(struct DLManagedTensorVersioned, dl_tensor), 32);
    assert_int_equal(sizeof(struct DLManagedTensorVersioned), 80);
    assert_int_equal(sizeof(DLManagedTensor), 64);
}

/* A host that knows the layout only frees our objects by the protocol of tvm-ffi. */
static void foreign_hosts_can_count_our_objects(void **state)
{
    relax_value v;
    assert_int_equal(relax_value_set_string(&v, "abc", 3, NULL), RELAX_OK);
    rlx_object *o = v.v.p;
    atomic_fetch_add(&o->refs, 1);
    assert_int_equal(atomic_fetch_sub(&o->refs, 1), ((uint64_t)1 << 32) + 2);
    atomic_fetch_add(&o->refs, (uint64_t)1 << 32); /* a weak reference */
    assert_int_equal((uint32_t)atomic_fetch_sub(&o->refs, 1), 1);
    o->deleter(o, 1);
    atomic_fetch_sub(&o->refs, (uint64_t)1 << 32);
    assert_int_equal(atomic_fetch_sub(&o->refs, (uint64_t)1 << 32), (uint64_t)1 << 32);
    o->deleter(o, 2);
}

/* Strings, shapes, tuples and what is copied into them come from the allocator given; each request
 * may be refused. */
static void memory_comes_from_the_allocator(void **state)
{
    static const int64_t dims[] = { 2, 3 };
    relax_value raw = { .type_index = RELAX_VALUE_RAW_STRING, .v.s = "a string of some length" };
    for (size_t fail_at = 0; fail_at < 8; fail_at++) {
        failing f;
        rlx_memory probe;
        relax_value v[3];
        failing_init(&f, &probe, fail_at);
        relax_status status[] = {
            relax_value_set_string(&v[0], "a longer string", 15, &f.allocator),
            relax_value_set_shape(&v[1], dims, 2, &f.allocator),
            relax_value_set_tuple(&v[2], &raw, 1, &f.allocator),
        };
        assert_true(f.calls > 0);
        for (int i = 0; i < 3; i++) {
            assert_true(status[i] == RELAX_OK ||
                        (fail_at && status[i] == RELAX_ERROR_OUT_OF_MEMORY));
            relax_value_release(&v[i]);
        }
        assert_true(!f.live && !f.blocks);
    }
    relax_allocator odd = { .struct_size = sizeof odd };
    relax_value v;
    assert_int_equal(relax_value_set_string(&v, "a", 1, &odd), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(v.type_index, RELAX_VALUE_NONE);
}

/* Storages that are a little larger in each call: what smaller ones had is given back, few are made, and once sizes stay, none.
 * What dies in a call is there for the next one, whatever its size. */
static void pools_follow_sizes(void **state)
{
    enum { FIRST = 100000, STEP = 500, CALLS = 600 };
    failing f;
    rlx_memory probe;
    rlx_pool p = { 0 };
    failing_init(&f, &probe, 0);
    rlx_shared_memory *memory = rlx_shared_memory_create(&f.allocator, SIZE_MAX);
    assert_true(memory && rlx_pool_init(&p, memory));
    size_t calls = 0;
    for (size_t i = 0; i < CALLS + 10; i++) {
        size_t size = FIRST + STEP * (i < CALLS ? i : CALLS);
        relax_value v[2];
        p.calls++;
        p.live_bytes = p.peak_bytes = 0;
        for (int k = 0; k < 2; k++) {
            rlx_storage *s = rlx_storage_create(&p, size / (size_t)(k + 1), NULL);
            assert_non_null(s);
            memset(s->data, k, s->size);
            v[k] = (relax_value){ .type_index = RELAX_VALUE_OBJECT, .v.p = s };
        }
        assert_true(p.peak_bytes >= size + size / 2 && p.peak_bytes < size + size / 2 + 128);
        rlx_pool_drop(&p, &v[1]);
        rlx_pool_drop(&p, &v[0]);
        assert_true(p.kept_bytes < 3 * size);
        if (i == CALLS)
            calls = f.calls;
    }
    assert_int_equal(f.calls, calls);
    assert_true(calls < 60);
    rlx_pool_free(&p);
    rlx_shared_memory_release(memory);
    assert_true(!f.live && !f.blocks);
}

/* A call of two sites, and what it leaves in the pool. */
static size_t call_two_sites(rlx_pool *p, const int *sites, size_t size)
{
    relax_value v[2];
    p->calls++;
    p->live_bytes = p->peak_bytes = 0;
    for (int k = 0; k < 2; k++) {
        size_t bytes = k ? size * 3 / 2 : size;
        rlx_storage *s = rlx_storage_create(p, bytes, &sites[k]);
        assert_true(s && s->size == bytes && s->capacity >= bytes);
        memset(s->data, k, 100);
        v[k] = (relax_value){ .type_index = RELAX_VALUE_OBJECT, .v.p = s };
    }
    rlx_pool_drop(p, &v[1]);
    rlx_pool_drop(p, &v[0]);
    return p->kept_bytes;
}

/* Two sites whose sizes go up and down, by different factors: each keeps its own, which is somewhat larger than the largest it asked
 * for, and sizes that come again ask for nothing. A call beyond RLX_POOL_KEEP is kept what it had, until a smaller one ends. */
static void sites_keep_their_own(void **state)
{
    static const size_t sizes[] = { 1000, 40000, 3000, 90000, 200, 70000, 100000 }, large = (size_t)30 << 20;
    failing f;
    rlx_memory probe;
    rlx_pool p = { 0 };
    int sites[2];
    failing_init(&f, &probe, 0);
    rlx_shared_memory *memory = rlx_shared_memory_create(&f.allocator, SIZE_MAX);
    assert_true(memory && rlx_pool_init(&p, memory));
    size_t calls = 0;
    for (size_t i = 0; i < 5 * RLX_COUNT(sizes); i++) {
        assert_true(call_two_sites(&p, sites, sizes[i % RLX_COUNT(sizes)]) < 100000 * 5 / 2 * 5 / 4 + 1000);
        if (i + 1 == RLX_COUNT(sizes))
            calls = f.calls;
    }
    assert_int_equal(f.calls, calls);
    assert_true(call_two_sites(&p, sites, large) > RLX_POOL_KEEP);
    calls = f.calls;
    assert_true(call_two_sites(&p, sites, large) > RLX_POOL_KEEP);
    assert_int_equal(f.calls, calls);
    assert_true(call_two_sites(&p, sites, 1000) <= RLX_POOL_KEEP);
    rlx_pool_free(&p);
    rlx_shared_memory_release(memory);
    assert_true(!f.live && !f.blocks);
}

/* ---- values --------------------------------------------------------------------------------- */

static void plain_values(void **state)
{
    relax_value v;
    int64_t i;
    int32_t b;
    double f;
    relax_value_set_int(&v, -5);
    assert_int_equal(relax_value_kind(&v), RELAX_VALUE_KIND_INT);
    assert_int_equal(relax_value_get_int(&v, &i), RELAX_OK);
    assert_true(i == -5);
    assert_int_equal(relax_value_get_float(&v, &f), RELAX_OK);
    assert_true(f == -5.0);
    assert_int_equal(relax_value_get_bool(&v, &b), RELAX_ERROR_INVALID_ARGUMENT);
    relax_value_set_bool(&v, 7);
    assert_int_equal(relax_value_get_bool(&v, &b), RELAX_OK);
    assert_int_equal(b, 1);
    assert_int_equal(relax_value_get_int(&v, &i), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_value_kind(NULL), RELAX_VALUE_KIND_NULL);
    v.type_index = 40;
    assert_int_equal(relax_value_kind(&v), RELAX_VALUE_KIND_OTHER);
    v.type_index = 1000;
    v.v.p = NULL;
    assert_int_equal(relax_value_kind(&v), RELAX_VALUE_KIND_OTHER);
    v.type_index = RELAX_VALUE_SMALL_STRING;
    v.reserved = 2;
    memcpy(v.v.bytes, "hi", 3);
    const char *s;
    size_t len;
    assert_int_equal(relax_value_get_string(&v, &s, &len), RELAX_OK);
    assert_true(len == 2 && memcmp(s, "hi", 2) == 0);
}

static void deep_tuples_go_without_recursion(void **state)
{
    relax_value v, inner;
    relax_value_set_int(&v, 1);
    for (int i = 0; i < 200000; i++) {
        inner = v;
        assert_int_equal(relax_value_set_tuple(&v, &inner, 1, NULL), RELAX_OK);
        relax_value_release(&inner);
    }
    assert_int_equal(relax_value_tuple_size(&v), 1);
    assert_int_equal(relax_value_tuple_get(&v, 1, &inner), RELAX_ERROR_INVALID_ARGUMENT);
    relax_value_release(&v);
    assert_int_equal(relax_value_kind(&v), RELAX_VALUE_KIND_NULL);
}

/* A cell of a boxed kind with nothing in it is let go, but not kept: nobody could count it. */
static void cells_without_an_object(void **state)
{
    static const int32_t types[] = { RELAX_VALUE_OBJECT, RELAX_VALUE_STRING, RELAX_VALUE_FUNCTION,
                                     RELAX_VALUE_SHAPE, RELAX_VALUE_TENSOR };
    for (size_t i = 0; i < RLX_COUNT(types); i++) {
        relax_value empty = { types[i], 0, { 0 } }, kept = empty, tuple = empty;
        assert_int_equal(relax_value_keep(&empty, &kept), RELAX_ERROR_INVALID_ARGUMENT);
        assert_int_equal(relax_value_kind(&kept), RELAX_VALUE_KIND_NULL);
        assert_int_equal(relax_value_set_tuple(&tuple, &empty, 1, NULL),
                         RELAX_ERROR_INVALID_ARGUMENT);
        assert_int_equal(relax_value_kind(&tuple), RELAX_VALUE_KIND_NULL);
        relax_value_retain(&empty);
        relax_value_release(&empty);
    }
}

static void counts(void *user) { ++*(int *)user; }
static int answer(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    relax_value_set_int(result, *(int *)self + n);
    return 0;
}

static void functions_end_once(void **state)
{
    int user = 40;
    relax_value v, r;
    relax_packed_func *f = relax_packed_func_create(answer, &user, counts);
    relax_value_set_packed_func(&v, f);
    relax_packed_func_release(f);
    assert_ptr_equal(relax_value_get_packed_func(&v), f);
    relax_value args[2] = { v, v };
    assert_int_equal(relax_packed_func_call(f, args, 2, &r), 0);
    assert_int_equal(r.v.i, 42);
    relax_value_release(&v);
    assert_int_equal(user, 41);
    assert_null(relax_packed_func_create(NULL, &user, counts));
    assert_int_equal(user, 42);
    relax_registry *reg;
    assert_int_equal(relax_registry_create(NULL, &reg, NULL), RELAX_OK);
    assert_int_equal(relax_registry_register(reg, "a", 1, answer, &user, counts, NULL), RELAX_OK);
    assert_int_equal(relax_registry_register(reg, "a", 1, answer, &user, counts, NULL), RELAX_OK);
    assert_int_equal(user, 43); /* the first one is replaced */
    assert_int_equal(relax_registry_register(reg, "\xff", 1, answer, &user, counts, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(user, 44);
    assert_non_null(relax_registry_find(reg, "a", 1));
    assert_null(relax_registry_find(reg, "b", 1));
    relax_registry_release(reg);
    assert_int_equal(user, 45);
}

/* ---- tensors -------------------------------------------------------------------------------- */

static void tensors_check_what_they_are_made_of(void **state)
{
    relax_tensor *t;
    relax_error *err;
    int64_t negative[] = { 2, -1 }, huge[] = { INT64_MAX, 3 },
            none[] = { INT64_MAX, 0, INT64_MAX };
    int32_t data[4] = { 1, 2, 3, 4 };
    int ended = 0;
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, negative, 2, NULL, &t, &err),
                     RELAX_ERROR_RUNTIME);
    assert_string_equal(relax_error_code(err), "RT05");
    relax_error_release(err);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, huge, 2, NULL, &t, NULL),
                     RELAX_ERROR_OUT_OF_MEMORY);
    assert_int_equal(relax_tensor_create(RELAX_HANDLE, NULL, 0, NULL, &t, NULL),
                     RELAX_ERROR_UNSUPPORTED);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, NULL, 2, NULL, &t, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, huge, 65, NULL, &t, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(t);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, none, 3, NULL, &t, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_bytes(t), 0);
    assert_null(relax_tensor_data(t));
    relax_tensor_release(t);
    int64_t three = 3;
    assert_int_equal(relax_tensor_from_memory(RELAX_INT32, &three, 1, (char *)data + 1, &ended,
                                              counts, &t, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(ended, 1);
    assert_int_equal(
        relax_tensor_from_memory(RELAX_INT32, &three, 1, data, &ended, counts, &t, NULL),
        RELAX_OK);
    int32_t out[3];
    assert_int_equal(relax_tensor_copy_out(t, out, sizeof out), RELAX_OK);
    assert_int_equal(out[2], 3);
    assert_int_equal(relax_tensor_copy_out(t, out, 8), RELAX_ERROR_INVALID_ARGUMENT);
    relax_tensor_release(t);
    assert_int_equal(ended, 2);
}

typedef struct lender {
    struct DLManagedTensorVersioned m;
    int64_t shape[2], strides[2];
    float data[6];
    int ended;
} lender;
static void end_lender(struct DLManagedTensorVersioned *self)
{
    ((lender *)self->manager_ctx)->ended++;
}
static lender lend(void)
{
    return (
        lender){ .m = { .version = { 1, 1 },
                        .deleter = end_lender,
                        .dl_tensor = { .device = { 1, 0 }, .ndim = 2, .dtype = { 2, 32, 1 } } },
                 .shape = { 2, 3 },
                 .strides = { 3, 1 },
                 .data = { 0, 1, 2, 3, 4, 5 } };
}
static void point(lender *l)
{
    l->m.manager_ctx = l;
    l->m.dl_tensor.data = l->data;
    l->m.dl_tensor.shape = l->shape;
    l->m.dl_tensor.strides = l->strides;
}

static void imports_without_a_copy(void **state)
{
    lender l = lend();
    relax_tensor *t;
    point(&l);
    assert_int_equal(relax_tensor_from_dlpack(&l.m, &t, NULL), RELAX_OK);
    assert_ptr_equal(relax_tensor_data(t), l.data);
    assert_int_equal(relax_tensor_is_read_only(t), 0);
    struct DLManagedTensorVersioned *back;
    assert_int_equal(relax_tensor_to_dlpack(t, &back, NULL), RELAX_OK);
    relax_tensor_release(t);
    assert_int_equal(l.ended, 0);
    assert_ptr_equal(back->dl_tensor.data, l.data);
    assert_true(back->dl_tensor.strides[0] == 3 && back->dl_tensor.strides[1] == 1);
    back->deleter(back);
    assert_int_equal(l.ended, 1);
}

/* Where there is no element it does not matter how far apart they are, nor that sizes overflow. */
static void imports_nothing_of_any_size(void **state)
{
    static const int64_t shapes[][3] = { { 0, (int64_t)1 << 40, (int64_t)1 << 40 },
                                         { (int64_t)1 << 40, (int64_t)1 << 40, 0 },
                                         { 0, 3, 2 } };
    for (size_t i = 0; i < RLX_COUNT(shapes); i++) {
        int64_t shape[3], strides[] = { 7, 5, 3 };
        lender l = lend();
        relax_tensor *t;
        point(&l);
        memcpy(shape, shapes[i], sizeof shape);
        l.m.dl_tensor.shape = shape;
        l.m.dl_tensor.strides = strides;
        l.m.dl_tensor.ndim = 3;
        assert_int_equal(relax_tensor_from_dlpack(&l.m, &t, NULL), RELAX_OK);
        assert_int_equal(relax_tensor_bytes(t), 0);
        assert_null(relax_tensor_data(t));
        relax_tensor_release(t);
        assert_int_equal(l.ended, 1);
    }
}

static void refuses_what_it_cannot_share(void **state)
{
    for (int way = 0; way < 7; way++) {
        lender l = lend();
        relax_tensor *t;
        relax_error *err = NULL;
        point(&l);
        switch (way) {
        case 0: l.m.version.major = 2; break;
        case 1: l.m.dl_tensor.device.device_type = 2; break;
        case 2: l.strides[0] = 4; break;
        case 3: l.shape[1] = -3; break;
        case 4: l.m.dl_tensor.dtype.code = 5; break;
        case 5: l.m.dl_tensor.byte_offset = 2; break;
        default: l.m.dl_tensor.data = NULL;
        }
        assert_int_not_equal(relax_tensor_from_dlpack(&l.m, &t, &err), RELAX_OK);
        assert_null(t);
        assert_int_equal(l.ended, 1);
        assert_true(relax_error_message(err, NULL)[0] != 0);
        relax_error_release(err);
    }
}

/* The codes are DLPack's. */
static void narrow_floats_cross_the_border(void **state)
{
    static const struct { uint8_t code, bits; relax_dtype dtype;
    } rows[] = {
        { 2, 16, RELAX_FLOAT16 },
        { 4, 16, RELAX_BFLOAT16 },
        { 10, 8, RELAX_FLOAT8_E4M3FN },
        { 12, 8, RELAX_FLOAT8_E5M2 },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        lender l = lend();
        relax_tensor *t;
        struct DLManagedTensorVersioned *back;
        point(&l);
        l.m.dl_tensor.dtype = (DLDataType){ rows[i].code, rows[i].bits, 1 };
        assert_int_equal(relax_tensor_from_dlpack(&l.m, &t, NULL), RELAX_OK);
        assert_int_equal(relax_tensor_dtype(t), rows[i].dtype);
        assert_int_equal(relax_tensor_bytes(t), 6 * rows[i].bits / 8);
        assert_int_equal(relax_tensor_to_dlpack(t, &back, NULL), RELAX_OK);
        relax_tensor_release(t);
        assert_int_equal(back->dl_tensor.dtype.code, rows[i].code);
        assert_int_equal(back->dl_tensor.dtype.bits, rows[i].bits);
        back->deleter(back);
        assert_int_equal(l.ended, 1);
    }
}

static void bools_and_read_only_cross_the_border(void **state)
{
    lender l = lend();
    relax_tensor *t;
    point(&l);
    l.m.dl_tensor.dtype = (DLDataType){ 6, 8, 1 };
    l.m.dl_tensor.strides = NULL;
    l.m.flags = 1;
    assert_int_equal(relax_tensor_from_dlpack(&l.m, &t, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_dtype(t), RELAX_BOOL);
    assert_int_equal(relax_tensor_is_read_only(t), 1);
    assert_int_equal(relax_tensor_copy_in(t, l.data, 6), RELAX_ERROR_INVALID_ARGUMENT);
    DLManagedTensor *old;
    assert_int_equal(relax_tensor_to_dlpack_legacy(t, &old, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    struct DLManagedTensorVersioned *back;
    assert_int_equal(relax_tensor_to_dlpack(t, &back, NULL), RELAX_OK);
    assert_int_equal(back->flags & 1, 1);
    assert_int_equal(back->dl_tensor.dtype.code, 6);
    assert_non_null(back->dl_tensor.strides);
    back->deleter(back);
    relax_tensor_release(t);
    assert_int_equal(relax_tensor_create(RELAX_BOOL, l.shape, 2, NULL, &t, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_to_dlpack_legacy(t, &old, NULL), RELAX_OK);
    relax_tensor_release(t);
    assert_int_equal(old->dl_tensor.dtype.code, 6);
    relax_tensor *again;
    assert_int_equal(relax_tensor_from_dlpack_legacy(old, &again, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_dtype(again), RELAX_BOOL);
    relax_tensor_release(again);
}

/* A tensor of ours is known again from its DLTensor alone; others are not mistaken for one. */
static void finds_its_tensors_again(void **state)
{
    relax_tensor *t;
    relax_value view = { RELAX_VALUE_TENSOR_VIEW, 0, { 0 } }, kept;
    lender l = lend();
    point(&l);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, l.shape, 2, NULL, &t, NULL), RELAX_OK);
    view.v.p = (void *)(uintptr_t)relax_tensor_view(t);
    assert_ptr_equal(relax_value_get_tensor(&view), t);
    assert_int_equal(relax_value_keep(&view, &kept), RELAX_OK);
    relax_tensor_release(t);
    assert_int_equal(relax_tensor_ndim(relax_value_get_tensor(&kept)), 2);
    relax_value_release(&kept);
    view.v.p = &l.m.dl_tensor;
    assert_null(relax_value_get_tensor(&view));
    assert_int_equal(relax_value_keep(&view, &kept), RELAX_ERROR_INVALID_ARGUMENT);
}

static void survives_failed_allocations(void **state)
{
    for (size_t n = 1;; n++) {
        failing f;
        rlx_memory unused;
        failing_init(&f, &unused, n);
        relax_tensor_options o;
        relax_tensor_options_init(&o, sizeof o);
        o.allocator = &f.allocator;
        relax_tensor *t = NULL;
        relax_error *err = NULL;
        struct DLManagedTensorVersioned *m = NULL;
        int64_t dim = 8;
        relax_status s = relax_tensor_create(RELAX_FLOAT32, &dim, 1, &o, &t, &err);
        if (s == RELAX_OK)
            s = relax_tensor_to_dlpack(t, &m, &err);
        if (s != RELAX_OK)
            assert_int_equal(relax_error_status(err), RELAX_ERROR_OUT_OF_MEMORY);
        if (m)
            m->deleter(m);
        relax_tensor_release(t);
        relax_error_release(err);
        assert_int_equal(f.blocks, 0);
        if (s == RELAX_OK)
            break;
    }
}

static void options_may_be_shorter_or_longer(void **state)
{
    struct { relax_load_options o; uint64_t more; } longer;
    relax_executable *exe;
    relax_error *err;
    relax_load_options_init(&longer.o, sizeof longer);
    assert_int_equal(relax_executable_load("x", 1, &longer.o, &exe, &err), RELAX_ERROR_LOAD);
    assert_string_equal(relax_error_code(err), "LD01");
    relax_error_release(err);
    longer.more = 1;
    assert_int_equal(relax_executable_load("x", 1, &longer.o, &exe, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    size_t shorter = sizeof(size_t);
    assert_int_equal(
        relax_executable_load("x", 1, (relax_load_options *)(void *)&shorter, &exe, NULL),
        RELAX_ERROR_LOAD);
    shorter = 1;
    assert_int_equal(
        relax_executable_load("x", 1, (relax_load_options *)(void *)&shorter, &exe, NULL),
        RELAX_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_those_of_tvm_ffi),
        cmocka_unit_test(foreign_hosts_can_count_our_objects),
        cmocka_unit_test(memory_comes_from_the_allocator),
        cmocka_unit_test(pools_follow_sizes),
        cmocka_unit_test(sites_keep_their_own),
        cmocka_unit_test(plain_values),
        cmocka_unit_test(deep_tuples_go_without_recursion),
        cmocka_unit_test(cells_without_an_object),
        cmocka_unit_test(functions_end_once),
        cmocka_unit_test(tensors_check_what_they_are_made_of),
        cmocka_unit_test(imports_without_a_copy),
        cmocka_unit_test(imports_nothing_of_any_size),
        cmocka_unit_test(refuses_what_it_cannot_share),
        cmocka_unit_test(narrow_floats_cross_the_border),
        cmocka_unit_test(bools_and_read_only_cross_the_border),
        cmocka_unit_test(finds_its_tensors_again),
        cmocka_unit_test(survives_failed_allocations),
        cmocka_unit_test(options_may_be_shorter_or_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
