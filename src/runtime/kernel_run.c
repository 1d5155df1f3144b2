/* kernel_run.c: calls of kernels. The loader has checked the code; what depends on the call is
 * checked here: arguments, and the range of each access. */
#include "runtime/kernel_int.h"

#include <inttypes.h>

typedef rlx_kernel_run running;

/* ---- getting ready -------------------------------------------------------------------------- */

static bool is_grown(const rlx_kernel *k, const rlx_kernel_env *env)
{
    return k->frame_size <= env->frame_size && k->num_buffers <= env->num_views &&
           k->num_temps <= env->num_slots;
}

static int32_t dtype_of(DLDataType t)
{
    if (t.code == 6 && t.bits == 8)
        return (int32_t)((uint32_t)RELAX_BOOL & 0xffff) | (int32_t)((uint32_t)t.lanes << 16);
    return (int32_t)((uint32_t)t.code | (uint32_t)t.bits << 8 | (uint32_t)t.lanes << 16);
}

static bool is_compact(const DLTensor *t)
{
    int64_t step = 1;
    for (int32_t d = t->ndim; t->strides && d-- > 0;) {
        if (t->shape[d] != 1 && t->strides[d] != step)
            return false;
        step *= t->shape[d];
    }
    return true;
}

static bool bind_tensor(const rlx_kernel *k, uint32_t i, const DLTensor *t, rlx_kernel_view *view,
                        rlx_fault *why)
{
    const rlx_kernel_buffer *b = &k->buffers[k->params[i].index];
    const char *name = k->names + b->name;
    int64_t count = 1;
    if (t->device.device_type != 1)
        return rlx_fail(why, RLX_RT13, "kernel %s: %s is not in the memory of the CPU", k->names,
                        name);
    bool fits = rlx_dl_key(t) == k->params[i].key;
    if (!fits && dtype_of(t->dtype) != k->params[i].dtype)
        return rlx_fail(why, RLX_RT03, "kernel %s: %s has the wrong dtype", k->names, name);
    if (!fits && t->ndim != b->rank)
        return rlx_fail(why, RLX_RT04, "kernel %s: %s has rank %d, expected %d", k->names, name,
                        t->ndim, b->rank);
    for (int32_t d = 0; d < t->ndim; d++) {
        if (t->shape[d] < 0)
            return rlx_fail(why, RLX_RT05, "kernel %s: dimension %d of %s is %" PRId64, k->names,
                            d, name, t->shape[d]);
        if (!rlx_mul_i64(count, t->shape[d], &count) || count > INT64_MAX / 8)
            return rlx_fail(why, RLX_RT10,
                            "kernel %s: the sizes of %s are more than can be indexed", k->names,
                            name);
    }
    unsigned char *data = t->data ? (unsigned char *)t->data + t->byte_offset : NULL;
    if (count && (!t->data || (uintptr_t)data % b->bytes))
        return rlx_fail(why, RLX_RT05, "kernel %s: the data of %s is missing or not aligned",
                        k->names, name);
    if (count && t->strides && !is_compact(t))
        return rlx_fail(why, RLX_RT05, "kernel %s: %s is not compact", k->names, name);
    *view = (rlx_kernel_view){ data, count, t->shape };
    return true;
}

/* A tensor of sizes that the kernel knows, compact and where kernels can reach it. False: perhaps not.
 * Without a branch for each size, which costs more than the comparison. */
RLX_ALWAYS_INLINE bool bind_sized(const rlx_kernel *k, const rlx_kernel_param *p, const DLTensor *t,
                                  rlx_kernel_view *view)
{
    const int64_t *sizes = k->sizes + p->sizes, *shape = t->shape, *strides = t->strides;
    const uint32_t rank = p->key & 0xff;
    int64_t differ = 0;
    if (!p->has_sizes || rlx_dl_key(t) != p->key || t->device.device_type != 1 || !t->data)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        differ |= shape[d] ^ sizes[d];
    for (uint32_t d = 0; strides && d < rank; d++)
        differ |= strides[d] ^ sizes[rank + d];
    unsigned char *data = (unsigned char *)t->data + t->byte_offset;
    *view = (rlx_kernel_view){ data, p->count, shape };
    return !differ && !((uintptr_t)data & p->misaligned);
}

