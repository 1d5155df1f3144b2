/* desc_match.c: checking values against descriptions.
 *
 * One walker, three ways to go through it. FAST decides everything in one pass, as far as no
 * expression is involved. If it says no, FIRST and SECOND go again in the order the language
 * prescribes and say why.
 */
#include "desc/desc_int.h"

enum phase { FAST, FIRST, SECOND };

/* One open tuple (or parameter list): where we are in it. */
typedef struct level {
    const int64_t *node;
    const relax_value *values;
    uint32_t index, count;
    bool params;
} level;
typedef struct walk {
    const rlx_desc_env *env;
    rlx_fault *why;
    rlx_slice function; /* of a parameter list */
    int depth;
    level levels[RLX_DESC_MAX_NESTING + 1];
} walk;

/* ---- messages ------------------------------------------------------------------------------- */

/* "argument 1 of f: field 2, " */
static void put_path(const walk *w, rlx_desc_line *out)
{
    for (int i = 0; i < w->depth; i++) {
        const level *l = &w->levels[i];
        if (l->params)
            rlx_line_format(out, "argument %u of %.*s: ", l->index, (int)w->function.len,
                            w->function.data);
        else
            rlx_line_format(out, "field %u, ", l->index - 1);
    }
}

RLX_PRINTF(3, 4)
static RLX_NOINLINE RLX_SMALL bool mismatch(const walk *w, enum rlx_code_id code, const char *format, ...)
{
    if (!w->why)
        return false;
    char text[RLX_EXPR_TEXT + 96];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rlx_desc_line out = { w->why->text, sizeof w->why->text, 0 };
    rlx_desc_line_put(&out, "", 0);
    put_path(w, &out);
    rlx_desc_line_put(&out, text, strlen(text));
    w->why->code = (uint16_t)code;
    w->why->inner = 0;
    return false;
}

bool rlx_fault_wrap(rlx_fault *why, enum rlx_code_id code, const char *format, ...)
{
    if (!why)
        return false;
    char old[sizeof why->text];
    memcpy(old, why->text, sizeof old);
    rlx_desc_line out = { why->text, sizeof why->text, 0 };
    va_list args;
    va_start(args, format);
    int n = vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    out.len = n < 0 ? 0 : (size_t)n < out.cap ? (size_t)n : out.cap - 1;
    rlx_desc_line_put(&out, ": ", 2);
    rlx_desc_line_put(&out, old, strlen(old));
    why->inner = why->code;
    why->code = (uint16_t)code;
    return false;
}

static const char *kind_of_value(const relax_value *v)
{
    switch (v->type_index) {
    case RELAX_VALUE_NONE: return "null";
    case RELAX_VALUE_INT: return "an integer";
    case RELAX_VALUE_BOOL: return "a bool";
    case RELAX_VALUE_FLOAT: return "a float";
    case RELAX_VALUE_TENSOR:
    case RELAX_VALUE_TENSOR_VIEW: return "a tensor";
    case RELAX_VALUE_SHAPE: return "a shape";
    case RELAX_VALUE_RAW_STRING:
    case RELAX_VALUE_SMALL_STRING:
    case RELAX_VALUE_STRING: return "a string";
    case RELAX_VALUE_FUNCTION: return "a function";
    case RELAX_VALUE_ERROR: return "an error";
    case RELAX_VALUE_DTYPE: return "a dtype";
    }
    if (rlx_value_tuple(v))
        return "a tuple";
    if (rlx_value_is_function(v))
        return "a function";
    return "an object";
}

static bool wrong_kind(const walk *w, const relax_value *v, const char *wanted)
{
    return mismatch(w, RLX_RT02, "found %s, expected %s", kind_of_value(v), wanted);
}

/* ---- dimensions ----------------------------------------------------------------------------- */

