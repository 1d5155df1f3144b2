/* test_vm_writer_random.c: random programs of branches, tuples, copies and calls: compiled at two
 * levels, run, and compared with a walk over what was generated. What is wrong with registers,
 * storage or branches shows as a wrong number. RELAX_LONG=1: many more programs. */
#include <stdlib.h>
#include "program.h"

enum {
    SIZE = 3,
    MAX_VARS = 400,
    MAX_STMTS = 400,
    CONDS = 2,
    INPUTS = 2,
    FUNCTIONS = 3,
    PROGRAMS = 60
};
enum kind { OP, OP_CONST, COPY, PAIR, GET, IF, CALL, CALL_PAIR };

/* A variable: a vector, or a pair of variables. */
typedef struct variable { int pair; } variable;
typedef struct stmt {
    enum kind kind;
    int op, dst, a, b, number;
    int yes, yes_end, no, no_end;
    int yes_result, no_result;
} stmt;
typedef struct function {
    int first, end, result, num_vars;
    variable vars[MAX_VARS];
    stmt stmts[MAX_STMTS];
    int num_stmts;
} function;
typedef struct value { float v[SIZE]; struct value *pair[2]; } value;

static uint64_t seed;
static int below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* ---- generating ----------------------------------------------------------------------------- */

static int new_var(function *f, int pair)
{
    f->vars[f->num_vars].pair = pair;
    return f->num_vars++;
}

/* Some visible variable that is a vector (pair 0) or a pair (1), often one of the newest; -1:
 * none. */
static int pick(const function *f, const int *seen, int num_seen, int pair)
{
    for (int tries = 0; tries < 20; tries++) {
        int newest = num_seen < 4 ? num_seen : 4,
            v = seen[below(2) ? num_seen - 1 - below(newest) : below(num_seen)];
        if (f->vars[v].pair == pair)
            return v;
    }
    return pair ? -1 : seen[0];
}

static void generate_block(function *f, int number, int depth, int *seen, int num_seen, int *first,
                           int *end, int *result);

static bool generate_if(function *f, int number, int depth, int *seen, int num_seen, stmt *s)
{
    if (depth >= 3 || f->num_vars > MAX_VARS - 150)
        return false;
    s->op = below(CONDS);
    s->dst = -1;
    generate_block(f, number, depth + 1, seen, num_seen, &s->yes, &s->yes_end, &s->yes_result);
    generate_block(f, number, depth + 1, seen, num_seen, &s->no, &s->no_end, &s->no_result);
    return true;
}

/* Statements of a block lie in a row; those of its branches before the if itself, in rows of
 * their own. */
static void generate_block(function *f, int number, int depth, int *seen, int num_seen, int *first,
                           int *end, int *result)
{
    stmt own[12];
    int count = 1 + below(depth ? 5 : 10), num_own = 0, local[MAX_VARS];
    memcpy(local, seen, (size_t)num_seen * sizeof *local);
    for (int i = 0; i < count; i++) {
        stmt s = { .kind = (enum kind)below(8), .op = below(4), .number = below(5) };
        s.a = pick(f, local, num_seen, s.kind == GET);
        s.b = pick(f, local, num_seen, 0);
        if ((s.kind == GET && s.a < 0) || (s.kind >= CALL && number == 0) ||
            (s.kind == IF && !generate_if(f, number, depth, local, num_seen, &s)))
            s.kind = OP, s.a = pick(f, local, num_seen, 0);
        if (s.kind == CALL_PAIR)
            s.kind = CALL;
        if (s.kind == CALL)
            s.number = below(number);
        s.dst = new_var(f, s.kind == PAIR);
        local[num_seen++] = s.dst;
        own[num_own++] = s;
    }
    *first = f->num_stmts;
    for (int i = 0; i < num_own; i++)
        f->stmts[f->num_stmts++] = own[i];
    *end = f->num_stmts;
    *result = pick(f, local, num_seen, 0);
}

static void generate(function *f, int number)
{
    int seen[INPUTS];
    memset(f, 0, sizeof *f);
    for (int i = 0; i < INPUTS; i++)
        seen[i] = new_var(f, 0);
    generate_block(f, number, 0, seen, INPUTS, &f->first, &f->end, &f->result);
}

/* ---- as text -------------------------------------------------------------------------------- */

typedef struct text { char data[1 << 17]; size_t len; } text;
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->data + t->len, sizeof t->data - t->len, format, args);
    va_end(args);
    assert_true(n >= 0 && t->len + (size_t)n < sizeof t->data);
    t->len += (size_t)n;
}

static const char *const ops[] = { "add", "subtract", "maximum", "minimum" };

static void print_block(text *t, const function *f, int first, int end, int indent)
{
    for (int i = first; i < end; i++) {
        const stmt *s = &f->stmts[i];
        put(t, "%*s", indent, "");
        switch (s->kind) {
        case OP: put(t, "v%d = R.%s(v%d, v%d)\n", s->dst, ops[s->op], s->a, s->b); break;
        case OP_CONST:
            put(t, "v%d = R.%s(v%d, R.const(%d.0, \"float32\"))\n", s->dst, ops[s->op], s->a,
                s->number);
            break;
        case COPY: put(t, "v%d = v%d\n", s->dst, s->a); break;
        case PAIR: put(t, "v%d = (v%d, v%d)\n", s->dst, s->a, s->b); break;
        case GET: put(t, "v%d = v%d[%d]\n", s->dst, s->a, s->op & 1); break;
        case IF:
            put(t, "if c%d:\n", s->op);
            print_block(t, f, s->yes, s->yes_end, indent + 4);
            put(t, "%*sv%d = v%d\n%*selse:\n", indent + 4, "", s->dst, s->yes_result, indent, "");
            print_block(t, f, s->no, s->no_end, indent + 4);
            put(t, "%*sv%d = v%d\n", indent + 4, "", s->dst, s->no_result);
            break;
        default:
            put(t, "v%d = Module.f%d(c1, c0, v%d, v%d)\n", s->dst, s->number, s->a, s->b);
            break;
        }
    }
}

