/* api_builder.c: module builder and function builder. */
#include <relax/builder.h>
#include "api/api_int.h"

#include "analysis/well_formed.h"
#include "op/op.h"
#include "sinfo/builder.h"
#include "sinfo/sinfo.h"

struct relax_module_builder {
    RLX_API_TAG
    relax_context *ctx;
    rlx_module_builder *mb;
    rlx_error_mark errors; /* when it was made */
    /* the host and the builders of its functions: the last to go frees it */
    size_t users;
    bool borrowed; /* to a callback of the host, see rlx_api_borrow */
};

/* One open function or if of a builder. One whose begin failed is kept as a dead frame, so that
 * begins and ends still pair: what stands between them does nothing, without further reports. */
enum frame_kind { FRAME_FUNCTION, FRAME_THEN, FRAME_ELSE, FRAME_BORROWED };
typedef struct frame {
    enum frame_kind kind;
    const rlx_expr *self;        /* function: GlobalVar or local variable */
    const rlx_attr *attrs;
    const rlx_sinfo *ret;
    const rlx_string *name;
    rlx_place place;
    rlx_error_mark errors;       /* when it was opened */
    const rlx_expr *cond, *true_branch;
    bool local, dead;
} frame;

struct relax_builder {
    RLX_API_TAG
    relax_context *ctx;
    relax_module_builder *module;
    rlx_builder *b;
    RLX_VEC(frame) frames;
    bool borrowed, borrowed_dataflow;    /* the builder of a rewriting; in whose dataflow block */
    uint32_t made_in;            /* callbacks of the host under way when it was made */
    rlx_place otherwise;         /* of bindings that are given none */
    rlx_locus locus;             /* ctx->building while a function is open */
};

/* Inference computes sizes of floats, and so emits under the environment of our own. */
static const rlx_var *emit(rlx_builder *b, const rlx_expr *expr, const rlx_emit *how)
{
    rlx_float_env host = rlx_float_enter();
    const rlx_var *var = rlx_builder_emit(b, expr, how);
    rlx_float_leave(host);
    return var;
}

struct rlx_api_borrow { relax_module_builder *mb; relax_builder b; };

/* ---- modules */

relax_module_builder *relax_module_builder_create(relax_context *ctx, const relax_module *base)
{
    if (!RLX_API_CONTEXT(ctx) || (base && !rlx_api_family(ctx, base, RLX_FAMILY_MODULE, "base")))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    relax_module_builder *mb = rlx_mem_alloc_zero(&ctx->memory, sizeof *mb);
    if (mb)
        mb->mb = rlx_module_builder_create(ctx, rlx_as_module(node_of(base)));
    if (!mb || !mb->mb) {
        rlx_mem_free(&ctx->memory, mb, sizeof *mb);
        return give(ctx, NULL);
    }
    RLX_API_SET_TAG(mb, API_MODULE_BUILDER);
    mb->ctx = rlx_api_hold(ctx);
    mb->users = 1;
    mb->errors = rlx_errors_mark(ctx);
    return mb;
}

static void leave_module(relax_module_builder *mb)
{
    relax_context *ctx = mb->ctx;
    if (--mb->users)
        return;
    rlx_module_builder_free(mb->mb);
    rlx_mem_free(&ctx->memory, mb, sizeof *mb);
    rlx_api_let_go(ctx);
}

void relax_module_builder_destroy(relax_module_builder *mb)
{
    if (!RLX_API_IS(mb, API_MODULE_BUILDER) || mb->borrowed)
        return;
    RLX_API_SET_TAG(mb, API_GONE);
    leave_module(mb);
}

relax_expr *relax_module_builder_declare(relax_module_builder *mb, const char *name,
                                         size_t name_len, const relax_struct_info *signature)
{
    rlx_slice slice;
    if (!RLX_API_IS(mb, API_MODULE_BUILDER))
        return NULL;
    relax_context *ctx = mb->ctx;
    if (!rlx_api_function_name(ctx, name, name_len, "name", &slice) ||
        (signature && !rlx_api_family(ctx, signature, RLX_FAMILY_SINFO, "signature")))
        return give(ctx, NULL);
    return give(ctx, rlx_module_builder_declare(mb->mb, slice, node_of(signature), RLX_NO_PLACE));
}

