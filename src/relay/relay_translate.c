/* relay_translate.c: modules, functions and expressions of Relay as Relax (relay 5.3).
 *
 * Functions come in the order of their groups, callees first, so that results can be deduced; an
 * instance of a generic one is translated when the one that mentions it is done. Within a function
 * the items of a scope are translated one after the other; branches, arms and functions are scopes of their
 * own.
 */
#include "relay/relay_host.h"
#include "relay/relay_translate.h"
#include "transform/transform.h"

void *rlx_relay_refuse(rlx_relay_translation *t, rlx_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rlx_verror(t->ctx, RLX_RY28, place, format, args);
    va_end(args);
    return NULL;
}

/* ---- values ----------------------------------------------------------------------------------------- */

void rlx_relay_set(rlx_relay_translation *t, const rlx_relay_expr *var, const rlx_expr *value)
{
    if (var->number) /* else nothing mentions it */
        rlx_relay_item_of(t, var)->value = value;
}

const rlx_expr *rlx_relay_cast(rlx_relay_translation *t, const rlx_expr *e, const rlx_sinfo *want,
                               rlx_place place)
{
    rlx_emit how = { .place = place, .var_place = place };
    const rlx_var *v = rlx_builder_emit_match(t->b, e, want, &how, false);
    return v ? &v->node : NULL;
}

static const rlx_expr *as_dtype(rlx_relay_translation *t, const rlx_expr *e, rlx_dtype dtype,
                                rlx_place place)
{
    const rlx_attr *attrs = rlx_attrs_with(t->ctx, NULL, "dtype", rlx_attr_dtype_new(t->ctx, dtype));
    const rlx_expr *call = attrs ? rlx_call_op_z(t->ctx, "relax.astype", &e, 1, attrs, place) : NULL;
    rlx_emit how = { .place = place, .var_place = place };
    const rlx_var *v = call ? rlx_builder_emit(t->b, call, &how) : NULL;
    return v ? &v->node : NULL;
}

/* Relay's type is the judge: another dtype is converted, what Relax does not know is checked. */
static const rlx_expr *agreed(rlx_relay_translation *t, const rlx_expr *e, const rlx_relay_type *type,
                              rlx_place place)
{
    const rlx_sinfo *want = rlx_relay_sinfo(t, type, false), *have = rlx_builder_infer(t->b, e);
    if (!want || !have)
        return NULL;
    const rlx_tensor_sinfo *w = rlx_as_tensor_sinfo(want), *h = rlx_as_tensor_sinfo(have);
    if (w && h && w->dtype != h->dtype && h->dtype != RELAX_VOID && w->dtype != RELAX_VOID) {
        e = as_dtype(t, e, w->dtype, place);
        if (!e || !(have = rlx_builder_infer(t->b, e)))
            return NULL;
    }
    const rlx_scope *s = rlx_builder_scope(t->b);
    return have == want || rlx_assignable(t->ctx, s, have, want, NULL) == RLX_ASSIGNABLE_YES
               ? e : rlx_relay_cast(t, e, want, place);
}

const rlx_expr *rlx_relay_bind(rlx_relay_translation *t, const rlx_expr *e, const rlx_relay_type *type,
                               const rlx_string *name, rlx_place place)
{
    rlx_emit how = { .name = name, .number = -1, .place = place, .var_place = place };
    if (!e || rlx_as_tuple(e))
        return e && !rlx_is_leaf(e) ? rlx_builder_normalize(t->b, e) : e;
    if (!rlx_is_leaf(e)) {
        const rlx_var *v = rlx_builder_emit(t->b, e, &how);
        if (!(e = v ? &v->node : NULL))
            return NULL;
    }
    return agreed(t, e, type, place);
}

const rlx_expr *rlx_relay_project(rlx_relay_translation *t, const rlx_expr *tuple, int64_t index,
                                rlx_place place)
{
    const rlx_tuple *fields = rlx_as_tuple(tuple);
    if (fields)
        return (uint64_t)index < fields->num_fields ? fields->fields[index] : NULL;
    const rlx_expr *e = rlx_tuple_get_item_new(t->ctx, tuple, index, place);
    rlx_emit how = { .place = place, .var_place = place };
    const rlx_var *v = e ? rlx_builder_emit(t->b, e, &how) : NULL;
    return v ? &v->node : NULL;
}

/* ---- functions -------------------------------------------------------------------------------------- */

/* Attributes of functions that mean something to Relax; others keep their names. */
static const rlx_attr *attr_of(rlx_context *ctx, const rlx_relay_value *v)
{
    switch (v->kind) {
    case RLX_RELAY_VALUE_INT: return rlx_attr_int_new(ctx, v->i);
    case RLX_RELAY_VALUE_FLOAT: return rlx_attr_float_new(ctx, v->f);
    case RLX_RELAY_VALUE_BOOL: return rlx_attr_bool_new(ctx, v->i != 0);
    case RLX_RELAY_VALUE_STRING: return rlx_attr_string_new(ctx, v->s);
    default: return NULL;
    }
}

