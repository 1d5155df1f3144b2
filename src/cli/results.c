/* results.c: what a run returned: a line each, and .npy files. */
#include "cli/cli.h"
#include "base/compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 6 /* first values in a summary */

#define RLX_SHARED static inline
#define MATH(name, ...) __VA_ARGS__
#include "base/half.def"

static double float_at(relax_dtype dtype, const void *p)
{
    switch (dtype) {
#define LOAD(name, C, function)              \
    case RELAX_##name: {                     \
        C element;                           \
        memcpy(&element, p, sizeof element); \
        return (double)function(element);    \
    }
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    LOAD(name, C, rlx_##function##_to_float)
#define REAL(name, elem, text, code, bits, klass, C, greatest, npy) LOAD(name, C, )
#include "base/dtype.def"
    default: return 0;
    }
}

static void put_int(const void *p, int bits, bool is_signed)
{
    uint64_t u = 0;
    memcpy(&u, p, (size_t)bits / 8);
    if (is_signed && bits < 64 && u >> (bits - 1) & 1)
        u |= ~(uint64_t)0 << bits;
    if (is_signed)
        printf("%lld", (long long)(int64_t)u);
    else
        printf("%llu", (unsigned long long)u);
}

static void put_element(relax_dtype dtype, const void *p)
{
    int code = dtype & 0xff, bits = dtype >> 8 & 0xff;
    if (dtype == RELAX_BOOL) {
        fputs(*(const uint8_t *)p ? "True" : "False", stdout);
    } else if (code == RELAX_DTYPE_INT || code == RELAX_DTYPE_UINT) {
        put_int(p, bits, code == RELAX_DTYPE_INT);
    } else {
        printf("%.7g", float_at(dtype, p));
    }
}

static size_t element_count(const relax_tensor *t)
{
    size_t size = relax_dtype_size(relax_tensor_dtype(t));
    return size ? relax_tensor_bytes(t) / size : 0;
}

static void put_tensor(const relax_tensor *t)
{
    char name[32];
    size_t count = element_count(t), size = relax_dtype_size(relax_tensor_dtype(t));
    relax_dtype_name(relax_tensor_dtype(t), name, sizeof name);
    printf("%s (", name);
    for (int32_t i = 0; i < relax_tensor_ndim(t); i++)
        printf("%s%lld", i ? ", " : "", (long long)relax_tensor_shape(t)[i]);
    printf("%s) [", relax_tensor_ndim(t) == 1 ? "," : "");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        if (i)
            fputs(", ", stdout);
        put_element(relax_tensor_dtype(t), (const char *)relax_tensor_data(t) + i * size);
    }
    fputs(count > SHOWN ? ", ...]" : "]", stdout);
}

static void put_shape(const relax_value *v)
{
    const int64_t *dims;
    size_t ndim;
    relax_value_get_shape(v, &dims, &ndim);
    fputs("shape (", stdout);
    for (size_t i = 0; i < ndim; i++)
        printf("%s%lld", i ? ", " : "", (long long)dims[i]);
    fputs(ndim == 1 ? ",)" : ")", stdout);
}

static void put_string(const relax_value *v)
{
    const char *text = "";
    size_t len = 0;
    relax_value_get_string(v, &text, &len);
    char shown[201];
    snprintf(shown, sizeof shown, "%.*s", (int)(len > 200 ? 200 : len), text);
    fputs("string \"", stdout);
    cli_put_text(stdout, shown);
    fputs("\"", stdout);
}

static void put_dtype(const relax_value *v)
{
    char name[32];
    relax_dtype dtype;
    relax_value_get_dtype(v, &dtype);
    relax_dtype_name(dtype, name, sizeof name);
    printf("dtype %s", name);
}

