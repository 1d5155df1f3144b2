/* vmgen_constant.c: constants of the file, each content once. */
#include "codegen/vmgen_int.h"

/* A literal of a PRIM_VALUE or a SHAPE_EXPR. */
static bool literal_value(const rlx_prim *p)
{
    return rlx_is(p, RLX_NODE_INT_IMM) || rlx_is(p, RLX_NODE_FLOAT_IMM);
}

bool rlx_vmgen_is_constant(const rlx_expr *e)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(e);
    bool literals = true;
    switch (e ? e->kind : RLX_NODE_NONE) {
    case RLX_NODE_CONSTANT:
    case RLX_NODE_STRING_IMM:
    case RLX_NODE_DTYPE_IMM:
    case RLX_NODE_EXTERN_FUNC:
    case RLX_NODE_GLOBAL_VAR:
        return true;
    case RLX_NODE_PRIM_VALUE:
        return literal_value(((const rlx_prim_value *)e)->value);
    case RLX_NODE_SHAPE_EXPR:
        for (size_t i = 0; literals && i < s->num_values; i++)
            literals = rlx_is(s->values[i], RLX_NODE_INT_IMM);
        return literals;
    default:
        return false;
    }
}

/* ---- tensors -------------------------------------------------------------------------------- */

#define LARGE ((size_t)1 << 16)
#define SAMPLES 64

/* What tells a constant's content from others: the content, or what it is made of. */
static const rlx_blob *content_of(const rlx_constant *c)
{
    return c->data->deferred ? c->data->deferred->of : c->data;
}

static const void *made_how(const rlx_constant *c)
{
    return c->data->deferred ? c->data->deferred->how : NULL;
}

/* Reads all of a small content, and of a large one some words from its begin to its end: weights
 * seldom agree there. */
static uint64_t hash_quickly(const rlx_constant *c)
{
    const unsigned char *data = content_of(c)->data;
    size_t size = content_of(c)->size, apart = (size - sizeof(uint64_t)) / (SAMPLES - 1);
    uint64_t h = rlx_hash_mix((uint32_t)c->dtype, size);
    if (size <= LARGE)
        return rlx_hash_mix(h, rlx_hash_bytes(data, size));
    for (size_t i = 0; i < SAMPLES; i++)
        h = rlx_hash_mix(h, rlx_load8(data + apart * i));
    return h;
}

/* Of the whole content, asked for where two large ones may be equal, and kept: so each is read
 * once, however many there are. */
static uint64_t hash_wholly(rlx_vmgen_tensor *t)
{
    const rlx_blob *content = content_of(t->node);
    if (!t->hash)
        t->hash = rlx_hash_bytes(content->data, content->size) | 1;
    return t->hash;
}

static bool same_tensor(rlx_vmgen_tensor *known, rlx_vmgen_tensor *now)
{
    const rlx_constant *a = known->node, *b = now->node;
    const rlx_blob *of_a = content_of(a), *of_b = content_of(b);
    if (a->dtype != b->dtype || a->num_shape != b->num_shape || of_a->size != of_b->size ||
        made_how(a) != made_how(b))
        return false;
    if (a->num_shape && memcmp(a->shape, b->shape, a->num_shape * sizeof *a->shape) != 0)
        return false;
    if (of_a == of_b || of_a->size == 0)
        return true;
    return (of_a->size <= LARGE || hash_wholly(known) == hash_wholly(now)) &&
           memcmp(of_a->data, of_b->data, of_a->size) == 0;
}

static bool tensor_constant(rlx_vmgen_module *w, const rlx_constant *c, uint32_t *out)
{
    rlx_memory *m = &w->ctx->memory;
    rlx_vmgen_tensor now = { .node = c };
    size_t at;
    if (!rlx_dtype_is_computable(c->dtype) || rlx_dtype_lanes(c->dtype) != 1) {
        char text[RLX_DTYPE_TEXT];
        rlx_dtype_name(c->dtype, text);
        rlx_error(w->ctx, RLX_CG05, c->place, "a constant of dtype %s cannot be computed with",
                  text);
        return false;
    }
    uint64_t hash = hash_quickly(c);
    for (void *item = rlx_intern_first(&w->tensor_table, hash, &at); item;
         item = rlx_intern_next(&w->tensor_table, hash, &at)) {
        rlx_vmgen_tensor *known = &w->tensors.data[(uintptr_t)item - 1];
        if (same_tensor(known, &now)) {
            *out = known->number;
            return true;
        }
    }
    *out = now.number = rlx_file_writer_const_blob(&w->out, c->dtype, c->shape, c->num_shape, c->data);
    if (!rlx_file_writer_ok(&w->out))
        return rlx_vmgen_failed(w, c->place);
    return rlx_vec_push(m, &w->tensors, now) &&
           rlx_intern_add(&w->tensor_table, hash, (void *)w->tensors.len);
}

