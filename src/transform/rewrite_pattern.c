/*- rewrite_pattern.c: what a pattern matches is replaced by what the host gives. With
 * add(multiply(a, b), c) as pattern and an ewise_fma as replacement
 *     lv = R.multiply(x, y)
 *     gv = R.add(lv, z)           ->     gv = R.ewise_fma(x, y, z)
 * lv goes if nothing else uses it. needs: normal form. keeps: struct info of what is not
 * replaced, places, purity. Functions without a match taken are not touched.
 *
 * Matching sees the function as it was; the mutator goes through it in the same order and asks
 * at each binding. Variables that the host gets are those of the old function: the mutator's
 * renaming makes them the new ones wherever they end up. */
#include "transform/edit.h"
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

typedef struct rewriting {
    const rlx_pattern_rewrite *how;
    rlx_context *ctx;
    rlx_module_builder *mb;
    rlx_scene scene;
    rlx_matcher matcher;
    rlx_mutator mutator;
    uint8_t *loose;            /* by entry: a binding of a match, before its root */
    const rlx_var **now;       /* by entry, for those: the variable it is in the new function */
    const rlx_expr **instead;  /* by entry: the leaf that its binding, which is to come, becomes */
    rlx_match_swaps also;     /* of the match under way */
    bool is_in_match;          /* the entry asked about */
    size_t num_entries;
    uint32_t root, asked;
    bool replaced;
} rewriting;

/* ---- replacing */

static void note_loose(void *user, uint32_t entry, bool into)
{
    rewriting *r = user;
    if (entry >= r->root)
        return;
    const rlx_var *old = r->scene.entries.data[entry].var;
    const rlx_var *now = rlx_as_var(rlx_ptrmap_get(&r->mutator.vars, old));
    r->loose[entry] = 1;
    r->now[entry] = now ? now : old;
}

/* The replacement as its struct info lets it stand: NULL after a report; *is_same: nothing is lost
 * if it takes the variable's place. */
static const rlx_expr *checked(rewriting *r, const rlx_var *v, const rlx_expr *value,
                               bool *is_same)
{
    rlx_mismatch why;
    rlx_builder *b = r->mutator.builder;
    const rlx_expr *e = rlx_builder_normalize(b, value);
    const rlx_sinfo *have = e ? rlx_builder_infer(b, e) : NULL;
    enum rlx_assignability fit =
        have ? rlx_assignable(r->ctx, rlx_builder_scope(b), have, v->sinfo, &why)
             : RLX_ASSIGNABLE_NO;
    *is_same = fit == RLX_ASSIGNABLE_YES;
    if (!have)
        return NULL;
    if (fit >= RLX_ASSIGNABLE_VALUE)
        return e;
    rlx_buf text;
    rlx_buf_init(&text, &r->ctx->memory);
    rlx_assignable_explain(&text, &why);
    rlx_error(r->ctx, RLX_OP17, v->place, "the replacement of %s is %s, which is no %s: %s",
              rlx_show(r->ctx, &v->node), rlx_show(r->ctx, have), rlx_show(r->ctx, v->sinfo),
              text.data ? text.data : "?");
    rlx_buf_free(&text);
    return NULL;
}

/* ---- variables beside the root */

static void note_in_match(void *user, uint32_t entry, bool into)
{
    rewriting *r = user;
    (void)into;
    r->is_in_match |= entry == r->asked;
}

/* From here on `leaf` stands for v, which is bound already. An output of a dataflow block needs
 * one that leaves the block. */
static bool replace_bound(rewriting *r, const rlx_var *v, const rlx_expr *leaf)
{
    rlx_builder *b = r->mutator.builder;
    rlx_emit how = { .name = v->name, .number = v->number, .output = true,
                     .place = r->ctx->diags.otherwise };
    bool escapes = v->node.kind == RLX_NODE_VAR && rlx_builder_in_dataflow(b);
    if (escapes && !(leaf = (const rlx_expr *)rlx_builder_emit(b, leaf, &how)))
        return false;
    return rlx_ptrmap_put(&r->mutator.vars, v, (uintptr_t)leaf);
}

