/*- rewrite.h: walking and rewriting programs with callbacks of the host.
 *
 * A visitor is a table of callbacks, one per kind of node; it reads. A mutator is such a table
 * whose callbacks return what is to stand for the node. Entries that are NULL do the default.
 * Neither uses the C stack for the depth of a program: a callback does not call the default, it
 * asks for it by what it returns.
 *
 * Counting definitions needs one entry, counting those inside of dataflow blocks the narrower
 * one:
 *     static int32_t count_def(void *user, const relax_expr *var)
 *     {
 *         ++*(size_t *)user;
 *         return RELAX_VISIT_DONE;
 *     }
 *     relax_visitor all = { .struct_size = sizeof all, .user = &n, .var_def = count_def };
 *     relax_visitor some = { sizeof some, &n, .var_def_dataflow_var = count_def };
 *     relax_node_visit(ctx, relax_module_as_node(module), &all);
 *
 * a * b + c becomes fma(a, b, c); the product stays for others that use it, or for
 * dead_code_elimination:
 *     static const relax_expr *fuse(void *user, relax_mutator *m, const relax_expr *add)
 *     {
 *         const relax_expr *mul = relax_mutator_find(m, relax_expr_operand(add, 1));
 *         if (!relax_expr_is_call_of(add, RELAX_STR("add")) ||
 *             !relax_expr_is_call_of(mul, RELAX_STR("multiply")))
 *             return add;
 *         return relax_r_ewise_fma(user, relax_expr_operand(mul, 1), relax_expr_operand(mul, 2),
 *                                  relax_expr_operand(add, 2));
 *     }
 *     relax_mutations fma = { .struct_size = sizeof fma, .user = ctx, .call = fuse };
 *     module = relax_module_mutate(ctx, module, NULL, 0, &fma);
 */
#ifndef RELAX_REWRITE_H
#define RELAX_REWRITE_H

#include <relax/builder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- visiting ------------------------------------------------------------------------------- */

/* Answers of a visitor's callback: 0 when it is done with the node, so that nothing below it is
 * visited; RELAX_VISIT_CHILDREN for the default. Any other number ends the walk. */
enum relax_visit_answer { RELAX_VISIT_DONE = 0, RELAX_VISIT_CHILDREN = -1000 };

typedef int32_t (*relax_visit_expr_fn)(void *user, const relax_expr *expr);
typedef int32_t (*relax_visit_binding_fn)(void *user, const relax_binding *binding);
typedef int32_t (*relax_visit_block_fn)(void *user, const relax_block *block);
typedef int32_t (*relax_visit_info_fn)(void *user, const relax_struct_info *info);
typedef int32_t (*relax_visit_prim_fn)(void *user, const relax_prim_expr *prim);
typedef int32_t (*relax_visit_place_fn)(void *user, relax_place place);
typedef int32_t (*relax_visit_node_fn)(void *user, const relax_node *node);

/* What is to be called (relax_visitor_init, or struct_size and zeros). Entries are asked in this
 * order: `expr`, `binding`, `block`, `var_def` and `sinfo_dep` first, if set, and when they answer
 * RELAX_VISIT_CHILDREN the entry of the kind. Where that is NULL: `var` for dataflow_var,
 * `var_def_var` for var_def_dataflow_var, `binding_block` for dataflow_block, `var_binding` for
 * var_binding_<kind of the value>; where those are NULL, the default, which visits the children
 * in evaluation order.
 *
 * A use of a variable goes to `var`, a definition (parameters too) to `var_def`; a binding's
 * value comes before its definition. `sinfo_dep` is called for struct info that hangs on an
 * expression: of a variable where it is defined, sinfo_args of a call, the target of a
 * match_cast, the result of a function. Its default visits the parts by kind, and inside of
 * them Relax variables as uses (`expr`, `var`) and dimensions and values as integer expressions
 * (`prim_expr`: each maximal one, which has no children). `span` gets the place of each node
 * whose children are visited, if it has one, before them; `leave` (not asked for integer
 * expressions) the node after them.
 *
 * Attributes and functions of TIR are passed over. A node that occurs twice is visited twice.
 */
