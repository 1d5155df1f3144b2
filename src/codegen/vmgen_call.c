/* vmgen_call.c: calls of functions, kernels, packed functions and operators. */
#include "codegen/vmgen_int.h"

#include "sinfo/builder.h"

bool rlx_vmgen_target_register(rlx_vmgen_fn *n, rlx_vmgen_target *t)
{
    if (!t->wanted || t->reg != RLX_NO_INDEX)
        return true;
    if (t->value)
        return rlx_vmgen_define(n, t->value, &t->reg);
    return rlx_vmgen_temp_register(n, true, &t->reg);
}

static bool wrote(rlx_vmgen_fn *n)
{
    return rlx_file_writer_ok(n->out) || rlx_vmgen_failed(n->w, n->place);
}

static const char *name_of(rlx_vmgen_fn *n, const rlx_expr *callee)
{
    const rlx_op *op = rlx_as_op(callee);
    return op ? (op->row ? op->row->short_name : op->name->data) : rlx_show(n->ctx, callee);
}

static bool push_args(rlx_vmgen_fn *n, const rlx_expr *const *args, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!rlx_vmgen_push_arg(n, args[i]))
            return false;
    return true;
}

/* The value of what is called for its effect, if somebody looks at it. */
static bool give_unit(rlx_vmgen_fn *n, rlx_vmgen_target *t)
{
    if (!t->wanted)
        return true;
    if (!rlx_vmgen_target_register(n, t))
        return false;
    RLX_EMIT_LIST(n->out, RLX_OP_TUPLE, NULL, 0, t->reg);
    return wrote(n);
}

static bool is_unit(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    return t && !t->num_fields;
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool allocation_dtype(rlx_vmgen_fn *n, const rlx_expr *e, uint32_t *dtype)
{
    const rlx_dtype_imm *d = rlx_as_dtype_imm(e);
    char text[RLX_DTYPE_TEXT] = "of no literal dtype";
    if (d && rlx_dtype_is_computable(d->value) && rlx_dtype_lanes(d->value) == 1) {
        *dtype = (uint32_t)d->value;
        return true;
    }
    if (d)
        rlx_dtype_name(d->value, text);
    rlx_error(n->ctx, RLX_CG05, n->place, "a tensor of dtype %s cannot be allocated", text);
    return false;
}

static bool push_dims(rlx_vmgen_fn *n, const rlx_shape_expr *shape)
{
    for (size_t i = 0; i < shape->num_values; i++)
        if (!rlx_vmgen_push_int(n, shape->values[i]))
            return false;
    if (shape->num_values <= RLX_MAX_RANK)
        return true;
    rlx_error(n->ctx, RLX_CG08, n->place, "a tensor of rank %zu: at most %d are supported",
              shape->num_values, RLX_MAX_RANK);
    return false;
}

static bool call_builtin(rlx_vmgen_fn *n, rlx_slice name, const rlx_expr *const *args, size_t count,
                         rlx_vmgen_target *t);

/* Compiled code runs on the processor of the host. A device of no known kind passes. */
static bool is_here(rlx_vmgen_fn *n, const rlx_node *device)
{
    int32_t type = rlx_vdevice_type(rlx_as_vdevice(device));
    if (type == 0 || type == RLX_HOST_DEVICE)
        return true;
    rlx_error(n->ctx, RLX_CG09, n->place,
              "device %s is not available: compiled code runs on the processor of the host",
              rlx_show_vdevice(n->ctx, device));
    return false;
}

/* Is the device at this position of the module's list here? Reports otherwise. */
static bool index_is_here(rlx_vmgen_fn *n, const rlx_expr *index)
{
    const rlx_attr_list *list = rlx_listed_vdevices(n->w->m);
    const rlx_prim_value *p = rlx_as_prim_value(index);
    int64_t i;
    return !list || !p || !rlx_int_literal(p->value, &i) || i < 0 ||
           (uint64_t)i >= list->num_items || is_here(n, list->items[i]);
}

/* builtin.alloc_tensor(shape, dtype, device index, scope) */
static bool alloc_tensor(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_shape_expr *shape = rlx_as_shape_expr(call->args[0]);
    uint32_t dtype, result = t->value ? t->value->result : RLX_NO_INDEX;
    size_t first = n->args.len;
    if (call->num_args > 2 && !index_is_here(n, call->args[2]))
        return false;
    if (!shape)
        return call_builtin(n, RLX_SLICE("vm.builtin.alloc_tensor"), call->args, 2, t);
    if (!t->wanted)
        return true;
    if (!allocation_dtype(n, call->args[1], &dtype) || !rlx_vmgen_flush(n) ||
        !push_dims(n, shape) || !rlx_vmgen_target_register(n, t))
        return false;
    const rlx_vmgen_value *over = rlx_vmgen_over(n, t->value);
    if (over)
        return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_ALLOC_OVER, first, t->reg, over->reg, result, dtype);
    if (result == RLX_NO_INDEX)
        return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_ALLOC_TENSOR, first, t->reg, dtype);
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_ALLOC_RESULT, first, t->reg, result, dtype);
}

