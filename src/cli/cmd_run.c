/* cmd_run.c: relax run. */
#include "cli/cli.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A compiled file is mapped where it can be, so that its weights are in memory once: `mapped`, and
 * then of `file` the name alone is there. */
relax_executable *cli_load(const cli *c, const cli_file *file, bool mapped, int *status)
{
    if (!mapped && !cli_is_compiled(file))
        return cli_compile(c, file, NULL, status);
    relax_executable *exe = NULL;
    relax_error *error = NULL;
    relax_load_options options;
    relax_load_options_init(&options, sizeof options);
    options.allow_native = c->allow_native;
    options.map_file = mapped;
    *status = CLI_OK;
    relax_status loaded =
        mapped ? relax_executable_load_file(file->name, strlen(file->name), &options, &exe, &error)
               : relax_executable_load(file->data, file->size, &options, &exe, &error);
    if (loaded != RELAX_OK)
        *status = cli_run_error(c, file->name, error);
    else if (*relax_executable_native_refused(exe))
        cli_warning(c, "LD18", file->name, "%s; kernels are interpreted",
                    relax_executable_native_refused(exe));
    return exe;
}

/* R.print: the library never prints, so the tool provides the function. The first argument is
 * the format. */
static int print_values(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)self;
    cli c = { 0 };
    relax_value_set_null(result);
    const char *format = "";
    size_t len = 0;
    int32_t first = num_args && relax_value_get_string(&args[0], &format, &len) == RELAX_OK;
    size_t used = len ? cli_put_format(format, len, args + first, (size_t)(num_args - first)) : 0;
    if (len)
        putchar('\n');
    for (int32_t i = first + (int32_t)used; i < num_args; i++)
        cli_show_value(&c, &args[i]);
    return 0;
}

static relax_registry *make_registry(const cli *c, int *status)
{
    relax_registry *registry = NULL;
    relax_error *error = NULL;
    static const char name[] = "relax.run.print";
    if (relax_registry_create(NULL, &registry, &error) != RELAX_OK ||
        relax_registry_register(registry, name, sizeof name - 1, print_values, NULL, NULL,
                                &error) != RELAX_OK)
        *status = cli_run_error(c, NULL, error);
    return registry;
}

/* One for each core that this process may run on. */
static int64_t num_cores(void)
{
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    return count < 1 ? 1 : count < CLI_MAX_THREADS ? count : CLI_MAX_THREADS;
}

static int no_room(const cli *c, relax_error *error)
{
    relax_error_release(error);
    return cli_error(c, "RT10", c->files[0],
                     "out of memory: --max-memory %lld is too little for the machine itself",
                     (long long)c->max_memory);
}

