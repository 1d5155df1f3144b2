/* test_api_native: target c through the public interface: what is allowed, what is counted,
 * what is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <relax/relax.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/failing.h"
#include "text_file.h"

typedef struct job {
    relax_context *ctx;
    relax_module *module;
    relax_compile_options options;
    char directory[200];
} job;

/* The options point into *j. */
static void begin(job *j, int constant)
{
    char program[1000];
    snprintf(program, sizeof program, PROGRAM("two kernels"), constant);
    snprintf(j->directory, sizeof j->directory, "%s/native-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(j->directory));
    j->ctx = relax_context_create(NULL);
    j->module = relax_module_parse(j->ctx, "m.py", 4, program, strlen(program));
    assert_int_equal(relax_compile_options_init(&j->options, sizeof j->options), RELAX_OK);
    j->options.target = "c";
    j->options.allow_compiler = 1;
    j->options.temp_dir = j->directory;
    if (getenv("CC"))
        j->options.compiler = getenv("CC");
}

static size_t files_in(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void end(job *j)
{
    int status;
    assert_int_equal(files_in(j->directory), 0);
    /* no child, dead or alive */
    assert_true(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
    rmdir(j->directory);
    relax_context_release(j->ctx);
}

static bool has_code(const job *j, const char *code)
{
    for (size_t i = 0; i < relax_context_num_diagnostics(j->ctx); i++)
        if (strcmp(relax_diagnostic_code(j->ctx, i), code) == 0)
            return true;
    return false;
}

static void run(relax_executable *exe, uint64_t processes, bool native)
{
    relax_vm *vm = NULL;
    relax_tensor *x = NULL;
    relax_value arg = { 0 }, result = { 0 };
    relax_vm_counters counters = { .struct_size = sizeof counters };
    int64_t n = 3;
    const float in[] = { 0, 1, 2 };
    assert_int_equal(relax_vm_create(exe, NULL, &vm, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, &n, 1, NULL, &x, NULL), RELAX_OK);
    relax_tensor_copy_in(x, in, sizeof in);
    relax_value_set_tensor(&arg, x);
    assert_int_equal(relax_vm_call(vm, "main", 4, &arg, 1, &result, NULL), RELAX_OK);
    const float *out = relax_tensor_data(relax_value_get_tensor(&result));
    assert_true(out[0] == 0 && out[1] > 4 && out[1] < 40);
    assert_int_equal(relax_vm_get_counters(vm, &counters), RELAX_OK);
    assert_int_equal(counters.compiler_processes, processes);
    assert_int_equal(counters.native_kernels > 0, native);
    assert_int_equal(relax_executable_compiler_processes(exe), processes);
    assert_int_equal(relax_executable_num_native_kernels(exe) > 0, native);
    relax_value_release(&result);
    relax_value_release(&arg);
    relax_tensor_release(x);
    relax_vm_release(vm);
}

static void only_where_allowed(void **state)
{
    job j;
    begin(&j, 1);
    relax_compile_options defaults;
    relax_compile_options_init(&defaults, sizeof defaults);
    assert_int_equal(defaults.allow_compiler, 0);
    j.options.allow_compiler = 0;
    assert_null(relax_module_compile(j.ctx, j.module, &j.options));
    assert_true(has_code(&j, "CG14"));
    end(&j);
}

static void counted(void **state)
{
    job j;
    begin(&j, 2);
    errno = 33;
    relax_executable *exe = relax_module_compile(j.ctx, j.module, &j.options);
    assert_int_equal(errno, 33);
    assert_non_null(exe);
    for (size_t i = 0; i < relax_context_num_diagnostics(j.ctx); i++) {
        relax_bytes *said = relax_diagnostic_render(j.ctx, i);
        print_error("%s\n", relax_bytes_data(said));
        relax_bytes_release(said);
    }
    assert_int_equal(relax_context_num_diagnostics(j.ctx), 0);
    run(exe, 1, true);
    /* what was made goes with the file; a host that does not allow native code has the bytecode */
    relax_bytes *image = NULL;
    assert_int_equal(relax_executable_serialize(exe, &image, NULL), RELAX_OK);
    relax_executable_release(exe);
    for (int allow = 0; allow < 2; allow++) {
        relax_load_options load;
        relax_load_options_init(&load, sizeof load);
        load.allow_native = allow;
        assert_int_equal(relax_executable_load(relax_bytes_data(image), relax_bytes_size(image),
                                               &load, &exe, NULL),
                         RELAX_OK);
        run(exe, 0, allow);
        relax_executable_release(exe);
    }
    relax_bytes_release(image);
    end(&j);
}

static int32_t cancel_at_once(void *user)
{
    ++*(int *)user;
    return 1;
}

static void cancelled(void **state)
{
    job j;
    begin(&j, 3);
    int asked = 0;
    j.options.compiler = "sh -c 'exec sleep 1000'";
    j.options.cancelled = cancel_at_once;
    j.options.user = &asked;
    assert_null(relax_module_compile(j.ctx, j.module, &j.options));
    assert_true(asked > 0);
    assert_true(has_code(&j, "CG13"));
    end(&j);
}

static void wrong_options(void **state)
{
    for (int i = 0; i < 4; i++) {
        job j;
        begin(&j, 4);
        j.options.allow_compiler = i == 0 ? 2 : 1;
        j.options.unchecked = i == 1 ? -1 : 0;
        j.options.compiler_seconds = i == 2 ? 1e9 : i == 3 ? -1 : 1;
        assert_null(relax_module_compile(j.ctx, j.module, &j.options));
        assert_true(has_code(&j, "OP03"));
        end(&j);
    }
}

static void cache_stays_small(void **state)
{
    job keep;
    char cache[300];
    begin(&keep, 0);
    uint64_t one = 0;
    snprintf(cache, sizeof cache, "%s/cache", keep.directory);
    for (int i = 0; i < 6; i++) {
        job j;
        begin(&j, 10 + i);
        j.options.cache_dir = cache;
        j.options.opt_level = 0;
        char flag[40]; /* constants are arguments: other flags make other entries */
        snprintf(flag, sizeof flag, "cc -O0 -DN=%d", i);
        j.options.compiler = flag;
        if (one)
            j.options.cache_bytes = one * 3 + one / 2;
        relax_executable *exe = relax_module_compile(j.ctx, j.module, &j.options);
        assert_non_null(exe);
        run(exe, 1, true);
        relax_executable_release(exe);
        if (!one) {
            DIR *d = opendir(cache);
            for (struct dirent *e = readdir(d); e; e = readdir(d)) {
                struct stat s;
                char path[700];
                snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
                if (e->d_name[0] != '.' && stat(path, &s) == 0)
                    one = (uint64_t)s.st_size;
            }
            closedir(d);
        }
        end(&j);
    }
    assert_int_equal(files_in(cache), 3);
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'", cache);
    assert_int_equal(system(command), 0);
    end(&keep);
}

/* Only root can take on another identity and give it back. */
static void raised_privileges(void **state)
{
    if (geteuid() != 0)
        skip();
    job j;
    begin(&j, 5);
    assert_int_equal(seteuid(65534), 0);
    relax_executable *exe = relax_module_compile(j.ctx, j.module, &j.options);
    assert_int_equal(seteuid(0), 0);
    assert_non_null(exe);
    assert_true(has_code(&j, "CG13"));
    run(exe, 0, false);
    relax_executable_release(exe);
    end(&j);
}

/* A host's own children and handlers are left alone. */
static volatile sig_atomic_t signals;
static void count_signal(int number) { signals++; }

static void children_of_the_host(void **state)
{
    job j;
    begin(&j, 6);
    struct sigaction mine = { .sa_handler = count_signal }, before, after;
    sigaction(SIGCHLD, &mine, &before);
    pid_t own = fork();
    if (own == 0)
        _exit(7);
    usleep(20000);
    relax_executable *exe = relax_module_compile(j.ctx, j.module, &j.options);
    assert_non_null(exe);
    run(exe, 1, true);
    relax_executable_release(exe);
    int status = 0;
    assert_int_equal(waitpid(own, &status, 0), own);
    assert_int_equal(WEXITSTATUS(status), 7);
    sigaction(SIGCHLD, &before, &after);
    assert_true(after.sa_handler == count_signal);
    end(&j);
}

/* Every request refused in turn, with a compiler that fails fast and with none at all. */
static size_t compile_with(failing *l, size_t step)
{
    l->allocator =
        (relax_allocator){ sizeof l->allocator, l, failing_alloc, failing_resize, failing_free };
    relax_context_options o;
    char program[1000];
    snprintf(program, sizeof program, PROGRAM("two kernels"), 1);
    relax_context_options_init(&o, sizeof o);
    o.allocator = &l->allocator;
    relax_context *ctx = relax_context_create(&o);
    relax_module *m = ctx ? relax_module_parse(ctx, "m.py", 4, program, strlen(program)) : NULL;
    size_t first = l->calls;
    relax_compile_options c;
    relax_compile_options_init(&c, sizeof c);
    c.target = "c";
    c.allow_compiler = 1;
    c.compiler = "false";
    l->fail_at = step ? first + step : 0;
    relax_executable *exe = m ? relax_module_compile(ctx, m, &c) : NULL;
    if (!exe && m)
        assert_true(relax_context_num_errors(ctx) > 0);
    relax_executable_release(exe);
    relax_context_release(ctx);
    return l->calls - first;
}

static void short_of_memory(void **state)
{
    failing l = { 0 };
    size_t total = compile_with(&l, 0);
    assert_int_equal(l.live, 0);
    /* the last requests are those of generated code and of its compiler */
    size_t begin = total > 400 ? total - 400 : 1, stride = getenv("RELAX_LONG") ? 1 : 5;
    for (size_t n = begin; n <= total; n += stride) {
        l = (failing){ 0 };
        compile_with(&l, n);
        assert_int_equal(l.live, 0);
    }
    int status;
    assert_true(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
}

static void c_as_text(void **state)
{
    job j;
    begin(&j, 7);
    j.options.target = NULL;
    j.options.allow_compiler = 0; /* nothing is started */
    relax_bytes *source = relax_module_compile_to_c(j.ctx, j.module, &j.options),
                *header = relax_module_c_header(j.ctx);
    assert_non_null(source);
    assert_non_null(header);
    assert_non_null(strstr(relax_bytes_data(source), "#include \"relax_kernels.h\""));
    assert_non_null(strstr(relax_bytes_data(header), "typedef struct relax_kernel_table"));
    relax_bytes_release(source);
    relax_bytes_release(header);
    assert_null(relax_module_compile_to_c(j.ctx, NULL, NULL));
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_where_allowed),
        cmocka_unit_test(counted),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(wrong_options),
        cmocka_unit_test(cache_stays_small),
        cmocka_unit_test(raised_privileges),
        cmocka_unit_test(children_of_the_host),
        cmocka_unit_test(short_of_memory),
        cmocka_unit_test(c_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
