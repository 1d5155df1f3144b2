/* eval: what a PrimFunc means, step by step. Everything else that runs PrimFuncs is compared
 * with this.
 *
 * Values are int64 (base/dtype.h says how) or double; what an operator gives is in
 * arith/scalar.c. */
#include "tir/tir_int.h"
#include "format/kernel_format.h"
#include "format/kernel_math.h"

#include <inttypes.h>

#define MAX_DEPTH 256 /* statements inside each other */

typedef rlx_scalar value;

/* Memory seen through a buffer: element (i, j) is at offset + i * strides[0] + j * strides[1]. */
typedef struct storage {
    unsigned char *data;
    int64_t count;                 /* elements of the memory */
    enum rlx_kernel_elem elem;
    int32_t ndim;
    int64_t offset, shape[RLX_TIR_MAX_DIMS], strides[RLX_TIR_MAX_DIMS];
    bool is_const;
} storage;

typedef struct temporary { void *data; size_t size; } temporary;
typedef struct step { const rlx_prim *p; uint32_t at, base, chosen; } step;

typedef struct machine {
    rlx_memory *memory;
    rlx_fault *why;
    rlx_ptrmap vars;               /* variable -> index + 1 in values */
    RLX_VEC(value) values;
    rlx_ptrmap buffers;            /* buffer or data pointer -> index + 1 in storages */
    RLX_VEC(storage) storages;
    RLX_VEC(temporary) temporaries;
    RLX_VEC(step) steps;           /* expressions at work */
    RLX_VEC(value) operands;
    uint64_t steps_left;
    bool counts_steps;
    size_t bytes_left;
    int depth;
} machine;

/* Its memory is the caller's, so this is a fault like others. */
static bool no_memory(machine *m)
{
    return rlx_fail(m->why, RLX_RT10, "out of memory");
}

static bool tick(machine *m)
{
    if (!m->counts_steps || m->steps_left--)
        return true;
    return rlx_fail(m->why, RLX_RT12, "step limit reached");
}

/* ---- scalars -------------------------------------------------------------------------------- */

static enum rlx_kernel_elem elem(rlx_dtype t)
{
    return rlx_kernel_elem_of(t);
}

static bool is_float(enum rlx_kernel_elem e)
{
    return e < RLX_ELEM_COUNT && rlx_dtype_is_float(rlx_kernel_elems[e].dtype);
}

static value int_value(int64_t v)
{
    return (value){ .i = v };
}

static value float_value(rlx_dtype t, double v)
{
    return (value){ .f = rlx_dtype_round(t, v) };
}

static bool unsupported(machine *m, const char *what)
{
    return rlx_fail(m->why, RLX_RT19, "%s cannot be evaluated", what);
}

static bool succeeds(machine *m, enum rlx_scalar_trouble trouble, const char *what)
{
    switch (trouble) {
    case RLX_SCALAR_FINE: return true;
    case RLX_SCALAR_DIVISION: return rlx_fail(m->why, RLX_RT14, "integer division by zero");
    case RLX_SCALAR_SHIFT: return rlx_fail(m->why, RLX_RT14, "negative shift count");
    default: return unsupported(m, what);
    }
}

static bool binary(machine *m, const rlx_binary *b, value x, value y, value *out)
{
    rlx_dtype t = rlx_prim_dtype(b->a);
    if (elem(t) == RLX_ELEM_COUNT || t != rlx_prim_dtype(b->b))
        return unsupported(m, "an operator on these dtypes");
    return succeeds(m, rlx_scalar_binary((enum rlx_node_kind)b->node.kind, t, x, y, out),
                    "floor division of floats");
}

/* ---- intrinsics ----------------------------------------------------------------------------- */

/* A float intrinsic in the C of its row, computed in T; a test gives 0 or 1. */
#define ONE(T, expr) { T a = (T)v[0].f; return expr; }
#define TWO(T, expr) { T a = (T)v[0].f, b = (T)v[1].f; return expr; }
#define THREE(T, expr) { T a = (T)v[0].f, b = (T)v[1].f, c = (T)v[2].f; return expr; }
#define SCALED(T, expr) { T a = (T)v[0].f; int64_t b = v[1].i; return expr; }
#define EVAL_FLOAT1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_WIDE1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_WIDEST1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_WIDE_LANES1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_TURN1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_ROW1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_LANES1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_TEST1(name, T, expr) case RLX_TIR_##name: ONE(T, expr)
#define EVAL_FLOAT2(name, T, expr) case RLX_TIR_##name: TWO(T, expr)
#define EVAL_LANES2(name, T, expr) case RLX_TIR_##name: TWO(T, expr)
#define EVAL_WIDE_LANES2(name, T, expr) case RLX_TIR_##name: TWO(T, expr)
#define EVAL_FLOAT3(name, T, expr) case RLX_TIR_##name: THREE(T, expr)
#define EVAL_LDEXP(name, T, expr) case RLX_TIR_##name: SCALED(T, expr)