/* "dimension 1 is 7, expected 2 * m = 8" */
RLX_SMALL static bool wrong_dim(const walk *w, const char *what, int index, int64_t have, int64_t dim,
                      int64_t want)
{
    char at[48], buffer[RLX_EXPR_TEXT];
    rlx_desc_line text = { buffer, sizeof buffer, 0 };
    snprintf(at, sizeof at, index < 0 ? "%s" : "%s %d", what, index);
    rlx_desc_dim_line(w->env, dim, &text);
    if (rlx_desc_dim_tag_of(dim) == RLX_DIM_LITERAL)
        return mismatch(w, RLX_RT05, "%s is %lld, expected %s", at, (long long)have, text.data);
    if (rlx_desc_dim_tag_of(dim) == RLX_DIM_BIND)
        return mismatch(w, RLX_RT05, "%s is %lld, a size (%s) is not negative", at,
                        (long long)have, text.data);
    return mismatch(w, RLX_RT05, "%s is %lld, expected %s = %lld", at, (long long)have, text.data,
                    (long long)want);
}

static RLX_NOINLINE bool check_expr(const walk *w, const char *what, int index, int64_t have,
                                    int64_t dim)
{
    int64_t want;
    rlx_fault inner = { 0 };
    if (!rlx_desc_expr_eval(w->env, rlx_desc_dim_index(dim), &want, &inner))
        return mismatch(w, RLX_RT14, "%s", inner.text);
    return have == want || wrong_dim(w, what, index, have, dim, want);
}

RLX_INLINE bool check_dim(walk *w, const char *what, int index, int64_t have, int64_t dim,
                          const enum phase phase)
{
    int64_t want;
    switch (rlx_desc_dim_tag_of(dim)) {
    case RLX_DIM_LITERAL:
        if (phase == FIRST || have == rlx_desc_dim_value(dim))
            return true;
        return phase == FAST ? false : wrong_dim(w, what, index, have, dim, 0);
    case RLX_DIM_BIND:
    case RLX_DIM_BIND_SIGNED:
        if (phase == SECOND)
            return true;
        if (have < 0 && rlx_desc_dim_tag_of(dim) == RLX_DIM_BIND)
            return phase == FAST ? false : wrong_dim(w, what, index, have, dim, 0);
        w->env->syms[rlx_desc_dim_slot(dim)] = have;
        return true;
    case RLX_DIM_SYMBOL:
        want = w->env->syms[rlx_desc_dim_slot(dim)];
        if (phase == FIRST || have == want)
            return true;
        return phase == FAST ? false : wrong_dim(w, what, index, have, dim, want);
    case RLX_DIM_EXPR:
        return phase != SECOND || check_expr(w, what, index, have, dim);
    default:
        return true;
    }
}

RLX_INLINE bool check_dims(walk *w, const int64_t *have, const int64_t *dims, uint32_t count,
                           const enum phase phase)
{
    for (uint32_t i = 0; i < count; i++)
        if (RLX_UNLIKELY(!check_dim(w, "dimension", (int)i, have[i], dims[i], phase)))
            return false;
    return true;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static bool wrong_key(const walk *w, const int64_t *node, const DLTensor *t)
{
    uint64_t differ = (rlx_dl_key(t) ^ (uint64_t)node[1]) & (uint64_t)node[2];
    if (differ >> 32) {
        rlx_desc_info info;
        char found[RLX_DTYPE_TEXT], wanted[RLX_DTYPE_TEXT];
        rlx_desc_describe(node, &info);
        rlx_dtype_name(rlx_dl_dtype(t), found);
        rlx_dtype_name(info.dtype, wanted);
        return mismatch(w, RLX_RT03, "dtype is %s, expected %s", found, wanted);
    }
    return mismatch(w, RLX_RT04, "rank is %d, expected %d", t->ndim, (int)(uint32_t)node[1]);
}

static bool check_device(const walk *w, const int64_t *node, const DLTensor *t)
{
    int32_t type = (int32_t)node[3], id = (int32_t)(node[3] >> 32);
    if ((int32_t)t->device.device_type == type && t->device.device_id == id)
        return true;
    return mismatch(w, RLX_RT13, "device is %d:%d, expected %d:%d", (int)t->device.device_type,
                    (int)t->device.device_id, (int)type, (int)id);
}

/* The tensor has the shape that the value of a variable says. */
static bool check_like(const walk *w, uint32_t reg, const DLTensor *t)
{
    const rlx_shape_object *shape = rlx_value_shape(&w->env->regs[reg]);
    if (!shape)
        return mismatch(w, RLX_RT02, "the variable that gives the shape holds %s",
                        kind_of_value(&w->env->regs[reg]));
    if (shape->ndim != (size_t)t->ndim)
        return mismatch(w, RLX_RT04, "rank is %d, expected %zu", t->ndim, shape->ndim);
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] != shape->dims[i])
            return mismatch(w, RLX_RT05, "dimension %d is %lld, expected %lld", i,
                            (long long)t->shape[i], (long long)shape->dims[i]);
    return true;
}

