/* reader_relax.c: Relax functions: headers, statements, blocks, branches. Every binding goes
 * through the block builder, so that the function is normal and typed when its last line has
 * been read. */
#include "script/reader.h"

typedef struct rlx_relax_state {
    const struct rlx_relax_state *outer;
    rlx_pending *f;
    const rlx_expr *self;
    /* the builder has the function: no func_attr changes its purity any more */
    bool begun;
    const rlx_attr *attrs;
    const rlx_expr *result;
    rlx_place result_at;
    bool returned, returned_in_branch;
    bool lost_else;             /* the else of the last if could not be read */
    uint32_t block;             /* serial number of the open dataflow block, 0: none */
    rlx_place block_at;
    size_t block_names;         /* where its names begin among those that are bound */
    bool block_closed;          /* its R.output was read */
    bool looked_ahead;          /* what it outputs is marked in the table of names */
    struct block_text {         /* its first line, for looking ahead */
        bool lines;             /* false: the rest of one line */
        uint32_t line, begin, column;
    } block_text;
    RLX_VEC(rlx_meaning) outputs;  /* what it outputs */
} rlx_relax_state;

/* Where statements stand: in a function, a dataflow block, or a branch (whose last binding is
 * its value). */
typedef struct relax_scope {
    const char *suffix;         /* branch: appended to the name of its last binding; else NULL */
    rlx_word *name;             /* branch: out: that name, NULL if there was no binding */
    const rlx_expr *value;      /* branch: out: its value */
    uint32_t begin, end;
} relax_scope;

static void read_statements(rlx_reader *r, rlx_suite *s, relax_scope *scope);

/* ---- headers -------------------------------------------------------------------------------- */

typedef struct bound_vars {
    rlx_memory *memory;
    rlx_prim_vars vars;
    const rlx_scope *outer;
} bound_vars;

static bool is_bound(void *user, const rlx_prim_var *v)
{
    const bound_vars *b = user;
    for (size_t i = 0; i < b->vars.len; i++)
        if (b->vars.data[i] == v)
            return true;
    return b->outer && rlx_scope_has(b->outer, v);
}

/* Shape variables of function descriptions that nothing else binds are placeholders of the
 * description. */
static const rlx_sinfo *close_annotation(rlx_reader *r, const rlx_sinfo *s)
{
    if (!s || !(s->flags & RLX_FLAG_HAS_FUNC))
        return s;
    bound_vars b = { .outer = r->builder && r->unit.relax && r->unit.relax->begun
                                  ? rlx_builder_scope(r->builder)
                                  : NULL };
    return rlx_close_binders(r->ctx, s, is_bound, &b);
}

static bool close_params(rlx_reader *r, const rlx_sinfo **infos, size_t count,
                         const rlx_sinfo **ret)
{
    bool any = *ret && ((*ret)->flags & RLX_FLAG_HAS_FUNC);
    for (size_t i = 0; i < count; i++)
        any |= (infos[i]->flags & RLX_FLAG_HAS_FUNC) != 0;
    if (!any)
        return true;
    bound_vars b = { .outer = r->builder && r->unit.relax && r->unit.relax->begun
                                  ? rlx_builder_scope(r->builder)
                                  : NULL };
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = rlx_collect_prim_vars(&r->ctx->memory, infos[i], true, &b.vars);
    for (size_t i = 0; i < count && ok; i++)
        ok = (infos[i] = rlx_close_binders(r->ctx, infos[i], is_bound, &b)) != NULL;
    if (ok && *ret)
        ok = (*ret = rlx_close_binders(r->ctx, *ret, is_bound, &b)) != NULL;
    rlx_vec_free(&r->ctx->memory, &b.vars);
    return ok;
}

static bool duplicate_params(rlx_reader *r, const rlx_source_line *def)
{
    /* parameters bind in the header's own frame: a name bound there already is a second one, or
     * a dimension */
    for (const rlx_ast *p = def->target; p; p = p->next) {
        rlx_val v = { .kind = RLX_VAL_ERROR };
        if (rlx_word_in_frame(r, p->name))
            return rlx_read_error(r, RLX_PA13, p, "%s is already defined in the signature",
                                  p->name->text->data);
        if (!rlx_word_bind(r, p->name, &v))
            return false;
    }
    return true;
}

static const rlx_expr *make_param(rlx_reader *r, const rlx_ast *p, const rlx_sinfo *info,
                                  const rlx_place *places, size_t count)
{
    rlx_var *v = rlx_node_new(r->ctx, RLX_NODE_VAR);
    if (!v)
        return NULL;
    v->place = rlx_read_place(r, p);
    v->name = p->name->text;
    v->number = -1;
    v->sinfo = info;
    v->sinfo_places = places;
    v->num_sinfo_places = count;
    return &v->node;
}

static bool bind_var(rlx_reader *r, rlx_word *w, const rlx_expr *var, uint32_t begin, uint32_t end)
{
    const rlx_var *v = rlx_as_var(var);
    rlx_val value = { .kind = RLX_VAL_EXPR,
                      .sub = v && rlx_sinfo_is_void(v->sinfo),
                      .begin = begin,
                      .end = end,
                      .node = var };
    return rlx_word_bind(r, w, &value);
}

/* An annotation that cannot be read counts as R.Object: the rest of the function is read all
 * the same, so that its mistakes are reported too. */
static const rlx_sinfo *param_annotation(rlx_reader *r, const rlx_ast *p)
{
    if (!p->base)
        return rlx_read_error(r, RLX_PA17, p, "parameter %s needs an annotation%s", p->name->text->data,
                              rlx_slice_is(rlx_string_slice(p->name->text), "self")
                                  ? "; functions of a module have no self" : ""),
               NULL;
    r->annotation.variable = p->name;
    const rlx_sinfo *s = rlx_read_sinfo(r, p->base);
    r->annotation.variable = NULL;
    return s;
}

static void read_result_annotation(rlx_reader *r, const rlx_source_line *def, rlx_pending *f)
{
    size_t mark = r->annotation.places.len;
    if (!def->annotation)
        return;
    r->unit.where.part = RLX_PART_RETURN;
    f->ret = rlx_read_sinfo(r, def->annotation);
    f->ret_places = rlx_take_places(r, mark, &f->num_ret_places);
    if (f->ret)
        return;
    rlx_read_failed(r, f->name);
    f->ret = r->ctx->object;
    f->num_ret_places = 0;
}

/* The parameters get their names; one whose annotation failed is silent where it is used. */
static bool bind_params(rlx_reader *r, const rlx_source_line *def, rlx_pending *f,
                        const bool *failed)
{
    size_t i = 0;
    for (const rlx_ast *p = def->target; p; p = p->next, i++) {
        if (failed[i])
            rlx_word_fail(r, p->name);
        else if (!bind_var(r, p->name, f->params[i], p->begin, p->end))
            return false;
    }
    return true;
}

static bool read_header(rlx_reader *r, const rlx_source_line *def, rlx_pending *f)
{
    size_t n = 0;
    bool ok = true;
    r->unit.where = (rlx_whereabouts){ f, RLX_PART_HEADER, 0, NULL };
    for (const rlx_ast *p = def->target; p && ok; p = p->next, n++)
        ok = !p->base || rlx_define_shape_vars(r, p->base);
    const rlx_sinfo **infos = rlx_region_array(&r->parser.region, n + 1, sizeof *infos);
    f->params = rlx_new(r->ctx, (n + 1) * sizeof *f->params);
    const rlx_place **places = rlx_region_array(&r->parser.region, n + 1, sizeof *places);
    size_t *counts = rlx_region_array(&r->parser.region, n + 1, sizeof *counts), i = 0;
    bool *failed = rlx_region_array(&r->parser.region, n + 1, sizeof *failed);
    if (!ok || !infos || !f->params || !places || !counts || !failed)
        return ok ? false : false;
    for (const rlx_ast *p = def->target; p; p = p->next, i++) {
        size_t mark = r->annotation.places.len;
        infos[i] = param_annotation(r, p);
        places[i] = rlx_take_places(r, mark, &counts[i]);
        failed[i] = !infos[i];
        if (failed[i])
            infos[i] = r->ctx->object, counts[i] = 0;
    }
    read_result_annotation(r, def, f);
    if (!close_params(r, infos, n, &f->ret) || !duplicate_params(r, def))
        return false;
    i = 0;
    for (const rlx_ast *p = def->target; p; p = p->next, i++)
        if (!(f->params[i] = make_param(r, p, infos[i], places[i], counts[i])))
            return false;
    f->num_params = n;
    return bind_params(r, def, f, failed);
}

static bool read_params(rlx_reader *r, const rlx_source_line *def, rlx_pending *f)
{
    rlx_whereabouts outer = r->unit.where;
    bool ok = read_header(r, def, f);
    r->unit.where = outer;
    return ok;
}

/* Bindings of the frame since `mark`, bound again when the body is read. */
bool rlx_keep_names(rlx_reader *r, uint32_t mark, rlx_pending *f)
{
    size_t n = r->scope.bound.len - mark;
    rlx_meaning *names = rlx_region_array(&r->unit.region, n + 1, sizeof *names);
    if (!names)
        return false;
    for (size_t i = 0; i < n; i++)
        names[i] = (rlx_meaning){ r->scope.bound.data[mark + i],
                                  r->scope.bound.data[mark + i]->value };
    f->names = names;
    f->num_names = n;
    return true;
}

