/* wf_int.h: inside the well-formedness checker. The walk (wf_walk.c) keeps scopes and notes
 * findings; rows of a table (well_formed.c) say them. A finding is made where the violation is
 * seen and said at the end, as a use before the binding is told from a use without one only
 * then. */
#ifndef RLX_WF_INT_H
#define RLX_WF_INT_H

#include "analysis/analysis.h"
#include "analysis/well_formed.h"

/* ---- findings: a code, which of its messages, and what they name */
enum rlx_wf_detail {
    RLX_WF_PLAIN,
    RLX_WF_UNBOUND, RLX_WF_TWICE, RLX_WF_OWN_VALUE,            /* WF02 */
    RLX_WF_EARLY, RLX_WF_GONE,                                 /* WF03 */
    RLX_WF_USED_OUTSIDE, RLX_WF_BOUND_OUTSIDE,                 /* WF01 */
    /* WF05: stands in an expression of a cast */
    RLX_WF_COMPOSITE,
    RLX_WF_IF, RLX_WF_SELF, RLX_WF_MUTUAL,                     /* WF07 */
    /* WF14, WF15: not in scope, wrong kind of shape, rank */
    RLX_WF_VARIABLE, RLX_WF_FORM, RLX_WF_RANK,
    RLX_WF_LANES, RLX_WF_KIND, RLX_WF_WIDTH, RLX_WF_COMPUTED,  /* WF18, WF20 */
    RLX_WF_SYMBOL,                                             /* WX05: of global_symbols */
    RLX_WF_EMPTY,                                              /* WX14: no name at all */
    RLX_WF_LIMIT                                               /* WX13, TY04: a bound of a size */
};
typedef struct rlx_finding {
    uint16_t code;
    uint8_t detail;
    uint32_t next;               /* finding + 1: another early use of the same variable */
    rlx_place place, note;       /* note: the related place */
    rlx_place around;            /* WF07: the dataflow block */
    const rlx_node *a, *b;       /* what the message names */
    int64_t n, k;
    const rlx_node *callee;      /* TY04 */
    uint32_t in;                 /* module function, UINT32_MAX: none */
    const rlx_node *binding;     /* of that function; NULL: none */
} rlx_finding;

/* ---- what is known of variables */
/* used only; its value is under way; in scope; was in scope */
enum rlx_wf_state { RLX_WF_SEEN, RLX_WF_OWN, RLX_WF_OPEN, RLX_WF_CLOSED };
typedef struct rlx_wf_var {
    const rlx_var *var;
    rlx_place bound_at;
    uint32_t function;           /* module function it is bound in */
    uint32_t block;              /* dataflow block, 0: none */
    uint32_t literals;           /* local functions around the binding */
    uint32_t uses;               /* finding + 1: first use before the binding */
    uint8_t state;
    bool param;
} rlx_wf_var;
typedef struct rlx_wf_size {
    const rlx_prim_var *var;
    uint32_t function;           /* module function it belongs to */
    uint32_t said, said_in;      /* last complaint: step of the walk, module function + 1 */
    uint8_t state;
    bool shared;                 /* WX04 has been said */
} rlx_wf_size;

/* Where an annotation or expression stands: decides the code for a shape variable that is not
 * in scope. */
enum rlx_wf_role {
    RLX_WF_IN_VAR, RLX_WF_IN_RETURN, RLX_WF_IN_PARAM, RLX_WF_IN_CAST, RLX_WF_IN_ARGUMENT,
    RLX_WF_IN_EXPR
};
typedef struct rlx_wf_spot {
    enum rlx_wf_role role;
    const rlx_node *owner;       /* variable or function that is annotated */
    /* of the parts of the annotation, preorder */
    const rlx_place *places; size_t num_places, part;
    rlx_place place;             /* where there are none */
    uint8_t kind;                /* struct info kind of the position: which of WF14, WF15, WF16 */
} rlx_wf_spot;
RLX_INLINE rlx_place rlx_wf_place(const rlx_wf_spot *s)
{
    return s->part < s->num_places ? s->places[s->part] : s->place;
}

/* A function under way. */
typedef struct rlx_wf_function {
    const rlx_function *function;
    const rlx_node *name;        /* GLOBAL_VAR or VAR, NULL: anonymous */
    uint32_t block;              /* dataflow block around it */
    rlx_place mention;           /* a local function mentions itself here */
    bool mentioned;
} rlx_wf_function;
/* Ends of scopes to come back to. */
typedef struct rlx_wf_mark { size_t vars, dataflow, sizes; uint32_t block; } rlx_wf_mark;
typedef struct rlx_wf_task {
    const rlx_node *node;
    rlx_place around;
    uint8_t kind;
} rlx_wf_task;
/* A part of an annotation; s NULL: a function description ends, its binders leave scope and the
 * epoch around it returns. */
typedef struct rlx_wf_part {
    const rlx_sinfo *s;
    uint32_t depth, binders;
    uintptr_t epoch;
} rlx_wf_part;
/* Function `from` mentions function `to`. in_block: it is a call inside a dataflow block. */
typedef struct rlx_wf_mention {
    uint32_t from, to;
    rlx_place place, block_at;
    bool in_block;
} rlx_wf_mention;

