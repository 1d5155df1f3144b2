/*- onnx_int.h: the importer's state, and what converters of operators are written with.
 *
 *     rlx_importer          one run
 *       rlx_onnx_scope      a graph, a branch or a function that is inlined: names to values, operator sets
 *         rlx_onnx_value    expression, constant not yet made, or integers that are known as expressions
 *     rlx_onnx_conv         one node: what a converter gets
 */
#ifndef RLX_ONNX_INT_H
#define RLX_ONNX_INT_H

#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "op/op.h"
#include "sinfo/builder.h"

typedef struct rlx_importer rlx_importer;

/* Bytes with scales and zero points that a float32 was made of. */
typedef struct rlx_onnx_quantized {
    const rlx_expr *x, *scale, *zero;        /* scale, zero: one, or one for each place of the axis; no zero: all 0 */
    int64_t axis;                            /* -1: there is one scale */
} rlx_onnx_quantized;

/* A value of the graph. One of expr, tensor, ints, items says what it is; expr is made of the others when
 * it is asked for, so that what only decides sizes leaves nothing behind. */
typedef struct rlx_onnx_value {
    const rlx_string *name;
    const rlx_expr *expr;
    const rlx_onnx_tensor *tensor;
    /* integers: a scalar or a list of expressions over shape variables */
    const rlx_prim *const *ints; size_t num_ints;
    bool has_ints, is_scalar;
    rlx_dtype dtype;                         /* of ints */
    /* a sequence, or an optional value: none or one */
    struct rlx_onnx_value *const *items; size_t num_items;
    bool is_sequence, is_optional;
    uint8_t narrow;                          /* element type that has no dtype (narrow.c), else 0 */
    const rlx_onnx_quantized *quantized;     /* what expr was made of; NULL: no such thing */
    bool failed;                             /* reported; what uses it is silent */
    uint64_t depends;                        /* on which small inputs of the graph, by number */
    unsigned level;                          /* of branches and functions in which it was made */
} rlx_onnx_value;

/* What a value was before something was remembered in it. */
typedef struct rlx_onnx_former { rlx_onnx_value *value; rlx_onnx_value content; } rlx_onnx_former;

typedef struct rlx_onnx_scope {
    struct rlx_onnx_scope *outer;            /* whose names are seen; NULL: a graph, a function */
    rlx_ptrmap values;                       /* name (interned string) -> rlx_onnx_value */
    const rlx_wire_list *opsets;
    const rlx_onnx_graph *graph;             /* NULL: a function */
    /* a function: its call, whose attributes `ref` means */
    const rlx_onnx_function *function;
    const rlx_onnx_conv *call;
    unsigned depth;
} rlx_onnx_scope;

typedef bool (*rlx_onnx_convert_fn)(rlx_onnx_conv *c);
typedef struct rlx_onnx_row {
    const char *domain, *op;                 /* "" is ai.onnx */
    uint8_t since;                           /* first version */
    uint8_t outputs;                         /* how many there can be; 0: any number */
    rlx_onnx_convert_fn convert;
    const char *argument;                    /* of converters that serve several rows */
    const char *refused;                     /* why there is no converter */
} rlx_onnx_row;
const rlx_onnx_row *rlx_onnx_row_find(rlx_slice domain, rlx_slice op);
const rlx_onnx_row *rlx_onnx_row_at(size_t index); /* NULL past the end */
enum { RLX_ONNX_NEWEST = 28 };               /* operator set of ai.onnx that the table knows */
enum { RLX_ONNX_MOST_KNOWN = 1024 };         /* integers of a list that may be sizes; longer ones are tensors */

