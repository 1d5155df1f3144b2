/* test_prove_calls.c: which arguments of kernels count as known when a program is loaded, and that whatever is not
 * what it was made as still fails. Each function calls a kernel that adds vectors of four floats. */
#include "assemble.h"

#include "codegen/kgen.h"
#include "ir/ir.h"
#include "tir/tir.h"

#define EMIT(...) RLX_EMIT(&k->w, __VA_ARGS__)
/* An instruction with the list of its operands, then its other words. */
#define WORDS(...) (const uint32_t[]){ __VA_ARGS__ }
#define EMIT_LIST(op, list, count, ...) RLX_EMIT_LIST(&k->w, op, list, count, __VA_ARGS__)
#define IMM(n) rlx_operand_imm(n)

static uint32_t write_add(kit *k)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(&t, 4);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, RLX_TIR_LIST(n));
    const rlx_buffer *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, RLX_TIR_LIST(n));
    const rlx_buffer *c = rlx_tir_param(&t, "C", RELAX_FLOAT32, RLX_TIR_LIST(n));
    rlx_tir_begin_block(&t, "add");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n);
    rlx_tir_store(&t, c, RLX_TIR_LIST(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, a, RLX_TIR_LIST(i)),
                              rlx_tir_load(&t, b, RLX_TIR_LIST(i))));
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    rlx_buf bytes;
    rlx_buf_init(&bytes, &k->memory);
    assert_non_null(f);
    assert_true(rlx_kernel_write(ctx, f, RLX_SLICE("add"), &bytes, NULL));
    uint32_t number = rlx_file_writer_kernel(&k->w, RLX_SLICE("add"), bytes.data, bytes.len);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
    return number;
}

/* What stands in front of the call. Registers 0 and 1 are the parameters, 2 is the output. */
typedef struct writing { kit *k; uint32_t constant, five, call; } writing;

static void alloc(kit *k, uint32_t reg, rlx_dtype dtype, int32_t size)
{
    EMIT_LIST(RLX_OP_ALLOC_TENSOR, (WORDS(IMM(size))), 1, reg, dtype);
}

static void call(writing *w, uint32_t a, uint32_t b, uint32_t out)
{
    kit *k = w->k;
    w->call = rlx_file_writer_here(&k->w);
    EMIT_LIST(RLX_OP_CALL_KERNEL, (WORDS(a, b, out)), 3, 0);
}

static void made_here(writing *w)
{
    alloc(w->k, 2, RELAX_FLOAT32, 4);
    call(w, w->constant, w->constant, 2);
}

static void made_in_storage(writing *w)
{
    kit *k = w->k;
    EMIT(RLX_OP_ALLOC_STORAGE, 3, IMM(64));
    EMIT_LIST(RLX_OP_ALLOC_VIEW, (WORDS(IMM(4))), 1, 2, 3, IMM(16), RELAX_FLOAT32);
    EMIT_LIST(RLX_OP_ALLOC_VIEW, (WORDS(IMM(4))), 1, 4, 3, IMM(32), RELAX_FLOAT32);
    EMIT_LIST(RLX_OP_CALL_KERNEL, (WORDS(w->constant, w->constant, 4)), 3, 0);
    call(w, 4, w->constant, 2);
}

static void from_outside(writing *w)
{
    alloc(w->k, 2, RELAX_FLOAT32, 4);
    call(w, 0, w->constant, 2);
}

static void constant_of_another_size(writing *w)
{
    alloc(w->k, 2, RELAX_FLOAT32, 4);
    call(w, w->constant, w->five, 2);
}

static void of_another_size(writing *w)
{
    alloc(w->k, 2, RELAX_FLOAT32, 5);
    call(w, w->constant, w->constant, 2);
}

static void of_another_dtype(writing *w)
{
    alloc(w->k, 2, RELAX_INT32, 4);
    call(w, w->constant, w->constant, 2);
}

