/*- lower_cache.c: calls that differ in names only share their PrimFunc without making it again.
 *
 * The key of a call is a list of words: row, attributes, struct info of arguments and result. A
 * literal size is v << 1 | 1, another one is c << 1, where c numbers what is proved equal by first
 * occurrence. These are all the facts that a lowering asks for, so equal keys have the same
 * PrimFunc. What a key cannot say is lowered without it.
 *
 *     words:   | key of entry 0 | key of entry 1 | ... | key under way
 *     sources: | inputs of entry 0 | ...
 */
/* built for size */
#include "op/lower_int.h"

#define MAX_CLASSES 64     /* distinct sizes of one call */
#define MAX_WORDS 4096     /* one key */
#define UNKNOWN_SIZE UINT64_MAX

typedef struct entry {
    const rlx_global_var *gv;
    const rlx_node *function;               /* what gv was then */
    size_t key, key_len, source, num_sources;
} entry;

typedef struct known_size { const rlx_prim *size; uint32_t class; } known_size;

struct rlx_lower_cache {
    rlx_context *ctx;
    rlx_module_builder *mb;
    rlx_intern table;                       /* hash of key -> entry + 1 */
    RLX_VEC(entry) entries;
    RLX_VEC(uint64_t) words;
    RLX_VEC(rlx_input_source) sources;
    RLX_VEC(const rlx_expr *) inputs;       /* of the call under way */
    known_size sizes[MAX_CLASSES];          /* of the key under way, each node once */
    size_t num_sizes;
    uint32_t num_classes;
};

#define MEMORY(c) (&(c)->ctx->memory)

rlx_lower_cache *rlx_lower_cache_create(rlx_context *ctx, rlx_module_builder *mb)
{
    rlx_lower_cache *c = rlx_mem_alloc_zero(&ctx->memory, sizeof *c);
    if (!c)
        return NULL;
    c->ctx = ctx;
    c->mb = mb;
    rlx_intern_init(&c->table, &ctx->memory);
    return c;
}

void rlx_lower_cache_free(rlx_lower_cache *c)
{
    if (!c)
        return;
    rlx_memory *m = MEMORY(c);
    rlx_intern_free(&c->table);
    rlx_vec_free(m, &c->entries);
    rlx_vec_free(m, &c->words);
    rlx_vec_free(m, &c->sources);
    rlx_vec_free(m, &c->inputs);
    rlx_mem_free(m, c, sizeof *c);
}

/* ---- keys: false when the call has no key; memory that ran out is latched in the context */

static bool put_word(rlx_lower_cache *c, uint64_t word)
{
    return rlx_vec_push(MEMORY(c), &c->words, word);
}

static bool put_pointer(rlx_lower_cache *c, const void *p)
{
    return put_word(c, (uint64_t)(uintptr_t)p);
}

/* The class of a size. A lowering may compare any two sizes, so the proofs of all pairs must agree
 * with the classes. */
static bool class_of(rlx_lower_cache *c, const rlx_scope *scope, const rlx_prim *size,
                     uint32_t *out)
{
    uint32_t class = UINT32_MAX;
    for (size_t i = 0; i < c->num_sizes; i++)
        if (c->sizes[i].size == size)
            return *out = c->sizes[i].class, true;
    for (size_t i = 0; i < c->num_sizes; i++) {
        const rlx_prim *other = c->sizes[i].size;
        bool equal = rlx_prove_equal_sizes(c->ctx, scope, other, size) == RLX_EQUAL;
        if (equal && class != UINT32_MAX && class != c->sizes[i].class)
            return false;
        class = equal ? c->sizes[i].class : class;
    }
    if (c->num_sizes == MAX_CLASSES)
        return false;
    *out = class != UINT32_MAX ? class : c->num_classes++;
    c->sizes[c->num_sizes++] = (known_size){ size, *out };
    return true;
}