struct rlx_importer {
    rlx_context *ctx;
    rlx_region region;
    const rlx_onnx_options *options;
    rlx_onnx_result *out;
    const rlx_onnx_model *model;
    rlx_blob *file;
    rlx_module_builder *mb;
    rlx_module_builder *folded;              /* functions of operators that were computed at once */
    const rlx_env *env;
    rlx_builder *b;
    uint32_t source;                         /* the list of nodes */
    rlx_ptrmap sizes;                        /* dim_param -> PRIM_VAR or INT_IMM */
    rlx_ptrmap tensors;                      /* rlx_onnx_tensor -> constant */
    rlx_map functions;                       /* of the model, by domain, name and overload */
    rlx_map external;                        /* location -> rlx_blob */
    RLX_VEC(rlx_onnx_issue) issues;
    rlx_map issue_of;
    RLX_VEC(const rlx_string *) small_inputs; /* by number of `depends` */
    uint64_t needed;                         /* those whose values are */
    size_t num_nodes, constant_bytes;
    int32_t num_fresh;
    /* What was made of outer values inside of a branch or function is not seen outside of it: their
     * former content, restored by rlx_onnx_leave. */
    RLX_VEC(rlx_onnx_former) former;
    unsigned level;
    size_t num_tried;                        /* nodes of attempts */
    size_t num_unheard;                      /* reports of attempts, which are dropped */
    bool unheard;                            /* an attempt is under way */
    bool bind_first;                         /* no sizes that are found at run time */
};

struct rlx_onnx_conv {
    rlx_importer *m;
    rlx_context *ctx;
    rlx_onnx_scope *scope;
    const rlx_onnx_node *node;
    const rlx_onnx_row *row;
    int64_t version;                         /* of the operator set */
    rlx_place place;
    rlx_onnx_value **inputs; size_t num_inputs; /* NULL: left out */
    rlx_onnx_value **outputs; size_t num_outputs;
    const rlx_expr *newest;                  /* the variable made last: nobody has seen it yet */
    bool failed;
};

/* ---- graphs (import.c) */
rlx_onnx_value *rlx_onnx_value_new(rlx_importer *m, const rlx_string *name);
rlx_onnx_value *rlx_onnx_value_find(const rlx_onnx_scope *s, const rlx_string *name);
bool rlx_onnx_value_bind(rlx_importer *m, rlx_onnx_scope *s, rlx_slice name, rlx_onnx_value *v);
const rlx_sinfo *rlx_onnx_type_info(rlx_importer *m, const rlx_onnx_type *t);
/* Imports the nodes of a graph into a scope that has its inputs; what nothing needs is left out.
 * Gives the values of its outputs, in the region. */
bool rlx_onnx_graph_body(rlx_importer *m, rlx_onnx_scope *s, const rlx_onnx_graph *g,
                         rlx_onnx_value ***outputs);
void rlx_onnx_scope_init(rlx_importer *m, rlx_onnx_scope *s, rlx_onnx_scope *outer);
void rlx_onnx_scope_free(rlx_onnx_scope *s);
/* A branch or function of the builder begins; leave takes what enter gave. */
size_t rlx_onnx_enter(rlx_importer *m);
void rlx_onnx_leave(rlx_importer *m, size_t mark);
/* Comes before something is remembered in a value that may be of an outer level. */
bool rlx_onnx_touch(rlx_importer *m, rlx_onnx_value *v);

/* Something that may fail, of which nothing is heard then. */
typedef struct rlx_onnx_attempt {
    rlx_mark mark;
    rlx_diags_counts counts;
    size_t level, num_unheard, num_nodes;
    uint64_t needed;
    int32_t num_fresh;
    bool unheard;
} rlx_onnx_attempt;
void rlx_onnx_attempt_begin(rlx_onnx_conv *c, rlx_onnx_attempt *a);
/* keep: what was built stays, unless something was reported, which makes it fail. Otherwise everything is
 * as before. Gives what it did. */
bool rlx_onnx_attempt_end(rlx_onnx_conv *c, rlx_onnx_attempt *a, bool keep);

