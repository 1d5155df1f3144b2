/*- generate.c: arguments that are made, as the description of their parameter asks for:
 *
 *     zeros | ones | random | random:SEED     sizes follow after a colon, where the program leaves them open:
 *     zeros:3,4 | random:7:3,4                zeros, random:7 of the sizes that --size and other arguments say
 *     1.0,2.0,3.0 | 5 | true                  the elements themselves
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#define RLX_SHARED static inline
#define MATH(name, ...) __VA_ARGS__
#include "base/half.def"

/* ---- sizes by name -------------------------------------------------------------------------- */

static bool find_size(const cli_sizes *sizes, const char *name, size_t len, int64_t *out)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (strlen(sizes->items[i].name) == len && !memcmp(sizes->items[i].name, name, len))
            return *out = sizes->items[i].value, true;
    return false;
}

bool cli_sizes_add(cli_sizes *sizes, const char *name, size_t len, int64_t value)
{
    int64_t known;
    if (find_size(sizes, name, len, &known))
        return true;
    cli_size *more = realloc(sizes->items, (sizes->count + 1) * sizeof *more);
    char *copy = more ? malloc(len + 1) : NULL;
    if (more)
        sizes->items = more;
    if (!copy)
        return false;
    memcpy(copy, name, len);
    copy[len] = 0;
    more[sizes->count++] = (cli_size){ copy, value };
    return true;
}

void cli_sizes_free(cli_sizes *sizes)
{
    for (size_t i = 0; i < sizes->count; i++)
        free(sizes->items[i].name);
    free(sizes->items);
    *sizes = (cli_sizes){ 0 };
}

bool cli_sizes_of(cli_sizes *sizes, const relax_executable *exe, const relax_description *of,
                  const relax_value *value)
{
    int32_t ndim = relax_description_ndim(exe, of);
    const int64_t *dims = NULL;
    size_t count = 0, len;
    if (relax_value_kind(value) == RELAX_VALUE_KIND_TENSOR) {
        dims = relax_tensor_shape(relax_value_get_tensor(value));
        count = (size_t)relax_tensor_ndim(relax_value_get_tensor(value));
    } else if (relax_value_kind(value) == RELAX_VALUE_KIND_SHAPE) {
        relax_value_get_shape(value, &dims, &count);
    }
    for (size_t i = 0; i < count && (int64_t)count == ndim; i++) {
        const char *name = relax_description_dim_name(exe, of, i, &len);
        if (name && !cli_sizes_add(sizes, name, len, dims[i]))
            return false;
    }
    return true;
}

/* "n=3,m=4" in each --size */
int cli_sizes_read(const cli *c, cli_sizes *sizes)
{
    for (int k = 0; k < c->num_sizes; k++)
        for (const char *p = c->sizes[k]; *p;) {
            size_t all = strcspn(p, ","), name = strcspn(p, "=");
            char number[32] = "";
            int64_t value;
            if (name < all && all - name - 1 < sizeof number)
                memcpy(number, p + name + 1, all - name - 1);
            if (!name || !cli_parse_int(number, &value) || value < 0)
                return cli_usage(c, "--size NAME=N[,NAME=N] gives sizes, found %s", c->sizes[k]);
            if (!cli_sizes_add(sizes, p, name, value))
                return cli_error(c, "IN02", NULL, "out of memory");
            p += all + (p[all] == ',');
        }
    return CLI_OK;
}

/* ---- elements ------------------------------------------------------------------------------- */

static void store_float(relax_dtype dtype, double x, void *to)
{
    switch (dtype) {
#define STORE(name, C, value)               \
    case RELAX_##name: {                    \
        C element = (C)(value);             \
        memcpy(to, &element, sizeof element); \
        break;                              \
    }
#define INTEGER(name, elem, text, code, bits, klass, C, npy) STORE(name, C, x)
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    STORE(name, C, rlx_double_to_##function(x))
#define REAL(name, elem, text, code, bits, klass, C, greatest, npy) STORE(name, C, x)
#include "base/dtype.def"
#undef STORE
    default: break;
    }
}

static bool is_integer(relax_dtype dtype)
{
    int code = dtype & 0xff;
    return code == RELAX_DTYPE_INT || code == RELAX_DTYPE_UINT;
}

