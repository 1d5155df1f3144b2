/* test_vm_load.c: loading: damaged files of every sort, code that must not get past the verifier,
 * memory that runs out, text. */
#include "assemble.h"

#include <unistd.h>

#include "base/file.h"

#define EMIT(...) RLX_EMIT(&k->w, __VA_ARGS__)

static int touch(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return relax_value_set_string(result, "done", 4, NULL);
}

/* A program with a bit of everything. */
static void write_sample(kit *k)
{
    static const float weights[] = { 1, 2, 3, 4 };
    int64_t shape[] = { 2, 2 }, dims[] = { kit_bind(k, 0, "n"), kit_sym(k, 0, "n") };
    uint32_t t =
        rlx_file_writer_const_tensor(&k->w, RELAX_FLOAT32, shape, 2, weights, sizeof weights);
    rlx_file_writer_const_shape(&k->w, shape, 2);
    rlx_file_writer_const_string(&k->w, RLX_SLICE("text"));
    uint32_t f = rlx_file_writer_function(&k->w), g = rlx_file_writer_function(&k->w);
    rlx_file_writer_const_scalar(&k->w, RLX_CONSTANT_FUNCTION, 0, g);
    rlx_desc_expr_writer e;
    rlx_desc_expr_begin(&e, &k->w);
    rlx_desc_expr_symbol(&e, 0, RLX_SLICE("n"));
    rlx_desc_expr_int(&e, 4);
    rlx_desc_expr_put_op(&e, RLX_EXPR_LT);
    rlx_desc_expr_put_op(&e, RLX_EXPR_THEN);
    rlx_desc_expr_int(&e, 4);
    rlx_desc_expr_put_op(&e, RLX_EXPR_OTHERWISE);
    rlx_desc_expr_symbol(&e, 0, RLX_SLICE("n"));
    rlx_desc_expr_put_op(&e, RLX_EXPR_SELECT);
    uint32_t expr = rlx_desc_expr_end(&e), params = kit_vectors(k, dims, 2),
             code = rlx_file_writer_here(&k->w);
    uint32_t list[] = { rlx_operand(RLX_OPERAND_EXPR, expr) }, args[] = { 0, 2 };
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_TENSOR, list, 1, 2, RELAX_FLOAT32);
    rlx_file_writer_place(&k->w, rlx_file_writer_name(&k->w, RLX_SLICE("lv")),
                          rlx_file_writer_name(&k->w, RLX_SLICE("m.py")), 3, 5);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL, args, 2, 3, g, 0);
    EMIT(RLX_OP_CONST, 4, t);
    RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, ((uint32_t[]){ 3, 4 }), 2, 3);
    EMIT(RLX_OP_RETURN, 3);
    kit_function(k, f, "main", code, params, 2, 5, 1);
    params = kit_objects(k, 2);
    code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_PRIM, 2, RELAX_BOOL, rlx_operand_imm(1));
    uint32_t branch = EMIT(RLX_OP_BRANCH, 2, 0);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, args, 1, 2,
                  rlx_file_writer_packed(&k->w, RLX_SLICE("test.touch")));
    uint32_t jump = EMIT(RLX_OP_JUMP, 0);
    rlx_file_writer_patch(&k->w, branch, rlx_file_writer_here(&k->w));
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_BUILTIN, args, 1, 2,
                  rlx_file_writer_packed(&k->w, RLX_SLICE("vm.builtin.shape_of")));
    rlx_file_writer_patch(&k->w, jump, rlx_file_writer_here(&k->w));
    EMIT(RLX_OP_RETURN, 2);
    kit_function(k, g, "inner", code, params, 2, 3, 0);
}

static void run_sample(kit *k)
{
    relax_value args[] = { kit_vector(3, 0), kit_vector(3, 1) }, y;
    kit_expect(k, "main", args, 2, &y);
    assert_int_equal(relax_value_tuple_size(&y), 2);
    relax_value_release(&y);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
}

