/* test_rows.c: names, parameters, printed attributes and defaults against the surface of
 * TVMScript; calls made from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "op/op.h"

/* Names (several share a signature), parameters in order with defaults of attributes, printed
 * attributes in order. */
static const struct { const char *names, *params, *printed;
} surface[] = {
    { "add subtract multiply divide floor_divide power mod floor_mod", "x1 x2", "" },
    { "equal greater greater_equal less less_equal not_equal maximum minimum", "x1 x2", "" },
    { "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift "
      "right_shift",
      "x1 x2", "" },
    { "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh exp floor log logical_not "
      "negative round",
      "x", "" },
    { "rsqrt sigmoid sign sin sinh square sqrt tan tanh erf isfinite isinf isnan", "x", "" },
    { "clip", "x min max", "" },
    { "ewise_fma", "x1 x2 x3", "" },
    { "where", "condition x1 x2", "" },
    { "full", "shape fill_value dtype=void", "dtype" },
    { "full_like", "x fill_value dtype=void", "dtype" },
    { "ones zeros", "shape dtype", "dtype" },
    { "ones_like zeros_like", "x dtype=void", "dtype" },
    { "eye", "n m k dtype=float32", "dtype" },
    { "eye_like", "x k dtype=void", "dtype" },
    { "arange", "start end step dtype=void", "dtype" },
    { "tril triu", "x k", "" },
    { "astype", "x dtype", "dtype" },
    { "wrap_param", "data dtype=float32", "dtype" },
    { "take", "x indices axis=None mode=fast", "axis mode" },
    { "strided_slice", "x axes begin end strides assume_inbound=False", "assume_inbound" },
    { "dynamic_strided_slice", "x begin end strides", "" },
    { "matmul", "x1 x2 out_dtype=void", "out_dtype" },
    { "einsum", "operands subscripts", "subscripts" },
    { "broadcast_to reshape", "x shape", "" },
    { "concat", "tensors axis=0", "axis" },
    { "expand_dims", "x axis", "axis" },
    { "flatten", "x", "" },
    { "layout_transform", "x index_map pad_value=None axis_separators=[] input_axis_separators=[]",
      "index_map pad_value axis_separators input_axis_separators" },
    { "permute_dims", "x axes=None", "axes" },
    { "split", "x indices_or_sections axis=0", "indices_or_sections axis" },
    { "squeeze", "x axis=None", "axis" },
    { "collapse_sum_like", "data collapse_target", "" },
    { "collapse_sum_to", "data shape", "" },
    { "repeat", "data repeats axis=None", "repeats axis" },
    { "tile", "data repeats", "repeats" },
    { "flip", "data axis", "axis" },
    { "gather_elements", "data indices axis=0", "axis" },
    { "gather_nd", "data indices batch_dims=0", "batch_dims" },
    { "scatter_elements", "data indices updates axis=0 reduction=update", "axis reduction" },
    { "scatter_nd", "data indices updates reduction=update", "reduction" },
    { "one_hot", "indices on_value off_value depth axis=-1", "depth axis" },
    { "sum mean prod max min std variance", "x axis=None keepdims=False", "axis keepdims" },
    { "cumsum cumprod", "data axis=None dtype=void exclusive=False", "axis dtype exclusive" },
    { "argmax argmin", "x axis=None keepdims=False", "axis keepdims" },
    { "sort", "x axis=-1 descending=False", "axis descending" },
    { "argsort", "data axis=-1 descending=False dtype=int32", "axis descending dtype" },
    { "topk", "data k=1 axis=-1 ret_type=both largest=True dtype=int32",
      "k axis ret_type largest dtype" },
    { "unique", "x sorted return_index return_inverse return_counts axis", "" },
    { "multinomial_from_uniform", "prob uniform_sample sample_indices dtype=int64", "dtype" },
    { "quantize", "data scale zero_point axis=-1 out_dtype=int8", "out_dtype axis" },
    { "dequantize", "data scale zero_point axis=-1 out_dtype=float32", "out_dtype axis" },
    { "vision.dynamic_non_max_suppression",
      "boxes scores max_output_boxes_per_class iou_threshold score_threshold center_point_box=False",
      "center_point_box" },
    { "nn.deformable_conv2d",
      "data offset weight mask strides=[1] padding=[0] dilation=[1] deformable_groups=1 groups=1 "
      "data_layout=NCHW kernel_layout=OIHW out_layout=None out_dtype=void",
      "strides padding dilation deformable_groups groups data_layout kernel_layout out_layout "
      "out_dtype" },
    { "nn.max_pool2d_with_indices",
      "data pool_size=[1] strides=[1] padding=[0] dilation=[1] ceil_mode=False "
      "count_include_pad=False layout=NCHW out_layout=None column_major=False",
      "pool_size strides dilation padding ceil_mode count_include_pad layout out_layout "
      "column_major" },
    { "image.resize2d",
      "data size roi=[0.0, 0.0, 0.0, 0.0] layout=NCHW method=linear "
      "coordinate_transformation_mode=half_pixel rounding_method=round "
      "cubic_alpha=-0.5 cubic_exclude=0 extrapolation_value=0.0 out_dtype=void",
      "roi layout method coordinate_transformation_mode rounding_method cubic_alpha cubic_exclude "
      "extrapolation_value out_dtype" },
    { "nn.conv1d",
      "data weight strides=[1] padding=[0] dilation=[1] groups=1 data_layout=NCW "
      "kernel_layout=OIW out_layout=None out_dtype=void",
      "strides padding dilation groups data_layout kernel_layout out_layout out_dtype" },
    { "nn.conv2d",
      "data weight strides=[1] padding=[0] dilation=[1] groups=1 data_layout=NCHW "
      "kernel_layout=OIHW out_layout=None out_dtype=void",
      "strides padding dilation groups data_layout kernel_layout out_layout out_dtype" },
    { "nn.conv3d",
      "data weight strides=[1] padding=[0] dilation=[1] groups=1 data_layout=NCDHW "
      "kernel_layout=OIDHW out_layout=None out_dtype=void",
      "strides padding dilation groups data_layout kernel_layout out_layout out_dtype" },
    { "nn.conv1d_transpose",
      "data weight strides=[1] padding=[0] output_padding=[0] dilation=[1] groups=1 "
      "data_layout=NCW kernel_layout=IOW out_layout=None out_dtype=void",
      "strides padding output_padding dilation groups data_layout kernel_layout out_layout "
      "out_dtype" },
    { "nn.conv2d_transpose",
      "data weight strides=[1] padding=[0] output_padding=[0] dilation=[1] groups=1 "
      "data_layout=NCHW kernel_layout=IOHW out_layout=None out_dtype=void",
      "strides padding output_padding dilation groups data_layout kernel_layout out_layout "
      "out_dtype" },
    { "nn.pad", "data pad_width pad_mode=constant pad_value=0.0", "pad_width pad_value pad_mode" },
    { "nn.max_pool1d nn.avg_pool1d",
      "data pool_size=[1] strides=[1] padding=[0] dilation=[1] ceil_mode=False "
      "count_include_pad=False layout=NCW out_layout=None",
      "pool_size strides dilation padding ceil_mode count_include_pad layout out_layout" },
    { "nn.max_pool2d nn.avg_pool2d",
      "data pool_size=[1] strides=[1] padding=[0] dilation=[1] ceil_mode=False "
      "count_include_pad=False layout=NCHW out_layout=None",
      "pool_size strides dilation padding ceil_mode count_include_pad layout out_layout" },
    { "nn.max_pool3d nn.avg_pool3d",
      "data pool_size=[1] strides=[1] padding=[0] dilation=[1] ceil_mode=False "
      "count_include_pad=False layout=NCDHW out_layout=None",
      "pool_size strides dilation padding ceil_mode count_include_pad layout out_layout" },
    { "nn.adaptive_avg_pool1d", "data output_size=None layout=NCW out_layout=None",
      "output_size layout out_layout" },
    { "nn.adaptive_avg_pool2d", "data output_size=None layout=NCHW out_layout=None",
      "output_size layout out_layout" },
    { "nn.adaptive_avg_pool3d", "data output_size=None layout=NCDHW out_layout=None",
      "output_size layout out_layout" },
    { "nn.leakyrelu", "data alpha=0.01", "alpha" },
    { "nn.softmax nn.log_softmax", "data axis=-1", "axis" },
    { "nn.softplus", "data beta=1.0 threshold=20.0", "beta threshold" },
    { "nn.batch_norm",
      "data gamma beta moving_mean moving_var axis epsilon=1e-05 center=True scale=True "
      "momentum=0.1 training=True",
      "axis epsilon center scale momentum training" },
    { "nn.layer_norm", "data gamma beta axes epsilon=1e-05 center=True scale=True",
      "axes epsilon center scale" },
    { "nn.group_norm",
      "data gamma beta num_groups channel_axis axes epsilon=1e-05 center=True scale=True",
      "num_groups channel_axis axes epsilon center scale" },
    { "nn.rms_norm", "data weight axes=[-1] epsilon=1e-05", "axes epsilon" },
    { "nn.dropout", "data rate=0.5", "rate" },
    { "nn.lstm", "x weight state cell lengths backward=False", "backward" },
    { "nn.gru", "x weight state bias lengths backward=False", "backward" },
    { "nn.gru_reset_before", "x weight state bias candidate lengths backward=False", "backward" },
    { "nn.rnn", "x weight state lengths backward=False", "backward" },
    { "nn.cross_entropy_with_logits", "predictions labels", "" },
    { "nn.nll_loss", "predictions targets weights reduction=mean ignore_index=-100",
      "reduction ignore_index" },
    { "nn.attention", "query key value bias scale=None causal_mask=None window_size=None",
      "scale causal_mask window_size" },
    { "nn.attention_bias", "query key value bias scale=None causal_mask=None window_size=None",
      "scale causal_mask window_size" },
    { "nn.attention_var_len",
      "queries keys values seqstart_q max_seqlen_q seqstart_k max_seqlen_k scale=None "
      "causal_mask=None window_size=None",
      "scale causal_mask window_size" },
    { "grad.no_grad grad.start_checkpoint grad.end_checkpoint", "input", "" },
    { "grad.nll_loss_backward",
      "output_grad predictions targets weights reduction=mean ignore_index=-100",
      "reduction ignore_index" },
    { "grad.take_backward", "output_grad x indices axis=None mode=fast", "axis mode" },
    { "ccl.allreduce", "x op_type=sum in_group=True", "op_type in_group" },
    { "ccl.allgather", "x num_workers in_group=True", "num_workers in_group" },
    { "ccl.broadcast_from_worker0", "x", "" },
    { "ccl.scatter_from_worker0", "x num_workers axis=0", "num_workers axis" },
    { "builtin.alloc_tensor", "shape dtype runtime_device_index storage_scope", "" },
    { "builtin.stop_lift_params memory.ensure_zero_offset", "x", "" },
    { "memory.alloc_storage", "size virtual_device_index storage_scope dtype", "" },
    { "memory.alloc_tensor vm.alloc_tensor", "storage offset shape dtype", "" },
    { "memory.view", "data shape dtype relative_byte_offset", "" },
    { "vm.alloc_storage", "shape runtime_device_index dtype storage_scope", "" },
    { "vm.kill_object", "obj", "" },
    { "vm.call_tir_dyn", "func args", "" },
    { "call_tir", "gvar args out_sinfo tir_vars", "" },
    { "call_tir_inplace", "gvar args inplace_indices out_sinfo tir_vars", "inplace_indices" },
    { "call_tir_with_grad", "gvar args out_sinfo te_grad_name te_grad_kwargs={} tir_vars",
      "te_grad_name te_grad_kwargs" },
    { "call_dps_packed", "func args out_sinfo", "" },
    { "call_pure_packed call_builtin_with_ctx", "func args sinfo_args", "" },
    { "call_inplace_packed", "func args inplace_indices sinfo_args", "inplace_indices" },
    { "make_closure", "func args", "" },
    { "invoke_closure invoke_pure_closure", "closure args sinfo_args", "" },
    { "print", "values format", "" },
    { "assert_op", "condition format_args format", "" },
    { "to_vdevice", "data dst_vdevice", "dst_vdevice" },
    { "null_value", "", "" },
};

