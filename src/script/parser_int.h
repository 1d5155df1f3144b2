/* parser_int.h: what the two halves of the parser share. */
#ifndef RLX_PARSER_INT_H
#define RLX_PARSER_INT_H

#include "script/parser.h"

/* Empty but for its kind and place. NULL: out of memory, latched. */
RLX_INLINE rlx_ast *rlx_ast_new(rlx_parser *p, uint8_t kind, uint32_t begin)
{
    rlx_ast *a = rlx_region_alloc(&p->region, sizeof *a);
    if (RLX_UNLIKELY(!a))
        return rlx_no_memory(p->ctx), NULL;
    *a = (rlx_ast){ .kind = kind, .begin = begin };
    return a;
}
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
