/* builtin_sort.c: the sort that builtins share: of positions, by keys that elements are made into.
 *
 * Keys compare as elements do, but are integers without signs: NaN is the greatest, -0.0 is 0.0,
 * and descending order is the order of inverted keys. They stand at the upper end of 64 bits.
 */
#include "runtime/runtime_int.h"

/*- What is sorted are numbers that hold bits of a key above the position:
 *
 *      63                      place          0
 *     +--------------------------+------------+
 *     |   some bits of the key   |  position  |     at[], while a range of positions is sorted
 *     +--------------------------+------------+
 *
 * No two of them are equal, so that any order of them is the stable one. All of a float32 fits
 * beside 32 bits. If a key has more bits, or an item more keys, ranges of positions whose bits
 * were equal are sorted by the next ones. Between such rounds the highest bit says that a range
 * begins. Time is linear in the number of positions, but for the keys of ranges that stay equal.
 */
#define SIGN ((uint64_t)1 << 63)
#define BEGINS SIGN

enum {
    FEW = 512,        /* numbers that merging sorts faster than tables of digits do */
    BLOCK = 1024,     /* work that is asked for at a time */
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    SPARSE = 128,     /* numbers for each that is looked at to find out which ones may be among the first */
    SINGLE = 16       /* first ones that are kept in order, each put in by itself */
};

static RLX_NOINLINE bool spend(rlx_sorter *s, size_t n)
{
    return rlx_builtin_goes_on(&s->work, n < BLOCK ? n : BLOCK);
}

/* Whether step i of n may be done. */
static inline bool goes_on(rlx_sorter *s, size_t i, size_t n) { return i < n && (i % BLOCK || spend(s, n - i)); }

/* ---- keys ----------------------------------------------------------------------------------- */

/* Elements stand at the upper end of keys. Floats become what their sign and the rest of them say;
 * without branches. */
static void read_keys(rlx_key_kind k, const unsigned char *from, size_t step, size_t n, uint64_t *to, size_t to_step)
{
    for (; n; n--, from += step, to += to_step) {
        uint64_t bits = 0;
        switch (k.bytes) {
        case 1: memcpy(&bits, from, 1); break;
        case 2: memcpy(&bits, from, 2); break;
        case 4: memcpy(&bits, from, 4); break;
        default: memcpy(&bits, from, 8); break;
        }
        bits <<= k.lead;
        if (k.greatest) {
            uint64_t size = bits & ~SIGN, minus = 0 - (bits >> 63);
            bits = size > k.greatest ? UINT64_MAX << k.lead : ((size ^ minus) - minus) ^ SIGN;
        } else
            bits ^= k.zero;
        *to = bits ^ k.inverted;
    }
}

/* What most are, side by side: four float32 at a time; how many are done. */
static size_t read_floats(rlx_key_kind k, const unsigned char *from, size_t n, uint64_t *to)
{
    typedef RLX_VECTOR(int32_t, 16) floats;
    typedef RLX_VECTOR(uint64_t, 16) pair;
    const floats none = { 0 };
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        floats bits = *(const floats *)(const void *)(from + 4 * i), size = bits & INT32_MAX, minus = bits >> 31;
        bits = (((size ^ minus) - minus) ^ INT32_MIN) | (size > 0x7f800000);
        *(pair *)(to + i) = (pair)RLX_SHUFFLE(none, bits, 0, 4, 1, 5) ^ k.inverted;
        *(pair *)(to + i + 2) = (pair)RLX_SHUFFLE(none, bits, 2, 6, 3, 7) ^ k.inverted;
    }
    return i;
}

void rlx_sorter_read(rlx_sorter *s, const unsigned char *from, size_t step, size_t n, uint64_t *to, size_t to_step)
{
    for (size_t i = 0, more; goes_on(s, i, n); i += more, from += more * step, to += more * to_step) {
        more = n - i < BLOCK ? n - i : BLOCK;
        if (step == 4 && to_step == 1 && s->kind.bytes == 4 && s->kind.greatest && more > 3)
            more = read_floats(s->kind, from, more, to);
        else
            read_keys(s->kind, from, step, more, to, to_step);
    }
}

/* ---- numbers in order ----------------------------------------------------------------------- */

/* Two runs in order, which follow each other, to one. If they are equally long, as many come from
 * the front as from the back, so that neither ends before: no branch depends on a number. */
static void merge(const uint64_t *v, size_t left, size_t right, uint64_t *to)
{
    size_t i = 0, k = left, x = left - 1, y = left + right - 1, out = 0;
    if (left == right)
        for (; out < left; out++) {
            uint64_t a = v[i], b = v[k], c = v[x], d = v[y], later = b < a, above = c > d;
            to[out] = a ^ ((a ^ b) & (0 - later));
            k += later, i += 1 - later;
            to[2 * left - 1 - out] = d ^ ((c ^ d) & (0 - above));
            x -= above, y -= 1 - above;
        }
    else
        for (; out < left + right; out++)
            to[out] = i < left && (k == left + right || v[i] < v[k]) ? v[i++] : v[k++];
}

