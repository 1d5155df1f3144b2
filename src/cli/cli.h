/* cli.h: the tool bin/relax, a client of the public headers and base/compiler.h only. main.c holds
 * the table of commands, options.c that of options, cmd_*.c the commands. */
#ifndef RELAX_CLI_H
#define RELAX_CLI_H

#include <relax/relax.h>
#include <stdbool.h>
#include <stdio.h>
#include "base/compiler.h"

/* Exit codes: a contract that scripts rely on. */
enum { CLI_OK = 0, CLI_FAULT = 1, CLI_USAGE = 2, CLI_INTERNAL = 3 };

#define CLI_MAX_LIST 64


/* Everything the command line said. Texts point into argv. */
typedef struct cli {
    const char *command, *usage;
    const char **files; int num_files;
    const char *output;        /* -o, --output */
    const char *params;        /* --params W.npz */
    const char *passes;        /* --pass P,Q */
    const char *emit, *cpu, *cache; /* cache "": none */
    const char *target, *arithmetic, *entry, *dump_after, *diagnostics, *profile_file;
    const char *inputs[CLI_MAX_LIST]; int num_inputs;
    const char *ranks[CLI_MAX_LIST + 1], *dtypes[CLI_MAX_LIST + 1]; int num_ranks, num_dtypes;
    const char *no_warn[CLI_MAX_LIST]; int num_no_warn;
    const char *sizes[CLI_MAX_LIST]; int num_sizes; /* --size n=3 */
    const char *expect;        /* --expect */
    double rtol, atol;
    const char *instruction_set;
    const char *dims[CLI_MAX_LIST]; int num_dims;   /* --dim NAME=SIZE */
    bool *bound;               /* relax run: inputs that are constants of the program */
    int64_t params_from;       /* bytes */
    int64_t opt_level, max_memory, max_depth, repeat, warmup, compiler_memory, threads;
    double timeout;
    const char *dialect;
    bool strict, notes, trust, color, verify, allow_native, unchecked, profile, json, help;
    bool as_json, times;       /* --json: what goes to standard output; --time-passes */
    bool no_bind, onnx_report;
    const char *binds[CLI_MAX_LIST]; int num_binds; /* --bind NAME=A.npy */
} cli;

#define CLI_MAX_THREADS 256
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
bool cli_is_compiled(const cli_file *f); /* or meant to be */
/* Is it a regular file that begins like a compiled one? */
bool cli_can_map(const char *path);
void cli_file_free(cli_file *f);
/* Whole or not at all: temporary file beside it, then rename; where it is a link, what that leads
 * to. "-": standard output. Reports IO02. */
bool cli_write(const cli *c, const char *path, const void *head, size_t head_size,
               const void *data, size_t size);
/* The same piece by piece: begin, write, close, end. The file is made when the first is written; `error` is
 * of the first that could not be. */
typedef struct cli_stream { char *target, *temporary; int fd, error; } cli_stream;
bool cli_same_file(const char *a, const char *b); /* there is one regular file of both names */
bool cli_can_replace(const char *path); /* neither standard output nor a device */
void cli_stream_begin(cli_stream *s, const char *path);
int32_t cli_stream_write(void *stream, uint64_t offset, const void *data, size_t size);
bool cli_stream_close(cli_stream *s);          /* what `temporary` names is whole */
bool cli_stream_end(cli_stream *s, bool keep); /* false: nothing is left of it; errno says why */
bool cli_make_directory(const cli *c, const char *path); /* fine if it exists. Reports IO03 */

/* ---- messages (report.c). All go to standard error. */
/* `error[CODE]: message`, after "FILE: " if file is not NULL; as JSON with --diagnostics json.
 * Returns CLI_FAULT. */
RLX_PRINTF(4, 5)
int cli_error(const cli *c, const char *code, const char *file, const char *format, ...);
/* Text that may come from a file, harmless for a terminal: control characters and broken UTF-8
 * become '?'. */
