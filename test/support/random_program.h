/* random_program.h: well-formed Relax modules as text, from a seed. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of construct that a program may have; the bit of each that has been written is set. */
#define RANDOM_KINDS(KIND)                                                                         \
    KIND(UNARY)                                                                                    \
    KIND(BINARY) KIND(BROADCAST) KIND(COMPARE) KIND(CAST_DTYPE) KIND(TRANSPOSE) KIND(MATMUL)       \
        KIND(EXPAND) KIND(REDUCE) KIND(CONCAT) KIND(SPLIT) KIND(SLICE) KIND(CONSTANT) KIND(SHAPE)  \
            KIND(SHAPE_OF) KIND(ZEROS) KIND(PRIM) KIND(TUPLE) KIND(NESTED_TUPLE) KIND(ITEM)        \
                KIND(ANNOTATED) KIND(LOOSE) KIND(COPY) KIND(MATCH_CAST) KIND(MATCH_OBJECT)         \
                    KIND(CALL_TIR) KIND(CALL_TIR_MANY) KIND(CALL_TIR_VARS) KIND(INPLACE)           \
                        KIND(DPS_PACKED) KIND(PURE_PACKED) KIND(PACKED) KIND(PRINT) KIND(ASSERT)   \
                            KIND(IF) KIND(IF_PRIM) KIND(LOCAL) KIND(LOCAL_LOOP) KIND(CLOSURE_CALL) \
                                KIND(GLOBAL_CALL) KIND(GLOBAL_VALUE) KIND(RECURSION) KIND(MUTUAL)  \
                                    KIND(DATAFLOW) KIND(CAST_BLOCK) KIND(DEVICE) KIND(FUNC_ATTRS)  \
                                        KIND(MODULE_ATTRS) KIND(PRIVATE) KIND(IMPURE)
enum random_kind {
#define RANDOM_KIND(name) RANDOM_##name,
    RANDOM_KINDS(RANDOM_KIND)
#undef RANDOM_KIND
    RANDOM_NUM_KINDS
};

/* The next number below n. */
uint32_t random_roll(uint64_t *state, uint32_t n);
/* The program of a seed; to be freed. Runnable ones build (no local functions, one device), end
 * with any input, and call of the host: host.dps(a, out), and host.same, host.impure, host.any,
 * of which the first two return what is like their first argument and the last one a
 * R.Tensor((n, 4), "float32") of the n of main. */
char *random_program(uint64_t seed, uint64_t *kinds);
char *random_runnable_program(uint64_t seed);
/* The text with one small change: a line or a word lost, repeated, moved or replaced; to be
 * freed. */
char *random_text_mutation(const char *text, uint64_t seed);

#endif
