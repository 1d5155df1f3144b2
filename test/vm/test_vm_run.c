/* test_vm_run.c: running hand-assembled programs: every instruction, failures, limits. */
#include "assemble.h"

#define EMIT(...) RLX_EMIT(&k->w, __VA_ARGS__)

/* ---- values and symbols --------------------------------------------------------------------- */

static void returns_its_argument(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    int64_t n = kit_bind(k, 0, "n");
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_vectors(k, &n, 1),
             code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_RETURN, 0);
    kit_function(k, f, "main", code, params, 1, 1, 1);
    kit_load(k);
    relax_value x = kit_vector(3, 1), y;
    kit_expect(k, "main", &x, 1, &y);
    /* shared, not copied */
    assert_ptr_equal(relax_value_get_tensor(&x), relax_value_get_tensor(&y));
    relax_value_release(&x);
    assert_true(((float *)relax_tensor_data(relax_value_get_tensor(&y)))[2] == 3.0f);
    relax_value_release(&y);
    kit_end(k);
}

static uint32_t product_plus_one(kit *k)
{
    rlx_desc_expr_writer e;
    rlx_desc_expr_begin(&e, &k->w);
    rlx_desc_expr_symbol(&e, 0, RLX_SLICE("n"));
    rlx_desc_expr_symbol(&e, 1, RLX_SLICE("m"));
    rlx_desc_expr_put_op(&e, RLX_EXPR_MUL);
    rlx_desc_expr_int(&e, 1);
    rlx_desc_expr_put_op(&e, RLX_EXPR_ADD);
    return rlx_desc_expr_end(&e);
}

static void computes_with_symbols(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    int64_t dims[] = { kit_bind(k, 0, "n"), kit_bind(k, 1, "m") };
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_vectors(k, dims, 2),
             expr = product_plus_one(k);
    uint32_t code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_SYMBOL, 2, rlx_operand(RLX_OPERAND_EXPR, expr));
    uint32_t list[] = { rlx_operand(RLX_OPERAND_SYMBOL, 2), rlx_operand_imm(-7),
                        rlx_operand(RLX_OPERAND_SYMBOL, 0) };
    RLX_EMIT_LIST(&k->w, RLX_OP_SHAPE, list, 3, 2);
    EMIT(RLX_OP_PRIM, 3, RELAX_BOOL, rlx_operand(RLX_OPERAND_SYMBOL, 1));
    uint32_t fields[] = { 2, 3, 0, rlx_operand(RLX_OPERAND_EXPR, expr) };
    RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, fields, 4, 4);
    EMIT(RLX_OP_RETURN, 4);
    kit_function(k, f, "main", code, params, 2, 5, 3);
    kit_load(k);
    relax_value args[] = { kit_vector(3, 0), kit_vector(5, 0) }, t, field;
    kit_expect(k, "main", args, 2, &t);
    const int64_t *got;
    size_t ndim;
    assert_int_equal(relax_value_tuple_size(&t), 4);
    relax_value_tuple_get(&t, 0, &field);
    assert_int_equal(relax_value_get_shape(&field, &got, &ndim), RELAX_OK);
    assert_int_equal(ndim, 3);
    assert_true(got[0] == 16 && got[1] == -7 && got[2] == 3);
    int32_t truth;
    int64_t number;
    relax_value_tuple_get(&t, 1, &field);
    assert_int_equal(relax_value_get_bool(&field, &truth), RELAX_OK);
    assert_int_equal(truth, 1);
    relax_value_tuple_get(&t, 3, &field);
    assert_int_equal(relax_value_get_int(&field, &number), RELAX_OK);
    assert_int_equal(number, 16);
    relax_value_release(&t);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

static void tuples_give_their_fields(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    uint32_t f = rlx_file_writer_function(&k->w), g = rlx_file_writer_function(&k->w),
             params = kit_objects(k, 1), code = rlx_file_writer_here(&k->w);
    uint32_t fields[] = { 0, 0 };
    RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, fields, 2, 1);
    EMIT(RLX_OP_GET, 1, 1, 1); /* the tuple goes, its field stays */
    EMIT(RLX_OP_MOVE, 2, 1);
    EMIT(RLX_OP_TAKE, 1, 2);
    EMIT(RLX_OP_MOVE, 1, 1);
    uint32_t dead[] = { 2 };
    rlx_file_writer_emit(&k->w, RLX_OP_KILL, NULL, dead, 1);
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, f, "main", code, params, 1, 3, 0);
    code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_GET, 1, 0, 2);
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, g, "third", code, params, 1, 2, 0);
    kit_load(k);
    relax_value x = kit_vector(2, 5), y, pair, two[2] = { x, x };
    kit_expect(k, "main", &x, 1, &y);
    assert_ptr_equal(relax_value_get_tensor(&x), relax_value_get_tensor(&y));
    relax_value_release(&y);
    kit_fails(k, "third", &x, 1, "RT02", "field 2 of a value that is no tuple");
    assert_int_equal(relax_value_set_tuple(&pair, two, 2, NULL), RELAX_OK);
    kit_fails(k, "third", &pair, 1, "RT09", "field 2 of a tuple of 2");
    relax_value_release(&pair);
    relax_value_release(&x);
    kit_end(k);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static int add(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(args[i].type_index, RELAX_VALUE_TENSOR_VIEW);
    const DLTensor *a = args[0].v.p, *b = args[1].v.p, *c = args[2].v.p;
    for (int64_t i = 0; i < c->shape[0]; i++)
        ((float *)c->data)[i] = ((float *)a->data)[i] + ((float *)b->data)[i];
    ++*(int *)self;
    return 0;
}

