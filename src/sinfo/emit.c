/* emit.c: bindings: inference, the annotation, the variable. */
#include "sinfo/builder_int.h"

static const rlx_emit plain = { .number = -1 };

/* --- annotations (language 5.6) --- */

static const char *target_name(rlx_builder *b, const rlx_emit *how)
{
    if (how->var)
        return rlx_show(b->ctx, &how->var->node);
    return how->name ? how->name->data : "the variable";
}

static rlx_place annotation_place(const rlx_emit *how)
{
    if (how->annotation_places && how->num_annotation_places)
        return how->annotation_places[0];
    return how->var_place ? how->var_place : how->place;
}

/* One fit of an annotation. kind_is_error: K is an error (TY11), not a warning (TY01). False:
 * error. */
static bool check_fit(rlx_builder *b, enum rlx_code_id code, bool kind_is_error, const char *what,
                      const rlx_sinfo *have, const rlx_expr *value, const rlx_emit *how,
                      enum rlx_assignability *out)
{
    rlx_mismatch why;
    enum rlx_assignability fit = *out =
        rlx_assignable(b->ctx, &rlx_top_frame(b)->scope, have, how->annotation, &why);
    bool soft = fit == RLX_ASSIGNABLE_VALUE || (fit == RLX_ASSIGNABLE_KIND && !kind_is_error);
    bool device = fit == RLX_ASSIGNABLE_KIND && why.part == RLX_MISMATCH_DEVICE;
    if (fit == RLX_ASSIGNABLE_YES || (device && !rlx_builder_judges_device(b, value)) ||
        (soft && !device && b->options.quiet_values))
        return true;
    /* What is not in scope is another mistake (WF14 - WF16) and the only one. */
    if (soft && code == RLX_TY01 && rlx_builder_erase(b, how->annotation) != how->annotation)
        return true;
    soft = soft && !b->options.strict_annotations;
    rlx_buf text;
    rlx_place place = annotation_place(how), value_place = rlx_place_of(value);
    rlx_buf_init(&text, &b->ctx->memory);
    rlx_buf_format(&text, what, target_name(b, how), rlx_show(b->ctx, have),
                   rlx_show(b->ctx, how->annotation));
    rlx_report_assignable(b, code, soft ? RLX_SEVERITY_WARNING : RLX_SEVERITY_ERROR, place,
                          text.data ? text.data : "value does not fit", &why);
    if (value_place && value_place != place)
        rlx_note(b->ctx, value_place, "the value is here");
    rlx_buf_free(&text);
    return soft;
}

/* Struct info of the variable when its value has `have` (D11b). NULL: an error. */
static const rlx_sinfo *annotated(rlx_builder *b, const rlx_expr *value, const rlx_sinfo *have,
                                  const rlx_emit *how)
{
    enum rlx_assignability fit;
    if (have == how->annotation)
        return have;
    if (!rlx_builder_check_annotation(b, how->annotation, annotation_place(how)) ||
        !check_fit(b, RLX_TY01, false, "value of %s is %s but its annotation says %s", have, value,
                   how, &fit))
        return NULL;
    bool keeps = fit == RLX_ASSIGNABLE_YES && rlx_is_leaf(value) && !rlx_is_after_error(have);
    return keeps ? have : how->annotation;
}

/* --- the variable --- */

/* Could s, which is no tuple, mention a Relax variable? False for what inference nearly always
 * gives. */
static bool part_may_mention_var(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (!(s->flags & RLX_FLAG_HAS_VARS))
        return false;
    if (t)
        return t->shape && t->shape->kind != RLX_NODE_SHAPE_EXPR;
    return s->kind == RLX_NODE_TUPLE_SINFO || s->kind == RLX_NODE_FUNC_SINFO ||
           s->kind == RLX_NODE_EXTENSION_SINFO;
}

static bool may_mention_var(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    if (!t || !(s->flags & RLX_FLAG_HAS_VARS))
        return part_may_mention_var(s);
    size_t i = 0;
    while (i < t->num_fields && !part_may_mention_var(t->fields[i]))
        i++;
    return i < t->num_fields;
}

static bool any_shape_var(void *user, const rlx_prim_var *v)
{
    return true;
}

static bool no_dataflow_var(void *user, const rlx_var *v)
{
    return v->node.kind != RLX_NODE_DATAFLOW_VAR;
}

static void reserve_number(rlx_builder *b, const rlx_string *name, int32_t number);

