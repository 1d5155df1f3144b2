/* parser_int.h: what the two halves of the parser share. */
#ifndef RLX_PARSER_INT_H
#define RLX_PARSER_INT_H

#include "script/parser.h"

/* Empty but for its kind and place. NULL: out of memory, latched. */
RLX_INLINE rlx_ast *rlx_ast_new(rlx_parser *p, uint8_t kind, uint32_t begin)
{
    rlx_ast *a = rlx_region_alloc(&p->region, sizeof *a);
    if (RLX_UNLIKELY(!a))
        return NULL;
    *a = (rlx_ast){ .kind = kind, .begin = begin };
    return a;
}
RLX_INLINE rlx_ast *rlx_recall_annotation(rlx_parser *p, uint32_t begin, uint32_t end)
{
    return p->recall.annotation(p->recall.reader, begin, end);
}
/* Up to eight digits, the first no 0 unless alone: what most numbers are. */
bool rlx_short_number(const char *digits, size_t len, uint64_t *out);
/* The tree of R.Tensor(...) and its like among arguments, whose first name is begin..name_end, if
 * its text is known, and where it ends. */
rlx_ast *rlx_known_item(rlx_parser *p, uint32_t begin, uint32_t name_end, uint32_t *end);
/* Keywords repeat themselves, too: axes=[1, 0]. The tree of all keywords of the call, whose first
 * is the name begin..name_end, if their text up to the first ')' is known, and where they end. */
rlx_ast *rlx_known_keywords(rlx_parser *p, rlx_ast *call, uint32_t begin, uint32_t name_end,
                            uint32_t *end);
/* The expression behind the current token, if it is of the usual form (see parse_plain.c) and a
 * character of `ends` follows (a blank: and '='; a newline: perhaps several expressions): passes
 * over it. Else NULL, and nothing has happened. */
rlx_ast *rlx_parse_plain(rlx_parser *p, const char *ends);
/* one expression without commas; NULL after a report */
rlx_ast *rlx_parse_expr(rlx_parser *p);
rlx_ast *rlx_parse_expr_list(rlx_parser *p); /* with commas: a tuple */
/* passes over the text that is known; not if NULL */
rlx_ast *rlx_parser_skip(rlx_parser *p, rlx_ast *known, uint32_t end);
/* Passes over the token if it is of that kind. */
RLX_INLINE bool rlx_parser_take(rlx_parser *p, uint8_t kind)
{
    if (p->lexer.tok.kind != kind)
        return false;
    rlx_lexer_next(&p->lexer);
    return true;
}
bool rlx_parser_need(rlx_parser *p, uint8_t kind);  /* the same, else an error */
void rlx_parser_report(rlx_parser *p, enum rlx_code_id code, uint32_t begin, uint32_t end,
                       const char *format, ...) RLX_PRINTF(5, 6);

#endif
