/* relay_lexer.c: Relay's text to tokens (relay 1.1, with its corrections in 9). */
#include "relay/relay_lexer.h"

#include <math.h>

typedef struct lexer {
    rlx_context *ctx;
    uint32_t source;
    const char *text;
    uint32_t len, pos;
    rlx_relay_module *module;
    RLX_VEC(rlx_relay_tok) toks;
    rlx_slice metadata;
    uint32_t metadata_at;
} lexer;

const char *rlx_relay_tok_text(uint8_t kind)
{
    static const char *const texts[RLX_RELAY_TOK_COUNT] = {
#define TOK(name, text) text,
        RLX_RELAY_TOKENS(TOK)
#undef TOK
    };
    return kind < RLX_RELAY_TOK_COUNT ? texts[kind] : "?";
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/* The byte `ahead` of the current one; 0 behind the end. */
static char peek(const lexer *lx, uint32_t ahead)
{
    return ahead < lx->len - lx->pos ? lx->text[lx->pos + ahead] : 0;
}
static rlx_slice slice(const lexer *lx, uint32_t begin, uint32_t end)
{
    return (rlx_slice){ lx->text + begin, end - begin };
}
static rlx_place place(const lexer *lx, uint32_t begin, uint32_t end)
{
    return rlx_place_make(lx->source, begin, end - begin);
}

static bool push(lexer *lx, rlx_relay_tok tok)
{
    tok.touches = lx->toks.len && rlx_vec_last(&lx->toks).end == tok.begin;
    return rlx_vec_push(&lx->ctx->memory, &lx->toks, tok);
}
static bool push_kind(lexer *lx, uint8_t kind, uint32_t begin)
{
    return push(lx, (rlx_relay_tok){ .kind = kind, .begin = begin, .end = lx->pos });
}

/* ---- white space and comments --------------------------------------------------------------- */

static void skip_line(lexer *lx)
{
    while (lx->pos < lx->len && lx->text[lx->pos] != '\n')
        lx->pos++;
}

/* Comments of this form nest. */
static bool skip_block_comment(lexer *lx)
{
    uint32_t begin = lx->pos, depth = 0;
    while (lx->pos < lx->len) {
        bool opens = peek(lx, 0) == '/' && peek(lx, 1) == '*';
        bool closes = peek(lx, 0) == '*' && peek(lx, 1) == '/';
        lx->pos += opens || closes ? 2 : 1;
        if (opens)
            depth++;
        else if (closes && --depth == 0)
            return true;
    }
    return rlx_error(lx->ctx, RLX_RY03, place(lx, begin, begin + 2),
                     "the comment that begins here does not end; comments nest");
}

static bool skip_space(lexer *lx)
{
    while (lx->pos < lx->len) {
        char c = lx->text[lx->pos];
        if (c == '\r' && peek(lx, 1) != '\n') {
            rlx_error(lx->ctx, RLX_RY01, place(lx, lx->pos, lx->pos + 1),
                      "a carriage return stands only in front of a line feed");
            lx->pos++;
        } else if (is_space(c)) {
            lx->pos++;
        } else if (c == '/' && peek(lx, 1) == '/') {
            skip_line(lx);
        } else if (c == '/' && peek(lx, 1) == '*') {
            if (!skip_block_comment(lx))
                return false;
        } else if (c == '#' && peek(lx, 1) != '[') {
            skip_line(lx);
        } else {
            break;
        }
    }
    return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* '/' continues a name, unless it begins a comment. */
static uint32_t name_end(const lexer *lx, uint32_t at)
{
    while (at < lx->len && (is_letter(lx->text[at]) || is_digit(lx->text[at]) ||
                            (lx->text[at] == '/' && !(at + 1 < lx->len && lx->text[at + 1] == '*'))))
        at++;
    return at;
}

static const struct { const char *text; uint8_t kind; } keywords[] = {
    { "let", RLX_RELAY_TOK_LET },           { "fn", RLX_RELAY_TOK_FN },
    { "def", RLX_RELAY_TOK_DEF },           { "if", RLX_RELAY_TOK_IF },
    { "else", RLX_RELAY_TOK_ELSE },         { "type", RLX_RELAY_TOK_TYPE },
    { "data", RLX_RELAY_TOK_TYPE },         { "match", RLX_RELAY_TOK_MATCH },
    { "extern", RLX_RELAY_TOK_EXTERN },     { "free_var", RLX_RELAY_TOK_FREE_VAR },
    { "ref", RLX_RELAY_TOK_REF },           { "ref_read", RLX_RELAY_TOK_REF_READ },
    { "ref_write", RLX_RELAY_TOK_REF_WRITE },
};

static bool lex_meta(lexer *lx, uint32_t begin)
{
    uint32_t key = lx->pos + 1, end = key;
    while (end < lx->len && lx->text[end] != ']' && !is_space(lx->text[end]))
        end++;
    uint32_t digits = end + 2, last = digits;
    bool overflow = false;
    uint64_t index = 0;
    if (end + 1 < lx->len && lx->text[end] == ']' && lx->text[end + 1] == '[')
        while (last < lx->len && is_digit(lx->text[last]))
            last++;
    if (last == digits || last >= lx->len || lx->text[last] != ']') {
        rlx_error(lx->ctx, RLX_RY10, place(lx, begin, key),
                  "a metadata reference is written meta[TYPE][INDEX], without spaces");
        lx->pos = end < lx->len ? end + 1 : end;
        return push_kind(lx, RLX_RELAY_TOK_ERROR, begin);
    }
    for (uint32_t i = digits; i < last; i++) {
        overflow = overflow || index > INT32_MAX / 10;
        index = overflow ? INT32_MAX : index * 10 + (uint64_t)(lx->text[i] - '0');
    }
    lx->pos = last + 1;
    return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_META, .begin = begin, .end = lx->pos,
                                     .text = slice(lx, key, end), .i = (int64_t)index });
}

