/* kgen_code.c: registers, constants, the code of open constructs, and the bytes of a kernel. */
#include "codegen/kgen_int.h"

bool rlx_kgen_fail(rlx_kgen *w, const char *format, ...)
{
    if (!rlx_kgen_failed(w)) {
        va_list args;
        va_start(args, format);
        rlx_verror(w->ctx, RLX_CG07, w->place, format, args);
        va_end(args);
    }
    w->refused = true;
    return false;
}

bool rlx_kgen_too_large(rlx_kgen *w, const char *what)
{
    if (!rlx_kgen_failed(w))
        rlx_error(w->ctx, RLX_CG08, w->place, "kernel %.*s: too many %s", (int)w->name.len,
                  w->name.data, what);
    w->refused = true;
    return false;
}

/* ---- registers ------------------------------------------------------------------------------ */

/* Without what the loader takes: constants take a cell each, strips begin at 64 bytes. */
#define MOST_FRAME (RLX_KERNEL_MAX_FRAME - 8 * RLX_KGEN_CONST_BASE - 128)

static size_t register_bytes(unsigned klass, unsigned kind)
{
    bool narrow = klass == RLX_CLASS_I32 || klass == RLX_CLASS_F32;
    return kind & RLX_KERNEL_STRIP_REG ? RLX_KERNEL_STRIP * (narrow ? 4 : 8) : 8;
}

uint32_t rlx_kgen_new_reg(rlx_kgen *w, unsigned klass, unsigned kind)
{
    w->frame += register_bytes(klass, kind);
    if (w->regs.len >= RLX_KGEN_CONST_BASE - 1 || w->frame > MOST_FRAME) {
        rlx_kgen_too_large(w, "values");
        return 0;
    }
    bool good = rlx_vec_push(&w->ctx->memory, &w->regs, (uint8_t)(klass | kind));
    return good && !rlx_kgen_failed(w) ? (uint32_t)w->regs.len - 1 : 0;
}

/* Strips of floats that hold one number are never anything else, so that chains take the number (runtime/kernel_chain.c); unless there are many. */
#define MOST_APART (MOST_FRAME / 2)

static uint32_t add_strip(rlx_kgen *w, unsigned klass, bool same)
{
    uint32_t reg = rlx_kgen_new_reg(w, klass, RLX_KERNEL_STRIP_REG);
    if (!rlx_kgen_failed(w))
        (void)rlx_vec_push(&w->ctx->memory, &w->strips, ((rlx_kgen_strip){ reg, same }));
    return reg;
}

uint32_t rlx_kgen_new_strip(rlx_kgen *w, unsigned klass)
{
    if (w->free_strips[klass].len)
        return rlx_vec_pop(&w->free_strips[klass]);
    if (w->idle_strips[klass].len)
        return rlx_vec_pop(&w->idle_strips[klass]);
    return add_strip(w, klass, false);
}

uint32_t rlx_kgen_new_same_strip(rlx_kgen *w, unsigned klass)
{
    if (w->same_strips[klass].len)
        return rlx_vec_pop(&w->same_strips[klass]);
    const bool apart = klass == RLX_CLASS_F32 && w->frame <= MOST_APART;
    if (!apart && w->idle_strips[klass].len)
        return rlx_vec_pop(&w->idle_strips[klass]);
    return add_strip(w, klass, apart);
}

void rlx_kgen_free_strip(rlx_kgen *w, uint32_t reg)
{
    if (!rlx_kgen_failed(w))
        (void)rlx_vec_push(&w->ctx->memory,
                           &w->free_strips[w->regs.data[reg] & RLX_KERNEL_CLASS_MASK], reg);
}

void rlx_kgen_reset_strips(rlx_kgen *w)
{
    for (int k = 0; k < RLX_CLASS_COUNT; k++)
        w->free_strips[k].len = w->idle_strips[k].len = w->same_strips[k].len = 0;
    for (size_t i = 0; i < w->strips.len && !rlx_kgen_failed(w); i++) {
        const rlx_kgen_strip s = w->strips.data[i];
        const unsigned klass = w->regs.data[s.reg] & RLX_KERNEL_CLASS_MASK;
        (void)rlx_vec_push(&w->ctx->memory, s.same ? &w->same_strips[klass] : &w->idle_strips[klass], s.reg);
    }
}

