/* relay_query.c: questions about a module that was read: the type of what stands at a place, of a name; the kind of a
 * type. */
/* built for size */
#include "relay/relay_infer.h"
#include "relay/relay_parse.h"

typedef struct search {
    rlx_relay_module *m;
    rlx_ptrs stack;
    rlx_ptrmap seen;
    uint32_t offset;
    rlx_relay_expr *best;
    bool ok;
} search;

static void push(search *s, rlx_relay_expr *e)
{
    if (!s->ok || !e || rlx_ptrmap_has(&s->seen, e))
        return;
    s->ok = rlx_ptrmap_put(&s->seen, e, 1) && rlx_vec_push(&s->m->ctx->memory, &s->stack, e);
}

static void push_pattern(search *s, const rlx_relay_pattern *p)
{
    push(s, p->var);
    for (size_t i = 0; i < p->num_parts; i++) /* patterns nest 200 deep at most */
        push_pattern(s, p->parts[i]);
}

static void push_parts(search *s, rlx_relay_expr *e)
{
    rlx_relay_expr *child;
    for (size_t i = 0; (child = rlx_relay_child(e, i)) != NULL; i++)
        push(s, child);
    if (e->kind == RLX_RELAY_LET)
        push(s, e->let.var);
    for (size_t i = 0; e->kind == RLX_RELAY_FUNC && i < e->func->num_params; i++)
        push(s, e->func->params[i]);
    for (size_t i = 0; e->kind == RLX_RELAY_MATCH && i < e->match.num_arms; i++)
        push_pattern(s, e->match.arms[i].pattern);
}

/* The smallest expression around the place counts. */
static void look(search *s, rlx_relay_expr *e)
{
    uint32_t begin = rlx_place_begin(e->place), len = rlx_place_len(e->place);
    if (!e->type || rlx_place_source(e->place) != s->m->source || s->offset < begin || s->offset - begin >= len)
        return;
    if (!s->best || len < rlx_place_len(s->best->place))
        s->best = e;
}

const rlx_relay_type *rlx_relay_type_at(rlx_relay_module *m, uint32_t line, uint32_t column)
{
    const rlx_source *source = rlx_diags_source(&m->ctx->diags, m->source);
    search s = { .m = m, .ok = true };
    size_t at = 0;
    if (!source || !source->text || !line || !column)
        return NULL;
    for (uint32_t l = 1; l < line; l++) {
        const char *end = memchr(source->text + at, '\n', source->len - at);
        if (!end)
            return NULL;
        at = (size_t)(end - source->text) + 1;
    }
    s.offset = (uint32_t)at + column - 1;
    rlx_ptrmap_init(&s.seen, &m->ctx->memory);
    push(&s, m->expr);
    for (size_t i = 0; i < m->globals.len; i++)
        push(&s, m->globals.data[i]->func);
    while (s.ok && s.stack.len) {
        rlx_relay_expr *e = rlx_vec_pop(&s.stack);
        look(&s, e);
        push_parts(&s, e);
    }
    rlx_vec_free(&m->ctx->memory, &s.stack);
    rlx_ptrmap_free(&s.seen);
    return s.ok && s.best ? rlx_relay_find(s.best->type) : NULL;
}

const rlx_relay_type *rlx_relay_type_of(rlx_relay_module *m, rlx_slice name)
{
    if (!name.len)
        return m->expr ? m->expr->type : NULL;
    const rlx_relay_word *w = rlx_relay_word_of(m, name);
    if (w && w->global && w->global->func)
        return w->global->func->type;
    return w && w->ctor ? w->ctor->type : NULL;
}

const char *rlx_relay_kind_of(rlx_relay_module *m, rlx_slice text)
{
    const rlx_relay_word *w = rlx_relay_word_of(m, text);
    if (w && w->adt)
        return rlx_relay_kind_text(RLX_RELAY_KIND_HANDLE);
    uint32_t source = rlx_diags_add_read_source(&m->ctx->diags, RLX_SLICE("type"), text.data, text.len);
    const rlx_relay_type *t = source ? rlx_relay_parse_type_text(m, source) : NULL;
    return t && rlx_relay_check_kinds(m->ctx, t) ? rlx_relay_kind_text(rlx_relay_type_kind_of(t)) : NULL;
}
