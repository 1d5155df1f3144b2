/* relay_parse_type.c: types, definitions of data types, patterns and attributes of Relay's text. */
#include "relay/relay_host.h"
#include "relay/relay_parse.h"

rlx_relay_type *rlx_relay_type_new(rlx_relay_module *m, uint8_t kind, rlx_place place)
{
    rlx_relay_type *t = rlx_region_zero(&m->region, sizeof *t);
    if (t) {
        t->kind = kind;
        t->place = place;
    }
    return t;
}

rlx_relay_type_var *rlx_relay_type_var_new(rlx_relay_module *m, rlx_slice name, uint8_t kind,
                                           rlx_place place)
{
    rlx_relay_type_var *v = rlx_region_zero(&m->region, sizeof *v);
    if (v) {
        v->name = name;
        v->kind = kind;
        v->place = place;
        v->number = m->next_number++;
    }
    return v;
}

/* ---- tensors ------------------------------------------------------------------------------------ */

static bool parse_dim(rlx_relay_parser *p, rlx_relay_dim *out)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    rlx_relay_type_var *param = t->kind == RLX_RELAY_TOK_NAME ? t->word->type_var : NULL;
    *out = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_ANY };
    if (t->kind == RLX_RELAY_TOK_INT) {
        p->at++;
        *out = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_INT, .bits = 32, .value = t->i };
        return t->i >= 0 ||
               rlx_error(p->ctx, RLX_RY12, rlx_relay_tok_place(p, t), "an extent is not negative");
    }
    if (rlx_relay_accept(p, RLX_RELAY_TOK_QUERY))
        return true;
    if (rlx_relay_accept(p, RLX_RELAY_TOK_META))
        return rlx_relay_meta_dim(p, t, out);
    if (!param)
        return rlx_relay_unexpected(p, "an extent: a number, ? or a parameter of kind ShapeVar");
    p->at++;
    if (param->kind != RLX_RELAY_KIND_EXTENT)
        rlx_error(p->ctx, RLX_RY12, rlx_relay_tok_place(p, t),
                  "an extent has kind ShapeVar, %.*s has kind %s", (int)param->name.len,
                  param->name.data, rlx_relay_kind_text(param->kind));
    *out = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_PARAM, .param = param };
    return true;
}

/* (2, ?, n): pushed onto the scratch stack of values, so that lists of any length are one array. */
static bool parse_dims(rlx_relay_parser *p, rlx_relay_type *t)
{
    RLX_VEC(rlx_relay_dim) dims = { 0 };
    rlx_memory *memory = &p->ctx->memory;
    bool ok = rlx_relay_expect(p, RLX_RELAY_TOK_LPAR, "in front of the extents");
    while (ok && rlx_relay_kind_at(p) != RLX_RELAY_TOK_RPAR) {
        rlx_relay_dim d;
        ok = parse_dim(p, &d) && rlx_vec_push(memory, &dims, d);
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
    }
    ok = ok && rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind an extent");
    t->tensor.ndim = dims.len;
    t->tensor.dims = rlx_region_copy(&p->m->region, dims.len ? (void *)dims.data : (void *)"",
                                     dims.len * sizeof *dims.data);
    rlx_vec_free(memory, &dims);
    return ok && t->tensor.dims;
}

/* The type variable that stands here for a part of a tensor; NULL: none does. */
static rlx_relay_type *tensor_part(rlx_relay_parser *p, uint8_t kind)
{
    const rlx_relay_tok *tok = rlx_relay_tok_at(p);
    rlx_relay_type_var *v = tok->kind == RLX_RELAY_TOK_NAME ? tok->word->type_var : NULL;
    if (!v)
        return NULL;
    p->at++;
    if (v->kind != kind)
        rlx_error(p->ctx, RLX_RY12, rlx_relay_tok_place(p, tok),
                  "this part of a tensor has kind %s, %.*s has kind %s", rlx_relay_kind_text(kind),
                  (int)v->name.len, v->name.data, rlx_relay_kind_text(v->kind));
    rlx_relay_type *t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_VAR, rlx_relay_tok_place(p, tok));
    if (t) {
        t->flags = RLX_RELAY_HAS_TYPE_VARS;
        t->var = v;
    }
    return t;
}

static bool check_width(rlx_relay_parser *p, const rlx_relay_tok *t, rlx_dtype dtype)
{
    if (rlx_relay_has_width(dtype))
        return true;
    return rlx_error(p->ctx, RLX_RY13, rlx_relay_tok_place(p, t), "there is no data type of %d bits",
                     (int)rlx_dtype_bits(dtype));
}