/* The one number of a shape value, or a scalar. */
static const rlx_prim *single_number(rlx_vmgen_fn *n, const rlx_expr *e)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(e);
    const rlx_prim_value *p = rlx_as_prim_value(e);
    if (p || (s && s->num_values == 1))
        return p ? p->value : s->values[0];
    rlx_error(n->ctx, RLX_CG02, n->place, "a number of bytes is written as one integer");
    return NULL;
}

/* memory.alloc_storage(shape of one size in bytes, device index, scope, dtype) */
static bool alloc_storage(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_prim *bytes = single_number(n, call->args[0]);
    uint32_t x;
    if (call->num_args > 1 && !index_is_here(n, call->args[1]))
        return false;
    if (!bytes || !t->wanted)
        return bytes != NULL;
    if (!rlx_vmgen_flush(n) || !rlx_vmgen_int(n, bytes, &x) || !rlx_vmgen_target_register(n, t))
        return false;
    RLX_EMIT(n->out, RLX_OP_ALLOC_STORAGE, t->reg, x);
    return wrote(n);
}

/* memory.alloc_tensor(storage, offset, shape, dtype) */
static bool alloc_view(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_shape_expr *shape = rlx_as_shape_expr(call->args[2]);
    const rlx_prim *offset = single_number(n, call->args[1]);
    uint32_t storage, x, dtype;
    size_t first = n->args.len;
    if (!shape)
        rlx_error(n->ctx, RLX_CG02, n->place,
                  "the shape of a tensor in storage is written as a list");
    if (!shape || !offset || !t->wanted)
        return shape && offset;
    if (!allocation_dtype(n, call->args[3], &dtype) ||
        !rlx_vmgen_register(n, call->args[0], &storage) || !rlx_vmgen_int(n, offset, &x) ||
        !push_dims(n, shape) || !rlx_vmgen_target_register(n, t))
        return false;
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_ALLOC_VIEW, first, t->reg, storage, x, dtype);
}

/* The last use of a storage: it goes with what else is dead. */
static bool kill_value(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    return give_unit(n, t);
}

static bool null_value(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    uint32_t number = rlx_file_writer_const_scalar(n->out, RLX_CONSTANT_NULL, 0, 0);
    if (!t->wanted)
        return true;
    if (!rlx_vmgen_target_register(n, t))
        return false;
    RLX_EMIT(n->out, RLX_OP_CONST, t->reg, number);
    return wrote(n);
}

/* ---- packed functions and builtins ---------------------------------------------------------- */

#define BUILTIN_PREFIX "vm.builtin."

static const struct { const char *name; size_t min_args, max_args; } builtins[] = {
#define BUILTIN(function, name, least, most, help) { BUILTIN_PREFIX name, least, most },
#include "format/builtin.def"
#undef BUILTIN
};

/* What TVM's passes call it after lowering. */
static rlx_slice own_name(rlx_slice name)
{
    return rlx_slice_is(name, "runtime.TVMArrayCreateView") ? RLX_SLICE(BUILTIN_PREFIX "view")
                                                            : name;
}

