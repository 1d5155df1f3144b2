/* builder.c: frames of functions and branches, blocks, variables and which of them are visible. */
#include "sinfo/builder_int.h"

#include <string.h>

/* Effects of a begin_block, for its end. */
enum open_kind { OPEN_JOINED, OPEN_DATAFLOW };

rlx_builder *rlx_builder_create(rlx_context *ctx, const rlx_env *env,
                                const rlx_builder_options *options)
{
    rlx_builder *b = rlx_mem_alloc_zero(&ctx->memory, sizeof *b);
    if (!b)
        return NULL;
    b->ctx = ctx;
    if (env)
        b->env = *env;
    if (options)
        b->options = *options;
    rlx_ptrmap_init(&b->known_old, &ctx->memory);
    rlx_ptrmap_init(&b->made, &ctx->memory);
    rlx_ptrmap_init(&b->own_renames, &ctx->memory);
    b->renames = &b->own_renames;
    b->lv = rlx_string_z(ctx, "lv");
    b->gv = rlx_string_z(ctx, "gv");
    if (b->lv && b->gv)
        return b;
    rlx_builder_free(b);
    return NULL;
}

void rlx_builder_free(rlx_builder *b)
{
    if (!b)
        return;
    rlx_memory *m = &b->ctx->memory;
    for (size_t i = 0; i < b->frames.len; i++) {
        rlx_scope_free(&b->frames.data[i]->scope);
        rlx_mem_free(m, b->frames.data[i], sizeof(rlx_builder_frame));
    }
    rlx_vec_free(m, &b->frames);
    rlx_vec_free(m, &b->segments);
    rlx_vec_free(m, &b->bindings);
    rlx_vec_free(m, &b->blocks);
    rlx_vec_free(m, &b->params);
    rlx_vec_free(m, &b->opens);
    rlx_vec_free(m, &b->known);
    rlx_vec_free(m, &b->known_rest);
    rlx_ptrmap_free(&b->known_old);
    rlx_ptrmap_free(&b->made);
    rlx_ptrmap_free(&b->own_renames);
    rlx_work_free(b);
    rlx_mem_free(m, b, sizeof *b);
}

/* Forgets what belongs to one outermost function only. */
static void forget_function(rlx_builder *b)
{
    b->known.len = b->known_rest.len = 0;
    rlx_ptrmap_clear(&b->known_old);
    rlx_ptrmap_clear(&b->made);
    rlx_ptrmap_clear(&b->own_renames);
    b->names_of = NULL;
    b->next_lv = b->next_gv = 0;
    b->known_base = b->ctx->next_id;
}

void rlx_builder_reset(rlx_builder *b)
{
    b->depth = 0;
    b->segments.len = b->bindings.len = b->params.len = b->opens.len = 0;
    forget_function(b);
}

rlx_scope *rlx_builder_scope(rlx_builder *b)
{
    return b->depth ? &rlx_top_frame(b)->scope : NULL;
}

bool rlx_builder_in_dataflow(const rlx_builder *b)
{
    return b->depth && rlx_top_frame(b)->in_dataflow;
}

bool rlx_builder_declare(rlx_builder *b, const rlx_prim_var *v)
{
    return b->depth && v && rlx_scope_add(&rlx_top_frame(b)->scope, v, false);
}

rlx_builder_frame *rlx_function_frame(const rlx_builder *b)
{
    size_t i = b->depth;
    while (i > 1 && !b->frames.data[i - 1]->is_function)
        i--;
    return b->frames.data[i - 1];
}

bool rlx_builder_is_made(const rlx_builder *b, const rlx_expr *e)
{
    return b->made.len && rlx_ptrmap_has(&b->made, e);
}

/* --- variables --- */

static rlx_known *known_of(const rlx_builder *b, const rlx_var *v)
{
    uintptr_t at;
    uint32_t index = v->node.id - b->known_base;
    if (v->node.id >= b->known_base && index < b->known.len)
        return &b->known.data[index];
    return b->known_old.len && rlx_ptrmap_find(&b->known_old, v, &at) ? &b->known_rest.data[at]
                                                                      : NULL;
}

/* Variables made elsewhere while this function is open may leave gaps; a large one is not
 * filled. */
#define MAX_GAP 1024

