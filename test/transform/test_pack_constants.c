/* test_pack_constants.c: which weights are stored in panels, and that results keep their bits:
 * programs as they are built with panels, and as level 0 builds them. */
#include "../api/api_fixture.h"
#include "schedule/schedule.h"
#include "text_file.h"
#include "text_module.h"
#include "transform/transform.h"

/* Numbers that are no integers, as many as a parameter takes. */
static relax_tensor *numbers_of(const rlx_var *v, int64_t size_of_n, uint32_t seed)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(v->sinfo);
    relax_tensor *out = NULL;
    int64_t shape[4];
    size_t ndim, count = 1;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &ndim);
    for (size_t i = 0; i < ndim; i++) {
        if (!rlx_int_literal(dims[i], &shape[i]))
            shape[i] = size_of_n;
        count *= (size_t)shape[i];
    }
    assert_int_equal(
        relax_tensor_create(t->dtype, shape, (int32_t)ndim, NULL, &out, NULL), RELAX_OK);
    char *data = relax_tensor_data(out);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        double value = (double)(seed >> 8) / (1 << 24) - 0.5;
        if (rlx_dtype_is_float(t->dtype))
            rlx_dtype_store_float(t->dtype, data + i * rlx_dtype_bytes(t->dtype), value);
        else
            data[i] = (char)(value * 200);
    }
    return out;
}

/* The program with its last two parameters bound. */
static const rlx_module *bound(relax_context *ctx, const char *program, const rlx_var **x)
{
    static const char *const names[] = { "a", "b" };
    bool alike = strcmp(program, PROGRAM("the same twice")) == 0;
    const rlx_module *m = text_module(ctx, program);
    assert_non_null(m);
    const rlx_function *f = rlx_as_function(m->functions[0]);
    relax_tensor *weights[2] = { numbers_of(rlx_as_var(f->params[1]), 0, 1),
                                 numbers_of(rlx_as_var(f->params[2]), 0, alike ? 1 : 2) };
    relax_module *out = relax_module_bind_params(ctx, (const relax_module *)(const void *)m, NULL,
                                                 0, names, (const relax_tensor *const *)weights, 2);
    assert_non_null(out);
    relax_tensor_release(weights[0]);
    relax_tensor_release(weights[1]);
    m = (const rlx_module *)(const void *)out;
    *x = rlx_as_var(rlx_as_function(m->functions[0])->params[0]);
    return m;
}

static relax_tensor *run(relax_context *ctx, const rlx_module *m, const rlx_var *x, int level,
                         int64_t n)
{
    relax_compile_options options;
    relax_compile_options_init(&options, sizeof options);
    options.opt_level = level;
    relax_executable *exe =
        relax_module_compile(ctx, (const relax_module *)(const void *)m, &options);
    if (!exe)
        fail_msg("%s", text_diagnostics(ctx));
    relax_vm *vm = NULL;
    relax_value arg = { 0 }, result = { 0 };
    relax_tensor *t = numbers_of(x, n, 7), *out;
    assert_int_equal(relax_vm_create(exe, NULL, &vm, NULL), RELAX_OK);
    relax_value_set_tensor(&arg, t);
    assert_int_equal(relax_vm_call(vm, Z("main"), &arg, 1, &result, NULL), RELAX_OK);
    out = relax_tensor_retain(relax_value_get_tensor(&result));
    relax_value_release(&result);
    relax_value_release(&arg);
    relax_tensor_release(t);
    relax_vm_release(vm);
    relax_executable_release(exe);
    return out;
}

static void compare_runs(relax_context *ctx, const rlx_module *m, const rlx_var *x, int64_t n)
{
    relax_tensor *plain = run(ctx, m, x, 0, n), *fast = run(ctx, m, x, 1, n);
    assert_int_equal(relax_tensor_bytes(plain), relax_tensor_bytes(fast));
    assert_memory_equal(relax_tensor_data(plain), relax_tensor_data(fast),
                        relax_tensor_bytes(plain));
    relax_tensor_release(plain);
    relax_tensor_release(fast);
}

/* The module in front of code generation, as text. */
static char *lowered(relax_context *ctx, const rlx_module *m)
{
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    m = rlx_run_passes(ctx, m, steps, rlx_build_pipeline(1, steps),
                       &(rlx_pass_hooks){ .verify = true });
    if (!m)
        fail_msg("%s", text_diagnostics(ctx));
    return text_print(m);
}

