/* kernel_int.h: inside the kernel interpreter. */
#ifndef RLX_RUNTIME_KERNEL_INT_H
#define RLX_RUNTIME_KERNEL_INT_H

#include "format/kernel_format.h"
#include "format/value_tags.h"
#include "micro/micro.h"
#include "runtime/kernel.h"

/* ---- loaded kernels. Code keeps the word positions of the file, one uint32 per word: register
 * operands have become byte offsets in the frame (the lowest bit set: the cell there points at
 * the strip), jumps are signed distances. A value instruction has RLX_KERNEL_WIDE in its opcode
 * word if it works on strips. */
#define RLX_KERNEL_WIDE 0x10000u
#define RLX_KERNEL_CLASS_SHIFT 24 /* of the x operands */
/* Chains (kernel_chain.c): how many instructions are one, in the opcode word of the first; what is not stored (of a BROADCAST what no
 * short strip reads); strip loops with long strips, and loops over rows that are one chain
 * each (kernel_repeat.c). A register operand whose strip is one number has SAME. */
#define RLX_KERNEL_CHAIN_SHIFT 19
#define RLX_KERNEL_CHAINED (31u << RLX_KERNEL_CHAIN_SHIFT)
#define RLX_KERNEL_UNSTORED 0x20000u
#define RLX_KERNEL_LONG 0x40000u
#define RLX_KERNEL_SAME 2u
#define RLX_KERNEL_LONG_STRIP 16384
#define RLX_KERNEL_LONGER_STRIP 2048 /* of a kernel with few strips */
#define RLX_KERNEL_FUEL_PER_STRIP 16
#define RLX_KERNEL_ROWS 6u        /* most instructions on rows that are one */
/* Elements that are worth it, or not those of a few instructions. */
#define RLX_CHAIN_LEAST 32
#define RLX_CHAIN_LEAST_OF_FEW 96
#define RLX_CHAIN_FEW 4u
enum { RLX_KERNEL_MARK_START = 1, RLX_KERNEL_MARK_TARGET = 2 };
/* Does an operand with this letter of rlx_kernel_ops name a register that is written? */
RLX_INLINE bool rlx_kernel_is_written(char letter)
{
    switch (letter) {
    case 'I': case 'L': case 'F': case 'D': case 'V': case 'X': case 'w': return true;
    default: return false;
    }
}
/* Does it name a register? */
RLX_INLINE bool rlx_kernel_is_register(char letter, uint32_t w)
{
    switch (letter) {
    case 'i': case 'l': case 'f': case 'd': case 'v': case 'x': case 's': case 'r': case 'c': return true;
    case 'm': return w != RLX_KERNEL_NONE;
    default: return rlx_kernel_is_written(letter);
    }
}
typedef struct rlx_kernel_param {
    uint8_t kind, klass;
    uint16_t index;
    int32_t dtype;
    uint32_t offset;
    /* of a buffer (kernel_entry.c): */
    uint64_t key;         /* rlx_dl_key of a tensor that fits */
    uint8_t misaligned;   /* bits that its address does not have */
    bool has_sizes;       /* all are known */
    uint32_t sizes;       /* where they stand in the kernel's, and behind them the strides */
    int64_t count;        /* their product */
} rlx_kernel_param;
typedef struct rlx_kernel_buffer {
    uint8_t kind, rank, elem, bytes;
    uint32_t name;
    /* constants: offset in data, elements; temporaries: number of its slot, nothing */
    uint64_t data, count;
    bool written;         /* some instruction stores into it */
    uint16_t same;        /* 1 + the buffer that may be the same memory, 0: none does */
    uint32_t param;       /* of a parameter: its number */
    bool allocated;       /* temporaries: some instruction does */
    uint32_t region;      /* where: 1 + word of the innermost PAR around it, 0: outside of them */
} rlx_kernel_buffer;

