/* kgen_expr.c: expressions as instructions, without recursion; values known already are used
 * again. */
#include "codegen/kgen_int.h"

/* ---- remembering ---------------------------------------------------------------------------- */

void rlx_kgen_forget_loads(rlx_kgen *w)
{
    for (size_t i = 0; i < w->load_memos.len; i++) {
        rlx_kgen_memo *m = &w->memos.data[w->load_memos.data[i]];
        if (!m->live)
            continue;
        if (m->value.wide && !m->value.view && m->uses != UINT32_MAX)
            rlx_kgen_free_strip(w, m->value.reg);
        rlx_ptrmap_remove(&w->memo, m->p);
        m->live = false;
    }
    w->load_memos.len = 0;
}

rlx_kgen_memo *rlx_kgen_recall(rlx_kgen *w, const rlx_prim *p)
{
    uintptr_t at;
    return rlx_ptrmap_find(&w->memo, p, &at) ? &w->memos.data[at - 1] : NULL;
}

static void remember_value(rlx_kgen *w, const rlx_prim *p, rlx_kgen_value v)
{
    uintptr_t uses = 1;
    rlx_memory *m = &w->ctx->memory;
    rlx_ptrmap_find(&w->uses, p, &uses);
    if (rlx_kgen_failed(w))
        return;
    if (rlx_vec_push(m, &w->memos, ((rlx_kgen_memo){ p, v, (uint32_t)uses, true })) &&
        rlx_ptrmap_put(&w->memo, p, w->memos.len) &&
        rlx_vec_push(m, &w->levels[v.level].memo, (void *)p) && v.loads)
        (void)rlx_vec_push(m, &w->load_memos, (uint32_t)w->memos.len - 1);
}

void rlx_kgen_forget(rlx_kgen *w, const rlx_prim *p)
{
    rlx_kgen_memo *m = rlx_kgen_recall(w, p);
    if (m)
        m->live = false;
    rlx_ptrmap_remove(&w->memo, p);
}

/* One use of p is over; its strip may serve again. */
void rlx_kgen_done(rlx_kgen *w, const rlx_prim *p)
{
    rlx_kgen_memo *m = rlx_kgen_recall(w, p);
    if (!m || !m->value.wide || m->uses == UINT32_MAX || --m->uses)
        return;
    if (!m->value.view)
        rlx_kgen_free_strip(w, m->value.reg);
    rlx_kgen_forget(w, p);
}

typedef struct counter { rlx_kgen *w; RLX_VEC(const rlx_node *) pending; } counter;

static bool count_use(counter *c, const rlx_node *n)
{
    uintptr_t seen = 0;
    rlx_memory *m = &c->w->ctx->memory;
    if (!n || rlx_family_of(n) != RLX_FAMILY_PRIM)
        return true;
    bool known = rlx_ptrmap_find(&c->w->uses, n, &seen);
    return rlx_ptrmap_put(&c->w->uses, n, seen + 1) && (known || rlx_vec_push(m, &c->pending, n));
}

/* Strips left from the statements before: those that this one uses count its uses, the others
 * are free. */
static void recount_strips(rlx_kgen *w)
{
    rlx_ptrs *list = &w->levels[w->nest->strip_level].memo;
    size_t kept = 0;
    for (size_t i = 0; i < list->len; i++) {
        const rlx_prim *p = list->data[i];
        rlx_kgen_memo *m = rlx_kgen_recall(w, p);
        uintptr_t uses;
        if (!m)
            continue;
        if (m->value.wide && m->uses != UINT32_MAX) {
            bool used = rlx_ptrmap_find(&w->uses, p, &uses);
            m->uses = used ? (uint32_t)uses : 1;
            if (!used) {
                rlx_kgen_done(w, p);
                continue;
            }
        }
        list->data[kept++] = list->data[i];
    }
    list->len = kept;
}

