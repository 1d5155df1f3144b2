/* convert_linear.c: products of matrices. */
#include "onnx/onnx_int.h"

#include <stdio.h>
#include <string.h>

/* The last two axes exchanged. */
static const rlx_expr *transposed(rlx_onnx_conv *c, const rlx_expr *x)
{
    int n = rlx_onnx_rank(c, x);
    int64_t perm[64];
    if (n < 2 || n > 64)
        return x;
    for (int i = 0; i < n; i++)
        perm[i] = i < n - 2 ? i : 2 * n - 3 - i;
    return rlx_onnx_transpose(c, x, perm, (size_t)n);
}

/* The product of operands that were dequantised, by their bytes; right transposed if asked for. NULL: they are none, or it failed. */
static const rlx_expr *product_of_bytes(rlx_onnx_conv *c, bool turned)
{
    rlx_onnx_quantized pair[2];
    const rlx_expr *b = rlx_onnx_has(c, 1) ? rlx_onnx_input(c, 1) : NULL;
    const int n = b && rlx_onnx_has_rank(c, b) ? rlx_onnx_rank(c, b) : 0;
    int64_t steps;
    if (n < 2 || !rlx_onnx_static_dim(c, b, (size_t)(turned ? n - 1 : n - 2), &steps) ||
        !rlx_onnx_quantized_pair(c, turned ? n - 2 : n - 1, steps, pair))
        return NULL;
    b = rlx_onnx_centred(c, &pair[1]);
    if (turned)
        b = transposed(c, b);
    const rlx_expr *y = rlx_onnx_call2(c, "matmul", rlx_onnx_centred(c, &pair[0]), b);
    return rlx_onnx_rescaled(c, y, pair, 0);
}

RLX_ONNX_CONVERTER(convert_matmul)
{
    const rlx_expr *y = product_of_bytes(c, false);
    if (y || c->failed)
        return rlx_onnx_output(c, 0, y);
    const rlx_expr *left = rlx_onnx_input(c, 0), *right = rlx_onnx_input(c, 1), *both[] = { left, right };
    y = rlx_onnx_call2(c, "matmul", left, right);
    bool matrices = y && rlx_onnx_has_rank(c, left) && rlx_onnx_has_rank(c, right) && rlx_onnx_rank(c, left) > 1 &&
                    rlx_onnx_rank(c, right) > 1;
    return rlx_onnx_output(c, 0, matrices ? rlx_onnx_keep_sizes(c, y, both, 2, 2) : y);
}

static const rlx_expr *scaled(rlx_onnx_conv *c, const rlx_expr *x, double factor)
{
    if (factor == 1 || !x)
        return x;
    return rlx_onnx_call2(c, "multiply", x, rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), factor));
}

static const rlx_expr *with_bias(rlx_onnx_conv *c, const rlx_expr *y, const rlx_expr *bias, double beta)
{
    return bias ? rlx_onnx_call2(c, "add", y, scaled(c, bias, beta)) : y;
}

/* Factors of integers that are none themselves need floats in between. */
static const rlx_expr *gemm_in(rlx_onnx_conv *c, const rlx_expr *a, const rlx_expr *b,
                               const rlx_expr *bias, double alpha, double beta)
{
    return with_bias(c, scaled(c, rlx_onnx_call2(c, "matmul", a, b), alpha), bias, beta);
}

RLX_ONNX_CONVERTER(convert_gemm)
{
    const rlx_expr *a = rlx_onnx_input(c, 0), *b = rlx_onnx_input(c, 1);
    const rlx_expr *bias = rlx_onnx_has(c, 2) ? rlx_onnx_input(c, 2) : NULL;
    double alpha = rlx_onnx_float(c, "alpha", 1), beta = rlx_onnx_float(c, "beta", 1);
    rlx_dtype t = rlx_onnx_dtype_of(c, a);
    if (!a || !b || c->failed)
        return false;
    const rlx_expr *of_bytes = alpha == 1 && !rlx_onnx_int(c, "transA", 0) ? product_of_bytes(c, rlx_onnx_int(c, "transB", 0) != 0) : NULL;
    if (of_bytes || c->failed)
        return rlx_onnx_output(c, 0, with_bias(c, of_bytes, beta == 0 ? NULL : bias, beta));
    if (rlx_onnx_int(c, "transA", 0))
        a = transposed(c, a);
    if (rlx_onnx_int(c, "transB", 0))
        b = transposed(c, b);
    bool whole = alpha == (double)(int64_t)alpha && beta == (double)(int64_t)beta;
    if (beta == 0)
        bias = NULL;
    if (rlx_dtype_is_float(t) || whole)
        return rlx_onnx_output(c, 0, gemm_in(c, a, b, bias, alpha, beta));
    if (bias)
        bias = rlx_onnx_cast(c, bias, RELAX_FLOAT64);
    b = rlx_onnx_cast(c, b, RELAX_FLOAT64);
    const rlx_expr *y = gemm_in(c, rlx_onnx_cast(c, a, RELAX_FLOAT64), b, bias, alpha, beta);
    return rlx_onnx_output(c, 0, rlx_onnx_cast(c, y, t));
}

