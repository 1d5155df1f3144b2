/* desc_fit.c: descriptions compared with each other: do they exclude each other, does one surely fit. */
/* built for size */
#include "desc/desc_int.h"

static void know(rlx_desc_known *k, int64_t dim, int64_t value)
{
    uint32_t number = rlx_desc_dim_slot(dim);
    if (rlx_desc_dim_tag_of(dim) != RLX_DIM_BINDER || !number || number > RLX_DESC_MAX_KNOWN)
        return;
    k->has |= (uint64_t)1 << (number - 1);
    k->value[number - 1] = value;
}

/* Sizes that the value of a parameter gives. */
void rlx_desc_know_param(rlx_desc_known *k, const int64_t *node, const relax_value *v)
{
    rlx_desc_info x;
    const DLTensor *t = rlx_value_view(v);
    const rlx_shape_object *s = rlx_value_shape(v);
    rlx_desc_describe(node, &x);
    if (!x.dims)
        return;
    if (x.kind == RLX_DESC_PRIM && v->type_index == RELAX_VALUE_INT)
        know(k, x.dims[0], v->v.i);
    for (int32_t i = 0; x.kind == RLX_DESC_TENSOR && t && t->ndim == x.ndim && i < x.ndim; i++)
        know(k, x.dims[i], t->shape[i]);
    for (int32_t i = 0; x.kind == RLX_DESC_SHAPE && s && s->ndim == (size_t)x.ndim && i < x.ndim;
         i++)
        know(k, x.dims[i], s->dims[i]);
}

/* Is the size a number here? */
static bool is_number(int64_t dim, const rlx_desc_known *k, const int64_t *syms, int64_t *out)
{
    uint32_t slot = rlx_desc_dim_slot(dim);
    switch (rlx_desc_dim_tag_of(dim)) {
    case RLX_DIM_LITERAL: *out = rlx_desc_dim_value(dim); return true;
    case RLX_DIM_SYMBOL:
        *out = syms ? syms[slot] : 0;
        return syms != NULL;
    case RLX_DIM_BINDER:
        if (!k || !slot || slot > RLX_DESC_MAX_KNOWN || !(k->has >> (slot - 1) & 1))
            return false;
        *out = k->value[slot - 1];
        return true;
    default: return false;
    }
}

/* The two descriptions of functions that are compared: what is carried, what is asked for. */
typedef struct pair {
    const rlx_desc_known *known; /* of a */
    const int64_t *syms;         /* of b */
} pair;

/* Do two nodes exclude each other, whatever is in them? */
static bool tops_clash(const pair *p, const int64_t *a, const int64_t *b, bool *nested)
{
    rlx_desc_info x, y;
    int64_t m, n;
    rlx_desc_describe(a, &x);
    rlx_desc_describe(b, &y);
    *nested = false;
    if (x.kind == RLX_DESC_OBJECT || y.kind == RLX_DESC_OBJECT)
        return false;
    if (x.kind != y.kind ||
        (!rlx_dtype_is_void(x.dtype) && !rlx_dtype_is_void(y.dtype) && x.dtype != y.dtype) ||
        (x.ndim >= 0 && y.ndim >= 0 && x.ndim != y.ndim))
        return true;
    int32_t dims = !x.dims || !y.dims ? 0 : x.kind == RLX_DESC_PRIM ? 1 : x.ndim;
    for (int32_t i = 0; i < dims; i++)
        if (is_number(x.dims[i], p->known, NULL, &m) && is_number(y.dims[i], NULL, p->syms, &n) &&
            m != n)
            return true;
    *nested = x.kind == RLX_DESC_TUPLE || x.kind == RLX_DESC_FUNC;
    bool derive = (rlx_desc_node_flags(a) | rlx_desc_node_flags(b)) & RLX_DESC_OPEN;
    *nested = *nested && !(x.kind == RLX_DESC_FUNC && derive);
    return *nested && rlx_desc_node_count(a) != rlx_desc_node_count(b);
}

