/* parse_expr.c: Python expressions to trees, from tokens. */
#include "script/parser_int.h"

/* Binding strength of the binary operators, weakest 1. Comparisons and `and`, `or` are left
 * folds like the others. */
enum {
    P_OR = 1, P_AND, P_NOT, P_COMPARE, P_BITOR, P_XOR, P_BITAND, P_SHIFT, P_SUM, P_PRODUCT, P_UNARY
};
static const uint8_t strength[RLX_TOK_COUNT] = {
    [RLX_TOK_OR] = P_OR,           [RLX_TOK_AND] = P_AND,          [RLX_TOK_LT] = P_COMPARE,
    [RLX_TOK_LE] = P_COMPARE,      [RLX_TOK_GT] = P_COMPARE,       [RLX_TOK_GE] = P_COMPARE,
    [RLX_TOK_EQ] = P_COMPARE,      [RLX_TOK_NE] = P_COMPARE,       [RLX_TOK_PIPE] = P_BITOR,
    [RLX_TOK_CARET] = P_XOR,       [RLX_TOK_AMPERSAND] = P_BITAND, [RLX_TOK_SHL] = P_SHIFT,
    [RLX_TOK_SHR] = P_SHIFT,       [RLX_TOK_PLUS] = P_SUM,         [RLX_TOK_MINUS] = P_SUM,
    [RLX_TOK_STAR] = P_PRODUCT,    [RLX_TOK_SLASH] = P_PRODUCT,    [RLX_TOK_DSLASH] = P_PRODUCT,
    [RLX_TOK_PERCENT] = P_PRODUCT, [RLX_TOK_AT] = P_PRODUCT,
};

static rlx_ast *finish(rlx_parser *p, rlx_ast *a)
{
    if (a)
        a->end = p->lexer.prev_end;
    return a;
}

/* Chains are parsed in a loop, but what they stand for may nest: everything that holds a part
 * is higher than it by `step`. */
static inline void holds(rlx_ast *a, const rlx_ast *part, unsigned step)
{
    if (a && part && part->height + step > a->height)
        a->height = (uint16_t)(part->height + step);
}

static rlx_ast *finish_nest(rlx_parser *p, rlx_ast *a)
{
    if (finish(p, a) && a->height > RLX_SCRIPT_MAX_BRACKETS) {
        rlx_parser_report(p, RLX_PA09, a->begin, a->end, "expression is nested deeper than %d",
                          RLX_SCRIPT_MAX_BRACKETS);
        return NULL;
    }
    return a;
}

void rlx_parser_report(rlx_parser *p, enum rlx_code_id code, uint32_t begin, uint32_t end,
                       const char *format, ...)
{
    if (p->lexer.reported)
        return;
    va_list args;
    va_start(args, format);
    rlx_verror(p->ctx, code, rlx_lexer_place(&p->lexer, begin, end), format, args);
    va_end(args);
    p->lexer.reported = true;
}

/* Is the bracket opened last the likely culprit? It is when the line after it starts a
 * statement of its own. */
static bool report_open(rlx_parser *p)
{
    const rlx_lexer *lx = &p->lexer;
    if (!lx->depth || !lx->tok.first || lx->single)
        return false;
    uint32_t top = lx->indents[lx->num_indents - 1];
    if (lx->tok.begin - lx->line > top)
        return false;
    uint32_t at = lx->open[lx->depth - 1];
    rlx_parser_report(p, RLX_PA03, at, at + 1, "'%c' is never closed", lx->text[at]);
    return true;
}

/* && and || of C: the second character does not fit. */
static bool is_doubled(const rlx_parser *p, char c)
{
    uint32_t at = p->lexer.tok.begin;
    return at && p->lexer.text[at] == c && p->lexer.text[at - 1] == c;
}

void *rlx_parser_expected(rlx_parser *p, const char *what)
{
    const rlx_tok *t = &p->lexer.tok;
    if (p->lexer.reported || t->kind == RLX_TOK_ERROR || report_open(p)) {
        p->lexer.reported = true;
        return NULL;
    }
    if (t->kind == RLX_TOK_NAME)
        rlx_parser_report(p, RLX_PA04, t->begin, t->end, "expected %s but found '%.60s'", what,
                          t->name->text->data);
    else
        rlx_parser_report(p, RLX_PA04, t->begin, t->end, "expected %s but found %s%s", what,
                          rlx_tok_text(t->kind),
                          t->kind == RLX_TOK_DSLASH ? ": a comment begins with #"
                          : t->kind == RLX_TOK_FOR  ? ": lists are written out, comprehensions are not "
                                                      "read"
                          : is_doubled(p, '&')      ? ": write and"
                          : is_doubled(p, '|')      ? ": write or"
                                                    : "");
    return NULL;
}

