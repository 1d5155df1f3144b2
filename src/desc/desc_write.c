/* desc_write.c: encoding descriptions and expressions. */
/* built for size */
#include "desc/desc.h"

#define PUSH(d, item) \
    ((void)(rlx_vec_push((d)->out->memory, &(d)->words, (item)) || ((d)->out->failed = true)))
#define PUSH_OPEN(d, item) \
    ((void)(rlx_vec_push((d)->out->memory, &(d)->open, (item)) || ((d)->out->failed = true)))

static bool fits_56(int64_t value)
{
    return value >= -((int64_t)1 << 55) && value < (int64_t)1 << 55;
}

static int64_t word(uint32_t low8, uint32_t slot, uint32_t high)
{
    return (int64_t)((uint64_t)(low8 | slot << 8) | (uint64_t)high << 32);
}

static int64_t literal_word(uint32_t tag, int64_t value)
{
    return (int64_t)((uint64_t)value << 8 | tag);
}

/* Appends a finished item to the section and gives its offset. `head`: its two header words. */
static uint32_t append_item(rlx_file_writer *w, const int64_t head[RLX_ITEM_HEADER],
                            const int64_t *words, size_t len)
{
    size_t at = w->descs.len;
    if (at + len + RLX_ITEM_HEADER >= RLX_OPERAND_MAX) /* offsets go into tagged operands */
        w->too_large = true;
    if (!rlx_file_writer_ok(w) ||
        !rlx_vec_reserve(w->memory, &w->descs, at + len + RLX_ITEM_HEADER)) {
        w->failed = w->failed || !w->too_large;
        return 0;
    }
    int64_t *to = w->descs.data + at;
    memcpy(to, head, RLX_ITEM_HEADER * sizeof *head);
    memcpy(to + RLX_ITEM_HEADER, words, len * sizeof *words);
    w->descs.len = at + len + RLX_ITEM_HEADER;
    return (uint32_t)at;
}

/* The offset of an item with this content: each is in the section once. */
static uint32_t put_item(rlx_file_writer *w, enum rlx_item_type type, uint32_t syms, uint32_t regs,
                         const int64_t *words, size_t len)
{
    const int64_t head[RLX_ITEM_HEADER] = {
        (int64_t)((uint64_t)(len + RLX_ITEM_HEADER) | (uint64_t)type << 32),
        (int64_t)((uint64_t)syms | (uint64_t)regs << 32)
    };
    if (!rlx_file_writer_ok(w))
        return 0;
    uint64_t hash = rlx_hash_bytes(words, len * sizeof *words);
    size_t at;
    for (void *item = rlx_intern_first(&w->item_table, hash, &at); item;
         item = rlx_intern_next(&w->item_table, hash, &at)) {
        const int64_t *old = w->descs.data + ((uintptr_t)item - 1);
        if (memcmp(old, head, sizeof head) == 0 &&
            memcmp(old + RLX_ITEM_HEADER, words, len * sizeof *words) == 0)
            return (uint32_t)((uintptr_t)item - 1);
    }
    uint32_t offset = append_item(w, head, words, len);
    if (rlx_file_writer_ok(w) &&
        !rlx_intern_add(&w->item_table, hash, (void *)((uintptr_t)offset + 1)))
        w->failed = true;
    return offset;
}

/* ---- dimensions ----------------------------------------------------------------------------- */

int64_t rlx_desc_dim_expr(uint32_t expr_offset) { return word(RLX_DIM_EXPR, 0, expr_offset); }

int64_t rlx_desc_dim_literal(rlx_file_writer *w, int64_t value)
{
    if (fits_56(value))
        return literal_word(RLX_DIM_LITERAL, value);
    rlx_desc_expr_writer e;
    rlx_desc_expr_begin(&e, w);
    rlx_desc_expr_int(&e, value);
    return rlx_desc_dim_expr(rlx_desc_expr_end(&e));
}

static int64_t symbol_dim(rlx_file_writer *w, enum rlx_desc_dim_tag tag, uint32_t slot,
                          rlx_slice name)
{
    if (slot >= RLX_MAX_SYMBOLS)
        w->too_large = true;
    return word(tag, slot & 0xffffff, rlx_file_writer_name(w, name));
}

int64_t rlx_desc_dim_bind(rlx_file_writer *w, uint32_t slot, rlx_slice name)
{
    return symbol_dim(w, RLX_DIM_BIND, slot, name);
}

int64_t rlx_desc_dim_bind_signed(rlx_file_writer *w, uint32_t slot, rlx_slice name)
{
    return symbol_dim(w, RLX_DIM_BIND_SIGNED, slot, name);
}

