/* relay_parse.c: Relay's grammar (relay 1.2 with its points): modules, functions, expressions.
 *
 * Data types are found first, by a look at the tokens, so that constructors and types are known
 * wherever they stand; then the definitions are read in order. After a syntax error reading goes
 * on at the next definition.
 */
#include "relay/relay_host.h"
#include "relay/relay_parse.h"

/* ---- tokens ------------------------------------------------------------------------------------ */

uint8_t rlx_relay_kind_ahead(const rlx_relay_parser *p, size_t n)
{
    size_t left = p->lexed.count - 1 - p->at;
    return p->toks[p->at + (n < left ? n : left)].kind;
}

static void advance(rlx_relay_parser *p)
{
    if (rlx_relay_kind_at(p) != RLX_RELAY_TOK_END)
        p->at++;
}

bool rlx_relay_accept(rlx_relay_parser *p, uint8_t kind)
{
    if (rlx_relay_kind_at(p) != kind)
        return false;
    advance(p);
    return true;
}

rlx_place rlx_relay_tok_place(const rlx_relay_parser *p, const rlx_relay_tok *t)
{
    return rlx_place_make(p->source, t->begin, t->end - t->begin);
}
rlx_place rlx_relay_here(const rlx_relay_parser *p)
{
    return rlx_relay_tok_place(p, rlx_relay_tok_at(p));
}
rlx_place rlx_relay_span(const rlx_relay_parser *p, size_t first)
{
    uint32_t begin = p->toks[first].begin;
    uint32_t end = p->at > first ? p->toks[p->at - 1].end : p->toks[first].end;
    return rlx_place_make(p->source, begin, end - begin);
}

bool rlx_relay_unexpected(rlx_relay_parser *p, const char *expected)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (!p->lost && t->kind != RLX_RELAY_TOK_ERROR) {
        bool is_word = t->kind == RLX_RELAY_TOK_NAME || t->kind == RLX_RELAY_TOK_LOCAL ||
                       t->kind == RLX_RELAY_TOK_GLOBAL;
        rlx_slice name = is_word ? t->word->text : (rlx_slice){ "", 0 };
        rlx_error(p->ctx, RLX_RY04, rlx_relay_here(p), "expected %s, found %s%s%.*s", expected,
                  rlx_relay_tok_text(t->kind), is_word ? " " : "",
                  (int)(name.len > 60 ? 60 : name.len), name.data);
    }
    p->lost = true;
    return false;
}

bool rlx_relay_expect(rlx_relay_parser *p, uint8_t kind, const char *where)
{
    if (rlx_relay_accept(p, kind))
        return true;
    rlx_buf expected;
    rlx_buf_init(&expected, &p->ctx->memory);
    rlx_buf_format(&expected, "%s %s", rlx_relay_tok_text(kind), where);
    rlx_relay_unexpected(p, expected.data ? expected.data : rlx_relay_tok_text(kind));
    rlx_buf_free(&expected);
    return false;
}

bool rlx_relay_enter(rlx_relay_parser *p)
{
    if (p->depth++ < RLX_RELAY_MAX_DEPTH)
        return true;
    if (!p->lost)
        rlx_error(p->ctx, RLX_RY24, rlx_relay_here(p), "more than %d levels are nested here",
                  RLX_RELAY_MAX_DEPTH);
    p->lost = true;
    return false;
}

/* ---- scopes and lists -------------------------------------------------------------------------- */

static bool hide(rlx_relay_parser *p, rlx_relay_word *w)
{
    rlx_relay_hidden h = { w, w->local, w->type_var };
    return rlx_vec_push(&p->ctx->memory, &p->hidden, h);
}
bool rlx_relay_bind_local(rlx_relay_parser *p, rlx_relay_word *w, rlx_relay_expr *var)
{
    if (!hide(p, w))
        return false;
    w->local = var;
    return true;
}
bool rlx_relay_bind_type_var(rlx_relay_parser *p, rlx_relay_word *w, rlx_relay_type_var *var)
{
    if (!hide(p, w))
        return false;
    w->type_var = var;
    return true;
}
void rlx_relay_close_scope(rlx_relay_parser *p, size_t mark)
{
    while (p->hidden.len > mark) {
        rlx_relay_hidden h = rlx_vec_pop(&p->hidden);
        h.word->local = h.local;
        h.word->type_var = h.type_var;
    }
}

