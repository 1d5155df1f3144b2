#include "codegen/kernel_writer_int.h"

#define MAX_LOAD_DEPTH 32 /* loads in indices of loads: bounds the recursion */

static kw_value failure(void)
{
    return (kw_value){ .reg = 0 };
}

static bool always(kw_value mask)
{
    return mask.reg == KW_NO_REG;
}

static int32_t later(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static bool is_stored(const kw_nest *n, const rlx_node *buffer)
{
    for (size_t i = 0; i < n->stored.len; i++)
        if (n->stored.data[i] == buffer)
            return true;
    return false;
}

/* The outermost level that runs whenever the top one does; for loads also: where nothing below stores to the buffer. */
static int32_t floor_level(const kw *w, const rlx_node *loaded)
{
    int32_t l = w->top;
    while (l > 0 && w->levels[l].sure && !(loaded && w->levels[l].nest && is_stored(w->levels[l].nest, loaded)))
        l--;
    return l;
}

/* ---- remembering ------------------------------------------------------------------------------------------ */

void kw_forget_loads(kw *w)
{
    for (size_t i = 0; i < w->load_memos.len; i++) {
        kw_memo *m = &w->memos.data[w->load_memos.data[i]];
        if (!m->live)
            continue;
        if (m->value.wide && !m->value.view && m->uses != UINT32_MAX)
            kw_free_strip(w, m->value.reg);
        rlx_ptrmap_remove(&w->memo, m->p);
        m->live = false;
    }
    w->load_memos.len = 0;
}

static kw_memo *recall(kw *w, const rlx_prim *p)
{
    uintptr_t at;
    return rlx_ptrmap_find(&w->memo, p, &at) ? &w->memos.data[at - 1] : NULL;
}

static void remember(kw *w, const rlx_prim *p, kw_value v)
{
    uintptr_t uses = 1;
    rlx_memory *m = &w->ctx->memory;
    rlx_ptrmap_find(&w->uses, p, &uses);
    if (w->failed)
        return;
    if (!rlx_vec_push(m, &w->memos, ((kw_memo){ p, v, (uint32_t)uses, true })) || !rlx_ptrmap_put(&w->memo, p, w->memos.len) ||
        !rlx_vec_push(m, &w->levels[v.level].memo, (void *)p) ||
        (v.loads && !rlx_vec_push(m, &w->load_memos, (uint32_t)w->memos.len - 1)))
        kw_no_memory(w);
}

static void forget(kw *w, const rlx_prim *p)
{
    kw_memo *m = recall(w, p);
    if (m)
        m->live = false;
    rlx_ptrmap_remove(&w->memo, p);
}

/* One use of p is over; its strip may serve again. */
static void done(kw *w, const rlx_prim *p)
{
    kw_memo *m = recall(w, p);
    if (!m || !m->value.wide || m->uses == UINT32_MAX || --m->uses)
        return;
    if (!m->value.view)
        kw_free_strip(w, m->value.reg);
    forget(w, p);
}

typedef struct counter { kw *w; RLX_VEC(const rlx_node *) todo; } counter;

static bool count_use(counter *c, const rlx_node *n)
{
    uintptr_t seen = 0;
    rlx_memory *m = &c->w->ctx->memory;
    if (!n || rlx_family_of(n) != RLX_FAMILY_PRIM)
        return true;
    bool known = rlx_ptrmap_find(&c->w->uses, n, &seen);
    return rlx_ptrmap_put(&c->w->uses, n, seen + 1) && (known || rlx_vec_push(m, &c->todo, n));
}

/* Strips left from the statements before: those that this one uses count its uses, the others are free. */
static void recount_strips(kw *w)
{
    rlx_ptrs *list = &w->levels[w->nest->strip_level].memo;
    size_t kept = 0;
    for (size_t i = 0; i < list->len; i++) {
        const rlx_prim *p = list->data[i];
        kw_memo *m = recall(w, p);
        uintptr_t uses;
        if (!m)
            continue;
        if (m->value.wide && m->uses != UINT32_MAX) {
            bool used = rlx_ptrmap_find(&w->uses, p, &uses);
            m->uses = used ? (uint32_t)uses : 1;
            if (!used) {
                done(w, p);
                continue;
            }
        }
        list->data[kept++] = list->data[i];
    }
    list->len = kept;
}

void kw_begin_statement(kw *w, const rlx_stmt *s)
{
    counter c = { .w = w };
    rlx_ptrmap_clear(&w->uses);
    bool ok = true;
    for (size_t i = 0; i < rlx_child_count(s) && ok; i++)
        ok = count_use(&c, rlx_child(s, i));
    while (ok && c.todo.len) {
        const rlx_node *n = rlx_vec_pop(&c.todo);
        for (size_t i = 0; i < rlx_child_count(n) && ok; i++)
            ok = count_use(&c, rlx_child(n, i));
    }
    rlx_vec_free(&w->ctx->memory, &c.todo);
    if (!ok)
        kw_no_memory(w);
    if (!w->failed && w->nest && w->nest->strip_level >= 0)
        recount_strips(w);
}

void kw_bind_var(kw *w, const rlx_prim *var, kw_value v)
{
    rlx_memory *m = &w->ctx->memory;
    if (w->failed)
        return;
    if (!rlx_vec_push(m, &w->var_values, v) || !rlx_ptrmap_put(&w->vars, var, w->var_values.len))
        kw_no_memory(w);
}

/* ---- operations -------------------------------------------------------------------------------------------- */

static kw_value make_dest(kw *w, unsigned klass, rlx_dtype dtype, bool wide, int32_t level)
{
    uint32_t reg = wide ? kw_new_strip(w, klass, false) : kw_new_reg(w, klass, 0);
    return (kw_value){ .reg = reg, .level = level, .klass = (uint8_t)klass, .wide = wide, .dtype = dtype };
}

/* A scalar in all lanes; made in front of the strip loop, as early as its value is known. */
static kw_value widen(kw *w, kw_value v)
{
    if (v.wide || w->failed || !w->nest)
        return v;
    const void *key = (const void *)((uintptr_t)v.reg + 1);
    uintptr_t at;
    kw_value strip = v;
    strip.wide = true;
    if (rlx_ptrmap_find(&w->broadcasts, key, &at)) {
        strip.reg = (uint32_t)at - 1;
        return strip;
    }
    int32_t level = later(v.level, w->nest->level);
    strip.level = w->nest->strip_level;
    strip.reg = kw_new_strip(w, v.klass, true);
    KW_EMIT(w, level, RLX_K_BROADCAST, strip.reg, v.reg, w->nest->extent_reg);
    /* one made in the strip itself is made anew each time: only this use may count on it */
    if (level < w->nest->strip_level && !rlx_ptrmap_put(&w->broadcasts, key, (uintptr_t)strip.reg + 1))
        kw_no_memory(w);
    return strip;
}

/* Index arithmetic has instructions of its own for scalars. */
static unsigned scalar_form(unsigned op)
{
    switch (op) {
    case RLX_K_ADD_I64: return RLX_K_XADD;
    case RLX_K_SUB_I64: return RLX_K_XSUB;
    case RLX_K_MUL_I64: return RLX_K_XMUL;
    case RLX_K_MIN_I64: return RLX_K_XMIN;
    case RLX_K_MAX_I64: return RLX_K_XMAX;
    case RLX_K_MOVE_I64: return RLX_K_XMOVE;
    default: return op;
    }
}

/* `masked`: the instruction ends with a mask and may fail. Temporaries among the operands are the caller's. */
static kw_value apply(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value *v, int n, bool masked, kw_value mask)
{
    bool wide = masked && !always(mask) && mask.wide, loads = false;
    int32_t level = 0;
    uint32_t operands[6];
    for (int i = 0; i < n; i++) {
        wide |= v[i].wide;
        loads |= v[i].loads;
        level = later(level, v[i].level);
    }
    if (masked)
        level = later(always(mask) ? level : later(level, mask.level), floor_level(w, NULL));
    if (wide && !w->nest)
        return failure();
    level = wide ? w->nest->strip_level : level;
    for (int i = 0; i < n; i++)
        operands[1 + i] = (wide ? widen(w, v[i]) : v[i]).reg;
    if (masked)
        operands[1 + n] = always(mask) ? KW_NO_REG : (wide ? widen(w, mask) : mask).reg;
    kw_value d = make_dest(w, klass, dtype, wide, level);
    d.loads = loads;
    d.guard = masked ? mask.serial : 0;
    operands[0] = d.reg;
    kw_emit(w, level, wide ? op : scalar_form(op), operands);
    return d;
}

static kw_value apply1(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value a)
{
    return apply(w, op, klass, dtype, &a, 1, false, KW_ALWAYS);
}

static kw_value apply2(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value a, kw_value b)
{
    kw_value v[2] = { a, b };
    return apply(w, op, klass, dtype, v, 2, false, KW_ALWAYS);
}

static void free_temp(kw *w, kw_value v)
{
    if (v.wide && !v.view)
        kw_free_strip(w, v.reg);
}

/* The next step on a value nobody else has. */
static kw_value step(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value v)
{
    if (v.wide && !v.view)
        kw_free_strip(w, v.reg);
    kw_value d = apply1(w, op, klass, dtype, v);
    d.guard = v.guard;
    return d;
}

kw_value kw_real(kw *w, kw_value v)
{
    return v.view ? apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, v.dtype, v) : v;
}

