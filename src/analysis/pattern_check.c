/* pattern_check.c: conditions on what has been matched: names, equality, attributes, dtype,
 * sizes, struct info. */
/* built for size */
#include "analysis/pattern_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arith/arith.h"

/* Costs, in steps, of what is dearer than a look at a few pointers. */
enum { COST_PROOF = 64, COST_EQUAL = 16, COST_FUNCTION = 1024 };

bool rlx_check_name(const rlx_string *wanted, const rlx_string *name, int32_t number)
{
    char digits[16] = "";
    if (!wanted)
        return true;
    if (!name || number < 0)
        return name && rlx_string_equal(wanted, name);
    size_t count = (size_t)snprintf(digits, sizeof digits, "%d", (int)number);
    return wanted->len == name->len + count && memcmp(wanted->data, name->data, name->len) == 0 &&
           memcmp(wanted->data + name->len, digits, count) == 0;
}

static bool equal_nodes(rlx_matcher *m, const rlx_node *a, const rlx_node *b, uint64_t cost)
{
    return rlx_match_spend(m, cost) && rlx_equal(&m->ctx->memory, a, b, false, NULL) &&
           !m->ctx->diags.out_of_memory;
}

bool rlx_check_equal(rlx_matcher *m, const rlx_expr *a, const rlx_expr *b)
{
    const rlx_constant *c = rlx_as_constant(a), *d = rlx_as_constant(b);
    if (a == b)
        return true;
    if (a->kind != b->kind || rlx_as_var(a))
        return false;
    if (c && (c->dtype != d->dtype || c->data->size != d->data->size))
        return false;
    return equal_nodes(m, a, b, COST_EQUAL + (c ? c->data->size / 64 : 0));
}

/* ---- functions */

/* The function that a value is or names. */
static const rlx_node *function_of(const rlx_matcher *m, const rlx_expr *value)
{
    const rlx_module *module = m->scene ? m->scene->module : NULL;
    const rlx_global_var *gv = rlx_as_global_var(value);
    if (rlx_as_function(value) || rlx_as_extern_func(value) || rlx_as_prim_func(value))
        return value;
    int64_t at = gv && module ? rlx_module_index(module, gv) : -1;
    return at < 0 ? NULL : module->functions[at];
}

static const rlx_attr *attrs_of(const rlx_node *n)
{
    const rlx_function *f = rlx_as_function(n);
    const rlx_prim_func *p = rlx_as_prim_func(n);
    const rlx_call *c = rlx_as_call(n);
    return f ? f->attrs : p ? p->attrs : c ? c->attrs : NULL;
}

static const rlx_attr *without_symbol(rlx_matcher *m, const rlx_attr *attrs)
{
    if (!rlx_attrs_get(attrs, "global_symbol"))
        return attrs;
    return rlx_attrs_with(m->ctx, attrs, "global_symbol", NULL);
}

static bool equal_functions(rlx_matcher *m, const rlx_node *a, const rlx_node *b)
{
    const rlx_attr *attrs_a = without_symbol(m, attrs_of(a)),
                   *attrs_b = without_symbol(m, attrs_of(b));
    if (m->ctx->diags.out_of_memory || a->kind != b->kind)
        return false;
    if (rlx_as_function(a)) {
        rlx_function x = *rlx_as_function(a), y = *rlx_as_function(b);
        x.attrs = attrs_a;
        y.attrs = attrs_b;
        return equal_nodes(m, &x.node, &y.node, COST_FUNCTION);
    }
    if (rlx_as_prim_func(a)) {
        rlx_prim_func x = *rlx_as_prim_func(a), y = *rlx_as_prim_func(b);
        x.attrs = attrs_a;
        y.attrs = attrs_b;
        return equal_nodes(m, &x.node, &y.node, COST_FUNCTION);
    }
    return a == b;
}

bool rlx_check_function(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *value)
{
    const rlx_node *f = function_of(m, value);
    return f && (!p->like || f == p->like || equal_functions(m, f, p->like));
}

/* ---- numbers */

static uint64_t load(const unsigned char *bytes, size_t size)
{
    uint64_t bits = 0;
    if (size == 1)
        return bytes[0];
    if (size == 2) {
        uint16_t x;
        memcpy(&x, bytes, 2);
        return x;
    }
    if (size == 4) {
        uint32_t x;
        memcpy(&x, bytes, 4);
        return x;
    }
    memcpy(&bits, bytes, 8);
    return bits;
}