/* f(x0: (n,), x1: (n,)) = add into a new tensor */
static void write_adder(kit *k, uint32_t number, const char *name)
{
    int64_t dims[] = { kit_bind(k, 0, "n"), kit_sym(k, 0, "n") };
    uint32_t params = kit_vectors(k, dims, 2), code = rlx_file_writer_here(&k->w),
             n = rlx_operand(RLX_OPERAND_SYMBOL, 0);
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_RESULT, &n, 1, 2, 0, RELAX_FLOAT32);
    uint32_t args[] = { 0, 1, 2 };
    rlx_file_writer_place(&k->w, rlx_file_writer_name(&k->w, RLX_SLICE("sum")),
                          rlx_file_writer_name(&k->w, RLX_SLICE("m.py")), 4, 9);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, args, 3, RLX_NO_INDEX,
                  rlx_file_writer_packed(&k->w, RLX_SLICE("test.add")));
    EMIT(RLX_OP_RETURN, 2);
    kit_function(k, number, name, code, params, 2, 3, 1);
}

static void calls_packed_functions(void **state)
{
    kit kit_, *k = &kit_;
    int calls = 0;
    kit_begin(k);
    kit_register(k, "test.add", add, &calls);
    uint32_t f = rlx_file_writer_function(&k->w);
    write_adder(k, f, "main");
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) }, y;
    kit_expect(k, "main", args, 2, &y);
    assert_int_equal(calls, 3);
    const float *got = relax_tensor_data(relax_value_get_tensor(&y));
    assert_true(got[0] == 10 && got[3] == 16);
    relax_value_release(&y);
    relax_value shorter = kit_vector(3, 0), bad[] = { args[0], shorter };
    kit_fails(k, "main", bad, 2, "RT05", "argument 2 (x1) of main: dimension 0 is 3, expected n = 4");
    kit_fails(k, "main", args, 1, "RT01", "main takes 2 arguments, got 1");
    relax_value_release(&shorter);
    relax_value_set_int(&bad[1], 3);
    kit_fails(k, "main", bad, 2, "RT02",
              "argument 2 (x1) of main: found an integer, expected a tensor");
    kit_fails(k, "other", args, 2, "RT20", NULL);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

static int fails(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return relax_value_set_error(result, "ValueError", 10, "no good", 7);
}

static int destroyed;
static void destroy_token(void *token) { destroyed += *(int *)token; }
static int fails_with_token(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return relax_value_set_user_error(result, self, destroy_token);
}

static int fails_silently(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return 7;
}

static void reports_failing_packed_functions(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    kit_register(k, "test.add", fails, NULL);
    write_adder(k, rlx_file_writer_function(&k->w), "main");
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) }, y;
    kit_fails(k, "main", args, 2, "RT16", "packed function test.add failed: ValueError: no good");
    assert_string_equal(relax_error_kind(k->err, NULL), "ValueError");
    assert_string_equal(relax_error_message(relax_error_cause(k->err), NULL), "no good");
    assert_string_equal(relax_error_trace(k->err, NULL), "  in main, binding sum (m.py:4:9)\n");
    assert_int_equal(relax_error_status(k->err), RELAX_ERROR_RUNTIME);
    int token = 1;
    destroyed = 0;
    relax_registry_register(k->registry, "test.add", 8, fails_with_token, &token, NULL, NULL);
    kit_fails(k, "main", args, 2, "RT16", NULL); /* the VM keeps what it has found */
    relax_vm *again;
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.registry = k->registry;
    assert_int_equal(relax_vm_create(k->exe, &o, &again, NULL), RELAX_OK);
    relax_error_release(k->err);
    assert_int_equal(relax_vm_call(again, "main", 4, args, 2, &y, &k->err), RELAX_ERROR_USER);
    assert_ptr_equal(relax_error_user_token(k->err), &token);
    assert_int_equal(destroyed, 0);
    relax_error_release(k->err);
    k->err = NULL;
    assert_int_equal(destroyed, 1);
    relax_vm_release(again);
    relax_registry_register(k->registry, "test.add", 8, fails_silently, NULL, NULL, NULL);
    assert_int_equal(relax_vm_create(k->exe, &o, &again, NULL), RELAX_OK);
    assert_int_equal(relax_vm_call(again, "main", 4, args, 2, &y, &k->err), RELAX_ERROR_RUNTIME);
    assert_string_equal(relax_error_message(k->err, NULL), "packed function test.add failed");
    relax_vm_release(again);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

