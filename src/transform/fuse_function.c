/* fuse_function.c: the bodies of the TIR functions that a function calls, in one TIR function (fusion.h).
 *
 * A part is a tensor that has memory of its own: of a parameter, a constant, or what a call makes; a value is a run of
 * parts, a tuple that of its fields. First the bindings are gone through and each call noted with its parts, then it is
 * known which parts are parameters, outputs and temporaries, and the bodies are put together. */
#include "transform/fusion.h"
#include "tir/tir.h"
#include "transform/tir_call.h"

enum { MAX_NESTING = 64 };

typedef struct part {
    const rlx_tensor_sinfo *info;
    const rlx_string *name; int32_t number;
    rlx_place place;
    const rlx_expr *constant;
    uint32_t param, item;
    bool given;                          /* parameter or constant */
    bool used, written;
    int64_t input, output;               /* numbers, -1: none */
    const rlx_buffer *buffer;
} part;
/* A run of parts; is_flat: each field of the tuple is one of them. */
typedef struct value { size_t first, count; const rlx_sinfo *info; bool is_flat; } value;
typedef struct step { rlx_tir_call call; size_t inputs, outputs; } step;

typedef struct fusion {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_function *f;
    RLX_VEC(part) parts;
    RLX_VEC(uint32_t) runs;              /* parts of values, and of inputs and outputs of steps */
    RLX_VEC(value) values;
    rlx_ptrmap value_of;                 /* variable -> number of its value + 1; constant -> part + 1 */
    RLX_VEC(step) steps;
    rlx_prims given_sizes;               /* by R.Shape and R.Prim parameters */
    RLX_VEC(const rlx_stmt *) stmts;
    rlx_ptrs temporaries;
    rlx_map names;                       /* of buffers and blocks -> how many */
    bool noalias;
    rlx_fused_function out;
} fusion;

#define MEMORY(z) (&(z)->ctx->memory)

/* ---- parts ---------------------------------------------------------------------------------- */

static int64_t count_parts(const rlx_sinfo *s, int depth)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    size_t n;
    if (!t)
        return rlx_as_tensor_sinfo(s)   ? (rlx_listed_dims(s, &n) ? 1 : -1)
               : rlx_as_shape_sinfo(s) || rlx_as_prim_sinfo(s) ? 0
                                                               : -1;
    int64_t sum = 0;
    for (size_t i = 0; i < t->num_fields; i++) {
        int64_t parts = depth < MAX_NESTING ? count_parts(t->fields[i], depth + 1) : -1;
        if (parts < 0)
            return -1;
        sum += parts;
    }
    return sum;
}

int64_t rlx_count_parts(const rlx_sinfo *s) { return count_parts(s, 0); }

static bool add_part(fusion *z, const rlx_sinfo *info, const rlx_var *like, const part *how)
{
    part p = *how;
    p.info = rlx_as_tensor_sinfo(info);
    p.name = like ? like->name : rlx_string_z(z->ctx, "param");
    p.number = like ? like->number : -1;
    p.place = like ? like->place : RLX_NO_PLACE;
    p.input = p.output = -1;
    return p.name && rlx_vec_push(MEMORY(z), &z->parts, p) &&
           rlx_vec_push(MEMORY(z), &z->runs, (uint32_t)z->parts.len - 1);
}

/* Sizes that a parameter is given by itself. */
static bool add_sizes(fusion *z, const rlx_sinfo *s)
{
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    const rlx_prim_sinfo *scalar = rlx_as_prim_sinfo(s);
    const rlx_prim *const *values = shape ? shape->values : scalar ? &scalar->value : NULL;
    size_t count = shape ? shape->num_values : scalar && scalar->value ? 1 : 0;
    for (size_t i = 0; i < count; i++)
        if (rlx_as_prim_var(values[i]) && !rlx_vec_push(MEMORY(z), &z->given_sizes, values[i]))
            return false;
    return true;
}

/* New parts for all tensors of a parameter. */
static bool add_params(fusion *z, const rlx_sinfo *s, const rlx_var *v, uint32_t param, uint32_t *item)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    if (rlx_as_tensor_sinfo(s))
        return add_part(z, s, v, &(part){ .param = param, .item = (*item)++, .given = true });
    if (!t)
        return add_sizes(z, s);
    for (size_t i = 0; i < t->num_fields; i++)
        if (!add_params(z, t->fields[i], v, param, item))
            return false;
    return true;
}

