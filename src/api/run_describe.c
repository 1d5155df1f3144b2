/* run_describe.c: what a compiled program consists of: its functions, what they take and give, what
 * they need (relax/vm.h). */
#include <relax/vm.h>

#include "vm/vm.h"

/* ---- helpers -------------------------------------------------------------------------------- */

static const char *give_name(rlx_slice name, size_t *len)
{
    if (len)
        *len = name.len;
    return name.data;
}

static bool is_executable(const relax_executable *e)
{
    return rlx_handle_is(e, RLX_TAG_EXECUTABLE);
}

/* ---- functions ------------------------------------------------------------------------------ */

static const rlx_file_function *function_at(const relax_executable *e, size_t i)
{
    return is_executable(e) && i < e->num_public
               ? &e->functions[e->public_functions[i]]
               : NULL;
}

size_t relax_executable_num_native_kernels(const relax_executable *executable)
{
    return is_executable(executable) ? executable->num_native_kernels : 0;
}

const char *relax_executable_native_refused(const relax_executable *executable)
{
    return is_executable(executable) ? executable->native_why : "";
}

size_t relax_executable_compiler_processes(const relax_executable *executable)
{
    return is_executable(executable) ? executable->compiler_processes : 0;
}

size_t relax_executable_num_functions(const relax_executable *executable)
{
    return is_executable(executable) ? executable->num_public : 0;
}

const char *relax_executable_function_name(const relax_executable *executable, size_t function,
                                           size_t *len)
{
    const rlx_file_function *f = function_at(executable, function);
    if (f)
        return give_name(rlx_name(&executable->names, f->name), len);
    return give_name((rlx_slice){ NULL, 0 }, len);
}

size_t relax_executable_find(const relax_executable *executable, const char *name,
                                      size_t name_len)
{
    if (!is_executable(executable) || !name)
        return RELAX_NOT_FOUND;
    /* 0, which is no number counted from 1, becomes RELAX_NOT_FOUND */
    return (size_t)(uintptr_t)rlx_map_get(&executable->by_name, (rlx_slice){ name, name_len }) - 1;
}

size_t relax_executable_num_params(const relax_executable *executable, size_t function)
{
    const rlx_file_function *f = function_at(executable, function);
    if (!f)
        return RELAX_NOT_FOUND;
    return (f->flags & RLX_FUNCTION_KERNEL)
               ? (size_t)rlx_kernel_num_params(executable->kernels[f->code])
               : f->num_params;
}

/* The node of a parameter; PrimFuncs have one only if their signature is in the file. */
static const int64_t *param_node(const relax_executable *e, size_t function, size_t param,
                                 uint32_t *name)
{
    const rlx_file_function *f = function_at(e, function);
    *name = RLX_NO_INDEX;
    if (!f || param >= RLX_NO_INDEX)
        return NULL;
    if (!(f->flags & RLX_FUNCTION_KERNEL))
        return rlx_desc_param_at(e->descs, f->params, (uint32_t)param, name);
    return f->signature == RLX_NO_INDEX
               ? NULL
               : rlx_desc_child_at(rlx_item_node(e->descs, f->signature), (uint32_t)param);
}

const char *relax_executable_param_name(const relax_executable *executable, size_t function,
                                        size_t param, size_t *len)
{
    uint32_t name;
    if (function_at(executable, function) &&
        param < relax_executable_num_params(executable, function)) {
        param_node(executable, function, param, &name);
        return give_name(rlx_name(&executable->names, name), len);
    }
    return give_name((rlx_slice){ NULL, 0 }, len);
}

static int32_t scalar_kind(rlx_dtype t)
{
    if (rlx_dtype_is_bool(t))
        return RELAX_VALUE_KIND_BOOL;
    if (rlx_dtype_is_float(t))
        return RELAX_VALUE_KIND_FLOAT;
    return rlx_dtype_is_int(t) ? RELAX_VALUE_KIND_INT : RELAX_VALUE_KIND_OTHER;
}

static const relax_description *handle_of(const int64_t *node)
{
    return (const relax_description *)(const void *)node;
}

/* The node of a description; NULL for what is none of that program. */
static const int64_t *node_at(const relax_executable *e, const relax_description *of)
{
    uintptr_t at = (uintptr_t)(const void *)of;
    uintptr_t begin = is_executable(e) ? (uintptr_t)(const void *)e->descs : 0;
    if (!of || !begin || at < begin || at - begin >= (size_t)e->num_descs * sizeof *e->descs ||
        (at - begin) % sizeof *e->descs)
        return NULL;
    return e->descs + (at - begin) / sizeof *e->descs;
}