static float float32_value(enum rlx_tir_intrinsic id, const value *v)
{
    switch (id) {
#define SCALAR_FLOAT(name, kind, rule, f32, f64) EVAL_##kind(name, float, f32)
#define SCALAR_SYNONYM(name, of, kind, rule)
#define SCALAR_OTHER(name, kind, rule)
#include "format/scalar_op.def"
    default: return 0;
    }
}

static double float64_value(enum rlx_tir_intrinsic id, const value *v)
{
    switch (id) {
#define SCALAR_FLOAT(name, kind, rule, f32, f64) EVAL_##kind(name, double, f64)
#define SCALAR_SYNONYM(name, of, kind, rule)
#define SCALAR_OTHER(name, kind, rule)
#include "format/scalar_op.def"
    default: return 0;
    }
}

/* The name under which an intrinsic of floats has its C; none: it does not compute with them. */
static const uint8_t float_names[RLX_TIR_NUM_INTRINSICS] = {
#define SCALAR_FLOAT(name, kind, rule, f32, f64) [RLX_TIR_##name] = RLX_TIR_##name,
#define SCALAR_SYNONYM(name, of, kind, rule) [RLX_TIR_##name] = RLX_TIR_##of,
#define SCALAR_OTHER(name, kind, rule) [RLX_TIR_##name] = RLX_TIR_NO_INTRINSIC,
#include "format/scalar_op.def"
};

static bool float_call(machine *m, enum rlx_tir_intrinsic id, rlx_dtype t, const value *v,
                       value *out)
{
    enum rlx_tir_intrinsic same = (enum rlx_tir_intrinsic)float_names[id];
    if (same == RLX_TIR_NO_INTRINSIC)
        return unsupported(m, rlx_tir_intrinsics[id].name);
    double r = t == RELAX_FLOAT64 ? float64_value(same, v) : (double)float32_value(same, v);
    *out = rlx_tir_intrinsics[id].result == RLX_TIR_BOOL ? int_value(r != 0) : float_value(t, r);
    return true;
}

static bool int_call(machine *m, enum rlx_tir_intrinsic id, rlx_dtype t, const value *v, value *out)
{
    int64_t a = v[0].i, b = v[1].i, r = 0;
    int bits = rlx_dtype_is_bool(t) ? 8 : rlx_dtype_bits(t);
    uint64_t raw = bits == 64 ? (uint64_t)a : (uint64_t)a & (((uint64_t)1 << bits) - 1);
    enum rlx_bit_op op = rlx_bit_op_named(rlx_slice_z(rlx_tir_intrinsics[id].name));
    if (op) {
        *out = int_value(0);
        return succeeds(m, rlx_scalar_bits(op, t, a, b, &out->i), rlx_tir_intrinsics[id].name);
    }
    if (rlx_tir_intrinsics[id].rule == RLX_TIR_RULE_ROUND) {
        *out = int_value(a);
        return true;
    }
    switch (id) {
    case RLX_TIR_bitwise_not: r = ~a; break;
    case RLX_TIR_popcount: r = rlx_popcount_u64(raw); break;
    case RLX_TIR_clz: *out = int_value(rlx_clz_u64(raw) - (64 - bits)); return true;
    case RLX_TIR_pow:
        if (t != RELAX_UINT64 && rlx_pow_fails(a, b))
            return rlx_fail(m->why, RLX_RT14, "negative exponent of an integer");
        r = t == RELAX_UINT64 ? (int64_t)rlx_pow_u64((uint64_t)a, (uint64_t)b) : rlx_pow_i64(a, b);
        break;
    default: return unsupported(m, rlx_tir_intrinsics[id].name);
    }
    *out = int_value(rlx_dtype_wrap(t, r));
    return true;
}

static bool reinterpret(machine *m, enum rlx_kernel_elem from, rlx_dtype dtype, value v,
                        value *out)
{
    enum rlx_kernel_elem to = elem(dtype);
    float f = (float)v.f;
    uint32_t low = (uint32_t)v.i;
    int64_t bits = v.i;
    if (rlx_kernel_elems[from].bytes != rlx_kernel_elems[to].bytes ||
        rlx_dtype_is_narrow_float(rlx_kernel_elems[from].dtype) || rlx_dtype_is_narrow_float(dtype))
        return unsupported(m, "reinterpret");
    if (from == RLX_ELEM_F32) {
        memcpy(&low, &f, 4);
        bits = (int32_t)low;
    } else if (from == RLX_ELEM_F64)
        memcpy(&bits, &v.f, 8);
    *out = int_value(rlx_dtype_wrap(dtype, bits));
    low = (uint32_t)bits;
    if (to == RLX_ELEM_F32) {
        memcpy(&f, &low, 4);
        *out = (value){ .f = (double)f };
    } else if (to == RLX_ELEM_F64)
        memcpy(&out->f, &bits, 8);
    return true;
}