bool rlx_restore_names(rlx_reader *r, const rlx_pending *f)
{
    for (size_t i = 0; i < f->num_names; i++)
        if (!rlx_word_bind(r, f->names[i].name, &f->names[i].value))
            return false;
    return true;
}

bool rlx_relax_header(rlx_reader *r, const rlx_source_line *def, rlx_pending *f)
{
    enum rlx_dialect dialect = r->unit.dialect;
    r->unit.dialect = RLX_DIALECT_RELAX;
    uint32_t frame = rlx_reader_frame_enter(r);
    r->unit.header = def;
    bool ok = rlx_define_type_params(r, def) && read_params(r, def, f) &&
              rlx_keep_names(r, frame, f);
    r->unit.header = NULL;
    rlx_reader_frame_leave(r, frame);
    r->unit.dialect = dialect;
    return ok;
}

/* ---- bindings ------------------------------------------------------------------------------- */

static rlx_place line_place(const rlx_reader *r, const rlx_source_line *line)
{
    return rlx_place_make(r->text.source, line->begin, line->end - line->begin);
}

/* The builder gets the function when its first binding comes: by then its attributes are known. */
static bool begin(rlx_reader *r)
{
    rlx_relax_state *s = r->unit.relax;
    if (s->begun)
        return true;
    const rlx_pending *f = s->f;
    s->begun = rlx_builder_begin_function(r->builder, f->params, f->num_params, !f->impure,
                                          s->attrs, rlx_string_slice(f->name->text), s->self);
    return s->begun;
}

/* A literal, or a variable in scope. */
static bool is_known_size(const rlx_scope *scope, const rlx_prim *p)
{
    const rlx_prim_var *v = rlx_as_prim_var(p);
    int64_t literal;
    return v ? rlx_scope_has(scope, v) : rlx_int_literal(p, &literal);
}

void rlx_relax_check_size(rlx_reader *r, const rlx_ast *at, const rlx_prim *p)
{
    rlx_prim_vars vars = { 0 };
    int64_t literal;
    if (r->unit.dialect != RLX_DIALECT_RELAX || r->unit.where.part != RLX_PART_BODY ||
        rlx_int_literal(p, &literal) || !begin(r))
        return;
    const rlx_scope *scope = rlx_builder_scope(r->builder);
    const rlx_binary *b = rlx_as_binary(p);
    if (b ? is_known_size(scope, b->a) && is_known_size(scope, b->b) : is_known_size(scope, p))
        return; /* nearly all are n or n + 1 */
    (void)rlx_collect_prim_vars(&r->ctx->memory, p, false, &vars);
    for (size_t i = 0; i < vars.len; i++)
        if (!rlx_scope_has(scope, vars.data[i])) {
            rlx_error(r->ctx, RLX_WF05, rlx_read_place(r, at),
                      "shape variable %s is used before it is bound",
                      rlx_show(r->ctx, &vars.data[i]->node));
            rlx_note(r->ctx, RLX_NO_PLACE, "a dimension of a parameter binds it, or an R.match_cast above this line");
        }
    rlx_vec_free(&r->ctx->memory, &vars);
}

static bool is_leaf(const rlx_expr *e)
{
    switch (e->kind) {
    case RLX_NODE_CALL:
    case RLX_NODE_TUPLE_GET_ITEM:
    case RLX_NODE_IF:
    case RLX_NODE_FUNCTION:
    case RLX_NODE_SEQ_EXPR:
        return false;
    default: return true;
    }
}

/* The left side of a statement. */
typedef struct target {
    rlx_word *word;
    uint32_t begin, end;
    const rlx_sinfo *annotation;
    const rlx_place *places; size_t num_places;
    bool last;                  /* the value of the branch */
} target;

/* rlx_word.last_bound of an output, if it is no place. */
#define NOT_FOUND (UINT32_MAX - 1)
#define ANYWHERE UINT32_MAX

/* False as long as nobody looked ahead: most variables are made outputs when R.output is read. */
static bool is_output(const rlx_reader *r, const rlx_source_line *line, const rlx_word *w)
{
    return r->unit.relax->block && w->output_block == r->unit.relax->block &&
           (w->last_bound == line->begin || w->last_bound == ANYWHERE);
}

static bool look_ahead(rlx_reader *r);

static const rlx_string *with_suffix(rlx_reader *r, const rlx_word *w, const char *suffix)
{
    size_t a = w->text->len, b = strlen(suffix);
    char *text = rlx_region_alloc(&r->parser.region, a + b + 1);
    if (!text)
        return NULL;
    memcpy(text, w->text->data, a);
    memcpy(text + a, suffix, b);
    return rlx_string_intern(r->ctx, (rlx_slice){ text, a + b });
}

/* Does the value of a branch need no binding? An annotation that is not certain to hold does: it
 * is believed, and checked when the program runs. */
static bool is_plain_value(rlx_reader *r, const target *t, const rlx_expr *e)
{
    if (!t->annotation)
        return true;
    const rlx_sinfo *have = rlx_leaf_sinfo(r->ctx, r->module.env, e);
    return have && rlx_assignable(r->ctx, rlx_builder_scope(r->builder), have, t->annotation,
                                  NULL) == RLX_ASSIGNABLE_YES;
}

static bool branch_leaf(rlx_reader *r, relax_scope *scope, const target *t, const rlx_expr *e)
{
    e = rlx_builder_normalize(r->builder, e);
    if (!e)
        return false;
    rlx_builder_count_name(r->builder);
    scope->name = t->word;
    scope->value = e;
    return true;
}

static rlx_emit emit_how(rlx_reader *r, const rlx_source_line *line, const target *t)
{
    return (rlx_emit){ .name = t->word->text,
                       .number = -1,
                       .annotation = t->annotation,
                       .annotation_places = t->places,
                       .num_annotation_places = t->num_places,
                       .output = is_output(r, line, t->word),
                       .place = line_place(r, line),
                       .var_place = rlx_place_make(r->text.source, t->begin, t->end - t->begin) };
}

/* Struct info that names variables is another one where these are gone: then it matters from
 * the binding on whether the variable is an output. */
static bool settle_output(rlx_reader *r, const rlx_source_line *line, const target *t,
                          const rlx_var *v)
{
    if (!r->unit.relax->block || !rlx_builder_output_differs(v))
        return true;
    return look_ahead(r) &&
           (!is_output(r, line, t->word) || rlx_builder_output(r->builder, v));
}

static bool bound(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, const target *t,
                  const rlx_var *v)
{
    if (!v || !settle_output(r, line, t, v))
        return rlx_word_fail(r, t->word);
    if (t->last && scope->suffix) {
        scope->name = t->word;
        scope->value = rlx_sinfo_is_void(v->sinfo)
                           ? rlx_tuple_new(r->ctx, NULL, 0, line_place(r, line))
                           : &v->node;
    }
    return bind_var(r, t->word, &v->node, t->begin, t->end);
}

static bool misplaced(rlx_reader *r, const rlx_source_line *line)
{
    if (r->unit.relax->block_closed)
        return rlx_read_error_at(r, RLX_PA27, line->begin, line->end,
                                 "nothing is bound after R.output in a dataflow block");
    if (r->unit.relax->returned)
        return rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                                 "nothing follows the return of a function");
    return false;
}

static bool emit(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, const target *t,
                 const rlx_expr *e)
{
    if (!e || misplaced(r, line) || r->unit.relax->block_closed || !begin(r))
        return rlx_word_fail(r, t->word);
    rlx_emit how = emit_how(r, line, t);
    if (t->last && scope->suffix) {
        if (is_leaf(e) && is_plain_value(r, t, e))
            return branch_leaf(r, scope, t, e) || rlx_word_fail(r, t->word);
        how.name = with_suffix(r, t->word, scope->suffix);
    }
    return bound(r, scope, line, t, rlx_builder_emit(r->builder, e, &how));
}

/* ---- match_cast ----------------------------------------------------------------------------- */

static const rlx_ast *match_call(rlx_reader *r, const rlx_ast *value, bool *older)
{
    if (!value || value->kind != RLX_AST_CALL)
        return NULL;
    *older = rlx_is_function(r, value->base, RLX_SPACE_R, RLX_SPECIAL_match_shape);
    return *older || rlx_is_function(r, value->base, RLX_SPACE_R, RLX_SPECIAL_match_cast) ? value
                                                                                          : NULL;
}

/* R.match_shape(x, (m, n)): names of the pattern that mean nothing yet become shape variables */
static const rlx_sinfo *older_pattern(rlx_reader *r, const rlx_expr *value, const rlx_ast *pattern)
{
    rlx_val v;
    for (const rlx_ast *a = pattern->first;
         a && (pattern->kind == RLX_AST_TUPLE || pattern->kind == RLX_AST_LIST); a = a->next) {
        if (a->kind != RLX_AST_NAME || a->name->value.kind)
            continue;
        const rlx_prim_var *n =
            rlx_prim_var_new(r->ctx, a->name->text, RELAX_INT64, rlx_read_place(r, a));
        rlx_val fresh = rlx_val_node(RLX_VAL_PRIM, n ? &n->node : NULL, a);
        if (!n || !rlx_word_bind(r, a->name, &fresh))
            return NULL;
    }
    const rlx_expr *shape = rlx_read_value(r, pattern, &v) ? rlx_to_shape(r, pattern, &v) : NULL;
    const rlx_shape_expr *s = rlx_as_shape_expr(shape);
    const rlx_sinfo *have = s ? rlx_builder_infer(r->builder, value) : NULL;
    if (!have)
        return NULL;
    if (rlx_as_tensor_sinfo(have))
        return rlx_tensor_info(r->ctx, shape, rlx_as_tensor_sinfo(have)->dtype, -1,
                               rlx_as_tensor_sinfo(have)->vdevice);
    return rlx_shape_info(r->ctx, s->values, s->num_values);
}

