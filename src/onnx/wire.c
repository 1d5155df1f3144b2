/* wire.c: the wire format of protocol buffers. One loop over fields, called to count and to fill. */
#include "onnx/wire.h"

#include <stdio.h>

/* A message that is being read, and the one around it: for paths. */
typedef struct frame {
    const struct frame *outer;
    const rlx_wire_field *field;     /* of `outer`, which this is */
    size_t index;
    unsigned depth;
} frame;

typedef struct cursor { const char *p, *end; } cursor;

/* One field as it stands in the file. */
typedef struct item { uint32_t number, wire; uint64_t value; rlx_slice bytes; const char *at; } item;

static void put_path(rlx_wire_reader *r, const frame *f, const char *field)
{
    const frame *chain[72];
    size_t n = 0, used = 0;
    for (; f && f->field && n < 72; f = f->outer)
        chain[n++] = f;
    for (r->path[0] = 0; n-- && used + 1 < sizeof r->path;) {
        bool list = chain[n]->field->kind == RLX_WIRE_MESSAGES;
        int k = list ? snprintf(r->path + used, sizeof r->path - used, "%s[%zu].",
                                chain[n]->field->name, chain[n]->index)
                     : snprintf(r->path + used, sizeof r->path - used, "%s.",
                                chain[n]->field->name);
        used += k > 0 ? (size_t)k : 0;
    }
    if (used < sizeof r->path)
        snprintf(r->path + used, sizeof r->path - used, "%s", field ? field : "");
    used = strlen(r->path);
    if (used && r->path[used - 1] == '.')
        r->path[used - 1] = 0;
}

static bool stop(rlx_wire_reader *r, const frame *f, const char *field, const char *at,
                 const char *reason)
{
    if (r->failed)
        return false;
    r->failed = true;
    r->at = (uint64_t)(at - r->file);
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    put_path(r, f, field);
    return false;
}

static bool stop_at_limit(rlx_wire_reader *r, const frame *f, const char *field, const char *at,
                          const char *reason)
{
    r->is_limit = !r->failed;
    return stop(r, f, field, at, reason);
}

static bool no_memory(rlx_wire_reader *r)
{
    if (!r->failed)
        r->reason[0] = 0;
    r->failed = true;
    return false;
}

/* NULL or what is wrong with it. Ten bytes at most, of which the last has one bit. */
static const char *read_varint(cursor *c, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (c->p == c->end)
            return "a number goes beyond the end of its message";
        unsigned char b = (unsigned char)*c->p++;
        if (shift == 63 && b > 1)
            return "a number has more than 64 bits";
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return *out = v, NULL;
    }
    return "a number has more than ten bytes";
}

static const char *read_item(cursor *c, item *i)
{
    uint64_t tag;
    i->at = c->p;
    const char *wrong = read_varint(c, &tag);
    if (wrong)
        return wrong;
    i->number = (uint32_t)(tag >> 3);
    i->wire = tag & 7;
    if (tag >> 32 || !i->number || i->number > 0x1fffffff)
        return "there is no such field number";
    size_t fixed = i->wire == 1 ? 8 : i->wire == 5 ? 4 : 0;
    if (i->wire == 0)
        return read_varint(c, &i->value);
    if (i->wire == 2) {
        uint64_t len;
        if ((wrong = read_varint(c, &len)) != NULL)
            return wrong;
        if (len > (uint64_t)(c->end - c->p))
            return "a length goes beyond the end of its message";
        fixed = (size_t)len;
    } else if (!fixed) {
        return i->wire < 5 ? "it holds a group, which this format does not have"
                           : "there is no such wire type";
    } else if (fixed > (size_t)(c->end - c->p)) {
        return "a number goes beyond the end of its message";
    }
    i->bytes = (rlx_slice){ c->p, fixed };
    c->p += fixed;
    return NULL;
}

static const rlx_wire_field *find_field(const rlx_wire_message *m, uint32_t number)
{
    for (size_t i = 0; i < m->num_fields; i++)
        if (m->fields[i].number == number)
            return &m->fields[i];
    return NULL;
}

/* Bytes of an element where numbers are packed; 0: varints. */
static size_t width_of(const rlx_wire_field *f)
{
    return f->kind == RLX_WIRE_FLOATS || f->kind == RLX_WIRE_FLOAT ? 4 : f->kind == RLX_WIRE_DOUBLES ? 8 : 0;
}