/* A tensor of ours that fits; memory of a host may lie anywhere. */
RLX_ALWAYS_INLINE bool bind_known(const rlx_kernel_param *p, const DLTensor *t,
                                  rlx_kernel_view *view)
{
    *view = (rlx_kernel_view){ t->data, p->count, t->shape };
    return RLX_LIKELY(!((uintptr_t)t->data & p->misaligned));
}

static bool bind_scalar(const rlx_kernel *k, uint32_t i, const relax_value *arg,
                        unsigned char *cell, rlx_fault *why)
{
    const rlx_kernel_param *p = &k->params[i];
    bool is_int = arg->type_index == RELAX_VALUE_INT || arg->type_index == RELAX_VALUE_BOOL;
    if (p->klass == RLX_CLASS_F32 || p->klass == RLX_CLASS_F64) {
        if (!is_int && arg->type_index != RELAX_VALUE_FLOAT)
            return rlx_fail(why, RLX_RT02,
                            "kernel %s: parameter %u is a number, another kind of value came",
                            k->names, i);
        double d = is_int ? (double)arg->v.i : arg->v.f;
        float f = (float)rlx_dtype_round(p->dtype, d);
        memcpy(cell, p->klass == RLX_CLASS_F64 ? (void *)&d : (void *)&f,
               p->klass == RLX_CLASS_F64 ? 8 : 4);
        return true;
    }
    if (!is_int)
        return rlx_fail(why, RLX_RT02,
                        "kernel %s: parameter %u is an integer, another kind of value came",
                        k->names, i);
    if (!rlx_dtype_has_bits(p->dtype, arg->v.i))
        return rlx_fail(why, RLX_RT05,
                        "kernel %s: %" PRId64 " does not fit the dtype of parameter %u", k->names,
                        arg->v.i, i);
    int32_t narrow = (int32_t)arg->v.i;
    if (p->klass == RLX_CLASS_I64)
        memcpy(cell, &arg->v.i, 8);
    else
        memcpy(cell, &narrow, 4);
    return true;
}

/* Scalars go where the code looks for them: native code at their place among the parameters. */
static bool bind(running *r, const relax_value *args, bool native)
{
    const rlx_kernel *k = r->k;
    rlx_kernel_env *env = r->env;
    rlx_fault *why = r->why;
    r->begin = k->entry;
    for (uint32_t i = 0; i < k->num_params; i++) {
        const relax_value *a = &args[i];
        if (i < 32 && r->known >> i & 1 &&
            bind_known(&k->params[i], a->v.p, &env->views[k->params[i].index]))
            continue;
        if (RLX_LIKELY(a->type_index == RELAX_VALUE_TENSOR_VIEW && a->v.p) &&
            k->params[i].kind == RLX_KERNEL_PARAM_BUFFER &&
            bind_sized(k, &k->params[i], a->v.p, &env->views[k->params[i].index]))
            continue;
        if (k->params[i].kind == RLX_KERNEL_PARAM_SCALAR) {
            if (!bind_scalar(k, i, a,
                             env->frame +
                                 (native ? i * sizeof(relax_kernel_scalar) : k->params[i].offset),
                             why))
                return false;
        } else if (a->type_index != RELAX_VALUE_TENSOR_VIEW || !a->v.p)
            return rlx_fail(why, RLX_RT02,
                            "kernel %s: parameter %u is a tensor, another kind of value came",
                            k->names, i);
        else if (!bind_tensor(k, i, a->v.p, &env->views[k->params[i].index], why))
            return false;
        else if (k->params[i].has_sizes)
            r->begin = 0;
    }
    for (uint32_t b = k->num_tensors; b < k->num_buffers; b++)
        if (k->buffers[b].kind == RLX_KERNEL_BUFFER_CONST)
            env->views[b] = (rlx_kernel_view){ (unsigned char *)k->data + k->buffers[b].data,
                                               (int64_t)k->buffers[b].count, NULL };
        else if (k->buffers[b].kind == RLX_KERNEL_BUFFER_TEMP)
            env->views[b] = (rlx_kernel_view){ NULL, 0, NULL };
    return true;
}

