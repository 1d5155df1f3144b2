/*- replay.c: calls that another machine has recorded (RELAX_TAPE of test/ffi/relax_run.py), by librelax-runtime.a alone. Not a suite:
 * check_run_aarch64.sh builds and judges it.
 *
 *     replay TAPE INSTRUCTION_SET:THREADS...
 *
 * Each call has to give the bits that were recorded, NaN whatever NaN there was, with every instruction set. Numbers of float64 may be a
 * little off, as functions of it are those of libm. A tape is words of 64 bits, and bytes that words count:
 *
 *     1  size, program          what the calls behind it are of
 *     2  size, name of a function, count, arguments, count, tensors that were its result
 *
 * A value is 0, dtype, ndim, sizes, bytes, elements; 1, count, fields of a tuple; or 2, ndim, sizes of a shape.
 */
#include <relax/vm.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WAYS = 8, MOST_VALUES = 64, MOST_NAME = 64, MOST_DIMS = 16 };

typedef struct way { const char *text; char set[MOST_NAME]; uint64_t threads; relax_vm *vm; } way;
typedef struct tape { unsigned char *at, *end; } tape;
static size_t passed, failed, left_out;

static void stop(const char *what)
{
    fprintf(stderr, "replay: %s\n", what);
    exit(2);
}

static const void *take_bytes(tape *t, uint64_t n)
{
    if ((uint64_t)(t->end - t->at) < n)
        stop("the tape is too short");
    t->at += n;
    return t->at - n;
}

static uint64_t take(tape *t)
{
    uint64_t word;
    memcpy(&word, take_bytes(t, sizeof word), sizeof word);
    return word;
}

static uint64_t take_below(tape *t, uint64_t most)
{
    uint64_t n = take(t);
    if (n > most)
        stop("the tape holds more than expected");
    return n;
}

static void take_dims(tape *t, int64_t *dims, size_t *ndim)
{
    *ndim = (size_t)take_below(t, MOST_DIMS);
    for (size_t i = 0; i < *ndim; i++)
        dims[i] = (int64_t)take(t);
}

static relax_tensor *take_tensor(tape *t)
{
    int64_t dims[MOST_DIMS];
    size_t ndim;
    relax_tensor *tensor = NULL;
    relax_dtype dtype = (relax_dtype)take(t);
    take_dims(t, dims, &ndim);
    uint64_t bytes = take(t);
    if (relax_tensor_create(dtype, dims, ndim, NULL, &tensor, NULL) || relax_tensor_bytes(tensor) != bytes)
        stop("no such tensor");
    memcpy(relax_tensor_data(tensor), take_bytes(t, bytes), bytes);
    return tensor;
}

static void take_values(tape *t, relax_value *values, size_t count);
static void take_value(tape *t, relax_value *value)
{
    relax_value fields[MOST_VALUES];
    int64_t dims[MOST_DIMS];
    size_t n;
    switch (take(t)) {
    case 0: {
        relax_tensor *tensor = take_tensor(t);
        relax_value_set_tensor(value, tensor);
        relax_tensor_release(tensor);
        return;
    }
    case 1:
        n = (size_t)take_below(t, MOST_VALUES);
        take_values(t, fields, n);
        if (relax_value_set_tuple(value, fields, n, NULL))
            stop("no tuple");
        while (n > 0)
            relax_value_release(&fields[--n]);
        return;
    default:
        take_dims(t, dims, &n);
        if (relax_value_set_shape(value, dims, n, NULL))
            stop("no shape");
    }
}

static void take_values(tape *t, relax_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        take_value(t, &values[i]);
}

/* ---- results -------------------------------------------------------------------------------- */

static uint64_t element(const unsigned char *p, size_t bytes, size_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, p + i * bytes, bytes);
    return bits;
}

/* Bits above which it is no number, the sign left out; 0: an integer. */
static uint64_t greatest_number(relax_dtype dtype)
{
    switch (dtype) {
    case RELAX_FLOAT64: return 0x7ff0000000000000u;
    case RELAX_FLOAT32: return 0x7f800000u;
    case RELAX_FLOAT16: return 0x7c00u;
    case RELAX_BFLOAT16: return 0x7f80u;
    case RELAX_FLOAT8_E4M3FN: return 0x7eu;
    case RELAX_FLOAT8_E5M2: return 0x7cu;
    default: return 0;
    }
}

static bool is_same(relax_dtype dtype, size_t bytes, uint64_t got, uint64_t want)
{
    const uint64_t most = greatest_number(dtype), magnitude = ((uint64_t)1 << (8 * bytes - 1)) - 1;
    if (got == want || (most && (got & magnitude) > most && (want & magnitude) > most))
        return true;
    if (dtype != RELAX_FLOAT64)
        return false;
    double x, y;
    memcpy(&x, &got, sizeof x);
    memcpy(&y, &want, sizeof y);
    return fabs(x - y) <= 1e-13 * fabs(y);
}

