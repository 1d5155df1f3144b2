/*- cgen_int.h: the parts of the writer of C.
 *
 *   cgen_writer.c    a translation unit: what of the prelude is used, the kernels, their table
 *   cgen_prelude.c   the text of helpers
 *   cgen_scan.c      a kernel's tables and code: uses of values, which jumps make which statement
 *   cgen_kernel.c    statements: loops, branches, checks, stores
 *   cgen_value.c     expressions
 *
 * What is written is the kernel's bytecode, so that loops stand in the order that the kernel
 * writer chose and each check stands where it put it. A strip loop becomes a loop over single
 * elements. A register that is read once becomes part of the expression that reads it; all
 * others become constants with a name.
 */
#ifndef RLX_CGEN_INT_H
#define RLX_CGEN_INT_H

#include "base/base.h"
#include "codegen/cgen.h"
#include "format/kernel_format.h"

/* How tightly the operator at the top of an expression binds. */
enum { C_OTHER, C_SUM, C_PRODUCT, C_UNARY, C_ATOM };

/* The C text that stands for a register, in the pool. */
typedef struct rlx_cgen_value {
    uint32_t at, len;
    uint8_t rank;
    bool literal;
    bool loads;       /* reads memory */
    bool pending;     /* not written yet: part of whatever reads it */
    bool out;         /* a place in memory to be written, of buffer `row` (VIEW_OUT) */
    uint32_t row;
} rlx_cgen_value;

/* Facts about the instruction at a word. */
typedef struct rlx_cgen_word {
    uint32_t uses;            /* of the value that it makes */
    uint32_t region, used_in; /* number of the region it stands in, and that of its last use */
    uint32_t while_end;       /* a while loop begins here and ends there; 0: none */
} rlx_cgen_word;

enum rlx_cgen_region_kind { C_FUNCTION, C_LOOP, C_STRIP, C_IF, C_WHILE, C_PART };
typedef struct rlx_cgen_region {
    enum rlx_cgen_region_kind kind;
    uint32_t end;             /* of if and while: the word behind */
    uint32_t number;
    uint32_t names;           /* names declared around it */
    bool chunked;             /* a vector strip in two loops */
    int64_t work;             /* of a strip of known length */
    /* of a part of a parallel loop, which is a function: the text around it, and of which region that is */
    rlx_buf around;
    uint32_t base, renamed;   /* renamed: those before */
} rlx_cgen_region;
typedef struct rlx_cgen_renamed { uint32_t reg; rlx_cgen_value was; } rlx_cgen_renamed;

typedef struct rlx_cgen_kernel {
    rlx_context *ctx;
    rlx_memory *memory;
    const rlx_c_kernel *source;
    bool unchecked;
    bool spent;               /* the last statement did */
    bool same_place;          /* an input may be the memory of an output */
    bool each;                /* stores go anywhere */
    const uint8_t *part[RLX_KERNEL_PARTS];
    uint32_t count[RLX_KERNEL_PARTS];
    rlx_cgen_word *words;     /* by word of the code */
    rlx_cgen_value *values;   /* by register */
    rlx_string const **hints; /* by register */
    bool *used, *written;     /* by buffer */
    rlx_cgen_value *buffers;  /* names of the buffers */
    rlx_buf pool;             /* texts of values */
    RLX_VEC(rlx_cgen_region) regions;
    rlx_map names;            /* in scope */
    RLX_VEC(rlx_cgen_value) declared;
    RLX_VEC(uint32_t) pending; /* registers that may be */
    uint32_t num_regions, num_temps;
    size_t serial;            /* of the kernel in its unit */
    uint32_t *seen, *seen_rows; /* by register, by buffer: the last part that had to do with it */
    RLX_VEC(uint32_t) captured, touched; /* registers and buffers of the part that begins */
    RLX_VEC(rlx_cgen_renamed) renamed;   /* registers that have a name in open parts alone */
    uint32_t num_parts;
    uint32_t base;            /* regions around the function at work */
    rlx_buf line, text;       /* text: of that function */
    rlx_buf *out;             /* functions that are done */
} rlx_cgen_kernel;

