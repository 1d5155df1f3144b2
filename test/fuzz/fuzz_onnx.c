/* fuzz_onnx: bytes as a model in ONNX's format: what it contains, and its module, which has to be well formed and to read
 * back from its text; if there is none, a diagnostic says why. Options follow the number of bytes, so that a kept file
 * always does the same. */
#include <relax/relax.h>
#include <relax/onnx.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_query(relax_context *ctx, const uint8_t *data, size_t size)
{
    relax_onnx_query *q = relax_onnx_query_memory(ctx, data, size);
    relax_onnx_counts n = { .struct_size = sizeof n };
    size_t nodes = 0;
    want(q || relax_context_num_errors(ctx), "a query fails without a reason");
    relax_onnx_query_counts(q, &n);
    for (size_t i = 0; i < n.num_operators; i++)
        nodes += relax_onnx_query_operator(q, i, NULL, NULL, NULL);
    want(nodes == n.num_nodes, "operators are not as many as nodes");
    for (int32_t side = 0; side < 2; side++)
        for (size_t i = 0; i < (side ? n.num_outputs : n.num_inputs); i++) {
            want(relax_onnx_query_value(q, side, i, NULL) != NULL, "a value has no name");
            for (int32_t k = 0; k < relax_onnx_query_ndim(q, side, i); k++)
                relax_onnx_query_dim(q, side, i, (size_t)k, NULL);
        }
    relax_onnx_query_destroy(q);
    relax_context_clear_diagnostics(ctx);
}

static void check_module(relax_context *ctx, relax_module *m)
{
    want(!relax_context_num_errors(ctx), "there is a module, and an error");
    if (relax_module_well_formed(ctx, m, RELAX_CHECK_ALL) != 1) {
        for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++)
            fprintf(stderr, "%s\n", relax_diagnostic_message(ctx, i, NULL));
        want(false, "the module is not well formed");
    }
    relax_bytes *text = relax_node_print(ctx, relax_module_as_node(m), NULL);
    want(text != NULL, "the module cannot be printed");
    relax_module *again = relax_module_parse(ctx, "again", 5, relax_bytes_data(text), relax_bytes_size(text));
    relax_bytes *other = again ? relax_node_print(ctx, relax_module_as_node(again), NULL) : NULL;
    /* the text, as nodes with a NaN are not equal */
    bool same = other && relax_bytes_size(other) == relax_bytes_size(text) &&
                !memcmp(relax_bytes_data(other), relax_bytes_data(text), relax_bytes_size(text));
    if (!same)
        fwrite(relax_bytes_data(text), 1, relax_bytes_size(text), stderr);
    want(same, "the text does not read back");
    relax_bytes_release(text);
    relax_bytes_release(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    relax_context_options how;
    relax_onnx_options o;
    relax_context_options_init(&how, sizeof how);
    relax_onnx_options_init(&o, sizeof o);
    how.max_bytes = (uint64_t)1 << 29;
    o.max_nodes = 2000;
    o.max_constant_bytes = 1 << 22;
    o.packed_calls = size & 1;
    o.known_sizes = size >> 1 & 1;
    o.params_from = size >> 2 & 1 ? 16 : 0;
    relax_context *ctx = relax_context_create(&how);
    if (!ctx)
        return 0;
    check_query(ctx, data, size);
    relax_onnx_import *import = relax_onnx_import_memory(ctx, data, size, &o, NULL, NULL);
    relax_module *m = relax_onnx_import_module(import);
    if (m)
        check_module(ctx, m);
    else
        want(relax_context_num_errors(ctx) != 0, "there is no module, and no error");
    relax_onnx_import_destroy(import);
    relax_context_release(ctx);
    return 0;
}
