/*- relay.h: Relay, Relax's predecessor: its nodes, and what can be done with a module of it.
 *
 *     text ──parse──> rlx_relay_module ──infer──> the same with types ──print──> text
 *
 * Everything of a module lies in a region of its own; a context frees the modules that were read
 * in it. Expressions form a DAG: what the text names %0 is one node, however often it is used.
 * Inference fills in the field `type` of every expression; nothing else changes after parsing.
 * Rules cited as "relay 3.4" stand in doc/relay.md.
 */
#ifndef RLX_RELAY_H
#define RLX_RELAY_H

#include "ir/ir.h"

enum rlx_relay_expr_kind {
#define EXPR(kind, text) RLX_RELAY_##kind,
#include "relay/relay_node.def"
    RLX_RELAY_EXPR_COUNT
};
enum rlx_relay_type_kind {
#define TYPE(kind, kind_of, text) RLX_RELAY_TYPE_##kind,
#include "relay/relay_node.def"
    RLX_RELAY_TYPE_COUNT
};
/* Kinds of types (relay 2.2). Parameters without one have kind TYPE. */
enum rlx_relay_kind {
    RLX_RELAY_KIND_TYPE, RLX_RELAY_KIND_EXTENT, RLX_RELAY_KIND_DTYPE, RLX_RELAY_KIND_SHAPE,
    RLX_RELAY_KIND_HANDLE, RLX_RELAY_KIND_VARIES
};

const char *rlx_relay_kind_text(uint8_t kind); /* as text writes it */

typedef struct rlx_relay_type rlx_relay_type;
typedef struct rlx_relay_expr rlx_relay_expr;
typedef struct rlx_relay_module rlx_relay_module;

/* ---- types ------------------------------------------------------------------------------------ */

/* One extent of a tensor: a number, `?` (known to be unknown), or a variable, which inference may
 * find equal to another extent. */
enum rlx_relay_dim_kind {
    RLX_RELAY_DIM_INT, RLX_RELAY_DIM_ANY, RLX_RELAY_DIM_VAR,
    RLX_RELAY_DIM_PARAM              /* a type parameter of kind EXTENT */
};
typedef struct rlx_relay_dim {
    uint8_t kind;                    /* enum rlx_relay_dim_kind */
    uint8_t bits;                    /* of an integer: 32 as text says it, 64 from elsewhere */
    union {
        int64_t value;
        struct rlx_relay_dim_var *var;
        struct rlx_relay_type_var *param;
    };
} rlx_relay_dim;
typedef struct rlx_relay_dim_var {
    rlx_slice name;
    bool is_hole;                    /* made by inference: must be found */
    bool is_known;
    rlx_relay_dim is;                /* what it was found to be, if is_known */
} rlx_relay_dim_var;

/* Widths that no tensor has are most likely slips. */
RLX_INLINE bool rlx_relay_has_width(rlx_dtype t)
{
    int bits = rlx_dtype_bits(t);
    return bits > 0 && bits <= 128 && (bits & (bits - 1)) == 0;
}

/* A variable of types, by identity: parameter of a function or of a data type. */
typedef struct rlx_relay_type_var {
    rlx_slice name;
    uint8_t kind;                    /* enum rlx_relay_kind */
    rlx_place place;
    uint32_t number;
} rlx_relay_type_var;

/* A constraint of a function type: the relation `name` holds between the types. With no types:
 * between the types of the arguments and that of the result. */
typedef struct rlx_relay_constraint {
    rlx_slice name;
    rlx_relay_type *const *args;
    size_t num_args;
    rlx_place place;
} rlx_relay_constraint;

