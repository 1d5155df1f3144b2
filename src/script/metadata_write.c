/*- metadata_write.c: the block `metadata = tvm.ir.load_json("""...""")`: constants and strings
 * that have no text of their own.
 *
 * A JSON graph; a node refers to others by number. Each constant makes this run of nodes,
 * numbered in this order:
 *
 *     Constant -> TensorStructInfo -> ShapeExpr -> Array of IntImm, ShapeStructInfo, ShapeType;
 *                                                  DynTensorType
 *
 * Quotes are escaped once more, as the JSON stands in a Python string.
 */
/* built for size */
#include "script/print_int.h"

static const char *const type_keys[] = { [RLX_META_CONSTANT] = "relax.expr.Constant",
                                         [RLX_META_TIR_STRING] = "tir.StringImm",
                                         [RLX_META_STRING] = "runtime.String" };

void rlx_put_metadata(rlx_printer *p, enum rlx_meta_key key, const rlx_node *n)
{
    uintptr_t index;
    if (!rlx_ptrmap_find(&p->meta_index, n, &index)) {
        if (!p->meta[key].len)
            p->meta_order[p->num_meta++] = (uint8_t)key;
        index = p->meta[key].len;
        if (!rlx_vec_push(p->m, &p->meta[key], n) || !rlx_ptrmap_put(&p->meta_index, n, index)) {
            rlx_print_fail(p);
            return;
        }
    }
    rlx_buf_format(p->out, "metadata[\"%s\"][%zu]", type_keys[key], (size_t)index);
}

/* ---- pieces of the graph */
typedef struct writer { rlx_printer *p; rlx_buf *out; size_t next, num_arrays; } writer;

static void begin_node(writer *w, const char *type_key)
{
    if (w->next++)
        rlx_buf_lit(w->out, ", \n");
    rlx_buf_format(w->out, "    {\n      \\\"type_key\\\": \\\"%s\\\"", type_key);
}

static void end_node(writer *w)
{
    rlx_buf_lit(w->out, "\n    }");
}

static void begin_attrs(writer *w)
{
    rlx_buf_lit(w->out, ", \n      \\\"attrs\\\": {");
}

static void attr_text(writer *w, const char *name, const char *value)
{
    if (w->out->data[w->out->len - 1] != '{')
        rlx_buf_lit(w->out, ", ");
    rlx_buf_format(w->out, "\n        \\\"%s\\\": \\\"%s\\\"", name, value);
}

static void attr_number(writer *w, const char *name, int64_t value)
{
    if (w->out->data[w->out->len - 1] != '{')
        rlx_buf_lit(w->out, ", ");
    rlx_buf_format(w->out, "\n        \\\"%s\\\": \\\"%lld\\\"", name, (long long)value);
}

static void end_attrs(writer *w)
{
    rlx_buf_lit(w->out, "\n      }");
    end_node(w);
}

/* "data": [3, 12, 21]: `count` numbers from `first`, `step` apart. */
static void data_run(writer *w, size_t first, size_t count, size_t step)
{
    if (!count)
        return;
    rlx_buf_lit(w->out, ", \n      \\\"data\\\": [");
    for (size_t i = 0; i < count; i++)
        rlx_buf_format(w->out, i ? ", %zu" : "%zu", first + i * step);
    rlx_buf_lit(w->out, "]");
}

/* ---- constants */
static size_t constant_nodes(const rlx_constant *c) { return 7 + c->num_shape; }

static void write_shape(writer *w, const rlx_constant *c, size_t at)
{
    size_t n = c->num_shape;
    begin_node(w, "relax.expr.ShapeExpr");
    begin_attrs(w);
    attr_number(w, "_checked_type_", (int64_t)(at + 5 + n));
    attr_text(w, "span", "0");
    attr_number(w, "struct_info_", (int64_t)(at + 4 + n));
    attr_number(w, "values", (int64_t)(at + 3));
    end_attrs(w);
    begin_node(w, "Array");
    data_run(w, at + 4, n, 1);
    end_node(w);
    for (size_t i = 0; i < n; i++) {
        begin_node(w, "IntImm");
        begin_attrs(w);
        attr_text(w, "dtype", "int64");
        attr_text(w, "span", "0");
        attr_number(w, "value", c->shape[i]);
        end_attrs(w);
    }
    begin_node(w, "relax.ShapeStructInfo");
    begin_attrs(w);
    attr_number(w, "ndim", (int64_t)n);
    attr_text(w, "span", "0");
    attr_number(w, "values", (int64_t)(at + 3));
    end_attrs(w);
    begin_node(w, "relax.ShapeType");
    begin_attrs(w);
    attr_number(w, "ndim", (int64_t)n);
    attr_text(w, "span", "0");
    end_attrs(w);
}

