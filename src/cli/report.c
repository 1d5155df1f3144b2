/* report.c: what the tool says on standard error. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of the UTF-8 character at p; 0: it is none. Overlong forms and surrogates are none. */
static int character(const unsigned char *p)
{
    int more = *p < 0x80                 ? 0
               : *p >= 0xc2 && *p < 0xe0 ? 1
               : *p >= 0xe0 && *p < 0xf0 ? 2
               : *p >= 0xf0 && *p < 0xf5 ? 3
                                         : -1;
    for (int i = 1; i <= more; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
               (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f);
    return more > 0 && bad ? 0 : more + 1;
}

/* Names come from files: what a terminal would obey, or no text at all, is shown as '?'. */
void cli_put_text(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        int n = character(p);
        bool control = (*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f ||
                       (*p == 0xc2 && n == 2 && p[1] < 0xa0);
        if (n && !control)
            fwrite(p, 1, (size_t)n, out);
        else
            fputc('?', out);
        p += n ? n : 1;
    }
}

void cli_put_json(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        int n = character(p);
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p < 0x20)
            fprintf(out, "\\u%04x", *p);
        else
            fwrite(n ? (const char *)p : "?", 1, n ? (size_t)n : 1, out);
        p += n ? n : 1;
    }
    fputc('"', out);
}

static void put_message(const cli *c, const char *severity, const char *code, const char *file,
                        const char *message, const char *trace)
{
    if (!c->json) {
        if (file) {
            cli_put_text(stderr, file);
            fputs(": ", stderr);
        }
        fprintf(stderr, "%s[%s]: ", severity, code);
        cli_put_text(stderr, message);
        fputc('\n', stderr);
        return;
    }
    /* the form of relax_diagnostic_json */
    fprintf(stderr, "{\"severity\":\"%s\",\"code\":", severity);
    cli_put_json(stderr, code);
    fputs(",\"message\":", stderr);
    cli_put_json(stderr, message);
    if (file) {
        fputs(",\"file\":", stderr);
        cli_put_json(stderr, file);
    }
    if (trace && *trace) {
        fputs(",\"trace\":", stderr);
        cli_put_json(stderr, trace);
    }
    fputs("}\n", stderr);
}

int cli_error(const cli *c, const char *code, const char *file, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_message(c, "error", code, file, text, NULL);
    return CLI_FAULT;
}

void cli_warning(const cli *c, const char *code, const char *file, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_message(c, "warning", code, file, text, NULL);
}

int cli_usage(const cli *c, const char *format, ...)
{
    va_list args;
    (void)c;
    fputs("relax: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return CLI_USAGE;
}

int cli_run_error(const cli *c, const char *file, relax_error *error)
{
    relax_status status = relax_error_status(error);
    const char *code = relax_error_code(error), *trace = relax_error_trace(error, NULL);
    put_message(c, "error", code && *code ? code : "IN01", file, relax_error_message(error, NULL),
                trace);
    if (!c->json && trace && *trace) {
        cli_put_text(stderr, trace);
        fputs(trace[strlen(trace) - 1] == '\n' ? "" : "\n", stderr);
    }
    relax_error_release(error);
    return status == RELAX_ERROR_INTERNAL ? CLI_INTERNAL : CLI_FAULT;
}

static void put_diagnostic(const cli *c, relax_context *ctx, size_t index)
{
    relax_bytes *text =
        c->json ? relax_diagnostic_json(ctx, index) : relax_diagnostic_render(ctx, index);
    if (text) {
        fwrite(relax_bytes_data(text), 1, relax_bytes_size(text), stderr);
        if (relax_bytes_size(text) && relax_bytes_data(text)[relax_bytes_size(text) - 1] != '\n')
            fputc('\n', stderr);
    }
    relax_bytes_release(text);
}

int cli_diagnostics(const cli *c, relax_context *ctx, size_t first)
{
    size_t count = relax_context_num_diagnostics(ctx), shown = 0;
    for (size_t i = first; i < count; i++) {
        put_diagnostic(c, ctx, i);
        shown += relax_diagnostic_severity(ctx, i) == RELAX_SEVERITY_ERROR;
    }
    size_t errors = relax_context_num_errors(ctx);
    relax_status status = relax_context_status(ctx);
    if (!errors)
        return CLI_OK;
    if (status == RELAX_ERROR_OUT_OF_MEMORY && !shown)
        put_message(c, "error", "IN02", NULL, "out of memory", NULL);
    return status == RELAX_ERROR_INTERNAL ? CLI_INTERNAL : CLI_FAULT;
}

void cli_progress(const char *text)
{
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[K%s", text ? text : "");
    fflush(stderr);
}

bool cli_flush(const cli *c, int *status)
{
    if (!fflush(stdout) && !ferror(stdout))
        return true;
    if (*status == CLI_OK)
        *status = cli_error(c, "IO02", NULL, "standard output cannot be written");
    return false;
}
