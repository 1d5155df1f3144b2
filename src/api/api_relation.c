/* api_relation.c: relations between descriptions, and where two nodes differ. */
#include <relax/struct_info.h>
#include "api/api_int.h"

#include "analysis/analysis.h"

static const struct { int32_t ours, theirs; } parts[] = {
#define PART(name) { RLX_MISMATCH_##name, RELAX_MISMATCH_##name }
    PART(KIND),  PART(DTYPE),  PART(RANK),  PART(DIMENSION), PART(DEVICE), PART(SHARDING), PART(SHAPE),
    PART(VALUE), PART(LENGTH), PART(ARITY), PART(PURITY),    PART(PARAM),  PART(RESULT),
#undef PART
};

static int32_t part_number(const rlx_mismatch *why)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].ours == why->part)
            return parts[i].theirs;
    return RELAX_MISMATCH_NONE;
}

/* ---- two descriptions and what is known of their sizes */

typedef struct question {
    relax_context *ctx;
    rlx_scope scope;
    rlx_float_env host;
} question;

static bool add_sizes(question *q, const void *node)
{
    rlx_prim_vars vars = { 0 };
    bool good = rlx_collect_prim_vars(&q->ctx->memory, node_of(node), false, &vars);
    for (size_t i = 0; good && i < vars.len; i++)
        good = rlx_scope_add(&q->scope, vars.data[i], true);
    rlx_vec_free(&q->ctx->memory, &vars);
    return good;
}

/* False after a report, or without a context; else the question must be ended. */
static bool begin(question *q, relax_context *ctx, const void *a, const void *b,
                  enum rlx_family family)
{
    if (!RLX_API_READS(ctx))
        return false;
    if (!rlx_api_family(ctx, a, family, "the first operand") ||
        !rlx_api_family(ctx, b, family, "the second operand"))
        return give(ctx, NULL) != NULL;
    q->ctx = ctx;
    q->host = rlx_float_enter();
    rlx_scope_init(&q->scope, ctx, NULL);
    if (add_sizes(q, a) && add_sizes(q, b))
        return true;
    rlx_scope_free(&q->scope);
    rlx_float_leave(q->host);
    return false;
}

static int32_t end(question *q, int32_t answer)
{
    rlx_scope_free(&q->scope);
    rlx_float_leave(q->host);
    rlx_diags_flush(&q->ctx->diags);
    return q->ctx->diags.out_of_memory ? -1 : answer;
}

/* ---- fit */

static relax_bytes *reason_text(relax_context *ctx, const rlx_mismatch *why)
{
    rlx_api_bytes b;
    relax_bytes *out = NULL;
    if (rlx_api_bytes_begin(&b, ctx)) {
        rlx_assignable_explain(&b.buf, why);
        out = rlx_api_bytes_end(&b);
    }
    if (!out)
        rlx_no_memory(ctx); /* the host's bytes have memory of their own */
    return out;
}

int32_t relax_struct_info_assignable_reason(relax_context *ctx, const relax_struct_info *a,
                                            const relax_struct_info *b, int32_t *part,
                                            size_t *index, relax_bytes **text)
{
    question q;
    rlx_mismatch why;
    if (text)
        *text = NULL;
    if (!RLX_API_CONTEXT(ctx) || !begin(&q, ctx, a, b, RLX_FAMILY_SINFO))
        return RELAX_ASSIGNABLE_FAILED;
    enum rlx_assignability answer = rlx_assignable(ctx, &q.scope, node_of(a), node_of(b), &why);
    bool fits = answer == RLX_ASSIGNABLE_YES;
    if (part)
        *part = fits ? RELAX_MISMATCH_NONE : part_number(&why);
    if (index)
        *index = fits || why.index < 0 ? RELAX_NOT_FOUND : (size_t)why.index;
    if (text && !fits)
        *text = reason_text(ctx, &why);
    return end(&q, (int32_t)answer);
}

/* Language 5.6: which answers are accepted with a warning. */
static const struct {
    enum rlx_code_id code;
    const char *text;   /* with both descriptions */
    bool kind_warns;    /* K: a warning; else an error */
} sites[] = {
    [RELAX_SITE_ANNOTATION] = { RLX_TY01, "value is %s but its annotation says %s", true },
    [RELAX_SITE_ARGUMENT] = { RLX_TY04, "argument is %s, expected %s", false },
    [RELAX_SITE_RESULT] = { RLX_TY07, "result is %s, its annotation says %s", true },
    [RELAX_SITE_OUTPUT] = { RLX_TY10, "stated result is %s, the PrimFunc gives %s", false },
    [RELAX_SITE_CAST] = { RLX_TY11, "target of the cast is %s, its variable says %s", false },
};

