/* loader.c: from bytes to an executable. Whatever gets past here can be run without a further
 * look at the file. */
/* built for size */
#include "vm/vm_int.h"

typedef struct span { const unsigned char *data; uint64_t size; } span;
typedef struct loading {
    relax_executable *e;
    span sections[RLX_SECTION_END];
    rlx_load_how how;
    uint64_t *starts;
    size_t starts_bytes;
    rlx_fault *why;
} loading;

/* ---- header and sections -------------------------------------------------------------------- */

static bool check_header(const rlx_blob *image, rlx_file_header *h, rlx_fault *why)
{
    if (image->size < sizeof *h)
        return rlx_fail(why,
                        image->size < 8 || memcmp(image->data, RLX_FILE_MAGIC, 8) != 0 ? RLX_LD01
                                                                                       : RLX_LD03,
                        "%zu bytes are too few for a compiled Relax file", image->size);
    memcpy(h, image->data, sizeof *h);
    if (memcmp(h->magic, RLX_FILE_MAGIC, sizeof h->magic) != 0)
        return rlx_fail(why, RLX_LD01, "not a compiled Relax file");
    if (h->major != RLX_FILE_MAJOR)
        return rlx_fail(why, RLX_LD02, "file has version %u.%u, this library reads %u", h->major,
                        h->minor, RLX_FILE_MAJOR);
    if (h->file_size > image->size)
        return rlx_fail(why, RLX_LD03, "file has %zu bytes, expected %llu", image->size,
                        (unsigned long long)h->file_size);
    if (h->file_size != image->size)
        return rlx_fail(why, RLX_LD05, "file has %zu bytes, expected %llu", image->size,
                        (unsigned long long)h->file_size);
    bool odd = (h->flags & ~(uint32_t)RLX_FILE_FLAGS) != 0;
    for (size_t i = 0; i < sizeof h->reserved; i++)
        odd |= h->reserved[i] != 0;
    if (odd)
        return rlx_fail(why, RLX_LD05, "reserved bytes of the header are not zero");
    if (h->num_sections > 64 ||
        sizeof *h + h->num_sections * sizeof(rlx_file_section) > image->size)
        return rlx_fail(why, RLX_LD05, "file has %u sections, more than its size allows",
                        h->num_sections);
    rlx_file_header zero = *h;
    zero.checksum = 0;
    uint32_t crc = rlx_crc32c(0, &zero, sizeof zero);
    crc = rlx_crc32c(crc, image->data + sizeof zero, h->num_sections * sizeof(rlx_file_section));
    return crc == h->checksum || rlx_fail(why, RLX_LD04, "checksum of the header does not match");
}

static bool all_zero(const unsigned char *data, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        if (data[i])
            return false;
    return true;
}

/* One row of the table; *end is where the one before ended. */
static bool check_section(loading *l, const rlx_file_header *h, const rlx_file_section *s,
                          uint32_t last_kind, uint64_t *end)
{
    const rlx_blob *image = l->e->image;
    const char *name = rlx_section_name(s->kind);
    const char *shown = name ? name : "unknown";
    if (s->kind <= last_kind || (!name && h->minor <= RLX_FILE_MINOR) || s->reserved)
        return rlx_fail(l->why, RLX_LD05, "section of kind %u is unknown or out of order",
                        s->kind);
    if (s->offset % RLX_FILE_ALIGN || s->offset < *end || s->offset - *end >= RLX_FILE_ALIGN ||
        s->offset > image->size || s->length > image->size - s->offset)
        return rlx_fail(l->why, RLX_LD05, "section %s lies outside its place in the file", shown);
    if (!all_zero(image->data, *end, s->offset))
        return rlx_fail(l->why, RLX_LD05, "bytes before section %s are not zero", shown);
    *end = s->offset + s->length;
    if ((s->kind != RLX_SECTION_CONSTANTS || l->how.check_constants) &&
        rlx_crc32c(0, image->data + s->offset, s->length) != s->checksum)
        return rlx_fail(l->why, RLX_LD04, "checksum of section %s does not match", shown);
    if (name)
        l->sections[s->kind] = (span){ image->data + s->offset, s->length };
    return true;
}

