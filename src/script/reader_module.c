/* reader_module.c: files and modules: imports, classes, declarations, then the bodies;
 * functions of I and tvm. */
#include "script/reader.h"

/* ---- decorators ----------------------------------------------------------------------------- */

enum decorator_kind { DECORATOR_UNKNOWN, DECORATOR_RELAX, DECORATOR_TIR, DECORATOR_MODULE };

static const struct {
    const char *name;
    uint8_t space;
    uint8_t kind;
    const char *modern;
} decorators[] = {
    { "function", RLX_SPACE_R, DECORATOR_RELAX, NULL },
    { "func", RLX_SPACE_R, DECORATOR_RELAX, "R.function" },
    { "prim_func", RLX_SPACE_T, DECORATOR_TIR, NULL },
    { "ir_module", RLX_SPACE_I, DECORATOR_MODULE, NULL },
    { "script.ir_module", RLX_SPACE_TVM, DECORATOR_MODULE, NULL },
    { "script.ir.ir_module", RLX_SPACE_TVM, DECORATOR_MODULE, NULL },
    { "script.relax.function", RLX_SPACE_TVM, DECORATOR_RELAX, NULL },
    { "script.tir.prim_func", RLX_SPACE_TVM, DECORATOR_TIR, NULL },
};

static const char *decorator_at(void *user, size_t i) { return decorators[i].name; }

static void unknown_decorator(rlx_reader *r, const rlx_ast *a, const rlx_ast *callee)
{
    bool named = callee->kind == RLX_AST_ATTR || callee->kind == RLX_AST_NAME;
    const char *near = named ? rlx_nearest(r, rlx_string_slice(callee->name->text), decorator_at,
                                           NULL, RLX_COUNT(decorators))
                             : NULL;
    char letter = 'R';
    for (size_t i = 0; near && i < RLX_COUNT(decorators); i++)
        if (decorators[i].name == near && decorators[i].space != RLX_SPACE_R)
            letter = decorators[i].space == RLX_SPACE_T ? 'T' : 'I';
    if (near)
        rlx_read_error(r, RLX_PA23, a, "unknown decorator; did you mean @%c.%s", letter, near);
    else
        rlx_read_error(r, RLX_PA23, a, "unknown decorator: modules have @I.ir_module, functions "
                                       "@R.function or @T.prim_func");
}

static enum decorator_kind decorator_kind(rlx_reader *r, const rlx_ast *a)
{
    const rlx_ast *callee = a->kind == RLX_AST_CALL ? a->base : a;
    rlx_val v;
    /* @ir_module without its import */
    if (callee->kind == RLX_AST_NAME && !callee->name->value.kind) {
        for (size_t i = 0; i < RLX_COUNT(decorators); i++)
            if (rlx_slice_is(rlx_string_slice(callee->name->text), decorators[i].name) && i != 1)
                return decorators[i].kind;
    }
    bool named = callee->kind == RLX_AST_ATTR || callee->kind == RLX_AST_NAME;
    if (named && !rlx_read_value(r, callee, &v))
        return DECORATOR_UNKNOWN;
    for (size_t i = named ? 0 : RLX_COUNT(decorators);
         i < RLX_COUNT(decorators) && v.kind == RLX_VAL_FUNC; i++) {
        if (v.sub != decorators[i].space ||
            !rlx_slice_is(rlx_string_slice(v.fn.path->text), decorators[i].name))
            continue;
        if (decorators[i].modern)
            rlx_read_note(r, a, "@R.%s is an older spelling of @%s", decorators[i].name,
                          decorators[i].modern);
        return decorators[i].kind;
    }
    unknown_decorator(r, a, callee);
    return DECORATOR_UNKNOWN;
}

static bool option(rlx_reader *r, const rlx_ast *a, bool *out)
{
    if (a->base->kind != RLX_AST_TRUE && a->base->kind != RLX_AST_FALSE)
        return rlx_read_error(r, RLX_PA23, a, "%s= of a decorator is True or False",
                              a->name->text->data);
    *out = a->base->kind == RLX_AST_TRUE;
    return true;
}

