/* kernel_load.c: from untrusted bytes to a kernel that may be trusted. Everything is checked
 * here once. */
/* built for size */
#include "runtime/kernel_int.h"

typedef struct loading {
    rlx_memory *memory;
    const uint8_t *bytes;
    const uint8_t *part[RLX_KERNEL_PARTS];
    uint32_t count[RLX_KERNEL_PARTS];
    rlx_kernel *k;
    rlx_kernel_param *params;
    rlx_kernel_buffer *buffers;
    uint64_t *consts;
    uint32_t *code;
    int64_t *sizes;
    /* per register */
    uint32_t *offsets;
    /* 1 + epoch in which the view was set, to read, to write */
    uint32_t *view_epoch, *out_epoch;
    /* the outermost PAR in which it was last written, as in `regions` */
    uint32_t *written_in;
    /* per word of code: 1 + position of the innermost PAR whose body it is in, 0: none */
    uint32_t *regions;
    uint32_t *chains;
    uint8_t *marks;
    rlx_fault *why;
} loading;

static bool bad(loading *l, const char *what, size_t at)
{
    return rlx_fail(l->why, RLX_LD08, "malformed kernel: %s %zu", what, at);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static bool find_parts(loading *l, const uint8_t *bytes, size_t len)
{
    static const uint32_t item[RLX_KERNEL_PARTS] = RLX_KERNEL_PART_ITEM;
    static const uint32_t most[RLX_KERNEL_PARTS] = { RLX_KERNEL_MAX_PARAMS,
                                                     RLX_KERNEL_MAX_BUFFERS,
                                                     RLX_KERNEL_MAX_REGS,
                                                     RLX_KERNEL_MAX_REGS,
                                                     RLX_KERNEL_MAX_WORDS,
                                                     1u << 30,
                                                     1u << 30 };
    if (len < RLX_KERNEL_HEADER_BYTES || rlx_get_u32(bytes) != RLX_KERNEL_MAGIC)
        return rlx_fail(l->why, RLX_LD08, "malformed kernel: no header");
    if (rlx_get_u32(bytes + 4) != RLX_KERNEL_VERSION)
        return rlx_fail(l->why, RLX_LD02, "kernel bytecode version %u, expected %u",
                        rlx_get_u32(bytes + 4), RLX_KERNEL_VERSION);
    if (rlx_get_u32(bytes + 8) != len)
        return bad(l, "length differs from the stated", rlx_get_u32(bytes + 8));
    size_t at = RLX_KERNEL_HEADER_BYTES;
    for (int p = 0; p < RLX_KERNEL_PARTS; p++) {
        l->count[p] = rlx_get_u32(bytes + 12 + 4 * p);
        size_t size = ((size_t)l->count[p] * item[p] + 7) & ~(size_t)7;
        if (l->count[p] > most[p] || size > len - at)
            return bad(l, "part out of bounds", (size_t)p);
        l->part[p] = bytes + at;
        at += size;
    }
    if (at != len)
        return bad(l, "bytes after the last part", at);
    if (!l->count[RLX_KERNEL_NAMES] ||
        l->part[RLX_KERNEL_NAMES][l->count[RLX_KERNEL_NAMES] - 1] != 0)
        return bad(l, "names not terminated at", l->count[RLX_KERNEL_NAMES]);
    l->bytes = bytes;
    return true;
}

/* Room for what kernel_entry.c finds out: twice the rank of each buffer, up to a few. */
static size_t num_sizes(const loading *l)
{
    size_t n = 0;
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_BUFFERS]; i++) {
        uint8_t rank = l->part[RLX_KERNEL_BUFFERS][24 * (size_t)i + 5];
        n += rank <= RLX_KERNEL_SIZED_RANK ? 2u * rank : 0;
    }
    return n;
}

