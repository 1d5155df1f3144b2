/* test_vm_kernel.c: kernels under the VM: from a tensor program to a file, through calls of every
 * sort. */
#include "assemble.h"

#include "codegen/kgen.h"
#include "ir/ir.h"
#include "tir/tir.h"

#define EMIT(...) RLX_EMIT(&k->w, __VA_ARGS__)

/* C = A + B over vectors of one size */
static uint32_t write_add(kit *k)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, "n");
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

static void write_program(kit *k)
{
    float data[] = { 1, 1, 1, 1 };
    int64_t four = 4, dims[] = { kit_bind(k, 0, "n"), kit_bind(k, 1, "m") };
    uint32_t kernel = write_add(k),
             weights =
                 rlx_file_writer_const_tensor(&k->w, RELAX_FLOAT32, &four, 1, data, sizeof data);
    uint32_t f = rlx_file_writer_function(&k->w), g = rlx_file_writer_function(&k->w),
             h = rlx_file_writer_function(&k->w);
    uint32_t params = kit_vectors(k, dims, 2), code = rlx_file_writer_here(&k->w),
             n = rlx_operand(RLX_OPERAND_SYMBOL, 0);
    uint32_t constant = rlx_operand(RLX_OPERAND_CONST, weights);
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_RESULT, &n, 1, 2, 0, RELAX_FLOAT32);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_KERNEL, ((uint32_t[]){ 0, 1, 2 }), 3, kernel);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_KERNEL, ((uint32_t[]){ constant, 2, 2 }), 3, kernel);
    EMIT(RLX_OP_RETURN, 2);
    kit_function(k, f, "main", code, params, 2, 3, 2);
    code = rlx_file_writer_here(&k->w);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_KERNEL, ((uint32_t[]){ 0, 1, constant }), 3, kernel);
    EMIT(RLX_OP_RETURN, 0);
    kit_function(k, g, "spoils", code, params, 2, 2, 2);
    rlx_file_function record = { .name = rlx_file_writer_name(&k->w, RLX_SLICE("add")),
                                 .flags = RLX_FUNCTION_PUBLIC | RLX_FUNCTION_KERNEL,
                                 .code = kernel,
                                 .params = RLX_NO_INDEX,
                                 .result = RLX_NO_INDEX,
                                 .signature = RLX_NO_INDEX };
    rlx_file_writer_set_function(&k->w, h, &record);
}

static void runs_kernels(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    write_program(k);
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10), kit_vector(4, 0) }, y;
    kit_expect(k, "main", args, 2, &y);
    const float *got = relax_tensor_data(relax_value_get_tensor(&y));
    assert_true(got[0] == 11 && got[3] == 17);
    relax_value_release(&y);
    relax_tensor *buffer = relax_value_get_tensor(&args[2]);
    relax_vm_counters c = { .struct_size = sizeof c };
    for (int i = 0; i < 2; i++)
        assert_int_equal(relax_vm_call_into(k->vm, 0, args, 2, &buffer, 1, NULL), RELAX_OK);
    relax_vm_get_counters(k->vm, &c);
    assert_int_equal(c.allocations, 0);
    assert_true(((float *)relax_tensor_data(buffer))[3] == 17);
    kit_expect(k, "add", args, 3, &y); /* the kernel itself is public */
    assert_true(((float *)relax_tensor_data(buffer))[3] == 16);
    kit_fails(k, "add", args, 2, "RT01", NULL);
    kit_fails(k, "spoils", args, 2, "RT02", "kernel add would write to argument 2, a constant");
    relax_value shorter = kit_vector(3, 0), bad[] = { args[0], shorter };
    kit_fails(k, "main", bad, 2, "RT05", NULL);
    relax_value_release(&shorter);
    for (int i = 0; i < 3; i++)
        relax_value_release(&args[i]);
    kit_end(k);
}

static void stops_kernels(void **state)
{
    kit kit_, *k = &kit_;
    static int32_t flag = 1;
    kit_begin(k);
    write_program(k);
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) };
    relax_vm_set_cancel_flag(k->vm, &flag);
    kit_fails(k, "main", args, 2, "RT12", "cancelled");
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(runs_kernels),
                                        cmocka_unit_test(stops_kernels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