static bool call(machine *m, const rlx_prim_call *c, const value *v, value *out)
{
    enum rlx_tir_intrinsic id =
        c->op ? rlx_tir_find_intrinsic(rlx_string_slice(c->op)) : RLX_TIR_NO_INTRINSIC;
    enum rlx_kernel_elem e = c->num_args ? elem(rlx_prim_dtype(c->args[0])) : RLX_ELEM_COUNT;
    if (e == RLX_ELEM_COUNT || id == RLX_TIR_NO_INTRINSIC ||
        c->num_args != rlx_tir_intrinsics[id].num_args)
        return unsupported(m, c->op ? c->op->data : "a call of another function");
    if (id == RLX_TIR_likely) {
        *out = v[0];
        return true;
    }
    if (id == RLX_TIR_reinterpret)
        return reinterpret(m, e, c->dtype, v[0], out);
    rlx_dtype t = rlx_prim_dtype(c->args[0]);
    return is_float(e) ? float_call(m, id, t, v, out) : int_call(m, id, t, v, out);
}

/* ---- memory --------------------------------------------------------------------------------- */

static storage *storage_of(machine *m, const rlx_node *buffer)
{
    uintptr_t at;
    if (rlx_ptrmap_find(&m->buffers, buffer, &at))
        return &m->storages.data[at - 1];
    rlx_fail(m->why, RLX_RT19, "a buffer is not defined here");
    return NULL;
}

static bool locate(machine *m, const rlx_node *buffer, const value *index, size_t count,
                   unsigned char **out, storage **used)
{
    const rlx_buffer *b = rlx_as_buffer(buffer);
    storage *s = storage_of(m, buffer);
    if (!s || (size_t)s->ndim != count)
        return s ? unsupported(m, "an access with a wrong number of indices") : false;
    int64_t at = s->offset;
    for (size_t d = 0; d < count; d++) {
        if (index[d].i < 0 || index[d].i >= s->shape[d])
            return rlx_fail(m->why, RLX_RT09,
                            "index %" PRId64
                            " is out of range for dimension %zu of %s, which has size %" PRId64,
                            index[d].i, d, b->name ? b->name->data : "?", s->shape[d]);
        at += index[d].i * s->strides[d];
    }
    if (at < 0 || at >= s->count)
        return rlx_fail(m->why, RLX_RT09, "offset %" PRId64 " is outside %s", at,
                        b->name ? b->name->data : "?");
    *out = s->data + at * rlx_kernel_elems[s->elem].bytes;
    *used = s;
    return true;
}

static value get(enum rlx_kernel_elem e, const unsigned char *p)
{
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    if (is_float(e))
        return (value){ .f = rlx_dtype_load_float(rlx_kernel_elems[e].dtype, p) };
    switch (e) {
    case RLX_ELEM_BOOL: return int_value(*p != 0);
    case RLX_ELEM_I8: memcpy(&i8, p, 1); return int_value(i8);
    case RLX_ELEM_U8: memcpy(&u8, p, 1); return int_value(u8);
    case RLX_ELEM_I16: memcpy(&i16, p, 2); return int_value(i16);
    case RLX_ELEM_U16: memcpy(&u16, p, 2); return int_value(u16);
    case RLX_ELEM_I32: memcpy(&i32, p, 4); return int_value(i32);
    case RLX_ELEM_U32: memcpy(&u32, p, 4); return int_value(u32);
    default: memcpy(&i64, p, 8); return int_value(i64);
    }
}

static void put_element(enum rlx_kernel_elem e, unsigned char *p, value v)
{
    uint64_t u = (uint64_t)v.i;
    if (is_float(e))
        rlx_dtype_store_float(rlx_kernel_elems[e].dtype, p, v.f);
    else if (e == RLX_ELEM_BOOL)
        *p = v.i != 0;
    else if (rlx_kernel_elems[e].bytes == 1)
        *p = (uint8_t)u;
    else if (rlx_kernel_elems[e].bytes == 2)
        memcpy(p, &(uint16_t){ (uint16_t)u }, 2);
    else if (rlx_kernel_elems[e].bytes == 4)
        memcpy(p, &(uint32_t){ (uint32_t)u }, 4);
    else
        memcpy(p, &u, 8);
}

/* ---- expressions ---------------------------------------------------------------------------- */

static bool set_var(machine *m, const rlx_prim *var, value v)
{
    uintptr_t at;
    if (rlx_ptrmap_find(&m->vars, var, &at)) {
        m->values.data[at - 1] = v;
        return true;
    }
    if (!rlx_vec_push(m->memory, &m->values, v) || !rlx_ptrmap_put(&m->vars, var, m->values.len))
        return no_memory(m);
    return true;
}

static bool leaf(machine *m, const rlx_prim *p, value *out)
{
    const rlx_int_imm *i = rlx_as_int_imm(p);
    const rlx_float_imm *f = rlx_as_float_imm(p);
    const rlx_prim_var *v = rlx_as_prim_var(p);
    uintptr_t at;
    if (i)
        *out = int_value(rlx_dtype_wrap(i->dtype, i->value));
    else if (f)
        *out = float_value(f->dtype, f->value);
    else if (v && rlx_ptrmap_find(&m->vars, p, &at))
        *out = m->values.data[at - 1];
    else if (v)
        return rlx_fail(m->why, RLX_RT19, "variable %s has no value here",
                        v->name ? v->name->data : "?");
    else
        return unsupported(m, rlx_kinds[p->kind].name);
    return true;
}

