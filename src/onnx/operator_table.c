/* operator_table.c: the rows of operator.def, found by name. */
#include "onnx/onnx_int.h"

static const rlx_onnx_row rows[] = {
#define OP(domain, op, since, outputs, converter, argument) \
    { domain, op, since, outputs, rlx_onnx_convert_##converter, argument, NULL },
#define REFUSED(domain, op, since, why) { domain, op, since, 0, NULL, NULL, why },
#include "onnx/operator.def"
#undef OP
#undef REFUSED
};

/* Rows are in the order of their names, within each domain; see check in test/onnx. */
static int compare(rlx_slice domain, rlx_slice op, const rlx_onnx_row *r)
{
    rlx_slice d = rlx_slice_z(r->domain), o = rlx_slice_z(r->op);
    size_t n = domain.len < d.len ? domain.len : d.len;
    int k = n ? memcmp(domain.data, d.data, n) : 0;
    if (!k && domain.len != d.len)
        k = domain.len < d.len ? -1 : 1;
    if (k)
        return k;
    n = op.len < o.len ? op.len : o.len;
    k = n ? memcmp(op.data, o.data, n) : 0;
    return k ? k : op.len < o.len ? -1 : op.len > o.len;
}

const rlx_onnx_row *rlx_onnx_row_find(rlx_slice domain, rlx_slice op)
{
    size_t low = 0, high = sizeof rows / sizeof rows[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        int k = compare(domain, op, &rows[middle]);
        if (!k)
            return &rows[middle];
        if (k < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const rlx_onnx_row *rlx_onnx_row_at(size_t index)
{
    return index < sizeof rows / sizeof rows[0] ? &rows[index] : NULL;
}
