/*- vm_writer_int.h: inside the VM writer only.
 *
 *   vm_writer.c        a module: numbers of functions and kernels, the file
 *   code_constant.c    constants, each content once
 *   code_function.c    one function: entry, bindings in order, branches, result
 *   code_order.c       the order in which the parts of a function are met
 *   code_register.c    values, how long each is needed, the register it is in
 *   code_operand.c     leaves and numbers as operands
 *   code_call.c        calls
 *   code_proof.c       what is proved, and the descriptions that check the rest
 *
 * A function is gone through twice in the same order: first to find the last use of each value,
 * then to write code. Failure: a function that returns bool and says false has reported why, or
 * memory is out.
 */
#ifndef RLX_VM_WRITER_INT_H
#define RLX_VM_WRITER_INT_H

#include "analysis/analysis.h"
#include "codegen/codegen.h"

/* ---- a module ------------------------------------------------------------------------------- */

typedef struct cw_kernel {
    uint32_t number;        /* of the kernel; RLX_NO_INDEX: not written yet */
    uint32_t function;      /* number of its function record; RLX_NO_INDEX: none */
    /* by parameter: does the kernel store into it? NULL: not looked at yet */
    uint8_t *written;
} cw_kernel;

typedef struct cw_module {
    rlx_context *ctx;
    const rlx_module *m;
    const rlx_codegen_options *o;
    rlx_env env;
    rlx_writer out;
    /* by position in the module: number of the function; of PrimFuncs RLX_NO_INDEX */
    uint32_t *functions;
    cw_kernel *kernels;     /* by position */
    rlx_ptrmap leaves;      /* leaf, by identity -> constant number + 1 */
    RLX_VEC(rlx_kernel_hints) hints; /* by kernel number, for targets that make more of kernels */
    rlx_intern tensors;     /* content of constants: index + 1 into tensor_nodes */
    RLX_VEC(const rlx_constant *) tensor_nodes;
    RLX_VEC(uint32_t) tensor_numbers;
} cw_module;

/* Number of the kernel of the PrimFunc at `index` of the module; writes it when first asked. */
bool cw_kernel_number(cw_module *w, size_t index, uint32_t *out);
/* Function record of the PrimFunc at `index`, for use as a value. */
bool cw_kernel_function(cw_module *w, size_t index, uint32_t *out);
/* Does that PrimFunc store into its parameter i? */
bool cw_kernel_writes(cw_module *w, size_t index, size_t param, bool *out);
/* The public name of a function; .data NULL: it is private. */
rlx_slice cw_public_name(const rlx_node *function);
/* Number of a constant with the content of e: CONSTANT, STRING_IMM, DTYPE_IMM, EXTERN_FUNC,
 * GLOBAL_VAR, SHAPE_EXPR of literals, PRIM_VALUE of a literal. */
bool cw_constant(cw_module *w, const rlx_expr *e, uint32_t *out);
/* Has e such a number? */
bool cw_is_constant(const rlx_expr *e);
/* False, with the report that a limit of the file format asks for. */
bool cw_failed(cw_module *w, rlx_place place);

/* ---- order ---------------------------------------------------------------------------------- */

/* IF comes before its branches. Each event has a number, in order. */
enum cw_event { CW_BIND, CW_IF, CW_THEN_END, CW_ELSE_END, CW_END };
/* A sequence under way: the body of the function, or a branch (the second takes the place of
 * the first). */