/* What was added to the runs since `first` is the value of v. */
static bool set_value(fusion *z, const rlx_var *v, size_t first, const rlx_sinfo *info)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(info);
    value now = { first, z->runs.len - first, info, t != NULL };
    for (size_t i = 0; t && i < t->num_fields; i++)
        now.is_flat &= rlx_as_tensor_sinfo(t->fields[i]) != NULL;
    return rlx_vec_push(MEMORY(z), &z->values, now) && rlx_ptrmap_put(&z->value_of, v, z->values.len);
}

static const value *value_of(const fusion *z, const rlx_expr *e)
{
    uintptr_t at;
    return rlx_as_var(e) && rlx_ptrmap_find(&z->value_of, e, &at) ? &z->values.data[at - 1] : NULL;
}

static bool take_params(fusion *z)
{
    for (size_t i = 0; i < z->f->num_params; i++) {
        const rlx_var *v = rlx_as_var(z->f->params[i]);
        size_t first = z->runs.len;
        uint32_t item = 0;
        if (rlx_count_parts(v->sinfo) < 0 || !add_params(z, v->sinfo, v, (uint32_t)i, &item) ||
            !set_value(z, v, first, v->sinfo))
            return false;
    }
    return true;
}

/* ---- bindings ------------------------------------------------------------------------------- */

/* The part that a tensor is; constants become parts when they are met. */
static bool push_tensor(fusion *z, const rlx_expr *e)
{
    uintptr_t at;
    const value *v = value_of(z, e);
    const rlx_env env = rlx_module_env(z->module);
    if (v)
        return v->count == 1 && rlx_as_tensor_sinfo(v->info) &&
               rlx_vec_push(MEMORY(z), &z->runs, z->runs.data[v->first]);
    if (!rlx_as_constant(e))
        return false;
    if (rlx_ptrmap_find(&z->value_of, e, &at))
        return rlx_vec_push(MEMORY(z), &z->runs, (uint32_t)at - 1);
    return add_part(z, rlx_leaf_sinfo(z->ctx, &env, e), NULL, &(part){ .constant = e, .given = true }) &&
           rlx_ptrmap_put(&z->value_of, e, z->parts.len);
}

static bool push_output(fusion *z, const rlx_tir_call *c, size_t inputs, size_t i, const rlx_var *v)
{
    if (c->inplace[i] < 0)
        return add_part(z, &c->outputs[i]->node, v, &(part){ .used = true });
    uint32_t over = z->runs.data[inputs + (size_t)c->inplace[i]];
    z->parts.data[over].written = true;
    return !z->parts.data[over].constant && rlx_vec_push(MEMORY(z), &z->runs, over);
}

static bool take_call(fusion *z, const rlx_var *v, const rlx_expr *e)
{
    if (!rlx_vec_push(MEMORY(z), &z->steps, ((step){ .inputs = z->runs.len })))
        return false;
    step *s = &rlx_vec_last(&z->steps);
    if (!rlx_tir_call_match(z->ctx, z->module, e, &s->call))
        return false;
    bool over_operand = false; /* whose memory another operand may share */
    for (size_t i = 0; i < s->call.num_outputs; i++)
        over_operand |= s->call.inplace[i] >= 0;
    z->noalias &= !over_operand || rlx_flag_attr(s->call.function->attrs, "tir.noalias");
    for (size_t i = 0; i < s->call.num_inputs; i++) {
        if (!push_tensor(z, s->call.inputs[i]))
            return false;
        z->parts.data[rlx_vec_last(&z->runs)].used = true;
    }
    s->outputs = z->runs.len;
    for (size_t i = 0; i < s->call.num_outputs; i++)
        if (!push_output(z, &s->call, s->inputs, i, v))
            return false;
    return set_value(z, v, s->outputs, s->call.call->sinfo_args[0]);
}

/* Runs are copied by number: the array moves as it grows. */
static bool push_run(fusion *z, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!rlx_vec_push(MEMORY(z), &z->runs, z->runs.data[first + i]))
            return false;
    return true;
}

