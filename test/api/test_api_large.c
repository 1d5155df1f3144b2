/*- test_api_large: programs far deeper, wider or longer than anybody writes, made by the public
 * interface, where no reader's limits protect. Every question, pass and run ends in an answer
 * or the diagnostic of a limit, on the small stack that relax/context.h promises.
 *     test_api_large NAME [SIZE]      one program alone, with the times of its steps
 */
#include "api_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
enum { STACK = 2 << 20, SECONDS = 900 }; /* frames are several times as large */
#else
enum { STACK = 256 << 10, SECONDS = 600 };
#endif

/* ---- helpers -------------------------------------------------------------------------------- */

typedef struct work {
    relax_context *ctx;
    relax_module_builder *mb;
    relax_builder *b;
    size_t size;
    bool tree_is_huge; /* few nodes, shared so that a tree of them has more than there is memory */
    relax_value arg; /* of main */
    size_t num_args;
    const struct program *program;
    bool failed;
} work;

static relax_struct_info *vector(work *w)
{
    return relax_struct_info_tensor_of_ints(w->ctx, (int64_t[]){ 2 }, 1, RELAX_FLOAT32);
}
static const relax_expr *var(work *w, const char *name, const relax_struct_info *info)
{
    return relax_var_new(w->ctx, Z(name), info, 0);
}
static relax_expr *relu(work *w, const relax_expr *x)
{
    return relax_call_op_new(w->ctx, Z("nn.relu"), &x, 1, NULL, 0);
}
static relax_expr *emit(work *w, const relax_expr *e)
{
    return relax_builder_emit(w->b, e, NULL, 0, 0);
}
static void begin(work *w, const char *name, const relax_expr *x)
{
    relax_builder_begin_function(w->b, Z(name), &x, x ? 1 : 0, NULL);
}
static void end(work *w, const relax_expr *result) { relax_builder_end_function(w->b, result); }
static relax_prim_expr *binary(work *w, int op, const relax_prim_expr *a, const relax_prim_expr *b)
{
    return relax_prim_binary_new(w->ctx, op, a, b);
}
static relax_prim_expr *num(work *w, int64_t v) { return relax_prim_int_new(w->ctx, v); }

static void vector_argument(work *w)
{
    relax_tensor *t = tensor_of((const float[]){ 1, 1 }, 1, 2);
    int64_t shape[] = { 2 };
    relax_tensor_release(t);
    relax_tensor_create(RELAX_FLOAT32, shape, 1, NULL, &t, NULL);
    relax_tensor_copy_in(t, (const float[]){ 1, 1 }, 8);
    relax_value_set_tensor(&w->arg, t);
    w->num_args = 1;
    relax_tensor_release(t);
}

/* ---- the programs --------------------------------------------------------------------------- */

static void chain(work *w)
{
    const relax_expr *x = var(w, "x", vector(w));
    begin(w, "main", x);
    relax_builder_begin_dataflow(w->b);
    for (size_t i = 0; i < w->size; i++)
        x = emit(w, relu(w, x));
    x = relax_builder_emit_output(w->b, x, NULL, 0, 0);
    relax_builder_end_dataflow(w->b);
    end(w, x);
    vector_argument(w);
}

static void fan(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *y = x;
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        y = emit(w, relu(w, x));
    end(w, y);
    vector_argument(w);
}

static void nested_calls(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *y = x;
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        y = relu(w, y);
    end(w, emit(w, y));
    vector_argument(w);
}

static void nested_calls_shared(work *w) /* 2 to the power of size, if nobody looks */
{
    const relax_expr *x = var(w, "x", vector(w)), *y = x;
    begin(w, "main", x);
    for (size_t i = 0; i < 24; i++)
        y = relax_call_op_new(w->ctx, Z("add"), (const relax_expr *[]){ y, y }, 2, NULL, 0);
    end(w, emit(w, y));
    vector_argument(w);
}

static void tuple_type(work *w)
{
    const relax_struct_info *info = vector(w);
    vector_argument(w);
    for (size_t i = 0; i < w->size; i++) {
        relax_value inner = w->arg;
        info = relax_struct_info_tuple_new(w->ctx, &info, 1);
        relax_value_set_tuple(&w->arg, &inner, 1, NULL);
        relax_value_release(&inner);
    }
    const relax_expr *x = var(w, "x", info);
    begin(w, "main", x);
    end(w, x);
}

static void tuple_expr(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *t = x;
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        t = relax_tuple_new(w->ctx, &t, 1);
    t = emit(w, t);
    for (size_t i = 0; i < w->size; i++)
        t = relax_tuple_get_item_new(w->ctx, t, 0);
    end(w, emit(w, t));
    vector_argument(w);
}

static void tuple_result(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *t = x;
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        t = emit(w, relax_tuple_new(w->ctx, &t, 1));
    end(w, t);
    vector_argument(w);
}

