/*- attach_global_symbol: every function can be called from outside.
 *     @T.prim_func(private=True)          @T.prim_func
 *     def add1(...)                  ->   def add1(...)            global_symbol "add1"
 * The module attribute system_lib_prefix goes in front of the names of PrimFuncs, mentions
 * follow. needs: any program. keeps: the rest. */
#include "transform/module_edit.h"
#include "transform/transform_int.h"

const rlx_module *rlx_pass_attach_global_symbol(rlx_pass_run *run, const rlx_module *m)
{
    return rlx_attach_global_symbols(run->ctx, m);
}
