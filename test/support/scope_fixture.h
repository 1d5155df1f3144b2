/* scope_fixture.h: a context, a scope and names that enter it, for tests of expressions and struct
 * info. */
#ifndef SCOPE_FIXTURE_H
#define SCOPE_FIXTURE_H

#include "../base/cmocka_all.h"

#include <stdlib.h>

#include "prim_text.h"

typedef struct fixture { rlx_context *ctx; rlx_scope scope; prim_names names; } fixture;

static inline int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->ctx = rlx_context_create(NULL, 0);
    rlx_scope_init(&f->scope, f->ctx, NULL);
    f->names = (prim_names){ .ctx = f->ctx, .scope = &f->scope };
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;
    rlx_scope_free(&f->scope);
    rlx_context_release(f->ctx);
    free(f);
    return 0;
}

#endif