static bool lex_name(lexer *lx)
{
    uint32_t begin = lx->pos;
    lx->pos = name_end(lx, begin);
    rlx_slice name = slice(lx, begin, lx->pos);
    if (rlx_slice_is(name, "meta") && peek(lx, 0) == '[')
        return lex_meta(lx, begin);
    if (rlx_slice_is(name, "inff"))
        return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_FLOAT, .begin = begin, .end = lx->pos,
                                         .dtype = RELAX_FLOAT32, .f = HUGE_VAL });
    rlx_relay_tok tok = { .kind = RLX_RELAY_TOK_NAME, .begin = begin };
    for (size_t i = 0; i < RLX_COUNT(keywords); i++)
        if (rlx_slice_is(name, keywords[i].text))
            tok.kind = keywords[i].kind;
    if (tok.kind == RLX_RELAY_TOK_MATCH && peek(lx, 0) == '?') {
        lx->pos++;
        tok.kind = RLX_RELAY_TOK_PARTIAL_MATCH;
    }
    tok.end = lx->pos;
    tok.word = rlx_relay_word_of(lx->module, name);
    return tok.word && push(lx, tok);
}

/* ---- numbers -------------------------------------------------------------------------------- */

enum suffix_class { SUFFIX_NONE, SUFFIX_INT, SUFFIX_FLOAT, SUFFIX_BAD };
/* i, i16, i32, i64, f, f16, f32, f64; *bits as written, 0: not written. */
static enum suffix_class read_suffix(rlx_slice s, int *bits)
{
    *bits = 0;
    if (!s.len)
        return SUFFIX_NONE;
    if ((s.data[0] != 'i' && s.data[0] != 'f') || s.len > 3)
        return SUFFIX_BAD;
    for (size_t i = 1; i < s.len; i++) {
        if (!is_digit(s.data[i]))
            return SUFFIX_BAD;
        *bits = *bits * 10 + (s.data[i] - '0');
    }
    return s.data[0] == 'i' ? SUFFIX_INT : SUFFIX_FLOAT;
}

static bool bad_number(lexer *lx, uint32_t begin, enum rlx_code_id code, const char *format, ...)
    RLX_PRINTF(4, 5);
