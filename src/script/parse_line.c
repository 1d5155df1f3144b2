/* parse_line.c: Python statements and suites, one line at a time. */
#include "script/parser_int.h"

void rlx_parser_init(rlx_parser *p, rlx_context *ctx, rlx_words *names, uint32_t source,
                     const char *text, uint32_t begin, uint32_t end, bool single)
{
    p->ctx = ctx;
    p->recall = (rlx_recall){ 0 };
    p->in_assignment = false;
    p->depth = p->blocks = 0;
    p->line_ended = true;
    rlx_region_init(&p->region, &ctx->memory);
    rlx_lexer_init(&p->lexer, ctx, names, source, text, begin, end, single);
}

void rlx_parser_free(rlx_parser *p) { rlx_region_drop(&p->region); }

/* ---- text of strings ------------------------------------------------------------------------ */

static bool hex_digits(const char *s, size_t n, uint32_t *out)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i] | 0x20;
        if (s[i] >= '0' && s[i] <= '9')
            v = v * 16 + (uint32_t)(s[i] - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (uint32_t)(c - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

/* One escape; s is after the backslash. Gives how many characters it took, 0: it is malformed. */
static size_t escape(const char *s, size_t left, rlx_buf *out)
{
    static const char from[] = "\\'\"nrtabfv", to[] = "\\'\"\n\r\t\a\b\f\v";
    const char *known = strchr(from, s[0]);
    if (s[0] && known) {
        rlx_buf_char(out, to[known - from]);
        return 1;
    }
    if (s[0] == '\n')
        return 1;
    if (s[0] == '\r')
        return left > 1 && s[1] == '\n' ? 2 : 1;
    uint32_t v = 0;
    size_t n = 0;
    if (s[0] >= '0' && s[0] <= '7') {
        for (; n < 3 && n < left && s[n] >= '0' && s[n] <= '7'; n++)
            v = v * 8 + (uint32_t)(s[n] - '0');
    } else if (s[0] == 'x' || s[0] == 'u' || s[0] == 'U') {
        size_t digits = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : 8;
        if (left < digits + 1 || !hex_digits(s + 1, digits, &v))
            return 0;
        n = digits + 1;
    } else {
        rlx_buf_char(out, '\\'); /* unknown escapes keep the backslash */
        return rlx_buf_char(out, s[0]), 1;
    }
    char utf8[4];
    size_t bytes = rlx_utf8_encode(v, utf8);
    rlx_buf_put(out, utf8, bytes);
    return bytes ? n : 0;
}

bool rlx_parse_string(rlx_parser *p, const rlx_tok *tok, rlx_buf *out)
{
    const char *s = p->lexer.text + tok->begin;
    size_t len = tok->end - tok->begin, quotes = tok->triple ? 3 : 1, at = 0;
    if (tok->format) {
        rlx_parser_report(p, RLX_PA16, tok->begin, tok->end,
                          "strings with f are Python and not supported");
        return false;
    }
    while (s[at] != '"' && s[at] != '\'')
        at++;
    at += quotes;
    for (len -= quotes; at < len;) {
        const char *stop = tok->raw ? NULL : memchr(s + at, '\\', len - at);
        size_t plain = stop ? (size_t)(stop - s) - at : len - at;
        rlx_buf_put(out, s + at, plain);
        at += plain;
        if (!stop)
            break;
        size_t took = at + 1 < len ? escape(s + at + 1, len - at - 1, out) : 0;
        if (!took) {
            uint32_t begin = tok->begin + (uint32_t)at;
            rlx_parser_report(p, RLX_PA06, begin, begin + 2, "malformed escape in a string");
            return false;
        }
        at += took + 1;
    }
    return !out->failed;
}

/* ---- simple statements ---------------------------------------------------------------------- */

static bool ends_statement(uint8_t kind)
{
    return kind == RLX_TOK_NEWLINE || kind == RLX_TOK_SEMICOLON || kind == RLX_TOK_END;
}

static bool is_target(rlx_parser *p, const rlx_ast *a)
{
    if (a->kind == RLX_AST_NAME || a->kind == RLX_AST_INDEX || a->kind == RLX_AST_ATTR)
        return true;
    if (a->kind == RLX_AST_STAR)
        return is_target(p, a->base);
    if (a->kind == RLX_AST_TUPLE || a->kind == RLX_AST_LIST) {
        for (const rlx_ast *i = a->first; i; i = i->next)
            if (!is_target(p, i))
                return false;
        return true;
    }
    rlx_parser_report(p, RLX_PA26, a->begin, a->end, "cannot assign to this expression");
    return false;
}

static uint8_t augmented(uint8_t kind)
{
    static const uint8_t ops[RLX_TOK_COUNT] = {
        [RLX_TOK_AUG_ADD] = RLX_TOK_PLUS,        [RLX_TOK_AUG_SUB] = RLX_TOK_MINUS,
        [RLX_TOK_AUG_MUL] = RLX_TOK_STAR,        [RLX_TOK_AUG_DIV] = RLX_TOK_SLASH,
        [RLX_TOK_AUG_FLOORDIV] = RLX_TOK_DSLASH, [RLX_TOK_AUG_MOD] = RLX_TOK_PERCENT,
        [RLX_TOK_AUG_POW] = RLX_TOK_POWER,       [RLX_TOK_AUG_SHL] = RLX_TOK_SHL,
        [RLX_TOK_AUG_SHR] = RLX_TOK_SHR,         [RLX_TOK_AUG_AND] = RLX_TOK_AMPERSAND,
        [RLX_TOK_AUG_OR] = RLX_TOK_PIPE,         [RLX_TOK_AUG_XOR] = RLX_TOK_CARET,
        [RLX_TOK_AUG_AT] = RLX_TOK_AT,
    };
    return ops[kind];
}

/* An annotation is mostly one that was seen before: its text up to the first '=' behind a blank
 * is looked up before it is taken apart. If that is not the '=' of the statement, the text is
 * no annotation, and is not found. */
static rlx_ast *known_annotation(rlx_parser *p)
{
    enum { LONGEST = 512 };
    const char *text = p->lexer.text;
    uint32_t begin = p->lexer.tok.end + (text[p->lexer.tok.end] == ' ');
    const char *at = text + begin;
    if (!p->recall.reader || begin >= p->lexer.len)
        return NULL;
    const char *stop =
        p->lexer.len - begin > LONGEST ? text + begin + LONGEST : text + p->lexer.len;
    do
        at = at < stop ? memchr(at + 1, '=', (size_t)(stop - at) - 1) : NULL;
    while (at && at[-1] != ' ');
    if (!at || at[1] == '=')
        return NULL;
    while (at > text + begin && at[-1] == ' ')
        at--;
    uint32_t end = (uint32_t)(at - text);
    return end == begin ? NULL : rlx_parser_skip(p, rlx_recall_annotation(p, begin, end), end);
}

/* The expression behind the current token, in front of a character of `ends` as a rule. */
static rlx_ast *parse_behind(rlx_parser *p, rlx_ast *(*parse)(rlx_parser *), const char *ends)
{
    rlx_ast *plain = rlx_parse_plain(p, ends);
    if (plain)
        return plain;
    rlx_lexer_next(&p->lexer);
    return parse(p);
}

static bool parse_assignment(rlx_parser *p, rlx_source_line *out)
{
    out->kind = RLX_LINE_ASSIGN;
    p->in_assignment = true;
    if (p->lexer.tok.kind == RLX_TOK_COLON) {
        out->annotation = known_annotation(p);
        if (!out->annotation && !(out->annotation = parse_behind(p, rlx_parse_expr, " ")))
            return false;
        if (p->lexer.tok.kind != RLX_TOK_ASSIGN) {
            out->kind = RLX_LINE_DECLARE;
            return true;
        }
    }
    if (!(out->value = parse_behind(p, rlx_parse_expr_list, "\n")))
        return false;
    if (p->lexer.tok.kind == RLX_TOK_ASSIGN) {
        rlx_parser_report(p, RLX_PA16, p->lexer.tok.begin, p->lexer.tok.end,
                          "a statement assigns to one target: 'a = b = c' is not supported");
        return false;
    }
    return true;
}

static bool parse_expression_line(rlx_parser *p, rlx_source_line *out)
{
    rlx_ast *a = rlx_parse_expr_list(p);
    if (!a)
        return false;
    uint8_t kind = p->lexer.tok.kind;
    if (kind == RLX_TOK_ASSIGN || kind == RLX_TOK_COLON) {
        out->target = a;
        return is_target(p, a) && parse_assignment(p, out);
    }
    if (augmented(kind)) {
        out->kind = RLX_LINE_AUGMENT;
        out->op = augmented(kind);
        out->target = a;
        rlx_lexer_next(&p->lexer);
        return is_target(p, a) && (out->value = rlx_parse_expr_list(p));
    }
    out->kind = RLX_LINE_EXPR;
    out->value = a;
    return true;
}

/* a.b.c as text goes by; only the last part matters. */
static bool parse_module_path(rlx_parser *p, rlx_source_line *out)
{
    while (rlx_parser_take(p, RLX_TOK_DOT))
        ;
    do {
        if (p->lexer.tok.kind != RLX_TOK_NAME)
            return rlx_parser_expected(p, "a module name"), false;
        out->name = p->lexer.tok.name;
        rlx_lexer_next(&p->lexer);
    } while (rlx_parser_take(p, RLX_TOK_DOT));
    return true;
}

static bool parse_import(rlx_parser *p, rlx_source_line *out)
{
    bool from = p->lexer.tok.kind == RLX_TOK_FROM;
    rlx_lexer_next(&p->lexer);
    out->kind = RLX_LINE_IMPORT;
    if (from && (!parse_module_path(p, out) || !rlx_parser_need(p, RLX_TOK_IMPORT)))
        return false;
    bool paren = from && rlx_parser_take(p, RLX_TOK_LPAR);
    rlx_ast **tail = &out->target;
    do {
        if (from && rlx_parser_take(p, RLX_TOK_STAR))
            break;
        if (paren && p->lexer.tok.kind == RLX_TOK_RPAR)
            break;
        rlx_ast *item = rlx_ast_new(p, RLX_AST_PARAM, p->lexer.tok.begin);
        rlx_source_line path = { 0 };
        if (!item || !parse_module_path(p, &path))
            return false;
        item->name = path.name;
        if (rlx_parser_take(p, RLX_TOK_AS)) {
            rlx_source_line alias = { 0 };
            item->base = rlx_ast_new(p, RLX_AST_NAME, p->lexer.tok.begin);
            if (!item->base || !parse_module_path(p, &alias))
                return false;
            item->base->name = alias.name;
        }
        item->end = p->lexer.prev_end;
        *tail = item;
        tail = &item->next;
    } while (rlx_parser_take(p, RLX_TOK_COMMA));
    return !paren || rlx_parser_need(p, RLX_TOK_RPAR);
}

static bool parse_assert(rlx_parser *p, rlx_source_line *out)
{
    rlx_lexer_next(&p->lexer);
    out->kind = RLX_LINE_ASSERT;
    if (!(out->value = rlx_parse_expr(p)))
        return false;
    return !rlx_parser_take(p, RLX_TOK_COMMA) || (out->annotation = rlx_parse_expr(p));
}

static bool parse_return(rlx_parser *p, rlx_source_line *out)
{
    rlx_lexer_next(&p->lexer);
    out->kind = RLX_LINE_RETURN;
    return ends_statement(p->lexer.tok.kind) || (out->value = rlx_parse_expr_list(p));
}

static bool word_line(rlx_parser *p, rlx_source_line *out, uint8_t kind)
{
    rlx_lexer_next(&p->lexer);
    out->kind = kind;
    return true;
}

static bool parse_nonlocal(rlx_parser *p, rlx_source_line *out)
{
    do
        rlx_lexer_next(&p->lexer);
    while (p->lexer.tok.kind == RLX_TOK_NAME || p->lexer.tok.kind == RLX_TOK_COMMA);
    out->kind = RLX_LINE_PASS;
    return true;
}

/* ---- headers -------------------------------------------------------------------------------- */

static bool parse_condition(rlx_parser *p, rlx_source_line *out, uint8_t kind)
{
    rlx_lexer_next(&p->lexer);
    out->kind = kind;
    return kind == RLX_LINE_ELSE || (out->value = rlx_parse_expr(p));
}

static rlx_ast *parse_target_list(rlx_parser *p);

/* A name, or names in parentheses: the targets of `for` and `with`. Brackets are limited, hence
 * the recursion. */
static rlx_ast *parse_target(rlx_parser *p)
{
    if (rlx_parser_take(p, RLX_TOK_LPAR)) {
        rlx_ast *list = parse_target_list(p);
        return list && rlx_parser_need(p, RLX_TOK_RPAR) ? list : NULL;
    }
    if (p->lexer.tok.kind != RLX_TOK_NAME)
        return rlx_parser_expected(p, "a variable name");
    rlx_ast *a = rlx_ast_new(p, RLX_AST_NAME, p->lexer.tok.begin);
    if (!a)
        return NULL;
    a->name = p->lexer.tok.name;
    a->end = p->lexer.tok.end;
    rlx_lexer_next(&p->lexer);
    return a;
}

static rlx_ast *parse_target_list(rlx_parser *p)
{
    rlx_ast *tuple = NULL, **tail = NULL;
    for (;;) {
        uint32_t begin = p->lexer.tok.begin;
        rlx_ast *a = parse_target(p);
        if (!a)
            return NULL;
        if (!tuple && p->lexer.tok.kind != RLX_TOK_COMMA)
            return a;
        if (!tuple) {
            if (!(tuple = rlx_ast_new(p, RLX_AST_TUPLE, begin)))
                return NULL;
            tail = &tuple->first;
        }
        *tail = a;
        tail = &a->next;
        tuple->count++;
        tuple->end = a->end;
        if (!rlx_parser_take(p, RLX_TOK_COMMA) || p->lexer.tok.kind == RLX_TOK_IN)
            return tuple;
    }
}

static bool parse_for(rlx_parser *p, rlx_source_line *out)
{
    rlx_lexer_next(&p->lexer);
    out->kind = RLX_LINE_FOR;
    return (out->target = parse_target_list(p)) && rlx_parser_need(p, RLX_TOK_IN) &&
           (out->value = rlx_parse_expr_list(p));
}

static bool parse_with(rlx_parser *p, rlx_source_line *out)
{
    out->kind = RLX_LINE_WITH;
    rlx_ast **tail = &out->target;
    do {
        rlx_lexer_next(&p->lexer);
        rlx_ast *item = rlx_ast_new(p, RLX_AST_ITEM, p->lexer.tok.begin);
        if (!item || !(item->base = rlx_parse_expr(p)))
            return false;
        if (rlx_parser_take(p, RLX_TOK_AS) && !(item->first = parse_target(p)))
            return false;
        item->end = p->lexer.prev_end;
        *tail = item;
        tail = &item->next;
    } while (p->lexer.tok.kind == RLX_TOK_COMMA);
    return true;
}

static rlx_ast *parse_param(rlx_parser *p)
{
    const rlx_tok t = p->lexer.tok;
    if (t.kind == RLX_TOK_STAR || t.kind == RLX_TOK_POWER || t.kind == RLX_TOK_SLASH) {
        rlx_parser_report(p, RLX_PA16, t.begin, t.end, "parameters with %s are not supported",
                          rlx_tok_text(t.kind));
        return NULL;
    }
    if (t.kind != RLX_TOK_NAME)
        return rlx_parser_expected(p, "a parameter name or ')'");
    rlx_ast *a = rlx_ast_new(p, RLX_AST_PARAM, t.begin);
    rlx_lexer_next(&p->lexer);
    if (!a)
        return NULL;
    a->name = t.name;
    a->end = t.end;
    if (p->lexer.tok.kind == RLX_TOK_COLON &&
        !(a->base = parse_behind(p, rlx_parse_expr, ",)]")))
        return NULL;
    if (p->lexer.tok.kind == RLX_TOK_ASSIGN) {
        rlx_parser_report(p, RLX_PA16, p->lexer.tok.begin, p->lexer.tok.end,
                          a->base ? "parameters have no default values"
                                  : "parameters have no default values: an annotation stands behind ':'");
        return NULL;
    }
    return a;
}

static bool header_name(rlx_parser *p, rlx_source_line *out, const char *what)
{
    rlx_lexer_next(&p->lexer);
    if (p->lexer.tok.kind != RLX_TOK_NAME)
        return rlx_parser_expected(p, what), false;
    out->name = p->lexer.tok.name;
    out->name_begin = p->lexer.tok.begin;
    out->name_end = p->lexer.tok.end;
    rlx_lexer_next(&p->lexer);
    return true;
}

/* def f[n, m: int](...) */
static bool parse_type_params(rlx_parser *p, rlx_source_line *out)
{
    rlx_ast **tail = &out->type_params;
    rlx_lexer_next(&p->lexer);
    while (p->lexer.tok.kind != RLX_TOK_RBRACKET) {
        rlx_ast *a = parse_param(p);
        if (!a)
            return false;
        *tail = a;
        tail = &a->next;
        if (!rlx_parser_take(p, RLX_TOK_COMMA) && p->lexer.tok.kind != RLX_TOK_RBRACKET)
            return rlx_parser_expected(p, "',' or ']'"), false;
    }
    rlx_lexer_next(&p->lexer);
    return true;
}

static bool parse_def(rlx_parser *p, rlx_source_line *out)
{
    out->kind = RLX_LINE_DEF;
    if (!header_name(p, out, "the name of the function"))
        return false;
    if (p->lexer.tok.kind == RLX_TOK_LBRACKET && !parse_type_params(p, out))
        return false;
    if (!rlx_parser_need(p, RLX_TOK_LPAR))
        return false;
    rlx_ast **tail = &out->target;
    while (p->lexer.tok.kind != RLX_TOK_RPAR) {
        rlx_ast *a = parse_param(p);
        if (!a)
            return false;
        *tail = a;
        tail = &a->next;
        if (!rlx_parser_take(p, RLX_TOK_COMMA) && p->lexer.tok.kind != RLX_TOK_RPAR)
            return rlx_parser_expected(p, "',' or ')'"), false;
    }
    rlx_lexer_next(&p->lexer);
    return p->lexer.tok.kind != RLX_TOK_ARROW ||
           (out->annotation = parse_behind(p, rlx_parse_expr, ":"));
}

static bool parse_class(rlx_parser *p, rlx_source_line *out)
{
    out->kind = RLX_LINE_CLASS;
    if (!header_name(p, out, "the name of the module"))
        return false;
    if (p->lexer.tok.kind == RLX_TOK_LPAR) /* base classes mean nothing here */
        return (out->value = rlx_parse_expr(p)) != NULL;
    return true;
}

static bool parse_decorator(rlx_parser *p, rlx_source_line *out)
{
    rlx_lexer_next(&p->lexer);
    out->kind = RLX_LINE_DECORATOR;
    return (out->value = rlx_parse_expr(p)) != NULL;
}

/* ---- one statement -------------------------------------------------------------------------- */

static bool belongs_to_try(const rlx_parser *p)
{
    rlx_slice word = { p->lexer.text + p->lexer.tok.begin, p->lexer.tok.end - p->lexer.tok.begin };
    return rlx_slice_is(word, "except") || rlx_slice_is(word, "finally");
}

static bool parse_statement(rlx_parser *p, rlx_source_line *out)
{
    const rlx_tok *t = &p->lexer.tok;
    switch (t->kind) {
    case RLX_TOK_RETURN: return parse_return(p, out);
    case RLX_TOK_PASS: return word_line(p, out, RLX_LINE_PASS);
    case RLX_TOK_BREAK: return word_line(p, out, RLX_LINE_BREAK);
    case RLX_TOK_CONTINUE: return word_line(p, out, RLX_LINE_CONTINUE);
    case RLX_TOK_ASSERT: return parse_assert(p, out);
    case RLX_TOK_IMPORT: case RLX_TOK_FROM: return parse_import(p, out);
    case RLX_TOK_NONLOCAL: case RLX_TOK_GLOBAL: return parse_nonlocal(p, out);
    case RLX_TOK_AT: return parse_decorator(p, out);
    case RLX_TOK_IF: return parse_condition(p, out, RLX_LINE_IF);
    case RLX_TOK_ELIF: return parse_condition(p, out, RLX_LINE_ELIF);
    case RLX_TOK_ELSE: return parse_condition(p, out, RLX_LINE_ELSE);
    case RLX_TOK_WHILE: return parse_condition(p, out, RLX_LINE_WHILE);
    case RLX_TOK_FOR: return parse_for(p, out);
    case RLX_TOK_WITH: return parse_with(p, out);
    case RLX_TOK_DEF: return parse_def(p, out);
    case RLX_TOK_CLASS: return parse_class(p, out);
    case RLX_TOK_TRY:
    case RLX_TOK_RAISE:
    case RLX_TOK_YIELD:
    case RLX_TOK_DEL:
    case RLX_TOK_ASYNC:
    case RLX_TOK_AWAIT:
        p->tried |= t->kind == RLX_TOK_TRY;
        rlx_parser_report(p, RLX_PA16, t->begin, t->end,
                          "%s is Python that the text form does not have", rlx_tok_text(t->kind));
        return false;
    default:
        if (p->tried && belongs_to_try(p)) {
            p->lexer.reported = true; /* with its try */
            return false;
        }
        return parse_expression_line(p, out);
    }
}

static uint32_t word_length(const rlx_parser *p, uint32_t begin)
{
    uint32_t at = begin;
    while (at < p->lexer.len && (p->lexer.text[at] | 0x20) >= 'a' &&
           (p->lexer.text[at] | 0x20) <= 'z')
        at++;
    return at - begin;
}

/* "retrun y": a name in front of another one is a keyword misspelt. NULL: of none. */
static const char *meant_keyword(const rlx_parser *p, const rlx_source_line *line)
{
    static const char *const keywords[] = { "return", "with", "if",   "else",  "def",
                                            "class",  "from", "pass", "import" };
    rlx_slice word = { p->lexer.text + line->begin, word_length(p, line->begin) };
    bool lone = line->kind == RLX_LINE_EXPR && line->value && line->value->kind == RLX_AST_NAME;
    static const char *const functions[] = { "fn", "fun", "func", "function", "proc", "sub" };
    size_t best = word.len < 4 ? 2 : 3;
    const char *meant = NULL;
    for (size_t i = 0; lone && i < RLX_COUNT(functions); i++)
        if (rlx_slice_is(word, functions[i]))
            return "def";
    for (size_t i = 0; lone && i < RLX_COUNT(keywords); i++) {
        size_t d = rlx_edit_distance(word, rlx_slice_z(keywords[i]), best);
        meant = d < best ? keywords[i] : meant;
        best = d < best ? d : best;
    }
    return meant;
}

/* The end of a statement: the ':' of a header, the end of a line, or a semicolon. */
static bool end_statement(rlx_parser *p, rlx_source_line *out)
{
    p->line_ended = false;
    if (out->kind >= RLX_LINE_IF) {
        if (out->kind == RLX_LINE_ELSE && p->lexer.tok.kind == RLX_TOK_IF) {
            rlx_parser_report(p, RLX_PA04, out->begin, p->lexer.tok.end, "'else if' is written elif");
            return false;
        }
        if (rlx_parser_need(p, RLX_TOK_COLON)) {
            if (out->kind != RLX_LINE_DEF || p->lexer.tok.kind != RLX_TOK_ARROW)
                return true;
            rlx_parser_report(p, RLX_PA04, p->lexer.tok.begin, p->lexer.tok.end,
                              "the annotation of the result stands in front of the ':'");
            return false;
        }
        /* What is meant is plain: the block is read, so that nothing in it goes missing. */
        p->damaged |= p->lexer.tok.kind == RLX_TOK_NEWLINE && p->lexer.reported;
        return p->lexer.tok.kind == RLX_TOK_NEWLINE;
    }
    if (rlx_parser_take(p, RLX_TOK_SEMICOLON)) {
        p->line_ended =
            p->lexer.tok.kind == RLX_TOK_NEWLINE && rlx_parser_take(p, RLX_TOK_NEWLINE);
        return true;
    }
    p->line_ended = true;
    if (rlx_parser_take(p, RLX_TOK_NEWLINE) || p->lexer.tok.kind == RLX_TOK_END)
        return true;
    const char *meant = p->lexer.reported ? NULL : meant_keyword(p, out);
    rlx_slice word = { p->lexer.text + out->begin, word_length(p, out->begin) };
    if (rlx_slice_is(word, "match") || rlx_slice_is(word, "switch")) {
        p->tried = true; /* what its cases bind is not looked for */
        rlx_parser_report(p, RLX_PA16, out->begin, out->begin + (uint32_t)word.len,
                          "'%.*s' is Python that the text form does not have: write if, elif and else",
                          (int)word.len, word.data);
    } else if (meant)
        rlx_parser_report(p, RLX_PA04, out->begin, out->begin + word_length(p, out->begin),
                          "this is no statement; did you mean %s", meant);
    else
        rlx_parser_expected(p, "the end of the line");
    return false;
}

/* The name that a statement binds, as far as that shows from its first words. */
static rlx_word *bound_name(const rlx_parser *p, uint32_t begin)
{
    const char *text = p->lexer.text;
    uint32_t at = begin, end = p->lexer.len;
    while (at < end && ((text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z'))
        at++;
    while (at < end && at > begin &&
           (text[at] == '_' || (text[at] >= '0' && text[at] <= '9') ||
            ((text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z')))
        at++;
    uint32_t next = at;
    while (next < end && text[next] == ' ')
        next++;
    bool binds = at > begin && next + 1 < end && (text[next] == ':' || text[next] == '=') &&
                 text[next + 1] != '=';
    rlx_word *w =
        binds ? rlx_words_get(p->lexer.names, (rlx_slice){ text + begin, at - begin }) : NULL;
    return w && !w->keyword ? w : NULL;
}

static void give_up(rlx_parser *p, rlx_source_line *out)
{
    out->name = bound_name(p, out->begin);
    rlx_lexer_resync(&p->lexer, out->begin);
    p->depth = 0;
    p->line_ended = true;
    out->kind = RLX_LINE_ERROR;
}

void rlx_parse_line(rlx_parser *p, rlx_source_line *out)
{
    memset(out, 0, sizeof *out);
    p->lexer.reported = false;
    p->in_assignment = false;
    while (rlx_parser_take(p, RLX_TOK_NEWLINE))
        ;
    out->begin = p->lexer.tok.begin;
    if (p->lexer.tok.kind == RLX_TOK_INDENT) {
        bool has_tab = memchr(p->lexer.text + p->lexer.line, '\t',
                              p->lexer.tok.begin - p->lexer.line) != NULL;
        rlx_parser_report(p, RLX_PA02, p->lexer.line, p->lexer.tok.begin,
                          has_tab ? "this line is indented with a tab, which counts up to the next "
                                    "multiple of 8, and so is deeper than its block; write spaces"
                                  : "this line is indented by %u, its block by %u",
                          p->lexer.indents[p->lexer.num_indents - 1],
                          p->lexer.indents[p->lexer.num_indents - 2]);
        p->lexer.num_indents--;
        give_up(p, out);
        return;
    }
    if (!parse_statement(p, out) || !end_statement(p, out)) {
        if (!p->lexer.reported && !p->ctx->diags.out_of_memory)
            rlx_parser_expected(p, "a statement");
        give_up(p, out);
        return;
    }
    out->end = p->lexer.prev_end;
}

/* ---- suites --------------------------------------------------------------------------------- */

bool rlx_suite_enter(rlx_parser *p, rlx_suite *s)
{
    s->block = p->lexer.tok.kind == RLX_TOK_NEWLINE;
    s->done = s->lost_if = false;
    p->line_ended = false;
    if (!s->block) {
        if (p->lexer.tok.kind != RLX_TOK_END) {
            p->blocks++;
            return true;
        }
    } else {
        rlx_lexer_next(&p->lexer);
        if (p->lexer.tok.kind == RLX_TOK_INDENT) {
            rlx_lexer_next(&p->lexer);
            p->blocks++;
            return true;
        }
    }
    p->lexer.reported = false;
    if (p->lexer.tok.kind == RLX_TOK_ERROR) /* too many blocks: reported */
        rlx_lexer_resync(&p->lexer, p->lexer.tok.begin);
    else
        rlx_parser_report(p, RLX_PA22, p->lexer.tok.begin, p->lexer.tok.end,
                          "an indented block is missing here");
    s->done = true;
    return false;
}

bool rlx_suite_at_end(rlx_parser *p, rlx_suite *s)
{
    if (s->done || p->lexer.tok.kind == RLX_TOK_END)
        return true;
    if (!s->block)
        return p->line_ended;
    while (p->lexer.tok.kind == RLX_TOK_NEWLINE)
        rlx_lexer_next(&p->lexer);
    return p->lexer.tok.kind == RLX_TOK_DEDENT || p->lexer.tok.kind == RLX_TOK_END;
}

void rlx_suite_leave(rlx_parser *p, rlx_suite *s)
{
    rlx_source_line ignored;
    while (!rlx_suite_at_end(p, s)) { /* what is left was not asked for */
        rlx_region_mark mark = rlx_region_save(&p->region);
        rlx_parse_line(p, &ignored);
        rlx_region_rewind(&p->region, mark);
        if (ignored.kind >= RLX_LINE_IF)
            rlx_lexer_skip_suite(&p->lexer);
    }
    if (s->block && p->lexer.tok.kind == RLX_TOK_DEDENT)
        rlx_lexer_next(&p->lexer);
    p->blocks--;
    p->line_ended = true;
    s->done = true;
}
