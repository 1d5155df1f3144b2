/* reader_annotation.c: annotations to struct info, with the place of each part; shape
 * variables; virtual devices. */
#include "script/reader.h"

static bool push_place(rlx_reader *r, const rlx_ast *a)
{
    return rlx_vec_push(&r->ctx->memory, &r->annotation.places, rlx_read_place(r, a));
}

const rlx_place *rlx_take_places(rlx_reader *r, size_t mark, size_t *count)
{
    size_t found = r->annotation.places.len - mark;
    r->annotation.places.len = mark;
    const rlx_place *places =
        found ? rlx_new_copy(r->ctx, r->annotation.places.data + mark, found * sizeof *places)
              : NULL;
    *count = places ? found : 0;
    return places;
}

static bool push_node(rlx_reader *r, const rlx_node *n)
{
    return n && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)n);
}

static bool is_list(const rlx_ast *a)
{
    return a->kind == RLX_AST_TUPLE || a->kind == RLX_AST_LIST;
}

/* ---- dimensions ----------------------------------------------------------------------------- */

/* Does a string name a variable? As the lexer takes names, with letters beyond ASCII and unlike
 * rlx_is_identifier, which says what a host may call things. Python's own words count as well:
 * a variable of such a name prints under another one. */
static bool is_name(rlx_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.len > 0;
}

/* A dimension; each leaves its place. */
static const rlx_prim *read_dim(rlx_reader *r, const rlx_ast *a)
{
    if (!push_place(r, a))
        return NULL;
    if (a->kind == RLX_AST_NAME && a->name->value.kind == RLX_VAL_PRIM &&
        rlx_prim_dtype(a->name->value.node) == RELAX_INT64)
        return a->name->value.node;
    if (a->kind == RLX_AST_STRING && is_name(a->string)) {
        const rlx_word *w = rlx_words_get(&r->names, a->string);
        if (w && w->value.kind == RLX_VAL_PRIM && rlx_prim_dtype(w->value.node) == RELAX_INT64)
            return w->value.node;
    }
    if (a->kind == RLX_AST_STRING && a->string.len <= 1 &&
        (!a->string.len || a->string.data[0] == '?' || a->string.data[0] == '*'))
        return rlx_read_error(r, RLX_PA28, a, "a dimension that is not known has a name, such as \"n\""),
               NULL;
    return rlx_read_dim(r, a);
}

/* The dimensions onto the stack; every mistake among them is reported. */
static bool read_dims(rlx_reader *r, const rlx_ast *list, enum rlx_node_kind of)
{
    bool ok = true;
    r->annotation.dims_of = (uint8_t)of;
    for (const rlx_ast *a = list->first; a; a = a->next)
        ok &= push_node(r, read_dim(r, a));
    r->annotation.dims_of = 0;
    return ok;
}

static bool define_dim(rlx_reader *r, rlx_word *w, const rlx_ast *at)
{
    if (!w || rlx_word_in_frame(r, w))
        return w != NULL;
    /* of a function in the result, where parameters have been read */
    if (r->unit.where.part == RLX_PART_RETURN && w->value.kind == RLX_VAL_PRIM)
        return true;
    const rlx_prim_var *v = rlx_prim_var_new(r->ctx, w->text, RELAX_INT64, rlx_read_place(r, at));
    rlx_val value = {
        .kind = RLX_VAL_PRIM, .begin = at->begin, .end = at->end, .node = v ? &v->node : NULL
    };
    return v && rlx_word_bind(r, w, &value);
}

/* Dimensions of one list: identifiers in strings; in the older dialect also names that mean
 * nothing yet. */
static bool define_in_list(rlx_reader *r, const rlx_ast *list, bool names)
{
    if (list->kind == RLX_AST_STRING)
        return !is_name(list->string) ||
               define_dim(r, rlx_words_get(&r->names, list->string), list);
    if (list->kind == RLX_AST_NAME && names && !list->name->value.kind &&
        !rlx_slice_is(rlx_string_slice(list->name->text), "_"))
        return define_dim(r, list->name, list);
    if (!is_list(list))
        return true;
    for (const rlx_ast *a = list->first; a; a = a->next)
        if ((a->kind == RLX_AST_STRING || a->kind == RLX_AST_NAME) && !define_in_list(r, a, names))
            return false;
    return true;
}

static const rlx_ast *argument(const rlx_ast *call, size_t position, const char *keyword)
{
    const rlx_ast *a = call->first;
    for (size_t i = 0; a && a->kind != RLX_AST_KEYWORD && i < position; i++)
        a = a->next;
    return a && a->kind != RLX_AST_KEYWORD ? a : rlx_keyword(call, keyword);
}

bool rlx_define_shape_vars(rlx_reader *r, const rlx_ast *a)
{
    if (is_list(a)) {
        for (const rlx_ast *i = a->first; i; i = i->next)
            if (!rlx_define_shape_vars(r, i))
                return false;
        return true;
    }
    if ((a->kind != RLX_AST_CALL && a->kind != RLX_AST_INDEX) || a->base->kind != RLX_AST_ATTR)
        return true;
    bool older = a->kind == RLX_AST_INDEX;
    rlx_slice name = rlx_string_slice(a->base->name->text);
    const rlx_ast *dims = NULL;
    if (rlx_slice_is(name, "Tensor") || rlx_slice_is(name, "DTensor"))
        dims = argument(a, 0, "shape");
    else if (rlx_slice_is(name, "Shape"))
        dims = argument(a, 0, "values");
    else if (rlx_slice_is(name, "Prim"))
        dims = rlx_keyword(a, "value");
    else if (rlx_slice_is(name, "Callable") || rlx_slice_is(name, "Func"))
        return !(dims = argument(a, 0, "params")) || rlx_define_shape_vars(r, dims);
    else if (rlx_slice_is(name, "Tuple"))
        for (const rlx_ast *i = a->first; i; i = i->next)
            if (!rlx_define_shape_vars(r, i))
                return false;
    if (dims && dims->kind == RLX_AST_STRING && !rlx_slice_is(name, "Prim"))
        return true; /* a lone string is the dtype */
    return !dims || define_in_list(r, dims, older);
}

