/* fault.h: a failure on the run side, before it becomes an owned error. Lives on a stack,
 * allocates nothing. */
#ifndef RLX_FORMAT_FAULT_H
#define RLX_FORMAT_FAULT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/base.h"
#include "format/codes.h"

typedef struct rlx_fault {
    uint16_t code;   /* enum rlx_code_id; RLX_CODE_NONE: no fault */
    uint16_t inner;  /* RT06, RT07: the reason (RT02 ...) */
    char text[252];  /* message without the code, cut if longer */
} rlx_fault;

/* No fault; its text is not cleared, which would cost as much as the rest of a short call. */
static inline void rlx_fault_begin(rlx_fault *f)
{
    f->code = f->inner = 0;
    f->text[0] = 0;
}

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

/* What the failure of an assertion is. Statements and kernels hold the number, so numbers stay. */
enum rlx_assertion {
    RLX_ASSERTION_OTHER, /* RT15: what a program asserts by itself */
    RLX_ASSERTION_SIZES, /* RT05: sizes that inference took on trust */
    RLX_ASSERTION_INDEX, /* RT09 */
    RLX_ASSERTION_VALUE, /* RT14 */
    RLX_ASSERTION_COUNT
};
enum rlx_code_id rlx_assertion_code(uint32_t assertion); /* RT15 also for a number that is none */

/* In a program's text the message begins with the code: "RT05: sizes differ". What stands before
 * the message, "" for OTHER; and the other way: what a message begins with, which is taken off. */
const char *rlx_assertion_mark(uint32_t assertion);
enum rlx_assertion rlx_assertion_take(rlx_slice *message);

#endif
