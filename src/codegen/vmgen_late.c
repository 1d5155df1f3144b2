/*- vmgen_late.c: calls of operators whose operands are known only when the program runs.
 *
 *     r = R.add(x, y)     x: R.Tensor, y: R.Tensor("float32")
 *     ->
 *     call_late  r, "@R.function ...", "add(x, y)", 2, x, y
 *
 * The first string is a program with a hole for each operand that a kernel depends on, the same one
 * for all calls with this text; the run side fills them in with what it meets (vm/late.c). The second
 * is shown in messages.
 *
 *     @R.function
 *     def main(a0: $, a1: $) -> R.Tensor:
 *         r = R.add(a0, a1)
 *         return r
 *
 * Scalars and shape variables are operands of their own, behind the others, and keep their
 * description:
 *
 *     def main(a0: $, p0: R.Prim(value="n0")) -> R.Tensor("float32", ndim=2):
 *         r = R.broadcast_to(a0, R.shape([n0, 4]))
 */
#include "codegen/vmgen_int.h"

#include "op/op.h"

typedef struct late {
    rlx_vmgen_fn *n;
    rlx_context *ctx;
    rlx_rewriter names;              /* operands and shape variables -> those of the program */
    RLX_VEC(const rlx_expr *) holes; /* operands with a hole */
    RLX_VEC(const rlx_expr *) scalars; /* variables that are scalars of a known dtype */
    rlx_prim_vars sizes;             /* shape variables */
    bool refused;                    /* an operand that no program can take */
} late;

/* ---- is there anything that only the run knows? --------------------------------------------- */

/* Lowerings of the host are asked once: they name sizes that they have not got by themselves. */
static bool is_of_host(const rlx_op_row *row)
{
    return row && row->lower == rlx_lower_host;
}

static bool is_static_shape(const rlx_prim *const *dims, size_t ndim)
{
    for (size_t i = 0; i < ndim; i++)
        if (!rlx_is(dims[i], RLX_NODE_INT_IMM))
            return false;
    return true;
}

/* sizes: must those be numbers, too? */
static bool is_all_known(const rlx_sinfo *s, bool sizes)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    size_t ndim = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &ndim) : NULL;
    if (t && !sizes)
        return t->dtype != RELAX_VOID && t->ndim >= 0;
    if (t)
        return t->dtype != RELAX_VOID && dims && is_static_shape(dims, ndim);
    if (shape && !sizes)
        return shape->ndim >= 0;
    if (shape)
        return shape->has_values && is_static_shape(shape->values, shape->num_values);
    for (size_t i = 0; tuple && i < tuple->num_fields; i++)
        if (!is_all_known(tuple->fields[i], sizes))
            return false;
    return s && s->kind != RLX_NODE_OBJECT_SINFO;
}

static bool are_operands_known(rlx_vmgen_fn *n, const rlx_call *call, bool sizes)
{
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_sinfo *s = rlx_leaf_sinfo(n->ctx, &n->w->env, call->args[i]);
        if (s && !is_all_known(s, sizes))
            return false;
    }
    return true;
}

bool rlx_vmgen_knows_kinds(rlx_vmgen_fn *n, const rlx_call *call)
{
    return are_operands_known(n, call, false);
}

bool rlx_vmgen_waits_for_run(rlx_vmgen_fn *n, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    return !are_operands_known(n, call, !is_of_host(op ? op->row : NULL));
}

/* ---- operands ------------------------------------------------------------------------------- */

static bool is_scalar(const rlx_expr *e)
{
    const rlx_prim_sinfo *p = rlx_as_var(e) ? rlx_as_prim_sinfo(rlx_as_var(e)->sinfo) : NULL;
    return p && p->dtype != RELAX_VOID;
}

static const rlx_node *fresh_operand(late *l, const rlx_expr *e)
{
    char name[24];
    bool scalar = is_scalar(e);
    snprintf(name, sizeof name, "%c%zu", scalar ? 's' : 'a',
             scalar ? l->scalars.len : l->holes.len);
    const rlx_string *text = rlx_string_z(l->ctx, name);
    const rlx_var *v =
        text ? rlx_var_new(l->ctx, false, text, -1, rlx_object_info(l->ctx), RLX_NO_PLACE) : NULL;
    bool kept = v && (scalar ? rlx_vec_push(&l->ctx->memory, &l->scalars, e)
                             : rlx_vec_push(&l->ctx->memory, &l->holes, e));
    return kept ? &v->node : NULL;
}

