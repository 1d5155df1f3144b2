/* reader.h: trees of TVMScript to IR. What the files of the reader share.
 *
 * Expressions are evaluated to values (rlx_val): Python literals stay what they are until they
 * meet IR, names are looked up in the table of names, functions of R, T and I in tables. Every
 * function that can fail reports once (at the place in the text) and returns false or NULL; a
 * name whose statement failed is bound to RLX_VAL_ERROR, and using it fails without another
 * report.
 */
#ifndef RLX_READER_H
#define RLX_READER_H

#include "script/parser.h"
#include "script/read.h"
#include "sinfo/builder.h"

enum rlx_val_kind {
    RLX_VAL_UNBOUND,  /* a name without a meaning */
    RLX_VAL_ERROR,    /* reported */
    RLX_VAL_NONE,
    RLX_VAL_BOOL,     /* i */
    RLX_VAL_INT,      /* i; sub 1: an unsigned number above 2^63 - 1 */
    RLX_VAL_FLOAT,    /* f */
    RLX_VAL_STR,      /* s */
    RLX_VAL_TUPLE,    /* list */
    RLX_VAL_LIST,
    RLX_VAL_DICT,     /* list: key, value, key, value */
    RLX_VAL_SLICE,    /* list of 3 */
    /* node: Relax expression; sub 1: a variable of void type, read as R.tuple() */
    RLX_VAL_EXPR,
    RLX_VAL_PRIM,     /* node: PrimExpr; sub 1: a variable that text in a buffer's shape named */
    RLX_VAL_SINFO,    /* node */
    RLX_VAL_BUFFER,   /* node */
    RLX_VAL_REGION,   /* node: BUFFER_REGION */
    RLX_VAL_RANGE,    /* node */
    RLX_VAL_ITER,     /* node: ITER_VAR */
    RLX_VAL_NODE,     /* node: any other attribute value */
    RLX_VAL_DTYPE,    /* i: T.float32 without a call; a dtype as value */
    RLX_VAL_SPACE,    /* sub: enum rlx_space; fn.path: dotted name below it, NULL at its top */
    RLX_VAL_FUNC,     /* a function of a space: sub: space, fn.path: its dotted name */
    RLX_VAL_BUILTIN,  /* i: a Python builtin */
    RLX_VAL_MODULE,   /* the module being read */
    /* of a buffer, a Relax expression ...: fn.what: node, fn.path: its name; sub: kind of the
     * receiver */
    RLX_VAL_METHOD,
    RLX_VAL_META,     /* metadata; list.items NULL: the whole; s: one type key's list */
    RLX_VAL_TYPE_VAR  /* TypeVar("n"): a size of each function whose signature names it */
};
enum rlx_space { RLX_SPACE_R, RLX_SPACE_T, RLX_SPACE_I, RLX_SPACE_TVM, RLX_SPACE_COUNT };
enum rlx_dialect { RLX_DIALECT_MODULE, RLX_DIALECT_RELAX, RLX_DIALECT_TIR };

/* Functions that statements are made of: compared by their entry in the table of names. */
#define RLX_SPECIALS(X)                                                                    \
    X(match_cast) X(match_shape) X(func_attr) X(output) X(outputs) X(dataflow) X(meta_var) \
    X(block) X(sblock) X(init) X(Buffer) X(let) X(Ptr)
enum rlx_special {
#define X(name) RLX_SPECIAL_##name,
    RLX_SPECIALS(X)
#undef X
    RLX_SPECIAL_COUNT
};

/* Saved bindings of shadowed names, restored when the frame closes: there are few. Name NULL: a
 * frame begins here, `frame` is the outer one. */
typedef struct rlx_shadowed { const rlx_word *name; uint32_t frame; rlx_val value; } rlx_shadowed;
typedef struct rlx_meaning { rlx_word *name; rlx_val value; } rlx_meaning;

/* An entry of R.func_attr or T.func_attr, the last one first. */
typedef struct rlx_attr_entry {
    const rlx_attr *key;
    rlx_place place;
    const struct rlx_attr_entry *before;
} rlx_attr_entry;