static bool replace_too(rewriting *r, rlx_match_swap too)
{
    bool is_same;
    r->asked = rlx_scene_entry_of(&r->scene, &too.old->node);
    r->is_in_match = false;
    rlx_match_bindings(&r->matcher, note_in_match, r);
    if (!r->is_in_match || r->asked == r->root)
        return rlx_error(r->ctx, RLX_OP17, too.old->place,
                         "%s is no other binding of the match: it is not replaced with the root",
                         rlx_show(r->ctx, &too.old->node)) != NULL;
    const rlx_expr *e = checked(r, too.old, too.with, &is_same);
    const rlx_expr *leaf = e ? rlx_builder_operand(r->mutator.builder, e) : NULL;
    if (!leaf)
        return false;
    if (r->asked < r->root)
        return replace_bound(r, too.old, leaf);
    r->instead[r->asked] = leaf;
    return true;
}

static bool replace_others(rewriting *r)
{
    for (size_t i = 0; i < r->also.len; i++)
        if (!replace_too(r, r->also.data[i]))
            return false;
    return true;
}

/* ---- the root */

/* A leaf may stand for the variable itself, but a variable of a dataflow block cannot leave it. */
static bool takes_place(const rlx_var *v, const rlx_expr *leaf, bool in_dataflow)
{
    bool escapes = in_dataflow && v->node.kind == RLX_NODE_VAR;
    return rlx_as_var(leaf) && !escapes;
}

static const rlx_expr *ask(rewriting *r, const rlx_var_binding *old, const rlx_expr *value,
                           bool *replaced)
{
    rlx_builder *b = r->mutator.builder;
    size_t errors = rlx_error_count(r->ctx);
    rlx_place before = r->ctx->diags.otherwise;
    rlx_mark mark = rlx_builder_mark(b);
    const rlx_var *v = rlx_as_var(old->var);
    bool is_same = false;
    r->ctx->diags.otherwise = old->place ? old->place : v->place;
    r->also.len = 0;
    const rlx_expr *e = r->how->replace(r->how->user, r->mb, b, &r->matcher, &r->also);
    bool leaves = !e || e == &v->node || e == old->value;
    if (!leaves && rlx_error_count(r->ctx) == errors)
        e = checked(r, v, e, &is_same);
    bool good = rlx_error_count(r->ctx) == errors && (leaves || e);
    if (good && !leaves) {
        rlx_match_take(&r->matcher);
        rlx_match_bindings(&r->matcher, note_loose, r);
        good = replace_others(r);
    }
    r->ctx->diags.otherwise = before;
    if (!good)
        return NULL;
    if (leaves) {
        rlx_builder_rollback(b, &mark);
        return value;
    }
    *replaced = is_same && takes_place(v, e, rlx_builder_in_dataflow(b));
    r->replaced = true;
    return e;
}

static const rlx_expr *at_binding(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                  bool *replaced)
{
    rewriting *r = m->user;
    const rlx_var_binding *vb = rlx_as_var_binding(old);
    uint32_t entry = vb ? rlx_scene_entry_of(&r->scene, vb->var) : RLX_NOWHERE;
    if (entry == RLX_NOWHERE || r->scene.entries.data[entry].binding != old)
        return value;
    if (r->instead[entry]) {
        *replaced = takes_place(rlx_as_var(vb->var), r->instead[entry],
                                rlx_builder_in_dataflow(m->builder));
        return r->instead[entry];
    }
    enum rlx_match_result found = rlx_match_entry(&r->matcher, entry);
    r->root = entry;
    return found == RLX_PATTERN_MATCH_FAILED ? NULL
           : found == RLX_PATTERN_MATCH_NO   ? value
                                             : ask(r, vb, value, replaced);
}

/* ---- what is left over */

typedef struct counting { rlx_ptrmap *counts; intptr_t change; } counting;

static enum rlx_step count_var(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    counting *c = user;
    uintptr_t count = 0;
    bool is_definition = via && (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS);
    if (n->kind == RLX_NODE_CONSTANT ||
        rlx_node_is_closed(n))
        return RLX_STEP_SKIP;
    if (!rlx_as_var(n) || is_definition)
        return RLX_STEP_ON;
    rlx_ptrmap_find(c->counts, n, &count);
    return rlx_ptrmap_put(c->counts, n, count + (uintptr_t)c->change) ? RLX_STEP_SKIP
                                                                      : RLX_STEP_STOP;
}

