/*- print_tir.c: statements of PrimFuncs.
 *
 *     TASK_STMT    one statement; flag CONCISE: it is the last of its suite, so that a scope
 *                  needs no `with`
 *     TASK_SEQ     the statements of a sequence
 *     TASK_LEAVE   end of a suite or scope: frame and indentation
 *     TASK_ELSE    the else branch
 *     TASK_BODY    what follows T.init() in a block
 */
/* built for size */
#include "script/print_int.h"

#include "format/fault.h"

enum { TASK_STMT, TASK_SEQ, TASK_LEAVE, TASK_ELSE, TASK_BODY };
enum { CONCISE = 1 };

static void push_task(rlx_printer *p, uint8_t what, const rlx_node *node, uint8_t flags, size_t at)
{
    rlx_task t = { .what = what, .flags = flags, .node = node, .at = at };
    if (!rlx_vec_push(p->m, &p->tasks, t))
        rlx_print_fail(p);
}

void rlx_push_tir_body(rlx_printer *p, const rlx_stmt *s)
{
    push_task(p, rlx_is(s, RLX_NODE_SEQ_STMT) ? TASK_SEQ : TASK_STMT, s, CONCISE, 0);
}

/* Suite below a line that ends in a colon: frame, deeper indentation, body. */
void rlx_open_tir_suite(rlx_printer *p, const rlx_node *owner)
{
    rlx_put_newline(p);
    p->indent += 4;
    rlx_print_enter(p, owner);
    push_task(p, TASK_LEAVE, NULL, 0, 4);
}

/* ---- lines without a suite */
static void put_store(rlx_printer *p, const rlx_buffer_store *s)
{
    rlx_put_indent(p);
    rlx_put_var(p, s->buffer);
    if (s->predicate) {
        rlx_put(p, ".vstore([");
        rlx_print_list(p, s->indices, s->num_indices, 0);
        rlx_put(p, "], ");
        rlx_print_expr(p, s->value, 0);
        rlx_put(p, ", predicate=");
        rlx_print_expr(p, s->predicate, 0);
        rlx_put(p, ")");
    } else {
        rlx_print_subscript(p, s->indices, s->num_indices);
        rlx_put(p, " = ");
        rlx_print_expr(p, s->value, 0);
    }
    rlx_put_newline(p);
}

static void put_evaluate(rlx_printer *p, const rlx_evaluate *e)
{
    const rlx_prim_call *c = rlx_as_prim_call(e->value);
    bool returns = c && c->op && c->num_args == 1 && strcmp(c->op->data, "ret") == 0;
    rlx_put_indent(p);
    if (!c) {
        rlx_put_t(p);
        rlx_put(p, "evaluate(");
    } else if (returns) {
        rlx_put(p, "return ");
    }
    rlx_print_expr(p, returns ? c->args[0] : e->value, 0);
    if (!c)
        rlx_put(p, ")");
    rlx_put_newline(p);
}

static void put_prefetch(rlx_printer *p, const rlx_prefetch *s)
{
    rlx_put_indent(p);
    rlx_put_t(p);
    rlx_put(p, "prefetch(");
    rlx_put_var(p, s->buffer);
    rlx_put(p, ", [");
    rlx_print_list(p, s->bounds, s->num_bounds, 0);
    rlx_put(p, "])");
    rlx_put_newline(p);
}

/* ---- loops */
static bool has_entries(const rlx_attr *a)
{
    return rlx_as_attrs(a) && rlx_as_attrs(a)->num_keys;
}

/* Loop variables from *known up to `l` are added first: most extents are literals and ask for
 * none. */
static bool mentions(rlx_printer *p, const rlx_prim *e, rlx_ptrmap *vars,
                     const rlx_for_stmt **known, const rlx_for_stmt *l)
{
    bool hit = false;
    rlx_prim_vars found = { 0 };
    if (e->kind == RLX_NODE_INT_IMM)
        return false;
    for (; *known != l; *known = rlx_as_for_stmt((*known)->body))
        if (!rlx_ptrmap_put(vars, (*known)->loop_var, 1))
            return !rlx_print_fail(p);
    if (!rlx_collect_prim_vars(p->m, e, false, &found))
        rlx_print_fail(p);
    for (size_t i = 0; i < found.len && !hit; i++)
        hit = rlx_ptrmap_has(vars, found.data[i]);
    rlx_vec_free(p->m, &found);
    return hit;
}