/* One block for the kernel, one for what only the check needs. */
static bool allocate(loading *l, void **work, size_t *work_size)
{
    const uint32_t *n = l->count;
    size_t params = sizeof(rlx_kernel),
           buffers = (params + n[RLX_KERNEL_PARAMS] * sizeof(rlx_kernel_param) + 7) & ~(size_t)7;
    size_t consts = (buffers + n[RLX_KERNEL_BUFFERS] * sizeof(rlx_kernel_buffer) + 7) & ~(size_t)7;
    size_t sizes = consts + n[RLX_KERNEL_CONSTS] * sizeof(uint64_t);
    size_t code = sizes + num_sizes(l) * sizeof(int64_t);
    /* value instructions are read with four operands */
    size_t names = code + (n[RLX_KERNEL_CODE] + 8) * sizeof(uint32_t);
    size_t data = (names + n[RLX_KERNEL_NAMES] + 63) & ~(size_t)63,
           size = data + n[RLX_KERNEL_DATA];
    *work_size = n[RLX_KERNEL_REGS] * 4 * sizeof(uint32_t) +
                 rlx_kernel_chains_work(n[RLX_KERNEL_REGS], n[RLX_KERNEL_CODE], n[RLX_KERNEL_BUFFERS]) +
                 n[RLX_KERNEL_CODE] * (sizeof(uint32_t) + 1) + 1;
    char *p = rlx_mem_alloc_aligned(l->memory, size, 64);
    char *w = *work = rlx_mem_alloc_zero(l->memory, *work_size);
    if (!p || !w) {
        rlx_mem_free_aligned(l->memory, p, size, 64);
        return rlx_fail(l->why, RLX_RT10, "out of memory");
    }
    l->params = (rlx_kernel_param *)(p + params);
    l->buffers = (rlx_kernel_buffer *)(p + buffers);
    l->consts = (uint64_t *)(p + consts);
    l->sizes = (int64_t *)(p + sizes);
    l->code = (uint32_t *)(p + code);
    l->offsets = (uint32_t *)w;
    l->view_epoch = l->offsets + n[RLX_KERNEL_REGS];
    l->out_epoch = l->view_epoch + n[RLX_KERNEL_REGS];
    l->written_in = l->out_epoch + n[RLX_KERNEL_REGS];
    l->regions = l->written_in + n[RLX_KERNEL_REGS];
    l->chains = l->regions + n[RLX_KERNEL_CODE];
    l->marks = (uint8_t *)l->chains + rlx_kernel_chains_work(n[RLX_KERNEL_REGS], n[RLX_KERNEL_CODE], n[RLX_KERNEL_BUFFERS]);
    memset(l->code + n[RLX_KERNEL_CODE], 0, 8 * sizeof(uint32_t));
    memcpy(p + names, l->part[RLX_KERNEL_NAMES], n[RLX_KERNEL_NAMES]);
    if (n[RLX_KERNEL_DATA])
        memcpy(p + data, l->part[RLX_KERNEL_DATA], n[RLX_KERNEL_DATA]);
    l->k = (rlx_kernel *)p;
    *l->k = (rlx_kernel){
        .memory = l->memory,
        .size = size,
        .num_params = n[RLX_KERNEL_PARAMS],
        .num_buffers = n[RLX_KERNEL_BUFFERS],
        .num_consts = n[RLX_KERNEL_CONSTS],
        .num_words = n[RLX_KERNEL_CODE],
        .names_size = n[RLX_KERNEL_NAMES],
        .params = l->params,
        .buffers = l->buffers,
        .consts = l->consts,
        .code = l->code,
        .names = p + names,
        .data = (const unsigned char *)p + data,
    };
    return true;
}

/* ---- tables --------------------------------------------------------------------------------- */

static uint8_t reg_byte(const loading *l, uint32_t r)
{
    return l->part[RLX_KERNEL_REGS][r];
}

static bool is_wide(uint8_t reg)
{
    return (reg & (RLX_KERNEL_STRIP_REG | RLX_KERNEL_VIEW_REG)) != 0;
}

static uint32_t class_bytes(unsigned klass)
{
    return klass == RLX_CLASS_I32 || klass == RLX_CLASS_F32 ? 4 : 8;
}