static void misses_packed_functions_only_when_reached(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 1),
             code = rlx_file_writer_here(&k->w);
    uint32_t branch = EMIT(RLX_OP_BRANCH, 0, 0);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, (uint32_t[]){ 0 }, 1, 1,
                  rlx_file_writer_packed(&k->w, RLX_SLICE("nobody.has_it")));
    EMIT(RLX_OP_RETURN, 1);
    rlx_file_writer_patch(&k->w, branch, rlx_file_writer_here(&k->w));
    EMIT(RLX_OP_RETURN, 0);
    kit_function(k, f, "main", code, params, 1, 2, 0);
    kit_load(k);
    relax_value no, y;
    relax_value_set_bool(&no, 0);
    kit_expect(k, "main", &no, 1, &y);
    assert_int_equal(relax_value_kind(&y), RELAX_VALUE_KIND_BOOL);
    relax_value_set_bool(&no, 1);
    kit_fails(k, "main", &no, 1, "RT08", "no packed function nobody.has_it is registered");
    relax_value_set_int(&no, 1);
    kit_fails(k, "main", &no, 1, "RT17", NULL);
    relax_value x = kit_vector(1, 1);
    kit_fails(k, "main", &x, 1, "RT17", NULL);
    relax_value_release(&x);
    relax_tensor *t;
    assert_int_equal(relax_tensor_create(RELAX_BOOL, NULL, 0, NULL, &t, NULL), RELAX_OK);
    *(char *)relax_tensor_data(t) = 0;
    relax_value_set_tensor(&x, t);
    kit_expect(k, "main", &x, 1, &y);
    assert_ptr_equal(relax_value_get_tensor(&y), t);
    relax_value_release(&y);
    relax_value_release(&x);
    relax_tensor_release(t);
    kit_end(k);
}

/* main(x, y) = inner(x, y), inner through CALL, TAIL_CALL, a value, and by name as an extern
 * function */
static void calls_relax_functions(void **state)
{
    kit kit_, *k = &kit_;
    int calls = 0;
    static const char *const names[] = { "by_call", "by_tail_call", "by_value", "by_name",
                                         "by_extern" };
    kit_begin(k);
    kit_register(k, "test.add", add, &calls);
    uint32_t inner = rlx_file_writer_function(&k->w), ways[5], args[] = { 0, 1 };
    write_adder(k, inner, "inner");
    uint32_t value = rlx_file_writer_const_scalar(&k->w, RLX_CONSTANT_FUNCTION, 0, inner);
    uint32_t packed = rlx_file_writer_packed(&k->w, RLX_SLICE("inner"));
    uint32_t outside = rlx_file_writer_const_scalar(&k->w, RLX_CONSTANT_EXTERN, 0, packed);
    for (int way = 0; way < 5; way++) {
        ways[way] = rlx_file_writer_function(&k->w);
        uint32_t params = kit_objects(k, 2), code = rlx_file_writer_here(&k->w);
        switch (way) {
        case 0: RLX_EMIT_LIST(&k->w, RLX_OP_CALL, args, 2, 2, inner, 0); break;
        case 1: RLX_EMIT_LIST(&k->w, RLX_OP_TAIL_CALL, args, 2, inner, 0); break;
        case 2:
            EMIT(RLX_OP_CONST, 3, value);
            RLX_EMIT_LIST(&k->w, RLX_OP_CALL_VALUE, args, 2, 2, 3);
            break;
        case 3: RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, args, 2, 2, packed); break;
        default:
            EMIT(RLX_OP_CONST, 3, outside);
            RLX_EMIT_LIST(&k->w, RLX_OP_CALL_VALUE_KNOWN, args, 2, 2, 3, kit_anything(k));
        }
        if (way != 1)
            EMIT(RLX_OP_RETURN, 2);
        kit_function(k, ways[way], names[way], code, params, 2, 4, 0);
    }
    kit_load(k);
    relax_value xs[] = { kit_vector(4, 0), kit_vector(4, 10) }, y;
    for (int way = 0; way < 5; way++) {
        kit_expect(k, names[way], xs, 2, &y);
        assert_true(((float *)relax_tensor_data(relax_value_get_tensor(&y)))[3] == 16);
        relax_value_release(&y);
        relax_value bad[] = { xs[0], xs[0] };
        relax_value_set_int(&bad[0], 3);
        kit_fails(k, names[way], bad, 2, "RT02",
                  "argument 1 (x0) of inner: found an integer, expected a tensor");
    }
    relax_value_release(&xs[0]);
    relax_value_release(&xs[1]);
    kit_end(k);
}

