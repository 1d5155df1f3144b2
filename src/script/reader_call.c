/* reader_call.c: calls of R.name(...): operators by their rows, and the functions with a form
 * of their own. */
#include <math.h>
#include <stdio.h>

#include "script/reader.h"

#include <stdio.h>

static bool push_node(rlx_reader *r, const rlx_node *n)
{
    return n && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)n);
}
static const rlx_node *const *stacked(const rlx_reader *r, size_t mark)
{
    return (const rlx_node *const *)(r->stack.data + mark);
}

/* ---- struct info arguments: one annotation, or a list --------------------------------------- */

static bool push_infos(rlx_reader *r, const rlx_ast *a)
{
    size_t mark = r->annotation.places.len;
    bool ok = true;
    if (a->kind == RLX_AST_LIST || a->kind == RLX_AST_TUPLE) {
        for (const rlx_ast *i = a->first; i && ok; i = i->next)
            ok = push_node(r, rlx_read_sinfo(r, i));
    } else {
        ok = push_node(r, rlx_read_sinfo(r, a));
    }
    r->annotation.places.len = mark;
    return ok;
}

/* out_sinfo: a list is one tuple description */
static bool push_out_info(rlx_reader *r, const rlx_ast *a)
{
    size_t mark = r->stack.len;
    if (!push_infos(r, a))
        return false;
    if (a->kind != RLX_AST_LIST && a->kind != RLX_AST_TUPLE)
        return true;
    size_t n = r->stack.len - mark;
    const rlx_sinfo *one =
        n == 1 ? stacked(r, mark)[0] : rlx_tuple_info(r->ctx, stacked(r, mark), n);
    r->stack.len = mark;
    return push_node(r, one);
}

/* ---- arguments of operators ----------------------------------------------------------------- */

static const rlx_expr *function_argument(rlx_reader *r, const rlx_ast *a, const rlx_val *v)
{
    return v->kind == RLX_VAL_STR ? rlx_extern_func_new(r->ctx, v->s) : rlx_to_expr(r, a, v, false);
}

static const rlx_expr *dtype_argument(rlx_reader *r, const rlx_ast *a, const rlx_val *v)
{
    rlx_dtype t;
    if (v->kind == RLX_VAL_EXPR)
        return v->node;
    return rlx_to_dtype(r, a, v, &t) ? rlx_dtype_imm_new(r->ctx, t) : NULL;
}

/* Is e known to be no tuple? Then it stands for a tuple of one where a tuple is expected. */
static bool single(rlx_reader *r, const rlx_expr *e)
{
    if (rlx_as_tuple(e) || rlx_as_tuple_get_item(e))
        return false;
    if (rlx_as_call(e) || rlx_as_constant(e) || rlx_as_prim_value(e) || rlx_as_shape_expr(e))
        return true;
    const rlx_var *v = rlx_as_var(e);
    return v && v->sinfo && !rlx_as_tuple_sinfo(v->sinfo) && !rlx_as_object_sinfo(v->sinfo);
}

static const rlx_expr *tuple_argument(rlx_reader *r, const rlx_ast *a, const rlx_val *v)
{
    const rlx_expr *e = rlx_to_expr(r, a, v, true);
    return e && single(r, e) ? rlx_tuple_new(r->ctx, &e, 1, rlx_read_place(r, a)) : e;
}

static const rlx_expr *read_argument(rlx_reader *r, const rlx_ast *a, uint8_t kind)
{
    rlx_val v;
    if (kind == RLX_ARG_FUNC && a->kind == RLX_AST_NAME && !a->name->value.kind)
        return rlx_read_error(r, RLX_PA10, a, "%s is not defined; functions of the module are written cls.%s, "
                              "packed functions of the host \"%s\"",
                              a->name->text->data, a->name->text->data, a->name->text->data),
               NULL;
    const rlx_ast *root = a;
    while (root->kind == RLX_AST_ATTR)
        root = root->base;
    if (kind == RLX_ARG_FUNC && root != a && root->kind == RLX_AST_NAME && !root->name->value.kind)
        return rlx_read_error(r, RLX_PA10, a, "%s is not defined; packed functions of the host are named by "
                              "strings, as \"vm.builtin.copy\"", root->name->text->data),
               NULL;
    if (!rlx_read_value(r, a, &v))
        return NULL;
    switch (kind) {
    case RLX_ARG_SHAPE:
        if (v.kind == RLX_VAL_INT || v.kind == RLX_VAL_PRIM) { /* R.full(4, ...) */
            rlx_val one = {
                .kind = RLX_VAL_LIST, .begin = v.begin, .end = v.end, .list = { &v, 1 }
            };
            return rlx_to_shape_value(r, a, &one);
        }
        return rlx_to_shape_value(r, a, &v);
    case RLX_ARG_PRIM: case RLX_ARG_TENSOR_PRIM: case RLX_ARG_ANY: case RLX_ARG_STRING:
        return rlx_to_expr(r, a, &v, kind != RLX_ARG_TENSOR_PRIM || v.kind == RLX_VAL_PRIM);
    case RLX_ARG_TUPLE: return tuple_argument(r, a, &v);
    case RLX_ARG_FUNC: return function_argument(r, a, &v);
    case RLX_ARG_DTYPE: return dtype_argument(r, a, &v);
    default: return rlx_to_expr(r, a, &v, false);
    }
}

static const rlx_attr *read_attribute(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (a->kind == RLX_AST_LAMBDA)
        return rlx_read_index_map(r, a, RELAX_INT64, NULL);
    return rlx_read_value(r, a, &v) ? rlx_to_attr(r, a, &v) : NULL;
}

/* ---- operators by their rows ---------------------------------------------------------------- */

/* Parameters of an operator in the order of its function. */
#define MAX_PARAMS 24
/* PARAM_MORE: an argument of row->extended */
enum { PARAM_ARG, PARAM_ATTR, PARAM_SINFO, PARAM_OUT_SINFO, PARAM_MORE, PARAM_UNKNOWN };
typedef struct op_param { rlx_slice name; uint8_t what, index; } op_param;

static op_param param_of(const rlx_op_row *row, const rlx_op_row *extended, rlx_slice name)
{
    for (uint8_t i = 0; i < row->num_args; i++)
        if (rlx_slice_is(name, row->args[i].name))
            return (op_param){ name, PARAM_ARG, i };
    for (uint8_t i = 0; i < row->num_attrs; i++)
        if (rlx_slice_is(name, row->attrs[i].name))
            return (op_param){ name, PARAM_ATTR, i };
    for (uint8_t i = 0; extended && i < extended->num_args; i++)
        if (rlx_slice_is(name, extended->args[i].name))
            return (op_param){ name, PARAM_MORE, i };
    if (rlx_slice_is(name, "out_sinfo"))
        return (op_param){ name, PARAM_OUT_SINFO, 0 };
    if (rlx_slice_is(name, "format_args")) /* R.assert_op: the values */
        return (op_param){ name, PARAM_ARG, (uint8_t)(row->num_args - 1) };
    return (op_param){ name, rlx_slice_is(name, "sinfo_args") ? PARAM_SINFO : PARAM_UNKNOWN, 0 };
}

static const rlx_op_row *extended_row(const rlx_reader *r, const rlx_op_row *row)
{
    return row->extended ? r->ctx->ops->find(r->ctx, rlx_slice_z(row->extended)) : NULL;
}

static size_t params_of(const rlx_reader *r, const rlx_op_row *row, op_param *out)
{
    size_t n = 0;
    const rlx_op_row *extended = extended_row(r, row);
    if (!row->params) {
        for (uint8_t i = 0; i < row->num_args; i++)
            out[n++] = (op_param){ rlx_slice_z(row->args[i].name), PARAM_ARG, i };
        for (uint8_t i = 0; i < row->num_attrs; i++)
            out[n++] = (op_param){ rlx_slice_z(row->attrs[i].name), PARAM_ATTR, i };
        return n;
    }
    for (const char *p = row->params; *p && n < MAX_PARAMS;) {
        size_t len = strcspn(p, " ");
        out[n++] = param_of(row, extended, (rlx_slice){ p, len });
        p += len + (p[len] == ' ');
    }
    return n;
}

struct rlx_op_params { op_param items[MAX_PARAMS]; size_t count; };

typedef struct op_call {
    const rlx_op_row *row, *extended;
    const rlx_ast *call;
    const op_param *params;
    size_t num_params;
    const rlx_ast **slots;    /* one for each; not on the stack, as calls are nested deep */
    const rlx_ast *rest;      /* operators with a repeated argument: the first of them */
    size_t rest_count;
    const rlx_attr *known;    /* what all keywords give, if that is known */
    const rlx_ast *described; /* sinfo_args of an operator that infers its result */
} op_call;