static bool decorator_option(rlx_reader *r, const rlx_ast *a, rlx_pending *f)
{
    rlx_slice name =
        a->kind == RLX_AST_KEYWORD ? rlx_string_slice(a->name->text) : (rlx_slice){ "", 0 };
    bool value = false;
    if (a->kind != RLX_AST_KEYWORD)
        return rlx_read_error(r, RLX_PA23, a, "options of a decorator are given by name");
    if (!option(r, a, &value))
        return false;
    if (rlx_slice_is(name, "private"))
        f->is_private = value;
    else if (rlx_slice_is(name, "pure") && !f->tir)
        f->impure = !value;
    else if (rlx_slice_is(name, "s_tir") && f->tir)
        f->newer = true; /* which TIR it is: TVM 0.27 says so */
    else if (!rlx_slice_is(name, "check_well_formed"))
        return rlx_read_error(r, RLX_PA23, a, "unknown option %s of a decorator",
                              a->name->text->data);
    return true;
}

bool rlx_read_decorator(rlx_reader *r, const rlx_ast *a, rlx_pending *f)
{
    if (!a)
        return rlx_read_error_at(r, RLX_PA23, f->begin, f->end,
                                 "function %s needs a decorator: @R.function or @T.prim_func",
                                 f->name->text->data);
    enum decorator_kind kind = decorator_kind(r, a);
    if (kind == DECORATOR_UNKNOWN)
        return false;
    if (kind == DECORATOR_MODULE)
        return rlx_read_error(r, RLX_PA23, a, "@I.ir_module stands above a class");
    f->tir = kind == DECORATOR_TIR;
    for (const rlx_ast *i = a->kind == RLX_AST_CALL ? a->first : NULL; i; i = i->next)
        if (!decorator_option(r, i, f))
            return false;
    return true;
}

/* ---- imports -------------------------------------------------------------------------------- */

static bool bind_import(rlx_reader *r, rlx_word *alias, const rlx_ast *item)
{
    static const struct { const char *name; uint8_t space;
    } spaces[] = {
        { "relax", RLX_SPACE_R }, { "tir", RLX_SPACE_T },   { "tirx", RLX_SPACE_T },
        { "ir", RLX_SPACE_I },    { "tvm", RLX_SPACE_TVM },
    };
    rlx_slice name = rlx_string_slice(item->name->text);
    rlx_val v = { .begin = item->begin, .end = item->end };
    for (size_t i = 0; i < RLX_COUNT(spaces); i++)
        if (rlx_slice_is(name, spaces[i].name))
            v.kind = RLX_VAL_SPACE, v.sub = spaces[i].space;
    for (size_t i = 0; i < RLX_COUNT(decorators) && !v.kind; i++)
        if (rlx_slice_is(name, decorators[i].name))
            v = (rlx_val){ .kind = RLX_VAL_FUNC,
                           .sub = decorators[i].space,
                           .begin = item->begin,
                           .end = item->end,
                           .fn = { item->name, NULL } };
    if (!v.kind) {
        if (r->text.notes)
            rlx_error(r->ctx, RLX_PA29, rlx_read_place(r, item), "this import has no effect");
        return true;
    }
    return rlx_word_bind(r, alias, &v);
}

static void read_import(rlx_reader *r, const rlx_source_line *line)
{
    for (const rlx_ast *i = line->target; i; i = i->next)
        bind_import(r, i->base ? i->base->name : i->name, i);
}

/* ---- declarations --------------------------------------------------------------------------- */

static const rlx_sinfo *provisional(rlx_reader *r, const rlx_pending *f)
{
    if (f->tir || f->broken)
        return NULL;
    return rlx_signature(r->ctx, f->params, f->num_params, f->ret ? f->ret : r->ctx->object,
                         !f->impure, NULL);
}

