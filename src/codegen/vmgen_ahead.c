/*- vmgen_ahead.c: late calls that are compiled ahead, for ranks and dtypes of parameters that the host
 * says will come.
 *
 *     main(x: R.Tensor, y: R.Tensor)           ranks x=2 y=1,2   dtypes x=float32 y=float32
 *         z = R.add(x, y)                      add of ranks 2 and 1, and of ranks 2 and 2
 *         w = R.exp(z)                         exp of rank 2
 *
 * The functions are gone through with what is said of the parameters, calls of others with what is
 * known there; each late call that is met with all ranks and dtypes known is compiled: for any
 * sizes, and for operands of equal sizes. What is known of a value is an upper bound of what it will
 * be: a path that gives another rank is compiled when it runs. */
#include "codegen/vmgen_int.h"

#include "format/late_key.h"
#include "format/value_tags.h"
#include "op/op.h"

enum { MOST_WAYS = 256, MOST_VISITS = 4096, MOST_DEPTH = 32 };

typedef struct ahead {
    rlx_vmgen_module *w;
    rlx_context *ctx;
    rlx_scope scope;
    RLX_VEC(const rlx_function *) active;
    size_t visits;
} ahead;

/* What is known of the variables of one function, by variable. */
typedef struct known { rlx_ptrmap infos; } known;

/* ---- what is known -------------------------------------------------------------------------- */

/* Kind, rank and dtype of both; sizes play no part. */
static const rlx_sinfo *both(rlx_context *ctx, const rlx_sinfo *a, const rlx_sinfo *b)
{
    const rlx_tensor_sinfo *s = rlx_as_tensor_sinfo(a), *t = rlx_as_tensor_sinfo(b);
    const rlx_shape_sinfo *u = rlx_as_shape_sinfo(a), *v = rlx_as_shape_sinfo(b);
    const rlx_tuple_sinfo *x = rlx_as_tuple_sinfo(a), *y = rlx_as_tuple_sinfo(b);
    if (!a || (b && b->kind == RLX_NODE_OBJECT_SINFO))
        return a ? both(ctx, a, a) : b;
    if (!b || a->kind == RLX_NODE_OBJECT_SINFO)
        return b ? both(ctx, b, b) : a;
    if (s && t)
        return rlx_tensor_info(ctx, NULL, s->dtype != RELAX_VOID ? s->dtype : t->dtype,
                               s->ndim >= 0 ? s->ndim : t->ndim, NULL);
    if (u && v)
        return rlx_shape_info_rank(ctx, u->ndim >= 0 ? u->ndim : v->ndim);
    if (!x || !y || x->num_fields != y->num_fields || a == b)
        return a;
    const rlx_sinfo **fields = rlx_new_copy(ctx, x->fields, (x->num_fields + 1) * sizeof *fields);
    for (size_t i = 0; fields && i < x->num_fields; i++)
        fields[i] = both(ctx, x->fields[i], y->fields[i]);
    return fields ? rlx_tuple_info(ctx, fields, x->num_fields) : NULL;
}

static const rlx_sinfo *info_of(ahead *a, const known *k, const rlx_expr *e)
{
    const rlx_var *v = rlx_as_var(e);
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_sinfo *found = v ? rlx_ptrmap_get(&k->infos, v) : NULL;
    if (v)
        return found ? found : v->sinfo;
    if (!t)
        return rlx_leaf_sinfo(a->ctx, &a->w->env, e);
    const rlx_sinfo **fields = rlx_new_zero(a->ctx, (t->num_fields + 1) * sizeof *fields);
    for (size_t i = 0; fields && i < t->num_fields; i++)
        fields[i] = info_of(a, k, t->fields[i]);
    return fields ? rlx_tuple_info(a->ctx, fields, t->num_fields) : NULL;
}

/* ---- one late call -------------------------------------------------------------------------- */

static bool is_known(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    for (size_t i = 0; tuple && i < tuple->num_fields; i++)
        if (!is_known(tuple->fields[i]))
            return false;
    return t ? t->ndim >= 0 && t->dtype != RELAX_VOID : shape ? shape->ndim >= 0 : tuple != NULL;
}

