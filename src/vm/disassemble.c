/* disassemble.c: a compiled program as text.
 *
 * A sound file is loaded and shown with names. Of one that does not load the sections are
 * listed, with what is wrong, and the code as far as its words make instructions.
 */
/* built for size */
#include "vm/vm_int.h"

/* ---- operands ------------------------------------------------------------------------------- */

/* e is NULL where only words are known. */
typedef struct listing {
    const relax_executable *e;
    rlx_desc_env env;
    rlx_buf *out;
    size_t most;
} listing;

/* Many instructions may share one long name or description: a listing ends when it is out of
 * proportion to the file. */
#define MOST_TEXT(size) (((size_t)1 << 20) + 64 * (size_t)(size))
static bool is_full(const listing *l) { return l->out->len > l->most; }

static void put_expr(const listing *l, uint32_t offset)
{
    if (l->e)
        rlx_desc_expr_text(&l->env, offset, l->out);
    else
        rlx_buf_format(l->out, "e%u", offset);
}

static void put_desc(const listing *l, uint32_t offset)
{
    if (l->e)
        rlx_desc_text(&l->env, rlx_item_node(l->e->descs, offset), l->out);
    else
        rlx_buf_format(l->out, "D%u", offset);
}

static void put_tagged(const listing *l, uint32_t x)
{
    uint32_t i = rlx_operand_index(x);
    switch (rlx_operand_kind_of(x)) {
    case RLX_OPERAND_REGISTER: rlx_buf_format(l->out, "r%u", i); break;
    case RLX_OPERAND_CONST: rlx_buf_format(l->out, "c%u", i); break;
    case RLX_OPERAND_SYMBOL: rlx_buf_format(l->out, "s%u", i); break;
    case RLX_OPERAND_IMM: rlx_buf_format(l->out, "%d", (int)rlx_operand_value(x)); break;
    case RLX_OPERAND_EXPR:
        rlx_buf_lit(l->out, "{");
        put_expr(l, i);
        rlx_buf_lit(l->out, "}");
        break;
    default: rlx_buf_format(l->out, "?%x", x); break;
    }
}

/* A number of a table: its name if there is one. */
static void put_named(const listing *l, char letter, uint32_t w)
{
    const relax_executable *e = l->e;
    rlx_slice name = { "", 0 };
    if (e && letter == 'f')
        name = rlx_name(&e->names, e->functions[w].name);
    else if (e && letter == 'K')
        name = rlx_name(&e->names, e->kernel_table[w].name);
    else if (e && letter == 'p')
        name = rlx_name(&e->names, e->packed[w]);
    else if (e && letter == 'n')
        name = rlx_name(&e->names, w);
    if (name.len)
        rlx_buf_put(l->out, name.data, name.len);
    else if (w == RLX_NO_INDEX)
        rlx_buf_lit(l->out, "-");
    else
        rlx_buf_format(l->out, "%c%u", letter, w);
}

static void put_operand(const listing *l, char letter, uint32_t w, uint32_t at)
{
    char name[RLX_DTYPE_TEXT];
    switch (letter) {
    case 'd':
    case 'o':
    case 'r':
    case 'g':
    case 'k':
        if (w == RLX_NO_INDEX)
            rlx_buf_lit(l->out, "-");
        else
            rlx_buf_format(l->out, "r%u", w);
        break;
    case 'c': rlx_buf_format(l->out, "c%u", w); break;
    case 'S': rlx_buf_format(l->out, "s%u", w); break;
    case 'x':
    case 'a': put_tagged(l, w); break;
    case 'e': put_expr(l, w); break;
    case 'D': put_desc(l, w); break;
    case 't':
        rlx_dtype_name((rlx_dtype)w, name);
        rlx_buf_z(l->out, name);
        break;
    case 'j': rlx_buf_format(l->out, "-> %u", at + w); break;
    case 'z':
    case 'u': rlx_buf_format(l->out, "%u", w); break;
    default: put_named(l, letter, w); break;
    }
}

static size_t fixed_words(const char *layout, bool *list)
{
    size_t n = strlen(layout);
    *list = n && layout[n - 1] == '*';
    return *list ? n - 2 : n;
}

/* One line; returns the length of the instruction, 0 if the words are none. `at` counts from
 * the begin of the function. */
static size_t put_instruction(const listing *l, const uint32_t *w, size_t left, uint32_t at)
{
    const rlx_opcode_row *row = rlx_opcode_info(rlx_ins_opcode(w[0]));
    bool list;
    if (!row)
        return 0;
    size_t fixed = fixed_words(row->layout, &list), count = rlx_ins_count(w[0]);
    if (1 + fixed + count > left || (!list && count))
        return 0;
    rlx_buf_format(l->out, "  %4u  %-14s", at, row->text);
    for (size_t i = 0; i < fixed + count && !is_full(l); i++) {
        rlx_buf_z(l->out, i ? ", " : " ");
        put_operand(l, row->layout[i < fixed ? i : fixed], w[1 + i], at);
    }
    return 1 + fixed + count;
}

