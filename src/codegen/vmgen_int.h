/*- vmgen_int.h: inside the VM writer only.
 *
 *   vmgen_module.c        a module: numbers of functions and kernels, the file
 *   vmgen_constant.c    constants, each content once
 *   vmgen_function.c    one function: entry, bindings in order, branches, result
 *   vmgen_order.c       numbers for what is met on the way through a function
 *   vmgen_register.c    values, how long each is needed, the register it is in
 *   vmgen_operand.c     leaves and numbers as operands
 *   vmgen_call.c        calls
 *   vmgen_proof.c       what is proved, and the descriptions that check the rest
 *
 * A function is gone through twice in the same order: first to find the last use of each value,
 * then to write code. Failure: a function that returns bool and says false has reported why, or
 * memory is out.
 */
#ifndef RLX_VMGEN_INT_H
#define RLX_VMGEN_INT_H

#include "analysis/analysis.h"
#include "codegen/codegen.h"
#include "codegen/kgen.h"
#include "desc/desc.h"
#include "format/format.h"
#include "op/op.h"

/* ---- a module ------------------------------------------------------------------------------- */

typedef struct rlx_vmgen_kernel {
    uint32_t number;        /* of the kernel; RLX_NO_INDEX: not written yet */
    uint32_t function;      /* number of its function record; RLX_NO_INDEX: none */
    /* by parameter: does the kernel store into it? NULL: not looked at yet */
    uint8_t *written;
    const int32_t *first_place; /* as rlx_find_first_place says, if `looked_at`; NULL: nothing */
    bool looked_at;
} rlx_vmgen_kernel;

/* A constant in the file. hash: of its whole content; 0: not asked for yet. */
typedef struct rlx_vmgen_tensor {
    const rlx_constant *node;
    uint32_t number;
    uint64_t hash;
} rlx_vmgen_tensor;

/* A late call: its operands and its program with holes. */
typedef struct rlx_vmgen_site {
    const rlx_call *call;
    const rlx_expr *const *holes;
    size_t num_holes;
    uint32_t constant;
    rlx_slice program;
    bool told; /* that it cannot be compiled ahead */
} rlx_vmgen_site;

typedef struct rlx_vmgen_module {
    rlx_context *ctx;
    const rlx_module *m;
    const rlx_codegen_options *o;
    rlx_env env;
    rlx_file_writer out;
    /* by position in the module: number of the function; of PrimFuncs RLX_NO_INDEX */
    uint32_t *functions;
    rlx_vmgen_kernel *kernels; /* by position */
    rlx_ptrmap leaves;      /* leaf, by identity -> constant number + 1 */
    RLX_VEC(rlx_kernel_hints) hints; /* by kernel number, for targets that make more of kernels */
    RLX_VEC(rlx_vmgen_tensor) tensors;
    rlx_intern tensor_table; /* content of constants: index + 1 into tensors */
    rlx_map late_programs;   /* text of a late call -> constant number + 1 */
    RLX_VEC(rlx_vmgen_site) sites; /* late calls, if some are to be compiled ahead */
    rlx_ptrmap site_table;   /* call -> index + 1 */
} rlx_vmgen_module;

/* Number of the kernel of the PrimFunc at `index` of the module; writes it when first asked. */
bool rlx_vmgen_kernel_number(rlx_vmgen_module *w, size_t index, uint32_t *out);
/* Function record of the PrimFunc at `index`, for use as a value. */
bool rlx_vmgen_kernel_function(rlx_vmgen_module *w, size_t index, uint32_t *out);
/* Does that PrimFunc store into its parameter i? */
bool rlx_vmgen_kernel_writes(rlx_vmgen_module *w, size_t index, size_t param, bool *out);
/* What rlx_find_first_place says of that PrimFunc; *out NULL: nothing. False: out of memory. */
bool rlx_vmgen_kernel_places(rlx_vmgen_module *w, size_t index, const int32_t **out);
/* The public name of a function; .data NULL: it is private. */
/* Number of a constant with the content of e: CONSTANT, STRING_IMM, DTYPE_IMM, EXTERN_FUNC,
 * GLOBAL_VAR, SHAPE_EXPR of literals, PRIM_VALUE of a literal. */
