/* codegen_function.c: composite functions inside of functions for a back end (codegen_function.h). */
#include "transform/codegen_function.h"
#include "transform/transform_int.h"

rlx_slice rlx_text_attr(const rlx_attr *attrs, const char *key)
{
    const rlx_attr *value = attrs ? rlx_attrs_get(attrs, key) : NULL;
    const rlx_attr_string *text = rlx_as_attr_string(value);
    return text ? rlx_string_slice(text->value) : (rlx_slice){ NULL, 0 };
}

rlx_slice rlx_codegen_of(rlx_slice composite)
{
    const char *dot = composite.len ? memchr(composite.data, '.', composite.len) : NULL;
    return dot ? (rlx_slice){ composite.data, (size_t)(dot - composite.data) } : composite;
}

const rlx_function *rlx_function_with_attrs(rlx_context *ctx, const rlx_function *f, const rlx_attr *attrs)
{
    const rlx_sinfo *sinfo = rlx_signature(ctx, f->params, f->num_params, f->ret_sinfo, f->is_pure, NULL);
    return attrs && sinfo ? rlx_function_new(ctx, f->params, f->num_params, f->body, f->ret_sinfo, f->ret_stated,
                                             f->is_pure, attrs, sinfo, f->place)
                          : NULL;
}

/* ---- local functions ------------------------------------------------------------------------ */

typedef struct localizing {
    rlx_context *ctx;
    const rlx_function *(*callee)(void *user, const rlx_global_var *gv);
    void *user;
    rlx_rewriter names;                  /* GlobalVar -> variable of the local function */
    RLX_VEC(const rlx_binding *) literals;
} localizing;

static bool localize(localizing *z, const rlx_global_var *gv)
{
    rlx_context *ctx = z->ctx;
    const rlx_function *f = z->callee(z->user, gv);
    if (!f || rlx_ptrmap_has(&z->names.map, gv))
        return true;
    const rlx_attr *attrs = rlx_attrs_with(ctx, f->attrs, "Primitive", NULL);
    const rlx_function *fresh = rlx_as_function(rlx_copy_fresh(ctx, &f->node));
    const rlx_function *local = fresh ? rlx_function_with_attrs(ctx, fresh, attrs) : NULL;
    const rlx_string *name = rlx_string_z(ctx, "local");
    int32_t number = z->literals.len ? (int32_t)z->literals.len : -1;
    const rlx_var *v = local && name ? rlx_var_new(ctx, false, name, number, local->sinfo, f->place) : NULL;
    const rlx_binding *b = v ? rlx_var_binding_new(ctx, v, &local->node, f->place) : NULL;
    return b && rlx_vec_push(&ctx->memory, &z->literals, b) && rlx_ptrmap_put(&z->names.map, gv, (uintptr_t)v);
}

static bool localize_block(localizing *z, const rlx_block *b)
{
    for (size_t i = 0; i < b->num_bindings; i++) {
        const rlx_call *call = rlx_as_call(rlx_binding_value(b->bindings[i]));
        const rlx_global_var *gv = call ? rlx_as_global_var(call->op) : NULL;
        if (gv && !localize(z, gv))
            return false;
    }
    return true;
}

/* The body behind a block that binds the local functions. */
static const rlx_expr *with_locals(localizing *z, const rlx_seq_expr *body)
{
    for (size_t i = 0; i < body->num_blocks; i++)
        if (!localize_block(z, rlx_as_block(body->blocks[i])))
            return NULL;
    const rlx_node **blocks = rlx_new(z->ctx, (body->num_blocks + 1) * sizeof *blocks);
    if (!blocks || !z->literals.len)
        return blocks ? &body->node : NULL;
    blocks[0] = rlx_block_new(z->ctx, false, z->literals.data, z->literals.len, body->place);
    for (size_t i = 0; blocks[0] && i < body->num_blocks; i++)
        if (!(blocks[i + 1] = rlx_rewrite(&z->names, body->blocks[i])))
            return NULL;
    return blocks[0] ? rlx_seq_new(z->ctx, blocks, body->num_blocks + 1, body->body, body->place) : NULL;
}

