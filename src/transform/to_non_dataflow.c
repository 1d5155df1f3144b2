/*- to_non_dataflow: dataflow blocks become ordinary ones and join their neighbours.
 *     with R.dataflow():        ->   lv = exp(x)
 *         lv = exp(x)                gv = sin(lv)
 *         gv = sin(lv)
 *         R.output(gv)
 * needs: normal form. keeps: order, names, struct info. */
#include "transform/transform_int.h"

const rlx_module *rlx_pass_to_non_dataflow(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    rlx_seq_init(&p, run->ctx, m, NULL);
    p.plain_blocks = true;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    return out;
}