/* Operand i of a product. Batch: the first axis is the row, behind which the batches stand. */
static const rlx_expr *fused_operand(rlx_onnx_conv *c, size_t i, const char *batch, const char *trans)
{
    const rlx_expr *x = rlx_onnx_input(c, i);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t perm[64];
    if (n >= 3 && n <= 64 && rlx_onnx_int(c, batch, 0)) {
        for (int k = 0; k < n; k++)
            perm[k] = k < n - 2 ? k + 1 : k == n - 2 ? 0 : k;
        x = rlx_onnx_transpose(c, x, perm, (size_t)n);
    }
    return x && rlx_onnx_int(c, trans, 0) ? transposed(c, x) : x;
}

/* com.microsoft: operands transposed, the product scaled */
RLX_ONNX_CONVERTER(convert_fused_matmul)
{
    const rlx_expr *a = fused_operand(c, 0, "transBatchA", "transA");
    const rlx_expr *b = fused_operand(c, 1, "transBatchB", "transB");
    double alpha = rlx_onnx_float(c, "alpha", 1);
    return rlx_onnx_output(c, 0, scaled(c, rlx_onnx_call2(c, "matmul", a, b), alpha));
}

static const rlx_expr *einsum(rlx_onnx_conv *c, const rlx_expr *const *items, size_t count, const char *text)
{
    return rlx_onnx_call(c, "einsum", "X subscripts=s", items, count, text);
}

/* The letters of `term` that somebody asks for later, each once, behind those of *n before. */
static void keep_letters(rlx_slice term, const char *later, char *kept, size_t *n)
{
    for (size_t i = 0; i < term.len; i++)
        if (strchr(later, term.data[i]) && !memchr(kept, term.data[i], *n))
            kept[(*n)++] = term.data[i];
}

/*- Operands are multiplied one after the other: a sum over the letters of all at once has as many steps as their sizes
 * multiply to.
 *
 *     nai,kij,ncj->nkac:   nai,kij->nakj   nakj,ncj->nkac
 */
static const rlx_expr *einsum_in_turn(rlx_onnx_conv *c, const rlx_expr *const *items, const char *text)
{
    const rlx_expr *y = items[0];
    const char *next = strchr(text, ',');
    char done[64], step[256];
    size_t n = (size_t)(next - text);
    if (n > sizeof done)
        return NULL;
    memcpy(done, text, n);
    for (size_t i = 1; y && i < c->num_inputs; i++) {
        bool last = i + 1 == c->num_inputs;
        const char *term = next + 1, *end = last ? strstr(term, "->") : strchr(term, ',');
        char kept[64];
        size_t count = 0, length = end ? (size_t)(end - term) : sizeof done + 1;
        if (length > sizeof done)
            return NULL;
        keep_letters((rlx_slice){ done, n }, end, kept, &count);
        keep_letters((rlx_slice){ term, length }, end, kept, &count);
        int size = snprintf(step, sizeof step, "%.*s,%.*s->%.*s", (int)n, done, (int)length, term,
                            last ? (int)strlen(end + 2) : (int)count, last ? end + 2 : kept);
        if (size < 0 || (size_t)size >= sizeof step)
            return NULL;
        y = einsum(c, (const rlx_expr *[]){ y, items[i] }, 2, step);
        memcpy(done, kept, n = count);
        next = end;
    }
    return y;
}

/* Blanks go; without '->' the letters that occur once follow in their order. */
RLX_ONNX_CONVERTER(convert_einsum)
{
    rlx_slice equation = rlx_onnx_string(c, "equation", "");
    char text[512];
    size_t n = 0, commas = 0;
    const rlx_expr **items = rlx_onnx_array(c, c->num_inputs, sizeof *items);
    for (size_t i = 0; i < equation.len && n < sizeof text - 1; i++)
        if (equation.data[i] != ' ')
            text[n++] = equation.data[i];
    text[n] = 0;
    for (size_t i = 0; i < n; i++)
        commas += text[i] == ',';
    for (size_t i = 0; items && i < c->num_inputs; i++)
        if (!(items[i] = rlx_onnx_input(c, i)))
            return false;
    bool in_turn = items && c->num_inputs > 2 && commas + 1 == c->num_inputs && strstr(text, "->") && !strchr(text, '.');
    const rlx_expr *y = in_turn ? einsum_in_turn(c, items, text) : NULL;
    return items && !c->failed && rlx_onnx_output(c, 0, y ? y : einsum(c, items, c->num_inputs, text));
}
