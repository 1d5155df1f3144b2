/* fault.h: a failure on the run side, before it becomes an owned error. Lives on a stack,
 * allocates nothing. */
#ifndef RLX_FORMAT_FAULT_H
#define RLX_FORMAT_FAULT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/compiler.h"
#include "format/codes.h"

typedef struct rlx_fault {
    uint16_t code;   /* enum rlx_code_id; RLX_CODE_NONE: no fault */
    uint16_t inner;  /* RT06, RT07: the reason (RT02 ...) */
    char text[252];  /* message without the code, cut if longer */
} rlx_fault;

/* Fills *f (NULL is fine) and returns false, so that checks read `return rlx_fail(f, RLX_RT04,
 * "...")`. Only integer and string formats: no locale in sight. */
RLX_PRINTF(3, 4)
static inline bool rlx_fail(rlx_fault *f, enum rlx_code_id code, const char *format, ...)
{
    if (!f)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    f->code = (uint16_t)code;
    f->inner = 0;
    return false;
}

/* Code of a failed assertion of a kernel: "RT05: sizes differ" names its own (*text then loses
 * it), others are RT15. Lowered operators check so what inference took on trust. */
static inline enum rlx_code_id rlx_assertion_code(const char **text)
{
    static const struct {
        char name[7];
        enum rlx_code_id code;
    } named[] = { { "RT05: ", RLX_RT05 }, { "RT09: ", RLX_RT09 }, { "RT14: ", RLX_RT14 } };
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (strncmp(*text, named[i].name, 6) == 0)
            return *text += 6, named[i].code;
    return RLX_RT15;
}

#endif
