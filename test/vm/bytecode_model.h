/* bytecode_model.h: another, plain reading of the VM's words: what a random file must give, as
 * far as its instructions are simple. Shares nothing with the machine but the tables of
 * opcodes. */
#ifndef TEST_VM_BYTECODE_MODEL_H
#define TEST_VM_BYTECODE_MODEL_H

#include "random_file.h"

typedef struct model_value {
    enum kind kind;
    int64_t i;
    uint32_t count;
    int64_t dims[4];
    uint32_t fields[4];
} model_value;
enum { MAX_VALUES = 4000, MAX_STEPS = 3000, MAX_DEPTH = 20 };
enum verdict { FINE, FAILS, UNKNOWN };
typedef struct model {
    const relax_executable *e;
    const sample *s;
    model_value values[MAX_VALUES]; /* 0: nothing */
    uint32_t num_values;
    int steps;
} model;

static uint32_t new_value(model *m, model_value v)
{
    if (m->num_values + 1 >= MAX_VALUES)
        m->steps = MAX_STEPS; /* ends as UNKNOWN */
    else
        m->num_values++;
    m->values[m->num_values] = v;
    return m->num_values;
}

static bool in_int64(__int128 v, int64_t *out)
{
    *out = (int64_t)v;
    return v >= INT64_MIN && v <= INT64_MAX;
}

static bool model_binary(uint32_t op, __int128 a, __int128 b, int64_t *out)
{
    bool divides = op >= RLX_EXPR_FLOOR_DIV && op <= RLX_EXPR_TRUNC_MOD;
    if (divides && b == 0)
        return false;
    __int128 q = divides ? a / b : 0,
             floor = divides && q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
    switch (op) {
    case RLX_EXPR_ADD: return in_int64(a + b, out);
    case RLX_EXPR_SUB: return in_int64(a - b, out);
    case RLX_EXPR_MUL: return in_int64(a * b, out);
    case RLX_EXPR_FLOOR_DIV: return in_int64(floor, out);
    case RLX_EXPR_FLOOR_MOD: return in_int64(a - floor * b, out);
    case RLX_EXPR_TRUNC_DIV: return in_int64(q, out);
    case RLX_EXPR_TRUNC_MOD: return in_int64(a - q * b, out);
    case RLX_EXPR_MIN: return in_int64(a < b ? a : b, out);
    case RLX_EXPR_MAX: return in_int64(a > b ? a : b, out);
    case RLX_EXPR_EQ: return in_int64(a == b, out);
    case RLX_EXPR_NE: return in_int64(a != b, out);
    case RLX_EXPR_LT: return in_int64(a < b, out);
    case RLX_EXPR_LE: return in_int64(a <= b, out);
    case RLX_EXPR_GT: return in_int64(a > b, out);
    case RLX_EXPR_GE: return in_int64(a >= b, out);
    case RLX_EXPR_SHL: return b >= 0 && b < 64 && in_int64(a * ((__int128)1 << b), out);
    case RLX_EXPR_SHR: return b >= 0 && b < 64 && in_int64(a >> b, out);
    case RLX_EXPR_BIT_AND: return in_int64((int64_t)a & (int64_t)b, out);
    case RLX_EXPR_BIT_OR: return in_int64((int64_t)a | (int64_t)b, out);
    case RLX_EXPR_BIT_XOR: return in_int64((int64_t)a ^ (int64_t)b, out);
    default: return in_int64(op == RLX_EXPR_AND ? a && b : a || b, out);
    }
}

static bool model_unary(int64_t word, int64_t a, int64_t *out)
{
    *out = a;
    switch ((uint32_t)word & 0xff) {
    case RLX_EXPR_NOT: *out = a == 0; return true;
    case RLX_EXPR_BIT_NOT: *out = -1 - a; return true;
    case RLX_EXPR_ABS: return in_int64(a < 0 ? -(__int128)a : a, out);
    default: return (relax_dtype)(word >> 32) == RELAX_INT64 || (a >= -128 && a <= 127);
    }
}

/* Evaluates from *i on until the value ends that begins there; jumps are followed by recursion
 * over the three shapes. */