static void wide_tuple(work *w)
{
    const relax_expr *x = var(w, "x", vector(w));
    const relax_expr **fields = calloc(w->size, sizeof *fields);
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        fields[i] = x;
    const relax_expr *t = emit(w, relax_tuple_new(w->ctx, fields, w->size));
    end(w, emit(w, relax_tuple_get_item_new(w->ctx, t, (int64_t)w->size - 1)));
    vector_argument(w);
    free(fields);
}

static void many_params(work *w)
{
    const relax_expr **params = calloc(w->size, sizeof *params);
    const relax_prim_expr *n = relax_shape_var_new(w->ctx, Z("n"));
    for (size_t i = 0; i < w->size; i++)
        params[i] = var(w, "p", relax_struct_info_tensor_new(w->ctx, &n, 1, RELAX_FLOAT32));
    relax_builder_begin_function(w->b, Z("callee"), params, w->size, NULL);
    relax_expr *callee = relax_builder_end_function(w->b, params[w->size - 1]);
    const relax_expr *x = var(w, "x", vector(w));
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        params[i] = x;
    end(w, emit(w, relax_call_new(w->ctx, callee, params, w->size, NULL, 0)));
    vector_argument(w);
    free(params);
}

static void many_shape_vars(work *w)
{
    const relax_expr **params = calloc(w->size, sizeof *params);
    for (size_t i = 0; i < w->size; i++) {
        const relax_prim_expr *n = relax_shape_var_new(w->ctx, Z("n"));
        params[i] = var(w, "p", relax_struct_info_tensor_new(w->ctx, &n, 1, RELAX_FLOAT32));
    }
    relax_builder_begin_function(w->b, Z("callee"), params, w->size, NULL);
    const relax_expr *y = params[0];
    for (size_t i = 0; i < w->size; i++)
        y = emit(w, relu(w, params[i]));
    relax_expr *callee = relax_builder_end_function(w->b, y);
    const relax_expr *x = var(w, "x", vector(w));
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        params[i] = x;
    end(w, emit(w, relax_call_new(w->ctx, callee, params, w->size, NULL, 0)));
    vector_argument(w);
    free(params);
}

static void packed_args(work *w)
{
    const relax_expr **args = calloc(w->size, sizeof *args);
    const relax_expr *x = var(w, "x", vector(w));
    relax_function_options options;
    relax_function_options_init(&options, sizeof options);
    options.pure = 0;
    relax_builder_begin_function(w->b, Z("main"), &x, 1, &options);
    for (size_t i = 0; i < w->size; i++)
        args[i] = x;
    end(w, emit(w, relax_call_new(w->ctx, relax_extern_func_new(w->ctx, Z("take_all")), args,
                                  w->size, vector(w), 0)));
    vector_argument(w);
    free(args);
}

static void many_functions(work *w)
{
    char name[32];
    for (size_t i = 0; i < w->size; i++) {
        const relax_expr *x = var(w, "x", vector(w));
        snprintf(name, sizeof name, "f%zu", i);
        begin(w, name, x);
        end(w, emit(w, relu(w, x)));
    }
    const relax_expr *x = var(w, "x", vector(w));
    begin(w, "main", x);
    end(w,
        emit(w, relax_call_new(w->ctx, relax_module_builder_find(w->mb, Z("f0")), &x, 1, NULL, 0)));
    vector_argument(w);
}

/* f0 calls f1 calls f2 ..., declared before they are defined */
static void call_chain(work *w)
{
    char name[32];
    const relax_struct_info *info = vector(w),
                            *signature = relax_struct_info_func_new(w->ctx, &info, 1, info, 1);
    for (size_t i = 0; i <= w->size; i++) {
        snprintf(name, sizeof name, "f%zu", i);
        relax_module_builder_declare(w->mb, Z(name), signature);
    }
    for (size_t i = 0; i <= w->size; i++) {
        const relax_expr *x = var(w, "x", info), *y = x;
        snprintf(name, sizeof name, "f%zu", i + 1);
        const relax_expr *next = i < w->size ? relax_module_builder_find(w->mb, Z(name)) : NULL;
        snprintf(name, sizeof name, "f%zu", i);
        begin(w, name, x);
        if (next)
            y = emit(w, relu(w, emit(w, relax_call_new(w->ctx, next, &x, 1, NULL, 0))));
        end(w, y);
    }
    const relax_expr *x = var(w, "x", info);
    begin(w, "main", x);
    end(w, x);
    vector_argument(w);
}

static void ifs(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *y = x;
    const relax_expr *flag = relax_constant_new(w->ctx, RELAX_BOOL, NULL, 0, "\1", 1);
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        relax_builder_begin_if(w->b, flag);
    for (size_t i = 0; i < w->size; i++) {
        relax_builder_begin_else(w->b, y);
        y = relax_builder_end_if(w->b, x, NULL, 0, 0);
    }
    end(w, y);
    vector_argument(w);
}

