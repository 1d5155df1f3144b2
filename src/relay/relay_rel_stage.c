/* relay_rel_stage.c: relations of operators that later stages of TVM's compiler bring in: texts that hold them are
 * typed, as far as that is said without their runtime. */
/* built for size */
#include "relay/relay_rel.h"

/* call_lowered(f, (x, y)): a call of f. */
REL(CallLowered)
{
    rlx_relay_type *f = rlx_relay_find(g->types[0]);
    if (f->kind == RLX_RELAY_TYPE_HOLE)
        return RLX_RELAY_UNDECIDED;
    if (f->kind != RLX_RELAY_TYPE_FUNC || f->func.num_params)
        return rlx_relay_rel_fail(g, "the first argument is a function without type parameters");
    rlx_relay_type *args = rlx_relay_tuple(g->solver, f->func.args, f->func.num_args);
    if (!args || !rlx_relay_unify(g->solver, g->types[1], args, g->place, "the arguments and the parameters"))
        return RLX_RELAY_FAILS;
    return rlx_relay_rel_assign(g, 2, f->func.result);
}

/* memory.kill(x): nothing comes back. */
REL(Kill)
{
    rlx_relay_type *unit = rlx_relay_tuple(g->solver, NULL, 0);
    return unit ? rlx_relay_rel_assign(g, 1, unit) : RLX_RELAY_FAILS;
}

/* vm.reshape_tensor(x, shape, newshape=[...]) */
REL(ReshapeTensor)
{
    outcome why;
    int64_t sizes[2 * RLX_RELAY_MAX_RANK];
    rlx_relay_dim dims[2 * RLX_RELAY_MAX_RANK];
    int n;
    const rlx_relay_type *x = rlx_relay_rel_tensor(g, 0, &why);
    if (!x)
        return why;
    if (!rlx_relay_rel_ints(g, "newshape", sizes, &n))
        return RLX_RELAY_FAILS;
    if (n < 0)
        return rlx_relay_rel_fail(g, "newshape is missing");
    for (int i = 0; i < n; i++)
        dims[i] = sizes[i] < 0 ? rlx_relay_any() : rlx_relay_int(sizes[i]);
    return rlx_relay_rel_give(g, rlx_relay_rel_out(g), dims, (size_t)n, x->tensor.dtype);
}