/* A cast whose value failed: what it says of its variable, and the sizes that it binds, are known
 * all the same. */
static const rlx_var *match_nothing(rlx_reader *r, const rlx_sinfo *info, const rlx_emit *how)
{
    bool dataflow = rlx_builder_in_dataflow(r->builder) && !how->output;
    const rlx_expr *nothing = rlx_tuple_new(r->ctx, NULL, 0, how->place);
    const rlx_var *v = rlx_var_new(r->ctx, dataflow, how->name, how->number, info, how->var_place);
    const rlx_binding *b =
        v && nothing ? rlx_match_cast_new(r->ctx, v, info, nothing, how->place) : NULL;
    return b && rlx_builder_emit_binding(r->builder, b) ? v : NULL;
}

static bool read_match(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, target *t,
                       const rlx_ast *call, bool older)
{
    const rlx_ast *slot[2];
    if (misplaced(r, line) || r->unit.relax->block_closed || !begin(r))
        return rlx_word_fail(r, t->word);
    if (!rlx_bind_args(r, call, older ? "R.match_shape" : "R.match_cast",
                       rlx_keyword(call, "ty") ? RLX_PARAMS("value", "ty")
                                               : RLX_PARAMS("value", "struct_info"),
                       2, slot))
        return rlx_word_fail(r, t->word);
    rlx_val v;
    const rlx_expr *value = NULL;
    if (rlx_read_value(r, slot[0], &v)) {
        if (v.kind == RLX_VAL_SINFO) {
            rlx_read_error(r, RLX_PA12, call, "R.match_cast takes the value first, then what it is cast to");
            return rlx_word_fail(r, t->word);
        }
        value = rlx_to_expr(r, slot[0], &v, true);
    }
    const rlx_sinfo *info = NULL;
    size_t mark = r->annotation.places.len, count;
    if (value && older) {
        rlx_read_note(r, call, "R.match_shape is an older spelling of R.match_cast");
        info = older_pattern(r, value, slot[1]);
    } else if (!older) {
        info = close_annotation(r, rlx_read_sinfo(r, slot[1]));
    }
    const rlx_place *places = rlx_take_places(r, mark, &count);
    if (!t->places) { /* without an annotation of its own, the parts of the pattern tell where the
                         type comes from */
        t->places = places;
        t->num_places = count;
    }
    if (!info)
        return rlx_word_fail(r, t->word);
    rlx_emit how = emit_how(r, line, t);
    how.cast_places = places;
    how.num_cast_places = count;
    if (t->last && scope->suffix)
        how.name = with_suffix(r, t->word, scope->suffix);
    return bound(r, scope, line, t,
                 value ? rlx_builder_emit_match(r->builder, value, info, &how, false)
                       : match_nothing(r, info, &how));
}

/* ---- assignments ---------------------------------------------------------------------------- */

/* n = T.Var("n", "int64"), which means T.int64() where the two names are one */
static bool declares_named(rlx_reader *r, const rlx_ast *call, const rlx_word *own,
                           rlx_dtype *dtype)
{
    const rlx_ast *name = call->first, *type = name ? name->next : NULL;
    return call->count == 2 && rlx_slice_is(rlx_string_slice(call->base->name->text), "Var") &&
           name->kind == RLX_AST_STRING && type->kind == RLX_AST_STRING && own &&
           rlx_slice_equal(name->string, rlx_string_slice(own->text)) &&
           rlx_dtype_parse(type->string, dtype) && *dtype != RELAX_HANDLE;
}

/* n = T.var("int64"), an older spelling of T.int64() */
static bool declares_older(const rlx_ast *call, rlx_dtype *dtype)
{
    return call->count == 1 && call->first->kind == RLX_AST_STRING &&
           rlx_slice_is(rlx_string_slice(call->base->name->text), "var") &&
           rlx_dtype_parse(call->first->string, dtype) && *dtype != RELAX_HANDLE &&
           *dtype != RELAX_VOID;
}

/* n = T.int64(): declares a shape variable, or says again what the signature declared */
static bool declares_var(rlx_reader *r, const rlx_ast *bound, const rlx_ast *value,
                         rlx_dtype *dtype)
{
    rlx_val v;
    if (value->kind != RLX_AST_CALL || value->base->kind != RLX_AST_ATTR ||
        value->base->base->kind != RLX_AST_NAME)
        return false;
    const rlx_val *base = &value->base->base->name->value;
    if (base->kind != RLX_VAL_SPACE || base->sub != RLX_SPACE_T)
        return false;
    if (declares_named(r, value, bound->kind == RLX_AST_NAME ? bound->name : NULL, dtype) ||
        declares_older(value, dtype))
        return true;
    if (value->count && !(value->count == 1 && value->first->kind == RLX_AST_KEYWORD))
        return false;
    if (!rlx_read_value(r, value->base, &v))
        return false;
    return rlx_tir_reader_dtype_name(rlx_string_slice(v.fn.path->text), dtype) &&
           *dtype != RELAX_HANDLE && *dtype != RELAX_VOID;
}

static bool declare_var(rlx_reader *r, const rlx_ast *name, const rlx_ast *call, rlx_dtype dtype)
{
    rlx_dtype older;
    if (declares_older(call, &older))
        rlx_read_note(r, call, "T.var(\"%.*s\") is an older spelling of T.%.*s()",
                      (int)call->first->string.len, call->first->string.data,
                      (int)call->first->string.len, call->first->string.data);
    rlx_word *w = name->name;
    const rlx_prim_var *known =
        w->value.kind == RLX_VAL_PRIM ? rlx_as_prim_var(w->value.node) : NULL;
    if (known && rlx_string_equal(known->name, w->text)) {
        if (known->dtype == dtype)
            return true;
        char have[RLX_DTYPE_TEXT], want[RLX_DTYPE_TEXT];
        rlx_dtype_name(known->dtype, have);
        rlx_dtype_name(dtype, want);
        return rlx_read_error(r, RLX_PA28, name, "shape variable %s is %s, declared here as %s",
                              w->text->data, have, want);
    }
    if (rlx_word_in_frame(r, w) && w->value.kind == RLX_VAL_EXPR)
        return rlx_read_error(r, RLX_PA13, name, "%s is already the name of a value",
                              w->text->data);
    const rlx_prim_var *v = rlx_prim_var_new(r->ctx, w->text, dtype, rlx_read_place(r, name));
    rlx_val value = rlx_val_node(RLX_VAL_PRIM, v ? &v->node : NULL, name);
    return v && rlx_word_bind(r, w, &value);
}

static const rlx_expr *as_bound_expr(rlx_reader *r, const rlx_ast *at, const rlx_val *v,
                                     const rlx_sinfo *annotation)
{
    if (v->kind == RLX_VAL_EXPR)
        return rlx_to_expr(r, at, v, true);
    if (v->kind == RLX_VAL_TUPLE || v->kind == RLX_VAL_LIST) {
        if (!rlx_as_shape_sinfo(annotation))
            return rlx_to_expr(r, at, v, true);
        rlx_read_note(r, at, "a shape value is written R.shape([...])");
        return rlx_to_shape(r, at, v);
    }
    return rlx_const_of(r, at, v, RELAX_VOID);
}

/* Is the value bound to a variable of the program, or does the name only stand for it? */
static bool makes_binding(const rlx_val *v, const rlx_sinfo *annotation)
{
    return v->kind == RLX_VAL_EXPR || v->kind == RLX_VAL_TUPLE || v->kind == RLX_VAL_INT ||
           v->kind == RLX_VAL_FLOAT || v->kind == RLX_VAL_BOOL ||
           (v->kind == RLX_VAL_LIST && annotation);
}

static bool assign_value(rlx_reader *r, relax_scope *scope, const rlx_source_line *line,
                         const target *t, const rlx_ast *at, rlx_val *v)
{
    const rlx_word *w = t->word;
    const rlx_prim_sinfo *scalar = rlx_as_prim_sinfo(t->annotation);
    if (scalar && (v->kind == RLX_VAL_INT || v->kind == RLX_VAL_FLOAT || v->kind == RLX_VAL_BOOL))
        return emit(r, scope, line, t,
                    rlx_to_scalar_value(r, at, rlx_val_literal(r, at, v, scalar->dtype)));
    if (makes_binding(v, t->annotation)) {
        if (w->value.kind == RLX_VAL_PRIM && rlx_as_prim_var(w->value.node) &&
            rlx_word_in_frame(r, w) && rlx_string_equal(rlx_as_prim_var(w->value.node)->name, w->text))
            return rlx_read_error_at(r, RLX_PA13, t->begin, t->end,
                                     "%s is a shape variable here: a value needs another name",
                                     w->text->data);
        return emit(r, scope, line, t, as_bound_expr(r, at, v, t->annotation));
    }
    if (t->annotation && v->kind == RLX_VAL_PRIM)
        return emit(r, scope, line, t, rlx_to_scalar_value(r, at, v->node));
    if (t->annotation)
        return rlx_read_expected(r, at, "a Relax expression", v), rlx_word_fail(r, t->word);
    if (rlx_is_operator(r, v))
        return rlx_read_op_value(r, at, v), rlx_word_fail(r, t->word);
    const rlx_prim_var *var = v->kind == RLX_VAL_PRIM ? rlx_as_prim_var(v->node) : NULL;
    if (var && !rlx_string_equal(var->name, w->text))
        return rlx_read_error_at(r, RLX_PA13, t->begin, t->end,
                                 "shape variable %s cannot have the second name %s",
                                 var->name->data, w->text->data);
    return rlx_val_keep(r, v) && rlx_word_bind(r, t->word, v);
}

