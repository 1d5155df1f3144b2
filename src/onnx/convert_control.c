/*- convert_control.c: branches and loops.
 *
 *     If           R.If, or the branch that is known to be taken
 *     Loop, Scan   few steps of a known number in a row, else a function (loop_function.c)
 */
#include "onnx/onnx_int.h"

enum { MOST_STEPS = 256, MOST_COPIES = 1024 }; /* of steps in a row, and of their nodes */

const rlx_onnx_graph *rlx_onnx_subgraph(rlx_onnx_conv *c, const char *name)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, name);
    return a && a->g ? a->g : rlx_onnx_fail(c, RLX_ON10, "the graph %s is missing", name);
}

rlx_onnx_value **rlx_onnx_body(rlx_onnx_conv *c, rlx_onnx_scope *s, const rlx_onnx_graph *g)
{
    rlx_onnx_value **out;
    if (c->scope->depth > 30)
        return rlx_onnx_fail(c, RLX_ON02, "graphs nest too deep");
    bool ok = rlx_onnx_graph_body(c->m, s, g, &out);
    for (size_t i = 0; ok && i < g->outputs.len; i++)
        ok = !out[i]->failed;
    c->failed |= !ok; /* said where it happened */
    return ok ? out : NULL;
}

rlx_onnx_value *rlx_onnx_value_of(rlx_onnx_conv *c, const rlx_expr *e)
{
    rlx_onnx_value *v = e ? rlx_onnx_value_new(c->m, NULL) : NULL;
    if (v)
        v->expr = e;
    c->failed |= !v;
    return v;
}

const rlx_tensor_sinfo *rlx_onnx_declared(rlx_onnx_conv *c, size_t i)
{
    const rlx_onnx_graph *g = c->scope->graph;
    rlx_slice name = i < c->node->outputs.len ? c->node->outputs.data[i] : (rlx_slice){ "", 0 };
    const rlx_wire_list *lists[2] = { g ? &g->outputs : NULL, g ? &g->value_infos : NULL };
    for (size_t k = 0; g && k < 2; k++)
        for (size_t j = 0; j < lists[k]->len; j++) {
            const rlx_onnx_value_info *v = RLX_ONNX_ITEM(rlx_onnx_value_info, *lists[k], j);
            if (rlx_slice_equal(v->name, name) && v->type && v->type->tensor && v->type->tensor->shape)
                return rlx_as_tensor_sinfo(rlx_onnx_type_info(c->m, v->type));
        }
    return NULL;
}

/* ---- sequences and optional values as tensors in a row ------------------------------------------- */

bool rlx_onnx_flatten(rlx_onnx_conv *c, rlx_onnx_value *v, rlx_onnx_leaves *out)
{
    if (v && !v->failed && (v->is_sequence || v->is_optional)) {
        for (size_t i = 0; i < v->num_items; i++)
            if (!rlx_onnx_flatten(c, v->items[i], out))
                return false;
        return true;
    }
    const rlx_expr *e = v ? rlx_onnx_value_expr(c, v) : NULL;
    return e && rlx_vec_push(&c->ctx->memory, out, e);
}

rlx_onnx_value *rlx_onnx_unflatten(rlx_onnx_conv *c, const rlx_onnx_value *like,
                                   const rlx_expr *const *leaves, size_t *at)
{
    if (!like->is_sequence && !like->is_optional)
        return rlx_onnx_value_of(c, leaves[(*at)++]);
    rlx_onnx_value *v = rlx_onnx_value_new(c->m, NULL);
    rlx_onnx_value **items = rlx_onnx_array(c, like->num_items, sizeof *items);
    for (size_t i = 0; items && i < like->num_items; i++)
        if (!(items[i] = rlx_onnx_unflatten(c, like->items[i], leaves, at)))
            return NULL;
    if (!v || !items)
        return NULL;
    v->is_sequence = like->is_sequence;
    v->is_optional = like->is_optional;
    v->items = items;
    v->num_items = like->num_items;
    return v;
}

size_t rlx_onnx_leaf_count(const rlx_onnx_value *v)
{
    size_t n = 0;
    if (!v->is_sequence && !v->is_optional)
        return 1;
    for (size_t i = 0; i < v->num_items; i++)
        n += rlx_onnx_leaf_count(v->items[i]);
    return n;
}