/* ---- devices -------------------------------------------------------------------------------- */

const rlx_node *rlx_read_vdevice(rlx_reader *r, const rlx_ast *at, rlx_slice text)
{
    const char *colon = text.len ? memchr(text.data, ':', text.len) : NULL;
    rlx_slice kind = { text.data, colon ? (size_t)(colon - text.data) : text.len };
    uint64_t index = 0;
    bool overflow = false;
    if (colon) {
        rlx_slice digits = { colon + 1, text.len - kind.len - 1 };
        /* newer: "cuda:0:global" */
        const char *scope = digits.len ? memchr(digits.data, ':', digits.len) : NULL;
        if (scope)
            digits.len = (size_t)(scope - digits.data);
        if (!rlx_parse_u64(digits, &index, &overflow) || overflow)
            return rlx_read_error(r, RLX_PA12, at, "a device is written \"cuda:0\""), NULL;
    }
    const rlx_attr_list *list = rlx_as_attr_list(rlx_attrs_get(r->module.global_infos, "vdevice"));
    if (list && !rlx_device_table_fill(&r->module.devices, list))
        return NULL;
    const rlx_node *found = rlx_device_find(&r->module.devices, kind, index);
    if (found)
        return found;
    rlx_read_error(r, RLX_WF24, at, "device %.*s is not listed in the module",
                   (int)(text.len > 60 ? 60 : text.len), text.data);
    if (list)
        rlx_note(r->ctx, r->module.devices_at, "the list is here");
    else
        rlx_note(r->ctx, RLX_NO_PLACE, "the module lists no devices");
    return NULL;
}

const rlx_node *rlx_make_vdevice(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[3];
    rlx_val target = { .kind = RLX_VAL_NONE }, v;
    int64_t id = 0;
    rlx_slice scope = RLX_SLICE("global");
    if (!rlx_bind_args(r, call, "I.vdevice", RLX_PARAMS("target", "vdevice_id", "memory_scope"), 0,
                       slot))
        return NULL;
    if (slot[0] && !rlx_read_value(r, slot[0], &target))
        return NULL;
    if (slot[1] && (!rlx_read_value(r, slot[1], &v) || !rlx_to_int(r, slot[1], &v, &id)))
        return NULL;
    if (slot[2] && (!rlx_read_value(r, slot[2], &v) || !rlx_to_string(r, slot[2], &v, &scope)))
        return NULL;
    if (target.kind != RLX_VAL_NONE && target.kind != RLX_VAL_STR && target.kind != RLX_VAL_DICT)
        return rlx_read_expected(r, slot[0], "a target as text or dictionary", &target), NULL;
    if (id < INT32_MIN || id > INT32_MAX)
        return rlx_read_error(r, RLX_PA24, slot[1], "%lld is no device number", (long long)id),
               NULL;
    rlx_vdevice key = { .node = { .kind = RLX_NODE_VDEVICE },
                        .id = (int32_t)id,
                        .scope = rlx_string_intern(r->ctx, scope) };
    if (target.kind != RLX_VAL_NONE && !(key.target = rlx_to_attr(r, slot[0], &target)))
        return NULL;
    return key.scope ? rlx_node_intern(r->ctx, &key.node) : NULL;
}

/* ---- the kinds ------------------------------------------------------------------------------ */

static bool read_dtype(rlx_reader *r, const rlx_ast *a, rlx_dtype *out)
{
    rlx_val v;
    if (a->kind == RLX_AST_STRING && rlx_dtype_parse(a->string, out))
        return true;
    return rlx_read_value(r, a, &v) && rlx_to_dtype(r, a, &v, out);
}

static const rlx_node *device_argument(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_NODE && rlx_as_vdevice(v.node))
        return v.node;
    if (v.kind != RLX_VAL_STR)
        return rlx_read_expected(r, a, "a device as \"cuda:0\"", &v), NULL;
    return rlx_read_vdevice(r, a, v.s);
}

static bool is_none(const rlx_ast *a) { return !a || a->kind == RLX_AST_NONE; }

/* Reports an expression in the place of a tensor annotation's shape (WF14). */
static bool no_shape(rlx_reader *r, const rlx_ast *a, enum rlx_node_kind of, const char *found)
{
    bool usual = !strcmp(found, "an integer") || !strcmp(found, "a string");
    if (of == RLX_NODE_SHAPE_SINFO)
        return rlx_read_error(r, RLX_WF15, a, "R.Shape takes a list of dimensions, found %s%s", found,
                              usual ? ": write R.Shape([2, 3]), or R.Shape(ndim=2) if they are not known" : "");
    return rlx_read_error(
        r, RLX_WF14, a,
        "shape of a tensor annotation must be a variable or a list of dimensions, found %s%s",
        found, usual ? ": write R.Tensor((2, 3), \"float32\")" : "");
}

static const char *form_of(const rlx_expr *e)
{
    return rlx_as_call(e)       ? "a call"
           : rlx_as_constant(e) ? "a constant"
           : rlx_as_tuple(e)    ? "a tuple"
                                : rlx_kinds[e->kind].name;
}

/* The shape of a tensor annotation. *shape stays NULL if there is none. */
static bool tensor_shape(rlx_reader *r, const rlx_ast *a, enum rlx_node_kind of,
                         const rlx_expr **shape)
{
    if (is_none(a))
        return true;
    if (is_list(a)) {
        size_t mark = r->stack.len;
        if (read_dims(r, a, of))
            *shape = rlx_shape_new(r->ctx, (const rlx_prim *const *)(r->stack.data + mark),
                               r->stack.len - mark);
        r->stack.len = mark;
        return *shape != NULL;
    }
    rlx_val v;
    if (!push_place(r, a) || !rlx_read_value(r, a, &v))
        return false;
    if (v.kind != RLX_VAL_EXPR && v.kind != RLX_VAL_TUPLE && v.kind != RLX_VAL_LIST)
        return v.kind == RLX_VAL_METHOD ? rlx_read_expected(r, a, "a shape", &v)
                                        : no_shape(r, a, of, rlx_val_text(&v));
    *shape = rlx_to_shape(r, a, &v);
    if (*shape && !rlx_as_shape_expr(*shape) && !rlx_as_var(*shape))
        return no_shape(r, a, of, form_of(*shape));
    return *shape != NULL;
}

