/* pass_table.c: the rows of pass.def, found by name. */
#include "transform/transform_int.h"

#define NO_OPTIONS NULL, 0
#define OPTION(name, type, deflt, help) { #name, RLX_ATTR_##type, deflt, help }
#define OPTIONS(...)                          \
    (const rlx_pass_option[]){ __VA_ARGS__ }, \
        sizeof((const rlx_pass_option[]){ __VA_ARGS__ }) / sizeof(rlx_pass_option)
#define PASS(name, options, stage, needs, keeps, help) \
    { #name, rlx_pass_##name, options, RLX_PASS_##stage, needs, keeps, help },
static const rlx_pass_row passes[] = {
#include "transform/pass.def"
};
#undef PASS

bool rlx_pass_is_named(const char *name, rlx_slice text)
{
    if (strlen(name) != text.len)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (name[i] != (text.data[i] == '-' ? '_' : text.data[i]))
            return false;
    return true;
}

const rlx_pass_row *rlx_pass_at(size_t index)
{
    return index < RLX_COUNT(passes) ? &passes[index] : NULL;
}

const rlx_pass_row *rlx_pass_find(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(passes); i++)
        if (rlx_pass_is_named(passes[i].name, name))
            return &passes[i];
    return NULL;
}

const char *rlx_pass_suggest(rlx_slice name)
{
    const char *best = NULL;
    size_t limit = 3;
    for (size_t i = 0; i < RLX_COUNT(passes); i++) {
        size_t d = rlx_edit_distance(name, rlx_slice_z(passes[i].name), limit);
        if (d <= limit) {
            best = passes[i].name;
            limit = d ? d - 1 : 0;
        }
    }
    /* what it begins with: legalize */
    for (size_t i = 0; !best && name.len > 3 && i < RLX_COUNT(passes); i++)
        if (!strncmp(passes[i].name, name.data, name.len))
            best = passes[i].name;
    return best;
}
