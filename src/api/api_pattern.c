/* api_pattern.c: patterns, matches, rewriting by pattern. */
#include <relax/pattern.h>
#include "api/api_int.h"

#include <string.h>

#include "analysis/analysis.h"
#include "analysis/pattern.h"
#include "op/op.h"
#include "sinfo/builder.h"
#include "transform/edit.h"
#include "transform/transform.h"

/* While a callback runs it shows the matcher; one that the host keeps has copies. */
struct relax_match {
    rlx_node node;                 /* looks like no node */
    relax_context *ctx;
    const rlx_matcher *live;       /* NULL: what follows is its own */
    rlx_match_swaps *also;        /* of a rewriting that asks; else NULL */
    rlx_pattern_plan plan;
    const rlx_expr **exprs, **values;
    const rlx_prim **sizes;
};
#define MATCH_ID 0x4d415443u

/* ---- arguments */

static const rlx_pattern *in(const void *p) { return p; }

static bool is_pattern(relax_context *ctx, const void *p, const char *what)
{
    if (!rlx_api_node(ctx, p, what))
        return false;
    if (rlx_is_pattern(p) && in(p)->ctx == ctx)
        return true;
    rlx_error(ctx, RLX_OP02, RLX_NO_PLACE,
              rlx_is_pattern(p) ? "%s belongs to another context" : "%s is no pattern", what);
    return false;
}

static bool are_patterns(relax_context *ctx, const relax_pattern *const *list, size_t count,
                         const char *what)
{
    bool good = rlx_api_array(ctx, (const void *const *)list, count, what);
    for (size_t i = 0; good && i < count; i++)
        good = is_pattern(ctx, list[i], what);
    return good;
}

static bool are_dims(relax_context *ctx, const relax_prim_expr *const *dims, size_t ndim)
{
    bool good = !ndim || rlx_api_required(ctx, dims, "dims");
    for (size_t i = 0; good && i < ndim; i++)
        good = !dims[i] || rlx_api_family(ctx, dims[i], RLX_FAMILY_PRIM, "dims");
    return good;
}

static bool are_flags(relax_context *ctx, int32_t flags, int32_t known, size_t count)
{
    if (flags & ~known)
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "there is no flag %d here", (int)(flags & ~known));
    else if (flags & RELAX_PATTERN_COMMUTATIVE && count < 2)
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "a commutative call has two arguments, found %zu",
                  count);
    else
        return true;
    return false;
}

static bool is_from(relax_context *ctx, int64_t number, int64_t low, const char *what)
{
    if (number < low)
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "%s is %lld, expected %lld or more", what,
                  (long long)number, (long long)low);
    return number >= low;
}

/* RELAX_PATTERN_ANYWHERE is one as well. */
static bool is_index(relax_context *ctx, size_t index, const char *what)
{
    bool good = index <= INT64_MAX || index == RELAX_PATTERN_ANYWHERE;
    if (!good)
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "%s is %zu, expected %lld or less", what, index,
                  (long long)INT64_MAX);
    return good;
}

static const relax_pattern *make(relax_context *ctx, bool good, rlx_pattern how, const void *first)
{
    return give(ctx, good ? rlx_pattern_new(ctx, &how, first) : NULL);
}

static rlx_pattern kind_of(enum rlx_pattern_kind kind)
{
    return (rlx_pattern){ .kind = (uint8_t)kind };
}

static rlx_pattern list_of(enum rlx_pattern_kind kind, const relax_pattern *const *parts,
                           size_t count, int32_t flags)
{
    return (rlx_pattern){ .kind = (uint8_t)kind,
                          .flags = (uint8_t)flags,
                          .parts = (const rlx_pattern *const *)parts,
                          .num_parts = count };
}

/* ---- leaves */

const relax_pattern *relax_pattern_any_new(relax_context *ctx)
{
    return RLX_API_CONTEXT(ctx) ? make(ctx, true, kind_of(RLX_PATTERN_ANY), NULL) : NULL;
}

