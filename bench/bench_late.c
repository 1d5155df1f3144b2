/* bench_late: operators that are bound when they meet their operands: what a call costs above the same one bound early, and what
 * the first meeting costs, by kernel bytecode. Small operands, so that the operator itself is next to nothing.
 * Usage: bench_late */
#include <relax/relax.h>

#include <string.h>

#include "bench.h"

enum { STEPS = 200, TURNS = 400, MEETINGS = 100, MOST_TEXT = 1 << 15 };

typedef struct program { relax_executable *exe; relax_vm *vm; } program;

/* `steps` times v = OPERATOR, an expression of v and y, on operands of that annotation. */
static program compile(const char *operator, const char *annotation, int steps)
{
    static char text[MOST_TEXT];
    program p = { NULL, NULL };
    int n = snprintf(text, sizeof text, "@R.function\ndef main(v: %s, y: %s):\n", annotation, annotation);
    for (int i = 0; i < steps; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "    v = R.%s\n", operator);
    n += snprintf(text + n, sizeof text - (size_t)n, "    return v\n");
    relax_context *ctx = relax_context_create(NULL);
    const relax_module *m = relax_module_parse(ctx, "late", 4, text, (size_t)n);
    relax_compile_options o;
    relax_compile_options_init(&o, sizeof o);
    o.opt_level = 0;
    p.exe = m ? relax_module_compile(ctx, m, &o) : NULL;
    if (!p.exe || relax_vm_create(p.exe, NULL, &p.vm, NULL) != RELAX_OK)
        bench_die(operator, "does not compile");
    relax_context_release(ctx);
    return p;
}

static void drop(program p)
{
    relax_vm_release(p.vm);
    relax_executable_release(p.exe);
}

static double call(program p, const relax_value *args)
{
    relax_value result;
    double begin = bench_now();
    if (relax_vm_call(p.vm, "main", 4, args, 2, &result, NULL) != RELAX_OK)
        bench_die("bench_late", "the call failed");
    double seconds = bench_now() - begin;
    relax_value_release(&result);
    return seconds;
}

static void compare(const char *name, const char *operator, const relax_value *args)
{
    static const char *const annotations[] = { "R.Tensor((3, 3), \"float32\")", "R.Tensor(\"float32\", ndim=2)", "R.Tensor" };
    static const char *const keys[] = { "early", "sizes", "late" };
    static double times[3][TURNS];
    program p[3];
    char key[64];
    for (int k = 0; k < 3; k++)
        p[k] = compile(operator, annotations[k], STEPS);
    for (int turn = 0; turn < TURNS; turn++)
        for (int k = 0; k < 3; k++)
            times[k][turn] = call(p[k], args);
    for (int k = 0; k < 3; k++) {
        snprintf(key, sizeof key, "%s %s", keys[k], name);
        bench_times(key, times[k], TURNS, 1e9 / STEPS, "ns");
        drop(p[k]);
    }
}

static void meet(const char *name, const char *operator, const relax_value *args)
{
    double times[MEETINGS];
    char key[64];
    for (int i = 0; i < MEETINGS; i++) {
        program p = compile(operator, "R.Tensor", 1);
        times[i] = call(p, args);
        drop(p);
    }
    snprintf(key, sizeof key, "first %s", name);
    bench_times(key, times, MEETINGS, 1e6, "us");
}

int main(void)
{
    static const struct { const char *name, *operator; } operators[] = {
        { "negative", "negative(v)" }, { "add", "add(v, y)" }, { "matmul", "matmul(v, y)" }, { "sum", "sum(v, axis=[1])" },
        { "concat", "concat((v, y))" }, { "softmax", "nn.softmax(v)" },
    };
    const int64_t sizes[] = { 3, 3 };
    relax_value args[2];
    for (int i = 0; i < 2; i++) {
        relax_tensor *t = NULL;
        if (relax_tensor_create(RELAX_FLOAT32, sizes, 2, NULL, &t, NULL) != RELAX_OK)
            bench_die("bench_late", "out of memory");
        memset(relax_tensor_data(t), 0, 9 * sizeof(float));
        relax_value_set_tensor(&args[i], t);
        relax_tensor_release(t);
    }
    compare(operators[0].name, operators[0].operator, args);
    compare(operators[1].name, operators[1].operator, args);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        meet(operators[i].name, operators[i].operator, args);
    relax_value_release(&args[0]);
    relax_value_release(&args[1]);
    return 0;
}
