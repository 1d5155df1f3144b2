/* test_memory_onnx.c: importing the kept models of the fuzzer while the host refuses memory: each request in turn, alone
 * and with all that follow. There is then a whole module, or none and the context is out of memory; and everything is
 * given back. */
#include <relax/onnx.h>
#include "fault.h"

#include <unistd.h>

enum { MOST_BYTES = 4096 };
#define CORPUS "test/fuzz/corpus/onnx"

typedef struct model { unsigned char data[MOST_BYTES]; size_t size; char name[300]; } model;

/* The text of the module; NULL: there is none. *memory: the context ran out of it. */
static char *import_text(const model *m, fault *f, bool *memory)
{
    relax_context_options how;
    relax_context_options_init(&how, sizeof how);
    how.allocator = &f->allocator;
    relax_context *ctx = relax_context_create(&how);
    char *copy = NULL;
    *memory = !ctx;
    if (!ctx)
        return NULL;
    relax_onnx_query *q = relax_onnx_query_memory(ctx, m->data, m->size);
    relax_onnx_import *import = relax_onnx_import_memory(ctx, m->data, m->size, NULL, NULL, NULL);
    relax_module *module = relax_onnx_import_module(import);
    relax_bytes *text = module ? relax_node_print(ctx, relax_module_as_node(module), NULL) : NULL;
    if (text) {
        copy = strdup(relax_bytes_data(text));
        relax_bytes_release(text);
    }
    *memory = relax_context_status(ctx) == RELAX_ERROR_OUT_OF_MEMORY ||
              (module && !text); /* printing reports nothing */
    if (!copy && !*memory && !relax_context_num_errors(ctx))
        fail_msg("%s: nothing comes back, and nothing says why", m->name);
    relax_onnx_import_destroy(import);
    relax_onnx_query_destroy(q);
    relax_context_release(ctx);
    return copy;
}

static void expect_given_back(const fault *f, const model *m, size_t at)
{
    if (f->live || f->blocks)
        fail_msg("%s, request %zu: %zu bytes are left", m->name, at, f->live);
}

/* Request `at` is refused; the answer is that without refusals, or none. False: there are not so many. */
static bool refuse(const model *m, size_t at, bool forever, const char *whole)
{
    fault f;
    bool memory;
    fault_init(&f);
    f.plan.at = at;
    f.plan.forever = forever;
    char *text = import_text(m, &f, &memory);
    expect_given_back(&f, m, at);
    if (f.plan.refused && !memory && (!text || !whole || strcmp(text, whole) != 0))
        fail_msg("%s, request %zu: refused, but the answer is another and nothing says why", m->name, at);
    free(text);
    return f.plan.refused;
}

/* Is there a module? */
static bool try_model(const model *m)
{
    fault f;
    bool memory;
    fault_init(&f);
    char *whole = import_text(m, &f, &memory);
    assert_false(memory);
    expect_given_back(&f, m, 0);
    size_t calls = f.plan.calls, step = calls > 600 && !getenv("RELAX_LONG") ? calls / 300 : 1;
    for (size_t at = 1; at <= calls; at += step) {
        refuse(m, at, false, whole);
        refuse(m, at, true, whole);
    }
    bool any = whole != NULL;
    free(whole);
    return any;
}

static bool read_model(const char *name, model *m)
{
    snprintf(m->name, sizeof m->name, "%s/%.200s", CORPUS, name);
    FILE *f = fopen(m->name, "rb");
    m->size = f ? fread(m->data, 1, sizeof m->data, f) : 0;
    bool whole = f && feof(f);
    if (f)
        fclose(f);
    return whole;
}

static void models_without_memory(void **state)
{
    (void)state;
    static model m;
    const char *top = getenv("TOP");
    int modules = 0;
    if (top)
        assert_int_equal(chdir(top), 0);
    DIR *d = opendir(CORPUS);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && read_model(e->d_name, &m))
            modules += try_model(&m);
    closedir(d);
    assert_true(modules > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(models_without_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
