/* bench.h: what the measuring programs share. Each prints lines `key TAB best TAB median TAB
 * unit`, which run.py puts into its table. */
#ifndef RELAX_BENCH_H
#define RELAX_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_now(void) /* seconds */
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints best and median of `count` times, each multiplied by `scale`; sorts them. */
static inline void bench_times(const char *key, double *times, int count, double scale,
                               const char *unit)
{
    qsort(times, (size_t)count, sizeof *times, bench_by_size);
    printf("%s\t%.4g\t%.4g\t%s\n", key, times[0] * scale, times[count / 2] * scale, unit);
}

/* The same as a rate: `amount` of work done in each of the times. */
static inline void bench_rates(const char *key, double *times, int count, double amount,
                               const char *unit)
{
    qsort(times, (size_t)count, sizeof *times, bench_by_size);
    printf("%s\t%.4g\t%.4g\t%s\n", key, amount / times[0], amount / times[count / 2], unit);
}

static inline void bench_die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* The bytes of a file, malloc'ed and ended by a NUL that *len does not count. */
static inline char *bench_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        bench_die(path, "cannot be read");
    long size = ftell(f);
    char *data = size < 0 ? NULL : malloc((size_t)size + 1);
    rewind(f);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
        bench_die(path, "cannot be read");
    fclose(f);
    data[size] = 0;
    *len = (size_t)size;
    return data;
}

#endif