/* ---- pieces of the interpreter -------------------------------------------------------------- */

bool rlx_kernel_spend(running *r, int64_t work)
{
    r->env->fuel -= work;
    return r->env->fuel >= 0 || !rlx_kernel_stopped(r);
}

/* The register of an operand: in the frame, or where a view points. */
RLX_ALWAYS_INLINE void *reg(const running *r, uint32_t offset)
{
    unsigned char *p = r->frame + (offset & ~3u);
    if (RLX_UNLIKELY(offset & 1))
        memcpy(&p, p, sizeof(void *));
    return p;
}

RLX_ALWAYS_INLINE int64_t *scalar(const running *r, uint32_t offset)
{
    return (int64_t *)(void *)(r->frame + offset);
}

/* Do n elements from `first` with this stride lie in 0 ... count - 1? n > 0 */
RLX_ALWAYS_INLINE bool in_range(int64_t first, int64_t stride, int64_t n, int64_t count)
{
    int64_t way, last;
    if (RLX_MUL_OVERFLOWS(n - 1, stride, &way) || RLX_ADD_OVERFLOWS(first, way, &last))
        return false;
    return (uint64_t)first < (uint64_t)count && (uint64_t)last < (uint64_t)count;
}

static bool do_check(running *r, const uint32_t *w)
{
    int64_t low = *scalar(r, w[1]), high = *scalar(r, w[2]), size = *scalar(r, w[3]);
    if (RLX_LIKELY(low >= 0 && high < size))
        return true;
    return rlx_kernel_out_of_dim(r, w[4], w[5], low < 0 ? low : high, size);
}

static bool do_check_each(running *r, const uint32_t *w, size_t n)
{
    const int64_t *index = reg(r, w[1]);
    const int32_t *mask = w[3] == UINT32_MAX ? NULL : reg(r, w[3]);
    int64_t size = *scalar(r, w[2]);
    for (size_t i = 0; i < n; i++)
        if (RLX_UNLIKELY(index[i] < 0 || index[i] >= size) && (!mask || mask[i]))
            return rlx_kernel_out_of_dim(r, w[4], w[5], index[i], size);
    return true;
}

/* Indices may be memory that another thread writes; offsets are tested where they are used, so this is for what it says. */
static bool do_place_each(running *r, const uint32_t *w, size_t n)
{
    int64_t *d = reg(r, w[1]);
    const int64_t *index = reg(r, w[2]);
    const uint64_t size = (uint64_t)*scalar(r, w[6]),
                   p[] = { (uint64_t)*scalar(r, w[3]), (uint64_t)*scalar(r, w[4]), (uint64_t)*scalar(r, w[5]), size,
                           w[8] & RLX_KERNEL_FROM_END ? size : 0 };
    if (RLX_LIKELY(!((p[2] | size) >> 32) && rlx_place_strip(d, index, p, n)))
        return true;
    for (size_t i = 0; i < n; i++) {
        const int64_t k = index[i];
        const uint64_t place = (uint64_t)k + (k < 0 ? p[4] : 0);
        if (place >= size)
            return rlx_kernel_out_of_dim(r, w[7], w[8] & ~(uint32_t)RLX_KERNEL_FROM_END, (int64_t)place, (int64_t)size);
        d[i] = (int64_t)(p[0] + i * p[1] + place * p[2]);
    }
    return true;
}

/* load V b r, load_strided V b r r, store B r v, store_strided B r r v */
static bool do_access(running *r, const uint32_t *w, size_t n, bool strided, bool store)
{
    uint32_t b = w[store ? 1 : 2];
    const rlx_kernel_view *v = &r->views[b];
    int64_t off = *scalar(r, w[store ? 2 : 3]),
            stride = strided ? *scalar(r, w[store ? 3 : 4]) : 1;
    if (n == 0)
        return true;
    if (RLX_UNLIKELY(!in_range(off, stride, (int64_t)n, v->count)))
        return rlx_kernel_out_of_buffer(r, b, off);
    const rlx_access_row *f = &rlx_access_fns[r->k->buffers[b].elem];
    unsigned char *p = v->data + (size_t)off * r->k->buffers[b].bytes;
    if (!store)
        (strided ? f->load_strided : f->load)(reg(r, w[1]), p, stride, n);
    else
        (strided ? f->store_strided : f->store)(p, stride, reg(r, w[strided ? 4 : 3]), n);
    return true;
}