/* The length of strips: as long as all of them stay near. */
static size_t strip_length(const loading *l)
{
    enum { NEAR = 24 << 10 };
    size_t bytes = 0, length = RLX_KERNEL_STRIP;
    for (uint32_t r = 0; r < l->count[RLX_KERNEL_REGS]; r++)
        bytes += reg_byte(l, r) & RLX_KERNEL_STRIP_REG ? class_bytes(reg_byte(l, r) & RLX_KERNEL_CLASS_MASK) : 0;
    while (length < RLX_KERNEL_LONGER_STRIP && 2 * length * bytes <= NEAR)
        length *= 2;
    return length;
}

/* Cells of 8 bytes for scalars and views first, then the strips. */
static bool place_registers(loading *l)
{
    size_t at = 0;
    const size_t length = strip_length(l);
    l->k->strip = (int64_t)length;
    for (int strips = 0; strips < 2; strips++) {
        for (uint32_t r = 0; r < l->count[RLX_KERNEL_REGS]; r++) {
            uint8_t b = reg_byte(l, r);
            if (b > 31 || (b & 12) == 12 || (b & RLX_KERNEL_BYTE_REG && b != (RLX_KERNEL_BYTE_REG | RLX_KERNEL_VIEW_REG | RLX_CLASS_I32)))
                return bad(l, "unknown register kind, register", r);
            if (((b & RLX_KERNEL_STRIP_REG) != 0) != strips)
                continue;
            l->offsets[r] = (uint32_t)at | ((b & RLX_KERNEL_VIEW_REG) != 0);
            at += strips ? length * class_bytes(b & RLX_KERNEL_CLASS_MASK) : 8;
            if (at > RLX_KERNEL_MAX_FRAME)
                return bad(l, "too many registers, register", r);
        }
        at = (at + 63) & ~(size_t)63;
        if (!strips)
            l->k->cells = at;
    }
    l->k->frame_size = at;
    return true;
}

static bool load_consts(loading *l)
{
    if (l->count[RLX_KERNEL_CONSTS] > l->count[RLX_KERNEL_REGS])
        return bad(l, "more constants than registers,", l->count[RLX_KERNEL_CONSTS]);
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_CONSTS]; i++) {
        uint64_t bits = rlx_get_u64(l->part[RLX_KERNEL_CONSTS] + 8 * (size_t)i);
        uint32_t low = (uint32_t)bits;
        if (is_wide(reg_byte(l, i)))
            return bad(l, "constant in a strip, register", i);
        l->consts[i] = bits;
        if (class_bytes(reg_byte(l, i) & RLX_KERNEL_CLASS_MASK) == 4)
            /* at the beginning of the cell whatever the byte order */
            memcpy(&l->consts[i], &low, 4);
    }
    return true;
}

static bool load_buffers(loading *l)
{
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_BUFFERS]; i++) {
        const uint8_t *p = l->part[RLX_KERNEL_BUFFERS] + 24 * (size_t)i;
        enum rlx_kernel_elem e = rlx_kernel_elem_of((int32_t)rlx_get_u32(p));
        rlx_kernel_buffer *b = &l->buffers[i];
        if (e == RLX_ELEM_COUNT || p[4] > RLX_KERNEL_BUFFER_CONST ||
            rlx_get_u32(p + 8) >= l->count[RLX_KERNEL_NAMES])
            return bad(l, "buffer", i);
        *b = (rlx_kernel_buffer){ .kind = p[4],
                                  .rank = p[5],
                                  .elem = (uint8_t)e,
                                  .bytes = rlx_kernel_elems[e].bytes,
                                  .name = rlx_get_u32(p + 8),
                                  .data = rlx_get_u32(p + 12),
                                  .count = rlx_get_u64(p + 16),
                                  .same = rlx_get_u16(p + 6) };
        if (b->kind == RLX_KERNEL_BUFFER_TEMP)
            b->data = l->k->num_temps++;
        if (b->kind != RLX_KERNEL_BUFFER_CONST)
            continue;
        uint64_t capacity = l->count[RLX_KERNEL_DATA];
        if (b->data > capacity || b->count > (capacity - b->data) / b->bytes || b->data % b->bytes)
            return bad(l, "constant data of buffer", i);
    }
    return true;
}

