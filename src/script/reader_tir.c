/* reader_tir.c: PrimFuncs: headers, suites, statements. */
/* built for size */
#include "script/reader_tir.h"

/* ---- lists ---------------------------------------------------------------------------------- */

bool rlx_tir_reader_push(rlx_reader *r, rlx_ptrs *to, const void *node)
{
    return node && rlx_vec_push(&r->ctx->memory, to, (void *)(uintptr_t)node);
}

bool rlx_tir_reader_copy(rlx_reader *r, const rlx_ptrs *from, const rlx_node *const **out,
                         size_t *count)
{
    bool ok = true;
    *out = rlx_nodes_copy(r->ctx, (const rlx_node *const *)from->data, from->len, &ok);
    *count = from->len;
    return ok;
}

/* ---- suites --------------------------------------------------------------------------------- */

bool rlx_tir_reader_add(rlx_reader *r, const rlx_stmt *s)
{
    return rlx_tir_reader_push(r, &r->unit.tir->stmts, s);
}

bool rlx_tir_reader_open_scoped(rlx_reader *r, rlx_node *node)
{
    rlx_tir_reader_scoped s = { node, r->unit.tir->stmts.len };
    return node && rlx_vec_push(&r->ctx->memory, &r->unit.tir->scoped, s);
}

static const rlx_stmt *evaluate(rlx_reader *r, const rlx_prim *value, rlx_place place)
{
    rlx_evaluate *e = value ? rlx_node_new(r->ctx, RLX_NODE_EVALUATE) : NULL;
    if (!e)
        return NULL;
    e->place = place;
    e->value = value;
    return &e->node;
}

static bool is_nothing(const rlx_stmt *s)
{
    const rlx_evaluate *e = rlx_as_evaluate(s);
    return e && rlx_is_int_value(e->value, 0);
}

/* Statements since `mark` as one. T.evaluate(0) beside others says nothing; an empty suite
 * holds it. */
static const rlx_stmt *fold_stmts(rlx_reader *r, size_t mark)
{
    rlx_ptrs *s = &r->unit.tir->stmts;
    size_t n = mark;
    const rlx_stmt *first = s->len > mark ? s->data[mark] : NULL;
    for (size_t i = mark; i < s->len; i++)
        if (!is_nothing(s->data[i]))
            s->data[n++] = s->data[i];
    s->len = mark;
    if (n == mark)
        return first ? first : evaluate(r, rlx_int(r->ctx, RELAX_INT32, 0), RLX_NO_PLACE);
    return rlx_seq_stmt_new(r->ctx, (const rlx_stmt *const *)(s->data + mark), n - mark,
                            rlx_place_of(s->data[mark]));
}

/* Where the body of a scoped statement goes. */
static const rlx_node **body_of(rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_LET_STMT: return &((rlx_let_stmt *)n)->body;
    case RLX_NODE_ASSERT_STMT: return &((rlx_assert_stmt *)n)->body;
    case RLX_NODE_ATTR_STMT: return &((rlx_attr_stmt *)n)->body;
    case RLX_NODE_ALLOCATE: return &((rlx_allocate *)n)->body;
    case RLX_NODE_ALLOCATE_CONST: return &((rlx_allocate_const *)n)->body;
    case RLX_NODE_DECL_BUFFER: return &((rlx_decl_buffer *)n)->body;
    default: return &((rlx_buffer_realize *)n)->body;
    }
}

/* Closes the scoped statements opened since `scoped`: each becomes the last statement of what
 * is around it. */
static bool close_scoped(rlx_reader *r, size_t scoped)
{
    struct rlx_tir_reader_state *t = r->unit.tir;
    bool ok = true;
    while (t->scoped.len > scoped) {
        rlx_tir_reader_scoped s = rlx_vec_pop(&t->scoped);
        const rlx_stmt *body = fold_stmts(r, s.mark);
        *body_of(s.node) = body;
        ok &= body && rlx_tir_reader_add(r, s.node);
    }
    return ok;
}

static bool read_statement(rlx_reader *r, const rlx_source_line *line);

static bool read_lines(rlx_reader *r, rlx_suite *s)
{
    rlx_region_mark mark = rlx_region_save(&r->parser.region);
    bool ok = true;
    while (!rlx_suite_at_end(&r->parser, s) && !r->ctx->diags.out_of_memory) {
        rlx_source_line line;
        rlx_parse_line(&r->parser, &line);
        ok &= read_statement(r, &line);
        rlx_region_rewind(&r->parser.region, mark);
    }
    return ok;
}

