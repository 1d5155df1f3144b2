/* equal.c: structural equality of two nodes, side by side, with an explicit stack.
 *
 * A link left[x] = y, right[y] = x says that x of one side is y of the other. Definitions make
 * links; the node that opens a scope undoes at its end what was linked within. Pairs found
 * equal are remembered with the number of the scope they were compared in: links of outer
 * scopes hold there, and a number is not used again after its scope. So shared parts are
 * compared once per scope, and small ones, which cost less than a look-up, are not remembered.
 */
#include "ir/ir_int.h"

/* ---- a set of pairs */

struct pair { const rlx_node *a, *b; uint32_t scope; };
struct pairset { struct pair *slots; size_t len, cap; };

static size_t pair_home(const struct pair *p, size_t mask)
{
    uint64_t h = rlx_hash_ptr(rlx_hash_ptr(p->scope, p->a), p->b);
    return (size_t)(h ^ h >> 29) & mask;
}

static struct pair *pair_slot(const struct pairset *s, const struct pair *p)
{
    size_t mask = s->cap - 1, at = pair_home(p, mask);
    while (s->slots[at].a &&
           (s->slots[at].a != p->a || s->slots[at].b != p->b || s->slots[at].scope != p->scope))
        at = (at + 1) & mask;
    return &s->slots[at];
}

static bool pairset_has(const struct pairset *s, struct pair p)
{
    return s->len && pair_slot(s, &p)->a;
}

static bool pairset_grow(rlx_memory *m, struct pairset *s)
{
    struct pairset bigger = { .cap = s->cap ? s->cap * 2 : 64, .len = s->len };
    bigger.slots = rlx_mem_alloc_zero(m, bigger.cap * sizeof *s->slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < s->cap; i++)
        if (s->slots[i].a)
            *pair_slot(&bigger, &s->slots[i]) = s->slots[i];
    rlx_mem_free(m, s->slots, s->cap * sizeof *s->slots);
    *s = bigger;
    return true;
}

static bool pairset_add(rlx_memory *m, struct pairset *s, struct pair p)
{
    if (2 * (s->len + 1) > s->cap && !pairset_grow(m, s))
        return false;
    struct pair *slot = pair_slot(s, &p);
    s->len += !slot->a;
    *slot = p;
    return true;
}

static void pairset_free(rlx_memory *m, struct pairset *s)
{
    rlx_mem_free(m, s->slots, s->cap * sizeof *s->slots);
}

/* ---- state */

/* A replaced link, put back at the end of the scope. */
struct undo { const rlx_node *a, *b, *old_a, *old_b; };

struct frame {
    rlx_cursor a, b;
    size_t undo_base, steps;
    uint32_t scope;
    bool scoped, fresh;  /* opens a scope; had the scope around it a number of its own? */
    bool defines;        /* a variable or buffer to be linked when its parts are equal */
    size_t function;     /* of a module: the next function */
};

struct state {
    rlx_memory *m;
    bool map_free, named, failed;
    rlx_ptrmap left, right;
    RLX_VEC(struct undo) undos;
    RLX_VEC(struct frame) frames;
    struct pairset equal;
    uint32_t scope, last_scope;
    bool fresh;          /* the current scope has its own number */
    /* links in force between different objects: none, and identical nodes are equal */
    size_t differing;
    size_t steps;
    rlx_trail *trail;    /* where it ends unequal; NULL: nobody asks */
};

enum verdict { EQUAL, UNEQUAL, OPEN };

/* Below so many steps comparing again is cheaper than remembering. */
#define WORTH_REMEMBERING 16

static enum verdict verdict(bool equal) { return equal ? EQUAL : UNEQUAL; }

static enum verdict out_of_memory(struct state *s)
{
    s->failed = true;
    return UNEQUAL;
}

/* ---- the fields that are no nodes */

static bool same_string(const rlx_string *a, const rlx_string *b)
{
    return a == b || (a && b && rlx_string_equal(a, b));
}

/* What is still to be made is equal to itself only. */
static bool same_blob(const rlx_blob *a, const rlx_blob *b)
{
    return a == b || (a && b && a->size == b->size && !a->deferred && !b->deferred &&
                      (!a->size || !memcmp(a->data, b->data, a->size)));
}