/* The signature that callers see of a finished function. */
static const rlx_sinfo *signature_of(relax_context *ctx, const rlx_node *func)
{
    const rlx_function *f = rlx_as_function(func);
    const rlx_prim_func *p = rlx_as_prim_func(func);
    if (f)
        return f->sinfo;
    if (p)
        return p->sinfo ? p->sinfo : rlx_prim_func_signature(ctx, p);
    return rlx_opaque_func_info(ctx, RLX_DERIVE_DEFAULT, NULL, rlx_object_info(ctx), false);
}

relax_expr *relax_module_builder_add(relax_module_builder *mb, const char *name, size_t name_len,
                                     const relax_base_func *func)
{
    rlx_slice slice;
    if (!RLX_API_IS(mb, API_MODULE_BUILDER))
        return NULL;
    relax_context *ctx = mb->ctx;
    if (!rlx_api_function_name(ctx, name, name_len, "name", &slice) ||
        !rlx_api_node(ctx, func, "func"))
        return give(ctx, NULL);
    if (!relax_base_func_kind(func))
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no function"));
    const rlx_global_var *gv = rlx_module_builder_lookup(mb->mb, slice);
    if (gv && rlx_module_builder_function(mb->mb, gv))
        return give(ctx,
                    rlx_error(ctx, RLX_WX05, rlx_place_of(node_of(func)),
                              "two functions are named %.*s", rlx_api_width(slice), slice.data));
    if (!gv)
        gv = rlx_module_builder_declare(mb->mb, slice, signature_of(ctx, node_of(func)),
                                        rlx_place_of(node_of(func)));
    return give(ctx, gv && rlx_module_builder_define(mb->mb, gv, node_of(func)) ? gv : NULL);
}

relax_expr *relax_module_builder_find(const relax_module_builder *mb, const char *name,
                                      size_t name_len)
{
    const rlx_global_var *gv =
        RLX_API_IS(mb, API_MODULE_BUILDER) && name
            ? rlx_module_builder_lookup(mb->mb, (rlx_slice){ name, name_len })
            : NULL;
    return RLX_API_EXPR(gv);
}

relax_status relax_module_builder_set_attrs(relax_module_builder *mb, const relax_attr *attrs)
{
    if (!RLX_API_IS(mb, API_MODULE_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (!rlx_api_map_or_null(mb->ctx, attrs, "attrs"))
        return give_status(mb->ctx, RELAX_ERROR_INVALID_ARGUMENT);
    rlx_module_builder_set_attrs(mb->mb, node_of(attrs), NULL);
    return RELAX_OK;
}

relax_module *relax_module_builder_finish(relax_module_builder *mb)
{
    if (!RLX_API_IS(mb, API_MODULE_BUILDER))
        return NULL;
    bool good = !rlx_errors_since(mb->ctx, mb->errors);
    const rlx_module *m = good ? rlx_module_builder_finish(mb->mb, RLX_NO_PLACE) : NULL;
    if (good && !m)
        rlx_note(mb->ctx, RLX_NO_PLACE,
                 "end it (relax_builder_end_function), or add one of that name "
                 "(relax_module_builder_add)");
    return give(mb->ctx, m);
}

/* ---- functions */

static uint32_t callbacks_under_way(const rlx_context *ctx)
{
    return ctx->extensions ? ctx->extensions->depth : 0;
}

/* A builder may be emitting what a callback is asked about: the callback has to make its own. */
static bool is_ours(relax_builder *b)
{
    uint32_t depth = callbacks_under_way(b->ctx);
    b->locus = (rlx_locus){ rlx_builder_put_locus, b->b, NULL };
    b->ctx->building = &b->locus;
    if (b->made_in >= depth) {
        b->made_in = depth; /* of the caller from now on */
        return true;
    }
    rlx_error(b->ctx, RLX_OP09, RLX_NO_PLACE,
              "the builder was made outside of the callback that is running");
    rlx_diags_flush(&b->ctx->diags);
    return false;
}
/* A macro, so that debug builds name the call. */
#define IS_READY(b) (RLX_API_IS(b, API_BUILDER) && is_ours(b))

static const relax_function_options function_defaults = { .struct_size =
                                                              sizeof(relax_function_options),
                                                          .pure = 1 };

relax_status relax_function_options_init(relax_function_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &function_defaults, sizeof function_defaults);
}

relax_builder *relax_builder_create(relax_context *ctx, relax_module_builder *mb)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_required(ctx, mb, "mb"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    if (!RLX_API_IS(mb, API_MODULE_BUILDER))
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "mb is no module builder"));
    if (mb->ctx != ctx)
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "mb belongs to another context"));
    relax_builder *b = rlx_mem_alloc_zero(&ctx->memory, sizeof *b);
    if (b)
        b->b = rlx_builder_create(ctx, rlx_module_builder_env(mb->mb), NULL);
    if (!b || !b->b) {
        rlx_mem_free(&ctx->memory, b, sizeof *b);
        return give(ctx, NULL);
    }
    RLX_API_SET_TAG(b, API_BUILDER);
    b->ctx = rlx_api_hold(ctx);
    b->module = mb;
    b->made_in = callbacks_under_way(ctx);
    mb->users++;
    return b;
}