static bool bad_number(lexer *lx, uint32_t begin, enum rlx_code_id code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rlx_verror(lx->ctx, code, place(lx, begin, lx->pos), format, args);
    va_end(args);
    return push_kind(lx, RLX_RELAY_TOK_ERROR, begin);
}

static bool lex_int(lexer *lx, uint32_t begin, rlx_slice digits, bool negative, int bits)
{
    uint64_t v = 0;
    bool overflow = false;
    for (size_t i = 0; i < digits.len; i++) {
        uint64_t d = (uint64_t)(digits.data[i] - '0');
        overflow = overflow || v > (UINT64_MAX - d) / 10;
        v = v * 10 + d;
    }
    overflow = overflow || v > (uint64_t)INT64_MAX + negative;
    int64_t value = overflow ? 0 : negative ? (int64_t)(0 - v) : (int64_t)v;
    if (!bits)
        bits = value >= INT32_MIN && value <= INT32_MAX ? 32 : 64;
    bool known = bits == 16 || bits == 32 || bits == 64;
    rlx_dtype dtype = rlx_dtype_make(RELAX_DTYPE_INT, bits, 1);
    if (overflow || !known || !rlx_dtype_has_int(dtype, value, false))
        return bad_number(lx, begin, RLX_RY02, "%s%.*s is unrepresentable in %d bits",
                          negative ? "-" : "", (int)(digits.len > 40 ? 40 : digits.len), digits.data,
                          known ? bits : 64);
    return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_INT, .begin = begin, .end = lx->pos,
                                     .dtype = dtype, .i = value });
}

static bool lex_float(lexer *lx, uint32_t begin, rlx_slice digits, bool negative, int bits)
{
    double v = 0;
    if (!bits)
        bits = 32;
    rlx_dtype dtype = rlx_dtype_make(RELAX_DTYPE_FLOAT, bits, 1);
    if (bits != 16 && bits != 32 && bits != 64)
        return bad_number(lx, begin, RLX_RY02, "there is no float of %d bits", bits);
    if (!rlx_parse_double(digits, &v) || v > rlx_dtype_greatest(dtype))
        return bad_number(lx, begin, RLX_RY02, "%.*s is unrepresentable in float%d",
                          (int)(digits.len > 40 ? 40 : digits.len), digits.data, bits);
    return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_FLOAT, .begin = begin, .end = lx->pos,
                                     .dtype = dtype, .f = negative ? -v : v });
}

static void skip_digits(lexer *lx)
{
    while (is_digit(peek(lx, 0)))
        lx->pos++;
}

/* The current byte is a digit, of a number that begins at `begin` with its signs. */
static bool lex_number(lexer *lx, uint32_t begin, bool negative)
{
    uint32_t at = lx->pos;
    bool is_float = false;
    int bits;
    skip_digits(lx);
    /* Behind the dot of a projection stand digits alone. */
    if (begin == at && lx->toks.len && rlx_vec_last(&lx->toks).kind == RLX_RELAY_TOK_DOT)
        return lex_int(lx, begin, slice(lx, at, lx->pos), false, 0);
    if (peek(lx, 0) == '.' && is_digit(peek(lx, 1))) {
        is_float = true;
        lx->pos++;
        skip_digits(lx);
    } else if (peek(lx, 0) == '.' && !is_letter(peek(lx, 1)) ) {
        is_float = true;
        lx->pos++;
    }
    uint32_t sign = peek(lx, 1) == '+' || peek(lx, 1) == '-' ? 1 : 0;
    if ((peek(lx, 0) == 'e' || peek(lx, 0) == 'E') && is_digit(peek(lx, 1 + sign))) {
        is_float = true;
        lx->pos += 1 + sign;
        skip_digits(lx);
    }
    rlx_slice digits = slice(lx, at, lx->pos);
    uint32_t suffix_at = lx->pos;
    while (is_letter(peek(lx, 0)) || is_digit(peek(lx, 0)))
        lx->pos++;
    rlx_slice suffix = slice(lx, suffix_at, lx->pos);
    enum suffix_class c = read_suffix(suffix, &bits);
    if (c == SUFFIX_BAD)
        return bad_number(lx, begin, RLX_RY01,
                          "a number ends in i, i16, i32, i64, f, f16, f32 or f64, not in '%.*s'",
                          (int)(suffix.len > 40 ? 40 : suffix.len), suffix.data);
    if (c == SUFFIX_FLOAT)
        return lex_float(lx, begin, digits, negative, bits);
    if (is_float)
        return bad_number(lx, begin, RLX_RY01,
                          "a float ends in f, f16, f32 or f64: write %.*sf",
                          (int)(digits.len > 40 ? 40 : digits.len), digits.data);
    return lex_int(lx, begin, digits, negative, bits);
}

