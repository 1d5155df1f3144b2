/*- test_schedule.c: PrimFuncs as people and TVM write them, with their loops scheduled: the same
 * bits, the same failures. The programs stand in schedule.programs, each with the calls that are
 * made of it:
 *
 *     --- run: contract n=33 m=40 RT09 dimension 1 of A
 *
 * contract: the kernel of the schedule sums products up as one instruction; in place: contract, and nothing is copied for it; unpack: and it makes an
 * operand of fields of bits; joined: contract, and what stands behind the sum runs on its blocks; packed: contract, and of panels; strips: contract, and nothing is
 * packed; lanes:
 * contract, and its lanes are channels, each with weights of its own; rows: rows are copied from where integers say; plain: it does nothing of that; any:
 * whichever. Then the sizes, and how the call fails, if it does, scheduled or not. `--- long:` is a call of the long run only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel_c.h"
#include "schedule/schedule.h"
#include "text_file.h"
#include "text_module.h"

static int64_t size_of(const rlx_prim *e, const char *call)
{
    const rlx_prim_var *v = rlx_as_prim_var(e);
    int64_t value;
    char name[40];
    if (rlx_int_literal(e, &value))
        return value;
    assert_non_null(v);
    snprintf(name, sizeof name, " %s=", v->name->data);
    const char *at = strstr(call, name);
    if (!at)
        fail_msg("no size %s in: %s", v->name->data, call);
    return strtoll(at + strlen(name), NULL, 10);
}

static void make_args(const rlx_prim_func *f, const char *call, kc *c)
{
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = rlx_as_buffer(f->buffers[i]);
        int64_t shape[5];
        assert_true(b && b->num_shape <= RLX_COUNT(shape));
        for (size_t d = 0; d < b->num_shape; d++)
            shape[d] = size_of(b->shape[d], call);
        kc_tensor(c, b->dtype, (int32_t)b->num_shape, shape);
    }
}

static bool has_instruction(rlx_context *ctx, const rlx_prim_func *f, const char *name)
{
    char line[40];
    snprintf(line, sizeof line, "  %s ", name);
    rlx_buf bytes, text;
    kc_write(ctx, f, &bytes);
    rlx_buf_init(&text, &ctx->memory);
    rlx_kernel_disassemble((const uint8_t *)bytes.data, bytes.len, &text);
    bool has = strstr(text.data, line) != NULL;
    rlx_buf_free(&bytes);
    rlx_buf_free(&text);
    return has;
}

static enum rlx_step find_sum(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    bool *found = user;
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_binary *sum = s ? rlx_as_binary(s->value) : NULL;
    const rlx_prim_call *fma = s ? rlx_as_prim_call(s->value) : NULL;
    const rlx_buffer_load *own = sum                            ? rlx_as_buffer_load(sum->a)
                                 : fma && fma->num_args == 3 ? rlx_as_buffer_load(fma->args[2])
                                                             : NULL;
    *found |= own && own->buffer == s->buffer && (!sum || sum->b->kind == RLX_NODE_MUL);
    return RLX_STEP_ON;
}

/* Does a nest begin with the loop over panels of columns? */
static bool is_over_panels(const rlx_stmt *s)
{
    const rlx_for_stmt *f = rlx_as_for_stmt(s);
    const rlx_prim_var *v = f ? rlx_as_prim_var(f->loop_var) : NULL;
    return v && rlx_slice_is(rlx_string_slice(v->name), "jp");
}

/* Is the sum part of the last statement, beside others that store? What has panels of columns around it, or begins with the loop
 * over them, is one tile. */
static bool is_joined(rlx_context *ctx, const rlx_prim_func *f)
{
    const rlx_stmt *s = f->body;
    bool found = false, tile = false;
    rlx_walker w = { .enter = find_sum, .user = &found, .terse = true };
    while (s->kind == RLX_NODE_ALLOCATE || s->kind == RLX_NODE_DECL_BUFFER) {
        const rlx_decl_buffer *d = rlx_as_decl_buffer(s);
        tile |= d && rlx_slice_is(rlx_string_slice(rlx_as_buffer(d->buffer)->name), "columns");
        s = d ? d->body : ((const rlx_allocate *)s)->body;
    }
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(s);
    for (size_t i = 0; seq && i < seq->num_stmts; i++)
        tile |= is_over_panels(seq->stmts[i]);
    seq = tile ? NULL : seq;
    rlx_walk(&ctx->memory, seq ? seq->stmts[seq->num_stmts - 1] : s, &w, NULL);
    return found;
}