static bool is_choice(const rlx_prim *p)
{
    return p->kind == RLX_NODE_PRIM_CALL && ((const rlx_prim_call *)p)->op &&
           ((const rlx_prim_call *)p)->num_args == 3 &&
           rlx_slice_is(rlx_string_slice(((const rlx_prim_call *)p)->op), "if_then_else");
}

/* A number is true unless it is 0. */
static bool is_true(value v, const rlx_prim *p)
{
    return rlx_dtype_is_float(rlx_prim_dtype(p)) ? v.f != 0 : v.i != 0;
}

/* Which operand comes next; as many as there are: none, the operands are complete. */
static size_t next_operand(const step *s, const value *v)
{
    size_t n = rlx_tir_num_operands(s->p);
    bool first = s->at == 1 && is_true(v[0], rlx_tir_operand(s->p, 0));
    if (is_choice(s->p))
        return s->at == 0 ? 0 : s->at == 1 ? (first ? 1 : 2) : n;
    if (s->p->kind == RLX_NODE_AND && s->at == 1 && !first)
        return n;
    return s->p->kind == RLX_NODE_OR && first ? n : s->at;
}

static bool combine(machine *m, const step *s, const value *v, value *out)
{
    const rlx_prim *p = s->p;
    const rlx_unary *u = (const rlx_unary *)p;
    const rlx_buffer_load *l = rlx_as_buffer_load(p);
    unsigned char *at;
    storage *st;
    switch (p->kind) {
    case RLX_NODE_NOT:
        if (elem(rlx_prim_dtype(u->a)) == RLX_ELEM_COUNT)
            return unsupported(m, "a negation of this dtype");
        *out = int_value(!is_true(v[0], u->a));
        return true;
    case RLX_NODE_CAST:
        if (elem(u->dtype) == RLX_ELEM_COUNT || elem(rlx_prim_dtype(u->a)) == RLX_ELEM_COUNT)
            return unsupported(m, "a cast of these dtypes");
        *out = rlx_scalar_convert(u->dtype, rlx_prim_dtype(u->a), v[0]);
        return true;
    case RLX_NODE_SELECT: *out = v[is_true(v[0], rlx_tir_operand(p, 0)) ? 1 : 2]; return true;
    /* the last one looked at decides */
    case RLX_NODE_AND: case RLX_NODE_OR:
        *out = int_value(is_true(v[s->at - 1], rlx_tir_operand(p, s->at - 1)));
        return true;
    case RLX_NODE_PRIM_LET: *out = v[1]; return true;
    case RLX_NODE_BUFFER_LOAD:
        if (l->predicate || !locate(m, l->buffer, v, l->num_indices, &at, &st))
            return l->predicate ? unsupported(m, "a predicated load") : false;
        *out = get(st->elem, at);
        return true;
    case RLX_NODE_PRIM_CALL:
        if (!is_choice(p))
            return call(m, (const rlx_prim_call *)p, v, out);
        *out = v[1];
        return true;
    default: return binary(m, (const rlx_binary *)p, v[0], v[1], out);
    }
}

static bool push_operand(machine *m, value v)
{
    return rlx_vec_push(m->memory, &m->operands, v) || no_memory(m);
}

/* Takes up p: its value goes onto the operands at once if it is a leaf, else its own operands
 * come first. */
static bool take(machine *m, const rlx_prim *p)
{
    value v = { 0 };
    if (!tick(m))
        return false;
    bool has_parts = rlx_tir_num_operands(p) > 0 || p->kind == RLX_NODE_BUFFER_LOAD;
    if (!has_parts)
        return leaf(m, p, &v) && push_operand(m, v);
    return rlx_vec_push(m->memory, &m->steps, ((step){ p, 0, (uint32_t)m->operands.len, 0 })) ||
           no_memory(m);
}

static bool evaluate(machine *m, const rlx_prim *p, value *out)
{
    size_t floor = m->steps.len, base = m->operands.len;
    if (!p || !take(m, p))
        return p ? false : unsupported(m, "an absent expression");
    while (m->steps.len > floor) {
        step *s = &rlx_vec_last(&m->steps);
        value result = { 0 };
        s->at = (uint32_t)(m->operands.len - s->base);
        if (s->at > RLX_TIR_MAX_DIMS)
            return unsupported(m, "an expression of that many operands");
        const value *v = s->at ? m->operands.data + s->base : NULL; /* until the next one is taken up */
        if (s->p->kind == RLX_NODE_PRIM_LET && s->at == 1 &&
            !set_var(m, ((const rlx_prim_let *)s->p)->var, v[0]))
            return false;
        size_t next = next_operand(s, v);
        if (next < rlx_tir_num_operands(s->p)) {
            if (!take(m, rlx_tir_operand(s->p, next)))
                return false;
            continue;
        }
        if (!combine(m, s, v, &result))
            return false;
        m->operands.len = s->base;
        (void)rlx_vec_pop(&m->steps);
        if (!push_operand(m, result))
            return false;
    }
    *out = m->operands.data[base];
    m->operands.len = base;
    return true;
}