/* Does an operand end with the token before, right where the current byte is? Then '-' is an
 * operator. */
static bool follows_operand(const lexer *lx)
{
    if (!lx->toks.len || rlx_vec_last(&lx->toks).end != lx->pos)
        return false;
    switch (rlx_vec_last(&lx->toks).kind) {
    case RLX_RELAY_TOK_NAME: case RLX_RELAY_TOK_LOCAL: case RLX_RELAY_TOK_GRAPH:
    case RLX_RELAY_TOK_INT: case RLX_RELAY_TOK_FLOAT: case RLX_RELAY_TOK_RPAR:
    case RLX_RELAY_TOK_RBRACE: case RLX_RELAY_TOK_META: case RLX_RELAY_TOK_GLOBAL:
        return true;
    default:
        return false;
    }
}

/* A run of '-' in front of a digit, or of inff, is the sign of that number. */
static bool lex_minus(lexer *lx)
{
    uint32_t begin = lx->pos, end = begin;
    while (end < lx->len && lx->text[end] == '-')
        end++;
    bool negative = (end - begin) % 2 == 1;
    if (!follows_operand(lx) && end < lx->len && is_digit(lx->text[end])) {
        lx->pos = end;
        return lex_number(lx, begin, negative);
    }
    if (!follows_operand(lx) && rlx_slice_is(slice(lx, end, name_end(lx, end)), "inff")) {
        lx->pos = name_end(lx, end);
        return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_FLOAT, .begin = begin, .end = lx->pos,
                                         .dtype = RELAX_FLOAT32, .f = negative ? -HUGE_VAL : HUGE_VAL });
    }
    lx->pos++;
    if (peek(lx, 0) == '>') {
        lx->pos++;
        return push_kind(lx, RLX_RELAY_TOK_ARROW, begin);
    }
    return push_kind(lx, RLX_RELAY_TOK_MINUS, begin);
}

/* ---- strings -------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that the escape at lx->pos stands for; moves behind it. -1: there is no such escape. */
static int read_escape(lexer *lx)
{
    static const char names[] = "\"\\ntr", bytes[] = "\"\\\n\t\r";
    char c = peek(lx, 1);
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        lx->pos += 2;
        return (unsigned char)bytes[found - names];
    }
    int high = hex_digit(peek(lx, 2)), low = hex_digit(peek(lx, 3));
    if (c != 'x' || high < 0 || low < 0)
        return -1;
    lx->pos += 4;
    return high * 16 + low;
}

static bool lex_string(lexer *lx)
{
    uint32_t begin = lx->pos++, end = lx->pos;
    while (end < lx->len && lx->text[end] != '"' && lx->text[end] != '\n')
        end += lx->text[end] == '\\' && end + 1 < lx->len && lx->text[end + 1] != '\n' ? 2 : 1;
    if (end >= lx->len || lx->text[end] != '"') {
        lx->pos = end < lx->len ? end : lx->len;
        rlx_error(lx->ctx, RLX_RY03, place(lx, begin, begin + 1),
                  "the string that begins here does not end on its line");
        return push_kind(lx, RLX_RELAY_TOK_ERROR, begin);
    }
    char *bytes = rlx_region_alloc(&lx->module->region, end - lx->pos);
    size_t len = 0;
    if (!bytes)
        return false;
    while (lx->pos < end) {
        uint32_t at = lx->pos;
        int byte = lx->text[at] == '\\' ? read_escape(lx) : (unsigned char)lx->text[lx->pos++];
        if (byte < 0) {
            rlx_error(lx->ctx, RLX_RY01, place(lx, at, at + 2),
                      "the escapes of a string are \\\" \\\\ \\n \\t \\r and \\xHH");
            lx->pos = at + 2;
        } else {
            bytes[len++] = (char)byte;
        }
    }
    lx->pos = end + 1;
    return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_STRING, .begin = begin, .end = lx->pos,
                                     .text = { bytes, len } });
}