/* T.fma(a[.., l], b[.., l], own[.., l])? */
static enum rlx_step find_lanes(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    bool *found = user;
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_prim_call *sum = s ? rlx_as_prim_call(s->value) : NULL;
    bool same = sum && sum->num_args == 3;
    for (size_t i = 0; i < 3 && same; i++) {
        const rlx_buffer_load *l = rlx_as_buffer_load(sum->args[i]);
        same = l && l->indices[l->num_indices - 1] == s->indices[s->num_indices - 1];
    }
    *found |= same;
    return RLX_STEP_ON;
}

static bool has_lanes(rlx_context *ctx, const rlx_prim_func *f)
{
    bool found = false;
    rlx_walker w = { .enter = find_lanes, .user = &found, .terse = true };
    rlx_walk(&ctx->memory, f->body, &w, NULL);
    return found;
}

/* The call of f; what is wrong about it, or "". */
static void check_call(rlx_context *ctx, const rlx_prim_func *f, const char *call, char said[512])
{
    const char *fails = strstr(call, "RT");
    char text[256];
    kc c = { .seed = 7 };
    make_args(f, call, &c);
    int code = kc_run(ctx, f, &c, text);
    said[0] = 0;
    if ((code != RLX_CODE_NONE) != (fails != NULL) ||
        (fails && !strstr(text, fails + strlen("RT09 "))))
        snprintf(said, 512, "code %d: %s", code, text);
    kc_free(&c);
}

static bool check_run(rlx_context *ctx, const rlx_prim_func *f, const char *call)
{
    const rlx_prim_func *s = rlx_schedule(ctx, f), *both[2] = { f, s };
    static const char *const who[2] = { "as it is", "scheduled" };
    char said[512];
    bool ok = s != NULL;
    assert_non_null(s);
    bool joined = strncmp(call, "joined", 6) == 0, unpacks = strncmp(call, "unpack", 6) == 0,
         lanes = strncmp(call, "lanes", 5) == 0, in_place = strncmp(call, "in place", 8) == 0, packed = strncmp(call, "packed", 6) == 0,
         strips = strncmp(call, "strips", 6) == 0, sums = joined || unpacks || lanes || in_place || packed || strips || strncmp(call, "contract", 8) == 0;
    if (strncmp(call, "any", 3) != 0 && (has_instruction(ctx, s, "contract") != sums ||
                                         has_instruction(ctx, s, "unpack") != unpacks || has_lanes(ctx, s) != lanes ||
                                         has_instruction(ctx, s, "copy_rows") != (strncmp(call, "rows", 4) == 0) ||
                                         (in_place && has_instruction(ctx, s, "copy")) ||
                                         ((packed || strips) && has_instruction(ctx, s, "pack") != packed) || (joined && !is_joined(ctx, s)))) {
        print_message("another plan than wanted\n");
        ok = false;
    }
    /* kc_run schedules it, too: what is left to look at is what it says when it fails */
    for (int i = 0; i < (s != f && strstr(call, "RT") ? 2 : 1); i++) {
        check_call(ctx, both[i], call, said);
        if (*said)
            print_message("%s: %s\n", who[i], said);
        ok = ok && !*said;
    }
    return ok;
}

static void programs_of_users(void **state)
{
    size_t count = 0, wrong = 0;
    const text_part *parts = text_file_parts("test/schedule/schedule.programs", &count);
    rlx_context *ctx = NULL;
    const rlx_prim_func *f = NULL;
    assert_non_null(parts);
    for (size_t i = 0; i < count; i++) {
        if (!*parts[i].kind) {
            if (ctx)
                rlx_context_release(ctx);
            ctx = rlx_context_create(NULL, 0);
            const rlx_module *m = text_module(ctx, parts[i].text);
            int64_t at = m && !rlx_error_count(ctx) ? rlx_module_find(m, RLX_SLICE("f")) : -1;
            if (at < 0)
                fail_msg("%s: %s", parts[i].name, text_diagnostics(ctx));
            f = rlx_as_prim_func(m->functions[at]);
        } else if (strcmp(parts[i].kind, "long") == 0 && !getenv("RELAX_LONG")) {
            continue;
        } else if (!check_run(ctx, f, parts[i].argument)) {
            print_message("%s: %s\n\n", parts[i].name, parts[i].argument);
            wrong++;
        }
    }
    rlx_context_release(ctx);
    assert_int_equal(wrong, 0);
    assert_true(count > 40);
}

static int begin(void **state)
{
    kc_c_begin(1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(programs_of_users) };
    return cmocka_run_group_tests(tests, begin, kc_c_teardown);
}
