/* file_writer.c: the sections of a .rlx file, collected in any order. */
/* built for size */
#include "desc/file_writer.h"

void rlx_file_writer_init(rlx_file_writer *w, rlx_memory *m)
{
    memset(w, 0, sizeof *w);
    w->memory = m;
    rlx_buf_init(&w->name_bytes, m);
    rlx_buf_init(&w->kernel_bytes, m);
    rlx_buf_init(&w->constant_bytes, m);
    rlx_buf_init(&w->module_text, m);
    rlx_buf_init(&w->native, m);
    rlx_buf_init(&w->late, m);
    rlx_intern_init(&w->name_table, m);
    rlx_intern_init(&w->packed_table, m);
    rlx_intern_init(&w->item_table, m);
}

void rlx_file_writer_free(rlx_file_writer *w)
{
    rlx_buf_free(&w->name_bytes);
    rlx_buf_free(&w->kernel_bytes);
    rlx_buf_free(&w->constant_bytes);
    rlx_buf_free(&w->module_text);
    rlx_buf_free(&w->native);
    rlx_buf_free(&w->late);
    rlx_intern_free(&w->name_table);
    rlx_intern_free(&w->packed_table);
    rlx_intern_free(&w->item_table);
    rlx_vec_free(w->memory, &w->name_offsets);
    rlx_vec_free(w->memory, &w->functions);
    rlx_vec_free(w->memory, &w->code);
    rlx_vec_free(w->memory, &w->descs);
    rlx_vec_free(w->memory, &w->packed);
    rlx_vec_free(w->memory, &w->places);
    rlx_vec_free(w->memory, &w->kernels);
    rlx_vec_free(w->memory, &w->constants);
    rlx_vec_free(w->memory, &w->borrowed);
}

/* Pushes onto one of the writer's vectors, latching failure. */
#define PUSH(w, v, item) ((void)(rlx_vec_push((w)->memory, (v), (item)) || ((w)->failed = true)))
#define MAX_NUMBER 0xfffffff0u