static void else_ifs(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *y = x;
    const relax_expr *flag = relax_constant_new(w->ctx, RELAX_BOOL, NULL, 0, "\0", 1);
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++) {
        relax_builder_begin_if(w->b, flag);
        relax_builder_begin_else(w->b, x);
    }
    for (size_t i = 0; i < w->size; i++)
        y = relax_builder_end_if(w->b, y, NULL, 0, 0);
    end(w, y);
    vector_argument(w);
}

static void local_functions(work *w)
{
    const relax_expr *x = var(w, "x", vector(w)), *f = NULL;
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        begin(w, "local", var(w, "y", vector(w)));
    for (size_t i = 0; i < w->size; i++) {
        const relax_expr *result = f ? emit(w, relax_call_new(w->ctx, f, &x, 1, NULL, 0)) : x;
        f = relax_builder_end_function(w->b, result);
    }
    end(w, emit(w, relax_call_new(w->ctx, f, &x, 1, NULL, 0)));
    vector_argument(w);
}

static void rank(work *w)
{
    int64_t *dims = calloc(w->size, sizeof *dims);
    for (size_t i = 0; i < w->size; i++)
        dims[i] = 1;
    const relax_expr *x =
        var(w, "x", relax_struct_info_tensor_of_ints(w->ctx, dims, w->size, RELAX_FLOAT32));
    begin(w, "main", x);
    end(w, emit(w, relu(w, x)));
    free(dims);
}

static void symbolic_rank(work *w)
{
    const relax_prim_expr **dims = calloc(w->size, sizeof *dims);
    for (size_t i = 0; i < w->size; i++)
        dims[i] = relax_shape_var_new(w->ctx, Z("n"));
    const relax_expr *x =
        var(w, "x", relax_struct_info_tensor_new(w->ctx, dims, w->size, RELAX_FLOAT32));
    begin(w, "main", x);
    end(w, emit(w, relu(w, x)));
    free(dims);
}

static void shape_value(work *w)
{
    const relax_prim_expr **dims = calloc(w->size, sizeof *dims);
    const relax_expr *x = var(w, "x", vector(w));
    for (size_t i = 0; i < w->size; i++)
        dims[i] = num(w, (int64_t)i);
    begin(w, "main", x);
    emit(w, relax_shape_expr_new(w->ctx, dims, w->size));
    end(w, x);
    vector_argument(w);
    free(dims);
}

/* Functions of n that are deep one way or the other. */
static const relax_prim_expr *deep_prim(work *w, const relax_prim_expr *n, int form)
{
    const relax_prim_expr *e = n;
    for (size_t i = 0; i < w->size; i++)
        switch (form) {
        case 0: e = binary(w, RELAX_PRIM_ADD, e, num(w, 1)); break;
        case 1: e = binary(w, RELAX_PRIM_ADD, num(w, 1), e); break;
        case 2:
            e = binary(w, RELAX_PRIM_FLOOR_DIV, binary(w, RELAX_PRIM_ADD, e, num(w, 1)),
                       num(w, 2));
            break;
        case 3:
            e = relax_prim_select_new(w->ctx, binary(w, RELAX_PRIM_LT, n, num(w, 7)), e, n);
            break;
        case 8: e = binary(w, RELAX_PRIM_FLOOR_DIV, e, e); break;
        case 9: e = binary(w, RELAX_PRIM_ADD, e, e); break;
        case 10: e = binary(w, RELAX_PRIM_MAX, e, binary(w, RELAX_PRIM_MUL, e, num(w, 2))); break;
        case 4:
            e = binary(w, i % 2 ? RELAX_PRIM_MIN : RELAX_PRIM_MAX, e,
                       binary(w, RELAX_PRIM_ADD, n, num(w, (int64_t)i)));
            break;
        case 5:
            e = binary(w, RELAX_PRIM_MUL, e, binary(w, RELAX_PRIM_ADD, n, num(w, (int64_t)i)));
            break;
        case 6: e = relax_prim_cast_new(w->ctx, i % 2 ? RELAX_INT64 : RELAX_INT32, e); break;
        default:
            e = binary(w, RELAX_PRIM_FLOOR_MOD, binary(w, RELAX_PRIM_MUL, e, n),
                       binary(w, RELAX_PRIM_ADD, n, num(w, 3)));
            break;
        }
    return e;
}

