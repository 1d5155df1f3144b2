/*- convert_recurrent.c: LSTM, GRU and RNN, step by step.
 *
 *     gates = X[t] W^T + H R^T + B        the product with X for all steps at once
 *
 * Layers as they mostly are call an operator that does all steps (nn.lstm ..). Of others few steps of a known number are written in
 * a row, more are a function (loop_function.c). */
#include "onnx/onnx_int.h"

enum { MOST_STEPS = 16 }; /* in a row */

static const rlx_expr *add(rlx_onnx_conv *c, const rlx_expr *a, const rlx_expr *b)
{
    return rlx_onnx_call2(c, "add", a, b);
}
static const rlx_expr *mul(rlx_onnx_conv *c, const rlx_expr *a, const rlx_expr *b)
{
    return rlx_onnx_call2(c, "multiply", a, b);
}

/* ---- activations ------------------------------------------------------------------------------- */

enum activation { SIGMOID, TANH, RELU, AFFINE, LEAKY, THRESHOLDED, SCALED_TANH, HARD_SIGMOID, ELU,
                  SOFTSIGN, SOFTPLUS };
typedef struct gate_fn { enum activation kind; double alpha, beta; } gate_fn;
static const struct { const char *name; enum activation kind; bool alpha, beta; double a, b; } acts[] = {
    { "Sigmoid", SIGMOID, false, false, 0, 0 },
    { "Tanh", TANH, false, false, 0, 0 },
    { "Relu", RELU, false, false, 0, 0 },
    { "Affine", AFFINE, true, true, 1, 0 },
    { "LeakyRelu", LEAKY, true, false, 0.01, 0 },
    { "ThresholdedRelu", THRESHOLDED, true, false, 1, 0 },
    { "ScaledTanh", SCALED_TANH, true, true, 1, 1 },
    { "HardSigmoid", HARD_SIGMOID, true, true, 0.2, 0.5 },
    { "Elu", ELU, true, false, 1, 0 },
    { "Softsign", SOFTSIGN, false, false, 0, 0 },
    { "Softplus", SOFTPLUS, false, false, 0, 0 }
};

static const rlx_expr *activate(rlx_onnx_conv *c, const gate_fn *a, const rlx_expr *x)
{
    rlx_dtype t = rlx_onnx_dtype_of(c, x);
    const rlx_expr *zero = rlx_onnx_scalar(c, t, 0), *below;
    switch (a->kind) {
    case SIGMOID: return rlx_onnx_call1(c, "sigmoid", x);
    case TANH: return rlx_onnx_call1(c, "tanh", x);
    case RELU: return rlx_onnx_call1(c, "nn.relu", x);
    case AFFINE: return rlx_onnx_with(c, "add", rlx_onnx_with(c, "multiply", x, a->alpha), a->beta);
    case LEAKY: return rlx_onnx_call(c, "nn.leakyrelu", "x alpha=f", x, a->alpha);
    case THRESHOLDED:
        return rlx_onnx_where(c, rlx_onnx_with(c, "greater", x, a->alpha), x, zero);
    case SCALED_TANH:
        return rlx_onnx_with(c, "multiply", rlx_onnx_call1(c, "tanh", rlx_onnx_with(c, "multiply", x, a->beta)),
                    a->alpha);
    case HARD_SIGMOID:
        x = rlx_onnx_with(c, "add", rlx_onnx_with(c, "multiply", x, a->alpha), a->beta);
        return rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", x, 0), 1);
    case ELU:
        below = rlx_onnx_with(c, "subtract", rlx_onnx_call1(c, "exp", x), 1);
        below = rlx_onnx_with(c, "multiply", below, a->alpha);
        return rlx_onnx_where(c, rlx_onnx_with(c, "greater", x, 0), x, below);
    case SOFTSIGN:
        return rlx_onnx_call2(c, "divide", x, rlx_onnx_with(c, "add", rlx_onnx_call1(c, "abs", x), 1));
    case SOFTPLUS: return rlx_onnx_call1(c, "nn.softplus", x);
    }
    return NULL;
}