/* Numbers are 32 bits everywhere: the next index of a table, or 0 with too_large set. */
static uint32_t next_number(rlx_file_writer *w, size_t len)
{
    if (len < MAX_NUMBER)
        return (uint32_t)len;
    w->too_large = true;
    return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

rlx_names rlx_file_writer_names(rlx_file_writer *w)
{
    size_t n = w->name_offsets.len;
    return (rlx_names){ w->name_offsets.data, w->name_bytes.data, n ? (uint32_t)(n - 1) : 0 };
}

static uint32_t add_name(rlx_file_writer *w, rlx_slice name, uint64_t hash)
{
    if (w->name_offsets.len == 0)
        PUSH(w, &w->name_offsets, 0u);
    size_t end = w->name_bytes.len + name.len + 1;
    uint32_t number = next_number(w, w->name_offsets.len - (w->failed ? 0 : 1));
    if (end >= MAX_NUMBER)
        w->too_large = true;
    if (!rlx_file_writer_ok(w))
        return 0;
    rlx_buf_put(&w->name_bytes, name.data, name.len);
    rlx_buf_put(&w->name_bytes, "", 1);
    if (w->name_bytes.failed ||
        !rlx_intern_add(&w->name_table, hash, (void *)((uintptr_t)number + 1)))
        w->failed = true;
    PUSH(w, &w->name_offsets, (uint32_t)end);
    return number;
}

uint32_t rlx_file_writer_name(rlx_file_writer *w, rlx_slice name)
{
    if (!rlx_file_writer_ok(w))
        return 0;
    uint64_t hash = rlx_hash_bytes(name.data, name.len);
    rlx_names names = rlx_file_writer_names(w);
    size_t at;
    for (void *item = rlx_intern_first(&w->name_table, hash, &at); item;
         item = rlx_intern_next(&w->name_table, hash, &at)) {
        uint32_t number = (uint32_t)((uintptr_t)item - 1);
        if (rlx_slice_equal(rlx_name(&names, number), name))
            return number;
    }
    return add_name(w, name, hash);
}

/* ---- functions, packed functions, kernels --------------------------------------------------- */

uint32_t rlx_file_writer_function(rlx_file_writer *w)
{
    uint32_t number = next_number(w, w->functions.len);
    PUSH(w, &w->functions, (rlx_file_function){ .name = RLX_NO_INDEX });
    return number;
}

void rlx_file_writer_set_function(rlx_file_writer *w, uint32_t number,
                                  const rlx_file_function *record)
{
    if (!rlx_file_writer_ok(w) || number >= w->functions.len)
        return;
    w->functions.data[number] = *record;
    memset(w->functions.data[number].reserved, 0, sizeof record->reserved);
}

uint32_t rlx_file_writer_packed(rlx_file_writer *w, rlx_slice name)
{
    uint32_t wanted = rlx_file_writer_name(w, name);
    if (!rlx_file_writer_ok(w))
        return 0;
    uint64_t hash = rlx_hash_mix(1, wanted);
    size_t at;
    for (void *item = rlx_intern_first(&w->packed_table, hash, &at); item;
         item = rlx_intern_next(&w->packed_table, hash, &at))
        if (w->packed.data[(uintptr_t)item - 1] == wanted)
            return (uint32_t)((uintptr_t)item - 1);
    uint32_t number = next_number(w, w->packed.len);
    PUSH(w, &w->packed, wanted);
    if (!rlx_intern_add(&w->packed_table, hash, (void *)((uintptr_t)number + 1)))
        w->failed = true;
    return number;
}

static void pad(rlx_buf *b, size_t align)
{
    static const char zeros[RLX_FILE_ALIGN];
    size_t over = b->len % align;
    if (over)
        rlx_buf_put(b, zeros, align - over);
}

uint32_t rlx_file_writer_kernel(rlx_file_writer *w, rlx_slice name, const void *bytes, size_t len)
{
    uint32_t number = next_number(w, w->kernels.len);
    rlx_file_kernel k = { .name = rlx_file_writer_name(w, name),
                          .offset = w->kernel_bytes.len,
                          .length = len };
    rlx_buf_put(&w->kernel_bytes, bytes, len);
    pad(&w->kernel_bytes, RLX_FILE_ALIGN);
    if (w->kernel_bytes.failed)
        w->failed = true;
    PUSH(w, &w->kernels, k);
    return number;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* Where the next constant begins. */
static size_t constants_end(const rlx_file_writer *w)
{
    return w->constant_bytes.len + w->borrowed_bytes;
}

static size_t aligned(size_t bytes)
{
    return (bytes + RLX_FILE_ALIGN - 1) & ~(size_t)(RLX_FILE_ALIGN - 1);
}

#define BORROW_FROM 4096

static void borrow(rlx_file_writer *w, const rlx_blob *data)
{
    PUSH(w, &w->borrowed, ((rlx_borrowed_part){ w->constant_bytes.len, data }));
    w->borrowed_bytes += aligned(data->size);
}

static uint32_t add_constant(rlx_file_writer *w, const rlx_file_constant *c)
{
    uint32_t number = next_number(w, w->constants.len);
    if (number >= RLX_OPERAND_MAX)
        w->too_large = true;
    pad(&w->constant_bytes, RLX_FILE_ALIGN);
    if (w->constant_bytes.failed)
        w->failed = true;
    PUSH(w, &w->constants, *c);
    return number;
}

/* The record of a tensor whose content of `len` bytes comes next. */
static rlx_file_constant begin_tensor(rlx_file_writer *w, int32_t dtype, const int64_t *dims,
                                      size_t ndim, size_t len)
{
    rlx_file_constant c = { .kind = RLX_CONSTANT_TENSOR, .dtype = dtype, .ndim = (uint32_t)ndim };
    if (ndim > RLX_MAX_RANK) {
        w->too_large = true;
        return c;
    }
    c.offset = constants_end(w);
    rlx_buf_put(&w->constant_bytes, (const char *)dims, ndim * sizeof *dims);
    pad(&w->constant_bytes, RLX_FILE_ALIGN);
    c.length = constants_end(w) - c.offset + len;
    return c;
}

uint32_t rlx_file_writer_const_tensor(rlx_file_writer *w, int32_t dtype, const int64_t *dims,
                                      size_t ndim, const void *data, size_t len)
{
    rlx_file_constant c = begin_tensor(w, dtype, dims, ndim, len);
    rlx_buf_put(&w->constant_bytes, data, len);
    return add_constant(w, &c);
}

uint32_t rlx_file_writer_const_blob(rlx_file_writer *w, int32_t dtype, const int64_t *dims,
                                    size_t ndim, const rlx_blob *data)
{
    if (data->size <= BORROW_FROM && !data->deferred)
        return rlx_file_writer_const_tensor(w, dtype, dims, ndim, data->data, data->size);
    rlx_file_constant c = begin_tensor(w, dtype, dims, ndim, data->size);
    borrow(w, data);
    return add_constant(w, &c);
}

uint32_t rlx_file_writer_const_string(rlx_file_writer *w, rlx_slice text)
{
    rlx_file_constant c = { .kind = RLX_CONSTANT_STRING,
                            .offset = constants_end(w),
                            .length = text.len };
    rlx_buf_put(&w->constant_bytes, text.data, text.len);
    return add_constant(w, &c);
}

uint32_t rlx_file_writer_const_shape(rlx_file_writer *w, const int64_t *values, size_t ndim)
{
    if (ndim > RLX_MAX_OPERANDS) {
        w->too_large = true;
        return 0;
    }
    rlx_file_constant c = { .kind = RLX_CONSTANT_SHAPE,
                            .ndim = (uint32_t)ndim,
                            .offset = constants_end(w) };
    c.length = ndim * sizeof *values;
    rlx_buf_put(&w->constant_bytes, (const char *)values, c.length);
    return add_constant(w, &c);
}

uint32_t rlx_file_writer_const_scalar(rlx_file_writer *w, enum rlx_constant_kind kind,
                                      int32_t dtype, uint64_t bits)
{
    rlx_file_constant c = { .kind = kind, .dtype = dtype, .bits = bits };
    /* neighbours are what repeats: a full table would cost more than it saves */
    size_t last = w->constants.len;
    for (size_t i = last > 16 ? last - 16 : 0; i < last; i++) {
        const rlx_file_constant *old = &w->constants.data[i];
        if (old->kind == kind && old->dtype == dtype && old->bits == bits)
            return (uint32_t)i;
    }
    return add_constant(w, &c);
}

/* ---- code ----------------------------------------------------------------------------------- */

static size_t fixed_operands(const rlx_opcode_row *row)
{
    size_t n = strlen(row->layout);
    return n && row->layout[n - 1] == '*' ? n - 2 : n;
}

uint32_t rlx_file_writer_emit(rlx_file_writer *w, enum rlx_opcode op, const uint32_t *fixed,
                              const uint32_t *list, size_t count)
{
    const rlx_opcode_row *row = rlx_opcode_info(op);
    uint32_t at = next_number(w, w->code.len);
    if (!row || count > RLX_MAX_OPERANDS)
        w->too_large = true;
    if (!rlx_file_writer_ok(w))
        return 0;
    PUSH(w, &w->code, rlx_ins_header(op, (uint32_t)count));
    for (size_t i = 0, n = fixed_operands(row); i < n; i++)
        PUSH(w, &w->code, fixed[i]);
    for (size_t i = 0; i < count; i++)
        PUSH(w, &w->code, list[i]);
    return at;
}

void rlx_file_writer_patch(rlx_file_writer *w, uint32_t at, uint32_t target)
{
    if (!rlx_file_writer_ok(w) || at >= w->code.len)
        return;
    size_t jump = rlx_opcode_jump(rlx_ins_opcode(w->code.data[at]));
    if (jump && at + jump < w->code.len)
        w->code.data[at + jump] = target - at; /* two's complement: also backwards */
}

void rlx_file_writer_place(rlx_file_writer *w, uint32_t binding, uint32_t file, uint32_t line,
                           uint32_t column)
{
    rlx_file_place p = { rlx_file_writer_here(w), binding, file, line, column };
    const rlx_file_place *last = w->places.len ? &rlx_vec_last(&w->places) : NULL;
    bool same = last && last->word == p.word;
    bool border = same && last->binding == RLX_NO_INDEX && binding != RLX_NO_INDEX &&
                  (w->places.len < 2 || last[-1].word != p.word);
    if (same && !border)
        rlx_vec_last(&w->places) = p;
    else
        PUSH(w, &w->places, p);
}

/* In front of it, so that the last place of a word is the one that counts. */
void rlx_file_writer_held_place(rlx_file_writer *w, uint32_t binding, uint32_t file, uint32_t line,
                                uint32_t column)
{
    if (!w->places.len)
        return;
    rlx_file_place last = rlx_vec_last(&w->places);
    rlx_vec_last(&w->places) = (rlx_file_place){ last.word, binding, file, line, column };
    PUSH(w, &w->places, last);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* What a sink gets at once; larger content goes to it from where it is. */
#define PART ((size_t)1 << 16)

/* Where the file goes: into memory of its size, or to a sink. Neither: its size comes out. */
typedef struct file_out {
    rlx_file_writer *w;
    unsigned char *to;
    const rlx_file_sink *sink;
    unsigned char *part; /* of the sink: bytes that it has not got yet */
    size_t filled;
    rlx_buf made;        /* of the sink: content that was still to be made */
    size_t len;
    uint32_t crc;        /* of the section under way */
    uint32_t num_sections;
    rlx_file_section sections[RLX_SECTION_END];
    bool failed;
} file_out;

static void send(file_out *o, size_t at, const void *data, size_t bytes)
{
    if (o->failed || !bytes || o->sink->write(o->sink->user, at, data, bytes))
        return;
    o->failed = o->w->refused = true;
}

static void flush(file_out *o)
{
    send(o, o->len - o->filled, o->part, o->filled);
    o->filled = 0;
}

static void put_bytes(file_out *o, const void *data, size_t bytes)
{
    if (o->to && bytes)
        memcpy(o->to + o->len, data, bytes);
    if (o->sink && o->filled + bytes > PART)
        flush(o);
    if (o->sink && bytes > PART)
        send(o, o->len, data, bytes);
    else if (o->sink && bytes) {
        memcpy(o->part + o->filled, data, bytes);
        o->filled += bytes;
    }
    o->len += bytes;
}

static void put(file_out *o, const void *data, size_t bytes)
{
    if (o->to || o->sink)
        o->crc = rlx_crc32c(o->crc, data, bytes);
    put_bytes(o, data, bytes);
}

/* Memory of a sink for content that is made. */
static void *space_for(file_out *o, size_t bytes)
{
    o->made.len = 0;
    return rlx_buf_grow(&o->made, bytes) ? o->made.data : NULL;
}

/* Content that is made, piece by piece; it goes where it stays, if that is memory. */
static void put_made(file_out *o, rlx_deferred *d, size_t size)
{
    for (size_t done = 0, n; done < size && !o->failed; done += n) {
        void *made = o->to ? o->to + o->len : space_for(o, d->most);
        n = made ? d->make(d, done, made) : 0;
        o->failed |= !n;
        if (n)
            o->crc = rlx_crc32c(o->crc, made, n);
        if (o->sink)
            put_bytes(o, made, n);
        else
            o->len += n;
    }
}

static void put_blob(file_out *o, const rlx_blob *b)
{
    if (!b->deferred)
        put(o, b->data, b->size);
    else if (o->to || o->sink)
        put_made(o, b->deferred, b->size);
    else
        o->len += b->size;
}

static void put_padding(file_out *o)
{
    static const char zeros[RLX_FILE_ALIGN];
    put(o, zeros, aligned(o->len) - o->len);
}

static rlx_file_section begin_section(file_out *o, uint32_t kind)
{
    put_padding(o);
    o->crc = 0;
    return (rlx_file_section){ .kind = kind, .offset = o->len };
}

static void end_section(file_out *o, rlx_file_section s)
{
    s.length = o->len - s.offset;
    s.checksum = o->crc;
    o->sections[o->num_sections++] = s;
}

static void put_plain(file_out *o, uint32_t kind, const void *data, size_t bytes)
{
    rlx_file_section s = begin_section(o, kind);
    put(o, data, bytes);
    end_section(o, s);
}

static void put_names(file_out *o, rlx_file_writer *w)
{
    rlx_names names = rlx_file_writer_names(w);
    static const uint32_t zero;
    rlx_file_section s = begin_section(o, RLX_SECTION_NAMES);
    put(o, &names.count, sizeof names.count);
    if (names.count)
        put(o, names.offsets, (names.count + (size_t)1) * sizeof *names.offsets);
    else
        put(o, &zero, sizeof zero);
    put(o, w->name_bytes.data, w->name_bytes.len);
    end_section(o, s);
}

static size_t table_bytes(size_t count, size_t record)
{
    return aligned(2 * sizeof(uint32_t) + count * record);
}

static void put_payload(file_out *o, const rlx_buf *bytes, const rlx_borrowed_part *parts,
                        size_t count)
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].at > done)
            put(o, bytes->data + done, parts[i].at - done);
        put_blob(o, parts[i].data);
        put_padding(o);
        done = parts[i].at;
    }
    put(o, bytes->data ? bytes->data + done : "", bytes->len - done);
}

