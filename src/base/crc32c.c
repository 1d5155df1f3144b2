/* crc32c.c: CRC-32C by the instruction of the CPU, or by tables. */
#include "base/crc32c.h"

#include "base/crc32c_table.h"
#include "base/cpu.h"

#include <string.h>

uint32_t rlx_crc32c_by_table(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;
    crc = ~crc;
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);
        crc = crc32c_table[7][low & 0xff] ^ crc32c_table[6][low >> 8 & 0xff] ^
              crc32c_table[5][low >> 16 & 0xff] ^ crc32c_table[4][low >> 24] ^
              crc32c_table[3][p[4]] ^ crc32c_table[2][p[5]] ^ crc32c_table[1][p[6]] ^
              crc32c_table[0][p[7]];
    }
    for (; len; p++, len--)
        crc = crc >> 8 ^ crc32c_table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(RLX_CRC32C_8)

/* a * b modulo the polynomial; bit 31 is the coefficient of 1. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = b >> 1 ^ (b & 1 ? 0x82f63b78u : 0);
    }
    return product;
}

/* Bytes of one stream, and what its remainder is multiplied by when as many bytes follow:
 * x to the power of 8 * STREAM. */
#define STREAM 16384
#define BEHIND_STREAM 0xbf455269u

static uint64_t load(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* The instruction waits for its own result three cycles long: three streams at once, joined at
 * their end. `crc` and what comes back are not inverted. */
RLX_CRC32C_TARGET
static uint32_t three_streams(uint32_t crc, const unsigned char *p)
{
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < STREAM; i += 8) {
        crc = RLX_CRC32C_8(crc, load(p + i));
        second = RLX_CRC32C_8(second, load(p + STREAM + i));
        third = RLX_CRC32C_8(third, load(p + 2 * STREAM + i));
    }
    second ^= multiply(BEHIND_STREAM, crc);
    return third ^ multiply(BEHIND_STREAM, second);
}

RLX_CRC32C_TARGET
static uint32_t by_instruction(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;
    crc = ~crc;
    for (; len >= 3 * STREAM; p += 3 * STREAM, len -= 3 * STREAM)
        crc = three_streams(crc, p);
    for (; len >= 8; p += 8, len -= 8)
        crc = RLX_CRC32C_8(crc, load(p));
    for (; len; p++, len--)
        crc = RLX_CRC32C_1(crc, *p);
    return ~crc;
}

uint32_t rlx_crc32c(uint32_t crc, const void *data, size_t len)
{
    return rlx_cpu_has_crc32c() ? by_instruction(crc, data, len)
                                : rlx_crc32c_by_table(crc, data, len);
}

#else

uint32_t rlx_crc32c(uint32_t crc, const void *data, size_t len)
{
    return rlx_crc32c_by_table(crc, data, len);
}

#endif
