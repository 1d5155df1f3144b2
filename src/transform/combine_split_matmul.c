/*- combine_split_matmul: products of all parts of a tensor with the same weights become one.
 *
 *     s = R.split(x, indices_or_sections=2, axis=0)     s = R.split(x, indices_or_sections=2, axis=0)
 *     a = s[0]                                          p = R.matmul(x, w)
 *     b = s[1]                                    ->    q = R.split(p, indices_or_sections=2, axis=0)
 *     u = R.matmul(a, w)                                u = q[0]
 *     v = R.matmul(b, w)                                v = q[1]
 *
 * So are recurrent networks that are written out step by step: what the steps multiply their inputs with does not hang on the step before, and
 * weights are read once in place of once for each row. Where the first of them stood, if all parts are multiplied, once each, in one block.
 *
 * needs: normal form, struct info. keeps: all numbers, as each sum has its steps. Left alone: what is read from memory that somebody writes to. */
#include "transform/edit.h"
#include "transform/transform_int.h"

enum { MOST_CALLS = 8, LEAST_PARTS = 2 };

/* Products of parts of one tensor with the same weights. */
typedef struct family {
    const rlx_var *parts;            /* the tuple that they are */
    const rlx_expr *whole;           /* what was cut */
    const rlx_expr *weights;
    const rlx_attr *attrs;
    const rlx_block *block;
    size_t next;                     /* family of the same parts + 1; 0: none */
    int64_t count, found;            /* parts; those that are multiplied */
    bool *has;
    bool fits;
    const rlx_var *made;             /* the parts of the product; NULL: it comes with the first of them */
} family;

typedef struct combining {
    const rlx_module *module;
    rlx_env env;
    const rlx_op_row *split, *matmul;
    rlx_ptrmap calls, items;         /* variable of the function under way -> its value, a call or an item of a tuple */
    rlx_ptrmap first;                /* parts -> first family of them + 1 */
    rlx_ptrmap of_product;           /* variable that a product is bound to -> its family + 1 */
    RLX_VEC(family) families;
    rlx_written written;
    family *under_way;               /* of the binding; NULL: none */
    int64_t item;
} combining;

static const rlx_expr *value_in(const rlx_ptrmap *values, const rlx_expr *e)
{
    uintptr_t v;
    return rlx_as_var(e) && rlx_ptrmap_find(values, e, &v) ? (const rlx_expr *)v : NULL;
}

/* The part that a product is of; NULL: its left operand is none. */
static const rlx_tuple_get_item *part_of(const combining *s, const rlx_call *product)
{
    return (const rlx_tuple_get_item *)value_in(&s->items, product->args[0]);
}

static const rlx_call *call_of(const rlx_expr *e, const rlx_op_row *row)
{
    const rlx_op_row *is = e ? rlx_callee_op(e) : NULL;
    return is && is == row ? (const rlx_call *)e : NULL;
}

static size_t rank_of(rlx_mutator *m, const combining *s, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(rlx_leaf_sinfo(m->ctx, &s->env, e));
    size_t n;
    return t && rlx_shape_dims(t->shape, &n) ? n : 0;
}

/* The call that cuts a tensor into so many parts alike along its first axis; NULL: it is none. */
static const rlx_call *split_of(rlx_mutator *m, const combining *s, const rlx_expr *parts, int64_t *count)
{
    const rlx_call *split = call_of(value_in(&s->calls, parts), s->split);
    const rlx_tensor_sinfo *t = split ? rlx_as_tensor_sinfo(rlx_leaf_sinfo(m->ctx, &s->env, split->args[0])) : NULL;
    size_t ndim;
    int64_t whole;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &ndim) : NULL;
    const rlx_attr *sections = split ? rlx_call_attr(split, "indices_or_sections") : NULL;
    if (!dims || ndim < 2 || !sections || !rlx_is(sections, RLX_NODE_ATTR_INT) || rlx_attr_as_int(rlx_call_attr(split, "axis"), 0) != 0 ||
        !rlx_int_literal(dims[0], &whole))
        return NULL;
    *count = rlx_attr_as_int(sections, 0);
    return *count >= LEAST_PARTS && whole % *count == 0 && whole > 0 ? split : NULL;
}

