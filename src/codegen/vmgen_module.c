/* vmgen_module.c: a lowered module as a .rlx file. */
#include "codegen/vmgen_int.h"

#include "codegen/native.h"

bool rlx_vmgen_failed(rlx_vmgen_module *w, rlx_place place)
{
    if (w->out.failed || w->ctx->diags.out_of_memory)
        return false;
    if (w->out.too_large)
        rlx_error(w->ctx, RLX_CG08, place,
                  "the program is too large: registers, operands, words or an expression are "
                  "beyond a limit of the file");
    return false;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static const rlx_global_var *name_of(const rlx_vmgen_module *w, size_t index)
{
    return rlx_as_global_var(w->m->gvars[index]);
}

bool rlx_vmgen_kernel_number(rlx_vmgen_module *w, size_t index, uint32_t *out)
{
    const rlx_prim_func *f = rlx_as_prim_func(w->m->functions[index]);
    rlx_vmgen_kernel *k = &w->kernels[index];
    rlx_slice name = rlx_string_slice(name_of(w, index)->name);
    rlx_buf bytes;
    if (k->number != RLX_NO_INDEX) {
        *out = k->number;
        return true;
    }
    rlx_buf_init(&bytes, &w->ctx->memory);
    rlx_kernel_hints hints = { 0 };
    bool wants_hints = w->o->target->add_code || w->o->source;
    bool ok = rlx_kernel_write(w->ctx, f, name, &bytes, wants_hints ? &hints : NULL) &&
              !bytes.failed;
    ok = ok && (!wants_hints || rlx_vec_push(&w->ctx->memory, &w->hints, hints));
    if (!ok)
        rlx_vec_free(&w->ctx->memory, &hints);
    if (ok)
        *out = k->number = rlx_file_writer_kernel(&w->out, name, bytes.data, bytes.len);
    rlx_buf_free(&bytes);
    return ok && (rlx_file_writer_ok(&w->out) || rlx_vmgen_failed(w, f->place));
}

/* Description of the function at `index` for tools and for its use as a value. */
static bool kernel_signature(rlx_vmgen_module *w, size_t index, uint32_t *offset)
{
    const rlx_sinfo *s = w->env.global(w->env.user, name_of(w, index));
    rlx_encoder e = { .ctx = w->ctx, .out = &w->out, .no_names = w->o->strip_names };
    rlx_desc_writer d;
    *offset = RLX_NO_INDEX;
    if (!rlx_as_func_sinfo(s))
        return true;
    rlx_desc_begin(&d, &w->out);
    bool ok = rlx_sinfo_encode(&e, s, &d);
    if (ok) {
        *offset = rlx_desc_end(&d);
    } else {
        rlx_vec_free(w->out.memory, &d.words);
        rlx_vec_free(w->out.memory, &d.open);
    }
    return ok || rlx_vmgen_failed(w, RLX_NO_PLACE);
}

bool rlx_vmgen_kernel_function(rlx_vmgen_module *w, size_t index, uint32_t *out)
{
    rlx_vmgen_kernel *k = &w->kernels[index];
    const rlx_string *name = rlx_link_name(w->m->functions[index]);
    rlx_file_function r = { .code_len = 0, .params = RLX_NO_INDEX, .result = RLX_NO_INDEX };
    if (k->function != RLX_NO_INDEX) {
        *out = k->function;
        return true;
    }
    if (!rlx_vmgen_kernel_number(w, index, &r.code) || !kernel_signature(w, index, &r.signature))
        return false;
    *out = k->function = rlx_file_writer_function(&w->out);
    r.flags = RLX_FUNCTION_KERNEL | (name ? RLX_FUNCTION_PUBLIC : 0);
    r.num_params = (uint32_t)rlx_as_prim_func(w->m->functions[index])->num_params;
    if (!name)
        name = name_of(w, index)->name;
    r.name = rlx_file_writer_name(&w->out, rlx_string_slice(name));
    rlx_file_writer_set_function(&w->out, *out, &r);
    return rlx_file_writer_ok(&w->out) || rlx_vmgen_failed(w, RLX_NO_PLACE);
}

/* ---- which parameters a PrimFunc writes ----------------------------------------------------- */

bool rlx_vmgen_kernel_writes(rlx_vmgen_module *w, size_t index, size_t param, bool *out)
{
    const rlx_prim_func *f = rlx_as_prim_func(w->m->functions[index]);
    rlx_vmgen_kernel *k = &w->kernels[index];
    if (!k->written) {
        k->written = rlx_new_zero(w->ctx, f->num_params + 1);
        if (!k->written || !rlx_stored_params(w->ctx, f, k->written))
            return false;
    }
    *out = param < f->num_params && k->written[param];
    return true;
}

bool rlx_vmgen_kernel_places(rlx_vmgen_module *w, size_t index, const int32_t **out)
{
    const rlx_prim_func *f = rlx_as_prim_func(w->m->functions[index]);
    rlx_vmgen_kernel *k = &w->kernels[index];
    if (!k->looked_at) {
        int32_t *places = rlx_new(w->ctx, (f->num_params + 1) * sizeof *places);
        k->looked_at = places != NULL;
        k->first_place = places && rlx_find_first_place(w->ctx, f, places) ? places : NULL;
    }
    *out = k->first_place;
    return !w->ctx->diags.out_of_memory;
}

/* ---- functions ------------------------------------------------------------------------------ */

/* Relax functions and public kernels, in the order of the module. */
static bool number_functions(rlx_vmgen_module *w)
{
    for (size_t i = 0; i < w->m->num_functions; i++) {
        const rlx_node *f = w->m->functions[i];
        w->functions[i] = RLX_NO_INDEX;
        w->kernels[i] = (rlx_vmgen_kernel){ .number = RLX_NO_INDEX, .function = RLX_NO_INDEX };
        if (rlx_as_function(f))
            w->functions[i] = rlx_file_writer_function(&w->out);
        else if (rlx_as_prim_func(f) && rlx_link_name(f) &&
                 !rlx_vmgen_kernel_function(w, i, &w->functions[i]))
            return false;
    }
    return rlx_file_writer_ok(&w->out) || rlx_vmgen_failed(w, w->m->place);
}

/* Every function is tried, so that each that cannot be compiled is reported. */
static bool write_functions(rlx_vmgen_module *w)
{
    bool ok = true;
    for (size_t i = 0;
         i < w->m->num_functions && rlx_file_writer_ok(&w->out) && !w->ctx->diags.out_of_memory;
         i++) {
        const rlx_function *f = rlx_as_function(w->m->functions[i]);
        if (f && !rlx_vmgen_function(w, f, name_of(w, i), w->functions[i]))
            ok = false;
    }
    return ok && (rlx_file_writer_ok(&w->out) || rlx_vmgen_failed(w, w->m->place));
}

/* Adds the target's code to the bytecode of kernels, or their source. */
static bool add_code(rlx_vmgen_module *w)
{
    if (w->o->source)
        return rlx_c_write_all(w->ctx, &w->out, w->hints.data,
                               w->o->native && w->o->native->unchecked, w->o->source);
    return !w->o->target->add_code || w->o->target->add_code(w->ctx, &w->out, w->hints.data, w->o);
}

/* The file in memory, or sent to a sink. False: neither. */
static bool finish(rlx_vmgen_module *w, const rlx_file_sink *sink, rlx_blob **out)
{
    rlx_memory *own = w->o->file_memory;
    size_t errors = rlx_error_count(w->ctx);
    if (sink ? rlx_file_writer_send(&w->out, sink)
             : (*out = rlx_file_writer_finish(&w->out, own ? own : &w->ctx->memory)) != NULL)
        return true;
    if (!w->out.too_large && !w->out.refused && rlx_error_count(w->ctx) == errors)
        rlx_no_memory(w->ctx); /* memory of somebody else does not say so by itself */
    return rlx_vmgen_failed(w, w->m->place);
}

static bool write_module(rlx_context *ctx, const rlx_module *m, const rlx_codegen_options *options,
                         const rlx_file_sink *sink, rlx_blob **out)
{
    rlx_memory *memory = &ctx->memory;
    size_t n = m->num_functions + 1;
    rlx_vmgen_module w = { .ctx = ctx, .m = m, .o = options, .env = rlx_module_env(m) };
    rlx_file_writer_init(&w.out, memory);
    w.out.flags = rlx_products_are_separate(m->attrs) ? RLX_FILE_SEPARATE : 0;
    rlx_ptrmap_init(&w.leaves, memory);
    rlx_intern_init(&w.tensor_table, memory);
    rlx_ptrmap_init(&w.site_table, memory);
    rlx_map_init(&w.late_programs, memory);
    w.functions = rlx_mem_alloc(memory, n * sizeof *w.functions);
    w.kernels = rlx_mem_alloc(memory, n * sizeof *w.kernels);
    bool ok = w.functions && w.kernels && number_functions(&w) && write_functions(&w) &&
              rlx_vmgen_compile_ahead(&w) && add_code(&w) && finish(&w, sink, out);
    rlx_mem_free(memory, w.functions, w.functions ? n * sizeof *w.functions : 0);
    rlx_mem_free(memory, w.kernels, w.kernels ? n * sizeof *w.kernels : 0);
    for (size_t i = 0; i < w.hints.len; i++)
        rlx_vec_free(memory, &w.hints.data[i]);
    rlx_vec_free(memory, &w.hints);
    rlx_vec_free(memory, &w.tensors);
    rlx_intern_free(&w.tensor_table);
    rlx_vec_free(memory, &w.sites);
    rlx_ptrmap_free(&w.site_table);
    rlx_map_free(&w.late_programs);
    rlx_ptrmap_free(&w.leaves);
    rlx_file_writer_free(&w.out);
    return ok;
}

rlx_blob *rlx_codegen(rlx_context *ctx, const rlx_module *m, const rlx_codegen_options *options)
{
    rlx_blob *out = NULL;
    return write_module(ctx, m, options, NULL, &out) ? out : NULL;
}

bool rlx_codegen_send(rlx_context *ctx, const rlx_module *m, const rlx_codegen_options *options,
                      const rlx_file_sink *sink)
{
    return write_module(ctx, m, options, sink, NULL);
}
