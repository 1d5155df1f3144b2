/*- pattern_scene.c: a function as bindings in blocks: who is bound to what, who uses whom. One
 * walk over the function.
 *
 *     with R.dataflow():          entry  block  value    stands_for  users
 *         lv = R.exp(x)           1      0      exp(x)   1           3
 *         lv1 = lv                2      0      lv       1           (those of lv1 count for lv)
 *         gv = R.add(lv1, x)      3      0      add      3           nowhere: the result
 *     return gv
 */
/* built for size */
#include "analysis/pattern.h"

#include "analysis/analysis.h"

typedef struct use { uint32_t used, user; } use;

typedef struct build {
    rlx_scene *scene;
    RLX_VEC(uint32_t) open_blocks, open_bindings;
    RLX_VEC(use) uses;
} build;

uint32_t rlx_scene_entry_of(const rlx_scene *s, const rlx_expr *var)
{
    uintptr_t at;
    return s && rlx_as_var(var) && rlx_ptrmap_find(&s->at, var, &at) ? (uint32_t)at : RLX_NOWHERE;
}

static bool add_entry(rlx_scene *s, rlx_scene_entry e, uint32_t *out)
{
    uint32_t at = (uint32_t)s->entries.len;
    e.next = RLX_NOWHERE;
    *out = at;
    if (at == RLX_NOWHERE - 1)
        return false;
    if (e.stands_for == RLX_NOWHERE)
        e.stands_for = at;
    return rlx_vec_push(&s->ctx->memory, &s->entries, e) &&
           (!e.var || rlx_ptrmap_put(&s->at, e.var, at));
}

static uint32_t top_of(const uint32_t *data, size_t len)
{
    return len ? data[len - 1] : RLX_NOWHERE;
}

/* A copy that nobody outside of the block can see, and that claims nothing beyond what it
 * copies. */
static uint32_t copied(const rlx_scene *s, const rlx_var *v, const rlx_expr *value, uint32_t block)
{
    uint32_t at = rlx_scene_entry_of(s, value);
    if (!v || v->node.kind != RLX_NODE_DATAFLOW_VAR || at == RLX_NOWHERE ||
        rlx_as_var(value)->sinfo != v->sinfo)
        return RLX_NOWHERE;
    return s->entries.data[at].block == block ? s->entries.data[at].stands_for : RLX_NOWHERE;
}

