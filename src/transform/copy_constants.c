/*- copy_constants.c: a constant that somebody may write to is memory of its own.
 *     c = R.const([1.0, 2.0])        ->   c = R.call_pure_packed("vm.builtin.copy", R.const(...))
 *     _ = cls.increment(c)                _ = cls.increment(c)
 * A constant is a new tensor each time it is evaluated; all names for that tensor see what is
 * written. Others stay shared. Arguments that a kernel or a packed function gets directly are
 * copied where the call is written, as nobody else has a name for them.
 * needs: normal form, struct info. keeps: variables, their struct info, order. */
#include "transform/transform_int.h"

typedef struct copier {
    rlx_written written;
    const rlx_module *module;
    rlx_env env;
    const rlx_op_row *packed;
} copier;

static const rlx_expr *copy_of(rlx_seq_pass *p, const rlx_expr *constant)
{
    const copier *s = p->user;
    const rlx_sinfo *info = rlx_leaf_sinfo(p->ctx, &s->env, constant);
    const rlx_expr *args[2] = { rlx_extern_func_new(p->ctx, RLX_SLICE("vm.builtin.copy")),
                                constant };
    return info && args[0] ? rlx_call_op_sinfo(p->ctx, s->packed, args, 2, &info, 1, NULL,
                                               rlx_place_of(constant))
                           : NULL;
}

#define MAX_NESTING 64 /* of a tuple literal; constants deeper inside stay shared */

/* A leaf with a variable, bound to a copy, for each constant in it; the leaf itself if it has none.
 * Depth is bounded, so recursion is. */
static const rlx_expr *with_copies(rlx_seq_pass *p, const rlx_expr *leaf, int depth)
{
    const copier *s = p->user;
    const rlx_tuple *t = rlx_as_tuple(leaf);
    if (leaf->kind == RLX_NODE_CONSTANT)
        return (const rlx_expr *)rlx_seq_bind(p, "copy", rlx_leaf_sinfo(p->ctx, &s->env, leaf),
                                              copy_of(p, leaf), rlx_place_of(leaf));
    if (!t || !depth)
        return leaf;
    const rlx_expr **fields = rlx_new_copy(p->ctx, t->fields, t->num_fields * sizeof *fields);
    bool same = true;
    for (size_t i = 0; fields && i < t->num_fields; i++) {
        if (!(fields[i] = with_copies(p, t->fields[i], depth - 1)))
            return NULL;
        same &= fields[i] == t->fields[i];
    }
    return same && fields ? leaf
           : fields       ? rlx_tuple_new(p->ctx, fields, t->num_fields, t->place)
                          : NULL;
}

/* Does the callee, or whoever has the value of the call, write to argument i? */
static bool writes_argument(const copier *s, const rlx_call *call, size_t i, const rlx_var *var)
{
    const rlx_op *op = rlx_as_op(call->op);
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(s->module, gv) : -1;
    const rlx_function *f = index < 0 ? NULL : rlx_as_function(s->module->functions[index]);
    if (f)
        return i < f->num_params && rlx_is_written(&s->written, f->params[i]);
    return op && op->row && op->row->flags & RLX_OP_ALIAS && var &&
           rlx_is_written(&s->written, &var->node);
}

static const rlx_expr *call_with_copies(rlx_seq_pass *p, const rlx_call *call, const rlx_var *var)
{
    const rlx_expr **args = NULL;
    for (size_t i = 0; i < call->num_args; i++) {
        if (!writes_argument(p->user, call, i, var))
            continue;
        const rlx_expr *now = with_copies(p, call->args[i], MAX_NESTING);
        if (now && now != call->args[i] && !args)
            args = rlx_new_copy(p->ctx, call->args, call->num_args * sizeof *args);
        if (!now || (now != call->args[i] && !args))
            return NULL;
        if (args)
            args[i] = now;
    }
    return args ? rlx_call_new(p->ctx, call->op, args, call->num_args, call->sinfo_args,
                               call->num_sinfo_args, call->attrs, call->place)
                : &call->node;
}

static bool copy_in_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const copier *s = p->user;
    const rlx_var *var = rlx_binding_var(old);
    const rlx_expr *value = rlx_binding_value(now);
    bool written = var && rlx_is_written(&s->written, &var->node);
    if (rlx_as_call(value))
        value = call_with_copies(p, rlx_as_call(value), var);
    else if (written && value->kind == RLX_NODE_CONSTANT && now->kind == RLX_NODE_VAR_BINDING)
        value = copy_of(p, value);
    else if (written)
        value = with_copies(p, value, MAX_NESTING);
    return value && rlx_seq_emit(p, rlx_with_value(p->ctx, now, value));
}

static const rlx_expr *copy_in_result(rlx_seq_pass *p, const rlx_expr *sequence,
                                      const rlx_expr *body)
{
    const copier *s = p->user;
    return rlx_is_written(&s->written, sequence) ? with_copies(p, body, MAX_NESTING) : body;
}

const rlx_module *rlx_pass_copy_constants(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    copier s = { .module = m,
                 .env = rlx_module_env(m),
                 .packed = rlx_op_find(RLX_SLICE("call_pure_packed")) };
    const rlx_module *out = NULL;
    if (rlx_find_written(run->ctx, m, &s.written)) {
        rlx_seq_init(&p, run->ctx, m, &s);
        p.binding = copy_in_binding;
        p.result_of = copy_in_result;
        out = s.written.any ? rlx_seq_module(&p, m) : m;
        rlx_seq_free(&p);
    }
    rlx_written_free(&s.written);
    return out;
}
