/* print_prim.c: integer and scalar expressions.
 *
 * Operators print as operators where reading builds the same node again; where it would fold,
 * the node's own constructor is written: T.Add(n, 0).
 */
#include "script/print_int.h"
#include "tir/tir.h"

#include "arith/arith.h"

enum { PREC_NONE, PREC_OR, PREC_AND, PREC_NOT, PREC_COMPARE, PREC_SUM, PREC_PRODUCT };

/* op NULL: a function; raw: the constructor, as for T.Add */
static const struct { const char *op, *raw; uint8_t prec; } binaries[] = {
    [RLX_NODE_ADD - RLX_NODE_ADD] = { " + ", "Add", PREC_SUM },
    [RLX_NODE_SUB - RLX_NODE_ADD] = { " - ", "Sub", PREC_SUM },
    [RLX_NODE_MUL - RLX_NODE_ADD] = { " * ", "Mul", PREC_PRODUCT },
    [RLX_NODE_DIV - RLX_NODE_ADD] = { " / ", "Div", PREC_PRODUCT },
    [RLX_NODE_MOD - RLX_NODE_ADD] = { NULL, "Mod", 0 },
    [RLX_NODE_FLOOR_DIV - RLX_NODE_ADD] = { " // ", "FloorDiv", PREC_PRODUCT },
    [RLX_NODE_FLOOR_MOD - RLX_NODE_ADD] = { " % ", "FloorMod", PREC_PRODUCT },
    [RLX_NODE_MIN - RLX_NODE_ADD] = { NULL, "Min", 0 },
    [RLX_NODE_MAX - RLX_NODE_ADD] = { NULL, "Max", 0 },
    [RLX_NODE_EQ - RLX_NODE_ADD] = { " == ", "EQ", PREC_COMPARE },
    [RLX_NODE_NE - RLX_NODE_ADD] = { " != ", "NE", PREC_COMPARE },
    [RLX_NODE_LT - RLX_NODE_ADD] = { " < ", "LT", PREC_COMPARE },
    [RLX_NODE_LE - RLX_NODE_ADD] = { " <= ", "LE", PREC_COMPARE },
    [RLX_NODE_GT - RLX_NODE_ADD] = { " > ", "GT", PREC_COMPARE },
    [RLX_NODE_GE - RLX_NODE_ADD] = { " >= ", "GE", PREC_COMPARE },
    [RLX_NODE_AND - RLX_NODE_ADD] = { " and ", "And", PREC_AND },
    [RLX_NODE_OR - RLX_NODE_ADD] = { " or ", "Or", PREC_OR },
};

/* ---- leaves */
static bool is_literal(const rlx_prim *p)
{
    return p->kind == RLX_NODE_INT_IMM || p->kind == RLX_NODE_FLOAT_IMM;
}

static void open_typed(rlx_printer *p, rlx_dtype t)
{
    char name[RLX_DTYPE_TEXT];
    size_t len = rlx_dtype_name(t, name);
    rlx_put_t(p);
    rlx_buf_put(p->out, name, len);
    rlx_put(p, "(");
}

static void put_int(rlx_printer *p, const rlx_int_imm *i, unsigned flags)
{
    bool bare =
        ((flags & RLX_ITEM_BARE) && i->dtype == RELAX_INT64) ||
        (p->where == RLX_PRINT_TIR && i->dtype == RELAX_INT32 && (p->newer || !(flags & RLX_ITEM_TYPED)));
    if (rlx_dtype_is_bool(i->dtype)) {
        open_typed(p, i->dtype);
        rlx_buf_z(p->out, i->value ? "True)" : "False)");
        return;
    }
    if (!bare)
        open_typed(p, i->dtype);
    if (rlx_dtype_is_large(i->dtype, i->value))
        rlx_buf_u64(p->out, (uint64_t)i->value);
    else
        rlx_buf_i64(p->out, i->value);
    if (!bare)
        rlx_put(p, ")");
}

static void put_tir_string(rlx_printer *p, const rlx_tir_string *s)
{
    if (memchr(s->value->data, '\n', s->value->len))
        rlx_put_metadata(p, RLX_META_TIR_STRING, &s->node);
    else
        rlx_put_string(p, rlx_string_slice(s->value));
}

