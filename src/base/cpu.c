/* cpu.c: name and features of this machine's processor, as compilers spell them. */
/* built for size */
#include "base/cpu.h"

#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

const char *rlx_cpu_target(void)
{
    return RLX_ARCH "-linux";
}

/* Model and feature bits as the CPU gives them; leaf 1 EBX (which core this is) is left out,
 * and of ECX the bit that says whether the system saves the registers stays in. */
void rlx_cpu_features(char out[RLX_CPU_TEXT])
{
    memset(out, 0, RLX_CPU_TEXT);
#if defined(__x86_64__)
    unsigned r[8] = { 0 }, ignored;
    __get_cpuid(1, &r[0], &ignored, &r[1], &r[2]);
    __get_cpuid_count(7, 0, &ignored, &r[3], &r[4], &r[5]);
    __get_cpuid_count(7, 1, &r[6], &ignored, &ignored, &ignored);
    __get_cpuid(0x80000001u, &ignored, &ignored, &r[7], &ignored);
    snprintf(out, RLX_CPU_TEXT, "%08x-%08x-%08x-%08x-%08x-%08x-%08x-%08x", r[0], r[1], r[2], r[3],
             r[4], r[5], r[6], r[7]);
#else
    snprintf(out, RLX_CPU_TEXT, "%lx-%lx", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
}

bool rlx_cpu_has_crc32c(void)
{
#if !defined(RLX_CRC32C_8)
    return false;
#elif defined(__x86_64__)
    return RLX_CPU_HAS("sse4.2");
#else
    return (getauxval(AT_HWCAP) & 1ul << 7) != 0; /* HWCAP_CRC32 */
#endif
}
