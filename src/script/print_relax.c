/*- print_relax.c: Relax functions, blocks and bindings.
 *
 * Statements run on a stack of tasks; each opens with its own line and comes back for the next
 * part:
 *
 *     TASK_FUNCTION   header, then the body (a sequence), then the blank line after it
 *     TASK_SEQ        blocks of a sequence one by one, then its result: return, the value of a
 *                     branch, or a line
 *     TASK_BLOCK      bindings of a block, then R.output
 *     TASK_IF         the branches
 */
#include "script/print_int.h"

enum { TASK_FUNCTION, TASK_SEQ, TASK_BLOCK, TASK_IF };

static rlx_task *push_task(rlx_printer *p, uint8_t what, const rlx_node *node,
                           const rlx_node *target)
{
    rlx_task t = { .what = what, .node = node, .target = target };
    if (!rlx_vec_push(p->m, &p->tasks, t))
        return rlx_print_fail(p), NULL;
    return &rlx_vec_last(&p->tasks);
}

/* ---- declarations */
void rlx_put_creation(rlx_printer *p, const rlx_node *var)
{
    const rlx_prim_var *v = rlx_as_prim_var(var);
    char name[RLX_DTYPE_TEXT];
    size_t len = rlx_dtype_name(v->dtype, name);
    rlx_put_t(p);
    rlx_buf_put(p->out, name, len);
    rlx_put(p, "(");
    if (v->scope) {
        rlx_put_dtype(p, v->elem_dtype);
        rlx_put(p, ", ");
        rlx_put_string(p, rlx_string_slice(v->scope));
    } else if (v->is_size) {
        rlx_put(p, "is_size_var=True");
    }
    rlx_put(p, ")");
}

static void declaration_line(rlx_printer *p, rlx_declared d, uint32_t indent)
{
    uint32_t old = p->indent;
    p->indent = indent;
    rlx_put_indent(p);
    rlx_put_bound(p, d.name);
    rlx_put(p, " = ");
    rlx_put_creation(p, d.var);
    rlx_put_newline(p);
    p->indent = old;
}

/* A shape variable belongs to the outermost function: in its signature it waits for the body to
 * begin, later it is put above what is printed already. */
const rlx_bound *rlx_declare_symbolic(rlx_printer *p, const rlx_node *var)
{
    rlx_declared d = { var, rlx_define_at(p, var, p->function_frame) };
    if (!d.name)
        return NULL;
    if (p->signature && p->newer && rlx_as_prim_var(var)->dtype == RELAX_INT64) {
        rlx_print_type_var(p, d.name);
        return d.name;
    }
    if (p->signature) {
        if (!rlx_vec_push(p->m, &p->declare, d))
            rlx_print_fail(p);
        return d.name;
    }
    size_t mark = p->out->len;
    declaration_line(p, d, p->frames.data[p->function_frame].indent + 4);
    rlx_print_move(p, mark, p->hoist, RLX_INSERT_DECLARE);
    return d.name;
}

void rlx_use_alias(rlx_printer *p)
{
    if (p->alias || p->where != RLX_PRINT_RELAX)
        return;
    p->alias = true;
    uint32_t old = p->indent;
    size_t mark = p->out->len;
    p->indent = p->frames.data[p->function_frame].indent + 4;
    rlx_put_indent(p);
    rlx_put(p, "cls = ");
    rlx_buf_z(p->out, p->module_name);
    rlx_put_newline(p);
    p->indent = old;
    rlx_print_move(p, mark, p->hoist, RLX_INSERT_DECLARE);
}

static bool mentions_global(const rlx_expr *e)
{
    const rlx_call *c = rlx_as_call(e);
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_node *const *items = c ? c->args : t ? t->fields : NULL;
    size_t count = c ? c->num_args : t ? t->num_fields : 0;
    if (rlx_is(e, RLX_NODE_GLOBAL_VAR) || (c && rlx_is(c->op, RLX_NODE_GLOBAL_VAR)))
        return true;
    for (size_t i = 0; i < count; i++)
        if (rlx_is(items[i], RLX_NODE_GLOBAL_VAR))
            return true;
    return false;
}

