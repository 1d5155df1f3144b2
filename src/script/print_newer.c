/*- print_newer.c: PrimFuncs as TVM 0.27 calls them. R.call_tir hands over all inputs, integers too,
 * in front of the outputs there:
 *
 *     def f(x, y, n):                            def f(x, n, y):
 *     R.call_tir(f, (x,), out, tir_vars=[n])  -> R.call_tir(f, (x, n), out)
 */
#include "script/print_int.h"

/* Outputs and integers of all calls of a function, packed; ALL_KINDS: calls that differ. */
#define ALL_KINDS UINTPTR_MAX

static uintptr_t shape_of_call(const rlx_call *c)
{
    const rlx_shape_expr *ints = c->num_args > 2 ? rlx_as_shape_expr(c->args[2]) : NULL;
    const rlx_tuple_sinfo *several =
        c->num_sinfo_args ? rlx_as_tuple_sinfo(c->sinfo_args[0]) : NULL;
    size_t outputs = several ? several->num_fields : 1;
    if (!ints || !ints->num_values || outputs > UINT16_MAX || ints->num_values > UINT16_MAX)
        return ALL_KINDS;
    return outputs << 16 | ints->num_values;
}

static enum rlx_step look_at_call(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    rlx_printer *p = user;
    const rlx_call *c = rlx_as_call(n);
    const rlx_prim_call *t = rlx_as_prim_call(n);
    const rlx_node *callee = t ? t->callee : c ? c->op : NULL;
    bool kept = true;
    if (callee && callee->kind == RLX_NODE_GLOBAL_VAR)
        kept = rlx_ptrmap_put(&p->called, callee, ALL_KINDS);
    for (size_t i = 0; c && i < c->num_args && kept; i++) {
        uintptr_t have = 0, now = ALL_KINDS;
        if (!c->args[i] || c->args[i]->kind != RLX_NODE_GLOBAL_VAR)
            continue;
        if (i == 0 && (rlx_is_op(c->op, RLX_OP_ID_CALL_TIR) ||
                       rlx_is_op(c->op, RLX_OP_ID_CALL_TIR_WITH_GRAD)))
            now = shape_of_call(c);
        if (rlx_ptrmap_find(&p->called, c->args[i], &have) && have != now)
            now = ALL_KINDS;
        kept = rlx_ptrmap_put(&p->called, c->args[i], now);
    }
    if (!kept)
        rlx_print_fail(p);
    return kept ? RLX_STEP_ON : RLX_STEP_STOP;
}

void rlx_find_calls(rlx_printer *p, const rlx_module *m)
{
    bool lost = false;
    rlx_walker w = { .enter = look_at_call, .user = p, .unique = true };
    if (p->newer && (rlx_walk(p->m, &m->node, &w, &lost), lost))
        rlx_print_fail(p);
}

static bool are_integers(const rlx_prim_func *f, size_t from)
{
    for (size_t i = from; i < f->num_params; i++)
        if ((i < f->num_buffers && f->buffers[i]) || rlx_as_prim_var(f->params[i])->scope ||
            !rlx_dtype_is_int(rlx_prim_dtype(f->params[i])))
            return false;
    return true;
}

/* from's entries, the last `ints` of them in front of the `outputs` before them. */
static const rlx_node *const *moved(rlx_printer *p, const rlx_node *const *from, size_t have,
                                    size_t count, size_t outputs, size_t ints)
{
    const rlx_node **to = rlx_region_array(&p->region, count + 1, sizeof *to);
    size_t inputs = count - outputs - ints;
    for (size_t i = 0; to && i < count; i++) {
        size_t at = i < inputs ? i : i < inputs + ints ? i + outputs : i - ints;
        to[i] = at < have ? from[at] : NULL;
    }
    return to;
}

const rlx_node *rlx_newer_function(rlx_printer *p, const rlx_node *gvar, const rlx_node *function)
{
    const rlx_prim_func *f = rlx_as_prim_func(function);
    uintptr_t shape = ALL_KINDS;
    if (!f || !p->newer || !rlx_ptrmap_find(&p->called, gvar, &shape) || shape == ALL_KINDS)
        return function;
    size_t outputs = shape >> 16, ints = shape & UINT16_MAX;
    if (outputs + ints > f->num_params || !are_integers(f, f->num_params - ints))
        return function;
    rlx_prim_func *copy = rlx_region_array(&p->region, 1, sizeof *copy);
    if (!copy)
        return rlx_print_fail(p), function;
    *copy = *f;
    copy->params = moved(p, f->params, f->num_params, f->num_params, outputs, ints);
    copy->buffers = moved(p, f->buffers, f->num_buffers, f->num_params, outputs, ints);
    copy->num_buffers = f->num_params;
    if (!copy->params || !copy->buffers)
        return rlx_print_fail(p), function;
    return &copy->node;
}