/* One value that is no tuple, as the rest of a line. */
static void put_value(const relax_value *v)
{
    static const char *const names[] = { "null",  "",       "",         "",      "pointer",
                                         "",      "device", "",         "",      "bytes",
                                         "tuple", "",       "function", "error", "object" };
    int32_t kind = relax_value_kind(v);
    switch (kind) {
    case RELAX_VALUE_KIND_INT: printf("int64 () [%lld]", (long long)v->v.i); break;
    case RELAX_VALUE_KIND_BOOL: printf("bool () [%s]", v->v.i ? "True" : "False"); break;
    case RELAX_VALUE_KIND_FLOAT: printf("float64 () [%.7g]", v->v.f); break;
    case RELAX_VALUE_KIND_TENSOR: put_tensor(relax_value_get_tensor(v)); break;
    case RELAX_VALUE_KIND_SHAPE: put_shape(v); break;
    case RELAX_VALUE_KIND_STRING: put_string(v); break;
    case RELAX_VALUE_KIND_DTYPE: put_dtype(v); break;
    default:
        printf("%s", kind >= 0 && kind < RELAX_VALUE_KIND_OTHER ? names[kind] : "object");
        break;
    }
}

/* A value inside of a text: scalars as numbers, strings as they are, tuples by their size. */
static void put_inline(const relax_value *v)
{
    const char *text = "";
    size_t len = 0;
    int32_t kind = relax_value_kind(v);
    const relax_tensor *t = kind == RELAX_VALUE_KIND_TENSOR ? relax_value_get_tensor(v) : NULL;
    if (t && relax_tensor_ndim(t) == 0)
        put_element(relax_tensor_dtype(t), relax_tensor_data(t));
    else if (relax_value_get_string(v, &text, &len) == RELAX_OK)
        printf("%.*s", (int)len, text);
    else if (kind == RELAX_VALUE_KIND_INT)
        printf("%lld", (long long)v->v.i);
    else if (kind == RELAX_VALUE_KIND_BOOL)
        fputs(v->v.i ? "True" : "False", stdout);
    else if (kind == RELAX_VALUE_KIND_FLOAT)
        printf("%.7g", v->v.f);
    else if (kind == RELAX_VALUE_KIND_TUPLE)
        printf("tuple of %zu", relax_value_tuple_size(v));
    else
        put_value(v);
}

size_t cli_put_format(const char *format, size_t len, const relax_value *values, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        bool pair =
            i + 1 < len && (format[i] == '{' || format[i] == '}') && format[i + 1] == format[i];
        bool hole = i + 1 < len && format[i] == '{' && format[i + 1] == '}' && used < count;
        if (hole)
            put_inline(&values[used++]);
        else
            putchar(format[i]);
        i += pair || hole;
    }
    return used;
}

/* Strings and names of dtypes are text, without an end of line of its own. */
static bool write_text(const cli *c, const char *path, const relax_value *v)
{
    char name[32];
    const char *text = name;
    size_t len = 0;
    relax_dtype dtype;
    if (relax_value_get_dtype(v, &dtype) == RELAX_OK) {
        relax_dtype_name(dtype, name, sizeof name);
        len = strlen(name);
    } else if (relax_value_get_string(v, &text, &len) != RELAX_OK) {
        return true; /* other objects are only summarised */
    }
    return cli_write(c, path, NULL, 0, text, len);
}

static bool is_text(const relax_value *v)
{
    return relax_value_kind(v) == RELAX_VALUE_KIND_STRING ||
           relax_value_kind(v) == RELAX_VALUE_KIND_DTYPE;
}

static bool write_value(const cli *c, const char *path, const relax_value *v)
{
    const int64_t *dims;
    size_t ndim;
    uint8_t truth;
    relax_tensor *t;
    switch (relax_value_kind(v)) {
    case RELAX_VALUE_KIND_INT: return cli_npy_write(c, path, RELAX_INT64, NULL, 0, &v->v.i, 8);
    case RELAX_VALUE_KIND_FLOAT: return cli_npy_write(c, path, RELAX_FLOAT64, NULL, 0, &v->v.f, 8);
    case RELAX_VALUE_KIND_BOOL:
        truth = v->v.i != 0;
        return cli_npy_write(c, path, RELAX_BOOL, NULL, 0, &truth, 1);
    case RELAX_VALUE_KIND_SHAPE:
        relax_value_get_shape(v, &dims, &ndim);
        return cli_npy_write(c, path, RELAX_INT64, &(int64_t){ (int64_t)ndim }, 1, dims, ndim * 8);
    case RELAX_VALUE_KIND_TENSOR:
        t = relax_value_get_tensor(v);
        return cli_npy_write(c, path, relax_tensor_dtype(t), relax_tensor_shape(t),
                             relax_tensor_ndim(t), relax_tensor_data(t), relax_tensor_bytes(t));
    default: return write_text(c, path, v);
    }
}

