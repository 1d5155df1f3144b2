/* vmgen_proof.c: what is proved while compiling, and the descriptions that check the rest when
 * the program runs. */
#include "codegen/vmgen_int.h"

/* ---- what is known of values ---------------------------------------------------------------- */

static const rlx_sinfo *object_of(rlx_vmgen_fn *n) { return rlx_object_info(n->ctx); }

static const rlx_func_sinfo *signature_of(rlx_vmgen_fn *n, const rlx_expr *callee)
{
    const rlx_global_var *gv = rlx_as_global_var(callee);
    const rlx_func_sinfo *f = gv ? rlx_as_func_sinfo(n->w->env.global(n->w->env.user, gv)) : NULL;
    return f && !f->derive ? f : NULL;
}

/* Pairs of a call's binders; false: memory is out. */
static bool map_args(rlx_vmgen_fn *n, rlx_mapping *m, const rlx_func_sinfo *f, const rlx_call *call)
{
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_sinfo *have = rlx_leaf_sinfo(n->ctx, &n->w->env, call->args[i]);
        if (have)
            rlx_mapping_add(m, f->params[i], have, (int32_t)i);
    }
    return !m->ctx->diags.out_of_memory;
}

/* Every placeholder of the callee stands for something known here. Else one that is left over
 * could be taken for the variable of the caller that is the same object. */
static bool all_mapped(const rlx_mapping *m, const rlx_func_sinfo *f)
{
    return !m->conflict && m->list.len == f->num_binders;
}

static bool sees_shape_var(void *user, const rlx_prim_var *v)
{
    return rlx_ptrmap_has(&((const rlx_vmgen_fn *)user)->bound, v);
}

static bool sees_var(void *user, const rlx_var *v)
{
    return rlx_vmgen_value_of(user, &v->node) != NULL;
}

static const rlx_sinfo *known_of_call(rlx_vmgen_fn *n, const rlx_call *call)
{
    const rlx_func_sinfo *f = signature_of(n, call->op);
    if (!f || f->num_params != call->num_args)
        return object_of(n);
    rlx_mapping m;
    rlx_mapping_init(&m, n->ctx, &n->scope, f->binders, f->num_binders);
    const rlx_sinfo *out = NULL;
    if (map_args(n, &m, f, call)) {
        rlx_visible visible = { sees_shape_var, sees_var, n };
        bool open = !all_mapped(&m, f);
        visible.shape_var = open ? NULL : sees_shape_var;
        out = rlx_mapping_apply(&m, f->ret);
        out = out ? rlx_erase(n->ctx, out, &visible) : NULL;
    }
    rlx_mapping_free(&m);
    return out;
}

/* Sizes that a rule promises for a builtin with attributes (topk: k elements), and what a program
 * states of a result, are checked when it has run. */
static const rlx_sinfo *known_of_operator(rlx_vmgen_fn *n, const rlx_call *call)
{
    const rlx_op_row *row = rlx_as_op(call->op)->row;
    if (row && ((row->builtin && row->num_attrs) || row->flags & RLX_OP_SINFO_ARGS))
        return object_of(n);
    const rlx_sinfo *s = rlx_op_infer(n->ctx, &n->scope, &n->w->env, call, true);
    return s || n->ctx->diags.out_of_memory ? s : object_of(n);
}

static const rlx_sinfo *known_of_branch(rlx_vmgen_fn *n, const rlx_expr *branch)
{
    const rlx_seq_expr *s = rlx_as_seq_expr(branch);
    return rlx_vmgen_known(n, s ? s->body : branch);
}

const rlx_sinfo *rlx_vmgen_known(rlx_vmgen_fn *n, const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    const rlx_if_expr *cond = rlx_as_if_expr(e);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(e);
    if (call)
        return rlx_as_op(call->op) ? known_of_operator(n, call) : known_of_call(n, call);
    if (cond) {
        const rlx_sinfo *a = known_of_branch(n, cond->true_branch),
                        *b = a ? known_of_branch(n, cond->false_branch) : NULL;
        return b ? rlx_lub(n->ctx, &n->scope, a, b) : NULL;
    }
    const rlx_sinfo *s = rlx_leaf_sinfo(n->ctx, &n->w->env, get ? get->tuple : e);
    const rlx_tuple_sinfo *t = get ? rlx_as_tuple_sinfo(s) : NULL;
    if (get)
        s = t && (uint64_t)get->index < t->num_fields ? t->fields[get->index] : NULL;
    return s || n->ctx->diags.out_of_memory ? s : object_of(n);
}