/* The family of a product; a new one, if there is none. SIZE_MAX: out of memory. */
static size_t find_family(rlx_mutator *m, combining *s, const family *like)
{
    uintptr_t first = 0;
    (void)rlx_ptrmap_find(&s->first, like->parts, &first);
    for (size_t i = first; i; i = s->families.data[i - 1].next) {
        const family *f = &s->families.data[i - 1];
        if (f->weights == like->weights && f->block == like->block && f->attrs == like->attrs)
            return i - 1;
    }
    family one = *like;
    one.next = first;
    one.fits = true;
    one.has = rlx_new_zero(m->ctx, (size_t)one.count);
    return one.has && rlx_vec_push(&m->ctx->memory, &s->families, one) && rlx_ptrmap_put(&s->first, like->parts, s->families.len)
               ? s->families.len - 1
               : SIZE_MAX;
}

/* Notes a product of a part. False: out of memory. */
static bool note_product(rlx_mutator *m, combining *s, const rlx_var *var, const rlx_call *product, const rlx_block *block)
{
    const rlx_tuple_get_item *item = part_of(s, product);
    family like = { .parts = item ? rlx_as_var(item->tuple) : NULL, .weights = product->args[1], .attrs = product->attrs, .block = block };
    const rlx_call *split = block && like.parts ? split_of(m, s, item->tuple, &like.count) : NULL;
    if (!split || rank_of(m, s, product->args[1]) != 2)
        return true;
    like.whole = split->args[0];
    const size_t at = find_family(m, s, &like);
    if (at == SIZE_MAX)
        return false;
    family *f = &s->families.data[at];
    f->fits &= !f->has[item->index];
    f->has[item->index] = true;
    f->found++;
    return rlx_ptrmap_put(&s->of_product, var, at + 1);
}

/* Of families: those that have all parts, and read nothing that somebody writes to. *any: there are such. False: out of memory. */
static bool judge_families(rlx_mutator *m, combining *s, bool *any)
{
    *any = false;
    for (size_t i = 0; i < s->families.len; i++) {
        s->families.data[i].fits &= s->families.data[i].found == s->families.data[i].count;
        *any |= s->families.data[i].fits;
    }
    if (*any && !rlx_find_written(m->ctx, s->module, &s->written))
        return false;
    *any = false;
    for (size_t i = 0; i < s->families.len; i++) {
        family *f = &s->families.data[i];
        f->fits = f->fits && !rlx_reads_written(&s->written, &s->calls, f->whole, MOST_CALLS) &&
                  !rlx_reads_written(&s->written, &s->calls, f->weights, MOST_CALLS);
        *any |= f->fits;
    }
    return true;
}

static const rlx_function *look_at_function(rlx_mutator *m, const rlx_function *f, bool *keep)
{
    combining *s = m->user;
    enum rlx_event_kind event;
    rlx_body_walk w = { 0 };
    rlx_ptrmap_clear(&s->calls);
    rlx_ptrmap_clear(&s->items);
    rlx_ptrmap_clear(&s->first);
    rlx_ptrmap_clear(&s->of_product);
    s->families.len = 0;
    bool good = rlx_body_begin(&w, m->ctx, f->body);
    while (good && (event = rlx_body_next(&w)) != RLX_EVENT_DONE) {
        const rlx_seq_cursor *at = &rlx_body_top(&w)->at;
        if (event == RLX_EVENT_VALUE)
            good = rlx_body_into(&w);
        else if (event == RLX_EVENT_BIND && rlx_binding_var(at->binding)) {
            const rlx_var *var = rlx_binding_var(at->binding);
            const rlx_expr *e = rlx_binding_value(at->binding);
            const rlx_call *product = call_of(e, s->matmul);
            rlx_ptrmap *values = rlx_callee_op(e) ? &s->calls : rlx_as_tuple_get_item(e) ? &s->items : NULL;
            good = (!values || rlx_ptrmap_put(values, var, (uintptr_t)e)) && (!product || note_product(m, s, var, product, at->block));
        }
    }
    rlx_body_free(&w);
    bool any = false;
    good = good && judge_families(m, s, &any);
    *keep = !any;
    return good ? f : NULL;
}

