/* speaker.h: the compiled transformer at work, token by token. Keys and values lie in buffers
 * of ours; each call appends to them in place. */
#ifndef EXAMPLES_ADDER_SPEAKER_H
#define EXAMPLES_ADDER_SPEAKER_H

#include "../demo.h"

enum { PROMPTS = 200, PROMPT = 8, ANSWER = 5, VOCABULARY = 13, WIDTH = 64, CACHES = 4, ROOM = 16 };

/* One sequence under way. */
typedef struct speaker {
    relax_vm *vm;
    size_t prefill, decode;
    relax_value caches[CACHES]; /* keys and values of both layers, room for ROOM tokens */
} speaker;

static inline relax_tensor *view(relax_dtype dtype, int64_t rows, int64_t columns, void *data)
{
    relax_error *error = NULL;
    relax_tensor *t = NULL;
    const int64_t shape[] = { rows, columns };
    check(relax_tensor_from_memory(dtype, shape, columns ? 2 : 1, data, NULL, NULL, &t, &error),
          error);
    return t;
}

static inline void speaker_init(speaker *s, const char *path)
{
    static float memory[CACHES][ROOM * WIDTH];
    s->vm = load(path);
    s->prefill = relax_executable_find(relax_vm_executable(s->vm), "prefill", 7);
    s->decode = relax_executable_find(relax_vm_executable(s->vm), "decode", 6);
    for (int i = 0; i < CACHES; i++) {
        relax_tensor *t = view(RELAX_FLOAT32, ROOM, WIDTH, memory[i]);
        relax_value_set_tensor(&s->caches[i], t);
        relax_tensor_release(t);
    }
}

static inline void speaker_end(speaker *s)
{
    for (int i = 0; i < CACHES; i++)
        relax_value_release(&s->caches[i]);
    relax_vm_release(s->vm);
}

/* Calls prefill (past < 0) or decode on `count` tokens; the scores of each go to `logits`. */
static inline void call(speaker *s, int64_t *tokens, int64_t count, int64_t past, float *logits)
{
    relax_error *error = NULL;
    relax_value args[2 + CACHES];
    size_t n = 1;
    relax_tensor *in = view(RELAX_INT64, count, 0, tokens),
                 *out = view(RELAX_FLOAT32, count, VOCABULARY, logits);
    relax_value_set_tensor(&args[0], in);
    if (past >= 0)
        check(relax_value_set_shape(&args[n++], &past, 1, NULL), NULL);
    memcpy(args + n, s->caches, sizeof s->caches);
    check(relax_vm_call_into(s->vm, past < 0 ? s->prefill : s->decode, args, n + CACHES, &out, 1,
                             &error),
          error);
    for (size_t i = 0; i < n; i++)
        relax_value_release(&args[i]);
    relax_tensor_release(in);
    relax_tensor_release(out);
}

static inline int64_t most_likely(const float *scores)
{
    int64_t best = 0;
    for (int64_t i = 1; i < VOCABULARY; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* Continues the prompt by ANSWER tokens; `logits` are the scores behind each token of the
 * prompt. */
static inline void answer(speaker *s, int64_t *prompt, int64_t *said, float *logits)
{
    float next[VOCABULARY];
    call(s, prompt, PROMPT, -1, logits);
    said[0] = most_likely(logits + (PROMPT - 1) * VOCABULARY);
    for (int64_t i = 1; i < ANSWER; i++) {
        call(s, &said[i - 1], 1, PROMPT + i - 1, next);
        said[i] = most_likely(next);
    }
}

#endif