/* Loops of one T.grid from `f` on: serial, from 0, without annotations, of independent extents. */
static size_t grid_depth(rlx_printer *p, const rlx_for_stmt *f)
{
    rlx_ptrmap vars;
    const rlx_for_stmt *known = f;
    size_t n = 0;
    rlx_ptrmap_init(&vars, p->m);
    for (; f; f = rlx_as_for_stmt(f->body), n++) {
        if (f->for_kind != RLX_FOR_SERIAL || !rlx_is_int_value(f->min, 0) ||
            has_entries(f->annotations))
            break;
        if (mentions(p, f->extent, &vars, &known, f))
            break;
    }
    rlx_ptrmap_free(&vars);
    return n;
}

static const rlx_bound *loop_var(rlx_printer *p, const rlx_for_stmt *f)
{
    const rlx_bound *b = rlx_define_at(p, f->loop_var, p->frames.len - 1);
    if (!rlx_ptrmap_put(&p->loops, f->loop_var, (uintptr_t)f))
        rlx_print_fail(p);
    return b;
}

/* Variables first, in the frame of the body; the extents are outside of it and see none of
 * them. */
static void open_loop(rlx_printer *p, const rlx_for_stmt *f, size_t depth)
{
    rlx_put_indent(p);
    size_t line = rlx_vec_last(&p->frames).line;
    rlx_put(p, "for ");
    rlx_print_enter(p, NULL);
    rlx_vec_last(&p->frames).line = line;
    for (size_t i = 0; i < depth; i++, f = rlx_as_for_stmt(f->body)) {
        const rlx_bound *b = loop_var(p, f);
        if (i)
            rlx_put(p, ", ");
        if (b)
            rlx_put_bound(p, b);
    }
    rlx_put(p, " in ");
}

static void close_loop(rlx_printer *p, const rlx_for_stmt *f, const rlx_stmt *body)
{
    rlx_put(p, "):");
    rlx_put_newline(p);
    p->indent += 4;
    rlx_print_own(p, &f->node);
    push_task(p, TASK_LEAVE, NULL, 0, 4);
    rlx_push_tir_body(p, body);
}

static void print_grid(rlx_printer *p, const rlx_for_stmt *f, size_t depth)
{
    const rlx_for_stmt *l = f;
    const rlx_stmt *body = f->body;
    open_loop(p, f, depth);
    rlx_put_t(p);
    rlx_put(p, "grid(");
    for (size_t i = 0; i < depth; i++, l = rlx_as_for_stmt(l->body)) {
        if (i)
            rlx_put(p, ", ");
        rlx_print_expr(p, l->extent, 0);
        body = l->body;
    }
    close_loop(p, f, body);
}

static void print_for(rlx_printer *p, const rlx_for_stmt *f)
{
    static const char *const kinds[] = { "serial(", "parallel(", "vectorized(", "unroll(",
                                         "thread_binding(" };
    size_t depth = grid_depth(p, f);
    const rlx_iter_var *thread = rlx_as_iter_var(f->thread_binding);
    if (depth > 1) {
        print_grid(p, f, depth);
        return;
    }
    open_loop(p, f, 1);
    if (f->for_kind == RLX_FOR_SERIAL && !has_entries(f->annotations)) {
        rlx_put(p, "range(");
    } else {
        rlx_put_t(p);
        rlx_buf_z(p->out, f->for_kind >= 0 && f->for_kind < (int)RLX_COUNT(kinds)
                              ? kinds[f->for_kind]
                              : kinds[0]);
    }
    if (rlx_is_int_value(f->min, 0)) {
        rlx_print_expr(p, f->extent, 0);
    } else {
        rlx_print_expr(p, f->min, 0);
        rlx_put(p, ", ");
        rlx_print_expr(p, rlx_print_sum(p, f->min, f->extent), 0);
    }
    if (f->for_kind == RLX_FOR_THREAD_BINDING && thread) {
        rlx_put(p, ", thread=");
        rlx_put_string(p, thread->thread_tag ? rlx_string_slice(thread->thread_tag)
                                             : RLX_SLICE("threadIdx.x"));
    }
    if (has_entries(f->annotations)) {
        rlx_put(p, ", annotations=");
        rlx_print_expr(p, f->annotations, 0);
    }
    close_loop(p, f, f->body);
}