/* Text that the module has in front of code generation, and text that it lacks. */
static void check(const char *program, const char *const *has, const char *const *lacks)
{
    relax_context *ctx = relax_context_create(NULL);
    const rlx_var *x;
    const rlx_module *m = bound(ctx, program, &x);
    char *text = lowered(ctx, m);
    for (; *has; has++)
        if (!strstr(text, *has))
            fail_msg("%s is not in\n%s", *has, strstr(text, "@I.ir_module"));
    for (; *lacks; lacks++)
        if (strstr(text, *lacks))
            fail_msg("%s is in\n%s", *lacks, strstr(text, "@I.ir_module"));
    free(text);
    for (int64_t n = 0; n <= 40; n += 20)
        compare_runs(ctx, m, x, n);
    relax_context_release(ctx);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOTHING ((const char *const[]){ NULL })
#define PANELS(...) "columns: T.Buffer((" __VA_ARGS__ "), \"float32\")"
#define ROWS(...) "rows: T.Buffer((" __VA_ARGS__ "), \"float32\")"
#define LANES(...) "lanes: T.Buffer((" __VA_ARGS__ "), \"float32\")"
#define I(n) "T.int64(" #n ")"

static void test_products(void **state)
{
    check(PROGRAM("products"),
          LIST(PANELS(I(3) ", " I(100) ", " I(32)), PANELS(I(4) ", " I(70) ", " I(32)),
               "cls.matmul_packed(x, ", "cls.matmul1_packed(y, ", "cls.matmul_packed(z, "),
          LIST("def matmul(", "def matmul1("));
}

static void test_single_row(void **state)
{
    check(PROGRAM("a single row, and depth in tiles"),
          LIST(PANELS(I(2) ", " I(1100) ", " I(32)), PANELS(I(10) ", " I(36) ", " I(32))), NOTHING);
}

/* Panels that are full are one nest, as they would be without the last one. */
static void test_last_panel(void **state)
{
    check(PROGRAM("few rows, and a last panel that is not full"),
          LIST("for jp, i, j, k in T.grid(" I(2) ", " I(5) ", " I(32) ", " I(100) ")", "for i, j, k in T.grid(" I(5) ", " I(6) ", " I(100) ")",
               "for jp, i, j, k in T.grid(" I(3) ", " I(5) ", " I(32) ", " I(70) ")", "for i, j, k in T.grid(" I(5) ", " I(4) ", " I(70) ")"), NOTHING);
}

static void test_unknown_rows(void **state)
{
    check(PROGRAM("rows that the run counts"),
          LIST(PANELS(I(3) ", " I(600) ", " I(32)), PANELS(I(7) ", " I(90) ", " I(32))), NOTHING);
}

static void test_many_matrices(void **state)
{
    check(PROGRAM("many matrices"),
          LIST(PANELS(I(3) ", " I(5) ", " I(30) ", " I(32)), PANELS(I(3) ", " I(150) ", " I(32))),
          NOTHING);
}

static void test_windows(void **state)
{
    check(PROGRAM("windows"), LIST(ROWS(I(3) ", " I(45) ", " I(8))), NOTHING);
    check(PROGRAM("windows whose rows are lanes"),
          LIST(LANES(I(1) ", " I(108) ", " I(32)), LANES(I(2) ", " I(1) ", " I(144) ", " I(32))), NOTHING);
    check(PROGRAM("windows whose rows are lanes, in two tiles"),
          LIST(LANES(I(5) ", " I(396) ", " I(32)), LANES(I(1) ", " I(1440) ", " I(32))), NOTHING);
}

/* A loop around the sum takes it from panels to panels; lines share a strip, in which each begins a row further down. */
static void test_groups(void **state)
{
    check(PROGRAM("windows of groups whose pictures get borders"),
          LIST(LANES(I(3) ", " I(1) ", " I(144) ", " I(32)), ROWS(I(2) ", " I(2) ", " I(216) ", " I(8)), "strip[k + line,"), NOTHING);
}

/* The first has a sum for each phase, which takes panels of its part; where something else reads the weights they stay one. */
static void test_phases(void **state)
{
    check(PROGRAM("phases, each of which reads a part of the weights"),
          LIST("conv2d_transpose_packed(x, metadata[\"relax.expr.Constant\"][0], y, metadata[\"relax.expr.Constant\"][1], metadata[\"relax.expr.Constant\"][2], "
               "metadata[\"relax.expr.Constant\"][3]", ROWS(I(3) ", " I(160) ", " I(8))), LIST("def conv2d_transpose("));
    check(PROGRAM("one weight for two phased sums"), LIST("cls.conv2d_transpose_packed(x, ", "cls.conv2d_transpose_packed(r, ", "cls.conv2d_transpose(r, "), NOTHING);
}

/* Rows of such a sum are read from a strip of the picture, too. */
static void test_channels_last(void **state)
{
    check(PROGRAM("windows over channels that come last"),
          LIST(PANELS(I(1) ", " I(108) ", " I(32)), PANELS(I(2) ", " I(2) ", " I(144) ", " I(32)), "strip = T."), NOTHING);
}

static void test_plain_use(void **state)
{
    check(PROGRAM("also read as it is"), LIST("cls.matmul(x, ", "cls.matmul1_packed(y, "),
          LIST("def matmul_packed("));
}

static void test_two_layouts(void **state)
{
    check(PROGRAM("in two layouts"), LIST(PANELS(I(3) ", " I(100) ", " I(32))),
          LIST(PANELS(I(4) ", " I(100) ", " I(32))));
}

/* Panels have the dtype of the sums: for weights of 16 bits, which are then as fast as those of 32; those of 8 bits stay
 * bytes, in fours, with bytes, and are not packed where they do not, being four times as large. */
static void test_wide_panels(void **state)
{
    check(PROGRAM("weights of 16 bits"),
          LIST(PANELS(I(3) ", " I(100) ", " I(32)), PANELS(I(4) ", " I(70) ", " I(32)),
               "cls.matmul_packed(x, "),
          LIST("def matmul("));
    check(PROGRAM("weights of 8 bits"),
          LIST("T.Buffer((" I(3) ", " I(25) ", " I(32) ", " I(4) "), \"int8\")", "cls.matmul_packed(x, "),
          LIST("def matmul("));
    check(PROGRAM("weights of 8 bits, not in fours"), LIST("cls.matmul(x, ", "def matmul("),
          LIST("def matmul_packed("));
}

/* ---- weights where a host has them, and content that is made when the file is written -------- */

static relax_bytes *file_of(relax_context *ctx, const relax_module *m,
                            const relax_compile_options *options)
{
    relax_bytes *file = NULL;
    relax_executable *exe = relax_module_compile(ctx, m, options);
    if (!exe)
        fail_msg("%s", text_diagnostics(ctx));
    assert_int_equal(relax_executable_serialize(exe, &file, NULL), RELAX_OK);
    relax_executable_release(exe);
    return file;
}

static void assert_same_file(const relax_bytes *a, const relax_bytes *b)
{
    assert_int_equal(relax_bytes_size(a), relax_bytes_size(b));
    assert_memory_equal(relax_bytes_data(a), relax_bytes_data(b), relax_bytes_size(a));
}

static void count_end(void *user) { ++*(int *)user; }

/* A copy of the content `skew` bytes behind a multiple of 64. */
static DLTensor lend(const relax_tensor *t, size_t skew, void **memory)
{
    DLTensor view = *relax_tensor_view(t);
    *memory = malloc(relax_tensor_bytes(t) + 128);
    assert_non_null(*memory);
    char *at = (char *)*memory + (64 - (uintptr_t)*memory % 64) + skew;
    memcpy(at, relax_tensor_data(t), relax_tensor_bytes(t));
    view.data = at;
    return view;
}

static void test_memory_of_the_host(void **state)
{
    static const char *const names[] = { "a", "b" };
    for (size_t skew = 0; skew < 4; skew++) {
        relax_context *ctx = relax_context_create(NULL);
        const relax_module *m = (const relax_module *)(const void *)text_module(ctx, PROGRAM("products"));
        const rlx_function *f = rlx_as_function(((const rlx_module *)(const void *)m)->functions[0]);
        DLTensor views[2];
        void *memory[2];
        int ends = 0;
        relax_tensor *tensors[2];
        for (int i = 0; i < 2; i++) {
            tensors[i] = numbers_of(rlx_as_var(f->params[i + 1]), 0, (uint32_t)i + 1);
            views[i] = lend(tensors[i], skew, &memory[i]);
        }
        const relax_module *copied = relax_module_bind_params(
            ctx, m, NULL, 0, names, (const relax_tensor *const *)tensors, 2);
        const relax_module *lent =
            relax_module_bind_memory(ctx, m, NULL, 0, names,
                                     (const DLTensor *const[]){ &views[0], &views[1] }, 2, &ends,
                                     count_end);
        assert_true(copied && lent);
        relax_bytes *want = file_of(ctx, copied, NULL), *got = file_of(ctx, lent, NULL);
        assert_same_file(want, got);
        assert_int_equal(ends, 0);
        relax_context_release(ctx);
        assert_int_equal(ends, 1);
        for (int i = 0; i < 2; i++) {
            relax_tensor_release(tensors[i]);
            free(memory[i]);
        }
        relax_bytes_release(want);
        relax_bytes_release(got);
    }
}

static void look_on(void *user, const char *pass, const relax_module *module, double seconds,
                    int32_t changed)
{
}

/* Where a host looks at the module after each pass, panels are made by their pass; else when the
 * file is written. In either case equal ones are in it once. */
static void test_late_panels(void **state)
{
    const char *programs[] = { PROGRAM("products"), PROGRAM("windows"),
                               PROGRAM("many matrices"), PROGRAM("the same twice") };
    for (size_t i = 0; i < RLX_COUNT(programs); i++) {
        relax_context *ctx = relax_context_create(NULL);
        const rlx_var *x;
        const relax_module *m = (const relax_module *)(const void *)bound(ctx, programs[i], &x);
        relax_compile_options options;
        relax_compile_options_init(&options, sizeof options);
        relax_bytes *late = file_of(ctx, m, &options);
        options.after_pass = look_on;
        relax_bytes *early = file_of(ctx, m, &options);
        assert_same_file(early, late);
        if (i == 3) /* 128 * 96 numbers in three panels of 32 */
            assert_in_range(relax_bytes_size(late), 128 * 96 * 4, 2 * 128 * 96 * 4 - 1);
        relax_bytes_release(early);
        relax_bytes_release(late);
        relax_context_release(ctx);
    }
}

/* What a host has written so far. */
typedef struct written {
    unsigned char *bytes;
    size_t end, calls, most; /* most: as many calls go well */
} written;

static int32_t write_piece(void *user, uint64_t offset, const void *data, size_t size)
{
    written *w = user;
    if (++w->calls > w->most)
        return 0;
    assert_true(offset == w->end || (offset == 0 && size < w->end));
    if (offset)
        w->bytes = realloc(w->bytes, w->end + size);
    else if (!w->end)
        w->bytes = malloc(size);
    assert_non_null(w->bytes);
    memcpy(w->bytes + offset, data, size);
    if (offset + size > w->end)
        w->end = offset + size;
    return 1;
}

/* A file that is sent is the one that is saved; a host may refuse any piece of it. */
static void test_file_by_pieces(void **state)
{
    const char *programs[] = { PROGRAM("products"), PROGRAM("a single row, and depth in tiles"),
                               PROGRAM("the same twice") };
    for (size_t i = 0; i < RLX_COUNT(programs); i++) {
        relax_context *ctx = relax_context_create(NULL);
        const rlx_var *x;
        const relax_module *m = (const relax_module *)(const void *)bound(ctx, programs[i], &x);
        relax_bytes *want = file_of(ctx, m, NULL);
        written all = { .most = SIZE_MAX };
        assert_int_equal(relax_module_compile_to_file(ctx, m, NULL, write_piece, &all), RELAX_OK);
        assert_int_equal(all.end, relax_bytes_size(want));
        assert_memory_equal(all.bytes, relax_bytes_data(want), all.end);
        assert_true(all.calls > (i == 1 ? 2u : 1u)); /* large content is a piece of its own */
        for (size_t most = 0; most < all.calls; most++) {
            written some = { .most = most };
            assert_int_equal(relax_module_compile_to_file(ctx, m, NULL, write_piece, &some),
                             RELAX_ERROR_IO);
            assert_said(ctx, "IO02");
            assert_int_equal(some.calls, most + 1);
            free(some.bytes);
        }
        free(all.bytes);
        relax_bytes_release(want);
        relax_context_release(ctx);
    }
}

/* ---- panels piece by piece ------------------------------------------------------------------ */

static size_t bytes_of(const rlx_buffer *b, int64_t *shape)
{
    size_t bytes = rlx_dtype_bytes(b->dtype);
    for (size_t d = 0; d < b->num_shape; d++) {
        assert_true(rlx_int_literal(b->shape[d], &shape[d]));
        bytes *= (size_t)shape[d];
    }
    return bytes;
}

static void fill(relax_context *ctx, const rlx_prim_func *pack, void *from, void *to)
{
    int64_t shapes[2][RLX_TIR_MAX_DIMS];
    rlx_tir_arg args[2] = { { .data = from }, { .data = to } };
    rlx_fault why;
    for (int i = 0; i < 2; i++) {
        const rlx_buffer *b = rlx_as_buffer(pack->buffers[i]);
        bytes_of(b, shapes[i]);
        args[i].dtype = b->dtype;
        args[i].shape = shapes[i];
        args[i].ndim = (int32_t)b->num_shape;
    }
    if (!rlx_tir_eval(ctx, pack, args, 2, &(rlx_tir_limits){ 0 }, &why))
        fail_msg("%s", why.text);
}

/* The box, element by element. */
static unsigned char *take_box(const rlx_buffer *b, const unsigned char *all, const rlx_panel_piece *piece)
{
    int64_t shape[RLX_TIR_MAX_DIMS], box[RLX_TIR_MAX_DIMS];
    size_t element = rlx_dtype_bytes(b->dtype), count = 1;
    bytes_of(b, shape);
    assert_int_equal(rlx_as_buffer(piece->pack->buffers[0])->num_shape, b->num_shape);
    bytes_of(rlx_as_buffer(piece->pack->buffers[0]), box);
    for (size_t d = 0; d < b->num_shape; d++) {
        assert_true(box[d] == piece->size[d] && piece->first[d] >= 0 && piece->first[d] + box[d] <= shape[d]);
        count *= (size_t)box[d];
    }
    unsigned char *out = malloc(count * element);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, at = 0, step = 1;
        for (size_t d = b->num_shape; d-- > 0; step *= (size_t)shape[d], rest /= (size_t)box[d])
            at += ((size_t)piece->first[d] + rest % (size_t)box[d]) * step;
        memcpy(out + i * element, all + at * element, element);
    }
    return out;
}

