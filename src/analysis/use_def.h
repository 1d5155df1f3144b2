/* use_def.h: definitions and uses of the variables of a program, asked for by variable. */
#ifndef RLX_USE_DEF_H
#define RLX_USE_DEF_H

#include "ir/ir.h"

enum rlx_use_kind {
    RLX_USE_VALUE = 1,       /* operand of the value */
    RLX_USE_STRUCT_INFO = 2, /* in an annotation or the target of a cast (language 2.4.8) */
    RLX_USE_RESULT = 3       /* in the result of a sequence */
};
/* by: the innermost binding around it; NULL: the result or signature of the outermost function.
 * One for each binding and kind. */
typedef struct rlx_use { const rlx_binding *by; uint8_t kind; } rlx_use;

/* A variable, in order of first occurrence. Its uses, in order of evaluation, are
 * uses[first] ... uses[first + count - 1]. */
typedef struct rlx_var_uses {
    const rlx_var *var;
    const rlx_binding *binding;    /* NULL: a parameter, or bound elsewhere */
    size_t first, count;
    int64_t position;              /* of the binding among all, -1: none */
} rlx_var_uses;

/* Bindings of variables of one name: named[first] ... named[first + count - 1]. */
typedef struct rlx_name_list { size_t first, count; } rlx_name_list;

typedef struct rlx_use_def {
    rlx_context *ctx;
    rlx_ptrmap index;              /* variable -> number + 1 */
    RLX_VEC(rlx_var_uses) vars;
    rlx_use *uses; size_t num_uses;
    RLX_VEC(const rlx_var *) outputs;
    rlx_map names;                 /* as printed -> its list + 1 */
    RLX_VEC(rlx_name_list) lists;
    const rlx_binding **named; size_t num_named;
} rlx_use_def;

/* Of a module, function, expression, block or binding. Outputs: variables in the result of a
 * function or sequence; ordinary variables that a block binds. False: out of memory; free it in
 * any case. */
bool rlx_use_def_find(rlx_use_def *u, rlx_context *ctx, const rlx_node *n);
void rlx_use_def_free(rlx_use_def *u);
/* NULL: does not occur. */
const rlx_var_uses *rlx_uses_of(const rlx_use_def *u, const rlx_expr *var);

#endif
