/*- test_relay_cases.c: test/relay/cases.txt: texts of Relay with the type that each has, or the code and column of its
 * mistake.
 *
 *     TEXT :: TYPE            an expression; or definitions, and the type is that of @main
 *     TEXT !! CODE COLUMN     the first diagnostic
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <relax/relax.h>

enum { MOST = 4000 };
static const char version[] = "#[version = \"0.0.5\"] ";

static bool is_module(const char *text)
{
    return !strncmp(text, "def ", 4) || !strncmp(text, "type ", 5) || !strncmp(text, "import ", 7) ||
           !strncmp(text, "extern ", 7);
}

static relax_relay_module *read_case(relax_context *ctx, const char *text, size_t *lead)
{
    char all[MOST + sizeof version];
    *lead = is_module(text) ? sizeof version - 1 : 0;
    snprintf(all, sizeof all, "%s%s", *lead ? version : "", text);
    relax_relay_module *m = relax_relay_module_parse(ctx, "case", 4, all, strlen(all));
    if (m && relax_relay_module_infer(m) == RELAX_OK)
        return m;
    relax_relay_module_destroy(m);
    return NULL;
}

static bool has_type(relax_context *ctx, const char *text, const char *type)
{
    size_t lead;
    relax_relay_module *m = read_case(ctx, text, &lead);
    relax_bytes *found = m ? relax_relay_module_type_of(m, "main", lead ? 4 : 0) : NULL;
    bool same = found && !strcmp(relax_bytes_data(found), type);
    if (!same)
        print_error("%s\n  expected %s\n  found    %s\n", text, type,
                    found ? relax_bytes_data(found)
                    : relax_context_num_diagnostics(ctx) ? relax_diagnostic_message(ctx, 0, NULL) : "nothing");
    relax_bytes_release(found);
    relax_relay_module_destroy(m);
    return same;
}

static bool has_mistake(relax_context *ctx, const char *text, const char *code, uint32_t column)
{
    size_t lead;
    uint32_t line = 0, at = 0;
    relax_relay_module *m = read_case(ctx, text, &lead);
    const char *found = relax_context_num_diagnostics(ctx) ? relax_diagnostic_code(ctx, 0) : "none";
    if (relax_context_num_diagnostics(ctx))
        relax_place_locate(ctx, relax_diagnostic_place(ctx, 0), &line, &at, NULL);
    at -= at > lead ? (uint32_t)lead : 0;
    bool same = !m && !strcmp(found, code) && at == column;
    if (!same)
        print_error("%s\n  expected %s at %u\n  found    %s at %u\n", text, code, column, found, at);
    relax_relay_module_destroy(m);
    return same;
}

static bool run_case(char *line)
{
    char *split = strstr(line, " :: "), code[16] = "";
    bool accepted = split != NULL, same;
    unsigned column = 0;
    if (!split)
        split = strstr(line, " !! ");
    if (!split || (!accepted && sscanf(split + 4, "%15s %u", code, &column) != 2)) {
        print_error("no case: %s\n", line);
        return false;
    }
    *split = 0;
    relax_context *ctx = relax_context_create(NULL);
    assert_non_null(ctx);
    same = accepted ? has_type(ctx, line, split + 4) : has_mistake(ctx, line, code, column);
    relax_context_release(ctx);
    return same;
}

static void texts_have_their_types_and_mistakes(void **unused)
{
    char line[MOST];
    size_t count = 0, wrong = 0;
    FILE *f = fopen("test/relay/cases.txt", "r");
    (void)unused;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (!line[0] || line[0] == '#')
            continue;
        count++;
        wrong += !run_case(line);
    }
    fclose(f);
    print_message("%zu cases, %zu wrong\n", count, wrong);
    assert_int_equal(wrong, 0);
    assert_true(count >= 290);
}

static void types_are_found_by_place(void **unused)
{
    static const char text[] = "#[version = \"0.0.5\"]\n"
                               "type L[A] { C(A, L[A]), N, }\n"
                               "def @main(%x: Tensor[(2, 3), float32]) {\n"
                               "  let %y = nn.batch_flatten(%x);\n"
                               "  match (C(%y, N)) { C(%h, _) => (%h, shape_of(%h)), N => (%y, shape_of(%y)) }\n"
                               "}\n";
    static const struct { uint32_t line, column; const char *type; } at[] = {
        { 3, 12, "Tensor[(2, 3), float32]" }, { 4, 8, "Tensor[(2, 3), float32]" },
        { 4, 30, "Tensor[(2, 3), float32]" }, { 5, 24, "Tensor[(2, 3), float32]" }, { 5, 39, "Tensor[(2), int32]" },
        { 5, 14, "L[Tensor[(2, 3), float32]]" },
    };
    (void)unused;
    relax_context *ctx = relax_context_create(NULL);
    relax_relay_module *m = relax_relay_module_parse(ctx, "m", 1, text, sizeof text - 1);
    assert_non_null(m);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        relax_bytes *type = relax_relay_module_type_at(m, at[i].line, at[i].column);
        assert_non_null(type);
        assert_string_equal(relax_bytes_data(type), at[i].type);
        relax_bytes_release(type);
    }
    assert_null(relax_relay_module_type_at(m, 99, 1));
    assert_null(relax_relay_module_type_at(m, 0, 0));
    assert_null(relax_relay_module_type_of(m, "none", 4));
    assert_string_equal(relax_relay_module_kind_of(m, "L", 1), "AdtHandle");
    assert_string_equal(relax_relay_module_kind_of(m, "L[int32]", 8), "Type");
    assert_null(relax_relay_module_kind_of(m, "L[int32, int32]", 15));
    relax_relay_module_destroy(m);
    relax_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_their_types_and_mistakes),
        cmocka_unit_test(types_are_found_by_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
