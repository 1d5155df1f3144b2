/* vm_threaded.c: the loop with a jump from each instruction to the next. */
#include "base/compiler.h"
#define RLX_LOOP_NAME rlx_vm_run_threaded
#define RLX_LOOP_THREADED RLX_HAS_LABELS
#define RLX_LOOP_PROFILE 0
#include "vm/vm_loop.h"