static void sizes(work *w, int form)
{
    const relax_prim_expr *n = relax_shape_var_new(w->ctx, Z("n")), *e = deep_prim(w, n, form);
    const relax_expr *x = var(w, "x", relax_struct_info_tensor_new(w->ctx, &n, 1, RELAX_FLOAT32));
    const relax_prim_expr *again = deep_prim(w, n, form);
    w->tree_is_huge = form >= 8;
    begin(w, "main", x);
    if (relax_prim_dtype(e) == RELAX_INT64) {
        relax_prim_prove_equal(w->ctx, e, binary(w, RELAX_PRIM_ADD, again, num(w, 1)));
        relax_prim_simplify(w->ctx, e);
        emit(w, relax_shape_expr_new(w->ctx, &e, 1));
        emit(w, relax_call_op_new(w->ctx, Z("zeros"),
                                  (const relax_expr *[]){ relax_shape_expr_new(w->ctx, &e, 1) }, 1,
                                  relax_attr_map_with(w->ctx, NULL, Z("dtype"),
                                                      relax_attr_dtype_new(w->ctx, RELAX_FLOAT32)),
                                  0));
    }
    emit(w, relax_prim_value_new(w->ctx, e));
    end(w, x);
    vector_argument(w);
}
#define SIZES(name, form) static void name(work *w) { sizes(w, form); }
SIZES(sum_left, 0)
SIZES(sum_right, 1)
SIZES(halves, 2)
SIZES(selects, 3)
SIZES(minima, 4)
SIZES(products, 5)
SIZES(casts, 6)
SIZES(remainders, 7)
SIZES(shared_quotients, 8)
SIZES(shared_sums, 9)
SIZES(shared_maxima, 10)

static void func_type(work *w)
{
    const relax_struct_info *info = vector(w);
    for (size_t i = 0; i < w->size; i++)
        info = i % 2 ? relax_struct_info_func_new(w->ctx, &info, 1, vector(w), 1)
                     : relax_struct_info_func_new(w->ctx, NULL, 0, info, 1);
    const relax_expr *x = var(w, "x", info);
    begin(w, "main", x);
    end(w, x);
}

static void attributes(work *w)
{
    const relax_attr *a = relax_attr_int_new(w->ctx, 1);
    for (size_t i = 0; i < w->size; i++)
        a = i % 2 ? relax_attr_map_with(w->ctx, NULL, Z("key"), a)
                  : relax_attr_list_new(w->ctx, &a, 1);
    relax_function_options options;
    const relax_expr *x = var(w, "x", vector(w));
    relax_function_options_init(&options, sizeof options);
    options.attrs = relax_attr_map_with(w->ctx, NULL, Z("deep"), a);
    relax_builder_begin_function(w->b, Z("main"), &x, 1, &options);
    end(w, x);
    relax_module_builder_set_attrs(w->mb, options.attrs);
    vector_argument(w);
}

/* ---- loop nests ----------------------------------------------------------------------------- */

typedef struct nest {
    relax_tir_builder *t;
    relax_buffer *in, *out;
    const relax_prim_expr *zero;
} nest;

static nest begin_nest(work *w)
{
    nest n = { .t = relax_tir_builder_create(w->ctx, 0) };
    const relax_prim_expr *two = num(w, 2);
    n.in = relax_tir_param(n.t, Z("A"), RELAX_FLOAT32, &two, 1);
    n.out = relax_tir_param(n.t, Z("B"), RELAX_FLOAT32, &two, 1);
    n.zero = num(w, 0);
    return n;
}

static void store(nest *n, const relax_prim_expr *value)
{
    relax_tir_store(n->t, n->out, &n->zero, 1, value);
}
static const relax_prim_expr *load(nest *n) { return relax_tir_load(n->t, n->in, &n->zero, 1); }

static void end_nest(work *w, nest *n)
{
    relax_expr *kernel = relax_module_builder_add(w->mb, Z("kernel"), relax_tir_finish(n->t));
    relax_tir_builder_destroy(n->t);
    const relax_expr *x = var(w, "x", vector(w));
    begin(w, "main", x);
    const relax_expr *args[] = { kernel, relax_tuple_new(w->ctx, &x, 1) };
    end(w,
        emit(w, relax_call_op_new_with_result(w->ctx, Z("call_tir"), args, 2, NULL, vector(w), 0)));
    vector_argument(w);
}

static void loops(work *w)
{
    nest n = begin_nest(w);
    for (size_t i = 0; i < w->size; i++)
        relax_tir_for(n.t, RELAX_LOOP_SERIAL, Z("i"), NULL, num(w, 1));
    store(&n, load(&n));
    for (size_t i = 0; i < w->size; i++)
        relax_tir_end_for(n.t);
    end_nest(w, &n);
}

static void statements(work *w)
{
    nest n = begin_nest(w);
    for (size_t i = 0; i < w->size; i++)
        store(&n, load(&n));
    end_nest(w, &n);
}

