/* onnx_model.c: models in ONNX's format as programs. When one is run, inputs that decide sizes or ranks are
 * constants of the program: they stand for operands that it has to know. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 8 };

bool cli_is_onnx(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    return n > 5 && !strcmp(path + n - 5, ".onnx");
}

/* What is known of the model besides its file. */
typedef struct known {
    const char *names[CLI_MAX_LIST];
    relax_tensor *tensors[CLI_MAX_LIST];
    const DLTensor *views[CLI_MAX_LIST];
    DLTensor shapes[CLI_MAX_LIST];        /* of inputs that stay inputs */
    size_t count;
    char *own_names[CLI_MAX_LIST]; size_t num_own;
    const char *size_names[CLI_MAX_LIST]; /* copies */
    int64_t sizes[CLI_MAX_LIST];
    size_t num_sizes;
} known;

static void forget(known *k)
{
    for (size_t i = 0; i < k->count; i++)
        relax_tensor_release(k->tensors[i]);
    for (size_t i = 0; i < k->num_own; i++)
        free(k->own_names[i]);
    for (size_t i = 0; i < k->num_sizes; i++)
        free((void *)(uintptr_t)k->size_names[i]);
}

/* NAME=N of each --dim */
static int read_sizes(const cli *c, known *k)
{
    for (int i = 0; i < c->num_dims; i++) {
        const char *equals = strrchr(c->dims[i], '=');
        char *name = equals ? strndup(c->dims[i], (size_t)(equals - c->dims[i])) : NULL;
        if (!name || !cli_parse_int(equals + 1, &k->sizes[k->num_sizes]) ||
            k->sizes[k->num_sizes] < 0) {
            free(name);
            return cli_usage(c, "--dim is NAME=SIZE, found %s", c->dims[i]);
        }
        k->size_names[k->num_sizes++] = name;
    }
    return CLI_OK;
}

/* NAME=A.npy of each --bind */
static int read_binds(const cli *c, known *k)
{
    for (int i = 0; i < c->num_binds; i++) {
        const char *equals = strchr(c->binds[i], '=');
        char *name = equals ? strndup(c->binds[i], (size_t)(equals - c->binds[i])) : NULL;
        if (!name)
            return cli_usage(c, "--bind is NAME=A.npy, found %s", c->binds[i]);
        relax_tensor *t = cli_npy_read(c, equals + 1);
        k->own_names[k->num_own++] = name;
        if (!t)
            return CLI_FAULT;
        k->names[k->count] = name;
        k->tensors[k->count] = t;
        k->views[k->count++] = relax_tensor_view(t);
    }
    return CLI_OK;
}

/* The text of --input for input `index` of the model, called `name`; -1: there is none. Positions count what
 * has no name. */
static int find_text(const cli *c, const char *name, size_t index, const char **value)
{
    size_t position = 0, len = strlen(name);
    for (int i = 0; i < c->num_inputs; i++) {
        const char *text = c->inputs[i], *equals = strchr(text, '=');
        if (equals && (size_t)(equals - text) == len && !memcmp(text, name, len))
            return *value = equals + 1, i;
        if (!equals && position++ == index)
            return *value = text, i;
    }
    return -1;
}

static size_t input_number(const relax_onnx_import *import, const char *name)
{
    for (size_t i = 0; i < relax_onnx_import_num_inputs(import); i++)
        if (!strcmp(relax_onnx_import_input(import, i, NULL), name))
            return i;
    return RELAX_NOT_FOUND;
}

/* Reads the array of an input that is needed. False: there is none, or it cannot be read. */
static bool bind_input(const cli *c, const relax_onnx_import *import, const char *name, known *k,
                       size_t position)
{
    const char *value;
    int at = find_text(c, name, position, &value);
    size_t n = at < 0 ? 0 : strlen(value);
    if (at < 0 || c->bound[at] || n < 4 ||
        strcmp(value + n - 4, ".npy") || input_number(import, name) == RELAX_NOT_FOUND)
        return false;
    size_t place = 0; /* where its shape is known already, its content takes that place */
    while (place < k->count && strcmp(k->names[place], name))
        place++;
    if (place == CLI_MAX_LIST)
        return false;
    if (place == k->count) {
        relax_tensor *t = cli_npy_read(c, value);
        if (!t)
            return false;
        k->names[k->count] = name;
        k->tensors[k->count++] = t;
    }
    k->views[place] = relax_tensor_view(k->tensors[place]);
    c->bound[at] = true;
    fprintf(stderr, "%s: note: input %s is a constant of this run (its value decides sizes or ranks; "
                    "--no-bind leaves it open)\n", c->files[0], name);
    return true;
}

static bool bind_needed(const cli *c, const relax_onnx_import *import, const char *const *all,
                        known *k)
{
    bool any = false;
    for (size_t i = 0; i < relax_onnx_import_num_needed(import); i++) {
        const char *name = relax_onnx_import_needed(import, i, NULL);
        for (size_t p = 0; all[p]; p++)
            if (!strcmp(all[p], name))
                any |= bind_input(c, import, name, k, p);
    }
    return any;
}

/* The shapes of all inputs that are arrays; an array without elements is known with its shape. False: nothing is
 * known that was not before. */
