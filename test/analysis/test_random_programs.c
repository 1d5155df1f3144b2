/* test_random_programs: random well-formed modules (support/random_program.h) are accepted, read
 * back as they were printed, and stay well-formed under every pass; after one small change, in
 * the text or in the nodes, they are well-formed still or refused with a code, at a place.
 * RELAX_LONG=1 tries many more; PROGRAM_SEED=n tries one and shows it, PROGRAM_COUNT=k as many
 * from there on. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/analysis.h"
#include "random_program.h"
#include "text_module.h"
#include "analysis/well_formed.h"
#include "script/print.h"
#include "transform/seq_pass.h"
#include "transform/transform.h"

#define PROGRAMS 100
#define LONG_PROGRAMS 3000
#define MUTATIONS 12

static char state_text[200]; /* what is being tried, for crashes */

static void crashed(int sig)
{
    (void)sig;
    if (write(2, state_text, strlen(state_text)) < 0)
        _exit(3);
    _exit(2);
}

static void trying(uint64_t seed, const char *what, uint64_t number)
{
    snprintf(state_text, sizeof state_text, "PROGRAM_SEED=%llu, %s %llu\n",
             (unsigned long long)seed, what, (unsigned long long)number);
}

static void failed(rlx_context *ctx, const char *text, const char *why)
{
    char *said = text_diagnostics(ctx);
    /* print_error cuts long texts */
    fprintf(stderr, "%s\n%s\n%s%s\n", text ? text : "", why, said, state_text);
    free(said);
    fail();
}

static rlx_context *fresh_context(void)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    return ctx;
}

/* ---- every pass ----------------------------------------------------------------------------- */

/* What a pass stands on beside normal form. */
static const struct { const char *pass, *before[2]; } preludes[] = {
    { "call_tir_rewrite", { "legalize_ops" } },
    { "place_views", { "legalize_ops", "call_tir_rewrite" } },
    { "place_parts", { "legalize_ops", "call_tir_rewrite" } },
    { "reuse_operands", { "legalize_ops", "call_tir_rewrite" } },
    { "lift_temporaries", { "legalize_ops", "call_tir_rewrite" } },
    { "plan_memory", { "legalize_ops", "call_tir_rewrite" } },
};

static size_t steps_to(const rlx_pass_row *row, rlx_pass_step *steps)
{
    size_t n = 0;
    for (size_t i = 0; i < RLX_COUNT(preludes); i++)
        for (size_t k = 0; k < 2 && strcmp(preludes[i].pass, row->name) == 0; k++)
            if (preludes[i].before[k])
                steps[n++] = (rlx_pass_step){
                    .row = rlx_pass_find(rlx_slice_z(preludes[i].before[k]))
                };
    steps[n++] = (rlx_pass_step){ .row = row };
    return n;
}

static bool needs_options(const rlx_pass_row *row)
{
    for (size_t i = 0; i < row->num_options; i++)
        if (!row->options[i].deflt)
            return true;
    return false;
}

static bool equal(rlx_context *ctx, const rlx_module *a, const rlx_module *b)
{
    bool lost = false;
    return a && b && rlx_equal(&ctx->memory, &a->node, &b->node, false, &lost) && !lost;
}

/* The program without what is known of its variables; to be freed. */
static char *bare(rlx_context *ctx, const rlx_module *m)
{
    rlx_print_options options = { .no_struct_info = true };
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    rlx_script_print(&ctx->memory, &m->node, &options, &b);
    char *text = strndup(b.data, b.len);
    rlx_buf_free(&b);
    return text;
}

/* Passes leave copies looser than the value they copy, which reading does not (language 5.9
 * D11b): then all else is equal, and what was read reads back. */
static bool equal_but_copies(rlx_context *ctx, const rlx_module *m, const rlx_module *again)
{
    char *a = bare(ctx, m), *b = bare(ctx, again), *text = text_print(again);
    bool same = equal(ctx, text_module(ctx, a), text_module(ctx, b)) &&
                equal(ctx, again, text_module(ctx, text));
    free(a);
    free(b);
    free(text);
    return same;
}

static void reads_back(rlx_context *ctx, const rlx_module *m, const char *why)
{
    char *text = text_print(m);
    size_t errors = rlx_error_count(ctx);
    const rlx_module *again = text_module(ctx, text);
    if (!again || rlx_error_count(ctx) > errors)
        failed(ctx, text, why);
    if (!equal(ctx, m, again) && !equal_but_copies(ctx, m, again)) {
        char *other = text_print(again);
        fprintf(stderr, "%s\n----\n", other);
        free(other);
        failed(ctx, text, why);
    }
    free(text);
}