void rlx_kgen_begin_statement(rlx_kgen *w, const rlx_stmt *s)
{
    counter c = { .w = w };
    rlx_ptrmap_clear(&w->uses);
    bool ok = true;
    for (size_t i = 0; i < rlx_child_count(s) && ok; i++)
        ok = count_use(&c, rlx_child(s, i));
    while (ok && c.pending.len) {
        const rlx_node *n = rlx_vec_pop(&c.pending);
        for (size_t i = 0; i < rlx_child_count(n) && ok; i++)
            ok = count_use(&c, rlx_child(n, i));
    }
    rlx_vec_free(&w->ctx->memory, &c.pending);
    if (ok && !rlx_kgen_failed(w) && w->nest && w->nest->strip_level >= 0)
        recount_strips(w);
}

void rlx_kgen_bind_var(rlx_kgen *w, const rlx_prim *var, rlx_kgen_value v)
{
    rlx_memory *m = &w->ctx->memory;
    if (rlx_kgen_failed(w))
        return;
    if (!rlx_vec_push(m, &w->var_values, v) || !rlx_ptrmap_put(&w->vars, var, w->var_values.len))
        return;
    rlx_kgen_hint(w, v.reg, var);
}

/* ---- leaves --------------------------------------------------------------------------------- */

static rlx_kgen_value float_literal(rlx_kgen *w, const rlx_float_imm *f)
{
    enum rlx_kernel_elem e = rlx_kgen_elem_of(w, f->dtype);
    uint64_t bits = 0;
    float v = (float)rlx_dtype_round(f->dtype, f->value);
    uint32_t low;
    memcpy(&low, &v, 4);
    memcpy(&bits, &f->value, 8);
    return rlx_kgen_literal(w, rlx_kernel_elems[e].klass, f->dtype, e == RLX_ELEM_F64 ? bits : low);
}

static rlx_kgen_value int_literal(rlx_kgen *w, const rlx_int_imm *i)
{
    enum rlx_kernel_elem e = rlx_kgen_elem_of(w, i->dtype);
    return rlx_kgen_literal(w, rlx_kernel_elems[e].klass, i->dtype, (uint64_t)i->value);
}

/* Loop variables and sizes are kept as int64 whatever their dtype. */
static rlx_kgen_value var_value(rlx_kgen *w, const rlx_prim_var *v, bool as_int64)
{
    uintptr_t at;
    const rlx_kgen_nest *n = w->nest;
    rlx_kgen_value x;
    if (n && n->strip_level >= 0 && n->plan->loops[n->plan->strip].var == &v->node) {
        const rlx_nest_loop *l = &n->plan->loops[n->plan->strip];
        uint32_t start = n->strip_reg;
        if (!rlx_is_int_value(l->min, 0)) {
            start = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
            RLX_KGEN_EMIT(w, n->strip_level, RLX_K_XADD, start, n->strip_reg,
                    rlx_kgen_int64(w, l->min).reg);
        }
        x = rlx_kgen_dest(w, RLX_CLASS_I64, RELAX_INT64, true, n->strip_level);
        RLX_KGEN_EMIT(w, n->strip_level, RLX_K_IOTA, x.reg, start, rlx_kgen_const_i64(w, 1));
        x.dtype = v->dtype;
        return as_int64 || rlx_kernel_elem_of(v->dtype) == RLX_ELEM_I64
                   ? x
                   : rlx_kgen_step(w, RLX_K_I64_TO_I32, RLX_CLASS_I32, v->dtype, x);
    }
    if (!rlx_ptrmap_find(&w->vars, v, &at)) {
        rlx_kgen_fail(w, "variable %s has no value here", v->name ? v->name->data : "?");
        return rlx_kgen_failure();
    }
    x = w->var_values.data[at - 1];
    if (!as_int64 && x.klass == RLX_CLASS_I64 &&
        rlx_kernel_elems[rlx_kgen_elem_of(w, v->dtype)].klass == RLX_CLASS_I32)
        return rlx_kgen_apply1(w, RLX_K_I64_TO_I32, RLX_CLASS_I32, v->dtype, x);
    return x;
}