void relax_builder_destroy(relax_builder *builder)
{
    if (!IS_READY(builder) || builder->borrowed)
        return;
    relax_context *ctx = builder->ctx;
    if (ctx->building == &builder->locus)
        ctx->building = NULL;
    rlx_builder_free(builder->b);
    leave_module(builder->module);
    rlx_vec_free(&ctx->memory, &builder->frames);
    RLX_API_SET_TAG(builder, API_GONE);
    rlx_mem_free(&ctx->memory, builder, sizeof *builder);
    rlx_api_let_go(ctx);
}

static frame *top_frame(relax_builder *b)
{
    return b->frames.len ? &rlx_vec_last(&b->frames) : NULL;
}

static bool is_dead(relax_builder *b) { return b->frames.len && rlx_vec_last(&b->frames).dead; }

static bool wrong_state(relax_builder *b, const char *what)
{
    const rlx_locus *around = b->ctx->locus;
    b->ctx->locus = &b->locus;
    rlx_error(b->ctx, RLX_OP09, RLX_NO_PLACE, "%s", what);
    b->ctx->locus = around;
    return false;
}

/* The begin of `kind` failed: its end will find this. */
static relax_status begin_dead(relax_builder *b, enum frame_kind kind, size_t errors)
{
    (void)rlx_vec_push(&b->ctx->memory, &b->frames, ((frame){ .kind = kind, .dead = true }));
    relax_status status = rlx_api_failed(b->ctx, errors);
    return status == RELAX_OK ? RELAX_ERROR_INVALID_ARGUMENT : status;
}

/* For the value of a part that failed: the unit, so that the part can be closed. */
static const rlx_expr *no_value(relax_builder *b)
{
    return rlx_tuple_new(b->ctx, NULL, 0, RLX_NO_PLACE);
}

/* Ends close what is open inside. */
static bool close_dataflow(relax_builder *b)
{
    if (!rlx_builder_in_dataflow(b->b))
        return true;
    wrong_state(b, "a dataflow block is still open: relax_builder_end_dataflow ends it");
    rlx_builder_end_block(b->b);
    return false;
}

/* The value of the branch that ends; NULL if it failed. The branch is closed in any case. */
static const rlx_expr *close_branch(relax_builder *b, const relax_expr *value, const char *what)
{
    bool ok = close_dataflow(b);
    ok = (!what || rlx_api_family(b->ctx, value, RLX_FAMILY_EXPR, what)) && ok;
    const rlx_locus *around = b->ctx->locus;
    b->ctx->locus = &b->locus;
    rlx_float_env host = rlx_float_enter();
    const rlx_expr *e =
        rlx_builder_end_branch(b->b, ok && value ? node_of(value) : no_value(b), RLX_NO_PLACE);
    rlx_float_leave(host);
    b->ctx->locus = around;
    return ok ? e : NULL;
}

