/* vmgen_operand.c: leaves and numbers as operands of instructions. */
#include "codegen/vmgen_int.h"

enum { MAX_NESTING = 32 }; /* of tuples written inside tuples; normal form has no more than 16 */

/* ---- numbers -------------------------------------------------------------------------------- */

static bool expression(rlx_vmgen_fn *n, const rlx_prim *p, uint32_t *offset)
{
    uintptr_t known;
    rlx_encoder e;
    if (rlx_ptrmap_find(&n->exprs, p, &known)) {
        *offset = (uint32_t)known - 1;
        return true;
    }
    rlx_vmgen_encoder(n, &e);
    if (!rlx_prim_encode(&e, p, offset))
        return rlx_vmgen_encode_failed(n, &e);
    return rlx_ptrmap_put(&n->exprs, p, (uintptr_t)*offset + 1);
}

/* A long size is computed once, from those that have been: a sum that grows by one operand at a
 * time costs one addition each. */
enum { LONG_PARTS = 16 };

static bool computed(rlx_vmgen_fn *n, const rlx_prim *p, uint32_t *operand)
{
    rlx_memory *m = &n->ctx->memory;
    rlx_encoder e;
    uintptr_t slot;
    uint32_t offset;
    if (!rlx_ptrmap_find(&n->computed, p, &slot)) {
        rlx_vmgen_encoder(n, &e);
        e.computed = &n->computed;
        if (!rlx_prim_encode(&e, p, &offset))
            return rlx_vmgen_encode_failed(n, &e);
        slot = ++n->num_syms;
        n->out->too_large |= slot > RLX_MAX_SYMBOLS;
        RLX_EMIT(n->out, RLX_OP_SYMBOL, (uint32_t)slot - 1,
                 rlx_operand(RLX_OPERAND_EXPR, offset));
        if (!rlx_ptrmap_put(&n->computed, p, slot) || !rlx_vec_push(m, &n->computed_list, p))
            return false;
    }
    *operand = rlx_operand(RLX_OPERAND_SYMBOL, (uint32_t)slot - 1);
    return rlx_file_writer_ok(n->out) || rlx_vmgen_failed(n->w, n->place);
}

static bool fits_imm(int64_t v) { return v >= -((int64_t)1 << 28) && v < (int64_t)1 << 28; }

bool rlx_vmgen_int(rlx_vmgen_fn *n, const rlx_prim *p, uint32_t *operand)
{
    const rlx_prim_var *v = rlx_as_prim_var(p);
    uint32_t offset;
    int64_t value;
    uintptr_t slot;
    if (!p)
        return false;
    if (rlx_int_literal(p, &value) && fits_imm(value)) {
        *operand = rlx_operand_imm((int32_t)value);
        return true;
    }
    if (v && rlx_ptrmap_has(&n->bound, v) && rlx_ptrmap_find(&n->slots, v, &slot)) {
        *operand = rlx_operand(RLX_OPERAND_SYMBOL, (uint32_t)slot - 1);
        return true;
    }
    if (rlx_prim_parts(p) > LONG_PARTS)
        return computed(n, p, operand);
    if (!expression(n, p, &offset))
        return false;
    *operand = rlx_operand(RLX_OPERAND_EXPR, offset);
    return true;
}

static bool push_operand(rlx_vmgen_fn *n, uint32_t operand)
{
    return rlx_vec_push(&n->ctx->memory, &n->args, operand);
}

bool rlx_vmgen_push_int(rlx_vmgen_fn *n, const rlx_prim *p)
{
    uint32_t x;
    return rlx_vmgen_int(n, p, &x) && push_operand(n, x);
}

/* ---- leaves --------------------------------------------------------------------------------- */

static bool load(rlx_vmgen_fn *n, const rlx_expr *leaf, uint32_t reg, int depth);

static bool refuse(rlx_vmgen_fn *n, const rlx_expr *e)
{
    const rlx_var *v = rlx_as_var(e);
    if (v)
        rlx_error(n->ctx, RLX_CG02, n->place, "variable %s is not bound here",
                  rlx_show(n->ctx, e));
    else
        rlx_error(n->ctx, RLX_CG02, n->place, "%s cannot be compiled as an operand",
                  e ? rlx_kinds[e->kind].name : "nothing");
    return false;
}

static bool constant_operand(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t *operand)
{
    uint32_t number;
    if (!rlx_vmgen_constant(n->w, e, &number))
        return false;
    *operand = rlx_operand(RLX_OPERAND_CONST, number);
    return true;
}

static bool through_register(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t *operand, int depth)
{
    bool boxed = !rlx_as_prim_value(e) && !rlx_vmgen_is_constant(e);
    uint32_t reg;
    if (!rlx_vmgen_temp_register(n, boxed, &reg) || !load(n, e, reg, depth))
        return false;
    *operand = rlx_operand(RLX_OPERAND_REGISTER, reg);
    return true;
}

