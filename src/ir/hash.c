/* hash.c: structural hash. It must not depend on where a node is shared, nor on which objects the
 * variables are, so a bound variable counts by its kind alone and every node has one hash within
 * the root: shared nodes are hashed once. */
#include "ir/ir_int.h"

struct frame { rlx_cursor cursor; uint64_t hash; size_t steps, function; };
struct state {
    rlx_memory *m;
    rlx_ptrmap *known;  /* node to hash */
    rlx_ptrmap bound;   /* Relax variables defined inside */
    RLX_VEC(struct frame) frames;
    size_t steps;
    bool map_free, failed;
};

/* Below so many steps hashing again is cheaper than remembering. */
#define WORTH_REMEMBERING 16
#define NOTHING 0x9AE16A3B2F90404Full

static enum rlx_step find_bound(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    struct state *s = user;
    if (n->flags & RLX_FLAG_INTERNED)
        return RLX_STEP_SKIP; /* defines no Relax variables */
    if (rlx_is_relax_var(n) && rlx_field_is_def(via) && !rlx_ptrmap_put(&s->bound, n, 1))
        s->failed = true;
    return s->failed ? RLX_STEP_STOP : RLX_STEP_ON;
}

static void find_definitions(struct state *s, const rlx_node *n)
{
    int family = rlx_family_of(n);
    bool may_bind = family == RLX_FAMILY_EXPR || family == RLX_FAMILY_BINDING ||
                    family == RLX_FAMILY_BLOCK || family == RLX_FAMILY_MODULE;
    rlx_walker w = { .enter = find_bound, .user = s, .unique = true };
    bool no_memory = false;
    if (may_bind && !(n->flags & RLX_FLAG_INTERNED) && rlx_child_count(n))
        rlx_walk(s->m, n, &w, &no_memory);
    s->failed |= no_memory;
}

static uint64_t hash_string(const rlx_string *s)
{
    return s ? rlx_hash_mix(s->len, s->hash) : NOTHING;
}

static uint64_t hash_bytes(const void *data, size_t size)
{
    return size ? rlx_hash_bytes(data, size) : NOTHING;
}

static uint64_t hash_value(uint64_t h, const rlx_node *n, const rlx_field *f)
{
    switch (f->type) {
    case RLX_FIELD_REFS:
    case RLX_FIELD_DEFS: return rlx_hash_mix(h, RLX_AT(n, f->count_offset, size_t));
    case RLX_FIELD_STR:
        return rlx_hash_mix(h, hash_string(RLX_AT(n, f->offset, const rlx_string *)));
    case RLX_FIELD_I32:
    case RLX_FIELD_DTYPE: return rlx_hash_i32(h, RLX_AT(n, f->offset, int32_t));
    case RLX_FIELD_I64:
    case RLX_FIELD_F64: return rlx_hash_mix(h, RLX_AT(n, f->offset, uint64_t));
    case RLX_FIELD_DIMS:
        return rlx_hash_mix(h, hash_bytes(RLX_AT(n, f->offset, const void *),
                                          RLX_AT(n, f->count_offset, size_t) * sizeof(int64_t)));
    case RLX_FIELD_BLOB: {
        const rlx_blob *b = RLX_AT(n, f->offset, const rlx_blob *);
        return rlx_hash_mix(h, b && !b->deferred ? hash_bytes(b->data, b->size) : NOTHING);
    }
    default: return h;
    }
}

/* Kind and plain fields. */
static uint64_t hash_values(const rlx_node *n)
{
    const rlx_kind_info *k = &rlx_kinds[n->kind];
    uint64_t h = rlx_kind_hash(n->kind);
    for (int i = 0; i < k->num_fields; i++)
        h = hash_value(h, n, &k->fields[i]);
    return h;
}

static uint64_t hash_var(const struct state *s, const rlx_node *n)
{
    uint64_t h = rlx_kind_hash(n->kind);
    return s->map_free || rlx_ptrmap_has(&s->bound, n) ? h : rlx_hash_mix(h, n->id);
}