typedef struct relax_visitor {
    size_t struct_size;
    void *user;
    relax_visit_expr_fn expr;
    relax_visit_expr_fn constant;
    relax_visit_expr_fn tuple;
    relax_visit_expr_fn var;
    relax_visit_expr_fn dataflow_var;
    relax_visit_expr_fn global_var;
    relax_visit_expr_fn seq;
    relax_visit_expr_fn prim_value;
    relax_visit_expr_fn string_imm;
    relax_visit_expr_fn dtype_imm;
    relax_visit_expr_fn function;
    relax_visit_expr_fn if_expr;
    relax_visit_expr_fn extern_func;
    relax_visit_expr_fn call;
    relax_visit_expr_fn shape;
    relax_visit_expr_fn tuple_get_item;
    relax_visit_expr_fn op;
    relax_visit_binding_fn binding;
    relax_visit_binding_fn var_binding;
    relax_visit_binding_fn match_cast;
    relax_visit_binding_fn var_binding_constant;
    relax_visit_binding_fn var_binding_tuple;
    relax_visit_binding_fn var_binding_var;
    relax_visit_binding_fn var_binding_dataflow_var;
    relax_visit_binding_fn var_binding_global_var;
    relax_visit_binding_fn var_binding_seq;
    relax_visit_binding_fn var_binding_prim_value;
    relax_visit_binding_fn var_binding_string_imm;
    relax_visit_binding_fn var_binding_dtype_imm;
    relax_visit_binding_fn var_binding_function;
    relax_visit_binding_fn var_binding_if_expr;
    relax_visit_binding_fn var_binding_extern_func;
    relax_visit_binding_fn var_binding_call;
    relax_visit_binding_fn var_binding_shape;
    relax_visit_binding_fn var_binding_tuple_get_item;
    relax_visit_binding_fn var_binding_op;
    relax_visit_block_fn block;
    relax_visit_block_fn binding_block;
    relax_visit_block_fn dataflow_block;
    relax_visit_expr_fn var_def;
    relax_visit_expr_fn var_def_var;
    relax_visit_expr_fn var_def_dataflow_var;
    relax_visit_place_fn span;
    relax_visit_prim_fn prim_expr;
    relax_visit_info_fn sinfo_dep;
    relax_visit_info_fn sinfo_object;
    relax_visit_info_fn sinfo_prim;
    relax_visit_info_fn sinfo_shape;
    relax_visit_info_fn sinfo_tensor;
    relax_visit_info_fn sinfo_tuple;
    relax_visit_info_fn sinfo_func;
    relax_visit_info_fn sinfo_host; /* of a kind of the host */
    relax_visit_node_fn leave;
} relax_visitor;
/* Fills `visitor` with the defaults: no entry, which visits everything and calls nobody. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_visitor_init(relax_visitor *visitor, size_t struct_size);

/* Visits `node` and what is below it: an expression, function, binding, block, struct info or
 * module. RELAX_OK, or what the callback returned that ended the walk; for
 * RELAX_ERROR_INVALID_ARGUMENT and RELAX_ERROR_OUT_OF_MEMORY of its own there is a diagnostic.
 * A callback may build expressions; it does not collect the context. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) relax_status
    relax_node_visit(relax_context *ctx, const relax_node *node, const relax_visitor *visitor);
/* Calls `each` for every expression of `node` once, variables included, after what it is made
 * of. Struct info and attributes are passed over. Any answer but 0 ends it and is returned;
 * else as relax_node_visit. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) relax_status
    relax_node_visit_post_order(relax_context *ctx, const relax_node *node,
                                relax_visit_expr_fn each, RELAX_NULLABLE void *user);

/* ---- rewriting ------------------------------------------------------------------------------ */

/* A rewriting under way; lives while relax_module_mutate runs, and is used from its callbacks
 * only. */
typedef struct relax_mutator relax_mutator;

typedef const relax_expr *(*relax_mutate_expr_fn)(void *user, relax_mutator *mutator,
                                                  const relax_expr *expr);