/* load_each V b l m, store_each B l m v */
static bool do_each(running *r, const uint32_t *w, size_t n, bool store)
{
    uint32_t b = w[store ? 1 : 2], mask_at = w[store ? 3 : 4];
    const rlx_kernel_view *v = &r->views[b];
    const int64_t *at = reg(r, w[store ? 2 : 3]);
    const int32_t *mask = mask_at == UINT32_MAX ? NULL : reg(r, mask_at);
    const rlx_access_row *f = &rlx_access_fns[r->k->buffers[b].elem];
    int64_t wrong = store ? f->store_each(v->data, at, mask, reg(r, w[4]), n, v->count)
                          : f->load_each(reg(r, w[1]), v->data, at, mask, n, v->count);
    return wrong < 0 ? true : rlx_kernel_out_of_buffer(r, b, at[wrong]);
}

static bool do_add_each(running *r, const uint32_t *w, size_t n)
{
    const volatile int64_t *at = reg(r, w[2]);
    const float *a = reg(r, w[3]);
    float *p = (float *)(void *)r->views[w[1]].data;
    const uint64_t count = (uint64_t)r->views[w[1]].count;
    for (size_t i = 0; i < n; i++) {
        const int64_t k = at[i];
        if (RLX_UNLIKELY((uint64_t)k >= count))
            return rlx_kernel_out_of_buffer(r, w[1], k);
        p[k] += a[i];
    }
    return true;
}

/* Rows are copied in pieces, so that long ones can be stopped. Offsets are read once: they may be memory that is written. */
static bool do_copy_rows(running *r, const uint32_t *w, size_t n)
{
    enum { PIECE = 1 << 20 }; /* bytes */
    const rlx_kernel_view *from = &r->views[w[4]];
    const volatile int64_t *at = reg(r, w[5]);
    const size_t bytes = r->k->buffers[w[4]].bytes;
    const int64_t off = *scalar(r, w[2]), stride = *scalar(r, w[3]), length = *scalar(r, w[6]);
    const int64_t extents[2] = { (int64_t)n, length }, strides[2] = { stride, 1 };
    if (n == 0 || length <= 0)
        return true;
    if (!rlx_kernel_box_in_range(r, w[1], off, strides, extents, 2))
        return false;
    int64_t work = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t first = at[i];
        if (RLX_UNLIKELY(first < 0 || length > from->count || first > from->count - length))
            return rlx_kernel_out_of_buffer(r, w[4], first);
        unsigned char *to = r->views[w[1]].data + (size_t)(off + (int64_t)i * stride) * bytes;
        const unsigned char *row = from->data + (size_t)first * bytes;
        for (size_t done = 0, all = (size_t)length * bytes, now; done < all; done += now) {
            now = all - done < PIECE ? all - done : PIECE;
            memmove(to + done, row + done, now);
            work += (int64_t)now;
            if (work >= PIECE && !rlx_kernel_spend(r, PIECE >> 8))
                return false;
            work %= PIECE;
        }
    }
    return true;
}

/* Operands by value, but for those that `plain` has a bit of: numbers and buffers. */
#define BLOCK(name, op, n, plain)                                                       \
    static bool do_##name(running *r, const uint32_t *w)                                \
    {                                                                                   \
        int64_t x[RLX_KERNEL_BLOCK_OPERANDS];                                           \
        RLX_UNROLL for (int i = 0; i < (n); i++)                                    \
            x[i] = (uint64_t)(plain) >> i & 1 ? (int64_t)w[1 + i] : *scalar(r, w[1 + i]); \
        return rlx_kernel_block(r, op, x);                                              \
    }