/* The criterion is another one for variables (language 4.2). The dimensions count then. */
static void rank_differs(rlx_reader *r, const rlx_ast *a, enum rlx_node_kind of, int64_t says,
                         size_t gives)
{
    if (r->annotation.variable)
        rlx_read_error(r, RLX_WF10, a, "annotation of %s says rank %lld but gives %zu dimensions",
                       r->annotation.variable->text->data, (long long)says, gives);
    else
        rlx_read_error(r, of == RLX_NODE_SHAPE_SINFO ? RLX_WF15 : RLX_WF14, a,
                       "%s says rank %lld but gives %zu dimensions",
                       of == RLX_NODE_SHAPE_SINFO ? "shape annotation" : "annotation",
                       (long long)says, gives);
}

static bool read_rank(rlx_reader *r, const rlx_ast *a, enum rlx_node_kind of,
                      const rlx_expr *shape, int *ndim)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(shape);
    rlx_val v;
    int64_t n = -1;
    if (a && (!rlx_read_value(r, a, &v) || !rlx_to_int(r, a, &v, &n)))
        return false;
    if (n < -1 || n > INT32_MAX)
        return rlx_read_error(r, RLX_PA17, a, "ndim is %lld, expected -1 (unknown) or a rank",
                              (long long)n);
    if (a && s && n != -1 && (size_t)n != s->num_values) {
        rank_differs(r, a, of, n, s->num_values);
        n = -1;
    }
    const rlx_var *of_var = rlx_as_var(shape);
    const rlx_shape_sinfo *known = of_var ? rlx_as_shape_sinfo(of_var->sinfo) : NULL;
    if (known && n >= 0 && known->ndim >= 0 && n != known->ndim)
        return rlx_read_error(
            r, RLX_TY14, a, "shape variable %s of a tensor annotation has rank %d, expected %lld",
            of_var->name->data, (int)known->ndim, (long long)n);
    *ndim = (int)n;
    return true;
}

static const rlx_sinfo *tensor_info(rlx_reader *r, const rlx_ast *const *slot)
{
    const rlx_expr *shape = NULL;
    rlx_dtype dtype = RELAX_VOID;
    int ndim = -1;
    const rlx_node *device = NULL;
    const rlx_ast *dims = slot[0], *type = slot[1];
    if (dims && dims->kind == RLX_AST_STRING && !type) {
        type = dims; /* a lone string is the dtype */
        dims = NULL;
    }
    if (dims && ((dims->kind == RLX_AST_INT && slot[2]) || /* sizes without their brackets */
                 (dims->kind == RLX_AST_STRING && type && is_list(type)))) /* the two exchanged */
        return tensor_shape(r, dims, RLX_NODE_TENSOR_SINFO, &shape), NULL;
    /* each part is looked at, whatever the others are */
    bool ok = tensor_shape(r, dims, RLX_NODE_TENSOR_SINFO, &shape);
    ok &= !type || read_dtype(r, type, &dtype);
    ok = read_rank(r, slot[3], RLX_NODE_TENSOR_SINFO, shape, &ndim) && ok;
    if (!is_none(slot[2]) && !(device = device_argument(r, slot[2])))
        ok = false;
    return ok ? rlx_tensor_info(r->ctx, shape, dtype, ndim, device) : NULL;
}

/* ---- distributed tensors -------------------------------------------------------------------- */

const rlx_node *rlx_make_mesh(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[2];
    rlx_val shape, ids;
    int64_t product = 1, count, ends[2] = { 0, 0 };
    if (!rlx_bind_args(r, call, "R.device_mesh", RLX_PARAMS("shape", "device_ids"), 2, slot) ||
        !rlx_read_value(r, slot[0], &shape) || !rlx_read_value(r, slot[1], &ids))
        return NULL;
    bool ranged = ids.kind == RLX_VAL_RANGE, listed = ids.kind == RLX_VAL_LIST || ids.kind == RLX_VAL_TUPLE;
    if (shape.kind != RLX_VAL_LIST && shape.kind != RLX_VAL_TUPLE)
        return rlx_read_expected(r, slot[0], "the sizes of the mesh, such as (2, 2)", &shape), NULL;
    if (!ranged && !listed)
        return rlx_read_expected(r, slot[1], "the devices, such as I.Range(0, 4)", &ids), NULL;
    const rlx_range *range = ranged ? rlx_as_range(ids.node) : NULL;
    int64_t *sizes = rlx_region_array(&r->parser.region, shape.list.count + 1, sizeof *sizes),
            *list = rlx_region_array(&r->parser.region, listed ? ids.list.count + 1 : 1, sizeof *list);
    for (size_t i = 0; sizes && i < shape.list.count; i++)
        if (!rlx_to_int(r, slot[0], &shape.list.items[i], &sizes[i]))
            return NULL;
        else if (sizes[i] < 1 || !rlx_mul_i64(product, sizes[i], &product))
            return rlx_read_error(r, RLX_PA12, slot[0], "a mesh of devices has positive sizes"), NULL;
    for (size_t i = 0; list && listed && i < ids.list.count; i++)
        if (!rlx_to_int(r, slot[1], &ids.list.items[i], &list[i]))
            return NULL;
    if (!sizes || !list)
        return NULL;
    if (ranged && (!rlx_int_literal(range->min, &ends[0]) || !rlx_int_literal(range->extent, &count) ||
                   !rlx_add_i64(ends[0], count, &ends[1])))
        return rlx_read_error(r, RLX_PA12, slot[1], "devices are numbered by integers"), NULL;
    count = ranged ? count : (int64_t)ids.list.count;
    if (count != product)
        return rlx_read_error(r, RLX_PA12, call, "the mesh has %lld places for %lld devices",
                              (long long)product, (long long)count),
               NULL;
    return rlx_mesh_new(r->ctx, sizes, shape.list.count, ranged ? ends : list,
                        ranged ? 2 : ids.list.count, ranged);
}