static bool same_dims(const rlx_node *a, const rlx_node *b, const rlx_field *f)
{
    size_t count = RLX_AT(a, f->count_offset, size_t);
    if (count != RLX_AT(b, f->count_offset, size_t))
        return false;
    return !count || !memcmp(RLX_AT(a, f->offset, const void *),
                             RLX_AT(b, f->offset, const void *), count * sizeof(int64_t));
}

bool rlx_same_field(const rlx_node *a, const rlx_node *b, const rlx_field *f)
{
    switch (f->type) {
    case RLX_FIELD_REFS:
    case RLX_FIELD_DEFS:
        return RLX_AT(a, f->count_offset, size_t) == RLX_AT(b, f->count_offset, size_t);
    case RLX_FIELD_STR:
        return same_string(RLX_AT(a, f->offset, rlx_string *), RLX_AT(b, f->offset, rlx_string *));
    case RLX_FIELD_I32:
    case RLX_FIELD_DTYPE: return RLX_AT(a, f->offset, int32_t) == RLX_AT(b, f->offset, int32_t);
    case RLX_FIELD_I64:
    case RLX_FIELD_F64:
    case RLX_FIELD_ROW: return RLX_AT(a, f->offset, uint64_t) == RLX_AT(b, f->offset, uint64_t);
    case RLX_FIELD_DIMS: return same_dims(a, b, f);
    case RLX_FIELD_BLOB:
        return same_blob(RLX_AT(a, f->offset, rlx_blob *), RLX_AT(b, f->offset, rlx_blob *));
    default: return true; /* children come later; the rest does not count */
    }
}

static bool same_values(const rlx_node *a, const rlx_node *b)
{
    const rlx_kind_info *k = &rlx_kinds[a->kind];
    for (int i = 0; i < k->num_fields; i++)
        if (!rlx_same_field(a, b, &k->fields[i]))
            return false;
    return true;
}

/* ---- links */

static const rlx_node *linked(const rlx_ptrmap *side, const rlx_node *n)
{
    return rlx_ptrmap_get(side, n);
}

static bool set_link(struct state *s, rlx_ptrmap *side, const rlx_node *from, const rlx_node *to)
{
    if (!to)
        rlx_ptrmap_remove(side, from);
    else if (!rlx_ptrmap_put(side, from, (uintptr_t)to))
        s->failed = true;
    return !s->failed;
}

static void new_scope_number(struct state *s)
{
    s->scope = ++s->last_scope;
    s->fresh = true;
}

/* From here on, a is b. */
static bool link_pair(struct state *s, const rlx_node *a, const rlx_node *b)
{
    struct undo u = { a, b, linked(&s->left, a), linked(&s->right, b) };
    if (u.old_a == b && u.old_b == a)
        return true;
    if (!s->fresh || u.old_a || u.old_b)
        new_scope_number(s); /* what was compared before does not speak of the new link */
    s->differing += a != b;
    if (!rlx_vec_push(s->m, &s->undos, u))
        s->failed = true;
    return !s->failed && set_link(s, &s->left, a, b) && set_link(s, &s->right, b, a);
}

static void undo_links(struct state *s, size_t base)
{
    while (s->undos.len > base) {
        struct undo u = rlx_vec_pop(&s->undos);
        s->differing -= u.a != u.b;
        set_link(s, &s->left, u.a, u.old_a);
        set_link(s, &s->right, u.b, u.old_b);
    }
}

/* A free variable that may be renamed stays linked to the end. */
static bool link_free(struct state *s, const rlx_node *a, const rlx_node *b)
{
    s->differing += a != b;
    return set_link(s, &s->left, a, b) && set_link(s, &s->right, b, a);
}

static bool is_unlinked(const struct state *s, const rlx_node *a, const rlx_node *b)
{
    return !linked(&s->left, a) && !linked(&s->right, b);
}

static bool same_use(struct state *s, const rlx_node *a, const rlx_node *b)
{
    if (!is_unlinked(s, a, b))
        return linked(&s->left, a) == b && linked(&s->right, b) == a;
    return s->map_free ? same_values(a, b) && link_free(s, a, b) : a == b;
}

