/*- normalize_global_var: functions are called what they are linked by.
 *     @R.function(private=True)                @R.function(private=True)
 *     def run(x): ...                    ->    def run_1(x): ...
 *     @R.function                              @R.function
 *     def main(x):                             def run(x):
 *         R.func_attr({"global_symbol": "run"})
 *         gv = cls.run(x)                          gv = cls.run_1(x)
 * needs: any program. keeps: the rest. stops at: two public functions of one link name (WX05). */
#include "transform/module_edit.h"
#include "transform/transform_int.h"

const rlx_module *rlx_pass_normalize_global_var(rlx_pass_run *run, const rlx_module *m)
{
    return rlx_normalize_global_vars(run->ctx, m);
}