const relax_pattern *relax_pattern_expr_new(relax_context *ctx, const relax_expr *expr)
{
    rlx_pattern p = kind_of(RLX_PATTERN_EXPR);
    p.like = node_of(expr);
    return RLX_API_CONTEXT(ctx)
               ? make(ctx, rlx_api_family(ctx, expr, RLX_FAMILY_EXPR, "expr"), p, NULL)
               : NULL;
}

static const relax_pattern *named(relax_context *ctx, enum rlx_pattern_kind kind, const char *name,
                                  size_t name_len)
{
    rlx_pattern p = kind_of(kind);
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = !name || rlx_api_name(ctx, name, name_len, "name", &slice);
    if (good && name)
        good = (p.name = rlx_string_intern(ctx, slice)) != NULL;
    return make(ctx, good, p, NULL);
}

const relax_pattern *relax_pattern_var_new(relax_context *ctx, const char *name, size_t name_len)
{
    return named(ctx, RLX_PATTERN_VAR, name, name_len);
}

const relax_pattern *relax_pattern_dataflow_var_new(relax_context *ctx, const char *name,
                                                    size_t name_len)
{
    return named(ctx, RLX_PATTERN_DATAFLOW_VAR, name, name_len);
}

const relax_pattern *relax_pattern_global_var_new(relax_context *ctx, const char *name,
                                                  size_t name_len)
{
    return named(ctx, RLX_PATTERN_GLOBAL_VAR, name, name_len);
}

const relax_pattern *relax_pattern_extern_func_new(relax_context *ctx, const char *name,
                                                   size_t name_len)
{
    return named(ctx, RLX_PATTERN_EXTERN, name, name_len);
}

const relax_pattern *relax_pattern_function_new(relax_context *ctx, const relax_base_func *like)
{
    rlx_pattern p = kind_of(RLX_PATTERN_FUNCTION);
    p.like = node_of(like);
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (like && !rlx_api_node(ctx, like, "like"))
        return make(ctx, false, p, NULL);
    bool good = !like || relax_base_func_kind(like) != 0;
    if (!good)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "like is no function");
    return make(ctx, good, p, NULL);
}

const relax_pattern *relax_pattern_constant_new(relax_context *ctx)
{
    return RLX_API_CONTEXT(ctx) ? make(ctx, true, kind_of(RLX_PATTERN_CONSTANT), NULL) : NULL;
}

const relax_pattern *relax_pattern_scalar_new(relax_context *ctx, double value)
{
    rlx_pattern p = kind_of(RLX_PATTERN_SCALAR);
    p.value = value;
    return RLX_API_CONTEXT(ctx) ? make(ctx, true, p, NULL) : NULL;
}

static const relax_pattern *with_dims(relax_context *ctx, enum rlx_pattern_kind kind, bool good,
                                      const relax_prim_expr *const *dims, size_t ndim,
                                      const void *first)
{
    rlx_pattern p = kind_of(kind);
    p.dims = (const rlx_prim *const *)dims;
    p.num_dims = ndim;
    return make(ctx, good && are_dims(ctx, dims, ndim), p, first);
}

const relax_pattern *relax_pattern_shape_new(relax_context *ctx, const relax_prim_expr *const *dims,
                                             size_t ndim)
{
    return RLX_API_CONTEXT(ctx) ? with_dims(ctx, RLX_PATTERN_SHAPE, true, dims, ndim, NULL) : NULL;
}

/* ---- calls, tuples */

enum { CALL_FLAGS = RELAX_PATTERN_OPEN | RELAX_PATTERN_COMMUTATIVE };

const relax_pattern *relax_pattern_call_new(relax_context *ctx, const relax_pattern *callee,
                                            const relax_pattern *const *args, size_t num_args,
                                            int32_t flags)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_pattern(ctx, callee, "callee") && are_patterns(ctx, args, num_args, "args") &&
                are_flags(ctx, flags, CALL_FLAGS, num_args);
    return make(ctx, good, list_of(RLX_PATTERN_CALL, args, num_args, flags), callee);
}