/* ---- annotations */
static bool same_sinfo(rlx_printer *p, const rlx_sinfo *a, const rlx_sinfo *b)
{
    bool lost = false, same = a == b || (a && b && rlx_equal(p->m, a, b, false, &lost));
    if (lost)
        rlx_print_fail(p);
    return same;
}

/* call_tir and call_dps_packed say their result themselves. */
static bool says_result(rlx_printer *p, const rlx_var *v, const rlx_expr *value)
{
    const rlx_call *c = rlx_as_call(value);
    return c && c->num_sinfo_args == 1 &&
           (rlx_is_op(c->op, RLX_OP_ID_CALL_TIR) || rlx_is_op(c->op, RLX_OP_ID_CALL_DPS_PACKED)) &&
           same_sinfo(p, v->sinfo, c->sinfo_args[0]);
}

static bool is_deducible(const rlx_expr *value)
{
    const rlx_call *c = rlx_as_call(value);
    switch (value ? value->kind : 0) {
    case RLX_NODE_CALL: return rlx_is(c->op, RLX_NODE_OP) || rlx_is(c->op, RLX_NODE_EXTERN_FUNC);
    case RLX_NODE_TUPLE:
    case RLX_NODE_TUPLE_GET_ITEM:
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR:
        return true;
    default: return false;
    }
}

static void put_annotation(rlx_printer *p, const rlx_var *v, const rlx_expr *value)
{
    if (!v->sinfo || (p->options->no_struct_info && is_deducible(value)) ||
        says_result(p, v, value))
        return;
    rlx_put(p, ": ");
    rlx_print_expr(p, v->sinfo, 0);
}

/* y: SI = value */
static void put_assignment(rlx_printer *p, const rlx_bound *b, const rlx_var *v,
                           const rlx_expr *value)
{
    rlx_put_indent(p);
    if (b)
        rlx_put_bound(p, b);
    put_annotation(p, v, value);
    rlx_put(p, " = ");
    rlx_print_expr(p, value, RLX_ITEM_OPEN);
    rlx_put_newline(p);
}

/* ---- bindings */
static void print_match(rlx_printer *p, const rlx_match_cast *m)
{
    const rlx_tuple *t = rlx_as_tuple(m->value);
    const rlx_var *v = rlx_as_var(m->var);
    rlx_put_indent(p);
    const rlx_bound *b = v ? rlx_define_at(p, &v->node, p->frames.len - 1) : NULL;
    if (b)
        rlx_put_bound(p, b);
    else
        rlx_put(p, "_");
    if (v)
        put_annotation(p, v, NULL);
    rlx_put(p, " = ");
    rlx_put_r(p);
    rlx_put(p, "match_cast(");
    if (t && t->num_fields) { /* a tuple in plain brackets is refused here */
        rlx_put_r(p);
        rlx_put(p, "tuple(");
        rlx_print_list(p, t->fields, t->num_fields, 0);
        rlx_put(p, ")");
    } else {
        rlx_print_expr(p, m->value, 0);
    }
    rlx_put(p, ", ");
    rlx_print_expr(p, m->sinfo, 0);
    rlx_put(p, ")");
    rlx_put_newline(p);
}

static void print_plain_binding(rlx_printer *p, const rlx_var *v, const rlx_expr *value)
{
    if (!p->alias && mentions_global(value))
        rlx_use_alias(p); /* what the value needs is declared before what the annotation needs */
    if (rlx_sinfo_is_void(v->sinfo)) {
        rlx_put_indent(p);
        rlx_print_expr(p, value, 0);
        rlx_put_newline(p);
        return;
    }
    const rlx_bound *b = rlx_define_at(p, &v->node, p->frames.len - 1);
    if (b)
        put_assignment(p, b, v, value);
}