/* Tuples are flattened, depth first, with an explicit stack: they may nest to any depth. A
 * tuple may hold one tuple many times, and that one another: small, but no end of parts. */
#define MAX_PARTS ((size_t)1 << 20)
typedef struct level { relax_value tuple; size_t next; } level;

static bool push(level **stack, size_t *depth, size_t *capacity, const relax_value *tuple)
{
    if (*depth == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 16;
        level *grown = realloc(*stack, more * sizeof *grown);
        if (!grown)
            return false;
        *stack = grown;
        *capacity = more;
    }
    (*stack)[(*depth)++] = (level){ *tuple, 0 };
    return true;
}

static bool next_leaf(level **stack, size_t *depth, size_t *capacity, size_t *parts,
                      relax_value *out, bool *failed)
{
    while (*depth && *parts <= MAX_PARTS) {
        level *top = &(*stack)[*depth - 1];
        size_t size = relax_value_tuple_size(&top->tuple);
        if (size == RELAX_NOT_FOUND) {
            *out = top->tuple;
            --*depth;
            return true;
        }
        relax_value field;
        ++*parts;
        if (top->next == size)
            --*depth;
        else if (relax_value_tuple_get(&top->tuple, top->next++, &field) != RELAX_OK ||
                 !push(stack, depth, capacity, &field))
            return !(*failed = true);
    }
    return false;
}

int cli_each_leaf(const cli *c, const relax_value *value, cli_leaf_fn *leaf_fn, void *user)
{
    level *stack = NULL;
    size_t depth = 0, capacity = 0, index = 0, parts = 0;
    relax_value leaf;
    bool failed = !push(&stack, &depth, &capacity, value);
    int status = CLI_OK;
    while (status == CLI_OK && !failed &&
           next_leaf(&stack, &depth, &capacity, &parts, &leaf, &failed))
        status = leaf_fn(c, user, index++, &leaf);
    free(stack);
    if (failed)
        return cli_error(c, "IN02", NULL, "out of memory");
    if (parts > MAX_PARTS)
        return cli_error(c, "RT07", NULL,
                         "the result has more than %zu parts: the others are not shown",
                         MAX_PARTS);
    return status;
}

static int show_leaf(const cli *c, void *user, size_t index, const relax_value *leaf)
{
    (void)c;
    if (user)
        printf("%zu: ", index);
    put_value(leaf);
    putchar('\n');
    return CLI_OK;
}