/* The same tree of sequences and optional values? */
static bool same_form(const rlx_onnx_value *a, const rlx_onnx_value *b)
{
    if (a->is_sequence != b->is_sequence || a->is_optional != b->is_optional)
        return false;
    if (!a->is_sequence && !a->is_optional)
        return true;
    for (size_t i = 0; a->num_items == b->num_items && i < a->num_items; i++)
        if (!same_form(a->items[i], b->items[i]))
            return false;
    return a->num_items == b->num_items;
}

/* ---- If ---------------------------------------------------------------------------------------- */

static bool take_branch(rlx_onnx_conv *c, const rlx_onnx_graph *g)
{
    rlx_onnx_scope s;
    rlx_onnx_scope_init(c->m, &s, c->scope);
    rlx_onnx_value **out = rlx_onnx_body(c, &s, g);
    bool ok = out && g->outputs.len >= c->num_outputs;
    for (size_t i = 0; ok && i < c->num_outputs; i++)
        ok = rlx_onnx_output_value(c, i, out[i]);
    rlx_onnx_scope_free(&s);
    return ok || (out && rlx_onnx_fail(c, RLX_ON10, "the branch has too few outputs"));
}

/* A branch. Its results have the form of `form`, which the first branch gives. */
static const rlx_expr *branch(rlx_onnx_conv *c, const rlx_onnx_graph *g, rlx_onnx_value **form,
                              size_t *count)
{
    rlx_onnx_scope s;
    rlx_onnx_leaves leaves = { 0 };
    size_t n = c->num_outputs;
    bool first = !form[0];
    if (g->outputs.len < n)
        return rlx_onnx_fail(c, RLX_ON10, "a branch has too few outputs");
    if (!rlx_builder_begin_branch(c->m->b))
        return NULL;
    size_t level = rlx_onnx_enter(c->m);
    rlx_onnx_scope_init(c->m, &s, c->scope);
    rlx_onnx_value **out = rlx_onnx_body(c, &s, g);
    for (size_t i = 0; out && i < n && !c->failed; i++) {
        if (!rlx_onnx_flatten(c, out[i], &leaves))
            break;
        if (first)
            form[i] = out[i];
        else if (!same_form(form[i], out[i]))
            rlx_onnx_fail(c, RLX_ON08, "the branches give sequences of different lengths");
    }
    *count = leaves.len;
    const rlx_expr *value = !out || c->failed ? rlx_tuple_new(c->ctx, NULL, 0, c->place)
                            : leaves.len == 1 ? leaves.data[0]
                                              : rlx_tuple_new(c->ctx, leaves.data, leaves.len, c->place);
    rlx_vec_free(&c->ctx->memory, &leaves);
    rlx_onnx_scope_free(&s);
    rlx_onnx_leave(c->m, level);
    const rlx_expr *e = rlx_builder_end_branch(c->m->b, value, c->place);
    return c->failed ? NULL : e;
}

/* What branches of different ranks give has the rank that the model declares, which is checked. */
static const rlx_expr *of_declared_rank(rlx_onnx_conv *c, size_t i, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, e) : NULL, *d;
    if (!t || t->ndim >= 0 || !(d = rlx_onnx_declared(c, i)) || d->ndim < 0)
        return e;
    return rlx_onnx_match(c, e, rlx_tensor_info(c->ctx, NULL, t->dtype, d->ndim, NULL));
}

static bool give_branches(rlx_onnx_conv *c, const rlx_expr *y, size_t count, rlx_onnx_value **form)
{
    const rlx_expr **items = rlx_onnx_array(c, count, sizeof *items);
    size_t at = 0;
    for (size_t i = 0; items && i < count; i++)
        if (!(items[i] = count == 1 ? y : rlx_onnx_item(c, y, (int64_t)i)))
            return false;
    for (size_t i = 0; items && i < c->num_outputs; i++) {
        rlx_onnx_value *v = rlx_onnx_unflatten(c, form[i], items, &at);
        if (v && v->expr)
            v->expr = of_declared_rank(c, i, v->expr);
        if (!v || c->failed || (v->expr && !v->is_sequence && !v->is_optional
                                    ? !rlx_onnx_output(c, i, v->expr)
                                    : !rlx_onnx_output_value(c, i, v)))
            return false;
    }
    return items != NULL;
}