static bool model_expr(const int64_t *code, uint32_t end, const int64_t *syms, int64_t *out)
{
    int64_t stack[80];
    int top = 0;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t op = (uint32_t)code[i] & 0xff, to = (uint32_t)((uint64_t)code[i] >> 32);
        if (op == RLX_EXPR_INT)
            stack[top++] = code[i] >> 8;
        else if (op == RLX_EXPR_WIDE)
            stack[top++] = code[++i];
        else if (op == RLX_EXPR_SYMBOL)
            stack[top++] = syms[code[i] >> 8 & 0xffffff];
        else if (op == RLX_EXPR_SELECT)
            continue;
        else if (op == RLX_EXPR_THEN) {
            if (stack[--top] == 0)
                i = to - 1;
        } else if (op == RLX_EXPR_OTHERWISE)
            i = to - 1;
        else if (op == RLX_EXPR_AND_THEN || op == RLX_EXPR_OR_ELSE) {
            if ((stack[top - 1] != 0) == (op == RLX_EXPR_OR_ELSE)) {
                stack[top - 1] = stack[top - 1] != 0;
                i = to - 1;
            }
        } else if (op >= RLX_EXPR_NOT && op <= RLX_EXPR_CAST) {
            if (!model_unary(code[i], stack[top - 1], &stack[top - 1]))
                return false;
        } else {
            top--;
            if (!model_binary(op, stack[top - 1], stack[top], &stack[top - 1]))
                return false;
        }
    }
    *out = stack[0];
    return true;
}

static bool model_int(const model *m, uint32_t x, const int64_t *syms, int64_t *out)
{
    uint32_t kind = x >> 29, i = x & 0x1fffffff;
    if (kind == RLX_OPERAND_SYMBOL)
        *out = syms[i];
    else if (kind == RLX_OPERAND_IMM)
        *out = (int64_t)(i ^ 0x10000000) - 0x10000000;
    else
        return model_expr(m->e->descs + i + 2, (uint32_t)m->e->descs[i] - 2, syms, out);
    return true;
}

static uint32_t model_const(model *m, uint32_t number)
{
    const relax_value *v = &m->e->constants[number];
    model_value out = { ANY, (int64_t)(uintptr_t)v->v.p, 0, { 0 }, { 0 } };
    const int64_t *dims;
    size_t ndim;
    if (v->type_index == RELAX_VALUE_INT || v->type_index == RELAX_VALUE_BOOL)
        out = (model_value){
            v->type_index == RELAX_VALUE_INT ? INT : BOOL, v->v.i, 0, { 0 }, { 0 }
        };
    if (relax_value_get_shape(v, &dims, &ndim) == RELAX_OK) {
        out = (model_value){ SHAPE, 0, (uint32_t)ndim, { 0 }, { 0 } };
        memcpy(out.dims, dims, ndim * sizeof *dims);
    }
    if (number == m->s->consts[1]) /* a tensor, true */
        out = (model_value){ ANY, 1, 1, { 0 }, { 0 } };
    return new_value(m, out);
}

static bool model_arg(model *m, uint32_t x, const uint32_t *regs, const int64_t *syms,
                      uint32_t *out)
{
    model_value v = { INT, 0, 0, { 0 }, { 0 } };
    if (x >> 29 == RLX_OPERAND_REGISTER)
        *out = regs[x];
    else if (x >> 29 == RLX_OPERAND_CONST)
        *out = model_const(m, x & 0x1fffffff);
    else if (!model_int(m, x, syms, &v.i))
        return false;
    else
        *out = new_value(m, v);
    return true;
}

static bool model_args(model *m, const uint32_t *list, uint32_t count, const uint32_t *regs,
                       const int64_t *syms, uint32_t *out)
{
    for (uint32_t i = 0; i < count; i++)
        if (!model_arg(m, list[i], regs, syms, &out[i]))
            return false;
    return true;
}

static enum verdict model_builtin(model *m, uint32_t number, const uint32_t *args, uint32_t count,
                                  uint32_t *out)
{
    const model_value *first = count ? &m->values[args[0]] : NULL;
    model_value v = { ANY, 0, 0, { 0 }, { 0 } };
    switch (number - m->s->first_builtin) {
    case 7: break;
    case 11:
        if (first->kind != TUPLE)
            return FAILS;
        v = (model_value){ INT, first->count, 0, { 0 }, { 0 } };
        break;
    case 12:
        v = (model_value){ TUPLE, 0, count, { 0 }, { 0 } };
        memcpy(v.fields, args, count * sizeof *args);
        break;
    default: return UNKNOWN;
    }
    *out = new_value(m, v);
    return FINE;
}

static enum verdict model_match(model *m, uint32_t desc, const model_value *v, int64_t *syms)
{
    if (desc == m->s->descs[0])
        return FINE;
    if (desc != m->s->descs[1])
        return UNKNOWN;
    if (v->kind != SHAPE || v->count != 2 || v->dims[0] < 0 || v->dims[1] < 0)
        return FAILS;
    syms[1] = v->dims[0];
    syms[2] = v->dims[1];
    return FINE;
}

