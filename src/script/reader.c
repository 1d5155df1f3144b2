/* reader.c: the reader's state, reports, frames of names, binding of arguments, entry points. */
#include "script/reader.h"

/* ---- reports -------------------------------------------------------------------------------- */

rlx_place rlx_read_place(const rlx_reader *r, const rlx_ast *at)
{
    return rlx_place_make(r->text.source, at->begin, at->end > at->begin ? at->end - at->begin : 0);
}

const rlx_expr *rlx_read_op_call(rlx_reader *r, const char *op, const rlx_expr *const *args,
                                 size_t num_args, const rlx_attr *given, rlx_place place)
{
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, rlx_slice_z(op));
    return row ? r->ctx->ops->call(r->ctx, row, args, num_args, NULL, 0, given, place)
               : RLX_BUG(r->ctx, "no operator %s", op);
}

static bool report(rlx_reader *r, enum rlx_code_id code, rlx_place place, const char *format,
                   va_list args)
{
    rlx_verror(r->ctx, code, place, format, args);
    r->text.syntax_errors++;
    return false;
}

bool rlx_read_error(rlx_reader *r, enum rlx_code_id code, const rlx_ast *at, const char *format,
                    ...)
{
    va_list args;
    va_start(args, format);
    report(r, code, rlx_read_place(r, at), format, args);
    va_end(args);
    return false;
}

bool rlx_read_error_at(rlx_reader *r, enum rlx_code_id code, uint32_t begin, uint32_t end,
                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, code, rlx_place_make(r->text.source, begin, end > begin ? end - begin : 0), format,
           args);
    va_end(args);
    return false;
}

void rlx_read_note(rlx_reader *r, const rlx_ast *at, const char *format, ...)
{
    if (!r->text.notes)
        return;
    va_list args;
    va_start(args, format);
    rlx_verror(r->ctx, RLX_PA21, rlx_read_place(r, at), format, args);
    va_end(args);
}

const char *rlx_val_text(const rlx_val *v)
{
    static const char *const texts[] = {
        [RLX_VAL_UNBOUND] = "nothing",
        [RLX_VAL_ERROR] = "an error",
        [RLX_VAL_NONE] = "None",
        [RLX_VAL_BOOL] = "True or False",
        [RLX_VAL_INT] = "an integer",
        [RLX_VAL_FLOAT] = "a float",
        [RLX_VAL_STR] = "a string",
        [RLX_VAL_TUPLE] = "a tuple",
        [RLX_VAL_LIST] = "a list",
        [RLX_VAL_DICT] = "a dictionary",
        [RLX_VAL_SLICE] = "a slice",
        [RLX_VAL_EXPR] = "a Relax expression",
        [RLX_VAL_PRIM] = "a scalar expression",
        [RLX_VAL_SINFO] = "an annotation",
        [RLX_VAL_BUFFER] = "a buffer",
        [RLX_VAL_REGION] = "a buffer region",
        [RLX_VAL_RANGE] = "a range",
        [RLX_VAL_ITER] = "a block axis",
        [RLX_VAL_NODE] = "an attribute value",
        [RLX_VAL_DTYPE] = "a dtype",
        [RLX_VAL_SPACE] = "a module prefix",
        [RLX_VAL_FUNC] = "a function without a call",
        [RLX_VAL_BUILTIN] = "a Python function",
        [RLX_VAL_MODULE] = "the module",
        [RLX_VAL_METHOD] = "a method without a call",
        [RLX_VAL_META] = "metadata",
        [RLX_VAL_TYPE_VAR] = "a TypeVar",
    };
    return v->kind < RLX_COUNT(texts) ? texts[v->kind] : "?";
}

