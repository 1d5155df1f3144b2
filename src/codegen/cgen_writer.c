/* cgen_writer.c: a translation unit. */
#include <relax/common.h>
#include "codegen/cgen_int.h"
#include "format/native_abi.h"

static bool write_kernel(rlx_context *ctx, const rlx_c_kernel *k, size_t number, bool unchecked,
                         rlx_buf *out)
{
    rlx_cgen_kernel g = {
        .ctx = ctx, .memory = &ctx->memory, .source = k, .unchecked = unchecked, .out = out
    };
    if (rlx_cgen_open(&g))
        rlx_cgen_kernel_write(&g, number);
    rlx_cgen_close(&g);
    return !ctx->diags.out_of_memory;
}

static void put_table(const rlx_c_kernel *kernels, size_t count, rlx_buf *out, char *key)
{
    unsigned char digest[RLX_SHA256_BYTES];
    rlx_sha256(out->data, out->failed ? 0 : out->len, digest);
    for (int i = 0; i < RLX_NATIVE_KEY; i++)
        key[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    key[RLX_NATIVE_KEY] = 0;
    rlx_buf_lit(out, "\nstatic relax_kernel_fn *const kernels[] = {\n");
    for (size_t i = 0; i < count; i++) {
        rlx_buf_format(out, "    k%zu_", i);
        rlx_cgen_put_plain(out, kernels[i].name, 60);
        rlx_buf_lit(out, ",\n");
    }
    rlx_buf_format(out,
                   "};\nextern const relax_kernel_table %s;\nconst relax_kernel_table %s = {\n    "
                   "RELAX_KERNEL_ABI, %zu, \"%s\", kernels\n};\n",
                   RLX_NATIVE_SYMBOL, RLX_NATIVE_SYMBOL, count, key);
}

bool rlx_c_write(rlx_context *ctx, const rlx_c_kernel *kernels, size_t count, bool unchecked,
                 const char *include, rlx_buf *out, char key[RLX_NATIVE_KEY + 1])
{
    rlx_buf body;
    rlx_buf_init(&body, &ctx->memory);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = write_kernel(ctx, &kernels[i], i, unchecked, &body);
    rlx_buf_lit(out, "/* Kernels of a Relax program. Compile as C99 with -O3 -fwrapv "
                     "-fno-strict-aliasing -ffp-contract=off. */\n");
    if (include)
        rlx_buf_format(out, "#include \"%s\"\n\n", include);
    else
        rlx_c_header(out);
    if (ok && !body.failed)
        rlx_c_prelude(&ctx->memory, (rlx_slice){ body.data, body.len }, out);
    rlx_buf_put(out, body.data, body.len);
    put_table(kernels, count, out, key);
    ok = ok && !body.failed;
    if (ok && out->failed) /* bytes for the host lie beside the context's allocator */
        ok = rlx_no_memory(ctx);
    rlx_buf_free(&body);
    return ok;
}