static enum rlx_step reserve_var(void *user, const rlx_node *n, const rlx_field *via,
                                 const rlx_node *parent)
{
    const rlx_var *v = rlx_as_var(n);
    if (v)
        reserve_number(user, v->name, v->number);
    return RLX_STEP_ON;
}

/* The names of a function under rewriting are looked at only if a new one is needed. */
static void reserve_old_names(rlx_builder *b)
{
    rlx_walker w = { .enter = reserve_var, .user = b, .unique = true };
    const rlx_node *f = b->names_of;
    bool lost = false;
    b->names_of = NULL;
    rlx_walk(&b->ctx->memory, f, &w, &lost);
}

static const rlx_string *next_name(rlx_builder *b, bool dataflow, int32_t *number)
{
    if (b->names_of)
        reserve_old_names(b);
    int32_t *next = dataflow ? &b->next_lv : &b->next_gv;
    *number = *next == 0 ? -1 : *next;
    ++*next;
    return dataflow ? b->lv : b->gv;
}

/* A given name of the form that we count with must not come again. */
static void reserve_number(rlx_builder *b, const rlx_string *name, int32_t number)
{
    int32_t *next = name == b->lv ? &b->next_lv : name == b->gv ? &b->next_gv : NULL;
    if (next && *next <= number)
        *next = number + 1;
    else if (next && number < 0 && *next == 0)
        *next = 1;
}

void rlx_builder_count_name(rlx_builder *b)
{
    if (b->options.count_names)
        ++*(rlx_top_frame(b)->in_dataflow ? &b->next_lv : &b->next_gv);
}

static bool keep_places(rlx_builder *b, rlx_var *v, const rlx_place *places, size_t count)
{
    if (!count)
        return true;
    v->sinfo_places = rlx_new_copy(b->ctx, places, count * sizeof *places);
    v->num_sinfo_places = v->sinfo_places ? count : 0;
    return v->sinfo_places != NULL;
}

/* A variable like `old` with other struct info; uses of the old one follow. */
static const rlx_var *retyped(rlx_builder *b, const rlx_var *old, const rlx_sinfo *s)
{
    rlx_var *v = rlx_var_new(b->ctx, old->node.kind == RLX_NODE_DATAFLOW_VAR, old->name,
                                   old->number, s, old->place);
    if (!v || !keep_places(b, v, old->sinfo_places, old->num_sinfo_places))
        return NULL;
    return rlx_builder_rename(b, old, &v->node) ? v : NULL;
}

static const rlx_var *make_var(rlx_builder *b, const rlx_sinfo *s, const rlx_emit *how)
{
    bool dataflow = rlx_top_frame(b)->in_dataflow && !how->output;
    const rlx_string *name = how->name;
    int32_t number = how->number;
    if (name || how->var)
        rlx_builder_count_name(b);
    if (how->var) {
        if (how->var->sinfo == s || (b->options.no_infer && how->var->sinfo))
            return how->var;
        return retyped(b, how->var, s);
    }
    if (!name)
        name = next_name(b, dataflow, &number);
    else if (!b->options.count_names)
        reserve_number(b, name, number);
    rlx_var *v = rlx_var_new(b->ctx, dataflow, name, number, s,
                                   how->var_place ? how->var_place : how->place);
    if (v && how->num_annotation_places &&
        !keep_places(b, v, how->annotation_places, how->num_annotation_places))
        return NULL;
    return v;
}

/* Is the variable's kind the block's? */
static bool fits_block(rlx_builder *b, const rlx_var *v)
{
    if (v->node.kind != RLX_NODE_DATAFLOW_VAR || rlx_top_frame(b)->in_dataflow)
        return true;
    return rlx_error(b->ctx, RLX_WF01, v->place,
                     "dataflow variable %s is bound outside a dataflow block",
                     rlx_show(b->ctx, &v->node)) != NULL;
}

/* Struct info of an ordinary variable after its dataflow block (D10). */
static const rlx_sinfo *after_block(rlx_builder *b, const rlx_sinfo *s)
{
    return may_mention_var(s)
               ? rlx_erase(b->ctx, s, &(rlx_visible){ any_shape_var, no_dataflow_var, b })
               : s;
}

/* Struct info as it can stand. */
static const rlx_sinfo *settled(rlx_builder *b, const rlx_sinfo *s, const rlx_emit *how)
{
    bool ordinary = how->var ? how->var->node.kind == RLX_NODE_VAR : how->output;
    return RLX_LIKELY(!ordinary || !rlx_top_frame(b)->in_dataflow) ? s : after_block(b, s);
}

