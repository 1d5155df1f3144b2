/*- print_int.h: what the files of the printer share.
 *
 * Text goes straight to the caller's buffer. What belongs further up than where it is found out
 * (header comments, declarations, the metadata block) is kept as an insert and put in place
 * once, at the end, in one sweep.
 *
 *   print.c         entry points, modules, inserts   print_relax.c     functions, blocks, bindings
 *   print_names.c   unique names, frames             print_tir.c       statements of PrimFuncs
 *   print_expr.c    expressions of all families      print_block.c     PrimFuncs, blocks, loops
 *   print_call.c    calls, constants, attributes     print_buffer.c    buffers and regions
 *   print_sinfo.c   annotations                      print_scope.c     undeclared variables
 *   print_prim.c    integers and scalars             metadata_write.c  the metadata block
 *   print_binder.c  binders of function descriptions
 *
 * No recursion: expressions run on a stack of items, statements on a stack of tasks.
 */
#ifndef RLX_PRINT_INT_H
#define RLX_PRINT_INT_H

#include "script/print.h"

/* ---- names */
enum rlx_bound_how { RLX_BOUND_NAME, RLX_BOUND_DATA, RLX_BOUND_STRIDE, RLX_BOUND_OFFSET };
/* A name, and who bears it while `live`: a variable or buffer. Or a part of a buffer (B.data,
 * B.strides[0]), which prints as such: then `text` is empty. */
typedef struct rlx_bound {
    const rlx_node *node;   /* the bearer */
    const rlx_node *buffer; /* whose part */
    uint32_t len;
    uint32_t next;          /* name: least suffix that may be free; part: index of the stride */
    uint32_t before;        /* alive: number + 1 of the one before in its frame, 0: none */
    uint8_t how;
    bool live;
    char text[];
} rlx_bound;
/* From the hash of a name to a number in p->all, open addressing. */
typedef struct rlx_slot { uint32_t key, at; } rlx_slot; /* at: number + 1, 0: empty */
typedef struct rlx_slots { rlx_slot *data; size_t len, cap; } rlx_slots;
/* A name for binders of function descriptions (print_binder.c); and a binder that has one, with
 * what it was before: number + 1, 0: nothing. */
typedef struct rlx_borrowed_name {
    uint32_t name;           /* its number in p->all */
    rlx_dtype dtype;
    size_t next;             /* of the same hint: number + 1, 0: none */
    bool busy;
} rlx_borrowed_name;
typedef struct rlx_named_before {
    const rlx_node *binder;
    size_t before, borrowed;
} rlx_named_before;
/* A size that is declared once the signature is there. */
typedef struct rlx_declared { const rlx_node *var; const rlx_bound *name; } rlx_declared;
typedef struct rlx_print_frame {
    uint32_t newest;         /* name defined in it: number + 1, 0: none */
    const rlx_node *stmt;    /* TIR: whose frame */
    size_t line;             /* TIR: where the statement under way begins */
    uint32_t indent;
} rlx_print_frame;

/* ---- inserts */
enum rlx_insert_rank { RLX_INSERT_DECLARE, RLX_INSERT_HEADER };
typedef struct rlx_insert { size_t at, from, len; uint32_t seq; uint8_t rank; } rlx_insert;

/* ---- stacks */
typedef struct rlx_item {
    uint8_t what, prec;
    uint16_t flags;
    uint32_t at;
    size_t count;
    const void *ptr;
} rlx_item;
typedef struct rlx_task {
    uint8_t what, stage, flags;
    const rlx_node *node, *target;
    size_t at, pos;
} rlx_task;

enum { RLX_USES_I = 1, RLX_USES_T = 2, RLX_USES_R = 4 };
enum rlx_print_where { RLX_PRINT_LONE, RLX_PRINT_RELAX, RLX_PRINT_TIR };

