/* cgen_kernel.c: statements. Code is gone through once, in order; see cgen_int.h. */
#include "codegen/cgen_int.h"

#include <inttypes.h>
#include <stdio.h>

#define MAX_TEXT 110             /* longer expressions get a name */
#define MAX_COLUMN 100
#define CHUNK ((int64_t)65536)   /* elements between two polls */
#define WORK_SHIFT 5             /* elements per unit of fuel, as a power of two */

/* ---- lines ---------------------------------------------------------------------------------- */

/* Writes the line that was collected, broken at blanks where it is too long. */
static void end_line(rlx_cgen_kernel *g)
{
    size_t indent = 4 * (g->regions.len - g->base), at = 0;
    for (size_t i = g->base; i < g->regions.len; i++)
        indent += g->regions.data[i].chunked ? 4 : 0;
    for (bool first = true; at < g->line.len; first = false) {
        size_t width = MAX_COLUMN - (indent < 60 ? indent : 60), left = g->line.len - at, n = left;
        if (left > width) {
            for (n = width; n > 20 && g->line.data[at + n] != ' '; n--)
                ;
            if (n <= 20)
                for (n = width; n < left && g->line.data[at + n] != ' '; n++)
                    ;
        }
        for (size_t i = 0; i < indent + (first ? 0 : 4); i++)
            rlx_buf_char(&g->text, ' ');
        rlx_buf_put(&g->text, g->line.data + at, n);
        rlx_buf_char(&g->text, '\n');
        at += n;
        while (at < g->line.len && g->line.data[at] == ' ')
            at++;
    }
    g->line.len = 0;
}

static void say(rlx_cgen_kernel *g, const char *text) { rlx_buf_z(&g->line, text); }

