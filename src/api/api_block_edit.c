/* api_block_edit.c: edits of a dataflow block. */
#include <relax/rewrite.h>
#include "api/api_int.h"

#include "transform/edit.h"
#include "transform/transform.h"

struct relax_block_edit {
    RLX_API_TAG
    relax_context *ctx;
    rlx_block_edit *edit;
};

relax_block_edit *relax_block_edit_create(relax_context *ctx, const relax_module *module,
                                          const char *function, size_t function_len,
                                          const relax_block *block)
{
    const rlx_global_var *gv = NULL;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !rlx_api_required(ctx, function, "function") ||
        !rlx_api_family(ctx, block, RLX_FAMILY_BLOCK, "block") ||
        !rlx_api_function(ctx, rlx_as_module(node_of(module)), function, function_len, &gv))
        return give(ctx, NULL);
    relax_block_edit *e = rlx_mem_alloc_zero(&ctx->memory, sizeof *e);
    if (!e)
        return give(ctx, NULL);
    e->edit = rlx_block_edit_create(ctx, rlx_as_module(node_of(module)), gv,
                                    rlx_as_block(node_of(block)));
    if (!e->edit) {
        rlx_mem_free(&ctx->memory, e, sizeof *e);
        return give(ctx, NULL);
    }
    RLX_API_SET_TAG(e, API_BLOCK_EDIT);
    e->ctx = rlx_api_hold(ctx);
    return give(ctx, e);
}

void relax_block_edit_destroy(relax_block_edit *edit)
{
    if (!RLX_API_IS(edit, API_BLOCK_EDIT))
        return;
    relax_context *ctx = edit->ctx;
    rlx_block_edit_free(edit->edit);
    RLX_API_SET_TAG(edit, API_GONE);
    rlx_mem_free(&ctx->memory, edit, sizeof *edit);
    rlx_api_let_go(ctx);
}

/* NULL after a report. */
static const rlx_var *variable(relax_context *ctx, const relax_expr *e, const char *what)
{
    if (!rlx_api_family(ctx, e, RLX_FAMILY_EXPR, what))
        return NULL;
    if (!rlx_as_var(node_of(e)))
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%s is a %s, expected a variable", what,
                  rlx_kinds[node_of(e)->kind].name);
    return rlx_as_var(node_of(e));
}

relax_status relax_block_edit_replace_uses(relax_block_edit *edit, const relax_expr *old,
                                           const relax_expr *with)
{
    if (!RLX_API_IS(edit, API_BLOCK_EDIT))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(edit->ctx);
    const rlx_var *from = variable(edit->ctx, old, "old");
    const rlx_var *to = from ? variable(edit->ctx, with, "with") : NULL;
    if (to)
        rlx_block_edit_replace(edit->edit, from, to);
    return rlx_api_failed(edit->ctx, errors);
}

relax_expr *relax_block_edit_add(relax_block_edit *edit, const relax_expr *expr, const char *name,
                                 size_t name_len, int32_t output)
{
    const rlx_string *text = NULL;
    if (!RLX_API_IS(edit, API_BLOCK_EDIT))
        return NULL;
    if (!rlx_api_family(edit->ctx, expr, RLX_FAMILY_EXPR, "expr") ||
        !rlx_api_name_or_null(edit->ctx, name, name_len, "name", &text))
        return give(edit->ctx, NULL);
    rlx_float_env host = rlx_float_enter();
    const rlx_var *v = rlx_block_edit_add(edit->edit, node_of(expr), text, output != 0);
    rlx_float_leave(host);
    return give(edit->ctx, v);
}

relax_status relax_block_edit_remove(relax_block_edit *edit, const relax_expr *var,
                                     int32_t even_if_used)
{
    if (!RLX_API_IS(edit, API_BLOCK_EDIT))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(edit->ctx);
    const rlx_var *v = variable(edit->ctx, var, "var");
    if (v)
        rlx_block_edit_remove(edit->edit, v, even_if_used != 0);
    return rlx_api_failed(edit->ctx, errors);
}

relax_status relax_block_edit_remove_unused(relax_block_edit *edit)
{
    if (!RLX_API_IS(edit, API_BLOCK_EDIT))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(edit->ctx);
    rlx_block_edit_remove_unused(edit->edit);
    return rlx_api_failed(edit->ctx, errors);
}

const relax_block *relax_block_edit_block(relax_block_edit *edit)
{
    return RLX_API_IS(edit, API_BLOCK_EDIT) ? give(edit->ctx, rlx_block_edit_block(edit->edit))
                                            : NULL;
}

const relax_base_func *relax_block_edit_function(relax_block_edit *edit)
{
    const rlx_function *f = NULL;
    if (!RLX_API_IS(edit, API_BLOCK_EDIT))
        return NULL;
    rlx_block_edit_module(edit->edit, &f);
    return give(edit->ctx, f);
}

relax_module *relax_block_edit_module(relax_block_edit *edit)
{
    return RLX_API_IS(edit, API_BLOCK_EDIT)
               ? give(edit->ctx, rlx_block_edit_module(edit->edit, NULL))
               : NULL;
}
