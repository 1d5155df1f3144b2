/* kernel_dis.c: text of a kernel. Reads bytes that nobody has checked; stops at the first that
 * makes no sense. */
/* built for size */
#include "runtime/kernel_int.h"
#include "base/base.h"

typedef struct listing {
    const uint8_t *part[RLX_KERNEL_PARTS];
    uint32_t count[RLX_KERNEL_PARTS];
    rlx_buf *out;
} listing;

static bool find_parts(listing *l, const uint8_t *bytes, size_t len)
{
    static const uint32_t item[RLX_KERNEL_PARTS] = RLX_KERNEL_PART_ITEM;
    size_t at = RLX_KERNEL_HEADER_BYTES;
    if (len < at || rlx_get_u32(bytes) != RLX_KERNEL_MAGIC ||
        rlx_get_u32(bytes + 4) != RLX_KERNEL_VERSION)
        return false;
    for (int p = 0; p < RLX_KERNEL_PARTS; p++) {
        l->count[p] = rlx_get_u32(bytes + 12 + 4 * p);
        size_t size = ((size_t)l->count[p] * item[p] + 7) & ~(size_t)7;
        if (l->count[p] > 1u << 30 || size > len - at)
            return false;
        l->part[p] = bytes + at;
        at += size;
    }
    return true;
}

/* A name, printable and of bounded length. */
static void put_name(listing *l, uint32_t at)
{
    uint32_t n = l->count[RLX_KERNEL_NAMES];
    for (uint32_t i = at; i < n && i < at + 200 && l->part[RLX_KERNEL_NAMES][i]; i++) {
        char c = (char)l->part[RLX_KERNEL_NAMES][i];
        rlx_buf_char(l->out, c >= 32 && c < 127 ? c : '?');
    }
}

static void put_buffer(listing *l, uint32_t b)
{
    rlx_buf_format(l->out, "%%%u", b);
    if (b < l->count[RLX_KERNEL_BUFFERS]) {
        rlx_buf_char(l->out, ':');
        put_name(l, rlx_get_u32(l->part[RLX_KERNEL_BUFFERS] + 24 * (size_t)b + 8));
    }
}

static void put_const(listing *l, uint32_t r, unsigned klass)
{
    uint64_t bits = rlx_get_u64(l->part[RLX_KERNEL_CONSTS] + 8 * (size_t)r);
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &low, 4);
    memcpy(&d, &bits, 8);
    switch (klass) {
    case RLX_CLASS_I32: rlx_buf_i64(l->out, (int32_t)low); break;
    case RLX_CLASS_I64: rlx_buf_i64(l->out, (int64_t)bits); break;
    case RLX_CLASS_F32: rlx_print_double_short(l->out, (double)f, true); break;
    default: rlx_print_double_short(l->out, d, false); break;
    }
}

/* x scalar, v strip, p view; then the class; constants as their value. */
static void put_register(listing *l, uint32_t r)
{
    static const char classes[] = "ilfd";
    if (r >= l->count[RLX_KERNEL_REGS]) {
        rlx_buf_format(l->out, "?%u", r);
        return;
    }
    uint8_t b = l->part[RLX_KERNEL_REGS][r];
    unsigned klass = b & RLX_KERNEL_CLASS_MASK;
    if (r < l->count[RLX_KERNEL_CONSTS])
        put_const(l, r, klass);
    else
        rlx_buf_format(l->out, "%c%c%u",
                       b & RLX_KERNEL_VIEW_REG    ? 'p'
                       : b & RLX_KERNEL_STRIP_REG ? 'v'
                                                  : 'x',
                       classes[klass], r);
}

static void put_operand(listing *l, char letter, uint32_t w, uint32_t next, uint32_t at)
{
    switch (letter) {
    case 'b': case 'B': case 't': put_buffer(l, w); break;
    case 'n': rlx_buf_u64(l->out, w); break;
    case 'z':
        rlx_buf_char(l->out, '"');
        put_name(l, w);
        rlx_buf_char(l->out, '"');
        break;
    case 'j': rlx_buf_format(l->out, "@%lld", (long long)at + (int32_t)(w | next << 16)); break;
    default:
        if (letter == 'm' && w == RLX_KERNEL_NONE)
            rlx_buf_lit(l->out, "all");
        else
            put_register(l, w);
    }
}

static void put_code(listing *l)
{
    const uint8_t *code = l->part[RLX_KERNEL_CODE];
    uint32_t n = l->count[RLX_KERNEL_CODE], words;
    for (uint32_t at = 0; at < n; at += words) {
        uint32_t op = rlx_get_u16(code + 2 * (size_t)at);
        words = op < RLX_K_COUNT ? rlx_kernel_op_words(op) : 0;
        if (!words || words > n - at) {
            rlx_buf_format(l->out, "  %5u  ?\n", at);
            return;
        }
        const char *letters = rlx_kernel_ops[op].operands;
        rlx_buf_format(l->out, "  %5u  %s", at, rlx_kernel_ops[op].text);
        for (uint32_t i = 0; letters[i]; i++) {
            const uint8_t *p = code + 2 * (size_t)(at + 1 + i);
            rlx_buf_z(l->out, i ? ", " : " ");
            put_operand(l, letters[i], rlx_get_u16(p), letters[i] == 'j' ? rlx_get_u16(p + 2) : 0,
                        at);
        }
        rlx_buf_char(l->out, '\n');
    }
}

static void put_dtype(listing *l, uint32_t dtype)
{
    char text[RLX_DTYPE_TEXT];
    rlx_dtype_name((rlx_dtype)dtype, text);
    rlx_buf_z(l->out, text);
}

static void put_head(listing *l)
{
    static const char *const kinds[] = { "param", "temp", "const" };
    rlx_buf_lit(l->out, "kernel ");
    put_name(l, 0);
    rlx_buf_format(l->out, "  (%u registers, %u constants)\n", l->count[RLX_KERNEL_REGS],
                   l->count[RLX_KERNEL_CONSTS]);
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_PARAMS]; i++) {
        const uint8_t *p = l->part[RLX_KERNEL_PARAMS] + 8 * (size_t)i;
        if (p[0] != RLX_KERNEL_PARAM_SCALAR)
            continue;
        rlx_buf_format(l->out, "  param %u ", i);
        put_dtype(l, rlx_get_u32(p + 4));
        rlx_buf_char(l->out, ' ');
        put_register(l, rlx_get_u16(p + 2));
        rlx_buf_char(l->out, '\n');
    }
    for (uint32_t i = 0; i < l->count[RLX_KERNEL_BUFFERS]; i++) {
        const uint8_t *p = l->part[RLX_KERNEL_BUFFERS] + 24 * (size_t)i;
        rlx_buf_format(l->out, "  %s ", p[4] < 3 ? kinds[p[4]] : "?");
        put_buffer(l, i);
        rlx_buf_char(l->out, ' ');
        put_dtype(l, rlx_get_u32(p));
        rlx_buf_format(l->out, " rank %u", p[5]);
        if (rlx_get_u16(p + 6)) {
            rlx_buf_lit(l->out, ", may be ");
            put_buffer(l, rlx_get_u16(p + 6) - 1u);
        }
        rlx_buf_char(l->out, '\n');
    }
}

void rlx_kernel_disassemble(const uint8_t *bytes, size_t len, rlx_buf *out)
{
    listing l = { .out = out };
    if (!find_parts(&l, bytes, len)) {
        rlx_buf_lit(out, "kernel: malformed header\n");
        return;
    }
    put_head(&l);
    put_code(&l);
}