/* "mesh[0]": an entry of I.module_global_infos */
static const rlx_node *listed_mesh(rlx_reader *r, const rlx_ast *at, rlx_slice text)
{
    const char *open = text.len ? memchr(text.data, '[', text.len) : NULL;
    rlx_slice name = { text.data, open ? (size_t)(open - text.data) : text.len };
    uint64_t index = 0;
    bool overflow = false;
    if (open) {
        rlx_slice digits = { open + 1, text.len - name.len - 1 };
        if (!digits.len || digits.data[--digits.len] != ']' ||
            !rlx_parse_u64(digits, &index, &overflow) || overflow)
            return rlx_read_error(r, RLX_PA12, at, "a mesh is written \"mesh[0]\""), NULL;
    }
    const rlx_attrs *infos = rlx_as_attrs(r->module.global_infos);
    for (size_t i = 0; infos && i < infos->num_keys; i++) {
        const rlx_attr_list *list = rlx_as_attr_list(infos->values[i]);
        const rlx_attr_string *key = rlx_as_attr_string(infos->keys[i]);
        if (list && key && rlx_slice_equal(rlx_string_slice(key->value), name) &&
            index < list->num_items && rlx_as_device_mesh(list->items[index]))
            return list->items[index];
    }
    rlx_read_error(r, RLX_WF24, at, "mesh %.*s is not listed in the module",
                   (int)(text.len > 60 ? 60 : text.len), text.data);
    if (infos)
        rlx_note(r->ctx, r->module.devices_at, "the list is here");
    else
        rlx_note(r->ctx, RLX_NO_PLACE,
                 "the module lists no meshes: I.module_global_infos({\"mesh\": "
                 "[R.device_mesh((2, 2), I.Range(0, 4))]})");
    return NULL;
}

const rlx_node *rlx_read_mesh(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_NODE && rlx_as_device_mesh(v.node))
        return v.node;
    if (v.kind != RLX_VAL_STR)
        return rlx_read_expected(r, a, "a mesh of devices as \"mesh[0]\"", &v), NULL;
    return listed_mesh(r, a, v.s);
}

const rlx_node *rlx_read_sharding(rlx_reader *r, const rlx_ast *at, const rlx_ast *mesh_at,
                                  const rlx_ast *placement, int ndim)
{
    static const int64_t alone[] = { 0, 1 };
    const rlx_node *mesh =
        mesh_at ? rlx_read_mesh(r, mesh_at) : rlx_mesh_new(r->ctx, NULL, 0, alone, 2, true);
    rlx_slice text = RLX_SLICE("");
    rlx_val v;
    if (!mesh || (placement && (!rlx_read_value(r, placement, &v) ||
                                !rlx_to_string(r, placement, &v, &text))))
        return NULL;
    size_t rank = rlx_mesh_rank(rlx_as_device_mesh(mesh));
    int64_t *axes = rlx_region_array(&r->parser.region, rank + 1, sizeof *axes);
    size_t count = axes ? rlx_placement_read(text, axes, rank) : 0;
    if (!axes)
        return NULL;
    if (count == SIZE_MAX)
        return rlx_read_error(r, RLX_PA17, placement, "a placement is written \"S[0], R\": S[axis] or "
                                                      "R for each axis of the mesh"),
               NULL;
    if (count != rank)
        return rlx_read_error(r, RLX_PA17, placement ? placement : at,
                              "the placement has %zu entries for a mesh of %zu axes", count, rank),
               NULL;
    for (size_t i = 0; i < rank; i++)
        if (ndim >= 0 && axes[i] >= ndim)
            return rlx_read_error(r, RLX_PA17, placement,
                                  "the placement divides axis %lld of a tensor of rank %d",
                                  (long long)axes[i], ndim),
                   NULL;
    return rlx_sharding_new(r->ctx, mesh, axes);
}

static const rlx_sinfo *read_dtensor(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[5] = { NULL };
    if (call && !rlx_bind_args(r, call, "R.DTensor",
                               RLX_PARAMS("shape", "dtype", "device_mesh", "placement", "ndim"), 0,
                               slot))
        return NULL;
    const rlx_ast *plain[4] = { slot[0], slot[1], NULL, slot[4] };
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tensor_info(r, plain));
    const rlx_node *lies =
        t ? rlx_read_sharding(r, call, is_none(slot[2]) ? NULL : slot[2],
                              is_none(slot[3]) ? NULL : slot[3], t->ndim)
          : NULL;
    return lies ? rlx_tensor_info(r->ctx, t->shape, t->dtype, t->ndim, lies) : NULL;
}

static const rlx_sinfo *read_tensor(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[4] = { NULL };
    if (call && !rlx_bind_args(r, call, "R.Tensor",
                               RLX_PARAMS("shape", "dtype", "vdevice", "ndim"), 0, slot))
        return NULL;
    return tensor_info(r, slot);
}

static const rlx_sinfo *read_shape(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[2] = { NULL };
    int ndim = -1;
    if (call && !rlx_bind_args(r, call, "R.Shape", RLX_PARAMS("values", "ndim"), 0, slot))
        return NULL;
    if (is_none(slot[0]))
        return read_rank(r, slot[1], RLX_NODE_SHAPE_SINFO, NULL, &ndim)
                   ? rlx_shape_info_rank(r->ctx, ndim)
                   : NULL;
    const rlx_expr *shape = NULL;
    if (!tensor_shape(r, slot[0], RLX_NODE_SHAPE_SINFO, &shape) ||
        !read_rank(r, slot[1], RLX_NODE_SHAPE_SINFO, shape, &ndim))
        return NULL;
    const rlx_shape_expr *s = rlx_as_shape_expr(shape);
    if (!s)
        return rlx_read_error(r, RLX_PA17, slot[0], "R.Shape takes a list of dimensions"), NULL;
    return rlx_shape_info(r->ctx, s->values, s->num_values);
}

static const rlx_prim *prim_value(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    const rlx_prim *value = NULL;
    r->annotation.dims_of = RLX_NODE_PRIM_SINFO;
    if (a->kind == RLX_AST_STRING)
        value = read_dim(r, a);
    else if (push_place(r, a) && rlx_read_value(r, a, &v))
        value = v.kind == RLX_VAL_INT && !v.sub ? rlx_int64(r->ctx, v.i) : rlx_to_prim(r, a, &v);
    r->annotation.dims_of = 0;
    return value;
}