const relax_pattern *relax_pattern_op_new(relax_context *ctx, const char *op, size_t op_len,
                                          const relax_pattern *const *args, size_t num_args,
                                          int32_t flags)
{
    rlx_slice name;
    rlx_pattern p = list_of(RLX_PATTERN_OP, args, num_args, flags);
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = rlx_api_name(ctx, op, op_len, "op", &name) &&
                are_patterns(ctx, args, num_args, "args") &&
                are_flags(ctx, flags, CALL_FLAGS, num_args);
    if (good && !(p.row = rlx_op_find_in(ctx, name))) {
        const char *near = rlx_op_suggest(ctx, name);
        good =
            rlx_error(ctx, RLX_OP06, RLX_NO_PLACE, "unknown operator %.*s%s%s", rlx_api_width(name),
                      name.data, near ? "; did you mean " : "", near ? near : "") != NULL;
    }
    return make(ctx, good, p, NULL);
}

const relax_pattern *relax_pattern_call_tir_new(relax_context *ctx, const relax_pattern *callee,
                                                const relax_pattern *const *args, size_t num_args,
                                                int32_t flags)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = (!callee || is_pattern(ctx, callee, "callee")) &&
                are_patterns(ctx, args, num_args, "args") &&
                are_flags(ctx, flags, CALL_FLAGS, num_args);
    if (good && !callee)
        good = (callee = relax_pattern_any_new(ctx)) != NULL;
    return make(ctx, good, list_of(RLX_PATTERN_CALL_TIR, args, num_args, flags), callee);
}

const relax_pattern *relax_pattern_call_packed_new(relax_context *ctx, const char *name,
                                                   size_t name_len,
                                                   const relax_pattern *const *args,
                                                   size_t num_args, int32_t flags)
{
    rlx_slice slice;
    rlx_pattern p = list_of(RLX_PATTERN_PACKED, args, num_args, flags);
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = (!name || rlx_api_name(ctx, name, name_len, "name", &slice)) &&
                are_patterns(ctx, args, num_args, "args") &&
                are_flags(ctx, flags, CALL_FLAGS, num_args);
    if (good && name)
        good = (p.name = rlx_string_intern(ctx, slice)) != NULL;
    return make(ctx, good, p, NULL);
}

const relax_pattern *relax_pattern_tuple_new(relax_context *ctx, const relax_pattern *const *fields,
                                             size_t count, int32_t flags)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = are_patterns(ctx, fields, count, "fields") &&
                are_flags(ctx, flags, RELAX_PATTERN_OPEN | RELAX_PATTERN_UNORDERED, count);
    return make(ctx, good, list_of(RLX_PATTERN_TUPLE, fields, count, flags), NULL);
}

const relax_pattern *relax_pattern_tuple_get_item_new(relax_context *ctx,
                                                      const relax_pattern *tuple, size_t index)
{
    rlx_pattern p = kind_of(RLX_PATTERN_ITEM);
    p.index = index == RELAX_PATTERN_ANYWHERE ? -1 : (int64_t)index;
    return RLX_API_CONTEXT(ctx)
               ? make(ctx, is_pattern(ctx, tuple, "tuple") && is_index(ctx, index, "index"), p,
                      tuple)
               : NULL;
}

/* ---- connectives */

static const relax_pattern *some(relax_context *ctx, enum rlx_pattern_kind kind,
                                 const relax_pattern *const *patterns, size_t count)
{
    bool good =
        are_patterns(ctx, patterns, count, "patterns") && is_from(ctx, count > 0, 1, "count");
    return make(ctx, good, list_of(kind, patterns, count, 0), NULL);
}