static bool name_act(rlx_onnx_conv *c, rlx_slice name, gate_fn *a, const double *alphas, size_t *ia,
                     size_t na, const double *betas, size_t *ib, size_t nb)
{
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        if (!rlx_slice_is(name, acts[i].name))
            continue;
        *a = (gate_fn){ acts[i].kind, acts[i].a, acts[i].b };
        if (acts[i].alpha && *ia < na)
            a->alpha = alphas[(*ia)++];
        if (acts[i].beta && *ib < nb)
            a->beta = betas[(*ib)++];
        return true;
    }
    return rlx_onnx_fail(c, RLX_ON05, "an activation is not supported") != NULL;
}

/* ---- one direction ----------------------------------------------------------------------------- */

typedef struct recurrent {
    char kind;                       /* 'l', 'g', 'r' */
    size_t gates;
    int64_t directions, hidden, steps;
    const rlx_expr *x, *w, *r, *b, *h0, *c0, *p, *lengths; /* time first */
    const rlx_prim *batch, *length;
    rlx_dtype dtype;
    double clip;
    bool clips, couples, before;     /* input_forget, linear_before_reset */
    bool quantized;                  /* com.microsoft: W and R of bytes, not transposed, operands made bytes */
    gate_fn acts[6];
} recurrent;

typedef struct state { const rlx_expr *h, *c; } state;
typedef struct direction {
    const recurrent *q;
    const rlx_expr *r, *rb, *w, *wb, *p;
    const rlx_expr *scale[2], *zero[2];      /* of W and R, if they are quantised */
    const gate_fn *acts;
} direction;

/* Of the first axis, part i; the axis goes. */
static const rlx_expr *part(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *i)
{
    return rlx_onnx_call(c, "take", "x x axis=i", x, i, (int64_t)0);
}
static const rlx_expr *at(rlx_onnx_conv *c, const rlx_expr *x, int64_t i)
{
    return part(c, x, rlx_onnx_scalar(c, RELAX_INT64, (double)i));
}

/* Columns of gates [from, to), or values of them in a vector. */
static const rlx_expr *gates(rlx_onnx_conv *c, const recurrent *q, const rlx_expr *x, size_t from, size_t to,
                             int64_t axis)
{
    return rlx_onnx_slice(c, x, axis, rlx_int64(c->ctx, (int64_t)from * q->hidden),
                          rlx_int64(c->ctx, (int64_t)to * q->hidden));
}

static const rlx_expr *gate(rlx_onnx_conv *c, const recurrent *q, const rlx_expr *x, size_t i,
                            int64_t axis)
{
    return gates(c, q, x, i, i + 1, axis);
}

static const rlx_expr *clipped(rlx_onnx_conv *c, const recurrent *q, const rlx_expr *x)
{
    return q->clips ? rlx_onnx_with(c, "minimum", rlx_onnx_with(c, "maximum", x, -q->clip), q->clip) : x;
}

static const rlx_expr *gated(rlx_onnx_conv *c, const direction *d, const rlx_expr *x, size_t act)
{
    return activate(c, &d->acts[act], clipped(c, d->q, x));
}

/* With peepholes: the cell's state weighs in. */
static const rlx_expr *peep(rlx_onnx_conv *c, const direction *d, const rlx_expr *x, size_t i,
                            const rlx_expr *cell)
{
    return d->p ? add(c, x, mul(c, gate(c, d->q, d->p, i, 0), cell)) : x;
}

static const rlx_expr *product(rlx_onnx_conv *c, const direction *d, const rlx_expr *x, bool of_state)
{
    const rlx_expr *w = of_state ? d->r : d->w;
    return d->q->quantized
               ? rlx_onnx_dynamic_product(c, x, w, d->scale[of_state], d->zero[of_state])
               : rlx_onnx_call2(c, "matmul", x, w);
}