/* Is it an integer of that value, exactly? */
static bool is_integer(double value, uint64_t bits, bool is_signed)
{
    if (is_signed)
        return value >= -0x1p63 && value < 0x1p63 && value == floor(value) &&
               (int64_t)value == (int64_t)bits;
    return value >= 0 && value < 0x1p64 && value == floor(value) && (uint64_t)value == bits;
}

static bool same_float(double a, double b) { return a == b || (a != a && b != b); }

static bool constant_is(const rlx_constant *c, double value)
{
    size_t size = rlx_dtype_bytes(c->dtype);
    if (c->num_shape || !rlx_dtype_is_computable(c->dtype) || c->data->size < size || size > 8)
        return false;
    uint64_t bits = load(c->data->data, size);
    if (rlx_dtype_is_float(c->dtype))
        return same_float(rlx_dtype_load_float(c->dtype, c->data->data), value);
    bool is_signed =
        rlx_dtype_code(c->dtype) == rlx_dtype_code(RELAX_INT64) && !rlx_dtype_is_bool(c->dtype);
    unsigned unused = 64 - 8 * (unsigned)size;
    if (is_signed)
        bits = (uint64_t)((int64_t)(bits << unused) >> unused);
    return is_integer(value, bits, is_signed);
}

bool rlx_check_scalar(const rlx_pattern *p, const rlx_expr *value)
{
    const rlx_constant *c = rlx_as_constant(value);
    const rlx_prim_value *v = rlx_as_prim_value(value);
    const rlx_int_imm *i = v ? rlx_as_int_imm(v->value) : NULL;
    const rlx_float_imm *f = v ? rlx_as_float_imm(v->value) : NULL;
    if (c)
        return constant_is(c, p->value);
    if (f)
        return same_float(f->value, p->value);
    return i && is_integer(p->value, (uint64_t)i->value, true);
}

/* ---- sizes */

static bool is_bound_by_function(rlx_matcher *m, const rlx_prim_var *v)
{
    rlx_scope *scope = m->scene ? rlx_scene_scope(m->scene) : NULL;
    return scope && rlx_scope_has(scope, v);
}

/* The dimension with what its variables stand for; NULL: one is not known yet. */
static const rlx_prim *resolved(rlx_matcher *m, const rlx_prim *dim)
{
    const rlx_prim_var *from;
    const rlx_prim *out = dim;
    rlx_prim_vars vars = { 0 };
    if (!(dim->flags & RLX_FLAG_HAS_VARS) && !rlx_as_prim_var(dim))
        return dim;
    rlx_prims old = { 0 }, now = { 0 };
    rlx_memory *memory = &m->ctx->memory;
    bool good = rlx_collect_prim_vars(memory, dim, false, &vars), known = true;
    for (size_t i = 0; good && i < vars.len; i++) {
        uintptr_t at;
        from = vars.data[i];
        if (is_bound_by_function(m, from) || !rlx_ptrmap_find(&m->plan->index, from, &at))
            continue;
        known = known && m->sizes[at];
        good = rlx_vec_push(memory, &old, &from->node) && rlx_vec_push(memory, &now, m->sizes[at]);
    }
    if (good && known && old.len)
        good = (out = rlx_substitute(m->ctx, dim, old.data, now.data, old.len)) != NULL;
    rlx_vec_free(memory, &vars);
    rlx_vec_free(memory, &old);
    rlx_vec_free(memory, &now);
    return good && known && !m->ctx->diags.out_of_memory ? out : NULL;
}

/* Same as wanted, or the first sight of a variable that stands for a size: one that is widened has
 * another dtype. */
static bool check_size(rlx_matcher *m, const rlx_prim *wanted, const rlx_prim *have)
{
    uintptr_t at;
    const rlx_prim_var *v = rlx_as_prim_var(wanted);
    if (!wanted || wanted == have)
        return true;
    if (v && rlx_ptrmap_find(&m->plan->index, v, &at) && !m->sizes[at] &&
        !is_bound_by_function(m, v))
        return !m->ctx->diags.out_of_memory && rlx_match_set_size(m, (uint32_t)at, have);
    const rlx_prim *size = resolved(m, wanted);
    rlx_scope *scope = m->scene && size ? rlx_scene_scope(m->scene) : NULL;
    return size && rlx_match_spend(m, COST_PROOF) &&
           rlx_prove_equal(m->ctx, scope, size, have) == RLX_EQUAL;
}

