/* derive_call.c: the result of a call of which only descriptions are known: a call of a variable
 * with variables, derived by the builder (language 5.9, D14). */
/* built for size */
#include "analysis/analysis.h"

#include "sinfo/builder.h"

typedef struct call_parts {
    rlx_context *ctx;
    rlx_builder *b;
    const rlx_expr **args;
    size_t count;
} call_parts;

static const rlx_expr *variable(rlx_context *ctx, const char *name, int32_t number,
                                const rlx_sinfo *s, rlx_place place)
{
    const rlx_string *text = rlx_string_z(ctx, name);
    return text ? (const rlx_expr *)rlx_var_new(ctx, false, text, number, s, place) : NULL;
}

/* Shape variables that a description mentions and does not bind itself are those of the place
 * where the call stands. */
static bool see_sizes(call_parts *c, const rlx_sinfo *s)
{
    rlx_prim_vars vars = { 0 };
    bool good = rlx_free_shape_vars(c->ctx, s, &vars);
    for (size_t i = 0; good && i < vars.len; i++)
        good = rlx_scope_add(rlx_builder_scope(c->b), vars.data[i], true);
    rlx_vec_free(&c->ctx->memory, &vars);
    return good;
}

static const rlx_sinfo *infer(call_parts *c, const rlx_sinfo *callee, const rlx_sinfo *const *info,
                              const rlx_sinfo *stated, rlx_place place)
{
    const rlx_expr *f = variable(c->ctx, "f", -1, callee, place);
    bool good = f != NULL;
    for (size_t i = 0; good && i < c->count; i++)
        good = (c->args[i] = variable(c->ctx, "arg", (int32_t)i, info[i], place)) != NULL;
    good = good && rlx_builder_begin_function(c->b, c->args, c->count, false, NULL,
                                              RLX_SLICE("call"), NULL) &&
           see_sizes(c, callee);
    for (size_t i = 0; good && i < c->count; i++)
        good = see_sizes(c, info[i]);
    const rlx_expr *call = good ? rlx_call_new(c->ctx, f, c->args, c->count, &stated,
                                               stated ? 1 : 0, NULL, place)
                                : NULL;
    return call ? rlx_builder_infer(c->b, call) : NULL;
}

const rlx_sinfo *rlx_derive_call(rlx_context *ctx, const rlx_sinfo *callee,
                                 const rlx_sinfo *const *args, size_t count,
                                 const rlx_sinfo *stated, rlx_place place)
{
    rlx_memory *m = &ctx->memory;
    rlx_builder_options options = { 0 };
    call_parts c = { .ctx = ctx,
                     .b = rlx_builder_create(ctx, NULL, &options),
                     .args = rlx_mem_alloc(m, (count + 1) * sizeof *c.args),
                     .count = count };
    const rlx_sinfo *out = NULL;
    if (c.b && c.args)
        out = infer(&c, callee, args, stated, place);
    if (c.b)
        rlx_builder_free(c.b);
    rlx_mem_free(m, c.args, c.args ? (count + 1) * sizeof *c.args : 0);
    return out;
}
