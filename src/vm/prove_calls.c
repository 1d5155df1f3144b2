/*- prove_calls.c: which arguments of kernels are known to fit, once the code has been verified.
 *
 *     alloc_view   r2, r1, 0, float32, 1, 8      r2 is a float32 tensor (1, 8)
 *     call_kernel  tanh, r0, r2                  whose second parameter wants that: bit 1
 *
 * For each instruction a byte: bits of the first arguments. A register is known from the instruction
 * that makes its tensor to the next one that writes it, or to the next place that is jumped to;
 * tensors never change their sizes. Linear: two walks over the code of each function. */
/* built for size */
#include "vm/vm_int.h"

enum { MOST_ARGS = 6, IS_TARGET = 0x40, WAS_SEEN = 0x80 };
#define FEW 64 /* registers more than words of code: a function with others is left alone */

/* The instruction that made the tensor of a register, in the stretch of code under way. */
typedef struct maker { uint32_t at, stretch; } maker;

typedef struct prove {
    const relax_executable *e;
    uint8_t *bits;               /* by word of the code */
    const rlx_file_function *f;
    maker *makers;               /* by register */
    size_t num_makers;
    uint32_t stretch;
} prove;

static size_t fixed_words(const char *layout)
{
    size_t n = strlen(layout);
    return n && layout[n - 1] == '*' ? n - 2 : n;
}

static uint32_t length_of(const uint32_t *w)
{
    return (uint32_t)(1 + fixed_words(rlx_opcode_info(rlx_ins_opcode(w[0]))->layout) +
                      rlx_ins_count(w[0]));
}

/* False: another function has this code too, and what is known may differ there. */
static bool mark_targets(prove *p)
{
    const uint32_t *code = p->e->code + p->f->code;
    uint8_t *bits = p->bits + p->f->code;
    for (uint32_t at = 0; at < p->f->code_len; at += length_of(code + at)) {
        uint32_t jump = rlx_opcode_jump(rlx_ins_opcode(code[at]));
        if (bits[at] & WAS_SEEN)
            return false;
        bits[at] |= WAS_SEEN;
        if (jump)
            bits[at + code[at + jump]] |= IS_TARGET; /* wraps for jumps backwards */
    }
    return true;
}

/* Sizes of the tensor that an instruction makes; -1: it makes none, or they are not all numbers. */
static int made_sizes(const uint32_t *w, rlx_dtype *dtype, int64_t *dims)
{
    uint32_t op = rlx_ins_opcode(w[0]), count = rlx_ins_count(w[0]);
    if ((op != RLX_OP_ALLOC_VIEW && op != RLX_OP_ALLOC_TENSOR) || count > RLX_MAX_RANK)
        return -1;
    const uint32_t *list = w + (op == RLX_OP_ALLOC_VIEW ? 5 : 3);
    *dtype = (rlx_dtype)list[-1];
    for (uint32_t i = 0; i < count; i++) {
        if (rlx_operand_kind_of(list[i]) != RLX_OPERAND_IMM)
            return -1;
        dims[i] = rlx_operand_value(list[i]);
    }
    return (int)count;
}

static bool is_known(const prove *p, const rlx_kernel *k, uint32_t param, uint32_t operand)
{
    int64_t dims[RLX_MAX_RANK];
    rlx_dtype dtype;
    uint32_t index = rlx_operand_index(operand);
    if (rlx_operand_kind_of(operand) == RLX_OPERAND_CONST) {
        const rlx_tensor_object *t = rlx_value_tensor(&p->e->constants[index]);
        return t && !rlx_kernel_param_is_written(k, (int32_t)param) &&
               rlx_kernel_takes(k, param, rlx_dl_dtype(&t->view), t->view.ndim, t->view.shape);
    }
    if (rlx_operand_kind_of(operand) != RLX_OPERAND_REGISTER ||
        p->makers[index].stretch != p->stretch)
        return false;
    int ndim = made_sizes(p->e->code + p->makers[index].at, &dtype, dims);
    return ndim >= 0 && rlx_kernel_takes(k, param, dtype, ndim, dims);
}

static void prove_call(prove *p, uint32_t at)
{
    const uint32_t *w = p->e->code + at;
    const rlx_kernel *k = p->e->kernels[w[1]];
    for (uint32_t i = 0, n = rlx_ins_count(w[0]); i < n && i < MOST_ARGS; i++)
        if (is_known(p, k, i, w[2 + i]))
            p->bits[at] |= (uint8_t)(1u << i);
}

/* What the instruction writes or empties is not known any more. */
static void forget_written(prove *p, const uint32_t *w)
{
    const char *layout = rlx_opcode_info(rlx_ins_opcode(w[0]))->layout;
    size_t fixed = fixed_words(layout), all = fixed + rlx_ins_count(w[0]);
    for (size_t i = 0; i < all; i++) {
        char letter = layout[i < fixed ? i : fixed];
        if (strchr("dokg", letter) && w[1 + i] != RLX_NO_INDEX)
            p->makers[w[1 + i]].stretch = 0;
    }
}

static void prove_function(prove *p)
{
    int64_t dims[RLX_MAX_RANK];
    rlx_dtype dtype;
    for (uint32_t at = p->f->code, end = at + p->f->code_len; at < end;
         at += length_of(p->e->code + at)) {
        const uint32_t *w = p->e->code + at;
        p->stretch += (p->bits[at] & IS_TARGET) != 0;
        p->bits[at] = 0;
        if (rlx_ins_opcode(w[0]) == RLX_OP_CALL_KERNEL)
            prove_call(p, at);
        forget_written(p, w);
        if (made_sizes(w, &dtype, dims) >= 0)
            p->makers[w[1]] = (maker){ at, p->stretch };
    }
}

static bool make_room(prove *p)
{
    rlx_memory *m = &p->e->memory->memory;
    if (p->f->num_regs <= p->num_makers)
        return true;
    rlx_mem_free(m, p->makers, p->num_makers * sizeof *p->makers);
    p->num_makers = p->f->num_regs;
    p->makers = rlx_mem_alloc_zero(m, p->num_makers * sizeof *p->makers);
    if (!p->makers)
        p->num_makers = 0;
    return p->makers != NULL;
}

bool rlx_prove_calls(relax_executable *e, rlx_fault *why)
{
    rlx_memory *m = &e->memory->memory;
    prove p = { .e = e, .bits = rlx_mem_alloc_zero(m, e->num_code + (size_t)1) };
    bool good = p.bits != NULL, alone = true;
    for (uint32_t i = 0; good && alone && i < e->num_functions; i++) {
        p.f = &e->functions[i];
        alone = (p.f->flags & RLX_FUNCTION_KERNEL) || mark_targets(&p);
    }
    for (uint32_t i = 0; good && i < e->num_functions; i++) {
        p.f = &e->functions[i];
        p.stretch++;
        if (p.f->flags & RLX_FUNCTION_KERNEL)
            continue;
        bool few = alone && p.f->num_regs <= p.f->code_len + FEW;
        good = !few || make_room(&p);
        if (good && few)
            prove_function(&p);
        else
            memset(p.bits + p.f->code, 0, p.f->code_len);
    }
    rlx_mem_free(m, p.makers, p.num_makers * sizeof *p.makers);
    e->known = p.bits;
    return good || rlx_fail(why, RLX_RT10, "out of memory");
}