bool rlx_builder_remember(rlx_builder *b, const rlx_var *v, const rlx_expr *value)
{
    rlx_memory *m = &b->ctx->memory;
    const rlx_builder_frame *f = rlx_top_frame(b);
    rlx_known k = { value, (uint32_t)b->depth,
                    v->node.kind == RLX_NODE_DATAFLOW_VAR ? f->block_serial : f->serial };
    uint32_t index = v->node.id - b->known_base;
    if (v->node.id >= b->known_base && index < b->known.len + MAX_GAP) {
        if (!rlx_vec_reserve(m, &b->known, (size_t)index + 1))
            return false;
        if (index > b->known.len)
            memset(b->known.data + b->known.len, 0, (index - b->known.len) * sizeof k);
        if (index >= b->known.len)
            b->known.len = (size_t)index + 1;
        b->known.data[index] = k;
        return true;
    }
    rlx_known *have = known_of(b, v);
    if (have) {
        *have = k;
        return true;
    }
    return rlx_vec_push(m, &b->known_rest, k) &&
           rlx_ptrmap_put(&b->known_old, v, b->known_rest.len - 1);
}

bool rlx_builder_sees_var(const rlx_builder *b, const rlx_var *v)
{
    const rlx_known *k = known_of(b, v);
    if (!k || !k->depth || k->depth > b->depth)
        return false;
    const rlx_builder_frame *f = b->frames.data[k->depth - 1];
    return v->node.kind == RLX_NODE_DATAFLOW_VAR ? f->in_dataflow && k->serial == f->block_serial
                                                 : k->serial == f->serial;
}

const rlx_expr *rlx_builder_lookup(const rlx_builder *b, const rlx_var *var)
{
    const rlx_known *k = var ? known_of(b, var) : NULL;
    return k ? k->value : NULL;
}

bool rlx_builder_rename(rlx_builder *b, const rlx_var *from, const rlx_expr *to)
{
    return (const rlx_expr *)from == to || rlx_ptrmap_put(b->renames, from, (uintptr_t)to);
}

/* --- what is visible --- */

static bool sees_shape_var(void *user, const rlx_prim_var *v)
{
    const rlx_builder *b = user;
    return b->depth && rlx_scope_has(&rlx_top_frame(b)->scope, v);
}

static bool sees_var(void *user, const rlx_var *v)
{
    return rlx_builder_sees_var(user, v);
}

const rlx_sinfo *rlx_builder_erase(rlx_builder *b, const rlx_sinfo *s)
{
    if (!s || !(s->flags & RLX_FLAG_HAS_VARS))
        return s;
    return rlx_erase(b->ctx, s, &(rlx_visible){ sees_shape_var, sees_var, b });
}

/* --- frames --- */

static bool push_segment(rlx_builder *b, bool dataflow, rlx_place place)
{
    return rlx_vec_push(&b->ctx->memory, &b->segments,
                        ((rlx_segment){ b->bindings.len, place, dataflow }));
}

static rlx_builder_frame *frame_at(rlx_builder *b, size_t depth)
{
    rlx_memory *m = &b->ctx->memory;
    if (depth < b->frames.len)
        return b->frames.data[depth];
    rlx_builder_frame *f = rlx_mem_alloc_zero(m, sizeof *f);
    if (!f)
        return NULL;
    rlx_scope_init(&f->scope, b->ctx, NULL);
    if (rlx_vec_push(m, &b->frames, f))
        return f;
    rlx_mem_free(m, f, sizeof *f);
    return NULL;
}

/* Opens a frame with its first, ordinary, segment. The scope of a used frame keeps its memory. */
static rlx_builder_frame *push_frame(rlx_builder *b, bool is_function)
{
    rlx_builder_frame *f = frame_at(b, b->depth);
    if (!f || !push_segment(b, false, RLX_NO_PLACE))
        return NULL;
    rlx_scope_forget(&f->scope, 0);
    rlx_scope_forget_equals(&f->scope, 0);
    rlx_scope scope = f->scope;
    scope.parent = b->depth ? &rlx_top_frame(b)->scope : NULL;
    *f = (rlx_builder_frame){ .scope = scope,
                      .is_function = is_function,
                      .first_segment = b->segments.len - 1,
                      .first_binding = b->bindings.len,
                      .first_open = b->opens.len,
                      .serial = ++b->next_serial,
                      .errors = rlx_errors_mark(b->ctx),
                      .outer_lv = b->next_lv,
                      .outer_gv = b->next_gv };
    if (is_function && b->options.count_names)
        b->next_lv = b->next_gv = 0;
    b->depth++;
    return f;
}