const rlx_function *rlx_codegen_function(rlx_context *ctx, const rlx_function *f, rlx_slice codegen,
                                         const rlx_function *(*callee)(void *user, const rlx_global_var *gv),
                                         void *user)
{
    localizing z = { .ctx = ctx, .callee = callee, .user = user };
    const rlx_seq_expr *seq = rlx_as_seq_expr(f->body);
    rlx_rewriter_init(&z.names, ctx);
    const rlx_expr *body = seq ? with_locals(&z, seq) : NULL;
    rlx_rewriter_free(&z.names);
    rlx_vec_free(&ctx->memory, &z.literals);
    const rlx_attr *attrs = rlx_attrs_with(ctx, NULL, "Codegen", rlx_attr_string_new(ctx, codegen));
    const rlx_function *now = body && attrs ? rlx_function_with(ctx, f, body, attrs) : NULL;
    return now ? rlx_function_with_attrs(ctx, now, attrs) : NULL;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* NAME_CODEGEN, or that with the first number that makes it new. */
static const rlx_string *public_name(rlx_context *ctx, rlx_map *taken, const rlx_string *name, rlx_slice codegen)
{
    rlx_buf text;
    rlx_buf_init(&text, &ctx->memory);
    rlx_buf_put(&text, name->data, name->len);
    rlx_buf_put(&text, "_", 1);
    for (size_t i = 0; i < codegen.len; i++) {
        char c = codegen.data[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        rlx_buf_put(&text, fits ? &c : "_", 1);
    }
    size_t plain = text.len;
    for (uint64_t n = 1; !text.failed && rlx_map_has(taken, (rlx_slice){ text.data, text.len }); n++) {
        text.len = plain;
        rlx_buf_u64(&text, n);
    }
    bool good = !text.failed && rlx_map_put(taken, (rlx_slice){ text.data, text.len }, taken);
    const rlx_string *out = good ? rlx_string_intern(ctx, (rlx_slice){ text.data, text.len }) : NULL;
    rlx_buf_free(&text);
    return out;
}

static bool is_unpublished(const rlx_node *function)
{
    const rlx_function *f = rlx_as_function(function);
    return f && rlx_text_attr(f->attrs, "Codegen").len && !rlx_link_name(function);
}

/* gvars and functions come as they are in m. *any: something got another name. */
static bool publish(rlx_context *ctx, const rlx_module *m, const rlx_expr **gvars, const rlx_node **functions,
                    rlx_rewriter *names, bool *any)
{
    rlx_map taken;
    bool good = true;
    rlx_map_init(&taken, &ctx->memory);
    for (size_t i = 0; good && i < m->num_functions; i++)
        good = rlx_map_put(&taken, rlx_string_slice(rlx_as_global_var(gvars[i])->name), &taken);
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(functions[i]);
        if (!is_unpublished(functions[i]))
            continue;
        const rlx_string *name =
            public_name(ctx, &taken, rlx_as_global_var(gvars[i])->name, rlx_text_attr(f->attrs, "Codegen"));
        const rlx_global_var *gv = name ? rlx_global_var_new(ctx, name, f->place) : NULL;
        const rlx_attr *attrs = gv ? rlx_attrs_with(ctx, f->attrs, "global_symbol",
                                                    rlx_attr_string_new(ctx, rlx_string_slice(name)))
                                   : NULL;
        f = attrs ? rlx_function_with_attrs(ctx, f, attrs) : NULL;
        good = f && rlx_ptrmap_put(&names->map, gvars[i], (uintptr_t)gv);
        gvars[i] = good ? &gv->node : gvars[i];
        functions[i] = f ? &f->node : functions[i];
        *any = true;
    }
    rlx_map_free(&taken);
    return good;
}

const rlx_module *rlx_publish_codegen(rlx_context *ctx, const rlx_module *m)
{
    const rlx_expr **gvars = rlx_new_copy(ctx, m->gvars, (m->num_functions + !m->num_functions) * sizeof *gvars);
    const rlx_node **functions = rlx_new(ctx, (m->num_functions + 1) * sizeof *functions);
    rlx_rewriter names;
    bool any = false;
    rlx_rewriter_init(&names, ctx);
    for (size_t i = 0; functions && i < m->num_functions; i++)
        functions[i] = m->functions[i];
    bool good = gvars && functions && publish(ctx, m, gvars, functions, &names, &any);
    for (size_t i = 0; good && any && i < m->num_functions; i++)
        if (rlx_as_function(functions[i]))
            good = (functions[i] = rlx_rewrite(&names, functions[i])) != NULL;
    rlx_rewriter_free(&names);
    return !good  ? NULL
           : !any ? m
                  : rlx_module_new(ctx, gvars, functions, m->num_functions, m->attrs, m->global_infos, m->place);
}