static const rlx_sinfo *read_prim(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[2] = { NULL };
    rlx_dtype dtype = RELAX_VOID;
    if (call && !rlx_bind_args(r, call, "R.Prim", RLX_PARAMS("dtype", "value"), 0, slot))
        return NULL;
    if (!call || (is_none(slot[0]) && !slot[1]))
        return rlx_read_error_at(r, RLX_PA17, call ? call->begin : 0, call ? call->end : 0,
                                 "R.Prim needs a dtype or a value"),
               NULL;
    if (!is_none(slot[0]) && !read_dtype(r, slot[0], &dtype))
        return NULL;
    if (!slot[1])
        return rlx_prim_info(r->ctx, dtype, NULL);
    const rlx_prim *value = prim_value(r, slot[1]);
    if (value && dtype != RELAX_VOID && dtype != rlx_prim_dtype(value)) {
        char have[RLX_DTYPE_TEXT], want[RLX_DTYPE_TEXT];
        rlx_dtype_name(rlx_prim_dtype(value), have);
        rlx_dtype_name(dtype, want);
        return rlx_read_error(r, RLX_WF22, slot[1], "value has dtype %s but R.Prim says %s", have,
                              want),
               NULL;
    }
    return value ? rlx_prim_info(r->ctx, rlx_prim_dtype(value), value) : NULL;
}

/* Annotations of a list onto the stack; every mistake among them is reported. */
static bool read_infos(rlx_reader *r, const rlx_ast *list)
{
    bool ok = true;
    for (const rlx_ast *a = list->first; a; a = a->next)
        ok &= a->kind == RLX_AST_KEYWORD ? rlx_read_error(r, RLX_PA12, a,
                                                          "R.Tuple has no parameter %s",
                                                          a->name->text->data)
                                         : push_node(r, rlx_read_sinfo(r, a));
    return ok;
}

static const rlx_sinfo *read_tuple(rlx_reader *r, const rlx_ast *call)
{
    if (!call)
        return rlx_tuple_info(r->ctx, NULL, 0);
    if (call->count == 1 && is_list(call->first))
        call = call->first;
    size_t mark = r->stack.len;
    const rlx_sinfo *s = NULL;
    if (read_infos(r, call))
        s = rlx_tuple_info(r->ctx, (const rlx_sinfo *const *)(r->stack.data + mark),
                           r->stack.len - mark);
    r->stack.len = mark;
    return s;
}

static bool read_flag(rlx_reader *r, const rlx_ast *a, bool *out)
{
    rlx_val v;
    return rlx_read_value(r, a, &v) && rlx_to_bool(r, a, &v, out);
}

static const rlx_sinfo *opaque_callable(rlx_reader *r, const rlx_ast *const *slot)
{
    bool pure = false;
    const rlx_sinfo *ret = NULL;
    const rlx_string *name = NULL;
    rlx_val v;
    rlx_slice text;
    if (slot[1] && !(ret = rlx_read_sinfo(r, slot[1])))
        return NULL;
    if (slot[2] && !read_flag(r, slot[2], &pure))
        return NULL;
    if (!is_none(slot[3])) {
        if (!rlx_read_value(r, slot[3], &v) || !rlx_to_string(r, slot[3], &v, &text) ||
            !(name = rlx_string_intern(r->ctx, text)))
            return NULL;
        if (rlx_slice_is(text, "tvm.relax.struct_info.infer_by_sinfo_args") ||
            rlx_slice_is(text, "tvm.relax.type.infer_by_ty_args"))
            return rlx_opaque_func_info(r->ctx, RLX_DERIVE_DEFAULT, NULL, r->ctx->object, pure);
        return rlx_opaque_func_info(r->ctx, RLX_DERIVE_NAMED, name, ret ? ret : r->ctx->object,
                                    pure);
    }
    return rlx_opaque_func_info(r->ctx, ret ? RLX_DERIVE_CONST : RLX_DERIVE_EMPTY, NULL,
                                ret ? ret : r->ctx->object, pure);
}

static const rlx_sinfo *read_description(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[4] = { NULL };
    if (call && !rlx_bind_args(r, call, "R.Callable",
                               RLX_PARAMS("params", "ret", "purity", "derive_func"), 0, slot))
        return NULL;
    if (is_none(slot[0]))
        return opaque_callable(r, slot);
    if (!is_none(slot[3]))
        return rlx_read_error(r, RLX_WF17, slot[3], "function annotation has both parameters and a derive function"),
               NULL;
    bool pure = true;
    size_t mark = r->stack.len;
    bool ok = is_list(slot[0]) ? read_infos(r, slot[0]) : push_node(r, rlx_read_sinfo(r, slot[0]));
    const rlx_sinfo *ret = !ok ? NULL : slot[1] ? rlx_read_sinfo(r, slot[1]) : r->ctx->object;
    const rlx_sinfo *s = NULL;
    if (ret && (!slot[2] || read_flag(r, slot[2], &pure)))
        s = rlx_func_info(r->ctx, NULL, 0, (const rlx_sinfo *const *)(r->stack.data + mark),
                          r->stack.len - mark, ret, pure);
    r->stack.len = mark;
    return s;
}

/* Sizes of a function in a result that no parameter binds are its own. */
static const rlx_sinfo *read_callable(rlx_reader *r, const rlx_ast *call)
{
    if (!call || r->unit.where.part != RLX_PART_RETURN)
        return read_description(r, call);
    uint32_t frame = rlx_reader_frame_enter(r);
    const rlx_sinfo *s = rlx_define_shape_vars(r, call) ? read_description(r, call) : NULL;
    rlx_reader_frame_leave(r, frame);
    return s;
}

static const rlx_sinfo *read_object(rlx_reader *r, const rlx_ast *call)
{
    if (call && call->count)
        return rlx_read_error(r, RLX_PA12, call, "R.Object takes no arguments"), NULL;
    return r->ctx->object;
}