bool rlx_relay_list_push(rlx_relay_parser *p, void *item)
{
    return item && rlx_vec_push(&p->ctx->memory, &p->items, item);
}
bool rlx_relay_list_end(rlx_relay_parser *p, size_t mark, void *items, size_t *count)
{
    size_t n = p->items.len - mark;
    void *copy = rlx_region_copy(&p->m->region, n ? (void *)&p->items.data[mark] : (void *)"",
                                 n * sizeof(void *));
    p->items.len = mark;
    *(void **)items = copy;
    *count = n;
    return copy != NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------- */

rlx_relay_expr *rlx_relay_expr_new(rlx_relay_module *m, uint8_t kind, rlx_place place)
{
    rlx_relay_expr *e = rlx_region_zero(&m->region, sizeof *e);
    if (e) {
        e->kind = kind;
        e->place = place;
    }
    return e;
}

rlx_relay_expr *rlx_relay_scalar(rlx_relay_module *m, rlx_dtype dtype, int64_t i, double f,
                                 rlx_place place)
{
    rlx_relay_expr *e = rlx_relay_expr_new(m, RLX_RELAY_CONST, place);
    unsigned char *data = rlx_region_zero(&m->region, 8);
    if (!e || !data)
        return NULL;
    size_t bytes = rlx_dtype_bytes(dtype);
    if (rlx_dtype_is_float(dtype))
        rlx_dtype_store_float(dtype, data, f);
    else
        for (size_t b = 0; b < bytes; b++) /* memory of run-time tensors is little-endian */
            data[b] = (unsigned char)((uint64_t)i >> (8 * b));
    e->constant.dtype = dtype;
    e->constant.data = data;
    e->constant.bytes = bytes;
    return e;
}

static rlx_relay_expr *error_expr(rlx_relay_parser *p, rlx_place place)
{
    return rlx_relay_expr_new(p->m, RLX_RELAY_ERROR, place);
}

static rlx_relay_expr *var_new(rlx_relay_parser *p, rlx_slice name, rlx_relay_type *given,
                               rlx_place place)
{
    rlx_relay_expr *v = rlx_relay_expr_new(p->m, RLX_RELAY_VAR, place);
    if (v) {
        v->var.name = name;
        v->var.given = given;
    }
    return v;
}

/* ---- names ------------------------------------------------------------------------------------- */

static rlx_relay_expr *parse_local(rlx_relay_parser *p)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    rlx_place place = rlx_relay_here(p);
    advance(p);
    if (t->word->local)
        return t->word->local;
    rlx_error(p->ctx, RLX_RY05, place, "%%%.*s is not declared here", (int)t->word->text.len,
              t->word->text.data);
    if (t->word->global)
        rlx_note(p->ctx, place, "did you mean the function @%.*s?", (int)t->word->text.len,
                 t->word->text.data);
    /* Said once for each name: from here on it is an error that stands for any value. */
    rlx_relay_expr *e = error_expr(p, place);
    if (e)
        t->word->local = e;
    return e;
}

static rlx_relay_global *global_of(rlx_relay_parser *p, rlx_relay_word *w, rlx_place place)
{
    if (w->global)
        return w->global;
    rlx_relay_global *g = rlx_region_zero(&p->m->region, sizeof *g);
    if (!g)
        return NULL;
    g->name = w->text;
    g->place = place;
    w->global = g;
    return g;
}

static rlx_relay_expr *parse_global(rlx_relay_parser *p)
{
    rlx_place place = rlx_relay_here(p);
    rlx_relay_global *g = global_of(p, rlx_relay_tok_at(p)->word, place);
    rlx_relay_expr *e = g ? rlx_relay_expr_new(p->m, RLX_RELAY_GLOBAL, place) : NULL;
    advance(p);
    if (e)
        e->global = g;
    return e;
}

static rlx_relay_expr *parse_graph_use(rlx_relay_parser *p)
{
    rlx_place place = rlx_relay_here(p);
    int64_t number = rlx_relay_tok_at(p)->i;
    rlx_relay_expr *found = rlx_ptrmap_get(&p->graph, (void *)(uintptr_t)(number + 1));
    advance(p);
    if (found)
        return found;
    rlx_error(p->ctx, RLX_RY05, place, "the graph variable %%%lld is not defined above",
              (long long)number);
    return error_expr(p, place);
}

/* The text of NAME {. NAME} from the current token on; *count: tokens. */
rlx_slice rlx_relay_dotted_name(const rlx_relay_parser *p, size_t *count)
{
    size_t n = 1;
    while (rlx_relay_kind_ahead(p, n) == RLX_RELAY_TOK_DOT && p->toks[p->at + n].touches &&
           rlx_relay_kind_ahead(p, n + 1) == RLX_RELAY_TOK_NAME && p->toks[p->at + n + 1].touches)
        n += 2;
    *count = n;
    rlx_slice first = rlx_relay_tok_at(p)->word->text;
    if (n == 1)
        return first;
    const rlx_source *s = rlx_diags_source(&p->ctx->diags, p->source);
    uint32_t begin = p->toks[p->at].begin;
    return (rlx_slice){ s->text + begin, p->toks[p->at + n - 1].end - begin };
}

static rlx_relay_expr *unknown_operator(rlx_relay_parser *p, rlx_slice name, rlx_place place)
{
    const char *like = rlx_relay_op_like(name);
    rlx_error(p->ctx, RLX_RY06, place, "there is no operator or constructor %.*s%s%s%s",
              (int)(name.len > 80 ? 80 : name.len), name.data, like ? "; did you mean " : "",
              like ? like : "", like ? "?" : "");
    return error_expr(p, place);
}

/* A constructor, or an operator: what it says without a call. */
static rlx_relay_expr *parse_name(rlx_relay_parser *p)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    rlx_place place = rlx_relay_here(p);
    if (rlx_slice_is(t->word->text, "True") || rlx_slice_is(t->word->text, "False")) {
        advance(p);
        return rlx_relay_scalar(p->m, RELAX_BOOL, t->word->text.data[0] == 'T', 0, place);
    }
    size_t count;
    rlx_slice name = rlx_relay_dotted_name(p, &count);
    rlx_relay_expr *e;
    if (count == 1 && t->word->ctor) {
        e = rlx_relay_expr_new(p->m, RLX_RELAY_CTOR, place);
        if (e)
            e->ctor = t->word->ctor;
        p->at++;
        return e;
    }
    rlx_relay_word *w = rlx_relay_word_of(p->m, name);
    if (!w)
        return NULL;
    if (!w->looked_for_op) {
        w->op = rlx_relay_op_find_in(p->ctx, name);
        w->looked_for_op = true;
    }
    size_t first = p->at;
    p->at += count;
    place = rlx_relay_span(p, first);
    if (!w->op)
        return unknown_operator(p, name, place);
    e = rlx_relay_expr_new(p->m, RLX_RELAY_OP, place);
    if (e)
        e->op = w->op;
    return e;
}

/* ---- functions --------------------------------------------------------------------------------- */