typedef struct rlx_uses rlx_uses;
typedef struct rlx_printer {
    rlx_memory *m;
    rlx_buf *out;
    size_t start;                /* of our text in out */
    const rlx_print_options *options;
    const char *module_name;
    const rlx_module *module;    /* NULL: a lone node */
    bool failed;
    bool newer;                  /* for TVM 0.27 */
    rlx_buf type_vars;           /* newer: lines that declare sizes, above the unit */
    rlx_map type_var_names;
    const rlx_node *under_way;   /* the statement or function that is being printed */
    uint8_t uses;
    enum rlx_print_where where;
    uint32_t indent;             /* in blanks */

    rlx_region region;
    RLX_VEC(rlx_bound *) all;
    rlx_slots names;             /* by text */
    rlx_id_map bearers;          /* bearer -> number */
    RLX_VEC(rlx_print_frame) frames;
    rlx_device_table devices;
    rlx_ptrmap called;           /* newer: function -> outputs and integers of its calls */
    rlx_ptrmap frame_at;         /* statement -> number of its outermost frame + 1 */

    RLX_VEC(rlx_item) items;
    RLX_VEC(rlx_task) tasks;

    rlx_buf side;                /* text of inserts */
    rlx_buf later;               /* what is printed before its place */
    RLX_VEC(rlx_insert) inserts;

    /* the top-level Relax function under way */
    size_t function_frame;
    uint32_t depth;              /* of nested functions */
    /* dimensions with variables are quoted, variables are declared by declare_first */
    bool signature;
    bool aside;                  /* this text moves elsewhere: do not remember where it stands */
    bool alias;                  /* `cls = Module` is there */
    bool names_global;           /* a function of the module is named */
    size_t hoist;                /* where declarations of the body go */
    /* texts of struct info with variables from here on may be copied */
    size_t body;
    rlx_ptrmap texts;      /* struct info, attributes of a call -> offset << 20 | length */
    RLX_VEC(rlx_declared) declare;
    RLX_VEC(rlx_borrowed_name) borrowed;
    rlx_ptrmap borrowed_by_hint; /* name of the hint -> number + 1 of the newest one for it */
    RLX_VEC(rlx_named_before) hidden; /* binders of the descriptions under way */

    /* the PrimFunc under way */
    const rlx_node *unit;        /* root of the analysis */
    size_t unit_frame;
    struct rlx_uses *uses_of;    /* made on first need */
    uint32_t declaring;          /* declarations under way */
    rlx_ptrmap loops;            /* loop variable -> FOR */
    /* parameters that their buffers' annotations stand for -> were they met all the same? */
    rlx_ptrmap handles;
    bool handle_met;

    /* metadata */
    rlx_ptrmap meta_index;       /* node -> index + 1 */
    RLX_VEC(const rlx_node *) meta[3];
    uint8_t meta_order[3], num_meta;
} rlx_printer;
enum rlx_meta_key { RLX_META_CONSTANT, RLX_META_TIR_STRING, RLX_META_STRING };

/* newer: how the functions of the module are called, for rlx_newer_function. */
void rlx_find_calls(rlx_printer *p, const rlx_module *m);
/* The function as it is printed: TVM 0.27 has integers of PrimFuncs in front of outputs. */
const rlx_node *rlx_newer_function(rlx_printer *p, const rlx_node *gvar, const rlx_node *function);

/* One of two spellings. */
#define rlx_put_for(p, old_text, new_text) \
    rlx_buf_z((p)->out, (p)->newer ? (new_text) : (old_text))