static bool is_builtin_name(rlx_slice name)
{
    return name.len > sizeof BUILTIN_PREFIX - 1 &&
           memcmp(name.data, BUILTIN_PREFIX, sizeof BUILTIN_PREFIX - 1) == 0;
}

static int find_builtin(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(builtins); i++)
        if (rlx_slice_is(name, builtins[i].name))
            return (int)i;
    return -1;
}

static bool call_builtin(rlx_vmgen_fn *n, rlx_slice name, const rlx_expr *const *args, size_t count,
                         rlx_vmgen_target *t)
{
    int at = find_builtin(name);
    size_t first = n->args.len;
    if (at < 0 || count < builtins[at].min_args || count > builtins[at].max_args) {
        const char *what = at < 0 ? "there is no run-time builtin"
                                  : "wrong number of arguments for run-time builtin";
        rlx_error(n->ctx, RLX_CG02, n->place, "%s %.*s", what, (int)(name.len & 0xff), name.data);
        return false;
    }
    if (!rlx_vmgen_flush(n) || !push_args(n, args, count) || !rlx_vmgen_target_register(n, t))
        return false;
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_BUILTIN, first, t->reg,
                        rlx_file_writer_packed(n->out, name));
}

/* A fresh tensor with the content of a constant, for a callee that may write to it. */
static bool push_copy(rlx_vmgen_fn *n, const rlx_expr *constant)
{
    uint32_t reg, number;
    size_t first = n->args.len;
    if (!rlx_vmgen_temp_register(n, true, &reg) || !rlx_vmgen_constant(n->w, constant, &number) ||
        !rlx_vec_push(&n->ctx->memory, &n->args, rlx_operand(RLX_OPERAND_CONST, number)))
        return false;
    if (!RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_BUILTIN, first, reg,
                      rlx_file_writer_packed(n->out, RLX_SLICE(BUILTIN_PREFIX "copy"))))
        return false;
    return rlx_vec_push(&n->ctx->memory, &n->args, rlx_operand(RLX_OPERAND_REGISTER, reg));
}

static const rlx_expr *constant_tensor(const rlx_vmgen_fn *n, const rlx_expr *e)
{
    const rlx_vmgen_value *v = rlx_vmgen_value_of(n, e);
    const rlx_constant *c = rlx_as_constant(v && v->leaf ? v->leaf : e);
    return c ? &c->node : NULL;
}

/* A function that promises nothing gets copies of constants: it might write to them. In a pure
 * function somebody has vouched for it. */
static bool push_packed_args(rlx_vmgen_fn *n, const rlx_call *call)
{
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_expr *constant = n->f->is_pure ? NULL : constant_tensor(n, call->args[i]);
        if (constant ? !push_copy(n, constant) : !rlx_vmgen_push_arg(n, call->args[i]))
            return false;
    }
    return true;
}

static bool call_packed(rlx_vmgen_fn *n, const rlx_call *call, rlx_slice name, rlx_vmgen_target *t)
{
    size_t first = n->args.len;
    bool unit = call->num_sinfo_args == 1 && is_unit(call->sinfo_args[0]);
    rlx_vmgen_target dropped = { .reg = RLX_NO_INDEX };
    name = own_name(name);
    if (is_builtin_name(name))
        return call_builtin(n, name, call->args, call->num_args, unit ? &dropped : t) &&
               (!unit || give_unit(n, t));
    if (!rlx_vmgen_flush(n) || !push_packed_args(n, call) ||
        !rlx_vmgen_target_register(n, unit ? &dropped : t))
        return false;
    uint32_t number = rlx_file_writer_packed(n->out, name), reg = unit ? RLX_NO_INDEX : t->reg;
    /* Whatever a function that is called for its effect gives back, its value is the unit. */
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_PACKED, first, reg, number) &&
           (!unit || give_unit(n, t));
}

/* ---- functions of the module ---------------------------------------------------------------- */

