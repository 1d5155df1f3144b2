/*- c_int.h: the parts of the writer of C.
 *
 *   c_writer.c    a translation unit: what of the prelude is used, the kernels, their table
 *   c_prelude.c   the text of helpers
 *   c_scan.c      a kernel's tables and code: uses of values, which jumps make which statement
 *   c_kernel.c    statements: loops, branches, checks, stores
 *   c_value.c     expressions
 *
 * What is written is the kernel's bytecode, so that loops stand in the order that the kernel
 * writer chose and each check stands where it put it. A strip loop becomes a loop over single
 * elements. A register that is read once becomes part of the expression that reads it; all
 * others become constants with a name.
 */
#ifndef RLX_C_INT_H
#define RLX_C_INT_H

#include "base/base.h"
#include "codegen/c_writer.h"
#include "format/kernel_format.h"

/* How tightly the operator at the top of an expression binds. */
enum { C_OTHER, C_SUM, C_PRODUCT, C_UNARY, C_ATOM };

/* The C text that stands for a register, in the pool. */
typedef struct c_value {
    uint32_t at, len;
    uint8_t rank;
    bool literal;
    bool loads;       /* reads memory */
    bool pending;     /* not written yet: part of whatever reads it */
    bool out;         /* a place in memory to be written, of buffer `row` (VIEW_OUT) */
    uint32_t row;
} c_value;

/* Facts about the instruction at a word. */
typedef struct c_word {
    uint32_t uses;            /* of the value that it makes */
    uint32_t region, used_in; /* number of the region it stands in, and that of its last use */
    uint32_t while_end;       /* a while loop begins here and ends there; 0: none */
} c_word;

enum c_region_kind { C_FUNCTION, C_LOOP, C_STRIP, C_IF, C_WHILE };
typedef struct c_region {
    enum c_region_kind kind;
    uint32_t end;             /* of if and while: the word behind */
    uint32_t number;
    uint32_t names;           /* names declared around it */
    bool chunked;             /* a strip in two loops */
    int64_t work;             /* of a strip of known length */
} c_region;

typedef struct c_kernel {
    rlx_context *ctx;
    rlx_memory *memory;
    const rlx_c_kernel *source;
    bool unchecked, failed;
    bool spent;               /* the last statement did */
    const uint8_t *part[RLX_KERNEL_PARTS];
    uint32_t count[RLX_KERNEL_PARTS];
    c_word *words;            /* by word of the code */
    c_value *values;          /* by register */
    rlx_string const **hints; /* by register */
    bool *used, *written;     /* by buffer */
    c_value *buffers;         /* names of the buffers */
    rlx_buf pool;             /* texts of values */
    RLX_VEC(c_region) regions;
    rlx_map names;            /* in scope */
    RLX_VEC(c_value) declared;
    RLX_VEC(uint32_t) pending; /* registers that may be */
    uint32_t num_regions, num_temps;
    rlx_buf line;
    rlx_buf *out;
} c_kernel;

/* ---- c_scan.c */
/* finds the parts; tables in g. False: no memory */
bool c_open(c_kernel *g);
void c_close(c_kernel *g);
RLX_INLINE uint16_t c_word_at(const c_kernel *g, uint32_t at)
{
    return rlx_get_u16(g->part[RLX_KERNEL_CODE] + 2 * (size_t)at);
}
RLX_INLINE uint8_t c_reg_byte(const c_kernel *g, uint32_t r)
{
    return g->part[RLX_KERNEL_REGS][r];
}
RLX_INLINE unsigned c_class(const c_kernel *g, uint32_t r)
{
    return c_reg_byte(g, r) & RLX_KERNEL_CLASS_MASK;
}
uint32_t c_jump_target(const c_kernel *g, uint32_t at);
/* Regions as code is gone through in order: before and after the instruction at `at`. */
bool c_enter(c_kernel *g, uint32_t at, void (*closed)(c_kernel *g, const c_region *r),
             void (*begun)(c_kernel *g));
bool c_push(c_kernel *g, enum c_region_kind kind, uint32_t end);
/* does a jump there end the innermost while loop? */
bool c_leaves_while(c_kernel *g, uint32_t target);
RLX_INLINE c_region *c_top(c_kernel *g) { return &rlx_vec_last(&g->regions); }

/* ---- c_value.c */
extern const char *const c_class_types[RLX_CLASS_COUNT], *const c_elem_types[RLX_ELEM_COUNT];
c_value c_operand(c_kernel *g, uint32_t r);
/* in parentheses unless it binds as tightly */
void c_put(c_kernel *g, rlx_buf *b, c_value v, int rank);
/* The value of instruction `at`, a VALUE row or integer arithmetic, as text in the pool. */
c_value c_arithmetic(c_kernel *g, uint32_t at);
/* what was appended to the pool since `begin` */
c_value c_text(c_kernel *g, size_t begin, int rank);
c_value c_load(c_kernel *g, uint32_t row, c_value offset);
bool c_may_fail(unsigned op);
/* one that operations call */
bool c_is_function(rlx_slice name);
/* number as text; condition of a and b */
const char *c_trouble(unsigned op, const char **condition);
void c_put_condition(c_kernel *g, rlx_buf *b, const char *text, const c_value *v);

/* ---- c_kernel.c */
void c_kernel_write(c_kernel *g, size_t number);
/* letters, digits and _ only */
void c_put_plain(rlx_buf *b, rlx_slice name, size_t most);

/* ---- c_prelude.c */
/* Appends what of the prelude the text uses. */
void rlx_c_prelude(rlx_memory *m, rlx_slice body, rlx_buf *out);

#endif