static int32_t judge(question *q, const relax_struct_info *a, const relax_struct_info *b,
                     int32_t site, relax_place place)
{
    rlx_mismatch why;
    rlx_buf text;
    enum rlx_assignability answer = rlx_assignable(q->ctx, &q->scope, node_of(a), node_of(b), &why);
    if (answer == RLX_ASSIGNABLE_YES)
        return 1;
    bool accepted =
        answer == RLX_ASSIGNABLE_VALUE || (answer == RLX_ASSIGNABLE_KIND && sites[site].kind_warns);
    rlx_buf_init(&text, &q->ctx->memory);
    rlx_buf_format(&text, sites[site].text, rlx_show(q->ctx, node_of(a)),
                   rlx_show(q->ctx, node_of(b)));
    rlx_buf_lit(&text, ": ");
    rlx_assignable_explain(&text, &why);
    if (!text.failed)
        rlx_report(q->ctx, sites[site].code,
                   accepted ? RLX_SEVERITY_WARNING : RLX_SEVERITY_ERROR, place, "%s", text.data);
    rlx_buf_free(&text);
    return accepted;
}

int32_t relax_struct_info_check(relax_context *ctx, const relax_struct_info *a,
                                const relax_struct_info *b, int32_t site, relax_place place)
{
    question q;
    if (!RLX_API_CONTEXT(ctx))
        return 0;
    if (site < 0 || site > RELAX_SITE_CAST)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "there is no site %d", (int)site),
               give(ctx, NULL), 0;
    return begin(&q, ctx, a, b, RLX_FAMILY_SINFO) &&
           end(&q, judge(&q, a, b, site, place)) == 1;
}

static int32_t base_check(relax_context *ctx, const relax_struct_info *base,
                          const relax_struct_info *derived)
{
    question q;
    if (!begin(&q, ctx, base, derived, RLX_FAMILY_SINFO))
        return RELAX_BASE_FAILED;
    return end(&q, (int32_t)rlx_assignable(ctx, &q.scope, node_of(derived), node_of(base), NULL));
}

int32_t relax_struct_info_base_check(relax_context *ctx, const relax_struct_info *base,
                                     const relax_struct_info *derived)
{
    return RLX_API_CONTEXT(ctx) ? base_check(ctx, base, derived) : RELAX_BASE_FAILED;
}

int32_t relax_struct_info_is_base_of(relax_context *ctx, const relax_struct_info *base,
                                     const relax_struct_info *derived)
{
    return RLX_API_CONTEXT(ctx) && base_check(ctx, base, derived) == RELAX_BASE_PASS;
}

relax_prim_expr *relax_struct_info_precondition(relax_context *ctx, const relax_struct_info *base,
                                                const relax_struct_info *derived)
{
    question q;
    if (!RLX_API_CONTEXT(ctx) || !begin(&q, ctx, base, derived, RLX_FAMILY_SINFO))
        return NULL;
    const rlx_prim *p = rlx_assignable_precondition(ctx, &q.scope, node_of(base), node_of(derived));
    return end(&q, 0) < 0 ? NULL : give(ctx, p);
}

int32_t relax_struct_info_overlap(relax_context *ctx, const relax_struct_info *a,
                                  const relax_struct_info *b)
{
    question q;
    if (!RLX_API_CONTEXT(ctx) || !begin(&q, ctx, a, b, RLX_FAMILY_SINFO))
        return RELAX_OVERLAP_FAILED;
    return end(&q, rlx_overlap(ctx, &q.scope, node_of(a), node_of(b), NULL));
}

static bool is_shape(relax_context *ctx, const relax_expr *e)
{
    const rlx_var *v = rlx_as_var(node_of(e));
    bool yes = rlx_as_shape_expr(node_of(e)) || (v && rlx_is(v->sinfo, RLX_NODE_SHAPE_SINFO));
    if (!yes)
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%s is no shape", rlx_show(ctx, node_of(e)));
    return yes;
}

int32_t relax_prove_shapes_equal(relax_context *ctx, const relax_expr *a, const relax_expr *b)
{
    question q;
    if (!RLX_API_CONTEXT(ctx) || !begin(&q, ctx, a, b, RLX_FAMILY_EXPR))
        return RELAX_PROOF_FAILED;
    int32_t answer = is_shape(ctx, a) && is_shape(ctx, b)
                         ? (int32_t)rlx_prove_same_shape(ctx, &q.scope, node_of(a), node_of(b))
                         : RELAX_PROOF_FAILED;
    return end(&q, answer);
}