/* Panels that are filled at once, and in pieces of at most so many bytes, or a panel. */
static void compare_pieces(relax_context *ctx, const rlx_prim_func *pack, size_t most)
{
    const rlx_buffer *from = rlx_as_buffer(pack->buffers[0]), *to = rlx_as_buffer(pack->buffers[1]);
    int64_t shape[RLX_TIR_MAX_DIMS];
    size_t size = bytes_of(from, shape), bytes = bytes_of(to, shape), done = 0, pieces = 0;
    bool matrices = to->num_shape > 3 && to->dtype == RELAX_FLOAT32;
    size_t panel = bytes / (size_t)(shape[0] * (matrices ? shape[1] : 1));
    most = most > panel ? most : panel;
    unsigned char *weights = malloc(size), *want = malloc(bytes), *got = malloc(bytes);
    assert_true(weights && want && got);
    for (size_t i = 0; i < size; i++)
        weights[i] = (unsigned char)((i * 37 + i / 251) % 120); /* a number in any dtype */
    fill(ctx, pack, weights, want);
    for (rlx_panel_piece piece; done < bytes; done += piece.bytes, pieces++) {
        assert_true(rlx_panel_piece_at(ctx, pack, done, most, &piece));
        assert_in_range(piece.bytes, 1, bytes - done < most ? bytes - done : most);
        unsigned char *box = take_box(from, weights, &piece);
        fill(ctx, piece.pack, box, got + done);
        free(box);
    }
    assert_memory_equal(want, got, bytes);
    assert_in_range(pieces, (bytes + most - 1) / most, bytes / panel);
    free(weights);
    free(want);
    free(got);
}

