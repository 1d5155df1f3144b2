/* print.c: entry points of the printer; modules; text that goes above what is printed already. */
#include "script/print_int.h"

/* ---- small pieces */
bool rlx_print_fail(rlx_printer *p)
{
    p->failed = true;
    return false;
}

void rlx_put_newline(rlx_printer *p)
{
    rlx_put(p, "\n");
}

void rlx_put_indent(rlx_printer *p)
{
    static const char blanks[] =
        "                                                                ";
    if (p->frames.len)
        rlx_vec_last(&p->frames).line = p->out->len;
    for (uint32_t left = p->indent; left;) {
        uint32_t n = left < sizeof blanks - 1 ? left : (uint32_t)(sizeof blanks - 1);
        rlx_buf_put(p->out, blanks, n);
        left -= n;
    }
}

static void put_escaped(rlx_buf *out, unsigned char c)
{
    static const char hex[] = "0123456789ABCDEF";
    char four[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };
    switch (c) {
    case '"': rlx_buf_lit(out, "\\\""); break;
    case '\\': rlx_buf_lit(out, "\\\\"); break;
    case '\t': rlx_buf_lit(out, "\\t"); break;
    case '\n': rlx_buf_lit(out, "\\n"); break;
    case '\r': rlx_buf_lit(out, "\\r"); break;
    default: rlx_buf_put(out, four, 4); break;
    }
}

/* UTF-8 stays as it is: it reads back. Bytes that are not UTF-8 are escaped. */
void rlx_put_string(rlx_printer *p, rlx_slice s) { rlx_put_named_string(p, "", s); }

void rlx_put_named_string(rlx_printer *p, const char *prefix, rlx_slice s)
{
    size_t valid = rlx_utf8_valid(s.data, s.len), from = 0;
    rlx_put(p, "\"");
    rlx_buf_z(p->out, prefix);
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\' && (c < 0x80 || i < valid))
            continue;
        rlx_buf_put(p->out, s.data + from, i - from);
        put_escaped(p->out, c);
        from = i + 1;
    }
    rlx_buf_put(p->out, s.data + from, s.len - from);
    rlx_put(p, "\"");
}

void rlx_put_dtype(rlx_printer *p, rlx_dtype t)
{
    char name[RLX_DTYPE_TEXT];
    if (t == RELAX_FLOAT32) {
        rlx_put(p, "\"float32\"");
        return;
    }
    size_t len = rlx_dtype_name(t, name);
    rlx_put(p, "\"");
    rlx_buf_put(p->out, name, len);
    rlx_put(p, "\"");
}

void rlx_put_float(rlx_printer *p, double v)
{
    bool finite = v - v == 0;
    /* most constants: no exact expansion needed */
    if (v >= 1 && v < 1e15 && v == (double)(int64_t)v) {
        rlx_buf_i64(p->out, (int64_t)v);
        rlx_put(p, ".0");
        return;
    }
    if (!finite)
        rlx_put(p, "\"");
    rlx_print_double_tvm(p->out, v);
    if (!finite)
        rlx_put(p, "\"");
}

/* ---- inserts */
void rlx_print_move(rlx_printer *p, size_t mark, size_t at, enum rlx_insert_rank rank)
{
    rlx_insert in = { at, p->side.len, p->out->len - mark, (uint32_t)p->inserts.len,
                      (uint8_t)rank };
    if (p->out->failed)
        return;
    rlx_buf_put(&p->side, p->out->data + mark, in.len);
    p->out->len = mark;
    if (p->side.failed || !rlx_vec_push(p->m, &p->inserts, in))
        rlx_print_fail(p);
}

static bool goes_before(const rlx_insert *a, const rlx_insert *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    return a->rank != b->rank ? a->rank < b->rank : a->seq < b->seq;
}

/* Bottom-up merge sort; result in `a`. */
static void sort_inserts(rlx_insert *a, rlx_insert *spare, size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t mid = start + width < count ? start + width : count;
            size_t end = mid + width < count ? mid + width : count;
            for (size_t i = start, j = mid, k = start; k < end; k++) {
                bool left = i < mid && (j >= end || !goes_before(&a[j], &a[i]));
                spare[k] = left ? a[i++] : a[j++];
            }
        }
        memcpy(a, spare, count * sizeof *a);
    }
}

