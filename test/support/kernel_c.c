/* kernel_c.c: the kernels of the tests once more, as generated C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "kernel_c.h"
#include "codegen/cgen.h"
#include "codegen/native.h"
#include "runtime/runtime.h"

#define PER_UNIT 50

typedef struct record {
    char *bytes; size_t len;
    rlx_kernel_hint *hints; size_t num_hints;
    kc c;                             /* data: before */
    void *after[KC_MAX_ARGS];
    int code;
} record;

static struct { unsigned every, seen; record *all; size_t len, cap; } recording;

void kc_c_begin(unsigned every)
{
    recording.every = every;
    recording.seen = 0;
    recording.len = 0;
}

static rlx_string *copy_string(const rlx_string *s)
{
    rlx_string *copy = malloc(sizeof *copy + s->len + 1);
    memcpy(copy, s, sizeof *s + s->len + 1);
    return copy;
}

static void *copy_of(const kc_arg *a, const void *data)
{
    void *p = malloc(kc_bytes(a) + 1);
    if (kc_bytes(a))
        memcpy(p, data, kc_bytes(a));
    return p;
}

void kc_c_before(rlx_context *ctx, const rlx_prim_func *f, const kc *c)
{
    rlx_buf bytes;
    rlx_kernel_hints hints = { 0 };
    if (!recording.every || recording.seen++ % recording.every)
        return;
    if (recording.len == recording.cap)
        recording.all = realloc(recording.all,
                                (recording.cap = recording.cap * 2 + 64) * sizeof *recording.all);
    record *r = &recording.all[recording.len++];
    memset(r, 0, sizeof *r);
    rlx_buf_init(&bytes, &ctx->memory);
    ctx->share_all = true;
    assert_true(rlx_kernel_write(ctx, f, RLX_SLICE("k"), &bytes, &hints));
    ctx->share_all = false;
    r->bytes = malloc(bytes.len);
    memcpy(r->bytes, bytes.data, r->len = bytes.len);
    r->hints = malloc((hints.len + 1) * sizeof *r->hints);
    for (; r->num_hints < hints.len; r->num_hints++)
        r->hints[r->num_hints] = (rlx_kernel_hint){ hints.data[r->num_hints].reg,
                                                    copy_string(hints.data[r->num_hints].name) };
    rlx_vec_free(&ctx->memory, &hints);
    rlx_buf_free(&bytes);
    r->c = *c;
    for (int i = 0; i < c->count; i++)
        r->c.args[i].data = c->args[i].is_scalar ? NULL : copy_of(&c->args[i], c->args[i].data);
}

void kc_c_after(const kc *c, int code)
{
    if (!recording.every || (recording.seen - 1) % recording.every)
        return;
    record *r = &recording.all[recording.len - 1];
    r->code = code;
    for (int i = 0; i < c->count; i++)
        r->after[i] = c->args[i].is_scalar ? NULL : copy_of(&c->args[i], c->args[i].data);
}