const relax_pattern *relax_pattern_or_new(relax_context *ctx, const relax_pattern *const *patterns,
                                          size_t count)
{
    return RLX_API_CONTEXT(ctx) ? some(ctx, RLX_PATTERN_OR, patterns, count) : NULL;
}

const relax_pattern *relax_pattern_and_new(relax_context *ctx, const relax_pattern *const *patterns,
                                           size_t count)
{
    return RLX_API_CONTEXT(ctx) ? some(ctx, RLX_PATTERN_AND, patterns, count) : NULL;
}

const relax_pattern *relax_pattern_graph(relax_context *ctx, const relax_pattern *const *patterns,
                                         size_t count)
{
    return RLX_API_CONTEXT(ctx) ? some(ctx, RLX_PATTERN_GRAPH, patterns, count) : NULL;
}

const relax_pattern *relax_pattern_not_new(relax_context *ctx, const relax_pattern *pattern)
{
    return RLX_API_CONTEXT(ctx)
               ? make(ctx, is_pattern(ctx, pattern, "pattern"), kind_of(RLX_PATTERN_NOT), pattern)
               : NULL;
}

/* ---- conditions */

const relax_pattern *relax_pattern_with_attrs(relax_context *ctx, const relax_pattern *pattern,
                                              const relax_attr *attrs)
{
    rlx_pattern p = kind_of(RLX_PATTERN_ATTRS);
    p.like = node_of(attrs);
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_pattern(ctx, pattern, "pattern") && rlx_api_required(ctx, attrs, "attrs") &&
                rlx_api_map_or_null(ctx, attrs, "attrs");
    return make(ctx, good, p, pattern);
}

const relax_pattern *relax_pattern_with_dtype(relax_context *ctx, const relax_pattern *pattern,
                                              relax_dtype dtype)
{
    rlx_pattern p = kind_of(RLX_PATTERN_DTYPE);
    p.dtype = dtype;
    return RLX_API_CONTEXT(ctx) ? make(ctx,
                                   is_pattern(ctx, pattern, "pattern") &&
                                       rlx_api_dtype(ctx, dtype, false, "dtype"),
                                   p, pattern)
                            : NULL;
}

const relax_pattern *relax_pattern_with_shape(relax_context *ctx, const relax_pattern *pattern,
                                              const relax_prim_expr *const *dims, size_t ndim)
{
    return RLX_API_CONTEXT(ctx) ? with_dims(ctx, RLX_PATTERN_SIZES,
                                        is_pattern(ctx, pattern, "pattern"), dims, ndim, pattern)
                            : NULL;
}

const relax_pattern *relax_pattern_with_struct_info(relax_context *ctx,
                                                    const relax_pattern *pattern,
                                                    const relax_struct_info *info)
{
    rlx_pattern p = kind_of(RLX_PATTERN_SINFO);
    p.like = node_of(info);
    return RLX_API_CONTEXT(ctx) ? make(ctx,
                                   is_pattern(ctx, pattern, "pattern") &&
                                       rlx_api_family(ctx, info, RLX_FAMILY_SINFO, "info"),
                                   p, pattern)
                            : NULL;
}

const relax_pattern *relax_pattern_with_same_shape(relax_context *ctx,
                                                   const relax_pattern *pattern,
                                                   const relax_pattern *other)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_pattern(ctx, pattern, "pattern") && is_pattern(ctx, other, "other");
    return make(ctx, good, list_of(RLX_PATTERN_SAME_SHAPE, &other, 1, 0), pattern);
}

const relax_pattern *relax_pattern_with_use(relax_context *ctx, const relax_pattern *pattern,
                                            const relax_pattern *used, const relax_pattern *user,
                                            size_t argument, int32_t only)
{
    const relax_pattern *ends[] = { used, user };
    rlx_pattern p = list_of(RLX_PATTERN_USE, ends, 2, only ? RLX_PATTERN_ONLY : 0);
    p.index = argument == RELAX_PATTERN_ANYWHERE ? -1 : (int64_t)argument;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = is_pattern(ctx, pattern, "pattern") && is_pattern(ctx, used, "used") &&
                is_pattern(ctx, user, "user") && is_index(ctx, argument, "argument");
    return make(ctx, good, p, pattern);
}