/* ---- signs ---------------------------------------------------------------------------------- */

/* %name, %12, @name: the sign and what follows it without a space. */
static bool lex_sigil(lexer *lx)
{
    uint32_t begin = lx->pos++, at = lx->pos;
    bool is_global = lx->text[begin] == '@';
    if (is_letter(peek(lx, 0))) {
        lx->pos = name_end(lx, at);
        rlx_relay_word *word = rlx_relay_word_of(lx->module, slice(lx, at, lx->pos));
        uint8_t kind = is_global ? RLX_RELAY_TOK_GLOBAL : RLX_RELAY_TOK_LOCAL;
        return word && push(lx, (rlx_relay_tok){ .kind = kind, .begin = begin, .end = lx->pos,
                                                 .word = word });
    }
    if (is_global || !is_digit(peek(lx, 0)))
        return push_kind(lx, is_global ? RLX_RELAY_TOK_AT : RLX_RELAY_TOK_PERCENT, begin);
    uint64_t number = 0;
    while (is_digit(peek(lx, 0))) {
        if (number < UINT32_MAX)
            number = number * 10 + (uint64_t)(peek(lx, 0) - '0');
        lx->pos++;
    }
    if (number > INT32_MAX)
        return bad_number(lx, begin, RLX_RY02, "graph variables are numbered up to %d", INT32_MAX);
    return push(lx, (rlx_relay_tok){ .kind = RLX_RELAY_TOK_GRAPH, .begin = begin, .end = lx->pos,
                                     .i = (int64_t)number });
}

/* #[version = "..."] and #[metadata], behind which everything is JSON. */
static bool lex_attribute_line(lexer *lx)
{
    uint32_t begin = lx->pos, at = begin + 2, end = at;
    while (end < lx->len && lx->text[end] != ']' && lx->text[end] != '\n')
        end++;
    rlx_slice text = slice(lx, at, end);
    lx->pos = end < lx->len && lx->text[end] == ']' ? end + 1 : end;
    if (text.len >= 7 && memcmp(text.data, "version", 7) == 0) {
        const char *from = memchr(text.data, '"', text.len);
        const char *to = from ? memchr(from + 1, '"', (size_t)(text.data + text.len - from - 1)) : NULL;
        return push(lx, (rlx_relay_tok){
                            .kind = RLX_RELAY_TOK_VERSION, .begin = begin, .end = lx->pos,
                            .text = to ? (rlx_slice){ from + 1, (size_t)(to - from - 1) } : text });
    }
    if (rlx_slice_is(text, "metadata")) {
        lx->metadata_at = lx->pos;
        lx->metadata = slice(lx, lx->pos, lx->len);
        lx->pos = lx->len;
        return push_kind(lx, RLX_RELAY_TOK_METADATA, begin);
    }
    rlx_error(lx->ctx, RLX_RY09, place(lx, begin, lx->pos),
              "an attribute line is #[version = \"0.0.5\"] or #[metadata]");
    return push_kind(lx, RLX_RELAY_TOK_ERROR, begin);
}

