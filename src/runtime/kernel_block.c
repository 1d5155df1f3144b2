/* kernel_block.c: instructions that work on a block of memory: copy, pack, unpack, contract, reduce, map. Each
 * operand is a box in a buffer, whose corners are checked here; the rest is done by micro-kernels. */
#include "format/kernel_math.h"
#include "runtime/kernel_int.h"

/* Work is done in pieces, so that a long instruction can be stopped: multiply-adds, elements. */
#define PIECE ((int64_t)1 << 21)
#define COPY_PIECE ((int64_t)1 << 16)

/* ---- boxes ---------------------------------------------------------------------------------- */

/* With extents and strides of any size. Out: the least and greatest offset of a box, or false where they overflow. */
static bool corners(const int64_t *strides, const int64_t *extents, int n, int64_t *low, int64_t *high)
{
    for (int i = 0; i < n; i++) {
        int64_t way;
        if (RLX_MUL_OVERFLOWS(extents[i] - 1, strides[i], &way) ||
            RLX_ADD_OVERFLOWS(way < 0 ? *low : *high, way, way < 0 ? low : high))
            return false;
    }
    return true;
}

/* A box lies in its buffer, of which it has element `off`. Extents are at least 1. */
bool rlx_kernel_box_in_range(rlx_kernel_run *r, int64_t b, int64_t off, const int64_t *strides,
                             const int64_t *extents, int n)
{
    int64_t low = off, high = off, count = r->views[b].count;
    uint64_t large = 0;
    for (int i = 0; i < n; i++)
        large |= (uint64_t)extents[i] >> 29 | ((uint64_t)strides[i] + ((uint64_t)1 << 30)) >> 31;
    if (RLX_UNLIKELY(off < 0 || off >= count))
        return rlx_kernel_out_of_buffer(r, (uint32_t)b, off);
    if (RLX_UNLIKELY(large) && !corners(strides, extents, n, &low, &high))
        return rlx_kernel_out_of_buffer(r, (uint32_t)b, off);
    for (int i = 0; i < n && !large; i++) {
        int64_t way = (extents[i] - 1) * strides[i]; /* below 2^60 */
        low += way < 0 ? way : 0;
        high += way < 0 ? 0 : way;
    }
    return RLX_LIKELY(low >= 0 && high < count)
               ? true
               : rlx_kernel_out_of_buffer(r, (uint32_t)b, low < 0 ? low : high);
}

static enum rlx_kernel_elem elem_of(const rlx_kernel_run *r, int64_t b)
{
    return (enum rlx_kernel_elem)r->k->buffers[b].elem;
}

/* Elements of a box, or INT64_MAX if they cannot be counted. */
static int64_t volume(const int64_t *extents, int n)
{
    int64_t all = 1;
    for (int i = 0; i < n; i++)
        if (!rlx_mul_i64(all, extents[i], &all))
            return INT64_MAX;
    return all;
}

/* Extents of the pieces of a box, of at most `size` elements: full ones from the inside. */
static void cut(const int64_t *extents, int n, int64_t size, int64_t *piece)
{
    while (n-- > 0) {
        piece[n] = extents[n] < size ? extents[n] : size;
        size /= piece[n];
    }
}

/* The next piece, in the order of memory. False: there is none. */
static bool advance(int64_t *at, const int64_t *piece, const int64_t *extents, int n)
{
    while (n-- > 0) {
        at[n] += piece[n];
        if (at[n] < extents[n])
            return true;
        at[n] = 0;
    }
    return false;
}

static void *at(const void *base, int64_t elements, size_t bytes)
{
    return (char *)(uintptr_t)base + elements * (int64_t)bytes;
}

/* The functions for elements of two buffers: dst, src. */
static bool are_words(enum rlx_kernel_elem d, enum rlx_kernel_elem s)
{
    return d == s && rlx_kernel_elems[d].bytes == 4;
}

static rlx_micro_copy_fn *copy_fn(const rlx_kernel_run *r, enum rlx_kernel_elem d, enum rlx_kernel_elem s)
{
    return are_words(d, s) && r->micro->copy_words ? r->micro->copy_words : r->micro->copy[d][s];
}

static rlx_micro_pack_fn *pack_fn(const rlx_kernel_run *r, enum rlx_kernel_elem d, enum rlx_kernel_elem s, bool fours)
{
    if (fours)
        return r->micro->pack_fours;
    return are_words(d, s) && r->micro->pack_words ? r->micro->pack_words : r->micro->pack[d][s];
}

/* ---- copies --------------------------------------------------------------------------------- */