bool rlx_read_expected(rlx_reader *r, const rlx_ast *at, const char *what, const rlx_val *found)
{
    const rlx_word *member = found->kind == RLX_VAL_METHOD ? found->fn.path : NULL;
    if (found->kind == RLX_VAL_ERROR)
        return false;
    if (member && found->sub == RLX_VAL_EXPR) { /* x.shape with nothing behind it */
        const rlx_var *v = rlx_as_var(found->fn.what);
        return rlx_no_attribute(r, rlx_string_slice(member->text),
                                v && v->name ? v->name->data : "x", at);
    }
    if (found->kind == RLX_VAL_STR)
        return rlx_read_error(r, RLX_PA12, at, "expected %s, found the string \"%.*s\"", what,
                              (int)(found->s.len > 60 ? 60 : found->s.len), found->s.data);
    return rlx_read_error(r, RLX_PA12, at, "expected %s, found %s", what, rlx_val_text(found));
}

const char *rlx_nearest(const rlx_reader *r, rlx_slice text,
                        const char *(*name_at)(void *user, size_t i), void *user, size_t count)
{
    size_t best = text.len < 3 ? 1 : text.len < 5 ? 2 : text.len / 4 + 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < count && !rlx_diags_full(&r->ctx->diags); i++) {
        const char *name = name_at(user, i);
        size_t d = name ? rlx_edit_distance(text, rlx_slice_z(name), best) : best;
        if (d < best) {
            best = d;
            nearest = name;
        }
    }
    return nearest;
}

/* ---- scopes --------------------------------------------------------------------------------- */

uint32_t rlx_reader_frame_mark(const rlx_reader *r) { return (uint32_t)r->scope.bound.len; }

static bool hide(rlx_reader *r, const rlx_word *name, uint32_t frame, rlx_val value)
{
    rlx_shadowed h = { name, frame, value };
    return rlx_vec_push(&r->ctx->memory, &r->scope.hidden, h);
}

static bool hides(const rlx_reader *r, const rlx_word *name)
{
    return r->scope.hidden.len && r->scope.hidden.data[r->scope.hidden.len - 1].name == name;
}

uint32_t rlx_reader_frame_enter(rlx_reader *r)
{
    if (rlx_vec_reserve(&r->ctx->memory, &r->scope.bound, r->scope.bound.len + 1) &&
        hide(r, NULL, r->scope.frame, (rlx_val){ 0 })) {
        r->scope.bound.data[r->scope.bound.len++] = NULL;
        r->scope.frame = ++r->scope.next_frame;
    } else {
    }
    return (uint32_t)r->scope.bound.len;
}

/* Annotations are remembered by their text: that holds as long as names in it mean the same.
 * Names of Relax values are not part of what is remembered. */
static void meaning_changes(rlx_reader *r, const rlx_val *from, const rlx_val *to)
{
    if (from->kind > RLX_VAL_ERROR && from->kind != RLX_VAL_EXPR)
        r->cache.epoch++;
    else if (to->kind > RLX_VAL_ERROR && to->kind != RLX_VAL_EXPR)
        r->cache.epoch++;
}

/* Gives the name the meaning it had around the frame; a variable leaves a trace. */
static void unbind(rlx_reader *r, rlx_word *name)
{
    rlx_val before = { 0 };
    if (hides(r, name)) {
        rlx_shadowed h = rlx_vec_pop(&r->scope.hidden);
        before = h.value;
        meaning_changes(r, &name->value, &before);
        name->frame = h.frame;
    } else {
        meaning_changes(r, &name->value, &before);
        before.node = name->value.kind == RLX_VAL_EXPR ? name->value.node : NULL;
    }
    name->value = before;
}

void rlx_reader_frame_leave(rlx_reader *r, uint32_t mark)
{
    while (r->scope.bound.len > mark)
        unbind(r, r->scope.bound.data[--r->scope.bound.len]);
    if (mark && r->scope.bound.len == mark && !r->scope.bound.data[mark - 1]) {
        r->scope.bound.len--;
        r->scope.frame = rlx_vec_pop(&r->scope.hidden).frame;
    }
}

bool rlx_word_bind(rlx_reader *r, rlx_word *name, const rlx_val *value)
{
    meaning_changes(r, &name->value, value);
    if (name->frame != r->scope.frame || !name->value.kind) {
        if (!rlx_vec_reserve(&r->ctx->memory, &r->scope.bound, r->scope.bound.len + 1))
            return false;
        if (name->value.kind && !hide(r, name, name->frame, name->value))
            return false;
        r->scope.bound.data[r->scope.bound.len++] = name;
        name->frame = r->scope.frame;
    }
    name->value = *value;
    return true;
}