static void print_binding(rlx_printer *p, const rlx_binding *n)
{
    const rlx_var_binding *b = rlx_as_var_binding(n);
    p->under_way = n;
    if (!b) {
        print_match(p, (const rlx_match_cast *)n);
        return;
    }
    const rlx_var *v = rlx_as_var(b->var);
    if (rlx_is(b->value, RLX_NODE_IF) || rlx_is(b->value, RLX_NODE_FUNCTION)) {
        if (rlx_define_at(p, b->var, p->frames.len - 1))
            push_task(p, b->value->kind == RLX_NODE_IF ? TASK_IF : TASK_FUNCTION, b->value,
                      b->var);
        return;
    }
    print_plain_binding(p, v, b->value);
}

/* ---- blocks */
static void put_output(rlx_printer *p, const rlx_block *b)
{
    bool any = false;
    rlx_put_indent(p);
    rlx_put_r(p);
    rlx_put(p, "output(");
    for (size_t i = 0; i < b->num_bindings; i++) {
        const rlx_var_binding *vb = rlx_as_var_binding(b->bindings[i]);
        const rlx_match_cast *m = rlx_as_match_cast(b->bindings[i]);
        const rlx_node *var = vb ? vb->var : m ? m->var : NULL;
        const rlx_bound *bound = rlx_is(var, RLX_NODE_VAR) ? rlx_find_bound(p, var) : NULL;
        if (!bound)
            continue;
        if (any)
            rlx_put(p, ", ");
        any = true;
        rlx_put_bound(p, bound);
    }
    rlx_put(p, ")");
    rlx_put_newline(p);
}

/* Bindings up to one that opens a suite of its own. True: the block is done. */
static bool step_block(rlx_printer *p, size_t task)
{
    rlx_task *t = &p->tasks.data[task];
    const rlx_block *b = rlx_as_block(t->node);
    bool dataflow = b->node.kind == RLX_NODE_DATAFLOW_BLOCK;
    if (t->stage == 0 && dataflow) {
        rlx_put_indent(p);
        rlx_put(p, "with ");
        rlx_put_r(p);
        rlx_put(p, "dataflow():");
        rlx_put_newline(p);
        p->indent += 4;
    }
    if (t->stage == 0)
        rlx_names_expect(p, b->num_bindings);
    t->stage = 1;
    for (size_t i = t->at; i < b->num_bindings; i++) {
        print_binding(p, b->bindings[i]);
        if (p->failed || p->out->failed)
            return true;
        if (p->tasks.len > task + 1) {
            p->tasks.data[task].at = i + 1;
            return false;
        }
    }
    if (dataflow) {
        put_output(p, b);
        p->indent -= 4;
    }
    return true;
}

/* ---- sequences */
enum { SEQ_RETURN, SEQ_VALUE, SEQ_LINE };

static void put_result(rlx_printer *p, const rlx_task *t, const rlx_expr *body)
{
    const rlx_var *v = rlx_as_var(t->target);
    if (t->flags == SEQ_VALUE && v) {
        put_assignment(p, rlx_find_bound(p, &v->node), v, body);
        return;
    }
    rlx_put_indent(p);
    if (t->flags == SEQ_RETURN)
        rlx_put(p, "return ");
    rlx_print_expr(p, body, 0);
    rlx_put_newline(p);
}

static bool step_seq(rlx_printer *p, size_t task)
{
    rlx_task *t = &p->tasks.data[task];
    const rlx_seq_expr *s = rlx_as_seq_expr(t->node);
    if (t->stage == 0) {
        t->stage = 1;
        rlx_print_enter(p, NULL);
    }
    if (s && t->at < s->num_blocks) {
        push_task(p, TASK_BLOCK, s->blocks[t->at++], NULL);
        return false;
    }
    rlx_task copy = *t;
    put_result(p, &copy, s ? s->body : copy.node);
    rlx_print_leave(p);
    return true;
}

static void push_seq(rlx_printer *p, const rlx_node *n, uint8_t how, const rlx_node *target)
{
    rlx_task *t = push_task(p, TASK_SEQ, n, target);
    if (t)
        t->flags = how;
}

