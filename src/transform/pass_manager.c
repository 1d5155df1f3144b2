/* pass_manager.c: runs lists of passes in a scratch layer, so that a context does not grow with
 * their number. */
#include "transform/transform_int.h"
#include "analysis/well_formed.h"
#include <time.h>

/* ---- options -------------------------------------------------------------------------------- */

static const rlx_pass_option *find_option(const rlx_pass_row *row, rlx_slice name)
{
    for (size_t i = 0; i < row->num_options; i++)
        if (rlx_slice_is(name, row->options[i].name))
            return &row->options[i];
    return NULL;
}

static bool option_fits(uint8_t type, const rlx_attr *value)
{
    switch (type) {
    case RLX_ATTR_INT: return rlx_is(value, RLX_NODE_ATTR_INT);
    case RLX_ATTR_BOOL: return rlx_is(value, RLX_NODE_ATTR_BOOL);
    case RLX_ATTR_STRING: return rlx_is(value, RLX_NODE_ATTR_STRING);
    case RLX_ATTR_FLOAT:
        return rlx_is(value, RLX_NODE_ATTR_FLOAT) || rlx_is(value, RLX_NODE_ATTR_INT);
    default: return value != NULL;
    }
}

/* Every option given is one of the row and of its type; required ones are there. */
static bool check_options(rlx_context *ctx, const rlx_pass_row *row, const rlx_attr *given)
{
    const rlx_attrs *map = rlx_as_attrs(given);
    if (given && given->kind != RLX_NODE_ATTR_NULL && !map)
        return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE, "options of pass %s are no map", row->name),
               false;
    for (size_t i = 0; map && i < map->num_keys; i++) {
        const rlx_attr_string *key = rlx_as_attr_string(map->keys[i]);
        const rlx_pass_option *o = key ? find_option(row, rlx_string_slice(key->value)) : NULL;
        if (!o)
            return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE, "pass %s has no option %s", row->name,
                             key ? key->value->data : "of that kind"),
                   false;
        if (!option_fits(o->type, map->values[i]))
            return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE,
                             "option %s of pass %s has a value of the wrong kind", o->name,
                             row->name),
                   false;
    }
    for (size_t i = 0; i < row->num_options; i++)
        if (!row->options[i].deflt && !rlx_attrs_get(given, row->options[i].name))
            return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE, "pass %s needs option %s", row->name,
                             row->options[i].name),
                   false;
    return true;
}

int64_t rlx_pass_int(const rlx_pass_run *run, const char *name, int64_t otherwise)
{
    const rlx_attr_int *a = rlx_as_attr_int(rlx_attrs_get(run->options, name));
    return a ? a->value : otherwise;
}

rlx_slice rlx_pass_text(const rlx_pass_run *run, const char *name)
{
    const rlx_attr_string *a = rlx_as_attr_string(rlx_attrs_get(run->options, name));
    return a ? rlx_string_slice(a->value) : (rlx_slice){ NULL, 0 };
}

/* ---- running -------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec
                                                   : 0;
}

/* volatile: the sum is done before the environment of the host is back. */
static double seconds_since(int64_t begin)
{
    rlx_float_env host = rlx_float_enter();
    volatile double seconds = (double)(now_ns() - begin) * 1e-9;
    rlx_float_leave(host);
    return seconds;
}

static const char *step_name(const rlx_pass_step *step)
{
    return step->row ? step->row->name : step->host_name ? step->host_name : "host_pass";
}

/* Ours compute in our floating-point environment, those of the host in that of the host. */
static const rlx_module *call_pass(rlx_pass_run *run, rlx_pass_fn pass, bool is_ours,
                                   const rlx_module *m)
{
    if (!is_ours)
        return pass(run, m);
    rlx_float_env host = rlx_float_enter();
    const rlx_module *out = pass(run, m);
    rlx_float_leave(host);
    return out;
}

/* ---- what a pass needs ---------------------------------------------------------------------- */

static bool is_normal(rlx_context *ctx, const rlx_module *m)
{
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        if (f && f->body && !rlx_is_normal(ctx, f, false))
            return false;
    }
    return true;
}

/* What a lowering pass would have to look at. */
typedef struct left_over { bool operators, calls, dataflow; } left_over;

static void look_at(left_over *left, const rlx_body_frame *f, enum rlx_event_kind event)
{
    const rlx_op_row *row =
        event == RLX_EVENT_BIND ? rlx_callee_op(rlx_binding_value(f->at.binding)) : NULL;
    left->operators |= row && (row->lower || row->packed);
    left->calls |= row && row->flags & RLX_OP_SINFO_ARGS && row->flags & RLX_OP_NO_LOWER;
    left->dataflow |= event == RLX_EVENT_BLOCK && rlx_seq_cursor_in_dataflow(&f->at);
}

/* False: out of memory. */
static bool look_for_work(rlx_context *ctx, const rlx_module *m, left_over *left)
{
    rlx_body_walk walk = { 0 };
    enum rlx_event_kind event;
    bool ok = true;
    for (size_t i = 0; i < m->num_functions && ok; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        ok = !f || !f->body || rlx_body_begin(&walk, ctx, f->body);
        while (f && f->body && ok && (event = rlx_body_next(&walk)) != RLX_EVENT_DONE) {
            if (event == RLX_EVENT_VALUE)
                ok = rlx_body_into(&walk);
            else
                look_at(left, rlx_body_top(&walk), event);
        }
    }
    rlx_body_free(&walk);
    return ok;
}

/* A pass that lowers leaves alone what it has nothing to do for. */
static bool is_done(rlx_context *ctx, rlx_pass_fn pass, const rlx_module *m)
{
    rlx_pass_run run = { .ctx = ctx };
    return call_pass(&run, pass, true, m) == m;
}