/* Is the size surely negative? The prover is asked of differences only, so that it costs next to
 * nothing. */
static bool is_negative(rlx_builder *b, const rlx_prim *p)
{
    int64_t low, high;
    if (rlx_int_literal(p, &high))
        return high < 0;
    if (p->kind != RLX_NODE_SUB)
        return false;
    rlx_bounds(b->ctx, &rlx_top_frame(b)->scope, p, &low, &high);
    return high < 0;
}

/* TY15 for what inference gave. */
static bool sizes_are_sane(rlx_builder *b, const rlx_sinfo *s, rlx_place place)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    size_t n = 0;
    const rlx_prim *const *dims = t && t->shape ? rlx_shape_dims(t->shape, &n) : NULL;
    for (size_t i = 0; dims && i < n; i++)
        if (is_negative(b, dims[i]))
            return rlx_error(b->ctx, RLX_TY15, place,
                             "dimension %zu is %s; sizes are never negative", i,
                             rlx_show(b->ctx, dims[i])) != NULL;
    return true;
}

/* --- bindings --- */

bool rlx_builder_append(rlx_builder *b, const rlx_binding *binding)
{
    return rlx_vec_push(&b->ctx->memory, &b->bindings, binding);
}

/* Is the old binding where the new one is to stand? */
static bool stays(const rlx_emit *how, const rlx_binding *old)
{
    return !how->place || how->place == rlx_place_of(old);
}

static const rlx_binding *binding_for(rlx_builder *b, const rlx_var *v, const rlx_expr *value,
                                      const rlx_emit *how, const rlx_binding *old)
{
    const rlx_var_binding *o = rlx_as_var_binding(old);
    if (o && o->var == &v->node && o->value == value && stays(how, old))
        return old;
    return rlx_var_binding_new(b->ctx, v, value, how->place ? how->place : rlx_place_of(old));
}

const rlx_sinfo *rlx_builder_instead(const rlx_builder *b, const rlx_sinfo *stated)
{
    if (!b->options.keep_going || b->ctx->diags.out_of_memory)
        return NULL;
    return stated ? stated : b->ctx->underived;
}

const rlx_var *rlx_builder_bind(rlx_builder *b, const rlx_expr *value, const rlx_emit *how,
                                const rlx_binding *old)
{
    if (how->output && !rlx_top_frame(b)->in_dataflow)
        return rlx_error(b->ctx, RLX_OP09, how->place,
                         "an output is emitted outside a dataflow block");
    if (how->var && !fits_block(b, how->var))
        return NULL;
    const rlx_sinfo *s = rlx_builder_derive(b, value);
    if (s && how->annotation)
        s = annotated(b, value, s, how);
    bool failed = !s;
    if (failed)
        s = rlx_builder_instead(b, how->annotation);
    s = s ? settled(b, s, how) : NULL;
    if (!s || (!failed && !sizes_are_sane(b, s, how->place) && !b->options.keep_going))
        return NULL;
    const rlx_var *v = make_var(b, s, how);
    const rlx_binding *binding = v ? binding_for(b, v, value, how, old) : NULL;
    return binding && rlx_builder_remember(b, v, value) && rlx_builder_append(b, binding) ? v
                                                                                          : NULL;
}

const rlx_expr *rlx_builder_fresh(rlx_builder *b, const rlx_expr *value)
{
    rlx_emit how = plain;
    rlx_place place = rlx_place_of(value);
    /* an operand stands where what it belongs to does */
    how.place = place ? place : b->ctx->diags.otherwise;
    return (const rlx_expr *)rlx_builder_bind(b, value, &how, NULL);
}

/* --- match casts (D11d) --- */

static const rlx_binding *match_for(rlx_builder *b, const rlx_var *v, const rlx_sinfo *sinfo,
                                    const rlx_expr *value, const rlx_emit *how,
                                    const rlx_binding *old)
{
    const rlx_match_cast *o = rlx_as_match_cast(old);
    if (o && o->var == (const rlx_node *)v && o->value == value && o->sinfo == sinfo &&
        stays(how, old))
        return old;
    const rlx_binding *binding =
        rlx_match_cast_new(b->ctx, v, sinfo, value, how->place ? how->place : rlx_place_of(old));
    rlx_match_cast *m = (rlx_match_cast *)(uintptr_t)rlx_as_match_cast(binding);
    if (m && how->num_cast_places) {
        m->sinfo_places = how->cast_places;
        m->num_sinfo_places = how->num_cast_places;
    } else if (m && o && o->sinfo == sinfo) {
        m->sinfo_places = o->sinfo_places;
        m->num_sinfo_places = o->num_sinfo_places;
    }
    return binding;
}

