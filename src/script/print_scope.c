/* print_scope.c: variables and buffers of a PrimFunc that nothing declares, and where they
 * belong.
 *
 * Such a variable is declared in the innermost suite that holds all its uses, above the
 * statement under way. One walk over the function finds for each variable the innermost
 * statement around all its occurrences.
 */
#include "script/print_int.h"

#define DECLARE_DEPTH 32 /* a declaration may need another one, and so on */

/* above: its parent, or a place further out between which and this one there is no frame */
typedef struct place { const rlx_node *stmt; uint32_t parent, above; bool open; } place;
struct rlx_uses {
    rlx_printer *p;
    rlx_ptrmap around;      /* variable or buffer -> place */
    RLX_VEC(place) places;  /* of statements, preorder */
    uint32_t now;
    size_t nodes;           /* met so far; each one's text has a byte at least */
    bool lost;
};

/* ---- the walk */
static bool has_place(const rlx_uses *u, const rlx_node *n)
{
    return rlx_family_of(n) == RLX_FAMILY_STMT || n == u->p->unit;
}

/* One more occurrence: the innermost statement around all of them is one that is still open. */
static bool seen(rlx_uses *u, const rlx_node *var, bool *first)
{
    uintptr_t at;
    *first = !rlx_ptrmap_find(&u->around, var, &at);
    if (*first)
        at = u->now;
    while (!u->places.data[at].open)
        at = u->places.data[at].parent;
    return rlx_ptrmap_put(&u->around, var, at);
}

static enum rlx_step note_scope(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    rlx_uses *u = user;
    bool first = true;
    size_t most = u->p->options->max_bytes;
    if (most && ++u->nodes > most) {
        u->p->out->failed = u->p->out->too_large = true;
        return RLX_STEP_STOP;
    }
    if (has_place(u, n)) {
        place here = { n, u->now, u->now, true };
        if (!rlx_vec_push(u->p->m, &u->places, here)) {
            u->lost = true;
            return RLX_STEP_STOP;
        }
        u->now = (uint32_t)u->places.len - 1;
        return RLX_STEP_ON;
    }
    if (n->kind != RLX_NODE_PRIM_VAR && n->kind != RLX_NODE_BUFFER)
        return RLX_STEP_ON;
    if (!seen(u, n, &first)) {
        u->lost = true;
        return RLX_STEP_STOP;
    }
    return first ? RLX_STEP_ON : RLX_STEP_SKIP;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    rlx_uses *u = user;
    if (has_place(u, n)) {
        u->places.data[u->now].open = false;
        u->now = u->places.data[u->now].parent;
    }
    return RLX_STEP_ON;
}

static rlx_uses *uses_of(rlx_printer *p)
{
    if (p->uses_of || !p->unit)
        return p->uses_of;
    rlx_uses *u = rlx_mem_alloc_zero(p->m, sizeof *u);
    if (!u)
        return rlx_print_fail(p), NULL;
    u->p = p;
    rlx_ptrmap_init(&u->around, p->m);
    p->uses_of = u;
    rlx_walker w = { .enter = note_scope, .leave = leave, .user = u };
    bool lost = false;
    rlx_walk(p->m, p->unit, &w, &lost);
    if (lost || u->lost)
        return rlx_print_fail(p), NULL;
    return u;
}

void rlx_uses_free(rlx_printer *p)
{
    rlx_uses *u = p->uses_of;
    p->uses_of = NULL;
    if (!u)
        return;
    rlx_vec_free(p->m, &u->places);
    rlx_ptrmap_free(&u->around);
    rlx_mem_free(p->m, u, sizeof *u);
}

/* ---- answers */
bool rlx_is_used_within(rlx_printer *p, const rlx_node *var, const rlx_stmt *s)
{
    uintptr_t at;
    rlx_uses *u = uses_of(p);
    return u && rlx_ptrmap_find(&u->around, var, &at) && u->places.data[at].stmt == s;
}

size_t rlx_print_frame_of(rlx_printer *p, const rlx_node *var)
{
    uintptr_t used, frame = 0;
    rlx_uses *u = uses_of(p);
    if (!u || !rlx_ptrmap_find(&u->around, var, &used))
        return p->unit_frame;
    uint32_t at = (uint32_t)used, above;
    while (!rlx_ptrmap_find(&p->frame_at, u->places.data[at].stmt, &frame) && at)
        at = u->places.data[at].above;
    for (uint32_t below = (uint32_t)used; below != at; below = above) {
        above = u->places.data[below].above;
        u->places.data[below].above = at;
    }
    return frame > 1 ? (size_t)frame - 1 : p->unit_frame;
}

/* ---- declaring */
static void declare_line(rlx_printer *p, const rlx_node *var, size_t frame)
{
    uint32_t old = p->indent;
    size_t mark = p->out->len, at = p->frames.data[frame].line;
    size_t kept = rlx_vec_last(&p->frames).line;
    p->indent = p->frames.data[frame].indent;
    rlx_put_indent(p);
    const rlx_bound *b = rlx_find_bound(p, var);
    if (b)
        rlx_put_bound(p, b);
    rlx_put(p, " = ");
    if (var->kind == RLX_NODE_BUFFER)
        rlx_put_free_buffer(p, (const rlx_buffer *)var, frame);
    else
        rlx_put_creation(p, var);
    rlx_put_newline(p);
    p->indent = old;
    rlx_vec_last(&p->frames).line = kept;
    rlx_print_move(p, mark, at, RLX_INSERT_DECLARE);
}

static const rlx_bound *declare_tir(rlx_printer *p, const rlx_node *var)
{
    /* the function will be printed again, with this parameter */
    if (rlx_ptrmap_has(&p->handles, var)) {
        p->handle_met = true;
        if (!rlx_ptrmap_put(&p->handles, var, true))
            rlx_print_fail(p);
        return NULL;
    }
    size_t frame = rlx_print_frame_of(p, var);
    if (!rlx_define_at(p, var, frame))
        return NULL;
    if (p->declaring < DECLARE_DEPTH) {
        p->declaring++;
        declare_line(p, var, frame);
        p->declaring--;
    }
    return rlx_find_bound(p, var);
}

void rlx_put_var(rlx_printer *p, const rlx_node *var)
{
    const rlx_bound *b = rlx_find_bound(p, var);
    if (!b && p->where == RLX_PRINT_TIR) {
        b = declare_tir(p, var);
    } else if (!b && p->where == RLX_PRINT_RELAX && var->kind == RLX_NODE_PRIM_VAR) {
        b = rlx_declare_symbolic(p, var);
    } else if (!b) {
        b = rlx_define_at(p, var, 0);
    }
    if (b)
        rlx_put_bound(p, b);
}
