/* test_random_file.c: random sound files, made of every instruction of the VM and of kernels: the
 * verifier accepts each, and it runs to a result or an error. A second reading of the same words
 * (bytecode_model.h, random_kernel.h) says what the result must be wherever only simple
 * instructions are met. RELAX_LONG: 10000 files. */
#include <math.h>

#include "bytecode_model.h"
#include "vm/vm_int.h"

enum { MAX_FILES = 10000, FILES = 600 };
static uint32_t executed[RLX_OPCODE_COUNT], kernel_ops[RLX_K_COUNT];

/* ---- running -------------------------------------------------------------------------------- */

static int echo(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return n ? relax_value_keep(&args[0], result) != RELAX_OK : 0;
}

static int refuse(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return relax_value_set_error(result, "ValueError", 10, "no", 2);
}

typedef struct tally { int files, succeeded, modelled, modelled_fine; } tally;

/* Function 0 of a simple file against the model, by both loops; then everything is called. */
static void compare(sample *s, uint64_t seed, tally *t)
{
    static model m;
    kit *k = &s->kit;
    relax_value args[2], y;
    memset(&m, 0, sizeof m);
    m.e = k->exe;
    m.s = s;
    uint32_t first = new_value(&m, (model_value){ INT, 2, 0, { 0 }, { 0 } }), result = 0,
             both[] = { first, first };
    enum verdict want = model_call(&m, s->functions[0], both, 0, &result);
    relax_value_set_int(&args[0], 2);
    relax_value_set_int(&args[1], 2);
    if (want == UNKNOWN || m.steps >= MAX_STEPS)
        return;
    relax_vm_set_timeout(k->vm, -1);
    relax_status status = kit_call(k, "f0", args, 2, &y);
    if ((status == RELAX_OK) != (want == FINE) || (want == FINE && !same(&m, result, &y, 0)))
        fail_msg("file %llu: the model says %d, the machine %s %s", (unsigned long long)seed,
                 (int)want, relax_error_code(k->err), relax_error_message(k->err, NULL));
    relax_value_release(&y);
    t->modelled++;
    t->modelled_fine += want == FINE;
}

/* Every expression of the file, for some sizes. */
static void compare_expressions(const sample *s)
{
    const relax_executable *e = s->kit.exe;
    for (int64_t round = 0; round < 4; round++)
        for (int i = 0; i < EXPRS; i++) {
            int64_t syms[SYMS] = { round, 7 - 3 * round, round * round, -round }, want = 0,
                    have = 0;
            rlx_desc_env env = { e->descs, syms, NULL, &e->names };
            rlx_fault why = { 0 };
            uint32_t at = s->exprs[i];
            bool fine = model_expr(e->descs + at + 2, (uint32_t)e->descs[at] - 2, syms, &want);
            if (rlx_desc_expr_eval(&env, at, &have, &why) != fine || (fine && have != want))
                fail_msg("expression %d: %lld, wanted %lld (%d) %s", i, (long long)have,
                         (long long)want, fine, why.text);
        }
}

static void count_coverage(sample *s)
{
    const rlx_profile *p = s->kit.vm->profile;
    for (int op = 0; p && op < RLX_OPCODE_COUNT; op++)
        executed[op] += p->ops[op].count > 0;
}

static void run_all(sample *s, tally *t)
{
    kit *k = &s->kit;
    for (int32_t f = 0; f < FUNCTIONS; f++)
        for (int way = 0; way < 2; way++) {
            relax_value args[] = { kit_vector(3, 0), kit_vector(3, 1) }, y;
            relax_tensor *buffer = relax_value_get_tensor(&args[1]);
            relax_error *err = NULL;
            relax_vm_set_timeout(k->vm, 2000000);
            relax_vm_profile_start(k->vm);
            relax_status status = relax_vm_call_function(k->vm, f, args, 2, &y, &err);
            count_coverage(s);
            relax_vm_profile_stop(k->vm);
            t->succeeded += status == RELAX_OK;
            assert_true(status == RELAX_OK ? !err
                                           : err && strncmp(relax_error_code(err), "RT", 2) == 0);
            relax_error_release(err);
            relax_value_release(&y);
            relax_value_release(&args[0]);
            relax_value_set_int(&args[0], 3);
            relax_vm_call_into(k->vm, f, args, 1 + (size_t)way, &buffer, (size_t)way, NULL);
            relax_value_release(&args[1]);
        }
}

