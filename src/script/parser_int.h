/* parser_int.h: what the two halves of the parser share. */
#ifndef RLX_PARSER_INT_H
#define RLX_PARSER_INT_H

#include "script/parser.h"

rlx_ast *rlx_ast_new(rlx_parser *p, uint8_t kind, uint32_t begin); /* zeroed; NULL: out of memory, latched */
rlx_ast *rlx_parse_expr(rlx_parser *p);      /* one expression without commas; NULL after a report */
rlx_ast *rlx_parse_expr_list(rlx_parser *p); /* with commas: a tuple */
rlx_ast *rlx_parse_known(rlx_parser *p, uint32_t end); /* the text from the current token to `end`, if it is known; else NULL */
bool rlx_parser_take(rlx_parser *p, uint8_t kind);  /* passes over the token if it is of that kind */
bool rlx_parser_need(rlx_parser *p, uint8_t kind);  /* the same, else an error */
void rlx_parser_report(rlx_parser *p, enum rlx_code_id code, uint32_t begin, uint32_t end, const char *format, ...) RLX_PRINTF(5, 6);

#endif