static enum verdict model_call(model *m, uint32_t function, const uint32_t *args, int depth,
                               uint32_t *out)
{
    const rlx_file_function *f = &m->e->functions[function];
    const uint32_t *w = m->e->code + f->code;
    uint32_t regs[REGS] = { args[0], args[1] }, got[8];
    int64_t syms[SYMS] = { 0 };
    if (depth > MAX_DEPTH)
        return UNKNOWN;
    while (m->steps++ < MAX_STEPS) {
        uint32_t op = w[0] & 0xff, count = w[0] >> 16;
        int32_t next = (int32_t)(1 + strcspn(rlx_opcode_info(op)->layout, "*") + count);
        model_value v = { INT, 0, count, { 0 }, { 0 } };
        enum verdict verdict = FINE;
        if (strchr(rlx_opcode_info(op)->layout, '*'))
            next--; /* the letter that the star repeats */
        switch (op) {
        case RLX_OP_MOVE: regs[w[1]] = regs[w[2]]; break;
        case RLX_OP_TAKE:
            regs[w[1]] = regs[w[2]];
            break;
        case RLX_OP_KILL: break;
        case RLX_OP_CONST: regs[w[1]] = model_const(m, w[2]); break;
        case RLX_OP_PRIM:
            if (!model_int(m, w[3], syms, &v.i))
                return FAILS;
            v.kind = w[2] == (uint32_t)RELAX_BOOL ? BOOL : INT;
            v.i = v.kind == BOOL ? v.i != 0 : v.i;
            regs[w[1]] = new_value(m, v);
            break;
        case RLX_OP_SHAPE:
            v.kind = SHAPE;
            for (uint32_t i = 0; i < count; i++)
                if (!model_int(m, w[2 + i], syms, &v.dims[i]))
                    return FAILS;
            regs[w[1]] = new_value(m, v);
            break;
        case RLX_OP_SYMBOL: {
            int64_t value;
            if (!model_int(m, w[2], syms, &value))
                return FAILS;
            syms[w[1]] = value;
            break;
        }
        case RLX_OP_TUPLE:
            v.kind = TUPLE;
            if (!model_args(m, w + 2, count, regs, syms, v.fields))
                return FAILS;
            regs[w[1]] = new_value(m, v);
            break;
        case RLX_OP_GET: {
            const model_value *t = &m->values[regs[w[2]]];
            if (t->kind != TUPLE || w[3] >= t->count)
                return FAILS;
            regs[w[1]] = t->fields[w[3]];
            break;
        }
        case RLX_OP_MATCH: verdict = model_match(m, w[2], &m->values[regs[w[1]]], syms); break;
        case RLX_OP_BRANCH: {
            const model_value *c = &m->values[regs[w[1]]];
            if (c->kind != BOOL && !(c->kind == ANY && c->count))
                return FAILS;
            next = c->i ? 3 : (int32_t)w[2];
            break;
        }
        case RLX_OP_JUMP: next = (int32_t)w[1]; break;
        case RLX_OP_CALL_BUILTIN:
            if (!model_args(m, w + 3, count, regs, syms, got))
                return FAILS;
            verdict = model_builtin(m, w[2], got, count, &got[7]);
            if (verdict == FINE && w[1] != RLX_NO_INDEX)
                regs[w[1]] = got[7];
            break;
        case RLX_OP_CALL:
            if (!model_args(m, w + 4, count, regs, syms, got))
                return FAILS;
            verdict = model_call(m, w[2], got, depth + 1, &got[7]);
            if (verdict == FINE && w[1] != RLX_NO_INDEX)
                regs[w[1]] = got[7];
            break;
        case RLX_OP_TAIL_CALL:
            if (!model_args(m, w + 3, count, regs, syms, got))
                return FAILS;
            return model_call(m, w[1], got, depth + 1, out);
        case RLX_OP_RETURN:
            *out = regs[w[1]];
            return FINE;
        default: return UNKNOWN;
        }
        if (verdict != FINE)
            return verdict;
        w += next;
    }
    return UNKNOWN;
}

static bool same(const model *m, uint32_t want, const relax_value *have, int depth)
{
    const model_value *v = &m->values[want];
    const int64_t *dims;
    size_t ndim;
    relax_value field;
    if (depth > 6)
        return true;
    switch (v->kind) {
    case INT: return relax_value_kind(have) == RELAX_VALUE_KIND_INT && have->v.i == v->i;
    case BOOL: return relax_value_kind(have) == RELAX_VALUE_KIND_BOOL && have->v.i == v->i;
    case SHAPE:
        return relax_value_get_shape(have, &dims, &ndim) == RELAX_OK && ndim == v->count &&
               memcmp(dims, v->dims, ndim * sizeof *dims) == 0;
    case TUPLE:
        if (relax_value_tuple_size(have) != v->count)
            return false;
        for (uint32_t i = 0; i < v->count; i++)
            if (relax_value_tuple_get(have, i, &field) != RELAX_OK ||
                !same(m, v->fields[i], &field, depth + 1))
                return false;
        return true;
    default: return true;
    }
}

#endif