static bool assign_one(rlx_reader *r, relax_scope *scope, const rlx_source_line *line,
                       const rlx_ast *name, const rlx_ast *value, bool last)
{
    target t = { .word = name->name, .begin = name->begin, .end = name->end, .last = last };
    rlx_dtype dtype;
    bool older = false;
    if (declares_var(r, name, value, &dtype) && !line->annotation)
        return declare_var(r, name, value, dtype);
    if (line->annotation) {
        t.annotation =
            close_annotation(r, rlx_annotation_of(r, line->annotation, name->name, &t.places,
                                                  &t.num_places));
        if (!t.annotation)
            return rlx_word_fail(r, t.word);
    }
    const rlx_ast *match = match_call(r, value, &older);
    if (match)
        return read_match(r, scope, line, &t, match, older);
    rlx_val v;
    if (!rlx_read_value(r, value, &v))
        return rlx_word_fail(r, t.word);
    return assign_value(r, scope, line, &t, value, &v) ||
           (t.word->value.kind != RLX_VAL_PRIM && rlx_word_fail(r, t.word));
}

/* The names of a tuple target fail together. */
static bool fail_targets(rlx_reader *r, const rlx_ast *a)
{
    if (a->kind == RLX_AST_NAME)
        return rlx_word_fail(r, a->name);
    if (a->kind == RLX_AST_TUPLE || a->kind == RLX_AST_LIST)
        for (const rlx_ast *i = a->first; i; i = i->next)
            fail_targets(r, i); /* nested in brackets: limited */
    return false;
}

static bool check_names(rlx_reader *r, const rlx_ast *targets)
{
    const rlx_ast *i = targets->first;
    for (; i && i->kind == RLX_AST_NAME && !i->name->is_target; i = i->next)
        i->name->is_target = true;
    for (const rlx_ast *k = targets->first; k != i; k = k->next)
        k->name->is_target = false;
    if (!i)
        return true;
    return i->kind == RLX_AST_NAME
               ? rlx_read_error(r, RLX_PA13, i, "%s stands twice on the left side",
                                i->name->text->data)
               : rlx_read_error(r, RLX_PA26, i, "only names can be bound in Relax");
}

/* Field i of a tuple expression for each name. */
static bool unpack_expr(rlx_reader *r, relax_scope *scope, const rlx_source_line *line,
                        const rlx_expr *e, bool last)
{
    const rlx_ast *targets = line->target;
    if (!begin(r))
        return false;
    if (!rlx_as_tuple(e) && !(e = rlx_builder_operand(r->builder, e)))
        return false;
    const rlx_sinfo *info = rlx_builder_infer(r->builder, e);
    const rlx_tuple_sinfo *s = rlx_as_tuple_sinfo(info);
    if (!info)
        return false;
    if (!s || s->num_fields != targets->count)
        return rlx_read_error_at(r, RLX_PA12, line->begin, line->end,
                                 "%u names cannot be bound to a value that is %s%s",
                                 (unsigned)targets->count, rlx_show(r->ctx, info),
                                 rlx_as_tensor_sinfo(info) ? "; R.split(x, ...) gives a tuple of its parts" : "");
    int64_t i = 0;
    for (const rlx_ast *a = targets->first; a; a = a->next, i++) {
        target t = { .word = a->name, .begin = a->begin, .end = a->end, .last = last && !a->next };
        const rlx_tuple *literal = rlx_as_tuple(e);
        const rlx_expr *field = literal ? literal->fields[i]
                                        : rlx_tuple_get_item_new(r->ctx, e, i, line_place(r, line));
        if (!emit(r, scope, line, &t, field))
            return false;
    }
    return true;
}

/* All values of the right side are known before the first name is bound: a, b = b, a */
static bool assign_each(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, bool last)
{
    const rlx_ast *value = line->value->first;
    rlx_val *values = rlx_region_array(&r->parser.region, line->target->count + 1, sizeof *values);
    if (!values)
        return false;
    size_t i = 0;
    rlx_dtype dtype;
    for (const rlx_ast *a = value, *t = line->target->first; a; a = a->next, t = t->next, i++)
        if (!declares_var(r, t, a, &dtype) && !rlx_read_value(r, a, &values[i]))
            return false;
    i = 0;
    for (const rlx_ast *a = line->target->first; a; a = a->next, value = value->next, i++) {
        target t = { .word = a->name, .begin = a->begin, .end = a->end, .last = last && !a->next };
        if (declares_var(r, a, value, &dtype) ? !declare_var(r, a, value, dtype)
                                           : !assign_value(r, scope, line, &t, value, &values[i]))
            return false;
    }
    return true;
}

static bool assign_tuple(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, bool last)
{
    rlx_val v;
    if (line->annotation)
        return rlx_read_error(r, RLX_PA26, line->target, "a tuple of names takes no annotation");
    if (!check_names(r, line->target))
        return false;
    if (line->value->kind == RLX_AST_TUPLE && line->value->count == line->target->count)
        return assign_each(r, scope, line, last);
    if (!rlx_read_value(r, line->value, &v))
        return false;
    if (v.kind == RLX_VAL_EXPR)
        return unpack_expr(r, scope, line, v.node, last);
    if ((v.kind != RLX_VAL_TUPLE && v.kind != RLX_VAL_LIST) || v.list.count != line->target->count)
        return rlx_read_error(r, RLX_PA12, line->value, "%u names cannot be bound to %s",
                              (unsigned)line->target->count, rlx_val_text(&v));
    size_t i = 0;
    for (const rlx_ast *a = line->target->first; a; a = a->next, i++) {
        target t = { .word = a->name, .begin = a->begin, .end = a->end, .last = last && !a->next };
        if (!assign_value(r, scope, line, &t, line->value, &v.list.items[i]))
            return false;
    }
    return true;
}

/* The value of the branch failed: so has the name that it would give the value to. */
static void fail_branch(relax_scope *scope, rlx_word *name)
{
    if (scope->suffix && !scope->value && name)
        scope->name = name;
}

static void read_assign(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, bool last)
{
    const rlx_ast *t = line->target;
    if (t->kind == RLX_AST_NAME) {
        bool done = assign_one(r, scope, line, t, line->value, last);
        if (last && done && !scope->value)
            rlx_read_error_at(r, RLX_PA32, line->begin, line->end,
                              "a branch ends by binding its value to a name; %s stands for "
                              "something else", t->name->text->data);
        if (last)
            fail_branch(scope, t->name);
        return;
    }
    bool ok = t->kind == RLX_AST_TUPLE || t->kind == RLX_AST_LIST
                  ? assign_tuple(r, scope, line, last)
                  : rlx_read_error(r, RLX_PA26, t, "only names can be bound in Relax");
    if (!ok)
        fail_targets(r, t);
}

/* ---- other statements ----------------------------------------------------------------------- */

static bool push(rlx_reader *r, const rlx_attr *a)
{
    return a && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)a);
}

/* TVM 0.27 calls tirx.noalias what was tir.noalias. */
static const rlx_attr *attribute_key(rlx_reader *r, rlx_slice text)
{
    static const char newer[] = "tirx.";
    size_t n = sizeof newer - 1;
    if (text.len <= n || memcmp(text.data, newer, n) != 0)
        return rlx_attr_string_new(r->ctx, text);
    char *older = rlx_region_alloc(&r->parser.region, text.len - 1);
    if (!older)
        return NULL;
    memcpy(older, "tir.", n - 1);
    memcpy(older + n - 1, text.data + n, text.len - n);
    return rlx_attr_string_new(r->ctx, (rlx_slice){ older, text.len - 1 });
}

/* Keys are interned: the same text, the same node. */
static bool push_key(rlx_reader *r, rlx_ptrmap *seen, const rlx_val *key)
{
    const rlx_ast at = { .begin = key->begin, .end = key->end };
    rlx_slice text;
    if (!rlx_to_string(r, &at, key, &text))
        return false;
    const rlx_attr *a = attribute_key(r, text);
    if (a && rlx_ptrmap_has(seen, a))
        return rlx_read_error(r, RLX_PA13, &at, "attribute \"%.*s\" is given twice",
                              (int)(text.len > 60 ? 60 : text.len), text.data);
    return push(r, a) && rlx_ptrmap_put(seen, a, 1);
}