static const rlx_attr *function_attrs(rlx_relay_translation *t, const rlx_relay_attrs *given,
                                      const rlx_string *symbol, uint32_t body)
{
    const rlx_attr *attrs = NULL;
    for (size_t i = 0; given && i < given->count; i++) {
        char key[64];
        rlx_slice name = given->items[i].name;
        const rlx_attr *v = attr_of(t->ctx, &given->items[i].value);
        if (!v || name.len >= sizeof key || rlx_slice_is(name, "global_symbol"))
            continue;
        snprintf(key, sizeof key, "%.*s", (int)name.len, name.data);
        attrs = rlx_attrs_with(t->ctx, attrs, rlx_slice_is(name, "Compiler") ? "Codegen" : key, v);
    }
    if (symbol)
        attrs = rlx_attrs_with(t->ctx, attrs, "global_symbol",
                               rlx_attr_string_new(t->ctx, rlx_string_slice(symbol)));
    if (t->scopes.data[body].may_fail && !t->scopes.data[body].is_impure)
        attrs = rlx_attrs_with(t->ctx, attrs, "relax.force_pure", rlx_attr_bool_new(t->ctx, true));
    return attrs;
}

/* A variable for each parameter. */
static const rlx_expr **make_params(rlx_relay_translation *t, rlx_relay_expr *const *params,
                                    size_t count, bool fresh_sizes)
{
    const rlx_expr **vars = rlx_region_array(&t->region, count + 1, sizeof *vars);
    for (size_t i = 0; vars && i < count; i++) {
        const rlx_sinfo *info = rlx_relay_sinfo(t, params[i]->type, fresh_sizes);
        const rlx_string *name = rlx_string_identifier(t->ctx, params[i]->var.name, "p");
        rlx_var *v = info && name ? rlx_var_new(t->ctx, false, name, -1, info, params[i]->place) : NULL;
        if (!v)
            return NULL;
        vars[i] = &v->node;
    }
    return vars;
}

static void set_params(rlx_relay_translation *t, rlx_relay_expr *const *params, size_t count,
                       const rlx_expr *const *vars)
{
    for (size_t i = 0; i < count; i++)
        rlx_relay_set(t, params[i], vars[i]);
}

const rlx_expr *rlx_relay_local_function(rlx_relay_translation *t, rlx_relay_expr *const *params,
                                         size_t count, uint32_t body, const rlx_relay_type *result,
                                         const rlx_string *name, rlx_relay_item *self, rlx_place place)
{
    const rlx_relay_zone *scope = &t->scopes.data[body];
    bool is_pure = !t->scopes.data[scope->function].is_impure;
    const rlx_expr **vars = make_params(t, params, count, false);
    const rlx_sinfo *ret = vars ? rlx_relay_sinfo(t, result, false) : NULL;
    const rlx_attr *attrs = scope->may_fail ? function_attrs(t, NULL, NULL, body) : NULL;
    rlx_var *me = NULL;
    if (!ret)
        return NULL;
    if (self && self->is_recursive) {
        const rlx_sinfo *signature = rlx_signature(t->ctx, vars, count, ret, is_pure, NULL);
        me = signature ? rlx_var_new(t->ctx, false, name ? name : rlx_string_z(t->ctx, "f"), -1, signature,
                                     place)
                       : NULL;
        if (!me)
            return NULL;
        self->value = &me->node;
    }
    set_params(t, params, count, vars);
    rlx_slice label = name ? rlx_string_slice(name) : RLX_SLICE("fn");
    if (!rlx_builder_begin_function(t->b, vars, count, is_pure, attrs, label, me ? &me->node : NULL))
        return NULL;
    const rlx_expr *value = rlx_relay_scope_value(t, body, result);
    const rlx_function *f =
        value ? rlx_builder_end_function(t->b, value, ret, attrs, place) : NULL;
    rlx_emit how = { .name = name, .number = -1, .var = me, .place = place, .var_place = place };
    const rlx_var *v = f ? rlx_builder_emit(t->b, &f->node, &how) : NULL;
    return v ? &v->node : NULL;
}

static const rlx_expr *function_value(rlx_relay_translation *t, rlx_relay_item *item)
{
    const rlx_relay_func *f = item->e->func;
    return rlx_relay_local_function(t, f->params, f->num_params, item->body, f->result, item->name, item,
                                    item->e->place);
}

/* ---- instances -------------------------------------------------------------------------------------- */

/* The text of type arguments, which tells instances apart. */
static const rlx_string *key_of(rlx_relay_translation *t, rlx_slice name, rlx_relay_type *const *args,
                                size_t count, rlx_place place)
{
    enum { MOST = 4000 };
    rlx_buf b;
    const rlx_string *key = NULL;
    rlx_buf_init(&b, &t->ctx->memory);
    rlx_buf_put(&b, name.data, name.len);
    for (size_t i = 0; i < count; i++) {
        rlx_buf_char(&b, i ? ',' : '[');
        rlx_relay_print_type(args[i], &b);
        if (b.len > MOST)
            break;
    }
    if (b.len > MOST)
        rlx_relay_refuse(t, place, "the type arguments of %.*s grow without bound", (int)name.len,
                         name.data);
    else if (!b.failed)
        key = rlx_string_intern(t->ctx, (rlx_slice){ b.data ? b.data : "", b.len });
    rlx_buf_free(&b);
    return key;
}

