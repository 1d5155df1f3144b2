/* cgen_prelude.c: the text in front of generated kernels. Helpers are the very functions that the
 * interpreter and the evaluator use (kernel_math.def, half.def); only what the kernels mention
 * is written, and what those mention. */
#include "codegen/cgen_int.h"
#include "format/native_abi.h"

#define MAX_HELPERS 200
#define TEXT(...) #__VA_ARGS__
/* acc[i, j] += a[i, j, k] * b[i, j, k], k ascending for each sum. Where acc and b are
 * contiguous in j and a stands still, sums of 4 rows and 2 vectors of columns stay in registers
 * while k runs. */
#define CONTRACT_ROWS(name, T, R)                                                                 \
    { "rlx_contract_" #R "_rows_" #name,                                                          \
      TEXT(RELAX_ALWAYS_INLINE void rlx_contract_##R##_rows_##name(T *restrict acc,               \
               int64_t acc_i, const T *restrict a, int64_t a_i, int64_t a_k,                      \
               const T *restrict b, int64_t b_k, int64_t depth)                                   \
      {                                                                                           \
          typedef RELAX_VECTOR(T) vector;                                                         \
          vector s[R][2];                                                                         \
          for (int i = 0; i < R; i++)                                                             \
              for (int j = 0; j < 2; j++)                                                         \
                  s[i][j] = *(const vector *)(acc + i * acc_i + j * RELAX_LANES(T));              \
          for (int64_t k = 0; k < depth; k++)                                                     \
              for (int j = 0; j < 2; j++) {                                                       \
                  vector y = *(const vector *)(b + k * b_k + j * RELAX_LANES(T));                 \
                  for (int i = 0; i < R; i++)                                                     \
                      s[i][j] += a[i * a_i + k * a_k] * y;                                        \
              }                                                                                   \
          for (int i = 0; i < R; i++)                                                             \
              for (int j = 0; j < 2; j++)                                                         \
                  *(vector *)(acc + i * acc_i + j * RELAX_LANES(T)) = s[i][j];                    \
      }) }
