/* text_module.c: see the header. */
#include "text_module.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "op/op.h"
#include "script/print.h"
#include "script/read.h"

const rlx_module *text_module(rlx_context *ctx, const char *text)
{
    static const char head[] = "from tvm.script import ir as I\nfrom tvm.script import tir as "
                               "T\nfrom tvm.script import relax as R\n\n";
    size_t n = sizeof head + strlen(text);
    char *whole = malloc(n);
    ctx->ops = rlx_op_table_get();
    rlx_parse_options options = { 0 };
    rlx_parsed parsed = { 0 };
    snprintf(whole, n, "%s%s", head, text);
    uint32_t source = rlx_diags_add_source(&ctx->diags, rlx_slice_z("m.py"), whole, n - 1);
    if (!rlx_script_parse(ctx, source, &options, &parsed))
        parsed.module = NULL;
    free(whole);
    return parsed.module;
}

const char *text_codes(rlx_context *ctx, char *room)
{
    const rlx_code *before = NULL;
    room[0] = 0;
    rlx_diags_flush(&ctx->diags);
    for (const rlx_diag *d = ctx->diags.first; d; d = d->next) {
        if (d->severity == RLX_SEVERITY_NOTE || d->code == before || strlen(room) > 240)
            continue;
        if (room[0])
            strcat(room, " ");
        strcat(room, d->code ? d->code->name : "?");
        before = d->code;
    }
    return room;
}

static char *take(rlx_buf *b)
{
    char *out = malloc(b->len + 1);
    if (b->len)
        memcpy(out, b->data, b->len);
    out[b->len] = 0;
    rlx_buf_free(b);
    return out;
}

char *text_diagnostics(rlx_context *ctx)
{
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    rlx_diags_flush(&ctx->diags);
    for (const rlx_diag *d = ctx->diags.first; d; d = d->next)
        rlx_diag_render(&ctx->diags, d, &b, false);
    return take(&b);
}

char *text_print(const rlx_module *m)
{
    rlx_memory memory;
    rlx_buf b;
    rlx_memory_init(&memory, NULL, SIZE_MAX);
    rlx_buf_init(&b, &memory);
    rlx_script_print(&memory, &m->node, NULL, &b);
    return take(&b);
}

const rlx_module *text_module_of(rlx_context *ctx, const rlx_prim_func *f)
{
    const rlx_string *name = rlx_string_z(ctx, "f");
    const rlx_global_var *var = rlx_global_var_new(ctx, name, RLX_NO_PLACE);
    rlx_prim_func *named = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    rlx_node head = named->node;
    *named = *f;
    named->node = head;
    named->attrs = rlx_attrs_with(ctx, f->attrs, "global_symbol",
                                  rlx_attr_string_new(ctx, RLX_SLICE("f")));
    const rlx_expr *vars[1] = { &var->node };
    const rlx_node *functions[1] = { &named->node };
    return rlx_module_new(ctx, vars, functions, 1, NULL, NULL, RLX_NO_PLACE);
}

void text_check_prim_func(rlx_context *ctx, const rlx_prim_func *f, bool show)
{
    char *text = text_print(text_module_of(ctx, f));
    if (show)
        printf("%s\n", text);
    rlx_context *other = rlx_context_create(NULL, 0);
    const rlx_module *again = text_module(other, text);
    char *second = again && !rlx_error_count(other) ? text_print(again) : text_diagnostics(other);
    if (strcmp(text, second) != 0)
        fail_msg("does not read back:\n%s\n%s", second, text);
    free(second);
    free(text);
    rlx_context_release(other);
}
