/* schedule_tir: the loops of TIR functions in the order in which they are fast: contractions in tiles, their operands
 * packed (schedule/contract.c). The numbers stay.
 * needs: any program. keeps: the rest. */
#include "schedule/schedule.h"
#include "transform/transform_int.h"

const rlx_module *rlx_pass_schedule_tir(rlx_pass_run *run, const rlx_module *m)
{
    const rlx_node **functions = rlx_new(run->ctx, (m->num_functions + 1) * sizeof *functions);
    if (!functions)
        return NULL;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_prim_func *f = rlx_as_prim_func(m->functions[i]);
        functions[i] = f ? (const rlx_node *)rlx_schedule(run->ctx, f) : m->functions[i];
        if (!functions[i])
            return NULL;
    }
    return rlx_module_with(run->ctx, m, functions);
}
