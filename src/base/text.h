/* text.h: string slices and a growing text buffer with latched failure. */
#ifndef RLX_BASE_TEXT_H
#define RLX_BASE_TEXT_H

#include <stdarg.h>
#include <string.h>
#include "base/memory.h"

typedef struct rlx_slice { const char *data; size_t len; } rlx_slice; /* not NUL-terminated */
#define RLX_SLICE(literal) ((rlx_slice){ (literal), sizeof(literal) - 1 })
RLX_INLINE rlx_slice rlx_slice_z(const char *z) { return (rlx_slice){ z, z ? strlen(z) : 0 }; }
RLX_INLINE bool rlx_slice_equal(rlx_slice a, rlx_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}
RLX_INLINE bool rlx_slice_is(rlx_slice a, const char *z)
{
    return rlx_slice_equal(a, rlx_slice_z(z));
}

/* Text eight bytes at a time: the first byte is the lowest one, whatever the machine's byte
 * order is. Masks have bit 7 of each byte that was looked for; rlx_bytes_equal may also set
 * bits above the first true one. */
#define RLX_EACH_BYTE(c) ((uint64_t)(c) * 0x0101010101010101u)
RLX_INLINE uint64_t rlx_load4(const void *data)
{
    const unsigned char *p = data;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}
RLX_INLINE uint64_t rlx_load8(const void *data)
{
    return rlx_load4(data) | rlx_load4((const char *)data + 4) << 32;
}
RLX_INLINE uint64_t rlx_bytes_equal(uint64_t v, char c)
{
    uint64_t x = v ^ RLX_EACH_BYTE((unsigned char)c);
    return (x - RLX_EACH_BYTE(1)) & ~x & RLX_EACH_BYTE(0x80);
}
RLX_INLINE uint64_t rlx_bytes_within(uint64_t v, char low, char high) /* both ASCII */
{
    uint64_t x = v & RLX_EACH_BYTE(0x7f);
    return (x + RLX_EACH_BYTE(0x80 - low)) & ~(x + RLX_EACH_BYTE(0x7f - high)) & ~v &
           RLX_EACH_BYTE(0x80);
}
RLX_INLINE uint32_t rlx_first_byte(uint64_t mask) { return RLX_LOWEST_BIT(mask) / 8; }
/* Readable bytes behind every text that is looked at in this way. */
#define RLX_TEXT_PADDING 16

/* Growing text. After a failed allocation `failed` stays true and every call does nothing, so a
 * printer checks once at the end. `data` is NUL-terminated whenever len > 0. Text that would
 * grow beyond `most` bytes fails as well, with `too_large` set. */
typedef struct rlx_buf {
    rlx_memory *memory;
    char *data;
    size_t len, cap;
    size_t most; /* 0: any number */
    bool failed, too_large;
} rlx_buf;

void rlx_buf_init(rlx_buf *b, rlx_memory *m);
void rlx_buf_free(rlx_buf *b);              /* usable again */
bool rlx_buf_grow(rlx_buf *b, size_t more); /* capacity for `more` bytes plus NUL */
RLX_INLINE void rlx_buf_put(rlx_buf *b, const char *data, size_t len)
{
    if (RLX_UNLIKELY(len >= b->cap - b->len) && !rlx_buf_grow(b, len))
        return;
    if (RLX_UNLIKELY(b->failed))
        return;
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = 0;
}
#define rlx_buf_lit(b, literal) rlx_buf_put((b), (literal), sizeof(literal) - 1)
void rlx_buf_z(rlx_buf *b, const char *z);
void rlx_buf_char(rlx_buf *b, char c);
void rlx_buf_i64(rlx_buf *b, int64_t value);
void rlx_buf_u64(rlx_buf *b, uint64_t value);
/* printf for the few formats we use (%s %d %lld %zu %.*s %x %c); never depends on the locale:
 * no floats. */
void rlx_buf_format(rlx_buf *b, const char *format, ...) RLX_PRINTF(2, 3);
void rlx_buf_vformat(rlx_buf *b, const char *format, va_list args);

/* UTF-8: length of the valid prefix of data (== len if all valid; NUL bytes are valid here). */
size_t rlx_utf8_valid(const char *data, size_t len);
/* Bytes that are not UTF-8 become `?`: names of files, characters that were cut. */
void rlx_utf8_mend(char *data, size_t len);
/* Number of characters in valid UTF-8. */
size_t rlx_utf8_count(const char *data, size_t len);
/* Writes code point c, returns bytes written (1..4), 0 if c is no scalar value. */
size_t rlx_utf8_encode(uint32_t c, char out[4]);

/* Edit distance (insert, delete, replace, swap of neighbours), capped at `limit` + 1: for "did
 * you mean". Names that still differ over more than 120 bytes count as limit + 1. */
size_t rlx_edit_distance(rlx_slice a, rlx_slice b, size_t limit);

/* Is it a word that Python keeps for itself? Is it a name: ASCII letters, digits and '_', no
 * digit first, and no such word? */
bool rlx_is_keyword(const char *text, size_t len);
bool rlx_is_identifier(rlx_slice s);

#endif