int64_t rlx_desc_dim_symbol(rlx_file_writer *w, uint32_t slot, rlx_slice name)
{
    return symbol_dim(w, RLX_DIM_SYMBOL, slot, name);
}

int64_t rlx_desc_dim_binder(rlx_file_writer *w, uint32_t number, rlx_slice name)
{
    return symbol_dim(w, RLX_DIM_BINDER, number, name);
}

/* ---- expressions ---------------------------------------------------------------------------- */

void rlx_desc_expr_begin(rlx_desc_expr_writer *e, rlx_file_writer *w)
{
    memset(e, 0, sizeof *e);
    e->out = w;
}

void rlx_desc_expr_int(rlx_desc_expr_writer *e, int64_t value)
{
    if (fits_56(value)) {
        PUSH(e, literal_word(RLX_EXPR_INT, value));
        return;
    }
    PUSH(e, RLX_EXPR_WIDE);
    PUSH(e, value);
}

void rlx_desc_expr_symbol(rlx_desc_expr_writer *e, uint32_t slot, rlx_slice name)
{
    if (slot >= RLX_MAX_SYMBOLS) {
        e->out->too_large = true;
        return;
    }
    if (slot >= e->symbols)
        e->symbols = slot + 1;
    PUSH(e, word(RLX_EXPR_SYMBOL, slot, rlx_file_writer_name(e->out, name)));
}

/* The jump opened last goes behind the word that is written next. */
static void close_jump(rlx_desc_expr_writer *e)
{
    if (e->open.len == 0) {
        /* not a sentence of this language */
        e->out->too_large = e->out->too_large || !e->out->failed;
        return;
    }
    uint32_t at = rlx_vec_pop(&e->open);
    if (rlx_file_writer_ok(e->out))
        e->words.data[at] =
            word((uint32_t)e->words.data[at] & 0xff, 0, (uint32_t)e->words.len + 1);
}

void rlx_desc_expr_put_op(rlx_desc_expr_writer *e, enum rlx_desc_expr_op op)
{
    bool jump = op >= RLX_EXPR_AND_THEN;
    if (op == RLX_EXPR_AND || op == RLX_EXPR_OR || op == RLX_EXPR_SELECT ||
        op == RLX_EXPR_OTHERWISE)
        close_jump(e);
    if (jump)
        PUSH_OPEN(e, (uint32_t)e->words.len);
    PUSH(e, (int64_t)op);
}

void rlx_desc_expr_cast(rlx_desc_expr_writer *e, rlx_dtype dtype)
{
    PUSH(e, word(RLX_EXPR_CAST, 0, (uint32_t)dtype));
}

/* Deepest stack, counted as if no jump were taken: never less than what a run needs. */
static int deepest(const rlx_desc_expr_writer *e)
{
    int depth = 0, most = 0;
    for (size_t i = 0; i < e->words.len; i++) {
        uint32_t op = (uint32_t)e->words.data[i] & 0xff;
        if (op <= RLX_EXPR_SYMBOL)
            depth++;
        else if (op <= RLX_EXPR_BIT_XOR || op == RLX_EXPR_AND || op == RLX_EXPR_OR)
            depth--;
        else if (op == RLX_EXPR_SELECT)
            depth -= 2;
        if (op == RLX_EXPR_WIDE)
            i++;
        if (depth > most)
            most = depth;
    }
    return most;
}

uint32_t rlx_desc_expr_end(rlx_desc_expr_writer *e)
{
    rlx_file_writer *w = e->out;
    if (e->open.len || e->words.len > RLX_EXPR_MAX_WORDS || deepest(e) > RLX_EXPR_MAX_STACK)
        w->too_large = true;
    uint32_t offset = put_item(w, RLX_ITEM_EXPR, e->symbols, 0, e->words.data, e->words.len);
    rlx_vec_free(w->memory, &e->words);
    rlx_vec_free(w->memory, &e->open);
    return offset;
}

/* ---- descriptions --------------------------------------------------------------------------- */

void rlx_desc_begin(rlx_desc_writer *d, rlx_file_writer *w)
{
    memset(d, 0, sizeof *d);
    d->out = w;
}

/* Counts the next node in the node that holds it. */
static void count_child(rlx_desc_writer *d)
{
    if (d->open.len == 0 || !rlx_file_writer_ok(d->out))
        return;
    int64_t *parent = &d->words.data[rlx_vec_last(&d->open)];
    if (rlx_desc_node_count(parent) == 0xffff)
        d->out->too_large = true;
    else
        *parent += 1 << 16;
}

