/* object.c: counting, freeing and pooling of boxed values. */
#include "runtime/runtime_int.h"

/* ---- memory of objects ---------------------------------------------------------------------- */

static size_t block_class(size_t size)
{
    return (size + RLX_POOL_BLOCK_STEP - 1) / RLX_POOL_BLOCK_STEP;
}

void *rlx_object_alloc(rlx_pool *p, size_t size, int32_t type_index)
{
    rlx_object *o = NULL;
    size_t cls = block_class(size);
    if (size > UINT32_MAX - RLX_POOL_BLOCK_STEP)
        return NULL;
    if (size <= RLX_POOL_BLOCK_MAX) {
        size = cls * RLX_POOL_BLOCK_STEP;
        o = p->blocks[cls];
    }
    if (o) {
        p->blocks[cls] = *(void **)o; /* still holds its reference to the memory */
    } else {
        o = rlx_mem_alloc(&p->memory->memory, size);
        if (!o)
            return NULL;
        rlx_shared_memory_retain(p->memory);
    }
    atomic_init(&o->refs, RLX_REFS_UNIQUE);
    o->type_index = type_index;
    o->block = (uint32_t)size;
    o->deleter = rlx_object_delete;
    return o;
}

static void free_block(rlx_pool *p, rlx_object *o, rlx_shared_memory *memory)
{
    size_t size = o->block;
    rlx_handle_ends(o);
    if (p && memory == p->memory && size <= RLX_POOL_BLOCK_MAX) {
        size_t cls = block_class(size);
        *(void **)o = p->blocks[cls];
        p->blocks[cls] = o;
        return;
    }
    rlx_mem_free(&memory->memory, o, size);
    rlx_shared_memory_release(memory);
}

/* Every object of ours says where its memory came from, each at its own place. */
static rlx_shared_memory *memory_of(const rlx_object *o)
{
    switch (o->type_index) {
    case RELAX_VALUE_TENSOR: return ((const rlx_tensor_object *)o)->memory;
    case RELAX_VALUE_SHAPE: return ((const rlx_shape_object *)o)->memory;
    case RELAX_VALUE_STRING:
    case RELAX_VALUE_BYTES: return ((const rlx_string_object *)o)->memory;
    case RELAX_VALUE_FUNCTION: return ((const rlx_packed *)o)->memory;
    case RELAX_VALUE_ERROR: return ((const struct relax_error *)o)->memory;
    /* the same place in all objects with a mark */
    default: return ((const rlx_tuple_object *)o)->memory;
    }
}
_Static_assert(offsetof(rlx_storage, memory) == offsetof(rlx_tuple_object, memory),
               "one place for marked objects");
_Static_assert(offsetof(rlx_module_function, memory) == offsetof(rlx_tuple_object, memory),
               "one place for marked objects");
_Static_assert(offsetof(rlx_extern_function, memory) == offsetof(rlx_tuple_object, memory),
               "one place for marked objects");
_Static_assert(sizeof(rlx_object) == 24 && offsetof(rlx_tensor_object, view) == 24,
               "layout shared with tvm-ffi");
_Static_assert(sizeof(relax_value) == 16 && sizeof(DLTensor) == 48, "layout shared with tvm-ffi");

/* ---- storage -------------------------------------------------------------------------------- */

static unsigned log2_of(size_t n)
{
    unsigned r = 0;
    while (n >>= 1)
        r++;
    return r;
}

static void free_storage_data(rlx_storage *s)
{
    if (s->destroy)
        s->destroy(s->user);
    else if (s->capacity)
        rlx_mem_free_aligned(&s->memory->memory, s->data, s->capacity, RLX_BLOB_ALIGN);
}

/* Bytes that a storage of this size counts for: lines of the cache, at least one. */
static size_t whole_lines(size_t size)
{
    return (size + !size + RLX_BLOB_ALIGN - 1) & ~((size_t)RLX_BLOB_ALIGN - 1);
}

/* Into the pool, if there is one that is not full; says whether it went there. */
static bool keep_storage(rlx_pool *p, rlx_storage *s)
{
    if (!p || s->memory != p->memory || !s->capacity)
        return false;
    size_t live = whole_lines(s->size);
    p->live_bytes -= live < p->live_bytes ? live : p->live_bytes;
    p->live_buffers -= p->live_buffers > 0;
    size_t most = p->peak_bytes + p->peak_bytes / 2; /* what grew has room */
    most = most < RLX_POOL_KEEP ? RLX_POOL_KEEP : most;
    if (p->kept_bytes > most || s->capacity > most - p->kept_bytes)
        return false;
    rlx_storage **list = &p->storages[log2_of(s->capacity)];
    s->size = p->calls;
    s->next = *list;
    *list = s;
    p->kept_bytes += s->capacity;
    return true;
}