static bool take_field(fusion *z, const rlx_var *v, const rlx_tuple_get_item *get)
{
    const value *from = value_of(z, get->tuple);
    const rlx_tuple_sinfo *t = from ? rlx_as_tuple_sinfo(from->info) : NULL;
    size_t first = z->runs.len, at = (size_t)get->index, skip = at;
    if (!t || at >= t->num_fields)
        return false;
    for (size_t i = skip = from->is_flat ? at : 0; !from->is_flat && i < at; i++)
        skip += (size_t)rlx_count_parts(t->fields[i]);
    const rlx_sinfo *info = t->fields[at];
    return push_run(z, from->first + skip, (size_t)rlx_count_parts(info)) && set_value(z, v, first, info);
}

static bool push_value(fusion *z, const rlx_expr *e, int depth)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    const value *v = value_of(z, e);
    if (v)
        return push_run(z, v->first, v->count);
    if (!t)
        return push_tensor(z, e);
    for (size_t i = 0; i < t->num_fields; i++)
        if (depth >= MAX_NESTING || !push_value(z, t->fields[i], depth + 1))
            return false;
    return true;
}

static bool take_binding(fusion *z, const rlx_binding *b)
{
    const rlx_expr *e = rlx_binding_value(b);
    const rlx_var *v = rlx_binding_var(b);
    size_t first = z->runs.len;
    const rlx_env env = rlx_module_env(z->module);
    if (b->kind != RLX_NODE_VAR_BINDING || rlx_count_parts(v->sinfo) < 0)
        return false;
    if (rlx_as_tuple_get_item(e))
        return rlx_binding_checks_nothing(b) && take_field(z, v, rlx_as_tuple_get_item(e));
    if (rlx_as_call(e))
        return rlx_binding_checks_nothing(b) && take_call(z, v, e);
    return push_value(z, e, 0) && rlx_leaf_sinfo(z->ctx, &env, e) == v->sinfo && set_value(z, v, first, v->sinfo);
}

static bool take_body(fusion *z, const rlx_seq_expr *body)
{
    for (size_t i = 0; i < body->num_blocks; i++) {
        const rlx_block *block = rlx_as_block(body->blocks[i]);
        for (size_t k = 0; k < block->num_bindings; k++)
            if (!take_binding(z, block->bindings[k]))
                return false;
    }
    return true;
}

/* ---- inputs, outputs, results --------------------------------------------------------------- */

static bool number_inputs(fusion *z)
{
    rlx_fused_input *inputs = rlx_new(z->ctx, (z->parts.len + 1) * sizeof *inputs);
    for (size_t i = 0; inputs && i < z->parts.len; i++) {
        part *p = &z->parts.data[i];
        if (!p->given || !p->used)
            continue;
        p->input = (int64_t)z->out.num_inputs;
        inputs[z->out.num_inputs++] = (rlx_fused_input){ p->constant, p->param, p->item };
    }
    z->out.inputs = inputs;
    return inputs != NULL;
}

static void make_output(fusion *z, part *p, int64_t *inplace, const rlx_sinfo **outputs)
{
    if (p->output >= 0)
        return;
    p->output = (int64_t)z->out.num_outputs;
    inplace[z->out.num_outputs] = p->given ? p->input : -1;
    outputs[z->out.num_outputs++] = &p->info->node;
    z->out.writes |= p->given;
}

/* Results first; what is written and not given back comes after them. */
static bool number_outputs(fusion *z, size_t first)
{
    size_t n = z->runs.len - first, most = z->parts.len + 1;
    int64_t *results = rlx_new(z->ctx, (n + 1) * sizeof *results), *inplace = rlx_new(z->ctx, most * sizeof *inplace);
    const rlx_sinfo **outputs = rlx_new(z->ctx, most * sizeof *outputs);
    if (!results || !inplace || !outputs)
        return false;
    for (size_t i = 0; i < n; i++) {
        part *p = &z->parts.data[z->runs.data[first + i]];
        if (p->given && !p->used)
            return false;
        if (!p->given || p->written)
            make_output(z, p, inplace, outputs);
        results[i] = p->output >= 0 ? p->output : -1 - p->input;
    }
    for (size_t i = 0; i < z->parts.len; i++)
        if (z->parts.data[i].given && z->parts.data[i].written)
            make_output(z, &z->parts.data[i], inplace, outputs);
    z->out.results = results;
    z->out.num_results = n;
    z->out.inplace = inplace;
    z->out.outputs = outputs;
    return z->out.num_outputs > 0;
}

