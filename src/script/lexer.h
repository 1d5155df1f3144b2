/* lexer.h: text to tokens, for the reader of TVMScript.
 *
 * One pass, pulled on demand: the current token is lexer.tok. Identifiers are looked up once in
 * a table of names, and everything the reader knows of a name (keyword, its binding, the
 * operator it stands for) hangs on that entry, so that later stages compare pointers.
 */
#ifndef RLX_LEXER_H
#define RLX_LEXER_H

#include "ir/ir.h"

/* Limits of nesting: brackets (and other recursion of expressions), blocks. Beyond: PA09. */
#define RLX_SCRIPT_MAX_BRACKETS 200
#define RLX_SCRIPT_MAX_BLOCKS 100
/* Python lists that have names may be copied and put together as often as one likes: items in
 * all, beside the bytes of the text. PA20. */
#define RLX_SCRIPT_MAX_COPIES 1000000

/* TOK(enumerator, text in messages) */
#define RLX_TOKENS(TOK)                                                                           \
    TOK(END, "the end of the text") TOK(NEWLINE, "the end of the line")                           \
    TOK(INDENT, "an indented line") TOK(DEDENT, "the end of the block")                           \
    TOK(NAME, "a name") TOK(INT, "a number") TOK(FLOAT, "a number")                               \
    TOK(STRING, "a string") TOK(ERROR, "an error")                                                \
    TOK(LPAR, "'('") TOK(RPAR, "')'") TOK(LBRACKET, "'['") TOK(RBRACKET, "']'")                   \
    TOK(LBRACE, "'{'") TOK(RBRACE, "'}'")                                                         \
    TOK(COMMA, "','") TOK(COLON, "':'") TOK(DOT, "'.'") TOK(SEMICOLON, "';'")                     \
    TOK(AT, "'@'") TOK(ARROW, "'->'") TOK(ASSIGN, "'='") TOK(WALRUS, "':='")                      \
    TOK(OR, "'or'") TOK(AND, "'and'")                                                             \
    TOK(LT, "'<'") TOK(LE, "'<='") TOK(GT, "'>'") TOK(GE, "'>='") TOK(EQ, "'=='") TOK(NE, "'!='") \
    TOK(PIPE, "'|'") TOK(CARET, "'^'") TOK(AMPERSAND, "'&'") TOK(SHL, "'<<'") TOK(SHR, "'>>'")    \
    TOK(PLUS, "'+'") TOK(MINUS, "'-'") TOK(STAR, "'*'") TOK(SLASH, "'/'") TOK(DSLASH, "'//'")     \
    TOK(PERCENT, "'%'") TOK(POWER, "'**'") TOK(TILDE, "'~'")                                      \
    TOK(AUG_ADD, "'+='") TOK(AUG_SUB, "'-='") TOK(AUG_MUL, "'*='") TOK(AUG_DIV, "'/='")           \
    TOK(AUG_FLOORDIV, "'//='") TOK(AUG_MOD, "'%='") TOK(AUG_POW, "'**='") TOK(AUG_SHL, "'<<='")   \
    TOK(AUG_SHR, "'>>='") TOK(AUG_AND, "'&='") TOK(AUG_OR, "'|='") TOK(AUG_XOR, "'^='")           \
    TOK(AUG_AT, "'@='")                                                                           \
    TOK(NOT, "'not'") TOK(IN, "'in'") TOK(IS, "'is'") TOK(IF, "'if'") TOK(ELSE, "'else'")         \
    TOK(ELIF, "'elif'") TOK(FOR, "'for'") TOK(WHILE, "'while'") TOK(WITH, "'with'")               \
    TOK(AS, "'as'")                                                                               \
    TOK(DEF, "'def'") TOK(CLASS, "'class'") TOK(RETURN, "'return'") TOK(ASSERT, "'assert'")       \
    TOK(PASS, "'pass'") TOK(LAMBDA, "'lambda'") TOK(NONE, "'None'") TOK(TRUE, "'True'")           \
    TOK(FALSE, "'False'") TOK(IMPORT, "'import'") TOK(FROM, "'from'") TOK(NONLOCAL, "'nonlocal'") \
    TOK(GLOBAL, "'global'") TOK(BREAK, "'break'") TOK(CONTINUE, "'continue'") TOK(TRY, "'try'")   \
    TOK(RAISE, "'raise'") TOK(YIELD, "'yield'") TOK(DEL, "'del'") TOK(ASYNC, "'async'")           \
    TOK(AWAIT, "'await'")

