/* print_block.c: PrimFuncs and blocks. */
#include "script/print_int.h"

/* ---- blocks */
static bool is_remapped(const rlx_printer *p, const rlx_iter_var *v, const rlx_prim *value)
{
    const rlx_range *dom = rlx_as_range(v->dom);
    if (!dom || !rlx_is(value, RLX_NODE_PRIM_VAR) ||
        (v->iter_type != RLX_ITER_SPATIAL && v->iter_type != RLX_ITER_REDUCE))
        return false;
    const rlx_for_stmt *f = rlx_ptrmap_get(&p->loops, value);
    return f && rlx_find_bound(p, value) && f->min == dom->min && f->extent == dom->extent;
}

static void put_defined(rlx_printer *p, const rlx_node *var)
{
    const rlx_bound *b = rlx_define_at(p, var, p->frames.len - 1);
    if (b)
        rlx_put_bound(p, b);
}

/* vi = T.axis.spatial(16, i) */
static void put_axis(rlx_printer *p, const rlx_iter_var *v, const rlx_prim *value)
{
    static const char *const names[] = {
        [RLX_ITER_SPATIAL] = "spatial", [RLX_ITER_THREAD] = "opaque", [RLX_ITER_REDUCE] = "reduce",
        [RLX_ITER_SCAN] = "scan",       [RLX_ITER_OPAQUE] = "opaque",
    };
    const rlx_range *dom = rlx_as_range(v->dom);
    rlx_put_indent(p);
    put_defined(p, v->var);
    rlx_put(p, " = ");
    rlx_put_t(p);
    rlx_buf_format(p->out, "axis.%s(",
                   v->iter_type >= 0 && v->iter_type < (int)RLX_COUNT(names) ? names[v->iter_type]
                                                                             : "opaque");
    if (dom && rlx_is_int_value(dom->min, 0)) {
        rlx_print_expr(p, dom->extent, 0);
    } else if (dom) {
        rlx_put(p, "(");
        rlx_print_expr(p, dom->min, 0);
        rlx_put(p, ", ");
        rlx_print_expr(p, rlx_print_sum(p, dom->min, dom->extent), 0);
        rlx_put(p, ")");
    }
    if (value) {
        rlx_put(p, ", ");
        rlx_print_expr(p, value, 0);
    }
    rlx_put(p, ")");
    rlx_put_newline(p);
}

/* vi, vj = T.axis.remap("SR", [i, j]) */
static void put_remap(rlx_printer *p, const rlx_tir_block *b, const rlx_block_realize *r,
                      size_t from, size_t to)
{
    rlx_put_indent(p);
    for (size_t i = from; i < to; i++) {
        if (i > from)
            rlx_put(p, ", ");
        put_defined(p, rlx_as_iter_var(b->iter_vars[i])->var);
    }
    rlx_put(p, " = ");
    rlx_put_t(p);
    rlx_put(p, "axis.remap(\"");
    for (size_t i = from; i < to; i++)
        rlx_buf_z(p->out,
                  rlx_as_iter_var(b->iter_vars[i])->iter_type == RLX_ITER_SPATIAL ? "S" : "R");
    rlx_put(p, "\", [");
    rlx_print_list(p, r->iter_values + from, to - from, 0);
    rlx_put(p, "])");
    rlx_put_newline(p);
}

static void put_axes(rlx_printer *p, const rlx_tir_block *b, const rlx_block_realize *r)
{
    size_t values = r ? r->num_iter_values : 0;
    for (size_t i = 0, end; i < b->num_iter_vars; i = end) {
        for (end = i; end < b->num_iter_vars && end < values &&
                      is_remapped(p, rlx_as_iter_var(b->iter_vars[end]), r->iter_values[end]);)
            end++;
        if (end > i + 1) {
            put_remap(p, b, r, i, end);
            continue;
        }
        end = i + 1;
        put_axis(p, rlx_as_iter_var(b->iter_vars[i]), i < values ? r->iter_values[i] : NULL);
    }
}

static void put_line(rlx_printer *p, const char *name, const rlx_node *const *items, size_t count)
{
    rlx_put_indent(p);
    rlx_put_t(p);
    rlx_buf_z(p->out, name);
    rlx_print_list(p, items, count, 0);
    rlx_put(p, ")");
    rlx_put_newline(p);
}

/* S = T.alloc_buffer(...), or with a region T.match_buffer(A[0:4], ...) */
static void put_buffer_line(rlx_printer *p, const rlx_buffer *b, const char *function,
                            const rlx_node *first)
{
    rlx_put_indent(p);
    put_defined(p, &b->node);
    rlx_put(p, " = ");
    rlx_put_buffer(p, b, function, first, p->frames.len - 1);
    rlx_put_newline(p);
}