/* gates i, o, f, c */
static state step_lstm(rlx_onnx_conv *c, const direction *d, const rlx_expr *wx, state s)
{
    const recurrent *q = d->q;
    const rlx_expr *g = add(c, wx, product(c, d, s.h, true));
    const rlx_expr *i = gated(c, d, peep(c, d, gate(c, q, g, 0, 1), 0, s.c), 0);
    const rlx_expr *f = q->couples
                            ? rlx_onnx_call2(c, "subtract", rlx_onnx_scalar(c, q->dtype, 1), i)
                            : gated(c, d, peep(c, d, gate(c, q, g, 2, 1), 2, s.c), 0);
    const rlx_expr *n = gated(c, d, gate(c, q, g, 3, 1), 1);
    const rlx_expr *fresh = mul(c, i, n);
    state out = { .c = add(c, mul(c, f, s.c), fresh) };
    const rlx_expr *o = gated(c, d, peep(c, d, gate(c, q, g, 1, 1), 1, out.c), 0);
    out.h = mul(c, o, activate(c, &d->acts[2], out.c));
    return out;
}

/* Gate k of x and of the state, as a sum; that of the state comes first. */
static const rlx_expr *gate_sum(rlx_onnx_conv *c, const recurrent *q, const rlx_expr *wx, const rlx_expr *rh, int64_t k)
{
    const rlx_expr *of_state = gate(c, q, rh, k, 1);
    return add(c, gate(c, q, wx, k, 1), of_state);
}

/* gates z, r, h; what the state adds to the last one is known at once only with linear_before_reset */
static state step_gru(rlx_onnx_conv *c, const direction *d, const rlx_expr *wx, state s)
{
    const recurrent *q = d->q;
    const rlx_expr *rh = rlx_onnx_call2(c, "matmul", s.h, q->before ? d->r : gates(c, q, d->r, 0, 2, 1));
    if (d->rb)
        rh = add(c, rh, q->before ? d->rb : gates(c, q, d->rb, 0, 2, 0));
    const rlx_expr *z = gated(c, d, gate_sum(c, q, wx, rh, 0), 0);
    const rlx_expr *r = gated(c, d, gate_sum(c, q, wx, rh, 1), 0);
    const rlx_expr *inner;
    if (q->before) {
        inner = mul(c, r, gate(c, q, rh, 2, 1));
    } else {
        const rlx_expr *last = gate(c, q, d->r, 2, 1);
        inner = rlx_onnx_call2(c, "matmul", mul(c, r, s.h), last);
        if (d->rb)
            inner = add(c, inner, gate(c, q, d->rb, 2, 0));
    }
    const rlx_expr *n = gated(c, d, add(c, gate(c, q, wx, 2, 1), inner), 1);
    const rlx_expr *one = rlx_onnx_scalar(c, q->dtype, 1);
    const rlx_expr *kept = mul(c, z, s.h);
    state out = { .h = add(c, mul(c, rlx_onnx_call2(c, "subtract", one, z), n), kept) };
    return out;
}

static state step_rnn(rlx_onnx_conv *c, const direction *d, const rlx_expr *wx, state s)
{
    state out = { .h = gated(c, d, add(c, wx, rlx_onnx_call2(c, "matmul", s.h, d->r)), 0) };
    return out;
}

/* Behind a sequence's end the state stays and the output is 0. */
static const rlx_expr *within(rlx_onnx_conv *c, const recurrent *q, const rlx_expr *t,
                              const rlx_expr *now, const rlx_expr *before)
{
    static const int64_t behind = 1;
    t = rlx_onnx_cast(c, t, rlx_onnx_dtype_of(c, q->lengths));
    const rlx_expr *on = rlx_onnx_call2(c, "greater", rlx_onnx_expand_dims(c, q->lengths, &behind, 1), t);
    return rlx_onnx_where(c, on, now, before);
}