bool rlx_read_failed(rlx_reader *r, const rlx_word *what)
{
    if (!r->text.syntax_errors && rlx_error_count(r->ctx) == r->text.errors_before)
        RLX_BUG(r->ctx, "%s failed without a reason", what ? what->text->data : "a value");
    return false;
}

bool rlx_word_fail(rlx_reader *r, rlx_word *name)
{
    rlx_val v = { .kind = RLX_VAL_ERROR };
    rlx_word_bind(r, name, &v);
    return rlx_read_failed(r, name);
}

void rlx_line_failed(rlx_reader *r, const rlx_source_line *line)
{
    r->text.syntax_errors++;
    if (line->name && (!line->name->value.kind || rlx_word_in_frame(r, line->name)))
        rlx_word_fail(r, line->name);
}

bool rlx_take_items(rlx_reader *r, const rlx_ast *at, size_t count)
{
    size_t most = RLX_SCRIPT_MAX_COPIES + (size_t)r->parser.lexer.len;
    if (count > most - r->text.items_copied)
        return rlx_read_error(
            r, RLX_PA20, at,
            "lists that are copied and put together have more than %zu items in all", most);
    r->text.items_copied += count;
    return true;
}

/* A list may hold lists that were kept before, so the brackets of the text do not bound how
 * deep it is. */
static bool keep(rlx_reader *r, rlx_val *v, unsigned depth)
{
    if (v->kind == RLX_VAL_STR) {
        v->s.data = rlx_region_copy(&r->unit.region, v->s.len ? v->s.data : "", v->s.len);
        return v->s.data;
    }
    if (v->kind != RLX_VAL_TUPLE && v->kind != RLX_VAL_LIST && v->kind != RLX_VAL_DICT &&
        v->kind != RLX_VAL_SLICE)
        return true;
    const rlx_ast at = { .begin = v->begin, .end = v->end };
    if (depth == RLX_SCRIPT_MAX_BRACKETS)
        return rlx_read_error(r, RLX_PA09, &at, "lists are nested deeper than %d",
                              RLX_SCRIPT_MAX_BRACKETS);
    if (!rlx_take_items(r, &at, v->list.count))
        return false;
    rlx_val *items = rlx_region_copy(&r->unit.region, v->list.items, v->list.count * sizeof *items);
    if (!items)
        return false;
    v->list.items = items;
    for (size_t i = 0; i < v->list.count; i++)
        if (!keep(r, &items[i], depth + 1))
            return false;
    return true;
}

bool rlx_val_keep(rlx_reader *r, rlx_val *v) { return keep(r, v, 0); }

/* ---- arguments of calls --------------------------------------------------------------------- */

const rlx_ast *rlx_keyword(const rlx_ast *call, const char *name)
{
    for (const rlx_ast *a = call->first; a; a = a->next)
        if (a->kind == RLX_AST_KEYWORD && rlx_slice_is(rlx_string_slice(a->name->text), name))
            return a->base;
    return NULL;
}

static const char *param_at(void *user, size_t i) { return ((const char *const *)user)[i]; }

static bool unknown_keyword(rlx_reader *r, const rlx_ast *arg, const char *what,
                            const char *const *params, size_t count)
{
    const char *near =
        rlx_cure_keyword(r, rlx_string_slice(arg->name->text), param_at, (void *)params, count);
    rlx_read_error(r, RLX_PA12, arg, "%s has no parameter %s%s%s", what, arg->name->text->data,
                   near ? "; did you mean " : "", near ? near : "");
    if (!near)
        rlx_note_signature(r, what, param_at, (void *)params, count);
    return false;
}