static int write_leaf(const cli *c, void *user, size_t index, const relax_value *leaf)
{
    char path[4096];
    int len = snprintf(path, sizeof path, "%s/%zu.%s", c->output, index,
                       is_text(leaf) ? "txt" : "npy");
    (void)user;
    if (len >= (int)sizeof path)
        return cli_usage(c, "path too long: %s", c->output), CLI_FAULT;
    return write_value(c, path, leaf) ? CLI_OK : CLI_FAULT;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_json_float(double x, int digits)
{
    if (isfinite(x))
        printf("%.*g", digits, x);
    else
        printf("\"%s\"", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
}

static void put_json_numbers(const cli_numbers *n)
{
    char name[32];
    int code = n->dtype & 0xff, digits = n->dtype == RELAX_FLOAT64 ? 17 : 9;
    size_t size = relax_dtype_size(n->dtype);
    relax_dtype_name(n->dtype, name, sizeof name);
    printf("\"dtype\": \"%s\", \"shape\": [", name);
    for (int32_t i = 0; i < n->ndim; i++)
        printf("%s%lld", i ? ", " : "", (long long)n->shape[i]);
    fputs("], \"data\": [", stdout);
    for (size_t i = 0; i < n->count; i++) {
        const char *p = (const char *)n->data + i * size;
        fputs(i ? ", " : "", stdout);
        if (n->dtype == RELAX_BOOL)
            fputs(*p ? "true" : "false", stdout);
        else if (code == RELAX_DTYPE_INT || code == RELAX_DTYPE_UINT)
            put_int(p, n->dtype >> 8 & 0xff, code == RELAX_DTYPE_INT);
        else
            put_json_float(float_at(n->dtype, p), digits);
    }
    putchar(']');
}

static int json_leaf(const cli *c, void *user, size_t index, const relax_value *leaf)
{
    cli_numbers n;
    char name[32];
    relax_dtype dtype;
    (void)c;
    (void)user;
    printf("%s\n  {\"kind\": \"%s\"", index ? "," : "", relax_value_kind_name(relax_value_kind(leaf)));
    if (cli_numbers_of(leaf, &n)) {
        fputs(", ", stdout);
        put_json_numbers(&n);
    } else if (relax_value_get_dtype(leaf, &dtype) == RELAX_OK) {
        relax_dtype_name(dtype, name, sizeof name);
        printf(", \"value\": \"%s\"", name);
    } else if (relax_value_kind(leaf) == RELAX_VALUE_KIND_STRING) {
        const char *text = "";
        size_t len = 0;
        relax_value_get_string(leaf, &text, &len);
        fputs(", \"value\": ", stdout);
        cli_put_json(stdout, text);
    }
    putchar('}');
    return CLI_OK;
}

static int show_json(const cli *c, const relax_value *result)
{
    fputs("{\"results\": [", stdout);
    int status = cli_each_leaf(c, result, json_leaf, NULL);
    fputs("]}\n", stdout);
    return status;
}

bool cli_numbers_of(const relax_value *leaf, cli_numbers *out)
{
    size_t ndim;
    const int64_t *dims;
    uint8_t truth = 0;
    *out = (cli_numbers){ .data = out->scratch, .count = 1 };
    switch (relax_value_kind(leaf)) {
    case RELAX_VALUE_KIND_INT:
        out->dtype = RELAX_INT64;
        memcpy(out->scratch, &leaf->v.i, 8);
        return true;
    case RELAX_VALUE_KIND_FLOAT:
        out->dtype = RELAX_FLOAT64;
        memcpy(out->scratch, &leaf->v.f, 8);
        return true;
    case RELAX_VALUE_KIND_BOOL:
        truth = leaf->v.i != 0;
        out->dtype = RELAX_BOOL;
        memcpy(out->scratch, &truth, 1);
        return true;
    case RELAX_VALUE_KIND_SHAPE:
        relax_value_get_shape(leaf, &dims, &ndim);
        out->dtype = RELAX_INT64;
        out->data = dims;
        out->count = ndim;
        out->one_size = (int64_t)ndim;
        out->shape = &out->one_size;
        out->ndim = 1;
        return true;
    case RELAX_VALUE_KIND_TENSOR: {
        const relax_tensor *t = relax_value_get_tensor(leaf);
        out->dtype = relax_tensor_dtype(t);
        out->shape = relax_tensor_shape(t);
        out->ndim = relax_tensor_ndim(t);
        out->data = relax_tensor_data(t);
        out->count = element_count(t);
        return true;
    }
    default: return false;
    }
}

double cli_number_at(relax_dtype dtype, const void *p)
{
    int code = dtype & 0xff, bits = dtype >> 8 & 0xff;
    uint64_t u = 0;
    if (code != RELAX_DTYPE_INT && code != RELAX_DTYPE_UINT)
        return float_at(dtype, p);
    memcpy(&u, p, bits < 8 ? 1 : (size_t)bits / 8);
    if (code == RELAX_DTYPE_UINT)
        return (double)u;
    if (bits < 64 && u >> (bits - 1) & 1)
        u |= ~(uint64_t)0 << bits;
    return (double)(int64_t)u;
}

void cli_show_value(const cli *c, const relax_value *value)
{
    cli_each_leaf(c, value, show_leaf, NULL);
}

int cli_show_results(const cli *c, const relax_value *result)
{
    if (c->output && !cli_make_directory(c, c->output))
        return CLI_FAULT;
    bool numbered = true;
    int status = c->as_json ? show_json(c, result) : cli_each_leaf(c, result, show_leaf, &numbered);
    if (status == CLI_OK && c->output)
        status = cli_each_leaf(c, result, write_leaf, NULL);
    return status;
}
