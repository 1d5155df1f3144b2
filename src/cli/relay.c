/* relay.c: texts of Relay (.rly): checked and printed as they are, otherwise translated to Relax. */
#include "cli/cli.h"

#include <string.h>

bool cli_is_relay(const char *path)
{
    size_t len = strlen(path);
    return len > 4 && !strcmp(path + len - 4, ".rly");
}

/* The module, its types inferred; NULL: diagnostics say why, or it is destroyed already. */
static relax_relay_module *read_relay(relax_context *ctx, const cli_file *file)
{
    relax_relay_module *m =
        relax_relay_module_parse(ctx, file->name, strlen(file->name), file->data, file->size);
    if (m && relax_relay_module_infer(m) == RELAX_OK)
        return m;
    relax_relay_module_destroy(m);
    return NULL;
}

static int put_relay(const cli *c, relax_relay_module *m)
{
    relax_bytes *text = relax_relay_module_print(m);
    if (!text)
        return cli_error(c, "IN02", NULL, "out of memory, or too many scopes are nested");
    fwrite(relax_bytes_data(text), 1, relax_bytes_size(text), stdout);
    relax_bytes_release(text);
    return CLI_OK;
}

relax_module *cli_relay_module(relax_context *ctx, const cli_file *file)
{
    relax_relay_module *m = read_relay(ctx, file);
    relax_module *module = m ? relax_relay_module_translate(m) : NULL;
    relax_relay_module_destroy(m);
    return module;
}

int cli_relay(const cli *c, const char *path, bool print)
{
    int status;
    cli_file file;
    if (!cli_read(c, path, &file))
        return CLI_FAULT;
    relax_context *ctx = cli_context(c, &status);
    if (ctx) {
        relax_relay_module *m = read_relay(ctx, &file);
        status = cli_diagnostics(c, ctx, 0);
        if (m && print && status == CLI_OK)
            status = put_relay(c, m);
        if (!m && status == CLI_OK)
            status = cli_error(c, "IN01", path, "could not be read, and no diagnostic says why");
        relax_relay_module_destroy(m);
    }
    relax_context_release(ctx);
    cli_file_free(&file);
    return status;
}
