/* diag.c: sources, places, diagnostics and their two forms: text with the line, and JSON. */
/* built for size */
#include "base/diag.h"

#include "base/json.h"

#include <errno.h>
#include <stdio.h>

#define DEFAULT_MAX_DIAGS 100
/* Longer messages are cut: a name or a type in them may be as long as the text they come from. */
#define LONGEST_MESSAGE 4000

void rlx_diags_init(rlx_diags *d, rlx_memory *m)
{
    memset(d, 0, sizeof *d);
    d->memory = m;
    rlx_region_init(&d->diag_region, m);
    rlx_place_groups_init(&d->groups, m);
    d->max_diags = DEFAULT_MAX_DIAGS;
}

/* One block: | rlx_source | name, 0 | text, RLX_TEXT_PADDING zeros | */
static bool source_bytes(size_t name_len, size_t len, bool has_text, size_t *out)
{
    *out = sizeof(rlx_source) + 1;
    return rlx_add_size(*out, name_len, out) &&
           (!has_text ||
            (rlx_add_size(*out, RLX_TEXT_PADDING, out) && rlx_add_size(*out, len, out)));
}

static void free_source(rlx_memory *m, rlx_source *s)
{
    size_t bytes;
    if (!s || !source_bytes(s->name_len, s->len, s->text != NULL, &bytes))
        return;
    rlx_mem_free(m, s->lines, s->num_lines * sizeof *s->lines);
    rlx_mem_free(m, s, bytes);
}

void rlx_diags_free(rlx_diags *d)
{
    rlx_memory *m = d->memory;
    for (size_t i = 0; i < d->sources.len; i++)
        free_source(m, d->sources.data[i]);
    rlx_vec_free(m, &d->sources);
    rlx_vec_free(m, &d->muted);
    rlx_region_drop(&d->diag_region);
    rlx_place_groups_free(&d->groups);
    d->first = d->last = NULL;
    d->unfinished = NULL;
}

void rlx_diags_flush(rlx_diags *d)
{
    const rlx_diag *finished = d->unfinished;
    d->unfinished = NULL;
    if (finished && d->live)
        d->live(d->live_user, finished);
}

void rlx_diags_clear(rlx_diags *d)
{
    rlx_diags_flush(d);
    rlx_region_drop(&d->diag_region);
    d->first = d->last = NULL;
    d->num_errors = d->num_warnings = d->num_diags = d->num_followers = 0;
    d->first_error = NULL;
    d->clears++;
    d->out_of_memory = false;
}

void rlx_diags_follow(rlx_diags *d)
{
    d->num_followers++;
}

void rlx_diags_out_of_memory(rlx_diags *d)
{
    d->out_of_memory = true;
    d->num_errors++;
}

/* --- sources --- */

static const char *put_text(char **at, const char *text, size_t len, size_t zeros)
{
    char *copy = *at;
    if (len)
        memcpy(copy, text, len);
    memset(copy + len, 0, zeros);
    *at += len + zeros;
    return copy;
}

static rlx_source *make_source(rlx_diags *d, rlx_slice name, const char *text, size_t len)
{
    size_t bytes;
    rlx_source *s =
        source_bytes(name.len, len, text != NULL, &bytes) ? rlx_mem_alloc(d->memory, bytes) : NULL;
    if (!s)
        return NULL;
    char *at = (char *)(s + 1);
    *s = (rlx_source){ .name_len = name.len };
    s->name = put_text(&at, name.data, name.len, 1);
    if (text) {
        s->text = put_text(&at, text, len, RLX_TEXT_PADDING);
        s->len = len;
    }
    return s;
}

/* A number that is free, 0 if there is none. */
static uint32_t free_number(rlx_diags *d)
{
    for (size_t i = 0; d->num_free && i < d->sources.len; i++)
        if (!d->sources.data[i])
            return (uint32_t)i + 1;
    return 0;
}

uint32_t rlx_diags_add_source(rlx_diags *d, rlx_slice name, const char *text, size_t len)
{
    uint32_t number = free_number(d);
    if ((!number && d->sources.len >= RLX_MAX_SOURCES) || len > RLX_MAX_SOURCE_BYTES)
        return 0;
    rlx_source *s = make_source(d, name, text, len);
    if (!s || (!number && !rlx_vec_push(d->memory, &d->sources, s))) {
        free_source(d->memory, s);
        rlx_diags_out_of_memory(d);
        return 0;
    }
    if (!number)
        return (uint32_t)d->sources.len;
    d->sources.data[number - 1] = s;
    d->num_free--;
    return number;
}