static bool call_function(rlx_vmgen_fn *n, const rlx_call *call, size_t index, rlx_vmgen_target *t)
{
    size_t first = n->args.len;
    uint32_t number = n->w->functions[index],
             flags = rlx_vmgen_args_fit(n, call) ? RLX_CALL_PROVED : 0;
    if (call->num_args != rlx_as_function(n->w->m->functions[index])->num_params) {
        rlx_error(n->ctx, RLX_CG02, n->place, "%s is called with %zu arguments",
                  name_of(n, call->op), call->num_args);
        return false;
    }
    if (!rlx_vmgen_flush(n) || !push_args(n, call->args, call->num_args))
        return false;
    if (t->tail && n->result == RLX_NO_INDEX) {
        n->ended = true;
        return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_TAIL_CALL, first, number, flags);
    }
    return rlx_vmgen_target_register(n, t) &&
           RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL, first, t->reg, number, flags);
}

static bool push_kernel_args(rlx_vmgen_fn *n, const rlx_call *call, size_t index)
{
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_expr *constant = constant_tensor(n, call->args[i]);
        bool written = false;
        if (constant && !rlx_vmgen_kernel_writes(n->w, index, i, &written))
            return false;
        if (written ? !push_copy(n, constant) : !rlx_vmgen_push_arg(n, call->args[i]))
            return false;
    }
    return true;
}

/* Parameters whose memory is a result's now: what they hold would keep that result from growing. Other values die here. */
static bool drop_overwritten(rlx_vmgen_fn *n, const rlx_call *call)
{
    bool ok = true;
    for (size_t i = 0; ok && i < call->num_args; i++) {
        const rlx_vmgen_value *v = rlx_vmgen_value_of(n, call->args[i]), *over = rlx_vmgen_over(n, v);
        if (!over || over->definition || v->over_at != n->order.next_number)
            continue;
        RLX_EMIT_LIST(n->out, RLX_OP_KILL, &over->reg, 1);
        ok = wrote(n);
    }
    return ok;
}

static bool call_kernel(rlx_vmgen_fn *n, const rlx_call *call, size_t index, rlx_vmgen_target *t)
{
    const rlx_prim_func *f = rlx_as_prim_func(n->w->m->functions[index]);
    size_t first = n->args.len;
    uint32_t number;
    if (call->num_args != f->num_params) {
        rlx_error(n->ctx, RLX_CG02, n->place, "%s takes %zu arguments, found %zu",
                  name_of(n, call->op), f->num_params, call->num_args);
        return false;
    }
    return rlx_vmgen_kernel_number(n->w, index, &number) && push_kernel_args(n, call, index) &&
           RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_KERNEL, first, number) && drop_overwritten(n, call) &&
           give_unit(n, t);
}

static bool call_global(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    int64_t index = rlx_module_index(n->w->m, rlx_as_global_var(call->op));
    const rlx_node *f = index < 0 ? NULL : n->w->m->functions[index];
    if (rlx_as_function(f))
        return call_function(n, call, (size_t)index, t);
    if (rlx_as_prim_func(f))
        return call_kernel(n, call, (size_t)index, t);
    if (rlx_as_extern_func(f))
        return call_packed(n, call, rlx_string_slice(((const rlx_extern_func *)f)->symbol), t);
    rlx_error(n->ctx, RLX_CG02, n->place, "function %s is not in the module",
              name_of(n, call->op));
    return false;
}

/* ---- functions that are values -------------------------------------------------------------- */

/* The part of what is known of an argument that is simple and holds whatever sizes are. */
static const rlx_sinfo *plain_part(rlx_vmgen_fn *n, const rlx_sinfo *s)
{
    bool plain = s && !(s->flags & RLX_FLAG_HAS_VARS) &&
                 (rlx_as_tensor_sinfo(s) || rlx_as_shape_sinfo(s) || rlx_as_prim_sinfo(s));
    return plain ? s : rlx_object_info(n->ctx);
}

/* What is known of `count` arguments: R.Tuple(R.Tensor((2, 3), "float32"), R.Object). They are args;
 * NULL: the fields of a tuple with struct info `of`. *any: it says something. NULL: memory is out. */