/* ---- nodes of any kind */

uint64_t relax_node_hash_mapped(relax_context *ctx, const relax_node *node)
{
    bool out_of_memory = false;
    return RLX_API_READS(ctx) && node ? rlx_hash_mapped(&ctx->memory, node_of(node), &out_of_memory)
                                  : 0;
}

int32_t relax_node_first_difference(relax_context *ctx, const relax_node *a, const relax_node *b,
                                    int32_t map_free, const relax_node **at_a,
                                    const relax_node **at_b, relax_place *place_a,
                                    relax_place *place_b, relax_bytes **path)
{
    rlx_difference d = { 0 };
    rlx_api_bytes text;
    bool lost = false;
    if (path)
        *path = NULL;
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_required(ctx, a, "a") || !rlx_api_required(ctx, b, "b"))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), 0) : 0;
    if (!rlx_api_bytes_begin(&text, ctx))
        return rlx_no_memory(ctx); /* the host's bytes have memory of their own */
    bool found = rlx_first_difference(&ctx->memory, node_of(a), node_of(b), map_free != 0, &d,
                                      &text.buf, &lost);
    relax_bytes *said = rlx_api_bytes_end(&text);
    if (at_a)
        *at_a = (const relax_node *)(const void *)d.a;
    if (at_b)
        *at_b = (const relax_node *)(const void *)d.b;
    if (place_a)
        *place_a = d.place_a;
    if (place_b)
        *place_b = d.place_b;
    if (!said)
        rlx_no_memory(ctx); /* the same */
    if (path && found && !ctx->diags.out_of_memory)
        *path = said;
    else
        relax_bytes_release(said);
    return found && !ctx->diags.out_of_memory;
}

/* ---- other descriptions from one */

static bool are_sizes(relax_context *ctx, const relax_prim_expr *const *vars,
                      const relax_prim_expr *const *values, const rlx_prim **out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const rlx_prim_var *v = rlx_as_prim_var(node_of(vars[i]));
        int64_t literal;
        if (!v)
            return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "item %zu of shape_vars is no variable",
                             i) != NULL;
        if (!values)
            continue;
        out[i] = node_of(values[i]);
        if (rlx_prim_dtype(out[i]) != v->dtype && rlx_int_literal(out[i], &literal))
            out[i] = rlx_int(ctx, v->dtype, literal);
        if (out[i] && rlx_prim_dtype(out[i]) != v->dtype)
            rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "item %zu of shape_values has another dtype "
                      "than the variable", i);
        if (!out[i] || rlx_prim_dtype(out[i]) != v->dtype)
            return false;
    }
    return true;
}

static int32_t rank_of(const rlx_expr *e)
{
    const rlx_shape_expr *list = rlx_as_shape_expr(e);
    const rlx_var *v = rlx_as_var(e);
    const rlx_shape_sinfo *s = v ? rlx_as_shape_sinfo(v->sinfo) : NULL;
    return list ? (int32_t)list->num_values : s ? s->ndim : -1;
}

/* A shape takes the place of one of the same rank only: tensors state it. */
static bool are_shapes(relax_context *ctx, const relax_expr *const *vars,
                       const relax_expr *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rlx_as_var(node_of(vars[i])))
            return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "item %zu of vars is no variable", i) !=
                   NULL;
        if (!values)
            continue;
        if (!is_shape(ctx, values[i]))
            return false;
        if (rank_of(node_of(values[i])) != rank_of(node_of(vars[i])))
            return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "item %zu of values has another rank "
                             "than the variable", i) != NULL;
    }
    return true;
}

relax_struct_info *relax_struct_info_erase_to(relax_context *ctx, const relax_struct_info *info,
        const relax_prim_expr *const *shape_vars, const relax_prim_expr *const *shape_values,
        size_t num_shape_vars, const relax_expr *const *vars, const relax_expr *const *values,
        size_t num_vars)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
