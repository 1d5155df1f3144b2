/* decode_twice.c: files of ONNX and damaged copies of them by our reader and by protobuf-c: what both read is the same, field
 * by field, and what protobuf-c refuses our reader refuses. Paths come from standard input; N: damaged copies of each. */
#include "fields.pb-c.h"
#include "onnx/proto.h"

#include <stdio.h>
#include <stdlib.h>

static char where[400];          /* the field that differs */

static bool differ(const char *message, const char *field, const char *what)
{
    if (!where[0])
        snprintf(where, sizeof where, "%s.%s: %s", message, field, what);
    return false;
}

static bool same_bytes(rlx_slice a, const ProtobufCBinaryData *b)
{
    return a.len == b->len && (!a.len || !memcmp(a.data, b->data, a.len));
}

static bool same_message(const rlx_wire_message *m, const char *ours, const ProtobufCMessage *theirs);

static bool same_messages(const rlx_wire_field *f, const rlx_wire_list *ours, ProtobufCMessage *const *theirs)
{
    for (size_t i = 0; i < ours->len; i++)
        if (!same_message(f->message, (const char *)ours->data + i * f->message->size, theirs[i]))
            return false;
    return true;
}

/* A repeated field; its elements lie at `list`. */
static bool same_list(const rlx_wire_field *f, const char *ours, size_t count, const void *list)
{
    const rlx_slice *bytes = (const void *)ours;
    const rlx_wire_ints *ints = (const void *)ours;
    const rlx_wire_strings *strings = (const void *)ours;
    const rlx_wire_list *messages = (const void *)ours;
    size_t width = f->kind == RLX_WIRE_FLOATS ? 4 : 8;
    switch ((enum rlx_wire_kind)f->kind) {
    case RLX_WIRE_INTS: return ints->len == count && (!count || !memcmp(ints->data, list, count * 8));
    case RLX_WIRE_FLOATS:
    case RLX_WIRE_DOUBLES: return bytes->len == count * width && (!count || !memcmp(bytes->data, list, bytes->len));
    case RLX_WIRE_STRINGS:
        for (size_t i = 0; strings->len == count && i < count; i++)
            if (!same_bytes(strings->data[i], &((const ProtobufCBinaryData *)list)[i]))
                return false;
        return strings->len == count;
    case RLX_WIRE_MESSAGES: return messages->len == count && same_messages(f, messages, list);
    case RLX_WIRE_INT:
    case RLX_WIRE_FLOAT:
    case RLX_WIRE_BYTES:
    case RLX_WIRE_MESSAGE: break;
    }
    return false;
}

static bool same_one(const rlx_wire_field *f, const char *ours, const char *theirs)
{
    const ProtobufCMessage *inner = f->kind == RLX_WIRE_MESSAGE ? *(ProtobufCMessage *const *)(const void *)theirs : NULL;
    const char *own = f->kind == RLX_WIRE_MESSAGE ? *(char *const *)(const void *)ours : NULL;
    switch ((enum rlx_wire_kind)f->kind) {
    case RLX_WIRE_INT: return !memcmp(ours, theirs, 8);
    case RLX_WIRE_FLOAT: return !memcmp(ours, theirs, 4);
    case RLX_WIRE_BYTES: return same_bytes(*(const rlx_slice *)(const void *)ours, (const void *)theirs);
    case RLX_WIRE_MESSAGE: return !own == !inner && (!own || same_message(f->message, own, inner));
    case RLX_WIRE_INTS:
    case RLX_WIRE_FLOATS:
    case RLX_WIRE_DOUBLES:
    case RLX_WIRE_STRINGS:
    case RLX_WIRE_MESSAGES: break;
    }
    return false;
}

static bool same_message(const rlx_wire_message *m, const char *ours, const ProtobufCMessage *theirs)
{
    const rlx_wire_head *head = (const void *)ours;
    for (size_t i = 0; i < m->num_fields; i++) {
        const rlx_wire_field *f = &m->fields[i];
        const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(theirs->descriptor, f->number);
        if (!d)
            return differ(m->name, f->name, "the schema has no such field");
        const char *at = (const char *)theirs + d->offset, *count = (const char *)theirs + d->quantifier_offset;
        if (d->label == PROTOBUF_C_LABEL_REPEATED) {
            if (!same_list(f, ours + f->at, *(const size_t *)(const void *)count, *(void *const *)(const void *)at))
                return differ(m->name, f->name, "lists differ");
            continue;
        }
        bool there = f->kind == RLX_WIRE_MESSAGE ? *(void *const *)(const void *)at != NULL
                                                 : *(const protobuf_c_boolean *)(const void *)count;
        if (there != (head->has >> f->number & 1))
            return differ(m->name, f->name, "it is there for one reader only");
        if (!same_one(f, ours + f->at, at))
            return differ(m->name, f->name, "values differ");
    }
    return true;
}

