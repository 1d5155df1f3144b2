/* schedule_int.h: inside src/schedule only. */
#ifndef RLX_SCHEDULE_INT_H
#define RLX_SCHEDULE_INT_H

#include "arith/arith.h"
#include "schedule/plan.h"
#include "schedule/schedule.h"

/* ---- sizes: int64 expressions, folded */
const rlx_prim *rlx_ceil_div(rlx_context *ctx, const rlx_prim *a, int64_t b);
const rlx_prim *rlx_least(rlx_context *ctx, const rlx_prim *a, const rlx_prim *b);

const rlx_prim *rlx_greatest(rlx_context *ctx, const rlx_prim *a, const rlx_prim *b);
/* Is it a number that is no greater? */
bool rlx_is_at_most(const rlx_prim *extent, int64_t limit);
/* Of `all` units in parts of so many, those of the thread that ends last where two share the parts. */
int64_t rlx_last_of_two(int64_t all, int64_t part);

/* ---- loops that are put around a body, innermost first */
typedef struct rlx_sched_loop {
    const rlx_prim *var;         /* 0 where it runs once */
    const rlx_prim *extent;
} rlx_sched_loop;
/* A loop from 0; one that surely runs once is none, and its variable is 0. */
rlx_sched_loop rlx_sched_loop_new(rlx_context *ctx, const char *name, const rlx_prim *extent);
const rlx_stmt *rlx_sched_wrap(rlx_context *ctx, const rlx_sched_loop *l, const rlx_stmt *body,
                               rlx_place place);
/* One after the other. NULL: one of them is. */
const rlx_stmt *rlx_sched_both(rlx_context *ctx, const rlx_stmt *first, const rlx_stmt *second,
                               rlx_place place);

/* other: NULL, nothing. NULL: one of the others is. */
const rlx_stmt *rlx_sched_if(rlx_context *ctx, const rlx_prim *cond, const rlx_stmt *then, const rlx_stmt *other, rlx_place place);

/* ---- nests */
/* The body with what `split` makes of a nest in its place, which is not looked at again; NULL of split: the nest stays, and those inside of it
 * come next. Itself where there is nothing. NULL: out of memory. */
const rlx_stmt *rlx_rewrite_nests(rlx_context *ctx, const rlx_stmt *body, const rlx_stmt *(*split)(rlx_context *ctx, const rlx_for_stmt *nest));

/* ---- buffers */
/* Views are made of such only, and addresses found from the shape. */
bool rlx_is_compact(const rlx_buffer *b);
/* Another buffer over the memory of b, compact. */
const rlx_buffer *rlx_view_new(rlx_context *ctx, const rlx_buffer *b, const rlx_prim *const *shape,
                               size_t ndim);
const rlx_stmt *rlx_declare_view(rlx_context *ctx, const rlx_buffer *view, const rlx_stmt *body,
                                 rlx_place place);

/* ---- sizes that broadcast: same_sizes.c */
/* The body of f, twice if it broadcasts unknown sizes: a simple one for sizes that are the same; itself if it does not. NULL: out of memory. */
const rlx_stmt *rlx_split_same_sizes(rlx_context *ctx, const rlx_prim_func *f, const rlx_stmt *body);

/* ---- nests that become one: inline.c */
/* The body with nests that hand each other elements as one; itself where there are none. NULL: out of memory. */
const rlx_stmt *rlx_inline_nests(rlx_context *ctx, const rlx_stmt *body);

/* ---- elements that are chosen by where they are: guards.c */
/* The body with nests of such elements as boxes; itself where there are none. NULL: out of memory. */
const rlx_stmt *rlx_split_guards(rlx_context *ctx, const rlx_stmt *body);

/* ---- what loops keep below a divisor: ranges.c */
/* The body without divisions that change nothing; itself where there are none. NULL: out of memory. */
const rlx_stmt *rlx_fold_ranges(rlx_context *ctx, const rlx_stmt *body);

/* ---- several sums in one nest: apart.c */
/* The body with a nest for each of them; itself where there are none. NULL: out of memory. */
const rlx_stmt *rlx_sums_apart(rlx_context *ctx, const rlx_stmt *body);

/* ---- loops whose digits are wanted: digits.c */
/* The body with copies of repeated elements that have no division; itself where there are none. NULL: out of memory. */
const rlx_stmt *rlx_split_digits(rlx_context *ctx, const rlx_stmt *body);