/* One function of the text: its header is read first, its body when every signature is known. */
typedef struct rlx_pending {
    bool tir, is_private, impure;
    bool broken;                        /* its header could not be read: it is nothing */
    bool damaged;                       /* statements are missing */
    bool standalone;                    /* in no class: its symbol is its name */
    bool newer;                         /* a PrimFunc of TVM 0.27 for sure */
    rlx_word *name;
    uint32_t begin, end;                /* of the name */
    rlx_lexer_mark body;
    uint32_t body_end;                  /* of its text */
    uint32_t indent;                    /* indentation of the header's block */
    const rlx_global_var *gvar;
    const rlx_sinfo *signature;         /* as declared; NULL: of a PrimFunc, broken */
    const rlx_expr **params; size_t num_params;
    const rlx_sinfo *ret; const rlx_place *ret_places; size_t num_ret_places;
    /* what the header binds: parameters and shape variables */
    const rlx_meaning *names; size_t num_names;
    const rlx_attr_entry *attr_entries; /* what its body states */
    rlx_dtype ret_dtype;                /* of a PrimFunc */
    /* of a PrimFunc: parallel to params, NULL where there is none */
    const rlx_node **tir_buffers;
} rlx_pending;

/* Which part of which Relax function is being read. */
enum rlx_function_part { RLX_PART_ELSEWHERE, RLX_PART_HEADER, RLX_PART_RETURN, RLX_PART_BODY };
typedef struct rlx_whereabouts {
    const rlx_pending *function;
    enum rlx_function_part part;
    uint32_t body_frame;                /* its frames are numbered from here */
    const struct rlx_whereabouts *outer; /* of a body: what is around the function */
} rlx_whereabouts;

/* The source, and what has been reported and copied of it. */
typedef struct rlx_reader_text {
    const rlx_parse_options *options;
    uint32_t source;
    const rlx_word *specials[RLX_SPECIAL_COUNT];
    uint32_t depth;                     /* recursion of evaluation through strings */
    bool notes;                         /* report older and newer spellings */
    enum rlx_wrote { RLX_WROTE_UNASKED, RLX_WROTE_OLDER, RLX_WROTE_NEWER } wrote; /* by whom; see reader_call.c */
    size_t syntax_errors;               /* errors of the text itself: no module comes of it */
    size_t errors_before;               /* errors of the context when reading began */
    size_t names_compared;              /* with unknown ones, for suggestions */
    size_t items_copied;                /* of lists: see RLX_SCRIPT_MAX_COPIES */
} rlx_reader_text;

/* Open frames. */
typedef struct rlx_reader_scope {
    RLX_VEC(rlx_word *) bound;          /* in open frames; NULL where one begins */
    RLX_VEC(rlx_shadowed) hidden;       /* of those, in the same order */
    uint32_t frame, next_frame;         /* serial number of the current frame */
} rlx_reader_scope;

/* The module, as long as it is read. */
typedef struct rlx_reader_module {
    rlx_module_builder *builder;
    const rlx_env *env;
    bool in_class;
    rlx_word *name;
    rlx_place class_at;
    RLX_VEC(rlx_pending *) pending;
    const rlx_attr *attrs, *global_infos;
    rlx_place devices_at;               /* of I.module_global_infos */
    rlx_device_table devices;
    rlx_ptrmap broken;                  /* GlobalVars of functions whose headers failed */
    struct rlx_metadata *metadata;
    rlx_region kept;                    /* metadata and caches: lives as long as the reader */
} rlx_reader_module;

/* One function, or the header of one. */
typedef struct rlx_reader_unit {
    rlx_region region;                  /* values that live as long as it is read */
    enum rlx_dialect dialect;
    const rlx_source_line *header;      /* whose signature is being read, else NULL */
    const rlx_expr *beside;             /* the operand before the one being read; NULL: none */
    struct rlx_relax_state *relax;      /* the Relax function being read */
    struct rlx_tir_reader_state *tir;   /* the PrimFunc being read */
    struct rlx_whereabouts where;       /* for what is said about missing names */
} rlx_reader_unit;

