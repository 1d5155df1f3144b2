/* native_abi.c: the interface of native kernels as text of C; is a file a shared object? */
#include "format/native_abi.h"

#include <elf.h>
#include <string.h>

bool rlx_native_is_object(const void *bytes, size_t size)
{
    Elf64_Ehdr h;
    if (size < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_type != ET_DYN ||
        h.e_machine != RLX_ELF_MACHINE || h.e_phentsize != sizeof(Elf64_Phdr) || !h.e_phnum)
        return false;
    if (h.e_phoff > size || h.e_phnum > (size - h.e_phoff) / sizeof(Elf64_Phdr))
        return false;
    bool dynamic = false;
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, (const char *)bytes + h.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_LOAD && (p.p_offset > size || p.p_filesz > size - p.p_offset))
            return false; /* cut short: mapping it would end in SIGBUS */
        dynamic |= p.p_type == PT_DYNAMIC && p.p_offset <= size && p.p_filesz <= size - p.p_offset;
    }
    return dynamic;
}
