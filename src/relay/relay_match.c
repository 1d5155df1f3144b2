/* relay_match.c: patterns and the exhaustiveness of a match (relay 3.6). */
#include "relay/relay_infer.h"

/* ---- types of patterns ------------------------------------------------------------------------------ */

static bool wrong_count(rlx_relay_solver *s, const rlx_relay_pattern *p, size_t want)
{
    return rlx_error(s->ctx, RLX_RY19, p->place, "constructor %.*s has %zu field%s, the pattern %zu",
                     (int)p->ctor->name.len, p->ctor->name.data, want, want == 1 ? "" : "s",
                     p->num_parts);
}

static bool infer_ctor_pattern(rlx_relay_solver *s, rlx_relay_pattern *p, rlx_relay_type *t)
{
    rlx_relay_adt *adt = p->ctor->adt;
    rlx_relay_type *const *args;
    rlx_relay_type *made = rlx_region_zero(&s->m->region, sizeof *made);
    if (!adt) /* of a definition that could not be read */
        return true;
    if (!made || !rlx_relay_fresh_args(s, adt->params, adt->num_params, p->place, &args))
        return false;
    made->kind = RLX_RELAY_TYPE_CALL;
    made->place = p->place;
    made->call.adt = adt;
    made->call.name = adt->name;
    made->call.args = args;
    made->call.num_args = adt->num_params;
    if (!rlx_relay_unify(s, t, made, p->place, "a pattern and what it stands against"))
        return false;
    if (p->num_parts != p->ctor->num_fields)
        return wrong_count(s, p, p->ctor->num_fields);
    bool ok = true;
    for (size_t i = 0; i < p->num_parts; i++) {
        rlx_relay_type *field =
            rlx_relay_substitute(s, p->ctor->fields[i], adt->params, args, adt->num_params);
        ok = field && rlx_relay_infer_pattern(s, p->parts[i], field) && ok;
    }
    return ok;
}

static bool infer_tuple_pattern(rlx_relay_solver *s, rlx_relay_pattern *p, rlx_relay_type *t)
{
    rlx_relay_type **fields = rlx_region_array(&s->m->region, p->num_parts + 1, sizeof *fields);
    for (size_t i = 0; fields && i < p->num_parts; i++)
        if (!(fields[i] = rlx_relay_hole(s, RLX_RELAY_KIND_TYPE, p->parts[i]->place)))
            return false;
    rlx_relay_type *tuple = fields ? rlx_relay_tuple(s, fields, p->num_parts) : NULL;
    if (!tuple || !rlx_relay_unify(s, t, tuple, p->place, "a pattern and what it stands against"))
        return false;
    bool ok = true;
    for (size_t i = 0; i < p->num_parts; i++)
        ok = rlx_relay_infer_pattern(s, p->parts[i], fields[i]) && ok;
    return ok;
}

bool rlx_relay_infer_pattern(rlx_relay_solver *s, rlx_relay_pattern *p, rlx_relay_type *t)
{
    switch (p->kind) {
    case RLX_RELAY_PATTERN_VAR: {
        rlx_relay_expr *v = p->var;
        v->type = v->var.given ? rlx_relay_import(s, v->var.given) : t;
        return v->type && (!v->var.given || rlx_relay_unify(s, v->type, t, p->place,
                                                            "a pattern and what it stands against"));
    }
    case RLX_RELAY_PATTERN_CTOR: return infer_ctor_pattern(s, p, t);
    case RLX_RELAY_PATTERN_TUPLE: return infer_tuple_pattern(s, p, t);
    default: return true;
    }
}

/* ---- exhaustiveness ---------------------------------------------------------------------------------- */

/* Candidates are patterns without variables. One that no arm surely covers or misses is refined
 * where the arm looks deeper than the candidate says; one that no arm covers is a missing case. */
enum { MAX_CANDIDATES = 100000, MAX_SHOWN = 10 };
enum verdict { COVERED, MISSED, VAGUE };

typedef struct cases {
    rlx_relay_solver *s;
    rlx_region region;
    rlx_ptrs work;
    rlx_relay_pattern any;
    size_t made, missing;
    rlx_buf shown;
    /* Arms by the constructor that they begin with, as far as none above takes anything. */
    size_t *first, *next, open;  /* by tag; by arm; numbers + 1, 0: none */
} cases;