static const rlx_sinfo *known_args(rlx_vmgen_fn *n, const rlx_expr *const *args,
                                   const rlx_tuple_sinfo *of, size_t count, bool *any)
{
    const rlx_sinfo **fields = rlx_new(n->ctx, (count + 1) * sizeof *fields);
    *any = count == 0;
    for (size_t i = 0; fields && i < count; i++) {
        fields[i] = plain_part(n, args ? rlx_leaf_sinfo(n->ctx, &n->w->env, args[i])
                                  : of ? of->fields[i]
                                       : NULL);
        *any |= fields[i] && fields[i]->kind != RLX_NODE_OBJECT_SINFO;
    }
    return fields ? rlx_tuple_info(n->ctx, fields, count) : NULL;
}

/* The arguments from `first` on are there. */
static bool call_known(rlx_vmgen_fn *n, uint32_t callee, const rlx_expr *const *args,
                       const rlx_tuple_sinfo *of, size_t first, rlx_vmgen_target *t)
{
    uint32_t offset;
    bool any;
    const rlx_sinfo *known = known_args(n, args, of, n->args.len - first, &any);
    if (!known)
        return false;
    if (!any)
        return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_VALUE, first, t->reg, callee);
    return rlx_vmgen_describe(n, known, &offset) &&
           RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_VALUE_KNOWN, first, t->reg, callee, offset);
}

/* The arguments from `first` on are there. The call in place of this function, if the callee's
 * result turns out to be what this one's is; else the code behind it goes on with the result. */
static bool call_register(rlx_vmgen_fn *n, uint32_t callee, const rlx_expr *const *args,
                          const rlx_tuple_sinfo *of, size_t first, rlx_vmgen_target *t)
{
    uint32_t want;
    if (!rlx_vmgen_target_register(n, t))
        return false;
    if (!t->tail_if || n->result != RLX_NO_INDEX)
        return call_known(n, callee, args, of, first, t);
    return rlx_vmgen_describe(n, t->tail_if, &want) &&
           RLX_VMGEN_EMIT_ARGS(n, RLX_OP_TAIL_CALL_VALUE, first, t->reg, callee, want);
}

static bool call_value(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    size_t first = n->args.len;
    uint32_t callee;
    return rlx_vmgen_register(n, call->op, &callee) && rlx_vmgen_flush(n) &&
           push_args(n, call->args, call->num_args) &&
           call_register(n, callee, call->args, NULL, first, t);
}

/* How many fields the tuple has. False after a report. */
static bool count_fields(rlx_vmgen_fn *n, const rlx_expr *e, size_t *count)
{
    const rlx_sinfo *info = rlx_leaf_sinfo(n->ctx, &n->w->env, e);
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_tuple_sinfo *s = rlx_as_tuple_sinfo(info);
    if (!t && !s)
        rlx_error(n->ctx, RLX_CG02, n->place, "the arguments are no tuple of known length");
    *count = t ? t->num_fields : s ? s->num_fields : 0;
    return t || s;
}

/* The fields of a tuple as operands, one that is a variable taken apart. */
static bool push_fields(rlx_vmgen_fn *n, const rlx_expr *tuple)
{
    const rlx_tuple *t = rlx_as_tuple(tuple);
    uint32_t from, to;
    size_t count;
    if (t)
        return push_args(n, t->fields, t->num_fields);
    if (!count_fields(n, tuple, &count) || !rlx_vmgen_register(n, tuple, &from))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!rlx_vmgen_temp_register(n, true, &to))
            return false;
        RLX_EMIT(n->out, RLX_OP_GET, to, from, (uint32_t)i);
        if (!rlx_vec_push(&n->ctx->memory, &n->args, rlx_operand(RLX_OPERAND_REGISTER, to)))
            return false;
    }
    return wrote(n);
}

static bool invoke_closure(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_tuple *fields = rlx_as_tuple(call->args[1]);
    const rlx_tuple_sinfo *of =
        rlx_as_tuple_sinfo(rlx_leaf_sinfo(n->ctx, &n->w->env, call->args[1]));
    size_t first = n->args.len;
    uint32_t callee;
    return rlx_vmgen_register(n, call->args[0], &callee) && rlx_vmgen_flush(n) &&
           push_fields(n, call->args[1]) &&
           call_register(n, callee, fields ? fields->fields : NULL, of, first, t);
}

