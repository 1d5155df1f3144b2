/* relay_adt.c: algebraic data types as tuples of a tag and an object (relay 6.1), and matches as decision trees over
 * tags (relay 6.3).
 *
 * The tree is made first, as data: then it is known which arms several leaves reach. Each of those becomes
 * a local function of its pattern's variables, so that no arm is translated twice. What a pattern looks
 * at is an occurrence: the value itself, or a field of an occurrence.
 */
#include "relay/relay_translate.h"

/* built for size */

/* ---- values ----------------------------------------------------------------------------------------- */

const rlx_sinfo *rlx_relay_adt_info(rlx_relay_translation *t)
{
    const rlx_sinfo *fields[2] = { rlx_tensor_ints(t->ctx, NULL, 0, RELAX_INT32),
                                   rlx_object_info(t->ctx) };
    return fields[0] && fields[1] ? rlx_tuple_info(t->ctx, fields, 2) : NULL;
}

static const rlx_expr *tag_constant(rlx_relay_translation *t, uint32_t tag)
{
    while (t->tags.len <= tag)
        if (!rlx_vec_push(&t->ctx->memory, &t->tags, NULL))
            return NULL;
    int32_t value = (int32_t)tag;
    if (!t->tags.data[tag])
        t->tags.data[tag] = rlx_constant_new(t->ctx, RELAX_INT32, NULL, 0, &value, RLX_NO_PLACE);
    return t->tags.data[tag];
}

const rlx_expr *rlx_relay_construct(rlx_relay_translation *t, const rlx_relay_ctor *ctor,
                                    const rlx_expr *const *fields, rlx_place place)
{
    rlx_emit how = { .number = -1, .place = place, .var_place = place };
    const rlx_expr *all = rlx_tuple_new(t->ctx, fields, ctor->num_fields, place);
    const rlx_sinfo *object = rlx_object_info(t->ctx);
    if (!all || !object)
        return NULL;
    how.name = rlx_string_identifier(t->ctx, ctor->name, "payload");
    const rlx_var *payload = rlx_builder_emit_match(t->b, all, object, &how, false);
    const rlx_expr *pair[2] = { tag_constant(t, ctor->tag), payload ? &payload->node : NULL };
    return pair[0] && pair[1] ? rlx_tuple_new(t->ctx, pair, 2, place) : NULL;
}

/* ---- occurrences ------------------------------------------------------------------------------------ */

typedef struct occurrence {
    rlx_relay_type *type;                /* closed */
    const rlx_expr *value;               /* while the tree is translated */
    struct fields *fields;               /* as which it has been taken apart */
} occurrence;
typedef struct fields {
    struct fields *next;
    const rlx_relay_ctor *ctor;          /* NULL: of a tuple */
    uint32_t *parts; size_t count;       /* occurrences */
} fields;

typedef struct row {
    struct row *next;
    uint32_t arm;
    const rlx_relay_pattern **patterns;  /* one for each column; NULL: anything */
} row;

enum decision_kind { FAIL, ARM, FIELDS, SWITCH };
typedef struct decision {
    enum decision_kind kind;
    uint32_t arm;
    uint32_t of;                         /* occurrence that is taken apart or looked at */
    fields *fields;                      /* FIELDS */
    struct decision *then;               /* FIELDS; SWITCH: for the constructors that are not listed, or NULL */
    struct branch { const rlx_relay_ctor *ctor; fields *fields; struct decision *then; } *branches;
    size_t num_branches;
} decision;

typedef struct matching {
    rlx_relay_translation *t;
    rlx_relay_expr *match;
    RLX_VEC(occurrence) seen;
    uint32_t *uses;                      /* leaves of each arm */
    const rlx_expr **functions;          /* of arms with several leaves */
    rlx_ptrmap bound;                    /* variable of a pattern -> occurrence + 1 */
    size_t num_decisions;
    uint32_t first_arm;                  /* scope */
} matching;

static void *take(matching *k, size_t count, size_t size)
{
    return rlx_region_array(&k->t->region, count + 1, size);
}

static bool occurrence_new(matching *k, rlx_relay_type *type, uint32_t *out)
{
    *out = (uint32_t)k->seen.len;
    return rlx_vec_push(&k->t->ctx->memory, &k->seen, ((occurrence){ .type = type }));
}

