/*- parse_plain.c: expressions of the usual form straight from the characters, without tokens:
 *
 *     R.reshape(x, R.shape([n + 2, 4]))     R.sum(lv0, axis=[-1], keepdims=True)     lv1[0]
 *
 * Names, calls, one index, plain strings, short numbers, lists, tuples, one operator between two
 * of these; one line, at most one blank behind a comma. The trees are those that the parser of
 * tokens makes of the same text. Whatever else there is, a mistake above all, is left to that
 * parser from the beginning, so that nothing is reported here.
 *
 * Worth: without this file reading 20,000 bindings (bench/gen_module.py big) takes 9,900
 * instructions for a binding instead of 9,000 (callgrind).
 *
 * Heights are not set: these trees are flat, and no other tree holds one. */
#include "script/parser_int.h"

/* Brackets in brackets, dots in a row. */
enum { DEEPEST = 8 };

typedef struct plain {
    rlx_parser *p;
    const char *text;
    uint32_t at;
    unsigned depth;
} plain;

static rlx_ast *parse_plain_item(plain *s);

static rlx_ast *finish(const plain *s, rlx_ast *a)
{
    if (a)
        a->end = s->at;
    return a;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- leaves --------------------------------------------------------------------------------- */

static rlx_ast *number(plain *s)
{
    uint32_t begin = s->at, end = begin;
    uint64_t v = 0;
    while (is_digit(s->text[end]))
        end++;
    bool point = s->text[end] == '.' && is_digit(s->text[end + 1]);
    if (point)
        for (end++; is_digit(s->text[end]);)
            end++;
    rlx_slice digits = { s->text + begin, end - begin };
    double d = 0;
    if (point ? !rlx_parse_double(digits, &d) : !rlx_short_number(digits.data, digits.len, &v))
        return NULL;
    rlx_ast *a = rlx_ast_new(s->p, point ? RLX_AST_FLOAT : RLX_AST_INT, begin);
    if (a && point)
        a->number = d;
    else if (a)
        a->integer = v;
    s->at = end;
    return finish(s, a);
}

static rlx_ast *negative(plain *s)
{
    uint32_t begin = s->at++;
    rlx_ast *operand = is_digit(s->text[s->at]) ? number(s) : NULL;
    rlx_ast *a = operand ? rlx_ast_new(s->p, RLX_AST_UNARY, begin) : NULL;
    if (!a)
        return NULL;
    a->op = RLX_TOK_MINUS;
    a->base = operand;
    return finish(s, a);
}

static rlx_ast *string(plain *s)
{
    uint32_t begin = s->at, end = rlx_lexer_plain_string(&s->p->lexer, begin);
    rlx_ast *a = end ? rlx_ast_new(s->p, RLX_AST_STRING, begin) : NULL;
    if (!a)
        return NULL;
    a->string = (rlx_slice){ s->text + begin + 1, end - begin - 2 };
    a->op = 1;
    s->at = end;
    return finish(s, a);
}

/* None, True or False. */
static rlx_ast *literal_name(plain *s, uint32_t begin, uint8_t keyword)
{
    switch (keyword) {
    case RLX_TOK_NONE: return finish(s, rlx_ast_new(s->p, RLX_AST_NONE, begin));
    case RLX_TOK_TRUE: return finish(s, rlx_ast_new(s->p, RLX_AST_TRUE, begin));
    case RLX_TOK_FALSE: return finish(s, rlx_ast_new(s->p, RLX_AST_FALSE, begin));
    default: return NULL;
    }
}

static rlx_ast *name(plain *s)
{
    uint32_t begin = s->at;
    rlx_word *w = rlx_lexer_word(&s->p->lexer, begin, &s->at);
    if (!w || w->keyword)
        return w ? literal_name(s, begin, w->keyword) : NULL;
    rlx_ast *a = rlx_ast_new(s->p, RLX_AST_NAME, begin);
    if (a)
        a->name = w;
    return finish(s, a);
}

/* ---- brackets ------------------------------------------------------------------------------- */

/* R.Tensor(...) and its like are looked up first. */
static rlx_ast *known_or_item(plain *s)
{
    const char *at = s->text + s->at;
    uint32_t end = 0;
    rlx_ast *known = at[0] >= 'A' && at[0] <= 'Z' && at[1] == '.'
                         ? rlx_known_item(s->p, s->at, s->at + 1, &end)
                         : NULL;
    if (!known)
        return parse_plain_item(s);
    s->at = end;
    return known;
}

/* Behind the name of a keyword of a call. */
static rlx_ast *keyword(plain *s, rlx_ast *a)
{
    s->at++;
    rlx_ast *value = known_or_item(s);
    if (!value)
        return NULL;
    a->kind = RLX_AST_KEYWORD;
    a->base = value;
    return finish(s, a);
}

static rlx_ast *argument(plain *s, rlx_ast *into)
{
    rlx_ast *a = known_or_item(s);
    if (!a || s->text[s->at] != '=')
        return a;
    if (into->kind != RLX_AST_CALL || a->kind != RLX_AST_NAME || s->text[s->at + 1] == '=')
        return NULL;
    uint32_t end = 0;
    rlx_ast *known = rlx_known_keywords(s->p, into, a->begin, a->end, &end);
    if (!known)
        return keyword(s, a);
    s->at = end;
    return known;
}

/* The items in brackets, up to and with `close`. */
static rlx_ast *items(plain *s, rlx_ast *into, char close, bool *comma)
{
    rlx_ast **tail = &into->first;
    s->at++;
    if (s->depth++ == DEEPEST)
        return NULL;
    while (s->text[s->at] != close) {
        rlx_ast *a = argument(s, into);
        if (!a)
            return NULL;
        *tail = a;
        tail = &a->next;
        into->count++;
        if (s->text[s->at] == close)
            break;
        if (s->text[s->at] != ',')
            return NULL;
        s->at += 1 + (s->text[s->at + 1] == ' ');
        *comma = true;
    }
    s->at++;
    s->depth--;
    return finish(s, into);
}

static rlx_ast *list(plain *s, uint8_t kind, char close)
{
    rlx_ast *a = rlx_ast_new(s->p, kind, s->at);
    bool comma = false;
    if (!a || !items(s, a, close, &comma))
        return NULL;
    return kind == RLX_AST_TUPLE && a->count == 1 && !comma ? NULL : a;
}

/* ---- what follows a name -------------------------------------------------------------------- */

static rlx_ast *outer(plain *s, uint8_t kind, rlx_ast *base)
{
    rlx_ast *a = rlx_ast_new(s->p, kind, base->begin);
    if (a)
        a->base = base;
    return a;
}

static rlx_ast *dotted(plain *s)
{
    rlx_ast *a = name(s);
    for (unsigned dots = 0; a && s->text[s->at] == '.'; dots++) {
        uint32_t end = s->at;
        if (dots == DEEPEST)
            return NULL;
        rlx_word *w = rlx_lexer_word(&s->p->lexer, s->at + 1, &end);
        if (!w || !(a = outer(s, RLX_AST_ATTR, a)))
            return NULL;
        a->name = w;
        s->at = end;
        finish(s, a);
    }
    return a;
}

static rlx_ast *call_or_index(plain *s)
{
    bool comma = false;
    rlx_ast *a = dotted(s);
    if (a && s->text[s->at] == '(')
        return (a = outer(s, RLX_AST_CALL, a)) ? items(s, a, ')', &comma) : NULL;
    if (a && s->text[s->at] == '[') {
        a = outer(s, RLX_AST_INDEX, a);
        return a && items(s, a, ']', &comma) && a->count == 1 && !comma ? a : NULL;
    }
    return a;
}

/* ---- one expression ------------------------------------------------------------------------- */

static rlx_ast *operand(plain *s)
{
    char c = s->text[s->at];
    if (is_digit(c))
        return number(s);
    switch (c) {
    case '"': case '\'': return string(s);
    case '[': return list(s, RLX_AST_LIST, ']');
    case '(': return list(s, RLX_AST_TUPLE, ')');
    case '-': return negative(s);
    default: return call_or_index(s);
    }
}

/* The operator between blanks at s->at, and behind it; else 0. */
static uint8_t operator_at(plain *s)
{
    const char *at = s->text + s->at;
    uint32_t len = at[1] == '/' && at[2] == '/' ? 2 : 1;
    uint8_t op = at[1] == '+'   ? RLX_TOK_PLUS
                 : at[1] == '-' ? RLX_TOK_MINUS
                 : at[1] == '*' ? RLX_TOK_STAR
                 : len == 2     ? RLX_TOK_DSLASH
                                : 0;
    if (at[0] != ' ' || !op || at[1 + len] != ' ')
        return 0;
    s->at += len + 2;
    return op;
}

static rlx_ast *parse_plain_item(plain *s)
{
    rlx_ast *left = operand(s);
    uint8_t op = left ? operator_at(s) : 0;
    if (!op)
        return left;
    rlx_ast *right = operand(s), *a = right ? outer(s, RLX_AST_BINARY, left) : NULL;
    if (!a)
        return NULL;
    a->op = op;
    a->first = right;
    return finish(s, a);
}

/* More than one item on a line of its own: a tuple without parentheses. */
static rlx_ast *line_of_items(plain *s, rlx_ast *first)
{
    rlx_ast *tuple = rlx_ast_new(s->p, RLX_AST_TUPLE, first->begin), *last = first;
    if (!tuple)
        return NULL;
    tuple->first = first;
    for (tuple->count = 1; s->text[s->at] == ','; tuple->count++) {
        s->at += 1 + (s->text[s->at + 1] == ' ');
        if (!(last = last->next = parse_plain_item(s)))
            return NULL;
    }
    return finish(s, tuple);
}

/* Does one of `ends` follow, and not as the first half of an operator? A blank: in front of
 * '='. */
static bool ends_here(const plain *s, const char *ends)
{
    const char *at = s->text + s->at;
    if (!*at || !strchr(ends, *at))
        return false;
    return *at == ' ' ? at[1] == '=' && at[2] != '=' : *at != ':' || at[1] != '=';
}

rlx_ast *rlx_parse_plain(rlx_parser *p, const char *ends)
{
    rlx_region_mark mark = rlx_region_save(&p->region);
    plain s = { .p = p, .text = p->lexer.text, .at = p->lexer.tok.end };
    s.at += s.text[s.at] == ' ';
    rlx_ast *a = s.at < p->lexer.len ? parse_plain_item(&s) : NULL;
    if (a && s.text[s.at] == ',' && *ends == '\n')
        a = line_of_items(&s, a);
    if (a && ends_here(&s, ends) && s.at < p->lexer.len)
        return rlx_parser_skip(p, a, s.at);
    rlx_region_rewind(&p->region, mark);
    return NULL;
}
