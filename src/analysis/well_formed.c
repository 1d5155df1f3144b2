/* well_formed.c: the criteria of language section 4: one row of a table each, with the stage in
 * which it holds and the function that words it. The walk (wf_walk.c) finds violations, this
 * file says them. */
#include "analysis/wf_int.h"

#define MEMORY(w) (&(w)->ctx->memory)

typedef void say_fn(rlx_wf *w, const rlx_finding *f);

static const char *name(rlx_wf *w, const rlx_node *n)
{
    const rlx_op *op = rlx_as_op(n);
    const rlx_global_var *gv = rlx_as_global_var(n);
    if (op)
        return op->row ? op->row->short_name : op->name->data;
    if (rlx_as_extern_func(n))
        return rlx_as_extern_func(n)->symbol->data;
    return gv ? gv->name->data : n ? rlx_show(w->ctx, n) : "a local function";
}

static const char *function_name(rlx_wf *w, int64_t index)
{
    return index >= 0 && (uint64_t)index < w->module->num_gvars ? name(w, w->module->gvars[index])
                                                                : "?";
}

static const char *dtype_text(int64_t t, char text[RLX_DTYPE_TEXT])
{
    rlx_dtype_name((rlx_dtype)t, text);
    return text;
}

/* The report; false if it was muted or lost: then no note belongs to it. */
#define SAY(w, f, ...) \
    ((void)rlx_error((w)->ctx, (enum rlx_code_id)(f)->code, (f)->place, __VA_ARGS__))
#define REMARK(w, f, ...)                                                              \
    ((void)rlx_report((w)->ctx, (enum rlx_code_id)(f)->code, RLX_SEVERITY_NOTE, (f)->place, \
                      __VA_ARGS__))
#define NOTE(w, place, ...) rlx_note((w)->ctx, (place), __VA_ARGS__)
/* "... here": only where there is a place to show */
#define NOTE_HERE(w, place, ...) ((place) ? NOTE(w, place, __VA_ARGS__) : (void)0)

/* ---- variables ------------------------------------------------------------------------------ */

static void say_dataflow(rlx_wf *w, const rlx_finding *f)
{
    if (f->detail == RLX_WF_BOUND_OUTSIDE) {
        SAY(w, f, "dataflow variable %s is bound outside a dataflow block", name(w, f->a));
        return;
    }
    SAY(w, f, "dataflow variable %s is used outside its dataflow block", name(w, f->a));
    NOTE_HERE(w, f->note, "%s is bound here", name(w, f->a));
    NOTE(w, RLX_NO_PLACE, w->lone ? "emit it as an output (relax_builder_emit_output)"
                                  : "add it to R.output");
}

/* The name alone may mislead: another variable has it too. */
static void note_namesake(rlx_wf *w, const rlx_var *v)
{
    for (size_t i = 0; v && v->name && i < w->vars.len && !rlx_diags_full(&w->ctx->diags); i++) {
        const rlx_wf_var *other = &w->vars.data[i];
        if (other->var == v || other->state == RLX_WF_SEEN || !other->var->name ||
            other->var->number != v->number || !rlx_string_equal(other->var->name, v->name))
            continue;
        NOTE(w, other->bound_at, "the %s %s that is bound here is another variable",
             other->param ? "parameter" : "variable", name(w, &v->node));
        return;
    }
    NOTE(w, RLX_NO_PLACE, "a variable belongs to the function that has it as a parameter or binds it");
}

static void say_bound(rlx_wf *w, const rlx_finding *f)
{
    if (f->detail == RLX_WF_TWICE) {
        SAY(w, f, "variable %s is bound twice", name(w, f->a));
        NOTE_HERE(w, f->note, "it is bound here first");
    } else if (f->detail == RLX_WF_OWN_VALUE) {
        SAY(w, f, "variable %s occurs in its own value, which is not a function", name(w, f->a));
    } else {
        SAY(w, f, "variable %s is not bound anywhere", name(w, f->a));
        note_namesake(w, rlx_as_var(f->a));
    }
}

static void say_order(rlx_wf *w, const rlx_finding *f)
{
    if (f->detail == RLX_WF_GONE)
        SAY(w, f, "variable %s is out of scope here", name(w, f->a));
    else
        SAY(w, f, "variable %s is used before it is bound", name(w, f->a));
    NOTE_HERE(w, f->note, "%s is bound here", name(w, f->a));
}

static void say_captured(rlx_wf *w, const rlx_finding *f)
{
    if (f->b)
        SAY(w, f, "function %s captures dataflow variable %s", name(w, f->b), name(w, f->a));
    else
        SAY(w, f, "a local function captures dataflow variable %s", name(w, f->a));
    NOTE_HERE(w, f->note, "%s is bound here", name(w, f->a));
    NOTE(w, RLX_NO_PLACE, "list it in R.output of an earlier block, or pass it as a parameter");
}

