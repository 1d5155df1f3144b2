/*- file_writer.h: builds a .rlx file in memory, section by section, in any order.
 *
 *     rlx_file_writer w;
 *     rlx_file_writer_init(&w, memory);
 *     uint32_t f = rlx_file_writer_function(&w);   number of the next function: calls may name
 *     ...descriptions (desc/desc.h), instructions...                  it before it exists
 *     rlx_file_writer_set_function(&w, f, &record);
 *     rlx_blob *file = rlx_file_writer_finish(&w, memory);
 *     rlx_file_writer_free(&w);
 *
 * Failure latches: after the first failed allocation or broken limit every call is harmless
 * (numbers are 0), rlx_file_writer_finish gives NULL, and `failed` / `too_large` say which it was.
 * Equal names, constants of scalars, packed functions and expressions are stored once.
 */
#ifndef RLX_DESC_FILE_WRITER_H
#define RLX_DESC_FILE_WRITER_H

#include "base/base.h"
#include "format/opcode.h"
#include "format/rlx_file.h"

typedef struct rlx_blob_part { uint32_t name; rlx_buf bytes; } rlx_blob_part;

/* Content of a constant, where it is or still to be made: it comes behind the first `at` bytes of
 * constant_bytes, and zeros up to the alignment of the file behind it. */
typedef struct rlx_borrowed_part { size_t at; const rlx_blob *data; } rlx_borrowed_part;

typedef struct rlx_file_writer {
    rlx_memory *memory;
    bool failed;      /* out of memory */
    bool too_large;   /* a number does not fit the file format */
    bool refused;     /* by the sink; failed, too */
    uint32_t flags;   /* of the file */
    rlx_buf name_bytes;
    RLX_VEC(uint32_t) name_offsets; /* begin of each name */
    rlx_intern name_table;          /* items: number + 1 */
    RLX_VEC(rlx_file_function) functions;
    RLX_VEC(uint32_t) code;
    RLX_VEC(int64_t) descs;
    rlx_intern item_table;          /* items: offset + 1 of those in descs */
    RLX_VEC(uint32_t) packed;
    rlx_intern packed_table;
    RLX_VEC(rlx_file_place) places;
    RLX_VEC(rlx_file_kernel) kernels;   /* offsets relative to kernel_bytes until finished */
    rlx_buf kernel_bytes;
    RLX_VEC(rlx_file_constant) constants; /* offsets relative to constant_bytes until finished */
    rlx_buf constant_bytes;
    RLX_VEC(rlx_borrowed_part) borrowed;
    size_t borrowed_bytes;              /* with what aligns them */
    rlx_buf module_text;
    rlx_buf native;                     /* the section, complete */
    rlx_buf late;                       /* the same */
} rlx_file_writer;

void rlx_file_writer_init(rlx_file_writer *w, rlx_memory *m);
void rlx_file_writer_free(rlx_file_writer *w);
RLX_INLINE bool rlx_file_writer_ok(const rlx_file_writer *w) { return !w->failed && !w->too_large; }

/* Number of a name; the same text gives the same number. */
uint32_t rlx_file_writer_name(rlx_file_writer *w, rlx_slice name);
/* Names so far, for text and messages; valid until the next name is added. */
rlx_names rlx_file_writer_names(rlx_file_writer *w);

/* Reserves the next function number. */
uint32_t rlx_file_writer_function(rlx_file_writer *w);
/* Every reserved function must be set before finishing. `reserved` fields are ignored. */
void rlx_file_writer_set_function(rlx_file_writer *w, uint32_t number,
                                  const rlx_file_function *record);
/* Number in PACKED of the packed function or builtin of that name. */
uint32_t rlx_file_writer_packed(rlx_file_writer *w, rlx_slice name);
/* Copies a verified kernel image; gives its kernel number. */
uint32_t rlx_file_writer_kernel(rlx_file_writer *w, rlx_slice name, const void *bytes, size_t len);

/* Constants: each gives its number. Tensor content is row-major, `len` bytes. */
uint32_t rlx_file_writer_const_tensor(rlx_file_writer *w, int32_t dtype, const int64_t *dims,
                                      size_t ndim, const void *data, size_t len);
/* A large blob is not copied and has to stay until rlx_file_writer_finish. */
uint32_t rlx_file_writer_const_blob(rlx_file_writer *w, int32_t dtype, const int64_t *dims,
                                    size_t ndim, const rlx_blob *data);
uint32_t rlx_file_writer_const_string(rlx_file_writer *w, rlx_slice text);
uint32_t rlx_file_writer_const_shape(rlx_file_writer *w, const int64_t *values, size_t ndim);
/* INT (bool too), FLOAT (bits of the double), DTYPE, NULL, FUNCTION, EXTERN. */
uint32_t rlx_file_writer_const_scalar(rlx_file_writer *w, enum rlx_constant_kind kind,
                                      int32_t dtype, uint64_t bits);

/* Appends an instruction: `fixed` has one word per letter of the layout before the list, `list`
 * the words of the list. Returns the word at which it begins (relative to the whole CODE
 * section). */
uint32_t rlx_file_writer_emit(rlx_file_writer *w, enum rlx_opcode op, const uint32_t *fixed,
                              const uint32_t *list, size_t count);
#define RLX_EMIT(w, op, ...)                                                                       \
    rlx_file_writer_emit((w), (op), (const uint32_t[]){ __VA_ARGS__ }, NULL, 0)
#define RLX_EMIT_LIST(w, op, list, count, ...)                                                     \
    rlx_file_writer_emit((w), (op), (const uint32_t[]){ __VA_ARGS__ }, (list), (count))
/* Word of the next instruction. */
RLX_INLINE uint32_t rlx_file_writer_here(const rlx_file_writer *w) { return (uint32_t)w->code.len; }
/* Makes the jump operand of the BRANCH or JUMP at `at` go to `target`. */
void rlx_file_writer_patch(rlx_file_writer *w, uint32_t at, uint32_t target);
/* The place of the next instruction and those that follow, up to the next call. */
void rlx_file_writer_place(rlx_file_writer *w, uint32_t binding, uint32_t file, uint32_t line,
                           uint32_t column);

/* What the last place stands for beside its own binding: a place each. */
void rlx_file_writer_held_place(rlx_file_writer *w, uint32_t binding, uint32_t file, uint32_t line,
                                uint32_t column);

/* The whole file, written once into memory of its size from `m`. Without `too_large` NULL means
 * that memory is out, or that content could not be made, which is reported. */
rlx_blob *rlx_file_writer_finish(rlx_file_writer *w, rlx_memory *m);
/* The same piece by piece, in order, without gaps; then the head again, at 0, where its sums were
 * not known before. Memory holds one at a time of the constants that are still to be made. */
typedef struct rlx_file_sink {
    bool (*write)(void *user, uint64_t at, const void *data, size_t size); /* false: it cannot */
    void *user;
} rlx_file_sink;
bool rlx_file_writer_send(rlx_file_writer *w, const rlx_file_sink *sink);

#endif
