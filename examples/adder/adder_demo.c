/* adder_demo.c: lets the compiled transformer answer the stored prompts greedily through the public API, and compares
 * what it says and its scores with what is stored.
 *
 *     adder_demo adder.rlx prompts.npz
 */
#include <math.h>

#include "speaker.h"

enum { CHECKED = 8 };

static const char characters[] = "0123456789+=\n";

static void show(const int64_t *prompt, const int64_t *said)
{
    for (int i = 0; i < PROMPT; i++)
        putchar(characters[prompt[i]]);
    putchar(' ');
    for (int i = 0; i < ANSWER && said[i] < 10; i++)
        putchar(characters[said[i]]);
    fputs("   ", stdout);
}

/* Tokens per second: everything that is read or said, all prompts once; the best of some rounds. */
static double tokens_per_second(speaker *s, int64_t (*prompts)[PROMPT])
{
    int64_t said[ANSWER];
    float logits[PROMPT * VOCABULARY];
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double start = now();
        for (int i = 0; i < PROMPTS; i++)
            answer(s, prompts[i], said, logits);
        best = fmin(best, now() - start);
    }
    return PROMPTS * (PROMPT + ANSWER - 1) / best;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        die("usage", "adder_demo adder.rlx prompts.npz");
    unzFile zip = open_archive(argv[2]);
    int64_t(*prompts)[PROMPT] = read_array(zip, "prompts.npy", PROMPTS * sizeof *prompts);
    int64_t(*expected)[ANSWER] = read_array(zip, "expected.npy", PROMPTS * sizeof *expected);
    float(*stored)[PROMPT * VOCABULARY] = read_array(zip, "prefill_logits.npy", CHECKED * sizeof *stored);
    unzClose(zip);

    speaker s;
    speaker_init(&s, argv[1]);
    int right = 0;
    double largest = 0;
    for (int i = 0; i < PROMPTS; i++) {
        int64_t said[ANSWER];
        float logits[PROMPT * VOCABULARY];
        answer(&s, prompts[i], said, logits);
        right += !memcmp(said, expected[i], sizeof said);
        for (int k = 0; i < CHECKED && k < PROMPT * VOCABULARY; k++)
            largest = fmax(largest, fabs((double)logits[k] - (double)stored[i][k]));
        if (i < 12)
            show(prompts[i], said);
        if (i < 12 && i % 4 == 3)
            putchar('\n');
    }
    printf("answered as stored:       %d of %d (sums are said last digit first)\n", right, PROMPTS);
    printf("largest logit difference: %.2g\n", largest);
    printf("tokens per second:        %.0f\n", tokens_per_second(&s, prompts));
    speaker_end(&s);
    free(prompts);
    free(expected);
    free(stored);
    return right == PROMPTS && largest < 1e-4 ? 0 : 1;
}