static bool read_sections(loading *l)
{
    const rlx_blob *image = l->e->image;
    rlx_file_header h;
    if (!check_header(image, &h, l->why))
        return false;
    uint64_t end = sizeof h + h.num_sections * sizeof(rlx_file_section);
    uint32_t last = 0;
    for (uint32_t i = 0; i < h.num_sections; i++) {
        rlx_file_section s;
        memcpy(&s, image->data + sizeof h + i * sizeof s, sizeof s);
        if (!check_section(l, &h, &s, last, &end))
            return false;
        last = s.kind;
    }
    return end == image->size ||
           rlx_fail(l->why, RLX_LD05, "file has bytes behind its last section");
}

/* Records of a section that is nothing but records. */
static bool plain_records(loading *l, enum rlx_section_kind kind, size_t record, const void **data,
                          uint32_t *count)
{
    span s = l->sections[kind];
    *data = NULL;
    *count = 0;
    if (s.size % record || s.size / record >= UINT32_MAX)
        return rlx_fail(l->why, RLX_LD05, "section %s has an odd length", rlx_section_name(kind));
    *data = s.data;
    *count = (uint32_t)(s.size / record);
    return true;
}

/* Records of a section with a counted table in front; *table is the size of count and records
 * together. */
static bool counted_records(loading *l, enum rlx_section_kind kind, size_t record,
                            const void **data, uint32_t *count, uint64_t *table)
{
    span s = l->sections[kind];
    uint32_t head[2] = { 0, 0 };
    *data = NULL;
    *count = 0;
    *table = 0;
    if (s.size == 0)
        return true;
    if (s.size < sizeof head)
        return rlx_fail(l->why, RLX_LD05, "section %s breaks off", rlx_section_name(kind));
    memcpy(head, s.data, sizeof head);
    if (head[1] || head[0] > (s.size - sizeof head) / record || head[0] > RLX_OPERAND_MAX)
        return rlx_fail(l->why, RLX_LD05, "section %s has a table of %u rows that does not fit",
                        rlx_section_name(kind), head[0]);
    *data = s.data + sizeof head;
    *count = head[0];
    *table = sizeof head + (uint64_t)head[0] * record;
    return true;
}

/* Is [offset, offset + length) an aligned part of the section, behind its table? */
static bool payload_fits(const loading *l, enum rlx_section_kind kind, uint64_t table,
                         uint64_t offset, uint64_t length)
{
    uint64_t size = l->sections[kind].size;
    return offset % RLX_FILE_ALIGN == 0 && offset >= table && offset <= size &&
           length <= size - offset;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool load_names(loading *l)
{
    span s = l->sections[RLX_SECTION_NAMES];
    uint32_t count = 0;
    if (s.size == 0)
        return true;
    if (s.size >= 4)
        memcpy(&count, s.data, sizeof count);
    if (s.size < 8 || count >= (s.size - 4) / 4)
        return rlx_fail(l->why, RLX_LD17, "section names breaks off");
    const uint32_t *offsets = (const uint32_t *)(const void *)(s.data + 4);
    const char *bytes = (const char *)(offsets + count + 1);
    uint64_t size = s.size - 4 - ((uint64_t)count + 1) * 4;
    if (offsets[0] != 0 || offsets[count] != size)
        return rlx_fail(l->why, RLX_LD17, "section names has a wrong length");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = offsets[i], end = offsets[i + 1];
        if (end <= at || end > size || bytes[end - 1] != 0 ||
            memchr(bytes + at, 0, end - 1 - at) ||
            rlx_utf8_valid(bytes + at, end - 1 - at) != end - 1 - at)
            return rlx_fail(l->why, RLX_LD17, "name %u is malformed", i);
    }
    l->e->names = (rlx_names){ offsets, bytes, count };
    return true;
}