/* One annotation. */
typedef struct rlx_reader_annotation {
    const rlx_word *variable;           /* whose it is; NULL in other annotations */
    uint8_t dims_of;                    /* dimensions of which kind are being read; 0: none */
    RLX_VEC(rlx_place) places;          /* of its parts */
} rlx_reader_annotation;

/* What has been read before, by its text; rlx_recall asks for it. */
typedef struct rlx_reader_cache {
    struct rlx_known_annotation *annotations; /* see rlx_annotation_of */
    struct rlx_keyword_memo *keywords;  /* attributes of calls; see reader_call.c */
    size_t slots;                       /* of annotations, a power of two; keywords: 1/4 */
    /* changes with the meaning of any name that is not a Relax value */
    uint32_t epoch;
} rlx_reader_cache;

typedef struct rlx_reader {
    rlx_context *ctx;
    rlx_builder *builder;
    rlx_parser parser;
    rlx_words names;
    rlx_ptrs stack;                     /* node arrays under construction */
    rlx_reader_text text;
    rlx_reader_scope scope;
    rlx_reader_module module;
    rlx_reader_unit unit;
    rlx_reader_annotation annotation;
    rlx_reader_cache cache;
} rlx_reader;

/* ---- reader.c: reports. All return false. begin, end: bytes of the text */
bool rlx_read_error(rlx_reader *r, enum rlx_code_id code, const rlx_ast *at, const char *format,
                    ...) RLX_PRINTF(4, 5);
bool rlx_read_error_at(rlx_reader *r, enum rlx_code_id code, uint32_t begin, uint32_t end,
                       const char *format, ...) RLX_PRINTF(5, 6);
/* Note about an accepted spelling: "R.Tensor[...] is an older spelling of R.Tensor(...)". */
void rlx_read_note(rlx_reader *r, const rlx_ast *at, const char *format, ...) RLX_PRINTF(3, 4);
rlx_place rlx_read_place(const rlx_reader *r, const rlx_ast *at);
/* A call of the operator called `op`. Operators are known through the context's table only. */
/* What a call of an operator on leaves gives; NULL: not known here. */
const rlx_sinfo *rlx_read_known_sinfo(rlx_reader *r, const rlx_expr *e);
const rlx_expr *rlx_read_op_call(rlx_reader *r, const char *op, const rlx_expr *const *args,
                                 size_t num_args, const rlx_attr *given, rlx_place place);
const char *rlx_val_text(const rlx_val *v);          /* "a number", "a tensor expression" ... */
/* "expected WHAT, found VALUE" */
bool rlx_read_expected(rlx_reader *r, const rlx_ast *at, const char *what, const rlx_val *found);
/* Nearest of `count` names to `text`, NULL if none is near or it would not be shown. */
const char *rlx_nearest(const rlx_reader *r, rlx_slice text,
                        const char *(*name_at)(void *user, size_t i), void *user, size_t count);

/* ---- reader.c: scopes */
uint32_t rlx_reader_frame_enter(rlx_reader *r); /* gives what leave takes */
void rlx_reader_frame_leave(rlx_reader *r, uint32_t mark);
uint32_t rlx_reader_frame_mark(const rlx_reader *r);
bool rlx_word_bind(rlx_reader *r, rlx_word *name, const rlx_val *value);
RLX_INLINE bool rlx_word_in_frame(const rlx_reader *r, const rlx_word *n)
{
    return n->value.kind && n->frame == r->scope.frame;
}
/* Makes lists of a value live until the function ends, so that a name can stand for it. */
bool rlx_val_keep(rlx_reader *r, rlx_val *v);
/* Before `count` items of lists are copied: false after a report if the text has had all it
 * may. */
bool rlx_take_items(rlx_reader *r, const rlx_ast *at, size_t count);
/* Something could not be read, and reading goes on without it: there must be an error that says
 * why, or the module that comes of it would be another one. False. */
bool rlx_read_failed(rlx_reader *r, const rlx_word *what);
/* Notes that what `name` was to mean could not be read, and goes on: using it is silent from now
 * on. There must be an error that says why. False. */