static const rlx_expr *transposed(rlx_onnx_conv *c, const rlx_expr *x)
{
    static const int64_t perm[] = { 1, 0 };
    return rlx_onnx_transpose(c, x, perm, 2);
}

static const rlx_expr *zeros(rlx_onnx_conv *c, const recurrent *q)
{
    const rlx_prim *d[] = { q->batch, rlx_int64(c->ctx, q->hidden) };
    return rlx_onnx_full(c, d, 2, q->dtype, 0);
}

static bool begin_direction(rlx_onnx_conv *c, const recurrent *q, int64_t k, direction *d)
{
    int64_t n = (int64_t)q->gates * q->hidden;
    *d = (direction){ .q = q, .acts = q->acts + (q->kind == 'l' ? 3 : q->kind == 'g' ? 2 : 1) * k };
    d->w = at(c, q->w, k);
    d->r = at(c, q->r, k);
    for (size_t i = 0; i < 2 && q->quantized; i++) {
        d->scale[i] = at(c, rlx_onnx_input(c, 8 + 2 * i), k);
        d->zero[i] = rlx_onnx_has(c, 9 + 2 * i) ? at(c, rlx_onnx_input(c, 9 + 2 * i), k) : NULL;
    }
    if (!q->quantized) {
        d->w = transposed(c, d->w);
        d->r = transposed(c, d->r);
    }
    d->p = q->p ? at(c, q->p, k) : NULL;
    if (!q->b)
        return d->w && d->r;
    const rlx_expr *b = at(c, q->b, k);
    d->wb = rlx_onnx_slice(c, b, 0, rlx_int64(c->ctx, 0), rlx_int64(c->ctx, n));
    d->rb = rlx_onnx_slice(c, b, 0, rlx_int64(c->ctx, n), rlx_int64(c->ctx, 2 * n));
    if (q->kind != 'g') { /* both are added in the same place */
        d->wb = add(c, d->wb, d->rb);
        d->rb = NULL;
    }
    return d->w && d->r && d->wb;
}

/* What stands beside the states while steps are made. */
typedef struct course {
    direction d;
    const rlx_expr *wx, *none, *last; /* X W + B; zeros; last step as a tensor, going backwards */
} course;

static state one_step(rlx_onnx_conv *c, const course *k, const rlx_expr *t, state s,
                      const rlx_expr **row)
{
    const recurrent *q = k->d.q;
    const rlx_expr *x = part(c, k->wx, t);
    state n = q->kind == 'l' ? step_lstm(c, &k->d, x, s)
              : q->kind == 'g' ? step_gru(c, &k->d, x, s)
                               : step_rnn(c, &k->d, x, s);
    *row = q->lengths ? within(c, q, t, n.h, k->none) : n.h;
    s.h = q->lengths ? within(c, q, t, n.h, s.h) : n.h;
    s.c = q->lengths && n.c ? within(c, q, t, n.c, s.c) : n.c;
    return s;
}

static bool step_of_function(rlx_onnx_conv *c, const void *user, const rlx_expr *i,
                             const rlx_expr *const *carried, const rlx_expr **out)
{
    const course *k = user;
    bool cell = k->d.q->kind == 'l';
    const rlx_expr *row, *t = k->last ? rlx_onnx_call2(c, "subtract", k->last, i) : i;
    state s = one_step(c, k, t, (state){ carried[0], cell ? carried[1] : NULL }, &row);
    out[0] = s.h;
    out[cell ? 1 : 0] = cell ? s.c : s.h;
    out[cell ? 2 : 1] = row; /* not looked at if it is not wanted */
    return !c->failed;
}