BLOCK(copy, RLX_K_COPY, 16, 0x5)
BLOCK(sum, (uint16_t)w[0], 25, 0x2043) /* contract, partial */
BLOCK(reduce, RLX_K_REDUCE, 18, 0x43)
BLOCK(normalize, RLX_K_NORMALIZE, 33, 0x8888889)
BLOCK(map, RLX_K_MAP, 15, 0x223)

/* The values of operands; plain: those that are numbers and buffers. */
static void take_operands(const running *r, const uint32_t *w, uint32_t n, uint32_t plain, int64_t *x)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = plain >> i & 1 ? (int64_t)w[1 + i] : *scalar(r, w[1 + i]);
}

/* pack, unpack: of much work each, so that they need no unrolled operands of their own. */
static bool do_panels(running *r, const uint32_t *w, uint32_t n, uint32_t plain)
{
    int64_t x[RLX_KERNEL_BLOCK_OPERANDS];
    take_operands(r, w, n, plain, x);
    return rlx_kernel_block(r, (uint16_t)w[0], x);
}

/* Instructions on rows that are one; *at: where to go on. */
RLX_NOINLINE static bool do_rows(running *r, const uint32_t **at)
{
    int64_t operands[RLX_KERNEL_ROWS][RLX_KERNEL_BLOCK_OPERANDS];
    uint32_t ops[RLX_KERNEL_ROWS], count = 0;
    const uint32_t *w = *at;
    for (uint32_t left = w[0] >> RLX_KERNEL_CHAIN_SHIFT & 31; left; left--, count++) {
        ops[count] = w[0];
        uint32_t op = w[0] & 0xffff, words = op == RLX_K_MAP ? 15 : op == RLX_K_REDUCE ? 18 : 25;
        take_operands(r, w, words, op == RLX_K_MAP ? 0x223 : op == RLX_K_REDUCE ? 0x43 : 0x2043, operands[count]);
        w += 1 + words;
    }
    bool done = false;
    if (!rlx_kernel_block_rows(r, ops, operands, count, &done))
        return false;
    if (done)
        *at = w;
    else if ((ops[0] & 0xffff) == RLX_K_MAP)
        return do_map(r, *at) ? (*at += 16, true) : false;
    else
        return do_reduce(r, *at) ? (*at += 19, true) : false;
    return true;
}

static bool do_want_dim(running *r, const uint32_t *w)
{
    int64_t found = r->views[w[1]].shape[w[2]], expected = *scalar(r, w[3]);
    if (RLX_LIKELY(found == expected))
        return true;
    return rlx_kernel_wrong_size(r, w[1], w[2], found, expected);
}

RLX_ALWAYS_INLINE int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
RLX_ALWAYS_INLINE int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
RLX_ALWAYS_INLINE int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
RLX_ALWAYS_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Words of a value instruction: opcode and 2 to 4 operands. */
static const uint8_t value_words[RLX_K_COUNT] = {
#define OP(name, text, operands)
#define VALUE(name, text, operands) [RLX_K_##name] = sizeof(operands),
#include "format/kernel_opcode.def"
};

RLX_ALWAYS_INLINE int run_value(const running *r, const uint32_t *w, uint32_t op, size_t n)
{
    rlx_value_fn *f = rlx_value_fns[op];
    switch (value_words[op]) {
    case 3: return f(reg(r, w[1]), reg(r, w[2]), NULL, NULL, n);
    case 4: return f(reg(r, w[1]), reg(r, w[2]), reg(r, w[3]), NULL, n);
    default:
        return f(reg(r, w[1]), reg(r, w[2]), reg(r, w[3]),
                 w[4] == UINT32_MAX ? NULL : reg(r, w[4]), n);
    }
}

RLX_ALWAYS_INLINE bool is_worth_chain(uint32_t head, size_t n)
{
    return n >= RLX_CHAIN_LEAST_OF_FEW || (n >= RLX_CHAIN_LEAST && (head >> RLX_KERNEL_CHAIN_SHIFT & 31) > RLX_CHAIN_FEW);
}

/* A jump; backward ones are work. */
#define JUMP_TO(distance)                                                         \
    do {                                                                          \
        int32_t d_ = (int32_t)(distance);                                         \
        if (d_ <= 0 && RLX_UNLIKELY(--r->env->fuel < 0) && rlx_kernel_stopped(r)) \
            return false;                                                         \
        w += d_;                                                                  \
    } while (0)
