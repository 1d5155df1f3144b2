/* late_compile.c: what is compiled for late calls (late.c): the program with its holes filled in, who
 * compiles it, and what the executable keeps for all of its VMs: the oldest goes. */
/* built for size */
#include <pthread.h>

#include "vm/vm_int.h"

#define MOST_ENTRIES 1024
#define BUCKETS 64

/* ---- what an executable keeps --------------------------------------------------------------- */

typedef struct rlx_late_entry {
    struct rlx_late_entry *next;
    uint64_t hash, used;      /* used: by the clock of the cache */
    rlx_late_instance is;     /* no executable: it has to be asked with sizes */
    size_t key_len;
    uint64_t key[];
} rlx_late_entry;

typedef struct rlx_late_cache {
    pthread_mutex_t lock;
    rlx_late_entry *buckets[BUCKETS];
    uint64_t clock, compiled, count;
} rlx_late_cache;

static size_t entry_bytes(size_t key_len)
{
    return sizeof(rlx_late_entry) + key_len * sizeof(uint64_t);
}

bool rlx_late_cache_make(relax_executable *e)
{
    rlx_late_cache *c = rlx_mem_alloc_zero(&e->memory->memory, sizeof *c);
    if (c && pthread_mutex_init(&c->lock, NULL) != 0) {
        rlx_mem_free(&e->memory->memory, c, sizeof *c);
        c = NULL;
    }
    e->late = c;
    return c != NULL;
}

static void free_entry(relax_executable *e, rlx_late_entry *entry)
{
    if (entry->is.exe)
        rlx_executable_release(entry->is.exe);
    rlx_mem_free(&e->memory->memory, entry, entry_bytes(entry->key_len));
}

void rlx_late_cache_free(relax_executable *e)
{
    rlx_late_cache *c = e->late;
    if (!c)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (rlx_late_entry *x = c->buckets[i], *next; x; x = next) {
            next = x->next;
            free_entry(e, x);
        }
    }
    pthread_mutex_destroy(&c->lock);
    rlx_mem_free(&e->memory->memory, c, sizeof *c);
    e->late = NULL;
}

static rlx_late_entry *find_entry(rlx_late_cache *c, const rlx_late *l, uint64_t hash)
{
    for (rlx_late_entry *x = c->buckets[hash % BUCKETS]; x; x = x->next)
        if (x->hash == hash && x->key_len == l->key_len && rlx_late_same_key(x->key, l->key, l->key_len))
            return x;
    return NULL;
}

/* Takes the one that was not used for longest out of the cache; NULL: it is not full. */
static rlx_late_entry *take_oldest(rlx_late_cache *c)
{
    rlx_late_entry **oldest = NULL;
    if (c->count < MOST_ENTRIES)
        return NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (rlx_late_entry **at = &c->buckets[i]; *at; at = &(*at)->next)
            if (!oldest || (*at)->used < (*oldest)->used)
                oldest = at;
    rlx_late_entry *out = *oldest;
    *oldest = out->next;
    c->count--;
    return out;
}

/* What is kept for the signature at hand, if it is good enough. */
static bool look_up(relax_vm *vm, bool brief, uint64_t hash, rlx_late_instance *out)
{
    rlx_late_cache *c = vm->exe->late;
    pthread_mutex_lock(&c->lock);
    rlx_late_entry *x = find_entry(c, &vm->late, hash);
    if (x)
        x->used = ++c->clock;
    bool good = x && (brief || !x->is.brief);
    *out = good ? x->is : (rlx_late_instance){ NULL, false };
    if (out->exe)
        rlx_executable_retain(out->exe);
    pthread_mutex_unlock(&c->lock);
    return good;
}