/* ---- nests over the same rows: rows.c */
/* The body with nests that treat rows alike in one loop over tiles of rows; itself where there are none. NULL: out of memory. */
const rlx_stmt *rlx_join_rows(rlx_context *ctx, const rlx_stmt *body);

/* ---- elements that are computed where they are packed: produce.c */
#define RLX_MOST_PRODUCERS 32
#define RLX_MOST_LEAVES 4        /* loads of a producer */
/* A nest that gives a temporary its elements, each once, for one load alone. */
typedef struct rlx_producer {
    const rlx_for_stmt *nest;
    const rlx_buffer *buffer;
    const rlx_prim *vars[RLX_TIR_MAX_DIMS]; /* loops, by dimension of the buffer */
    const rlx_prim *value;           /* that of producers in front of it is part of it */
    uint32_t through;                /* those: bits by number */
    bool hidden;                     /* the statements that it stands among are behind */
    bool taken;                      /* panels have its place */
    bool refused;                    /* its panels would be no gain */
    const rlx_buffer *panels[RLX_MOST_LEAVES]; /* temporaries of what it reads */
    size_t num_panels;
} rlx_producer;
typedef struct rlx_producers {
    rlx_ptrmap stored, loaded, declared; /* memory -> how often in the function */
    rlx_producer at[RLX_MOST_PRODUCERS];
    size_t first, count;             /* visible: [first, count) */
    rlx_ptrmap dropped;              /* memory of temporaries that nothing touches any more */
} rlx_producers;
void rlx_producers_init(rlx_context *ctx, rlx_producers *p, const rlx_prim_func *f);
void rlx_producers_free(rlx_producers *p);
/* Can p->value be computed for every element of p->buffer, dimension d of which is p->vars[d], without failing? */
bool rlx_is_safe_producer(rlx_context *ctx, const rlx_producer *p);
/* Adds the nest if it is one. False: out of memory. */
bool rlx_push_producer(rlx_context *ctx, rlx_producers *all, const rlx_for_stmt *nest);
rlx_producer *rlx_find_producer(rlx_producers *all, const rlx_node *buffer); /* NULL: none */
void rlx_take_producer(rlx_producers *all, rlx_producer *p);
/* Producers from number `first` on are seen no more. */
void rlx_hide_producers(rlx_producers *all, size_t first);
/* Is it the nest, the temporary or the memory of one that was taken? */
bool rlx_is_taken(const rlx_producers *all, const rlx_node *n);
/* Steps of a tile, about as many as wanted, if a sum over `extent` steps runs along dimension d of what is produced. All tiles
 * are as long. 0: there are none that fit. */
int64_t rlx_producer_tile(rlx_context *ctx, const rlx_producer *p, size_t d, const rlx_prim *extent,
                          int64_t wanted);
/* What panels are filled with: the producer's element at[..], dimension `depth` of which is a step of tile number tile_at. */
typedef struct rlx_panel_fill {
    const rlx_buffer *panel;         /* [panel, step, lane] */
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    size_t depth;
    const rlx_prim *tile_at;
    int64_t tile;
    rlx_sched_loop panels, lanes;
    const rlx_prim *inside;          /* is there such a lane? NULL: they all are */
    rlx_place place;
} rlx_panel_fill;
/* NULL: out of memory, or p is refused. */
const rlx_stmt *rlx_produce_panels(rlx_context *ctx, rlx_producer *p, const rlx_panel_fill *fill);
/* `body` with the temporaries of that. */
const rlx_stmt *rlx_with_produced(rlx_context *ctx, const rlx_producer *p, const rlx_stmt *body,
                                  rlx_place place);

/* Of the statements of a sequence, by numbers from 1 on. */
typedef struct rlx_order { rlx_ptrmap last_store, last_load; } rlx_order; /* memory -> number */

/* ---- panels that are filled in front of a loop: in_front.c */
typedef struct rlx_in_front {
    struct rlx_in_front *outer;      /* of the next such loop around; NULL: none */
    const rlx_for_stmt *loop;        /* that the statements at hand are in, and come to in each iteration */
    size_t first_producer;           /* that is visible in front of it */
    bool is_read;                    /* the next two are known */
    rlx_ptrmap bound;                /* variables and buffers of the loop, which mean nothing in front of it */
    rlx_order order;
    rlx_ptrs panels, fills;          /* buffers, and the statement that fills each */
} rlx_in_front;
void rlx_in_front_init(rlx_context *ctx, rlx_in_front *f, rlx_in_front *outer, const rlx_for_stmt *loop, size_t first_producer);
void rlx_in_front_free(rlx_context *ctx, rlx_in_front *f);
/* The outermost of the loops around (`innermost` and those that it is in; NULL: there is none) in all of whose iterations the access of a nest
 * reads the same; count: how many elements. fits: it is in range even where a loop runs no time, as those of unknown extent may. NULL: none, or out of memory. */
