/*- convert_control.c: branches and loops.
 *
 *     If           R.If, or the branch that is known to be taken
 *     Loop, Scan   steps in a row: their number is known
 */
#include "onnx/onnx_int.h"

enum { MOST_STEPS = 256 };

static const rlx_onnx_graph *graph_of(rlx_onnx_conv *c, const char *name)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, name);
    return a && a->g ? a->g : rlx_onnx_fail(c, RLX_ON10, "the graph %s is missing", name);
}

/* Imports a graph whose inputs are bound already. NULL: it failed, which has been said. */
static rlx_onnx_value **body_of(rlx_onnx_conv *c, rlx_onnx_scope *s, const rlx_onnx_graph *g)
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

/* ---- If ---------------------------------------------------------------------------------------- */

static bool take_branch(rlx_onnx_conv *c, const rlx_onnx_graph *g)
{
    rlx_onnx_scope s;
    rlx_onnx_scope_init(c->m, &s, c->scope);
    rlx_onnx_value **out = body_of(c, &s, g);
    bool ok = out && g->outputs.len >= c->num_outputs;
    for (size_t i = 0; ok && i < c->num_outputs; i++)
        ok = rlx_onnx_output_value(c, i, out[i]);
    rlx_onnx_scope_free(&s);
    return ok || (out && rlx_onnx_fail(c, RLX_ON10, "the branch has too few outputs"));
}

static const rlx_expr *branch(rlx_onnx_conv *c, const rlx_onnx_graph *g)
{
    rlx_onnx_scope s;
    size_t n = c->num_outputs;
    if (g->outputs.len < n)
        return rlx_onnx_fail(c, RLX_ON10, "a branch has too few outputs");
    if (!rlx_builder_begin_branch(c->m->b))
        return NULL;
    rlx_onnx_scope_init(c->m, &s, c->scope);
    rlx_onnx_value **out = body_of(c, &s, g);
    const rlx_expr **items = out ? rlx_onnx_array(c, n, sizeof *items) : NULL;
    for (size_t i = 0; items && i < n && !c->failed; i++)
        items[i] = rlx_onnx_value_expr(c, out[i]);
    const rlx_expr *value = !items || c->failed ? rlx_tuple_new(c->ctx, NULL, 0, c->place)
                            : n == 1            ? items[0]
                                                : rlx_tuple_new(c->ctx, items, n, c->place);
    rlx_onnx_scope_free(&s);
    const rlx_expr *e = rlx_builder_end_branch(c->m->b, value, c->place);
    return c->failed ? NULL : e;
}

RLX_ONNX_CONVERTER(convert_if)
{
    const rlx_onnx_graph *yes = graph_of(c, "then_branch"), *no = graph_of(c, "else_branch");
    rlx_onnx_ints known;
    int64_t truth;
    if (!yes || !no)
        return false;
    if (rlx_onnx_known(c, 0, &known) && known.len == 1 && rlx_int_literal(known.data[0], &truth))
        return take_branch(c, truth ? yes : no);
    const rlx_expr *cond = rlx_onnx_input(c, 0);
    if (cond && rlx_onnx_rank(c, cond) > 0)
        cond = rlx_onnx_reshape_ints(c, cond, NULL, 0);
    const rlx_expr *t = cond ? branch(c, yes) : NULL, *f = t ? branch(c, no) : NULL;
    const rlx_expr *y = f ? rlx_onnx_emit(c, rlx_if_new(c->ctx, cond, t, f, c->place)) : NULL;
    if (!y)
        return false;
    if (c->num_outputs == 1)
        return rlx_onnx_output(c, 0, y);
    for (size_t i = 0; i < c->num_outputs; i++)
        if (rlx_onnx_wants(c, i) && !rlx_onnx_output(c, i, rlx_onnx_item(c, y, (int64_t)i)))
            return false;
    return true;
}

/* ---- steps in a row ---------------------------------------------------------------------------- */

/* What a loop carries from step to step, and what each step gives. */
typedef struct steps {
    const rlx_onnx_graph *g;
    rlx_onnx_value **carried; size_t num_carried;
    const rlx_expr **rows; size_t num_rows, row_cap; /* [step][row] */
    int64_t count;
} steps;

static rlx_onnx_value *value_of(rlx_onnx_conv *c, const rlx_expr *e)
{
    rlx_onnx_value *v = e ? rlx_onnx_value_new(c->m, NULL) : NULL;
    if (v)
        v->expr = e;
    c->failed |= !v;
    return v;
}

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
    rlx_onnx_value **out = ok ? body_of(c, &scope, g) : NULL;
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