static bool copy_in_pieces(rlx_kernel_run *r, rlx_micro_copy_fn *f, const rlx_micro_box *whole,
                           size_t dst_bytes, size_t src_bytes)
{
    /* A few long rows may come from elements side by side, as the channels of a picture do: these are read at a time. */
    int64_t piece[4], i[4] = { 0 }, few = whole->extent[2] <= 16 ? whole->extent[2] : 1;
    cut(whole->extent, 4, COPY_PIECE / few, piece);
    piece[2] = piece[2] < few ? few : piece[2];
    do {
        rlx_micro_box part = *whole;
        for (int d = 0; d < 4; d++) {
            int64_t left = whole->extent[d] - i[d];
            part.extent[d] = left < piece[d] ? left : piece[d];
            part.dst = at(part.dst, i[d] * whole->dst_stride[d], dst_bytes);
            part.src = at(part.src, i[d] * whole->src_stride[d], src_bytes);
        }
        f(&part);
        if (!rlx_kernel_spend(r, (volume(part.extent, 4) >> 6) + 1))
            return false;
    } while (advance(i, piece, whole->extent, 4));
    return true;
}

/* Buffer and offset of both sides, extents, strides written, strides read. */
static bool run_copy(rlx_kernel_run *r, int64_t *x)
{
    int64_t *extent = x + 4, *to = x + 8, *from = x + 12;
    if (rlx_kernel_any_empty(extent, 4))
        return true;
    rlx_kernel_drop_unused(extent, to, 4);
    rlx_kernel_drop_unused(extent, from, 4);
    if (!rlx_kernel_box_in_range(r, x[0], x[1], to, extent, 4) ||
        !rlx_kernel_box_in_range(r, x[2], x[3], from, extent, 4))
        return false;
    rlx_micro_box box = { .dst = rlx_kernel_element(r, x[0], x[1]), .src = rlx_kernel_element(r, x[2], x[3]) };
    memcpy(box.extent, extent, sizeof box.extent);
    memcpy(box.dst_stride, to, sizeof box.dst_stride);
    memcpy(box.src_stride, from, sizeof box.src_stride);
    /* An operand that is its output's memory is there already. */
    if (box.dst == box.src && !memcmp(to, from, sizeof box.dst_stride) && elem_of(r, x[0]) == elem_of(r, x[2]))
        return true;
    return copy_in_pieces(r, copy_fn(r, elem_of(r, x[0]), elem_of(r, x[2])), &box, r->k->buffers[x[0]].bytes, r->k->buffers[x[2]].bytes);
}

/* Takes whole digits out of where the lanes begin, and the low one where they have one high digit;
 * *off moves along. */
static bool normalize_start(rlx_micro_pack *p, int64_t *off)
{
    int64_t rest = p->start % p->width, whole = p->start / p->width - (rest < 0), way;
    p->start = rest < 0 ? rest + p->width : rest;
    if (RLX_MUL_OVERFLOWS(whole, p->lane_stride[0], &way) || RLX_ADD_OVERFLOWS(*off, way, off))
        return false;
    if (p->width - p->start < p->lanes)
        return true;
    if (RLX_MUL_OVERFLOWS(p->start, p->lane_stride[1], &way) || RLX_ADD_OVERFLOWS(*off, way, off))
        return false;
    p->start = 0;
    p->width = p->lanes;
    return true;
}

/* What a pack reads, as a box of high digit, low digit and depth: where lanes of two high digits
 * are read, the low one may be any. */
static bool pack_in_range(rlx_kernel_run *r, int64_t b, int64_t off, rlx_micro_pack *p)
{
    int64_t end, extents[5], strides[5];
    if (RLX_ADD_OVERFLOWS(p->start, p->lanes - 1, &end))
        return rlx_kernel_out_of_buffer(r, (uint32_t)b, off);
    extents[0] = end / p->width + 1;
    extents[1] = p->width;
    memcpy(extents + 2, p->depth, sizeof p->depth);
    memcpy(strides, p->lane_stride, sizeof p->lane_stride);
    memcpy(strides + 2, p->depth_stride, sizeof p->depth_stride);
    rlx_kernel_drop_unused(p->depth, p->depth_stride, 3);
    return rlx_kernel_box_in_range(r, b, off, strides, extents, 5);
}

static int64_t fours_in(int64_t steps) { return (steps - 1) / RLX_PANEL_FOURS + 1; }