/* ---- control flow (convert_control.c) */
const rlx_onnx_graph *rlx_onnx_subgraph(rlx_onnx_conv *c, const char *name);
/* Imports a graph whose inputs are bound already. NULL: it failed, which has been said. */
rlx_onnx_value **rlx_onnx_body(rlx_onnx_conv *c, rlx_onnx_scope *s, const rlx_onnx_graph *g);
/* The tensors of a value: one, or those of a sequence. */
typedef RLX_VEC(const rlx_expr *) rlx_onnx_leaves;
bool rlx_onnx_flatten(rlx_onnx_conv *c, rlx_onnx_value *v, rlx_onnx_leaves *out);
/* A value of the form of `like`; its tensors are those from *at on. */
rlx_onnx_value *rlx_onnx_unflatten(rlx_onnx_conv *c, const rlx_onnx_value *like,
                                   const rlx_expr *const *leaves, size_t *at);
size_t rlx_onnx_leaf_count(const rlx_onnx_value *v);
rlx_onnx_value *rlx_onnx_value_of(rlx_onnx_conv *c, const rlx_expr *e);
/* The element type and rank that the model declares for output i, else NULL. */
const rlx_tensor_sinfo *rlx_onnx_declared(rlx_onnx_conv *c, size_t i);

/* Steps whose number is not known: a function that calls itself (loop_function.c). A step is a graph, or
 * what `step` makes: from the number of the step and what is carried it gives what is carried on, then its
 * results. */
typedef struct rlx_onnx_loop rlx_onnx_loop;
typedef bool (*rlx_onnx_step_fn)(rlx_onnx_conv *c, const void *user, const rlx_expr *i,
                                 const rlx_expr *const *carried, const rlx_expr **out);
struct rlx_onnx_loop {
    const rlx_onnx_graph *g;                 /* or NULL, and: */
    rlx_onnx_step_fn step; const void *user;
    bool is_loop;                            /* Loop: number and condition come first; else Scan */
    const rlx_expr *limit;                   /* int64 scalar; NULL: there is none */
    const rlx_prim *count;                   /* steps, where that is known if no condition ends them */
    rlx_onnx_value *cond;                    /* NULL: there is none */
    rlx_onnx_value **carried; size_t num_carried;
    const size_t *rows; size_t num_rows;     /* those results of a step that are wanted */
    /* what Scan takes apart, with axes that are not negative */
    const rlx_expr *const *scanned; const int64_t *axes; const bool *backward; size_t num_scanned;
};
/* In `results`: what is carried, then the rows of all steps along a new first axis. */
bool rlx_onnx_loop_function(rlx_onnx_conv *c, const rlx_onnx_loop *l, rlx_onnx_value **results);

/* ---- files (import.c): the model of m->file into m->model. False after a report. */
bool rlx_onnx_read_model(rlx_importer *m);
/* Functions of the model, so that nodes find them (graph.c). */
bool rlx_onnx_list_functions(rlx_importer *m);

/* ---- the host (host.c) */
const rlx_onnx_host *rlx_onnx_host_find(const rlx_onnx_conv *c);
bool rlx_onnx_packed_call(rlx_onnx_conv *c);

/* ---- places (listing.c): a text with a line for each node, so that diagnostics show it */
bool rlx_onnx_list_nodes(rlx_importer *m);

/* ---- constants (constant.c) */
bool rlx_onnx_dtype(int64_t data_type, rlx_dtype *out);
/* "FLOAT", or a number that is none */
const char *rlx_onnx_dtype_name(int64_t data_type);
/* A CONSTANT over the bytes of the file where that can be. NULL after a report. */
const rlx_expr *rlx_onnx_tensor_constant(rlx_importer *m, const rlx_onnx_tensor *t,
                                         rlx_place place);
const rlx_expr *rlx_onnx_sparse_constant(rlx_importer *m, const rlx_onnx_sparse *t,
                                         rlx_place place);

