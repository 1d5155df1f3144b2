/* rebuild.c: the engine under rewriting and copying: nodes made again from their children. */
#include "ir/ir_int.h"

/* A node whose children are being rebuilt; the results so far lie in `done` from `base` on. */
struct frame { rlx_cursor cursor; size_t base; bool silent; };
struct state {
    rlx_rebuild *r;
    rlx_memory *m;
    RLX_VEC(struct frame) frames;
    RLX_VEC(const rlx_node *) done;
};

static bool remember(struct state *s, const rlx_node *n, const rlx_node *result)
{
    return rlx_ptrmap_put(s->r->map, n, (uintptr_t)result);
}

/* Where a variable is defined only a variable can stand; in a buffer and among binders anything
 * may take its place. */
static const rlx_node *fit_definition(const rlx_node *parent, const rlx_field *via,
                                      const rlx_node *old, const rlx_node *now)
{
    if (!now || !rlx_field_is_def(via) || rlx_kinds[old->kind].mode != RLX_MODE_IDENT ||
        old->kind == now->kind)
        return now;
    if (rlx_is_relax_var(old) && rlx_is_relax_var(now))
        return now;
    return parent->kind == RLX_NODE_BUFFER || parent->kind == RLX_NODE_FUNC_SINFO ? now : old;
}

static bool push_frame(struct state *s, const rlx_node *n, bool silent)
{
    struct frame f = { rlx_cursor_at(n), s->done.len, silent };
    return rlx_vec_push(s->m, &s->frames, f);
}

/* The result for n if it is known or needs no descent; *out NULL and true: descend. False:
 * failure. */
static bool answer(struct state *s, const rlx_node *n, const rlx_field *via, const rlx_node **out)
{
    rlx_rebuild *r = s->r;
    uintptr_t known;
    *out = NULL;
    if (r->below && n->layer < r->below) {
        *out = n;
        return true;
    }
    if (rlx_ptrmap_find(r->map, n, &known)) {
        *out = (const rlx_node *)known;
        return true;
    }
    if (!r->enter)
        return true;
    if (!r->enter(r, n, via, out))
        return false;
    return !*out || remember(s, n, *out);
}

static bool visit(struct state *s, const rlx_node *n, const rlx_field *via, bool silent);

/* A local function may call itself: its variable is settled before the function is looked at. */
static bool settle_own_name(struct state *s, const rlx_node *n)
{
    const rlx_var_binding *b = rlx_as_var_binding(n);
    if (!b || !rlx_is(b->value, RLX_NODE_FUNCTION))
        return true;
    static const rlx_field def = { .type = RLX_FIELD_DEF };
    return visit(s, b->var, &def, true);
}

/* Appends the result for n to `done`, or pushes a frame that will. silent: the result goes to
 * the map only. (Recursion: through settle_own_name once, for a variable, which is no binding.) */
static bool visit(struct state *s, const rlx_node *n, const rlx_field *via, bool silent)
{
    const rlx_node *out = NULL;
    if (n) {
        if (!answer(s, n, via, &out))
            return false;
        if (!out)
            return push_frame(s, n, silent) && settle_own_name(s, n);
        if (s->frames.len && !silent)
            out = fit_definition(rlx_vec_last(&s->frames).cursor.node, via, n, out);
    }
    return silent || rlx_vec_push(s->m, &s->done, out);
}

/* All children of the top frame are there: the node itself. */
static bool finish_frame(struct state *s)
{
    struct frame f = rlx_vec_pop(&s->frames);
    const rlx_node *n = f.cursor.node;
    const rlx_node *result = s->r->leave(s->r, n, s->done.data ? s->done.data + f.base : NULL);
    if (!result || !remember(s, n, result))
        return false;
    s->done.len = f.base;
    if (f.silent)
        return true;
    if (s->frames.len) {
        /* The parent's cursor has stepped past the child: the field is the current one of a
         * list, else the one before. */
        const rlx_cursor *c = &rlx_vec_last(&s->frames).cursor;
        const rlx_field *via = c->index ? c->field : c->field - 1;
        result = fit_definition(c->node, via, n, result);
    }
    return rlx_vec_push(s->m, &s->done, result);
}

static bool run(struct state *s, const rlx_node *root)
{
    if (!visit(s, root, NULL, false))
        return false;
    while (s->frames.len) {
        const rlx_field *via;
        const rlx_node *child;
        bool more = rlx_cursor_next(&rlx_vec_last(&s->frames).cursor, &via, &child);
        if (more ? !visit(s, child, via, false) : !finish_frame(s))
            return false;
    }
    return true;
}

