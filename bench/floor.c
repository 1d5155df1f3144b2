/* floor: what the machine itself needs for the innermost work of the library, without any of
 * the library. Best and median of several rounds each. */
#include <stdint.h>
#include <string.h>

#include "bench.h"

#define NOINLINE __attribute__((noinline))
enum { ROUNDS = 9, NODES = 1 << 18, LINES = 50000, CALLS = 20000, UNROLLED = 32 };

static volatile uint64_t sink;

/* ---- nodes: bump allocation, then the same with a look-up of equal nodes first -------------- */

typedef struct node { uint64_t kind, key; struct node *info, *args[5]; } node; /* 64 bytes */
static node *arena;
static uint32_t table[NODES * 2];

static void fill(node *n, uint64_t kind, uint64_t key, node *last)
{
    *n = (node){ kind, key, last, { last, last } };
}

static double bump(void)
{
    node *last = NULL;
    double start = bench_now();
    for (size_t i = 0; i < NODES; i++) {
        fill(&arena[i], i & 31, i, last);
        last = &arena[i];
    }
    sink = last->key;
    return (bench_now() - start) / NODES;
}

/* Half of the look-ups find a node. */
static double interned(void)
{
    size_t mask = NODES * 2 - 1;
    uint32_t used = 1;
    memset(table, 0, sizeof table);
    double start = bench_now();
    for (uint64_t i = 0; i < NODES; i++) {
        uint64_t key = i * 0x9e3779b97f4a7c15u % (NODES / 2), hash = key * 0xc2b2ae3d27d4eb4fu;
        size_t slot = (hash ^ hash >> 29) & mask;
        while (table[slot] && arena[table[slot]].key != key)
            slot = (slot + 1) & mask;
        if (!table[slot] && used < NODES) {
            fill(&arena[used], 1, key, arena);
            table[slot] = used++;
        }
    }
    return (bench_now() - start) / NODES;
}

/* ---- text: cutting it into tokens by a table of characters; writing it from pieces ---------- */

enum { SPACE, WORD, DIGIT, QUOTE, OTHER };
static uint8_t classes[256];
static char *source, *written;
static size_t source_len, written_len;

static void set_classes(void)
{
    for (int c = 0; c < 256; c++)
        classes[c] = c == ' ' || c == '\n'                                          ? SPACE
                     : c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? WORD
                     : c >= '0' && c <= '9'                                         ? DIGIT
                     : c == '"'                                                     ? QUOTE
                                                                                    : OTHER;
}

static double lex(void)
{
    uint64_t hash = 0;
    double start = bench_now();
    for (const char *p = source, *end = source + source_len; p < end;) {
        uint8_t class = classes[(uint8_t)*p];
        uint64_t word = (uint8_t)*p++;
        if (class == WORD)
            for (; classes[(uint8_t)*p] == WORD || classes[(uint8_t)*p] == DIGIT; p++)
                word = word * 31 + (uint8_t)*p;
        else if (class == DIGIT)
            for (; classes[(uint8_t)*p] == DIGIT; p++)
                word = word * 10 + (uint8_t)*p;
        else if (class == QUOTE)
            while (*p++ != '"')
                ;
        hash ^= word;
    }
    sink = hash;
    return bench_now() - start;
}

static char *put(char *to, const char *piece, size_t len)
{
    memcpy(to, piece, len);
    return to + len;
}

static char *put_number(char *to, unsigned number)
{
    char digits[12], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + number % 10);
    while (number /= 10);
    return put(to, p, (size_t)(digits + sizeof digits - p));
}

#define PUT(to, text) put(to, text, sizeof text - 1)

static double print(void)
{
    char *p = written;
    double start = bench_now();
    for (unsigned i = 0; i < LINES; i++) {
        p = put_number(PUT(p, "        lv"), i + 1);
        p = put_number(PUT(p, ": R.Tensor((n, 3072), dtype=\"float32\") = R.matmul(lv"), i);
        p = put_number(PUT(p, ", w"), i % 97);
        p = PUT(p, ", out_dtype=\"void\")\n");
    }
    written_len = (size_t)(p - written);
    return bench_now() - start;
}