static void tir_ifs(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *cond =
        binary(w, RELAX_PRIM_LT, load(&n), relax_prim_float_new(w->ctx, RELAX_FLOAT32, 5));
    for (size_t i = 0; i < w->size; i++)
        relax_tir_if(n.t, cond);
    store(&n, load(&n));
    for (size_t i = 0; i < w->size; i++)
        relax_tir_end_if(n.t);
    end_nest(w, &n);
}

static void tir_else_ifs(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *cond =
        binary(w, RELAX_PRIM_LT, load(&n), relax_prim_float_new(w->ctx, RELAX_FLOAT32, -5));
    for (size_t i = 0; i < w->size; i++) {
        relax_tir_if(n.t, cond);
        store(&n, load(&n));
        relax_tir_else(n.t);
    }
    store(&n, load(&n));
    for (size_t i = 0; i < w->size; i++)
        relax_tir_end_if(n.t);
    end_nest(w, &n);
}

static void tir_sum(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *e = load(&n), *x = e;
    for (size_t i = 0; i < w->size; i++)
        e = binary(w, RELAX_PRIM_ADD, e, x);
    store(&n, e);
    end_nest(w, &n);
}

static void tir_sum_right(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *e = load(&n), *x = e;
    for (size_t i = 0; i < w->size; i++)
        e = binary(w, RELAX_PRIM_SUB, x, e);
    store(&n, e);
    end_nest(w, &n);
}

static void tir_calls(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *e = load(&n);
    for (size_t i = 0; i < w->size; i++)
        e = relax_tir_call(n.t, Z("exp"), &e, 1);
    store(&n, e);
    end_nest(w, &n);
}

static void tir_indices(work *w) /* A[A[A[...]]] */
{
    nest n = begin_nest(w);
    const relax_prim_expr *e = n.zero;
    for (size_t i = 0; i < w->size; i++)
        e = relax_prim_cast_new(w->ctx, RELAX_INT64, relax_tir_load(n.t, n.in, &e, 1));
    store(&n, relax_prim_cast_new(w->ctx, RELAX_FLOAT32, e));
    end_nest(w, &n);
}

static void tir_deep_index(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *i = relax_tir_for(n.t, RELAX_LOOP_SERIAL, Z("i"), NULL, num(w, 2)),
                          *e = i;
    for (size_t k = 0; k < w->size; k++)
        e = binary(w, RELAX_PRIM_FLOOR_DIV, binary(w, RELAX_PRIM_ADD, e, num(w, 1)), num(w, 2));
    relax_tir_store(n.t, n.out, &i, 1, relax_tir_load(n.t, n.in, &e, 1));
    relax_tir_end_for(n.t);
    end_nest(w, &n);
}

static void tir_blocks(work *w)
{
    nest n = begin_nest(w);
    for (size_t i = 0; i < w->size; i++) {
        relax_tir_begin_block(n.t, Z("block"));
        const relax_prim_expr *v = relax_tir_axis(n.t, RELAX_AXIS_SPATIAL, Z("v"), num(w, 2));
        relax_tir_store(n.t, n.out, &v, 1, relax_tir_load(n.t, n.in, &v, 1));
        relax_tir_end_block(n.t);
    }
    end_nest(w, &n);
}

static void tir_nested_blocks(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *v = n.zero;
    for (size_t i = 0; i < w->size; i++) {
        relax_tir_begin_block(n.t, Z("block"));
        v = relax_tir_axis(n.t, RELAX_AXIS_SPATIAL, Z("v"), num(w, 1));
    }
    relax_tir_store(n.t, n.out, &v, 1, relax_tir_load(n.t, n.in, &v, 1));
    for (size_t i = 0; i < w->size; i++)
        relax_tir_end_block(n.t);
    end_nest(w, &n);
}

static void tir_axes(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *v = n.zero;
    relax_tir_begin_block(n.t, Z("block"));
    for (size_t i = 0; i < w->size; i++)
        v = relax_tir_axis(n.t, RELAX_AXIS_SPATIAL, Z("v"), num(w, 1));
    relax_tir_store(n.t, n.out, &v, 1, relax_tir_load(n.t, n.in, &v, 1));
    relax_tir_end_block(n.t);
    end_nest(w, &n);
}

static void tir_buffers(work *w)
{
    nest n = begin_nest(w);
    const relax_prim_expr *two = num(w, 2);
    relax_buffer *from = n.in;
    for (size_t i = 0; i < w->size; i++) {
        relax_buffer *to = relax_tir_alloc(n.t, Z("c"), RELAX_FLOAT32, &two, 1);
        relax_tir_store(n.t, to, &n.zero, 1, relax_tir_load(n.t, from, &n.zero, 1));
        from = to;
    }
    store(&n, relax_tir_load(n.t, from, &n.zero, 1));
    end_nest(w, &n);
}

