/* text_module.h: modules from TVMScript in C tests, and what was reported. */
#ifndef TEXT_MODULE_H
#define TEXT_MODULE_H

#include "script/read.h"

/* The module of a text, NULL after errors of syntax; errors of inference leave a module. The
 * three imports need not be there. */
const rlx_module *text_module(rlx_context *ctx, const char *text);
/* "WF03 TY01": codes of all diagnostics since the last clear, in order, notes and equal
 * neighbours left out. Room: 256 bytes. */
const char *text_codes(rlx_context *ctx, char *room);
/* All diagnostics as the tool shows them, without source lines; to be freed. */
char *text_diagnostics(rlx_context *ctx);
/* A module of the function alone, called f. */
const rlx_module *text_module_of(rlx_context *ctx, const rlx_prim_func *f);
/* Canonical text of a module; to be freed. */
char *text_print(const rlx_module *m);

/* What f prints reads back, and prints alike; fails the test otherwise. show: prints it. */
void text_check_prim_func(rlx_context *ctx, const rlx_prim_func *f, bool show);

#endif
