/* opcode.c: the table of VM instructions, and names of the sections of a file. */
#include "format/opcode.h"

#include "format/rlx_file.h"

static const rlx_opcode_row rows[RLX_OPCODE_COUNT] = {
#define OP(name, text, layout, help) [RLX_OP_##name] = { text, layout, help },
#include "format/opcode.def"
#undef OP
};

const rlx_opcode_row *rlx_opcode_info(uint32_t opcode)
{
    return opcode < RLX_OPCODE_COUNT ? &rows[opcode] : NULL;
}

uint32_t rlx_opcode_jump(uint32_t opcode)
{
    const char *jump = opcode < RLX_OPCODE_COUNT ? strchr(rows[opcode].layout, 'j') : NULL;
    return jump ? (uint32_t)(jump - rows[opcode].layout) + 1 : 0;
}

const char *rlx_section_name(uint32_t kind)
{
    static const char *const names[RLX_SECTION_END] = {
        [RLX_SECTION_NAMES] = "names",         [RLX_SECTION_FUNCTIONS] = "functions",
        [RLX_SECTION_CODE] = "code",           [RLX_SECTION_KERNELS] = "kernels",
        [RLX_SECTION_CONSTANTS] = "constants", [RLX_SECTION_DESCS] = "descriptions",
        [RLX_SECTION_PACKED] = "packed",       [RLX_SECTION_PLACES] = "places",
        [RLX_SECTION_MODULE] = "module",       [RLX_SECTION_NATIVE] = "native",
        [RLX_SECTION_LATE] = "late",
    };
    return kind < RLX_SECTION_END ? names[kind] : NULL;
}
