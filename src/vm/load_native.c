/* load_native.c: native code in a file. Its form is always checked; it is loaded only where the
 * host allows it and only on the machine that it was made for. Kernels without it run their
 * bytecode. */
/* built for size */
#include "vm/vm_int.h"

typedef struct layout {
    rlx_file_native head;
    const unsigned char *data;
    uint64_t size;
    const rlx_file_native_object *objects;
    const uint32_t *kernels;
} layout;

static bool malformed(rlx_fault *why, const char *what)
{
    return rlx_fail(why, RLX_LD05, "section native: %s", what);
}

static bool is_text(const char *p, size_t size)
{
    return memchr(p, 0, size) != NULL;
}

static bool check_objects(const layout *n, uint64_t end, rlx_fault *why)
{
    for (uint32_t i = 0; i < n->head.num_objects; i++) {
        const rlx_file_native_object *o = &n->objects[i];
        if (o->offset % RLX_FILE_ALIGN || o->offset < end || o->offset > n->size ||
            o->length > n->size - o->offset || o->reserved)
            return malformed(why, "an object lies outside of it");
        end = o->offset + o->length;
    }
    for (uint32_t i = 0; i < n->head.num_kernels; i++) {
        uint32_t k = n->kernels[i];
        if (k != RLX_NO_INDEX &&
            (k >> 16 >= n->head.num_objects || (k & 0xffff) >= n->objects[k >> 16].count))
            return malformed(why, "a kernel is in no object");
    }
    return true;
}

static bool read_layout(const relax_executable *e, layout *n, rlx_fault *why)
{
    if (n->size < sizeof n->head)
        return malformed(why, "it breaks off");
    memcpy(&n->head, n->data, sizeof n->head);
    if (n->head.reserved || !is_text(n->head.target, sizeof n->head.target) ||
        !is_text(n->head.cpu, sizeof n->head.cpu))
        return malformed(why, "its head is malformed");
    uint64_t objects = (uint64_t)n->head.num_objects * sizeof *n->objects,
             kernels = (uint64_t)n->head.num_kernels * sizeof *n->kernels;
    if (objects + kernels > n->size - sizeof n->head || n->head.num_objects > 0xffff ||
        n->head.num_kernels != e->num_kernels)
        return malformed(why, "its tables do not fit");
    n->objects = (const rlx_file_native_object *)(const void *)(n->data + sizeof n->head);
    n->kernels = (const uint32_t *)(const void *)(n->data + sizeof n->head + objects);
    return check_objects(n, sizeof n->head + objects + kernels, why);
}

/* NULL, or what it was made for instead. */
static const char *made_for_another(const rlx_file_native *h)
{
    char cpu[RLX_CPU_TEXT];
    rlx_cpu_features(cpu);
    return h->abi != RLX_NATIVE_ABI                  ? "version of this library"
           : strcmp(h->target, rlx_cpu_target()) != 0 ? "kind of machine"
           : h->cpu[0] && strcmp(h->cpu, cpu) != 0    ? "CPU"
                                                      : NULL;
}

/* An object that cannot be loaded leaves its kernels to the interpreter; one that was changed
 * is refused. */
static bool open_objects(relax_executable *e, const layout *n, rlx_fault *why)
{
    for (uint32_t i = 0; i < n->head.num_objects; i++) {
        const rlx_file_native_object *o = &n->objects[i];
        bool changed;
        if (!rlx_native_open(n->data + o->offset, o->length, o, &e->natives[i], &changed, why) &&
            changed)
            return false;
        if (!e->natives[i].handle)
            snprintf(e->native_why, sizeof e->native_why, "%.150s", why->text);
    }
    why->code = RLX_CODE_NONE;
    return true;
}

bool rlx_load_native(relax_executable *e, const unsigned char *data, uint64_t size, bool allow,
                     rlx_fault *why)
{
    layout n = { .data = data, .size = size };
    if (!size)
        return true;
    if (!read_layout(e, &n, why))
        return false;
    if (!allow || !n.head.num_objects)
        return true;
    const char *other = made_for_another(&n.head);
    if (other) {
        snprintf(e->native_why, sizeof e->native_why,
                 "native code of kernels: it was made for another %s", other);
        return true;
    }
    e->natives = rlx_mem_alloc_zero(&e->memory->memory, n.head.num_objects * sizeof *e->natives);
    if (!e->natives)
        return rlx_fail(why, RLX_RT10, "out of memory");
    e->num_natives = n.head.num_objects;
    if (!open_objects(e, &n, why))
        return false;
    for (uint32_t i = 0; i < n.head.num_kernels; i++) {
        uint32_t k = n.kernels[i];
        if (k == RLX_NO_INDEX || !e->natives[k >> 16].handle)
            continue;
        rlx_kernel_set_native(e->kernels[i], e->natives[k >> 16].table->kernels[k & 0xffff]);
        e->num_native_kernels++;
    }
    return true;
}

void rlx_free_native(relax_executable *e)
{
    for (uint32_t i = 0; i < e->num_natives; i++)
        rlx_native_close(&e->natives[i]);
    rlx_mem_free(&e->memory->memory, e->natives, e->num_natives * sizeof *e->natives);
}