static rlx_relay_expr *parse_block(rlx_relay_parser *p)
{
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_LBRACE, "in front of the body"))
        return NULL;
    size_t scope = rlx_relay_scope(p);
    rlx_relay_expr *e = rlx_relay_parse_expr(p);
    rlx_relay_close_scope(p, scope);
    return e && rlx_relay_expect(p, RLX_RELAY_TOK_RBRACE, "behind the body") ? e : NULL;
}

static rlx_relay_type *parse_annotation(rlx_relay_parser *p, bool *ok)
{
    *ok = true;
    if (!rlx_relay_accept(p, RLX_RELAY_TOK_COLON))
        return NULL;
    rlx_relay_type *t = rlx_relay_parse_type(p);
    *ok = t != NULL;
    return t;
}

static rlx_relay_expr *parse_param(rlx_relay_parser *p)
{
    size_t first = p->at;
    bool ok;
    if (rlx_relay_kind_at(p) != RLX_RELAY_TOK_LOCAL) {
        rlx_relay_unexpected(p, "a parameter such as %x");
        return NULL;
    }
    rlx_relay_word *w = rlx_relay_tok_at(p)->word;
    advance(p);
    if (rlx_relay_accept(p, RLX_RELAY_TOK_LBRACE)) { /* only says where it shall live */
        rlx_relay_attrs device;
        if (!rlx_relay_parse_attrs(p, RLX_RELAY_TOK_RBRACE, &device) ||
            !rlx_relay_expect(p, RLX_RELAY_TOK_RBRACE, "behind the attributes"))
            return NULL;
    }
    rlx_relay_type *given = parse_annotation(p, &ok);
    rlx_relay_expr *v = ok ? var_new(p, w->text, given, rlx_relay_span(p, first)) : NULL;
    return v && rlx_relay_bind_local(p, w, v) ? v : NULL;
}

static bool parse_params(rlx_relay_parser *p, rlx_relay_func *f)
{
    size_t mark = rlx_relay_list_mark(p);
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_LPAR, "in front of the parameters"))
        return false;
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_RPAR) {
        if (rlx_relay_at_attr(p)) {
            if (!rlx_relay_parse_attrs(p, RLX_RELAY_TOK_RPAR, &f->attrs))
                return false;
            break;
        }
        if (!rlx_relay_list_push(p, parse_param(p)))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
    }
    return rlx_relay_list_end(p, mark, &f->params, &f->num_params) &&
           rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind a parameter");
}

/* What follows fn, or def @name; `first` is the token where the function begins. */
static rlx_relay_expr *parse_function(rlx_relay_parser *p, size_t first)
{
    size_t scope = rlx_relay_scope(p);
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_FUNC, RLX_NO_PLACE);
    rlx_relay_func *f = rlx_region_zero(&p->m->region, sizeof *f);
    if (!e || !f)
        return NULL;
    e->func = f;
    bool ok = rlx_relay_parse_type_params(p, &f->type_params, &f->num_type_params) &&
              parse_params(p, f);
    if (ok && rlx_relay_accept(p, RLX_RELAY_TOK_ARROW))
        ok = (f->result = rlx_relay_parse_type(p)) != NULL;
    ok = ok && rlx_relay_parse_where(p, false, &f->constraints, &f->num_constraints) &&
         (f->body = parse_block(p)) != NULL;
    rlx_relay_close_scope(p, scope);
    e->place = rlx_relay_span(p, first);
    return ok ? e : NULL;
}

/* ---- primary expressions ------------------------------------------------------------------------ */

static rlx_relay_expr *parse_if(rlx_relay_parser *p)
{
    size_t first = p->at++;
    rlx_relay_expr *c = NULL, *a = NULL, *b = NULL;
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_LPAR, "in front of the condition") ||
        !(c = rlx_relay_parse_expr(p)) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "behind the condition") || !(a = parse_block(p)) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_ELSE, "behind the branch: an if is a value") ||
        !(b = parse_block(p)))
        return NULL;
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_IF, rlx_relay_span(p, first));
    if (e) {
        e->branch.condition = c;
        e->branch.then = a;
        e->branch.otherwise = b;
    }
    return e;
}

static rlx_relay_expr *parse_ref(rlx_relay_parser *p, uint8_t kind)
{
    size_t first = p->at++;
    rlx_relay_expr *a = NULL, *b = NULL;
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_LPAR, "behind the word") ||
        !(a = rlx_relay_parse_expr(p)) ||
        (kind == RLX_RELAY_REF_WRITE &&
         (!rlx_relay_expect(p, RLX_RELAY_TOK_COMMA, "in front of the value") ||
          !(b = rlx_relay_parse_expr(p)))) ||
        !rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "behind the operands"))
        return NULL;
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, kind, rlx_relay_span(p, first));
    if (e) {
        e->ref.ref = kind == RLX_RELAY_REF ? NULL : a;
        e->ref.value = kind == RLX_RELAY_REF ? a : b;
    }
    return e;
}

/* (), (e), (e,), (e1, e2): one expression in parentheses is itself. */
static rlx_relay_expr *parse_parentheses(rlx_relay_parser *p)
{
    size_t first = p->at++, mark = rlx_relay_list_mark(p);
    bool comma = rlx_relay_kind_at(p) == RLX_RELAY_TOK_RPAR;
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_RPAR) {
        if (!rlx_relay_list_push(p, rlx_relay_parse_expr(p)))
            return NULL;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
        comma = true;
    }
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind an item"))
        return NULL;
    if (!comma)
        return rlx_vec_pop(&p->items);
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_TUPLE, rlx_relay_span(p, first));
    return e && rlx_relay_list_end(p, mark, &e->tuple.items, &e->tuple.count) ? e : NULL;
}