const rlx_node *rlx_rebuild_run(rlx_rebuild *r, const rlx_node *root)
{
    struct state s = { .r = r, .m = &r->ctx->memory };
    const rlx_node *result = root && run(&s, root) ? s.done.data[0] : NULL;
    rlx_vec_free(s.m, &s.frames);
    rlx_vec_free(s.m, &s.done);
    return result;
}

/* ---- making a node again */

static rlx_place map_place(const rlx_place_map *map, rlx_place p)
{
    uint32_t source = rlx_place_source(p);
    if (map && map->used)
        map->used[source] = true;
    if (!map || !map->sources || !source)
        return p;
    if (source >= map->count)
        return RLX_NO_PLACE;
    return rlx_place_make(map->sources[source], rlx_place_begin(p), rlx_place_len(p));
}

/* Lists of the key point into `children`; single children are put in. */
static void set_children(rlx_node *key, const rlx_node *const *children)
{
    const rlx_kind_info *k = &rlx_kinds[key->kind];
    for (int i = 0; i < k->num_fields; i++) {
        const rlx_field *f = &k->fields[i];
        if (!rlx_field_is_child(f))
            continue;
        if (rlx_field_is_list(f)) {
            RLX_AT(key, f->offset, const rlx_node *const *) = children;
            children += RLX_AT(key, f->count_offset, size_t);
        } else {
            RLX_AT(key, f->offset, const rlx_node *) = *children++;
        }
    }
}

/* Binders that became something else than a variable are none any more. */
static bool drop_binders(rlx_context *ctx, rlx_func_sinfo *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->num_binders; i++)
        kept += rlx_is(f->binders[i], RLX_NODE_PRIM_VAR);
    if (kept == f->num_binders)
        return true;
    const rlx_node **left = rlx_new(ctx, kept * sizeof *left);
    if (!left)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < f->num_binders; i++)
        if (rlx_is(f->binders[i], RLX_NODE_PRIM_VAR))
            left[n++] = f->binders[i];
    f->binders = left;
    f->num_binders = n;
    return true;
}

static bool copy_array(rlx_context *ctx, rlx_node *n, const rlx_field *f, size_t bytes)
{
    if (!bytes)
        return true;
    void *copy = rlx_new_copy(ctx, RLX_AT(n, f->offset, const void *), bytes);
    RLX_AT(n, f->offset, void *) = copy;
    return copy != NULL;
}

static bool take_string(rlx_context *ctx, rlx_node *n, const rlx_field *f)
{
    const rlx_string **s = &RLX_AT(n, f->offset, const rlx_string *);
    if (*s)
        return (*s = rlx_string_intern(ctx, rlx_string_slice(*s))) != NULL;
    return true;
}

/* Content of constants: shared within a context; another context may outlive the memory it came
 * from. */
static bool take_blob(rlx_context *ctx, rlx_node *n, const rlx_field *f, bool foreign)
{
    rlx_blob *old = RLX_AT(n, f->offset, rlx_blob *);
    rlx_blob *b = !old      ? NULL
                  : foreign ? rlx_blob_create(&ctx->memory, NULL, old->size)
                            : rlx_blob_retain(old);
    RLX_AT(n, f->offset, rlx_blob *) = b;
    if (old && !b)
        return false;
    if (foreign && b && !rlx_blob_write(old, b->data))
        return rlx_blob_release(b), false;
    if (!b || rlx_vec_push(&ctx->memory, &ctx->layers[ctx->top].blobs, b))
        return true;
    rlx_blob_release(b);
    return false;
}

/* A node's parts that are no nodes come into the new place too. */
static bool take_along(rlx_context *ctx, rlx_node *n, const rlx_field *f, bool foreign,
                       const rlx_place_map *places)
{
    switch (f->type) {
    case RLX_FIELD_STR:
    case RLX_FIELD_HINT: return take_string(ctx, n, f);
    case RLX_FIELD_DIMS:
        return copy_array(ctx, n, f, RLX_AT(n, f->count_offset, size_t) * sizeof(int64_t));
    case RLX_FIELD_BLOB: return take_blob(ctx, n, f, foreign);
    case RLX_FIELD_PLACE:
        RLX_AT(n, f->offset, rlx_place) = map_place(places, RLX_AT(n, f->offset, rlx_place));
        return true;
    case RLX_FIELD_PLACES: {
        size_t count = RLX_AT(n, f->count_offset, uint32_t);
        if (!copy_array(ctx, n, f, count * sizeof(rlx_place)))
            return false;
        rlx_place *p = RLX_AT(n, f->offset, rlx_place *);
        for (size_t i = 0; i < count; i++)
            p[i] = map_place(places, p[i]);
        return true;
    }
    default: return true;
    }
}