/* One panel after the other, each in pieces of its depth; of fours whole ones. */
static bool pack_in_pieces(rlx_kernel_run *r, rlx_micro_pack_fn *f, const rlx_micro_pack *whole, bool fours,
                           size_t dst_bytes, size_t src_bytes)
{
    int64_t piece[3], i[3] = { 0 }, first = 0, together = fours ? RLX_PANEL_FOURS : 1,
            depth[3] = { fours ? fours_in(whole->depth[0]) : whole->depth[0], whole->depth[1], whole->depth[2] };
    cut(depth, 3, COPY_PIECE / (whole->panel * together), piece);
    do {
        rlx_micro_pack part = *whole;
        int64_t step = 0, left = whole->lanes - first;
        part.start += first;
        part.lanes = left < whole->panel ? left : whole->panel;
        for (int d = 0; d < 3; d++) {
            int64_t unit = d == 0 ? together : 1, rest = whole->depth[d] - i[d] * unit;
            part.depth[d] = rest < piece[d] * unit ? rest : piece[d] * unit;
            part.src = part.src ? at(part.src, i[d] * unit * whole->depth_stride[d], src_bytes) : NULL;
            step = step * depth[d] + i[d];
        }
        step += first / whole->panel * volume(depth, 3);
        part.dst = at(part.dst, step * whole->panel * together, dst_bytes);
        f(&part);
        if (!rlx_kernel_spend(r, (volume(part.depth, 3) * whole->panel >> 6) + 1))
            return false;
        first += advance(i, piece, depth, 3) ? 0 : whole->panel;
    } while (first < whole->lanes || i[0] || i[1] || i[2]);
    return true;
}

/* Lanes of a panel; buffer and offset of both sides; lanes, start, width, high, low; extents and
 * strides of depth. */
static bool run_pack(rlx_kernel_run *r, const int64_t *x)
{
    int64_t off = x[4];
    bool fours = x[0] & RLX_KERNEL_FOURS;
    rlx_micro_pack p = { .panel = (int32_t)x[0] & ~RLX_KERNEL_FOURS,
                         .lanes = x[5],
                         .start = x[6],
                         .width = x[7],
                         .lane_stride = { x[8], x[9] },
                         .depth = { x[10], x[11], x[12] },
                         .depth_stride = { x[13], x[14], x[15] } };
    if (rlx_kernel_any_empty(p.depth, 3))
        return true;
    if (p.lanes <= 0)
        p.lanes = p.start = off = 0, p.width = 1;
    if (!p.width)
        return rlx_kernel_troubled(r, RLX_TROUBLE_DIVISION);
    if (p.width < 0 || p.lanes > INT64_MAX - p.panel || (p.lanes && !normalize_start(&p, &off)))
        return rlx_kernel_out_of_buffer(r, (uint32_t)x[3], off);
    int64_t lanes = p.lanes ? (p.lanes + p.panel - 1) / p.panel * p.panel : p.panel,
            written[4] = { fours ? fours_in(p.depth[0]) : p.depth[0], p.depth[1], p.depth[2], fours ? RLX_PANEL_FOURS : 1 },
            whole[2] = { volume(written, 4), lanes }, strides[2] = { lanes, 1 };
    if (!rlx_kernel_box_in_range(r, x[1], x[2], strides, whole, 2) ||
        (p.lanes && !pack_in_range(r, x[3], off, &p)))
        return false;
    p.dst = rlx_kernel_element(r, x[1], x[2]);
    p.src = p.lanes ? rlx_kernel_element(r, x[3], off) : NULL;
    return pack_in_pieces(r, pack_fn(r, elem_of(r, x[1]), elem_of(r, x[3]), fours), &p, fours,
                          r->k->buffers[x[1]].bytes, r->k->buffers[x[3]].bytes);
}

/* ---- fields of bits ------------------------------------------------------------------------- */

static bool unpack_in_pieces(rlx_kernel_run *r, const rlx_micro_unpack *whole, size_t word_bytes)
{
    int64_t extents[3] = { whole->extent[0], whole->extent[1], whole->extent[3] }, piece[3],
            i[3] = { 0 };
    cut(extents, 3, COPY_PIECE / whole->extent[2], piece);
    do {
        rlx_micro_unpack part = *whole;
        for (int d = 0; d < 3; d++) {
            int64_t left = extents[d] - i[d];
            part.extent[d < 2 ? d : 3] = left < piece[d] ? left : piece[d];
        }
        part.dst += i[0] * whole->dst_stride[0] + i[1] * whole->dst_stride[1] + i[2];
        part.words = at(part.words,
                        i[0] * whole->word_stride[0] + i[1] * whole->word_stride[1] + i[2],
                        word_bytes);
        part.scales += i[0] * whole->scale_stride + i[2];
        rlx_micro_unpack_fields(&part);
        if (!rlx_kernel_spend(r, (volume(part.extent, 4) >> 6) + 1))
            return false;
    } while (advance(i, piece, extents, 3));
    return true;
}

