/* random_program.c: see the header.
 *
 * A function is a list of statements; each kind of statement is a row of `statements`, takes
 * what is in scope and adds what it binds. Every function has a parameter x of one type, so that
 * there is always an operand and every function can be called.
 */
#include "random_program.h"
#include "text_file.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define MAX_ITEMS 96
#define MAX_DIMS 48

enum { TENSOR, PRIM, SHAPE, TUPLE, NESTED, OBJECT, OBJECT_PAIR, CLOSURE, OTHER };
enum { FLOAT, INT, BOOL };
static const char *const dtypes[] = { "float32", "int32", "bool" };

typedef struct type { uint8_t dtype, rank, dim[2]; } type;
typedef struct item { char name[16]; uint8_t kind; type t[2]; } item;
typedef struct gen {
    uint64_t seed, kinds;
    char *text;
    size_t len, cap;
    int indent, depth;
    unsigned next;              /* number of the next name */
    item items[MAX_ITEMS];      /* in scope */
    size_t num_items, first;    /* first: of the open dataflow block */
    char dims[MAX_DIMS][24];
    size_t num_dims;
    bool dataflow, pure, devices, runnable;
    bool casts;                 /* most statements are blocks that cast */
    bool tried;                 /* may fail, and may change tensors that others see */
    bool unknown;               /* ranks and dtypes may be unknown */
    int num_callable;           /* functions f0 ... that may be called */
} gen;

uint32_t random_roll(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

static uint32_t roll(gen *g, uint32_t n) { return random_roll(&g->seed, n); }

/* ---- text ----------------------------------------------------------------------------------- */

static void put(gen *g, const char *format, ...)
{
    char piece[4096];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (g->len + (size_t)n + 1 > g->cap)
        g->text = realloc(g->text, g->cap = 2 * (g->cap + (size_t)n + 1));
    memcpy(g->text + g->len, piece, (size_t)n + 1);
    g->len += (size_t)n;
}

static void begin(gen *g) { put(g, "%*s", 4 * g->indent, ""); }

#define LINE(g, ...) (begin(g), put(g, __VA_ARGS__), put(g, "\n"))

static void used(gen *g, enum random_kind kind) { g->kinds |= (uint64_t)1 << kind; }

/* R.Tensor((n, 4), "float32"); room for a few in one line */
static const char *type_text(gen *g, type t)
{
    static char room[8][96];
    static unsigned at;
    char *s = room[at++ % 8];
    if (t.rank == 0)
        sprintf(s, "R.Tensor((), \"%s\")", dtypes[t.dtype]);
    else if (t.rank == 1)
        sprintf(s, "R.Tensor((%s,), \"%s\")", g->dims[t.dim[0]], dtypes[t.dtype]);
    else
        sprintf(s, "R.Tensor((%s, %s), \"%s\")", g->dims[t.dim[0]], g->dims[t.dim[1]],
                dtypes[t.dtype]);
    return s;
}

/* ---- what is in scope ----------------------------------------------------------------------- */

static uint8_t dim(gen *g, const char *text)
{
    for (size_t i = 0; i < g->num_dims; i++)
        if (strcmp(g->dims[i], text) == 0)
            return (uint8_t)i;
    if (g->num_dims == MAX_DIMS || strlen(text) >= sizeof g->dims[0])
        return 0;
    strcpy(g->dims[g->num_dims], text);
    return (uint8_t)g->num_dims++;
}

static const char *fresh(gen *g)
{
    static char room[8][16];
    static unsigned at;
    char *s = room[at++ % 8];
    sprintf(s, "v%u", g->next++);
    return s;
}

static void add(gen *g, const char *name, int kind, type a, type b)
{
    if (g->num_items == MAX_ITEMS)
        return;
    item *i = &g->items[g->num_items++];
    *i = (item){ .kind = (uint8_t)kind, .t = { a, b } };
    snprintf(i->name, sizeof i->name, "%s", name);
}

static void add_tensor(gen *g, const char *name, type t) { add(g, name, TENSOR, t, t); }

/* Some item of a kind; NULL: there is none. */
static const item *some(gen *g, int kind)
{
    const item *found = NULL;
    uint32_t seen = 0;
    for (size_t i = 0; i < g->num_items; i++)
        if (g->items[i].kind == kind && roll(g, ++seen) == 0)
            found = &g->items[i];
    return found;
}

static bool same(type a, type b)
{
    return a.dtype == b.dtype && a.rank == b.rank && (a.rank < 1 || a.dim[0] == b.dim[0]) &&
           (a.rank < 2 || a.dim[1] == b.dim[1]);
}

static const item *some_like(gen *g, type t)
{
    const item *found = NULL;
    uint32_t seen = 0;
    for (size_t i = 0; i < g->num_items; i++)
        if (g->items[i].kind == TENSOR && same(g->items[i].t[0], t) && roll(g, ++seen) == 0)
            found = &g->items[i];
    return found;
}

static type x_type(gen *g) { return (type){ FLOAT, 2, { dim(g, "n"), dim(g, "4") } }; }
static const item *floats(gen *g)
{
    for (int i = 0; i < 4; i++) {
        const item *t = some(g, TENSOR);
        if (t->t[0].dtype == FLOAT)
            return t;
    }
    return &g->items[0];
}
static const item *matrix(gen *g)
{
    for (int i = 0; i < 4; i++) {
        const item *t = floats(g);
        if (t->t[0].rank == 2)
            return t;
    }
    return &g->items[0];
}

/* ---- statements: false if there is nothing to make them of ---------------------------------- */

static bool unary(gen *g)
{
    static const char *const names[] = { "exp", "negative", "abs", "sigmoid", "nn.relu", "tanh",
                                         "square", "nn.silu" };
    const item *x = floats(g);
    const char *v = fresh(g);
    LINE(g, "%s = R.%s(%s)", v, names[roll(g, COUNT(names))], x->name);
    add_tensor(g, v, x->t[0]);
    return true;
}

static bool binary(gen *g)
{
    static const char *const names[] = { "add", "multiply", "subtract", "maximum", "minimum" };
    const item *a = some(g, TENSOR), *b = some_like(g, a->t[0]);
    const char *v = fresh(g);
    if (a->t[0].dtype == BOOL)
        return false;
    LINE(g, "%s = R.%s(%s, %s)", v, names[roll(g, COUNT(names))], a->name, b->name);
    add_tensor(g, v, a->t[0]);
    return true;
}

static bool broadcast(gen *g)
{
    const item *a = floats(g);
    const char *v = fresh(g);
    LINE(g, "%s = R.add(%s, R.const(%u.5, \"float32\"))", v, a->name, roll(g, 9));
    add_tensor(g, v, a->t[0]);
    return true;
}

static bool compare(gen *g)
{
    const item *a = floats(g), *b = some_like(g, a->t[0]);
    const char *c = fresh(g), *v = fresh(g);
    type t = a->t[0];
    LINE(g, "%s = R.%s(%s, %s)", c, roll(g, 2) ? "less" : "greater_equal", a->name, b->name);
    LINE(g, "%s = R.where(%s, %s, %s)", v, c, b->name, a->name);
    add_tensor(g, v, t);
    t.dtype = BOOL;
    add_tensor(g, c, t);
    return true;
}

static bool cast_dtype(gen *g)
{
    const item *a = some(g, TENSOR);
    const char *v = fresh(g);
    type t = a->t[0];
    t.dtype = (uint8_t)roll(g, 2);
    LINE(g, "%s = R.astype(%s, \"%s\")", v, a->name, dtypes[t.dtype]);
    add_tensor(g, v, t);
    return true;
}

static bool transpose(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    LINE(g, "%s = R.permute_dims(%s)", v, a->name);
    add_tensor(g, v, (type){ FLOAT, 2, { a->t[0].dim[1], a->t[0].dim[0] } });
    return true;
}

static bool matmul(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g), *w = fresh(g);
    LINE(g, "%s = R.permute_dims(%s)", w, a->name);
    LINE(g, "%s = R.matmul(%s, %s)", v, a->name, w);
    add_tensor(g, v, (type){ FLOAT, 2, { a->t[0].dim[0], a->t[0].dim[0] } });
    return true;
}