bool rlx_parser_need(rlx_parser *p, uint8_t kind)
{
    if (rlx_parser_take(p, kind))
        return true;
    rlx_parser_expected(p, rlx_tok_text(kind));
    return false;
}

/* ---- recursion ------------------------------------------------------------------------------ */

/* Every recursion of the grammar passes here, so its depth is bounded whatever the text. */
static bool deeper(rlx_parser *p)
{
    if (p->depth < RLX_SCRIPT_MAX_BRACKETS) {
        p->depth++;
        return true;
    }
    rlx_parser_report(p, RLX_PA09, p->lexer.tok.begin, p->lexer.tok.end,
                      "expression is nested deeper than %d", RLX_SCRIPT_MAX_BRACKETS);
    return false;
}

/* ---- atoms ---------------------------------------------------------------------------------- */

bool rlx_short_number(const char *digits, size_t len, uint64_t *out)
{
    uint64_t v = 0;
    if (len > 8 || (digits[0] == '0' && len > 1))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(digits[i] - '0');
    }
    return *out = v, true;
}

static rlx_ast *parse_int(rlx_parser *p)
{
    rlx_tok t = p->lexer.tok;
    bool overflow = false;
    uint64_t v = 0;
    if (!rlx_short_number(p->lexer.text + t.begin, t.end - t.begin, &v) &&
        !rlx_parse_u64((rlx_slice){ p->lexer.text + t.begin, t.end - t.begin }, &v, &overflow)) {
        rlx_parser_report(p, RLX_PA05, t.begin, t.end, "'%.*s' is not a number",
                          (int)(t.end - t.begin > 60 ? 60 : t.end - t.begin),
                          p->lexer.text + t.begin);
        return NULL;
    }
    rlx_lexer_next(&p->lexer);
    rlx_ast *a = rlx_ast_new(p, RLX_AST_INT, t.begin);
    if (a) {
        a->integer = v;
        a->op = overflow ? 2 : v > INT64_MAX ? 1 : 0;
    }
    return finish(p, a);
}

static rlx_ast *parse_float(rlx_parser *p)
{
    rlx_tok t = p->lexer.tok;
    double v = 0;
    if (!rlx_parse_double((rlx_slice){ p->lexer.text + t.begin, t.end - t.begin }, &v)) {
        rlx_parser_report(p, RLX_PA05, t.begin, t.end, "'%.*s' is not a number",
                          (int)(t.end - t.begin > 60 ? 60 : t.end - t.begin),
                          p->lexer.text + t.begin);
        return NULL;
    }
    rlx_lexer_next(&p->lexer);
    rlx_ast *a = rlx_ast_new(p, RLX_AST_FLOAT, t.begin);
    if (a)
        a->number = v;
    return finish(p, a);
}

static rlx_ast *parse_strings(rlx_parser *p)
{
    rlx_tok t = p->lexer.tok;
    const char *text = p->lexer.text;
    rlx_ast *a = rlx_ast_new(p, RLX_AST_STRING, t.begin);
    if (!a)
        return NULL;
    rlx_lexer_next(&p->lexer);
    if (t.plain && p->lexer.tok.kind != RLX_TOK_STRING) {
        a->string = (rlx_slice){ text + t.begin + 1, t.end - t.begin - 2 };
        a->op = 1;
        return finish(p, a);
    }
    rlx_buf b;
    rlx_buf_init(&b, &p->ctx->memory);
    bool ok = rlx_parse_string(p, &t, &b);
    while (ok && p->lexer.tok.kind == RLX_TOK_STRING) {
        t = p->lexer.tok;
        rlx_lexer_next(&p->lexer);
        ok = rlx_parse_string(p, &t, &b);
    }
    char *copy = ok && !b.failed ? rlx_region_copy(&p->region, b.len ? b.data : "", b.len) : NULL;
    a->string = (rlx_slice){ copy, b.len };
    rlx_buf_free(&b);
    return copy ? finish(p, a) : NULL;
}

/* ---- text that is known --------------------------------------------------------------------- */