static const rlx_op_attr *attr_named(const rlx_op_row *row, const char *name, size_t len)
{
    for (size_t i = 0; i < row->num_attrs; i++)
        if (strlen(row->attrs[i].name) == len && memcmp(row->attrs[i].name, name, len) == 0)
            return &row->attrs[i];
    return NULL;
}

static void put(char *out, size_t room, const char *name, size_t len, const rlx_op_attr *a)
{
    size_t at = strlen(out);
    snprintf(out + at, room - at, "%s%.*s%s%s", at ? " " : "", (int)len, name,
             a && a->deflt ? "=" : "", a && a->deflt ? a->deflt : "");
}

/* Parameters of the TVMScript function as the row has them. */
static void params_of(const rlx_op_row *row, char *out, size_t room)
{
    out[0] = 0;
    for (const char *p = row->params; p && *p; p += *p == ' ') {
        size_t len = strcspn(p, " ");
        put(out, room, p, len, attr_named(row, p, len));
        p += len;
    }
    for (size_t i = 0; !row->params && i < row->num_args; i++)
        put(out, room, row->args[i].name, strlen(row->args[i].name), NULL);
    for (size_t i = 0; !row->params && i < row->num_attrs; i++)
        put(out, room, row->attrs[i].name, strlen(row->attrs[i].name), &row->attrs[i]);
}

