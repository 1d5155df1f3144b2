/* cmd_import.c: relax import: an ONNX model as a text, and its weights as an archive; a text of Relay as one of Relax. */
#include "cli/cli.h"

#include <string.h>

enum { USUAL_FROM = 64 }; /* bytes */

/* The parameter of the function that stands for weight i: they come last. */
static const relax_expr *param_of(const relax_onnx_import *import, size_t i)
{
    const relax_module *m = relax_onnx_import_module(import);
    const relax_expr *f = (const relax_expr *)relax_module_function(m, relax_module_find(m, "main", 4));
    size_t n = relax_function_num_params(f);
    return relax_function_param(f, n - relax_onnx_import_num_params(import) + i);
}

static bool write_weight(const cli *c, cli_npz *z, const relax_onnx_import *import, size_t i)
{
    const relax_expr *e = relax_onnx_import_param_value(import, i);
    const char *name = relax_onnx_import_param_name(import, i, NULL);
    const relax_struct_info *info = relax_expr_struct_info(param_of(import, i));
    int64_t shape[64];
    int32_t ndim = relax_struct_info_ndim(info);
    size_t size = 0;
    const void *data = relax_constant_data(e, &size);
    bool fine = ndim >= 0 && ndim <= 64 && (data || !size);
    for (int32_t d = 0; fine && d < ndim; d++)
        fine = relax_prim_int_value(relax_struct_info_dim(info, (size_t)d), &shape[d]) == RELAX_OK;
    if (!fine || !cli_npz_add(z, name, relax_struct_info_dtype(info), shape, ndim, data, size)) {
        if (!z->out.error && !z->failed)
            cli_error(c, "NP03", c->params, "weight %s has no form in .npy files", name);
        return false;
    }
    return true;
}

static bool write_weights(const cli *c, const relax_onnx_import *import)
{
    cli_npz z;
    bool ok = true;
    cli_npz_begin(&z, c->params);
    for (size_t i = 0; ok && i < relax_onnx_import_num_params(import); i++) {
        cli_progress(relax_onnx_import_param_name(import, i, NULL));
        ok = write_weight(c, &z, import, i);
    }
    cli_progress(NULL);
    bool told = !ok && !z.out.error && !z.failed;
    return cli_npz_end(c, &z, c->params, !told) && ok;
}

/* import NULL: there are no weights beside the module. */
static int write_model(const cli *c, relax_context *ctx, const relax_module *module, const relax_onnx_import *import)
{
    int status = CLI_OK;
    relax_bytes *text = cli_text_of(c, ctx, module, true, &status);
    if (!text)
        return status;
    bool ok = (!import || !c->params || write_weights(c, import)) &&
              cli_write(c, c->output ? c->output : "-", relax_bytes_data(text), relax_bytes_size(text), "\n", 1);
    relax_bytes_release(text);
    return ok ? CLI_OK : CLI_FAULT;
}

static int import_relay(const cli *c)
{
    int status;
    cli_file file;
    if (c->params || c->params_from)
        return cli_usage(c, "--params goes with models that hold weights, not with a text of Relay");
    if (!cli_read(c, c->files[0], &file))
        return CLI_FAULT;
    relax_context *ctx = cli_context(c, &status);
    if (ctx) {
        const relax_module *module = cli_relay_module(ctx, &file);
        status = cli_diagnostics(c, ctx, 0);
        if (module && status == CLI_OK)
            status = write_model(c, ctx, module, NULL);
        else if (status == CLI_OK)
            status = cli_error(c, "IN01", c->files[0], "gave no module, and no diagnostic says why");
    }
    relax_context_release(ctx);
    cli_file_free(&file);
    return status;
}

int cli_import_command(cli *c)
{
    int status;
    if (cli_same_file(c->output, c->files[0]) || cli_same_file(c->params, c->files[0]))
        return cli_usage(c, "%s is what is read: what is written needs another name", c->files[0]);
    if (cli_is_relay(c->files[0]))
        return import_relay(c);
    if (!cli_is_onnx(c->files[0]))
        return cli_usage(c, "relax import reads files that end in .onnx or .rly, found %s", c->files[0]);
    if (c->params && !c->params_from)
        c->params_from = USUAL_FROM;
    if (!c->params && c->params_from)
        return cli_usage(c, "--params-from needs --params, where the weights go");
    relax_context *ctx = cli_context(c, &status);
    if (!ctx)
        return status;
    relax_onnx_import *import = cli_import(c, ctx, c->files[0]);
    status = cli_diagnostics(c, ctx, 0);
    if (status == CLI_OK && relax_onnx_import_module(import))
        status = write_model(c, ctx, relax_onnx_import_module(import), import);
    else if (status == CLI_OK)
        status = cli_error(c, "IN01", c->files[0], "gave no module, and no diagnostic says why");
    relax_onnx_import_destroy(import);
    relax_context_release(ctx);
    return status;
}
