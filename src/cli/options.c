/* options.c: the options of all commands, one row each, and how they are read. */
#include "cli/cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum option_type { FLAG, TEXT, LIST, INTEGER, SECONDS, NUMBER, OPTIONAL_TEXT };

typedef struct option_row {
    char letter;               /* which commands take it: see main.c */
    const char *name, *other;  /* --name, and a second spelling */
    enum option_type type;
    size_t at, count_at;       /* where in struct cli; OPTIONAL_TEXT: count_at is the flag */
    const char *argument, *help;
} option_row;

#define AT(field) offsetof(cli, field)
static const option_row rows[] = {
    { 's', "--strict", NULL, FLAG, AT(strict), 0, NULL, "warnings are errors" },
    { 'N', "--notes", NULL, FLAG, AT(notes), 0, NULL,
      "also note what is accepted on trust: PU05, TY13, WF18" },
    { 'a', "--trust-annotations", NULL, FLAG, AT(trust), 0, NULL,
      "believe unproved annotations without a check at run time" },
    { 'n', "--no-warn", NULL, LIST, AT(no_warn), AT(num_no_warn), "CODE[,CODE]",
      "switch warnings off by code" },
    { 'j', "--diagnostics", NULL, TEXT, AT(diagnostics), 0, "json|text",
      "form of the diagnostics" },
    { 'P', "--pass", "--passes", TEXT, AT(passes), 0, "P:OPTION=X,Q,...",
      "passes to run first" },
    { 'Q', "--dialect", NULL, TEXT, AT(dialect), 0, "0.20|0.27",
      "what to print for: TVM 0.20 (default), or TVM 0.27" },
    { 'c', "--color", NULL, FLAG, AT(color), 0, NULL, "colours, on a terminal" },
    { 'o', "-o", "--output", TEXT, AT(output), 0, "OUT.rlx", "the file to write" },
    { 'w', "--params", NULL, TEXT, AT(params), 0, "W.npz", "weights by parameter name" },
    { 't', "--target", NULL, TEXT, AT(target), 0, "interp|c",
      "kernels as bytecode (default), or as C too, which needs a compiler" },
    { 'E', "--emit", NULL, TEXT, AT(emit), 0, "c",
      "write the kernels as C into the directory that -o names" },
    { 'u', "--cpu", NULL, TEXT, AT(cpu), 0, "any|native",
      "target c: code for any CPU of this kind, or for this one (default)" },
    { 'U', "--unchecked", NULL, FLAG, AT(unchecked), 0, NULL, "target c: do not check indices" },
    { 'C', "--cache", NULL, TEXT, AT(cache), 0, "DIR",
      "target c: where compiled kernels are kept; empty: nowhere" },
    { 'M', "--compiler-memory", NULL, INTEGER, AT(compiler_memory), 0, "BYTES",
      "target c: memory that each compiler may address (default 2 GiB)" },
    { 'O', "--opt", NULL, INTEGER, AT(opt_level), 0, "0|1|2",
      "0 lowers only, 1 cleans up, 2 fuses, too (default)" },
    { 'A', "--arithmetic", NULL, TEXT, AT(arithmetic), 0, "fused|separate",
      "products that are summed up: rounded once with the sum (default), or on their own" },
    { 'K', "--ranks", NULL, LIST, AT(ranks), AT(num_ranks), "X=2,3",
      "ranks that parameter X will have: what needs them is compiled now, not at run time" },
    { 'Y', "--dtypes", NULL, LIST, AT(dtypes), AT(num_dtypes), "X=float32,...",
      "the same for dtypes" },
    { 'd', "--dump-after", NULL, TEXT, AT(dump_after), 0, "PASS|all",
      "print the module after a pass" },
    { 'e', "--entry", NULL, TEXT, AT(entry), 0, "NAME", "function to run (default main)" },
    { 'i', "--input", "-i", LIST, AT(inputs), AT(num_inputs), "SPEC", "an argument" },
    { 'S', "--size", NULL, LIST, AT(sizes), AT(num_sizes), "NAME=N[,NAME=N]",
      "sizes of arguments that are made (zeros, random:7)" },
    { 'X', "--expect", NULL, TEXT, AT(expect), 0, "A.npy|B.npz|DIR",
      "compare the results: exit code 1 if they differ" },
    { 'r', "--rtol", NULL, NUMBER, AT(rtol), 0, "R",
      "with --expect: relative tolerance (default 1e-5)" },
    { 'l', "--atol", NULL, NUMBER, AT(atol), 0, "A",
      "with --expect: absolute tolerance (default 1e-8)" },
    { 'J', "--json", NULL, FLAG, AT(as_json), 0, NULL, "standard output as JSON, whole" },
    { 'y', "--time-passes", NULL, FLAG, AT(times), 0, NULL,
      "print the time of each pass on standard error" },
    { 'D', "--output", NULL, TEXT, AT(output), 0, "DIR", "directory for the results" },
    { 'p', "--profile", NULL, OPTIONAL_TEXT, AT(profile_file), AT(profile), "[FILE.json]",
      "time every kernel and call" },
    { 'R', "--repeat", NULL, INTEGER, AT(repeat), 0, "N", "run N times and print the times" },
    { 'W', "--warmup", NULL, INTEGER, AT(warmup), 0, "N",
      "run N times before that, without times" },
    { 'x', "--allow-native", NULL, FLAG, AT(allow_native), 0, NULL,
      "run native code that the file carries: only of sources you trust" },
    { 'm', "--max-memory", NULL, INTEGER, AT(max_memory), 0, "BYTES", "memory the run may take" },
    { 'V', "--max-depth", NULL, INTEGER, AT(max_depth), 0, "N", "depth of calls" },
    { 'I', "--instruction-set", NULL, TEXT, AT(instruction_set), 0, "NAME",
      "baseline|avx2|avx512|avx512vnni|avx512amx|neon|neondot: what kernels compute with (default: the best)" },
    { 'H', "--threads", NULL, INTEGER, AT(threads), 0, "N",
      "threads that compute (default: one for each core)" },
    { 'T', "--timeout", NULL, SECONDS, AT(timeout), 0, "S", "end the run after S seconds" },
    { 'B', "--dim", NULL, LIST, AT(dims), AT(num_dims), "NAME=SIZE",
      "a named size of an ONNX model" },
    { 'b', "--no-bind", NULL, FLAG, AT(no_bind), 0, NULL,
      "ONNX: inputs that decide sizes or ranks are no constants of the run" },
    { 'g', "--bind", NULL, LIST, AT(binds), AT(num_binds), "NAME=A.npy",
      "an input of an ONNX model that is a constant of the program" },
    { 'z', "--params-from", NULL, INTEGER, AT(params_from), 0, "BYTES",
      "with --params: weights of so many bytes go to the archive (default 64)" },
    { 'Z', "--onnx-report", NULL, FLAG, AT(onnx_report), 0, NULL,
      "ONNX: what cannot be imported, why and what helps, on standard output (--json: as JSON)" },
    { 'v', "--verify", NULL, FLAG, AT(verify), 0, NULL, "check the file" },
};
#undef AT