static void calls_only_functions(void **state)
{
    kit kit_, *k = &kit_;
    int calls = 0;
    kit_begin(k);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 2),
             code = rlx_file_writer_here(&k->w);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_VALUE, ((uint32_t[]){ 1, 1, 1 }), 3, 1, 0);
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, f, "main", code, params, 2, 2, 0);
    kit_load(k);
    relax_value args[] = { kit_vector(1, 0), kit_vector(1, 2) }, y;
    kit_fails(k, "main", args, 2, "RT18", NULL);
    relax_value_release(&args[0]);
    relax_packed_func *fn = relax_packed_func_create(add, &calls, NULL);
    relax_value_set_packed_func(&args[0], fn);
    relax_packed_func_release(fn);
    kit_expect(k, "main", args, 2, &y);
    assert_int_equal(calls, 3);
    assert_int_equal(relax_value_kind(&y), RELAX_VALUE_KIND_NULL);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* loop(x) = loop(x), through CALL or TAIL_CALL, or a jump */
static void write_endless(kit *k, const char *name, int way)
{
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 1),
             code = rlx_file_writer_here(&k->w), arg = 0;
    if (way == 0) {
        RLX_EMIT_LIST(&k->w, RLX_OP_CALL, &arg, 1, 1, f, 0);
        EMIT(RLX_OP_RETURN, 1);
    } else if (way == 1) {
        RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, &arg, 1, 1);
        RLX_EMIT_LIST(&k->w, RLX_OP_GET, NULL, 0, 1, 1, 0);
        RLX_EMIT_LIST(&k->w, RLX_OP_TAIL_CALL, (uint32_t[]){ 1 }, 1, f, 0);
    } else {
        EMIT(RLX_OP_JUMP, 0);
    }
    kit_function(k, f, name, code, params, 1, 2, 0);
}

static int set_flag(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    *(int32_t *)self = 1;
    return 0;
}

static void stops_at_its_limits(void **state)
{
    kit kit_, *k = &kit_;
    static int32_t flag;
    kit_begin(k);
    flag = 0;
    kit_register(k, "test.set_flag", set_flag, &flag);
    write_endless(k, "call", 0);
    write_endless(k, "tail_call", 1);
    write_endless(k, "jump", 2);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 0),
             code = rlx_file_writer_here(&k->w);
    uint32_t p = rlx_file_writer_packed(&k->w, RLX_SLICE("test.set_flag"));
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, NULL, 0, 0, p);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, NULL, 0, 0, p);
    EMIT(RLX_OP_RETURN, 0);
    kit_function(k, f, "cancels", code, params, 0, 1, 0);
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.max_depth = 500;
    kit_load_with(k, &o);
    relax_value x = kit_vector(2, 0);
    kit_fails(k, "call", &x, 1, "RT11", "more than 500 calls are active");
    const char *trace = relax_error_trace(k->err, NULL);
    assert_non_null(strstr(trace, "  ... 468 more\n"));
    relax_vm_set_timeout(k->vm, 2000000);
    kit_fails(k, "tail_call", &x, 1, "RT12", "time limit reached");
    assert_int_equal(relax_error_status(k->err), RELAX_ERROR_CANCELLED);
    relax_vm_set_timeout(k->vm, 2000000);
    kit_fails(k, "jump", &x, 1, "RT12", "time limit reached");
    relax_vm_set_timeout(k->vm, -1);
    relax_vm_set_cancel_flag(k->vm, &flag);
    relax_value y;
    relax_error_release(k->err);
    assert_int_equal(relax_vm_call(k->vm, "cancels", 7, NULL, 0, &y, &k->err),
                     RELAX_ERROR_CANCELLED);
    assert_string_equal(relax_error_message(k->err, NULL), "cancelled");
    relax_vm_set_cancel_flag(k->vm, NULL);
    kit_expect(k, "cancels", NULL, 0, &y);
    relax_value_release(&x);
    kit_end(k);
}

static void obeys_its_memory_limit(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 0),
             code = rlx_file_writer_here(&k->w);
    uint32_t n = rlx_operand_imm(1 << 20);
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_TENSOR, &n, 1, 0, RELAX_FLOAT32);
    EMIT(RLX_OP_RETURN, 0);
    kit_function(k, f, "main", code, params, 0, 1, 0);
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.max_memory = 1 << 20;
    kit_load_with(k, &o);
    kit_fails(k, "main", NULL, 0, "RT10", "out of memory for a tensor of 4194304 bytes");
    assert_int_equal(relax_error_status(k->err), RELAX_ERROR_OUT_OF_MEMORY);
    kit_end(k);
}

static relax_vm *running_vm;
static int call_back(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    relax_value y;
    int *calls = self;
    calls[0]++;
    calls[1] += relax_vm_call(running_vm, "main", 4, NULL, 0, &y, NULL) != RELAX_OK;
    return 0;
}