static rlx_pending *new_pending(rlx_reader *r, const rlx_source_line *def)
{
    rlx_pending *f = rlx_region_zero(&r->unit.region, sizeof *f);
    if (!f || !rlx_vec_push(&r->ctx->memory, &r->module.pending, f))
        return NULL;
    f->name = def->name;
    f->begin = def->name_begin;
    f->end = def->name_end;
    f->standalone = !r->module.in_class;
    return f;
}

bool rlx_name_by_symbol(rlx_reader *r, const rlx_pending *f, const rlx_attr *attrs)
{
    const rlx_attr_string *symbol =
        f->standalone ? rlx_as_attr_string(rlx_attrs_get(attrs, "global_symbol")) : NULL;
    if (!symbol || symbol->value == f->gvar->name ||
        !rlx_is_identifier(rlx_string_slice(symbol->value)) ||
        rlx_module_builder_lookup(r->module.builder, rlx_string_slice(symbol->value)))
        return true;
    return rlx_module_builder_rename(r->module.builder, f->gvar, symbol->value);
}

/* Lines behind a header that has no block are its body, not indented: it is said once. */
static void pass_lost_body(rlx_lexer *lx)
{
    static const uint8_t others[] = { RLX_TOK_END, RLX_TOK_DEDENT, RLX_TOK_AT,    RLX_TOK_DEF,
                                      RLX_TOK_CLASS, RLX_TOK_FROM, RLX_TOK_IMPORT };
    while (!memchr(others, lx->tok.kind, sizeof others))
        rlx_lexer_resync(lx, lx->tok.begin);
}

/* Header now, body later: every function can mention every other. */
static void declare_function(rlx_reader *r, const rlx_source_line *def, const rlx_ast *decorator)
{
    rlx_pending *f = new_pending(r, def);
    if (!f)
        return;
    const rlx_lexer *lx = &r->parser.lexer;
    f->body = rlx_lexer_save(lx);
    f->indent = lx->indents[lx->num_indents - 1];
    f->broken = !rlx_read_decorator(r, decorator, f) ||
                !(f->tir ? rlx_tir_reader_header(r, def, f) : rlx_relax_header(r, def, f));
    size_t errors = r->ctx->diags.num_errors;
    f->signature = provisional(r, f);
    f->gvar =
        rlx_module_builder_declare(r->module.builder, rlx_string_slice(f->name->text), f->signature,
                                   rlx_place_make(r->text.source, f->begin, f->end - f->begin));
    if (!f->gvar) {
        f->broken = true;
        r->text.syntax_errors += r->ctx->diags.num_errors - errors;
    }
    f->body_end = f->body.tok.begin;
    if (f->broken && f->gvar)
        (void)rlx_ptrmap_put(&r->module.broken, f->gvar, 1);
    if (!rlx_lexer_skip_suite(&r->parser.lexer)) {
        f->broken = true;
        rlx_read_error_at(r, RLX_PA22, def->begin, def->end,
                          "an indented block is missing after this line");
        pass_lost_body(&r->parser.lexer);
    } else {
        f->body_end = lx->tok.begin;
    }
}

static void declare_extern(rlx_reader *r, const rlx_ast *name, const rlx_expr *func)
{
    const rlx_sinfo *s =
        rlx_opaque_func_info(r->ctx, RLX_DERIVE_DEFAULT, NULL, r->ctx->object, false);
    size_t errors = r->ctx->diags.num_errors;
    const rlx_global_var *gv =
        s ? rlx_module_builder_declare(r->module.builder, rlx_string_slice(name->name->text), s,
                                       rlx_read_place(r, name))
          : NULL;
    if (!gv || !rlx_module_builder_define(r->module.builder, gv, func))
        r->text.syntax_errors += r->ctx->diags.num_errors - errors;
}

/* Python would run it: a text holds functions and runs none. */
static void refuse_call(rlx_reader *r, const rlx_val *v, const rlx_source_line *line)
{
    const rlx_call *call = v && v->kind == RLX_VAL_EXPR ? rlx_as_call(v->node) : NULL;
    if (call && rlx_as_global_var(call->op))
        rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                          "a call has no place here: the text holds functions, and who loads it "
                          "calls them");
}

