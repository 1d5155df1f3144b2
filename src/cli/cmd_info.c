/* cmd_info.c: relax ops, passes, explain, version: what the library says of itself. */
#include "cli/cli.h"

#include <string.h>

static const char *const arg_kinds[] = { "?",      "tensor",   "tensor or scalar", "shape",
                                         "scalar", "tuple",    "function",         "string",
                                         "dtype",  "any value" };
static const char *const attr_types[] = { "?",
                                          "int",
                                          "bool",
                                          "float",
                                          "string",
                                          "dtype",
                                          "list of int",
                                          "int or None",
                                          "list of int or None",
                                          "float or None",
                                          "string or None",
                                          "int or list of int",
                                          "other" };

static const char *name_of(const char *const *names, size_t count, int32_t index)
{
    return index > 0 && (size_t)index < count ? names[index] : names[0];
}

static void show_op(size_t op)
{
    int32_t flags = relax_op_flags(op), kind, optional, type;
    const char *name, *deflt, *help;
    printf("%s: %s\n", relax_op_name(op), relax_op_help(op) ? relax_op_help(op) : "");
    printf("  %s%s\n", flags & RELAX_OP_FLAG_PURE ? "pure" : "impure",
           flags & RELAX_OP_FLAG_LOWERS ? "" : ", no kernel of its own");
    for (size_t i = 0; (name = relax_op_arg(op, i, &kind, &optional)); i++)
        printf("  argument   %-24s %s%s\n", name,
               name_of(arg_kinds, sizeof arg_kinds / sizeof *arg_kinds, kind),
               optional ? ", optional" : "");
    for (size_t i = 0; (name = relax_op_attr(op, i, &type, &deflt, &help)); i++) {
        char left[128];
        snprintf(left, sizeof left, "%s%s%s", name, deflt ? "=" : "", deflt ? deflt : "");
        printf("  attribute  %-24s %s%s%s%s\n", left,
               name_of(attr_types, sizeof attr_types / sizeof *attr_types, type),
               deflt ? "" : ", required", help && *help ? ": " : "", help ? help : "");
    }
}

static void put_member(const char *key, const char *value)
{
    printf(", \"%s\": ", key);
    if (value)
        cli_put_json(stdout, value);
    else
        fputs("null", stdout);
}

static void show_op_json(size_t op)
{
    int32_t flags = relax_op_flags(op), kind, optional, type;
    const char *name, *deflt, *help;
    fputs("{\"name\": ", stdout);
    cli_put_json(stdout, relax_op_name(op));
    put_member("help", relax_op_help(op));
    printf(", \"pure\": %s, \"lowers\": %s, \"arguments\": [",
           flags & RELAX_OP_FLAG_PURE ? "true" : "false",
           flags & RELAX_OP_FLAG_LOWERS ? "true" : "false");
    for (size_t i = 0; (name = relax_op_arg(op, i, &kind, &optional)); i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        cli_put_json(stdout, name);
        put_member("kind", name_of(arg_kinds, sizeof arg_kinds / sizeof *arg_kinds, kind));
        printf(", \"optional\": %s}", optional ? "true" : "false");
    }
    fputs("], \"attributes\": [", stdout);
    for (size_t i = 0; (name = relax_op_attr(op, i, &type, &deflt, &help)); i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        cli_put_json(stdout, name);
        put_member("type", name_of(attr_types, sizeof attr_types / sizeof *attr_types, type));
        put_member("default", deflt);
        put_member("help", help);
        putchar('}');
    }
    fputs("]}", stdout);
}

static int show_ops_json(void)
{
    putchar('[');
    for (size_t i = 0; i < relax_op_count(); i++) {
        fputs(i ? ",\n " : "\n ", stdout);
        show_op_json(i);
    }
    fputs("]\n", stdout);
    return CLI_OK;
}

