/* sized.c: naming the sizes of values, sized.h. */
#include "transform/sized.h"

#include "transform/transform_int.h"

#define MEMORY(s) (&(s)->p->ctx->memory)

void rlx_sized_init(rlx_sized *s, rlx_seq_pass *p)
{
    memset(s, 0, sizeof *s);
    s->p = p;
    rlx_ptrmap_init(&s->index, &p->ctx->memory);
}

void rlx_sized_free(rlx_sized *s)
{
    rlx_vec_free(MEMORY(s), &s->entries);
    rlx_vec_free(MEMORY(s), &s->casts);
    rlx_ptrmap_free(&s->index);
}

void rlx_sized_clear(rlx_sized *s)
{
    s->entries.len = 0;
    rlx_ptrmap_clear(&s->index);
}

void rlx_sized_leave(rlx_sized *s, size_t depth)
{
    while (s->entries.len && rlx_vec_last(&s->entries).depth >= depth)
        s->entries.len--;
}

bool rlx_sized_put(rlx_sized *s, const rlx_expr *var, const rlx_expr *with)
{
    rlx_sized_entry e = { var, with, rlx_seq_depth(s->p) };
    if (rlx_vec_push(MEMORY(s), &s->entries, e) &&
        rlx_ptrmap_put(&s->index, var, s->entries.len - 1))
        return true;
    return false;
}

/* Sequences inside of a dataflow block are functions: they do not see its variables. */
static const rlx_expr *find(const rlx_sized *s, const rlx_expr *var)
{
    uintptr_t at;
    if (!rlx_ptrmap_find(&s->index, var, &at) || at >= s->entries.len ||
        s->entries.data[at].var != var)
        return NULL;
    const rlx_sized_entry *e = &s->entries.data[at];
    bool hidden = e->with->kind == RLX_NODE_DATAFLOW_VAR && rlx_seq_depth(s->p) > e->depth;
    return hidden ? NULL : e->with;
}

/* ---- struct info with names for sizes ------------------------------------------------------- */

bool rlx_sizes_missing(const rlx_sinfo *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(info);
    return t && t->ndim >= 0 && t->ndim <= RLX_TIR_MAX_DIMS && !rlx_as_shape_expr(t->shape);
}

/* Is one so long that it may be what kept the sizes of a result from being stated? */
static bool has_long_size(const rlx_sinfo *info)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(info);
    const rlx_shape_expr *s = t ? rlx_as_shape_expr(t->shape) : NULL;
    bool found = false;
    for (size_t i = 0; s && i < s->num_values; i++)
        found |= rlx_is_long_size(s->values[i]);
    return found && s->num_values <= RLX_TIR_MAX_DIMS;
}

/* Maker of names: those of dimensions follow the variable's (x: x_d0, x_d1; field 2 of t:
 * t_2_d0). */
typedef struct namer { rlx_context *ctx; const rlx_var *var; rlx_place place; int field; } namer;

static const rlx_prim *name_size(const namer *n, size_t i)
{
    rlx_buf text;
    rlx_buf_init(&text, &n->ctx->memory);
    rlx_slice base = n->var->name ? rlx_string_slice(n->var->name) : RLX_SLICE("");
    rlx_buf_put(&text, base.len ? base.data : "d", base.len ? base.len : 1);
    if (n->var->number >= 0)
        rlx_buf_i64(&text, n->var->number);
    if (n->field >= 0)
        rlx_buf_format(&text, "_%d", n->field);
    rlx_buf_format(&text, "_d%zu", i);
    const rlx_string *name =
        text.failed ? NULL : rlx_string_intern(n->ctx, (rlx_slice){ text.data, text.len });
    rlx_buf_free(&text);
    return name ? (const rlx_prim *)rlx_prim_var_new(n->ctx, name, RELAX_INT64, n->place) : NULL;
}

static bool name_sizes(const namer *n, size_t count, const rlx_prim **out)
{
    for (size_t i = 0; i < count; i++)
        if (!(out[i] = name_size(n, i)))
            return false;
    return true;
}

/* Keeps what is known, of a variable that is the shape as well, but for long sizes. */
static const rlx_sinfo *named_tensor(const namer *n, const rlx_tensor_sinfo *t)
{
    const rlx_prim *dims[RLX_TIR_MAX_DIMS];
    size_t count = (size_t)t->ndim;
    const rlx_prim *const *known = rlx_shape_dims(t->shape, &count);
    for (size_t i = 0; i < count; i++) {
        bool keep = known && !rlx_is_long_size(known[i]);
        if (!(dims[i] = keep ? known[i] : name_size(n, i)))
            return NULL;
    }
    const rlx_expr *shape =
        count ? rlx_shape_new(n->ctx, dims, count) : rlx_shape_of_ints(n->ctx, NULL, 0);
    return shape ? rlx_tensor_info(n->ctx, shape, t->dtype, t->ndim, t->vdevice) : NULL;
}