uint32_t rlx_kgen_const(rlx_kgen *w, unsigned klass, uint64_t bits)
{
    char key[9];
    if (klass == RLX_CLASS_I32 || klass == RLX_CLASS_F32)
        bits &= 0xffffffffu;
    memcpy(key, &bits, 8);
    key[8] = (char)klass;
    uintptr_t at = (uintptr_t)rlx_map_get(&w->const_index, (rlx_slice){ key, 9 });
    if (at)
        return RLX_KGEN_CONST_BASE + (uint32_t)at - 1;
    rlx_memory *m = &w->ctx->memory;
    if (w->consts.len >= 20000) {
        rlx_kgen_too_large(w, "constants");
        return 0;
    }
    if (!rlx_vec_push(m, &w->consts, bits) ||
        !rlx_vec_push(m, &w->const_classes, (uint8_t)klass) ||
        !rlx_map_put(&w->const_index, (rlx_slice){ key, 9 }, (void *)(uintptr_t)w->consts.len))
        return 0;
    return RLX_KGEN_CONST_BASE + (uint32_t)w->consts.len - 1;
}

uint32_t rlx_kgen_const_i64(rlx_kgen *w, int64_t value)
{
    return rlx_kgen_const(w, RLX_CLASS_I64, (uint64_t)value);
}

/* ---- code ----------------------------------------------------------------------------------- */

void rlx_kgen_emit(rlx_kgen *w, int32_t level, unsigned op, const uint32_t *operands)
{
    rlx_kgen_words *code = &w->levels[level].code;
    const char *letters = rlx_kernel_ops[op].operands;
    if (rlx_kgen_failed(w))
        return;
    if (code->len > RLX_KERNEL_MAX_WORDS / 2) {
        rlx_kgen_too_large(w, "instructions");
        return;
    }
    if (!rlx_vec_reserve(&w->ctx->memory, code, code->len + rlx_kernel_op_words(op)))
        return;
    code->data[code->len++] = (uint16_t)op;
    for (size_t i = 0; letters[i]; i++) {
        bool no_mask = operands[i] == RLX_KGEN_NO_REG && letters[i] == 'm';
        uint32_t v = no_mask ? RLX_KERNEL_NONE : operands[i];
        code->data[code->len++] = (uint16_t)v;
        if (letters[i] == 'j')
            code->data[code->len++] = (uint16_t)(v >> 16);
    }
}

size_t rlx_kgen_length(const rlx_kgen *w, int32_t level) { return w->levels[level].code.len; }

void rlx_kgen_patch_jump(rlx_kgen *w, int32_t level, size_t at, unsigned operand, int64_t distance)
{
    if (rlx_kgen_failed(w))
        return;
    uint16_t *p = w->levels[level].code.data + at + 1 + operand;
    p[0] = (uint16_t)distance;
    p[1] = (uint16_t)((uint64_t)distance >> 16);
}

int32_t rlx_kgen_open(rlx_kgen *w, bool sure, const rlx_kgen_nest *nest)
{
    rlx_kgen_forget_loads(w);
    if (w->top + 1 >= RLX_KGEN_MAX_LEVELS) {
        rlx_kgen_too_large(w, "loops inside each other");
        return w->top;
    }
    w->top++;
    rlx_kgen_level *l = &w->levels[w->top];
    l->code.len = 0;
    l->memo.len = 0;
    l->sure = sure;
    l->nest = nest;
    return w->top;
}

