/* json.h: JSON in and out. Values live in a region. Nesting is limited to RLX_JSON_MAX_DEPTH. */
#ifndef RLX_BASE_JSON_H
#define RLX_BASE_JSON_H

#include "base/region.h"
#include "base/text.h"

#define RLX_JSON_MAX_DEPTH 200
enum {
    RLX_JSON_NULL, RLX_JSON_BOOL, RLX_JSON_INT, RLX_JSON_FLOAT, RLX_JSON_STRING, RLX_JSON_ARRAY,
    RLX_JSON_OBJECT
};
typedef struct rlx_json rlx_json;
struct rlx_json {
    uint8_t kind;
    bool boolean;
    int64_t integer;
    double number;           /* also set for INT */
    rlx_slice string;        /* decoded */
    rlx_slice key;           /* when member of an object */
    rlx_json *first, *next;  /* children in order; sibling */
    size_t count;
};
/* Strict (RFC 8259): no comments, no NaN; integers that do not fit int64 are FLOAT. The text
 * must be UTF-8, its strings are decoded; a lone surrogate escape is an error. Linear in the
 * text. NULL on malformed text (*error_at: byte offset, *why: static text) or out of memory
 * (*why "out of memory"). */
const rlx_json *rlx_json_parse(rlx_region *r, rlx_slice text, size_t *error_at, const char **why);
/* NULL if absent or not an object; the last one of that key */
const rlx_json *rlx_json_member(const rlx_json *object, const char *key);
void rlx_json_quote(rlx_buf *b, rlx_slice s);  /* "..." with escapes, invalid UTF-8 as \ufffd */

/* base64, as used by metadata. Padding is required. false: malformed or out of memory (*out is
 * NULL then). */
/* white space ignored */
bool rlx_base64_decode(rlx_slice text, rlx_region *r, unsigned char **out, size_t *len);
void rlx_base64_encode(rlx_buf *b, const void *data, size_t len);

#endif
