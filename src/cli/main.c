/* main.c: the table of commands. */
#include "cli/cli.h"

#include <signal.h>
#include <string.h>

/* options: one letter per option of the table in options.c */
typedef struct command {
    const char *name;
    int (*run)(cli *c);
    const char *options;
    int min_files, max_files;
    const char *usage;
} command;

static const command commands[] = {
    { "check", cli_check, "sNanjBY", 1, CLI_MAX_LIST,
      "relax check FILE...\n\nRead, check well-formedness, infer. Diagnostics go to standard "
      "error.\n" },
    { "print", cli_print, "sanjPwcB", 1, 1,
      "relax print FILE [--pass P,Q,...]\n\nCanonical TVMScript on standard output, after the "
      "named passes. Options of a pass follow it in\n"
      "braces, as in --pass 'bind_symbolic_vars{n=4,m=8},fold_constant{max_bytes=1000}' "
      "(relax passes NAME lists them).\n"
      "Weights of --params are bound first, or where the pass bind_params stands.\n" },
    { "opt", cli_print, "sanjPwcB", 1, 1,
      "relax opt FILE [--pass P,Q,...]\n\nThe same as relax print.\n" },
    { "build", cli_build, "sanjowtEuUCMOAdB", 1, 1,
      "relax build FILE -o OUT.rlx [--params W.npz]\n\nCompile to one file. --params binds "
      "weights by parameter name; the file is then complete.\n"
      "-o - writes to standard output.\n"
      "Target c: kernels are in the file as machine code too, which relax run --allow-native "
      "uses. The compiler is cc, or what\n"
      "RELAX_CC says (words as in a shell; empty: none).\n" },
    { "run", cli_run, "sanjewtuUCMiOApRxmTDVIHBb", 1, 1,
      "relax run FILE|OUT.rlx [--entry main] [--input A.npy]... [--params W.npz] [--output "
      "DIR]\n\n"
      "Inputs go to the entry's parameters by position: A.npy, B.npz:MEMBER, either after NAME=, "
      "NAME=int64:5,\n"
      "NAME=shape:2,3, NAME=str:TEXT; fields of a tuple as NAME.0=... Parameters left over are "
      "filled by name from --params.\n"
      "Results: a line each on standard output, and DIR/0.npy, 1.npy ... with --output; "
      "strings and dtypes as 0.txt.\n" },
    { "dis", cli_dis, "v", 1, 1,
      "relax dis OUT.rlx [--verify]\n\nThe content of a compiled file as text. One that is not "
      "sound is an error, after what can be\nshown of it; --verify says that it is sound.\n" },
    { "ops", cli_ops, "", 0, 1, "relax ops [NAME]\n\nThe operators, or all about one.\n" },
    { "passes", cli_passes, "", 0, 1, "relax passes [NAME]\n\nThe passes, or all about one.\n" },
    { "explain", cli_explain, "", 1, 1,
      "relax explain CODE\n\nWhat a diagnostic code means, with an example and the cure.\n" },
    { "version", cli_version, "", 0, 0, "relax version\n\nVersion of tool and library.\n" },
};

static const char overview[] =
    "relax: read, check, transform, compile and run programs in the Relax language\n\n"
    "  relax check FILE...                 read, check, infer\n"
    "  relax print FILE [--pass P,Q,...]   canonical text, after passes (also: relax opt)\n"
    "  relax build FILE -o OUT.rlx         compile to one file\n"
    "  relax run FILE|OUT.rlx              run a program\n"
    "  relax dis OUT.rlx                   show a compiled file\n"
    "  relax ops [NAME], relax passes [NAME], relax explain CODE, relax version\n\n"
    "relax COMMAND --help tells more. Exit code: 0 success, 1 the program or its input is at "
    "fault, 2 wrong usage, 3 our fault.\n";

void cli_print_options(const char *options); /* options.c */

static int show_help(const command *cmd)
{
    fputs(cmd->usage, stdout);
    cli_print_options(cmd->options);
    return CLI_OK;
}

static int unknown_command(const cli *c)
{
    cli_usage(c, "unknown command %s", c->command);
    fputs("relax --help lists the commands\n", stderr);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    relax_compile_options usual;
    relax_compile_options_init(&usual, sizeof usual);
    cli c = { .opt_level = usual.opt_level, .repeat = 1 };
    if (argc < 2) {
        fputs(overview, stderr);
        return CLI_USAGE;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that becomes too large is an error like others */
    c.command = argv[1];
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        fputs(overview, stdout);
        return CLI_OK;
    }
    if (!strcmp(argv[1], "--version"))
        c.command = "version";
    const char *files[CLI_MAX_LIST];
    c.files = files;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const command *cmd = &commands[i];
        if (strcmp(cmd->name, c.command))
            continue;
        int status = cli_parse(&c, argc, argv, cmd->options, cmd->min_files, cmd->max_files);
        if (status == CLI_OK)
            status = c.help ? show_help(cmd) : cmd->run(&c);
        cli_flush(&c, &status);
        return status;
    }
    return unknown_command(&c);
}