bool rlx_print_prim_leaf(rlx_printer *p, const rlx_node *n, unsigned flags)
{
    switch (n->kind) {
    case RLX_NODE_PRIM_VAR: rlx_put_var(p, n); return true;
    case RLX_NODE_INT_IMM: put_int(p, (const rlx_int_imm *)n, flags); return true;
    case RLX_NODE_FLOAT_IMM:
        open_typed(p, ((const rlx_float_imm *)n)->dtype);
        rlx_put_float(p, ((const rlx_float_imm *)n)->value);
        rlx_put(p, ")");
        return true;
    case RLX_NODE_TIR_STRING: put_tir_string(p, (const rlx_tir_string *)n); return true;
    default: return false;
    }
}

/* ---- operators */

/* Would reading refuse `a op b`: a quotient that is not of integers, or by zero? */
static bool is_refused(const rlx_binary *b)
{
    rlx_dtype t = rlx_prim_dtype(b->a);
    bool floors = b->node.kind == RLX_NODE_FLOOR_DIV || b->node.kind == RLX_NODE_FLOOR_MOD;
    if (floors && !rlx_dtype_is_int(t) && !rlx_dtype_is_bool(t))
        return true;
    return (floors || b->node.kind == RLX_NODE_MOD) && rlx_is_int_value(b->b, 0);
}

/* Would reading `a op b` give another node? Reading builds comparisons as they are written, but
 * for two literals the constructor is clearer, and TVM prints it. */
static bool needs_raw(const rlx_binary *b)
{
    if (b->node.kind >= RLX_NODE_AND)
        return is_literal(b->a) || is_literal(b->b) || rlx_refolds(NULL, &b->node);
    if (b->node.kind >= RLX_NODE_EQ)
        return (is_literal(b->a) && b->b->kind == b->a->kind) || rlx_refolds(NULL, &b->node);
    if (b->node.kind == RLX_NODE_DIV && !rlx_dtype_is_float(rlx_prim_dtype(b->a)))
        return true;
    if (is_refused(b))
        return true;
    return rlx_refolds(NULL, &b->node);
}

/* A literal takes the dtype of the other operand, when that has one. */
static unsigned operand_flags(const rlx_prim *a, const rlx_prim *other, unsigned flags)
{
    return is_literal(a) && is_literal(other) ? flags & ~(unsigned)RLX_ITEM_BARE : flags;
}

static void push_call2(rlx_printer *p, const rlx_binary *b, unsigned flags_a, unsigned flags_b)
{
    rlx_put(p, "(");
    rlx_push_text(p, ")");
    rlx_push_node(p, b->b, 0, flags_b);
    rlx_push_text(p, ", ");
    rlx_push_node(p, b->a, 0, flags_a);
}

static const char *function_name(const rlx_node *n)
{
    return n->kind == RLX_NODE_MOD ? "truncmod" : n->kind == RLX_NODE_MIN ? "min" : "max";
}

static void step_binary(rlx_printer *p, const rlx_binary *b, unsigned prec, unsigned flags)
{
    size_t row = (size_t)(b->node.kind - RLX_NODE_ADD);
    unsigned own = binaries[row].prec, fa = operand_flags(b->a, b->b, flags),
             fb = operand_flags(b->b, b->a, flags);
    if (needs_raw(b)) {
        unsigned typed = flags & ~(unsigned)RLX_ITEM_BARE;
        rlx_put_t(p);
        rlx_buf_z(p->out, binaries[row].raw);
        push_call2(p, b, is_literal(b->a) ? typed : flags, is_literal(b->b) ? typed : flags);
        return;
    }
    if (!binaries[row].op) {
        rlx_put_t(p);
        rlx_buf_z(p->out, function_name(&b->node));
        push_call2(p, b, fa, fb);
        return;
    }
    if (own < prec) {
        rlx_put(p, "(");
        rlx_push_text(p, ")");
    }
    if (rlx_print_leaf(p, b->a, fa)) {
        rlx_buf_z(p->out, binaries[row].op);
        if (!rlx_print_leaf(p, b->b, fb))
            rlx_push_node(p, b->b, own + 1, fb);
        return;
    }
    rlx_push_node(p, b->b, own + 1, fb);
    rlx_push_text(p, binaries[row].op);
    /* TVM 0.27 reads comparisons in a row as Python does */
    rlx_push_node(p, b->a, own + (p->newer && own == PREC_COMPARE), fa);
}