static void tir_params(work *w)
{
    nest n = { .t = relax_tir_builder_create(w->ctx, 0), .zero = num(w, 0) };
    const relax_expr **args = calloc(w->size, sizeof *args);
    const relax_prim_expr *two = num(w, 2);
    for (size_t i = 0; i < w->size; i++)
        n.in = relax_tir_param(n.t, Z("A"), RELAX_FLOAT32, &two, 1);
    n.out = relax_tir_param(n.t, Z("B"), RELAX_FLOAT32, &two, 1);
    store(&n, load(&n));
    relax_expr *kernel = relax_module_builder_add(w->mb, Z("kernel"), relax_tir_finish(n.t));
    relax_tir_builder_destroy(n.t);
    const relax_expr *x = var(w, "x", vector(w));
    begin(w, "main", x);
    for (size_t i = 0; i < w->size; i++)
        args[i] = x;
    const relax_expr *both[] = { kernel, relax_tuple_new(w->ctx, args, w->size) };
    end(w,
        emit(w, relax_call_op_new_with_result(w->ctx, Z("call_tir"), both, 2, NULL, vector(w), 0)));
    vector_argument(w);
    free(args);
}

/* ---- what is done with each ----------------------------------------------------------------- */

typedef struct program {
    const char *name;
    void (*build)(work *w);
    size_t size, large;      /* the latter in the long run */
    const char *refused;     /* code with which compiling ends; NULL: it runs. "*": either */
} program;

static bool loud;
static double last;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail_step(work *w, const char *what, const char *how)
{
    print_error("%s %zu: %s: %s\n", w->program->name, w->size, what, how);
    w->failed = true;
}

/* A step is done; it may have been refused, with a diagnostic. */
static void step(work *w, const char *what, bool fine)
{
    size_t said = relax_context_num_errors(w->ctx);
    if (loud)
        printf("  %-24s %8.1f ms%s\n", what, (now() - last) * 1e3, fine ? "" : "   refused:");
    for (size_t i = 0; i < relax_context_num_diagnostics(w->ctx) && i < 3; i++) {
        relax_bytes *text = relax_diagnostic_render(w->ctx, i);
        if (loud)
            printf("    %.200s\n", relax_bytes_data(text));
        if (!text || relax_bytes_size(text) > 100000)
            fail_step(w, what, "a diagnostic is huge");
        relax_bytes_release(text);
    }
    if (!fine && !said)
        fail_step(w, what, "failed without a word");
    for (size_t i = 0; i < relax_context_num_diagnostics(w->ctx); i++)
        if (!strncmp(relax_diagnostic_code(w->ctx, i), "IN", 2))
            fail_step(w, what, relax_diagnostic_message(w->ctx, i, NULL));
    relax_context_clear_diagnostics(w->ctx);
    last = now();
}

static void expect(work *w, const char *what, bool fine)
{
    if (!fine)
        fail_step(w, what, "wrong");
    step(w, what, true);
}

static int take_all(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    return num_args ? relax_value_keep(&args[num_args - 1], result) : -1;
}

static int32_t go_on(void *user, const relax_node *node)
{
    return *(size_t *)user += node != NULL, 0;
}

static void run(work *w, relax_executable *exe)
{
    relax_vm_options options;
    relax_vm *vm = NULL;
    relax_error *error = NULL;
    relax_value result = { 0 };
    relax_vm_options_init(&options, sizeof options);
    options.max_depth = 1 << 20;
    relax_registry_create(NULL, &options.registry, NULL);
    relax_registry_register(options.registry, Z("take_all"), take_all, NULL, NULL, NULL);
    relax_status status = relax_vm_create(exe, &options, &vm, &error);
    if (!status)
        status = relax_vm_call(vm, Z("main"), &w->arg, w->num_args, &result, &error);
    if (status)
        fail_step(w, relax_error_code(error), relax_error_message(error, NULL));
    relax_value_release(&result);
    relax_error_release(error);
    relax_vm_release(vm);
    relax_registry_release(options.registry);
    step(w, "run", true);
}

/* What goes through a tree as large as its text. */
static void use_tree(work *w, const relax_node *node)
{
    size_t count = 0;
    relax_print_options options;
    relax_print_options_init(&options, sizeof options);
    options.max_bytes = (size_t)1 << 30; /* deep nests are written far to the right */
    relax_bytes *text = relax_node_print(w->ctx, node, &options);
    expect(w, "print", text != NULL);
    const relax_module *read =
        relax_module_parse(w->ctx, Z("m.py"), relax_bytes_data(text), relax_bytes_size(text));
    step(w, "read", read);
    if (read)
        expect(w, "equal as read",
               relax_node_equal(w->ctx, node, relax_module_as_node(read), 0) == 1);
    relax_bytes_release(text);
    expect(w, "walk", !relax_node_walk(w->ctx, node, go_on, go_on, &count));
}