#define X(i) (*scalar(r, w[i]))
#define PAR_WORDS 9
#define STEP(words) { w += 1 + (words); continue; }
#define TRY(call, words) { if (RLX_UNLIKELY(!(call))) return false; w += 1 + (words); continue; }

static bool run_part(running *r, const rlx_kernel_loop *loop, int64_t begin, int64_t count)
{
    const uint32_t *w = r->k->code + loop->region - 1;
    X(1) = begin;
    X(2) = count;
    r->end = r->k->code + loop->end - 1;
    return rlx_kernel_run_code(r, w + PAR_WORDS);
}

/* A parallel loop, with all of its parts or the first one. *w: where to go on. */
RLX_NOINLINE static bool do_par(running *r, const uint32_t **at)
{
    const uint32_t *w = *at;
    uint32_t here = (uint32_t)(w - r->k->code);
    const rlx_kernel_loop loop = { .min = X(3), .extent = X(4), .work = X(5), .grain = w[6],
                                   .region = here + 1, .end = here + w[7], .part = run_part };
    bool done = loop.extent <= 0;
    if (!done && rlx_kernel_is_shared(r, &loop) && !rlx_kernel_share(r, &loop, &done))
        return false;
    X(1) = loop.min;
    X(2) = loop.extent;
    *at = done ? r->k->code + loop.end : w + PAR_WORDS;
    return true;
}