static bool parse_arm(rlx_relay_parser *p, rlx_relay_arm *arm)
{
    size_t scope = rlx_relay_scope(p);
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    bool is_case = t->kind == RLX_RELAY_TOK_NAME && rlx_slice_is(t->word->text, "case") &&
                   rlx_relay_kind_ahead(p, 1) != RLX_RELAY_TOK_LPAR;
    if (is_case)
        p->at++;
    p->pattern_scope = scope;
    arm->pattern = rlx_relay_parse_pattern(p);
    if (arm->pattern)
        arm->body = is_case || rlx_relay_expect(p, RLX_RELAY_TOK_FAT_ARROW, "behind the pattern")
                        ? is_case ? parse_block(p) : rlx_relay_parse_expr(p)
                        : NULL;
    rlx_relay_close_scope(p, scope);
    return arm->body != NULL;
}

static rlx_relay_expr *parse_atom(rlx_relay_parser *p);

static rlx_relay_expr *parse_match(rlx_relay_parser *p)
{
    size_t first = p->at, mark = rlx_relay_list_mark(p);
    bool partial = rlx_relay_kind_at(p) == RLX_RELAY_TOK_PARTIAL_MATCH;
    p->at++;
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_MATCH, RLX_NO_PLACE);
    rlx_relay_expr *data = e ? parse_atom(p) : NULL;
    if (!data || !rlx_relay_expect(p, RLX_RELAY_TOK_LBRACE, "in front of the arms"))
        return NULL;
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_RBRACE) {
        rlx_relay_arm *arm = rlx_region_zero(&p->scratch, sizeof *arm);
        if (!arm || !parse_arm(p, arm) || !rlx_relay_list_push(p, arm))
            return NULL;
        bool braced = p->toks[p->at - 1].kind == RLX_RELAY_TOK_RBRACE;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA) && !braced)
            break;
    }
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_RBRACE, "or ',' behind an arm"))
        return NULL;
    size_t n = p->items.len - mark;
    rlx_relay_arm *arms = rlx_region_array(&p->m->region, n + 1, sizeof *arms);
    for (size_t i = 0; arms && i < n; i++)
        arms[i] = *(const rlx_relay_arm *)p->items.data[mark + i];
    p->items.len = mark;
    e->place = rlx_relay_span(p, first);
    e->match.data = data;
    e->match.arms = arms;
    e->match.num_arms = n;
    e->match.partial = partial;
    return arms ? e : NULL;
}

static rlx_relay_expr *parse_primary(rlx_relay_parser *p)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    rlx_place place = rlx_relay_here(p);
    switch (t->kind) {
    case RLX_RELAY_TOK_INT:
    case RLX_RELAY_TOK_FLOAT:
        advance(p);
        return rlx_relay_scalar(p->m, t->dtype, t->i, t->f, place);
    case RLX_RELAY_TOK_LOCAL: return parse_local(p);
    case RLX_RELAY_TOK_GLOBAL: return parse_global(p);
    case RLX_RELAY_TOK_GRAPH: return parse_graph_use(p);
    case RLX_RELAY_TOK_META:
        advance(p);
        return rlx_relay_meta_expr(p, t);
    case RLX_RELAY_TOK_NAME: return parse_name(p);
    case RLX_RELAY_TOK_FN: return parse_function(p, p->at++);
    case RLX_RELAY_TOK_IF: return parse_if(p);
    case RLX_RELAY_TOK_REF: return parse_ref(p, RLX_RELAY_REF);
    case RLX_RELAY_TOK_REF_READ: return parse_ref(p, RLX_RELAY_REF_READ);
    case RLX_RELAY_TOK_REF_WRITE: return parse_ref(p, RLX_RELAY_REF_WRITE);
    case RLX_RELAY_TOK_LPAR: return parse_parentheses(p);
    case RLX_RELAY_TOK_LBRACE: return parse_block(p);
    case RLX_RELAY_TOK_MATCH:
    case RLX_RELAY_TOK_PARTIAL_MATCH: return parse_match(p);
    default:
        rlx_relay_unexpected(p, "an expression");
        return NULL;
    }
}

/* ---- calls and projections ---------------------------------------------------------------------- */

static bool parse_args(rlx_relay_parser *p, rlx_relay_expr *call)
{
    size_t mark = rlx_relay_list_mark(p);
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_RPAR) {
        const rlx_relay_tok *t = rlx_relay_tok_at(p);
        if (rlx_relay_at_attr(p)) {
            if (!rlx_relay_parse_attrs(p, RLX_RELAY_TOK_RPAR, &call->call.attrs))
                return false;
            break;
        }
        if (t->kind == RLX_RELAY_TOK_META && t->text.len > 12 &&
            memcmp(t->text.data, "relay.attrs.", 12) == 0) {
            advance(p);
            if (!rlx_relay_meta_attrs(p, t, &call->call.attrs))
                return false;
            rlx_relay_accept(p, RLX_RELAY_TOK_COMMA);
            break;
        }
        if (!rlx_relay_list_push(p, rlx_relay_parse_expr(p)))
            return false;
        if (!rlx_relay_accept(p, RLX_RELAY_TOK_COMMA))
            break;
    }
    return rlx_relay_list_end(p, mark, &call->call.args, &call->call.num_args) &&
           rlx_relay_expect(p, RLX_RELAY_TOK_RPAR, "or ',' behind an argument");
}

