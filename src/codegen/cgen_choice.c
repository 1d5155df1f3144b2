/* cgen_choice.c: which kernels are better off as bytecode.
 *
 * C gains where several values are one loop, where numbers are narrow integers, float64 or scalars, and in short calls. Bytecode gains
 * where it has a function for a strip that compilers make no such vectors of: float16, exp, angles that are all small, integers by
 * rounding; and where instructions on the same rows are one. What a kernel gains by being C is added up over the values of its
 * strips, whatever lengths these have. The C of one that loses leaves calls to its bytecode that have the elements which make up for the
 * longer way there.
 */
#include "codegen/cgen_int.h"

/* Hundredths of ns for 8 elements in a strip, measured with AVX2. What is not here gains ORDINARY. */
enum { ORDINARY = 20, LEAST_LOSS = 20, OF_FLOAT16_LOADED = -1200, OF_FLOAT16_STORED = -1900 };
static const int16_t gains[RLX_K_COUNT] = {
    [RLX_K_exp_F32] = -60,      [RLX_K_sigmoid_F32] = -95,   [RLX_K_tanh_F32] = -50,       [RLX_K_erf_F32] = -25,
    [RLX_K_log_F32] = -40,      [RLX_K_sin_F32] = -1300,     [RLX_K_cos_F32] = -1300,      [RLX_K_fmod_F32] = -1000,
    [RLX_K_round_F32] = -1400,  [RLX_K_ROUND_F16] = -1700,   [RLX_K_QUANTIZE_I8] = -1500,  [RLX_K_QUANTIZE_U8] = -1500,
    [RLX_K_F32_TO_I8] = -60,    [RLX_K_F32_TO_U8] = -40,     [RLX_K_F32_TO_I32] = -15,     [RLX_K_F32_TO_I64] = -5000,
    [RLX_K_I64_TO_F32] = -30,   [RLX_K_SELECT_F32] = 50,     [RLX_K_rsqrt_F32] = 250,      [RLX_K_log1p_F32] = 700,
    [RLX_K_pow_F32] = 1000,     [RLX_K_tan_F32] = 3000,      [RLX_K_sinh_F32] = 2000,      [RLX_K_cosh_F32] = 1000,
    [RLX_K_asinh_F32] = 2000,   [RLX_K_acosh_F32] = 1500,    [RLX_K_atanh_F32] = 1500,     [RLX_K_MAP] = -400, /* exp of rows */
};
/* What bytecode takes longer to begin with, in hundredths of ns, for as many elements as above. */
enum { LONGER_WAY = 8 * 10000 };

typedef struct looking {
    rlx_cgen_kernel g;        /* its parts alone */
    int64_t gain;
    bool in_strip, counts;    /* counts: the strip is no short one */
    bool idle;                /* nothing but scalars since the innermost loop began */
    bool alone;               /* there is a loop over scalars */
} looking;

static bool is_float16(const looking *l, uint32_t row)
{
    return rlx_kernel_elem_of((int32_t)rlx_get_u32(c_buffer(&l->g, row))) == RLX_ELEM_F16;
}

/* An instruction inside of a strip. */
static void look_at_value(looking *l, uint32_t at, unsigned op)
{
    const char *letters = rlx_kernel_ops[op].operands;
    if (op >= RLX_K_LOAD && op <= RLX_K_ADD_EACH) {
        const bool stores = letters[0] == 'B';
        if (is_float16(l, c_word_at(&l->g, at + (stores ? 1 : 2))))
            l->gain += stores ? OF_FLOAT16_STORED : OF_FLOAT16_LOADED;
    } else if (op >= RLX_K_FIRST_VALUE && rlx_cgen_reg_byte(&l->g, c_word_at(&l->g, at + 1)) & (RLX_KERNEL_STRIP_REG | RLX_KERNEL_VIEW_REG))
        l->gain += gains[op] ? gains[op] : ORDINARY;
}

static void look_at(looking *l, uint32_t at, unsigned op)
{
    enum { SHORT = 64 };
    switch (op) {
    case RLX_K_LOOP: case RLX_K_PAR: l->idle = true; return;
    case RLX_K_NEXT: case RLX_K_ENDPAR: l->alone |= l->idle; return;
    case RLX_K_JUMP: l->alone = true; return;
    case RLX_K_STRIP: {
        const uint32_t extent = c_word_at(&l->g, at + 2);
        l->in_strip = true;
        l->idle = false;
        l->counts = !c_is_constant(&l->g, extent) || (int64_t)c_constant(&l->g, extent) >= SHORT;
        return;
    }
    case RLX_K_NEXT_STRIP: l->in_strip = false; return;
    case RLX_K_MAP: l->gain += c_word_at(&l->g, at + 1) == RLX_KERNEL_MAP_EXP_SUB ? gains[op] : 0; break;
    default: break;
    }
    if (op >= RLX_K_COPY && op < RLX_K_FIRST_VALUE)
        l->idle = false;
    if (l->in_strip && l->counts)
        look_at_value(l, at, op);
}

/* The argument that counts: of the highest rank, the last one of several, which is a result. */
static uint32_t main_argument(const looking *l)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < l->g.count[RLX_KERNEL_BUFFERS] && c_buffer(&l->g, i)[4] == RLX_KERNEL_BUFFER_PARAM; i++)
        best = c_buffer(&l->g, i)[5] >= c_buffer(&l->g, best)[5] ? i : best;
    return best;
}

void rlx_c_choose(rlx_c_kernel *k)
{
    looking l = { .g = { .source = k } };
    rlx_cgen_find_parts(&l.g);
    for (uint32_t at = 0, op; at < l.g.count[RLX_KERNEL_CODE]; at += rlx_kernel_op_words(op))
        look_at(&l, at, op = c_word_at(&l.g, at));
    if (l.alone || l.gain > -LEAST_LOSS || !l.g.count[RLX_KERNEL_BUFFERS] || c_buffer(&l.g, 0)[4] != RLX_KERNEL_BUFFER_PARAM)
        return;
    k->left = main_argument(&l);
    k->left_from = LONGER_WAY / -l.gain + 1;
}