static bool is_name(const relax_executable *e, uint32_t name, bool optional)
{
    return name < e->names.count || (optional && name == RLX_NO_INDEX);
}

/* ---- descriptions, packed functions, places ------------------------------------------------- */

static bool load_descs(loading *l)
{
    relax_executable *e = l->e;
    const void *data = NULL;
    if (!plain_records(l, RLX_SECTION_DESCS, sizeof(int64_t), &data, &e->num_descs))
        return false;
    e->descs = data;
    l->starts_bytes = ((size_t)e->num_descs / 64 + 1) * sizeof(uint64_t);
    l->starts = rlx_mem_alloc_zero(&e->memory->memory, l->starts_bytes);
    if (!l->starts)
        return rlx_fail(l->why, RLX_RT10, "out of memory");
    return rlx_desc_verify(e->descs, e->num_descs, e->names.count, l->starts, l->why);
}

static bool load_packed(loading *l)
{
    relax_executable *e = l->e;
    const void *data = NULL;
    if (!plain_records(l, RLX_SECTION_PACKED, sizeof(uint32_t), &data, &e->num_packed))
        return false;
    e->packed = data;
    if (!e->num_packed)
        return true;
    e->builtins = rlx_mem_alloc_zero(&e->memory->memory, e->num_packed * sizeof *e->builtins);
    if (!e->builtins)
        return rlx_fail(l->why, RLX_RT10, "out of memory");
    static const rlx_slice prefix = { RLX_BUILTIN_PREFIX, sizeof RLX_BUILTIN_PREFIX - 1 };
    for (uint32_t i = 0; i < e->num_packed; i++) {
        rlx_slice name = rlx_name(&e->names, e->packed[i]);
        if (!is_name(e, e->packed[i], false))
            return rlx_fail(l->why, RLX_LD17, "packed function %u has no name", i);
        e->builtins[i] = rlx_builtin_find(name);
        if (!e->builtins[i] && name.len > prefix.len &&
            memcmp(name.data, prefix.data, prefix.len) == 0)
            return rlx_fail(l->why, RLX_LD07, "this library has no builtin %s", name.data);
    }
    return true;
}