/* ---- while, if */
static void print_while(rlx_printer *p, const rlx_while_stmt *s)
{
    rlx_put_indent(p);
    rlx_put(p, "while ");
    rlx_print_expr(p, s->cond, 0);
    rlx_put(p, ":");
    rlx_open_tir_suite(p, &s->node);
    rlx_push_tir_body(p, s->body);
}

static void print_if(rlx_printer *p, const rlx_if_stmt *s)
{
    rlx_put_indent(p);
    rlx_put(p, "if ");
    rlx_print_expr(p, s->cond, 0);
    rlx_put(p, ":");
    if (s->else_case)
        push_task(p, TASK_ELSE, s->else_case, 0, 0);
    rlx_open_tir_suite(p, s->then_case);
    rlx_push_tir_body(p, s->then_case);
}

static void print_else(rlx_printer *p, const rlx_stmt *s)
{
    rlx_put_indent(p);
    rlx_put(p, "else:");
    rlx_open_tir_suite(p, s);
    rlx_push_tir_body(p, s);
}

/* ---- scopes: `x = f(...)` over the rest of the suite, or `with f(...) as x:` */
typedef struct scope {
    const rlx_stmt *stmt, *body;
    const rlx_node *var;
    bool concise;
    size_t outer;
} scope;

/* Begins the line, in a frame whose statement is set only at the end: what f(...) mentions
 * belongs outside. */
static void begin_scope(rlx_printer *p, scope *s)
{
    rlx_put_indent(p);
    size_t line = rlx_vec_last(&p->frames).line;
    s->outer = p->frames.len - 1;
    rlx_print_enter(p, NULL);
    rlx_vec_last(&p->frames).line = line;
    if (!s->concise)
        rlx_put(p, "with ");
}

/* The variable before `=`; nothing for `with`. */
static void scope_target(rlx_printer *p, const scope *s)
{
    const rlx_bound *b = s->concise ? rlx_define_here(p, s->var) : NULL;
    if (b) {
        rlx_put_bound(p, b);
        rlx_put(p, " = ");
    }
}

static void end_scope(rlx_printer *p, const scope *s)
{
    if (!s->concise && s->var) {
        const rlx_bound *b = rlx_define_here(p, s->var);
        rlx_put(p, " as ");
        if (b)
            rlx_put_bound(p, b);
    }
    if (!s->concise) {
        rlx_put(p, ":");
        p->indent += 4;
    }
    rlx_put_newline(p);
    rlx_print_own(p, s->stmt);
    push_task(p, TASK_LEAVE, NULL, 0, s->concise ? 0 : 4);
    rlx_push_tir_body(p, s->body);
}

void rlx_put_var_type(rlx_printer *p, const rlx_node *var)
{
    const rlx_prim_var *v = rlx_as_prim_var(var);
    char name[RLX_DTYPE_TEXT];
    if (v->scope) {
        rlx_put_creation(p, var);
        return;
    }
    size_t len = rlx_dtype_name(v->dtype, name);
    rlx_put_t(p);
    rlx_buf_put(p->out, name, len);
}

static void print_let(rlx_printer *p, const rlx_let_stmt *l, bool concise)
{
    bool known = rlx_find_bound(p, l->var) != NULL;
    bool pointer = rlx_as_prim_var(l->var)->scope != NULL;
    scope s = { &l->node, l->body, known ? NULL : l->var, concise && !known, 0 };
    begin_scope(p, &s);
    if (s.concise) {
        const rlx_bound *b = rlx_define_here(p, l->var);
        if (b)
            rlx_put_bound(p, b);
        rlx_put(p, ": ");
        if (p->newer) {
            rlx_put_t(p);
            rlx_put(p, "let[");
        }
        rlx_put_var_type(p, l->var);
        rlx_put_for(p, " = ", "] = ");
        rlx_print_expr(p, l->value, 0);
    } else {
        rlx_put_t(p);
        rlx_put(p, "LetStmt(");
        rlx_print_expr(p, l->value, 0);
        if (known) {
            rlx_put(p, ", var=");
            rlx_put_var(p, l->var);
        } else if (pointer) {
            rlx_put(p, ", ");
            rlx_put_var_type(p, l->var);
        }
        rlx_put(p, ")");
    }
    end_scope(p, &s);
}

