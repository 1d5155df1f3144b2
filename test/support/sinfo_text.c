/* sinfo_text.c: struct info from short text. */
#include "sinfo_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader { prim_names *t; const char *at; bool bad; } reader;

static bool take(reader *r, const char *token)
{
    while (*r->at == ' ')
        r->at++;
    size_t n = strlen(token);
    if (strncmp(r->at, token, n) != 0)
        return false;
    r->at += n;
    return true;
}

static void expect(reader *r, const char *token)
{
    r->bad |= !take(r, token);
}

static rlx_dtype dtype(reader *r)
{
    rlx_dtype t = RELAX_VOID;
    (void)take(r, "");
    size_t n = 0;
    while (isalnum((unsigned char)r->at[n]))
        n++;
    r->bad |= !rlx_dtype_parse((rlx_slice){ r->at, n }, &t);
    r->at += n;
    return t;
}

static size_t dims(reader *r, const rlx_prim **out)
{
    size_t n = 0;
    while (!take(r, "]") && !r->bad && n < 16) {
        out[n] = prim_parse_at(r->t, &r->at);
        r->bad |= !out[n];
        n++;
        (void)take(r, ",");
    }
    return n;
}

static const rlx_sinfo *info(reader *r);

static const rlx_node *device(reader *r)
{
    if (!take(r, "@"))
        return NULL;
    size_t n = strcspn(r->at, ":");
    rlx_context *ctx = r->t->ctx;
    rlx_vdevice key = { .node = { .kind = RLX_NODE_VDEVICE },
                        .scope = rlx_string_z(ctx, "global") };
    if (n)
        key.target = rlx_attr_string_new(ctx, (rlx_slice){ r->at, n });
    r->at += n + 1;
    key.id = (int32_t)strtol(r->at, (char **)(uintptr_t)&r->at, 10);
    return rlx_node_intern(ctx, &key.node);
}

static const rlx_sinfo *tensor(reader *r)
{
    const rlx_prim *d[16];
    const rlx_expr *shape = NULL;
    rlx_dtype t = RELAX_VOID;
    int ndim = -1;
    if (take(r, "[")) {
        size_t n = dims(r, d);
        shape = rlx_shape_new(r->t->ctx, d, n);
        ndim = (int)n;
    }
    if (take(r, "(")) {
        if (isdigit((unsigned char)*r->at)) {
            ndim = (int)strtol(r->at, (char **)(uintptr_t)&r->at, 10);
            expect(r, ",");
        }
        t = dtype(r);
        expect(r, ")");
    }
    return rlx_tensor_info(r->t->ctx, shape, t, ndim, device(r));
}

static size_t list(reader *r, const rlx_sinfo **out, const char *end)
{
    size_t n = 0;
    while (!take(r, end) && !r->bad && n < 16) {
        out[n++] = info(r);
        (void)take(r, ",");
    }
    return n;
}

static bool in_scope(void *user, const rlx_prim_var *v)
{
    const prim_names *t = user;
    return t->scope && rlx_scope_has(t->scope, v);
}

/* Names first seen inside a Func are not sizes of the scope. */
static const rlx_sinfo *func(reader *r, bool pure)
{
    const rlx_sinfo *params[16];
    rlx_context *ctx = r->t->ctx;
    rlx_scope *scope = r->t->scope;
    r->t->scope = NULL;
    size_t n = list(r, params, "->");
    const rlx_sinfo *ret = info(r);
    r->t->scope = scope;
    expect(r, ")");
    if (r->bad)
        return NULL;
    return rlx_close_binders(ctx, rlx_func_info(ctx, NULL, 0, params, n, ret, pure), in_scope,
                             r->t);
}

static const rlx_sinfo *callable(reader *r, bool pure)
{
    rlx_context *ctx = r->t->ctx;
    if (!take(r, "("))
        return rlx_opaque_func_info(ctx, RLX_DERIVE_EMPTY, NULL, rlx_object_info(ctx), pure);
    const rlx_sinfo *ret = info(r);
    expect(r, ")");
    return rlx_opaque_func_info(ctx, RLX_DERIVE_CONST, NULL, ret, pure);
}

static const rlx_sinfo *shape(reader *r)
{
    const rlx_prim *d[16];
    int ndim = -1;
    if (take(r, "[")) {
        size_t n = dims(r, d);
        return rlx_shape_info(r->t->ctx, d, n);
    }
    if (take(r, "(")) {
        ndim = (int)strtol(r->at, (char **)(uintptr_t)&r->at, 10);
        expect(r, ")");
    }
    return rlx_shape_info_rank(r->t->ctx, ndim);
}

static const rlx_sinfo *prim(reader *r)
{
    expect(r, "(");
    rlx_dtype t = dtype(r);
    const rlx_prim *value = take(r, ",") ? prim_parse_at(r->t, &r->at) : NULL;
    expect(r, ")");
    return rlx_prim_info(r->t->ctx, t, value);
}

static const rlx_sinfo *info(reader *r)
{
    const rlx_sinfo *items[16];
    rlx_context *ctx = r->t->ctx;
    bool impure = take(r, "impure"), pure = !impure && take(r, "pure");
    if (take(r, "Object"))
        return rlx_object_info(ctx);
    if (take(r, "Prim"))
        return prim(r);
    if (take(r, "Shape"))
        return shape(r);
    if (take(r, "Tensor"))
        return tensor(r);
    if (take(r, "Tuple(")) {
        size_t n = list(r, items, ")");
        return rlx_tuple_info(ctx, items, n);
    }
    if (take(r, "Func("))
        return func(r, !impure);
    if (take(r, "Callable"))
        return callable(r, pure);
    if (take(r, "Packed"))
        return rlx_opaque_func_info(ctx, RLX_DERIVE_DEFAULT, NULL, rlx_object_info(ctx), pure);
    r->bad = true;
    return NULL;
}

const rlx_sinfo *sinfo_parse(prim_names *t, const char *text)
{
    reader r = { t, text, false };
    const rlx_sinfo *s = info(&r);
    (void)take(&r, "");
    return r.bad || *r.at ? NULL : s;
}