bool rlx_vmgen_surely_fits(rlx_vmgen_fn *n, const rlx_sinfo *have, const rlx_sinfo *want)
{
    if (have == want || !want || want->kind == RLX_NODE_OBJECT_SINFO)
        return true;
    return have && rlx_assignable(n->ctx, &n->scope, have, want, NULL) == RLX_ASSIGNABLE_YES;
}

bool rlx_vmgen_args_fit(rlx_vmgen_fn *n, const rlx_call *call)
{
    const rlx_func_sinfo *f = signature_of(n, call->op);
    if (!f || f->num_params != call->num_args)
        return false;
    rlx_mapping m;
    rlx_mapping_init(&m, n->ctx, &n->scope, f->binders, f->num_binders);
    bool fits = map_args(n, &m, f, call) && all_mapped(&m, f) && !m.unproved;
    for (size_t i = 0; fits && i < call->num_args; i++) {
        const rlx_sinfo *want = rlx_mapping_apply(&m, f->params[i]);
        fits = want &&
               rlx_vmgen_surely_fits(n, rlx_leaf_sinfo(n->ctx, &n->w->env, call->args[i]), want);
    }
    rlx_mapping_free(&m);
    return fits;
}

/* ---- shape variables ------------------------------------------------------------------------ */

/* Widens `to_bind` by the positions of one struct info. */
static void note_position(void *user, const rlx_prim *p, bool is_size)
{
    rlx_vmgen_fn *n = user;
    const rlx_prim_var *v = rlx_position_var(p);
    uintptr_t kind, slot;
    if (!v || rlx_ptrmap_has(&n->bound, v))
        return;
    bool seen = rlx_ptrmap_find(&n->to_bind, v, &kind);
    if (!seen)
        (void)rlx_vec_push(&n->ctx->memory, &n->to_bind_list, v);
    kind = is_size || (seen && kind == RLX_BINDS_SIZE) ? RLX_BINDS_SIZE : RLX_BINDS_SIGNED;
    (void)rlx_ptrmap_put(&n->to_bind, v, kind);
    if (!rlx_ptrmap_find(&n->slots, v, &slot))
        (void)rlx_ptrmap_put(&n->slots, v, ++n->num_syms);
}

bool rlx_vmgen_note_vars(rlx_vmgen_fn *n, const rlx_sinfo *s, bool *any)
{
    *any = false;
    if (!s || !(s->flags & RLX_FLAG_HAS_VARS))
        return true;
    if (!rlx_each_position(&n->ctx->memory, s, note_position, n) || n->ctx->diags.out_of_memory)
        return false;
    if (n->num_syms > RLX_MAX_SYMBOLS) {
        n->out->too_large = true;
        return rlx_vmgen_failed(n->w, n->place);
    }
    *any = n->to_bind_list.len > 0;
    return true;
}

bool rlx_vmgen_bind_vars(rlx_vmgen_fn *n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n->to_bind_list.len; i++) {
        const rlx_prim_var *v = n->to_bind_list.data[i];
        uintptr_t kind = RLX_BINDS_SIGNED;
        rlx_ptrmap_find(&n->to_bind, v, &kind);
        ok = rlx_ptrmap_put(&n->bound, v, 1) && rlx_vec_push(&n->ctx->memory, &n->bound_list, v) &&
             rlx_scope_add(&n->scope, v, kind == RLX_BINDS_SIZE);
    }
    n->to_bind_list.len = 0;
    return ok;
}

/* ---- descriptions --------------------------------------------------------------------------- */

static int32_t slot_of(void *user, const rlx_prim_var *v)
{
    const rlx_vmgen_fn *n = user;
    uintptr_t slot;
    return rlx_ptrmap_has(&n->bound, v) && rlx_ptrmap_find(&n->slots, v, &slot) ? (int32_t)slot - 1
                                                                                : -1;
}