static const char *op_param_at(void *user, size_t i)
{
    const op_call *c = user;
    const op_param *p = &c->params[i];
    const rlx_op_row *row = c->row;
    return p->what == PARAM_ARG     ? row->args[p->index].name
           : p->what == PARAM_ATTR  ? row->attrs[p->index].name
           : p->what == PARAM_MORE  ? c->extended->args[p->index].name
           : p->what == PARAM_SINFO ? "sinfo_args"
                                    : "out_sinfo";
}

/* Newer names of the same keyword. */
static rlx_slice modern_keyword(const rlx_ast *arg)
{
    rlx_slice name = rlx_string_slice(arg->name->text);
    static const struct {
        const char *newer, *here;
    } names[] = { { "out_ty", "out_sinfo" }, { "ty_args", "sinfo_args" } };
    for (size_t i = 0; i < RLX_COUNT(names); i++)
        if (rlx_slice_is(name, names[i].newer))
            return rlx_slice_z(names[i].here);
    return name;
}

/* "it is R.add(x1, x2)"; false, for what has just been refused. */
static bool note_form(rlx_reader *r, op_call *c)
{
    char name[128];
    snprintf(name, sizeof name, "R.%s", c->row->short_name);
    rlx_note_signature(r, name, op_param_at, c, c->num_params);
    return false;
}

static size_t param_called(const op_call *c, rlx_slice name)
{
    size_t i = 0;
    while (i < c->num_params && !rlx_slice_equal(name, c->params[i].name))
        i++;
    return i;
}

static bool takes_tuple(const rlx_op_row *row)
{
    return row->num_args && row->args[0].kind == RLX_ARG_TUPLE;
}

static bool given_twice(rlx_reader *r, const rlx_op_row *row, const rlx_ast *arg)
{
    bool tuple = takes_tuple(row);
    return rlx_read_error(r, RLX_PA12, arg, "R.%s is given %s twice%s%s%s", row->short_name,
                          arg->name->text->data, tuple ? "; its tensors are one tuple: R." : "",
                          tuple ? row->short_name : "", tuple ? "((x, y), ...)" : "");
}

static bool set_keyword(rlx_reader *r, op_call *c, const rlx_ast *arg)
{
    rlx_slice name = rlx_string_slice(arg->name->text);
    size_t i = param_called(c, name);
    if (i == c->num_params) {
        name = modern_keyword(arg);
        i = param_called(c, name);
    }
    if (i < c->num_params) {
        if (c->slots[i])
            return given_twice(r, c->row, arg);
        c->slots[i] = arg->base;
        return true;
    }
    if (rlx_slice_is(name, "sinfo_args") && !c->described) {
        c->described = arg->base;
        return true;
    }
    const char *near = rlx_cure_keyword(r, name, op_param_at, c, c->num_params);
    rlx_read_error(r, RLX_PA12, arg, "R.%s has no parameter %s%s%s", c->row->short_name,
                   arg->name->text->data, near ? "; did you mean " : "", near ? near : "");
    return near ? false : note_form(r, c);
}

static bool bind_op_args(rlx_reader *r, op_call *c)
{
    bool varargs = c->row->flags & RLX_OP_VARARGS;
    size_t repeated = varargs ? (size_t)c->row->num_args - 1 : SIZE_MAX, position = 0;
    for (const rlx_ast *a = c->call->first; a; a = a->next) {
        if (a->kind == RLX_AST_KEYWORD) {
            if (!set_keyword(r, c, a))
                return false;
            continue;
        }
        if (a->kind == RLX_AST_KEYWORDS) {
            c->known = a->node;
            continue;
        }
        if (a->kind == RLX_AST_STAR)
            return rlx_read_error(r, RLX_PA16, a, "an unpacked argument is not supported here");
        const op_param *p = position < c->num_params ? &c->params[position] : NULL;
        bool repeats = p && p->what == PARAM_ARG && p->index == repeated &&
                       !rlx_slice_is(p->name, "format_args");
        if (repeats) {
            if (!c->rest)
                c->rest = a;
            c->rest_count++;
            continue;
        }
        if (!p)
            return rlx_read_error(r, RLX_PA12, a, "R.%s takes %zu argument%s, found %u", c->row->short_name,
                                  c->num_params, c->num_params == 1 ? "" : "s", (unsigned)c->call->count) ||
                   note_form(r, c);
        c->slots[position++] = a;
    }
    return true;
}

/* ---- keywords by their text: axes=[1, 0] gives the same attributes every time */

/* One slot of a direct-mapped table, which has a quarter of the slots for annotations. */
typedef struct rlx_keyword_memo {
    uint32_t begin, len;
    size_t before;            /* how many arguments stand before them */
    const rlx_word *path;     /* of the operator */
    const rlx_attr *given;
} rlx_keyword_memo;

static rlx_keyword_memo *keywords_slot(rlx_reader *r, const rlx_word *path, uint32_t begin,
                                       uint32_t len)
{
    uint64_t hash = rlx_hash_bytes(r->parser.lexer.text + begin, len) ^ path->text->hash;
    return &r->cache.keywords[hash & (r->cache.slots / 4 - 1)];
}

/* R.add, R.nn.relu: the path below R, if it was looked up before; else NULL. */
static const rlx_word *known_path(const rlx_ast *callee)
{
    if (callee->kind != RLX_AST_ATTR)
        return NULL;
    const rlx_ast *base = callee->base;
    const rlx_word *path = callee->name;
    if (base->kind == RLX_AST_ATTR) {
        path = path->functions && path->functions->below == base->name ? path->functions->joined
                                                                       : NULL;
        base = base->base;
    }
    return base->kind == RLX_AST_NAME && base->name->value.kind == RLX_VAL_SPACE &&
                   base->name->value.sub == RLX_SPACE_R
               ? path
               : NULL;
}

rlx_ast *rlx_known_keywords_at(rlx_reader *r, const rlx_ast *call, uint32_t begin, uint32_t end)
{
    const char *text = r->parser.lexer.text;
    const rlx_word *path =
        r->cache.keywords && r->unit.dialect == RLX_DIALECT_RELAX ? known_path(call->base) : NULL;
    const rlx_keyword_memo *k = path ? keywords_slot(r, path, begin, end - begin) : NULL;
    for (const rlx_ast *i = call->first; i; i = i->next)
        if (i->kind == RLX_AST_STAR)
            return NULL;
    if (!k || k->path != path || k->before != call->count || k->len != end - begin ||
        memcmp(text + k->begin, text + begin, k->len) != 0)
        return NULL;
    rlx_ast *a = rlx_region_alloc(&r->parser.region, sizeof *a);
    if (a)
        *a = (rlx_ast){ .kind = RLX_AST_KEYWORDS, .begin = begin, .end = end, .node = k->given };
    return a;
}

static bool is_plain_literal(const rlx_ast *a)
{
    return (a->kind >= RLX_AST_INT && a->kind <= RLX_AST_FALSE) ||
           (a->kind == RLX_AST_UNARY && a->base->kind == RLX_AST_INT);
}

/* A literal, or a list of literals. */
static bool is_literal(const rlx_ast *a)
{
    bool list = a->kind == RLX_AST_LIST || a->kind == RLX_AST_TUPLE, plain = true;
    for (const rlx_ast *i = list ? a->first : NULL; i; i = i->next)
        plain &= is_plain_literal(i);
    return list ? plain : is_plain_literal(a);
}

/* Where the keywords begin, if they are all there is to say about the attributes, and literals;
 * else 0. */
static uint32_t literal_keywords(const op_call *c, size_t *before)
{
    uint32_t begin = 0;
    *before = 0;
    for (const rlx_ast *a = c->call->first; a; a = a->next) {
        if (a->kind == RLX_AST_KEYWORD ? !is_literal(a->base)
                                       : begin || c->params[*before].what != PARAM_ARG)
            return 0;
        if (a->kind == RLX_AST_KEYWORD && !begin)
            begin = a->begin;
        *before += a->kind != RLX_AST_KEYWORD;
    }
    for (size_t i = *before; i < c->num_params; i++)
        if (c->slots[i] && c->params[i].what != PARAM_ATTR)
            return 0;
    return begin;
}

static void remember_keywords(rlx_reader *r, const op_call *c, const rlx_word *path,
                              const rlx_attr *given)
{
    size_t before;
    const char *text = r->parser.lexer.text;
    uint32_t begin = c->row->flags & RLX_OP_VARARGS ? 0 : literal_keywords(c, &before),
             len = c->call->end - 1 - begin;
    if (!begin || memchr(text + begin, ')', len) || memchr(text + begin, '\n', len))
        return;
    size_t bytes = r->cache.slots / 4 * sizeof *r->cache.keywords;
    if (!r->cache.keywords && !(r->cache.keywords = rlx_region_zero(&r->module.kept, bytes)))
        return; /* nothing is lost */
    *keywords_slot(r, path, begin, len) = (rlx_keyword_memo){ begin, len, before, path, given };
}

