/* extension_kind.c: struct info of kinds that the host has registered, and its derive functions.
 * Their callbacks decide; what is not answered, or answered wrongly, has the weakest sound answer. */
/* built for size */
#include "sinfo/sinfo_int.h"

static rlx_slice name_of(const rlx_sinfo *s)
{
    return rlx_string_slice(rlx_as_extension_sinfo(s)->name);
}

/* --- equality --- */

static bool same_operand(rlx_context *ctx, const rlx_scope *scope, const rlx_node *a,
                         const rlx_node *b)
{
    int32_t index;
    if (a == b)
        return true;
    if (rlx_family_of(a) == RLX_FAMILY_PRIM && rlx_family_of(b) == RLX_FAMILY_PRIM)
        return rlx_prove_equal(ctx, scope, a, b) == RLX_EQUAL;
    if (rlx_family_of(a) == RLX_FAMILY_SINFO && a->kind == b->kind)
        return rlx_assignable(ctx, scope, a, b, NULL) == RLX_ASSIGNABLE_YES &&
               rlx_assignable(ctx, scope, b, a, NULL) == RLX_ASSIGNABLE_YES;
    return rlx_as_shape_expr(a) && rlx_as_shape_expr(b) &&
           rlx_prove_shapes(ctx, scope, a, b, &index) == RLX_EQUAL;
}

static bool same_operands(rlx_context *ctx, const rlx_scope *scope, const rlx_extension_sinfo *a,
                          const rlx_extension_sinfo *b)
{
    bool same = a->num_operands == b->num_operands;
    for (size_t i = 0; same && i < a->num_operands; i++)
        same = same_operand(ctx, scope, a->operands[i], b->operands[i]);
    return same;
}

static bool are_equal(rlx_context *ctx, const rlx_scope *scope, const rlx_extension_kind *k,
                      const rlx_sinfo *a, const rlx_sinfo *b)
{
    return same_operands(ctx, scope, rlx_as_extension_sinfo(a), rlx_as_extension_sinfo(b)) ||
           (k && k->equal && rlx_extension_ask(ctx, scope, k, k->equal, "equality", 1, a, b) == 1);
}

/* --- fit and least upper bound --- */

enum rlx_assignability rlx_extension_assignable(rlx_context *ctx, const rlx_scope *scope,
                                                const rlx_sinfo *a, const rlx_sinfo *b)
{
    const rlx_extension_kind *k = rlx_extension_kind_of(ctx, a);
    if (!rlx_slice_equal(name_of(a), name_of(b)))
        return RLX_ASSIGNABLE_NO;
    if (are_equal(ctx, scope, k, a, b))
        return RLX_ASSIGNABLE_YES;
    int32_t answer = RLX_ASSIGNABLE_VALUE;
    if (k && k->fit)
        answer = rlx_extension_ask(ctx, scope, k, k->fit, "fit", RLX_ASSIGNABLE_YES, a, b);
    return answer < 0 ? RLX_ASSIGNABLE_VALUE : (enum rlx_assignability)answer;
}

/* May `wide` stand for every value of `info`? Of a kind that has no fit only what is certainly
 * wrong is known. */
static bool covers(rlx_context *ctx, const rlx_scope *scope, const rlx_extension_kind *k,
                   const rlx_sinfo *info, const rlx_sinfo *wide)
{
    return rlx_assignable(ctx, scope, info, wide, NULL) >=
           (k->fit ? RLX_ASSIGNABLE_YES : RLX_ASSIGNABLE_VALUE);
}

/* The answer of a callback: struct info, or Object for NULL; Object as well after a report. */
static const rlx_sinfo *given(rlx_context *ctx, const rlx_extension_kind *k, const char *what,
                              const rlx_extension_call *call, const rlx_sinfo *s)
{
    if (s && rlx_family_of(s) == RLX_FAMILY_SINFO && !rlx_errors_since(ctx, call->errors))
        return s;
    if (s && rlx_family_of(s) != RLX_FAMILY_SINFO)
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "%s of %.*s gave no struct info", what,
                  (int)k->row.name.len, k->row.name.data);
    return rlx_object_info(ctx);
}

static const rlx_sinfo *too_narrow(rlx_context *ctx, const rlx_extension_kind *k, const char *what,
                                   const rlx_sinfo *gave, const rlx_sinfo *info)
{
    rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "%s of %.*s gave %s, which does not cover %s", what,
              (int)k->row.name.len, k->row.name.data, rlx_show(ctx, gave), rlx_show(ctx, info));
    return rlx_object_info(ctx);
}