static bool is_result(const relax_tensor *got, const relax_tensor *want)
{
    const int32_t ndim = relax_tensor_ndim(want);
    const size_t bytes = relax_tensor_bytes(want);
    if (relax_tensor_dtype(got) != relax_tensor_dtype(want) || relax_tensor_ndim(got) != ndim || relax_tensor_bytes(got) != bytes)
        return false;
    size_t count = 1;
    for (int32_t i = 0; i < ndim; i++) {
        if (relax_tensor_shape(got)[i] != relax_tensor_shape(want)[i])
            return false;
        count *= (size_t)relax_tensor_shape(want)[i];
    }
    const unsigned char *p = relax_tensor_data(got), *q = relax_tensor_data(want);
    for (size_t i = 0; i < count; i++)
        if (!is_same(relax_tensor_dtype(want), bytes / count, element(p, bytes / count, i), element(q, bytes / count, i)))
            return false;
    return true;
}

/* Tensors depth first; those that there are too many of are counted alone. */
static void flatten(const relax_value *value, const relax_tensor **found, size_t *count)
{
    if (relax_value_kind(value) == RELAX_VALUE_KIND_TENSOR) {
        if (*count < MOST_VALUES)
            found[*count] = relax_value_get_tensor(value);
        ++*count;
    }
    for (size_t i = 0; relax_value_kind(value) == RELAX_VALUE_KIND_TUPLE && i < relax_value_tuple_size(value); i++) {
        relax_value field = { 0 };
        relax_value_tuple_get(value, i, &field);
        flatten(&field, found, count);
    }
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void replay_call(way *w, const char *name, const relax_value *args, size_t num_args, const relax_value *want, size_t num_want)
{
    relax_value result = { 0 };
    relax_error *error = NULL;
    const relax_tensor *got[MOST_VALUES];
    size_t count = 0;
    bool ok = relax_vm_call(w->vm, name, strlen(name), args, num_args, &result, &error) == RELAX_OK;
    if (!ok && strcmp(relax_error_code(error), "RT22") == 0) { /* it would have to be compiled here */
        relax_error_release(error);
        left_out++;
        return;
    }
    if (ok)
        flatten(&result, got, &count);
    else
        printf("%s: %s: error[%s]: %s\n", w->text, name, relax_error_code(error), relax_error_message(error, NULL));
    ok = ok && count == num_want;
    for (size_t i = 0; ok && i < num_want; i++)
        ok = is_result(got[i], relax_value_get_tensor(&want[i]));
    if (!ok)
        printf("%s: %s: other results, call %zu\n", w->text, name, passed + failed);
    ok ? passed++ : failed++;
    relax_error_release(error);
    relax_value_release(&result);
}

static void replay_calls(tape *t, way *ways, size_t num_ways)
{
    relax_value args[MOST_VALUES], want[MOST_VALUES];
    char name[MOST_NAME + 1] = "";
    size_t size = (size_t)take_below(t, MOST_NAME);
    memcpy(name, take_bytes(t, size), size);
    size_t num_args = (size_t)take_below(t, MOST_VALUES);
    take_values(t, args, num_args);
    size_t num_want = (size_t)take_below(t, MOST_VALUES);
    take_values(t, want, num_want);
    for (size_t i = 0; i < num_ways; i++)
        replay_call(&ways[i], name, args, num_args, want, num_want);
    while (num_args > 0)
        relax_value_release(&args[--num_args]);
    while (num_want > 0)
        relax_value_release(&want[--num_want]);
}

static void load(tape *t, way *ways, size_t num_ways)
{
    relax_executable *executable = NULL;
    relax_error *error = NULL;
    uint64_t size = take(t);
    if (relax_executable_load(take_bytes(t, size), (size_t)size, NULL, &executable, &error))
        stop(relax_error_message(error, NULL));
    for (size_t i = 0; i < num_ways; i++) {
        relax_vm_options options;
        relax_vm_options_init(&options, sizeof options);
        options.instruction_set = ways[i].set;
        options.num_threads = ways[i].threads;
        relax_vm_release(ways[i].vm);
        ways[i].vm = NULL;
        if (relax_vm_create(executable, &options, &ways[i].vm, &error))
            stop(relax_error_message(error, NULL));
    }
    relax_executable_release(executable);
}

static tape read_tape(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        stop("no tape");
    long size = ftell(f);
    unsigned char *bytes = size > 0 ? malloc((size_t)size) : NULL;
    rewind(f);
    if (!bytes || fread(bytes, 1, (size_t)size, f) != (size_t)size)
        stop("an empty tape");
    fclose(f);
    return (tape){ bytes, bytes + size };
}

int main(int argc, char **argv)
{
    way ways[MOST_WAYS] = { { 0 } };
    size_t num_ways = 0;
    if (argc < 3 || argc > 2 + MOST_WAYS)
        stop("replay TAPE INSTRUCTION_SET:THREADS...");
    for (; num_ways < (size_t)argc - 2; num_ways++) {
        way *w = &ways[num_ways];
        w->text = argv[2 + num_ways];
        snprintf(w->set, sizeof w->set, "%.*s", (int)strcspn(w->text, ":"), w->text);
        const char *threads = strchr(w->text, ':');
        w->threads = threads ? strtoull(threads + 1, NULL, 10) : 1;
    }
    tape t = read_tape(argv[1]);
    while (t.at < t.end)
        take(&t) == 1 ? load(&t, ways, num_ways) : replay_calls(&t, ways, num_ways);
    printf("%zu calls alike, %zu not, %zu left out\n", passed, failed, left_out);
    return passed == 0 || failed > 0;
}