/* A packed function calls the machine that calls it, and so on: the innermost call is one too many. */
static void runs_again_while_it_runs(void **state)
{
    kit kit_, *k = &kit_;
    int calls[2] = { 0, 0 };
    kit_begin(k);
    kit_register(k, "test.back", call_back, calls);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 0),
             code = rlx_file_writer_here(&k->w);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, NULL, 0, 0,
                  rlx_file_writer_packed(&k->w, RLX_SLICE("test.back")));
    EMIT(RLX_OP_RETURN, 0);
    kit_function(k, f, "main", code, params, 0, 1, 0);
    kit_load(k);
    running_vm = k->vm;
    relax_value y;
    kit_expect(k, "main", NULL, 0, &y);
    assert_true(calls[1] > 0); /* one for each of the loops */
    assert_int_equal(calls[0], 65 * calls[1]);
    kit_end(k);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void views_stay_inside_their_storage(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_params(&d);
    int64_t value = rlx_desc_dim_bind_signed(&k->w, 0, RLX_SLICE("at"));
    rlx_desc_param(&d, RLX_SLICE("at"));
    rlx_desc_prim(&d, RELAX_INT64, &value);
    rlx_desc_close(&d);
    uint32_t f = rlx_file_writer_function(&k->w), params = rlx_desc_end(&d),
             code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_ALLOC_STORAGE, 1, rlx_operand_imm(64));
    uint32_t n = rlx_operand_imm(8);
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_VIEW, &n, 1, 2, 1, rlx_operand(RLX_OPERAND_SYMBOL, 0),
                  RELAX_FLOAT32);
    EMIT(RLX_OP_RETURN, 2);
    kit_function(k, f, "main", code, params, 1, 3, 1);
    kit_load(k);
    static const struct {
        int64_t at;
        bool fits;
    } rows[] = { { 0, true },   { 32, true },  { 33, false }, { 36, false },
                 { -4, false }, { 64, false }, { 2, false },  { INT64_MAX, false } };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        relax_value at, y;
        relax_value_set_int(&at, rows[i].at);
        if (!rows[i].fits) {
            kit_fails(k, "main", &at, 1, "RT09", NULL);
            continue;
        }
        kit_expect(k, "main", &at, 1, &y);
        assert_int_equal(relax_tensor_bytes(relax_value_get_tensor(&y)), 32);
        relax_value_release(&y);
    }
    kit_end(k);
}

static void steady_calls_allocate_nothing(void **state)
{
    kit kit_, *k = &kit_;
    int calls = 0;
    kit_begin(k);
    kit_register(k, "test.add", add, &calls);
    write_adder(k, rlx_file_writer_function(&k->w), "main");
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) }, out = kit_vector(4, 0),
                longer = kit_vector(5, 0);
    relax_tensor *buffers[] = { relax_value_get_tensor(&out) };
    relax_vm_counters c = { .struct_size = sizeof c };
    for (int i = 0; i < 3; i++)
        assert_int_equal(relax_vm_call_into(k->vm, 0, args, 2, buffers, 1, &k->err), RELAX_OK);
    relax_vm_get_counters(k->vm, &c);
    assert_int_equal(c.allocations, 0);
    assert_int_equal(c.peak_buffers, 0); /* computed in place */
    assert_true(((float *)relax_tensor_data(buffers[0]))[3] == 16);
    relax_value y;
    kit_expect(k, "main", args, 2, &y);
    relax_vm_get_counters(k->vm, &c);
    assert_int_equal(c.peak_buffers, 1);
    assert_int_equal(c.peak_bytes, 64);
    assert_true(c.instructions == 3);
    relax_value_release(&y);
    relax_tensor *wrong[] = { relax_value_get_tensor(&longer) };
    assert_int_equal(relax_vm_call_into(k->vm, 0, args, 2, wrong, 1, &k->err),
                     RELAX_ERROR_RUNTIME);
    assert_string_equal(relax_error_code(k->err), "RT07");
    relax_error_release(k->err);
    assert_int_equal(relax_vm_call_into(k->vm, 0, args, 2, NULL, 0, &k->err), RELAX_ERROR_RUNTIME);
    assert_string_equal(relax_error_code(k->err), "RT07");
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    relax_value_release(&out);
    relax_value_release(&longer);
    kit_end(k);
}

/* Results outlive VM and program, in any order of release. */
static void anything_may_be_released_first(void **state)
{
    for (int order = 0; order < 24; order++) {
        kit kit_, *k = &kit_;
        int calls = 0, left[] = { 0, 1, 2, 3 };
        kit_begin(k);
        kit_register(k, "test.add", add, &calls);
        write_adder(k, rlx_file_writer_function(&k->w), "main");
        kit_load(k);
        relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) }, y;
        kit_expect(k, "main", args, 2, &y);
        relax_value_release(&args[0]);
        relax_value_release(&args[1]);
        for (int i = 0, code = order; i < 4; i++) {
            int pick = i + code % (4 - i), what = left[pick];
            code /= 4 - i;
            left[pick] = left[i];
            if (what == 0) {
                assert_true(((float *)relax_tensor_data(relax_value_get_tensor(&y)))[3] == 16);
                relax_value_release(&y);
            } else if (what == 1) {
                relax_vm_release(k->vm);
                k->vm = NULL;
            } else if (what == 2) {
                relax_executable_release(k->exe);
                k->exe = NULL;
            } else {
                relax_registry_release(k->registry);
                k->registry = NULL;
            }
        }
        kit_end(k);
    }
}