static bool parse_dtype(rlx_relay_parser *p, rlx_dtype *out)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (t->kind != RLX_RELAY_TOK_NAME || !rlx_dtype_parse(t->word->text, out))
        return rlx_relay_unexpected(p, "a data type such as float32");
    p->at++;
    return check_width(p, t, *out);
}

/* Tensor[(2, ?), float32]; the word has been passed. */
static rlx_relay_type *parse_tensor(rlx_relay_parser *p, size_t first)
{
    rlx_relay_type *t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_TENSOR, RLX_NO_PLACE);
    if (!t || !rlx_relay_expect(p, RLX_RELAY_TOK_LBRACKET, "behind Tensor"))
        return NULL;
    t->tensor.shape = tensor_part(p, RLX_RELAY_KIND_SHAPE);
    if ((!t->tensor.shape && !parse_dims(p, t)) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_COMMA, "in front of the data type"))
        return NULL;
    t->tensor.elem = tensor_part(p, RLX_RELAY_KIND_DTYPE);
    if ((!t->tensor.elem && !parse_dtype(p, &t->tensor.dtype)) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_RBRACKET, "behind the data type"))
        return NULL;
    t->place = rlx_relay_span(p, first);
    return t;
}

/* ---- types -------------------------------------------------------------------------------------- */

bool rlx_relay_parse_type_list(rlx_relay_parser *p, uint8_t closing, rlx_relay_type *const **out,
                               size_t *count)
{
    size_t mark = rlx_relay_list_mark(p);
    while (rlx_relay_kind_at(p) != closing) {
        if (!rlx_relay_list_push(p, rlx_relay_parse_type(p)))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
    }
    return rlx_relay_list_end(p, mark, out, count);
}

static rlx_relay_type *parse_tuple_type(rlx_relay_parser *p, size_t first)
{
    rlx_relay_type *t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_TUPLE, RLX_NO_PLACE);
    if (!t || !rlx_relay_parse_type_list(p, RLX_RELAY_TOK_RPAR, &t->tuple.fields, &t->tuple.count) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind a type"))
        return NULL;
    t->place = rlx_relay_span(p, first);
    return t;
}

static rlx_relay_type *parse_function_type(rlx_relay_parser *p, size_t first)
{
    size_t scope = rlx_relay_scope(p);
    rlx_relay_type *t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_FUNC, RLX_NO_PLACE);
    bool ok = t && rlx_relay_parse_type_params(p, &t->func.params, &t->func.num_params) &&
              rlx_relay_expect(p, RLX_RELAY_TOK_LPAR, "in front of the types of the arguments") &&
              rlx_relay_parse_type_list(p, RLX_RELAY_TOK_RPAR, &t->func.args, &t->func.num_args) &&
              rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind a type") &&
              rlx_relay_expect(p, RLX_RELAY_TOK_ARROW, "in front of the type of the result") &&
              (t->func.result = rlx_relay_parse_type(p)) != NULL &&
              rlx_relay_parse_where(p, true, &t->func.constraints, &t->func.num_constraints);
    rlx_relay_close_scope(p, scope);
    if (!ok)
        return NULL;
    t->place = rlx_relay_span(p, first);
    return t;
}

/* ref(T), which the printer writes. */
static rlx_relay_type *parse_ref_type(rlx_relay_parser *p, size_t first)
{
    rlx_relay_type *t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_REF, RLX_NO_PLACE);
    if (!t || !rlx_relay_expect(p, RLX_RELAY_TOK_LPAR, "behind ref") ||
        !(t->ref.content = rlx_relay_parse_type(p)) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "behind the type"))
        return NULL;
    t->place = rlx_relay_span(p, first);
    return t;
}

static bool is_scalar_name(rlx_slice s)
{
    static const char *const begins[] = { "int", "uint", "float", "bool" };
    for (size_t i = 0; i < RLX_COUNT(begins); i++) {
        size_t n = strlen(begins[i]);
        if (s.len >= n && memcmp(s.data, begins[i], n) == 0)
            return true;
    }
    return false;
}

