/* print_names.c: one name per variable, unique among those alive.
 *
 * A name taken already gets the least free suffix: x, x_1, x_2. Each name remembers from which suffix on it is worth
 * looking, so that a thousand variables of one name cost a thousand steps.
 */
#include "script/print_int.h"

#define NAME_ROOM 96

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_keyword(const char *text, size_t len)
{
    static const char *const words[] = {
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
        "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
        "pass", "raise", "return", "try", "while", "with", "yield"
    };
    if (len < 2 || len > 8)
        return false;
    for (size_t i = 0; i < RLX_COUNT(words); i++)
        if (words[i][0] == text[0] && strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
            return true;
    return false;
}

/* ---- text of one name under construction; long ones leave the stack */
typedef struct draft { char room[NAME_ROOM]; char *text; size_t len, cap; } draft;

static bool draft_open(rlx_printer *p, draft *d, size_t len)
{
    size_t need = len + 32; /* an amended letter, number, suffix */
    d->text = need <= NAME_ROOM ? d->room : rlx_mem_alloc(p->m, need);
    d->cap = need <= NAME_ROOM ? 0 : need;
    d->len = 0;
    return d->text || rlx_print_fail(p);
}

static void draft_close(rlx_printer *p, draft *d)
{
    if (d->cap)
        rlx_mem_free(p->m, d->text, d->cap);
}

static void draft_number(draft *d, uint32_t number)
{
    char digits[10];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        d->text[d->len++] = digits[--n];
}

static void draft_hint(draft *d, rlx_slice hint, int32_t number, const char *empty)
{
    if (!hint.len && number < 0)
        hint = rlx_slice_z(empty);
    if (hint.len && is_digit(hint.data[0]))
        d->text[d->len++] = '_';
    for (size_t i = 0; i < hint.len; i++)
        d->text[d->len++] = is_word(hint.data[i]) ? hint.data[i] : '_';
    if (number >= 0)
        draft_number(d, (uint32_t)number);
    if (is_keyword(d->text, d->len))
        d->text[d->len++] = '_';
}

void rlx_put_identifier(rlx_printer *p, rlx_slice name)
{
    draft d;
    if (!draft_open(p, &d, name.len))
        return;
    draft_hint(&d, name, -1, "v");
    rlx_buf_put(p->out, d.text, d.len);
    draft_close(p, &d);
}

/* ---- the set of names */
static rlx_name *find_name(rlx_printer *p, const char *text, size_t len, uint64_t hash)
{
    size_t at;
    for (rlx_name *n = rlx_intern_first(&p->names, hash, &at); n; n = rlx_intern_next(&p->names, hash, &at))
        if (n->len == len && memcmp(n->text, text, len) == 0)
            return n;
    return NULL;
}

static rlx_name *add_name(rlx_printer *p, const char *text, size_t len, uint64_t hash)
{
    rlx_name *n = rlx_region_alloc(&p->region, sizeof *n + len + 1);
    if (!n || !rlx_intern_add(&p->names, hash, n))
        return rlx_print_fail(p), NULL;
    n->len = (uint32_t)len;
    n->next = 1;
    n->live = false;
    memcpy(n->text, text, len);
    n->text[len] = 0;
    return n;
}

static rlx_name *get_name(rlx_printer *p, const draft *d)
{
    uint64_t hash = rlx_hash_bytes(d->text, d->len);
    rlx_name *n = find_name(p, d->text, d->len, hash);
    return n ? n : add_name(p, d->text, d->len, hash);
}

bool rlx_names_reserve(rlx_printer *p, const char *name)
{
    draft d = { .text = (char *)(uintptr_t)name, .len = strlen(name) };
    rlx_name *n = get_name(p, &d);
    if (n)
        n->live = true;
    return n != NULL;
}

/* The draft's name if it is free, else with the least free suffix. */
static rlx_name *take_name(rlx_printer *p, draft *d)
{
    rlx_name *base = get_name(p, d), *n = base;
    size_t len = d->len;
    while (n && n->live) {
        d->len = len;
        d->text[d->len++] = '_';
        draft_number(d, base->next++);
        n = get_name(p, d);
    }
    if (n)
        n->live = true;
    return n;
}

/* x_3 is free again: whoever looks for a suffix of x starts there. */
static void release_name(rlx_printer *p, rlx_name *n)
{
    size_t at = n->len;
    uint64_t number = 0, unit = 1;
    n->live = false;
    while (at > 0 && is_digit(n->text[at - 1]) && n->len - at < 9) {
        number += unit * (uint64_t)(n->text[--at] - '0');
        unit *= 10;
    }
    if (at == n->len || at < 2 || n->text[at - 1] != '_' || n->text[at] == '0')
        return;
    rlx_name *base = find_name(p, n->text, at - 1, rlx_hash_bytes(n->text, at - 1));
    if (base && number < base->next)
        base->next = (uint32_t)number;
}

/* ---- frames */
void rlx_print_enter(rlx_printer *p, const rlx_node *stmt)
{
    rlx_print_frame f = { p->bound.len, stmt, p->out->len, p->indent };
    if (!rlx_vec_push(p->m, &p->frames, f))
        rlx_print_fail(p);
}

void rlx_print_leave(rlx_printer *p)
{
    if (!p->frames.len)
        return;
    size_t first = rlx_vec_pop(&p->frames).first;
    while (p->bound.len > first) {
        rlx_bound *b = rlx_vec_pop(&p->bound);
        b->live = false;
        if (b->name)
            release_name(p, b->name);
    }
}

/* Frames inside `frame` begin one later; rare, only for declarations that belong further out. */
static bool add_bound(rlx_printer *p, rlx_bound *b, size_t frame)
{
    size_t at = frame + 1 < p->frames.len ? p->frames.data[frame + 1].first : p->bound.len;
    if (!rlx_vec_push(p->m, &p->bound, b) || !rlx_ptrmap_put(&p->table, b->node, (uintptr_t)b))
        return rlx_print_fail(p);
    memmove(p->bound.data + at + 1, p->bound.data + at, (p->bound.len - 1 - at) * sizeof *p->bound.data);
    p->bound.data[at] = b;
    for (size_t i = frame + 1; i < p->frames.len; i++)
        p->frames.data[i].first++;
    return true;
}

static rlx_bound *new_bound(rlx_printer *p, const rlx_node *node, rlx_name *name, size_t frame)
{
    rlx_bound *b = rlx_region_zero(&p->region, sizeof *b);
    if (!b)
        return rlx_print_fail(p), NULL;
    b->name = name;
    b->node = node;
    b->live = true;
    return add_bound(p, b, frame) ? b : NULL;
}

rlx_bound *rlx_define(rlx_printer *p, const rlx_node *node, rlx_slice hint, int32_t number, size_t frame)
{
    draft d;
    if (!draft_open(p, &d, hint.len))
        return NULL;
    draft_hint(&d, hint, number, node->kind == RLX_NODE_BUFFER ? "buffer" : "v");
    rlx_name *name = take_name(p, &d);
    draft_close(p, &d);
    return name ? new_bound(p, node, name, frame) : NULL;
}

static const rlx_string *hint_of(const rlx_node *node)
{
    switch (node->kind) {
    case RLX_NODE_PRIM_VAR: return ((const rlx_prim_var *)node)->name;
    case RLX_NODE_BUFFER: return ((const rlx_buffer *)node)->name;
    default: return ((const rlx_var *)node)->name;
    }
}

rlx_bound *rlx_define_at(rlx_printer *p, const rlx_node *node, size_t frame)
{
    const rlx_string *hint = hint_of(node);
    const rlx_var *v = rlx_as_var(node);
    return rlx_define(p, node, hint ? rlx_string_slice(hint) : (rlx_slice){ "", 0 }, v ? v->number : -1, frame);
}

rlx_bound *rlx_define_here(rlx_printer *p, const rlx_node *node)
{
    rlx_bound *b = rlx_find_bound(p, node);
    return b ? b : rlx_define_at(p, node, p->frames.len - 1);
}

rlx_bound *rlx_define_part(rlx_printer *p, const rlx_node *var, const rlx_node *buffer, enum rlx_bound_how how, uint32_t index, size_t frame)
{
    rlx_bound *b = new_bound(p, var, NULL, frame);
    if (b) {
        b->buffer = buffer;
        b->how = (uint8_t)how;
        b->index = index;
    }
    return b;
}

/* ---- use */
void rlx_put_bound(rlx_printer *p, const rlx_bound *b)
{
    if (b->how == RLX_BOUND_NAME) {
        rlx_buf_put(p->out, b->name->text, b->name->len);
        return;
    }
    rlx_bound *of = rlx_find_bound(p, b->buffer);
    if (of && of->how == RLX_BOUND_NAME)
        rlx_put_bound(p, of);
    if (b->how == RLX_BOUND_STRIDE)
        rlx_buf_format(p->out, ".strides[%d]", (int)b->index);
    else
        rlx_buf_z(p->out, b->how == RLX_BOUND_DATA ? ".data" : ".elem_offset");
}