uint32_t rlx_diags_add_read_source(rlx_diags *d, rlx_slice name, const char *text, size_t len)
{
    uint32_t number = rlx_diags_add_source(d, name, text, len);
    if (number)
        d->sources.data[number - 1]->is_read = true;
    return number;
}

void rlx_diags_mark_sources(const rlx_diags *d, bool *used)
{
    for (const rlx_diag *diag = d->first; diag; diag = diag->next) {
        used[rlx_place_source(diag->place)] = true;
        for (size_t i = 0; i < diag->num_labels; i++)
            used[rlx_place_source(diag->labels[i].place)] = true;
    }
}

void rlx_diags_forget_sources(rlx_diags *d, const bool *used)
{
    rlx_place_groups_free(&d->groups);
    for (size_t i = 0; i < d->sources.len; i++) {
        rlx_source *s = d->sources.data[i];
        if (!s || !s->is_read || used[i + 1])
            continue;
        free_source(d->memory, s);
        d->sources.data[i] = NULL;
        d->num_free++;
    }
}

static rlx_source *source_at(const rlx_diags *d, uint32_t number)
{
    return number > 0 && number <= d->sources.len ? d->sources.data[number - 1] : NULL;
}

const rlx_source *rlx_diags_source(const rlx_diags *d, uint32_t number)
{
    return source_at(d, number);
}

/* --- reporting --- */

bool rlx_diags_mute(rlx_diags *d, const rlx_code *code)
{
    return rlx_vec_push(d->memory, &d->muted, code);
}

rlx_diags_counts rlx_diags_begin_unheard(rlx_diags *d)
{
    rlx_diags_counts before = { d->num_errors, d->num_warnings, d->num_diags, d->first_error,
                                d->unheard };
    d->unheard = true;
    return before;
}

void rlx_diags_end_unheard(rlx_diags *d, rlx_diags_counts before)
{
    d->num_errors = before.errors;
    d->num_warnings = before.warnings;
    d->num_diags = before.diags;
    d->first_error = before.first_error;
    d->unheard = before.unheard;
}

static bool is_muted(const rlx_diags *d, const rlx_code *code)
{
    for (size_t i = 0; i < d->muted.len; i++)
        if (d->muted.data[i] == code)
            return true;
    return false;
}

/* Where a text of `len` bytes that is too long ends: between two characters. */
static size_t cut_at(const char *text, size_t len)
{
    while (len && ((unsigned char)text[len] & 0xC0) == 0x80)
        len--;
    return len;
}

/* Formats into the region; NULL when out of memory. */
static const char *format_text(rlx_region *r, size_t *len, const char *format, va_list args)
{
    int saved = errno;
    va_list again;
    va_copy(again, args);
    int needed = vsnprintf(NULL, 0, format, args);
    size_t bytes =
        (size_t)needed > LONGEST_MESSAGE ? LONGEST_MESSAGE + sizeof "..." : (size_t)needed + 1;
    char *text = needed >= 0 ? rlx_region_alloc(r, bytes) : NULL;
    if (text) {
        vsnprintf(text, bytes, format, again);
        *len =
            (size_t)needed > LONGEST_MESSAGE ? cut_at(text, LONGEST_MESSAGE) + 3 : (size_t)needed;
        if ((size_t)needed > LONGEST_MESSAGE)
            memcpy(text + *len - 3, "...", 4);
        rlx_utf8_mend(text, *len);
    }
    va_end(again);
    errno = saved;
    return text;
}

/* Counts it; false if it is only counted. Notes have no limit of their own: they share the
 * warnings'. Once memory has run out something is missing, and what is found wrong may be a
 * mistake of nobody. */
static bool count_and_admit(rlx_diags *d, uint8_t severity)
{
    d->num_diags++;
    if (d->out_of_memory || d->unheard) {
        d->num_errors += severity == RLX_SEVERITY_ERROR;
        return false;
    }
    if (severity == RLX_SEVERITY_ERROR)
        return ++d->num_errors <= d->max_diags;
    if (severity == RLX_SEVERITY_WARNING)
        return ++d->num_warnings <= d->max_diags;
    return d->num_diags <= 2 * d->max_diags;
}