kw_value kw_and(kw *w, kw_value mask, kw_value cond, bool negate)
{
    kw_value both = kw_real(w, cond);
    if (negate) {
        kw_value zero = { .reg = kw_const(w, RLX_CLASS_I32, 0), .klass = RLX_CLASS_I32 };
        both = apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, RELAX_BOOL, both, zero);
    }
    if (!always(mask)) {
        kw_value side = both;
        both = apply2(w, RLX_K_AND_I32, RLX_CLASS_I32, RELAX_BOOL, mask, side);
        if (negate)
            free_temp(w, side);
    }
    both.serial = ++w->num_masks; /* registers serve again, numbers do not */
    return both;
}

/* ---- dtypes -------------------------------------------------------------------------------------------------- */

static enum rlx_kernel_elem elem_of(kw *w, rlx_dtype dtype)
{
    enum rlx_kernel_elem e = rlx_kernel_elem_of(dtype);
    if (e == RLX_ELEM_COUNT) {
        char text[RLX_DTYPE_TEXT];
        rlx_dtype_name(dtype, text);
        kw_fail(w, "kernels do not compute with %s", text);
        return RLX_ELEM_I64;
    }
    return e;
}

/* Back to the narrow type after an operation of its class; 0: nothing to do. */
static unsigned narrowing(enum rlx_kernel_elem e)
{
    switch (e) {
    case RLX_ELEM_I8: return RLX_K_WRAP_I8;
    case RLX_ELEM_U8: return RLX_K_WRAP_U8;
    case RLX_ELEM_I16: return RLX_K_WRAP_I16;
    case RLX_ELEM_U16: return RLX_K_WRAP_U16;
    case RLX_ELEM_U32: return RLX_K_WRAP_U32;
    case RLX_ELEM_F16: return RLX_K_ROUND_F16;
    case RLX_ELEM_BF16: return RLX_K_ROUND_BF16;
    default: return 0;
    }
}

static kw_value narrow(kw *w, kw_value v, enum rlx_kernel_elem e)
{
    unsigned op = narrowing(e);
    return op ? step(w, op, v.klass, v.dtype, v) : v;
}

static bool is_float_class(unsigned klass)
{
    return klass >= RLX_CLASS_F32;
}

static unsigned float_to_int(enum rlx_kernel_elem e)
{
    static const uint16_t ops[RLX_ELEM_COUNT] = {
        [RLX_ELEM_I8] = RLX_K_F64_TO_I8,   [RLX_ELEM_U8] = RLX_K_F64_TO_U8,   [RLX_ELEM_I16] = RLX_K_F64_TO_I16,
        [RLX_ELEM_U16] = RLX_K_F64_TO_U16, [RLX_ELEM_I32] = RLX_K_F64_TO_I32, [RLX_ELEM_U32] = RLX_K_F64_TO_U32,
        [RLX_ELEM_I64] = RLX_K_F64_TO_I64, [RLX_ELEM_U64] = RLX_K_F64_TO_U64,
    };
    return ops[e];
}

static kw_value int_to_float(kw *w, kw_value v, enum rlx_kernel_elem from, enum rlx_kernel_elem to, rlx_dtype dtype)
{
    unsigned f32 = v.klass == RLX_CLASS_I32 ? RLX_K_I32_TO_F32 : from == RLX_ELEM_U64 ? RLX_K_U64_TO_F32 : RLX_K_I64_TO_F32;
    unsigned f64 = v.klass == RLX_CLASS_I32 ? RLX_K_I32_TO_F64 : from == RLX_ELEM_U64 ? RLX_K_U64_TO_F64 : RLX_K_I64_TO_F64;
    if (to == RLX_ELEM_F32)
        return apply1(w, f32, RLX_CLASS_F32, dtype, v);
    kw_value d = apply1(w, f64, RLX_CLASS_F64, dtype, v);
    if (to == RLX_ELEM_F64)
        return d;
    return step(w, to == RLX_ELEM_F16 ? RLX_K_ROUND_F64_F16 : RLX_K_ROUND_F64_BF16, RLX_CLASS_F32, dtype, d);
}

static kw_value float_to_float(kw *w, kw_value v, enum rlx_kernel_elem to, rlx_dtype dtype)
{
    if (to == RLX_ELEM_F64)
        return apply1(w, RLX_K_F32_TO_F64, RLX_CLASS_F64, dtype, v);
    if (v.klass == RLX_CLASS_F64) {
        unsigned op = to == RLX_ELEM_F16 ? RLX_K_ROUND_F64_F16 : to == RLX_ELEM_BF16 ? RLX_K_ROUND_F64_BF16 : RLX_K_F64_TO_F32;
        return apply1(w, op, RLX_CLASS_F32, dtype, v);
    }
    return apply1(w, narrowing(to) ? narrowing(to) : RLX_K_MOVE_F32, RLX_CLASS_F32, dtype, v);
}

static kw_value int_to_int(kw *w, kw_value v, enum rlx_kernel_elem to, rlx_dtype dtype)
{
    unsigned klass = rlx_kernel_elems[to].klass;
    if (v.klass != klass) {
        kw_value d = apply1(w, klass == RLX_CLASS_I64 ? RLX_K_I32_TO_I64 : RLX_K_I64_TO_I32, klass, dtype, v);
        return narrow(w, d, to);
    }
    return apply1(w, narrowing(to) ? narrowing(to) : RLX_K_MOVE_I32 + klass, klass, dtype, v);
}

static kw_value zero_of(kw *w, unsigned klass)
{
    return (kw_value){ .reg = kw_const(w, klass, 0), .klass = (uint8_t)klass };
}

/* A new value, never v's own register. */
static kw_value convert(kw *w, kw_value v, rlx_dtype from_dtype, rlx_dtype dtype)
{
    enum rlx_kernel_elem from = elem_of(w, from_dtype), to = elem_of(w, dtype);
    unsigned klass = rlx_kernel_elems[to].klass;
    if (to == RLX_ELEM_BOOL)
        return apply2(w, RLX_K_NE_I32 + v.klass, RLX_CLASS_I32, dtype, v, zero_of(w, v.klass));
    if (!is_float_class(v.klass))
        return is_float_class(klass) ? int_to_float(w, v, from, to, dtype) : int_to_int(w, v, to, dtype);
    if (is_float_class(klass))
        return float_to_float(w, v, to, dtype);
    if (v.klass == RLX_CLASS_F64)
        return apply1(w, float_to_int(to), klass, dtype, v);
    kw_value d = apply1(w, RLX_K_F32_TO_F64, RLX_CLASS_F64, dtype, v);
    return step(w, float_to_int(to), klass, dtype, d);
}

/* ---- leaves ---------------------------------------------------------------------------------------------------- */