/* What a variable gave is remembered if it was made for this use. The register of the variable
 * itself must outlive all its uses, which are not counted. */
static void remember_own(rlx_kgen *w, const rlx_prim *p, const rlx_prim *var, rlx_kgen_value v)
{
    uintptr_t at;
    bool own = !rlx_ptrmap_find(&w->vars, var, &at) || w->var_values.data[at - 1].reg != v.reg;
    if (own && !rlx_kgen_failed(w))
        remember_value(w, p, v);
}

/* ---- operands ------------------------------------------------------------------------------- */

size_t rlx_kgen_num_operands(const rlx_prim *p)
{
    return p->kind == RLX_NODE_BUFFER_LOAD ? 0 : rlx_tir_num_operands(p);
}

/* Is it wanted once, where it stands, and not known yet? */
static bool is_step(const rlx_kgen *w, const rlx_prim *p)
{
    uintptr_t uses = 1, at;
    rlx_ptrmap_find(&w->uses, p, &uses);
    return uses == 1 && !rlx_ptrmap_find(&w->memo, p, &at);
}

/* What a quotient divides by, and a product by a power of two, which schedules write in its place (schedule/ranges.c). */
static const rlx_prim *divisor_of(rlx_kgen *w, const rlx_binary *b)
{
    if (b->node.kind == RLX_NODE_DIV)
        return b->b;
    const double factor = b->node.kind == RLX_NODE_MUL && b->b->kind == RLX_NODE_FLOAT_IMM ? ((const rlx_float_imm *)b->b)->value : 0;
    return rlx_has_exact_reciprocal(factor) ? rlx_float(w->ctx, RELAX_FLOAT32, 1 / factor) : NULL;
}

/* QUANTIZE: round(a / b) + c, or round(a) + c, of float32 made int8 or uint8; no step of it is wanted elsewhere. */
static bool find_quantized(rlx_kgen *w, const rlx_prim *p, const rlx_prim **of)
{
    const rlx_unary *cast = p->kind == RLX_NODE_CAST ? (const rlx_unary *)p : NULL;
    const rlx_binary *sum = cast && cast->a->kind == RLX_NODE_ADD ? rlx_as_binary(cast->a) : NULL;
    const rlx_prim_call *round = sum ? rlx_as_prim_call(sum->a) : NULL;
    if (!round || !round->op || round->num_args != 1 ||
        !(rlx_slice_is(rlx_string_slice(round->op), "round") || rlx_slice_is(rlx_string_slice(round->op), "nearbyint")) ||
        (cast->dtype != RELAX_INT8 && cast->dtype != RELAX_UINT8) || rlx_prim_dtype(cast->a) != RELAX_FLOAT32 ||
        !is_step(w, cast->a) || !is_step(w, sum->a))
        return false;
    const rlx_binary *scaled = is_step(w, round->args[0]) ? rlx_as_binary(round->args[0]) : NULL;
    const rlx_prim *step = scaled ? divisor_of(w, scaled) : NULL;
    of[0] = step ? scaled->a : round->args[0];
    of[1] = step ? step : rlx_float(w->ctx, RELAX_FLOAT32, 1);
    of[2] = sum->b;
    return of[1] != NULL;
}

/* ---- expressions without recursion ---------------------------------------------------------- */

/* of: the operands of QUANTIZE, in place of its own. */
typedef struct frame { const rlx_prim *p, *of[3]; rlx_kgen_value mask, v[3]; size_t at; } frame;

static frame frame_of(rlx_kgen *w, const rlx_prim *p, rlx_kgen_value mask)
{
    frame f = { .p = p, .mask = mask };
    if (!find_quantized(w, p, f.of))
        f.of[0] = NULL;
    return f;
}