void cli_put_text(FILE *out, const char *text);
/* The same as a warning. */
RLX_PRINTF(4, 5)
void cli_warning(const cli *c, const char *code, const char *file, const char *format, ...);
void cli_put_json(FILE *out, const char *text); /* in quotes */
/* returns CLI_USAGE */
RLX_PRINTF(2, 3)
int cli_usage(const cli *c, const char *format, ...);
/* releases it; returns CLI_FAULT or CLI_INTERNAL */
int cli_run_error(const cli *c, const char *file, relax_error *error);
/* Prints the diagnostics from index `first` on; CLI_OK if there were no errors. */
int cli_diagnostics(const cli *c, relax_context *ctx, size_t first);
void cli_progress(const char *text);  /* on a terminal only; NULL clears the line */
/* standard output reached its reader; else IO02 and CLI_FAULT */
bool cli_flush(const cli *c, int *status);

/* ---- signals that end the tool (endings.c) */
/* Did one come? What the library asks while compilers run; from then on they wait for this. */
int32_t cli_is_ended(void *user);
void cli_compilers_are_gone(void);        /* and now the signal ends the tool */
void cli_hold_signals(bool hold);         /* they come when they are let go */
/* A file that goes if a signal comes; NULL: none any more. */
void cli_unfinished(const char *path);

/* The module as text; NULL with *status set after a report (cmd_text.c). */
relax_bytes *cli_text_of(const cli *c, relax_context *ctx, const relax_module *module, bool standalone,
                         int *status);
/* ---- contexts and modules (module.c) */
relax_context *cli_context(const cli *c, int *status);
/* Reads and parses a text file. *errors: number of errors so far. NULL: no module (diagnostics
 * printed by the caller). */
/* A text of Relay (relay.c): by its name; check it, print it. */
bool cli_is_relay(const char *path);
int cli_relay(const cli *c, const char *path, bool print);
relax_module *cli_relay_module(relax_context *ctx, const cli_file *file); /* translated to Relax */
relax_module *cli_parse_module(const cli *c, relax_context *ctx, const cli_file *file);
/* Parses, checks, compiles a text; binds `params` first if not NULL. NULL with *status set after
 * printing everything. */
struct cli_arrays;
relax_executable *cli_compile(const cli *c, const cli_file *file,
                              const struct cli_arrays *params, int *status);
/* The same into a file. False with *status set after printing everything but what *out says. */
bool cli_compile_to_file(const cli *c, const cli_file *file, const struct cli_arrays *params,
                         cli_stream *out, int *status);
/* Is there nothing but bytecode in the product? */
bool cli_is_for_interpreter(const cli *c);
/* Parses, checks and compiles a text to the kernels as C and their header. False with *status set
 * after printing everything. */
bool cli_compile_to_c(const cli *c, const cli_file *file, const struct cli_arrays *params,
                      relax_bytes **source, relax_bytes **header, int *status);
/* Parameters become constants, in whose place the arrays lie: they stay until the context is gone.
 * NULL after a report. */
relax_module *cli_bind(const cli *c, relax_context *ctx, const relax_module *module,
                       const struct cli_arrays *params);
/* ---- models in ONNX's format (onnx_model.c) */
bool cli_is_onnx(const char *path);
/* Diagnostics say what is wrong. NULL: so wrong that nothing can be told. */
relax_onnx_import *cli_import(const cli *c, relax_context *ctx, const char *path);
relax_module *cli_import_module(const cli *c, relax_context *ctx, const char *path);
/* ---- passes (passes.c) */
/* Those of --pass; `params` may be NULL. NULL: *status is CLI_USAGE, or diagnostics say why. */
relax_module *cli_run_passes(const cli *c, relax_context *ctx, relax_module *module,
                             const struct cli_arrays *params, int *status);
void cli_show_pass_time(const char *pass, double seconds, int32_t changed); /* module.c */
bool cli_same_pass(const char *text, size_t len, const char *name); /* - may stand for _ */
/* Target, compiler, cache (compiler.c). */
void cli_target(const cli *c, relax_compile_options *o);

