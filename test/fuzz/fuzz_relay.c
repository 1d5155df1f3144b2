/* fuzz_relay.c: libFuzzer target over texts of Relay; see `make fuzz-relay`. What is refused says why; what is typed
 * prints to what reads equal, and is translated, or refused in the translation's words. */
#include <relax/relax.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds, const char *what, const relax_context *ctx)
{
    size_t n = relax_context_num_diagnostics(ctx);
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, n ? relax_diagnostic_message(ctx, n - 1, NULL) : "no diagnostic");
    abort();
}

static relax_relay_module *read_text(relax_context *ctx, const char *text, size_t len)
{
    relax_relay_module *m = relax_relay_module_parse(ctx, "fuzz", 4, text, len);
    if (m && relax_relay_module_infer(m) == RELAX_OK)
        return m;
    must(relax_context_num_errors(ctx) > 0, "refused without a reason", ctx);
    relax_relay_module_destroy(m);
    return NULL;
}

static void print_again(relax_context *ctx, relax_relay_module *m)
{
    relax_bytes *once = relax_relay_module_print(m);
    if (!once) /* more than 400 scopes */
        return;
    relax_relay_module *again = read_text(ctx, relax_bytes_data(once), relax_bytes_size(once));
    must(again != NULL, "what is printed is refused", ctx);
    relax_bytes *twice = relax_relay_module_print(again);
    must(twice && !strcmp(relax_bytes_data(once), relax_bytes_data(twice)), "printed twice it differs", ctx);
    relax_bytes_release(once);
    relax_bytes_release(twice);
    relax_relay_module_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    relax_context *ctx = relax_context_create(NULL);
    if (!ctx)
        return 0;
    relax_relay_module *m = read_text(ctx, (const char *)data, size);
    if (m) {
        print_again(ctx, m);
        relax_module *module = relax_relay_module_translate(m);
        size_t n = relax_context_num_diagnostics(ctx);
        must(module || (n && !strncmp(relax_diagnostic_code(ctx, n - 1), "RY", 2)), "not translated", ctx);
    }
    relax_relay_module_destroy(m);
    relax_context_release(ctx);
    return 0;
}