static bool expand(gen *g)
{
    const item *a = floats(g);
    const char *v = fresh(g);
    if (a->t[0].rank != 1)
        return false;
    LINE(g, "%s = R.expand_dims(%s, axis=[0])", v, a->name);
    add_tensor(g, v, (type){ FLOAT, 2, { dim(g, "1"), a->t[0].dim[0] } });
    return true;
}

static bool reduce(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    uint32_t axis = roll(g, 2);
    LINE(g, "%s = R.%s(%s, axis=[%u])", v, roll(g, 2) ? "sum" : "max", a->name, axis);
    add_tensor(g, v, (type){ FLOAT, 1, { a->t[0].dim[1 - axis] } });
    return true;
}

static bool concat(gen *g)
{
    const item *a = floats(g), *b = some_like(g, a->t[0]);
    const char *v = fresh(g);
    LINE(g, "%s = R.concat((%s, %s), axis=0)", v, a->name, b->name);
    return a->t[0].rank > 0; /* not used further; of rank 0 it would be refused */
}

static bool concat_if_ranked(gen *g)
{
    gen saved = *g;
    if (concat(g))
        return true;
    g->len = saved.len;
    g->text[g->len] = 0;
    return false;
}

static bool split(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    if (strcmp(g->dims[a->t[0].dim[1]], "4") != 0)
        return false;
    type half = { FLOAT, 2, { a->t[0].dim[0], dim(g, "2") } };
    LINE(g, "%s = R.split(%s, indices_or_sections=2, axis=1)", v, a->name);
    add(g, v, TUPLE, half, half);
    return true;
}

static bool slice(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    if (strcmp(g->dims[a->t[0].dim[1]], "4") != 0)
        return false;
    LINE(g, "%s = R.strided_slice(%s, axes=[1], begin=[1], end=[3])", v, a->name);
    add_tensor(g, v, (type){ FLOAT, 2, { a->t[0].dim[0], dim(g, "2") } });
    return true;
}

static bool constant(gen *g)
{
    const char *v = fresh(g);
    if (roll(g, 2)) {
        LINE(g, "%s = R.const(%u.25, \"float32\")", v, roll(g, 100));
        add_tensor(g, v, (type){ FLOAT, 0, { 0 } });
    } else {
        LINE(g, "%s = R.const([%u, 2, 3, 4], \"int32\")", v, roll(g, 9));
        add_tensor(g, v, (type){ INT, 1, { dim(g, "4") } });
    }
    return true;
}

static bool shape(gen *g)
{
    const char *v = fresh(g);
    uint8_t a = (uint8_t)roll(g, (uint32_t)g->num_dims), b = (uint8_t)roll(g, 3);
    LINE(g, "%s = R.shape([%s, %s])", v, g->dims[a], g->dims[b]);
    add(g, v, SHAPE, (type){ INT, 2, { a, b } }, (type){ 0 });
    return true;
}

static bool shape_of(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    LINE(g, "%s = R.shape_of(%s)", v, a->name);
    add(g, v, SHAPE, a->t[0], (type){ 0 });
    return true;
}

static bool zeros(gen *g)
{
    const item *s = some(g, SHAPE);
    const char *v = fresh(g);
    if (!s)
        return false;
    LINE(g, "%s = R.%s(%s, dtype=\"float32\")", v, roll(g, 2) ? "zeros" : "ones", s->name);
    add_tensor(g, v, (type){ FLOAT, 2, { s->t[0].dim[0], s->t[0].dim[1] } });
    return true;
}

static bool prim(gen *g)
{
    const char *v = fresh(g);
    LINE(g, "%s = R.prim_value(%s + %u)", v, g->dims[roll(g, (uint32_t)g->num_dims)],
         roll(g, 5));
    add(g, v, PRIM, (type){ 0 }, (type){ 0 });
    return true;
}

static bool tuple(gen *g)
{
    const item *a = some(g, TENSOR), *b = some(g, TENSOR);
    const char *v = fresh(g);
    LINE(g, "%s = (%s, %s)", v, a->name, b->name);
    add(g, v, TUPLE, a->t[0], b->t[0]);
    return true;
}

static bool nested_tuple(gen *g)
{
    const item *a = some(g, TENSOR), *b = some(g, TENSOR);
    const char *v = fresh(g);
    LINE(g, "%s = (%s, (%s, R.prim_value(%u)))", v, a->name, b->name, roll(g, 9));
    add(g, v, NESTED, a->t[0], b->t[0]);
    return true;
}

static bool take_item(gen *g)
{
    const item *t = some(g, roll(g, 3) ? TUPLE : NESTED);
    const char *v = fresh(g), *w = fresh(g);
    uint32_t i = roll(g, 2);
    if (!t)
        return false;
    if (t->kind == NESTED && i == 1) {
        LINE(g, "%s = %s[1]", w, t->name);
        LINE(g, "%s = %s[0]", v, w);
    } else {
        LINE(g, "%s = %s[%u]", v, t->name, i);
    }
    add_tensor(g, v, t->t[i]);
    return true;
}

static bool annotated(gen *g)
{
    const item *a = floats(g);
    const char *v = fresh(g);
    LINE(g, "%s: %s = R.negative(%s)", v, type_text(g, a->t[0]), a->name);
    add_tensor(g, v, a->t[0]);
    return true;
}