static bool evaluate_int(machine *m, const rlx_prim *p, int64_t *out)
{
    value v;
    if (!evaluate(m, p, &v))
        return false;
    *out = v.i;
    return true;
}

static bool evaluate_truth(machine *m, const rlx_prim *p, int64_t *out)
{
    value v = { 0 };
    bool ok = evaluate(m, p, &v);
    *out = ok && is_true(v, p);
    return ok;
}

/* ---- buffers -------------------------------------------------------------------------------- */

static bool add_storage(machine *m, const rlx_node *key, const storage *s)
{
    uintptr_t at;
    if (rlx_ptrmap_find(&m->buffers, key, &at)) {
        m->storages.data[at - 1] = *s;
        return true;
    }
    if (!rlx_vec_push(m->memory, &m->storages, *s) ||
        !rlx_ptrmap_put(&m->buffers, key, m->storages.len))
        return no_memory(m);
    return true;
}

/* Shape and compact strides of a buffer over memory that is there. */
static bool lay_out(machine *m, const rlx_buffer *b, storage *s)
{
    int64_t step_size = 1;
    if (b->num_shape > RLX_TIR_MAX_DIMS || elem(b->dtype) == RLX_ELEM_COUNT)
        return unsupported(m, "a buffer of this form");
    s->elem = elem(b->dtype);
    s->ndim = (int32_t)b->num_shape;
    for (size_t d = b->num_shape; d-- > 0;) {
        if (!evaluate_int(m, b->shape[d], &s->shape[d]))
            return false;
        s->strides[d] = step_size;
        if (s->shape[d] < 0 || !rlx_mul_i64(step_size, s->shape[d], &step_size))
            return rlx_fail(m->why, RLX_RT05, "a dimension of %s is %" PRId64,
                            b->name ? b->name->data : "?", s->shape[d]);
    }
    for (size_t d = 0; d < b->num_strides; d++)
        if (b->strides[d]->kind == RLX_NODE_PRIM_VAR &&
            !set_var(m, b->strides[d], int_value(s->strides[d])))
            return false;
    return !b->elem_offset || b->elem_offset->kind != RLX_NODE_PRIM_VAR ||
           set_var(m, b->elem_offset, int_value(0));
}

static bool make_temporary(machine *m, int64_t count, enum rlx_kernel_elem e, unsigned char **out)
{
    size_t bytes;
    *out = NULL;
    if (count < 0 || !rlx_mul_size((size_t)count, rlx_kernel_elems[e].bytes, &bytes))
        return rlx_fail(m->why, RLX_RT05, "a temporary would have %" PRId64 " elements", count);
    if (bytes > m->bytes_left)
        return rlx_fail(m->why, RLX_RT10, "temporaries are over the limit");
    if (!bytes)
        return true;
    void *p = rlx_mem_alloc_zero(m->memory, bytes);
    if (!p || !rlx_vec_push(m->memory, &m->temporaries, ((temporary){ p, bytes }))) {
        rlx_mem_free(m->memory, p, bytes);
        return no_memory(m);
    }
    m->bytes_left -= bytes;
    *out = p;
    return true;
}

static void drop_temporaries(machine *m, size_t keep)
{
    while (m->temporaries.len > keep) {
        temporary t = rlx_vec_pop(&m->temporaries);
        m->bytes_left += t.size;
        rlx_mem_free(m->memory, t.data, t.size);
    }
}

static bool alloc_buffer(machine *m, const rlx_buffer *b)
{
    storage s = { 0 };
    s.count = 1;
    if (!lay_out(m, b, &s))
        return false;
    for (int32_t d = 0; d < s.ndim; d++)
        s.count *= s.shape[d];
    return make_temporary(m, s.count, s.elem, &s.data) && add_storage(m, &b->node, &s) &&
           add_storage(m, b->data, &s);
}

/* A buffer over a region of another: the trailing dimensions. */
static bool match_buffer(machine *m, const rlx_match_buffer_region *r)
{
    const rlx_buffer_region *source = rlx_as_buffer_region(r->source);
    const rlx_buffer *b = rlx_as_buffer(r->buffer);
    const storage *outer = storage_of(m, source->buffer);
    if (!outer)
        return false;
    storage from = *outer, s = from;
    if (source->num_region < b->num_shape || (size_t)from.ndim != source->num_region ||
        !lay_out(m, b, &s))
        return unsupported(m, "this match_buffer");
    size_t lead = source->num_region - b->num_shape;
    for (size_t d = 0; d < source->num_region; d++) {
        int64_t min;
        if (!evaluate_int(m, rlx_as_range(source->region[d])->min, &min))
            return false;
        s.offset += min * from.strides[d];
        if (d >= lead)
            s.strides[d - lead] = from.strides[d];
    }
    return add_storage(m, &b->node, &s);
}

/* ---- statements ----------------------------------------------------------------------------- */

static bool execute(machine *m, const rlx_stmt *s);