/* Every attribute of an operator's call must be a field of its record. */
static void check_attrs(rlx_relay_parser *p, const rlx_relay_op *op, rlx_relay_attrs attrs)
{
    for (size_t i = 0; i < attrs.count; i++) {
        if (rlx_relay_op_field(op, attrs.items[i].name))
            continue;
        rlx_slice name = attrs.items[i].name;
        rlx_error(p->ctx, RLX_RY11, attrs.items[i].place, "%s has no attribute %.*s", op->name,
                  (int)(name.len > 60 ? 60 : name.len), name.data);
        rlx_buf all;
        rlx_buf_init(&all, &p->ctx->memory);
        for (size_t k = 0; k < op->num_fields; k++)
            rlx_buf_format(&all, "%s%s", k ? ", " : "", op->fields[k].name);
        rlx_note(p->ctx, RLX_NO_PLACE, "its attributes are: %s",
                 all.len ? all.data : "none");
        rlx_buf_free(&all);
    }
}

static rlx_relay_expr *parse_call(rlx_relay_parser *p, rlx_relay_expr *callee, size_t first,
                                  rlx_relay_type *const *type_args, size_t num_type_args)
{
    p->at++; /* the '(' */
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_CALL, RLX_NO_PLACE);
    if (!e || !parse_args(p, e))
        return NULL;
    e->call.callee = callee;
    e->call.type_args = type_args;
    e->call.num_type_args = num_type_args;
    e->place = rlx_relay_span(p, first);
    if (callee->kind == RLX_RELAY_OP)
        check_attrs(p, callee->op, e->call.attrs);
    return e;
}

static rlx_relay_expr *parse_field(rlx_relay_parser *p, rlx_relay_expr *tuple, size_t first)
{
    p->at++; /* the '.' */
    int64_t index = rlx_relay_tok_at(p)->i;
    if (!rlx_relay_expect(p, RLX_RELAY_TOK_INT, "behind the dot of a projection"))
        return NULL;
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_FIELD, rlx_relay_span(p, first));
    if (e) {
        e->field.tuple = tuple;
        e->field.index = index;
    }
    return e;
}

/* f<T1, T2>(x), where '<' touches f and what follows reads as types: tried, nothing is said if it
 * does not. */
static bool parse_type_args(rlx_relay_parser *p, rlx_relay_type *const **args, size_t *count)
{
    size_t at = p->at, mark = rlx_relay_list_mark(p);
    uint32_t depth = p->depth;
    if (!rlx_relay_tok_at(p)->touches)
        return false;
    rlx_diags_counts before = rlx_diags_begin_unheard(&p->ctx->diags);
    bool was_lost = p->lost;
    p->at++;
    bool ok = rlx_relay_parse_type_list(p, RLX_RELAY_TOK_GT, args, count) &&
              rlx_relay_accept(p, RLX_RELAY_TOK_GT) && *count &&
              rlx_relay_kind_at(p) == RLX_RELAY_TOK_LPAR && p->ctx->diags.num_errors == before.errors;
    rlx_diags_end_unheard(&p->ctx->diags, before);
    if (!ok) {
        p->at = at;
        p->items.len = mark;
        p->depth = depth;
        p->lost = was_lost;
    }
    return ok;
}

/* Calls and projections may follow one another in any order. */
static rlx_relay_expr *parse_postfix(rlx_relay_parser *p, bool calls)
{
    size_t first = p->at, steps = 0;
    rlx_relay_expr *e = parse_primary(p);
    rlx_relay_type *const *type_args = NULL;
    size_t num_type_args = 0;
    bool called = false;
    for (; e; steps++) {
        uint8_t kind = rlx_relay_kind_at(p);
        if (kind == RLX_RELAY_TOK_LT && calls && steps == 0 && e->kind != RLX_RELAY_CONST &&
            parse_type_args(p, &type_args, &num_type_args))
            kind = RLX_RELAY_TOK_LPAR;
        if (kind == RLX_RELAY_TOK_LPAR && calls)
            e = parse_call(p, e, first, type_args, num_type_args);
        else if (kind == RLX_RELAY_TOK_DOT)
            e = parse_field(p, e, first);
        else
            break;
        called = called || kind == RLX_RELAY_TOK_LPAR;
        type_args = NULL;
        num_type_args = 0;
        if (steps == RLX_RELAY_MAX_DEPTH) {
            rlx_error(p->ctx, RLX_RY24, rlx_relay_here(p), "more than %d calls and projections follow "
                      "one another", RLX_RELAY_MAX_DEPTH);
            p->lost = true;
            return NULL;
        }
    }
    /* A constructor without fields and without a call is its value. */
    if (e && e->kind == RLX_RELAY_CTOR && !e->ctor->num_fields && !called) {
        rlx_relay_expr *call = rlx_relay_expr_new(p->m, RLX_RELAY_CALL, e->place);
        if (call)
            call->call.callee = e;
        e = call;
    }
    return e;
}

static rlx_relay_expr *parse_atom(rlx_relay_parser *p) { return parse_postfix(p, false); }

/* ---- binary operators --------------------------------------------------------------------------- */

static const struct binary { uint8_t tok, precedence; const char *op; } binaries[] = {
    { RLX_RELAY_TOK_STAR, 12, "multiply" },  { RLX_RELAY_TOK_SLASH, 12, "divide" },
    { RLX_RELAY_TOK_PLUS, 10, "add" },       { RLX_RELAY_TOK_MINUS, 10, "subtract" },
    { RLX_RELAY_TOK_LT, 8, "less" },         { RLX_RELAY_TOK_LE, 8, "less_equal" },
    { RLX_RELAY_TOK_GT, 8, "greater" },      { RLX_RELAY_TOK_GE, 8, "greater_equal" },
    { RLX_RELAY_TOK_EQ, 7, "equal" },        { RLX_RELAY_TOK_NE, 7, "not_equal" },
};
static const struct binary *binary_at(const rlx_relay_parser *p)
{
    for (size_t i = 0; i < RLX_COUNT(binaries); i++)
        if (binaries[i].tok == rlx_relay_kind_at(p))
            return &binaries[i];
    return NULL;
}

