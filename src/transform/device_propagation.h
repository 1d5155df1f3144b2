/*- device_propagation.h: which device each tensor of a module is on (language 8.2).
 *
 * A point stands for a tensor: a variable, a field of a variable, a result, an annotation. A call
 * of an operator is a point too, between its operands and its results. Edges join points that
 * are on one device; calls of Relax functions give, and take nothing back.
 *
 *     x: R.Tensor((4,), "float32", "cuda:1")      (x)  cuda:1, said
 *     z = R.add(x, y)                             (x)--[add]--(y)   [add]--(z)
 *     w = f(z)                                    (param of f)->(z)   (result of f)->(w)
 *
 * What the program says spreads first, from all points at once, so that a contradiction is found
 * between two sayings; then the operands of hints, one after the other; then the first device of
 * the list for calls that nothing was said of.
 */
#ifndef RLX_DEVICE_PROPAGATION_H
#define RLX_DEVICE_PROPAGATION_H

#include "transform/seq_pass.h"

enum rlx_device_said {
    RLX_SAID_ANNOTATION, RLX_SAID_COPY, RLX_SAID_HINT, RLX_SAID_OPERAND, RLX_SAID_DEFAULT
};

typedef struct rlx_device_point {
    const rlx_node *device;  /* NULL: not known (yet) */
    const rlx_node *owner;   /* variable, or call of an operator; NULL: neither */
    rlx_place place;         /* where it is said */
    uint32_t cause;          /* edge that brought the device, + 1; 0: said */
    uint32_t first;          /* of its edges: 2 * edge + side + 1 */
    uint8_t said;
} rlx_device_point;
typedef struct rlx_device_edge {
    uint32_t end[2], next[2];
    uint32_t site;
    bool one_way;            /* from end[0] to end[1] */
} rlx_device_edge;
/* Binding or result that edges come from: one message each. */
typedef struct rlx_device_site { rlx_place place; bool reported; } rlx_device_site;
typedef struct rlx_device_owner { const rlx_node *node; uint32_t base; } rlx_device_owner;
typedef struct rlx_device_hint { uint32_t operand; const rlx_node *device; } rlx_device_hint;

typedef struct rlx_device_propagation {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_attr_list *listed;
    RLX_VEC(rlx_device_point) points;
    RLX_VEC(rlx_device_edge) edges;
    RLX_VEC(rlx_device_site) sites;
    RLX_VEC(uint32_t) queue;
    RLX_VEC(rlx_device_owner) vars;       /* in order of appearance */
    RLX_VEC(rlx_device_owner) locals;     /* variables of function literals; base: of the result */
    RLX_VEC(rlx_device_owner) operations; /* calls; base: their points */
    RLX_VEC(rlx_device_owner) uses;       /* of variables bound to constants */
    RLX_VEC(rlx_device_hint) hints;
    rlx_ptrmap base;       /* variable, cast, function (its result): first point + 1 */
    rlx_ptrmap sizes;      /* tuple struct info: tensors in it */
    rlx_ptrmap literals;   /* variable of a function literal: the literal */
    rlx_ptrmap constants;  /* variable: the constant it is bound to */
    rlx_ptrmap scattered;  /* of these: those that are used on several devices */
    rlx_ptrmap given;      /* variable of a call that takes no device: the function, or NULL */
} rlx_device_propagation;

/* Finds the devices of all tensors of a module that lists devices; reports VD01, VD02, VD03.
 * False: out of memory. Free it in any case. */
bool rlx_device_propagation_find(rlx_device_propagation *d, rlx_context *ctx, const rlx_module *m);
void rlx_device_propagation_free(rlx_device_propagation *d);

/* s with the devices of the points of `owner`, which are those of `like`; s itself if it says
 * them, or if it has other tensors. */
const rlx_sinfo *rlx_device_propagation_sinfo(rlx_device_propagation *d, const rlx_node *owner,
                                              const rlx_sinfo *like, const rlx_sinfo *s);
/* Do uses of v, the result of a function that takes no device from its caller, say more of where
 * it is than the function does? */
bool rlx_device_propagation_assumes(rlx_device_propagation *d, const rlx_var *v);
/* Is this operand of a hint on the device? */
bool rlx_device_propagation_is_on(rlx_device_propagation *d, const rlx_expr *operand,
                                  const rlx_node *device);
/* The listed device that a call of hint_on_device means; NULL: there is none. */
const rlx_node *rlx_hinted_device(const rlx_module *m, const rlx_call *hint);
/* Struct info of a function's result as callers see it. */
const rlx_sinfo *rlx_device_result_info(rlx_context *ctx, const rlx_function *f);

#endif