static void warn_hopeless(rlx_builder *b, const rlx_expr *value, const rlx_emit *how,
                          const rlx_mismatch *why)
{
    rlx_buf reason;
    rlx_buf_init(&reason, &b->ctx->memory);
    rlx_assignable_explain(&reason, why);
    rlx_report(b->ctx, RLX_TY09, RLX_SEVERITY_WARNING, how->place,
               "this cast always fails: %s: %s", rlx_show(b->ctx, value),
               reason.data ? reason.data : "?");
    rlx_buf_free(&reason);
}

/* Struct info of the cast's variable; NULL after an error. */
static const rlx_sinfo *cast_sinfo(rlx_builder *b, const rlx_expr *value, const rlx_sinfo *sinfo,
                                   const rlx_emit *how)
{
    rlx_mismatch why;
    enum rlx_assignability fit;
    const rlx_sinfo *have = rlx_builder_derive(b, value);
    if (!have || !rlx_builder_check_annotation(b, sinfo, how->place))
        return NULL;
    if (!b->options.quiet_values &&
        !rlx_overlap(b->ctx, &rlx_top_frame(b)->scope, have, sinfo, &why))
        warn_hopeless(b, value, how, &why);
    if (!how->annotation || how->annotation == sinfo)
        return sinfo;
    if (!check_fit(b, RLX_TY11, true,
                   "annotation of %s is not implied by the cast to %s: it says %s", sinfo, value,
                   how, &fit))
        return NULL;
    return how->annotation;
}

/* --- what a cast has checked holds from there on --- */

#define MOST_DIMS 16 /* looked at in one cast */

static void assume_dims(rlx_scope *scope, const rlx_prim *const *have, size_t num_have,
                        const rlx_prim *const *want, size_t num_want)
{
    for (size_t i = 0; num_have == num_want && i < num_have && i < MOST_DIMS; i++)
        if (have[i] != want[i])
            (void)rlx_scope_equal(scope, have[i], want[i]);
}

/* No tuples: facts are worth little there. */
void rlx_scope_assume_cast(rlx_scope *scope, const rlx_sinfo *have, const rlx_sinfo *want)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(have), *u = rlx_as_tensor_sinfo(want);
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(have), *r = rlx_as_shape_sinfo(want);
    const rlx_prim_sinfo *p = rlx_as_prim_sinfo(have), *o = rlx_as_prim_sinfo(want);
    const rlx_shape_expr *td = rlx_as_shape_expr(t ? t->shape : NULL),
                         *ud = rlx_as_shape_expr(u ? u->shape : NULL);
    if (td && ud)
        assume_dims(scope, td->values, td->num_values, ud->values, ud->num_values);
    else if (s && r)
        assume_dims(scope, s->values, s->num_values, r->values, r->num_values);
    else if (p && o && p->value && o->value)
        assume_dims(scope, &p->value, 1, &o->value, 1);
}

/* Values are compared before the cast's own variables are known: they take whatever size is
 * there. */
const rlx_var *rlx_builder_bind_match(rlx_builder *b, const rlx_expr *value,
                                      const rlx_sinfo *sinfo, const rlx_emit *how, bool no_var,
                                      const rlx_binding *old)
{
    static const rlx_var no_variable = { .node = { .kind = RLX_NODE_VAR } };
    if (how->var && !fits_block(b, how->var))
        return NULL;
    const rlx_sinfo *s = cast_sinfo(b, value, sinfo, how);
    if (!s)
        s = rlx_builder_instead(b, how->annotation ? how->annotation : sinfo);
    s = s && !no_var ? settled(b, s, how) : s;
    const rlx_var *v = s && !no_var ? make_var(b, s, how) : NULL;
    if (!s || (!v && !no_var))
        return NULL;
    const rlx_binding *binding = match_for(b, v, sinfo, value, how, old);
    if (!binding || (v && !rlx_builder_remember(b, v, NULL)) || !rlx_builder_append(b, binding) ||
        !rlx_scope_enter(&rlx_top_frame(b)->scope, sinfo))
        return NULL;
    const rlx_var *source = rlx_as_var(value);
    if (source && source->sinfo)
        rlx_scope_assume_cast(&rlx_top_frame(b)->scope, source->sinfo, sinfo);
    return v ? v : &no_variable;
}