/* The entries of `before` (may be NULL) and those of a dictionary, made into a map at once. */
static const rlx_attr *join_attrs(rlx_reader *r, const rlx_attrs *before, const rlx_val *dict)
{
    size_t mark = r->stack.len, old = before ? before->num_keys : 0,
           count = old + dict->list.count / 2;
    rlx_ptrmap seen;
    bool ok = true;
    rlx_ptrmap_init(&seen, &r->ctx->memory);
    for (size_t i = 0; i < old && ok; i++)
        ok = push(r, before->keys[i]) && rlx_ptrmap_put(&seen, before->keys[i], 1);
    for (size_t i = 0; i < dict->list.count && ok; i += 2)
        ok = push_key(r, &seen, &dict->list.items[i]);
    for (size_t i = 0; i < old && ok; i++)
        ok = push(r, before->values[i]);
    for (size_t i = 1; i < dict->list.count && ok; i += 2) {
        const rlx_ast at = { .begin = dict->list.items[i].begin, .end = dict->list.items[i].end };
        ok = push(r, rlx_to_attr(r, &at, &dict->list.items[i]));
    }
    const rlx_attr *const *data = (const rlx_attr *const *)(r->stack.data + mark);
    const rlx_attr *attrs = ok ? rlx_attrs_new(r->ctx, data, data + count, count) : NULL;
    rlx_ptrmap_free(&seen);
    r->stack.len = mark;
    return attrs;
}

/* Notes where each entry of a dictionary of attributes stands, after join_attrs, which refuses a
 * key that was given before: a value and its place are of one entry. */
static bool note_entries(rlx_reader *r, const rlx_val *dict, rlx_pending *f)
{
    for (size_t i = 0; i + 1 < dict->list.count; i += 2) {
        const rlx_val *key = &dict->list.items[i], *value = key + 1;
        const rlx_ast at = { .begin = key->begin, .end = key->end };
        rlx_slice text;
        rlx_attr_entry *entry = rlx_region_alloc(&r->unit.region, sizeof *entry);
        if (!entry)
            return false;
        if (!rlx_to_string(r, &at, key, &text))
            return false;
        *entry = (rlx_attr_entry){ .key = attribute_key(r, text),
                                   .place = rlx_place_make(r->text.source, key->begin,
                                                           value->end - key->begin),
                                   .before = f->attr_entries };
        f->attr_entries = entry;
    }
    return true;
}

const rlx_place *rlx_attr_places(rlx_reader *r, const rlx_pending *f, const rlx_attr *attrs,
                                 uint32_t *count)
{
    const rlx_attrs *map = rlx_as_attrs(attrs);
    *count = 0;
    if (!f->attr_entries || !map)
        return NULL;
    rlx_place *places = rlx_new(r->ctx, map->num_keys * sizeof *places);
    rlx_ptrmap at;
    rlx_ptrmap_init(&at, &r->ctx->memory);
    bool ok = places != NULL;
    for (const rlx_attr_entry *e = f->attr_entries; e && ok; e = e->before)
        ok = rlx_ptrmap_put(&at, e->key, (uintptr_t)e);
    for (size_t i = 0; i < map->num_keys && ok; i++) {
        const rlx_attr_entry *e = rlx_ptrmap_get(&at, map->keys[i]);
        places[i] = e ? e->place : RLX_NO_PLACE;
    }
    rlx_ptrmap_free(&at);
    *count = ok ? map->num_keys : 0;
    return ok ? places : NULL;
}