static bool fits_wire(const rlx_wire_field *f, uint32_t wire)
{
    switch ((enum rlx_wire_kind)f->kind) {
    case RLX_WIRE_INT: return wire == 0;
    case RLX_WIRE_FLOAT: return wire == 5;
    case RLX_WIRE_INTS: return wire == 0 || wire == 2;
    case RLX_WIRE_FLOATS: return wire == 5 || wire == 2;
    case RLX_WIRE_DOUBLES: return wire == 1 || wire == 2;
    case RLX_WIRE_BYTES:
    case RLX_WIRE_MESSAGE:
    case RLX_WIRE_STRINGS:
    case RLX_WIRE_MESSAGES: return wire == 2;
    }
    return false;
}

/* Numbers in a packed run; SIZE_MAX: it ends amid one. */
static size_t count_packed(const rlx_wire_field *f, rlx_slice bytes)
{
    size_t width = width_of(f), n = 0;
    if (width)
        return bytes.len % width ? SIZE_MAX : bytes.len / width;
    for (size_t i = 0; i < bytes.len; i++)
        n += !(bytes.data[i] & 0x80);
    return bytes.len && bytes.data[bytes.len - 1] & 0x80 ? SIZE_MAX : n;
}

enum { MOST_FIELDS = 32 };
typedef struct counts { size_t items[MOST_FIELDS], runs[MOST_FIELDS]; } counts;

static bool count_items(rlx_wire_reader *r, const rlx_wire_message *m, const frame *f,
                        rlx_slice bytes, counts *n)
{
    cursor c = { bytes.data, bytes.data + bytes.len };
    memset(n, 0, sizeof *n);
    while (c.p < c.end) {
        item i;
        const char *wrong = read_item(&c, &i);
        const rlx_wire_field *field = wrong ? NULL : find_field(m, i.number);
        if (wrong)
            return stop(r, f, NULL, i.at, wrong);
        if (!field)
            continue;
        if (!fits_wire(field, i.wire))
            return stop(r, f, field->name, i.at, "the field has another wire type");
        size_t k = (size_t)(field - m->fields), more = 1;
        if (i.wire == 2 && field->kind >= RLX_WIRE_INTS && field->kind <= RLX_WIRE_DOUBLES &&
            (more = count_packed(field, i.bytes)) == SIZE_MAX)
            return stop(r, f, field->name, i.at, "a list of numbers ends amid a number");
        n->items[k] += more;
        n->runs[k]++;
        if (field->message && n->items[k] > field->message->most)
            return stop_at_limit(r, f, field->name, i.at, "there are more of them than are read");
    }
    return true;
}

/* A longer array with what there was; merged messages append. */
static bool extend_list(rlx_wire_reader *r, void **data, size_t len, size_t more, size_t size)
{
    if (!more)
        return true;
    size_t total;
    void *to = rlx_add_size(len, more, &total) ? rlx_region_array(r->region, total, size) : NULL;
    if (!to)
        return no_memory(r);
    memset(to, 0, total * size);
    if (len)
        memcpy(to, *data, len * size);
    *data = to;
    return true;
}