static const rlx_attr *public_attrs(relax_context *ctx, const rlx_attr *attrs,
                                    const rlx_string *name)
{
    if (rlx_attrs_get(attrs, "global_symbol"))
        return attrs;
    return rlx_attrs_with(ctx, attrs, "global_symbol",
                          rlx_attr_string_new(ctx, rlx_string_slice(name)));
}

/* GlobalVar for a function at module level: declared before, or now with what the signature
 * says. */
static const rlx_expr *declare_self(relax_builder *b, const rlx_string *name,
                                    const relax_expr *const *params, size_t count,
                                    const rlx_sinfo *ret, bool pure)
{
    rlx_module_builder *mb = b->module->mb;
    const rlx_global_var *gv = rlx_module_builder_lookup(mb, rlx_string_slice(name));
    if (gv && rlx_module_builder_function(mb, gv))
        return rlx_error(b->ctx, RLX_WX05, RLX_NO_PLACE, "two functions are named %s", name->data);
    if (gv)
        return &gv->node;
    const rlx_sinfo *sig = rlx_signature(b->ctx, nodes_of(params), count,
                                         ret ? ret : rlx_object_info(b->ctx), pure, NULL);
    gv = sig ? rlx_module_builder_declare(mb, rlx_string_slice(name), sig, RLX_NO_PLACE) : NULL;
    return gv ? &gv->node : NULL;
}

static bool params_are_vars(relax_context *ctx, const relax_expr *const *params, size_t count)
{
    if (!rlx_api_family_array(ctx, (const void *const *)params, count, RLX_FAMILY_EXPR, "params"))
        return false;
    rlx_ptrmap seen;
    bool distinct = true;
    rlx_ptrmap_init(&seen, &ctx->memory);
    for (size_t i = 0; i < count && distinct; i++) {
        distinct = !rlx_ptrmap_has(&seen, params[i]) && rlx_ptrmap_put(&seen, params[i], 1);
        const rlx_var *v = distinct || ctx->diags.out_of_memory ? NULL : rlx_as_var(node_of(params[i]));
        if (v)
            rlx_error(ctx, RLX_WX03, v->place, "parameter %s occurs twice", v->name ? v->name->data : "_");
    }
    rlx_ptrmap_free(&seen);
    if (!distinct)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (node_of(params[i])->kind == RLX_NODE_VAR)
            continue;
        rlx_error(ctx, RLX_OP02, RLX_NO_PLACE,
                  "parameter %zu is a %s, expected a variable made by relax_var_new", i,
                  rlx_kinds[node_of(params[i])->kind].name);
        return false;
    }
    return true;
}

/* Fills the frame; false after a report. */
static bool open_function(relax_builder *b, frame *f, rlx_slice name,
                          const relax_expr *const *params, size_t count,
                          const relax_function_options *o)
{
    relax_context *ctx = b->ctx;
    f->local = b->frames.len > 0;
    f->name = rlx_string_intern(ctx, name);
    if (f->name && f->local) {
        const rlx_sinfo *ret = f->ret ? f->ret : rlx_object_info(ctx);
        const rlx_sinfo *sig = rlx_signature(ctx, nodes_of(params), count, ret, o->pure != 0,
                                             rlx_builder_scope(b->b));
        f->self =
            sig ? (const rlx_expr *)rlx_var_new(ctx, false, f->name, -1, sig, o->place) : NULL;
    } else if (f->name) {
        f->self = declare_self(b, f->name, params, count, f->ret, o->pure != 0);
        if (f->self && !o->is_private)
            f->attrs = public_attrs(ctx, f->attrs, f->name);
    }
    if (!f->self || !rlx_vec_reserve(&ctx->memory, &b->frames, b->frames.len + 1))
        return false;
    return rlx_builder_begin_function(b->b, nodes_of(params), count, o->pure != 0, f->attrs,
                                      rlx_string_slice(f->name), f->self);
}

