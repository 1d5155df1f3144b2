/* test_surroundings.c: the library leaves the process as it found it: errno, locale, rounding
 * mode and exception flags, descriptors, signal handlers, threads; and nothing of these changes
 * what it does. Every step of every program of test/fault is watched.
 */
#include "../fault/world.h"
#include "text_file.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- what a process has */

typedef struct surroundings {
    int descriptors, threads, rounding, flags;
    char locale[64];
    void (*handlers[32])(int);
} surroundings;

static void look(surroundings *s)
{
    memset(s, 0, sizeof *s);
    s->descriptors = fault_entries("/proc/self/fd");
    s->threads = fault_entries("/proc/self/task");
    s->rounding = fegetround();
    s->flags = fetestexcept(FE_ALL_EXCEPT);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    for (int i = 1; i < (int)N(s->handlers); i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0)
            s->handlers[i] = action.sa_handler;
    }
}

static void expect_same(const surroundings *a, const surroundings *b, const char *name,
                        const char *act)
{
    if (a->descriptors != b->descriptors || a->threads != b->threads)
        fail_msg("%s, %s: %d descriptors and %d threads, before %d and %d", name, act,
                 b->descriptors, b->threads, a->descriptors, a->threads);
    if (a->rounding != b->rounding || a->flags != b->flags)
        fail_msg("%s, %s: rounding mode %d, exception flags %#x, before %d, %#x", name, act,
                 b->rounding, (unsigned)b->flags, a->rounding, (unsigned)a->flags);
    if (strcmp(a->locale, b->locale) != 0 ||
        memcmp(a->handlers, b->handlers, sizeof a->handlers) != 0)
        fail_msg("%s, %s: the locale or a signal handler was changed", name, act);
}

/* ---- all steps, watched; what they give as numbers */

enum { MOST = 4096 };
static uint64_t usual[MOST];
static size_t num_usual;

static uint64_t watch(const program *p, const char *pass, const step *s, bool in_vain)
{
    static world w;
    fault f;
    surroundings before, after;
    fault_init(&f);
    w = (world){ .pass = pass };
    world_open(&w, p, &f);
    assert_true(world_reach(&w, s->needs));
    f.plan = (fault_plan){ .at = in_vain ? 1 : 0, .forever = true };
    look(&before);
    errno = 4711;
    s->act(&w);
    int error = errno;
    look(&after);
    f.plan.at = 0;
    if (error != 4711)
        fail_msg("%s, %s: errno was changed to %d", p->name, s->name, error);
    expect_same(&before, &after, p->name, s->name);
    uint64_t digest = world_digest(&w);
    world_close(&w);
    return digest;
}

static void each_step(void (*then)(size_t index, uint64_t digest, const char *name,
                                   const char *act),
                      bool in_vain)
{
    static const step pass_step = { "pass", MODULE, IS_CHECKED, step_pass, true, HOST };
    size_t index = 0;
    const char *pass;
    for (size_t i = 0; i < N(programs); i++) {
        const program *p = &programs[i];
        for (size_t k = 0; k < N(steps); k++)
            if (goes_with(p, &steps[k]))
                then(index++, watch(p, NULL, &steps[k], in_vain), p->name, steps[k].name);
        for (int32_t n = 0; p->reach >= IS_CHECKED && (pass = relax_pass_name(n)); n++)
            then(index++, watch(p, pass, &pass_step, in_vain), p->name, pass);
    }
    num_usual = index;
}

static void keep(size_t index, uint64_t digest, const char *name, const char *act)
{
    (void)name, (void)act;
    assert_true(index < MOST);
    usual[index] = digest;
}

static void compare(size_t index, uint64_t digest, const char *name, const char *act)
{
    if (digest != usual[index])
        fail_msg("%s, %s: gives something else here", name, act);
}