bool rlx_bind_args(rlx_reader *r, const rlx_ast *call, const char *what, const char *const *params,
                   size_t required, const rlx_ast **slots)
{
    size_t count = 0, position = 0;
    for (; params[count]; count++)
        slots[count] = NULL;
    for (const rlx_ast *a = call->first; a; a = a->next) {
        if (a->kind == RLX_AST_STAR)
            return rlx_read_error(r, RLX_PA16, a, "an unpacked argument is not supported here");
        size_t i = position;
        if (a->kind == RLX_AST_KEYWORD) {
            for (i = 0; i < count && !rlx_slice_is(rlx_string_slice(a->name->text), params[i]);
                 i++)
                ;
            if (i == count)
                return unknown_keyword(r, a, what, params, count);
        } else if (position++ == count) {
            return rlx_read_error(r, RLX_PA12, a, "%s takes %zu argument%s, found %u", what, count,
                                  count == 1 ? "" : "s", (unsigned)call->count);
        }
        if (slots[i])
            return rlx_read_error(r, RLX_PA12, a, "%s is given %s twice", what, params[i]);
        slots[i] = a->kind == RLX_AST_KEYWORD ? a->base : a;
    }
    for (size_t i = 0; i < required; i++)
        if (!slots[i])
            return rlx_read_error(r, RLX_PA12, call, "%s needs the argument %s", what, params[i]);
    return true;
}

static rlx_ast *value_node(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    rlx_ast *a = rlx_region_zero(&r->parser.region, sizeof *a);
    if (!a)
        return NULL;
    a->kind = RLX_AST_VALUE;
    a->begin = at->begin;
    a->end = at->end;
    a->value = v;
    return a;
}

const rlx_ast *rlx_expand_stars(rlx_reader *r, const rlx_ast *call)
{
    bool any = false;
    for (const rlx_ast *a = call->first; a; a = a->next)
        any |= a->kind == RLX_AST_STAR;
    if (!any)
        return call;
    rlx_ast *copy = rlx_region_copy(&r->parser.region, call, sizeof *call),
            **tail = copy ? &copy->first : NULL;
    if (!copy)
        return NULL;
    copy->count = 0;
    for (const rlx_ast *a = call->first; a; a = a->next) {
        rlx_val one = { 0 }, *items = &one;
        size_t count = 1;
        if (a->kind == RLX_AST_STAR) {
            if (!rlx_read_value(r, a->base, &one))
                return NULL;
            if (one.kind != RLX_VAL_TUPLE && one.kind != RLX_VAL_LIST)
                return rlx_read_expected(r, a, "a list to unpack", &one), NULL;
            items = one.list.items;
            count = one.list.count;
        }
        if (a->kind == RLX_AST_STAR && !rlx_take_items(r, a, count))
            return NULL;
        for (size_t i = 0; i < count; i++, copy->count++) {
            rlx_ast *node = a->kind == RLX_AST_STAR
                                ? value_node(r, a, &items[i])
                                : rlx_region_copy(&r->parser.region, a, sizeof *a);
            if (!node)
                return NULL;
            *tail = node;
            tail = &node->next;
            node->next = NULL;
        }
    }
    return copy;
}

bool rlx_is_function(rlx_reader *r, const rlx_ast *a, enum rlx_space space, enum rlx_special name)
{
    if (a->kind != RLX_AST_ATTR || a->name != r->text.specials[name] ||
        a->base->kind != RLX_AST_NAME)
        return false;
    const rlx_val *base = &a->base->name->value;
    return base->kind == RLX_VAL_SPACE && base->sub == space;
}

/* Text as the lexer wants it. */
static const char *padded(rlx_reader *r, rlx_slice text)
{
    char *copy = rlx_region_zero(&r->parser.region, text.len + RLX_TEXT_PADDING);
    if (!copy)
        return NULL;
    return text.len ? memcpy(copy, text.data, text.len) : copy;
}

