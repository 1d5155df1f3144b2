/* test_parse_plain.c: expressions read straight from the characters: the same trees as from
 * tokens, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "op/op.h"
#include "script/parser_int.h"

enum { LONGEST_LINE = 1000 };

/* "v = EXPRESSION", read up to the '='. */
typedef struct line {
    char text[LONGEST_LINE + RLX_TEXT_PADDING];
    rlx_context *ctx;
    rlx_words names;
    rlx_parser parser;
} line;

static void start(line *l, const char *expression)
{
    memset(l, 0, sizeof *l);
    int len = snprintf(l->text, LONGEST_LINE, "v = %s\n", expression);
    assert_true(len > 0 && len < LONGEST_LINE);
    assert_non_null(l->ctx = rlx_context_create(NULL, 0));
    rlx_words_init(&l->names, l->ctx, (size_t)len);
    uint32_t source =
        rlx_diags_add_source(&l->ctx->diags, RLX_SLICE("t.py"), l->text, (size_t)len);
    rlx_parser_init(&l->parser, l->ctx, &l->names, source, l->text, 0, (uint32_t)len, false);
    rlx_lexer_next(&l->parser.lexer);
    assert_int_equal(l->parser.lexer.tok.kind, RLX_TOK_ASSIGN);
}

static void stop(line *l)
{
    rlx_parser_free(&l->parser);
    rlx_words_free(&l->names);
    rlx_context_release(l->ctx);
}

/* ---- trees ---------------------------------------------------------------------------------- */

static bool same_name(const rlx_word *a, const rlx_word *b)
{
    return rlx_slice_equal(rlx_string_slice(a->text), rlx_string_slice(b->text));
}

static bool same(const rlx_ast *a, const rlx_ast *b);

static bool same_list(const rlx_ast *a, const rlx_ast *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (!same(a, b))
            return false;
    return !a && !b;
}

static bool same_content(const rlx_ast *a, const rlx_ast *b)
{
    switch (a->kind) {
    case RLX_AST_NAME: return same_name(a->name, b->name);
    case RLX_AST_INT: return a->integer == b->integer;
    case RLX_AST_FLOAT: return memcmp(&a->number, &b->number, sizeof a->number) == 0;
    case RLX_AST_STRING: return rlx_slice_equal(a->string, b->string);
    case RLX_AST_NONE: case RLX_AST_TRUE: case RLX_AST_FALSE: return true;
    case RLX_AST_ATTR:
    case RLX_AST_KEYWORD: return same(a->base, b->base) && same_name(a->name, b->name);
    case RLX_AST_UNARY: return same(a->base, b->base);
    case RLX_AST_TUPLE: case RLX_AST_LIST: return same_list(a->first, b->first);
    case RLX_AST_CALL: case RLX_AST_INDEX:
    case RLX_AST_BINARY: return same(a->base, b->base) && same_list(a->first, b->first);
    default: return false;
    }
}

/* The trees are flat. */
static bool same(const rlx_ast *a, const rlx_ast *b)
{
    return a->kind == b->kind && a->op == b->op && a->begin == b->begin && a->end == b->end &&
           a->count == b->count && same_content(a, b);
}

typedef enum verdict { LEFT_ALONE, SAME, DIFFERENT } verdict;