struct rlx_relay_type {
    uint8_t kind;                    /* enum rlx_relay_type_kind */
    uint8_t flags;                   /* RLX_RELAY_HAS_... */
    uint8_t hole_kind;               /* HOLE: enum rlx_relay_kind */
    uint32_t number;                 /* HOLE: serial number */
    rlx_place place;
    union {
        struct {
            const rlx_relay_dim *dims; size_t ndim;
            rlx_dtype dtype;
            /* the seed dialect: variables (or holes) in place of the extents, of the dtype */
            rlx_relay_type *shape, *elem;
        } tensor;                    /* TENSOR; EXTENTS and EXTENT use dims, DTYPE dtype */
        struct { rlx_relay_type *const *fields; size_t count; } tuple;
        struct {
            rlx_relay_type_var *const *params; size_t num_params;
            rlx_relay_type *const *args; size_t num_args;
            rlx_relay_type *result;
            const rlx_relay_constraint *constraints; size_t num_constraints;
            bool any_args;           /* of an operator: takes any number */
        } func;
        struct { rlx_relay_type *content; } ref;
        struct {
            struct rlx_relay_adt *adt;   /* NULL: a name that nothing defines, reported once */
            rlx_slice name;
            rlx_relay_type *const *args; size_t num_args;
        } call;                      /* CALL, HANDLE */
        rlx_relay_type_var *var;
        struct { rlx_relay_type *is; struct rlx_relay_waiting *waiting; } hole;
    };
};
enum {
    RLX_RELAY_HAS_HOLES = 1,         /* when it was made: a hole that is solved counts */
    RLX_RELAY_HAS_TYPE_VARS = 2,
    RLX_RELAY_HAS_DIM_VARS = 4
};

/* ---- data types ------------------------------------------------------------------------------- */

typedef struct rlx_relay_ctor {
    rlx_slice name;
    struct rlx_relay_adt *adt;
    uint32_t tag;                    /* index in the definition */
    rlx_relay_type *const *fields; size_t num_fields;
    rlx_relay_type *type;            /* fn[params](fields) -> adt[params] */
    rlx_place place;
} rlx_relay_ctor;
typedef struct rlx_relay_adt {
    rlx_slice name;
    rlx_relay_type_var *const *params; size_t num_params;
    rlx_relay_ctor **ctors; size_t num_ctors;
    bool is_extern, is_prelude;
    rlx_place place;
} rlx_relay_adt;

/* ---- attributes ------------------------------------------------------------------------------- */

enum rlx_relay_value_kind {
    RLX_RELAY_VALUE_NONE, RLX_RELAY_VALUE_INT, RLX_RELAY_VALUE_FLOAT, RLX_RELAY_VALUE_BOOL,
    RLX_RELAY_VALUE_STRING, RLX_RELAY_VALUE_LIST, RLX_RELAY_VALUE_EXPR, RLX_RELAY_VALUE_META
};
typedef struct rlx_relay_value {
    uint8_t kind;                    /* enum rlx_relay_value_kind */
    rlx_place place;
    rlx_dtype dtype;                 /* INT, FLOAT */
    union {
        int64_t i;                   /* INT, BOOL */
        double f;
        rlx_slice s;                 /* STRING; META: the key of its type */
        struct { const struct rlx_relay_value *items; size_t count; } list;
        rlx_relay_expr *expr;
    };
} rlx_relay_value;
typedef struct rlx_relay_attr { rlx_slice name; rlx_place place; rlx_relay_value value; } rlx_relay_attr;
typedef struct rlx_relay_attrs { const rlx_relay_attr *items; size_t count; } rlx_relay_attrs;

/* ---- expressions ------------------------------------------------------------------------------ */

enum rlx_relay_pattern_kind {
    RLX_RELAY_PATTERN_ANY, RLX_RELAY_PATTERN_VAR, RLX_RELAY_PATTERN_CTOR, RLX_RELAY_PATTERN_TUPLE
};
typedef struct rlx_relay_pattern {
    uint8_t kind;                    /* enum rlx_relay_pattern_kind */
    rlx_place place;
    rlx_relay_expr *var;             /* VAR */
    rlx_relay_ctor *ctor;            /* CTOR */
    struct rlx_relay_pattern *const *parts; size_t num_parts;
} rlx_relay_pattern;
typedef struct rlx_relay_arm { rlx_relay_pattern *pattern; rlx_relay_expr *body; } rlx_relay_arm;