static bool mentions(const char *text, size_t len, const char *mark)
{
    size_t want = strlen(mark);
    for (const char *at = text, *end = text + len;
         (at = memchr(at, mark[0], (size_t)(end - at))) && (size_t)(end - at) >= want; at++)
        if (memcmp(at, mark, want) == 0)
            return true;
    return false;
}

/* Does the text say something that only TVM 0.27 writes? */
static bool is_newer_text(rlx_reader *r)
{
    static const char *const marks[] = { "tirx", "TypeVar(", "s_tir=", "T.sblock", "out_ty=", "ty_args=", "R.Any" };
    if (r->text.wrote == RLX_WROTE_UNASKED) {
        const rlx_source *s = rlx_diags_source(&r->ctx->diags, r->text.source);
        r->text.wrote = RLX_WROTE_OLDER;
        for (size_t i = 0; i < RLX_COUNT(marks); i++)
            if (s && s->text && mentions(s->text, s->len, marks[i]))
                r->text.wrote = RLX_WROTE_NEWER;
    }
    return r->text.wrote == RLX_WROTE_NEWER;
}

/* What the dialect of the text means by an attribute that is not given; NULL: what the row says. */
static const rlx_attr *unsaid(rlx_reader *r, const op_call *c, const op_param *p, bool *lost)
{
    const rlx_op_attr *a = &c->row->attrs[p->index];
    if (!a->newer_deflt || !is_newer_text(r))
        return NULL;
    const rlx_attr *value = r->ctx->ops->newer_default(r->ctx, a);
    *lost |= !value;
    return value;
}

/* Attributes given, as a map; NULL in *given if there are none. */
static bool read_given(rlx_reader *r, const op_call *c, const rlx_attr **given)
{
    size_t n = 0;
    if (c->known)
        return *given = c->known, true;
    const rlx_attr **keys = rlx_region_array(&r->parser.region, 2 * c->num_params, sizeof *keys);
    if (!keys)
        return false;
    const rlx_attr **values = keys + c->num_params;
    for (size_t i = 0; i < c->num_params; i++) {
        if (c->params[i].what != PARAM_ATTR)
            continue;
        bool lost = false;
        values[n] = c->slots[i] ? read_attribute(r, c->slots[i])
                                : unsaid(r, c, &c->params[i], &lost);
        if (!values[n] && !c->slots[i] && !lost)
            continue;
        keys[n] = rlx_attr_string_new(r->ctx, c->params[i].name);
        if (!keys[n] || !values[n++])
            return false;
    }
    *given = n ? rlx_attrs_new(r->ctx, keys, values, n) : NULL;
    return !n || *given;
}

static const rlx_ast *slot_of(const op_call *c, uint8_t what, uint8_t index)
{
    for (size_t i = 0; i < c->num_params; i++)
        if (c->params[i].what == what && c->params[i].index == index)
            return c->slots[i];
    return NULL;
}

/* Arguments onto the stack, in the order of the row. */
static bool push_args(rlx_reader *r, const op_call *c)
{
    const rlx_op_row *row = c->row;
    bool varargs = row->flags & RLX_OP_VARARGS;
    size_t fixed = row->num_args - (varargs ? 1 : 0), last = r->stack.len, first = last;
    for (uint8_t i = 0; i < fixed; i++) {
        const rlx_ast *a = slot_of(c, PARAM_ARG, i);
        const rlx_expr *e = NULL;
        bool left_out = !a || (a->kind == RLX_AST_NONE && (row->args[i].optional || row->prepare));
        r->unit.beside = i && i == r->stack.len - first ? r->stack.data[r->stack.len - 1] : NULL;
        if (!left_out && !(e = read_argument(r, a, row->args[i].kind)))
            return false;
        if (e && row->prepare && row->args[i].optional && rlx_as_tuple(e) &&
            !rlx_as_tuple(e)->num_fields)
            e = NULL; /* R.tuple() is how a part left out prints */
        if (left_out && row->args[i].kind == RLX_ARG_STRING &&
            !(e = rlx_string_imm_new(r->ctx, RLX_SLICE(""))))
            return false;
        if (!rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)e))
            return false;
        last = e ? r->stack.len : last;
    }
    if (!varargs) {
        r->stack.len = last; /* optional ones at the end are simply absent */
        return true;
    }
    const rlx_ast *a = c->rest;
    for (size_t i = 0; i < c->rest_count; a = a->next)
        if (a->kind != RLX_AST_KEYWORD && (i++, !push_node(r, rlx_read_expr(r, a, true))))
            return false;
    const rlx_ast *list = slot_of(c, PARAM_ARG, (uint8_t)fixed);
    if (!list || list->kind == RLX_AST_NONE)
        return true;
    if (list->kind != RLX_AST_LIST && list->kind != RLX_AST_TUPLE)
        return push_node(r, rlx_read_expr(r, list, true));
    for (const rlx_ast *i = list->first; i; i = i->next)
        if (!push_node(r, rlx_read_expr(r, i, true)))
            return false;
    return true;
}

static bool push_sinfo_args(rlx_reader *r, const op_call *c)
{
    const rlx_ast *out = slot_of(c, PARAM_OUT_SINFO, 0), *args = slot_of(c, PARAM_SINFO, 0);
    if (out && !push_out_info(r, out))
        return false;
    return !args || args->kind == RLX_AST_NONE || push_infos(r, args);
}

static bool needs(rlx_reader *r, const op_call *c)
{
    const rlx_op_row *row = c->row;
    for (uint8_t i = 0; i < row->min_args; i++)
        if (row->args[i].kind != RLX_ARG_STRING && !row->args[i].optional &&
            !slot_of(c, PARAM_ARG, i) &&
            !(row->flags & RLX_OP_VARARGS && i + 1 == row->num_args))
            return rlx_read_error(r, RLX_PA12, c->call, "R.%s needs the argument %s",
                                  row->short_name, row->args[i].name) ||
                   note_form(r, (op_call *)c);
    for (size_t i = 0; i < c->num_params; i++)
        if (c->params[i].what == PARAM_OUT_SINFO && !c->slots[i])
            return rlx_read_error(r, RLX_PA12, c->call, "R.%s needs the argument out_sinfo",
                                  row->short_name);
    return true;
}

/* Kept with the name that the row was found by. */
static const struct rlx_op_params *params_for(rlx_reader *r, rlx_functions *known,
                                              const rlx_op_row *row)
{
    bool keep = known && known->row == row;
    struct rlx_op_params *p =
        rlx_region_alloc(keep ? &r->module.kept : &r->parser.region, sizeof *p);
    if (!p)
        return NULL;
    p->count = params_of(r, row, p->items);
    if (keep)
        known->params = p;
    return p;
}

/* A call with an argument of the extended operator is one of that operator. The parameters are the
 * same, so what is bound stays. */
static bool extend_op(rlx_reader *r, op_call *c)
{
    bool more = false;
    for (size_t i = 0; i < c->num_params && c->extended; i++) {
        if (c->params[i].what != PARAM_MORE || !c->slots[i])
            continue;
        if (c->slots[i]->kind == RLX_AST_NONE)
            c->slots[i] = NULL;
        more |= c->slots[i] != NULL;
    }
    const struct rlx_op_params *params = more ? params_for(r, NULL, c->extended) : NULL;
    if (more && !params)
        return false;
    if (more && params->count == c->num_params) {
        c->row = c->extended;
        c->params = params->items;
    }
    return true;
}

/* TVM prints what its passes have said of the result of any call (R.builtin.alloc_tensor after
 * CallTIRRewrite of 0.27). What an operator infers by itself is not kept twice: it must agree. */
static bool is_as_described(rlx_reader *r, const op_call *c, const rlx_expr *e)
{
    size_t mark = r->stack.len;
    if (!push_infos(r, c->described))
        return false;
    size_t n = r->stack.len - mark;
    const rlx_sinfo *said =
        n == 1 ? stacked(r, mark)[0] : rlx_tuple_info(r->ctx, stacked(r, mark), n);
    r->stack.len = mark;
    const rlx_sinfo *have = said ? rlx_read_known_sinfo(r, e) : NULL;
    if (!have || n == 0)
        return said && (n == 0 || rlx_read_error(r, RLX_PA12, c->described,
                                                 "R.%s infers its result: annotate the variable",
                                                 c->row->short_name));
    return rlx_assignable(r->ctx, NULL, have, said, NULL) != RLX_ASSIGNABLE_NO ||
           rlx_read_error(r, RLX_TY01, c->described, "R.%s gives %s but is described as %s",
                          c->row->short_name, rlx_show(r->ctx, have), rlx_show(r->ctx, said));
}

