/* random_host.c: see the header. */
#include "random_host.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random_program.h"

#define Z(s) (s), strlen(s)
#define N(array) (sizeof(array) / sizeof(array)[0])

/* ---- what is seen of a run ------------------------------------------------------------------ */

static void put(random_seen *b, const void *data, size_t len)
{
    if (b->len + len > b->cap)
        b->data = realloc(b->data, b->cap = 2 * (b->len + len));
    if (len) /* tensors without elements have no data */
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

static relax_dtype dtype_of(const char *name)
{
    relax_dtype dtype;
    assert_int_equal(relax_dtype_parse(Z(name), &dtype), RELAX_OK);
    return dtype;
}

/* One NaN is as good as another. */
static void put_tensor(random_seen *b, relax_tensor *t)
{
    relax_dtype dtype = relax_tensor_dtype(t);
    size_t size = relax_tensor_bytes(t), start;
    put(b, &dtype, sizeof dtype);
    put(b, relax_tensor_shape(t), (size_t)relax_tensor_ndim(t) * sizeof(int64_t));
    start = b->len;
    put(b, relax_tensor_data(t), size);
    if (dtype != dtype_of("float32"))
        return;
    for (size_t i = start; i + 4 <= b->len; i += 4) {
        float f;
        memcpy(&f, b->data + i, 4);
        if (f != f)
            memset(b->data + i, 0xff, 4);
    }
}

/* Depth first; nothing random_program returns nests deeper than its own text. */
void random_see(random_seen *b, const relax_value *v)
{
    int32_t kind = relax_value_kind(v);
    const int64_t *dims;
    size_t ndim;
    int64_t number;
    int32_t truth;
    relax_value field;
    put(b, &kind, sizeof kind);
    if (kind == RELAX_VALUE_KIND_TENSOR)
        put_tensor(b, relax_value_get_tensor(v));
    else if (kind == RELAX_VALUE_KIND_INT && relax_value_get_int(v, &number) == RELAX_OK)
        put(b, &number, sizeof number);
    else if (kind == RELAX_VALUE_KIND_BOOL && relax_value_get_bool(v, &truth) == RELAX_OK)
        put(b, &truth, sizeof truth);
    else if (kind == RELAX_VALUE_KIND_SHAPE && relax_value_get_shape(v, &dims, &ndim) == RELAX_OK)
        put(b, dims, ndim * sizeof *dims);
    size_t fields = relax_value_tuple_size(v);
    for (size_t i = 0; fields != RELAX_NOT_FOUND && i < fields; i++)
        if (relax_value_tuple_get(v, i, &field) == RELAX_OK)
            random_see(b, &field);
}

/* ---- the host ------------------------------------------------------------------------------- */

enum { LONG = 5 };

static relax_tensor *new_tensor(const char *dtype, int64_t rows, int64_t columns)
{
    relax_tensor *t = NULL;
    int64_t shape[2] = { rows, columns };
    assert_int_equal(relax_tensor_create(dtype_of(dtype), shape, columns ? 2 : 1, NULL, &t, NULL),
                     RELAX_OK);
    return t;
}

static int host_dps(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_tensor *from = relax_value_get_tensor(&args[0]),
                 *to = relax_value_get_tensor(&args[num_args - 1]);
    (void)user;
    relax_value_set_null(result);
    if (relax_tensor_bytes(to))
        memcpy(relax_tensor_data(to), relax_tensor_data(from), relax_tensor_bytes(to));
    return 0;
}

static int host_same(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user;
    (void)num_args;
    return relax_value_keep(&args[0], result) == RELAX_OK ? 0 : -1;
}

static int host_impure(void *user, const relax_value *args, int32_t num_args,
                       relax_value *result)
{
    random_host *h = user;
    for (int32_t i = 0; i < num_args; i++)
        random_see(&h->seen, &args[i]);
    return host_same(user, args, num_args, result);
}

static int host_any(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    random_host *h = user;
    (void)args;
    (void)num_args;
    return relax_value_keep(&h->x, result) == RELAX_OK ? 0 : -1;
}

/* Adds 1 to what is of float32, where it lies. */
static int host_own(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_tensor *t = relax_value_get_tensor(&args[0]);
    float *data = relax_tensor_data(t);
    for (size_t i = 0; relax_tensor_dtype(t) == RELAX_FLOAT32 && i < relax_tensor_bytes(t) / 4; i++)
        data[i] += 1;
    return host_same(user, args, num_args, result);
}

static int host_bump(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    random_host *h = user;
    int code = host_own(user, args, num_args, result);
    random_see(&h->seen, &args[0]);
    return code;
}

static int host_fail(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    host_impure(user, args, num_args, result);
    relax_value_release(result);
    return relax_value_set_error(result, "", 0, "on purpose", 10);
}

static int host_print(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_value_set_null(result);
    random_host *h = user;
    for (int32_t i = 0; i < num_args; i++)
        random_see(&h->seen, &args[i]);
    return 0;
}

relax_registry *random_host_registry(random_host *h)
{
    static const struct { const char *name; relax_packed_fn fn; } rows[] = {
        { "host.dps", host_dps }, { "host.same", host_same }, { "host.impure", host_impure },
        { "host.any", host_any }, { "host.bump", host_bump }, { "host.own", host_own },
        { "host.fail", host_fail },
        { "relax.run.print", host_print },
    };
    relax_registry *r = NULL;
    assert_int_equal(relax_registry_create(NULL, &r, NULL), RELAX_OK);
    for (size_t i = 0; i < N(rows); i++)
        assert_int_equal(relax_registry_register(r, Z(rows[i].name), rows[i].fn, h, NULL, NULL),
                         RELAX_OK);
    return r;
}

/* ---- arguments of main ---------------------------------------------------------------------- */

static void set_tensor(relax_value *out, relax_tensor *t)
{
    relax_value_set_tensor(out, t);
    relax_tensor_release(t);
}

static relax_tensor *some_floats(uint64_t *state, int64_t rows, int64_t columns)
{
    static const float odd[] = { -0.0f, 0.0f, 1e30f, -1e-40f, 3.5f, -2.0f };
    relax_tensor *t = new_tensor("float32", rows, columns);
    float *data = relax_tensor_data(t);
    for (int64_t i = 0; i < rows * (columns ? columns : 1); i++)
        data[i] = random_roll(state, 4) ? (float)((int)random_roll(state, 64) - 32) / 8
                                        : odd[random_roll(state, N(odd))];
    return t;
}

void random_host_args(uint64_t seed, int64_t n, int shared, relax_value *args)
{
    uint64_t state = seed;
    int64_t dims[2] = { LONG, n };
    relax_value pair[2];
    relax_tensor *y = new_tensor("int32", LONG, 0);
    relax_packed_func *same = relax_packed_func_create(host_same, NULL, NULL);
    for (int i = 0; i < LONG; i++)
        ((int32_t *)relax_tensor_data(y))[i] = (int32_t)random_roll(&state, 100) - 50;
    set_tensor(&args[0], some_floats(&state, n, 4));
    set_tensor(&args[1], y);
    set_tensor(&args[2], some_floats(&state, n, 4));
    if (shared & 1) {
        relax_value_release(&args[2]);
        args[2] = args[0];
        relax_value_retain(&args[2]);
    }
    assert_int_equal(relax_value_set_shape(&args[3], dims, 2, NULL), RELAX_OK);
    relax_value_set_int(&args[4], 7);
    if (shared & 2) {
        pair[0] = args[0];
        relax_value_retain(&pair[0]);
    } else {
        set_tensor(&pair[0], some_floats(&state, n, 4));
    }
    set_tensor(&pair[1], some_floats(&state, 2 * n, 0));
    assert_int_equal(relax_value_set_tuple(&args[5], pair, 2, NULL), RELAX_OK);
    relax_value_release(&pair[0]);
    relax_value_release(&pair[1]);
    relax_value_set_packed_func(&args[6], same);
    relax_packed_func_release(same);
}
