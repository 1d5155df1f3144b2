/* scope.c: the shape variables that are known, their bounds and what they are equal to; scopes
 * nest. */
#include "arith/arith.h"

#include "arith/arith_int.h"

void rlx_scope_init(rlx_scope *s, rlx_context *ctx, const rlx_scope *parent)
{
    *s = (rlx_scope){ .ctx = ctx, .parent = parent };
    rlx_ptrmap_init(&s->vars, &ctx->memory);
}

void rlx_scope_free(rlx_scope *s)
{
    rlx_ptrmap_free(&s->vars);
    rlx_vec_free(&s->ctx->memory, &s->facts);
    rlx_vec_free(&s->ctx->memory, &s->equals);
}

/* What this scope itself, or the nearest one around it, knows of a variable. */
static const rlx_fact *known(const rlx_scope *s, const rlx_prim_var *var)
{
    for (; s; s = s->parent) {
        uintptr_t index;
        if (s->vars.len && rlx_ptrmap_find(&s->vars, var, &index))
            return &s->facts.data[index - 1];
    }
    return NULL;
}

/* The fact of this very scope, made from what is known outside if it is new. NULL: out of
 * memory. */
static rlx_fact *own_fact(rlx_scope *s, const rlx_prim_var *var)
{
    uintptr_t index;
    if (rlx_ptrmap_find(&s->vars, var, &index))
        return &s->facts.data[index - 1];
    rlx_fact fact = { var, INT64_MIN, INT64_MAX };
    const rlx_fact *outer = known(s->parent, var);
    if (outer)
        fact = *outer;
    if (!rlx_vec_push(&s->ctx->memory, &s->facts, fact))
        return NULL;
    if (rlx_ptrmap_put(&s->vars, var, s->facts.len))
        return &rlx_vec_last(&s->facts);
    (void)rlx_vec_pop(&s->facts);
    return NULL;
}

bool rlx_scope_bound(rlx_scope *s, const rlx_prim_var *var, int64_t low, int64_t high)
{
    rlx_fact *fact = own_fact(s, var);
    if (!fact)
        return false;
    if (low > fact->low)
        fact->low = low;
    if (high < fact->high)
        fact->high = high;
    return true;
}

bool rlx_scope_add(rlx_scope *s, const rlx_prim_var *var, bool non_negative)
{
    return rlx_scope_bound(s, var, non_negative ? 0 : INT64_MIN, INT64_MAX);
}

typedef struct entering { rlx_scope *scope; bool good; } entering;

static void enter_position(void *user, const rlx_prim *p, bool is_size)
{
    entering *e = user;
    const rlx_prim_var *v = rlx_position_var(p);
    if (v && e->good)
        e->good = rlx_scope_add(e->scope, v, is_size);
}

bool rlx_scope_enter(rlx_scope *scope, const rlx_sinfo *s)
{
    entering e = { scope, true };
    if (!s || !(s->flags & RLX_FLAG_HAS_VARS))
        return true;
    return rlx_each_position(&scope->ctx->memory, s, enter_position, &e) && e.good;
}

bool rlx_scope_has(const rlx_scope *s, const rlx_prim_var *var)
{
    return known(s, var) != NULL;
}

bool rlx_scope_fact(const rlx_scope *s, const rlx_prim_var *var, int64_t *low, int64_t *high)
{
    const rlx_fact *fact = known(s, var);
    *low = fact ? fact->low : INT64_MIN;
    *high = fact ? fact->high : INT64_MAX;
    return fact != NULL;
}

void rlx_scope_forget(rlx_scope *s, size_t count)
{
    while (s->facts.len > count)
        rlx_ptrmap_remove(&s->vars, rlx_vec_pop(&s->facts).var);
}

/* --- equalities --- */

bool rlx_scope_has_equals(const rlx_scope *s)
{
    while (s && !s->equals.len)
        s = s->parent;
    return s != NULL;
}

const rlx_prim *rlx_scope_value(const rlx_scope *s, const rlx_node *var)
{
    for (; s; s = s->parent)
        for (size_t i = 0; i < s->equals.len; i++)
            if (&s->equals.data[i].var->node == var)
                return s->equals.data[i].value;
    return NULL;
}

void rlx_scope_forget_equals(rlx_scope *s, size_t count)
{
    while (s->equals.len > count)
        (void)rlx_vec_pop(&s->equals);
}