int cli_ops(cli *c)
{
    if (!c->num_files && c->as_json)
        return show_ops_json();
    if (!c->num_files) {
        for (size_t i = 0; i < relax_op_count(); i++)
            printf("%-36s %s\n", relax_op_name(i), relax_op_help(i) ? relax_op_help(i) : "");
        return CLI_OK;
    }
    const char *name = c->files[0];
    size_t op = relax_op_find(name, strlen(name));
    if (op != RELAX_NOT_FOUND && c->as_json) {
        show_op_json(op);
        putchar('\n');
        return CLI_OK;
    }
    if (op != RELAX_NOT_FOUND) {
        show_op(op);
        return CLI_OK;
    }
    const char *near = relax_op_suggest(name, strlen(name));
    return cli_error(c, "OP06", NULL, "unknown operator %s%s%s", name,
                     near ? "; did you mean " : "", near ? near : "");
}

static void show_pass(size_t pass)
{
    const char *name, *deflt, *help, *needs = relax_pass_needs(pass);
    printf("%s: %s\n", relax_pass_name(pass), relax_pass_help(pass) ? relax_pass_help(pass) : "");
    if (needs)
        printf("  needs      %s\n", needs);
    for (size_t i = 0; (name = relax_pass_option(pass, i, &deflt, &help)); i++)
        printf("  option     %s%s%s%s%s\n", name, deflt ? "=" : "", deflt ? deflt : "",
               help ? ": " : "", help ? help : "");
}

static void show_pass_json(size_t pass)
{
    const char *name, *deflt, *help;
    fputs("{\"name\": ", stdout);
    cli_put_json(stdout, relax_pass_name(pass));
    put_member("help", relax_pass_help(pass));
    put_member("needs", relax_pass_needs(pass));
    fputs(", \"options\": [", stdout);
    for (size_t i = 0; (name = relax_pass_option(pass, i, &deflt, &help)); i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        cli_put_json(stdout, name);
        put_member("default", deflt);
        put_member("help", help);
        putchar('}');
    }
    fputs("]}", stdout);
}

static int show_passes_json(void)
{
    putchar('[');
    for (size_t i = 0; relax_pass_name(i); i++) {
        fputs(i ? ",\n " : "\n ", stdout);
        show_pass_json(i);
    }
    fputs("]\n", stdout);
    return CLI_OK;
}

int cli_passes(cli *c)
{
    const char *name;
    if (!c->num_files && c->as_json)
        return show_passes_json();
    for (size_t i = 0; (name = relax_pass_name(i)); i++) {
        if (!c->num_files) {
            printf("%-28s %s\n", name, relax_pass_help(i) ? relax_pass_help(i) : "");
        } else if (cli_same_pass(c->files[0], strlen(c->files[0]), name)) {
            if (c->as_json)
                show_pass_json(i), putchar('\n');
            else
                show_pass(i);
            return CLI_OK;
        }
    }
    return c->num_files ? cli_error(c, "OP10", NULL, "unknown pass %s; relax passes lists them",
                                    c->files[0])
                        : CLI_OK;
}

static void show_text(const char *title, const char *text)
{
    if (!text || !*text)
        return;
    printf("\n%s\n", title);
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        printf("  %.*s\n", (int)len, p);
        p += len + (p[len] == '\n');
    }
}

int cli_explain(cli *c)
{
    const char *title, *rule, *bad, *cure, *code = c->files[0];
    if (relax_code_explain(code, strlen(code), &title, &rule, &bad, &cure) != RELAX_OK)
        return cli_error(c, "OP19", NULL, "there is no code %s; codes look like WF03 or TY08",
                         code);
    for (const char *p = code; *p; p++)
        putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    printf(": %s\n", title);
    show_text("Rule", rule);
    show_text("Example that breaks it", bad);
    show_text("Cure", cure);
    show_text("Example cured", relax_code_cured_example(code, strlen(code)));
    return CLI_OK;
}

int cli_version(cli *c)
{
    uint32_t major, minor, patch;
    const char *key;
    (void)c;
    relax_version(&major, &minor, &patch);
    printf("relax %u.%u.%u\n", major, minor, patch);
    for (size_t i = 0; (key = relax_build_info_key(i)); i++)
        if (strcmp(key, "version"))
            printf("%s: %s\n", key, relax_build_info_value(i));
    return CLI_OK;
}
