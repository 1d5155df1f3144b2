/* micro.c: the sets of functions, and which of them this machine has. */
/* built for size */
#include "micro/micro_int.h"

#include <string.h>
#if defined(RLX_NEON_DOT_SET)
#include <sys/auxv.h>
#endif

/* The widest first. */
static const rlx_micro_set *set_of_machine(int i)
{
#if defined(RLX_X86_SETS)
    bool avx2 = RLX_CPU_HAS("avx2") && RLX_CPU_HAS("fma") && RLX_CPU_HAS("bmi2");
    bool avx512 = avx2 && RLX_CPU_HAS("avx512f") && RLX_CPU_HAS("avx512vl") &&
                  RLX_CPU_HAS("avx512bw") && RLX_CPU_HAS("avx512dq");
    bool vnni = avx512 && RLX_CPU_HAS("avx512vnni");
#if defined(RLX_AMX_SET)
    if (i == 0)
        return vnni && RLX_CPU_HAS("amx-int8") ? &rlx_micro_avx512amx : NULL;
#endif
    if (i == 1)
        return vnni ? &rlx_micro_avx512vnni : NULL;
    if (i == 2)
        return avx512 ? &rlx_micro_avx512 : NULL;
    if (i == 3)
        return avx2 ? &rlx_micro_avx2 : NULL;
#elif defined(RLX_NEON_SET)
#if defined(RLX_NEON_DOT_SET)
    if (i == 0)
        return getauxval(AT_HWCAP) & 1ul << 20 ? &rlx_micro_neondot : NULL; /* HWCAP_ASIMDDP */
#endif
    if (i == 1)
        return &rlx_micro_neon;
#endif
    return i == 4 ? &rlx_micro_baseline : NULL;
}

const rlx_micro_set *rlx_micro_find(const char *name)
{
    for (int i = 0; i < 5; i++) {
        const rlx_micro_set *s = set_of_machine(i);
        if (s && (!name || strcmp(name, s->name) == 0))
            return s;
    }
    return NULL;
}
