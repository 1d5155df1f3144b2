/*- plan_map.c: nests that compute one function of each element of rows.
 *
 *     for i, j:    Y[i, j] = X[i, j] / S[i]          +, -, *, /, and exp of a difference; of float32
 *
 * Y and X are contiguous along the column j, which may be several loops. The other side stands still along it, so that it is one number for each
 * row i, which is the innermost loop that moves it; exp may have one long row alone, as its sum is mostly wanted, too (runtime/kernel_rows.c).
 * What few rows are multiplied by, or less by, is one column:
 *
 *     for i:       Y[i] = 1 / S[i]                   or log(S[i])
 */
#include "arith/arith.h"
#include "schedule/plan_int.h"

/* The function, and the sides of it. */
static bool match_function(const rlx_prim *value, uint8_t *function, const rlx_prim **a, const rlx_prim **b)
{
    static const struct { uint8_t kind, function; } rows[] = {
        { RLX_NODE_ADD, RLX_KERNEL_MAP_ADD },
        { RLX_NODE_SUB, RLX_KERNEL_MAP_SUB },
        { RLX_NODE_MUL, RLX_KERNEL_MAP_MUL },
        { RLX_NODE_DIV, RLX_KERNEL_MAP_DIV },
    };
    const rlx_prim_call *call = rlx_as_prim_call(value);
    bool exp = call && call->op && call->num_args == 1 && rlx_slice_is(rlx_string_slice(call->op), "exp");
    const rlx_binary *of = rlx_as_binary(exp ? call->args[0] : value);
    if (!of || (exp && of->node.kind != RLX_NODE_SUB))
        return false;
    *a = of->a, *b = of->b;
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (of->node.kind == rows[i].kind) {
            *function = exp ? RLX_KERNEL_MAP_EXP_SUB : rows[i].function;
            return true;
        }
    return false;
}

static bool is_float32(const rlx_plan_access *a) { return rlx_as_buffer(a->buffer)->dtype == RELAX_FLOAT32; }

/* The store, and the loads that its value is made of. */
static bool match_body(rlx_nest_plan *n)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_prim *values[2];
    if (!s || s->predicate || n->accesses.len != 3 ||
        !match_function(s->value, &n->map.function, &values[0], &values[1]))
        return false;
    for (int i = 0; i < 2; i++) {
        const rlx_buffer_load *l = rlx_as_buffer_load(values[i]);
        if (!l || l->predicate)
            return false;
    }
    n->map.a = rlx_plan_find_access(n, values[0]);
    n->map.b = rlx_plan_find_access(n, values[1]);
    return n->map.a < 3 && n->map.b < 3 && n->map.a != n->map.b;
}

static bool is_column(const rlx_nest_plan *n, int loop)
{
    return rlx_plan_is_unit(&n->accesses.data[0], loop) && rlx_plan_is_unit(&n->accesses.data[n->map.a], loop) &&
           !rlx_plan_moves(&n->accesses.data[n->map.b], loop);
}

/* 1 / S[i] or log(S[i]). */
static const rlx_prim *match_single(const rlx_prim *value, uint8_t *function)
{
    const rlx_prim_call *call = rlx_as_prim_call(value);
    const rlx_binary *quotient = value->kind == RLX_NODE_DIV ? rlx_as_binary(value) : NULL;
    const rlx_float_imm *one = quotient ? rlx_as_float_imm(quotient->a) : NULL;
    *function = call ? RLX_KERNEL_MAP_LOG : RLX_KERNEL_MAP_RECIPROCAL;
    if (call)
        return call->op && call->num_args == 1 && rlx_slice_is(rlx_string_slice(call->op), "log") ? call->args[0] : NULL;
    return one && one->value == 1 ? quotient->b : NULL;
}

/* So few rows that they are a tile of something else; more are a strip. */
enum { FEW_ROWS = 1024 };
static bool are_few(const rlx_prim *rows)
{
    const rlx_binary *least = rows->kind == RLX_NODE_MIN ? rlx_as_binary(rows) : NULL;
    int64_t n;
    return (rlx_int_literal(rows, &n) && n <= FEW_ROWS) ||
           (least && ((rlx_int_literal(least->a, &n) && n <= FEW_ROWS) || (rlx_int_literal(least->b, &n) && n <= FEW_ROWS)));
}

