/* reader_missing.c: why a name means nothing where it stands. Only mistakes that are shown come
 * here, a hundred or so, so nothing needs to be fast. */
/* built for size */
#include "script/reader.h"

#include <stdio.h>
#include <string.h>

/* Known names near an unknown one, from all names of the text in the order they came. */
static const char *known_at(void *user, size_t i)
{
    const rlx_word *n = rlx_words_at(user, i);
    return n->value.kind > RLX_VAL_ERROR && n->value.kind != RLX_VAL_BUILTIN ? n->text->data
                                                                             : NULL;
}

/* So many names are compared for all suggestions together. */
#define MOST_COMPARED 200000

/* Known sizes are what a name among dimensions that means nothing comes near to, or it is a new one. */
static const char *cure_size(const rlx_reader *r, const rlx_ast *a, char *text, size_t size)
{
    const char *name = a->name->text->data;
    if (!r->annotation.dims_of || r->unit.dialect != RLX_DIALECT_RELAX || a->name->text->len > 40)
        return NULL;
    if (r->unit.where.part == RLX_PART_BODY)
        snprintf(text, size, "a size that R.match_cast finds is declared above it: %s = T.int64()", name);
    else
        snprintf(text, size, "a size of its own is written in quotes: \"%s\"", name);
    return text;
}

static bool unknown(rlx_reader *r, const rlx_ast *a)
{
    const char *name = a->name->text->data;
    bool affordable = r->names.len <= MOST_COMPARED - r->text.names_compared;
    r->text.names_compared += affordable ? r->names.len : 0;
    char text[160];
    const char *cure = rlx_cure_name(r, rlx_string_slice(a->name->text), text, sizeof text);
    const char *near =
        affordable && !cure ? rlx_nearest(r, rlx_string_slice(a->name->text), known_at, &r->names,
                                 r->names.len)
                            : NULL;
    if (!cure && !near)
        cure = cure_size(r, a, text, sizeof text);
    return rlx_read_error(r, RLX_PA10, a, "%s is not defined%s%s", name,
                          near   ? "; did you mean "
                          : cure ? "; "
                                 : "",
                          near   ? near
                          : cure ? cure
                                 : "");
}

static uint32_t skip_blanks(rlx_slice text, uint32_t at)
{
    while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t'))
        at++;
    return at;
}

static uint32_t line_start(rlx_slice text, uint32_t at)
{
    while (at && text.data[at - 1] != '\n')
        at--;
    return at;
}

/* ---- headers: dimensions that no parameter binds */

/* In a parameter the name is a shape variable all the same, so that the rest of the annotation
 * counts; the checker knows what was said of it. */
/* From here on the name is a shape variable. */
static bool bind_dimension(rlx_reader *r, const rlx_ast *a)
{
    const rlx_prim_var *v =
        rlx_prim_var_new(r->ctx, a->name->text, RELAX_INT64, rlx_read_place(r, a));
    rlx_val value = rlx_val_node(RLX_VAL_PRIM, v ? &v->node : NULL, a);
    return v && rlx_word_bind(r, a->name, &value);
}

/* Outside of quotes? What is read out of a string has the string's place. */
static bool stands_bare(const rlx_reader *r, const rlx_ast *a)
{
    const char *text = r->parser.lexer.text;
    rlx_slice name = rlx_string_slice(a->name->text), all = { text, r->parser.lexer.len };
    char quote = 0;
    if (a->end > all.len || a->end - a->begin != name.len ||
        memcmp(text + a->begin, name.data, name.len) != 0)
        return false;
    for (uint32_t i = line_start(all, a->begin); i < a->begin; i++)
        if ((text[i] == '"' || text[i] == '\'') && (!quote || quote == text[i]))
            quote = quote ? 0 : text[i];
    return !quote;
}

/* Is it called, or are members of it asked for? Then it is no dimension. */
static bool is_used_as_thing(const rlx_reader *r, const rlx_ast *a)
{
    rlx_slice text = { r->parser.lexer.text, r->parser.lexer.len };
    uint32_t at = skip_blanks(text, a->end);
    return at < text.len && (text.data[at] == '(' || text.data[at] == '.' || text.data[at] == '[');
}

/* x: NAME, where NAME is no dimension. */
static bool is_annotation(const rlx_reader *r, const rlx_ast *a)
{
    const char *text = r->parser.lexer.text;
    uint32_t at = a->begin;
    while (at && text[at - 1] == ' ')
        at--;
    return at && (text[at - 1] == ':' || text[at - 1] == '>');
}