typedef struct cw_part {
    const rlx_seq_expr *seq;      /* NULL: only a result */
    const rlx_expr *result;
    size_t block, at;
    const rlx_binding *holder;    /* of the if; NULL: the body */
    uint32_t holder_number;
    uint32_t serial[2];           /* of the sequences: body or first branch, second branch */
    bool second;
    /* while code is written */
    bool tail;                    /* its end is the end of the function */
    uint32_t target;              /* register of the result; RLX_NO_INDEX: nobody wants it */
    uint32_t branch_at, jump_at;  /* to be patched */
    size_t num_facts, num_equals, num_bound, num_computed; /* of the function when it began */
} cw_part;
typedef struct cw_order {
    RLX_VEC(cw_part) parts;
    const rlx_binding *binding;   /* of BIND and IF */
    uint32_t number, next_number, next_serial;
    enum cw_event last;
} cw_order;
bool cw_order_begin(cw_order *o, rlx_context *ctx, const rlx_expr *body);
bool cw_order_next(cw_order *o, rlx_context *ctx, enum cw_event *event);
void cw_order_free(cw_order *o, rlx_context *ctx);
RLX_INLINE cw_part *cw_top(const cw_order *o) { return &rlx_vec_last(&o->parts); }
RLX_INLINE uint32_t cw_serial(const cw_part *p) { return p->serial[p->second]; }

/* ---- a function ----------------------------------------------------------------------------- */

#define CW_FOREVER UINT32_MAX

/* Values of variables. Copies of a variable (y = x, a cast of x) have one value. */
typedef struct cw_value {
    const rlx_expr *definition;   /* value of the binding; NULL: a parameter */
    const rlx_expr *leaf;         /* a constant of the file: needs no register; else NULL */
    uint32_t reg;                 /* RLX_NO_INDEX: none (yet) */
    /* register that it should be made in, kept by somebody else; RLX_NO_INDEX: any */
    uint32_t wish;
    /* number of the event after which it is dead, in its own sequence */
    uint32_t last;
    uint32_t next;                /* in the list of those that die there: index + 1 */
    uint32_t depth, serial;       /* of its sequence */
    uint32_t branch[2];           /* of an if: serials of its branches */
    /* which tensor of the function's result it is; RLX_NO_INDEX: none */
    uint32_t result;
    bool used, boxed, lent;       /* boxed: may hold memory; lent: its register is not its own */
} cw_value;

typedef struct cw_temp { uint32_t reg; bool boxed; } cw_temp;

typedef struct cw_fn {
    cw_module *w;
    rlx_context *ctx;
    rlx_writer *out;
    const rlx_function *f;
    cw_order order;
    rlx_place place;               /* of the binding at hand */
    rlx_scope scope;               /* what is known of shape variables */
    rlx_ptrmap slots;              /* PRIM_VAR -> slot + 1 */
    rlx_ptrmap bound;              /* those that have a value here */
    RLX_VEC(const rlx_prim_var *) bound_list;
    rlx_ptrmap fresh;              /* to be bound by the next description */
    RLX_VEC(const rlx_prim_var *) fresh_list;
    rlx_ptrmap exprs;              /* PRIM -> offset + 1 */
    rlx_ptrmap computed;           /* long PRIM -> slot + 1, where it has been computed */
    RLX_VEC(const rlx_prim *) computed_list;
    uint32_t num_syms;
    RLX_VEC(cw_value) values;
    rlx_ptrmap vars;               /* variable -> index of its value + 1 */
    /* by event number: index + 1 of the first value that dies after it */
    uint32_t *dying;
    size_t num_events;
    uint32_t num_regs;
    RLX_VEC(uint32_t) free;        /* registers that hold nothing that matters */
    RLX_VEC(uint32_t) dead;        /* registers that still hold what is dead */
    RLX_VEC(cw_temp) temps;        /* registers of the binding at hand */
    RLX_VEC(uint32_t) args;        /* operands of instructions under way */
    RLX_VEC(const rlx_expr *) work;
    uint32_t result;               /* description of the result; RLX_NO_INDEX: proved */
    bool ended;                    /* the code so far does not go on */
} cw_fn;

/* Writes the code of f and sets record `number`. */
bool cw_function(cw_module *w, const rlx_function *f, const rlx_global_var *gv, uint32_t number);

