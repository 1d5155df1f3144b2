/*- lower_rows.c: operators that treat rows alike: statistics of a row, then each of its elements.
 *
 * A tensor whose last axes are reduced is done in tiles of rows, so that a tile and what is computed for it stay in
 * the cache nearest by, whatever the size of the tensor:
 *
 *     for outer axes, io in T.grid(..., ceil(n / 32)):         block "rows"
 *         i < min(32, n - io * 32), j < width                  the blocks inside, over temporaries of a tile
 *
 * Many short rows, of which functions are computed, are turned: a tile is copied so that the elements of a column lie beside each other, and copied
 * back, because what is done with a row of ten takes as long as with one of sixty.
 *
 * Where other axes than the last are reduced as well, the axes that are kept are loops around everything. Where the last
 * axis is kept, the first kept axes are, and the rest is done as columns beside each other, which are contiguous.
 */
/* built for size */
#include "op/lower_int.h"

enum {
    TILE = 32768,            /* elements of a tile, about */
    SHARED = 6000,           /* so many functions are worth a thread of their own */
    SHORT = 20,              /* elements of short rows; from so many rows on, and from so many times as many as elements, they are turned */
    MANY = 32, TALL = 6
};

/* The axis that is cut into tiles: one in front of axes that are all reduced, so far out that what is inside of it is still small. SIZE_MAX:
 * there is none. *inside: elements for each index of it. */
static size_t tiled_axis(const rlx_lowering_rows *r, const rlx_prim **inside)
{
    size_t first = 0;
    int64_t all, n;
    while (first < r->sizes.n && !r->marked[first])
        first++;
    for (size_t i = first; i < r->sizes.n; i++)
        if (!r->marked[i])
            return SIZE_MAX;
    if (first == 0 || first == r->sizes.n)
        return SIZE_MAX;
    *inside = rlx_lowering_product(r->b, &r->sizes, r->marked);
    if (!rlx_int_literal(*inside, &all))
        return first - 1;
    for (int axes = 0; --first > 0; all *= n) {
        if (!rlx_int_literal(r->sizes.at[first], &n) || n < 1 || n > TILE / 2 / (all > 0 ? all : 1))
            break;
        axes += n > 1;
        if (axes > 1) /* the rows of two axes are one row after the other, those of three are not: sums have rows and columns */
            break;
    }
    *inside = rlx_tir_int(&r->b->t, all);
    return first;
}

/* Rows of a tile, `width` elements each: 1 is a row at a time. Where functions alone are worth threads there are two tiles at least: else
 * threads would share the functions alone, apart from what stands around them. */
static const rlx_prim *rows_of_tile(rlx_lowering_rows *r, const rlx_prim *width, bool functions)
{
    rlx_tir *t = &r->b->t;
    const rlx_prim *one = rlx_tir_int(t, 1),
                   *rows = rlx_tir_max(t, rlx_tir_floor_div(t, rlx_tir_int(t, TILE), rlx_tir_max(t, width, one)), one);
    int64_t n, most, columns;
    if (!rlx_int_literal(r->sizes.at[r->tiled], &n) || !rlx_int_literal(rows, &most))
        return rows;
    if (functions && n > 1 && n <= most && rlx_int_literal(width, &columns) && n * columns >= SHARED)
        return rlx_tir_int(t, (n + 1) / 2);
    /* fewer where all tiles are then alike */
    for (int64_t k = most; k > most / 2; k--)
        if (n % k == 0)
            return rlx_tir_int(t, k);
    return rows;
}

/* Which axes are loops around everything: without `tiled`, which is cut, and those inside of it. */
static void choose_outer(rlx_lowering_rows *r, size_t tiled)
{
    bool by_rows = r->sizes.n > 0 && r->marked[r->sizes.n - 1], reduced = false;
    for (size_t i = 0; i < r->sizes.n; i++) {
        reduced |= r->marked[i];
        r->outer[i] = !r->marked[i] && (by_rows || !reduced) && i < tiled;
    }
    r->by_rows = by_rows;
}

/* Tiles of an axis of n rows; one: no loop. */
static const rlx_prim *tiles_of(rlx_lowering_rows *r, const rlx_prim *n, const rlx_prim *rows)
{
    rlx_tir *t = &r->b->t;
    const rlx_prim *more = rlx_tir_sub(t, rows, rlx_tir_int(t, 1));
    int64_t all, few;
    if (rlx_int_literal(n, &all) && rlx_int_literal(rows, &few) && all <= few)
        return rlx_tir_int(t, 1);
    return rlx_tir_floor_div(t, rlx_tir_add(t, n, more), rows);
}

/* Where the tile begins and how many rows it has. */
static void open_tile(rlx_lowering_rows *r, const rlx_prim *tiles, const rlx_prim *rows)
{
    rlx_tir *t = &r->b->t;
    const rlx_prim *n = r->sizes.at[r->tiled];
    int64_t all, few;
    bool whole = rlx_int_literal(n, &all) && rlx_int_literal(rows, &few) && all % few == 0;
    r->start = rlx_tir_mul(t, rlx_tir_spatial(t, "tile", tiles), rows);
    r->most = rows;
    r->inside.at[0] = whole ? rows : rlx_tir_min(t, rows, rlx_tir_sub(t, n, r->start));
}

static bool any_outer(const rlx_lowering_rows *r)
{
    bool any = false;
    for (size_t i = 0; i < r->sizes.n; i++)
        any |= r->outer[i];
    return any;
}