static void say_shared_param(rlx_wf *w, const rlx_finding *f)
{
    if (f->n && f->b)
        SAY(w, f, "parameter %s is shared by functions %s and %s", name(w, f->a), name(w, f->b),
            function_name(w, f->k));
    else
        SAY(w, f, "parameter %s occurs twice", name(w, f->a));
    NOTE_HERE(w, f->note, "it is a parameter here first");
}

/* ---- shape variables ------------------------------------------------------------------------ */

static void say_return(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f,
        "return annotation of %s uses shape variable %s, which is not bound by its parameters",
        name(w, f->b), name(w, f->a));
    NOTE(w, RLX_NO_PLACE, "leave the size open, as in R.Tensor(ndim=1)");
}

static void note_size_namesake(rlx_wf *w, const rlx_prim_var *v)
{
    for (size_t i = 0; v && i < w->sizes.len && !rlx_diags_full(&w->ctx->diags); i++) {
        const rlx_wf_size *other = &w->sizes.data[i];
        if (other->var == v || other->function != (w->lone ? 0 : w->function) ||
            !rlx_string_equal(other->var->name, v->name))
            continue;
        NOTE(w, RLX_NO_PLACE, "another shape variable of the name %s is bound: use that one",
             v->name->data);
        return;
    }
}

static void say_unbound_size(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "shape variable %s is used before it is bound", name(w, f->a));
    note_size_namesake(w, rlx_as_prim_var(f->a));
    if (f->detail == RLX_WF_COMPOSITE)
        NOTE(w, RLX_NO_PLACE,
             "an expression such as 2 * %s cannot bind %s; give %s a dimension of its own",
             name(w, f->a), name(w, f->a), name(w, f->a));
}

static void say_signature(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "shape variable %s of %s has no dimension of its own in any parameter",
        name(w, f->a), name(w, f->b));
}

static void say_shared_size(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "shape variable %s is shared by functions %s and %s", name(w, f->a),
        function_name(w, f->n), function_name(w, f->k));
}

/* ---- annotations ---------------------------------------------------------------------------- */

static const char *form_name(const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_CALL: return "a call";
    case RLX_NODE_TUPLE: return "a tuple";
    case RLX_NODE_CONSTANT: return "a constant";
    default: return rlx_kinds[n->kind].name;
    }
}

static void say_annotation(rlx_wf *w, const rlx_finding *f)
{
    const char *shape = f->code == RLX_WF15 ? "shape annotation" : "annotation";
    if (f->detail == RLX_WF_RANK)
        SAY(w, f, "%s says rank %lld but gives %lld dimensions", shape, (long long)f->n,
            (long long)f->k);
    else if (f->detail == RLX_WF_FORM)
        SAY(w, f,
            "shape of a tensor annotation must be a variable or a list of dimensions, found %s",
            form_name(f->a));
    else if (f->code == RLX_WF15)
        SAY(w, f, "shape variable %s of a shape annotation is not in scope", name(w, f->a));
    else
        SAY(w, f, "shape variable %s is not in scope", name(w, f->a));
}

static void say_rank(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "annotation of %s says rank %lld but gives %lld dimensions", name(w, f->a),
        (long long)f->n, (long long)f->k);
}

static void say_shape_var(rlx_wf *w, const rlx_finding *f)
{
    const rlx_var *v = rlx_as_var(f->a);
    if (rlx_as_shape_sinfo(v->sinfo))
        SAY(w, f, "shape variable %s of a tensor annotation is %s, expected rank %lld",
            name(w, f->a), rlx_show(w->ctx, v->sinfo), (long long)f->n);
    else
        SAY(w, f, "shape variable %s of a tensor annotation is %s, expected R.Shape",
            name(w, f->a), v->sinfo ? rlx_show(w->ctx, v->sinfo) : "R.Object");
}

static void say_func_form(rlx_wf *w, const rlx_finding *f)
{
    const rlx_func_sinfo *s = f->detail == RLX_WF_FORM ? rlx_as_func_sinfo(f->a) : NULL;
    if (!s) {
        SAY(w, f, "function annotation has both parameters and a derive function");
        return;
    }
    SAY(w, f, "derive function %s is not registered in this context",
        s->derive_name ? s->derive_name->data : "");
    NOTE(w, RLX_NO_PLACE, "the host registers it with relax_derive_register");
}