struct rlx_relay_expr {
    uint8_t kind;                    /* enum rlx_relay_expr_kind */
    uint8_t mark;                    /* of the walk under way */
    uint32_t number;                 /* of the walk under way: uses, or the number it prints as */
    rlx_place place;
    rlx_relay_type *type;            /* after inference; before it NULL */
    union {
        struct {
            rlx_slice name;          /* without %, "" for a value that is not used */
            rlx_relay_type *given;   /* its annotation, or NULL */
            bool is_free;            /* declared by free_var */
        } var;
        struct {
            rlx_dtype dtype;
            const int64_t *dims; size_t ndim;
            const void *data; size_t bytes;
        } constant;
        struct rlx_relay_global *global;
        const struct rlx_relay_op *op;
        rlx_relay_ctor *ctor;
        struct { rlx_relay_expr *const *items; size_t count; } tuple;
        struct { rlx_relay_expr *tuple; int64_t index; } field;
        struct { rlx_relay_expr *var, *value, *body; } let;
        struct rlx_relay_func *func;
        struct { rlx_relay_expr *condition, *then, *otherwise; } branch;  /* IF */
        struct {
            rlx_relay_expr *data;
            const rlx_relay_arm *arms; size_t num_arms;
            bool partial;            /* match? */
        } match;
        struct { rlx_relay_expr *ref, *value; } ref;   /* REF: value; REF_READ: ref; WRITE: both */
        struct {
            rlx_relay_expr *callee;
            rlx_relay_expr *const *args; size_t num_args;
            rlx_relay_attrs attrs;
            rlx_relay_type *const *type_args; size_t num_type_args;  /* written, or inferred */
        } call;
    };
};
typedef struct rlx_relay_func {
    rlx_relay_type_var *const *type_params; size_t num_type_params;
    rlx_relay_expr *const *params; size_t num_params;
    rlx_relay_attrs attrs;
    rlx_relay_type *result;          /* written, or NULL; after inference never NULL */
    const rlx_relay_constraint *constraints; size_t num_constraints;
    rlx_relay_expr *body;
} rlx_relay_func;
typedef struct rlx_relay_global {
    rlx_slice name;
    rlx_relay_expr *func;            /* FUNC; NULL: mentioned, but not defined */
    rlx_place place;                 /* of the definition, or of the first mention */
    bool is_prelude, is_defined;     /* defined, though perhaps by what could not be read */
    uint32_t number;
} rlx_relay_global;

/* What a name means: everything hangs on its word, so that nothing is looked up twice. */
typedef struct rlx_relay_word {
    rlx_slice text;
    rlx_relay_expr *local;           /* the variable in scope, while reading */
    rlx_relay_type_var *type_var;    /* likewise */
    rlx_relay_global *global;
    rlx_relay_adt *adt;
    rlx_relay_ctor *ctor;
    const struct rlx_relay_op *op;
    bool looked_for_op;
} rlx_relay_word;

struct rlx_relay_module {
    rlx_region region;
    rlx_context *ctx;
    rlx_intern words;
    RLX_VEC(rlx_relay_global *) globals;  /* in the order of the text */
    RLX_VEC(rlx_relay_adt *) adts;
    rlx_relay_expr *expr;            /* of a text that is one expression; else NULL */
    uint32_t source;
    uint32_t next_number;            /* of type variables and holes */
    bool inferred, has_prelude;
};

/* The word of `text`, made on first use; NULL: out of memory. */
rlx_relay_word *rlx_relay_word_of(rlx_relay_module *m, rlx_slice text);

/* Reads the source (a number of rlx_diags_add_source) as a module or, where it begins with neither
 * a definition nor a version, as one expression. NULL after errors, which are in the diagnostics
 * of ctx, or when out of memory. The module lives until rlx_relay_free. */
rlx_relay_module *rlx_relay_parse(rlx_context *ctx, uint32_t source);
void rlx_relay_free(rlx_relay_module *m);
/* Gives every expression its type (relay 3). False after errors. */
bool rlx_relay_infer(rlx_relay_module *m);
/* A well-formed module of Relax that computes what this one, whose types are inferred, does
 * (relay 5). NULL after a report, or when out of memory. */
const struct rlx_module *rlx_relay_translate(rlx_relay_module *m);
/* Of an inferred module: the type of the smallest expression around a place of its text, both counted
 * from 1, columns in bytes; the type of a global function, a constructor, or (empty) of the expression
 * that the text is. NULL: there is none. */
const rlx_relay_type *rlx_relay_type_at(rlx_relay_module *m, uint32_t line, uint32_t column);
const rlx_relay_type *rlx_relay_type_of(rlx_relay_module *m, rlx_slice name);
/* The kind of a type that a text says (relay 2.2), or of the name of a data type. NULL after a report. */
const char *rlx_relay_kind_of(rlx_relay_module *m, rlx_slice text);
/* The text of a module (relay 1.6); of one type. */
void rlx_relay_print(const rlx_relay_module *m, rlx_buf *out);
void rlx_relay_print_type(const rlx_relay_type *t, rlx_buf *out);

#endif
