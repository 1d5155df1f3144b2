/* difference.c: where two nodes differ, for people. */
/* built for size */
#include "ir/ir_int.h"

static void put_names(rlx_buf *b, const rlx_string *x, const rlx_string *y)
{
    rlx_text_quoted(b, x ? rlx_string_slice(x) : (rlx_slice){ NULL, 0 });
    rlx_buf_lit(b, " and ");
    rlx_text_quoted(b, y ? rlx_string_slice(y) : (rlx_slice){ NULL, 0 });
}

static void put_field(rlx_buf *b, const char *name)
{
    if (b->len)
        rlx_buf_char(b, '.');
    rlx_buf_z(b, name);
}

static void put_function(rlx_buf *b, const rlx_string *name)
{
    put_field(b, "functions[");
    rlx_text_quoted(b, rlx_string_slice(name));
    rlx_buf_char(b, ']');
}

static const rlx_string *name_of(const rlx_module *m, size_t i)
{
    return ((const rlx_global_var *)m->gvars[i])->name;
}

static void put_step(rlx_buf *b, const rlx_trail_step *s)
{
    if (!s->via) {
        put_function(b, name_of((const rlx_module *)s->a, s->index));
        return;
    }
    put_field(b, s->via->name);
    if (rlx_field_is_list(s->via))
        rlx_buf_format(b, "[%zu]", s->index);
}

/* ---- what differs at the end of the way ----------------------------------------------------- */

static void put_values(rlx_buf *b, const rlx_node *x, const rlx_node *y, const rlx_field *f)
{
    put_field(b, f->name);
    rlx_buf_lit(b, ": ");
    switch (f->type) {
    case RLX_FIELD_REFS:
    case RLX_FIELD_DEFS:
        rlx_buf_format(b, "%zu and %zu items", RLX_AT(x, f->count_offset, size_t),
                       RLX_AT(y, f->count_offset, size_t));
        break;
    case RLX_FIELD_STR:
        put_names(b, RLX_AT(x, f->offset, const rlx_string *),
                  RLX_AT(y, f->offset, const rlx_string *));
        break;
    case RLX_FIELD_I32:
        rlx_buf_format(b, "%d and %d", (int)RLX_AT(x, f->offset, int32_t),
                       (int)RLX_AT(y, f->offset, int32_t));
        break;
    case RLX_FIELD_I64:
        rlx_buf_format(b, "%lld and %lld", (long long)RLX_AT(x, f->offset, int64_t),
                       (long long)RLX_AT(y, f->offset, int64_t));
        break;
    case RLX_FIELD_DTYPE: {
        char one[RLX_DTYPE_TEXT], other[RLX_DTYPE_TEXT];
        rlx_dtype_name(RLX_AT(x, f->offset, rlx_dtype), one);
        rlx_dtype_name(RLX_AT(y, f->offset, rlx_dtype), other);
        rlx_buf_format(b, "%s and %s", one, other);
        break;
    }
    default: rlx_buf_lit(b, "other content"); break;
    }
}

/* A function that only one module has; *x and *y become what there is of it. */
static bool put_missing(rlx_buf *b, const rlx_node **x, const rlx_node **y)
{
    const rlx_module *m[2] = { rlx_as_module(*x), rlx_as_module(*y) };
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < m[side]->num_gvars; i++) {
            const rlx_string *name = name_of(m[side], i);
            if (rlx_module_find(m[1 - side], rlx_string_slice(name)) >= 0)
                continue;
            put_function(b, name);
            rlx_buf_format(b, ": only in the %s module", side ? "second" : "first");
            *x = side ? NULL : m[0]->functions[i];
            *y = side ? m[1]->functions[i] : NULL;
            return true;
        }
    return false;
}

static void put_end(rlx_buf *b, const rlx_node **x, const rlx_node **y)
{
    if (!*x || !*y || (*x)->kind != (*y)->kind) {
        rlx_buf_format(b, "%s%s and %s", b->len ? ": " : "",
                       *x ? rlx_kinds[(*x)->kind].name : "nothing",
                       *y ? rlx_kinds[(*y)->kind].name : "nothing");
        return;
    }
    const rlx_kind_info *k = &rlx_kinds[(*x)->kind];
    if ((*x)->kind == RLX_NODE_MODULE && put_missing(b, x, y))
        return;
    for (int i = 0; i < k->num_fields; i++)
        if (!rlx_same_field(*x, *y, &k->fields[i])) {
            put_values(b, *x, *y, &k->fields[i]);
            return;
        }
    rlx_buf_format(b, "%sanother %s", b->len ? ": " : "", k->name);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Of the innermost node around that has one. */
static rlx_place place_on(const rlx_trail *t, bool of_a)
{
    rlx_place p = RLX_NO_PLACE;
    for (size_t i = t->len; i-- > 0 && !p;)
        p = rlx_place_of(of_a ? t->data[i].a : t->data[i].b);
    return p;
}

bool rlx_first_difference(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool map_free,
                          rlx_difference *out, rlx_buf *path, bool *out_of_memory)
{
    rlx_trail trail = { 0 };
    bool same = rlx_equal_trail(m, a, b, map_free, &trail, out_of_memory);
    *out = (rlx_difference){ 0 };
    if (!same && trail.len) {
        out->place_a = place_on(&trail, true);
        out->place_b = place_on(&trail, false);
        out->a = rlx_vec_last(&trail).a;
        out->b = rlx_vec_last(&trail).b;
        for (size_t i = 0; i + 1 < trail.len; i++)
            put_step(path, &trail.data[i]);
        put_end(path, &out->a, &out->b);
        out->place_a = rlx_place_of(out->a) ? rlx_place_of(out->a) : out->place_a;
        out->place_b = rlx_place_of(out->b) ? rlx_place_of(out->b) : out->place_b;
        *out_of_memory |= path->failed;
    }
    bool found = !same && trail.len && !*out_of_memory;
    rlx_vec_free(m, &trail);
    return found;
}