static kw_value literal(kw *w, unsigned klass, rlx_dtype dtype, uint64_t bits)
{
    return (kw_value){ .reg = kw_const(w, klass, bits), .klass = (uint8_t)klass, .dtype = dtype };
}

static kw_value float_literal(kw *w, const rlx_float_imm *f)
{
    enum rlx_kernel_elem e = elem_of(w, f->dtype);
    uint64_t bits = 0;
    float v = e == RLX_ELEM_F16 ? rlx_half_to_float(rlx_double_to_half(f->value))
              : e == RLX_ELEM_BF16 ? rlx_bfloat_to_float(rlx_double_to_bfloat(f->value)) : (float)f->value;
    uint32_t low;
    memcpy(&low, &v, 4);
    memcpy(&bits, &f->value, 8);
    return literal(w, rlx_kernel_elems[e].klass, f->dtype, e == RLX_ELEM_F64 ? bits : low);
}

static kw_value int_literal(kw *w, const rlx_int_imm *i)
{
    enum rlx_kernel_elem e = elem_of(w, i->dtype);
    return literal(w, rlx_kernel_elems[e].klass, i->dtype, (uint64_t)i->value);
}

/* Loop variables and sizes are kept as int64 whatever their dtype. */
static kw_value var_value(kw *w, const rlx_prim_var *v, bool as_int64)
{
    uintptr_t at;
    const kw_nest *n = w->nest;
    kw_value x;
    if (n && n->strip >= 0 && n->strip_level >= 0 && n->loops[n->strip].var == &v->node) {
        const kw_loop *l = &n->loops[n->strip];
        uint32_t start = n->strip_reg;
        if (!rlx_is_int_value(l->min, 0)) {
            start = kw_new_reg(w, RLX_CLASS_I64, 0);
            KW_EMIT(w, n->strip_level, RLX_K_XADD, start, n->strip_reg, kw_int64(w, l->min).reg);
        }
        x = make_dest(w, RLX_CLASS_I64, RELAX_INT64, true, n->strip_level);
        KW_EMIT(w, n->strip_level, RLX_K_IOTA, x.reg, start, kw_const_i64(w, 1));
        x.dtype = v->dtype;
        return as_int64 || rlx_kernel_elem_of(v->dtype) == RLX_ELEM_I64 ? x : step(w, RLX_K_I64_TO_I32, RLX_CLASS_I32, v->dtype, x);
    }
    if (!rlx_ptrmap_find(&w->vars, v, &at)) {
        kw_fail(w, "variable %s has no value here", v->name ? v->name->data : "?");
        return failure();
    }
    x = w->var_values.data[at - 1];
    if (!as_int64 && x.klass == RLX_CLASS_I64 && rlx_kernel_elems[elem_of(w, v->dtype)].klass == RLX_CLASS_I32)
        return apply1(w, RLX_K_I64_TO_I32, RLX_CLASS_I32, v->dtype, x);
    return x;
}

/* ---- indices ---------------------------------------------------------------------------------------------------- */

const rlx_prim *kw_wide_index(kw *w, const rlx_prim *p)
{
    const rlx_prim *q = p ? rlx_fold_cast(w->ctx, RELAX_INT64, p) : NULL;
    if (!q)
        kw_no_memory(w);
    return q;
}

kw_value kw_int64(kw *w, const rlx_prim *p)
{
    const rlx_prim *q = kw_wide_index(w, p);
    kw_value v = q && !w->failed ? kw_expr(w, q, KW_ALWAYS) : failure();
    if (v.wide && !w->failed)
        kw_fail(w, "a size depends on the inner loop");
    return v;
}

typedef struct available { const kw *w; int32_t level; bool no; } available;