/* ---- element types without a dtype (narrow.c): codes are bytes, values are of the dtype that rlx_onnx_dtype gives */
bool rlx_onnx_is_narrow(int64_t data_type);
double rlx_onnx_narrow_value(int64_t data_type, unsigned code);
int64_t rlx_onnx_narrow_of(const rlx_onnx_conv *c, size_t i);
const rlx_expr *rlx_onnx_decode(rlx_onnx_conv *c, int64_t data_type, const rlx_expr *codes);
const rlx_expr *rlx_onnx_encode(rlx_onnx_conv *c, int64_t data_type, const rlx_expr *x);
/* Any values as those of the type. mode: of rounding to an exponent, n(earest), u(p) or d(own) */
const rlx_expr *rlx_onnx_to_narrow(rlx_onnx_conv *c, int64_t data_type, const rlx_expr *x,
                                   bool saturate, char mode);
const rlx_expr *rlx_onnx_limit_narrow(rlx_onnx_conv *c, int64_t data_type, const rlx_expr *y);

/* ---- reports: each reason once, with a count (issue.c). Gives NULL. */
void *rlx_onnx_issue_add(rlx_importer *m, enum rlx_code_id code, bool is_warning, rlx_slice domain,
                         rlx_slice op, int64_t version, rlx_place place, const char *format, ...)
    RLX_PRINTF(8, 9);
void *rlx_onnx_fail(rlx_onnx_conv *c, enum rlx_code_id code, const char *format, ...)
    RLX_PRINTF(3, 4);
void rlx_onnx_warn(rlx_onnx_conv *c, const char *format, ...) RLX_PRINTF(2, 3);
void rlx_onnx_issues_report(rlx_importer *m);
/* Operand i has to be known: notes on which inputs it hangs. */
void *rlx_onnx_needs(rlx_onnx_conv *c, size_t i, const char *what);

/* ---- what converters are made of (conversion.c). An expression that is NULL makes NULL, so that a chain is
 * checked at its end. */
bool rlx_onnx_has(const rlx_onnx_conv *c, size_t i);
const rlx_expr *rlx_onnx_input(rlx_onnx_conv *c, size_t i);      /* NULL and failed, if it is left out */
const rlx_expr *rlx_onnx_value_expr(rlx_onnx_conv *c, rlx_onnx_value *v);
bool rlx_onnx_output(rlx_onnx_conv *c, size_t i, const rlx_expr *e); /* false: failed */
bool rlx_onnx_output_value(rlx_onnx_conv *c, size_t i, const rlx_onnx_value *v);
bool rlx_onnx_output_ints(rlx_onnx_conv *c, size_t i, const rlx_prim *const *ints, size_t count,
                          bool is_scalar, rlx_dtype dtype);
bool rlx_onnx_wants(const rlx_onnx_conv *c, size_t i);           /* is output i used? */
/* A call of an operator, bound to a variable; computed at once where all operands are small constants.
 * format: that of rlx_call_op_words. */
const rlx_expr *rlx_onnx_call(rlx_onnx_conv *c, const char *op, const char *format, ...);
const rlx_expr *rlx_onnx_call1(rlx_onnx_conv *c, const char *op, const rlx_expr *x);
const rlx_expr *rlx_onnx_call2(rlx_onnx_conv *c, const char *op, const rlx_expr *x,
                               const rlx_expr *y);
/* The operator of x and y as `dtype`; y is cast first. */
const rlx_expr *rlx_onnx_call_as(rlx_onnx_conv *c, const char *op, rlx_dtype dtype, const rlx_expr *x,
                                 const rlx_expr *y);
/* The operator of operands i and k; k is asked for first. */
const rlx_expr *rlx_onnx_call_inputs(rlx_onnx_conv *c, const char *op, size_t i, size_t k);
/* The operator of x and a number of its dtype; NULL for no x. */
const rlx_expr *rlx_onnx_with(rlx_onnx_conv *c, const char *op, const rlx_expr *x, double number);
/* x to a power of its dtype, by products for 1, 2 and 3, which round each by itself. `positive`: no x is below 0,
 * so that roots make 0.5 and 0.75. (convert_elementwise.c) */