bool rlx_vmgen_constant(rlx_vmgen_module *w, const rlx_expr *e, uint32_t *out);
/* Has e such a number? */
bool rlx_vmgen_is_constant(const rlx_expr *e);
/* False, with the report that a limit of the file format asks for. */
bool rlx_vmgen_failed(rlx_vmgen_module *w, rlx_place place);

/* ---- order ---------------------------------------------------------------------------------- */

/* A sequence under way: the body of the function, or the branch of an if at hand (the second takes
 * the place of the first, until the if is bound). */
typedef struct rlx_vmgen_part {
    uint32_t holder_number;       /* of the if */
    uint32_t serial[2];           /* of the sequences: body or first branch, second branch */
    bool second;
    /* while code is written */
    bool tail;                    /* its end is the end of the function */
    uint32_t target;              /* register of the result; RLX_NO_INDEX: nobody wants it */
    uint32_t branch_at, jump_at;  /* to be patched */
    size_t num_facts, num_equals, num_bound, num_computed; /* of the function when it began */
} rlx_vmgen_part;
/* The walk of ir/flow.h with a number for each event, in order; the VALUE of an if and its BIND
 * have one. */
typedef struct rlx_vmgen_order {
    rlx_body_walk walk;
    RLX_VEC(rlx_vmgen_part) parts;
    uint32_t number, next_number, next_serial;
} rlx_vmgen_order;
bool rlx_vmgen_order_begin(rlx_vmgen_order *o, rlx_context *ctx, const rlx_expr *body);
/* VALUE of an if, BIND, LEAVE, or DONE. */
enum rlx_event_kind rlx_vmgen_order_next(rlx_vmgen_order *o);
/* After VALUE of an if: its branches come next, `part` is theirs. At BIND it is on top and to be
 * taken off. */
bool rlx_vmgen_order_into(rlx_vmgen_order *o, rlx_vmgen_part part);
void rlx_vmgen_order_free(rlx_vmgen_order *o);
RLX_INLINE rlx_vmgen_part *rlx_vmgen_top(const rlx_vmgen_order *o)
{
    return &rlx_vec_last(&o->parts);
}
RLX_INLINE uint32_t rlx_vmgen_serial(const rlx_vmgen_part *p) { return p->serial[p->second]; }
/* Where the walk stands, and what the sequence there gives. */
RLX_INLINE const rlx_seq_cursor *rlx_vmgen_at(const rlx_vmgen_order *o)
{
    return &rlx_body_top(&o->walk)->at;
}
RLX_INLINE const rlx_expr *rlx_vmgen_result(const rlx_vmgen_order *o)
{
    return rlx_seq_cursor_result(rlx_vmgen_at(o));
}
/* Other values that have sequences are refused. */
RLX_INLINE bool rlx_vmgen_is_if(const rlx_binding *b)
{
    const rlx_var_binding *v = rlx_as_var_binding(b);
    return v && rlx_as_if_expr(v->value);
}

/* ---- a function ----------------------------------------------------------------------------- */

#define RLX_VMGEN_FOREVER UINT32_MAX

/* Values of variables. Copies of a variable (y = x, a cast of x) have one value. */
typedef struct rlx_vmgen_value {
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
    bool used, boxed, borrowed; /* boxed: may hold memory; borrowed: its register is not its own */
    uint32_t last_use;            /* events that there were up to it, in branches too */
    /* of an allocation: index + 1 of the value that it may be made over, in the kernel call after so many events; 0: none */
    uint32_t over, over_at;
    bool whole;                   /* something other than a field of it is read */
} rlx_vmgen_value;

typedef struct rlx_vmgen_temp { uint32_t reg; bool boxed; } rlx_vmgen_temp;