static enum rlx_step check_available(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    available *a = user;
    uintptr_t at;
    if (n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_LET)
        a->no = true;
    if (n->kind == RLX_NODE_PRIM_VAR)
        a->no = !rlx_ptrmap_find(&a->w->vars, n, &at) || a->w->var_values.data[at - 1].level > a->level || a->w->var_values.data[at - 1].wide;
    return a->no ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Can it be computed in front of the nest, without touching memory or failing? */
static bool is_available(kw *w, const rlx_prim *p, int32_t level)
{
    if (p->kind == RLX_NODE_INT_IMM)
        return true;
    available a = { w, level, false };
    rlx_walker walker = { .enter = check_available, .user = &a, .unique = true };
    return rlx_walk(&w->ctx->memory, p, &walker, NULL) != RLX_STEP_STOP && !a.no;
}

static bool affine(kw *w, const kw_nest *n, const rlx_prim *index, rlx_tir_affine *a)
{
    const rlx_prim *vars[KW_MAX_NEST];
    for (size_t i = 0; i < n->count; i++)
        vars[i] = n->loops[i].var;
    if (!rlx_tir_affine_of(w->ctx, index, vars, n->count, a) || !is_available(w, a->base, n->level))
        return false;
    for (size_t i = 0; i < n->count; i++)
        if (a->coeff[i] && !is_available(w, a->coeff[i], n->level))
            return false;
    return true;
}

static const rlx_prim *plus(kw *w, const rlx_prim *a, const rlx_prim *b)
{
    return !a ? b : !b ? a : rlx_fold_add(w->ctx, a, b);
}

static const rlx_prim *times(kw *w, const rlx_prim *a, const rlx_prim *b)
{
    return a && b ? rlx_fold_mul(w->ctx, kw_wide_index(w, a), b) : NULL;
}

bool kw_flatten(kw *w, const kw_nest *n, const kw_buffer *b, const rlx_prim *const *indices, size_t count, kw_flat *out)
{
    *out = (kw_flat){ .base = rlx_int64(w->ctx, 0) };
    for (size_t d = 0; d < count; d++) {
        rlx_tir_affine a;
        if (!affine(w, n, indices[d], &a))
            return false;
        out->base = plus(w, out->base, times(w, a.base, b->strides[d]));
        for (size_t i = 0; i < n->count; i++)
            if (a.coeff[i])
                out->coeff[i] = plus(w, out->coeff[i], times(w, a.coeff[i], b->strides[d]));
    }
    return out->base != NULL && !w->failed;
}

static const rlx_prim *last_of(kw *w, const kw_loop *l)
{
    return rlx_fold_sub(w->ctx, rlx_fold_add(w->ctx, l->min, l->extent), rlx_int64(w->ctx, 1));
}

/* Is p surely >= low? Literals, and differences that simplify to one. */
static bool surely_at_least(kw *w, const rlx_prim *p, int64_t low)
{
    int64_t v;
    if (rlx_int_literal(p, &v))
        return v >= low;
    const rlx_prim *q = rlx_simplify(w->ctx, NULL, p);
    return rlx_int_literal(q, &v) && v >= low;
}

static bool box_of(kw *w, const kw_nest *n, const rlx_prim *index, const rlx_prim **low, const rlx_prim **high)
{
    rlx_tir_affine a;
    if (!affine(w, n, index, &a))
        return false;
    *low = *high = kw_wide_index(w, a.base);
    for (size_t i = 0; i < n->count; i++) {
        int64_t c;
        const kw_loop *l = &n->loops[i];
        if (!a.coeff[i])
            continue;
        if (!rlx_int_literal(a.coeff[i], &c))
            return false;
        const rlx_prim *k = rlx_int64(w->ctx, c), *first = times(w, k, l->min), *last = times(w, k, last_of(w, l));
        *low = plus(w, *low, c > 0 ? first : last);
        *high = plus(w, *high, c > 0 ? last : first);
    }
    return *low && *high;
}

static bool check_dim_box(kw *w, const kw_nest *n, const kw_buffer *b, size_t d, const rlx_prim *index)
{
    const rlx_prim *low, *high;
    if (!box_of(w, n, index, &low, &high))
        return false;
    const rlx_prim *room = rlx_fold_sub(w->ctx, b->shape[d], high);
    if (surely_at_least(w, low, 0) && surely_at_least(w, room, 1))
        return true;
    uint32_t lo = kw_int64(w, low).reg, hi = kw_int64(w, high).reg;
    KW_EMIT(w, n->level, RLX_K_CHECK, lo, hi, kw_int64(w, b->shape[d]).reg, b->index, (uint32_t)d);
    return true;
}

bool kw_check_box(kw *w, const kw_nest *n, const kw_buffer *b, const rlx_prim *const *indices, size_t count)
{
    for (size_t d = 0; d < count; d++)
        if (!check_dim_box(w, n, b, d, indices[d]))
            return false;
    return true;
}

/* ---- accesses ----------------------------------------------------------------------------------------------------- */

/* Where an access goes: scalar offset, or start and stride of a strip, or an offset per element. */
typedef struct place_of {
    enum { AT_ONE, AT_STRIP, AT_EACH } how;
    kw_value off;                  /* AT_ONE, AT_STRIP: scalar; AT_EACH: strip or scalar, to be freed */
    const rlx_prim *stride;        /* AT_STRIP: without variables of the nest */
    kw_value mask;
    bool loads;
} place_of;

static kw_value scalar_op(kw *w, unsigned op, kw_value a, kw_value b)
{
    kw_value d = make_dest(w, RLX_CLASS_I64, RELAX_INT64, false, later(a.level, b.level));
    d.loads = a.loads || b.loads;
    KW_EMIT(w, d.level, op, d.reg, a.reg, b.reg);
    return d;
}

static void check_scalar_index(kw *w, const kw_buffer *b, size_t d, const rlx_prim *index, kw_value v)
{
    int64_t at, size;
    if (rlx_int_literal(index, &at) && rlx_int_literal(b->shape[d], &size) && at >= 0 && at < size)
        return;
    kw_value s = kw_int64(w, b->shape[d]);
    int32_t level = later(later(v.level, s.level), floor_level(w, NULL));
    KW_EMIT(w, level, RLX_K_CHECK, v.reg, v.reg, s.reg, b->index, (uint32_t)d);
}

static void check_each_index(kw *w, const kw_buffer *b, size_t d, kw_value v, kw_value mask)
{
    kw_value s = kw_int64(w, b->shape[d]);
    bool wide = v.wide || (!always(mask) && mask.wide);
    int32_t level = wide ? w->nest->strip_level : later(later(v.level, s.level), later(floor_level(w, NULL), always(mask) ? 0 : mask.level));
    kw_value index = wide ? widen(w, v) : v;
    KW_EMIT(w, level, RLX_K_CHECK_EACH, index.reg, s.reg, always(mask) ? KW_NO_REG : (wide ? widen(w, mask) : mask).reg, b->index, (uint32_t)d);
}

/* Offset = sum of index * stride, element by element. */
static bool place_each(kw *w, const kw_buffer *b, const rlx_prim *const *indices, size_t count, kw_value mask, const bool *boxed, place_of *out)
{
    kw_value sum = literal(w, RLX_CLASS_I64, RELAX_INT64, 0);
    bool own = false; /* sum is a temporary of ours */
    for (size_t d = 0; d < count && !w->failed; d++) {
        const rlx_prim *index = kw_wide_index(w, indices[d]);
        kw_value v = kw_real(w, kw_expr(w, index, mask));
        if (w->failed)
            return false;
        out->loads |= v.loads;
        if (!boxed[d])
            check_each_index(w, b, d, v, mask);
        kw_value part = v;
        bool part_own = !rlx_is_int_value(b->strides[d], 1);
        if (part_own)
            part = apply2(w, RLX_K_MUL_I64, RLX_CLASS_I64, RELAX_INT64, v, kw_int64(w, b->strides[d]));
        kw_value next = apply2(w, RLX_K_ADD_I64, RLX_CLASS_I64, RELAX_INT64, sum, part);
        if (own)
            free_temp(w, sum);
        if (part_own)
            free_temp(w, part);
        sum = next;
        own = true;
    }
    out->how = AT_EACH;
    out->off = sum;
    out->mask = mask;
    return !w->failed;
}

/* Offset as start and stride: dimensions that the nest runs through evenly, and others that are the same all along. */
static bool place_even(kw *w, const kw_buffer *b, const rlx_prim *const *indices, const kw_value *values, const bool *boxed, size_t count,
                       place_of *out)
{
    const kw_nest *n = w->nest;
    const rlx_prim *even = rlx_int64(w->ctx, 0), *stride = NULL;
    for (size_t d = 0; d < count; d++) {
        kw_flat f;
        if (!boxed[d])
            continue;
        kw_buffer one = { .strides = { b->strides[d] } };
        if (!kw_flatten(w, n, &one, &indices[d], 1, &f))
            return w->failed ? false : kw_fail(w, "an index of %s cannot be computed", b->buffer->name ? b->buffer->name->data : "?");
        even = plus(w, even, f.base);
        for (size_t i = 0; i < n->count; i++) {
            const kw_loop *l = &n->loops[i];
            bool is_strip = (int)i == n->strip && n->strip_level >= 0;
            if (f.coeff[i])
                even = plus(w, even, times(w, is_strip || l->merged ? l->min : l->var, f.coeff[i]));
            if (f.coeff[i] && is_strip)
                stride = plus(w, stride, f.coeff[i]);
        }
    }
    kw_value off = kw_int64(w, even);
    for (size_t d = 0; d < count && !w->failed; d++)
        if (!boxed[d]) {
            kw_value part = rlx_is_int_value(b->strides[d], 1) ? values[d] : scalar_op(w, RLX_K_XMUL, values[d], kw_int64(w, b->strides[d]));
            off = scalar_op(w, RLX_K_XADD, off, part);
        }
    out->off = off;
    out->loads |= off.loads;
    out->stride = stride && !rlx_is_int_value(stride, 0) ? stride : NULL;
    out->how = out->stride ? AT_STRIP : AT_ONE;
    out->mask = KW_ALWAYS;
    return !w->failed;
}

static bool locate(kw *w, const kw_buffer *b, const rlx_prim *const *indices, size_t count, kw_value mask, place_of *out)
{
    bool boxed[RLX_TIR_MAX_DIMS] = { false }, each = !always(mask);
    kw_value values[RLX_TIR_MAX_DIMS];
    *out = (place_of){ .how = AT_ONE };
    if (count != b->buffer->num_shape)
        return kw_fail(w, "%s has %zu dimensions and is accessed with %zu indices", b->buffer->name ? b->buffer->name->data : "?",
                       b->buffer->num_shape, count);
    for (size_t d = 0; d < count && !each; d++) {
        boxed[d] = w->nest && check_dim_box(w, w->nest, b, d, indices[d]);
        if (boxed[d])
            continue;
        values[d] = kw_real(w, kw_expr(w, kw_wide_index(w, indices[d]), KW_ALWAYS));
        if (w->failed)
            return false;
        each = values[d].wide;
        out->loads |= values[d].loads;
        if (!each)
            check_scalar_index(w, b, d, indices[d], values[d]);
    }
    if (w->failed)
        return false;
    return each ? place_each(w, b, indices, count, mask, boxed, out) : place_even(w, b, indices, values, boxed, count, out);
}

/* Start offset of the strip at work. */
static uint32_t strip_offset(kw *w, const place_of *p)
{
    const kw_nest *n = w->nest;
    uint32_t at = kw_new_reg(w, RLX_CLASS_I64, 0);
    if (rlx_is_int_value(p->stride, 1))
        KW_EMIT(w, n->strip_level, RLX_K_XADD, at, n->strip_reg, p->off.reg);
    else
        KW_EMIT(w, n->strip_level, RLX_K_XMADD, at, n->strip_reg, kw_int64(w, p->stride).reg, p->off.reg);
    return at;
}

/* Memory that already is what a register holds. */
static bool is_native(enum rlx_kernel_elem e)
{
    return e == RLX_ELEM_I32 || e == RLX_ELEM_I64 || e == RLX_ELEM_U64 || e == RLX_ELEM_F32 || e == RLX_ELEM_F64;
}

static kw_value load_at(kw *w, const kw_buffer *b, const rlx_node *buffer, const place_of *p)
{
    unsigned klass = rlx_kernel_elems[b->elem].klass;
    rlx_dtype dtype = rlx_kernel_elems[b->elem].dtype;
    kw_value d;
    if (p->how == AT_ONE) {
        d = make_dest(w, klass, dtype, false, later(p->off.level, floor_level(w, buffer)));
        KW_EMIT(w, d.level, RLX_K_LOAD, d.reg, b->index, p->off.reg);
    } else if (p->how == AT_EACH) {
        bool wide = p->off.wide || (!always(p->mask) && p->mask.wide);
        int32_t level = later(later(p->off.level, floor_level(w, buffer)), always(p->mask) ? 0 : p->mask.level);
        d = make_dest(w, klass, dtype, wide, wide ? w->nest->strip_level : level);
        KW_EMIT(w, d.level, RLX_K_LOAD_EACH, d.reg, b->index, (wide ? widen(w, p->off) : p->off).reg,
                always(p->mask) ? KW_NO_REG : (wide ? widen(w, p->mask) : p->mask).reg);
        d.guard = p->mask.serial;
        free_temp(w, p->off);
    } else if (rlx_is_int_value(p->stride, 1) && is_native(b->elem)) {
        uint32_t at = strip_offset(w, p);
        d = make_dest(w, klass, dtype, false, w->nest->strip_level);
        d.wide = d.view = true;
        d.reg = kw_new_reg(w, klass, RLX_KERNEL_VIEW_REG);
        KW_EMIT(w, d.level, RLX_K_VIEW, d.reg, b->index, at);
    } else {
        uint32_t at = strip_offset(w, p);
        d = make_dest(w, klass, dtype, true, w->nest->strip_level);
        if (rlx_is_int_value(p->stride, 1))
            KW_EMIT(w, d.level, RLX_K_LOAD, d.reg, b->index, at);
        else
            KW_EMIT(w, d.level, RLX_K_LOAD_STRIDED, d.reg, b->index, at, kw_int64(w, p->stride).reg);
    }
    d.loads = true;
    return d;
}

static kw_value load(kw *w, const rlx_buffer_load *l, kw_value mask)
{
    kw_buffer *b = kw_buffer_of(w, l->buffer);
    place_of p;
    if (!b)
        return failure();
    if (l->predicate) {
        kw_fail(w, "a predicated load is not supported in kernels");
        return failure();
    }
    if (++w->depth > KW_MAX_DEPTH + MAX_LOAD_DEPTH) {
        kw_too_large(w, "loads inside each other");
        return failure();
    }
    bool ok = locate(w, b, l->indices, l->num_indices, mask, &p);
    w->depth--;
    return ok ? load_at(w, b, l->buffer, &p) : failure();
}

/* ---- operators ------------------------------------------------------------------------------------------------------ */

static bool is_unsigned64(rlx_dtype t)
{
    return rlx_kernel_elem_of(t) == RLX_ELEM_U64;
}

static kw_value unsupported(kw *w, const char *what, rlx_dtype dtype)
{
    char text[RLX_DTYPE_TEXT];
    rlx_dtype_name(dtype, text);
    kw_fail(w, "%s of %s is not supported in kernels", what, text);
    return failure();
}

/* Division and its kin can fail, unless by a literal that is not 0: then it may leave loops like other arithmetic. */
static kw_value divide(kw *w, unsigned op, unsigned op_u64, rlx_dtype t, kw_value *v, const rlx_prim *by, kw_value mask)
{
    unsigned klass = v[0].klass, chosen = is_unsigned64(t) ? op_u64 : op + klass;
    bool safe = by->kind == RLX_NODE_INT_IMM && ((const rlx_int_imm *)by)->value != 0;
    int32_t top = w->top;
    if (safe && !v[0].wide && !v[1].wide)
        w->top = later(v[0].level, v[1].level);
    kw_value d = apply(w, chosen, klass, t, v, 2, true, safe ? KW_ALWAYS : mask);
    w->top = top;
    if (safe)
        d.guard = v[0].guard;
    return narrow(w, d, elem_of(w, t));
}

static kw_value arithmetic(kw *w, unsigned op, rlx_dtype t, kw_value *v)
{
    if (elem_of(w, t) == RLX_ELEM_BOOL)
        return unsupported(w, "arithmetic", t);
    kw_value d = apply(w, op + v[0].klass, v[0].klass, t, v, 2, false, KW_ALWAYS);
    return narrow(w, d, elem_of(w, t));
}

static kw_value compare(kw *w, unsigned op, unsigned op_u64, rlx_dtype t, kw_value a, kw_value b)
{
    return apply2(w, op_u64 && is_unsigned64(t) ? op_u64 : op + a.klass, RLX_CLASS_I32, RELAX_BOOL, a, b);
}

static kw_value extreme(kw *w, unsigned op, unsigned op_u64, rlx_dtype t, kw_value *v)
{
    return apply(w, is_unsigned64(t) ? op_u64 : op + v[0].klass, v[0].klass, t, v, 2, false, KW_ALWAYS);
}

static kw_value binary(kw *w, const rlx_binary *b, kw_value *v, kw_value mask)
{
    rlx_dtype t = rlx_prim_dtype(b->a);
    bool is_float = is_float_class(v[0].klass);
    if (t != rlx_prim_dtype(b->b) || v[0].klass != v[1].klass) {
        kw_fail(w, "the operands of an operator have different dtypes");
        return failure();
    }
    switch (b->node.kind) {
    case RLX_NODE_ADD: return arithmetic(w, RLX_K_ADD_I32, t, v);
    case RLX_NODE_SUB: return arithmetic(w, RLX_K_SUB_I32, t, v);
    case RLX_NODE_MUL: return arithmetic(w, RLX_K_MUL_I32, t, v);
    case RLX_NODE_MIN: return extreme(w, RLX_K_MIN_I32, RLX_K_MIN_U64, t, v);
    case RLX_NODE_MAX: return extreme(w, RLX_K_MAX_I32, RLX_K_MAX_U64, t, v);
    case RLX_NODE_DIV:
        if (is_float)
            return arithmetic(w, RLX_K_DIV_F32 - RLX_CLASS_F32, t, v);
        return divide(w, RLX_K_DIV_I32, RLX_K_DIV_U64, t, v, b->b, mask);
    case RLX_NODE_MOD:
        if (is_float)
            return arithmetic(w, RLX_K_FMOD_F32 - RLX_CLASS_F32, t, v);
        return divide(w, RLX_K_MOD_I32, RLX_K_MOD_U64, t, v, b->b, mask);
    case RLX_NODE_FLOOR_DIV:
        return is_float ? unsupported(w, "floor division", t) : divide(w, RLX_K_FLOOR_DIV_I32, RLX_K_DIV_U64, t, v, b->b, mask);
    case RLX_NODE_FLOOR_MOD:
        return is_float ? unsupported(w, "floor modulus", t) : divide(w, RLX_K_FLOOR_MOD_I32, RLX_K_MOD_U64, t, v, b->b, mask);
    case RLX_NODE_EQ: return compare(w, RLX_K_EQ_I32, 0, t, v[0], v[1]);
    case RLX_NODE_NE: return compare(w, RLX_K_NE_I32, 0, t, v[0], v[1]);
    case RLX_NODE_LT: return compare(w, RLX_K_LT_I32, RLX_K_LT_U64, t, v[0], v[1]);
    case RLX_NODE_LE: return compare(w, RLX_K_LE_I32, RLX_K_LE_U64, t, v[0], v[1]);
    case RLX_NODE_GT: return compare(w, RLX_K_LT_I32, RLX_K_LT_U64, t, v[1], v[0]);
    case RLX_NODE_GE: return compare(w, RLX_K_LE_I32, RLX_K_LE_U64, t, v[1], v[0]);
    case RLX_NODE_AND: return apply2(w, RLX_K_AND_I32, RLX_CLASS_I32, RELAX_BOOL, v[0], v[1]);
    case RLX_NODE_OR: return apply2(w, RLX_K_OR_I32, RLX_CLASS_I32, RELAX_BOOL, v[0], v[1]);
    default: return failure();
    }
}

static kw_value choose(kw *w, rlx_dtype t, kw_value *v)
{
    if (v[1].klass != v[2].klass) {
        kw_fail(w, "the sides of a choice have different dtypes");
        return failure();
    }
    return apply(w, RLX_K_SELECT_I32 + v[1].klass, v[1].klass, t, v, 3, false, KW_ALWAYS);
}

/* Float instructions by intrinsic: that of float32, that of float64 follows it. */
static const uint16_t float_ops[RLX_TIR_NUM_INTRINSICS] = {
    [RLX_TIR_acos] = RLX_K_ACOS_F32,   [RLX_TIR_acosh] = RLX_K_ACOSH_F32,         [RLX_TIR_asin] = RLX_K_ASIN_F32,
    [RLX_TIR_asinh] = RLX_K_ASINH_F32, [RLX_TIR_atan] = RLX_K_ATAN_F32,           [RLX_TIR_atanh] = RLX_K_ATANH_F32,
    [RLX_TIR_ceil] = RLX_K_CEIL_F32,   [RLX_TIR_cos] = RLX_K_COS_F32,             [RLX_TIR_cosh] = RLX_K_COSH_F32,
    [RLX_TIR_erf] = RLX_K_ERF_F32,     [RLX_TIR_exp] = RLX_K_EXP_F32,             [RLX_TIR_exp2] = RLX_K_EXP2_F32,
    [RLX_TIR_exp10] = RLX_K_EXP10_F32, [RLX_TIR_fabs] = RLX_K_ABS_F32,            [RLX_TIR_floor] = RLX_K_FLOOR_F32,
    [RLX_TIR_log] = RLX_K_LOG_F32,     [RLX_TIR_log1p] = RLX_K_LOG1P_F32,         [RLX_TIR_log2] = RLX_K_LOG2_F32,
    [RLX_TIR_log10] = RLX_K_LOG10_F32, [RLX_TIR_nearbyint] = RLX_K_ROUND_F32,     [RLX_TIR_round] = RLX_K_ROUND_F32,
    [RLX_TIR_rsqrt] = RLX_K_RSQRT_F32, [RLX_TIR_sigmoid] = RLX_K_SIGMOID_F32,     [RLX_TIR_sin] = RLX_K_SIN_F32,
    [RLX_TIR_sinh] = RLX_K_SINH_F32,   [RLX_TIR_sqrt] = RLX_K_SQRT_F32,           [RLX_TIR_tan] = RLX_K_TAN_F32,
    [RLX_TIR_tanh] = RLX_K_TANH_F32,   [RLX_TIR_trunc] = RLX_K_TRUNC_F32,         [RLX_TIR_atan2] = RLX_K_ATAN2_F32,
    [RLX_TIR_copysign] = RLX_K_COPYSIGN_F32, [RLX_TIR_fmod] = RLX_K_FMOD_F32,     [RLX_TIR_hypot] = RLX_K_HYPOT_F32,
    [RLX_TIR_nextafter] = RLX_K_NEXTAFTER_F32, [RLX_TIR_pow] = RLX_K_POW_F32,     [RLX_TIR_fma] = RLX_K_FMA_F32,
    [RLX_TIR_isnan] = RLX_K_ISNAN_F32, [RLX_TIR_isinf] = RLX_K_ISINF_F32,         [RLX_TIR_isfinite] = RLX_K_ISFINITE_F32,
};

static kw_value float_call(kw *w, enum rlx_tir_intrinsic id, rlx_dtype t, kw_value *v, int n)
{
    bool is_test = rlx_tir_intrinsics[id].result == RLX_TIR_BOOL;
    unsigned klass = v[0].klass;
    for (int i = 1; i < n; i++)
        if (v[i].klass != klass)
            return unsupported(w, rlx_tir_intrinsics[id].name, t);
    kw_value d = apply(w, float_ops[id] + (klass - RLX_CLASS_F32), is_test ? RLX_CLASS_I32 : klass, is_test ? RELAX_BOOL : t, v, n, false, KW_ALWAYS);
    return is_test ? d : narrow(w, d, elem_of(w, t));
}

/* The bits of a narrow signed integer without what sign extension added. */
static kw_value as_bits(kw *w, kw_value v, enum rlx_kernel_elem e)
{
    if (e == RLX_ELEM_I8 || e == RLX_ELEM_I16)
        return apply1(w, e == RLX_ELEM_I8 ? RLX_K_WRAP_U8 : RLX_K_WRAP_U16, RLX_CLASS_I32, v.dtype, v);
    return apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, v.dtype, v);
}