bool kc_has_compiler(const char *name)
{
    char command[200];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

static void run_one(rlx_memory *m, const record *r, relax_kernel_fn *native, const char *compiler,
                    size_t number, size_t threads)
{
    rlx_kernel *k = NULL;
    rlx_fault why = { 0 };
    kc c = r->c;
    char who[64];
    snprintf(who, sizeof who, "%.20s, kernel %zu, %zu threads,", compiler, number, threads);
    if (!rlx_kernel_load(m, (const uint8_t *)r->bytes, r->len, &k, &why))
        fail_msg("%s", why.text);
    rlx_kernel_set_native(k, native);
    c.threads = threads;
    for (int i = 0; i < c.count; i++)
        c.args[i].data = c.args[i].is_scalar ? NULL : copy_of(&c.args[i], c.args[i].data);
    int code = kc_call(m, k, &c, &why);
    if (code != r->code)
        fail_msg("%s: code %d (%s), the bytecode gave %d", who, code, why.text, r->code);
    for (int i = 0; i < c.count; i++) {
        if (!c.args[i].is_scalar && code == RLX_CODE_NONE)
            kc_expect_same(&c.args[i], i, r->after[i], c.args[i].data, who);
        free(c.args[i].data);
    }
    rlx_kernel_free(k);
}

static void show_diags(rlx_context *ctx)
{
    for (const rlx_diag *d = ctx->diags.first; d; d = d->next) {
        print_error("%s: %s\n", d->code->name, d->message);
        for (size_t i = 0; i < d->num_labels; i++)
            print_error("note: %s\n", d->labels[i].text);
    }
}

static void run_unit(rlx_context *ctx, size_t first, size_t count, const char *compiler,
                     const char *const *environment)
{
    const record *records = recording.all + first;
    rlx_c_kernel kernels[PER_UNIT];
    rlx_native_unit unit;
    rlx_native_options o = { .compiler = compiler,
                             .memory = UINT64_MAX,
                             .environment = environment,
                             .cpu = "native",
                             .seconds = 200,
                             .temp_dir = getenv("TMPDIR") };
    rlx_file_native_object expected = { .count = (uint32_t)count };
    rlx_native native;
    uint32_t started = 0;
    bool cancelled, changed;
    rlx_fault why = { 0 };
    for (size_t i = 0; i < count; i++)
        kernels[i] = (rlx_c_kernel){ .name = RLX_SLICE("k"),
                                     .bytes = { records[i].bytes, records[i].len },
                                     .hints = records[i].hints,
                                     .num_hints = records[i].num_hints };
    rlx_buf_init(&unit.source, &ctx->memory);
    rlx_buf_init(&unit.object, &ctx->memory);
    assert_true(rlx_c_write(ctx, kernels, count, false, NULL, &unit.source, unit.key));
    if (!rlx_native_compile(ctx, &o, &unit, 1, &started, &cancelled)) {
        show_diags(ctx);
        if (getenv("KC_SHOW"))
            printf("%s", unit.source.data);
        fail_msg("%s cannot compile what was written", compiler);
    }
    assert_int_equal(started, 1);
    rlx_sha256(unit.object.data, unit.object.len, expected.digest);
    memcpy(expected.key, unit.key, sizeof expected.key);
    if (!rlx_native_open(unit.object.data, unit.object.len, &expected, &native, &changed, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < count; i++)
        for (size_t threads = 0; threads < 4; threads += 3)
            run_one(&ctx->memory, &records[i], native.table->kernels[i], compiler, first + i, threads);
    rlx_native_close(&native);
    rlx_buf_free(&unit.source);
    rlx_buf_free(&unit.object);
}

extern char **environ;

void kc_c_end(void)
{
    static const char *const compilers[] = { "gcc -O1", "clang -O1" }, *const thorough[] = {
        "gcc", "clang"
    };
    const char *const *used = getenv("RELAX_LONG") ? thorough : compilers;
    rlx_context *ctx = rlx_context_create(NULL, 0);
    for (size_t k = 0; k < RLX_COUNT(compilers); k++) {
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(used[k], " "), used[k]);
        if (!kc_has_compiler(name)) {
            print_message("%s is not there\n", name);
            continue;
        }
        for (size_t i = 0; i < recording.len; i += PER_UNIT)
            run_unit(ctx, i, recording.len - i < PER_UNIT ? recording.len - i : PER_UNIT,
                     used[k], (const char *const *)environ);
        print_message("%zu kernels as C agree (%s)\n", recording.len, used[k]);
    }
    for (size_t i = 0; i < recording.len; i++) {
        record *r = &recording.all[i];
        for (size_t h = 0; h < r->num_hints; h++)
            free((void *)(uintptr_t)r->hints[h].name);
        for (int a = 0; a < r->c.count; a++) {
            free(r->c.args[a].data);
            free(r->after[a]);
        }
        free(r->hints);
        free(r->bytes);
    }
    free(recording.all);
    memset(&recording, 0, sizeof recording);
    rlx_context_release(ctx);
}

int kc_c_teardown(void **state)
{
    (void)state;
    kc_c_end();
    return 0;
}

void kc_each_seed(const char *variable, uint64_t count, unsigned every,
                  void (*one)(uint64_t seed, bool shows))
{
    const char *named = getenv(variable);
    uint64_t first = named ? strtoull(named, NULL, 10) : 1, end = first + (named ? 1 : count);
    kc_c_begin(named ? 1 : every);
    for (uint64_t s = first; s < end; s++) {
        print_message("%s=%llu\r", variable, (unsigned long long)s);
        one(s, named != NULL);
    }
    print_message("                      \r");
    kc_c_end();
}