#define CONTRACT(name, T)                                                                         \
    CONTRACT_ROWS(name, T, 4), CONTRACT_ROWS(name, T, 1),                                         \
    { "rlx_contract_part_" #name,                                                                 \
      TEXT(static inline void rlx_contract_part_##name(T *restrict acc,                           \
               int64_t acc_i, int64_t acc_j, const T *restrict a, int64_t a_i,                    \
               int64_t a_j, int64_t a_k, const T *restrict b, int64_t b_i, int64_t b_j,           \
               int64_t b_k, int64_t rows, int64_t columns, int64_t depth)                         \
      {                                                                                           \
          int64_t done = 0;                                                                       \
          if (acc_j == 1 && a_j == 0 && b_j == 1 && (b_i == 0 || rows == 1)) {                    \
              for (; done + 2 * RELAX_LANES(T) <= columns; done += 2 * RELAX_LANES(T)) {          \
                  int64_t i = 0;                                                                  \
                  for (; i + 4 <= rows; i += 4)                                                   \
                      rlx_contract_4_rows_##name(acc + i * acc_i + done, acc_i, a + i * a_i,      \
                                                 a_i, a_k, b + done, b_k, depth);                 \
                  for (; i < rows; i++)                                                           \
                      rlx_contract_1_rows_##name(acc + i * acc_i + done, acc_i, a + i * a_i,      \
                                                 a_i, a_k, b + done, b_k, depth);                 \
              }                                                                                   \
          }                                                                                       \
          for (int64_t i = 0; i < rows; i++) {                                                    \
              int64_t j = done;                                                                   \
              for (; j + 4 <= columns; j += 4) {                                                  \
                  T s[4];                                                                         \
                  for (int c = 0; c < 4; c++)                                                     \
                      s[c] = acc[i * acc_i + (j + c) * acc_j];                                    \
                  for (int64_t k = 0; k < depth; k++)                                             \
                      for (int c = 0; c < 4; c++)                                                 \
                          s[c] += a[i * a_i + (j + c) * a_j + k * a_k] *                          \
                                  b[i * b_i + (j + c) * b_j + k * b_k];                           \
                  for (int c = 0; c < 4; c++)                                                     \
                      acc[i * acc_i + (j + c) * acc_j] = s[c];                                    \
              }                                                                                   \
              for (; j < columns; j++) {                                                          \
                  T s = acc[i * acc_i + j * acc_j];                                               \
                  for (int64_t k = 0; k < depth; k++)                                             \
                      s += a[i * a_i + j * a_j + k * a_k] * b[i * b_i + j * b_j + k * b_k];       \
                  acc[i * acc_i + j * acc_j] = s;                                                 \
              }                                                                                   \
          }                                                                                       \
      }) },                                                                                       \
    { "rlx_contract_" #name,                                                                      \
      TEXT(RELAX_NOINLINE static int rlx_contract_##name(relax_kernel_call *call,                 \
               T *restrict acc, int64_t acc_i, int64_t acc_j,                                     \
               const T *restrict a, int64_t a_i, int64_t a_j, int64_t a_k, const T *restrict b,   \
               int64_t b_i, int64_t b_j, int64_t b_k, int64_t rows, int64_t columns,              \
               int64_t depth)                                                                     \
      {                                                                                           \
          int64_t deep = RELAX_MIN(depth, 65536), wide = RELAX_MIN(columns, 4096),                \
                  high = 1 + (1 << 22) / (1 + deep * wide) * 4;                                   \
          for (int64_t i = 0; i < rows; i += high)                                                \
              for (int64_t j = 0; j < columns; j += wide)                                         \
                  for (int64_t k = 0; k < depth; k += deep) {                                     \
                      int64_t r = RELAX_MIN(rows - i, high), c = RELAX_MIN(columns - j, wide),    \
                              d = RELAX_MIN(depth - k, deep);                                     \
                      rlx_contract_part_##name(acc + i * acc_i + j * acc_j, acc_i, acc_j,         \
                                               a + i * a_i + j * a_j + k * a_k, a_i, a_j, a_k,    \
                                               b + i * b_i + j * b_j + k * b_k, b_i, b_j, b_k,    \
                                               r, c, d);                                          \
                      RELAX_SPEND((r * c * d >> 8) + 1);                                          \
                  }                                                                               \
          return 0;                                                                               \
      }) }
/* acc[i, j] = acc[i, j] op a[i, j, k]: contiguous columns one behind the other, others eight
 * side by side. */