static void of_another_rank(writing *w)
{
    kit *k = w->k;
    EMIT_LIST(RLX_OP_ALLOC_TENSOR, (WORDS(IMM(4), IMM(1))), 2, 2, RELAX_FLOAT32);
    call(w, w->constant, w->constant, 2);
}

static void made_again(writing *w)
{
    alloc(w->k, 2, RELAX_FLOAT32, 4);
    alloc(w->k, 2, RELAX_FLOAT32, 5);
    call(w, w->constant, w->constant, 2);
}

static void moved_over(writing *w)
{
    kit *k = w->k;
    alloc(k, 2, RELAX_FLOAT32, 4);
    EMIT(RLX_OP_MOVE, 2, 0);
    call(w, w->constant, w->constant, 2);
}

static void constant_over(writing *w)
{
    kit *k = w->k;
    alloc(k, 2, RELAX_FLOAT32, 4);
    EMIT(RLX_OP_CONST, 2, 0);
    call(w, w->constant, w->constant, 2);
}

static void output_is_a_constant(writing *w)
{
    alloc(w->k, 2, RELAX_FLOAT32, 4);
    call(w, 2, 2, w->constant);
}

static void size_of_a_symbol(writing *w)
{
    kit *k = w->k;
    EMIT_LIST(RLX_OP_ALLOC_TENSOR, (WORDS(rlx_operand(RLX_OPERAND_SYMBOL, 0))), 1, 2,
                  RELAX_FLOAT32);
    call(w, w->constant, w->constant, 2);
}

/* if n: another tensor; the call is behind both ways */
static void in_one_branch(writing *w)
{
    kit *k = w->k;
    alloc(k, 2, RELAX_FLOAT32, 4);
    EMIT(RLX_OP_PRIM, 3, RELAX_BOOL, rlx_operand(RLX_OPERAND_SYMBOL, 0));
    uint32_t at = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_BRANCH, 3, 0);
    alloc(k, 2, RELAX_FLOAT32, 5);
    rlx_file_writer_patch(&k->w, at, rlx_file_writer_here(&k->w));
    call(w, w->constant, w->constant, 2);
}

/* The second time round the tensor is another one. */
static void in_a_loop(writing *w)
{
    kit *k = w->k;
    alloc(k, 2, RELAX_FLOAT32, 4);
    uint32_t back = rlx_file_writer_here(&k->w);
    call(w, w->constant, w->constant, 2);
    alloc(k, 2, RELAX_FLOAT32, 5);
    EMIT(RLX_OP_PRIM, 3, RELAX_BOOL, IMM(1));
    uint32_t at = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_BRANCH, 3, 0);
    uint32_t jump = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_JUMP, 0);
    rlx_file_writer_patch(&k->w, jump, back);
    rlx_file_writer_patch(&k->w, at, rlx_file_writer_here(&k->w));
}

static const struct {
    const char *name;
    void (*write)(writing *w);
    int known;              /* bits of the call */
    const char *code;       /* with five elements: how it fails; NULL: it does not */
} cases[] = {
    { "made_here", made_here, 7, NULL },
    { "made_in_storage", made_in_storage, 7, NULL },
    { "from_outside", from_outside, 6, "RT05" },
    { "constant_of_another_size", constant_of_another_size, 5, "RT05" },
    { "of_another_size", of_another_size, 3, "RT05" },
    { "of_another_dtype", of_another_dtype, 3, "RT03" },
    { "of_another_rank", of_another_rank, 3, "RT04" },
    { "made_again", made_again, 3, "RT05" },
    { "moved_over", moved_over, 3, "RT05" },
    { "constant_over", constant_over, 3, "RT02" },
    { "output_is_a_constant", output_is_a_constant, 3, "RT02" },
    { "size_of_a_symbol", size_of_a_symbol, 3, "RT05" },
    { "in_one_branch", in_one_branch, 3, "RT05" },
    { "in_a_loop", in_a_loop, 3, "RT05" },
};
#define CASES (sizeof cases / sizeof *cases)

