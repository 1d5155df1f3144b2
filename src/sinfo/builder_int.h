/*- builder_int.h: the block builder's own state, for builder.c, emit.c, derive.c, normal_form.c
 * and mutator.c.
 *
 *   frames     functions and branches that are open, innermost last
 *   segments   of all open frames: runs of bindings of one kind; joined and made into blocks
 *              when the frame ends
 *   bindings   of all open frames, in order; a frame owns those from its first_binding on
 *   known      per variable: value and where it was bound. Indexed by the serial number of the
 *              variable, counted from the first one this function could have made; older
 *              variables (parameters, a pass's input) hash.
 */
#ifndef RLX_BUILDER_INT_H
#define RLX_BUILDER_INT_H

#include "sinfo/builder.h"
#include "sinfo/sinfo_int.h"

typedef struct rlx_known { const rlx_expr *value; uint32_t depth, serial; } rlx_known;
typedef struct rlx_segment { size_t first; rlx_place place; bool dataflow; } rlx_segment;

typedef struct rlx_builder_frame {
    rlx_scope scope;
    bool is_function, is_pure, force_pure, in_dataflow;
    uint32_t serial;           /* of this frame; of the open dataflow block */
    uint32_t block_serial;
    size_t first_segment, first_binding, first_open;
    size_t num_signature;      /* facts of the scope that the parameters bind */
    size_t num_params;         /* of a function: the last of builder.params */
    rlx_error_mark errors;     /* of the context when it began */
    size_t old_block, old_binding;
    /* what this frame is a rewrite of, or NULL: its blocks are used again where nothing changed */
    const rlx_seq_expr *old;
    rlx_slice name;
    rlx_place result_at, ret_at; /* its result, and the annotation of that */
    const rlx_expr *self;
    const rlx_sinfo *signature; /* provisional, for self-calls; NULL until asked for */
    /* what the signature is if declared_ret is the result; or NULL */
    const rlx_sinfo *declared, *declared_ret;
    int32_t outer_lv, outer_gv; /* count_names: counters of the function around this one */
} rlx_builder_frame;

struct rlx_builder {
    rlx_context *ctx;
    rlx_env env;
    rlx_builder_options options;
    RLX_VEC(rlx_builder_frame *) frames; /* kept for use again beyond `depth` */
    size_t depth;
    RLX_VEC(rlx_segment) segments;
    RLX_VEC(const rlx_binding *) bindings;
    RLX_VEC(const rlx_node *) blocks;    /* working memory of ends */
    RLX_VEC(const rlx_expr *) params;    /* of the open functions */
    RLX_VEC(uint8_t) opens;              /* what each begin_block did */
    RLX_VEC(rlx_known) known;
    uint32_t known_base;
    rlx_ptrmap known_old;                /* variable -> index into known_rest */
    RLX_VEC(rlx_known) known_rest;
    /* SeqExprs and Functions that this builder made: normal already */
    rlx_ptrmap made;
    /* variable -> leaf that stands for it now; a mutator lends its own */
    rlx_ptrmap own_renames, *renames;
    /* a function under rewriting: its names are looked at before the first new one */
    const rlx_node *names_of;
    const rlx_string *lv, *gv;
    int32_t next_lv, next_gv;
    uint32_t next_serial;
    size_t num_impure;                   /* impure calls emitted so far */
    struct rlx_work *work;               /* normal_form.c */
};

RLX_INLINE rlx_builder_frame *rlx_top_frame(const rlx_builder *b)
{
    return b->frames.data[b->depth - 1];
}
/* innermost function; never NULL while a frame is open */
rlx_builder_frame *rlx_function_frame(const rlx_builder *b);

bool rlx_builder_remember(rlx_builder *b, const rlx_var *v, const rlx_expr *value);
bool rlx_builder_is_made(const rlx_builder *b, const rlx_expr *e);
/* Erases what is not visible from the innermost frame. */
const rlx_sinfo *rlx_builder_erase(rlx_builder *b, const rlx_sinfo *s);

/* derive.c: struct info of a normalised expression, reported errors: NULL. */
const rlx_sinfo *rlx_builder_derive(rlx_builder *b, const rlx_expr *e);
/* Does a device that is not known of e count? */
bool rlx_builder_judges_device(const rlx_builder *b, const rlx_expr *e);
/* Messages of fit, "X is A but B says C: part". `place` of the diagnostic. */
void rlx_report_assignable(rlx_builder *b, enum rlx_code_id code, uint8_t severity, rlx_place place,
                           const char *text, const rlx_mismatch *why);
/* The annotation alone: TY14, TY15. */
bool rlx_builder_check_annotation(rlx_builder *b, const rlx_sinfo *s, rlx_place place);

/* emit.c */
/* After an error: what stands in for struct info under keep_going; NULL without it. */
const rlx_sinfo *rlx_builder_instead(const rlx_builder *b, const rlx_sinfo *stated);
/* Appends value (normalised) as a binding. `old`: the binding it is a rewrite of, used again if
 * nothing changed. */
const rlx_var *rlx_builder_bind(rlx_builder *b, const rlx_expr *value, const rlx_emit *how,
                                const rlx_binding *old);
const rlx_var *rlx_builder_bind_match(rlx_builder *b, const rlx_expr *value,
                                      const rlx_sinfo *sinfo, const rlx_emit *how, bool no_var,
                                      const rlx_binding *old);
/* binds to a variable of its own */
const rlx_expr *rlx_builder_fresh(rlx_builder *b, const rlx_expr *value);
bool rlx_builder_append(rlx_builder *b, const rlx_binding *binding);
bool rlx_builder_rename(rlx_builder *b, const rlx_var *from, const rlx_expr *to);

/* normal_form.c */
/* Is e a binding value as it stands (NF01), its operator form included? */
bool rlx_builder_is_flat(const rlx_builder *b, const rlx_expr *e);
void rlx_work_free(rlx_builder *b);
/* Rewrites a whole function: hooks of the mutator m (may be NULL) at each binding. */
const rlx_function *rlx_builder_rewrite_function(rlx_builder *b, const rlx_function *f,
                                                 rlx_slice name, const rlx_expr *self,
                                                 rlx_mutator *m);

#endif
