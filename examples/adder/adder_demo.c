/*- adder_demo.c: lets the compiled transformer answer the stored prompts greedily through the
 * public API, by kernel bytecode and by kernels compiled as C, and compares what it says and
 * its scores with what is stored.
 *
 *     adder_demo prompts.npz BYTECODE.rlx NATIVE.rlx
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

/* Tokens per second: everything that is read or said, all prompts once; the best of some
 * rounds. */
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

typedef struct prompts {
    int64_t (*prompts)[PROMPT], (*expected)[ANSWER];
    float (*stored)[PROMPT * VOCABULARY]; /* of the first CHECKED */
} prompts;

/* Answers every prompt by the compiled file; what is said goes to `said`. True: all is as
 * stored. */
static int run(const prompts *p, const char *path, int64_t (*said)[ANSWER], int talk)
{
    speaker s;
    int right = 0;
    double largest = 0;
    speaker_init(&s, path);
    for (int i = 0; i < PROMPTS; i++) {
        float logits[PROMPT * VOCABULARY];
        answer(&s, p->prompts[i], said[i], logits);
        right += !memcmp(said[i], p->expected[i], sizeof said[i]);
        for (int k = 0; i < CHECKED && k < PROMPT * VOCABULARY; k++)
            largest = fmax(largest, fabs((double)logits[k] - (double)p->stored[i][k]));
        if (talk && i < 12)
            show(p->prompts[i], said[i]);
        if (talk && i < 12 && i % 4 == 3)
            putchar('\n');
    }
    printf("answered as stored:       %d of %d (sums are said last digit first)\n", right,
           PROMPTS);
    printf("largest logit difference: %.2g\n", largest);
    printf("tokens per second:        %.0f\n", tokens_per_second(&s, p->prompts));
    speaker_end(&s);
    return right == PROMPTS && largest < 1e-4;
}

int main(int argc, char **argv)
{
    static int64_t said[2][PROMPTS][ANSWER];
    if (argc != 4)
        die("usage", "adder_demo prompts.npz BYTECODE.rlx NATIVE.rlx");
    unzFile zip = open_archive(argv[1]);
    prompts p = { .prompts = read_array(zip, "prompts.npy", PROMPTS * sizeof *p.prompts),
                  .expected = read_array(zip, "expected.npy", PROMPTS * sizeof *p.expected),
                  .stored = read_array(zip, "prefill_logits.npy", CHECKED * sizeof *p.stored) };
    unzClose(zip);
    printf("\nby kernel bytecode\n");
    int good = run(&p, argv[2], said[0], 1);
    printf("\nby kernels compiled as C\n");
    good &= run(&p, argv[3], said[1], 0);
    int agree = !memcmp(said[0], said[1], sizeof said[0]);
    printf("both say the same:        %s\n", agree ? "yes" : "no");
    free(p.prompts);
    free(p.expected);
    free(p.stored);
    return good && agree ? 0 : 1;
}