static void use_struct_info(work *w, const relax_struct_info *a, const relax_struct_info *b)
{
    expect(w, "fit",
           relax_struct_info_assignable(w->ctx, a, b) >= RELAX_ASSIGNABLE_NO &&
               relax_struct_info_assignable(w->ctx, a, a) >= RELAX_ASSIGNABLE_NO);
    expect(w, "lub", relax_struct_info_lub(w->ctx, a, b));
    expect(w, "erase", relax_struct_info_erase(w->ctx, a, NULL, 0));
    if (w->tree_is_huge)
        return;
    relax_bytes *text = relax_node_print(w->ctx, relax_struct_info_as_node(a), NULL);
    expect(w, "print struct info", text);
    relax_bytes_release(text);
}

static void copy(work *w, const relax_module *m)
{
    relax_context *other = relax_context_create(NULL);
    const relax_module *to = relax_module_copy(other, w->ctx, m, 0);
    expect(w, "copy", to);
    expect(w, "equal",
           relax_node_equal(w->ctx, relax_module_as_node(m), relax_module_as_node(to), 1) == 1);
    relax_context_release(other);
}

static void analyse(work *w, const relax_module *m)
{
    const relax_node *node = relax_module_as_node(m);
    if (!w->tree_is_huge)
        use_tree(w, node);
    expect(w, "hash", relax_node_hash(w->ctx, node) != 0);
    expect(w, "free vars",
           relax_free_vars(w->ctx, node, NULL, 0) == 0 &&
               relax_bound_vars(w->ctx, node, NULL, 0) != RELAX_NOT_FOUND &&
               relax_free_shape_vars(w->ctx, node, NULL, 0) == 0);
    copy(w, m);
    for (int stage = 0; stage < 3; stage++)
        step(w, "well formed", relax_module_well_formed(w->ctx, m, stage) == 1);
    const relax_module *normal = relax_module_normalize(w->ctx, m),
                       *inferred = relax_module_infer(w->ctx, m);
    expect(w, "normalize, infer", normal && inferred);
    for (size_t i = 0; i < relax_module_num_functions(m) && i < 2; i++) {
        const relax_base_func *f = relax_module_function(m, i);
        const relax_struct_info *info = relax_base_func_struct_info(f),
                                *field = relax_struct_info_field(info, 0);
        relax_find_impure_call(w->ctx, m, f);
        use_struct_info(w, info, relax_base_func_struct_info(relax_module_function(inferred, i)));
        if (field)
            use_struct_info(w, field, info);
    }
}

static void transform(work *w, const relax_module *m)
{
    for (int i = 0; relax_pass_name(i); i++) {
        const relax_module *after = relax_pass_run(w->ctx, m, Z(relax_pass_name(i)), NULL);
        step(w, relax_pass_name(i), after);
        m = after ? after : m;
    }
}

static void build_and_run(work *w, const relax_module *m)
{
    const char *want = w->program->refused;
    relax_executable *exe = relax_module_compile(w->ctx, m, NULL), *loaded = NULL;
    relax_bytes *bytes = NULL;
    if (want && *want != '*' &&
        (exe || strcmp(want, relax_diagnostic_code(w->ctx, 0) ? relax_diagnostic_code(w->ctx, 0)
                                                              : "") != 0))
        fail_step(w, "compile", want);
    if (!want && !exe)
        fail_step(w, "compile", "refused");
    step(w, "compile", exe);
    if (!exe)
        return;
    expect(w, "save", !relax_executable_serialize(exe, &bytes, NULL));
    expect(w, "load",
           !relax_executable_load(relax_bytes_data(bytes), relax_bytes_size(bytes), NULL, &loaded,
                                  NULL));
    relax_bytes_release(bytes);
    bytes = NULL;
    if (!w->tree_is_huge) {
        expect(w, "disassemble", !relax_executable_disassemble(exe, &bytes, NULL));
        for (size_t i = 0; i < relax_executable_num_params(exe, 0) && i < 2; i++)
            relax_bytes_release(relax_executable_param_text(exe, 0, i));
        relax_bytes_release(bytes);
    }
    relax_executable_release(exe);
    run(w, loaded);
    relax_executable_release(loaded);
}

static void *in_thread(void *argument)
{
    work *w = argument;
    w->ctx = relax_context_create(NULL);
    w->mb = relax_module_builder_create(w->ctx, NULL);
    w->b = relax_builder_create(w->ctx, w->mb);
    last = now();
    w->program->build(w);
    relax_module *m = relax_module_builder_finish(w->mb);
    expect(w, "build", m);
    if (m) {
        analyse(w, m);
        transform(w, m);
        build_and_run(w, m);
    }
    relax_builder_destroy(w->b);
    relax_module_builder_destroy(w->mb);
    relax_value_release(&w->arg);
    relax_context_release(w->ctx);
    return NULL;
}