/* The fields of occurrence `of` as the constructor's, or as a tuple's. */
static fields *fields_of(matching *k, uint32_t of, const rlx_relay_ctor *ctor)
{
    rlx_relay_type *type = rlx_relay_find(k->seen.data[of].type);
    for (fields *f = k->seen.data[of].fields; f; f = f->next)
        if (f->ctor == ctor)
            return f;
    fields *f = rlx_region_zero(&k->t->region, sizeof *f);
    size_t n = ctor ? ctor->num_fields : type->tuple.count;
    if (!f || !(f->parts = take(k, n, sizeof *f->parts)))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        rlx_relay_type *part = ctor ? rlx_relay_substitute(&k->t->s, ctor->fields[i], ctor->adt->params,
                                                           type->call.args, ctor->adt->num_params)
                                    : type->tuple.fields[i];
        if (!part || !occurrence_new(k, part, &f->parts[i]))
            return NULL;
    }
    f->ctor = ctor;
    f->count = n;
    f->next = k->seen.data[of].fields;
    k->seen.data[of].fields = f;
    return f;
}

/* ---- the tree --------------------------------------------------------------------------------------- */

static decision *decide(matching *k, const uint32_t *columns, size_t count, row *rows);

static bool is_anything(const rlx_relay_pattern *p)
{
    return !p || p->kind == RLX_RELAY_PATTERN_ANY || p->kind == RLX_RELAY_PATTERN_VAR;
}

/* A pattern that takes anything; if it is a variable, that is what it stands for. */
static bool note_variable(matching *k, const rlx_relay_pattern *p, uint32_t column)
{
    return !p || p->kind != RLX_RELAY_PATTERN_VAR ||
           rlx_ptrmap_put(&k->bound, p->var, (uintptr_t)column + 1);
}

/* The row with column `at` replaced by the parts of its pattern, or by anything. */
static row *taken_apart(matching *k, const row *r, const uint32_t *columns, size_t count, size_t at,
                        const fields *f)
{
    const rlx_relay_pattern *p = r->patterns[at];
    row *made = rlx_region_zero(&k->t->region, sizeof *made);
    if (!made || !(made->patterns = take(k, count + f->count, sizeof *made->patterns)) ||
        !note_variable(k, p, columns[at]))
        return NULL;
    made->arm = r->arm;
    for (size_t i = 0; i < f->count; i++)
        made->patterns[i] = is_anything(p) ? NULL : p->parts[i];
    for (size_t i = 0, n = f->count; i < count; i++)
        if (i != at)
            made->patterns[n++] = r->patterns[i];
    return made;
}

static uint32_t *columns_apart(matching *k, const uint32_t *columns, size_t count, size_t at,
                               const fields *f)
{
    uint32_t *made = take(k, count + f->count, sizeof *made);
    if (!made)
        return NULL;
    for (size_t i = 0; i < f->count; i++)
        made[i] = f->parts[i];
    for (size_t i = 0, n = f->count; i < count; i++)
        if (i != at)
            made[n++] = columns[i];
    return made;
}

static decision *decide_fields(matching *k, decision *d, const uint32_t *columns, size_t count,
                               size_t at, row *rows)
{
    row *made = NULL, **end = &made;
    fields *f = fields_of(k, columns[at], NULL);
    if (!f)
        return NULL;
    for (const row *r = rows; r; r = r->next, end = &(*end)->next)
        if (!(*end = taken_apart(k, r, columns, count, at, f)))
            return NULL;
    uint32_t *parts = columns_apart(k, columns, count, at, f);
    d->kind = FIELDS;
    d->of = columns[at];
    d->fields = f;
    d->then = parts ? decide(k, parts, count + f->count - 1, made) : NULL;
    return d->then ? d : NULL;
}

/* Rows by constructor, in the order in which they come first; those that take anything are rows of
 * all of them, and of the rest. */
typedef struct bucket { const rlx_relay_ctor *ctor; row *rows, **end; } bucket;

static bool put_row(matching *k, bucket *b, const row *r, const uint32_t *columns, size_t count,
                    size_t at, const fields *f)
{
    row *made = taken_apart(k, r, columns, count, at, f);
    if (!made)
        return false;
    *b->end = made;
    b->end = &made->next;
    return true;
}

static bool put_in_bucket(matching *k, bucket *buckets, const row *r, const uint32_t *columns,
                          size_t count, size_t at, const rlx_relay_ctor *ctor)
{
    fields *f = fields_of(k, columns[at], ctor);
    return f && put_row(k, &buckets[ctor->tag], r, columns, count, at, f);
}

