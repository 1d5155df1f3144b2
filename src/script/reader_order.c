/* reader_order.c: the order in which bodies are read. A function that states no result, or one
 * that says nothing, is read before those that mention it (language 5.9 D1): then its result is
 * known to them, wherever they stand.
 *
 * Mentions are looked for in the text, as names outside of comments and strings. One too many, a
 * local variable or a keyword argument say, only makes the order another one. Every text is
 * looked through once. */
#include "script/reader.h"

typedef struct visit { uint32_t function, at; } visit;
typedef struct search {
    rlx_reader *r;
    rlx_ptrmap unstated;      /* name -> function + 1 */
    bool *seen;
    RLX_VEC(visit) open;
} search;

static bool states_no_result(const rlx_pending *f)
{
    return !f->tir && !f->broken && (!f->ret || f->ret->kind == RLX_NODE_OBJECT_SINFO);
}

/* The next function without a result that the text of v mentions and that was not seen yet;
 * UINT32_MAX: none. */
static uint32_t next_mention(search *s, visit *v)
{
    const rlx_pending *f = s->r->module.pending.data[v->function];
    const char *text = s->r->parser.lexer.text;
    rlx_slice name;
    while ((name = rlx_next_name(text, &v->at, f->body_end)).len) {
        const rlx_word *w = rlx_words_find(&s->r->names, name);
        uintptr_t function;
        if (w && rlx_ptrmap_find(&s->unstated, w, &function) && !s->seen[function - 1])
            return (uint32_t)function - 1;
    }
    return UINT32_MAX;
}

static bool enter_function(search *s, uint32_t function)
{
    visit v = { function, s->r->module.pending.data[function]->body.tok.begin };
    s->seen[function] = true;
    return rlx_vec_push(&s->r->ctx->memory, &s->open, v);
}

/* Depth first, from each function in text order. */
static bool sort(search *s, uint32_t *order)
{
    uint32_t count = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->r->module.pending.len; i++) {
        ok = s->seen[i] || enter_function(s, i);
        while (ok && s->open.len) {
            uint32_t next = next_mention(s, &rlx_vec_last(&s->open));
            if (next == UINT32_MAX)
                order[count++] = rlx_vec_pop(&s->open).function;
            else
                ok = enter_function(s, next);
        }
    }
    return ok;
}

static bool collect(search *s)
{
    bool ok = true;
    for (size_t i = 0; ok && i < s->r->module.pending.len; i++) {
        const rlx_pending *f = s->r->module.pending.data[i];
        ok = !states_no_result(f) || rlx_ptrmap_put(&s->unstated, f->name, i + 1);
    }
    return ok;
}

bool rlx_order_bodies(rlx_reader *r, uint32_t *order)
{
    rlx_memory *m = &r->ctx->memory;
    size_t n = r->module.pending.len;
    search s = { .r = r };
    rlx_ptrmap_init(&s.unstated, m);
    bool ok = collect(&s);
    ok = ok && (s.seen = rlx_mem_alloc_zero(m, n + 1)) != NULL;
    for (size_t i = 0; ok && !s.unstated.len && i < n; i++)
        order[i] = (uint32_t)i;
    if (ok && s.unstated.len)
        ok = sort(&s, order);
    rlx_vec_free(m, &s.open);
    rlx_mem_free(m, s.seen, s.seen ? n + 1 : 0);
    rlx_ptrmap_free(&s.unstated);
    return ok;
}
