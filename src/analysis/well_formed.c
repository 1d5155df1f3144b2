/* well_formed.c: the criteria of language section 4, as a table. */
#include "analysis/analysis.h"

bool rlx_well_formed(rlx_context *ctx, const rlx_module *m, enum rlx_stage stage)
{
    size_t errors = rlx_error_count(ctx);
    for (size_t i = 0; stage != RLX_STAGE_ANY && i < m->num_functions; i++)
        if (rlx_as_function(m->functions[i]))
            rlx_is_normal(ctx, (const rlx_function *)m->functions[i], true);
    return rlx_error_count(ctx) == errors;
}