/* ---- the others ----------------------------------------------------------------------------- */

static bool shape_constant(rlx_vmgen_module *w, const rlx_shape_expr *s, uint32_t *out)
{
    rlx_memory *m = &w->ctx->memory;
    int64_t *values = rlx_mem_alloc(m, (s->num_values + 1) * sizeof *values);
    if (!values)
        return false;
    for (size_t i = 0; i < s->num_values; i++)
        values[i] = ((const rlx_int_imm *)s->values[i])->value;
    *out = rlx_file_writer_const_shape(&w->out, values, s->num_values);
    rlx_mem_free(m, values, (s->num_values + 1) * sizeof *values);
    return true;
}

static void scalar_constant(rlx_vmgen_module *w, const rlx_prim *p, uint32_t *out)
{
    const rlx_float_imm *f = rlx_as_float_imm(p);
    uint64_t bits = f ? 0 : (uint64_t)((const rlx_int_imm *)p)->value;
    if (f)
        memcpy(&bits, &f->value, sizeof bits);
    *out = rlx_file_writer_const_scalar(&w->out, f ? RLX_CONSTANT_FLOAT : RLX_CONSTANT_INT,
                                   rlx_prim_dtype(p), bits);
}

static uint32_t extern_constant(rlx_vmgen_module *w, const rlx_string *symbol)
{
    return rlx_file_writer_const_scalar(&w->out, RLX_CONSTANT_EXTERN, 0,
                                        rlx_file_writer_packed(&w->out, rlx_string_slice(symbol)));
}

static bool global_constant(rlx_vmgen_module *w, const rlx_global_var *gv, uint32_t *out)
{
    int64_t index = rlx_module_index(w->m, gv);
    const rlx_node *f = index < 0 ? NULL : w->m->functions[index];
    uint32_t number = index < 0 ? 0 : w->functions[index];
    if (!f) {
        rlx_error(w->ctx, RLX_CG02, gv->place, "function %s is not in the module", gv->name->data);
        return false;
    }
    if (rlx_as_extern_func(f)) {
        *out = extern_constant(w, ((const rlx_extern_func *)f)->symbol);
        return true;
    }
    if (rlx_as_prim_func(f) && !rlx_vmgen_kernel_function(w, (size_t)index, &number))
        return false;
    *out = rlx_file_writer_const_scalar(&w->out, RLX_CONSTANT_FUNCTION, 0, number);
    return true;
}

static bool other_constant(rlx_vmgen_module *w, const rlx_expr *e, uint32_t *out)
{
    switch (e->kind) {
    case RLX_NODE_STRING_IMM:
        *out = rlx_file_writer_const_string(&w->out,
                                            rlx_string_slice(((const rlx_string_imm *)e)->value));
        return true;
    case RLX_NODE_DTYPE_IMM:
        *out = rlx_file_writer_const_scalar(&w->out, RLX_CONSTANT_DTYPE,
                                       ((const rlx_dtype_imm *)e)->value, 0);
        return true;
    case RLX_NODE_PRIM_VALUE:
        scalar_constant(w, ((const rlx_prim_value *)e)->value, out);
        return true;
    case RLX_NODE_SHAPE_EXPR: return shape_constant(w, (const rlx_shape_expr *)e, out);
    case RLX_NODE_EXTERN_FUNC:
        *out = extern_constant(w, ((const rlx_extern_func *)e)->symbol);
        return true;
    default: return global_constant(w, (const rlx_global_var *)e, out);
    }
}

bool rlx_vmgen_constant(rlx_vmgen_module *w, const rlx_expr *e, uint32_t *out)
{
    const rlx_constant *c = rlx_as_constant(e);
    uintptr_t known;
    if (rlx_ptrmap_find(&w->leaves, e, &known)) {
        *out = (uint32_t)known - 1;
        return true;
    }
    if (c ? !tensor_constant(w, c, out) : !other_constant(w, e, out))
        return false;
    if (!rlx_file_writer_ok(&w->out))
        return rlx_vmgen_failed(w, rlx_place_of(e));
    return rlx_ptrmap_put(&w->leaves, e, (uintptr_t)*out + 1);
}