/* The operand as a state: its sizes are those of the batch. */
static const rlx_expr *first_state(rlx_onnx_conv *c, const recurrent *q, const rlx_expr *given, int64_t k)
{
    if (!given)
        return zeros(c, q);
    const rlx_prim *dims[] = { q->batch, rlx_int64(c->ctx, q->hidden) };
    const rlx_expr *e = at(c, given, k);
    const rlx_sinfo *want =
        rlx_tensor_info(c->ctx, rlx_shape_new(c->ctx, dims, 2), q->dtype, 2, NULL);
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, e) : NULL;
    return t && &t->node == want ? e : rlx_onnx_match(c, e, want);
}

static const rlx_expr *stack(rlx_onnx_conv *c, const rlx_expr **parts, size_t n, int64_t axis)
{
    for (size_t i = 0; i < n; i++)
        parts[i] = rlx_onnx_expand_dims(c, parts[i], &axis, 1);
    return rlx_onnx_concat(c, parts, n, axis);
}

/* *rows: the outputs of all steps, along a new first axis, if they are wanted */
static state run_row(rlx_onnx_conv *c, const course *k, bool back, state s, const rlx_expr **rows)
{
    int64_t n = k->d.q->steps;
    const rlx_expr **row = rlx_onnx_array(c, (size_t)n, sizeof *row);
    for (int64_t i = 0; row && i < n && !c->failed; i++) {
        int64_t t = back ? n - 1 - i : i;
        s = one_step(c, k, rlx_onnx_scalar(c, RELAX_INT64, (double)t), s, &row[t]);
    }
    *rows = row && !c->failed && rlx_onnx_wants(c, 0) ? stack(c, row, (size_t)n, 0) : NULL;
    return s;
}

static state run_function(rlx_onnx_conv *c, course *k, bool back, state s, const rlx_expr **rows)
{
    static const size_t only[] = { 0 };
    const recurrent *q = k->d.q;
    const rlx_expr *size = rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &q->length, 1));
    rlx_onnx_value *carried[2] = { rlx_onnx_value_of(c, s.h), s.c ? rlx_onnx_value_of(c, s.c) : NULL };
    rlx_onnx_value *results[3] = { NULL, NULL, NULL };
    size_t cells = s.c ? 2 : 1;
    rlx_onnx_loop l = { .step = step_of_function,
                        .user = k,
                        .count = q->length,
                        .carried = carried,
                        .num_carried = cells,
                        .rows = only,
                        .num_rows = rlx_onnx_wants(c, 0) };
    l.limit = rlx_onnx_reshape_ints(c, size, NULL, 0);
    if (back)
        k->last = rlx_onnx_call2(c, "subtract", l.limit, rlx_onnx_scalar(c, RELAX_INT64, 1));
    if (c->failed || !rlx_onnx_loop_function(c, &l, results))
        return (state){ NULL, NULL };
    *rows = l.num_rows ? results[cells]->expr : NULL;
    if (back && *rows)
        *rows = rlx_onnx_call(c, "flip", "x axis=i", *rows, (int64_t)0);
    return (state){ results[0]->expr, s.c ? results[1]->expr : NULL };
}

/* The activations that a layer has if none are named, and nothing else that a step would need to know? */
static bool is_usual(const course *k)
{
    static const enum activation usual[] = { SIGMOID, TANH, TANH };
    const recurrent *q = k->d.q;
    size_t count = q->kind == 'l' ? 3 : q->kind == 'g' ? 2 : 1;
    bool is = !q->clips && !q->couples && !q->quantized && !q->p && (q->dtype == RELAX_FLOAT32 || q->dtype == RELAX_FLOAT64) &&
              (q->kind != 'g' || k->d.rb);
    for (size_t i = 0; i < count && is; i++)
        is = k->d.acts[i].kind == (count == 1 ? TANH : usual[i]);
    return is;
}