static void say_value(rlx_cgen_kernel *g, rlx_cgen_value v)
{
    rlx_cgen_put(g, &g->line, v, C_OTHER);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_reserved(rlx_slice name)
{
    static const char *const words[] = {
        "auto",     "break",  "case",   "char",     "const",    "continue", "default",  "do",
        "double",   "else",   "enum",   "extern",   "float",    "for",      "goto",     "if",
        "inline",   "int",    "long",   "register", "restrict", "return",   "short",    "signed",
        "sizeof",   "static", "struct", "switch",   "typedef",  "union",    "unsigned", "void",
        "volatile", "while",  "bool",   "true",     "false",    "asm",      "typeof",   "call",
        "linux",    "unix",   "main",
    };
    for (size_t i = 0; i < RLX_COUNT(words); i++)
        if (rlx_slice_is(name, words[i]))
            return true;
    return false;
}

/* Words of the prelude begin so; macros are capitals altogether, and their variables end in _;
 * types end in _t. */
static bool may_clash(rlx_slice name)
{
    size_t capitals = 0;
    for (size_t i = 0; i < name.len; i++)
        capitals += name.data[i] < 'a' || name.data[i] > 'z';
    return is_reserved(name) || rlx_cgen_is_function(name) ||
           (capitals == name.len && name.len > 2) ||
           (name.len > 1 && name.data[name.len - 1] == '_') ||
           (name.len > 2 && memcmp(name.data + name.len - 2, "_t", 2) == 0) ||
           (name.len > 4 &&
            (memcmp(name.data, "rlx_", 4) == 0 || memcmp(name.data, "RLX_", 4) == 0)) ||
           (name.len > 6 &&
            (memcmp(name.data, "relax_", 6) == 0 || memcmp(name.data, "RELAX_", 6) == 0));
}

void rlx_cgen_put_plain(rlx_buf *b, rlx_slice name, size_t most)
{
    if (!name.len || (name.data[0] >= '0' && name.data[0] <= '9') || name.data[0] == '_')
        rlx_buf_char(b, 'v');
    for (size_t i = 0; i < name.len && i < most; i++) {
        char c = name.data[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        rlx_buf_char(b, ok ? c : '_');
    }
}

/* A name that nothing else has here, until the innermost region ends. */
static rlx_cgen_value declare(rlx_cgen_kernel *g, rlx_slice wish)
{
    size_t begin = g->pool.len, stem;
    rlx_cgen_put_plain(&g->pool, wish, 40);
    if (!g->pool.failed && may_clash((rlx_slice){ g->pool.data + begin, g->pool.len - begin }))
        rlx_buf_char(&g->pool, '_');
    stem = g->pool.len;
    for (uint32_t n = 1;
         !g->pool.failed &&
         rlx_map_has(&g->names, (rlx_slice){ g->pool.data + begin, g->pool.len - begin });
         n++) {
        g->pool.len = stem;
        rlx_buf_format(&g->pool, "_%u", n);
    }
    rlx_cgen_value v = rlx_cgen_text(g, begin, C_ATOM);
    if (!g->pool.failed && rlx_map_put(&g->names, (rlx_slice){ g->pool.data + begin, v.len }, g))
        (void)rlx_vec_push(g->memory, &g->declared, v);
    return v;
}

static void forget_names(rlx_cgen_kernel *g, uint32_t keep)
{
    while (g->declared.len > keep) {
        rlx_cgen_value v = rlx_vec_pop(&g->declared);
        if (!g->pool.failed)
            rlx_map_remove(&g->names, (rlx_slice){ g->pool.data + v.at, v.len });
    }
}

static rlx_slice wish_for(const rlx_cgen_kernel *g, uint32_t r)
{
    return g->hints[r] ? rlx_string_slice(g->hints[r]) : (rlx_slice){ NULL, 0 };
}

/* ---- values --------------------------------------------------------------------------------- */

/* Writes `const T name = value;` and lets the register be that name. */
static void give_name(rlx_cgen_kernel *g, uint32_t r, rlx_cgen_value v)
{
    char text[16];
    rlx_slice wish = wish_for(g, r);
    if (!wish.len) {
        snprintf(text, sizeof text, "t%u", ++g->num_temps);
        wish = rlx_slice_z(text);
    }
    rlx_cgen_value name = declare(g, wish);
    rlx_buf_format(&g->line, "const %s ", rlx_cgen_class_types[rlx_cgen_class(g, r)]);
    say_value(g, name);
    say(g, " = ");
    say_value(g, v);
    say(g, ";");
    end_line(g);
    g->values[r] = name;
}

/* Memory is about to change, or control to come from elsewhere: what reads memory is read now. */
static void settle(rlx_cgen_kernel *g, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->pending.len; i++) {
        uint32_t r = g->pending.data[i];
        if (!g->values[r].pending)
            continue;
        if (g->values[r].loads || all) {
            g->values[r].pending = false;
            give_name(g, r, g->values[r]);
        } else
            g->pending.data[kept++] = r;
    }
    g->pending.len = kept;
}

/* Operands are taken: they need no name any more. */
static void take(rlx_cgen_kernel *g, uint32_t at)
{
    const char *letters = rlx_kernel_ops[c_word_at(g, at)].operands;
    for (uint32_t i = 0; letters[i]; i++) {
        uint32_t r = c_word_at(g, at + 1 + i);
        if (strchr("ilfdvxsrc", letters[i]) || (letters[i] == 'm' && r != RLX_KERNEL_NONE))
            g->values[r].pending = false;
    }
}

/* The register of instruction `at` gets this value: written now, or where it is used. */
static void define(rlx_cgen_kernel *g, uint32_t at, rlx_cgen_value v, bool is_index)
{
    uint32_t r = c_word_at(g, at + 1);
    const rlx_cgen_word *w = &g->words[at];
    bool near = w->used_in == w->region || (is_index && !v.loads);
    take(g, at);
    g->values[r].out = false;
    if (v.rank == C_ATOM && !v.loads) {
        g->values[r] = v; /* a name or a number serves as well as another */
        return;
    }
    if (w->uses == 0)
        return;
    if (w->uses > 1 || !near || v.len > MAX_TEXT) {
        give_name(g, r, v);
        return;
    }
    v.pending = true;
    g->values[r] = v;
    (void)rlx_vec_push(g->memory, &g->pending, r);
}

static bool is_name(const rlx_cgen_kernel *g, rlx_cgen_value v)
{
    return !g->pool.failed && rlx_map_has(&g->names, (rlx_slice){ g->pool.data + v.at, v.len });
}

/* A value that is mentioned more than once. */
static rlx_cgen_value as_atom(rlx_cgen_kernel *g, uint32_t r)
{
    rlx_cgen_value v = rlx_cgen_operand(g, r);
    if (!c_is_constant(g, r) && (v.rank != C_ATOM || v.loads)) {
        g->values[r].pending = false;
        give_name(g, r, v);
    }
    return g->values[r];
}

/* ---- memory --------------------------------------------------------------------------------- */

static enum rlx_kernel_elem elem_of(const rlx_cgen_kernel *g, uint32_t row)
{
    return rlx_kernel_elem_of(
        (int32_t)rlx_get_u32(c_buffer(g, row)));
}

/* buffer[offset] = v; */
static void store(rlx_cgen_kernel *g, uint32_t row, rlx_cgen_value offset, rlx_cgen_value v)
{
    enum rlx_kernel_elem e = elem_of(g, row);
    const char *type = rlx_cgen_elems[e].type, *call = rlx_cgen_elems[e].store;
    bool narrows = e != RLX_ELEM_BOOL && !call &&
                   strcmp(type, rlx_cgen_class_types[rlx_kernel_elems[e].klass]) != 0;
    rlx_buf line = g->line;
    rlx_buf_init(&g->line, g->memory);
    settle(g, false); /* what else was read from memory keeps its value */
    rlx_buf_free(&g->line);
    g->line = line;
    say_value(g, g->buffers[row]);
    say(g, "[");
    say_value(g, offset);
    say(g, "] = ");
    if (narrows)
        rlx_buf_format(&g->line, "(%s)", type);
    say(g, call ? call : "");
    rlx_cgen_put(g, &g->line, v, e == RLX_ELEM_BOOL ? C_ATOM : narrows ? C_UNARY : C_OTHER);
    say(g, call ? ");" : e == RLX_ELEM_BOOL ? " != 0;" : ";");
    end_line(g);
}

/* start + index * stride, of one element */
static void load(rlx_cgen_kernel *g, uint32_t at)
{
    define(g, at, rlx_cgen_load(g, c_word_at(g, at + 2), rlx_cgen_operand(g, c_word_at(g, at + 3))),
           false);
}

static void load_each(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t mask = c_word_at(g, at + 4);
    rlx_cgen_value v =
        rlx_cgen_load(g, c_word_at(g, at + 2), rlx_cgen_operand(g, c_word_at(g, at + 3)));
    if (mask != RLX_KERNEL_NONE) {
        size_t begin = g->pool.len;
        rlx_cgen_put(g, &g->pool, rlx_cgen_operand(g, mask), C_ATOM);
        rlx_buf_lit(&g->pool, " ? ");
        rlx_cgen_put(g, &g->pool, v, C_ATOM);
        rlx_buf_lit(&g->pool, " : 0");
        v = rlx_cgen_text(g, begin, C_OTHER);
        v.loads = true;
    }
    define(g, at, v, false);
}

static void store_each(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t mask = c_word_at(g, at + 3);
    take(g, at);
    rlx_cgen_value offset = rlx_cgen_operand(g, c_word_at(g, at + 2)),
                   v = rlx_cgen_operand(g, c_word_at(g, at + 4));
    if (mask != RLX_KERNEL_NONE) {
        settle(g, false);
        say(g, "if (");
        say_value(g, rlx_cgen_operand(g, mask));
        say(g, ")");
        end_line(g);
        say(g, "    ");
    }
    store(g, c_word_at(g, at + 1), offset, v);
}

static void add_each(rlx_cgen_kernel *g, uint32_t at)
{
    take(g, at);
    const rlx_cgen_value offset = rlx_cgen_operand(g, c_word_at(g, at + 2)), v = rlx_cgen_operand(g, c_word_at(g, at + 3));
    settle(g, false);
    say_value(g, g->buffers[c_word_at(g, at + 1)]);
    say(g, "[");
    say_value(g, offset);
    say(g, "] += ");
    say_value(g, v);
    say(g, ";");
    end_line(g);
}

static rlx_cgen_value place_of_view(rlx_cgen_kernel *g, uint32_t at)
{
    rlx_cgen_value v = rlx_cgen_operand(g, c_word_at(g, at + 3));
    take(g, at);
    v.out = true;
    v.row = c_word_at(g, at + 2);
    return v;
}

/* ---- checks --------------------------------------------------------------------------------- */

static void check(rlx_cgen_kernel *g, rlx_cgen_value low, rlx_cgen_value high, rlx_cgen_value size,
                  uint32_t row, uint32_t dim)
{
    say(g, "RELAX_CHECK(");
    say_value(g, low);
    say(g, ", ");
    say_value(g, high);
    say(g, ", ");
    say_value(g, size);
    rlx_buf_format(&g->line, ", %u, %u);", row, dim);
    end_line(g);
}

static void check_range(rlx_cgen_kernel *g, uint32_t at)
{
    if (g->unchecked) {
        take(g, at);
        return;
    }
    rlx_cgen_value low = rlx_cgen_operand(g, c_word_at(g, at + 1)),
                   high = rlx_cgen_operand(g, c_word_at(g, at + 2)),
                   size = rlx_cgen_operand(g, c_word_at(g, at + 3));
    take(g, at);
    check(g, low, high, size, c_word_at(g, at + 4), c_word_at(g, at + 5));
}

static void check_each(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t mask = c_word_at(g, at + 3);
    if (g->unchecked) {
        take(g, at);
        return;
    }
    rlx_cgen_value index = as_atom(g, c_word_at(g, at + 1));
    if (mask != RLX_KERNEL_NONE) {
        say(g, "if (");
        say_value(g, as_atom(g, mask));
        say(g, ")");
        end_line(g);
        say(g, "    ");
    }
    rlx_cgen_value size = rlx_cgen_operand(g, c_word_at(g, at + 2));
    take(g, at);
    check(g, index, index, size, c_word_at(g, at + 4), c_word_at(g, at + 5));
}

/* An offset of an index, from which the loop over elements has moved the start already. */
static void place_each(rlx_cgen_kernel *g, uint32_t at)
{
    const uint32_t dim = c_word_at(g, at + 8);
    rlx_cgen_value index = as_atom(g, c_word_at(g, at + 2)), start = rlx_cgen_operand(g, c_word_at(g, at + 3)),
                   stride = rlx_cgen_operand(g, c_word_at(g, at + 5)), size = as_atom(g, c_word_at(g, at + 6));
    if (dim & RLX_KERNEL_FROM_END) {
        const rlx_cgen_value k = index;
        index = declare(g, RLX_SLICE("place"));
        say(g, "const int64_t ");
        say_value(g, index);
        say(g, " = ");
        say_value(g, k);
        say(g, " < 0 ? ");
        say_value(g, k);
        say(g, " + ");
        say_value(g, size);
        say(g, " : ");
        say_value(g, k);
        say(g, ";");
        end_line(g);
    }
    if (!g->unchecked)
        check(g, index, index, size, c_word_at(g, at + 7), dim & ~(uint32_t)RLX_KERNEL_FROM_END);
    const size_t begin = g->pool.len;
    rlx_cgen_put(g, &g->pool, start, C_SUM);
    rlx_buf_lit(&g->pool, " + ");
    rlx_cgen_put(g, &g->pool, index, C_PRODUCT);
    rlx_buf_lit(&g->pool, " * ");
    rlx_cgen_put(g, &g->pool, stride, C_UNARY);
    rlx_cgen_value v = rlx_cgen_text(g, begin, C_SUM);
    v.loads = index.loads || start.loads || stride.loads;
    define(g, at, v, true);
}

/* Stops where a division or shift has no result; where the mask is off, the result is 0
 * instead. */
static void risky(rlx_cgen_kernel *g, uint32_t at)
{
    unsigned op = c_word_at(g, at);
    uint32_t a = c_word_at(g, at + 2), b = c_word_at(g, at + 3), mask = c_word_at(g, at + 4);
    const char *condition, *why = rlx_cgen_trouble(op, &condition);
    /* not a power */
    bool by_literal = c_is_constant(g, b) && strchr(condition, 'b') && !strchr(condition, '(');
    if (by_literal) {
        uint64_t bits = c_constant(g, b);
        int64_t value = rlx_cgen_class(g, b) == RLX_CLASS_I32 ? (int32_t)bits : (int64_t)bits;
        by_literal = value > 0 || (value < 0 && condition[2] == '=');
    }
    if (by_literal) {
        define(g, at, rlx_cgen_arithmetic(g, at), false);
        return;
    }
    rlx_cgen_value v[2] = { as_atom(g, a), as_atom(g, b) }, on = { 0 };
    v[0] = rlx_cgen_operand(g, a);
    if (mask != RLX_KERNEL_NONE)
        on = as_atom(g, mask);
    say(g, "if (");
    if (on.len) {
        say_value(g, on);
        say(g, " && (");
    }
    rlx_cgen_put_condition(g, &g->line, condition, v);
    rlx_buf_format(&g->line, "%s)", on.len ? ")" : "");
    end_line(g);
    rlx_buf_format(&g->line, "    return call->fail(call, RELAX_KERNEL_TROUBLE, %s, 0, 0, 0);",
                   why);
    end_line(g);
    rlx_cgen_value r = rlx_cgen_arithmetic(g, at);
    if (on.len) {
        size_t begin = g->pool.len;
        rlx_buf_lit(&g->pool, "(");
        rlx_cgen_put_condition(g, &g->pool, condition, v);
        rlx_buf_lit(&g->pool, ") ? 0 : ");
        rlx_cgen_put(g, &g->pool, r, C_ATOM);
        r = rlx_cgen_text(g, begin, C_OTHER);
    }
    /* it must not move in front of the check, nor out of its region */
    take(g, at);
    if (g->words[at].uses)
        give_name(g, c_word_at(g, at + 1), r);
}

/* ---- loops and branches --------------------------------------------------------------------- */

static void spend(rlx_cgen_kernel *g, const char *work)
{
    rlx_buf_format(&g->line, "RELAX_SPEND(%s);", work);
    end_line(g);
}

static void close_region(rlx_cgen_kernel *g)
{
    rlx_cgen_region r = *rlx_cgen_top(g);
    settle(g, false);
    forget_names(g, r.names);
    (void)rlx_vec_pop(&g->regions);
}

static void end_block(rlx_cgen_kernel *g)
{
    close_region(g);
    say(g, "}");
    end_line(g);
}

/* rlx_cgen_enter pops the region itself. */
static void closed(rlx_cgen_kernel *g, const rlx_cgen_region *r)
{
    settle(g, false);
    forget_names(g, r->names);
    g->regions.len--;
    say(g, "}");
    end_line(g);
    g->regions.len++;
}

static void begin_while(rlx_cgen_kernel *g)
{
    settle(g, false);
    say(g, "for (;;) {");
    end_line(g);
}

static void begin_block(rlx_cgen_kernel *g, enum rlx_cgen_region_kind kind, uint32_t end)
{
    say(g, "{");
    end_line(g);
    rlx_cgen_push(g, kind, end);
}

static void begin_if(rlx_cgen_kernel *g, uint32_t at, uint32_t op)
{
    rlx_cgen_value v = rlx_cgen_operand(g, c_word_at(g, at + 1));
    take(g, at);
    settle(g, false);
    if (op == RLX_K_JUMP_IF_NOT && rlx_cgen_leaves_while(g, rlx_cgen_jump_target(g, at))) {
        say(g, "if (!");
        rlx_cgen_put(g, &g->line, v, C_UNARY);
        say(g, ")");
        end_line(g);
        say(g, "    break;");
        end_line(g);
        return;
    }
    say(g, "if (");
    rlx_cgen_put(g, &g->line, v, op == RLX_K_JUMP_IF_EMPTY ? C_SUM : C_OTHER);
    say(g, op == RLX_K_JUMP_IF_EMPTY ? " > 0) " : ") ");
    begin_block(g, C_IF, rlx_cgen_jump_target(g, at));
}

/* for (int64_t i = from; i < to; i++) { */
static void for_head(rlx_cgen_kernel *g, rlx_cgen_value var, rlx_cgen_value from, rlx_cgen_value to)
{
    say(g, "for (int64_t ");
    say_value(g, var);
    say(g, " = ");
    say_value(g, from);
    say(g, "; ");
    say_value(g, var);
    say(g, " < ");
    rlx_cgen_put(g, &g->line, to, C_SUM);
    say(g, "; ");
    say_value(g, var);
    say(g, "++) {");
    end_line(g);
}

static rlx_cgen_value plain_text(rlx_cgen_kernel *g, const char *text)
{
    size_t begin = g->pool.len;
    rlx_buf_z(&g->pool, text);
    return rlx_cgen_text(g, begin, C_ATOM);
}

static rlx_slice loop_name(const rlx_cgen_kernel *g, uint32_t r)
{
    rlx_slice wish = wish_for(g, r);
    return wish.len ? wish : RLX_SLICE("i");
}

static void begin_loop(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t r = c_word_at(g, at + 1), min_reg = c_word_at(g, at + 2);
    rlx_cgen_value min = rlx_cgen_operand(g, min_reg), extent = as_atom(g, c_word_at(g, at + 3)),
                   limit = extent;
    bool from_zero = min.literal && min.len == 1 && !g->pool.failed && g->pool.data[min.at] == '0';
    if (!from_zero) {
        min = as_atom(g, min_reg);
        size_t begin = g->pool.len;
        rlx_cgen_put(g, &g->pool, min, C_ATOM);
        rlx_buf_lit(&g->pool, " + ");
        rlx_cgen_put(g, &g->pool, extent, C_ATOM);
        limit = rlx_cgen_text(g, begin, C_SUM);
    }
    take(g, at);
    settle(g, false);
    uint32_t names = (uint32_t)g->declared.len;
    rlx_cgen_value var = declare(g, loop_name(g, r));
    for_head(g, var, min, limit);
    rlx_cgen_push(g, C_LOOP, UINT32_MAX);
    if (!g->ctx->diags.out_of_memory)
        rlx_cgen_top(g)->names = names; /* the variable goes with the loop */
    g->values[r] = var;
}

/* Long strips are cut, so that a poll comes in between. */
static void begin_strip(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t r = c_word_at(g, at + 1), extent_reg = c_word_at(g, at + 2);
    rlx_cgen_value extent = as_atom(g, extent_reg), var, from, to;
    int64_t length = INT64_MAX;
    if (c_is_constant(g, extent_reg))
        length = (int64_t)c_constant(g, extent_reg);
    take(g, at);
    settle(g, false);
    uint32_t names = (uint32_t)g->declared.len;
    const char *independent = g->same_place && !g->each ? "RELAX_INDEPENDENT " : "";
    if (length <= CHUNK) {
        var = declare(g, loop_name(g, r));
        say(g, independent);
        for_head(g, var, plain_text(g, "0"), extent);
    } else {
        from = declare(g, RLX_SLICE("begin"));
        to = declare(g, RLX_SLICE("end"));
        var = declare(g, loop_name(g, r));
        say(g, "for (int64_t ");
        say_value(g, from);
        say(g, " = 0; ");
        say_value(g, from);
        say(g, " < ");
        say_value(g, extent);
        say(g, "; ");
        say_value(g, from);
        rlx_buf_format(&g->line, " += %d) {", (int)CHUNK);
        end_line(g);
        say(g, "    const int64_t ");
        say_value(g, to);
        say(g, " = RELAX_MIN(");
        say_value(g, extent);
        say(g, ", ");
        say_value(g, from);
        rlx_buf_format(&g->line, " + %d);", (int)CHUNK);
        end_line(g);
        say(g, "    ");
        say(g, independent);
        for_head(g, var, from, to);
    }
    rlx_cgen_push(g, C_STRIP, UINT32_MAX);
    if (g->ctx->diags.out_of_memory)
        return;
    rlx_cgen_top(g)->names = names;
    rlx_cgen_top(g)->chunked = length > CHUNK;
    rlx_cgen_top(g)->work = length;
    g->values[r] = var;
}

static void end_strip(rlx_cgen_kernel *g)
{
    char work[32];
    bool chunked = rlx_cgen_top(g)->chunked;
    int64_t length = chunked ? CHUNK : rlx_cgen_top(g)->work;
    close_region(g);
    if (g->ctx->diags.out_of_memory)
        return;
    snprintf(work, sizeof work, "%d", (int)((length < 0 ? 0 : length) >> WORK_SHIFT) + 1);
    say(g, chunked ? "    }" : "}");
    end_line(g);
    if (chunked)
        say(g, "    ");
    spend(g, work);
    if (chunked) {
        say(g, "}");
        end_line(g);
    }
    g->spent = !chunked;
}

/* The row of one element of the strip. */
static void copy_row(rlx_cgen_kernel *g, uint32_t at)
{
    const rlx_cgen_value to = as_atom(g, c_word_at(g, at + 2)), from = as_atom(g, c_word_at(g, at + 5)),
                         length = as_atom(g, c_word_at(g, at + 6));
    take(g, at);
    settle(g, false);
    const rlx_cgen_value i = declare(g, RLX_SLICE("i"));
    for_head(g, i, plain_text(g, "0"), length);
    say(g, "    ");
    for (int side = 0; side < 2; side++) {
        say_value(g, g->buffers[c_word_at(g, at + (side ? 4 : 1))]);
        say(g, "[");
        say_value(g, side ? from : to);
        say(g, " + ");
        say_value(g, i);
        say(g, side ? "];" : "] = ");
    }
    end_line(g);
    say(g, "}");
    end_line(g);
}

/* ---- blocks of memory ----------------------------------------------------------------------- */

/* Done by the caller, who has the same functions for the interpreter: the operands in their order, numbers and buffers
 * as they stand. The memory comes along so that compilers know what is written and read there. */
static void block(rlx_cgen_kernel *g, uint32_t at, const char *name)
{
    const char *letters = rlx_kernel_ops[c_word_at(g, at)].operands;
    settle(g, false);
    take(g, at);
    rlx_buf_format(&g->line, "RELAX_TRY(call->block(call, RELAX_KERNEL_%s, RELAX_LIST(int64_t", name);
    for (uint32_t i = 0; letters[i]; i++) {
        say(g, ", ");
        if (letters[i] == 'r')
            say_value(g, rlx_cgen_operand(g, c_word_at(g, at + 1 + i)));
        else
            rlx_buf_format(&g->line, "%u", c_word_at(g, at + 1 + i));
    }
    say(g, "), RELAX_LIST(void *");
    for (uint32_t i = 0; letters[i]; i++) {
        if (letters[i] != 'b' && letters[i] != 'B')
            continue;
        say(g, ", (void *)");
        say_value(g, g->buffers[c_word_at(g, at + 1 + i)]);
    }
    say(g, ")));");
    end_line(g);
}

/* ---- instructions --------------------------------------------------------------------------- */

static void dim(rlx_cgen_kernel *g, uint32_t at)
{
    size_t begin = g->pool.len;
    rlx_buf_format(&g->pool, "call->buffers[%u].shape[%u]", c_word_at(g, at + 2),
                   c_word_at(g, at + 3));
    if (g->words[at].uses)
        give_name(g, c_word_at(g, at + 1), rlx_cgen_text(g, begin, C_OTHER));
}

static void want_dim(rlx_cgen_kernel *g, uint32_t at)
{
    rlx_buf_format(&g->line, "RELAX_WANT(%u, %u, ", c_word_at(g, at + 1), c_word_at(g, at + 2));
    say_value(g, rlx_cgen_operand(g, c_word_at(g, at + 3)));
    take(g, at);
    say(g, ");");
    end_line(g);
}

/* 1 + the buffer that may be the memory of this one, or 0. */
static uint32_t same_as(const rlx_cgen_kernel *g, uint32_t row)
{
    return rlx_get_u16(c_buffer(g, row) + 6);
}

static bool is_alone(const rlx_cgen_kernel *g, uint32_t row)
{
    bool alone = !same_as(g, row);
    for (uint32_t i = 0; alone && g->same_place && i < g->count[RLX_KERNEL_PARAMS]; i++)
        alone = i >= g->count[RLX_KERNEL_BUFFERS] || same_as(g, i) != row + 1;
    return alone;
}

static void say_pointer(rlx_cgen_kernel *g, uint32_t row)
{
    const char *type = rlx_cgen_elems[elem_of(g, row)].type,
               *is_const = g->written[row] ? "" : "const ";
    rlx_buf_format(&g->line, "%s%s *%s", is_const, type, is_alone(g, row) ? "restrict " : "");
    say_value(g, g->buffers[row]);
    rlx_buf_format(&g->line, " = (%s%s *)call->buffers[%u].data;", is_const, type, row);
    end_line(g);
}

static void alloc(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t row = c_word_at(g, at + 1);
    settle(g, false);
    rlx_buf_format(&g->line, "RELAX_TRY(call->allocate(call, %u, ", row);
    say_value(g, rlx_cgen_operand(g, c_word_at(g, at + 2)));
    take(g, at);
    say(g, "));");
    end_line(g);
    g->buffers[row] =
        declare(g, rlx_slice_z((const char *)g->part[RLX_KERNEL_NAMES] +
                               rlx_get_u32(c_buffer(g, row) + 8)));
    say_pointer(g, row);
}

static void assertion(rlx_cgen_kernel *g, uint32_t at)
{
    rlx_cgen_value v = rlx_cgen_operand(g, c_word_at(g, at + 1));
    take(g, at);
    say(g, "if (!");
    rlx_cgen_put(g, &g->line, v, C_UNARY);
    say(g, ")");
    end_line(g);
    rlx_buf_format(&g->line, "    return call->fail(call, RELAX_KERNEL_ASSERTION, %u, %u, 0, 0);",
                   c_word_at(g, at + 3), c_word_at(g, at + 2));
    end_line(g);
}

/* Integers are cheap enough to stand in the loop. */
static void broadcast(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t r = c_word_at(g, at + 2);
    define(g, at, rlx_cgen_class(g, r) == RLX_CLASS_I64 ? rlx_cgen_operand(g, r) : as_atom(g, r),
           true);
}

static void value(rlx_cgen_kernel *g, uint32_t at, unsigned op)
{
    uint32_t r = c_word_at(g, at + 1);
    if (!g->values[r].out || !(rlx_cgen_reg_byte(g, r) & RLX_KERNEL_VIEW_REG)) {
        if (rlx_cgen_may_fail(op))
            risky(g, at);
        else
            define(g, at, rlx_cgen_arithmetic(g, at), op < RLX_K_FIRST_VALUE);
        return;
    }
    rlx_cgen_value place = g->values[r];
    if (rlx_cgen_may_fail(op)) { /* through a name */
        g->values[r].out = false;
        g->words[at].uses = 1;
        risky(g, at);
        store(g, place.row, place, g->values[r]);
        return;
    }
    rlx_cgen_value v = rlx_cgen_arithmetic(g, at);
    take(g, at);
    store(g, place.row, place, v);
}

/* What a choice is between is computed in front of it, as bytecode does: inside of it a compiler may make a branch of it, and no
 * vectors. Those names are for this choice alone: others may read the same further out. */
static void choice(rlx_cgen_kernel *g, uint32_t at, unsigned op)
{
    rlx_cgen_value was[2];
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t r = c_word_at(g, at + 3 + i);
        was[i] = rlx_cgen_operand(g, r);
        if (was[i].literal || is_name(g, was[i]))
            continue;
        g->values[r].pending = false;
        give_name(g, r, g->values[r]);
    }
    value(g, at, op);
    for (uint32_t i = 2; i-- > 0;)   /* the first of them last, as both may be one register */
        if (!was[i].pending && c_word_at(g, at + 3 + i) != c_word_at(g, at + 1))
            g->values[c_word_at(g, at + 3 + i)] = was[i];
}