/* True: *h is the hash of n. False: a frame was pushed for it (or memory ran out). */
static bool hash_at_once(struct state *s, const rlx_node *n, const rlx_field *via, uint64_t *h)
{
    uintptr_t known;
    const rlx_attrs *attrs = rlx_as_attrs(n);
    s->steps++;
    if (!n || (attrs && !attrs->num_keys)) {
        *h = NOTHING;
        return true;
    }
    bool var = rlx_is_relax_var(n);
    if (var && !rlx_field_is_def(via)) {
        *h = hash_var(s, n);
        return true;
    }
    if (n->kind == RLX_NODE_PRIM_VAR || n->kind == RLX_NODE_BUFFER ||
        n->kind == RLX_NODE_GLOBAL_VAR) {
        *h = hash_values(n);
        return true;
    }
    if (n->kind == RLX_NODE_EXTENSION_SINFO) { /* the host may say that unlike operands are equal */
        *h = rlx_hash_mix(rlx_kind_hash(n->kind), hash_string(rlx_as_extension_sinfo(n)->name));
        return true;
    }
    if (!var && rlx_ptrmap_find(s->known, n, &known)) {
        *h = known;
        return true;
    }
    struct frame f = { .cursor = rlx_cursor_at(n), .hash = hash_values(n), .steps = s->steps };
    if (!rlx_vec_push(s->m, &s->frames, f))
        s->failed = true;
    return false;
}

/* Functions of a module count in any order: sums of name and function. */
static void add_child(struct frame *f, uint64_t h)
{
    const rlx_module *m = rlx_as_module(f->cursor.node);
    if (m && f->function && f->function <= m->num_functions) {
        const rlx_global_var *g = (const rlx_global_var *)m->gvars[f->function - 1];
        f->hash += rlx_hash_mix(hash_string(g->name), h) | 1;
    } else {
        f->hash = rlx_hash_mix(f->hash, h);
    }
}

static bool next_child(struct frame *f, const rlx_field **via, const rlx_node **child)
{
    const rlx_module *m = rlx_as_module(f->cursor.node);
    if (m && f->function < m->num_functions) {
        *via = NULL;
        *child = m->functions[f->function++];
        return true;
    }
    while (rlx_cursor_next(&f->cursor, via, child))
        if ((*via)->type != RLX_FIELD_NOTE && !(m && rlx_field_is_list(*via))) {
            f->function += m != NULL; /* past the functions */
            return true;
        }
    return false;
}

static uint64_t finish(struct state *s)
{
    struct frame f = rlx_vec_pop(&s->frames);
    if (s->steps - f.steps >= WORTH_REMEMBERING && !rlx_is_relax_var(f.cursor.node))
        s->failed |= !rlx_ptrmap_put(s->known, f.cursor.node, (uintptr_t)f.hash);
    return f.hash;
}

static uint64_t run(struct state *s, const rlx_node *root)
{
    uint64_t h = 0;
    bool have = hash_at_once(s, root, NULL, &h);
    while (s->frames.len && !s->failed) {
        const rlx_field *via;
        const rlx_node *child;
        if (have && s->frames.len)
            add_child(&rlx_vec_last(&s->frames), h);
        have = false;
        if (next_child(&rlx_vec_last(&s->frames), &via, &child)) {
            have = hash_at_once(s, child, via, &h);
        } else {
            h = finish(s);
            have = true;
        }
    }
    return h;
}

uint64_t rlx_hash(rlx_memory *m, const rlx_node *n, bool *out_of_memory)
{
    rlx_ptrmap known;
    rlx_ptrmap_init(&known, m);
    uint64_t h = rlx_hash_again(m, n, &known, out_of_memory);
    rlx_ptrmap_free(&known);
    return h;
}

static uint64_t hash_node(rlx_memory *m, const rlx_node *n, rlx_ptrmap *known, bool map_free,
                          bool *out_of_memory)
{
    struct state s = { .m = m, .known = known, .map_free = map_free };
    rlx_ptrmap_init(&s.bound, m);
    if (n && !map_free)
        find_definitions(&s, n);
    uint64_t h = s.failed ? 0 : run(&s, n);
    rlx_ptrmap_free(&s.bound);
    rlx_vec_free(m, &s.frames);
    if (out_of_memory)
        *out_of_memory = s.failed;
    return s.failed ? 0 : h;
}

uint64_t rlx_hash_again(rlx_memory *m, const rlx_node *n, rlx_ptrmap *known, bool *out_of_memory)
{
    return hash_node(m, n, known, false, out_of_memory);
}

uint64_t rlx_hash_mapped(rlx_memory *m, const rlx_node *n, bool *out_of_memory)
{
    rlx_ptrmap known;
    rlx_ptrmap_init(&known, m);
    uint64_t h = hash_node(m, n, &known, true, out_of_memory);
    rlx_ptrmap_free(&known);
    return h;
}
