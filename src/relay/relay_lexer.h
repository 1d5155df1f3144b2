/* relay_lexer.h: Relay's text to tokens, all at once: the parser looks ahead by index. */
#ifndef RLX_RELAY_LEXER_H
#define RLX_RELAY_LEXER_H

#include "relay/relay.h"

/* TOK(enumerator, text in messages) */
#define RLX_RELAY_TOKENS(TOK)                                                                  \
    TOK(END, "the end of the text") TOK(ERROR, "an error")                                     \
    TOK(NAME, "a name") TOK(LOCAL, "a local variable") TOK(GRAPH, "a graph variable")          \
    TOK(GLOBAL, "a global name") TOK(INT, "an integer") TOK(FLOAT, "a float")                  \
    TOK(STRING, "a string") TOK(META, "a metadata reference")                                  \
    TOK(VERSION, "the version line") TOK(METADATA, "the metadata section")                     \
    TOK(LPAR, "'('") TOK(RPAR, "')'") TOK(LBRACKET, "'['") TOK(RBRACKET, "']'")                \
    TOK(LBRACE, "'{'") TOK(RBRACE, "'}'") TOK(LT, "'<'") TOK(GT, "'>'") TOK(COMMA, "','")      \
    TOK(DOT, "'.'") TOK(SEMICOLON, "';'") TOK(COLON, "':'") TOK(ASSIGN, "'='") TOK(PLUS, "'+'") \
    TOK(MINUS, "'-'") TOK(STAR, "'*'") TOK(SLASH, "'/'") TOK(BANG, "'!'") TOK(QUERY, "'?'")    \
    TOK(PERCENT, "'%'") TOK(AT, "'@'")                                                         \
    TOK(ARROW, "'->'") TOK(FAT_ARROW, "'=>'") TOK(LE, "'<='") TOK(GE, "'>='") TOK(EQ, "'=='")  \
    TOK(NE, "'!='")                                                                            \
    TOK(LET, "'let'") TOK(FN, "'fn'") TOK(DEF, "'def'") TOK(IF, "'if'") TOK(ELSE, "'else'")    \
    TOK(TYPE, "'type'") TOK(MATCH, "'match'") TOK(PARTIAL_MATCH, "'match?'")                   \
    TOK(EXTERN, "'extern'") TOK(FREE_VAR, "'free_var'") TOK(REF, "'ref'")                      \
    TOK(REF_READ, "'ref_read'") TOK(REF_WRITE, "'ref_write'")

enum rlx_relay_tok_kind {
#define TOK(name, text) RLX_RELAY_TOK_##name,
    RLX_RELAY_TOKENS(TOK)
#undef TOK
    RLX_RELAY_TOK_COUNT
};

typedef struct rlx_relay_tok {
    uint8_t kind;
    bool touches;        /* the token before ends where this one begins */
    uint32_t begin, end;
    rlx_dtype dtype;     /* INT, FLOAT */
    union {
        rlx_relay_word *word; /* NAME, LOCAL, GLOBAL, without their sign */
        rlx_slice text;       /* STRING, decoded; META: its key; VERSION */
        double f;
    };
    int64_t i;           /* INT, GRAPH; META: the index */
} rlx_relay_tok;

typedef struct rlx_relay_tokens {
    const rlx_relay_tok *items; /* the last one is END */
    size_t count;
    rlx_slice metadata;         /* what follows #[metadata], or empty */
    uint32_t metadata_at;       /* where that begins */
} rlx_relay_tokens;
/* The tokens of a source, in the region r; words and strings are the module's. Mistakes are
 * reported, an ERROR token stands there. False when out of memory, or for what is no text. */
bool rlx_relay_lex(rlx_relay_module *m, uint32_t source, rlx_region *r, rlx_relay_tokens *out);
const char *rlx_relay_tok_text(uint8_t kind);

#endif