/* ---- casts, constants, builtins ------------------------------------------------------------- */

static void casts_bind_and_check(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 1);
    rlx_desc_expr_writer e;
    rlx_desc_expr_begin(&e, &k->w);
    rlx_desc_expr_int(&e, 2);
    rlx_desc_expr_symbol(&e, 0, RLX_SLICE("m"));
    rlx_desc_expr_put_op(&e, RLX_EXPR_MUL);
    int64_t dims[] = { rlx_desc_dim_expr(rlx_desc_expr_end(&e)), kit_bind(k, 0, "m") };
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_shape(&d, 2, dims);
    uint32_t desc = rlx_desc_end(&d), code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_MATCH, 0, desc, RLX_MATCH_CAST, rlx_file_writer_name(&k->w, RLX_SLICE("a")));
    EMIT(RLX_OP_PRIM, 1, RELAX_INT64, rlx_operand(RLX_OPERAND_SYMBOL, 0));
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, f, "main", code, params, 1, 2, 1);
    kit_load(k);
    relax_value s, y;
    int64_t good[] = { 8, 4 }, bad[] = { 7, 4 }, huge[] = { 1, INT64_MAX }, number;
    relax_value_set_shape(&s, good, 2, NULL);
    kit_expect(k, "main", &s, 1, &y);
    assert_int_equal(relax_value_get_int(&y, &number), RELAX_OK);
    assert_int_equal(number, 4);
    relax_value_release(&s);
    relax_value_set_shape(&s, bad, 2, NULL);
    kit_fails(k, "main", &s, 1, "RT06", "match_cast of a: dimension 0 is 7, expected 2 * m = 8");
    assert_string_equal(relax_error_inner_code(k->err), "RT05");
    relax_value_release(&s);
    relax_value_set_shape(&s, huge, 2, NULL);
    kit_fails(k, "main", &s, 1, "RT06", "match_cast of a: overflow of 64-bit integers in 2 * m");
    relax_value_release(&s);
    kit_end(k);
}

static void constants_are_shared_and_read_only(void **state)
{
    kit kit_, *k = &kit_;
    float data[] = { 1, 2, 3 };
    int64_t dim = 3;
    kit_begin(k);
    uint32_t t = rlx_file_writer_const_tensor(&k->w, RELAX_FLOAT32, &dim, 1, data, sizeof data);
    uint32_t text = rlx_file_writer_const_string(&k->w, RLX_SLICE("caf\xc3\xa9"));
    uint32_t half =
        rlx_file_writer_const_scalar(&k->w, RLX_CONSTANT_FLOAT, RELAX_FLOAT64, 0x3fe0000000000000u);
    uint32_t shape = rlx_file_writer_const_shape(&k->w, &dim, 1);
    uint32_t type = rlx_file_writer_const_scalar(&k->w, RLX_CONSTANT_DTYPE, RELAX_BOOL, 0);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 0),
             code = rlx_file_writer_here(&k->w);
    EMIT(RLX_OP_CONST, 0, t);
    uint32_t fields[] = { 0, rlx_operand(RLX_OPERAND_CONST, text),
                          rlx_operand(RLX_OPERAND_CONST, half),
                          rlx_operand(RLX_OPERAND_CONST, shape),
                          rlx_operand(RLX_OPERAND_CONST, type) };
    RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, fields, 5, 1);
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, f, "main", code, params, 0, 2, 0);
    kit_load(k);
    relax_value y, v;
    kit_expect(k, "main", NULL, 0, &y);
    relax_vm_release(k->vm);
    relax_executable_release(k->exe);
    k->vm = NULL;
    k->exe = NULL;
    relax_value_tuple_get(&y, 0, &v);
    relax_tensor *tensor = relax_value_get_tensor(&v);
    assert_int_equal(relax_tensor_is_read_only(tensor), 1);
    assert_memory_equal(relax_tensor_data(tensor), data, sizeof data);
    assert_int_equal((uintptr_t)relax_tensor_data(tensor) % 64, 0);
    assert_int_equal(relax_tensor_copy_in(tensor, data, sizeof data),
                     RELAX_ERROR_INVALID_ARGUMENT);
    const char *s;
    size_t len;
    double number;
    relax_dtype dtype;
    relax_value_tuple_get(&y, 1, &v);
    assert_int_equal(relax_value_get_string(&v, &s, &len), RELAX_OK);
    assert_string_equal(s, "caf\xc3\xa9");
    relax_value_tuple_get(&y, 2, &v);
    assert_int_equal(relax_value_get_float(&v, &number), RELAX_OK);
    assert_true(number == 0.5);
    relax_value_tuple_get(&y, 4, &v);
    assert_int_equal(relax_value_get_dtype(&v, &dtype), RELAX_OK);
    assert_int_equal(dtype, RELAX_BOOL);
    relax_value_release(&y);
    kit_end(k);
}