/* ---- parallel loops ------------------------------------------------------------------------- */

static const char *const scalar_members[RLX_CLASS_COUNT] = { "i32", "i64", "f32", "f64" };

static void put_part_name(rlx_cgen_kernel *g, rlx_buf *out, uint32_t at)
{
    rlx_buf_format(out, "p%zu_%u_", g->serial, at);
    rlx_cgen_put_plain(out, g->source->name, 60);
}

/* Of its buffer it wants to know no element. */
static bool reads_sizes(uint32_t op)
{
    return op == RLX_K_DIM || op == RLX_K_WANT_DIM || op == RLX_K_CHECK || op == RLX_K_CHECK_EACH || op == RLX_K_PLACE_EACH;
}

/* What an instruction of a part reads of registers that the part has not made, and of memory that it has not allocated. */
static void note_captured(rlx_cgen_kernel *g, uint32_t at)
{
    const unsigned op = c_word_at(g, at);
    const char *letters = rlx_kernel_ops[op].operands;
    const bool sizes = reads_sizes(op);
    for (uint32_t i = 0; letters[i]; i++) {
        uint32_t w = c_word_at(g, at + 1 + i);
        const bool is_length = op == RLX_K_BROADCAST && i == 2; /* of a strip, which C has none of */
        bool reads = (strchr("ilfdvxsrc", letters[i]) && !is_length) || (letters[i] == 'm' && w != RLX_KERNEL_NONE);
        if (reads && !c_is_constant(g, w) && g->seen[w] != g->num_parts) {
            g->seen[w] = g->num_parts;
            (void)rlx_vec_push(g->memory, &g->captured, w);
        }
        if (strchr("bBt", letters[i]) && !sizes && g->seen_rows[w] != g->num_parts) {
            g->seen_rows[w] = g->num_parts;
            if (letters[i] != 't')
                (void)rlx_vec_push(g->memory, &g->touched, w);
        }
    }
    for (uint32_t i = 0; letters[i]; i++)
        if (strchr("ILFDVXw", letters[i]))
            g->seen[c_word_at(g, at + 1 + i)] = g->num_parts;
}