static bool missing_in_header(rlx_reader *r, const rlx_ast *a)
{
    const char *name = a->name->text->data, *function = r->unit.where.function->name->text->data;
    bool is_bare = stands_bare(r, a);
    if (is_bare &&
        (rlx_is_dtype_name(rlx_string_slice(a->name->text)) || is_used_as_thing(r, a) ||
         is_annotation(r, a)))
        return unknown(r, a);
    if (is_bare && r->unit.where.part == RLX_PART_HEADER) {
        rlx_read_error(r, RLX_WF06, a, "%s is not defined; a dimension that %s gets with its "
                       "arguments is written in quotes: \"%s\"", name, function, name);
        return bind_dimension(r, a);
    }
    if (r->unit.where.part == RLX_PART_HEADER) {
        rlx_read_error(r, RLX_WF06, a,
                       "shape variable %s of %s has no dimension of its own in any parameter",
                       name, function);
        rlx_note(r->ctx, RLX_NO_PLACE, "add a parameter such as R.Shape([\"%s\"])", name);
        return bind_dimension(r, a);
    }
    rlx_read_error(
        r, RLX_WF04, a,
        "return annotation of %s uses shape variable %s, which is not bound by its parameters",
        function, name);
    rlx_note(r->ctx, RLX_NO_PLACE, "leave the size open: R.Tensor(dtype=..., ndim=...)");
    return false;
}

/* Said once; then it is a size. */
static bool missing_in_prim_func(rlx_reader *r, const rlx_ast *a)
{
    const char *name = a->name->text->data;
    if (!stands_bare(r, a) || rlx_is_dtype_name(rlx_string_slice(a->name->text)) || is_used_as_thing(r, a))
        return unknown(r, a);
    rlx_read_error(r, RLX_PA10, a, "%s is not defined", name);
    rlx_note(r->ctx, RLX_NO_PLACE, "a size that a call brings along: take the buffer as a parameter p: T.handle, and begin the "
             "body with %s = T.int64() and x = T.match_buffer(p, (%s, ...), \"float32\")", name, name);
    return bind_dimension(r, a) && false;
}

/* ---- bodies: names that were known, or will be */

static bool out_of_scope(rlx_reader *r, const rlx_ast *a)
{
    const char *name = a->name->text->data;
    bool dataflow = rlx_is(a->name->value.node, RLX_NODE_DATAFLOW_VAR);
    if (dataflow)
        rlx_read_error(r, RLX_WF01, a, "dataflow variable %s is used outside its dataflow block",
                       name);
    else
        rlx_read_error(r, RLX_WF03, a, "variable %s is out of scope here", name);
    rlx_note(r->ctx, rlx_place_of(a->name->value.node),
             dataflow ? "it is bound here; add it to R.output" : "it is bound here");
    return false;
}

static bool is_word_char(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c & 0x80);
}

/* After "NAME(" of a local function; 0: another name. */
static uint32_t value_of_def(rlx_slice text, uint32_t at, rlx_slice name)
{
    bool same = at + name.len < text.len && !memcmp(text.data + at, name.data, name.len);
    return same && text.data[at + name.len] == '(' ? at + (uint32_t)name.len : 0;
}

/* After "NAME =" or "NAME: ... =" at the begin of the line: where the value starts; 0 if the
 * line does not bind the name. */
static uint32_t value_of_binding(rlx_slice text, uint32_t first, rlx_slice name)
{
    if (first + 4 < text.len && !memcmp(text.data + first, "def ", 4))
        return value_of_def(text, skip_blanks(text, first + 4), name);
    if (first + name.len >= text.len || memcmp(text.data + first, name.data, name.len) ||
        is_word_char(text.data[first + name.len]))
        return 0;
    uint32_t at = skip_blanks(text, first + (uint32_t)name.len);
    if (at < text.len && text.data[at] == ':')
        return at + 1;
    bool binds = at + 1 < text.len && text.data[at] == '=' && text.data[at + 1] != '=';
    return binds ? skip_blanks(text, at + 1) : 0;
}

/* The line after `at`, still inside the function, that binds the name: its first character, 0
 * if there is none. */
static uint32_t later_binding(const rlx_pending *function, rlx_slice text, uint32_t at,
                              rlx_slice name, uint32_t *value)
{
    uint32_t def = line_start(text, function->begin), margin = skip_blanks(text, def) - def;
    for (;;) {
        const char *end = at < text.len ? memchr(text.data + at, '\n', text.len - at) : NULL;
        if (!end)
            return 0;
        uint32_t line = (uint32_t)(end - text.data) + 1, first = skip_blanks(text, line);
        bool empty = first >= text.len || text.data[first] == '\n' || text.data[first] == '\r' ||
                     text.data[first] == '#';
        if (!empty && first - line <= margin)
            return 0;
        *value = empty ? 0 : value_of_binding(text, first, name);
        if (*value)
            return first;
        at = line;
    }
}

