/* wf_normal.c: is a function in normal form? One pass, explicit stack of sequences. */
#include "analysis/well_formed.h"

#include "analysis/analysis.h"

typedef struct check {
    rlx_context *ctx;
    bool report, good;
    RLX_VEC(const rlx_seq_expr *) pending;  /* sequences still to be looked at */
    RLX_VEC(const rlx_expr *) fields;    /* of tuples */
    rlx_ptrmap tuples;                   /* tuples of leaves: shared ones are looked at once */
} check;

static const char *kind_name(const rlx_expr *e)
{
    switch (e->kind) {
    case RLX_NODE_CALL: return "a call";
    case RLX_NODE_TUPLE_GET_ITEM: return "a tuple item";
    case RLX_NODE_IF: return "an if";
    case RLX_NODE_SEQ_EXPR: return "a sequence";
    case RLX_NODE_FUNCTION: return "a function literal";
    case RLX_NODE_TUPLE: return "a tuple of such";
    default: return rlx_kinds[e->kind].name;
    }
}

static bool goes_on(const check *c)
{
    return (c->good || c->report) && !c->ctx->diags.out_of_memory;
}

/* Violation `code`; what: text for "... is a call; it must be a variable", with place of e or
 * of its owner. */
static void violated(check *c, enum rlx_code_id code, const rlx_expr *e, const rlx_node *owner,
                     const char *what)
{
    rlx_place place = rlx_place_of(e) ? rlx_place_of(e) : rlx_place_of(owner);
    c->good = false;
    if (c->report)
        rlx_error(c->ctx, code, place, "%s is %s; it must be a variable or another leaf", what,
                  kind_name(e));
}

/* Is it a leaf, whatever is in it? Most operands are. */
static bool is_plain(const rlx_expr *e)
{
    return e->kind != RLX_NODE_TUPLE && e->kind != RLX_NODE_CALL &&
           e->kind != RLX_NODE_TUPLE_GET_ITEM && e->kind != RLX_NODE_IF &&
           e->kind != RLX_NODE_SEQ_EXPR && e->kind != RLX_NODE_FUNCTION;
}

/* The sub-expression that keeps e from being a leaf; NULL: e is one. */
static const rlx_expr *not_leaf(check *c, const rlx_expr *e)
{
    const rlx_expr *bad = NULL;
    if (e->kind != RLX_NODE_TUPLE)
        return is_plain(e) ? NULL : e;
    c->fields.len = 0;
    if (!rlx_vec_push(&c->ctx->memory, &c->fields, e))
        return NULL;
    while (c->fields.len && !bad) {
        const rlx_expr *top = rlx_vec_pop(&c->fields);
        const rlx_tuple *t = rlx_as_tuple(top);
        if (!t) {
            bad = top;
            continue;
        }
        if (rlx_ptrmap_has(&c->tuples, t))
            continue;
        if (!rlx_ptrmap_put(&c->tuples, t, 1))
            return NULL;
        for (size_t i = t->num_fields; i-- > 0;)
            if (!is_plain(t->fields[i]) && !rlx_vec_push(&c->ctx->memory, &c->fields, t->fields[i]))
                return NULL;
    }
    /* A tuple that fails is reported each time it occurs. */
    if (bad)
        rlx_ptrmap_clear(&c->tuples);
    return bad;
}

static enum rlx_code_id code_for(const rlx_expr *bad, enum rlx_code_id otherwise)
{
    return bad->kind == RLX_NODE_FUNCTION   ? RLX_NF08
           : bad->kind == RLX_NODE_SEQ_EXPR ? RLX_NF02
                                            : otherwise;
}

static void operand(check *c, enum rlx_code_id code, const rlx_expr *e, const rlx_node *owner,
                    const char *what)
{
    const rlx_expr *bad = is_plain(e) ? NULL : not_leaf(c, e);
    if (bad)
        violated(c, code_for(bad, code), bad, owner, what);
}

