/* extension_pass.c: passes of the host that a context knows by name, beside those of the table. */
#include "transform/transform_int.h"

typedef struct registry { RLX_VEC(rlx_extension_pass *) passes; } registry;

static void drop(rlx_context *ctx, rlx_extension_pass *p)
{
    if (p->destroy)
        p->destroy(p->user);
    rlx_mem_free(&ctx->memory, p, sizeof *p + p->name_len + 1);
}

static void destroy(rlx_context *ctx, void *state)
{
    registry *r = state;
    for (size_t i = r->passes.len; i--;)
        drop(ctx, r->passes.data[i]);
    rlx_vec_free(&ctx->memory, &r->passes);
    rlx_mem_free(&ctx->memory, r, sizeof *r);
}

static registry *registry_of(rlx_context *ctx)
{
    rlx_room_state *room = &ctx->rooms[RLX_ROOM_TRANSFORM];
    if (!room->state && (room->state = rlx_mem_alloc_zero(&ctx->memory, sizeof(registry))))
        room->destroy = destroy;
    return room->state;
}

rlx_extension_pass *rlx_extension_pass_find(rlx_context *ctx, rlx_slice name)
{
    const registry *r = ctx->rooms[RLX_ROOM_TRANSFORM].state;
    for (size_t i = 0; r && i < r->passes.len; i++)
        if (rlx_pass_is_named(r->passes.data[i]->name, name))
            return r->passes.data[i];
    return NULL;
}

bool rlx_extension_pass_add(rlx_context *ctx, rlx_slice name, const rlx_extension_pass *pass)
{
    size_t bytes = sizeof *pass + name.len + 1;
    registry *r = registry_of(ctx);
    rlx_extension_pass *p = r ? rlx_mem_alloc(&ctx->memory, bytes) : NULL;
    if (!p || !rlx_vec_push(&ctx->memory, &r->passes, p)) {
        rlx_mem_free(&ctx->memory, p, p ? bytes : 0);
        return false;
    }
    *p = *pass;
    p->name_len = name.len;
    for (size_t i = 0; i < name.len; i++)
        p->name[i] = name.data[i] == '-' ? '_' : name.data[i];
    p->name[name.len] = 0;
    return true;
}

const char *rlx_extension_pass_suggest(rlx_context *ctx, rlx_slice name)
{
    const registry *r = ctx->rooms[RLX_ROOM_TRANSFORM].state;
    for (size_t i = 0; r && i < r->passes.len; i++)
        if (rlx_edit_distance(name, rlx_slice_z(r->passes.data[i]->name), 2) <= 2)
            return r->passes.data[i]->name;
    return NULL;
}