typedef struct rlx_wf {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_module *before;                      /* its functions are not walked; or NULL */
    rlx_env env;
    enum rlx_stage stage;
    rlx_device_table devices;                      /* that the module lists */
    const rlx_diag *known, *known_end;             /* what had been reported before; or NULL */
    bool warns;                                    /* of what is allowed: once for a program */
    bool notes, notes_scalars;                     /* what is a note on request; WF18 of them */
    bool mutates;                                  /* there is an in-place call */
    bool walking;                                  /* in `function` */
    bool lone;                                     /* one function, whose module is not done yet */
    bool odd_form;                                 /* a function may be no normal form */
    RLX_VEC(rlx_finding) findings;
    RLX_VEC(rlx_wf_var) vars;
    rlx_id_map var_at;                             /* variable -> index in vars */
    RLX_VEC(rlx_wf_size) sizes;
    rlx_id_map size_at;                            /* shape variable -> index in sizes */
    RLX_VEC(uint32_t) open_vars, open_dataflow, open_sizes; /* in scope, by scope */
    /* node -> epoch in which all in it was found in order */
    rlx_ptrmap checked;
    /* sequences and functions walked: each binds its variables once */
    rlx_ptrmap entered;
    /* the annotation that was looked up last */
    const rlx_sinfo *last_good; uintptr_t last_good_epoch;
    /* another one when something leaves scope, and inside a function description */
    uintptr_t epoch, last_epoch;
    uint32_t function;                             /* of the module */
    const rlx_node *binding;                       /* under way; NULL: none */
    uint32_t block, num_blocks;                    /* dataflow block under way, blocks so far */
    rlx_place block_at;                            /* where that block, or the last one, begins */
    uint32_t step;                                 /* bindings and signatures so far */
    RLX_VEC(rlx_wf_task) tasks;
    RLX_VEC(rlx_seq_cursor) sequences;             /* under way */
    RLX_VEC(rlx_wf_mark) marks;
    RLX_VEC(rlx_wf_function) functions;
    RLX_VEC(rlx_wf_mention) mentions;
    RLX_VEC(const rlx_node *) pending;                /* of rlx_wf_prim */
    RLX_VEC(rlx_wf_part) parts;                    /* of rlx_wf_sinfo */
    RLX_VEC(uint32_t) binders;                     /* sizes opened by function descriptions */
    rlx_scope facts;
    const rlx_function *facts_of; /* of rlx_wf_call_assumptions */
} rlx_wf;

/* New finding; NULL when out of memory. */
rlx_finding *rlx_wf_found(rlx_wf *w, enum rlx_code_id code, enum rlx_wf_detail detail,
                          rlx_place place, const rlx_node *a);
RLX_INLINE bool rlx_wf_known_good(const rlx_wf *w, const void *n)
{
    uintptr_t epoch;
    return rlx_ptrmap_find(&w->checked, n, &epoch) && epoch == w->epoch;
}
RLX_INLINE void rlx_wf_remember(rlx_wf *w, const void *n)
{
    (void)rlx_ptrmap_put(&w->checked, n, w->epoch);
}

/* Forgets what was found in order so far: it is looked at again. */
RLX_INLINE void rlx_wf_new_epoch(rlx_wf *w) { w->epoch = ++w->last_epoch; }

/* ---- scopes (wf_scope.c) */
void rlx_wf_bind_var(rlx_wf *w, const rlx_var *v, rlx_place place, bool param);
void rlx_wf_own_value(rlx_wf *w, const rlx_var *v); /* its value is looked at next */
void rlx_wf_use_var(rlx_wf *w, const rlx_var *v, rlx_place place);
bool rlx_wf_var_is_open(const rlx_wf *w, const rlx_var *v);
void rlx_wf_bind_size(rlx_wf *w, const rlx_prim_var *v, rlx_place place);
void rlx_wf_use_size(rlx_wf *w, const rlx_prim_var *v, const rlx_wf_spot *spot, bool composite);
void rlx_wf_open_scope(rlx_wf *w);
void rlx_wf_close_scope(rlx_wf *w);
void rlx_wf_open_block(rlx_wf *w);   /* dataflow */
void rlx_wf_close_block(rlx_wf *w);
/* Index of a shape variable in sizes, made if new. SIZE_MAX when out of memory. */
size_t rlx_wf_size_index(rlx_wf *w, const rlx_prim_var *v);

/* ---- annotations and integer expressions (wf_sinfo.c) */
void rlx_wf_sinfo(rlx_wf *w, const rlx_sinfo *s, rlx_wf_spot spot);
void rlx_wf_dims(rlx_wf *w, const rlx_prim *const *dims, size_t count, rlx_wf_spot *spot);
void rlx_wf_prim_value(rlx_wf *w, const rlx_prim *p, rlx_wf_spot *spot);
/* its stand-alone shape variables come into scope */
void rlx_wf_bind_sinfo(rlx_wf *w, const rlx_sinfo *s, rlx_place place);
void rlx_wf_device(rlx_wf *w, const rlx_node *vdevice, rlx_place place);

/* ---- bounds of shape variables (wf_assumption.c) */
void rlx_wf_assumptions(rlx_wf *w, const rlx_function *f, const rlx_node *name);
void rlx_wf_call_assumptions(rlx_wf *w, const rlx_call *call, const rlx_function *callee);

/* ---- the walk (wf_walk.c) */
void rlx_wf_walk(rlx_wf *w);
/* ---- groups of a graph of mentions (call_groups.c): as rlx_call_groups */
bool rlx_wf_groups(rlx_context *ctx, size_t count, const rlx_wf_mention *edges, size_t num_edges,
                   uint32_t *group, bool *recursive);

#endif