static void bad_argument(check *c, const rlx_call *call, size_t i, const rlx_expr *bad)
{
    const rlx_op *op = rlx_as_op(call->op);
    const char *name = op ? op->row ? op->row->short_name : op->name->data : "the call";
    char what[96];
    rlx_buf text;
    rlx_buf_init(&text, &c->ctx->memory);
    rlx_buf_format(&text, "argument %zu of %s", i + 1, name);
    size_t n = text.len < sizeof what - 1 ? text.len : sizeof what - 1;
    memcpy(what, text.data ? text.data : "", n);
    what[n] = 0;
    rlx_buf_free(&text);
    violated(c, code_for(bad, RLX_NF01), bad, &call->node, what);
}

static void call_operands(check *c, const rlx_call *call)
{
    operand(c, RLX_NF01, call->op, &call->node, "callee");
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_expr *arg = call->args[i], *bad = is_plain(arg) ? NULL : not_leaf(c, arg);
        if (bad)
            bad_argument(c, call, i, bad);
    }
}

/* A body or a branch: a SeqExpr, looked at later. */
static void body(check *c, const rlx_expr *e, const char *what)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(e);
    if (seq) {
        (void)rlx_vec_push(&c->ctx->memory, &c->pending, seq);
        return;
    }
    c->good = false;
    if (c->report && e)
        rlx_error(c->ctx, RLX_NF03, rlx_place_of(e), "%s is %s; it must be a sequence", what,
                  kind_name(e));
}

static void value(check *c, const rlx_expr *e)
{
    switch (e->kind) {
    case RLX_NODE_CALL:
        call_operands(c, (const rlx_call *)e);
        break;
    case RLX_NODE_TUPLE_GET_ITEM:
        operand(c, RLX_NF10, ((const rlx_tuple_get_item *)e)->tuple, e, "indexed tuple");
        break;
    case RLX_NODE_IF:
        operand(c, RLX_NF10, ((const rlx_if_expr *)e)->cond, e, "condition");
        body(c, ((const rlx_if_expr *)e)->true_branch, "branch");
        body(c, ((const rlx_if_expr *)e)->false_branch, "branch");
        break;
    case RLX_NODE_FUNCTION:
        body(c, ((const rlx_function *)e)->body, "function body");
        break;
    case RLX_NODE_SEQ_EXPR:
        violated(c, RLX_NF02, e, e, "value of a binding");
        break;
    default:
        operand(c, RLX_NF01, e, e, "tuple field");
    }
}

static void block(check *c, const rlx_block *b, const rlx_block *before)
{
    const char *what = !b->num_bindings ? "block is empty"
                       : before && before->node.kind == b->node.kind
                           ? "block follows another of its kind"
                           : NULL;
    if (what) {
        c->good = false;
        if (c->report)
            rlx_error(c->ctx, RLX_NF04, b->place, "%s", what);
    }
    for (size_t i = 0; i < b->num_bindings && goes_on(c); i++) {
        const rlx_node *n = b->bindings[i];
        value(c, n->kind == RLX_NODE_VAR_BINDING ? ((const rlx_var_binding *)n)->value
                                                 : ((const rlx_match_cast *)n)->value);
    }
}

static void sequence(check *c, const rlx_seq_expr *seq)
{
    const rlx_block *before = NULL;
    for (size_t i = 0; i < seq->num_blocks && goes_on(c); i++) {
        const rlx_block *b = rlx_as_block(seq->blocks[i]);
        block(c, b, before);
        before = b;
    }
    operand(c, RLX_NF06, seq->body, &seq->node, "result of a sequence");
}

bool rlx_is_normal(rlx_context *ctx, const rlx_function *f, bool report)
{
    check c = { .ctx = ctx, .report = report, .good = true };
    rlx_ptrmap_init(&c.tuples, &ctx->memory);
    body(&c, f->body, "function body");
    while (c.pending.len && goes_on(&c))
        sequence(&c, rlx_vec_pop(&c.pending));
    rlx_vec_free(&ctx->memory, &c.pending);
    rlx_vec_free(&ctx->memory, &c.fields);
    rlx_ptrmap_free(&c.tuples);
    return c.good && !ctx->diags.out_of_memory;
}