/* Is every variable, defined or free, the same object on both sides? Then so are identical
 * nodes. */
static bool all_is_itself(const struct state *s)
{
    return !s->differing && !s->map_free;
}

/* ---- definitions of shape variables by binding positions */

static bool define_here(struct state *s, const rlx_node *a, const rlx_node *b)
{
    const rlx_prim_var *x = rlx_position_var(a), *y = rlx_position_var(b);
    if (!x || !y || !is_unlinked(s, &x->node, &y->node) || !same_values(&x->node, &y->node))
        return true;
    return link_pair(s, &x->node, &y->node);
}

/* Pushes the corresponding parts of a and b, the first on top. */
static bool push_parts(struct state *s, rlx_ptrs *stack, const rlx_node *a,
                             const rlx_node *b)
{
    size_t num_a, num_b;
    const rlx_node *const *x = rlx_position_parts(a, &num_a),
                          *const *y = rlx_position_parts(b, &num_b);
    for (size_t i = num_a == num_b ? num_a : 0; i > 0; i--)
        if (!rlx_vec_push(s->m, stack, (void *)(uintptr_t)x[i - 1]) ||
            !rlx_vec_push(s->m, stack, (void *)(uintptr_t)y[i - 1]))
            return false;
    return true;
}

/* Links the variables in the same binding positions of two struct infos. Differences
 * are found later. */
static bool define_alone(struct state *s, const rlx_node *a, const rlx_node *b)
{
    rlx_ptrs stack = { 0 };
    struct pairset seen = { 0 };
    bool ok = !a || !b ||
              (rlx_vec_push(s->m, &stack, (void *)(uintptr_t)a) &&
               rlx_vec_push(s->m, &stack, (void *)(uintptr_t)b));
    while (ok && stack.len) {
        b = rlx_vec_pop(&stack);
        a = rlx_vec_pop(&stack);
        if (rlx_family_of(a) == RLX_FAMILY_PRIM && rlx_family_of(b) == RLX_FAMILY_PRIM) {
            ok = define_here(s, a, b);
        } else if (a->kind == b->kind && (a->flags & RLX_FLAG_HAS_VARS)) {
            struct pair p = { a, b, 0 };
            bool tuple = a->kind == RLX_NODE_TUPLE_SINFO; /* only tuples nest */
            if (tuple && pairset_has(&seen, p))
                continue;
            ok = (!tuple || pairset_add(s->m, &seen, p)) && push_parts(s, &stack, a, b);
        }
    }
    rlx_vec_free(s->m, &stack);
    pairset_free(s->m, &seen);
    s->failed |= !ok;
    return ok;
}

static bool define_params(struct state *s, const rlx_function *a, const rlx_function *b)
{
    for (size_t i = 0; i < a->num_params && i < b->num_params; i++) {
        const rlx_var *x = rlx_as_var(a->params[i]), *y = rlx_as_var(b->params[i]);
        if (x && y && !define_alone(s, x->sinfo, y->sinfo))
            return false;
    }
    return true;
}

/* ---- nodes */

static bool opens_scope(const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_FUNC_SINFO: return ((const rlx_func_sinfo *)n)->num_binders > 0;
    case RLX_NODE_FUNCTION:
    case RLX_NODE_SEQ_EXPR:
    case RLX_NODE_PRIM_FUNC:
    case RLX_NODE_PRIM_LET:
    case RLX_NODE_COMM_REDUCER:
    case RLX_NODE_REDUCE:
    case RLX_NODE_INDEX_MAP:
    case RLX_NODE_LET_STMT:
    case RLX_NODE_FOR:
    case RLX_NODE_ALLOCATE:
    case RLX_NODE_ALLOCATE_CONST:
    case RLX_NODE_DECL_BUFFER:
    case RLX_NODE_TIR_BLOCK:
        return true;
    default: return false;
    }
}

/* Do definitions inside n hold after it? Then it must be gone through, whatever is known of it. */
static bool defines_outward(const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR:
    case RLX_NODE_BUFFER:
    case RLX_NODE_VAR_BINDING:
    case RLX_NODE_MATCH_CAST:
    case RLX_NODE_BINDING_BLOCK:
    case RLX_NODE_DATAFLOW_BLOCK:
    case RLX_NODE_ITER_VAR:
    case RLX_NODE_MATCH_BUFFER_REGION:
        return true;
    default: return false;
    }
}

