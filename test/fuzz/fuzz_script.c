/* fuzz_script.c: libFuzzer target over all that reads text; see `make fuzz-script`. What must
 * hold is in support/text_case.h. */
#include "text_case.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    text_case_result result = text_case((const char *)data, size, TEXT_CASE_COMPILE);
    if (!result.broken)
        return 0;
    fprintf(stderr, "%s%s%s: %s\n", result.broken, result.pass ? " after " : "",
            result.pass ? result.pass : "", result.detail);
    abort();
}
