/* verify.c: checking the code of an executable.
 *
 * Each function is read twice. The first pass checks every instruction by itself and notes
 * where instructions begin and which are jumped to. The second follows the code from top to
 * bottom with the set of registers that hold a value on every way there: a forward jump leaves
 * its set at the target, where the sets of all ways are intersected; a backward jump must come
 * with at least the registers that its target was reached with. One pass, no iteration.
 */
/* built for size */
#include "vm/vm_int.h"

typedef struct label {
    uint32_t at;
    bool back;        /* some jump goes back to it */
    bool reached;
    uint64_t *set;    /* of forward jumps so far; then, if back, as it was when passed */
} label;

typedef struct verify {
    const relax_executable *e;
    const uint64_t *starts;
    const rlx_file_function *f;
    const uint32_t *code;      /* of this function */
    uint32_t number, at;
    uint32_t *marks;           /* per word: 0, or BEGIN | index of its label + 1 */
    size_t num_marks;
    RLX_VEC(label) labels;
    size_t words;              /* of a register set */
    uint64_t *set;             /* registers that hold a value here */
    size_t set_cap;
    bool reachable;
    uint32_t max_args;
    bool has_late;             /* CALL_LATE occurs */
    uint64_t budget;           /* words of sets still to be copied */
    rlx_fault *why;
} verify;

#define BEGIN 0x80000000u
#define MAX_SET_WORK ((uint64_t)1 << 27)

static bool bad(const verify *v, enum rlx_code_id code, const char *what)
{
    rlx_slice name = rlx_name(&v->e->names, v->f->name);
    return rlx_fail(v->why, code, "function %.*s, word %u: %s", (int)(name.len & 0xff), name.data,
                    v->at, what);
}

static bool no_memory(const verify *v)
{
    return rlx_fail(v->why, RLX_RT10, "out of memory");
}

/* ---- first pass: each instruction by itself ------------------------------------------------- */

static bool usable(const verify *v, uint32_t offset, enum rlx_item_type type)
{
    return rlx_desc_usable(v->e->descs, v->e->num_descs, v->starts, offset, type, v->f->num_syms,
                           v->f->num_regs);
}

static bool operand_fits(const verify *v, uint32_t x, bool any)
{
    uint32_t i = rlx_operand_index(x);
    switch (rlx_operand_kind_of(x)) {
    case RLX_OPERAND_REGISTER: return any && i < v->f->num_regs;
    case RLX_OPERAND_CONST: return any && i < v->e->num_constants;
    case RLX_OPERAND_SYMBOL: return i < v->f->num_syms;
    case RLX_OPERAND_IMM: return true;
    case RLX_OPERAND_EXPR: return usable(v, i, RLX_ITEM_EXPR);
    default: return false;
    }
}

static bool word_fits(const verify *v, char letter, uint32_t w)
{
    const relax_executable *e = v->e;
    switch (letter) {
    case 'o': return w < v->f->num_regs || w == RLX_NO_INDEX;
    case 'd':
    case 'r':
    case 'g':
    case 'k': return w < v->f->num_regs;
    case 'c': return w < e->num_constants;
    case 'S': return w < v->f->num_syms;
    case 'x': return operand_fits(v, w, false);
    case 'a': return operand_fits(v, w, true);
    case 'f': return w < e->num_functions && !(e->functions[w].flags & RLX_FUNCTION_KERNEL);
    case 'K': return w < e->num_kernels;
    case 'p': return w < e->num_packed;
    case 'e': return usable(v, w, RLX_ITEM_EXPR);
    case 'D': return usable(v, w, RLX_ITEM_DESC);
    case 'n': return w < e->names.count || w == RLX_NO_INDEX;
    case 't': return rlx_dtype_is_computable((rlx_dtype)w) && rlx_dtype_lanes((rlx_dtype)w) == 1;
    case 'z':
    case 'u':
    case 'j': return true; /* z and u depend on the instruction, j is checked with the labels */
    default: return false;
    }
}