/* A type variable in scope, a scalar, an instance of a data type. */
static rlx_relay_type *parse_named_type(rlx_relay_parser *p, size_t first)
{
    rlx_relay_word *w = rlx_relay_tok_at(p)->word;
    rlx_place place = rlx_relay_here(p);
    rlx_relay_type *t;
    p->at++;
    if (rlx_slice_is(w->text, "_"))
        return rlx_relay_type_new(p->m, RLX_RELAY_TYPE_HOLE, place); /* inference makes its own */
    if (w->type_var) {
        t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_VAR, place);
        if (t) {
            t->var = w->type_var;
            t->flags = RLX_RELAY_HAS_TYPE_VARS;
        }
        return t;
    }
    if (rlx_slice_is(w->text, "Tensor") && rlx_relay_kind_at(p) == RLX_RELAY_TOK_LBRACKET)
        return parse_tensor(p, first);
    if (is_scalar_name(w->text)) {
        t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_TENSOR, place);
        if (t && rlx_dtype_parse(w->text, &t->tensor.dtype))
            return check_width(p, &p->toks[first], t->tensor.dtype) ? t : NULL;
        if (t)
            rlx_error(p->ctx, RLX_RY13, place, "%.*s is no data type: names that begin with int, "
                      "uint, float or bool are", (int)w->text.len, w->text.data);
        return t;
    }
    t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_CALL, place);
    if (!t)
        return NULL;
    t->call.adt = w->adt;
    t->call.name = w->text;
    if (!w->adt)
        rlx_error(p->ctx, RLX_RY13, place, "there is no type %.*s", (int)w->text.len, w->text.data);
    if (rlx_relay_accept(p, RLX_RELAY_TOK_LBRACKET) &&
        (!rlx_relay_parse_type_list(p, RLX_RELAY_TOK_RBRACKET, &t->call.args, &t->call.num_args) ||
         !rlx_relay_expect(p, RLX_RELAY_TOK_RBRACKET, "or ',' behind a type")))
        return NULL;
    t->place = rlx_relay_span(p, first);
    return t;
}

rlx_relay_type *rlx_relay_parse_type(rlx_relay_parser *p)
{
    rlx_relay_type *t = NULL;
    size_t first = p->at;
    if (!rlx_relay_enter(p)) {
        rlx_relay_leave(p);
        return NULL;
    }
    if (rlx_relay_kind_at(p) == RLX_RELAY_TOK_NAME)
        t = parse_named_type(p, first);
    else if (rlx_relay_accept(p, RLX_RELAY_TOK_LPAR))
        t = parse_tuple_type(p, first);
    else if (rlx_relay_accept(p, RLX_RELAY_TOK_FN))
        t = parse_function_type(p, first);
    else if (rlx_relay_accept(p, RLX_RELAY_TOK_REF))
        t = parse_ref_type(p, first);
    else
        rlx_relay_unexpected(p, "a type");
    rlx_relay_leave(p);
    return t;
}

/* ---- type parameters, constraints ---------------------------------------------------------------- */

static const struct { const char *text; uint8_t kind; } kind_names[] = {
    { "Type", RLX_RELAY_KIND_TYPE },      { "ShapeVar", RLX_RELAY_KIND_EXTENT },
    { "BaseType", RLX_RELAY_KIND_DTYPE }, { "Shape", RLX_RELAY_KIND_SHAPE },
};
const char *rlx_relay_kind_text(uint8_t kind)
{
    for (size_t i = 0; i < RLX_COUNT(kind_names); i++)
        if (kind_names[i].kind == kind)
            return kind_names[i].text;
    return kind == RLX_RELAY_KIND_HANDLE ? "AdtHandle" : "?";
}

static bool parse_kind(rlx_relay_parser *p, uint8_t *kind)
{
    *kind = RLX_RELAY_KIND_TYPE;
    if (!rlx_relay_accept(p, RLX_RELAY_TOK_COLON))
        return true;
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    for (size_t i = 0; i < RLX_COUNT(kind_names); i++) {
        if (t->kind == RLX_RELAY_TOK_NAME && rlx_slice_is(t->word->text, kind_names[i].text)) {
            p->at++;
            *kind = kind_names[i].kind;
            return true;
        }
    }
    return rlx_relay_unexpected(p, "a kind: Type, Shape, ShapeVar or BaseType");
}

