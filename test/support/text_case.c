/* text_case.c: one text through everything that reads text. */
#include "text_case.h"

#include <relax/relax.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One text may have so much memory: small texts have no reason to need more. */
#define MOST_BYTES ((uint64_t)512 << 20)

/* ---- memory that is counted ----------------------------------------------------------------- */

static void *counted_alloc(void *user, size_t size, size_t align)
{
    void *p = align > sizeof(max_align_t)
                  ? aligned_alloc(align, (size + align - 1) / align * align)
                  : malloc(size);
    *(size_t *)user += p ? size : 0;
    return p;
}

static void *counted_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    if (align > sizeof(max_align_t)) {
        void *p = counted_alloc(user, new_size, align);
        if (p) {
            memcpy(p, ptr, old_size < new_size ? old_size : new_size);
            *(size_t *)user -= old_size;
            free(ptr);
        }
        return p;
    }
    void *p = realloc(ptr, new_size);
    *(size_t *)user += p ? new_size - old_size : 0;
    return p;
}

static void counted_free(void *user, void *ptr, size_t size, size_t align)
{
    (void)align;
    *(size_t *)user -= ptr ? size : 0;
    free(ptr);
}

/* ---- what must hold ------------------------------------------------------------------------- */

typedef struct state {
    relax_context *ctx;
    const char *text;
    size_t len;
    text_case_result *out;
} state;

static int broken(state *s, const char *what, const char *detail)
{
    if (!s->out->broken) {
        s->out->broken = what;
        snprintf(s->out->detail, sizeof s->out->detail, "%s", detail ? detail : "");
    }
    return 0;
}

static int broken_by(state *s, const char *what)
{
    relax_bytes *text = NULL;
    for (size_t i = 0; i < relax_context_num_diagnostics(s->ctx) && !text; i++)
        if (relax_diagnostic_severity(s->ctx, i) == RELAX_SEVERITY_ERROR)
            text = relax_diagnostic_render(s->ctx, i);
    broken(s, what, text ? relax_bytes_data(text) : "no error");
    relax_bytes_release(text);
    return 0;
}

/* The errors so far are ordinary ones: not ours, not memory; `located`: one of them has a
 * place. */
static int sane_errors(state *s, int located)
{
    relax_status status = relax_context_status(s->ctx);
    if (status == RELAX_ERROR_INTERNAL)
        return broken_by(s, "an internal error");
    if (status == RELAX_ERROR_OUT_OF_MEMORY)
        return broken_by(s, "more memory than a small text can need");
    for (size_t i = 0; i < relax_context_num_diagnostics(s->ctx); i++) {
        relax_bytes *shown = relax_diagnostic_render(s->ctx, i);
        if (relax_bytes_size(shown) > 100000)
            broken(s, "a message that nobody can read", relax_bytes_data(shown));
        relax_bytes_release(shown);
        if (relax_diagnostic_severity(s->ctx, i) == RELAX_SEVERITY_ERROR &&
            relax_diagnostic_place(s->ctx, i))
            located = 0;
    }
    return located ? broken_by(s, "refused without a place") : 1;
}

static relax_module *read_text(state *s, const char *text, size_t len)
{
    return relax_module_parse(s->ctx, "m.py", 4, text, len);
}

/* Print, read, compare, print. A size that nothing binds is free: it corresponds to whatever
 * stands in its place. Annotations that are looser than their values, which passes leave
 * behind, may come back tighter: then it is what was read that must come back as it is. */
static int round_trip(state *s, relax_module *module, const char *after)
{
    relax_bytes *first = relax_node_print(s->ctx, relax_module_as_node(module), NULL),
                *second = NULL;
    if (!first)
        return broken(s, "cannot be printed", "");
    relax_module *again = read_text(s, relax_bytes_data(first), relax_bytes_size(first));
    if (!again || relax_context_num_errors(s->ctx)) {
        broken_by(s, "what was printed is not accepted");
    } else if (relax_node_equal(s->ctx, relax_module_as_node(module), relax_module_as_node(again),
                                1) != 1) {
        if (!after || !round_trip(s, again, NULL))
            broken(s, "what was printed reads as another module", relax_bytes_data(first));
    } else {
        second = relax_node_print(s->ctx, relax_module_as_node(again), NULL);
        if (!second || relax_bytes_size(first) != relax_bytes_size(second) ||
            memcmp(relax_bytes_data(first), relax_bytes_data(second), relax_bytes_size(first)))
            broken(s, "prints differently the second time", relax_bytes_data(first));
    }
    s->out->pass = s->out->broken ? after : NULL;
    relax_bytes_release(first);
    relax_bytes_release(second);
    return !s->out->broken;
}