/* KERNELS and CONSTANTS: count, records whose offsets are moved behind the table, payload. */
#define PUT_TABLE(o, section, record, records, payload, parts, num_parts, has_payload) \
    do {                                                                               \
        rlx_file_section s_ = begin_section((o), (section));                           \
        size_t shift_ = table_bytes((records)->len, sizeof *(records)->data);          \
        const uint32_t head_[2] = { (uint32_t)(records)->len, 0 };                     \
        put((o), head_, sizeof head_);                                                 \
        for (size_t i_ = 0; i_ < (records)->len; i_++) {                               \
            record r_ = (records)->data[i_];                                           \
            r_.offset += (has_payload) ? shift_ : 0;                                   \
            put((o), &r_, sizeof r_);                                                  \
        }                                                                              \
        put_padding(o);                                                                \
        put_payload((o), (payload), (parts), (num_parts));                             \
        end_section((o), s_);                                                          \
    } while (0)

static void put_sections(file_out *o, rlx_file_writer *w)
{
    put_names(o, w);
    put_plain(o, RLX_SECTION_FUNCTIONS, w->functions.data,
              w->functions.len * sizeof *w->functions.data);
    put_plain(o, RLX_SECTION_CODE, w->code.data, w->code.len * sizeof *w->code.data);
    PUT_TABLE(o, RLX_SECTION_KERNELS, rlx_file_kernel, &w->kernels, &w->kernel_bytes, NULL, 0, true);
    PUT_TABLE(o, RLX_SECTION_CONSTANTS, rlx_file_constant, &w->constants, &w->constant_bytes,
              w->borrowed.data, w->borrowed.len, r_.kind <= RLX_CONSTANT_SHAPE);
    put_plain(o, RLX_SECTION_DESCS, w->descs.data, w->descs.len * sizeof *w->descs.data);
    put_plain(o, RLX_SECTION_PACKED, w->packed.data, w->packed.len * sizeof *w->packed.data);
    if (w->places.len)
        put_plain(o, RLX_SECTION_PLACES, w->places.data, w->places.len * sizeof *w->places.data);
    if (w->module_text.len)
        put_plain(o, RLX_SECTION_MODULE, w->module_text.data, w->module_text.len);
    if (w->native.len)
        put_plain(o, RLX_SECTION_NATIVE, w->native.data, w->native.len);
    if (w->late.len)
        put_plain(o, RLX_SECTION_LATE, w->late.data, w->late.len);
}