RLX_INLINE bool check_tensor(walk *w, const int64_t *node, const relax_value *v,
                             const enum phase phase)
{
    const DLTensor *t = rlx_value_view(v);
    uint32_t flags = rlx_desc_node_flags(node);
    if (RLX_UNLIKELY(!t))
        return phase == FAST ? false : wrong_kind(w, v, "a tensor");
    if (phase != SECOND &&
        RLX_UNLIKELY(((rlx_dl_key(t) ^ (uint64_t)node[1]) & (uint64_t)node[2]) != 0))
        return phase == FAST ? false : wrong_key(w, node, t);
    const int64_t *dims = node + 3;
    if (RLX_UNLIKELY(flags & (RLX_DESC_HAS_DEVICE | RLX_DESC_HAS_REGISTER))) {
        if ((flags & RLX_DESC_HAS_DEVICE) && phase != SECOND && !check_device(w, node, t))
            return false;
        dims += (flags & RLX_DESC_HAS_DEVICE) ? 1 : 0;
        if (flags & RLX_DESC_HAS_REGISTER)
            return phase != SECOND || check_like(w, (uint32_t)*dims, t);
    }
    return check_dims(w, t->shape, dims, rlx_desc_node_count(node), phase);
}

RLX_INLINE bool check_shape(walk *w, const int64_t *node, const relax_value *v,
                            const enum phase phase)
{
    const rlx_shape_object *s = rlx_value_shape(v);
    if (RLX_UNLIKELY(!s))
        return phase == FAST ? false : wrong_kind(w, v, "a shape");
    if (RLX_UNLIKELY(node[1] >= 0 && s->ndim != (size_t)node[1]))
        return phase == FAST ? false
                             : mismatch(w, RLX_RT04, "rank is %zu, expected %lld", s->ndim,
                                        (long long)node[1]);
    return check_dims(w, s->dims, node + 2, rlx_desc_node_count(node), phase);
}

static bool scalar_tag(rlx_dtype t, int32_t tag)
{
    if (rlx_dtype_is_void(t))
        return true;
    if (rlx_dtype_is_bool(t))
        return tag == RELAX_VALUE_BOOL;
    return tag == (rlx_dtype_is_float(t) ? RELAX_VALUE_FLOAT : RELAX_VALUE_INT);
}

static bool check_prim(walk *w, const int64_t *node, const relax_value *v, enum phase phase)
{
    rlx_dtype dtype = (rlx_dtype)node[1];
    if (v->type_index < RELAX_VALUE_INT || v->type_index > RELAX_VALUE_FLOAT)
        return wrong_kind(w, v, "a scalar");
    if (phase != SECOND && (!scalar_tag(dtype, v->type_index) ||
                            (v->type_index == RELAX_VALUE_INT && rlx_dtype_is_int(dtype) &&
                             !rlx_dtype_has_bits(dtype, v->v.i)))) {
        char wanted[RLX_DTYPE_TEXT];
        rlx_dtype_name(dtype, wanted);
        return mismatch(w, RLX_RT03, "found %s, expected a scalar of dtype %s",
                        scalar_tag(dtype, v->type_index) ? "an integer that does not fit"
                                                         : kind_of_value(v),
                        wanted);
    }
    if (!(rlx_desc_node_flags(node) & RLX_DESC_HAS_DIMS) || v->type_index == RELAX_VALUE_FLOAT)
        return true;
    return check_dim(w, "value", -1, v->v.i, node[2], phase);
}

/* ---- functions ------------------------------------------------------------------------------ */

/* The signature that a function carries against the one that is asked for. Arguments that it has
 * bound are the last ones: they are not asked for, and say what sizes are. */