typedef struct rlx_vmgen_fn {
    rlx_vmgen_module *w;
    rlx_context *ctx;
    rlx_file_writer *out;
    const rlx_function *f;
    rlx_vmgen_order order;
    rlx_place place;               /* of the binding at hand */
    const rlx_var *at;             /* its variable; NULL: none */
    rlx_scope scope;               /* what is known of shape variables */
    rlx_ptrmap slots;              /* PRIM_VAR -> slot + 1 */
    rlx_ptrmap bound;              /* those that have a value here */
    RLX_VEC(const rlx_prim_var *) bound_list;
    rlx_ptrmap to_bind;            /* to be bound by the next description */
    RLX_VEC(const rlx_prim_var *) to_bind_list;
    rlx_ptrmap exprs;              /* PRIM -> offset + 1 */
    rlx_ptrmap computed;           /* long PRIM -> slot + 1, where it has been computed */
    RLX_VEC(const rlx_prim *) computed_list;
    uint32_t num_syms;
    RLX_VEC(rlx_vmgen_value) values;
    rlx_ptrmap vars;               /* variable -> index of its value + 1 */
    rlx_ptrmap fields;             /* value and field, see rlx_vmgen_takes_field -> events up to where it is read last */
    /* by event number: index + 1 of the first value that dies after it */
    uint32_t *dying;
    size_t num_events;
    uint32_t num_regs;
    RLX_VEC(uint32_t) free;        /* registers that hold nothing that matters */
    RLX_VEC(uint32_t) dead;        /* registers that still hold what is dead */
    RLX_VEC(rlx_vmgen_temp) temps; /* registers of the binding at hand */
    RLX_VEC(uint32_t) args;        /* operands of instructions under way */
    RLX_VEC(const rlx_expr *) work;
    uint32_t result;               /* description of the result; RLX_NO_INDEX: proved */
    bool ended;                    /* the code so far does not go on */
} rlx_vmgen_fn;

/* Writes the code of f and sets record `number`. */
bool rlx_vmgen_function(rlx_vmgen_module *w, const rlx_function *f, const rlx_global_var *gv,
                        uint32_t number);

/* ---- vmgen_register.c */
/* Finds values, last uses and results of the whole function. */
bool rlx_vmgen_find_values(rlx_vmgen_fn *n);
/* NULL: not a variable of this function. */
rlx_vmgen_value *rlx_vmgen_value_of(const rlx_vmgen_fn *n, const rlx_expr *var);
/* The value that dies where this one, an allocation, is filled, and whose memory it may take; NULL: none. */
const rlx_vmgen_value *rlx_vmgen_over(const rlx_vmgen_fn *n, const rlx_vmgen_value *v);
/* Is this the last time that the field is read, of a tuple of which only fields are? The field may then leave the tuple, so that
 * its memory may be a result's (rlx_vmgen_over). */
bool rlx_vmgen_takes_field(const rlx_vmgen_fn *n, const rlx_tuple_get_item *get);
/* The argument of an operator that gives it back, else the value itself. */
const rlx_expr *rlx_vmgen_same_value(const rlx_expr *value);
/* The variable that a binding only copies, or NULL. */
const rlx_var *rlx_vmgen_copied(const rlx_binding *b);
bool rlx_vmgen_take(rlx_vmgen_fn *n, uint32_t *reg); /* a register of one's own */
/* the register of v, which is about to be written */
bool rlx_vmgen_define(rlx_vmgen_fn *n, rlx_vmgen_value *v, uint32_t *reg);
bool rlx_vmgen_temp_register(rlx_vmgen_fn *n, bool boxed,
                             uint32_t *reg); /* until rlx_vmgen_end_binding */
bool rlx_vmgen_release(rlx_vmgen_fn *n, uint32_t reg, bool boxed);
bool rlx_vmgen_die(rlx_vmgen_fn *n, uint32_t number); /* values that are dead after that event */
bool rlx_vmgen_end_binding(rlx_vmgen_fn *n);          /* gives temporaries back */
/* Lets go of what is dead. Called where memory is about to be asked for, so that it can be used
 * again. */
bool rlx_vmgen_flush(rlx_vmgen_fn *n);
/* the same where control does not go on: no code */
bool rlx_vmgen_forget_dead(rlx_vmgen_fn *n);

/* ---- vmgen_operand.c: numbers and leaves */
bool rlx_vmgen_int(rlx_vmgen_fn *n, const rlx_prim *p, uint32_t *operand);
bool rlx_vmgen_operand(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t *operand);
bool rlx_vmgen_push_arg(rlx_vmgen_fn *n, const rlx_expr *e); /* an operand at the end of n->args */
bool rlx_vmgen_push_int(rlx_vmgen_fn *n, const rlx_prim *p);
bool rlx_vmgen_register(rlx_vmgen_fn *n, const rlx_expr *leaf, uint32_t *reg);
bool rlx_vmgen_load(rlx_vmgen_fn *n, const rlx_expr *leaf, uint32_t reg);
/* Appends an instruction whose list are the args from `first` on, and takes them off. */
#define RLX_VMGEN_EMIT_ARGS(n, op, first, ...)                                                    \
    (RLX_EMIT_LIST((n)->out, op, (n)->args.data + (first), (n)->args.len - (first), __VA_ARGS__),  \
     (n)->args.len = (first),                                                                      \
     rlx_file_writer_ok((n)->out) || rlx_vmgen_failed((n)->w, (n)->place))

