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
     * reported: nothing that follows from it is said. MODULE: mistakes were found while it, or what it
     * was made from, was read */
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
#define KIND(kind, family, mode, text) RLX_NODE_##kind,
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

/* struct rlx_call { rlx_node node; rlx_place place; const rlx_node *op; ... } and so on.
 * RLX_NODE_NAME(rlx_) is rlx_call where node.def describes the struct. */
#define RLX_NODE_PASTE(prefix, name) prefix##name
#define RLX_NODE_PASTE_NAME(prefix, name) RLX_NODE_PASTE(prefix, name)
#define RLX_NODE_NAME(prefix) RLX_NODE_PASTE_NAME(prefix, S)
#define STRUCT typedef struct RLX_NODE_NAME(rlx_) { rlx_node node;
#define END } RLX_NODE_NAME(rlx_);
#define REF(w, n) const rlx_node *n;
#define REFS(w, n) const rlx_node *const *n; size_t num_##n;
#define DEF(w, n) const rlx_node *n;
#define DEFS(w, n) const rlx_node *const *n; size_t num_##n;
#define NOTE(w, n) const rlx_node *n;
#define STR(n) const rlx_string *n;
#define HINT(n) const rlx_string *n;
#define HINT32(n) int32_t n;
#define I64(n) int64_t n;
#define F64(n) double n;
#define I32(n) int32_t n;
#define DTYPE(n) rlx_dtype n;
#define PLACE rlx_place place;
#define PLACES(n) const rlx_place *n; uint32_t num_##n;
#define DIMS(n) const int64_t *n; size_t num_##n;
#define BLOB(n) rlx_blob *n;
#define ROW(n) const rlx_op_row *n;
#define EXTRA(t, n) t n;
#include "ir/node.def"

/* rlx_as_call(n): n as const rlx_call * if it is a CALL, else NULL (also for NULL). Several kinds
 * share rlx_var, rlx_block, rlx_binary, rlx_unary and rlx_attr_int: any of them is taken. */
#define RLX_DEFINE_AS(test)                                                         \
    RLX_INLINE const RLX_NODE_NAME(rlx_) *RLX_NODE_NAME(rlx_as_)(const rlx_node *n) \
    {                                                                               \
        return n && (test) ? (const RLX_NODE_NAME(rlx_) *)n : NULL;                 \
    }
#define KIND(kind_name, family, mode, text) RLX_DEFINE_AS(n->kind == RLX_NODE_##kind_name)
#define CAST(first, last) \
    RLX_DEFINE_AS(n->kind >= RLX_NODE_##first && n->kind <= RLX_NODE_##last)
#define SHARED(kind, family, mode, text)
#include "ir/node.def"

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
/* Operators that rooms ask for, as their rows name themselves (ID in op.def). */
enum rlx_op_id {
    RLX_OP_ID_NONE, /* nobody asks: most, and those of a host */
    RLX_OP_ID_CALL_TIR, RLX_OP_ID_CALL_TIR_WITH_GRAD, RLX_OP_ID_CALL_TIR_INPLACE,
    RLX_OP_ID_CALL_DPS_PACKED, RLX_OP_ID_CALL_PURE_PACKED, RLX_OP_ID_CALL_INPLACE_PACKED,
    RLX_OP_ID_CALL_BUILTIN_WITH_CTX, RLX_OP_ID_MAKE_CLOSURE, RLX_OP_ID_INVOKE_CLOSURE,
    RLX_OP_ID_INVOKE_PURE_CLOSURE, RLX_OP_ID_NULL_VALUE, RLX_OP_ID_PRINT, RLX_OP_ID_ASSERT_OP,
    RLX_OP_ID_SHAPE_OF, RLX_OP_ID_TENSOR_TO_SHAPE, RLX_OP_ID_HINT_ON_DEVICE,
    RLX_OP_ID_TO_VDEVICE, RLX_OP_ID_CALL_TIR_LOCAL_VIEW, RLX_OP_ID_BUILTIN_STOP_LIFT_PARAMS, RLX_OP_ID_BUILTIN_ALLOC_TENSOR,
    RLX_OP_ID_MEMORY_ALLOC_STORAGE, RLX_OP_ID_MEMORY_ALLOC_TENSOR, RLX_OP_ID_MEMORY_KILL_STORAGE,
    RLX_OP_ID_MEMORY_KILL_TENSOR, RLX_OP_ID_MEMORY_VIEW, RLX_OP_ID_VM_ALLOC_STORAGE, RLX_OP_ID_VM_ALLOC_TENSOR,
    RLX_OP_ID_VM_KILL_OBJECT, RLX_OP_ID_VM_CALL_TIR_DYN,
    RLX_OP_ID_COUNT
};
/* Which of them n (may be NULL) is; NONE too where n is no operator. */
enum rlx_op_id rlx_op_id_of(const rlx_node *n);
/* Is n that operator? Is e a call of it: e, else NULL. */
bool rlx_is_op(const rlx_node *n, enum rlx_op_id id);
const rlx_call *rlx_is_call_op(const rlx_expr *e, enum rlx_op_id id);
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