static void say_scalar(rlx_wf *w, const rlx_finding *f)
{
    char t[RLX_DTYPE_TEXT];
    if (f->detail == RLX_WF_LANES)
        SAY(w, f, "scalar value must have one lane, found %s", dtype_text(f->n, t));
    else if (f->detail == RLX_WF_COMPUTED)
        REMARK(w, f, "scalar value %s is computed when the program runs", rlx_show(w->ctx, f->a));
    else
        SAY(w, f, "scalar value must be arithmetic on numbers and shape variables, found %s",
            rlx_show(w->ctx, f->a));
}

static void say_prim_dtype(rlx_wf *w, const rlx_finding *f)
{
    char t[RLX_DTYPE_TEXT];
    SAY(w, f, "R.Prim needs an integer, unsigned or float dtype, found %s", dtype_text(f->n, t));
}

static void say_dtype(rlx_wf *w, const rlx_finding *f)
{
    char t[RLX_DTYPE_TEXT];
    if (f->detail == RLX_WF_LANES)
        SAY(w, f, "%s has %d lanes; Relax tensors have scalar elements", dtype_text(f->n, t),
            rlx_dtype_lanes((rlx_dtype)f->n));
    else if (f->detail == RLX_WF_KIND)
        SAY(w, f, "%s is not a dtype of Relax values", dtype_text(f->n, t));
    else
        SAY(w, f, "%s is not a supported width; integers have 1, 2, 4, 8, 16, 32 or 64 bits, floats 16, 32 or 64",
            dtype_text(f->n, t));
}

static void say_prim_value(rlx_wf *w, const rlx_finding *f)
{
    char have[RLX_DTYPE_TEXT], want[RLX_DTYPE_TEXT];
    SAY(w, f, "value has dtype %s but R.Prim says %s", dtype_text(f->n, have),
        dtype_text(f->k, want));
}

static void say_dimension(rlx_wf *w, const rlx_finding *f)
{
    char t[RLX_DTYPE_TEXT];
    SAY(w, f, "dimension has dtype %s", dtype_text(f->n, t));
}

static void say_depth(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "annotation nests deeper than 1000 levels");
}

static void say_device(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "device %s is not listed in the module",
        rlx_show_vdevice(w->ctx, f->a));
    if (!f->n)
        NOTE(w, RLX_NO_PLACE, "the module lists no devices");
    else
        NOTE(w, w->module->place, "the list is the entry vdevice of I.module_global_infos");
}

/* ---- functions ------------------------------------------------------------------------------ */

static void say_control_flow(rlx_wf *w, const rlx_finding *f)
{
    if (f->detail == RLX_WF_IF) {
        SAY(w, f, "if inside a dataflow block");
        NOTE_HERE(w, f->around, "the block begins here");
        NOTE(w, RLX_NO_PLACE, "move it out of the block");
        return;
    }
    if (f->detail == RLX_WF_SELF)
        SAY(w, f, "call to %s inside a dataflow block of %s is recursive", name(w, f->a),
            name(w, f->b));
    else
        SAY(w, f, "call to %s inside a dataflow block of %s, which is mutually recursive with %s",
            name(w, f->a), name(w, f->b), name(w, f->a));
    if (f->detail == RLX_WF_MUTUAL)
        NOTE_HERE(w, f->note, "%s leads back to %s from here", name(w, f->a), name(w, f->b));
    NOTE_HERE(w, f->around, "the block begins here");
    NOTE(w, RLX_NO_PLACE, "move the call out of the block");
}

static void say_recursive(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "%s is recursive but states no return annotation", name(w, f->a));
    NOTE_HERE(w, f->note, "it is mentioned here");
    if (f->b && f->b->kind != RLX_NODE_OBJECT_SINFO)
        NOTE(w, RLX_NO_PLACE, "the body gives -> %s", rlx_show(w->ctx, f->b));
}

static void say_op_value(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "operator %s is used as a value", name(w, f->a));
    NOTE(w, RLX_NO_PLACE, "wrap it in a function to pass it around");
}

static void say_no_public(rlx_wf *w, const rlx_finding *f)
{
    const rlx_node *const *names = w->module->gvars;
    uint8_t severity =
        w->stage == RLX_STAGE_BUILD ? RLX_SEVERITY_ERROR : RLX_SEVERITY_WARNING;
    rlx_report(w->ctx, RLX_WF12, severity, f->place, "module has no public function");
    if (w->module->num_gvars == 1)
        NOTE(w, RLX_NO_PLACE, "remove private=True from %s", name(w, names[0]));
    else if (w->module->num_gvars)
        NOTE(w, RLX_NO_PLACE, "remove private=True from one of: %s, %s%s", name(w, names[0]),
             name(w, names[1]), w->module->num_gvars > 2 ? ", ..." : "");
}

