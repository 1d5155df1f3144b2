/* node.h: the node structs and kinds made from node.def, checked casts, and the field table.
 *
 * Every node starts with an rlx_node. All families share the C type rlx_node (so no casts on
 * the way up); the names rlx_expr, rlx_prim ... say what is expected. Going down is checked:
 * rlx_as_call(n) is NULL unless n is a CALL. Nodes are immutable once built.
 */
#ifndef RLX_IR_NODE_H
#define RLX_IR_NODE_H

#include "base/base.h"

typedef struct relax_context rlx_context;
typedef struct rlx_op_row rlx_op_row;

typedef struct rlx_node {
    uint8_t kind;    /* enum rlx_node_kind */
    uint8_t layer;   /* memory layer of the context that owns it: 0 context, above: scratch */
    uint8_t flags;   /* RLX_FLAG_... */
    /* 0: source or builder; else number of the pass that made it, see rlx_context_origin */
    uint8_t origin;
    uint32_t id; /* VAR, DATAFLOW_VAR, GLOBAL_VAR, PRIM_VAR, BUFFER: serial number in the context
                    (from 1); TUPLE_SINFO, FUNC_SINFO, EXTENSION_SINFO, interned PRIM with operands:
                    nodes of it, counted as a tree; else 0 */
} rlx_node;

#define RLX_MAX_INFO_PARTS 1048576 /* of struct info, counted as a tree (WX10) */

enum {
    RLX_FLAG_INTERNED = 1,
    /* PRIM, SINFO, SHAPE_EXPR: mentions a shape variable or a Relax variable */
    RLX_FLAG_HAS_VARS = 2,
    RLX_FLAG_HAS_FUNC = 4,   /* SINFO: contains a function description */
    /* SINFO: what this describes (or a part of it) could not be derived, which has been
     * reported: nothing that follows from it is said */
    RLX_FLAG_AFTER_ERROR = 16,
    RLX_FLAG_STANDALONE = 8  /* MODULE: read from a text that holds one function outside a class */
};

typedef rlx_node rlx_expr;     /* Relax expressions */
typedef rlx_node rlx_binding;
typedef rlx_node rlx_block_node; /* BINDING_BLOCK, DATAFLOW_BLOCK */
typedef rlx_node rlx_sinfo;    /* structural information */
typedef rlx_node rlx_prim;     /* PrimExpr */
typedef rlx_node rlx_stmt;
typedef rlx_node rlx_attr;     /* attribute values: any node */

/* Text of a context. Interned: same text, same pointer; hints of variables need not be. */
typedef struct rlx_string { uint32_t len, hash; char data[]; } rlx_string; /* NUL-terminated */
RLX_INLINE rlx_slice rlx_string_slice(const rlx_string *s)
{
    return (rlx_slice){ s->data, s->len };
}
RLX_INLINE bool rlx_string_equal(const rlx_string *a, const rlx_string *b)
{
    return a == b || rlx_slice_equal(rlx_string_slice(a), rlx_string_slice(b));
}

enum rlx_node_kind {
    RLX_NODE_NONE,
#define STRUCT(name)
#define END(name)
#define KIND(kind, name, family, mode, text) RLX_NODE_##kind,
#define REF(s, w, n)
#define REFS(s, w, n)
#define DEF(s, w, n)
#define DEFS(s, w, n)
#define NOTE(s, w, n)
#define STR(s, n)
#define HINT(s, n)
#define HINT32(s, n)
#define I64(s, n)
#define F64(s, n)
#define I32(s, n)
#define DTYPE(s, n)
#define PLACE(s)
#define PLACES(s, n)
#define DIMS(s, n)
#define BLOB(s, n)
#define ROW(s, n)
#define EXTRA(s, t, n)
#include "ir/node.def"
    RLX_NODE_COUNT
};

enum rlx_family {
    RLX_FAMILY_NONE,
    RLX_FAMILY_EXPR,
    RLX_FAMILY_BINDING,
    RLX_FAMILY_BLOCK,
    RLX_FAMILY_SINFO,
    RLX_FAMILY_PRIM,
    RLX_FAMILY_TIR,
    RLX_FAMILY_STMT,
    RLX_FAMILY_FUNC,
    RLX_FAMILY_ATTR,
    RLX_FAMILY_DEVICE,
    RLX_FAMILY_MODULE
};

/* struct rlx_call { rlx_node node; rlx_place place; const rlx_node *op; ... } and so on */
#define STRUCT(name) typedef struct rlx_##name { rlx_node node;
#define END(name) } rlx_##name;
#define KIND(kind, name, family, mode, text)
#define REF(s, w, n) const rlx_node *n;
#define REFS(s, w, n) const rlx_node *const *n; size_t num_##n;
#define DEF(s, w, n) const rlx_node *n;
#define DEFS(s, w, n) const rlx_node *const *n; size_t num_##n;
#define NOTE(s, w, n) const rlx_node *n;
#define STR(s, n) const rlx_string *n;
#define HINT(s, n) const rlx_string *n;
#define HINT32(s, n) int32_t n;
#define I64(s, n) int64_t n;
#define F64(s, n) double n;
#define I32(s, n) int32_t n;
#define DTYPE(s, n) rlx_dtype n;
#define PLACE(s) rlx_place place;
#define PLACES(s, n) const rlx_place *n; uint32_t num_##n;
#define DIMS(s, n) const int64_t *n; size_t num_##n;
#define BLOB(s, n) rlx_blob *n;
#define ROW(s, n) const rlx_op_row *n;
#define EXTRA(s, t, n) t n;
#include "ir/node.def"

