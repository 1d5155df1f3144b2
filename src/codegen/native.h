/*- native.h: generated C becomes shared objects.
 *
 *   native_build.c     units of source to objects: command line, private directory, cache
 *   native_process.c   compiler processes; the only file of the library that starts any
 *   native_directory.c private directories, and what killed processes left in theirs
 *   native_cache.c     objects of earlier runs
 */
#ifndef RLX_CODEGEN_NATIVE_H
#define RLX_CODEGEN_NATIVE_H

#include "format/native_abi.h"
#include "ir/ir.h"

#include <dirent.h>
#include <sys/types.h>

typedef struct rlx_native_options {
    const char *compiler;             /* words as in a shell; NULL: cc */
    /* of the compiler, NULL at the end; NULL: PATH of the system's directories alone */
    const char *const *environment;
    const char *cpu;                  /* "native": this one; NULL, "": any of its kind */
    const char *cache_dir;            /* NULL: none */
    uint64_t cache_bytes;             /* most that it may hold */
    const char *temp_dir;             /* NULL: /tmp */
    double seconds;                   /* each process may take */
    uint64_t memory;                  /* bytes that each process may address; UINT64_MAX: any */
    bool unchecked;                   /* indices are not checked */
    /* asked before processes are started and while they run; not 0: stop. NULL: never asked */
    int32_t (*cancelled)(void *user);
    void *user;
} rlx_native_options;

/* A translation unit; sources are given, objects come back. */
typedef struct rlx_native_unit {
    rlx_buf source, object;
    char key[RLX_NATIVE_KEY + 1];
} rlx_native_unit;

/* All units or none, with CG13 as a warning that says why. *started: compiler processes. False
 * without a diagnostic: out of memory (reported), or *cancelled. */
bool rlx_native_compile(rlx_context *ctx, const rlx_native_options *o, rlx_native_unit *units,
                        size_t count, uint32_t *started, bool *cancelled);
/* May this process start a compiler at all? Not with raised privileges. */
bool rlx_native_may_compile(void);

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