/* Moves the text apart from its end backwards, each byte once. */
static void spread(rlx_printer *p, size_t extra)
{
    rlx_buf *out = p->out;
    if (!rlx_buf_grow(out, extra))
        return;
    size_t from = out->len, to = out->len + extra;
    out->len = to;
    out->data[to] = 0;
    for (size_t i = p->inserts.len; i-- > 0;) {
        const rlx_insert *in = &p->inserts.data[i];
        size_t tail = from - in->at;
        memmove(out->data + to - tail, out->data + in->at, tail);
        to -= tail + in->len;
        from = in->at;
        memcpy(out->data + to, p->side.data + in->from, in->len);
    }
}

static void place_inserts(rlx_printer *p)
{
    size_t count = p->inserts.len, extra = 0;
    if (!count || p->failed || p->out->failed)
        return;
    rlx_insert *spare = rlx_mem_alloc(p->m, count * sizeof *spare);
    if (!spare) {
        rlx_print_fail(p);
        return;
    }
    sort_inserts(p->inserts.data, spare, count);
    rlx_mem_free(p->m, spare, count * sizeof *spare);
    for (size_t i = 0; i < count; i++)
        extra += p->inserts.data[i].len;
    spread(p, extra);
}

void rlx_print_header(rlx_printer *p)
{
    static const struct { uint8_t use; const char *line; } lines[] = {
        { RLX_USES_I, "# from tvm.script import ir as I" },
        { RLX_USES_T, "# from tvm.script import tir as T" },
        { RLX_USES_R, "# from tvm.script import relax as R" },
    };
    for (size_t i = 0; i < RLX_COUNT(lines); i++) {
        if (!(p->uses & lines[i].use))
            continue;
        rlx_put_indent(p);
        rlx_put_for(p, lines[i].line,
                    lines[i].use == RLX_USES_T ? "# from tvm.script import tirx as T"
                                               : lines[i].line);
        rlx_put_newline(p);
    }
}

void rlx_print_type_var(rlx_printer *p, const rlx_bound *b)
{
    rlx_slice name = { b->text, b->len };
    if (rlx_map_has(&p->type_var_names, name))
        return;
    if (!rlx_map_put(&p->type_var_names, name, p))
        rlx_print_fail(p);
    rlx_buf_put(&p->type_vars, name.data, name.len);
    rlx_buf_lit(&p->type_vars, " = TypeVar(\"");
    rlx_buf_put(&p->type_vars, name.data, name.len);
    rlx_buf_lit(&p->type_vars, "\")\n");
}

/* ---- modules */
typedef struct entry { const rlx_string *name; const rlx_node *function; } entry;

static int class_of(const entry *e)
{
    if (e->name->len == 4 && memcmp(e->name->data, "main", 4) == 0)
        return 3;
    return e->function->kind == RLX_NODE_PRIM_FUNC     ? 0
           : e->function->kind == RLX_NODE_EXTERN_FUNC ? 1
                                                       : 2;
}

static bool entry_before(const entry *a, const entry *b)
{
    int ca = class_of(a), cb = class_of(b);
    if (ca != cb)
        return ca < cb;
    size_t shorter = a->name->len < b->name->len ? a->name->len : b->name->len;
    int order = memcmp(a->name->data, b->name->data, shorter);
    return order ? order < 0 : a->name->len < b->name->len;
}

static void sort_entries(entry *a, entry *spare, size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t mid = start + width < count ? start + width : count;
            size_t end = mid + width < count ? mid + width : count;
            for (size_t i = start, j = mid, k = start; k < end; k++) {
                bool left = i < mid && (j >= end || !entry_before(&a[j], &a[i]));
                spare[k] = left ? a[i++] : a[j++];
            }
        }
        memcpy(a, spare, count * sizeof *a);
    }
}

static void print_unit(rlx_printer *p, const rlx_node *f, rlx_slice name)
{
    switch (f->kind) {
    case RLX_NODE_FUNCTION: rlx_print_function(p, (const rlx_function *)f, name); break;
    case RLX_NODE_PRIM_FUNC: rlx_print_prim_func(p, (const rlx_prim_func *)f, name); break;
    default:
        rlx_put_indent(p);
        rlx_put_identifier(p, name);
        rlx_put(p, " = ");
        rlx_print_expr(p, f, 0);
        rlx_put_newline(p);
        break;
    }
}