/* Passes of changed programs may fail with a reason. */
static void run_passes(rlx_context *ctx, const rlx_module *m, uint64_t seed, bool may_fail)
{
    const rlx_pass_row *row;
    rlx_pass_step steps[4];
    for (size_t i = 0; (row = rlx_pass_at(i)) != NULL; i++) {
        size_t errors = rlx_error_count(ctx);
        if (needs_options(row))
            continue;
        trying(seed, row->name, i);
        const rlx_module *out = rlx_run_passes(ctx, m, steps, steps_to(row, steps), NULL);
        if (may_fail && !out && rlx_error_count(ctx) > errors)
            continue;
        if (!out || !rlx_well_formed(ctx, out, RLX_STAGE_NORMAL))
            failed(ctx, text_print(m), row->name);
        if (!may_fail)
            reads_back(ctx, out, row->name);
    }
}

static void run_pipelines(rlx_context *ctx, const rlx_module *m, uint64_t seed)
{
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    rlx_pass_hooks hooks = { .verify = true };
    for (int level = 0; level < 3; level++) {
        trying(seed, "pipeline", (uint64_t)level);
        if (!rlx_run_passes(ctx, m, steps, rlx_build_pipeline(level, steps), &hooks))
            failed(ctx, NULL, "a pipeline");
    }
}

static const rlx_module *accepted(rlx_context *ctx, const char *text)
{
    const rlx_module *m = text_module(ctx, text);
    if (!m || rlx_error_count(ctx) || !rlx_well_formed(ctx, m, RLX_STAGE_EXPLICIT) ||
        rlx_infer_module(ctx, m) != m ||
        !rlx_infer_module_again(ctx, m, false))
        failed(ctx, text, "it is well-formed");
    return m;
}

/* ---- refused, at a place -------------------------------------------------------------------- */

static void refused_well(rlx_context *ctx, const char *text, bool placed)
{
    rlx_diags_flush(&ctx->diags);
    bool found = false, has_place = false;
    for (const rlx_diag *d = ctx->diags.first; d; d = d->next) {
        found |= d->severity == RLX_SEVERITY_ERROR && d->code && d->len;
        has_place |= d->severity == RLX_SEVERITY_ERROR && d->place;
        if (d->code && strncmp(d->code->name, "IN", 2) == 0)
            failed(ctx, text, "an internal error");
    }
    if (!found || (placed && !has_place))
        failed(ctx, text, "an error without code or place");
}

/* Well-formed still, and then so under every pass; or refused. */
static void judge(rlx_context *ctx, const rlx_module *m, const char *text, uint64_t seed,
                  bool placed)
{
    bool formed = m && !rlx_error_count(ctx) && rlx_well_formed(ctx, m, RLX_STAGE_ANY);
    const rlx_module *inferred = formed ? rlx_infer_module_again(ctx, m, false) : NULL;
    if (!inferred) {
        refused_well(ctx, text, placed);
        return;
    }
    if (!rlx_well_formed(ctx, inferred, RLX_STAGE_NORMAL))
        refused_well(ctx, text, placed);
    else
        run_passes(ctx, inferred, seed, true);
}

static void change_text(const char *program, uint64_t seed)
{
    for (uint64_t i = 0; i < MUTATIONS; i++) {
        rlx_context *ctx = fresh_context();
        char *text = random_text_mutation(program, seed * 1000 + i);
        trying(seed, "mutation of text", i);
        judge(ctx, text_module(ctx, text), text, seed, true);
        free(text);
        rlx_context_release(ctx);
    }
}

/* ---- changed nodes -------------------------------------------------------------------------- */

/* Everything of a module that a change may touch or use. */
typedef struct parts {
    RLX_VEC(const rlx_node *) exprs;    /* operands */
    RLX_VEC(const rlx_node *) calls;
    RLX_VEC(const rlx_node *) vars;     /* where they are defined */
    RLX_VEC(const rlx_node *) blocks;
    RLX_VEC(const rlx_node *) bindings;
    RLX_VEC(const rlx_node *) infos;
    RLX_VEC(const rlx_node *) others;   /* functions, ifs, tuple items, casts */
    rlx_memory *memory;
} parts;

static enum rlx_step take_part(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    parts *p = user;
    rlx_memory *m = p->memory;
    (void)parent;
    if (n->kind == RLX_NODE_PRIM_FUNC)
        return RLX_STEP_SKIP;
    switch (rlx_family_of(n)) {
    case RLX_FAMILY_SINFO: rlx_vec_push(m, &p->infos, n); break;
    case RLX_FAMILY_BINDING: rlx_vec_push(m, &p->bindings, n); break;
    case RLX_FAMILY_BLOCK: rlx_vec_push(m, &p->blocks, n); break;
    default: break;
    }
    if (rlx_as_var(n) && via && via->type == RLX_FIELD_DEF)
        rlx_vec_push(m, &p->vars, n);
    if (n->kind == RLX_NODE_CALL)
        rlx_vec_push(m, &p->calls, n);
    else if (rlx_as_if_expr(n) || rlx_as_function(n) || rlx_as_tuple_get_item(n) ||
             rlx_as_match_cast(n))
        rlx_vec_push(m, &p->others, n);
    else if (rlx_family_of(n) == RLX_FAMILY_EXPR && n->kind != RLX_NODE_SEQ_EXPR)
        rlx_vec_push(m, &p->exprs, n);
    return RLX_STEP_ON;
}

