/* api_prove.c: provers with facts of their own; evaluation. */
#include <relax/prove.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "arith/arith.h"

struct relax_prover {
    RLX_API_TAG
    relax_context *ctx;
    rlx_scope scope;
};

relax_prover *relax_prover_create(relax_context *ctx)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    relax_prover *p = rlx_mem_alloc_zero(&ctx->memory, sizeof *p);
    if (!p) {
        return give(ctx, NULL);
    }
    RLX_API_SET_TAG(p, API_PROVER);
    p->ctx = rlx_api_hold(ctx);
    rlx_scope_init(&p->scope, ctx, NULL);
    p->scope.rewrites = true;
    return p;
}

void relax_prover_destroy(relax_prover *p)
{
    if (!RLX_API_IS(p, API_PROVER))
        return;
    relax_context *ctx = p->ctx;
    RLX_API_SET_TAG(p, API_GONE);
    rlx_scope_free(&p->scope);
    rlx_mem_free(&ctx->memory, p, sizeof *p);
    rlx_api_let_go(ctx);
}

/* ---- arguments and results */

static bool are_prims(relax_prover *p, const void *a, const void *b)
{
    return rlx_api_family(p->ctx, a, RLX_FAMILY_PRIM, "a") &&
           rlx_api_family(p->ctx, b, RLX_FAMILY_PRIM, "b");
}

static const rlx_prim_var *variable(relax_context *ctx, const relax_prim_expr *var)
{
    if (!rlx_api_family(ctx, var, RLX_FAMILY_PRIM, "var"))
        return NULL;
    const rlx_prim_var *v = rlx_as_prim_var(node_of(var));
    if (!v)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "var is %s, expected a variable",
                  rlx_show(ctx, node_of(var)));
    return v;
}

/* The answer, unless something went wrong while it was looked for. */
static int32_t answer(relax_context *ctx, size_t errors_before, int32_t value)
{
    if (rlx_error_count(ctx) > errors_before)
        value = -1;
    rlx_diags_flush(&ctx->diags);
    return value;
}

static int32_t misused(relax_context *ctx)
{
    give(ctx, NULL);
    return -1;
}

/* ---- facts */