static void test_pieces(void **state)
{
    const char *programs[] = { PROGRAM("products"),      PROGRAM("a single row, and depth in tiles"),
                               PROGRAM("many matrices"), PROGRAM("windows"), PROGRAM("windows of groups whose pictures get borders"),
                               PROGRAM("in two layouts"), PROGRAM("weights of 16 bits"), PROGRAM("weights of 8 bits") };
    size_t packed = 0;
    for (size_t i = 0; i < RLX_COUNT(programs); i++) {
        relax_context *ctx = relax_context_create(NULL);
        rlx_pass_step legalize = { .row = rlx_pass_find(RLX_SLICE("legalize_ops")) };
        const rlx_module *m = text_module(ctx, programs[i]);
        assert_non_null(m = rlx_run_passes(ctx, m, &legalize, 1, &(rlx_pass_hooks){ .verify = true }));
        for (size_t k = 0; k < m->num_functions; k++) {
            const rlx_prim_func *f = rlx_as_prim_func(m->functions[k]);
            rlx_with_panels packed_function;
            const bool constant[8] = { false, true };
            if (!f || f->num_params != 3)
                continue;
            assert_true(rlx_schedule_packed(ctx, f, constant, &packed_function));
            for (size_t most = 1; packed_function.packs[1] && most < 1 << 20; most *= 7, packed++)
                compare_pieces(ctx, packed_function.packs[1], most);
        }
        relax_context_release(ctx);
    }
    assert_in_range(packed, 8 * 8, 99 * 8);
}