static int32_t register_of(void *user, const rlx_var *v)
{
    const rlx_vmgen_value *value = rlx_vmgen_value_of(user, &v->node);
    return value && value->reg != RLX_NO_INDEX ? (int32_t)value->reg : -1;
}

void rlx_vmgen_encoder(rlx_vmgen_fn *n, rlx_encoder *e)
{
    *e = (rlx_encoder){ .ctx = n->ctx,
                        .out = n->out,
                        .slot_of = slot_of,
                        .is_bound = sees_shape_var,
                        .register_of = register_of,
                        .user = n,
                        .to_bind = &n->to_bind,
                        .no_names = n->w->o->strip_names };
}

bool rlx_vmgen_encode_failed(rlx_vmgen_fn *n, const rlx_encoder *e)
{
    const rlx_node *what = e->unknown;
    if (!what || n->ctx->diags.out_of_memory)
        return rlx_vmgen_failed(n->w, n->place);
    if (rlx_is(what, RLX_NODE_PRIM_VAR))
        rlx_error(n->ctx, RLX_CG06, n->place, "shape variable %s has no value here",
                  rlx_show(n->ctx, what));
    else if (rlx_as_var(what))
        rlx_error(n->ctx, RLX_CG06, n->place,
                  "variable %s, the shape of a tensor, has no value here", rlx_show(n->ctx, what));
    else
        rlx_error(n->ctx, RLX_CG02, n->place, "%s cannot be computed outside kernels",
                  rlx_show(n->ctx, what));
    return false;
}

void rlx_vmgen_drop_description(rlx_vmgen_fn *n, rlx_desc_writer *d)
{
    rlx_vec_free(n->out->memory, &d->words);
    rlx_vec_free(n->out->memory, &d->open);
}

static bool describe(rlx_vmgen_fn *n, const rlx_sinfo *s, bool alone, uint32_t *offset)
{
    rlx_desc_writer d;
    rlx_encoder e;
    if (!rlx_vmgen_bind_vars(n))
        return false;
    rlx_desc_begin(&d, n->out);
    rlx_vmgen_encoder(n, &e);
    if (alone)
        e.is_bound = NULL;
    if (!rlx_sinfo_encode(&e, s, &d)) {
        rlx_vmgen_drop_description(n, &d);
        return rlx_vmgen_encode_failed(n, &e);
    }
    *offset = rlx_desc_end(&d);
    rlx_ptrmap_clear(&n->to_bind);
    return rlx_file_writer_ok(n->out) || rlx_vmgen_failed(n->w, n->place);
}

bool rlx_vmgen_describe(rlx_vmgen_fn *n, const rlx_sinfo *s, uint32_t *offset)
{
    return describe(n, s, false, offset);
}

bool rlx_vmgen_describe_signature(rlx_vmgen_fn *n, const rlx_sinfo *s, uint32_t *offset)
{
    return describe(n, s, true, offset);
}

uint32_t rlx_vmgen_var_name(rlx_vmgen_fn *n, const rlx_var *v)
{
    rlx_buf text;
    if (!v || n->w->o->strip_names)
        return RLX_NO_INDEX;
    if (v->number < 0 && v->name)
        return rlx_file_writer_name(n->out, rlx_string_slice(v->name));
    rlx_buf_init(&text, &n->ctx->memory);
    rlx_text_var_name(&text, v);
    uint32_t number = text.failed || !text.len
                          ? RLX_NO_INDEX
                          : rlx_file_writer_name(n->out, (rlx_slice){ text.data, text.len });
    rlx_buf_free(&text);
    return number;
}

/* ---- kinds of the host: a packed function of the host checks them --------------------------- */

static bool push_operand(rlx_vmgen_fn *n, const rlx_node *operand)
{
    const rlx_expr *e = operand;
    if (rlx_family_of(operand) == RLX_FAMILY_SINFO)
        return true;
    if (rlx_family_of(operand) == RLX_FAMILY_PRIM)
        e = rlx_prim_value_new(n->ctx, operand);
    return e ? rlx_vmgen_push_arg(n, e) : false;
}