static rlx_relay_expr *binary_call(rlx_relay_parser *p, const struct binary *b, rlx_place at,
                                   rlx_relay_expr *x, rlx_relay_expr *y, size_t first)
{
    rlx_relay_expr *op = rlx_relay_expr_new(p->m, RLX_RELAY_OP, at);
    rlx_relay_expr *call = rlx_relay_expr_new(p->m, RLX_RELAY_CALL, rlx_relay_span(p, first));
    rlx_relay_expr *both[] = { x, y };
    if (!op || !call || !(call->call.args = rlx_region_copy(&p->m->region, both, sizeof both)))
        return NULL;
    op->op = rlx_relay_op_find(rlx_slice_z(b->op));
    call->call.callee = op;
    call->call.num_args = 2;
    return call;
}

/* Precedence climbing; all are left associative, a run of any length is a loop. */
static rlx_relay_expr *parse_binary(rlx_relay_parser *p, uint8_t least)
{
    size_t first = p->at;
    rlx_relay_expr *x = parse_postfix(p, true);
    for (const struct binary *b; x && (b = binary_at(p)) && b->precedence >= least;) {
        rlx_place at = rlx_relay_here(p);
        advance(p);
        rlx_relay_expr *y = parse_binary(p, (uint8_t)(b->precedence + 1));
        x = y ? binary_call(p, b, at, x, y, first) : NULL;
    }
    return x;
}

/* ---- sequences ---------------------------------------------------------------------------------- */

/* A let whose body is still to come; all of a sequence are closed at its end, from the last on. */
static bool push_let(rlx_relay_parser *p, rlx_relay_expr *var, rlx_relay_expr *value, rlx_place place)
{
    rlx_relay_expr *let = rlx_relay_expr_new(p->m, RLX_RELAY_LET, place);
    if (!let)
        return false;
    let->let.var = var;
    let->let.value = value;
    return rlx_relay_list_push(p, let);
}

static bool parse_let(rlx_relay_parser *p)
{
    size_t first = p->at++;
    bool ok;
    if (rlx_relay_kind_at(p) != RLX_RELAY_TOK_LOCAL)
        return rlx_relay_unexpected(p, "a local variable behind let");
    rlx_relay_word *w = rlx_relay_tok_at(p)->word;
    rlx_place place = rlx_relay_here(p);
    advance(p);
    rlx_relay_type *given = parse_annotation(p, &ok);
    rlx_relay_expr *var = ok ? var_new(p, w->text, given, place) : NULL;
    if (!var || !rlx_relay_expect(p, RLX_RELAY_TOK_ASSIGN, "in front of the value"))
        return false;
    /* A function knows its own name; any other value is read as if the name were not there. */
    bool recursive = rlx_relay_kind_at(p) == RLX_RELAY_TOK_FN;
    if (recursive && !rlx_relay_bind_local(p, w, var))
        return false;
    rlx_relay_expr *value = parse_binary(p, 0);
    return value && (recursive || rlx_relay_bind_local(p, w, var)) &&
           push_let(p, var, value, rlx_relay_span(p, first));
}

static bool parse_graph_binding(rlx_relay_parser *p)
{
    int64_t number = rlx_relay_tok_at(p)->i;
    p->at += 2;
    rlx_relay_expr *value = parse_binary(p, 0);
    return value && rlx_ptrmap_put(&p->graph, (void *)(uintptr_t)(number + 1), (uintptr_t)value);
}

static bool parse_free_var(rlx_relay_parser *p)
{
    p->at++;
    bool ok;
    if (rlx_relay_kind_at(p) != RLX_RELAY_TOK_LOCAL)
        return rlx_relay_unexpected(p, "a local variable behind free_var");
    rlx_relay_word *w = rlx_relay_tok_at(p)->word;
    rlx_place place = rlx_relay_here(p);
    advance(p);
    rlx_relay_type *given = parse_annotation(p, &ok);
    rlx_relay_expr *var = ok ? var_new(p, w->text, given, place) : NULL;
    if (!var)
        return false;
    var->var.is_free = true;
    w->local = var; /* for the rest of the text, wherever no scope has that name */
    return true;
}

/* One item of a sequence. *value: what it yields; NULL: nothing, another one must follow. */
static bool parse_item(rlx_relay_parser *p, rlx_relay_expr **value)
{
    *value = NULL;
    switch (rlx_relay_kind_at(p)) {
    case RLX_RELAY_TOK_LET: return parse_let(p);
    case RLX_RELAY_TOK_FREE_VAR: return parse_free_var(p);
    case RLX_RELAY_TOK_GRAPH:
        if (rlx_relay_kind_ahead(p, 1) == RLX_RELAY_TOK_ASSIGN)
            return parse_graph_binding(p);
        break;
    default: break;
    }
    return (*value = parse_binary(p, 0)) != NULL;
}

/* Closes the lets of a sequence around its value. */
static rlx_relay_expr *close_lets(rlx_relay_parser *p, size_t mark, rlx_relay_expr *value)
{
    uint32_t end = rlx_place_begin(value->place) + rlx_place_len(value->place);
    while (p->items.len > mark) {
        rlx_relay_expr *let = rlx_vec_pop(&p->items);
        uint32_t begin = rlx_place_begin(let->place);
        let->let.body = value;
        if (end > begin)
            let->place = rlx_place_make(p->source, begin, end - begin);
        value = let;
    }
    return value;
}

static bool is_sequence_end(uint8_t kind)
{
    return kind == RLX_RELAY_TOK_RBRACE || kind == RLX_RELAY_TOK_RPAR || kind == RLX_RELAY_TOK_END ||
           kind == RLX_RELAY_TOK_METADATA;
}