static void print_assert(rlx_printer *p, const rlx_assert_stmt *a, bool concise)
{
    scope s = { &a->node, a->body, NULL, concise, 0 };
    begin_scope(p, &s);
    if (concise) {
        rlx_put(p, "assert ");
    } else {
        rlx_put_t(p);
        rlx_put(p, "Assert(");
    }
    rlx_print_expr(p, a->cond, 0);
    rlx_put(p, ", ");
    const rlx_tir_string *text = rlx_as_tir_string(a->message);
    if (text && a->assertion)
        rlx_put_named_string(p, rlx_assertion_mark((uint32_t)a->assertion),
                             rlx_string_slice(text->value));
    else
        rlx_print_expr(p, a->message, 0);
    if (!concise)
        rlx_put(p, ")");
    end_scope(p, &s);
}

/* ---- attributes and threads */
static const rlx_iter_var *launched(const rlx_attr_stmt *a)
{
    const rlx_iter_var *v = rlx_as_iter_var(a->target);
    if (!v || !v->thread_tag || !a->key)
        return NULL;
    const char *want =
        strncmp(v->thread_tag->data, "vthread", 7) == 0 ? "virtual_thread" : "thread_extent";
    return strcmp(a->key->data, want) == 0 ? v : NULL;
}

/* tx = T.env_thread("threadIdx.x"), above all uses of a thread that more than one scope uses. */
static void declare_thread(rlx_printer *p, const rlx_iter_var *v)
{
    size_t frame = rlx_print_frame_of(p, v->var), mark = p->out->len;
    uint32_t old = p->indent;
    const rlx_bound *b = rlx_define_at(p, v->var, frame);
    size_t kept = rlx_vec_last(&p->frames).line;
    p->indent = p->frames.data[frame].indent;
    size_t at = p->frames.data[frame].line;
    rlx_put_indent(p);
    if (b)
        rlx_put_bound(p, b);
    rlx_put(p, " = ");
    rlx_put_t(p);
    rlx_put(p, "env_thread(");
    rlx_put_string(p, rlx_string_slice(v->thread_tag));
    if (rlx_prim_dtype(v->var) != RELAX_INT32) {
        rlx_put(p, ", ");
        rlx_put_dtype(p, rlx_prim_dtype(v->var));
    }
    rlx_put(p, ")");
    rlx_put_newline(p);
    p->indent = old;
    rlx_vec_last(&p->frames).line = kept;
    rlx_print_move(p, mark, at, RLX_INSERT_DECLARE);
}

static void print_launch(rlx_printer *p, const rlx_attr_stmt *a, const rlx_iter_var *v,
                         bool concise)
{
    bool own = !rlx_find_bound(p, v->var) && rlx_is_used_within(p, v->var, &a->node);
    scope s = { &a->node, a->body, own ? v->var : NULL, concise, 0 };
    begin_scope(p, &s);
    if (!own && !rlx_find_bound(p, v->var))
        declare_thread(p, v);
    if (own)
        scope_target(p, &s);
    rlx_put_t(p);
    rlx_put(p, "launch_thread(");
    if (own)
        rlx_put_string(p, rlx_string_slice(v->thread_tag));
    else
        rlx_put_var(p, v->var);
    rlx_put(p, ", ");
    rlx_print_expr(p, a->value, 0);
    rlx_put(p, ")");
    end_scope(p, &s);
}

/* T.realize(A[0:4], "local", condition) */
static void print_realize(rlx_printer *p, const rlx_buffer_realize *r, const rlx_prim *where,
                          const rlx_stmt *owner, bool concise)
{
    scope s = { owner, r->body, NULL, concise, 0 };
    begin_scope(p, &s);
    rlx_put_t(p);
    rlx_put(p, "realize(");
    rlx_put_var(p, r->buffer);
    rlx_print_subscript(p, r->bounds, r->num_bounds);
    rlx_put(p, ", ");
    if (where)
        rlx_print_expr(p, where, 0);
    else
        rlx_put(p, "\"\"");
    if (r->condition && !rlx_is_int_value(r->condition, 1)) {
        rlx_put(p, ", ");
        rlx_print_expr(p, r->condition, 0);
    }
    rlx_put(p, ")");
    end_scope(p, &s);
}