typedef int32_t (*relax_mutate_binding_fn)(void *user, relax_mutator *mutator,
                                           const relax_binding *binding);
typedef const relax_block *(*relax_mutate_block_fn)(void *user, relax_mutator *mutator,
                                                    const relax_block *block);
typedef const relax_prim_expr *(*relax_mutate_prim_fn)(void *user, relax_mutator *mutator,
                                                       const relax_prim_expr *prim);
typedef const relax_struct_info *(*relax_mutate_info_fn)(void *user, relax_mutator *mutator,
                                                         const relax_struct_info *info);

/* The place of a binding that comes; what is returned is the place of what is made for it: of the
 * rewritten binding, and of those emitted on the way that are given none. 0: the same. */
typedef relax_place (*relax_mutate_place_fn)(void *user, relax_mutator *mutator,
                                             relax_place place);

/* What `flags` of relax_mutations adds up. */
enum relax_mutate_flag {
    /* expression and struct info entries get nodes whose children are final: their variables are
     * those of the new program, and their struct info is known. Not `seq`. */
    RELAX_MUTATE_POST_ORDER = 1,
    /* only dataflow blocks and what is in them: everything else passes through */
    RELAX_MUTATE_DATAFLOW = 2
};

/* The entries of a visitor, for rewriting; their order and what NULL means are the same. An
 * entry that returns what it was given asks for the default: the node is rebuilt from rewritten
 * children, and is the same node if they are. What it returns instead stands for the node, and
 * is not looked into: it may be nested, and mention variables of the old program, which become
 * those that took their place. NULL: failure, said by a diagnostic.
 *
 * Entries of bindings answer as those of visitors: RELAX_VISIT_CHILDREN for the default, which
 * rewrites the value, then the definition, and gives the variable the struct info of the new
 * value (a new variable if it differs; uses follow). 0: what was emitted by the builder stands
 * for it, its variable is taken over by relax_mutator_replace unless nothing uses it. Any other
 * number is a failure.
 *
 * Blocks, branches and functions: blocks that become empty vanish, neighbours of a kind are
 * joined, a function keeps the result it states if its body still fits it, else it is derived.
 * A definition's entry returns a variable made by relax_var_new, whose name and struct info count;
 * `prim_expr` an expression of the same dtype. Struct info is asked for where the program states
 * it, once for each that differs, function descriptions but for their placeholders.
 */
