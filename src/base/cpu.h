/* cpu.h: which machine this is, for native code. */
#ifndef RLX_BASE_CPU_H
#define RLX_BASE_CPU_H

#include "base/compiler.h"

#define RLX_CPU_TEXT 96
/* "x86_64-linux": code for it runs on every CPU of that kind unless it asks for more. */
const char *rlx_cpu_target(void);
/* Model and features of this very CPU, NUL-terminated: equal texts mean that code made for one
 * runs on the other. */
void rlx_cpu_features(char out[RLX_CPU_TEXT]);
/* Does it have the instruction behind RLX_CRC32C_8? */
bool rlx_cpu_has_crc32c(void);

#endif