/* ---- matches */

static bool is_match(const relax_match *match)
{
    return match && match->node.kind == RLX_NODE_NONE && match->node.id == MATCH_ID;
}

static relax_match shown(const rlx_matcher *m)
{
    return (relax_match){ .node = { .id = MATCH_ID }, .ctx = m->ctx, .live = m };
}

void relax_match_destroy(relax_match *match)
{
    if (!is_match(match) || match->live)
        return;
    relax_context *ctx = match->ctx;
    rlx_memory *m = &ctx->memory;
    size_t count = match->plan.nodes.len, sizes = match->plan.sizes.len + 1;
    rlx_mem_free(m, match->exprs, match->exprs ? count * sizeof *match->exprs : 0);
    rlx_mem_free(m, match->values, match->values ? count * sizeof *match->values : 0);
    rlx_mem_free(m, match->sizes, match->sizes ? sizes * sizeof *match->sizes : 0);
    rlx_pattern_plan_free(&match->plan);
    match->node.id = 0;
    rlx_mem_free(m, match, sizeof *match);
    rlx_api_let_go(ctx);
}

/* A match of its own. NULL: out of memory. */
static relax_match *kept(const rlx_matcher *m)
{
    rlx_memory *memory = &m->ctx->memory;
    relax_match *match = rlx_mem_alloc_zero(memory, sizeof *match);
    if (!match)
        return NULL;
    match->node.id = MATCH_ID;
    match->ctx = rlx_api_hold(m->ctx);
    bool good = rlx_pattern_plan_init(&match->plan, m->ctx, m->plan->root);
    size_t count = match->plan.nodes.len, sizes = match->plan.sizes.len;
    if (good) {
        match->exprs = rlx_mem_alloc_zero(memory, count * sizeof *match->exprs);
        match->values = rlx_mem_alloc_zero(memory, count * sizeof *match->values);
        match->sizes = rlx_mem_alloc_zero(memory, (sizes + 1) * sizeof *match->sizes);
    }
    if (!match->exprs || !match->values || !match->sizes) {
        relax_match_destroy(match);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        match->exprs[i] = m->bound[i];
        match->values[i] = m->bound[i] ? rlx_match_look(m, m->bound[i], NULL) : NULL;
    }
    memcpy(match->sizes, m->sizes, sizes * sizeof *match->sizes);
    return match;
}

static const rlx_pattern_plan *plan_of(const relax_match *match)
{
    return match->live ? match->live->plan : &match->plan;
}

static bool find(const relax_match *match, const void *key, size_t *at)
{
    uintptr_t found;
    if (!is_match(match) || !key || !rlx_ptrmap_find(&plan_of(match)->index, key, &found))
        return false;
    *at = found;
    return true;
}

const relax_expr *relax_match_expr(const relax_match *match, const relax_pattern *pattern)
{
    size_t at;
    if (!rlx_is_pattern(pattern) || !find(match, pattern, &at))
        return NULL;
    return RLX_API_EXPR(match->live ? match->live->bound[at] : match->exprs[at]);
}

const relax_expr *relax_match_value(const relax_match *match, const relax_pattern *pattern)
{
    size_t at;
    if (!rlx_is_pattern(pattern) || !find(match, pattern, &at))
        return NULL;
    if (!match->live)
        return RLX_API_EXPR(match->values[at]);
    const rlx_expr *e = match->live->bound[at];
    return RLX_API_EXPR(e ? rlx_match_look(match->live, e, NULL) : NULL);
}

const relax_prim_expr *relax_match_size(const relax_match *match, const relax_prim_expr *var)
{
    size_t at;
    if (!rlx_as_prim_var(node_of(var)) || !find(match, var, &at))
        return NULL;
    return (const relax_prim_expr *)(const void *)(match->live ? match->live->sizes[at]
                                                               : match->sizes[at]);
}

