/* no_late_compiler.c: in librelax-runtime.a, which has no compiler, in place of api/api_late.c. A static
 * link that takes script, api/text.c and api/api_late.c out of librelax.a finds it there, too. */
#include "vm/vm.h"

const struct rlx_late_text rlx_late_text = { NULL, NULL };