static bool fill_buckets(matching *k, bucket *buckets, const rlx_relay_adt *adt, row *rows,
                         const uint32_t *columns, size_t count, size_t at)
{
    static const fields none = { .count = 0 };
    bucket *rest = &buckets[adt->num_ctors];
    for (size_t i = 0; i <= adt->num_ctors; i++)
        buckets[i] = (bucket){ .end = &buckets[i].rows };
    for (const row *r = rows; r; r = r->next)
        if (!is_anything(r->patterns[at]))
            buckets[r->patterns[at]->ctor->tag].ctor = r->patterns[at]->ctor;
    for (const row *r = rows; r; r = r->next) {
        const rlx_relay_pattern *p = r->patterns[at];
        if (!is_anything(p)) {
            if (!put_in_bucket(k, buckets, r, columns, count, at, p->ctor))
                return false;
            continue;
        }
        for (size_t i = 0; i < adt->num_ctors; i++)
            if (buckets[i].ctor && !put_in_bucket(k, buckets, r, columns, count, at, buckets[i].ctor))
                return false;
        if (!put_row(k, rest, r, columns, count, at, &none))
            return false;
    }
    return true;
}

static decision *decide_switch(matching *k, decision *d, const uint32_t *columns, size_t count,
                               size_t at, row *rows)
{
    const rlx_relay_adt *adt = rows->patterns[at]->ctor->adt;
    static const fields none = { .count = 0 };
    bucket *buckets = take(k, adt->num_ctors, sizeof *buckets);
    d->kind = SWITCH;
    d->of = columns[at];
    d->branches = take(k, adt->num_ctors, sizeof *d->branches);
    if (!buckets || !d->branches || !fill_buckets(k, buckets, adt, rows, columns, count, at))
        return NULL;
    for (size_t i = 0; i < adt->num_ctors; i++) {
        if (!buckets[i].ctor)
            continue;
        struct branch *b = &d->branches[d->num_branches++];
        b->ctor = buckets[i].ctor;
        b->fields = fields_of(k, columns[at], b->ctor);
        uint32_t *parts = b->fields ? columns_apart(k, columns, count, at, b->fields) : NULL;
        b->then = parts ? decide(k, parts, count + b->fields->count - 1, buckets[i].rows) : NULL;
        if (!b->then)
            return NULL;
    }
    if (d->num_branches == adt->num_ctors)
        return d;
    uint32_t *others = columns_apart(k, columns, count, at, &none);
    d->then = others ? decide(k, others, count - 1, buckets[adt->num_ctors].rows) : NULL;
    return d->then ? d : NULL;
}

static decision *decide(matching *k, const uint32_t *columns, size_t count, row *rows)
{
    decision *d = rlx_region_zero(&k->t->region, sizeof *d);
    size_t at = 0;
    if (++k->num_decisions > RLX_RELAY_MAX_DECISIONS) {
        rlx_error(k->t->ctx, RLX_RY24, k->match->place, "the decision tree of this match has more than %d nodes",
                  RLX_RELAY_MAX_DECISIONS);
        return NULL;
    }
    if (!d || !rows)
        return d;
    while (at < count && is_anything(rows->patterns[at]))
        at++;
    if (at < count)
        return rows->patterns[at]->kind == RLX_RELAY_PATTERN_TUPLE
                   ? decide_fields(k, d, columns, count, at, rows)
                   : decide_switch(k, d, columns, count, at, rows);
    for (size_t i = 0; i < count; i++)
        if (!note_variable(k, rows->patterns[i], columns[i]))
            return NULL;
    d->kind = ARM;
    d->arm = rows->arm;
    k->uses[d->arm]++;
    return d;
}

static decision *decide_all(matching *k)
{
    const rlx_relay_expr *e = k->match;
    row *rows = NULL, **end = &rows;
    uint32_t *column = take(k, 1, sizeof *column);
    if (!column || !occurrence_new(k, rlx_relay_closed(k->t, e->match.data->type), column))
        return NULL;
    for (size_t i = 0; i < e->match.num_arms; i++, end = &(*end)->next) {
        if (!(*end = rlx_region_zero(&k->t->region, sizeof **end)) ||
            !((*end)->patterns = take(k, 1, sizeof *(*end)->patterns)))
            return NULL;
        (*end)->arm = (uint32_t)i;
        (*end)->patterns[0] = e->match.arms[i].pattern;
    }
    return decide(k, column, 1, rows);
}

/* ---- arms ------------------------------------------------------------------------------------------- */


/* The variables of a pattern, from left to right. */
static size_t variables_of(const rlx_relay_pattern *p, rlx_relay_expr **out, size_t n)
{
    if (p->kind == RLX_RELAY_PATTERN_VAR && out)
        out[n] = p->var;
    if (p->kind == RLX_RELAY_PATTERN_VAR)
        return n + 1;
    for (size_t i = 0; i < p->num_parts; i++) /* patterns nest 200 deep at most */
        n = variables_of(p->parts[i], out, n);
    return n;
}