/* ---- zip files (zip.c) */
typedef struct cli_zip {
    int fd;
    uint64_t size, directory_at, entries, seen;
    uint64_t counted; /* bits of `entries` that are stated */
    unsigned char *directory;
    size_t directory_size, next;
    void *map; /* `size` bytes of the file, read-only; NULL: not mapped */
} cli_zip;
/* name: not terminated, of the archive. at: of the header in front of it */
typedef struct cli_zip_member {
    const char *name; size_t name_len;
    uint16_t flags, method;
    uint32_t crc;
    uint64_t packed, unpacked, at;
} cli_zip_member;
enum cli_zip_step { CLI_ZIP_END, CLI_ZIP_MEMBER, CLI_ZIP_DAMAGED };
bool cli_zip_open(cli_zip *z, const char *path); /* false: it is none */
void cli_zip_close(cli_zip *z);
enum cli_zip_step cli_zip_next(cli_zip *z, cli_zip_member *m);
/* The content, stored (method 0) or deflated (8), into unpacked + 1 bytes. NULL, or what is wrong
 * with it and *code. */
const char *cli_zip_read(const cli_zip *z, const cli_zip_member *m, unsigned char *to,
                         const char **code);
/* The content of a stored member where it lies in the file, which is mapped for it. NULL: there is no such
 * place, or something is wrong with the member; reading it says what. */
const unsigned char *cli_zip_stored(cli_zip *z, const cli_zip_member *m);
/* From now on the map is the caller's. */
void *cli_zip_take_map(cli_zip *z);

uint32_t cli_crc32(const unsigned char *data, size_t size); /* of zip files (crc32.c) */

/* ---- arrays (npy.c, npz.c) */
/* mapped: where the array lies in the map of an archive, not aligned; then `tensor` is NULL until
 * cli_array_tensor makes one of it. */
typedef struct cli_array { char *name; relax_tensor *tensor; DLTensor *mapped; } cli_array;
typedef struct cli_arrays {
    cli_array *items; size_t count;
    void *map; size_t map_size;
} cli_arrays;
/* One array from the bytes of a .npy file. NULL after a report naming `file`. */
relax_tensor *cli_npy_parse(const cli *c, const char *file, const unsigned char *data,
                            size_t size);
/* The same, takes over `data`, which is malloc'ed: the tensor keeps it if its elements are aligned to
 * CLI_DATA_ALIGN there, as numpy puts them in a file that begins so. */
#define CLI_DATA_ALIGN 64
relax_tensor *cli_npy_take(const cli *c, const char *file, unsigned char *data, size_t size);
relax_tensor *cli_npy_read(const cli *c, const char *path);
/* The array in the bytes of a .npy file as they lie there, malloc'ed. NULL: it has to be read. */
DLTensor *cli_npy_view(const unsigned char *data, size_t size);
/* What stands in front of the elements; its length, a multiple of 64, or 0: the dtype has none. */
#define CLI_NPY_HEAD 2048
int cli_npy_head(relax_dtype dtype, const int64_t *shape, int ndim, char head[CLI_NPY_HEAD]);
bool cli_npy_write(const cli *c, const char *path, relax_dtype dtype, const int64_t *shape,
                   int ndim, const void *data, size_t size);
/* ---- archives that are written (npz_write.c): begin, add each, end. Elements are aligned to 64 bytes. */
typedef struct cli_npz {
    cli_stream out;
    uint64_t at, num_members;
    unsigned char *directory;
    size_t directory_size, directory_room;
    bool failed; /* out of memory; else out.error says why */
} cli_npz;
void cli_npz_begin(cli_npz *z, const char *path);
/* False: nothing more can be written, or the dtype has no form there. */
bool cli_npz_add(cli_npz *z, const char *name, relax_dtype dtype, const int64_t *shape, int ndim,
                 const void *data, size_t size);