/* Variables alone first: they say what the others are made of. */
bool rlx_check_sizes(rlx_matcher *m, const rlx_pattern *p, const rlx_prim *const *dims,
                     size_t ndim)
{
    bool good = p->num_dims == ndim;
    for (int alone = 1; alone >= 0; alone--)
        for (size_t i = 0; good && i < ndim; i++)
            if ((rlx_as_prim_var(p->dims[i]) != NULL) == alone)
                good = check_size(m, p->dims[i], dims[i]);
    return good && !m->ctx->diags.out_of_memory;
}

/* ---- struct info */

static const rlx_sinfo *unknown_global(void *user, const rlx_global_var *gv) { return NULL; }

static const rlx_sinfo *sinfo_of(rlx_matcher *m, const rlx_expr *e)
{
    rlx_env none = { .global = unknown_global };
    rlx_env env = m->scene && m->scene->module ? rlx_module_env(m->scene->module) : none;
    const rlx_sinfo *s = rlx_leaf_sinfo(m->ctx, &env, e);
    return m->ctx->diags.out_of_memory ? NULL : s;
}

/* Known sizes of a tensor or shape; NULL: not known. */
static const rlx_prim *const *sizes_of(const rlx_sinfo *s, size_t *ndim)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    static const rlx_prim *const none[1];
    if (!shape || !shape->has_values)
        return t ? rlx_shape_dims(t->shape, ndim) : NULL;
    *ndim = shape->num_values;
    return *ndim ? shape->values : none;
}

static bool check_attrs(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    const rlx_expr *value = rlx_match_look(m, e, NULL);
    const rlx_node *f = rlx_as_call(value) ? value : function_of(m, value);
    const rlx_attrs *wanted = rlx_as_attrs(p->like);
    const rlx_attr *have = attrs_of(f);
    for (size_t i = 0; f && i < wanted->num_keys; i++) {
        const rlx_attr *given =
            rlx_attrs_get(have, rlx_as_attr_string(wanted->keys[i])->value->data);
        if (!given ||
            (given != wanted->values[i] && !equal_nodes(m, given, wanted->values[i], COST_EQUAL)))
            return false;
    }
    return f != NULL;
}

bool rlx_check_condition(rlx_matcher *m, const rlx_pattern *p, const rlx_expr *e)
{
    if (p->kind == RLX_PATTERN_ATTRS)
        return check_attrs(m, p, e);
    const rlx_sinfo *s = sinfo_of(m, e);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_prim_sinfo *prim = rlx_as_prim_sinfo(s);
    size_t ndim = 0;
    if (p->kind == RLX_PATTERN_DTYPE)
        return (t && t->dtype == p->dtype) || (prim && prim->dtype == p->dtype);
    if (p->kind == RLX_PATTERN_SIZES) {
        const rlx_prim *const *dims = s ? sizes_of(s, &ndim) : NULL;
        return dims && rlx_check_sizes(m, p, dims, ndim);
    }
    rlx_scope *scope = s && m->scene ? rlx_scene_scope(m->scene) : NULL;
    return s && rlx_match_spend(m, COST_PROOF) &&
           rlx_assignable(m->ctx, scope, s, p->like, NULL) == RLX_ASSIGNABLE_YES;
}

bool rlx_check_same_shape(rlx_matcher *m, const rlx_expr *a, const rlx_expr *b)
{
    const rlx_sinfo *s = sinfo_of(m, a), *t = sinfo_of(m, b);
    const rlx_tensor_sinfo *x = rlx_as_tensor_sinfo(s), *y = rlx_as_tensor_sinfo(t);
    size_t na = 0, nb = 0;
    if (!x || !y)
        return false;
    if (x->shape && x->shape == y->shape)
        return true;
    const rlx_prim *const *da = sizes_of(s, &na), *const *db = sizes_of(t, &nb);
    rlx_scope *scope = m->scene ? rlx_scene_scope(m->scene) : NULL;
    return da && db && na == nb && rlx_match_spend(m, COST_PROOF) &&
           rlx_prove_equal_list(m->ctx, scope, da, na, db, nb) == RLX_EQUAL;
}