/* Keeps it for the signature; another VM may have been faster. */
static bool keep(relax_vm *vm, uint64_t hash, const rlx_late_instance *is, bool compiled)
{
    relax_executable *e = vm->exe;
    rlx_late_cache *c = e->late;
    const rlx_late *l = &vm->late;
    rlx_late_entry *gone = NULL, *found,
                   *x = rlx_mem_alloc(&e->memory->memory, entry_bytes(l->key_len));
    if (!x)
        return false;
    *x = (rlx_late_entry){ .hash = hash, .is = *is, .key_len = l->key_len };
    memcpy(x->key, l->key, l->key_len * sizeof *l->key);
    if (is->exe)
        rlx_executable_retain(is->exe);
    pthread_mutex_lock(&c->lock);
    c->compiled += compiled && is->exe;
    found = find_entry(c, l, hash);
    if (found && found->is.brief && !is->brief) {
        x->is = found->is; /* goes with x */
        found->is = *is;
    } else if (!found) {
        gone = take_oldest(c);
        x->used = ++c->clock;
        x->next = c->buckets[hash % BUCKETS];
        c->buckets[hash % BUCKETS] = x;
        c->count++;
        x = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    if (gone)
        free_entry(e, gone);
    if (x)
        free_entry(e, x);
    return true;
}

void rlx_late_read_counters(const relax_vm *vm, relax_vm_counters *out)
{
    rlx_late_cache *c = vm->program->late;
    out->late_calls = vm->late.calls;
    out->late_compiled = out->late_kept = 0;
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    out->late_compiled = c->compiled;
    out->late_kept = c->count;
    pthread_mutex_unlock(&c->lock);
}

/* ---- the program, with its holes filled in -------------------------------------------------- */

typedef struct filling {
    rlx_buf text;
    bool detailed;
    unsigned sizes;          /* names that are taken; those of `first` have its own numbers */
    const DLTensor *first;   /* the first operand of several tensors */
    enum { PLAIN, FIRST, FURTHER } place; /* of the operand at hand; PLAIN: its sizes are any */
} filling;

static void put_size(filling *f, int64_t size)
{
    if (f->detailed)
        rlx_buf_i64(&f->text, size);
    else
        rlx_buf_format(&f->text, "\"d%u\"", f->sizes++);
}

static void put_list(filling *f, const int64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(&f->text, i ? ", " : "");
        put_size(f, sizes[i]);
    }
}

static void put_sizes_like_first(filling *f, const DLTensor *t)
{
    for (int32_t i = 0; i < t->ndim; i++) {
        enum rlx_late_size_is is = rlx_late_size(f->first, t, f->place == FIRST, i);
        rlx_buf_z(&f->text, i ? ", " : "");
        if (is == RLX_LATE_SIZE_FIRST)
            rlx_buf_format(&f->text, "\"d%d\"", (int)(i + f->first->ndim - t->ndim));
        else if (is == RLX_LATE_SIZE_ONE)
            rlx_buf_lit(&f->text, "1");
        else
            rlx_buf_format(&f->text, "\"d%u\"", f->place == FIRST ? (unsigned)i : f->sizes++);
    }
}

static void put_tensor(filling *f, const DLTensor *t)
{
    char dtype[RLX_DTYPE_TEXT];
    rlx_dtype_name(rlx_dl_dtype(t), dtype);
    rlx_buf_lit(&f->text, "R.Tensor((");
    if (f->place != PLAIN && !f->detailed)
        put_sizes_like_first(f, t);
    else
        put_list(f, t->shape, (size_t)t->ndim);
    rlx_buf_format(&f->text, "%s), \"%s\")", t->ndim == 1 ? "," : "", dtype);
}

static void put_annotation(filling *f, const relax_value *v, int depth)
{
    const DLTensor *t = rlx_value_view(v);
    const rlx_shape_object *s = rlx_value_shape(v);
    const rlx_tuple_object *tuple = depth ? rlx_value_tuple(v) : NULL;
    if (t) {
        put_tensor(f, t);
    } else if (s) {
        rlx_buf_lit(&f->text, "R.Shape([");
        put_list(f, s->dims, s->ndim);
        rlx_buf_lit(&f->text, "])");
    } else if (tuple) {
        rlx_buf_lit(&f->text, "R.Tuple(");
        for (size_t i = 0; i < tuple->count; i++) {
            rlx_buf_z(&f->text, i ? ", " : "");
            put_annotation(f, &tuple->fields[i], depth - 1);
        }
        rlx_buf_lit(&f->text, ")");
    } else {
        rlx_buf_z(&f->text, v->type_index == RELAX_VALUE_INT    ? "R.Prim(\"int64\")"
                            : v->type_index == RELAX_VALUE_BOOL ? "R.Prim(\"bool\")"
                                                                : "R.Object");
    }
}

/* A late call under way. */
typedef struct meeting {
    relax_vm *vm;
    rlx_slice shown, program; /* for messages; the text with holes */
    uint32_t holes;           /* operands of the signature */
    const relax_value *args;
    rlx_fault *why;
    rlx_blob *file;           /* delivered */
    bool no_memory;
    char said[160];           /* explained */
} meeting;

rlx_slice rlx_late_shown(const relax_vm *vm, const uint32_t *pc)
{
    return pc[3] == RLX_NO_INDEX ? RLX_SLICE("an operator") : rlx_name(&vm->exe->names, pc[3]);
}