static void one_file(uint64_t seed, tally *t)
{
    static sample s;
    relax_vm_options o;
    generate(&s, seed, seed % 2);
    kit *k = &s.kit;
    relax_vm_options_init(&o, sizeof o);
    o.max_memory = (size_t)16 << 20;
    o.max_depth = 100;
    o.num_threads = 1 + seed % 3; /* threads of random kernels write where others read */
    kit_register(k, "test.echo", echo, NULL);
    kit_register(k, "test.refuse", refuse, NULL);
    kit_load_with(k, &o); /* fails the test if the verifier says no */
    compare_expressions(&s);
    if (s.simple)
        compare(&s, seed, t);
    run_all(&s, t);
    t->files++;
    kit_end(k);
}

static void show_uncovered(const char *what, const uint32_t *counts, uint32_t n,
                           const char *(*name)(uint32_t))
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!counts[i]) {
            print_message("never %s: %s\n", what, name(i));
            missing++;
        }
    print_message("%s: %u of %u\n", what, n - missing, n);
    assert_int_equal(missing, 0);
}

static const char *op_name(uint32_t op) { return rlx_opcode_info(op)->text; }
static const char *kernel_op_name(uint32_t op) { return rlx_kernel_ops[op].text; }
static const char *builtin_name(uint32_t i) { return builtin_rows[i].name; }

static void random_files_load_and_run(void **state)
{
    tally t = { 0, 0, 0, 0 };
    for (uint64_t seed = 1; seed <= (getenv("RELAX_LONG") ? MAX_FILES : FILES); seed++)
        one_file(seed, &t);
    print_message("%d files, %d calls succeeded, %d compared with the model (%d results)\n",
                  t.files, t.succeeded, t.modelled, t.modelled_fine);
    show_uncovered("instructions written", written, RLX_OPCODE_COUNT, op_name);
    show_uncovered("instructions executed", executed, RLX_OPCODE_COUNT, op_name);
    show_uncovered("builtins", builtins, (uint32_t)RLX_COUNT(builtin_rows), builtin_name);
    assert_true(t.succeeded > t.files / 4 && t.modelled > t.files / 4 &&
                t.modelled_fine > t.files / 20);
}

/* ---- kernels alone -------------------------------------------------------------------------- */

static int stop_after(void *left) { return atomic_fetch_sub((_Atomic int *)left, 1) <= 0; }

static void run_kernel(const rk_kernel *code, const rlx_kernel *k, uint64_t seed, bool *fine)
{
    static union { unsigned char bytes[RK_SIZE * 8]; int64_t ints[RK_SIZE]; } data[RK_PARAMS];
    int64_t size = RK_SIZE, want[RK_SCALARS];
    DLTensor views[RK_PARAMS];
    relax_value args[RK_PARAMS];
    rlx_memory memory;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    _Atomic int left = 4;
    assert_true(rlx_memory_init(&memory, NULL, (size_t)16 << 20));
    rlx_kernel_env_init(&env, &memory);
    env.poll = stop_after;
    env.poll_user = &left;
    if (seed % 4 == 1)
        env.workers = rlx_workers_make(&memory, 3, NULL, NULL);
    memset(data, 0, sizeof data);
    for (int i = 0; i < RK_PARAMS; i++) {
        views[i] = (DLTensor){ .data = &data[i],
                               .device = { 1, 0 },
                               .ndim = 1,
                               .dtype = rlx_dl_from_dtype(rk_param_dtypes[i]),
                               .shape = &size };
        args[i] = rlx_value_object(RELAX_VALUE_TENSOR_VIEW, &views[i]);
    }
    *fine = rlx_kernel_call(k, &env, args, RK_PARAMS, &why);
    if (code->scalars_only && rk_model(code, want)) {
        if (!*fine || memcmp(want, data[1].ints, sizeof want) != 0)
            fail_msg("kernel %llu: %lld %lld ..., wanted %lld %lld ... %s",
                     (unsigned long long)seed, (long long)data[1].ints[0],
                     (long long)data[1].ints[1], (long long)want[0], (long long)want[1], why.text);
    }
    rlx_kernel_env_free(&env);
    rlx_workers_free(env.workers);
    assert_int_equal(rlx_mem_live(&memory), 0);
}

static void random_kernels_load_and_run(void **state)
{
    static rk_kernel code;
    int count = getenv("RELAX_LONG") ? 20000 : 2000, succeeded = 0;
    for (int i = 0; i < count; i++) {
        rk_random random = { (uint64_t)i * 0x9e3779b97f4a7c15u };
        rlx_memory memory;
        rlx_buf bytes;
        rlx_kernel *k = NULL;
        rlx_fault why = { 0 };
        bool fine;
        assert_true(rlx_memory_init(&memory, NULL, SIZE_MAX));
        rlx_buf_init(&bytes, &memory);
        rk_generate(&code, &random, i % 3 == 0);
        rk_write(&code, &bytes);
        if (!rlx_kernel_load(&memory, (const uint8_t *)bytes.data, bytes.len, &k, &why))
            fail_msg("kernel %d: %s", i, why.text);
        run_kernel(&code, k, (uint64_t)i, &fine);
        succeeded += fine;
        for (int op = 0; op < RLX_K_COUNT; op++)
            kernel_ops[op] += fine && code.used[op];
        rlx_kernel_free(k);
        rlx_buf_free(&bytes);
        assert_int_equal(rlx_mem_live(&memory), 0);
    }
    print_message("%d kernels, %d ran to their end\n", count, succeeded);
    show_uncovered("kernel instructions", kernel_ops, RLX_K_COUNT, kernel_op_name);
}

