/* reader_tir_block.c: loops and blocks of PrimFuncs. */
/* built for size */
#include "script/reader_tir.h"

#include <stdio.h>

/* ---- ranges --------------------------------------------------------------------------------- */

static const rlx_prim *zero(rlx_reader *r, const rlx_prim *like)
{
    return rlx_int(r->ctx,
                   rlx_dtype_is_int(rlx_prim_dtype(like)) ? rlx_prim_dtype(like) : RELAX_INT32, 0);
}

const rlx_node *rlx_read_range(rlx_reader *r, const rlx_ast *a, const rlx_val *v)
{
    if (v->kind == RLX_VAL_RANGE)
        return v->node;
    if (v->kind == RLX_VAL_TUPLE || v->kind == RLX_VAL_LIST) {
        if (v->list.count != 2)
            return rlx_read_error(r, RLX_PA30, a, "a domain is an extent or (begin, end)"), NULL;
        const rlx_prim *begin = rlx_to_prim(r, a, &v->list.items[0]),
                       *end = begin ? rlx_to_prim(r, a, &v->list.items[1]) : NULL;
        return end ? rlx_read_bounds(r, a, begin, end) : NULL;
    }
    const rlx_prim *p = rlx_to_prim(r, a, v);
    return p ? rlx_read_bounds(r, a, p, NULL) : NULL;
}

/* ---- loops ---------------------------------------------------------------------------------- */

typedef struct loop_spec {
    uint8_t kind;
    const rlx_prim *min, *extent;
    const rlx_string *thread;
    const rlx_attr *annotations;
} loop_spec;

/* Type of the loop variable: the wider of begin and extent. */
static rlx_dtype loop_dtype(const rlx_prim *min, const rlx_prim *extent)
{
    rlx_dtype a = rlx_prim_dtype(min), b = rlx_prim_dtype(extent);
    return rlx_dtype_bits(a) >= rlx_dtype_bits(b)
               ? a
               : rlx_dtype_make(rlx_dtype_code(a), rlx_dtype_bits(b), 1);
}

static bool set_bounds(rlx_reader *r, const rlx_ast *at, const rlx_ast *start, const rlx_ast *stop,
                       loop_spec *s)
{
    const rlx_prim *a = rlx_read_prim_operand(r, start),
                   *b = a && stop ? rlx_read_prim_operand(r, stop) : NULL;
    if (!a || (stop && !b) || !rlx_read_is_extent(r, start, a) ||
        (b && !rlx_read_is_extent(r, stop, b)))
        return false;
    if (!stop) {
        s->min = zero(r, a);
        s->extent = a;
    } else {
        s->min = a;
        s->extent = rlx_read_span(r, at, &s->min, b);
    }
    return s->min && s->extent;
}

const rlx_attr *rlx_read_annotations(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (!a || a->kind == RLX_AST_NONE)
        return NULL;
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind != RLX_VAL_DICT)
        return rlx_read_expected(r, a, "a dictionary", &v), NULL;
    return v.list.count ? rlx_to_attr(r, a, &v) : NULL;
}

/* annotations=..., set in *out; an empty dictionary counts as none */
static bool take_annotations(rlx_reader *r, const rlx_ast *a, const rlx_attr **out)
{
    size_t errors = rlx_error_count(r->ctx);
    *out = rlx_read_annotations(r, a);
    return errors == rlx_error_count(r->ctx);
}

static bool take_string(rlx_reader *r, const rlx_ast *a, const rlx_string **out)
{
    rlx_val v;
    rlx_slice s;
    return rlx_read_value(r, a, &v) && rlx_to_string(r, a, &v, &s) &&
           (*out = rlx_string_intern(r->ctx, s)) != NULL;
}

static bool check_step(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    int64_t step = 1;
    if (a && a->kind != RLX_AST_NONE &&
        (!rlx_read_value(r, a, &v) || !rlx_to_int(r, a, &v, &step)))
        return false;
    return step == 1 ||
           rlx_read_error(r, RLX_PA16, a, "loops have the step 1: count the turns, and write i * %lld", (long long)step);
}