rlx_in_front *rlx_loop_to_pass(rlx_context *ctx, rlx_in_front *innermost, const rlx_plan_access *a, const rlx_prim *count, bool fits);
/* False: out of memory; or there is no fill. */
bool rlx_put_in_front(rlx_context *ctx, rlx_in_front *f, const rlx_buffer *panel, const rlx_stmt *fill);
/* What has become of the loop, behind all that was put there. NULL: out of memory, or it is. */
const rlx_stmt *rlx_with_all_in_front(rlx_context *ctx, const rlx_in_front *f, const rlx_stmt *loop);

/* ---- parameters that may come as panels */
enum { RLX_MOST_AROUND = 4 };
typedef struct rlx_panel_params {
    const rlx_prim_func *function;
    const bool *wanted;              /* by parameter; NULL: none */
    const rlx_buffer **panels;       /* what takes its place; NULL: nothing so far */
    const rlx_prim_func **packs;     /* what fills them */
    rlx_producers *producers;
    rlx_sched_loop around[RLX_MOST_AROUND]; /* loops from 0 to a number that the statements at hand are in, outermost first */
    int num_around;
    rlx_in_front *in_front;          /* of the innermost loop around that runs more than once; NULL: there is none, or what is at hand is done sometimes only */
    int inside;                      /* of so many loops of any size, which threads may share */
    const rlx_stmt *const *before;   /* statements in front of the one at hand */
    size_t num_before;
} rlx_panel_params;
/* Its number, -1: b is none, or panels have its place. */
int rlx_panel_param(const rlx_panel_params *p, const rlx_buffer *b);
/* `body` fills the panels from the parameter. False: out of memory. */
bool rlx_take_panels(rlx_context *ctx, const rlx_panel_params *p, int param,
                     const rlx_buffer *panels, const rlx_stmt *body);

/* The body with loads of a constant parameter in place of loads of a temporary that is the same in another order, if there
 * is such a one (read_through.c). NULL: out of memory. */
const rlx_stmt *rlx_read_through_moves(rlx_context *ctx, const rlx_prim_func *f, const bool *constant,
                                       const rlx_stmt *body);
/* The function whose body fills one buffer from another, which is the parameter `from_param`. NULL: out of memory. */
const rlx_prim_func *rlx_filling_function(rlx_context *ctx, const rlx_node *from_param, const rlx_buffer *from,
                                          const rlx_buffer *to, const rlx_stmt *body, rlx_place place);

/* Sums with a window and weights for each channel, among the statements, with channels as lanes where that is faster (channels.c); what goes
 * with them becomes one statement. *count: how many there are. False: out of memory. */
bool rlx_lay_channels(rlx_context *ctx, const rlx_panel_params *p, const rlx_stmt **stmts, size_t *count);

/* Is b a temporary that these statements alone touch? */
bool rlx_is_temporary_of_nests(rlx_context *ctx, const rlx_panel_params *p, const rlx_buffer *b,
                         const rlx_stmt *const *stmts, size_t count);
/* Nothing touches b any more. */
void rlx_drop_temporary(rlx_context *ctx, const rlx_panel_params *p, const rlx_buffer *b);

/* The nest without loops that run once: they would part what is one. NULL: out of memory, or nothing is left of it. */
const rlx_for_stmt *rlx_without_single_steps(rlx_context *ctx, const rlx_for_stmt *nest);

/* Statements behind a nest. */
typedef struct rlx_after {
    const rlx_stmt *const *stmts;
    size_t count;
    size_t taken;                    /* the first ones, that are part of what the nest has become */
} rlx_after;
/* A contraction in tiles: contract.c. init: the nest in front of it, or NULL; it is part of what comes back. `nest`
 * itself where that is no gain (then init is no part of it, and none is taken); NULL: out of memory. */
const rlx_stmt *rlx_schedule_contraction(rlx_context *ctx, const rlx_panel_params *params,
                                         const rlx_for_stmt *init, const rlx_for_stmt *nest,
                                         rlx_after *after);

#endif