static bool load_params(loading *l)
{
    uint32_t next = 0; /* buffers of parameters come in order */
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_PARAMS]; i++) {
        const uint8_t *p = l->part[RLX_KERNEL_PARAMS] + 8 * (size_t)i;
        uint16_t index = rlx_get_u16(p + 2);
        int32_t dtype = (int32_t)rlx_get_u32(p + 4);
        enum rlx_kernel_elem e = rlx_kernel_elem_of(dtype);
        rlx_kernel_param param = { .kind = p[0], .index = index, .dtype = dtype };
        if (e == RLX_ELEM_COUNT || p[0] > RLX_KERNEL_PARAM_SCALAR)
            return bad(l, "parameter", i);
        param.klass = rlx_kernel_elems[e].klass;
        if (p[0] == RLX_KERNEL_PARAM_BUFFER) {
            if (index != next++ || index >= l->count[RLX_KERNEL_BUFFERS] ||
                l->buffers[index].kind != RLX_KERNEL_BUFFER_PARAM || l->buffers[index].elem != e)
                return bad(l, "buffer of parameter", i);
            l->buffers[index].param = i;
        } else {
            if (index >= l->count[RLX_KERNEL_REGS] || reg_byte(l, index) != param.klass)
                return bad(l, "register of parameter", i);
            param.offset = l->offsets[index];
        }
        l->params[i] = param;
    }
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_BUFFERS]; i++) {
        if ((l->buffers[i].kind == RLX_KERNEL_BUFFER_PARAM) != (i < next))
            return bad(l, "no parameter has buffer", i);
        if (l->buffers[i].same && (i >= next || l->buffers[i].same > next))
            return bad(l, "no parameter may be the memory of buffer", i);
    }
    return true;
}

/* ---- code ----------------------------------------------------------------------------------- */

static uint16_t word(const loading *l, uint32_t at)
{
    return rlx_get_u16(l->part[RLX_KERNEL_CODE] + 2 * (size_t)at);
}

static bool is_jump(uint32_t op) { return strchr(rlx_kernel_ops[op].operands, 'j') != NULL; }

/* In range, and where an instruction begins, if these have been found. */
static uint32_t jump_target(const loading *l, uint32_t at)
{
    const char *operands = rlx_kernel_ops[word(l, at)].operands;
    uint32_t p = at + 1 + (uint32_t)(strchr(operands, 'j') - operands);
    int64_t target =
        (int64_t)at + (int32_t)((uint32_t)word(l, p) | (uint32_t)word(l, p + 1) << 16);
    bool good = target >= 0 && target < l->count[RLX_KERNEL_CODE] && l->marks[target] & RLX_KERNEL_MARK_START;
    return good ? (uint32_t)target : UINT32_MAX;
}

/* The bodies of PARs: each ends with its ENDPAR, and no jump leads into one or out of it. */
static bool find_regions(loading *l)
{
    uint32_t n = l->count[RLX_KERNEL_CODE], open = 0, op;
    for (uint32_t at = 0; at < n; at += rlx_kernel_op_words(op)) {
        op = word(l, at);
        l->regions[at] = open;
        if (op == RLX_K_END && open)
            return bad(l, "end inside a parallel loop at", at);
        if (op == RLX_K_PAR)
            open = at + 1;
        if (op == RLX_K_ENDPAR) {
            if (!open || jump_target(l, open - 1) != at + rlx_kernel_op_words(op))
                return bad(l, "end of no parallel loop at", at);
            open = l->regions[open - 1];
        }
    }
    for (uint32_t at = 0; at < n; at += rlx_kernel_op_words(word(l, at)))
        if (is_jump(word(l, at)) && l->regions[jump_target(l, at)] != l->regions[at])
            return bad(l, "jump across a parallel loop at", at);
    return open ? bad(l, "parallel loop without an end at", open - 1) : true;
}