static kw_value count_zeros(kw *w, kw_value v, enum rlx_kernel_elem e)
{
    int spare = (v.klass == RLX_CLASS_I64 ? 64 : 32) - 8 * rlx_kernel_elems[e].bytes;
    kw_value d = step(w, v.klass == RLX_CLASS_I64 ? RLX_K_CLZ_I64 : RLX_K_CLZ_I32, RLX_CLASS_I32, RELAX_INT32, as_bits(w, v, e));
    if (!spare)
        return d;
    kw_value pair[2] = { d, literal(w, RLX_CLASS_I32, RELAX_INT32, (uint64_t)spare) };
    kw_value r = apply(w, RLX_K_SUB_I32, RLX_CLASS_I32, RELAX_INT32, pair, 2, false, KW_ALWAYS);
    free_temp(w, d);
    return r;
}

static kw_value int_call(kw *w, enum rlx_tir_intrinsic id, rlx_dtype t, kw_value *v, kw_value mask)
{
    enum rlx_kernel_elem e = elem_of(w, t);
    unsigned klass = v[0].klass;
    bool u64 = e == RLX_ELEM_U64;
    if (rlx_tir_intrinsics[id].num_args == 2 && v[1].klass != klass)
        return unsupported(w, rlx_tir_intrinsics[id].name, t);
    switch (id) {
    case RLX_TIR_bitwise_and: return apply(w, RLX_K_AND_I32 + klass, klass, t, v, 2, false, KW_ALWAYS);
    case RLX_TIR_bitwise_or: return apply(w, RLX_K_OR_I32 + klass, klass, t, v, 2, false, KW_ALWAYS);
    case RLX_TIR_bitwise_xor: return apply(w, RLX_K_XOR_I32 + klass, klass, t, v, 2, false, KW_ALWAYS);
    case RLX_TIR_bitwise_not:
        if (e == RLX_ELEM_BOOL)
            return apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, t, v[0], zero_of(w, RLX_CLASS_I32));
        return narrow(w, apply2(w, RLX_K_XOR_I32 + klass, klass, t, v[0], literal(w, klass, t, UINT64_MAX)), e);
    case RLX_TIR_shift_left:
        return u64 ? apply(w, RLX_K_SHL_U64, klass, t, v, 2, false, mask) : narrow(w, apply(w, RLX_K_SHL_I32 + klass, klass, t, v, 2, true, mask), e);
    case RLX_TIR_shift_right:
        return u64 ? apply(w, RLX_K_SHR_U64, klass, t, v, 2, false, mask) : apply(w, RLX_K_SHR_I32 + klass, klass, t, v, 2, true, mask);
    case RLX_TIR_pow:
        return u64 ? apply(w, RLX_K_POW_U64, klass, t, v, 2, false, mask) : narrow(w, apply(w, RLX_K_POW_I32 + klass, klass, t, v, 2, true, mask), e);
    case RLX_TIR_popcount: return step(w, RLX_K_POPCOUNT_I32 + klass, klass, t, as_bits(w, v[0], e));
    case RLX_TIR_clz: return count_zeros(w, v[0], e);
    default: return unsupported(w, rlx_tir_intrinsics[id].name, t);
    }
}