static void read_alias(rlx_reader *r, const rlx_source_line *line, bool in_class)
{
    rlx_val v = { .kind = RLX_VAL_ERROR };
    if (line->target->kind != RLX_AST_NAME) {
        rlx_read_error(r, RLX_PA26, line->target, "only a name can be bound here");
        return;
    }
    if (!rlx_read_value(r, line->value, &v)) {
        rlx_read_failed(r, line->target->name);
        v.kind = RLX_VAL_ERROR;
    }
    refuse_call(r, &v, line);
    if (in_class && v.kind == RLX_VAL_EXPR && rlx_as_extern_func(v.node))
        declare_extern(r, line->target, v.node);
    else if (rlx_val_keep(r, &v))
        rlx_word_bind(r, line->target->name, &v);
}

/* A statement that stands in a class as well as at the top of a file. False: it is none of
 * these. */
static bool common_statement(rlx_reader *r, const rlx_source_line *line, const rlx_ast **decorator,
                             bool in_class)
{
    rlx_val v;
    switch (line->kind) {
    case RLX_LINE_ERROR: rlx_line_failed(r, line); return true;
    case RLX_LINE_PASS: return true;
    case RLX_LINE_IMPORT: read_import(r, line); return true;
    case RLX_LINE_ASSIGN: read_alias(r, line, in_class); return true;
    case RLX_LINE_DEF: declare_function(r, line, *decorator); *decorator = NULL; return true;
    case RLX_LINE_DECORATOR:
        if (*decorator)
            rlx_read_error(r, RLX_PA23, line->value, "a function has one decorator, this is another");
        *decorator = line->value;
        return true;
    case RLX_LINE_EXPR:
        if (line->value->kind != RLX_AST_STRING)
            refuse_call(r, rlx_read_value(r, line->value, &v) ? &v : NULL, line);
        return true;
    default: return false;
    }
}

static void misplaced(rlx_reader *r, const rlx_source_line *line, const char *where)
{
    rlx_read_error_at(r, RLX_PA15, line->begin, line->end, "this statement has no place %s",
                      where);
    if (line->kind >= RLX_LINE_IF)
        rlx_lexer_skip_suite(&r->parser.lexer);
}

static void stray_decorator(rlx_reader *r, const rlx_ast **decorator, const rlx_source_line *line)
{
    if (*decorator && line->kind != RLX_LINE_DEF && line->kind != RLX_LINE_CLASS &&
        line->kind != RLX_LINE_DECORATOR && line->kind != RLX_LINE_ERROR)
        rlx_read_error(r, RLX_PA23, *decorator, "a decorator stands above a class or a function");
    if (line->kind != RLX_LINE_DEF && line->kind != RLX_LINE_CLASS &&
        line->kind != RLX_LINE_DECORATOR)
        *decorator = NULL;
}

static void read_class_body(rlx_reader *r, rlx_suite *s)
{
    const rlx_ast *decorator = NULL;
    rlx_region_mark mark = rlx_region_save(&r->parser.region);
    while (!rlx_suite_at_end(&r->parser, s) && !r->ctx->diags.out_of_memory) {
        rlx_source_line line;
        rlx_parse_line(&r->parser, &line);
        stray_decorator(r, &decorator, &line);
        if (!common_statement(r, &line, &decorator, true))
            misplaced(r, &line, "in a module");
        if (!decorator)
            rlx_region_rewind(&r->parser.region, mark);
    }
}

