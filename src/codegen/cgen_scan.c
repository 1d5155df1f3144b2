/* cgen_scan.c: a kernel's tables, the statements its jumps make, and where its values are used. */
#include "codegen/cgen_int.h"

/* ---- tables --------------------------------------------------------------------------------- */

void rlx_cgen_find_parts(rlx_cgen_kernel *g)
{
    static const uint32_t item[RLX_KERNEL_PARTS] = RLX_KERNEL_PART_ITEM;
    const uint8_t *bytes = (const uint8_t *)g->source->bytes.data;
    size_t at = RLX_KERNEL_HEADER_BYTES;
    for (int p = 0; p < RLX_KERNEL_PARTS; p++) {
        g->count[p] = rlx_get_u32(bytes + 12 + 4 * p);
        g->part[p] = bytes + at;
        at += ((size_t)g->count[p] * item[p] + 7) & ~(size_t)7;
    }
}

/* One item more than there are, so that none is no failure. */
static bool make_tables(rlx_cgen_kernel *g)
{
    const uint32_t *n = g->count;
    g->words = rlx_mem_alloc_zero(g->memory, (n[RLX_KERNEL_CODE] + 1) * sizeof *g->words);
    g->values = rlx_mem_alloc_zero(g->memory, (n[RLX_KERNEL_REGS] + 1) * sizeof *g->values);
    g->hints = rlx_mem_alloc_zero(g->memory, (n[RLX_KERNEL_REGS] + 1) * sizeof *g->hints);
    g->used = rlx_mem_alloc_zero(g->memory, n[RLX_KERNEL_BUFFERS] + 1);
    g->written = rlx_mem_alloc_zero(g->memory, n[RLX_KERNEL_BUFFERS] + 1);
    g->buffers = rlx_mem_alloc_zero(g->memory, (n[RLX_KERNEL_BUFFERS] + 1) * sizeof *g->buffers);
    g->seen = rlx_mem_alloc_zero(g->memory, (n[RLX_KERNEL_REGS] + 1) * sizeof *g->seen);
    g->seen_rows = rlx_mem_alloc_zero(g->memory, (n[RLX_KERNEL_BUFFERS] + 1) * sizeof *g->seen_rows);
    if (!g->words || !g->values || !g->hints || !g->used || !g->written || !g->buffers || !g->seen ||
        !g->seen_rows)
        return false;
    for (size_t i = 0; i < g->source->num_hints; i++)
        if (g->source->hints[i].reg < n[RLX_KERNEL_REGS])
            g->hints[g->source->hints[i].reg] = g->source->hints[i].name;
    return true;
}

void rlx_cgen_close(rlx_cgen_kernel *g)
{
    const uint32_t *n = g->count;
    rlx_mem_free(g->memory, g->words, g->words ? (n[RLX_KERNEL_CODE] + 1) * sizeof *g->words : 0);
    rlx_mem_free(g->memory, g->values,
                 g->values ? (n[RLX_KERNEL_REGS] + 1) * sizeof *g->values : 0);
    rlx_mem_free(g->memory, g->hints, g->hints ? (n[RLX_KERNEL_REGS] + 1) * sizeof *g->hints : 0);
    rlx_mem_free(g->memory, g->used, g->used ? n[RLX_KERNEL_BUFFERS] + 1 : 0);
    rlx_mem_free(g->memory, g->written, g->written ? n[RLX_KERNEL_BUFFERS] + 1 : 0);
    rlx_mem_free(g->memory, g->buffers,
                 g->buffers ? (n[RLX_KERNEL_BUFFERS] + 1) * sizeof *g->buffers : 0);
    rlx_mem_free(g->memory, g->seen, g->seen ? (n[RLX_KERNEL_REGS] + 1) * sizeof *g->seen : 0);
    rlx_mem_free(g->memory, g->seen_rows,
                 g->seen_rows ? (n[RLX_KERNEL_BUFFERS] + 1) * sizeof *g->seen_rows : 0);
    rlx_vec_free(g->memory, &g->captured);
    rlx_vec_free(g->memory, &g->touched);
    rlx_vec_free(g->memory, &g->renamed);
    for (size_t i = 0; i < g->regions.len; i++)
        if (g->regions.data[i].kind == C_PART)
            rlx_buf_free(&g->regions.data[i].around);
    rlx_buf_free(&g->text);
    rlx_buf_free(&g->pool);
    rlx_buf_free(&g->line);
    rlx_map_free(&g->names);
    rlx_vec_free(g->memory, &g->regions);
    rlx_vec_free(g->memory, &g->declared);
    rlx_vec_free(g->memory, &g->pending);
}

/*- ---- jumps ---------------------------------------------------------------------------------
 *
 *   LOOP ... NEXT, STRIP ... NEXT_STRIP    loops
 *   PAR ... ENDPAR                         a function, which gets a range of the loop
 *   JUMP_IF_NOT or JUMP_IF_EMPTY, ahead    an if around the instructions that are skipped
 *   JUMP back                              a while around those between; a JUMP_IF_NOT to behind
 *                                          it leaves it
 */

uint32_t rlx_cgen_jump_target(const rlx_cgen_kernel *g, uint32_t at)
{
    const char *operands = rlx_kernel_ops[c_word_at(g, at)].operands, *j = strchr(operands, 'j');
    uint32_t p = at + 1 + (uint32_t)(j - operands);
    return at + ((uint32_t)c_word_at(g, p) | (uint32_t)c_word_at(g, p + 1) << 16);
}

bool rlx_cgen_push(rlx_cgen_kernel *g, enum rlx_cgen_region_kind kind, uint32_t end)
{
    rlx_cgen_region r = {
        .kind = kind, .end = end, .number = ++g->num_regions, .names = (uint32_t)g->declared.len
    };
    rlx_buf_init(&r.around, g->memory);
    return rlx_vec_push(g->memory, &g->regions, r);
}