rlx_diag *rlx_diags_vreport(rlx_diags *d, const rlx_code *code, uint8_t severity, rlx_place place,
                            const char *format, va_list args)
{
    if (severity >= RLX_SEVERITY_OFF || (severity == RLX_SEVERITY_WARNING && is_muted(d, code)))
        return NULL;
    if (severity == RLX_SEVERITY_WARNING && d->strict)
        severity = RLX_SEVERITY_ERROR;
    rlx_diags_flush(d);
    if (severity == RLX_SEVERITY_ERROR && !d->num_errors)
        d->first_error = code;
    if (!count_and_admit(d, severity))
        return NULL;
    rlx_diag *diag = rlx_region_zero(&d->diag_region, sizeof *diag);
    if (diag)
        diag->message = format_text(&d->diag_region, &diag->len, format, args);
    if (!diag || !diag->message) {
        d->out_of_memory = true;
        d->num_errors += severity != RLX_SEVERITY_ERROR; /* an error is counted already */
        return NULL;
    }
    diag->code = code;
    diag->severity = severity;
    diag->place = place ? place : d->otherwise;
    if (d->last)
        d->last->next = diag;
    else
        d->first = diag;
    d->last = diag;
    d->unfinished = diag;
    return diag;
}

rlx_diag *rlx_diags_report(rlx_diags *d, const rlx_code *code, uint8_t severity, rlx_place place,
                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rlx_diag *diag = rlx_diags_vreport(d, code, severity, place, format, args);
    va_end(args);
    return diag;
}

/* Labels double at each power of two; there are few, and the region forgets the old array. */
static rlx_label *add_label(rlx_diags *d, rlx_diag *diag)
{
    size_t n = diag->num_labels;
    if ((n & (n - 1)) == 0) {
        rlx_label *grown = rlx_region_array(&d->diag_region, n ? 2 * n : 1, sizeof *grown);
        if (!grown)
            return NULL;
        if (n)
            memcpy(grown, diag->labels, n * sizeof *grown);
        diag->labels = grown;
    }
    return &diag->labels[n];
}

void rlx_diag_note(rlx_diags *d, rlx_diag *diag, rlx_place place, const char *format, ...)
{
    if (!diag)
        return;
    size_t len = 0;
    va_list args;
    va_start(args, format);
    const char *text = format_text(&d->diag_region, &len, format, args);
    va_end(args);
    rlx_label *label = text ? add_label(d, diag) : NULL;
    if (!label) {
        rlx_diags_out_of_memory(d);
        return;
    }
    *label = (rlx_label){ place, text, len };
    diag->num_labels++;
}

/* --- places --- */