typedef struct instance {
    rlx_buf text;
    RLX_VEC(uint64_t) key;
    unsigned sizes;
    int equal; /* sizes are those of the first operand: its rank; -1: any */
} instance;

static void put_names(instance *n, int ndim, bool like_first)
{
    for (int i = 0; i < ndim; i++) {
        bool named = like_first && i + n->equal - ndim >= 0;
        rlx_buf_format(&n->text, "%s\"d%u\"", i ? ", " : "",
                       named ? (unsigned)(i + n->equal - ndim) : n->sizes++);
    }
}

static bool put_operand(rlx_memory *m, instance *n, const rlx_sinfo *s, bool like_first)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(s);
    char dtype[RLX_DTYPE_TEXT];
    if (t) {
        rlx_dtype_name(t->dtype, dtype);
        rlx_buf_lit(&n->text, "R.Tensor((");
        put_names(n, t->ndim, like_first);
        rlx_buf_format(&n->text, "%s), \"%s\")", t->ndim == 1 ? "," : "", dtype);
        return rlx_vec_push(m, &n->key, rlx_dl_key_make(t->ndim, t->dtype));
    }
    if (shape) {
        rlx_buf_lit(&n->text, "R.Shape([");
        put_names(n, shape->ndim, false);
        rlx_buf_lit(&n->text, "])");
        return rlx_vec_push(m, &n->key, rlx_late_word(RLX_LATE_SHAPE, (uint64_t)shape->ndim));
    }
    bool ok = rlx_vec_push(m, &n->key, rlx_late_word(RLX_LATE_TUPLE, tuple->num_fields));
    rlx_buf_lit(&n->text, "R.Tuple(");
    for (size_t i = 0; ok && i < tuple->num_fields; i++) {
        rlx_buf_z(&n->text, i ? ", " : "");
        ok = put_operand(m, n, tuple->fields[i], false);
    }
    rlx_buf_lit(&n->text, ")");
    return ok;
}

/* The bits of an operand whose sizes are those of the first one, as far as it has them. */
static uint64_t bits_of(const instance *n, int ndim, bool is_first)
{
    uint64_t bits = 0;
    for (int i = ndim; i-- > 0;)
        bits = bits << 2 | (n->equal >= 0 && !is_first && i + n->equal - ndim >= 0 && i + 32 >= ndim
                                ? RLX_LATE_SIZE_FIRST
                                : RLX_LATE_SIZE_ANY);
    return bits;
}

/* Signature and text, from the program of the site. */
static bool fill_in(ahead *a, const rlx_vmgen_site *site, const rlx_sinfo *const *infos,
                    instance *n)
{
    rlx_memory *m = &a->ctx->memory;
    const rlx_tensor_sinfo *first = site->num_holes > 1 ? rlx_as_tensor_sinfo(infos[0]) : NULL;
    const char *at = site->program.data, *end = at + site->program.len;
    bool ok = rlx_vec_push(m, &n->key, (uint64_t)site->constant);
    for (size_t i = 0; ok && i < site->num_holes; i++) {
        const rlx_tensor_sinfo *t = first ? rlx_as_tensor_sinfo(infos[i]) : NULL;
        const char *hole = memchr(at, '$', (size_t)(end - at));
        rlx_buf_put(&n->text, at, (size_t)(hole - at));
        ok = put_operand(m, n, infos[i], t && i && n->equal >= 0) &&
             (!t || rlx_vec_push(m, &n->key, bits_of(n, t->ndim, i == 0)));
        at = hole + 1;
    }
    rlx_buf_put(&n->text, at, (size_t)(end - at));
    return ok && !n->text.failed;
}

static bool is_there(const rlx_buf *late, const instance *n)
{
    uint64_t words, size;
    for (size_t at = 0; at < late->len; at += 8 + size + (-size & 7)) {
        memcpy(&words, late->data + at, 8);
        const char *key = late->data + at + 8;
        at += 8 + 8 * (size_t)words;
        memcpy(&size, late->data + at, 8);
        if (words == n->key.len && !memcmp(key, n->key.data, 8 * (size_t)words))
            return true;
    }
    return false;
}