#define POOL_LOOKS 8 /* entries of a list that are tried */

/* A dead storage out of its list. */
static rlx_storage *take_kept(rlx_pool *p, rlx_storage **at)
{
    rlx_storage *s = *at;
    *at = s->next;
    p->kept_bytes -= s->capacity;
    atomic_init(&s->base.refs, RLX_REFS_UNIQUE);
    return s;
}

static void drop_kept(rlx_pool *p, rlx_storage **at)
{
    rlx_storage *s = take_kept(p, at);
    free_storage_data(s);
    free_block(p, &s->base, s->memory);
}

/* The smallest dead storage that is looked at and is large enough, and not wastefully so. */
static rlx_storage *reuse_storage(rlx_pool *p, size_t size)
{
    size_t most = size + size / 4 + 512;
    rlx_storage **best = NULL;
    for (unsigned list = log2_of(size); list < 64 && !best && most >> list; list++) {
        rlx_storage **at = &p->storages[list];
        for (int i = 0; *at && i < POOL_LOOKS; i++, at = &(*at)->next)
            if ((*at)->capacity >= size && (*at)->capacity <= most &&
                (!best || (*at)->capacity < (*best)->capacity))
                best = at;
    }
    return best ? take_kept(p, best) : NULL;
}

/* The largest dead storage that the site had, or NULL. */
RLX_SMALL static rlx_storage **kept_for(rlx_pool *p, const void *site)
{
    for (size_t list = RLX_COUNT(p->storages); list-- > 0;) {
        rlx_storage **at = &p->storages[list];
        for (int i = 0; *at && i < POOL_LOOKS; i++, at = &(*at)->next)
            if ((*at)->user == site)
                return at;
    }
    return NULL;
}

/* Lets go of dead storages somewhat smaller than what is asked for, which none fits, and says whether there were some: sizes grow
 * from call to call. What died in this call will be asked for in the next one. */
RLX_SMALL static bool drop_outgrown(rlx_pool *p, size_t size)
{
    size_t before = p->kept_bytes;
    for (unsigned k = 0, list = log2_of(size); k < 2 && k <= list; k++) {
        rlx_storage **at = &p->storages[list - k];
        for (int i = 0; *at && i < POOL_LOOKS; i++) {
            rlx_storage *s = *at;
            if (s->capacity >= size || s->size == p->calls) {
                at = &s->next;
                continue;
            }
            drop_kept(p, at);
        }
    }
    return p->kept_bytes < before;
}

static void count_live(rlx_pool *p, size_t bytes)
{
    p->live_bytes += bytes;
    p->live_buffers++;
    if (p->live_bytes > p->peak_bytes)
        p->peak_bytes = p->live_bytes;
    if (p->live_buffers > p->peak_buffers)
        p->peak_buffers = p->live_buffers;
}

/* Storages that came back go into the pool; NULL: it is gone. */
RLX_SMALL static void take_back(rlx_pool *p, rlx_shared_memory *m)
{
    rlx_storage *s = atomic_exchange(&m->returned, NULL);
    while (s) {
        rlx_storage *next = s->next;
        atomic_fetch_sub(&m->returned_bytes, s->capacity);
        if (!keep_storage(p, s)) {
            free_storage_data(s);
            free_block(p, &s->base, m);
        }
        s = next;
    }
}

/* A storage that dies outside, on any thread. */
RLX_SMALL static bool give_back(rlx_storage *s)
{
    rlx_shared_memory *m = s->memory;
    const size_t bytes = s->capacity;
    if (bytes < RLX_POOL_RETURN || bytes > RLX_POOL_KEEP || !atomic_load(&m->takes_back))
        return false;
    if (atomic_fetch_add(&m->returned_bytes, bytes) > RLX_POOL_KEEP - bytes) {
        atomic_fetch_sub(&m->returned_bytes, bytes);
        return false;
    }
    rlx_shared_memory_retain(m); /* once s is there somebody else may free it */
    void *first = atomic_load(&m->returned);
    do
        s->next = first;
    while (!atomic_compare_exchange_weak(&m->returned, &first, s));
    if (!atomic_load(&m->takes_back)) /* the pool went meanwhile */
        take_back(NULL, m);
    rlx_shared_memory_release(m);
    return true;
}