static void add_flags(rlx_desc_writer *d, uint32_t flags)
{
    if (!rlx_file_writer_ok(d->out))
        return;
    for (size_t i = 0; i < d->open.len; i++)
        d->words.data[d->open.data[i]] |= (int64_t)flags << 8;
}

static int64_t node_header(enum rlx_desc_kind kind, uint32_t flags, size_t count, size_t words)
{
    return (int64_t)((uint64_t)kind | (uint64_t)flags << 8 | (uint64_t)count << 16 |
                     (uint64_t)words << 32);
}

/* The flags that a list of dims gives its node. */
static uint32_t dims_flags(rlx_desc_writer *d, const int64_t *dims, size_t count)
{
    uint32_t flags = RLX_DESC_HAS_DIMS;
    for (size_t i = 0; i < count; i++) {
        enum rlx_desc_dim_tag tag = rlx_desc_dim_tag_of(dims[i]);
        bool binds = tag == RLX_DIM_BIND || tag == RLX_DIM_BIND_SIGNED;
        if ((binds || tag == RLX_DIM_SYMBOL) && rlx_desc_dim_slot(dims[i]) >= d->symbols)
            d->symbols = rlx_desc_dim_slot(dims[i]) + 1;
        if (binds)
            flags |= RLX_DESC_BINDS;
        if (tag != RLX_DIM_EXPR)
            continue;
        flags |= RLX_DESC_LATE;
        if (rlx_file_writer_ok(d->out)) {
            uint32_t used = (uint32_t)d->out->descs.data[rlx_desc_dim_index(dims[i]) + 1];
            d->symbols = used > d->symbols ? used : d->symbols;
        }
    }
    return flags;
}

void rlx_desc_object(rlx_desc_writer *d)
{
    count_child(d);
    PUSH(d, node_header(RLX_DESC_OBJECT, 0, 0, 1));
}

void rlx_desc_prim(rlx_desc_writer *d, rlx_dtype dtype, const int64_t *value_or_null)
{
    uint32_t flags = value_or_null ? dims_flags(d, value_or_null, 1) : 0;
    count_child(d);
    PUSH(d, node_header(RLX_DESC_PRIM, flags, 0, value_or_null ? 3 : 2));
    PUSH(d, (int64_t)(uint32_t)dtype);
    if (value_or_null)
        PUSH(d, *value_or_null);
    add_flags(d, flags & (RLX_DESC_LATE | RLX_DESC_BINDS));
}

static bool rank_fits(rlx_desc_writer *d, int32_t ndim, int32_t most)
{
    if (ndim >= -1 && ndim <= most)
        return true;
    d->out->too_large = true;
    return false;
}

void rlx_desc_shape(rlx_desc_writer *d, int32_t ndim, const int64_t *dims_or_null)
{
    if (!rank_fits(d, ndim, 0xffff))
        return;
    size_t n = dims_or_null && ndim > 0 ? (size_t)ndim : 0;
    uint32_t flags = dims_or_null ? dims_flags(d, dims_or_null, n) : 0;
    count_child(d);
    PUSH(d, node_header(RLX_DESC_SHAPE, flags, n, 2 + n));
    PUSH(d, ndim);
    for (size_t i = 0; i < n; i++)
        PUSH(d, dims_or_null[i]);
    add_flags(d, flags & (RLX_DESC_LATE | RLX_DESC_BINDS));
}

/* A device noted by rlx_desc_device waits as a word of its own kind at the end of `words`. */
#define PENDING_DEVICE 0xff

void rlx_desc_device(rlx_desc_writer *d, int32_t type, int32_t id)
{
    PUSH(d, PENDING_DEVICE);
    PUSH(d, (int64_t)((uint64_t)(uint32_t)type | (uint64_t)(uint32_t)id << 32));
}

static bool take_device(rlx_desc_writer *d, int64_t *device)
{
    size_t n = d->words.len;
    if (n < 2 || d->words.data[n - 2] != PENDING_DEVICE)
        return false;
    *device = d->words.data[n - 1];
    d->words.len = n - 2;
    return true;
}

static uint64_t key_mask(rlx_dtype dtype, int32_t ndim)
{
    return (ndim >= 0 ? 0xffffffffu : 0) |
           (rlx_dtype_is_void(dtype) ? 0 : (uint64_t)0xffffffff << 32);
}