/* Where instructions begin and where jumps go. */
static bool mark(loading *l)
{
    uint32_t n = l->count[RLX_KERNEL_CODE], last = 0, op = RLX_K_COUNT;
    for (uint32_t at = 0; at < n; at += last) {
        op = word(l, at);
        if (op >= RLX_K_COUNT)
            return bad(l, "unknown instruction at", at);
        last = rlx_kernel_op_words(op);
        if (last > n - at)
            return bad(l, "instruction cut short at", at);
        l->marks[at] |= RLX_KERNEL_MARK_START;
    }
    if (op != RLX_K_END)
        return bad(l, "no end at", n);
    for (uint32_t at = 0; at < n; at += rlx_kernel_op_words(word(l, at))) {
        uint32_t target = is_jump(word(l, at)) ? jump_target(l, at) : at;
        if (target == UINT32_MAX)
            return bad(l, "jump into nowhere at", at);
        if (is_jump(word(l, at)))
            l->marks[target] |= RLX_KERNEL_MARK_TARGET;
    }
    return find_regions(l);
}

typedef struct instruction {
    uint32_t op, at, epoch;
    uint32_t outermost; /* PAR around it, as in `regions` */
    int klass;       /* of x and v operands, -1: not known yet */
    int wide;        /* 1: strips, 0: scalars, -1: not known yet */
    int buffer_class, elem;
} instruction;

static bool bad_operand(loading *l, const instruction *in)
{
    return rlx_fail(l->why, RLX_LD08, "malformed kernel: operand of %s at %u",
                    rlx_kernel_ops[in->op].text, in->at);
}

/* A value operand of class `klass` (-1: any). Views may be read where they are set and written
 * only as outputs. */
static bool check_value(loading *l, instruction *in, uint32_t r, int klass, bool written)
{
    if (r >= l->count[RLX_KERNEL_REGS])
        return bad_operand(l, in);
    uint8_t b = reg_byte(l, r);
    bool wide = is_wide(b), sets_view = in->op == RLX_K_VIEW || in->op == RLX_K_VIEW_OUT,
         bytes = sets_view ? in->elem == RLX_ELEM_BOOL : in->op >= RLX_K_AND_BOOL && in->op <= RLX_K_NOT_BOOL;
    if ((klass >= 0 && (b & RLX_KERNEL_CLASS_MASK) != klass) || bytes != ((b & RLX_KERNEL_BYTE_REG) != 0) ||
        (in->wide >= 0 && in->wide != wide))
        return bad_operand(l, in);
    in->wide = wide;
    if (sets_view)
        return (b & RLX_KERNEL_VIEW_REG) ? true : bad_operand(l, in);
    if (b & RLX_KERNEL_VIEW_REG) {
        /* memory and helper instructions work on real strips, but for what is stored, and what reads each index once */
        const bool reads = in->op == RLX_K_STORE || in->op == RLX_K_STORE_STRIDED || in->op == RLX_K_PLACE_EACH;
        bool plain = in->op >= RLX_K_FIRST_VALUE || (reads && !written);
        if (!plain || (written ? l->out_epoch[r] : l->view_epoch[r]) != in->epoch)
            return bad_operand(l, in);
    }
    return true;
}

static bool check_any(loading *l, instruction *in, uint32_t r, bool written)
{
    if (!check_value(l, in, r, in->klass, written))
        return false;
    in->klass = reg_byte(l, r) & RLX_KERNEL_CLASS_MASK;
    return true;
}

static bool check_scalar(loading *l, instruction *in, uint32_t r, int klass)
{
    return r < l->count[RLX_KERNEL_REGS] && reg_byte(l, r) == klass ? true : bad_operand(l, in);
}

static bool check_buffer(loading *l, instruction *in, uint32_t b, char letter)
{
    if (b >= l->count[RLX_KERNEL_BUFFERS])
        return bad_operand(l, in);
    rlx_kernel_buffer *buffer = &l->buffers[b];
    bool fused = in->op == RLX_K_REDUCE || in->op == RLX_K_PARTIAL ||
                 in->op == RLX_K_NORMALIZE || in->op == RLX_K_MAP;
    if ((letter == 'B' && buffer->kind == RLX_KERNEL_BUFFER_CONST) ||
        (letter == 't' && buffer->kind != RLX_KERNEL_BUFFER_TEMP) ||
        (fused && in->elem >= 0 && in->elem != buffer->elem))
        return bad_operand(l, in);
    buffer->written |= letter == 'B';
    in->elem = buffer->elem;
    in->buffer_class = rlx_kernel_elems[buffer->elem].klass;
    return true;
}