static void pop_frame(rlx_builder *b)
{
    rlx_builder_frame *f = rlx_top_frame(b);
    b->segments.len = f->first_segment;
    b->bindings.len = f->first_binding;
    b->opens.len = f->first_open;
    if (f->is_function)
        b->params.len -= f->num_params;
    if (f->is_function && b->options.count_names) {
        b->next_lv = f->outer_lv;
        b->next_gv = f->outer_gv;
    }
    b->depth--;
}

rlx_mark rlx_builder_mark(const rlx_builder *b)
{
    const rlx_builder_frame *f = rlx_top_frame(b);
    return (rlx_mark){ b->depth,      b->segments.len,    b->bindings.len, b->opens.len,
                       b->params.len, f->scope.facts.len, f->scope.equals.len,
                       f->in_dataflow, f->block_serial,   b->next_lv, b->next_gv };
}

void rlx_builder_rollback(rlx_builder *b, const rlx_mark *m)
{
    b->depth = m->depth;
    b->segments.len = m->segments;
    b->bindings.len = m->bindings;
    b->opens.len = m->opens;
    b->params.len = m->params;
    b->next_lv = m->next_lv;
    b->next_gv = m->next_gv;
    rlx_builder_frame *f = rlx_top_frame(b);
    f->in_dataflow = m->in_dataflow;
    f->block_serial = m->block_serial;
    rlx_scope_forget(&f->scope, m->facts);
    rlx_scope_forget_equals(&f->scope, m->equals);
}

static void *wrong_state(rlx_builder *b, const char *text)
{
    return rlx_error(b->ctx, RLX_OP09, RLX_NO_PLACE, "%s", text);
}

bool rlx_builder_begin_function(rlx_builder *b, const rlx_expr *const *params, size_t count,
                                bool is_pure, const rlx_attr *attrs, rlx_slice name,
                                const rlx_expr *self)
{
    if (b->depth == 0)
        forget_function(b);
    rlx_builder_frame *f = push_frame(b, true);
    if (!f)
        return false;
    f->is_pure = is_pure;
    f->force_pure = rlx_flag_attr(attrs, "relax.force_pure");
    f->name = name;
    f->self = self;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const rlx_var *v = rlx_as_var(params[i]);
        if (!v)
            ok = rlx_error(b->ctx, RLX_OP02, RLX_NO_PLACE,
                           "parameter %zu of a function is no variable", i + 1) != NULL;
        ok = ok && rlx_vec_push(&b->ctx->memory, &b->params, params[i]);
        f->num_params += ok;
        ok = ok && rlx_builder_remember(b, v, NULL);
        ok = ok && rlx_scope_enter(&f->scope, v->sinfo);
    }
    ok = ok && rlx_scope_assume(&f->scope, 0, attrs);
    for (size_t i = 0; ok && i < count; i++)
        ok = !rlx_as_var(params[i])->sinfo ||
             rlx_builder_check_annotation(b, rlx_as_var(params[i])->sinfo,
                                          rlx_place_of(params[i])) ||
             rlx_builder_instead(b, NULL);
    f->num_signature = f->scope.facts.len;
    if (!ok)
        pop_frame(b);
    return ok;
}

bool rlx_builder_begin_branch(rlx_builder *b)
{
    if (!b->depth)
        return wrong_state(b, "a branch begins outside of a function") != NULL;
    if (rlx_top_frame(b)->in_dataflow)
        return rlx_error(b->ctx, RLX_WF07, RLX_NO_PLACE, "if inside a dataflow block") != NULL;
    return push_frame(b, false) != NULL;
}

/* --- blocks --- */