static void print_functions(rlx_printer *p, const rlx_module *m)
{
    size_t count = m->num_functions, bytes;
    if (!count)
        return;
    if (!rlx_mul_size(count, 2 * sizeof(entry), &bytes)) {
        rlx_print_fail(p);
        return;
    }
    entry *all = rlx_mem_alloc(p->m, bytes);
    if (!all) {
        rlx_print_fail(p);
        return;
    }
    rlx_find_calls(p, m);
    for (size_t i = 0; i < count; i++)
        all[i] = (entry){ rlx_as_global_var(m->gvars[i])->name,
                          rlx_newer_function(p, m->gvars[i], m->functions[i]) };
    sort_entries(all, all + count, count);
    for (size_t i = 0; i < count && !p->failed && !p->out->failed; i++)
        print_unit(p, all[i].function, rlx_string_slice(all[i].name));
    rlx_mem_free(p->m, all, bytes);
}

static bool has_entries(const rlx_attr *a)
{
    return rlx_as_attrs(a) && rlx_as_attrs(a)->num_keys;
}

static void print_table(rlx_printer *p, const char *name, const rlx_attr *a)
{
    if (!has_entries(a))
        return;
    rlx_put_indent(p);
    rlx_buf_z(p->out, name);
    rlx_print_expr(p, a, RLX_ITEM_MODULE);
    rlx_put(p, ")");
    rlx_put_newline(p);
}

static void print_class(rlx_printer *p, const rlx_module *m)
{
    p->uses |= RLX_USES_I;
    rlx_put(p, "@I.ir_module\nclass ");
    rlx_buf_z(p->out, p->module_name);
    rlx_put(p, ":\n");
    p->indent = 4;
    if (!rlx_names_reserve(p, p->module_name))
        return;
    print_table(p, "I.module_attrs(", m->attrs);
    print_table(p, "I.module_global_infos(", m->global_infos);
    print_functions(p, m);
    if (!m->num_functions && !has_entries(m->attrs) && !has_entries(m->global_infos)) {
        rlx_put_indent(p);
        rlx_put(p, "pass\n");
    }
    p->indent = 0;
}

/* A symbol that cannot stand behind def is printed as the attribute that it is. */
static rlx_slice standalone_name(const rlx_module *m, const rlx_node *f)
{
    const rlx_string *link = rlx_link_name(f);
    if (link && (!m || rlx_is_identifier(rlx_string_slice(link))))
        return rlx_string_slice(link);
    return m && m->num_gvars ? rlx_string_slice(rlx_as_global_var(m->gvars[0])->name)
                             : RLX_SLICE("main");
}

/* ---- entry points */
static bool is_unit(const rlx_node *n)
{
    return n->kind == RLX_NODE_MODULE || n->kind == RLX_NODE_FUNCTION ||
           n->kind == RLX_NODE_PRIM_FUNC;
}

static void print_root(rlx_printer *p, const rlx_node *n)
{
    const rlx_module *m = rlx_as_module(n);
    p->module = m;
    if (m && p->options->standalone && m->num_functions == 1 && !has_entries(m->attrs) &&
        !has_entries(m->global_infos)) {
        print_unit(p, m->functions[0], standalone_name(m, m->functions[0]));
        return;
    }
    if (m) {
        print_class(p, m);
        return;
    }
    if (is_unit(n)) {
        print_unit(p, n, standalone_name(NULL, n));
        return;
    }
    switch (rlx_family_of(n)) {
    case RLX_FAMILY_STMT: rlx_print_tir_stmt(p, n); break;
    case RLX_FAMILY_BINDING: case RLX_FAMILY_BLOCK: rlx_print_relax_stmt(p, n); break;
    default:
        if (n->kind == RLX_NODE_IF || n->kind == RLX_NODE_SEQ_EXPR)
            rlx_print_relax_stmt(p, n);
        else
            rlx_print_expr(p, n, RLX_ITEM_BARE | RLX_ITEM_PLAIN);
        break;
    }
}

/* Lines above the text: the metadata, then the header. */
static void print_top(rlx_printer *p, bool unit)
{
    size_t mark = p->out->len;
    if (p->num_meta && !p->options->no_metadata)
        rlx_print_metadata(p);
    if (unit) {
        p->indent = 0;
        if (p->type_vars.len)
            rlx_put(p, "# from typing import TypeVar\n");
        rlx_print_header(p);
        if (p->uses)
            rlx_put_newline(p);
        rlx_buf_put(p->out, p->type_vars.data, p->type_vars.len);
    }
    if (p->out->len > mark)
        rlx_print_move(p, mark, p->start, RLX_INSERT_DECLARE);
}

static void trim(rlx_printer *p)
{
    rlx_buf *out = p->out;
    while (!out->failed && out->len > p->start && out->data[out->len - 1] == '\n')
        out->data[--out->len] = 0;
}

