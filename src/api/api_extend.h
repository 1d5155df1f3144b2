/* api_extend.h: what the files behind relax/extend.h share. */
#ifndef RLX_API_EXTEND_H
#define RLX_API_EXTEND_H

#include "api/api_int.h"

#define RLX_API_LONGEST_NAME 200

/* Letters, digits and '_', no digit first, not too long. */
bool rlx_api_is_identifier(rlx_slice s);

/* Memory for a row, zeroed, and its texts (copied, NUL-terminated): the context's. NULL or false:
 * out of memory. A row must be there before its texts. */
void *rlx_api_row_new(relax_context *ctx, size_t size);
bool rlx_api_row_text(relax_context *ctx, const char *text, size_t len, rlx_slice *out);
/* The status of a registration; one that failed lets go of the host's object. */
relax_status rlx_api_registered(relax_context *ctx, bool good, size_t errors, void *user,
                                void (*destroy)(void *user));

#endif