/* Does the part that begins need the register? Not literals, and names once: several may have the same. */
static bool is_taken_along(rlx_cgen_kernel *g, uint32_t r)
{
    if (as_atom(g, r).literal)
        return false;
    if (!is_name(g, g->values[r])) { /* a call, which is written wherever it is used */
        (void)rlx_vec_push(g->memory, &g->renamed, ((rlx_cgen_renamed){ r, g->values[r] }));
        give_name(g, r, g->values[r]);
    }
    const rlx_cgen_value v = g->values[r];
    void *part = &g->words[g->num_parts]; /* a mark for it */
    if (!is_name(g, v))
        return false;
    const rlx_slice name = { g->pool.data + v.at, v.len };
    return rlx_map_get(&g->names, name) != part && rlx_map_put(&g->names, name, part);
}

/* Finds what the part takes along. */
static void capture(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t end = rlx_cgen_jump_target(g, at);
    size_t kept = 0;
    g->num_parts++;
    g->captured.len = g->touched.len = 0;
    g->seen[c_word_at(g, at + 1)] = g->seen[c_word_at(g, at + 2)] = g->num_parts;
    for (uint32_t i = at + rlx_kernel_op_words(RLX_K_PAR); i < end; i += rlx_kernel_op_words(c_word_at(g, i)))
        note_captured(g, i);
    for (size_t i = 0; i < g->captured.len; i++)
        if (is_taken_along(g, g->captured.data[i]))
            g->captured.data[kept++] = g->captured.data[i];
    g->captured.len = kept;
}

