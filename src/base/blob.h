/* blob.h: refcounted bytes, 64-byte aligned. Content of constants, text results, images of files.
 * Counts are atomic; release from any thread. */
#ifndef RLX_BASE_BLOB_H
#define RLX_BASE_BLOB_H

#include "base/memory.h"

#define RLX_BLOB_ALIGN ((size_t)64)

/* Content that is made of other content when it is written, `how` saying how: two of equal content
 * and the same `how` are equal. It is made in pieces of at most `most` bytes. */
typedef struct rlx_deferred rlx_deferred;
struct rlx_deferred {
    struct rlx_blob *of;
    const void *how;
    size_t most;
    /* Makes the piece that begins at byte `from`; its size, 0: out of memory, or reported */
    size_t (*make)(rlx_deferred *d, size_t from, void *to);
    void (*end)(rlx_deferred *d);
};

typedef struct rlx_blob {
    atomic_size_t refs;
    rlx_memory *memory;      /* must outlive the blob: see rlx_shared_memory */
    size_t size;
    /* size + 1 bytes, data[size] is 0; or foreign when free_data is set */
    unsigned char *data;
    void (*free_data)(void *user, void *data, size_t size);
    void *free_user;
    rlx_deferred *deferred;  /* NULL, or makes the content; data is NULL then */
} rlx_blob;

/* A copy of data, or `size` bytes that are not cleared when it is NULL. NULL: out of memory. */
RLX_NODISCARD rlx_blob *rlx_blob_create(rlx_memory *m, const void *data_or_null, size_t size);
/* Takes the pages of uncleared content from the system at once, which costs half of taking each
 * when it is first written; for content that is written soon and as a whole. */
void rlx_blob_touch(rlx_blob *b);
/* Wraps memory of somebody else; free_data (may be NULL) runs once, also if creation fails. */
RLX_NODISCARD rlx_blob *rlx_blob_wrap(rlx_memory *m, void *data, size_t size,
                                      void (*free_data)(void *, void *, size_t), void *user);
/* Content that is made by rlx_blob_write; `end` runs once, also if creation fails. */
RLX_NODISCARD rlx_blob *rlx_blob_defer(rlx_memory *m, size_t size, rlx_deferred *d);
/* Writes the content to `to`, which has its size. False: it could not be made. */
RLX_NODISCARD bool rlx_blob_write(const rlx_blob *b, void *to);
rlx_blob *rlx_blob_retain(rlx_blob *b);
void rlx_blob_release(rlx_blob *b); /* NULL is fine */

/* An rlx_memory that lives until its last user is gone: counted, created with one reference.
 * Objects that may outlive their creator (values, blobs, errors) hold one each. */
typedef struct rlx_shared_memory {
    rlx_memory memory;
    atomic_size_t refs;
    /* What its users have let go of, on any thread, for who takes it back (runtime/object.c). */
    _Atomic(void *) returned;
    atomic_size_t returned_bytes;
    atomic_bool takes_back;
} rlx_shared_memory;
RLX_NODISCARD rlx_shared_memory *rlx_shared_memory_create(const relax_allocator *host, size_t cap);
rlx_shared_memory *rlx_shared_memory_retain(rlx_shared_memory *s);
void rlx_shared_memory_release(rlx_shared_memory *s);

#endif