static const rlx_node *copy_plain(rlx_context *ctx, const rlx_node *key, enum rlx_clone_how how,
                                  uint32_t old_id)
{
    const rlx_kind_info *k = &rlx_kinds[key->kind];
    rlx_node *n = rlx_node_new(ctx, key->kind);
    if (!n)
        return NULL;
    rlx_node head = *n;
    memcpy(n, key, k->size);
    for (int i = 0; i < k->num_fields; i++) {
        const rlx_field *f = &k->fields[i];
        if (rlx_field_is_list(f) &&
            !copy_array(ctx, n, f, RLX_AT(n, f->count_offset, size_t) * sizeof key))
            return NULL;
    }
    uint8_t origin = key->origin;
    *n = head;
    if (how == RLX_CLONE_MOVE) {
        n->origin = origin;
        n->id = old_id;
    } else if (how == RLX_CLONE_FOREIGN) {
        n->origin = 0;
    }
    return n;
}

static const rlx_node *clone_module(rlx_context *ctx, const rlx_node *key, enum rlx_clone_how how)
{
    bool ok;
    rlx_module *m = (rlx_module *)(uintptr_t)copy_plain(ctx, key, how, 0);
    if (!m)
        return NULL;
    m->index = rlx_module_table(ctx, m->gvars, m->num_gvars, &ok);
    return ok ? &m->node : NULL;
}

/* Do both take the same attributes, so that calls of one are calls of the other? */
static bool same_attrs(const rlx_op_row *a, const rlx_op_row *b)
{
    bool same = a->num_attrs == b->num_attrs;
    for (size_t i = 0; same && i < a->num_attrs; i++)
        same = a->attrs[i].type == b->attrs[i].type && !strcmp(a->attrs[i].name, b->attrs[i].name);
    return same;
}

/* A host's addition to one context is known in another only if it was registered there. An
 * operator then has the row of that context. */
static bool is_known_there(rlx_context *to, rlx_node *n)
{
    const rlx_extension_sinfo *s = rlx_as_extension_sinfo(n);
    rlx_op *op = n->kind == RLX_NODE_OP ? (rlx_op *)n : NULL;
    if (op && op->row && op->row->flags & RLX_OP_HOST) {
        const rlx_extension_op *there = rlx_extension_op_find(to, rlx_slice_z(op->row->short_name));
        if (there && same_attrs(&there->op, op->row)) {
            op->row = &there->op;
            return true;
        }
        rlx_error(to, RLX_OP15, RLX_NO_PLACE, "operator %s is not registered in this context%s",
                  op->row->short_name, there ? " with these attributes" : "");
        return false;
    }
    if (!s || rlx_extension_kind_of(to, n))
        return true;
    rlx_error(to, RLX_OP15, RLX_NO_PLACE, "struct info R.%s is not registered in this context",
              s->name->data);
    return false;
}

const rlx_node *rlx_clone(rlx_context *ctx, const rlx_node *n, const rlx_node *const *children,
                          enum rlx_clone_how how, const rlx_place_map *places)
{
    const rlx_kind_info *k = &rlx_kinds[n->kind];
    rlx_any_node key;
    memcpy(&key, n, k->size);
    set_children(&key.node, children);
    if (how == RLX_CLONE_FOREIGN && !is_known_there(ctx, &key.node))
        return NULL;
    if (n->kind == RLX_NODE_FUNC_SINFO && !drop_binders(ctx, (rlx_func_sinfo *)&key))
        return NULL;
    for (int i = 0; how != RLX_CLONE_NEW && i < k->num_fields; i++)
        if (!take_along(ctx, &key.node, &k->fields[i], how == RLX_CLONE_FOREIGN, places))
            return NULL;
    if (k->mode == RLX_MODE_INTERN)
        return rlx_node_intern(ctx, &key.node);
    if (n->kind == RLX_NODE_MODULE)
        return clone_module(ctx, &key.node, how);
    return copy_plain(ctx, &key.node, how, n->id);
}

static bool same_children(const rlx_node *n, const rlx_node *const *children)
{
    rlx_cursor c = rlx_cursor_at(n);
    const rlx_field *via;
    const rlx_node *child;
    for (size_t i = 0; rlx_cursor_next(&c, &via, &child); i++)
        if (child != children[i])
            return false;
    return true;
}

const rlx_node *rlx_with_children(rlx_context *ctx, const rlx_node *n,
                                  const rlx_node *const *children)
{
    return same_children(n, children) ? n : rlx_clone(ctx, n, children, RLX_CLONE_NEW, NULL);
}
