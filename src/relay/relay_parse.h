/* relay_parse.h: what the files of Relay's parser share. */
#ifndef RLX_RELAY_PARSE_H
#define RLX_RELAY_PARSE_H

#include "relay/relay_lexer.h"
#include "relay/relay_op.h"

/* Nesting of expressions, types, patterns and values. Beyond: RY24. */
#define RLX_RELAY_MAX_DEPTH 200

typedef struct rlx_relay_hidden {
    rlx_relay_word *word;
    rlx_relay_expr *local;
    rlx_relay_type_var *type_var;
} rlx_relay_hidden;

typedef struct rlx_relay_parser {
    rlx_relay_module *m;
    rlx_context *ctx;
    uint32_t source;
    const rlx_relay_tok *toks;
    size_t at;                    /* the current token */
    size_t behind_imports;        /* the first token of what is defined */
    uint32_t depth;
    rlx_region scratch;           /* tokens, the tree of the metadata */
    rlx_relay_tokens lexed;
    struct rlx_relay_meta *meta;  /* loaded on first use */
    bool meta_failed;
    /* What names meant before the bindings of open scopes, to be put back. */
    RLX_VEC(rlx_relay_hidden) hidden;
    size_t pattern_scope;         /* of the pattern that is being read */
    rlx_ptrmap graph;             /* number + 1 -> expression */
    rlx_ptrs items;               /* stack of what lists are made of */
    RLX_VEC(rlx_relay_attr) attr_items;
    RLX_VEC(rlx_relay_value) value_items;
    bool lost;                    /* a syntax error since the last resynchronisation */
} rlx_relay_parser;

/* ---- tokens ---- */
RLX_INLINE const rlx_relay_tok *rlx_relay_tok_at(const rlx_relay_parser *p) { return &p->toks[p->at]; }
RLX_INLINE uint8_t rlx_relay_kind_at(const rlx_relay_parser *p) { return p->toks[p->at].kind; }
/* The kind of the token `n` after the current one. */
uint8_t rlx_relay_kind_ahead(const rlx_relay_parser *p, size_t n);
bool rlx_relay_accept(rlx_relay_parser *p, uint8_t kind);
/* Passes over a token of that kind; else reports what was found and fails. */
bool rlx_relay_expect(rlx_relay_parser *p, uint8_t kind, const char *where);
/* Reports a syntax error at the current token, once until the parser has found its way again.
 * False. */
bool rlx_relay_unexpected(rlx_relay_parser *p, const char *expected);
/* From token `first` to the one before the current one. */
rlx_place rlx_relay_span(const rlx_relay_parser *p, size_t first);
rlx_place rlx_relay_tok_place(const rlx_relay_parser *p, const rlx_relay_tok *t);
rlx_place rlx_relay_here(const rlx_relay_parser *p);
/* False and a report if nesting is too deep; to be followed by leave. */
bool rlx_relay_enter(rlx_relay_parser *p);
RLX_INLINE void rlx_relay_leave(rlx_relay_parser *p) { p->depth--; }

/* ---- scopes ---- */
RLX_INLINE size_t rlx_relay_scope(const rlx_relay_parser *p) { return p->hidden.len; }
void rlx_relay_close_scope(rlx_relay_parser *p, size_t mark);
bool rlx_relay_bind_local(rlx_relay_parser *p, rlx_relay_word *w, rlx_relay_expr *var);
bool rlx_relay_bind_type_var(rlx_relay_parser *p, rlx_relay_word *w, rlx_relay_type_var *var);

/* ---- lists: items pushed since `mark` become an array of the module ---- */
RLX_INLINE size_t rlx_relay_list_mark(const rlx_relay_parser *p) { return p->items.len; }
bool rlx_relay_list_push(rlx_relay_parser *p, void *item);
bool rlx_relay_list_end(rlx_relay_parser *p, size_t mark, void *items, size_t *count);

/* NAME {. NAME} without blanks, as it stands here; *count tokens, which stay. */
rlx_slice rlx_relay_dotted_name(const rlx_relay_parser *p, size_t *count);

/* ---- parts; NULL or false after a report ---- */
rlx_relay_expr *rlx_relay_parse_expr(rlx_relay_parser *p);
rlx_relay_type *rlx_relay_parse_type(rlx_relay_parser *p);
bool rlx_relay_parse_type_list(rlx_relay_parser *p, uint8_t closing, rlx_relay_type *const **out,
                               size_t *count);
/* `[a, b: Shape]` or `<...>`, if one stands here; binds them in the current scope. */
bool rlx_relay_parse_type_params(rlx_relay_parser *p, rlx_relay_type_var *const **out, size_t *count);
/* `where R, Q(t1, t2)`, if it stands here. */
bool rlx_relay_parse_where(rlx_relay_parser *p, bool in_type, const rlx_relay_constraint **out, size_t *count);
/* Enters all data types of the text with the names of their constructors, by a look at the
 * tokens. */
bool rlx_relay_declare_types(rlx_relay_parser *p);
/* [extern] type NAME ... */
bool rlx_relay_parse_definition_of_type(rlx_relay_parser *p);
rlx_relay_pattern *rlx_relay_parse_pattern(rlx_relay_parser *p);
/* Does NAME {. NAME} = stand here? */
bool rlx_relay_at_attr(const rlx_relay_parser *p);
/* Attributes up to `closing`, which stays. */
bool rlx_relay_parse_attrs(rlx_relay_parser *p, uint8_t closing, rlx_relay_attrs *out);

/* ---- nodes ---- */
rlx_relay_expr *rlx_relay_expr_new(rlx_relay_module *m, uint8_t kind, rlx_place place);
rlx_relay_type *rlx_relay_type_new(rlx_relay_module *m, uint8_t kind, rlx_place place);
rlx_relay_type_var *rlx_relay_type_var_new(rlx_relay_module *m, rlx_slice name, uint8_t kind,
                                           rlx_place place);
rlx_relay_expr *rlx_relay_scalar(rlx_relay_module *m, rlx_dtype dtype, int64_t i, double f,
                                 rlx_place place);

/* A source that is one type, read in the scope of the module. NULL after a report. */
rlx_relay_type *rlx_relay_parse_type_text(rlx_relay_module *m, uint32_t source);

/* ---- the prelude ---- */
extern const char rlx_relay_prelude[];
extern const size_t rlx_relay_prelude_len;

/* ---- metadata (relay 1.5) ---- */
/* The constant meta[relay.Constant][index]; an ERROR expression after a report. */
rlx_relay_expr *rlx_relay_meta_expr(rlx_relay_parser *p, const rlx_relay_tok *t);
/* The extent that the object is: a size variable, an integer, Any. False after a report. */
bool rlx_relay_meta_dim(rlx_relay_parser *p, const rlx_relay_tok *t, rlx_relay_dim *out);
/* The attributes of an object relay.attrs.X. */
bool rlx_relay_meta_attrs(rlx_relay_parser *p, const rlx_relay_tok *t, rlx_relay_attrs *out);
#endif