/* The call of the function that follows. */
static void say_parallel(rlx_cgen_kernel *g, uint32_t at)
{
    rlx_cgen_value operands[3];
    for (uint32_t i = 0; i < 3; i++)
        operands[i] = as_atom(g, c_word_at(g, at + 3 + i));
    take(g, at);
    rlx_buf_format(&g->line, "RELAX_TRY(call->parallel(call, %u, ", at);
    for (int i = 0; i < 3; i++) {
        say_value(g, operands[i]);
        say(g, ", ");
    }
    rlx_buf_format(&g->line, "%u, ", c_word_at(g, at + 6));
    put_part_name(g, &g->line, at);
    say(g, ", ");
    if (!g->captured.len)
        say(g, "NULL");
    else
        say(g, "RELAX_LIST(relax_kernel_scalar");
    for (size_t i = 0; i < g->captured.len; i++) {
        uint32_t r = g->captured.data[i];
        rlx_buf_format(&g->line, ", { .%s = ", scalar_members[rlx_cgen_class(g, r)]);
        say_value(g, g->values[r]);
        say(g, " }");
    }
    say(g, g->captured.len ? "), " : ", ");
    say(g, g->touched.len ? "RELAX_LIST(void *" : "NULL");
    for (size_t i = 0; i < g->touched.len; i++) {
        say(g, ", (void *)");
        say_value(g, g->buffers[g->touched.data[i]]);
    }
    say(g, g->touched.len ? ")));" : "));");
    end_line(g);
}