static void check_surface(const char *name, size_t len, const char *params, const char *printed)
{
    char full[64], have[1024], attrs[512] = "";
    snprintf(full, sizeof full, "R.%.*s", (int)len, name);
    const rlx_op_row *row = rlx_op_find(rlx_slice_z(full));
    if (!row)
        fail_msg("no row for %s", full);
    assert_ptr_equal(row, rlx_op_find(rlx_slice_z(full + 2)));
    assert_string_equal(row->short_name, full + 2);
    params_of(row, have, sizeof have);
    if (strcmp(have, params))
        fail_msg("%s takes (%s), expected (%s)", full, have, params);
    for (size_t i = 0; i < row->num_attrs; i++)
        put(attrs, sizeof attrs, row->attrs[i].name, strlen(row->attrs[i].name), NULL);
    if (strcmp(attrs, printed))
        fail_msg("%s prints (%s), expected (%s)", full, attrs, printed);
}

static void spelling(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(surface); i++)
        for (const char *p = surface[i].names; *p; p += *p == ' ') {
            size_t len = strcspn(p, " ");
            check_surface(p, len, surface[i].params, surface[i].printed);
            p += len;
        }
}

/* What every row must have for the parser, the tool and the documents to work. */
static void rows_are_complete(void **state)
{
    size_t n = 0, rows_of_id[RLX_OP_ID_COUNT] = { 0 };
    for (const rlx_op_row *row; (row = rlx_op_at(n)) != NULL; n++) {
        rows_of_id[row->id]++;
        assert_true(strncmp(row->name, "relax.", 6) == 0);
        assert_string_equal(row->name + 6, row->short_name);
        assert_ptr_equal(rlx_op_find(rlx_slice_z(row->name)), row);
        assert_true(row->help && row->help[0] && row->help[strlen(row->help) - 1] != '.');
        assert_non_null(row->infer);
        assert_true(row->min_args <= row->num_args);
        if (!(row->flags & RLX_OP_VARARGS))
            assert_true(row->num_args <= RLX_OP_MAX_ARGS);
        for (size_t i = 0; i < row->num_attrs; i++)
            assert_true(row->attrs[i].name && row->attrs[i].help && row->attrs[i].help[0]);
    }
    for (size_t id = RLX_OP_ID_NONE + 1; id < RLX_OP_ID_COUNT; id++)
        assert_int_equal(rows_of_id[id], 1);
    assert_true(n > 190);
    assert_null(rlx_op_at(n + 1));
}