/* name, name_1, name_2 ...: one that no function has. */
static const rlx_string *free_name(rlx_relay_translation *t, rlx_slice name)
{
    const rlx_string *base = rlx_string_identifier(t->ctx, name, "f"), *s = base;
    for (int64_t k = 1; s && rlx_module_builder_lookup(t->mb, rlx_string_slice(s)); k++) {
        rlx_buf b;
        rlx_buf_init(&b, &t->ctx->memory);
        rlx_buf_put(&b, base->data, base->len);
        rlx_buf_char(&b, '_');
        rlx_buf_i64(&b, k);
        s = b.failed ? NULL : rlx_string_intern(t->ctx, (rlx_slice){ b.data, b.len });
        rlx_buf_free(&b);
    }
    return s;
}

/* From here on types are those of the instance: its sizes, its type parameters. False: out of memory. */
static bool enter_instance(rlx_relay_translation *t, rlx_relay_instance *it)
{
    rlx_relay_types types = { .count = 0 };
    if (it->args) {
        types.params = it->func->func->type_params;
        types.args = it->args;
        types.count = it->func->func->num_type_params;
    }
    t->now = it;
    return rlx_vec_push(&t->ctx->memory, &t->types, types);
}

static void leave_instance(rlx_relay_translation *t, rlx_relay_instance *before)
{
    (void)rlx_vec_pop(&t->types);
    t->now = before;
}

/* Gives the parameters their variables. */
static bool describe(rlx_relay_translation *t, rlx_relay_instance *it)
{
    rlx_relay_instance *before = t->now;
    if (it->vars)
        return true;
    if (!enter_instance(t, it))
        return false;
    it->vars = make_params(t, it->params, it->num_params, true);
    leave_instance(t, before);
    return it->vars != NULL;
}

static const rlx_relay_type *result_type(const rlx_relay_instance *it)
{
    return it->func ? it->func->func->result : NULL;
}

/* The GlobalVar of an instance; if it is not there yet it gets the signature that is written. */
static const rlx_global_var *mention(rlx_relay_translation *t, rlx_relay_instance *it)
{
    if (it->gv || !describe(t, it))
        return it->gv;
    rlx_relay_instance *before = t->now;
    if (!enter_instance(t, it))
        return NULL;
    const rlx_sinfo *ret = rlx_relay_sinfo(t, result_type(it), false);
    leave_instance(t, before);
    const rlx_sinfo *signature =
        ret ? rlx_signature(t->ctx, it->vars, it->num_params, ret, !t->scopes.data[it->body].is_impure, NULL)
            : NULL;
    it->name = it->name ? it->name : free_name(t, it->global->name);
    if (signature && it->name)
        it->gv = rlx_module_builder_declare(t->mb, rlx_string_slice(it->name), signature, it->func->place);
    return it->gv;
}

static rlx_relay_instance *instance_new(rlx_relay_translation *t, rlx_relay_global *g,
                                        rlx_relay_type *const *args)
{
    rlx_relay_instance *it = rlx_region_zero(&t->region, sizeof *it);
    if (!it)
        return NULL;
    rlx_ptrmap_init(&it->sizes, &t->ctx->memory);
    it->global = g;
    it->func = g->func;
    it->params = g->func->func->params;
    it->num_params = g->func->func->num_params;
    it->body = rlx_relay_item_of(t, g->func)->body;
    it->args = args;
    return rlx_vec_push(&t->ctx->memory, &t->instances, it) ? it : NULL;
}

static rlx_relay_instance *instance_of(rlx_relay_translation *t, rlx_relay_global *g,
                                       rlx_relay_type *const *type_args, size_t count, rlx_place place)
{
    if (!g->func) /* an expression may mention what a module would define */
        return rlx_error(t->ctx, RLX_RY05, place, "there is no function @%.*s", (int)g->name.len, g->name.data);
    size_t n = g->func->func->num_type_params;
    rlx_relay_type **args = rlx_region_array(&t->region, n + 1, sizeof *args);
    for (size_t i = 0; args && i < n; i++)
        if (i >= count || !(args[i] = rlx_relay_closed(t, type_args[i])))
            return i >= count ? rlx_relay_refuse(t, place, "it is not known with which types @%.*s is used",
                                                 (int)g->name.len, g->name.data)
                              : NULL;
    const rlx_string *key = args ? key_of(t, g->name, args, n, place) : NULL;
    if (!key)
        return NULL;
    rlx_relay_instance *it = rlx_map_get(&t->instance_of, rlx_string_slice(key));
    if (it)
        return it;
    if (t->instances.len > RLX_RELAY_MAX_INSTANCES)
        return rlx_relay_refuse(t, place, "generic functions have more than %d instances; does @%.*s call itself "
                                "with ever larger types?", RLX_RELAY_MAX_INSTANCES, (int)g->name.len, g->name.data);
    it = instance_new(t, g, n ? args : NULL);
    return it && rlx_map_put(&t->instance_of, rlx_string_slice(key), it) ? it : NULL;
}

/* ---- functions as values ---------------------------------------------------------------------------- */

static const rlx_expr *call_value(rlx_relay_translation *t, rlx_relay_expr *callee, rlx_relay_expr *call,
                                  const rlx_expr *const *args, size_t count, const rlx_relay_type *type);

