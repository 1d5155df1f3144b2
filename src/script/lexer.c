/* lexer.c: tokens on demand, the table of names, and the next good line after a mistake. */
#include "script/lexer.h"

/* Character classes. */
enum {
    C_OTHER, C_SPACE, C_LINE, C_NAME, C_DIGIT, C_QUOTE, C_OPEN, C_CLOSE, C_DOT, C_LONE, C_PUNCT
};
static const uint8_t classes[256] = {
    [' '] = C_SPACE,  ['\t'] = C_SPACE,        ['\f'] = C_SPACE,       ['\r'] = C_LINE,
    ['\n'] = C_LINE,  ['#'] = C_LINE,          ['\\'] = C_LINE,        ['"'] = C_QUOTE,
    ['\''] = C_QUOTE, ['0' ... '9'] = C_DIGIT, ['a' ... 'z'] = C_NAME, ['A' ... 'Z'] = C_NAME,
    ['_'] = C_NAME,   [128 ... 255] = C_NAME,  ['('] = C_OPEN,         [')'] = C_CLOSE,
    ['['] = C_OPEN,   [']'] = C_CLOSE,         ['{'] = C_OPEN,         ['}'] = C_CLOSE,
    ['.'] = C_DOT,    [','] = C_LONE,          [':'] = C_LONE,         ['='] = C_LONE,
    ['+'] = C_LONE,   ['-'] = C_LONE,          ['*'] = C_LONE,         ['/'] = C_LONE,
    ['%'] = C_LONE,   ['<'] = C_LONE,          ['>'] = C_LONE,         [';'] = C_PUNCT,
    ['@'] = C_PUNCT,  ['!'] = C_PUNCT,         ['&'] = C_PUNCT,        ['|'] = C_PUNCT,
    ['^'] = C_PUNCT,  ['~'] = C_PUNCT,
};
/* Token of a character that stands alone: brackets always do, the others unless one of = * / < >
 * follows. */
static const uint8_t alone[256] = {
    ['('] = RLX_TOK_LPAR,     [')'] = RLX_TOK_RPAR,   ['['] = RLX_TOK_LBRACKET,
    [']'] = RLX_TOK_RBRACKET, ['{'] = RLX_TOK_LBRACE, ['}'] = RLX_TOK_RBRACE,
    [','] = RLX_TOK_COMMA,    ['.'] = RLX_TOK_DOT,    [':'] = RLX_TOK_COLON,
    ['='] = RLX_TOK_ASSIGN,   ['-'] = RLX_TOK_MINUS,  ['+'] = RLX_TOK_PLUS,
    ['*'] = RLX_TOK_STAR,     ['/'] = RLX_TOK_SLASH,  ['%'] = RLX_TOK_PERCENT,
    ['<'] = RLX_TOK_LT,       ['>'] = RLX_TOK_GT,
};
static const bool joins[256] = {
    ['='] = true, ['*'] = true, ['/'] = true, ['<'] = true, ['>'] = true
};
static inline uint8_t class_of(char c) { return classes[(unsigned char)c]; }
static inline bool in_name(char c) { return class_of(c) == C_NAME || class_of(c) == C_DIGIT; }

const char *rlx_tok_text(uint8_t kind)
{
    static const char *const texts[RLX_TOK_COUNT] = {
#define TOK(name, text) text,
        RLX_TOKENS(TOK)
#undef TOK
    };
    return kind < RLX_TOK_COUNT ? texts[kind] : "?";
}

/* ---- names ---------------------------------------------------------------------------------- */

/* By length: rows of length n stand at first_of_length[n] .. first_of_length[n + 1]. */
enum { LONGEST_KEYWORD = 8 };
static const struct { char text[LONGEST_KEYWORD]; uint8_t kind;
} keywords[] = {
    { "or", RLX_TOK_OR },
    { "in", RLX_TOK_IN },
    { "is", RLX_TOK_IS },
    { "if", RLX_TOK_IF },
    { "as", RLX_TOK_AS },
    { "and", RLX_TOK_AND },
    { "not", RLX_TOK_NOT },
    { "for", RLX_TOK_FOR },
    { "def", RLX_TOK_DEF },
    { "try", RLX_TOK_TRY },
    { "del", RLX_TOK_DEL },
    { "else", RLX_TOK_ELSE },
    { "elif", RLX_TOK_ELIF },
    { "with", RLX_TOK_WITH },
    { "pass", RLX_TOK_PASS },
    { "None", RLX_TOK_NONE },
    { "True", RLX_TOK_TRUE },
    { "from", RLX_TOK_FROM },
    { "while", RLX_TOK_WHILE },
    { "class", RLX_TOK_CLASS },
    { "False", RLX_TOK_FALSE },
    { "break", RLX_TOK_BREAK },
    { "raise", RLX_TOK_RAISE },
    { "yield", RLX_TOK_YIELD },
    { "async", RLX_TOK_ASYNC },
    { "await", RLX_TOK_AWAIT },
    { "return", RLX_TOK_RETURN },
    { "assert", RLX_TOK_ASSERT },
    { "lambda", RLX_TOK_LAMBDA },
    { "import", RLX_TOK_IMPORT },
    { "global", RLX_TOK_GLOBAL },
    { "nonlocal", RLX_TOK_NONLOCAL },
    { "continue", RLX_TOK_CONTINUE },
};
static const uint8_t first_of_length[LONGEST_KEYWORD + 2] = { 0, 0, 0, 5, 11, 18, 26, 31, 31, 33 };

/* A name for every so many bytes; tables do not start larger than for MANY_NAMES. */
enum { BYTES_A_NAME = 96, FEW_NAMES = 256, MANY_NAMES = 32 * 1024 };

void rlx_words_init(rlx_words *t, rlx_context *ctx, size_t text_len)
{
    size_t names = text_len / BYTES_A_NAME < MANY_NAMES ? text_len / BYTES_A_NAME : MANY_NAMES;
    memset(t, 0, sizeof *t);
    t->ctx = ctx;
    for (t->first_cap = 2 * FEW_NAMES; t->first_cap / 3 * 2 < names;)
        t->first_cap *= 2;
    rlx_region_init(&t->region, &ctx->memory);
}