const rlx_ast *rlx_parse_text(rlx_reader *r, const rlx_ast *string)
{
    if (r->text.depth >= 4)
        return rlx_read_error(r, RLX_PA09, string, "strings inside strings are nested too deep"),
               NULL;
    rlx_parser p;
    bool plain = string->op == 1;
    rlx_slice s = string->string;
    if (s.len > RLX_MAX_SOURCE_BYTES)
        return rlx_read_error(r, RLX_PA20, string, "this string is too long"), NULL;
    const char *text = plain ? r->parser.lexer.text : padded(r, s);
    uint32_t begin = plain ? (uint32_t)(s.data - text) : 0;
    if (!text)
        return NULL;
    rlx_parser_init(&p, r->ctx, &r->names, r->text.source, text, begin, begin + (uint32_t)s.len,
                    true);
    /* the tree must live as long as the statement: it goes where the statement's tree is */
    rlx_region own = p.region;
    p.region = r->parser.region;
    rlx_ast *a = rlx_parse_single(&p);
    r->parser.region = p.region;
    p.region = own;
    rlx_parser_free(&p);
    if (!a)
        r->text.syntax_errors++;
    return a;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool bind_space(rlx_reader *r, const char *text, uint8_t kind, int value)
{
    rlx_word *n = rlx_words_get(&r->names, rlx_slice_z(text));
    rlx_val v = { .kind = kind };
    if (kind == RLX_VAL_SPACE)
        v.sub = (uint8_t)value;
    else
        v.i = value;
    return n && rlx_word_bind(r, n, &v);
}

static bool bind_globals(rlx_reader *r)
{
    static const struct { const char *text; uint8_t space;
    } spaces[] = {
        { "R", RLX_SPACE_R },   { "relax", RLX_SPACE_R }, { "T", RLX_SPACE_T },
        { "tir", RLX_SPACE_T }, { "tirx", RLX_SPACE_T },  { "I", RLX_SPACE_I },
        { "ir", RLX_SPACE_I },  { "tvm", RLX_SPACE_TVM },
    };
    static const char *const builtins[] = { RLX_BUILTIN_NAMES };
    static const char *const specials[] = {
#define X(name) #name,
        RLX_SPECIALS(X)
#undef X
    };
    for (size_t i = 0; i < RLX_COUNT(specials); i++)
        if (!(r->text.specials[i] = rlx_words_get(&r->names, rlx_slice_z(specials[i]))))
            return false;
    for (size_t i = 0; i < RLX_COUNT(spaces); i++)
        if (!bind_space(r, spaces[i].text, RLX_VAL_SPACE, spaces[i].space))
            return false;
    for (size_t i = 0; i < RLX_COUNT(builtins); i++)
        if (!bind_space(r, builtins[i], RLX_VAL_BUILTIN, (int)i))
            return false;
    return true;
}

/* Bytes that no text holds, and where they are; SIZE_MAX: nowhere. */
typedef struct bad_bytes { size_t utf8, nul, cr; } bad_bytes;

/* A carriage return that ends no line. */
static size_t stray_return(const char *text, size_t from, size_t end, size_t len)
{
    const char *cr = text + from;
    while ((cr = memchr(cr, '\r', (size_t)(text + end - cr))) != NULL) {
        size_t at = (size_t)(cr - text);
        if (at + 1 < len && cr[1] != '\n')
            return at;
        cr++;
    }
    return SIZE_MAX;
}

/* The first ones of each sort. The text is looked at in pieces that stay in the cache for all
 * three looks. */
static bad_bytes find_bad_bytes(const char *text, size_t len)
{
    enum { PIECE = 16 * 1024 };
    bad_bytes bad = { SIZE_MAX, SIZE_MAX, SIZE_MAX };
    for (size_t at = 0, end; at < len; at = end) {
        end = len - at > PIECE ? at + PIECE : len;
        while (end < len && end > at + 1 && ((unsigned char)text[end] & 0xC0) == 0x80)
            end--; /* whole characters */
        size_t valid = rlx_utf8_valid(text + at, end - at);
        if (valid < end - at)
            return bad.utf8 = at + valid, bad;
        const char *nul = bad.nul == SIZE_MAX ? memchr(text + at, 0, end - at) : NULL;
        if (nul)
            bad.nul = (size_t)(nul - text);
        if (bad.cr == SIZE_MAX)
            bad.cr = stray_return(text, at, end, len);
    }
    return bad;
}

static bool bad_byte(rlx_reader *r, enum rlx_code_id code, size_t at, const char *what)
{
    return rlx_read_error_at(r, code, (uint32_t)at, (uint32_t)at + 1, "%s", what);
}

/* Files of other kinds, by how they begin. */
static const struct { const char *begin; uint8_t len; const char *text; } other_kinds[] = {
    { "\x89RLX", 4,
      "this is a compiled program (.rlx), expected a program's text: relax run runs it, relax info "
      "and relax dis show it" },
    { "\x93NUMPY", 6,
      "this is an array (.npy), expected a program's text: an array is an --input of relax run" },
    { "PK\3\4", 4,
      "this is a zip archive (.npz), expected a program's text: arrays in it are --params or "
      "--input" },
    { "\x1f\x8b", 2, "this is compressed by gzip, expected a program's text" },
    { "\x7f" "ELF", 4, "this is machine code, expected a program's text" },
    { "\xff\xfe", 2, "this is UTF-16, expected UTF-8" },
    { "\xfe\xff", 2, "this is UTF-16, expected UTF-8" },
};

static const char *other_kind(const rlx_source *s)
{
    for (size_t i = 0; i < RLX_COUNT(other_kinds); i++)
        if (s->len >= other_kinds[i].len &&
            memcmp(s->text, other_kinds[i].begin, other_kinds[i].len) == 0)
            return other_kinds[i].text;
    return NULL;
}

static bool begins_with(const char *line, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - line) >= n && memcmp(line, word, n) == 0;
}