/* How many rows, or columns, there are with the loops that theirs goes on in: as those of a picture's rows do where the number is one of its
 * channel. NULL: out of memory. */
static const rlx_prim *widen(rlx_context *ctx, rlx_nest_plan *n, int loop)
{
    const rlx_prim *extent = n->loops[loop].extent;
    for (int i = (int)n->count; i-- > 0 && extent;) {
        rlx_nest_loop *l = &n->loops[i];
        if (i == n->map.row || i == n->map.column || rlx_is_int_value(l->extent, 1) || !rlx_plan_goes_on(ctx, n, i, loop, extent))
            continue;
        extent = rlx_fold_mul(ctx, extent, l->extent);
        l->role = RLX_PLAN_BOX;
    }
    return extent;
}

static bool map_single(rlx_context *ctx, rlx_nest_plan *n)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    if (!s || s->predicate || n->accesses.len != 2)
        return false;
    const rlx_prim *from = match_single(s->value, &n->map.function);
    const rlx_buffer_load *l = from ? rlx_as_buffer_load(from) : NULL;
    if (!l || l->predicate || rlx_plan_find_access(n, from) != 1 || rlx_plan_share_memory(&n->accesses.data[1], &n->accesses.data[0]))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (!n->accesses.data[i].literal || !is_float32(&n->accesses.data[i]))
            return false;
    for (int i = 0; i < (int)n->count; i++) {
        if (!n->loops[i].determined)
            return false;
        if (rlx_plan_is_unit(&n->accesses.data[0], i) && rlx_plan_is_unit(&n->accesses.data[1], i))
            n->map.row = i;
    }
    n->map.a = n->map.b = 1;
    if (n->map.row < 0 || !(n->map.rows = widen(ctx, n, n->map.row)))
        return false;
    n->loops[n->map.row].role = RLX_PLAN_ROW;
    bool is = are_few(n->map.rows);
    for (size_t i = 0; i < n->count; i++)
        is &= n->loops[i].role != RLX_PLAN_LOOP;
    for (size_t i = 0; i < n->count && !is; i++)
        n->loops[i].role = RLX_PLAN_LOOP;
    return is;
}

/* One row alone, and not a short one. */
static bool is_exp_of_row(const rlx_nest_plan *n)
{
    int64_t columns;
    return n->map.function == RLX_KERNEL_MAP_EXP_SUB && n->count == 1 &&
           (!rlx_int_literal(n->loops[0].extent, &columns) || columns > FEW_ROWS);
}

bool rlx_plan_mapping(rlx_context *ctx, rlx_nest_plan *n)
{
    rlx_plan_map *m = &n->map;
    m->row = m->column = -1;
    if (map_single(ctx, n))
        return true;
    m->row = m->column = -1;
    if (!match_body(n))
        return false;
    for (size_t i = 0; i < n->accesses.len; i++)
        if (!n->accesses.data[i].literal || !is_float32(&n->accesses.data[i]))
            return false;
    const rlx_plan_access *b = &n->accesses.data[m->b];
    for (int i = 0; i < (int)n->count; i++) {
        if (!n->loops[i].determined)
            return false;
        if (is_column(n, i))
            m->column = i;
        else if (rlx_plan_moves(b, i))
            m->row = i;
    }
    if ((m->row < 0 && !is_exp_of_row(n)) || m->column < 0 || rlx_plan_share_memory(b, &n->accesses.data[0]))
        return false;
    n->loops[m->column].role = RLX_PLAN_COLUMN;
    m->columns = widen(ctx, n, m->column);
    if (m->row >= 0) {
        n->loops[m->row].role = RLX_PLAN_ROW;
        m->rows = widen(ctx, n, m->row);
    }
    return m->columns && (m->row < 0 || m->rows);
}