/* newer: notes that a signature names the size: n = TypeVar("n") */
void rlx_print_type_var(rlx_printer *p, const rlx_bound *b);
#define rlx_put(p, literal) rlx_buf_lit((p)->out, literal)
void rlx_put_newline(rlx_printer *p);                 /* ends a line */
void rlx_put_indent(rlx_printer *p);                  /* begins one */
void rlx_put_string(rlx_printer *p, rlx_slice s);     /* quoted, TVM's escapes, UTF-8 raw */
/* the prefix needs no escapes */
void rlx_put_named_string(rlx_printer *p, const char *prefix, rlx_slice s);
void rlx_put_dtype(rlx_printer *p, rlx_dtype t);      /* quoted; void as "void" */
void rlx_put_float(rlx_printer *p, double v);         /* "inf" and the like in quotes */
RLX_INLINE void rlx_put_t(rlx_printer *p) { p->uses |= RLX_USES_T; rlx_put(p, "T."); }
RLX_INLINE void rlx_put_r(rlx_printer *p) { p->uses |= RLX_USES_R; rlx_put(p, "R."); }
bool rlx_print_fail(rlx_printer *p);                  /* out of memory; returns false */

/* Text written since `mark` of out becomes an insert at `at`. */
void rlx_print_move(rlx_printer *p, size_t mark, size_t at, enum rlx_insert_rank rank);
/* comment lines of the dialects used so far, at the indentation */
void rlx_print_header(rlx_printer *p);

/* ---- print_names.c */
bool rlx_names_reserve(rlx_printer *p, const char *name);
void rlx_names_expect(rlx_printer *p, size_t count); /* so many more are to come */
void rlx_print_enter(rlx_printer *p, const rlx_node *stmt);
/* The innermost frame is that of the statement from here on, behind its header. */
void rlx_print_own(rlx_printer *p, const rlx_node *stmt);
void rlx_print_leave(rlx_printer *p);
/* A unique name for `node` in frame number `frame`. number -1: none. NULL: out of memory. */
rlx_bound *rlx_define(rlx_printer *p, const rlx_node *node, rlx_slice hint, int32_t number,
                      size_t frame);
/* variable or buffer, innermost frame, unless it is defined */
rlx_bound *rlx_define_here(rlx_printer *p, const rlx_node *node);
rlx_bound *rlx_define_at(rlx_printer *p, const rlx_node *node, size_t frame);
rlx_bound *rlx_define_part(rlx_printer *p, const rlx_node *var, const rlx_node *buffer,
                           enum rlx_bound_how how, uint32_t index, size_t frame);
/* NULL: nothing defines it here */
rlx_bound *rlx_find_bound(const rlx_printer *p, const rlx_node *node);
/* Of a variable: the name that its hint makes, whoever bears it. */
const rlx_bound *rlx_hint_name(rlx_printer *p, const rlx_node *var);
/* Number of the name that `node` bears, + 1; 0: none. */
size_t rlx_number_of_name(const rlx_printer *p, const rlx_node *node);
/* A name in use goes to `node` as well; later nobody has it, and node bears what it did. */
void rlx_borrow_name(rlx_printer *p, uint32_t name, const rlx_node *node);
void rlx_return_name(rlx_printer *p, uint32_t name, const rlx_node *node, size_t before);
void rlx_names_free(rlx_printer *p);
void rlx_put_bound(rlx_printer *p, const rlx_bound *b);
/* Name of a variable or buffer; one that nothing defines is declared where it belongs. */
void rlx_put_var(rlx_printer *p, const rlx_node *var);
/* A name as it can stand in Python: other characters are '_', keywords and leading digits are
 * amended. */
void rlx_put_identifier(rlx_printer *p, rlx_slice name);