bool rlx_cgen_leaves_while(rlx_cgen_kernel *g, uint32_t target)
{
    return rlx_cgen_top(g)->kind == C_WHILE && rlx_cgen_top(g)->end == target;
}

bool rlx_cgen_enter(rlx_cgen_kernel *g, uint32_t at,
                    void (*closed)(rlx_cgen_kernel *g, const rlx_cgen_region *r),
                    void (*begun)(rlx_cgen_kernel *g))
{
    while (rlx_cgen_top(g)->end == at) {
        if (closed)
            closed(g, rlx_cgen_top(g));
        (void)rlx_vec_pop(&g->regions);
    }
    if (!g->words[at].while_end)
        return true;
    if (begun)
        begun(g);
    return rlx_cgen_push(g, C_WHILE, g->words[at].while_end);
}

/* Opens or ends the regions that the instruction opens or ends. */
static bool follow(rlx_cgen_kernel *g, uint32_t at, uint32_t op)
{
    switch (op) {
    case RLX_K_LOOP: return rlx_cgen_push(g, C_LOOP, UINT32_MAX);
    case RLX_K_STRIP: return rlx_cgen_push(g, C_STRIP, UINT32_MAX);
    case RLX_K_PAR: return rlx_cgen_push(g, C_PART, UINT32_MAX);
    case RLX_K_NEXT: case RLX_K_NEXT_STRIP: case RLX_K_ENDPAR: (void)rlx_vec_pop(&g->regions); return true;
    case RLX_K_JUMP_IF_EMPTY: return rlx_cgen_push(g, C_IF, rlx_cgen_jump_target(g, at));
    case RLX_K_JUMP_IF_NOT:
        return rlx_cgen_leaves_while(g, rlx_cgen_jump_target(g, at)) ||
               rlx_cgen_push(g, C_IF, rlx_cgen_jump_target(g, at));
    default: return true;
    }
}

/* ---- uses ----------------------------------------------------------------------------------- */

static void note_operands(rlx_cgen_kernel *g, uint32_t at, uint32_t op, uint32_t *made_at)
{
    g->each |= op == RLX_K_STORE_EACH || op == RLX_K_ADD_EACH;
    const char *letters = rlx_kernel_ops[op].operands;
    for (uint32_t i = 0; letters[i]; i++) {
        uint32_t w = c_word_at(g, at + 1 + i);
        if (strchr("bBt", letters[i])) {
            g->used[w] = true;
            g->written[w] |= letters[i] != 'b';
        } else if (strchr("ilfdvxsrc", letters[i]) ||
                   (letters[i] == 'm' && w != RLX_KERNEL_NONE)) {
            rlx_cgen_word *made = &g->words[made_at[w]];
            made->uses++;
            made->used_in = rlx_cgen_top(g)->number;
        }
    }
}

static void note_result(rlx_cgen_kernel *g, uint32_t at, uint32_t op, uint32_t *made_at)
{
    const char *letters = rlx_kernel_ops[op].operands;
    bool makes =
        letters[0] && strchr("ILFDVXw", letters[0]) && op != RLX_K_NEXT && op != RLX_K_NEXT_STRIP;
    uint32_t r = makes ? c_word_at(g, at + 1) : 0;
    if (!makes || ((rlx_cgen_reg_byte(g, r) & RLX_KERNEL_VIEW_REG) && op >= RLX_K_FIRST_VALUE))
        return;
    made_at[r] = at;
    g->words[at].region = rlx_cgen_top(g)->number;
    if (op == RLX_K_LOOP)
        made_at[c_word_at(g, at + 4)] = at;
    if (op == RLX_K_PAR)
        made_at[c_word_at(g, at + 2)] = at;
}

static bool scan(rlx_cgen_kernel *g, uint32_t *made_at)
{
    uint32_t n = g->count[RLX_KERNEL_CODE];
    for (uint32_t at = 0; at < n; at += rlx_kernel_op_words(c_word_at(g, at)))
        if (c_word_at(g, at) == RLX_K_JUMP && rlx_cgen_jump_target(g, at) <= at)
            g->words[rlx_cgen_jump_target(g, at)].while_end = at + rlx_kernel_op_words(RLX_K_JUMP);
    bool ok = rlx_cgen_push(g, C_FUNCTION, UINT32_MAX);
    for (uint32_t at = 0; at < n && ok; at += rlx_kernel_op_words(c_word_at(g, at))) {
        uint32_t op = c_word_at(g, at);
        ok = rlx_cgen_enter(g, at, NULL, NULL);
        note_operands(g, at, op, made_at);
        ok = ok && follow(g, at, op);
        note_result(g, at, op, made_at);
    }
    g->regions.len = 0;
    g->num_regions = 0;
    return ok;
}

bool rlx_cgen_open(rlx_cgen_kernel *g)
{
    rlx_buf_init(&g->pool, g->memory);
    rlx_buf_init(&g->line, g->memory);
    rlx_buf_init(&g->text, g->memory);
    rlx_map_init(&g->names, g->memory);
    rlx_cgen_find_parts(g);
    if (!make_tables(g))
        return false;
    size_t bytes = (g->count[RLX_KERNEL_REGS] + 1) * sizeof(uint32_t);
    uint32_t *made_at = rlx_mem_alloc(g->memory, bytes);
    for (size_t i = 0; made_at && i <= g->count[RLX_KERNEL_REGS]; i++)
        made_at[i] = g->count[RLX_KERNEL_CODE]; /* parameters and constants: nowhere */
    bool ok = made_at && scan(g, made_at);
    rlx_mem_free(g->memory, made_at, made_at ? bytes : 0);
    return ok;
}