static void loads_what_was_written(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    kit_register(k, "test.touch", touch, NULL);
    write_sample(k);
    kit_load(k);
    run_sample(k);
    assert_int_equal(relax_executable_num_functions(k->exe), 2);
    assert_string_equal(relax_executable_function_name(k->exe, 1, NULL), "inner");
    assert_null(relax_executable_function_name(k->exe, 2, NULL));
    assert_int_equal(relax_executable_num_params(k->exe, 0), 2);
    assert_string_equal(relax_executable_param_name(k->exe, 0, 1, NULL), "x1");
    assert_int_equal(relax_executable_param_kind(k->exe, 0, 0), RELAX_VALUE_KIND_TENSOR);
    assert_int_equal(relax_executable_param_dtype(k->exe, 0, 0), RELAX_FLOAT32);
    assert_int_equal(relax_executable_param_ndim(k->exe, 0, 0), 1);
    assert_int_equal(relax_executable_param_dim(k->exe, 0, 0, 0), -1);
    relax_bytes *text = relax_executable_param_text(k->exe, 0, 0);
    assert_string_equal(relax_bytes_data(text), "R.Tensor((n,), dtype=\"float32\")");
    relax_bytes_release(text);
    assert_null(relax_executable_param_text(k->exe, 0, 2));
    kit_end(k);
}

static void saves_reads_and_maps_files(void **state)
{
    const char *dir = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/test_vm_load_%d.rlx", dir ? dir : "/tmp", (int)getpid());
    kit kit_, *k = &kit_;
    kit_begin(k);
    kit_register(k, "test.touch", touch, NULL);
    write_sample(k);
    kit_load(k);
    assert_int_equal(relax_executable_save(k->exe, path, strlen(path), NULL), RELAX_OK);
    for (int map = 0; map < 2; map++) {
        relax_load_options o;
        relax_load_options_init(&o, sizeof o);
        o.map_file = map;
        relax_vm_release(k->vm);
        relax_executable_release(k->exe);
        assert_int_equal(relax_executable_load_file(path, strlen(path), &o, &k->exe, &k->err),
                         RELAX_OK);
        relax_vm_options vo;
        relax_vm_options_init(&vo, sizeof vo);
        vo.registry = k->registry;
        assert_int_equal(relax_vm_create(k->exe, &vo, &k->vm, NULL), RELAX_OK);
        run_sample(k);
    }
    remove(path);
    relax_executable *none;
    assert_int_equal(relax_executable_load_file(path, strlen(path), NULL, &none, &k->err),
                     RELAX_ERROR_IO);
    assert_string_equal(relax_error_code(k->err), "LD14");
    relax_error_release(k->err);
    /* a name that is no text, and one that is cut inside of a character */
    memset(path, 'a', 200);
    memcpy(path + 199, "\xc3\xa9", 3);
    path[0] = '\xff';
    assert_int_equal(relax_executable_load_file(path, strlen(path), NULL, &none, &k->err),
                     RELAX_ERROR_IO);
    size_t len;
    const char *message = relax_error_message(k->err, &len);
    assert_int_equal(rlx_utf8_valid(message, len), len);
    kit_end(k);
}

/* Gives the file sums that fit, as somebody who means harm would. */
static void repair_sums(unsigned char *file, size_t size)
{
    rlx_file_header h;
    if (size < sizeof h)
        return;
    memcpy(&h, file, sizeof h);
    if (h.num_sections > RLX_SECTION_END ||
        size < sizeof h + h.num_sections * sizeof(rlx_file_section))
        return;
    for (uint32_t i = 0; i < h.num_sections; i++) {
        rlx_file_section s;
        unsigned char *row = file + sizeof h + i * sizeof s;
        memcpy(&s, row, sizeof s);
        if (s.offset > size || s.length > size - s.offset)
            continue;
        s.checksum = rlx_crc32c(0, file + s.offset, s.length);
        memcpy(row, &s, sizeof s);
    }
    h.checksum = 0;
    memcpy(file, &h, sizeof h);
    h.checksum = rlx_crc32c(0, file, sizeof h + h.num_sections * sizeof(rlx_file_section));
    memcpy(file, &h, sizeof h);
}