/* ---- code_register.c */
/* Finds values, last uses and results of the whole function. */
bool cw_find_values(cw_fn *n);
/* NULL: not a variable of this function. */
cw_value *cw_value_of(const cw_fn *n, const rlx_expr *var);
/* The variable that a binding only copies, or NULL. */
const rlx_var *cw_copied(const rlx_binding *b);
bool cw_take(cw_fn *n, uint32_t *reg);                 /* a register of one's own */
/* the register of v, which is about to be written */
bool cw_define(cw_fn *n, cw_value *v, uint32_t *reg);
bool cw_temp_register(cw_fn *n, bool boxed, uint32_t *reg); /* until cw_end_binding */
bool cw_release(cw_fn *n, uint32_t reg, bool boxed);
bool cw_die(cw_fn *n, uint32_t number);                /* values that are dead after that event */
bool cw_end_binding(cw_fn *n);                         /* gives temporaries back */
/* Lets go of what is dead. Called where memory is about to be asked for, so that it can be used
 * again. */
bool cw_flush(cw_fn *n);
/* the same where control does not go on: no code */
bool cw_forget_dead(cw_fn *n);

/* ---- code_operand.c: numbers and leaves */
bool cw_int(cw_fn *n, const rlx_prim *p, uint32_t *operand);
bool cw_operand(cw_fn *n, const rlx_expr *e, uint32_t *operand);
bool cw_push_arg(cw_fn *n, const rlx_expr *e);         /* an operand at the end of n->args */
bool cw_push_int(cw_fn *n, const rlx_prim *p);
bool cw_register(cw_fn *n, const rlx_expr *leaf, uint32_t *reg);
bool cw_load(cw_fn *n, const rlx_expr *leaf, uint32_t reg);
/* Appends an instruction whose list are the args from `first` on, and takes them off. */
#define CW_EMIT_ARGS(n, op, first, ...)                                                           \
    (RLX_EMIT_LIST((n)->out, op, (n)->args.data + (first), (n)->args.len - (first), __VA_ARGS__), \
     (n)->args.len = (first), rlx_writer_ok((n)->out) || cw_failed((n)->w, (n)->place))

/* ---- code_call.c: where a value goes */
typedef struct cw_target {
    cw_value *value;   /* NULL: a temporary */
    bool wanted;       /* somebody looks at it */
    bool tail;         /* it is the result of the function, unchecked: a tail call may make it */
    uint32_t reg;      /* out; RLX_NO_INDEX: not made */
} cw_target;
/* The register of the target, taken when first asked for. RLX_NO_INDEX if it is not wanted. */
bool cw_target_register(cw_fn *n, cw_target *t);
bool cw_call(cw_fn *n, const rlx_call *call, cw_target *t);

/* ---- code_proof.c */
/* Struct info of the value of e without that of the variable it is bound to. NULL: memory is
 * out. */
const rlx_sinfo *cw_known(cw_fn *n, const rlx_expr *e);
/* Do all arguments of a call of a Relax function surely fit? */
bool cw_args_fit(cw_fn *n, const rlx_call *call);
bool cw_surely_fits(cw_fn *n, const rlx_sinfo *have, const rlx_sinfo *want);
/* Slots for the variables that s binds, not bound yet; *any: there is one. */
bool cw_fresh_symbols(cw_fn *n, const rlx_sinfo *s, bool *any);
/* They have a value from here on; what is described next binds them. */
bool cw_bind_fresh(cw_fn *n);
void cw_encoder(cw_fn *n, rlx_encoder *e);
void cw_drop_description(cw_fn *n, rlx_desc_writer *d); /* begun, and will not be finished */
/* A description of s; binds the fresh symbols. */
bool cw_describe(cw_fn *n, const rlx_sinfo *s, uint32_t *offset);
bool cw_encode_failed(cw_fn *n, const rlx_encoder *e);
/* MATCH of a register. name may be NULL. */
bool cw_match(cw_fn *n, uint32_t reg, const rlx_sinfo *s, enum rlx_match_flavour flavour,
              const rlx_var *name);
/* RLX_NO_INDEX if there is none, or names are left out */
uint32_t cw_var_name(cw_fn *n, const rlx_var *v);
/* The vars that s mentions as shapes: each is handed to `use`. */
bool cw_each_shape_var(cw_fn *n, const rlx_sinfo *s, bool (*use)(cw_fn *n, const rlx_expr *var));

#endif