rlx_relay_expr *rlx_relay_parse_expr(rlx_relay_parser *p)
{
    size_t scope = rlx_relay_scope(p), mark = rlx_relay_list_mark(p);
    rlx_relay_expr *value = NULL, *result = NULL;
    bool ok = rlx_relay_enter(p);
    while (ok && (ok = parse_item(p, &value))) {
        bool more = rlx_relay_accept(p, RLX_RELAY_TOK_SEMICOLON);
        if (value && (!more || is_sequence_end(rlx_relay_kind_at(p)))) {
            result = close_lets(p, mark, value);
            break;
        }
        if (!more) /* a binding has to be followed by something */
            ok = rlx_relay_expect(p, RLX_RELAY_TOK_SEMICOLON, "behind the binding");
        else if (value) {
            rlx_relay_expr *unused = var_new(p, (rlx_slice){ "", 0 }, NULL, value->place);
            ok = unused && push_let(p, unused, value, value->place);
        }
    }
    p->items.len = mark;
    rlx_relay_close_scope(p, scope);
    rlx_relay_leave(p);
    return result;
}

/* ---- modules ------------------------------------------------------------------------------------ */

static bool parse_definition(rlx_relay_parser *p)
{
    size_t first = p->at++;
    if (rlx_relay_kind_at(p) != RLX_RELAY_TOK_GLOBAL)
        return rlx_relay_unexpected(p, "a name such as @main behind def");
    rlx_place place = rlx_relay_here(p);
    rlx_relay_global *g = global_of(p, rlx_relay_tok_at(p)->word, place);
    if (!g)
        return false;
    advance(p);
    bool again = g->is_defined;
    g->is_defined = true;
    if (again) {
        rlx_error(p->ctx, RLX_RY08, place, "@%.*s is defined twice", (int)g->name.len, g->name.data);
        rlx_note(p->ctx, g->place, "the first definition is here");
    }
    rlx_relay_expr *f = parse_function(p, first);
    if (f && !again) {
        g->func = f;
        g->place = place;
        return rlx_vec_push(&p->ctx->memory, &p->m->globals, g);
    }
    return f != NULL;
}

/* To the next definition that begins a line of its own accord. */
static void resync(rlx_relay_parser *p, size_t first)
{
    if (p->at == first)
        advance(p);
    while (rlx_relay_kind_at(p) != RLX_RELAY_TOK_END && rlx_relay_kind_at(p) != RLX_RELAY_TOK_DEF &&
           rlx_relay_kind_at(p) != RLX_RELAY_TOK_TYPE && rlx_relay_kind_at(p) != RLX_RELAY_TOK_EXTERN &&
           rlx_relay_kind_at(p) != RLX_RELAY_TOK_METADATA)
        advance(p);
    p->lost = false;
    p->depth = 0;
    p->items.len = 0;
    p->attr_items.len = 0;
    p->value_items.len = 0;
}

static void parse_version(rlx_relay_parser *p, bool required)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    if (rlx_relay_accept(p, RLX_RELAY_TOK_VERSION)) {
        if (!rlx_slice_is(t->text, "0.0.5"))
            rlx_error(p->ctx, RLX_RY09, rlx_relay_tok_place(p, t),
                      "the version is \"0.0.5\", found %.*s", (int)(t->text.len > 40 ? 40 : t->text.len),
                      t->text.data);
    } else if (required) {
        rlx_error(p->ctx, RLX_RY09, rlx_relay_here(p),
                  "a module begins with its version: put #[version = \"0.0.5\"] in front");
    }
}

static bool is_definition(uint8_t kind)
{
    return kind == RLX_RELAY_TOK_DEF || kind == RLX_RELAY_TOK_TYPE || kind == RLX_RELAY_TOK_EXTERN;
}

static void parse_module(rlx_relay_parser *p)
{
    for (;;) {
        size_t first = p->at, scope = rlx_relay_scope(p);
        uint8_t kind = rlx_relay_kind_at(p);
        bool ok = true;
        if (kind == RLX_RELAY_TOK_END || p->ctx->diags.out_of_memory)
            return;
        if (kind == RLX_RELAY_TOK_DEF)
            ok = parse_definition(p);
        else if (kind == RLX_RELAY_TOK_METADATA)
            advance(p);
        else if (is_definition(kind))
            ok = rlx_relay_parse_definition_of_type(p);
        else
            ok = rlx_relay_unexpected(p, "def, type, extern or the end of the text");
        if (!ok) {
            rlx_relay_close_scope(p, scope);
            resync(p, first);
        }
    }
}

/* Functions that are mentioned and never defined. */
static void check_globals(rlx_relay_parser *p)
{
    for (size_t i = 0; i < p->lexed.count; i++) {
        const rlx_relay_tok *t = &p->toks[i];
        rlx_relay_global *g = t->kind == RLX_RELAY_TOK_GLOBAL ? t->word->global : NULL;
        if (g && !g->is_defined && !g->number) {
            g->number = 1; /* said once */
            rlx_error(p->ctx, RLX_RY05, rlx_relay_tok_place(p, t), "there is no function @%.*s",
                      (int)g->name.len, g->name.data);
        }
    }
}

static void parse_text(rlx_relay_parser *p)
{
    uint8_t kind = p->toks[p->behind_imports].kind;
    bool is_module = is_definition(kind) || kind == RLX_RELAY_TOK_END || kind == RLX_RELAY_TOK_METADATA;
    parse_version(p, is_module);
    p->at = p->behind_imports;
    if (is_module) {
        parse_module(p);
        check_globals(p);
        return;
    }
    p->m->expr = rlx_relay_parse_expr(p);
    if (p->m->expr && !rlx_relay_accept(p, RLX_RELAY_TOK_METADATA) &&
        rlx_relay_kind_at(p) != RLX_RELAY_TOK_END)
        rlx_relay_unexpected(p, "the end of the expression");
}