typedef struct file_head {
    rlx_file_header header;
    rlx_file_section sections[RLX_SECTION_END];
} file_head;

static size_t head_bytes(const file_out *o)
{
    return sizeof(rlx_file_header) + o->num_sections * sizeof(rlx_file_section);
}

/* The sums are known last, and stand first. */
static void put_head(file_out *o)
{
    file_head h = { .header = { .major = RLX_FILE_MAJOR,
                                .minor = RLX_FILE_MINOR,
                                .num_sections = o->num_sections,
                                .file_size = o->len,
                                .flags = o->w->flags } };
    memcpy(h.header.magic, RLX_FILE_MAGIC, sizeof h.header.magic);
    memcpy(h.sections, o->sections, o->num_sections * sizeof *h.sections);
    h.header.checksum = rlx_crc32c(0, &h, head_bytes(o));
    if (o->to)
        memcpy(o->to, &h, head_bytes(o));
    if (o->sink)
        send(o, 0, &h, head_bytes(o));
}

static void put_file(file_out *o)
{
    static const file_head none;
    rlx_file_writer *w = o->w;
    o->num_sections = 7u + (w->places.len > 0) + (w->module_text.len > 0) + (w->native.len > 0) +
                      (w->late.len > 0);
    put(o, &none, head_bytes(o));
    o->num_sections = 0;
    put_sections(o, w);
    if (o->sink)
        flush(o);
    if (!o->failed)
        put_head(o);
}