RLX_ONNX_CONVERTER(convert_if)
{
    const rlx_onnx_graph *yes = rlx_onnx_subgraph(c, "then_branch");
    const rlx_onnx_graph *no = rlx_onnx_subgraph(c, "else_branch");
    rlx_onnx_value **form = rlx_onnx_array(c, c->num_outputs, sizeof *form);
    rlx_onnx_ints known;
    int64_t truth;
    size_t count = 0;
    if (!yes || !no || !form)
        return false;
    if (rlx_onnx_known(c, 0, &known) && known.len == 1 && rlx_int_literal(known.data[0], &truth))
        return take_branch(c, truth ? yes : no);
    const rlx_expr *cond = rlx_onnx_input(c, 0);
    if (cond && rlx_onnx_rank(c, cond) > 0)
        cond = rlx_onnx_reshape_ints(c, cond, NULL, 0);
    const rlx_expr *t = cond ? branch(c, yes, form, &count) : NULL;
    const rlx_expr *f = t ? branch(c, no, form, &count) : NULL;
    const rlx_expr *y = f ? rlx_onnx_emit(c, rlx_if_new(c->ctx, cond, t, f, c->place)) : NULL;
    return y && give_branches(c, y, count, form);
}

/* ---- steps in a row ---------------------------------------------------------------------------- */

/* What a loop carries from step to step, and what each step gives. */
typedef struct steps {
    const rlx_onnx_graph *g;
    rlx_onnx_value **carried; size_t num_carried;
    const rlx_expr **rows; size_t num_rows, row_cap; /* [step][row] */
    int64_t count;
} steps;

/* One step: `first` values for the inputs in front of what is carried, `last` for those behind. */
static rlx_onnx_value **run_step(rlx_onnx_conv *c, const steps *s, rlx_onnx_value *const *front,
                                 size_t num_front, rlx_onnx_value *const *back, size_t num_back)
{
    rlx_onnx_scope scope;
    const rlx_onnx_graph *g = s->g;
    if (g->inputs.len != num_front + s->num_carried + num_back)
        return rlx_onnx_fail(c, RLX_ON10, "the body has %zu inputs, expected %zu", g->inputs.len,
                             num_front + s->num_carried + num_back);
    rlx_onnx_scope_init(c->m, &scope, c->scope);
    bool ok = true;
    for (size_t i = 0; ok && i < g->inputs.len; i++) {
        rlx_slice name = RLX_ONNX_ITEM(rlx_onnx_value_info, g->inputs, i)->name;
        rlx_onnx_value *v = i < num_front                     ? front[i]
                            : i < num_front + s->num_carried ? s->carried[i - num_front]
                                                             : back[i - num_front - s->num_carried];
        ok = v && rlx_onnx_value_bind(c->m, &scope, name, v);
    }
    rlx_onnx_value **out = ok ? rlx_onnx_body(c, &scope, g) : NULL;
    rlx_onnx_scope_free(&scope);
    return out;
}

static bool keep_rows(rlx_onnx_conv *c, steps *s, rlx_onnx_value **out, size_t from)
{
    for (size_t k = 0; k < s->num_rows; k++)
        if (!(s->rows[(size_t)s->count * s->num_rows + k] = rlx_onnx_value_expr(c, out[from + k])))
            return false;
    s->count++;
    return true;
}

/* The rows of all steps, stacked along a new axis, backwards if `flip`. */
static const rlx_expr *stacked(rlx_onnx_conv *c, const steps *s, size_t row, int64_t axis, bool flip)
{
    size_t n = (size_t)s->count;
    const rlx_expr **parts = rlx_onnx_array(c, n, sizeof *parts);
    for (size_t i = 0; parts && i < n; i++) {
        const rlx_expr *e = s->rows[(flip ? n - 1 - i : i) * s->num_rows + row];
        int64_t at = axis, rank = e ? rlx_onnx_rank(c, e) : -1;
        if (rank < 0 || !rlx_onnx_axis(c, &at, (int)rank + 1))
            return NULL;
        parts[i] = rlx_onnx_expand_dims(c, e, &at, 1);
        if (i + 1 == n)
            axis = at;
    }
    return parts && n ? rlx_onnx_concat(c, parts, n, axis) : NULL;
}