struct rlx_kernel {
    rlx_memory *memory;
    size_t size;              /* of this block, everything included */
    uint32_t num_params, num_buffers, num_consts, num_words, num_temps, names_size;
    relax_kernel_fn *native;  /* NULL: none */
    size_t frame_size, cells; /* cells: of what stands in front of the strips */
    int64_t strip;            /* most elements of a strip of its own */
    uint32_t num_tensors;     /* parameters that are buffers, the first buffers of all */
    uint32_t entry;           /* word where it begins if all known sizes have been compared */
    uint32_t plain;           /* a bit for each parameter, if all buffers are parameters in their order and nothing else is; else 0 */
    uint64_t written;         /* rlx_kernel_written */
    const int64_t *sizes;
    const rlx_kernel_param *params;
    const rlx_kernel_buffer *buffers;
    const uint64_t *consts;
    const uint32_t *code;
    const char *names;
    const unsigned char *data;
};

/* The most elements of strips in a loop, by its opcode word. */
RLX_ALWAYS_INLINE int64_t rlx_kernel_most_of(const rlx_kernel *k, uint32_t opcode)
{
    return opcode & RLX_KERNEL_LONG ? RLX_KERNEL_LONG_STRIP : k->strip;
}

/* What calls need not find out again (kernel_entry.c). sizes: as many as twice the ranks of all buffers,
 * of those up to this rank. */
#define RLX_KERNEL_SIZED_RANK 8
void rlx_kernel_find_entry(rlx_kernel *k, rlx_kernel_param *params, int64_t *sizes);

/* A buffer during a call. */
typedef struct rlx_kernel_view {
    unsigned char *data;
    int64_t count;            /* elements */
    const int64_t *shape;     /* of an argument */
} rlx_kernel_view;

/* A call under way, and how it fails. */
typedef struct rlx_kernel_run {
    const rlx_kernel *k;
    rlx_kernel_env *env;
    unsigned char *frame;
    rlx_kernel_view *views;
    rlx_fault *why;
    const rlx_micro_set *micro;
    uint32_t begin;           /* word of the first instruction */
    uint32_t known;           /* as rlx_kernel_call_known has it */
    const uint32_t *end;      /* an ENDPAR that ends this run; NULL: END does */
    bool shared;              /* one of several threads: loops inside run in order */
} rlx_kernel_run;
bool rlx_kernel_stopped(rlx_kernel_run *r);     /* fills the fuel up; true: the call ends */
bool rlx_kernel_spend(rlx_kernel_run *r, int64_t work);     /* false: the call ends */
bool rlx_kernel_alloc(rlx_kernel_run *r, uint32_t buffer, int64_t count);
/* An instruction on blocks of memory with the operands of that instruction, in their order: numbers and buffers as they
 * stand, registers by their values; they are not what they were afterwards. The loader's checks of numbers and element
 * types hold. */
#define RLX_KERNEL_BLOCK_OPERANDS 33
bool rlx_kernel_block(rlx_kernel_run *r, unsigned op, int64_t *operands);
/* Instructions on the same rows, row by row; ops: opcode words as loaded (RLX_KERNEL_UNSTORED: rows that only the next
 * one reads); *done: false if they have to run one after the other, and nothing has been done. */
bool rlx_kernel_block_rows(rlx_kernel_run *r, const uint32_t *ops, int64_t (*operands)[RLX_KERNEL_BLOCK_OPERANDS], size_t count,
                           bool *done);