/* What is open while the library asks for memory would end in a program that the host starts. */
static bool open_before[64];
static size_t opened;
static void *alloc_and_look(void *user, size_t size, size_t align)
{
    int saved = errno;
    for (int fd = 0; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !open_before[fd]) {
            opened++;
            if (!(flags & FD_CLOEXEC))
                fail_msg("descriptor %d would go on in programs that are started now", fd);
        }
    }
    void *p = NULL;
    if (posix_memalign(&p, align < 16 ? 16 : align, size ? size : 1))
        p = NULL;
    errno = saved;
    return p;
}
static void *resize_and_look(void *user, void *p, size_t old_size, size_t new_size, size_t align)
{
    void *now = alloc_and_look(user, new_size, align);
    if (now && p)
        memcpy(now, p, old_size < new_size ? old_size : new_size);
    if (now)
        free(p);
    return now;
}
static void free_plainly(void *user, void *p, size_t size, size_t align)
{
    (void)user, (void)size, (void)align;
    free(p);
}

static void descriptors_are_closed_on_exec(void **state)
{
    relax_allocator watching = { sizeof watching, NULL, alloc_and_look, resize_and_look,
                                 free_plainly };
    relax_load_options options;
    relax_executable *exe = NULL;
    static const char bytes[] = "no compiled program";
    char name[200];
    (void)state;
    snprintf(name, sizeof name, "%s/watched-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    int fd = mkstemp(name);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    close(fd);
    for (int i = 0; i < 64; i++)
        open_before[i] = fcntl(i, F_GETFD) >= 0;
    relax_load_options_init(&options, sizeof options);
    options.allocator = &watching;
    assert_true(relax_executable_load_file(name, strlen(name), &options, &exe, NULL) != RELAX_OK);
    assert_true(opened > 0);
    unlink(name);
}

static void ignore(size_t index, uint64_t digest, const char *name, const char *act)
{
    (void)index, (void)digest, (void)name, (void)act;
}

static void nothing_is_changed(void **state)
{
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    each_step(keep, false);
    feraiseexcept(FE_DIVBYZERO); /* what is there stays too */
    each_step(compare, false);
    feclearexcept(FE_ALL_EXCEPT);
}

static void nothing_is_changed_by_failures(void **state)
{
    (void)state;
    each_step(ignore, true);
}

/* Bytes of texts, files and numbers are the same under any locale. */
static void locales_do_not_matter(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        print_message("no locale de_DE.UTF-8 here\n");
        skip();
    }
    char text[16];
    snprintf(text, sizeof text, "%.1f", 1.5);
    assert_string_equal(text, "1,5");
    each_step(compare, false);
    setlocale(LC_ALL, "C");
}

/* Nor do rounding modes, kernels included: a run has its own. */
static void rounding_modes_do_not_matter(void **state)
{
    static const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    (void)state;
    for (size_t i = 0; i < N(modes); i++) {
        fesetround(modes[i]);
        each_step(compare, false);
        assert_int_equal(fegetround(), modes[i]);
    }
    fesetround(FE_TONEAREST);
}

/* Numbers in texts, one by one: what is read under one mode and locale prints as it does under
 * any other. */
static void numbers_in_texts(void **state)
{
    static const char *const numbers[] = { "0.1",
                                           "1e+300",
                                           "2.5",
                                           "1e-40",
                                           "3.1415926535897931",
                                           "123456789.125",
                                           "1.0000000000000002" };
    static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    (void)state;
    for (size_t i = 0; i < N(numbers); i++) {
        char text[256], first[4096] = "";
        snprintf(text, sizeof text, PROGRAM("numbers in texts"), numbers[i]);
        for (size_t k = 0; k < 2 * N(modes); k++) {
            setlocale(LC_ALL, k < N(modes) ? "C" : "de_DE.UTF-8");
            fesetround(modes[k % N(modes)]);
            relax_context *ctx = relax_context_create(NULL);
            relax_module *m = relax_module_parse(ctx, Z("numbers"), Z(text));
            relax_bytes *printed = m ? relax_node_print(ctx, relax_module_as_node(m), NULL) : NULL;
            fesetround(FE_TONEAREST);
            setlocale(LC_ALL, "C");
            assert_non_null(printed);
            if (!k)
                snprintf(first, sizeof first, "%s", relax_bytes_data(printed));
            assert_string_equal(relax_bytes_data(printed), first);
            relax_bytes_release(printed);
            relax_context_release(ctx);
        }
    }
}

/* What the API folds while it builds: how many numbers an arange has (3.0 / 0.3 is a little
 * more than 10), a literal stored as another dtype, sums of literals, floats made of integers. */
