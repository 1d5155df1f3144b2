/* wf_scope.c: which variables and shape variables are in scope, and what their uses and
 * bindings violate. */
#include "analysis/wf_int.h"

#define MEMORY(w) (&(w)->ctx->memory)

rlx_finding *rlx_wf_found(rlx_wf *w, enum rlx_code_id code, enum rlx_wf_detail detail,
                          rlx_place place, const rlx_node *a)
{
    rlx_finding f = { .code = (uint16_t)code, .detail = (uint8_t)detail, .place = place, .a = a,
                      .in = w->walking ? w->function : UINT32_MAX, .binding = w->binding };
    return rlx_vec_push(MEMORY(w), &w->findings, f) ? &rlx_vec_last(&w->findings) : NULL;
}

/* ---- variables ------------------------------------------------------------------------------ */

static rlx_wf_var *var_info(rlx_wf *w, const rlx_var *v, enum rlx_wf_state state)
{
    uintptr_t at;
    if (rlx_id_map_find(&w->var_at, &v->node, &at))
        return &w->vars.data[at];
    rlx_wf_var info = { .var = v, .state = (uint8_t)state, .function = UINT32_MAX };
    at = w->vars.len;
    if (!rlx_vec_push(MEMORY(w), &w->vars, info) || !rlx_id_map_put(&w->var_at, &v->node, at))
        return NULL;
    return &w->vars.data[at];
}

void rlx_wf_own_value(rlx_wf *w, const rlx_var *v) { var_info(w, v, RLX_WF_OWN); }

bool rlx_wf_var_is_open(const rlx_wf *w, const rlx_var *v)
{
    uintptr_t at;
    return rlx_id_map_find(&w->var_at, &v->node, &at) && w->vars.data[at].state == RLX_WF_OPEN;
}

static void open_var(rlx_wf *w, rlx_wf_var *info, bool dataflow, bool param)
{
    uint32_t at = (uint32_t)(info - w->vars.data);
    info->state = RLX_WF_OPEN;
    info->function = w->function;
    info->block = dataflow ? w->block : 0;
    info->literals = (uint32_t)w->functions.len;
    info->param = param;
    if (info->block)
        (void)rlx_vec_push(MEMORY(w), &w->open_dataflow, at);
    else
        (void)rlx_vec_push(MEMORY(w), &w->open_vars, at);
}

static void bound_again(rlx_wf *w, rlx_wf_var *info, rlx_place place, bool param)
{
    bool shared = param && info->param;
    rlx_finding *f =
        rlx_wf_found(w, shared ? RLX_WX03 : RLX_WF02, RLX_WF_TWICE, place, &info->var->node);
    if (!f)
        return;
    f->note = info->bound_at;
    f->b = info->function < w->module->num_gvars ? w->module->gvars[info->function] : NULL;
    f->n = info->function != w->function;
    f->k = w->function;
}

/* Uses before this binding turn out to be early ones. */
static void settle_early_uses(rlx_wf *w, const rlx_wf_var *info)
{
    for (uint32_t i = info->uses; i; i = w->findings.data[i - 1].next) {
        rlx_finding *f = &w->findings.data[i - 1];
        f->code = RLX_WF03;
        f->detail = RLX_WF_EARLY;
        f->note = info->bound_at;
    }
}

void rlx_wf_bind_var(rlx_wf *w, const rlx_var *v, rlx_place place, bool param)
{
    rlx_wf_var *info = var_info(w, v, RLX_WF_OWN);
    bool dataflow = v->node.kind == RLX_NODE_DATAFLOW_VAR;
    if (!info)
        return;
    if (dataflow && (!w->block || param))
        rlx_wf_found(w, RLX_WF01, RLX_WF_BOUND_OUTSIDE, place, &v->node);
    if (info->state == RLX_WF_OPEN || info->state == RLX_WF_CLOSED) {
        bound_again(w, info, place, param);
        if (info->state == RLX_WF_CLOSED) /* so that its uses here are not complained of too */
            open_var(w, info, dataflow, param);
        return;
    }
    info->bound_at = place;
    settle_early_uses(w, info);
    open_var(w, info, dataflow, param);
}