static bool fill_in(const meeting *m, filling *f)
{
    const char *at = m->program.data, *end = at + m->program.len;
    f->first = m->holes > 1 ? rlx_value_view(m->args) : NULL;
    f->sizes = f->first ? (unsigned)f->first->ndim : 0;
    for (uint32_t i = 0; i < m->holes; i++) {
        const char *hole = memchr(at, '$', (size_t)(end - at));
        if (!hole)
            break;
        rlx_buf_put(&f->text, at, (size_t)(hole - at));
        f->place = !f->first || !rlx_value_view(&m->args[i]) ? PLAIN : i ? FURTHER : FIRST;
        put_annotation(f, &m->args[i], RLX_DESC_MAX_NESTING);
        at = hole + 1;
    }
    rlx_buf_put(&f->text, at, (size_t)(end - at));
    return !f->text.failed && f->text.data;
}

/* ---- compiling ------------------------------------------------------------------------------ */

static void take_file(void *reply, const void *file, size_t size)
{
    meeting *m = reply;
    if (m->file || !file)
        return;
    m->file = rlx_blob_create(&m->vm->exe->memory->memory, file, size);
    m->no_memory |= !m->file;
}

static void take_reason(void *reply, const char *message, size_t len)
{
    meeting *m = reply;
    if (message)
        snprintf(m->said, sizeof m->said, "%.*s", (int)(len < sizeof m->said ? len : sizeof m->said),
                 message);
}

static int32_t is_cancelled(void *reply)
{
    const meeting *m = reply;
    return rlx_vm_poll_kernel(m->vm);
}

bool rlx_late_no_memory(rlx_fault *why)
{
    return rlx_fail(why, RLX_RT10, "out of memory for an operator that is bound late");
}

/* The failure: who, why, and what was met, as much of it as there is room for. */
static bool refuse(const meeting *m, filling *f)
{
    f->text.len = 0;
    f->detailed = true;
    for (uint32_t i = 0; i < m->holes; i++) {
        rlx_buf_z(&f->text, i ? ", " : "");
        put_annotation(f, &m->args[i], RLX_DESC_MAX_NESTING);
    }
    bool shown = !f->text.failed && f->text.len;
    return rlx_fail(m->why, RLX_RT21, "R.%.*s: %s%s%.*s", (int)(m->shown.len & 0xff),
                    m->shown.data, m->said[0] ? m->said : "cannot be compiled",
                    shown ? "; it met " : "", shown ? (int)(f->text.len & 0xffff) : 0,
                    shown ? f->text.data : "");
}

/* Loads what was delivered, or stood in the file. */
static bool load_instance(meeting *m, bool allow_native, relax_executable **out)
{
    relax_vm *vm = m->vm;
    rlx_fault why;
    rlx_fault_begin(&why);
    if (!rlx_executable_load(vm->exe->memory, m->file, (rlx_load_how){ .allow_native = allow_native }, out,
                             &why))
        return why.code == RLX_RT10
                   ? rlx_late_no_memory(m->why)
                   : rlx_fail(m->why, RLX_RT21, "R.%.*s: what was compiled for it: %s",
                              (int)(m->shown.len & 0xff), m->shown.data, why.text);
    uintptr_t main = (uintptr_t)rlx_map_get(&(*out)->by_name, RLX_SLICE("main"));
    const rlx_file_function *fn =
        main ? &(*out)->functions[(*out)->public_functions[main - 1]] : NULL;
    if (fn && !(fn->flags & RLX_FUNCTION_KERNEL) && !(*out)->has_late)
        return true;
    rlx_executable_release(*out);
    *out = NULL;
    return rlx_fail(m->why, RLX_RT21, "R.%.*s: what was compiled for it has no function main",
                    (int)(m->shown.len & 0xff), m->shown.data);
}

/* The host's compiler may call this VM: signatures that it meets then are written elsewhere. */
static relax_status ask_compiler(relax_vm *vm, const relax_late_request *request)
{
    rlx_late *l = &vm->late;
    uint64_t *key = l->key, bits = l->bits;
    size_t len = l->key_len, cap = l->key_cap;
    l->key = NULL;
    l->key_len = l->key_cap = 0;
    relax_status status = l->compile(l->user, request);
    rlx_mem_free(&vm->memory->memory, l->key, l->key_cap * sizeof *l->key);
    l->key = key;
    l->key_len = len;
    l->key_cap = cap;
    l->bits = bits;
    return status;
}