static bool lex_sign(lexer *lx)
{
    static const struct { char text[3]; uint8_t kind; } pairs[] = {
        { "=>", RLX_RELAY_TOK_FAT_ARROW }, { "<=", RLX_RELAY_TOK_LE }, { ">=", RLX_RELAY_TOK_GE },
        { "==", RLX_RELAY_TOK_EQ },        { "!=", RLX_RELAY_TOK_NE },
    };
    static const char singles[] = "()[]{}<>,.;:=+*/!?";
    static const uint8_t kinds[] = {
        RLX_RELAY_TOK_LPAR,   RLX_RELAY_TOK_RPAR,  RLX_RELAY_TOK_LBRACKET,  RLX_RELAY_TOK_RBRACKET,
        RLX_RELAY_TOK_LBRACE, RLX_RELAY_TOK_RBRACE, RLX_RELAY_TOK_LT,       RLX_RELAY_TOK_GT,
        RLX_RELAY_TOK_COMMA,  RLX_RELAY_TOK_DOT,   RLX_RELAY_TOK_SEMICOLON, RLX_RELAY_TOK_COLON,
        RLX_RELAY_TOK_ASSIGN, RLX_RELAY_TOK_PLUS,  RLX_RELAY_TOK_STAR,      RLX_RELAY_TOK_SLASH,
        RLX_RELAY_TOK_BANG,   RLX_RELAY_TOK_QUERY,
    };
    uint32_t begin = lx->pos;
    for (size_t i = 0; i < RLX_COUNT(pairs); i++) {
        if (peek(lx, 0) == pairs[i].text[0] && peek(lx, 1) == pairs[i].text[1]) {
            lx->pos += 2;
            return push_kind(lx, pairs[i].kind, begin);
        }
    }
    const char *found = peek(lx, 0) ? strchr(singles, peek(lx, 0)) : NULL;
    if (found) {
        lx->pos++;
        return push_kind(lx, kinds[found - singles], begin);
    }
    while (lx->pos < lx->len && !is_space(lx->text[lx->pos]))
        lx->pos++;
    rlx_slice text = slice(lx, begin, lx->pos);
    rlx_error(lx->ctx, RLX_RY01, place(lx, begin, lx->pos), "unexpected character in '%.*s'",
              (int)(text.len > 40 ? 40 : text.len), text.data);
    return push_kind(lx, RLX_RELAY_TOK_ERROR, begin);
}

static bool lex_token(lexer *lx)
{
    char c = lx->text[lx->pos];
    if (is_letter(c))
        return lex_name(lx);
    if (is_digit(c))
        return lex_number(lx, lx->pos, false);
    if (c == '-')
        return lex_minus(lx);
    if (c == '%' || c == '@')
        return lex_sigil(lx);
    if (c == '"')
        return lex_string(lx);
    if (c == '#')
        return lex_attribute_line(lx);
    return lex_sign(lx);
}

bool rlx_relay_lex(rlx_relay_module *m, uint32_t source, rlx_region *r, rlx_relay_tokens *out)
{
    rlx_context *ctx = m->ctx;
    const rlx_source *s = rlx_diags_source(&ctx->diags, source);
    lexer lx = { .ctx = ctx, .source = source, .text = s->text, .len = (uint32_t)s->len,
                 .module = m };
    size_t valid = rlx_utf8_valid(s->text, s->len);
    const char *zero = memchr(s->text, 0, s->len);
    if (valid < s->len)
        return rlx_error(ctx, RLX_PA07, place(&lx, (uint32_t)valid, (uint32_t)valid + 1),
                         "the text is not UTF-8 from here on");
    if (zero)
        return rlx_error(ctx, RLX_PA08, place(&lx, (uint32_t)(zero - s->text),
                                              (uint32_t)(zero - s->text) + 1),
                         "the text holds a byte 0");
    bool ok = true;
    while ((ok = skip_space(&lx)) && lx.pos < lx.len && (ok = lex_token(&lx)))
        continue;
    ok = ok && push_kind(&lx, RLX_RELAY_TOK_END, lx.len);
    rlx_relay_tok *items = ok ? rlx_region_copy(r, lx.toks.data, lx.toks.len * sizeof *items) : NULL;
    *out = (rlx_relay_tokens){ items, lx.toks.len, lx.metadata, lx.metadata_at };
    rlx_vec_free(&ctx->memory, &lx.toks);
    return items != NULL;
}