static void put_allocs(rlx_printer *p, const rlx_tir_block *b)
{
    for (size_t i = 0; i < b->num_alloc_buffers; i++)
        put_buffer_line(p, rlx_as_buffer(b->alloc_buffers[i]),
                        p->newer ? "sblock_alloc_buffer" : "alloc_buffer", NULL);
}

static void put_block_head(rlx_printer *p, const rlx_tir_block *b, const rlx_block_realize *r)
{
    put_axes(p, b, r);
    if (r && r->predicate && !rlx_is_int_value(r->predicate, 1))
        put_line(p, "where(", &r->predicate, 1);
    put_line(p, "reads(", b->reads, b->num_reads);
    put_line(p, "writes(", b->writes, b->num_writes);
    if (rlx_as_attrs(b->annotations) && rlx_as_attrs(b->annotations)->num_keys)
        put_line(p, p->newer ? "sblock_attr(" : "block_attr(", &b->annotations, 1);
    put_allocs(p, b);
    for (size_t i = 0; i < b->num_match_buffers; i++) {
        const rlx_match_buffer_region *m = rlx_as_match_buffer_region(b->match_buffers[i]);
        put_buffer_line(p, rlx_as_buffer(m->buffer), "match_buffer", m->source);
    }
}

void rlx_print_block(rlx_printer *p, const rlx_tir_block *b, const rlx_block_realize *r)
{
    if (!b)
        return;
    rlx_put_indent(p);
    rlx_put(p, "with ");
    rlx_put_t(p);
    rlx_put_for(p, "block(", "sblock(");
    rlx_put_string(p, b->name ? rlx_string_slice(b->name) : (rlx_slice){ "", 0 });
    rlx_buf_z(p->out, r ? "):" : ", no_realize=True):");
    rlx_open_tir_suite(p, &b->node);
    put_block_head(p, b, r);
    if (!b->init) {
        rlx_push_tir_body(p, b->body);
        return;
    }
    rlx_push_tir_rest(p, b->body);
    rlx_put_indent(p);
    rlx_put(p, "with ");
    rlx_put_t(p);
    rlx_put(p, "init():");
    rlx_open_tir_suite(p, b->init);
    rlx_push_tir_body(p, b->init);
}

/* ---- the root block */
static enum rlx_step find_block(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    if (n->kind == RLX_NODE_BLOCK_REALIZE) {
        *(bool *)user = true;
        return RLX_STEP_STOP;
    }
    return rlx_family_of(n) == RLX_FAMILY_STMT ? RLX_STEP_ON : RLX_STEP_SKIP;
}

static bool holds_block(rlx_printer *p, const rlx_stmt *s)
{
    bool found = false, lost = false;
    rlx_walker w = { .enter = find_block, .user = &found, .unique = true };
    rlx_walk(p->m, s, &w, &lost);
    if (lost)
        rlx_print_fail(p);
    return found;
}

/* The block that reading puts around the body by itself, or NULL. */
static const rlx_tir_block *implied_root(rlx_printer *p, const rlx_stmt *body)
{
    const rlx_block_realize *r = rlx_as_block_realize(body);
    const rlx_tir_block *b = r ? rlx_as_tir_block(r->block) : NULL;
    if (!b || r->num_iter_values || (r->predicate && !rlx_is_int_value(r->predicate, 1)) ||
        b->num_iter_vars)
        return NULL;
    if (rlx_as_attrs(b->annotations) && rlx_as_attrs(b->annotations)->num_keys)
        return NULL;
    if (b->num_match_buffers || b->num_reads || b->num_writes || b->init)
        return NULL;
    if (!b->name || strcmp(b->name->data, "root") != 0)
        return NULL;
    if (b->num_alloc_buffers)
        return b;
    const rlx_block_realize *inner = rlx_as_block_realize(b->body);
    const rlx_tir_block *block = inner ? rlx_as_tir_block(inner->block) : NULL;
    return (block ? block->num_iter_vars != 0 : holds_block(p, b->body)) ? b : NULL;
}

/* ---- functions */
static const rlx_buffer *buffer_of(const rlx_prim_func *f, size_t i)
{
    return i < f->num_buffers ? rlx_as_buffer(f->buffers[i]) : NULL;
}

/* Parameters that print as their buffers: those are simple and share no data. A handle that the
 * body mentions beside its buffer is found out while printing. */
static void find_inline(rlx_printer *p, const rlx_prim_func *f)
{
    rlx_ptrmap data;
    bool lost = false;
    rlx_ptrmap_init(&data, p->m);
    rlx_ptrmap_clear(&p->handles);
    for (size_t i = 0; i < f->num_params && !lost; i++)
        if (buffer_of(f, i))
            lost = !rlx_ptrmap_put(&data, buffer_of(f, i)->data,
                                   rlx_ptrmap_has(&data, buffer_of(f, i)->data));
    for (size_t i = 0; i < f->num_params && !lost; i++) {
        uintptr_t shared = 1;
        const rlx_buffer *b = buffer_of(f, i);
        if (b && rlx_buffer_is_simple(b) && rlx_ptrmap_find(&data, b->data, &shared) && !shared)
            lost = !rlx_ptrmap_put(&p->handles, f->params[i], false);
    }
    rlx_ptrmap_free(&data);
    if (lost)
        rlx_print_fail(p);
}

