/*- rlx_file.h: the compiled program as a file.
 *
 *   +--------------------+ 0
 *   | rlx_file_header    | 64 bytes
 *   | rlx_file_section[] | 32 bytes each, in ascending order of kind, each kind at most once
 *   +--------------------+
 *   | section            | offset a multiple of 64, bytes between sections are zero
 *   | ...                |
 *   +--------------------+ file_size
 *
 * Little-endian, position independent: everything is an index or an offset inside its section,
 * so that a file is used where it lies. `checksum` is crc32c over the section; the header's
 * covers header and table with itself as 0.
 *
 *   NAMES      u32 count; u32 offset[count + 1] into the bytes that follow; bytes, each name
 *              followed by a NUL that its offsets count (name i is bytes offset[i] ..
 *              offset[i + 1] - 1, the NUL left out)
 *   FUNCTIONS  rlx_file_function[]
 *   CODE       u32 words (opcode.h)
 *   KERNELS    u32 count, u32 0; rlx_file_kernel[count]; blobs at multiples of 64
 *   CONSTANTS  u32 count, u32 0; rlx_file_constant[count]; payloads at multiples of 64
 *   DESCS      int64 words (desc/desc.h): descriptions and expressions
 *   PACKED     u32 names of packed functions and builtins that the code calls
 *   PLACES     rlx_file_place[], ascending code word (optional)
 *   MODULE     text of the module that was not lowered (optional)
 *   NATIVE     rlx_file_native; rlx_file_native_object[num_objects]; u32 kernels[num_kernels]:
 *              object << 16 | place in its table, or RLX_NO_INDEX; shared objects at multiples
 *              of 64 (optional)
 *   LATE       files in the file: operators that were compiled ahead for operands that only the run
 *              knows, with their signatures (late_key.h; optional)
 */
#ifndef RLX_FORMAT_RLX_FILE_H
#define RLX_FORMAT_RLX_FILE_H

#include "base/base.h"

#define RLX_FILE_MAGIC "\x89RLX\r\n\x1a\n" /* breaks when sent as text */
#define RLX_FILE_MAJOR 1u                  /* readers refuse another major */
#define RLX_FILE_MINOR 0u /* a larger minor may have further section kinds, which are skipped */
#define RLX_FILE_ALIGN 64u

enum rlx_section_kind {
    RLX_SECTION_NAMES = 1,
    RLX_SECTION_FUNCTIONS = 2,
    RLX_SECTION_CODE = 3,
    RLX_SECTION_KERNELS = 4,
    RLX_SECTION_CONSTANTS = 5,
    RLX_SECTION_DESCS = 6,
    RLX_SECTION_PACKED = 7,
    RLX_SECTION_PLACES = 8,
    RLX_SECTION_MODULE = 9,
    RLX_SECTION_NATIVE = 10,
    RLX_SECTION_LATE = 11,
    RLX_SECTION_END /* one more than the largest kind */
};
/* "names" ..., NULL for a kind we do not know. */
const char *rlx_section_name(uint32_t kind);

enum {
    RLX_FILE_SEPARATE = 1, /* products that are summed up were rounded on their own (relax.arithmetic) */
    RLX_FILE_FLAGS = 1
};
typedef struct rlx_file_header {
    char magic[8];
    uint32_t major, minor;
    uint32_t num_sections;
    uint32_t checksum;
    uint64_t file_size;
    uint32_t flags;
    uint8_t reserved[28]; /* zero */
} rlx_file_header;

typedef struct rlx_file_section {
    uint32_t kind;
    uint32_t checksum;
    uint64_t offset, length;
    uint64_t reserved; /* zero */
} rlx_file_section;

enum {
    RLX_FUNCTION_PUBLIC = 1,
    RLX_FUNCTION_KERNEL = 2,
    RLX_FUNCTION_PURE = 4,
    RLX_FUNCTION_FLAGS = 7
};
typedef struct rlx_file_function {
    uint32_t name;                 /* name number */
    uint32_t flags;
    uint32_t code, code_len;       /* words in CODE; of a KERNEL function: kernel number, 0 */
    uint32_t num_params;           /* registers 0 .. num_params - 1 */
    uint32_t num_regs, num_syms;
    uint32_t params;               /* PARAMS description, checked at the entry */
    /* description checked at RETURN, or RLX_NO_INDEX where it is proved */
    uint32_t result;
    /* Func description of the function as a value and for tools, or RLX_NO_INDEX */
    uint32_t signature;
    uint32_t reserved[6];          /* zero */
} rlx_file_function;

typedef struct rlx_file_kernel {
    uint32_t name, reserved;
    uint64_t offset, length; /* from the begin of the section */
} rlx_file_kernel;

enum rlx_constant_kind {
    RLX_CONSTANT_TENSOR = 0,   /* payload: i64 sizes[ndim], zero up to 64 bytes, content */
    RLX_CONSTANT_STRING = 1,   /* payload: UTF-8 */
    RLX_CONSTANT_SHAPE = 2,    /* payload: i64 values[ndim] */
    RLX_CONSTANT_INT = 3,      /* bits: the value; dtype: its dtype (bool too) */
    RLX_CONSTANT_FLOAT = 4,    /* bits: the double */
    RLX_CONSTANT_DTYPE = 5,    /* dtype */
    RLX_CONSTANT_NULL = 6,
    RLX_CONSTANT_FUNCTION = 7, /* bits: function number; the value of a GlobalVar */
    RLX_CONSTANT_EXTERN = 8,   /* bits: packed number; the value of an ExternFunc */
    RLX_CONSTANT_KINDS
};
typedef struct rlx_file_constant {
    uint32_t kind;
    int32_t dtype;
    uint32_t ndim;
    uint32_t reserved;
    uint64_t offset, length; /* payload, from the begin of the section; length counts all of it */
    uint64_t bits;
} rlx_file_constant;

/* Native code beside the bytecode of kernels. A machine of another target or CPU leaves it
 * alone. */
typedef struct rlx_file_native {
    uint32_t abi;                  /* RLX_NATIVE_ABI */
    uint32_t num_objects, num_kernels;
    uint32_t reserved;
    /* NUL-padded: rlx_cpu_target(), rlx_cpu_features(); cpu "": any of the target */
    char target[32], cpu[96];
} rlx_file_native;
typedef struct rlx_file_native_object {
    uint64_t offset, length;       /* from the begin of the section */
    uint32_t count, reserved;      /* kernels in it */
    char key[16];                  /* what its table must say */
    uint8_t digest[32];            /* SHA-256 */
} rlx_file_native_object;

/* Where the instruction at `word` of CODE comes from: valid up to the next record. Names may be
 * RLX_NO_INDEX. Of several at one word the last one counts. In front of it stand what else a kernel computes, if that was made
 * of several bindings, and where a function begins its own place, which binds nothing. */
typedef struct rlx_file_place {
    uint32_t word;
    uint32_t binding; /* name of the variable that is bound */
    uint32_t file;
    uint32_t line, column;
} rlx_file_place;

/* Names of a file or of a writer. */
typedef struct rlx_names { const uint32_t *offsets; const char *bytes; uint32_t count; } rlx_names;
/* Empty if there is no such name. NUL-terminated. */
RLX_INLINE rlx_slice rlx_name(const rlx_names *names, uint32_t i)
{
    if (!names || i >= names->count)
        return (rlx_slice){ "", 0 };
    return (rlx_slice){ names->bytes + names->offsets[i],
                        names->offsets[i + 1] - names->offsets[i] - 1 };
}

#endif
