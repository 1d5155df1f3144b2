/* chain.c: the last elements of strips that chains compute, and rows of one number, for every machine. */
/* built for size */
#include "format/kernel_math.h"
#include "micro/micro_int.h"

#include <math.h>
#include <string.h>

typedef RLX_VECTOR(float, 16) zeros;

/* The block that a strip has been given; the next one if it has none. */
static size_t find_block(const rlx_micro_chain_end *e, const float *strip)
{
    size_t i = 0;
    while (i < e->count && e->strip[i] != strip)
        i++;
    return i;
}

const rlx_micro_step *rlx_micro_chain_begin_end(rlx_micro_chain_end *e, const rlx_micro_step *steps, int64_t n, int64_t block)
{
    rlx_micro_step *out = e->steps;
    e->count = 0;
    e->n = n < block ? n : block;
    e->at = n - e->n;
    do {
        *out = *steps;
        if (!steps->moves)
            continue;
        size_t i = find_block(e, steps->with);
        if (i == e->count) {
            e->strip[e->count++] = steps->with;
            e->stored[i] = false;
            if (steps->op != RLX_STEP_STORE) {
                /* whole vectors: memset of these few is slow where it is one instruction */
                for (int64_t k = e->n / 4 * 4; k < block; k += 4)
                    *(zeros *)(e->block[i] + k) = (zeros){ 0 };
                memcpy(e->block[i], steps->with + e->at, (size_t)e->n * sizeof(float));
            }
        }
        e->stored[i] |= steps->op == RLX_STEP_STORE;
        out->with = e->block[i];
    } while (out++, steps++->op != RLX_STEP_END);
    return e->steps;
}

void rlx_micro_chain_store_end(const rlx_micro_chain_end *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->stored[i])
            memcpy(e->strip[i] + e->at, e->block[i], (size_t)e->n * sizeof(float));
}

bool rlx_micro_chain_has_functions(const rlx_micro_step *steps)
{
    bool has = false;
    for (; steps->op != RLX_STEP_END; steps++)
        has |= steps->op >= RLX_STEP_exp;
    return has;
}

int64_t rlx_micro_chain_at_once(const rlx_micro_step *steps, int64_t n, int64_t strip)
{
    return !steps->same && steps[2].op == RLX_STEP_STORE && steps[3].op == RLX_STEP_END ? n : strip;
}

const rlx_micro_step *rlx_micro_chain_line(const rlx_micro_step *s, float *line)
{
    const rlx_micro_step *at = s;
    line[0] = *at++->with;
    line[1] = at->op == RLX_STEP_ADD && at->same ? *at++->with : -0.0f;
    line[2] = -INFINITY;
    line[3] = -0.0f;
    if (at->op == RLX_STEP_RELU)
        line[2] = line[3] = 0, at++;
    else if (at->op == RLX_STEP_GREATEST && at->same)
        line[2] = *at++->with;
    line[4] = at->op == RLX_STEP_LEAST && at->same ? *at++->with : INFINITY;
    return at - s > 2 ? at - 1 : s;
}

/* Of b alone: what a row is multiplied by, or less by, so that it is mostly one column. */
void rlx_micro_row_reciprocal(float *d, const float *a, float b, int64_t columns)
{
    float v = 1.0f / b;
    (void)a;
    for (int64_t j = 0; j < columns; j++)
        d[j] = v;
}
void rlx_micro_row_log(float *d, const float *a, float b, int64_t columns)
{
    float v = rlx_log_f32(b);
    (void)a;
    for (int64_t j = 0; j < columns; j++)
        d[j] = v;
}

/* exp of any difference, where exp_sum has a bound. */
void rlx_micro_row_exp_sub(rlx_micro_chain_fn *chain, float *d, const float *a, float b, int64_t columns)
{
    const rlx_micro_step steps[] = {
        RLX_STEP_STRIP(RLX_STEP_LOAD, (float *)a), RLX_STEP_NUMBER(RLX_STEP_SUB, &b), RLX_STEP_ALONE(RLX_STEP_exp),
        RLX_STEP_STRIP(RLX_STEP_STORE, d), RLX_STEP_ALONE(RLX_STEP_END),
    };
    chain(steps, columns);
}
