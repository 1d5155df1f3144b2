/* print_prim.c: integer and scalar expressions.
 *
 * Operators print as operators where reading builds the same node again; where it would fold, the node's own
 * constructor is written: T.Add(n, 0).
 */
#include "script/print_int.h"

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
    bool bare = p->where == RLX_PRINT_TIR ? i->dtype == RELAX_INT32 || ((flags & RLX_ITEM_BARE) && i->dtype == RELAX_INT64)
                                          : (flags & RLX_ITEM_BARE) && (i->dtype == RELAX_INT64 || p->where == RLX_PRINT_LONE);
    if (rlx_dtype_is_bool(i->dtype)) {
        open_typed(p, i->dtype);
        rlx_buf_z(p->out, i->value ? "True)" : "False)");
        return;
    }
    if (!bare)
        open_typed(p, i->dtype);
    if (rlx_dtype_code(i->dtype) == RELAX_DTYPE_UINT)
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

/* Would reading `a op b` give another node? Reading builds comparisons as they are written, but for two literals the
 * constructor is clearer, and TVM prints it. */
static bool needs_raw(const rlx_binary *b)
{
    if (b->node.kind >= RLX_NODE_AND)
        return is_literal(b->a) || is_literal(b->b) || rlx_refolds(NULL, &b->node);
    if (b->node.kind >= RLX_NODE_EQ)
        return (is_literal(b->a) && b->b->kind == b->a->kind) || rlx_refolds(NULL, &b->node);
    if (b->node.kind == RLX_NODE_DIV && !rlx_dtype_is_float(rlx_prim_dtype(b->a)))
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
    unsigned own = binaries[row].prec, fa = operand_flags(b->a, b->b, flags), fb = operand_flags(b->b, b->a, flags);
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
    rlx_push_node(p, b->a, own, fa);
}

static void step_not(rlx_printer *p, const rlx_unary *u, unsigned prec, unsigned flags)
{
    if (PREC_NOT < prec) {
        rlx_put(p, "(");
        rlx_push_text(p, ")");
    }
    rlx_put(p, "not ");
    rlx_push_node(p, u->a, PREC_NOT, flags);
}

/* ---- functions */

/* Children of a function keep the marks of the place, but a literal's dtype is not said by anything else. */
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
static void push_args(rlx_printer *p, const char *name, const rlx_prim *a, const rlx_prim *b, const rlx_prim *c, unsigned flags)
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
static void lambda_names(rlx_printer *p, const rlx_node *const *vars, size_t count, const char *before)
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
enum dtype_place { DTYPE_NOT, DTYPE_FIRST, DTYPE_LAST };
enum result { RESULT_FIRST, RESULT_INT32, RESULT_HANDLE, RESULT_BOOL, RESULT_UINT32, RESULT_SECOND, RESULT_VOID };
/* Intrinsics whose text or result is not the ordinary: T.name(arguments), result of the first argument's dtype. */
static const struct { const char *name, *printed; uint8_t place, result; } intrinsics[] = {
    { "TVMBackendAllocWorkspace", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "TVMBackendFreeWorkspace", NULL, DTYPE_NOT, RESULT_INT32 },
    { "address_of", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "anylist_getitem", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "anylist_resetitem", NULL, DTYPE_NOT, RESULT_INT32 },
    { "anylist_setitem_call_cpacked", NULL, DTYPE_NOT, RESULT_INT32 },
    { "anylist_setitem_call_packed", NULL, DTYPE_NOT, RESULT_INT32 },
    { "assume", NULL, DTYPE_NOT, RESULT_BOOL },
    { "call_extern", NULL, DTYPE_FIRST, 0 },
    { "call_intrin", NULL, DTYPE_FIRST, 0 },
    { "call_llvm_intrin", NULL, DTYPE_FIRST, 0 },
    { "call_llvm_pure_intrin", NULL, DTYPE_FIRST, 0 },
    { "call_pure_extern", NULL, DTYPE_FIRST, 0 },
    { "clz", NULL, DTYPE_NOT, RESULT_INT32 },
    { "end_profile_intrinsic", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "get_active_lane_mask", NULL, DTYPE_FIRST, 0 },
    { "if_then_else", NULL, DTYPE_NOT, RESULT_SECOND },
    { "ignore_loop_partition", NULL, DTYPE_NOT, RESULT_BOOL },
    { "isinf", NULL, DTYPE_NOT, RESULT_BOOL },
    { "isnan", NULL, DTYPE_NOT, RESULT_BOOL },
    { "isnullptr", NULL, DTYPE_NOT, RESULT_BOOL },
    { "lookup_param", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "mma_fill", NULL, DTYPE_FIRST, 0 },
    { "mma_store", NULL, DTYPE_FIRST, 0 },
    { "ptx_cp_async", NULL, DTYPE_FIRST, 0 },
    { "ptx_cp_async_bulk", NULL, DTYPE_FIRST, 0 },
    { "ptx_ldmatrix", NULL, DTYPE_FIRST, 0 },
    { "ptx_mma", NULL, DTYPE_FIRST, 0 },
    { "ptx_mma_sp", NULL, DTYPE_FIRST, 0 },
    { "q_multiply_shift", NULL, DTYPE_NOT, RESULT_INT32 },
    { "q_multiply_shift_per_axis", NULL, DTYPE_NOT, RESULT_INT32 },
    { "reinterpret", NULL, DTYPE_FIRST, 0 },
    { "start_profile_intrinsic", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "tvm_access_ptr", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "tvm_call_cpacked", "call_cpacked", DTYPE_NOT, RESULT_INT32 },
    { "tvm_call_cpacked_lowered", "call_cpacked_lowered", DTYPE_NOT, RESULT_INT32 },
    { "tvm_call_packed", "call_packed", DTYPE_NOT, RESULT_INT32 },
    { "tvm_call_packed_lowered", "call_packed_lowered", DTYPE_NOT, RESULT_INT32 },
    { "tvm_check_return", NULL, DTYPE_NOT, RESULT_INT32 },
    { "tvm_stack_alloca", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "tvm_stack_make_array", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "tvm_stack_make_shape", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "tvm_storage_sync", NULL, DTYPE_NOT, RESULT_INT32 },
    { "tvm_struct_get", NULL, DTYPE_LAST, 0 },
    { "tvm_struct_set", NULL, DTYPE_NOT, RESULT_INT32 },
    { "tvm_throw_last_error", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "tvm_tuple", NULL, DTYPE_NOT, RESULT_HANDLE },
    { "type_annotation", NULL, DTYPE_FIRST, 0 },
    { "undef", NULL, DTYPE_NOT, RESULT_INT32 },
    { "vectorcombine", NULL, DTYPE_FIRST, 0 },
    { "vectorhigh", NULL, DTYPE_FIRST, 0 },
    { "vectorlow", NULL, DTYPE_FIRST, 0 },
    { "vscale", NULL, DTYPE_NOT, RESULT_INT32 },
};