typedef struct relax_mutations {
    size_t struct_size;
    void *user;
    int32_t flags;     /* RELAX_MUTATE_... */
    int32_t reserved;  /* 0 */
    relax_mutate_expr_fn expr;
    relax_mutate_expr_fn constant;
    relax_mutate_expr_fn tuple;
    relax_mutate_expr_fn var;
    relax_mutate_expr_fn dataflow_var;
    relax_mutate_expr_fn global_var;
    relax_mutate_expr_fn seq;
    relax_mutate_expr_fn prim_value;
    relax_mutate_expr_fn string_imm;
    relax_mutate_expr_fn dtype_imm;
    relax_mutate_expr_fn function;
    relax_mutate_expr_fn if_expr;
    relax_mutate_expr_fn extern_func;
    relax_mutate_expr_fn call;
    relax_mutate_expr_fn shape;
    relax_mutate_expr_fn tuple_get_item;
    relax_mutate_expr_fn op;
    relax_mutate_binding_fn binding;
    relax_mutate_binding_fn var_binding;
    relax_mutate_binding_fn match_cast;
    relax_mutate_binding_fn var_binding_constant;
    relax_mutate_binding_fn var_binding_tuple;
    relax_mutate_binding_fn var_binding_var;
    relax_mutate_binding_fn var_binding_dataflow_var;
    relax_mutate_binding_fn var_binding_global_var;
    relax_mutate_binding_fn var_binding_seq;
    relax_mutate_binding_fn var_binding_prim_value;
    relax_mutate_binding_fn var_binding_string_imm;
    relax_mutate_binding_fn var_binding_dtype_imm;
    relax_mutate_binding_fn var_binding_function;
    relax_mutate_binding_fn var_binding_if_expr;
    relax_mutate_binding_fn var_binding_extern_func;
    relax_mutate_binding_fn var_binding_call;
    relax_mutate_binding_fn var_binding_shape;
    relax_mutate_binding_fn var_binding_tuple_get_item;
    relax_mutate_binding_fn var_binding_op;
    relax_mutate_block_fn block;
    relax_mutate_block_fn binding_block;
    relax_mutate_block_fn dataflow_block;
    relax_mutate_expr_fn var_def;
    relax_mutate_expr_fn var_def_var;
    relax_mutate_expr_fn var_def_dataflow_var;
    relax_mutate_prim_fn prim_expr;
    relax_mutate_info_fn sinfo_dep;
    relax_mutate_info_fn sinfo_object;
    relax_mutate_info_fn sinfo_prim;
    relax_mutate_info_fn sinfo_shape;
    relax_mutate_info_fn sinfo_tensor;
    relax_mutate_info_fn sinfo_tuple;
    relax_mutate_info_fn sinfo_func;
    relax_mutate_info_fn sinfo_host;
    relax_mutate_place_fn span; /* before the entries of the binding */
} relax_mutations;
/* Fills `mutations` with the defaults: no entry, which changes nothing. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_mutations_init(relax_mutations *mutations, size_t struct_size);

/* Rewrites the Relax function called `function`, or (NULL) all of them. The module is the same
 * if nothing changed; functions that did not change are shared with it. A binding made on the
 * way has the place of the one that it is made for. What comes out is normal and well-formed, or
 * NULL with diagnostics: variables lost (WF02), impure calls or branches in dataflow blocks
 * (PU01, WF07), outputs of a dataflow block that are not bound after it any more (OP17), what a
 * callback raised. Functions added on the way are not rewritten.
 */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_mutate(
        relax_context *ctx, const relax_module *module, RELAX_NULLABLE const char *function,
        size_t function_len, const relax_mutations *mutations);

/* The builder, standing where the node is that a callback was asked about: what is emitted comes
 * before it. Begins and ends pair. Gone when the callback returns. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator)
RELAX_BORROWED RELAX_NULLABLE relax_builder *relax_mutator_builder(relax_mutator *mutator);
/* The module that comes out, for adding functions to it. Gone when the callback returns. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator)
RELAX_BORROWED RELAX_NULLABLE relax_module_builder *relax_mutator_module_builder(
        relax_mutator *mutator);
/* Place of the node that a callback is asked about, if it has one; of a binding what `span` made
 * of it. Else that of the binding, block or function it is in; 0 if nothing is known. What is
 * emitted without a place gets that of the binding. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator)
relax_place relax_mutator_place(relax_mutator *mutator);
/* The present form of a variable of the old program: itself, another variable, or a leaf. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_mutator_now(relax_mutator *mutator,
        const relax_expr *var);
/* The rewritten value of a variable, old or new, that has been bound; what stands for it, if
 * that is no variable. NULL for parameters, casts and what is no variable. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator) RELAX_BORROWED RELAX_NULLABLE const
    relax_expr *relax_mutator_find(relax_mutator *mutator, const relax_expr *var);
/* From here on `with`, a variable or another leaf, stands for `var`. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator)
relax_status relax_mutator_replace(relax_mutator *mutator, const relax_expr *var,
                                   const relax_expr *with);
/* The callback under way, which is not that of a binding, returns what it was given: that stays
 * as it is but for variables replaced, and is not looked into. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(mutator)
relax_status relax_mutator_keep(relax_mutator *mutator);

/* ---- edits of a dataflow block -------------------------------------------------------------- */

/* owned: destroy it. The block, function and module with the edit are made when asked for; the
 * old ones stay what they are. Operations that are refused say why and change nothing. */
typedef struct relax_block_edit relax_block_edit;