void cli_print_options(const char *options);
void cli_print_options(const char *options)
{
    puts("\nOptions:");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!strchr(options, rows[i].letter))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%s %s", rows[i].name,
                 rows[i].argument ? rows[i].argument : "");
        printf("  %-28s %s\n", left, rows[i].help);
    }
    puts("  --help                       this text");
}

bool cli_parse_int(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    uint64_t value = 0;
    const char *p = text + negative;
    if (!*p)
        return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || RLX_MUL_OVERFLOWS(value, 10u, &value) ||
            RLX_ADD_OVERFLOWS(value, (uint64_t)(*p - '0'), &value))
            return false;
    }
    if (value > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool cli_parse_number(const char *text, double *out)
{
    char *end;
    /* The tool never calls setlocale, so strtod reads "1.5" everywhere. */
    *out = strtod(text, &end);
    return *text && !*end;
}

static const option_row *find_option(const char *name, size_t len, const char *options)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const option_row *r = &rows[i];
        bool same = (strlen(r->name) == len && !memcmp(r->name, name, len)) ||
                    (r->other && strlen(r->other) == len && !memcmp(r->other, name, len));
        if (same && strchr(options, r->letter))
            return r;
    }
    return NULL;
}

static int add_to_list(cli *c, const option_row *r, const char *value)
{
    const char **list = (const char **)((char *)c + r->at);
    int *count = (int *)((char *)c + r->count_at);
    if (*count == CLI_MAX_LIST)
        return cli_usage(c, "%s is given more than %d times", r->name, CLI_MAX_LIST);
    list[(*count)++] = value;
    return CLI_OK;
}