/* fn (p...) { callee(p...) }, for constructors and operators that are no values in Relax. */
static const rlx_expr *wrapped(rlx_relay_translation *t, rlx_relay_expr *callee, rlx_relay_type *type)
{
    size_t n = type->func.num_args;
    const rlx_expr **vars = rlx_region_array(&t->region, n + 1, sizeof *vars);
    const rlx_sinfo *ret = rlx_relay_sinfo(t, type->func.result, false);
    for (size_t i = 0; vars && i < n; i++) {
        const rlx_sinfo *info = rlx_relay_sinfo(t, type->func.args[i], false);
        rlx_var *v = info ? rlx_var_new(t->ctx, false, rlx_string_z(t->ctx, "p"), (int32_t)i, info,
                                        callee->place)
                          : NULL;
        if (!v)
            return NULL;
        vars[i] = &v->node;
    }
    if (!vars || !ret ||
        !rlx_builder_begin_function(t->b, vars, n, true, NULL, RLX_SLICE("fn"), NULL))
        return NULL;
    rlx_relay_expr call = { .kind = RLX_RELAY_CALL, .place = callee->place, .type = type->func.result };
    call.call.callee = callee;
    const rlx_expr *v = call_value(t, callee, &call, vars, n, type->func.result);
    v = rlx_relay_bind(t, v, type->func.result, NULL, callee->place);
    const rlx_function *f = v ? rlx_builder_end_function(t->b, v, ret, NULL, callee->place) : NULL;
    rlx_emit how = { .place = callee->place, .var_place = callee->place };
    const rlx_var *bound = f ? rlx_builder_emit(t->b, &f->node, &how) : NULL;
    return bound ? &bound->node : NULL;
}

/* A generic local function with these type arguments, made where it is needed. */
static const rlx_expr *local_instance(rlx_relay_translation *t, rlx_relay_expr *e,
                                      rlx_relay_type *const *type_args, size_t count, rlx_place place)
{
    rlx_relay_func *f = e->func;
    rlx_relay_item *item = rlx_relay_item_of(t, e);
    rlx_relay_type **args = rlx_region_array(&t->region, f->num_type_params + 1, sizeof *args);
    for (size_t i = 0; args && i < f->num_type_params; i++)
        if (i >= count || !(args[i] = rlx_relay_closed(t, type_args[i])))
            return i >= count ? rlx_relay_refuse(t, place, "it is not known with which types the function is used")
                              : NULL;
    const rlx_string *key = args ? key_of(t, RLX_SLICE("fn"), args, f->num_type_params, place) : NULL;
    if (!key)
        return NULL;
    for (size_t i = t->locals.len; i-- > 0;)
        if (t->locals.data[i].func == e && t->locals.data[i].key == key)
            return t->locals.data[i].value;
    if (!rlx_relay_push_types(t, f->type_params, args, f->num_type_params))
        return NULL;
    const rlx_expr *v = function_value(t, item);
    (void)rlx_vec_pop(&t->types);
    rlx_relay_local made = { e, key, v };
    return v && rlx_vec_push(&t->ctx->memory, &t->locals, made) ? v : NULL;
}

/* A function that stands where it is not called. */
static const rlx_expr *function_as_value(rlx_relay_translation *t, rlx_relay_expr *e, rlx_relay_expr *use,
                                         const rlx_relay_type *wanted)
{
    rlx_relay_type *type = rlx_relay_find(use->type);
    rlx_relay_type *const *args = NULL;
    rlx_relay_type *want = wanted ? rlx_relay_closed(t, (rlx_relay_type *)(uintptr_t)wanted) : NULL;
    bool generic = type->kind == RLX_RELAY_TYPE_FUNC && type->func.num_params;
    if (generic && !want)
        return rlx_relay_refuse(t, e->place, "a generic function stands where it is not known with which types it "
                                "is used: annotate it, or call it");
    want = want ? rlx_relay_find(want) : NULL;
    if (generic && (want->kind != RLX_RELAY_TYPE_FUNC || want->func.num_params))
        return rlx_relay_refuse(t, e->place, "a generic function as a value of a generic type has no equivalent");
    if (generic && !rlx_relay_arguments(t, type, want, &args))
        return NULL;
    if (e->kind == RLX_RELAY_FUNC)
        return local_instance(t, e, args, type->func.num_params, e->place);
    if (e->kind == RLX_RELAY_GLOBAL) {
        rlx_relay_instance *it =
            instance_of(t, e->global, args, generic ? type->func.num_params : 0, e->place);
        const rlx_global_var *gv = it ? mention(t, it) : NULL;
        return gv ? &gv->node : NULL;
    }
    type = generic ? want : rlx_relay_find(rlx_relay_closed(t, type));
    if (type->kind != RLX_RELAY_TYPE_FUNC)
        return rlx_relay_refuse(t, e->place, "the operator stands where its type is not known");
    return wrapped(t, e, type);
}