static const rlx_expr *no_rows(rlx_onnx_conv *c, const steps *s, size_t row)
{
    const rlx_onnx_value_info *o =
        RLX_ONNX_ITEM(rlx_onnx_value_info, s->g->outputs, s->g->outputs.len - s->num_rows + row);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(rlx_onnx_type_info(c->m, o->type));
    size_t n;
    const rlx_prim *const *d = t ? rlx_shape_dims(t->shape, &n) : NULL;
    const rlx_prim **dims = d ? rlx_onnx_array(c, n + 1, sizeof *dims) : NULL;
    if (!dims)
        return rlx_onnx_fail(c, RLX_ON08, "no step is taken, and the shape of a step's result is not "
                             "declared");
    dims[0] = rlx_int64(c->ctx, 0);
    for (size_t i = 0; i < n; i++)
        dims[i + 1] = rlx_as_int_imm(d[i]) ? d[i] : rlx_int64(c->ctx, 0);
    return rlx_onnx_full(c, dims, n + 1, t->dtype, 0);
}

static bool start_steps(rlx_onnx_conv *c, steps *s, size_t first, size_t most, size_t num_front)
{
    s->carried = rlx_onnx_array(c, s->num_carried, sizeof *s->carried);
    for (size_t i = 0; s->carried && i < s->num_carried; i++)
        if (!(s->carried[i] = first + i < c->num_inputs ? c->inputs[first + i] : NULL))
            return rlx_onnx_fail(c, RLX_ON10, "operand %zu is missing", first + i) != NULL;
    size_t outs = s->g->outputs.len, fixed = num_front + s->num_carried;
    if (outs < fixed || c->num_outputs > outs - num_front)
        return rlx_onnx_fail(c, RLX_ON10, "the body has too few outputs") != NULL;
    s->num_rows = outs - fixed;
    s->rows = rlx_onnx_array(c, (most + 1) * (s->num_rows + 1), sizeof *s->rows);
    return s->carried && s->rows;
}

/* ---- Loop -------------------------------------------------------------------------------------- */

static bool known_truth(rlx_onnx_conv *c, rlx_onnx_value *v, bool *truth)
{
    const rlx_expr *e = v ? rlx_onnx_value_expr(c, v) : NULL;
    size_t n;
    const int64_t *t = e ? rlx_onnx_ints_of(c, e, &n) : NULL;
    return t && n == 1 && (*truth = *t != 0, true);
}

/* The results: what is carried, then the rows. */
static bool finish_loop(rlx_onnx_conv *c, const steps *s)
{
    for (size_t i = 0; i < c->num_outputs; i++) {
        if (!rlx_onnx_wants(c, i))
            continue;
        if (i < s->num_carried) {
            if (!rlx_onnx_output_value(c, i, s->carried[i]))
                return false;
            continue;
        }
        size_t row = i - s->num_carried;
        if (!rlx_onnx_output(c, i, s->count ? stacked(c, s, row, 0, false) : no_rows(c, s, row)))
            return false;
    }
    return true;
}

/* A loop whose number of steps is known, or found out while they are imported. */
static bool unroll_loop(rlx_onnx_conv *c, steps s, int64_t trips)
{
    bool go = true;
    if (rlx_onnx_has(c, 1) && !known_truth(c, c->inputs[1], &go))
        return rlx_onnx_needs(c, 1, "whether the loop runs") != NULL;
    if (!start_steps(c, &s, 2, MOST_STEPS, 1))
        return false;
    for (int64_t i = 0; i < trips && go; i++) {
        if (i == MOST_STEPS)
            return rlx_onnx_fail(c, RLX_ON02, "the loop takes more than %d steps", MOST_STEPS) !=
                   NULL;
        rlx_onnx_value *front[2] = {
            rlx_onnx_value_of(c, rlx_constant_new(c->ctx, RELAX_INT64, NULL, 0, &i, c->place)),
            rlx_onnx_value_of(c, rlx_onnx_scalar(c, RELAX_BOOL, 1))
        };
        rlx_onnx_value **out = run_step(c, &s, front, 2, NULL, 0);
        if (!out || !keep_rows(c, &s, out, 1 + s.num_carried))
            return false;
        memcpy(s.carried, out + 1, s.num_carried * sizeof *s.carried);
        if (!known_truth(c, out[0], &go))
            return !c->failed &&
                   rlx_onnx_fail(c, RLX_ON07, "whether a further step is taken is found when the "
                                 "program runs") != NULL;
    }
    return finish_loop(c, &s);
}