static kw_value reinterpret(kw *w, rlx_dtype from, rlx_dtype to, kw_value v)
{
    enum rlx_kernel_elem f = elem_of(w, from), e = elem_of(w, to);
    if (rlx_kernel_elems[f].bytes != rlx_kernel_elems[e].bytes || f == RLX_ELEM_F16 || f == RLX_ELEM_BF16 || e == RLX_ELEM_F16 ||
        e == RLX_ELEM_BF16 || f == RLX_ELEM_BOOL || e == RLX_ELEM_BOOL)
        return unsupported(w, "reinterpret", to);
    if (!is_float_class(v.klass) && !is_float_class(rlx_kernel_elems[e].klass))
        return int_to_int(w, v, e, to);
    if (f == e)
        return apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, to, v);
    if (is_float_class(v.klass)) {
        kw_value d = v.klass == RLX_CLASS_F32 ? apply1(w, RLX_K_BITS_F32_I32, RLX_CLASS_I32, to, v) : apply1(w, RLX_K_BITS_F64_I64, RLX_CLASS_I64, to, v);
        return d.klass == rlx_kernel_elems[e].klass ? d : narrow(w, step(w, RLX_K_I32_TO_I64, RLX_CLASS_I64, to, d), e);
    }
    if (e == RLX_ELEM_F64)
        return apply1(w, RLX_K_BITS_I64_F64, RLX_CLASS_F64, to, v);
    kw_value d = v.klass == RLX_CLASS_I64 ? apply1(w, RLX_K_I64_TO_I32, RLX_CLASS_I32, to, v) : as_bits(w, v, RLX_ELEM_I32);
    return step(w, RLX_K_BITS_I32_F32, RLX_CLASS_F32, to, d);
}