/* True: *out, or NULL if it cannot be compiled with these sizes left open. */
static bool compile(meeting *m, bool detailed, bool brief, relax_executable **out)
{
    relax_vm *vm = m->vm;
    filling f = { .detailed = detailed };
    *out = NULL;
    if (!vm->late.compile)
        return rlx_fail(m->why, RLX_RT22,
                        "R.%.*s is not compiled for what it met, and %s", (int)(m->shown.len & 0xff),
                        m->shown.data,
                        rlx_late_text.compile
                            ? "the VM may not compile"
                            : "this library has no compiler, or is linked without the text form");
    rlx_buf_init(&f.text, &vm->memory->memory);
    bool ok = fill_in(m, &f);
    relax_late_request request = { .struct_size = sizeof request,
                                   .program = f.text.data,
                                   .program_len = f.text.len,
                                   .allocator = &vm->exe->memory->memory.host,
                                   .brief = brief,
                                   .reply = m,
                                   .deliver = take_file,
                                   .explain = take_reason,
                                   .cancelled = is_cancelled };
    relax_status status = ok ? ask_compiler(vm, &request) : RELAX_ERROR_OUT_OF_MEMORY;
    if (m->no_memory || status == RELAX_ERROR_OUT_OF_MEMORY)
        ok = rlx_late_no_memory(m->why);
    else if (!rlx_vm_poll_slow(vm, m->why))
        ok = false;
    else if (status == RELAX_ERROR_CANCELLED)
        ok = rlx_fail(m->why, RLX_RT12, "cancelled");
    else if (status == RELAX_OK && m->file)
        ok = true;
    else if (detailed)
        ok = refuse(m, &f);
    rlx_buf_free(&f.text);
    rlx_blob *file = m->file;
    if (ok && file && status == RELAX_OK)
        ok = load_instance(m, true, out); /* the host's own compiler made it */
    else
        rlx_blob_release(file);
    m->file = NULL;
    return ok;
}

/* ---- compiled ahead ------------------------------------------------------------------------- */

/* Is it the signature at hand? any: the same for any sizes. */
static bool is_key(const rlx_late *l, const unsigned char *words, uint64_t count, bool any)
{
    uint64_t word;
    if (count != l->key_len)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool bits = any && i < 64 && l->bits >> i & 1;
        memcpy(&word, words + 8 * i, sizeof word);
        if (word != (bits ? 0 : l->key[i]))
            return false;
    }
    return true;
}

/* The file in the file for the signature at hand, of *size bytes; NULL: there is none. */
static const unsigned char *find_ahead(const relax_vm *vm, bool any, uint64_t *size)
{
    const unsigned char *at = vm->exe->ahead, *end = at ? at + vm->exe->ahead_bytes : NULL;
    for (uint64_t words; at < end; at += *size + (-*size & 7)) {
        memcpy(&words, at, 8);
        const unsigned char *key = at + 8;
        at = key + 8 * words;
        memcpy(size, at, 8);
        at += 8;
        if (is_key(&vm->late, key, words, any))
            return at;
    }
    return NULL;
}

/* True with nothing in *out: it was not compiled ahead. */
static bool take_ahead(meeting *m, relax_executable **out)
{
    relax_vm *vm = m->vm;
    uint64_t size = 0;
    const unsigned char *file = find_ahead(vm, false, &size);
    if (!file)
        file = find_ahead(vm, true, &size);
    if (!file)
        return true;
    m->file = rlx_blob_create(&vm->exe->memory->memory, file, (size_t)size);
    /* from the same source as the file around it, and trusted no more */
    return m->file ? load_instance(m, vm->exe->allow_native, out) : rlx_late_no_memory(m->why);
}

bool rlx_late_find(relax_vm *vm, const uint32_t *pc, bool detailed, bool brief, uint64_t hash,
                   rlx_late_instance *out, rlx_fault *why)
{
    const rlx_string_object *text = vm->exe->constants[pc[2]].v.p;
    meeting m = { .vm = vm, .shown = rlx_late_shown(vm, pc), .program = { text->data, text->size },
                  .holes = RLX_LATE_HOLES(pc), .args = vm->args, .why = why };
    if (look_up(vm, brief, hash, out))
        return true;
    if (!take_ahead(&m, &out->exe))
        return false;
    bool ahead = out->exe != NULL;
    if (!ahead && !compile(&m, detailed, brief, &out->exe))
        return false;
    out->brief = brief && out->exe && !ahead;
    if (keep(vm, hash, out, !ahead))
        return true;
    if (out->exe)
        rlx_executable_release(out->exe);
    return rlx_late_no_memory(why);
}