#define LIST(list, count, family, what)                                                            \
    rlx_api_family_array(ctx, (const void *const *)(list), count, RLX_FAMILY_##family, what)
    if (!rlx_api_family(ctx, info, RLX_FAMILY_SINFO, "info") ||
        !LIST(shape_vars, num_shape_vars, PRIM, "shape_vars") ||
        (shape_values && !LIST(shape_values, num_shape_vars, PRIM, "shape_values")) ||
        !LIST(vars, num_vars, EXPR, "vars") || (values && !LIST(values, num_vars, EXPR, "values")))
        return give(ctx, NULL);
#undef LIST
    const rlx_prim **sizes = rlx_mem_alloc(&ctx->memory, (num_shape_vars + 1) * sizeof *sizes);
    rlx_replacement with = { (const rlx_prim *const *)(const void *)shape_vars,
                             shape_values ? sizes : NULL, num_shape_vars,
                             (const rlx_expr *const *)(const void *)vars,
                             (const rlx_expr *const *)(const void *)values, num_vars };
    const rlx_sinfo *out = NULL;
    rlx_float_env host = rlx_float_enter();
    if (sizes && are_sizes(ctx, shape_vars, shape_values, sizes, num_shape_vars) &&
        are_shapes(ctx, vars, values, num_vars))
        out = rlx_erase_to(ctx, node_of(info), &with);
    rlx_float_leave(host);
    rlx_mem_free(&ctx->memory, sizes, sizes ? (num_shape_vars + 1) * sizeof *sizes : 0);
    return give(ctx, out);
}

/* ---- parameters and arguments */

/* Shape variables of the parameters, but for placeholders inside of them. */
static bool mappable(relax_context *ctx, const relax_struct_info *const *params, size_t count,
                     rlx_prim_vars *out)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = rlx_free_shape_vars(ctx, node_of(params[i]), out);
    return good;
}

static size_t give_pairs(const rlx_mapping *m, const relax_prim_expr **vars,
                         const relax_prim_expr **values, size_t capacity)
{
    for (size_t i = 0; i < m->list.len && i < capacity; i++) {
        if (vars)
            vars[i] = (const relax_prim_expr *)(const void *)m->list.data[i].var;
        if (values)
            values[i] = (const relax_prim_expr *)(const void *)m->list.data[i].value;
    }
    if (m->conflict)
        rlx_error(m->ctx, RLX_TY12, RLX_NO_PLACE,
                  "%s would be both %s (argument %d) and %s (argument %d)",
                  m->conflict->name->data, rlx_show(m->ctx, m->first), (int)m->first_arg + 1,
                  rlx_show(m->ctx, m->second), (int)m->second_arg + 1);
    return m->ctx->diags.out_of_memory || m->conflict ? RELAX_NOT_FOUND : m->list.len;
}

size_t relax_struct_info_map(relax_context *ctx, const relax_struct_info *const *params,
                             const relax_struct_info *const *args, size_t count,
                             const relax_prim_expr **vars, const relax_prim_expr **values,
                             size_t capacity)
{
    rlx_prim_vars binders = { 0 };
    rlx_mapping m;
    question q = { .ctx = ctx };
    if (!RLX_API_CONTEXT(ctx) ||
        !rlx_api_family_array(ctx, (const void *const *)params, count, RLX_FAMILY_SINFO,
                              "params") ||
        !rlx_api_family_array(ctx, (const void *const *)args, count, RLX_FAMILY_SINFO, "args"))
        return RLX_API_READS(ctx) ? (give(ctx, NULL), RELAX_NOT_FOUND) : RELAX_NOT_FOUND;
    q.host = rlx_float_enter();
    rlx_scope_init(&q.scope, ctx, NULL);
    bool good = mappable(ctx, params, count, &binders);
    for (size_t i = 0; good && i < count; i++)
        good = add_sizes(&q, args[i]);
    rlx_mapping_init(&m, ctx, &q.scope, (const rlx_prim *const *)(void *)binders.data,
                     binders.len);
    for (size_t i = 0; good && i < count; i++)
        rlx_mapping_add(&m, node_of(params[i]), node_of(args[i]), (int32_t)i);
    size_t found = good ? give_pairs(&m, vars, values, capacity) : RELAX_NOT_FOUND;
    rlx_mapping_free(&m);
    rlx_vec_free(&ctx->memory, &binders);
    return end(&q, 0) < 0 ? RELAX_NOT_FOUND : found;
}

relax_struct_info *relax_struct_info_derive_call(relax_context *ctx,
                                                 const relax_struct_info *callee,
                                                 const relax_struct_info *const *args,
                                                 size_t num_args, const relax_struct_info *stated,
                                                 relax_place place)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, callee, RLX_FAMILY_SINFO, "callee") ||
        !rlx_api_family_array(ctx, (const void *const *)args, num_args, RLX_FAMILY_SINFO, "args") ||
        (stated && !rlx_api_family(ctx, stated, RLX_FAMILY_SINFO, "stated")))
        return give(ctx, NULL);
    rlx_float_env host = rlx_float_enter();
    const rlx_sinfo *out =
        rlx_derive_call(ctx, node_of(callee), (const rlx_sinfo *const *)(const void *)args,
                        num_args, node_of(stated), place);
    rlx_float_leave(host);
    return give(ctx, out);
}