const rlx_expr *rlx_onnx_power(rlx_onnx_conv *c, const rlx_expr *x, double e, bool positive);
const rlx_expr *rlx_onnx_emit(rlx_onnx_conv *c, const rlx_expr *e);
const rlx_expr *rlx_onnx_item(rlx_onnx_conv *c, const rlx_expr *tuple, int64_t index);
const rlx_expr *rlx_onnx_match(rlx_onnx_conv *c, const rlx_expr *e, const rlx_sinfo *info);
const rlx_prim *rlx_onnx_fresh(rlx_onnx_conv *c, const char *hint);
const rlx_expr *rlx_onnx_cast(rlx_onnx_conv *c, const rlx_expr *x, rlx_dtype dtype); /* x, if it has it */

/* `yes` where a scalar of bool is true, made in a branch, else `no` */
typedef const rlx_expr *(*rlx_onnx_make_fn)(rlx_onnx_conv *c, const void *user);
const rlx_expr *rlx_onnx_choose(rlx_onnx_conv *c, const rlx_expr *cond, rlx_onnx_make_fn yes,
                                const void *user, const rlx_expr *no);
/* Does an axis that is found when the program runs, or one of several, stand for `axis` of n? */
const rlx_expr *rlx_onnx_is_axis(rlx_onnx_conv *c, const rlx_expr *given, int64_t axis, int64_t n);

/* what is known of an expression */
const rlx_tensor_sinfo *rlx_onnx_info(rlx_onnx_conv *c, const rlx_expr *e);
rlx_dtype rlx_onnx_dtype_of(rlx_onnx_conv *c, const rlx_expr *e);
int rlx_onnx_rank(rlx_onnx_conv *c, const rlx_expr *e);          /* -1 after a report: ON08 */
bool rlx_onnx_has_rank(rlx_onnx_conv *c, const rlx_expr *e);     /* never reports */
/* e with that rank, which is checked when the program runs if it is not known; another one stays */
const rlx_expr *rlx_onnx_of_rank(rlx_onnx_conv *c, const rlx_expr *e, int ndim);
/* Sizes; unknown ones are bound by a cast first, and *e is what has them. NULL after a report. */
const rlx_prim *const *rlx_onnx_dims(rlx_onnx_conv *c, const rlx_expr **e, size_t *ndim);
const rlx_prim *rlx_onnx_dim(rlx_onnx_conv *c, const rlx_expr *e, size_t axis);
/* y with the sizes that its operands, which are broadcast, say: inference gives up all where one cannot be told. The last
 * `tail` sizes are those of one operand each, the last one of the last operand. */
const rlx_expr *rlx_onnx_keep_sizes(rlx_onnx_conv *c, const rlx_expr *y, const rlx_expr *const *operands, size_t count, size_t tail);
bool rlx_onnx_static_dim(rlx_onnx_conv *c, const rlx_expr *e, size_t axis, int64_t *out);
/* A negative axis counts from the end. False after a report. */
bool rlx_onnx_axis(rlx_onnx_conv *c, int64_t *axis, int ndim);

/* constants */
const rlx_expr *rlx_onnx_const(rlx_onnx_conv *c, rlx_dtype dtype, const int64_t *shape, size_t ndim,
                               const double *values);
const rlx_expr *rlx_onnx_scalar(rlx_onnx_conv *c, rlx_dtype dtype, double value);
const rlx_expr *rlx_onnx_const_ints(rlx_onnx_conv *c, rlx_dtype dtype, const int64_t *values,
                                    size_t count);
const rlx_expr *rlx_onnx_full(rlx_onnx_conv *c, const rlx_prim *const *dims, size_t count,
                              rlx_dtype dtype, double value);
/* the elements of a constant as float64 or int64, in the region; NULL: it is none */
const double *rlx_onnx_floats_of(rlx_onnx_conv *c, const rlx_expr *e, size_t *count);
const int64_t *rlx_onnx_ints_of(rlx_onnx_conv *c, const rlx_expr *e, size_t *count);