static void finding(void **state)
{
    static const char *const unknown[] = {
        "",   "relax", "relax.",      "R.", "ad", "adda", "relax.relax.add",
        "nn", "nn.",   "call_packed", "Add"
    };
    for (size_t i = 0; i < RLX_COUNT(unknown); i++)
        assert_null(rlx_op_find(rlx_slice_z(unknown[i])));
    assert_null(rlx_op_find((rlx_slice){ NULL, 0 }));
    assert_string_equal(rlx_op_suggest(NULL, RLX_SLICE("R.nn.sofmax")), "nn.softmax");
    assert_string_equal(rlx_op_suggest(NULL, RLX_SLICE("matmull")), "matmul");
    assert_null(rlx_op_suggest(NULL, RLX_SLICE("a_name_like_no_operator_at_all")));
}

/* ---- calls ---------------------------------------------------------------------------------- */

static rlx_context *fresh(void)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    ctx->ops = rlx_op_table_get();
    return ctx;
}

static const rlx_expr *tensor(rlx_context *ctx, int64_t a, int64_t b)
{
    int64_t shape[2] = { a, b };
    return &rlx_var_new(ctx, false, rlx_string_z(ctx, "x"), -1,
                        rlx_tensor_ints(ctx, shape, 2, RELAX_FLOAT32), RLX_NO_PLACE)
                ->node;
}