static size_t num_operands(const frame *f) { return f->of[0] ? RLX_COUNT(f->of) : rlx_kgen_num_operands(f->p); }
static const rlx_prim *operand(const frame *f, size_t i) { return f->of[0] ? f->of[i] : rlx_tir_operand(f->p, i); }

static enum rlx_step find_risk(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    const rlx_binary *b = rlx_as_binary(n);
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (l && rlx_kgen_load_is_sure(user, l))
        return RLX_STEP_SKIP;
    bool risk = l || n->kind == RLX_NODE_PRIM_CALL;
    if (b && b->node.kind >= RLX_NODE_DIV && b->node.kind <= RLX_NODE_FLOOR_MOD)
        risk = b->b->kind != RLX_NODE_INT_IMM || rlx_is_int_value(b->b, 0);
    return risk ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Could computing it fail? Then it needs to know where it is wanted. */
static bool is_risky(rlx_kgen *w, const rlx_prim *p)
{
    rlx_walker walker = { .enter = find_risk, .user = w, .unique = true };
    return rlx_walk(&w->ctx->memory, p, &walker, NULL) == RLX_STEP_STOP;
}

/* Under which mask operand i is wanted: the right side of and, or; the sides of if_then_else. */
static rlx_kgen_value operand_mask(rlx_kgen *w, const frame *f)
{
    bool is_choice =
        f->p->kind == RLX_NODE_PRIM_CALL && ((const rlx_prim_call *)f->p)->op && f->at > 0 &&
        rlx_slice_is(rlx_string_slice(((const rlx_prim_call *)f->p)->op), "if_then_else");
    bool is_logic = (f->p->kind == RLX_NODE_AND || f->p->kind == RLX_NODE_OR) && f->at == 1;
    if ((!is_choice && !is_logic) || !is_risky(w, rlx_tir_operand(f->p, f->at)))
        return f->mask;
    return rlx_kgen_and(w, f->mask, f->v[0], is_choice ? f->at == 2 : f->p->kind == RLX_NODE_OR);
}

/* `not x` of a number is x == 0. */
static rlx_kgen_value negated(rlx_kgen *w, rlx_kgen_value v, rlx_dtype dtype)
{
    if (!rlx_dtype_is_bool(dtype))
        v = rlx_kgen_convert(w, v, dtype, RELAX_BOOL);
    return rlx_kgen_apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, RELAX_BOOL, v,
                           rlx_kgen_zero(w, RLX_CLASS_I32));
}

static rlx_kgen_value apply_operator(rlx_kgen *w, const frame *f)
{
    rlx_kgen_value v[3] = { f->v[0], f->v[1], f->v[2] };
    if (f->of[0])
        return rlx_kgen_apply(w, rlx_prim_dtype(f->p) == RELAX_INT8 ? RLX_K_QUANTIZE_I8 : RLX_K_QUANTIZE_U8, RLX_CLASS_I32,
                              rlx_prim_dtype(f->p), v, 3, false, RLX_KGEN_ALWAYS);
    switch (f->p->kind) {
    case RLX_NODE_NOT: return negated(w, v[0], rlx_prim_dtype(((const rlx_unary *)f->p)->a));
    case RLX_NODE_CAST:
        return rlx_kgen_convert(w, v[0], rlx_prim_dtype(((const rlx_unary *)f->p)->a),
                                ((const rlx_unary *)f->p)->dtype);
    case RLX_NODE_SELECT: return rlx_kgen_choose(w, ((const rlx_select *)f->p)->dtype, v);
    case RLX_NODE_PRIM_CALL: return rlx_kgen_call(w, (const rlx_prim_call *)f->p, v, f->mask);
    default: return rlx_kgen_binary(w, (const rlx_binary *)f->p, v, f->mask);
    }
}