/* ---- cgen_scan.c */
void rlx_cgen_find_parts(rlx_cgen_kernel *g);
/* finds the parts; tables in g. False: no memory */
bool rlx_cgen_open(rlx_cgen_kernel *g);
void rlx_cgen_close(rlx_cgen_kernel *g);
RLX_INLINE uint16_t c_word_at(const rlx_cgen_kernel *g, uint32_t at)
{
    return rlx_get_u16(g->part[RLX_KERNEL_CODE] + 2 * (size_t)at);
}
/* Is the register a constant? Its bits, then; a row of the buffers. */
RLX_INLINE bool c_is_constant(const rlx_cgen_kernel *g, uint32_t r) { return r < g->count[RLX_KERNEL_CONSTS]; }
RLX_INLINE uint64_t c_constant(const rlx_cgen_kernel *g, uint32_t r) { return rlx_get_u64(g->part[RLX_KERNEL_CONSTS] + 8 * (size_t)r); }
RLX_INLINE const uint8_t *c_buffer(const rlx_cgen_kernel *g, uint32_t row) { return g->part[RLX_KERNEL_BUFFERS] + 24 * (size_t)row; }
RLX_INLINE uint8_t rlx_cgen_reg_byte(const rlx_cgen_kernel *g, uint32_t r)
{
    return g->part[RLX_KERNEL_REGS][r];
}
RLX_INLINE unsigned rlx_cgen_class(const rlx_cgen_kernel *g, uint32_t r)
{
    return rlx_cgen_reg_byte(g, r) & RLX_KERNEL_CLASS_MASK;
}
uint32_t rlx_cgen_jump_target(const rlx_cgen_kernel *g, uint32_t at);
/* Regions as code is gone through in order: before and after the instruction at `at`. */
bool rlx_cgen_enter(rlx_cgen_kernel *g, uint32_t at,
                    void (*closed)(rlx_cgen_kernel *g, const rlx_cgen_region *r),
                    void (*begun)(rlx_cgen_kernel *g));
bool rlx_cgen_push(rlx_cgen_kernel *g, enum rlx_cgen_region_kind kind, uint32_t end);
/* does a jump there end the innermost while loop? */
bool rlx_cgen_leaves_while(rlx_cgen_kernel *g, uint32_t target);
RLX_INLINE rlx_cgen_region *rlx_cgen_top(rlx_cgen_kernel *g) { return &rlx_vec_last(&g->regions); }

/* ---- cgen_value.c */
extern const char *const rlx_cgen_class_types[RLX_CLASS_COUNT];
/* load, store: beginnings of calls; NULL: by a conversion */
typedef struct rlx_cgen_elem_row { const char *type, *load, *store; } rlx_cgen_elem_row;
extern const rlx_cgen_elem_row rlx_cgen_elems[RLX_ELEM_COUNT];
rlx_cgen_value rlx_cgen_operand(rlx_cgen_kernel *g, uint32_t r);
/* in parentheses unless it binds as tightly */
void rlx_cgen_put(rlx_cgen_kernel *g, rlx_buf *b, rlx_cgen_value v, int rank);
/* The value of instruction `at`, a VALUE row or integer arithmetic, as text in the pool. */
rlx_cgen_value rlx_cgen_arithmetic(rlx_cgen_kernel *g, uint32_t at);
/* what was appended to the pool since `begin` */
rlx_cgen_value rlx_cgen_text(rlx_cgen_kernel *g, size_t begin, int rank);
rlx_cgen_value rlx_cgen_load(rlx_cgen_kernel *g, uint32_t row, rlx_cgen_value offset);
bool rlx_cgen_may_fail(unsigned op);
/* one that operations call */
bool rlx_cgen_is_function(rlx_slice name);
/* number as text; condition of a and b */
const char *rlx_cgen_trouble(unsigned op, const char **condition);
void rlx_cgen_put_condition(rlx_cgen_kernel *g, rlx_buf *b, const char *text,
                            const rlx_cgen_value *v);

/* ---- cgen_kernel.c */
void rlx_cgen_kernel_write(rlx_cgen_kernel *g, size_t number);
/* letters, digits and _ only */
void rlx_cgen_put_plain(rlx_buf *b, rlx_slice name, size_t most);

/* ---- cgen_prelude.c */
/* Appends what of the prelude the text uses. */
void rlx_c_prelude(rlx_memory *m, rlx_slice body, rlx_buf *out);

#endif