static bool put_size(rlx_lower_cache *c, const rlx_scope *scope, const rlx_prim *size)
{
    int64_t v;
    uint32_t class;
    if (!size)
        return put_word(c, UNKNOWN_SIZE);
    if (rlx_int_literal(size, &v))
        return v >= 0 && v < INT64_MAX / 2 && put_word(c, (uint64_t)v << 1 | 1);
    return class_of(c, scope, size, &class) && put_word(c, (uint64_t)class << 1);
}

static bool put_sizes(rlx_lower_cache *c, const rlx_scope *scope, const rlx_prim *const *sizes,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!put_size(c, scope, sizes[i]))
            return false;
    return true;
}

/* Kind, dtype, rank and form in one word. */
static uint64_t head(const rlx_sinfo *s, rlx_dtype t, int64_t ndim, unsigned form)
{
    return (uint64_t)s->kind << 56 | (uint64_t)form << 48 | (uint64_t)(uint16_t)ndim << 32 |
           (uint32_t)t;
}

/* Rules tell a list of sizes from a variable that stands for one. */
static bool put_tensor(rlx_lower_cache *c, const rlx_scope *scope, const rlx_tensor_sinfo *t)
{
    size_t known = 0;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &known);
    unsigned form = !t->shape ? 0 : rlx_as_shape_expr(t->shape) ? 1 : dims ? 2 : 3;
    if (t->ndim < 0 || t->ndim > RLX_LOW_RANK ||
        !put_word(c, head(&t->node, t->dtype, t->ndim, form)))
        return false;
    return !dims || put_sizes(c, scope, dims, known);
}

/* Writes the part of the key that struct info of e gives (NULL: a field of a variable): tensors,
 * shapes, scalars. */
static bool put_part(rlx_lower_cache *c, const rlx_scope *scope, const rlx_expr *e,
                     const rlx_sinfo *s)
{
    const rlx_shape_sinfo *shape = rlx_as_shape_sinfo(s);
    const rlx_prim_sinfo *scalar = rlx_as_prim_sinfo(s);
    if (rlx_as_tensor_sinfo(s))
        return put_tensor(c, scope, rlx_as_tensor_sinfo(s)) && put_pointer(c, rlx_lowering_constant(c->ctx, e));
    if (scalar)
        return put_word(c, head(s, scalar->dtype, 0, 0)) && put_pointer(c, rlx_lowering_literal(e));
    if (!shape || shape->ndim > RLX_LOW_RANK ||
        !put_word(c, head(s, RELAX_VOID, shape->ndim, shape->has_values)))
        return false;
    return !shape->has_values || put_sizes(c, scope, shape->values, shape->num_values);
}

static bool put_arg(rlx_lower_cache *c, const rlx_scope *scope, const rlx_expr *e,
                    const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(s);
    const rlx_tuple *literal = rlx_as_tuple(e);
    if (!fields)
        return put_part(c, scope, e, s);
    if (!put_word(c, head(s, RELAX_VOID, 0, 0)) || !put_word(c, fields->num_fields))
        return false;
    for (size_t i = 0; i < fields->num_fields; i++)
        if (!put_part(c, scope, literal ? literal->fields[i] : NULL, fields->fields[i]))
            return false;
    return true;
}

/* A result whose sizes are not known gets those that the lowering computes from the call. */
static bool put_result(rlx_lower_cache *c, const rlx_lower_request *l, const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *r = rlx_as_tensor_sinfo(s);
    return r && r->shape && put_tensor(c, l->scope, r);
}