static void builtins_do_what_they_say(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    static const char *const names[] = { "shape_of", "reshape", "copy", "shape_to_tensor",
                                         "tensor_to_shape" };
    for (size_t i = 0; i < RLX_COUNT(names); i++) {
        char full[64];
        uint32_t count = i == 1 ? 2 : 1, args[] = { 0, 1 };
        snprintf(full, sizeof full, "vm.builtin.%s", names[i]);
        uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, count),
                 code = rlx_file_writer_here(&k->w);
        RLX_EMIT_LIST(&k->w, RLX_OP_CALL_BUILTIN, args, count, 2,
                      rlx_file_writer_packed(&k->w, rlx_slice_z(full)));
        EMIT(RLX_OP_RETURN, 2);
        kit_function(k, f, names[i], code, params, count, 3, 0);
    }
    kit_load(k);
    relax_value args[] = { kit_vector(6, 0), { 0 } }, y, z;
    int64_t to[] = { 2, -1 }, wrong[] = { 4, -1 };
    relax_value_set_shape(&args[1], to, 2, NULL);
    kit_expect(k, "reshape", args, 2, &y);
    relax_tensor *t = relax_value_get_tensor(&y);
    assert_int_equal(relax_tensor_shape(t)[1], 3);
    assert_ptr_equal(relax_tensor_data(t), relax_tensor_data(relax_value_get_tensor(&args[0])));
    kit_expect(k, "shape_of", &y, 1, &z);
    relax_value_release(&y);
    kit_expect(k, "shape_to_tensor", &z, 1, &y);
    assert_int_equal(((int64_t *)relax_tensor_data(relax_value_get_tensor(&y)))[1], 3);
    relax_value_release(&z);
    kit_expect(k, "tensor_to_shape", &y, 1, &z);
    const int64_t *dims;
    size_t ndim;
    relax_value_get_shape(&z, &dims, &ndim);
    assert_true(ndim == 2 && dims[0] == 2 && dims[1] == 3);
    relax_value_release(&y);
    relax_value_release(&z);
    kit_expect(k, "copy", args, 1, &y);
    assert_ptr_not_equal(relax_tensor_data(relax_value_get_tensor(&y)),
                         relax_tensor_data(relax_value_get_tensor(&args[0])));
    relax_value_release(&y);
    relax_value_release(&args[1]);
    relax_value_set_shape(&args[1], wrong, 2, NULL);
    kit_fails(k, "reshape", args, 2, "RT05", "reshape: 6 elements cannot fill that shape");
    kit_fails(k, "reshape", (relax_value[]){ args[1], args[1] }, 2, "RT02", NULL);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

static void views_share_memory(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    for (uint32_t i = 0; i < 2; i++) {
        static const char *const names[] = { "view", "ensure_zero_offset" };
        uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, i ? 1 : 4),
                 code = rlx_file_writer_here(&k->w), args[] = { 0, 1, 2, 3 };
        char full[64];
        snprintf(full, sizeof full, "vm.builtin.%s", names[i]);
        RLX_EMIT_LIST(&k->w, RLX_OP_CALL_BUILTIN, args, i ? 1 : 4, 4,
                      rlx_file_writer_packed(&k->w, rlx_slice_z(full)));
        EMIT(RLX_OP_RETURN, 4);
        kit_function(k, f, names[i], code, params, i ? 1 : 4, 5, 0);
    }
    kit_load(k);
    relax_value args[4] = { kit_vector(6, 0) }, y, z;
    int64_t to[] = { 3, 2 };
    relax_value_set_shape(&args[1], to, 2, NULL);
    relax_value_set_dtype(&args[2], RELAX_INT16);
    relax_value_set_int(&args[3], 8);
    kit_expect(k, "view", args, 4, &y);
    relax_tensor *t = relax_value_get_tensor(&y);
    assert_true(relax_tensor_dtype(t) == RELAX_INT16 && relax_tensor_ndim(t) == 2 &&
                relax_tensor_shape(t)[0] == 3);
    assert_ptr_equal(relax_tensor_data(t),
                     (char *)relax_tensor_data(relax_value_get_tensor(&args[0])) + 8);
    kit_expect(k, "ensure_zero_offset", &y, 1, &z);
    assert_ptr_equal(relax_value_get_tensor(&z), t);
    relax_value_release(&z);
    relax_value_release(&y);
    relax_value_set_int(&args[3], 14);
    kit_fails(k, "view", args, 4, "RT05", "view: 12 bytes from byte 14 on of a tensor of 24");
    kit_fails(k, "view", (relax_value[]){ args[0], args[1], args[1], args[3] }, 4, "RT02", NULL);
    kit_fails(k, "view", (relax_value[]){ args[1], args[1], args[2], args[3] }, 4, "RT02", NULL);
    relax_value_set_dtype(&args[2], RELAX_VOID);
    kit_fails(k, "view", args, 4, "RT19", NULL);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