static bool read_range_loop(rlx_reader *r, const rlx_ast *call, loop_spec *s)
{
    const rlx_ast *slot[4];
    return rlx_bind_args(r, call, "range", RLX_PARAMS("start", "stop", "step", "annotations"), 1,
                         slot) &&
           check_step(r, slot[2]) && set_bounds(r, call, slot[0], slot[1], s) &&
           take_annotations(r, slot[3], &s->annotations);
}

static bool read_plain_loop(rlx_reader *r, const rlx_ast *call, const char *name, loop_spec *s)
{
    const rlx_ast *slot[4];
    return rlx_bind_args(r, call, name, RLX_PARAMS("start", "stop", "annotations", "step"), 1,
                         slot) &&
           check_step(r, slot[3]) &&
           set_bounds(r, call, slot[0], slot[1] && slot[1]->kind == RLX_AST_NONE ? NULL : slot[1],
                      s) &&
           take_annotations(r, slot[2], &s->annotations);
}

static bool read_thread_loop(rlx_reader *r, const rlx_ast *call, loop_spec *s)
{
    const rlx_ast *slot[4];
    if (!rlx_bind_args(r, call, "T.thread_binding",
                       RLX_PARAMS("start", "stop", "thread", "annotations"), 1, slot))
        return false;
    const rlx_ast *stop = slot[1] && slot[1]->kind == RLX_AST_NONE ? NULL : slot[1],
                  *thread = slot[2];
    /* T.thread_binding(128, "threadIdx.x") */
    if (stop && stop->kind == RLX_AST_STRING && !thread) {
        thread = stop;
        stop = NULL;
    }
    if (!thread)
        return rlx_read_error(r, RLX_PA12, call, "T.thread_binding needs the argument thread");
    return set_bounds(r, call, slot[0], stop, s) && take_string(r, thread, &s->thread) &&
           take_annotations(r, slot[3], &s->annotations);
}

static const struct { const char *name; uint8_t kind;
} loop_kinds[] = {
    { "serial", RLX_FOR_SERIAL },
    { "parallel", RLX_FOR_PARALLEL },
    { "vectorized", RLX_FOR_VECTORIZED },
    { "unroll", RLX_FOR_UNROLLED },
    { "thread_binding", RLX_FOR_THREAD_BINDING },
};
static const char *loop_kind_at(void *user, size_t i) { return loop_kinds[i].name; }

/* Loops of a for statement onto *specs; grid: is it T.grid (whose single variable may stand for
 * all)? */