static bool make_room(rlx_wire_reader *r, const rlx_wire_message *m, const counts *n, char *out)
{
    for (size_t k = 0; k < m->num_fields; k++) {
        const rlx_wire_field *f = &m->fields[k];
        void *at = out + f->at;
        bool ok = true;
        rlx_slice *s = at;
        switch ((enum rlx_wire_kind)f->kind) {
        case RLX_WIRE_INTS:
            ok = extend_list(r, (void **)at, ((rlx_wire_ints *)at)->len, n->items[k], 8);
            break;
        case RLX_WIRE_STRINGS:
            ok = extend_list(r, (void **)at, ((rlx_wire_strings *)at)->len, n->items[k],
                             sizeof(rlx_slice));
            break;
        case RLX_WIRE_MESSAGES:
            ok = extend_list(r, (void **)at, ((rlx_wire_list *)at)->len, n->items[k],
                             f->message->size);
            break;
        case RLX_WIRE_FLOATS:
        case RLX_WIRE_DOUBLES: /* one run stays where it is */
            if (n->runs[k] > 1 || (n->runs[k] && s->len))
                ok = extend_list(r, (void **)at, s->len / width_of(f), n->items[k], width_of(f));
            break;
        case RLX_WIRE_INT:
        case RLX_WIRE_FLOAT:
        case RLX_WIRE_BYTES:
        case RLX_WIRE_MESSAGE: break;
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool read_message(rlx_wire_reader *r, const rlx_wire_message *m, const frame *f,
                         rlx_slice bytes, char *out);

static bool read_inner(rlx_wire_reader *r, const rlx_wire_field *field, const frame *outer,
                       size_t index, const item *i, void *out)
{
    frame f = { outer, field, index, outer->depth + 1 };
    if (f.depth > r->most_depth)
        return stop_at_limit(r, outer, field->name, i->at, "messages nest too deep");
    if (++r->structs > r->most_structs)
        return stop_at_limit(r, outer, field->name, i->at, "the file has too many parts");
    return read_message(r, field->message, &f, i->bytes, out);
}

/* The numbers of one field go behind those that are there: there is room. */
static bool add_ints(const item *i, rlx_wire_ints *to)
{
    if (i->wire == 0)
        return to->data[to->len++] = (int64_t)i->value, true;
    cursor c = { i->bytes.data, i->bytes.data + i->bytes.len };
    while (c.p < c.end) {
        uint64_t v;
        if (read_varint(&c, &v))
            return false;
        to->data[to->len++] = (int64_t)v;
    }
    return true;
}

static void add_fixed(const counts *n, size_t k, const item *i, rlx_slice *to)
{
    if (n->runs[k] == 1 && !to->len) {
        *to = i->bytes;
        return;
    }
    memcpy((char *)(uintptr_t)to->data + to->len, i->bytes.data, i->bytes.len);
    to->len += i->bytes.len;
}

static bool fill_field(rlx_wire_reader *r, const rlx_wire_field *field, const frame *f,
                       const counts *n, size_t k, const item *i, char *out)
{
    void *at = out + field->at;
    rlx_wire_list *list = at;
    uint32_t bits;
    switch ((enum rlx_wire_kind)field->kind) {
    case RLX_WIRE_INT: *(int64_t *)at = (int64_t)i->value; return true;
    case RLX_WIRE_FLOAT:
        bits = (uint32_t)rlx_load4(i->bytes.data);
        memcpy(at, &bits, sizeof bits);
        return true;
    case RLX_WIRE_BYTES: *(rlx_slice *)at = i->bytes; return true;
    case RLX_WIRE_INTS:
        return add_ints(i, at) ||
               stop(r, f, field->name, i->at, "a number has more than 64 bits");
    case RLX_WIRE_FLOATS:
    case RLX_WIRE_DOUBLES: add_fixed(n, k, i, at); return true;
    case RLX_WIRE_STRINGS:
        ((rlx_wire_strings *)at)->data[((rlx_wire_strings *)at)->len++] = i->bytes;
        return true;
    case RLX_WIRE_MESSAGES:
        list->len++;
        return read_inner(r, field, f, list->len - 1, i,
                          (char *)list->data + (list->len - 1) * field->message->size);
    case RLX_WIRE_MESSAGE:
        if (!*(void **)at && !(*(void **)at = rlx_region_zero(r->region, field->message->size)))
            return no_memory(r);
        return read_inner(r, field, f, 0, i, *(void **)at);
    }
    return false;
}

static bool read_message(rlx_wire_reader *r, const rlx_wire_message *m, const frame *f,
                         rlx_slice bytes, char *out)
{
    counts n;
    rlx_wire_head *head = (rlx_wire_head *)(void *)out;
    if (!head->at)
        head->at = (uint64_t)(bytes.data - r->file);
    if (!count_items(r, m, f, bytes, &n) || !make_room(r, m, &n, out))
        return false;
    cursor c = { bytes.data, bytes.data + bytes.len };
    while (c.p < c.end) {
        item i;
        if (read_item(&c, &i))
            return false; /* the first pass has been here */
        const rlx_wire_field *field = find_field(m, i.number);
        if (!field)
            continue;
        head->has |= (uint64_t)1 << field->number;
        if (!fill_field(r, field, f, &n, (size_t)(field - m->fields), &i, out))
            return false;
    }
    return true;
}

bool rlx_wire_read(rlx_wire_reader *r, const rlx_wire_message *message, rlx_slice bytes, void *out)
{
    frame f = { NULL, NULL, 0, 0 };
    r->failed = r->is_limit = false;
    r->structs = 0;
    r->reason[0] = r->path[0] = 0;
    memset(out, 0, message->size);
    return read_message(r, message, &f, bytes, out);
}
