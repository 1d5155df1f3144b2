/* crc32c.h: CRC-32C (Castagnoli), the checksum of compiled files. */
#ifndef RLX_BASE_CRC32C_H
#define RLX_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of what `crc` was computed of with `len` bytes behind it; begin with 0. */
uint32_t rlx_crc32c(uint32_t crc, const void *data, size_t len);
/* The same on every CPU, six times slower than with the instruction. */
uint32_t rlx_crc32c_by_table(uint32_t crc, const void *data, size_t len);

#endif