/* Where a fence of Markdown stands in front of the first line of a program; SIZE_MAX: nowhere. */
static size_t find_fence(const rlx_source *s)
{
    static const char *const words[] = { "@", "class ", "def ", "from ", "import ", "metadata" };
    const char *end = s->text + s->len;
    for (const char *at = s->text, *next; at < end; at = next) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        next = stop ? stop + 1 : end;
        if (begins_with(at, end, "```"))
            return (size_t)(at - s->text);
        for (size_t i = 0; i < RLX_COUNT(words); i++)
            if (begins_with(at, end, words[i]))
                return SIZE_MAX;
    }
    return SIZE_MAX;
}

/* Bytes that cannot be read at all are reported before the first token. Python ends a line at a
 * carriage return, other tools do not: what one of them takes for a comment the other would
 * run. */
static bool check_bytes(rlx_reader *r, const rlx_source *s)
{
    bad_bytes bad = find_bad_bytes(s->text, s->len);
    const char *kind = bad.utf8 != SIZE_MAX || bad.nul != SIZE_MAX ? other_kind(s) : NULL;
    if (kind)
        return rlx_read_error_at(r, RLX_PA07, 0, 1, "%s", kind);
    if (bad.utf8 != SIZE_MAX)
        return rlx_read_error_at(r, RLX_PA07, (uint32_t)bad.utf8, (uint32_t)bad.utf8 + 1,
                                 "byte 0x%02x is not UTF-8",
                                 (unsigned)(unsigned char)s->text[bad.utf8]);
    if (bad.nul != SIZE_MAX)
        return bad_byte(r, RLX_PA08, bad.nul, "the text holds a NUL byte");
    if (bad.cr != SIZE_MAX)
        return bad_byte(r, RLX_PA08, bad.cr,
                        "the text holds a carriage return that ends no line");
    size_t fence = find_fence(s);
    if (fence != SIZE_MAX)
        return rlx_read_error_at(r, RLX_PA01, (uint32_t)fence, (uint32_t)fence + 3,
                                 "this is Markdown, expected a program's text: a program is what "
                                 "stands between ```python and ```");
    return true;
}

static const rlx_source *source_of(rlx_context *ctx, uint32_t source)
{
    const rlx_source *s = rlx_diags_source(&ctx->diags, source);
    return s && s->text ? s : RLX_BUG(ctx, "source %u has no text", (unsigned)source);
}

/* Tables of what is remembered by its text have a slot for every so many bytes. */
enum { FEW_KNOWN = 64, MANY_KNOWN = 1024, BYTES_A_KNOWN = 1024 };