static void step_not(rlx_printer *p, const rlx_unary *u, unsigned prec, unsigned flags)
{
    const rlx_int_imm *literal = rlx_as_int_imm(u->a);
    if (literal && !rlx_dtype_is_bool(literal->dtype)) { /* `not 0` is Python's */
        rlx_put_t(p);
        rlx_put(p, "Not(");
        rlx_push_text(p, ")");
        rlx_push_node(p, u->a, 0, flags & ~(unsigned)RLX_ITEM_BARE);
        return;
    }
    if (PREC_NOT < prec) {
        rlx_put(p, "(");
        rlx_push_text(p, ")");
    }
    rlx_put(p, "not ");
    rlx_push_node(p, u->a, PREC_NOT, flags);
}

/* ---- functions */

/* Children of a function keep the marks of the place, but a literal's dtype is not said by
 * anything else. */
static unsigned argument_flags(const rlx_prim *a, unsigned flags)
{
    return a && is_literal(a) ? flags & ~(unsigned)RLX_ITEM_BARE : flags;
}

static void step_cast(rlx_printer *p, const rlx_unary *u, unsigned flags)
{
    rlx_put_t(p);
    rlx_put(p, "Cast(");
    rlx_put_dtype(p, u->dtype);
    rlx_put(p, ", ");
    rlx_push_text(p, ")");
    rlx_push_node(p, u->a, 0, argument_flags(u->a, flags));
}

/* T.name(a, b, c) of nodes with one meaning each. */
static void push_args(rlx_printer *p, const char *name, const rlx_prim *a, const rlx_prim *b,
                      const rlx_prim *c, unsigned flags)
{
    rlx_put_t(p);
    rlx_buf_z(p->out, name);
    rlx_put(p, "(");
    rlx_push_text(p, ")");
    if (c) {
        rlx_push_node(p, c, 0, argument_flags(c, flags));
        rlx_push_text(p, ", ");
    }
    rlx_push_node(p, b, 0, argument_flags(b, flags));
    rlx_push_text(p, ", ");
    rlx_push_node(p, a, 0, argument_flags(a, flags));
}

static void step_shuffle(rlx_printer *p, const rlx_shuffle *s)
{
    rlx_put_t(p);
    rlx_put(p, "Shuffle([");
    rlx_push_text(p, "])");
    rlx_push_list(p, s->indices, s->num_indices, 0);
    rlx_push_text(p, "], [");
    rlx_push_list(p, s->vectors, s->num_vectors, 0);
}

static void step_let(rlx_printer *p, const rlx_prim_let *l, unsigned flags)
{
    rlx_put_t(p);
    rlx_put(p, "Let(");
    rlx_push_text(p, "})");
    rlx_push_node(p, l->value, 0, argument_flags(l->value, flags));
    rlx_push_text(p, ": ");
    rlx_push_node(p, l->var, 0, 0);
    rlx_push_text(p, ", where={");
    rlx_push_node(p, l->body, 0, argument_flags(l->body, flags));
}

static void step_load(rlx_printer *p, const rlx_buffer_load *l)
{
    rlx_put_var(p, l->buffer);
    if (!l->predicate) {
        rlx_put(p, "[");
        rlx_push_indices(p, l->indices, l->num_indices);
        return;
    }
    rlx_put(p, ".vload([");
    rlx_push_text(p, ")");
    rlx_push_node(p, l->predicate, 0, 0);
    rlx_push_text(p, "], predicate=");
    rlx_push_list(p, l->indices, l->num_indices, 0);
}

/* Names after `lambda`, defined in a frame of their own. */
static void lambda_names(rlx_printer *p, const rlx_node *const *vars, size_t count,
                         const char *before)
{
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(p->out, i ? ", " : before);
        rlx_bound *b = rlx_define_at(p, vars[i], p->frames.len - 1);
        if (b)
            rlx_put_bound(p, b);
    }
}

static void step_reducer(rlx_printer *p, const rlx_comm_reducer *r)
{
    rlx_put_t(p);
    rlx_put(p, "comm_reducer(lambda ");
    rlx_print_enter(p, NULL);
    lambda_names(p, r->lhs, r->num_lhs, "");
    lambda_names(p, r->rhs, r->num_rhs, ", ");
    rlx_put(p, ": ");
    rlx_push_text(p, "])");
    rlx_push_list(p, r->identity, r->num_identity, 0);
    rlx_push_text(p, ", [");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_LEAVE });
    if (r->num_result != 1) {
        rlx_put(p, "(");
        rlx_push_text(p, ")");
    }
    rlx_push_list(p, r->result, r->num_result, 0);
}