static uint32_t write_vector(kit *k, int64_t n)
{
    static const float data[] = { 1, 2, 3, 4, 5 };
    uint32_t number = rlx_file_writer_const_tensor(&k->w, RELAX_FLOAT32, &n, 1, data,
                                                   (size_t)n * sizeof *data);
    return rlx_operand(RLX_OPERAND_CONST, number);
}

static void knows_and_checks(void **state)
{
    kit kit_, *k = &kit_;
    uint32_t calls[CASES], functions[CASES];
    (void)state;
    kit_begin(k);
    int64_t dims[] = { kit_bind(k, 0, "n"), kit_sym(k, 0, "n") };
    uint32_t params = kit_vectors(k, dims, 2);
    write_add(k);
    writing w = { .k = k };
    w.constant = write_vector(k, 4);
    w.five = write_vector(k, 5);
    for (size_t i = 0; i < CASES; i++)
        functions[i] = rlx_file_writer_function(&k->w);
    for (size_t i = 0; i < CASES; i++) {
        uint32_t code = rlx_file_writer_here(&k->w);
        cases[i].write(&w);
        EMIT(RLX_OP_RETURN, 2);
        kit_function(k, functions[i], cases[i].name, code, params, 2, 5, 1);
        calls[i] = w.call;
    }
    kit_load(k);
    relax_value five[] = { kit_vector(5, 1), kit_vector(5, 1) }, y;
    for (size_t i = 0; i < CASES; i++) {
        if (k->exe->known[calls[i]] != cases[i].known)
            fail_msg("%s: known are %d, wanted %d", cases[i].name, k->exe->known[calls[i]],
                     cases[i].known);
        if (cases[i].code) {
            kit_fails(k, cases[i].name, five, 2, cases[i].code, NULL);
            continue;
        }
        kit_expect(k, cases[i].name, five, 2, &y);
        const float *got = relax_tensor_data(relax_value_get_tensor(&y));
        assert_true(got[0] == 2 + (i == 1) && got[3] == 8 + 4 * (i == 1));
        relax_value_release(&y);
    }
    relax_value_release(&five[0]);
    relax_value_release(&five[1]);
    kit_end(k);
}

/* Nothing is known of code that two functions have: one of them may come to the call another way. */
static void shared_code(void **state)
{
    kit kit_, *k = &kit_;
    (void)state;
    kit_begin(k);
    int64_t dims[] = { kit_bind(k, 0, "n"), kit_sym(k, 0, "n") };
    uint32_t params = kit_vectors(k, dims, 2);
    write_add(k);
    writing w = { .k = k };
    w.constant = write_vector(k, 4);
    uint32_t whole = rlx_file_writer_function(&k->w), tail = rlx_file_writer_function(&k->w),
             code = rlx_file_writer_here(&k->w);
    alloc(k, 1, RELAX_FLOAT32, 4);
    call(&w, w.constant, w.constant, 1);
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, whole, "whole", code, params, 2, 3, 1);
    kit_function(k, tail, "tail", w.call, params, 2, 3, 1);
    for (int i = 0; i < 20; i++) /* code of nobody: all functions have no more than there is */
        alloc(k, 2, RELAX_FLOAT32, 4);
    kit_load(k);
    relax_value five[] = { kit_vector(5, 1), kit_vector(5, 1) }, y;
    for (uint32_t i = 0; i < k->exe->num_code; i++)
        assert_int_equal(k->exe->known[i], 0);
    kit_fails(k, "tail", five, 2, "RT05", NULL);
    kit_expect(k, "whole", five, 2, &y);
    relax_value_release(&y);
    relax_value_release(&five[0]);
    relax_value_release(&five[1]);
    kit_end(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(knows_and_checks),
                                        cmocka_unit_test(shared_code) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