static bool check_signature(const walk *w, const int64_t *have, const int64_t *node,
                            const relax_value *bound, size_t num_bound)
{
    rlx_desc_known k = { 0 };
    uint32_t params = rlx_desc_node_count(have), wanted = rlx_desc_node_count(node);
    const int64_t *a = have + 1, *b = node + 1, *first_bound = a;
    if (num_bound > params || params - num_bound != wanted)
        return mismatch(w, RLX_RT04, "function takes %zu arguments, expected %u",
                        num_bound > params ? 0 : params - num_bound, wanted);
    for (uint32_t i = 0; i < wanted; i++)
        first_bound += rlx_desc_node_words(first_bound);
    for (size_t i = 0; i < num_bound; i++, first_bound += rlx_desc_node_words(first_bound))
        rlx_desc_know_param(&k, first_bound, &bound[i]);
    for (uint32_t i = 0; i <= wanted; i++, b += rlx_desc_node_words(b)) {
        if (i == wanted)
            a = first_bound; /* the result */
        if (rlx_descs_clash(&k, w->env->syms, a, b))
            return mismatch(w, RLX_RT02, "the function has another signature");
        a += rlx_desc_node_words(a);
    }
    return true;
}

static bool check_func(const walk *w, const int64_t *node, const relax_value *v)
{
    const relax_value *bound;
    size_t num_bound;
    v = rlx_value_callee(v, &bound, &num_bound);
    if (v->type_index == RELAX_VALUE_FUNCTION || rlx_value_has_mark(v, RLX_MARK_EXTERN))
        return true; /* a packed function takes anything */
    if (!rlx_value_has_mark(v, RLX_MARK_FUNCTION))
        return wrong_kind(w, v, "a function");
    const rlx_module_function *f = v->v.p;
    uint32_t flags = rlx_desc_node_flags(node);
    if (flags & RLX_DESC_PACKED)
        return mismatch(w, RLX_RT02, "found a function of the module, expected a packed function");
    if (f->signature == RLX_NO_INDEX)
        return true;
    const int64_t *have = rlx_item_node(f->descs, f->signature);
    if ((flags & RLX_DESC_PURE) && !(rlx_desc_node_flags(have) & RLX_DESC_PURE))
        return mismatch(w, RLX_RT02, "found an impure function, expected a pure one");
    if ((flags | rlx_desc_node_flags(have)) & RLX_DESC_OPEN)
        return true;
    return check_signature(w, have, node, bound, num_bound);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static bool open_tuple(walk *w, const int64_t *node, const relax_value *v, enum phase phase)
{
    const rlx_tuple_object *t = rlx_value_tuple(v);
    uint32_t count = rlx_desc_node_count(node);
    if (!t)
        return wrong_kind(w, v, "a tuple");
    if (phase != SECOND && t->count != count)
        return mismatch(w, RLX_RT04, "length is %zu, expected %u", t->count, count);
    w->levels[w->depth++] = (level){ node + 1, t->fields, 0, count, false };
    return true;
}

RLX_INLINE bool check_node(walk *w, const int64_t *node, const relax_value *v,
                           const enum phase phase)
{
    switch (rlx_desc_kind_of(node)) {
    case RLX_DESC_TENSOR: return check_tensor(w, node, v, phase);
    case RLX_DESC_SHAPE: return check_shape(w, node, v, phase);
    case RLX_DESC_PRIM: return check_prim(w, node, v, phase);
    case RLX_DESC_TUPLE: return open_tuple(w, node, v, phase);
    case RLX_DESC_FUNC: return phase == SECOND || check_func(w, node, v);
    default: return true;
    }
}

/* Goes through the open levels until none is left. */
RLX_INLINE bool run_levels(walk *w, const enum phase phase)
{
    while (w->depth) {
        level *l = &w->levels[w->depth - 1];
        if (l->index == l->count) {
            w->depth--;
            continue;
        }
        const int64_t *node = l->node + l->params;
        const relax_value *v = &l->values[l->index++];
        l->node = node + rlx_desc_node_words(node);
        if (RLX_UNLIKELY(!check_node(w, node, v, phase)))
            return false;
    }
    return true;
}

static bool run_fast(walk *w) { return run_levels(w, FAST); }
/* FIRST or SECOND: only failures and expressions come here, so one copy of the code serves
 * both. */
static RLX_NOINLINE bool run_slow(walk *w, enum phase phase) { return run_levels(w, phase); }
static RLX_NOINLINE bool match_slow(walk *w, const int64_t *node, const relax_value *v,
                                    enum phase phase)
{
    w->depth = 0;
    return check_node(w, node, v, phase) && run_slow(w, phase);
}

bool rlx_desc_match(const rlx_desc_env *env, uint32_t offset, const relax_value *v, rlx_fault *why)
{
    const int64_t *node = rlx_item_node(env->descs, offset);
    walk w;
    w.env = env;
    w.why = NULL;
    w.depth = 0;
    bool late = rlx_desc_node_flags(node) & RLX_DESC_LATE;
    bool fine = check_node(&w, node, v, FAST) && (w.depth == 0 || run_fast(&w));
    if (RLX_LIKELY(fine && !late))
        return true;
    w.why = why;
    if (!fine && !match_slow(&w, node, v, FIRST))
        return false;
    return match_slow(&w, node, v, SECOND);
}

static void open_params(walk *w, const int64_t *node, const relax_value *args)
{
    w->levels[0] = (level){ node + 1, args, 0, rlx_desc_node_count(node), true };
    w->depth = 1;
}

/* The list itself costs no level here: most parameters are plain tensors. */
static bool fast_params(walk *w, const int64_t *node, const relax_value *args)
{
    const int64_t *at = node + 1;
    w->depth = 0;
    for (uint32_t i = 0, n = rlx_desc_node_count(node); i < n; i++) {
        const int64_t *param = at + 1;
        at = param + rlx_desc_node_words(param);
        if (RLX_UNLIKELY(!check_node(w, param, &args[i], FAST) || (w->depth && !run_fast(w))))
            return false;
    }
    return true;
}

/* The shape variables are bound. */
static bool check_bounds(const walk *w, uint32_t offset)
{
    uint32_t count;
    const rlx_desc_bound *b = rlx_desc_bounds(w->env->descs, offset, &count);
    for (uint32_t i = 0; i < count; i++) {
        char text[RLX_EXPR_TEXT];
        rlx_desc_line name = { text, sizeof text, 0 };
        int64_t value = w->env->syms[rlx_desc_dim_slot(b[i].symbol)];
        bool low = value < b[i].low;
        if (!low && value <= b[i].high)
            continue;
        rlx_desc_dim_line(w->env, b[i].symbol, &name);
        return rlx_fail(w->why, RLX_RT05, "%.*s: %s is %lld, but its attribute %s says %s %lld",
                        (int)w->function.len, w->function.data, name.data, (long long)value,
                        low ? "tir_non_negative_var" : "tir_var_upper_bound",
                        low ? "at least" : "at most", (long long)(low ? b[i].low : b[i].high));
    }
    return true;
}

bool rlx_desc_match_params(const rlx_desc_env *env, uint32_t offset, const relax_value *args,
                           size_t num_args, rlx_slice function, rlx_fault *why)
{
    const int64_t *node = rlx_item_node(env->descs, offset);
    walk w;
    w.env = env;
    w.why = NULL;
    w.function = function;
    if (RLX_UNLIKELY(num_args != rlx_desc_node_count(node)))
        return rlx_fail(why, RLX_RT01, "%.*s takes %u argument%s, got %zu", (int)function.len,
                        function.data, rlx_desc_node_count(node),
                        rlx_desc_node_count(node) == 1 ? "" : "s", num_args);
    uint32_t more = rlx_desc_node_flags(node) & (RLX_DESC_LATE | RLX_DESC_BOUNDED);
    bool fine = fast_params(&w, node, args);
    if (RLX_LIKELY(fine && !more))
        return true;
    w.why = why;
    open_params(&w, node, args);
    if (!fine && !run_slow(&w, FIRST))
        return false;
    open_params(&w, node, args);
    return run_slow(&w, SECOND) && check_bounds(&w, offset);
}

bool rlx_desc_binds(const int64_t *descs, uint32_t offset)
{
    return rlx_desc_node_flags(rlx_item_node(descs, offset)) & RLX_DESC_BINDS;
}