const rlx_expr *rlx_relay_value_of(rlx_relay_translation *t, rlx_relay_expr *e, const rlx_relay_type *wanted)
{
    rlx_relay_expr *is = rlx_relay_meant(t, e);
    bool generic = is->kind == RLX_RELAY_FUNC && is->func->num_type_params;
    if (is->kind == RLX_RELAY_GLOBAL || is->kind == RLX_RELAY_OP || is->kind == RLX_RELAY_CTOR || generic)
        return function_as_value(t, is, is->kind == RLX_RELAY_OP ? e : is, wanted);
    const rlx_expr *v = rlx_relay_item_of(t, is)->value;
    if (v || t->ctx->diags.out_of_memory)
        return v;
    if (is->kind == RLX_RELAY_VAR)
        return rlx_error(t->ctx, RLX_RY23, is->place, "%%%.*s is used where it is not bound: a graph variable that stands "
                         "outside of the function or arm mentions it", (int)is->var.name.len, is->var.name.data);
    return rlx_relay_refuse(t, e->place, "this value is used before it is there; please report this text");
}

/* ---- calls ------------------------------------------------------------------------------------------ */

/* What argument i of a call has to be: only generic functions have to know it. */
static const rlx_relay_type *wanted_argument(rlx_relay_translation *t, const rlx_relay_expr *call, size_t i)
{
    const rlx_relay_type *own = rlx_relay_find(call->call.args[i]->type);
    if (own->kind != RLX_RELAY_TYPE_FUNC || !own->func.num_params || call->call.callee->kind == RLX_RELAY_OP)
        return NULL;
    const rlx_relay_type *f = rlx_relay_find(call->call.callee->type);
    size_t n = f->kind == RLX_RELAY_TYPE_FUNC ? f->func.num_params : 0;
    if (f->kind != RLX_RELAY_TYPE_FUNC || i >= f->func.num_args || call->call.num_type_args < n)
        return NULL;
    return n ? rlx_relay_substitute(&t->s, f->func.args[i], f->func.params, call->call.type_args, n)
             : f->func.args[i];
}

/* An operator of the host sees the types of the arguments and of the result as its relation did. */
static const rlx_expr *call_host(rlx_relay_translation *t, rlx_relay_conv *c, const rlx_relay_host_row *host)
{
    rlx_relay_type **types = rlx_region_array(&t->region, c->num_args + 1, sizeof *types);
    size_t known = c->call->call.num_type_args;
    for (size_t i = 0; types && i < c->num_args; i++)
        if (i >= known || !(types[i] = rlx_relay_closed(t, c->call->call.type_args[i])))
            return i >= known ? rlx_relay_refuse(t, c->place, "%s as a value has no equivalent", c->op->name)
                              : NULL;
    if (!types || !c->result)
        return NULL;
    types[c->num_args] = (rlx_relay_type *)(uintptr_t)c->result;
    rlx_relay_goal goal = { .solver = &t->s, .name = "of the host", .of = c->op->name, .op = c->op,
                            .attrs = c->call->call.attrs, .place = c->place, .types = types,
                            .num_types = c->num_args + 1, .num_inputs = c->num_args };
    return rlx_relay_host_convert(c, &goal, host);
}

static const rlx_expr *call_operator(rlx_relay_translation *t, rlx_relay_expr *callee, rlx_relay_expr *call,
                                     const rlx_expr *const *args, size_t count, const rlx_relay_type *type)
{
    const rlx_relay_type *closed = rlx_relay_closed(t, (rlx_relay_type *)(uintptr_t)type);
    rlx_relay_conv c = { .ctx = t->ctx, .b = t->b, .region = &t->region, .op = callee->op, .call = call,
                         .args = args, .num_args = count, .result = closed, .place = call->place, .names = &t->names };
    const rlx_relay_host_row *host = rlx_relay_host_op(t->ctx, callee->op);
    if (host)
        return call_host(t, &c, host);
    c.row = rlx_relay_convert_of(callee->op);
    return closed ? rlx_relay_convert(&c) : NULL;
}

static const rlx_expr *call_value(rlx_relay_translation *t, rlx_relay_expr *callee, rlx_relay_expr *call,
                                  const rlx_expr *const *args, size_t count, const rlx_relay_type *type)
{
    const rlx_expr *f = NULL;
    if (callee->kind == RLX_RELAY_OP)
        return call_operator(t, callee, call, args, count, type);
    if (callee->kind == RLX_RELAY_CTOR)
        return rlx_relay_construct(t, callee->ctor, args, call->place);
    if (callee->kind == RLX_RELAY_GLOBAL) {
        rlx_relay_instance *it = instance_of(t, callee->global, call->call.type_args,
                                             call->call.num_type_args, call->place);
        const rlx_global_var *gv = it ? mention(t, it) : NULL;
        f = gv ? &gv->node : NULL;
    } else if (callee->kind == RLX_RELAY_FUNC && callee->func->num_type_params) {
        f = local_instance(t, callee, call->call.type_args, call->call.num_type_args, call->place);
    } else {
        f = rlx_relay_value_of(t, callee, NULL);
    }
    return f ? rlx_call_new(t->ctx, f, args, count, NULL, 0, NULL, call->place) : NULL;
}

static const rlx_expr *translate_call(rlx_relay_translation *t, rlx_relay_item *item)
{
    rlx_relay_expr *e = item->e;
    size_t n = e->call.num_args;
    const rlx_expr **args = rlx_region_array(&t->region, n + 1, sizeof *args);
    for (size_t i = 0; args && i < n; i++)
        if (!(args[i] = rlx_relay_value_of(t, e->call.args[i], wanted_argument(t, e, i))))
            return NULL;
    return args ? call_value(t, rlx_relay_meant(t, e->call.callee), e, args, n, e->type) : NULL;
}