static const struct {
    const char *name;
    const rlx_sinfo *(*read)(rlx_reader *, const rlx_ast *call);
} kinds[] = {
    { "Tensor", read_tensor },
    { "Shape", read_shape },
    { "Prim", read_prim },
    { "Tuple", read_tuple },
    { "Callable", read_callable },
    { "Object", read_object },
    { "Any", read_object },
    { "DTensor", read_dtensor },
    { "dist.DTensor", read_dtensor },
};

/* ---- kinds of the host ---------------------------------------------------------------------- */

static bool is_kind(rlx_reader *r, rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(kinds); i++)
        if (rlx_slice_is(name, kinds[i].name))
            return true;
    return rlx_extension_kind_find(r->ctx, name) != NULL;
}

/* Does a say struct info: R.Tensor(...), R.Object? */
static bool says_kind(rlx_reader *r, const rlx_ast *a)
{
    const rlx_ast *name = a->kind == RLX_AST_CALL ? a->base : a;
    return name->kind == RLX_AST_ATTR && is_kind(r, rlx_string_slice(name->name->text));
}

static bool is_operand(const rlx_node *n)
{
    return rlx_as_var(n) || rlx_as_shape_expr(n) || rlx_as_string_imm(n) || rlx_as_dtype_imm(n) ||
           rlx_as_prim_value(n);
}

static const rlx_node *read_leaf_operand(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (a->kind == RLX_AST_STRING)
        return read_dim(r, a);
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_INT || v.kind == RLX_VAL_PRIM)
        return rlx_read_dim(r, a);
    if (v.kind == RLX_VAL_EXPR && is_operand(v.node))
        return v.node;
    return rlx_read_error(r, RLX_PA17, a,
                          "an operand is a list of dimensions, an integer, struct info, a "
                          "variable, R.str or R.dtype, found %s",
                          rlx_val_text(&v)),
           NULL;
}

/* Operands that are no struct info share the place of the whole. */
static const rlx_node *read_operand(rlx_reader *r, const rlx_ast *a)
{
    size_t places = r->annotation.places.len, mark = r->stack.len;
    const rlx_node *n = NULL;
    if (says_kind(r, a))
        return rlx_read_sinfo(r, a);
    if (!is_list(a))
        n = read_leaf_operand(r, a);
    else if (read_dims(r, a, RLX_NODE_EXTENSION_SINFO))
        n = rlx_shape_new(r->ctx, (const rlx_prim *const *)(r->stack.data + mark),
                          r->stack.len - mark);
    r->stack.len = mark;
    r->annotation.places.len = places;
    return n;
}

static bool read_operands(rlx_reader *r, const rlx_extension_kind *k, const rlx_ast *call)
{
    size_t count = call ? call->count : 0;
    if (count < k->min_operands || count > k->max_operands)
        return rlx_read_error_at(r, RLX_PA12, call ? call->begin : 0, call ? call->end : 0,
                                 "R.%.*s takes %zu to %zu operands, found %zu",
                                 (int)k->row.name.len, k->row.name.data, k->min_operands,
                                 k->max_operands, count);
    for (const rlx_ast *a = call ? call->first : NULL; a; a = a->next)
        if (a->kind == RLX_AST_KEYWORD
                ? !rlx_read_error(r, RLX_PA12, a, "R.%.*s has no parameter %s",
                                  (int)k->row.name.len, k->row.name.data, a->name->text->data)
                : !push_node(r, read_operand(r, a)))
            return false;
    return true;
}

/* The nodes of the arguments are on the stack from `mark` on. */
static const rlx_sinfo *ask_host(rlx_reader *r, const rlx_extension_kind *k, const rlx_ast *call,
                                 size_t mark)
{
    size_t count = r->stack.len - mark, errors = rlx_error_count(r->ctx), i = 0;
    const char **names = rlx_mem_alloc(&r->ctx->memory, (count + 1) * sizeof *names);
    if (!names)
        return NULL;
    for (const rlx_ast *a = call ? call->first : NULL; a; a = a->next)
        names[i++] = a->kind == RLX_AST_KEYWORD ? a->name->text->data : NULL;
    const rlx_sinfo *s = rlx_extension_read(
        r->ctx, k, (const rlx_node *const *)(r->stack.data + mark), names, count);
    rlx_mem_free(&r->ctx->memory, names, (count + 1) * sizeof *names);
    if (!s && rlx_error_count(r->ctx) == errors)
        rlx_read_error_at(r, RLX_PA12, call ? call->begin : 0, call ? call->end : 0,
                          "R.%.*s does not take these arguments", (int)k->row.name.len,
                          k->row.name.data);
    return s;
}

static enum rlx_step count_info(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    (void)via;
    *(size_t *)user += parent && rlx_family_of(n) == RLX_FAMILY_SINFO;
    return RLX_STEP_ON;
}

/* The host puts struct info among the operands where it likes: all of it is where the whole is. */
static bool place_parts(rlx_reader *r, const rlx_ast *at, const rlx_sinfo *s)
{
    size_t parts = 0;
    bool lost = false, good = true;
    rlx_walker w = { .enter = count_info, .user = &parts };
    rlx_walk(&r->ctx->memory, s, &w, &lost);
    while (parts-- && good)
        good = push_place(r, at);
    return good && !lost;
}

static const rlx_sinfo *read_by_host(rlx_reader *r, const rlx_extension_kind *k,
                                     const rlx_ast *call)
{
    size_t mark = r->stack.len, places = r->annotation.places.len;
    bool good = true;
    for (const rlx_ast *a = call ? call->first : NULL; a && good; a = a->next)
        good = push_node(r, read_operand(r, a->kind == RLX_AST_KEYWORD ? a->base : a));
    const rlx_sinfo *s = good ? ask_host(r, k, call, mark) : NULL;
    r->stack.len = mark;
    r->annotation.places.len = places;
    return s && (!call || place_parts(r, call, s)) ? s : NULL;
}

static const rlx_sinfo *read_host(rlx_reader *r, const rlx_extension_kind *k, const rlx_ast *call)
{
    size_t mark = r->stack.len;
    const rlx_sinfo *s = NULL;
    if (k->read)
        return read_by_host(r, k, call);
    if (read_operands(r, k, call))
        s = rlx_extension_info(r->ctx, rlx_string_intern(r->ctx, k->row.name),
                               (const rlx_node *const *)(r->stack.data + mark),
                               r->stack.len - mark);
    r->stack.len = mark;
    return s;
}