static void say_symbol(rlx_wf *w, const rlx_finding *f)
{
    if (f->detail == RLX_WF_EMPTY)
        rlx_report(w->ctx, RLX_WX14, RLX_SEVERITY_ERROR, f->place,
                   "global_symbol of the PrimFunc %s is empty", name(w, f->a));
    else if (f->code == RLX_WX14)
        rlx_report(w->ctx, RLX_WX14, RLX_SEVERITY_WARNING, f->place,
                   "global_symbol \"%s\" differs from the name of the PrimFunc, %s",
                   ((const rlx_attr_string *)f->b)->value->data, name(w, f->a));
    else
        SAY(w, f, "global_symbol \"%s\" differs from the function name %s",
            ((const rlx_attr_string *)f->b)->value->data, name(w, f->a));
    NOTE_HERE(w, f->note, "the function is here");
}

static void say_force_pure(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "relax.force_pure is set on %s, which is not declared pure", name(w, f->a));
}
static void say_op_form(rlx_wf *w, const rlx_finding *f)
{
    const rlx_op *op = rlx_as_op(f->a);
    if (op && op->row && !(op->row->flags & RLX_OP_SINFO_ARGS))
        SAY(w, f, "%s has a value that is known: write that, or run the pass normalize",
            name(w, f->a));
    else
        SAY(w, f, "%s needs its arguments as a tuple literal", name(w, f->a));
}
static void say_no_member(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "cls.%s is not a function of this module", name(w, f->a));
}
static void say_inline(rlx_wf *w, const rlx_finding *f) { SAY(w, f, "inline PrimFunc"); }

static void say_unknown_op(rlx_wf *w, const rlx_finding *f)
{
    const char *near = rlx_op_suggest(w->ctx, rlx_string_slice(((const rlx_op *)f->a)->name));
    SAY(w, f, "unknown operator %s%s%s", name(w, f->a), near ? "; did you mean " : "",
        near ? near : "");
}

static void say_same_name(rlx_wf *w, const rlx_finding *f)
{
    if (f->detail == RLX_WF_SYMBOL)
        SAY(w, f, "two functions have the global_symbol %s",
            ((const rlx_attr_string *)f->b)->value->data);
    else
        SAY(w, f, "two functions are named %s", name(w, f->a));
    NOTE_HERE(w, f->note, "the other one is here");
}

static void say_damage(rlx_wf *w, const rlx_finding *f)
{
    SAY(w, f, "%s is structurally damaged", f->a ? rlx_kinds[f->a->kind].name : "a node");
}

/* ---- bounds of shape variables -------------------------------------------------------------- */

static void say_promise(rlx_wf *w, const rlx_finding *f)
{
    const char *key = f->k ? RLX_UPPER_BOUND : RLX_NON_NEGATIVE;
    const char *text = rlx_as_attr_string(f->b) ? ((const rlx_attr_string *)f->b)->value->data
                                                : "";
    if (f->detail == RLX_WF_FORM)
        SAY(w, f, "%s of %s is not %s", key, name(w, f->a),
            f->k ? "a map from names of shape variables to bounds"
                 : "a list of names of shape variables");
    else if (f->detail == RLX_WF_LIMIT)
        SAY(w, f, "upper bound of %s is not an integer of 0 or more", text);
    else
        rlx_report(w->ctx, RLX_WX13, RLX_SEVERITY_WARNING, f->place,
                   "%s names %s, which no parameter of %s binds", key, text, name(w, f->a));
}

static void say_broken_promise(rlx_wf *w, const rlx_finding *f)
{
    const char *callee = name(w, f->callee);
    SAY(w, f, "%s would be %s (argument %lld of %s), expected at %s %lld", name(w, f->a),
        rlx_show(w->ctx, f->b), (long long)f->k + 1, callee,
        f->detail == RLX_WF_LIMIT ? "most" : "least",
        (long long)f->n);
    NOTE_HERE(w, f->note, "%s says so here", callee);
}

/* ---- what is accepted on trust -------------------------------------------------------------- */

static void say_unstated(rlx_wf *w, const rlx_finding *f)
{
    rlx_report(w->ctx, RLX_PU04, RLX_SEVERITY_WARNING, f->place,
               "operator %s does not state whether it is pure, and counts as impure",
               name(w, f->a));
}

static void say_forced(rlx_wf *w, const rlx_finding *f)
{
    REMARK(w, f, "impure call to %s%s is tolerated: relax.force_pure vouches for %s",
           rlx_as_op(f->a) ? "R." : "", name(w, f->a), name(w, f->b));
    NOTE_HERE(w, f->note, "it is set here");
}