/* Conditions that the letters do not express. */
static bool fits_together(const verify *v, uint32_t op, const uint32_t *w, uint32_t count)
{
    const relax_executable *e = v->e;
    switch (op) {
    case RLX_OP_PRIM: return !rlx_dtype_is_float((rlx_dtype)w[1]);
    case RLX_OP_MATCH: return w[2] < RLX_MATCH_FLAVOURS;
    case RLX_OP_ALLOC_VIEW:
    case RLX_OP_ALLOC_TENSOR:
    case RLX_OP_ALLOC_RESULT:
    case RLX_OP_ALLOC_OVER: return count <= RLX_MAX_RANK;
    case RLX_OP_CALL_KERNEL: return (int64_t)count == rlx_kernel_num_params(e->kernels[w[0]]);
    case RLX_OP_CALL: return w[2] <= RLX_CALL_PROVED && count == e->functions[w[1]].num_params;
    case RLX_OP_TAIL_CALL:
        return w[1] <= RLX_CALL_PROVED && count == e->functions[w[0]].num_params;
    case RLX_OP_CALL_PACKED: return !e->builtins[w[1]];
    case RLX_OP_CALL_LATE:
        return e->constants[w[1]].type_index == RELAX_VALUE_STRING && w[3] <= count;
    case RLX_OP_CALL_BUILTIN:
        return e->builtins[w[1]] && (int64_t)count >= e->builtins[w[1]]->min_args &&
               (int64_t)count <= e->builtins[w[1]]->max_args;
    default: return true;
    }
}

static size_t fixed_words(const char *layout, bool *list)
{
    size_t n = strlen(layout);
    *list = n && layout[n - 1] == '*';
    return *list ? n - 2 : n;
}

/* The instruction at v->at; *length in words. */
static bool check_instruction(verify *v, uint32_t *length)
{
    const uint32_t *w = v->code + v->at;
    uint32_t op = rlx_ins_opcode(w[0]), count = rlx_ins_count(w[0]);
    const rlx_opcode_row *row = rlx_opcode_info(op);
    bool list;
    if (!row || (w[0] >> 8 & 0xff))
        return bad(v, RLX_LD06, "unknown instruction");
    size_t fixed = fixed_words(row->layout, &list);
    if ((!list && count) || 1 + fixed + count > v->f->code_len - v->at)
        return bad(v, RLX_LD06, "instruction breaks off");
    for (size_t i = 0; i < fixed + count; i++)
        if (!word_fits(v, row->layout[i < fixed ? i : fixed], w[1 + i]))
            return bad(v, RLX_LD07, row->text);
    if (!fits_together(v, op, w + 1, count))
        return bad(v, RLX_LD07, row->text);
    if (count > v->max_args)
        v->max_args = count;
    v->has_late |= op == RLX_OP_CALL_LATE;
    *length = (uint32_t)(1 + fixed + count);
    return true;
}

static bool jump_of(const uint32_t *w, uint32_t *offset)
{
    uint32_t word = rlx_opcode_jump(rlx_ins_opcode(w[0]));
    *offset = w[word];
    return word != 0;
}

/* The next word is not reached from this instruction, unless by a jump. */
static bool goes_elsewhere(uint32_t op)
{
    return op == RLX_OP_JUMP || op == RLX_OP_RETURN || op == RLX_OP_TAIL_CALL;
}

static bool first_pass(verify *v)
{
    uint32_t length = 0, op = 0;
    for (v->at = 0; v->at < v->f->code_len; v->at += length) {
        if (!check_instruction(v, &length))
            return false;
        v->marks[v->at] = BEGIN;
        op = rlx_ins_opcode(v->code[v->at]);
    }
    if (!goes_elsewhere(op))
        return bad(v, RLX_LD15, "code runs over its end");
    return true;
}