static state run_operator(rlx_onnx_conv *c, const course *k, bool back, state s, const rlx_expr **rows)
{
    const recurrent *q = k->d.q;
    const rlx_expr *r = k->d.r, *rb = k->d.rb, *n = q->lengths, *all;
    const int way = back;
    if (q->kind == 'l')
        all = n ? rlx_onnx_call(c, "nn.lstm", "x x x x x backward=b", k->wx, r, s.h, s.c, n, way)
                : rlx_onnx_call(c, "nn.lstm", "x x x x backward=b", k->wx, r, s.h, s.c, way);
    else if (q->kind == 'r')
        all = n ? rlx_onnx_call(c, "nn.rnn", "x x x x backward=b", k->wx, r, s.h, n, way)
                : rlx_onnx_call(c, "nn.rnn", "x x x backward=b", k->wx, r, s.h, way);
    else if (q->before)
        all = n ? rlx_onnx_call(c, "nn.gru", "x x x x x backward=b", k->wx, r, s.h, rb, n, way)
                : rlx_onnx_call(c, "nn.gru", "x x x x backward=b", k->wx, r, s.h, rb, way);
    else {
        const rlx_expr *both = gates(c, q, r, 0, 2, 1), *last = gate(c, q, r, 2, 1);
        all = n ? rlx_onnx_call(c, "nn.gru_reset_before", "x x x x x x backward=b", k->wx, both, s.h, rb, last, n, way)
                : rlx_onnx_call(c, "nn.gru_reset_before", "x x x x x backward=b", k->wx, both, s.h, rb, last, way);
    }
    *rows = all && rlx_onnx_wants(c, 0) ? rlx_onnx_item(c, all, 0) : NULL;
    state end = { .h = all ? rlx_onnx_item(c, all, 1) : NULL };
    end.c = all && s.c ? rlx_onnx_item(c, all, 2) : NULL;
    return end;
}

static state run_direction(rlx_onnx_conv *c, const recurrent *q, int64_t i, bool back,
                           const rlx_expr **rows)
{
    course k = { .last = NULL };
    state s = { .h = first_state(c, q, q->h0, i) };
    if (q->kind == 'l')
        s.c = first_state(c, q, q->c0, i);
    if (c->failed || !begin_direction(c, q, i, &k.d))
        return (state){ NULL, NULL };
    k.wx = product(c, &k.d, q->x, false);
    if (k.d.wb)
        k.wx = add(c, k.wx, k.d.wb);
    if (is_usual(&k))
        return run_operator(c, &k, back, s, rows);
    k.none = q->lengths ? zeros(c, q) : NULL;
    return q->steps > 0 && q->steps <= MOST_STEPS ? run_row(c, &k, back, s, rows)
                                                  : run_function(c, &k, back, s, rows);
}

/* ---- the operator ------------------------------------------------------------------------------ */

static bool read_acts(rlx_onnx_conv *c, recurrent *q)
{
    static const char *const usual[3][3] = { { "Sigmoid", "Tanh", "Tanh" },
                                             { "Sigmoid", "Tanh", NULL },
                                             { "Tanh", NULL, NULL } };
    size_t na, nb, ia = 0, ib = 0, per = q->kind == 'l' ? 3 : q->kind == 'g' ? 2 : 1;
    const double *alphas = rlx_onnx_float_list(c, "activation_alpha", &na);
    const double *betas = rlx_onnx_float_list(c, "activation_beta", &nb);
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, "activations");
    for (size_t i = 0; i < per * (size_t)q->directions; i++) {
        rlx_slice name = a && i < a->strings.len
                             ? a->strings.data[i]
                             : rlx_slice_z(usual[3 - per][i % per]);
        if (!name_act(c, name, &q->acts[i], alphas, &ia, na, betas, &ib, nb))
            return false;
    }
    return true;
}

static const rlx_expr *optional(rlx_onnx_conv *c, size_t i)
{
    return rlx_onnx_has(c, i) ? rlx_onnx_input(c, i) : NULL;
}