static int32_t write_small(void *user, uint64_t offset, const void *data, size_t size)
{
    assert_true(size <= 16 << 20);
    return write_piece(user, offset, data, size);
}

/* Weights of more than 16 MB are the same panels, piece by piece, wherever the host has them. */
static void test_large_weights(void **state)
{
    static const char *const names[] = { "a", "b" };
    for (size_t skew = 0; skew < 4; skew += 3) {
        relax_context *ctx = relax_context_create(NULL);
        const relax_module *m = (const relax_module *)(const void *)text_module(ctx, PROGRAM("more than 16 MB"));
        const rlx_function *f = rlx_as_function(((const rlx_module *)(const void *)m)->functions[0]);
        relax_tensor *tensors[2];
        DLTensor views[2];
        void *memory[2];
        int ends = 0;
        for (int i = 0; i < 2; i++) {
            tensors[i] = numbers_of(rlx_as_var(f->params[i + 1]), 0, (uint32_t)i + 1);
            views[i] = lend(tensors[i], skew, &memory[i]);
        }
        m = relax_module_bind_memory(ctx, m, NULL, 0, names, (const DLTensor *const[]){ &views[0], &views[1] }, 2,
                                     &ends, count_end);
        relax_compile_options options;
        relax_compile_options_init(&options, sizeof options);
        options.after_pass = look_on;
        relax_bytes *want = file_of(ctx, m, &options), *got = file_of(ctx, m, NULL);
        assert_same_file(want, got);
        written all = { .most = SIZE_MAX };
        assert_int_equal(relax_module_compile_to_file(ctx, m, NULL, write_small, &all), RELAX_OK);
        assert_int_equal(all.end, relax_bytes_size(want));
        assert_memory_equal(all.bytes, relax_bytes_data(want), all.end);
        free(all.bytes);
        relax_bytes_release(want);
        relax_bytes_release(got);
        relax_context_release(ctx);
        for (int i = 0; i < 2; i++) {
            relax_tensor_release(tensors[i]);
            free(memory[i]);
        }
    }
}