static bool keep(rlx_buf *late, const instance *n, const rlx_buf *file)
{
    static const char zeros[8];
    uint64_t words = n->key.len, size = file->len;
    rlx_buf_put(late, (const char *)&words, 8);
    rlx_buf_put(late, (const char *)n->key.data, 8 * n->key.len);
    rlx_buf_put(late, (const char *)&size, 8);
    rlx_buf_put(late, file->data, file->len);
    rlx_buf_put(late, zeros, (size_t)(-size & 7));
    return !late->failed;
}

/* equal: the rank of the first operand, or -1. *compiled is left alone if it was there already. */
static bool compile(ahead *a, const rlx_vmgen_site *site, const rlx_sinfo *const *infos, int equal,
                    bool *compiled)
{
    rlx_memory *m = &a->ctx->memory;
    const rlx_codegen_options *o = a->w->o;
    instance n = { .equal = equal };
    rlx_buf file;
    rlx_buf_init(&n.text, m);
    rlx_buf_init(&file, m);
    bool ok = fill_in(a, site, infos, &n);
    if (ok && !is_there(&a->w->out.late, &n)) {
        *compiled = o->ahead->compile(o->ahead->user, (rlx_slice){ n.text.data, n.text.len }, &file);
        ok = (!*compiled || keep(&a->w->out.late, &n, &file)) && !a->ctx->diags.out_of_memory;
    }
    rlx_buf_free(&n.text);
    rlx_buf_free(&file);
    rlx_vec_free(m, &n.key);
    return ok;
}

static bool compile_site(ahead *a, const known *k, rlx_vmgen_site *site)
{
    const rlx_sinfo **infos = rlx_new_zero(a->ctx, (site->num_holes + 1) * sizeof *infos);
    bool one = true, more = true;
    int further = 0;
    for (size_t i = 0; infos && i < site->num_holes; i++) {
        infos[i] = info_of(a, k, site->holes[i]);
        if (!infos[i] || !is_known(infos[i]))
            return !a->ctx->diags.out_of_memory;
        further += i && rlx_as_tensor_sinfo(infos[i]);
    }
    const rlx_tensor_sinfo *first = infos && site->num_holes ? rlx_as_tensor_sinfo(infos[0]) : NULL;
    if (!infos || !compile(a, site, infos, -1, &one) ||
        (one && first && further && !compile(a, site, infos, first->ndim, &more)))
        return false;
    if (!one && !site->told)
        rlx_report(a->ctx, RLX_CG18, RLX_SEVERITY_WARNING, site->call->place,
                   "R.%s cannot be compiled ahead for rank and dtype alone",
                   rlx_as_op(site->call->op)->row->short_name);
    site->told |= !one;
    return true;
}

/* ---- going through the functions ------------------------------------------------------------ */

static bool visit_function(ahead *a, const rlx_function *f, const rlx_sinfo *const *params,
                           const rlx_sinfo **result);
static bool visit_body(ahead *a, known *k, const rlx_expr *body, const rlx_sinfo **result);

/* The rule of the operator, on what is known of its operands here. */
static const rlx_sinfo *infer(ahead *a, const known *k, const rlx_call *call)
{
    rlx_rewriter r;
    rlx_rewriter_init(&r, a->ctx);
    for (size_t i = 0; i < call->num_args && !r.failed; i++) {
        const rlx_tuple *t = rlx_as_tuple(call->args[i]);
        for (size_t j = 0; j < (t ? t->num_fields : 1) && !r.failed; j++) {
            const rlx_var *v = rlx_as_var(t ? t->fields[j] : call->args[i]);
            const rlx_var *now =
                v ? rlx_var_new(a->ctx, false, v->name, -1, info_of(a, k, &v->node), RLX_NO_PLACE)
                  : NULL;
            r.failed = v && (!now || !rlx_ptrmap_put(&r.map, v, (uintptr_t)now));
        }
    }
    const rlx_call *now = rlx_as_call(rlx_rewrite(&r, &call->node));
    rlx_rewriter_free(&r);
    return now ? rlx_op_infer(a->ctx, &a->scope, &a->w->env, now, true) : NULL;
}