void rlx_pool_takes_back(rlx_pool *p)
{
    p->takes_back = true;
    atomic_store(&p->memory->takes_back, true);
}

void rlx_pool_look(rlx_pool *p)
{
    if (RLX_UNLIKELY(atomic_load_explicit(&p->memory->returned, memory_order_relaxed) != NULL))
        take_back(p, p->memory);
}

RLX_SMALL static void drop_kept_storages(rlx_pool *p)
{
    for (size_t i = 0; i < RLX_COUNT(p->storages); i++)
        while (p->storages[i]) {
            rlx_storage *s = p->storages[i];
            p->storages[i] = s->next;
            free_storage_data(s);
            free_block(NULL, &s->base, s->memory);
        }
    p->kept_bytes = 0;
}

static rlx_storage *new_storage(rlx_pool *p, size_t size)
{
    rlx_storage *s = rlx_object_alloc(p, sizeof *s, RELAX_VALUE_OBJECT);
    if (!s)
        return NULL;
    s->mark = RLX_MARK_STORAGE;
    s->memory = p->memory;
    s->capacity = size;
    s->destroy = NULL;
    s->user = NULL;
    s->next = NULL;
    s->data = rlx_mem_alloc_aligned(&p->memory->memory, size, RLX_BLOB_ALIGN);
    if (!s->data && p->kept_bytes) { /* what the pool keeps counts against the limit too */
        drop_kept_storages(p);
        s->data = rlx_mem_alloc_aligned(&p->memory->memory, size, RLX_BLOB_ALIGN);
    }
    if (s->data)
        return s;
    free_block(p, &s->base, s->memory);
    return NULL;
}

/* The storage that its site had before, if that is large enough; *outgrown: it was too small, and is gone. */
static rlx_storage *own_storage(rlx_pool *p, const void *site, size_t size, bool *outgrown)
{
    rlx_storage **at = kept_for(p, site);
    if (!at)
        return NULL;
    if ((*at)->capacity >= size)
        return take_kept(p, at);
    drop_kept(p, at);
    *outgrown = true;
    return NULL;
}

rlx_storage *rlx_storage_create(rlx_pool *p, size_t size, const void *site)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    bool outgrown = false;
    size_t capacity = whole_lines(size);
    rlx_storage *s = reuse_storage(p, capacity);
    if (!s && site)
        s = own_storage(p, site, capacity, &outgrown);
    else if (!s)
        outgrown = drop_outgrown(p, capacity);
    if (!s && outgrown) /* room for some calls more, as reuse_storage allows */
        s = new_storage(p, capacity + capacity / (4 * RLX_BLOB_ALIGN) * RLX_BLOB_ALIGN);
    if (!s)
        s = new_storage(p, capacity);
    if (!s)
        return NULL;
    s->size = size;
    s->user = (void *)(uintptr_t)site;
    count_live(p, whole_lines(size));
    return s;
}

RLX_SMALL rlx_storage *rlx_storage_wrap(rlx_pool *p, void *data, size_t size, void (*destroy)(void *),
                              void *user)
{
    rlx_storage *s = rlx_object_alloc(p, sizeof *s, RELAX_VALUE_OBJECT);
    if (!s) {
        if (destroy)
            destroy(user);
        return NULL;
    }
    s->mark = RLX_MARK_STORAGE;
    s->memory = p->memory;
    s->data = data;
    s->size = size;
    s->capacity = 0;
    s->destroy = destroy;
    s->user = user;
    s->next = NULL;
    return s;
}

/* ---- the end of objects --------------------------------------------------------------------- */

/* Drops a strong reference. True if it was the last one of an object of ours that nobody holds
 * weakly either: the caller then takes it apart. Everything else is dealt with here. */
static bool drop_reference(rlx_object *o)
{
    if (rlx_object_is_unique(
            o)) /* saves the atomic operation where nobody else can be in the way */
        atomic_store_explicit(&o->refs, RLX_REFS_UNIQUE - 1, memory_order_relaxed);
    else {
        uint64_t old = atomic_fetch_sub_explicit(&o->refs, 1, memory_order_release);
        if ((uint32_t)old != 1)
            return false;
        atomic_thread_fence(memory_order_acquire);
        /* weak references are left: the memory stays until they are gone */
        if (old != RLX_REFS_UNIQUE) {
            o->deleter(o, 1);
            if (atomic_fetch_sub_explicit(&o->refs, (uint64_t)1 << 32, memory_order_acq_rel) ==
                (uint64_t)1 << 32)
                o->deleter(o, 2);
            return false;
        }
    }
    if (o->deleter == rlx_object_delete)
        return true;
    o->deleter(o, 3);
    return false;
}

