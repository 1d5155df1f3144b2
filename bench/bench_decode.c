/* bench_decode: steps of decoding whose caches of keys and values grow by a row each: handed over from call to call, and lent,
 * which copies them. The step is nothing but the caches, so that what grows with them shows.
 * Usage: bench_decode */
#include <relax/relax.h>

#include <string.h>

#include "bench.h"

enum { STEPS = 512, PART = 64, TURNS = 9, HEADS = 8, WIDTH = 64, ROW = HEADS * WIDTH };

static const char program[] =
    "@R.function\n"
    "def main(k: R.Tensor((1, \"n\", 8, 64), \"float32\"), v: R.Tensor((1, \"n\", 8, 64), \"float32\"), x: R.Tensor((1, 1, 8, 64), \"float32\")):\n"
    "    n = T.int64()\n"
    "    with R.dataflow():\n"
    "        keys = R.concat((k, R.multiply(x, R.const(0.5, \"float32\"))), axis=1)\n"
    "        values = R.concat((v, x), axis=1)\n"
    "        R.output(keys, values)\n"
    "    return (keys, values)\n";

static relax_vm *make_vm(void)
{
    relax_executable *exe = NULL;
    relax_vm *vm = NULL;
    relax_context *ctx = relax_context_create(NULL);
    const relax_module *m = relax_module_parse(ctx, "decode", 6, program, sizeof program - 1);
    exe = m ? relax_module_compile(ctx, m, NULL) : NULL;
    if (!exe || relax_vm_create(exe, NULL, &vm, NULL) != RELAX_OK)
        bench_die("bench_decode", "the program does not compile");
    relax_executable_release(exe);
    relax_context_release(ctx);
    return vm;
}

static relax_value rows(int64_t count)
{
    static float data[ROW];
    const int64_t shape[] = { 1, count, HEADS, WIDTH };
    relax_tensor *t = NULL;
    relax_value v;
    for (int i = 0; i < ROW; i++)
        data[i] = (float)i;
    if (relax_tensor_create(RELAX_FLOAT32, shape, 4, NULL, &t, NULL) != RELAX_OK || relax_tensor_copy_in(t, data, sizeof data) != RELAX_OK)
        bench_die("bench_decode", "no tensor");
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    return v;
}

/* The caches become those of the next step. */
static void step(relax_vm *vm, relax_value *caches, const relax_value *x, int moves)
{
    relax_value args[] = { caches[0], caches[1], *x }, result;
    relax_value_retain(x);
    relax_status s = moves ? relax_vm_call_move(vm, 0, args, 3, &result, NULL)
                           : relax_vm_call_function(vm, 0, args, 3, &result, NULL);
    for (int i = 0; i < 3; i++)
        relax_value_release(&args[i]);
    if (s != RELAX_OK)
        bench_die("bench_decode", "a step failed");
    for (size_t i = 0; i < 2; i++) {
        relax_value_tuple_get(&result, i, &caches[i]);
        relax_value_retain(&caches[i]);
    }
    relax_value_release(&result);
}

/* A decoding of 512 steps: seconds of all, of the first and of the last 64. */
static void decode(relax_vm *vm, int moves, double *all, double *first, double *last)
{
    relax_value caches[] = { rows(1), rows(1) }, x = rows(1);
    double begin = bench_now(), early = 0, late = 0;
    for (int i = 0; i < STEPS; i++) {
        if (i == PART)
            early = bench_now();
        if (i == STEPS - PART)
            late = bench_now();
        step(vm, caches, &x, moves);
    }
    double end = bench_now();
    const relax_tensor *t = relax_value_get_tensor(&caches[1]);
    if (relax_tensor_bytes(t) != (size_t)(STEPS + 1) * ROW * sizeof(float) ||
        memcmp((const float *)relax_tensor_data(t) + (size_t)STEPS * ROW, relax_tensor_data(t), ROW * sizeof(float)) != 0)
        bench_die("bench_decode", "wrong caches");
    *all = end - begin;
    *first = early - begin;
    *last = end - late;
    for (int i = 0; i < 2; i++)
        relax_value_release(&caches[i]);
    relax_value_release(&x);
}

int main(void)
{
    static double all[2][TURNS], first[2][TURNS], last[2][TURNS];
    static const char *const how[] = { "lent", "handed over" };
    char key[64];
    relax_vm *vm = make_vm();
    for (int i = 0; i < TURNS; i++)
        for (int moves = 0; moves < 2; moves++)
            decode(vm, moves, &all[moves][i], &first[moves][i], &last[moves][i]);
    for (int moves = 0; moves < 2; moves++) {
        snprintf(key, sizeof key, "all %s", how[moves]);
        bench_times(key, all[moves], TURNS, 1e6 / STEPS, "us");
        snprintf(key, sizeof key, "first %s", how[moves]);
        bench_times(key, first[moves], TURNS, 1e6 / PART, "us");
        snprintf(key, sizeof key, "last %s", how[moves]);
        bench_times(key, last[moves], TURNS, 1e6 / PART, "us");
    }
    relax_vm_release(vm);
    return 0;
}