/* The module's function around what is being read. */
static const rlx_whereabouts *outermost_body(const rlx_reader *r)
{
    const rlx_whereabouts *body = &r->unit.where;
    while (body->outer && body->outer->part == RLX_PART_BODY)
        body = body->outer;
    return body;
}

static bool bound_later(rlx_reader *r, const rlx_ast *a)
{
    rlx_slice text = { r->parser.lexer.text, r->parser.lexer.len },
              name = rlx_string_slice(a->name->text);
    uint32_t value, line = line_start(text, a->begin), first = skip_blanks(text, line);
    if (value_of_binding(text, first, name) && first < a->begin)
        return rlx_read_error(r, RLX_WF02, a,
                              "variable %s occurs in its own value, which is not a function",
                              name.data),
               true;
    const rlx_whereabouts *body = outermost_body(r);
    uint32_t found = later_binding(body->function, text, a->end, name, &value);
    if (!found)
        return false;
    bool is_size = value + 2 < text.len && !memcmp(text.data + value, "T.", 2);
    if (is_size)
        rlx_read_error(r, RLX_WF05, a, "shape variable %s is used before it is bound", name.data);
    else
        rlx_read_error(r, RLX_WF03, a, "variable %s is used before it is bound", name.data);
    if (value_of_def(text, found + 4, name))
        found += 4;
    rlx_note(r->ctx, rlx_place_make(r->text.source, found, (uint32_t)name.len),
             is_size ? "it is declared here" : "it is bound here");
    return true;
}

/* The block of a try has not been read: enough has been said. */
static bool bound_in_refused_try(rlx_reader *r, const rlx_ast *a)
{
    rlx_slice text = { r->parser.lexer.text, r->parser.lexer.len };
    const rlx_pending *function = outermost_body(r)->function;
    uint32_t value;
    bool bound = r->parser.tried &&
                 later_binding(function, text, function->end, rlx_string_slice(a->name->text), &value);
    r->text.syntax_errors += bound;
    return bound;
}

/* A dimension that nothing declares, in the annotation of a variable. */
static bool missing_in_dims(rlx_reader *r, const rlx_ast *a)
{
    enum rlx_code_id code = r->annotation.dims_of == RLX_NODE_SHAPE_SINFO  ? RLX_WF15
                            : r->annotation.dims_of == RLX_NODE_PRIM_SINFO ? RLX_WF16
                                                                : RLX_WF14;
    rlx_read_error(r, code, a, "shape variable %s%s is not in scope", a->name->text->data,
                   code == RLX_WF15 ? " of a shape annotation" : "");
    rlx_note(r->ctx, RLX_NO_PLACE, "introduce it with R.match_cast");
    return false;
}

/* A name of typographic quotes, which word processors make. */
static bool is_quoted(const char *name)
{
    return strstr(name, "\xe2\x80\x9c") || strstr(name, "\xe2\x80\x9d") ||
           strstr(name, "\xe2\x80\x98") || strstr(name, "\xe2\x80\x99");
}

bool rlx_read_missing(rlx_reader *r, const rlx_ast *a)
{
    if (is_quoted(a->name->text->data))
        return rlx_read_error(r, RLX_PA01, a, "quotes are \" or ', found typographic ones");
    /* In text that is read out of a string, places are those of the string. */
    if (rlx_diags_full(&r->ctx->diags))
        return rlx_read_error(r, RLX_PA10, a, "%.60s is not defined", a->name->text->data);
    bool in_text = a->end > a->begin && a->end <= r->parser.lexer.len;
    if (r->unit.header && r->unit.dialect == RLX_DIALECT_TIR)
        return missing_in_prim_func(r, a);
    if (r->unit.where.part == RLX_PART_HEADER || r->unit.where.part == RLX_PART_RETURN)
        return missing_in_header(r, a);
    bool in_dims = r->annotation.variable && r->annotation.dims_of;
    if (r->unit.where.part != RLX_PART_BODY || !in_text)
        return in_dims ? missing_in_dims(r, a) : unknown(r, a);
    if (a->name->value.node && a->name->frame >= outermost_body(r)->body_frame)
        return out_of_scope(r, a);
    return bound_later(r, a) || bound_in_refused_try(r, a) ? false : in_dims ? missing_in_dims(r, a) : unknown(r, a);
}