/* ---- print_expr.c: any expression, struct info, attribute value, buffer or region */
enum {
    RLX_ITEM_BARE = 1,      /* an int64 literal needs no T.int64() here */
    RLX_ITEM_PLAIN = 2,     /* attribute values as plain Python (Relax) */
    RLX_ITEM_MODULE = 4,    /* attribute values of modules: booleans as T.bool() */
    RLX_ITEM_FLOAT32 = 8,   /* a float as T.float32() */
    RLX_ITEM_DIMS = 16,     /* dimensions: quoted in signatures */
    RLX_ITEM_OBJECT = 32,   /* R.Object as R.Object() */
    RLX_ITEM_OPEN = 64,     /* a tuple of two or more without parentheses */
    RLX_ITEM_SYMBOL = 128,  /* an ExternFunc as a string */
    RLX_ITEM_INNER = 1024,  /* struct info inside of other struct info */
    RLX_ITEM_QUOTED = 512,  /* a dtype as a string, where the operator says that it is one */
    RLX_ITEM_TYPED =
        256 /* a bare literal would not have this type here: an int32 of an attribute, an int64 of a call */
};
enum rlx_item_what {
    RLX_ITEM_TEXT,
    RLX_ITEM_NODE,
    RLX_ITEM_LIST,
    RLX_ITEM_QUOTE,
    RLX_ITEM_CACHE,
    RLX_ITEM_ATTRS,
    RLX_ITEM_LEAVE,
    RLX_ITEM_CLOSE,         /* binders of a function description */
    RLX_ITEM_KEYWORDS,
    RLX_ITEM_REST, RLX_ITEM_INDEX, RLX_ITEM_COUNT
};
void rlx_print_expr(rlx_printer *p, const rlx_node *n, unsigned flags);
void rlx_print_list(rlx_printer *p, const rlx_node *const *nodes, size_t count, unsigned flags);
void rlx_print_item(rlx_printer *p, rlx_item item);
/* Steps of the machine: push what follows in reverse, then put what comes first. */
void rlx_push_text(rlx_printer *p, const char *text);
void rlx_push_node(rlx_printer *p, const rlx_node *n, unsigned prec, unsigned flags);
void rlx_push_list(rlx_printer *p, const rlx_node *const *nodes, size_t count, unsigned flags);
/* Puts the leaves that a list begins with, pushes the rest: where nothing is to be put before
 * it. */
void rlx_start_list(rlx_printer *p, const rlx_node *const *nodes, size_t count, unsigned flags);
void rlx_push_item(rlx_printer *p, rlx_item item);
/* Copies the text of n from where it stood last, if that is known; and takes note of it. */
bool rlx_put_again(rlx_printer *p, const rlx_node *n);
void rlx_note_text(rlx_printer *p, const rlx_node *n, size_t at); /* at: counted from p->start */
/* Prints n if that takes no further steps. */
bool rlx_print_leaf(rlx_printer *p, const rlx_node *n, unsigned flags);
void rlx_print_step_prim(rlx_printer *p, const rlx_node *n, unsigned prec, unsigned flags);
void rlx_print_step_sinfo(rlx_printer *p, const rlx_sinfo *s, unsigned flags);
void rlx_print_step_sinfo_rest(rlx_printer *p, const rlx_node *n);
/* what follows the first part of a node */
void rlx_print_step_rest(rlx_printer *p, const rlx_item *it);
void rlx_print_step_call_end(rlx_printer *p, const rlx_prim_call *c);
void rlx_print_step_index_map(rlx_printer *p, const rlx_index_map *m, unsigned flags);
void rlx_print_step_call(rlx_printer *p, const rlx_call *c);
void rlx_print_step_keywords(rlx_printer *p, const rlx_item *it);
void rlx_print_step_attr(rlx_printer *p, const rlx_attr *a, unsigned flags);
void rlx_print_step_region(rlx_printer *p, const rlx_node *n);
void rlx_print_step_index(rlx_printer *p, const rlx_item *it);
/* after '[' */
void rlx_push_indices(rlx_printer *p, const rlx_node *const *indices, size_t count);
bool rlx_print_prim_leaf(rlx_printer *p, const rlx_node *n, unsigned flags);
void rlx_put_constant(rlx_printer *p, const rlx_constant *c);
/* "mesh[0]", or the mesh itself where the module does not list it. */
void rlx_print_mesh(rlx_printer *p, const rlx_node *mesh);
void rlx_put_vdevice(rlx_printer *p, const rlx_node *device); /* "cuda:1" */