static bool load_places(loading *l)
{
    relax_executable *e = l->e;
    const void *data = NULL;
    if (!plain_records(l, RLX_SECTION_PLACES, sizeof(rlx_file_place), &data, &e->num_places))
        return false;
    e->places = data;
    for (uint32_t i = 0; i < e->num_places; i++) {
        const rlx_file_place *p = &e->places[i];
        /* of a word: that of a function, then what a group holds, then that of the binding */
        if ((i && p->word < p[-1].word) || !is_name(e, p->binding, true) ||
            !is_name(e, p->file, true))
            return rlx_fail(l->why, RLX_LD05, "place %u is malformed", i);
    }
    return true;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static bool load_kernels(loading *l)
{
    relax_executable *e = l->e;
    const void *data = NULL;
    uint64_t table, end;
    if (!counted_records(l, RLX_SECTION_KERNELS, sizeof(rlx_file_kernel), &data, &e->num_kernels,
                         &table))
        return false;
    e->kernel_table = data;
    if (!e->num_kernels)
        return true;
    uint32_t count = e->num_kernels;
    e->kernels = rlx_mem_alloc_zero(&e->memory->memory, count * sizeof *e->kernels);
    if (!e->kernels) {
        e->num_kernels = 0;
        return rlx_fail(l->why, RLX_RT10, "out of memory");
    }
    end = table;
    for (uint32_t i = 0; i < count; i++) {
        const rlx_file_kernel *k = &e->kernel_table[i];
        /* In order and apart: a file cannot make us read the same bytes again and again. */
        if (!payload_fits(l, RLX_SECTION_KERNELS, end, k->offset, k->length) || k->reserved ||
            !is_name(e, k->name, false))
            return rlx_fail(l->why, RLX_LD08, "kernel %u lies outside its section", i);
        end = k->offset + k->length;
        if (!rlx_kernel_load(&e->memory->memory, l->sections[RLX_SECTION_KERNELS].data + k->offset,
                             k->length, &e->kernels[i], l->why))
            return false;
    }
    return true;
}

/* ---- constants ------------------------------------------------------------------------------ */

static void release_image(void *image)
{
    rlx_blob_release(image);
}

static bool bad_constant(const loading *l, uint32_t i)
{
    return rlx_fail(l->why, RLX_LD09, "constant %u is malformed", i);
}

static bool no_memory(const loading *l)
{
    return rlx_fail(l->why, RLX_RT10, "out of memory for the constants");
}

static bool load_tensor(loading *l, rlx_pool *p, uint32_t i, const rlx_file_constant *c,
                        const unsigned char *at)
{
    size_t bytes, head = ((size_t)c->ndim * sizeof(int64_t) + RLX_FILE_ALIGN - 1) &
                         ~(size_t)(RLX_FILE_ALIGN - 1);
    const int64_t *dims = (const int64_t *)(const void *)at;
    if (c->ndim > RLX_MAX_RANK || c->length < head)
        return bad_constant(l, i);
    if (!rlx_shape_bytes(c->dtype, (int32_t)c->ndim, dims, &bytes, NULL) ||
        rlx_dtype_lanes(c->dtype) != 1 || bytes != c->length - head)
        return bad_constant(l, i);
    rlx_blob_retain(l->e->image);
    rlx_storage *s =
        rlx_storage_wrap(p, (void *)(uintptr_t)(at + head), bytes, release_image, l->e->image);
    if (!s)
        return no_memory(l);
    rlx_tensor_object *t = rlx_tensor_view(p, s, 0, c->dtype, (int32_t)c->ndim, dims);
    rlx_object_release(s);
    if (!t)
        return no_memory(l);
    t->read_only = 1;
    l->e->constants[i] = rlx_value_object(RELAX_VALUE_TENSOR, t);
    return true;
}

static bool load_scalar(loading *l, uint32_t i, const rlx_file_constant *c)
{
    relax_value *to = &l->e->constants[i];
    if (c->offset || c->length || c->ndim)
        return bad_constant(l, i);
    switch (c->kind) {
    case RLX_CONSTANT_INT:
        if (rlx_dtype_is_bool(c->dtype) && c->bits > 1)
            return bad_constant(l, i);
        *to = rlx_dtype_is_bool(c->dtype) ? rlx_value_bool(c->bits != 0)
                                          : rlx_value_int((int64_t)c->bits);
        return true;
    case RLX_CONSTANT_FLOAT:
        memcpy(&to->v, &c->bits, sizeof c->bits);
        to->type_index = RELAX_VALUE_FLOAT;
        return true;
    case RLX_CONSTANT_DTYPE: {
        DLDataType d = rlx_dl_from_dtype(c->dtype);
        to->type_index = RELAX_VALUE_DTYPE;
        memcpy(to->v.bytes, &d, sizeof d);
        return true;
    }
    default: return true; /* NULL */
    }
}

static bool load_function_value(loading *l, rlx_pool *p, uint32_t i, const rlx_file_constant *c)
{
    relax_executable *e = l->e;
    if (c->bits >= e->num_functions)
        return bad_constant(l, i);
    rlx_module_function *f = rlx_module_function_make(p);
    if (!f)
        return no_memory(l);
    f->image = rlx_blob_retain(e->image);
    f->number = (uint32_t)c->bits;
    f->signature = e->functions[c->bits].signature;
    f->descs = e->descs;
    e->constants[i] = rlx_value_object(RELAX_VALUE_OBJECT, f);
    return true;
}

static bool load_extern_value(loading *l, rlx_pool *p, uint32_t i, const rlx_file_constant *c)
{
    if (c->bits >= l->e->num_packed)
        return bad_constant(l, i);
    rlx_extern_function *f = rlx_extern_function_make(p);
    if (!f)
        return no_memory(l);
    f->image = rlx_blob_retain(l->e->image);
    f->packed = (uint32_t)c->bits;
    l->e->constants[i] = rlx_value_object(RELAX_VALUE_OBJECT, f);
    return true;
}

static bool load_constant(loading *l, rlx_pool *p, uint32_t i, const rlx_file_constant *c)
{
    const unsigned char *at =
        l->sections[RLX_SECTION_CONSTANTS].data + (c->kind <= RLX_CONSTANT_SHAPE ? c->offset : 0);
    void *object = NULL;
    int32_t tag = RELAX_VALUE_STRING;
    switch (c->kind) {
    case RLX_CONSTANT_TENSOR: return load_tensor(l, p, i, c, at);
    case RLX_CONSTANT_STRING:
        if (rlx_utf8_valid((const char *)at, c->length) != c->length)
            return bad_constant(l, i);
        object = rlx_string_make(p, (rlx_slice){ (const char *)at, c->length });
        break;
    case RLX_CONSTANT_SHAPE:
        if (c->length != (uint64_t)c->ndim * sizeof(int64_t))
            return bad_constant(l, i);
        object = rlx_shape_make(p, (const int64_t *)(const void *)at, c->ndim);
        tag = RELAX_VALUE_SHAPE;
        break;
    case RLX_CONSTANT_FUNCTION: return load_function_value(l, p, i, c);
    case RLX_CONSTANT_EXTERN: return load_extern_value(l, p, i, c);
    default: return c->kind < RLX_CONSTANT_KINDS ? load_scalar(l, i, c) : bad_constant(l, i);
    }
    if (!object)
        return no_memory(l);
    l->e->constants[i] = rlx_value_object(tag, object);
    return true;
}

static bool load_constants(loading *l)
{
    relax_executable *e = l->e;
    const void *data = NULL;
    uint64_t table, end;
    uint32_t count;
    if (!counted_records(l, RLX_SECTION_CONSTANTS, sizeof(rlx_file_constant), &data, &count,
                         &table))
        return false;
    if (!count)
        return true;
    e->constants = rlx_mem_alloc_zero(&e->memory->memory, count * sizeof *e->constants);
    if (!e->constants)
        return no_memory(l);
    e->num_constants = count;
    rlx_pool p = { .memory = e->memory };
    bool ok = true;
    end = table;
    for (uint32_t i = 0; ok && i < count; i++) {
        const rlx_file_constant *c = (const rlx_file_constant *)data + i;
        bool has_payload = c->kind <= RLX_CONSTANT_SHAPE;
        if (c->reserved ||
            (has_payload && !payload_fits(l, RLX_SECTION_CONSTANTS, end, c->offset, c->length)))
            ok = bad_constant(l, i);
        else
            ok = load_constant(l, &p, i, c);
        if (has_payload)
            end = c->offset + c->length;
    }
    return ok;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool bad_function(const loading *l, uint32_t i, const char *what)
{
    return rlx_fail(l->why, RLX_LD16, "function %u: %s", i, what);
}

static bool check_kernel_function(const loading *l, uint32_t i, const rlx_file_function *f)
{
    if (f->code >= l->e->num_kernels || f->code_len || f->num_regs || f->num_syms ||
        f->result != RLX_NO_INDEX)
        return bad_function(l, i, "malformed kernel function");
    return f->params == RLX_NO_INDEX || bad_function(l, i, "malformed kernel function");
}

#define SMALL_FRAME (uint64_t)16 /* registers or symbols that nobody minds */

static bool check_function(const loading *l, uint32_t i, const rlx_file_function *f)
{
    const relax_executable *e = l->e;
    for (size_t k = 0; k < RLX_COUNT(f->reserved); k++)
        if (f->reserved[k])
            return bad_function(l, i, "reserved words are not zero");
    if (!is_name(e, f->name, false) || (f->flags & ~(uint32_t)RLX_FUNCTION_FLAGS))
        return bad_function(l, i, "malformed name or flags");
    if (f->signature != RLX_NO_INDEX &&
        (!rlx_desc_usable(e->descs, e->num_descs, l->starts, f->signature, RLX_ITEM_DESC,
                          RLX_MAX_SYMBOLS, 0) ||
         rlx_desc_kind_of(rlx_item_node(e->descs, f->signature)) != RLX_DESC_FUNC))
        return bad_function(l, i, "malformed signature");
    if (f->flags & RLX_FUNCTION_KERNEL)
        return check_kernel_function(l, i, f);
    if (f->code > e->num_code || f->code_len > e->num_code - f->code || f->code_len == 0)
        return bad_function(l, i, "code lies outside its section");
    if (f->num_regs > RLX_MAX_REGISTERS || f->num_syms > RLX_MAX_SYMBOLS ||
        f->num_params > f->num_regs)
        return bad_function(l, i, "too many registers");
    /* A small file cannot ask for large frames: each register is written somewhere, each symbol
     * bound. */
    uint64_t most = SMALL_FRAME + f->code_len;
    if (f->num_regs - f->num_params > most || f->num_syms > most + e->num_descs)
        return bad_function(l, i, "more registers or symbols than its code can name");
    if (!rlx_desc_usable(e->descs, e->num_descs, l->starts, f->params, RLX_ITEM_PARAMS, f->num_syms,
                         f->num_regs) ||
        rlx_desc_node_count(rlx_item_node(e->descs, f->params)) != f->num_params)
        return bad_function(l, i, "malformed parameters");
    if (f->result != RLX_NO_INDEX && !rlx_desc_usable(e->descs, e->num_descs, l->starts, f->result,
                                                      RLX_ITEM_DESC, f->num_syms, f->num_regs))
        return bad_function(l, i, "malformed result description");
    return true;
}

static bool publish(loading *l)
{
    relax_executable *e = l->e;
    if (e->num_functions == 0)
        return true;
    e->public_functions =
        rlx_mem_alloc(&e->memory->memory, e->num_functions * sizeof *e->public_functions);
    if (!e->public_functions)
        return rlx_fail(l->why, RLX_RT10, "out of memory");
    for (uint32_t i = 0; i < e->num_functions; i++) {
        const rlx_file_function *f = &e->functions[i];
        rlx_slice name = rlx_name(&e->names, f->name);
        if (!(f->flags & RLX_FUNCTION_PUBLIC))
            continue;
        if (name.len == 0 || rlx_map_has(&e->by_name, name))
            return bad_function(l, i, "public name is empty or taken");
        e->public_functions[e->num_public++] = i;
        if (!rlx_map_put(&e->by_name, name, (void *)(uintptr_t)e->num_public))
            return rlx_fail(l->why, RLX_RT10, "out of memory");
    }
    return true;
}

static bool load_functions(loading *l)
{
    relax_executable *e = l->e;
    const void *data = NULL;
    uint64_t code = 0;
    if (!plain_records(l, RLX_SECTION_CODE, sizeof(uint32_t), &data, &e->num_code))
        return false;
    e->code = data;
    if (!plain_records(l, RLX_SECTION_FUNCTIONS, sizeof(rlx_file_function), &data,
                       &e->num_functions))
        return false;
    e->functions = data;
    for (uint32_t i = 0; i < e->num_functions; i++) {
        if (!check_function(l, i, &e->functions[i]))
            return false;
        code += (e->functions[i].flags & RLX_FUNCTION_KERNEL) ? 0 : e->functions[i].code_len;
    }
    if (code > e->num_code)
        return rlx_fail(l->why, RLX_LD16, "functions share code");
    return publish(l);
}

/* ---- all together --------------------------------------------------------------------------- */

/* Operators that are bound late share what is compiled for them. What is in the file already is
 * loaded, and verified, when it is met. */
static bool load_late(loading *l)
{
    span s = l->sections[RLX_SECTION_LATE];
    for (uint64_t at = 0, key, size; at < s.size; at += size) {
        if (s.size - at < 8 || (memcpy(&key, s.data + at, 8), key == 0) ||
            key > (s.size - at) / 8 - 1 || (at += 8 + 8 * key, s.size - at < 8))
            return rlx_fail(l->why, RLX_LD05, "section late breaks off");
        memcpy(&size, s.data + at, 8);
        at += 8;
        if (size > s.size - at || (size += -size & 7) > s.size - at)
            return rlx_fail(l->why, RLX_LD05, "section late breaks off");
    }
    l->e->allow_native = l->how.allow_native;
    l->e->ahead = s.data;
    l->e->ahead_bytes = s.size;
    return !l->e->has_late || rlx_late_cache_make(l->e) ||
           rlx_fail(l->why, RLX_RT10, "out of memory");
}

static bool load_all(loading *l)
{
    if (!read_sections(l) || !load_names(l) || !load_descs(l) || !load_packed(l) ||
        !load_kernels(l) || !load_functions(l) || !load_constants(l) || !load_places(l))
        return false;
    span text = l->sections[RLX_SECTION_MODULE];
    l->e->module_text = (rlx_slice){ (const char *)text.data, text.size };
    span native = l->sections[RLX_SECTION_NATIVE];
    return rlx_verify_code(l->e, l->starts, &l->e->max_args, &l->e->has_late, l->why) &&
           rlx_prove_calls(l->e, l->why) && load_late(l) &&
           rlx_load_native(l->e, native.data, native.size, l->how.allow_native, l->why);
}

static void free_executable(relax_executable *e)
{
    rlx_shared_memory *shared = e->memory;
    rlx_memory *m = &shared->memory;
    for (uint32_t i = 0; i < e->num_constants; i++)
        rlx_value_drop(&e->constants[i]);
    rlx_mem_free(m, e->constants, e->num_constants * sizeof *e->constants);
    for (uint32_t i = 0; i < e->num_kernels; i++)
        rlx_kernel_free(e->kernels[i]);
    rlx_mem_free(m, e->kernels, e->num_kernels * sizeof *e->kernels);
    rlx_free_native(e);
    rlx_late_cache_free(e);
    rlx_mem_free(m, e->known, e->known ? e->num_code + (size_t)1 : 0);
    rlx_mem_free(m, e->builtins, e->num_packed * sizeof *e->builtins);
    rlx_mem_free(m, e->public_functions, e->num_functions * sizeof *e->public_functions);
    rlx_map_free(&e->by_name);
    rlx_blob_release(e->image);
    rlx_handle_ends(e);
    rlx_mem_free(m, e, sizeof *e);
    rlx_shared_memory_release(shared);
}

relax_executable *rlx_executable_retain(relax_executable *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void rlx_executable_release(relax_executable *e)
{
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1)
        free_executable(e);
}

bool rlx_executable_load(rlx_shared_memory *memory, rlx_blob *image, rlx_load_how how,
                         relax_executable **out, rlx_fault *why)
{
    *out = NULL;
    if ((uintptr_t)image->data % RLX_FILE_ALIGN) {
        rlx_blob *copy = rlx_blob_create(&memory->memory, image->data, image->size);
        rlx_blob_release(image);
        image = copy;
    }
    relax_executable *e = image ? rlx_mem_alloc_zero(&memory->memory, sizeof *e) : NULL;
    if (!e) {
        rlx_blob_release(image);
        return rlx_fail(why, RLX_RT10, "out of memory");
    }
    atomic_init(&e->refs, 1);
    e->tag = RLX_TAG_EXECUTABLE;
    e->memory = rlx_shared_memory_retain(memory);
    e->image = image;
    rlx_map_init(&e->by_name, &memory->memory);
    loading l = { .e = e, .how = how, .why = why };
    bool ok = load_all(&l);
    rlx_mem_free(&memory->memory, l.starts, l.starts_bytes);
    if (!ok)
        free_executable(e);
    else
        *out = e;
    return ok;
}
