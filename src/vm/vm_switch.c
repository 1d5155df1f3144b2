/* vm_switch.c: the loop with one switch, for compilers without labels as values. */
/* built for size */
#define RLX_LOOP_NAME rlx_vm_run_switch
#define RLX_LOOP_THREADED 0
#define RLX_LOOP_PROFILE 0
#include "vm/vm_loop.h"
