/* sha256.h: the digest of FIPS 180-4. */
#ifndef RLX_BASE_SHA256_H
#define RLX_BASE_SHA256_H

#include "base/compiler.h"

#define RLX_SHA256_BYTES 32
typedef struct rlx_sha256_state {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[64];
} rlx_sha256_state;
void rlx_sha256_begin(rlx_sha256_state *s);
void rlx_sha256_add(rlx_sha256_state *s, const void *data, size_t len);
void rlx_sha256_end(rlx_sha256_state *s, unsigned char out[RLX_SHA256_BYTES]);
void rlx_sha256(const void *data, size_t len, unsigned char out[RLX_SHA256_BYTES]);

#endif