/* integers that are known: those of operand i, or NULL. Never reports. */
typedef struct rlx_onnx_ints {
    const rlx_prim *const *data; size_t len;
    bool is_scalar;
    rlx_dtype dtype;
} rlx_onnx_ints;
bool rlx_onnx_known(rlx_onnx_conv *c, size_t i, rlx_onnx_ints *out);
/* The same for operands that must be known: sizes become shape variables bound by a cast, where the
 * operand is a tensor whose length is known. False after a report. */
bool rlx_onnx_sizes(rlx_onnx_conv *c, size_t i, const char *what, rlx_onnx_ints *out);
/* Operand i, integers found when the program runs, as a list of int64 of a known length; NULL after a report */
const rlx_expr *rlx_onnx_found_ints(rlx_onnx_conv *c, size_t i, const char *what, size_t *count);
/* The elements of a list of int64, none of them negative, as shape variables. */
const rlx_prim **rlx_onnx_bind_ints(rlx_onnx_conv *c, const rlx_expr *list, size_t n);
/* Literals, or a report that they are needed. In the region. */
const int64_t *rlx_onnx_literals(rlx_onnx_conv *c, size_t i, const char *what, size_t *count);
bool rlx_onnx_literal(rlx_onnx_conv *c, size_t i, const char *what, int64_t *out);
/* Axes of attribute or operand i; none: *count is 0 and the result NULL with *ok. */
const int64_t *rlx_onnx_axes(rlx_onnx_conv *c, size_t i, int ndim, size_t *count, bool *ok);

/* attributes. A wrong type is reported; then and where it is absent: the default */
const rlx_onnx_attribute *rlx_onnx_attr(rlx_onnx_conv *c, const char *name);
int64_t rlx_onnx_int(rlx_onnx_conv *c, const char *name, int64_t otherwise);
double rlx_onnx_float(rlx_onnx_conv *c, const char *name, double otherwise);
rlx_slice rlx_onnx_string(rlx_onnx_conv *c, const char *name, const char *otherwise);
/* NULL where absent; in the region */
const int64_t *rlx_onnx_int_list(rlx_onnx_conv *c, const char *name, size_t *count);
const double *rlx_onnx_float_list(rlx_onnx_conv *c, const char *name, size_t *count);

/* shapes */
const rlx_expr *rlx_onnx_reshape(rlx_onnx_conv *c, const rlx_expr *x, const rlx_prim *const *dims,
                                 size_t count);
const rlx_expr *rlx_onnx_reshape_ints(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *dims,
                                      size_t count);
const rlx_expr *rlx_onnx_expand_dims(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *axes,
                                     size_t count);
const rlx_expr *rlx_onnx_transpose(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *perm,
                                   size_t count);
/* x[begin:end] along one axis; sizes may be symbolic, 0 <= begin <= end <= size */
const rlx_expr *rlx_onnx_slice(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis,
                               const rlx_prim *begin, const rlx_prim *end);
const rlx_expr *rlx_onnx_concat(rlx_onnx_conv *c, const rlx_expr *const *parts, size_t count,
                                int64_t axis);
/* sum, mean, max ... over axes */
const rlx_expr *rlx_onnx_reduce(rlx_onnx_conv *c, const char *op, const rlx_expr *x,
                                const int64_t *axes, size_t count, bool keep);
const rlx_expr *rlx_onnx_arange(rlx_onnx_conv *c, const rlx_prim *count, rlx_dtype dtype);
const rlx_expr *rlx_onnx_where(rlx_onnx_conv *c, const rlx_expr *cond, const rlx_expr *x,
                               const rlx_expr *y);
