/* test_growing_results.c: results in the memory of arguments that were handed over: when they are, how often memory is asked
 * for, and that nobody else sees it. */
#include "program.h"
#include "text_file.h"

enum { STEPS = 300, MOST_MOVES = 12 };

/* ---- values --------------------------------------------------------------------------------- */

/* Element (row, k) of a cache that begins with `rows` rows: from `first` on. */
static float value(int first, int row, int k) { return (float)(first + 10 * row + k); }

static relax_value tensor(const int64_t *shape, const float *data)
{
    relax_value v;
    relax_tensor *t = NULL;
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, shape, 3, NULL, &t, NULL), RELAX_OK);
    relax_tensor_copy_in(t, data, relax_tensor_bytes(t));
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    return v;
}

/* (1, rows, 2) */
static relax_value cache(int first, int rows)
{
    float data[64];
    const int64_t shape[] = { 1, rows, 2 };
    for (int i = 0; i < 2 * rows; i++)
        data[i] = value(first, i / 2, i % 2);
    return tensor(shape, data);
}

/* What makes row `row` of such a cache; the program doubles it. */
static relax_value half_row(int first, int row)
{
    const float x[] = { value(first, row, 0) / 2, value(first, row, 1) / 2 };
    return tensor((const int64_t[]){ 1, 1, 2 }, x);
}

static const float *data_of(const relax_value *v) { return relax_tensor_data(relax_value_get_tensor(v)); }

static void expect_cache(const relax_value *v, int first, int rows)
{
    const relax_tensor *t = relax_value_get_tensor(v);
    assert_non_null(t);
    assert_int_equal(relax_tensor_ndim(t), 3);
    assert_int_equal(relax_tensor_bytes(t), (size_t)rows * 2 * sizeof(float));
    for (int i = 0; i < 2 * rows; i++)
        assert_true(data_of(v)[i] == value(first, i / 2, i % 2));
}

