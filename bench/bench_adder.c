/*- bench_adder: the compiled adder transformer through the public API; a prompt at once, and
 * each token behind it.
 *
 *     bench_adder FILE.rlx PROMPTS.npz SECONDS */
#include "../examples/adder/speaker.h"
#include "bench.h"

enum { MOST_RUNS = 200000 };

static double prefill_times[MOST_RUNS], decode_times[MOST_RUNS];

int main(int argc, char **argv)
{
    if (argc != 4)
        bench_die("usage", "bench_adder FILE.rlx PROMPTS.npz SECONDS");
    unzFile zip = open_archive(argv[2]);
    int64_t(*prompts)[PROMPT] = read_array(zip, "prompts.npy", PROMPTS * sizeof *prompts);
    unzClose(zip);
    speaker s;
    speaker_init(&s, argv[1]);
    int prefills = 0, decodes = 0;
    double end = bench_now() + atof(argv[3]);
    for (int i = 0; prefills < 5 || (bench_now() < end && decodes < MOST_RUNS - ANSWER);
         i = (i + 1) % PROMPTS) {
        float logits[PROMPT * VOCABULARY], next[VOCABULARY];
        double start = bench_now();
        call(&s, prompts[i], PROMPT, -1, logits);
        prefill_times[prefills++] = bench_now() - start;
        int64_t token = most_likely(logits + (PROMPT - 1) * VOCABULARY);
        for (int64_t past = PROMPT; past < PROMPT + ANSWER - 1;
             past++, token = most_likely(next)) {
            start = bench_now();
            call(&s, &token, 1, past, next);
            decode_times[decodes++] = bench_now() - start;
        }
    }
    bench_times("prefill", prefill_times, prefills, 1e6, "us");
    bench_times("decode", decode_times, decodes, 1e6, "us");
    speaker_end(&s);
    free(prompts);
    return 0;
}