static bool operand_of(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t *operand, int depth)
{
    const rlx_vmgen_value *v = rlx_vmgen_value_of(n, e);
    if (v && !v->leaf && v->reg != RLX_NO_INDEX) {
        *operand = rlx_operand(RLX_OPERAND_REGISTER, v->reg);
        return true;
    }
    if (v && v->leaf)
        e = v->leaf;
    const rlx_prim_value *p = rlx_as_prim_value(e);
    if (p && rlx_dtype_is_int(rlx_prim_dtype(p->value))) /* cheaper than a constant */
        return rlx_vmgen_int(n, p->value, operand);
    if (rlx_vmgen_is_constant(e))
        return constant_operand(n, e, operand);
    if (p || rlx_as_shape_expr(e) || rlx_as_tuple(e))
        return through_register(n, e, operand, depth);
    return refuse(n, e);
}

bool rlx_vmgen_operand(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t *operand)
{
    return operand_of(n, e, operand, MAX_NESTING);
}

bool rlx_vmgen_push_arg(rlx_vmgen_fn *n, const rlx_expr *e)
{
    uint32_t x;
    return rlx_vmgen_operand(n, e, &x) && push_operand(n, x);
}

bool rlx_vmgen_register(rlx_vmgen_fn *n, const rlx_expr *leaf, uint32_t *reg)
{
    const rlx_vmgen_value *v = rlx_vmgen_value_of(n, leaf);
    if (v && v->reg != RLX_NO_INDEX) {
        *reg = v->reg;
        return true;
    }
    return rlx_vmgen_temp_register(n, rlx_as_shape_expr(leaf) || rlx_as_tuple(leaf), reg) &&
           rlx_vmgen_load(n, leaf, *reg);
}

/* ---- leaves into registers ------------------------------------------------------------------ */

static bool wrote(rlx_vmgen_fn *n)
{
    return rlx_file_writer_ok(n->out) || rlx_vmgen_failed(n->w, n->place);
}

static bool load_constant(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t reg)
{
    uint32_t number;
    if (!rlx_vmgen_constant(n->w, e, &number))
        return false;
    RLX_EMIT(n->out, RLX_OP_CONST, reg, number);
    return wrote(n);
}

static bool load_scalar(rlx_vmgen_fn *n, const rlx_prim *p, uint32_t reg)
{
    rlx_dtype dtype = rlx_prim_dtype(p);
    uint32_t x;
    if (!rlx_dtype_is_bool(dtype) && !rlx_dtype_is_int(dtype)) {
        char text[RLX_DTYPE_TEXT];
        rlx_dtype_name(dtype, text);
        rlx_error(n->ctx, RLX_CG02, n->place,
                  "an expression of dtype %s cannot be computed outside kernels", text);
        return false;
    }
    if (!rlx_vmgen_int(n, p, &x))
        return false;
    RLX_EMIT(n->out, RLX_OP_PRIM, reg, (uint32_t)dtype, x);
    return wrote(n);
}

static bool load_shape(rlx_vmgen_fn *n, const rlx_shape_expr *s, uint32_t reg)
{
    size_t first = n->args.len;
    for (size_t i = 0; i < s->num_values; i++)
        if (!rlx_vmgen_push_int(n, s->values[i]))
            return false;
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_SHAPE, first, reg);
}

static bool load_tuple(rlx_vmgen_fn *n, const rlx_tuple *t, uint32_t reg, int depth)
{
    size_t first = n->args.len;
    if (depth <= 0) {
        rlx_error(n->ctx, RLX_CG08, n->place, "tuples are nested deeper than %d",
                  (int)MAX_NESTING);
        return false;
    }
    for (size_t i = 0; i < t->num_fields; i++) {
        uint32_t x;
        if (!operand_of(n, t->fields[i], &x, depth - 1) || !push_operand(n, x))
            return false;
    }
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_TUPLE, first, reg);
}

static bool load(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t reg, int depth)
{
    const rlx_vmgen_value *v = rlx_vmgen_value_of(n, e);
    if (v && v->leaf)
        e = v->leaf;
    if (v && !v->leaf && v->reg != RLX_NO_INDEX) {
        RLX_EMIT(n->out, RLX_OP_MOVE, reg, v->reg);
        return wrote(n);
    }
    if (rlx_vmgen_is_constant(e))
        return load_constant(n, e, reg);
    if (rlx_as_prim_value(e))
        return load_scalar(n, ((const rlx_prim_value *)e)->value, reg);
    if (rlx_as_shape_expr(e))
        return load_shape(n, (const rlx_shape_expr *)e, reg);
    if (rlx_as_tuple(e))
        return load_tuple(n, (const rlx_tuple *)e, reg, depth);
    return refuse(n, e);
}

bool rlx_vmgen_load(rlx_vmgen_fn *n, const rlx_expr *leaf, uint32_t reg)
{
    return load(n, leaf, reg, MAX_NESTING);
}