/* ---- older spellings ------------------------------------------------------------------------ */

/* R.Tensor[(n, k), "float32"], R.Tensor[_, _] */
static const rlx_sinfo *older_tensor(rlx_reader *r, const rlx_ast *a)
{
    const rlx_ast *slot[4] = { NULL };
    const rlx_ast *i = a->first;
    rlx_read_note(r, a, "R.Tensor[...] is an older spelling of R.Tensor(...)");
    if (a->count > 2)
        return rlx_read_error(r, RLX_PA17, a, "R.Tensor[...] takes a shape and a dtype"), NULL;
    for (size_t k = 0; i; i = i->next, k++)
        if (!(i->kind == RLX_AST_NAME && rlx_slice_is(rlx_string_slice(i->name->text), "_")))
            slot[k] = i;
    return tensor_info(r, slot);
}

/* R.Func(args=[A], ret=B) */
static const rlx_sinfo *older_func(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[4] = { NULL };
    rlx_read_note(r, call, "R.Func(...) is an older spelling of R.Callable(...)");
    size_t mark = r->stack.len;
    if (!rlx_bind_args(r, call, "R.Func", RLX_PARAMS("args", "ret"), 2, slot))
        return NULL;
    bool ok = is_list(slot[0]) ? read_infos(r, slot[0]) : push_node(r, rlx_read_sinfo(r, slot[0]));
    const rlx_sinfo *ret = ok ? rlx_read_sinfo(r, slot[1]) : NULL;
    const rlx_sinfo *s =
        ret ? rlx_func_info(r->ctx, NULL, 0, (const rlx_sinfo *const *)(r->stack.data + mark),
                            r->stack.len - mark, ret, true)
            : NULL;
    r->stack.len = mark;
    return s;
}

static const rlx_sinfo *older_index(rlx_reader *r, const rlx_ast *a, rlx_slice name)
{
    if (rlx_slice_is(name, "Tensor"))
        return older_tensor(r, a);
    if (rlx_slice_is(name, "Tuple")) {
        rlx_read_note(r, a, "R.Tuple[...] is an older spelling of R.Tuple(...)");
        return read_tuple(r, a);
    }
    return rlx_read_error(r, RLX_PA17, a, "R.%.*s takes its parts in parentheses", (int)name.len,
                          name.data),
           NULL;
}

/* ---- annotations by their text -------------------------------------------------------------- */

/* One slot of a direct-mapped table. places: relative to the text's begin. */
typedef struct rlx_known_annotation {
    uint32_t begin, len, epoch;
    uint32_t num_places;
    const rlx_sinfo *sinfo;
    const uint32_t *places;   /* begin and length of each part, alternating */
} rlx_known_annotation;

/* The value of a node that stands for a known annotation; such nodes are marked. The slot may be
 * taken by another one before this is looked at. */
enum { IS_KNOWN = 1 };
typedef struct known_value {
    rlx_val value;
    uint32_t num_places;
    const uint32_t *places;
} known_value;
typedef struct known_ast { rlx_ast ast; known_value known; } known_ast;

static rlx_known_annotation *slot_of(rlx_reader *r, uint32_t begin, uint32_t len)
{
    uint64_t hash = rlx_hash_bytes(r->parser.lexer.text + begin, len);
    return &r->cache.annotations[hash & (r->cache.slots - 1)];
}

rlx_ast *rlx_known_annotation_at(rlx_reader *r, uint32_t begin, uint32_t end)
{
    const char *text = r->parser.lexer.text;
    if (!r->cache.annotations || r->unit.dialect != RLX_DIALECT_RELAX)
        return NULL;
    const rlx_known_annotation *k = slot_of(r, begin, end - begin);
    if (!k->sinfo || k->epoch != r->cache.epoch || k->len != end - begin ||
        memcmp(text + k->begin, text + begin, k->len) != 0)
        return NULL;
    known_ast *a = rlx_region_alloc(&r->parser.region, sizeof *a);
    if (!a)
        return NULL;
    a->known = (known_value){
        .value = { .kind = RLX_VAL_SINFO, .begin = begin, .end = end, .node = k->sinfo },
        .num_places = k->num_places,
        .places = k->places
    };
    a->ast = (rlx_ast){ .kind = RLX_AST_VALUE,
                        .op = IS_KNOWN,
                        .begin = begin,
                        .end = end,
                        .value = &a->known.value };
    return &a->ast;
}

static bool is_known(const rlx_ast *a)
{
    return a->kind == RLX_AST_VALUE && a->op == IS_KNOWN;
}

static rlx_place known_place(const rlx_reader *r, const known_value *k, uint32_t i)
{
    return rlx_place_make(r->text.source, k->value.begin + k->places[2 * i], k->places[2 * i + 1]);
}

static bool push_known_places(rlx_reader *r, const rlx_ast *a)
{
    const known_value *k = (const known_value *)a->value;
    for (uint32_t i = 0; i < k->num_places; i++)
        if (!rlx_vec_push(&r->ctx->memory, &r->annotation.places, known_place(r, k, i)))
            return false;
    return true;
}

/* ---- any annotation ------------------------------------------------------------------------- */

static const char *kind_at(void *user, size_t i) { return kinds[i].name; }

static const rlx_sinfo *unknown_kind(rlx_reader *r, const rlx_ast *a, const rlx_word *path)
{
    const char *near =
        rlx_nearest(r, rlx_string_slice(path->text), kind_at, NULL, RLX_COUNT(kinds));
    return rlx_read_error(r, RLX_PA17, a, "R.%s is not an annotation%s%s", path->text->data,
                          near ? "; did you mean R." : "", near ? near : ""),
           NULL;
}

