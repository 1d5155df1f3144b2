/*- relay_translate.h: what the files of the translation to Relax share (relay 5, 6).
 *
 *     relay_scopes.c     the order of evaluation, and in which scope each expression is bound; purity
 *     relay_info.c       types as structural information; type parameters replaced
 *     relay_translate.c  modules, functions, expressions       relay_adt.c  constructors and matches
 *     relay_convert.h    calls of operators
 */
#ifndef RLX_RELAY_TRANSLATE_H
#define RLX_RELAY_TRANSLATE_H

#include "relay/relay_convert.h"
#include "relay/relay_infer.h"

/* Limits (RY28): instances of generic functions, the nodes of one match's decision tree, nested scopes. */
#define RLX_RELAY_MAX_INSTANCES 10000
#define RLX_RELAY_MAX_DECISIONS 10000
#define RLX_RELAY_MAX_SCOPES 250

/* An expression in the order of evaluation. `value` is set while its scope is translated: a leaf, or a
 * tuple of leaves; a generic function has none. */
typedef struct rlx_relay_item {
    rlx_relay_expr *e;
    uint32_t scope;            /* innermost one that holds all uses */
    uint32_t next;             /* in the list of its scope; 0: the last */
    uint32_t body, body2;      /* FUNC: scope of the body; IF: of the branches; MATCH: first of the arms */
    const rlx_expr *value;
    rlx_relay_expr *is;        /* VAR that a let binds: its value */
    const rlx_string *name;    /* of the let that binds it */
    bool is_recursive;         /* FUNC: mentions the variable that a let binds it to */
    bool is_impure;            /* evaluating it has effects, but for those of functions that it calls */
    bool is_spread;            /* used from several scopes */
} rlx_relay_item;

/* A function's body, a branch, an arm. Scopes form a tree; the first one is that of the module. */
typedef struct rlx_relay_zone {
    uint32_t parent, depth;
    uint32_t first, last;      /* its items in the order of evaluation; 0: none */
    rlx_relay_expr *root;      /* whose value is that of the scope */
    uint32_t function;         /* scope of the function that it is in */
    bool is_impure;            /* of a function: calls have effects */
    bool may_fail;             /* of a function: a match? in it need not cover everything */
} rlx_relay_zone;

/* A function of the module: a generic one with its type arguments, any other one, or the expression that
 * a text is. */
typedef struct rlx_relay_instance {
    rlx_relay_global *global;        /* NULL: an expression */
    rlx_relay_expr *func;            /* FUNC; NULL: an expression that is none */
    rlx_relay_expr *const *params; size_t num_params;
    uint32_t body;                   /* scope */
    rlx_relay_type *const *args;     /* for the type parameters of func */
    const rlx_string *name;
    const rlx_expr **vars;           /* what the parameters are */
    const rlx_global_var *gv;        /* NULL: nobody has mentioned it yet, so its result may be deduced */
    rlx_ptrmap sizes;                /* extent variable -> shape variable */
    uint32_t fresh;                  /* sizes without a name */
} rlx_relay_instance;
/* A generic local function that was translated with these arguments, and can be seen from here. */
typedef struct rlx_relay_local {
    const rlx_relay_expr *func;
    const rlx_string *key;
    const rlx_expr *value;
} rlx_relay_local;

/* Type parameters in force, innermost last. */
typedef struct rlx_relay_types {
    rlx_relay_type_var *const *params;
    rlx_relay_type *const *args;
    size_t count;
} rlx_relay_types;

typedef struct rlx_relay_translation {
    rlx_context *ctx;
    rlx_relay_module *m;
    rlx_region region;
    rlx_relay_solver s;              /* for substitution only */
    rlx_module_builder *mb;
    rlx_builder *b;
    rlx_relay_names names;
    RLX_VEC(rlx_relay_item) items;   /* by number of the expression; number 0 is nobody's */
    RLX_VEC(rlx_relay_zone) scopes;
    RLX_VEC(rlx_relay_instance *) instances;
    size_t num_done;                 /* of the instances */
    rlx_relay_instance *now;         /* which is being translated, or described */
    rlx_map instance_of;             /* name[arguments] -> instance */
    RLX_VEC(rlx_relay_local) locals;
    RLX_VEC(rlx_relay_types) types;
    RLX_VEC(const rlx_expr *) tags;  /* constants, by tag */
    bool is_untidy;                  /* bindings that nothing uses, no dataflow blocks yet */
    bool impure_values;              /* function values may have effects */
} rlx_relay_translation;