rlx_ast *rlx_parser_skip(rlx_parser *p, rlx_ast *known, uint32_t end)
{
    if (!known)
        return NULL;
    p->lexer.tok = (rlx_tok){ .kind = RLX_TOK_NAME, .begin = known->begin, .end = end };
    p->lexer.pos = end;
    rlx_lexer_next(&p->lexer);
    return known;
}

rlx_ast *rlx_known_item(rlx_parser *p, uint32_t begin, uint32_t name_end, uint32_t *end)
{
    const char *text = p->lexer.text, *after = text + name_end;
    if (after[0] != '.' || after[1] < 'A' || after[1] > 'Z' || !p->in_assignment ||
        !p->recall.reader)
        return NULL;
    *end = rlx_lexer_group_end(&p->lexer, name_end);
    char next = text[*end];
    return next == ',' || next == ')' || next == ']' ? rlx_recall_annotation(p, begin, *end) : NULL;
}

static rlx_ast *known_item(rlx_parser *p)
{
    const rlx_tok *t = &p->lexer.tok;
    uint32_t end = 0;
    rlx_ast *known =
        t->kind == RLX_TOK_NAME ? rlx_known_item(p, t->begin, t->end, &end) : NULL;
    return rlx_parser_skip(p, known, end);
}

rlx_ast *rlx_known_keywords(rlx_parser *p, rlx_ast *call, uint32_t begin, uint32_t name_end,
                            uint32_t *end)
{
    enum { LONGEST = 256 };
    const char *text = p->lexer.text;
    if (text[name_end] != '=' || !p->in_assignment || !p->recall.reader ||
        call->kind != RLX_AST_CALL || call->op)
        return NULL;
    uint32_t left = p->lexer.len - name_end;
    const char *close = memchr(text + name_end, ')', left < LONGEST ? left : LONGEST);
    *end = close ? (uint32_t)(close - text) : 0;
    call->op = close != NULL;
    return close ? p->recall.keywords(p->recall.reader, call, begin, *end) : NULL;
}