static void write_constant(writer *w, const rlx_constant *c)
{
    size_t at = w->next;
    char dtype[RLX_DTYPE_TEXT];
    rlx_dtype_name(c->dtype, dtype);
    begin_node(w, type_keys[RLX_META_CONSTANT]);
    begin_attrs(w);
    attr_number(w, "_checked_type_", (int64_t)(at + 6 + c->num_shape));
    attr_number(w, "data", (int64_t)w->num_arrays++);
    attr_text(w, "span", "0");
    attr_number(w, "struct_info_", (int64_t)(at + 1));
    end_attrs(w);
    begin_node(w, "relax.TensorStructInfo");
    begin_attrs(w);
    attr_text(w, "dtype", dtype);
    attr_number(w, "ndim", (int64_t)c->num_shape);
    attr_number(w, "shape", (int64_t)(at + 2));
    attr_text(w, "span", "0");
    attr_text(w, "vdevice", "0");
    end_attrs(w);
    write_shape(w, c, at);
    begin_node(w, "relax.DynTensorType");
    begin_attrs(w);
    attr_text(w, "dtype", dtype);
    attr_number(w, "ndim", (int64_t)c->num_shape);
    attr_text(w, "span", "0");
    end_attrs(w);
}

static void put_le(unsigned char **to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *(*to)++ = (unsigned char)(v >> 8 * i);
}

/* One entry of b64ndarrays: header of 48 bytes and 8 per dimension, then the data. */
static void write_array(writer *w, const rlx_constant *c)
{
    size_t size = c->data ? c->data->size : 0, capacity;
    if (!rlx_mul_size(c->num_shape, 8, &capacity) || !rlx_add_size(capacity, size, &capacity) ||
        !rlx_add_size(capacity, 64, &capacity)) {
        rlx_print_fail(w->p);
        return;
    }
    unsigned char *bytes = rlx_mem_alloc(w->p->m, capacity), *to = bytes;
    if (!bytes) {
        rlx_print_fail(w->p);
        return;
    }
    put_le(&to, 0xDD5E40F096B4A13Full, 8);
    put_le(&to, 0, 8);
    put_le(&to, 1, 4); /* device: the CPU */
    put_le(&to, 0, 4);
    put_le(&to, c->num_shape, 4);
    put_le(&to, (uint64_t)rlx_dtype_code(c->dtype), 1);
    put_le(&to, (uint64_t)rlx_dtype_bits(c->dtype), 1);
    put_le(&to, (uint64_t)rlx_dtype_lanes(c->dtype), 2);
    for (size_t i = 0; i < c->num_shape; i++)
        put_le(&to, (uint64_t)c->shape[i], 8);
    put_le(&to, size, 8);
    if (size)
        memcpy(to, c->data->data, size);
    rlx_base64_encode(w->out, bytes, (size_t)(to - bytes) + size);
    rlx_mem_free(w->p->m, bytes, capacity);
}

static void write_arrays(writer *w)
{
    size_t count = w->p->meta[RLX_META_CONSTANT].len;
    rlx_buf_lit(w->out, "\n  ], \n  \\\"b64ndarrays\\\": [");
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(w->out, i ? ", \n    \\\"" : "\n    \\\"");
        write_array(w, (const rlx_constant *)w->p->meta[RLX_META_CONSTANT].data[i]);
        rlx_buf_lit(w->out, "\\\"");
    }
    rlx_buf_z(w->out, count ? "\n  ]" : "]");
}