static rlx_relay_expr **arm_variables(matching *k, uint32_t arm, size_t *count)
{
    const rlx_relay_pattern *p = k->match->match.arms[arm].pattern;
    *count = variables_of(p, NULL, 0);
    rlx_relay_expr **vars = take(k, *count, sizeof *vars);
    if (vars)
        variables_of(p, vars, 0);
    return vars;
}

static const rlx_expr *bound_value(matching *k, const rlx_relay_expr *var)
{
    uintptr_t at = 0;
    return rlx_ptrmap_find(&k->bound, var, &at) ? k->seen.data[at - 1].value : NULL;
}

/* Arms that several leaves reach, as functions. */
static bool make_functions(matching *k)
{
    size_t n = k->match->match.num_arms, count;
    for (uint32_t i = 0; i < n; i++) {
        if (k->uses[i] < 2)
            continue;
        rlx_relay_expr **vars = arm_variables(k, i, &count);
        k->functions[i] = vars ? rlx_relay_local_function(k->t, vars, count, k->first_arm + i,
                                                          k->match->type, NULL, NULL, k->match->place)
                               : NULL;
        if (!k->functions[i])
            return false;
    }
    return true;
}

static const rlx_expr *arm_value(matching *k, uint32_t arm)
{
    size_t count;
    rlx_relay_expr **vars = arm_variables(k, arm, &count);
    const rlx_expr **args = take(k, count, sizeof *args);
    for (size_t i = 0; vars && args && i < count; i++)
        if (!(args[i] = bound_value(k, vars[i])))
            return NULL;
    if (!vars || !args)
        return NULL;
    if (k->functions[arm])
        return rlx_call_new(k->t->ctx, k->functions[arm], args, count, NULL, 0, NULL, k->match->place);
    for (size_t i = 0; i < count; i++)
        rlx_relay_set(k->t, vars[i], args[i]);
    return rlx_relay_scope_value(k->t, k->first_arm + arm, k->match->type);
}

/* ---- translation ------------------------------------------------------------------------------------ */

static const rlx_expr *value_of(matching *k, const decision *d);

static const rlx_expr *emit(rlx_relay_translation *t, const rlx_expr *e, rlx_place place)
{
    rlx_emit how = { .number = -1, .place = place, .var_place = place };
    const rlx_var *v = e ? rlx_builder_emit(t->b, e, &how) : NULL;
    return v ? &v->node : NULL;
}

/* No arm takes the value. */
static const rlx_expr *failure(matching *k)
{
    rlx_relay_translation *t = k->t;
    bool no = false;
    const rlx_expr *args[2] = {
        rlx_constant_new(t->ctx, RELAX_BOOL, NULL, 0, &no, k->match->place),
        rlx_string_imm_new(t->ctx, RLX_SLICE("no arm of the match? takes the value"))
    };
    const rlx_expr *call = args[0] && args[1]
                               ? rlx_call_op_z(t->ctx, "relax.assert_op", args, 2, NULL, k->match->place)
                               : NULL;
    const rlx_sinfo *object = rlx_object_info(t->ctx), *want = rlx_relay_sinfo(t, k->match->type, false);
    const rlx_expr *nothing = emit(t, call, k->match->place) && object && want
                                  ? rlx_tuple_new(t->ctx, NULL, 0, k->match->place) : NULL;
    rlx_emit how = { .place = k->match->place, .var_place = k->match->place };
    const rlx_var *v = nothing ? rlx_builder_emit_match(t->b, nothing, object, &how, false) : NULL;
    v = v ? rlx_builder_emit_match(t->b, &v->node, want, &how, false) : NULL;
    return v ? &v->node : NULL;
}

/* The parts of an occurrence, bound here. */
static bool bind_fields(matching *k, uint32_t of, const fields *f)
{
    rlx_relay_translation *t = k->t;
    const rlx_expr *whole = k->seen.data[of].value;
    rlx_place place = k->match->place;
    if (f->ctor && !f->count)
        return true;
    if (f->ctor) {
        const rlx_sinfo **infos = take(k, f->count, sizeof *infos);
        rlx_emit how = { .number = -1, .place = place, .var_place = place };
        for (size_t i = 0; infos && i < f->count; i++)
            if (!(infos[i] = rlx_relay_sinfo(t, k->seen.data[f->parts[i]].type, false)))
                return false;
        const rlx_sinfo *want = infos ? rlx_tuple_info(t->ctx, infos, f->count) : NULL;
        const rlx_expr *payload = want ? rlx_relay_project(t, whole, 1, place) : NULL;
        how.name = rlx_string_identifier(t->ctx, f->ctor->name, "payload");
        const rlx_var *v = payload ? rlx_builder_emit_match(t->b, payload, want, &how, false) : NULL;
        if (!(whole = v ? &v->node : NULL))
            return false;
    }
    for (size_t i = 0; i < f->count; i++)
        if (!(k->seen.data[f->parts[i]].value = rlx_relay_project(t, whole, (int64_t)i, place)))
            return false;
    return true;
}