/* to[i] = 1 / b[i] or log(b[i]): MAP of one column. */
void rlx_kernel_map_single(uint8_t function, float *to, const float *b, int64_t n);
/* What the checks of boxes are made of; they lie in their buffers, of which they have element `off`. Extents are at least 1. */
bool rlx_kernel_box_in_range(rlx_kernel_run *r, int64_t b, int64_t off, const int64_t *strides, const int64_t *extents, int n);
RLX_INLINE bool rlx_kernel_any_empty(const int64_t *extents, int n)
{
    bool empty = false;
    for (int i = 0; i < n; i++)
        empty |= extents[i] <= 0;
    return empty;
}
/* A stride along which there is one element may be anything: no pointer is to move by it. */
RLX_INLINE void rlx_kernel_drop_unused(const int64_t *extents, int64_t *strides, int n)
{
    for (int i = 0; i < n; i++)
        strides[i] = extents[i] == 1 ? 0 : strides[i];
}
RLX_INLINE void *rlx_kernel_element(const rlx_kernel_run *r, int64_t b, int64_t off)
{
    return r->views[b].data + (size_t)off * r->k->buffers[b].bytes;
}
/* Bytes of an argument. */
RLX_INLINE size_t rlx_kernel_view_bytes(const rlx_kernel *k, const rlx_kernel_view *views, uint32_t i)
{
    return (size_t)views[i].count * k->buffers[i].bytes;
}
/* Does what is only read begin where an output does that overwrites it element by element? */
RLX_ALWAYS_INLINE bool rlx_kernel_same_place(const rlx_kernel *k, const rlx_kernel_view *views, uint32_t in, uint32_t out)
{
    return k->buffers[in].same == out + 1 && !k->buffers[in].written && views[in].data == views[out].data;
}
/* Do two arguments that are written share memory? */
bool rlx_kernel_outputs_overlap(const rlx_kernel *k, const rlx_kernel_view *views);
/* What is only read is read as it was before the call, from a copy unless the kernel says that it may be the memory of its
 * output: kernels pack their operands and go through them in an order of their own. The views are those of the copies then. */
bool rlx_kernel_copy_shared(rlx_kernel_run *r);
/* All give false. */
bool rlx_kernel_out_of_buffer(rlx_kernel_run *r, uint32_t buffer, int64_t offset);
bool rlx_kernel_out_of_dim(rlx_kernel_run *r, uint32_t buffer, uint32_t dim, int64_t index,
                           int64_t size);
bool rlx_kernel_wrong_size(rlx_kernel_run *r, uint32_t buffer, uint32_t dim, int64_t found,
                           int64_t expected);
bool rlx_kernel_troubled(rlx_kernel_run *r, int trouble); /* enum rlx_kernel_trouble */
bool rlx_kernel_failed_assertion(rlx_kernel_run *r, uint32_t assertion, const char *text);
int rlx_kernel_run_native(rlx_kernel_run *r);             /* what the kernel gives; kernel_native.c */
/* What is there for r->k, so that a call can begin. False: no memory. */
bool rlx_kernel_env_grow(const rlx_kernel *k, rlx_kernel_env *env, rlx_fault *why);
/* view V b r: where the n elements are. */
RLX_ALWAYS_INLINE bool rlx_kernel_view_strip(rlx_kernel_run *r, const uint32_t *w, size_t n)
{
    const rlx_kernel_view *v = &r->views[w[2]];
    int64_t off;
    uint64_t count = (uint64_t)v->count; /* not negative */
    memcpy(&off, r->frame + w[3], sizeof off);
    if (RLX_UNLIKELY(n && ((uint64_t)off >= count || n > count - (uint64_t)off)))
        return rlx_kernel_out_of_buffer(r, w[2], off);
    unsigned char *p = v->data + (n ? (size_t)off * r->k->buffers[w[2]].bytes : 0);
    memcpy(r->frame + (w[1] & ~1u), &p, sizeof p);
    return true;
}
/* Runs from that instruction on. */
bool rlx_kernel_run_code(rlx_kernel_run *r, const uint32_t *w);