const rlx_attr *rlx_read_attr_dict(rlx_reader *r, const rlx_ast *call, const rlx_attr *before,
                                   rlx_pending *f, const char *what)
{
    const rlx_ast *slot[1];
    rlx_val v;
    if (!rlx_bind_args(r, call, what, RLX_PARAMS("attrs"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return NULL;
    if (v.kind != RLX_VAL_DICT)
        return rlx_read_expected(r, slot[0], "a dictionary", &v), NULL;
    const rlx_attr *attrs = join_attrs(r, rlx_as_attrs(before), &v);
    return attrs && (!f || note_entries(r, &v, f)) ? attrs : NULL;
}

static void read_func_attr(rlx_reader *r, const rlx_ast *call)
{
    const rlx_attr *attrs =
        rlx_read_attr_dict(r, call, r->unit.relax->attrs, r->unit.relax->f, "R.func_attr");
    if (!attrs)
        return;
    const rlx_attr_string *symbol = rlx_as_attr_string(rlx_attrs_get(attrs, "global_symbol"));
    if (r->unit.relax->f->is_private && symbol &&
        !rlx_attrs_get(r->unit.relax->attrs, "global_symbol"))
        rlx_read_error(r, RLX_PA23, call, "a private function has no global_symbol");
    r->unit.relax->attrs = attrs;
}

/* The variable that the open block has bound under this name, now an ordinary one. NULL: there
 * is none. */
static const rlx_var *output_of(rlx_reader *r, const rlx_word *w)
{
    const rlx_var *v = w->value.kind == RLX_VAL_EXPR && rlx_word_in_frame(r, w)
                           ? rlx_as_var(w->value.node)
                           : NULL;
    if (v && w->value.sub) /* uses are R.tuple(), so that it prints without a name */
        return v;
    return v && rlx_builder_output(r->builder, v) ? v : NULL;
}

/* What the block outputs is not known: nothing is said of its variables that are used behind it. */
static void output_all(rlx_reader *r)
{
    rlx_relax_state *s = r->unit.relax;
    for (size_t i = s->block_names; s->block && i < r->scope.bound.len; i++) {
        rlx_word *w = r->scope.bound.data[i];
        if (output_of(r, w))
            (void)rlx_vec_push(&r->ctx->memory, &s->outputs, ((rlx_meaning){ w, w->value }));
    }
}

static const char *bound_at(void *user, size_t i)
{
    const rlx_reader *r = user;
    const rlx_word *w = r->scope.bound.data[i];
    bool of_block = w && rlx_word_in_frame(r, w) && w->value.kind == RLX_VAL_EXPR;
    return of_block ? w->text->data : NULL;
}

static void not_an_output(rlx_reader *r, const rlx_ast *a)
{
    if (a->kind == RLX_AST_NAME) {
        const char *near =
            rlx_nearest(r, rlx_string_slice(a->name->text), bound_at, r, r->scope.bound.len);
        rlx_read_error(r, RLX_PA27, a,
                       "R.output lists variables that this dataflow block binds, found %s%s%s",
                       a->name->text->data, near ? "; did you mean " : "", near ? near : "");
    } else if (a->kind == RLX_AST_TUPLE || a->kind == RLX_AST_LIST) {
        rlx_read_error(r, RLX_PA27, a,
                       "R.output lists names one by one, without a tuple: R.output(a, b)");
    } else {
        rlx_read_error(r, RLX_PA27, a,
                       "R.output lists names: bind the value to a name in the line above");
    }
}

static void read_output(rlx_reader *r, const rlx_ast *call)
{
    rlx_relax_state *s = r->unit.relax;
    if (!s->block || s->block_closed) {
        rlx_read_error(r, RLX_PA27, call,
                       s->block ? "a dataflow block has one R.output, which names all its outputs"
                                : "R.output stands in a dataflow block");
        output_all(r);
        return;
    }
    size_t errors = r->text.syntax_errors;
    for (const rlx_ast *a = call->first; a; a = a->next) {
        const rlx_word *w = a->kind == RLX_AST_NAME ? a->name : NULL;
        bool failed = w && w->value.kind == RLX_VAL_ERROR; /* and so it has after the block */
        if (!failed && !(w && output_of(r, w)))
            not_an_output(r, a);
        else
            (void)rlx_vec_push(&r->ctx->memory, &s->outputs, ((rlx_meaning){ a->name, w->value }));
    }
    if (errors != r->text.syntax_errors)
        output_all(r);
    s->block_closed = true;
}

static void read_expression(rlx_reader *r, relax_scope *scope, const rlx_source_line *line,
                            bool last)
{
    const rlx_ast *a = line->value;
    rlx_val v;
    if (a->kind == RLX_AST_CALL &&
        rlx_is_function(r, a->base, RLX_SPACE_R, RLX_SPECIAL_func_attr)) {
        read_func_attr(r, a);
        return;
    }
    bool older =
        a->kind == RLX_AST_CALL && rlx_is_function(r, a->base, RLX_SPACE_R, RLX_SPECIAL_outputs);
    if (older)
        rlx_read_note(r, a, "R.outputs is an older spelling of R.output");
    if (older || (a->kind == RLX_AST_CALL &&
                  rlx_is_function(r, a->base, RLX_SPACE_R, RLX_SPECIAL_output))) {
        read_output(r, a);
        return;
    }
    if (!rlx_read_value(r, a, &v))
        return;
    if (v.kind != RLX_VAL_EXPR && v.kind != RLX_VAL_TUPLE) {
        rlx_read_error(r, RLX_PA15, a,
                       "a statement of its own is a call without a result, found %s%s", rlx_val_text(&v),
                       v.kind == RLX_VAL_STR ? "; comments begin with #" : "");
        return;
    }
    const rlx_expr *e = rlx_to_expr(r, a, &v, true);
    rlx_word *w = e ? rlx_words_get(&r->names, RLX_SLICE("_")) : NULL;
    target t = { .word = w, .begin = a->begin, .end = a->end, .last = last };
    if (!w || !emit(r, scope, line, &t, e))
        return;
    const rlx_var *var = w->value.kind == RLX_VAL_EXPR ? rlx_as_var(w->value.node) : NULL;
    if (var && !rlx_sinfo_is_void(var->sinfo) && var->sinfo != r->ctx->underived)
        rlx_read_error(r, RLX_PA15, a, "the result %s is not used: bind it to a name",
                       rlx_show(r->ctx, var->sinfo));
}

static void read_return(rlx_reader *r, const rlx_source_line *line, const relax_scope *scope)
{
    rlx_relax_state *s = r->unit.relax;
    rlx_val v = { .kind = RLX_VAL_TUPLE };
    if (scope->suffix) {
        if (!s->returned_in_branch) /* the other branches of an if mostly return, too */
            rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                              "a branch has no return: bind its value, and return after the if");
        s->returned_in_branch = true;
        return;
    }
    if (s->returned) {
        rlx_read_error_at(r, RLX_PA15, line->begin, line->end, "a function has one return");
        return;
    }
    s->returned = true;
    s->result_at = line->value ? rlx_read_place(r, line->value) : line_place(r, line);
    if (line->value && !rlx_read_value(r, line->value, &v)) {
        rlx_read_failed(r, NULL);
        return;
    }
    const rlx_ast at = { .begin = line->begin, .end = line->end };
    s->result = rlx_to_expr(r, line->value ? line->value : &at, &v, true);
    if (!s->result)
        rlx_read_failed(r, NULL);
}

/* ---- if ------------------------------------------------------------------------------------- */

/* Skips a suite; what its lines bind has failed. */
static void fail_suite(rlx_reader *r)
{
    rlx_lexer *lx = &r->parser.lexer;
    rlx_lines l = { .text = lx->text, .pos = lx->pos, .len = lx->len, .begin = lx->tok.begin };
    uint32_t top = lx->indents[lx->num_indents - 1];
    while (lx->tok.kind == RLX_TOK_NEWLINE && rlx_lines_next(&l) && l.column > top) {
        rlx_slice name = { l.text + l.begin, rlx_name_end(l.text, l.begin) - l.begin };
        uint32_t at = l.begin + (uint32_t)name.len;
        while (at < l.len && l.text[at] == ' ')
            at++;
        bool binds = name.len && at < l.len && (l.text[at] == '=' || l.text[at] == ':');
        rlx_word *w = binds ? rlx_words_get(&r->names, name) : NULL;
        if (w && !w->value.kind)
            rlx_word_fail(r, w);
        rlx_lines_skip(&l);
    }
    rlx_lexer_skip_suite(lx);
}

/* last: it is known to be the last statement of its branch; otherwise that shows after its own
 * branches. */
static bool read_if(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, bool last);

static const rlx_expr *read_condition(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_BOOL || v.kind == RLX_VAL_INT || v.kind == RLX_VAL_FLOAT) {
        rlx_read_note(r, a, "a constant condition is written R.const(True, \"bool\")");
        return rlx_const_of(r, a, &v, RELAX_BOOL);
    }
    return rlx_to_expr(r, a, &v, v.kind == RLX_VAL_PRIM);
}

/* A branch: statements of a suite, or an elif as the only statement. False if the builder could
 * not open it. */
static const rlx_expr *read_branch(rlx_reader *r, relax_scope *branch, const rlx_source_line *elif,
                                   const rlx_source_line *header)
{
    rlx_suite s;
    bool open = rlx_builder_begin_branch(r->builder);
    uint32_t frame = rlx_reader_frame_enter(r);
    if (elif) {
        read_if(r, branch, elif, true);
    } else if (rlx_suite_enter(&r->parser, &s)) {
        read_statements(r, &s, branch);
        rlx_suite_leave(&r->parser, &s);
    } else {
        r->text.syntax_errors++;
    }
    rlx_reader_frame_leave(r, frame);
    if (!open)
        return NULL;
    rlx_place place = line_place(r, header);
    const rlx_expr *unit = branch->value ? NULL : rlx_tuple_new(r->ctx, NULL, 0, place);
    const rlx_expr *seq =
        rlx_builder_end_branch(r->builder, branch->value ? branch->value : unit, place);
    return branch->value ? seq : NULL;
}

static void no_value(rlx_reader *r, const rlx_source_line *header, const relax_scope *branch,
                     size_t errors)
{
    bool known = branch->value || branch->name || errors != r->text.syntax_errors;
    if (!known && !r->ctx->diags.out_of_memory)
        rlx_read_error_at(r, RLX_PA32, header->begin, header->end,
                          "a branch ends by binding its value to a name");
}

static bool emit_if(rlx_reader *r, relax_scope *scope, const rlx_source_line *line,
                    const rlx_expr *cond, const rlx_expr *yes, const rlx_expr *no,
                    const relax_scope *branches, bool last)
{
    uint8_t next = r->parser.lexer.tok.kind;
    last = last || (scope->suffix && (next == RLX_TOK_DEDENT || next == RLX_TOK_END));
    rlx_word *name = branches[0].name;
    if (name != branches[1].name) {
        rlx_read_error_at(r, RLX_PA32, line->begin, line->end,
                          "one branch binds %s last, the other %s", name->text->data,
                          branches[1].name->text->data);
        rlx_word_fail(r, branches[1].name);
        return rlx_word_fail(r, name);
    }
    target t = { .word = name, .begin = branches[0].begin, .end = branches[0].end, .last = last };
    return emit(r, scope, line, &t, rlx_if_new(r->ctx, cond, yes, no, line_place(r, line)));
}

/* WF07. The names that the branches would bind are known to have failed. */
static bool if_in_block(rlx_reader *r, const rlx_source_line *line)
{
    rlx_lexer *lx = &r->parser.lexer;
    rlx_read_error_at(r, RLX_WF07, line->begin, line->end, "if inside a dataflow block");
    rlx_note(r->ctx, r->unit.relax->block_at, "the block begins here");
    rlx_note(r->ctx, RLX_NO_PLACE, "move it out of the block");
    for (uint8_t kind = RLX_TOK_ELSE; kind == RLX_TOK_ELSE || kind == RLX_TOK_ELIF;) {
        fail_suite(r);
        kind = lx->tok.kind;
        rlx_source_line other;
        if (kind == RLX_TOK_ELSE || kind == RLX_TOK_ELIF)
            rlx_parse_line(&r->parser, &other);
    }
    return false;
}

static bool read_if(rlx_reader *r, relax_scope *scope, const rlx_source_line *line, bool last)
{
    relax_scope branches[2] = { { .suffix = "_then", .begin = line->begin, .end = line->end },
                                { .suffix = "_else" } };
    size_t errors = r->text.syntax_errors;
    if (r->unit.relax->block)
        return if_in_block(r, line);
    bool usable = !misplaced(r, line) && begin(r);
    const rlx_expr *cond = usable ? read_condition(r, line->value) : NULL;
    if (cond)
        cond = rlx_builder_operand(r->builder, cond);
    const rlx_expr *yes = usable ? read_branch(r, &branches[0], NULL, line)
                                 : (rlx_lexer_skip_suite(&r->parser.lexer), NULL);
    uint8_t next = r->parser.lexer.tok.kind;
    if (next != RLX_TOK_ELSE && next != RLX_TOK_ELIF) {
        rlx_read_error_at(r, RLX_PA32, line->begin, line->end, "an if of Relax needs an else");
        return branches[0].name ? rlx_word_fail(r, branches[0].name) : false;
    }
    rlx_source_line other;
    rlx_parse_line(&r->parser, &other);
    if (other.kind == RLX_LINE_ERROR) {
        r->unit.relax->lost_else = true;
        rlx_line_failed(r, &other);
        return branches[0].name ? rlx_word_fail(r, branches[0].name) : false;
    }
    bool deep = other.kind == RLX_LINE_ELIF && r->parser.blocks >= RLX_SCRIPT_MAX_BLOCKS;
    if (deep)
        rlx_read_error_at(r, RLX_PA09, other.begin, other.end, "more than %d nested blocks",
                          RLX_SCRIPT_MAX_BLOCKS);
    r->parser.blocks += other.kind == RLX_LINE_ELIF;
    const rlx_expr *no =
        usable && !deep
            ? read_branch(r, &branches[1], other.kind == RLX_LINE_ELIF ? &other : NULL, &other)
            : (rlx_lexer_skip_suite(&r->parser.lexer), NULL);
    r->parser.blocks -= other.kind == RLX_LINE_ELIF;
    branches[0].begin = line->begin, branches[0].end = line->end;
    if (!yes || !no || !cond) {
        no_value(r, line, &branches[!branches[0].value ? 0 : 1], errors);
        for (int i = 0; i < 2; i++)
            if (branches[i].name)
                rlx_word_fail(r, branches[i].name);
        if (last || r->parser.lexer.tok.kind == RLX_TOK_DEDENT)
            fail_branch(scope, branches[branches[0].name ? 0 : 1].name);
        return false;
    }
    return emit_if(r, scope, line, cond, yes, no, branches, last);
}

/* ---- dataflow ------------------------------------------------------------------------------- */

/* The identifier at `at`; an empty slice if there is none. */
static rlx_slice word_at(const char *text, uint32_t at, uint32_t end)
{
    return (rlx_slice){ text + at, at < end ? rlx_name_end(text, at) - at : 0 };
}

static uint32_t skip_blanks(const char *text, uint32_t at, uint32_t end)
{
    while (at < end && (text[at] == ' ' || text[at] == '\t'))
        at++;
    return at;
}

/* Every identifier of text[at..end) is an output of the block. missing: how many have not been
 * found where they are bound. */
static bool mark_outputs(rlx_reader *r, uint32_t at, uint32_t end, uint32_t last_bound,
                         size_t *missing)
{
    const char *text = r->parser.lexer.text;
    while (at < end) {
        rlx_slice name = word_at(text, at, end);
        rlx_word *w = name.len ? rlx_words_get(&r->names, name) : NULL;
        if (name.len && !w)
            return false;
        if (w && w->output_block != r->unit.relax->block) {
            w->output_block = r->unit.relax->block;
            w->last_bound = last_bound;
            ++*missing;
        }
        at += name.len ? (uint32_t)name.len : 1;
    }
    return true;
}

/* A name that is bound at `line`; lines come last to first, and only of outputs it matters
 * where they are bound. */
static void mark_last(rlx_reader *r, rlx_slice name, uint32_t line, size_t *missing)
{
    rlx_word *w = rlx_words_find(&r->names, name);
    if (w && w->output_block == r->unit.relax->block && w->last_bound == NOT_FOUND) {
        w->last_bound = line;
        --*missing;
    }
}

/* Names that the line binds: NAME = ..., NAME: ..., NAME, NAME = ..., def NAME */
static void mark_bound(rlx_reader *r, uint32_t line, uint32_t end, size_t *missing)
{
    const char *text = r->parser.lexer.text;
    for (uint32_t at = line;;) {
        rlx_slice name = word_at(text, at, end);
        at = skip_blanks(text, at + (uint32_t)name.len, end);
        if (rlx_slice_is(name, "def"))
            name = word_at(text, at, end);
        else if (at >= end || (text[at] != ':' && text[at] != ',' &&
                               (text[at] != '=' || (at + 1 < end && text[at + 1] == '='))))
            return;
        if (name.len)
            mark_last(r, name, line, missing);
        if (at >= end || text[at] != ',')
            return;
        at = skip_blanks(text, at + 1, end);
    }
}

/* R.output(...), or the return of older texts: what it names. True for other lines. */
static bool marks_no_output(rlx_reader *r, uint32_t line, uint32_t end, size_t *missing)
{
    const char *text = r->parser.lexer.text;
    rlx_slice name = word_at(text, line, end), member = { NULL, 0 };
    uint32_t at = line + (uint32_t)name.len;
    if (at < end && text[at] == '.')
        member = word_at(text, at + 1, end);
    else if (!rlx_slice_is(name, "return"))
        return true;
    bool output =
        !member.data || rlx_slice_is(member, "output") || rlx_slice_is(member, "outputs");
    if (output && !mark_outputs(r, at + (member.data ? 1 + (uint32_t)member.len : 0), end,
                                NOT_FOUND, missing))
        return false;
    return false;
}

typedef struct line_span { uint32_t begin, end; } line_span;

/* Marks what the block's lines say it outputs, and where that is bound last. */
static bool scan_block(rlx_reader *r)
{
    const struct block_text *from = &r->unit.relax->block_text;
    rlx_lines l = { .text = r->parser.lexer.text, .pos = from->line, .len = r->parser.lexer.len };
    size_t missing = 0;
    if (!from->lines) {
        l.begin = from->begin;
        rlx_lines_skip(&l);
        return mark_outputs(r, from->begin, l.pos, ANYWHERE, &missing);
    }
    RLX_VEC(line_span) others = { 0 };
    while (!r->ctx->diags.out_of_memory && rlx_lines_next(&l) && l.column >= from->column) {
        line_span line = { l.begin, 0 };
        bool inside = l.column > from->column;
        rlx_lines_skip(&l);
        line.end = l.pos;
        if (!inside && marks_no_output(r, line.begin, line.end, &missing))
            (void)rlx_vec_push(&r->ctx->memory, &others, line);
    }
    while (missing && others.len) {
        line_span line = rlx_vec_pop(&others);
        mark_bound(r, line.begin, line.end, &missing);
    }
    rlx_vec_free(&r->ctx->memory, &others);
    return !r->ctx->diags.out_of_memory;
}

/* Whether a binding is an output of its block is said at the end of the block. Where that
 * matters sooner, its lines are looked through, once. */
static bool look_ahead(rlx_reader *r)
{
    rlx_relax_state *s = r->unit.relax;
    bool first = s->block && !s->looked_ahead;
    s->looked_ahead = true;
    return !first || scan_block(r);
}

static void open_block(rlx_reader *r, const rlx_source_line *line, const rlx_suite *suite)
{
    rlx_relax_state *s = r->unit.relax;
    const rlx_lexer *lx = &r->parser.lexer;
    s->block = r->scope.frame;
    s->block_at = line_place(r, line);
    s->block_closed = s->looked_ahead = false;
    s->block_text = (struct block_text){ suite->block, lx->line, lx->tok.begin,
                                         lx->indents[lx->num_indents - 1] };
    s->outputs.len = 0;
}

/* No R.output could be read in the block whose names are bound from `mark` on. What its text
 * says all the same decides what is said about its variables. */
static void guess_outputs(rlx_reader *r, uint32_t mark)
{
    if (!look_ahead(r))
        return;
    for (size_t i = mark; i < r->scope.bound.len; i++)
        if (r->scope.bound.data[i]->output_block == r->unit.relax->block)
            (void)output_of(r, r->scope.bound.data[i]);
}

/* A branch that ends in a dataflow block has the value that the block outputs last. */
static void end_branch(rlx_reader *r, relax_scope *scope)
{
    const rlx_relax_state *s = r->unit.relax;
    uint8_t next = r->parser.lexer.tok.kind;
    if (!scope->suffix || !s->outputs.len || (next != RLX_TOK_DEDENT && next != RLX_TOK_END))
        return;
    const rlx_meaning *last = &s->outputs.data[s->outputs.len - 1];
    scope->name = last->name;
    if (last->value.kind == RLX_VAL_EXPR)
        scope->value = last->value.node;
}

static void read_dataflow(rlx_reader *r, const rlx_source_line *line, relax_scope *scope)
{
    rlx_relax_state *s = r->unit.relax;
    rlx_suite suite;
    if (s->block)
        rlx_read_error_at(r, RLX_PA15, line->begin, line->end, "dataflow blocks do not nest");
    bool usable = !s->block && !misplaced(r, line) && begin(r);
    if (!usable || !rlx_suite_enter(&r->parser, &suite)) {
        if (!usable)
            fail_suite(r);
        else
            r->text.syntax_errors++;
        return;
    }
    uint32_t frame = rlx_reader_frame_enter(r);
    size_t errors = r->text.syntax_errors;
    relax_scope inside = { 0 };
    open_block(r, line, &suite);
    s->block_names = frame;
    if (rlx_builder_begin_block(r->builder, true, line_place(r, line))) {
        read_statements(r, &suite, &inside);
        if (!s->block_closed || errors != r->text.syntax_errors)
            guess_outputs(r, frame);
        rlx_builder_end_block(r->builder);
    }
    rlx_suite_leave(&r->parser, &suite);
    s->block = 0;
    s->block_closed = false;
    rlx_reader_frame_leave(r, frame);
    for (size_t i = 0; i < s->outputs.len; i++)
        if (!rlx_word_bind(r, s->outputs.data[i].name, &s->outputs.data[i].value))
            break;
    end_branch(r, scope);
}

static void read_with(rlx_reader *r, const rlx_source_line *line, relax_scope *scope)
{
    const rlx_ast *item = line->target;
    bool dataflow = item && !item->next && !item->first && item->base->kind == RLX_AST_CALL &&
                    !item->base->count &&
                    rlx_is_function(r, item->base->base, RLX_SPACE_R, RLX_SPECIAL_dataflow);
    if (dataflow) {
        read_dataflow(r, line, scope);
        return;
    }
    rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                      "the only with of a Relax function is 'with R.dataflow():'");
    fail_suite(r);
}