bool rlx_relay_parse_type_params(rlx_relay_parser *p, rlx_relay_type_var *const **out, size_t *count)
{
    *out = NULL;
    *count = 0;
    bool square = rlx_relay_accept(p, RLX_RELAY_TOK_LBRACKET);
    if (!square && !rlx_relay_accept(p, RLX_RELAY_TOK_LT))
        return true;
    uint8_t closing = square ? RLX_RELAY_TOK_RBRACKET : RLX_RELAY_TOK_GT;
    size_t mark = rlx_relay_list_mark(p);
    while (rlx_relay_kind_at(p) != closing) {
        const rlx_relay_tok *t = rlx_relay_tok_at(p);
        uint8_t kind;
        if (t->kind != RLX_RELAY_TOK_NAME)
            return rlx_relay_unexpected(p, "a type parameter");
        p->at++;
        if (!parse_kind(p, &kind))
            return false;
        rlx_relay_type_var *v =
            rlx_relay_type_var_new(p->m, t->word->text, kind, rlx_relay_tok_place(p, t));
        if (!rlx_relay_list_push(p, v) || !rlx_relay_bind_type_var(p, t->word, v))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
    }
    return rlx_relay_list_end(p, mark, out, count) &&
           rlx_relay_expect(p, closing, "or ',' behind a type parameter");
}

/* Does another relation follow? Behind a type in a list the comma may be that of the list. */
static bool goes_on(rlx_relay_parser *p, bool in_type)
{
    size_t tokens, comma = p->at;
    const char *canonical;
    if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
        return false;
    if (!in_type || (rlx_relay_kind_at(p) == RLX_RELAY_TOK_NAME &&
                     rlx_relay_relation_find_in(p->ctx, rlx_relay_dotted_name(p, &tokens), &canonical)))
        return true;
    p->at = comma;
    return false;
}

bool rlx_relay_parse_where(rlx_relay_parser *p, bool in_type, const rlx_relay_constraint **out, size_t *count)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (t->kind != RLX_RELAY_TOK_NAME || !rlx_slice_is(t->word->text, "where"))
        return true;
    p->at++;
    size_t mark = rlx_relay_list_mark(p);
    do {
        rlx_relay_constraint *c = rlx_region_zero(&p->scratch, sizeof *c);
        t = rlx_relay_tok_at(p);
        if (!c)
            return false;
        if (t->kind != RLX_RELAY_TOK_NAME)
            return rlx_relay_unexpected(p, "the name of a relation");
        size_t tokens, first = p->at;
        rlx_relay_word *w = rlx_relay_word_of(p->m, rlx_relay_dotted_name(p, &tokens));
        if (!w)
            return false;
        c->name = w->text;
        p->at += tokens;
        c->place = rlx_relay_span(p, first);
        if (rlx_relay_accept(p, RLX_RELAY_TOK_LPAR) &&
            (!rlx_relay_parse_type_list(p, RLX_RELAY_TOK_RPAR, &c->args, &c->num_args) ||
             !rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "behind the types of a relation")))
            return false;
        if (!rlx_relay_list_push(p, c))
            return false;
    } while (goes_on(p, in_type));
    size_t n = p->items.len - mark;
    rlx_relay_constraint *all = rlx_region_array(&p->m->region, n, sizeof *all);
    for (size_t i = 0; all && i < n; i++)
        all[i] = *(const rlx_relay_constraint *)p->items.data[mark + i];
    p->items.len = mark;
    *out = all;
    *count = n;
    return all != NULL;
}

/* ---- definitions of data types ------------------------------------------------------------------- */

static bool declare_type(rlx_relay_parser *p, const rlx_relay_tok *t, bool is_extern)
{
    rlx_relay_adt *adt = t->word->adt;
    if (adt) {
        rlx_error(p->ctx, RLX_RY08, rlx_relay_tok_place(p, t), "type %.*s is defined twice",
                  (int)adt->name.len, adt->name.data);
        rlx_note(p->ctx, adt->place, "the first definition is here");
        return true;
    }
    adt = rlx_region_zero(&p->m->region, sizeof *adt);
    if (!adt)
        return false;
    adt->name = t->word->text;
    adt->place = rlx_relay_tok_place(p, t);
    adt->is_extern = is_extern;
    t->word->adt = adt;
    return rlx_vec_push(&p->ctx->memory, &p->m->adts, adt);
}

static bool declare_ctor(rlx_relay_parser *p, const rlx_relay_tok *t)
{
    rlx_relay_ctor *c = rlx_region_zero(&p->m->region, sizeof *c);
    if (!c)
        return false;
    c->name = t->word->text;
    c->place = rlx_relay_tok_place(p, t);
    if (t->word->ctor) {
        rlx_error(p->ctx, RLX_RY08, c->place, "constructor %.*s is defined twice", (int)c->name.len,
                  c->name.data);
        rlx_note(p->ctx, t->word->ctor->place, "the first definition is here");
    } else {
        t->word->ctor = c;
    }
    return true;
}