static const rlx_attr *one(rlx_context *ctx, const char *name, const rlx_attr *value)
{
    const rlx_attr *key = rlx_attr_string_new(ctx, rlx_slice_z(name));
    return rlx_attrs_new(ctx, &key, &value, 1);
}

/* A call with one attribute given: every other has its default, this one its declared type; or
 * the code of the error. */
static const struct { const char *op, *attr, *value, *want;
} conversions[] = {
    { "nn.softmax", "axis", "1", "axis=1" },
    { "nn.softmax", "axis", "true", "axis=1" },
    { "nn.softmax", "axis", "text", "OP12" },
    { "nn.softmax", "axes", "1", "OP07" },
    { "sum", "axis", "1", "axis=[1] keepdims=False" },
    { "sum", "axis", "none", "axis=None keepdims=False" },
    { "sum", "axis", "list", "axis=[0, 1] keepdims=False" },
    { "sum", "axis", "float", "OP12" },
    { "sum", "keepdims", "1", "axis=None keepdims=True" },
    { "sum", "keepdims", "list", "OP12" },
    { "astype", "dtype", "int8", "dtype=int8" },
    { "astype", "dtype", "text", "OP12" },
    { "astype", NULL, NULL, "OP13" },
    { "zeros_like", NULL, NULL, "dtype=void" },
    { "zeros_like", "dtype", "none", "dtype=void" },
    { "nn.leakyrelu", "alpha", "1", "alpha=1.0" },
    { "nn.leakyrelu", "alpha", "float", "alpha=0.5" },
    { "argmax", "axis", "none", "axis=None keepdims=False" },
    { "argmax", "axis", "list", "OP12" },
    { "split", "indices_or_sections", "1", "indices_or_sections=1 axis=0" },
    { "split", "indices_or_sections", "list", "indices_or_sections=[0, 1] axis=0" },
    { "nn.max_pool2d", "pool_size", "1",
      "pool_size=[1, 1] strides=[1, 1] dilation=[1, 1] padding=[0, 0, 0, 0] ceil_mode=False "
      "count_include_pad=False layout=NCHW out_layout=NCHW" },
    { "nn.max_pool2d", "padding", "list",
      "pool_size=[1, 1] strides=[1, 1] dilation=[1, 1] padding=[0, 1, 0, 1] ceil_mode=False "
      "count_include_pad=False layout=NCHW out_layout=NCHW" },
    { "nn.max_pool1d", "strides", "list", "OP12" },
    { "abs", "axis", "1", "OP07" },
};

static const rlx_attr *value_of(rlx_context *ctx, const char *v)
{
    const rlx_attr *items[2] = { rlx_attr_int_new(ctx, 0), rlx_attr_int_new(ctx, 1) };
    if (!strcmp(v, "1"))
        return rlx_attr_int_new(ctx, 1);
    if (!strcmp(v, "true"))
        return rlx_attr_bool_new(ctx, true);
    if (!strcmp(v, "none"))
        return rlx_attr_none(ctx);
    if (!strcmp(v, "float"))
        return rlx_attr_float_new(ctx, 0.5);
    return !strcmp(v, "list") ? rlx_attr_list_new(ctx, items, 2)
                              : rlx_attr_string_new(ctx, rlx_slice_z(v));
}