static bool read_specs(rlx_reader *r, const rlx_ast *iter, loop_spec **specs, size_t *count,
                       bool *grid)
{
    rlx_val v = { 0 };
    const rlx_ast *call = iter->kind == RLX_AST_CALL ? rlx_expand_stars(r, iter) : NULL;
    if (iter->kind == RLX_AST_CALL && !call)
        return false;
    bool range = call && call->base->kind == RLX_AST_NAME &&
                 call->base->name->value.kind == RLX_VAL_BUILTIN &&
                 call->base->name->value.i == RLX_PY_RANGE;
    if (call && !range && !rlx_read_value(r, call->base, &v))
        return false;
    bool of_t = v.kind == RLX_VAL_FUNC && v.sub == RLX_SPACE_T;
    rlx_slice name = of_t ? rlx_string_slice(v.fn.path->text) : (rlx_slice){ "", 0 };
    *grid = rlx_slice_is(name, "grid");
    *count = *grid ? call->count : 1;
    *specs = rlx_region_array(&r->parser.region, *count + 1, sizeof **specs);
    if (!*specs)
        return false;
    memset(*specs, 0, (*count + 1) * sizeof **specs);
    if (range)
        return read_range_loop(r, call, *specs);
    if (*grid) {
        size_t i = 0;
        for (const rlx_ast *a = call->first; a; a = a->next)
            if (a->kind == RLX_AST_KEYWORD || !set_bounds(r, a, a, NULL, &(*specs)[i++]))
                return a->kind == RLX_AST_KEYWORD
                           ? rlx_read_error(r, RLX_PA12, a, "T.grid has no parameter %s",
                                            a->name->text->data)
                           : false;
        return *count > 0 || rlx_read_error(r, RLX_PA30, iter, "T.grid needs an extent");
    }
    for (size_t i = 0; i < RLX_COUNT(loop_kinds); i++) {
        if (!rlx_slice_is(name, loop_kinds[i].name))
            continue;
        (*specs)->kind = loop_kinds[i].kind;
        return loop_kinds[i].kind == RLX_FOR_THREAD_BINDING
                   ? read_thread_loop(r, call, *specs)
                   : read_plain_loop(r, call, loop_kinds[i].name, *specs);
    }
    const char *near = rlx_slice_is(name, "range") ? NULL : rlx_nearest(r, name, loop_kind_at, NULL, RLX_COUNT(loop_kinds));
    return rlx_read_error(r, RLX_PA30, iter,
                          "a for loop runs over range, T.serial, T.grid, T.parallel, "
                          "T.vectorized, T.unroll or T.thread_binding%s%s",
                          near ? "; did you mean T." : "", near ? near : "");
}

static const rlx_string *numbered(rlx_reader *r, const rlx_string *base, size_t i)
{
    rlx_buf b;
    rlx_buf_init(&b, &r->ctx->memory);
    rlx_buf_format(&b, "%s_%zu", base->data, i);
    const rlx_string *s = b.failed ? NULL : rlx_string_intern(r->ctx, (rlx_slice){ b.data, b.len });
    rlx_buf_free(&b);
    return s;
}

/* The variables of the loops, bound to the names of the target. */
static bool bind_loop_vars(rlx_reader *r, const rlx_ast *target, const loop_spec *specs, size_t n,
                           const rlx_prim_var **vars)
{
    bool list = target->kind == RLX_AST_TUPLE;
    const rlx_ast *name = list ? target->first : target;
    if (list && target->count != n)
        return rlx_read_error(r, RLX_PA30, target, "%u variables for %zu loop%s; nested loops are T.grid(a, b)",
                              (unsigned)target->count, n, n == 1 ? "" : "s");
    rlx_val *items = rlx_region_array(&r->unit.region, n, sizeof *items);
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (name->kind != RLX_AST_NAME)
            return rlx_read_error(r, RLX_PA26, name, "a loop variable is a name");
        const rlx_string *text =
            list || n == 1 ? name->name->text : numbered(r, name->name->text, i);
        vars[i] = text ? rlx_prim_var_new(r->ctx, text, loop_dtype(specs[i].min, specs[i].extent),
                                          rlx_read_place(r, name))
                       : NULL;
        const rlx_node *range =
            vars[i] ? rlx_range_new(r->ctx, specs[i].min, specs[i].extent) : NULL;
        if (!range || (!rlx_ptrmap_put(&r->unit.tir->loops, vars[i], (uintptr_t)range) && true))
            return false;
        items[i] = rlx_val_node(RLX_VAL_PRIM, &vars[i]->node, name);
        if ((list || n == 1) && !rlx_tir_reader_define(r, name, &items[i]))
            return false;
        name = list ? name->next : name;
    }
    rlx_val all = {
        .kind = RLX_VAL_LIST, .begin = target->begin, .end = target->end, .list = { items, n }
    };
    return list || n == 1 || rlx_tir_reader_define(r, target, &all);
}