static const rlx_sinfo *named_leaf(const namer *n, const rlx_sinfo *info)
{
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(info);
    const rlx_prim *dims[RLX_TIR_MAX_DIMS];
    if (rlx_sizes_missing(info) || has_long_size(info))
        return named_tensor(n, rlx_as_tensor_sinfo(info));
    if (!shape || shape->has_values || shape->ndim < 0 || shape->ndim > RLX_TIR_MAX_DIMS)
        return info;
    return name_sizes(n, (size_t)shape->ndim, dims)
               ? rlx_shape_info(n->ctx, dims, (size_t)shape->ndim)
               : NULL;
}

/* The struct info with a name for each size that has none; itself if there is none. Operators
 * take tuples of tensors, so one level of fields is enough. NULL: out of memory. */
static const rlx_sinfo *named(namer *n, const rlx_sinfo *info)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(info);
    rlx_memory *m = &n->ctx->memory;
    if (!t)
        return named_leaf(n, info);
    const rlx_sinfo **fields = rlx_mem_alloc(m, (t->num_fields + 1) * sizeof *fields);
    const rlx_sinfo *out = info;
    bool changed = false;
    if (!fields)
        return NULL;
    for (size_t i = 0; out && i < t->num_fields; i++) {
        n->field = (int)i;
        fields[i] = named_leaf(n, t->fields[i]);
        changed |= fields[i] != t->fields[i];
        out = fields[i] ? info : NULL;
    }
    if (out && changed)
        out = rlx_tuple_info(n->ctx, fields, t->num_fields);
    rlx_mem_free(m, fields, (t->num_fields + 1) * sizeof *fields);
    return out;
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* A cast of var to `info`, waiting. */
static const rlx_expr *cast(rlx_sized *s, const rlx_var *var, const rlx_sinfo *info,
                            rlx_place place)
{
    rlx_context *ctx = s->p->ctx;
    const rlx_var *v = rlx_var_like(ctx, var, rlx_seq_in_dataflow(s->p), info);
    const rlx_binding *b = v ? rlx_match_cast_new(ctx, v, info, &var->node, place) : NULL;
    if (!b || !rlx_scope_enter(&s->p->scope, info) || !rlx_sized_put(s, &var->node, &v->node))
        return NULL;
    return rlx_vec_push(MEMORY(s), &s->casts, b) ? &v->node : NULL;
}

static const rlx_expr *sized_var(rlx_sized *s, const rlx_var *var, rlx_place place)
{
    const rlx_expr *have = find(s, &var->node);
    namer n = { s->p->ctx, var, place, -1 };
    const rlx_sinfo *info = have ? NULL : named(&n, var->sinfo);
    if (have || info == var->sinfo)
        return have ? have : &var->node;
    return info ? cast(s, var, info, place) : NULL;
}

static const rlx_expr *sized_tuple(rlx_sized *s, const rlx_tuple *t, rlx_place place)
{
    size_t bytes = (t->num_fields + 1) * sizeof(const rlx_expr *);
    const rlx_expr **fields = rlx_mem_alloc(MEMORY(s), bytes), *out = &t->node;
    bool changed = false;
    if (!fields)
        return NULL;
    for (size_t i = 0; out && i < t->num_fields; i++) {
        const rlx_var *v = rlx_as_var(t->fields[i]);
        fields[i] = v && v->sinfo ? sized_var(s, v, place) : t->fields[i];
        changed |= fields[i] != t->fields[i];
        out = fields[i] ? out : NULL;
    }
    if (out && changed)
        out = rlx_tuple_new(s->p->ctx, fields, t->num_fields, t->place);
    rlx_mem_free(MEMORY(s), fields, bytes);
    return out;
}

const rlx_call *rlx_sized_call(rlx_sized *s, const rlx_call *call)
{
    const rlx_expr *args[RLX_OP_MAX_ARGS];
    bool changed = false;
    if (call->num_args > RLX_OP_MAX_ARGS)
        return call;
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_var *v = rlx_as_var(call->args[i]);
        const rlx_tuple *t = rlx_as_tuple(call->args[i]);
        args[i] = v && v->sinfo ? sized_var(s, v, call->place)
                  : t           ? sized_tuple(s, t, call->place)
                                : call->args[i];
        if (!args[i])
            return NULL;
        changed |= args[i] != call->args[i];
    }
    if (!changed)
        return call;
    return rlx_as_call(rlx_call_new(s->p->ctx, call->op, args, call->num_args, call->sinfo_args,
                                    call->num_sinfo_args, call->attrs, call->place));
}

bool rlx_sized_keep(rlx_sized *s)
{
    bool good = true;
    for (size_t i = 0; good && i < s->casts.len; i++)
        good = rlx_seq_emit(s->p, s->casts.data[i]);
    s->casts.len = 0;
    return good;
}

void rlx_sized_drop(rlx_sized *s)
{
    s->entries.len -= s->casts.len;
    s->casts.len = 0;
}
