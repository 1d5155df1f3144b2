/* codes.c: the table of diagnostic codes, and looking in it. */
#include "format/codes.h"
#include "format/fault.h"

static const rlx_code rows[RLX_CODE_COUNT] = {
#define CODE(id, name_text, severity_value, status_value, title_text, rule_text, bad_text,  \
             cure_text)                                                                     \
    [RLX_##id] = { .name = name_text, .severity = severity_value, .status = status_value },
#include "format/codes.def"
#undef CODE
};

const rlx_code *rlx_code_row(enum rlx_code_id id)
{
    return (int)id > RLX_CODE_NONE && (int)id < RLX_CODE_COUNT ? &rows[id] : NULL;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool same_name(rlx_slice text, const char *name)
{
    if (text.len != strlen(name))
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (upper(text.data[i]) != name[i])
            return false;
    return true;
}

const rlx_code *rlx_code_find(rlx_slice name)
{
    for (int id = RLX_CODE_NONE + 1; id < RLX_CODE_COUNT; id++)
        if (same_name(name, rows[id].name))
            return &rows[id];
    return NULL;
}

enum rlx_code_id rlx_code_id_of(const rlx_code *row)
{
    for (int id = RLX_CODE_NONE + 1; id < RLX_CODE_COUNT; id++)
        if (row == &rows[id])
            return (enum rlx_code_id)id;
    return RLX_CODE_NONE;
}

/* ---- assertions ----------------------------------------------------------------------------- */

static const struct { enum rlx_code_id code; const char *mark; } assertions[] = {
    [RLX_ASSERTION_OTHER] = { RLX_RT15, "" },
    [RLX_ASSERTION_SIZES] = { RLX_RT05, "RT05: " },
    [RLX_ASSERTION_INDEX] = { RLX_RT09, "RT09: " },
    [RLX_ASSERTION_VALUE] = { RLX_RT14, "RT14: " },
};

enum rlx_code_id rlx_assertion_code(uint32_t assertion)
{
    return assertion < RLX_ASSERTION_COUNT ? assertions[assertion].code : RLX_RT15;
}

const char *rlx_assertion_mark(uint32_t assertion)
{
    return assertion < RLX_ASSERTION_COUNT ? assertions[assertion].mark : "";
}

enum rlx_assertion rlx_assertion_take(rlx_slice *message)
{
    for (int i = RLX_ASSERTION_OTHER + 1; i < RLX_ASSERTION_COUNT; i++) {
        size_t len = strlen(assertions[i].mark);
        if (message->len < len || memcmp(message->data, assertions[i].mark, len) != 0)
            continue;
        *message = (rlx_slice){ message->data + len, message->len - len };
        return (enum rlx_assertion)i;
    }
    return RLX_ASSERTION_OTHER;
}