static void print_function(text *t, const function *f, int number)
{
    bool last = number == FUNCTIONS - 1;
    put(t,
        "    @R.function%s\n    def f%d(c0: R.Tensor((), dtype=\"bool\"), c1: R.Tensor((), "
        "dtype=\"bool\"), v0: " VEC ", v1: " VEC ") -> %s:\n",
        last ? "" : "(private=True)", number,
        last ? "R.Tuple(" VEC ", R.Tuple(" VEC ", " VEC "))" : VEC);
    put(t, "        n = T.int64()\n");
    print_block(t, f, f->first, f->end, 8);
    if (last)
        put(t, "        res = (v%d, (v%d, v%d))\n        return res\n", f->result,
            f->num_vars > 2 ? f->stmts[f->first].dst : 0, f->result);
    else
        put(t, "        return v%d\n", f->result);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static function functions[FUNCTIONS];

static float apply(int op, float a, float b)
{
    return op == 0 ? a + b : op == 1 ? a - b : op == 2 ? (a > b ? a : b) : (a < b ? a : b);
}

static void run_function(const function *f, const int *conds, value *vars);

static void run_block(const function *f, int first, int end, const int *conds, value *vars)
{
    for (int i = first; i < end; i++) {
        const stmt *s = &f->stmts[i];
        value *d = &vars[s->dst], *a = s->a >= 0 ? &vars[s->a] : NULL, *b = &vars[s->b];
        for (int k = 0; k < SIZE && s->kind <= OP_CONST; k++)
            d->v[k] = apply(s->op, a->v[k], s->kind == OP ? b->v[k] : (float)s->number);
        if (s->kind == COPY)
            *d = *a;
        if (s->kind == PAIR)
            d->pair[0] = a, d->pair[1] = b;
        if (s->kind == GET)
            *d = *a->pair[s->op & 1];
        if (s->kind == IF) {
            bool yes = conds[s->op];
            run_block(f, yes ? s->yes : s->no, yes ? s->yes_end : s->no_end, conds, vars);
            *d = vars[yes ? s->yes_result : s->no_result];
        }
        if (s->kind == CALL) {
            const function *g = &functions[s->number];
            const int swapped[CONDS] = { conds[1], conds[0] };
            value *inner = calloc(MAX_VARS, sizeof *inner);
            inner[0] = *a;
            inner[1] = *b;
            run_function(g, swapped, inner);
            *d = inner[g->result];
            free(inner);
        }
    }
}

static void run_function(const function *f, const int *conds, value *vars)
{
    run_block(f, f->first, f->end, conds, vars);
}

/* ---- comparing ------------------------------------------------------------------------------ */

static void compare(program *p, const text *t, const int *conds)
{
    static value vars[MAX_VARS];
    const function *f = &functions[FUNCTIONS - 1];
    const float x[INPUTS][SIZE] = { { 1, -2, 3 }, { 0.5f, 4, -1 } };
    relax_value inner, field;
    memset(vars, 0, sizeof vars);
    for (int i = 0; i < CONDS; i++)
        program_bool(p, conds[i]);
    for (int i = 0; i < INPUTS; i++) {
        program_f32(p, SIZE, x[i]);
        memcpy(vars[i].v, x[i], sizeof x[i]);
    }
    run_function(f, conds, vars);
    program_ok(p, "f2");
    relax_value_tuple_get(&p->result, 0, &field);
    expect_f32_value(&field, SIZE, vars[f->result].v);
    relax_value_tuple_get(&p->result, 1, &inner);
    relax_value_tuple_get(&inner, 0, &field);
    expect_f32_value(&field, SIZE, vars[f->stmts[f->first].dst].v);
    relax_value_tuple_get(&inner, 1, &field);
    expect_f32_value(&field, SIZE, vars[f->result].v);
}

static void test_random(void **state)
{
    static text t;
    int programs = getenv("RELAX_LONG") ? PROGRAMS * 50 : PROGRAMS;
    for (int n = 0; n < programs; n++) {
        seed = (uint64_t)n + 1;
        t.len = 0;
        put(&t, "%s", HEAD);
        for (int i = 0; i < FUNCTIONS; i++) {
            do
                generate(&functions[i], i);
            /* its first variable is part of the result */
            while (functions[i].stmts[functions[i].first].kind == PAIR);
            print_function(&t, &functions[i], i);
        }
        for (int32_t level = 0; level < 2; level++) {
            program p = { .opt_level = level };
            program_try(&p, t.data);
            if (!p.exe)
                print_message("seed %d, level %d:\n%s", n, level, t.data);
            program_build_checked(&p);
            for (int c = 0; c < 4; c++)
                compare(&p, &t, (const int[]){ c & 1, c >> 1 });
            program_end(&p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