static bool visit_call(ahead *a, const known *k, const rlx_call *call, const rlx_sinfo **result)
{
    rlx_vmgen_site *site = rlx_vmgen_site_of(a->w, call);
    const rlx_global_var *gv = rlx_as_global_var(call->op);
    int64_t index = gv ? rlx_module_index(a->w->m, gv) : -1;
    const rlx_function *f = index >= 0 ? rlx_as_function(a->w->m->functions[index]) : NULL;
    if (rlx_as_op(call->op))
        *result = rlx_as_op(call->op)->row ? infer(a, k, call) : NULL;
    /* What the operator does not take fails when it runs. */
    if (site && *result && !compile_site(a, k, site))
        return false;
    if (!f || f->num_params != call->num_args)
        return !a->ctx->diags.out_of_memory;
    const rlx_sinfo **params = rlx_new_zero(a->ctx, (call->num_args + 1) * sizeof *params);
    for (size_t i = 0; params && i < call->num_args; i++)
        params[i] = info_of(a, k, call->args[i]);
    return params && visit_function(a, f, params, result);
}

static bool visit_value(ahead *a, known *k, const rlx_expr *e, const rlx_sinfo **result)
{
    const rlx_if_expr *choice = rlx_as_if_expr(e);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(e);
    const rlx_sinfo *no = NULL;
    if (rlx_as_call(e))
        return visit_call(a, k, rlx_as_call(e), result);
    if (choice) {
        if (!visit_body(a, k, choice->true_branch, result) ||
            !visit_body(a, k, choice->false_branch, &no))
            return false;
        *result = *result && no ? rlx_lub(a->ctx, &a->scope, *result, no) : NULL;
        return !a->ctx->diags.out_of_memory;
    }
    if (get) {
        const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(info_of(a, k, get->tuple));
        *result = t && (uint64_t)get->index < t->num_fields ? t->fields[get->index] : NULL;
        return true;
    }
    *result = e && !rlx_as_function(e) && e->kind != RLX_NODE_OP ? info_of(a, k, e) : NULL;
    return !a->ctx->diags.out_of_memory;
}

static bool visit_body(ahead *a, known *k, const rlx_expr *body, const rlx_sinfo **result)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(body);
    for (size_t i = 0; seq && i < seq->num_blocks; i++) {
        const rlx_block *block = rlx_as_block(seq->blocks[i]);
        for (size_t j = 0; j < block->num_bindings; j++) {
            const rlx_binding *b = block->bindings[j];
            const rlx_var *var = rlx_binding_var(b);
            const rlx_sinfo *found = NULL;
            if (!visit_value(a, k, rlx_binding_value(b), &found))
                return false;
            const rlx_sinfo *info = var ? both(a->ctx, var->sinfo, found) : NULL;
            if (var && (!info || !rlx_ptrmap_put(&k->infos, var, (uintptr_t)info)))
                return false;
        }
    }
    *result = info_of(a, k, seq ? seq->body : body);
    return !a->ctx->diags.out_of_memory;
}

/* A function that is under way already gives what it states. */
static bool visit_function(ahead *a, const rlx_function *f, const rlx_sinfo *const *params,
                           const rlx_sinfo **result)
{
    known k;
    *result = NULL;
    for (size_t i = 0; i < a->active.len; i++)
        if (a->active.data[i] == f)
            return true;
    if (a->active.len >= MOST_DEPTH || a->visits++ >= MOST_VISITS)
        return true;
    if (!rlx_vec_push(&a->ctx->memory, &a->active, f))
        return false;
    rlx_ptrmap_init(&k.infos, &a->ctx->memory);
    bool ok = true;
    for (size_t i = 0; ok && i < f->num_params; i++) {
        const rlx_var *v = rlx_as_var(f->params[i]);
        const rlx_sinfo *info = v ? both(a->ctx, v->sinfo, params[i]) : NULL;
        ok = info && rlx_ptrmap_put(&k.infos, v, (uintptr_t)info);
    }
    ok = ok && visit_body(a, &k, f->body, result);
    rlx_ptrmap_free(&k.infos);
    a->active.len--;
    return ok;
}