relax_status relax_prover_bound(relax_prover *p, const relax_prim_expr *var, int64_t low,
                                int64_t high)
{
    if (!RLX_API_IS(p, API_PROVER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t before = rlx_error_count(p->ctx);
    const rlx_prim_var *v = variable(p->ctx, var);
    bool good = v && rlx_scope_bound(&p->scope, v, low, high);
    return give_status(p->ctx, good ? RELAX_OK : rlx_api_failed(p->ctx, before));
}

relax_status relax_prover_enter(relax_prover *p, const relax_struct_info *info)
{
    if (!RLX_API_IS(p, API_PROVER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t before = rlx_error_count(p->ctx);
    bool good = rlx_api_family(p->ctx, info, RLX_FAMILY_SINFO, "info") &&
                rlx_scope_enter(&p->scope, node_of(info));
    return give_status(p->ctx, good ? RELAX_OK : rlx_api_failed(p->ctx, before));
}

int32_t relax_prover_assume_equal(relax_prover *p, const relax_prim_expr *a,
                                  const relax_prim_expr *b)
{
    if (!RLX_API_IS(p, API_PROVER))
        return -1;
    if (!are_prims(p, a, b))
        return misused(p->ctx);
    size_t before = rlx_error_count(p->ctx);
    rlx_prim_vars vars = { 0 };
    bool good = rlx_collect_prim_vars(&p->ctx->memory, node_of(a), false, &vars) &&
                rlx_collect_prim_vars(&p->ctx->memory, node_of(b), false, &vars);
    for (size_t i = 0; good && i < vars.len; i++)
        good = rlx_scope_add(&p->scope, vars.data[i], false);
    rlx_vec_free(&p->ctx->memory, &vars);
    return answer(p->ctx, before,
                  good ? (int32_t)rlx_scope_equal(&p->scope, node_of(a), node_of(b)) : -1);
}

/* ---- questions */

int32_t relax_prover_equal(relax_prover *p, const relax_prim_expr *a, const relax_prim_expr *b)
{
    if (!RLX_API_IS(p, API_PROVER))
        return -1;
    if (!are_prims(p, a, b))
        return misused(p->ctx);
    size_t before = rlx_error_count(p->ctx);
    return answer(p->ctx, before,
                  (int32_t)rlx_prove_equal(p->ctx, &p->scope, node_of(a), node_of(b)));
}

int32_t relax_prover_holds(relax_prover *p, const relax_prim_expr *condition)
{
    if (!RLX_API_IS(p, API_PROVER))
        return -1;
    if (!rlx_api_family(p->ctx, condition, RLX_FAMILY_PRIM, "condition"))
        return misused(p->ctx);
    if (!rlx_dtype_is_bool(rlx_prim_dtype(node_of(condition)))) {
        rlx_error(p->ctx, RLX_OP02, RLX_NO_PLACE, "condition is %s, expected a truth value",
                  rlx_show(p->ctx, node_of(condition)));
        return misused(p->ctx);
    }
    size_t before = rlx_error_count(p->ctx);
    return answer(p->ctx, before, (int32_t)rlx_prove(p->ctx, &p->scope, node_of(condition)));
}

relax_status relax_prover_bounds(relax_prover *p, const relax_prim_expr *e, int64_t *low,
                                 int64_t *high)
{
    if (!RLX_API_IS(p, API_PROVER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t before = rlx_error_count(p->ctx);
    if (rlx_api_family(p->ctx, e, RLX_FAMILY_PRIM, "e") && rlx_api_required(p->ctx, low, "low") &&
        rlx_api_required(p->ctx, high, "high"))
        rlx_bounds(p->ctx, &p->scope, node_of(e), low, high);
    return give_status(p->ctx, rlx_error_count(p->ctx) > before ? rlx_api_failed(p->ctx, before)
                                                                : RELAX_OK);
}

relax_prim_expr *relax_prover_simplify(relax_prover *p, const relax_prim_expr *e)
{
    if (!RLX_API_IS(p, API_PROVER))
        return NULL;
    size_t before = rlx_error_count(p->ctx);
    const rlx_prim *shorter = rlx_api_family(p->ctx, e, RLX_FAMILY_PRIM, "e")
                                  ? rlx_simplify(p->ctx, &p->scope, node_of(e))
                                  : NULL;
    return give(p->ctx, rlx_error_count(p->ctx) > before ? NULL : shorter);
}

int32_t relax_prover_solve(relax_prover *p, const relax_prim_expr *a, const relax_prim_expr *b,
                           const relax_prim_expr *var, relax_prim_expr **value)
{
    if (!RLX_API_IS(p, API_PROVER))
        return -1;
    const rlx_prim_var *v = are_prims(p, a, b) ? variable(p->ctx, var) : NULL;
    if (!v || !rlx_api_required(p->ctx, value, "value"))
        return misused(p->ctx);
    size_t before = rlx_error_count(p->ctx);
    const rlx_prim *root = NULL;
    int32_t found =
        (int32_t)rlx_solve(p->ctx, &p->scope, node_of(a), node_of(b), v, &root);
    found = answer(p->ctx, before, found);
    *value = found == RELAX_SOLUTION_ONE ? give(p->ctx, root) : NULL;
    return found;
}

/* The variables of several expressions, each once. */
typedef struct variables { rlx_memory *memory; rlx_prim_vars all; rlx_ptrmap known; } variables;

static bool add_variables(variables *v, const rlx_prim *e)
{
    size_t had = v->all.len, kept = had;
    if (!rlx_collect_prim_vars(v->memory, e, false, &v->all))
        return false;
    for (size_t i = had; i < v->all.len; i++) {
        const rlx_prim_var *var = v->all.data[i];
        if (rlx_ptrmap_has(&v->known, var))
            continue;
        if (!rlx_ptrmap_put(&v->known, var, 1))
            return false;
        v->all.data[kept++] = var;
    }
    v->all.len = kept;
    return true;
}

/* Those of a and b, and of the facts. */
static bool all_variables(relax_prover *p, const void *a, const void *b, rlx_prim_vars *out)
{
    variables v = { .memory = &p->ctx->memory };
    rlx_ptrmap_init(&v.known, v.memory);
    bool good = add_variables(&v, a) && add_variables(&v, b);
    for (size_t i = 0; good && i < p->scope.equals.len; i++) {
        rlx_equality e = p->scope.equals.data[i];
        good = add_variables(&v, e.a) && add_variables(&v, e.b) && add_variables(&v, e.value) &&
               add_variables(&v, &e.var->node);
    }
    rlx_ptrmap_free(&v.known);
    *out = v.all;
    return good;
}

size_t relax_prover_counterexample(relax_prover *p, const relax_prim_expr *a,
                                   const relax_prim_expr *b, const relax_prim_expr **vars,
                                   int64_t *values, size_t capacity)
{
    if (!RLX_API_IS(p, API_PROVER))
        return RELAX_NOT_FOUND;
    if (!are_prims(p, a, b))
        return give(p->ctx, NULL), RELAX_NOT_FOUND;
    rlx_memory *m = &p->ctx->memory;
    rlx_prim_vars all = { 0 };
    int64_t *point = NULL;
    size_t found = RELAX_NOT_FOUND;
    if (all_variables(p, node_of(a), node_of(b), &all)) {
        point = rlx_mem_alloc(m, (all.len + 1) * sizeof *point);
        if (point && rlx_counterexample(p->ctx, &p->scope, node_of(a), node_of(b), all.data,
                                        all.len, point))
            found = all.len;
    }
    for (size_t i = 0; found != RELAX_NOT_FOUND && i < all.len && i < capacity; i++) {
        if (vars)
            vars[i] = (const relax_prim_expr *)(const void *)all.data[i];
        if (values)
            values[i] = point[i];
    }
    rlx_mem_free(m, point, (all.len + 1) * sizeof *point);
    rlx_vec_free(m, &all);
    give(p->ctx, NULL);
    return found;
}

/* ---- evaluation */

int32_t relax_prim_evaluate(relax_context *ctx, const relax_prim_expr *e,
                            const relax_prim_expr *const *vars, const int64_t *values,
                            size_t count, int64_t *out)
{
    if (!RLX_API_CONTEXT(ctx))
        return -1;
    bool good =
        rlx_api_family(ctx, e, RLX_FAMILY_PRIM, "e") && rlx_api_required(ctx, out, "out") &&
        rlx_api_family_array(ctx, (const void *const *)vars, count, RLX_FAMILY_PRIM, "vars") &&
        (!count || rlx_api_required(ctx, values, "values"));
    for (size_t i = 0; good && i < count; i++)
        good = variable(ctx, vars[i]) != NULL;
    if (!good)
        return misused(ctx);
    rlx_assignment given = { (const rlx_prim_var *const *)(const void *)vars, values, count };
    enum rlx_evaluation why = rlx_prim_evaluate_why(node_of(e), &given, &ctx->memory, out);
    if (why == RLX_EVAL_NO_MEMORY) {
        return misused(ctx);
    }
    return (int32_t)why;
}