static bool store(machine *m, const rlx_buffer_store *s)
{
    value v, index[RLX_TIR_MAX_DIMS];
    unsigned char *at;
    storage *st;
    if (s->predicate || s->num_indices > RLX_TIR_MAX_DIMS)
        return unsupported(m, "this store");
    if (!evaluate(m, s->value, &v))
        return false;
    for (size_t i = 0; i < s->num_indices; i++)
        if (!evaluate(m, s->indices[i], &index[i]))
            return false;
    if (!locate(m, s->buffer, index, s->num_indices, &at, &st))
        return false;
    if (st->is_const)
        return unsupported(m, "a store to a constant");
    put_element(st->elem, at, v);
    return true;
}

/* Follows loops down to a block with an init. */
static const rlx_block_realize *block_below(const rlx_stmt *s)
{
    while (s && s->kind == RLX_NODE_FOR)
        s = ((const rlx_for_stmt *)s)->body;
    const rlx_block_realize *r = rlx_as_block_realize(s);
    const rlx_tir_block *b = r ? rlx_as_tir_block(r->block) : NULL;
    return b && b->init && b->num_iter_vars == r->num_iter_values ? r : NULL;
}

static enum rlx_step find_same(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    return n == user ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool is_spatial_loop(machine *m, const rlx_block_realize *r, const rlx_prim *var)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    rlx_walker w = { .enter = find_same, .user = (void *)var };
    for (size_t i = 0; i < b->num_iter_vars; i++)
        if (((const rlx_iter_var *)b->iter_vars[i])->iter_type != RLX_ITER_REDUCE &&
            rlx_walk(m->memory, r->iter_values[i], &w, NULL) == RLX_STEP_STOP)
            return true;
    return false;
}

static bool bind_axes(machine *m, const rlx_block_realize *r, bool spatial_only)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    for (size_t i = 0; i < b->num_iter_vars; i++) {
        const rlx_iter_var *iter = (const rlx_iter_var *)b->iter_vars[i];
        value v;
        if (spatial_only && iter->iter_type == RLX_ITER_REDUCE)
            continue;
        if (!evaluate(m, r->iter_values[i], &v) || !set_var(m, iter->var, v))
            return false;
    }
    return true;
}

/* A reduction over nothing: init alone, for each spatial point. */
static bool init_only(machine *m, const rlx_stmt *s, const rlx_block_realize *r)
{
    const rlx_for_stmt *f = rlx_as_for_stmt(s);
    int64_t min, extent, go;
    while (f && !is_spatial_loop(m, r, f->loop_var))
        f = rlx_as_for_stmt(f->body);
    if (!f)
        return bind_axes(m, r, true) && evaluate_truth(m, r->predicate, &go) &&
               (!go || execute(m, rlx_as_tir_block(r->block)->init));
    if (m->depth >= MAX_DEPTH)
        return unsupported(m, "a program nested that deep");
    if (!evaluate_int(m, f->min, &min) || !evaluate_int(m, f->extent, &extent))
        return false;
    bool ok = true;
    m->depth++;
    for (int64_t i = 0; i < extent && ok; i++)
        ok = tick(m) && set_var(m, f->loop_var, int_value(min + i)) && init_only(m, f->body, r);
    m->depth--;
    return ok;
}

static bool loop(machine *m, const rlx_for_stmt *s)
{
    int64_t min, extent;
    if (s->for_kind == RLX_FOR_THREAD_BINDING)
        return unsupported(m, "a thread binding");
    if (!evaluate_int(m, s->min, &min) || !evaluate_int(m, s->extent, &extent))
        return false;
    const rlx_block_realize *r = extent <= 0 ? block_below(&s->node) : NULL;
    if (r && !is_spatial_loop(m, r, s->loop_var))
        return init_only(m, s->body, r);
    for (int64_t i = 0; i < extent; i++)
        if (!tick(m) || !set_var(m, s->loop_var, int_value(min + i)) || !execute(m, s->body))
            return false;
    return true;
}

static bool while_loop(machine *m, const rlx_while_stmt *s)
{
    int64_t go;
    for (;;) {
        if (!tick(m) || !evaluate_truth(m, s->cond, &go))
            return false;
        if (!go)
            return true;
        if (!execute(m, s->body))
            return false;
    }
}

static bool branch(machine *m, const rlx_if_stmt *s)
{
    int64_t go;
    if (!evaluate_truth(m, s->cond, &go))
        return false;
    return go ? execute(m, s->then_case) : !s->else_case || execute(m, s->else_case);
}

static bool at_first_step(machine *m, const rlx_tir_block *b, bool *first)
{
    *first = true;
    for (size_t i = 0; i < b->num_iter_vars; i++) {
        const rlx_iter_var *iter = (const rlx_iter_var *)b->iter_vars[i];
        int64_t at, min;
        if (iter->iter_type != RLX_ITER_REDUCE)
            continue;
        if (!evaluate_int(m, iter->var, &at) ||
            !evaluate_int(m, rlx_as_range(iter->dom)->min, &min))
            return false;
        *first &= at == min;
    }
    return true;
}

static bool block_body(machine *m, const rlx_tir_block *b)
{
    bool first;
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        if (!alloc_buffer(m, rlx_as_buffer(b->alloc_buffers[i])))
            return false;
    for (size_t i = 0; i < b->num_match_buffers; i++)
        if (!match_buffer(m, rlx_as_match_buffer_region(b->match_buffers[i])))
            return false;
    if (b->init && (!at_first_step(m, b, &first) || (first && !execute(m, b->init))))
        return false;
    return execute(m, b->body);
}