static bool is_open(const rlx_relay_pattern *p)
{
    return p->kind == RLX_RELAY_PATTERN_ANY || p->kind == RLX_RELAY_PATTERN_VAR;
}

static enum verdict compare(const rlx_relay_pattern *arm, const rlx_relay_pattern *candidate)
{
    if (is_open(arm))
        return COVERED;
    if (is_open(candidate))
        return VAGUE;
    if (arm->kind == RLX_RELAY_PATTERN_CTOR && arm->ctor != candidate->ctor)
        return MISSED;
    enum verdict all = COVERED;
    for (size_t i = 0; i < arm->num_parts && i < candidate->num_parts; i++) {
        enum verdict v = compare(arm->parts[i], candidate->parts[i]);
        if (v == MISSED)
            return MISSED;
        if (v == VAGUE)
            all = VAGUE;
    }
    return all;
}

static rlx_relay_pattern *pattern_of(cases *c, uint8_t kind, rlx_relay_ctor *ctor, size_t count)
{
    rlx_relay_pattern *p = rlx_region_zero(&c->region, sizeof *p);
    rlx_relay_pattern **parts = rlx_region_array(&c->region, count + 1, sizeof *parts);
    if (!p || !parts)
        return NULL;
    for (size_t i = 0; i < count; i++)
        parts[i] = &c->any;
    p->kind = kind;
    p->ctor = ctor;
    p->parts = parts;
    p->num_parts = count;
    return p;
}

static bool push_case(cases *c, rlx_relay_pattern *p)
{
    c->made++;
    return p && rlx_vec_push(&c->s->ctx->memory, &c->work, p);
}

/* The candidates that `old` becomes where the arm first looks deeper: the same with one wildcard
 * replaced, in `at`-th place of its parent... built from the place outwards. */
static bool refine(cases *c, const rlx_relay_pattern *arm, const rlx_relay_pattern *candidate,
                   rlx_ptrs *out)
{
    rlx_memory *memory = &c->s->ctx->memory;
    if (is_open(candidate)) {
        if (arm->kind == RLX_RELAY_PATTERN_TUPLE) {
            rlx_relay_pattern *p = pattern_of(c, RLX_RELAY_PATTERN_TUPLE, NULL, arm->num_parts);
            return p && rlx_vec_push(memory, out, p);
        }
        const rlx_relay_adt *adt = arm->ctor->adt;
        for (size_t i = 0; i < adt->num_ctors; i++) {
            rlx_relay_pattern *p =
                pattern_of(c, RLX_RELAY_PATTERN_CTOR, adt->ctors[i], adt->ctors[i]->num_fields);
            if (!p || !rlx_vec_push(memory, out, p))
                return false;
        }
        return true;
    }
    for (size_t i = 0; i < arm->num_parts && i < candidate->num_parts; i++) {
        if (compare(arm->parts[i], candidate->parts[i]) != VAGUE)
            continue;
        rlx_ptrs inner = { 0 };
        bool ok = refine(c, arm->parts[i], candidate->parts[i], &inner);
        for (size_t k = 0; ok && k < inner.len; k++) {
            rlx_relay_pattern *p = pattern_of(c, candidate->kind, candidate->ctor, candidate->num_parts);
            if (!p || !rlx_vec_push(memory, out, p)) {
                ok = false;
                break;
            }
            rlx_relay_pattern **parts = (rlx_relay_pattern **)(uintptr_t)p->parts;
            memcpy(parts, candidate->parts, candidate->num_parts * sizeof *parts);
            parts[i] = inner.data[k];
        }
        rlx_vec_free(memory, &inner);
        return ok;
    }
    return true;
}

static void put_pattern(rlx_buf *b, const rlx_relay_pattern *p)
{
    if (is_open(p)) {
        rlx_buf_lit(b, "_");
        return;
    }
    if (p->kind == RLX_RELAY_PATTERN_CTOR)
        rlx_buf_put(b, p->ctor->name.data, p->ctor->name.len);
    if (p->kind == RLX_RELAY_PATTERN_CTOR && !p->num_parts)
        return;
    rlx_buf_lit(b, "(");
    for (size_t i = 0; i < p->num_parts; i++) {
        rlx_buf_z(b, i ? ", " : "");
        put_pattern(b, p->parts[i]);
    }
    rlx_buf_lit(b, ")");
}