static relax_module *build_numbers(relax_context *ctx)
{
    relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
    const relax_prim_expr *three = relax_prim_int_new(ctx, 3), *at;
    relax_buffer *to = relax_tir_param(t, Z("A"), RELAX_FLOAT32, &three, 1);
    relax_prim_expr *tenth = relax_prim_float_new(ctx, RELAX_FLOAT64, 0.1);
    relax_tir_begin_block(t, Z("fill"));
    at = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("i"), three);
    const relax_prim_expr *both[] = { tenth, relax_prim_binary_new(
                                                 ctx, RELAX_PRIM_ADD, tenth,
                                                 relax_prim_float_new(ctx, RELAX_FLOAT64, 0.2)) };
    relax_tir_init(t, to, &at, 1, tenth);
    relax_tir_store(t, to, &at, 1, relax_tir_call(t, Z("pow"), both, 2));
    relax_tir_store(t, to, &at, 1, tenth);
    relax_tir_end_block(t);
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_module_builder_add(mb, Z("fill"), relax_tir_finish(t));
    relax_builder_begin_function(b, Z("main"), NULL, 0, NULL);
    const relax_expr *range[3];
    for (int i = 0; i < 3; i++)
        range[i] = relax_prim_value_new(ctx, relax_prim_float_new(ctx, RELAX_FLOAT64,
                                                                  i == 0   ? 0
                                                                  : i == 1 ? 3.0
                                                                           : 0.3));
    const relax_arange_attrs rest = { range[1], range[2], RELAX_FLOAT64 };
    const relax_expr *y =
        relax_builder_emit(b, relax_r_arange(ctx, range[0], &rest), Z("y"), 0);
    const relax_attr *slope =
        relax_attr_map_with(ctx, NULL, Z("alpha"), relax_attr_int_new(ctx, ((int64_t)1 << 53) + 3));
    y = relax_builder_emit(b, relax_call_op_new(ctx, Z("nn.leakyrelu"), &y, 1, slope, 0), Z("z"),
                           0);
    relax_builder_end_function(b, y);
    relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    relax_tir_builder_destroy(t);
    return m;
}

static void numbers_of_builders(void **state)
{
    static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    char first[4096] = "";
    (void)state;
    for (size_t k = 0; k < N(modes); k++) {
        relax_context *ctx = relax_context_create(NULL);
        feclearexcept(FE_ALL_EXCEPT);
        fesetround(modes[k]);
        relax_module *m = build_numbers(ctx);
        assert_int_equal(fegetround(), modes[k]);
        fesetround(FE_TONEAREST);
        assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
        if (!m)
            fail_msg("%s", relax_diagnostic_message(ctx, 0, NULL));
        relax_bytes *printed = relax_node_print(ctx, relax_module_as_node(m), NULL);
        if (!k)
            snprintf(first, sizeof first, "%s", relax_bytes_data(printed));
        assert_string_equal(relax_bytes_data(printed), first);
        relax_bytes_release(printed);
        relax_context_release(ctx);
    }
    assert_non_null(strstr(first, "(10,)"));
}

/* ---- fork: a loaded program runs in the parent and in the child */

static void forks(void **state)
{
    static world w;
    (void)state;
    w = (world){ 0 };
    size_t i = 0;
    while (strcmp(programs[i].name, "recursion") != 0)
        i++;
    world_open(&w, &programs[i], NULL);
    assert_true(world_reach(&w, MACHINE) && step_call(&w));
    uint64_t before = world_digest(&w);
    relax_value_release(&w.result);
    fflush(stdout);
    pid_t child = fork();
    assert_true(child >= 0);
    bool same = step_call(&w) && world_digest(&w) == before;
    if (child == 0) {
        relax_context *ctx = relax_context_create(NULL);
        bool reads = relax_module_parse(ctx, Z("child"), w.text, w.text_len) != NULL;
        relax_context_release(ctx);
        _exit(same && reads ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0 && same);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_changed),
        cmocka_unit_test(nothing_is_changed_by_failures),
        cmocka_unit_test(locales_do_not_matter),
        cmocka_unit_test(rounding_modes_do_not_matter),
        cmocka_unit_test(numbers_in_texts),
        cmocka_unit_test(numbers_of_builders),
        cmocka_unit_test(descriptors_are_closed_on_exec),
        cmocka_unit_test(forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
