/* native_section: the kernels of a file as C, compiled, and as a section of the file. */
#include "codegen/native.h"

#include "codegen/cgen.h"
#include "codegen/codegen.h"
#include "desc/desc.h"

#define KERNELS_PER_UNIT 32
#define MOST_UNITS 4 /* so many compilers at a time */

/* The kernels as the file has them. */
static void kernel_at(const rlx_file_writer *w, const rlx_kernel_hints *hints, size_t i,
                      rlx_c_kernel *out)
{
    const rlx_file_kernel *k = &w->kernels.data[i];
    rlx_names names = rlx_file_writer_names((rlx_file_writer *)(uintptr_t)w);
    *out = (rlx_c_kernel){ .name = rlx_name(&names, k->name),
                           .bytes = { w->kernel_bytes.data + k->offset, k->length },
                           .hints = hints[i].data,
                           .num_hints = hints[i].len };
}

static rlx_c_kernel *list_kernels(rlx_context *ctx, const rlx_file_writer *w,
                                  const rlx_kernel_hints *hints)
{
    rlx_c_kernel *all = rlx_new_zero(ctx, (w->kernels.len + 1) * sizeof *all);
    for (size_t i = 0; all && i < w->kernels.len; i++)
        kernel_at(w, hints, i, &all[i]);
    return all;
}

/* What becomes C: kernels that are worth it, in their order, and the number of each kernel among them. */
typedef struct chosen {
    rlx_c_kernel *kernels;
    uint32_t *number;        /* by kernel; RLX_NO_INDEX: it stays bytecode */
    size_t count, of;        /* of all kernels */
    size_t each;             /* in a unit */
} chosen;

static bool choose(rlx_context *ctx, const rlx_file_writer *w, const rlx_kernel_hints *hints, chosen *out)
{
    *out = (chosen){ .kernels = list_kernels(ctx, w, hints), .number = rlx_new_zero(ctx, (w->kernels.len + 1) * sizeof *out->number),
                     .of = w->kernels.len };
    for (size_t i = 0; out->kernels && out->number && i < out->of; i++) {
        const bool is = rlx_c_choose(&out->kernels[i]);
        out->number[i] = is ? (uint32_t)out->count : RLX_NO_INDEX;
        if (is)
            out->kernels[out->count++] = out->kernels[i];
    }
    return out->kernels && out->number;
}

/* How many of them are in unit i. */
static size_t kernels_of(const chosen *c, size_t i)
{
    return c->count - i * c->each < c->each ? c->count - i * c->each : c->each;
}

bool rlx_c_write_all(rlx_context *ctx, const rlx_file_writer *w, const rlx_kernel_hints *hints,
                     bool unchecked, rlx_buf *out)
{
    rlx_c_kernel *all = list_kernels(ctx, w, hints);
    char key[RLX_NATIVE_KEY + 1];
    return all && rlx_c_write(ctx, all, w->kernels.len, unchecked, "relax_kernels.h", out, key);
}

static void pad(rlx_buf *b)
{
    while (b->len % RLX_FILE_ALIGN && !b->failed)
        rlx_buf_char(b, 0);
}

static bool put_section(rlx_file_writer *w, const rlx_codegen_options *o, const chosen *c, const rlx_native_unit *units, size_t count)
{
    rlx_file_native head = { .abi = RLX_NATIVE_ABI,
                             .num_objects = (uint32_t)count,
                             .num_kernels = (uint32_t)w->kernels.len };
    rlx_buf *out = &w->native;
    memcpy(head.target, rlx_cpu_target(), strlen(rlx_cpu_target()));
    if (o->native->cpu && strcmp(o->native->cpu, "native") == 0)
        rlx_cpu_features(head.cpu);
    rlx_buf_put(out, (const char *)&head, sizeof head);
    uint64_t at = (sizeof head + count * sizeof(rlx_file_native_object) +
                   w->kernels.len * sizeof(uint32_t) + RLX_FILE_ALIGN - 1) &
                  ~(uint64_t)(RLX_FILE_ALIGN - 1);
    for (size_t i = 0; i < count; i++) {
        rlx_file_native_object object = { .offset = at,
                                          .length = units[i].object.len,
                                          .count = (uint32_t)kernels_of(c, i) };
        memcpy(object.key, units[i].key, sizeof object.key);
        rlx_sha256(units[i].object.data, units[i].object.len, object.digest);
        rlx_buf_put(out, (const char *)&object, sizeof object);
        at = (at + object.length + RLX_FILE_ALIGN - 1) & ~(uint64_t)(RLX_FILE_ALIGN - 1);
    }
    for (size_t i = 0; i < c->of; i++) {
        const uint32_t n = c->number[i], k = n == RLX_NO_INDEX ? n : (uint32_t)(n / c->each << 16 | n % c->each);
        rlx_buf_put(out, (const char *)&k, sizeof k);
    }
    for (size_t i = 0; i < count; i++) {
        pad(out);
        rlx_buf_put(out, units[i].object.data, units[i].object.len);
    }
    return !out->failed;
}

static bool write_units(rlx_context *ctx, const rlx_codegen_options *o, const chosen *c, rlx_native_unit *units, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = rlx_c_write(ctx, c->kernels + i * c->each, kernels_of(c, i), o->native->unchecked, NULL, &units[i].source, units[i].key);
    return ok;
}

bool rlx_native_add(rlx_context *ctx, rlx_file_writer *w, const rlx_kernel_hints *hints,
                    const rlx_codegen_options *o)
{
    rlx_native_unit units[MOST_UNITS];
    chosen c;
    bool cancelled = false;
    if (!w->kernels.len || !rlx_file_writer_ok(w))
        return true;
    if (!choose(ctx, w, hints, &c) || !c.count)
        return c.kernels && c.number;
    size_t count = (c.count + KERNELS_PER_UNIT - 1) / KERNELS_PER_UNIT;
    count = count < MOST_UNITS ? count : MOST_UNITS;
    c.each = (c.count + count - 1) / count;
    count = (c.count + c.each - 1) / c.each;
    if (c.each > 0xffff)
        return true; /* more than the table can name: interpreted */
    for (size_t i = 0; i < count; i++) {
        rlx_buf_init(&units[i].source, &ctx->memory);
        rlx_buf_init(&units[i].object, &ctx->memory);
    }
    size_t errors = rlx_error_count(ctx);
    bool ok = write_units(ctx, o, &c, units, count);
    if (ok && rlx_native_compile(ctx, o->native, units, count, o->compiler_processes, &cancelled))
        ok = put_section(w, o, &c, units, count);
    else if (cancelled)
        ok = rlx_error(ctx, RLX_CG13, RLX_NO_PLACE, "compiling kernels was cancelled") != NULL;
    else
        ok = ok && rlx_error_count(ctx) == errors;
    for (size_t i = 0; i < count; i++) {
        rlx_buf_free(&units[i].source);
        rlx_buf_free(&units[i].object);
    }
    return ok;
}