static bool parse_source(rlx_relay_module *m, uint32_t source);

/* What the prelude defines belongs to nobody who prints the module. */
static bool import_prelude(rlx_relay_module *m)
{
    if (m->has_prelude)
        return true;
    m->has_prelude = true;
    uint32_t source = rlx_diags_add_read_source(&m->ctx->diags, RLX_SLICE("prelude.rly"), rlx_relay_prelude,
                                                rlx_relay_prelude_len);
    if (!source || !parse_source(m, source))
        return false;
    for (size_t i = 0; i < m->adts.len; i++)
        m->adts.data[i]->is_prelude = true;
    for (size_t i = 0; i < m->globals.len; i++)
        m->globals.data[i]->is_prelude = true;
    return true;
}

static bool at_import(const rlx_relay_parser *p)
{
    const rlx_relay_tok *t = rlx_relay_tok_at(p);
    return t->kind == RLX_RELAY_TOK_NAME && rlx_slice_is(t->word->text, "import") &&
           (rlx_relay_kind_ahead(p, 1) == RLX_RELAY_TOK_STRING ||
            rlx_relay_kind_ahead(p, 1) == RLX_RELAY_TOK_NAME);
}

/* import "prelude.rly", behind the version; there is nothing else to be imported. */
static bool parse_imports(rlx_relay_parser *p)
{
    bool ok = true;
    size_t first = p->at;
    if (rlx_relay_kind_at(p) == RLX_RELAY_TOK_VERSION)
        p->at++;
    for (; ok && at_import(p); rlx_relay_accept(p, RLX_RELAY_TOK_SEMICOLON)) {
        const rlx_relay_tok *t = &p->toks[p->at + 1];
        rlx_slice name = t->kind == RLX_RELAY_TOK_STRING ? t->text : t->word->text;
        if (rlx_slice_is(name, "prelude.rly") || rlx_slice_is(name, "prelude"))
            ok = import_prelude(p->m);
        else
            rlx_error(p->ctx, RLX_RY05, rlx_relay_tok_place(p, t),
                      "only \"prelude.rly\" can be imported, found %.*s",
                      (int)(name.len > 40 ? 40 : name.len), name.data);
        p->at += 2;
    }
    p->behind_imports = p->at;
    p->at = first;
    return ok;
}

static bool begin_source(rlx_relay_parser *p, rlx_relay_module *m, uint32_t source)
{
    *p = (rlx_relay_parser){ .m = m, .ctx = m->ctx, .source = source };
    rlx_region_init(&p->scratch, &m->ctx->memory);
    rlx_ptrmap_init(&p->graph, &m->ctx->memory);
    if (!rlx_relay_lex(m, source, &p->scratch, &p->lexed))
        return false;
    p->toks = p->lexed.items;
    return true;
}

static void end_source(rlx_relay_parser *p)
{
    rlx_memory *memory = &p->ctx->memory;
    rlx_vec_free(memory, &p->hidden);
    rlx_vec_free(memory, &p->items);
    rlx_vec_free(memory, &p->attr_items);
    rlx_vec_free(memory, &p->value_items);
    rlx_ptrmap_free(&p->graph);
    rlx_region_drop(&p->scratch);
}

static bool parse_source(rlx_relay_module *m, uint32_t source)
{
    size_t errors = rlx_error_count(m->ctx);
    rlx_relay_parser p;
    if (begin_source(&p, m, source) && parse_imports(&p) && rlx_relay_declare_types(&p))
        parse_text(&p);
    end_source(&p);
    return rlx_error_count(m->ctx) == errors;
}

rlx_relay_type *rlx_relay_parse_type_text(rlx_relay_module *m, uint32_t source)
{
    rlx_relay_parser p;
    rlx_relay_type *t = begin_source(&p, m, source) ? rlx_relay_parse_type(&p) : NULL;
    if (t && rlx_relay_kind_at(&p) != RLX_RELAY_TOK_END)
        t = rlx_relay_unexpected(&p, "the end of the type") ? t : NULL;
    end_source(&p);
    return t;
}

rlx_relay_module *rlx_relay_parse(rlx_context *ctx, uint32_t source)
{
    rlx_memory *memory = &ctx->memory;
    rlx_relay_module *m = rlx_mem_alloc_zero(memory, sizeof *m);
    if (!m)
        return NULL;
    m->ctx = ctx;
    m->source = source;
    rlx_region_init(&m->region, memory);
    rlx_intern_init(&m->words, memory);
    if (parse_source(m, source))
        return m;
    rlx_relay_free(m);
    return NULL;
}

void rlx_relay_free(rlx_relay_module *m)
{
    if (!m)
        return;
    rlx_memory *memory = &m->ctx->memory;
    rlx_vec_free(memory, &m->globals);
    rlx_vec_free(memory, &m->adts);
    rlx_intern_free(&m->words);
    rlx_region_drop(&m->region);
    rlx_mem_free(memory, m, sizeof *m);
}

rlx_relay_word *rlx_relay_word_of(rlx_relay_module *m, rlx_slice text)
{
    uint64_t hash = rlx_hash_bytes(text.data, text.len);
    size_t at;
    rlx_relay_word *w = rlx_intern_first(&m->words, hash, &at);
    while (w && !rlx_slice_equal(w->text, text))
        w = rlx_intern_next(&m->words, hash, &at);
    if (w)
        return w;
    w = rlx_region_zero(&m->region, sizeof *w);
    char *copy = w ? rlx_region_copy(&m->region, text.len ? text.data : "", text.len) : NULL;
    if (!copy)
        return NULL;
    w->text = (rlx_slice){ copy, text.len };
    return rlx_intern_add(&m->words, hash, w) ? w : NULL;
}