/* Is a tile many rows, shorter than what is fast to compute of a row? */
static bool are_short(const rlx_lowering_rows *r, const rlx_prim *rows)
{
    const size_t last = r->inside.n ? r->inside.n - 1 : 0;
    int64_t columns, n, all;
    if (!rows || last == 0 || !r->inside_marked[last] || !rlx_int_literal(r->inside.at[last], &columns) || columns < 2 || columns > SHORT ||
        !rlx_int_literal(r->sizes.at[r->tiled], &n) || !rlx_int_literal(rows, &all))
        return false;
    all = n < all ? n : all;
    for (size_t i = 1; i < last; i++) /* as many as are in a tile */
        if (r->inside_marked[i] || !rlx_int_literal(r->inside.at[i], &n) || !rlx_mul_i64(all, n, &all))
            return false;
    return all >= MANY && all / columns >= TALL;
}

void rlx_lowering_rows_begin(rlx_lowering_rows *r, rlx_lowering *b, const rlx_lowering_list *sizes,
                             const bool *marked, bool functions)
{
    *r = (rlx_lowering_rows){ .b = b, .sizes = *sizes };
    memcpy(r->marked, marked, sizes->n * sizeof *marked);
    const rlx_prim *width = NULL;
    r->tiled = tiled_axis(r, &width);
    const rlx_prim *rows = r->tiled == SIZE_MAX ? NULL : rows_of_tile(r, width, functions), *tiles = NULL;
    if (rows && rlx_is_int_value(rows, 1))
        r->tiled = SIZE_MAX;
    else if (rows)
        tiles = tiles_of(r, sizes->at[r->tiled], rows);
    choose_outer(r, r->tiled);
    r->open = any_outer(r) || (tiles && !rlx_is_int_value(tiles, 1));
    if (r->open)
        rlx_tir_begin_block(&b->t, "rows");
    for (size_t i = 0; i < sizes->n; i++) {
        char name[RLX_LOW_NAME];
        rlx_lowering_name(name, 'i', i);
        if (r->outer[i])
            r->index.at[i] = rlx_tir_spatial(&b->t, name, sizes->at[i]);
        else {
            r->inside_marked[r->inside.n] = marked[i];
            r->inside.at[r->inside.n++] = sizes->at[i];
        }
    }
    if (tiles && !rlx_is_int_value(tiles, 1))
        open_tile(r, tiles, rows);
    r->turned = functions && are_short(r, rows);
}

void rlx_lowering_rows_end(rlx_lowering_rows *r)
{
    if (r->open)
        rlx_tir_end_block(&r->b->t);
}

const rlx_buffer *rlx_lowering_rows_alloc(rlx_lowering_rows *r, const char *name, rlx_dtype dtype,
                                          bool kept)
{
    rlx_lowering_list sizes = r->inside;
    if (r->most)
        sizes.at[0] = r->most;
    sizes = kept ? rlx_lowering_rows_kept(r, &sizes) : rlx_lowering_rows_at(r, &sizes);
    return rlx_tir_alloc(&r->b->t, name, dtype, rlx_lowering_items(&sizes));
}

rlx_lowering_list rlx_lowering_rows_at(const rlx_lowering_rows *r, const rlx_lowering_list *inside)
{
    rlx_lowering_list at = *inside;
    for (size_t i = 0; i < at.n && r->turned; i++)
        at.at[i] = inside->at[i ? i - 1 : at.n - 1];
    return at;
}

rlx_lowering_list rlx_lowering_rows_kept(const rlx_lowering_rows *r, const rlx_lowering_list *inside)
{
    rlx_lowering_list k = { .n = 0 };
    for (size_t i = 0; i < inside->n; i++)
        if (!r->inside_marked[i])
            k.at[k.n++] = inside->at[i];
    return k;
}

rlx_lowering_list rlx_lowering_rows_whole(rlx_lowering_rows *r, const rlx_lowering_list *inside)
{
    rlx_lowering_list whole = { .n = r->sizes.n };
    size_t from = 0;
    for (size_t i = 0; i < whole.n; i++) {
        whole.at[i] = r->outer[i] ? r->index.at[i] : inside->at[from++];
        if (i == r->tiled && r->start)
            whole.at[i] = rlx_tir_add(&r->b->t, r->start, whole.at[i]);
    }
    return whole;
}

void rlx_lowering_rows_fold(rlx_lowering_rows *r, const char *name, rlx_lowering_list *inside)
{
    rlx_lowering_open_reduce(r->b, name, &r->inside, r->inside_marked, inside);
}

void rlx_lowering_rows_sum(rlx_lowering_rows *r, const char *name, const rlx_buffer *sum,
                           const rlx_buffer *of, bool whole)
{
    rlx_tir *t = &r->b->t;
    rlx_lowering_list index;
    rlx_lowering_rows_fold(r, name, &index);
    rlx_lowering_list at = rlx_lowering_rows_kept(r, &index),
                      from = whole ? rlx_lowering_rows_whole(r, &index) : rlx_lowering_rows_at(r, &index);
    const rlx_prim *x = rlx_tir_load(t, of, rlx_lowering_items(&from));
    if (r->by_rows && x)
        rlx_lowering_partial_sums(r->b, rlx_prim_dtype(x));
    rlx_tir_init(t, sum, rlx_lowering_items(&at), rlx_tir_number(t, rlx_prim_dtype(x), 0));
    rlx_tir_store(t, sum, rlx_lowering_items(&at),
                  rlx_tir_add(t, rlx_tir_load(t, sum, rlx_lowering_items(&at)), x));
    rlx_tir_end_block(t);
}