/* An annotation that forgets the sizes, and a cast that finds them again. */
static bool loose(gen *g)
{
    const item *a = floats(g);
    const char *v = fresh(g), *w = fresh(g);
    LINE(g, "%s: R.Tensor(\"float32\", ndim=%d) = R.tanh(%s)", v, a->t[0].rank, a->name);
    LINE(g, "%s = R.match_cast(%s, %s)", w, v, type_text(g, a->t[0]));
    add_tensor(g, w, a->t[0]);
    return true;
}

static bool copy(gen *g)
{
    const item *a = some(g, TENSOR);
    const char *v = fresh(g);
    LINE(g, "%s = %s", v, a->name);
    add_tensor(g, v, a->t[0]);
    return true;
}

/* Sizes get names. In a branch or block the names end with it; so they are not used further
 * then. */
static bool match_cast(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g), *k = fresh(g);
    type t = a->t[0];
    if (g->indent > 2)
        return false;
    LINE(g, "%s = T.int64()", k);
    LINE(g, "%s = R.match_cast(%s, R.Tensor((%s, %s), \"float32\"))", v, a->name, k,
         g->dims[t.dim[1]]);
    t.dim[0] = dim(g, k);
    add_tensor(g, v, t);
    return true;
}

static bool match_object(gen *g)
{
    const item *o = some(g, OBJECT);
    const char *v = fresh(g);
    if (!o)
        return false;
    LINE(g, "%s = R.match_cast(%s, %s)", v, o->name, type_text(g, x_type(g)));
    add_tensor(g, v, x_type(g));
    return true;
}

static bool call_tir(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    LINE(g, "%s = R.call_tir(cls.twice, (%s,), out_sinfo=%s)", v, a->name,
         type_text(g, a->t[0]));
    add_tensor(g, v, a->t[0]);
    return true;
}

static bool call_tir_many(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    const char *t = type_text(g, a->t[0]);
    LINE(g, "%s = R.call_tir(cls.both, (%s,), out_sinfo=[%s, %s])", v, a->name, t, t);
    add(g, v, TUPLE, a->t[0], a->t[0]);
    return true;
}

static bool call_tir_vars(gen *g)
{
    const char *v = fresh(g);
    uint8_t d = (uint8_t)roll(g, 3);
    LINE(g, "%s = R.call_tir(cls.fill, R.tuple(), out_sinfo=R.Tensor((%s,), \"float32\"), "
            "tir_vars=R.shape([%s]))", v, g->dims[d], g->dims[d]);
    add_tensor(g, v, (type){ FLOAT, 1, { d } });
    return true;
}

/* What is written into must be of known sizes, which inference loses where a size was a value. */
static bool inplace(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g), *w = fresh(g), *sized = fresh(g), *t = type_text(g, a->t[0]);
    LINE(g, "%s = R.add(%s, %s)", w, a->name, a->name);
    LINE(g, "%s = R.match_cast(%s, %s)", sized, w, t);
    LINE(g, "%s = R.call_tir_inplace(cls.bump, (%s,), inplace_indices=[0], out_sinfo=%s)", v,
         sized, t);
    add_tensor(g, v, a->t[0]);
    return true;
}

static bool dps_packed(gen *g)
{
    const item *a = some(g, TENSOR);
    const char *v = fresh(g);
    LINE(g, "%s = R.call_dps_packed(\"host.dps\", (%s,), out_sinfo=%s)", v, a->name,
         type_text(g, a->t[0]));
    add_tensor(g, v, a->t[0]);
    return true;
}

static bool pure_packed(gen *g)
{
    const item *a = some(g, TENSOR);
    const char *v = fresh(g);
    if (roll(g, 2)) {
        LINE(g, "%s = R.call_pure_packed(\"host.any\", %s, R.str(\"how\"), R.dtype(\"int8\"), "
                "sinfo_args=(R.Object,))", v, a->name);
        add(g, v, OBJECT, (type){ 0 }, (type){ 0 });
    } else {
        LINE(g, "%s = R.call_pure_packed(\"host.same\", %s, sinfo_args=(%s,))", v, a->name,
             type_text(g, a->t[0]));
        add_tensor(g, v, a->t[0]);
    }
    return true;
}

static bool packed(gen *g)
{
    const item *a = some(g, TENSOR);
    const char *v = fresh(g);
    LINE(g, "%s = R.call_packed(\"host.impure\", %s, R.prim_value(%u), sinfo_args=(%s,))", v,
         a->name, roll(g, 9), type_text(g, a->t[0]));
    add_tensor(g, v, a->t[0]);
    return true;
}

static bool print_value(gen *g)
{
    LINE(g, "R.print(%s, format=\"{}\")", some(g, TENSOR)->name);
    return true;
}

static bool assert_value(gen *g)
{
    LINE(g, "R.assert_op(R.const(True, \"bool\"), format=\"never\")");
    return true;
}

static void statement(gen *g);

static void statements_of(gen *g, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        statement(g);
}

/* The branch binds `result`; what it bound otherwise goes. */
static void branch(gen *g, const char *result, type t)
{
    size_t mark = g->num_items;
    g->indent++;
    g->depth++;
    statements_of(g, roll(g, 3));
    LINE(g, "%s = R.nn.relu(%s)", result, some_like(g, t)->name);
    g->depth--;
    g->indent--;
    g->num_items = mark;
}

static bool if_on(gen *g, const char *cond)
{
    type t = floats(g)->t[0];
    const char *r = fresh(g);
    char result[16];
    snprintf(result, sizeof result, "%s", r);
    LINE(g, "if %s:", cond);
    branch(g, result, t);
    LINE(g, "else:");
    branch(g, result, t);
    add_tensor(g, result, t);
    return true;
}

static bool if_tensor(gen *g)
{
    char c[16];
    snprintf(c, sizeof c, "%s", fresh(g));
    LINE(g, "%s = R.less(R.const(%u, \"int32\"), R.const(4, \"int32\"))", c, roll(g, 9));
    return if_on(g, c);
}

static bool if_prim(gen *g)
{
    char c[48];
    snprintf(c, sizeof c, "R.prim_value(%s < %u)", g->dims[0], roll(g, 9));
    return if_on(g, c);
}

/* A local function that captures what is around it, sizes included. */
static bool local(gen *g)
{
    type t = floats(g)->t[0];
    char f[16], a[16], r[16];
    snprintf(f, sizeof f, "%s", fresh(g));
    snprintf(a, sizeof a, "%s", fresh(g));
    snprintf(r, sizeof r, "%s", fresh(g));
    size_t mark = g->num_items;
    bool pure = g->pure;
    LINE(g, "@R.function");
    LINE(g, "def %s(%s: %s) -> %s:", f, a, type_text(g, t), type_text(g, t));
    g->indent++;
    g->depth++;
    g->pure = true;
    add_tensor(g, a, t);
    statements_of(g, roll(g, 3));
    LINE(g, "%s = R.add(%s, %s)", r, a, some_like(g, t)->name);
    LINE(g, "return %s", r);
    g->pure = pure;
    g->depth--;
    g->indent--;
    g->num_items = mark;
    add(g, f, CLOSURE, t, t);
    return true;
}