/* Loads, and runs what loads: whatever happens, nothing crashes. */
static bool survives(kit *k, const unsigned char *file, size_t size)
{
    relax_executable *exe = NULL;
    relax_vm *vm = NULL;
    relax_status s = relax_executable_load(file, size, NULL, &exe, &k->err);
    if (s != RELAX_OK) {
        assert_null(exe);
        assert_true(relax_error_code(k->err)[0] == 'L' || s == RELAX_ERROR_OUT_OF_MEMORY);
        relax_error_release(k->err);
        k->err = NULL;
        return false;
    }
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.registry = k->registry;
    o.max_memory = 1 << 24;
    assert_int_equal(relax_vm_create(exe, &o, &vm, NULL), RELAX_OK);
    relax_vm_set_timeout(vm, 5000000);
    for (size_t f = 0; f < relax_executable_num_functions(exe); f++) {
        relax_value args[] = { kit_vector(3, 0), kit_vector(3, 1) }, y;
        relax_vm_call_function(vm, f, args, 2, &y, NULL);
        relax_value_release(&y);
        relax_value_release(&args[0]);
        relax_value_release(&args[1]);
    }
    relax_vm_release(vm);
    relax_executable_release(exe);
    return true;
}

static void survives_every_flipped_byte(void **state)
{
    kit kit_, *k = &kit_;
    static const unsigned char flips[] = { 0x01, 0x80, 0xff };
    kit_begin(k);
    kit_register(k, "test.touch", touch, NULL);
    write_sample(k);
    kit_load(k);
    size_t size = k->file->size, loaded = 0;
    unsigned char *copy = malloc(size);
    for (size_t i = 0; i < size; i++)
        for (size_t f = 0; f < RLX_COUNT(flips); f++) {
            memcpy(copy, k->file->data, size);
            copy[i] ^= flips[f];
            assert_false(survives(k, copy, size)); /* the sums tell */
            repair_sums(copy, size);
            loaded += survives(k, copy, size);
        }
    assert_true(loaded > 0); /* weights, for example, may be anything */
    free(copy);
    kit_end(k);
}

static void survives_truncation(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    write_sample(k);
    kit_load(k);
    for (size_t size = 0; size < k->file->size; size++) {
        unsigned char *copy = malloc(size ? size : 1);
        memcpy(copy, k->file->data, size);
        assert_false(survives(k, copy, size));
        repair_sums(copy, size);
        assert_false(survives(k, copy, size));
        relax_bytes *text;
        if (size % 64 == 0) {
            assert_int_equal(relax_disassemble(copy, size, &text, NULL), RELAX_OK);
            relax_bytes_release(text);
        }
        free(copy);
    }
    kit_end(k);
}

static rlx_file_section *section_at(unsigned char *file, uint32_t i)
{
    return (rlx_file_section *)(void *)(file + sizeof(rlx_file_header)) + i;
}

/* What one section says of itself taken from another: its kind, its place, its length, both. */
static void exchange(rlx_file_section *a, rlx_file_section *b, int what)
{
    rlx_file_section was = *a;
    if (what == 0)
        a->kind = b->kind, b->kind = was.kind;
    if (what == 1 || what == 3)
        a->offset = b->offset, b->offset = was.offset;
    if (what == 2 || what == 3)
        a->length = b->length, b->length = was.length;
    if (what == 4)
        a->offset = b->offset, a->length = b->length;
    if (what == 5)
        *a = *b;
}

static void survives_exchanged_sections(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    kit_register(k, "test.touch", touch, NULL);
    write_sample(k);
    kit_load(k);
    rlx_file_header h;
    memcpy(&h, k->file->data, sizeof h);
    assert_true(h.num_sections > 4);
    unsigned char *copy = malloc(k->file->size);
    size_t tried = 0, accepted = 0;
    for (uint32_t i = 0; i < h.num_sections; i++)
        for (uint32_t j = 0; j < h.num_sections; j++)
            for (int what = 0; what < 6; what++) {
                memcpy(copy, k->file->data, k->file->size);
                exchange(section_at(copy, i), section_at(copy, j), what);
                bool same = memcmp(copy, k->file->data, k->file->size) == 0;
                repair_sums(copy, k->file->size);
                bool loads = survives(k, copy, k->file->size);
                assert_true(loads || !same);
                accepted += loads && !same;
                tried++;
            }
    assert_true(accepted < tried / 100); /* zeros between sections may happen to mean something */
    free(copy);
    kit_end(k);
}

/* ---- the verifier --------------------------------------------------------------------------- */

/* One function of two parameters and four registers with the given words as its code; NULL: it
 * loads. */