static size_t choose_known(size_t text_len)
{
    size_t slots = FEW_KNOWN;
    while (slots < MANY_KNOWN && slots < text_len / BYTES_A_KNOWN)
        slots *= 2;
    return slots;
}

static bool start(rlx_reader *r, rlx_context *ctx, uint32_t source, const rlx_source *s,
                  const rlx_parse_options *options, bool single)
{
    memset(r, 0, sizeof *r);
    r->ctx = ctx;
    r->text.options = options;
    r->text.source = source;
    r->text.errors_before = rlx_error_count(ctx);
    r->text.notes = !options || !options->no_notes;
    r->scope.next_frame = r->scope.frame = 1;
    r->cache.slots = choose_known(s->len);
    rlx_ptrmap_init(&r->module.broken, &ctx->memory);
    rlx_device_table_init(&r->module.devices, &ctx->memory);
    rlx_words_init(&r->names, ctx, s->len);
    rlx_region_init(&r->unit.region, &ctx->memory);
    rlx_region_init(&r->module.kept, &ctx->memory);
    rlx_region_init(&r->parser.region, &ctx->memory);
    if (!check_bytes(r, s) || !bind_globals(r))
        return false;
    uint32_t bom = s->len >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    rlx_parser_init(&r->parser, ctx, &r->names, source, s->text, bom, (uint32_t)s->len, single);
    r->parser.recall = (rlx_recall){ .reader = r,
                                     .annotation = rlx_known_annotation_at,
                                     .keywords = rlx_known_keywords_at };
    return true;
}

static void stop(rlx_reader *r)
{
    rlx_memory *m = &r->ctx->memory;
    rlx_vec_free(m, &r->scope.bound);
    rlx_vec_free(m, &r->scope.hidden);
    rlx_vec_free(m, &r->module.pending);
    rlx_vec_free(m, &r->stack);
    rlx_vec_free(m, &r->annotation.places);
    rlx_ptrmap_free(&r->module.broken);
    rlx_device_table_free(&r->module.devices);
    rlx_builder_free(r->builder);
    rlx_module_builder_free(r->module.builder);
    rlx_parser_free(&r->parser);
    rlx_region_drop(&r->unit.region);
    rlx_region_drop(&r->module.kept);
    rlx_words_free(&r->names);
}

bool rlx_script_parse(rlx_context *ctx, uint32_t source, const rlx_parse_options *options,
                      rlx_parsed *out)
{
    *out = (rlx_parsed){ 0 };
    const rlx_source *s = source_of(ctx, source);
    rlx_reader r;
    if (!s)
        return false;
    if (!ctx->ops)
        return RLX_BUG(ctx, "the context has no operators") != NULL;
    bool ok = start(&r, ctx, source, s, options, false) && rlx_read_file(&r, out);
    stop(&r);
    return ok;
}

/* ---- one annotation -------------------------------------------------------------------------- */

static const rlx_ast *start_single(rlx_reader *r, rlx_context *ctx, uint32_t source,
                                   const rlx_prim_var *const *vars, size_t count)
{
    const rlx_source *s = source_of(ctx, source);
    if (!s) {
        memset(r, 0, sizeof *r);
        return NULL;
    }
    if (!start(r, ctx, source, s, NULL, true))
        return NULL;
    r->unit.dialect = RLX_DIALECT_RELAX;
    for (size_t i = 0; i < count; i++) {
        rlx_word *n = rlx_words_get(&r->names, rlx_string_slice(vars[i]->name));
        rlx_val v = { .kind = RLX_VAL_PRIM, .node = &vars[i]->node };
        if (!n || !rlx_word_bind(r, n, &v))
            return NULL;
    }
    return rlx_parse_single(&r->parser);
}

const rlx_sinfo *rlx_script_parse_sinfo(rlx_context *ctx, uint32_t source,
                                        const rlx_prim_var *const *vars, size_t count)
{
    rlx_reader r;
    const rlx_ast *a = start_single(&r, ctx, source, vars, count);
    const rlx_sinfo *s = a ? rlx_read_sinfo(&r, a) : NULL;
    if (r.ctx)
        stop(&r);
    return s;
}