/* Cases of a switch in the order of their tags: [first, last). Many are halved; a few are asked one by
 * one. The last one needs no question where nothing else can stand there. */
typedef struct choice {
    matching *k;
    const decision *d;
    const rlx_expr *tag;
} choice;

static const rlx_expr *case_value(const choice *c, const struct branch *b)
{
    return bind_fields(c->k, c->d->of, b->fields) ? value_of(c->k, b->then) : NULL;
}

static const rlx_expr *choose(const choice *c, size_t first, size_t last);

static const rlx_expr *choose_branch(const choice *c, size_t first, size_t last)
{
    rlx_relay_translation *t = c->k->t;
    if (!rlx_builder_begin_branch(t->b))
        return NULL;
    const rlx_expr *v = choose(c, first, last);
    return v ? rlx_builder_end_branch(t->b, v, c->k->match->place) : NULL;
}

static const rlx_expr *choose(const choice *c, size_t first, size_t last)
{
    enum { FEW = 4 };
    rlx_relay_translation *t = c->k->t;
    size_t n = last - first, middle = n > FEW ? first + n / 2 : first + 1;
    if (!n)
        return value_of(c->k, c->d->then);
    if (n == 1 && !c->d->then)
        return case_value(c, &c->d->branches[first]);
    bool halves = n > FEW;
    const rlx_relay_ctor *at = c->d->branches[halves ? middle : first].ctor;
    const rlx_expr *args[2] = { c->tag, tag_constant(t, at->tag) };
    const rlx_expr *ask = args[1] ? rlx_call_op_z(t->ctx, halves ? "relax.less" : "relax.equal", args, 2,
                                                  NULL, c->k->match->place)
                                  : NULL;
    const rlx_expr *cond = emit(t, ask, c->k->match->place);
    const rlx_expr *yes = NULL;
    if (!cond)
        return NULL;
    if (halves) {
        yes = choose_branch(c, first, middle);
    } else if (rlx_builder_begin_branch(t->b)) {
        const rlx_expr *v = case_value(c, &c->d->branches[first]);
        yes = v ? rlx_builder_end_branch(t->b, v, c->k->match->place) : NULL;
    }
    const rlx_expr *no = yes ? choose_branch(c, middle, last) : NULL;
    const rlx_expr *e = no ? rlx_if_new(t->ctx, cond, yes, no, c->k->match->place) : NULL;
    return e ? rlx_relay_bind(t, e, c->k->match->type, NULL, c->k->match->place) : NULL;
}

static const rlx_expr *value_of(matching *k, const decision *d)
{
    switch (d->kind) {
    case ARM: return arm_value(k, d->arm);
    case FIELDS: return bind_fields(k, d->of, d->fields) ? value_of(k, d->then) : NULL;
    case SWITCH: {
        choice c = { k, d, NULL };
        bool asks = d->num_branches > 1 || d->then;
        if (asks && !(c.tag = rlx_relay_project(k->t, k->seen.data[d->of].value, 0, k->match->place)))
            return NULL;
        return choose(&c, 0, d->num_branches);
    }
    default: return failure(k);
    }
}

const rlx_expr *rlx_relay_match(rlx_relay_translation *t, rlx_relay_item *match)
{
    size_t n = match->e->match.num_arms;
    matching k = { .t = t, .match = match->e, .first_arm = match->body };
    k.uses = rlx_region_zero(&t->region, (n + 1) * sizeof *k.uses);
    k.functions = rlx_region_zero(&t->region, (n + 1) * sizeof *k.functions);
    const rlx_expr *data = rlx_relay_value_of(t, k.match->match.data, NULL);
    rlx_ptrmap_init(&k.bound, &t->ctx->memory);
    decision *d = k.uses && k.functions && data ? decide_all(&k) : NULL;
    const rlx_expr *value = NULL;
    if (d) {
        k.seen.data[0].value = data;
        value = make_functions(&k) ? value_of(&k, d) : NULL;
    }
    rlx_ptrmap_free(&k.bound);
    rlx_vec_free(&t->ctx->memory, &k.seen);
    return value;
}