/* again: it is not the first one of the text */
static void read_class(rlx_reader *r, const rlx_source_line *line, const rlx_ast *decorator, bool again)
{
    rlx_suite s;
    rlx_val v = { .kind = RLX_VAL_MODULE, .begin = line->name_begin, .end = line->name_end };
    size_t errors = r->text.syntax_errors;
    if (again) {
        rlx_read_error_at(r, RLX_PA15, line->name_begin, line->name_end, "a text holds one module, this is another");
        rlx_note(r->ctx, r->module.class_at, "the first one is here");
        rlx_lexer_skip_suite(&r->parser.lexer);
        return;
    }
    if (!decorator)
        rlx_read_error_at(r, RLX_PA23, line->begin, line->end,
                          "a module class needs the decorator @I.ir_module");
    else if (decorator_kind(r, decorator) != DECORATOR_MODULE && errors == r->text.syntax_errors)
        rlx_read_error(r, RLX_PA23, decorator, "a class has the decorator @I.ir_module");
    r->module.name = line->name;
    r->module.class_at =
        rlx_place_make(r->text.source, line->name_begin, line->name_end - line->name_begin);
    r->module.in_class = true;
    if (!rlx_word_bind(r, line->name, &v) || !rlx_suite_enter(&r->parser, &s)) {
        r->text.syntax_errors++;
    } else {
        read_class_body(r, &s);
        rlx_suite_leave(&r->parser, &s);
    }
    r->module.in_class = false;
}

/* ---- bodies --------------------------------------------------------------------------------- */

static void read_body(rlx_reader *r, rlx_pending *f)
{
    rlx_lexer *lx = &r->parser.lexer;
    rlx_lexer_restore(lx, f->body);
    lx->indents[lx->num_indents - 1] = f->indent;
    r->parser.blocks = 0;
    rlx_region_mark unit = rlx_region_save(&r->unit.region);
    rlx_region_mark trees = rlx_region_save(&r->parser.region);
    size_t errors = rlx_error_count(r->ctx);
    bool ok = f->tir ? rlx_tir_reader_body(r, f) : rlx_relax_body(r, f);
    if (f->damaged && !f->ret) /* its result is not known: calls of it are silent */
        (void)rlx_ptrmap_put(&r->module.broken, f->gvar, 1);
    r->ctx->diags.otherwise = RLX_NO_PLACE;
    if (!ok && !r->text.syntax_errors && errors == rlx_error_count(r->ctx))
        RLX_BUG(r->ctx, "body of %s failed without a reason", f->name->text->data);
    rlx_region_rewind(&r->unit.region, unit);
    rlx_region_rewind(&r->parser.region, trees);
}

/* PrimFuncs first: what they are is known from their bodies, and Relax functions call them. */
static void read_bodies(rlx_reader *r)
{
    size_t n = r->module.pending.len;
    uint32_t *order = rlx_mem_alloc(&r->ctx->memory, (n + 1) * sizeof *order);
    bool ok = order && rlx_order_bodies(r, order);
    for (int tir = 1; ok && tir >= 0; tir--)
        for (size_t i = 0; i < n && !r->ctx->diags.out_of_memory; i++) {
            rlx_pending *f = r->module.pending.data[order[i]];
            if (f->tir == (bool)tir && !f->broken)
                read_body(r, f);
        }
    rlx_mem_free(&r->ctx->memory, order, order ? (n + 1) * sizeof *order : 0);
}

/* ---- the file ------------------------------------------------------------------------------- */

static size_t read_units(rlx_reader *r)
{
    const rlx_ast *decorator = NULL;
    size_t classes = 0;
    rlx_region_mark mark = rlx_region_save(&r->parser.region);
    while (!r->ctx->diags.out_of_memory) {
        while (r->parser.lexer.tok.kind == RLX_TOK_NEWLINE ||
               r->parser.lexer.tok.kind == RLX_TOK_DEDENT)
            rlx_lexer_next(&r->parser.lexer);
        if (r->parser.lexer.tok.kind == RLX_TOK_END)
            break;
        rlx_source_line line;
        r->unit.dialect = RLX_DIALECT_MODULE;
        rlx_parse_line(&r->parser, &line);
        stray_decorator(r, &decorator, &line);
        if (line.kind == RLX_LINE_CLASS) {
            read_class(r, &line, decorator, classes > 0);
            decorator = NULL;
            classes++;
        } else if (!common_statement(r, &line, &decorator, false)) {
            misplaced(r, &line, "at the top of a file");
        }
        if (!decorator)
            rlx_region_rewind(&r->parser.region, mark);
    }
    if (decorator)
        rlx_read_error(r, RLX_PA23, decorator, "a decorator stands above a class or a function");
    return classes;
}