/* Bits; buffer and offset of floats, words, scales; zero; extents; strides. */
static bool run_unpack(rlx_kernel_run *r, const int64_t *x)
{
    const int64_t *extent = x + 8;
    int64_t to[4] = { x[12], x[13], x[14], 1 }, from[4] = { x[15], x[16], 0, 1 },
            scales[4] = { x[17], 0, 0, 1 };
    const rlx_kernel_buffer *words = &r->k->buffers[x[3]];
    if (rlx_kernel_any_empty(extent, 4))
        return true;
    if (extent[2] > words->bytes * 8 / x[0])
        return rlx_kernel_out_of_buffer(r, (uint32_t)x[3], x[4]);
    rlx_kernel_drop_unused(extent, to, 4);
    rlx_kernel_drop_unused(extent, from, 4);
    rlx_kernel_drop_unused(extent, scales, 4);
    if (!rlx_kernel_box_in_range(r, x[1], x[2], to, extent, 4) || !rlx_kernel_box_in_range(r, x[3], x[4], from, extent, 4) ||
        !rlx_kernel_box_in_range(r, x[5], x[6], scales, extent, 4))
        return false;
    rlx_micro_unpack u = {
        .dst = rlx_kernel_element(r, x[1], x[2]),
        .words = rlx_kernel_element(r, x[3], x[4]),
        .scales = rlx_kernel_element(r, x[5], x[6]),
        .dst_stride = { to[0], to[1], to[2] },
        .word_stride = { from[0], from[1] },
        .scale_stride = scales[0],
        .elem = (enum rlx_kernel_elem)words->elem,
        .bits = (int32_t)x[0],
        .mask = words->elem == RLX_ELEM_I8 && x[0] == 8 ? UINT32_MAX : (1u << x[0]) - 1,
        .zero = (float)x[7]
    };
    memcpy(u.extent, extent, sizeof u.extent);
    return unpack_in_pieces(r, &u, words->bytes);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Loops of a sum, in the order of extents and strides. */
enum { GROUP, ROW, COLUMN, TURN, STEP, LOOPS };

/* A sum in all of its loops: what micro-kernels do is one group of it. */
typedef struct sum {
    rlx_micro_sum one;
    int64_t acc_g, a_g, b_g, extents[LOOPS];
    rlx_micro_sum_fn *f;
    rlx_micro_groups_fn *groups;     /* of all groups at once; NULL: each group alone */
    size_t bytes, read_bytes;        /* of an element of acc; of a and b */
} sum;

static void move(const sum *s, rlx_micro_sum *part, const int64_t *i)
{
    const rlx_micro_sum *w = &s->one;
    int64_t acc = i[GROUP] * s->acc_g + i[ROW] * w->acc_i + i[COLUMN] * w->acc_j,
            a = i[GROUP] * s->a_g + i[ROW] * w->a_i + i[COLUMN] * w->a_j + i[TURN] * w->a_t +
                i[STEP] * w->a_k;
    part->acc = at(w->acc, acc, s->bytes);
    part->a = at(w->a, a, s->read_bytes);
    if (w->b) {
        int64_t b = i[GROUP] * s->b_g + i[ROW] * w->b_i + i[COLUMN] * w->b_j + i[TURN] * w->b_t +
                    i[STEP] * w->b_k;
        part->b = at(w->b, b, s->read_bytes);
    }
}

/* Columns that are done for all groups before the next ones, where groups share b: so many that b stays near. */
enum { NEAR = 1 << 12 }; /* elements */
static int64_t columns_at_a_time(const sum *s, const int64_t *count)
{
    int64_t steps = count[TURN] * count[STEP];
    return !s->one.b || s->b_g || count[GROUP] == 1 ? count[COLUMN]
           : steps < NEAR / (2 * RLX_PANEL_COLUMNS) ? NEAR / steps & -RLX_PANEL_COLUMNS
                                                     : RLX_PANEL_COLUMNS;
}

/* Groups that read one panel, which comes from afar, each ask for a share of what lies behind it: the next panel, mostly. */
enum { FAR_STEPS = 1024 };
static void ask_for_share(const sum *s, rlx_micro_sum *part, int64_t group)
{
    const int64_t groups = s->extents[GROUP], steps = part->turns * part->depth, step = part->b_k * (int64_t)s->read_bytes;
    if (!part->b || s->b_g || groups == 1 || part->b_k != RLX_PANEL_COLUMNS || steps < FAR_STEPS || part->b_t != part->depth * part->b_k)
        return;
    part->soon = (uintptr_t)part->b + (uintptr_t)(steps * step + steps * step / groups * group);
    part->soon_step = step / groups;
}

/* `count` from `begin` on, group by group, and turn by turn where f must. */
static void sum_part(const sum *s, const int64_t *begin, const int64_t *count)
{
    int64_t i[LOOPS], columns = columns_at_a_time(s, count);
    rlx_micro_sum part = s->one;
    memcpy(i, begin, sizeof i);
    part.rows = count[ROW], part.depth = count[STEP], part.turns = count[TURN];
    part.fresh &= begin[TURN] == 0 && begin[STEP] == 0;
    if (s->groups && (count[GROUP] > 1 || (s->one.a_j && s->one.b_j))) {
        rlx_micro_groups groups = { count[GROUP], s->acc_g, s->a_g, s->b_g };
        move(s, &part, i);
        part.columns = count[COLUMN];
        if (s->groups(&part, &groups))
            return;
    }
    for (int64_t j = 0; j < count[COLUMN]; j += columns)
        for (int64_t g = 0; g < count[GROUP]; g++) {
            i[COLUMN] = begin[COLUMN] + j;
            i[GROUP] = begin[GROUP] + g;
            part.columns = count[COLUMN] - j < columns ? count[COLUMN] - j : columns;
            move(s, &part, i);
            ask_for_share(s, &part, i[GROUP]);
            s->f(&part);
        }
}

/* Extents of the pieces: as many rows as are computed side by side, then steps and columns in whole panels; of few rows whole
 * columns first, whose memory is best read in long runs. */
enum { ROWS_BESIDE = 24, FEW_ROWS = 4, STEPS_BESIDE = 768 };
RLX_SMALL static void cut_sum(const sum *s, int64_t most_products, int64_t *piece)
{
    static const int steps_first[] = { STEP, COLUMN, TURN }, columns_first[] = { COLUMN, STEP, TURN };
    const int64_t *extents = s->extents;
    const bool few = !s->one.b || (extents[ROW] <= FEW_ROWS && (s->b_g || extents[GROUP] == 1));
    int64_t size = most_products / ROWS_BESIDE & -RLX_PANEL_COLUMNS;
    for (int i = 0; i < 3; i++) {
        int loop = (few ? columns_first : steps_first)[i];
        int64_t most = few || loop != STEP ? size : STEPS_BESIDE;
        if (loop == COLUMN && most > RLX_PANEL_COLUMNS)
            most &= -RLX_PANEL_COLUMNS;
        piece[loop] = extents[loop] < most ? extents[loop] : most;
        size = size > piece[loop] ? size / piece[loop] : 1;
    }
    size = size > 1 ? size * ROWS_BESIDE : ROWS_BESIDE;
    piece[ROW] = extents[ROW] < size ? extents[ROW] : size;
    size /= piece[ROW];
    piece[GROUP] = size < 1 ? 1 : extents[GROUP] < size ? extents[GROUP] : size;
}

/* Pieces of t and k come after each other, which keeps each sum's order. */
static bool sum_in_pieces(rlx_kernel_run *r, const sum *s)
{
    const int64_t most = PIECE << 3 * s->one.b_fours;
    int64_t piece[LOOPS], begin[LOOPS] = { 0 }, count[LOOPS], all = volume(s->extents, LOOPS);
    if (RLX_LIKELY(all <= most)) {
        sum_part(s, begin, s->extents);
        return rlx_kernel_spend(r, all >> 8);
    }
    cut_sum(s, most, piece);
    do {
        for (int i = 0; i < LOOPS; i++)
            count[i] = s->extents[i] - begin[i] < piece[i] ? s->extents[i] - begin[i] : piece[i];
        sum_part(s, begin, count);
        if (!rlx_kernel_spend(r, volume(count, LOOPS) >> 8))
            return false;
    } while (advance(begin, piece, s->extents, LOOPS));
    return true;
}

/* May words of b be read in whole panels of columns? */
static bool has_whole_panels(const rlx_kernel_run *r, const int64_t *b, const int64_t *extents)
{
    int64_t whole[LOOPS], low = b[1], high = b[1];
    memcpy(whole, extents, sizeof whole);
    if (b[2 + COLUMN] != RLX_PANEL_FOURS || whole[COLUMN] > INT64_MAX - RLX_PANEL_COLUMNS)
        return false;
    whole[COLUMN] = (whole[COLUMN] + RLX_PANEL_COLUMNS - 1) & -RLX_PANEL_COLUMNS;
    return corners(b + 2, whole, LOOPS, &low, &high) && low >= 0 && high < r->views[b[0]].count;
}

/* What; buffer, offset and strides of acc, a and (contract) b; extents. */
static bool run_sum(rlx_kernel_run *r, int64_t *x, bool contract)
{
    int64_t *acc = x + 1, *a = x + 6, *b = contract ? x + 13 : NULL,
            *extents = contract ? x + 20 : x + 13;
    if (rlx_kernel_any_empty(extents, LOOPS))
        return true;
    enum rlx_kernel_elem e = elem_of(r, acc[0]), of_a = elem_of(r, a[0]);
    bool bytes = b && rlx_kernel_is_byte(of_a), fours = bytes && has_whole_panels(r, b, extents);
    rlx_kernel_drop_unused(extents, acc + 2, TURN);
    rlx_kernel_drop_unused(extents, a + 2, LOOPS);
    if (b)
        rlx_kernel_drop_unused(extents, b + 2, LOOPS);
    if (!rlx_kernel_box_in_range(r, acc[0], acc[1], acc + 2, extents, TURN) ||
        !rlx_kernel_box_in_range(r, a[0], a[1], a + 2, extents, LOOPS) ||
        (b && !rlx_kernel_box_in_range(r, b[0], b[1], b + 2, extents, LOOPS)))
        return false;
    sum s = { .one = { .acc = rlx_kernel_element(r, acc[0], acc[1]), .acc_i = acc[3], .acc_j = acc[4],
                       .a = rlx_kernel_element(r, a[0], a[1]),
                       .a_i = a[3], .a_j = a[4], .a_t = a[5], .a_k = a[6] },
              .acc_g = acc[2], .a_g = a[2],
              .f = bytes ? r->micro->dot
                   : b   ? r->micro->contract[x[0] & RLX_KERNEL_EXACT][e]
                         : r->micro->reduce[x[0]][e],
              .bytes = r->k->buffers[acc[0]].bytes,
              .read_bytes = r->k->buffers[a[0]].bytes };
    if (b) {
        s.one.b = rlx_kernel_element(r, b[0], b[1]);
        s.b_g = b[2], s.one.b_i = b[3], s.one.b_j = b[4], s.one.b_t = b[5], s.one.b_k = b[6];
        s.one.fresh = x[0] & RLX_KERNEL_FROM_ZERO;
        s.one.a_signed = of_a == RLX_ELEM_I8, s.one.b_signed = elem_of(r, b[0]) == RLX_ELEM_I8;
        s.one.b_fours = fours;
        s.groups = bytes ? r->micro->dot_groups
                   : x[0] & RLX_KERNEL_EXACT && e == RLX_ELEM_F32 ? r->micro->groups : NULL;
    }
    memcpy(s.extents, extents, sizeof s.extents);
    return sum_in_pieces(r, &s);
}

/* ---- sums in partial sums ------------------------------------------------------------------- */

/* A long sum: few columns at a time, each piece of it goes on with the partial sums of the one before. */
RLX_SMALL static bool partial_in_parts(rlx_kernel_run *r, rlx_micro_partial_fn *f, const rlx_micro_partial *whole, size_t bytes)
{
    double sums[RLX_PARTIAL_SUMS * 8];
    int64_t columns = whole->a_k == 1 ? 1 : (int64_t)(sizeof sums / RLX_PARTIAL_SUMS / bytes),
            depth = PIECE / columns < whole->depth ? PIECE / columns : whole->depth,
            turns = PIECE / columns / depth;
    for (int64_t i = 0; i < whole->rows; i++)
        for (int64_t j = 0; j < whole->columns; j += columns) {
            memset(sums, 0, sizeof sums);
            for (int64_t t = 0; t < whole->turns; t += turns)
                for (int64_t k = 0; k < whole->depth; k += depth) {
                    rlx_micro_partial part = *whole;
                    part.partial = sums;
                    part.rows = 1;
                    part.columns = whole->columns - j < columns ? whole->columns - j : columns;
                    part.turns = whole->turns - t < turns ? whole->turns - t : turns;
                    part.depth = whole->depth - k < depth ? whole->depth - k : depth;
                    part.ends = t + part.turns == whole->turns && k + part.depth == whole->depth;
                    part.acc = at(whole->acc, i * whole->acc_i + j * whole->acc_j, bytes);
                    part.a = at(whole->a, i * whole->a_i + j * whole->a_j + t * whole->a_t + k * whole->a_k, bytes);
                    part.b = at(whole->b, i * whole->b_i + j * whole->b_j + t * whole->b_t + k * whole->b_k, bytes);
                    f(&part);
                    if (!rlx_kernel_spend(r, (part.columns * part.turns * part.depth >> 8) + 1))
                        return false;
                }
        }
    return true;
}

/* Rows and columns in pieces. */
static bool partial_in_pieces(rlx_kernel_run *r, rlx_micro_partial_fn *f, const rlx_micro_partial *whole, size_t bytes)
{
    int64_t steps, columns, rows;
    if (!rlx_mul_i64(whole->turns, whole->depth, &steps) || steps > PIECE)
        return partial_in_parts(r, f, whole, bytes);
    columns = PIECE / steps < whole->columns ? PIECE / steps : whole->columns;
    rows = PIECE / (steps * columns);
    for (int64_t i = 0; i < whole->rows; i += rows)
        for (int64_t j = 0; j < whole->columns; j += columns) {
            rlx_micro_partial part = *whole;
            part.rows = whole->rows - i < rows ? whole->rows - i : rows;
            part.columns = whole->columns - j < columns ? whole->columns - j : columns;
            part.acc = at(whole->acc, i * whole->acc_i + j * whole->acc_j, bytes);
            part.a = at(whole->a, i * whole->a_i + j * whole->a_j, bytes);
            part.b = at(whole->b, i * whole->b_i + j * whole->b_j, bytes);
            f(&part);
            if (!rlx_kernel_spend(r, part.rows * part.columns * steps >> 8))
                return false;
        }
    return true;
}

static void clear(void *acc, const int64_t *extents, const int64_t *strides, size_t bytes)
{
    for (int64_t i = 0; i < extents[ROW]; i++) {
        char *row = at(acc, i * strides[ROW], bytes);
        for (int64_t j = 0; j < extents[COLUMN] && strides[COLUMN] != 1; j++)
            memset(at(row, j * strides[COLUMN], bytes), 0, bytes);
        if (strides[COLUMN] == 1)
            memset(row, 0, (size_t)extents[COLUMN] * bytes);
    }
}

/* Operands are those of CONTRACT. */
static bool run_partial(rlx_kernel_run *r, int64_t *x)
{
    static const double zero = 0;
    int64_t *acc = x + 1, *a = x + 6, *b = x + 13, *extents = x + 20,
            value = x[0] & ~(int64_t)RLX_KERNEL_PARTIAL_FROM_ZERO;
    if (rlx_kernel_any_empty(extents, LOOPS))
        return true;
    rlx_kernel_drop_unused(extents, acc + 2, TURN);
    rlx_kernel_drop_unused(extents, a + 2, LOOPS);
    rlx_kernel_drop_unused(extents, b + 2, LOOPS);
    if (!rlx_kernel_box_in_range(r, acc[0], acc[1], acc + 2, extents, TURN) ||
        !rlx_kernel_box_in_range(r, a[0], a[1], a + 2, extents, LOOPS) ||
        !rlx_kernel_box_in_range(r, b[0], b[1], b + 2, extents, LOOPS))
        return false;
    bool own = value == RLX_KERNEL_VALUE_OWN_SQUARE; /* that of the distance from 0 */
    rlx_micro_partial_fn *f = r->micro->partial[own ? RLX_KERNEL_VALUE_SQUARE : value][elem_of(r, acc[0])];
    if (own)
        memset(b + 2, 0, LOOPS * sizeof *b);
    size_t bytes = r->k->buffers[acc[0]].bytes;
    for (int64_t g = 0; g < extents[GROUP]; g++) {
        rlx_micro_partial s = { .acc = at(rlx_kernel_element(r, acc[0], acc[1]), g * acc[2], bytes),
                                .acc_i = acc[3], .acc_j = acc[4],
                                .a = at(rlx_kernel_element(r, a[0], a[1]), g * a[2], bytes),
                                .a_i = a[3], .a_j = a[4], .a_t = a[5], .a_k = a[6],
                                .b = own ? &zero : at(rlx_kernel_element(r, b[0], b[1]), g * b[2], bytes),
                                .b_i = b[3], .b_j = b[4], .b_t = b[5], .b_k = b[6],
                                .rows = extents[ROW], .columns = extents[COLUMN],
                                .turns = extents[TURN], .depth = extents[STEP],
                                .ends = true };
        if (x[0] & RLX_KERNEL_PARTIAL_FROM_ZERO)
            clear(s.acc, extents, acc + 2, bytes);
        if (!partial_in_pieces(r, f, &s, bytes))
            return false;
    }
    return true;
}

/* ---- rows that are normalized --------------------------------------------------------------- */

/* In pieces of rows and columns. */
static bool normalize_in_pieces(rlx_kernel_run *r, const rlx_micro_normalize *whole)
{
    int64_t columns = whole->columns < COPY_PIECE ? whole->columns : COPY_PIECE, rows = COPY_PIECE / columns;
    for (int64_t i = 0; i < whole->rows; i += rows)
        for (int64_t j = 0; j < whole->columns; j += columns) {
            rlx_micro_normalize part = *whole;
            part.rows = whole->rows - i < rows ? whole->rows - i : rows;
            part.columns = whole->columns - j < columns ? whole->columns - j : columns;
            for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
                part.side[k] = at(part.side[k], i * part.stride[k][0] + j * part.stride[k][1], sizeof(float));
            r->micro->normalize(&part);
            if (!rlx_kernel_spend(r, (part.rows * part.columns >> 7) + 1))
                return false;
        }
    return true;
}

/* A bound, which micro-kernels want to be a number, and not -0 above. */
static float bound_of(int64_t bits, float none)
{
    float f = rlx_bits_float((uint32_t)bits);
    return isnan(f) ? none : none > 0 && f == 0 ? 0 : f;
}

/* Which there are; bounds; buffer, offset and strides of all sides; extents. */
static bool run_normalize(rlx_kernel_run *r, const int64_t *x)
{
    static const float neutral[RLX_NORMALIZE_SIDES] = { 0, 0, 0, 1, 1, -0.0f, -0.0f };
    const int64_t *extents = x + 3 + 4 * RLX_NORMALIZE_SIDES;
    rlx_micro_normalize z = { .rows = extents[0], .columns = extents[1], .low = -INFINITY, .high = INFINITY,
                              .more = x[0] >> (RLX_NORMALIZE_SIDES - 3) != 0 };
    if (rlx_kernel_any_empty(extents, 2))
        return true;
    if (x[0] & RLX_NORMALIZE_BOUNDED) {
        z.low = bound_of(x[1], z.low);
        z.high = bound_of(x[2], z.high);
    }
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
        const int64_t *side = x + 3 + 4 * k;
        if (k > 1 && !(x[0] >> (k - 2) & 1)) {
            z.side[k] = (void *)(uintptr_t)&neutral[k];
            continue;
        }
        if (!rlx_kernel_box_in_range(r, side[0], side[1], side + 2, extents, 2))
            return false;
        z.side[k] = rlx_kernel_element(r, side[0], side[1]);
        memcpy(z.stride[k], side + 2, sizeof z.stride[k]);
        rlx_kernel_drop_unused(extents, z.stride[k], 2);
    }
    return normalize_in_pieces(r, &z);
}

