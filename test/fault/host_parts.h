/* host_parts.h: what a host may add to a context, for programs that use it (programs/host.py): a
 * kind of struct info with all its callbacks, an operator that is lowered, one that runs by a
 * packed function, a derive function, a pass. `user` counts what the context holds. */
#ifndef TEST_FAULT_HOST_PARTS_H
#define TEST_FAULT_HOST_PARTS_H

#include "fault.h"
#include "host_op.h"

static void host_part_gone(void *user) { (*(int *)user)--; }

static const relax_struct_info *marked(relax_context *ctx, const relax_struct_info *like,
                                       size_t operands)
{
    const relax_node *nodes[] = { relax_struct_info_operand(like, 0),
                                  relax_struct_info_operand(like, 1) };
    return relax_struct_info_extension_new(ctx, Z("Marked"), nodes, operands);
}

static int32_t marked_equal(void *user, relax_context *ctx, const relax_struct_info *a,
                            const relax_struct_info *b)
{
    const relax_node *x = relax_struct_info_operand(a, 0), *y = relax_struct_info_operand(b, 0);
    (void)user;
    return x && y ? relax_node_equal(ctx, x, y, 0) : x == y;
}

/* Without operands it is any value of the kind. */
static int32_t marked_fit(void *user, relax_context *ctx, const relax_struct_info *a,
                          const relax_struct_info *b)
{
    int32_t equal = relax_struct_info_operand(b, 0) ? marked_equal(user, ctx, a, b) : 1;
    return equal < 0 ? -1 : equal ? RELAX_ASSIGNABLE_YES : RELAX_ASSIGNABLE_VALUE;
}

static const relax_struct_info *marked_lub(void *user, relax_context *ctx,
                                           const relax_struct_info *a, const relax_struct_info *b)
{
    (void)user, (void)b;
    return marked(ctx, a, 0);
}

static const relax_struct_info *marked_erase(void *user, relax_context *ctx,
                                             const relax_struct_info *info, const int32_t *visible,
                                             size_t count)
{
    (void)user;
    return marked(ctx, info, count && visible[0] ? 1 : 0);
}

static const relax_struct_info *marked_type(void *user, relax_context *ctx,
                                            const relax_struct_info *info)
{
    (void)user;
    return marked(ctx, info, 0);
}

static int32_t marked_print(void *user, const relax_struct_info *info, relax_kind_sink *sink)
{
    (void)user;
    for (size_t i = 0; i < relax_struct_info_num_operands(info); i++)
        if (relax_kind_sink_operand(sink, i ? "mark" : NULL, i) != RELAX_OK)
            return -1;
    return 0;
}

static const relax_struct_info *marked_read(void *user, relax_context *ctx,
                                            const relax_node *const *args,
                                            const char *const *names, size_t count)
{
    (void)user, (void)names;
    return relax_struct_info_extension_new(ctx, Z("Marked"), args, count);
}

static const relax_struct_info *infer_first(void *user, relax_context *ctx,
                                            const relax_call_view *view)
{
    (void)user, (void)ctx;
    return relax_call_view_arg_info(view, 0);
}

/* The sizes of what is marked are its operand. */
static const relax_struct_info *infer_mark(void *user, relax_context *ctx,
                                           const relax_call_view *view)
{
    const relax_struct_info *info = relax_call_view_arg_info(view, 0);
    const relax_prim_expr *dims[] = { relax_struct_info_dim(info, 0),
                                      relax_struct_info_dim(info, 1) };
    const relax_node *operand = relax_expr_as_node(relax_shape_expr_new(ctx, dims, 2));
    (void)user;
    return relax_struct_info_extension_new(ctx, Z("Marked"), &operand, 1);
}

static const relax_base_func *lower_halve(void *user, relax_context *ctx,
                                          const relax_call_view *view)
{
    relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
    (void)user, (void)view;
    const relax_prim_expr *shape[] = { relax_tir_dim(t, Z("n")), relax_prim_int_new(ctx, 4) },
                          *at[2];
    relax_buffer *a = relax_tir_param(t, Z("A"), RELAX_FLOAT32, shape, 2),
                 *b = relax_tir_param(t, Z("B"), RELAX_FLOAT32, shape, 2);
    relax_tir_begin_block(t, Z("halve"));
    at[0] = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("i"), shape[0]);
    at[1] = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("j"), shape[1]);
    relax_tir_store(t, b, at, 2,
                    relax_prim_binary_new(ctx, RELAX_PRIM_MUL, relax_tir_load(t, a, at, 2),
                                          relax_prim_float_new(ctx, RELAX_FLOAT32, 0.5)));
    relax_tir_end_block(t);
    relax_base_func *f = relax_tir_finish(t);
    relax_tir_builder_destroy(t);
    return f;
}

static const relax_module *pass_over(void *user, relax_context *ctx, const relax_module *module,
                                     const relax_attr *options)
{
    (void)user, (void)options;
    return relax_pass_run(ctx, module, Z("legalize_ops"), NULL);
}

static relax_status add_kind(relax_context *ctx, int *held)
{
    relax_kind_options o;
    relax_kind_options_init(&o, sizeof o);
    o.name = "Marked";
    o.name_len = strlen(o.name);
    o.max_operands = 2;
    o.equal = marked_equal;
    o.fit = marked_fit;
    o.lub = marked_lub;
    o.erase = marked_erase;
    o.static_type = marked_type;
    o.print = marked_print;
    o.read = marked_read;
    o.user = held;
    o.destroy = host_part_gone;
    ++*held;
    return relax_kind_register(ctx, &o);
}

static relax_status add_op(relax_context *ctx, const char *name, relax_op_infer_fn infer,
                           relax_op_lower_fn lower, const char *packed, int *held)
{
    relax_op_options o = host_op_of_one(name, RELAX_OP_ARG_TENSOR, infer, packed);
    o.lower = lower;
    o.user = held;
    o.destroy = host_part_gone;
    ++*held;
    return relax_op_register(ctx, &o);
}

static inline relax_status add_host_parts(relax_context *ctx, int *held)
{
    relax_status s = add_kind(ctx, held);
    if (s == RELAX_OK)
        s = add_op(ctx, "host.halve", infer_first, lower_halve, NULL, held);
    if (s == RELAX_OK)
        s = add_op(ctx, "host.mark", infer_mark, NULL, "test.keep", held);
    if (s == RELAX_OK)
        s = (++*held,
             relax_derive_register(ctx, Z("host.first"), infer_first, held, host_part_gone));
    if (s == RELAX_OK)
        s = (++*held,
             relax_pass_register(ctx, Z("host_pass"), pass_over, held, host_part_gone));
    return s;
}

#endif