/* ---- the other forms -------------------------------------------------------------------------------- */

static const rlx_expr *translate_constant(rlx_relay_translation *t, const rlx_relay_expr *e)
{
    if (!e->constant.data)
        return rlx_relay_refuse(t, e->place, "the data of this constant is missing");
    return rlx_constant_new(t->ctx, e->constant.dtype, e->constant.dims, e->constant.ndim,
                            e->constant.data, e->place);
}

static const rlx_expr *translate_tuple(rlx_relay_translation *t, const rlx_relay_expr *e)
{
    const rlx_relay_type *type = rlx_relay_find(e->type);
    size_t n = e->tuple.count;
    const rlx_expr **items = rlx_region_array(&t->region, n + 1, sizeof *items);
    for (size_t i = 0; items && i < n; i++)
        if (!(items[i] = rlx_relay_value_of(t, e->tuple.items[i],
                                            type->kind == RLX_RELAY_TYPE_TUPLE ? type->tuple.fields[i] : NULL)))
            return NULL;
    return items ? rlx_tuple_new(t->ctx, items, n, e->place) : NULL;
}

static const rlx_expr *translate_branch(rlx_relay_translation *t, uint32_t scope, const rlx_relay_type *type,
                                        rlx_place place)
{
    if (!rlx_builder_begin_branch(t->b))
        return NULL;
    const rlx_expr *v = rlx_relay_scope_value(t, scope, type);
    return v ? rlx_builder_end_branch(t->b, v, place) : NULL;
}

static const rlx_expr *translate_if(rlx_relay_translation *t, const rlx_relay_item *item)
{
    const rlx_relay_expr *e = item->e;
    const rlx_expr *cond = rlx_relay_value_of(t, e->branch.condition, NULL);
    const rlx_expr *yes = cond ? translate_branch(t, item->body, e->type, e->branch.then->place) : NULL;
    const rlx_expr *no = yes ? translate_branch(t, item->body2, e->type, e->branch.otherwise->place) : NULL;
    return no ? rlx_if_new(t->ctx, cond, yes, no, e->place) : NULL;
}

static const rlx_expr *translate_cell(rlx_relay_translation *t, const rlx_relay_expr *e)
{
    bool writes = e->kind == RLX_RELAY_REF_WRITE;
    const char *name = e->kind == RLX_RELAY_REF ? "vm.builtin.cell"
                       : writes                 ? "vm.builtin.cell_write"
                                                : "vm.builtin.cell_read";
    rlx_relay_expr *first = e->kind == RLX_RELAY_REF ? e->ref.value : e->ref.ref;
    const rlx_expr *args[2] = { rlx_relay_value_of(t, first, NULL) };
    if (writes)
        args[1] = rlx_relay_value_of(t, e->ref.value, NULL);
    const rlx_sinfo *info = rlx_relay_sinfo(t, e->type, false);
    const rlx_expr *f = rlx_extern_func_new(t->ctx, rlx_slice_z(name));
    if (!args[0] || (writes && !args[1]) || !info || !f)
        return NULL;
    return rlx_call_new(t->ctx, f, args, writes ? 2 : 1, &info, 1, NULL, e->place);
}

static const rlx_expr *translate(rlx_relay_translation *t, rlx_relay_item *item)
{
    rlx_relay_expr *e = item->e;
    const rlx_expr *v;
    switch (e->kind) {
    case RLX_RELAY_CONST: return translate_constant(t, e);
    case RLX_RELAY_TUPLE: return translate_tuple(t, e);
    case RLX_RELAY_FIELD:
        v = rlx_relay_value_of(t, e->field.tuple, NULL);
        v = v ? rlx_relay_project(t, v, e->field.index, e->place) : NULL;
        return rlx_relay_bind(t, v, e->type, item->name, e->place);
    case RLX_RELAY_LET: return rlx_relay_value_of(t, e->let.body, rlx_relay_find(e->type));
    case RLX_RELAY_FUNC: return function_value(t, item);
    case RLX_RELAY_IF: v = translate_if(t, item); break;
    case RLX_RELAY_MATCH: return rlx_relay_match(t, item);
    case RLX_RELAY_REF: case RLX_RELAY_REF_READ: case RLX_RELAY_REF_WRITE: v = translate_cell(t, e); break;
    case RLX_RELAY_CALL: v = translate_call(t, item); break;
    default: return NULL;
    }
    v = rlx_relay_bind(t, v, e->type, item->name, e->place);
    if (!v && e->kind == RLX_RELAY_CALL && rlx_relay_meant(t, e->call.callee)->kind == RLX_RELAY_OP)
        rlx_relay_convert_explain(t->ctx, rlx_relay_meant(t, e->call.callee)->op, e->place);
    return v;
}

/* Leaves that have no value of their own, and generic functions, which get one where they are used. */
static bool is_silent(rlx_relay_translation *t, rlx_relay_expr *e)
{
    switch (e->kind) {
    case RLX_RELAY_VAR: case RLX_RELAY_GLOBAL: case RLX_RELAY_OP: case RLX_RELAY_CTOR: return true;
    case RLX_RELAY_FUNC: return e->func->num_type_params != 0;
    case RLX_RELAY_LET: { /* a generic function under another name */
        rlx_relay_expr *is = rlx_relay_meant(t, e->let.body);
        return is->kind == RLX_RELAY_FUNC && is->func->num_type_params;
    }
    default: return false;
    }
}

