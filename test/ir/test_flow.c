/* test_flow.c: the order of a body, as cursor, walk and flow give it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "text_module.h"
#include "ir/ir.h"
#include "text_file.h"

static const rlx_function *main_of(rlx_context *ctx, const char *text)
{
    const rlx_module *m = text_module(ctx, text);
    assert_non_null(m);
    return rlx_as_function(m->functions[rlx_module_find(m, RLX_SLICE("main"))]);
}

static void add_word(char *room, const char *word)
{
    strcat(room, room[0] ? " " : "");
    strcat(room, word);
}

/* One word for each event: `[` and `]` around blocks, `(` and `)` around dataflow blocks, `{body`
 * and `}body` around sequences, `?y` before a value, `y` behind it. */
static void add_event(char *room, rlx_context *ctx, const rlx_seq_cursor *at, const char *part)
{
    char word[64];
    bool dataflow = rlx_seq_cursor_in_dataflow(at);
    switch (at->event) {
    case RLX_EVENT_ENTER: snprintf(word, sizeof word, "{%s", part); break;
    case RLX_EVENT_LEAVE: snprintf(word, sizeof word, "}%s", part); break;
    case RLX_EVENT_BLOCK: strcpy(word, dataflow ? "(" : "["); break;
    case RLX_EVENT_BLOCK_END: strcpy(word, dataflow ? ")" : "]"); break;
    default:
        snprintf(word, sizeof word, "%s%s", at->event == RLX_EVENT_VALUE ? "?" : "",
                 rlx_show(ctx, &rlx_binding_var(at->binding)->node));
    }
    add_word(room, word);
}

static const char *const parts[] = { "body", "then", "else", "literal" };

static const char *walked(rlx_context *ctx, const rlx_function *f, bool into, char room[512])
{
    rlx_body_walk w = { 0 };
    room[0] = 0;
    assert_true(rlx_body_begin(&w, ctx, f->body));
    for (enum rlx_event_kind e; (e = rlx_body_next(&w)) != RLX_EVENT_DONE;) {
        const rlx_body_frame *top = rlx_body_top(&w);
        assert_int_equal(e, top->at.event);
        assert_int_equal(rlx_body_holder(&w) == NULL, top->part == RLX_FLOW_BODY);
        add_event(room, ctx, &top->at, parts[top->part]);
        if (e == RLX_EVENT_VALUE && into)
            assert_true(rlx_body_into(&w));
    }
    assert_int_equal(rlx_body_next(&w), RLX_EVENT_DONE);
    rlx_body_free(&w);
    return room;
}

static void test_walk(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    char room[512];
    const rlx_function *f = main_of(ctx, PROGRAM("all there is"));
    assert_string_equal(walked(ctx, f, true, room),
                        "{body ( a b ) [ ?y {then [ d y_then ] }then {else [ y_else ] }else y "
                        "?g {literal [ q ] }literal g z ] }body");
    assert_string_equal(walked(ctx, f, false, room), "{body ( a b ) [ ?y y ?g g z ] }body");
    assert_string_equal(walked(ctx, main_of(ctx, PROGRAM("nothing")), true, room), "{body }body");
    rlx_context_release(ctx);
}

/* Every binding has a VALUE here; a block that is skipped ends at once; a bare result has none. */
static void test_cursor(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    char room[512] = "";
    const rlx_function *f = main_of(ctx, PROGRAM("all there is"));
    rlx_seq_cursor c = rlx_seq_cursor_begin(f->body);
    while (rlx_seq_cursor_next(&c) != RLX_EVENT_DONE) {
        add_event(room, ctx, &c, "");
        if (c.event == RLX_EVENT_BLOCK && !rlx_seq_cursor_in_dataflow(&c))
            rlx_seq_cursor_skip_block(&c);
    }
    assert_string_equal(room, "{ ( ?a a ?b b ) [ ] }");
    c = rlx_seq_cursor_begin(f->params[0]);
    assert_ptr_equal(rlx_seq_cursor_result(&c), f->params[0]);
    assert_int_equal(rlx_seq_cursor_next(&c), RLX_EVENT_ENTER);
    assert_int_equal(rlx_seq_cursor_next(&c), RLX_EVENT_LEAVE);
    assert_int_equal(rlx_seq_cursor_next(&c), RLX_EVENT_DONE);
    rlx_context_release(ctx);
}

/* The walk without blocks; what holds a sequence is known from it. */
static void test_flow(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    char room[512] = "", word[64];
    rlx_flow w;
    assert_true(rlx_flow_build(&w, ctx, main_of(ctx, PROGRAM("all there is"))));
    for (size_t i = 0; i < w.events.len; i++) {
        const rlx_event *e = &w.events.data[i];
        const rlx_flow_seq *s = &w.seqs.data[e->seq];
        const char *mark = e->kind == RLX_EVENT_ENTER ? "{" : e->kind == RLX_EVENT_LEAVE ? "}" : "";
        const rlx_var *v = rlx_binding_var(e->binding);
        snprintf(word, sizeof word, "%s%s%s", mark,
                 *mark ? parts[s->part] : rlx_show(ctx, &v->node), e->dataflow ? "~" : "");
        add_word(room, word);
        if (*mark)
            assert_ptr_equal(w.events.data[s->owner].binding, e->binding);
        else
            assert_int_equal(rlx_flow_event_of(&w, &v->node), i);
        if (*mark)
            assert_int_equal(*mark == '{' ? s->enter : s->leave, i);
    }
    assert_string_equal(room,
                        "a~ b~ {then d y_then }then {else y_else }else y {literal q }literal g z");
    rlx_flow_free(&w, ctx);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_flow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
