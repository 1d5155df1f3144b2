/* bench_relay: texts of Relay read and typed, and translated, per call of an operator; matches of many arms and functions
 * that call each other, per arm and per function: twice as many should cost the same each.
 * Usage: bench_relay */
#include <relax/relax.h>

#include <stdarg.h>
#include <string.h>

#include "bench.h"

enum { TURNS = 9, MOST_TEXT = 1 << 20 };

static char text[MOST_TEXT];
static size_t text_len;

static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_len += (size_t)vsnprintf(text + text_len, sizeof text - text_len, format, args);
    va_end(args);
}

static void begin_text(void)
{
    text_len = 0;
    put("#[version = \"0.0.5\"]\n");
}

static void write_calls(int n)
{
    static const char *const forms[] = { "  %%%d = add(%s, %%x);\n", "  %%%d = nn.relu(%s);\n",
                                         "  %%%d = multiply(%s, %%x);\n", "  %%%d = tanh(%s);\n" };
    char last[16] = "%x";
    begin_text();
    put("def @main(%%x: Tensor[(4, 4), float32]) -> Tensor[(4, 4), float32] {\n");
    for (int i = 0; i < n; i++) {
        put(forms[i % 4], i, last);
        snprintf(last, sizeof last, "%%%d", i);
    }
    put("  %s\n}\n", last);
}

static void write_arms(int n)
{
    begin_text();
    put("type T {\n");
    for (int i = 0; i < n; i++)
        put("  C%d(int32),\n", i);
    put("}\ndef @main(%%x: int32) -> int32 { match (C%d(%%x)) {\n", n / 2);
    for (int i = 0; i < n; i++)
        put("  C%d(%%y) => %%y + %d,\n", i, i);
    put("} }\n");
}

static void write_functions(int n)
{
    begin_text();
    for (int i = 0; i < n; i++)
        put("def @f%d[A](%%x: A, %%n: int32) -> A { if (%%n == 0) { %%x } else { @f%d(%%x, %%n - 1) } }\n", i, (i + 1) % n);
    put("def @main(%%x: int32) -> int32 { @f0(%%x, 9) }\n");
}

static double typed[TURNS], translated[TURNS];

static void run_once(int turn)
{
    relax_context *ctx = relax_context_create(NULL);
    double begin = bench_now();
    relax_relay_module *m = relax_relay_module_parse(ctx, "bench", 5, text, text_len);
    if (!m || relax_relay_module_infer(m) != RELAX_OK)
        bench_die("bench_relay", "the text is refused");
    double between = bench_now();
    if (!relax_relay_module_translate(m))
        bench_die("bench_relay", "the text is not translated");
    typed[turn] = between - begin;
    translated[turn] = bench_now() - between;
    relax_relay_module_destroy(m);
    relax_context_release(ctx);
}

static void measure(const char *name, void (*write)(int), int n)
{
    char key[64];
    write(n);
    for (int i = 0; i < TURNS; i++)
        run_once(i);
    snprintf(key, sizeof key, "typed %s %d", name, n);
    bench_times(key, typed, TURNS, 1e6 / n, "us");
    snprintf(key, sizeof key, "translated %s %d", name, n);
    bench_times(key, translated, TURNS, 1e6 / n, "us");
}

int main(void)
{
    measure("calls", write_calls, 10000);
    for (int twice = 1; twice <= 2; twice++) {
        measure("arms", write_arms, 1000 * twice);
        measure("functions", write_functions, 100 * twice);
    }
    return 0;
}