static bool make_closure(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    size_t first = n->args.len;
    return !t->wanted ||
           (rlx_vmgen_flush(n) && rlx_vmgen_push_arg(n, call->args[0]) &&
            push_fields(n, call->args[1]) && rlx_vmgen_target_register(n, t) &&
            RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_BUILTIN, first, t->reg,
                                rlx_file_writer_packed(n->out,
                                                       RLX_SLICE(BUILTIN_PREFIX "make_closure"))));
}

/* call_builtin_with_ctx(function, (arguments)): those that there are need no context. */
static bool call_with_context(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_extern_func *f = rlx_as_extern_func(call->args[0]);
    rlx_slice name = f ? rlx_string_slice(f->symbol) : RLX_SLICE("");
    rlx_vmgen_target dropped = { .reg = RLX_NO_INDEX };
    size_t first = n->args.len, count;
    int at = find_builtin(name);
    bool unit = !call->num_sinfo_args || is_unit(call->sinfo_args[0]);
    if (!count_fields(n, call->args[1], &count))
        return false;
    if (at < 0 || count < builtins[at].min_args || count > builtins[at].max_args)
        return call_builtin(n, name, NULL, count, t); /* which says what is wrong */
    return rlx_vmgen_flush(n) && push_fields(n, call->args[1]) &&
           rlx_vmgen_target_register(n, unit ? &dropped : t) &&
           RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_BUILTIN, first, unit ? RLX_NO_INDEX : t->reg,
                               rlx_file_writer_packed(n->out, name)) &&
           (!unit || give_unit(n, t));
}

/* vm.call_tir_dyn(function, (tensors, shape)): the sizes of the shape are integers of the call. */
static bool call_tir_dyn(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_tuple *args = rlx_as_tuple(call->args[1]);
    const rlx_expr *last = args && args->num_fields ? args->fields[args->num_fields - 1] : NULL;
    const rlx_shape_sinfo *s =
        last ? rlx_as_shape_sinfo(rlx_leaf_sinfo(n->ctx, &n->w->env, last)) : NULL;
    int64_t index = rlx_module_index(n->w->m, rlx_as_global_var(call->args[0]));
    size_t fields = args && s ? args->num_fields - 1 : 0, count = s ? fields + s->num_values : 0;
    if (!s || !s->has_values || index < 0 || !rlx_as_prim_func(n->w->m->functions[index])) {
        rlx_error(n->ctx, RLX_CG02, n->place,
                  "vm.call_tir_dyn takes a TIR function and a tuple that ends with a shape of known sizes");
        return false;
    }
    const rlx_expr **all = rlx_new(n->ctx, (count + 1) * sizeof *all);
    if (!all)
        return false;
    memcpy(all, args->fields, fields * sizeof *all);
    for (size_t i = 0; i < s->num_values; i++)
        if (!(all[fields + i] = rlx_prim_value_new(n->ctx, s->values[i])))
            return false;
    const rlx_call *direct = rlx_as_call(
        rlx_call_new(n->ctx, call->args[0], all, count, NULL, 0, NULL, call->place));
    return direct && call_kernel(n, direct, (size_t)index, t);
}

/* ---- operators ------------------------------------------------------------------------------ */

/* All devices that there are share their memory: a copy is a copy. */
static bool to_vdevice(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    return is_here(n, rlx_call_attr(call, "dst_vdevice")) &&
           call_builtin(n, RLX_SLICE(BUILTIN_PREFIX "copy"), call->args, 1, t);
}

static bool view(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    return call_builtin(n, RLX_SLICE(BUILTIN_PREFIX "view"), call->args, 4, t);
}