static void step_reduce(rlx_printer *p, const rlx_reduce *r)
{
    rlx_put_t(p);
    rlx_put(p, "Reduce(");
    rlx_push_text(p, "])");
    rlx_push_list(p, r->init, r->num_init, 0);
    rlx_push_text(p, ", init=[");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_COUNT, .count = (size_t)r->value_index });
    rlx_push_text(p, ", ");
    rlx_push_node(p, r->condition, 0, 0);
    rlx_push_text(p, "], ");
    rlx_push_list(p, r->axis, r->num_axis, 0);
    rlx_push_text(p, "], [");
    rlx_push_list(p, r->source, r->num_source, 0);
    rlx_push_text(p, ", [");
    rlx_push_node(p, r->combiner, 0, 0);
}

void rlx_print_step_index_map(rlx_printer *p, const rlx_index_map *m, unsigned flags)
{
    rlx_print_enter(p, NULL);
    rlx_put(p, "lambda ");
    lambda_names(p, m->initial, m->num_initial, "");
    rlx_put(p, ": (");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_LEAVE });
    rlx_push_text(p, m->num_final == 1 ? ",)" : ")");
    rlx_push_list(p, m->final, m->num_final, flags & RLX_ITEM_BARE);
}

/* ---- calls of intrinsics */

static const struct { const char *name; uint8_t rule; } intrinsics[] = {
#define TIR_CALL(name, rule) { #name, RLX_TIR_RULE_##rule },
#include "script/tir_call.def"
};

/* Lengths of the names: a look-up compares only names of its own length. */
static const uint8_t lengths[RLX_COUNT(intrinsics)] = {
#define TIR_CALL(name, rule) sizeof(#name) - 1,
#include "script/tir_call.def"
};

/* Row of a name, or -1. */
static int find_intrinsic(const rlx_string *name)
{
    const uint8_t *end = lengths + RLX_COUNT(lengths);
    rlx_slice text = rlx_string_slice(name);
    if (text.len > UINT8_MAX)
        return -1;
    for (const uint8_t *at = lengths;
         (at = memchr(at, (int)text.len, (size_t)(end - at))) != NULL; at++)
        if (memcmp(intrinsics[at - lengths].name, text.data, text.len) == 0)
            return (int)(at - lengths);
    return -1;
}

static rlx_dtype argument_dtype(const rlx_prim_call *c, size_t i)
{
    return i < c->num_args ? rlx_prim_dtype(c->args[i]) : RELAX_INT32;
}

/* The dtype that reading gives to T.name(arguments). */
static rlx_dtype usual_dtype(const rlx_prim_call *c, enum rlx_tir_rule rule)
{
    switch (rule) {
    case RLX_TIR_RULE_SECOND: case RLX_TIR_RULE_CHOICE: return argument_dtype(c, 1);
    case RLX_TIR_RULE_BOOL:
        return c->num_args
                   ? rlx_dtype_with_lanes(RELAX_BOOL, rlx_dtype_lanes(argument_dtype(c, 0)))
                   : RELAX_BOOL;
    case RLX_TIR_RULE_I32: return RELAX_INT32;
    case RLX_TIR_RULE_U32: return RELAX_UINT32;
    case RLX_TIR_RULE_HANDLE: return RELAX_HANDLE;
    case RLX_TIR_RULE_VOID: return RELAX_VOID;
    case RLX_TIR_RULE_FIRST: case RLX_TIR_RULE_LAST: return c->dtype;
    default: return argument_dtype(c, 0);
    }
}

/* Does T.name(arguments) read as this call? */
static bool reads_back(const rlx_prim_call *c, enum rlx_tir_rule rule)
{
    if (usual_dtype(c, rule) != c->dtype)
        return false;
    switch (rule) {
    case RLX_TIR_RULE_FOLD:
        return c->num_args == 2 && argument_dtype(c, 0) == argument_dtype(c, 1) &&
               !(is_literal(c->args[0]) && is_literal(c->args[1]));
    case RLX_TIR_RULE_ROUND: return c->num_args == 1 && rlx_dtype_is_float(argument_dtype(c, 0));
    case RLX_TIR_RULE_CHOICE:
        return c->num_args == 3 && argument_dtype(c, 1) == argument_dtype(c, 2) &&
               !is_literal(c->args[0]);
    case RLX_TIR_RULE_EXPANDED: return false;
    default: return true;
    }
}

/* tvm_call_packed and its kin drop the prefix. */
static const char *printed_name(const rlx_string *op)
{
    return strncmp(op->data, "tvm_call_", 9) == 0 ? op->data + 4 : op->data;
}

