/* cmd_signature.c: relax info: what a program takes, gives and needs. */
#include "cli/cli.h"

#include <string.h>

/* ---- text ----------------------------------------------------------------------------------- */

static void put_bytes(relax_bytes *text)
{
    cli_put_text(stdout, text ? relax_bytes_data(text) : "R.Object");
    relax_bytes_release(text);
}

static void show_function(const relax_executable *exe, size_t f)
{
    size_t count = relax_executable_num_params(exe, f);
    fputs("\nfunction ", stdout);
    cli_put_text(stdout, relax_executable_function_name(exe, f, NULL));
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        const char *name = relax_executable_param_name(exe, f, i, NULL);
        fputs("  takes  ", stdout);
        cli_put_text(stdout, name ? name : "(no name)");
        fputs(": ", stdout);
        put_bytes(relax_executable_param_text(exe, f, i));
        putchar('\n');
    }
    fputs("  gives  ", stdout);
    put_bytes(relax_executable_result_text(exe, f));
    putchar('\n');
}

static void show(const char *file, const relax_executable *exe)
{
    const char *cpu, *target = relax_executable_native_target(exe, &cpu);
    cli_put_text(stdout, file);
    printf(": %zu bytes compiled, %zu of them constants; %zu kernels as bytecode",
           relax_executable_size(exe), relax_executable_constant_size(exe),
           relax_executable_num_kernels(exe));
    if (target)
        printf(", and as native code for %s%s%s", target, *cpu ? " with " : "", cpu);
    putchar('\n');
    size_t needs = relax_executable_num_packed(exe);
    fputs(needs ? "needs packed functions:" : "needs no packed functions", stdout);
    for (size_t i = 0; i < needs; i++) {
        putchar(' ');
        cli_put_text(stdout, relax_executable_packed_name(exe, i, NULL));
    }
    putchar('\n');
    for (size_t f = 0; f < relax_executable_num_functions(exe); f++)
        show_function(exe, f);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_dims(const relax_executable *exe, const relax_description *of)
{
    int32_t ndim = relax_description_ndim(exe, of);
    if (ndim < 0) {
        fputs("null", stdout);
        return;
    }
    putchar('[');
    for (int32_t i = 0; i < ndim; i++) {
        int64_t size = relax_description_dim(exe, of, (size_t)i);
        relax_bytes *text = relax_description_dim_text(exe, of, (size_t)i);
        fputs(i ? ", " : "", stdout);
        if (size >= 0)
            printf("%lld", (long long)size);
        else if (text)
            cli_put_json(stdout, relax_bytes_data(text));
        else
            fputs("null", stdout);
        relax_bytes_release(text);
    }
    putchar(']');
}

/* Tuples nest up to 64 deep in a file. */
static void put_description(const relax_executable *exe, const relax_description *of)
{
    char dtype[32];
    int32_t kind = relax_description_kind(exe, of);
    size_t fields = relax_description_num_fields(exe, of);
    relax_bytes *text = relax_description_text(exe, of);
    printf("\"kind\": \"%s\", \"text\": ",
           kind == RELAX_VALUE_KIND_OTHER ? "any" : relax_value_kind_name(kind));
    cli_put_json(stdout, text ? relax_bytes_data(text) : "R.Object");
    relax_bytes_release(text);
    if (relax_description_dtype(exe, of) != RELAX_VOID) {
        relax_dtype_name(relax_description_dtype(exe, of), dtype, sizeof dtype);
        printf(", \"dtype\": \"%s\"", dtype);
    }
    if (kind == RELAX_VALUE_KIND_TENSOR || kind == RELAX_VALUE_KIND_SHAPE) {
        fputs(", \"shape\": ", stdout);
        put_dims(exe, of);
    }
    if (fields == RELAX_NOT_FOUND)
        return;
    fputs(", \"fields\": [", stdout);
    for (size_t i = 0; i < fields; i++) {
        fputs(i ? ", {" : "{", stdout);
        put_description(exe, relax_description_field(exe, of, i));
        putchar('}');
    }
    putchar(']');
}

static void put_function(const relax_executable *exe, size_t f)
{
    size_t count = relax_executable_num_params(exe, f);
    fputs("{\"name\": ", stdout);
    cli_put_json(stdout, relax_executable_function_name(exe, f, NULL));
    fputs(", \"params\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        const char *name = relax_executable_param_name(exe, f, i, NULL);
        fputs(i ? ", {\"name\": " : "{\"name\": ", stdout);
        if (name)
            cli_put_json(stdout, name);
        else
            fputs("null", stdout);
        fputs(", ", stdout);
        put_description(exe, relax_executable_param(exe, f, i));
        putchar('}');
    }
    fputs("], \"result\": {", stdout);
    put_description(exe, relax_executable_result(exe, f));
    fputs("}}", stdout);
}

static void show_json(const char *file, const relax_executable *exe)
{
    const char *cpu, *target = relax_executable_native_target(exe, &cpu);
    fputs("{\"file\": ", stdout);
    cli_put_json(stdout, file);
    printf(", \"bytes\": %zu, \"constant_bytes\": %zu, \"kernels\": %zu, \"native\": ",
           relax_executable_size(exe), relax_executable_constant_size(exe),
           relax_executable_num_kernels(exe));
    if (target) {
        fputs("{\"target\": ", stdout);
        cli_put_json(stdout, target);
        fputs(", \"cpu\": ", stdout);
        cli_put_json(stdout, cpu);
        putchar('}');
    } else {
        fputs("null", stdout);
    }
    fputs(",\n \"packed\": [", stdout);
    for (size_t i = 0; i < relax_executable_num_packed(exe); i++) {
        fputs(i ? ", " : "", stdout);
        cli_put_json(stdout, relax_executable_packed_name(exe, i, NULL));
    }
    fputs("],\n \"functions\": [", stdout);
    for (size_t f = 0; f < relax_executable_num_functions(exe); f++) {
        fputs(f ? ",\n  " : "\n  ", stdout);
        put_function(exe, f);
    }
    fputs("]}\n", stdout);
}

int cli_info(cli *c)
{
    int status = CLI_OK;
    cli_file file;
    cli_arrays params = { 0 };
    bool mapped = cli_can_map(c->files[0]);
    if (mapped)
        file = (cli_file){ .name = c->files[0] };
    else if (!cli_read(c, c->files[0], &file))
        return CLI_FAULT;
    relax_executable *exe = NULL;
    if (c->params && !cli_weights_read(c, c->params, &params))
        status = CLI_FAULT;
    else if (mapped || cli_is_compiled(&file))
        exe = cli_load(c, &file, mapped, &status);
    else
        exe = cli_compile(c, &file, c->params ? &params : NULL, &status);
    if (exe && c->as_json)
        show_json(c->files[0], exe);
    else if (exe)
        show(c->files[0], exe);
    relax_executable_release(exe);
    cli_arrays_free(&params);
    cli_file_free(&file);
    return status;
}