/* ---- local functions ------------------------------------------------------------------------ */

/* Does the suite at the current token call `name`, or use it as a value? Looks at tokens only. */
static bool mentions_itself(rlx_reader *r, const rlx_word *name)
{
    rlx_lexer *lx = &r->parser.lexer;
    rlx_lines l = { .text = lx->text, .pos = lx->pos, .len = lx->len, .begin = lx->tok.begin };
    uint32_t top = lx->indents[lx->num_indents - 1], from = lx->tok.begin;
    if (lx->tok.kind != RLX_TOK_NEWLINE)
        rlx_lines_skip(&l);
    else
        while (rlx_lines_next(&l) && l.column > top)
            rlx_lines_skip(&l);
    rlx_slice found;
    while ((found = rlx_next_name(lx->text, &from, l.pos)).len) {
        uint32_t next = from;
        while (next < l.pos && lx->text[next] == ' ')
            next++;
        bool ends = next == l.pos || memchr("(,)]#\r\n", lx->text[next], 7);
        if (rlx_slice_equal(found, rlx_string_slice(name->text)) && ends && found.data[-1] != '.')
            return true;
    }
    return false;
}

static const rlx_function *finish_function(rlx_reader *r, rlx_relax_state *s,
                                           const rlx_place place)
{
    const rlx_pending *f = s->f;
    rlx_builder_declared(r->builder, f->signature, f->ret);
    rlx_builder_result_at(r->builder, s->result_at, f->num_ret_places ? f->ret_places[0] : 0);
    rlx_function *fn =
        (rlx_function *)rlx_builder_end_function(r->builder, s->result, f->ret, s->attrs, place);
    if (fn) /* not shared with anybody yet */
        fn->attr_places = rlx_attr_places(r, f, s->attrs, &fn->num_attr_places);
    if (fn && f->ret) {
        fn->ret_places = f->ret_places;
        fn->num_ret_places = f->num_ret_places;
    } else if (fn && rlx_as_var(s->self)) { /* what its calls of itself took its result for */
        fn->ret_sinfo = r->ctx->object;
        fn->sinfo = ((const rlx_var *)s->self)->sinfo;
    }
    return fn;
}