/* The names at depth 1 of the braces of a definition, outside of brackets of types. */
static bool declare_ctors(rlx_relay_parser *p, size_t at)
{
    uint32_t depth = 0;
    bool is_name = true;
    for (; at < p->lexed.count; at++) {
        const rlx_relay_tok *t = &p->toks[at];
        if (t->kind == RLX_RELAY_TOK_LPAR || t->kind == RLX_RELAY_TOK_LBRACKET ||
            t->kind == RLX_RELAY_TOK_LBRACE)
            depth++;
        else if (t->kind == RLX_RELAY_TOK_RPAR || t->kind == RLX_RELAY_TOK_RBRACKET ||
                 t->kind == RLX_RELAY_TOK_RBRACE)
            depth--;
        if (!depth || t->kind == RLX_RELAY_TOK_DEF)
            return true;
        /* Name : type, in the dialect without commas, says the type behind '->'. */
        bool follows_type = t->kind == RLX_RELAY_TOK_NAME && depth == 1 &&
                            p->toks[at + 1].kind == RLX_RELAY_TOK_COLON;
        if (t->kind == RLX_RELAY_TOK_NAME && depth == 1 && (is_name || follows_type) &&
            !declare_ctor(p, t))
            return false;
        is_name = depth == 1 && (t->kind == RLX_RELAY_TOK_LBRACE || t->kind == RLX_RELAY_TOK_COMMA);
    }
    return true;
}

bool rlx_relay_declare_types(rlx_relay_parser *p)
{
    uint32_t depth = 0;
    for (size_t i = 0; i + 1 < p->lexed.count; i++) {
        const rlx_relay_tok *t = &p->toks[i];
        if (t->kind == RLX_RELAY_TOK_LBRACE)
            depth++;
        else if (t->kind == RLX_RELAY_TOK_RBRACE && depth)
            depth--;
        if (t->kind != RLX_RELAY_TOK_TYPE || depth || t[1].kind != RLX_RELAY_TOK_NAME)
            continue;
        bool is_extern = i && t[-1].kind == RLX_RELAY_TOK_EXTERN;
        if (!declare_type(p, &t[1], is_extern))
            return false;
        size_t at = i + 2;
        while (at + 1 < p->lexed.count && p->toks[at].kind != RLX_RELAY_TOK_LBRACE &&
               p->toks[at].kind != RLX_RELAY_TOK_DEF && p->toks[at].kind != RLX_RELAY_TOK_TYPE &&
               p->toks[at].kind != RLX_RELAY_TOK_EXTERN)
            at++;
        if (p->toks[at].kind == RLX_RELAY_TOK_LBRACE && !declare_ctors(p, at))
            return false;
    }
    return true;
}

/* NAME [(types)], or NAME : [types] -> result, in the dialect that says what is made. */
static bool parse_ctor(rlx_relay_parser *p, rlx_relay_adt *adt)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (t->kind != RLX_RELAY_TOK_NAME)
        return rlx_relay_unexpected(p, "a constructor");
    p->at++;
    rlx_relay_ctor *c = t->word->ctor;
    bool is_own = c && c->place == rlx_relay_tok_place(p, t); /* not one defined twice */
    rlx_relay_type *const *fields = NULL;
    size_t count = 0;
    bool arrow = rlx_relay_accept(p, RLX_RELAY_TOK_COLON);
    if (rlx_relay_accept(p, RLX_RELAY_TOK_LPAR) &&
        (!rlx_relay_parse_type_list(p, RLX_RELAY_TOK_RPAR, &fields, &count) ||
         !rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind a type")))
        return false;
    if (arrow) {
        rlx_place place = rlx_relay_here(p);
        const rlx_relay_tok *name = &p->toks[p->at + (rlx_relay_kind_at(p) == RLX_RELAY_TOK_ARROW)];
        if (!rlx_relay_expect(p, RLX_RELAY_TOK_ARROW, "in front of the type that is made"))
            return false;
        if (name->kind != RLX_RELAY_TOK_NAME || name->word->adt != adt)
            return rlx_error(p->ctx, RLX_RY12, place, "a constructor of %.*s makes a %.*s",
                             (int)adt->name.len, adt->name.data, (int)adt->name.len, adt->name.data);
        p->at++;
        rlx_relay_type *const *ignored;
        size_t num_ignored;
        if (rlx_relay_accept(p, RLX_RELAY_TOK_LBRACKET) &&
            (!rlx_relay_parse_type_list(p, RLX_RELAY_TOK_RBRACKET, &ignored, &num_ignored) ||
             !rlx_relay_expect(p, RLX_RELAY_TOK_RBRACKET, "behind the types")))
            return false;
    }
    if (!is_own)
        return true;
    c->adt = adt;
    c->fields = fields;
    c->num_fields = count;
    return rlx_relay_list_push(p, c);
}

static bool parse_ctors(rlx_relay_parser *p, rlx_relay_adt *adt)
{
    size_t mark = rlx_relay_list_mark(p);
    if (adt->is_extern)
        rlx_error(p->ctx, RLX_RY08, rlx_relay_here(p), "an extern type has no constructors");
    p->at++; /* the '{' */
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_RBRACE) {
        if (!parse_ctor(p, adt))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA) && rlx_relay_kind_at(p) != RLX_RELAY_TOK_NAME)
            break;
    }
    rlx_relay_ctor *const *ctors;
    if (!rlx_relay_list_end(p, mark, &ctors, &adt->num_ctors) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_RBRACE, "or ',' behind a constructor"))
        return false;
    adt->ctors = (rlx_relay_ctor **)(uintptr_t)ctors;
    for (size_t i = 0; i < adt->num_ctors; i++)
        adt->ctors[i]->tag = (uint32_t)i;
    return true;
}