/* --- outputs --- */

bool rlx_builder_output_differs(const rlx_var *v)
{
    return v->sinfo && v->node.kind == RLX_NODE_DATAFLOW_VAR && may_mention_var(v->sinfo);
}

bool rlx_builder_output(rlx_builder *b, const rlx_var *var)
{
    rlx_var *v = (rlx_var *)(uintptr_t)var;
    if (v->node.kind == RLX_NODE_VAR)
        return true;
    if (!rlx_builder_in_dataflow(b) || !rlx_builder_sees_var(b, v))
        return rlx_error(b->ctx, RLX_OP09, v->place,
                         "%s is no variable of the open dataflow block",
                         rlx_show(b->ctx, &v->node)) != NULL;
    const rlx_sinfo *s = after_block(b, v->sinfo);
    if (!s)
        return false;
    v->node.kind = RLX_NODE_VAR;
    v->sinfo = s;
    return rlx_builder_remember(b, v, rlx_builder_lookup(b, v));
}

/* --- from outside --- */

static bool ready(rlx_builder *b, const rlx_expr *e)
{
    if (!b->depth)
        rlx_error(b->ctx, RLX_OP09, RLX_NO_PLACE, "a binding is emitted outside of a function");
    return b->depth && e;
}

const rlx_var *rlx_builder_emit(rlx_builder *b, const rlx_expr *expr, const rlx_emit *how)
{
    if (!ready(b, expr))
        return NULL;
    if (!how)
        how = &plain;
    rlx_mark mark = rlx_builder_mark(b);
    const rlx_locus *around = b->ctx->locus;
    const rlx_locus here = { rlx_builder_put_locus, b, how };
    b->ctx->locus = &here;
    if (!rlx_builder_is_flat(b, expr))
        expr = rlx_builder_normalize(b, expr);
    const rlx_var *v = expr ? rlx_builder_bind(b, expr, how, NULL) : NULL;
    b->ctx->locus = around;
    if (RLX_UNLIKELY(!v))
        rlx_builder_rollback(b, &mark);
    return v;
}

const rlx_var *rlx_builder_emit_match(rlx_builder *b, const rlx_expr *value,
                                      const rlx_sinfo *sinfo, const rlx_emit *how, bool no_var)
{
    if (!ready(b, value) || !sinfo)
        return NULL;
    if (!how)
        how = &plain;
    rlx_mark mark = rlx_builder_mark(b);
    const rlx_locus *around = b->ctx->locus;
    const rlx_locus here = { rlx_builder_put_locus, b, how };
    b->ctx->locus = &here;
    if (!rlx_builder_is_flat(b, value))
        value = rlx_builder_normalize(b, value);
    const rlx_var *v = value ? rlx_builder_bind_match(b, value, sinfo, how, no_var, NULL) : NULL;
    b->ctx->locus = around;
    if (!v)
        rlx_builder_rollback(b, &mark);
    return v;
}

bool rlx_builder_emit_binding(rlx_builder *b, const rlx_binding *binding)
{
    const rlx_var_binding *vb = rlx_as_var_binding(binding);
    const rlx_match_cast *mc = rlx_as_match_cast(binding);
    const rlx_var *v = rlx_as_var(vb ? vb->var : mc ? mc->var : NULL);
    if (!ready(b, binding))
        return false;
    if ((vb && !v) || (!vb && !mc))
        return rlx_error(b->ctx, RLX_OP02, RLX_NO_PLACE, "this is no binding") != NULL;
    if (v && !v->sinfo)
        return rlx_error(b->ctx, RLX_WX09, v->place, "variable %s has no struct info",
                         rlx_show(b->ctx, &v->node)) != NULL;
    if (v && !fits_block(b, v))
        return false;
    rlx_mark mark = rlx_builder_mark(b);
    bool ok = (!v || rlx_builder_remember(b, v, vb ? vb->value : NULL)) &&
              rlx_builder_append(b, binding);
    ok = ok && (!mc || rlx_scope_enter(&rlx_top_frame(b)->scope, mc->sinfo));
    if (!ok)
        rlx_builder_rollback(b, &mark);
    return ok;
}