/* ---- if */
static bool step_if(rlx_printer *p, size_t task)
{
    rlx_task *t = &p->tasks.data[task];
    const rlx_if_expr *e = rlx_as_if_expr(t->node);
    const rlx_node *target = t->target;
    uint8_t stage = t->stage++;
    if (stage == 2) {
        p->indent -= 4;
        return true;
    }
    if (stage == 1)
        p->indent -= 4;
    rlx_put_indent(p);
    if (stage == 0) {
        rlx_put(p, "if ");
        rlx_print_expr(p, e->cond, 0);
        rlx_put(p, ":");
    } else {
        rlx_put(p, "else:");
    }
    rlx_put_newline(p);
    p->indent += 4;
    push_seq(p, stage == 0 ? e->true_branch : e->false_branch, target ? SEQ_VALUE : SEQ_LINE,
             target);
    return false;
}

/* ---- functions */
static bool is_own_symbol(const rlx_attrs *a, size_t i, rlx_slice name)
{
    const rlx_attr_string *key = rlx_as_attr_string(a->keys[i]),
                          *symbol = rlx_as_attr_string(a->values[i]);
    return key && symbol && rlx_slice_is(rlx_string_slice(key->value), "global_symbol") &&
           rlx_slice_equal(rlx_string_slice(symbol->value), name);
}

void rlx_print_func_attrs(rlx_printer *p, const rlx_attr *attrs, rlx_slice name, bool tir)
{
    const rlx_attrs *a = rlx_as_attrs(attrs);
    bool any = false;
    for (size_t i = 0; a && i < a->num_keys; i++) {
        if (is_own_symbol(a, i, name))
            continue;
        if (!any) {
            rlx_put_indent(p);
            if (tir)
                rlx_put_t(p);
            else
                rlx_put_r(p);
            rlx_put(p, "func_attr({");
        } else {
            rlx_put(p, ", ");
        }
        any = true;
        const rlx_attr_string *key = rlx_as_attr_string(a->keys[i]);
        rlx_slice name_of = key ? rlx_string_slice(key->value) : (rlx_slice){ "", 0 };
        bool renamed = p->newer && name_of.len > 4 && memcmp(name_of.data, "tir.", 4) == 0;
        if (renamed)
            name_of = (rlx_slice){ name_of.data + 4, name_of.len - 4 };
        rlx_put_named_string(p, renamed ? "tirx." : "", name_of);
        rlx_put(p, ": ");
        const rlx_int_imm *flag = p->newer ? rlx_as_int_imm(a->values[i]) : NULL;
        if (flag && flag->dtype == RELAX_BOOL)
            rlx_buf_z(p->out, flag->value ? "True" : "False");
        else
            rlx_print_expr(p, a->values[i],
                           !tir       ? RLX_ITEM_PLAIN
                           : p->newer ? 0
                                      : RLX_ITEM_TYPED);
    }
    if (any) {
        rlx_put(p, "})");
        rlx_put_newline(p);
    }
}

static void put_decorator(rlx_printer *p, const rlx_function *f, bool nested)
{
    bool is_private = !nested && !rlx_link_name(&f->node);
    rlx_put_indent(p);
    rlx_put(p, "@");
    rlx_put_r(p);
    rlx_put(p, "function");
    if (!f->is_pure || is_private) {
        rlx_buf_z(p->out, f->is_pure   ? "(private=True)"
                          : is_private ? "(pure=False, private=True)"
                                       : "(pure=False)");
    }
    rlx_put_newline(p);
}

/* The result's annotation is gone through before the parameters (names and declarations come in
 * that order), and stands behind them: printed first, set aside, appended. */
static bool set_aside_result(rlx_printer *p, const rlx_sinfo *ret)
{
    size_t from = p->out->len;
    p->later.len = 0;
    p->aside = true;
    if (ret)
        rlx_print_expr(p, ret, 0);
    p->aside = false;
    if (p->out->failed || p->failed)
        return false;
    rlx_buf_put(&p->later, p->out->data + from, p->out->len - from);
    p->out->len = from;
    return !p->later.failed || rlx_print_fail(p);
}

static void put_params(rlx_printer *p, const rlx_function *f)
{
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_var *v = rlx_as_var(f->params[i]);
        rlx_bound *b = rlx_define_at(p, f->params[i], p->frames.len - 1);
        if (i)
            rlx_put(p, ", ");
        if (b)
            rlx_put_bound(p, b);
        if (v && v->sinfo) {
            rlx_put(p, ": ");
            rlx_print_expr(p, v->sinfo, 0);
        }
    }
}