enum rlx_tok_kind {
#define TOK(name, text) RLX_TOK_##name,
    RLX_TOKENS(TOK)
#undef TOK
    RLX_TOK_COUNT
};

/* The meaning of a name or an expression while reading: see reader.h. */
typedef struct rlx_val {
    uint8_t kind;          /* enum rlx_val_kind */
    uint8_t sub;           /* by kind */
    uint16_t flags;
    uint32_t begin, end;   /* bytes of the source text */
    union {
        int64_t i;
        double f;
        rlx_slice s;
        const rlx_node *node;
        struct { struct rlx_val *items; size_t count; } list;
        struct { const struct rlx_word *path; const void *what; } fn;
    };
} rlx_val;

/* Functions that a name stands for behind R. or T., once looked at. */
typedef struct rlx_functions {
    bool looked_relax, looked_tir;
    const struct rlx_relax_fn *relax; /* R.<name> with a meaning of its own */
    const struct rlx_tir_reader_fn *tir; /* T.<name> with a meaning of its own */
    const rlx_op_row *row;      /* R.<name>, an operator */
    const struct rlx_op_params *params; /* its parameters, once looked at */
    /* the path below which it was looked up last, and what both are: nn, nn.relu */
    struct rlx_word *below, *joined;
} rlx_functions;

typedef struct rlx_word {
    /* first 16 bytes of the text, 0 behind a shorter one: most names are compared by these */
    uint64_t begin[2];
    const rlx_string *text;
    /* serial number of the frame that bound it, or had bound what went out of scope */
    uint32_t frame;
    uint32_t output_block;      /* serial number of the dataflow block that outputs it */
    uint32_t last_bound;        /* place of its last binding in that block */
    uint8_t keyword;            /* token kind of a keyword, 0 for other names */
    bool is_target;             /* among the names left of `=` that are being compared */
    rlx_functions *functions;   /* NULL: not looked at */
    /* kind 0: not bound; .node: the variable that went out of scope under this name, or NULL */
    rlx_val value;
} rlx_word;

/*- Words lie in blocks, in the order they were made. A slot holds the hash of one and its number
 * + 1 (0: empty), so that looking for a name, and moving to a larger table, touch no other word.
 *
 *     slots: hash|3  -     hash|1  ...        blocks: [0 .. 31] [32 .. 63] ...
 *
 * The last three bits of a hash are those of the name's last character: lv0 to lv7 are
 * neighbours, in one line of the cache, and numbered names come one after the other. Worth:
 * reading a chain of 100,000 bindings (bench/gen_module.py deep) misses the first-level cache 16.8
 * times for a binding; with these bits mixed like all others it misses 18.5 times (callgrind).
 */
typedef struct rlx_word_slot { uint32_t hash, number; } rlx_word_slot;
#define RLX_WORDS_A_BLOCK 32
typedef struct rlx_words {
    rlx_context *ctx;
    rlx_region region;
    rlx_word_slot *slots;
    size_t len, cap, first_cap;
    RLX_VEC(rlx_word *) blocks;
    rlx_word *letters[64];      /* names of one letter or '_', by its last six bits */
} rlx_words;

/* The word made after `i` others; i < t->len. */
RLX_INLINE rlx_word *rlx_words_at(const rlx_words *t, size_t i)
{
    return &t->blocks.data[i / RLX_WORDS_A_BLOCK][i % RLX_WORDS_A_BLOCK];
}

/* text_len: of the text that the names will come from, a hint for the size of tables. */
void rlx_words_init(rlx_words *t, rlx_context *ctx, size_t text_len);
void rlx_words_free(rlx_words *t);
/* The entry of `text`, made on first use. NULL: out of memory. */
rlx_word *rlx_words_get(rlx_words *t, rlx_slice text);
/* The entry of `text` if there is one, else NULL. */
rlx_word *rlx_words_find(const rlx_words *t, rlx_slice text);
/* The functions that w means, to be filled in. NULL: out of memory. */
rlx_functions *rlx_word_functions(rlx_words *t, rlx_word *w);

