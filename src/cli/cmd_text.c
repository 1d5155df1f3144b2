/* cmd_text.c: relax check, relax print. */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

/* Devices spread before they are judged. */
static void check_devices(relax_context *ctx, relax_module *module)
{
    relax_pipeline *pipeline = relax_pipeline_create(ctx);
    if (pipeline && relax_pipeline_add(pipeline, "realize_vdevice", 15, NULL) == RELAX_OK)
        relax_pipeline_run(pipeline, module);
    relax_pipeline_destroy(pipeline);
}

static int check_one(const cli *c, const char *path)
{
    int status;
    cli_file file;
    if (!cli_read(c, path, &file))
        return CLI_FAULT;
    relax_context *ctx = cli_context(c, &status);
    if (ctx) {
        relax_module *module = cli_parse_module(c, ctx, &file);
        if (module && !relax_context_num_errors(ctx) &&
            relax_module_well_formed(ctx, module, RELAX_CHECK_ALL) == 1 &&
            (module = relax_module_infer(ctx, module)) != NULL)
            check_devices(ctx, module);
        status = cli_diagnostics(c, ctx, 0);
        if (!module && status == CLI_OK)
            status = cli_error(c, "IN01", path, "could not be read, and no diagnostic says why");
    }
    relax_context_release(ctx);
    cli_file_free(&file);
    return status;
}

int cli_check(cli *c)
{
    int worst = CLI_OK;
    for (int i = 0; i < c->num_files; i++) {
        int status = cli_is_relay(c->files[i]) ? cli_relay(c, c->files[i], false)
                                               : check_one(c, c->files[i]);
        worst = status > worst ? status : worst;
    }
    return worst;
}

/* ---- print ---------------------------------------------------------------------------------- */

#define GREY "\033[90m"
#define GREEN "\033[32m"
#define BLUE "\033[34m"
#define YELLOW "\033[33m"
#define RESET "\033[0m"

static bool is_word(char ch)
{
    return ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           (ch >= '0' && ch <= '9');
}

static bool is_keyword(const char *word, size_t len)
{
    static const char *const words[] = { "class",  "def",   "with",  "as",   "for",
                                         "in",     "while", "if",    "else", "return",
                                         "assert", "and",   "or",    "not",  "lambda",
                                         "None",   "True",  "False", "pass" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == len && !memcmp(words[i], word, len))
            return true;
    return false;
}

/* Length of the piece at p (end: past the text) and its colour, NULL for none. */
static size_t next_piece(const char *p, const char *end, const char **colour)
{
    const char *q = p + 1;
    *colour = NULL;
    if (*p == '#') {
        *colour = GREY;
        while (q < end && *q != '\n')
            q++;
    } else if (*p == '"') {
        *colour = GREEN;
        while (q < end && *q != '"')
            q += 1 + (*q == '\\' && q + 1 < end);
        q += q < end;
    } else if (*p == '@') {
        *colour = YELLOW;
        while (q < end && (is_word(*q) || *q == '.'))
            q++;
    } else if (is_word(*p)) {
        while (q < end && is_word(*q))
            q++;
        if (is_keyword(p, (size_t)(q - p)))
            *colour = BLUE;
    }
    return (size_t)(q - p);
}

static void put_coloured(const char *text, size_t size)
{
    for (const char *p = text, *end = text + size; p < end;) {
        const char *colour;
        size_t len = next_piece(p, end, &colour);
        if (colour)
            fputs(colour, stdout);
        fwrite(p, 1, len, stdout);
        if (colour)
            fputs(RESET, stdout);
        p += len;
    }
}

static int not_printed(const cli *c, relax_error *error)
{
    const char *place = relax_error_trace(error, NULL);
    if (relax_error_status(error) == RELAX_ERROR_OUT_OF_MEMORY)
        return cli_error(c, "IN02", NULL, "out of memory");
    cli_error(c, relax_error_code(error), *place ? place : NULL, "%s",
              relax_error_message(error, NULL));
    relax_error_release(error);
    return CLI_FAULT;
}

relax_bytes *cli_text_of(const cli *c, relax_context *ctx, const relax_module *module, bool standalone,
                         int *status)
{
    relax_print_options options;
    relax_error *error = NULL;
    relax_print_options_init(&options, sizeof options);
    options.standalone = standalone;
    if (c->dialect && strcmp(c->dialect, "0.27") == 0)
        options.dialect = RELAX_DIALECT_0_27;
    else if (c->dialect && strcmp(c->dialect, "0.20") != 0)
        return *status = cli_usage(c, "--dialect is 0.20 or 0.27, not %s", c->dialect), NULL;
    options.error = &error;
    relax_bytes *text = relax_node_print(ctx, relax_module_as_node(module), &options);
    if (!text)
        *status = not_printed(c, error);
    return text;
}

static int put_module(const cli *c, relax_context *ctx, const relax_module *module,
                      bool standalone)
{
    int status = CLI_OK;
    relax_bytes *text = cli_text_of(c, ctx, module, standalone, &status);
    if (!text)
        return status;
    if (c->color && isatty(STDOUT_FILENO))
        put_coloured(relax_bytes_data(text), relax_bytes_size(text));
    else
        fwrite(relax_bytes_data(text), 1, relax_bytes_size(text), stdout);
    fputc('\n', stdout);
    relax_bytes_release(text);
    return CLI_OK;
}

int cli_print(cli *c)
{
    int status;
    cli_file file;
    cli_arrays params = { 0 };
    if (cli_is_relay(c->files[0]) && !c->passes)
        return cli_relay(c, c->files[0], true);
    if (c->params && !cli_weights_read(c, c->params, &params))
        return CLI_FAULT;
    if (!cli_read(c, c->files[0], &file))
        return cli_arrays_free(&params), CLI_FAULT;
    relax_context *ctx = cli_context(c, &status);
    if (ctx) {
        relax_module *module = cli_parse_module(c, ctx, &file);
        bool standalone = relax_module_is_standalone(module) == 1;
        if (module && !relax_context_num_errors(ctx))
            module = cli_run_passes(c, ctx, module, c->params ? &params : NULL, &status);
        if (status == CLI_OK)
            status = cli_diagnostics(c, ctx, 0);
        if (module) {
            int printed = put_module(c, ctx, module, standalone);
            status = status == CLI_OK ? printed : status;
        } else if (status == CLI_OK) {
            status = cli_error(c, "IN01", file.name, "gave no module, and no diagnostic says why");
        }
    }
    relax_context_release(ctx);
    cli_arrays_free(&params);
    cli_file_free(&file);
    return status;
}