/* ---- functions that have such -------------------------------------------------------------------------- */

static enum rlx_begin begin_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    combining *s = m->user;
    uintptr_t at = 0;
    (void)place;
    s->under_way = NULL;
    if (rlx_binding_var(old) && rlx_ptrmap_find(&s->of_product, rlx_binding_var(old), &at) && s->families.data[at - 1].fits) {
        s->under_way = &s->families.data[at - 1];
        s->item = part_of(s, (const rlx_call *)rlx_binding_value(old))->index;
    }
    return RLX_BEGIN_REWRITE;
}

static const rlx_var *bind(rlx_mutator *m, const rlx_expr *e, rlx_place place)
{
    rlx_emit how = { .number = -1, .place = place };
    return e ? rlx_builder_emit(m->builder, e, &how) : NULL;
}

/* The product of the whole tensor, and its parts. NULL: failure. */
static const rlx_var *make_parts(rlx_mutator *m, const rlx_call *product)
{
    const rlx_expr *part = rlx_builder_lookup(m->builder, rlx_as_var(product->args[0])),
                   *tuple = part ? rlx_builder_lookup(m->builder, rlx_as_var(((const rlx_tuple_get_item *)part)->tuple)) : NULL;
    const rlx_call *split = (const rlx_call *)tuple;
    if (!split)
        return NULL;
    const rlx_expr *args[2] = { split->args[0], product->args[1] }, *whole;
    whole = (const rlx_expr *)bind(m, rlx_call_op_z(m->ctx, "matmul", args, 2, product->attrs, product->place), product->place);
    return whole ? bind(m, rlx_call_op_z(m->ctx, "split", &whole, 1, split->attrs, product->place), product->place) : NULL;
}

static const rlx_expr *take_part(rlx_mutator *m, const rlx_expr *now)
{
    combining *s = m->user;
    family *f = s->under_way;
    const rlx_call *product = f ? call_of(now, s->matmul) : NULL;
    if (!product)
        return now;
    s->under_way = NULL; /* what is emitted here is no product of a part */
    if (!f->made && !(f->made = make_parts(m, product)))
        return NULL;
    return rlx_tuple_get_item_new(m->ctx, (const rlx_expr *)f->made, s->item, product->place);
}

const rlx_module *rlx_pass_combine_split_matmul(rlx_pass_run *run, const rlx_module *m)
{
    rlx_mutator_hooks hooks = { .begin = begin_binding, .leave = take_part };
    combining s = { .module = m, .env = rlx_module_env(m), .split = rlx_op_find(RLX_SLICE("split")), .matmul = rlx_op_find(RLX_SLICE("matmul")) };
    rlx_mutation how = { .hooks = &hooks, .user = &s, .enter = look_at_function };
    rlx_memory *memory = &run->ctx->memory;
    rlx_ptrmap_init(&s.calls, memory);
    rlx_ptrmap_init(&s.items, memory);
    rlx_ptrmap_init(&s.first, memory);
    rlx_ptrmap_init(&s.of_product, memory);
    const rlx_module *out = rlx_mutate_module(run->ctx, m, &how);
    rlx_written_free(&s.written);
    rlx_vec_free(memory, &s.families);
    rlx_ptrmap_free(&s.calls);
    rlx_ptrmap_free(&s.items);
    rlx_ptrmap_free(&s.first);
    rlx_ptrmap_free(&s.of_product);
    return out && out != m ? rlx_pass_dead_code_elimination(run, out) : out;
}