/* Sizes that something in the function mentions, and those that a parameter with memory binds. */
static bool collect_sizes(fusion *z, rlx_prim_vars *all, rlx_prim_vars *bound)
{
    rlx_memory *m = MEMORY(z);
    for (size_t i = 0; i < z->parts.len; i++) {
        const part *p = &z->parts.data[i];
        bool is_param = p->input >= 0 || p->output >= 0;
        if (p->used && (!rlx_collect_prim_vars(m, &p->info->node, false, all) ||
                        (is_param && !rlx_collect_prim_vars(m, &p->info->node, true, bound))))
            return false;
    }
    for (size_t i = 0; i < z->steps.len; i++)
        for (size_t k = 0; k < z->steps.data[i].call.to.len; k++)
            if (!rlx_collect_prim_vars(m, z->steps.data[i].call.to.data[k], false, all))
                return false;
    return true;
}

/* v is a scalar if it is not known yet; then it is. */
static bool add_scalar(fusion *z, rlx_ptrmap *known, rlx_prims *out, const rlx_prim *v)
{
    return rlx_ptrmap_has(known, v) || (rlx_ptrmap_put(known, v, 1) && rlx_vec_push(MEMORY(z), out, v));
}

/* Those that parameters are for, then what else is mentioned and not bound. */
static bool choose_scalars(fusion *z, const rlx_prim_vars *all, const rlx_prim_vars *bound, rlx_prims *out)
{
    rlx_ptrmap needed, known;
    bool good = true;
    rlx_ptrmap_init(&needed, MEMORY(z));
    rlx_ptrmap_init(&known, MEMORY(z));
    for (size_t i = 0; good && i < all->len; i++)
        good = rlx_ptrmap_put(&needed, all->data[i], 1);
    for (size_t i = 0; good && i < z->given_sizes.len; i++)
        good = !rlx_ptrmap_has(&needed, z->given_sizes.data[i]) ||
               add_scalar(z, &known, out, z->given_sizes.data[i]);
    for (size_t i = 0; good && i < bound->len; i++)
        good = rlx_ptrmap_put(&known, bound->data[i], 1);
    for (size_t i = 0; good && i < all->len; i++)
        good = add_scalar(z, &known, out, &all->data[i]->node);
    for (size_t i = 0; good && i < out->len; i++)
        good = rlx_prim_dtype(out->data[i]) == RELAX_INT64;
    rlx_ptrmap_free(&needed);
    rlx_ptrmap_free(&known);
    return good;
}