/* The type of a constructor: fn[params](fields) -> adt[params]. */
static bool make_ctor_type(rlx_relay_parser *p, rlx_relay_adt *adt, rlx_relay_ctor *c)
{
    rlx_relay_type *made = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_CALL, c->place);
    rlx_relay_type *t = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_FUNC, c->place);
    rlx_relay_type **args = rlx_region_array(&p->m->region, adt->num_params + 1, sizeof *args);
    if (!made || !t || !args)
        return false;
    for (size_t i = 0; i < adt->num_params; i++) {
        if (!(args[i] = rlx_relay_type_new(p->m, RLX_RELAY_TYPE_VAR, adt->params[i]->place)))
            return false;
        args[i]->var = adt->params[i];
    }
    made->call.adt = adt;
    made->call.name = adt->name;
    made->call.args = args;
    made->call.num_args = adt->num_params;
    t->func.params = adt->params;
    t->func.num_params = adt->num_params;
    t->func.args = c->fields;
    t->func.num_args = c->num_fields;
    t->func.result = made;
    c->type = t;
    return true;
}

bool rlx_relay_parse_definition_of_type(rlx_relay_parser *p)
{
    rlx_relay_accept(p, RLX_RELAY_TOK_EXTERN);
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_TYPE, "behind extern"))
        return false;
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (t->kind != RLX_RELAY_TOK_NAME)
        return rlx_relay_unexpected(p, "the name of the type");
    rlx_relay_adt *adt = t->word->adt, again = { .name = t->word->text };
    if (is_scalar_name(t->word->text))
        rlx_error(p->ctx, RLX_RY13, rlx_relay_here(p), "names that begin with int, uint, float or bool are data types of "
                  "tensors: call %.*s otherwise", (int)(t->word->text.len > 80 ? 80 : t->word->text.len), t->word->text.data);
    p->at++;
    if (!adt || adt->place != rlx_relay_tok_place(p, t))
        adt = &again; /* defined twice: read for its mistakes */
    size_t scope = rlx_relay_scope(p);
    bool ok = rlx_relay_parse_type_params(p, &adt->params, &adt->num_params) &&
              (rlx_relay_kind_at(p) != RLX_RELAY_TOK_LBRACE || parse_ctors(p, adt));
    rlx_relay_close_scope(p, scope);
    for (size_t i = 0; ok && adt != &again && i < adt->num_ctors; i++)
        ok = make_ctor_type(p, adt, adt->ctors[i]);
    return ok;
}

/* ---- patterns ------------------------------------------------------------------------------------ */

static bool parse_parts(rlx_relay_parser *p, rlx_relay_pattern *pattern)
{
    size_t mark = rlx_relay_list_mark(p);
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_RPAR) {
        if (!rlx_relay_list_push(p, rlx_relay_parse_pattern(p)))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
    }
    return rlx_relay_list_end(p, mark, &pattern->parts, &pattern->num_parts) &&
           rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind a pattern");
}