bool rlx_kernel_run_code(running *r, const uint32_t *w)
{
    size_t strip = 0; /* elements of strips, this time round */
    for (;;) {
        size_t n = w[0] & RLX_KERNEL_WIDE ? strip : 1;
        uint32_t op = w[0] & 0xffff;
        if (op >= RLX_K_FIRST_VALUE) {
            if (w[0] & RLX_KERNEL_CHAINED && is_worth_chain(w[0], n)) {
                w = rlx_kernel_run_chain(r, w, n);
                continue;
            }
            int trouble = run_value(r, w, op, n);
            if (RLX_UNLIKELY(trouble))
                return rlx_kernel_troubled(r, trouble);
            w += value_words[op];
            continue;
        }
        switch (op) {
        case RLX_K_END: return true;
        case RLX_K_JUMP: JUMP_TO(w[1]); continue;
        case RLX_K_JUMP_IF_NOT: {
            int32_t cond;
            memcpy(&cond, r->frame + w[1], 4);
            if (!cond)
                JUMP_TO(w[2]);
            else
                w += 4;
            continue;
        }
        case RLX_K_JUMP_IF_EMPTY:
            if (X(1) <= 0)
                JUMP_TO(w[2]);
            else
                w += 4;
            continue;
        case RLX_K_LOOP:
            if (w[0] & RLX_KERNEL_LONG) {
                const enum rlx_repeated done = rlx_kernel_run_repeated(r, w, &w);
                if (done == RLX_REPEATED_DONE)
                    continue;
                if (done == RLX_REPEATED_FAILED)
                    return false;
            }
            X(1) = X(2);
            X(4) = wrap_add(X(2), X(3));
            if (X(3) <= 0)
                JUMP_TO(w[5]);
            else
                w += 7;
            continue;
        case RLX_K_NEXT:
            X(1) = wrap_add(X(1), 1);
            if (X(1) < X(2))
                JUMP_TO(w[3]);
            else
                w += 5;
            continue;
        case RLX_K_PAR:
            if (RLX_UNLIKELY(!do_par(r, &w)))
                return false;
            continue;
        case RLX_K_ENDPAR:
            if (w == r->end)
                return true;
            STEP(0)
        case RLX_K_STRIP:
            X(1) = 0;
            strip = X(2) > 0 ? (size_t)least(X(2), rlx_kernel_most_of(r->k, w[0])) : 0;
            if (!strip)
                JUMP_TO(w[3]);
            else
                w += 5;
            continue;
        case RLX_K_NEXT_STRIP: {
            int64_t most = rlx_kernel_most_of(r->k, w[0]), left = wrap_sub(X(2), wrap_add(X(1), most));
            if (!rlx_kernel_spend(r, RLX_KERNEL_FUEL_PER_STRIP * (most / RLX_KERNEL_STRIP)))
                return false;
            strip = 0;
            if (left > 0) {
                X(1) = wrap_add(X(1), most);
                strip = (size_t)least(left, most);
                w += (int32_t)w[3];
            } else
                w += 5;
            continue;
        }
        case RLX_K_ASSERT: {
            int32_t cond;
            memcpy(&cond, r->frame + w[1], 4);
            if (!cond)
                return rlx_kernel_failed_assertion(r, w[2], r->k->names + w[3]);
            STEP(3)
        }
        case RLX_K_DIM: X(1) = r->views[w[2]].shape[w[3]]; STEP(3)
        case RLX_K_WANT_DIM: TRY(do_want_dim(r, w), 3)
        case RLX_K_ALLOC: TRY(rlx_kernel_alloc(r, w[1], X(2)), 2)
        case RLX_K_CHECK: TRY(do_check(r, w), 5)
        case RLX_K_CHECK_EACH: TRY(do_check_each(r, w, n), 5)
        case RLX_K_PLACE_EACH: TRY(do_place_each(r, w, n), 8)
        case RLX_K_XMOVE: X(1) = X(2); STEP(2)
        case RLX_K_XADD: X(1) = wrap_add(X(2), X(3)); STEP(3)
        case RLX_K_XSUB: X(1) = wrap_sub(X(2), X(3)); STEP(3)
        case RLX_K_XMUL: X(1) = wrap_mul(X(2), X(3)); STEP(3)
        case RLX_K_XMADD: X(1) = wrap_add(wrap_mul(X(2), X(3)), X(4)); STEP(4)
        case RLX_K_XMIN: X(1) = X(2) < X(3) ? X(2) : X(3); STEP(3)
        case RLX_K_XMAX: X(1) = X(2) > X(3) ? X(2) : X(3); STEP(3)
        case RLX_K_LOAD: TRY(do_access(r, w, n, false, false), 3)
        case RLX_K_LOAD_STRIDED: TRY(do_access(r, w, n, true, false), 4)
        case RLX_K_LOAD_EACH: TRY(do_each(r, w, n, false), 4)
        case RLX_K_STORE: TRY(do_access(r, w, n, false, true), 3)
        case RLX_K_STORE_STRIDED: TRY(do_access(r, w, n, true, true), 4)
        case RLX_K_STORE_EACH: TRY(do_each(r, w, n, true), 4)
        case RLX_K_ADD_EACH: TRY(do_add_each(r, w, n), 3)
        case RLX_K_VIEW: case RLX_K_VIEW_OUT: TRY(rlx_kernel_view_strip(r, w, n), 3)
        case RLX_K_BROADCAST: {
            int64_t most = X(3) < 0 ? 0 : least(X(3), w[0] & RLX_KERNEL_UNSTORED ? RLX_CHAIN_LEAST_OF_FEW : r->k->strip);
            rlx_fill_strip(reg(r, w[1]), r->frame + w[2], (int)(w[0] >> RLX_KERNEL_CLASS_SHIFT),
                           (size_t)most);
            STEP(3)
        }
        case RLX_K_IOTA: rlx_iota_strip(reg(r, w[1]), X(2), X(3), n); STEP(3)
        case RLX_K_COPY: TRY(do_copy(r, w), 16)
        case RLX_K_COPY_ROWS: TRY(do_copy_rows(r, w, n), 6)
        case RLX_K_PACK: TRY(do_panels(r, w, 16, 0xb), 16)
        case RLX_K_UNPACK: TRY(do_panels(r, w, 18, 0x2b), 18)
        case RLX_K_CONTRACT: case RLX_K_PARTIAL: TRY(do_sum(r, w), 25)
        case RLX_K_REDUCE:
            if (!(w[0] & RLX_KERNEL_CHAINED))
                TRY(do_reduce(r, w), 18)
            if (!do_rows(r, &w))
                return false;
            continue;
        case RLX_K_NORMALIZE: TRY(do_normalize(r, w), 33)
        case RLX_K_MAP:
            if (!(w[0] & RLX_KERNEL_CHAINED))
                TRY(do_map(r, w), 15)
            if (!do_rows(r, &w))
                return false;
            continue;
        default: return rlx_fail(r->why, RLX_RT14, "kernel %s: unknown instruction", r->k->names);
        }
    }
}