bool rlx_word_fail(rlx_reader *r, rlx_word *name);
/* A statement that could not be parsed: the name it begins with (if it binds one) is known to
 * have failed. */
void rlx_line_failed(rlx_reader *r, const rlx_source_line *line);

/* ---- reader.c: values */
/* Text of a string as one expression of the current scope. The tree lives in the reader's tree
 * region. NULL after a report. */
const rlx_ast *rlx_parse_text(rlx_reader *r, const rlx_ast *string);

/* ---- reader.c: arguments of calls */
/* params: names, NULL at the end; the first `required` must be given. slots: one per parameter,
 * NULL if absent. */
bool rlx_bind_args(rlx_reader *r, const rlx_ast *call, const char *what, const char *const *params,
                   size_t required, const rlx_ast **slots);
#define RLX_PARAMS(...) ((const char *const[]){ __VA_ARGS__, NULL })
/* *list among the arguments becomes its items. The call itself if there is none. */
const rlx_ast *rlx_expand_stars(rlx_reader *r, const rlx_ast *call);
/* value of name=..., NULL if absent */
const rlx_ast *rlx_keyword(const rlx_ast *call, const char *name);
RLX_INLINE bool rlx_ast_is_call(const rlx_ast *a) { return a->kind == RLX_AST_CALL; }
/* Does `a` (a callee) name function `name` of the space? Does not evaluate calls. */
bool rlx_is_function(rlx_reader *r, const rlx_ast *a, enum rlx_space space, enum rlx_special name);

/* Binds, in the signature that is being read, a size called `name`: of a scalar parameter's dtype
 * if one is called so, else `dtype`. */
bool rlx_define_size(rlx_reader *r, rlx_word *name, rlx_dtype dtype, const rlx_ast *at);
/* Sizes behind the name of the function: def f[n, m](...). */
bool rlx_define_type_params(rlx_reader *r, const rlx_source_line *def);

/* ---- reader_missing.c: names without a meaning */
/* A name that means nothing here: says why as exactly as it can (WF01 - WF06, else PA10).
 * True: it has got a meaning (a shape variable, in a parameter), so that reading goes on. */
bool rlx_read_missing(rlx_reader *r, const rlx_ast *a);

/* ---- reader_value.c: expressions to values, and values to IR */
RLX_INLINE rlx_val rlx_val_node(uint8_t kind, const rlx_node *node, const rlx_ast *at)
{
    return (rlx_val){ .kind = kind, .begin = at->begin, .end = at->end, .node = node };
}
bool rlx_read_value(rlx_reader *r, const rlx_ast *a, rlx_val *out);
/* Sets *out to a node value; false (memory is out, or reported) if node is NULL. */
bool rlx_val_set(rlx_val *out, uint8_t kind, const rlx_node *node, const rlx_ast *at);
/* Of a Python number: as a double; what is left of a float toward zero (false: no integer of 64
 * bits); the report that it does not fit into t; a literal of t, or NULL after that report. */
double rlx_val_number(const rlx_val *v);
bool rlx_val_truncate(double f, rlx_val *out);
bool rlx_does_not_fit(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype t);
const rlx_prim *rlx_val_literal(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype t);
bool rlx_to_int(rlx_reader *r, const rlx_ast *at, const rlx_val *v, int64_t *out);
bool rlx_to_bool(rlx_reader *r, const rlx_ast *at, const rlx_val *v, bool *out);
bool rlx_to_dtype(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype *out);
bool rlx_to_string(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_slice *out);
/* A PrimExpr: Python numbers become int32 (int64 if they do not fit), float32, bool literals.
 * NULL after a report. */
