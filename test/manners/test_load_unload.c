/* test_load_unload.c: the shared library is loaded and unloaded a thousand times, with a run in
 * between now and then: no mapping, descriptor or thread stays behind.
 */
#include "../fault/fault.h"
#include "text_file.h"

#include <dlfcn.h>

enum { TIMES = 1000, WARM = 20 };

static int lines_of(const char *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0;
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

#define FIND(name)                                                                   \
    __typeof__(&name) name##_ = (__typeof__(&name))(uintptr_t)dlsym(library, #name); \
    assert_non_null(name##_)

/* Reads, compiles and runs by the symbols of this very library. */
static void use(void *library)
{
    FIND(relax_context_create);
    FIND(relax_context_release);
    FIND(relax_module_parse);
    FIND(relax_module_compile);
    FIND(relax_vm_create);
    FIND(relax_tensor_create);
    FIND(relax_vm_call);
    FIND(relax_value_set_tensor);
    FIND(relax_tensor_data);
    FIND(relax_value_release);
    FIND(relax_tensor_release);
    FIND(relax_vm_release);
    FIND(relax_executable_release);
    relax_context *ctx = relax_context_create_(NULL);
    relax_executable *exe = relax_module_compile_(
        ctx, relax_module_parse_(ctx, Z("main"), Z(PROGRAM("one addition"))), NULL);
    relax_context_release_(ctx);
    relax_vm *vm = NULL;
    relax_tensor *in = NULL;
    relax_value arg, result = { 0 };
    assert_int_equal(relax_vm_create_(exe, NULL, &vm, NULL), RELAX_OK);
    assert_int_equal(relax_tensor_create_(RELAX_FLOAT32, (int64_t[]){ 2 }, 1, NULL, &in, NULL),
                     RELAX_OK);
    memset(relax_tensor_data_(in), 0, 2 * sizeof(float));
    relax_value_set_tensor_(&arg, in);
    assert_int_equal(relax_vm_call_(vm, "main", 4, &arg, 1, &result, NULL), RELAX_OK);
    relax_value_release_(&result);
    relax_value_release_(&arg);
    relax_tensor_release_(in);
    relax_vm_release_(vm);
    relax_executable_release_(exe);
}

static void a_thousand_times(void **state)
{
    (void)state;
    const char *path = getenv("RELAX_LIB");
    int mappings = 0, descriptors = 0, threads = 0;
    if (!path || !FAULT_SEES_MALLOC) /* the sanitizers keep account of what is loaded */
        skip();
    for (int i = 0; i < TIMES; i++) {
        void *library = dlopen(path, RTLD_LOCAL | RTLD_NOW);
        if (!library)
            fail_msg("%s", dlerror());
        if (i % 10 == 0)
            use(library);
        assert_int_equal(dlclose(library), 0);
        assert_null(dlopen(path, RTLD_NOLOAD | RTLD_NOW));
        if (i == WARM)
            mappings = lines_of("/proc/self/maps"), descriptors = fault_entries("/proc/self/fd"),
            threads = fault_entries("/proc/self/task");
    }
    assert_true(mappings > 0);
    if (lines_of("/proc/self/maps") > mappings + 1) /* the heap may have been cut in two */
        fail_msg("%d mappings, before %d", lines_of("/proc/self/maps"), mappings);
    assert_int_equal(fault_entries("/proc/self/fd"), descriptors);
    assert_int_equal(fault_entries("/proc/self/task"), threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_thousand_times) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