void rlx_kernel_set_native(rlx_kernel *k, relax_kernel_fn *native)
{
    k->native = native;
    if (k->frame_size < k->num_params * sizeof(relax_kernel_scalar))
        k->frame_size = k->num_params * sizeof(relax_kernel_scalar);
}

/* ---- arguments that share memory ------------------------------------------------------------ */

/* Does any argument share memory with another one that is written? */
RLX_ALWAYS_INLINE bool overlap(const rlx_kernel *k, const rlx_kernel_view *views)
{
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        if (!k->buffers[i].written)
            continue;
        uintptr_t begin = (uintptr_t)views[i].data, end = begin + rlx_kernel_view_bytes(k, views, i);
        for (uint32_t j = 0; j < k->num_tensors; j++) {
            uintptr_t other = (uintptr_t)views[j].data;
            if (RLX_UNLIKELY(i != j && other < end && begin < other + rlx_kernel_view_bytes(k, views, j)) &&
                !rlx_kernel_same_place(k, views, j, i))
                return true;
        }
    }
    return false;
}

/* All arguments are known to fit. False: memory of a host, which may lie anywhere. */
RLX_ALWAYS_INLINE bool bind_plain(running *r, const relax_value *args)
{
    const rlx_kernel *k = r->k;
    uintptr_t crooked = 0;
    for (uint32_t i = 0; i < k->num_params; i++) {
        const DLTensor *t = args[i].v.p;
        r->views[i] = (rlx_kernel_view){ t->data, k->params[i].count, t->shape };
        crooked |= (uintptr_t)t->data & k->params[i].misaligned;
    }
    r->begin = k->entry;
    return !crooked;
}

RLX_ALWAYS_INLINE bool start(running *r, const relax_value *args, bool native)
{
    uint64_t *frame = (uint64_t *)(void *)r->frame;
    for (uint32_t i = 0, n = native ? 0 : r->k->num_consts; i < n; i++)
        frame[i] = r->k->consts[i];
    if (r->k->plain && (r->known & r->k->plain) == r->k->plain && RLX_LIKELY(bind_plain(r, args)))
        return true;
    return bind(r, args, native);
}

bool rlx_kernel_call(const rlx_kernel *k, rlx_kernel_env *env, const relax_value *args,
                     int32_t num_args, rlx_fault *why)
{
    return rlx_kernel_call_known(k, env, args, num_args, 0, why);
}

bool rlx_kernel_call_known(const rlx_kernel *k, rlx_kernel_env *env, const relax_value *args,
                           int32_t num_args, uint32_t known, rlx_fault *why)
{
    if ((uint32_t)num_args != k->num_params)
        return rlx_fail(why, RLX_RT01, "kernel %s takes %u arguments, %d came", k->names,
                        k->num_params, num_args);
    if (RLX_UNLIKELY(!is_grown(k, env)) && !rlx_kernel_env_grow(k, env, why))
        return false;
    running r = { .k = k,
                  .env = env,
                  .frame = env->frame,
                  .views = env->views,
                  .why = why,
                  .micro = env->micro,
                  .known = known };
    /* What two outputs that share memory become is not defined; the bytecode runs then, as compilers of C are told that nothing
     * overlaps. It runs, too, what native code leaves to it. */
    for (bool native = k->native != NULL;; native = false) {
        env->native = native;
        if (!start(&r, args, native))
            return false;
        if (RLX_UNLIKELY(overlap(k, env->views))) {
            if (native && rlx_kernel_outputs_overlap(k, env->views))
                continue;
            if (!rlx_kernel_copy_shared(&r))
                return false;
            r.begin = 0;
        }
        if (!native)
            return rlx_kernel_run_code(&r, k->code + r.begin);
        const int how = rlx_kernel_run_native(&r);
        if (how != RELAX_KERNEL_BYTECODE)
            return !how;
    }
}