static void early_use(rlx_wf *w, rlx_wf_var *info, rlx_place place)
{
    rlx_finding *f = rlx_wf_found(w, RLX_WF02, RLX_WF_UNBOUND, place, &info->var->node);
    if (!f)
        return;
    f->next = info->uses;
    info->uses = (uint32_t)w->findings.len;
}

static void dataflow_use(rlx_wf *w, const rlx_wf_var *info, rlx_place place)
{
    bool captured = info->state == RLX_WF_OPEN && info->literals < w->functions.len;
    rlx_finding *f = rlx_wf_found(w, captured ? RLX_WF11 : RLX_WF01, RLX_WF_USED_OUTSIDE, place,
                                  &info->var->node);
    if (!f)
        return;
    f->note = info->bound_at;
    f->b = captured ? rlx_vec_last(&w->functions).name : NULL;
}

/* A local function that mentions itself, directly or from a function inside it. */
static void note_recursion(rlx_wf *w, const rlx_var *v, rlx_place place)
{
    for (size_t i = w->functions.len; i-- > 1;)
        if (w->functions.data[i].name == &v->node && !w->functions.data[i].mentioned) {
            w->functions.data[i].mentioned = true;
            w->functions.data[i].mention = place;
        }
}

/* Does a local function capture v, a dataflow variable in scope? Its own name it may mention. */
static bool is_captured(const rlx_wf *w, const rlx_wf_var *info)
{
    return info->block != w->block && info->literals < w->functions.len &&
           w->functions.data[info->literals].name != &info->var->node;
}

void rlx_wf_use_var(rlx_wf *w, const rlx_var *v, rlx_place place)
{
    rlx_wf_var *info = var_info(w, v, RLX_WF_SEEN);
    if (!info)
        return;
    if (info->state == RLX_WF_SEEN) {
        early_use(w, info, place);
    } else if (info->state == RLX_WF_OWN) {
        rlx_wf_found(w, RLX_WF02, RLX_WF_OWN_VALUE, place, &v->node);
    } else if (v->node.kind == RLX_NODE_DATAFLOW_VAR && info->block) {
        if (info->state == RLX_WF_CLOSED || is_captured(w, info))
            dataflow_use(w, info, place);
        else if (w->functions.len > 1)
            note_recursion(w, v, place);
    } else if (info->state == RLX_WF_CLOSED) {
        rlx_finding *f = rlx_wf_found(w, RLX_WF03, RLX_WF_GONE, place, &v->node);
        if (f)
            f->note = info->bound_at;
    } else if (w->functions.len > 1) {
        note_recursion(w, v, place);
    }
}

/* ---- shape variables ------------------------------------------------------------------------ */

size_t rlx_wf_size_index(rlx_wf *w, const rlx_prim_var *v)
{
    uintptr_t at;
    if (rlx_id_map_find(&w->size_at, &v->node, &at))
        return at;
    rlx_wf_size info = { .var = v, .function = UINT32_MAX, .state = RLX_WF_SEEN };
    at = w->sizes.len;
    if (rlx_vec_push(MEMORY(w), &w->sizes, info) && rlx_id_map_put(&w->size_at, &v->node, at))
        return at;
    return SIZE_MAX;
}

/* WX04, once for each variable. */
static bool is_shared(rlx_wf *w, rlx_wf_size *info, rlx_place place)
{
    if (info->function == UINT32_MAX || info->function == w->function)
        return false;
    rlx_finding *f =
        info->shared ? NULL : rlx_wf_found(w, RLX_WX04, RLX_WF_PLAIN, place, &info->var->node);
    if (f) {
        f->n = info->function;
        f->k = w->function;
    }
    info->shared = true;
    return true;
}

void rlx_wf_bind_size(rlx_wf *w, const rlx_prim_var *v, rlx_place place)
{
    size_t at = rlx_wf_size_index(w, v);
    if (at == SIZE_MAX)
        return;
    rlx_wf_size *info = &w->sizes.data[at];
    if (info->state == RLX_WF_OPEN)
        return;
    is_shared(w, info, place);
    info->state = RLX_WF_OPEN;
    info->function = w->function;
    (void)rlx_vec_push(MEMORY(w), &w->open_sizes, (uint32_t)at);
}