/* ---- vmgen_call.c: where a value goes */
typedef struct rlx_vmgen_target {
    rlx_vmgen_value *value; /* NULL: a temporary */
    bool wanted;       /* somebody looks at it */
    bool tail;         /* it is the result of the function, unchecked: a tail call may make it */
    /* it is the result of the function once it is known to be this; NULL: it is not */
    const rlx_sinfo *tail_if;
    uint32_t reg;      /* out; RLX_NO_INDEX: not made */
} rlx_vmgen_target;
/* The register of the target, taken when first asked for. RLX_NO_INDEX if it is not wanted. */
bool rlx_vmgen_target_register(rlx_vmgen_fn *n, rlx_vmgen_target *t);
bool rlx_vmgen_call(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t);

/* ---- vmgen_ahead.c: those of them that are compiled ahead, after all functions are written */
bool rlx_vmgen_compile_ahead(rlx_vmgen_module *w);
/* NULL: not a late call. */
RLX_INLINE rlx_vmgen_site *rlx_vmgen_site_of(const rlx_vmgen_module *w, const rlx_call *call)
{
    uintptr_t index = (uintptr_t)rlx_ptrmap_get(&w->site_table, call);
    return index ? &w->sites.data[index - 1] : NULL;
}

/* ---- vmgen_late.c: operators on operands that only the run knows */
/* Is a rank, dtype or size of an operand not known? */
bool rlx_vmgen_waits_for_run(rlx_vmgen_fn *n, const rlx_call *call);
/* Are ranks and dtypes of the operands known? */
bool rlx_vmgen_knows_kinds(rlx_vmgen_fn *n, const rlx_call *call);
bool rlx_vmgen_call_late(rlx_vmgen_fn *n, const rlx_call *call, const struct rlx_op_row *row,
                         rlx_vmgen_target *t);

/* ---- vmgen_proof.c */
/* Struct info of the value of e without that of the variable it is bound to. NULL: memory is
 * out. */
const rlx_sinfo *rlx_vmgen_known(rlx_vmgen_fn *n, const rlx_expr *e);
/* Do all arguments of a call of a Relax function surely fit? */
bool rlx_vmgen_args_fit(rlx_vmgen_fn *n, const rlx_call *call);
bool rlx_vmgen_surely_fits(rlx_vmgen_fn *n, const rlx_sinfo *have, const rlx_sinfo *want);
/* Slots for the variables that s binds, not bound yet; *any: there is one. */
bool rlx_vmgen_note_vars(rlx_vmgen_fn *n, const rlx_sinfo *s, bool *any);
/* They have a value from here on; what is described next binds them. */
bool rlx_vmgen_bind_vars(rlx_vmgen_fn *n);
void rlx_vmgen_encoder(rlx_vmgen_fn *n, rlx_encoder *e);
void rlx_vmgen_drop_description(rlx_vmgen_fn *n,
                                rlx_desc_writer *d); /* begun, and will not be finished */
/* A description of s; binds the variables of `to_bind`. */
bool rlx_vmgen_describe(rlx_vmgen_fn *n, const rlx_sinfo *s, uint32_t *offset);
/* The same of a signature, which mentions nothing of this function. */
bool rlx_vmgen_describe_signature(rlx_vmgen_fn *n, const rlx_sinfo *s, uint32_t *offset);
bool rlx_vmgen_encode_failed(rlx_vmgen_fn *n, const rlx_encoder *e);
/* MATCH of a register. name may be NULL. */
bool rlx_vmgen_match(rlx_vmgen_fn *n, uint32_t reg, const rlx_sinfo *s,
                     enum rlx_match_flavour flavour, const rlx_var *name);
/* RLX_NO_INDEX if there is none, or names are left out */
uint32_t rlx_vmgen_var_name(rlx_vmgen_fn *n, const rlx_var *v);
/* The vars that s mentions as shapes: each is handed to `use`. */
bool rlx_vmgen_each_shape_var(rlx_vmgen_fn *n, const rlx_sinfo *s,
                              bool (*use)(rlx_vmgen_fn *n, const rlx_expr *var));

#endif