static kw_value call(kw *w, const rlx_prim_call *c, kw_value *v, kw_value mask)
{
    enum rlx_tir_intrinsic id = c->op ? rlx_tir_find_intrinsic(rlx_string_slice(c->op)) : RLX_TIR_NO_INTRINSIC;
    rlx_dtype t = rlx_prim_dtype(c->args[0]);
    unsigned klass = v[0].klass;
    switch (id) {
    case RLX_TIR_if_then_else: return choose(w, c->dtype, v);
    case RLX_TIR_likely: return apply1(w, RLX_K_MOVE_I32 + klass, klass, t, v[0]);
    case RLX_TIR_reinterpret: return reinterpret(w, t, c->dtype, v[0]);
    case RLX_TIR_ldexp: {
        kw_value pair[2] = { v[0], convert(w, v[1], rlx_prim_dtype(c->args[1]), RELAX_INT64) };
        if (!is_float_class(klass) || is_float_class(v[1].klass))
            return unsupported(w, "ldexp", t);
        kw_value d = apply(w, RLX_K_LDEXP_F32 + (klass - RLX_CLASS_F32), klass, t, pair, 2, false, KW_ALWAYS);
        free_temp(w, pair[1]);
        return narrow(w, d, elem_of(w, t));
    }
    default: break;
    }
    if (is_float_class(klass) && float_ops[id])
        return float_call(w, id, t, v, (int)c->num_args);
    /* rounding leaves integers alone */
    if (!is_float_class(klass) && (id == RLX_TIR_floor || id == RLX_TIR_ceil || id == RLX_TIR_round || id == RLX_TIR_trunc || id == RLX_TIR_nearbyint))
        return apply1(w, RLX_K_MOVE_I32 + klass, klass, t, v[0]);
    return is_float_class(klass) ? unsupported(w, rlx_tir_intrinsics[id].name, t) : int_call(w, id, t, v, mask);
}

/* ---- expressions without recursion ------------------------------------------------------------------------------------ */

typedef struct frame { const rlx_prim *p; kw_value mask, v[3]; size_t at; } frame;

static size_t num_operands(const rlx_prim *p)
{
    switch (p->kind) {
    case RLX_NODE_NOT: case RLX_NODE_CAST: return 1;
    case RLX_NODE_SELECT: return 3;
    case RLX_NODE_PRIM_LET: return 2;
    case RLX_NODE_PRIM_CALL: return ((const rlx_prim_call *)p)->num_args;
    default: return rlx_as_binary(p) ? 2 : 0;
    }
}

static const rlx_prim *operand(const rlx_prim *p, size_t i)
{
    const rlx_select *s = rlx_as_select(p);
    switch (p->kind) {
    case RLX_NODE_NOT: case RLX_NODE_CAST: return ((const rlx_unary *)p)->a;
    case RLX_NODE_SELECT: return i == 0 ? s->cond : i == 1 ? s->true_value : s->false_value;
    case RLX_NODE_PRIM_LET: return i == 0 ? ((const rlx_prim_let *)p)->value : ((const rlx_prim_let *)p)->body;
    case RLX_NODE_PRIM_CALL: return ((const rlx_prim_call *)p)->args[i];
    default: return i == 0 ? ((const rlx_binary *)p)->a : ((const rlx_binary *)p)->b;
    }
}

static enum rlx_step find_risk(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_binary *b = rlx_as_binary(n);
    bool risk = n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_CALL;
    if (b && b->node.kind >= RLX_NODE_DIV && b->node.kind <= RLX_NODE_FLOOR_MOD)
        risk = b->b->kind != RLX_NODE_INT_IMM || rlx_is_int_value(b->b, 0);
    return risk ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Could computing it fail? Then it needs to know where it is wanted. */
static bool is_risky(kw *w, const rlx_prim *p)
{
    rlx_walker walker = { .enter = find_risk, .unique = true };
    return rlx_walk(&w->ctx->memory, p, &walker, NULL) == RLX_STEP_STOP;
}

/* Under which mask operand i is wanted: the right side of and, or; the sides of if_then_else. */
static kw_value operand_mask(kw *w, const frame *f)
{
    bool is_choice = f->p->kind == RLX_NODE_PRIM_CALL && ((const rlx_prim_call *)f->p)->op && f->at > 0 &&
                     rlx_slice_is(rlx_string_slice(((const rlx_prim_call *)f->p)->op), "if_then_else");
    bool is_logic = (f->p->kind == RLX_NODE_AND || f->p->kind == RLX_NODE_OR) && f->at == 1;
    if ((!is_choice && !is_logic) || !is_risky(w, operand(f->p, f->at)))
        return f->mask;
    return kw_and(w, f->mask, f->v[0], is_choice ? f->at == 2 : f->p->kind == RLX_NODE_OR);
}

static kw_value combine(kw *w, const frame *f)
{
    kw_value v[3] = { f->v[0], f->v[1], f->v[2] };
    switch (f->p->kind) {
    case RLX_NODE_NOT: return apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, RELAX_BOOL, v[0], zero_of(w, RLX_CLASS_I32));
    case RLX_NODE_CAST: return convert(w, v[0], rlx_prim_dtype(((const rlx_unary *)f->p)->a), ((const rlx_unary *)f->p)->dtype);
    case RLX_NODE_SELECT: return choose(w, ((const rlx_select *)f->p)->dtype, v);
    case RLX_NODE_PRIM_CALL: return call(w, (const rlx_prim_call *)f->p, v, f->mask);
    default: return binary(w, (const rlx_binary *)f->p, v, f->mask);
    }
}

static bool check_operands(kw *w, const rlx_prim *p)
{
    const rlx_prim_call *c = rlx_as_prim_call(p);
    const rlx_string *op = c ? c->op : NULL;
    enum rlx_tir_intrinsic id = op ? rlx_tir_find_intrinsic(rlx_string_slice(op)) : RLX_TIR_NO_INTRINSIC;
    if (c && (!op || id == RLX_TIR_NO_INTRINSIC || id == RLX_TIR_ret || c->num_args != rlx_tir_intrinsics[id].num_args))
        return kw_fail(w, "call of %s is not supported in kernels", op ? op->data : "another function");
    return true;
}