const rlx_expr *rlx_relay_scope_value(rlx_relay_translation *t, uint32_t scope, const rlx_relay_type *wanted)
{
    const rlx_relay_zone s = t->scopes.data[scope];
    size_t locals = t->locals.len;
    for (uint32_t at = s.first; at; at = t->items.data[at].next) {
        rlx_relay_item *item = &t->items.data[at];
        rlx_place outer = t->ctx->diags.otherwise;
        t->ctx->diags.otherwise = item->e->place; /* of what an inferred type is at fault for */
        bool ok = is_silent(t, item->e) || (item->value = translate(t, item));
        t->ctx->diags.otherwise = outer;
        if (!ok)
            return NULL;
    }
    const rlx_expr *v = rlx_relay_value_of(t, s.root, wanted);
    t->locals.len = locals;
    return v;
}

/* ---- modules ---------------------------------------------------------------------------------------- */

static const rlx_string *entry_name(rlx_relay_translation *t, const rlx_relay_instance *it)
{
    bool is_public = !it->args && !(it->global && it->global->is_prelude);
    return is_public ? it->name : NULL;
}

/* Nothing but pure operators, each of them used: the body is one dataflow block from the beginning, and
 * nothing has to be tidied up behind it. */
static bool is_straight(rlx_relay_translation *t, uint32_t scope)
{
    size_t calls = 0;
    for (uint32_t at = t->scopes.data[scope].first; at; at = t->items.data[at].next) {
        const rlx_relay_expr *e = t->items.data[at].e;
        switch (e->kind) {
        case RLX_RELAY_VAR: case RLX_RELAY_OP: case RLX_RELAY_CONST: case RLX_RELAY_TUPLE:
        case RLX_RELAY_FIELD: break;
        case RLX_RELAY_LET:
            if (rlx_relay_item_of(t, e->let.var)->scope == UINT32_MAX)
                return false;
            break;
        case RLX_RELAY_CALL:
            calls++;
            if (e->call.callee->kind != RLX_RELAY_OP || !e->call.callee->op->is_pure)
                return false;
            break;
        default: return false;
        }
    }
    return calls > 0;
}

/* The variables of a value leave their dataflow block. */
static bool put_out(rlx_relay_translation *t, const rlx_expr *value)
{
    const rlx_tuple *tuple = rlx_as_tuple(value);
    bool ok = true;
    for (size_t i = 0; tuple && ok && i < tuple->num_fields; i++)
        ok = put_out(t, tuple->fields[i]);
    return !ok || tuple || value->kind != RLX_NODE_DATAFLOW_VAR
               ? ok : rlx_builder_output(t->b, rlx_as_var(value));
}

static const rlx_expr *body_value(rlx_relay_translation *t, const rlx_relay_instance *it)
{
    if (!is_straight(t, it->body)) {
        t->is_untidy = true;
        return rlx_relay_scope_value(t, it->body, result_type(it));
    }
    if (!rlx_builder_begin_block(t->b, true, RLX_NO_PLACE))
        return NULL;
    const rlx_expr *value = rlx_relay_scope_value(t, it->body, result_type(it));
    return value && put_out(t, value) && rlx_builder_end_block(t->b) ? value : NULL;
}

static bool translate_instance(rlx_relay_translation *t, rlx_relay_instance *it)
{
    rlx_place place = it->func ? it->func->place : t->scopes.data[it->body].root->place;
    bool is_pure = !t->scopes.data[it->body].is_impure;
    if (!describe(t, it))
        return false;
    if (!it->name && !(it->name = free_name(t, it->global ? it->global->name : RLX_SLICE("main"))))
        return false;
    t->types.len = 0;
    t->locals.len = 0;
    const rlx_attr *attrs =
        function_attrs(t, it->func ? &it->func->func->attrs : NULL, entry_name(t, it), it->body);
    set_params(t, it->params, it->num_params, it->vars);
    if (!enter_instance(t, it) ||
        !rlx_builder_begin_function(t->b, it->vars, it->num_params, is_pure, attrs,
                                    rlx_string_slice(it->name), it->gv ? &it->gv->node : NULL))
        return false;
    const rlx_expr *value = body_value(t, it);
    const rlx_sinfo *stated =
        value && it->gv ? rlx_relay_sinfo(t, result_type(it), false) : NULL;
    if (!value || (it->gv && !stated)) {
        rlx_builder_reset(t->b);
        return false;
    }
    const rlx_function *f = rlx_builder_end_function(t->b, value, stated, attrs, place);
    if (f && !it->gv)
        it->gv = rlx_module_builder_declare(t->mb, rlx_string_slice(it->name), NULL, place);
    return f && it->gv && rlx_module_builder_define(t->mb, it->gv, &f->node);
}

/* All functions that are mentioned; what one reports does not keep others from being looked at. */
static bool translate_pending(rlx_relay_translation *t)
{
    bool ok = true;
    while (t->num_done < t->instances.len && !t->ctx->diags.out_of_memory) {
        ok = translate_instance(t, t->instances.data[t->num_done]) && ok;
        t->num_done++;
    }
    return ok && !t->ctx->diags.out_of_memory;
}

