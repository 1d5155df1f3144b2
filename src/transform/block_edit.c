/* block_edit.c: edits of a dataflow block. Lists are searched: an operation costs what the block
 * does. */
#include "transform/edit.h"
#include "transform/seq_pass.h"
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

struct rlx_block_edit {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_global_var *gv;
    const rlx_function *function;
    const rlx_block *block;
    RLX_VEC(const rlx_binding *) bindings; /* of the block, as they would be */
    rlx_ptrmap mine;       /* bindings of the old block */
    rlx_ptrmap visible;    /* variables in scope where the block begins */
    rlx_ptrmap outside;    /* variables and sizes that are used outside of the block */
    rlx_ptrmap renamed;    /* variable that was bound here -> what it is after the block */
    bool emitted;
};
#define MEMORY(e) (&(e)->ctx->memory)

/* ---- what is around the block */

typedef struct around {
    rlx_block_edit *e;
    rlx_vars open;
    RLX_VEC(size_t) marks; /* of `open`, by scope */
    bool found;
} around;

static bool opens_scope(const rlx_node *n)
{
    return n->kind == RLX_NODE_FUNCTION || n->kind == RLX_NODE_SEQ_EXPR;
}

static void take_visible(around *a)
{
    a->found = true;
    for (size_t i = 0; i < a->open.len; i++)
        (void)rlx_ptrmap_put(&a->e->visible, a->open.data[i], 1);
}

static enum rlx_step enter_around(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    around *a = user;
    const rlx_var *v = rlx_as_var(n);
    (void)parent;
    if (n == &a->e->block->node) {
        take_visible(a);
        return RLX_STEP_SKIP;
    }
    bool is_def = v && rlx_field_is_def(via);
    if (is_def && !a->found)
        (void)rlx_vec_push(MEMORY(a->e), &a->open, v);
    else if (!is_def && (v || n->kind == RLX_NODE_PRIM_VAR))
        (void)rlx_ptrmap_put(&a->e->outside, n, 1);
    if (opens_scope(n))
        (void)rlx_vec_push(MEMORY(a->e), &a->marks, a->open.len);
    return a->e->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static enum rlx_step leave_around(void *user, const rlx_node *n)
{
    around *a = user;
    if (opens_scope(n))
        a->open.len = rlx_vec_pop(&a->marks);
    return RLX_STEP_ON;
}

static bool look_around(rlx_block_edit *e)
{
    around a = { .e = e };
    rlx_walker w = {
        .enter = enter_around, .leave = leave_around, .user = &a, .annotations = true
    };
    rlx_walk(MEMORY(e), &e->function->node, &w, NULL);
    rlx_vec_free(MEMORY(e), &a.open);
    rlx_vec_free(MEMORY(e), &a.marks);
    if (e->ctx->diags.out_of_memory)
        return false;
    return a.found || rlx_error(e->ctx, RLX_OP02, e->block->place, "the block is none of %s",
                                e->gv->name->data) != NULL;
}

rlx_block_edit *rlx_block_edit_create(rlx_context *ctx, const rlx_module *m,
                                      const rlx_global_var *gv, const rlx_block *block)
{
    int64_t at = rlx_module_index(m, gv);
    const rlx_function *f = at < 0 ? NULL : rlx_as_function(m->functions[at]);
    if (block->node.kind != RLX_NODE_DATAFLOW_BLOCK || !f || !f->body)
        return rlx_error(ctx, RLX_OP02, block->place, "expected a dataflow block of a Relax "
                         "function, found %s", f && f->body ? "an ordinary block"
                                                            : "a function without a body");
    rlx_block_edit *e = rlx_mem_alloc_zero(&ctx->memory, sizeof *e);
    if (!e)
        return NULL;
    *e = (rlx_block_edit){ .ctx = ctx, .module = m, .gv = gv, .function = f, .block = block };
    rlx_ptrmap *maps[] = { &e->mine, &e->visible, &e->outside, &e->renamed };
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &ctx->memory);
    bool good = true;
    for (size_t i = 0; good && i < block->num_bindings; i++)
        good = rlx_vec_push(MEMORY(e), &e->bindings, block->bindings[i]) &&
               rlx_ptrmap_put(&e->mine, block->bindings[i], 1);
    if (good && look_around(e))
        return e;
    rlx_block_edit_free(e);
    return NULL;
}