/* ---- strings: base64 of a 64-bit length and the bytes */
static void write_string_node(writer *w, const rlx_string *s)
{
    size_t size = (size_t)s->len + 8;
    unsigned char *bytes = rlx_mem_alloc(w->p->m, size), *to = bytes;
    begin_node(w, type_keys[RLX_META_STRING]);
    rlx_buf_lit(w->out, ", \n      \\\"repr_b64\\\": \\\"");
    if (bytes) {
        put_le(&to, s->len, 8);
        memcpy(to, s->data, s->len);
        rlx_base64_encode(w->out, bytes, size);
        rlx_mem_free(w->p->m, bytes, size);
    } else {
        rlx_print_fail(w->p);
    }
    rlx_buf_lit(w->out, "\\\"");
    end_node(w);
}

static void write_tir_string(writer *w, const rlx_tir_string *s)
{
    begin_node(w, type_keys[RLX_META_TIR_STRING]);
    begin_attrs(w);
    attr_text(w, "dtype", "handle");
    attr_text(w, "span", "0");
    attr_number(w, "value", (int64_t)w->next);
    end_attrs(w);
    write_string_node(w, s->value);
}

static size_t nodes_of(enum rlx_meta_key key, const rlx_node *n)
{
    return key == RLX_META_CONSTANT     ? constant_nodes((const rlx_constant *)n)
           : key == RLX_META_TIR_STRING ? 2
                                        : 1;
}

/* The list of one type key and what is in it. */
static void write_list(writer *w, enum rlx_meta_key key)
{
    const rlx_node *const *items = (const rlx_node *const *)w->p->meta[key].data;
    size_t count = w->p->meta[key].len, at = w->next + 1;
    begin_node(w, "Array");
    rlx_buf_lit(w->out, ", \n      \\\"data\\\": [");
    for (size_t i = 0; i < count; at += nodes_of(key, items[i++]))
        rlx_buf_format(w->out, i ? ", %zu" : "%zu", at);
    rlx_buf_lit(w->out, "]");
    end_node(w);
    for (size_t i = 0; i < count && !w->out->failed; i++) {
        if (key == RLX_META_CONSTANT)
            write_constant(w, (const rlx_constant *)items[i]);
        else if (key == RLX_META_TIR_STRING)
            write_tir_string(w, (const rlx_tir_string *)items[i]);
        else
            write_string_node(w, ((const rlx_attr_string *)items[i])->value);
    }
}

static size_t nodes_of_list(const rlx_printer *p, enum rlx_meta_key key)
{
    size_t count = 1;
    for (size_t i = 0; i < p->meta[key].len; i++)
        count += nodes_of(key, p->meta[key].data[i]);
    return count;
}

static void write_root(writer *w)
{
    rlx_printer *p = w->p;
    begin_node(w, "Map");
    rlx_buf_lit(w->out, ", \n      \\\"keys\\\": [");
    for (size_t i = 0; i < p->num_meta; i++)
        rlx_buf_format(w->out, "%s\n        \\\"%s\\\"", i ? ", " : "",
                       type_keys[p->meta_order[i]]);
    rlx_buf_lit(w->out, "\n      ], \n      \\\"data\\\": [");
    size_t at = w->next;
    for (size_t i = 0; i < p->num_meta;
         at += nodes_of_list(p, (enum rlx_meta_key)p->meta_order[i++]))
        rlx_buf_format(w->out, i ? ", %zu" : "%zu", at);
    rlx_buf_lit(w->out, "]");
    end_node(w);
}

void rlx_print_metadata(rlx_printer *p)
{
    writer w = { p, p->out, 0, 0 };
    rlx_put(p, "metadata = tvm.ir.load_json(\"\"\"{\n  \\\"root\\\": 1, \n  \\\"nodes\\\": [\n");
    begin_node(&w, "");
    end_node(&w);
    write_root(&w);
    for (size_t i = 0; i < p->num_meta && !p->out->failed; i++)
        write_list(&w, (enum rlx_meta_key)p->meta_order[i]);
    if (p->out->failed)
        return;
    write_arrays(&w);
    rlx_put(p, ", \n  \\\"attrs\\\": {\\\"tvm_version\\\": \\\"0.20.0\\\"}\n}\"\"\")\n");
}