static bool printer_init(rlx_printer *p)
{
    static const char *const reserved[] = { "I",        "T",     "R",     "cls",
                                            "metadata", "range", "float", "tvm" };
    rlx_region_init(&p->region, p->m);
    rlx_device_table_init(&p->devices, p->m);
    rlx_ptrmap_init(&p->called, p->m);
    rlx_ptrmap_init(&p->frame_at, p->m);
    rlx_ptrmap_init(&p->loops, p->m);
    rlx_ptrmap_init(&p->handles, p->m);
    rlx_ptrmap_init(&p->texts, p->m);
    rlx_ptrmap_init(&p->borrowed_by_hint, p->m);
    rlx_id_map_init(&p->bearers, p->m);
    rlx_ptrmap_init(&p->meta_index, p->m);
    rlx_buf_init(&p->side, p->m);
    rlx_buf_init(&p->later, p->m);
    rlx_buf_init(&p->type_vars, p->m);
    rlx_map_init(&p->type_var_names, p->m);
    for (size_t i = 0; i < RLX_COUNT(reserved); i++)
        if (!rlx_names_reserve(p, reserved[i]))
            return false;
    rlx_print_enter(p, NULL);
    return !p->failed;
}

static void printer_free(rlx_printer *p)
{
    rlx_uses_free(p);
    rlx_names_free(p);
    rlx_vec_free(p->m, &p->frames);
    rlx_vec_free(p->m, &p->items);
    rlx_vec_free(p->m, &p->tasks);
    rlx_vec_free(p->m, &p->inserts);
    rlx_vec_free(p->m, &p->declare);
    rlx_vec_free(p->m, &p->borrowed);
    rlx_vec_free(p->m, &p->hidden);
    for (size_t i = 0; i < RLX_COUNT(p->meta); i++)
        rlx_vec_free(p->m, &p->meta[i]);
    rlx_buf_free(&p->later);
    rlx_buf_free(&p->type_vars);
    rlx_map_free(&p->type_var_names);
    rlx_buf_free(&p->side);
    rlx_ptrmap_free(&p->meta_index);
    rlx_ptrmap_free(&p->texts);
    rlx_ptrmap_free(&p->borrowed_by_hint);
    rlx_device_table_free(&p->devices);
    rlx_ptrmap_free(&p->called);
    rlx_ptrmap_free(&p->frame_at);
    rlx_ptrmap_free(&p->loops);
    rlx_ptrmap_free(&p->handles);
    rlx_region_drop(&p->region);
}

/* Shared parts are written out wherever they are used, so that few nodes may have a text without
 * end: there is a limit. Constants of the metadata, each written once, are beyond it. */
static void limit(rlx_printer *p, size_t bytes)
{
    p->out->most = bytes ? p->start + bytes : 0;
    p->side.most = p->later.most = bytes;
}

static void latch(rlx_printer *p)
{
    rlx_buf *out = p->out;
    out->failed |= p->failed || p->type_vars.failed;
    out->too_large |= p->side.too_large || p->later.too_large;
}

/* Does the text name functions of the module? */
static bool print_with(rlx_memory *m, const rlx_node *n, const rlx_print_options *options,
                       rlx_buf *out, rlx_place *stopped)
{
    rlx_printer p = { .m = m, .out = out, .start = out->len, .options = options,
                      .newer = options->newer };
    p.module_name = p.options->module_name ? p.options->module_name : "Module";
    if (printer_init(&p)) {
        limit(&p, options->max_bytes);
        print_root(&p, n);
        limit(&p, 0);
        trim(&p);
        if (p.num_meta && p.options->no_metadata)
            rlx_put(&p,
                    "\n\n# Metadata omitted. Use show_meta=True in script() method to show it.");
        print_top(&p, is_unit(n));
        place_inserts(&p);
    }
    latch(&p);
    *stopped = rlx_place_of(p.under_way);
    printer_free(&p);
    return p.names_global;
}

/* A function that calls itself reads back only inside of a class, which its name is a part of. */
rlx_place rlx_script_print(rlx_memory *m, const rlx_node *n, const rlx_print_options *options,
                           rlx_buf *out)
{
    rlx_print_options how = options ? *options : (rlx_print_options){ 0 };
    rlx_place stopped = RLX_NO_PLACE;
    if (!n || out->failed)
        return stopped;
    size_t start = out->len;
    bool names = print_with(m, n, &how, out, &stopped);
    if (!names || !how.standalone || !rlx_as_module(n) || out->failed)
        return stopped;
    how.standalone = false;
    out->len = start;
    print_with(m, n, &how, out, &stopped);
    return stopped;
}