static rlx_ast *known_keywords(rlx_parser *p, rlx_ast *call)
{
    const rlx_tok *t = &p->lexer.tok;
    uint32_t end = 0;
    rlx_ast *known =
        t->kind == RLX_TOK_NAME ? rlx_known_keywords(p, call, t->begin, t->end, &end) : NULL;
    return rlx_parser_skip(p, known, end);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static rlx_ast *parse_slice(rlx_parser *p);

/* Items up to `close`, which is passed over. comma: was there one? */
static bool parse_items(rlx_parser *p, rlx_ast *into, rlx_ast *(*item)(rlx_parser *),
                        uint8_t close, bool *comma)
{
    rlx_ast **tail = &into->first;
    while (*tail)
        tail = &(*tail)->next;
    while (p->lexer.tok.kind != close) {
        rlx_ast *a = known_keywords(p, into);
        if (!a && !(a = item(p)))
            return false;
        *tail = a;
        tail = &a->next;
        into->count++;
        holds(into, a, 1);
        if (p->lexer.tok.kind == close)
            break;
        if (p->lexer.tok.kind != RLX_TOK_COMMA)
            return rlx_parser_expected(p, close == RLX_TOK_RPAR       ? "',' or ')'"
                                          : close == RLX_TOK_RBRACKET ? "',' or ']'"
                                                                      : "',' or '}'"),
                   false;
        rlx_lexer_next(&p->lexer);
        *comma = true;
    }
    rlx_lexer_next(&p->lexer);
    return true;
}

static rlx_ast *parse_item(rlx_parser *p)
{
    rlx_ast *known = known_item(p);
    if (known)
        return known;
    if (p->lexer.tok.kind != RLX_TOK_STAR)
        return rlx_parse_expr(p);
    rlx_ast *a = rlx_ast_new(p, RLX_AST_STAR, p->lexer.tok.begin);
    rlx_lexer_next(&p->lexer);
    if (!a || !(a->base = rlx_parse_expr(p)))
        return NULL;
    holds(a, a->base, 1);
    return finish(p, a);
}

static rlx_ast *parse_paren(rlx_parser *p)
{
    rlx_ast *a = rlx_ast_new(p, RLX_AST_TUPLE, p->lexer.tok.begin);
    bool comma = false;
    rlx_lexer_next(&p->lexer);
    if (!a || !parse_items(p, a, parse_item, RLX_TOK_RPAR, &comma))
        return NULL;
    if (a->count == 1 && !comma && a->first->kind != RLX_AST_STAR)
        return a->first;
    return finish_nest(p, a);
}

static rlx_ast *parse_list(rlx_parser *p)
{
    rlx_ast *a = rlx_ast_new(p, RLX_AST_LIST, p->lexer.tok.begin);
    bool comma = false;
    rlx_lexer_next(&p->lexer);
    if (!a || !parse_items(p, a, parse_item, RLX_TOK_RBRACKET, &comma))
        return NULL;
    return finish_nest(p, a);
}

/* key: value, as two siblings */
static rlx_ast *parse_dict(rlx_parser *p)
{
    rlx_ast *a = rlx_ast_new(p, RLX_AST_DICT, p->lexer.tok.begin);
    rlx_lexer_next(&p->lexer);
    rlx_ast **tail = a ? &a->first : NULL;
    while (a && p->lexer.tok.kind != RLX_TOK_RBRACE) {
        rlx_ast *key = rlx_parse_expr(p);
        if (!key || !rlx_parser_need(p, RLX_TOK_COLON))
            return NULL;
        rlx_ast *value = rlx_parse_expr(p);
        if (!value)
            return NULL;
        holds(a, key, 1);
        holds(a, value, 1);
        *tail = key;
        key->next = value;
        tail = &value->next;
        a->count += 2;
        if (!rlx_parser_take(p, RLX_TOK_COMMA) && p->lexer.tok.kind != RLX_TOK_RBRACE)
            return rlx_parser_expected(p, "',' or '}'");
    }
    if (!a)
        return NULL;
    rlx_lexer_next(&p->lexer);
    return finish_nest(p, a);
}

static rlx_ast *parse_atom(rlx_parser *p)
{
    const rlx_tok *t = &p->lexer.tok;
    rlx_ast *a;
    switch (t->kind) {
    case RLX_TOK_NAME:
        a = rlx_ast_new(p, RLX_AST_NAME, t->begin);
        if (!a)
            return NULL;
        a->name = t->name;
        a->end = t->end;
        rlx_lexer_next(&p->lexer);
        return a;
    case RLX_TOK_INT: return parse_int(p);
    case RLX_TOK_FLOAT: return parse_float(p);
    case RLX_TOK_STRING: return parse_strings(p);
    case RLX_TOK_LPAR: return parse_paren(p);
    case RLX_TOK_LBRACKET: return parse_list(p);
    case RLX_TOK_LBRACE: return parse_dict(p);
    case RLX_TOK_NONE: case RLX_TOK_TRUE: case RLX_TOK_FALSE:
        a = rlx_ast_new(p,
                        t->kind == RLX_TOK_NONE   ? RLX_AST_NONE
                        : t->kind == RLX_TOK_TRUE ? RLX_AST_TRUE
                                                  : RLX_AST_FALSE,
                        t->begin);
        rlx_lexer_next(&p->lexer);
        return finish(p, a);
    default: return rlx_parser_expected(p, "an expression");
    }
}

/* ---- after an atom -------------------------------------------------------------------------- */

static rlx_ast *parse_argument(rlx_parser *p)
{
    rlx_ast *a = parse_item(p);
    if (!a || p->lexer.tok.kind != RLX_TOK_ASSIGN || a->kind != RLX_AST_NAME)
        return a;
    rlx_lexer_next(&p->lexer);
    rlx_ast *value = known_item(p);
    if (!value && !(value = rlx_parse_expr(p)))
        return NULL;
    a->kind = RLX_AST_KEYWORD;
    a->base = value;
    holds(a, value, 0);
    return finish(p, a);
}

static rlx_ast *absent(rlx_parser *p)
{
    rlx_ast *a = rlx_ast_new(p, RLX_AST_NONE, p->lexer.tok.begin);
    if (a)
        a->end = a->begin;
    return a;
}

static bool ends_part(uint8_t kind)
{
    return kind == RLX_TOK_COLON || kind == RLX_TOK_COMMA || kind == RLX_TOK_RBRACKET;
}

static rlx_ast *parse_slice(rlx_parser *p)
{
    rlx_ast *start = p->lexer.tok.kind == RLX_TOK_COLON ? absent(p) : parse_item(p);
    if (!start || p->lexer.tok.kind != RLX_TOK_COLON)
        return start;
    rlx_ast *a = rlx_ast_new(p, RLX_AST_SLICE, start->begin);
    rlx_lexer_next(&p->lexer);
    rlx_ast *stop = ends_part(p->lexer.tok.kind) ? absent(p) : rlx_parse_expr(p);
    rlx_ast *step = stop && rlx_parser_take(p, RLX_TOK_COLON) && !ends_part(p->lexer.tok.kind)
                        ? rlx_parse_expr(p)
                    : stop ? absent(p)
                           : NULL;
    if (!a || !stop || !step)
        return NULL;
    a->first = start;
    start->next = stop;
    stop->next = step;
    a->count = 3;
    holds(a, start, 1);
    holds(a, stop, 1);
    holds(a, step, 1);
    return finish(p, a);
}

static rlx_ast *parse_postfix(rlx_parser *p)
{
    rlx_ast *a = parse_atom(p);
    for (uint32_t chain = 0; a; chain++) {
        uint8_t kind = p->lexer.tok.kind;
        if (kind != RLX_TOK_DOT && kind != RLX_TOK_LPAR && kind != RLX_TOK_LBRACKET)
            return a;
        if (chain == RLX_SCRIPT_MAX_BRACKETS) {
            rlx_parser_report(p, RLX_PA09, p->lexer.tok.begin, p->lexer.tok.end,
                              "more than %d accesses in a row", RLX_SCRIPT_MAX_BRACKETS);
            return NULL;
        }
        rlx_ast *outer = rlx_ast_new(p,
                                     kind == RLX_TOK_DOT    ? RLX_AST_ATTR
                                     : kind == RLX_TOK_LPAR ? RLX_AST_CALL
                                                            : RLX_AST_INDEX,
                                     a->begin);
        rlx_lexer_next(&p->lexer);
        if (!outer)
            return NULL;
        outer->base = a;
        holds(outer, a, 0);
        bool comma = false;
        if (kind == RLX_TOK_DOT) {
            if (!p->lexer.tok.name) /* keywords are fine here: T.While is none, x.is_in may be */
                return rlx_parser_expected(p, "a name after '.'");
            outer->name = p->lexer.tok.name;
            rlx_lexer_next(&p->lexer);
        } else if (!parse_items(p, outer, kind == RLX_TOK_LPAR ? parse_argument : parse_slice,
                                kind == RLX_TOK_LPAR ? RLX_TOK_RPAR : RLX_TOK_RBRACKET, &comma)) {
            return NULL;
        }
        if (kind == RLX_TOK_LBRACKET && !outer->count)
            return rlx_parser_expected(p, "an index in the brackets before this");
        if (kind == RLX_TOK_LBRACKET)
            outer->op = comma;
        a = finish_nest(p, outer);
    }
    return NULL;
}

/* ---- operators ------------------------------------------------------------------------------ */

static rlx_ast *parse_binary(rlx_parser *p, uint8_t least);

static rlx_ast *make_binary(rlx_parser *p, uint8_t op, rlx_ast *left, rlx_ast *right)
{
    rlx_ast *a = left && right ? rlx_ast_new(p, RLX_AST_BINARY, left->begin) : NULL;
    if (!a)
        return NULL;
    a->op = op;
    a->base = left;
    a->first = right;
    holds(a, left, strength[op] == P_SUM || strength[op] == P_PRODUCT ? 0 : 1);
    holds(a, right, 1);
    return finish_nest(p, a);
}

static rlx_ast *parse_unary(rlx_parser *p)
{
    uint8_t op = p->lexer.tok.kind;
    if (op != RLX_TOK_MINUS && op != RLX_TOK_PLUS && op != RLX_TOK_TILDE && op != RLX_TOK_NOT) {
        rlx_ast *a = parse_postfix(p);
        if (!a || p->lexer.tok.kind != RLX_TOK_POWER || !deeper(p))
            return a && p->lexer.tok.kind != RLX_TOK_POWER ? a : NULL;
        rlx_lexer_next(&p->lexer);
        a = make_binary(p, RLX_TOK_POWER, a, parse_unary(p));
        p->depth--;
        return a;
    }
    if (!deeper(p))
        return NULL;
    rlx_ast *a = rlx_ast_new(p, RLX_AST_UNARY, p->lexer.tok.begin);
    rlx_lexer_next(&p->lexer);
    rlx_ast *operand = op == RLX_TOK_NOT ? parse_binary(p, P_COMPARE) : parse_unary(p);
    p->depth--;
    if (!a || !operand)
        return NULL;
    a->op = op;
    a->base = operand;
    holds(a, operand, 1);
    return finish_nest(p, a);
}

static rlx_ast *parse_binary(rlx_parser *p, uint8_t least)
{
    rlx_ast *left = parse_unary(p);
    while (left) {
        uint8_t op = p->lexer.tok.kind;
        if (op == RLX_TOK_IS || op == RLX_TOK_IN) {
            rlx_parser_report(p, RLX_PA16, p->lexer.tok.begin, p->lexer.tok.end,
                              "%s is not supported in an expression", rlx_tok_text(op));
            return NULL;
        }
        if (!strength[op] || strength[op] < least)
            return left;
        rlx_lexer_next(&p->lexer);
        left = make_binary(p, op, left, parse_binary(p, strength[op] + 1));
    }
    return NULL;
}

static rlx_ast *parse_lambda(rlx_parser *p)
{
    rlx_ast *a = rlx_ast_new(p, RLX_AST_LAMBDA, p->lexer.tok.begin);
    rlx_lexer_next(&p->lexer);
    rlx_ast *params = NULL, **tail = &params;
    uint32_t count = 0;
    while (p->lexer.tok.kind == RLX_TOK_NAME) {
        rlx_ast *param = parse_atom(p);
        if (!param)
            return NULL;
        *tail = param;
        tail = &param->next;
        count++;
        if (!rlx_parser_take(p, RLX_TOK_COMMA))
            break;
    }
    if (!a || !rlx_parser_need(p, RLX_TOK_COLON) || !(a->base = rlx_parse_expr(p)))
        return NULL;
    a->first = params;
    a->count = count;
    holds(a, a->base, 1);
    return finish_nest(p, a);
}

static rlx_ast *parse_choice(rlx_parser *p, rlx_ast *value)
{
    rlx_ast *a = rlx_ast_new(p, RLX_AST_CHOICE, value->begin);
    rlx_lexer_next(&p->lexer);
    rlx_ast *cond = parse_binary(p, P_OR);
    if (!a || !cond || !rlx_parser_need(p, RLX_TOK_ELSE))
        return NULL;
    rlx_ast *other = rlx_parse_expr(p);
    if (!other)
        return NULL;
    a->first = cond;
    cond->next = value;
    value->next = other;
    a->count = 3;
    holds(a, cond, 1);
    holds(a, value, 1);
    holds(a, other, 1);
    return finish_nest(p, a);
}

/* Most arguments are a name or a literal alone: the character after it tells. */
static bool is_alone(const rlx_lexer *lx)
{
    uint8_t kind = lx->tok.kind;
    if (kind != RLX_TOK_NAME && kind != RLX_TOK_INT && kind != RLX_TOK_STRING &&
        kind != RLX_TOK_FLOAT)
        return false;
    char next = lx->tok.end < lx->len ? lx->text[lx->tok.end] : ' ';
    return next == ',' || next == ')' || next == ']' || next == ':';
}

rlx_ast *rlx_parse_expr(rlx_parser *p)
{
    if (is_alone(&p->lexer))
        return parse_atom(p);
    if (!deeper(p))
        return NULL;
    rlx_ast *a = p->lexer.tok.kind == RLX_TOK_LAMBDA ? parse_lambda(p) : parse_binary(p, P_OR);
    if (a && p->lexer.tok.kind == RLX_TOK_IF)
        a = parse_choice(p, a);
    p->depth--;
    return a;
}

rlx_ast *rlx_parse_expr_list(rlx_parser *p)
{
    rlx_ast *a = parse_item(p);
    if (!a || (p->lexer.tok.kind != RLX_TOK_COMMA && a->kind != RLX_AST_STAR))
        return a;
    rlx_ast *tuple = rlx_ast_new(p, RLX_AST_TUPLE, a->begin);
    if (!tuple)
        return NULL;
    rlx_ast **tail = &tuple->first;
    for (;;) {
        *tail = a;
        tail = &a->next;
        tuple->count++;
        if (!rlx_parser_take(p, RLX_TOK_COMMA))
            break;
        uint8_t kind = p->lexer.tok.kind;
        if (kind == RLX_TOK_NEWLINE || kind == RLX_TOK_ASSIGN || kind == RLX_TOK_END ||
            kind == RLX_TOK_SEMICOLON || kind == RLX_TOK_IN)
            break;
        if (!(a = parse_item(p)))
            return NULL;
    }
    return finish(p, tuple);
}

rlx_ast *rlx_parse_single(rlx_parser *p)
{
    rlx_ast *a = rlx_parse_expr_list(p);
    if (a && p->lexer.tok.kind != RLX_TOK_END)
        return rlx_parser_expected(p, "the end of the expression");
    return a;
}