/* ---- print_binder.c: names of the binders of a description while it is printed */
void rlx_print_open_binders(rlx_printer *p, const rlx_func_sinfo *f);
void rlx_print_close_binders(rlx_printer *p, const rlx_func_sinfo *f);
void rlx_print_forget_binders(rlx_printer *p); /* another function begins */

/* ---- print_relax.c */
void rlx_print_function(rlx_printer *p, const rlx_function *f, rlx_slice name);
/* lone binding, block, sequence, if */
void rlx_print_relax_stmt(rlx_printer *p, const rlx_node *n);
void rlx_use_alias(rlx_printer *p);
const rlx_bound *rlx_declare_symbolic(rlx_printer *p, const rlx_node *var);
void rlx_put_creation(rlx_printer *p, const rlx_node *var); /* T.int64() */
/* "@R.function(...)\n" and the like; attrs of a function without the symbol that its name says
 * already. */
void rlx_print_func_attrs(rlx_printer *p, const rlx_attr *attrs, rlx_slice name, bool tir);

/* ---- TIR */
void rlx_print_prim_func(rlx_printer *p, const rlx_prim_func *f, rlx_slice name);
void rlx_print_tir_stmt(rlx_printer *p, const rlx_stmt *s);
void rlx_print_block(rlx_printer *p, const rlx_tir_block *b, const rlx_block_realize *r);
void rlx_push_tir_body(rlx_printer *p, const rlx_stmt *s);      /* the statements of a suite */
/* the same, once what is pushed after it is done */
void rlx_push_tir_rest(rlx_printer *p, const rlx_stmt *s);
void rlx_open_tir_suite(rlx_printer *p, const rlx_node *owner); /* after the colon */
void rlx_run_tir(rlx_printer *p);
/* T.int32, T.handle("float32", "global") */
void rlx_put_var_type(rlx_printer *p, const rlx_node *var);

/* ---- print_buffer.c. Variables met first get their line above the one under way in frame
 * number `frame`. */
/* a + b as reading folds it */
const rlx_prim *rlx_print_sum(rlx_printer *p, const rlx_prim *a, const rlx_prim *b);
void rlx_print_subscript(rlx_printer *p, const rlx_node *const *indices, size_t count);
void rlx_put_elements(rlx_printer *p, const rlx_constant *c);
void rlx_print_step_iter_tag(rlx_printer *p, const rlx_iter_var *v);
bool rlx_buffer_is_simple(const rlx_buffer *b);
/* A buffer that the body uses and nothing declares. */
void rlx_put_free_buffer(rlx_printer *p, const rlx_buffer *b, size_t frame);
void rlx_put_buffer(rlx_printer *p, const rlx_buffer *b, const char *function,
                    const rlx_node *first, size_t frame);
/* annotation of a parameter */
void rlx_put_buffer_type(rlx_printer *p, const rlx_buffer *b, size_t frame);
/* T.decl_buffer that allocates; annotations: what only TVM 0.27 says there, or NULL */
void rlx_put_allocated(rlx_printer *p, const rlx_buffer *b, const rlx_attr *annotations,
                       size_t frame);
/* T.decl_buffer over a pointer */
void rlx_put_view(rlx_printer *p, const rlx_buffer *b, size_t frame);

/* ---- print_scope.c */
/* and s is the innermost such */
bool rlx_is_used_within(rlx_printer *p, const rlx_node *var, const rlx_stmt *s);
/* frame of the innermost suite with all uses */
size_t rlx_print_frame_of(rlx_printer *p, const rlx_node *var);
void rlx_uses_free(rlx_printer *p);

/* ---- metadata_write.c */
/* metadata["relax.expr.Constant"][0] */
void rlx_put_metadata(rlx_printer *p, enum rlx_meta_key key, const rlx_node *n);
/* The whole block, with its line end. */
void rlx_print_metadata(rlx_printer *p);

#endif
