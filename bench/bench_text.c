/*- bench_text: what reading, checking and printing a module cost, through the public API.
 *
 *     bench_text KEY FILE.py RUNS
 *
 * The file must be canonical: what is printed has to equal what was read. Each run has a
 * context of its own. */
#include <relax/relax.h>
#include <string.h>

#include "bench.h"

enum { MOST_RUNS = 100 };

typedef struct figures {
    double read[MOST_RUNS], check[MOST_RUNS], print[MOST_RUNS], drop[MOST_RUNS];
} figures;

/* Apart from the newline at the end of a file. */
static int same(const relax_bytes *printed, const char *text, size_t len)
{
    len -= text[len - 1] == '\n';
    return relax_bytes_size(printed) == len && memcmp(relax_bytes_data(printed), text, len) == 0;
}

static void run(const char *text, size_t len, figures *t, int i)
{
    double start = bench_now();
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = relax_module_parse(ctx, "bench", 5, text, len);
    double read = bench_now();
    if (!m || relax_context_num_errors(ctx) ||
        relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL) != 1)
        bench_die("bench_text", "the module is not well-formed");
    double checked = bench_now();
    relax_bytes *out = relax_node_print(ctx, relax_module_as_node(m), NULL);
    double printed = bench_now();
    if (!out || !same(out, text, len))
        bench_die("bench_text", "what is printed differs from what was read");
    relax_bytes_release(out);
    double before = bench_now();
    relax_context_release(ctx);
    t->read[i] = read - start;
    t->check[i] = checked - start;
    t->print[i] = printed - checked;
    t->drop[i] = bench_now() - before;
}

static void report(const char *key, const char *what, double *times, int runs, double megabytes)
{
    char name[100];
    snprintf(name, sizeof name, "%s %s", what, key);
    bench_rates(name, times, runs, megabytes, "MB/s");
}

int main(int argc, char **argv)
{
    static figures t;
    int runs = argc == 4 ? atoi(argv[3]) : 0;
    if (runs < 1 || runs > MOST_RUNS)
        bench_die("usage", "bench_text KEY FILE.py RUNS");
    size_t len;
    char *text = bench_read(argv[2], &len);
    for (int i = 0; i < runs; i++)
        run(text, len, &t, i);
    double megabytes = (double)len * 1e-6;
    report(argv[1], "read", t.read, runs, megabytes);
    report(argv[1], "read and check", t.check, runs, megabytes);
    report(argv[1], "print", t.print, runs, megabytes);
    report(argv[1], "drop", t.drop, runs, megabytes);
    free(text);
    return 0;
}