static int checked(state *s, relax_module *module)
{
    if (relax_module_well_formed(s->ctx, module, RELAX_CHECK_ALL) != 1 ||
        !relax_module_infer(s->ctx, module)) {
        if (!relax_context_num_errors(s->ctx))
            broken(s, "refused without an error", "");
        sane_errors(s, 1);
        return 0;
    }
    return sane_errors(s, 0);
}

/* A size that nothing binds may stand under the name of one that something binds, and then not
 * read back as it prints: no harm in a module that is refused. */
static void excuse_ill_formed(state *s, relax_module *module)
{
    relax_context_clear_diagnostics(s->ctx);
    if (relax_module_well_formed(s->ctx, module, RELAX_CHECK_ALL) == 1)
        return;
    s->out->broken = NULL;
    sane_errors(s, 1);
}

static int passes(state *s, relax_module *module)
{
    static const char *const names[] = { "normalize",        "canonicalize_bindings",
                                         "fold_constant",    "dead_code_elimination",
                                         "legalize_ops",     "to_non_dataflow",
                                         "call_tir_rewrite", "place_views", "place_parts",
                                         "schedule_tir",     "reuse_operands",
                                         "lift_temporaries", "plan_memory" };
    for (size_t i = 0; i < sizeof names / sizeof names[0] && module; i++) {
        relax_module *next = relax_pass_run(s->ctx, module, names[i], strlen(names[i]), NULL);
        if (!next || relax_context_num_errors(s->ctx)) {
            if (!relax_context_num_errors(s->ctx))
                broken(s, "a pass failed without an error", names[i]);
            return sane_errors(s, 0);
        }
        if (next != module && !round_trip(s, next, names[i]))
            return 0;
        module = next;
    }
    return 1;
}

static void compile(state *s, relax_module *module, const relax_allocator *allocator)
{
    relax_compile_options options;
    relax_load_options load;
    relax_compile_options_init(&options, sizeof options);
    relax_load_options_init(&load, sizeof load);
    load.allocator = allocator;
    options.load = &load;
    relax_context_clear_diagnostics(s->ctx);
    relax_executable *executable = relax_module_compile(s->ctx, module, &options);
    s->out->compiled = executable != NULL;
    if (!executable && !relax_context_num_errors(s->ctx))
        broken(s, "not compiled without an error", "");
    sane_errors(s, 0);
    relax_executable_release(executable);
}

static void run(state *s, enum text_case_way way, const relax_allocator *allocator)
{
    relax_module *module = read_text(s, s->text, s->len);
    s->out->accepted = module && !relax_context_num_errors(s->ctx);
    if (!s->out->accepted) {
        if (!relax_context_num_errors(s->ctx))
            broken(s, "refused without an error", "");
        sane_errors(s, 1);
        return;
    }
    if (!round_trip(s, module, NULL)) {
        excuse_ill_formed(s, module);
        return;
    }
    if (way < TEXT_CASE_CHECK || !checked(s, module) || way < TEXT_CASE_COMPILE)
        return;
    if (passes(s, module))
        compile(s, module, allocator);
}

text_case_result text_case(const char *text, size_t len, enum text_case_way way)
{
    text_case_result result = { 0 };
    size_t live = 0;
    relax_allocator allocator = { sizeof allocator, &live, counted_alloc, counted_resize,
                                  counted_free };
    relax_context_options options;
    relax_context_options_init(&options, sizeof options);
    options.allocator = &allocator;
    options.max_bytes = MOST_BYTES;
    state s = { relax_context_create(&options), text, len, &result };
    if (!s.ctx) {
        result.broken = "no context";
        return result;
    }
    run(&s, way, &allocator);
    relax_context_release(s.ctx);
    if (live && !result.broken) {
        result.broken = "memory was left";
        snprintf(result.detail, sizeof result.detail, "%zu bytes", live);
    }
    return result;
}