static void print_attr(rlx_printer *p, const rlx_attr_stmt *a, bool concise)
{
    const rlx_buffer_realize *r = rlx_as_buffer_realize(a->body);
    const rlx_iter_var *v = launched(a);
    if (v) {
        print_launch(p, a, v, concise);
        return;
    }
    if (r && r->buffer == a->target && a->key && strcmp(a->key->data, "realize_scope") == 0) {
        print_realize(p, r, a->value, &a->node, concise);
        return;
    }
    scope s = { &a->node, a->body, NULL, concise, 0 };
    begin_scope(p, &s);
    rlx_put_t(p);
    rlx_put(p, "attr(");
    rlx_print_expr(p, a->target, 0);
    rlx_put(p, ", ");
    rlx_put_string(p, a->key ? rlx_string_slice(a->key) : (rlx_slice){ "", 0 });
    rlx_put(p, ", ");
    rlx_print_expr(p, a->value, 0);
    rlx_put(p, ")");
    end_scope(p, &s);
}

/* ---- storage */
static void put_annotations(rlx_printer *p, const rlx_attr *a)
{
    if (!has_entries(a))
        return;
    rlx_put(p, ", annotations=");
    rlx_print_expr(p, a, 0);
}

/* T.decl_buffer(...) stands for an allocation with the buffer over all of it; with annotations only
 * TVM 0.27 can say that: T.alloc_buffer(..., annotations={...}). */
static const rlx_decl_buffer *allocated_buffer(const rlx_printer *p, const rlx_allocate *a)
{
    const rlx_decl_buffer *d = rlx_as_decl_buffer(a->body);
    const rlx_buffer *b = d ? rlx_as_buffer(d->buffer) : NULL;
    if (!b || b->data != a->var || b->dtype != a->dtype || b->num_shape != a->num_extents ||
        (has_entries(a->annotations) && !p->newer))
        return NULL;
    if (a->condition && !rlx_is_int_value(a->condition, 1))
        return NULL;
    for (size_t i = 0; i < b->num_shape; i++)
        if (b->shape[i] != a->extents[i])
            return NULL;
    return d;
}

static void print_decl(rlx_printer *p, const rlx_decl_buffer *d, const rlx_stmt *owner,
                       const rlx_allocate *a, bool concise)
{
    scope s = { owner, d->body, d->buffer, concise, 0 };
    begin_scope(p, &s);
    scope_target(p, &s);
    if (a)
        rlx_put_allocated(p, rlx_as_buffer(d->buffer),
                          has_entries(a->annotations) ? a->annotations : NULL, s.outer);
    else
        rlx_put_view(p, rlx_as_buffer(d->buffer), s.outer);
    end_scope(p, &s);
}

static void print_allocate(rlx_printer *p, const rlx_allocate *a, bool concise)
{
    const rlx_decl_buffer *d = allocated_buffer(p, a);
    const rlx_prim_var *v = rlx_as_prim_var(a->var);
    if (d && !rlx_find_bound(p, a->var)) {
        print_decl(p, d, &a->node, a, concise);
        return;
    }
    scope s = { &a->node, a->body, a->var, concise, 0 };
    begin_scope(p, &s);
    scope_target(p, &s);
    rlx_put_t(p);
    rlx_put(p, "allocate([");
    rlx_print_list(p, a->extents, a->num_extents, 0);
    rlx_put(p, "], ");
    rlx_put_dtype(p, a->dtype);
    rlx_put(p, ", ");
    rlx_put_string(p, v && v->scope ? rlx_string_slice(v->scope) : RLX_SLICE("global"));
    if (a->condition && !rlx_is_int_value(a->condition, 1)) {
        rlx_put(p, ", ");
        rlx_print_expr(p, a->condition, 0);
    }
    put_annotations(p, a->annotations);
    rlx_put(p, ")");
    end_scope(p, &s);
}

static void print_allocate_const(rlx_printer *p, const rlx_allocate_const *a, bool concise)
{
    scope s = { &a->node, a->body, a->var, concise, 0 };
    begin_scope(p, &s);
    scope_target(p, &s);
    rlx_put_t(p);
    rlx_put(p, "allocate_const([");
    if (rlx_as_constant(a->data))
        rlx_put_elements(p, rlx_as_constant(a->data));
    rlx_put(p, "], ");
    rlx_put_dtype(p, a->dtype);
    rlx_put(p, ", [");
    rlx_print_list(p, a->extents, a->num_extents, 0);
    rlx_put(p, "]");
    put_annotations(p, a->annotations);
    rlx_put(p, ")");
    end_scope(p, &s);
}