bool rlx_builder_begin_block(rlx_builder *b, bool dataflow, rlx_place place)
{
    if (!b->depth)
        return wrong_state(b, "a block begins outside of a function") != NULL;
    rlx_builder_frame *f = rlx_top_frame(b);
    bool opens = dataflow && !f->in_dataflow;
    if (f->in_dataflow && !dataflow)
        return rlx_error(b->ctx, RLX_NF07, place, "ordinary block inside a dataflow block") !=
               NULL;
    if (!rlx_vec_push(&b->ctx->memory, &b->opens, opens ? OPEN_DATAFLOW : OPEN_JOINED))
        return false;
    if (!opens)
        return true;
    if (!push_segment(b, true, place)) {
        (void)rlx_vec_pop(&b->opens);
        return false;
    }
    f->in_dataflow = true;
    f->block_serial = ++b->next_serial;
    return true;
}

bool rlx_builder_end_block(rlx_builder *b)
{
    rlx_builder_frame *f = b->depth ? rlx_top_frame(b) : NULL;
    if (!f || b->opens.len == f->first_open)
        return wrong_state(b, "a block ends that did not begin") != NULL;
    if (rlx_vec_last(&b->opens) == OPEN_DATAFLOW) {
        if (!push_segment(b, false, RLX_NO_PLACE))
            return false;
        f->in_dataflow = false;
    }
    (void)rlx_vec_pop(&b->opens);
    return true;
}

/* --- ends --- */

static rlx_place place_of_run(const rlx_builder *b, size_t first, size_t end, rlx_place place)
{
    return place || first == end ? place : rlx_place_of(b->bindings.data[first]);
}

/* The block of the old program that holds exactly these bindings, if it is the next one. */
static const rlx_node *old_block(rlx_builder *b, rlx_builder_frame *f, bool dataflow, size_t first,
                                 size_t end)
{
    const rlx_block *o = f->old && f->old_block < f->old->num_blocks
                             ? rlx_as_block(f->old->blocks[f->old_block])
                             : NULL;
    f->old_block++;
    if (!o || (o->node.kind == RLX_NODE_DATAFLOW_BLOCK) != dataflow ||
        o->num_bindings != end - first)
        return NULL;
    return memcmp(o->bindings, b->bindings.data + first, (end - first) * sizeof *o->bindings) == 0
               ? &o->node
               : NULL;
}

static bool make_block(rlx_builder *b, rlx_builder_frame *f, bool dataflow, size_t first,
                       size_t end, rlx_place place)
{
    if (first == end)
        return true;
    const rlx_node *block = old_block(b, f, dataflow, first, end);
    if (!block)
        block = rlx_block_new(b->ctx, dataflow, b->bindings.data + first, end - first,
                              place_of_run(b, first, end, place));
    return block && rlx_vec_push(&b->ctx->memory, &b->blocks, block);
}

/* NF04: neighbours of one kind are joined, empty ones vanish. */
static bool make_blocks(rlx_builder *b, rlx_builder_frame *f)
{
    size_t first = f->first_binding;
    rlx_segment run = b->segments.data[f->first_segment];
    b->blocks.len = 0;
    for (size_t i = f->first_segment + 1; i < b->segments.len; i++) {
        rlx_segment next = b->segments.data[i];
        size_t end = i + 1 < b->segments.len ? b->segments.data[i + 1].first : b->bindings.len;
        if (next.first == end || next.dataflow == run.dataflow)
            continue;
        if (!make_block(b, f, run.dataflow, first, next.first, run.place))
            return false;
        first = next.first;
        run = next;
    }
    return make_block(b, f, run.dataflow, first, b->bindings.len, run.place);
}

/* The SeqExpr of the innermost frame. NULL after a report. */
static const rlx_expr *make_seq(rlx_builder *b, const rlx_expr *result, rlx_place place)
{
    rlx_builder_frame *f = rlx_top_frame(b);
    if (!result || !make_blocks(b, f))
        return NULL;
    const rlx_seq_expr *old = f->old;
    bool same = old && old->body == result && old->num_blocks == b->blocks.len &&
                (!old->num_blocks ||
                 memcmp(old->blocks, b->blocks.data, old->num_blocks * sizeof *old->blocks) == 0);
    const rlx_expr *seq =
        same ? &old->node : rlx_seq_new(b->ctx, b->blocks.data, b->blocks.len, result, place);
    return seq && (rlx_ptrmap_put(&b->made, seq, 1)) ? seq : NULL;
}