void rlx_kgen_close(rlx_kgen *w)
{
    rlx_kgen_level *l = &w->levels[w->top], *below = l - 1;
    rlx_kgen_forget_loads(w);
    for (size_t i = 0; i < l->memo.len; i++)
        rlx_ptrmap_remove(&w->memo, l->memo.data[i]);
    l->memo.len = 0;
    w->top--;
    if (rlx_kgen_failed(w))
        return;
    if (below->code.len + l->code.len > RLX_KERNEL_MAX_WORDS / 2) {
        rlx_kgen_too_large(w, "instructions");
        return;
    }
    if (!rlx_vec_reserve(&w->ctx->memory, &below->code, below->code.len + l->code.len))
        return;
    if (l->code.len)
        memcpy(below->code.data + below->code.len, l->code.data, l->code.len * sizeof(uint16_t));
    below->code.len += l->code.len;
}

/* Threads that the first loop of a kernel wakes are awake for those behind it, so it says how much all of them are. */
static const rlx_prim *work_to_wake_for(rlx_kgen *w, const rlx_prim *work)
{
    int64_t known, all = w->wakes_for && w->loop_depth == 0 && rlx_int_literal(work, &known) ? rlx_shared_work_of(w->ctx, w->wakes_for) : 0;
    w->wakes_for = NULL;
    return all && known < all ? rlx_int64(w->ctx, all) : work;
}

rlx_kgen_parallel rlx_kgen_begin_parallel(rlx_kgen *w, const rlx_prim *min, const rlx_prim *extent, const rlx_prim *work,
                                          int64_t grain, const rlx_kgen_nest *nest)
{
    int64_t times, picoseconds;
    const rlx_prim *total = work_to_wake_for(w, work);
    rlx_kgen_parallel p = { .grain = grain };
    p.min = rlx_kgen_int64(w, min).reg;
    p.extent = rlx_kgen_int64(w, extent).reg;
    p.work = rlx_kgen_int64(w, total).reg;
    p.certain = rlx_int_literal(extent, &times) && times > grain && rlx_int_literal(work, &picoseconds) &&
                picoseconds >= RLX_KERNEL_LEAST_SHARED;
    p.begin = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
    p.count = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
    /* loops of a nest are not empty */
    rlx_kgen_open(w, nest != NULL, nest);
    w->shared_depth += p.certain;
    return p;
}

void rlx_kgen_end_parallel(rlx_kgen *w, rlx_kgen_parallel p)
{
    RLX_KGEN_EMIT(w, w->top, RLX_K_ENDPAR, 0);
    RLX_KGEN_EMIT(w, w->top - 1, RLX_K_PAR, p.begin, p.count, p.min, p.extent, p.work, (uint32_t)p.grain,
                  (uint32_t)(rlx_kernel_op_words(RLX_K_PAR) + rlx_kgen_length(w, w->top)));
    rlx_kgen_close(w);
    w->shared_depth -= p.certain;
}

uint32_t rlx_kgen_name(rlx_kgen *w, rlx_slice text)
{
    uint32_t at = (uint32_t)w->names.len;
    for (size_t i = 0; i < text.len; i++)
        rlx_buf_char(&w->names, text.data[i] ? text.data[i] : '?');
    rlx_buf_char(&w->names, 0);
    return at;
}

/* ---- the bytes ------------------------------------------------------------------------------ */

static void put_little_endian(rlx_buf *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        rlx_buf_char(b, (char)(v >> 8 * i));
}

static void pad_to_8(rlx_buf *b, size_t begin)
{
    while ((b->len - begin) % 8 && !b->failed)
        rlx_buf_char(b, 0);
}

static uint16_t final_reg(const rlx_kgen *w, uint32_t reg)
{
    return (uint16_t)(reg >= RLX_KGEN_CONST_BASE ? reg - RLX_KGEN_CONST_BASE : reg + w->consts.len);
}

void rlx_kgen_hint(rlx_kgen *w, uint32_t reg, const rlx_prim *var)
{
    const rlx_prim_var *v = rlx_as_prim_var(var);
    bool scalar = reg < RLX_KGEN_CONST_BASE && !rlx_kgen_failed(w) &&
                  !(w->regs.data[reg] & (RLX_KERNEL_STRIP_REG | RLX_KERNEL_VIEW_REG));
    if (w->hints && v && v->name && scalar)
        (void)rlx_vec_push(&w->ctx->memory, w->hints, ((rlx_kernel_hint){ reg, v->name }));
}

