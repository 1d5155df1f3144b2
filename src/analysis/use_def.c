/* use_def.c: see the header. One walk over the program notes uses in order; sorting them by
 * variable keeps that order. */
#include "analysis/analysis.h"

#include <string.h>

/* The surroundings of the node under the walk. */
typedef struct place { const rlx_node *node; const rlx_binding *by; uint8_t kind; } place;
typedef struct raw_use { uint32_t var; rlx_use use; } raw_use;
typedef struct raw_name { size_t list; const rlx_binding *binding; } raw_name;

typedef struct finder {
    rlx_use_def *u;
    rlx_context *ctx;
    rlx_memory *m;
    const rlx_node *root;
    rlx_mentions mentions;      /* in struct info */
    rlx_ptrmap seen;            /* operands that nodes may share -> serial where they were seen */
    RLX_VEC(place) places;
    RLX_VEC(raw_use) raw;
    RLX_VEC(raw_name) raw_names;
    RLX_VEC(rlx_use) last;      /* by variable: its newest use */
    const rlx_binding *by;
    uint8_t kind;
    int64_t position;
    uintptr_t serial;           /* changes wherever `by` does */
} finder;

/* Number of a variable, given one if it is new; SIZE_MAX when out of memory. */
static size_t number_of(finder *f, const rlx_node *var)
{
    rlx_use_def *u = f->u;
    uintptr_t at;
    if (rlx_ptrmap_find(&u->index, var, &at))
        return at - 1;
    rlx_var_uses v = { .var = (const rlx_var *)var, .position = -1 };
    rlx_use none = { NULL, 0 };
    if (u->vars.len >= UINT32_MAX || !rlx_vec_push(f->m, &u->vars, v) ||
        !rlx_vec_push(f->m, &f->last, none) || !rlx_ptrmap_put(&u->index, var, u->vars.len))
        return SIZE_MAX;
    return u->vars.len - 1;
}

static bool add_use(finder *f, const rlx_node *var, uint8_t kind)
{
    size_t at = number_of(f, var);
    if (at == SIZE_MAX)
        return false;
    raw_use r = { (uint32_t)at, { f->by, kind } };
    if (f->last.data[at].kind == kind && f->last.data[at].by == f->by)
        return true;
    f->last.data[at] = r.use;
    if (kind == RLX_USE_RESULT && !f->by && rlx_family_of(f->root) != RLX_FAMILY_BLOCK &&
        !rlx_vec_push(f->m, &f->u->outputs, (const rlx_var *)var))
        return false;
    return rlx_vec_push(f->m, &f->raw, r);
}

static bool use_in_info(void *user, const rlx_node *var)
{
    return add_use(user, var, RLX_USE_STRUCT_INFO);
}

/* ---- definitions ---------------------------------------------------------------------------- */

static bool add_name(finder *f, const rlx_var *v, const rlx_binding *b)
{
    rlx_use_def *u = f->u;
    rlx_buf text;
    rlx_buf_init(&text, f->m);
    rlx_text_var_name(&text, v);
    rlx_slice name = { text.data, text.len };
    uintptr_t at = text.failed ? 0 : (uintptr_t)rlx_map_get(&u->names, name);
    bool good = !text.failed;
    if (good && !at) {
        good = rlx_vec_push(f->m, &u->lists, (rlx_name_list){ 0 }) &&
               rlx_map_put(&u->names, name, (void *)(uintptr_t)u->lists.len);
        at = u->lists.len;
    }
    rlx_buf_free(&text);
    raw_name r = { at - 1, b };
    if (!good || !rlx_vec_push(f->m, &f->raw_names, r))
        return false;
    u->lists.data[at - 1].count++;
    return true;
}

static bool is_output_of_block(const finder *f, const rlx_node *var, const rlx_node *parent)
{
    return rlx_family_of(f->root) == RLX_FAMILY_BLOCK && var->kind == RLX_NODE_VAR &&
           f->places.len == 1 && rlx_family_of(parent) == RLX_FAMILY_BINDING;
}