/* Which results of steps are wanted: indices, as many as *count. */
static size_t *wanted_rows(rlx_onnx_conv *c, const steps *s, size_t *count)
{
    size_t *rows = rlx_onnx_array(c, s->num_rows, sizeof *rows);
    *count = 0;
    for (size_t i = 0; rows && i < s->num_rows; i++)
        if (rlx_onnx_wants(c, s->num_carried + i))
            rows[(*count)++] = i;
    return rows;
}

static bool function_loop(rlx_onnx_conv *c, steps s)
{
    rlx_onnx_loop l = { .g = s.g, .is_loop = true };
    rlx_onnx_ints trips;
    int64_t literal = 0;
    if (!start_steps(c, &s, 2, 0, 1))
        return false;
    l.carried = s.carried;
    l.num_carried = s.num_carried;
    l.cond = rlx_onnx_has(c, 1) ? c->inputs[1] : NULL;
    l.rows = wanted_rows(c, &s, &l.num_rows);
    if (rlx_onnx_has(c, 0)) {
        if (rlx_onnx_known(c, 0, &trips) && trips.len == 1)
            l.count = rlx_onnx_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_MAX, trips.data[0],
                                                           rlx_int64(c->ctx, 0)));
        l.limit = rlx_onnx_input(c, 0);
        if (l.limit && rlx_onnx_rank(c, l.limit) != 0)
            l.limit = rlx_onnx_reshape_ints(c, l.limit, NULL, 0);
        l.limit = rlx_onnx_cast(c, l.limit, RELAX_INT64);
        if (!l.limit)
            return false;
        if (l.count && rlx_int_literal(l.count, &literal) && literal == INT64_MAX)
            l.limit = NULL; /* what exporters write for no limit */
    }
    size_t n = l.num_carried + l.num_rows;
    rlx_onnx_value **results = rlx_onnx_array(c, n, sizeof *results);
    if (!l.rows || !results || !rlx_onnx_loop_function(c, &l, results))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t at = i < l.num_carried ? i : l.num_carried + l.rows[i - l.num_carried];
        if (!rlx_onnx_output_value(c, at, results[i]))
            return false;
    }
    return true;
}

typedef bool (*make_steps_fn)(rlx_onnx_conv *c, const void *user);
typedef struct known_steps { steps s; int64_t trips; } known_steps;

static bool in_a_row(rlx_onnx_conv *c, const void *user)
{
    const known_steps *k = user;
    return unroll_loop(c, k->s, k->trips);
}

static bool as_function(rlx_onnx_conv *c, const void *user)
{
    return function_loop(c, ((const known_steps *)user)->s);
}

/* Of a way that fails nothing is heard; one that only warns is gone again. */
static bool attempt(rlx_onnx_conv *c, make_steps_fn way, const void *user)
{
    rlx_onnx_attempt a;
    rlx_onnx_attempt_begin(c, &a);
    bool ok = way(c, user);
    return rlx_onnx_attempt_end(c, &a, ok) || (ok && way(c, user));
}

RLX_ONNX_CONVERTER(convert_loop)
{
    known_steps k = { .s.g = rlx_onnx_subgraph(c, "body"), .trips = INT64_MAX };
    rlx_onnx_ints trips;
    if (!k.s.g)
        return false;
    if (k.s.g->inputs.len < 2 || k.s.g->outputs.len < 1)
        return rlx_onnx_fail(c, RLX_ON10, "the body has too few inputs or outputs") != NULL;
    k.s.num_carried = k.s.g->inputs.len - 2;
    bool known = !rlx_onnx_has(c, 0) || (rlx_onnx_known(c, 0, &trips) && trips.len == 1 &&
                                         rlx_int_literal(trips.data[0], &k.trips));
    int64_t nodes = (int64_t)k.s.g->nodes.len + 1;
    k.trips = k.trips < 0 ? 0 : k.trips;
    bool few = known && (k.trips == INT64_MAX || (k.trips <= MOST_STEPS && nodes * k.trips <= MOST_COPIES));
    if (few && attempt(c, in_a_row, &k))
        return true;
    if (!known || few || k.trips > MOST_STEPS)
        return function_loop(c, k.s);
    return attempt(c, as_function, &k) || attempt(c, in_a_row, &k) || function_loop(c, k.s);
}