static bool same_names(const rlx_module *a, const rlx_module *b)
{
    for (size_t i = 0; i < a->num_gvars; i++)
        if (rlx_module_find(b, rlx_string_slice(((const rlx_global_var *)a->gvars[i])->name)) < 0)
            return false;
    return true;
}

/* Makes the links and checks that come before the children of a pair are compared. */
static bool prepare(struct state *s, const rlx_node *a, const rlx_node *b)
{
    const rlx_var_binding *x = rlx_as_var_binding(a), *y = rlx_as_var_binding(b);
    if (a->kind == RLX_NODE_FUNCTION)
        return define_params(s, (const rlx_function *)a, (const rlx_function *)b);
    if (a->kind == RLX_NODE_MODULE)
        return same_names((const rlx_module *)a, (const rlx_module *)b) &&
               same_names((const rlx_module *)b, (const rlx_module *)a);
    if (x && y && rlx_is(x->value, RLX_NODE_FUNCTION) && rlx_is(y->value, RLX_NODE_FUNCTION))
        return link_pair(s, x->var, y->var); /* a local function may call itself */
    return true;
}

static enum verdict open_pair(struct state *s, const rlx_node *a, const rlx_node *b, bool defines)
{
    struct frame f = { .a = rlx_cursor_at(a),
                       .b = rlx_cursor_at(b),
                       .undo_base = s->undos.len,
                       .steps = s->steps,
                       .scope = s->scope,
                       .fresh = s->fresh,
                       .scoped = opens_scope(a),
                       .defines = defines };
    if (!same_values(a, b))
        return UNEQUAL;
    if (!rlx_vec_push(s->m, &s->frames, f))
        return out_of_memory(s);
    if (f.scoped)
        s->fresh = false;
    return prepare(s, a, b) ? OPEN : UNEQUAL;
}

static enum verdict compare_prim_var(struct state *s, const rlx_node *a, const rlx_node *b,
                                     const rlx_field *via, const rlx_node *parent)
{
    const rlx_prim_var *x = (const rlx_prim_var *)a, *y = (const rlx_prim_var *)b;
    if (!rlx_field_is_def(via) || parent->kind == RLX_NODE_BUFFER)
        return verdict(same_use(s, a, b));
    if (s->named && parent->kind == RLX_NODE_FUNC_SINFO && !same_string(x->name, y->name))
        return UNEQUAL;
    return verdict(same_values(a, b) && link_pair(s, a, b));
}

/* A buffer that nothing declares is known by its pointer: it is compared where it is met first. */
static enum verdict compare_buffer(struct state *s, const rlx_node *a, const rlx_node *b,
                                   const rlx_field *via)
{
    const rlx_buffer *x = (const rlx_buffer *)a, *y = (const rlx_buffer *)b;
    if (rlx_field_is_def(via))
        return open_pair(s, a, b, true);
    if (!is_unlinked(s, a, b))
        return verdict(linked(&s->left, a) == b && linked(&s->right, b) == a);
    if (a == b && all_is_itself(s))
        return EQUAL;
    bool known = x->data && y->data && linked(&s->left, x->data) == y->data;
    return known || s->map_free || a == b ? open_pair(s, a, b, true) : UNEQUAL;
}

static enum verdict compare_ident(struct state *s, const rlx_node *a, const rlx_node *b,
                                  const rlx_field *via, const rlx_node *parent)
{
    if (a->kind == RLX_NODE_GLOBAL_VAR)
        return verdict(
            same_string(((const rlx_global_var *)a)->name, ((const rlx_global_var *)b)->name));
    if (a->kind == RLX_NODE_PRIM_VAR)
        return compare_prim_var(s, a, b, via, parent);
    if (a->kind == RLX_NODE_BUFFER)
        return compare_buffer(s, a, b, via);
    return rlx_field_is_def(via) ? open_pair(s, a, b, true) : verdict(same_use(s, a, b));
}

/* ---- kinds of the host */

struct renaming { struct state *state; rlx_rewriter names; };

