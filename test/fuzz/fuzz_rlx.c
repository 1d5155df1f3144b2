/* fuzz_rlx: bytes as a compiled file: loader, verifier, introspection, disassembler and
 * execution, by the run-only library alone. The mutator takes the file apart and puts it
 * together again with sums that fit, so that the change is what is tested. */
#include "compiled_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const compiled_limits limits = { .load_memory = (size_t)64 << 20,
                                        .run_memory = (size_t)8 << 20,
                                        .timeout = 3000000,
                                        .every_loop = true };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    compiled_report report;
    compiled_drive(data, size, &limits, &report);
    if (report.problem[0]) {
        fprintf(stderr, "fuzz_rlx: %s\n", report.problem);
        abort();
    }
    return 0;
}

#ifndef FUZZ_REPLAY
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint32_t next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* One 32-bit word gets a value that means something: small, a neighbour's, the old one a bit
 * off, or an end of a range. */
static void change_word(compiled_section *s, unsigned *seed)
{
    static const uint32_t ends[] = { 0,          1,       0x7fffffff, 0x80000000,
                                     0xffffffff, 0x10000, 0x1000000,  0x60000000 };
    size_t words = s->size / 4;
    uint32_t value, other;
    if (!words)
        return;
    unsigned char *at = s->data + next(seed) % words * 4;
    memcpy(&value, at, 4);
    memcpy(&other, s->data + next(seed) % words * 4, 4);
    switch (next(seed) % 5) {
    case 0: value = next(seed) % 16; break;
    case 1: value = other; break;
    case 2: value += next(seed) % 9 - 4; break;
    case 3: value ^= 1u << next(seed) % 32; break;
    default: value = ends[next(seed) % RLX_COUNT(ends)]; break;
    }
    memcpy(at, &value, 4);
}

/* A section changes without growing, so that what refers to it still finds its place; seldom
 * with. */
static void change_section(compiled_section *s, size_t room, unsigned *seed)
{
    uint32_t way = next(seed) % 8;
    if (way < 4) {
        for (uint32_t n = 1 + next(seed) % 3; n; n--)
            change_word(s, seed);
    } else if (way < 7 && s->size) {
        size_t from = next(seed) % s->size, len = s->size - from;
        LLVMFuzzerMutate(s->data + from, len > 64 ? 64 : len, len > 64 ? 64 : len);
    } else {
        size_t most = s->size + 64 < room ? s->size + 64 : room;
        unsigned char *grown = most ? realloc(s->data, most + 1) : NULL;
        if (grown) {
            s->data = grown;
            s->size = LLVMFuzzerMutate(grown, s->size, most);
        }
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    compiled_file f;
    size_t done = 0;
    if (next(&seed) % 16 && compiled_unpack(data, size, &f)) {
        if (f.count) {
            change_section(&f.sections[next(&seed) % f.count], max_size, &seed);
            done = compiled_pack(&f, data, max_size);
        }
        compiled_free(&f);
    }
    if (done)
        return done;
    done = LLVMFuzzerMutate(data, size, max_size);
    compiled_repair(data, done);
    return done;
}
#endif
