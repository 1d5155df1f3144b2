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
    { "check", cli_check, "sNanjJBgZ", 1, CLI_MAX_LIST,
      "relax check FILE...\n\nRead, check well-formedness, infer. Diagnostics go to standard "
      "error.\n" },
    { "print", cli_print, "sanjPwQcyBg", 1, 1,
      "relax print FILE [--pass P,Q,...] [--dialect 0.27]\n\nCanonical TVMScript on standard output, after the "
      "named passes. Options of a pass follow it:\n"
      "--pass bind_symbolic_vars:n=4,m=8,fold_constant:max_bytes=1000, or in braces, as in\n"
      "'bind_symbolic_vars{n=4,m=8}' (relax passes NAME lists them).\n"
      "Weights of --params are bound first, or where the pass bind_params stands.\n" },
    { "opt", cli_print, "sanjPwQcyBg", 1, 1,
      "relax opt FILE [--pass P,Q,...]\n\nThe same as relax print.\n" },
    { "import", cli_import_command, "sanjowzQBg", 1, 1,
      "relax import MODEL.onnx -o MODEL.py [--params W.npz]\n\nAn ONNX model as a text. With --params "
      "its large weights become parameters of the function and go\nto the archive, which relax run and "
      "relax build take as --params; without it the text holds them.\n"
      "relax import M.rly -o M.py: a text of Relay as one of Relax.\n" },
    { "build", cli_build, "sanjowtEuUCMOAdKYyBg", 1, 1,
      "relax build FILE -o OUT.rlx [--params W.npz]\n\nCompile to one file. --params binds "
      "weights by parameter name; the file is then complete.\n"
      "-o - writes to standard output.\n"
      "Target c: kernels are in the file as machine code too, which relax run --allow-native "
      "uses. The compiler is cc, or what\n"
      "RELAX_CC says (words as in a shell; empty: none).\n" },
    { "run", cli_run, "sanjewtuUCMiSOApRWxmTDXrlJVIHyBbg", 1, 1,
      "relax run FILE|OUT.rlx [--entry main] [--input A.npy]... [--params W.npz] [--output "
      "DIR]\n\n"
      "Inputs go to the entry's parameters by position: A.npy, B.npz:MEMBER, either after NAME=, "
      "NAME=int64:5,\n"
      "NAME=float32:0.5, NAME=bool:true, NAME=shape:2,3, NAME=str:TEXT; fields of a tuple as "
      "NAME.0=... Parameters left over are\nfilled by name from --params.\n"
      "Without a file: NAME=1.0,2.0,3.0 (the elements), NAME=zeros, NAME=ones, NAME=random:7 (a "
      "seed: floats from -1 to 1,\nintegers from 0 to 9), of the sizes that the parameter, the "
      "other arguments and --size say, or NAME=zeros:3,4.\n"
      "Results: a line each on standard output, and DIR/0.npy, 1.npy ... with --output; "
      "strings and dtypes as 0.txt.\n"
      "--expect compares them with such files. --json prints them whole.\n" },
    { "info", cli_info, "jJxwtOBg", 1, 1,
      "relax info FILE|OUT.rlx [--json]\n\nWhat a program takes and gives: its functions with "
      "their parameters and results, the packed functions it\nneeds, sizes, and the machines it "
      "has code for. A text is compiled for it.\n" },
    { "dis", cli_dis, "v", 1, 1,
      "relax dis OUT.rlx [--verify]\n\nThe content of a compiled file as text. One that is not "
      "sound is an error, after what can be\nshown of it; --verify says that it is sound.\n" },
    { "ops", cli_ops, "J", 0, 1, "relax ops [NAME]\n\nThe operators, or all about one.\n" },
    { "passes", cli_passes, "J", 0, 1, "relax passes [NAME]\n\nThe passes, or all about one.\n" },
    { "explain", cli_explain, "", 1, 1,
      "relax explain CODE\n\nWhat a diagnostic code means, with an example and the cure.\n" },
    { "version", cli_version, "", 0, 0, "relax version\n\nVersion of tool and library.\n" },
};