#define REDUCE(op, name, T, expr)                                                                 \
    { "rlx_reduce_" #op "_" #name,                                                                \
      TEXT(RELAX_NOINLINE static int rlx_reduce_##op##_##name(relax_kernel_call *call,            \
               T *restrict acc, int64_t acc_i, int64_t acc_j,                                     \
               const T *restrict a, int64_t a_i, int64_t a_j, int64_t a_k, int64_t rows,          \
               int64_t columns, int64_t depth)                                                    \
      {                                                                                           \
          for (int64_t i = 0; i < rows; i++, acc += acc_i, a += a_i) {                            \
              int64_t j = 0;                                                                      \
              if (acc_j == 1 && a_j == 1 && columns >= 8) {                                       \
                  for (int64_t k = 0; k < depth; k++) {                                           \
                      for (int64_t c = 0; c < columns; c++) {                                     \
                          T x = acc[c], y = a[c + k * a_k];                                       \
                          acc[c] = expr;                                                          \
                      }                                                                           \
                      RELAX_SPEND((columns >> 6) + 1);                                            \
                  }                                                                               \
                  continue;                                                                       \
              }                                                                                   \
              for (; j + 8 <= columns; j += 8) {                                                  \
                  T s[8];                                                                         \
                  for (int c = 0; c < 8; c++)                                                     \
                      s[c] = acc[(j + c) * acc_j];                                                \
                  for (int64_t k0 = 0; k0 < depth; k0 += 65536) {                                 \
                      int64_t k1 = RELAX_MIN(depth, k0 + 65536);                                  \
                      for (int64_t k = k0; k < k1; k++)                                           \
                          for (int c = 0; c < 8; c++) {                                           \
                              T x = s[c], y = a[(j + c) * a_j + k * a_k];                         \
                              s[c] = expr;                                                        \
                          }                                                                       \
                      RELAX_SPEND(((k1 - k0) >> 4) + 1);                                          \
                  }                                                                               \
                  for (int c = 0; c < 8; c++)                                                     \
                      acc[(j + c) * acc_j] = s[c];                                                \
              }                                                                                   \
              for (; j < columns; j++) {                                                          \
                  T x = acc[j * acc_j];                                                           \
                  for (int64_t k0 = 0; k0 < depth; k0 += 65536) {                                 \
                      int64_t k1 = RELAX_MIN(depth, k0 + 65536);                                  \
                      for (int64_t k = k0; k < k1; k++) {                                         \
                          T y = a[j * a_j + k * a_k];                                             \
                          x = expr;                                                               \
                      }                                                                           \
                      RELAX_SPEND(((k1 - k0) >> 6) + 1);                                          \
                  }                                                                               \
                  acc[j * acc_j] = x;                                                             \
              }                                                                                   \
          }                                                                                       \
          return 0;                                                                               \
      }) }

static const rlx_function_text helpers[] = {
#define MATH(name, ...) { #name, #__VA_ARGS__ },
#include "format/kernel_math.def"
    CONTRACT(f32, float),
    CONTRACT(f64, double),
    CONTRACT(i32, int32_t),
    CONTRACT(u32, uint32_t),
    CONTRACT(i64, int64_t),
    CONTRACT(u64, uint64_t),
    REDUCE(add, f32, float, x + y),
    REDUCE(add, f64, double, x + y),
    REDUCE(add, i32, int32_t, x + y),
    REDUCE(add, u32, uint32_t, x + y),
    REDUCE(add, i64, int64_t, x + y),
    REDUCE(add, u64, uint64_t, x + y),
    REDUCE(mul, f32, float, x *y),
    REDUCE(mul, f64, double, x *y),
    REDUCE(mul, i32, int32_t, x *y),
    REDUCE(mul, u32, uint32_t, x *y),
    REDUCE(mul, i64, int64_t, x *y),
    REDUCE(mul, u64, uint64_t, x *y),
    REDUCE(min, f32, float, rlx_min_f32(x, y)),
    REDUCE(min, f64, double, rlx_min_f64(x, y)),
    REDUCE(min, i32, int32_t, x < y ? x : y),
    REDUCE(min, i64, int64_t, x < y ? x : y),
    REDUCE(max, f32, float, rlx_max_f32(x, y)),
    REDUCE(max, f64, double, rlx_max_f64(x, y)),
    REDUCE(max, i32, int32_t, x > y ? x : y),
    REDUCE(max, i64, int64_t, x > y ? x : y),
};

_Static_assert(RLX_COUNT(helpers) + 16 <= MAX_HELPERS, "every helper has a flag");

/* Declarations of the interface, and comments between them. */
typedef struct paragraph { bool is_note; const char *text; } paragraph;
static const paragraph interface[] = {
#define NOTE(text) { true, text },
#define ABI(...) { false, #__VA_ARGS__ },
#include "format/native_abi.def"
};

/* ---- layout --------------------------------------------------------------------------------- */

/* heads: of loops without braces that the next statement stands in; inner: those around each
 * open brace. */
typedef struct layout {
    rlx_buf *out;
    size_t begin;
    int parens, depth, indent, heads, inner[16];
    bool in_head;
} layout;