static int keeps(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return relax_value_keep(&args[0], result);
}

static void packed_functions_may_keep_their_arguments(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    kit_register(k, "test.keep", keeps, NULL);
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_objects(k, 0),
             code = rlx_file_writer_here(&k->w);
    uint32_t n = rlx_operand_imm(4), arg = 0;
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_TENSOR, &n, 1, 0, RELAX_INT32);
    RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, &arg, 1, 1,
                  rlx_file_writer_packed(&k->w, RLX_SLICE("test.keep")));
    rlx_file_writer_emit(&k->w, RLX_OP_KILL, NULL, &arg, 1);
    EMIT(RLX_OP_RETURN, 1);
    kit_function(k, f, "main", code, params, 0, 2, 0);
    kit_load(k);
    relax_value y;
    kit_expect(k, "main", NULL, 0, &y);
    assert_int_equal(relax_tensor_dtype(relax_value_get_tensor(&y)), RELAX_INT32);
    relax_value_release(&y);
    kit_end(k);
}

static void checks_the_result(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    int64_t dims[] = { kit_bind(k, 0, "n"), kit_bind(k, 1, "m") }, same = kit_sym(k, 0, "n");
    uint32_t f = rlx_file_writer_function(&k->w), params = kit_vectors(k, dims, 2);
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_tuple(&d);
    rlx_desc_tensor(&d, RELAX_FLOAT32, 1, &same);
    rlx_desc_close(&d);
    uint32_t result = rlx_desc_end(&d), code = rlx_file_writer_here(&k->w), arg = 1;
    RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, &arg, 1, 2);
    EMIT(RLX_OP_RETURN, 2);
    rlx_file_function r = { .name = rlx_file_writer_name(&k->w, RLX_SLICE("main")),
                            .flags = RLX_FUNCTION_PUBLIC,
                            .code = code,
                            .code_len = rlx_file_writer_here(&k->w) - code,
                            .num_params = 2,
                            .num_regs = 3,
                            .num_syms = 2,
                            .params = params,
                            .result = result,
                            .signature = RLX_NO_INDEX };
    rlx_file_writer_set_function(&k->w, f, &r);
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) }, y;
    kit_expect(k, "main", args, 2, &y);
    relax_value_release(&y);
    relax_value_release(&args[1]);
    args[1] = kit_vector(5, 0);
    kit_fails(k, "main", args, 2, "RT07",
              "result of main: field 0, dimension 0 is 5, expected n = 4");
    assert_string_equal(relax_error_inner_code(k->err), "RT05");
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

static void profiles_as_json(void **state)
{
    kit kit_, *k = &kit_;
    int calls = 0;
    kit_begin(k);
    kit_register(k, "test.add", add, &calls);
    write_adder(k, rlx_file_writer_function(&k->w), "main");
    kit_load(k);
    relax_value args[] = { kit_vector(4, 0), kit_vector(4, 10) }, y;
    kit_expect(k, "main", args, 2, &y);
    relax_bytes *json;
    assert_int_equal(relax_vm_profile_json(k->vm, &json, NULL), RELAX_OK);
    rlx_region r;
    size_t at;
    const char *why;
    rlx_region_init(&r, &k->memory);
    const rlx_json *root = rlx_json_parse(
        &r, (rlx_slice){ relax_bytes_data(json), relax_bytes_size(json) }, &at, &why);
    assert_non_null(root);
    assert_int_equal(rlx_json_member(root, "calls")->integer, 1);
    const rlx_json *packed = rlx_json_member(root, "packed")->first;
    assert_true(rlx_slice_is(rlx_json_member(packed, "name")->string, "test.add"));
    assert_int_equal(rlx_json_member(packed, "count")->integer, 1);
    rlx_region_drop(&r);
    relax_bytes_release(json);
    relax_value_release(&y);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    kit_end(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_its_argument),
        cmocka_unit_test(computes_with_symbols),
        cmocka_unit_test(tuples_give_their_fields),
        cmocka_unit_test(calls_packed_functions),
        cmocka_unit_test(reports_failing_packed_functions),
        cmocka_unit_test(misses_packed_functions_only_when_reached),
        cmocka_unit_test(calls_relax_functions),
        cmocka_unit_test(calls_only_functions),
        cmocka_unit_test(stops_at_its_limits),
        cmocka_unit_test(obeys_its_memory_limit),
        cmocka_unit_test(runs_again_while_it_runs),
        cmocka_unit_test(views_stay_inside_their_storage),
        cmocka_unit_test(steady_calls_allocate_nothing),
        cmocka_unit_test(anything_may_be_released_first),
        cmocka_unit_test(casts_bind_and_check),
        cmocka_unit_test(constants_are_shared_and_read_only),
        cmocka_unit_test(builtins_do_what_they_say),
        cmocka_unit_test(views_share_memory),
        cmocka_unit_test(packed_functions_may_keep_their_arguments),
        cmocka_unit_test(checks_the_result),
        cmocka_unit_test(profiles_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
