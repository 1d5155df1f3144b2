/* print_names.c: one name per variable, unique among those alive.
 *
 * A name taken already gets the least free suffix: x, x_1, x_2. Each name remembers from which
 * suffix on it is worth looking, so that a thousand variables of one name cost a thousand
 * steps.
 */
#include "script/print_int.h"

#define NAME_CAPACITY 96

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static const bool word_chars[256] = {
    ['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['_'] = true
};

/* ---- text of one name under construction; long ones leave the stack */
typedef struct draft { char few[NAME_CAPACITY]; char *text; size_t len, cap; } draft;

static bool draft_open(rlx_printer *p, draft *d, size_t len)
{
    size_t need = len + 32; /* an amended letter, number, suffix */
    d->text = need <= NAME_CAPACITY ? d->few : rlx_mem_alloc(p->m, need);
    d->cap = need <= NAME_CAPACITY ? 0 : need;
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
        d->text[d->len++] = word_chars[(unsigned char)hint.data[i]] ? hint.data[i] : '_';
    if (number >= 0)
        draft_number(d, (uint32_t)number);
    if (rlx_is_keyword(d->text, d->len))
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

/* ---- tables */

/* Eight neighbours share a cache line: ids and numbers in names run upwards. */
static uint32_t spread(uint64_t high, uint32_t low)
{
    return ((uint32_t)rlx_hash_mix(0x9E37, high) & ~(uint32_t)7) | (low & 7);
}

static void place(rlx_slot *slots, size_t mask, rlx_slot slot)
{
    size_t at = slot.key & mask;
    while (slots[at].at)
        at = (at + 1) & mask;
    slots[at] = slot;
}

static bool grow(rlx_printer *p, rlx_slots *t, size_t cap)
{
    size_t bytes;
    if (!rlx_mul_size(cap, sizeof(rlx_slot), &bytes))
        return rlx_print_fail(p);
    rlx_slot *slots = rlx_mem_alloc_zero(p->m, bytes);
    if (!slots)
        return rlx_print_fail(p);
    for (size_t i = 0; i < t->cap; i++)
        if (t->data[i].at)
            place(slots, cap - 1, t->data[i]);
    rlx_mem_free(p->m, t->data, t->cap * sizeof *t->data);
    t->data = slots;
    t->cap = cap;
    return true;
}

static bool add_slot(rlx_printer *p, rlx_slots *t, uint32_t key, uint32_t number)
{
    if (t->len + 1 > t->cap / 2 && !grow(p, t, t->cap ? t->cap * 2 : 64))
        return false;
    place(t->data, t->cap - 1, (rlx_slot){ key, number + 1 });
    t->len++;
    return true;
}

/* The first slot from `at` on with this key; its `at` is 0 if there is none. */
RLX_INLINE const rlx_slot *next_slot(const rlx_slots *t, uint32_t key, size_t at)
{
    const rlx_slot *s = &t->data[at & (t->cap - 1)];
    while (s->at && s->key != key)
        s = &t->data[++at & (t->cap - 1)];
    return s;
}

rlx_bound *rlx_find_bound(const rlx_printer *p, const rlx_node *node)
{
    uintptr_t number;
    rlx_bound *b = rlx_id_map_find(&p->bearers, node, &number) ? p->all.data[number] : NULL;
    return b && b->node == node && b->live ? b : NULL;
}

/* ---- the set of names */
static uint32_t name_key(const char *text, size_t len)
{
    size_t at = len;
    uint32_t number = 0, unit = 1;
    while (at > 0 && is_digit(text[at - 1]) && len - at < 8) {
        number += unit * (uint32_t)(text[--at] - '0');
        unit *= 10;
    }
    return spread(rlx_hash_bytes(text, at) ^ (uint64_t)(number >> 3) << 20, number);
}

static bool find_name(const rlx_printer *p, const char *text, size_t len, uint32_t key,
                      uint32_t *number)
{
    const rlx_slot *s;
    if (!p->names.cap)
        return false;
    for (size_t at = key; (s = next_slot(&p->names, key, at))->at;
         at = (size_t)(s - p->names.data) + 1) {
        const rlx_bound *b = p->all.data[s->at - 1];
        if (b->len == len && memcmp(b->text, text, len) == 0) {
            *number = s->at - 1;
            return true;
        }
    }
    return false;
}

static rlx_bound *new_bound(rlx_printer *p, const char *text, size_t len, uint32_t *number)
{
    rlx_bound *b = rlx_region_alloc(&p->region, sizeof *b + len + 1);
    if (!b || p->all.len >= UINT32_MAX || !rlx_vec_push(p->m, &p->all, b))
        return rlx_print_fail(p), NULL;
    *b = (rlx_bound){ .len = (uint32_t)len, .next = 1 };
    memcpy(b->text, text, len);
    b->text[len] = 0;
    *number = (uint32_t)p->all.len - 1;
    return b;
}

static rlx_bound *get_name(rlx_printer *p, const draft *d, uint32_t *number)
{
    uint32_t key = name_key(d->text, d->len);
    if (find_name(p, d->text, d->len, key, number))
        return p->all.data[*number];
    rlx_bound *b = new_bound(p, d->text, d->len, number);
    return b && add_slot(p, &p->names, key, *number) ? b : NULL;
}

bool rlx_names_reserve(rlx_printer *p, const char *name)
{
    draft d = { .text = (char *)(uintptr_t)name, .len = strlen(name) };
    uint32_t number;
    rlx_bound *b = get_name(p, &d, &number);
    if (b)
        b->live = true;
    return b != NULL;
}

void rlx_names_expect(rlx_printer *p, size_t count)
{
    size_t cap = p->names.cap ? p->names.cap : 64;
    while (cap / 2 < p->names.len + count && cap <= SIZE_MAX / 4)
        cap *= 2;
    if (cap > p->names.cap)
        grow(p, &p->names, cap);
}

/* The draft's name if it is free, else with the least free suffix. */
static rlx_bound *take_name(rlx_printer *p, draft *d, uint32_t *number)
{
    rlx_bound *base = get_name(p, d, number), *b = base;
    size_t len = d->len;
    while (b && b->live) {
        d->len = len;
        d->text[d->len++] = '_';
        draft_number(d, base->next++);
        b = get_name(p, d, number);
    }
    return b;
}

/* x_3 is free again: whoever looks for a suffix of x starts there. */
static void release_name(rlx_printer *p, const rlx_bound *b)
{
    size_t at = b->len;
    uint64_t suffix = 0, unit = 1;
    uint32_t base;
    while (at > 0 && is_digit(b->text[at - 1]) && b->len - at < 9) {
        suffix += unit * (uint64_t)(b->text[--at] - '0');
        unit *= 10;
    }
    if (at == b->len || at < 2 || b->text[at - 1] != '_' || b->text[at] == '0')
        return;
    if (find_name(p, b->text, at - 1, name_key(b->text, at - 1), &base) &&
        suffix < p->all.data[base]->next)
        p->all.data[base]->next = (uint32_t)suffix;
}

void rlx_names_free(rlx_printer *p)
{
    rlx_vec_free(p->m, &p->all);
    rlx_mem_free(p->m, p->names.data, p->names.cap * sizeof *p->names.data);
    rlx_id_map_free(&p->bearers);
}

/* ---- frames */
void rlx_print_own(rlx_printer *p, const rlx_node *stmt)
{
    rlx_print_frame *frame = &rlx_vec_last(&p->frames);
    *frame = (rlx_print_frame){ frame->newest, stmt, p->out->len, p->indent };
    if (!rlx_ptrmap_has(&p->frame_at, stmt) &&
        !rlx_ptrmap_put(&p->frame_at, stmt, p->frames.len))
        rlx_print_fail(p);
}

void rlx_print_enter(rlx_printer *p, const rlx_node *stmt)
{
    rlx_print_frame f = { 0, NULL, p->out->len, p->indent };
    if (!rlx_vec_push(p->m, &p->frames, f))
        rlx_print_fail(p);
    else if (stmt)
        rlx_print_own(p, stmt);
}

void rlx_print_leave(rlx_printer *p)
{
    if (!p->frames.len)
        return;
    rlx_print_frame left = rlx_vec_pop(&p->frames);
    if (left.stmt && (uintptr_t)rlx_ptrmap_get(&p->frame_at, left.stmt) == p->frames.len + 1)
        rlx_ptrmap_remove(&p->frame_at, left.stmt);
    for (uint32_t at = left.newest; at;) {
        rlx_bound *b = p->all.data[at - 1];
        at = b->before;
        b->live = false;
        if (b->how == RLX_BOUND_NAME)
            release_name(p, b);
    }
}

/* The frame may be one around the innermost. */
static void enter_frame(rlx_printer *p, rlx_bound *b, uint32_t number, size_t frame)
{
    if (frame >= p->frames.len)
        return;
    b->before = p->frames.data[frame].newest;
    p->frames.data[frame].newest = number + 1;
}

static bool bear(rlx_printer *p, rlx_bound *b, const rlx_node *node, uint32_t number)
{
    b->node = node;
    b->live = true;
    return rlx_id_map_put(&p->bearers, node, number) || rlx_print_fail(p);
}

rlx_bound *rlx_define(rlx_printer *p, const rlx_node *node, rlx_slice hint, int32_t number,
                      size_t frame)
{
    draft d;
    uint32_t at = 0;
    if (!draft_open(p, &d, hint.len))
        return NULL;
    draft_hint(&d, hint, number, node->kind == RLX_NODE_BUFFER ? "buffer" : "v");
    rlx_bound *b = take_name(p, &d, &at);
    draft_close(p, &d);
    if (!b || !bear(p, b, node, at))
        return NULL;
    enter_frame(p, b, at, frame);
    return b;
}

static const rlx_string *hint_of(const rlx_node *node)
{
    switch (node->kind) {
    case RLX_NODE_PRIM_VAR: return ((const rlx_prim_var *)node)->name;
    case RLX_NODE_BUFFER: return ((const rlx_buffer *)node)->name;
    default: return ((const rlx_var *)node)->name;
    }
}

/* n of n_1: what has got a suffix in one text is the same as what gets it in the next. */
static rlx_slice without_suffix(rlx_slice s)
{
    size_t n = s.len;
    while (n && s.data[n - 1] >= '0' && s.data[n - 1] <= '9')
        n--;
    return n > 1 && n < s.len && s.data[n - 1] == '_' ? (rlx_slice){ s.data, n - 1 } : s;
}

const rlx_bound *rlx_hint_name(rlx_printer *p, const rlx_node *var)
{
    draft d;
    uint32_t at = 0;
    const rlx_string *hint = hint_of(var);
    rlx_slice text = hint ? without_suffix(rlx_string_slice(hint)) : (rlx_slice){ "", 0 };
    if (!draft_open(p, &d, text.len))
        return NULL;
    draft_hint(&d, text, -1, "v");
    const rlx_bound *b = get_name(p, &d, &at);
    draft_close(p, &d);
    return b;
}

size_t rlx_number_of_name(const rlx_printer *p, const rlx_node *node)
{
    uintptr_t number;
    return rlx_id_map_find(&p->bearers, node, &number) ? number + 1 : 0;
}

void rlx_borrow_name(rlx_printer *p, uint32_t name, const rlx_node *node)
{
    bear(p, p->all.data[name], node, name);
}

void rlx_return_name(rlx_printer *p, uint32_t name, const rlx_node *node, size_t before)
{
    p->all.data[name]->node = NULL;
    if (before && !rlx_id_map_put(&p->bearers, node, before - 1))
        rlx_print_fail(p);
}

rlx_bound *rlx_define_at(rlx_printer *p, const rlx_node *node, size_t frame)
{
    const rlx_string *hint = hint_of(node);
    const rlx_var *v = rlx_as_var(node);
    return rlx_define(p, node, hint ? rlx_string_slice(hint) : (rlx_slice){ "", 0 },
                      v ? v->number : -1, frame);
}

rlx_bound *rlx_define_here(rlx_printer *p, const rlx_node *node)
{
    rlx_bound *b = rlx_find_bound(p, node);
    return b ? b : rlx_define_at(p, node, p->frames.len - 1);
}

rlx_bound *rlx_define_part(rlx_printer *p, const rlx_node *var, const rlx_node *buffer,
                           enum rlx_bound_how how, uint32_t index, size_t frame)
{
    uint32_t number = 0;
    rlx_bound *b = new_bound(p, "", 0, &number);
    if (!b || !bear(p, b, var, number))
        return NULL;
    enter_frame(p, b, number, frame);
    b->buffer = buffer;
    b->how = (uint8_t)how;
    b->next = index;
    return b;
}

/* ---- use */
void rlx_put_bound(rlx_printer *p, const rlx_bound *b)
{
    if (b->how == RLX_BOUND_NAME) {
        rlx_buf_put(p->out, b->text, b->len);
        return;
    }
    const rlx_bound *of = rlx_find_bound(p, b->buffer);
    if (of && of->how == RLX_BOUND_NAME)
        rlx_buf_put(p->out, of->text, of->len);
    if (b->how == RLX_BOUND_STRIDE)
        rlx_buf_format(p->out, ".strides[%d]", (int)b->next);
    else
        rlx_buf_z(p->out, b->how == RLX_BOUND_DATA ? ".data" : ".elem_offset");
}