static void put_value(char *out, size_t room, const rlx_node *v)
{
    size_t at = strlen(out);
    char dtype[RLX_DTYPE_TEXT];
    const rlx_attr_list *list = rlx_as_attr_list(v);
    if (list) {
        snprintf(out + at, room - at, "[");
        for (size_t i = 0; i < list->num_items; i++) {
            put_value(out, room, list->items[i]);
            strncat(out, i + 1 < list->num_items ? ", " : "", room - strlen(out) - 1);
        }
        strncat(out, "]", room - strlen(out) - 1);
    } else if (rlx_is(v, RLX_NODE_ATTR_BOOL)) {
        snprintf(out + at, room - at, "%s", rlx_attr_as_bool(v, false) ? "True" : "False");
    } else if (rlx_as_attr_int(v)) {
        snprintf(out + at, room - at, "%lld", (long long)rlx_attr_as_int(v, 0));
    } else if (rlx_as_attr_float(v)) {
        snprintf(out + at, room - at, "%.1f", rlx_as_attr_float(v)->value);
    } else if (rlx_as_attr_string(v)) {
        snprintf(out + at, room - at, "%s", rlx_as_attr_string(v)->value->data);
    } else if (rlx_as_attr_dtype(v)) {
        rlx_dtype_name(rlx_attr_as_dtype(v), dtype);
        snprintf(out + at, room - at, "%s", dtype);
    } else {
        snprintf(out + at, room - at, "None");
    }
}

static void converting(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(conversions); i++) {
        rlx_context *ctx = fresh();
        char got[512] = "";
        const rlx_expr *x = tensor(ctx, 2, 3);
        const rlx_attr *given = conversions[i].attr ? one(ctx, conversions[i].attr,
                                                          value_of(ctx, conversions[i].value))
                                                    : NULL;
        const rlx_call *call =
            rlx_as_call(rlx_call_op_z(ctx, conversions[i].op, &x, 1, given, RLX_NO_PLACE));
        const rlx_attrs *a = call ? rlx_as_attrs(call->attrs) : NULL;
        for (size_t k = 0; a && k < a->num_keys; k++) {
            strncat(got, k ? " " : "", sizeof got - strlen(got) - 1);
            strncat(got, rlx_as_attr_string(a->keys[k])->value->data,
                    sizeof got - strlen(got) - 1);
            strncat(got, "=", sizeof got - strlen(got) - 1);
            put_value(got, sizeof got, a->values[k]);
        }
        if (!call)
            snprintf(got, sizeof got, "%s",
                     ctx->diags.first ? ctx->diags.first->code->name : "nothing");
        if (strcmp(got, conversions[i].want))
            fail_msg("%s(%s=%s) is %s, expected %s", conversions[i].op, conversions[i].attr,
                     conversions[i].value, got, conversions[i].want);
        rlx_context_release(ctx);
    }
}

static const char *code_of_call(rlx_context *ctx, const char *op, const rlx_expr *const *args,
                                size_t n)
{
    rlx_diags_clear(&ctx->diags);
    assert_null(rlx_call_op_z(ctx, op, args, n, NULL, RLX_NO_PLACE));
    return ctx->diags.first->code->name;
}

static void counting_arguments(void **state)
{
    rlx_context *ctx = fresh();
    const rlx_expr *x[4] = { tensor(ctx, 2, 3), tensor(ctx, 2, 3), tensor(ctx, 2, 3),
                             tensor(ctx, 2, 3) };
    assert_string_equal(code_of_call(ctx, "add", x, 1), "OP08");
    assert_string_equal(code_of_call(ctx, "add", x, 3), "OP08");
    assert_string_equal(code_of_call(ctx, "abs", x, 0), "OP08");
    assert_string_equal(code_of_call(ctx, "null_value", x, 1), "OP08");
    assert_string_equal(code_of_call(ctx, "nosuch", x, 1), "OP06");
    assert_non_null(rlx_call_op_z(ctx, "null_value", NULL, 0, NULL, RLX_NO_PLACE));
    rlx_context_release(ctx);
}