/* Appends the key of the call to the words. */
static bool put_key(rlx_lower_cache *c, const rlx_lower_request *l)
{
    c->num_sizes = c->num_classes = 0;
    if (l->call->num_sinfo_args || !put_pointer(c, l->row) || !put_pointer(c, l->call->attrs) ||
        !put_word(c, l->call->num_args))
        return false;
    for (size_t i = 0; i < l->call->num_args; i++)
        if (!put_arg(c, l->scope, l->call->args[i], l->args[i]))
            return false;
    const rlx_tuple_sinfo *fields = rlx_as_tuple_sinfo(l->result);
    for (size_t i = 0; fields && i < fields->num_fields; i++)
        if (!put_result(c, l, fields->fields[i]))
            return false;
    return fields || put_result(c, l, l->result);
}

static uint64_t hash_words(const uint64_t *words, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++)
        h = rlx_hash_mix(h, words[i]);
    return h;
}

/* ---- entries */

static const entry *find(const rlx_lower_cache *c, uint64_t hash, size_t key, size_t len)
{
    size_t at;
    const uint64_t *words = c->words.data;
    const rlx_intern *t = &c->table;
    for (void *item = rlx_intern_first(t, hash, &at); item; item = rlx_intern_next(t, hash, &at)) {
        const entry *e = &c->entries.data[(uintptr_t)item - 1];
        if (e->key_len == len && memcmp(words + e->key, words + key, len * sizeof *words) == 0 &&
            rlx_module_builder_function(c->mb, e->gv) == e->function)
            return e;
    }
    return NULL;
}

/* Keeps the key that was put last. */
static bool remember(rlx_lower_cache *c, const rlx_lower_request *l, const rlx_global_var *gv,
                     uint64_t hash, size_t key)
{
    entry e = { gv,
                rlx_module_builder_function(c->mb, gv),
                key,
                c->words.len - key,
                c->sources.len,
                l->num_inputs };
    for (size_t i = 0; i < l->num_inputs; i++)
        if (!rlx_vec_push(MEMORY(c), &c->sources, l->sources[i]))
            return false;
    bool good = rlx_vec_push(MEMORY(c), &c->entries, e) &&
                rlx_intern_add(&c->table, hash, (void *)(uintptr_t)c->entries.len);
    return good;
}

static const rlx_expr *call_again(rlx_lower_cache *c, rlx_lower_request *l, const entry *e)
{
    c->inputs.len = 0;
    for (size_t i = 0; i < e->num_sources; i++) {
        rlx_input_source s = c->sources.data[e->source + i];
        const rlx_expr *in = l->call->args[s.arg];
        if (s.field >= 0)
            in = rlx_lowering_field(l->ctx, in, (size_t)s.field, l->place);
        if (!in)
            return NULL;
        if (!rlx_vec_push(MEMORY(c), &c->inputs, in))
            return NULL;
    }
    l->inputs = c->inputs.data;
    l->num_inputs = c->inputs.len;
    return rlx_lowering_call(l, e->gv);
}

const rlx_expr *rlx_op_lower_cached(rlx_lower_cache *c, const rlx_scope *scope,
                                    const rlx_call *call, const rlx_sinfo *result,
                                    const char **why)
{
    const rlx_sinfo *args[RLX_OP_MAX_ARGS];
    const rlx_global_var *gv;
    const char *unused;
    rlx_lower_request l;
    why = why ? why : &unused;
    if (!rlx_lowering_prepare(&l, args, rlx_module_builder_env(c->mb), scope, call, result, why))
        return NULL;
    size_t key = c->words.len;
    bool has_key = put_key(c, &l) && c->words.len - key <= MAX_WORDS;
    uint64_t hash = has_key ? hash_words(c->words.data + key, c->words.len - key) : 0;
    const entry *same = has_key ? find(c, hash, key, c->words.len - key) : NULL;
    const rlx_expr *out = same ? call_again(c, &l, same) : rlx_lowering_lower(c->mb, &l, &gv, why);
    /* For the next call: inputs must be told, and the result must be the caller's. */
    bool keep = has_key && !same && out && (l.sources || !l.num_inputs) && l.result == result;
    if (!keep)
        c->words.len = key;
    return !keep || remember(c, &l, gv, hash, key) ? out : NULL;
}