/* ---- Scan -------------------------------------------------------------------------------------- */

static int64_t nth(const int64_t *v, size_t len, size_t i, int64_t otherwise)
{
    return v && i < len ? v[i] : otherwise;
}

typedef struct scan { steps s; size_t num_scanned, first; const int64_t *axes, *ways; size_t num_axes, num_ways; int64_t trips; const rlx_prim *size; rlx_onnx_value **results; } scan;

static bool read_scan(rlx_onnx_conv *c, scan *s)
{
    s->s.g = rlx_onnx_subgraph(c, "body");
    s->num_scanned = (size_t)rlx_onnx_int(c, "num_scan_inputs", 0);
    s->axes = rlx_onnx_int_list(c, "scan_input_axes", &s->num_axes);
    s->ways = rlx_onnx_int_list(c, c->version < 9 ? "directions" : "scan_input_directions",
                                &s->num_ways);
    s->first = c->version < 9 ? 1 : 0;
    if (!s->s.g || !s->num_scanned || c->num_inputs < s->first || s->num_scanned > c->num_inputs - s->first)
        return !c->failed && rlx_onnx_fail(c, RLX_ON10, "num_scan_inputs is out of range") != NULL;
    s->s.num_carried = c->num_inputs - s->first - s->num_scanned;
    return true;
}

/* Part i of a scanned operand. */
static rlx_onnx_value *scanned_part(rlx_onnx_conv *c, const scan *s, const rlx_expr *x, size_t k,
                                    int64_t i)
{
    int64_t axis = nth(s->axes, s->num_axes, k, 0);
    bool back = nth(s->ways, s->num_ways, k, 0) != 0;
    if (!x || !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x)))
        return NULL;
    return rlx_onnx_value_of(c, rlx_onnx_call(c, "take", "x x axis=i", x,
                                     rlx_onnx_scalar(c, RELAX_INT64,
                                                     (double)(back ? s->trips - 1 - i : i)),
                                     axis));
}

static bool run_scan(rlx_onnx_conv *c, scan *s, const rlx_expr *const *scanned)
{
    rlx_onnx_value **back = rlx_onnx_array(c, s->num_scanned, sizeof *back);
    for (int64_t i = 0; back && i < s->trips; i++) {
        for (size_t k = 0; k < s->num_scanned; k++)
            back[k] = scanned_part(c, s, scanned[k], k, i);
        if (c->failed)
            return false;
        rlx_onnx_value **out = run_step(c, &s->s, NULL, 0, back, s->num_scanned);
        if (!out || !keep_rows(c, &s->s, out, s->s.num_carried))
            return false;
        memcpy(s->s.carried, out, s->s.num_carried * sizeof *out);
    }
    return back != NULL;
}

static const rlx_expr **scanned_operands(rlx_onnx_conv *c, scan *s)
{
    const rlx_expr **x = rlx_onnx_array(c, s->num_scanned, sizeof *x);
    s->trips = -1;
    for (size_t k = 0; x && k < s->num_scanned; k++) {
        int64_t axis = nth(s->axes, s->num_axes, k, 0);
        size_t ndim;
        x[k] = rlx_onnx_input(c, s->first + s->s.num_carried + k);
        const rlx_prim *const *dims = x[k] ? rlx_onnx_dims(c, &x[k], &ndim) : NULL;
        if (!dims || !rlx_onnx_axis(c, &axis, (int)ndim))
            return NULL;
        if (k == 0) {
            s->size = dims[axis];
            rlx_int_literal(s->size, &s->trips);
        }
    }
    return x;
}