/* False after a report; there is no file then. */
bool cli_npz_end(const cli *c, cli_npz *z, const char *path, bool keep);

/* All arrays of an archive, or the one called `member` if not NULL. */
bool cli_npz_read(const cli *c, const char *path, const char *member, cli_arrays *out);
/* The arrays of an archive as weights: what a name cannot hold (`layer0.wq`) is an underscore
 * in theirs. Those that are stored are mapped: a file that becomes shorter meanwhile ends the tool
 * by SIGBUS. */
bool cli_weights_read(const cli *c, const char *path, cli_arrays *out);
/* NULL after a report. */
relax_tensor *cli_array_tensor(const cli *c, cli_array *array);
char cli_name_byte(char b); /* the byte of a weight's name for this one of a member's */
void cli_arrays_free(cli_arrays *a);

/* A program from a compiled file or a text. mapped: the file is mapped, and of `file` there is only
 * the name (cmd_run.c). NULL with *status set. */
relax_executable *cli_load(const cli *c, const cli_file *file, bool mapped, int *status);

/* ---- arguments and results of a run (inputs.c, results.c) */
int cli_bind_inputs(const cli *c, const relax_executable *exe, size_t function,
                    cli_arrays *params, relax_value **args, size_t *num_args);
void cli_release_values(relax_value *values, size_t count);
/* ---- arguments that are made (generate.c) */
typedef struct cli_size { char *name; int64_t value; } cli_size;
typedef struct cli_sizes { cli_size *items; size_t count; } cli_sizes;
/* The first value of a name stays. False: out of memory. */
bool cli_sizes_add(cli_sizes *sizes, const char *name, size_t len, int64_t value);
/* Those that a value of that description says. False: out of memory. */
bool cli_sizes_of(cli_sizes *sizes, const relax_executable *exe, const relax_description *of,
                  const relax_value *value);
int cli_sizes_read(const cli *c, cli_sizes *sizes); /* those of --size */
void cli_sizes_free(cli_sizes *sizes);
/* zeros, ones, random:7 or numbers? */
bool cli_is_made(const char *text);
int cli_make_value(const cli *c, const relax_executable *exe, const relax_description *of,
                   const char *name, const char *text, const cli_sizes *sizes, relax_value *out);
/* ---- results (results.c, expect.c) */
/* Each part of a value that is no tuple, depth first; what is not CLI_OK ends it. */
typedef int cli_leaf_fn(const cli *c, void *user, size_t index, const relax_value *leaf);
int cli_each_leaf(const cli *c, const relax_value *value, cli_leaf_fn *leaf, void *user);
/* What a leaf is as an array: its dtype, sizes and elements; false: no numbers. `scratch`: 8 bytes. */
typedef struct cli_numbers {
    relax_dtype dtype;
    const int64_t *shape;
    int32_t ndim;
    const void *data;
    size_t count;
    int64_t one_size;
    unsigned char scratch[8];
} cli_numbers;
bool cli_numbers_of(const relax_value *leaf, cli_numbers *out);
double cli_number_at(relax_dtype dtype, const void *p);
/* Compares with the files of --expect. */
int cli_compare_results(const cli *c, const relax_value *result);
/* summary lines, and files with --output */
int cli_show_results(const cli *c, const relax_value *result);
/* The text with {} replaced by values, {{ and }} by braces; how many values it took. */
size_t cli_put_format(const char *format, size_t len, const relax_value *values, size_t count);
/* the summary lines alone, without numbers */
void cli_show_value(const cli *c, const relax_value *value);

/* ---- commands: exit code */
int cli_check(cli *c);
int cli_print(cli *c);
int cli_import_command(cli *c);
int cli_build(cli *c);
int cli_run(cli *c);
int cli_dis(cli *c);
int cli_info(cli *c);
int cli_ops(cli *c);
int cli_passes(cli *c);
int cli_explain(cli *c);
int cli_version(cli *c);

#endif
