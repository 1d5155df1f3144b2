/* file.h: whole files in and out. Descriptors are close-on-exec; EINTR is retried; errno is
 * preserved. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include "base/blob.h"

/* Why a file was not read or written. */
enum rlx_file_failure {
    RLX_FILE_NO_MEMORY,
    RLX_FILE_TOO_LARGE, /* for the limit given, or for the file system */
    RLX_FILE_REFUSED    /* anything else that the system says */
};
typedef struct rlx_file_why {
    enum rlx_file_failure failure;
    const char *text; /* static: "no such file" ... */
} rlx_file_why;
extern const rlx_file_why rlx_file_no_memory;

/* Reads a regular file whole (at most max bytes). NULL and *why on failure. */
RLX_NODISCARD rlx_blob *rlx_file_read(rlx_memory *m, const char *path, size_t max,
                                      rlx_file_why *why);
/* Writes to a temporary file beside path, then renames: path is either old or complete. */
bool rlx_file_write(rlx_memory *m, const char *path, const void *data, size_t size,
                    rlx_file_why *why);
/* Maps a file read-only; the blob unmaps on release. */
RLX_NODISCARD rlx_blob *rlx_file_map(rlx_memory *m, const char *path, size_t max,
                                     rlx_file_why *why);

#endif