static bool parse_variable_pattern(rlx_relay_parser *p, rlx_relay_pattern *pattern, size_t first)
{
    rlx_relay_word *w = rlx_relay_tok_at(p)->word;
    p->at++;
    rlx_relay_expr *v = rlx_relay_expr_new(p->m, RLX_RELAY_VAR, rlx_relay_span(p, first));
    if (!v)
        return false;
    v->var.name = w->text;
    if (rlx_relay_accept(p, RLX_RELAY_TOK_COLON) && !(v->var.given = rlx_relay_parse_type(p)))
        return false;
    pattern->kind = RLX_RELAY_PATTERN_VAR;
    pattern->var = v;
    /* The names that this pattern has bound so far were hidden last. */
    for (size_t i = p->pattern_scope; i < p->hidden.len; i++)
        if (p->hidden.data[i].word == w)
            rlx_error(p->ctx, RLX_RY19, v->place, "the pattern binds %%%.*s twice", (int)w->text.len,
                      w->text.data);
    return rlx_relay_bind_local(p, w, v);
}

static bool parse_ctor_pattern(rlx_relay_parser *p, rlx_relay_pattern *pattern)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    p->at++;
    pattern->kind = RLX_RELAY_PATTERN_CTOR;
    pattern->ctor = t->word->ctor;
    if (!pattern->ctor) {
        rlx_error(p->ctx, RLX_RY07, rlx_relay_tok_place(p, t), "there is no constructor %.*s",
                  (int)t->word->text.len, t->word->text.data);
        rlx_note(p->ctx, RLX_NO_PLACE, "a variable is written %%%.*s", (int)t->word->text.len,
                 t->word->text.data);
        pattern->kind = RLX_RELAY_PATTERN_ANY;
    }
    return !rlx_relay_accept(p, RLX_RELAY_TOK_LPAR) || parse_parts(p, pattern);
}

static bool parse_pattern_here(rlx_relay_parser *p, rlx_relay_pattern *pattern, size_t first)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (t->kind == RLX_RELAY_TOK_LOCAL)
        return parse_variable_pattern(p, pattern, first);
    if (t->kind == RLX_RELAY_TOK_NAME && rlx_slice_is(t->word->text, "_")) {
        p->at++;
        return true;
    }
    if (t->kind == RLX_RELAY_TOK_NAME)
        return parse_ctor_pattern(p, pattern);
    if (!rlx_relay_accept(p, RLX_RELAY_TOK_LPAR))
        return rlx_relay_unexpected(p, "a pattern: _, %name, a constructor or a tuple");
    pattern->kind = RLX_RELAY_PATTERN_TUPLE;
    return parse_parts(p, pattern);
}

rlx_relay_pattern *rlx_relay_parse_pattern(rlx_relay_parser *p)
{
    size_t first = p->at;
    rlx_relay_pattern *pattern = rlx_region_zero(&p->m->region, sizeof *pattern);
    bool ok = rlx_relay_enter(p) && pattern && parse_pattern_here(p, pattern, first);
    rlx_relay_leave(p);
    if (!ok)
        return NULL;
    pattern->place = rlx_relay_span(p, first);
    return pattern;
}

/* ---- attributes ---------------------------------------------------------------------------------- */

bool rlx_relay_at_attr(const rlx_relay_parser *p)
{
    size_t n = 0;
    while (rlx_relay_kind_ahead(p, n) == RLX_RELAY_TOK_NAME &&
           rlx_relay_kind_ahead(p, n + 1) == RLX_RELAY_TOK_DOT)
        n += 2;
    return rlx_relay_kind_ahead(p, n) == RLX_RELAY_TOK_NAME &&
           rlx_relay_kind_ahead(p, n + 1) == RLX_RELAY_TOK_ASSIGN;
}

static bool parse_value(rlx_relay_parser *p, rlx_relay_value *out);

/* Items up to `closing`; a value in parentheses that is alone is itself. */
static bool parse_value_list(rlx_relay_parser *p, uint8_t closing, rlx_relay_value *out)
{
    size_t mark = p->value_items.len;
    bool comma = closing == RLX_RELAY_TOK_RBRACKET || rlx_relay_kind_at(p) == closing;
    while (rlx_relay_kind_at(p) != closing) {
        rlx_relay_value item;
        if (!parse_value(p, &item) || !rlx_vec_push(&p->ctx->memory, &p->value_items, item))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
        comma = true;
    }
    size_t n = p->value_items.len - mark;
    if (!comma) {
        *out = p->value_items.data[mark];
    } else {
        out->kind = RLX_RELAY_VALUE_LIST;
        out->list.count = n;
        out->list.items = rlx_region_copy(&p->m->region, n ? (void *)&p->value_items.data[mark]
                                                           : (void *)"", n * sizeof *out);
        if (!out->list.items)
            return false;
    }
    p->value_items.len = mark;
    return rlx_relay_expect(p, closing, "or ',' behind a value");
}