/* Row of a name, or -1. The table is sorted by bytes. */
static int find_intrinsic(const rlx_string *name)
{
    int low = 0, high = (int)RLX_COUNT(intrinsics) - 1;
    while (low <= high) {
        int mid = (low + high) / 2, order = strcmp(intrinsics[mid].name, name->data);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid - 1;
    }
    return -1;
}

static void step_prim_call(rlx_printer *p, const rlx_prim_call *c, unsigned flags)
{
    int row = c->op ? find_intrinsic(c->op) : -1;
    enum dtype_place place = row < 0 ? DTYPE_NOT : (enum dtype_place)intrinsics[row].place;
    if (c->callee) {
        rlx_print_leaf(p, c->callee, 0);
    } else {
        rlx_put_t(p);
        rlx_buf_z(p->out, row >= 0 && intrinsics[row].printed ? intrinsics[row].printed : c->op ? c->op->data : "");
    }
    rlx_put(p, "(");
    if (place == DTYPE_FIRST)
        rlx_put_dtype(p, c->dtype);
    if (place == DTYPE_FIRST && c->num_args)
        rlx_put(p, ", ");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_DTYPE, .flags = (uint16_t)(c->num_args != 0), .count = (size_t)place, .ptr = c });
    /* both values of a condition decide on their dtype together */
    bool pair = row >= 0 && intrinsics[row].result == RESULT_SECOND && c->num_args == 3 && !(is_literal(c->args[1]) && is_literal(c->args[2]));
    bool literal = false;
    for (size_t i = 0; i < c->num_args; i++)
        literal |= is_literal(c->args[i]);
    rlx_push_list(p, c->args, c->num_args, literal && !pair ? flags & ~(unsigned)RLX_ITEM_BARE : flags);
}

static rlx_dtype usual_dtype(const rlx_prim_call *c, int row)
{
    rlx_dtype first = c->num_args ? rlx_prim_dtype(c->args[0]) : RELAX_VOID;
    if (row < 0)
        return c->num_args ? first : c->dtype;
    switch (intrinsics[row].result) {
    case RESULT_INT32: return RELAX_INT32;
    case RESULT_HANDLE: return RELAX_HANDLE;
    case RESULT_BOOL: return rlx_dtype_with_lanes(RELAX_BOOL, c->num_args ? rlx_dtype_lanes(first) : 1);
    case RESULT_UINT32: return RELAX_UINT32;
    case RESULT_SECOND: return c->num_args > 1 ? rlx_prim_dtype(c->args[1]) : first;
    default: return first;
    }
}

/* After the arguments of a call: its dtype where the text says it there, or where it is not the usual one. */
void rlx_print_step_call_dtype(rlx_printer *p, const rlx_item *it)
{
    const rlx_prim_call *c = it->ptr;
    const char *comma = it->flags ? ", " : "";
    int row = c->op ? find_intrinsic(c->op) : -1;
    if (it->count == DTYPE_LAST) {
        rlx_buf_z(p->out, comma);
        rlx_put_dtype(p, c->dtype);
    } else if (it->count == DTYPE_NOT && !c->callee && usual_dtype(c, row) != c->dtype) {
        rlx_buf_z(p->out, comma);
        rlx_put(p, "dtype=");
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
    if (rlx_as_binary(n)) {
        step_binary(p, (const rlx_binary *)n, prec, flags);
        return;
    }
    switch (n->kind) {
    case RLX_NODE_NOT: step_not(p, (const rlx_unary *)n, prec, flags); break;
    case RLX_NODE_CAST: step_cast(p, (const rlx_unary *)n, flags); break;
    case RLX_NODE_SELECT: push_args(p, "Select", s->cond, s->true_value, s->false_value, flags); break;
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
