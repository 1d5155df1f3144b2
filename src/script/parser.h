/* parser.h: tokens to a compact tree of the Python subset that TVMScript uses.
 *
 * Statements are parsed one at a time into a region that the reader rewinds after each: nothing
 * of the tree outlives its statement. Suites are entered and left by the reader.
 */
#ifndef RLX_PARSER_H
#define RLX_PARSER_H

#include "script/lexer.h"

enum rlx_ast_kind {
    RLX_AST_NAME,      /* name */
    /* integer; op 1: larger than 2^63 - 1 (bits of an unsigned number), op 2: larger than 2^64
     * - 1 */
    RLX_AST_INT,
    RLX_AST_FLOAT,     /* number */
    /* string (decoded); op 1: a plain literal, string lies in the source text */
    RLX_AST_STRING,
    RLX_AST_NONE, RLX_AST_TRUE, RLX_AST_FALSE, RLX_AST_ELLIPSIS,
    RLX_AST_TUPLE,     /* first: items, count */
    RLX_AST_LIST, RLX_AST_DICT, /* dict: key, value, key, value ... */
    RLX_AST_ATTR,      /* base, name */
    RLX_AST_INDEX,     /* base, first: items, count; op 1: has a comma (x[a,] is a tuple of one) */
    /* base, first: arguments, count; op 1: its keywords are worth remembering */
    RLX_AST_CALL,
    RLX_AST_KEYWORD,   /* name = base */
    RLX_AST_KEYWORDS,  /* all keywords of a call, known already: node is what they give */
    RLX_AST_STAR,      /* *base */
    RLX_AST_SLICE,     /* first: start, stop, step; RLX_AST_NONE with an empty place if absent */
    RLX_AST_BINARY,    /* op: token; base, first */
    RLX_AST_UNARY,     /* op: token; base */
    RLX_AST_CHOICE,    /* base if cond else other: first: cond, value, other */
    RLX_AST_LAMBDA,    /* first: parameter names, count; base: body */
    RLX_AST_PARAM,     /* of a def: name, base: annotation or NULL */
    RLX_AST_ITEM,      /* of a with: base: expression, first: target or NULL */
    RLX_AST_VALUE      /* value already known (an unpacked *list) */
};

typedef struct rlx_ast {
    uint8_t kind, op;
    uint16_t height; /* how deep it nests when it is written out again */
    uint32_t begin, end;
    uint32_t count;
    struct rlx_ast *next; /* sibling */
    union {
        struct { struct rlx_ast *base; union { struct rlx_ast *first; rlx_word *name; }; };
        uint64_t integer;
        double number;
        rlx_slice string;
        const rlx_val *value;
        const rlx_node *node;
    };
} rlx_ast;

enum rlx_line_kind {
    /* reported; the lexer stands at the next statement; name: what it would have bound, or NULL */
    RLX_LINE_ERROR,
    RLX_LINE_EXPR,     /* value */
    RLX_LINE_ASSIGN,   /* target = value; target: annotation = value */
    RLX_LINE_DECLARE,  /* target: annotation, without a value */
    RLX_LINE_AUGMENT,  /* target op= value; op: token of the binary operator */
    RLX_LINE_RETURN,   /* value or NULL */
    RLX_LINE_ASSERT,   /* value, message (annotation) or NULL */
    RLX_LINE_PASS, RLX_LINE_BREAK, RLX_LINE_CONTINUE,
    /* target: list of ITEMs (imported name, alias); name: module path's last part */
    RLX_LINE_IMPORT,
    RLX_LINE_DECORATOR,/* value */
    /* headers: a suite follows */
    RLX_LINE_IF, RLX_LINE_ELIF, RLX_LINE_ELSE, RLX_LINE_WHILE, /* value */
    RLX_LINE_FOR,      /* target in value */
    RLX_LINE_WITH,     /* target: ITEMs */
    RLX_LINE_DEF,      /* name, target: PARAMs, annotation: result or NULL */
    RLX_LINE_CLASS     /* name */
};

typedef struct rlx_source_line {
    uint8_t kind, op;
    uint32_t begin, end;       /* of the whole statement, of the header */
    rlx_ast *target, *annotation, *value;
    rlx_word *name;
    uint32_t name_begin, name_end;
    rlx_ast *type_params;      /* def: names in brackets */
} rlx_source_line;

/* What the reader has read before, by its text: the tree of the text begin..end if it is known,
 * else NULL. */
struct rlx_reader;
typedef struct rlx_recall {
    struct rlx_reader *reader;   /* NULL: nothing is known */
    /* of an annotation: a RLX_AST_VALUE */
    rlx_ast *(*annotation)(struct rlx_reader *r, uint32_t begin, uint32_t end);
    /* of all keywords of the call, behind its arguments: a RLX_AST_KEYWORDS */
    rlx_ast *(*keywords)(struct rlx_reader *r, const rlx_ast *call, uint32_t begin, uint32_t end);
} rlx_recall;

typedef struct rlx_parser {
    rlx_context *ctx;
    rlx_lexer lexer;
    rlx_region region;      /* trees */
    uint32_t depth;         /* of the recursion of expressions */
    uint32_t blocks;        /* suites entered */
    bool line_ended;        /* the last simple statement ended its line */
    bool damaged;           /* a header without its colon was read as if it had one */
    bool tried;             /* a try was met, and refused */
    bool in_assignment;     /* behind a target: annotations are looked up before they are parsed */
    rlx_recall recall;
} rlx_parser;

void rlx_parser_init(rlx_parser *p, rlx_context *ctx, rlx_words *names, uint32_t source,
                     const char *text, uint32_t begin, uint32_t end, bool single);
void rlx_parser_free(rlx_parser *p);

/* Reports a syntax error at the current token unless the statement has had one: "expected X but
 * found Y". Returns NULL. */
void *rlx_parser_expected(rlx_parser *p, const char *what);
/* The whole text as one expression (text of a string, one annotation). NULL after a report. */
rlx_ast *rlx_parse_single(rlx_parser *p);
/* Parses the next statement, or the header of one up to and with its ':'. After an error the
 * kind is RLX_LINE_ERROR. */
void rlx_parse_line(rlx_parser *p, rlx_source_line *out);

/* A suite: enter after a header, then parse lines until at_end. leave passes over what is left
 * of it. */
typedef struct rlx_suite {
    bool block, done;
    bool lost_if;               /* the last statement was an if that could not be read */
} rlx_suite;
/* false after a report: the suite counts as empty, nothing to leave */
bool rlx_suite_enter(rlx_parser *p, rlx_suite *s);
bool rlx_suite_at_end(rlx_parser *p, rlx_suite *s);
void rlx_suite_leave(rlx_parser *p, rlx_suite *s);

/* Text of a string literal whose token spans begin..end of `text`. False after a report. */
bool rlx_parse_string(rlx_parser *p, const rlx_tok *tok, rlx_buf *out);

#endif