const relax_expr *relax_match_root(const relax_match *match)
{
    return is_match(match)
               ? relax_match_expr(match, (const relax_pattern *)(const void *)plan_of(match)->root)
               : NULL;
}

/* ---- matching */

typedef struct matching { rlx_pattern_plan plan; rlx_scene scene; rlx_matcher matcher; } matching;

static void end_matching(matching *m)
{
    rlx_matcher_free(&m->matcher);
    rlx_scene_free(&m->scene);
    rlx_pattern_plan_free(&m->plan);
}

static const rlx_function *relax_function_of(relax_context *ctx, const relax_base_func *func)
{
    const rlx_function *f = rlx_as_function(node_of(func));
    if (f && f->body && rlx_api_family(ctx, func, RLX_FAMILY_EXPR, "func"))
        return f;
    if (!f || !f->body)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no Relax function with a body");
    return NULL;
}

/* False after a report; to be ended in any case. */
static bool begin_matching(matching *m, relax_context *ctx, const relax_pattern *pattern,
                           const relax_module *module, const relax_base_func *func)
{
    *m = (matching){ .matcher = { 0 } };
    if (!is_pattern(ctx, pattern, "pattern") ||
        (module && !rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module")))
        return false;
    const rlx_function *f = func ? relax_function_of(ctx, func) : NULL;
    if (func && (!f || !rlx_scene_init(&m->scene, ctx, rlx_as_module(node_of(module)), f)))
        return false;
    return rlx_pattern_plan_init(&m->plan, ctx, in(pattern)) &&
           rlx_matcher_init(&m->matcher, &m->plan, f ? &m->scene : NULL, RLX_PATTERN_STEPS);
}

relax_match *relax_pattern_match(relax_context *ctx, const relax_pattern *pattern,
                                 const relax_module *module, const relax_base_func *func,
                                 const relax_expr *expr)
{
    matching m;
    relax_match *match = NULL;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = begin_matching(&m, ctx, pattern, module, func) &&
                rlx_api_family(ctx, expr, RLX_FAMILY_EXPR, "expr");
    if (good && rlx_match_expr(&m.matcher, node_of(expr)) == RLX_PATTERN_MATCH_YES)
        match = kept(&m.matcher);
    end_matching(&m);
    return give(ctx, match);
}

relax_match *relax_pattern_match_block(relax_context *ctx, const relax_pattern *pattern,
                                       const relax_module *module, const relax_base_func *func,
                                       const relax_block *block)
{
    matching m;
    relax_match *match = NULL;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool good = rlx_api_required(ctx, func, "func") &&
                rlx_api_family(ctx, block, RLX_FAMILY_BLOCK, "block");
    if (!good)
        return give(ctx, NULL);
    good = begin_matching(&m, ctx, pattern, module, func);
    size_t at = 0;
    while (good && at < m.scene.blocks.len &&
           &m.scene.blocks.data[at].block->node != node_of(block))
        at++;
    if (good && at == m.scene.blocks.len)
        good = rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "block is none of func") != NULL;
    enum rlx_match_result found = RLX_PATTERN_MATCH_NO;
    for (uint32_t e = good ? m.scene.blocks.data[at].first : RLX_NOWHERE;
         e != RLX_NOWHERE && found == RLX_PATTERN_MATCH_NO; e = m.scene.entries.data[e].next)
        found = rlx_match_entry(&m.matcher, e);
    if (found == RLX_PATTERN_MATCH_YES)
        match = kept(&m.matcher);
    end_matching(&m);
    return give(ctx, match);
}

static bool has_callback(relax_context *ctx, bool given, const char *what)
{
    if (!given)
        rlx_error(ctx, RLX_OP01, RLX_NO_PLACE, "%s is NULL", what);
    return given;
}

relax_status relax_pattern_match_all(relax_context *ctx, const relax_pattern *pattern,
                                     const relax_module *module, const relax_base_func *func,
                                     int32_t (*each)(void *user, const relax_match *match),
                                     void *user)
{
    matching m;
    bool stopped = false;
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    if (!has_callback(ctx, each != NULL, "each") || !rlx_api_required(ctx, func, "func"))
        return rlx_api_failed(ctx, errors);
    rlx_api_hold(ctx);
    bool good = begin_matching(&m, ctx, pattern, module, func);
    for (size_t i = 0; good && !stopped && i < m.scene.order.len; i++) {
        enum rlx_match_result found = rlx_match_entry(&m.matcher, m.scene.order.data[i]);
        good = found != RLX_PATTERN_MATCH_FAILED;
        if (found != RLX_PATTERN_MATCH_YES)
            continue;
        relax_match match = shown(&m.matcher);
        int32_t answer = each(user, &match);
        stopped = answer == 2;
        if (answer == 0)
            rlx_match_take(&m.matcher);
    }
    end_matching(&m);
    rlx_api_let_go(ctx);
    return stopped ? give_status(ctx, RELAX_ERROR_CANCELLED)
           : good  ? give_status(ctx, RELAX_OK)
                   : rlx_api_failed(ctx, errors);
}

/* ---- rewriting */

static const relax_rewrite_options rewrite_defaults = {
    .struct_size = sizeof(relax_rewrite_options), .max_steps = RLX_PATTERN_STEPS, .max_rounds = 1
};

relax_status relax_rewrite_options_init(relax_rewrite_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &rewrite_defaults, sizeof rewrite_defaults);
}