static bool finish_op(rlx_reader *r, op_call *c, const rlx_word *path, rlx_val *out)
{
    size_t mark = r->stack.len;
    const rlx_attr *given = NULL;
    const rlx_expr *e = NULL;
    if (bind_op_args(r, c) && extend_op(r, c) && needs(r, c) && push_args(r, c)) {
        size_t num_args = r->stack.len - mark;
        if (push_sinfo_args(r, c) && read_given(r, c, &given))
            e = r->ctx->ops->call(r->ctx, c->row, stacked(r, mark), num_args,
                                  stacked(r, mark) + num_args, r->stack.len - mark - num_args,
                                  given, rlx_read_place(r, c->call));
    }
    r->stack.len = mark;
    if (e && c->described && !is_as_described(r, c, e))
        e = NULL;
    if (e && given && !c->known && !c->described && path && c->call->op)
        remember_keywords(r, c, path, given);
    return rlx_val_set(out, RLX_VAL_EXPR, e, c->call);
}

/* The most frequent calls by far: every argument by position, no attribute given. */
static bool positional(rlx_reader *r, const rlx_op_row *row, const rlx_ast *call, rlx_val *out)
{
    const rlx_expr *args[4];
    uint8_t n = 0;
    bool ok = true;
    for (const rlx_ast *a = call->first; a; a = a->next, n++) {
        r->unit.beside = n ? args[n - 1] : NULL;
        ok &= (args[n] = read_argument(r, a, row->args[n].kind)) != NULL;
    }
    return ok && rlx_val_set(
        out, RLX_VAL_EXPR,
        r->ctx->ops->call(r->ctx, row, args, n, NULL, 0, NULL, rlx_read_place(r, call)), call);
}

static bool all_positional(const rlx_op_row *row, const rlx_ast *call)
{
    if (row->params || row->prepare || row->flags & RLX_OP_VARARGS ||
        call->count != row->num_args || call->count > 4)
        return false;
    for (const rlx_ast *a = call->first; a; a = a->next)
        if (a->kind == RLX_AST_KEYWORD || a->kind == RLX_AST_KEYWORDS || a->kind == RLX_AST_STAR ||
            a->kind == RLX_AST_NONE)
            return false;
    return true;
}

bool rlx_call_row(rlx_reader *r, rlx_word *path, const rlx_op_row *row, const rlx_ast *call,
                  rlx_val *out)
{
    if (all_positional(row, call))
        return positional(r, row, call, out);
    rlx_functions *known = path ? path->functions : NULL;
    const struct rlx_op_params *params =
        known && known->params ? known->params : params_for(r, known, row);
    if (!params)
        return false;
    op_call c = { .row = row, .extended = extended_row(r, row), .params = params->items,
                  .num_params = params->count };
    c.slots = rlx_region_zero(&r->parser.region, c.num_params * sizeof *c.slots);
    if (!c.slots)
        return false;
    c.call = rlx_expand_stars(r, call);
    return c.call && finish_op(r, &c, path, out);
}

/* ---- constants ------------------------------------------------------------------------------ */

typedef struct const_data {
    rlx_dtype dtype;
    int64_t shape[16];
    size_t ndim;
    const rlx_val **items;
    size_t count;
} const_data;

/* Shape of nested lists by their first items. */
static bool const_shape(rlx_reader *r, const rlx_ast *at, const rlx_val *v, const_data *d)
{
    size_t total = 1;
    for (; v && (v->kind == RLX_VAL_LIST || v->kind == RLX_VAL_TUPLE);
         v = v->list.count ? &v->list.items[0] : NULL) {
        if (d->ndim == RLX_COUNT(d->shape))
            return rlx_read_error(r, RLX_PA20, at, "a constant has at most 16 dimensions");
        d->shape[d->ndim++] = (int64_t)v->list.count;
        if (!rlx_mul_size(total, v->list.count, &total))
            return rlx_read_error(r, RLX_PA20, at, "this constant is too large");
    }
    d->items = rlx_region_array(&r->parser.region, total ? total : 1, sizeof *d->items);
    return d->items;
}

static bool const_items(rlx_reader *r, const rlx_ast *at, const rlx_val *v, const_data *d,
                        size_t level)
{
    bool list = v->kind == RLX_VAL_LIST || v->kind == RLX_VAL_TUPLE;
    if (list != (level < d->ndim) || (list && (int64_t)v->list.count != d->shape[level]))
        return rlx_read_error(r, RLX_PA12, at, "the lists of a constant have different lengths");
    for (size_t i = 0; list && i < v->list.count; i++)
        if (!const_items(r, at, &v->list.items[i], d, level + 1))
            return false;
    if (!list) {
        if (v->kind != RLX_VAL_INT && v->kind != RLX_VAL_FLOAT && v->kind != RLX_VAL_BOOL)
            return rlx_read_expected(r, at, "a number", v);
        d->items[d->count++] = v;
    }
    return true;
}

/* numpy's choice, with int64 read as int32 and float64 as float32 */
static rlx_dtype const_dtype(const const_data *d)
{
    uint8_t kind = RLX_VAL_BOOL;
    for (size_t i = 0; i < d->count; i++)
        if (d->items[i]->kind == RLX_VAL_FLOAT ||
            (d->items[i]->kind == RLX_VAL_INT && kind == RLX_VAL_BOOL))
            kind = d->items[i]->kind;
    return kind == RLX_VAL_FLOAT || !d->count ? RELAX_FLOAT32
           : kind == RLX_VAL_INT              ? RELAX_INT32
                                              : RELAX_BOOL;
}

static bool store_int(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype t,
                      unsigned char *to)
{
    rlx_val whole = *v;
    if (rlx_dtype_is_bool(t)) {
        *to = v->kind == RLX_VAL_FLOAT ? v->f != 0 : v->i != 0;
        return true;
    }
    if ((v->kind == RLX_VAL_FLOAT && !rlx_val_truncate(v->f, &whole)) ||
        !rlx_dtype_has_int(t, whole.i, whole.sub))
        return rlx_does_not_fit(r, at, v, t);
    memcpy(to, &whole.i, rlx_dtype_bytes(t)); /* little-endian, as all of the library's data */
    return true;
}

static const rlx_expr *make_const(rlx_reader *r, const rlx_ast *at, const const_data *d)
{
    if (!rlx_dtype_is_computable(d->dtype)) {
        char name[RLX_DTYPE_TEXT];
        rlx_dtype_name(d->dtype, name);
        return rlx_read_error(r, RLX_PA25, at, "a constant cannot have the dtype %s", name), NULL;
    }
    size_t bytes = rlx_dtype_bytes(d->dtype), total;
    if (!rlx_mul_size(bytes, d->count, &total))
        return rlx_read_error(r, RLX_PA20, at, "this constant is too large"), NULL;
    unsigned char *data = rlx_region_alloc(&r->parser.region, total + 8);
    if (!data)
        return NULL;
    for (size_t i = 0; i < d->count; i++) {
        const rlx_val *v = d->items[i];
        if (rlx_dtype_is_float(d->dtype))
            rlx_dtype_store_float(d->dtype, data + i * bytes, rlx_val_number(v));
        else if (!store_int(r, at, v, d->dtype, data + i * bytes))
            return NULL;
    }
    return rlx_constant_new(r->ctx, d->dtype, d->shape, d->ndim, data, rlx_read_place(r, at));
}

const rlx_expr *rlx_const_of(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype dtype)
{
    const_data d = { .dtype = dtype };
    if (!const_shape(r, at, v, &d) || !const_items(r, at, v, &d, 0))
        return NULL;
    if (dtype == RELAX_VOID)
        d.dtype = const_dtype(&d);
    return make_const(r, at, &d);
}