typedef struct rlx_tok {
    uint8_t kind;
    bool first;         /* first token of its physical line */
    bool plain, raw, triple, bytes, format; /* STRING; plain: no prefix, one line, no backslash */
    uint32_t begin, end;
    rlx_word *name;     /* NAME */
} rlx_tok;

typedef struct rlx_lexer {
    rlx_context *ctx;
    rlx_words *names;
    const char *text;
    uint32_t len, pos;
    uint32_t source;
    uint32_t line;             /* begin of the current physical line */
    uint32_t prev_end;         /* end of the token before the current one */
    uint32_t depth;            /* open brackets */
    uint32_t open[RLX_SCRIPT_MAX_BRACKETS];
    uint32_t num_indents;
    uint32_t indents[RLX_SCRIPT_MAX_BLOCKS + 1];
    uint32_t dedents;          /* still to be given out */
    bool line_start;           /* indentation of the next token is still to be looked at */
    bool reported;             /* the current statement has had its syntax error */
    bool misindented;                   /* a line has had an indentation that fits nowhere */
    uint32_t reported_at;               /* where the last mistake begins + 1 */
    /* one expression: line ends are white space (text inside a string) */
    bool single;
    rlx_tok tok;
} rlx_lexer;

/* Text that must be valid UTF-8; begin..end are the bytes to read, all places count from
 * text[0]. What stands at `end` is readable (RLX_TEXT_PADDING bytes) and part of no name: a
 * zero or a quote. Reads the first token. */
void rlx_lexer_init(rlx_lexer *lx, rlx_context *ctx, rlx_words *names, uint32_t source,
                    const char *text, uint32_t begin, uint32_t end, bool single);
/* Moves on to the next token. */
void rlx_lexer_next(rlx_lexer *lx);
/* The current token begins a line: the line after it will begin with a name, as a rule a new one,
 * whose place in a large table is in no cache. Has it brought there meanwhile. */
void rlx_lexer_fetch_line(const rlx_lexer *lx);
/* Behind the bracket that closes the one that opens next from `at` on; or where the line, or the
 * text, ends before that. */
uint32_t rlx_lexer_group_end(const rlx_lexer *lx, uint32_t at);
/* The word of the name at `at`, made on first use, and where the name ends. NULL: there is no
 * name, or it is perhaps the prefix of a string. */
rlx_word *rlx_lexer_word(const rlx_lexer *lx, uint32_t at, uint32_t *end);
/* Where the string whose quote is at `at` ends, if it is on one line, with nothing hidden; else
 * 0. */
uint32_t rlx_lexer_plain_string(const rlx_lexer *lx, uint32_t at);
/* Where the name at `at` ends; `at` itself if there is none. */
uint32_t rlx_name_end(const char *text, uint32_t at);
/* Gives up on the statement that began at byte `statement`: goes to the next line that is not
 * indented deeper than the current block (perhaps the one with the token that did not fit).
 * Always moves past the statement's first token. */
void rlx_lexer_resync(rlx_lexer *lx, uint32_t statement);

/* Where the body of a function stands, to come back to it later. */
typedef struct rlx_lexer_mark {
    uint32_t pos, line, num_indents, prev_end;
    bool line_start;
    rlx_tok tok;
} rlx_lexer_mark;
rlx_lexer_mark rlx_lexer_save(const rlx_lexer *lx);
void rlx_lexer_restore(rlx_lexer *lx, rlx_lexer_mark mark);
/* The current token is the first one after the ':' of a header: passes over the suite, current
 * token is then the one after it. False: there is no suite, the next line is not indented
 * deeper. */
bool rlx_lexer_skip_suite(rlx_lexer *lx);

/* Physical and logical lines without tokens, for looking ahead. */
typedef struct rlx_lines {
    const char *text;
    uint32_t pos, len;
    uint32_t begin, column;   /* first character of the line found, and its indentation */
} rlx_lines;
/* finds the next line that is not blank or a comment; false at the end */
bool rlx_lines_next(rlx_lines *l);
void rlx_lines_skip(rlx_lines *l);  /* passes over the logical line found */
/* The next name in [at, end) that stands in no comment and in no string; where there is none, an
 * empty one. at: where to look on. */
rlx_slice rlx_next_name(const char *text, uint32_t *at, uint32_t end);

rlx_place rlx_lexer_place(const rlx_lexer *lx, uint32_t begin, uint32_t end);
const char *rlx_tok_text(uint8_t kind);
#endif