/* Steps as a function: results stand along a first axis and are turned afterwards. */
static bool function_scan(rlx_onnx_conv *c, scan *s, const rlx_expr *const *x)
{
    rlx_onnx_loop l = { .g = s->s.g, .count = s->size, .scanned = x, .num_scanned = s->num_scanned };
    int64_t *axes = rlx_onnx_array(c, s->num_scanned, sizeof *axes);
    bool *backward = rlx_onnx_array(c, s->num_scanned, sizeof *backward);
    for (size_t k = 0; axes && backward && k < s->num_scanned; k++) {
        axes[k] = nth(s->axes, s->num_axes, k, 0);
        backward[k] = nth(s->ways, s->num_ways, k, 0) != 0;
        if (!rlx_onnx_axis(c, &axes[k], rlx_onnx_rank(c, x[k])))
            return false;
    }
    if (!axes || !backward)
        return false;
    l.axes = axes;
    l.backward = backward;
    l.carried = s->s.carried;
    l.num_carried = s->s.num_carried;
    l.rows = wanted_rows(c, &s->s, &l.num_rows);
    const rlx_expr *size = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &s->size, 1));
    l.limit = rlx_onnx_reshape_ints(c, size, NULL, 0);
    s->results = rlx_onnx_array(c, l.num_carried + s->s.num_rows, sizeof *s->results);
    if (!l.limit || !l.rows || !s->results || !rlx_onnx_loop_function(c, &l, s->results))
        return false;
    for (size_t k = l.num_rows; k-- > 0;) /* to the places of those that are not wanted, too */
        s->results[l.num_carried + l.rows[k]] = s->results[l.num_carried + k];
    return true;
}

static const rlx_expr *turned(rlx_onnx_conv *c, const rlx_expr *y, int64_t axis, bool flip)
{
    static const int64_t front = 0;
    int64_t perm[64];
    int n = y ? rlx_onnx_rank(c, y) : -1;
    if (n < 0 || n > 64 || !rlx_onnx_axis(c, &axis, n))
        return NULL;
    if (flip)
        y = rlx_onnx_call(c, "flip", "x axis=i", y, front);
    for (int64_t i = 0; i < n; i++)
        perm[i] = i == axis ? 0 : i < axis ? i + 1 : i;
    return rlx_onnx_transpose(c, y, perm, (size_t)n);
}

/* Version 8 has an axis for a batch in front, each part of which is scanned by itself. */
static bool scan_of_one(rlx_onnx_conv *c, scan *s)
{
    int64_t one = 0;
    static const int64_t front = 0;
    rlx_onnx_value **flat = rlx_onnx_array(c, c->num_inputs, sizeof *flat);
    if (rlx_onnx_has(c, 0))
        return rlx_onnx_fail(c, RLX_ON05, "sequence_lens is not supported") != NULL;
    for (size_t i = 1; flat && i < c->num_inputs; i++) {
        const rlx_expr *x = rlx_onnx_input(c, i);
        if (!x || !rlx_onnx_static_dim(c, x, 0, &one) || one != 1)
            return rlx_onnx_fail(c, RLX_ON05, "a batch of more than one is not supported") != NULL;
        flat[i] = rlx_onnx_value_of(c, rlx_onnx_call(c, "squeeze", "x axis=I", x, &front, (size_t)1));
        c->inputs[i] = flat[i];
    }
    return flat && !c->failed;
}

static bool give_scan(rlx_onnx_conv *c, const scan *s)
{
    static const int64_t front = 0;
    size_t axes_len, ways_len;
    const int64_t *axes = rlx_onnx_int_list(c, "scan_output_axes", &axes_len);
    const int64_t *ways = rlx_onnx_int_list(c, "scan_output_directions", &ways_len);
    for (size_t i = 0; i < c->num_outputs; i++) {
        size_t row = i - s->s.num_carried;
        int64_t axis = nth(axes, axes_len, row, 0);
        bool flip = nth(ways, ways_len, row, 0) != 0, is_row = i >= s->s.num_carried;
        if (!rlx_onnx_wants(c, i))
            continue;
        const rlx_expr *y = s->results            ? rlx_onnx_value_expr(c, s->results[i])
                            : is_row              ? stacked(c, &s->s, row, axis, flip)
                                                  : rlx_onnx_value_expr(c, s->s.carried[i]);
        if (s->results && is_row)
            y = turned(c, y, axis, flip);
        if (!rlx_onnx_output(c, i, c->version < 9 ? rlx_onnx_expand_dims(c, y, &front, 1) : y))
            return false;
    }
    return true;
}

typedef struct scan_way { scan *s; const rlx_expr *const *x; bool in_a_row; } scan_way;

static bool make_scan(rlx_onnx_conv *c, const void *user)
{
    const scan_way *w = user;
    scan s = *w->s;
    size_t most = w->in_a_row ? (size_t)s.trips : 0;
    return start_steps(c, &s.s, s.first, most, 0) &&
           (w->in_a_row ? run_scan(c, &s, w->x) : function_scan(c, &s, w->x)) && give_scan(c, &s);
}

