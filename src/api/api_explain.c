/* api_explain.c: what the diagnostic codes mean. The texts are as large as the VM, so the
 * run-only library does without. */
#include <relax/context.h>
#include "base/base.h"
#include "format/codes.h"

typedef struct explanation { const char *title, *rule, *bad, *cure; } explanation;

static const explanation explanations[RLX_CODE_COUNT] = {
#define CODE(id, name, severity, status, title_text, rule_text, bad_text, cure_text) \
    [RLX_##id] = { title_text, rule_text, bad_text, cure_text },
#include "format/codes.def"
#undef CODE
};

/* Texts that show a mistake, and the same ones without it. */
static const struct { const char *bad, *good; } examples[RLX_CODE_COUNT] = {
#define EXAMPLE(id, bad_text, good_text) [RLX_##id] = { bad_text, good_text },
#include "format/examples.def"
#undef EXAMPLE
};

static void put_text(const char **out, const char *text)
{
    if (out)
        *out = text && *text ? text : NULL;
}

relax_status relax_code_explain(const char *code, size_t code_len, const char **title,
                                const char **rule, const char **bad_example, const char **cure)
{
    const rlx_code *row = code ? rlx_code_find((rlx_slice){ code, code_len }) : NULL;
    enum rlx_code_id id = rlx_code_id_of(row);
    const explanation *e = row ? &explanations[id] : NULL;
    const char *bad = examples[id].bad ? examples[id].bad : e ? e->bad : NULL;
    put_text(title, e ? e->title : NULL);
    put_text(rule, e ? e->rule : NULL);
    put_text(bad_example, bad);
    put_text(cure, e ? e->cure : NULL);
    return row ? RELAX_OK : RELAX_ERROR_NOT_FOUND;
}

const char *relax_code_cured_example(const char *code, size_t code_len)
{
    const rlx_code *row = code ? rlx_code_find((rlx_slice){ code, code_len }) : NULL;
    return examples[rlx_code_id_of(row)].good;
}