static bool call_check(rlx_vmgen_fn *n, uint32_t reg, const rlx_extension_sinfo *s, rlx_slice check)
{
    size_t first = n->args.len;
    bool ok = rlx_vmgen_flush(n) &&
              rlx_vec_push(&n->ctx->memory, &n->args, rlx_operand(RLX_OPERAND_REGISTER, reg));
    for (size_t i = 0; ok && i < s->num_operands; i++)
        ok = push_operand(n, s->operands[i]);
    return ok && RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_PACKED, first, RLX_NO_INDEX,
                              rlx_file_writer_packed(n->out, check));
}

/* The first description of such a kind in s, tuples looked into. */
static const rlx_extension_sinfo *host_part(rlx_vmgen_fn *n, const rlx_sinfo *s)
{
    size_t floor = n->work.len;
    const rlx_extension_sinfo *found = rlx_as_extension_sinfo(s);
    for (const rlx_node *at = s; at && !found;) {
        const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(at);
        found = rlx_as_extension_sinfo(at);
        for (size_t i = t ? t->num_fields : 0; i-- > 0;)
            (void)rlx_vec_push(&n->ctx->memory, &n->work, t->fields[i]);
        at = n->work.len > floor ? rlx_vec_pop(&n->work) : NULL;
    }
    n->work.len = floor;
    return found;
}

/* *done: s needs no description of ours. What cannot be checked is believed where it is an
 * annotation, and refused where the program asks for a check. */
static bool match_host(rlx_vmgen_fn *n, uint32_t reg, const rlx_sinfo *s,
                       enum rlx_match_flavour flavour, bool *done)
{
    const rlx_extension_sinfo *part = host_part(n, s);
    const rlx_extension_kind *k = part ? rlx_extension_kind_of(n->ctx, &part->node) : NULL;
    *done = rlx_as_extension_sinfo(s) != NULL;
    if (*done && k && k->check.len)
        return call_check(n, reg, part, k->check);
    if (part && flavour == RLX_MATCH_CAST)
        return rlx_error(n->ctx, RLX_CG02, n->place,
                         *done ? "R.%s cannot be checked when the program runs: it was registered "
                                 "without a check"
                               : "R.%s in a tuple cannot be checked: cast the fields one by one",
                         part->name->data) != NULL;
    return true;
}

bool rlx_vmgen_match(rlx_vmgen_fn *n, uint32_t reg, const rlx_sinfo *s,
                     enum rlx_match_flavour flavour, const rlx_var *name)
{
    uint32_t offset;
    bool done;
    if (!match_host(n, reg, s, flavour, &done))
        return false;
    if (done)
        return true;
    if (!rlx_vmgen_describe(n, s, &offset))
        return false;
    RLX_EMIT(n->out, RLX_OP_MATCH, reg, offset, (uint32_t)flavour, rlx_vmgen_var_name(n, name));
    return rlx_file_writer_ok(n->out) || rlx_vmgen_failed(n->w, n->place);
}

/* ---- variables as shapes -------------------------------------------------------------------- */

bool rlx_vmgen_each_shape_var(rlx_vmgen_fn *n, const rlx_sinfo *s,
                              bool (*use)(rlx_vmgen_fn *n, const rlx_expr *var))
{
    size_t floor = n->work.len;
    bool ok = true;
    if (!s || !(s->flags & RLX_FLAG_HAS_VARS))
        return true;
    for (ok = rlx_vec_push(&n->ctx->memory, &n->work, s); ok && n->work.len > floor;) {
        const rlx_node *at = rlx_vec_pop(&n->work);
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(at);
        const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(at);
        const rlx_extension_sinfo *h = rlx_as_extension_sinfo(at);
        if (t && rlx_as_var(t->shape))
            ok = use(n, t->shape);
        for (size_t i = 0; ok && h && i < h->num_operands; i++)
            ok = !rlx_as_var(h->operands[i]) || use(n, h->operands[i]);
        for (size_t i = 0; ok && fields && i < fields->num_fields; i++)
            ok = rlx_vec_push(&n->ctx->memory, &n->work, fields->fields[i]);
    }
    n->work.len = floor;
    return ok;
}