static void comma_before_args(rlx_printer *p, const rlx_prim_call *c)
{
    if (c->num_args)
        rlx_put(p, ", ");
}

static void open_intrinsic(rlx_printer *p, const rlx_prim_call *c, int row)
{
    rlx_put_t(p);
    if (row < 0 || !reads_back(c, (enum rlx_tir_rule)intrinsics[row].rule)) {
        rlx_put(p, "call_intrin(");
        rlx_put_dtype(p, c->dtype);
        rlx_put(p, ", ");
        rlx_put_named_string(p, "tir.", c->op ? rlx_string_slice(c->op) : (rlx_slice){ "", 0 });
        comma_before_args(p, c);
        return;
    }
    rlx_buf_z(p->out, printed_name(c->op));
    rlx_put(p, "(");
    if (intrinsics[row].rule == RLX_TIR_RULE_FIRST) {
        rlx_put_dtype(p, c->dtype);
        comma_before_args(p, c);
    }
}

/* Literals among arguments say their dtype, but for two values of which the other says it. */
static unsigned call_flags(const rlx_prim_call *c, enum rlx_tir_rule rule, unsigned flags)
{
    size_t first = rule == RLX_TIR_RULE_CHOICE ? 1 : 0;
    bool pair = (rule == RLX_TIR_RULE_FOLD && c->num_args == 2) ||
                (rule == RLX_TIR_RULE_CHOICE && c->num_args == 3);
    if (pair && !(is_literal(c->args[first]) && is_literal(c->args[first + 1])))
        return flags;
    for (size_t i = 0; i < c->num_args; i++)
        if (is_literal(c->args[i]))
            return flags & ~(unsigned)RLX_ITEM_BARE;
    return flags;
}

static void step_prim_call(rlx_printer *p, const rlx_prim_call *c, unsigned flags)
{
    int row = c->op ? find_intrinsic(c->op) : -1;
    enum rlx_tir_rule rule =
        row < 0 ? RLX_TIR_RULE_SAME : (enum rlx_tir_rule)intrinsics[row].rule;
    if (c->callee) {
        rlx_print_leaf(p, c->callee, 0);
        rlx_put(p, "(");
    } else {
        open_intrinsic(p, c, row);
    }
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .ptr = c });
    rlx_push_list(p, c->args, c->num_args, call_flags(c, rule, flags));
}

/* After the arguments. */
void rlx_print_step_call_end(rlx_printer *p, const rlx_prim_call *c)
{
    int row = c->op && !c->callee ? find_intrinsic(c->op) : -1;
    if (row >= 0 && intrinsics[row].rule == RLX_TIR_RULE_LAST) {
        comma_before_args(p, c);
        rlx_put_dtype(p, c->dtype);
    }
    rlx_put(p, ")");
}

/* ---- dispatch */
void rlx_print_step_prim(rlx_printer *p, const rlx_node *n, unsigned prec, unsigned flags)
{
    const rlx_select *s = rlx_as_select(n);
    const rlx_ramp *r = rlx_as_ramp(n);
    const rlx_broadcast *v = rlx_as_broadcast(n);
    flags &= ~(unsigned)RLX_ITEM_TYPED;
    if (rlx_as_binary(n)) {
        step_binary(p, (const rlx_binary *)n, prec, flags);
        return;
    }
    switch (n->kind) {
    case RLX_NODE_NOT: step_not(p, (const rlx_unary *)n, prec, flags); break;
    case RLX_NODE_CAST: step_cast(p, (const rlx_unary *)n, flags); break;
    case RLX_NODE_SELECT:
        push_args(p, "Select", s->cond, s->true_value, s->false_value, flags);
        break;
    case RLX_NODE_RAMP: push_args(p, "Ramp", r->base, r->stride, r->lanes, flags); break;
    case RLX_NODE_BROADCAST: push_args(p, "Broadcast", v->value, v->lanes, NULL, flags); break;
    case RLX_NODE_SHUFFLE: step_shuffle(p, (const rlx_shuffle *)n); break;
    case RLX_NODE_PRIM_LET: step_let(p, (const rlx_prim_let *)n, flags); break;
    case RLX_NODE_PRIM_CALL: step_prim_call(p, (const rlx_prim_call *)n, flags); break;
    case RLX_NODE_BUFFER_LOAD: step_load(p, (const rlx_buffer_load *)n); break;
    case RLX_NODE_COMM_REDUCER: step_reducer(p, (const rlx_comm_reducer *)n); break;
    default: step_reduce(p, (const rlx_reduce *)n); break;
    }
}