static bool uncount(rewriting *r, rlx_ptrmap *counts, const rlx_binding *b)
{
    counting c = { counts, -1 };
    rlx_walker w = { .enter = count_var, .user = &c, .annotations = true };
    rlx_walk(&r->ctx->memory, b, &w, NULL);
    return !r->ctx->diags.out_of_memory;
}

static enum rlx_step note_binding(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    counting *c = user;
    const rlx_var_binding *b = rlx_as_var_binding(n);
    uintptr_t wanted;
    if (b && rlx_ptrmap_find(c->counts, b->var, &wanted))
        (void)rlx_ptrmap_put(c->counts, b->var, (uintptr_t)b);
    return rlx_family_of(n) == RLX_FAMILY_SINFO ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* new variable -> its binding, for the loose ones. */
static bool find_loose(rewriting *r, const rlx_function *f, rlx_ptrmap *bindings)
{
    counting c = { bindings, 0 };
    rlx_walker w = { .enter = note_binding, .user = &c, .code = true };
    bool good = true;
    for (size_t i = 0; good && i < r->num_entries; i++)
        good = !r->loose[i] || rlx_ptrmap_put(bindings, r->now[i], 0);
    if (good)
        rlx_walk(&r->ctx->memory, &f->node, &w, NULL);
    return good && !r->ctx->diags.out_of_memory;
}

static bool is_pure(rewriting *r, const rlx_expr *value)
{
    const rlx_call *c = rlx_as_call(value);
    return !c || rlx_call_is_pure(rlx_module_builder_env(r->mb), r->ctx, c);
}

static bool drop_dead(rlx_mutator *m, const rlx_binding *old)
{
    const rlx_var_binding *b = rlx_as_var_binding(old);
    return b && rlx_ptrmap_get(m->user, b->var) == b;
}

/* Leaves in `bindings` those to be dropped, found from the last one on. */
static bool find_dead(rewriting *r, const rlx_function *f, rlx_ptrmap *bindings, size_t *num_dead)
{
    rlx_ptrmap counts;
    rlx_ptrmap_init(&counts, &r->ctx->memory);
    bool good = rlx_count_uses(r->ctx, f, &counts);
    for (size_t i = r->num_entries; good && i--;) {
        const rlx_binding *b = r->loose[i] ? rlx_ptrmap_get(bindings, r->now[i]) : NULL;
        uintptr_t uses = 0;
        if (!b)
            continue;
        rlx_ptrmap_find(&counts, r->now[i], &uses);
        bool dead = !uses && is_pure(r, rlx_as_var_binding(b)->value);
        *num_dead += dead;
        if (dead)
            good = uncount(r, &counts, b);
        else
            good = rlx_ptrmap_put(bindings, r->now[i], 0);
    }
    rlx_ptrmap_free(&counts);
    return good;
}

static const rlx_function *without_dead(rewriting *r, const rlx_function *f,
                                        const rlx_global_var *gv)
{
    rlx_ptrmap bindings;
    size_t num_dead = 0;
    rlx_ptrmap_init(&bindings, &r->ctx->memory);
    if (!find_loose(r, f, &bindings) || !find_dead(r, f, &bindings, &num_dead)) {
        f = NULL;
    } else if (num_dead) {
        rlx_mutator m;
        rlx_mutator_init(&m, r->ctx, rlx_module_builder_env(r->mb), &bindings);
        m.drop = drop_dead;
        f = rlx_mutate_function(&m, f, gv);
        rlx_mutator_free(&m);
    }
    rlx_ptrmap_free(&bindings);
    return f;
}

/* ---- functions */

static enum rlx_match_result matches_anywhere(rewriting *r)
{
    enum rlx_match_result found = RLX_PATTERN_MATCH_NO;
    for (size_t i = 0; found == RLX_PATTERN_MATCH_NO && i < r->scene.order.len; i++)
        found = rlx_match_entry(&r->matcher, r->scene.order.data[i]);
    return found;
}

static const rlx_function *rewritten(rewriting *r, const rlx_function *f, const rlx_global_var *gv)
{
    rlx_memory *memory = &r->ctx->memory;
    const rlx_function *out = NULL;
    r->num_entries = r->scene.entries.len;
    r->loose = rlx_mem_alloc_zero(memory, r->num_entries + 1);
    r->now = rlx_mem_alloc_zero(memory, (r->num_entries + 1) * sizeof *r->now);
    r->instead = rlx_mem_alloc_zero(memory, (r->num_entries + 1) * sizeof *r->instead);
    rlx_mutator_init(&r->mutator, r->ctx, rlx_module_builder_env(r->mb), r);
    r->mutator.binding = at_binding;
    r->replaced = false;
    if (r->loose && r->now && r->instead)
        out = rlx_mutate_function(&r->mutator, f, gv);
    rlx_mutator_free(&r->mutator);
    if (out && !r->replaced)
        out = f;
    else if (out)
        out = without_dead(r, out, gv);
    rlx_mem_free(memory, r->loose, r->loose ? r->num_entries + 1 : 0);
    rlx_mem_free(memory, r->now, r->now ? (r->num_entries + 1) * sizeof *r->now : 0);
    rlx_mem_free(memory, r->instead, r->instead ? (r->num_entries + 1) * sizeof *r->instead : 0);
    return out;
}

static bool rewrite_function(rewriting *r, const rlx_pattern_plan *plan, const rlx_module *m,
                             size_t i, uint64_t *steps)
{
    const rlx_function *f = rlx_as_function(m->functions[i]), *out = f;
    const rlx_global_var *gv = rlx_as_global_var(m->gvars[i]);
    if (!f || !f->body || (r->how->gv && r->how->gv != gv))
        return true;
    bool good = rlx_scene_init(&r->scene, r->ctx, m, f) &&
                rlx_matcher_init(&r->matcher, plan, &r->scene, *steps);
    enum rlx_match_result found = good ? matches_anywhere(r) : RLX_PATTERN_MATCH_FAILED;
    if (found == RLX_PATTERN_MATCH_YES) {
        if (!r->mb)
            r->mb = rlx_module_builder_create(r->ctx, m);
        out = r->mb ? rewritten(r, f, gv) : NULL;
    }
    *steps = r->matcher.steps;
    rlx_matcher_free(&r->matcher);
    rlx_scene_free(&r->scene);
    return found != RLX_PATTERN_MATCH_FAILED && out &&
           (out == f || rlx_module_builder_define(r->mb, gv, &out->node));
}

static const rlx_module *one_round(rlx_context *ctx, const rlx_module *m,
                                   const rlx_pattern_rewrite *how, const rlx_pattern_plan *plan,
                                   size_t count, uint64_t *steps)
{
    rewriting r = { .how = how, .ctx = ctx };
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        r.matcher = (rlx_matcher){ 0 };
        good = rewrite_function(&r, plan, m, i, steps);
    }
    rlx_vec_free(&ctx->memory, &r.also);
    const rlx_module *out = good && r.mb ? rlx_module_builder_finish(r.mb, m->place) : m;
    if (r.mb)
        rlx_module_builder_free(r.mb);
    return good ? out : NULL;
}

const rlx_module *rlx_rewrite_pattern(rlx_context *ctx, const rlx_module *m,
                                      const rlx_pattern_rewrite *how)
{
    rlx_pattern_plan plan;
    uint64_t steps = how->max_steps;
    size_t errors = rlx_error_count(ctx), count = m->num_functions;
    uint8_t before = ctx->origin;
    const rlx_module *old = NULL,
                     *now = rlx_pattern_plan_init(&plan, ctx, how->pattern) ? m : NULL;
    if (now && !before)
        ctx->origin = rlx_context_origin(ctx, "rewrite_pattern");
    for (int32_t round = 0; now && now != old && round < how->max_rounds; round++) {
        old = now;
        now = one_round(ctx, now, how, &plan, count, &steps);
    }
    /* what the host gives may mention what is not there */
    if (now && now != m && !rlx_well_formed_since(ctx, now, m))
        now = NULL;
    ctx->origin = before;
    rlx_pattern_plan_free(&plan);
    return rlx_error_count(ctx) == errors ? now : NULL;
}