/* Batch first: what is given and what comes out has its first two axes exchanged. */
static const rlx_expr *swapped(rlx_onnx_conv *c, const rlx_expr *x, bool swap)
{
    static const int64_t perm[] = { 1, 0, 2 };
    return x && swap ? rlx_onnx_transpose(c, x, perm, 3) : x;
}

static bool read_recurrent(rlx_onnx_conv *c, recurrent *q, bool swap)
{
    rlx_slice way = rlx_onnx_string(c, "direction", "forward");
    q->kind = *c->row->argument;
    q->quantized = strcmp(c->row->argument, "lstm of bytes") == 0;
    q->gates = q->kind == 'l' ? 4 : q->kind == 'g' ? 3 : 1;
    q->directions = rlx_slice_is(way, "bidirectional") ? 2 : 1;
    q->x = swapped(c, rlx_onnx_of_rank(c, rlx_onnx_input(c, 0), 3), swap);
    q->w = rlx_onnx_input(c, 1);
    q->r = rlx_onnx_input(c, 2);
    q->b = optional(c, 3);
    q->lengths = optional(c, 4);
    q->h0 = swapped(c, rlx_onnx_of_rank(c, optional(c, 5), 3), swap);
    if (q->kind == 'l') {
        q->c0 = swapped(c, rlx_onnx_of_rank(c, optional(c, 6), 3), swap);
        q->p = optional(c, 7);
    }
    q->clips = rlx_onnx_attr(c, "clip") != NULL;
    q->clip = rlx_onnx_float(c, "clip", 0);
    q->couples = rlx_onnx_int(c, "input_forget", 0) != 0;
    q->before = rlx_onnx_int(c, "linear_before_reset", 0) != 0;
    if (!q->x || !q->w || !q->r || rlx_onnx_rank(c, q->x) != 3 || rlx_onnx_rank(c, q->r) != 3)
        return !c->failed && rlx_onnx_fail(c, RLX_ON05, "operands of rank 3 are expected") != NULL;
    q->dtype = rlx_onnx_dtype_of(c, q->x);
    size_t ndim;
    const rlx_prim *const *dims = rlx_onnx_dims(c, &q->x, &ndim);
    if (!dims)
        return false;
    q->length = dims[0];
    q->batch = dims[1];
    if (!rlx_int_literal(q->length, &q->steps))
        q->steps = -1;
    if (!rlx_onnx_static_dim(c, q->r, q->quantized ? 1 : 2, &q->hidden))
        return rlx_onnx_fail(c, RLX_ON08, "the size of the state has to be known") != NULL;
    return read_acts(c, q);
}

RLX_ONNX_CONVERTER(convert_recurrent)
{
    static const int64_t batch_first[] = { 2, 0, 1, 3 }; /* time, direction, batch */
    recurrent q = { .kind = 0 };
    bool swap = rlx_onnx_int(c, "layout", 0) != 0;
    if (!read_recurrent(c, &q, swap))
        return false;
    bool reverse = rlx_slice_is(rlx_onnx_string(c, "direction", "forward"), "reverse");
    const rlx_expr *ys[2], *hs[2], *cs[2];
    for (int64_t k = 0; k < q.directions; k++) {
        state s = run_direction(c, &q, k, reverse || k == 1, &ys[k]);
        hs[k] = s.h;
        cs[k] = s.c;
        if (c->failed)
            return false;
    }
    size_t d = (size_t)q.directions;
    if (rlx_onnx_wants(c, 0)) {
        const rlx_expr *y = stack(c, ys, d, 1);
        if (!rlx_onnx_output(c, 0, swap ? rlx_onnx_transpose(c, y, batch_first, 4) : y))
            return false;
    }
    if (rlx_onnx_wants(c, 1) && !rlx_onnx_output(c, 1, swapped(c, stack(c, hs, d, 0), swap)))
        return false;
    return !rlx_onnx_wants(c, 2) || (q.kind == 'l' &&
           rlx_onnx_output(c, 2, swapped(c, stack(c, cs, d, 0), swap)));
}
