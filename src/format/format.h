/*- format: what the compile side and the run side agree on. Data and small helpers, no policy.
 *
 *   value_tags.h   type numbers of cells, numbers of our own object kinds
 *   object_layout.h  boxed values in memory
 *   opcode.h       VM instructions (table: opcode.def) and their operands
 *   rlx_file.h     the .rlx file: header, sections, records
 *   fault.h        a failure on the run side;  codes.h: every diagnostic code
 *
 * The kernel bytecode has its own headers here (kernel_format.h, kernel_opcode.def).
 */
#ifndef RLX_FORMAT_H
#define RLX_FORMAT_H

#include "format/codes.h"
#include "format/fault.h"
#include "format/value_tags.h"
#include "format/object_layout.h"
#include "format/opcode.h"
#include "format/rlx_file.h"

#endif