static void test_memory_that_is_refused(void **state)
{
    relax_context *ctx = relax_context_create(NULL);
    const relax_module *m = (const relax_module *)(const void *)text_module(ctx, PROGRAM("products"));
    static const char *const names[] = { "a", "b" };
    int64_t shape[] = { 100, 70 }, across[] = { 1, 100 };
    static float content[7000];
    const DLTensor good = { .data = content, .device = { 1, 0 }, .ndim = 2, .dtype = { 2, 32, 1 },
                            .shape = shape };
    DLTensor bad[6];
    for (size_t i = 0; i < RLX_COUNT(bad); i++)
        bad[i] = good;
    bad[0].dtype.bits = 64;
    bad[1].device.device_type = 2;
    bad[2].strides = across;
    bad[3].data = NULL;
    bad[4].ndim = 1;
    bad[5].ndim = -1;
    int ends = 0;
    for (size_t i = 0; i < RLX_COUNT(bad); i++) {
        const DLTensor *arrays[] = { &bad[i] };
        assert_null(relax_module_bind_memory(ctx, m, NULL, 0, names, arrays, 1, &ends, count_end));
        relax_context_clear_diagnostics(ctx);
        assert_int_equal(ends, (int)i + 1);
    }
    assert_null(relax_module_bind_memory(NULL, m, NULL, 0, names, NULL, 0, &ends, count_end));
    assert_int_equal(ends, (int)RLX_COUNT(bad) + 1);
    relax_context_release(ctx);
    assert_int_equal(ends, (int)RLX_COUNT(bad) + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_of_the_host),
        cmocka_unit_test(test_late_panels),
        cmocka_unit_test(test_file_by_pieces),
        cmocka_unit_test(test_wide_panels),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_large_weights),
        cmocka_unit_test(test_memory_that_is_refused),
        cmocka_unit_test(test_products),      cmocka_unit_test(test_single_row),
        cmocka_unit_test(test_last_panel),
        cmocka_unit_test(test_unknown_rows),  cmocka_unit_test(test_many_matrices),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_groups),       cmocka_unit_test(test_phases), cmocka_unit_test(test_channels_last),
        cmocka_unit_test(test_plain_use),
        cmocka_unit_test(test_two_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