static void new_line(layout *l, int depth)
{
    rlx_buf_char(l->out, '\n');
    l->begin = l->out->len;
    for (int i = 0; i < depth; i++)
        rlx_buf_lit(l->out, "    ");
}

/* Puts what belongs behind the character c: next is the one after the blanks. */
static void behind(layout *l, char c, char next)
{
    bool ends_head = l->in_head && !l->parens && c == ')';
    if (ends_head)
        l->in_head = false;
    if ((ends_head && next == '{') || l->parens) {
        if (c == ',' && l->out->len - l->begin > 90)
            new_line(l, l->indent + l->heads + 1);
        else
            rlx_buf_char(l->out, ' ');
        return;
    }
    if (!ends_head && !strchr(";{}", c)) {
        rlx_buf_char(l->out, ' ');
        return;
    }
    l->heads = ends_head ? l->heads + 1 : 0;
    if (c == '}' && !l->depth && next && next != ';')
        rlx_buf_char(l->out, ' '); /* } name; */
    else if (next && !(c == '}' && next == ';'))
        new_line(l, l->indent + l->heads -
                        (next != '}'                     ? 0
                         : l->inner[(l->depth - 1) & 15] ? 2
                                                         : 1));
}

/* A text of one line as C is usually laid out: lines end behind ; { } and the heads of loops,
 * and where they are full. */
static void lay_out(const char *text, rlx_buf *out)
{
    layout l = { .out = out, .begin = out->len };
    text += strspn(text, " ");
    for (const char *p = text; *p; p++) {
        size_t blanks = strspn(p + 1, " ");
        char next = p[1 + blanks];
        l.in_head |= !l.parens && (strncmp(p, "for (", 5) == 0 || strncmp(p, "while (", 7) == 0);
        l.parens += (*p == '(') - (*p == ')');
        /* of a function */
        if (*p == '{' && !l.depth && p > text && p[-1] == ' ' && !out->failed &&
            out->data[out->len - 2] == ')') {
            out->len--;
            new_line(&l, 0);
        }
        if (*p == '{') {
            l.inner[l.depth++ & 15] = l.heads;
            l.indent += 1 + l.heads;
        } else if (*p == '}')
            l.indent -= 1 + l.inner[--l.depth & 15];
        rlx_buf_char(out, *p);
        bool breaks = strchr(";{}", *p) || (l.in_head && !l.parens && *p == ')');
        if (blanks || breaks)
            behind(&l, breaks || *p == ',' ? *p : 'x', next);
        else
            continue;
        p += blanks;
    }
    rlx_buf_char(out, '\n');
}

static void put_note(const char *text, rlx_buf *out)
{
    size_t column = 3;
    rlx_buf_lit(out, "\n/*");
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (column + n + 1 > 100) {
            rlx_buf_lit(out, "\n *");
            column = 2;
        }
        rlx_buf_char(out, ' ');
        rlx_buf_put(out, p, n);
        column += n + 1;
        p += n;
        p += strspn(p, " ");
    }
    rlx_buf_lit(out, " */\n");
}

