/* operand.c: the operands of an integer or scalar expression. */
#include "tir/tir_int.h"

size_t rlx_tir_num_operands(const rlx_prim *p)
{
    switch (p->kind) {
    case RLX_NODE_NOT: case RLX_NODE_CAST: return 1;
    case RLX_NODE_SELECT: return 3;
    case RLX_NODE_PRIM_LET: return 2;
    case RLX_NODE_PRIM_CALL: return ((const rlx_prim_call *)p)->num_args;
    case RLX_NODE_BUFFER_LOAD: return ((const rlx_buffer_load *)p)->num_indices;
    default: return rlx_as_binary(p) ? 2 : 0;
    }
}

const rlx_prim *rlx_tir_operand(const rlx_prim *p, size_t i)
{
    const rlx_select *s = rlx_as_select(p);
    switch (p->kind) {
    case RLX_NODE_NOT: case RLX_NODE_CAST: return ((const rlx_unary *)p)->a;
    case RLX_NODE_SELECT: return i == 0 ? s->cond : i == 1 ? s->true_value : s->false_value;
    case RLX_NODE_PRIM_LET:
        return i == 0 ? ((const rlx_prim_let *)p)->value : ((const rlx_prim_let *)p)->body;
    case RLX_NODE_PRIM_CALL: return ((const rlx_prim_call *)p)->args[i];
    case RLX_NODE_BUFFER_LOAD: return ((const rlx_buffer_load *)p)->indices[i];
    default: return i == 0 ? ((const rlx_binary *)p)->a : ((const rlx_binary *)p)->b;
    }
}
