/* module.c: from a text file to a module or an executable. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* "WF12,TY01" in each --no-warn */
static int mute_codes(const cli *c, relax_context *ctx)
{
    for (int i = 0; i < c->num_no_warn; i++) {
        for (const char *p = c->no_warn[i]; *p;) {
            size_t len = strcspn(p, ",");
            if (len && relax_context_mute(ctx, p, len) != RELAX_OK)
                return cli_usage(c, "--no-warn: there is no code %.*s", (int)len, p);
            p += len + (p[len] == ',');
        }
    }
    return CLI_OK;
}

relax_context *cli_context(const cli *c, int *status)
{
    relax_context_options options;
    relax_context_options_init(&options, sizeof options);
    options.strict = c->strict;
    options.notes = c->notes;
    options.trust_annotations = c->trust;
    relax_context *ctx = relax_context_create(&options);
    *status = ctx ? mute_codes(c, ctx) : cli_error(c, "IN02", NULL, "out of memory");
    if (*status == CLI_OK)
        return ctx;
    relax_context_release(ctx);
    return NULL;
}

relax_module *cli_parse_module(const cli *c, relax_context *ctx, const cli_file *file)
{
    if (cli_is_onnx(file->name))
        return cli_import_module(c, ctx, file->name);
    if (cli_is_relay(file->name))
        return cli_relay_module(ctx, file);
    return relax_module_parse(ctx, file->name, strlen(file->name), file->data, file->size);
}

relax_module *cli_bind(const cli *c, relax_context *ctx, const relax_module *module,
                       const cli_arrays *params)
{
    relax_module *bound = NULL;
    const char **names = calloc(params->count + 1, sizeof *names);
    const DLTensor **arrays = calloc(params->count + 1, sizeof *arrays);
    if (names && arrays) {
        for (size_t i = 0; i < params->count; i++) {
            const cli_array *a = &params->items[i];
            names[i] = a->name;
            arrays[i] = a->mapped ? a->mapped : relax_tensor_view(a->tensor);
        }
        bound = relax_module_bind_memory(ctx, module, NULL, 0, names, arrays, params->count, NULL,
                                         NULL);
    } else {
        cli_error(c, "IN02", NULL, "out of memory");
    }
    free(names);
    free(arrays);
    return bound;
}

void cli_show_pass_time(const char *pass, double seconds, int32_t changed)
{
    fprintf(stderr, "%10.3f ms  %s%s\n", seconds * 1e3, pass, changed ? "" : " (nothing changed)");
}

typedef struct dump { const cli *c; relax_context *ctx; bool found; } dump;

static bool dumps_all(const cli *c) { return !strcmp(c->dump_after, "all"); }

/* Is there such a pass? Diagnostics say what is like it. */
static bool knows_dump(const cli *c, relax_context *ctx)
{
    if (!c->dump_after || dumps_all(c))
        return true;
    relax_pipeline *pipeline = relax_pipeline_create(ctx);
    bool known = pipeline && relax_pipeline_add(pipeline, c->dump_after, strlen(c->dump_after),
                                                NULL) == RELAX_OK;
    relax_pipeline_destroy(pipeline);
    return known;
}

static void dump_after(void *user, const char *pass, const relax_module *module, double seconds,
                       int32_t changed)
{
    dump *d = user;
    if (d->c->times)
        cli_show_pass_time(pass, seconds, changed);
    if (!d->c->dump_after)
        return;
    if (!dumps_all(d->c) && !cli_same_pass(d->c->dump_after, strlen(d->c->dump_after), pass))
        return;
    d->found = true;
    relax_bytes *text = relax_node_print(d->ctx, relax_module_as_node(module), NULL);
    printf("# ---- after %s%s\n%s\n", pass, changed ? "" : " (nothing changed)",
           text ? relax_bytes_data(text) : "");
    relax_bytes_release(text);
}

/* The product of a job: a program, or its kernels as C. */
typedef struct product {
    relax_executable *exe;
    relax_bytes *source, *header;
    cli_stream *out; /* NULL, or takes the program */
    bool as_c, not_dumped, written;
} product;

static void make(const cli *c, relax_context *ctx, const relax_module *module, product *p)
{
    relax_compile_options options;
    dump d = { c, ctx, false };
    relax_compile_options_init(&options, sizeof options);
    options.opt_level = (int32_t)c->opt_level;
    options.arithmetic = c->arithmetic;
    options.ranks = c->ranks;
    options.dtypes = c->dtypes;
    cli_target(c, &options);
    if (c->dump_after || c->times) {
        options.after_pass = dump_after;
        options.user = &d;
    }
    cli_progress("compiling");
    if (p->as_c) {
        p->source = relax_module_compile_to_c(ctx, module, &options);
        p->header = relax_module_c_header(ctx);
    } else if (p->out) {
        p->written = relax_module_compile_to_file(ctx, module, &options, cli_stream_write,
                                                  p->out) == RELAX_OK;
    } else {
        p->exe = relax_module_compile(ctx, module, &options);
    }
    cli_compilers_are_gone();
    p->not_dumped = c->dump_after && !dumps_all(c) && !d.found;
}

static bool run_job(const cli *c, const cli_file *file, const cli_arrays *params, product *p,
                    int *status)
{
    relax_context *ctx = cli_context(c, status);
    if (!ctx)
        return false;
    cli_progress("reading");
    relax_module *module = knows_dump(c, ctx) ? cli_parse_module(c, ctx, file) : NULL;
    if (module && params && !relax_context_num_errors(ctx))
        module = cli_bind(c, ctx, module, params);
    if (module && !relax_context_num_errors(ctx))
        make(c, ctx, module, p);
    cli_progress(NULL);
    *status = p->out && p->out->error ? CLI_FAULT : cli_diagnostics(c, ctx, 0);
    if (!p->exe && !(p->source && p->header) && !p->written && *status == CLI_OK)
        *status =
            cli_error(c, "IN01", file->name, "could not be compiled, and no diagnostic says why");
    else if (p->not_dumped && *status == CLI_OK)
        *status = cli_error(c, "OP10", NULL, "pass %s is no part of a build at --opt %d",
                            c->dump_after, (int)c->opt_level);
    relax_context_release(ctx);
    return *status == CLI_OK;
}

relax_executable *cli_compile(const cli *c, const cli_file *file, const cli_arrays *params,
                              int *status)
{
    product p = { .as_c = false };
    if (run_job(c, file, params, &p, status))
        return p.exe;
    relax_executable_release(p.exe);
    return NULL;
}

bool cli_compile_to_file(const cli *c, const cli_file *file, const cli_arrays *params,
                         cli_stream *out, int *status)
{
    product p = { .out = out };
    return run_job(c, file, params, &p, status);
}

bool cli_compile_to_c(const cli *c, const cli_file *file, const cli_arrays *params,
                      relax_bytes **source, relax_bytes **header, int *status)
{
    product p = { .as_c = true };
    bool ok = run_job(c, file, params, &p, status);
    *source = p.source;
    *header = p.header;
    return ok;
}
