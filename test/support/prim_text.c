/* prim_text.c: integer expressions from text. */
#include "prim_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader { prim_names *t; const char *at; bool bad; } reader;

const rlx_prim_var *prim_name(prim_names *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->names[i], name) == 0)
            return t->vars[i];
    if (t->count == PRIM_NAMES_MAX || strlen(name) >= sizeof t->names[0])
        return NULL;
    strcpy(t->names[t->count], name);
    const rlx_prim_var *v =
        rlx_prim_var_new(t->ctx, rlx_string_z(t->ctx, name), RELAX_INT64, RLX_NO_PLACE);
    if (v && t->scope)
        rlx_scope_add(t->scope, v, true);
    return t->vars[t->count++] = v;
}

static const rlx_prim *compare(reader *r);

static void skip(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(reader *r, const char *token)
{
    skip(r);
    size_t n = strlen(token);
    if (strncmp(r->at, token, n) != 0)
        return false;
    r->at += n;
    return true;
}

static void expect(reader *r, const char *token)
{
    if (!take(r, token))
        r->bad = true;
}

static const rlx_prim *call(reader *r, const char *name)
{
    static const struct { const char *name; enum rlx_node_kind kind;
    } functions[] = {
        { "min", RLX_NODE_MIN },
        { "max", RLX_NODE_MAX },
        { "truncdiv", RLX_NODE_DIV },
        { "truncmod", RLX_NODE_MOD },
        { "Add", RLX_NODE_ADD },
        { "Mul", RLX_NODE_MUL },
        { "FloorDiv", RLX_NODE_FLOOR_DIV },
    };
    rlx_context *ctx = r->t->ctx;
    const rlx_prim *a = compare(r);
    expect(r, ",");
    const rlx_prim *b = compare(r), *c = NULL;
    if (take(r, ","))
        c = compare(r);
    expect(r, ")");
    if (strcmp(name, "select") == 0)
        return rlx_select_new(ctx, a, b, c);
    if (strcmp(name, "if_then_else") == 0)
        return rlx_fold_select(ctx, a, b, c);
    for (size_t i = 0; i < RLX_COUNT(functions); i++)
        if (strcmp(name, functions[i].name) == 0)
            return isupper((unsigned char)*name) ? rlx_binary_new(ctx, functions[i].kind, a, b)
                                                 : rlx_fold_binary(ctx, functions[i].kind, a, b);
    r->bad = true;
    return NULL;
}

static const rlx_prim *primary(reader *r)
{
    char name[16];
    size_t n = 0;
    skip(r);
    if (take(r, "(")) {
        const rlx_prim *p = compare(r);
        expect(r, ")");
        return p;
    }
    if (take(r, "-"))
        return rlx_fold_mul(r->t->ctx, primary(r), rlx_int64(r->t->ctx, -1));
    if (isdigit((unsigned char)*r->at)) {
        char *end;
        long long v = strtoll(r->at, &end, 10);
        r->at = end;
        return rlx_int64(r->t->ctx, v);
    }
    while ((isalnum((unsigned char)*r->at) || *r->at == '_') && n + 1 < sizeof name)
        name[n++] = *r->at++;
    name[n] = 0;
    if (!n) {
        r->bad = true;
        return NULL;
    }
    return take(r, "(") ? call(r, name) : (const rlx_prim *)prim_name(r->t, name);
}

/* Operators by level, weakest first; longer spellings first. */
static const struct { const char *text; enum rlx_node_kind kind; int level;
} operators[] = {
    { "and", RLX_NODE_AND, 0 },     { "or", RLX_NODE_OR, 0 },        { "==", RLX_NODE_EQ, 1 },
    { "!=", RLX_NODE_NE, 1 },       { "<=", RLX_NODE_LE, 1 },        { ">=", RLX_NODE_GE, 1 },
    { "<", RLX_NODE_LT, 1 },        { ">", RLX_NODE_GT, 1 },         { "+", RLX_NODE_ADD, 2 },
    { "-", RLX_NODE_SUB, 2 },       { "//", RLX_NODE_FLOOR_DIV, 3 }, { "*", RLX_NODE_MUL, 3 },
    { "%", RLX_NODE_FLOOR_MOD, 3 },
};

static const rlx_prim *level(reader *r, int n)
{
    const rlx_prim *left = n == 3 ? primary(r) : level(r, n + 1);
    for (size_t i = 0; i < RLX_COUNT(operators); i++) {
        if (operators[i].level != n || r->bad || !take(r, operators[i].text))
            continue;
        left = rlx_fold_binary(r->t->ctx, operators[i].kind, left,
                               n == 3 ? primary(r) : level(r, n + 1));
        i = (size_t)-1;
    }
    return left;
}

static const rlx_prim *compare(reader *r)
{
    return level(r, 0);
}

const rlx_prim *prim_parse_at(prim_names *t, const char **at)
{
    reader r = { t, *at, false };
    const rlx_prim *p = compare(&r);
    skip(&r);
    *at = r.at;
    return r.bad ? NULL : p;
}

const rlx_prim *prim_parse(prim_names *t, const char *text)
{
    const rlx_prim *p = prim_parse_at(t, &text);
    return *text ? NULL : p;
}
