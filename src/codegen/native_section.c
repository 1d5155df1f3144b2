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

static bool put_section(rlx_context *ctx, rlx_file_writer *w, const rlx_codegen_options *o,
                        const rlx_native_unit *units, size_t count, size_t each)
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
        size_t kernels = w->kernels.len - i * each < each ? w->kernels.len - i * each : each;
        rlx_file_native_object object = { .offset = at,
                                          .length = units[i].object.len,
                                          .count = (uint32_t)kernels };
        memcpy(object.key, units[i].key, sizeof object.key);
        rlx_sha256(units[i].object.data, units[i].object.len, object.digest);
        rlx_buf_put(out, (const char *)&object, sizeof object);
        at = (at + object.length + RLX_FILE_ALIGN - 1) & ~(uint64_t)(RLX_FILE_ALIGN - 1);
    }
    for (size_t i = 0; i < w->kernels.len; i++) {
        uint32_t k = (uint32_t)(i / each << 16 | i % each);
        rlx_buf_put(out, (const char *)&k, sizeof k);
    }
    for (size_t i = 0; i < count; i++) {
        pad(out);
        rlx_buf_put(out, units[i].object.data, units[i].object.len);
    }
    return !out->failed;
}

static bool write_units(rlx_context *ctx, const rlx_file_writer *w, const rlx_kernel_hints *hints,
                        const rlx_codegen_options *o, rlx_native_unit *units, size_t count,
                        size_t each)
{
    rlx_c_kernel *all = list_kernels(ctx, w, hints);
    bool ok = all != NULL;
    for (size_t i = 0; ok && i < w->kernels.len; i++)
        rlx_c_choose(&all[i]);
    for (size_t i = 0; i < count && ok; i++) {
        size_t kernels = w->kernels.len - i * each < each ? w->kernels.len - i * each : each;
        ok = rlx_c_write(ctx, all + i * each, kernels, o->native->unchecked, NULL,
                         &units[i].source, units[i].key);
    }
    return ok;
}

bool rlx_native_add(rlx_context *ctx, rlx_file_writer *w, const rlx_kernel_hints *hints,
                    const rlx_codegen_options *o)
{
    rlx_native_unit units[MOST_UNITS];
    size_t n = w->kernels.len, count = (n + KERNELS_PER_UNIT - 1) / KERNELS_PER_UNIT;
    bool cancelled = false;
    if (!n || !rlx_file_writer_ok(w))
        return true;
    count = count < MOST_UNITS ? count : MOST_UNITS;
    size_t each = (n + count - 1) / count;
    count = (n + each - 1) / each;
    if (each > 0xffff)
        return true; /* more than the table can name: interpreted */
    for (size_t i = 0; i < count; i++) {
        rlx_buf_init(&units[i].source, &ctx->memory);
        rlx_buf_init(&units[i].object, &ctx->memory);
    }
    size_t errors = rlx_error_count(ctx);
    bool ok = write_units(ctx, w, hints, o, units, count, each);
    if (ok && rlx_native_compile(ctx, o->native, units, count, o->compiler_processes, &cancelled))
        ok = put_section(ctx, w, o, units, count, each);
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