/* ---- functions of elements ------------------------------------------------------------------ */

/* A function of a box: extents, and the strides of the result, a and b. */
typedef struct map {
    uint8_t function;
    rlx_micro_row_fn *f;
    float *d;
    const float *a, *b;
    const int64_t *to, *from, *other, *extents;
} map;

void rlx_kernel_map_single(uint8_t function, float *to, const float *b, int64_t n)
{
    if (function == RLX_KERNEL_MAP_LOG)
        rlx_value_fns[RLX_K_log_F32](to, b, NULL, NULL, (size_t)n);
    for (int64_t i = 0; i < n && function != RLX_KERNEL_MAP_LOG; i++)
        to[i] = 1.0f / b[i];
}

/* Of one column: those of b in a row. */
static bool is_single(const map *m)
{
    return (m->function == RLX_KERNEL_MAP_RECIPROCAL || m->function == RLX_KERNEL_MAP_LOG) && m->extents[1] == 1 && m->to[0] == 1 &&
           m->other[0] == 1;
}

/* `count` from `begin` on: rows, or single elements where they are not contiguous or b is not one number for all of a
 * row. */
static void map_part(const map *m, const int64_t *begin, const int64_t *count)
{
    if (is_single(m)) {
        rlx_kernel_map_single(m->function, m->d + begin[0], m->b + begin[0], count[0]);
        return;
    }
    bool runs = m->to[1] == 1 && m->from[1] == 1 && m->other[1] == 0;
    int64_t run = runs ? count[1] : 1;
    for (int64_t i = begin[0]; i < begin[0] + count[0]; i++)
        for (int64_t j = begin[1]; j < begin[1] + count[1]; j += run)
            m->f(m->d + i * m->to[0] + j * m->to[1], m->a + i * m->from[0] + j * m->from[1],
                 m->b[i * m->other[0] + j * m->other[1]], run);
}