/* Do two descriptions exclude each other? Goes through both in step. */
bool rlx_descs_clash(const rlx_desc_known *known, const int64_t *syms, const int64_t *a,
                     const int64_t *b)
{
    const pair p = { known, syms };
    const int64_t *stack[RLX_DESC_MAX_NESTING * 2][2];
    uint32_t left[RLX_DESC_MAX_NESTING * 2];
    int depth = 0;
    for (;;) {
        bool nested;
        if (tops_clash(&p, a, b, &nested))
            return true;
        uint32_t children = nested ? rlx_desc_node_count(a) +
                                         (rlx_desc_kind_of(a) == RLX_DESC_FUNC)
                                   : 0;
        if (children && depth < RLX_DESC_MAX_NESTING * 2) {
            stack[depth][0] = a + rlx_desc_node_words(a);
            stack[depth][1] = b + rlx_desc_node_words(b);
            left[depth++] = children;
            a++, b++;
        } else {
            a += rlx_desc_node_words(a), b += rlx_desc_node_words(b);
        }
        while (depth && left[depth - 1] == 0) {
            depth--;
            a = stack[depth][0], b = stack[depth][1];
        }
        if (!depth)
            return false;
        left[depth - 1]--;
    }
}

/* Is all that `have` describes as `want` says? Nesting is bounded, so recursion is. */
static bool surely_fits(const int64_t *syms, const int64_t *have, const int64_t *want)
{
    rlx_desc_info x, y;
    int64_t m, n;
    rlx_desc_describe(have, &x);
    rlx_desc_describe(want, &y);
    if (y.kind == RLX_DESC_OBJECT)
        return true;
    if (x.kind != y.kind || y.kind == RLX_DESC_FUNC ||
        (rlx_desc_node_flags(want) & (RLX_DESC_HAS_DEVICE | RLX_DESC_HAS_REGISTER)) ||
        (!rlx_dtype_is_void(y.dtype) && x.dtype != y.dtype) || (y.ndim >= 0 && x.ndim != y.ndim) ||
        (y.dims && !x.dims))
        return false;
    int32_t dims = !y.dims ? 0 : y.kind == RLX_DESC_PRIM ? 1 : y.ndim;
    for (int32_t i = 0; i < dims; i++)
        if (rlx_desc_dim_tag_of(y.dims[i]) != RLX_DIM_ANY &&
            !(is_number(x.dims[i], NULL, NULL, &m) && is_number(y.dims[i], NULL, syms, &n) &&
              m == n))
            return false;
    uint32_t count = y.kind == RLX_DESC_TUPLE ? rlx_desc_node_count(want) : 0;
    if (y.kind == RLX_DESC_TUPLE && rlx_desc_node_count(have) != count)
        return false;
    for (have++, want++; count; count--) {
        if (!surely_fits(syms, have, want))
            return false;
        have += rlx_desc_node_words(have), want += rlx_desc_node_words(want);
    }
    return true;
}

bool rlx_desc_result_fits(const rlx_desc_env *env, uint32_t signature, uint32_t want)
{
    const int64_t *wanted = rlx_item_node(env->descs, want);
    if (rlx_desc_kind_of(wanted) == RLX_DESC_OBJECT)
        return true;
    if (signature == RLX_NO_INDEX)
        return false;
    const int64_t *f = rlx_item_node(env->descs, signature);
    const int64_t *result = rlx_desc_child_at(f, rlx_desc_node_count(f));
    return result && surely_fits(env->syms, result, wanted);
}

bool rlx_desc_args_fit(const int64_t *descs, uint32_t have, uint32_t params, uint32_t num_args)
{
    const int64_t *field = rlx_item_node(descs, have), *at = rlx_item_node(descs, params) + 1;
    if (rlx_desc_kind_of(field) != RLX_DESC_TUPLE || rlx_desc_node_count(field) != num_args ||
        rlx_desc_node_count(rlx_item_node(descs, params)) < num_args)
        return false;
    field++;
    for (uint32_t i = 0; i < num_args; i++) {
        const int64_t *param = at + 1; /* behind its name */
        if (!surely_fits(NULL, field, param))
            return false;
        field += rlx_desc_node_words(field);
        at = param + rlx_desc_node_words(param);
    }
    return true;
}
