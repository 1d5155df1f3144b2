/*- codes.h: the diagnostic codes. The rows are in codes.def: look there for the meaning of each.
 *
 *   PA       text                     VD       devices
 *   NF       normal form              CG       code generation
 *   WF, WX   well-formedness          RT       run time
 *   TY       structural information   LD       loading
 *   PU       purity                   IO, NP   files, arrays
 *   OP       misuse of the API        IN       mistakes of the library
 *   ON       models in ONNX's format
 */
#ifndef RLX_FORMAT_CODES_H
#define RLX_FORMAT_CODES_H

#include "base/base.h"

/* RLX_WF03 and so on. The numbers are not stable and go into no file; the names are. */
enum rlx_code_id {
    RLX_CODE_NONE = 0,
#define CODE(id, name, severity, status, title, rule, bad, cure) RLX_##id,
#include "format/codes.def"
#undef CODE
    RLX_CODE_COUNT
};

/* The row of a code; NULL for RLX_CODE_NONE and numbers that are no code. */
const rlx_code *rlx_code_row(enum rlx_code_id id);
/* By name ("WF03", small letters too); NULL: no such code. */
const rlx_code *rlx_code_find(rlx_slice name);
/* The number of a row; RLX_CODE_NONE for NULL and rows that are not of this table. */
enum rlx_code_id rlx_code_id_of(const rlx_code *row);

#endif