/* The variable of the program for one of ours; one that is no int64 is converted. */
static const rlx_node *fresh_size(late *l, const rlx_prim_var *old)
{
    char name[24];
    snprintf(name, sizeof name, "n%zu", l->sizes.len);
    const rlx_string *text = rlx_string_z(l->ctx, name);
    const rlx_prim *v = text ? (const rlx_prim *)rlx_prim_var_new(l->ctx, text, RELAX_INT64,
                                                                  RLX_NO_PLACE)
                             : NULL;
    if (v && rlx_prim_dtype(&old->node) != RELAX_INT64)
        v = rlx_cast(l->ctx, rlx_prim_dtype(&old->node), v);
    return v && rlx_vec_push(&l->ctx->memory, &l->sizes, old) ? v : NULL;
}

/* The variables that an index map takes are its own. */
static const rlx_node *keep_indices(rlx_rewriter *r, const rlx_index_map *m)
{
    for (size_t i = 0; i < m->num_initial; i++)
        r->failed |= !rlx_ptrmap_put(&r->map, m->initial[i], (uintptr_t)m->initial[i]);
    return NULL;
}

static const rlx_node *name_operand(rlx_rewriter *r, const rlx_node *n)
{
    late *l = r->user;
    const rlx_node *now = NULL;
    switch (n->kind) {
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR:
    case RLX_NODE_CONSTANT: now = fresh_operand(l, n); break;
    case RLX_NODE_PRIM_VAR: now = fresh_size(l, rlx_as_prim_var(n)); break;
    case RLX_NODE_INDEX_MAP: return keep_indices(r, rlx_as_index_map(n));
    case RLX_NODE_GLOBAL_VAR:
    case RLX_NODE_EXTERN_FUNC:
    case RLX_NODE_FUNCTION:
    case RLX_NODE_TUPLE_GET_ITEM: l->refused = r->failed = true; return NULL;
    default: return NULL;
    }
    r->failed |= !now;
    return now;
}

/* ---- the text ------------------------------------------------------------------------------- */

/* Kind, dtype and rank; sizes are those of variables of this function. */
static const rlx_sinfo *without_sizes(rlx_context *ctx, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    if (t)
        return rlx_tensor_info(ctx, NULL, t->dtype, t->ndim, NULL);
    return shape ? rlx_shape_info_rank(ctx, shape->ndim) : rlx_object_info(ctx);
}

static void put_shown(rlx_buf *b, const rlx_op_row *row, const late *l)
{
    rlx_buf_z(b, row->short_name);
    rlx_buf_char(b, '(');
    for (size_t i = 0; i < l->holes.len; i++) {
        const rlx_var *v = rlx_as_var(l->holes.data[i]);
        rlx_buf_z(b, i ? ", " : "");
        rlx_buf_z(b, v && v->name ? v->name->data : "a constant");
    }
    rlx_buf_char(b, ')');
}

static void put_header(rlx_buf *b, const late *l, const rlx_sinfo *result)
{
    bool comma = false;
    rlx_buf_lit(b, "@R.function\ndef main(");
    for (size_t i = 0; i < l->holes.len; i++, comma = true)
        rlx_buf_format(b, "%sa%zu: $", comma ? ", " : "", i);
    for (size_t i = 0; i < l->scalars.len; i++, comma = true) {
        char dtype[RLX_DTYPE_TEXT];
        rlx_dtype_name(rlx_as_prim_sinfo(rlx_as_var(l->scalars.data[i])->sinfo)->dtype, dtype);
        rlx_buf_format(b, "%ss%zu: R.Prim(\"%s\")", comma ? ", " : "", i, dtype);
    }
    for (size_t i = 0; i < l->sizes.len; i++, comma = true)
        rlx_buf_format(b, "%sp%zu: R.Prim(value=\"n%zu\")", comma ? ", " : "", i, i);
    rlx_buf_lit(b, ") -> ");
    rlx_text_sinfo(b, result);
    rlx_buf_lit(b, ":\n    r = ");
}

/* What compiling ahead needs of the call. */
static bool note_site(late *l, const rlx_call *call, uint32_t constant, const rlx_buf *text)
{
    rlx_context *ctx = l->ctx;
    rlx_vmgen_module *w = l->n->w;
    const char *copy = rlx_new_copy(ctx, text->data, text->len);
    const rlx_expr **holes =
        l->holes.len ? rlx_new_copy(ctx, l->holes.data, l->holes.len * sizeof *holes) : NULL;
    rlx_vmgen_site site = { .call = call,
                            .holes = holes,
                            .num_holes = l->holes.len,
                            .constant = constant,
                            .program = { copy, text->len } };
    return copy && (holes || !l->holes.len) && rlx_vec_push(&ctx->memory, &w->sites, site) &&
           rlx_ptrmap_put(&w->site_table, call, w->sites.len);
}