/* Leaves and what is remembered. False: its operands come first. */
static bool at_once(kw *w, const rlx_prim *p, kw_value mask, kw_value *out)
{
    const kw_memo *m;
    *out = failure();
    if (!p) {
        kw_no_memory(w);
        return true;
    }
    switch (p->kind) {
    case RLX_NODE_INT_IMM: *out = int_literal(w, (const rlx_int_imm *)p); return true;
    case RLX_NODE_FLOAT_IMM: *out = float_literal(w, (const rlx_float_imm *)p); return true;
    default: break;
    }
    m = recall(w, p);
    if (m && (!m->value.guard || m->value.guard == mask.serial)) {
        *out = m->value;
        return true;
    }
    if (m)
        forget(w, p);
    if (p->kind == RLX_NODE_PRIM_VAR) {
        *out = var_value(w, (const rlx_prim_var *)p, false);
        uintptr_t at;
        bool own = !rlx_ptrmap_find(&w->vars, p, &at) || w->var_values.data[at - 1].reg != out->reg;
        if (own && !w->failed)
            remember(w, p, *out);
        return true;
    }
    const rlx_unary *c = p->kind == RLX_NODE_CAST ? (const rlx_unary *)p : NULL;
    const rlx_prim_var *v = c && c->dtype == RELAX_INT64 ? rlx_as_prim_var(c->a) : NULL;
    if (v && rlx_kernel_elem_of(v->dtype) != RLX_ELEM_U64 && rlx_dtype_is_int(v->dtype)) {
        *out = var_value(w, v, true);
        if (out->klass == RLX_CLASS_I64) {
            if (out->wide)
                remember(w, p, *out);
            return true;
        }
    }
    if (p->kind == RLX_NODE_BUFFER_LOAD) {
        *out = load(w, (const rlx_buffer_load *)p, mask);
        if (!w->failed)
            remember(w, p, *out);
        return true;
    }
    if (!num_operands(p)) {
        kw_fail(w, "%s is not supported in kernels", rlx_kinds[p->kind].name);
        return true;
    }
    return !check_operands(w, p);
}

/* A PrimLet is its body with a name for a value, which must not vanish. */
static void name_value(kw *w, const frame *f)
{
    kw_memo *m = recall(w, operand(f->p, 0));
    if (m)
        m->uses = UINT32_MAX;
    kw_bind_var(w, ((const rlx_prim_let *)f->p)->var, kw_real(w, f->v[0]));
}

static kw_value finish(kw *w, frame *f)
{
    if (f->p->kind == RLX_NODE_PRIM_LET)
        return f->v[1];
    /* operands go before the result is placed, so that it may take the place of one */
    bool guarded = false;
    for (size_t i = 0; i < f->at; i++) {
        guarded |= f->v[i].guard != 0;
        done(w, operand(f->p, i));
    }
    kw_value d = combine(w, f);
    if (guarded)
        d.guard = f->mask.serial;
    if (!w->failed)
        remember(w, f->p, d);
    return d;
}

kw_value kw_expr(kw *w, const rlx_prim *p, kw_value mask)
{
    RLX_VEC(frame) stack = { 0 };
    rlx_memory *m = &w->ctx->memory;
    kw_value result;
    if (w->failed || at_once(w, p, mask, &result))
        return w->failed ? failure() : result;
    if (!rlx_vec_push(m, &stack, ((frame){ .p = p, .mask = mask })))
        kw_no_memory(w);
    result = failure();
    while (stack.len && !w->failed) {
        frame *f = &rlx_vec_last(&stack);
        if (f->at == num_operands(f->p)) {
            result = finish(w, f);
            (void)rlx_vec_pop(&stack);
            if (stack.len) {
                f = &rlx_vec_last(&stack);
                f->v[f->at++] = result;
                if (f->p->kind == RLX_NODE_PRIM_LET && f->at == 1)
                    name_value(w, f);
            }
            continue;
        }
        kw_value v, inner = operand_mask(w, f);
        const rlx_prim *next = operand(f->p, f->at); /* the push below may move the stack */
        if (at_once(w, next, inner, &v)) {
            f = &rlx_vec_last(&stack);
            f->v[f->at++] = v;
            if (f->p->kind == RLX_NODE_PRIM_LET && f->at == 1)
                name_value(w, f);
        } else if (!rlx_vec_push(m, &stack, ((frame){ .p = next, .mask = inner })))
            kw_no_memory(w);
    }
    rlx_vec_free(m, &stack);
    return w->failed ? failure() : result;
}

/* ---- stores ------------------------------------------------------------------------------------------------------------ */

/* The last instruction, if it made the strip `v` alone and can write to memory instead. */
static bool redirect(kw *w, kw_value v, size_t last, uint32_t view)
{
    kw_words *code = &w->levels[w->nest->strip_level].code;
    if (w->failed || !v.wide || v.view || last >= code->len || code->data[last] < RLX_K_FIRST_VALUE || code->data[last + 1] != v.reg)
        return false;
    code->data[last + 1] = (uint16_t)view;
    return true;
}

/* Position of the last instruction of the strip's code from `from` on. */
static size_t last_instruction(const kw *w, size_t from)
{
    const kw_words *code = &w->levels[w->nest->strip_level].code;
    size_t last = SIZE_MAX;
    while (from < code->len) {
        last = from;
        from += rlx_kernel_op_words(code->data[from]);
    }
    return last;
}

/* Into contiguous memory of the register's own kind: the last operation writes there. */
static void store_through(kw *w, const kw_buffer *b, const rlx_buffer_store *s, const place_of *p)
{
    uint32_t at = strip_offset(w, p), view = kw_new_reg(w, rlx_kernel_elems[b->elem].klass, RLX_KERNEL_VIEW_REG);
    const rlx_prim *value = s->value;
    kw_memo *before = recall(w, value);
    KW_EMIT(w, w->nest->strip_level, RLX_K_VIEW_OUT, view, b->index, at);
    size_t from = kw_length(w, w->nest->strip_level);
    kw_value v = kw_expr(w, value, KW_ALWAYS);
    if (w->failed)
        return;
    size_t last = before || !num_operands(value) ? SIZE_MAX : last_instruction(w, from);
    if (last != SIZE_MAX && redirect(w, v, last, view)) {
        free_temp(w, v);
        forget(w, value);
        return;
    }
    KW_EMIT(w, w->nest->strip_level, RLX_K_MOVE_I32 + v.klass, view, widen(w, v).reg);
    done(w, value);
}

static void store_strip(kw *w, const kw_buffer *b, const place_of *p, kw_value v)
{
    v = widen(w, kw_real(w, v));
    uint32_t at = strip_offset(w, p);
    if (rlx_is_int_value(p->stride, 1))
        KW_EMIT(w, w->nest->strip_level, RLX_K_STORE, b->index, at, v.reg);
    else
        KW_EMIT(w, w->nest->strip_level, RLX_K_STORE_STRIDED, b->index, at, kw_int64(w, p->stride).reg, v.reg);
}

static void store_each(kw *w, const kw_buffer *b, const place_of *p, kw_value v)
{
    bool wide = p->off.wide || v.wide || (!always(p->mask) && p->mask.wide);
    kw_value at = p->off, mask = p->mask;
    v = kw_real(w, v);
    if (wide) {
        v = widen(w, v);
        at = widen(w, at);
        mask = always(mask) ? mask : widen(w, mask);
    }
    KW_EMIT(w, w->top, RLX_K_STORE_EACH, b->index, at.reg, mask.reg, v.reg);
    free_temp(w, p->off);
}

bool kw_store(kw *w, const rlx_buffer_store *s, kw_value mask)
{
    kw_buffer *b = kw_buffer_of(w, s->buffer);
    place_of p;
    kw_begin_statement(w, &s->node);
    if (!b || !locate(w, b, s->indices, s->num_indices, mask, &p))
        return false;
    if (rlx_prim_dtype(s->value) != rlx_kernel_elems[b->elem].dtype)
        return kw_fail(w, "a store to %s has another dtype", b->buffer->name ? b->buffer->name->data : "?");
    if (w->rows.data[b->index].kind == RLX_KERNEL_BUFFER_CONST)
        return kw_fail(w, "a store to the constant %s", b->buffer->name ? b->buffer->name->data : "?");
    if (p.how == AT_STRIP && rlx_is_int_value(p.stride, 1) && is_native(b->elem))
        store_through(w, b, s, &p);
    else {
        kw_value v = kw_expr(w, s->value, mask);
        if (w->failed)
            return false;
        if (p.how == AT_STRIP)
            store_strip(w, b, &p, v);
        else if (p.how == AT_EACH)
            store_each(w, b, &p, v);
        else if (v.wide)
            return kw_fail(w, "a store of many values to one place");
        else
            KW_EMIT(w, w->top, RLX_K_STORE, b->index, p.off.reg, v.reg);
        done(w, s->value);
    }
    kw_forget_loads(w);
    return !w->failed;
}