/* The functions around have looked ahead for what their blocks output. */
bool rlx_read_is_captured(const rlx_reader *r, const rlx_word *w)
{
    const rlx_whereabouts *where = &r->unit.where;
    bool local = where->part == RLX_PART_BODY && where->outer && where->outer->function;
    if (!local || w->frame >= r->unit.where.body_frame)
        return false;
    for (const rlx_relax_state *s = r->unit.relax; s; s = s->outer)
        if (s->self == w->value.node || (s->block && s->block == w->output_block))
            return false;
    return true;
}

/* Body of f, whose suite starts at the current token: statements, return, end of the builder's
 * function. */
static const rlx_function *read_function(rlx_reader *r, rlx_pending *f, const rlx_expr *self)
{
    rlx_relax_state *outer = r->unit.relax, state = { .outer = outer, .f = f, .self = self };
    rlx_suite s;
    relax_scope scope = { 0 };
    const rlx_function *fn = NULL;
    size_t errors = r->text.syntax_errors;
    rlx_whereabouts around = r->unit.where;
    r->unit.relax = &state;
    uint32_t frame = rlx_reader_frame_enter(r);
    r->unit.where = (rlx_whereabouts){ f, RLX_PART_BODY, r->scope.frame, &around };
    if (rlx_restore_names(r, f)) {
        if (rlx_suite_enter(&r->parser, &s)) {
            read_statements(r, &s, &scope);
            rlx_suite_leave(&r->parser, &s);
        } else {
            r->text.syntax_errors++;
        }
    }
    if (!state.returned && errors == r->text.syntax_errors && !r->ctx->diags.out_of_memory)
        rlx_read_error_at(r, RLX_PA14, f->begin, f->end, "function %s has no return",
                          f->name->text->data);
    if (!f->is_private && !rlx_attrs_get(state.attrs, "global_symbol")) {
        const rlx_attr *symbol = rlx_attr_string_new(r->ctx, rlx_string_slice(f->name->text));
        state.attrs = symbol ? rlx_attrs_with(r->ctx, state.attrs, "global_symbol", symbol) : NULL;
    }
    if (begin(r))
        fn = finish_function(r, &state,
                             rlx_place_make(r->text.source, f->begin, f->end - f->begin));
    rlx_reader_frame_leave(r, frame);
    rlx_vec_free(&r->ctx->memory, &state.outputs);
    r->unit.relax = outer;
    r->unit.where = around;
    /* a damaged function has what could be read: it is looked at, not returned */
    f->damaged = errors != r->text.syntax_errors;
    return fn;
}

static void read_local_function(rlx_reader *r, relax_scope *scope, const rlx_source_line *def,
                                const rlx_ast *decorator)
{
    rlx_pending f = {
        .name = def->name, .begin = def->name_begin, .end = def->name_end, .is_private = true
    };
    bool ok = !misplaced(r, def) && rlx_read_decorator(r, decorator, &f);
    if (ok && f.tir)
        ok = rlx_read_error_at(r, RLX_WX07, def->begin, def->end,
                               "inline PrimFunc: a PrimFunc is a member of a module");
    f.is_private = true;
    ok = ok && begin(r) && rlx_relax_header(r, def, &f);
    if (!ok) {
        rlx_lexer_skip_suite(&r->parser.lexer);
        rlx_word_fail(r, def->name);
        return;
    }
    if (!look_ahead(r))
        return;
    target t = { .word = def->name, .begin = def->name_begin, .end = def->name_end };
    rlx_emit how = emit_how(r, def, &t);
    const rlx_var *self = NULL;
    if (mentions_itself(r, def->name)) {
        const rlx_sinfo *sig =
            rlx_signature(r->ctx, f.params, f.num_params, f.ret ? f.ret : r->ctx->object,
                          !f.impure, rlx_builder_scope(r->builder));
        bool dataflow = rlx_builder_in_dataflow(r->builder) && !how.output;
        self = sig ? rlx_var_new(r->ctx, dataflow, def->name->text, -1, sig, how.var_place) : NULL;
        if (!self || !bind_var(r, def->name, &self->node, t.begin, t.end)) {
            rlx_lexer_skip_suite(&r->parser.lexer);
            return;
        }
        how.var = self;
        how.annotation = sig; /* the body names this variable: it is not typed anew */
    }
    const rlx_function *fn = read_function(r, &f, self ? &self->node : NULL);
    t.last = scope->suffix && r->parser.lexer.tok.kind == RLX_TOK_DEDENT;
    if (t.last && !self)
        how.name = with_suffix(r, def->name, scope->suffix);
    const rlx_var *v = fn ? rlx_builder_emit(r->builder, &fn->node, &how) : NULL;
    if (v && f.damaged && !f.ret) /* what it gives is not known: calls of it are silent */
        rlx_word_fail(r, t.word);
    else
        bound(r, scope, def, &t, v);
}

/* ---- statements ----------------------------------------------------------------------------- */

static void read_statement(rlx_reader *r, relax_scope *scope, rlx_suite *s,
                           const rlx_source_line *line, const rlx_ast **decorator)
{
    bool last = scope->suffix && line->kind < RLX_LINE_IF && rlx_suite_at_end(&r->parser, s);
    bool lost_if = s->lost_if;
    s->lost_if = false;
    if (*decorator && line->kind != RLX_LINE_DEF && line->kind != RLX_LINE_DECORATOR) {
        rlx_read_error(r, RLX_PA23, *decorator, "a decorator stands above a function");
        *decorator = NULL;
    }
    r->ctx->diags.otherwise = line_place(r, line);
    switch (line->kind) {
    case RLX_LINE_ERROR:
        s->lost_if = !memcmp(r->parser.lexer.text + line->begin, "if", 2);
        rlx_line_failed(r, line);
        break;
    case RLX_LINE_ASSIGN: read_assign(r, scope, line, last); break;
    case RLX_LINE_EXPR: read_expression(r, scope, line, last); break;
    case RLX_LINE_RETURN: read_return(r, line, scope); break;
    case RLX_LINE_PASS: break;
    case RLX_LINE_WITH: read_with(r, line, scope); break;
    case RLX_LINE_DECORATOR: *decorator = line->value; return;
    case RLX_LINE_DEF: read_local_function(r, scope, line, *decorator); *decorator = NULL; break;
    case RLX_LINE_DECLARE:
        rlx_read_error_at(r, RLX_PA15, line->begin, line->end, "a binding needs a value");
        fail_targets(r, line->target);
        break;
    default:
        if (lost_if && (line->kind == RLX_LINE_ELSE || line->kind == RLX_LINE_ELIF)) {
            s->lost_if = true;
            fail_suite(r);
            break;
        }
        rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                          "this statement has no place in a Relax function");
        rlx_cure_statement(r, line);
        if (line->kind >= RLX_LINE_IF)
            fail_suite(r);
    }
}

static void read_statements(rlx_reader *r, rlx_suite *s, relax_scope *scope)
{
    const rlx_ast *decorator = NULL;
    rlx_region_mark mark = rlx_region_save(&r->parser.region);
    while (!rlx_suite_at_end(&r->parser, s) && !r->ctx->diags.out_of_memory) {
        rlx_source_line line;
        rlx_parse_line(&r->parser, &line);
        rlx_lexer_fetch_line(&r->parser.lexer);
        if (line.kind == RLX_LINE_IF) {
            read_if(r, scope, &line, false);
            s->lost_if = r->unit.relax->lost_else;
            r->unit.relax->lost_else = false;
        } else {
            read_statement(r, scope, s, &line, &decorator);
        }
        if (!decorator)
            rlx_region_rewind(&r->parser.region, mark);
    }
    if (decorator)
        rlx_read_error(r, RLX_PA23, decorator, "a decorator stands above a function");
}

/* ---- bodies of module functions ------------------------------------------------------------- */

bool rlx_relax_body(rlx_reader *r, rlx_pending *f)
{
    r->unit.dialect = RLX_DIALECT_RELAX;
    if (!r->builder) {
        rlx_builder_options options = { .keep_op_form = true,
                                        .count_names = true,
                                        .keep_going = true };
        r->builder = rlx_builder_create(r->ctx, r->module.env, &options);
        if (!r->builder)
            return false;
    }
    rlx_builder_reset(r->builder);
    const rlx_function *fn = read_function(r, f, &f->gvar->node);
    return fn && rlx_name_by_symbol(r, f, fn->attrs) &&
           rlx_module_builder_define(r->module.builder, f->gvar, &fn->node) && !f->damaged;
}