/* ---- a sound program ------------------------------------------------------------------------ */

static void put_params(const listing *l, const rlx_file_function *f)
{
    rlx_buf_lit(l->out, "(");
    const int64_t *at = rlx_item_node(l->e->descs, f->params) + 1;
    for (uint32_t i = 0; i < f->num_params && !is_full(l); i++) {
        if (i)
            rlx_buf_lit(l->out, ", ");
        rlx_buf_format(l->out, "r%u %s: ", i, rlx_name(&l->e->names, (uint32_t)at[0]).data);
        rlx_desc_text(&l->env, at + 1, l->out);
        at += 1 + rlx_desc_node_words(at + 1);
    }
    rlx_buf_lit(l->out, ")");
    uint32_t count;
    const rlx_desc_bound *b = rlx_desc_bounds(l->e->descs, f->params, &count);
    for (uint32_t i = 0; i < count && !is_full(l); i++) {
        rlx_buf_z(l->out, i ? ", " : " where ");
        rlx_desc_bound_text(&l->env, &b[i], l->out);
    }
}

/* The first place at or behind word `word`. */
static uint32_t first_place(const relax_executable *e, uint32_t word)
{
    uint32_t low = 0, high = e->num_places;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (e->places[middle].word < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void put_place(const listing *l, uint32_t word, uint32_t *next)
{
    const relax_executable *e = l->e;
    while (*next < e->num_places &&
           (e->places[*next].word < word ||
            (*next + 1 < e->num_places && e->places[*next + 1].word == word)))
        ++*next;
    if (*next >= e->num_places || e->places[*next].word != word)
        return;
    const rlx_file_place *p = &e->places[*next];
    rlx_buf_lit(l->out, "    #");
    if (p->binding != RLX_NO_INDEX)
        rlx_buf_format(l->out, " %s", rlx_name(&e->names, p->binding).data);
    if (p->file != RLX_NO_INDEX)
        rlx_buf_format(l->out, " %s:%u:%u", rlx_name(&e->names, p->file).data, p->line, p->column);
}

static void put_function(const listing *l, uint32_t number, uint32_t *place)
{
    const relax_executable *e = l->e;
    const rlx_file_function *f = &e->functions[number];
    rlx_buf_format(l->out, "\nfunction %u %s%s%s", number, rlx_name(&e->names, f->name).data,
                   (f->flags & RLX_FUNCTION_PUBLIC) ? " public" : "",
                   (f->flags & RLX_FUNCTION_PURE) ? " pure" : "");
    if (f->flags & RLX_FUNCTION_KERNEL) {
        rlx_buf_format(l->out, " = kernel %u\n", f->code);
        return;
    }
    put_params(l, f);
    rlx_buf_format(l->out, "  # %u registers, %u symbols", f->num_regs, f->num_syms);
    if (f->result != RLX_NO_INDEX) {
        rlx_buf_lit(l->out, "\n  result checked: ");
        put_desc(l, f->result);
    }
    rlx_buf_lit(l->out, "\n");
    *place = first_place(e, f->code);
    for (uint32_t at = 0; at < f->code_len && !is_full(l);) {
        size_t length = put_instruction(l, e->code + f->code + at, f->code_len - at, at);
        put_place(l, f->code + at, place);
        rlx_buf_lit(l->out, "\n");
        at += (uint32_t)length;
    }
}

static void put_constant(const listing *l, uint32_t i)
{
    const relax_value *v = &l->e->constants[i];
    const DLTensor *t = rlx_value_view(v);
    char name[RLX_DTYPE_TEXT];
    rlx_buf_format(l->out, "  c%u: ", i);
    if (t) {
        rlx_dtype_name(rlx_dl_dtype(t), name);
        rlx_buf_format(l->out, "tensor %s (", name);
        for (int32_t k = 0; k < t->ndim; k++)
            rlx_buf_format(l->out, k ? ", %lld" : "%lld", (long long)t->shape[k]);
        rlx_buf_lit(l->out, ")\n");
    } else if (v->type_index == RELAX_VALUE_STRING) {
        rlx_json_quote(l->out, (rlx_slice){ ((rlx_string_object *)v->v.p)->data,
                                            ((rlx_string_object *)v->v.p)->size });
        rlx_buf_lit(l->out, "\n");
    } else if (v->type_index == RELAX_VALUE_INT || v->type_index == RELAX_VALUE_BOOL) {
        rlx_buf_format(l->out, "%lld\n", (long long)v->v.i);
    } else {
        rlx_buf_format(l->out, "value of type %d\n", (int)v->type_index);
    }
}

static void put_program(const relax_executable *e, rlx_buf *out)
{
    listing l = { e, { e->descs, NULL, NULL, &e->names }, out, MOST_TEXT(e->image->size) };
    uint32_t place = 0;
    if (e->num_constants)
        rlx_buf_lit(out, "\nconstants\n");
    for (uint32_t i = 0; i < e->num_constants && !is_full(&l); i++)
        put_constant(&l, i);
    for (uint32_t i = 0; i < e->num_functions && !is_full(&l); i++)
        put_function(&l, i, &place);
    for (uint32_t i = 0; i < e->num_kernels && !is_full(&l); i++) {
        const unsigned char *base = (const unsigned char *)e->kernel_table - 2 * sizeof(uint32_t);
        rlx_buf_format(out, "\nkernel %u %s  # %llu bytes\n", i,
                       rlx_name(&e->names, e->kernel_table[i].name).data,
                       (unsigned long long)e->kernel_table[i].length);
        rlx_kernel_disassemble(base + e->kernel_table[i].offset, e->kernel_table[i].length, out);
    }
    if (is_full(&l))
        rlx_buf_lit(out, "\n... the listing is too long\n");
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void put_raw_code(const unsigned char *data, size_t size, rlx_buf *out)
{
    listing l = { NULL, { NULL, NULL, NULL, NULL }, out, MOST_TEXT(size) };
    size_t words = size / sizeof(uint32_t);
    const uint32_t *code = (const uint32_t *)(const void *)data;
    rlx_buf_lit(out, "\ncode\n");
    for (size_t at = 0; at < words;) {
        size_t length = put_instruction(&l, code + at, words - at, (uint32_t)at);
        if (!length) {
            rlx_buf_format(out, "  %4zu  no instruction: %x\n", at, code[at]);
            return;
        }
        rlx_buf_lit(out, "\n");
        at += length;
    }
}

/* Lists the table; false if the header makes no sense. *code is the code section, if it is
 * inside. */
static bool put_sections(const rlx_blob *image, const unsigned char **code, size_t *code_size,
                         rlx_buf *out)
{
    rlx_file_header h;
    if (image->size < sizeof h || memcmp(image->data, RLX_FILE_MAGIC, sizeof h.magic) != 0) {
        rlx_buf_format(out, "%zu bytes, not a compiled Relax file\n", image->size);
        return false;
    }
    memcpy(&h, image->data, sizeof h);
    rlx_buf_format(out, "compiled Relax file, version %u.%u, %zu bytes%s\n", h.major, h.minor,
                   image->size, h.flags & RLX_FILE_SEPARATE ? ", arithmetic separate" : "");
    for (uint32_t i = 0; i < h.num_sections &&
                         sizeof h + (i + (size_t)1) * sizeof(rlx_file_section) <= image->size;
         i++) {
        rlx_file_section s;
        memcpy(&s, image->data + sizeof h + i * sizeof s, sizeof s);
        const char *name = rlx_section_name(s.kind);
        bool inside = s.offset <= image->size && s.length <= image->size - s.offset;
        const char *state = !inside ? "outside the file"
                            : rlx_crc32c(0, image->data + s.offset, s.length) == s.checksum
                                ? ""
                                : "damaged";
        rlx_buf_format(out, "  %-13s at %-8llu %8llu bytes  %s\n", name ? name : "?",
                       (unsigned long long)s.offset, (unsigned long long)s.length, state);
        if (inside && s.kind == RLX_SECTION_CODE && s.offset % sizeof(uint32_t) == 0) {
            *code = image->data + s.offset;
            *code_size = s.length;
        }
    }
    return true;
}

static void put_image(rlx_shared_memory *memory, rlx_blob *image, rlx_buf *out)
{
    relax_executable *e = NULL;
    const unsigned char *code = NULL;
    size_t code_size = 0;
    rlx_fault why = { 0 };
    if (!put_sections(image, &code, &code_size, out))
        return;
    if (rlx_executable_load(memory, rlx_blob_retain(image),
                            (rlx_load_how){ .check_constants = true }, &e, &why)) {
        put_program(e, out);
        rlx_executable_release(e);
        return;
    }
    const rlx_code *row = rlx_code_row((enum rlx_code_id)why.code);
    rlx_buf_format(out, "does not load: %s: %s\n", row ? row->name : "?", why.text);
    if (why.code == RLX_RT10)
        out->failed = true;
    if (code)
        put_raw_code(code, code_size, out);
}

void rlx_disassemble(const void *data, size_t size, rlx_buf *out)
{
    rlx_shared_memory *memory = rlx_shared_memory_create(&out->memory->host, SIZE_MAX);
    rlx_blob *image = memory ? rlx_blob_create(&memory->memory, data, size) : NULL;
    if (image)
        put_image(memory, image, out);
    else
        out->failed = true;
    rlx_blob_release(image);
    rlx_shared_memory_release(memory);
}
