/*- bench_digits: the compiled digits network through the public API.
 *
 *     bench_digits FILE.rlx IMAGES.f32 BATCH SECONDS RESULT.f32   prints the time of a call
 *     bench_digits FILE.rlx IMAGES.f32                            classifies one image and ends
 *
 * Images are rows of 64 float32, results rows of 10. */
#include <relax/vm.h>
#include <string.h>

#include "bench.h"

enum { PIXELS = 64, CLASSES = 10, MOST_RUNS = 100000 };

static void check(relax_status status, relax_error *error)
{
    if (status != RELAX_OK)
        bench_die("bench_digits", relax_error_message(error, NULL));
}

typedef struct call { relax_vm *vm; size_t entry; relax_value image; relax_tensor *result; } call;

static void prepare(call *c, const char *path, float *images, float *out, int64_t batch)
{
    relax_executable *exe;
    relax_load_options options;
    relax_error *e = NULL;
    relax_tensor *in;
    relax_load_options_init(&options, sizeof options);
    options.allow_native = 1; /* of files that have any */
    check(relax_executable_load_file(path, strlen(path), &options, &exe, &e), e);
    check(relax_vm_create(exe, NULL, &c->vm, &e), e);
    c->entry = relax_executable_find(exe, "main", 4);
    check(relax_tensor_from_memory(RELAX_FLOAT32, (int64_t[]){ batch, PIXELS }, 2, images, NULL,
                                   NULL, &in, &e),
          e);
    check(relax_tensor_from_memory(RELAX_FLOAT32, (int64_t[]){ batch, CLASSES }, 2, out, NULL,
                                   NULL, &c->result, &e),
          e);
    relax_value_set_tensor(&c->image, in);
    relax_tensor_release(in);
    relax_executable_release(exe);
}

static double run(call *c)
{
    relax_error *e = NULL;
    double start = bench_now();
    check(relax_vm_call_into(c->vm, c->entry, &c->image, 1, &c->result, 1, &e), e);
    return bench_now() - start;
}

static void drop(call *c)
{
    relax_value_release(&c->image);
    relax_tensor_release(c->result);
    relax_vm_release(c->vm);
}

static void write_result(const char *path, const float *out, size_t count)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(out, sizeof *out, count, f) != count || fclose(f) != 0)
        bench_die(path, "cannot be written");
}

static void measure(call *c, double seconds)
{
    static double times[MOST_RUNS];
    int runs = 0;
    for (double end = bench_now() + seconds; runs < MOST_RUNS && (runs < 5 || bench_now() < end);)
        times[runs++] = run(c);
    bench_times("digits", times, runs, 1e6, "us");
}

int main(int argc, char **argv)
{
    size_t len;
    if (argc != 3 && argc != 6)
        bench_die("usage", "bench_digits FILE.rlx IMAGES.f32 [BATCH SECONDS RESULT.f32]");
    float *images = (float *)bench_read(argv[2], &len);
    size_t batch = argc == 6 ? (size_t)atoi(argv[3]) : 1;
    float *out = calloc(batch * CLASSES, sizeof *out);
    if (!out || batch < 1 || len < batch * PIXELS * sizeof *images)
        bench_die(argv[2], "too few images");
    call c;
    prepare(&c, argv[1], images, out, (int64_t)batch);
    run(&c);
    if (argc == 6) {
        measure(&c, atof(argv[4]));
        write_result(argv[5], out, batch * CLASSES);
    }
    drop(&c);
    free(images);
    free(out);
    return 0;
}