static void put_code(rlx_kgen *w, rlx_buf *out)
{
    const rlx_kgen_words *code = &w->levels[0].code;
    for (size_t at = 0; at < code->len;) {
        unsigned op = code->data[at];
        const char *letters = rlx_kernel_ops[op].operands;
        put_little_endian(out, op, 2);
        for (size_t i = 1; i < rlx_kernel_op_words(op); i++) {
            uint16_t v = code->data[at + i];
            bool is_reg = letters[i - 1] && strchr("ilfdILFDvVxXsrwcm", letters[i - 1]);
            is_reg = is_reg && !(letters[i - 1] == 'm' && v == RLX_KERNEL_NONE);
            put_little_endian(out, is_reg ? final_reg(w, v) : v, 2);
            if (letters[i - 1] == 'j')
                put_little_endian(out, code->data[at + ++i], 2);
        }
        at += rlx_kernel_op_words(op);
    }
}

static void put_tables(rlx_kgen *w, rlx_buf *out, size_t begin)
{
    for (size_t i = 0; i < w->params.len; i++) {
        const rlx_kgen_param *p = &w->params.data[i];
        put_little_endian(out, p->kind, 2);
        put_little_endian(
            out, p->kind == RLX_KERNEL_PARAM_SCALAR ? final_reg(w, p->index) : p->index, 2);
        put_little_endian(out, (uint32_t)p->dtype, 4);
    }
    for (size_t i = 0; i < w->rows.len; i++) {
        const rlx_kgen_row *r = &w->rows.data[i];
        put_little_endian(out, (uint32_t)r->dtype, 4);
        put_little_endian(out, r->kind, 1);
        put_little_endian(out, r->rank, 1);
        put_little_endian(out, r->same, 2);
        put_little_endian(out, r->name, 4);
        put_little_endian(out, r->data, 4);
        put_little_endian(out, r->count, 8);
    }
    for (size_t i = 0; i < w->consts.len; i++)
        put_little_endian(out, w->const_classes.data[i], 1);
    for (size_t i = 0; i < w->regs.len; i++)
        put_little_endian(out, w->regs.data[i], 1);
    pad_to_8(out, begin);
    for (size_t i = 0; i < w->consts.len; i++)
        put_little_endian(out, w->consts.data[i], 8);
}

bool rlx_kgen_serialise(rlx_kgen *w, rlx_buf *out)
{
    size_t begin = out->len;
    uint32_t counts[RLX_KERNEL_PARTS] = { (uint32_t)w->params.len,
                                          (uint32_t)w->rows.len,
                                          (uint32_t)(w->regs.len + w->consts.len),
                                          (uint32_t)w->consts.len,
                                          (uint32_t)w->levels[0].code.len,
                                          (uint32_t)w->names.len,
                                          (uint32_t)w->data.len };
    if (rlx_kgen_failed(w) || w->names.failed || w->data.failed)
        return false;
    put_little_endian(out, RLX_KERNEL_MAGIC, 4);
    put_little_endian(out, RLX_KERNEL_VERSION, 4);
    put_little_endian(out, 0, 4);
    for (int i = 0; i < RLX_KERNEL_PARTS; i++)
        put_little_endian(out, counts[i], 4);
    put_tables(w, out, begin);
    put_code(w, out);
    pad_to_8(out, begin);
    rlx_buf_put(out, w->names.data, w->names.len);
    pad_to_8(out, begin);
    rlx_buf_put(out, w->data.data, w->data.len);
    pad_to_8(out, begin);
    if (out->failed)
        return false;
    for (size_t i = 0; w->hints && i < w->hints->len; i++)
        w->hints->data[i].reg = final_reg(w, w->hints->data[i].reg);
    for (int i = 0; i < 4; i++)
        out->data[begin + 8 + (size_t)i] = (char)((out->len - begin) >> 8 * i);
    return true;
}
