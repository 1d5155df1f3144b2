/* sum.c: what the sums of all sets share. */
#include "micro/micro_int.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b, *b = t;
}

void rlx_micro_straighten(rlx_micro_sum *r, bool product)
{
    if (r->acc_i == 1 && r->rows > 1 && (r->acc_j != 1 || r->columns == 1)) {
        swap(&r->rows, &r->columns);
        swap(&r->acc_i, &r->acc_j), swap(&r->a_i, &r->a_j), swap(&r->b_i, &r->b_j);
    }
    if (r->columns == 1)
        r->acc_j = 1, r->a_j = product ? 0 : 1, r->b_j = 1;
    if (r->rows == 1)
        r->a_i = r->b_i = 0;
    if (product && r->a_j != 0 && r->b_j == 0) {
        const void *a = r->a;
        r->a = r->b, r->b = a;
        swap(&r->a_i, &r->b_i), swap(&r->a_j, &r->b_j), swap(&r->a_k, &r->b_k);
        swap(&r->a_t, &r->b_t);
    }
}