static void say_no_rule(rlx_wf *w, const rlx_finding *f)
{
    REMARK(w, f, "operator %s has no inference rule; its result is R.Object", name(w, f->a));
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct criterion { uint16_t code; uint8_t stage; say_fn *say; } criteria[] = {
    { RLX_WF01, RLX_STAGE_ANY, say_dataflow },
    { RLX_WF02, RLX_STAGE_ANY, say_bound },
    { RLX_WF03, RLX_STAGE_ANY, say_order },
    { RLX_WF04, RLX_STAGE_ANY, say_return },
    { RLX_WF05, RLX_STAGE_ANY, say_unbound_size },
    { RLX_WF06, RLX_STAGE_ANY, say_signature },
    { RLX_WF07, RLX_STAGE_ANY, say_control_flow },
    { RLX_WF08, RLX_STAGE_ANY, say_recursive },
    { RLX_WF09, RLX_STAGE_ANY, say_op_value },
    { RLX_WF10, RLX_STAGE_ANY, say_rank },
    { RLX_WF11, RLX_STAGE_ANY, say_captured },
    { RLX_WF12, RLX_STAGE_ANY, say_no_public },
    { RLX_WF13, RLX_STAGE_ANY, say_symbol },
    { RLX_WF14, RLX_STAGE_ANY, say_annotation },
    { RLX_WF15, RLX_STAGE_ANY, say_annotation },
    { RLX_WF16, RLX_STAGE_ANY, say_annotation },
    { RLX_WF17, RLX_STAGE_ANY, say_func_form },
    { RLX_WF18, RLX_STAGE_ANY, say_scalar },
    { RLX_WF19, RLX_STAGE_ANY, say_prim_dtype },
    { RLX_WF20, RLX_STAGE_ANY, say_dtype },
    { RLX_WF21, RLX_STAGE_ANY, say_force_pure },
    { RLX_WF22, RLX_STAGE_ANY, say_prim_value },
    { RLX_WF23, RLX_STAGE_NORMAL, say_op_form },
    { RLX_WF24, RLX_STAGE_ANY, say_device },
    { RLX_WX01, RLX_STAGE_ANY, say_no_member },
    { RLX_WX02, RLX_STAGE_ANY, say_unknown_op },
    { RLX_WX03, RLX_STAGE_ANY, say_shared_param },
    { RLX_WX04, RLX_STAGE_ANY, say_shared_size },
    { RLX_WX05, RLX_STAGE_ANY, say_same_name },
    { RLX_WX06, RLX_STAGE_ANY, say_dimension },
    { RLX_WX07, RLX_STAGE_ANY, say_inline },
    { RLX_WX08, RLX_STAGE_ANY, say_damage },
    { RLX_WX10, RLX_STAGE_ANY, say_depth },
    { RLX_WX13, RLX_STAGE_ANY, say_promise },
    { RLX_WX14, RLX_STAGE_ANY, say_symbol },
    { RLX_PU04, RLX_STAGE_ANY, say_unstated },
    { RLX_PU05, RLX_STAGE_EXPLICIT, say_forced },
    { RLX_TY13, RLX_STAGE_EXPLICIT, say_no_rule },
    { RLX_TY04, RLX_STAGE_ANY, say_broken_promise },
    { RLX_TY14, RLX_STAGE_ANY, say_shape_var },
};

static const struct criterion *criterion_of(uint16_t code)
{
    for (size_t i = 0; i < RLX_COUNT(criteria); i++)
        if (criteria[i].code == code)
            return &criteria[i];
    return NULL;
}

/* Does it hold in one function, whatever the others of the module are? */
static bool holds_alone(uint16_t code)
{
    static const uint16_t codes[] = { RLX_WF01, RLX_WF02, RLX_WF03, RLX_WF04, RLX_WF05,
                                      RLX_WF06, RLX_WF11, RLX_WF14, RLX_WF15, RLX_WF16 };
    for (size_t i = 0; i < RLX_COUNT(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

static bool overlap(rlx_place a, rlx_place b)
{
    uint32_t from_a = rlx_place_begin(a), from_b = rlx_place_begin(b);
    return rlx_place_source(a) == rlx_place_source(b) && from_a <= from_b + rlx_place_len(b) &&
           from_b <= from_a + rlx_place_len(a);
}

/* Was it reported at this place before the check began, and not only warned of? The diagnostics
 * that are kept are few. */
static bool is_known(const rlx_wf *w, const rlx_finding *f)
{
    const rlx_code *code = rlx_code_row((enum rlx_code_id)f->code);
    if (f->code == RLX_WX08 && rlx_is(f->a, RLX_NODE_TUPLE_GET_ITEM))
        code = rlx_code_row(RLX_TY05); /* inference has refused the index */
    for (const rlx_diag *d = w->known; d && f->place; d = d == w->known_end ? NULL : d->next)
        if (d->code == code && d->severity <= code->severity && overlap(d->place, f->place))
            return true;
    return false;
}

/* "in main, binding h", of a finding. */
static bool put_locus(const rlx_locus *locus, rlx_buf *out)
{
    const rlx_wf *w = locus->of;
    const rlx_finding *f = locus->what;
    const rlx_var_binding *binding = rlx_as_var_binding(f->binding);
    const rlx_match_cast *cast = rlx_as_match_cast(f->binding);
    const rlx_var *v = rlx_as_var(binding ? binding->var : cast ? cast->var : NULL);
    if (f->in >= w->module->num_gvars || !rlx_as_global_var(w->module->gvars[f->in]))
        return false;
    rlx_buf_format(out, "in %s", rlx_as_global_var(w->module->gvars[f->in])->name->data);
    if (v) {
        rlx_buf_format(out, ", binding ");
        rlx_text_var_name(out, v);
    }
    return true;
}

/* A program is warned of once, not again after each pass that rewrites it. */
static bool is_old_news(const rlx_wf *w, const rlx_finding *f)
{
    bool warns = f->code == RLX_PU04 || f->code == RLX_WX13 || f->code == RLX_WX14;
    return w->stage == RLX_STAGE_NORMAL && warns &&
           (f->detail == RLX_WF_PLAIN || f->detail == RLX_WF_UNBOUND);
}

static void say_stage(rlx_wf *w, enum rlx_stage stage)
{
    const rlx_locus *around = w->ctx->locus;
    for (size_t i = 0; i < w->findings.len; i++) {
        const rlx_finding *f = &w->findings.data[i];
        const struct criterion *c = criterion_of(f->code);
        if (!c || c->stage != stage || (w->lone && !holds_alone(f->code)) || is_known(w, f) ||
            is_old_news(w, f))
            continue;
        const rlx_locus here = { put_locus, w, f };
        w->ctx->locus = &here;
        c->say(w, f);
    }
    w->ctx->locus = around;
}

/* ---- what is seen on the module alone ------------------------------------------------------- */

static const rlx_attr_string *symbol_of(const rlx_node *function)
{
    return rlx_as_attr_string(rlx_attrs_get(rlx_function_attrs(function), "global_symbol"));
}

static rlx_place function_place(const rlx_wf *w, size_t i)
{
    rlx_place p = rlx_place_of(w->module->functions[i]);
    return p ? p : rlx_place_of(w->module->gvars[i]);
}

static rlx_place symbol_place(const rlx_wf *w, size_t i)
{
    rlx_place p = rlx_attr_place(w->module->functions[i], "global_symbol");
    return p ? p : function_place(w, i);
}

/* Notes that `text` names function i. False, with a finding: it names another already. */
static bool claim_name(rlx_wf *w, rlx_ptrmap *taken, const rlx_string *text, size_t i,
                       const rlx_attr_string *symbol)
{
    uintptr_t other;
    if (!rlx_ptrmap_find(taken, text, &other)) {
        (void)rlx_ptrmap_put(taken, text, i);
        return true;
    }
    if (other == i)
        return true;
    rlx_finding *f = rlx_wf_found(w, RLX_WX05, symbol ? RLX_WF_SYMBOL : RLX_WF_PLAIN,
                                  symbol ? symbol_place(w, i) : function_place(w, i),
                                  w->module->gvars[i]);
    if (f) {
        f->b = (const rlx_node *)symbol;
        f->note = function_place(w, other);
    }
    return false;
}

/* Relax calls PrimFuncs by their names in the module, linkers by their symbols. */
static void find_other_symbol(rlx_wf *w, size_t i, const rlx_attr_string *symbol)
{
    bool tir = rlx_is(w->module->functions[i], RLX_NODE_PRIM_FUNC);
    bool empty = tir && w->stage == RLX_STAGE_BUILD && !symbol->value->len;
    rlx_finding *f = rlx_wf_found(w, tir ? RLX_WX14 : RLX_WF13, empty ? RLX_WF_EMPTY : RLX_WF_PLAIN,
                                  symbol_place(w, i), w->module->gvars[i]);
    if (f) {
        f->b = &symbol->node;
        f->note = f->place != function_place(w, i) ? function_place(w, i) : RLX_NO_PLACE;
    }
}

/* PrimFuncs may share a symbol in a module that is read or transformed; in an executable each
 * symbol is the public name of one function. */
static void check_names(rlx_wf *w)
{
    rlx_ptrmap taken, symbols;
    bool any_public = false;
    rlx_ptrmap_init(&taken, MEMORY(w));
    rlx_ptrmap_init(&symbols, MEMORY(w));
    for (size_t i = 0; i < w->module->num_functions && !w->ctx->diags.out_of_memory; i++) {
        const rlx_global_var *gv = rlx_as_global_var(w->module->gvars[i]);
        const rlx_attr_string *symbol = symbol_of(w->module->functions[i]);
        bool alone = claim_name(w, &taken, gv->name, i, NULL);
        if (!symbol)
            continue;
        any_public = true;
        if (symbol->value != gv->name)
            find_other_symbol(w, i, symbol);
        if (alone && rlx_is(w->module->functions[i], RLX_NODE_FUNCTION))
            alone = claim_name(w, &taken, symbol->value, i, symbol);
        if (alone && w->stage == RLX_STAGE_BUILD)
            claim_name(w, &symbols, symbol->value, i, symbol);
    }
    rlx_ptrmap_free(&taken);
    rlx_ptrmap_free(&symbols);
    if (!any_public && w->stage >= RLX_STAGE_EXPLICIT)
        rlx_wf_found(w, RLX_WF12, RLX_WF_PLAIN, w->module->place, NULL);
}

/* ---- recursion: WF07 and WF08, from the mentions that the walk has collected ---------------- */

static void find_recursive_calls(rlx_wf *w, const uint32_t *group)
{
    for (size_t i = 0; i < w->mentions.len && !w->ctx->diags.out_of_memory; i++) {
        const rlx_wf_mention m = w->mentions.data[i];
        if (!m.in_block || group[m.from] != group[m.to])
            continue;
        rlx_finding *f = rlx_wf_found(w, RLX_WF07, m.from == m.to ? RLX_WF_SELF : RLX_WF_MUTUAL,
                                      m.place, w->module->gvars[m.to]);
        if (!f)
            return;
        f->b = w->module->gvars[m.from];
        f->around = m.block_at;
        for (size_t k = 0; m.from != m.to && k < w->mentions.len && !f->note; k++)
            if (w->mentions.data[k].from == m.to && group[w->mentions.data[k].to] == group[m.from])
                f->note = w->mentions.data[k].place;
    }
}

static void find_unstated_results(rlx_wf *w, const uint32_t *group, const bool *recursive,
                                  rlx_place *mention)
{
    for (size_t i = 0; i < w->mentions.len; i++)
        if (group[w->mentions.data[i].from] == group[w->mentions.data[i].to] &&
            !mention[w->mentions.data[i].to])
            mention[w->mentions.data[i].to] = w->mentions.data[i].place;
    for (size_t i = 0; i < w->module->num_functions && !w->ctx->diags.out_of_memory; i++) {
        const rlx_function *f = rlx_as_function(w->module->functions[i]);
        rlx_finding *found = f && recursive[i] && !f->ret_stated
                                 ? rlx_wf_found(w, RLX_WF08, RLX_WF_PLAIN, function_place(w, i),
                                                w->module->gvars[i])
                                 : NULL;
        if (found) {
            found->note = mention[i];
            found->b = f->ret_sinfo;
        }
    }
}

static void check_recursion(rlx_wf *w)
{
    size_t n = w->module->num_functions;
    if (!w->mentions.len || w->ctx->diags.out_of_memory)
        return;
    uint32_t *group = rlx_mem_alloc_zero(MEMORY(w), n * sizeof *group);
    bool *recursive = rlx_mem_alloc_zero(MEMORY(w), n);
    rlx_place *mention = rlx_mem_alloc_zero(MEMORY(w), n * sizeof *mention);
    if (group && recursive && mention &&
        rlx_wf_groups(w->ctx, n, w->mentions.data, w->mentions.len, group, recursive)) {
        find_recursive_calls(w, group);
        find_unstated_results(w, group, recursive, mention);
    }
    rlx_mem_free(MEMORY(w), group, group ? n * sizeof *group : 0);
    rlx_mem_free(MEMORY(w), recursive, recursive ? n : 0);
    rlx_mem_free(MEMORY(w), mention, mention ? n * sizeof *mention : 0);
}

/* ---- the check ------------------------------------------------------------------------------ */

static void check_normal_form(rlx_wf *w)
{
    for (size_t i = 0; w->odd_form && i < w->module->num_functions; i++) {
        const rlx_function *f = rlx_as_function(w->module->functions[i]);
        bool is_old = w->before && i < w->before->num_functions &&
                      w->module->functions[i] == w->before->functions[i];
        if (f && f->body && !is_old)
            rlx_is_normal(w->ctx, f, true);
    }
}

static void release(rlx_wf *w)
{
    rlx_id_map_free(&w->var_at);
    rlx_id_map_free(&w->size_at);
    rlx_device_table_free(&w->devices);
    rlx_ptrmap_free(&w->checked);
    rlx_ptrmap_free(&w->entered);
    rlx_vec_free(MEMORY(w), &w->findings);
    rlx_vec_free(MEMORY(w), &w->vars);
    rlx_vec_free(MEMORY(w), &w->sizes);
    rlx_vec_free(MEMORY(w), &w->open_vars);
    rlx_vec_free(MEMORY(w), &w->open_dataflow);
    rlx_vec_free(MEMORY(w), &w->open_sizes);
    rlx_vec_free(MEMORY(w), &w->tasks);
    rlx_vec_free(MEMORY(w), &w->sequences);
    rlx_vec_free(MEMORY(w), &w->marks);
    rlx_vec_free(MEMORY(w), &w->functions);
    rlx_vec_free(MEMORY(w), &w->mentions);
    rlx_vec_free(MEMORY(w), &w->pending);
    rlx_vec_free(MEMORY(w), &w->parts);
    rlx_vec_free(MEMORY(w), &w->binders);
    rlx_scope_free(&w->facts);
}

/* Warns of programs that are allowed but surely go wrong. */
static void warn(rlx_wf *w)
{
    bool good = !w->mutates || rlx_report_mutations(w->ctx, w->module);
    for (size_t i = 0; i < w->module->num_functions && good; i++) {
        const rlx_prim_func *f = rlx_as_prim_func(w->module->functions[i]);
        good = !f || (rlx_tir_report_races(w->ctx, f) && rlx_tir_report_regions(w->ctx, f));
    }
}

static bool check(rlx_context *ctx, const rlx_module *m, const rlx_module *before,
                  enum rlx_stage stage, bool again, bool lone)
{
    rlx_wf w = { .ctx = ctx,
                 .module = m,
                 .before = before,
                 .env = rlx_module_env(m),
                 .stage = stage,
                 .known = again ? ctx->diags.first : NULL,
                 .known_end = ctx->diags.last,
                 .warns = stage != RLX_STAGE_NORMAL && !again && !lone,
                 .lone = lone,
                 .notes = stage == RLX_STAGE_EXPLICIT && ctx->diags.notes,
                 .notes_scalars = stage == RLX_STAGE_EXPLICIT &&
                                  (ctx->diags.notes || ctx->diags.strict),
                 .epoch = 1,
                 .last_epoch = 1 };
    size_t errors = rlx_error_count(ctx);
    rlx_id_map_init(&w.var_at, MEMORY(&w));
    rlx_id_map_init(&w.size_at, MEMORY(&w));
    rlx_device_table_init(&w.devices, MEMORY(&w));
    rlx_ptrmap_init(&w.checked, MEMORY(&w));
    rlx_ptrmap_init(&w.entered, MEMORY(&w));
    rlx_scope_init(&w.facts, ctx, NULL);
    if (!lone)
        check_names(&w);
    rlx_wf_walk(&w);
    if (!lone)
        check_recursion(&w);
    say_stage(&w, RLX_STAGE_ANY);
    /* Later stages only make sense on what passed the first. */
    if ((stage == RLX_STAGE_NORMAL || stage == RLX_STAGE_EXPLICIT) &&
        rlx_error_count(ctx) == errors && !ctx->diags.out_of_memory) {
        check_normal_form(&w);
        say_stage(&w, RLX_STAGE_NORMAL);
    }
    if (stage == RLX_STAGE_EXPLICIT)
        say_stage(&w, RLX_STAGE_EXPLICIT);
    /* Once for a program, not after each pass. */
    if (w.warns && rlx_error_count(ctx) == errors && !ctx->diags.out_of_memory)
        warn(&w);
    release(&w);
    return rlx_error_count(ctx) == errors;
}

bool rlx_well_formed(rlx_context *ctx, const rlx_module *m, enum rlx_stage stage)
{
    return check(ctx, m, NULL, stage, false, false);
}

bool rlx_well_formed_since(rlx_context *ctx, const rlx_module *m, const rlx_module *before)
{
    return check(ctx, m, before, RLX_STAGE_NORMAL, false, false);
}

bool rlx_well_formed_too(rlx_context *ctx, const rlx_module *m)
{
    return check(ctx, m, NULL, RLX_STAGE_ANY, true, false);
}

bool rlx_well_formed_alone(rlx_context *ctx, const rlx_global_var *gv, const rlx_function *f)
{
    const rlx_node *gvars[] = { &gv->node }, *functions[] = { &f->node };
    const rlx_module m = { .node = { .kind = RLX_NODE_MODULE },
                           .gvars = gvars,
                           .functions = functions,
                           .num_gvars = 1,
                           .num_functions = 1 };
    return check(ctx, &m, NULL, RLX_STAGE_ANY, false, true);
}