static bool note_label(verify *v, uint32_t target, bool back)
{
    uint32_t index = v->marks[target] & ~BEGIN;
    if (!index) {
        if (!rlx_vec_push(&v->e->memory->memory, &v->labels, ((label){ .at = target })))
            return no_memory(v);
        index = (uint32_t)v->labels.len;
        v->marks[target] |= index;
    }
    v->labels.data[index - 1].back |= back;
    return true;
}

static uint32_t length_of(const uint32_t *w)
{
    bool list;
    return (uint32_t)(1 + fixed_words(rlx_opcode_info(rlx_ins_opcode(w[0]))->layout, &list) +
                      rlx_ins_count(w[0]));
}

static bool find_labels(verify *v)
{
    uint32_t offset;
    for (v->at = 0; v->at < v->f->code_len; v->at += length_of(v->code + v->at)) {
        if (!jump_of(v->code + v->at, &offset))
            continue;
        uint32_t target = v->at + offset; /* wraps for jumps backwards */
        if (target >= v->f->code_len || !(v->marks[target] & BEGIN))
            return bad(v, RLX_LD15, "jump to no instruction");
        if (!note_label(v, target, target <= v->at))
            return false;
    }
    return true;
}

/* ---- second pass: registers ----------------------------------------------------------------- */

static bool holds(const verify *v, uint32_t r) { return v->set[r / 64] >> (r % 64) & 1; }
static void add_register(verify *v, uint32_t r) { v->set[r / 64] |= (uint64_t)1 << (r % 64); }
static void take_register(verify *v, uint32_t r) { v->set[r / 64] &= ~((uint64_t)1 << (r % 64)); }

static bool spend(verify *v)
{
    if (v->budget < v->words)
        return bad(v, RLX_LD16, "too many registers and jumps");
    v->budget -= v->words;
    return true;
}

static bool save_set(verify *v, label *l)
{
    l->set = rlx_mem_alloc(&v->e->memory->memory, v->words * sizeof *l->set);
    if (!l->set)
        return no_memory(v);
    memcpy(l->set, v->set, v->words * sizeof *l->set);
    return true;
}

static void forget_set(verify *v, label *l)
{
    rlx_mem_free(&v->e->memory->memory, l->set, v->words * sizeof *l->set);
    l->set = NULL;
}

/* Control comes here from above (if reachable) and from the forward jumps to it. */
static bool pass_label(verify *v, label *l)
{
    if (!spend(v))
        return false;
    if (l->set && v->reachable)
        for (size_t i = 0; i < v->words; i++)
            v->set[i] &= l->set[i];
    else if (l->set)
        memcpy(v->set, l->set, v->words * sizeof *v->set);
    v->reachable = v->reachable || l->set;
    l->reached = v->reachable;
    forget_set(v, l);
    return !l->back || !v->reachable || save_set(v, l);
}

static bool follow_jump(verify *v, uint32_t target)
{
    label *l = &v->labels.data[(v->marks[target] & ~BEGIN) - 1];
    if (!spend(v))
        return false;
    if (target > v->at) {
        if (!l->set)
            return save_set(v, l);
        for (size_t i = 0; i < v->words; i++)
            l->set[i] &= v->set[i];
        return true;
    }
    if (!l->reached)
        return bad(v, RLX_LD15, "jump back to code that nothing leads to");
    for (size_t i = 0; i < v->words; i++)
        if (l->set[i] & ~v->set[i])
            return bad(v, RLX_LD11, "a register of the loop is empty when it starts again");
    return true;
}

static bool reads(verify *v, char letter, uint32_t w)
{
    if (letter == 'a' && rlx_operand_kind_of(w) != RLX_OPERAND_REGISTER)
        return true;
    if ((letter == 'r' || letter == 'g' || letter == 'a') && !holds(v, w))
        return bad(v, RLX_LD11, "register is read before it is written");
    return true;
}