static bool parse_word_value(rlx_relay_parser *p, rlx_relay_value *out)
{
    rlx_slice text = rlx_relay_tok_at(p)->word->text;
    bool is_true = rlx_slice_is(text, "True");
    if (is_true || rlx_slice_is(text, "False")) {
        out->kind = RLX_RELAY_VALUE_BOOL;
        out->i = is_true;
    } else if (!rlx_slice_is(text, "None") && !rlx_slice_is(text, "nullptr")) {
        return rlx_relay_unexpected(p, "a value of an attribute; strings have quotes");
    }
    p->at++;
    return true;
}

static bool parse_value_here(rlx_relay_parser *p, rlx_relay_value *out)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    *out = (rlx_relay_value){ .kind = RLX_RELAY_VALUE_NONE, .place = rlx_relay_tok_place(p, t),
                              .dtype = t->dtype };
    switch (t->kind) {
    case RLX_RELAY_TOK_INT: p->at++; out->kind = RLX_RELAY_VALUE_INT; out->i = t->i; return true;
    case RLX_RELAY_TOK_FLOAT: p->at++; out->kind = RLX_RELAY_VALUE_FLOAT; out->f = t->f; return true;
    case RLX_RELAY_TOK_STRING: p->at++; out->kind = RLX_RELAY_VALUE_STRING; out->s = t->text; return true;
    case RLX_RELAY_TOK_NAME: return parse_word_value(p, out);
    case RLX_RELAY_TOK_LBRACKET: p->at++; return parse_value_list(p, RLX_RELAY_TOK_RBRACKET, out);
    case RLX_RELAY_TOK_LPAR: p->at++; return parse_value_list(p, RLX_RELAY_TOK_RPAR, out);
    case RLX_RELAY_TOK_META:
        if (!rlx_slice_is(t->text, "relay.Constant")) {
            p->at++;
            out->kind = RLX_RELAY_VALUE_META;
            out->s = t->text;
            return true;
        }
        break;
    default: break;
    }
    out->kind = RLX_RELAY_VALUE_EXPR;
    if (!(out->expr = rlx_relay_parse_expr(p)))
        return false;
    if (out->expr->kind != RLX_RELAY_VAR && out->expr->kind != RLX_RELAY_CONST && out->expr->kind != RLX_RELAY_GLOBAL &&
        out->expr->kind != RLX_RELAY_ERROR) {
        rlx_error(p->ctx, RLX_RY11, out->place, "the value of an attribute is a literal, a list, a constant or a variable");
        out->kind = RLX_RELAY_VALUE_NONE;
    }
    return true;
}

static bool parse_value(rlx_relay_parser *p, rlx_relay_value *out)
{
    bool ok = rlx_relay_enter(p) && parse_value_here(p, out);
    rlx_relay_leave(p);
    return ok;
}

/* NAME {. NAME}: as the text has it. */
static rlx_slice parse_key(rlx_relay_parser *p)
{
    const rlx_source *s = rlx_diags_source(&p->ctx->diags, p->source);
    uint32_t begin = rlx_relay_tok_at(p)->begin;
    while (rlx_relay_kind_ahead(p, 1) == RLX_RELAY_TOK_DOT)
        p->at += 2;
    uint32_t end = rlx_relay_tok_at(p)->end;
    p->at++;
    char *copy = rlx_region_copy(&p->m->region, s->text + begin, end - begin);
    return (rlx_slice){ copy, copy ? end - begin : 0 };
}

bool rlx_relay_parse_attrs(rlx_relay_parser *p, uint8_t closing, rlx_relay_attrs *out)
{
    size_t mark = p->attr_items.len;
    while (rlx_relay_kind_at(p) != closing) {
        size_t first = p->at;
        rlx_relay_attr a;
        if (!rlx_relay_at_attr(p))
            return rlx_relay_unexpected(p, "an attribute such as axis=1");
        a.name = parse_key(p);
        a.place = rlx_relay_span(p, first);
        p->at++; /* the '=' */
        if (!a.name.data || !parse_value(p, &a.value) ||
            !rlx_vec_push(&p->ctx->memory, &p->attr_items, a))
            return false;
        rlx_relay_accept(p, RLX_RELAY_TOK_COMMA);
    }
    size_t n = p->attr_items.len - mark;
    out->items = rlx_region_copy(&p->m->region, n ? (void *)&p->attr_items.data[mark] : (void *)"",
                                 n * sizeof *out->items);
    out->count = n;
    p->attr_items.len = mark;
    return out->items != NULL;
}