static bool define(finder *f, const rlx_node *var, const rlx_node *parent)
{
    size_t at = number_of(f, var);
    if (at == SIZE_MAX)
        return false;
    if (rlx_family_of(parent) == RLX_FAMILY_BINDING) {
        f->u->vars.data[at].binding = parent;
        f->u->vars.data[at].position = f->position++;
        if (!add_name(f, (const rlx_var *)var, parent))
            return false;
    }
    return !is_output_of_block(f, var, parent) ||
           rlx_vec_push(f->m, &f->u->outputs, (const rlx_var *)var);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static bool is_result(const rlx_field *via, const rlx_node *n, const rlx_node *parent)
{
    if (!parent || via->type != RLX_FIELD_REF || rlx_family_of(n) != RLX_FAMILY_EXPR ||
        n->kind == RLX_NODE_SEQ_EXPR)
        return false;
    return parent->kind == RLX_NODE_SEQ_EXPR || parent->kind == RLX_NODE_FUNCTION ||
           (parent->kind == RLX_NODE_IF && n != ((const rlx_if_expr *)parent)->cond);
}

/* From here to the matching leave, uses are of this kind, in this binding. */
static enum rlx_step open_place(finder *f, const rlx_node *n, const rlx_binding *by, uint8_t kind)
{
    place p = { n, f->by, f->kind };
    if (!rlx_vec_push(f->m, &f->places, p))
        return RLX_STEP_STOP;
    f->by = by;
    f->kind = kind;
    f->serial++;
    return RLX_STEP_ON;
}

static enum rlx_step enter_var(finder *f, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    bool def = via && (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS);
    uint8_t kind = via && is_result(via, n, parent) ? RLX_USE_RESULT : f->kind;
    if (def ? !define(f, n, parent) : !add_use(f, n, kind))
        return RLX_STEP_STOP;
    if (!def)
        return RLX_STEP_SKIP;
    const rlx_sinfo *s = ((const rlx_var *)n)->sinfo;
    return !s || rlx_each_mention(&f->mentions, s) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

/* An operand seen before in the same binding adds nothing. */
static bool seen_here(finder *f, const rlx_node *n)
{
    uintptr_t in, here = f->serial + 1;
    if (n->kind != RLX_NODE_TUPLE && n->kind != RLX_NODE_CALL &&
        n->kind != RLX_NODE_TUPLE_GET_ITEM)
        return false;
    if (rlx_ptrmap_find(&f->seen, n, &in) && in == here)
        return true;
    (void)rlx_ptrmap_put(&f->seen, n, here);
    return false;
}

static enum rlx_step note_use_or_def(void *user, const rlx_node *n, const rlx_field *via,
                                     const rlx_node *parent)
{
    finder *f = user;
    int family = rlx_family_of(n);
    if (rlx_as_var(n))
        return enter_var(f, n, via, parent);
    if (n->kind == RLX_NODE_CONSTANT || n->kind == RLX_NODE_GLOBAL_VAR ||
        n->kind == RLX_NODE_PRIM_FUNC || family == RLX_FAMILY_ATTR || family == RLX_FAMILY_PRIM)
        return RLX_STEP_SKIP;
    if (n->flags & RLX_FLAG_INTERNED)
        return rlx_each_mention(&f->mentions, n) ? RLX_STEP_SKIP : RLX_STEP_STOP;
    if (family == RLX_FAMILY_BINDING)
        return open_place(f, n, n, RLX_USE_VALUE);
    if (via && is_result(via, n, parent))
        return open_place(f, n, f->by, RLX_USE_RESULT);
    bool seen = seen_here(f, n);
    return f->ctx->diags.out_of_memory ? RLX_STEP_STOP : seen ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    finder *f = user;
    if (f->places.len && rlx_vec_last(&f->places).node == n) {
        place p = rlx_vec_pop(&f->places);
        f->by = p.by;
        f->kind = p.kind;
        f->serial++;
    }
    return RLX_STEP_ON;
}

/* By variable, each in the order of the walk. */
static bool sort_uses(finder *f)
{
    rlx_use_def *u = f->u;
    u->num_uses = f->raw.len;
    u->uses = rlx_mem_alloc(f->m, (u->num_uses + 1) * sizeof *u->uses);
    if (!u->uses)
        return false;
    rlx_vec_group(&f->raw, var, use, &u->vars, u->uses);
    return true;
}

static bool sort_names(finder *f)
{
    rlx_use_def *u = f->u;
    u->num_named = f->raw_names.len;
    u->named = rlx_mem_alloc(f->m, (u->num_named + 1) * sizeof *u->named);
    if (!u->named)
        return false;
    rlx_vec_group(&f->raw_names, list, binding, &u->lists, u->named);
    return true;
}

bool rlx_use_def_find(rlx_use_def *u, rlx_context *ctx, const rlx_node *n)
{
    finder f = { .u = u, .ctx = ctx, .m = &ctx->memory, .root = n, .kind = RLX_USE_VALUE };
    rlx_walker w = { .enter = note_use_or_def, .leave = leave, .user = &f, .annotations = true };
    *u = (rlx_use_def){ .ctx = ctx };
    rlx_ptrmap_init(&u->index, f.m);
    rlx_map_init(&u->names, f.m);
    rlx_ptrmap_init(&f.seen, f.m);
    rlx_mentions_init(&f.mentions, ctx, use_in_info, &f);
    bool good = rlx_walk(f.m, n, &w, NULL) != RLX_STEP_STOP && !ctx->diags.out_of_memory &&
                sort_uses(&f) && sort_names(&f);
    rlx_mentions_free(&f.mentions);
    rlx_ptrmap_free(&f.seen);
    rlx_vec_free(f.m, &f.places);
    rlx_vec_free(f.m, &f.raw);
    rlx_vec_free(f.m, &f.raw_names);
    rlx_vec_free(f.m, &f.last);
    return good;
}

void rlx_use_def_free(rlx_use_def *u)
{
    rlx_memory *m = &u->ctx->memory;
    rlx_ptrmap_free(&u->index);
    rlx_map_free(&u->names);
    rlx_vec_free(m, &u->vars);
    rlx_vec_free(m, &u->outputs);
    rlx_vec_free(m, &u->lists);
    rlx_mem_free(m, u->named, u->named ? (u->num_named + 1) * sizeof *u->named : 0);
    rlx_mem_free(m, u->uses, u->uses ? (u->num_uses + 1) * sizeof *u->uses : 0);
}

const rlx_var_uses *rlx_uses_of(const rlx_use_def *u, const rlx_expr *var)
{
    uintptr_t at;
    return var && rlx_ptrmap_find(&u->index, var, &at) ? &u->vars.data[at - 1] : NULL;
}