static const char overview[] =
    "relax: read, check, transform, compile and run programs in the Relax language\n\n"
    "  relax check FILE...                 read, check, infer\n"
    "  relax print FILE [--pass P,Q,...]   canonical text, after passes (also: relax opt)\n"
    "  relax import M.onnx -o M.py         an ONNX model as a text\n"
    "  relax build FILE -o OUT.rlx         compile to one file\n"
    "  relax run FILE|OUT.rlx              run a program\n"
    "  relax info FILE|OUT.rlx             what a program takes, gives and needs\n"
    "  relax dis OUT.rlx                   show a compiled file\n"
    "  relax ops [NAME], relax passes [NAME], relax explain CODE, relax version\n\n"
    "relax COMMAND --help tells more. FILE may be - for standard input. No compiler is started "
    "unless --target c asks for one.\nExit code: 0 success, 1 the program or its input is at "
    "fault, 2 wrong usage, 3 our fault.\n";

void cli_print_options(const char *options); /* options.c */

static int show_help(const command *cmd)
{
    fputs(cmd->usage, stdout);
    cli_print_options(cmd->options);
    return CLI_OK;
}

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

/* Letters put in, left out or exchanged between two words; long words differ in more than matters. */
static size_t letters_between(const char *a, const char *b)
{
    enum { LONGEST = 15 };
    size_t row[LONGEST + 1], n = strlen(b);
    if (strlen(a) > LONGEST || n > LONGEST)
        return LONGEST;
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 0; a[i]; i++) {
        size_t before = row[0];
        row[0] = i + 1;
        for (size_t k = 1; k <= n; k++) {
            size_t best = before + (a[i] != b[k - 1]);
            before = row[k];
            best = best < row[k] + 1 ? best : row[k] + 1;
            row[k] = best < row[k - 1] + 1 ? best : row[k - 1] + 1;
        }
    }
    return row[n];
}

static const char *near_command(const char *name)
{
    static const struct { const char *other, *name; } meant[] = {
        { "compile", "build" },  { "make", "build" },     { "exec", "run" },      { "execute", "run" },
        { "eval", "run" },       { "optimize", "opt" },   { "transform", "opt" }, { "lint", "check" },
        { "verify", "check" },   { "validate", "check" }, { "parse", "check" },   { "typecheck", "check" },
        { "format", "print" },   { "fmt", "print" },      { "show", "print" },    { "cat", "print" },
        { "dump", "dis" },       { "disasm", "dis" },     { "disassemble", "dis" }, { "objdump", "dis" },
        { "convert", "import" }, { "inspect", "info" },   { "describe", "info" }, { "list", "ops" },
    };
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        if (!strcmp(meant[i].other, name))
            return meant[i].name;
    const char *near = NULL;
    size_t least = 3;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        size_t d = letters_between(name, commands[i].name);
        if (d < least) {
            least = d;
            near = commands[i].name;
        }
    }
    return near;
}

static int unknown_command(const cli *c)
{
    const char *dot = strrchr(c->command, '.');
    const char *near = near_command(c->command);
    if (dot && (!strcmp(dot, ".py") || !strcmp(dot, ".rlx")))
        cli_usage(c, "a command comes before the file: relax run %s, relax check %s", c->command,
                  c->command);
    else
        cli_usage(c, "unknown command %s%s%s", c->command, near ? "; did you mean " : "",
                  near ? near : "");
    fputs("relax --help lists the commands\n", stderr);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    relax_compile_options usual;
    relax_compile_options_init(&usual, sizeof usual);
    cli c = { .opt_level = usual.opt_level, .repeat = 1, .rtol = 1e-5, .atol = 1e-8 };
    if (argc < 2) {
        fputs(overview, stderr);
        return CLI_USAGE;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that becomes too large is an error like others */
    c.command = argv[1];
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        const command *cmd = argc > 2 ? find_command(argv[2]) : NULL;
        if (cmd)
            return show_help(cmd);
        fputs(overview, stdout);
        return CLI_OK;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
        c.command = "version";
    const char *files[CLI_MAX_LIST];
    c.files = files;
    const command *cmd = find_command(c.command);
    if (cmd) {
        c.usage = cmd->usage;
        int status = cli_parse(&c, argc, argv, cmd->options, cmd->min_files, cmd->max_files);
        if (status == CLI_OK)
            status = c.help ? show_help(cmd) : cmd->run(&c);
        cli_flush(&c, &status);
        return status;
    }
    return unknown_command(&c);
}