/* Makes the table of line beginnings. False when out of memory. */
static bool index_lines(rlx_diags *d, rlx_source *s)
{
    size_t count = 1;
    for (const char *p = s->text, *end = p + s->len; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        count++;
    size_t bytes;
    uint32_t *lines =
        rlx_mul_size(count, sizeof *lines, &bytes) ? rlx_mem_alloc(d->memory, bytes) : NULL;
    if (!lines)
        return false;
    size_t n = 0;
    lines[n++] = 0;
    for (const char *p = s->text, *end = p + s->len; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines[n++] = (uint32_t)(p + 1 - s->text);
    s->lines = lines;
    s->num_lines = count;
    return true;
}

/* Index of the line that contains the offset. */
static size_t search_line(const rlx_source *s, size_t offset)
{
    size_t low = 0, high = s->num_lines;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t count_lines(const char *text, size_t offset, size_t *begin)
{
    size_t line = 0;
    *begin = 0;
    for (const char *p = text; (p = memchr(p, '\n', offset - (size_t)(p - text))) != NULL;) {
        *begin = (size_t)(++p - text);
        line++;
    }
    return line;
}

/* 0-based line of an offset and where the line begins. Without memory for the table the text is
 * counted through: slower, but the message about memory still has its place. */
static size_t find_line(rlx_diags *d, rlx_source *s, size_t offset, size_t *begin)
{
    bool latched = d->out_of_memory;
    bool indexed = s->lines || index_lines(d, s);
    d->out_of_memory = latched;
    if (indexed) {
        size_t line = search_line(s, offset);
        *begin = s->lines[line];
        return line;
    }
    return count_lines(s->text, offset, begin);
}

typedef struct spot {
    rlx_source *source;
    size_t offset, line, line_begin; /* line counts from 0 */
} spot;

/* Where byte `ahead` of a place is. */
static bool find_spot(rlx_diags *d, rlx_place p, size_t ahead, spot *out)
{
    rlx_source *s = source_at(d, rlx_place_source(p));
    if (!s || !s->text)
        return false;
    size_t offset = rlx_place_begin(p) + ahead;
    out->source = s;
    out->offset = offset < s->len ? offset : s->len;
    out->line = find_line(d, s, out->offset, &out->line_begin);
    return true;
}

bool rlx_diags_locate(rlx_diags *d, rlx_place p, uint32_t *line, uint32_t *column,
                      uint32_t *column_chars)
{
    spot at;
    if (!find_spot(d, p, 0, &at))
        return false;
    size_t ahead = at.offset - at.line_begin;
    if (line)
        *line = (uint32_t)at.line + 1;
    if (column)
        *column = (uint32_t)ahead + 1;
    if (column_chars)
        *column_chars = (uint32_t)rlx_utf8_count(at.source->text + at.line_begin, ahead) + 1;
    return true;
}

void rlx_diags_put_place(const rlx_diags *d, rlx_place p, rlx_buf *out)
{
    size_t begin;
    const rlx_source *s = rlx_diags_source(d, rlx_place_source(p));
    if (!s || !s->text)
        return;
    size_t offset = rlx_place_begin(p) < s->len ? rlx_place_begin(p) : s->len;
    size_t line = count_lines(s->text, offset, &begin);
    rlx_buf_format(out, "%.*s:%zu:%zu", (int)s->name_len, s->name, line + 1, offset - begin + 1);
}

/* --- rendering as text --- */

static const char *severity_name(uint8_t severity)
{
    static const char *const names[] = { "error", "warning", "note" };
    return severity < RLX_COUNT(names) ? names[severity] : "note";
}

#define WIDEST_LINE 160
#define BEFORE_CARET 100 /* of a cut line, at most so many bytes stand before the caret */

/* The part of a source line that is shown: [begin, end) of the text. */
typedef struct excerpt {
    size_t begin, end;
    bool cut_left, cut_right;
} excerpt;

static bool continues_char(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static excerpt cut_line(const spot *at)
{
    const char *text = at->source->text;
    const char *newline = memchr(text + at->line_begin, '\n', at->source->len - at->line_begin);
    size_t end = newline ? (size_t)(newline - text) : at->source->len;
    if (end > at->line_begin && text[end - 1] == '\r')
        end--;
    excerpt e = { .begin = at->line_begin, .end = end };
    if (e.end - e.begin <= WIDEST_LINE)
        return e;
    if (at->offset - e.begin > BEFORE_CARET) {
        e.begin = at->offset - BEFORE_CARET;
        e.cut_left = true;
        while (e.begin < at->offset && continues_char(text[e.begin]))
            e.begin++;
    }
    if (e.end - e.begin > WIDEST_LINE) {
        e.end = e.begin + WIDEST_LINE;
        e.cut_right = true;
        while (e.end > e.begin && continues_char(text[e.end]))
            e.end--;
    }
    return e;
}

/* A line of the user's text as it may go to a terminal: control characters, and bytes that are no
 * UTF-8, become '?'. Tabs stay, so that the caret line can repeat them. */
static void put_visible(rlx_buf *out, const char *text, size_t len)
{
    size_t valid = 0;
    for (size_t i = 0; i < len; i++) {
        if (i >= valid)
            valid = i + rlx_utf8_valid(text + i, len - i);
        unsigned char c = (unsigned char)text[i];
        bool shown = i < valid && (c == '\t' || (c >= 0x20 && c != 0x7f));
        rlx_buf_char(out, shown ? text[i] : '?');
    }
}

/* One mark per character of [begin, end). */
static void put_marks(rlx_buf *out, const char *text, size_t begin, size_t end)
{
    rlx_buf_char(out, '^');
    for (size_t i = begin + 1; i < end; i++)
        if (!continues_char(text[i]))
            rlx_buf_char(out, '~');
}

static void put_source_line(rlx_buf *out, const spot *at, uint32_t len)
{
    const char *text = at->source->text;
    excerpt e = cut_line(at);
    if (e.begin == e.end)
        return; /* an empty line shows nothing */
    if (e.cut_left)
        rlx_buf_lit(out, "...");
    put_visible(out, text + e.begin, e.end - e.begin);
    if (e.cut_right)
        rlx_buf_lit(out, "...");
    rlx_buf_char(out, '\n');
    if (e.cut_left)
        rlx_buf_lit(out, "   ");
    for (size_t i = e.begin; i < at->offset && i < e.end; i++)
        if (!continues_char(text[i]))
            rlx_buf_char(out, text[i] == '\t' ? '\t' : ' ');
    size_t end = at->offset + len;
    put_marks(out, text, at->offset, end < e.end ? end : e.end);
    rlx_buf_char(out, '\n');
}

/* "FILE:LINE:COL: " as far as it is known. */
static void put_location(rlx_diags *d, rlx_place place, rlx_buf *out)
{
    const rlx_source *s = source_at(d, rlx_place_source(place));
    uint32_t line, column;
    if (!s)
        return;
    rlx_buf_put(out, s->name, s->name_len);
    if (rlx_diags_locate(d, place, &line, &column, NULL))
        rlx_buf_format(out, ":%u:%u", (unsigned)line, (unsigned)column);
    rlx_buf_lit(out, ": ");
}

static void put_entry(rlx_diags *d, uint8_t severity, const rlx_code *code, rlx_place place,
                      rlx_slice message, rlx_buf *out, bool with_source_lines)
{
    spot at;
    put_location(d, place, out);
    rlx_buf_z(out, severity_name(severity));
    if (code) {
        rlx_buf_char(out, '[');
        rlx_buf_z(out, code->name);
        rlx_buf_char(out, ']');
    }
    rlx_buf_lit(out, ": ");
    rlx_buf_put(out, message.data, message.len);
    rlx_buf_char(out, '\n');
    if (with_source_lines && find_spot(d, place, 0, &at))
        put_source_line(out, &at, rlx_place_len(place));
}

void rlx_diag_render(rlx_diags *d, const rlx_diag *diag, rlx_buf *out, bool with_source_lines)
{
    put_entry(d, diag->severity, diag->code, diag->place, (rlx_slice){ diag->message, diag->len },
              out, with_source_lines);
    for (size_t i = 0; i < diag->num_labels; i++) {
        const rlx_label *l = &diag->labels[i];
        put_entry(d, RLX_SEVERITY_NOTE, NULL, l->place, (rlx_slice){ l->text, l->len }, out,
                  with_source_lines);
    }
}

/* --- rendering as JSON --- */

static void put_json_text(rlx_buf *out, const char *key, rlx_slice value)
{
    rlx_json_quote(out, rlx_slice_z(key));
    rlx_buf_char(out, ':');
    rlx_json_quote(out, value);
}

static void put_json_place(rlx_diags *d, rlx_place place, rlx_buf *out)
{
    const rlx_source *s = source_at(d, rlx_place_source(place));
    spot begin, end;
    if (!s)
        return;
    rlx_buf_char(out, ',');
    put_json_text(out, "file", (rlx_slice){ s->name, s->name_len });
    if (!find_spot(d, place, 0, &begin) || !find_spot(d, place, rlx_place_len(place), &end)) {
        rlx_buf_format(out, ",\"begin\":%u,\"length\":%u", (unsigned)rlx_place_begin(place),
                       (unsigned)rlx_place_len(place));
        return;
    }
    rlx_buf_format(out, ",\"line\":%zu,\"column\":%zu,\"end_line\":%zu,\"end_column\":%zu",
                   begin.line + 1, begin.offset - begin.line_begin + 1, end.line + 1,
                   end.offset - end.line_begin + 1);
}

void rlx_diag_render_json(rlx_diags *d, const rlx_diag *diag, rlx_buf *out)
{
    rlx_buf_char(out, '{');
    put_json_text(out, "severity", rlx_slice_z(severity_name(diag->severity)));
    if (diag->code) {
        rlx_buf_char(out, ',');
        put_json_text(out, "code", rlx_slice_z(diag->code->name));
    }
    rlx_buf_char(out, ',');
    put_json_text(out, "message", (rlx_slice){ diag->message, diag->len });
    put_json_place(d, diag->place, out);
    rlx_buf_lit(out, ",\"notes\":[");
    for (size_t i = 0; i < diag->num_labels; i++) {
        const rlx_label *l = &diag->labels[i];
        rlx_buf_put(out, ",{", i ? 2 : 0);
        if (i == 0)
            rlx_buf_char(out, '{');
        put_json_text(out, "message", (rlx_slice){ l->text, l->len });
        put_json_place(d, l->place, out);
        rlx_buf_char(out, '}');
    }
    rlx_buf_lit(out, "]}");
}