static int set_option(cli *c, const option_row *r, const char *value)
{
    char *at = (char *)c + r->at;
    double seconds;
    switch (r->type) {
    case FLAG: *(bool *)at = true; return CLI_OK;
    case TEXT: *(const char **)at = value; return CLI_OK;
    case LIST: return add_to_list(c, r, value);
    case OPTIONAL_TEXT:
        *(bool *)((char *)c + r->count_at) = true;
        *(const char **)at = value;
        return CLI_OK;
    case INTEGER:
        if (!cli_parse_int(value, (int64_t *)at) || *(int64_t *)at < 0)
            return cli_usage(c, "%s needs a number, found %s", r->name, value);
        return CLI_OK;
    case NUMBER:
        if (!cli_parse_number(value, (double *)at) || !(*(double *)at >= 0))
            return cli_usage(c, "%s needs a number that is not negative, found %s", r->name, value);
        return CLI_OK;
    case SECONDS:
        if (!cli_parse_number(value, &seconds) || !(seconds > 0) || seconds > 1e9)
            return cli_usage(c, "%s needs a number of seconds above 0, found %s", r->name, value);
        *(double *)at = seconds;
        return CLI_OK;
    }
    return CLI_INTERNAL;
}

static bool takes_next(const option_row *r, const char *next)
{
    if (r->type != OPTIONAL_TEXT)
        return r->type != FLAG;
    /* "--profile FILE.json": the file is recognised by its ending, so that it never swallows
     * the program */
    size_t len = next ? strlen(next) : 0;
    return len > 5 && !strcmp(next + len - 5, ".json");
}

/* The option that begins like this text: by five characters at least, "--in". NULL: none. */
static const char *near_option(const char *text, size_t len, const char *options)
{
    static const struct { const char *other, *name; } meant[] = {
        { "--function", "--entry" }, { "--func", "--entry" },     { "--out", "-o" },
        { "--outfile", "-o" },       { "--passes", "--pass" },    { "--tolerance", "--rtol" },
        { "--tol", "--rtol" },       { "--weights", "--params" }, { "--inputs", "--input" },
        { "-i", "--input" },         { "--arg", "--input" },      { "-O", "--opt" },
        { "-O0", "--opt 0" },        { "-O1", "--opt 1" },        { "-O2", "--opt 2" },
        { "-O3", "--opt 2" },        { "-p", "--params" },        { "-j", "--threads" },
        { "--shape", "--size" },     { "--dim", "--size" },       { "--output", "-o" },
        { "-o", "--output" },
    };
    const char *near = NULL;
    size_t most = 4;
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        if (strlen(meant[i].other) == len && !memcmp(meant[i].other, text, len) &&
            find_option(meant[i].name, strcspn(meant[i].name, " "), options))
            return meant[i].name;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t same = 0;
        while (same < len && rows[i].name[same] == text[same])
            same++;
        if (same > most && strchr(options, rows[i].letter)) {
            most = same;
            near = rows[i].name;
        }
    }
    return near;
}

static int read_option(cli *c, int argc, char **argv, int *i, const char *options)
{
    const char *text = argv[*i], *equals = strncmp(text, "--", 2) ? NULL : strchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    const option_row *r = find_option(text, len, options);
    const char *attached = !r && text[1] != '-' && text[2] ? text + 2 : NULL; /* -ofile */
    if (attached && (r = find_option(text, 2, options)) && r->type != FLAG)
        return set_option(c, r, attached);
    if ((!r || attached) && len == 2 && !memcmp(text, "-o", 2) && strchr(options, 'P'))
        return cli_usage(c, "relax %s writes to standard output: relax %s FILE > OUT", c->command, c->command);
    if (!r || attached) {
        const char *near = near_option(text, len, options);
        return cli_usage(c, "relax %s has no option %.*s%s%s; relax %s --help lists them", c->command,
                         (int)len, text, near ? "; did you mean " : "", near ? near : "", c->command);
    }
    if (equals && r->type == FLAG)
        return cli_usage(c, "%s takes no value", r->name);
    const char *value = equals ? equals + 1 : NULL;
    if (!equals && takes_next(r, *i + 1 < argc ? argv[*i + 1] : NULL)) {
        if (*i + 1 >= argc)
            return cli_usage(c, "%s needs a value: %s", r->name, r->argument);
        value = argv[++*i];
    }
    return set_option(c, r, value);
}