static bool add_missing(cases *c, const rlx_relay_pattern *p)
{
    if (c->missing++ < MAX_SHOWN) {
        rlx_buf_z(&c->shown, c->shown.len ? ", " : "");
        put_pattern(&c->shown, p);
    }
    return true;
}

static bool list_arms(cases *c, const rlx_relay_expr *match)
{
    size_t n = match->match.num_arms;
    const rlx_relay_pattern *top = n ? match->match.arms[0].pattern : NULL;
    for (size_t i = 0; i < n && !c->open; i++)
        c->open = is_open(match->match.arms[i].pattern) ? i + 1 : 0;
    if (!top || top->kind != RLX_RELAY_PATTERN_CTOR)
        return true;
    c->first = rlx_region_zero(&c->region, (top->ctor->adt->num_ctors + 1) * sizeof *c->first);
    c->next = rlx_region_zero(&c->region, (n + 1) * sizeof *c->next);
    for (size_t i = c->open ? c->open - 1 : n; c->first && c->next && i-- > 0;) {
        size_t *first = &c->first[match->match.arms[i].pattern->ctor->tag];
        c->next[i] = *first;
        *first = i + 1;
    }
    return c->first && c->next;
}

/* The arm to be asked behind arm i, or first (SIZE_MAX); past the end: none. */
static size_t next_arm(const cases *c, const rlx_relay_expr *match, const rlx_relay_pattern *candidate,
                       size_t i)
{
    if (!c->first || candidate->kind != RLX_RELAY_PATTERN_CTOR)
        return i + 1;
    if (c->open && i == c->open - 1)
        return match->match.num_arms;
    size_t next = i == SIZE_MAX ? c->first[candidate->ctor->tag] : c->next[i];
    return next ? next - 1 : c->open ? c->open - 1 : match->match.num_arms;
}

/* One candidate against the arms from the first on. */
static bool try_case(cases *c, const rlx_relay_expr *match, rlx_relay_pattern *candidate, bool *used)
{
    for (size_t i = next_arm(c, match, candidate, SIZE_MAX); i < match->match.num_arms;
         i = next_arm(c, match, candidate, i)) {
        const rlx_relay_pattern *arm = match->match.arms[i].pattern;
        enum verdict v = compare(arm, candidate);
        if (v == COVERED) {
            used[i] = true;
            return true;
        }
        if (v == MISSED)
            continue;
        rlx_ptrs finer = { 0 };
        bool ok = refine(c, arm, candidate, &finer);
        while (ok && finer.len)
            ok = push_case(c, rlx_vec_pop(&finer));
        rlx_vec_free(&c->s->ctx->memory, &finer);
        return ok;
    }
    return add_missing(c, candidate);
}

static bool run_cases(cases *c, const rlx_relay_expr *match, bool *used)
{
    bool ok = push_case(c, pattern_of(c, RLX_RELAY_PATTERN_ANY, NULL, 0));
    while (ok && c->work.len) {
        if (c->made > MAX_CANDIDATES)
            return rlx_error(c->s->ctx, RLX_RY24, match->place,
                             "whether this match handles everything needs more than %d cases to be "
                             "looked at; put an arm _ at its end", MAX_CANDIDATES);
        ok = try_case(c, match, rlx_vec_pop(&c->work), used);
    }
    return ok;
}

bool rlx_relay_check_match(rlx_relay_solver *s, const rlx_relay_expr *match)
{
    rlx_memory *memory = &s->ctx->memory;
    cases c = { .s = s };
    rlx_region_init(&c.region, memory);
    rlx_buf_init(&c.shown, memory);
    bool *used = rlx_region_zero(&c.region, match->match.num_arms + 1);
    bool ok = used && list_arms(&c, match) && run_cases(&c, match, used);
    if (ok && c.missing) {
        ok = rlx_error(s->ctx, RLX_RY20, match->place, "the match does not handle %s%s",
                       c.shown.len ? c.shown.data : "every case", c.missing > MAX_SHOWN ? ", ..." : "");
    }
    for (size_t i = 0; ok && i < match->match.num_arms; i++)
        if (!used[i])
            rlx_error(s->ctx, RLX_RY25, match->match.arms[i].pattern->place,
                      "nothing reaches this arm: those above handle all that it stands for");
    rlx_buf_free(&c.shown);
    rlx_vec_free(memory, &c.work);
    rlx_region_drop(&c.region);
    return ok;
}