/* Operators with code of their own, with the number of arguments that the code reads. */
static const struct {
    enum rlx_op_id id;
    size_t num_args;
    bool (*write)(rlx_vmgen_fn *, const rlx_call *, rlx_vmgen_target *);
} operators[] = {
    { RLX_OP_ID_MEMORY_ALLOC_TENSOR, 4, alloc_view },
    { RLX_OP_ID_VM_ALLOC_TENSOR, 4, alloc_view },
    { RLX_OP_ID_MEMORY_ALLOC_STORAGE, 1, alloc_storage },
    { RLX_OP_ID_VM_ALLOC_STORAGE, 1, alloc_storage },
    { RLX_OP_ID_BUILTIN_ALLOC_TENSOR, 2, alloc_tensor },
    { RLX_OP_ID_MEMORY_VIEW, 4, view },
    { RLX_OP_ID_NULL_VALUE, 0, null_value },
    { RLX_OP_ID_TO_VDEVICE, 1, to_vdevice },
    { RLX_OP_ID_MEMORY_KILL_STORAGE, 0, kill_value },
    { RLX_OP_ID_MEMORY_KILL_TENSOR, 0, kill_value },
    { RLX_OP_ID_VM_KILL_OBJECT, 0, kill_value },
    { RLX_OP_ID_MAKE_CLOSURE, 2, make_closure },
    { RLX_OP_ID_INVOKE_CLOSURE, 2, invoke_closure },
    { RLX_OP_ID_INVOKE_PURE_CLOSURE, 2, invoke_closure },
    { RLX_OP_ID_CALL_BUILTIN_WITH_CTX, 2, call_with_context },
    { RLX_OP_ID_VM_CALL_TIR_DYN, 2, call_tir_dyn },
};

/* Why the operator is still here; NULL: not known, or reported. */
static const char *find_refusal(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op_row *row)
{
    const char *why = NULL;
    if (!row->lower)
        return NULL;
    rlx_module_builder *mb = rlx_module_builder_create(n->ctx, n->w->m);
    const rlx_sinfo *result = rlx_vmgen_known(n, &call->node);
    if (mb && result)
        rlx_op_lower(mb, &n->scope, call, result, &why);
    rlx_module_builder_free(mb);
    return why;
}

static bool refuse_operator(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op_row *row)
{
    size_t errors = rlx_error_count(n->ctx);
    const char *why = find_refusal(n, call, row);
    if (rlx_error_count(n->ctx) > errors)
        return false;
    rlx_error(n->ctx, RLX_CG03, n->place, "R.%s has no lowering%s%s", row->short_name,
              why ? ": " : "", why ? why : "");
    return false;
}

/* An operator that has a lowering, though not for what is known of its operands. A dtype that it
 * refuses stays refused, whatever the sizes will be. */
static bool late_operator(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op_row *row,
                          rlx_vmgen_target *t)
{
    bool late = row->lower && !n->w->o->no_late && rlx_vmgen_waits_for_run(n, call);
    if (late && rlx_vmgen_knows_kinds(n, call))
        late = !rlx_op_is_dtype_refused(find_refusal(n, call, row));
    return late ? rlx_vmgen_call_late(n, call, row, t) : refuse_operator(n, call, row);
}

/* A list of axes as a shape; None is the empty one. */
static const rlx_expr *axes_argument(rlx_vmgen_fn *n, const rlx_attr *a)
{
    int64_t axes[RLX_MAX_RANK];
    size_t count = rlx_attr_count(a);
    if (count > RLX_MAX_RANK)
        return NULL;
    for (size_t i = 0; i < count; i++)
        axes[i] = rlx_attr_item(a, i);
    return rlx_shape_of_ints(n->ctx, axes, count);
}

/* An attribute as an argument of a builtin; NULL: out of memory, or a kind that none takes. */
static const rlx_expr *attr_argument(rlx_vmgen_fn *n, const rlx_op_attr *row, const rlx_attr *a)
{
    const rlx_attr_string *text = rlx_as_attr_string(a);
    if (row->type == RLX_ATTR_DTYPE)
        return rlx_dtype_imm_new(n->ctx, rlx_attr_as_dtype(a));
    if (text)
        return rlx_string_imm_new(n->ctx, rlx_string_slice(text->value));
    if (row->type == RLX_ATTR_INTS_OR_NONE)
        return axes_argument(n, a);
    bool flag = row->type == RLX_ATTR_BOOL || row->type == RLX_ATTR_BOOL_OR_NONE;
    int64_t v = flag ? rlx_attr_as_bool(a, false) : rlx_attr_as_int(a, 0);
    const rlx_prim *p = row->type == RLX_ATTR_FLOAT
                            ? rlx_float(n->ctx, RELAX_FLOAT64, rlx_attr_as_float(a, 0))
                            : rlx_int64(n->ctx, v);
    return p ? rlx_prim_value_new(n->ctx, p) : NULL;
}