typedef struct hosted { relax_rewrite_fn rewrite; void *user; rlx_api_borrow *borrow; } hosted;

static const rlx_expr *ask_host(void *user, rlx_module_builder *mb, rlx_builder *b,
                                const rlx_matcher *matcher, rlx_match_swaps *also)
{
    hosted *h = user;
    relax_module_builder *module_builder;
    relax_context *ctx = matcher->ctx;
    relax_match match = shown(matcher);
    match.also = also;
    relax_builder *builder =
        rlx_api_borrow_begin(h->borrow, mb, b, ctx->diags.otherwise, &module_builder);
    const relax_expr *e = h->rewrite(h->user, module_builder, builder, &match);
    if (!rlx_api_borrow_end(h->borrow) || !e ||
        !rlx_api_family(ctx, e, RLX_FAMILY_EXPR, "the replacement"))
        return NULL;
    return node_of(e);
}

relax_status relax_match_replace(const relax_match *match, const relax_pattern *pattern,
                                 const relax_expr *with)
{
    if (!is_match(match) || !RLX_API_CONTEXT(match->ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_context *ctx = match->ctx;
    size_t errors = rlx_error_count(ctx);
    if (!is_pattern(ctx, pattern, "pattern") || !rlx_api_family(ctx, with, RLX_FAMILY_EXPR, "with"))
        return rlx_api_failed(ctx, errors);
    const rlx_var *v = rlx_as_var(node_of(relax_match_expr(match, pattern)));
    if (!match->also)
        rlx_error(ctx, RLX_OP09, RLX_NO_PLACE,
                  "a match is replaced while a rewriting asks for it");
    else if (!v)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "the pattern matched no variable");
    else
        (void)rlx_vec_push(&ctx->memory, match->also, ((rlx_match_swap){ v, node_of(with) }));
    return rlx_api_failed(ctx, errors);
}

static bool read_options(relax_context *ctx, const relax_rewrite_options *options,
                         relax_rewrite_options *o)
{
    *o = rewrite_defaults;
    if (rlx_options_read(o, sizeof *o, options) && !o->reserved)
        return is_from(ctx, o->max_rounds, 1, "max_rounds");
    rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed relax_rewrite_options");
    return false;
}

relax_module *relax_pattern_rewrite(relax_context *ctx, const relax_module *module,
                                    const char *function, size_t function_len,
                                    const relax_pattern *pattern, relax_rewrite_fn rewrite,
                                    void *user, const relax_rewrite_options *options)
{
    relax_rewrite_options o;
    const rlx_global_var *gv = NULL;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !is_pattern(ctx, pattern, "pattern") || !has_callback(ctx, rewrite != NULL, "rewrite") ||
        !read_options(ctx, options, &o) ||
        !rlx_api_function(ctx, rlx_as_module(node_of(module)), function, function_len, &gv))
        return give(ctx, NULL);
    hosted host = { rewrite, user, rlx_api_borrow_create(ctx) };
    rlx_pattern_rewrite how = { .pattern = in(pattern),
                                .gv = gv,
                                .replace = ask_host,
                                .user = &host,
                                .max_steps = o.max_steps,
                                .max_rounds = o.max_rounds };
    const rlx_module *out =
        host.borrow ? rlx_rewrite_pattern(ctx, rlx_as_module(node_of(module)), &how) : NULL;
    rlx_api_borrow_free(host.borrow);
    return give(ctx, out);
}