/* Objects whose content is to be destroyed, linked through their dead reference count. */
typedef struct graves { rlx_pool *pool; rlx_object *first; } graves;

static void bury(graves *g, rlx_object *o)
{
    *(rlx_object **)(void *)o = g->first;
    g->first = o;
}

static void drop_into(graves *g, rlx_object *o)
{
    if (drop_reference(o))
        bury(g, o);
}

static void drop_fields(graves *g, rlx_tuple_object *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (rlx_value_is_boxed(&t->fields[i]))
            drop_into(g, t->fields[i].v.p);
}

RLX_SMALL static void destroy_error(graves *g, struct relax_error *e)
{
    if (e->cause)
        drop_into(g, e->cause);
    if (e->destroy)
        e->destroy(e->token);
}

static void destroy_packed(const rlx_packed *f)
{
    if (f->destroy)
        f->destroy(f->user);
}

/* Lets go of the content. True if the memory of the object itself is to be freed too. */
static bool destroy_content(graves *g, rlx_object *o)
{
    switch (o->type_index) {
    case RELAX_VALUE_TENSOR: drop_into(g, &((rlx_tensor_object *)o)->storage->base); return true;
    case RELAX_VALUE_FUNCTION: destroy_packed((rlx_packed *)o); return true;
    case RELAX_VALUE_ERROR: destroy_error(g, (struct relax_error *)o); return true;
    case RELAX_VALUE_OBJECT: break;
    default: return true;
    }
    rlx_tuple_object *t = (rlx_tuple_object *)o;
    if (t->mark == RLX_MARK_TUPLE || t->mark == RLX_MARK_CLOSURE || t->mark == RLX_MARK_CELL)
        drop_fields(g, t);
    if (t->mark == RLX_MARK_FUNCTION)
        rlx_blob_release(((rlx_module_function *)o)->image);
    if (t->mark == RLX_MARK_EXTERN)
        rlx_blob_release(((rlx_extern_function *)o)->image);
    if (t->mark != RLX_MARK_STORAGE)
        return true;
    if (keep_storage(g->pool, (rlx_storage *)o) || (!g->pool && give_back((rlx_storage *)o)))
        return false;
    free_storage_data((rlx_storage *)o);
    return true;
}

static void empty(graves *g)
{
    while (g->first) {
        rlx_object *o = g->first;
        g->first = *(rlx_object **)(void *)o;
        if (destroy_content(g, o))
            free_block(g->pool, o, memory_of(o));
    }
}

void rlx_object_delete(void *self, int flags)
{
    rlx_object *o = self;
    graves g = { NULL, NULL };
    if ((flags & 1) && !destroy_content(&g, o))
        return;
    empty(&g);
    if (flags & 2)
        free_block(NULL, o, memory_of(o));
}

void rlx_object_release(void *object)
{
    graves g = { NULL, NULL };
    if (!object)
        return;
    drop_into(&g, object);
    empty(&g);
}

void rlx_pool_drop(rlx_pool *p, relax_value *v)
{
    graves g = { p, NULL };
    if (rlx_value_is_boxed(v)) {
        drop_into(&g, v->v.p);
        empty(&g);
    }
    *v = rlx_value_none();
}

bool rlx_pool_init(rlx_pool *p, rlx_shared_memory *memory)
{
    memset(p, 0, sizeof *p);
    p->memory = rlx_shared_memory_retain(memory);
    return true;
}

RLX_SMALL void rlx_pool_free(rlx_pool *p)
{
    if (!p->memory)
        return;
    if (p->takes_back) {
        atomic_store(&p->memory->takes_back, false);
        take_back(p, p->memory);
    }
    drop_kept_storages(p);
    for (size_t i = 0; i < RLX_COUNT(p->blocks); i++)
        while (p->blocks[i]) {
            rlx_object *o = p->blocks[i];
            p->blocks[i] = *(void **)o;
            rlx_mem_free(&p->memory->memory, o, i * RLX_POOL_BLOCK_STEP);
            rlx_shared_memory_release(p->memory);
        }
    rlx_shared_memory *memory = p->memory;
    memset(p, 0, sizeof *p);
    rlx_shared_memory_release(memory);
}