const rlx_sinfo *rlx_extension_lub(rlx_context *ctx, const rlx_scope *scope, const rlx_sinfo *a,
                                   const rlx_sinfo *b)
{
    const rlx_extension_kind *k = rlx_extension_kind_of(ctx, a);
    rlx_extension_call call;
    if (!rlx_slice_equal(name_of(a), name_of(b)))
        return rlx_object_info(ctx);
    if (are_equal(ctx, scope, k, a, b))
        return a;
    if (!k || !k->lub || !rlx_extension_enter(ctx, scope, &call))
        return rlx_object_info(ctx);
    const rlx_sinfo *s = k->lub(k, ctx, a, b);
    rlx_extension_leave(ctx, &call);
    s = given(ctx, k, "the least upper bound", &call, s);
    if (s && (!covers(ctx, scope, k, a, s) || !covers(ctx, scope, k, b, s)))
        return too_narrow(ctx, k, "the least upper bound", s, covers(ctx, scope, k, a, s) ? b : a);
    return s;
}

/* --- erasure --- */

const rlx_sinfo *rlx_extension_erase(rlx_context *ctx, const rlx_sinfo *s, const int32_t *visible)
{
    const rlx_extension_kind *k = rlx_extension_kind_of(ctx, s);
    rlx_extension_call call;
    if (!k || !k->erase || !rlx_extension_enter(ctx, NULL, &call))
        return rlx_object_info(ctx);
    const rlx_sinfo *out = k->erase(k, ctx, s, visible, rlx_as_extension_sinfo(s)->num_operands);
    rlx_extension_leave(ctx, &call);
    out = given(ctx, k, "erasure", &call, out);
    return out && !covers(ctx, NULL, k, s, out) ? too_narrow(ctx, k, "erasure", out, s) : out;
}

const rlx_sinfo *rlx_extension_static(rlx_context *ctx, const rlx_sinfo *s)
{
    const rlx_extension_kind *k = rlx_extension_kind_of(ctx, s);
    rlx_extension_call call;
    if (!k || !k->static_type || !rlx_extension_enter(ctx, NULL, &call))
        return rlx_object_info(ctx);
    const rlx_sinfo *out = k->static_type(k, ctx, s);
    rlx_extension_leave(ctx, &call);
    out = given(ctx, k, "the static type", &call, out);
    if (out && out->flags & RLX_FLAG_HAS_VARS) {
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "the static type of %.*s mentions a variable: %s",
                  (int)k->row.name.len, k->row.name.data, rlx_show(ctx, out));
        return rlx_object_info(ctx);
    }
    return out;
}

/* --- text --- */

const rlx_sinfo *rlx_extension_read(rlx_context *ctx, const rlx_extension_kind *k,
                                    const rlx_node *const *args, const char *const *names,
                                    size_t count)
{
    rlx_extension_call call;
    if (!rlx_extension_enter(ctx, NULL, &call))
        return NULL;
    const rlx_sinfo *s = k->read(k, ctx, args, names, count);
    rlx_extension_leave(ctx, &call);
    if (!s || rlx_errors_since(ctx, call.errors))
        return NULL;
    const rlx_extension_sinfo *gave = rlx_as_extension_sinfo(s);
    if (gave && gave->row == k)
        return s;
    rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "reading of %.*s gave something else",
              (int)k->row.name.len, k->row.name.data);
    return NULL;
}

/* --- derive functions --- */

static const rlx_sinfo *derive_failed(rlx_extension_view *view, const char *how)
{
    if (!view->quiet)
        rlx_error(view->ctx, RLX_TY16, view->call->place, "derive function %.*s %s",
                  (int)view->subject.len, view->subject.data, how);
    return NULL;
}

const rlx_sinfo *rlx_derive_named(rlx_extension_view *view, const rlx_scope *scope,
                                  const rlx_string *name)
{
    rlx_context *ctx = view->ctx;
    const rlx_extension_derive *d = rlx_extension_derive_find(ctx, rlx_string_slice(name));
    rlx_extension_call call;
    view->node.id = RLX_EXTENSION_VIEW_ID;
    view->subject = rlx_string_slice(name);
    view->code = RLX_TY16;
    if (!d)
        return derive_failed(view, "is not registered");
    if (!rlx_extension_enter(ctx, scope, &call))
        return NULL;
    const rlx_sinfo *s = d->derive(d, view);
    rlx_extension_leave(ctx, &call);
    if (view->failed || rlx_errors_since(ctx, call.errors))
        return NULL;
    if (s && rlx_family_of(s) == RLX_FAMILY_SINFO)
        return s;
    return derive_failed(view, s ? "gave no struct info" : "failed without saying why");
}