/* ---- order and scopes */
/* Numbers the expressions of a function (or of an expression) and finds their scopes; the scope of
 * its own is `scope`. False: out of memory, or a report. */
bool rlx_relay_find_scopes(rlx_relay_translation *t, rlx_relay_expr *root, uint32_t *scope);
void rlx_relay_drop_scopes(rlx_relay_translation *t);
/* Which functions have effects, once everything has its scope. False after a report. */
bool rlx_relay_find_effects(rlx_relay_translation *t);
bool rlx_relay_is_impure(rlx_relay_translation *t, const rlx_relay_global *g);
RLX_INLINE rlx_relay_item *rlx_relay_item_of(rlx_relay_translation *t, const rlx_relay_expr *e)
{
    return &t->items.data[e->number];
}
/* The expression that a variable bound by a let stands for. */
rlx_relay_expr *rlx_relay_meant(rlx_relay_translation *t, rlx_relay_expr *e);

/* ---- types */
/* The type with the type parameters in force replaced and holes gone. */
rlx_relay_type *rlx_relay_closed(rlx_relay_translation *t, rlx_relay_type *type);
/* Unknown extents: `fresh_sizes` makes a variable of each, else the shape is unknown. */
const rlx_sinfo *rlx_relay_sinfo(rlx_relay_translation *t, const rlx_relay_type *type,
                                 bool fresh_sizes);
/* Type arguments with which the generic type becomes `wanted`; false: out of memory. */
bool rlx_relay_arguments(rlx_relay_translation *t, const rlx_relay_type *generic,
                         const rlx_relay_type *wanted, rlx_relay_type *const **args);
/* More of them, within those that are in force. Popped by rlx_vec_pop. */
bool rlx_relay_push_types(rlx_relay_translation *t, rlx_relay_type_var *const *params,
                          rlx_relay_type *const *args, size_t count);

/* ---- expressions */
/* The value of an expression that has been translated; a generic function as one of the type `wanted`. */
const rlx_expr *rlx_relay_value_of(rlx_relay_translation *t, rlx_relay_expr *e,
                                   const rlx_relay_type *wanted);
/* Translates what belongs to the scope, and gives the value of its root. */
const rlx_expr *rlx_relay_scope_value(rlx_relay_translation *t, uint32_t scope,
                                      const rlx_relay_type *wanted);
/* Binds e to a variable, and casts where Relay knows more of it than Relax. */
const rlx_expr *rlx_relay_bind(rlx_relay_translation *t, const rlx_expr *e, const rlx_relay_type *type,
                               const rlx_string *name, rlx_place place);
const rlx_expr *rlx_relay_cast(rlx_relay_translation *t, const rlx_expr *e, const rlx_sinfo *want,
                               rlx_place place);
const rlx_expr *rlx_relay_project(rlx_relay_translation *t, const rlx_expr *tuple, int64_t index,
                                rlx_place place);
/* A local function of the values that `params` (VARs) stand for, whose value is that of the scope. */
const rlx_expr *rlx_relay_local_function(rlx_relay_translation *t, rlx_relay_expr *const *params,
                                         size_t count, uint32_t body, const rlx_relay_type *result,
                                         const rlx_string *name, rlx_relay_item *self, rlx_place place);
/* Sets what a variable of a pattern or a parameter stands for. */
void rlx_relay_set(rlx_relay_translation *t, const rlx_relay_expr *var, const rlx_expr *value);

/* ---- algebraic data types (relay 6.1, 6.3) */
/* What every instance of a data type is: its tag, and its fields as an object. */
const rlx_sinfo *rlx_relay_adt_info(rlx_relay_translation *t);
const rlx_expr *rlx_relay_construct(rlx_relay_translation *t, const rlx_relay_ctor *ctor,
                                    const rlx_expr *const *fields, rlx_place place);
const rlx_expr *rlx_relay_match(rlx_relay_translation *t, rlx_relay_item *match);

/* RY28: cannot be said in Relax. NULL. */
void *rlx_relay_refuse(rlx_relay_translation *t, rlx_place place, const char *format, ...)
    RLX_PRINTF(3, 4);

#endif