/* A part of a loop is a function of its own, with the same names as around it. */
static void begin_part(rlx_cgen_kernel *g, uint32_t at)
{
    uint32_t renamed = (uint32_t)g->renamed.len;
    settle(g, false);
    capture(g, at);
    say_parallel(g, at);
    if (!rlx_cgen_push(g, C_PART, UINT32_MAX))
        return;
    rlx_cgen_region *part = rlx_cgen_top(g);
    part->around = g->text;
    part->base = g->base;
    part->renamed = renamed;
    rlx_buf_init(&g->text, g->memory);
    g->base = (uint32_t)g->regions.len - 1;
    rlx_cgen_value captured = declare(g, RLX_SLICE("captured")), begin = declare(g, RLX_SLICE("begin")),
                   count = declare(g, RLX_SLICE("count"));
    rlx_buf_z(&g->text, "\nstatic int ");
    put_part_name(g, &g->text, at);
    rlx_buf_z(&g->text, "(relax_kernel_call *call, const relax_kernel_scalar *");
    rlx_cgen_put(g, &g->text, captured, C_ATOM);
    rlx_buf_z(&g->text, ", int64_t ");
    rlx_cgen_put(g, &g->text, begin, C_ATOM);
    rlx_buf_z(&g->text, ", int64_t ");
    rlx_cgen_put(g, &g->text, count, C_ATOM);
    rlx_buf_z(&g->text, ")\n{\n");
    for (size_t i = 0; i < g->captured.len; i++) {
        uint32_t r = g->captured.data[i];
        rlx_buf_format(&g->line, "const %s ", rlx_cgen_class_types[rlx_cgen_class(g, r)]);
        say_value(g, g->values[r]);
        say(g, " = ");
        say_value(g, captured);
        rlx_buf_format(&g->line, "[%zu].%s;", i, scalar_members[rlx_cgen_class(g, r)]);
        end_line(g);
    }
    if (!g->captured.len) {
        say(g, "(void)");
        say_value(g, captured);
        say(g, ";");
        end_line(g);
    }
    for (size_t i = 0; i < g->touched.len; i++)
        say_pointer(g, g->touched.data[i]);
    g->values[c_word_at(g, at + 1)] = begin;
    g->values[c_word_at(g, at + 2)] = count;
}