static uint64_t *sort_few(uint64_t *v, uint64_t *other, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t low = 0; low < n; low += 2 * run) {
            size_t left = n - low < run ? n - low : run, rest = n - low - left;
            merge(v + low, left, rest < run ? rest : run, other + low);
        }
        uint64_t *swap = v;
        v = other;
        other = swap;
    }
    return v;
}

/* By the digit from `shift` on. */
static void sort_digit(rlx_sorter *s, const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
    size_t ends[DIGITS] = { 0 }, sum = 0;
    for (size_t i = 0; i < n; i++)
        ends[from[i] >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = ends[d];
        ends[d] = sum;
        sum += here;
    }
    for (size_t i = 0; goes_on(s, i, n); i++)
        to[ends[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* Numbers that differ in bits of `differ` only, and below; where they are then, of two places. */
static uint64_t *sort_numbers(rlx_sorter *s, uint64_t *v, uint64_t *other, size_t n, uint64_t differ)
{
    if (n <= FEW)
        return sort_few(v, other, n);
    for (unsigned first = s->place; first < 64 && differ >> first; first += DIGIT_BITS)
        if (differ >> first & (DIGITS - 1)) {
            uint64_t *swap = v;
            sort_digit(s, v, other, n, first);
            v = other;
            other = swap;
        }
    return v;
}

/* The positions at[low .. high), which have been equal so far, by the bits of a key from `shift`
 * on that fit beside them. */
static void sort_range(rlx_sorter *s, size_t low, size_t high, size_t key, unsigned shift)
{
    uint64_t *v = (uint64_t *)s->at + low, place = ((uint64_t)1 << s->place) - 1, differ = 0, last = 0, falls = 0;
    const uint64_t *keys = s->keys + key, *from = v;
    size_t n = high - low, width = s->width;
    unsigned left = s->place;
    for (size_t i = 0; goes_on(s, i, n); i++) {
        uint64_t at = v[i] & place;
        uint64_t x = keys[at * width] >> shift << left | at;
        falls |= x < last;
        v[i] = last = x;
        differ |= x ^ v[0];
    }
    if (s->work.stopped)
        return;
    if (falls)
        from = sort_numbers(s, v, (uint64_t *)s->spare + low, n, differ);
    last = ~from[0];
    for (size_t i = 0; i < n; i++) {
        uint64_t x = from[i];
        v[i] = (x & place) | ((x ^ last) >> left ? BEGINS : 0);
        last = x;
    }
}

int64_t rlx_sorter_order(rlx_sorter *s, size_t n)
{
    uint64_t *at = (uint64_t *)s->at;
    int64_t groups = 0;
    bool open = n > 1;
    for (size_t key = 0; key < s->width && open; key++)
        for (unsigned fit = 64 - s->place, left = 64, end = s->kind.lead; left > end && open;) {
            left = left > end + fit ? left - fit : end;
            open = false;
            for (size_t low = 0, high; goes_on(s, low, n); low = high) {
                for (high = low + 1; high < n && !(at[high] & BEGINS); high++)
                    ;
                if (high - low > 1) {
                    sort_range(s, low, high, key, left);
                    open = true;
                }
            }
        }
    at[0] |= BEGINS;
    for (size_t i = 0; goes_on(s, i, n); i++) {
        s->spare[groups] = (int64_t)i;
        groups += (at[i] & BEGINS) != 0;
        at[i] &= ~BEGINS;
    }
    return groups;
}

int64_t rlx_sorter_sort(rlx_sorter *s)
{
    for (size_t i = 0; goes_on(s, i, s->count); i++)
        s->at[i] = (int64_t)i;
    return rlx_sorter_order(s, s->count);
}

/* Puts a position among at[0 .. n - 1), in their order; at[n - 1] goes. */
static void insert_position(rlx_sorter *s, size_t n, size_t position)
{
    uint64_t key = s->keys[position];
    size_t k = n - 1;
    for (; k && s->keys[s->at[k - 1]] > key; k--)
        s->at[k] = s->at[k - 1];
    s->at[k] = (int64_t)position;
}

void rlx_sorter_first(rlx_sorter *s, size_t few)
{
    bool single = few <= SINGLE;
    size_t sample = few, n = 0;
    const uint64_t *keys = s->keys;
    while (sample * SPARSE < s->count)
        sample *= 2;
    for (size_t i = 0; i < sample; i++)
        s->at[i] = (int64_t)(i * (s->count / sample));
    rlx_sorter_order(s, sample);
    uint64_t limit = s->work.stopped ? 0 : keys[s->at[few - 1]]; /* so many at least are not above it */
    for (size_t i = 0, end; i < s->count && spend(s, BLOCK); i = end) {
        end = s->count - i < BLOCK ? s->count : i + BLOCK;
        for (size_t k = i; k < end; k++) {
            if (RLX_LIKELY(keys[k] > limit))
                continue;
            if (single) {
                n += n < few;
                insert_position(s, n, k);
                if (n < few)
                    continue;
            } else {
                s->at[n++] = (int64_t)k;
                if (n < 2 * few)
                    continue;
                rlx_sorter_order(s, n);
                n = few;
            }
            uint64_t last = s->work.stopped ? 0 : keys[s->at[few - 1]];
            if (last == 0)
                return;
            limit = last - 1;
        }
    }
    if (!single && !s->work.stopped)
        rlx_sorter_order(s, n);
}