void rlx_words_free(rlx_words *t)
{
    rlx_mem_free(&t->ctx->memory, t->slots, t->cap * sizeof *t->slots);
    rlx_vec_free(&t->ctx->memory, &t->blocks);
    rlx_region_drop(&t->region);
    rlx_words_init(t, t->ctx, 0);
}

static uint8_t keyword_of(rlx_slice text)
{
    if (text.len > LONGEST_KEYWORD)
        return 0;
    for (size_t i = first_of_length[text.len]; i < first_of_length[text.len + 1]; i++)
        if (keywords[i].text[0] == text.data[0] &&
            memcmp(keywords[i].text, text.data, text.len) == 0)
            return keywords[i].kind;
    return 0;
}

/* The key by which a name is looked up. */
typedef struct name_key { rlx_slice text; uint64_t begin[2]; uint32_t hash; } name_key;

static inline uint64_t mixed(uint64_t a, uint64_t b)
{
    rlx_u128 product = (rlx_u128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xC2B2AE3D27D4EB4Fu);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* At most eight bytes, 0 behind them. */
static uint64_t load_some(const char *p, size_t len)
{
    char bytes[8] = { 0 };
    memcpy(bytes, p, len < sizeof bytes ? len : sizeof bytes);
    return rlx_load8(bytes);
}

/* Hash of a name of 1 to 8 bytes, of 9 to 15. */
static inline uint32_t hash_of_few(uint64_t first) { return (uint32_t)mixed(first, 0); }
static inline uint32_t hash_of_more(uint64_t first, uint64_t second)
{
    return (uint32_t)mixed(first, second);
}

static RLX_NOINLINE uint32_t hash_of_long(rlx_slice text)
{
    uint64_t hash = load_some(text.data, 8);
    for (size_t at = 8; at < text.len; at += 8)
        hash = mixed(hash, load_some(text.data + at, text.len - at));
    return (uint32_t)hash;
}

static RLX_NOINLINE name_key key_of(rlx_slice text)
{
    name_key key = { text, { 0, 0 }, 0 };
    if (text.len)
        key.begin[0] = load_some(text.data, text.len);
    if (text.len > 8)
        key.begin[1] = load_some(text.data + 8, text.len - 8);
    key.hash = text.len < 1    ? 0
               : text.len <= 8 ? hash_of_few(key.begin[0])
               : text.len < 16 ? hash_of_more(key.begin[0], key.begin[1])
                               : hash_of_long(text);
    return key;
}

static RLX_NOINLINE bool grow_names(rlx_words *t)
{
    size_t cap = t->cap ? t->cap * 2 : t->first_cap;
    rlx_word_slot *slots = rlx_mem_alloc_zero(&t->ctx->memory, cap * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < t->cap; i++) {
        size_t at = t->slots[i].hash & (cap - 1);
        if (!t->slots[i].number)
            continue;
        while (slots[at].number)
            at = (at + 1) & (cap - 1);
        slots[at] = t->slots[i];
    }
    rlx_mem_free(&t->ctx->memory, t->slots, t->cap * sizeof *t->slots);
    t->slots = slots;
    t->cap = cap;
    return true;
}

/* No name holds a zero, so that the first bytes of a short one tell its length, too. */
static inline bool is_called(const rlx_word *w, const name_key *key)
{
    if (w->begin[0] != key->begin[0] || w->begin[1] != key->begin[1])
        return false;
    return RLX_LIKELY(key->text.len < 16) || rlx_slice_equal(rlx_string_slice(w->text), key->text);
}

/* Where the entry is, or belongs. */
static inline rlx_word_slot *slot_of(const rlx_words *t, const name_key *key)
{
    for (size_t at = key->hash;; at++) {
        rlx_word_slot *slot = &t->slots[at & (t->cap - 1)];
        if (!slot->number || (slot->hash == key->hash &&
                              is_called(rlx_words_at(t, slot->number - 1), key)))
            return slot;
    }
}

/* Capacity for one more. */
static rlx_word *next_word(rlx_words *t)
{
    if (t->len % RLX_WORDS_A_BLOCK == 0) {
        rlx_word *block = rlx_region_alloc(&t->region, RLX_WORDS_A_BLOCK * sizeof *block);
        if (!block || !rlx_vec_push(&t->ctx->memory, &t->blocks, block))
            return NULL;
    }
    return rlx_words_at(t, t->len);
}

/* Names that end in a digit are many, and most of them name one variable: no table of the
 * context holds them. */
static RLX_NOINLINE rlx_word *new_name(rlx_words *t, const name_key *key)
{
    bool numbered = key->text.len && class_of(key->text.data[key->text.len - 1]) == C_DIGIT;
    const rlx_string *string =
        numbered ? rlx_string_new(t->ctx, key->text) : rlx_string_intern(t->ctx, key->text);
    rlx_word *w = string ? next_word(t) : NULL;
    if (!w)
        return NULL;
    *w = (rlx_word){ .begin = { key->begin[0], key->begin[1] },
                     .text = string,
                     .keyword = keyword_of(key->text) };
    t->len++;
    if (key->text.len == 1 && class_of(key->text.data[0]) == C_NAME && key->begin[0] < 0x80)
        t->letters[key->text.data[0] & 63] = w;
    return w;
}

static inline rlx_word *get_name(rlx_words *t, const name_key *key)
{
    if (t->len >= t->cap / 3 * 2 && !grow_names(t))
        return NULL;
    rlx_word_slot *slot = slot_of(t, key);
    if (RLX_LIKELY(slot->number))
        return rlx_words_at(t, slot->number - 1);
    rlx_word *w = new_name(t, key);
    if (w)
        *slot = (rlx_word_slot){ key->hash, (uint32_t)t->len };
    return w;
}

rlx_word *rlx_words_get(rlx_words *t, rlx_slice text)
{
    name_key key = key_of(text);
    return get_name(t, &key);
}

/* The word of a name, or NULL: there is none yet. */
static inline rlx_word *known_name(const rlx_words *t, const name_key *key)
{
    const rlx_word_slot *slot = RLX_LIKELY(t->cap) ? slot_of(t, key) : NULL;
    return slot && slot->number ? rlx_words_at(t, slot->number - 1) : NULL;
}

rlx_word *rlx_words_find(const rlx_words *t, rlx_slice text)
{
    name_key key = key_of(text);
    return known_name(t, &key);
}

rlx_functions *rlx_word_functions(rlx_words *t, rlx_word *w)
{
    if (!w->functions)
        w->functions = rlx_region_zero(&t->region, sizeof *w->functions);
    return w->functions;
}

/* ---- reports -------------------------------------------------------------------------------- */

rlx_place rlx_lexer_place(const rlx_lexer *lx, uint32_t begin, uint32_t end)
{
    return rlx_place_make(lx->source, begin, end > begin ? end - begin : 0);
}

/* One syntax error per statement; what follows from it is not worth reading. */
RLX_PRINTF(5, 6)
static void report(rlx_lexer *lx, enum rlx_code_id code, uint32_t begin, uint32_t end,
                   const char *format, ...)
{
    if (lx->reported || lx->reported_at == begin + 1) /* a body is read again after its header */
        return;
    lx->reported_at = begin + 1;
    va_list args;
    va_start(args, format);
    rlx_verror(lx->ctx, code, rlx_lexer_place(lx, begin, end), format, args);
    va_end(args);
    lx->reported = true;
}

static inline void give(rlx_lexer *lx, uint8_t kind, uint32_t begin, uint32_t end)
{
    lx->tok = (rlx_tok){ .kind = kind, .begin = begin, .end = end };
    lx->pos = end;
}

static inline void give_name(rlx_lexer *lx, rlx_word *w, uint32_t begin, uint32_t end)
{
    lx->tok = (rlx_tok){
        .kind = w->keyword ? w->keyword : RLX_TOK_NAME, .begin = begin, .end = end, .name = w
    };
    lx->pos = end;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Does a line that starts with the text at `at` begin a statement that no expression can
 * contain? Then a bracket that is still open was forgotten. */
static bool starts_statement(const char *text, uint32_t at, uint32_t len)
{
    while (at < len && class_of(text[at]) == C_SPACE)
        at++;
    if (at >= len)
        return false;
    if (text[at] == '@')
        return at + 1 < len && class_of(text[at + 1]) == C_NAME;
    uint32_t end = at;
    while (end < len && in_name(text[end]) && end - at < 8)
        end++;
    if (end < len && in_name(text[end]))
        return false;
    static const char *const words[] = { "def", "class", "return", "with" };
    for (size_t i = 0; i < RLX_COUNT(words); i++)
        if (rlx_slice_is((rlx_slice){ text + at, end - at }, words[i]))
            return true;
    return false;
}

/* How many blanks stand at `at`. */
static uint32_t blanks_at(const char *text, uint32_t at, uint32_t len)
{
    for (uint32_t n = 0; at + n < len; n += 8) {
        uint64_t others = rlx_load8(text + at + n) ^ RLX_EACH_BYTE(' ');
        if (others)
            return n + rlx_first_byte(others);
    }
    return len - at;
}

/* Columns of white space from `at`; tabs go to the next multiple of 8. */
static uint32_t indentation(const char *text, uint32_t *at, uint32_t len)
{
    uint32_t column = blanks_at(text, *at, len);
    for (*at += column; *at < len; (*at)++) {
        if (text[*at] == ' ')
            column++;
        else if (text[*at] == '\t')
            column = (column / 8 + 1) * 8;
        else if (text[*at] == '\f')
            column = 0;
        else
            break;
    }
    return column;
}

static bool blank_from(const char *text, uint32_t at, uint32_t len)
{
    return at >= len || text[at] == '\n' || text[at] == '\r' || text[at] == '#';
}

/* The newline that ends the physical line, or the end of the text. */
static uint32_t line_end(const char *text, uint32_t at, uint32_t len)
{
    const char *end = at < len ? memchr(text + at, '\n', len - at) : NULL;
    return end ? (uint32_t)(end - text) : len;
}

static uint32_t next_physical(const char *text, uint32_t at, uint32_t len)
{
    uint32_t end = line_end(text, at, len);
    return end + (end < len);
}

bool rlx_lines_next(rlx_lines *l)
{
    while (l->pos < l->len) {
        uint32_t at = l->pos;
        uint32_t column = indentation(l->text, &at, l->len);
        if (!blank_from(l->text, at, l->len)) {
            l->begin = at;
            l->column = column;
            return true;
        }
        l->pos = next_physical(l->text, at, l->len);
    }
    return false;
}

/* Where the first quote, backslash or newline is, from `at` on; `len` or beyond if there is
 * none. */
static inline uint32_t string_stop(const char *text, uint32_t at, uint32_t len, char quote)
{
    for (; at < len; at += 8) {
        uint64_t v = rlx_load8(text + at);
        uint64_t found =
            rlx_bytes_equal(v, quote) | rlx_bytes_equal(v, '\\') | rlx_bytes_equal(v, '\n');
        if (found)
            return at + rlx_first_byte(found);
    }
    return at;
}

/* The end of the usual string at `at`: on one line, nothing hidden. 0: it is not like that. */
static inline uint32_t plain_string(const char *text, uint32_t at, uint32_t len)
{
    char quote = text[at];
    uint32_t stop = string_stop(text, at + 1, len, quote);
    bool plain = stop < len && text[stop] == quote && (stop > at + 1 || text[stop + 1] != quote);
    return plain ? stop + 1 : 0;
}

/* Passes a string literal that begins at `at`; a short one that does not end is cut at the end
 * of its line. */
static RLX_NOINLINE uint32_t skip_odd_string(const char *text, uint32_t at, uint32_t len)
{
    char quote = text[at];
    bool triple = at + 2 < len && text[at + 1] == quote && text[at + 2] == quote;
    for (at += triple ? 3 : 1; at < len; at++) {
        if (text[at] == '\\')
            at++;
        else if (!triple && (text[at] == quote || text[at] == '\n'))
            return text[at] == quote ? at + 1 : at;
        else if (triple && text[at] == quote && at + 2 < len && text[at + 1] == quote &&
                 text[at + 2] == quote)
            return at + 3;
    }
    return len;
}

static inline uint32_t skip_string(const char *text, uint32_t at, uint32_t len)
{
    uint32_t plain = plain_string(text, at, len);
    return RLX_LIKELY(plain) ? plain : skip_odd_string(text, at, len);
}

rlx_slice rlx_next_name(const char *text, uint32_t *at, uint32_t end)
{
    uint32_t i = *at;
    while (i < end) {
        char c = text[i];
        uint32_t stop = rlx_name_end(text, i);
        if (stop > i && !(c >= '0' && c <= '9')) {
            *at = stop;
            return (rlx_slice){ text + i, stop - i };
        }
        i = c == '#'                ? line_end(text, i, end)
            : c == '"' || c == '\'' ? skip_string(text, i, end)
            : stop > i              ? stop
                                    : i + 1;
    }
    *at = end;
    return (rlx_slice){ text + end, 0 };
}

/* Characters that decide where a logical line, or a group in brackets, ends: newlines, quotes,
 * '#', brackets, backslashes; and $ % & |, which do not, but go with the others. */
static inline uint64_t stops_in(uint64_t v)
{
    return rlx_bytes_equal(v, '\n') | rlx_bytes_within(v, '"', ')') |
           rlx_bytes_within(v | RLX_EACH_BYTE(0x20), '{', '}');
}

/* How a bracket changes the depth; 0: no bracket. */
static const int8_t deeper_by[256] = {
    ['('] = 1, ['['] = 1, ['{'] = 1, [')'] = -1, [']'] = -1, ['}'] = -1
};

/* Passes strings and groups in brackets from `at` on. Stops behind the character that closes
 * the bracket opened first, if asked for a group, else at the newline where the logical line
 * ends. `len`: there is none. */
static uint32_t pass_groups(const char *text, uint32_t at, uint32_t len, bool group)
{
    int32_t depth = 0;
    while (at < len) {
        uint64_t stops = stops_in(rlx_load8(text + at));
        uint32_t from = at;
        for (at += 8; stops; stops &= stops - 1) {
            uint32_t here = from + rlx_first_byte(stops);
            char c = text[here];
            int8_t deeper = deeper_by[(unsigned char)c];
            if (deeper) {
                depth += deeper;
                if (RLX_LIKELY(depth > 0))
                    continue;
                depth = 0;
                if (group)
                    return here + 1 < len ? here + 1 : len;
            } else if (c == '"' || c == '\'') {
                at = here < len ? skip_string(text, here, len) : len;
                break;
            } else if (c == '\n') {
                if (here < len && (!depth || starts_statement(text, here + 1, len)))
                    return here;
            } else if (c == '#' || c == '\\') {
                at = c == '#' ? line_end(text, here, len) : here + 2;
                break;
            }
        }
    }
    return len;
}

void rlx_lines_skip(rlx_lines *l)
{
    uint32_t end = pass_groups(l->text, l->begin, l->len, false);
    l->pos = end + (end < l->len);
}

/* ---- tokens --------------------------------------------------------------------------------- */

/* The indentation of the line at pos decides: INDENT, DEDENT, or nothing special. True if a
 * token was given. */
static bool indent_token(rlx_lexer *lx)
{
    uint32_t at = lx->pos, column = 0;
    for (;;) {
        lx->line = at;
        column = indentation(lx->text, &at, lx->len);
        if (at >= lx->len || !blank_from(lx->text, at, lx->len))
            break;
        at = next_physical(lx->text, at, lx->len);
    }
    lx->pos = at;
    lx->line_start = false;
    if (at >= lx->len)
        column = 0;
    uint32_t top = lx->indents[lx->num_indents - 1];
    if (column > top) {
        if (lx->num_indents > RLX_SCRIPT_MAX_BLOCKS) {
            report(lx, RLX_PA09, at, at, "more than %d nested blocks", RLX_SCRIPT_MAX_BLOCKS);
            give(lx, RLX_TOK_ERROR, at, at);
            return true;
        }
        lx->indents[lx->num_indents++] = column;
        give(lx, RLX_TOK_INDENT, at, at);
        return true;
    }
    while (lx->num_indents > 1 && column < lx->indents[lx->num_indents - 1]) {
        lx->num_indents--;
        lx->dedents++;
    }
    if (column > lx->indents[lx->num_indents - 1]) {
        /* It counts as a line of the inner one of the two blocks: lines further out are as they
         * were. */
        uint32_t inner = lx->num_indents++;
        report(lx, RLX_PA02, lx->line, at,
               "this line is indented by %u, which matches no block around it: they are indented by %u and %u",
               column, lx->indents[inner - 1], lx->indents[inner]);
        lx->reported = false;
        lx->misindented = true;
        lx->dedents--;
        lx->indents[inner] = column;
    }
    return false;
}

static void unclosed(rlx_lexer *lx)
{
    uint32_t at = lx->open[lx->depth - 1];
    report(lx, RLX_PA03, at, at + 1, "'%c' is never closed", lx->text[at]);
    lx->depth = 0;
}

static RLX_NOINLINE void end_token(rlx_lexer *lx)
{
    if (lx->depth)
        unclosed(lx);
    uint8_t before = lx->tok.kind;
    if (!lx->single && before != RLX_TOK_NEWLINE && before != RLX_TOK_DEDENT &&
        before != RLX_TOK_END && lx->prev_end) {
        give(lx, RLX_TOK_NEWLINE, lx->len, lx->len);
        lx->line_start = true;
        return;
    }
    give(lx, RLX_TOK_END, lx->len, lx->len);
}

/* Is the text at `at` a prefix of a string literal ("r", "rb", "f" ...)? Gives its length. */
static uint32_t string_prefix(const rlx_lexer *lx, uint32_t at, rlx_tok *flags)
{
    uint32_t n = 0;
    for (; n < 3 && at + n < lx->len; n++) {
        char c = lx->text[at + n] | 0x20;
        if (lx->text[at + n] == '"' || lx->text[at + n] == '\'')
            return n;
        if (c == 'r')
            flags->raw = true;
        else if (c == 'b')
            flags->bytes = true;
        else if (c == 'f')
            flags->format = true;
        else if (c != 'u')
            return 0;
    }
    return 0;
}

static RLX_NOINLINE void odd_string(rlx_lexer *lx, uint32_t begin, uint32_t prefix, rlx_tok flags)
{
    const char *text = lx->text;
    uint32_t at = begin + prefix;
    char quote = text[at];
    flags.triple = at + 2 < lx->len && text[at + 1] == quote && text[at + 2] == quote;
    uint32_t end = skip_odd_string(text, at, lx->len);
    uint32_t quotes = flags.triple ? 3 : 1;
    bool closed = end <= lx->len && end >= at + 2 * quotes && text[end - 1] == quote;
    if (closed && flags.triple)
        closed = text[end - 2] == quote && text[end - 3] == quote;
    if (!closed) {
        uint32_t line = next_physical(text, at, lx->len);
        report(lx, RLX_PA06, begin, begin + prefix + quotes, "this string does not end");
        give(lx, RLX_TOK_ERROR, begin,
             flags.triple && line > begin ? line
             : end > begin                ? end
                                          : begin + 1);
        return;
    }
    give(lx, RLX_TOK_STRING, begin, end);
    lx->tok.raw = flags.raw, lx->tok.bytes = flags.bytes, lx->tok.format = flags.format,
    lx->tok.triple = flags.triple;
}

static RLX_NOINLINE bool prefixed_string(rlx_lexer *lx, uint32_t begin)
{
    rlx_tok flags = { 0 };
    uint32_t prefix = string_prefix(lx, begin, &flags);
    if (prefix)
        odd_string(lx, begin, prefix, flags);
    return prefix != 0;
}

static RLX_NOINLINE void string_token(rlx_lexer *lx, uint32_t begin)
{
    uint32_t end = plain_string(lx->text, begin, lx->len);
    if (RLX_LIKELY(end)) {
        give(lx, RLX_TOK_STRING, begin, end);
        lx->tok.plain = true;
    } else if (begin < lx->len) {
        odd_string(lx, begin, 0, (rlx_tok){ 0 });
    } else {
        end_token(lx); /* the quote that ends the string around this text */
    }
}

/* Bit 7 of each byte that cannot stand in a name. */
static inline uint64_t outside_names(uint64_t v)
{
    uint64_t letters = rlx_bytes_within(v | RLX_EACH_BYTE(0x20), 'a', 'z'),
             others = rlx_bytes_within(v, '0', '9') | rlx_bytes_within(v, '_', '_');
    return ~(letters | others | v) & RLX_EACH_BYTE(0x80);
}

/* The bytes below the lowest one that the mask marks. */
static inline uint64_t bytes_below(uint64_t mask) { return ((mask & -mask) >> 7) - 1; }

/* The key of the name at `text`. Most are shorter than 16 bytes, and one or two loads hold all of
 * it. */
static inline name_key name_at(const char *text)
{
    uint64_t first = rlx_load8(text), second, end = outside_names(first);
    if (RLX_LIKELY(end)) {
        rlx_slice name = { text, rlx_first_byte(end) };
        first &= bytes_below(end);
        return (name_key){ name, { first, 0 }, hash_of_few(first) };
    }
    second = rlx_load8(text + 8);
    end = outside_names(second);
    if (!end)
        return key_of((rlx_slice){ text, rlx_name_end(text, 0) });
    rlx_slice name = { text, 8 + rlx_first_byte(end) };
    second &= bytes_below(end);
    return (name_key){ name, { first, second },
                       name.len > 8 ? hash_of_more(first, second)
                                    : hash_of_few(first) };
}

/* A word that is no name known before: a new one, or a string. */
static RLX_NOINLINE void odd_name(rlx_lexer *lx, uint32_t begin, const name_key *key)
{
    uint32_t end = begin + (uint32_t)key->text.len;
    if (class_of(lx->text[end]) == C_QUOTE && end < lx->len && prefixed_string(lx, begin))
        return;
    rlx_word *w = get_name(lx->names, key);
    if (w) {
        give_name(lx, w, begin, end);
    } else {
        lx->reported = true;
        give(lx, RLX_TOK_ERROR, begin, end);
    }
}

/* A name or a keyword. */
static RLX_NOINLINE void name_token(rlx_lexer *lx, uint32_t begin)
{
    name_key key = name_at(lx->text + begin);
    rlx_word *w = known_name(lx->names, &key);
    if (RLX_LIKELY(w && class_of(key.text.data[key.text.len]) != C_QUOTE))
        give_name(lx, w, begin, begin + (uint32_t)key.text.len);
    else
        odd_name(lx, begin, &key);
}

/* Behind a name of one letter; a quote there may make a string of it. */
static inline bool ends_letter(char c)
{
    uint8_t class = class_of(c);
    return class != C_NAME && class != C_DIGIT && class != C_QUOTE;
}

static inline rlx_word *letter_at(const rlx_words *t, const char *text)
{
    rlx_word *w = t->letters[*text & 63];
    return w && ends_letter(text[1]) && !(*text & 0x80) ? w : NULL;
}

rlx_word *rlx_lexer_word(const rlx_lexer *lx, uint32_t at, uint32_t *end)
{
    const char *text = lx->text + at;
    rlx_word *w = class_of(*text) == C_NAME ? letter_at(lx->names, text) : NULL;
    *end = at + 1;
    if (w || class_of(*text) != C_NAME)
        return w;
    name_key key = name_at(text);
    *end = at + (uint32_t)key.text.len;
    if (RLX_UNLIKELY(class_of(lx->text[*end]) == C_QUOTE))
        return NULL;
    w = known_name(lx->names, &key);
    return RLX_LIKELY(w != NULL) ? w : get_name(lx->names, &key);
}

/* Digits, letters and points; an exponent may have a sign. Whether it is a number is seen when
 * it is read. */
static RLX_NOINLINE void odd_number(rlx_lexer *lx, uint32_t begin)
{
    const char *text = lx->text;
    uint32_t at = begin;
    bool based =
        text[at] == '0' && at + 1 < lx->len && strchr("xXoObB", text[at + 1]) && text[at + 1];
    bool is_float = false;
    for (; at < lx->len; at++) {
        char c = text[at];
        if (c == '.' && !based)
            is_float = true;
        else if ((c == 'e' || c == 'E') && !based) {
            is_float = true;
            if (at + 1 < lx->len && (text[at + 1] == '+' || text[at + 1] == '-'))
                at++;
        } else if (!in_name(c))
            break;
    }
    give(lx, is_float ? RLX_TOK_FLOAT : RLX_TOK_INT, begin, at);
}

static inline void number_token(rlx_lexer *lx, uint32_t begin)
{
    uint32_t at = begin + 1;
    while (class_of(lx->text[at]) == C_DIGIT)
        at++;
    if (RLX_LIKELY(class_of(lx->text[at]) != C_NAME && lx->text[at] != '.'))
        give(lx, RLX_TOK_INT, begin, at);
    else
        odd_number(lx, begin);
}

static inline void dot_token(rlx_lexer *lx, uint32_t begin)
{
    if (class_of(lx->text[begin + 1]) == C_DIGIT && begin + 1 < lx->len)
        odd_number(lx, begin);
    else
        give(lx, RLX_TOK_DOT, begin, begin + 1);
}

/* Punctuation: the longest that matches. Rows with the same first character stand together,
 * longest first. */
static const struct { char text[4]; uint8_t kind;
} puncts[] = {
    { "(", RLX_TOK_LPAR },      { ")", RLX_TOK_RPAR },      { "[", RLX_TOK_LBRACKET },
    { "]", RLX_TOK_RBRACKET },  { "{", RLX_TOK_LBRACE },    { "}", RLX_TOK_RBRACE },
    { ",", RLX_TOK_COMMA },     { ":=", RLX_TOK_WALRUS },   { ":", RLX_TOK_COLON },
    { ".", RLX_TOK_DOT },       { ";", RLX_TOK_SEMICOLON }, { "@=", RLX_TOK_AUG_AT },
    { "@", RLX_TOK_AT },
    { "==", RLX_TOK_EQ },       { "=", RLX_TOK_ASSIGN },    { "->", RLX_TOK_ARROW },
    { "-=", RLX_TOK_AUG_SUB },  { "-", RLX_TOK_MINUS },     { "+=", RLX_TOK_AUG_ADD },
    { "+", RLX_TOK_PLUS },      { "**=", RLX_TOK_AUG_POW }, { "**", RLX_TOK_POWER },
    { "*=", RLX_TOK_AUG_MUL },  { "*", RLX_TOK_STAR },      { "//=", RLX_TOK_AUG_FLOORDIV },
    { "//", RLX_TOK_DSLASH },   { "/=", RLX_TOK_AUG_DIV },  { "/", RLX_TOK_SLASH },
    { "%=", RLX_TOK_AUG_MOD },  { "%", RLX_TOK_PERCENT },   { "<<=", RLX_TOK_AUG_SHL },
    { "<<", RLX_TOK_SHL },      { "<=", RLX_TOK_LE },       { "<", RLX_TOK_LT },
    { ">>=", RLX_TOK_AUG_SHR }, { ">>", RLX_TOK_SHR },      { ">=", RLX_TOK_GE },
    { ">", RLX_TOK_GT },        { "!=", RLX_TOK_NE },       { "&=", RLX_TOK_AUG_AND },
    { "&", RLX_TOK_AMPERSAND }, { "|=", RLX_TOK_AUG_OR },   { "|", RLX_TOK_PIPE },
    { "^=", RLX_TOK_AUG_XOR },  { "^", RLX_TOK_CARET },     { "~", RLX_TOK_TILDE },
};

static uint8_t longest_punct(const char *at, size_t left, uint32_t *len)
{
    for (size_t i = 0; i < RLX_COUNT(puncts); i++) {
        const char *p = puncts[i].text;
        if (p[0] != at[0])
            continue;
        uint32_t n = 1;
        while (p[n] && n < left && p[n] == at[n])
            n++;
        if (!p[n])
            return *len = n, puncts[i].kind;
    }
    return 0;
}

static inline void open_bracket(rlx_lexer *lx, uint32_t begin)
{
    if (RLX_UNLIKELY(lx->depth == RLX_SCRIPT_MAX_BRACKETS)) {
        report(lx, RLX_PA09, begin, begin + 1, "more than %d nested brackets",
               RLX_SCRIPT_MAX_BRACKETS);
        give(lx, RLX_TOK_ERROR, begin, begin + 1);
        return;
    }
    give(lx, alone[(unsigned char)lx->text[begin]], begin, begin + 1);
    lx->open[lx->depth++] = begin;
}

static RLX_NOINLINE void odd_bracket(rlx_lexer *lx, uint32_t begin)
{
    if (lx->depth)
        report(lx, RLX_PA03, begin, begin + 1, "'%c' does not close the '%c' before it",
               lx->text[begin], lx->text[lx->open[lx->depth - 1]]);
    else
        report(lx, RLX_PA03, begin, begin + 1, "'%c' closes nothing", lx->text[begin]);
    give(lx, RLX_TOK_ERROR, begin, begin + 1);
}

/* The tokens of a pair of brackets are neighbours. */
static inline void close_bracket(rlx_lexer *lx, uint32_t begin)
{
    uint8_t kind = alone[(unsigned char)lx->text[begin]];
    if (RLX_UNLIKELY(!lx->depth ||
                     alone[(unsigned char)lx->text[lx->open[lx->depth - 1]]] + 1 != kind)) {
        odd_bracket(lx, begin);
        return;
    }
    lx->depth--;
    give(lx, kind, begin, begin + 1);
}

static RLX_NOINLINE void odd_punct(rlx_lexer *lx, uint32_t begin)
{
    uint32_t len = 1;
    uint8_t kind = longest_punct(lx->text + begin, lx->len - begin, &len);
    if (!kind) {
        report(lx, RLX_PA01, begin, begin + 1, "unexpected character '%c'%s", lx->text[begin],
               lx->text[begin] == '\\'  ? ": nothing follows a backslash that lets a line go on"
               : lx->text[begin] == '!' ? ": write not"
                                        : "");
        kind = RLX_TOK_ERROR;
    }
    give(lx, kind, begin, begin + len);
}

/* White space, comments and line ends up to the next token. True if the logical line ended
 * (NEWLINE was given). */
static bool skip_white(rlx_lexer *lx, bool *first)
{
    const char *text = lx->text;
    for (;;) {
        uint32_t at = lx->pos;
        while (at < lx->len && class_of(text[at]) == C_SPACE)
            at++;
        lx->pos = at;
        if (at >= lx->len || class_of(text[at]) != C_LINE)
            return false;
        if (text[at] == '#') {
            const char *end = memchr(text + at, '\n', lx->len - at);
            lx->pos = end ? (uint32_t)(end - text) : lx->len;
            continue;
        }
        if (text[at] == '\\') {
            uint32_t next = at + 1;
            next += next < lx->len && text[next] == '\r';
            if (next >= lx->len || text[next] != '\n')
                return false;
            lx->pos = lx->line = next + 1;
            continue;
        }
        if (text[at] == '\r') {
            lx->pos = at + 1;
            continue;
        }
        lx->line = at + 1;
        if (lx->single || (lx->depth && !starts_statement(text, at + 1, lx->len))) {
            *first = true;
            lx->pos = at + 1;
            continue;
        }
        if (lx->depth)
            unclosed(lx);
        give(lx, RLX_TOK_NEWLINE, at, at + 1);
        lx->line_start = true;
        return true;
    }
}

/* The token at the begin of a line. True if one was given. */
static bool line_token(rlx_lexer *lx, bool *first)
{
    if (!lx->dedents && lx->line_start) {
        if (indent_token(lx))
            return true;
        *first = true;
    }
    if (!lx->dedents)
        return false;
    lx->dedents--;
    give(lx, RLX_TOK_DEDENT, lx->pos, lx->pos);
    return true;
}

static void odd_token(rlx_lexer *lx, uint32_t begin)
{
    unsigned char c = (unsigned char)lx->text[begin];
    if (lx->len - begin > 2 && memcmp(lx->text + begin, "```", 3) == 0) {
        report(lx, RLX_PA01, begin, begin + 3, "unexpected ```: a fence of Markdown is no part of a program");
        begin += 2;
    } else if (c > ' ' && c < 0x7f)
        report(lx, RLX_PA01, begin, begin + 1, "unexpected character '%c'", c);
    else
        report(lx, RLX_PA01, begin, begin + 1, "unexpected byte 0x%02x", (unsigned)c);
    give(lx, RLX_TOK_ERROR, begin, begin + 1);
}

static void white_then_token(rlx_lexer *lx, uint32_t begin, bool first);

/* The token at `begin`. */
static void token_at(rlx_lexer *lx, uint32_t begin)
{
    const char *text = lx->text;
    uint8_t class = class_of(text[begin]);
    if (class == C_NAME) {
        rlx_word *letter = letter_at(lx->names, text + begin);
        if (letter)
            give_name(lx, letter, begin, begin + 1);
        else
            name_token(lx, begin);
        return;
    }
    switch (class) {
    case C_DIGIT: number_token(lx, begin); break;
    case C_QUOTE: string_token(lx, begin); break;
    case C_OPEN: open_bracket(lx, begin); break;
    case C_CLOSE: close_bracket(lx, begin); break;
    case C_DOT: dot_token(lx, begin); break;
    case C_LONE:
        if (RLX_LIKELY(!joins[(unsigned char)text[begin + 1]]))
            give(lx, alone[(unsigned char)text[begin]], begin, begin + 1);
        else
            odd_punct(lx, begin);
        break;
    case C_PUNCT: odd_punct(lx, begin); break;
    default: white_then_token(lx, begin, false);
    }
}

/* White space, the end of the text, or no token at `begin`. first: a line begins here. */
static RLX_NOINLINE void white_then_token(rlx_lexer *lx, uint32_t begin, bool first)
{
    lx->pos = begin;
    if (class_of(lx->text[begin]) <= C_LINE && skip_white(lx, &first))
        return;
    begin = lx->pos;
    if (begin >= lx->len) {
        end_token(lx);
    } else if (class_of(lx->text[begin]) <= C_LINE) {
        odd_token(lx, begin);
    } else {
        token_at(lx, begin);
        lx->tok.first = first;
    }
}

/* The next line, if it goes on with the block and begins with a name, as most do: blanks up to
 * the block's column, nothing to be said about them. */
static bool usual_line(rlx_lexer *lx)
{
    if (!lx->line_start || lx->dedents)
        return false;
    uint32_t column = blanks_at(lx->text, lx->pos, lx->len), begin = lx->pos + column;
    if (column != lx->indents[lx->num_indents - 1] || begin >= lx->len ||
        class_of(lx->text[begin]) != C_NAME)
        return false;
    lx->line = lx->pos;
    lx->line_start = false;
    token_at(lx, begin);
    lx->tok.first = true;
    return true;
}

/* After a token that is no text: the end of a line, of a block. */
static RLX_NOINLINE void token_after_line(rlx_lexer *lx)
{
    uint8_t before = lx->tok.kind;
    if (before == RLX_TOK_NEWLINE && usual_line(lx))
        return;
    bool first = before == RLX_TOK_INDENT || before == RLX_TOK_DEDENT;
    if (lx->tok.end > lx->prev_end && before != RLX_TOK_NEWLINE)
        lx->prev_end = lx->tok.end;
    if (!line_token(lx, &first))
        white_then_token(lx, lx->pos, first);
}

void rlx_lexer_next(rlx_lexer *lx)
{
    if (lx->tok.kind < RLX_TOK_NAME) {
        token_after_line(lx);
        return;
    }
    lx->prev_end = lx->tok.end;
    token_at(lx, lx->pos + (lx->text[lx->pos] == ' '));
}

/* Smaller tables stay in the cache by themselves. */
#define LARGE_TABLE ((size_t)512 * 1024 / sizeof(rlx_word_slot))

void rlx_lexer_fetch_line(const rlx_lexer *lx)
{
    const rlx_words *t = lx->names;
    if (t->cap < LARGE_TABLE)
        return;
    /* not far: a line may hold a million statements */
    uint32_t end = lx->len - lx->pos > 1000 ? lx->pos + 1000 : lx->len;
    uint32_t at = next_physical(lx->text, lx->pos, end);
    at += blanks_at(lx->text, at, lx->len);
    if (at < lx->len && class_of(lx->text[at]) == C_NAME)
        RLX_PREFETCH(&t->slots[name_at(lx->text + at).hash & (t->cap - 1)]);
}

void rlx_lexer_init(rlx_lexer *lx, rlx_context *ctx, rlx_words *names, uint32_t source,
                    const char *text, uint32_t begin, uint32_t end, bool single)
{
    memset(lx, 0, offsetof(rlx_lexer, open));
    lx->ctx = ctx;
    lx->names = names;
    lx->source = source;
    lx->text = text;
    lx->pos = lx->line = begin;
    lx->len = end;
    lx->num_indents = 1;
    lx->indents[0] = 0;
    lx->dedents = 0;
    lx->reported = false;
    lx->single = single;
    lx->line_start = !single;
    lx->tok = (rlx_tok){ .kind = RLX_TOK_NEWLINE };
    rlx_lexer_next(lx);
}

uint32_t rlx_lexer_group_end(const rlx_lexer *lx, uint32_t at)
{
    return pass_groups(lx->text, at, lx->len, true);
}

uint32_t rlx_lexer_plain_string(const rlx_lexer *lx, uint32_t at)
{
    return plain_string(lx->text, at, lx->len);
}

uint32_t rlx_name_end(const char *text, uint32_t at)
{
    uint64_t end;
    if (class_of(text[at]) != C_NAME)
        return at;
    while (!(end = outside_names(rlx_load8(text + at))))
        at += 8;
    return at + rlx_first_byte(end);
}

/* ---- moving about --------------------------------------------------------------------------- */

void rlx_lexer_resync(rlx_lexer *lx, uint32_t statement)
{
    uint32_t top = lx->indents[lx->num_indents - 1];
    lx->reported = false;
    lx->depth = 0;
    if (lx->tok.kind == RLX_TOK_END || lx->tok.kind == RLX_TOK_DEDENT)
        return;
    uint32_t at =
        lx->tok.kind == RLX_TOK_NEWLINE ? lx->pos : next_physical(lx->text, lx->pos, lx->len);
    if (lx->tok.first && lx->tok.begin > statement) {
        /* the token that did not fit begins a line: perhaps that line is fine */
        uint32_t begin = lx->line;
        if (indentation(lx->text, &begin, lx->len) <= top && begin == lx->tok.begin &&
            lx->line > statement)
            at = lx->line;
    }
    for (;;) {
        uint32_t begin = at;
        uint32_t column = indentation(lx->text, &begin, lx->len);
        if (begin >= lx->len)
            break;
        if (!blank_from(lx->text, begin, lx->len) && column <= top &&
            !strchr(")]}", lx->text[begin]))
            break;
        at = next_physical(lx->text, begin, lx->len);
    }
    lx->pos = at;
    lx->line_start = true;
    lx->dedents = 0;
    lx->tok = (rlx_tok){ .kind = RLX_TOK_NEWLINE, .begin = at, .end = at };
    rlx_lexer_next(lx);
}

rlx_lexer_mark rlx_lexer_save(const rlx_lexer *lx)
{
    return (rlx_lexer_mark){ lx->pos,      lx->line,       lx->num_indents,
                             lx->prev_end, lx->line_start, lx->tok };
}

void rlx_lexer_restore(rlx_lexer *lx, rlx_lexer_mark mark)
{
    lx->pos = mark.pos;
    lx->line = mark.line;
    lx->num_indents = mark.num_indents;
    lx->prev_end = mark.prev_end;
    lx->line_start = mark.line_start;
    lx->tok = mark.tok;
    lx->depth = 0;
    lx->dedents = 0;
    lx->reported = false;
}

static bool holds_triple_quote(const char *text, uint32_t from, uint32_t to, char quote)
{
    const char *at = text + from, *end = text + to;
    while (end - at >= 3 && (at = memchr(at, quote, (size_t)(end - at) - 2)) != NULL) {
        if (at[1] == quote && at[2] == quote)
            return true;
        at++;
    }
    return false;
}

/* Most suites end in front of a decorator, a function, or with the text. Then their lines need
 * not be looked into: a line like that ends a bracket that is open by mistake, too. Only
 * strings over several lines could hide one. 0: not sure. */
static uint32_t quick_end(const rlx_lexer *lx, uint32_t from, uint32_t top, bool *any)
{
    const char *text = lx->text;
    uint32_t at = from;
    while (at < lx->len) {
        if (*any && top < 8 && rlx_load8(text + at) == RLX_EACH_BYTE(' ')) {
            at = next_physical(text, at, lx->len); /* deeper, or blank */
            continue;
        }
        uint32_t begin = at, column = indentation(text, &begin, lx->len);
        if (!blank_from(text, begin, lx->len)) {
            if (column <= top && !starts_statement(text, begin, lx->len))
                return 0;
            if (column <= top)
                break;
            *any = true;
        }
        at = next_physical(text, begin, lx->len);
    }
    return holds_triple_quote(text, from, at, '"') || holds_triple_quote(text, from, at, '\'')
               ? 0
               : at;
}

bool rlx_lexer_skip_suite(rlx_lexer *lx)
{
    rlx_lines l = {
        .text = lx->text, .pos = lx->tok.begin, .len = lx->len, .begin = lx->tok.begin
    };
    uint32_t top = lx->indents[lx->num_indents - 1];
    bool block = lx->tok.kind == RLX_TOK_NEWLINE, any = !block;
    bool quick_any = false;
    uint32_t quick = block ? quick_end(lx, lx->pos, top, &quick_any) : 0;
    if (block)
        l.pos = quick ? quick : lx->pos;
    else if (lx->tok.kind != RLX_TOK_END)
        rlx_lines_skip(&l);
    any |= quick && quick_any;
    while (block && !quick && rlx_lines_next(&l) && l.column > top) {
        rlx_lines_skip(&l);
        any = true;
    }
    lx->depth = 0;
    lx->dedents = 0;
    lx->pos = l.pos;
    lx->line_start = true;
    lx->reported = false;
    lx->tok = (rlx_tok){ .kind = RLX_TOK_NEWLINE, .begin = l.pos, .end = l.pos };
    rlx_lexer_next(lx);
    return any;
}
