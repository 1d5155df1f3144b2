/* cgen_prelude.c: the text in front of generated kernels. Helpers are the very functions that the
 * interpreter and the evaluator use (kernel_math.def, elementary.def, half.def); only what the
 * kernels mention is written, and what those mention. */
#include "codegen/cgen_int.h"
#include "format/native_abi.h"

#define MAX_HELPERS 200
static const rlx_function_text helpers[] = {
#define MATH(name, ...) { #name, #__VA_ARGS__ },
#include "format/kernel_math.def"
#define MATH(name, ...) { #name, #__VA_ARGS__ },
#include "format/elementary.def"
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
        "\n#if defined __GNUC__ && !defined __clang__\n"
        "#define RELAX_INDEPENDENT _Pragma(\"GCC ivdep\")\n#else\n#define RELAX_INDEPENDENT\n#endif\n"
        "\n#define RELAX_MIN(a, b) ((a) < (b) ? (a) : (b))\n"
        "#define RELAX_LIST(T, ...) (T const[]){ __VA_ARGS__ }\n"
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