static bool describe(const relax_executable *e, const relax_description *of, rlx_desc_info *info)
{
    const int64_t *node = node_at(e, of);
    if (node)
        rlx_desc_describe(node, info);
    return node != NULL;
}

const relax_description *relax_executable_param(const relax_executable *executable,
                                                size_t function, size_t param)
{
    uint32_t name;
    return handle_of(param_node(executable, function, param, &name));
}

static const int64_t *result_node(const relax_executable *e, size_t function)
{
    const rlx_file_function *f = function_at(e, function);
    if (!f)
        return NULL;
    if (f->signature != RLX_NO_INDEX) {
        const int64_t *node = rlx_item_node(e->descs, f->signature);
        return rlx_desc_child_at(node, rlx_desc_node_count(node));
    }
    return f->result == RLX_NO_INDEX ? NULL : rlx_item_node(e->descs, f->result);
}

const relax_description *relax_executable_result(const relax_executable *executable,
                                                 size_t function)
{
    return handle_of(result_node(executable, function));
}

int32_t relax_description_kind(const relax_executable *executable, const relax_description *of)
{
    rlx_desc_info info;
    static const uint8_t kinds[RLX_DESC_KINDS] = {
        [RLX_DESC_OBJECT] = RELAX_VALUE_KIND_OTHER, [RLX_DESC_PRIM] = RELAX_VALUE_KIND_OTHER,
        [RLX_DESC_SHAPE] = RELAX_VALUE_KIND_SHAPE,  [RLX_DESC_TENSOR] = RELAX_VALUE_KIND_TENSOR,
        [RLX_DESC_TUPLE] = RELAX_VALUE_KIND_TUPLE,  [RLX_DESC_FUNC] = RELAX_VALUE_KIND_FUNCTION,
        [RLX_DESC_PARAMS] = RELAX_VALUE_KIND_OTHER,
    };
    if (!describe(executable, of, &info))
        return RELAX_VALUE_KIND_OTHER;
    return info.kind == RLX_DESC_PRIM ? scalar_kind(info.dtype) : kinds[info.kind];
}

relax_dtype relax_description_dtype(const relax_executable *executable,
                                    const relax_description *of)
{
    rlx_desc_info info;
    return describe(executable, of, &info) ? info.dtype : RELAX_VOID;
}

int32_t relax_description_ndim(const relax_executable *executable, const relax_description *of)
{
    rlx_desc_info info;
    return describe(executable, of, &info) ? info.ndim : -1;
}

/* The word of a size; false: there is none, or it is not known. */
static bool dim_at(const relax_executable *e, const relax_description *of, size_t dim,
                   int64_t *out)
{
    rlx_desc_info info;
    if (!describe(e, of, &info) || !info.dims || info.ndim < 0 || dim >= (size_t)info.ndim)
        return false;
    *out = info.dims[dim];
    return rlx_desc_dim_tag_of(*out) != RLX_DIM_ANY;
}

int64_t relax_description_dim(const relax_executable *executable, const relax_description *of,
                              size_t dim)
{
    int64_t word;
    return dim_at(executable, of, dim, &word) && rlx_desc_dim_tag_of(word) == RLX_DIM_LITERAL
               ? rlx_desc_dim_value(word)
               : -1;
}

const char *relax_description_dim_name(const relax_executable *executable,
                                       const relax_description *of, size_t dim, size_t *len)
{
    int64_t word;
    rlx_slice name = { NULL, 0 };
    if (dim_at(executable, of, dim, &word) && rlx_desc_dim_tag_of(word) != RLX_DIM_LITERAL &&
        rlx_desc_dim_tag_of(word) != RLX_DIM_EXPR)
        name = rlx_name(&executable->names, rlx_desc_dim_index(word));
    return give_name(name.len ? name : (rlx_slice){ NULL, 0 }, len);
}

relax_bytes *relax_description_dim_text(const relax_executable *executable,
                                        const relax_description *of, size_t dim)
{
    int64_t word;
    rlx_buf buf;
    if (!dim_at(executable, of, dim, &word))
        return NULL;
    rlx_desc_env env = { executable->descs, NULL, NULL, &executable->names };
    rlx_buf_init(&buf, &executable->memory->memory);
    rlx_desc_dim_text(&env, word, &buf);
    return rlx_bytes_make(executable->memory, &buf);
}

size_t relax_description_num_fields(const relax_executable *executable,
                                    const relax_description *of)
{
    const int64_t *node = node_at(executable, of);
    return node && rlx_desc_kind_of(node) == RLX_DESC_TUPLE ? rlx_desc_node_count(node)
                                                            : RELAX_NOT_FOUND;
}