const rlx_prim *rlx_to_prim(rlx_reader *r, const rlx_ast *at, const rlx_val *v);
const rlx_prim *rlx_read_prim(rlx_reader *r, const rlx_ast *a);
/* Operand of a dimension: int64. */
const rlx_prim *rlx_read_dim(rlx_reader *r, const rlx_ast *a);
/* Is it an operator of Relax that is not called? */
bool rlx_is_operator(const rlx_reader *r, const rlx_val *v);
bool rlx_read_op_value(rlx_reader *r, const rlx_ast *at, const rlx_val *v); /* WF09; false */
/* A Relax expression; with `convert` numbers, strings, lists and PrimExprs become expressions. */
const rlx_expr *rlx_to_expr(rlx_reader *r, const rlx_ast *at, const rlx_val *v, bool convert);
const rlx_expr *rlx_read_expr(rlx_reader *r, const rlx_ast *a, bool convert);
/* a shape expression or a list of dimensions */
const rlx_expr *rlx_to_shape(rlx_reader *r, const rlx_ast *at, const rlx_val *v);
/* A shape, and a scalar, as a value of the program: its shape variables have to be bound
 * (WF05). */
const rlx_expr *rlx_to_shape_value(rlx_reader *r, const rlx_ast *at, const rlx_val *v);
const rlx_expr *rlx_to_scalar_value(rlx_reader *r, const rlx_ast *at, const rlx_prim *p);
const rlx_attr *rlx_to_attr(rlx_reader *r, const rlx_ast *at, const rlx_val *v);

/* ---- reader_operator.c: operators and builtins of Python; ranges and regions */
/* Literals and operators of Python, and of IR where an operand is IR. */
bool rlx_read_binary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a,
                     const rlx_val *b, rlx_val *out);
bool rlx_read_unary(rlx_reader *r, uint8_t op, const rlx_ast *at, const rlx_val *a, rlx_val *out);
/* The report that their types do not fit together. False. */
bool rlx_prims_differ(rlx_reader *r, const rlx_ast *at, const rlx_prim *a, const rlx_prim *b);
/* one integer; else reports */
bool rlx_read_is_extent(rlx_reader *r, const rlx_ast *at, const rlx_prim *p);
/* The length of start:stop; start may become one of a wider type. */
const rlx_prim *rlx_read_span(rlx_reader *r, const rlx_ast *at, const rlx_prim **start,
                              const rlx_prim *stop);
const rlx_prim *rlx_read_region_length(rlx_reader *r, const rlx_ast *at, const rlx_prim **begin,
                                       const rlx_prim *end);
const rlx_node *rlx_read_bounds(rlx_reader *r, const rlx_ast *at, const rlx_prim *begin,
                                const rlx_prim *end);
const rlx_node *rlx_read_range_of(rlx_reader *r, const rlx_ast *call, const rlx_ast *begin,
                                  const rlx_ast *end);
/* Call of a two-operand intrinsic; bit operations of literals fold. */
bool rlx_prim_intrinsic(rlx_reader *r, const char *name, const rlx_ast *at, const rlx_prim *a,
                        const rlx_prim *b, rlx_val *out);
/* Python builtins that have a meaning here, by number in RLX_VAL_BUILTIN. */
#define RLX_BUILTIN_NAMES \
    "range", "len", "float", "int", "bool", "max", "min", "tuple", "list", "str", "abs", "TypeVar"
enum rlx_python {
    RLX_PY_RANGE, RLX_PY_LEN, RLX_PY_FLOAT, RLX_PY_INT, RLX_PY_BOOL, RLX_PY_MAX, RLX_PY_MIN,
    RLX_PY_TUPLE, RLX_PY_LIST, RLX_PY_STR, RLX_PY_ABS, RLX_PY_TYPE_VAR
};
bool rlx_call_python(rlx_reader *r, int which, const rlx_ast *call, rlx_val *out);

/* ---- reader_annotation.c: struct info, shape variables, devices */
/* Struct info; places of its parts are appended to r->annotation.places. NULL after a report. */
const rlx_sinfo *rlx_read_sinfo(rlx_reader *r, const rlx_ast *a);
/* Places collected since `mark`, copied into the context; r->annotation.places is cut back. */
const rlx_place *rlx_take_places(rlx_reader *r, size_t mark, size_t *count);
/* Annotation of the variable `name` that is bound, and the places of its parts, which live as
 * long as its tree. Remembers by text what it read. NULL after a report. */