static bool bind_shapes(const cli *c, const char *const *all, known *k)
{
    size_t before = k->count;
    for (size_t p = 0; all[p] && k->count < CLI_MAX_LIST; p++) {
        const char *value;
        int at = find_text(c, all[p], p, &value);
        size_t n = at < 0 ? 0 : strlen(value);
        relax_tensor *t = at < 0 || c->bound[at] || n < 4 || strcmp(value + n - 4, ".npy")
                              ? NULL
                              : cli_npy_read(c, value);
        if (!t)
            continue;
        k->names[k->count] = all[p];
        k->tensors[k->count] = t;
        k->shapes[k->count] = *relax_tensor_view(t);
        k->shapes[k->count].data = NULL;
        k->views[k->count] = &k->shapes[k->count];
        for (int32_t d = 0; d < k->shapes[k->count].ndim; d++)
            c->bound[at] |= !k->shapes[k->count].shape[d];
        k->count++;
    }
    if (k->count > before)
        fprintf(stderr, "%s: note: the sizes of this run's inputs are constants of it (--no-bind leaves "
                        "them open)\n", c->files[0]);
    return k->count > before;
}

/* Names of the model's inputs, NULL at the end; those that are bound keep their place in it. */
static const char **input_names(const relax_onnx_import *import)
{
    size_t n = relax_onnx_import_num_inputs(import);
    const char **names = calloc(n + 1, sizeof *names);
    for (size_t i = 0; names && i < n; i++)
        names[i] = relax_onnx_import_input(import, i, NULL);
    return names;
}

static relax_onnx_import *import_once(const cli *c, relax_context *ctx, const char *path, known *k)
{
    relax_onnx_options o;
    relax_onnx_options_init(&o, sizeof o);
    o.params_from = (uint64_t)c->params_from;
    o.input_names = k->names;
    o.inputs = k->views;
    o.num_inputs = k->count;
    o.size_names = k->size_names;
    o.sizes = k->sizes;
    o.num_sizes = k->num_sizes;
    return relax_onnx_import_file(ctx, path, &o);
}

relax_onnx_import *cli_import(const cli *c, relax_context *ctx, const char *path)
{
    known k = { .count = 0 };
    const char **names = NULL;
    relax_onnx_import *import = NULL;
    bool again = read_sizes(c, &k) == CLI_OK && read_binds(c, &k) == CLI_OK, shaped = false;
    if (again)
        cli_progress("importing");
    for (int round = 0; again && round < MOST_ROUNDS; round++) {
        relax_onnx_import_destroy(import);
        import = import_once(c, ctx, path, &k);
        if (import && !names)
            names = input_names(import);
        again = import && names && c->bound && !c->no_bind && bind_needed(c, import, names, &k);
        if (import && names && c->bound && !c->no_bind && !again && !shaped &&
            !relax_onnx_import_module(import))
            again = shaped = bind_shapes(c, names, &k);
        if (again)
            relax_context_clear_diagnostics(ctx);
    }
    cli_progress(NULL);
    free(names);
    forget(&k);
    return import;
}

/* What helps against a code, a text of the library. */
static const char *cure_of(const char *code)
{
    const char *cure = NULL;
    return relax_code_explain(code, strlen(code), NULL, NULL, NULL, &cure) == RELAX_OK && cure ? cure : "";
}

/* CODE, number of nodes, operator, operator set, reason, cure: parted by tabs. */
static void show_text(const relax_onnx_import *import)
{
    size_t n = relax_onnx_import_num_issues(import);
    printf("%zu nodes, %zu reasons\n", relax_onnx_import_num_nodes(import), n);
    for (size_t i = 0; i < n; i++) {
        const char *domain = relax_onnx_issue_domain(import, i, NULL);
        const char *code = relax_onnx_issue_code(import, i);
        printf("%s\t%zu\t%s%s%s\t%lld\t", code, relax_onnx_issue_count(import, i), domain,
               *domain ? "." : "", relax_onnx_issue_operator(import, i, NULL),
               (long long)relax_onnx_issue_version(import, i));
        cli_put_text(stdout, relax_onnx_issue_reason(import, i, NULL));
        printf("\t%s\n", cure_of(code));
    }
    for (size_t i = 0; i < relax_onnx_import_num_needed(import); i++)
        printf("needed\t%s\n", relax_onnx_import_needed(import, i, NULL));
}

static void put_member(const char *name, const char *text)
{
    printf(", \"%s\": ", name);
    cli_put_json(stdout, text);
}

static void show_json(const relax_onnx_import *import, const char *path)
{
    printf("{\"file\": ");
    cli_put_json(stdout, path);
    printf(", \"imported\": %s, \"nodes\": %zu, \"issues\": [",
           relax_onnx_import_module(import) ? "true" : "false", relax_onnx_import_num_nodes(import));
    for (size_t i = 0; i < relax_onnx_import_num_issues(import); i++) {
        const char *code = relax_onnx_issue_code(import, i);
        printf("%s\n  {\"code\": \"%s\", \"severity\": \"%s\", \"count\": %zu, \"opset\": %lld", i ? "," : "",
               code, relax_onnx_issue_is_warning(import, i) ? "warning" : "error",
               relax_onnx_issue_count(import, i), (long long)relax_onnx_issue_version(import, i));
        put_member("domain", relax_onnx_issue_domain(import, i, NULL));
        put_member("operator", relax_onnx_issue_operator(import, i, NULL));
        put_member("reason", relax_onnx_issue_reason(import, i, NULL));
        put_member("cure", cure_of(code));
        putchar('}');
    }
    printf("], \"needed\": [");
    for (size_t i = 0; i < relax_onnx_import_num_needed(import); i++) {
        fputs(i ? ", " : "", stdout);
        cli_put_json(stdout, relax_onnx_import_needed(import, i, NULL));
    }
    puts("]}");
}

relax_module *cli_import_module(const cli *c, relax_context *ctx, const char *path)
{
    relax_onnx_import *import = cli_import(c, ctx, path);
    relax_module *module = relax_onnx_import_module(import);
    if (import && c->onnx_report && c->as_json)
        show_json(import, path);
    else if (import && c->onnx_report)
        show_text(import);
    relax_onnx_import_destroy(import);
    return module;
}