static bool find_scalars(fusion *z)
{
    rlx_prim_vars all = { 0 }, bound = { 0 };
    rlx_prims out = { 0 };
    bool good = collect_sizes(z, &all, &bound) && choose_scalars(z, &all, &bound, &out), copied = false;
    z->out.scalars = good ? rlx_nodes_copy(z->ctx, out.data, out.len, &copied) : NULL;
    z->out.num_scalars = out.len;
    rlx_vec_free(MEMORY(z), &all);
    rlx_vec_free(MEMORY(z), &bound);
    rlx_vec_free(MEMORY(z), &out);
    return copied;
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* A name that no other has: hint, hint_1, hint_2 ... */
static const rlx_string *unique_name(fusion *z, rlx_slice hint, int32_t number)
{
    rlx_buf text;
    rlx_buf_init(&text, MEMORY(z));
    rlx_buf_put(&text, hint.data, hint.len);
    if (number >= 0)
        rlx_buf_u64(&text, (uint64_t)number);
    size_t plain = text.len;
    uintptr_t count = (uintptr_t)rlx_map_get(&z->names, (rlx_slice){ text.data, text.len });
    bool good = !text.failed && rlx_map_put(&z->names, (rlx_slice){ text.data, text.len }, (void *)(count + 1));
    while (good && count) {
        text.len = plain;
        rlx_buf_put(&text, "_", 1);
        rlx_buf_u64(&text, count++);
        if (text.failed || !rlx_map_has(&z->names, (rlx_slice){ text.data, text.len }))
            break;
    }
    if (good && count > 1)
        good = !text.failed && rlx_map_put(&z->names, (rlx_slice){ text.data, text.len }, (void *)(uintptr_t)1);
    const rlx_string *name = good ? rlx_string_intern(z->ctx, (rlx_slice){ text.data, text.len }) : NULL;
    rlx_buf_free(&text);
    return name;
}

static bool make_buffers(fusion *z)
{
    for (size_t i = 0; i < z->parts.len; i++) {
        part *p = &z->parts.data[i];
        size_t n;
        const rlx_prim *const *dims = rlx_listed_dims(&p->info->node, &n);
        if (!p->used)
            continue;
        const rlx_string *name = unique_name(z, rlx_string_slice(p->name), p->number);
        p->buffer = name ? rlx_buffer_new(z->ctx, name, p->info->dtype, dims, n, NULL, p->place) : NULL;
        if (!p->buffer || (p->input < 0 && p->output < 0 &&
                           !rlx_vec_push(MEMORY(z), &z->temporaries, (void *)(uintptr_t)p->buffer)))
            return false;
    }
    return true;
}

typedef struct body_copy {
    fusion *z;
    const step *s;
    const rlx_node *(*fold)(rlx_rewriter *r, const rlx_node *n);
} body_copy;

/* A statement like n that may still be changed. */
static void *clone(rlx_context *ctx, const rlx_node *n)
{
    rlx_node *copy = rlx_node_new(ctx, (enum rlx_node_kind)n->kind);
    if (copy)
        memcpy(copy + 1, n + 1, rlx_kinds[n->kind].size - sizeof *n);
    return copy;
}

/* Blocks get names of their own; what a lowering has made stands where this call does. */
static const rlx_node *after_rewriting(rlx_rewriter *r, const rlx_node *n)
{
    body_copy *c = r->user;
    n = c->fold(r, n);
    if (!n || rlx_family_of(n) != RLX_FAMILY_STMT)
        return n;
    const rlx_tir_block *block = rlx_as_tir_block(n);
    bool moves = rlx_place_of(n) == c->s->call.function->place && c->s->call.call->place;
    bool named = block && block->name && block->num_iter_vars;
    void *now = moves || named ? clone(r->ctx, n) : NULL;
    if (moves && now)
        *(rlx_place *)(void *)((char *)now + rlx_kinds[n->kind].place_offset) = c->s->call.call->place;
    if (named && now)
        ((rlx_tir_block *)now)->name = unique_name(c->z, rlx_string_slice(block->name), -1);
    r->failed |= (moves || named) && (!now || (named && !((rlx_tir_block *)now)->name));
    return moves || named ? now : n;
}

static bool put_buffer(rlx_rewriter *r, const rlx_node *old, const rlx_buffer *now)
{
    const rlx_buffer *b = rlx_as_buffer(old);
    return rlx_ptrmap_put(&r->map, b, (uintptr_t)now) && rlx_ptrmap_put(&r->map, b->data, (uintptr_t)now->data);
}

static bool name_all(fusion *z, const step *s, rlx_rewriter *r)
{
    const rlx_tir_call *c = &s->call;
    for (size_t i = 0; i < c->num_inputs; i++)
        if (!put_buffer(r, c->function->buffers[i], z->parts.data[z->runs.data[s->inputs + i]].buffer))
            return false;
    for (size_t i = 0; i < c->num_outputs; i++)
        if (!put_buffer(r, c->function->buffers[rlx_tir_call_output(c, i)],
                        z->parts.data[z->runs.data[s->outputs + i]].buffer))
            return false;
    for (size_t i = 0; i < c->from.len; i++)
        if (!rlx_ptrmap_put(&r->map, c->from.data[i], (uintptr_t)c->to.data[i]))
            return false;
    return true;
}

/* The body without the root block, whose temporaries become those of the function. */
static const rlx_stmt *without_root(fusion *z, const rlx_stmt *s)
{
    const rlx_block_realize *r = rlx_as_block_realize(s);
    const rlx_tir_block *b = r ? rlx_as_tir_block(r->block) : NULL;
    const rlx_attrs *notes = b ? rlx_as_attrs(b->annotations) : NULL;
    if (!b || r->num_iter_values || !rlx_is_int_value(r->predicate, 1) || b->init || b->num_match_buffers ||
        (notes && notes->num_keys))
        return s;
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        if (!rlx_vec_push(MEMORY(z), &z->temporaries, (void *)(uintptr_t)b->alloc_buffers[i]))
            return NULL;
    return b->body;
}

/* Lets and assertions cover what comes after them, as text has it: their bodies are taken apart here. */
static bool covers(const rlx_stmt *s) { return rlx_as_let_stmt(s) || rlx_as_assert_stmt(s); }

static bool push_statements(fusion *z, const rlx_stmt *s)
{
    while (s) {
        const rlx_seq_stmt *seq = rlx_as_seq_stmt(s);
        for (size_t i = 0; seq && i + 1 < seq->num_stmts; i++)
            if (!rlx_vec_push(MEMORY(z), &z->stmts, seq->stmts[i]))
                return false;
        if (seq) {
            s = seq->num_stmts ? seq->stmts[seq->num_stmts - 1] : NULL;
            continue;
        }
        if (!rlx_vec_push(MEMORY(z), &z->stmts, s))
            return false;
        s = rlx_as_let_stmt(s)      ? ((const rlx_let_stmt *)s)->body
            : rlx_as_assert_stmt(s) ? ((const rlx_assert_stmt *)s)->body
                                    : NULL;
    }
    return true;
}

static const rlx_stmt *cover(rlx_context *ctx, const rlx_stmt *s, const rlx_stmt *rest)
{
    void *now = rest ? clone(ctx, s) : NULL;
    if (now)
        *(rlx_as_let_stmt(s) ? &((rlx_let_stmt *)now)->body : &((rlx_assert_stmt *)now)->body) = rest;
    return now;
}

static const rlx_stmt *join_statements(fusion *z)
{
    size_t end = z->stmts.len;
    for (size_t i = end; i-- > 0;) {
        if (!covers(z->stmts.data[i]))
            continue;
        const rlx_stmt *rest = rlx_seq_stmt_new(z->ctx, z->stmts.data + i + 1, end - i - 1, z->f->place);
        if (!(z->stmts.data[i] = cover(z->ctx, z->stmts.data[i], rest)))
            return NULL;
        end = i + 1;
    }
    return rlx_seq_stmt_new(z->ctx, z->stmts.data, end, z->f->place);
}

static bool copy_body(fusion *z, const step *s)
{
    rlx_rewriter r;
    const rlx_stmt *body = rlx_copy_fresh(z->ctx, s->call.function->body);
    rlx_tir_folder_init(&r, z->ctx);
    body_copy c = { z, s, r.after };
    r.after = after_rewriting;
    r.user = &c;
    body = body && name_all(z, s, &r) ? rlx_rewrite(&r, body) : NULL;
    rlx_rewriter_free(&r);
    body = body ? without_root(z, body) : NULL;
    return body && push_statements(z, body);
}

/* ---- the function --------------------------------------------------------------------------- */

typedef struct head { rlx_ptrs params, buffers; } head;

static bool add_parameter(fusion *z, head *h, const rlx_prim *var, const rlx_buffer *buffer)
{
    return var && rlx_vec_push(MEMORY(z), &h->params, (void *)(uintptr_t)var) &&
           rlx_vec_push(MEMORY(z), &h->buffers, (void *)(uintptr_t)buffer);
}

static bool add_buffer(fusion *z, head *h, const rlx_buffer *b)
{
    rlx_buf text;
    rlx_buf_init(&text, MEMORY(z));
    rlx_buf_put(&text, "var_", 4);
    rlx_buf_put(&text, b->name->data, b->name->len);
    const rlx_string *name =
        text.failed ? NULL : rlx_string_intern(z->ctx, (rlx_slice){ text.data, text.len });
    rlx_buf_free(&text);
    const rlx_prim_var *v = name ? rlx_prim_var_new(z->ctx, name, RELAX_HANDLE, b->place) : NULL;
    return v && add_parameter(z, h, &v->node, b);
}

/* Inputs, outputs in their order, scalars. */
static bool make_head(fusion *z, head *h)
{
    for (size_t i = 0; i < z->parts.len; i++)
        if (z->parts.data[i].input >= 0 && !add_buffer(z, h, z->parts.data[i].buffer))
            return false;
    const rlx_buffer **outputs = rlx_new_zero(z->ctx, (z->out.num_outputs + 1) * sizeof *outputs);
    for (size_t i = 0; outputs && i < z->parts.len; i++)
        if (z->parts.data[i].output >= 0 && z->parts.data[i].input < 0)
            outputs[z->parts.data[i].output] = z->parts.data[i].buffer;
    for (size_t i = 0; outputs && i < z->out.num_outputs; i++)
        if (outputs[i] && !add_buffer(z, h, outputs[i]))
            return false;
    for (size_t i = 0; i < z->out.num_scalars; i++)
        if (!add_parameter(z, h, z->out.scalars[i], NULL))
            return false;
    return outputs != NULL;
}

static const rlx_prim_func *assemble(fusion *z, const head *h, const rlx_stmt *body)
{
    bool ok = true, ok2 = true;
    rlx_context *ctx = z->ctx;
    rlx_prim_func *f = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    body = body ? rlx_tir_add_root(ctx, body, (const rlx_buffer *const *)z->temporaries.data, z->temporaries.len,
                                   z->f->place)
                : NULL;
    if (!f || !body)
        return NULL;
    f->place = z->f->place;
    f->params = rlx_nodes_copy(ctx, (const rlx_node *const *)h->params.data, h->params.len, &ok);
    f->buffers = rlx_nodes_copy(ctx, (const rlx_node *const *)h->buffers.data, h->buffers.len, &ok2);
    f->num_params = h->params.len;
    f->num_buffers = h->buffers.len;
    f->ret_dtype = RELAX_VOID;
    f->body = body;
    if (z->noalias)
        f->attrs = rlx_attrs_with(ctx, NULL, "tir.noalias", rlx_int(ctx, RELAX_BOOL, 1));
    return ok && ok2 && (f->attrs || !z->noalias) ? rlx_as_prim_func(rlx_copy_fresh(ctx, &f->node)) : NULL;
}

static const rlx_prim_func *make_prim(fusion *z)
{
    head h = { 0 };
    bool good = make_buffers(z);
    for (size_t i = 0; good && i < z->steps.len; i++)
        good = copy_body(z, &z->steps.data[i]);
    const rlx_prim_func *f = good && make_head(z, &h) ? assemble(z, &h, join_statements(z)) : NULL;
    rlx_vec_free(MEMORY(z), &h.params);
    rlx_vec_free(MEMORY(z), &h.buffers);
    return f;
}

static const rlx_fused_function *fuse(fusion *z)
{
    const rlx_seq_expr *body = rlx_as_seq_expr(z->f->body);
    if (!body || !z->f->is_pure || !take_params(z) || !take_body(z, body))
        return NULL;
    size_t first = z->runs.len;
    const rlx_env env = rlx_module_env(z->module);
    if (rlx_leaf_sinfo(z->ctx, &env, body->body) != z->f->ret_sinfo) /* it is checked */
        return NULL;
    if (!z->steps.len || !push_value(z, body->body, 0) || !number_inputs(z) || !number_outputs(z, first) ||
        !find_scalars(z) || !(z->out.prim = make_prim(z)))
        return NULL;
    z->out.function = z->f;
    return rlx_new_copy(z->ctx, &z->out, sizeof z->out);
}

const rlx_fused_function *rlx_fuse_function(rlx_context *ctx, const rlx_module *m, const rlx_function *f)
{
    fusion z = { .ctx = ctx, .module = m, .f = f, .noalias = true };
    rlx_memory *memory = &ctx->memory;
    rlx_ptrmap_init(&z.value_of, memory);
    rlx_map_init(&z.names, memory);
    const rlx_fused_function *out = fuse(&z);
    for (size_t i = 0; i < z.steps.len; i++)
        rlx_tir_call_free(&z.steps.data[i].call, ctx);
    rlx_vec_free(memory, &z.parts);
    rlx_vec_free(memory, &z.runs);
    rlx_vec_free(memory, &z.values);
    rlx_vec_free(memory, &z.steps);
    rlx_vec_free(memory, &z.given_sizes);
    rlx_vec_free(memory, &z.stmts);
    rlx_vec_free(memory, &z.temporaries);
    rlx_ptrmap_free(&z.value_of);
    rlx_map_free(&z.names);
    return out;
}