static void free_parts(parts *p)
{
    rlx_vec_free(p->memory, &p->exprs);
    rlx_vec_free(p->memory, &p->calls);
    rlx_vec_free(p->memory, &p->vars);
    rlx_vec_free(p->memory, &p->blocks);
    rlx_vec_free(p->memory, &p->bindings);
    rlx_vec_free(p->memory, &p->infos);
    rlx_vec_free(p->memory, &p->others);
}

#define SOME(list, state) \
    ((list).len ? (list).data[random_roll(state, (uint32_t)(list).len)] : NULL)

/* A block with one binding lost, repeated, moved, or in from elsewhere; or of the other kind. */
static const rlx_node *other_block(rlx_context *ctx, const parts *p, const rlx_node *old,
                                   uint64_t *state)
{
    const rlx_block *b = rlx_as_block(old);
    const rlx_binding *list[256];
    size_t n = 0, at = random_roll(state, (uint32_t)b->num_bindings);
    uint32_t how = random_roll(state, 5);
    bool dataflow = old->kind == RLX_NODE_DATAFLOW_BLOCK;
    for (size_t i = 0; i < b->num_bindings && n < 250; i++) {
        if (i == at && how == 0)
            continue;
        if (i == at && how == 1)
            list[n++] = b->bindings[i];
        if (i == at && how == 2)
            list[n++] = SOME(p->bindings, state);
        list[n++] = b->bindings[i];
    }
    if (how == 3 && n > 1) {
        const rlx_binding *first = list[at ? at - 1 : 0];
        list[at ? at - 1 : 0] = list[at];
        list[at] = first;
    }
    return rlx_block_new(ctx, how == 4 ? !dataflow : dataflow, list, n, b->place);
}

static const rlx_node *other_call(rlx_context *ctx, const parts *p, const rlx_node *old,
                                  uint64_t *state)
{
    const rlx_call *c = rlx_as_call(old);
    const rlx_expr *args[16], *op = c->op;
    const rlx_attr *attrs = c->attrs;
    const rlx_sinfo *info = SOME(p->infos, state);
    size_t n = c->num_args > 14 ? 14 : c->num_args;
    const rlx_call *other = rlx_as_call(SOME(p->calls, state));
    for (size_t i = 0; i < n; i++)
        args[i] = c->args[i];
    switch (random_roll(state, 6)) {
    case 0: n ? (void)(args[random_roll(state, (uint32_t)n)] = SOME(p->exprs, state)) : (void)0;
        break;
    case 1: args[n++] = SOME(p->exprs, state); break;
    case 2: n -= n > 0; break;
    case 3: op = other->op; break;
    case 4: attrs = other->attrs; break;
    default:
        return rlx_call_new(ctx, op, args, n, &info, 1, attrs, c->place);
    }
    return rlx_call_new(ctx, op, args, n, c->sinfo_args, c->num_sinfo_args, attrs, c->place);
}

static const rlx_node *other_var(rlx_context *ctx, const parts *p, const rlx_node *old,
                                 uint64_t *state)
{
    const rlx_var *v = rlx_as_var(old);
    bool dataflow = old->kind == RLX_NODE_DATAFLOW_VAR;
    switch (random_roll(state, 3)) {
    case 0: return (const rlx_node *)rlx_var_like(ctx, v, !dataflow, v->sinfo);
    case 1: return (const rlx_node *)rlx_var_like(ctx, v, dataflow, SOME(p->infos, state));
    default: return SOME(p->vars, state);
    }
}

static const rlx_node *other_function(rlx_context *ctx, const parts *p, const rlx_function *f,
                                      uint64_t *state)
{
    const rlx_expr *params[16], *body = f->body;
    const rlx_sinfo *ret = f->ret_sinfo;
    const rlx_attr *attrs = f->attrs;
    size_t n = f->num_params > 14 ? 14 : f->num_params;
    bool pure = f->is_pure;
    for (size_t i = 0; i < n; i++)
        params[i] = f->params[i];
    switch (random_roll(state, 6)) {
    case 0: pure = !pure; break;
    case 1: ret = SOME(p->infos, state); break;
    case 2: n -= n > 0; break;
    case 3: params[n++] = SOME(p->vars, state); break;
    case 4: body = SOME(p->exprs, state); break;
    default: attrs = NULL; break;
    }
    return (const rlx_node *)rlx_function_new(ctx, params, n, body, ret, true, pure, attrs,
                                              f->sinfo, f->place);
}