/* ---- ways to call a function ---------------------------------------------------------------- */

static const rlx_ahead_param *said_of(const rlx_ahead *o, const rlx_var *v)
{
    for (size_t i = 0; v && v->name && i < o->num_params; i++)
        if (rlx_slice_equal(o->params[i].name, rlx_string_slice(v->name)))
            return &o->params[i];
    return NULL;
}

static size_t choices_of(const rlx_ahead_param *p)
{
    size_t ranks = p && p->num_ranks ? p->num_ranks : 1,
           dtypes = p && p->num_dtypes ? p->num_dtypes : 1;
    return ranks * dtypes;
}

/* The parameter as choice number `at` has it. */
static const rlx_sinfo *choose(rlx_context *ctx, const rlx_ahead_param *p, const rlx_sinfo *stated,
                               size_t at)
{
    size_t ranks = p->num_ranks ? p->num_ranks : 1;
    const rlx_sinfo *said =
        rlx_tensor_info(ctx, NULL, p->num_dtypes ? p->dtypes[at / ranks] : RELAX_VOID,
                        p->num_ranks ? p->ranks[at % ranks] : -1, NULL);
    return said ? both(ctx, stated, said) : NULL;
}

static bool visit_ways(ahead *a, const rlx_function *f)
{
    const rlx_ahead *o = a->w->o->ahead;
    size_t ways = 1;
    const rlx_sinfo *result, **params = rlx_new_zero(a->ctx, (f->num_params + 1) * sizeof *params);
    for (size_t i = 0; i < f->num_params && ways <= MOST_WAYS; i++)
        ways *= choices_of(said_of(o, rlx_as_var(f->params[i])));
    if (ways > MOST_WAYS)
        return rlx_error(a->ctx, RLX_OP03, f->place,
                         "more than %d combinations of ranks and dtypes", (int)MOST_WAYS) != NULL;
    for (size_t way = 0; params && way < ways; way++) {
        for (size_t i = 0, left = way; i < f->num_params; i++) {
            const rlx_var *v = rlx_as_var(f->params[i]);
            const rlx_ahead_param *p = said_of(o, v);
            size_t choices = choices_of(p);
            params[i] = p ? choose(a->ctx, p, v->sinfo, left % choices) : v ? v->sinfo : NULL;
            left /= choices;
        }
        if (!visit_function(a, f, params, &result))
            return false;
    }
    return params != NULL;
}

static bool is_parameter(const rlx_module *m, rlx_slice name)
{
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        for (size_t j = 0; f && rlx_link_name(&f->node) && j < f->num_params; j++)
            if (rlx_slice_equal(rlx_string_slice(rlx_as_var(f->params[j])->name), name))
                return true;
    }
    return false;
}

bool rlx_vmgen_compile_ahead(rlx_vmgen_module *w)
{
    const rlx_ahead *o = w->o->ahead;
    ahead a = { .w = w, .ctx = w->ctx };
    bool ok = true;
    for (size_t i = 0; o && i < o->num_params; i++)
        if (!is_parameter(w->m, o->params[i].name))
            return rlx_error(w->ctx, RLX_OP15, RLX_NO_PLACE, "no public function has a parameter %.*s",
                             (int)(o->params[i].name.len & 0xff), o->params[i].name.data) != NULL;
    if (!o)
        return true;
    rlx_scope_init(&a.scope, w->ctx, NULL);
    for (size_t i = 0; ok && i < w->m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(w->m->functions[i]);
        if (f && rlx_link_name(&f->node))
            ok = visit_ways(&a, f);
    }
    rlx_scope_free(&a.scope);
    rlx_vec_free(&w->ctx->memory, &a.active);
    return ok;
}