#define MAX_BUILTIN_ARGS (RLX_OP_MAX_ARGS + 12)

/* The arguments of the call, then the attributes in the order of the row. False after a report. */
static bool builtin_arguments(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op_row *row,
                              const rlx_expr **out, size_t *count)
{
    const rlx_attrs *attrs = rlx_as_attrs(call->attrs);
    size_t num_attrs = attrs ? attrs->num_values : 0;
    if (call->num_args > RLX_OP_MAX_ARGS || num_attrs > MAX_BUILTIN_ARGS - RLX_OP_MAX_ARGS ||
        num_attrs > row->num_attrs)
        return refuse_operator(n, call, row);
    memcpy(out, call->args, call->num_args * sizeof *out);
    *count = call->num_args;
    for (size_t i = 0; i < num_attrs; i++)
        if (!(out[(*count)++] = attr_argument(n, &row->attrs[i], attrs->values[i])))
            return false;
    return true;
}

/* An operator that is a run-time builtin, or a packed function of the host ("relax.run.print"). */
static bool builtin_operator(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op_row *row,
                             rlx_vmgen_target *t)
{
    static const char host_prefix[] = "relax.run.";
    rlx_slice name = rlx_slice_z(row->builtin);
    bool host = strncmp(row->builtin, host_prefix, sizeof host_prefix - 1) == 0;
    char text[64];
    int len = host ? snprintf(text, sizeof text, BUILTIN_PREFIX "%s",
                              row->builtin + sizeof host_prefix - 1)
                   : 0;
    rlx_slice own =
        host && len > 0 && (size_t)len < sizeof text ? (rlx_slice){ text, (size_t)len } : name;
    const rlx_sinfo *info = rlx_vmgen_known(n, &call->node);
    rlx_vmgen_target dropped = { .reg = RLX_NO_INDEX }, *to = is_unit(info) ? &dropped : t;
    const rlx_expr *args[MAX_BUILTIN_ARGS];
    size_t first = n->args.len, count = 0;
    if (find_builtin(own) >= 0 && !call->attrs)
        return call_builtin(n, own, call->args, call->num_args, to) &&
               (to == t || give_unit(n, t));
    if (find_builtin(own) >= 0)
        return builtin_arguments(n, call, row, args, &count) &&
               call_builtin(n, own, args, count, to);
    if (!host)
        return refuse_operator(n, call, row);
    if (!rlx_vmgen_flush(n) || !push_args(n, call->args, call->num_args) ||
        !rlx_vmgen_target_register(n, to))
        return false;
    return RLX_VMGEN_EMIT_ARGS(n, RLX_OP_CALL_PACKED, first, to->reg,
                        rlx_file_writer_packed(n->out, name)) &&
           (to == t || give_unit(n, t));
}

static bool call_operator(rlx_vmgen_fn *n, const rlx_call *call, const rlx_op *op,
                          rlx_vmgen_target *t)
{
    const rlx_op_row *row = op->row;
    if (!row) {
        rlx_error(n->ctx, RLX_CG03, n->place, "operator %s is not known", op->name->data);
        return false;
    }
    for (size_t i = 0; i < RLX_COUNT(operators); i++)
        if (operators[i].id == row->id && call->num_args >= operators[i].num_args)
            return operators[i].write(n, call, t);
    return row->builtin ? builtin_operator(n, call, row, t) : late_operator(n, call, row, t);
}

bool rlx_vmgen_call(rlx_vmgen_fn *n, const rlx_call *call, rlx_vmgen_target *t)
{
    const rlx_op *op = rlx_as_op(call->op);
    if (op)
        return call_operator(n, call, op, t);
    if (rlx_as_global_var(call->op))
        return call_global(n, call, t);
    if (rlx_as_extern_func(call->op))
        return call_packed(n, call, rlx_string_slice(((const rlx_extern_func *)call->op)->symbol),
                           t);
    return call_value(n, call, t);
}
