/*- wire.h: the wire format of protocol buffers, read by tables.
 *
 *     message   (tag payload)*          tag: varint, field number << 3 | wire type
 *     payload   0 varint   1 eight bytes   2 length + bytes   5 four bytes
 *
 * A message becomes a struct whose first member is an rlx_wire_head; a row of its table says where each field
 * goes. Bytes stay where they are: slices point into the file. A message is gone through twice, once to
 * count and once to fill arrays of the right length, so memory grows with the file. Fields come in any order,
 * numbers packed or not; of a singular number the last counts, a singular message that comes twice is merged.
 */
#ifndef RLX_ONNX_WIRE_H
#define RLX_ONNX_WIRE_H

#include "base/base.h"

enum rlx_wire_kind {
    RLX_WIRE_INT,      /* int64_t: any varint, enums and bool too */
    RLX_WIRE_FLOAT,    /* float: four bytes */
    RLX_WIRE_BYTES,    /* rlx_slice */
    RLX_WIRE_MESSAGE,  /* a struct, NULL where absent */
    RLX_WIRE_INTS,     /* rlx_wire_ints: repeated varints */
    RLX_WIRE_FLOATS,   /* rlx_slice of four bytes each, where they lie if they lie together */
    RLX_WIRE_DOUBLES,  /* the same of eight */
    RLX_WIRE_STRINGS,  /* rlx_wire_strings */
    RLX_WIRE_MESSAGES  /* rlx_wire_list of structs, one behind the other */
};
typedef struct rlx_wire_ints { int64_t *data; size_t len; } rlx_wire_ints;
typedef struct rlx_wire_strings { rlx_slice *data; size_t len; } rlx_wire_strings;
typedef struct rlx_wire_list { void *data; size_t len; } rlx_wire_list;

/* has: bit n is set if field n was there. at: offset of the message in the file. */
typedef struct rlx_wire_head { uint64_t has, at; } rlx_wire_head;

typedef struct rlx_wire_message rlx_wire_message;
typedef struct rlx_wire_field {
    uint8_t number, kind;
    uint16_t at;                     /* of the struct */
    const rlx_wire_message *message; /* MESSAGE, MESSAGES */
    const char *name;
} rlx_wire_field;
struct rlx_wire_message {
    const char *name;
    size_t size;                     /* of the struct */
    size_t most;                     /* of them in one list */
    const rlx_wire_field *fields; size_t num_fields;
};

typedef struct rlx_wire_reader {
    rlx_region *region;
    const char *file; size_t file_size;
    unsigned most_depth;
    size_t structs, most_structs;    /* messages read so far, and how many may be */
    /* why it failed; nothing there and `failed`: out of memory */
    bool failed, is_limit;
    uint64_t at;
    char reason[160], path[200];
} rlx_wire_reader;

/* Reads bytes of the file as that message into *out, which is cleared. False after a failure. */
bool rlx_wire_read(rlx_wire_reader *r, const rlx_wire_message *message, rlx_slice bytes,
                   void *out);

#endif