/* ---- chains, in kernel_chain.c: found in code that has been checked, marked there */
typedef struct rlx_kernel_chains {
    const uint8_t *words, *regs, *marks;   /* of the file; marks of words */
    uint32_t num_words, num_regs;
    const rlx_kernel_buffer *buffers;
    uint32_t *code;                        /* loaded */
    uint32_t *work;                        /* zeros */
} rlx_kernel_chains;
size_t rlx_kernel_chains_work(uint32_t num_regs, uint32_t num_words, uint32_t num_buffers);
void rlx_kernel_find_chains(const rlx_kernel_chains *in);
/* The steps of the chain that begins at w, RLX_CHAIN_STEPS at most; gives what is behind it. */
const uint32_t *rlx_kernel_make_chain(const rlx_kernel_run *r, const uint32_t *w, rlx_micro_step *steps);
/* Runs it over strips of n elements; likewise. */
const uint32_t *rlx_kernel_run_chain(const rlx_kernel_run *r, const uint32_t *w, size_t n);

/* ---- loops over rows of a chain, in kernel_repeat.c: found where chains have been */
void rlx_kernel_find_repeated(const rlx_kernel_chains *in);
enum rlx_repeated { RLX_REPEATED_NOT, RLX_REPEATED_DONE, RLX_REPEATED_FAILED };
/* The loop at w with all of its rows; behind: where to go on. NOT: nothing is done, and it runs as any loop. */
enum rlx_repeated rlx_kernel_run_repeated(rlx_kernel_run *r, const uint32_t *w, const uint32_t **behind);

/* ---- parallel loops, in kernel_parallel.c */
typedef struct rlx_kernel_loop {
    int64_t min, extent, work, grain;  /* operands of PAR */
    uint32_t region;                   /* 1 + word of the PAR; what temporaries belong to is in buffers */
    uint32_t end;                      /* word behind it */
    /* Does a part of it; r is that of the thread. */
    bool (*part)(rlx_kernel_run *r, const struct rlx_kernel_loop *loop, int64_t begin, int64_t count);
    const void *user;
} rlx_kernel_loop;
/* Is it worth it, and are there threads? */
bool rlx_kernel_is_shared(const rlx_kernel_run *r, const rlx_kernel_loop *loop);
/* Does all parts on several threads; *done: there were some. Of several parts that fail, the first one in the order of the loop
 * is what r->why says. */
bool rlx_kernel_share(rlx_kernel_run *r, const rlx_kernel_loop *loop, bool *done);
void rlx_kernel_free_helpers(rlx_kernel_env *env);

/* ---- vector strips: n elements of a register */
/* enum rlx_kernel_trouble */
typedef int rlx_value_fn(void *d, const void *a, const void *b, const void *c, size_t n);
extern rlx_value_fn *const rlx_value_fns[RLX_K_COUNT];

/* Memory to register and back, by rlx_kernel_elem. The range has been checked. */
typedef void rlx_load_fn(void *d, const void *p, int64_t stride, size_t n);
typedef void rlx_store_fn(void *p, int64_t stride, const void *a, size_t n);
/* At offsets `at`, where mask (NULL: everywhere); returns the position of the first offset
 * outside 0 ... count - 1, or -1. */
typedef int64_t rlx_load_each_fn(void *d, const void *p, const int64_t *at, const int32_t *mask,
                                 size_t n, int64_t count);
typedef int64_t rlx_store_each_fn(void *p, const int64_t *at, const int32_t *mask, const void *a,
                                  size_t n, int64_t count);
typedef struct rlx_access_row {
    rlx_load_fn *load, *load_strided;
    rlx_store_fn *store, *store_strided;
    rlx_load_each_fn *load_each;
    rlx_store_each_fn *store_each;
} rlx_access_row;
extern const rlx_access_row rlx_access_fns[RLX_ELEM_COUNT];

void rlx_fill_strip(void *d, const void *a, int klass, size_t n);
/* Offsets of n indices: start + i * step + place * stride, where the place is the index, and `behind` more if that is negative.
 * p: start, step, stride, size, behind; stride and size have 32 bits. False: a place is not below size. */
bool rlx_place_strip(int64_t *d, const int64_t *index, const uint64_t *p, size_t n);
void rlx_iota_strip(int64_t *d, int64_t start, int64_t step, size_t n);

#endif
