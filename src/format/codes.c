/* codes.c: the table of diagnostic codes, and looking in it. */
#include "format/codes.h"

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