static relax_vm *make_vm(const cli *c, relax_executable *exe, int *status)
{
    relax_vm_options options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_vm_options_init(&options, sizeof options);
    options.registry = make_registry(c, status);
    options.max_memory = (uint64_t)c->max_memory;
    options.instruction_set = c->instruction_set;
    options.num_threads = (uint64_t)(c->threads ? c->threads : num_cores());
    if (c->max_depth)
        options.max_depth = (uint64_t)c->max_depth;
    if (*status == CLI_OK && relax_vm_create(exe, &options, &vm, &error) != RELAX_OK)
        *status = c->max_memory && relax_error_status(error) == RELAX_ERROR_OUT_OF_MEMORY
                      ? no_room(c, error)
                      : cli_run_error(c, NULL, error);
    relax_registry_release(options.registry);
    return vm;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show_times(const cli *c, double *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    fprintf(c->as_json ? stderr : stdout,
           "time: best %.6f ms, median %.6f ms of %zu runs\n", times[0] * 1e3,
           times[count / 2] * 1e3, count);
}

static int call_once(const cli *c, relax_vm *vm, size_t function, const relax_value *args,
                     size_t num_args, relax_value *result, double *time)
{
    relax_error *error = NULL;
    relax_value_release(result);
    *result = (relax_value){ 0 };
    if (c->timeout > 0)
        relax_vm_set_timeout(vm, (int64_t)(c->timeout * 1e9));
    double start = seconds();
    relax_status status = relax_vm_call_function(vm, function, args, num_args, result, &error);
    *time = seconds() - start;
    return status == RELAX_OK ? CLI_OK : cli_run_error(c, c->files[0], error);
}

static int call(const cli *c, relax_vm *vm, size_t function, const relax_value *args,
                size_t num_args, relax_value *result)
{
    size_t runs = (size_t)c->repeat;
    double *times = runs < SIZE_MAX / sizeof *times ? malloc(runs * sizeof *times) : NULL;
    int status = times ? CLI_OK : cli_error(c, "IN02", NULL, "out of memory");
    double warm;
    for (int64_t i = 0; i < c->warmup && status == CLI_OK; i++)
        status = call_once(c, vm, function, args, num_args, result, &warm);
    if (c->warmup && c->profile) /* the figures begin here */
        relax_vm_profile_start(vm);
    for (size_t i = 0; i < runs && status == CLI_OK; i++)
        status = call_once(c, vm, function, args, num_args, result, &times[i]);
    if (status == CLI_OK && runs > 1)
        show_times(c, times, runs);
    free(times);
    return status;
}

static int write_profile(const cli *c, relax_vm *vm)
{
    relax_bytes *json = NULL;
    relax_error *error = NULL;
    int status = CLI_OK;
    relax_vm_profile_stop(vm);
    if (relax_vm_profile_json(vm, &json, &error) != RELAX_OK)
        return cli_run_error(c, NULL, error);
    if (c->profile_file)
        status =
            cli_write(c, c->profile_file, NULL, 0, relax_bytes_data(json), relax_bytes_size(json))
                ? CLI_OK
                : CLI_FAULT;
    else
        printf("%s\n", relax_bytes_data(json));
    relax_bytes_release(json);
    return status;
}

static int find_entry(const cli *c, const relax_executable *exe, size_t *function)
{
    const char *entry = c->entry ? c->entry : "main";
    *function = relax_executable_find(exe, entry, strlen(entry));
    if (*function != RELAX_NOT_FOUND)
        return CLI_OK;
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < relax_executable_num_functions(exe) && used + 2 < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 relax_executable_function_name(exe, i, NULL));
    return cli_error(c, "RT20", c->files[0],
                     "there is no public function %s; there are: %s (--entry NAME chooses)", entry,
                     names);
}

static int run_executable(const cli *c, relax_executable *exe, cli_arrays *params)
{
    size_t function;
    int status = find_entry(c, exe, &function);
    if (status != CLI_OK)
        return status;
    relax_value *args = NULL, result = { 0 };
    size_t num_args = 0;
    relax_vm *vm = make_vm(c, exe, &status);
    if (status == CLI_OK)
        status = cli_bind_inputs(c, exe, function, params, &args, &num_args);
    if (status == CLI_OK && c->profile)
        relax_vm_profile_start(vm);
    if (status == CLI_OK)
        status = call(c, vm, function, args, num_args, &result);
    if (status == CLI_OK)
        status = cli_show_results(c, &result);
    if (status == CLI_OK && c->expect)
        status = cli_compare_results(c, &result);
    if (status == CLI_OK && c->profile)
        status = write_profile(c, vm);
    relax_value_release(&result);
    cli_release_values(args, num_args);
    relax_vm_release(vm);
    return status;
}

int cli_run(cli *c)
{
    int status = CLI_OK;
    cli_file file;
    cli_arrays params = { 0 };
    bool bound[CLI_MAX_LIST] = { false };
    c->bound = bound;
    if (c->output && !strcmp(c->output, "-"))
        return cli_usage(c, "--output names a directory");
    bool mapped = cli_can_map(c->files[0]);
    if (mapped)
        file = (cli_file){ .name = c->files[0] };
    else if (!cli_read(c, c->files[0], &file))
        return CLI_FAULT;
    if (c->params && !cli_weights_read(c, c->params, &params))
        status = CLI_FAULT;
    if (status == CLI_OK) {
        relax_executable *exe = cli_load(c, &file, mapped, &status);
        cli_file_free(&file);
        if (exe)
            status = run_executable(c, exe, &params);
        relax_executable_release(exe);
    }
    cli_arrays_free(&params);
    cli_file_free(&file);
    return status;
}