/* The number of the string constant: one for all sites with this program, so that what one of them
 * has compiled serves all. */
static bool program_constant(late *l, rlx_slice text, uint32_t *number)
{
    rlx_vmgen_module *w = l->n->w;
    uintptr_t known = (uintptr_t)rlx_map_get(&w->late_programs, text);
    *number = known ? (uint32_t)known - 1 : rlx_file_writer_const_string(l->n->out, text);
    return known || rlx_map_put(&w->late_programs, text, (void *)((uintptr_t)*number + 1));
}

/* The number of its text, and of the name that messages show. False after a report. */
static bool write_program(late *l, const rlx_call *call, const rlx_op_row *row,
                          const rlx_sinfo *result, uint32_t *number, uint32_t *shown)
{
    const rlx_node *named = rlx_rewrite(&l->names, &call->node);
    const rlx_sinfo *coarse = named ? without_sizes(l->ctx, result) : NULL;
    rlx_buf text, name;
    if (!coarse)
        return false;
    rlx_buf_init(&text, &l->ctx->memory);
    rlx_buf_init(&name, &l->ctx->memory);
    put_shown(&name, row, l);
    put_header(&text, l, coarse);
    l->n->w->o->print_late(&l->ctx->memory, named, &text);
    rlx_buf_lit(&text, "\n    return r\n");
    bool ok = !text.failed && !name.failed && text.data && name.data &&
              program_constant(l, (rlx_slice){ text.data, text.len }, number) &&
              (!l->n->w->o->ahead || note_site(l, call, *number, &text));
    if (ok)
        *shown = rlx_file_writer_name(l->n->out, (rlx_slice){ name.data, name.len });
    rlx_buf_free(&text);
    rlx_buf_free(&name);
    return ok;
}

static bool push_operands(late *l)
{
    for (size_t i = 0; i < l->holes.len; i++)
        if (!rlx_vmgen_push_arg(l->n, l->holes.data[i]))
            return false;
    for (size_t i = 0; i < l->scalars.len; i++)
        if (!rlx_vmgen_push_arg(l->n, l->scalars.data[i]))
            return false;
    for (size_t i = 0; i < l->sizes.len; i++)
        if (!rlx_vmgen_push_int(l->n, (const rlx_prim *)l->sizes.data[i]))
            return false;
    return true;
}

static bool write_call(late *l, const rlx_call *call, const rlx_op_row *row, rlx_vmgen_target *t)
{
    rlx_vmgen_fn *n = l->n;
    size_t first = n->args.len;
    uint32_t number = 0, shown = RLX_NO_INDEX;
    const rlx_sinfo *result = rlx_vmgen_known(n, &call->node);
    if (!result || !write_program(l, call, row, result, &number, &shown) || !rlx_vmgen_flush(n) ||
        !push_operands(l) || !rlx_vmgen_target_register(n, t))
        return false;
    if (!RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_LATE, first, t->reg, number, shown,
                             (uint32_t)l->holes.len))
        return false;
    /* Who compiles it is chosen when it runs: what follows relies on the result. */
    return t->reg == RLX_NO_INDEX || result->kind == RLX_NODE_OBJECT_SINFO ||
           rlx_vmgen_match(n, t->reg, result, RLX_MATCH_ASSUME, NULL);
}

bool rlx_vmgen_call_late(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op_row *row,
                         rlx_vmgen_target *t)
{
    late l = { .n = n, .ctx = n->ctx };
    if (!n->w->o->print_late) {
        rlx_error(n->ctx, RLX_CG03, n->place,
                  "R.%s takes an operand that only the run knows: its program is text, and this "
                  "library is linked without the text form", row->short_name);
        return false;
    }
    rlx_rewriter_init(&l.names, n->ctx);
    l.names.user = &l;
    l.names.before = name_operand;
    bool ok = write_call(&l, call, row, t);
    rlx_rewriter_free(&l.names);
    rlx_vec_free(&n->ctx->memory, &l.holes);
    rlx_vec_free(&n->ctx->memory, &l.scalars);
    rlx_vec_free(&n->ctx->memory, &l.sizes);
    if (l.refused)
        rlx_error(n->ctx, RLX_CG03, n->place, "R.%s takes an operand that no kernel can take",
                  row->short_name);
    return ok;
}
