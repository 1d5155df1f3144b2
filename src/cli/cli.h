/* cli.h: the tool bin/relax, a client of the public headers only. main.c holds the table of
 * commands, options.c that of options, cmd_*.c the commands. */
#ifndef RELAX_CLI_H
#define RELAX_CLI_H

#include <relax/relax.h>
#include <stdbool.h>
#include <stdio.h>

/* Exit codes: a contract that scripts rely on. */
enum { CLI_OK = 0, CLI_FAULT = 1, CLI_USAGE = 2, CLI_INTERNAL = 3 };

#define CLI_MAX_LIST 64


/* Everything the command line said. Texts point into argv. */
typedef struct cli {
    const char *command;
    const char **files; int num_files;
    const char *output;        /* -o, --output */
    const char *params;        /* --params W.npz */
    const char *passes;        /* --pass P,Q */
    const char *emit, *cpu, *cache; /* cache "": none */
    const char *target, *entry, *dump_after, *diagnostics, *profile_file;
    const char *inputs[CLI_MAX_LIST]; int num_inputs;
    const char *no_warn[CLI_MAX_LIST]; int num_no_warn;
    int64_t opt_level, max_memory, max_depth, repeat;
    double timeout;
    bool strict, notes, trust, color, verify, allow_native, unchecked, profile, json, help;
} cli;

/* Reads argv[2..] by the command's option letters; CLI_OK, or CLI_USAGE after a message. */
int cli_parse(cli *c, int argc, char **argv, const char *options, int min_files, int max_files);
/* A number such as 7, 1.5 or 1e6; false: not one. The same under every locale. */
bool cli_parse_number(const char *text, double *out);
bool cli_parse_int(const char *text, int64_t *out);

/* ---- files (files.c) */
/* data is NUL-terminated */
typedef struct cli_file { char *data; size_t size; const char *name; } cli_file;
/* "-": standard input. Reports IO01, IO04 */
bool cli_read(const cli *c, const char *path, cli_file *out);
void cli_file_free(cli_file *f);
/* Whole or not at all: temporary file beside it, then rename. Reports IO02. */
bool cli_write(const cli *c, const char *path, const void *head, size_t head_size,
               const void *data, size_t size);
bool cli_make_directory(const cli *c, const char *path); /* fine if it exists. Reports IO03 */

/* ---- messages (report.c). All go to standard error. */
/* `error[CODE]: message`, after "FILE: " if file is not NULL; as JSON with --diagnostics json.
 * Returns CLI_FAULT. */
int cli_error(const cli *c, const char *code, const char *file, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Text that may come from a file, harmless for a terminal: control characters and broken UTF-8
 * become '?'. */
void cli_put_text(FILE *out, const char *text);
/* returns CLI_USAGE */
int cli_usage(const cli *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* releases it; returns CLI_FAULT or CLI_INTERNAL */
int cli_run_error(const cli *c, const char *file, relax_error *error);
/* Prints the diagnostics from index `first` on; CLI_OK if there were no errors. */
int cli_diagnostics(const cli *c, relax_context *ctx, size_t first);
void cli_progress(const char *text);  /* on a terminal only; NULL clears the line */
/* standard output reached its reader; else IO02 and CLI_FAULT */
bool cli_flush(const cli *c, int *status);

/* ---- contexts and modules (module.c) */
relax_context *cli_context(const cli *c, int *status);
/* Reads and parses a text file. *errors: number of errors so far. NULL: no module (diagnostics
 * printed by the caller). */
relax_module *cli_parse_module(const cli *c, relax_context *ctx, const cli_file *file);
/* Parses, checks, compiles a text; binds `params` first if not NULL. here: it runs on this
 * machine. NULL with *status set after printing everything. */
struct cli_arrays;
relax_executable *cli_compile(const cli *c, const cli_file *file, const struct cli_arrays *params,
                              bool here, int *status);
/* Parses, checks and compiles a text to the kernels as C and their header. False with *status set
 * after printing everything. */
bool cli_compile_to_c(const cli *c, const cli_file *file, const struct cli_arrays *params,
                      relax_bytes **source, relax_bytes **header, int *status);
/* Target, compiler, cache (compiler.c). */
void cli_target(const cli *c, bool here, relax_compile_options *o);

/* ---- arrays (npy.c, npz.c) */
typedef struct cli_array { char *name; relax_tensor *tensor; } cli_array;
typedef struct cli_arrays { cli_array *items; size_t count; } cli_arrays;
/* One array from the bytes of a .npy file. NULL after a report naming `file`. */
relax_tensor *cli_npy_parse(const cli *c, const char *file, const unsigned char *data,
                            size_t size);
relax_tensor *cli_npy_read(const cli *c, const char *path);
bool cli_npy_write(const cli *c, const char *path, relax_dtype dtype, const int64_t *shape,
                   int ndim, const void *data, size_t size);
/* All arrays of an archive, or the one called `member` if not NULL. */
bool cli_npz_read(const cli *c, const char *path, const char *member, cli_arrays *out);
/* The arrays of an archive as weights: what a name cannot hold (`layer0.wq`) is an underscore
 * in theirs. */
bool cli_weights_read(const cli *c, const char *path, cli_arrays *out);
char cli_name_byte(char b); /* the byte of a weight's name for this one of a member's */
void cli_arrays_free(cli_arrays *a);

/* ---- arguments and results of a run (inputs.c, results.c) */
int cli_bind_inputs(const cli *c, const relax_executable *exe, int32_t function,
                    const cli_arrays *params, relax_value **args, size_t *num_args);
void cli_release_values(relax_value *values, size_t count);
/* summary lines, and files with --output */
int cli_show_results(const cli *c, const relax_value *result);
/* The text with {} replaced by values, {{ and }} by braces; how many values it took. */
size_t cli_put_format(const char *format, size_t len, const relax_value *values, size_t count);
/* the summary lines alone, without numbers */
void cli_show_value(const cli *c, const relax_value *value);

/* ---- commands: exit code */
int cli_check(cli *c);
int cli_print(cli *c);
int cli_build(cli *c);
int cli_run(cli *c);
int cli_dis(cli *c);
int cli_ops(cli *c);
int cli_passes(cli *c);
int cli_explain(cli *c);
int cli_version(cli *c);

#endif