static bool is_complete(rlx_file_writer *w)
{
    for (size_t i = 0; i < w->functions.len; i++)
        if (w->functions.data[i].name == RLX_NO_INDEX)
            w->too_large = true;
    if (w->module_text.failed || w->native.failed || w->late.failed)
        w->failed = true;
    return rlx_file_writer_ok(w);
}

rlx_blob *rlx_file_writer_finish(rlx_file_writer *w, rlx_memory *m)
{
    file_out measured = { .w = w }, out = { .w = w };
    if (!is_complete(w))
        return NULL;
    put_file(&measured);
    rlx_blob *file = rlx_blob_create(m, NULL, measured.len);
    if (file) {
        rlx_blob_touch(file);
        out.to = file->data;
        put_file(&out);
    }
    if (file && !out.failed)
        return file;
    rlx_blob_release(file);
    w->failed = true;
    return NULL;
}

bool rlx_file_writer_send(rlx_file_writer *w, const rlx_file_sink *sink)
{
    file_out o = { .w = w, .sink = sink, .part = rlx_mem_alloc(w->memory, PART) };
    rlx_buf_init(&o.made, w->memory);
    o.failed = !o.part || !is_complete(w);
    if (!o.failed)
        put_file(&o);
    w->failed |= o.failed && !w->too_large;
    rlx_mem_free(w->memory, o.part, o.part ? PART : 0);
    rlx_buf_free(&o.made);
    return !o.failed;
}