/* The functions that could be read, so that their other mistakes can be found. A packed function
 * stands for each other one. */
static const rlx_module *damaged_module(rlx_reader *r)
{
    for (size_t i = 0; i < r->module.pending.len; i++) {
        const rlx_pending *f = r->module.pending.data[i];
        if (!f->gvar || rlx_module_builder_function(r->module.builder, f->gvar))
            continue;
        const rlx_expr *nothing = rlx_extern_func_new(r->ctx, rlx_string_slice(f->gvar->name));
        if (!nothing || !rlx_module_builder_define(r->module.builder, f->gvar, nothing))
            return NULL;
    }
    return rlx_module_builder_finish(r->module.builder, r->module.class_at);
}

bool rlx_read_file(rlx_reader *r, rlx_parsed *out)
{
    r->module.builder = rlx_module_builder_create(r->ctx, NULL);
    if (!r->module.builder)
        return false;
    r->module.class_at = rlx_place_make(r->text.source, 0, 0);
    r->module.env = rlx_module_builder_env(r->module.builder);
    size_t classes = read_units(r);
    if (!classes && !r->module.pending.len && !r->text.syntax_errors &&
        !r->ctx->diags.out_of_memory)
        rlx_read_error_at(r, RLX_PA33, 0, 0, "the text holds no module and no function");
    read_bodies(r);
    rlx_module_builder_set_attrs(r->module.builder, r->module.attrs, r->module.global_infos);
    if (r->ctx->diags.out_of_memory)
        return false;
    if (r->text.syntax_errors || r->parser.damaged || r->parser.lexer.misindented) {
        out->damaged = damaged_module(r);
        return false;
    }
    out->module = rlx_module_builder_finish(r->module.builder, r->module.class_at);
    out->standalone = !classes && r->module.pending.len == 1;
    return out->module != NULL;
}

/* ---- I.name(...) and tvm.name(...) ---------------------------------------------------------- */

static bool in_class(rlx_reader *r, const rlx_ast *call, const char *what)
{
    return (r->module.in_class && r->unit.dialect == RLX_DIALECT_MODULE) ||
           rlx_read_error(r, RLX_PA15, call, "%s stands in the class of a module", what);
}