/* Calls of functions by name: the first argument of call_extern, call_packed and their kin. */
static bool refuse_call(rlx_kgen *w, const rlx_prim_call *c)
{
    const rlx_tir_string *name =
        c->num_args && c->args[0]->kind == RLX_NODE_TIR_STRING ? (const void *)c->args[0] : NULL;
    if (c->op && name)
        return rlx_kgen_fail(
            w,
            "%s of \"%s\" is not supported in kernels, which call nothing outside of "
            "themselves, registered or not; call it from Relax by R.call_dps_packed",
            c->op->data, name->value->data);
    return rlx_kgen_fail(w, "call of %s is not supported in kernels",
                         c->op ? c->op->data : "another function");
}

static bool check_operands(rlx_kgen *w, const rlx_prim *p)
{
    const rlx_prim_call *c = rlx_as_prim_call(p);
    const rlx_string *op = c ? c->op : NULL;
    enum rlx_tir_intrinsic id =
        op ? rlx_tir_find_intrinsic(rlx_string_slice(op)) : RLX_TIR_NO_INTRINSIC;
    if (c && (!op || id == RLX_TIR_NO_INTRINSIC || id == RLX_TIR_ret ||
              c->num_args != rlx_tir_intrinsics[id].num_args))
        return refuse_call(w, c);
    return true;
}

/* Leaves and what is remembered. False: its operands come first. */
static bool find_at_once(rlx_kgen *w, const rlx_prim *p, rlx_kgen_value mask, rlx_kgen_value *out)
{
    const rlx_kgen_memo *m;
    *out = rlx_kgen_failure();
    if (!p) {
        w->refused = true; /* what should have made it has failed */
        return true;
    }
    switch (p->kind) {
    case RLX_NODE_INT_IMM: *out = int_literal(w, (const rlx_int_imm *)p); return true;
    case RLX_NODE_FLOAT_IMM: *out = float_literal(w, (const rlx_float_imm *)p); return true;
    default: break;
    }
    m = rlx_kgen_recall(w, p);
    if (m && (!m->value.guard || m->value.guard == mask.serial)) {
        *out = m->value;
        return true;
    }
    if (m)
        rlx_kgen_forget(w, p);
    if (p->kind == RLX_NODE_PRIM_VAR) {
        *out = var_value(w, (const rlx_prim_var *)p, false);
        remember_own(w, p, p, *out);
        return true;
    }
    const rlx_unary *c = p->kind == RLX_NODE_CAST ? (const rlx_unary *)p : NULL;
    const rlx_prim_var *v = c && c->dtype == RELAX_INT64 ? rlx_as_prim_var(c->a) : NULL;
    if (v && rlx_kernel_elem_of(v->dtype) != RLX_ELEM_U64 && rlx_dtype_is_int(v->dtype)) {
        *out = var_value(w, v, true);
        if (out->klass == RLX_CLASS_I64) {
            if (out->wide)
                remember_own(w, p, &v->node, *out);
            return true;
        }
    }
    if (p->kind == RLX_NODE_BUFFER_LOAD) {
        *out = rlx_kgen_load(w, (const rlx_buffer_load *)p, mask);
        if (!rlx_kgen_failed(w))
            remember_value(w, p, *out);
        return true;
    }
    if (!rlx_kgen_num_operands(p)) {
        rlx_kgen_fail(w, "%s is not supported in kernels", rlx_kinds[p->kind].name);
        return true;
    }
    return !check_operands(w, p);
}

/* A PrimLet is its body with a name for a value, which must not vanish. */
static void name_value(rlx_kgen *w, const frame *f)
{
    rlx_kgen_memo *m = rlx_kgen_recall(w, rlx_tir_operand(f->p, 0));
    if (m)
        m->uses = UINT32_MAX;
    rlx_kgen_bind_var(w, ((const rlx_prim_let *)f->p)->var, rlx_kgen_real(w, f->v[0]));
}