/* rlx_as_call(n): n as const rlx_call * if it is a CALL, else NULL (also for NULL). One per
 * KIND that has its struct to itself; shared structs: rlx_as_var, rlx_as_block, rlx_as_binary
 * below. */
#define RLX_DEFINE_AS(name, test)                                 \
    RLX_INLINE const rlx_##name *rlx_as_##name(const rlx_node *n) \
    {                                                             \
        return n && (test) ? (const rlx_##name *)n : NULL;        \
    }
#define RLX_AS(name, kind_name) RLX_DEFINE_AS(name, n->kind == RLX_NODE_##kind_name)
RLX_AS(constant, CONSTANT)
RLX_AS(global_var, GLOBAL_VAR)
RLX_AS(tuple, TUPLE)
RLX_AS(seq_expr, SEQ_EXPR)
RLX_AS(prim_value, PRIM_VALUE)
RLX_AS(string_imm, STRING_IMM)
RLX_AS(dtype_imm, DTYPE_IMM)
RLX_AS(shape_expr, SHAPE_EXPR)
RLX_AS(extern_func, EXTERN_FUNC)
RLX_AS(op, OP)
RLX_AS(function, FUNCTION)
RLX_AS(if_expr, IF)
RLX_AS(call, CALL)
RLX_AS(tuple_get_item, TUPLE_GET_ITEM)
RLX_AS(var_binding, VAR_BINDING)
RLX_AS(match_cast, MATCH_CAST)
RLX_AS(object_sinfo, OBJECT_SINFO)
RLX_AS(prim_sinfo, PRIM_SINFO)
RLX_AS(shape_sinfo, SHAPE_SINFO)
RLX_AS(tensor_sinfo, TENSOR_SINFO)
RLX_AS(tuple_sinfo, TUPLE_SINFO)
RLX_AS(func_sinfo, FUNC_SINFO)
RLX_AS(extension_sinfo, EXTENSION_SINFO)
RLX_AS(prim_var, PRIM_VAR)
RLX_AS(int_imm, INT_IMM)
RLX_AS(float_imm, FLOAT_IMM)
RLX_AS(tir_string, TIR_STRING)
RLX_AS(select, SELECT)
RLX_AS(prim_call, PRIM_CALL)
RLX_AS(buffer_load, BUFFER_LOAD)
RLX_AS(ramp, RAMP)
RLX_AS(broadcast, BROADCAST)
RLX_AS(shuffle, SHUFFLE)
RLX_AS(prim_let, PRIM_LET)
RLX_AS(comm_reducer, COMM_REDUCER)
RLX_AS(reduce, REDUCE)
RLX_AS(index_map, INDEX_MAP)
RLX_AS(buffer, BUFFER)
RLX_AS(range, RANGE)
RLX_AS(iter_var, ITER_VAR)
RLX_AS(buffer_region, BUFFER_REGION)
RLX_AS(match_buffer_region, MATCH_BUFFER_REGION)
RLX_AS(seq_stmt, SEQ_STMT)
RLX_AS(evaluate, EVALUATE)
RLX_AS(buffer_store, BUFFER_STORE)
RLX_AS(let_stmt, LET_STMT)
RLX_AS(for_stmt, FOR)
RLX_AS(while_stmt, WHILE)
RLX_AS(if_stmt, IF_THEN_ELSE)
RLX_AS(assert_stmt, ASSERT_STMT)
RLX_AS(attr_stmt, ATTR_STMT)
RLX_AS(allocate, ALLOCATE)
RLX_AS(allocate_const, ALLOCATE_CONST)
RLX_AS(decl_buffer, DECL_BUFFER)
RLX_AS(tir_block, TIR_BLOCK)
RLX_AS(block_realize, BLOCK_REALIZE)
RLX_AS(buffer_realize, BUFFER_REALIZE)
RLX_AS(prefetch, PREFETCH)
RLX_AS(prim_func, PRIM_FUNC)
RLX_AS(attr_float, ATTR_FLOAT)
RLX_AS(attr_string, ATTR_STRING)
RLX_AS(attr_dtype, ATTR_DTYPE)
RLX_AS(attr_list, ATTR_LIST)
RLX_AS(attrs, ATTRS)
RLX_AS(vdevice, VDEVICE)
RLX_AS(module, MODULE)
RLX_DEFINE_AS(var, n->kind == RLX_NODE_VAR || n->kind == RLX_NODE_DATAFLOW_VAR)
RLX_DEFINE_AS(block, n->kind == RLX_NODE_BINDING_BLOCK || n->kind == RLX_NODE_DATAFLOW_BLOCK)
RLX_DEFINE_AS(binary, n->kind >= RLX_NODE_ADD && n->kind <= RLX_NODE_OR)
RLX_DEFINE_AS(unary, n->kind == RLX_NODE_NOT || n->kind == RLX_NODE_CAST)
RLX_DEFINE_AS(attr_int, n->kind == RLX_NODE_ATTR_INT || n->kind == RLX_NODE_ATTR_BOOL)

/* Does it say that there is no value? The empty tuple is the only one of this struct info. */
RLX_INLINE bool rlx_sinfo_is_void(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    return t && t->num_fields == 0;
}
RLX_INLINE bool rlx_is(const rlx_node *n, enum rlx_node_kind k) { return n && n->kind == k; }
/* Is n the same wherever it stands: interned, and no variable in it? */
RLX_INLINE bool rlx_node_is_closed(const rlx_node *n)
{
    return (n->flags & (RLX_FLAG_INTERNED | RLX_FLAG_HAS_VARS)) == RLX_FLAG_INTERNED;
}
RLX_INLINE const rlx_expr *rlx_binding_value(const rlx_binding *b)
{
    return b->kind == RLX_NODE_VAR_BINDING ? ((const rlx_var_binding *)b)->value
                                           : ((const rlx_match_cast *)b)->value;
}
RLX_INLINE const rlx_var *rlx_binding_var(const rlx_binding *b) /* NULL: a cast without variable */
{
    return rlx_as_var(b->kind == RLX_NODE_VAR_BINDING ? ((const rlx_var_binding *)b)->var
                                                      : ((const rlx_match_cast *)b)->var);
}
/* Is n the operator called name ("relax.call_tir")? Is e a call of it: e, else NULL. */
bool rlx_is_op(const rlx_node *n, const char *name);
const rlx_call *rlx_is_call_op(const rlx_expr *e, const char *name);
/* The dimensions of a tensor's shape that are known: its list, or the values of the variable that
 * it is. NULL: they are not (or shape is NULL); of rank 0, which is known, never NULL. */
const rlx_prim *const *rlx_shape_dims(const rlx_expr *shape, size_t *count);

/* The field table: what generic walks see. */
enum rlx_field_type {
    RLX_FIELD_REF,
    RLX_FIELD_REFS,
    RLX_FIELD_DEF,
    RLX_FIELD_DEFS,
    RLX_FIELD_NOTE,
    RLX_FIELD_STR,
    RLX_FIELD_HINT,
    RLX_FIELD_I64,
    RLX_FIELD_F64,
    RLX_FIELD_I32,
    RLX_FIELD_HINT32,
    RLX_FIELD_DTYPE,
    RLX_FIELD_PLACE,
    RLX_FIELD_PLACES, RLX_FIELD_DIMS, RLX_FIELD_BLOB, RLX_FIELD_ROW
};
enum rlx_kind_mode { RLX_MODE_PLAIN, RLX_MODE_INTERN, RLX_MODE_IDENT };
typedef struct rlx_field {
    uint8_t type;
    uint16_t offset, count_offset;
    const char *name;
} rlx_field;
RLX_INLINE bool rlx_field_is_def(const rlx_field *f)
{
    return f && (f->type == RLX_FIELD_DEF || f->type == RLX_FIELD_DEFS);
}
typedef struct rlx_kind_info {
    const char *name;       /* "Call" */
    uint16_t size;
    uint8_t family, mode;
    uint8_t num_fields;
    int16_t place_offset;   /* -1: nodes of this kind have no place */
    const rlx_field *fields;
} rlx_kind_info;
extern const rlx_kind_info rlx_kinds[RLX_NODE_COUNT];

RLX_INLINE uint8_t rlx_family_of(const rlx_node *n) { return rlx_kinds[n->kind].family; }
RLX_INLINE rlx_place rlx_place_of(const rlx_node *n)
{
    int at = n ? rlx_kinds[n->kind].place_offset : -1;
    return at < 0 ? RLX_NO_PLACE : *(const rlx_place *)((const char *)n + at);
}

enum rlx_derive {
    RLX_DERIVE_NONE = 0, RLX_DERIVE_EMPTY, RLX_DERIVE_CONST, RLX_DERIVE_DEFAULT, RLX_DERIVE_NAMED
};
enum rlx_for_kind {
    RLX_FOR_SERIAL, RLX_FOR_PARALLEL, RLX_FOR_VECTORIZED, RLX_FOR_UNROLLED, RLX_FOR_THREAD_BINDING
};
enum rlx_iter_type {
    RLX_ITER_SPATIAL = 0,
    RLX_ITER_THREAD = 1,
    RLX_ITER_REDUCE = 2,
    RLX_ITER_SCAN = 3,
    RLX_ITER_OPAQUE = 4
};

#endif