RLX_ONNX_CONVERTER(convert_scan)
{
    scan s = { .trips = 0 };
    if (!read_scan(c, &s) || (c->version < 9 && !scan_of_one(c, &s)))
        return false;
    const rlx_expr **x = scanned_operands(c, &s);
    scan_way way = { &s, x, true };
    if (!x)
        return false;
    int64_t nodes = (int64_t)s.s.g->nodes.len + 1;
    if (s.trips > 0 && s.trips <= MOST_STEPS && nodes * s.trips <= MOST_COPIES &&
        attempt(c, make_scan, &way))
        return true;
    way.in_a_row = false;
    return make_scan(c, &way);
}

/* ---- choices of converters ---------------------------------------------------------------------- */

const rlx_expr *rlx_onnx_choose(rlx_onnx_conv *c, const rlx_expr *cond, rlx_onnx_make_fn yes,
                                const void *user, const rlx_expr *no)
{
    if (!cond || !no || c->failed || !rlx_builder_begin_branch(c->m->b))
        return NULL;
    size_t level = rlx_onnx_enter(c->m);
    const rlx_expr *y = yes(c, user);
    rlx_onnx_leave(c->m, level);
    const rlx_expr *t = y ? rlx_builder_end_branch(c->m->b, y, c->place) : NULL;
    if (!t || !rlx_builder_begin_branch(c->m->b))
        return NULL;
    const rlx_expr *f = rlx_builder_end_branch(c->m->b, no, c->place);
    return f ? rlx_onnx_emit(c, rlx_if_new(c->ctx, cond, t, f, c->place)) : NULL;
}

const rlx_expr *rlx_onnx_is_axis(rlx_onnx_conv *c, const rlx_expr *given, int64_t axis, int64_t n)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, given);
    const rlx_expr *a = rlx_onnx_call2(c, "equal", given, rlx_onnx_scalar(c, t, (double)axis));
    const rlx_expr *b = rlx_onnx_call2(c, "equal", given, rlx_onnx_scalar(c, t, (double)(axis - n)));
    a = rlx_onnx_call2(c, "logical_or", a, b);
    if (!a || rlx_onnx_rank(c, a) == 0)
        return a;
    a = rlx_onnx_call1(c, "sum", rlx_onnx_cast(c, a, RELAX_INT32));
    return rlx_onnx_call2(c, "greater", a, rlx_onnx_scalar(c, RELAX_INT32, 0));
}

/* ---- attempts ---------------------------------------------------------------------------------- */

void rlx_onnx_attempt_begin(rlx_onnx_conv *c, rlx_onnx_attempt *a)
{
    rlx_importer *m = c->m;
    *a = (rlx_onnx_attempt){ .mark = rlx_builder_mark(m->b),
                             .counts = rlx_diags_begin_unheard(&c->ctx->diags),
                             .level = rlx_onnx_enter(m),
                             .num_unheard = m->num_unheard,
                             .num_nodes = m->num_nodes,
                             .needed = m->needed,
                             .num_fresh = m->num_fresh,
                             .unheard = m->unheard };
    m->unheard = true;
}

bool rlx_onnx_attempt_end(rlx_onnx_conv *c, rlx_onnx_attempt *a, bool keep)
{
    rlx_importer *m = c->m;
    const rlx_diags *d = &c->ctx->diags;
    keep = keep && !c->failed && m->num_unheard == a->num_unheard &&
           d->num_diags == a->counts.diags && d->num_errors == a->counts.errors;
    rlx_diags_end_unheard(&c->ctx->diags, a->counts);
    rlx_onnx_leave(m, a->level);
    m->unheard = a->unheard;
    if (keep)
        return true;
    rlx_builder_rollback(m->b, &a->mark);
    m->num_unheard = a->num_unheard;
    m->num_nodes = a->num_nodes;
    m->needed = a->needed;
    m->num_fresh = a->num_fresh;
    c->failed = c->ctx->diags.out_of_memory;
    for (size_t i = 0; i < c->num_outputs; i++)
        if (c->outputs[i]) {
            rlx_onnx_value *v = c->outputs[i];
            *v = (rlx_onnx_value){ .name = v->name, .depends = v->depends, .level = v->level };
        }
    return false;
}