static bool can_end(rlx_builder *b, bool is_function)
{
    const rlx_builder_frame *f = b->depth ? rlx_top_frame(b) : NULL;
    if (!f || f->is_function != is_function)
        return wrong_state(b, is_function ? "a function ends that did not begin"
                                          : "a branch ends that did not begin") != NULL;
    if (f->in_dataflow)
        return wrong_state(b, "a dataflow block is still open") != NULL;
    return true;
}

const rlx_expr *rlx_builder_end_branch(rlx_builder *b, const rlx_expr *result, rlx_place place)
{
    if (!can_end(b, false))
        return NULL;
    const rlx_expr *seq = make_seq(b, rlx_builder_operand(b, result), place);
    pop_frame(b);
    return seq;
}

void rlx_builder_declared(rlx_builder *b, const rlx_sinfo *signature, const rlx_sinfo *ret)
{
    if (b->depth != 1)
        return;
    rlx_top_frame(b)->declared = signature;
    rlx_top_frame(b)->declared_ret = ret;
}

void rlx_builder_result_at(rlx_builder *b, rlx_place result, rlx_place annotation)
{
    if (!b->depth)
        return;
    rlx_top_frame(b)->result_at = result;
    rlx_top_frame(b)->ret_at = annotation;
}

/* A variable knows only where it was bound, not where it is returned. */
static rlx_place result_place(const rlx_builder_frame *f, const rlx_expr *result)
{
    return f->result_at ? f->result_at : f->old ? f->old->place : rlx_place_of(result);
}

/* TY07 */
static bool check_return(rlx_builder *b, const rlx_builder_frame *f, const rlx_sinfo *have,
                         const rlx_sinfo *stated, const rlx_expr *result, rlx_place place)
{
    rlx_mismatch why;
    enum rlx_assignability fit = rlx_assignable(b->ctx, &f->scope, have, stated, &why);
    bool device = fit == RLX_ASSIGNABLE_KIND && why.part == RLX_MISMATCH_DEVICE;
    bool silent = fit == RLX_ASSIGNABLE_YES || (device && !rlx_builder_judges_device(b, result)) ||
                  (fit != RLX_ASSIGNABLE_NO && !device && b->options.quiet_values);
    if (silent)
        return true;
    rlx_buf text;
    rlx_buf_init(&text, &b->ctx->memory);
    rlx_buf_format(&text, "result of %.*s is %s, its annotation says %s",
                   f->name.len ? (int)f->name.len : 12,
                   f->name.len ? f->name.data : "the function", rlx_show(b->ctx, have),
                   rlx_show(b->ctx, stated));
    rlx_place at = result_place(f, result);
    bool error = fit == RLX_ASSIGNABLE_NO || b->options.strict_annotations;
    rlx_report_assignable(b, RLX_TY07, error ? RLX_SEVERITY_ERROR : RLX_SEVERITY_WARNING,
                          at ? at : place, text.data ? text.data : "result does not fit", &why);
    if (f->ret_at)
        rlx_note(b->ctx, f->ret_at, "the annotation is here");
    rlx_buf_free(&text);
    return !error;
}

/* Result as callers see it: only what the signature binds or the outside knows. */
typedef struct outside { const rlx_builder *b; const rlx_builder_frame *f; } outside;

static bool outside_sees_shape_var(void *user, const rlx_prim_var *v)
{
    const outside *o = user;
    uintptr_t index;
    if (o->f->scope.vars.len && rlx_ptrmap_find(&o->f->scope.vars, v, &index) &&
        index <= o->f->num_signature)
        return true;
    return rlx_scope_has(o->f->scope.parent, v);
}

static bool outside_sees_var(void *user, const rlx_var *v)
{
    const outside *o = user;
    const rlx_known *k = known_of(o->b, v);
    return k && k->depth < o->b->depth && rlx_builder_sees_var(o->b, v);
}

/* Loose annotations are tightened for callers (D15.5). */
static const rlx_sinfo *result_for_callers(rlx_builder *b, const rlx_builder_frame *f,
                                           const rlx_sinfo *have, const rlx_sinfo *stated)
{
    outside o = { b, f };
    const rlx_sinfo *erased =
        rlx_erase(b->ctx, have, &(rlx_visible){ outside_sees_shape_var, outside_sees_var, &o });
    if (!stated || !erased)
        return erased;
    return rlx_assignable(b->ctx, &f->scope, erased, stated, NULL) == RLX_ASSIGNABLE_YES ? erased
                                                                                         : stated;
}