static verdict judge(const char *expression)
{
    line plain, tokens;
    start(&plain, expression);
    start(&tokens, expression);
    const rlx_ast *a = rlx_parse_plain(&plain.parser, "\n");
    rlx_lexer_next(&tokens.parser.lexer);
    const rlx_ast *b = rlx_parse_expr_list(&tokens.parser);
    const rlx_lexer *x = &plain.parser.lexer, *y = &tokens.parser.lexer;
    bool good = b && y->tok.kind == RLX_TOK_NEWLINE;
    verdict v = a                               ? good && same(a, b) ? SAME : DIFFERENT
                : x->tok.kind != RLX_TOK_ASSIGN ? DIFFERENT
                                                : LEFT_ALONE;
    /* both stand at the end of the line, having said nothing */
    if (v == SAME && (x->tok.kind != y->tok.kind || x->tok.begin != y->tok.begin ||
                      x->prev_end != y->prev_end || x->pos != y->pos))
        v = DIFFERENT;
    if (plain.ctx->diags.num_diags)
        v = DIFFERENT;
    stop(&plain);
    stop(&tokens);
    return v;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static const struct { const char *text; verdict want; } rows[] = {
    { "x", SAME },
    { "None", SAME },
    { "True", SAME },
    { "R.add(x, y)", SAME },
    { "R.add(x,y)", SAME },
    { "R.nn.relu(lv_with_a_long_name_12345)", SAME },
    { "cls.f()", SAME },
    { "lv1[0]", SAME },
    { "lv1[-1]", SAME },
    { "x, y", SAME },
    { "x, (y, 1), [2]", SAME },
    { "()", SAME },
    { "(x,)", SAME },
    { "(x, y)", SAME },
    { "R.const(0.25, \"float32\")", SAME },
    { "R.const(12345678, 'int64')", SAME },
    { "R.zeros(R.shape([n + 2, 4, n * m, n // 2, n - -1]), dtype=\"float32\")", SAME },
    { "R.sum(x, axis=[-1, 0], keepdims=False)", SAME },
    { "R.call_tir(cls.f, (x, y), out_sinfo=R.Tensor((n, 4), dtype=\"float32\"))", SAME },
    { "n + 2", SAME },
    { "é.ü(ö)", SAME },
    /* more than is usual */
    { "(x)", LEFT_ALONE },
    { "x + y + z", LEFT_ALONE },
    { "-x", LEFT_ALONE },
    { "x  + y", LEFT_ALONE },
    { "x+y", LEFT_ALONE },
    { "R.add(x,  y)", LEFT_ALONE },
    { "R.add( x, y)", LEFT_ALONE },
    { "R.add(x, y )", LEFT_ALONE },
    { "R.add(x, *y)", LEFT_ALONE },
    { "R.add(x, y)  ", LEFT_ALONE },
    { "R.add(x, y) # said", LEFT_ALONE },
    { "R.add(x, y); z = 1", LEFT_ALONE },
    { "R.add(x,\n    y)", LEFT_ALONE },
    { "R.add(x, k = 1)", LEFT_ALONE },
    { "f(x)(y)", LEFT_ALONE },
    { "f(x).y", LEFT_ALONE },
    { "x[0][1]", LEFT_ALONE },
    { "x[0, 1]", LEFT_ALONE },
    { "x[0:1]", LEFT_ALONE },
    { "{1: 2}", LEFT_ALONE },
    { "1.5e3", LEFT_ALONE },
    { "0x10", LEFT_ALONE },
    { "123456789", LEFT_ALONE },
    { "\"a\" \"b\"", LEFT_ALONE },
    { "r\"a\"", LEFT_ALONE },
    { "R.str(r\"a\")", LEFT_ALONE },
    { "\"a\\n\"", LEFT_ALONE },
    { "\"\"\"a\"\"\"", LEFT_ALONE },
    { "x if y else z", LEFT_ALONE },
    { "not x", LEFT_ALONE },
    { "lambda x: x", LEFT_ALONE },
    { "x == y", LEFT_ALONE },
    { "x,", LEFT_ALONE },
    { "a.b.c.d.e.f.g.h.i.j.k.l.m", LEFT_ALONE },
    { "[[[[[[[[[[[[1]]]]]]]]]]]]", LEFT_ALONE },
    /* mistakes */
    { "", LEFT_ALONE },
    { "R.add(x, y", LEFT_ALONE },
    { "R.add(x, y))", LEFT_ALONE },
    { "R.add(x, y]", LEFT_ALONE },
    { "R.add(x y)", LEFT_ALONE },
    { "R.add(x, , y)", LEFT_ALONE },
    { "R.(x)", LEFT_ALONE },
    { "x[]", LEFT_ALONE },
    { "007", LEFT_ALONE },
    { "1x", LEFT_ALONE },
    { "\"a", LEFT_ALONE },
    { "f(1=2)", LEFT_ALONE },
    { "[k=1]", LEFT_ALONE },
    { "f(def)", LEFT_ALONE },
    { "x = y", LEFT_ALONE },
    { "\x7f", LEFT_ALONE },
};

static void usual_forms_give_the_same_trees(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (judge(rows[i].text) != rows[i].want)
            fail_msg("%s: wanted %d, got %d", rows[i].text, rows[i].want, judge(rows[i].text));
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Pieces in any order: most are no expression, many of the others are not of the usual form. */
static void random_forms_give_the_same_trees(void **state)
{
    static const char *const pieces[] = {
        "x", "lv1", "R", "R.add", "n", "(", ")", "(", ")", "[", "]", ", ", ", ", ",", " + ",
        " // ", "-", ".", "=", "axis=", "1", "42", "0.5", "\"s\"", "'", "\"", "None", " ", "1e3",
        "*", ":"
    };
    size_t counts[3] = { 0 };
    for (uint32_t seed = 1; seed <= 40000; seed++) {
        char text[200] = "";
        uint32_t r = seed * 2654435761u, n = 1 + next_random(&r) % 9;
        for (uint32_t i = 0; i < n; i++)
            strcat(text, pieces[next_random(&r) % RLX_COUNT(pieces)]);
        verdict v = judge(text);
        counts[v]++;
        if (v == DIFFERENT)
            fail_msg("%s", text);
    }
    assert_true(counts[SAME] > 1000);
    assert_true(counts[LEFT_ALONE] > 1000);
}

static void every_prefix_does_no_harm(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        for (size_t len = strlen(rows[i].text); len-- > 0;) {
            char text[LONGEST_LINE];
            memcpy(text, rows[i].text, len);
            text[len] = 0;
            assert_int_not_equal(judge(text), DIFFERENT);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_forms_give_the_same_trees),
        cmocka_unit_test(random_forms_give_the_same_trees),
        cmocka_unit_test(every_prefix_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
