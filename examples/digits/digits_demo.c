/*- digits_demo.c: loads the compiled digits network, runs it on the test images through the
 * public API, and says how well and how fast it did. Needs only the run side of the library;
 * the archive of images is read with minizip.
 *
 *     digits_demo digits.rlx test_images.npz
 */
#include <math.h>

#include "../demo.h"

enum { IMAGES = 360, PIXELS = 64, CLASSES = 10 };

/* `count` images from `images` through the network; the result lands in `out`, allocated by us:
 * the library copies nothing. */
static void classify(relax_vm *vm, float *images, int64_t count, float *out)
{
    relax_error *error = NULL;
    relax_tensor *in = NULL, *result = NULL;
    relax_value arg;
    check(relax_tensor_from_memory(RELAX_FLOAT32, (int64_t[]){ count, PIXELS }, 2, images, NULL,
                                   NULL, &in, &error),
          error);
    check(relax_tensor_from_memory(RELAX_FLOAT32, (int64_t[]){ count, CLASSES }, 2, out, NULL,
                                   NULL, &result, &error),
          error);
    relax_value_set_tensor(&arg, in);
    size_t entry = relax_executable_find(relax_vm_executable(vm), "main", 4);
    check(relax_vm_call_into(vm, entry, &arg, 1, &result, 1, &error), error);
    relax_value_release(&arg);
    relax_tensor_release(in);
    relax_tensor_release(result);
}

static double time_per_image(relax_vm *vm, float *images, int64_t count, float *out, int runs)
{
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double start = now();
        classify(vm, images, count, out);
        double spent = now() - start;
        best = spent < best ? spent : best;
    }
    return best / (double)count;
}

static int most_likely(const float *p)
{
    int best = 0;
    for (int i = 1; i < CLASSES; i++)
        if (p[i] > p[best])
            best = i;
    return best;
}

static void show(const float *images, const float *probabilities, const int64_t *labels, int first,
                 int count)
{
    static const char shades[] = " .:-=+*#%@";
    for (int row = 0; row < 8; row++) {
        for (int i = first; i < first + count; i++) {
            for (int x = 0; x < 8; x++) {
                int shade = (int)(images[i * PIXELS + row * 8 + x] * 9.99f);
                putchar(shades[shade]);
                putchar(shades[shade]);
            }
            fputs("   ", stdout);
        }
        putchar('\n');
    }
    for (int i = first; i < first + count; i++) {
        const float *p = probabilities + i * CLASSES;
        int digit = most_likely(p);
        printf("%d, %5.1f %%%s", digit, 100.0 * (double)p[digit],
               digit == (int)labels[i] ? "         " : " (wrong) ");
    }
    puts("\n");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        die("usage", "digits_demo digits.rlx test_images.npz");
    unzFile zip = open_archive(argv[2]);
    float *images = read_array(zip, "images.npy", IMAGES * PIXELS * sizeof *images);
    float *expected =
        read_array(zip, "mlp_probabilities.npy", IMAGES * CLASSES * sizeof *expected);
    int64_t *labels = read_array(zip, "labels.npy", IMAGES * sizeof *labels);
    unzClose(zip);

    relax_vm *vm = load(argv[1]);
    static float got[IMAGES * CLASSES], one[CLASSES];
    classify(vm, images, IMAGES, got);
    int right = 0;
    double largest = 0;
    for (int i = 0; i < IMAGES; i++) {
        right += most_likely(got + i * CLASSES) == (int)labels[i];
        for (int k = 0; k < CLASSES; k++)
            largest = fmax(largest,
                           fabs((double)got[i * CLASSES + k] - (double)expected[i * CLASSES + k]));
    }
    show(images, got, labels, 0, 5);
    printf("accuracy:                      %.1f %% (%d of %d)\n", 100.0 * right / IMAGES, right,
           IMAGES);
    printf("largest probability difference: %.2g\n", largest);
    printf("time per image, batch 1:       %.2f us\n",
           1e6 * time_per_image(vm, images, 1, one, 2000));
    printf("time per image, batch 360:     %.2f us\n",
           1e6 * time_per_image(vm, images, IMAGES, got, 50));
    relax_vm_release(vm);
    free(images);
    free(expected);
    free(labels);
    return right >= 355 && largest < 1e-5 ? 0 : 1;
}