static bool is_root(const rlx_relay_global *g)
{
    return g->func && !g->is_prelude && !g->func->func->num_type_params;
}

/* Functions that call each other have to state their results. */
static bool translate_group(rlx_relay_translation *t, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rlx_relay_global *g = t->m->globals.data[numbers[i]];
        rlx_relay_instance *it = is_root(g) ? instance_of(t, g, NULL, 0, g->place) : NULL;
        if (is_root(g) && (!it || (count > 1 && !mention(t, it))))
            return false;
    }
    return translate_pending(t);
}

static bool translate_functions(rlx_relay_translation *t, const rlx_relay_groups *groups)
{
    bool ok = true;
    for (size_t i = 0, first = 0; ok && i < groups->ends.len; first = groups->ends.data[i++])
        ok = translate_group(t, &groups->order.data[first], groups->ends.data[i] - first);
    return ok;
}

static bool scope_functions(rlx_relay_translation *t, const rlx_relay_groups *groups)
{
    uint32_t scope;
    for (size_t i = 0; i < groups->order.len; i++) {
        rlx_relay_global *g = t->m->globals.data[groups->order.data[i]];
        if (g->func && !rlx_relay_find_scopes(t, g->func, &scope))
            return false;
    }
    return true;
}

/* A text that is an expression: a function main of what it leaves free. */
static bool translate_expression(rlx_relay_translation *t, uint32_t scope)
{
    rlx_relay_instance *it = rlx_region_zero(&t->region, sizeof *it);
    rlx_relay_expr *e = t->m->expr, *is = rlx_relay_meant(t, e);
    rlx_relay_expr **params = rlx_region_array(&t->region, t->items.len, sizeof *params);
    if (!it || !params)
        return false;
    rlx_ptrmap_init(&it->sizes, &t->ctx->memory);
    if (e->kind == RLX_RELAY_FUNC) {
        if (is->func->num_type_params)
            return rlx_relay_refuse(t, e->place, "a generic function cannot be an entry point") != NULL;
        it->func = e;
        it->params = e->func->params;
        it->num_params = e->func->num_params;
        it->body = rlx_relay_item_of(t, e)->body;
    } else {
        for (size_t i = 1; i < t->items.len; i++)
            if (t->items.data[i].e->kind == RLX_RELAY_VAR && t->items.data[i].e->var.is_free)
                params[it->num_params++] = t->items.data[i].e;
        it->params = params;
        it->body = scope;
    }
    it->name = rlx_string_z(t->ctx, "main");
    return it->name && rlx_vec_push(&t->ctx->memory, &t->instances, it) && translate_pending(t);
}

static bool translate_all(rlx_relay_translation *t)
{
    rlx_relay_groups groups = { 0 };
    uint32_t scope = 0;
    bool ok = rlx_relay_call_groups(t->m, &groups) && scope_functions(t, &groups) &&
              (!t->m->expr || rlx_relay_find_scopes(t, t->m->expr, &scope)) && rlx_relay_find_effects(t);
    ok = ok && translate_functions(t, &groups) && (!t->m->expr || translate_expression(t, scope));
    if (ok && !t->instances.len)
        ok = rlx_relay_refuse(t, RLX_NO_PLACE, "the module has no function without type parameters, so there is "
                              "nothing to begin with") != NULL;
    rlx_vec_free(&t->ctx->memory, &groups.order);
    rlx_vec_free(&t->ctx->memory, &groups.ends);
    return ok;
}

static void end_translation(rlx_relay_translation *t)
{
    rlx_memory *memory = &t->ctx->memory;
    rlx_relay_drop_scopes(t);
    for (size_t i = 0; i < t->instances.len; i++)
        rlx_ptrmap_free(&t->instances.data[i]->sizes);
    rlx_vec_free(memory, &t->instances);
    rlx_vec_free(memory, &t->types);
    rlx_vec_free(memory, &t->locals);
    rlx_vec_free(memory, &t->tags);
    rlx_map_free(&t->instance_of);
    rlx_builder_free(t->b);
    rlx_module_builder_free(t->mb);
    rlx_relay_solver_free(&t->s);
    rlx_region_drop(&t->region);
}

const rlx_module *rlx_relay_translate(rlx_relay_module *m)
{
    rlx_relay_translation t = { .m = m, .ctx = m->ctx };
    size_t errors = rlx_error_count(m->ctx);
    const rlx_module *module = NULL;
    rlx_region_init(&t.region, &m->ctx->memory);
    rlx_map_init(&t.instance_of, &m->ctx->memory);
    rlx_relay_solver_init(&t.s, m);
    t.mb = rlx_module_builder_create(m->ctx, NULL);
    t.b = t.mb ? rlx_builder_create(m->ctx, rlx_module_builder_env(t.mb), NULL) : NULL;
    if (t.b && translate_all(&t) && rlx_error_count(m->ctx) == errors)
        module = rlx_module_builder_finish(t.mb, RLX_NO_PLACE);
    if (t.is_untidy)
        module = rlx_tidied(m->ctx, module);
    end_translation(&t);
    return module;
}