static bool local_loop(gen *g)
{
    const char *f = fresh(g), *v = fresh(g);
    LINE(g, "@R.function");
    LINE(g, "def %s(i: R.Tensor((), \"int32\")) -> R.Tensor((), \"int32\"):", f);
    LINE(g, "    c = R.less(i, R.const(%u, \"int32\"))", roll(g, 9));
    LINE(g, "    if c:");
    LINE(g, "        j = R.add(i, R.const(1, \"int32\"))");
    LINE(g, "        r = %s(j)", f);
    LINE(g, "    else:");
    LINE(g, "        r = R.multiply(i, i)");
    LINE(g, "    return r");
    LINE(g, "%s = %s(R.const(0, \"int32\"))", v, f);
    add_tensor(g, v, (type){ INT, 0, { 0 } });
    return true;
}

static bool closure_call(gen *g)
{
    const item *f = some(g, CLOSURE), *a = f ? some_like(g, f->t[0]) : NULL;
    const char *v = fresh(g);
    if (!a)
        return false;
    LINE(g, "%s = %s(%s)", v, f->name, a->name);
    add_tensor(g, v, f->t[0]);
    return true;
}

static bool global_call(gen *g)
{
    const item *a = some_like(g, x_type(g));
    const char *v = fresh(g);
    if (!g->num_callable)
        return false;
    LINE(g, "%s = cls.f%u(%s)", v, roll(g, (uint32_t)g->num_callable), a->name);
    add_tensor(g, v, x_type(g));
    return true;
}

static bool global_value(gen *g)
{
    const char *f = fresh(g), *v = fresh(g);
    if (!g->num_callable)
        return false;
    LINE(g, "%s = cls.f%u", f, roll(g, (uint32_t)g->num_callable));
    LINE(g, "%s = %s(%s)", v, f, some_like(g, x_type(g))->name);
    add_tensor(g, v, x_type(g));
    return true;
}

/* Bindings of a block; some of its variables come out of it. */
static bool dataflow(gen *g)
{
    size_t mark = g->num_items, kept = mark;
    LINE(g, "with R.dataflow():");
    g->indent++;
    g->dataflow = true;
    unary(g);
    statements_of(g, 1 + roll(g, 5));
    begin(g);
    put(g, "R.output(");
    for (size_t i = mark; i < g->num_items; i++)
        if (i == mark || roll(g, 3) == 0) {
            put(g, "%s%s", kept > mark ? ", " : "", g->items[i].name);
            g->items[kept++] = g->items[i];
        }
    put(g, ")\n");
    g->dataflow = false;
    g->indent--;
    g->num_items = kept;
    return true;
}

/* ---- blocks that cast, copy, pack and export again what they have --------------------------- */

enum { MAX_VALUES = 24 };
typedef struct values { char name[MAX_VALUES][16]; bool tuple[MAX_VALUES]; size_t len; } values;

static const char *some_value(gen *g, const values *v, bool tuple)
{
    size_t found = 0;
    uint32_t seen = 0;
    for (size_t i = 0; i < v->len; i++)
        if (v->tuple[i] == tuple && roll(g, ++seen) == 0)
            found = i;
    return v->tuple[found] == tuple ? v->name[found] : NULL;
}

static void add_value(values *v, const char *name, bool tuple)
{
    snprintf(v->name[v->len], sizeof v->name[0], "%s", name);
    v->tuple[v->len++] = tuple;
}

/* One binding of a value that is x in all but its sizes' names, or of a pair of such values. */
static void cast_value(gen *g, values *all, const char *size)
{
    const char *a = some_value(g, all, false), *b = some_value(g, all, false),
               *t = some_value(g, all, true), *v = fresh(g);
    uint32_t how = roll(g, t ? 9 : 6);
    switch (how) {
    case 0: LINE(g, "%s = R.match_cast(%s, R.Tensor((%s, 4), \"float32\"))", v, a, size); break;
    case 1: LINE(g, "%s = R.match_cast(%s, R.Tensor((n, 4), \"float32\"))", v, a); break;
    case 2: LINE(g, "%s: R.Tensor(\"float32\", ndim=2) = R.negative(%s)", v, a); break;
    case 3: LINE(g, "%s = (%s, %s)", v, a, b); break;
    case 4:
    case 5: LINE(g, "%s = %s", v, a); break;
    case 6: LINE(g, "%s = %s", v, t); break;
    case 7: LINE(g, "%s = (%s[0], %s[1])", v, t, t); break;
    default: LINE(g, "%s = %s[%u]", v, t, roll(g, 2)); break;
    }
    add_value(all, v, how == 3 || how == 6 || how == 7);
}

/* Behind the block its sizes are not known: what comes out is cast when it is used. */
static void export_values(gen *g, const values *all, size_t inside)
{
    size_t kept = 0;
    begin(g);
    put(g, "R.output(");
    for (size_t i = inside; i < all->len; i++)
        if (i + 1 == all->len || roll(g, 2)) {
            put(g, "%s%s", kept++ ? ", " : "", all->name[i]);
            add(g, all->name[i], all->tuple[i] ? OBJECT_PAIR : OBJECT, (type){ 0 }, (type){ 0 });
        }
    put(g, ")\n");
}

static bool cast_block(gen *g)
{
    values all = { .len = 0 };
    char size[16];
    add_value(&all, some_like(g, x_type(g))->name, false);
    const item *pair = some(g, TUPLE);
    if (pair && same(pair->t[0], x_type(g)) && same(pair->t[1], x_type(g)))
        add_value(&all, pair->name, true);
    size_t inside = all.len;
    snprintf(size, sizeof size, "%s", fresh(g));
    if (g->num_items > MAX_ITEMS - 20)
        return false;
    LINE(g, "%s = T.int64()", size);
    LINE(g, "with R.dataflow():");
    g->indent++;
    char first[16];
    snprintf(first, sizeof first, "%s", fresh(g));
    LINE(g, "%s = R.match_cast(%s, R.Tensor((%s, 4), \"float32\"))", first, all.name[0], size);
    add_value(&all, first, false);
    for (uint32_t i = 0, count = 1 + roll(g, 8); i < count; i++)
        cast_value(g, &all, size);
    export_values(g, &all, inside);
    g->indent--;
    return true;
}