static bool is_inline(const rlx_printer *p, const rlx_prim_func *f, size_t i)
{
    return buffer_of(f, i) && rlx_ptrmap_has(&p->handles, f->params[i]);
}

static void put_params(rlx_printer *p, const rlx_prim_func *f)
{
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = buffer_of(f, i);
        if (i)
            rlx_put(p, ", ");
        if (is_inline(p, f, i)) {
            put_defined(p, &b->node);
            rlx_put(p, ": ");
            rlx_put_buffer_type(p, b, p->frames.len - 1);
        } else {
            put_defined(p, f->params[i]);
            rlx_put(p, ": ");
            rlx_put_var_type(p, f->params[i]);
        }
    }
}

static void put_result(rlx_printer *p, rlx_dtype t)
{
    char name[RLX_DTYPE_TEXT];
    if (rlx_dtype_is_void(t))
        return;
    size_t len = rlx_dtype_name(t, name);
    rlx_put(p, " -> ");
    rlx_put_t(p);
    rlx_buf_put(p->out, name, len);
}

/* Lines of the buffers that are not in the signature. */
static void put_matches(rlx_printer *p, const rlx_prim_func *f)
{
    for (size_t i = 0; i < f->num_params; i++)
        if (buffer_of(f, i) && !is_inline(p, f, i))
            put_buffer_line(p, buffer_of(f, i), "match_buffer", f->params[i]);
}

static void put_body(rlx_printer *p, const rlx_prim_func *f)
{
    const rlx_tir_block *root = implied_root(p, f->body);
    if (root) {
        rlx_put_indent(p);
        rlx_put_for(p, "# with T.block(\"root\"):", "# with T.sblock(\"root\"):");
        rlx_put_newline(p);
        put_allocs(p, root);
    }
    rlx_push_tir_body(p, root ? root->body : f->body);
    rlx_run_tir(p);
}

static void open_prim_func(rlx_printer *p, const rlx_prim_func *f, rlx_slice name)
{
    rlx_put_indent(p);
    rlx_put(p, "@");
    rlx_put_t(p);
    bool is_private = !rlx_link_name(&f->node);
    rlx_put_for(p, is_private ? "prim_func(private=True)\n" : "prim_func\n",
                is_private ? "prim_func(private=True, s_tir=True)\n"
                           : "prim_func(s_tir=True)\n");
    rlx_put_indent(p);
    rlx_put(p, "def ");
    rlx_put_identifier(p, name);
    rlx_put(p, "(");
    p->indent += 4;
    rlx_print_enter(p, &f->node);
    p->unit = &f->node;
    p->unit_frame = p->frames.len - 1;
}

static void put_function(rlx_printer *p, const rlx_prim_func *f, rlx_slice name)
{
    open_prim_func(p, f, name);
    put_params(p, f);
    rlx_put(p, ")");
    put_result(p, f->ret_dtype);
    rlx_put(p, ":");
    rlx_put_newline(p);
    rlx_vec_last(&p->frames).line = p->out->len;
    rlx_print_func_attrs(p, f->attrs, name, true);
    put_matches(p, f);
    put_body(p, f);
    rlx_print_leave(p);
    p->indent -= 4;
    rlx_put_newline(p);
}

/* Forgets the handles that the text just printed mentions, and the text. */
static void take_back(rlx_printer *p, const rlx_prim_func *f, size_t text, size_t inserts,
                      size_t side)
{
    p->out->len = text;
    p->inserts.len = inserts;
    p->side.len = side;
    p->handle_met = false;
    for (size_t i = 0; i < f->num_params; i++) {
        uintptr_t met = 0;
        if (rlx_ptrmap_find(&p->handles, f->params[i], &met) && met)
            rlx_ptrmap_remove(&p->handles, f->params[i]);
    }
}

void rlx_print_prim_func(rlx_printer *p, const rlx_prim_func *f, rlx_slice name)
{
    enum rlx_print_where old = p->where;
    size_t text = p->out->len, inserts = p->inserts.len, side = p->side.len;
    p->where = RLX_PRINT_TIR;
    p->under_way = &f->node;
    p->handle_met = false;
    find_inline(p, f);
    put_function(p, f, name);
    if (p->handle_met && !p->failed && !p->out->failed) {
        take_back(p, f, text, inserts, side);
        put_function(p, f, name);
    }
    rlx_ptrmap_clear(&p->handles);
    rlx_uses_free(p);
    p->unit = NULL;
    p->where = old;
}