/* What our reader refuses and protobuf-c does not: it looks less closely. */
static bool is_stricter(const char *reason)
{
    static const char *const reasons[] = {
        "a number has more than 64 bits", "there is no such field number", "messages nest too deep",
        "there are more of them than are read", "the file has too many parts", "a number has more than ten bytes"
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(reason, reasons[i]))
            return true;
    return false;
}

typedef struct tally { size_t passed, failed, refused, stricter; } tally;

static void decode(const char *name, const unsigned char *data, size_t size, bool is_tensor, tally *t)
{
    rlx_memory memory;
    rlx_region region;
    if (!rlx_memory_init(&memory, NULL, SIZE_MAX))
        exit(1);
    rlx_region_init(&region, &memory);
    rlx_wire_reader r = { .region = &region, .file = (const char *)data, .file_size = size, .most_depth = 64, .most_structs = SIZE_MAX };
    union { rlx_onnx_model model; rlx_onnx_tensor tensor; } own;
    bool ok = rlx_wire_read(&r, is_tensor ? &rlx_onnx_tensor_message : &rlx_onnx_model_message, (rlx_slice){ r.file, size }, &own);
    ProtobufCMessage *other = protobuf_c_message_unpack(is_tensor ? &numbers__descriptor : &model__descriptor, NULL, size, data);
    bool fine = ok ? other && same_message(is_tensor ? &rlx_onnx_tensor_message : &rlx_onnx_model_message, (const char *)&own, other)
                   : !other || is_stricter(r.reason);
    t->passed += fine;
    t->failed += !fine;
    t->refused += !ok && !other;
    t->stricter += !ok && other;
    if (!fine && t->failed <= 20)
        printf("FAILED %s: ours: %s %s; protobuf-c: %s; %s\n", name, ok ? "read" : r.reason, ok ? "" : r.path, other ? "read" : "refused", where);
    where[0] = 0;
    if (other)
        protobuf_c_message_free_unpacked(other, NULL);
    rlx_region_drop(&region);
}

static uint64_t state = 1;
static size_t pick(size_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % below;
}

/* Bits, bytes and runs changed, moved, left out, or the end cut off. Returns the size. */
static size_t damage(unsigned char *to, const unsigned char *from, size_t size)
{
    memcpy(to, from, size);
    for (size_t n = 1 + pick(4); n && size > 8; n--) {
        size_t at = pick(size), len = 1 + pick(size - at < 16 ? size - at : 16), k = pick(6);
        if (k == 0)
            to[at] ^= (unsigned char)(1u << pick(8));
        else if (k == 1)
            to[at] = (unsigned char)pick(256);
        else if (k == 2)
            memmove(to + pick(size - len + 1), to + at, len);
        else if (k == 3)
            memmove(to + at, to + at + len, size - at - len), size -= len;
        else if (k == 4)
            to[at] |= 0x80;
        else if (pick(8) == 0)
            size = at;
    }
    return size;
}

int main(int argc, char **argv)
{
    char path[1000];
    tally t = { 0 };
    size_t copies = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    while (fgets(path, sizeof path, stdin)) {
        size_t n = strcspn(path, "\n");
        path[n] = 0;
        FILE *f = fopen(path, "rb");
        long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
        unsigned char *data = size >= 0 ? malloc((size_t)size + 1) : NULL, *copy = data ? malloc((size_t)size + 1) : NULL;
        bool ok = copy && !fseek(f, 0, SEEK_SET) && fread(data, 1, (size_t)size, f) == (size_t)size;
        bool is_tensor = n > 3 && !strcmp(path + n - 3, ".pb");
        if (!ok)
            return printf("FAILED %s cannot be read\n", path), 1;
        decode(path, data, (size_t)size, is_tensor, &t);
        for (size_t i = 0; i < copies && size <= 100000; i++)
            decode(path, copy, damage(copy, data, (size_t)size), is_tensor, &t);
        free(data), free(copy), fclose(f);
    }
    printf("%zu refused by both, %zu by ours alone\n%zu passed, %zu failed\n", t.refused, t.stricter, t.passed, t.failed);
    return t.failed || !t.passed || (copies && !t.refused);
}