void rlx_c_header(rlx_buf *out)
{
    rlx_buf_lit(
        out,
        "/* relax_kernels.h: how kernels that were compiled from Relax programs are called. */\n"
        "#ifndef RELAX_KERNELS_H\n#define RELAX_KERNELS_H\n\n"
        "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n\n");
    rlx_buf_format(out, "#define RELAX_KERNEL_ABI %u\n", RLX_NATIVE_ABI);
    for (size_t i = 0; i < RLX_COUNT(interface); i++)
        (interface[i].is_note ? put_note : lay_out)(interface[i].text, out);
    rlx_buf_lit(
        out,
        "\n#define RELAX_MIN(a, b) ((a) < (b) ? (a) : (b))\n"
        "#define RELAX_TRY(service) \\\n    do { \\\n        if (service) \\\n            return "
        "1; \\\n    } while (0)\n"
        "#define RELAX_SPEND(work) RELAX_TRY((call->fuel -= (work)) < 0 && call->poll(call))\n"
        "#define RELAX_CHECK(low, high, size, buffer, dim) \\\n"
        "    do { \\\n        const int64_t low_ = (low), high_ = (high), size_ = (size); \\\n"
        "        if (low_ < 0 || high_ >= size_) \\\n"
        "            return call->fail(call, RELAX_KERNEL_INDEX, buffer, dim, low_ < 0 ? low_ : "
        "high_, size_); \\\n"
        "    } while (0)\n"
        "#define RELAX_WANT(buffer, dim, size) \\\n"
        "    do { \\\n        const int64_t found_ = call->buffers[buffer].shape[dim], size_ = "
        "(size); \\\n"
        "        if (found_ != size_) \\\n"
        "            return call->fail(call, RELAX_KERNEL_SIZE, buffer, dim, found_, size_); \\\n "
        "   } while (0)\n"
        "/* Large helpers stand once, however many kernels call them. */\n"
        "#if defined(__GNUC__)\n#define RELAX_NOINLINE __attribute__((noinline))\n#else\n#define "
        "RELAX_NOINLINE\n#endif\n"
        "#if defined(__GNUC__)\n#define RELAX_ALWAYS_INLINE static inline "
        "__attribute__((always_inline))\n#else\n"
        "#define RELAX_ALWAYS_INLINE static inline\n#endif\n"
        "/* Memory seen as vectors of this machine; elsewhere one element at a time. */\n"
        "#if defined(__AVX512F__)\n#define RELAX_VECTOR_BYTES 64\n#elif defined(__AVX__)\n#define "
        "RELAX_VECTOR_BYTES 32\n"
        "#else\n#define RELAX_VECTOR_BYTES 16\n#endif\n"
        "#if defined(__GNUC__)\n"
        "#define RELAX_VECTOR(T) T __attribute__((vector_size(RELAX_VECTOR_BYTES), "
        "aligned(sizeof(T)), may_alias))\n"
        "#define RELAX_LANES(T) (RELAX_VECTOR_BYTES / (int)sizeof(T))\n"
        "#else\n#define RELAX_VECTOR(T) T\n#define RELAX_LANES(T) 1\n#endif\n"
        "\n#endif\n");
}

/* ---- what is used --------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Those of base come first. */
static size_t num_helpers(void)
{
    return rlx_half_num_texts + RLX_COUNT(helpers);
}

static const rlx_function_text *helper_at(size_t i)
{
    return i < rlx_half_num_texts ? &rlx_half_texts[i] : &helpers[i - rlx_half_num_texts];
}

static void note_helpers(rlx_slice text, bool *used)
{
    const char *p = text.data, *end = text.data + text.len;
    while (p && (p = memmem(p, (size_t)(end - p), "rlx_", 4)) != NULL) {
        size_t n = 4;
        while (p + n < end && is_word(p[n]))
            n++;
        for (size_t i = 0; i < num_helpers(); i++)
            used[i] |= strlen(helper_at(i)->name) == n && memcmp(helper_at(i)->name, p, n) == 0;
        p += n;
    }
}

void rlx_c_prelude(rlx_memory *m, rlx_slice body, rlx_buf *out)
{
    bool used[MAX_HELPERS] = { false };
    note_helpers(body, used);
    for (size_t i = num_helpers(); i-- > 0;) /* helpers use those before them */
        if (used[i])
            note_helpers(rlx_slice_z(helper_at(i)->text), used);
    rlx_buf_lit(out, "#define RLX_INLINE static inline\n#define RLX_SHARED static inline\n");
    for (size_t i = 0; i < num_helpers(); i++)
        if (used[i]) {
            rlx_buf_char(out, '\n');
            lay_out(helper_at(i)->text, out);
        }
}