static bool object_item(gen *g)
{
    const item *t = some(g, OBJECT_PAIR);
    const char *v = fresh(g);
    if (!t)
        return false;
    LINE(g, "%s = %s[%u]", v, t->name, roll(g, 2));
    add(g, v, OBJECT, (type){ 0 }, (type){ 0 });
    return true;
}

/* There and back again. */
static bool device(gen *g)
{
    const item *a = floats(g);
    const char *v = fresh(g), *w = fresh(g), *h = fresh(g);
    if (!g->devices)
        return false;
    if (roll(g, 2)) {
        LINE(g, "%s = R.hint_on_device(%s, R.cpu(0))", h, a->name);
    } else {
        LINE(g, "%s = R.to_vdevice(%s, \"llvm:1\")", v, a->name);
        LINE(g, "%s = R.exp(%s)", w, v);
        LINE(g, "%s = R.to_vdevice(%s, \"llvm:0\")", h, w);
    }
    add_tensor(g, h, a->t[0]);
    return true;
}

/* ---- what may fail, and what others see ------------------------------------------------------- */

/* A value that nothing is known of. */
static void forget(gen *g, const char *name, const item *a)
{
    LINE(g, "%s = R.call_pure_packed(\"host.same\", %s, sinfo_args=(R.Object,))", name, a->name);
}