static const rlx_stmt *make_loop(rlx_reader *r, const loop_spec *s, const rlx_prim_var *var,
                                 const rlx_stmt *body, rlx_place place)
{
    rlx_for_stmt *f = rlx_node_new(r->ctx, RLX_NODE_FOR);
    if (!f || !body)
        return NULL;
    f->place = place;
    f->min = s->min;
    f->extent = s->extent;
    f->loop_var = &var->node;
    f->for_kind = s->kind;
    f->annotations = s->annotations;
    f->body = body;
    if (s->thread) {
        rlx_iter_var *iter = rlx_node_new(r->ctx, RLX_NODE_ITER_VAR);
        const rlx_string *empty = rlx_string_z(r->ctx, "");
        if (!iter || !empty ||
            !(iter->var = (const rlx_node *)rlx_prim_var_new(r->ctx, empty, var->dtype, place)))
            return NULL;
        iter->iter_type = RLX_ITER_THREAD;
        iter->thread_tag = s->thread;
        f->thread_binding = &iter->node;
    }
    return &f->node;
}

bool rlx_tir_reader_read_for(rlx_reader *r, const rlx_source_line *line)
{
    loop_spec *specs = NULL;
    size_t n = 0;
    bool grid = false;
    const rlx_prim_var **vars = NULL;
    uint32_t frame = rlx_reader_frame_enter(r);
    bool ok = read_specs(r, line->value, &specs, &n, &grid);
    ok = ok && (vars = rlx_region_array(&r->parser.region, n, sizeof *vars)) != NULL;
    ok = ok && bind_loop_vars(r, line->target, specs, n, vars);
    /* the names mean nothing, but the statements below are read for their own mistakes */
    if (!ok) {
        const rlx_ast *name =
            line->target->kind == RLX_AST_TUPLE ? line->target->first : line->target;
        for (; name; name = line->target->kind == RLX_AST_TUPLE ? name->next : NULL)
            if (name->kind == RLX_AST_NAME)
                rlx_word_fail(r, name->name);
    }
    const rlx_stmt *body = rlx_tir_reader_read_suite(r);
    rlx_reader_frame_leave(r, frame);
    if (!ok || !body)
        return false;
    for (size_t i = n; i-- > 0 && body;)
        body = make_loop(r, &specs[i], vars[i], body,
                         rlx_place_make(r->text.source, line->begin, line->end - line->begin));
    return body && rlx_tir_reader_add(r, body);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void free_block(rlx_reader *r, rlx_tir_reader_open_block *b)
{
    rlx_memory *m = &r->ctx->memory;
    rlx_vec_free(m, &b->iters);
    rlx_vec_free(m, &b->values);
    rlx_vec_free(m, &b->allocs);
    rlx_vec_free(m, &b->matches);
    rlx_vec_free(m, &b->reads);
    rlx_vec_free(m, &b->writes);
}

static bool fill_block(rlx_reader *r, rlx_tir_reader_open_block *b, const rlx_stmt *body)
{
    rlx_tir_block *t = b->block;
    t->body = body;
    return rlx_tir_reader_copy(r, &b->iters, &t->iter_vars, &t->num_iter_vars) &&
           rlx_tir_reader_copy(r, &b->reads, &t->reads, &t->num_reads) &&
           rlx_tir_reader_copy(r, &b->writes, &t->writes, &t->num_writes) &&
           rlx_tir_reader_copy(r, &b->allocs, &t->alloc_buffers, &t->num_alloc_buffers) &&
           rlx_tir_reader_copy(r, &b->matches, &t->match_buffers, &t->num_match_buffers);
}

/* Reads and writes that were left out are found by looking at the body; not for a block that
 * may be the root. */
static const rlx_tir_block *complete(rlx_reader *r, const rlx_tir_reader_open_block *b,
                                     bool maybe_root)
{
    if (maybe_root || (b->has_reads && b->has_writes))
        return b->block;
    size_t errors = r->ctx->diags.num_errors;
    const rlx_tir_block *t =
        rlx_tir_complete_block(r->ctx, b->block, !b->has_reads, !b->has_writes);
    r->text.syntax_errors += r->ctx->diags.num_errors - errors;
    return t;
}

static bool finish_block(rlx_reader *r, rlx_tir_reader_open_block *b, const rlx_stmt *body,
                         rlx_place place)
{
    if (!fill_block(r, b, body))
        return false;
    /* a block without axes at the function's own level is the root if nothing else is there:
     * decided at the end */
    bool maybe_root = !b->outer && r->unit.tir->level == 1 && !b->iters.len;
    const rlx_tir_block *t = complete(r, b, maybe_root);
    rlx_block_realize *realize = t ? rlx_node_new(r->ctx, RLX_NODE_BLOCK_REALIZE) : NULL;
    if (!realize ||
        !rlx_tir_reader_copy(r, &b->values, &realize->iter_values, &realize->num_iter_values))
        return false;
    realize->place = place;
    realize->predicate = b->predicate ? b->predicate : rlx_bool_prim(r, true);
    realize->block = &t->node;
    if (!realize->predicate)
        return false;
    if (maybe_root && !(b->has_reads && b->has_writes) &&
        !rlx_tir_reader_push(r, &r->unit.tir->unfinished, realize))
        return false;
    return rlx_tir_reader_add(r, b->no_realize ? &t->node : &realize->node);
}

bool rlx_tir_reader_read_block(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[2];
    rlx_val v;
    rlx_tir_reader_open_block b = { .outer = r->unit.tir->block,
                                    .block = rlx_node_new(r->ctx, RLX_NODE_TIR_BLOCK) };
    bool ok =
        b.block && rlx_bind_args(r, call, "T.block", RLX_PARAMS("name", "no_realize"), 0, slot);
    if (ok)
        ok = slot[0] ? take_string(r, slot[0], &b.block->name)
                     : (b.block->name = rlx_string_z(r->ctx, "")) != NULL;
    if (ok && slot[1])
        ok = rlx_read_value(r, slot[1], &v) && rlx_to_bool(r, slot[1], &v, &b.no_realize);
    if (!b.block) {
        rlx_lexer_skip_suite(&r->parser.lexer);
        return false;
    }
    b.block->place = rlx_read_place(r, call);
    r->unit.tir->block = &b;
    uint32_t frame = rlx_reader_frame_enter(r);
    const rlx_stmt *body = rlx_tir_reader_read_suite(r);
    rlx_reader_frame_leave(r, frame);
    r->unit.tir->block = b.outer;
    ok = ok && body && finish_block(r, &b, body, rlx_read_place(r, call));
    free_block(r, &b);
    return ok;
}

/* ---- axes ----------------------------------------------------------------------------------- */

static bool add_axis(rlx_reader *r, const rlx_ast *target, const rlx_node *dom, rlx_dtype dtype,
                     uint8_t type, const rlx_prim *value)
{
    rlx_tir_reader_open_block *b = r->unit.tir->block;
    const rlx_prim_var *var =
        rlx_prim_var_new(r->ctx, target->name->text, dtype, rlx_read_place(r, target));
    rlx_iter_var *iter = var ? rlx_node_new(r->ctx, RLX_NODE_ITER_VAR) : NULL;
    rlx_val v = rlx_val_node(RLX_VAL_PRIM, var ? &var->node : NULL, target);
    if (!iter || !(iter->thread_tag = rlx_string_z(r->ctx, "")))
        return false;
    iter->dom = dom;
    iter->var = &var->node;
    iter->iter_type = type;
    return rlx_tir_reader_push(r, &b->iters, iter) && rlx_tir_reader_push(r, &b->values, value) &&
           rlx_tir_reader_define(r, target, &v);
}

static bool in_block(rlx_reader *r, const rlx_ast *call, const char *what)
{
    return r->unit.tir->block || rlx_read_error(r, RLX_PA15, call, "T.%s stands in a block", what);
}

/* v = T.axis.spatial(dom, value, dtype="int32") */
bool rlx_tir_reader_axis(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         const rlx_ast *target)
{
    const rlx_ast *slot[3];
    rlx_val v;
    rlx_dtype t = RELAX_INT32;
    char what[32];
    snprintf(what, sizeof what, "T.%s", fn->name);
    if (!in_block(r, call, fn->name) || !(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_bind_args(r, call, what, RLX_PARAMS("dom", "binding", "dtype"), 2, slot))
        return false;
    if (!rlx_read_value(r, slot[0], &v))
        return false;
    const rlx_range *dom = (const rlx_range *)rlx_read_range(r, slot[0], &v);
    const rlx_prim *value = dom ? rlx_read_prim_operand(r, slot[1]) : NULL;
    if (!value ||
        (slot[2] && (!rlx_read_value(r, slot[2], &v) || !rlx_to_dtype(r, slot[2], &v, &t))))
        return false;
    int bits = rlx_dtype_bits(loop_dtype(dom->min, dom->extent));
    if (rlx_dtype_is_int(t) && bits > rlx_dtype_bits(t))
        t = rlx_dtype_make(rlx_dtype_code(t), bits, 1);
    return add_axis(r, target, &dom->node, t, fn->what, value);
}

static bool remap_one(rlx_reader *r, const rlx_ast *at, char kind, const rlx_val *binding,
                      const rlx_ast *target)
{
    static const struct {
        char letter;
        uint8_t type;
    } kinds[] = { { 'S', RLX_ITER_SPATIAL }, { 'R', RLX_ITER_REDUCE } };
    const rlx_prim *p = rlx_to_prim(r, at, binding);
    const rlx_node *dom = p ? rlx_ptrmap_get(&r->unit.tir->loops, p) : NULL;
    if (!p)
        return false;
    if (!dom)
        return rlx_read_error(r, RLX_PA30, at, "T.axis.remap takes loop variables, found %s",
                              rlx_show(r->ctx, p));
    for (size_t i = 0; i < RLX_COUNT(kinds); i++)
        if (kinds[i].letter == kind)
            return add_axis(r, target, dom, rlx_prim_dtype(p), kinds[i].type, p);
    return rlx_read_error(r, RLX_PA30, at, "kinds of axes are S (spatial) and R (reduce)");
}

/* vi, vj = T.axis.remap("SR", [i, j]) */
bool rlx_tir_reader_remap(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target)
{
    const rlx_ast *slot[3];
    rlx_val kinds, v;
    rlx_slice text;
    if (!in_block(r, call, fn->name) ||
        !rlx_bind_args(r, call, "T.axis.remap", RLX_PARAMS("kinds", "bindings", "dtype"), 2, slot))
        return false;
    if (!rlx_read_value(r, slot[0], &kinds) || !rlx_to_string(r, slot[0], &kinds, &text) ||
        !rlx_read_value(r, slot[1], &v))
        return false;
    if (v.kind != RLX_VAL_LIST && v.kind != RLX_VAL_TUPLE)
        return rlx_read_expected(r, slot[1], "a list of loop variables", &v);
    bool list = target && (target->kind == RLX_AST_TUPLE || target->kind == RLX_AST_LIST);
    size_t targets = list ? target->count : target ? 1 : 0;
    if (v.list.count != text.len || targets != text.len)
        return rlx_read_error(r, RLX_PA30, call,
                              "%zu kinds, %zu loop variables and %zu names do not agree", text.len,
                              v.list.count, targets);
    const rlx_ast *name = list ? target->first : target;
    for (size_t i = 0; i < text.len; i++, name = name->next) {
        if (name->kind != RLX_AST_NAME)
            return rlx_read_error(r, RLX_PA26, name, "an axis is bound to a name");
        if (!remap_one(r, slot[1], text.data[i], &v.list.items[i], name))
            return false;
    }
    return true;
}

/* ---- what a block says of itself ------------------------------------------------------------ */

static bool push_regions(rlx_reader *r, const rlx_ast *a, rlx_ptrs *to)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return false;
    bool list = v.kind == RLX_VAL_LIST || v.kind == RLX_VAL_TUPLE;
    for (size_t i = 0; i < (list ? v.list.count : 1); i++) {
        const rlx_node *region = rlx_to_region(r, a, list ? &v.list.items[i] : &v);
        if (!region || !rlx_tir_reader_push(r, to, region))
            return false;
    }
    return true;
}

/* T.reads(A[i, j], B[0:4]), T.writes */
bool rlx_tir_reader_reads(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target)
{
    rlx_tir_reader_open_block *b = r->unit.tir->block;
    if (!in_block(r, call, fn->name))
        return false;
    bool *has = fn->what ? &b->has_writes : &b->has_reads;
    if (*has)
        return rlx_read_error(r, RLX_PA13, call, "a block has one T.%s", fn->name);
    *has = true;
    for (const rlx_ast *a = call->first; a; a = a->next)
        if (a->kind == RLX_AST_KEYWORD
                ? !rlx_read_error(r, RLX_PA12, a, "T.%s takes regions by position", fn->name)
                : !push_regions(r, a, fn->what ? &b->writes : &b->reads))
            return false;
    return true;
}

bool rlx_tir_reader_where(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target)
{
    const rlx_ast *slot[1];
    if (!in_block(r, call, fn->name) ||
        !rlx_bind_args(r, call, "T.where", RLX_PARAMS("predicate"), 1, slot))
        return false;
    if (r->unit.tir->block->predicate)
        return rlx_read_error(r, RLX_PA13, call, "a block has one T.where");
    const rlx_prim *p = rlx_read_prim_operand(r, slot[0]);
    if (p && !rlx_dtype_is_bool(rlx_dtype_with_lanes(rlx_prim_dtype(p), 1)) && !rlx_as_int_imm(p))
        return rlx_read_error(r, RLX_PA18, slot[0], "T.where takes a condition, found %s: compare it, as i < n",
                              rlx_show(r->ctx, p));
    return (r->unit.tir->block->predicate = p) != NULL;
}

bool rlx_tir_reader_block_attr(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                               const rlx_ast *target)
{
    if (!in_block(r, call, fn->name))
        return false;
    rlx_tir_block *b = r->unit.tir->block->block;
    return (b->annotations = rlx_read_attr_dict(r, call, b->annotations, NULL,
                                                "T.block_attr")) != NULL;
}

/* C = T.alloc_buffer((4, 4), ...): belongs to the block, or to the root block at function level */
bool rlx_tir_reader_alloc_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                                 const rlx_ast *target)
{
    const rlx_ast *slot[RLX_BUF_COUNT];
    rlx_ast scope = { .kind = RLX_AST_STRING, .begin = call->begin, .end = call->end };
    if (!(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_bind_args(r, call, "T.alloc_buffer", RLX_PARAMS(RLX_BUF_PARAMS), 1, slot))
        return false;
    if (fn->text && !slot[RLX_BUF_SCOPE]) { /* T.alloc_local: newer */
        scope.string = rlx_slice_z(fn->text);
        slot[RLX_BUF_SCOPE] = &scope;
    }
    const rlx_buffer *b = rlx_make_buffer(r, target->name->text, target, slot, NULL);
    rlx_val v = rlx_val_node(RLX_VAL_BUFFER, b ? &b->node : NULL, target);
    return b &&
           rlx_tir_reader_push(r,
                               r->unit.tir->block ? &r->unit.tir->block->allocs
                                                  : &r->unit.tir->root_allocs,
                               b) &&
           rlx_tir_reader_define(r, target, &v);
}

static bool match_region(rlx_reader *r, const rlx_ast *at, const rlx_ast *target,
                         const rlx_ast *const *slot, const rlx_val *source)
{
    const rlx_node *region = rlx_to_region(r, at, source);
    rlx_tir_reader_open_block *block = r->unit.tir->block;
    if (!region)
        return false;
    if (!block)
        return rlx_read_error(r, RLX_PA15, at, "a region is matched in a block");
    const rlx_buffer *b =
        rlx_make_buffer(r, target->name->text, target, slot, (const rlx_buffer_region *)region);
    rlx_match_buffer_region *m = b ? rlx_node_new(r->ctx, RLX_NODE_MATCH_BUFFER_REGION) : NULL;
    if (!m)
        return false;
    m->source = region;
    m->buffer = &b->node;
    rlx_val v = rlx_val_node(RLX_VAL_BUFFER, &b->node, target);
    return rlx_tir_reader_push(r, &block->matches, m) && rlx_tir_reader_define(r, target, &v);
}

static bool number_params(rlx_reader *r)
{
    const rlx_pending *f = r->unit.tir->f;
    for (size_t i = 0; i < f->num_params; i++)
        if (!rlx_ptrmap_put(&r->unit.tir->params, f->params[i], i))
            return false;
    return true;
}

static bool match_param(rlx_reader *r, const rlx_ast *at, const rlx_ast *target,
                        const rlx_ast *const *slot, const rlx_prim *param)
{
    uintptr_t i = 0;
    if (!r->unit.tir->params.len && !number_params(r))
        return false;
    if (!rlx_ptrmap_find(&r->unit.tir->params, param, &i) || rlx_prim_dtype(param) != RELAX_HANDLE)
        return rlx_read_error(
            r, RLX_PA12, at,
            "T.match_buffer takes a handle parameter or, in a block, a region of a buffer");
    if (r->unit.tir->level != 1 || r->unit.tir->block)
        return rlx_read_error(r, RLX_PA15, at,
                              "a parameter is matched at the top of the function");
    if (r->unit.tir->buffers[i])
        return rlx_read_error(r, RLX_PA13, at, "this parameter already has a buffer");
    const rlx_buffer *b = rlx_make_buffer(r, target->name->text, target, slot, NULL);
    rlx_val v = rlx_val_node(RLX_VAL_BUFFER, b ? &b->node : NULL, target);
    r->unit.tir->buffers[i] = b ? &b->node : NULL;
    return b && rlx_tir_reader_define(r, target, &v);
}

/* T.match_buffer(x, (n,), "float32") of the older dialect: names that mean nothing yet are
 * shape variables */
static bool define_extents(rlx_reader *r, const rlx_ast *shape)
{
    for (const rlx_ast *a = shape && (shape->kind == RLX_AST_TUPLE || shape->kind == RLX_AST_LIST)
                                ? shape->first
                                : NULL;
         a; a = a->next) {
        if (a->kind != RLX_AST_NAME || a->name->value.kind)
            continue;
        const rlx_prim_var *n =
            rlx_prim_var_new(r->ctx, a->name->text, RELAX_INT32, rlx_read_place(r, a));
        rlx_val v = rlx_val_node(RLX_VAL_PRIM, n ? &n->node : NULL, a);
        rlx_read_note(r, a, "shape variables are declared: %s = T.int32()", a->name->text->data);
        if (!n || !rlx_word_bind(r, a->name, &v))
            return false;
    }
    return true;
}

bool rlx_tir_reader_match_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                                 const rlx_ast *target)
{
    const rlx_ast *slot[RLX_BUF_COUNT + 1];
    rlx_val v;
    if (!(target = rlx_tir_reader_one_target(r, call, target)) ||
        !rlx_bind_args(r, call, "T.match_buffer", RLX_PARAMS("param", RLX_BUF_PARAMS), 1, slot))
        return false;
    if (!rlx_read_value(r, slot[0], &v) || !define_extents(r, slot[1]))
        return false;
    if (v.kind == RLX_VAL_PRIM && !rlx_as_buffer_load(v.node))
        return match_param(r, slot[0], target, slot + 1, v.node);
    return match_region(r, slot[0], target, slot + 1, &v);
}