/* ---- a register machine --------------------------------------------------------------------- */

typedef struct cell { int32_t tag, zero; const struct thing *p; } cell;
typedef struct thing { int32_t ndim; int64_t shape[4]; } thing;
typedef int (*packed)(void *self, const cell *args, int32_t count, cell *result);
typedef struct instruction { uint8_t op, to, from[3]; } instruction;
enum { CALL, MOVE, LOOP, RETURN };

static NOINLINE int checks_three(void *self, const cell *args, int32_t count, cell *result)
{
    if (count != 3)
        return -1;
    for (int i = 0; i < 3; i++)
        if (args[i].tag != 7 || args[i].p->ndim != 2 || args[i].p->shape[1] != 64)
            return -1;
    result->tag = 0;
    return 0;
}

static NOINLINE int machine(const instruction *code, cell *registers, packed callee, int64_t trips)
{
    static void *const labels[] = { &&call, &&move, &&loop, &&end };
    const instruction *pc = code;
    cell args[3], result = { 0, 0, NULL };
    goto *labels[pc->op];
call:
    for (int i = 0; i < 3; i++)
        args[i] = registers[pc->from[i]];
    if (callee(NULL, args, 3, &result) != 0)
        return -1;
    registers[pc->to] = result;
    pc++;
    goto *labels[pc->op];
move:
    registers[pc->to] = registers[pc->from[0]];
    pc++;
    goto *labels[pc->op];
loop:
    pc = --trips > 0 ? code : pc + 1;
    goto *labels[pc->op];
end:
    return 0;
}

static double run_machine(uint8_t op)
{
    static thing t = { 2, { 16, 64, 0, 0 } };
    instruction code[UNROLLED + 2];
    cell registers[16];
    packed volatile callee = checks_three;
    for (int i = 0; i < 16; i++)
        registers[i] = (cell){ 7, 0, &t };
    for (uint8_t i = 0; i < UNROLLED; i++)
        code[i] = (instruction){ op, (uint8_t)(8 + i % 8), { i % 3, (i + 1) % 3, (i + 2) % 3 } };
    code[UNROLLED] = (instruction){ LOOP, 0, { 0 } };
    code[UNROLLED + 1] = (instruction){ RETURN, 0, { 0 } };
    double start = bench_now();
    if (machine(code, registers, callee, CALLS) != 0)
        bench_die("floor", "the machine failed");
    return (bench_now() - start) / ((double)CALLS * UNROLLED);
}

static double calls(void) { return run_machine(CALL); }
static double moves(void) { return run_machine(MOVE); }

/* ---- all of it ------------------------------------------------------------------------------ */

static double *rounds(double (*measure)(void), double *times)
{
    measure();
    for (int i = 0; i < ROUNDS; i++)
        times[i] = measure();
    return times;
}

int main(void)
{
    double times[ROUNDS];
    arena = calloc(NODES, sizeof *arena);
    written = malloc((size_t)LINES * 128);
    if (!arena || !written)
        bench_die("floor", "out of memory");
    set_classes();
    bench_times("bump node", rounds(bump, times), ROUNDS, 1e9, "ns");
    bench_times("interned node", rounds(interned, times), ROUNDS, 1e9, "ns");
    print();
    source = written;
    source_len = written_len;
    bench_rates("lex", rounds(lex, times), ROUNDS, (double)source_len * 1e-6, "MB/s");
    bench_rates("write", rounds(print, times), ROUNDS, (double)written_len * 1e-6, "MB/s");
    bench_times("vm move", rounds(moves, times), ROUNDS, 1e9, "ns");
    bench_times("vm call", rounds(calls, times), ROUNDS, 1e9, "ns");
    free(arena);
    free(written);
    return 0;
}
