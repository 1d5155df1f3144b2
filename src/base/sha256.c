/* sha256: FIPS 180-4, section 6.2, with its names. */
/* built for size */
#include "base/sha256.h"

#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void take_block(uint32_t H[8], const unsigned char *p)
{
    uint32_t W[64], a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
    for (int t = 0; t < 16; t++, p += 4)
        W[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(W[t - 15], 7) ^ rotate(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = rotate(W[t - 2], 17) ^ rotate(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
    for (int t = 0; t < 64; t++) {
        uint32_t T1 = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +
                      K[t] + W[t];
        uint32_t T2 =
            (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + T1, d = c, c = b, b = a, a = T1 + T2;
    }
    H[0] += a, H[1] += b, H[2] += c, H[3] += d, H[4] += e, H[5] += f, H[6] += g, H[7] += h;
}

void rlx_sha256_begin(rlx_sha256_state *s)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(s->h, first, sizeof first);
    s->bytes = 0;
}

void rlx_sha256_add(rlx_sha256_state *s, const void *data, size_t len)
{
    const unsigned char *p = data;
    size_t used = s->bytes % 64;
    s->bytes += len;
    if (used) {
        size_t n = len < 64 - used ? len : 64 - used;
        memcpy(s->block + used, p, n);
        p += n, len -= n;
        if (used + n < 64)
            return;
        take_block(s->h, s->block);
    }
    for (; len >= 64; p += 64, len -= 64)
        take_block(s->h, p);
    if (len)
        memcpy(s->block, p, len);
}

void rlx_sha256_end(rlx_sha256_state *s, unsigned char out[RLX_SHA256_BYTES])
{
    uint64_t bits = s->bytes * 8;
    unsigned char tail[72] = { 0x80 };
    size_t used = s->bytes % 64, pad = used < 56 ? 56 - used : 120 - used;
    for (int i = 0; i < 8; i++)
        tail[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    rlx_sha256_add(s, tail, pad + 8);
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void rlx_sha256(const void *data, size_t len, unsigned char out[RLX_SHA256_BYTES])
{
    rlx_sha256_state s;
    rlx_sha256_begin(&s);
    if (len)
        rlx_sha256_add(&s, data, len);
    rlx_sha256_end(&s, out);
}