void rlx_block_edit_free(rlx_block_edit *e)
{
    if (!e)
        return;
    rlx_memory *m = MEMORY(e);
    rlx_vec_free(m, &e->bindings);
    rlx_ptrmap_free(&e->mine);
    rlx_ptrmap_free(&e->visible);
    rlx_ptrmap_free(&e->outside);
    rlx_ptrmap_free(&e->renamed);
    rlx_mem_free(m, e, sizeof *e);
}

/* ---- uses */

typedef struct uses { const rlx_block_edit *e; const rlx_node *of; bool found; } uses;

static enum rlx_step find_use(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    uses *u = user;
    (void)parent;
    u->found |= n == u->of && !rlx_field_is_def(via);
    return u->found ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Does the binding use it, its variable's struct info included? */
static bool uses_it(const rlx_block_edit *e, const rlx_binding *b, const rlx_node *of, bool *lost)
{
    uses u = { .e = e, .of = of };
    bool out = false;
    rlx_walker w = { .enter = find_use, .user = &u, .annotations = true };
    rlx_walk(MEMORY(e), b, &w, &out);
    *lost |= out;
    return u.found;
}

/* Index of the first binding that uses it; as many as there are: none. */
static size_t first_use(const rlx_block_edit *e, const rlx_node *of, bool *lost)
{
    size_t i = 0;
    while (i < e->bindings.len && !uses_it(e, e->bindings.data[i], of, lost))
        i++;
    return i;
}

static size_t index_of(const rlx_block_edit *e, const rlx_var *v)
{
    size_t i = 0;
    while (i < e->bindings.len && rlx_binding_var(e->bindings.data[i]) != v)
        i++;
    return i;
}

/* Is something used after the block under the name of v, whatever it was at first? */
static bool is_used_after(const rlx_block_edit *e, const rlx_var *v)
{
    if (v->node.kind == RLX_NODE_DATAFLOW_VAR)
        return false;
    for (size_t i = 0; i < e->block->num_bindings; i++) {
        const rlx_var *old = rlx_binding_var(e->block->bindings[i]);
        const rlx_var *now = old ? rlx_ptrmap_get(&e->renamed, old) : NULL;
        if (old && (now ? now : old) == v && rlx_ptrmap_has(&e->outside, old))
            return true;
    }
    return false;
}

/* ---- replacing */

static bool refuse(rlx_block_edit *e, const rlx_var *old, const rlx_var *with, const char *why)
{
    return rlx_error(e->ctx, RLX_OP17, with->place, "%s does not take the place of %s: %s",
                     rlx_show(e->ctx, &with->node), rlx_show(e->ctx, &old->node), why) != NULL;
}

static bool may_replace(rlx_block_edit *e, const rlx_var *old, const rlx_var *with)
{
    rlx_scope scope;
    bool lost = false;
    size_t bound = index_of(e, with), used = first_use(e, &old->node, &lost);
    if (lost)
        return false;
    if (bound == e->bindings.len && !rlx_ptrmap_has(&e->visible, with))
        return refuse(e, old, with, "it is not bound where the block stands");
    if (bound < e->bindings.len && used <= bound)
        return refuse(e, old, with, "it is bound after a use; add it again, or replace less");
    if (with->node.kind == RLX_NODE_DATAFLOW_VAR && is_used_after(e, old))
        return refuse(e, old, with, "that is used after the block; add an output for it");
    rlx_scope_init(&scope, e->ctx, NULL);
    bool fits =
        !old->sinfo || !with->sinfo ||
        rlx_assignable(e->ctx, &scope, with->sinfo, old->sinfo, NULL) >= RLX_ASSIGNABLE_VALUE;
    rlx_scope_free(&scope);
    return fits || refuse(e, old, with, "its struct info does not fit");
}

/* After the block `now` stands for what v stood for. */
static bool rename_after(rlx_block_edit *e, const rlx_var *v, const rlx_var *now)
{
    for (size_t i = 0; i < e->block->num_bindings; i++) {
        const rlx_var *old = rlx_binding_var(e->block->bindings[i]);
        const rlx_var *is = old ? rlx_ptrmap_get(&e->renamed, old) : NULL;
        if (old && (is ? is : old) == v && !rlx_ptrmap_put(&e->renamed, old, (uintptr_t)now))
            return false;
    }
    return true;
}

/* The bindings with the names of a rewriter; variables whose struct info mentions them are made
 * anew. */
static bool rewrite_bindings(rlx_block_edit *e, rlx_rewriter *r, const rlx_var *old)
{
    for (size_t i = 0; i < e->bindings.len; i++) {
        const rlx_binding *was = e->bindings.data[i];
        const rlx_var *v = rlx_binding_var(was);
        if (v == old)
            continue;
        const rlx_binding *now = rlx_rewrite(r, was);
        if (!now)
            return false;
        e->bindings.data[i] = now;
        if (v && rlx_binding_var(now) != v && !rename_after(e, v, rlx_binding_var(now)))
            return false;
    }
    return true;
}

bool rlx_block_edit_replace(rlx_block_edit *e, const rlx_var *old, const rlx_var *with)
{
    rlx_rewriter r;
    if (old == with)
        return true;
    if (!may_replace(e, old, with))
        return false;
    rlx_rewriter_init(&r, e->ctx);
    bool good = rlx_ptrmap_put(&r.map, old, (uintptr_t)with);
    good = good && rewrite_bindings(e, &r, old) && rename_after(e, old, with);
    rlx_rewriter_free(&r);
    return good;
}

/* ---- adding */

static bool binds_size(const rlx_binding *b, const rlx_prim_vars *sizes, rlx_memory *m, bool *lost)
{
    rlx_prim_vars bound = { 0 };
    bool found = false;
    if (b->kind != RLX_NODE_MATCH_CAST)
        return false;
    *lost |= !rlx_collect_prim_vars(m, ((const rlx_match_cast *)b)->sinfo, true, &bound);
    for (size_t i = 0; i < bound.len; i++)
        for (size_t k = 0; k < sizes->len; k++)
            found |= bound.data[i] == sizes->data[k];
    rlx_vec_free(m, &bound);
    return found;
}

/* Where expr can stand: after the bindings of its operands and sizes. */
static bool find_position(rlx_block_edit *e, const rlx_vars *operands, const rlx_prim_vars *sizes,
                          size_t *at)
{
    bool lost = false;
    *at = 0;
    for (size_t i = 0; i < operands->len; i++) {
        const rlx_var *v = operands->data[i];
        size_t bound = index_of(e, v);
        if (bound == e->bindings.len && !rlx_ptrmap_has(&e->visible, v))
            return rlx_error(e->ctx, RLX_OP02, v->place, "%s is not bound where the block stands",
                             rlx_show(e->ctx, &v->node)) != NULL;
        if (bound < e->bindings.len && *at <= bound)
            *at = bound + 1;
    }
    for (size_t i = *at; i < e->bindings.len; i++)
        if (binds_size(e->bindings.data[i], sizes, MEMORY(e), &lost))
            *at = i + 1;
    return !lost;
}

/* The bindings that expr needs, made in a function of their own. */
static const rlx_block *bind(rlx_block_edit *e, const rlx_expr *expr, const rlx_emit *how,
                             const rlx_prim_vars *sizes, const rlx_var **out)
{
    rlx_env env = rlx_module_env(e->module);
    rlx_builder_options options = { .quiet_values = true };
    rlx_builder *b = rlx_builder_create(e->ctx, &env, &options);
    const rlx_expr *unit = rlx_tuple_new(e->ctx, NULL, 0, RLX_NO_PLACE);
    bool good = b && unit &&
                rlx_builder_begin_function(b, NULL, 0, true, NULL,
                                           rlx_string_slice(e->gv->name), NULL);
    for (size_t i = 0; good && i < sizes->len; i++)
        good = rlx_builder_declare(b, sizes->data[i]);
    good = good && rlx_builder_begin_block(b, true, e->block->place);
    *out = good ? rlx_builder_emit(b, expr, how) : NULL;
    good = *out && rlx_builder_end_block(b);
    const rlx_function *f =
        good ? rlx_builder_end_function(b, unit, NULL, NULL, RLX_NO_PLACE) : NULL;
    rlx_builder_free(b);
    const rlx_seq_expr *body = f ? rlx_as_seq_expr(f->body) : NULL;
    return body && body->num_blocks ? rlx_as_block(body->blocks[0]) : NULL;
}

static bool insert(rlx_block_edit *e, size_t at, const rlx_block *new)
{
    size_t count = new->num_bindings;
    if (!rlx_vec_reserve(MEMORY(e), &e->bindings, e->bindings.len + count))
        return false;
    memmove(e->bindings.data + at + count, e->bindings.data + at,
            (e->bindings.len - at) * sizeof *e->bindings.data);
    memcpy(e->bindings.data + at, new->bindings, count * sizeof *e->bindings.data);
    e->bindings.len += count;
    return true;
}

static bool sizes_of(rlx_block_edit *e, const rlx_expr *expr, const rlx_vars *operands,
                     rlx_prim_vars *sizes)
{
    bool good = rlx_collect_prim_vars(MEMORY(e), expr, false, sizes);
    for (size_t i = 0; good && i < operands->len; i++)
        good = !operands->data[i]->sinfo ||
               rlx_collect_prim_vars(MEMORY(e), operands->data[i]->sinfo, false, sizes);
    return good;
}

const rlx_var *rlx_block_edit_add(rlx_block_edit *e, const rlx_expr *expr, const rlx_string *name,
                                  bool output)
{
    rlx_vars operands = { 0 };
    rlx_prim_vars sizes = { 0 };
    const rlx_var *v = NULL;
    size_t at = 0;
    bool good = rlx_free_vars(e->ctx, expr, &operands) && sizes_of(e, expr, &operands, &sizes) &&
                find_position(e, &operands, &sizes, &at);
    rlx_place place = at ? rlx_place_of(e->bindings.data[at - 1]) : e->block->place;
    rlx_place before = e->ctx->diags.otherwise;
    rlx_emit how = { .name = name, .number = -1, .output = output, .place = place,
                     .var_place = place };
    e->ctx->diags.otherwise = place;
    const rlx_block *new = good ? bind(e, expr, &how, &sizes, &v) : NULL;
    e->ctx->diags.otherwise = before;
    good = new && insert(e, at, new);
    rlx_vec_free(MEMORY(e), &operands);
    rlx_vec_free(MEMORY(e), &sizes);
    return good ? v : NULL;
}

/* ---- removing */

static void take_out(rlx_block_edit *e, size_t at)
{
    memmove(e->bindings.data + at, e->bindings.data + at + 1,
            (e->bindings.len - at - 1) * sizeof *e->bindings.data);
    e->bindings.len--;
}

/* Sizes that a cast binds here and something else uses. */
static bool binds_used_size(rlx_block_edit *e, size_t at, bool *lost)
{
    rlx_prim_vars bound = { 0 };
    const rlx_match_cast *cast = rlx_as_match_cast(e->bindings.data[at]);
    bool used = false;
    if (cast)
        *lost |= !rlx_collect_prim_vars(MEMORY(e), cast->sinfo, true, &bound);
    for (size_t i = 0; i < bound.len && !used; i++) {
        used = rlx_ptrmap_has(&e->outside, bound.data[i]);
        for (size_t k = 0; k < e->bindings.len && !used; k++)
            used = k != at && uses_it(e, e->bindings.data[k], &bound.data[i]->node, lost);
    }
    rlx_vec_free(MEMORY(e), &bound);
    return used;
}

bool rlx_block_edit_remove(rlx_block_edit *e, const rlx_var *v, bool even_if_used)
{
    bool lost = false;
    size_t at = index_of(e, v);
    if (at == e->bindings.len)
        return rlx_error(e->ctx, RLX_OP02, v->place, "%s is not bound in the block",
                         rlx_show(e->ctx, &v->node)) != NULL;
    bool used = !even_if_used &&
                (is_used_after(e, v) || first_use(e, &v->node, &lost) < e->bindings.len ||
                 binds_used_size(e, at, &lost));
    if (lost)
        return false;
    if (used)
        return rlx_error(e->ctx, RLX_OP09, v->place, "%s is used: replace its uses first",
                         rlx_show(e->ctx, &v->node)) != NULL;
    take_out(e, at);
    return true;
}

typedef struct counting { rlx_ptrmap used; } counting;

static enum rlx_step note_use(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    counting *c = user;
    (void)parent;
    if (rlx_as_var(n) && !rlx_field_is_def(via))
        return rlx_ptrmap_put(&c->used, n, 1) ? RLX_STEP_ON : RLX_STEP_STOP;
    return RLX_STEP_ON;
}

/* The variables that stand for what is used after the block. */
static bool note_after(rlx_block_edit *e, counting *c)
{
    bool good = true;
    for (size_t i = 0; good && i < e->block->num_bindings; i++) {
        const rlx_var *old = rlx_binding_var(e->block->bindings[i]);
        const rlx_var *now = old ? rlx_ptrmap_get(&e->renamed, old) : NULL;
        if (old && rlx_ptrmap_has(&e->outside, old))
            good = rlx_ptrmap_put(&c->used, now ? now : old, 1);
    }
    return good;
}

/* From the last one on, so that what only a removed one used goes too. */
bool rlx_block_edit_remove_unused(rlx_block_edit *e)
{
    counting c;
    rlx_walker w = { .enter = note_use, .user = &c, .annotations = true };
    rlx_ptrmap_init(&c.used, MEMORY(e));
    size_t kept = e->bindings.len;
    for (size_t i = note_after(e, &c) ? kept : 0; i-- && !e->ctx->diags.out_of_memory;) {
        const rlx_binding *b = e->bindings.data[i];
        const rlx_var *v = rlx_binding_var(b);
        if (b->kind != RLX_NODE_MATCH_CAST && v && !rlx_ptrmap_has(&c.used, v))
            continue;
        rlx_walk(MEMORY(e), b, &w, NULL);
        e->bindings.data[--kept] = b;
    }
    rlx_ptrmap_free(&c.used);
    if (e->ctx->diags.out_of_memory)
        return false;
    memmove(e->bindings.data, e->bindings.data + kept,
            (e->bindings.len - kept) * sizeof *e->bindings.data);
    e->bindings.len -= kept;
    return true;
}

/* ---- what comes out */

static bool is_unchanged(const rlx_block_edit *e)
{
    return e->bindings.len == e->block->num_bindings && !e->renamed.len &&
           (!e->bindings.len || memcmp(e->bindings.data, e->block->bindings,
                                       e->bindings.len * sizeof *e->bindings.data) == 0);
}

const rlx_block *rlx_block_edit_block(rlx_block_edit *e)
{
    if (is_unchanged(e))
        return e->block;
    return rlx_as_block(rlx_block_new(e->ctx, true, e->bindings.data, e->bindings.len,
                                      e->block->place));
}

static bool emit_all(rlx_seq_pass *p, rlx_block_edit *e)
{
    bool good = true;
    for (size_t i = 0; good && i < e->bindings.len; i++)
        good = rlx_seq_emit(p, e->bindings.data[i]);
    for (size_t i = 0; good && i < e->block->num_bindings; i++) {
        const rlx_var *old = rlx_binding_var(e->block->bindings[i]);
        const rlx_node *now = old ? rlx_ptrmap_get(&e->renamed, old) : NULL;
        good = !now || rlx_seq_replace(p, &old->node, now);
    }
    return good;
}

/* The whole block stands where its first binding was. */
static bool at_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    rlx_block_edit *e = p->user;
    if (!rlx_ptrmap_has(&e->mine, old))
        return rlx_seq_emit(p, now);
    bool first = !e->emitted;
    e->emitted = true;
    return !first || emit_all(p, e);
}

static const rlx_function *edited(rlx_block_edit *e)
{
    rlx_seq_pass p;
    rlx_seq_init(&p, e->ctx, e->module, e);
    p.binding = at_binding;
    e->emitted = false;
    const rlx_function *f = rlx_seq_function(&p, e->function);
    rlx_seq_free(&p);
    return f;
}

const rlx_module *rlx_block_edit_module(rlx_block_edit *e, const rlx_function **f)
{
    const rlx_function *now = is_unchanged(e) ? e->function : edited(e);
    rlx_module_builder *mb = now ? rlx_module_builder_create(e->ctx, e->module) : NULL;
    const rlx_module *out =
        mb && (now == e->function || rlx_module_builder_define(mb, e->gv, &now->node))
            ? rlx_module_builder_finish(mb, e->module->place)
            : NULL;
    rlx_module_builder_free(mb);
    if (out && out != e->module && !rlx_well_formed_since(e->ctx, out, e->module))
        out = NULL;
    if (f)
        *f = out ? now : NULL;
    return out;
}
