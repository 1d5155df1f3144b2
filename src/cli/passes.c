/*- passes.c: --pass: a list of passes, options of each behind it in braces:
 *     normalize,bind_symbolic_vars{n=4,function=main},bind_params
 * or behind a colon, up to what is no NAME=VALUE:
 *     bind_symbolic_vars:n=4,m=8,fold_constant */
#include "cli/cli.h"

#include <string.h>

typedef struct list {
    const cli *c;
    relax_context *ctx;
    relax_pipeline *pipeline;
    const cli_arrays *params;
    bool bound; /* bind_params is in it */
} list;

bool cli_same_pass(const char *text, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++)
        if ((text[i] == '-' ? '_' : text[i]) != name[i])
            return false;
    return !name[len];
}

/* ---- options -------------------------------------------------------------------------------- */

/* A number, true, false, or text. */
static relax_attr *read_value(relax_context *ctx, const char *text, size_t len)
{
    char number[32] = "";
    int64_t value;
    if (len < sizeof number)
        memcpy(number, text, len);
    if (cli_parse_int(number, &value))
        return relax_attr_int_new(ctx, value);
    if (!strcmp(number, "true") || !strcmp(number, "false"))
        return relax_attr_bool_new(ctx, *number == 't');
    return relax_attr_string_new(ctx, text, len);
}

static bool has_option(const char *pass, size_t pass_len, const char *key, size_t len)
{
    const char *name, *option;
    for (size_t i = 0; (name = relax_pass_name(i)); i++)
        for (size_t k = 0; cli_same_pass(pass, pass_len, name) &&
                            (option = relax_pass_option(i, k, NULL, NULL));
             k++)
            if (strlen(option) == len && !memcmp(option, key, len))
                return true;
    return false;
}

/* `text`: KEY=VALUE,... Keys that are no options of bind_symbolic_vars are shape variables. False:
 * not of that form. */
static bool read_options(list *l, const char *pass, size_t pass_len, const char *text, size_t len,
                         const relax_attr **out)
{
    const relax_attr *options = NULL, *values = NULL;
    bool binds = cli_same_pass(pass, pass_len, "bind_symbolic_vars");
    for (const char *p = text, *end = text + len; p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *last = comma ? comma : end;
        const char *equals = memchr(p, '=', (size_t)(last - p));
        if (!equals || equals == p)
            return false;
        size_t key = (size_t)(equals - p);
        relax_attr *value = read_value(l->ctx, equals + 1, (size_t)(last - equals - 1));
        if (binds && !has_option(pass, pass_len, p, key))
            values = relax_attr_map_with(l->ctx, values, p, key, value);
        else
            options = relax_attr_map_with(l->ctx, options, p, key, value);
        p = last + (comma != NULL);
    }
    *out = values ? relax_attr_map_with(l->ctx, options, "values", 6, values) : options;
    return true;
}

/* ---- the list ------------------------------------------------------------------------------- */

static const relax_module *bind_weights(void *user, relax_context *ctx, const relax_module *module,
                                        const relax_attr *options)
{
    const list *l = user;
    (void)options;
    return cli_bind(l->c, ctx, module, l->params);
}

static int add_weights(list *l, bool has_options)
{
    if (!l->params)
        return cli_usage(l->c, "--pass bind_params takes the weights of --params W.npz");
    if (has_options)
        return cli_usage(l->c, "--pass bind_params has no options here");
    l->bound = true;
    relax_pipeline_add_host(l->pipeline, "bind_params", 11, NULL, bind_weights, l, NULL);
    return CLI_OK;
}

/* One pass; `options` behind it, NULL: none. */
static int add_pass(list *l, const char *name, size_t len, const char *options, size_t options_len)
{
    const relax_attr *map = NULL;
    if (cli_same_pass(name, len, "bind_params"))
        return add_weights(l, options != NULL);
    if (options && !read_options(l, name, len, options, options_len, &map))
        return cli_usage(l->c, "--pass %.*s: options are {NAME=VALUE,...}, found {%.*s}", (int)len,
                         name, (int)options_len, options);
    if (!map && cli_same_pass(name, len, "bind_symbolic_vars"))
        return cli_usage(l->c, "--pass %.*s needs values, as in %.*s:n=4", (int)len, name,
                         (int)len, name);
    relax_pipeline_add(l->pipeline, name, len, map); /* diagnostics say why not */
    return CLI_OK;
}

/* The options behind a colon: NAME=VALUE,NAME=VALUE, up to the next pass. */
static size_t behind_colon(const char *p)
{
    size_t len = strcspn(p, ",");
    while (p[len] == ',' && strcspn(p + len + 1, "=") < strcspn(p + len + 1, ",{:"))
        len += 1 + strcspn(p + len + 1, ",");
    return len;
}

static int read_list(list *l, const char *p)
{
    int status = CLI_OK;
    if (!*p)
        return cli_usage(l->c, "--pass needs the name of a pass; relax passes lists them");
    while (*p && status == CLI_OK) {
        size_t len = strcspn(p, ",{:");
        if (p[len] == ':') {
            size_t options_len = behind_colon(p + len + 1);
            status = add_pass(l, p, len, p + len + 1, options_len);
            p += len + 1 + options_len;
            p += *p == ',';
            continue;
        }
        const char *options = p[len] == '{' ? p + len + 1 : NULL;
        size_t options_len = options ? strcspn(options, "}") : 0;
        const char *next = options ? options + options_len + 1 : p + len;
        if (options && !options[options_len])
            return cli_usage(l->c, "--pass: there is no } for %.*s{", (int)len, p);
        if (options && *next && *next != ',')
            return cli_usage(l->c, "--pass: a comma is missing in front of %s", next);
        if (!len)
            return cli_usage(l->c, "--pass: a name is missing in front of '%s'", p);
        status = add_pass(l, p, len, options, options_len);
        p = next + (*next == ',');
    }
    return status;
}

static void show_time(void *user, const char *pass, const relax_module *module, double seconds,
                      int32_t changed)
{
    (void)user;
    (void)module;
    cli_show_pass_time(pass, seconds, changed);
}

relax_module *cli_run_passes(const cli *c, relax_context *ctx, relax_module *module,
                             const cli_arrays *params, int *status)
{
    list l = { .c = c, .ctx = ctx, .pipeline = relax_pipeline_create(ctx), .params = params };
    *status = l.pipeline && c->passes ? read_list(&l, c->passes) : CLI_OK;
    if (params && !l.bound && *status == CLI_OK)
        module = cli_bind(c, ctx, module, params);
    if (*status != CLI_OK || !l.pipeline || relax_context_num_errors(ctx))
        module = NULL;
    if (module && c->times)
        relax_pipeline_on_pass(l.pipeline, show_time, NULL);
    if (module && c->passes)
        module = relax_pipeline_run(l.pipeline, module);
    relax_pipeline_destroy(l.pipeline);
    return module;
}