static const rlx_sinfo *signature_of(rlx_builder *b, const rlx_builder_frame *f,
                                     const rlx_expr *const *params, const rlx_sinfo *ret)
{
    if (f->declared && f->declared_ret == ret)
        return f->declared;
    return rlx_signature(b->ctx, params, f->num_params, ret, f->is_pure, f->scope.parent);
}

static const rlx_function *finish_function(rlx_builder *b, rlx_builder_frame *f,
                                           const rlx_expr *result, const rlx_sinfo *stated,
                                           const rlx_attr *attrs, rlx_place place)
{
    const rlx_expr *const *params = b->params.data + b->params.len - f->num_params;
    if (f->num_params == 0)
        params = NULL;
    /* a result that failed before is not looked at again */
    bool missing = !result && b->options.keep_going;
    const rlx_expr *leaf = rlx_builder_operand(
        b, missing ? rlx_tuple_new(b->ctx, NULL, 0, RLX_NO_PLACE) : result);
    const rlx_sinfo *have = leaf && !missing ? rlx_builder_derive(b, leaf) : NULL;
    bool fits = have && (!stated || check_return(b, f, have, stated, leaf, place));
    if (!fits && (!leaf || !(have = rlx_builder_instead(b, stated))))
        return NULL;
    const rlx_sinfo *callers = result_for_callers(b, f, have, stated);
    const rlx_expr *body = callers ? make_seq(b, leaf, result_place(f, leaf)) : NULL;
    if (!body)
        return NULL;
    const rlx_sinfo *sinfo = signature_of(b, f, params, callers);
    if (!sinfo || (rlx_errors_since(b->ctx, f->errors) && !rlx_builder_instead(b, NULL)))
        return NULL;
    return rlx_function_new(b->ctx, params, f->num_params, body, stated ? stated : callers,
                            stated != NULL, f->is_pure, attrs, sinfo, place);
}

/* The variable bound last in an open frame; NULL: none yet. */
static const rlx_node *last_bound(const rlx_builder *b)
{
    const rlx_node *last = b->bindings.len ? rlx_vec_last(&b->bindings) : NULL;
    const rlx_var_binding *binding = rlx_as_var_binding(last);
    const rlx_match_cast *cast = rlx_as_match_cast(last);
    return binding ? binding->var : cast ? cast->var : NULL;
}

bool rlx_builder_put_locus(const rlx_locus *locus, rlx_buf *out)
{
    const rlx_builder *b = locus->of;
    bool at_result = locus->what == b;
    const rlx_emit *how = at_result ? NULL : locus->what;
    const rlx_string *name = how && how->var ? how->var->name : how ? how->name : NULL;
    int32_t number = how && how->var ? how->var->number : how ? how->number : -1;
    if (!b->depth)
        return false;
    rlx_slice function = rlx_function_frame(b)->name;
    const rlx_node *last = last_bound(b);
    if (function.len)
        rlx_buf_format(out, "in %.*s, ", (int)function.len, function.data);
    else
        rlx_buf_format(out, "in a function, ");
    if (at_result)
        rlx_buf_format(out, "its result");
    else if (name && number >= 0)
        rlx_buf_format(out, "binding %s%d", name->data, (int)number);
    else if (name)
        rlx_buf_format(out, "binding %s", name->data);
    else if (last)
        rlx_buf_format(out, "after %s", rlx_show(b->ctx, last));
    else
        rlx_buf_format(out, "its first binding");
    return true;
}

const rlx_function *rlx_builder_end_function(rlx_builder *b, const rlx_expr *result,
                                             const rlx_sinfo *stated_ret, const rlx_attr *attrs,
                                             rlx_place place)
{
    if (!can_end(b, true))
        return NULL;
    const rlx_locus *around = b->ctx->locus;
    const rlx_locus here = { rlx_builder_put_locus, b, b };
    b->ctx->locus = &here;
    const rlx_function *f = finish_function(b, rlx_top_frame(b), result, stated_ret, attrs, place);
    b->ctx->locus = around;
    pop_frame(b);
    if (f && b->depth && !rlx_ptrmap_put(&b->made, f, 1))
        return NULL;
    return f;
}