/* Does a strip of the one type hold the same as a strip of the other? */
static bool is_same_strip(enum rlx_kernel_elem from, enum rlx_kernel_elem to)
{
    const rlx_kernel_elem_row *f = &rlx_kernel_elems[from], *t = &rlx_kernel_elems[to];
    bool holds = from == to || from == RLX_ELEM_BOOL || (from == RLX_ELEM_U8 && t->bytes > 1) || (from == RLX_ELEM_I8 && to == RLX_ELEM_I16);
    return f->klass == t->klass && (to == RLX_ELEM_BOOL ? from == to : !rlx_kgen_narrowing(to) || holds);
}

/* Is it a cast that gives its operand? Strips then go from one to the other, if nothing else is to read them. */
static bool gives_operand(rlx_kgen *w, const frame *f)
{
    const rlx_unary *cast = f->p->kind == RLX_NODE_CAST && !f->of[0] ? (const rlx_unary *)f->p : NULL;
    if (!cast || !f->v[0].wide ||
        !is_same_strip(rlx_kgen_elem_of(w, rlx_prim_dtype(cast->a)), rlx_kgen_elem_of(w, cast->dtype)))
        return false;
    const rlx_kgen_memo *m = rlx_kgen_recall(w, cast->a);
    return f->v[0].view || (m && m->uses == 1 && m->value.reg == f->v[0].reg);
}

static rlx_kgen_value finish_operands(rlx_kgen *w, frame *f)
{
    if (f->p->kind == RLX_NODE_PRIM_LET)
        return f->v[1];
    /* operands go before the result is placed, so that it may take the place of one */
    bool guarded = false, same = gives_operand(w, f);
    for (size_t i = 0; i < f->at; i++) {
        guarded |= f->v[i].guard != 0;
        if (same && !f->v[i].view)
            rlx_kgen_forget(w, operand(f, i));
        else
            rlx_kgen_done(w, operand(f, i));
    }
    rlx_kgen_value d = same ? f->v[0] : apply_operator(w, f);
    d.dtype = same ? rlx_prim_dtype(f->p) : d.dtype;
    if (guarded)
        d.guard = f->mask.serial;
    if (!rlx_kgen_failed(w))
        remember_value(w, f->p, d);
    return d;
}

rlx_kgen_value rlx_kgen_expr(rlx_kgen *w, const rlx_prim *p, rlx_kgen_value mask)
{
    RLX_VEC(frame) stack = { 0 };
    rlx_memory *m = &w->ctx->memory;
    rlx_kgen_value result;
    if (rlx_kgen_failed(w) || find_at_once(w, p, mask, &result))
        return rlx_kgen_failed(w) ? rlx_kgen_failure() : result;
    (void)rlx_vec_push(m, &stack, frame_of(w, p, mask));
    result = rlx_kgen_failure();
    while (stack.len && !rlx_kgen_failed(w)) {
        frame *f = &rlx_vec_last(&stack);
        if (f->at == num_operands(f)) {
            result = finish_operands(w, f);
            (void)rlx_vec_pop(&stack);
            if (stack.len) {
                f = &rlx_vec_last(&stack);
                f->v[f->at++] = result;
                if (f->p->kind == RLX_NODE_PRIM_LET && f->at == 1)
                    name_value(w, f);
            }
            continue;
        }
        rlx_kgen_value v, inner = operand_mask(w, f);
        /* before the push below, which may move the stack */
        const rlx_prim *next = operand(f, f->at);
        if (find_at_once(w, next, inner, &v)) {
            f = &rlx_vec_last(&stack);
            f->v[f->at++] = v;
            if (f->p->kind == RLX_NODE_PRIM_LET && f->at == 1)
                name_value(w, f);
        } else {
            (void)rlx_vec_push(m, &stack, frame_of(w, next, inner));
        }
    }
    rlx_vec_free(m, &stack);
    return rlx_kgen_failed(w) ? rlx_kgen_failure() : result;
}