/* False: it does not fit. */
static bool store_int(relax_dtype dtype, int64_t x, void *to)
{
    int bits = dtype >> 8 & 0xff;
    bool is_signed = (dtype & 0xff) == RELAX_DTYPE_INT;
    int64_t low = !is_signed ? 0 : bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1)),
            high = bits == 64 ? INT64_MAX : ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    if (x < low || x > high)
        return false;
    switch (dtype) {
#define INTEGER(name, elem, text, code, bits, klass, C, npy) \
    case RELAX_##name: {                                     \
        C element = (C)x;                                    \
        memcpy(to, &element, sizeof element);                \
        break;                                               \
    }
#include "base/dtype.def"
    default: break;
    }
    return true;
}

/* splitmix64: element i of a seed, whatever the others are. */
static uint64_t random_bits(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void store_random(relax_dtype dtype, uint64_t seed, uint64_t i, void *to)
{
    uint64_t bits = random_bits(seed, i);
    if (is_integer(dtype))
        store_int(dtype, (int64_t)(bits >> 11) % (dtype == RELAX_BOOL ? 2 : 10), to);
    else
        store_float(dtype, (double)(int64_t)(bits >> 11) / (double)(1ll << 52) - 1, to);
}

/* One element from text: a number, true or false. */
static bool store_text(relax_dtype dtype, const char *text, size_t len, void *to)
{
    char word[64] = "";
    double x;
    int64_t i;
    if (len >= sizeof word)
        return false;
    memcpy(word, text, len);
    if (dtype == RELAX_BOOL && (!strcmp(word, "true") || !strcmp(word, "True")))
        return store_int(dtype, 1, to);
    if (dtype == RELAX_BOOL && (!strcmp(word, "false") || !strcmp(word, "False")))
        return store_int(dtype, 0, to);
    if (is_integer(dtype))
        return cli_parse_int(word, &i) && store_int(dtype, i, to);
    if (!cli_parse_number(word, &x))
        return false;
    store_float(dtype, x, to);
    return true;
}

/* ---- what the text says --------------------------------------------------------------------- */

enum way { ZEROS, ONES, RANDOM, LISTED };
typedef struct recipe {
    enum way way;
    uint64_t seed;
    const char *sizes, *listed; /* NULL: none stand there */
} recipe;

static bool starts(const char *text, const char *word, const char **rest)
{
    size_t len = strlen(word);
    *rest = text + len;
    return !strncmp(text, word, len) && (!text[len] || text[len] == ':');
}

static bool is_listed(const char *text)
{
    for (const char *p = text;;) {
        size_t len = strcspn(p, ",");
        unsigned char element[8];
        if (!len || (!store_text(RELAX_FLOAT64, p, len, element) &&
                     !store_text(RELAX_BOOL, p, len, element)))
            return false;
        if (!p[len])
            return true;
        p += len + 1;
    }
}

static bool read_recipe(const char *text, recipe *out)
{
    const char *rest;
    *out = (recipe){ .way = LISTED, .listed = text };
    if (is_listed(text))
        return true;
    if (starts(text, "zeros", &rest))
        out->way = ZEROS;
    else if (starts(text, "ones", &rest))
        out->way = ONES;
    else if (starts(text, "random", &rest))
        out->way = RANDOM;
    else
        return false;
    out->listed = NULL;
    if (out->way == RANDOM && *rest == ':') {
        char *end;
        out->seed = strtoull(rest + 1, &end, 10);
        if (end == rest + 1 || (*end && *end != ':'))
            return false;
        rest = end;
    }
    out->sizes = *rest == ':' ? rest + 1 : NULL;
    return true;
}

bool cli_is_made(const char *text)
{
    const char *rest;
    return is_listed(text) || starts(text, "zeros", &rest) || starts(text, "ones", &rest) ||
           starts(text, "random", &rest);
}

static size_t count_listed(const char *text)
{
    size_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == ',';
    return n;
}

/* ---- shapes --------------------------------------------------------------------------------- */

typedef struct wanted { const relax_executable *exe; const relax_description *of; const char *name; } wanted;

static int read_sizes(const cli *c, const char *text, int64_t *dims, int32_t *ndim)
{
    *ndim = 0;
    for (const char *p = text; *p;) {
        char number[32] = "";
        size_t len = strcspn(p, ",");
        if (*ndim == CLI_MAX_LIST || !len || len >= sizeof number)
            return cli_usage(c, "sizes are numbers: zeros:3,4, found %s", text);
        memcpy(number, p, len);
        if (!cli_parse_int(number, &dims[*ndim]) || dims[(*ndim)++] < 0)
            return cli_usage(c, "sizes are numbers: zeros:3,4, found %s", text);
        p += len + (p[len] == ',');
    }
    return CLI_OK;
}

/* -1 for a size that nothing says. */
static int64_t known_size(const wanted *w, const cli_sizes *sizes, size_t i)
{
    size_t len;
    const char *name = relax_description_dim_name(w->exe, w->of, i, &len);
    int64_t size = relax_description_dim(w->exe, w->of, i);
    return name && !find_size(sizes, name, len, &size) ? -1 : size;
}

static int size_missing(const cli *c, const wanted *w, size_t i)
{
    relax_bytes *text = relax_description_dim_text(w->exe, w->of, i);
    const char *shown = text ? relax_bytes_data(text) : "of it";
    int status = relax_description_dim_name(w->exe, w->of, i, NULL)
                     ? cli_error(c, "RT01", c->files[0],
                                 "size %s of %s is not known: give --size %s=N, or write the sizes, "
                                 "as in %s=zeros:3,4",
                                 shown, w->name, shown, w->name)
                     : cli_error(c, "RT01", c->files[0],
                                 "dimension %zu of %s (%s) is not known: write the sizes, as in "
                                 "%s=zeros:3,4",
                                 i, w->name, shown, w->name);
    relax_bytes_release(text);
    return status;
}

static int other_count(const cli *c, const wanted *w, size_t listed)
{
    relax_bytes *is = relax_description_text(w->exe, w->of);
    int status = cli_error(c, "RT05", c->files[0],
                           "%s is %s, which %zu element%s not fill (%s=zeros, =ones, =random:7 make all)",
                           w->name, is ? relax_bytes_data(is) : "a tensor", listed,
                           listed == 1 ? " does" : "s do", w->name);
    relax_bytes_release(is);
    return status;
}

static int find_shape(const cli *c, const wanted *w, const recipe *r, const cli_sizes *sizes,
                      int64_t *dims, int32_t *ndim)
{
    if (r->sizes)
        return read_sizes(c, r->sizes, dims, ndim);
    *ndim = relax_description_ndim(w->exe, w->of);
    size_t listed = r->listed ? count_listed(r->listed) : 0, rest = listed;
    if (*ndim < 0 && r->listed)
        return dims[0] = (int64_t)listed, *ndim = 1, CLI_OK;
    if (*ndim < 0)
        return cli_error(c, "RT01", c->files[0],
                         "the rank of %s is not known: write the sizes, as in %s=zeros:3,4", w->name,
                         w->name);
    if (*ndim > CLI_MAX_LIST)
        return cli_error(c, "RT04", c->files[0], "%s has more than %d dimensions", w->name,
                         CLI_MAX_LIST);
    int32_t open = -1;
    for (int32_t i = 0; i < *ndim; i++) {
        dims[i] = known_size(w, sizes, (size_t)i);
        if (dims[i] < 0 && (!r->listed || open >= 0))
            return size_missing(c, w, (size_t)i);
        if (dims[i] < 0)
            open = i;
        else
            rest = dims[i] && rest % (size_t)dims[i] == 0 ? rest / (size_t)dims[i] : 0;
    }
    if (open >= 0 && rest)
        dims[open] = (int64_t)rest;
    else if (r->listed && rest != 1)
        return other_count(c, w, listed);
    return CLI_OK;
}

/* ---- values --------------------------------------------------------------------------------- */

static int fill(const cli *c, const wanted *w, const recipe *r, relax_dtype dtype, size_t count,
                unsigned char *to)
{
    char name[32];
    size_t size = relax_dtype_size(dtype);
    const char *p = r->listed;
    for (size_t i = 0; i < count; i++, to += size) {
        if (r->way == RANDOM) {
            store_random(dtype, r->seed, i, to);
        } else if (r->way != LISTED) {
            store_float(dtype, r->way == ONES, to);
        } else {
            size_t len = strcspn(p, ",");
            relax_dtype_name(dtype, name, sizeof name);
            if (!store_text(dtype, p, len, to))
                return cli_usage(c, "%s is %s, which %.*s is not", w->name, name, (int)len, p);
            p += len + (p[len] == ',');
        }
    }
    return CLI_OK;
}

static int make_tensor(const cli *c, const wanted *w, const recipe *r, const cli_sizes *sizes,
                       relax_value *out)
{
    int64_t dims[CLI_MAX_LIST];
    int32_t ndim;
    relax_tensor *t = NULL;
    relax_error *error = NULL;
    relax_dtype dtype = relax_description_dtype(w->exe, w->of);
    if (dtype == RELAX_VOID)
        dtype = RELAX_FLOAT32;
    int status = find_shape(c, w, r, sizes, dims, &ndim);
    if (status != CLI_OK)
        return status;
    if (relax_tensor_create(dtype, dims, ndim, NULL, &t, &error) != RELAX_OK)
        return cli_run_error(c, c->files[0], error);
    size_t size = relax_dtype_size(dtype);
    status = fill(c, w, r, dtype, size ? relax_tensor_bytes(t) / size : 0, relax_tensor_data(t));
    if (status == CLI_OK)
        relax_value_set_tensor(out, t);
    relax_tensor_release(t);
    return status;
}

static int make_shape(const cli *c, const wanted *w, const recipe *r, const cli_sizes *sizes,
                      relax_value *out)
{
    int64_t dims[CLI_MAX_LIST];
    int32_t ndim = 0;
    recipe listed = { .way = ZEROS, .sizes = r->listed ? r->listed : r->sizes };
    int status = find_shape(c, w, &listed, sizes, dims, &ndim);
    if (status == CLI_OK && relax_value_set_shape(out, dims, (size_t)ndim, NULL) != RELAX_OK)
        status = cli_error(c, "IN02", NULL, "out of memory");
    return status;
}

static int make_scalar(const cli *c, const wanted *w, const recipe *r, int32_t kind,
                       relax_value *out)
{
    double f = 0;
    int64_t i = 0;
    uint8_t truth = 0;
    relax_dtype as = kind == RELAX_VALUE_KIND_FLOAT  ? RELAX_FLOAT64
                     : kind == RELAX_VALUE_KIND_BOOL ? RELAX_BOOL
                                                     : RELAX_INT64;
    if (r->listed && count_listed(r->listed) != 1)
        return cli_usage(c, "%s is one number, found %s", w->name, r->listed);
    void *to = kind == RELAX_VALUE_KIND_FLOAT ? (void *)&f
               : kind == RELAX_VALUE_KIND_BOOL ? (void *)&truth
                                               : (void *)&i;
    int status = fill(c, w, r, as, 1, to);
    if (status != CLI_OK)
        return status;
    if (kind == RELAX_VALUE_KIND_FLOAT)
        relax_value_set_float(out, f);
    else if (kind == RELAX_VALUE_KIND_BOOL)
        relax_value_set_bool(out, truth);
    else
        relax_value_set_int(out, i);
    return CLI_OK;
}

static int make_tuple(const cli *c, const wanted *w, const char *text, const cli_sizes *sizes,
                      relax_value *out)
{
    size_t count = relax_description_num_fields(w->exe, w->of);
    relax_value *fields = calloc(count + 1, sizeof *fields);
    int status = fields ? CLI_OK : cli_error(c, "IN02", NULL, "out of memory");
    for (size_t i = 0; i < count && status == CLI_OK; i++)
        status = cli_make_value(c, w->exe, relax_description_field(w->exe, w->of, i), w->name, text,
                                sizes, &fields[i]);
    if (status == CLI_OK && relax_value_set_tuple(out, fields, count, NULL) != RELAX_OK)
        status = cli_error(c, "IN02", NULL, "out of memory");
    cli_release_values(fields, fields ? count : 0);
    return status;
}

int cli_make_value(const cli *c, const relax_executable *exe, const relax_description *of,
                   const char *name, const char *text, const cli_sizes *sizes, relax_value *out)
{
    recipe r;
    wanted w = { exe, of, name };
    int32_t kind = relax_description_kind(exe, of);
    if (!read_recipe(text, &r))
        return cli_usage(c, "random:SEED or random:SEED:SIZES, zeros:SIZES, ones:SIZES; found %s", text);
    switch (kind) {
    case RELAX_VALUE_KIND_SHAPE: return make_shape(c, &w, &r, sizes, out);
    case RELAX_VALUE_KIND_INT: case RELAX_VALUE_KIND_BOOL: case RELAX_VALUE_KIND_FLOAT:
        return make_scalar(c, &w, &r, kind, out);
    case RELAX_VALUE_KIND_TUPLE:
        if (!r.listed)
            return make_tuple(c, &w, text, sizes, out);
        break;
    case RELAX_VALUE_KIND_TENSOR: case RELAX_VALUE_KIND_OTHER:
        return make_tensor(c, &w, &r, sizes, out);
    default: break;
    }
    return cli_usage(c, "%s is a %s, which %s cannot give", name, relax_value_kind_name(kind), text);
}
