/* random_program.h: well-formed Relax modules as text, from a seed. */
#ifndef RANDOM_PROGRAM_H
#define RANDOM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of construct that a program may have; the bit of each that has been written is set. From
 * DOUBTFUL on only tried programs have them. */
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
                                        KIND(MODULE_ATTRS) KIND(PRIVATE) KIND(IMPURE)          \
                                            KIND(DOUBTFUL) KIND(CHANGE) KIND(RESHAPE) KIND(CHOSEN) \
                                                KIND(STORED) KIND(UNKNOWN)
enum random_kind {
#define RANDOM_KIND(name) RANDOM_##name,
    RANDOM_KINDS(RANDOM_KIND)
#undef RANDOM_KIND
    RANDOM_NUM_KINDS
};

/* The next number below n. */
uint32_t random_roll(uint64_t *state, uint32_t n);
/* The program of a seed; to be freed. Runnable ones build (one device), end
 * with any input, and call of the host: host.dps(a, out), and host.same, host.impure, host.any,
 * of which the first two return what is like their first argument and the last one a
 * R.Tensor((n, 4), "float32") of the n of main. */
char *random_program(uint64_t seed, uint64_t *kinds);
char *random_runnable_program(uint64_t seed);
/* Runnable ones that may fail, and that change tensors which others see: host.bump(a) and
 * host.own(a) add 1 to what is of float32 and give a back, the first of them in sight of others;
 * host.fail always fails, host.missing is not there. unknown: ranks and
 * dtypes may be. Functions that may fail or change something stand outside of dataflow blocks, so
 * that nothing allows a compiler to leave them out. */
char *random_tried_program(uint64_t seed, int unknown);
/* The text with one small change: a line or a word lost, repeated, moved or replaced; to be
 * freed. */
char *random_text_mutation(const char *text, uint64_t seed);

#endif