const rlx_expr *rlx_onnx_prim(rlx_onnx_conv *c, int64_t v);      /* R.prim_value */
const rlx_prim *rlx_onnx_simplify(rlx_onnx_conv *c, const rlx_prim *p);
/* In the region, all zeros, with one more than asked for. */
RLX_INLINE void *rlx_onnx_array(rlx_onnx_conv *c, size_t count, size_t size)
{
    void *p = rlx_region_array(&c->m->region, count + 1, size);
    if (p)
        memset(p, 0, (count + 1) * size);
    c->failed |= !p;
    return p;
}

/* y rounded and shifted by a zero point, in the dtype of that (convert_quant.c) */
const rlx_expr *rlx_onnx_requantize(rlx_onnx_conv *c, const rlx_expr *y, const rlx_expr *zero);

/* Are operands 0 and 1 dequantised bytes, the left one with one scale, the right one with one or one for each place of `axis`, whose
 * products, summed up `steps` at a time, fit int32? Then `pair` is what they were made of. (convert_quant.c) */
bool rlx_onnx_quantized_pair(rlx_onnx_conv *c, int64_t axis, int64_t steps, rlx_onnx_quantized pair[2]);
/* x - zero, as int32 */
const rlx_expr *rlx_onnx_centred(rlx_onnx_conv *c, const rlx_onnx_quantized *q);
/* A product of centred integers as float32; so many axes are behind the one that the scales of the right operand are along. */
const rlx_expr *rlx_onnx_rescaled(rlx_onnx_conv *c, const rlx_expr *y, const rlx_onnx_quantized pair[2], size_t behind);

/* x filled at its ends, amounts before and after each axis in turn, none below 0 (convert_shape.c) */
const rlx_expr *rlx_onnx_pad_with(rlx_onnx_conv *c, const rlx_expr *x, const rlx_onnx_ints *pads,
                                  const rlx_expr *value);
/* The least number of a dtype (convert_reduce.c) */
double rlx_onnx_least(rlx_dtype t);
/* The activation of a fused node (convert_elementwise.c) */
const rlx_expr *rlx_onnx_activated(rlx_onnx_conv *c, const rlx_expr *y);
/* x as uint8 by the range of its elements, which holds 0 (convert_quant.c) */
const rlx_expr *rlx_onnx_quantize_by_range(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr **scale,
                                           const rlx_expr **zero);

/* Dropout in training: elements at random become 0, the others more (convert_detection.c) */
bool rlx_onnx_drop(rlx_onnx_conv *c, double ratio);
/* The same where operand 2 says when the program runs whether it trains; operand 1, if it is there, is the ratio. */
bool rlx_onnx_drop_found(rlx_onnx_conv *c, double ratio);
/* x quantised to bytes by its range, times w of bytes, as float32 (convert_qlinear.c) */
const rlx_expr *rlx_onnx_dynamic_product(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *w,
                                         const rlx_expr *scale, const rlx_expr *zero);
/* (batch, length, heads * size) to (batch, heads, length, size) and back (convert_attention.c) */
const rlx_expr *rlx_onnx_split_heads(rlx_onnx_conv *c, const rlx_expr *x, int64_t heads);
const rlx_expr *rlx_onnx_join_heads(rlx_onnx_conv *c, const rlx_expr *x);
/* The first `turned` places of the last axis of (batch, heads, length, size), turned by angles */
const rlx_expr *rlx_onnx_rotate(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *cosine,
                                const rlx_expr *sine, int64_t size, int64_t turned, bool interleaved);
/* The last axis as a normalised layer, output 0 (convert_norm.c) */
bool rlx_onnx_layer_norm(rlx_onnx_conv *c, const rlx_expr *x, const rlx_expr *scale,
                         const rlx_expr *bias, double epsilon);

#define RLX_ONNX_CONVERTER(name) bool rlx_onnx_##name(rlx_onnx_conv *c)
#define OP(domain, op, since, outputs, converter, argument) RLX_ONNX_CONVERTER(convert_##converter);
#define REFUSED(domain, op, since, why)
#include "onnx/operator.def"
#undef OP
#undef REFUSED

#endif