/* ---- rows of a chain: all of them at once, and as any loop does them ----------------------------- */

typedef struct rows_run { float floats[RK_SIZE]; int64_t ints[RK_SIZE]; bool fine; rlx_fault why; } rows_run;

static void run_rows(const rlx_kernel *k, rows_run *out)
{
    int64_t size = RK_SIZE;
    static double unused[2][RK_SIZE];
    void *const data[RK_PARAMS] = { unused[0], out->ints, out->floats, unused[1] };
    DLTensor views[RK_PARAMS];
    relax_value args[RK_PARAMS];
    rlx_memory memory;
    rlx_kernel_env env;
    assert_true(rlx_memory_init(&memory, NULL, (size_t)16 << 20));
    rlx_kernel_env_init(&env, &memory);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < RK_SIZE; i++)
        out->floats[i] = i % 37 == 5 ? -0.0f : i % 41 == 7 ? (float)NAN : (float)(i % 19 - 9) / 4;
    for (int i = 0; i < RK_PARAMS; i++) {
        views[i] = (DLTensor){ .data = data[i], .device = { 1, 0 }, .ndim = 1, .dtype = rlx_dl_from_dtype(rk_param_dtypes[i]), .shape = &size };
        args[i] = rlx_value_object(RELAX_VALUE_TENSOR_VIEW, &views[i]);
    }
    out->fine = rlx_kernel_call(k, &env, args, RK_PARAMS, &out->why);
    rlx_kernel_env_free(&env);
    assert_int_equal(rlx_mem_live(&memory), 0);
}

/* The loop that has been found, so that it runs as any other; false: none was. */
static bool forget_rows(const rlx_kernel *k)
{
    bool any = false;
    for (uint32_t at = 0; at < k->num_words; at += rlx_kernel_op_words(k->code[at] & 0xffff))
        if ((k->code[at] & 0xffff) == RLX_K_LOOP && k->code[at] & RLX_KERNEL_LONG) {
            ((uint32_t *)(uintptr_t)k->code)[at] &= ~RLX_KERNEL_LONG;
            any = true;
        }
    return any;
}

/* The same numbers? The sign of NaN is nobody's. */
static bool same_results(const rows_run *a, const rows_run *b)
{
    bool same = memcmp(a->ints, b->ints, sizeof a->ints) == 0;
    for (int i = 0; i < RK_SIZE && same; i++)
        same = memcmp(&a->floats[i], &b->floats[i], sizeof(float)) == 0 || (a->floats[i] != a->floats[i] && b->floats[i] != b->floats[i]);
    return same;
}

static void rows_of_chains(void **state)
{
    static rk_kernel code;
    int count = getenv("RELAX_LONG") ? 300000 : 20000, found = 0, fine = 0;
    for (int i = 0; i < count; i++) {
        static rows_run at_once, plain;
        rk_random random = { (uint64_t)i * 0x9e3779b97f4a7c15u };
        rlx_memory memory;
        rlx_buf bytes;
        rlx_kernel *k = NULL;
        rlx_fault why = { 0 };
        assert_true(rlx_memory_init(&memory, NULL, SIZE_MAX));
        rlx_buf_init(&bytes, &memory);
        rk_generate_rows(&code, &random);
        rk_write(&code, &bytes);
        if (!rlx_kernel_load(&memory, (const uint8_t *)bytes.data, bytes.len, &k, &why))
            fail_msg("rows %d: %s", i, why.text);
        run_rows(k, &at_once);
        if (forget_rows(k)) {
            run_rows(k, &plain);
            found++;
            fine += plain.fine;
            if (at_once.fine != plain.fine || (plain.fine && !same_results(&at_once, &plain)))
                fail_msg("rows %d: %d, as any loop %d: %s%s", i, at_once.fine, plain.fine, at_once.why.text, plain.why.text);
        }
        rlx_kernel_free(k);
        rlx_buf_free(&bytes);
        assert_int_equal(rlx_mem_live(&memory), 0);
    }
    print_message("%d loops, %d of them over rows, %d ran to their end\n", count, found, fine);
    assert_true(found > count / 10 && fine > count / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_of_chains),  cmocka_unit_test(random_kernels_load_and_run),
                                        cmocka_unit_test(random_files_load_and_run) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