const rlx_sinfo *rlx_annotation_of(rlx_reader *r, const rlx_ast *a, const rlx_word *name,
                                   const rlx_place **places, size_t *num_places);
/* for the parser */
struct rlx_ast *rlx_known_annotation_at(rlx_reader *r, uint32_t begin, uint32_t end);
/* Shape variables that strings in a parameter annotation define. */
bool rlx_define_shape_vars(rlx_reader *r, const rlx_ast *annotation);
const rlx_node *rlx_read_vdevice(rlx_reader *r, const rlx_ast *at, rlx_slice text);
/* R.device_mesh((2, 2), I.Range(0, 4)) */
const rlx_node *rlx_make_mesh(rlx_reader *r, const rlx_ast *call);
/* A mesh by its text or as a value. */
const rlx_node *rlx_read_mesh(rlx_reader *r, const rlx_ast *a);
/* Arguments device_mesh and placement (may be NULL) of what lies at `at`; ndim -1: unknown. */
const rlx_node *rlx_read_sharding(rlx_reader *r, const rlx_ast *at, const rlx_ast *mesh_at,
                                  const rlx_ast *placement, int ndim);
const rlx_node *rlx_make_vdevice(rlx_reader *r, const rlx_ast *call);

/* ---- reader_call.c: functions of R */
typedef bool (*rlx_relax_handler)(rlx_reader *r, const struct rlx_relax_fn *fn,
                                  const rlx_ast *call, rlx_val *out);
typedef struct rlx_relax_fn {
    const char *name;
    rlx_relax_handler call;
    uint8_t what;
    const char *text;
} rlx_relax_fn;
bool rlx_call_relax(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out);
/* A constant from a number or nested lists; RELAX_VOID: int32, float32 or bool. NULL after a
 * report. */
const rlx_expr *rlx_const_of(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype dtype);
/* Call of an operator by its row with arguments as written. path: its name, which remembers the
 * parameters; may be NULL. */
bool rlx_call_row(rlx_reader *r, rlx_word *path, const rlx_op_row *row, const rlx_ast *call,
                  rlx_val *out);
/* for the parser */
struct rlx_ast *rlx_known_keywords_at(rlx_reader *r, const struct rlx_ast *call, uint32_t begin,
                                      uint32_t end);
/* ---- what was meant (reader_cure.c) */
bool rlx_is_dtype_name(rlx_slice name);
/* What to write for a name that is not known, in `text` or static; NULL: nothing is known. */
const char *rlx_cure_name(rlx_reader *r, rlx_slice name, char *text, size_t size);
/* The dtype that a name comes near to; NULL: none. */
const char *rlx_cure_dtype(const rlx_reader *r, rlx_slice name);
/* The parameter that a keyword means which the function does not have; NULL: none. */
const char *rlx_cure_keyword(const rlx_reader *r, rlx_slice name,
                             const char *(*param_at)(void *user, size_t i), void *user,
                             size_t count);
/* What others make of a function that there is not, for the whole call; NULL: nothing is known. */
const char *rlx_cure_function(rlx_slice name, bool tir);
/* A note: "it is R.add(x1, x2)". */
void rlx_note_signature(rlx_reader *r, const char *function,
                        const char *(*param_at)(void *user, size_t i), void *user, size_t count);
/* An operator of Python that Relax expressions have not: false after a report. */
bool rlx_no_operator(rlx_reader *r, uint8_t tok, const rlx_ast *at, bool unary);
/* x.reshape: false after a report. of: how the expression is called */
bool rlx_no_attribute(rlx_reader *r, rlx_slice name, const char *of, const rlx_ast *at);

/* A statement of Python that Relax functions have not, which has been refused. */
void rlx_cure_statement(rlx_reader *r, const rlx_source_line *line);

bool rlx_unknown_function(rlx_reader *r, enum rlx_space space, rlx_word *path, const rlx_ast *at);

