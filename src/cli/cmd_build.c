/* cmd_build.c: relax build, relax dis. */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

static int save(const cli *c, const relax_executable *exe)
{
    relax_bytes *image = NULL;
    relax_error *error = NULL;
    if (relax_executable_serialize(exe, &image, &error) != RELAX_OK)
        return cli_run_error(c, c->output, error);
    bool ok = cli_write(c, c->output, NULL, 0, relax_bytes_data(image), relax_bytes_size(image));
    relax_bytes_release(image);
    return ok ? CLI_OK : CLI_FAULT;
}

/* Would it run? The sums of the constants were made of what was written. */
static bool loads(const cli *c, const char *path)
{
    relax_load_options options;
    relax_executable *exe = NULL;
    relax_error *error = NULL;
    relax_load_options_init(&options, sizeof options);
    options.map_file = 1;
    options.check_constants = 0;
    bool ok = relax_executable_load_file(path, strlen(path), &options, &exe, &error) == RELAX_OK;
    if (!ok)
        cli_run_error(c, c->output, error);
    relax_executable_release(exe);
    return ok;
}

/* Weights go to the file as they are packed, and are in memory one at a time. */
static int build_file(const cli *c, const cli_file *file, const cli_arrays *params)
{
    cli_stream out;
    int status = CLI_OK;
    cli_stream_begin(&out, c->output);
    bool ok = cli_compile_to_file(c, file, params, &out, &status);
    ok = cli_stream_close(&out) && ok && loads(c, out.temporary);
    if (cli_stream_end(&out, ok))
        return status;
    if (out.error)
        cli_error(c, "IO02", c->output, "cannot be written: %s", strerror(out.error));
    return status == CLI_OK ? CLI_FAULT : status;
}

static bool write_text(const cli *c, const char *name, const relax_bytes *text)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", c->output, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return cli_error(c, "IO02", c->output, "the path is too long") == CLI_OK;
    return cli_write(c, path, NULL, 0, relax_bytes_data(text), relax_bytes_size(text));
}

/* DIR/kernels.c and DIR/relax_kernels.h */
static int emit(const cli *c, const cli_file *file, const cli_arrays *params)
{
    relax_bytes *source = NULL, *header = NULL;
    int status = CLI_OK;
    if (cli_compile_to_c(c, file, params, &source, &header, &status)) {
        bool ok = cli_make_directory(c, c->output) && write_text(c, "relax_kernels.h", header) &&
                  write_text(c, "kernels.c", source);
        status = ok ? CLI_OK : CLI_FAULT;
    }
    relax_bytes_release(source);
    relax_bytes_release(header);
    return status;
}

/* Standard output takes a compiled file, and then nothing else. */
static int check_output(const cli *c)
{
    if (!c->output)
        return cli_usage(c, "relax build needs -o OUT.rlx");
    if (cli_same_file(c->output, c->files[0]) || cli_same_file(c->output, c->params))
        return cli_usage(c, "-o %s is what is read: the compiled program needs another name, as OUT.rlx",
                         c->output);
    if (strcmp(c->output, "-"))
        return CLI_OK;
    if (c->emit)
        return cli_usage(c, "--emit writes two files: -o names a directory");
    if (c->dump_after)
        return cli_usage(c, "--dump-after prints on standard output: -o names a file");
    return isatty(STDOUT_FILENO)
               ? cli_usage(c, "a compiled file is not for a terminal: -o FILE, or a pipe")
               : CLI_OK;
}

int cli_build(cli *c)
{
    int status = check_output(c);
    if (status != CLI_OK)
        return status;
    cli_file file;
    cli_arrays params = { 0 };
    if (!cli_read(c, c->files[0], &file))
        return CLI_FAULT;
    if (c->params && !cli_weights_read(c, c->params, &params))
        status = CLI_FAULT;
    if (status == CLI_OK && c->emit)
        status = emit(c, &file, c->params ? &params : NULL);
    else if (status == CLI_OK && cli_is_for_interpreter(c) && cli_can_replace(c->output))
        status = build_file(c, &file, c->params ? &params : NULL);
    else if (status == CLI_OK) {
        relax_executable *exe = cli_compile(c, &file, c->params ? &params : NULL, &status);
        if (exe)
            status = save(c, exe);
        relax_executable_release(exe);
    }
    cli_arrays_free(&params);
    cli_file_free(&file);
    return status;
}

/* Is it a sound file? Says what is wrong. */
static int verify(const cli *c, const cli_file *file)
{
    relax_executable *exe = NULL;
    relax_error *error = NULL;
    if (relax_executable_load(file->data, file->size, NULL, &exe, &error) != RELAX_OK)
        return cli_run_error(c, file->name, error);
    relax_executable_release(exe);
    return CLI_OK;
}

/* Of a file that is not sound, what can be shown. */
static int disassemble(const cli *c, const cli_file *file)
{
    relax_bytes *text = NULL;
    relax_error *error = NULL;
    if (relax_disassemble(file->data, file->size, &text, &error) != RELAX_OK)
        return cli_run_error(c, file->name, error);
    fwrite(relax_bytes_data(text), 1, relax_bytes_size(text), stdout);
    relax_bytes_release(text);
    return CLI_OK;
}

int cli_dis(cli *c)
{
    cli_file file;
    if (!cli_read(c, c->files[0], &file))
        return CLI_FAULT;
    int status = verify(c, &file);
    if (cli_is_compiled(&file)) {
        int shown = disassemble(c, &file);
        status = status == CLI_OK ? shown : status;
    }
    if (c->verify && status == CLI_OK)
        puts("verified: sound");
    cli_file_free(&file);
    return status;
}
