/* reader_tir.c: PrimFuncs. */
#include "script/reader.h"

bool rlx_tir_dtype_name(rlx_slice name, rlx_dtype *out)
{
    if (rlx_slice_is(name, "boolean"))
        return *out = RELAX_BOOL, true;
    if (rlx_slice_is(name, "var") || rlx_slice_is(name, "int") || rlx_slice_is(name, "float") || rlx_slice_is(name, "uint"))
        return false;
    return rlx_dtype_parse(name, out);
}
bool rlx_call_tir(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out) { return rlx_unknown_function(r, RLX_SPACE_T, path, call->base); }
bool rlx_call_sibling(rlx_reader *r, const rlx_expr *callee, const rlx_ast *call, rlx_val *out) { return rlx_read_error(r, RLX_PA16, call, "not supported"); }
bool rlx_buffer_attr(rlx_reader *r, const rlx_buffer *b, rlx_word *name, const rlx_ast *at, rlx_val *out) { return rlx_read_error(r, RLX_PA16, at, "not supported"); }
bool rlx_buffer_method(rlx_reader *r, const rlx_val *method, const rlx_ast *call, rlx_val *out) { return rlx_read_error(r, RLX_PA16, call, "not supported"); }
bool rlx_buffer_index(rlx_reader *r, const rlx_buffer *b, const rlx_ast *index, bool vector, rlx_val *out) { return rlx_read_error(r, RLX_PA16, index, "not supported"); }
bool rlx_tir_header(rlx_reader *r, const rlx_line *def, rlx_pending *f) { return rlx_read_error_at(r, RLX_PA16, def->begin, def->end, "PrimFuncs are not supported"); }
bool rlx_tir_body(rlx_reader *r, rlx_pending *f) { return false; }