static enum rlx_step enter_binding(build *b, const rlx_binding *binding)
{
    rlx_scene *s = b->scene;
    const rlx_var_binding *vb = rlx_as_var_binding(binding);
    const rlx_match_cast *mc = rlx_as_match_cast(binding);
    rlx_scene_entry e = { .var = rlx_as_var(vb ? vb->var : mc->var),
                          .value = vb ? vb->value : NULL,
                          .binding = binding };
    uint32_t at;
    e.block = top_of(b->open_blocks.data, b->open_blocks.len);
    e.stands_for = vb ? copied(s, e.var, e.value, e.block) : RLX_NOWHERE;
    bool is_copy = e.stands_for != RLX_NOWHERE;
    if (e.block == RLX_NOWHERE || !add_entry(s, e, &at))
        return RLX_STEP_STOP;
    rlx_scene_block *block = &s->blocks.data[e.block];
    if (block->last == RLX_NOWHERE)
        block->first = at;
    else
        s->entries.data[block->last].next = at;
    block->last = at;
    if (!is_copy)
        return rlx_vec_push(&s->ctx->memory, &b->open_bindings, at) ? RLX_STEP_ON : RLX_STEP_STOP;
    return rlx_vec_push(&s->ctx->memory, &s->order, at) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

static enum rlx_step enter_block(build *b, const rlx_block *block)
{
    rlx_scene *s = b->scene;
    rlx_scene_block sb = { block, RLX_NOWHERE, RLX_NOWHERE };
    bool good = rlx_vec_push(&s->ctx->memory, &s->blocks, sb) &&
                rlx_vec_push(&s->ctx->memory, &b->open_blocks, (uint32_t)(s->blocks.len - 1));
    return good ? RLX_STEP_ON : RLX_STEP_STOP;
}

static enum rlx_step enter_var(build *b, const rlx_node *n, bool is_definition)
{
    uint32_t at = rlx_scene_entry_of(b->scene, n);
    if (is_definition) {
        rlx_scene_entry param = { .var = rlx_as_var(n),
                                  .block = RLX_NOWHERE,
                                  .stands_for = RLX_NOWHERE };
        /* parameters; others have their entry */
        bool good = at != RLX_NOWHERE || add_entry(b->scene, param, &at);
        return good ? RLX_STEP_ON : RLX_STEP_STOP;
    }
    if (at == RLX_NOWHERE)
        return RLX_STEP_SKIP;
    use u = { b->scene->entries.data[at].stands_for,
              top_of(b->open_bindings.data, b->open_bindings.len) };
    return rlx_vec_push(&b->scene->ctx->memory, &b->uses, u) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

static enum rlx_step note_scene(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    build *b = user;
    if (n->kind == RLX_NODE_CONSTANT ||
        rlx_node_is_closed(n))
        return RLX_STEP_SKIP;
    if (rlx_family_of(n) == RLX_FAMILY_BLOCK)
        return enter_block(b, rlx_as_block(n));
    if (rlx_family_of(n) == RLX_FAMILY_BINDING)
        return enter_binding(b, n);
    if (rlx_as_var(n))
        return enter_var(b, n, via && (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS));
    return RLX_STEP_ON;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    build *b = user;
    if (rlx_family_of(n) == RLX_FAMILY_BLOCK) {
        b->open_blocks.len--;
    } else if (rlx_family_of(n) == RLX_FAMILY_BINDING) {
        uint32_t at = rlx_vec_pop(&b->open_bindings);
        if (!rlx_vec_push(&b->scene->ctx->memory, &b->scene->order, at))
            return RLX_STEP_STOP;
    }
    return RLX_STEP_ON;
}

/* Uses sorted by what is used. */
static bool sort_uses(rlx_scene *s, const use *uses, size_t count)
{
    uint32_t first = 0;
    if (count >= RLX_NOWHERE)
        return rlx_mem_overflow(&s->ctx->memory);
    s->users = rlx_mem_alloc(&s->ctx->memory, (count + 1) * sizeof *s->users);
    if (!s->users)
        return false;
    s->num_users = count;
    for (size_t i = 0; i < count; i++)
        s->entries.data[uses[i].used].num_users++;
    for (size_t i = 0; i < s->entries.len; i++) {
        s->entries.data[i].first_user = first;
        first += s->entries.data[i].num_users;
        s->entries.data[i].num_users = 0;
    }
    for (size_t i = 0; i < count; i++) {
        rlx_scene_entry *e = &s->entries.data[uses[i].used];
        s->users[e->first_user + e->num_users++] = uses[i].user;
    }
    return true;
}

bool rlx_scene_init(rlx_scene *s, rlx_context *ctx, const rlx_module *m, const rlx_function *f)
{
    build b = { .scene = s };
    rlx_walker w = { .enter = note_scene, .leave = leave, .user = &b, .annotations = true };
    *s = (rlx_scene){ .ctx = ctx, .module = m, .func = f };
    rlx_ptrmap_init(&s->at, &ctx->memory);
    bool good = rlx_walk(&ctx->memory, &f->node, &w, NULL) != RLX_STEP_STOP &&
                !ctx->diags.out_of_memory && sort_uses(s, b.uses.data, b.uses.len);
    rlx_vec_free(&ctx->memory, &b.open_blocks);
    rlx_vec_free(&ctx->memory, &b.open_bindings);
    rlx_vec_free(&ctx->memory, &b.uses);
    return good;
}

void rlx_scene_free(rlx_scene *s)
{
    if (!s->ctx)
        return;
    rlx_memory *m = &s->ctx->memory;
    rlx_vec_free(m, &s->entries);
    rlx_vec_free(m, &s->order);
    rlx_vec_free(m, &s->blocks);
    rlx_mem_free(m, s->users, s->users ? (s->num_users + 1) * sizeof *s->users : 0);
    rlx_ptrmap_free(&s->at);
    if (s->has_scope)
        rlx_scope_free(&s->scope);
    s->ctx = NULL;
}

rlx_scope *rlx_scene_scope(rlx_scene *s)
{
    if (s->has_scope)
        return &s->scope;
    s->has_scope = true;
    rlx_scope_init(&s->scope, s->ctx, NULL);
    bool good = true;
    for (size_t i = 0; good && i < s->entries.len; i++) {
        const rlx_scene_entry *e = &s->entries.data[i];
        const rlx_match_cast *cast = rlx_as_match_cast(e->binding);
        bool binds = cast || !e->binding;
        const rlx_sinfo *info = cast ? cast->sinfo : e->var ? e->var->sinfo : NULL;
        good = !binds || !info || rlx_scope_enter(&s->scope, info);
    }
    return good ? &s->scope : NULL;
}