static const rlx_sinfo *by_name(rlx_reader *r, const rlx_ast *a, const rlx_word *path,
                                const rlx_ast *call)
{
    rlx_slice name = rlx_string_slice(path->text);
    if (a->kind == RLX_AST_INDEX)
        return older_index(r, a, name);
    if (call && rlx_slice_is(name, "Func"))
        return older_func(r, call);
    for (size_t i = 0; i < RLX_COUNT(kinds); i++) {
        if (rlx_slice_is(name, kinds[i].name))
            return kinds[i].read(r, call);
    }
    const rlx_extension_kind *host = rlx_extension_kind_find(r->ctx, name);
    return host ? read_host(r, host, call) : unknown_kind(r, a, path);
}

const rlx_sinfo *rlx_read_sinfo(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    rlx_dtype t;
    if (is_known(a))
        return push_known_places(r, a) ? a->value->node : NULL;
    if (!push_place(r, a))
        return NULL;
    if (a->kind == RLX_AST_NONE)
        return rlx_tuple_info(r->ctx, NULL, 0);
    bool applied = a->kind == RLX_AST_CALL || a->kind == RLX_AST_INDEX;
    if (applied && a->base->kind == RLX_AST_ATTR) {
        if (!rlx_read_value(r, a->base, &v))
            return NULL;
        if (v.kind == RLX_VAL_FUNC && v.sub == RLX_SPACE_R)
            return by_name(r, a, v.fn.path, a->kind == RLX_AST_CALL ? a : NULL);
        if (v.kind == RLX_VAL_FUNC && v.sub == RLX_SPACE_I && !a->count &&
            rlx_slice_is(rlx_string_slice(v.fn.path->text), "StringType"))
            return r->ctx->object; /* newer: what a string is */
    }
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_SINFO)
        return v.node;
    if (v.kind == RLX_VAL_FUNC && v.sub == RLX_SPACE_R)
        return by_name(r, a, v.fn.path, NULL);
    if (v.kind != RLX_VAL_FUNC)
        return rlx_read_error(r, RLX_PA17, a, "an annotation is expected, found %s%s", rlx_val_text(&v),
                              (v.kind == RLX_VAL_TUPLE || v.kind == RLX_VAL_LIST) && v.list.count &&
                                      v.list.items[0].kind == RLX_VAL_SINFO
                                  ? ": write R.Tuple(...)"
                              : v.kind == RLX_VAL_TUPLE || v.kind == RLX_VAL_LIST
                                  ? ": write R.Tensor((2, 3), \"float32\"), or R.Shape([2, 3]) for a shape itself"
                              : v.kind == RLX_VAL_EXPR
                                  ? ": write what it is, as R.Tensor((4,), \"float32\")"
                              : v.kind == RLX_VAL_BUILTIN
                                  ? ": write R.Tensor((), \"float32\"), or R.Prim(\"int64\") for a number that is no tensor"
                                  : ""),
               NULL;
    if (v.sub != RLX_SPACE_T)
        return rlx_unknown_function(r, v.sub, (rlx_word *)v.fn.path, a), NULL;
    if (!rlx_to_dtype(r, a, &v, &t))
        return NULL;
    return rlx_prim_info(r->ctx, t, NULL);
}

/* ---- annotations of bindings ---------------------------------------------------------------- */

/* Annotations are remembered by their text. Worth: without that reading 20,000 bindings
 * (bench/gen_module.py big) takes 11,300 instructions for a binding instead of 9,000 (callgrind).
 * One that depends on more than the names in its text (Relax variables, open scopes) is not
 * remembered. */
static bool can_remember_part(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (t)
        return !t->shape || rlx_as_shape_expr(t->shape);
    return rlx_as_object_sinfo(s) || rlx_as_shape_sinfo(s) || rlx_as_prim_sinfo(s);
}

static bool can_remember(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    for (size_t i = 0; t && i < t->num_fields; i++)
        if (!can_remember_part(t->fields[i]))
            return false;
    return t || can_remember_part(s);
}

static void remember(rlx_reader *r, const rlx_ast *a, const rlx_sinfo *s, const rlx_place *places,
                     size_t count)
{
    rlx_known_annotation **all = &r->cache.annotations;
    if (!*all && !(*all = rlx_region_zero(&r->module.kept, r->cache.slots * sizeof **all)))
        return;
    uint32_t len = a->end - a->begin;
    if (memchr(r->parser.lexer.text + a->begin, '\n', len))
        return; /* lines are counted while they are read */
    rlx_known_annotation *k = slot_of(r, a->begin, len);
    uint32_t *relative = rlx_region_alloc(&r->module.kept, 2 * count * sizeof *relative);
    if (!relative)
        return; /* nothing is lost */
    for (size_t i = 0; i < count; i++) {
        relative[2 * i] = rlx_place_begin(places[i]) - a->begin;
        relative[2 * i + 1] = rlx_place_len(places[i]);
    }
    *k = (rlx_known_annotation){ a->begin, len, r->cache.epoch, (uint32_t)count, s, relative };
}

/* The struct info that rlx_annotation_of gives for text that is known. */
static const rlx_sinfo *known_annotation(rlx_reader *r, const rlx_ast *a,
                                         const rlx_place **places, size_t *num_places)
{
    const known_value *k = (const known_value *)a->value;
    rlx_place *copy = rlx_region_array(&r->parser.region, k->num_places, sizeof *copy);
    for (uint32_t i = 0; copy && i < k->num_places; i++)
        copy[i] = known_place(r, k, i);
    *places = copy;
    *num_places = k->num_places;
    return copy ? a->value->node : NULL;
}

const rlx_sinfo *rlx_annotation_of(rlx_reader *r, const rlx_ast *a, const rlx_word *name,
                                   const rlx_place **places, size_t *num_places)
{
    if (is_known(a))
        return known_annotation(r, a, places, num_places);
    size_t mark = r->annotation.places.len, diags = r->ctx->diags.num_diags;
    r->annotation.variable = name;
    const rlx_sinfo *s = rlx_read_sinfo(r, a);
    r->annotation.variable = NULL;
    *num_places = r->annotation.places.len - mark;
    *places =
        rlx_region_copy(&r->parser.region, r->annotation.places.data + mark,
                        *num_places * sizeof **places);
    r->annotation.places.len = mark;
    if (!*places)
        return NULL;
    if (s && can_remember(s) && diags == r->ctx->diags.num_diags && *num_places)
        remember(r, a, s, *places, *num_places);
    return s;
}