static enum rlx_step note_link(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    struct renaming *r = user;
    (void)via, (void)parent;
    if (n->kind != RLX_NODE_PRIM_VAR && !rlx_is_relax_var(n))
        return RLX_STEP_ON;
    const rlx_node *there = linked(&r->state->right, n);
    if (!there) /* free: the same on both sides, unless it is bound on the left one */
        return linked(&r->state->left, n) || r->state->map_free ? RLX_STEP_STOP : RLX_STEP_ON;
    if (!rlx_ptrmap_put(&r->names.map, n, (uintptr_t)there))
        r->state->failed = true;
    return r->state->failed ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* b of the right side with the variables of the left side; NULL: it mentions one that is none
 * there, or that may be any. */
static const rlx_node *on_the_left(struct state *s, rlx_context *ctx, const rlx_node *b)
{
    struct renaming r = { .state = s };
    rlx_walker w = { .enter = note_link, .user = &r, .unique = true };
    bool lost = false;
    rlx_rewriter_init(&r.names, ctx);
    bool known = rlx_walk(s->m, b, &w, &lost) != RLX_STEP_STOP && !lost;
    const rlx_node *out = known ? rlx_rewrite(&r.names, b) : NULL;
    s->failed |= lost || (known && !out);
    rlx_rewriter_free(&r.names);
    return out;
}

/* Two descriptions that are not the same may be equal all the same if their host says so. */
static bool says_equal(struct state *s, const rlx_node *a, const rlx_node *b)
{
    const rlx_extension_kind *k = rlx_as_extension_sinfo(a)->row;
    bool asks = k && k->equal && k == rlx_as_extension_sinfo(b)->row && !s->named &&
                s->m == &k->ctx->memory;
    const rlx_node *now = asks ? on_the_left(s, k->ctx, b) : NULL;
    return now &&
           (now == a || rlx_extension_ask(k->ctx, NULL, k, k->equal, "equality", 1, a, now) == 1);
}

static const rlx_node *none_if_empty(const rlx_node *n)
{
    const rlx_attrs *a = rlx_as_attrs(n);
    return a && !a->num_keys ? NULL : n;
}

static enum verdict compare(struct state *s, const rlx_node *a, const rlx_node *b,
                            const rlx_field *via, const rlx_node *parent)
{
    s->steps++;
    a = none_if_empty(a);
    b = none_if_empty(b);
    if (!a || !b || a->kind != b->kind)
        return verdict(a == b);
    if (a == b && rlx_node_is_closed(a))
        return EQUAL;
    if (rlx_field_is_def(via) && parent->kind == RLX_NODE_BUFFER && !define_here(s, a, b))
        return UNEQUAL; /* a buffer defines only what is not known yet */
    if (rlx_kinds[a->kind].mode == RLX_MODE_IDENT)
        return compare_ident(s, a, b, via, parent);
    if (rlx_field_is_def(via) && rlx_family_of(a) == RLX_FAMILY_SINFO && !define_alone(s, a, b))
        return UNEQUAL;
    if (!defines_outward(a)) {
        if (a == b && all_is_itself(s))
            return EQUAL;
        if (pairset_has(&s->equal, (struct pair){ a, b, s->scope }))
            return EQUAL;
    }
    if (a->kind == RLX_NODE_EXTENSION_SINFO && says_equal(s, a, b))
        return EQUAL;
    return open_pair(s, a, b, false);
}

/* The parts of the top pair are equal: what follows from it. */
static bool close_pair(struct state *s)
{
    struct frame f = rlx_vec_pop(&s->frames);
    const rlx_node *a = f.a.node, *b = f.b.node;
    if (f.scoped) {
        undo_links(s, f.undo_base);
        s->scope = f.scope;
        s->fresh = f.fresh;
    }
    if (f.defines)
        return link_pair(s, a, b);
    if (s->steps - f.steps < WORTH_REMEMBERING || defines_outward(a))
        return !s->failed;
    if (!pairset_add(s->m, &s->equal, (struct pair){ a, b, s->scope }))
        s->failed = true;
    return !s->failed;
}

/* Functions of a module in the order of a, found by name in b; false when there are no more. */
static bool next_function(struct frame *f, const rlx_node **x, const rlx_node **y)
{
    const rlx_module *a = (const rlx_module *)f->a.node, *b = (const rlx_module *)f->b.node;
    if (f->function >= a->num_functions)
        return false;
    int64_t at = rlx_module_find(
        b, rlx_string_slice(((const rlx_global_var *)a->gvars[f->function])->name));
    *x = a->functions[f->function++];
    *y = at < 0 ? NULL : b->functions[at];
    return true;
}

/* The next children of the top pair; false: none left. */
static bool next_children(struct frame *f, const rlx_field **via, const rlx_node **x,
                          const rlx_node **y)
{
    bool module = f->a.node->kind == RLX_NODE_MODULE;
    if (module && next_function(f, x, y)) {
        *via = NULL;
        return true;
    }
    while (rlx_cursor_next(&f->a, via, x)) {
        rlx_cursor_next(&f->b, via, y);
        if ((*via)->type != RLX_FIELD_NOTE && !(module && rlx_field_is_list(*via)))
            return true;
    }
    return false;
}

/* The child that a cursor has just given. */
static rlx_trail_step step_of(const struct frame *f)
{
    const rlx_cursor *c = &f->a;
    bool in_list = c->field < c->end && rlx_field_is_list(c->field) && c->index;
    rlx_trail_step step = { .a = c->node, .b = f->b.node };
    if (c->field == rlx_kinds[c->node->kind].fields && !c->index) {
        step.index = f->function - 1; /* no field yet: a function of a module */
        return step;
    }
    step.via = in_list ? c->field : c->field - 1;
    step.index = in_list ? c->index - 1 : 0;
    return step;
}

/* From the root to a and b, which differ. They have a frame if that came out after it was made. */
static void note_trail(struct state *s, const rlx_node *a, const rlx_node *b)
{
    size_t n = s->frames.len;
    rlx_trail_step last = { .a = a, .b = b };
    if (!s->trail || s->failed)
        return;
    if (n && s->frames.data[n - 1].a.node == a && s->frames.data[n - 1].b.node == b)
        n--;
    for (size_t i = 0; i < n && !s->failed; i++)
        s->failed = !rlx_vec_push(s->m, s->trail, step_of(&s->frames.data[i]));
    s->failed = s->failed || !rlx_vec_push(s->m, s->trail, last);
}

static bool run(struct state *s, const rlx_node *a, const rlx_node *b)
{
    enum verdict v = compare(s, a, b, NULL, NULL);
    const rlx_node *x = a, *y = b;
    while (v != UNEQUAL && s->frames.len) {
        const rlx_field *via;
        const rlx_node *parent = rlx_vec_last(&s->frames).a.node;
        x = y = NULL;
        if (next_children(&rlx_vec_last(&s->frames), &via, &x, &y))
            v = compare(s, x, y, via, parent);
        else
            v = verdict(close_pair(s));
    }
    if (v == UNEQUAL)
        note_trail(s, x, y);
    return v != UNEQUAL && !s->failed;
}

static bool equal(struct state *s, const rlx_node *a, const rlx_node *b, bool *no_memory)
{
    rlx_ptrmap_init(&s->left, s->m);
    rlx_ptrmap_init(&s->right, s->m);
    s->fresh = true;
    bool same = run(s, a, b);
    rlx_ptrmap_free(&s->left);
    rlx_ptrmap_free(&s->right);
    rlx_vec_free(s->m, &s->undos);
    rlx_vec_free(s->m, &s->frames);
    pairset_free(s->m, &s->equal);
    if (no_memory)
        *no_memory = s->failed;
    return same;
}

bool rlx_equal(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool map_free, bool *no_memory)
{
    struct state s = { .m = m, .map_free = map_free };
    return equal(&s, a, b, no_memory);
}

bool rlx_equal_named(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool *no_memory)
{
    struct state s = { .m = m, .named = true };
    return equal(&s, a, b, no_memory);
}

bool rlx_equal_trail(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool map_free,
                     rlx_trail *trail, bool *no_memory)
{
    struct state s = { .m = m, .map_free = map_free, .trail = trail };
    bool same = equal(&s, a, b, no_memory);
    if (*no_memory)
        trail->len = 0;
    return same;
}