/* Hands both over; *c becomes the result. */
static void grow(program *p, relax_value *c, relax_value x)
{
    relax_value args[] = { *c, x };
    relax_error *error = NULL;
    assert_int_equal(relax_vm_call_move(p->vm, 0, args, 2, c, &error), RELAX_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(relax_value_kind(&args[i]), RELAX_VALUE_KIND_NULL);
}

static void begin(program *p, const char *name, int32_t level)
{
    *p = (program){ .opt_level = level };
    program_build(p, PROGRAM(name));
    program_vm(p, 0);
}

/* ---- growing -------------------------------------------------------------------------------- */

/* Whoever hands a cache over and over finds it in the same place, but for a few times. */
static void memory_is_doubled(void **state)
{
    for (int32_t level = 0; level <= 2; level++) {
        program p;
        int moves = 0;
        begin(&p, "a row more", level);
        assert_true(program_shows(&p, "alloc_over"));
        relax_value c = cache(5, 3);
        for (int row = 3; row < STEPS; row++) {
            const float *before = data_of(&c);
            grow(&p, &c, half_row(5, row));
            moves += data_of(&c) != before;
        }
        expect_cache(&c, 5, STEPS);
        assert_true(moves >= 2 && moves <= MOST_MOVES);
        relax_value_release(&c);
        program_end(&p);
    }
}

/* Without handing over, each call has a result of its own and arguments stay. */
static void what_is_lent_stays(void **state)
{
    program p;
    begin(&p, "a row more", 2);
    relax_value c = cache(1, 4), x = half_row(1, 4), a, b;
    const relax_value args[] = { c, x };
    assert_int_equal(relax_vm_call_function(p.vm, 0, args, 2, &a, NULL), RELAX_OK);
    assert_int_equal(relax_vm_call_function(p.vm, 0, args, 2, &b, NULL), RELAX_OK);
    expect_cache(&c, 1, 4);
    expect_cache(&a, 1, 5);
    expect_cache(&b, 1, 5);
    assert_true(data_of(&a) != data_of(&b) && data_of(&a) != data_of(&c));
    relax_value_release(&a);
    relax_value_release(&b);
    relax_value_release(&c);
    relax_value_release(&x);
    program_end(&p);
}

/* A cache that is kept is two caches from there on. */
static void what_is_kept_stays(void **state)
{
    program p;
    begin(&p, "a row more", 2);
    relax_value c = cache(1, 4), kept, other;
    for (int row = 4; row < 12; row++)
        grow(&p, &c, half_row(1, row)); /* into room */
    kept = other = c;
    relax_value_retain(&c);
    relax_value_retain(&c);
    grow(&p, &c, half_row(1, 12));
    grow(&p, &other, half_row(2, 12));
    expect_cache(&kept, 1, 12);
    expect_cache(&c, 1, 13);
    assert_true(data_of(&other)[24] == value(2, 12, 0) && data_of(&other)[0] == value(1, 0, 0));
    relax_value_release(&kept);
    grow(&p, &c, half_row(1, 13));
    expect_cache(&c, 1, 14);
    relax_value_release(&c);
    relax_value_release(&other);
    program_end(&p);
}

/* A view of its memory counts as somebody who has it. */
static void what_is_viewed_stays(void **state)
{
    program p;
    begin(&p, "a row more", 2);
    relax_value c = cache(1, 4);
    DLManagedTensor *view = NULL;
    for (int row = 4; row < 12; row++)
        grow(&p, &c, half_row(1, row));
    const float *was = data_of(&c);
    assert_int_equal(relax_tensor_to_dlpack_legacy((relax_tensor *)(uintptr_t)relax_value_get_tensor(&c), &view, NULL), RELAX_OK);
    grow(&p, &c, half_row(1, 12));
    assert_true(data_of(&c) != was && view->dl_tensor.data == (void *)(uintptr_t)was && was[23] == value(1, 11, 1));
    view->deleter(view);
    expect_cache(&c, 1, 13);
    relax_value_release(&c);
    program_end(&p);
}

/* Memory of a host is read, wherever its tensor goes. */
static void memory_of_hosts_stays(void **state)
{
    program p;
    begin(&p, "as large", 2);
    float memory[] = { 1, 2, 3, 4 };
    relax_tensor *t = NULL;
    assert_int_equal(relax_tensor_from_memory(RELAX_FLOAT32, (const int64_t[]){ 1, 2, 2 }, 3, memory, NULL, NULL, &t, NULL), RELAX_OK);
    relax_value c, x = tensor((const int64_t[]){ 1, 1, 2 }, (const float[]){ 1, 1 });
    relax_value_set_tensor(&c, t);
    relax_tensor_release(t);
    grow(&p, &c, x);
    expect_f32_value(&c, 4, (const float[]){ 2, 3, 4, 5 });
    assert_true(memory[0] == 1 && memory[3] == 4 && data_of(&c) != memory);
    relax_value_release(&c);
    program_end(&p);
}

/* A result of the size of its argument takes its place. */
static void results_as_large(void **state)
{
    program p;
    begin(&p, "as large", 2);
    relax_value c = tensor((const int64_t[]){ 1, 2, 2 }, (const float[]){ 1, 2, 3, 4 });
    const float *was = data_of(&c);
    grow(&p, &c, tensor((const int64_t[]){ 1, 1, 2 }, (const float[]){ 1, 1 }));
    expect_f32_value(&c, 4, (const float[]){ 2, 3, 4, 5 });
    assert_ptr_equal(data_of(&c), was);
    relax_value_release(&c);
    program_end(&p);
}

/* ---- inside of programs --------------------------------------------------------------------- */

/* Where the argument is still needed, its elements lie apart, or stand behind others, the result has memory of its own. */
static void others_are_copied(void **state)
{
    static const struct { const char *name; int64_t shape[3]; size_t count; float want[10]; } cases[] = {
        { "in front", { 1, 2, 2 }, 6, { 7, 8, 1, 2, 3, 4 } },
        { "rows that are apart", { 2, 2, 1 }, 6, { 1, 2, 7, 3, 4, 8 } },
        { "read again", { 1, 2, 2 }, 6, { 1, 2, 3, 4, 7, 8, 4, 6 } },
        { "in a tuple", { 1, 2, 2 }, 6, { 1, 2, 3, 4, 7, 8 } },
        { "the second of two", { 1, 2, 2 }, 6, { 1, 2, 3, 4, 7, 8 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int32_t level = 0; level <= 2; level++) {
            program p;
            relax_value got, field;
            begin(&p, cases[i].name, level);
            relax_value c = tensor(cases[i].shape, (const float[]){ 1, 2, 3, 4 });
            relax_value x = tensor((const int64_t[]){ cases[i].shape[0], 1, cases[i].shape[2] }, (const float[]){ 7, 8 });
            if (i == 3) {
                relax_value fields[] = { c, x }, t;
                assert_int_equal(relax_value_set_tuple(&t, fields, 2, NULL), RELAX_OK);
                relax_value_release(&c);
                c = t;
                x = tensor((const int64_t[]){ 1, 1, 2 }, (const float[]){ 7, 8 });
                relax_value_release(&fields[1]);
            }
            relax_value args[] = { c, x };
            assert_int_equal(relax_vm_call_move(p.vm, 0, args, 2, &got, NULL), RELAX_OK);
            bool many = relax_value_kind(&got) == RELAX_VALUE_KIND_TUPLE;
            assert_true(i < 2 || i == 3 || many);
            if (i == 1 || i == 2)
                assert_false(program_shows(&p, "alloc_over"));
            if (many)
                relax_value_tuple_get(&got, 0, &field);
            expect_f32_value(many ? &field : &got, cases[i].count, cases[i].want);
            if (many) {
                relax_value_tuple_get(&got, 1, &field);
                if (i == 2)
                    expect_f32_value(&field, 2, cases[i].want + 6);
                else
                    expect_f32_value(&field, 6, (const float[]){ 1, 2, 3, 4, -7, -8 });
            }
            relax_value_release(&got);
            program_end(&p);
        }
}

/* One result grows into the next. */
static void two_in_a_row(void **state)
{
    program p;
    relax_vm_counters counters = { .struct_size = sizeof counters };
    begin(&p, "two rows more", 2);
    relax_value c = tensor((const int64_t[]){ 1, 1, 2 }, (const float[]){ 1, 2 });
    double sum = 3;
    for (int i = 0; i < 6; i++) {
        grow(&p, &c, tensor((const int64_t[]){ 1, 1, 2 }, (const float[]){ 0, 1 }));
        sum = 2 * (sum + 1);
    }
    const float *data = data_of(&c);
    double have = 0;
    for (int i = 0; i < 26; i++)
        have += data[i];
    assert_true(have == sum && relax_tensor_bytes(relax_value_get_tensor(&c)) == 26 * sizeof(float));
    assert_int_equal(relax_vm_get_counters(p.vm, &counters), RELAX_OK);
    relax_value_release(&c);
    program_end(&p);
}

/* A loop hands its arguments over by itself. */
static void loops_hand_over(void **state)
{
    for (int32_t level = 0; level <= 2; level++) {
        program p;
        relax_vm_counters counters = { .struct_size = sizeof counters };
        begin(&p, "in a loop", level);
        program_i64(&p, STEPS);
        *program_arg(&p) = cache(0, 1);
        *program_arg(&p) = tensor((const int64_t[]){ 1, 1, 2 }, (const float[]){ 0, 100 });
        program_ok(&p, "main");
        const float *data = data_of(&p.result);
        assert_int_equal(relax_tensor_bytes(relax_value_get_tensor(&p.result)), (STEPS + 1) * 2 * sizeof(float));
        assert_true(data[0] == value(0, 0, 0) && data[1] == value(0, 0, 1));
        for (int i = 0; i < STEPS; i++)
            assert_true(data[2 + 2 * i] == 2 * (float)i && data[3 + 2 * i] == 2 * (float)(i + 100));
        assert_int_equal(relax_vm_get_counters(p.vm, &counters), RELAX_OK);
        assert_true(counters.allocations < STEPS);
        program_end(&p);
    }
}

/* ---- in tuples ------------------------------------------------------------------------------ */

static relax_value pair(relax_value a, relax_value b)
{
    const relax_value fields[] = { a, b };
    relax_value t;
    assert_int_equal(relax_value_set_tuple(&t, fields, 2, NULL), RELAX_OK);
    relax_value_release(&a);
    relax_value_release(&b);
    return t;
}

static relax_value field_of(const relax_value *t, size_t i)
{
    relax_value v;
    assert_int_equal(relax_value_tuple_get(t, i, &v), RELAX_OK);
    return v;
}

/* A tuple that is handed over hands over what is in it, tuples too. */
static void fields_grow(void **state)
{
    for (int32_t level = 0; level <= 2; level++) {
        program p;
        int moves[2] = { 0, 0 };
        begin(&p, "two in a tuple", level);
        relax_value inner = cache(0, 2), one, t;
        assert_int_equal(relax_value_set_tuple(&one, &inner, 1, NULL), RELAX_OK);
        relax_value_release(&inner);
        t = pair(cache(5, 2), one);
        for (int row = 2; row < STEPS; row++) {
            relax_value b = field_of(&t, 1), fields[] = { field_of(&t, 0), field_of(&b, 0) };
            const float *before[] = { data_of(&fields[0]), data_of(&fields[1]) };
            grow(&p, &t, half_row(5, row));
            b = field_of(&t, 1);
            fields[0] = field_of(&t, 0);
            fields[1] = field_of(&b, 0);
            for (int i = 0; i < 2; i++)
                moves[i] += data_of(&fields[i]) != before[i];
            const float *last = data_of(&fields[1]) + 2 * row;
            assert_true(last[0] == 2 * value(5, row, 0) && last[1] == 2 * value(5, row, 1));
        }
        relax_value b = field_of(&t, 1), a = field_of(&t, 0), c = field_of(&b, 0);
        expect_cache(&a, 5, STEPS);
        assert_true(data_of(&c)[0] == value(0, 0, 0) && data_of(&c)[3] == value(0, 1, 1));
        for (int i = 0; i < 2; i++)
            assert_true(moves[i] >= 2 && moves[i] <= MOST_MOVES);
        relax_value_release(&t);
        program_end(&p);
    }
}

/* What is lent, kept, read again or given back whole stays as it was. */
static void other_tuples_stay(void **state)
{
    static const char *const names[] = { "a tuple read again", "a tuple as a whole" };
    for (int i = 0; i < 2; i++)
        for (int kept = 0; kept < 3; kept++) {   /* the tuple, a field of it, neither */
            program p;
            relax_value got, second, field;
            begin(&p, names[i], 2);
            relax_value t = pair(cache(5, 2), cache(7, 2)), alias = kept == 1 ? field_of(&t, 0) : t;
            if (kept < 2)
                relax_value_retain(&alias);
            relax_value args[] = { t, cache(9, 1) };
            assert_int_equal(relax_vm_call_move(p.vm, 0, args, 2, &got, NULL), RELAX_OK);
            field = field_of(&got, 0);
            assert_true(data_of(&field)[0] == value(5, 0, 0) && data_of(&field)[3] == value(5, 1, 1) &&
                        data_of(&field)[4] == value(9, 0, 0));
            second = field_of(&got, 1);
            if (i == 0)
                expect_f32_value(&second, 2, (const float[]){ 20, 22 });
            for (int k = 0; i == 1 && k < 2; k++) {
                field = field_of(&second, (size_t)k);
                expect_cache(&field, k ? 7 : 5, 2);
            }
            if (kept < 2) {
                field = kept ? alias : field_of(&alias, 0);
                expect_cache(&field, 5, 2);
                relax_value_release(&alias);
            }
            relax_value_release(&got);
            program_end(&p);
        }
}

/* ---- failures ------------------------------------------------------------------------------- */

/* What fails has taken its arguments over all the same. */
static void failures_take_too(void **state)
{
    program p;
    begin(&p, "a row more", 2);
    relax_value args[] = { cache(1, 4), tensor((const int64_t[]){ 1, 2, 2 }, (const float[]){ 0, 0, 0, 0 }) }, got;
    relax_error *error = NULL;
    assert_int_not_equal(relax_vm_call_move(p.vm, 0, args, 2, &got, &error), RELAX_OK);
    assert_string_equal(relax_error_code(error), "RT05");
    relax_error_release(error);
    assert_int_equal(relax_value_kind(&args[0]), RELAX_VALUE_KIND_NULL);
    args[0] = cache(1, 4);
    assert_int_not_equal(relax_vm_call_move(p.vm, 0, args, 1, &got, NULL), RELAX_OK);
    args[0] = cache(1, 4);
    assert_int_not_equal(relax_vm_call_move(p.vm, 7, args, 1, &got, NULL), RELAX_OK);
    args[0] = cache(1, 4);
    assert_int_not_equal(relax_vm_call_move(p.vm, 0, args, 1, NULL, NULL), RELAX_OK);
    assert_int_equal(relax_value_kind(&args[0]), RELAX_VALUE_KIND_NULL);
    program_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_doubled),     cmocka_unit_test(what_is_lent_stays),
        cmocka_unit_test(what_is_kept_stays),    cmocka_unit_test(what_is_viewed_stays),
        cmocka_unit_test(memory_of_hosts_stays), cmocka_unit_test(results_as_large),
        cmocka_unit_test(others_are_copied),     cmocka_unit_test(two_in_a_row),
        cmocka_unit_test(loops_hand_over),       cmocka_unit_test(failures_take_too),
        cmocka_unit_test(fields_grow),           cmocka_unit_test(other_tuples_stay),
    };
    return cmocka_run_group_tests_name("growing_results", tests, NULL, NULL);
}
