/*- expect.c: --expect: results compared with arrays of files.
 *
 *     --expect A.npy          the one result
 *     --expect B.npz          result 0 with the member 0, and so on; or in the archive's order
 *     --expect DIR            DIR/0.npy, DIR/1.npy ... and .txt, as --output DIR wrote them
 *
 * An element is as expected if |found - expected| <= atol + rtol * |expected|; NaN is NaN. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef struct expected {
    cli_arrays arrays; /* of an archive */
    bool is_archive, is_directory, wrong;
    size_t compared;
} expected;

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

static bool is_close(const cli *c, double found, double want)
{
    if (found == want)
        return true;
    if (isnan(found) || isnan(want) || isinf(found) || isinf(want))
        return isnan(found) && isnan(want);
    return fabs(found - want) <= c->atol + c->rtol * fabs(want);
}

static void put_index(char *text, size_t size, const cli_numbers *n, size_t at)
{
    int64_t index[CLI_MAX_LIST];
    size_t used = 0;
    int32_t ndim = n->ndim < CLI_MAX_LIST ? n->ndim : CLI_MAX_LIST;
    for (int32_t i = ndim; i-- > 0;) {
        index[i] = (int64_t)at % n->shape[i];
        at /= (size_t)n->shape[i];
    }
    text[0] = 0;
    for (int32_t i = 0; i < ndim && used + 24 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)index[i]);
}

static bool same_form(const cli_numbers *a, const relax_tensor *b)
{
    if (a->dtype != relax_tensor_dtype(b) || a->ndim != relax_tensor_ndim(b))
        return false;
    for (int32_t i = 0; i < a->ndim; i++)
        if (a->shape[i] != relax_tensor_shape(b)[i])
            return false;
    return true;
}

static void put_form(char *text, size_t size, relax_dtype dtype, const int64_t *shape, int32_t ndim)
{
    relax_dtype_name(dtype, text, size);
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, size - used, " (");
    for (int32_t i = 0; i < ndim && used + 24 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)shape[i]);
    snprintf(text + used, size - used, "%s)", ndim == 1 ? "," : "");
}

static int differs(const cli *c, size_t index, const cli_numbers *n, const relax_tensor *want)
{
    size_t wrong = 0, worst = 0, size = relax_dtype_size(n->dtype);
    double most = -1;
    char found[200], expects[200], place[200];
    if (!same_form(n, want)) {
        put_form(found, sizeof found, n->dtype, n->shape, n->ndim);
        put_form(expects, sizeof expects, relax_tensor_dtype(want), relax_tensor_shape(want),
                 relax_tensor_ndim(want));
        return cli_error(c, "RT07", c->expect, "result %zu is %s, expected %s", index, found, expects);
    }
    const char *a = n->data, *b = relax_tensor_data(want);
    for (size_t i = 0; i < n->count; i++) {
        double x = cli_number_at(n->dtype, a + i * size), y = cli_number_at(n->dtype, b + i * size);
        bool same = !memcmp(a + i * size, b + i * size, size) || is_close(c, x, y);
        double by = isnan(x - y) ? INFINITY : fabs(x - y);
        wrong += !same;
        if (!same && by > most) {
            most = by;
            worst = i;
        }
    }
    if (!wrong)
        return CLI_OK;
    put_index(place, sizeof place, n, worst);
    return cli_error(c, "RT07", c->expect,
                     "result %zu: %zu of %zu elements differ; the worst, at [%s], is %.9g, expected "
                     "%.9g (--rtol %g --atol %g)",
                     index, wrong, n->count, place, cli_number_at(n->dtype, a + worst * size),
                     cli_number_at(n->dtype, b + worst * size), c->rtol, c->atol);
}

/* The array for a result; NULL after a report. One reference. */
static relax_tensor *array_for(const cli *c, expected *e, size_t index)
{
    char name[4096];
    if (e->is_directory) {
        snprintf(name, sizeof name, "%s/%zu.npy", c->expect, index);
        return cli_npy_read(c, name);
    }
    if (!e->is_archive && index == 0)
        return cli_npy_read(c, c->expect);
    snprintf(name, sizeof name, "%zu", index);
    size_t at = index;
    for (size_t i = 0; i < e->arrays.count; i++)
        if (!strcmp(e->arrays.items[i].name, name))
            at = i;
    if (e->is_archive && at < e->arrays.count) {
        relax_tensor *t = cli_array_tensor(c, &e->arrays.items[at]);
        return relax_tensor_retain(t);
    }
    cli_error(c, "RT07", c->expect, "there is no array for result %zu", index);
    return NULL;
}

static int compare_text(const cli *c, const expected *e, size_t index, const relax_value *leaf)
{
    char path[4096], name[32];
    const char *text = name;
    size_t len = 0;
    relax_dtype dtype;
    cli_file file;
    if (relax_value_get_dtype(leaf, &dtype) == RELAX_OK) {
        relax_dtype_name(dtype, name, sizeof name);
        len = strlen(name);
    } else if (relax_value_get_string(leaf, &text, &len) != RELAX_OK) {
        return cli_error(c, "RT07", c->expect, "result %zu is a %s, which no file holds", index,
                         relax_value_kind_name(relax_value_kind(leaf)));
    }
    if (!e->is_directory)
        return cli_error(c, "RT07", c->expect, "result %zu is text: compare with a directory", index);
    snprintf(path, sizeof path, "%s/%zu.txt", c->expect, index);
    if (!cli_read(c, path, &file))
        return CLI_FAULT;
    bool same = file.size == len && !memcmp(file.data, text, len);
    cli_file_free(&file);
    return same ? CLI_OK : cli_error(c, "RT07", path, "result %zu is another text", index);
}

static int compare_leaf(const cli *c, void *user, size_t index, const relax_value *leaf)
{
    expected *e = user;
    cli_numbers n;
    int status;
    e->compared = index + 1;
    if (!cli_numbers_of(leaf, &n)) {
        status = compare_text(c, e, index, leaf);
    } else {
        relax_tensor *want = array_for(c, e, index);
        status = want ? differs(c, index, &n, want) : CLI_FAULT;
        relax_tensor_release(want);
    }
    e->wrong |= status != CLI_OK;
    return CLI_OK; /* the others are compared too */
}

int cli_compare_results(const cli *c, const relax_value *result)
{
    struct stat s;
    if (stat(c->expect, &s))
        return cli_error(c, "IO01", c->expect, "cannot be read: %s", strerror(errno));
    expected e = { .is_directory = !stat(c->expect, &s) && S_ISDIR(s.st_mode) };
    e.is_archive = !e.is_directory && ends_with(c->expect, ".npz");
    if (e.is_archive && !cli_npz_read(c, c->expect, NULL, &e.arrays))
        return CLI_FAULT;
    int status = cli_each_leaf(c, result, compare_leaf, &e);
    if (status == CLI_OK && e.is_archive && e.arrays.count > e.compared)
        status = cli_error(c, "RT07", c->expect, "there are %zu arrays, but %zu results",
                           e.arrays.count, e.compared);
    cli_arrays_free(&e.arrays);
    if (status == CLI_OK && e.wrong)
        return CLI_FAULT;
    if (status == CLI_OK && !c->as_json)
        printf("as expected: %zu result%s\n", e.compared, e.compared == 1 ? "" : "s");
    return status;
}