/* An edit of `block`, a dataflow block of `function`. Keeps a reference of ctx. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_block_edit *relax_block_edit_create(relax_context *ctx,
        const relax_module *module, const char *function, size_t function_len,
        const relax_block *block);
/* Drops it; what was made by it stays. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
void relax_block_edit_destroy(relax_block_edit *edit);
/* Every use of the variable `old` in the block, and after it if the block binds `old`, becomes one
 * of `with`: a variable bound before all of them whose struct info fits (RELAX_ASSIGNABLE_VALUE or
 * better), and an output if uses after the block are among them. OP17 if not. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
relax_status relax_block_edit_replace_uses(relax_block_edit *edit, const relax_expr *old,
                                           const relax_expr *with);
/* Binds `expr` (operands that are nested first) as early as its operands allow, and returns the
 * variable: one of the block, or an output of it. `name` NULL: lv, gv and a number. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_block_edit_add(relax_block_edit *edit,
        const relax_expr *expr, RELAX_NULLABLE const char *name, size_t name_len,
        int32_t output);
/* Removes the binding of `var`. OP09 while it is used, unless `even_if_used`: then the uses are
 * to be replaced before function or module are asked for. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
relax_status relax_block_edit_remove(relax_block_edit *edit, const relax_expr *var,
                                     int32_t even_if_used);
/* Removes all bindings that nothing in the function uses, or only what goes with them; casts
 * stay, as they check something. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
relax_status relax_block_edit_remove_unused(relax_block_edit *edit);
/* The block as it is now; the old one if nothing changed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
RELAX_BORROWED RELAX_NULLABLE const relax_block *relax_block_edit_block(relax_block_edit *edit);
/* The function with it, well-formed; NULL and diagnostics if it is not. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
RELAX_BORROWED RELAX_NULLABLE const relax_base_func *relax_block_edit_function(
        relax_block_edit *edit);
/* The module with that function; the old one if nothing changed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(edit)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_block_edit_module(relax_block_edit *edit);

/* ---- copies --------------------------------------------------------------------------------- */

/* `node`, an expression, function or struct info, in which to[i] stands for from[i]: an integer
 * expression of the same dtype for a shape variable, a leaf that fits its struct info for a
 * Relax variable; all at once. Shape variables are replaced where they are bound too (then
 * nothing binds them any more); Relax variables that `node` itself binds are refused.
 * `renew` 1: everything that is bound inside becomes another variable, as for a second use of
 * the same node in a module. The node itself if nothing changes. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const relax_node *relax_node_substitute(
        relax_context *ctx, const relax_node *node, const relax_node *const *from,
        const relax_node *const *to, size_t count, int32_t renew);
/* A copy whose bound variables, shape variables and buffers are its own; what is free stays. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE const
    relax_node *relax_node_copy_renewed(relax_context *ctx, const relax_node *node);

/* ---- functions out of functions ------------------------------------------------------------- */

/* The bindings from `first` to `last`, which stand in one block of `function`, become a private
 * function with a name made from `name`, and a call of it. Its parameters are the variables that
 * the run uses and does not bind, then one R.Shape of the sizes that those do not bind, and one
 * R.Prim per scalar variable. It returns what is used after the run: one value as it is, more as
 * a tuple, sizes that the run binds as a shape at its end; what its signature does not describe
 * as well is cast where the run was. It is pure if all calls of the run are. Runs that are equal
 * share one function. NULL and diagnostics on failure. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_extract_function(
        relax_context *ctx, const relax_module *module, const char *function, size_t function_len,
        const relax_binding *first, const relax_binding *last, const char *name, size_t name_len);
/* The call that `binding` of `function` binds, of a Relax function of the module, becomes the
 * body of that function, with variables of its own. Arguments and results that are not proved to
 * be what the function says are cast, as its border checks them. A dataflow block is split around
 * a body with an `if` or an impure call. PU02 if that call would come to stand in a function that
 * is pure. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_inline_call(
        relax_context *ctx, const relax_module *module, const char *function, size_t function_len,
        const relax_binding *binding);
/* Inlines all calls of `function` in other functions, each as relax_module_inline_call does; the
 * function itself stays. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_inline_function(
        relax_context *ctx, const relax_module *module, const char *function, size_t function_len);

#ifdef __cplusplus
}
#endif
#endif