static void tensor_node(rlx_desc_writer *d, rlx_dtype dtype, int32_t ndim, uint32_t flags,
                        const uint32_t *reg, const int64_t *dims, size_t num_dims)
{
    int64_t device = 0;
    bool has_device = take_device(d, &device);
    size_t words = 3 + has_device + (reg ? 1 : 0) + num_dims;
    uint64_t mask = key_mask(dtype, ndim);
    count_child(d);
    PUSH(d, node_header(RLX_DESC_TENSOR, flags | (has_device ? RLX_DESC_HAS_DEVICE : 0), num_dims,
                        words));
    PUSH(d, (int64_t)(rlx_dl_key_make(ndim, dtype) & mask));
    PUSH(d, (int64_t)mask);
    if (has_device)
        PUSH(d, device);
    if (reg)
        PUSH(d, (int64_t)*reg);
    for (size_t i = 0; i < num_dims; i++)
        PUSH(d, dims[i]);
    add_flags(d, flags & (RLX_DESC_LATE | RLX_DESC_BINDS));
}

void rlx_desc_tensor(rlx_desc_writer *d, rlx_dtype dtype, int32_t ndim,
                     const int64_t *dims_or_null)
{
    if (!rank_fits(d, ndim, RLX_MAX_RANK))
        return;
    size_t n = dims_or_null && ndim > 0 ? (size_t)ndim : 0;
    tensor_node(d, dtype, ndim, dims_or_null ? dims_flags(d, dims_or_null, n) : 0, NULL,
                dims_or_null, n);
}

void rlx_desc_tensor_like(rlx_desc_writer *d, rlx_dtype dtype, int32_t ndim, uint32_t reg)
{
    if (!rank_fits(d, ndim, RLX_MAX_RANK))
        return;
    if (reg >= d->registers)
        d->registers = reg + 1;
    tensor_node(d, dtype, ndim, RLX_DESC_HAS_REGISTER | RLX_DESC_LATE, &reg, NULL, 0);
}

static void open_node(rlx_desc_writer *d, enum rlx_desc_kind kind, uint32_t flags)
{
    if (d->open.len == RLX_DESC_MAX_NESTING)
        d->out->too_large = true;
    uint32_t at = (uint32_t)d->words.len;
    PUSH(d, node_header(kind, flags, 0, 0));
    PUSH_OPEN(d, at);
}

void rlx_desc_tuple(rlx_desc_writer *d)
{
    count_child(d);
    open_node(d, RLX_DESC_TUPLE, 0);
}

void rlx_desc_func(rlx_desc_writer *d, uint32_t flags)
{
    count_child(d);
    open_node(d, RLX_DESC_FUNC, flags & (RLX_DESC_PURE | RLX_DESC_OPEN | RLX_DESC_PACKED));
}

void rlx_desc_params(rlx_desc_writer *d)
{
    d->is_params = true;
    open_node(d, RLX_DESC_PARAMS, 0);
}

void rlx_desc_param(rlx_desc_writer *d, rlx_slice name)
{
    PUSH(d, (int64_t)rlx_file_writer_name(d->out, name));
}

void rlx_desc_assumption(rlx_desc_writer *d, uint32_t slot, rlx_slice name, int64_t low,
                         int64_t high)
{
    int64_t symbol = rlx_desc_dim_symbol(d->out, slot, name);
    dims_flags(d, &symbol, 1);
    PUSH(d, symbol);
    PUSH(d, low);
    PUSH(d, high);
    add_flags(d, RLX_DESC_BOUNDED);
}

void rlx_desc_close(rlx_desc_writer *d)
{
    if (!rlx_file_writer_ok(d->out) || d->open.len == 0)
        return;
    uint32_t at = rlx_vec_pop(&d->open);
    int64_t *node = &d->words.data[at];
    uint64_t words = d->words.len - at;
    *node = (int64_t)((uint64_t)*node | words << 32);
    if (rlx_desc_kind_of(node) != RLX_DESC_FUNC)
        return;
    /* The result is a child too, but not counted. Nothing in a function description binds or is
     * compared late. */
    if (rlx_desc_node_count(node) == 0)
        d->out->too_large = true;
    else
        *node -= 1 << 16;
}

uint32_t rlx_desc_end(rlx_desc_writer *d)
{
    rlx_file_writer *w = d->out;
    if (d->open.len || d->words.len == 0)
        w->too_large = w->too_large || !w->failed;
    uint32_t offset = put_item(w, d->is_params ? RLX_ITEM_PARAMS : RLX_ITEM_DESC, d->symbols,
                               d->registers, d->words.data, d->words.len);
    rlx_vec_free(w->memory, &d->words);
    rlx_vec_free(w->memory, &d->open);
    return offset;
}