static bool check_operand(loading *l, instruction *in, char letter, uint32_t w)
{
    static const char classes[] = "ilfdILFD";
    const char *c = strchr(classes, letter);
    if (c)
        return check_value(l, in, w, (int)(c - classes) % RLX_CLASS_COUNT,
                           c - classes >= RLX_CLASS_COUNT);
    switch (letter) {
    case 'v': case 'V': return check_value(l, in, w, in->buffer_class, letter == 'V');
    case 'x': case 'X': return check_any(l, in, w, letter == 'X');
    case 's': return check_scalar(l, in, w, in->klass);
    case 'm': return w == RLX_KERNEL_NONE || check_value(l, in, w, RLX_CLASS_I32, false);
    case 'r': case 'w': return check_scalar(l, in, w, RLX_CLASS_I64);
    case 'c': return check_scalar(l, in, w, RLX_CLASS_I32);
    case 'b': case 'B': case 't': return check_buffer(l, in, w, letter);
    case 'z': return w < l->count[RLX_KERNEL_NAMES] ? true : bad_operand(l, in);
    default: return true; /* n: see check_rest; j: see mark */
    }
}

static uint32_t operand(const loading *l, const instruction *in, char letter)
{
    const char *operands = rlx_kernel_ops[in->op].operands;
    return word(l, in->at + 1 + (uint32_t)(strchr(operands, letter) - operands));
}

/* Of the buffer that is operand number n, from 1 on. */
static enum rlx_kernel_elem elem_at(const loading *l, const instruction *in, uint32_t n)
{
    return (enum rlx_kernel_elem)l->buffers[word(l, in->at + n)].elem;
}

/* Floats on both sides of words, and fields that fit into one of them. */
static bool check_unpack(const loading *l, const instruction *in)
{
    uint32_t dst = word(l, in->at + 2), words = word(l, in->at + 4), bits = word(l, in->at + 1);
    const rlx_kernel_buffer *b = &l->buffers[words];
    bool is_word = b->elem == RLX_ELEM_U32 || b->elem == RLX_ELEM_I32 || b->elem == RLX_ELEM_U8 ||
                   b->elem == RLX_ELEM_I8;
    return l->buffers[dst].elem == RLX_ELEM_F32 && in->elem == RLX_ELEM_F32 && is_word &&
           bits >= 1 && bits <= 16 && bits <= b->bytes * 8u;
}

/* One element type that sums of products know, or bytes that are summed up in int32. */
static bool check_contract(const loading *l, const instruction *in)
{
    uint32_t how = word(l, in->at + 1);
    enum rlx_kernel_elem acc = elem_at(l, in, 2), a = elem_at(l, in, 7), b = elem_at(l, in, 14);
    if (rlx_kernel_is_byte(a) && rlx_kernel_is_byte(b))
        return acc == RLX_ELEM_I32 && how <= RLX_KERNEL_FROM_ZERO && !(how & RLX_KERNEL_EXACT);
    return a == acc && b == acc && how <= (RLX_KERNEL_EXACT | RLX_KERNEL_FROM_ZERO) &&
           rlx_micro_find(NULL)->contract[how & RLX_KERNEL_EXACT][acc];
}

/* Elements that are there to be packed, those in fours as they are. */
static bool check_pack(const loading *l, const instruction *in)
{
    uint32_t how = word(l, in->at + 1), panel = how & ~(uint32_t)RLX_KERNEL_FOURS;
    enum rlx_kernel_elem dst = elem_at(l, in, 2), src = elem_at(l, in, 4);
    return (panel == RLX_PANEL_COLUMNS || panel == RLX_PANEL_ROWS) &&
           (panel == how ? rlx_micro_find(NULL)->pack[dst][src] != NULL
                         : dst == src && rlx_kernel_is_byte(dst));
}