static bool in_child(const program *p, size_t size)
{
    work w = { .size = size, .program = p };
    pthread_attr_t attributes;
    pthread_t thread;
    alarm(SECONDS);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (pthread_create(&thread, &attributes, in_thread, &w))
        return false;
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return !w.failed;
}

/* Each in a process of its own, so that one that crashes has a name. */
static int try_one(const program *p, size_t size)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool fine = in_child(p, size);
        fflush(NULL);
        _exit(fine ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    if (WIFSIGNALED(status))
        print_error("%s %zu: %s\n", p->name, size,
                    WTERMSIG(status) == SIGALRM ? "no end" : strsignal(WTERMSIG(status)));
    return status;
}

static const program programs[] = {
#define P(name, size, large, refused) { #name, name, size, large, refused }
    P(chain, 2000, 1000000, NULL),
    P(fan, 2000, 1000000, NULL),
    P(nested_calls, 2000, 100000, NULL),
    P(nested_calls_shared, 100, 10000, NULL),
    P(tuple_type, 10000, 100000, "WX10"),
    P(tuple_type, 1000, 1000, "*"),
    P(tuple_expr, 1000, 5000, "*"),
    P(tuple_result, 1000, 5000, "*"),
    P(wide_tuple, 10000, 50000, NULL),
    P(many_params, 10000, 20000, NULL),
    P(many_shape_vars, 5000, 10000, NULL),
    P(packed_args, 100000, 1000000, "CG08"),
    P(packed_args, 10000, 30000, NULL),
    P(many_functions, 2000, 100000, NULL),
    P(call_chain, 2000, 100000, NULL),
    P(ifs, 1000, 5000, NULL),
    P(else_ifs, 1000, 5000, NULL),
    P(local_functions, 100, 500, "*"),
    P(rank, 100000, 1000000, "CG08"),
    P(symbolic_rank, 10000, 100000, "CG08"),
    P(shape_value, 10000, 30000, NULL),
    P(sum_left, 10000, 100000, NULL),
    P(sum_right, 10000, 100000, NULL),
    P(halves, 10000, 100000, NULL),
    P(selects, 10000, 100000, NULL),
    P(minima, 10000, 100000, NULL),
    P(products, 2000, 10000, NULL),
    P(casts, 10000, 100000, NULL),
    P(remainders, 2000, 10000, NULL),
    P(shared_quotients, 62, 1000, NULL),
    P(shared_sums, 100, 10000, NULL),
    P(shared_maxima, 100, 10000, NULL),
    P(func_type, 10000, 100000, "WX10"),
    P(func_type, 900, 900, "*"),
    P(attributes, 10000, 100000, NULL),
    P(loops, 10000, 10000, "CG08"),
    P(loops, 250, 250, NULL),
    P(statements, 10000, 10000, NULL),
    P(statements, 20000, 100000, "CG08"),
    P(tir_ifs, 2000, 10000, "CG08"),
    P(tir_ifs, 250, 250, NULL),
    P(tir_else_ifs, 2000, 10000, "CG08"),
    P(tir_else_ifs, 120, 120, NULL),
    P(tir_sum, 5000, 30000, NULL),
    P(tir_sum, 50000, 100000, "CG08"),
    P(tir_sum_right, 5000, 30000, NULL),
    P(tir_sum_right, 50000, 100000, "CG08"),
    P(tir_calls, 10000, 30000, NULL),
    P(tir_calls, 50000, 100000, "CG08"),
    P(tir_indices, 3000, 10000, "CG08"),
    P(tir_indices, 30, 30, NULL),
    P(tir_deep_index, 3000, 100000, NULL),
    P(tir_blocks, 1000, 10000, "*"),
    P(tir_nested_blocks, 1000, 2000, "CG08"),
    P(tir_nested_blocks, 100, 100, "*"),
    P(tir_axes, 1000, 1000, "CG08"),
    P(tir_axes, 100, 100, NULL),
    P(tir_buffers, 2000, 10000, NULL),
    P(tir_buffers, 15000, 20000, "CG08"),
    P(tir_params, 10000, 100000, "CG08"),
    P(tir_params, 4000, 4000, NULL),
#undef P
};

static void every_program(void **state)
{
    size_t failed = 0;
    for (const program *p = programs; p < programs + N(programs); p++)
        failed += try_one(p, getenv("RELAX_LONG") ? p->large : p->size) != 0;
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_program) };
    loud = argc > 1;
    if (!loud)
        return cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < N(programs); i++)
        if (strcmp(argv[1], programs[i].name) == 0)
            return try_one(&programs[i],
                           argc > 2 ? strtoull(argv[2], NULL, 10) : programs[i].size);
    return 2;
}
