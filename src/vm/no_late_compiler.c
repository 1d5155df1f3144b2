/* no_late_compiler.c: in the run-only library alone, which has none; api/api_late.c in the full one. */
#include "vm/vm.h"

relax_late_fn rlx_late_compiler(void)
{
    return NULL;
}