const relax_description *relax_description_field(const relax_executable *executable,
                                                 const relax_description *of, size_t field)
{
    size_t count = relax_description_num_fields(executable, of);
    return count != RELAX_NOT_FOUND && field < count
               ? handle_of(rlx_desc_child_at(node_at(executable, of), (uint32_t)field))
               : NULL;
}

int32_t relax_executable_param_kind(const relax_executable *executable, size_t function,
                                    size_t param)
{
    return relax_description_kind(executable, relax_executable_param(executable, function, param));
}

relax_dtype relax_executable_param_dtype(const relax_executable *executable, size_t function,
                                         size_t param)
{
    return relax_description_dtype(executable, relax_executable_param(executable, function, param));
}

int32_t relax_executable_param_ndim(const relax_executable *executable, size_t function,
                                    size_t param)
{
    return relax_description_ndim(executable, relax_executable_param(executable, function, param));
}

int64_t relax_executable_param_dim(const relax_executable *executable, size_t function,
                                   size_t param, size_t dim)
{
    return relax_description_dim(executable, relax_executable_param(executable, function, param),
                                 dim);
}

static relax_bytes *node_text(const relax_executable *e, const int64_t *node)
{
    rlx_buf buf;
    rlx_desc_env env = { e->descs, NULL, NULL, &e->names };
    if (!node)
        return NULL;
    rlx_buf_init(&buf, &e->memory->memory);
    rlx_desc_text(&env, node, &buf);
    return rlx_bytes_make(e->memory, &buf);
}

relax_bytes *relax_description_text(const relax_executable *executable,
                                    const relax_description *of)
{
    const int64_t *node = node_at(executable, of);
    return node ? node_text(executable, node) : NULL;
}

relax_bytes *relax_executable_param_text(const relax_executable *executable, size_t function,
                                         size_t param)
{
    return relax_description_text(executable, relax_executable_param(executable, function, param));
}

relax_bytes *relax_executable_result_text(const relax_executable *executable, size_t function)
{
    return relax_description_text(executable, relax_executable_result(executable, function));
}

/* ---- what the program needs, and how large it is -------------------------------------------- */

/* Number `index` of the packed functions that are no builtins. */
static uint32_t packed_at(const relax_executable *e, size_t index)
{
    for (uint32_t i = 0; i < e->num_packed; i++)
        if (!e->builtins[i] && index-- == 0)
            return e->packed[i];
    return RLX_NO_INDEX;
}

size_t relax_executable_num_packed(const relax_executable *executable)
{
    size_t n = 0;
    for (uint32_t i = 0; is_executable(executable) && i < executable->num_packed; i++)
        n += !executable->builtins[i];
    return n;
}

const char *relax_executable_packed_name(const relax_executable *executable, size_t index,
                                         size_t *len)
{
    uint32_t name = is_executable(executable) ? packed_at(executable, index) : RLX_NO_INDEX;
    return give_name(name == RLX_NO_INDEX ? (rlx_slice){ NULL, 0 }
                                          : rlx_name(&executable->names, name),
                     len);
}

size_t relax_executable_size(const relax_executable *executable)
{
    return is_executable(executable) ? executable->image->size : 0;
}

/* The section of a file that has been verified; NULL: it has none. */
static const unsigned char *section_of(const relax_executable *e, uint32_t kind, uint64_t *length)
{
    rlx_file_header h;
    rlx_file_section s;
    memcpy(&h, e->image->data, sizeof h);
    for (uint32_t i = 0; i < h.num_sections; i++) {
        memcpy(&s, e->image->data + sizeof h + i * sizeof s, sizeof s);
        if (s.kind != kind)
            continue;
        *length = s.length;
        return e->image->data + s.offset;
    }
    *length = 0;
    return NULL;
}

size_t relax_executable_constant_size(const relax_executable *executable)
{
    uint64_t length = 0;
    if (is_executable(executable))
        (void)section_of(executable, RLX_SECTION_CONSTANTS, &length);
    return (size_t)length;
}

size_t relax_executable_num_kernels(const relax_executable *executable)
{
    return is_executable(executable) ? executable->num_kernels : 0;
}

const char *relax_executable_native_target(const relax_executable *executable, const char **cpu)
{
    uint64_t length;
    const unsigned char *data =
        is_executable(executable) ? section_of(executable, RLX_SECTION_NATIVE, &length) : NULL;
    const rlx_file_native *head = (const void *)data;
    bool sound = head && length >= sizeof *head &&
                 memchr(head->target, 0, sizeof head->target) &&
                 memchr(head->cpu, 0, sizeof head->cpu);
    if (cpu)
        *cpu = sound ? head->cpu : NULL;
    return sound ? head->target : NULL;
}