static bool module_attrs(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v;
    bool overwrite = false;
    if (!in_class(r, call, "I.module_attrs") ||
        !rlx_bind_args(r, call, "I.module_attrs", RLX_PARAMS("attrs", "allow_overwrite"), 1,
                       slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    if (slot[1]) {
        rlx_val flag;
        if (!rlx_read_value(r, slot[1], &flag) || !rlx_to_bool(r, slot[1], &flag, &overwrite))
            return false;
    }
    if (v.kind != RLX_VAL_DICT)
        return rlx_read_expected(r, slot[0], "a dictionary", &v);
    if (r->module.attrs && !overwrite)
        return rlx_read_error(r, RLX_PA13, call, "a module has one I.module_attrs");
    *out = (rlx_val){ .kind = RLX_VAL_NONE };
    return (r->module.attrs = rlx_to_attr(r, slot[0], &v)) != NULL;
}

static bool global_infos(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_val v;
    if (!in_class(r, call, "I.module_global_infos") ||
        !rlx_bind_args(r, call, "I.module_global_infos", RLX_PARAMS("global_infos"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    if (v.kind != RLX_VAL_DICT)
        return rlx_read_expected(r, slot[0], "a dictionary of lists", &v);
    for (size_t i = 1; i < v.list.count; i += 2)
        if (v.list.items[i].kind != RLX_VAL_LIST)
            return rlx_read_expected(r, slot[0], "a list for each name", &v.list.items[i]);
    if (r->module.global_infos)
        return rlx_read_error(r, RLX_PA13, call, "a module has one I.module_global_infos");
    *out = (rlx_val){ .kind = RLX_VAL_NONE };
    r->module.devices_at = rlx_read_place(r, call);
    return (r->module.global_infos = rlx_to_attr(r, slot[0], &v)) != NULL;
}

static bool vdevice(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    return rlx_val_set(out, RLX_VAL_NODE, rlx_make_vdevice(r, call), call);
}

static bool dummy_info(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    rlx_dummy_info key = { .node = { .kind = RLX_NODE_DUMMY_INFO } };
    if (call->count)
        return rlx_read_error(r, RLX_PA12, call, "I.dummy_global_info takes no arguments");
    return rlx_val_set(out, RLX_VAL_NODE, rlx_node_intern(r->ctx, &key.node), call);
}

static bool lookup_vdevice(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    rlx_val v;
    rlx_slice kind;
    int64_t index = 0;
    char text[96];
    if (!rlx_bind_args(r, call, "I.lookup_vdevice", RLX_PARAMS("target_kind", "device_index"), 1,
                       slot) ||
        !rlx_read_value(r, slot[0], &v) || !rlx_to_string(r, slot[0], &v, &kind))
        return false;
    if (slot[1] && (!rlx_read_value(r, slot[1], &v) || !rlx_to_int(r, slot[1], &v, &index)))
        return false;
    if (kind.len > 60 || index < 0 || index > 99999)
        return rlx_read_error(r, RLX_PA10, call, "the module has no such device");
    memcpy(text, kind.data, kind.len);
    size_t n = kind.len, digits = 1;
    for (int64_t i = index; i >= 10; i /= 10)
        digits++;
    text[n] = ':';
    for (size_t i = digits; i > 0; i--, index /= 10)
        text[n + i] = (char)('0' + index % 10);
    return rlx_val_set(out, RLX_VAL_NODE,
                       rlx_read_vdevice(r, call, (rlx_slice){ text, n + 1 + digits }), call);
}

static bool range(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[2];
    if (!rlx_bind_args(r, call, "I.Range", RLX_PARAMS("begin", "end"), 1, slot))
        return false;
    return rlx_val_set(out, RLX_VAL_RANGE, rlx_read_range_of(r, call, slot[0], slot[1]), call);
}

static bool load_json(rlx_reader *r, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[1];
    rlx_val v;
    rlx_slice text;
    if (!rlx_bind_args(r, call, "tvm.ir.load_json", RLX_PARAMS("json_str"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v) || !rlx_to_string(r, slot[0], &v, &text))
        return false;
    r->module.metadata = rlx_metadata_load(r, slot[0], text);
    *out = (rlx_val){ .kind = RLX_VAL_META, .begin = call->begin, .end = call->end };
    return r->module.metadata != NULL;
}

bool rlx_call_ir(rlx_reader *r, rlx_word *path, const rlx_ast *call, rlx_val *out)
{
    static const struct {
        const char *name;
        bool tvm;
        bool (*call)(rlx_reader *, const rlx_ast *, rlx_val *);
    } functions[] = {
        { "module_attrs", false, module_attrs },
        { "module_global_infos", false, global_infos },
        { "vdevice", false, vdevice },
        { "dummy_global_info", false, dummy_info },
        { "lookup_vdevice", false, lookup_vdevice },
        { "Range", false, range },
        { "ir.load_json", true, load_json },
        { "load_json", false, load_json },
        { "ir.Range", true, range },
    };
    const rlx_val *root = call->base->kind == RLX_AST_ATTR ? NULL : &call->base->name->value;
    rlx_val callee;
    if (!root && !rlx_read_value(r, call->base, &callee))
        return false;
    bool tvm = (root ? root->sub : callee.sub) == RLX_SPACE_TVM;
    for (size_t i = 0; i < RLX_COUNT(functions); i++)
        if (functions[i].tvm == tvm &&
            rlx_slice_is(rlx_string_slice(path->text), functions[i].name))
            return functions[i].call(r, call, out);
    return rlx_unknown_function(r, tvm ? RLX_SPACE_TVM : RLX_SPACE_I, path, call->base);
}