/* ---- fusion --------------------------------------------------------------------------------- */

static const relax_fuse_options fuse_defaults = {
    .struct_size = sizeof(relax_fuse_options), .max_steps = RLX_PATTERN_STEPS, .bind_constants = 1
};

relax_status relax_fuse_options_init(relax_fuse_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &fuse_defaults, sizeof fuse_defaults);
}

typedef struct fuse_check { relax_fuse_check_fn check; void *user; } fuse_check;

static bool check_by_host(void *user, const rlx_matcher *matcher)
{
    const fuse_check *c = user;
    relax_match match = shown(matcher);
    return c->check(c->user, &match) != 0;
}

static bool read_fuse_options(relax_context *ctx, const relax_fuse_options *options, relax_fuse_options *o)
{
    *o = fuse_defaults;
    if (!rlx_options_read(o, sizeof *o, options) || o->bind_constants < 0 || o->bind_constants > 1 ||
        o->annotate_codegen < 0 || o->annotate_codegen > 1) {
        rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed relax_fuse_options");
        return false;
    }
    if (!o->attrs)
        return true;
    if (!rlx_api_family(ctx, o->attrs, RLX_FAMILY_ATTR, "attrs"))
        return false;
    if (!rlx_as_attrs(node_of(o->attrs)))
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "attrs is no map");
    return rlx_as_attrs(node_of(o->attrs)) != NULL;
}

relax_module *relax_pattern_fuse(relax_context *ctx, const relax_module *module, const char *function,
                                 size_t function_len, const char *name, size_t name_len,
                                 const relax_pattern *pattern, relax_fuse_check_fn check, void *user,
                                 const relax_fuse_options *options)
{
    relax_fuse_options o;
    const rlx_global_var *gv = NULL;
    rlx_slice text;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !is_pattern(ctx, pattern, "pattern") || !read_fuse_options(ctx, options, &o) ||
        !rlx_api_name(ctx, name, name_len, "name", &text) ||
        !rlx_api_function(ctx, rlx_as_module(node_of(module)), function, function_len, &gv))
        return give(ctx, NULL);
    fuse_check asked = { check, user };
    rlx_pattern_fusion how = { .name = text,
                               .pattern = in(pattern),
                               .gv = gv,
                               .check = check ? check_by_host : NULL,
                               .user = &asked,
                               .attrs = o.attrs ? node_of(o.attrs) : NULL,
                               .binds_constants = o.bind_constants,
                               .annotates_codegen = o.annotate_codegen,
                               .max_steps = o.max_steps };
    rlx_api_hold(ctx);
    const rlx_module *out = rlx_fuse_by_pattern(ctx, rlx_as_module(node_of(module)), &how);
    rlx_api_let_go(ctx);
    return give(ctx, out);
}
