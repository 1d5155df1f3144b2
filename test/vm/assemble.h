/* assemble.h: programs put together by hand, loaded and run, for the tests of vm. */
#ifndef TEST_VM_ASSEMBLE_H
#define TEST_VM_ASSEMBLE_H

#include <relax/vm.h>
#include "../base/cmocka_all.h"
#include "../base/failing.h"
#include "vm/vm.h"

typedef struct kit {
    rlx_memory memory;
    rlx_file_writer w;
    rlx_blob *file;
    relax_registry *registry;
    relax_executable *exe;
    relax_vm *vm;
    relax_error *err;
} kit;

static inline void kit_begin(kit *k)
{
    memset(k, 0, sizeof *k);
    assert_true(rlx_memory_init(&k->memory, NULL, SIZE_MAX));
    rlx_file_writer_init(&k->w, &k->memory);
}

static inline void kit_end(kit *k)
{
    relax_error_release(k->err);
    relax_vm_release(k->vm);
    relax_executable_release(k->exe);
    relax_registry_release(k->registry);
    rlx_blob_release(k->file);
    rlx_file_writer_free(&k->w);
    assert_int_equal(rlx_mem_live(&k->memory), 0);
}

/* Parameters x0, x1 ..., each a float32 tensor of rank 1 whose size is dims[i]. */
static inline uint32_t kit_vectors(kit *k, const int64_t *dims, size_t n)
{
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_params(&d);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "x%zu", i);
        rlx_desc_param(&d, rlx_slice_z(name));
        rlx_desc_tensor(&d, RELAX_FLOAT32, 1, &dims[i]);
    }
    rlx_desc_close(&d);
    return rlx_desc_end(&d);
}

/* Parameters that may be anything. */
static inline uint32_t kit_objects(kit *k, size_t n)
{
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_params(&d);
    for (size_t i = 0; i < n; i++) {
        rlx_desc_param(&d, RLX_SLICE("p"));
        rlx_desc_object(&d);
    }
    rlx_desc_close(&d);
    return rlx_desc_end(&d);
}

/* The description of anything. */
static inline uint32_t kit_anything(kit *k)
{
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_object(&d);
    return rlx_desc_end(&d);
}

static inline int64_t kit_bind(kit *k, uint32_t slot, const char *name)
{
    return rlx_desc_dim_bind(&k->w, slot, rlx_slice_z(name));
}
static inline int64_t kit_sym(kit *k, uint32_t slot, const char *name)
{
    return rlx_desc_dim_symbol(&k->w, slot, rlx_slice_z(name));
}

/* The code since `code` as function `number`. */
static inline void kit_function(kit *k, uint32_t number, const char *name, uint32_t code,
                                uint32_t params, uint32_t num_params, uint32_t regs, uint32_t syms)
{
    rlx_file_function f = { .name = rlx_file_writer_name(&k->w, rlx_slice_z(name)),
                            .flags = RLX_FUNCTION_PUBLIC,
                            .code = code,
                            .code_len = rlx_file_writer_here(&k->w) - code,
                            .num_params = num_params,
                            .num_regs = regs,
                            .num_syms = syms,
                            .params = params,
                            .result = RLX_NO_INDEX,
                            .signature = RLX_NO_INDEX };
    rlx_file_writer_set_function(&k->w, number, &f);
}

/* Writes, loads and makes a VM. */
static inline void kit_load_with(kit *k, const relax_vm_options *options)
{
    assert_non_null(k->file = rlx_file_writer_finish(&k->w, &k->memory));
    relax_status s = relax_executable_load(k->file->data, k->file->size, NULL, &k->exe, &k->err);
    if (s != RELAX_OK)
        fail_msg("load: %s: %s", relax_error_code(k->err), relax_error_message(k->err, NULL));
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    if (options)
        o = *options;
    o.registry = k->registry;
    assert_int_equal(relax_vm_create(k->exe, &o, &k->vm, &k->err), RELAX_OK);
}

static inline void kit_load(kit *k) { kit_load_with(k, NULL); }

static inline void kit_register(kit *k, const char *name, relax_packed_fn fn, void *user)
{
    if (!k->registry)
        assert_int_equal(relax_registry_create(NULL, &k->registry, NULL), RELAX_OK);
    assert_int_equal(
        relax_registry_register(k->registry, name, strlen(name), fn, user, NULL, NULL), RELAX_OK);
}

/* A float vector with the elements start, start + 1, ... as a value. */
static inline relax_value kit_vector(int64_t n, float start)
{
    relax_tensor *t;
    relax_value v;
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, &n, 1, NULL, &t, NULL), RELAX_OK);
    for (int64_t i = 0; i < n; i++)
        ((float *)relax_tensor_data(t))[i] = start + (float)i;
    relax_value_set_tensor(&v, t);
    relax_tensor_release(t);
    return v;
}

/* Calls, with both loops and the profiling one; the results must agree in status. Result of the
 * last. */
static inline relax_status kit_call(kit *k, const char *name, const relax_value *args, size_t n,
                                    relax_value *result)
{
    relax_status status = RELAX_OK;
    for (int way = 0; way < 3; way++) {
        relax_error_release(k->err);
        k->err = NULL;
        if (way)
            relax_value_release(result);
        rlx_vm_set_dispatch(k->vm, way == 1 ? RLX_DISPATCH_SWITCH : RLX_DISPATCH_THREADED);
        if (way == 2)
            relax_vm_profile_start(k->vm);
        relax_status now = relax_vm_call(k->vm, name, strlen(name), args, n, result, &k->err);
        if (way)
            assert_int_equal(now, status);
        status = now;
        relax_vm_profile_stop(k->vm);
    }
    return status;
}

static inline void kit_expect(kit *k, const char *name, const relax_value *args, size_t n,
                              relax_value *result)
{
    if (kit_call(k, name, args, n, result) != RELAX_OK)
        fail_msg("%s: %s: %s", name, relax_error_code(k->err), relax_error_message(k->err, NULL));
}

static inline void kit_fails(kit *k, const char *name, const relax_value *args, size_t n,
                             const char *code, const char *message)
{
    relax_value result;
    assert_int_not_equal(kit_call(k, name, args, n, &result), RELAX_OK);
    assert_int_equal(relax_value_kind(&result), RELAX_VALUE_KIND_NULL);
    assert_string_equal(relax_error_code(k->err), code);
    if (message)
        assert_string_equal(relax_error_message(k->err, NULL), message);
}

#endif