static int check_values(cli *c)
{
    if (c->diagnostics && strcmp(c->diagnostics, "json") && strcmp(c->diagnostics, "text"))
        return cli_usage(c, "--diagnostics is json or text, found %s", c->diagnostics);
    c->json = c->diagnostics && !strcmp(c->diagnostics, "json");
    if (c->opt_level > 2)
        return cli_usage(c, "--opt is 0, 1 or 2");
    if (c->threads < 0 || c->threads > CLI_MAX_THREADS)
        return cli_usage(c, "--threads is 1 to %d", CLI_MAX_THREADS);
    if (c->repeat < 1)
        return cli_usage(c, "--repeat is at least 1");
    if (c->emit && strcmp(c->emit, "c"))
        return cli_usage(c, "--emit is c, found %s", c->emit);
    if (c->arithmetic && strcmp(c->arithmetic, "fused") && strcmp(c->arithmetic, "separate"))
        return cli_usage(c, "--arithmetic is fused or separate, found %s", c->arithmetic);
    if (c->cpu && !strcmp(c->cpu, "any"))
        c->cpu = "";
    if (c->cpu && *c->cpu && strcmp(c->cpu, "native"))
        return cli_usage(c, "--cpu is any or native, found %s", c->cpu);
    if (!c->target || !strcmp(c->target, "interp") || !strcmp(c->target, "c"))
        return CLI_OK;
    return cli_usage(c, "unknown target %s; known: interp, c", c->target);
}

/* --dim and --bind are for models, one of which there has to be. */
static int check_models(const cli *c)
{
    bool any = !c->num_files;
    for (int i = 0; i < c->num_files; i++)
        any |= cli_is_onnx(c->files[i]) || !strcmp(c->files[i], "-");
    if (any || (!c->num_dims && !c->num_binds))
        return CLI_OK;
    return cli_usage(c, "%s is for .onnx files, found %s%s", c->num_dims ? "--dim" : "--bind", c->files[0],
                     !c->num_dims                    ? ""
                     : !strcmp(c->command, "run")    ? "; --size n=3 says how large arguments are that are made"
                                                     : "; relax print --pass bind_symbolic_vars:n=3 fixes a size");
}

static int further_argument(const cli *c, const char *text)
{
    const char *end = strrchr(text, '.');
    bool is_input = !strcmp(c->command, "run") &&
                    (strchr(text, '=') || (end && (!strcmp(end, ".npy") || !strcmp(end, ".npz"))));
    return cli_usage(c, "relax %s takes no further argument: %s%s%s", c->command, text,
                     is_input ? "; inputs are given by --input " : "", is_input ? text : "");
}

int cli_parse(cli *c, int argc, char **argv, const char *options, int min_files, int max_files)
{
    bool only_files = false;
    const char **last = NULL; /* the list of the option before */
    for (int i = 2; i < argc; i++) {
        const char *text = argv[i];
        if (!only_files && !strcmp(text, "--")) {
            only_files = true;
        } else if (!only_files && (!strcmp(text, "--help") || !strcmp(text, "-h"))) {
            c->help = true;
            return CLI_OK;
        } else if (only_files || text[0] != '-' || !text[1]) {
            /* the model stands first, then --input takes paths up to the next option */
            if (c->num_files == max_files && last == &c->inputs[0]) {
                int status = set_option(c, find_option("--input", 7, options), text);
                if (status != CLI_OK)
                    return status;
                continue;
            }
            if (c->num_files == max_files || c->num_files == CLI_MAX_LIST)
                return further_argument(c, text);
            c->files[c->num_files++] = text;
        } else {
            last = strncmp(text, "--input", 7) || (text[7] && text[7] != '=') ? NULL : &c->inputs[0];
            int status = read_option(c, argc, argv, &i, options);
            if (status != CLI_OK)
                return status;
        }
    }
    if (c->num_files < min_files)
        return cli_usage(c, "relax %s needs an argument, as in %.*s; relax %s --help tells more", c->command,
                         (int)strcspn(c->usage, "\n"), c->usage, c->command);
    int status = check_values(c);
    return status == CLI_OK ? check_models(c) : status;
}
