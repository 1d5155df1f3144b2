/* test_places: a law of all passes: where every binding of a program has a place, every binding
 * of what comes out has one. Over the programs of the tree, each pass alone and the passes of a
 * build one after the other. */
#include "../base/cmocka_all.h"
#include <glob.h>
#include <string.h>

#include <relax/relax.h>
#include "ir/ir.h"

typedef struct scan {
    relax_context *ctx;
    const char *file, *pass;
    size_t line, programs, bindings, missing;
} scan;

/* ---- what a module lacks */

static enum rlx_step look(void *user, const rlx_node *n, const rlx_field *via,
                          const rlx_node *parent)
{
    scan *s = user;
    (void)via, (void)parent;
    if (n->kind != RLX_NODE_VAR_BINDING && n->kind != RLX_NODE_MATCH_CAST)
        return rlx_family_of(n) == RLX_FAMILY_SINFO ? RLX_STEP_SKIP : RLX_STEP_ON;
    s->bindings++;
    if (rlx_place_of(n))
        return RLX_STEP_ON;
    const rlx_var_binding *b = rlx_as_var_binding(n);
    const rlx_var *v = rlx_as_var(b ? b->var : ((const rlx_match_cast *)n)->var);
    if (s->missing++ < 20)
        print_error("%s:%zu: after %s the binding of %s has no place\n", s->file, s->line, s->pass,
                    v && v->name ? v->name->data : "nothing");
    return RLX_STEP_ON;
}

static void check(scan *s, const relax_module *m)
{
    rlx_walker w = { .enter = look, .user = s };
    rlx_walk(&s->ctx->memory, (const rlx_node *)(const void *)m, &w, NULL);
}

/* ---- one program */

static void after_pass(void *user, const char *pass, const relax_module *m, double seconds,
                       int32_t changed)
{
    scan *s = user;
    (void)seconds;
    s->pass = pass;
    if (changed)
        check(s, m);
}

static void build(scan *s, const relax_module *m, int32_t level)
{
    relax_pipeline *p = relax_pipeline_create(s->ctx);
    relax_pipeline_add_build(p, level);
    relax_pipeline_on_pass(p, after_pass, s);
    relax_pipeline_run(p, m);
    relax_pipeline_destroy(p);
}

/* What cannot be read, or is ill-formed, is no program; a pass that refuses one is right. */
static void try_program(scan *s, const char *text, size_t len)
{
    s->ctx = relax_context_create(NULL);
    const relax_module *m = relax_module_parse(s->ctx, "m.py", 4, text, len);
    if (m && relax_module_well_formed(s->ctx, m, RELAX_CHECK_ANY) == 1) {
        s->programs++;
        s->pass = "reading";
        check(s, m);
        for (int32_t i = 0; relax_pass_name(i); i++) {
            const relax_module *out =
                relax_pass_run(s->ctx, m, relax_pass_name(i), strlen(relax_pass_name(i)), NULL);
            s->pass = relax_pass_name(i);
            if (out)
                check(s, out);
        }
        for (int32_t level = 0; level <= 2; level++)
            build(s, m, level);
    }
    relax_context_release(s->ctx);
}

/* ---- the programs of a file */

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    char *text = calloc(1, size + 1);
    assert_int_equal(fread(text, 1, size, f), size);
    fclose(f);
    return text;
}

/* Of a golden file: every section; those that are no program are not read as one. */
static void try_sections(scan *s, char *text)
{
    size_t line = 1;
    char *begin = text;
    for (char *at = text; *at; line++) {
        char *end = strchr(at, '\n');
        bool is_head = strncmp(at, "--- ", 4) == 0 || strncmp(at, "=== ", 4) == 0;
        if (is_head && at > begin)
            try_program(s, begin, (size_t)(at - begin));
        if (is_head) {
            begin = end ? end + 1 : at + strlen(at);
            s->line = line + 1;
        }
        at = end ? end + 1 : at + strlen(at);
    }
    if (*begin)
        try_program(s, begin, strlen(begin));
}

static void try_files(const char *pattern)
{
    glob_t files;
    scan s = { .line = 1 };
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *text = read_all(files.gl_pathv[i]);
        s.file = files.gl_pathv[i];
        s.line = 1;
        if (strstr(s.file, ".test"))
            try_sections(&s, text);
        else
            try_program(&s, text, strlen(text));
        free(text);
    }
    globfree(&files);
    assert_true(s.programs > 0);
    assert_true(s.bindings > 1000);
    assert_int_equal(s.missing, 0);
}

static void test_examples(void **state)
{
    (void)state;
    try_files("examples/*/*.py");
}
static void test_programs_of_fault(void **state)
{
    (void)state;
    try_files("test/fault/programs/*.py");
}
static void test_golden_transform(void **state)
{
    (void)state;
    try_files("test/golden/transform/*.test");
}
static void test_golden_op(void **state)
{
    (void)state;
    try_files("test/golden/op/*.test");
}
static void test_golden_others(void **state)
{
    (void)state;
    try_files("test/golden/[acs]*/*.test");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),         cmocka_unit_test(test_programs_of_fault),
        cmocka_unit_test(test_golden_transform), cmocka_unit_test(test_golden_op),
        cmocka_unit_test(test_golden_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