/* One complaint about a variable in each binding; none about what was only derived from an
 * expression complained of. */
static bool said_already(const rlx_wf *w, const rlx_wf_size *info, const rlx_wf_spot *spot)
{
    bool derived = spot->role == RLX_WF_IN_VAR && !spot->num_places;
    return info->said && (info->said == w->step || (derived && info->said_in == w->function + 1));
}

void rlx_wf_use_size(rlx_wf *w, const rlx_prim_var *v, const rlx_wf_spot *spot, bool composite)
{
    static const uint16_t codes[] = {
        [RLX_WF_IN_VAR] = 0,         [RLX_WF_IN_RETURN] = RLX_WF04, [RLX_WF_IN_PARAM] = RLX_WF06,
        [RLX_WF_IN_CAST] = RLX_WF05, [RLX_WF_IN_ARGUMENT] = 0,      [RLX_WF_IN_EXPR] = RLX_WF05
    };
    size_t at = rlx_wf_size_index(w, v);
    if (at == SIZE_MAX || w->sizes.data[at].state == RLX_WF_OPEN ||
        is_shared(w, &w->sizes.data[at], rlx_wf_place(spot)) ||
        said_already(w, &w->sizes.data[at], spot))
        return;
    w->sizes.data[at].said = w->step;
    w->sizes.data[at].said_in = w->function + 1;
    uint16_t code = codes[spot->role];
    if (!code)
        code = spot->kind == RLX_NODE_SHAPE_SINFO ? RLX_WF15
               : spot->kind == RLX_NODE_TENSOR_SINFO || spot->kind == RLX_NODE_EXTENSION_SINFO
                   ? RLX_WF14
                   : RLX_WF16;
    bool would_bind = code == RLX_WF05 && spot->role == RLX_WF_IN_CAST;
    enum rlx_wf_detail detail = would_bind && composite ? RLX_WF_COMPOSITE : RLX_WF_VARIABLE;
    rlx_finding *f = rlx_wf_found(w, (enum rlx_code_id)code, detail, rlx_wf_place(spot), &v->node);
    if (f)
        f->b = spot->owner;
    if (code == RLX_WF06) /* its uses in the function follow from that */
        rlx_wf_bind_size(w, v, rlx_wf_place(spot));
}

/* ---- scopes --------------------------------------------------------------------------------- */

void rlx_wf_open_scope(rlx_wf *w)
{
    rlx_wf_mark m = { w->open_vars.len, w->open_dataflow.len, w->open_sizes.len, w->block };
    (void)rlx_vec_push(MEMORY(w), &w->marks, m);
}

static void close_down_to(rlx_wf *w, rlx_wf_mark m)
{
    if (w->open_vars.len > m.vars || w->open_dataflow.len > m.dataflow ||
        w->open_sizes.len > m.sizes)
        rlx_wf_new_epoch(w);
    while (w->open_vars.len > m.vars)
        w->vars.data[rlx_vec_pop(&w->open_vars)].state = RLX_WF_CLOSED;
    while (w->open_dataflow.len > m.dataflow)
        w->vars.data[rlx_vec_pop(&w->open_dataflow)].state = RLX_WF_CLOSED;
    while (w->open_sizes.len > m.sizes)
        w->sizes.data[rlx_vec_pop(&w->open_sizes)].state = RLX_WF_CLOSED;
    w->block = m.block;
}

void rlx_wf_close_scope(rlx_wf *w)
{
    if (w->marks.len)
        close_down_to(w, rlx_vec_pop(&w->marks));
}

void rlx_wf_open_block(rlx_wf *w)
{
    rlx_wf_open_scope(w);
    w->block = ++w->num_blocks;
}

/* Ordinary variables and shape variables of the block live on in the sequence around it. */
void rlx_wf_close_block(rlx_wf *w)
{
    if (!w->marks.len)
        return;
    rlx_wf_mark m = rlx_vec_pop(&w->marks);
    m.vars = w->open_vars.len;
    m.sizes = w->open_sizes.len;
    close_down_to(w, m);
}