static bool realize(machine *m, const rlx_block_realize *r)
{
    const rlx_tir_block *b = rlx_as_tir_block(r->block);
    size_t temporaries = m->temporaries.len;
    int64_t go;
    if (!b || b->num_iter_vars != r->num_iter_values)
        return unsupported(m, "a damaged block");
    if (!bind_axes(m, r, false) || !evaluate_truth(m, r->predicate, &go))
        return false;
    bool ok = !go || block_body(m, b);
    drop_temporaries(m, temporaries);
    return ok;
}

static bool run_stmt(machine *m, const rlx_stmt *s)
{
    value ignored;
    switch (s->kind) {
    case RLX_NODE_SEQ_STMT:
        for (size_t i = 0; i < ((const rlx_seq_stmt *)s)->num_stmts; i++)
            if (!execute(m, ((const rlx_seq_stmt *)s)->stmts[i]))
                return false;
        return true;
    case RLX_NODE_EVALUATE: return evaluate(m, ((const rlx_evaluate *)s)->value, &ignored);
    case RLX_NODE_BUFFER_STORE: return store(m, (const rlx_buffer_store *)s);
    case RLX_NODE_FOR: return loop(m, (const rlx_for_stmt *)s);
    case RLX_NODE_WHILE: return while_loop(m, (const rlx_while_stmt *)s);
    case RLX_NODE_IF_THEN_ELSE: return branch(m, (const rlx_if_stmt *)s);
    case RLX_NODE_BLOCK_REALIZE: return realize(m, (const rlx_block_realize *)s);
    default: return unsupported(m, rlx_kinds[s->kind].name);
    }
}

static bool let(machine *m, const rlx_let_stmt *s)
{
    value v;
    return evaluate(m, s->value, &v) && set_var(m, s->var, v);
}

static bool assertion(machine *m, const rlx_assert_stmt *s)
{
    const rlx_tir_string *text = rlx_as_tir_string(s->message);
    int64_t go;
    if (!evaluate_truth(m, s->cond, &go))
        return false;
    const char *said = text ? text->value->data : "assertion failed";
    return go ? true
              : rlx_fail(m->why, rlx_assertion_code((uint32_t)s->assertion), "%s", said);
}

static bool allocate(machine *m, const rlx_allocate *a)
{
    storage s = { .count = 1, .elem = elem(a->dtype) };
    if (s.elem == RLX_ELEM_COUNT)
        return unsupported(m, "an allocation of this dtype");
    for (size_t i = 0; i < a->num_extents; i++) {
        int64_t n;
        if (!evaluate_int(m, a->extents[i], &n))
            return false;
        if (n < 0 || !rlx_mul_i64(s.count, n, &s.count))
            return rlx_fail(m->why, RLX_RT05, "an extent of an allocation is %" PRId64, n);
    }
    return make_temporary(m, s.count, s.elem, &s.data) && add_storage(m, a->var, &s);
}

static bool allocate_const(machine *m, const rlx_allocate_const *a)
{
    const rlx_constant *c = rlx_as_constant(a->data);
    storage s = { .elem = elem(a->dtype), .is_const = true };
    if (!c || !c->data || s.elem == RLX_ELEM_COUNT || c->dtype != a->dtype)
        return unsupported(m, "constant data of this form");
    s.data = c->data->data;
    s.count = (int64_t)(c->data->size / rlx_kernel_elems[s.elem].bytes);
    return add_storage(m, a->var, &s);
}

static bool declare(machine *m, const rlx_buffer *b)
{
    const storage *memory = storage_of(m, b->data);
    if (!memory)
        return false;
    storage s = *memory;
    enum rlx_kernel_elem e = s.elem;
    if (!lay_out(m, b, &s) || s.elem != e)
        return s.elem == e ? false : unsupported(m, "a buffer over memory of another dtype");
    return add_storage(m, &b->node, &s);
}

/* Statements that cover the rest: *body. */
static bool cover(machine *m, const rlx_stmt *s, const rlx_stmt **body)
{
    *body = NULL;
    switch (s->kind) {
    case RLX_NODE_LET_STMT:
        *body = ((const rlx_let_stmt *)s)->body;
        return let(m, (const rlx_let_stmt *)s);
    case RLX_NODE_ASSERT_STMT:
        *body = ((const rlx_assert_stmt *)s)->body;
        return assertion(m, (const rlx_assert_stmt *)s);
    case RLX_NODE_ATTR_STMT: *body = ((const rlx_attr_stmt *)s)->body; return true;
    case RLX_NODE_ALLOCATE:
        *body = ((const rlx_allocate *)s)->body;
        return allocate(m, (const rlx_allocate *)s);
    case RLX_NODE_ALLOCATE_CONST:
        *body = ((const rlx_allocate_const *)s)->body;
        return allocate_const(m, (const rlx_allocate_const *)s);
    case RLX_NODE_DECL_BUFFER:
        *body = ((const rlx_decl_buffer *)s)->body;
        return declare(m, rlx_as_buffer(((const rlx_decl_buffer *)s)->buffer));
    default: return true;
    }
}