static void expect_code(const uint32_t *words, size_t count, const char *want)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 2);
    for (size_t i = 0; i < count; i++)
        assert_true(rlx_vec_push(&k->memory, &k->w.code, words[i]));
    kit_function(k, f, "main", 0, params, 2, 4, 1);
    assert_non_null(k->file = rlx_file_writer_finish(&k->w, &k->memory));
    relax_status s = relax_executable_load(k->file->data, k->file->size, NULL, &k->exe, &k->err);
    if (s == RELAX_OK ? want != NULL : !want || strcmp(relax_error_code(k->err), want) != 0)
        fail_msg("wanted %s, got %s %s", want ? want : "a program", relax_error_code(k->err),
                 relax_error_message(k->err, NULL));
    kit_end(k);
}

#define H(op, n) ((uint32_t)(RLX_OP_##op) | (uint32_t)(n) << 16)
#define CODE(want, ...)                                                                           \
    expect_code((const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4, \
                want)

static void refuses_bad_code(void **state)
{
    CODE(NULL, H(RETURN, 0), 1);
    CODE("LD15", H(MOVE, 0), 2, 1);                                     /* runs over its end */
    CODE("LD06", H(MOVE, 0), 2);                                        /* breaks off */
    CODE("LD06", 0xc8);                                                 /* no instruction */
    CODE("LD06", H(RETURN, 1), 1, 1);                                   /* a list where none is */
    /* bits that mean nothing */
    CODE("LD06", H(RETURN, 0) | 0x100, 1);
    CODE("LD07", H(RETURN, 0), 4);                                      /* register out of range */
    CODE("LD11", H(RETURN, 0), 2);                                      /* never written */
    CODE("LD11", H(KILL, 1), 0, H(RETURN, 0), 0);                       /* emptied before */
    CODE("LD11", H(TAKE, 0), 2, 0, H(RETURN, 0), 0);
    CODE("LD07", H(CONST, 0), 2, 0, H(RETURN, 0), 2);                   /* no constants */
    /* wrong number of arguments */
    CODE("LD07", H(CALL, 1), 2, 0, 0, 0, H(RETURN, 0), 2);
    CODE(NULL, H(CALL, 2), 2, 0, 0, 0, 1, H(RETURN, 0), 2);
    CODE("LD07", H(CALL, 2), 2, 1, 0, 0, 1, H(RETURN, 0), 2);           /* no such function */
    CODE("LD07", H(CALL_KERNEL, 0), 0, H(RETURN, 0), 0);                /* no kernels */
    CODE("LD07", H(PRIM, 0), 2, RELAX_FLOAT32, 3u << 29, H(RETURN, 0), 2);
    /* symbol out of range */
    CODE("LD07", H(PRIM, 0), 2, RELAX_INT64, 2u << 29 | 1, H(RETURN, 0), 2);
    /* unknown kind of operand */
    CODE("LD07", H(PRIM, 0), 2, RELAX_INT64, 7u << 29, H(RETURN, 0), 2);
    /* offset of the parameters, not a description */
    CODE("LD07", H(MATCH, 0), 0, 0, 0, RLX_NO_INDEX, H(RETURN, 0), 0);
    CODE("LD07", H(CALL_VALUE_KNOWN, 1), 2, 0, 0, 1, H(RETURN, 0), 2);
    CODE("LD07", H(ALLOC_TENSOR, 1), 2, RELAX_HANDLE, 3u << 29, H(RETURN, 0), 2);
    CODE("LD07", H(ALLOC_OVER, 1), 2, 0, 0, RELAX_HANDLE, 3u << 29, H(RETURN, 0), 2);
    CODE("LD11", H(ALLOC_OVER, 1), 2, 2, 0, RELAX_FLOAT32, 3u << 29, H(RETURN, 0), 2);
    CODE("LD11", H(TAKE_FIELD, 0), 2, 2, 0, H(RETURN, 0), 2);
    CODE(NULL, H(TAKE_FIELD, 0), 2, 0, 70000, H(RETURN, 0), 2);
    CODE(NULL, H(ALLOC_OVER, 1), 2, 0, RLX_NO_INDEX, RELAX_FLOAT32, 3u << 29, H(RETURN, 0), 2);
    CODE("LD15", H(JUMP, 0), 1);                                        /* into an operand */
    CODE("LD15", H(JUMP, 0), 100);
    CODE("LD15", H(JUMP, 0), (uint32_t)-1);
    CODE(NULL, H(JUMP, 0), 0);
    /* back into code that nothing leads to */
    CODE("LD15", H(JUMP, 0), 4, H(RETURN, 0), 0, H(JUMP, 0), (uint32_t)-2);
    /* written on one way only */
    CODE("LD11", H(BRANCH, 0), 0, 6, H(MOVE, 0), 2, 1, H(RETURN, 0), 2);
    /* written on both */
    CODE(NULL, H(BRANCH, 0), 0, 8, H(MOVE, 0), 2, 1, H(JUMP, 0), 5, H(MOVE, 0), 2, 0, H(RETURN, 0),
         2);
    /* a loop whose register is empty the second time */
    CODE("LD11", H(MOVE, 0), 2, 1, H(TAKE, 0), 3, 2, H(BRANCH, 0), 0, (uint32_t)-3, H(RETURN, 0),
         3);
    CODE(NULL, H(MOVE, 0), 2, 1, H(MOVE, 0), 3, 2, H(BRANCH, 0), 0, (uint32_t)-3, H(RETURN, 0), 3);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void survives_every_failed_allocation(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    kit_register(k, "test.touch", touch, NULL);
    write_sample(k);
    kit_load(k);
    bool whole = false;
    size_t n = 1;
    for (; !whole; n++) {
        failing f;
        rlx_memory unused;
        failing_init(&f, &unused, n);
        relax_executable *exe = NULL;
        relax_vm *vm = NULL;
        relax_load_options lo;
        relax_vm_options vo;
        relax_load_options_init(&lo, sizeof lo);
        relax_vm_options_init(&vo, sizeof vo);
        lo.allocator = vo.allocator = &f.allocator;
        vo.registry = k->registry;
        relax_error *err = NULL;
        relax_status s = relax_executable_load(k->file->data, k->file->size, &lo, &exe, &err);
        if (s == RELAX_OK)
            s = relax_vm_create(exe, &vo, &vm, &err);
        if (s == RELAX_OK) {
            relax_value args[] = { kit_vector(3, 0), kit_vector(3, 1) }, y;
            s = relax_vm_call(vm, "main", 4, args, 2, &y, &err);
            relax_value_release(&y);
            relax_value_release(&args[0]);
            relax_value_release(&args[1]);
        }
        whole = s == RELAX_OK && f.calls < n;
        if (s != RELAX_OK) {
            assert_int_equal(s, RELAX_ERROR_OUT_OF_MEMORY);
            assert_non_null(err);
        }
        relax_error_release(err);
        relax_vm_release(vm);
        relax_executable_release(exe);
        assert_int_equal(f.blocks, 0);
        assert_int_equal(f.live, 0);
    }
    assert_true(n > 15);
    kit_end(k);
}

static void disassembles(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    write_sample(k);
    kit_load(k);
    relax_bytes *text;
    assert_int_equal(relax_executable_disassemble(k->exe, &text, NULL), RELAX_OK);
    const char *t = relax_bytes_data(text);
    static const char *const lines[] = {
        ("function 0 main public(r0 x0: R.Tensor((n,), dtype=\"float32\"), r1 x1: R.Tensor((n,), "
         "dtype=\"float32\"))"),
        "     0  alloc_tensor   r2, float32, {T.Select(n < 4, 4, n)}\n",
        "     4  call           r3, inner, 0, r0, r2    # lv m.py:3:5\n",
        "     4  branch         r2, -> 13\n",
        "call_packed    r2, test.touch, r0",
        "  c2: \"text\"\n",
    };
    for (size_t i = 0; i < RLX_COUNT(lines); i++)
        if (!strstr(t, lines[i]))
            fail_msg("no line\n%s\nin\n%s", lines[i], t);
    relax_bytes_release(text);
    /* A damaged file still shows its code. */
    k->file->data[k->file->size - 1] ^= 1;
    assert_int_equal(relax_disassemble(k->file->data, k->file->size, &text, NULL), RELAX_OK);
    assert_non_null(strstr(relax_bytes_data(text), "damaged"));
    assert_non_null(strstr(relax_bytes_data(text), "does not load: LD04"));
    assert_non_null(strstr(relax_bytes_data(text), "call_packed"));
    relax_bytes_release(text);
    kit_end(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_what_was_written),
        cmocka_unit_test(saves_reads_and_maps_files),
        cmocka_unit_test(refuses_bad_code),
        cmocka_unit_test(survives_every_flipped_byte),
        cmocka_unit_test(survives_truncation),
        cmocka_unit_test(survives_exchanged_sections),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(disassembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
