/* test_codes.c: the table of diagnostic codes: complete, findable, written for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <relax/context.h>
#include "format/codes.h"

static void rows_are_whole(void **unused)
{
    for (int id = RLX_CODE_NONE + 1; id < RLX_CODE_COUNT; id++) {
        const rlx_code *c = rlx_code_row((enum rlx_code_id)id);
        assert_non_null(c);
        if (strlen(c->name) != 4 || c->name[0] < 'A' || c->name[2] < '0' || c->name[3] > '9')
            fail_msg("name: %s", c->name);
        const char *title, *rule, *bad, *cure;
        assert_int_equal(relax_code_explain(c->name, strlen(c->name), &title, &rule, &bad, &cure),
                         RELAX_OK);
        if (!title || !rule || !cure)
            fail_msg("%s: a text is missing", c->name);
        const char *texts[] = { title, rule, cure };
        for (int i = 0; i < 3; i++)
            if (texts[i][strlen(texts[i]) - 1] == '.' || strchr(texts[i], '\n'))
                fail_msg("%s: '%s' ends with a full stop or has several lines", c->name, texts[i]);
        if (bad && bad[strlen(bad) - 1] != '\n')
            fail_msg("%s: the example ends with a line end", c->name);
        assert_true(c->severity <= RLX_SEVERITY_NOTE && c->status > RELAX_OK &&
                    c->status < RELAX_ERROR_USER);
        assert_ptr_equal(rlx_code_find(rlx_slice_z(c->name)), c);
        assert_int_equal(rlx_code_id_of(c), id);
    }
}

/* Numbers of the language reference, without gaps. */
static const struct { const char *letters; int count; } families[] = {
    { "NF", 10 }, { "WF", 24 }, { "WX", 10 }, { "TY", 16 }, { "PU", 6 }, { "VD", 3 }, { "RT", 22 },
    { "PA", 1 }, { "RY", 1 }, { "OP", 1 }, { "LD", 1 }, { "CG", 1 }, { "IO", 1 }, { "NP", 1 }, { "IN", 1 },
};

static void families_are_complete(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(families); i++) {
        for (int n = 1; n <= families[i].count; n++) {
            char name[32];
            snprintf(name, sizeof name, "%s%02d", families[i].letters, n);
            if (!rlx_code_find(rlx_slice_z(name)))
                fail_msg("missing: %s", name);
        }
    }
    assert_null(rlx_code_find(RLX_SLICE("RT23")));
    assert_null(rlx_code_find(RLX_SLICE("WF25")));
}

static void finds_by_name(void **unused)
{
    assert_ptr_equal(rlx_code_find(RLX_SLICE("wf03")), rlx_code_row(RLX_WF03));
    assert_null(rlx_code_find(RLX_SLICE("WF3")));
    assert_null(rlx_code_find(RLX_SLICE("WF033")));
    assert_null(rlx_code_find(RLX_SLICE("")));
    assert_null(rlx_code_row(RLX_CODE_NONE));
    assert_null(rlx_code_row(RLX_CODE_COUNT));
    assert_null(rlx_code_row((enum rlx_code_id)-1));
    rlx_code copy = *rlx_code_row(RLX_WF03);
    assert_int_equal(rlx_code_id_of(&copy), RLX_CODE_NONE);
    assert_int_equal(rlx_code_id_of(NULL), RLX_CODE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(families_are_complete),
        cmocka_unit_test(finds_by_name),
    };
    return cmocka_run_group_tests_name("codes", tests, NULL, NULL);
}