static void put_signature(rlx_printer *p, const rlx_function *f)
{
    if (!set_aside_result(p, f->ret_sinfo))
        return;
    put_params(p, f);
    rlx_put(p, ")");
    if (p->later.len) {
        rlx_put(p, " -> ");
        rlx_buf_put(p->out, p->later.data, p->later.len);
    }
    rlx_put(p, ":");
    rlx_put_newline(p);
}

/* Lines of a function above its body. */
static void open_function(rlx_printer *p, const rlx_function *f, rlx_slice name,
                          const rlx_bound *local)
{
    bool nested = p->depth++ > 0;
    p->under_way = &f->node;
    put_decorator(p, f, nested);
    rlx_put_indent(p);
    rlx_put(p, "def ");
    if (local)
        rlx_put_bound(p, local);
    else
        rlx_put_identifier(p, name);
    rlx_put(p, "(");
    rlx_print_enter(p, NULL);
    if (!nested) {
        p->function_frame = p->frames.len - 1;
        p->declare.len = 0;
        rlx_print_forget_binders(p);
        p->alias = false;
    }
    p->signature = !nested;
    put_signature(p, f);
    p->signature = false;
    if (!nested)
        p->body = p->out->len;
    for (size_t i = 0; !nested && i < p->declare.len; i++)
        declaration_line(p, p->declare.data[i], p->indent + 4);
    p->indent += 4;
    rlx_print_func_attrs(p, f->attrs, name, false);
    if (!nested)
        p->hoist = p->out->len;
    push_seq(p, f->body, SEQ_RETURN, NULL);
}

static void close_function(rlx_printer *p, size_t begin)
{
    p->indent -= 4;
    rlx_print_leave(p);
    rlx_put_newline(p);
    if (--p->depth == 0)
        return;
    /* above a nested function stands what its text needs, as above a file */
    size_t mark = p->out->len;
    rlx_print_header(p);
    rlx_put_indent(p);
    rlx_put_newline(p);
    rlx_print_move(p, mark, begin, RLX_INSERT_HEADER);
}

static bool step_function(rlx_printer *p, size_t task)
{
    rlx_task *t = &p->tasks.data[task];
    if (t->stage++) {
        close_function(p, t->pos);
        return true;
    }
    t->pos = p->out->len;
    const rlx_bound *b = rlx_find_bound(p, t->target);
    open_function(p, rlx_as_function(t->node),
                  b ? (rlx_slice){ b->text, b->len } : RLX_SLICE("main"), b);
    return false;
}

/* ---- running */
static bool run_task(rlx_printer *p, size_t task)
{
    switch (p->tasks.data[task].what) {
    case TASK_FUNCTION: return step_function(p, task);
    case TASK_SEQ: return step_seq(p, task);
    case TASK_BLOCK: return step_block(p, task);
    default: return step_if(p, task);
    }
}

static void run(rlx_printer *p)
{
    while (p->tasks.len && !p->failed && !p->out->failed) {
        size_t task = p->tasks.len - 1;
        if (run_task(p, task))
            p->tasks.len--;
    }
    p->tasks.len = 0;
}

void rlx_print_function(rlx_printer *p, const rlx_function *f, rlx_slice name)
{
    enum rlx_print_where old = p->where;
    p->where = RLX_PRINT_RELAX;
    p->depth = 0;
    open_function(p, f, name, NULL);
    run(p);
    if (!p->failed && !p->out->failed)
        close_function(p, 0);
    p->where = old;
}

void rlx_print_relax_stmt(rlx_printer *p, const rlx_node *n)
{
    if (rlx_family_of(n) == RLX_FAMILY_BINDING)
        print_binding(p, n);
    else if (n->kind == RLX_NODE_IF)
        push_task(p, TASK_IF, n, NULL);
    else if (n->kind == RLX_NODE_SEQ_EXPR)
        push_seq(p, n, SEQ_LINE, NULL);
    else
        push_task(p, TASK_BLOCK, n, NULL);
    run(p);
}