/* The pass that the module has not been through as `row` needs it; NULL: none, or errors. Asked
 * of the module, however it came to be so. */
static const char *missing_pass(rlx_context *ctx, const rlx_module *m, const rlx_pass_row *row)
{
    left_over left = { false };
    if (row->stage >= RLX_PASS_NORMAL && !is_normal(ctx, m))
        return "normalize";
    if (row->stage < RLX_PASS_LOWERED || !look_for_work(ctx, m, &left))
        return NULL;
    if (left.operators && !is_done(ctx, rlx_pass_legalize_ops, m))
        return "legalize_ops";
    if ((left.calls || left.dataflow) && !is_done(ctx, rlx_pass_call_tir_rewrite, m))
        return "call_tir_rewrite";
    return NULL;
}

static bool meets_needs(rlx_context *ctx, const rlx_module *m, const rlx_pass_row *row)
{
    size_t errors = rlx_error_count(ctx);
    const char *missing = missing_pass(ctx, m, row);
    if (missing && rlx_error_count(ctx) == errors && !ctx->diags.out_of_memory) {
        rlx_error(ctx, RLX_OP21, RLX_NO_PLACE, "pass %s needs %s, found a module that %s changes",
                  row->name, row->needs, missing);
        rlx_note(ctx, RLX_NO_PLACE, "run pass %s first", missing);
    }
    return rlx_error_count(ctx) == errors && !ctx->diags.out_of_memory;
}

static const rlx_module *run_step(rlx_context *ctx, const rlx_module *m, const rlx_pass_step *step,
                                  uint8_t origin, bool defers)
{
    rlx_pass_run run = { ctx, step->options, step->host_user, defers };
    rlx_pass_fn pass = step->row ? step->row->run : step->host;
    size_t errors = rlx_error_count(ctx);
    uint8_t outer = ctx->origin;
    if (!pass)
        return rlx_error(ctx, RLX_OP10, RLX_NO_PLACE, "no pass named %s", step_name(step));
    if (step->row && !step->in_order && !meets_needs(ctx, m, step->row))
        return NULL;
    ctx->origin = origin;
    const rlx_module *out = call_pass(&run, pass, step->row != NULL, m);
    ctx->origin = outer;
    if (rlx_error_count(ctx) > errors)
        return NULL;
    if (!out)
        return rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "pass %s failed without saying why",
                         step_name(step));
    return out;
}

static bool verify(rlx_context *ctx, const rlx_module *m, const char *pass)
{
    rlx_float_env host = rlx_float_enter();
    bool formed = rlx_well_formed(ctx, m, RLX_STAGE_NORMAL);
    rlx_float_leave(host);
    if (formed)
        return true;
    rlx_note(ctx, RLX_NO_PLACE, "the module was like this after pass %s", pass);
    return false;
}

static bool wants_verify(const rlx_pass_hooks *hooks)
{
#ifdef RLX_DEBUG
    return true;
#else
    return hooks && hooks->verify;
#endif
}

/* The list, in whatever layer is the top. compact: the layer is ours to empty; after the last
 * step its end does that. */
static const rlx_module *run_steps(rlx_context *ctx, const rlx_module *m,
                                   const rlx_pass_step *steps, const uint8_t *origins,
                                   size_t count, const rlx_pass_hooks *hooks, bool compact)
{
    bool timed = hooks && hooks->after;
    for (size_t i = 0; m && i < count; i++) {
        int64_t begin = timed ? now_ns() : 0;
        const rlx_module *out = run_step(ctx, m, &steps[i], origins[i], hooks && hooks->defers);
        bool changed = out != m;
        if (!out || (changed && wants_verify(hooks) && !verify(ctx, out, step_name(&steps[i]))))
            return NULL;
        if (timed)
            hooks->after(hooks->user, step_name(&steps[i]), out, seconds_since(begin), changed);
        m = changed && compact && i + 1 < count
                ? (const rlx_module *)rlx_scratch_compact(ctx, &out->node)
                : out;
    }
    return m;
}

/* Numbers of the passes as nodes carry them; made before scratch begins, so that names stay. */
static bool number_steps(rlx_context *ctx, const rlx_pass_step *steps, size_t count,
                         uint8_t *origins)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = step_name(&steps[i]);
        if (!steps[i].row) {
            const rlx_string *kept = rlx_string_z(ctx, name);
            if (!kept)
                return false;
            name = kept->data;
        }
        origins[i] = rlx_context_origin(ctx, name);
        if (steps[i].row && !check_options(ctx, steps[i].row, steps[i].options))
            return false;
    }
    return true;
}

const rlx_module *rlx_run_passes(rlx_context *ctx, const rlx_module *m, const rlx_pass_step *steps,
                                 size_t count, const rlx_pass_hooks *hooks)
{
    const rlx_module *out = NULL;
    if (!m || !count)
        return m;
    uint8_t *origins = rlx_mem_alloc_zero(&ctx->memory, count);
    if (!origins)
        return NULL;
    if (!number_steps(ctx, steps, count, origins))
        goto done;
    /* A list run from inside a pass works in the layer of the outer one. */
    if (ctx->top > 0) {
        out = run_steps(ctx, m, steps, origins, count, hooks, false);
        goto done;
    }
    if (!rlx_scratch_begin(ctx))
        goto done;
    out = run_steps(ctx, m, steps, origins, count, hooks, true);
    out = (const rlx_module *)rlx_scratch_end(ctx, out ? &out->node : NULL);
done:
    rlx_mem_free(&ctx->memory, origins, count);
    return rlx_module_made_of(out, m);
}