/* All memory of a temporary comes from one PAR, or from outside of them: what a thread has asked for, others do not see,
 * and what they see stays. */
static bool check_alloc(loading *l, const instruction *in)
{
    rlx_kernel_buffer *b = &l->buffers[word(l, in->at + 1)];
    uint32_t region = l->regions[in->at];
    bool first = !b->allocated;
    b->allocated = true;
    if (first)
        b->region = region;
    return b->region == region;
}

/* Checks that involve several operands. */
static bool check_rest(loading *l, instruction *in)
{
    bool ok = true;
    switch (in->op) {
    case RLX_K_DIM: case RLX_K_WANT_DIM: {
        const rlx_kernel_buffer *b = &l->buffers[operand(l, in, 'b')];
        ok = b->kind == RLX_KERNEL_BUFFER_PARAM && operand(l, in, 'n') < b->rank;
        break;
    }
    case RLX_K_VIEW: case RLX_K_VIEW_OUT:
        ok = rlx_kernel_elems[in->elem].bytes == class_bytes((unsigned)in->buffer_class) || in->elem == RLX_ELEM_BOOL;
        break;
    case RLX_K_BROADCAST: ok = in->wide == 1; break;
    case RLX_K_CONTRACT: ok = check_contract(l, in); break;
    case RLX_K_PACK: ok = check_pack(l, in); break;
    case RLX_K_PAR: ok = operand(l, in, 'n') > 0; break;
    case RLX_K_ALLOC: ok = check_alloc(l, in); break;
    case RLX_K_UNPACK: ok = check_unpack(l, in); break;
    case RLX_K_COPY:
        ok = rlx_micro_find(NULL)->copy[l->buffers[operand(l, in, 'B')].elem][in->elem];
        break;
    case RLX_K_ADD_EACH: ok = in->elem == RLX_ELEM_F32; break;
    case RLX_K_COPY_ROWS: ok = l->buffers[operand(l, in, 'B')].elem == in->elem; break;
    case RLX_K_REDUCE:
        ok = operand(l, in, 'n') < RLX_KERNEL_REDUCE_COUNT &&
             rlx_micro_find(NULL)->reduce[operand(l, in, 'n')][in->elem];
        break;
    case RLX_K_PARTIAL: {
        uint32_t value = operand(l, in, 'n') & ~(uint32_t)RLX_KERNEL_PARTIAL_FROM_ZERO;
        ok = value < RLX_KERNEL_VALUE_COUNT && rlx_micro_find(NULL)->partial[RLX_KERNEL_VALUE_ELEMENT][in->elem];
        break;
    }
    case RLX_K_NORMALIZE: ok = operand(l, in, 'n') <= RLX_NORMALIZE_BITS && in->elem == RLX_ELEM_F32; break;
    case RLX_K_MAP: ok = operand(l, in, 'n') < RLX_KERNEL_MAP_COUNT && in->elem == RLX_ELEM_F32; break;
    case RLX_K_ASSERT: ok = operand(l, in, 'n') < RLX_ASSERTION_COUNT; break;
    default: break;
    }
    return ok ? true : bad_operand(l, in);
}

/* What a PAR has written is nobody else's to read. Code is gone through in order, which finds the mistakes of writers; where
 * jumps lead elsewhere, numbers are unspecified. */
static bool check_owner(loading *l, const instruction *in, char letter, uint32_t r)
{
    uint32_t *owner = &l->written_in[r];
    if (rlx_kernel_is_written(letter))
        *owner = in->outermost;
    return !*owner || *owner == in->outermost;
}