static bool call_const(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v, t;
    rlx_dtype dtype = RELAX_VOID;
    if (!rlx_bind_args(r, call, "R.const", RLX_PARAMS("value", "dtype"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    if (slot[1] && (!rlx_read_value(r, slot[1], &t) || !rlx_to_dtype(r, slot[1], &t, &dtype)))
        return false;
    rlx_val number = v;
    if (v.kind == RLX_VAL_STR && rlx_dtype_is_float(dtype)) { /* what TVM prints for infinities */
        rlx_ast item = {
            .kind = RLX_AST_VALUE, .begin = slot[0]->begin, .end = slot[0]->end, .value = &v
        };
        rlx_ast fake = { .kind = RLX_AST_CALL,
                         .count = 1,
                         .begin = slot[0]->begin,
                         .end = slot[0]->end,
                         .first = &item };
        if (!rlx_call_python(r, RLX_PY_FLOAT, &fake, &number))
            return false;
    }
    return rlx_val_set(out, RLX_VAL_EXPR, rlx_const_of(r, call, &number, dtype), call);
}

/* ---- other values --------------------------------------------------------------------------- */

/* R.prim_value(n): numbers become int64 (also True), floats float32 */
static bool call_prim_value(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call,
                            rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_val v;
    if (!rlx_bind_args(r, call, "R.prim_value", RLX_PARAMS("value"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    const rlx_prim *p = (v.kind == RLX_VAL_INT && !v.sub) || v.kind == RLX_VAL_BOOL
                            ? rlx_int64(r->ctx, v.i)
                            : rlx_to_prim(r, slot[0], &v);
    return rlx_val_set(out, RLX_VAL_EXPR, rlx_to_scalar_value(r, slot[0], p), call);
}

static bool call_str(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_val v;
    rlx_slice s;
    if (!rlx_bind_args(r, call, "R.str", RLX_PARAMS("value"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v) || !rlx_to_string(r, slot[0], &v, &s))
        return false;
    return rlx_val_set(out, RLX_VAL_EXPR, rlx_string_imm_new(r->ctx, s), call);
}

static bool call_dtype(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_val v;
    if (!rlx_bind_args(r, call, "R.dtype", RLX_PARAMS("value"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    return rlx_val_set(out, RLX_VAL_EXPR, dtype_argument(r, slot[0], &v), call);
}

static bool call_shape(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_val v;
    if (!rlx_bind_args(r, call, "R.shape", RLX_PARAMS("values"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    return rlx_val_set(out, RLX_VAL_EXPR, rlx_to_shape_value(r, slot[0], &v), call);
}

static bool call_tuple(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    size_t mark = r->stack.len;
    const rlx_ast *from = rlx_expand_stars(r, call);
    bool ok = from != NULL;
    for (const rlx_ast *a = from ? from->first : NULL; a && ok; a = a->next)
        ok = a->kind == RLX_AST_KEYWORD
                 ? rlx_read_error(r, RLX_PA12, a, "R.tuple has no parameter %s",
                                  a->name->text->data)
                 : push_node(r, rlx_read_expr(r, a, true));
    const rlx_expr *e =
        ok ? rlx_tuple_new(r->ctx, stacked(r, mark), r->stack.len - mark, rlx_read_place(r, call))
           : NULL;
    r->stack.len = mark;
    return rlx_val_set(out, RLX_VAL_EXPR, e, call);
}

static bool call_extern(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v;
    rlx_slice s;
    if (!rlx_bind_args(r, call, "R.ExternFunc", RLX_PARAMS("global_symbol", "struct_info"), 1,
                       slot) ||
        !rlx_read_value(r, slot[0], &v) || !rlx_to_string(r, slot[0], &v, &s))
        return false;
    size_t mark = r->annotation.places.len;
    const rlx_sinfo *info = slot[1] ? rlx_read_sinfo(r, slot[1]) : NULL;
    r->annotation.places.len = mark;
    if (slot[1] && !info)
        return false;
    if (info && !rlx_as_func_sinfo(info))
        return rlx_read_error(r, RLX_PA12, slot[1],
                              "R.ExternFunc is described by R.Callable, found %s",
                              rlx_show(r->ctx, info));
    return rlx_val_set(out, RLX_VAL_EXPR, rlx_extern_func_of(r->ctx, s, info), call);
}

static bool call_get_item(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v;
    int64_t i;
    if (!rlx_bind_args(r, call, "R.TupleGetItem", RLX_PARAMS("tuple_value", "index"), 2, slot))
        return false;
    const rlx_expr *t = rlx_read_expr(r, slot[0], false);
    if (!t || !rlx_read_value(r, slot[1], &v) || !rlx_to_int(r, slot[1], &v, &i))
        return false;
    return rlx_val_set(out, RLX_VAL_EXPR,
                       rlx_tuple_get_item_new(r->ctx, t, i, rlx_read_place(r, call)), call);
}

static bool call_annotation(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call,
                            rlx_val *out)
{
    size_t mark = r->annotation.places.len;
    const rlx_sinfo *s = rlx_read_sinfo(r, call);
    r->annotation.places.len = mark;
    return rlx_val_set(out, RLX_VAL_SINFO, s, call);
}

/* ---- packed functions ----------------------------------------------------------------------- */

static const rlx_attr *attrs_of_pairs(rlx_reader *r, const rlx_attr *const *pairs, size_t count)
{
    const rlx_attr **keys = rlx_region_array(&r->parser.region, 2 * count, sizeof *keys);
    if (!keys)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        keys[i] = pairs[2 * i];
        keys[count + i] = pairs[2 * i + 1];
    }
    return rlx_attrs_new(r->ctx, keys, keys + count, count);
}

/* Keywords that are no parameters are attributes of the call. */
static bool packed_attrs(rlx_reader *r, const rlx_ast *call, const rlx_attr **out)
{
    const rlx_attr *attrs = NULL;
    bool any = false;
    size_t mark = r->stack.len, count = 0;
    for (const rlx_ast *a = call->first; a; a = a->next) {
        rlx_slice name =
            a->kind == RLX_AST_KEYWORD ? rlx_string_slice(a->name->text) : (rlx_slice){ NULL, 0 };
        if (!name.data || rlx_slice_is(name, "sinfo_args") || rlx_slice_is(name, "ty_args"))
            continue;
        const rlx_attr *v = read_attribute(r, a->base);
        if (!v)
            return false;
        const rlx_attr_string *text = rlx_as_attr_string(v);
        if (rlx_slice_is(name, "attrs_type_key") && text &&
            (rlx_slice_is(rlx_string_slice(text->value), "DictAttrs") ||
             rlx_slice_is(rlx_string_slice(text->value), "ir.DictAttrs"))) {
            any = true;
            continue;
        }
        const rlx_attr *key = rlx_attr_string_new(r->ctx, name);
        if (!key || !rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)key) ||
            !rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)v))
            return false;
        count++;
    }
    if (count &&
        !(attrs = attrs_of_pairs(r, (const rlx_attr *const *)(r->stack.data + mark), count)))
        return false;
    r->stack.len = mark;
    if (any && !attrs && !(attrs = rlx_attrs_new(r->ctx, NULL, NULL, 0)))
        return false;
    *out = attrs;
    return true;
}

/* TVM 0.27 prints calls of packed functions that its passes have described without what they are
 * described as: in a pure function it can only be that. */
static const rlx_expr *described(rlx_reader *r, const rlx_expr *op)
{
    const rlx_extern_func *f = rlx_as_extern_func(op);
    const rlx_pending *in = r->unit.where.function;
    if (!f || f->sinfo || !in || in->impure ||
        !rlx_slice_is(rlx_string_slice(f->symbol), "runtime.TVMArrayCreateView"))
        return op;
    const rlx_string *derive = rlx_string_z(r->ctx, "tvm.relax.struct_info.infer_view_sinfo");
    const rlx_sinfo *s = derive ? rlx_opaque_func_info(r->ctx, RLX_DERIVE_NAMED, derive,
                                                       r->ctx->object, true)
                                : NULL;
    return s ? rlx_extern_func_of(r->ctx, rlx_string_slice(f->symbol), s) : NULL;
}

/* R.call_packed("f", x, ..., sinfo_args=S): a call whose callee is the packed function itself */
static bool call_packed(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *given, rlx_val *out)
{
    const rlx_ast *call = rlx_expand_stars(r, given);
    const rlx_ast *func = call ? call->first : NULL,
                  *infos = call ? rlx_keyword(call, "sinfo_args") : NULL;
    if (!call)
        return false;
    if (!infos)
        infos = rlx_keyword(call, "ty_args");
    if (func && func->kind == RLX_AST_KEYWORD)
        func = NULL;
    if (!func)
        return rlx_read_error(r, RLX_PA12, call, "R.call_packed needs the argument func");
    size_t mark = r->stack.len, num_args;
    const rlx_attr *attrs = NULL;
    const rlx_expr *op = read_argument(r, func, RLX_ARG_FUNC), *e = NULL;
    bool ok = op != NULL;
    for (const rlx_ast *a = func->next; a && ok; a = a->next)
        if (a->kind != RLX_AST_KEYWORD)
            ok = push_node(r, rlx_read_expr(r, a, true));
    num_args = r->stack.len - mark;
    if (ok && (!infos || infos->kind == RLX_AST_NONE || push_infos(r, infos)) &&
        packed_attrs(r, call, &attrs))
        e = rlx_call_new(r->ctx, infos ? op : described(r, op), stacked(r, mark), num_args,
                         stacked(r, mark) + num_args, r->stack.len - mark - num_args, attrs,
                         rlx_read_place(r, call));
    r->stack.len = mark;
    return rlx_val_set(out, RLX_VAL_EXPR, e, call);
}

/* ---- the call_tir family in its older form -------------------------------------------------- */

/* R.call_tir(f, args, (m, k), dtype="float32"): the third argument is a shape */
static const rlx_sinfo *older_out(rlx_reader *r, const rlx_ast *shape, const rlx_ast *type)
{
    rlx_val v;
    rlx_dtype dtype = RELAX_VOID;
    if (type && (!rlx_read_value(r, type, &v) || !rlx_to_dtype(r, type, &v, &dtype)))
        return NULL;
    if (!rlx_read_value(r, shape, &v))
        return NULL;
    const rlx_expr *e = rlx_to_shape(r, shape, &v);
    return e ? rlx_tensor_info(r->ctx, e, dtype, -1, NULL) : NULL;
}

static bool looks_like_shape(const rlx_ast *a)
{
    if (a->kind == RLX_AST_NAME)
        return a->name->value.kind == RLX_VAL_EXPR;
    return (a->kind == RLX_AST_TUPLE || a->kind == RLX_AST_LIST) &&
           (!a->first || (a->first->kind != RLX_AST_CALL && a->first->kind != RLX_AST_ATTR));
}

/* A copy of the call in the modern form; the call itself if it is modern. */
static const rlx_ast *modern_call_tir(rlx_reader *r, const rlx_op_row *row, const rlx_ast *call)
{
    const rlx_ast *type = rlx_keyword(call, "dtype"), *shape = rlx_keyword(call, "output_shape"),
                  *third = call->first;
    if (!type)
        type = rlx_keyword(call, "output_dtype");
    for (int i = 0; third && i < 2 && third->kind != RLX_AST_KEYWORD; i++)
        third = third->next;
    if (!shape && third && third->kind != RLX_AST_KEYWORD && looks_like_shape(third))
        shape = third;
    if (!shape)
        return call;
    rlx_read_note(r, call, "the result of R.%s is described by out_sinfo=R.Tensor(shape, dtype)",
                  row->short_name);
    const rlx_sinfo *info = older_out(r, shape, type);
    rlx_val *v = info ? rlx_region_alloc(&r->parser.region, sizeof *v) : NULL;
    rlx_ast *copies = rlx_region_array(&r->parser.region, 4, sizeof *copies);
    if (!v || !copies || call->count < 2)
        return info && v ? NULL : NULL;
    *v = rlx_val_node(RLX_VAL_SINFO, info, shape);
    copies[0] = *call;
    copies[1] = *call->first;
    copies[2] = *call->first->next;
    copies[3] =
        (rlx_ast){ .kind = RLX_AST_VALUE, .begin = shape->begin, .end = shape->end, .value = v };
    copies[0].first = &copies[1];
    copies[0].count = 3;
    copies[1].next = &copies[2];
    copies[2].next = &copies[3];
    return &copies[0];
}

/* How many scalars the function takes behind its last buffer; SIZE_MAX: not known. False: it is no
 * value, reported. */
static bool integers_behind(rlx_reader *r, const rlx_ast *callee, size_t *count)
{
    rlx_val v;
    *count = SIZE_MAX;
    if (!rlx_read_value(r, callee, &v))
        return false;
    const rlx_func_sinfo *f =
        v.kind == RLX_VAL_EXPR && rlx_as_global_var(v.node)
            ? rlx_as_func_sinfo(rlx_leaf_sinfo(r->ctx, r->module.env, v.node))
            : NULL;
    if (!f || f->derive)
        return true;
    for (*count = 0; *count < f->num_params; ++*count)
        if (!rlx_as_prim_sinfo(f->params[f->num_params - 1 - *count]))
            break;
    return true;
}

/* R.call_tir(f, (x, n), ...): TVM 0.27 has the integers of the call behind its tensors; here those
 * that the function takes behind its outputs are tir_vars=[n]. A copy of the call, or the call
 * itself. */
static const rlx_ast *split_integers(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *f = call->first, *args = f ? f->next : NULL;
    if (!args || args->kind != RLX_AST_TUPLE || !args->count || rlx_keyword(call, "tir_vars"))
        return call;
    size_t behind;
    rlx_ast *copies = rlx_region_array(&r->parser.region, args->count + 6, sizeof *copies);
    size_t tensors = 0, n = 0;
    rlx_val v;
    for (const rlx_ast *a = args->first; a && copies; a = a->next, n++) {
        if (a->kind == RLX_AST_STAR)
            return call;
        copies[n] = *a;
        copies[n].next = a->next ? &copies[n + 1] : NULL;
        bool scalar = a->kind != RLX_AST_CALL && rlx_read_value(r, a, &v) &&
                      (v.kind == RLX_VAL_PRIM || v.kind == RLX_VAL_INT);
        tensors = scalar ? tensors : n + 1;
    }
    if (!copies || tensors == n)
        return copies ? call : NULL;
    if (!integers_behind(r, f, &behind) || !behind)
        return behind ? NULL : call;
    tensors = n - tensors > behind ? n - behind : tensors;
    rlx_ast *own = copies + args->count, *list = own + 3;
    own[0] = *call, own[1] = *f, own[2] = *args;
    own[0].first = &own[1];
    own[1].next = &own[2];
    own[2].count = (uint32_t)tensors;
    own[2].first = tensors ? copies : NULL;
    if (tensors)
        copies[tensors - 1].next = NULL;
    list[0] = (rlx_ast){ .kind = RLX_AST_LIST, .begin = args->begin, .end = args->end,
                         .count = (uint32_t)(n - tensors), .first = &copies[tensors] };
    list[1] = (rlx_ast){ .kind = RLX_AST_KEYWORD, .begin = args->begin, .end = args->end,
                         .base = &list[0], .next = args->next,
                         .name = rlx_words_get(&r->names, RLX_SLICE("tir_vars")) };
    own[2].next = &list[1];
    own[0].count++;
    return list[1].name ? &own[0] : NULL;
}

static bool call_tir_family(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call,
                            rlx_val *out)
{
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, rlx_slice_z(fn->text ? fn->text : fn->name));
    if (!row)
        return rlx_read_error(r, RLX_PA11, call, "R.%s is not supported", fn->name);
    if (!rlx_keyword(call, "out_sinfo") && !rlx_keyword(call, "out_ty") &&
        !(call = modern_call_tir(r, row, call)))
        return false;
    if (fn->what && call->first && call->first->kind == RLX_AST_STRING) {
        rlx_read_note(r, call, "R.call_tir of a packed function is written R.call_dps_packed");
        row = r->ctx->ops->find(r->ctx, RLX_SLICE("call_dps_packed"));
    }
    if (fn->what && !(call = split_integers(r, call)))
        return false;
    return row && rlx_call_row(r, NULL, row, call, out);
}

/* ---- devices -------------------------------------------------------------------------------- */

/* R.cpu(), R.cuda(1), R.device(dev_type=1, dev_id=0): a list of type and number */
static bool call_device(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2] = { NULL };
    rlx_val v, *items = rlx_region_array(&r->parser.region, 2, sizeof *items);
    int64_t type = fn->what, id = 0;
    bool general = fn->what == 0;
    if (!items)
        return false;
    if (general ? !rlx_bind_args(r, call, "R.device",
                                  rlx_keyword(call, "device_type") || rlx_keyword(call, "index")
                                      ? RLX_PARAMS("device_type", "index")
                                      : RLX_PARAMS("dev_type", "dev_id"),
                                  1, slot)
                : !rlx_bind_args(r, call, fn->name, RLX_PARAMS("dev_id"), 0, slot + 1))
        return false;
    if (slot[0] && (!rlx_read_value(r, slot[0], &v) || !rlx_to_int(r, slot[0], &v, &type)))
        return false;
    if (slot[1] && (!rlx_read_value(r, slot[1], &v) || !rlx_to_int(r, slot[1], &v, &id)))
        return false;
    items[0] = (rlx_val){ .kind = RLX_VAL_INT, .begin = call->begin, .end = call->end, .i = type };
    items[1] = (rlx_val){ .kind = RLX_VAL_INT, .begin = call->begin, .end = call->end, .i = id };
    *out = (rlx_val){
        .kind = RLX_VAL_TUPLE, .begin = call->begin, .end = call->end, .list = { items, 2 }
    };
    return true;
}

static bool device_call(rlx_reader *r, const rlx_ast *call, const char *name, const rlx_ast *data,
                        const rlx_attr *const *keys, const rlx_attr *const *values, size_t count,
                        rlx_val *out)
{
    const rlx_expr *x = rlx_read_expr(r, data, false);
    const rlx_attr *given = x ? rlx_attrs_new(r->ctx, keys, values, count) : NULL;
    return rlx_val_set(
        out, RLX_VAL_EXPR,
        given ? rlx_read_op_call(r, name, &x, 1, given, rlx_read_place(r, call)) : NULL, call);
}

static bool call_hint(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[3];
    rlx_val v;
    rlx_slice scope = RLX_SLICE("global");
    if (!rlx_bind_args(r, call, "R.hint_on_device",
                       RLX_PARAMS("data", "dst_vdevice", "memory_scope"), 2, slot) ||
        (slot[2] && (!rlx_read_value(r, slot[2], &v) || !rlx_to_string(r, slot[2], &v, &scope))) ||
        !rlx_read_value(r, slot[1], &v))
        return false;
    if (!rlx_slice_is(scope, "global"))
        return rlx_read_error(r, RLX_PA16, slot[2], "a memory scope other than \"global\" is not "
                                                    "supported here");
    if (v.kind != RLX_VAL_TUPLE || v.list.count != 2 || v.list.items[0].kind != RLX_VAL_INT ||
        v.list.items[1].kind != RLX_VAL_INT)
        return rlx_read_expected(r, slot[1], "a device such as R.cpu()", &v);
    const rlx_attr *keys[] = { rlx_attr_string_new(r->ctx, RLX_SLICE("dev_type")),
                               rlx_attr_string_new(r->ctx, RLX_SLICE("dev_id")) };
    const rlx_attr *values[] = { rlx_attr_int_new(r->ctx, v.list.items[0].i),
                                 rlx_attr_int_new(r->ctx, v.list.items[1].i) };
    if (!keys[0] || !keys[1] || !values[0] || !values[1])
        return false;
    return device_call(r, call, "relax.hint_on_device", slot[0], keys, values, 2, out);
}

static bool call_to_vdevice(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call,
                            rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v;
    if (!rlx_bind_args(r, call, "R.to_vdevice", RLX_PARAMS("data", "dst_vdevice"), 2, slot) ||
        !rlx_read_value(r, slot[1], &v))
        return false;
    const rlx_node *device = v.kind == RLX_VAL_NODE && rlx_as_vdevice(v.node) ? v.node : NULL;
    if (!device && v.kind != RLX_VAL_STR)
        return rlx_read_expected(r, slot[1], "a device as \"cuda:0\"", &v);
    if (!device)
        device = rlx_read_vdevice(r, slot[1], v.s);
    const rlx_attr *key = device ? rlx_attr_string_new(r->ctx, RLX_SLICE("dst_vdevice")) : NULL;
    return key && device_call(r, call, "relax.to_vdevice", slot[0], &key, &device, 1, out);
}

/* ---- distributed tensors -------------------------------------------------------------------- */

static bool call_mesh(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    return rlx_val_set(out, RLX_VAL_NODE, rlx_make_mesh(r, call), call);
}

/* R.Range(0, 4), as TVM 0.27 prints I.Range */
static bool call_range(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    if (!rlx_bind_args(r, call, "R.Range", RLX_PARAMS("begin", "end"), 1, slot))
        return false;
    return rlx_val_set(out, RLX_VAL_RANGE, rlx_read_range_of(r, call, slot[0], slot[1]), call);
}

/* annotate_sharding(x, mesh, placement), redistribute(x, mesh, placement) */
static bool call_sharding(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[3];
    char where[64];
    rlx_buf text;
    snprintf(where, sizeof where, "R.%s", fn->name);
    if (!rlx_bind_args(r, call, where, RLX_PARAMS("input", "device_mesh", "placement"), 3, slot))
        return false;
    const rlx_node *lies = rlx_read_sharding(r, call, slot[1], slot[2], -1);
    if (!lies)
        return false;
    rlx_buf_init(&text, &r->ctx->memory);
    rlx_put_placement(&text, rlx_as_sharding(lies));
    const rlx_attr *keys[] = { rlx_attr_string_new(r->ctx, RLX_SLICE("device_mesh")),
                               rlx_attr_string_new(r->ctx, RLX_SLICE("placement")) };
    const rlx_attr *values[] = {
        rlx_as_sharding(lies)->mesh,
        text.failed ? NULL : rlx_attr_string_new(r->ctx, (rlx_slice){ text.data, text.len })
    };
    rlx_buf_free(&text);
    return keys[0] && keys[1] && values[1] &&
           device_call(r, call, fn->name, slot[0], keys, values, 2, out);
}

/* R.dist.const(1, R.DTensor((), "float32", "mesh[0]", "R")) */
static bool call_dist_const(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v, info;
    if (!rlx_bind_args(r, call, "R.dist.const", RLX_PARAMS("value", "struct_info"), 2, slot) ||
        !rlx_read_value(r, slot[0], &v) || !rlx_read_value(r, slot[1], &info))
        return false;
    const rlx_tensor_sinfo *t =
        info.kind == RLX_VAL_SINFO ? rlx_as_tensor_sinfo(info.node) : NULL;
    if (!t || !rlx_as_sharding(t->vdevice))
        return rlx_read_expected(r, slot[1], "an R.DTensor", &info);
    const rlx_constant *c = rlx_as_constant(
        v.kind == RLX_VAL_EXPR ? v.node : rlx_const_of(r, call, &v, t->dtype));
    if (!c)
        return v.kind == RLX_VAL_EXPR && rlx_read_expected(r, slot[0], "a number", &v);
    size_t n = 0;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &n);
    bool fits = dims && n == c->num_shape && (rlx_dtype_is_void(t->dtype) || t->dtype == c->dtype);
    for (size_t i = 0; fits && i < n; i++)
        fits = rlx_is_int_value(dims[i], c->shape[i]);
    if (!fits)
        return rlx_read_error(r, RLX_PA12, slot[1], "the constant is no %s",
                              rlx_show(r->ctx, &t->node));
    return rlx_val_set(
        out, RLX_VAL_EXPR,
        rlx_constant_distributed(r->ctx, c, t->vdevice, rlx_read_place(r, call)), call);
}

/* ---- small ones ----------------------------------------------------------------------------- */

/* linear(x, w, b) is permute_dims, matmul and perhaps add */
static bool call_linear(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[4];
    rlx_val v;
    if (!rlx_bind_args(r, call, "R.linear", RLX_PARAMS("data", "weight", "bias", "out_dtype"), 2,
                       slot))
        return false;
    rlx_place place = rlx_read_place(r, call);
    const rlx_expr *x = rlx_read_expr(r, slot[0], false),
                   *w = x ? rlx_read_expr(r, slot[1], false) : NULL;
    const rlx_expr *wt = w ? rlx_read_op_call(r, "relax.permute_dims", &w, 1, NULL, place) : NULL;
    const rlx_attr *given = NULL, *key, *value;
    if (!wt)
        return false;
    if (slot[3] && slot[3]->kind != RLX_AST_NONE) {
        if (!rlx_read_value(r, slot[3], &v) || !(value = rlx_to_attr(r, slot[3], &v)) ||
            !(key = rlx_attr_string_new(r->ctx, RLX_SLICE("out_dtype"))) ||
            !(given = rlx_attrs_new(r->ctx, &key, &value, 1)))
            return false;
    }
    const rlx_expr *operands[] = { x, wt };
    const rlx_expr *product = rlx_read_op_call(r, "relax.matmul", operands, 2, given, place);
    if (!product || !slot[2] || slot[2]->kind == RLX_AST_NONE)
        return rlx_val_set(out, RLX_VAL_EXPR, product, call);
    const rlx_expr *sum[] = { product, rlx_read_expr(r, slot[2], false) };
    return rlx_val_set(out, RLX_VAL_EXPR,
                       sum[1] ? rlx_read_op_call(r, "relax.add", sum, 2, NULL, place) : NULL,
                       call);
}

static bool call_renamed(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    rlx_read_note(r, call, "R.%s is another spelling of R.%s", fn->name, fn->text);
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, rlx_slice_z(fn->text));
    return row ? rlx_call_row(r, NULL, row, call, out)
               : rlx_read_error(r, RLX_PA11, call, "R.%s is not supported", fn->text);
}

static bool call_alias(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, rlx_slice_z(fn->text));
    return row ? rlx_call_row(r, NULL, row, call, out)
               : rlx_read_error(r, RLX_PA11, call, "R.%s is not supported", fn->text);
}

/* memory.alloc_tensor, vm.alloc_tensor: TVM 0.27 says at the end on which device; storage says it
 * already. */
static bool call_alloc_tensor(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call,
                              rlx_val *out)
{
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, rlx_slice_z(fn->name));
    rlx_ast *args = call->count == 5 ? rlx_region_array(&r->parser.region, 5, sizeof *args) : NULL;
    size_t n = 0;
    if (!row || call->count != 5)
        return row && rlx_call_row(r, NULL, row, call, out);
    for (const rlx_ast *a = call->first; a && args; a = a->next) {
        if (a->kind == RLX_AST_KEYWORD)
            return rlx_call_row(r, NULL, row, call, out);
        args[n] = *a;
        args[n].next = n < 3 ? &args[n + 1] : NULL;
        n++;
    }
    if (!args)
        return false;
    rlx_ast older = *call;
    older.first = args;
    older.count = 4;
    return rlx_call_row(r, NULL, row, &older, out);
}

/* take: TVM 0.27 prints a scalar position as a number. */
static bool call_take(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, rlx_slice_z(fn->name));
    const rlx_ast *x = call->first, *k = x ? x->next : NULL;
    rlx_val v;
    if (!row || !k || k->kind != RLX_AST_INT || !rlx_read_value(r, k, &v))
        return row && rlx_call_row(r, NULL, row, call, out);
    rlx_val scalar = rlx_val_node(RLX_VAL_EXPR, rlx_to_expr(r, k, &v, true), k);
    rlx_ast position = { .kind = RLX_AST_VALUE, .begin = k->begin, .end = k->end, .value = &scalar,
                         .next = k->next },
            first = *x, same = *call;
    first.next = &position;
    same.first = &first;
    return scalar.node && rlx_call_row(r, NULL, row, &same, out);
}

static bool not_here(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    return rlx_read_error(r, RLX_PA15, call, "R.%s is not a value: %s", fn->name, fn->text);
}

static bool not_supported(rlx_reader *r, const rlx_relax_fn *fn, const rlx_ast *call, rlx_val *out)
{
    return rlx_read_error(r, RLX_PA16, call, "R.%s is not supported%s%s", fn->name,
                          fn->text ? ": " : "", fn->text ? fn->text : "");
}

static const rlx_relax_fn functions[] = {
    { "const", call_const, 0, NULL },
    { "prim_value", call_prim_value, 0, NULL },
    { "str", call_str, 0, NULL },
    { "dtype", call_dtype, 0, NULL },
    { "shape", call_shape, 0, NULL },
    { "ShapeExpr", call_shape, 0, NULL },
    { "tuple", call_tuple, 0, NULL },
    { "ExternFunc", call_extern, 0, NULL },
    { "extern", call_extern, 0, NULL },
    { "TupleGetItem", call_get_item, 0, NULL },
    { "Tensor", call_annotation, 0, NULL },
    { "Shape", call_annotation, 0, NULL },
    { "Prim", call_annotation, 0, NULL },
    { "Tuple", call_annotation, 0, NULL },
    { "Callable", call_annotation, 0, NULL },
    { "Func", call_annotation, 0, NULL },
    { "Object", call_annotation, 0, NULL },
    { "Any", call_annotation, 0, NULL },
    { "DTensor", call_annotation, 0, NULL },
    { "call_packed", call_packed, 0, NULL },
    { "call_tir", call_tir_family, 1, NULL },
    { "call_dps_packed", call_tir_family, 0, NULL },
    { "device", call_device, 0, NULL },
    { "cpu", call_device, 1, NULL },
    { "cuda", call_device, 2, NULL },
    { "gpu", call_device, 2, NULL },
    { "opencl", call_device, 4, NULL },
    { "vulkan", call_device, 7, NULL },
    { "metal", call_device, 8, NULL },
    { "vpi", call_device, 9, NULL },
    { "rocm", call_device, 10, NULL },
    { "ext_dev", call_device, 12, NULL },
    { "hexagon", call_device, 14, NULL },
    { "webgpu", call_device, 15, NULL },
    { "hint_on_device", call_hint, 0, NULL },
    { "to_vdevice", call_to_vdevice, 0, NULL },
    { "linear", call_linear, 0, NULL },
    { "take", call_take, 0, NULL },
    { "memory.alloc_tensor", call_alloc_tensor, 0, NULL },
    { "vm.alloc_tensor", call_alloc_tensor, 0, NULL },
    { "dot", call_renamed, 0, "matmul" },
    { "stop_lift_params", call_alias, 0, "builtin.stop_lift_params" },
    { "match_cast", not_here, 0, "it is the whole right side of an assignment" },
    { "match_shape", not_here, 0, "it is the whole right side of an assignment" },
    { "output", not_here, 0, "it ends a dataflow block" },
    { "outputs", not_here, 0, "it ends a dataflow block" },
    { "dataflow", not_here, 0, "it opens a block, by 'with R.dataflow():'" },
    { "func_attr", not_here, 0, "it is a statement of its own" },
    { "function", not_here, 0, "it is a decorator" },
    { "emit", not_supported, 0, "bind the value by an assignment" },
    { "emit_te", not_supported, 0, "it runs Python" },
    { "emit_match_cast", not_supported, 0, "write R.match_cast" },
    { "emit_var_binding", not_supported, 0, "bind the value by an assignment" },
    { "call_py_func", not_supported, 0, "it runs Python" },
    { "SeqExpr", not_supported, 0, NULL },
    { "If", not_supported, 0, "write if and else" },
    { "macro", not_supported, 0, NULL },
    { "rewriter", not_supported, 0, NULL },
    { "device_mesh", call_mesh, 0, NULL },
    { "Range", call_range, 0, NULL },
    { "dist.device_mesh", call_mesh, 0, NULL },
    { "dist.DTensor", call_annotation, 0, NULL },
    { "dist.const", call_dist_const, 0, NULL },
    { "dist.call_tir", call_tir_family, 1, "call_tir" },
    { "dist.annotate_sharding", call_sharding, 0, NULL },
    { "dist.redistribute", call_sharding, 0, NULL },
};

/* The meaning of R.<path>: a function with a form of its own, an operator, or neither. NULL: out
 * of memory. */
static const rlx_functions *functions_of(rlx_reader *r, rlx_word *path)
{
    rlx_functions *known = rlx_word_functions(&r->names, path);
    if (!known || known->looked_relax)
        return known;
    known->looked_relax = true;
    rlx_slice name = rlx_string_slice(path->text);
    if (name.len > 3 && memcmp(name.data, "op.", 3) == 0) /* relax.op.nn.relu */
        name.data += 3, name.len -= 3;
    for (size_t i = 0; i < RLX_COUNT(functions) && !known->relax; i++)
        if (rlx_slice_is(name, functions[i].name))
            known->relax = &functions[i];
    if (!known->relax)
        known->row = r->ctx->ops->find(r->ctx, name);
    return known;
}

static const char *function_at(void *user, size_t i) { return functions[i].name; }

bool rlx_unknown_function(rlx_reader *r, enum rlx_space space, rlx_word *path, const rlx_ast *at)
{
    static const char letters[] = "RTI";
    rlx_slice name = rlx_string_slice(path->text);
    const char *near = NULL;
    if (space == RLX_SPACE_TVM) {
        bool is_op = name.len > 9 && !memcmp(name.data, "relax.op.", 9);
        if (is_op)
            near = r->ctx->ops->suggest(r->ctx, (rlx_slice){ name.data + 9, name.len - 9 });
        return rlx_read_error(r, RLX_PA11, at, "tvm.%s is not supported%s%s", path->text->data,
                              near ? "; write R." : "", near ? near : "");
    }
    if (space == RLX_SPACE_R && !rlx_diags_full(&r->ctx->diags) &&
        !(near = r->ctx->ops->suggest(r->ctx, name)))
        near = rlx_nearest(r, name, function_at, NULL, RLX_COUNT(functions));
    if (near && strncmp(near, "relax.", 6) == 0)
        near += 6;
    const char *made = space == RLX_SPACE_R ? rlx_cure_function(name, false) : NULL;
    if (made)
        return rlx_read_error(r, RLX_PA11, at, "%c.%s is not known; write %s", letters[space],
                              path->text->data, made);
    return rlx_read_error(r, RLX_PA11, at, "%c.%s is not known%s%s", letters[space],
                          path->text->data, near ? "; did you mean R." : "", near ? near : "");
}

bool rlx_call_relax(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out)
{
    const rlx_functions *known = functions_of(r, path);
    if (!known)
        return false;
    if (known->relax)
        return known->relax->call(r, known->relax, call, out);
    if (known->row)
        return rlx_call_row(r, path, known->row, call, out);
    if (rlx_extension_kind_find(r->ctx, rlx_string_slice(path->text)))
        return call_annotation(r, NULL, call, out);
    return rlx_unknown_function(r, RLX_SPACE_R, path, call->base);
}