static bool check_registers(verify *v)
{
    const uint32_t *w = v->code + v->at;
    uint32_t op = rlx_ins_opcode(w[0]), count = rlx_ins_count(w[0]);
    const char *layout = rlx_opcode_info(op)->layout;
    bool list;
    size_t fixed = fixed_words(layout, &list);
    for (size_t i = 0; i < fixed + count; i++)
        if (!reads(v, layout[i < fixed ? i : fixed], w[1 + i]))
            return false;
    for (size_t i = 0; i < fixed + count; i++) {
        char letter = layout[i < fixed ? i : fixed];
        if (letter == 'k' || letter == 'g')
            take_register(v, w[1 + i]);
    }
    for (size_t i = 0; i < fixed; i++)
        if (layout[i] == 'd' || (layout[i] == 'o' && w[1 + i] != RLX_NO_INDEX))
            add_register(v, w[1 + i]);
    return true;
}

static bool second_pass(verify *v)
{
    if (!spend(v))
        return false;
    memset(v->set, 0, v->words * sizeof *v->set);
    for (uint32_t r = 0; r < v->f->num_params; r++)
        add_register(v, r);
    v->reachable = true;
    for (v->at = 0; v->at < v->f->code_len; v->at += length_of(v->code + v->at)) {
        uint32_t index = v->marks[v->at] & ~BEGIN, offset, op = rlx_ins_opcode(v->code[v->at]);
        if (index && !pass_label(v, &v->labels.data[index - 1]))
            return false;
        if (!v->reachable)
            continue;
        if (!check_registers(v))
            return false;
        if (jump_of(v->code + v->at, &offset) && !follow_jump(v, v->at + offset))
            return false;
        v->reachable = !goes_elsewhere(op);
    }
    return true;
}

/* ---- all functions -------------------------------------------------------------------------- */

static bool make_buffers(verify *v)
{
    rlx_memory *m = &v->e->memory->memory;
    v->words = (size_t)v->f->num_regs / 64 + 1;
    if (v->words > v->set_cap) {
        rlx_mem_free(m, v->set, v->set_cap * sizeof *v->set);
        v->set = rlx_mem_alloc(m, v->words * sizeof *v->set);
        v->set_cap = v->set ? v->words : 0;
        if (!v->set)
            return no_memory(v);
    }
    if (v->f->code_len > v->num_marks) {
        rlx_mem_free(m, v->marks, v->num_marks * sizeof *v->marks);
        v->marks = rlx_mem_alloc(m, v->f->code_len * sizeof *v->marks);
        v->num_marks = v->marks ? v->f->code_len : 0;
        if (!v->marks)
            return no_memory(v);
    }
    memset(v->marks, 0, v->f->code_len * sizeof *v->marks);
    return true;
}

static bool verify_function(verify *v)
{
    v->code = v->e->code + v->f->code;
    v->at = 0;
    v->labels.len = 0;
    if (!make_buffers(v))
        return false;
    bool ok = first_pass(v) && find_labels(v) && second_pass(v);
    for (size_t i = 0; i < v->labels.len; i++)
        forget_set(v, &v->labels.data[i]);
    return ok;
}

bool rlx_verify_code(const relax_executable *e, const uint64_t *starts, uint32_t *max_args,
                     bool *has_late, rlx_fault *why)
{
    verify v = { .e = e, .starts = starts, .budget = MAX_SET_WORK, .why = why };
    bool ok = true;
    for (uint32_t i = 0; ok && i < e->num_functions; i++) {
        v.f = &e->functions[i];
        v.number = i;
        if (!(v.f->flags & RLX_FUNCTION_KERNEL))
            ok = verify_function(&v);
        if (v.f->num_params > v.max_args)
            v.max_args = v.f->num_params;
    }
    rlx_memory *m = &e->memory->memory;
    rlx_mem_free(m, v.set, v.set_cap * sizeof *v.set);
    rlx_mem_free(m, v.marks, v.num_marks * sizeof *v.marks);
    rlx_vec_free(m, &v.labels);
    *max_args = v.max_args;
    *has_late = v.has_late;
    return ok;
}