/* ---- dispatch */
static void print_stmt(rlx_printer *p, const rlx_stmt *s, bool concise)
{
    p->under_way = s;
    switch (s->kind) {
    case RLX_NODE_SEQ_STMT: push_task(p, TASK_SEQ, s, concise ? CONCISE : 0, 0); break;
    case RLX_NODE_EVALUATE: put_evaluate(p, (const rlx_evaluate *)s); break;
    case RLX_NODE_BUFFER_STORE: put_store(p, (const rlx_buffer_store *)s); break;
    case RLX_NODE_LET_STMT: print_let(p, (const rlx_let_stmt *)s, concise); break;
    case RLX_NODE_FOR: print_for(p, (const rlx_for_stmt *)s); break;
    case RLX_NODE_WHILE: print_while(p, (const rlx_while_stmt *)s); break;
    case RLX_NODE_IF_THEN_ELSE: print_if(p, (const rlx_if_stmt *)s); break;
    case RLX_NODE_ASSERT_STMT: print_assert(p, (const rlx_assert_stmt *)s, concise); break;
    case RLX_NODE_ATTR_STMT: print_attr(p, (const rlx_attr_stmt *)s, concise); break;
    case RLX_NODE_ALLOCATE: print_allocate(p, (const rlx_allocate *)s, concise); break;
    case RLX_NODE_ALLOCATE_CONST:
        print_allocate_const(p, (const rlx_allocate_const *)s, concise);
        break;
    case RLX_NODE_DECL_BUFFER: print_decl(p, (const rlx_decl_buffer *)s, s, NULL, concise); break;
    case RLX_NODE_TIR_BLOCK: rlx_print_block(p, (const rlx_tir_block *)s, NULL); break;
    case RLX_NODE_BLOCK_REALIZE:
        rlx_print_block(p, rlx_as_tir_block(((const rlx_block_realize *)s)->block),
                        (const rlx_block_realize *)s);
        break;
    case RLX_NODE_BUFFER_REALIZE:
        print_realize(p, (const rlx_buffer_realize *)s, NULL, s, concise);
        break;
    case RLX_NODE_PREFETCH: put_prefetch(p, (const rlx_prefetch *)s); break;
    default: break;
    }
}

/* One statement of a sequence; a scope is concise only where the rest of the suite is empty. */
static void step_seq(rlx_printer *p, size_t task)
{
    rlx_task t = p->tasks.data[task];
    const rlx_seq_stmt *s = rlx_as_seq_stmt(t.node);
    if (!s->num_stmts) {
        rlx_put_indent(p);
        rlx_put(p, "pass");
        rlx_put_newline(p);
    }
    if (t.at >= s->num_stmts) {
        p->tasks.len--;
        return;
    }
    bool last = t.at + 1 == s->num_stmts;
    if (last)
        p->tasks.len--;
    else
        p->tasks.data[task].at++;
    print_stmt(p, s->stmts[t.at], last && (t.flags & CONCISE));
}

static void print_task(rlx_printer *p)
{
    size_t top = p->tasks.len - 1;
    rlx_task t = p->tasks.data[top];
    if (t.what == TASK_SEQ) {
        step_seq(p, top);
        return;
    }
    p->tasks.len--;
    switch (t.what) {
    case TASK_LEAVE:
        rlx_print_leave(p);
        p->indent -= (uint32_t)t.at;
        break;
    case TASK_ELSE: print_else(p, t.node); break;
    case TASK_BODY: rlx_push_tir_body(p, t.node); break;
    default:
        if (t.node)
            print_stmt(p, t.node, t.flags & CONCISE);
        break;
    }
}

void rlx_push_tir_rest(rlx_printer *p, const rlx_stmt *s)
{
    push_task(p, TASK_BODY, s, 0, 0);
}

void rlx_run_tir(rlx_printer *p)
{
    while (p->tasks.len && !p->failed && !p->out->failed)
        print_task(p);
    p->tasks.len = 0;
}

void rlx_print_tir_stmt(rlx_printer *p, const rlx_stmt *s)
{
    p->where = RLX_PRINT_TIR;
    p->unit = s;
    p->unit_frame = p->frames.len - 1;
    print_stmt(p, s, true);
    rlx_run_tir(p);
    rlx_uses_free(p);
    p->unit = NULL;
}
