/* test_text.c: texts that are nearly right: every program of the tree cut at every byte and with
 * every byte replaced (the short form takes a sample). What must hold for each is in
 * support/text_case.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glob.h>

#include "text_case.h"

typedef struct program { char *name, *text; size_t len; } program;
typedef struct programs { program *items; size_t count; } programs;

/* ---- the programs of the tree --------------------------------------------------------------- */

static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL;
    size_t room = 0;
    *len = 0;
    do {
        room = room ? room * 2 : 1 << 16;
        text = realloc(text, room);
        assert_non_null(text);
        *len += fread(text + *len, 1, room - *len, f);
    } while (*len == room);
    fclose(f);
    text[*len] = 0;
    return text;
}

static void add(programs *p, const char *file, const char *name, const char *text, size_t len)
{
    p->items = realloc(p->items, (p->count + 1) * sizeof *p->items);
    program *one = &p->items[p->count++];
    size_t room = strlen(file) + strlen(name) + 3;
    one->name = malloc(room);
    one->text = malloc(len + 1);
    snprintf(one->name, room, "%s:%s", file, name);
    memcpy(one->text, text, len);
    one->text[len] = 0;
    one->len = len;
}

/* The lines of a case of golden text up to the next section, if they are a program. */
static void add_section(programs *p, const char *file, const char *name, const char *begin,
                        const char *end)
{
    size_t len = (size_t)(end - begin);
    char *copy = malloc(len + 1);
    memcpy(copy, begin, len);
    copy[len] = 0;
    if (strstr(copy, "@I.ir_module") || strstr(copy, "@R.function") ||
        strstr(copy, "@T.prim_func"))
        add(p, file, name, copy, len);
    free(copy);
}

static void add_golden(programs *p, const char *file)
{
    size_t len;
    char *text = read_file(file, &len), name[80] = "";
    assert_non_null(text);
    const char *begin = NULL;
    for (char *line = text; line < text + len;) {
        char *end = strchr(line, '\n');
        end = end ? end + 1 : text + len;
        bool heading = !strncmp(line, "--- ", 4) || !strncmp(line, "=== ", 4);
        if (heading && begin)
            add_section(p, file, name, begin, line);
        if (heading)
            begin = line[0] == '-' ? end : NULL;
        if (heading && line[0] == '=')
            snprintf(name, sizeof name, "%.*s", (int)(end - line > 64 ? 60 : end - line - 5),
                     line + 4);
        line = end;
    }
    if (begin)
        add_section(p, file, name, begin, text + len);
    free(text);
}