/* ---- reader_relax.c: Relax functions */
/* Header of a Relax function: parameters and result into f; bindings made are kept in f->names. */
bool rlx_relax_header(rlx_reader *r, const rlx_source_line *def, rlx_pending *f);
bool rlx_relax_body(rlx_reader *r, rlx_pending *f);
/* WF05 for shape variables of p that no statement so far has bound. */
void rlx_relax_check_size(rlx_reader *r, const rlx_ast *at, const rlx_prim *p);
/* Does the local function that is being read capture the dataflow variable that w names? False for
 * outputs of the block, and for names of functions around what is read. */
bool rlx_read_is_captured(const rlx_reader *r, const rlx_word *w);
/* Names a standalone function by the symbol among its attributes, as TVM does: there is no
 * module whose member it is. One that no def could name stays a mere attribute. False: memory is
 * out. */
bool rlx_name_by_symbol(rlx_reader *r, const rlx_pending *f, const rlx_attr *attrs);
/* Bindings of the current frame since mark, kept for the body, and bound again there. */
bool rlx_keep_names(rlx_reader *r, uint32_t mark, rlx_pending *f);
bool rlx_restore_names(rlx_reader *r, const rlx_pending *f);
/* The attributes `before` and those that `call` states, for f (NULL: of a block). NULL after a
 * report. */
const rlx_attr *rlx_read_attr_dict(rlx_reader *r, const rlx_ast *call, const rlx_attr *before,
                                   rlx_pending *f, const char *what);
/* Where the body of f states each of `attrs`; NULL: nothing to tell, or no memory. */
const rlx_place *rlx_attr_places(rlx_reader *r, const rlx_pending *f, const rlx_attr *attrs,
                                 uint32_t *count);

/* ---- reader_tir.c: PrimFuncs */
bool rlx_tir_reader_header(rlx_reader *r, const rlx_source_line *def, rlx_pending *f);
bool rlx_tir_reader_body(rlx_reader *r, rlx_pending *f);

/* ---- reader_tir_buffer.c: attributes and elements of buffers */
bool rlx_buffer_attr(rlx_reader *r, const rlx_buffer *b, rlx_word *name, const rlx_ast *at,
                     rlx_val *out);
bool rlx_buffer_method(rlx_reader *r, const rlx_val *method, const rlx_ast *call, rlx_val *out);
bool rlx_buffer_index(rlx_reader *r, const rlx_buffer *b, const rlx_ast *index, bool vector,
                      rlx_val *out);

/* ---- reader_tir_call.c: functions of T */
bool rlx_call_tir(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out);
/* T.name without a call: dtype or NULL. */
bool rlx_tir_reader_dtype_name(rlx_slice name, rlx_dtype *out);
/* f(x) of another PrimFunc, in a PrimFunc. */
bool rlx_call_sibling(rlx_reader *r, const rlx_expr *callee, const rlx_ast *call, rlx_val *out);

/* ---- reader_index_map.c: lambdas */
const rlx_attr *rlx_read_index_map(rlx_reader *r, const rlx_ast *lambda, rlx_dtype index_dtype,
                                   const rlx_attr *inverse);
const rlx_prim *rlx_read_reducer(rlx_reader *r, const rlx_ast *call); /* T.comm_reducer */

/* ---- reader_order.c: which body is read when */
/* The order in which bodies are read: one entry for each pending function. */
bool rlx_order_bodies(rlx_reader *r, uint32_t *order);

/* ---- reader_module.c: files, decorators, functions of I */
bool rlx_call_ir(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out);
bool rlx_read_file(rlx_reader *r, rlx_parsed *out);
/* Options of @R.function(...), @T.prim_func(...): literals pure, private, check_well_formed. */
bool rlx_read_decorator(rlx_reader *r, const rlx_ast *decorator, rlx_pending *f);

/* ---- metadata_read.c: the metadata block */
/* Text of tvm.ir.load_json. NULL after a report. */
struct rlx_metadata *rlx_metadata_load(rlx_reader *r, const rlx_ast *at, rlx_slice json);
const rlx_node *rlx_metadata_get(rlx_reader *r, const rlx_ast *at, rlx_slice type_key,
                                 int64_t index);

#endif