static bool check_instruction(loading *l, instruction *in)
{
    const char *operands = rlx_kernel_ops[in->op].operands;
    uint32_t *out = l->code + in->at;
    /* buffers first: the class of v and V comes from them */
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; operands[i]; i++) {
            bool is_buffer = strchr("bBt", operands[i]) != NULL;
            uint32_t w = word(l, in->at + 1 + i);
            if (is_buffer != (round == 0))
                continue;
            if (!check_operand(l, in, operands[i], w))
                return false;
            if (rlx_kernel_is_register(operands[i], w) && !check_owner(l, in, operands[i], w))
                return bad_operand(l, in);
            out[1 + i] = rlx_kernel_is_register(operands[i], w) ? l->offsets[w]
                         : operands[i] == 'm'        ? UINT32_MAX
                                                     : w;
            if (operands[i] == 'j')
                out[1 + i] = w | (uint32_t)word(l, in->at + 2 + i) << 16;
        }
    out[0] = in->op | (in->wide == 1 ? RLX_KERNEL_WIDE : 0) |
             (in->klass > 0 ? (uint32_t)in->klass << RLX_KERNEL_CLASS_SHIFT : 0);
    if (!check_rest(l, in))
        return false;
    if (in->op == RLX_K_VIEW || in->op == RLX_K_VIEW_OUT)
        l->view_epoch[operand(l, in, 'V')] = in->epoch;
    if (in->op == RLX_K_VIEW || in->op == RLX_K_VIEW_OUT)
        l->out_epoch[operand(l, in, 'V')] = in->op == RLX_K_VIEW_OUT ? in->epoch : 0;
    return true;
}

static bool check_code(loading *l)
{
    uint32_t n = l->count[RLX_KERNEL_CODE], epoch = 1, outermost = 0;
    for (uint32_t at = 0; at < n; at += rlx_kernel_op_words(word(l, at))) {
        /* PAR itself stands in front of its body, and what it writes is the body's */
        if (!l->regions[at])
            outermost = word(l, at) == RLX_K_PAR ? at + 1 : 0;
        instruction in = { .op = word(l, at), .at = at, .outermost = outermost,
                           .klass = -1, .wide = -1, .buffer_class = -1, .elem = -1 };
        /* a view ends where control may come from elsewhere and where memory may move */
        epoch += (l->marks[at] & RLX_KERNEL_MARK_TARGET) != 0;
        in.epoch = epoch;
        if (!check_instruction(l, &in))
            return false;
        epoch += is_jump(in.op) || in.op == RLX_K_ALLOC;
    }
    return true;
}

bool rlx_kernel_load(rlx_memory *m, const uint8_t *bytes, size_t len, rlx_kernel **out,
                     rlx_fault *why)
{
    loading l = { .memory = m, .why = why };
    void *work = NULL;
    size_t work_size = 0;
    *out = NULL;
    if (!find_parts(&l, bytes, len) || !allocate(&l, &work, &work_size)) {
        rlx_mem_free(m, work, work_size);
        return false;
    }
    bool ok = place_registers(&l) && load_consts(&l) && load_buffers(&l) && load_params(&l) &&
              mark(&l) && check_code(&l);
    if (ok)
        rlx_kernel_find_chains(&(rlx_kernel_chains){ .words = l.part[RLX_KERNEL_CODE],
                                                     .regs = l.part[RLX_KERNEL_REGS],
                                                     .marks = l.marks,
                                                     .num_words = l.count[RLX_KERNEL_CODE],
                                                     .num_regs = l.count[RLX_KERNEL_REGS],
                                                     .buffers = l.buffers,
                                                     .code = l.code,
                                                     .work = l.chains });
    rlx_mem_free(m, work, work_size);
    if (ok)
        rlx_kernel_find_entry(*out = l.k, l.params, l.sizes);
    else
        rlx_kernel_free(l.k);
    return ok;
}

void rlx_kernel_free(rlx_kernel *k)
{
    if (k)
        rlx_mem_free_aligned(k->memory, k, k->size, 64);
}

int rlx_kernel_num_params(const rlx_kernel *k)
{
    return (int)k->num_params;
}

bool rlx_kernel_param_is_written(const rlx_kernel *k, int32_t param)
{
    if (param < 0 || (uint32_t)param >= k->num_params)
        return false;
    const rlx_kernel_param *p = &k->params[param];
    return p->kind == RLX_KERNEL_PARAM_BUFFER && k->buffers[p->index].written;
}