/* Arguments that may be left out. */
static void completing(void **state)
{
    rlx_context *ctx = fresh();
    const rlx_expr *x = tensor(ctx, 2, 3), *ten = rlx_prim_value_new(ctx, rlx_int64(ctx, 10));
    const rlx_call *call = rlx_as_call(rlx_call_op_z(ctx, "tril", &x, 1, NULL, RLX_NO_PLACE));
    assert_int_equal(call->num_args, 2);
    assert_ptr_equal(call->args[1], rlx_prim_value_new(ctx, rlx_int64(ctx, 0)));
    call = rlx_as_call(rlx_call_op_z(ctx, "arange", &ten, 1, NULL, RLX_NO_PLACE));
    assert_int_equal(call->num_args, 3);
    assert_ptr_equal(call->args[1], ten);
    assert_int_equal(rlx_attr_as_dtype(rlx_call_attr(call, "dtype")), RELAX_INT64);
    call = rlx_as_call(rlx_call_op_z(ctx, "memory.view", &x, 1, NULL, RLX_NO_PLACE));
    assert_int_equal(call->num_args, 4);
    const rlx_expr *sizes[2] = { ten, ten },
                   *args[2] = { x, rlx_tuple_new(ctx, sizes, 2, RLX_NO_PLACE) };
    call = rlx_as_call(rlx_call_op_z(ctx, "reshape", args, 2, NULL, RLX_NO_PLACE));
    assert_non_null(rlx_as_shape_expr(call->args[1]));
    rlx_context_release(ctx);
}

/* ---- failing allocations -------------------------------------------------------------------- */

typedef struct failing { size_t left; } failing;
static void *fail_alloc(void *user, size_t size, size_t align)
{
    failing *f = user;
    return f->left && --f->left ? aligned_alloc(align < 16 ? 16 : align, (size + 63) & ~(size_t)63)
                                : NULL;
}
static void *fail_resize(void *user, void *p, size_t old_size, size_t size, size_t align)
{
    void *q = fail_alloc(user, size, align);
    if (q && p)
        memcpy(q, p, old_size < size ? old_size : size), free(p);
    return q;
}
static void fail_free(void *user, void *p, size_t size, size_t align) { free(p); }

static void out_of_memory(void **state)
{
    bool done = false;
    for (size_t n = 1; !done; n++) {
        failing f = { n };
        relax_allocator host = { sizeof host, &f, fail_alloc, fail_resize, fail_free };
        rlx_context *ctx = rlx_context_create(&host, 0);
        if (!ctx)
            continue;
        ctx->ops = rlx_op_table_get();
        int64_t shape[2] = { 4, 1000 };
        const rlx_sinfo *s = rlx_tensor_ints(ctx, shape, 2, RELAX_FLOAT32);
        const rlx_string *name = s ? rlx_string_z(ctx, "x") : NULL;
        const rlx_var *x = name ? rlx_var_new(ctx, false, name, -1, s, RLX_NO_PLACE) : NULL;
        const rlx_expr *args[2] = { x ? &x->node : NULL,
                                    x ? rlx_shape_of_ints(ctx, (int64_t[]){ 8, -1 }, 2) : NULL };
        const rlx_call *call =
            args[1] ? rlx_as_call(rlx_call_op_z(ctx, "reshape", args, 2, NULL, RLX_NO_PLACE))
                    : NULL;
        const rlx_sinfo *r = call ? rlx_op_infer(ctx, NULL, NULL, call, false) : NULL;
        if (!r)
            assert_true(ctx->diags.out_of_memory);
        done = r != NULL;
        rlx_context_release(ctx);
        assert_true(n < 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spelling),      cmocka_unit_test(rows_are_complete),
        cmocka_unit_test(finding),       cmocka_unit_test(converting),
        cmocka_unit_test(completing),    cmocka_unit_test(counting_arguments),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("rows of operators", tests, NULL, NULL);
}
