/* file.h: whole files in and out. Descriptors are close-on-exec; EINTR is retried; errno is
 * preserved. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include "base/blob.h"

/* Reads a regular file whole (at most max bytes). On failure NULL and *why a static text ("no
 * such file", "too large" ...). */
RLX_NODISCARD rlx_blob *rlx_file_read(rlx_memory *m, const char *path, size_t max,
                                      const char **why);
/* Writes to a temporary file beside path, then renames: path is either old or complete. */
bool rlx_file_write(rlx_memory *m, const char *path, const void *data, size_t size,
                    const char **why);
/* Maps a file read-only; the blob unmaps on release. */
RLX_NODISCARD rlx_blob *rlx_file_map(rlx_memory *m, const char *path, size_t max,
                                     const char **why);
uint32_t rlx_crc32c(uint32_t crc, const void *data, size_t len); /* Castagnoli, start with 0 */

#endif