relax_status relax_builder_begin_function(relax_builder *builder, const char *name,
                                          size_t name_len, const relax_expr *const *params,
                                          size_t num_params, const relax_function_options *options)
{
    if (!IS_READY(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_context *ctx = builder->ctx;
    size_t errors = rlx_error_count(ctx);
    relax_function_options o = function_defaults;
    rlx_slice slice;
    if (is_dead(builder))
        return begin_dead(builder, FRAME_FUNCTION, errors);
    if (!rlx_options_read(&o, sizeof o, options)) {
        rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed relax_function_options: relax_function_options_init fills them");
        return begin_dead(builder, FRAME_FUNCTION, errors);
    }
    frame f = { .kind = FRAME_FUNCTION,
                .attrs = node_of(o.attrs),
                .ret = node_of(o.ret),
                .place = o.place,
                .errors = rlx_errors_mark(ctx) };
    bool named = builder->frames.len ? rlx_api_name(ctx, name, name_len, "name", &slice)
                                     : rlx_api_function_name(ctx, name, name_len, "name", &slice);
    if (!named || !params_are_vars(ctx, params, num_params) ||
        !rlx_api_map_or_null(ctx, o.attrs, "attrs") ||
        (o.ret && !rlx_api_family(ctx, o.ret, RLX_FAMILY_SINFO, "ret")))
        return begin_dead(builder, FRAME_FUNCTION, errors);
    if (!open_function(builder, &f, slice, params, num_params, &o))
        return begin_dead(builder, FRAME_FUNCTION, errors);
    rlx_vec_push(&ctx->memory, &builder->frames, f);
    return give_status(ctx, RELAX_OK);
}

static const rlx_expr *finish_function(relax_builder *b, frame f, const rlx_function *function)
{
    if (f.local) {
        rlx_emit how = { .var = rlx_as_var(f.self), .number = -1, .place = f.place };
        const rlx_var *var = emit(b->b, &function->node, &how);
        return var ? &var->node : NULL;
    }
    return rlx_module_builder_define(b->module->mb, rlx_as_global_var(f.self), &function->node)
               ? f.self
               : NULL;
}

/* Closes ifs that are still open in the innermost function. */
static bool close_ifs(relax_builder *b)
{
    bool none = true;
    for (frame *top = top_frame(b); top && top->kind != FRAME_FUNCTION; top = top_frame(b)) {
        if (none && !top->dead)
            wrong_state(b, "end_function inside an open if: relax_builder_end_if ends that");
        if (!top->dead)
            close_branch(b, NULL, NULL);
        (void)rlx_vec_pop(&b->frames);
        none = false;
    }
    return none;
}

static bool has_function(const relax_builder *b)
{
    size_t i = b->frames.len;
    while (i && b->frames.data[i - 1].kind != FRAME_FUNCTION)
        i--;
    return i > 0;
}

/* The function ends in any case, so that the builder is in a known state; a failed one gives no
 * function. */
relax_expr *relax_builder_end_function(relax_builder *builder, const relax_expr *result)
{
    if (!IS_READY(builder))
        return NULL;
    relax_context *ctx = builder->ctx;
    if (!has_function(builder))
        return wrong_state(builder, "end_function without begin_function: relax_builder_begin_function opens a function"), give(ctx, NULL);
    bool ok = close_ifs(builder);
    frame f = rlx_vec_pop(&builder->frames);
    if (f.dead)
        return give(ctx, NULL);
    ok = close_dataflow(builder) && ok;
    ok = rlx_api_family(ctx, result, RLX_FAMILY_EXPR, "result") && ok;
    rlx_float_env host = rlx_float_enter(); /* a call as result is emitted */
    const rlx_function *function = rlx_builder_end_function(
        builder->b, ok ? node_of(result) : no_value(builder), f.ret, f.attrs, f.place);
    rlx_float_leave(host);
    if (!ok || rlx_errors_since(ctx, f.errors) ||
        (function && !f.local &&
         !rlx_well_formed_alone(ctx, rlx_as_global_var(f.self), function)))
        function = NULL;
    return give(ctx, function ? finish_function(builder, f, function) : NULL);
}

relax_status relax_builder_begin_dataflow(relax_builder *builder)
{
    if (!IS_READY(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(builder->ctx);
    if (is_dead(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (!builder->frames.len)
        wrong_state(builder, "a dataflow block needs an open function");
    else if (rlx_builder_in_dataflow(builder->b))
        wrong_state(builder, "a dataflow block inside a dataflow block");
    else
        (void)rlx_builder_begin_block(builder->b, true, RLX_NO_PLACE);
    return rlx_api_failed(builder->ctx, errors);
}

relax_status relax_builder_end_dataflow(relax_builder *builder)
{
    if (!IS_READY(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(builder->ctx);
    if (is_dead(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (!rlx_builder_in_dataflow(builder->b))
        wrong_state(builder, "no dataflow block is open");
    else if (builder->borrowed_dataflow && rlx_vec_last(&builder->frames).kind == FRAME_BORROWED)
        wrong_state(builder, "the dataflow block is that of the function that is rewritten");
    else
        (void)rlx_builder_end_block(builder->b);
    return rlx_api_failed(builder->ctx, errors);
}

/* ---- bindings */

static void *emitted(relax_builder *b, const void *var)
{
    b->ctx->diags.otherwise = b->otherwise;
    return give(b->ctx, var);
}

static bool ready(relax_builder *b, const relax_expr *expr, const char *name, size_t name_len,
                  relax_place place, rlx_emit *how)
{
    place = place ? place : b->otherwise;
    *how = (rlx_emit){ .number = -1, .place = place, .var_place = place };
    if (is_dead(b))
        return false;
    b->ctx->diags.otherwise = place; /* until `emitted` */
    if (!b->frames.len)
        return wrong_state(b, "a binding needs an open function: relax_builder_begin_function opens one");
    return rlx_api_family(b->ctx, expr, RLX_FAMILY_EXPR, "expr") &&
           rlx_api_name_or_null(b->ctx, name, name_len, "name", &how->name);
}

relax_expr *relax_builder_emit(relax_builder *builder, const relax_expr *expr, const char *name,
                               size_t name_len, relax_place place)
{
    rlx_emit how;
    if (!IS_READY(builder))
        return NULL;
    bool ok = ready(builder, expr, name, name_len, place, &how);
    return emitted(builder, ok ? emit(builder->b, node_of(expr), &how) : NULL);
}

relax_expr *relax_builder_emit_annotated(relax_builder *builder, const relax_expr *expr,
                                         const relax_struct_info *annotation, const char *name,
                                         size_t name_len, relax_place place)
{
    rlx_emit how;
    if (!IS_READY(builder))
        return NULL;
    bool ok = ready(builder, expr, name, name_len, place, &how) &&
              rlx_api_family(builder->ctx, annotation, RLX_FAMILY_SINFO, "annotation");
    how.annotation = node_of(annotation);
    return emitted(builder, ok ? emit(builder->b, node_of(expr), &how) : NULL);
}

relax_expr *relax_builder_emit_output(relax_builder *builder, const relax_expr *expr,
                                      const char *name, size_t name_len, relax_place place)
{
    rlx_emit how;
    if (!IS_READY(builder))
        return NULL;
    bool ok = ready(builder, expr, name, name_len, place, &how);
    if (ok && !rlx_builder_in_dataflow(builder->b))
        ok = wrong_state(builder, "an output needs an open dataflow block");
    how.output = true;
    return emitted(builder, ok ? emit(builder->b, node_of(expr), &how) : NULL);
}

relax_expr *relax_builder_emit_match_cast(relax_builder *builder, const relax_expr *expr,
                                          const relax_struct_info *info, const char *name,
                                          size_t name_len, relax_place place)
{
    rlx_emit how;
    if (!IS_READY(builder))
        return NULL;
    bool ok = ready(builder, expr, name, name_len, place, &how) &&
              rlx_api_family(builder->ctx, info, RLX_FAMILY_SINFO, "info");
    rlx_float_env host = rlx_float_enter();
    const rlx_var *var =
        ok ? rlx_builder_emit_match(builder->b, node_of(expr), node_of(info), &how, false) : NULL;
    rlx_float_leave(host);
    return emitted(builder, var);
}

/* ---- branches */

relax_status relax_builder_begin_if(relax_builder *builder, const relax_expr *cond)
{
    if (!IS_READY(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_context *ctx = builder->ctx;
    size_t errors = rlx_error_count(ctx);
    frame f = { .kind = FRAME_THEN };
    if (is_dead(builder))
        return begin_dead(builder, FRAME_THEN, errors);
    if (!builder->frames.len)
        return wrong_state(builder, "an if needs an open function"), rlx_api_failed(ctx, errors);
    bool ok = rlx_api_family(ctx, cond, RLX_FAMILY_EXPR, "cond");
    if (ok && rlx_builder_in_dataflow(builder->b))
        ok = rlx_error(ctx, RLX_WF07, rlx_place_of(node_of(cond)),
                       "if inside a dataflow block") != NULL;
    ctx->locus = &builder->locus;
    rlx_float_env host = rlx_float_enter();
    f.cond = ok ? rlx_builder_operand(builder->b, node_of(cond)) : NULL;
    rlx_float_leave(host);
    ctx->locus = NULL;
    if (!f.cond || !rlx_vec_reserve(&ctx->memory, &builder->frames, builder->frames.len + 1) ||
        !rlx_builder_begin_branch(builder->b))
        return begin_dead(builder, FRAME_THEN, errors);
    rlx_vec_push(&ctx->memory, &builder->frames, f);
    return give_status(ctx, RELAX_OK);
}

relax_status relax_builder_begin_else(relax_builder *builder, const relax_expr *true_value)
{
    if (!IS_READY(builder))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_context *ctx = builder->ctx;
    size_t errors = rlx_error_count(ctx);
    frame *f = top_frame(builder);
    if (!f || f->kind != FRAME_THEN)
        return wrong_state(builder, "begin_else without begin_if"), rlx_api_failed(ctx, errors);
    f->kind = FRAME_ELSE;
    if (f->dead)
        return RELAX_ERROR_INVALID_ARGUMENT;
    f->true_branch = close_branch(builder, true_value, "true_value");
    f->dead = !rlx_builder_begin_branch(builder->b);
    return rlx_api_failed(ctx, errors);
}

relax_expr *relax_builder_end_if(relax_builder *builder, const relax_expr *false_value,
                                 const char *name, size_t name_len, relax_place place)
{
    rlx_emit how;
    if (!IS_READY(builder))
        return NULL;
    relax_context *ctx = builder->ctx;
    frame *top = top_frame(builder);
    bool has_else = top && top->kind == FRAME_ELSE;
    if (!has_else && !(top && top->dead))
        wrong_state(builder, "end_if without begin_else");
    if (!top || top->kind == FRAME_FUNCTION || top->kind == FRAME_BORROWED)
        return give(ctx, NULL);
    frame f = rlx_vec_pop(&builder->frames);
    if (f.dead)
        return give(ctx, NULL);
    place = place ? place : builder->otherwise;
    ctx->diags.otherwise = place;
    const rlx_expr *false_branch =
        close_branch(builder, false_value, has_else ? "false_value" : NULL);
    bool ok = has_else && f.true_branch && false_branch;
    how = (rlx_emit){ .number = -1, .place = place, .var_place = place };
    ok = rlx_api_name_or_null(ctx, name, name_len, "name", &how.name) && ok;
    const rlx_expr *e = ok ? rlx_if_new(ctx, f.cond, f.true_branch, false_branch, place) : NULL;
    return emitted(builder, e ? emit(builder->b, e, &how) : NULL);
}

/* ---- borrowed by callbacks */

rlx_api_borrow *rlx_api_borrow_create(relax_context *ctx)
{
    rlx_api_borrow *borrow = rlx_mem_alloc_zero(&ctx->memory, sizeof *borrow);
    relax_module_builder *mb = rlx_mem_alloc_zero(&ctx->memory, sizeof *mb);
    if (!borrow || !mb || !rlx_vec_reserve(&ctx->memory, &borrow->b.frames, 1)) {
        rlx_mem_free(&ctx->memory, borrow, borrow ? sizeof *borrow : 0);
        rlx_mem_free(&ctx->memory, mb, mb ? sizeof *mb : 0);
        return NULL;
    }
    RLX_API_SET_TAG(mb, API_MODULE_BUILDER);
    RLX_API_SET_TAG(&borrow->b, API_BUILDER);
    mb->ctx = rlx_api_hold(ctx);
    mb->users = 1;
    mb->borrowed = borrow->b.borrowed = true;
    borrow->b.ctx = ctx;
    borrow->b.module = borrow->mb = mb;
    return borrow;
}

/* Its parts belong to others. A builder that the callback forgot keeps the empty shell until it is
 * destroyed. */
void rlx_api_borrow_free(rlx_api_borrow *borrow)
{
    if (!borrow)
        return;
    relax_context *ctx = borrow->b.ctx;
    relax_module_builder *mb = borrow->mb;
    if (ctx->building == &borrow->b.locus)
        ctx->building = NULL;
    rlx_vec_free(&ctx->memory, &borrow->b.frames);
    rlx_mem_free(&ctx->memory, borrow, sizeof *borrow);
    mb->mb = NULL;
    RLX_API_SET_TAG(mb, API_GONE);
    leave_module(mb);
}

relax_builder *rlx_api_borrow_begin(rlx_api_borrow *borrow, rlx_module_builder *mb, rlx_builder *b,
                                    rlx_place place, relax_module_builder **out)
{
    relax_builder *builder = &borrow->b;
    borrow->mb->mb = mb;
    borrow->mb->errors = rlx_errors_mark(builder->ctx);
    builder->b = b;
    builder->made_in = callbacks_under_way(builder->ctx);
    builder->otherwise = place;
    builder->borrowed_dataflow = rlx_builder_in_dataflow(b);
    builder->frames.data[0] = (frame){ .kind = FRAME_BORROWED, .errors = borrow->mb->errors };
    builder->frames.len = 1;
    *out = borrow->mb;
    return builder;
}

/* Ends the innermost frame without a result. */
static void drop_frame(relax_builder *b)
{
    frame f = rlx_vec_pop(&b->frames);
    if (f.dead)
        return;
    if (f.kind != FRAME_FUNCTION) {
        close_branch(b, NULL, NULL);
        return;
    }
    close_dataflow(b);
    rlx_builder_end_function(b->b, no_value(b), NULL, f.attrs, f.place);
}

bool rlx_api_borrow_end(rlx_api_borrow *borrow)
{
    relax_builder *b = &borrow->b;
    bool good = b->frames.len == 1;
    while (b->frames.len > 1)
        drop_frame(b);
    if (rlx_builder_in_dataflow(b->b) && !b->borrowed_dataflow) {
        rlx_builder_end_block(b->b);
        good = false;
    }
    b->frames.len = 0;
    b->ctx->building = NULL;
    good = good && borrow->mb->users == 1;
    return good ||
           wrong_state(b,
                       "the callback left a function, an if, a dataflow block or a builder open");
}

/* ---- questions */

const relax_expr *relax_builder_find(const relax_builder *builder, const relax_expr *var)
{
    const rlx_var *v = RLX_API_IS(builder, API_BUILDER) ? rlx_as_var(node_of(var)) : NULL;
    return RLX_API_EXPR(v ? rlx_builder_lookup(builder->b, v) : NULL);
}

const relax_struct_info *relax_builder_infer(relax_builder *builder, const relax_expr *expr)
{
    if (!IS_READY(builder))
        return NULL;
    bool ok = !is_dead(builder) && rlx_api_family(builder->ctx, expr, RLX_FAMILY_EXPR, "expr");
    if (ok && !builder->frames.len)
        ok = wrong_state(builder, "what an expression is depends on the open function");
    return give(builder->ctx, ok ? rlx_builder_infer(builder->b, node_of(expr)) : NULL);
}