static bool map_in_pieces(rlx_kernel_run *r, const map *m)
{
    int64_t piece[2], begin[2] = { 0 }, count[2];
    cut(m->extents, 2, COPY_PIECE, piece);
    do {
        for (int i = 0; i < 2; i++)
            count[i] = m->extents[i] - begin[i] < piece[i] ? m->extents[i] - begin[i] : piece[i];
        map_part(m, begin, count);
        if (!rlx_kernel_spend(r, (volume(count, 2) >> 6) + 1))
            return false;
    } while (advance(begin, piece, m->extents, 2));
    return true;
}

/* What; buffer, offset and strides of the result, a and b; extents. */
static bool run_map(rlx_kernel_run *r, int64_t *x)
{
    int64_t *d = x + 1, *a = x + 5, *b = x + 9, *extents = x + 13;
    if (rlx_kernel_any_empty(extents, 2))
        return true;
    rlx_kernel_drop_unused(extents, d + 2, 2);
    rlx_kernel_drop_unused(extents, a + 2, 2);
    rlx_kernel_drop_unused(extents, b + 2, 2);
    if (!rlx_kernel_box_in_range(r, d[0], d[1], d + 2, extents, 2) ||
        !rlx_kernel_box_in_range(r, a[0], a[1], a + 2, extents, 2) ||
        !rlx_kernel_box_in_range(r, b[0], b[1], b + 2, extents, 2))
        return false;
    map m = { .function = (uint8_t)x[0], .f = r->micro->map[x[0]],
              .d = rlx_kernel_element(r, d[0], d[1]), .a = rlx_kernel_element(r, a[0], a[1]), .b = rlx_kernel_element(r, b[0], b[1]),
              .to = d + 2, .from = a + 2, .other = b + 2, .extents = extents };
    return map_in_pieces(r, &m);
}

bool rlx_kernel_block(rlx_kernel_run *r, unsigned op, int64_t *x)
{
    switch (op) {
    case RLX_K_MAP: return run_map(r, x);
    case RLX_K_COPY: return run_copy(r, x);
    case RLX_K_PACK: return run_pack(r, x);
    case RLX_K_UNPACK: return run_unpack(r, x);
    case RLX_K_PARTIAL: return run_partial(r, x);
    case RLX_K_NORMALIZE: return run_normalize(r, x);
    default: return run_sum(r, x, op == RLX_K_CONTRACT);
    }
}