static const rlx_node *other_node(rlx_context *ctx, const parts *p, const rlx_node *old,
                                  uint64_t *state)
{
    const rlx_if_expr *e = rlx_as_if_expr(old);
    const rlx_function *f = rlx_as_function(old);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(old);
    const rlx_match_cast *c = rlx_as_match_cast(old);
    if (e && random_roll(state, 2))
        return rlx_if_new(ctx, SOME(p->exprs, state), e->true_branch, e->false_branch, e->place);
    if (e)
        return rlx_if_new(ctx, e->cond, e->false_branch, SOME(p->exprs, state), e->place);
    if (f)
        return other_function(ctx, p, f, state);
    if (g && random_roll(state, 2))
        return rlx_tuple_get_item_new(ctx, g->tuple, (int64_t)random_roll(state, 5) - 1, g->place);
    if (g)
        return rlx_tuple_get_item_new(ctx, SOME(p->exprs, state), g->index, g->place);
    return rlx_match_cast_new(ctx, rlx_as_var(c->var), SOME(p->infos, state), c->value, c->place);
}

static bool put_change(rlx_context *ctx, const parts *p, rlx_rewriter *r, uint64_t *state)
{
    const rlx_node *old = NULL, *now = NULL;
    switch (random_roll(state, 6)) {
    case 0:
        old = SOME(p->blocks, state);
        now = old && rlx_as_block(old)->num_bindings ? other_block(ctx, p, old, state) : NULL;
        break;
    case 1:
    case 2:
        old = SOME(p->calls, state);
        now = old ? other_call(ctx, p, old, state) : NULL;
        break;
    case 3:
        old = SOME(p->vars, state);
        now = old ? other_var(ctx, p, old, state) : NULL;
        break;
    case 4:
        old = SOME(p->others, state);
        now = old ? other_node(ctx, p, old, state) : NULL;
        break;
    default:
        old = SOME(p->exprs, state);
        now = SOME(p->exprs, state);
        break;
    }
    return old && now && old != now && rlx_ptrmap_put(&r->map, old, (uintptr_t)now);
}

static void change_nodes(const char *program, uint64_t seed)
{
    for (uint64_t i = 0; i < MUTATIONS; i++) {
        rlx_context *ctx = fresh_context();
        uint64_t state = seed * 7919 + i;
        const rlx_module *m = text_module(ctx, program);
        parts p = { .memory = &ctx->memory };
        rlx_walker w = { .enter = take_part, .user = &p, .annotations = true, .unique = true };
        rlx_rewriter r;
        trying(seed, "mutation of nodes", i);
        rlx_walk(&ctx->memory, &m->node, &w, NULL);
        rlx_rewriter_init(&r, ctx);
        if (put_change(ctx, &p, &r, &state)) {
            const rlx_module *changed = rlx_as_module(rlx_rewrite(&r, &m->node));
            if (changed)
                judge(ctx, changed, program, seed, false);
        }
        rlx_rewriter_free(&r);
        free_parts(&p);
        rlx_context_release(ctx);
    }
}

/* ---- the suite ------------------------------------------------------------------------------ */

static void try_seed(uint64_t seed, uint64_t *kinds, bool show)
{
    char *text = random_program(seed, kinds);
    rlx_context *ctx = fresh_context();
    trying(seed, "program", seed);
    if (show)
        printf("%s\n", text);
    const rlx_module *m = accepted(ctx, text);
    reads_back(ctx, m, "as it was printed");
    run_passes(ctx, m, seed, false);
    run_pipelines(ctx, m, seed);
    rlx_context_release(ctx);
    change_text(text, seed);
    change_nodes(text, seed);
    free(text);
}

static void random_programs(void **state)
{
    const char *first = getenv("PROGRAM_SEED"), *many = getenv("PROGRAM_COUNT");
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1, kinds = 0, missing;
    uint64_t count = many ? strtoull(many, NULL, 10)
                          : first                ? 1
                          : getenv("RELAX_LONG") ? LONG_PROGRAMS
                                                 : PROGRAMS;
    (void)state;
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    signal(SIGBUS, crashed);
    for (uint64_t end = seed + count; seed < end; seed++)
        try_seed(seed, &kinds, first && !many);
    if (first)
        return;
    missing = (((uint64_t)1 << RANDOM_DOUBTFUL) - 1) & ~kinds;
    if (missing)
        fail_msg("no program has the construct of bit mask %llx", (unsigned long long)missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