const rlx_stmt *rlx_tir_reader_read_suite(rlx_reader *r)
{
    struct rlx_tir_reader_state *t = r->unit.tir;
    size_t stmts = t->stmts.len, scoped = t->scoped.len;
    rlx_suite s;
    if (!rlx_suite_enter(&r->parser, &s)) {
        r->text.syntax_errors++;
        return NULL;
    }
    t->level++;
    bool ok = read_lines(r, &s);
    rlx_suite_leave(&r->parser, &s);
    t->level--;
    ok &= close_scoped(r, scoped);
    if (!ok) {
        t->stmts.len = stmts;
        return NULL;
    }
    return fold_stmts(r, stmts);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool same_value(const rlx_val *a, const rlx_val *b)
{
    return a->kind == b->kind && a->kind >= RLX_VAL_EXPR && a->kind <= RLX_VAL_NODE &&
           a->node == b->node;
}

bool rlx_tir_reader_define(rlx_reader *r, const rlx_ast *target, const rlx_val *v)
{
    rlx_word *w = target->name;
    const rlx_val *have = &w->value;
    if (rlx_word_in_frame(r, w) && have->kind == RLX_VAL_PRIM && have->sub &&
        v->kind == RLX_VAL_PRIM && rlx_as_prim_var(v->node) &&
        rlx_prim_dtype(v->node) == rlx_prim_dtype(have->node))
        return true; /* m = T.int32() says again what the shape of a buffer has named */
    if (rlx_word_in_frame(r, w) && w->value.kind != RLX_VAL_ERROR && !same_value(&w->value, v))
        return rlx_read_error(r, RLX_PA13, target, "%s is already defined in this scope%s",
                              w->text->data,
                              w->value.kind == RLX_VAL_BUFFER
                                  ? ": elements of a buffer are written, as B[i] = ..."
                              : w->value.kind == RLX_VAL_PRIM
                                  ? ": a number does not change; what does is a buffer, as T.alloc_buffer((), \"int32\")"
                                  : "");
    return rlx_word_bind(r, w, v);
}

const rlx_ast *rlx_tir_reader_one_target(rlx_reader *r, const rlx_ast *call, const rlx_ast *target)
{
    if (target && target->kind == RLX_AST_NAME)
        return target;
    return rlx_read_error(r, RLX_PA26, target ? target : call, "this is bound to one name"), NULL;
}

/* A fresh variable gets the name it is bound to. */
static void name_var(const rlx_val *v, const rlx_string *name)
{
    rlx_prim_var *var = v->kind == RLX_VAL_PRIM ? (rlx_prim_var *)rlx_as_prim_var(v->node) : NULL;
    if (var && !var->name->len)
        var->name = name;
}

static void name_buffer(const rlx_val *v, const rlx_string *name)
{
    rlx_buffer *b = v->kind == RLX_VAL_BUFFER ? (rlx_buffer *)v->node : NULL;
    if (!b || b->name->len)
        return;
    b->name = name;
    rlx_prim_var *data = (rlx_prim_var *)rlx_as_prim_var(b->data);
    if (data && !data->name->len)
        data->name = name;
}

static bool is_fresh(const rlx_val *v)
{
    const rlx_prim_var *var = v->kind == RLX_VAL_PRIM ? rlx_as_prim_var(v->node) : NULL;
    return var && !var->name->len;
}

static bool fail_target(rlx_reader *r, const rlx_ast *target)
{
    const rlx_ast *name = target && (target->kind == RLX_AST_TUPLE || target->kind == RLX_AST_LIST)
                              ? target->first
                              : target;
    for (; name; name = name == target ? NULL : name->next)
        if (name->kind == RLX_AST_NAME)
            rlx_word_fail(r, name->name);
    return rlx_read_failed(r, NULL);
}

/* ---- let ------------------------------------------------------------------------------------ */

static rlx_node *make_let(rlx_reader *r, const rlx_prim *var, const rlx_prim *value,
                          rlx_place place)
{
    rlx_let_stmt *let = rlx_node_new(r->ctx, RLX_NODE_LET_STMT);
    if (!let)
        return NULL;
    let->place = place;
    let->value = value;
    let->var = var;
    return &let->node;
}

static bool value_differs(rlx_reader *r, const rlx_ast *target, const rlx_prim *var,
                          const rlx_prim *value)
{
    char want[RLX_DTYPE_TEXT], have[RLX_DTYPE_TEXT];
    rlx_dtype_name(rlx_prim_dtype(var), want);
    rlx_dtype_name(rlx_prim_dtype(value), have);
    return rlx_read_error(r, RLX_PA18, target, "%s is declared as %s, its value is %s: write T.Cast(\"%s\", ...)",
                          target->name->text->data, want, have, want);
}

static bool bind_let(rlx_reader *r, const rlx_ast *target, const rlx_prim *value,
                     const rlx_prim *var)
{
    if (!value)
        return false;
    if (!var) {
        const rlx_prim_var *of = rlx_as_prim_var(value);
        var = of && of->scope ? rlx_pointer_var(r->ctx, target->name->text, of->elem_dtype,
                                                of->scope, rlx_read_place(r, target))
                              : (const rlx_prim *)rlx_prim_var_new(r->ctx, target->name->text,
                                                                   rlx_prim_dtype(value),
                                                                   rlx_read_place(r, target));
    }
    rlx_val v = rlx_val_node(RLX_VAL_PRIM, var, target);
    if (!var)
        return false;
    name_var(&v, target->name->text);
    if (rlx_prim_dtype(var) != rlx_prim_dtype(value))
        return value_differs(r, target, var, value);
    return rlx_tir_reader_define(r, target, &v) &&
           rlx_tir_reader_open_scoped(r, make_let(r, var, value, rlx_read_place(r, target)));
}

/* T.Ptr[T.float32] */
static const rlx_prim *read_pointer(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    rlx_dtype elem;
    const rlx_string *empty = rlx_string_z(r->ctx, ""), *scope = rlx_string_z(r->ctx, "global");
    if (!empty || !scope || !rlx_read_value(r, a->first, &v) ||
        !rlx_to_dtype(r, a->first, &v, &elem))
        return NULL;
    return rlx_pointer_var(r->ctx, empty, elem, scope, rlx_read_place(r, a));
}

/* The variable that an annotation describes: x: T.int32, x: T.handle("float32") */
static const rlx_prim *annotated_var(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    rlx_dtype t;
    if (a->kind == RLX_AST_INDEX && a->count == 1 &&
        rlx_is_function(r, a->base, RLX_SPACE_T, RLX_SPECIAL_let))
        a = a->first; /* T.let[T.int32]: newer */
    if (a->kind == RLX_AST_INDEX && a->count == 1 &&
        rlx_is_function(r, a->base, RLX_SPACE_T, RLX_SPECIAL_Ptr))
        return read_pointer(r, a);
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (is_fresh(&v))
        return v.node;
    const rlx_string *empty = rlx_string_z(r->ctx, "");
    return empty && rlx_to_dtype(r, a, &v, &t)
               ? (const rlx_prim *)rlx_prim_var_new(r->ctx, empty, t, rlx_read_place(r, a))
               : NULL;
}

static bool open_scalar(rlx_reader *r, const rlx_ast *target, const rlx_ast *at, rlx_dtype dtype,
                        const char *scope);
static bool store_scalar(rlx_reader *r, const rlx_ast *target, const rlx_prim *value,
                         rlx_place place);

/* i: T.int32 = 0 in a PrimFunc of TVM 0.27: memory that later lines may change */
static bool typed_scalar(rlx_reader *r, const rlx_source_line *line, const rlx_ast *target,
                         rlx_dtype dtype)
{
    const rlx_prim *value = rlx_read_prim_operand(r, line->value);
    return value && open_scalar(r, target, line->target, dtype, "local") &&
           store_scalar(r, target, value, rlx_read_place(r, line->target));
}

/* x: T.int32 = e to TVM 0.20, x: T.let[T.int32] = e to both */
static bool typed_let(rlx_reader *r, const rlx_source_line *line)
{
    const rlx_ast *target = rlx_tir_reader_one_target(r, line->target, line->target);
    const rlx_prim *var = target ? annotated_var(r, line->annotation) : NULL;
    rlx_val v;
    if (var && r->unit.tir->f->newer && line->annotation->kind != RLX_AST_INDEX &&
        rlx_prim_dtype(var) != RELAX_HANDLE)
        return typed_scalar(r, line, target, rlx_prim_dtype(var));
    if (!var || !rlx_read_operand(r, line->value, &v))
        return false;
    const rlx_prim *value = rlx_to_prim(r, line->value, &v);
    /* a literal takes the stated type */
    bool literal = v.kind == RLX_VAL_INT || v.kind == RLX_VAL_FLOAT || v.kind == RLX_VAL_BOOL;
    if (value && literal && rlx_prim_dtype(value) != rlx_prim_dtype(var))
        value = rlx_fold_retype(r->ctx, rlx_prim_dtype(var), value);
    return value && bind_let(r, target, value, var);
}

/* with T.LetStmt(value, type, var=x) as name */
static bool let_stmt(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                     const rlx_ast *target)
{
    const rlx_ast *slot[3];
    if (!rlx_bind_args(r, call, "T.LetStmt", RLX_PARAMS("value", "type_annotation", "var"), 1,
                       slot))
        return false;
    const rlx_prim *value = rlx_read_prim_operand(r, slot[0]), *var = NULL;
    if (!value || (slot[2] && !(var = rlx_read_prim(r, slot[2]))) ||
        (slot[1] && slot[1]->kind != RLX_AST_NONE && !var && !(var = annotated_var(r, slot[1]))))
        return false;
    if (var && !rlx_as_prim_var(var))
        return rlx_read_error(r, RLX_PA12, slot[2], "T.LetStmt binds a variable");
    if (target)
        return (target = rlx_tir_reader_one_target(r, call, target)) &&
               bind_let(r, target, value, var);
    if (!var)
        return rlx_read_error(r, RLX_PA12, call,
                              "T.LetStmt needs a name: 'with T.LetStmt(...) as x:'");
    return rlx_tir_reader_open_scoped(r, make_let(r, var, value, rlx_read_place(r, call)));
}

/* with T.let(x, value): the older form */
static bool older_let(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                      const rlx_ast *target)
{
    const rlx_ast *slot[2];
    if (!rlx_bind_args(r, call, "T.let", RLX_PARAMS("v", "value"), 2, slot))
        return false;
    rlx_read_note(
        r, call,
        "'with T.let(x, value):' is an older spelling of 'with T.LetStmt(value, var=x):'");
    const rlx_prim *var = rlx_read_prim(r, slot[0]),
                   *value = var ? rlx_read_prim_operand(r, slot[1]) : NULL;
    if (var && !rlx_as_prim_var(var))
        return rlx_read_error(r, RLX_PA12, slot[0], "T.let binds a variable");
    return value && rlx_tir_reader_open_scoped(r, make_let(r, var, value, rlx_read_place(r, call)));
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool push_extents(rlx_reader *r, const rlx_ast *a, rlx_ptrs *to)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return false;
    bool list = v.kind == RLX_VAL_TUPLE || v.kind == RLX_VAL_LIST;
    for (size_t i = 0; i < (list ? v.list.count : 1); i++) {
        const rlx_prim *p = rlx_to_prim(r, a, list ? &v.list.items[i] : &v);
        if (!p || !rlx_read_is_extent(r, a, p) || !rlx_tir_reader_push(r, to, p))
            return false;
    }
    return true;
}

static bool read_extents(rlx_reader *r, const rlx_ast *a, const rlx_node *const **out,
                         size_t *count)
{
    rlx_ptrs list = { 0 };
    bool ok = push_extents(r, a, &list) && rlx_tir_reader_copy(r, &list, out, count);
    rlx_vec_free(&r->ctx->memory, &list);
    return ok;
}

static bool read_dtype(rlx_reader *r, const rlx_ast *a, rlx_dtype *t)
{
    rlx_val v;
    return rlx_read_value(r, a, &v) && rlx_to_dtype(r, a, &v, t);
}

static const rlx_string *read_string(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    rlx_slice s;
    return rlx_read_value(r, a, &v) && rlx_to_string(r, a, &v, &s) ? rlx_string_intern(r->ctx, s)
                                                                   : NULL;
}

static bool annotations(rlx_reader *r, const rlx_ast *a, const rlx_attr **out)
{
    size_t errors = rlx_error_count(r->ctx);
    *out = rlx_read_annotations(r, a);
    return errors == rlx_error_count(r->ctx);
}

/* p = T.allocate([n], "float32", "global", condition) */
static bool allocate(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                     const rlx_ast *target)
{
    const rlx_ast *slot[5];
    rlx_allocate *n = rlx_node_new(r->ctx, RLX_NODE_ALLOCATE);
    if (!n || !(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_bind_args(r, call, "T.allocate",
                       RLX_PARAMS("extents", "dtype", "scope", "condition", "annotations"), 2,
                       slot))
        return false;
    n->place = rlx_read_place(r, call);
    const rlx_string *scope = slot[2] ? read_string(r, slot[2]) : rlx_string_z(r->ctx, "global");
    if (!scope || !read_extents(r, slot[0], &n->extents, &n->num_extents) ||
        !read_dtype(r, slot[1], &n->dtype) || !annotations(r, slot[4], &n->annotations))
        return false;
    n->condition = slot[3] && slot[3]->kind != RLX_AST_NONE ? rlx_read_prim_operand(r, slot[3])
                                                            : rlx_bool_prim(r, true);
    n->var =
        rlx_pointer_var(r->ctx, target->name->text, n->dtype, scope, rlx_read_place(r, target));
    rlx_val v = rlx_val_node(RLX_VAL_PRIM, n->var, target);
    return n->condition && n->var && rlx_tir_reader_define(r, target, &v) &&
           rlx_tir_reader_open_scoped(r, &n->node);
}

static bool same_shape(const rlx_constant *c, const rlx_allocate_const *n)
{
    int64_t count = 1, have = 1, e;
    for (size_t i = 0; i < n->num_extents; i++)
        if (!rlx_int_literal(n->extents[i], &e) || !rlx_mul_i64(count, e, &count))
            return false;
    for (size_t i = 0; i < c->num_shape; i++)
        if (!rlx_mul_i64(have, c->shape[i], &have))
            return false;
    return count == have;
}

/* c = T.allocate_const([1, 2], "int32", [2]) */
static bool allocate_const(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                           const rlx_ast *target)
{
    const rlx_ast *slot[4];
    rlx_val data;
    rlx_allocate_const *n = rlx_node_new(r->ctx, RLX_NODE_ALLOCATE_CONST);
    if (!n || !(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_bind_args(r, call, "T.allocate_const",
                       RLX_PARAMS("data", "dtype", "extents", "annotations"), 3, slot))
        return false;
    n->place = rlx_read_place(r, call);
    if (!read_dtype(r, slot[1], &n->dtype) ||
        !read_extents(r, slot[2], &n->extents, &n->num_extents) ||
        !annotations(r, slot[3], &n->annotations) || !rlx_read_value(r, slot[0], &data))
        return false;
    const rlx_constant *c = rlx_as_constant(n->data = rlx_const_of(r, slot[0], &data, n->dtype));
    if (!c)
        return false;
    if (!same_shape(c, n))
        return rlx_read_error(r, RLX_PA12, slot[0], "the data does not fill the extents");
    const rlx_string *scope = rlx_string_z(r->ctx, "global");
    n->var = scope ? rlx_pointer_var(r->ctx, target->name->text, n->dtype, scope,
                                     rlx_read_place(r, target))
                   : NULL;
    rlx_val v = rlx_val_node(RLX_VAL_PRIM, n->var, target);
    return n->var && rlx_tir_reader_define(r, target, &v) &&
           rlx_tir_reader_open_scoped(r, &n->node);
}

static bool open_decl(rlx_reader *r, const rlx_buffer *b, rlx_place place)
{
    rlx_decl_buffer *n = rlx_node_new(r->ctx, RLX_NODE_DECL_BUFFER);
    if (!n)
        return false;
    n->place = place;
    n->buffer = &b->node;
    return rlx_tir_reader_open_scoped(r, &n->node);
}

static bool open_memory(rlx_reader *r, const rlx_buffer *b, const rlx_ast *said, rlx_place place)
{
    rlx_allocate *n = rlx_node_new(r->ctx, RLX_NODE_ALLOCATE);
    if (!n || !(n->condition = rlx_bool_prim(r, true)))
        return false;
    n->place = place;
    n->dtype = b->dtype;
    n->extents = b->shape;
    n->num_extents = b->num_shape;
    n->var = b->data;
    return annotations(r, said, &n->annotations) && rlx_tir_reader_open_scoped(r, &n->node);
}

/* A scalar of TVM 0.27 is a buffer without dimensions: its name stands for what it holds. */
static bool open_scalar(rlx_reader *r, const rlx_ast *target, const rlx_ast *at, rlx_dtype dtype,
                        const char *scope)
{
    rlx_place place = rlx_read_place(r, at);
    const rlx_buffer *b = (const rlx_buffer *)rlx_buffer_new(
        r->ctx, target->name->text, dtype, NULL, 0,
        rlx_string_intern(r->ctx, rlx_slice_z(scope)), place);
    rlx_val v = rlx_val_node(RLX_VAL_BUFFER, b ? &b->node : NULL, target);
    return b && rlx_tir_reader_define(r, target, &v) && open_memory(r, b, NULL, place) &&
           open_decl(r, b, place);
}

/* i = T.local_scalar(T.int32) */
static bool scalar(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                   const rlx_ast *target)
{
    const rlx_ast *slot[1];
    rlx_val v;
    rlx_dtype dtype = RELAX_FLOAT32;
    return (target = rlx_tir_reader_one_target(r, call, target)) != NULL &&
           rlx_bind_args(r, call, "T.local_scalar", RLX_PARAMS("dtype"), 0, slot) &&
           (!slot[0] || (rlx_read_value(r, slot[0], &v) && rlx_to_dtype(r, slot[0], &v, &dtype))) &&
           open_scalar(r, target, call, dtype, fn->text);
}

static bool store_scalar(rlx_reader *r, const rlx_ast *target, const rlx_prim *value,
                         rlx_place place)
{
    rlx_ast none = { .kind = RLX_AST_TUPLE, .begin = target->begin, .end = target->end };
    rlx_ast index = { .kind = RLX_AST_INDEX, .begin = target->begin, .end = target->end,
                      .base = (rlx_ast *)target, .first = &none, .count = 1 };
    return rlx_read_store(r, &index, value, NULL, place);
}

static bool is_scalar(const rlx_reader *r, const rlx_ast *target)
{
    const rlx_val *v = target->kind == RLX_AST_NAME ? &target->name->value : NULL;
    return v && r->unit.tir->f->newer && v->kind == RLX_VAL_BUFFER &&
           !((const rlx_buffer *)v->node)->num_shape;
}

/* B = T.decl_buffer(shape, ...): without data= it brings its own memory */
static bool decl_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        const rlx_ast *target)
{
    const rlx_ast *slot[RLX_BUF_COUNT + 1] = { NULL };
    rlx_ast scope = { .kind = RLX_AST_STRING, .begin = call->begin, .end = call->end };
    bool allocates = fn->name[0] == 'a'; /* T.alloc_*, which also takes annotations */
    if (!(target = rlx_tir_reader_one_target(r, call, target)) ||
        !(allocates ? rlx_bind_args(r, call, "T.alloc_buffer",
                                    RLX_PARAMS(RLX_BUF_PARAMS, "annotations"), 1, slot)
                    : rlx_bind_args(r, call, "T.decl_buffer", RLX_PARAMS(RLX_BUF_PARAMS), 1, slot)))
        return false;
    if (fn->text && !slot[RLX_BUF_SCOPE]) {
        scope.string = rlx_slice_z(fn->text);
        slot[RLX_BUF_SCOPE] = &scope;
    }
    const rlx_buffer *b = rlx_make_buffer(r, target->name->text, target, slot, NULL);
    rlx_val v = rlx_val_node(RLX_VAL_BUFFER, b ? &b->node : NULL, target);
    rlx_place place = rlx_read_place(r, call);
    if (!b || !rlx_tir_reader_define(r, target, &v))
        return false;
    if (!slot[RLX_BUF_DATA] || slot[RLX_BUF_DATA]->kind == RLX_AST_NONE) {
        if (!open_memory(r, b, slot[RLX_BUF_COUNT], place))
            return false;
    } else if (slot[RLX_BUF_COUNT]) {
        return rlx_read_error(r, RLX_PA12, call, "annotations belong to an allocation, and this "
                                                 "buffer lies over data that is there");
    }
    return open_decl(r, b, place);
}

/* T.alloc_buffer is T.decl_buffer to TVM 0.27, where T.sblock_alloc_buffer is what it was. */
static bool alloc_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         const rlx_ast *target)
{
    return r->unit.tir->f->newer ? decl_buffer(r, fn, call, target)
                                 : rlx_tir_reader_alloc_buffer(r, fn, call, target);
}

/* flat = A.view(256): TVM 0.27 for T.decl_buffer((256,), data=A.data) */
static bool view_buffer(rlx_reader *r, const rlx_ast *call, const rlx_ast *target)
{
    rlx_val method, dtype, data, offset;
    rlx_ast parts[4];
    const rlx_ast *slot[RLX_BUF_COUNT] = { NULL };
    if (!(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_read_value(r, call->base, &method))
        return false;
    const rlx_buffer *b = method.kind == RLX_VAL_METHOD ? method.fn.what : NULL;
    if (!b || !call->count || call->first->kind == RLX_AST_STRING ||
        rlx_keyword(call, "layout"))
        return rlx_read_error(r, RLX_PA16, call, "a view has the sizes of a buffer: write "
                                                 "T.decl_buffer((256,), data=A.data)");
    dtype = (rlx_val){ .kind = RLX_VAL_DTYPE, .i = b->dtype };
    data = rlx_val_node(RLX_VAL_PRIM, b->data, call);
    /* the offset of the buffer, which is a 0 of the dtype of its sizes if nothing was said */
    const rlx_prim *from = b->elem_offset || !b->num_shape
                               ? b->elem_offset
                               : rlx_int(r->ctx, rlx_prim_dtype(b->shape[0]), 0);
    if (b->num_shape && !from)
        return false;
    offset = rlx_val_node(RLX_VAL_PRIM, from, call);
    rlx_val *values[] = { &dtype, &data, &offset };
    parts[0] = (rlx_ast){ .kind = RLX_AST_TUPLE, .begin = call->begin, .end = call->end,
                          .count = call->count, .first = call->first };
    for (size_t i = 0; i < RLX_COUNT(values); i++)
        parts[i + 1] = (rlx_ast){ .kind = RLX_AST_VALUE, .begin = call->begin, .end = call->end,
                                  .value = values[i] };
    slot[RLX_BUF_SHAPE] = &parts[0];
    slot[RLX_BUF_DTYPE] = &parts[1];
    slot[RLX_BUF_DATA] = &parts[2];
    slot[RLX_BUF_OFFSET] = from ? &parts[3] : NULL;
    const rlx_buffer *view = rlx_make_buffer(r, target->name->text, target, slot, NULL);
    rlx_val v = rlx_val_node(RLX_VAL_BUFFER, view ? &view->node : NULL, target);
    return view && rlx_tir_reader_define(r, target, &v) &&
           open_decl(r, view, rlx_read_place(r, call));
}

/* T.realize(B[0:4], "scope", condition) */
static bool realize(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                    const rlx_ast *target)
{
    const rlx_ast *slot[3];
    rlx_val v;
    if (!rlx_bind_args(r, call, "T.realize",
                       RLX_PARAMS("buffer_slice", "storage_scope", "condition"), 2, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    const rlx_buffer_region *region = (const rlx_buffer_region *)rlx_to_region(r, slot[0], &v);
    const rlx_string *scope = region ? read_string(r, slot[1]) : NULL;
    rlx_tir_string text = { .node = { .kind = RLX_NODE_TIR_STRING }, .value = scope };
    rlx_attr_stmt *attr = scope ? rlx_node_new(r->ctx, RLX_NODE_ATTR_STMT) : NULL;
    rlx_buffer_realize *n = attr ? rlx_node_new(r->ctx, RLX_NODE_BUFFER_REALIZE) : NULL;
    if (!n)
        return false;
    attr->place = n->place = rlx_read_place(r, call);
    attr->target = region->buffer;
    attr->key = rlx_string_z(r->ctx, "realize_scope");
    attr->value = rlx_node_intern(r->ctx, &text.node);
    n->buffer = region->buffer;
    n->bounds = region->region;
    n->num_bounds = region->num_region;
    n->condition = slot[2] ? rlx_read_prim_operand(r, slot[2]) : rlx_bool_prim(r, true);
    return attr->key && attr->value && n->condition && rlx_tir_reader_open_scoped(r, &attr->node) &&
           rlx_tir_reader_open_scoped(r, &n->node);
}

static bool prefetch(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                     const rlx_ast *target)
{
    const rlx_ast *slot[2];
    rlx_val b, v;
    rlx_prefetch *n = rlx_node_new(r->ctx, RLX_NODE_PREFETCH);
    rlx_ptrs list = { 0 };
    if (!n || !rlx_bind_args(r, call, "T.prefetch", RLX_PARAMS("buffer", "bounds"), 2, slot) ||
        !rlx_read_value(r, slot[0], &b) || !rlx_read_value(r, slot[1], &v))
        return false;
    if (b.kind != RLX_VAL_BUFFER || v.kind != RLX_VAL_LIST)
        return rlx_read_error(r, RLX_PA12, call, "T.prefetch takes a buffer and a list of ranges");
    bool ok = true;
    for (size_t i = 0; i < v.list.count && ok; i++)
        ok = rlx_tir_reader_push(r, &list, rlx_read_range(r, slot[1], &v.list.items[i]));
    n->place = rlx_read_place(r, call);
    n->buffer = b.node;
    ok = ok && rlx_tir_reader_copy(r, &list, &n->bounds, &n->num_bounds) &&
         rlx_tir_reader_add(r, &n->node);
    rlx_vec_free(&r->ctx->memory, &list);
    return ok;
}

/* ---- attributes, threads -------------------------------------------------------------------- */

static bool open_attr(rlx_reader *r, const rlx_node *node, const rlx_string *key,
                      const rlx_prim *value, rlx_place place)
{
    rlx_attr_stmt *n = node && key && value ? rlx_node_new(r->ctx, RLX_NODE_ATTR_STMT) : NULL;
    if (!n)
        return false;
    n->place = place;
    n->target = node;
    n->key = key;
    n->value = value;
    return rlx_tir_reader_open_scoped(r, &n->node);
}

/* T.attr({"key": value, ...}), the newer form: each of the integer 0 */
static bool attr_map(rlx_reader *r, const rlx_ast *call)
{
    rlx_val v;
    if (!rlx_read_value(r, call->first, &v))
        return false;
    for (size_t i = 0; i + 1 < v.list.count; i += 2) {
        const rlx_val *key = &v.list.items[i], *value = key + 1;
        const rlx_ast at = { .begin = key->begin, .end = value->end };
        rlx_slice text;
        if (!rlx_to_string(r, &at, key, &text) ||
            !open_attr(r, rlx_int(r->ctx, RELAX_INT32, 0), rlx_string_intern(r->ctx, text),
                       rlx_to_prim(r, &at, value), rlx_read_place(r, &at)))
            return false;
    }
    return true;
}

/* T.attr(node, "key", value) */
static bool attr(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                 const rlx_ast *target)
{
    const rlx_ast *slot[3];
    rlx_val v;
    if (call->count == 1 && call->first->kind == RLX_AST_DICT)
        return attr_map(r, call);
    if (!rlx_bind_args(r, call, "T.attr", RLX_PARAMS("node", "attr_key", "value"), 3, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    const rlx_node *node = v.kind == RLX_VAL_INT || v.kind == RLX_VAL_BOOL ||
                                   v.kind == RLX_VAL_FLOAT || v.kind == RLX_VAL_STR
                               ? rlx_to_prim(r, slot[0], &v)
                               : rlx_to_attr(r, slot[0], &v);
    const rlx_string *key = node ? read_string(r, slot[1]) : NULL;
    return key &&
           open_attr(r, node, key, rlx_read_prim_operand(r, slot[2]), rlx_read_place(r, call));
}

static const rlx_iter_var *make_thread(rlx_reader *r, const rlx_prim *var, const rlx_string *tag,
                                       const rlx_prim *extent)
{
    rlx_iter_var *iter = rlx_node_new(r->ctx, RLX_NODE_ITER_VAR);
    if (!iter || !var || !tag)
        return NULL;
    if (extent &&
        !(iter->dom = rlx_range_new(r->ctx, rlx_int(r->ctx, rlx_prim_dtype(extent), 0), extent)))
        return NULL;
    iter->var = var;
    iter->iter_type = RLX_ITER_THREAD;
    iter->thread_tag = tag;
    return iter;
}

/* tx = T.env_thread("threadIdx.x") */
static bool env_thread(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                       const rlx_ast *target)
{
    const rlx_ast *slot[2];
    rlx_dtype t = RELAX_INT32;
    if (!(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_bind_args(r, call, "T.env_thread", RLX_PARAMS("thread_tag", "dtype"), 1, slot) ||
        (slot[1] && !read_dtype(r, slot[1], &t)))
        return false;
    const rlx_string *tag = read_string(r, slot[0]);
    const rlx_prim_var *var =
        tag ? rlx_prim_var_new(r->ctx, target->name->text, t, rlx_read_place(r, target)) : NULL;
    const rlx_iter_var *iter = var ? make_thread(r, &var->node, tag, NULL) : NULL;
    rlx_val v = rlx_val_node(RLX_VAL_ITER, iter ? &iter->node : NULL, target);
    return iter && rlx_tir_reader_define(r, target, &v);
}

/* tx = T.launch_thread("threadIdx.x", 32); with T.launch_thread(tx, 32) */
static bool launch_thread(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target)
{
    const rlx_ast *slot[2];
    rlx_val v;
    if (!rlx_bind_args(r, call, "T.launch_thread", RLX_PARAMS("thread", "extent"), 2, slot) ||
        !rlx_read_value(r, slot[0], &v))
        return false;
    const rlx_prim *extent = rlx_read_prim_operand(r, slot[1]), *var = NULL;
    const rlx_iter_var *known = v.kind == RLX_VAL_ITER ? (const rlx_iter_var *)v.node : NULL,
                       *iter = NULL;
    const rlx_string *tag = known                   ? known->thread_tag
                            : v.kind == RLX_VAL_STR ? rlx_string_intern(r->ctx, v.s)
                                                    : NULL;
    if (!extent || !tag)
        return extent && !tag ? rlx_read_expected(r, slot[0], "a thread tag or T.env_thread", &v)
                              : false;
    if (!rlx_read_is_extent(r, slot[1], extent))
        return false;
    const rlx_string *name =
        target && target->kind == RLX_AST_NAME ? target->name->text : rlx_string_z(r->ctx, "");
    var = known  ? known->var
          : name ? (const rlx_prim *)rlx_prim_var_new(r->ctx, name, rlx_prim_dtype(extent),
                                                      rlx_read_place(r, call))
                 : NULL;
    iter = make_thread(r, var, tag, extent);
    if (!iter)
        return false;
    if (target) {
        rlx_val bound = rlx_val_node(RLX_VAL_ITER, &iter->node, target);
        if (!(target = rlx_tir_reader_one_target(r, call, target)) ||
            !rlx_tir_reader_define(r, target, &bound))
            return false;
    }
    bool virtual = strncmp(tag->data, "vthread", 7) == 0;
    return open_attr(r, &iter->node,
                     rlx_string_z(r->ctx, virtual ? "virtual_thread" : "thread_extent"), extent,
                     rlx_read_place(r, call));
}

/* ---- assert, evaluate ----------------------------------------------------------------------- */

static const rlx_prim *string_node(rlx_reader *r, rlx_slice text)
{
    rlx_tir_string key = { .node = { .kind = RLX_NODE_TIR_STRING },
                           .value = rlx_string_intern(r->ctx, text) };
    return key.value ? rlx_node_intern(r->ctx, &key.node) : NULL;
}

/* A message; newer texts have ("RuntimeError", ["part", ...]). */
static const rlx_prim *message_of(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_TUPLE && v.list.count == 2 && v.list.items[1].kind == RLX_VAL_LIST) {
        rlx_buf b;
        rlx_buf_init(&b, &r->ctx->memory);
        for (size_t i = 0; i < v.list.items[1].list.count; i++)
            if (v.list.items[1].list.items[i].kind == RLX_VAL_STR)
                rlx_buf_put(&b, v.list.items[1].list.items[i].s.data,
                            v.list.items[1].list.items[i].s.len);
        const rlx_prim *text = b.failed ? NULL : string_node(r, (rlx_slice){ b.data, b.len });
        rlx_buf_free(&b);
        return text;
    }
    return rlx_to_prim(r, a, &v);
}

/* The code at the beginning of a message becomes data. */
static bool set_message(rlx_reader *r, rlx_assert_stmt *n, const rlx_prim *message)
{
    const rlx_tir_string *said = rlx_as_tir_string(message);
    rlx_slice text = said ? rlx_string_slice(said->value) : RLX_SLICE("");
    n->assertion = rlx_assertion_take(&text);
    n->message = n->assertion ? string_node(r, text) : message;
    return n->message != NULL;
}

static bool open_assert(rlx_reader *r, const rlx_ast *cond, const rlx_ast *message,
                        rlx_place place)
{
    const rlx_ast none = { .kind = RLX_AST_STRING, .op = 1, .string = { "", 0 } };
    rlx_assert_stmt *n = rlx_node_new(r->ctx, RLX_NODE_ASSERT_STMT);
    if (!n || !(n->cond = rlx_read_prim_operand(r, cond)) ||
        !set_message(r, n, message_of(r, message ? message : &none)))
        return false;
    n->place = place;
    return rlx_tir_reader_open_scoped(r, &n->node);
}

static bool assert_call(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                        const rlx_ast *target)
{
    const rlx_ast *slot[2];
    return rlx_bind_args(r, call, "T.Assert", RLX_PARAMS("condition", "message"), 2, slot) &&
           open_assert(r, slot[0], slot[1], rlx_read_place(r, call));
}

static bool evaluate_call(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target)
{
    const rlx_ast *slot[1];
    if (!rlx_bind_args(r, call, "T.evaluate", RLX_PARAMS("value"), 1, slot))
        return false;
    const rlx_stmt *s = evaluate(r, rlx_read_prim_operand(r, slot[0]), rlx_read_place(r, call));
    return s && rlx_tir_reader_add(r, s);
}

static bool buffer_store(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         const rlx_ast *target)
{
    const rlx_ast *slot[4];
    if (!rlx_bind_args(r, call, "T.buffer_store",
                       RLX_PARAMS("buffer", "value", "indices", "predicate"), 3, slot))
        return false;
    rlx_ast index = { .kind = RLX_AST_INDEX,
                      .begin = slot[2]->begin,
                      .end = slot[2]->end,
                      .op = 1,
                      .count = slot[2]->count };
    index.base = (rlx_ast *)slot[0];
    index.first =
        slot[2]->kind == RLX_AST_LIST || slot[2]->kind == RLX_AST_TUPLE ? slot[2]->first : NULL;
    const rlx_prim *value = index.first ? rlx_read_prim_operand(r, slot[1]) : NULL,
                   *predicate = NULL;
    if (!index.first)
        return rlx_read_error(r, RLX_PA12, slot[2], "indices are a list");
    if (value && slot[3] && slot[3]->kind != RLX_AST_NONE &&
        !(predicate = rlx_read_prim_operand(r, slot[3])))
        return false;
    return value && rlx_read_store(r, &index, value, predicate, rlx_read_place(r, call));
}

static bool func_attr(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                      const rlx_ast *target)
{
    struct rlx_tir_reader_state *t = r->unit.tir;
    if (t->level != 1 || t->block)
        return rlx_read_error(r, RLX_PA15, call, "T.func_attr stands at the top of the function");
    const rlx_attr *attrs = rlx_read_attr_dict(r, call, t->attrs, t->f, "T.func_attr");
    if (attrs && t->f->is_private && rlx_attrs_get(attrs, "global_symbol") &&
        !rlx_attrs_get(t->attrs, "global_symbol"))
        return rlx_read_error(r, RLX_PA23, call, "a private function has no global_symbol");
    if (attrs)
        t->attrs = attrs;
    return attrs != NULL;
}

static bool misplaced(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                      const rlx_ast *target)
{
    return rlx_read_error(r, RLX_PA15, call, "T.%s stands %s", fn->name, fn->text);
}

#define IN_WITH "in a with statement"
const rlx_tir_reader_fn rlx_tir_reader_statements[] = {
    { "match_buffer", NULL, rlx_tir_reader_match_buffer, 0, NULL },
    { "alloc_buffer", NULL, alloc_buffer, 0, NULL },
    { "sblock_alloc_buffer", NULL, rlx_tir_reader_alloc_buffer, 0, NULL },
    { "alloc_local", NULL, alloc_buffer, 0, "local" },
    { "alloc_shared", NULL, alloc_buffer, 0, "shared" },
    { "local_scalar", NULL, scalar, 0, "local" },
    { "shared_scalar", NULL, scalar, 0, "shared" },
    { "axis.spatial", NULL, rlx_tir_reader_axis, RLX_ITER_SPATIAL, NULL },
    { "axis.S", NULL, rlx_tir_reader_axis, RLX_ITER_SPATIAL, NULL },
    { "axis.reduce", NULL, rlx_tir_reader_axis, RLX_ITER_REDUCE, NULL },
    { "axis.R", NULL, rlx_tir_reader_axis, RLX_ITER_REDUCE, NULL },
    { "axis.scan", NULL, rlx_tir_reader_axis, RLX_ITER_SCAN, NULL },
    { "axis.opaque", NULL, rlx_tir_reader_axis, RLX_ITER_OPAQUE, NULL },
    { "axis.remap", NULL, rlx_tir_reader_remap, 0, NULL },
    { "reads", NULL, rlx_tir_reader_reads, 0, NULL },
    { "writes", NULL, rlx_tir_reader_reads, 1, NULL },
    { "where", NULL, rlx_tir_reader_where, 0, NULL },
    { "block_attr", NULL, rlx_tir_reader_block_attr, 0, NULL },
    { "sblock_attr", NULL, rlx_tir_reader_block_attr, 0, NULL },
    { "allocate", NULL, allocate, 0, NULL },
    { "allocate_const", NULL, allocate_const, 0, NULL },
    { "decl_buffer", NULL, decl_buffer, 0, NULL },
    { "realize", NULL, realize, 0, NULL },
    { "prefetch", NULL, prefetch, 0, NULL },
    { "attr", NULL, attr, 0, NULL },
    { "env_thread", NULL, env_thread, 0, NULL },
    { "launch_thread", NULL, launch_thread, 0, NULL },
    { "LetStmt", NULL, let_stmt, 0, NULL },
    { "let", NULL, older_let, 0, NULL },
    { "Assert", NULL, assert_call, 0, NULL },
    { "evaluate", NULL, evaluate_call, 0, NULL },
    { "buffer_store", NULL, buffer_store, 0, NULL },
    { "func_attr", NULL, func_attr, 0, NULL },
    { "block", NULL, misplaced, 0, IN_WITH },
    { "sblock", NULL, misplaced, 0, IN_WITH },
    { "init", NULL, misplaced, 0, IN_WITH },
    { "grid", NULL, misplaced, 0, "in a for loop" },
    { "serial", NULL, misplaced, 0, "in a for loop" },
    { "parallel", NULL, misplaced, 0, "in a for loop" },
    { "vectorized", NULL, misplaced, 0, "in a for loop" },
    { "unroll", NULL, misplaced, 0, "in a for loop" },
    { "thread_binding", NULL, misplaced, 0, "in a for loop" },
    { "prim_func", NULL, misplaced, 0, "above a function" },
    { NULL, NULL, NULL, 0, NULL },
};

/* ---- assignments ---------------------------------------------------------------------------- */

/* A value bound to a name: fresh variables and buffers take the name, PrimExprs make a let, the
 * rest is an alias. */
static bool bind_value(rlx_reader *r, const rlx_ast *target, const rlx_ast *at, rlx_val *v,
                       bool alias)
{
    if (target->kind != RLX_AST_NAME)
        return rlx_read_error(r, RLX_PA26, target, "a value is bound to a name");
    bool prim = v->kind == RLX_VAL_PRIM || v->kind == RLX_VAL_INT || v->kind == RLX_VAL_FLOAT ||
                v->kind == RLX_VAL_BOOL;
    if (is_fresh(v)) {
        name_var(v, target->name->text);
        return rlx_tir_reader_define(r, target, v);
    }
    if (prim && !alias)
        return bind_let(r, target, rlx_to_prim(r, at, v), NULL);
    name_buffer(v, target->name->text);
    return rlx_val_keep(r, v) && rlx_tir_reader_define(r, target, v);
}

static bool is_meta_var(rlx_reader *r, const rlx_ast *a)
{
    return a->kind == RLX_AST_CALL &&
           rlx_is_function(r, a->base, RLX_SPACE_T, RLX_SPECIAL_meta_var);
}

static bool assign_list(rlx_reader *r, const rlx_source_line *line)
{
    rlx_val v;
    const rlx_ast *target = line->target;
    if (!rlx_read_operand(r, line->value, &v))
        return false;
    if ((v.kind != RLX_VAL_TUPLE && v.kind != RLX_VAL_LIST) || v.list.count != target->count)
        return rlx_read_error(r, RLX_PA12, line->value, "%u names cannot be bound to %s",
                              (unsigned)target->count, rlx_val_text(&v));
    size_t i = 0;
    for (const rlx_ast *a = target->first; a; a = a->next, i++)
        if (!bind_value(r, a, line->value, &v.list.items[i], false))
            return false;
    return true;
}

static bool read_assign(rlx_reader *r, const rlx_source_line *line)
{
    const rlx_ast *target = line->target, *value = line->value;
    const rlx_tir_reader_fn *fn =
        value->kind == RLX_AST_CALL ? rlx_tir_reader_callee(r, value->base) : NULL;
    rlx_val v;
    if (fn && fn->stmt)
        return fn->stmt(r, fn, value, target);
    if (value->kind == RLX_AST_CALL && value->base->kind == RLX_AST_ATTR &&
        rlx_slice_is(rlx_string_slice(value->base->name->text), "view"))
        return view_buffer(r, value, target);
    if (line->annotation)
        return typed_let(r, line);
    if (target->kind == RLX_AST_INDEX)
        return rlx_read_store(r, target, rlx_read_prim_operand(r, value), NULL,
                              rlx_place_make(r->text.source, line->begin, line->end - line->begin));
    if (target->kind == RLX_AST_TUPLE || target->kind == RLX_AST_LIST)
        return assign_list(r, line);
    if (is_scalar(r, target))
        return store_scalar(r, target, rlx_read_prim_operand(r, value),
                            rlx_place_make(r->text.source, line->begin, line->end - line->begin));
    return rlx_read_operand(r, value, &v) &&
           bind_value(r, target, value, &v, is_meta_var(r, value));
}

static bool read_augment(rlx_reader *r, const rlx_source_line *line)
{
    rlx_val a, b, out;
    if (line->target->kind != RLX_AST_INDEX)
        return rlx_read_error(r, RLX_PA26, line->target,
                              "only elements of buffers are changed in place: i = T.alloc_buffer((), \"int32\") is a "
                              "number that changes, as i[()] = i[()] + 1");
    if (!rlx_read_operand(r, line->target, &a) || !rlx_read_operand(r, line->value, &b) ||
        !rlx_read_binary(r, line->op, line->value, &a, &b, &out))
        return false;
    return rlx_read_store(r, line->target, rlx_to_prim(r, line->value, &out), NULL,
                          rlx_place_make(r->text.source, line->begin, line->end - line->begin));
}

/* ---- other statements ----------------------------------------------------------------------- */

static bool read_expression(rlx_reader *r, const rlx_source_line *line)
{
    const rlx_ast *a = line->value;
    rlx_val v;
    if (a->kind == RLX_AST_STRING)
        return true; /* a comment */
    const rlx_tir_reader_fn *fn =
        a->kind == RLX_AST_CALL ? rlx_tir_reader_callee(r, a->base) : NULL;
    if (fn && fn->stmt)
        return fn->stmt(r, fn, a, NULL);
    if (!rlx_read_operand(r, a, &v))
        return false;
    if (v.kind == RLX_VAL_NONE)
        return true; /* a method that stored */
    if (a->kind != RLX_AST_CALL && v.kind != RLX_VAL_PRIM) /* a sum of calls is evaluated */
        return rlx_read_error(r, RLX_PA15, a, "a statement of its own is a call, found %s",
                              rlx_val_text(&v));
    const rlx_prim *p = rlx_to_prim(r, a, &v);
    const rlx_stmt *s = evaluate(r, p, rlx_read_place(r, a));
    return s && rlx_tir_reader_add(r, s);
}

static bool read_return(rlx_reader *r, const rlx_source_line *line)
{
    if (!line->value)
        return rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                                 "return of a PrimFunc has a value");
    rlx_val v;
    if (!rlx_read_operand(r, line->value, &v))
        return false;
    if (v.kind == RLX_VAL_BUFFER)
        return rlx_read_error(r, RLX_PA12, line->value, "a PrimFunc returns no buffer: what it writes into its "
                              "parameters is its result, which R.call_tir makes and gives");
    const rlx_prim *p = rlx_to_prim(r, line->value, &v);
    const rlx_stmt *s =
        p ? evaluate(r, rlx_prim_call_z(r->ctx, rlx_prim_dtype(p), "ret", &p, 1),
                     rlx_place_make(r->text.source, line->begin, line->end - line->begin))
          : NULL;
    return s && rlx_tir_reader_add(r, s);
}

static const rlx_stmt *read_frame_suite(rlx_reader *r)
{
    uint32_t frame = rlx_reader_frame_enter(r);
    const rlx_stmt *s = rlx_tir_reader_read_suite(r);
    rlx_reader_frame_leave(r, frame);
    return s;
}

/* if with a literal condition: only the branch taken is part of the program */
static bool inline_suite(rlx_reader *r, bool taken)
{
    if (!taken) {
        rlx_lexer_skip_suite(&r->parser.lexer);
        return true;
    }
    /* its statements stand beside those around it, as they will when they are printed */
    const rlx_stmt *s = read_frame_suite(r);
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(s);
    bool ok = s != NULL;
    for (size_t i = 0; ok && i < (seq ? seq->num_stmts : 1); i++)
        ok = rlx_tir_reader_add(r, seq ? seq->stmts[i] : s);
    return ok;
}

static bool read_if(rlx_reader *r, const rlx_source_line *line);

/* The else or elif after a suite, if there is one: *out is its statement. */
static bool read_else(rlx_reader *r, bool constant, bool taken, const rlx_stmt **out)
{
    uint8_t next = r->parser.lexer.tok.kind;
    rlx_source_line other;
    if (next != RLX_TOK_ELSE && next != RLX_TOK_ELIF)
        return true;
    rlx_parse_line(&r->parser, &other);
    if (other.kind == RLX_LINE_ERROR)
        return r->text.syntax_errors++, false;
    if (other.kind == RLX_LINE_ELSE)
        return constant ? inline_suite(r, taken) : (*out = read_frame_suite(r)) != NULL;
    if (r->parser.blocks >= RLX_SCRIPT_MAX_BLOCKS) {
        rlx_lexer_skip_suite(&r->parser.lexer);
        return rlx_read_error_at(r, RLX_PA09, other.begin, other.end, "more than %d nested blocks",
                                 RLX_SCRIPT_MAX_BLOCKS);
    }
    struct rlx_tir_reader_state *t = r->unit.tir;
    size_t stmts = t->stmts.len, scoped = t->scoped.len;
    uint32_t frame = rlx_reader_frame_enter(r);
    r->parser.blocks++;
    t->level++;
    bool ok = read_if(r, &other);
    ok = close_scoped(r, scoped) && ok;
    t->level--;
    r->parser.blocks--;
    rlx_reader_frame_leave(r, frame);
    if (!ok || (constant && taken))
        return ok;
    *out = constant ? NULL : fold_stmts(r, stmts);
    t->stmts.len = stmts;
    return constant || *out;
}

static bool read_if(rlx_reader *r, const rlx_source_line *line)
{
    rlx_val v;
    bool known = rlx_read_operand(r, line->value, &v), ok = known;
    rlx_if_stmt *n = NULL;
    const rlx_stmt *ignored = NULL;
    if (known && (v.kind == RLX_VAL_BOOL || v.kind == RLX_VAL_INT)) {
        ok = inline_suite(r, v.i != 0);
        return read_else(r, true, v.i == 0, &ignored) && ok;
    }
    const rlx_prim *cond = known ? rlx_to_prim(r, line->value, &v) : NULL;
    if ((n = rlx_node_new(r->ctx, RLX_NODE_IF_THEN_ELSE)) == NULL)
        return false;
    n->place = rlx_place_make(r->text.source, line->begin, line->end - line->begin);
    n->cond = cond;
    n->then_case = read_frame_suite(r);
    ok = read_else(r, false, false, &n->else_case);
    return ok && cond && n->then_case && rlx_tir_reader_add(r, &n->node);
}

static bool read_while(rlx_reader *r, const rlx_source_line *line)
{
    rlx_while_stmt *n = rlx_node_new(r->ctx, RLX_NODE_WHILE);
    const rlx_prim *cond = n ? rlx_read_prim_operand(r, line->value) : NULL;
    const rlx_stmt *body = read_frame_suite(r);
    if (!cond || !body)
        return false;
    n->place = rlx_place_make(r->text.source, line->begin, line->end - line->begin);
    n->cond = cond;
    n->body = body;
    return rlx_tir_reader_add(r, &n->node);
}

static bool read_init(rlx_reader *r, const rlx_ast *call)
{
    rlx_tir_reader_open_block *b = r->unit.tir->block;
    const rlx_stmt *body = read_frame_suite(r);
    if (!b)
        return rlx_read_error(r, RLX_PA15, call, "T.init stands in a block");
    if (b->has_init)
        return rlx_read_error(r, RLX_PA13, call, "a block has one T.init");
    b->has_init = true;
    b->block->init = body;
    return body != NULL;
}

/* with of scoped statements: they end where the suite ends */
static bool read_scoped_with(rlx_reader *r, const rlx_source_line *line)
{
    struct rlx_tir_reader_state *t = r->unit.tir;
    size_t scoped = t->scoped.len;
    uint32_t frame = rlx_reader_frame_enter(r);
    bool ok = true;
    for (const rlx_ast *item = line->target; item && ok; item = item->next) {
        const rlx_tir_reader_fn *fn =
            item->base->kind == RLX_AST_CALL ? rlx_tir_reader_callee(r, item->base->base) : NULL;
        size_t before = t->scoped.len;
        ok = fn && fn->stmt
                 ? fn->stmt(r, fn, item->base, item->first)
                 : rlx_read_error(r, RLX_PA15, item, "this is nothing that 'with' can open%s",
                                  item->base->kind == RLX_AST_CALL ? "" : ": it opens calls, as T.block(\"name\")");
        if (ok && t->scoped.len == before)
            ok = rlx_read_error(r, RLX_PA15, item, "this is nothing that 'with' can open");
        if (!ok)
            fail_target(r, item->first);
    }
    const rlx_stmt *body = rlx_tir_reader_read_suite(r);
    rlx_reader_frame_leave(r, frame);
    ok &= body && rlx_tir_reader_add(r, body);
    return close_scoped(r, scoped) && ok;
}

static bool read_with(rlx_reader *r, const rlx_source_line *line)
{
    const rlx_ast *item = line->target;
    if (item && !item->next && item->base->kind == RLX_AST_CALL) {
        const rlx_ast *call = item->base;
        if (rlx_is_function(r, call->base, RLX_SPACE_T, RLX_SPECIAL_sblock) ||
            rlx_is_function(r, call->base, RLX_SPACE_T, RLX_SPECIAL_block))
            return rlx_tir_reader_read_block(r, call);
        if (rlx_is_function(r, call->base, RLX_SPACE_T, RLX_SPECIAL_init))
            return read_init(r, call);
    }
    return read_scoped_with(r, line);
}

static bool no_place(rlx_reader *r, const rlx_source_line *line)
{
    rlx_read_error_at(r, RLX_PA15, line->begin, line->end,
                      "this statement has no place in a PrimFunc");
    if (line->kind == RLX_LINE_BREAK || line->kind == RLX_LINE_CONTINUE)
        rlx_note(r->ctx, RLX_NO_PLACE, "a loop makes all its turns: put what a turn does under an if, or count in "
                                       "a while");
    if (line->kind >= RLX_LINE_IF)
        rlx_lexer_skip_suite(&r->parser.lexer);
    return false;
}

static bool read_statement(rlx_reader *r, const rlx_source_line *line)
{
    switch (line->kind) {
    case RLX_LINE_ERROR: rlx_line_failed(r, line); return false;
    case RLX_LINE_PASS: return true;
    case RLX_LINE_ASSIGN: return read_assign(r, line) || fail_target(r, line->target);
    case RLX_LINE_AUGMENT: return read_augment(r, line);
    case RLX_LINE_EXPR: return read_expression(r, line);
    case RLX_LINE_RETURN: return read_return(r, line);
    case RLX_LINE_ASSERT:
        return open_assert(r, line->value, line->annotation,
                           rlx_place_make(r->text.source, line->begin, line->end - line->begin));
    case RLX_LINE_IF: return read_if(r, line);
    case RLX_LINE_FOR: return rlx_tir_reader_read_for(r, line);
    case RLX_LINE_WHILE: return read_while(r, line);
    case RLX_LINE_WITH: return read_with(r, line);
    default: return no_place(r, line);
    }
}

/* ---- headers -------------------------------------------------------------------------------- */

static const rlx_string *handle_name(rlx_reader *r, const rlx_string *name)
{
    rlx_buf b;
    rlx_buf_init(&b, &r->ctx->memory);
    rlx_buf_format(&b, "%s_handle", name->data);
    const rlx_string *s = b.failed ? NULL : rlx_string_intern(r->ctx, (rlx_slice){ b.data, b.len });
    rlx_buf_free(&b);
    return s;
}

/* T.Buffer[(4, 4), "float32"], the older form */
static bool older_buffer(rlx_reader *r, const rlx_ast *a, const rlx_ast *p, rlx_val *out)
{
    const rlx_ast *slot[RLX_BUF_COUNT] = { NULL };
    rlx_read_note(r, a, "T.Buffer[...] is an older spelling of T.Buffer(...)");
    slot[RLX_BUF_SHAPE] = a->first;
    slot[RLX_BUF_DTYPE] = a->first->next;
    if (a->count > 2)
        return rlx_read_error(r, RLX_PA17, a, "T.Buffer[...] takes a shape and a dtype");
    const rlx_buffer *b = rlx_make_buffer(r, p->name->text, a, slot, NULL);
    return rlx_val_set(out, RLX_VAL_BUFFER, b ? &b->node : NULL, a);
}

/* A scalar parameter that a buffer's shape has named before. */
static bool is_named_size(const rlx_reader *r, const rlx_word *name, rlx_dtype t)
{
    return rlx_word_in_frame(r, name) && name->value.kind == RLX_VAL_PRIM && name->value.sub &&
           rlx_prim_dtype(name->value.node) == t;
}

static bool param_value(rlx_reader *r, const rlx_ast *p, rlx_val *v)
{
    const rlx_ast *a = p->base;
    rlx_dtype t;
    if (!a)
        return rlx_read_error(r, RLX_PA17, p, "parameter %s needs an annotation",
                              p->name->text->data);
    if (a->kind == RLX_AST_INDEX && rlx_is_function(r, a->base, RLX_SPACE_T, RLX_SPECIAL_Buffer))
        return older_buffer(r, a, p, v);
    if (!rlx_read_value(r, a, v))
        return false;
    if (v->kind == RLX_VAL_BUFFER || is_fresh(v))
        return true;
    if (v->kind != RLX_VAL_FUNC && v->kind != RLX_VAL_DTYPE)
        return rlx_read_error(
            r, RLX_PA17, a,
            "a parameter is T.Buffer(...), T.handle or a dtype such as T.int32, found %s",
            rlx_val_text(v));
    if (!rlx_to_dtype(r, a, v, &t))
        return false;
    if (is_named_size(r, p->name, t))
        return *v = p->name->value, true;
    const rlx_prim_var *var = rlx_prim_var_new(r->ctx, p->name->text, t, rlx_read_place(r, p));
    return rlx_val_set(v, RLX_VAL_PRIM, var ? &var->node : NULL, p);
}

static bool read_param(rlx_reader *r, const rlx_ast *p, rlx_pending *f, size_t i)
{
    rlx_val v;
    if (!param_value(r, p, &v))
        return false;
    name_var(&v, p->name->text);
    name_buffer(&v, p->name->text);
    const rlx_string *name = v.kind == RLX_VAL_BUFFER ? handle_name(r, p->name->text) : NULL;
    if (v.kind == RLX_VAL_BUFFER && !name)
        return false;
    f->tir_buffers[i] = v.kind == RLX_VAL_BUFFER ? v.node : NULL;
    f->params[i] =
        name ? (const rlx_expr *)rlx_prim_var_new(r->ctx, name, RELAX_HANDLE, rlx_read_place(r, p))
             : v.node;
    return f->params[i] && rlx_tir_reader_define(r, p, &v);
}

static bool read_result(rlx_reader *r, const rlx_ast *a, rlx_pending *f)
{
    rlx_val v;
    f->ret_dtype = RELAX_VOID;
    if (!a || a->kind == RLX_AST_NONE)
        return true;
    if (!rlx_read_value(r, a, &v))
        return false;
    if (is_fresh(&v)) {
        f->ret_dtype = rlx_prim_dtype(v.node);
        return true;
    }
    return rlx_to_dtype(r, a, &v, &f->ret_dtype);
}

bool rlx_tir_reader_header(rlx_reader *r, const rlx_source_line *def, rlx_pending *f)
{
    enum rlx_dialect dialect = r->unit.dialect;
    size_t n = 0, i = 0;
    for (const rlx_ast *p = def->target; p; p = p->next)
        n++;
    f->params = rlx_new(r->ctx, (n + 1) * sizeof *f->params);
    f->tir_buffers = rlx_new_zero(r->ctx, (n + 1) * sizeof *f->tir_buffers);
    if (!f->params || !f->tir_buffers)
        return false;
    r->unit.dialect = RLX_DIALECT_TIR;
    uint32_t frame = rlx_reader_frame_enter(r);
    r->unit.header = def;
    bool ok = rlx_define_type_params(r, def);
    for (const rlx_ast *p = def->target; p; p = p->next)
        ok &= read_param(r, p, f, i++);
    f->num_params = n;
    ok = ok && read_result(r, def->annotation, f) && rlx_keep_names(r, frame, f);
    r->unit.header = NULL;
    rlx_reader_frame_leave(r, frame);
    r->unit.dialect = dialect;
    return ok;
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* Blocks that might have been the root but are not: their regions are found now. */
static bool complete_rest(rlx_reader *r, const rlx_stmt *body)
{
    struct rlx_tir_reader_state *t = r->unit.tir;
    for (size_t i = 0; i < t->unfinished.len; i++) {
        rlx_block_realize *realize = t->unfinished.data[i];
        if (&realize->node == body)
            continue;
        const rlx_tir_block *b = (const rlx_tir_block *)realize->block;
        size_t errors = r->ctx->diags.num_errors;
        b = rlx_tir_complete_block(r->ctx, b, !b->num_reads, !b->num_writes);
        r->text.syntax_errors += r->ctx->diags.num_errors - errors;
        if (!b)
            return false;
        realize->block = &b->node;
    }
    return true;
}

static const rlx_prim_func *make_func(rlx_reader *r, const rlx_stmt *body)
{
    struct rlx_tir_reader_state *t = r->unit.tir;
    const rlx_pending *f = t->f;
    if (!f->is_private && !rlx_attrs_get(t->attrs, "global_symbol")) {
        const rlx_attr *symbol = rlx_attr_string_new(r->ctx, rlx_string_slice(f->name->text));
        if (!symbol || !(t->attrs = rlx_attrs_with(r->ctx, t->attrs, "global_symbol", symbol)))
            return NULL;
    }
    rlx_prim_func *p = rlx_node_new(r->ctx, RLX_NODE_PRIM_FUNC);
    if (!p || !complete_rest(r, body))
        return NULL;
    p->place = rlx_place_make(r->text.source, f->begin, f->end - f->begin);
    p->params = f->params;
    p->num_params = f->num_params;
    p->buffers = t->buffers;
    p->num_buffers = f->num_params;
    p->ret_dtype = f->ret_dtype;
    p->attrs = t->attrs;
    p->attr_places = rlx_attr_places(r, f, t->attrs, &p->num_attr_places);
    p->body = rlx_tir_add_root(r->ctx, body, (const rlx_buffer *const *)t->root_allocs.data,
                               t->root_allocs.len, p->place);
    return p->body ? p : NULL;
}

bool rlx_tir_reader_body(rlx_reader *r, rlx_pending *f)
{
    struct rlx_tir_reader_state state = { .f = f, .buffers = f->tir_buffers };
    rlx_memory *m = &r->ctx->memory;
    const rlx_prim_func *p = NULL;
    r->unit.dialect = RLX_DIALECT_TIR;
    r->unit.tir = &state;
    rlx_ptrmap_init(&state.loops, m);
    rlx_ptrmap_init(&state.params, m);
    uint32_t frame = rlx_reader_frame_enter(r);
    if (rlx_restore_names(r, f)) {
        const rlx_stmt *body = rlx_tir_reader_read_suite(r);
        p = body ? make_func(r, body) : NULL;
    }
    rlx_reader_frame_leave(r, frame);
    rlx_vec_free(m, &state.stmts);
    rlx_vec_free(m, &state.scoped);
    rlx_vec_free(m, &state.root_allocs);
    rlx_vec_free(m, &state.unfinished);
    rlx_ptrmap_free(&state.loops);
    rlx_ptrmap_free(&state.params);
    r->unit.tir = NULL;
    return p && rlx_name_by_symbol(r, f, p->attrs) &&
           rlx_module_builder_define(r->module.builder, f->gvar, &p->node);
}