/* Most casts hold; the others fail by kind, dtype, rank or size. */
static bool doubtful_cast(gen *g)
{
    static const char *const wrong[] = { "R.Tensor((n, 5), \"float32\")", "R.Tensor((n, 4), \"int32\")",
                                         "R.Tensor(\"float32\", ndim=3)", "R.Shape(ndim=2)",
                                         "R.Prim(\"int64\")", "R.Tuple(R.Object, R.Object)",
                                         "R.Tensor((n * n, n), \"float32\")",
                                         "R.Callable((R.Object,), R.Object, True)" };
    const item *a = some(g, TENSOR);
    char o[16], v[16];
    snprintf(o, sizeof o, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    bool holds = roll(g, 12);
    forget(g, o, a);
    LINE(g, "%s = R.match_cast(%s, %s)", v, o,
         holds ? type_text(g, a->t[0]) : wrong[roll(g, COUNT(wrong))]);
    if (holds)
        add_tensor(g, v, a->t[0]);
    return true;
}

static bool doubtful_assert(gen *g)
{
    LINE(g, "R.assert_op(R.prim_value(%s * %u < %u), format=\"now and then\")", g->dims[0],
         1 + roll(g, 3), 2 + roll(g, 60));
    return true;
}

static bool doubtful_packed(gen *g)
{
    const item *a = some(g, TENSOR);
    const char *v = fresh(g);
    LINE(g, "%s = R.call_packed(\"%s\", %s, sinfo_args=(%s,))", v,
         roll(g, 40) ? "host.impure" : roll(g, 2) ? "host.fail" : "host.missing", a->name,
         type_text(g, roll(g, 20) ? a->t[0] : x_type(g)));
    return true;
}

/* Is written into where it stands; everybody who has it sees that. */
static bool change(gen *g)
{
    LINE(g, "%s = R.call_packed(\"host.bump\", %s, sinfo_args=(R.Object,))", fresh(g),
         some(g, TENSOR)->name);
    return true;
}

static bool change_own(gen *g)
{
    const item *a = floats(g);
    const char *v = fresh(g), *w = fresh(g), *sized = fresh(g), *t = type_text(g, a->t[0]);
    LINE(g, "%s = R.multiply(%s, %s)", w, a->name, a->name);
    LINE(g, "%s = R.match_cast(%s, %s)", sized, w, t);
    LINE(g, "%s = R.call_inplace_packed(\"host.own\", %s, inplace_indices=[0], sinfo_args=(%s,))",
         v, sized, t);
    add_tensor(g, v, a->t[0]);
    return true;
}

/* A view, if the library makes one: then changes of one are changes of the other, or of none. */
static bool reshaped(gen *g)
{
    const item *a = matrix(g);
    const char *v = fresh(g);
    type t = a->t[0];
    LINE(g, "%s = R.reshape(%s, R.shape([%s, %s]))", v, a->name, g->dims[t.dim[1]],
         g->dims[t.dim[0]]);
    add_tensor(g, v, (type){ t.dtype, 2, { t.dim[1], t.dim[0] } });
    return true;
}

/* A function that makes a function, which captures the parameter of the first and its sizes. */
static bool maker(gen *g)
{
    const item *a = floats(g);
    const char *t = type_text(g, a->t[0]);
    char f[16], h[16], v[16];
    snprintf(f, sizeof f, "%s", fresh(g));
    snprintf(h, sizeof h, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    LINE(g, "@R.function");
    LINE(g, "def %s(p: %s):", f, t);
    LINE(g, "    @R.function");
    LINE(g, "    def inner(q: %s) -> %s:", t, t);
    LINE(g, "        r = R.subtract(q, p)");
    LINE(g, "        return r");
    LINE(g, "    return inner");
    LINE(g, "%s = %s(%s)", h, f, a->name);
    LINE(g, "%s = (%s, %s)", v, h, a->name);
    add(g, h, CLOSURE, a->t[0], a->t[0]);
    return true;
}

/* One of two functions, by a condition that is not known. */
static bool chosen(gen *g)
{
    const item *a = some(g, CLOSURE), *b = some(g, CLOSURE);
    const char *v = fresh(g);
    if (!a || !b || !same(a->t[0], b->t[0]) || a->t[0].dtype != FLOAT)
        return false;
    const char *t = type_text(g, a->t[0]);
    char chosen[16];
    snprintf(chosen, sizeof chosen, "%s", v);
    LINE(g, "if R.prim_value(%s < %u):", g->dims[0], roll(g, 9));
    LINE(g, "    %s: R.Callable((%s,), %s, True) = %s", chosen, t, t, a->name);
    LINE(g, "else:");
    LINE(g, "    %s: R.Callable((%s,), %s, True) = %s", chosen, t, t, b->name);
    add(g, chosen, CLOSURE, a->t[0], a->t[0]);
    return true;
}

/* Through a tuple, and through a cast that looks at what the function says of itself. */
static bool stored(gen *g)
{
    const item *a = some(g, CLOSURE);
    if (!a)
        return false;
    char t[16], o[16], v[16];
    snprintf(t, sizeof t, "%s", fresh(g));
    snprintf(o, sizeof o, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    const char *whole = type_text(g, a->t[0]);
    bool holds = roll(g, 20);
    LINE(g, "%s = (%s, %s)", t, some(g, TENSOR)->name, a->name);
    LINE(g, "%s = R.call_pure_packed(\"host.same\", %s[1], sinfo_args=(R.Object,))", o, t);
    LINE(g, "%s = R.match_cast(%s, R.Callable((%s,), %s, True))", v, o,
         holds ? whole : "R.Tensor(\"float32\", ndim=7)", whole);
    if (holds)
        add(g, v, CLOSURE, a->t[0], a->t[0]);
    return true;
}

/* The parameter has a size of its own at each call. */
static bool any_size(gen *g)
{
    char f[16], v[16], w[16], k[20];
    const item *a = matrix(g), *b = matrix(g);
    if (g->depth)
        return false;
    snprintf(f, sizeof f, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    snprintf(w, sizeof w, "%s", fresh(g));
    snprintf(k, sizeof k, "k%s", f);
    LINE(g, "@R.function");
    LINE(g, "def %s(q: R.Tensor((\"%s\", \"%s_\"), \"float32\")) -> R.Shape([\"%s + %s_ + %s\"]):", f, k, k,
         k, k, g->dims[0]);
    LINE(g, "    %s = T.int64()", k);
    LINE(g, "    %s_ = T.int64()", k);
    LINE(g, "    return R.shape([%s + %s_ + %s])", k, k, g->dims[0]);
    LINE(g, "%s = %s(%s)", v, f, a->name);
    LINE(g, "%s = %s(%s)", w, f, b->name);
    add(g, w, OTHER, (type){ 0 }, (type){ 0 });
    return true;
}

/* A function that changes what it has captured, and what it is given. */
static bool local_impure(gen *g)
{
    const item *a = floats(g);
    type t = a->t[0];
    const char *whole = type_text(g, t);
    char f[16], q[16], v[16], w[16];
    if (g->depth > 2)
        return false;
    snprintf(f, sizeof f, "%s", fresh(g));
    snprintf(q, sizeof q, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    snprintf(w, sizeof w, "%s", fresh(g));
    size_t mark = g->num_items;
    LINE(g, "@R.function(pure=False)");
    LINE(g, "def %s(%s: %s) -> %s:", f, q, whole, whole);
    g->indent++;
    g->depth++;
    add_tensor(g, q, t);
    statements_of(g, 1 + roll(g, 4));
    LINE(g, "return %s", some_like(g, t)->name);
    g->depth--;
    g->indent--;
    g->num_items = mark;
    LINE(g, "%s = %s(%s)", v, f, some_like(g, t)->name);
    add_tensor(g, v, t);
    LINE(g, "%s = %s(%s)", w, f, some_like(g, t)->name);
    add_tensor(g, w, t);
    return true;
}

/* Both fields may be one tensor, and a parameter or a captured one. */
static bool pair_of(gen *g)
{
    const item *a = some(g, TENSOR), *b = some(g, TENSOR);
    const char *ta = type_text(g, a->t[0]), *tb = type_text(g, b->t[0]);
    char f[16], v[16];
    snprintf(f, sizeof f, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    LINE(g, "@R.function");
    LINE(g, "def %s(p: R.Tuple(%s, %s)) -> R.Tuple(%s, %s):", f, ta, tb, tb, ta);
    LINE(g, "    q = p[1]");
    LINE(g, "    return (q, %s)", roll(g, 2) ? a->name : some_like(g, a->t[0])->name);
    LINE(g, "%s = %s((%s, %s))", v, f, a->name, b->name);
    add(g, v, TUPLE, b->t[0], a->t[0]);
    return true;
}

/* So many changes as the loop has steps. */
static bool changing_loop(gen *g)
{
    char f[16];
    const item *a = some(g, TENSOR);
    snprintf(f, sizeof f, "%s", fresh(g));
    LINE(g, "@R.function(pure=False)");
    LINE(g, "def %s(i: R.Tensor((), \"int32\")) -> R.Tensor((), \"int32\"):", f);
    LINE(g, "    c = R.less(i, R.const(%u, \"int32\"))", roll(g, 6));
    LINE(g, "    if c:");
    LINE(g, "        j = R.add(i, R.const(1, \"int32\"))");
    LINE(g, "        k = R.call_packed(\"host.bump\", %s, sinfo_args=(R.Object,))", a->name);
    LINE(g, "        r = %s(j)", f);
    LINE(g, "    else:");
    LINE(g, "        r = i");
    LINE(g, "    return r");
    LINE(g, "%s = %s(R.const(0, \"int32\"))", fresh(g), f);
    return true;
}

static bool make_closure(gen *g)
{
    const char *t = "R.Tensor((n, 4), \"float32\")";
    const item *a = some_like(g, x_type(g)), *b = some_like(g, x_type(g));
    char f[16], v[16];
    snprintf(f, sizeof f, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    LINE(g, "%s = R.make_closure(cls.captures, (%s,))", f, a->name);
    LINE(g, "%s = R.invoke_pure_closure(%s, (%s,), sinfo_args=(%s,))", v, f, b->name, t);
    add_tensor(g, v, x_type(g));
    return true;
}

static bool passed_on(gen *g)
{
    const item *f = some(g, CLOSURE), *a = some_like(g, x_type(g));
    const char *v = fresh(g);
    if (!f || !same(f->t[0], x_type(g)))
        return false;
    LINE(g, "%s = cls.apply(%s, %s)", v, f->name, a->name);
    add_tensor(g, v, x_type(g));
    return true;
}

/* Sizes that may not be there, where that shows: what nobody uses may go with its failure. */
static bool doubtful_size(gen *g)
{
    if (roll(g, 3))
        return false;
    LINE(g, "R.assert_op(R.prim_value(%u // (%s - %u) < 50), format=\"sometimes\")", 1 + roll(g, 99),
         g->dims[0], 1 + roll(g, 6));
    return true;
}

/* The operators on it find out when the program runs. */
static bool unknown_rank(gen *g)
{
    static const char *const infos[] = { "R.Tensor", "R.Tensor(\"float32\")" };
    const item *a = floats(g);
    char u[16], w[16], v[16];
    if (!g->unknown)
        return false;
    snprintf(u, sizeof u, "%s", fresh(g));
    snprintf(w, sizeof w, "%s", fresh(g));
    snprintf(v, sizeof v, "%s", fresh(g));
    LINE(g, "%s: %s = %s", u, infos[roll(g, COUNT(infos))], a->name);
    LINE(g, "%s = R.%s(%s)", w, roll(g, 2) ? "abs" : "negative", u);
    LINE(g, "%s = R.match_cast(%s, %s)", v, w, type_text(g, a->t[0]));
    add_tensor(g, v, a->t[0]);
    return true;
}

enum { ANYWHERE = 0, NO_DATAFLOW = 1, IMPURE = 2, OUTERMOST = 4, NOT_BUILT = 8, TRIED = 16 };
static const struct {
    bool (*write)(gen *g);
    uint8_t kind, where;
} statements[] = {
    { unary, RANDOM_UNARY, 0 },
    { unary, RANDOM_UNARY, 0 },
    { binary, RANDOM_BINARY, 0 },
    { broadcast, RANDOM_BROADCAST, 0 },
    { compare, RANDOM_COMPARE, 0 },
    { cast_dtype, RANDOM_CAST_DTYPE, 0 },
    { transpose, RANDOM_TRANSPOSE, 0 },
    { matmul, RANDOM_MATMUL, 0 },
    { expand, RANDOM_EXPAND, 0 },
    { reduce, RANDOM_REDUCE, 0 },
    { concat_if_ranked, RANDOM_CONCAT, 0 },
    { split, RANDOM_SPLIT, 0 },
    { slice, RANDOM_SLICE, 0 },
    { constant, RANDOM_CONSTANT, 0 },
    { shape, RANDOM_SHAPE, 0 },
    { shape_of, RANDOM_SHAPE_OF, 0 },
    { zeros, RANDOM_ZEROS, 0 },
    { prim, RANDOM_PRIM, 0 },
    { tuple, RANDOM_TUPLE, 0 },
    { nested_tuple, RANDOM_NESTED_TUPLE, 0 },
    { take_item, RANDOM_ITEM, 0 },
    { annotated, RANDOM_ANNOTATED, 0 },
    { loose, RANDOM_LOOSE, 0 },
    { copy, RANDOM_COPY, 0 },
    { match_cast, RANDOM_MATCH_CAST, NO_DATAFLOW | OUTERMOST },
    { match_object, RANDOM_MATCH_OBJECT, 0 },
    { call_tir, RANDOM_CALL_TIR, 0 },
    { call_tir_many, RANDOM_CALL_TIR_MANY, 0 },
    { call_tir_vars, RANDOM_CALL_TIR_VARS, 0 },
    { inplace, RANDOM_INPLACE, 0 },
    { dps_packed, RANDOM_DPS_PACKED, 0 },
    { pure_packed, RANDOM_PURE_PACKED, 0 },
    { packed, RANDOM_PACKED, NO_DATAFLOW | IMPURE },
    { print_value, RANDOM_PRINT, NO_DATAFLOW | IMPURE },
    { assert_value, RANDOM_ASSERT, NO_DATAFLOW | IMPURE },
    { if_tensor, RANDOM_IF, NO_DATAFLOW },
    { if_prim, RANDOM_IF_PRIM, NO_DATAFLOW },
    { local, RANDOM_LOCAL, NO_DATAFLOW },
    { local_loop, RANDOM_LOCAL_LOOP, NO_DATAFLOW },
    { closure_call, RANDOM_CLOSURE_CALL, 0 },
    { global_call, RANDOM_GLOBAL_CALL, 0 },
    { global_value, RANDOM_GLOBAL_VALUE, 0 },
    { dataflow, RANDOM_DATAFLOW, NO_DATAFLOW },
    { cast_block, RANDOM_CAST_BLOCK, NO_DATAFLOW | OUTERMOST },
    { object_item, RANDOM_CAST_BLOCK, 0 },
    { device, RANDOM_DEVICE, NOT_BUILT },
    { doubtful_cast, RANDOM_DOUBTFUL, NO_DATAFLOW | TRIED },
    { doubtful_assert, RANDOM_DOUBTFUL, NO_DATAFLOW | IMPURE | TRIED },
    { doubtful_packed, RANDOM_DOUBTFUL, NO_DATAFLOW | IMPURE | TRIED },
    { doubtful_size, RANDOM_DOUBTFUL, NO_DATAFLOW | IMPURE | TRIED },
    { change, RANDOM_CHANGE, NO_DATAFLOW | IMPURE | TRIED },
    { change, RANDOM_CHANGE, NO_DATAFLOW | IMPURE | TRIED },
    { change_own, RANDOM_CHANGE, TRIED },
    { reshaped, RANDOM_RESHAPE, TRIED },
    { maker, RANDOM_LOCAL, NO_DATAFLOW | TRIED },
    { chosen, RANDOM_CHOSEN, NO_DATAFLOW | TRIED },
    { stored, RANDOM_STORED, NO_DATAFLOW | TRIED },
    { any_size, RANDOM_LOCAL, NO_DATAFLOW | TRIED },
    { make_closure, RANDOM_CLOSURE_CALL, NO_DATAFLOW | TRIED },
    { passed_on, RANDOM_CLOSURE_CALL, TRIED },
    { local_impure, RANDOM_LOCAL, NO_DATAFLOW | IMPURE | TRIED },
    { pair_of, RANDOM_LOCAL, NO_DATAFLOW | TRIED },
    { changing_loop, RANDOM_LOCAL_LOOP, NO_DATAFLOW | IMPURE | TRIED },
    { unknown_rank, RANDOM_UNKNOWN, TRIED },
};
enum { NUM_TRIED = 18 };

static void statement(gen *g)
{
    size_t i = roll(g, COUNT(statements) - (g->tried ? 0 : NUM_TRIED));
    uint8_t where = statements[i].where;
    bool nests = statements[i].write == if_tensor || statements[i].write == if_prim ||
                 statements[i].write == local || statements[i].write == dataflow ||
                 statements[i].write == local_impure;
    if ((where & NO_DATAFLOW && g->dataflow) || (where & IMPURE && g->pure) ||
        (where & OUTERMOST && g->depth) || (where & NOT_BUILT && g->runnable) ||
        (nests && g->depth > 2) || g->num_items > MAX_ITEMS - 8)
        i = 0;
    else if (g->casts && !g->dataflow && !g->depth && roll(g, 2) && cast_block(g))
        return;
    if (statements[i].write(g))
        used(g, (enum random_kind)statements[i].kind);
}

/* ---- modules -------------------------------------------------------------------------------- */

static void begin_scope(gen *g)
{
    g->num_items = g->num_dims = 0;
    g->indent = 2;
    g->depth = 0;
    dim(g, "n");
    dim(g, "4");
    dim(g, "3");
    add_tensor(g, "x", x_type(g));
}

#define X_TYPE "R.Tensor((\"n\", 4), \"float32\")"

static void func_attrs(gen *g)
{
    if (roll(g, 3))
        return;
    used(g, RANDOM_FUNC_ATTRS);
    LINE(g, "R.func_attr({\"host.level\": %u, \"host.tags\": [\"a\", True, 0.5, None]})",
         roll(g, 9));
}

/* f0, f1 ...: one parameter, one result, any of which those after it may call. */
static void small_function(gen *g, int number)
{
    bool private = roll(g, 3) == 0, states = roll(g, 2);
    begin_scope(g);
    g->pure = true;
    if (private)
        used(g, RANDOM_PRIVATE);
    put(g, "    @R.function%s\n    def f%d(x: " X_TYPE ")%s:\n", private ? "(private=True)" : "",
        number, states ? " -> " X_TYPE : "");
    func_attrs(g);
    LINE(g, "n = T.int64()");
    LINE(g, "cls = Module");
    statements_of(g, 1 + roll(g, 6));
    LINE(g, "return %s\n", some_like(g, x_type(g))->name);
    g->num_callable = number + 1;
}


/* f<number> and f<number + 1> call each other. Recursions end soon, whatever the numbers: NaN is
 * not less than anything. */
static void mutual(gen *g, int number)
{
    used(g, RANDOM_MUTUAL);
    for (int i = 0; i < 2; i++) {
        put(g, "    @R.function\n    def f%d(x: " X_TYPE ") -> " X_TYPE ":\n", number + i);
        put(g, PROGRAM("mutual"), number + 1 - i);
        put(g, "\n");
    }
    g->num_callable = number + 2;
}

static void recursive(gen *g, int number)
{
    used(g, RANDOM_RECURSION);
    put(g, PROGRAM("recursive"), number, number);
    put(g, "\n");
    g->num_callable = number + 1;
}

static void large_function(gen *g)
{
    bool pure = roll(g, 2);
    begin_scope(g);
    g->pure = pure;
    if (!pure)
        used(g, RANDOM_IMPURE);
    put(g, "    @R.function%s\n    def main(x: " X_TYPE ", y: R.Tensor((\"m\",), \"int32\"), "
           "o: R.Object, s: R.Shape([\"m\", \"n\"]), p: R.Prim(\"int64\"), "
           "t: R.Tuple(" X_TYPE ", R.Tensor((\"n * 2\",), \"float32\")), "
           "h: R.Callable((R.Tensor((\"n\", 4), \"float32\"),), R.Tensor((\"n\", 4), "
           "\"float32\"), True)):\n", pure ? "" : "(pure=False)");
    func_attrs(g);
    LINE(g, "n = T.int64()");
    LINE(g, "m = T.int64()");
    LINE(g, "cls = Module");
    type y = { INT, 1, { dim(g, "m") } }, doubled = { FLOAT, 1, { dim(g, "n * 2") } };
    add_tensor(g, "y", y);
    add(g, "o", OBJECT, y, y);
    add(g, "s", SHAPE, (type){ INT, 2, { dim(g, "m"), dim(g, "n") } }, y);
    add(g, "p", PRIM, y, y);
    add(g, "t", TUPLE, x_type(g), doubled);
    add(g, "h", CLOSURE, x_type(g), x_type(g));
    statements_of(g, 4 + roll(g, 16));
    const item *a = &g->items[roll(g, (uint32_t)g->num_items)];
    LINE(g, "return (%s, %s)", a->name, some(g, TENSOR)->name);
}

enum program_way { READ_ONLY, RUNNABLE, TRIED_OUT, TRIED_UNKNOWN };

static char *program(uint64_t seed, enum program_way way, uint64_t *kinds)
{
    bool runnable = way != READ_ONLY;
    gen g = { .seed = seed * 0x9e3779b97f4a7c15u + 1,
              .cap = 1 << 16,
              .runnable = runnable,
              .tried = way >= TRIED_OUT,
              .unknown = way == TRIED_UNKNOWN };
    g.text = malloc(g.cap);
    put(&g, "@I.ir_module\nclass Module:\n");
    g.casts = roll(&g, 4) == 0;
    if (roll(&g, 3) == 0) {
        used(&g, RANDOM_MODULE_ATTRS);
        put(&g, "    I.module_attrs({\"host.version\": %u})\n", roll(&g, 9));
    }
    if ((g.devices = roll(&g, 2) && !runnable))
        put(&g, "    I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\"), "
                "I.vdevice(\"llvm\", 1)]})\n");
    put(&g, "\n%s\n", PROGRAM("kernels"));
    if (g.tried)
        put(&g, "%s\n", PROGRAM("functions that take functions"));
    uint32_t functions = roll(&g, 4);
    for (uint32_t i = 0; i < functions; i++)
        switch (roll(&g, 5)) {
        case 0: recursive(&g, g.num_callable); break;
        case 1: mutual(&g, g.num_callable); break;
        default: small_function(&g, g.num_callable); break;
        }
    large_function(&g);
    *kinds |= g.kinds;
    return g.text;
}

char *random_program(uint64_t seed, uint64_t *kinds) { return program(seed, READ_ONLY, kinds); }

char *random_runnable_program(uint64_t seed)
{
    uint64_t kinds = 0;
    return program(seed, RUNNABLE, &kinds);
}

char *random_tried_program(uint64_t seed, int unknown)
{
    uint64_t kinds = 0;
    return program(seed, unknown ? TRIED_UNKNOWN : TRIED_OUT, &kinds);
}

/* ---- mutations of text ---------------------------------------------------------------------- */

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

typedef struct span { size_t at, len; } span;

/* A word of the text, from a place found by chance on. */
static span some_word(const char *text, size_t len, uint64_t *state)
{
    size_t at = random_roll(state, (uint32_t)len);
    while (at && is_word(text[at - 1]))
        at--;
    while (at < len && !is_word(text[at]))
        at++;
    size_t end = at;
    while (end < len && is_word(text[end]))
        end++;
    return (span){ at, end - at };
}

static span some_line(const char *text, size_t len, uint64_t *state)
{
    size_t at = random_roll(state, (uint32_t)len), end;
    while (at && text[at - 1] != '\n')
        at--;
    end = at;
    while (end < len && text[end++] != '\n')
        ;
    return (span){ at, end - at };
}

/* text with `what` in place of the span */
static char *replaced(const char *text, size_t len, span s, const char *what, size_t what_len)
{
    char *out = malloc(len + what_len + 1);
    memcpy(out, text, s.at);
    memcpy(out + s.at, what, what_len);
    memcpy(out + s.at + what_len, text + s.at + s.len, len - s.at - s.len + 1);
    return out;
}

char *random_text_mutation(const char *text, uint64_t seed)
{
    static const char *const words[] = { "0", "-1", "7", "n", "x", "R", "None", "True", "float16",
                                         "int8", "exp", "call_tir", "cuda", "pure", "(", ")", "" };
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 7;
    size_t len = strlen(text);
    bool by_line = random_roll(&state, 2);
    span a = by_line ? some_line(text, len, &state) : some_word(text, len, &state),
         b = by_line ? some_line(text, len, &state) : some_word(text, len, &state);
    const char *word = words[random_roll(&state, COUNT(words))];
    switch (random_roll(&state, 4)) {
    case 0: return replaced(text, len, a, "", 0);
    case 1: return replaced(text, len, (span){ a.at, 0 }, text + b.at, b.len);
    case 2: return replaced(text, len, a, text + b.at, b.len);
    default: return by_line ? replaced(text, len, (span){ a.at, 0 }, text + a.at, a.len)
                            : replaced(text, len, a, word, strlen(word));
    }
}