static void end_part(rlx_cgen_kernel *g)
{
    settle(g, false);
    say(g, "return 0;");
    end_line(g);
    rlx_buf_z(&g->text, "}\n");
    rlx_buf_put(g->out, g->text.data, g->text.len);
    g->out->failed |= g->text.failed;
    rlx_buf_free(&g->text);
    g->text = rlx_cgen_top(g)->around;
    g->base = rlx_cgen_top(g)->base;
    rlx_buf_init(&rlx_cgen_top(g)->around, g->memory);
    while (g->renamed.len > rlx_cgen_top(g)->renamed) {
        rlx_cgen_renamed r = rlx_vec_pop(&g->renamed);
        g->values[r.reg] = r.was;
    }
    close_region(g);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void instruction(rlx_cgen_kernel *g, uint32_t at)
{
    unsigned op = c_word_at(g, at);
    bool spent = g->spent;
    g->spent = false;
    switch (op) {
    case RLX_K_END:
        say(g, "return 0;");
        end_line(g);
        return;
    case RLX_K_JUMP: spend(g, "1"); return; /* the end of a while */
    case RLX_K_JUMP_IF_NOT: case RLX_K_JUMP_IF_EMPTY: begin_if(g, at, op); return;
    case RLX_K_LOOP: begin_loop(g, at); return;
    case RLX_K_PAR: begin_part(g, at); return;
    case RLX_K_ENDPAR: end_part(g); return;
    case RLX_K_NEXT:
        if (!spent)
            spend(g, "1");
        end_block(g);
        return;
    case RLX_K_STRIP: begin_strip(g, at); return;
    case RLX_K_NEXT_STRIP: end_strip(g); return;
    case RLX_K_ASSERT: assertion(g, at); return;
    case RLX_K_DIM: dim(g, at); return;
    case RLX_K_WANT_DIM: want_dim(g, at); return;
    case RLX_K_ALLOC: alloc(g, at); return;
    case RLX_K_CHECK: check_range(g, at); return;
    case RLX_K_CHECK_EACH: check_each(g, at); return;
    case RLX_K_PLACE_EACH: place_each(g, at); return;
    /* of the first of the strip: one */
    case RLX_K_LOAD: case RLX_K_LOAD_STRIDED: case RLX_K_VIEW: load(g, at); return;
    case RLX_K_LOAD_EACH: load_each(g, at); return;
    case RLX_K_STORE: case RLX_K_STORE_STRIDED: {
        rlx_cgen_value offset = rlx_cgen_operand(g, c_word_at(g, at + 2)),
                       v = rlx_cgen_operand(g, c_word_at(g, at + (op == RLX_K_STORE ? 3 : 4)));
        take(g, at);
        store(g, c_word_at(g, at + 1), offset, v);
        return;
    }
    case RLX_K_STORE_EACH: store_each(g, at); return;
    case RLX_K_ADD_EACH: add_each(g, at); return;
    case RLX_K_VIEW_OUT: g->values[c_word_at(g, at + 1)] = place_of_view(g, at); return;
    case RLX_K_BROADCAST: broadcast(g, at); return;
    case RLX_K_IOTA: define(g, at, rlx_cgen_operand(g, c_word_at(g, at + 2)), true); return;
    case RLX_K_COPY: block(g, at, "COPY"); return;
    case RLX_K_COPY_ROWS: copy_row(g, at); return;
    case RLX_K_PACK: block(g, at, "PACK"); return;
    case RLX_K_UNPACK: block(g, at, "UNPACK"); return;
    case RLX_K_CONTRACT: block(g, at, "CONTRACT"); return;
    case RLX_K_REDUCE: block(g, at, "REDUCE"); return;
    case RLX_K_PARTIAL: block(g, at, "PARTIAL"); return;
    case RLX_K_NORMALIZE: block(g, at, "NORMALIZE"); return;
    case RLX_K_MAP: block(g, at, "MAP"); return;
    case RLX_K_SELECT_I32: case RLX_K_SELECT_I64: case RLX_K_SELECT_F32: case RLX_K_SELECT_F64: choice(g, at, op); return;
    default: value(g, at, op); return;
    }
}

/* ---- the function --------------------------------------------------------------------------- */

static void begin_function(rlx_cgen_kernel *g, size_t number)
{
    rlx_buf_z(&g->text, "\n/* ");
    rlx_cgen_put_plain(&g->text, g->source->name, 200);
    rlx_buf_z(&g->text, " */\n");
    rlx_buf_format(&g->text, "static int k%zu_", number);
    rlx_cgen_put_plain(&g->text, g->source->name, 60);
    rlx_buf_z(&g->text, "(relax_kernel_call *call)\n{\n");
}

static void parameters(rlx_cgen_kernel *g)
{
    for (uint32_t row = 0; row < g->count[RLX_KERNEL_BUFFERS]; row++)
        g->same_place |= same_as(g, row) != 0;
    for (uint32_t row = 0; row < g->count[RLX_KERNEL_BUFFERS]; row++) {
        const uint8_t *p = c_buffer(g, row);
        if (p[4] == RLX_KERNEL_BUFFER_TEMP || !g->used[row])
            continue;
        bool only_shape =
            p[4] == RLX_KERNEL_BUFFER_PARAM && !g->written[row] && !g->buffers[row].loads;
        if (only_shape)
            continue;
        g->buffers[row] =
            declare(g, rlx_slice_z((const char *)g->part[RLX_KERNEL_NAMES] + rlx_get_u32(p + 8)));
        say_pointer(g, row);
    }
    for (uint32_t i = 0; i < g->count[RLX_KERNEL_PARAMS]; i++) {
        const uint8_t *p = g->part[RLX_KERNEL_PARAMS] + 8 * (size_t)i;
        uint32_t r = rlx_get_u16(p + 2);
        if (p[0] != RLX_KERNEL_PARAM_SCALAR)
            continue;
        size_t begin = g->pool.len;
        rlx_buf_format(&g->pool, "call->scalars[%u].%s", i, scalar_members[rlx_cgen_class(g, r)]);
        give_name(g, r, rlx_cgen_text(g, begin, C_ATOM));
        rlx_buf_format(&g->line, "(void)");
        say_value(g, g->values[r]);
        say(g, ";");
        end_line(g);
    }
}

/* Buffers whose elements are read, not just their sizes. */
static void note_loads(rlx_cgen_kernel *g)
{
    for (uint32_t at = 0; at < g->count[RLX_KERNEL_CODE];
         at += rlx_kernel_op_words(c_word_at(g, at))) {
        uint32_t op = c_word_at(g, at);
        const char *letters = rlx_kernel_ops[op].operands;
        bool sizes = reads_sizes(op);
        for (uint32_t i = 0; letters[i] && !sizes; i++)
            if (letters[i] == 'b')
                g->buffers[c_word_at(g, at + 1 + i)].loads = true;
    }
}

void rlx_cgen_kernel_write(rlx_cgen_kernel *g, size_t number)
{
    g->serial = number;
    begin_function(g, number);
    note_loads(g);
    if (!rlx_cgen_push(g, C_FUNCTION, UINT32_MAX))
        return;
    if (g->source->left_from) {
        rlx_buf_format(&g->line, "if (call->buffers[%u].count >= %" PRId64 ")", g->source->left, g->source->left_from);
        end_line(g);
        say(g, "    return RELAX_KERNEL_BYTECODE;");
        end_line(g);
    }
    parameters(g);
    for (uint32_t at = 0; at < g->count[RLX_KERNEL_CODE] && !g->ctx->diags.out_of_memory;
         at += rlx_kernel_op_words(c_word_at(g, at))) {
        if (!rlx_cgen_enter(g, at, closed, begin_while))
            return;
        instruction(g, at);
    }
    rlx_buf_lit(&g->text, "}\n");
    rlx_buf_put(g->out, g->text.data, g->text.len);
    g->out->failed |= g->text.failed;
}