static bool execute(machine *m, const rlx_stmt *s)
{
    size_t temporaries = m->temporaries.len;
    const rlx_stmt *body;
    bool ok = true;
    if (m->depth >= MAX_DEPTH)
        return unsupported(m, "a program nested that deep");
    m->depth++;
    while (ok && (ok = tick(m) && cover(m, s, &body)) && body)
        s = body;
    ok = ok && run_stmt(m, s);
    m->depth--;
    drop_temporaries(m, temporaries);
    return ok;
}

/* ---- the function --------------------------------------------------------------------------- */

static bool bind_buffer(machine *m, const rlx_buffer *b, const rlx_tir_arg *a)
{
    const char *name = b->name ? b->name->data : "?";
    storage s = { .data = a->data, .count = 1, .elem = elem(b->dtype), .ndim = a->ndim };
    if (s.elem == RLX_ELEM_COUNT || a->dtype != b->dtype)
        return rlx_fail(m->why, RLX_RT03, "%s has the wrong dtype", name);
    if ((size_t)a->ndim != b->num_shape || a->ndim > RLX_TIR_MAX_DIMS)
        return rlx_fail(m->why, RLX_RT04, "%s has rank %d, expected %zu", name, a->ndim,
                        b->num_shape);
    for (int32_t d = a->ndim; d-- > 0;) {
        s.shape[d] = a->shape[d];
        s.strides[d] = s.count;
        s.count *= a->shape[d];
        if (a->shape[d] < 0)
            return rlx_fail(m->why, RLX_RT05, "dimension %d of %s is %" PRId64, d, name,
                            a->shape[d]);
        if (b->shape[d]->kind == RLX_NODE_PRIM_VAR && !rlx_ptrmap_has(&m->vars, b->shape[d]) &&
            !set_var(m, b->shape[d], int_value(a->shape[d])))
            return false;
    }
    return add_storage(m, &b->node, &s) && add_storage(m, b->data, &s);
}

static bool check_dims(machine *m, const rlx_buffer *b, const rlx_tir_arg *a)
{
    storage s = { 0 };
    if (!lay_out(m, b, &s))
        return false;
    for (int32_t d = 0; d < a->ndim; d++)
        if (s.shape[d] != a->shape[d])
            return rlx_fail(m->why, RLX_RT05,
                            "dimension %d of %s is %" PRId64 ", expected %" PRId64, d,
                            b->name ? b->name->data : "?", a->shape[d], s.shape[d]);
    return true;
}

static bool bind_args(machine *m, const rlx_prim_func *f, const rlx_tir_arg *args, size_t num_args)
{
    if (num_args != f->num_params)
        return rlx_fail(m->why, RLX_RT01, "%zu arguments came, expected %zu", num_args,
                        f->num_params);
    for (size_t i = 0; i < num_args; i++) {
        rlx_dtype t = rlx_prim_dtype(f->params[i]);
        if (f->buffers[i])
            continue;
        if (elem(t) == RLX_ELEM_COUNT)
            return unsupported(m, "a pointer parameter");
        value v = is_float(elem(t)) ? float_value(t, args[i].f)
                                    : int_value(rlx_dtype_wrap(t, args[i].i));
        if (!set_var(m, f->params[i], v))
            return false;
    }
    for (size_t i = 0; i < num_args; i++)
        if (f->buffers[i] && !bind_buffer(m, rlx_as_buffer(f->buffers[i]), &args[i]))
            return false;
    for (size_t i = 0; i < num_args; i++)
        if (f->buffers[i] && !check_dims(m, rlx_as_buffer(f->buffers[i]), &args[i]))
            return false;
    return true;
}

bool rlx_tir_eval(rlx_context *ctx, const rlx_prim_func *f, const rlx_tir_arg *args,
                  size_t num_args, const rlx_tir_limits *limits, rlx_fault *why)
{
    rlx_memory *memory = &ctx->memory;
    machine m = { .memory = memory,
                  .why = why,
                  .bytes_left = limits && limits->max_bytes ? limits->max_bytes : SIZE_MAX };
    m.counts_steps = limits && limits->max_steps;
    m.steps_left = m.counts_steps ? limits->max_steps : 0;
    rlx_ptrmap_init(&m.vars, memory);
    rlx_ptrmap_init(&m.buffers, memory);
    f = rlx_tir_partial_sums(ctx, f, false);
    bool ok = f ? bind_args(&m, f, args, num_args) && execute(&m, f->body) : no_memory(&m);
    drop_temporaries(&m, 0);
    rlx_ptrmap_free(&m.vars);
    rlx_ptrmap_free(&m.buffers);
    rlx_vec_free(memory, &m.values);
    rlx_vec_free(memory, &m.storages);
    rlx_vec_free(memory, &m.temporaries);
    rlx_vec_free(memory, &m.steps);
    rlx_vec_free(memory, &m.operands);
    return ok;
}