static int collect(void **state)
{
    programs *p = calloc(1, sizeof *p);
    glob_t found;
    if (glob("test/golden/*/*.test", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_golden(p, found.gl_pathv[i]);
    globfree(&found);
    if (glob("examples/*/*.py", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            size_t len;
            char *text = read_file(found.gl_pathv[i], &len);
            add(p, found.gl_pathv[i], "", text, len);
            free(text);
        }
    globfree(&found);
    *state = p;
    return p->count < 100; /* they are there */
}

static int drop(void **state)
{
    programs *p = *state;
    for (size_t i = 0; i < p->count; i++) {
        free(p->items[i].name);
        free(p->items[i].text);
    }
    free(p->items);
    free(p);
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

enum { MOST_SHOWN = 20 };
typedef struct tally {
    size_t cases, accepted, compiled, broken;
    unsigned long long random;
    size_t step;
} tally;

/* In the short form one position of `step` is taken, which one depends on chance with a fixed
 * seed. */
static tally start(size_t step)
{
    bool sanitized = getenv("RELAX_VARIANT") && !strcmp(getenv("RELAX_VARIANT"), "asan");
    return (tally){ .random = 88172645463325252ull,
                    .step = getenv("RELAX_LONG") ? 1 : step * (sanitized ? 4 : 1) };
}

static size_t chance(tally *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return (size_t)(t->random >> 11);
}

static bool taken(tally *t) { return t->step == 1 || chance(t) % t->step == 0; }

static void hold(tally *t, const char *name, size_t at, const char *text, size_t len,
                 enum text_case_way way)
{
    text_case_result result = text_case(text, len, way);
    t->cases++;
    t->accepted += result.accepted;
    t->compiled += result.compiled;
    if (!result.broken)
        return;
    if (t->broken++ < MOST_SHOWN)
        print_error("%s, at %zu: %s%s%s: %s\n----\n%.*s\n----\n", name, at, result.broken,
                    result.pass ? " after " : "", result.pass ? result.pass : "", result.detail,
                    (int)(len > 4000 ? 4000 : len), text);
}

static void tell(const tally *t, const char *what)
{
    printf("%s: %zu texts, %zu accepted, %zu compiled\n", what, t->cases, t->accepted,
           t->compiled);
    if (t->broken)
        fail_msg("%zu of them do not hold", t->broken);
}

/* ---- the tests ------------------------------------------------------------------------------ */

static void whole_programs(void **state)
{
    programs *p = *state;
    tally t = start(1);
    for (size_t i = 0; i < p->count; i++)
        hold(&t, p->items[i].name, 0, p->items[i].text, p->items[i].len, TEXT_CASE_COMPILE);
    tell(&t, "whole");
    assert_true(t.accepted > p->count / 2);
}

/* The text lies at the end of its block, so that reading past it is seen by the sanitizers. */
static void every_prefix(void **state)
{
    programs *p = *state;
    tally t = start(8);
    for (size_t i = 0; i < p->count; i++)
        for (size_t n = 0; n < p->items[i].len; n++) {
            if (!taken(&t))
                continue;
            char *copy = malloc(n + 1);
            memcpy(copy + 1, p->items[i].text, n);
            hold(&t, p->items[i].name, n, copy + 1, n, TEXT_CASE_CHECK);
            free(copy);
        }
    tell(&t, "prefixes");
}

static void every_byte_replaced(void **state)
{
    static const char bytes[] = { 0,    '"',  '\'', '(', ')',  ']',        '{', '\n',
                                  '\r', '\t', ' ',  '#', '\\', (char)0xFF, '0', '9',
                                  'x',  '.',  ',',  ':', '-',  '*',        '@', '=' };
    programs *p = *state;
    tally t = start(800);
    for (size_t i = 0; i < p->count; i++)
        for (size_t n = 0; n < p->items[i].len; n++)
            for (size_t k = 0; k < sizeof bytes; k++) {
                if (!taken(&t))
                    continue;
                char was = p->items[i].text[n];
                p->items[i].text[n] = bytes[k];
                hold(&t, p->items[i].name, n, p->items[i].text, p->items[i].len, TEXT_CASE_CHECK);
                p->items[i].text[n] = was;
            }
    tell(&t, "bytes replaced");
    assert_true(t.accepted > 0);
}

/* A piece of one program in the place of a piece of another. */
static void pieces_exchanged(void **state)
{
    programs *p = *state;
    tally t = start(1);
    size_t rounds = getenv("RELAX_LONG") ? 200000 : t.step > 1 ? 500 : 2000;
    for (size_t i = 0; i < rounds; i++) {
        const program *a = &p->items[chance(&t) % p->count], *b = &p->items[chance(&t) % p->count];
        size_t from = chance(&t) % (a->len + 1), to = from + chance(&t) % 40,
               piece = chance(&t) % (b->len + 1), len = chance(&t) % 80;
        to = to < a->len ? to : a->len;
        len = len < b->len - piece ? len : b->len - piece;
        char *text = malloc(a->len + len + 1);
        memcpy(text, a->text, from);
        memcpy(text + from, b->text + piece, len);
        memcpy(text + from + len, a->text + to, a->len - to);
        hold(&t, a->name, from, text, from + len + a->len - to, TEXT_CASE_COMPILE);
        free(text);
    }
    tell(&t, "pieces exchanged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_programs),
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(every_byte_replaced),
        cmocka_unit_test(pieces_exchanged),
    };
    return cmocka_run_group_tests(tests, collect, drop);
}
