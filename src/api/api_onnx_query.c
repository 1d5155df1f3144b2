/* api_onnx_query.c: what a model in ONNX's format contains, relax/onnx.h. */
#include <relax/onnx.h>
#include "api/api_int.h"

#include "onnx/onnx.h"

struct relax_onnx_query {
    RLX_API_TAG
    rlx_context *ctx;
    rlx_onnx_summary summary;
};

static relax_onnx_query *query(rlx_context *ctx, rlx_blob *file, const char *name)
{
    relax_onnx_query *q = file ? rlx_mem_alloc_zero(&ctx->memory, sizeof *q) : NULL;
    if (q && !rlx_onnx_query(ctx, file, rlx_slice_z(name), &q->summary)) {
        rlx_mem_free(&ctx->memory, q, sizeof *q);
        q = NULL;
    }
    if (!q)
        return NULL;
    RLX_API_SET_TAG(q, API_ONNX_QUERY);
    q->ctx = rlx_context_retain(ctx);
    return q;
}

relax_onnx_query *relax_onnx_query_memory(relax_context *ctx, const void *data, size_t size)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (size && !rlx_api_required(ctx, data, "data"))
        return give(ctx, NULL);
    rlx_blob *file = rlx_blob_wrap(&ctx->memory, (void *)(uintptr_t)data, size, NULL, NULL);
    relax_onnx_query *q = query(ctx, file, "model.onnx");
    rlx_blob_release(file);
    return give(ctx, q);
}

relax_onnx_query *relax_onnx_query_file(relax_context *ctx, const char *path)
{
    rlx_file_why why;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_required(ctx, path, "path"))
        return give(ctx, NULL);
    rlx_blob *file = rlx_file_map(&ctx->memory, path, SIZE_MAX >> 1, &why);
    if (!file && why.failure != RLX_FILE_NO_MEMORY)
        rlx_error(ctx, RLX_IO01, RLX_NO_PLACE, "%.*s: %s", rlx_api_width(rlx_slice_z(path)), path,
                  why.text);
    relax_onnx_query *q = query(ctx, file, path);
    rlx_blob_release(file);
    return give(ctx, q);
}

void relax_onnx_query_destroy(relax_onnx_query *q)
{
    if (!RLX_API_IS(q, API_ONNX_QUERY))
        return;
    rlx_context *ctx = q->ctx;
    RLX_API_SET_TAG(q, API_GONE);
    rlx_mem_free(&ctx->memory, q, sizeof *q);
    rlx_context_release(ctx);
}

/* ---- what was found ---------------------------------------------------------------------------- */

static const rlx_onnx_summary *summary_of(const relax_onnx_query *q)
{
    static const rlx_onnx_summary none;
    return q ? &q->summary : &none;
}

static const char *text_of(const rlx_string *s, size_t *len)
{
    if (len)
        *len = s ? s->len : 0;
    return s ? s->data : NULL;
}

relax_status relax_onnx_query_counts(const relax_onnx_query *q, relax_onnx_counts *counts)
{
    const rlx_onnx_summary *s = summary_of(q);
    const relax_onnx_counts all = { .struct_size = sizeof all,
                                    .ir_version = s->ir_version,
                                    .num_nodes = s->num_nodes,
                                    .num_functions = s->num_functions,
                                    .num_weights = s->num_weights,
                                    .weight_bytes = s->weight_bytes,
                                    .external_bytes = s->external_bytes,
                                    .num_inputs = s->num_inputs,
                                    .num_outputs = s->num_outputs,
                                    .num_opsets = s->num_sets,
                                    .num_operators = s->num_uses };
    return q && counts ? rlx_options_init(counts, counts->struct_size, &all, sizeof all)
                       : RELAX_ERROR_INVALID_ARGUMENT;
}

const char *relax_onnx_query_producer(const relax_onnx_query *q, size_t *len)
{
    return text_of(summary_of(q)->producer, len);
}

int64_t relax_onnx_query_opset(const relax_onnx_query *q, size_t index, const char **domain)
{
    const rlx_onnx_summary *s = summary_of(q);
    const rlx_onnx_set *set = index < s->num_sets ? &s->sets[index] : NULL;
    if (domain)
        *domain = set ? set->domain->data : NULL;
    return set ? set->version : -1;
}

size_t relax_onnx_query_operator(const relax_onnx_query *q, size_t index, const char **domain,
                                 const char **op, int32_t *is_known)
{
    const rlx_onnx_summary *s = summary_of(q);
    const rlx_onnx_use *u = index < s->num_uses ? &s->uses[index] : NULL;
    if (domain)
        *domain = u ? u->domain->data : NULL;
    if (op)
        *op = u ? u->op->data : NULL;
    if (is_known)
        *is_known = u && u->known;
    return u ? u->count : 0;
}

static const rlx_onnx_port *port_at(const relax_onnx_query *q, int32_t side, size_t index)
{
    const rlx_onnx_summary *s = summary_of(q);
    if (side == RELAX_ONNX_INPUTS)
        return index < s->num_inputs ? &s->inputs[index] : NULL;
    return side == RELAX_ONNX_OUTPUTS && index < s->num_outputs ? &s->outputs[index] : NULL;
}

const char *relax_onnx_query_value(const relax_onnx_query *q, int32_t side, size_t index,
                                   size_t *len)
{
    const rlx_onnx_port *p = port_at(q, side, index);
    return text_of(p ? p->name : NULL, len);
}

relax_dtype relax_onnx_query_dtype(const relax_onnx_query *q, int32_t side, size_t index,
                                   const char **type)
{
    const rlx_onnx_port *p = port_at(q, side, index);
    if (type)
        *type = p ? p->type : NULL;
    return p ? p->dtype : RELAX_VOID;
}

int32_t relax_onnx_query_ndim(const relax_onnx_query *q, int32_t side, size_t index)
{
    const rlx_onnx_port *p = port_at(q, side, index);
    return p ? p->ndim : -1;
}

int64_t relax_onnx_query_dim(const relax_onnx_query *q, int32_t side, size_t index, size_t axis,
                              const char **name)
{
    const rlx_onnx_port *p = port_at(q, side, index);
    bool there = p && p->ndim >= 0 && axis < (size_t)p->ndim;
    if (name)
        *name = there && p->size_names[axis] ? p->size_names[axis]->data : NULL;
    return there ? p->sizes[axis] : -1;
}