RLX_ONNX_CONVERTER(convert_loop)
{
    steps s = { .g = graph_of(c, "body") };
    int64_t trips = INT64_MAX;
    bool go = true;
    if (!s.g || s.g->inputs.len < 2)
        return false;
    s.num_carried = s.g->inputs.len - 2;
    if (rlx_onnx_has(c, 0) && !rlx_onnx_literal(c, 0, "the number of steps", &trips))
        return false;
    if (rlx_onnx_has(c, 1) && !known_truth(c, c->inputs[1], &go))
        return rlx_onnx_needs(c, 1, "whether the loop runs") != NULL;
    if (!start_steps(c, &s, 2, MOST_STEPS, 1))
        return false;
    for (int64_t i = 0; i < trips && go; i++) {
        if (i == MOST_STEPS)
            return rlx_onnx_fail(c, RLX_ON02, "the loop takes more than %d steps", MOST_STEPS) !=
                   NULL;
        rlx_onnx_value *front[2] = {
            value_of(c, rlx_constant_new(c->ctx, RELAX_INT64, NULL, 0, &i, c->place)),
            value_of(c, rlx_onnx_scalar(c, RELAX_BOOL, 1))
        };
        rlx_onnx_value **out = run_step(c, &s, front, 2, NULL, 0);
        if (!out || !keep_rows(c, &s, out, 1 + s.num_carried))
            return false;
        memcpy(s.carried, out + 1, s.num_carried * sizeof *s.carried);
        if (!known_truth(c, out[0], &go))
            return !c->failed &&
                   rlx_onnx_fail(c, RLX_ON07, "whether a further step is taken is found when the "
                                 "program runs, which is not supported") != NULL;
    }
    return finish_loop(c, &s);
}

/* ---- Scan -------------------------------------------------------------------------------------- */

static int64_t nth(const int64_t *v, size_t len, size_t i, int64_t otherwise)
{
    return v && i < len ? v[i] : otherwise;
}

typedef struct scan { steps s; size_t num_scanned, first; const int64_t *axes, *ways; size_t num_axes, num_ways; int64_t trips; } scan;

static bool read_scan(rlx_onnx_conv *c, scan *s)
{
    s->s.g = graph_of(c, "body");
    s->num_scanned = (size_t)rlx_onnx_int(c, "num_scan_inputs", 0);
    s->axes = rlx_onnx_int_list(c, "scan_input_axes", &s->num_axes);
    s->ways = rlx_onnx_int_list(c, c->version < 9 ? "directions" : "scan_input_directions",
                                &s->num_ways);
    s->first = c->version < 9 ? 1 : 0;
    if (!s->s.g || !s->num_scanned || s->num_scanned + s->first > c->num_inputs)
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
    return value_of(c, rlx_onnx_call(c, "take", "x x axis=i", x,
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
    for (size_t k = 0; x && k < s->num_scanned; k++) {
        int64_t axis = nth(s->axes, s->num_axes, k, 0);
        x[k] = rlx_onnx_input(c, s->first + s->s.num_carried + k);
        if (!x[k] || !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x[k])))
            return NULL;
        if (k == 0 && !rlx_onnx_static_dim(c, x[k], (size_t)axis, &s->trips))
            return rlx_onnx_fail(c, RLX_ON08, "the number of steps has to be known");
        if (s->trips > MOST_STEPS || s->trips < 1)
            return rlx_onnx_fail(c, RLX_ON02, "there are %lld steps, expected 1 to %d",
                                 (long long)s->trips, MOST_STEPS);
    }
    return x;
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
        flat[i] = value_of(c, rlx_onnx_call(c, "squeeze", "x axis=I", x, &front, (size_t)1));
        c->inputs[i] = flat[i];
    }
    return flat && !c->failed;
}

RLX_ONNX_CONVERTER(convert_scan)
{
    scan s = { .trips = 0 };
    static const int64_t front = 0;
    size_t axes_len, ways_len;
    bool batch = c->version < 9;
    if (!read_scan(c, &s) || (batch && !scan_of_one(c, &s)))
        return false;
    const rlx_expr **x = scanned_operands(c, &s);
    if (!x || !start_steps(c, &s.s, s.first, (size_t)s.trips, 0) || !run_scan(c, &s, x))
        return false;
    const int64_t *axes = rlx_onnx_int_list(c, "scan_output_axes", &axes_len);
    const int64_t *ways = rlx_onnx_int_list(c, "scan_output_directions", &ways_len);
    for (size_t i = 0; i < c->num_outputs; i++) {
        size_t row = i - s.s.num_carried;
        if (!rlx_onnx_wants(c, i))
            continue;
        const rlx_expr *y = i < s.s.num_carried
                                ? rlx_onnx_value_expr(c, s.s.carried[i])
                                : stacked(c, &s.s, row, nth(axes, axes_len, row, 0),
                                          nth(ways, ways_len, row, 0) != 0);
        if (!rlx_onnx_output(c, i, batch ? rlx_onnx_expand_dims(c, y, &front, 1) : y))
            return false;
    }
    return true;
}
