/*- native_int.h: inside the native builds only.
 *
 *   native_section.c   target c: the kernels of a file in units, and their objects as its section
 *   native_build.c     units of source to objects: command line, private directory, cache
 *   native_process.c   compiler processes; the only file of the library that starts any
 *   native_directory.c private directories, and what killed processes left in theirs
 *   native_cache.c     objects of earlier runs
 */
#ifndef RLX_CODEGEN_NATIVE_INT_H
#define RLX_CODEGEN_NATIVE_INT_H

#include <dirent.h>
#include <sys/types.h>

#include "codegen/native.h"

/* ---- processes */
typedef struct rlx_process {
    int pid;          /* 0: none */
    int output;       /* what it says; -1: closed */
    bool ended, ok;   /* ok: it ended with 0, or nobody knows */
    rlx_buf *said;
} rlx_process;
/* What a process may take, and each that it starts. */
typedef struct rlx_process_limits { uint64_t memory; double seconds; } rlx_process_limits;
/* Standard output and error go to `said` (cut after some kilobytes). `why`: static text. */
bool rlx_process_start(rlx_process *p, char *const *argv, char *const *environment,
                       const rlx_process_limits *limits, rlx_buf *said, const char **why);
/* Waits until all have ended. NULL, or why not all did: they are gone then too. */
const char *rlx_process_wait(rlx_process *p, size_t count, double seconds,
                             int32_t (*cancelled)(void *user), void *user);
/* Ends every process of ours whose TMPDIR is `directory`. */
void rlx_process_end_strays(const char *directory);

/* ---- directories */
#define RLX_DIRECTORY_PATH 4096
/* A private one; path "": not made. */
typedef struct rlx_directory { char path[RLX_DIRECTORY_PATH]; int lock; } rlx_directory;
/* Below `in`, where it also removes what killed processes left. */
bool rlx_directory_make(rlx_directory *d, const char *in);
/* Empties it and removes it. */
void rlx_directory_remove(rlx_directory *d);

/* The names in a directory, without opendir: that takes memory past the host's allocator, and
 * without memory a directory could not even be emptied. Names are unlinked on the way. */
typedef struct rlx_listing {
    int fd;
    ssize_t at, end;
    union {
        struct dirent64 first;
        char bytes[4096];
    } part;
} rlx_listing;
void rlx_listing_begin(rlx_listing *l, int fd);
const char *rlx_listing_next(rlx_listing *l); /* NULL: no more; closed */
void rlx_listing_end(rlx_listing *l);

/* ---- the cache. Whatever goes wrong there means that there is none, with a note in *why
 * (static text). */
typedef struct rlx_cache { int fd; uint64_t most; const char *why; } rlx_cache; /* fd -1: none */
void rlx_cache_open(rlx_cache *c, const char *dir, uint64_t most);
void rlx_cache_close(rlx_cache *c);
bool rlx_cache_get(rlx_cache *c, const char *key, rlx_buf *object);
void rlx_cache_put(rlx_cache *c, const char *key, const rlx_buf *object);

#endif
