/* api_transform.c: passes and pipelines. */
#include <relax/transform.h>
#include "api/api_int.h"

#include "transform/transform.h"

/* A pass of the host, reached through the runner's user pointer. */
typedef struct host_pass {
    relax_pass_fn run;
    void *user;
    void (*destroy)(void *user);
} host_pass;

struct relax_pipeline {
    RLX_API_TAG
    relax_context *ctx;
    RLX_VEC(rlx_pass_step) steps;
    void (*after)(void *user, const char *pass, const relax_module *module, double seconds,
                  int32_t changed);
    void *after_user;
    bool verify;
    bool running, given_up; /* destroyed by one of its passes: it goes when the run ends */
};

/* The step of a pass by name, ours or the host's. False after a report. */
static bool find_pass(relax_context *ctx, const char *pass, size_t pass_len,
                      const relax_attr *options, rlx_pass_step *out)
{
    rlx_slice name;
    *out = (rlx_pass_step){ .options = node_of(options) };
    if (!rlx_api_name(ctx, pass, pass_len, "pass", &name))
        return false;
    out->row = rlx_pass_find(name);
    rlx_extension_pass *host = out->row ? NULL : rlx_extension_pass_find(ctx, name);
    if (host) {
        out->host = host->run;
        out->host_user = host;
        out->host_name = host->name;
        out->host_stays = true;
    }
    if (out->row || host)
        return rlx_api_map_or_null(ctx, options, "options");
    const char *near = rlx_pass_suggest(name);
    near = near ? near : rlx_extension_pass_suggest(ctx, name);
    return rlx_error(ctx, RLX_OP10, RLX_NO_PLACE, "unknown pass %.*s%s%s", rlx_api_width(name),
                     name.data, near ? "; did you mean " : "", near ? near : "") != NULL;
}

relax_module *relax_pass_run(relax_context *ctx, const relax_module *module, const char *pass,
                             size_t pass_len, const relax_attr *options)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    rlx_pass_step step;
    if (!find_pass(ctx, pass, pass_len, options, &step) ||
        !rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module"))
        return give(ctx, NULL);
    return give(ctx, rlx_run_passes(ctx, rlx_as_module(node_of(module)), &step, 1, NULL));
}

relax_pipeline *relax_pipeline_create(relax_context *ctx)
{
    relax_pipeline *p = RLX_API_CONTEXT(ctx) ? rlx_mem_alloc_zero(&ctx->memory, sizeof *p) : NULL;
    if (!p)
        return NULL;
    RLX_API_SET_TAG(p, API_PIPELINE);
    p->ctx = rlx_api_hold(ctx);
    return p;
}

static void drop_step(relax_context *ctx, rlx_pass_step *step)
{
    host_pass *h = step->host && !step->host_stays ? step->host_user : NULL;
    if (!h)
        return;
    if (h->destroy)
        h->destroy(h->user);
    rlx_mem_free(&ctx->memory, h, sizeof *h);
}

void relax_pipeline_destroy(relax_pipeline *pipeline)
{
    if (!RLX_API_IS(pipeline, API_PIPELINE))
        return;
    relax_context *ctx = pipeline->ctx;
    pipeline->given_up = true;
    if (pipeline->running)
        return;
    for (size_t i = 0; i < pipeline->steps.len; i++)
        drop_step(ctx, &pipeline->steps.data[i]);
    rlx_vec_free(&ctx->memory, &pipeline->steps);
    RLX_API_SET_TAG(pipeline, API_GONE);
    rlx_mem_free(&ctx->memory, pipeline, sizeof *pipeline);
    rlx_api_let_go(ctx);
}

/* False after a report: what runs is not to be changed or run inside. */
static bool is_idle(relax_pipeline *p)
{
    if (p->running)
        rlx_error(p->ctx, RLX_OP09, RLX_NO_PLACE, "the pipeline is running");
    return !p->running;
}

static relax_status append(relax_pipeline *p, rlx_pass_step step)
{
    if (!is_idle(p))
        return give_status(p->ctx, RELAX_ERROR_INVALID_ARGUMENT);
    if (rlx_vec_push(&p->ctx->memory, &p->steps, step))
        return give_status(p->ctx, RELAX_OK);
    return give_status(p->ctx, RELAX_ERROR_OUT_OF_MEMORY);
}

relax_status relax_pipeline_add(relax_pipeline *pipeline, const char *pass, size_t pass_len,
                                const relax_attr *options)
{
    if (!RLX_API_IS(pipeline, API_PIPELINE))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(pipeline->ctx);
    rlx_pass_step step;
    if (!find_pass(pipeline->ctx, pass, pass_len, options, &step))
        return rlx_api_failed(pipeline->ctx, errors);
    return append(pipeline, step);
}

static bool has_callback(relax_context *ctx, bool given, const char *what)
{
    if (!given)
        rlx_error(ctx, RLX_OP01, RLX_NO_PLACE, "%s is NULL", what);
    return given;
}

static const rlx_module *taken(rlx_pass_run *run, const relax_module *result, size_t errors)
{
    const rlx_module *out = rlx_as_module(node_of(result));
    if (!out && rlx_error_count(run->ctx) == errors)
        rlx_error(run->ctx, RLX_OP17, RLX_NO_PLACE,
                  "a pass of the host failed without saying why");
    return out;
}

static const rlx_module *call_host(rlx_pass_run *run, relax_pass_fn f, void *user,
                                   const rlx_module *m)
{
    size_t errors = rlx_error_count(run->ctx);
    return taken(run,
                 f(user, run->ctx, (const relax_module *)(const void *)m,
                   (const relax_attr *)(const void *)run->options),
                 errors);
}

static const rlx_module *run_host(rlx_pass_run *run, const rlx_module *m)
{
    host_pass *h = run->user;
    return call_host(run, h->run, h->user, m);
}

static const rlx_module *run_registered(rlx_pass_run *run, const rlx_module *m)
{
    rlx_extension_pass *p = run->user;
    return call_host(run, (relax_pass_fn)p->function, p->user, m);
}

static bool register_pass(relax_context *ctx, const char *name, size_t name_len, relax_pass_fn run,
                          void *user, void (*destroy)(void *user))
{
    rlx_slice slice;
    rlx_extension_pass pass = {
        .run = run_registered, .function = (void (*)(void))run, .user = user, .destroy = destroy
    };
    if (!has_callback(ctx, run != NULL, "run") ||
        !rlx_api_name(ctx, name, name_len, "name", &slice))
        return false;
    if (rlx_pass_find(slice) || rlx_extension_pass_find(ctx, slice))
        return rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "there is a pass named %.*s already",
                         rlx_api_width(slice), slice.data) != NULL;
    return rlx_extension_pass_add(ctx, slice, &pass);
}

relax_status relax_pass_register(relax_context *ctx, const char *name, size_t name_len,
                                 relax_pass_fn run, void *user, void (*destroy)(void *user))
{
    if (!RLX_API_CONTEXT(ctx)) {
        if (destroy)
            destroy(user);
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    size_t errors = rlx_error_count(ctx);
    if (!register_pass(ctx, name, name_len, run, user, destroy) && destroy)
        destroy(user);
    return rlx_api_failed(ctx, errors);
}

relax_status relax_pipeline_add_host(relax_pipeline *pipeline, const char *name, size_t name_len,
                                     const relax_attr *options, relax_pass_fn run, void *user,
                                     void (*destroy)(void *user))
{
    rlx_slice slice;
    relax_status status = RELAX_ERROR_INVALID_ARGUMENT;
    relax_context *ctx = RLX_API_IS(pipeline, API_PIPELINE) ? pipeline->ctx : NULL;
    if (ctx && has_callback(ctx, run != NULL, "run") &&
        rlx_api_name(ctx, name, name_len, "name", &slice) &&
        rlx_api_map_or_null(ctx, options, "options")) {
        const rlx_string *text = rlx_string_intern(ctx, slice);
        host_pass *h = text ? rlx_mem_alloc(&ctx->memory, sizeof *h) : NULL;
        status = h ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
        if (h) {
            *h = (host_pass){ run, user, destroy };
            status = append(pipeline, (rlx_pass_step){ .options = node_of(options),
                                                       .host = run_host, .host_user = h,
                                                       .host_name = text->data });
        }
        if (h && status != RELAX_OK)
            rlx_mem_free(&ctx->memory, h, sizeof *h);
    }
    if (status != RELAX_OK && destroy)
        destroy(user);
    return ctx ? give_status(ctx, status) : status;
}

relax_status relax_pipeline_add_build(relax_pipeline *pipeline, int32_t opt_level)
{
    if (!RLX_API_IS(pipeline, API_PIPELINE))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (opt_level < 0 || opt_level > 2) {
        rlx_error(pipeline->ctx, RLX_OP03, RLX_NO_PLACE, "opt_level is 0, 1 or 2, found %d",
                  (int)opt_level);
        return give_status(pipeline->ctx, RELAX_ERROR_INVALID_ARGUMENT);
    }
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    size_t count = rlx_build_pipeline(opt_level, steps);
    relax_status status = RELAX_OK;
    for (size_t i = 0; i < count && status == RELAX_OK; i++)
        status = append(pipeline, steps[i]);
    return status;
}

relax_status relax_pipeline_on_pass(relax_pipeline *pipeline,
                                    void (*after)(void *user, const char *pass,
                                                  const relax_module *module, double seconds,
                                                  int32_t changed),
                                    void *user)
{
    if (!RLX_API_IS(pipeline, API_PIPELINE))
        return RELAX_ERROR_INVALID_ARGUMENT;
    pipeline->after = after;
    pipeline->after_user = user;
    return RELAX_OK;
}

relax_status relax_pipeline_set_verify(relax_pipeline *pipeline, int32_t verify)
{
    if (!RLX_API_IS(pipeline, API_PIPELINE))
        return RELAX_ERROR_INVALID_ARGUMENT;
    pipeline->verify = verify != 0;
    return RELAX_OK;
}

static void tell_host(void *user, const char *pass, const rlx_module *m, double seconds,
                      bool changed)
{
    relax_pipeline *p = user;
    if (p->after)
        p->after(p->after_user, pass, (const relax_module *)(const void *)m, seconds, changed);
}

relax_module *relax_pipeline_run(relax_pipeline *pipeline, const relax_module *module)
{
    if (!RLX_API_IS(pipeline, API_PIPELINE))
        return NULL;
    relax_context *ctx = pipeline->ctx;
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") || !is_idle(pipeline))
        return give(ctx, NULL);
    rlx_pass_hooks hooks = { .after = tell_host, .user = pipeline, .verify = pipeline->verify };
    pipeline->running = true;
    const rlx_module *result = rlx_run_passes(ctx, rlx_as_module(node_of(module)),
                                              pipeline->steps.data, pipeline->steps.len, &hooks);
    pipeline->running = false;
    void *given = give(ctx, result);
    if (pipeline->given_up)
        relax_pipeline_destroy(pipeline);
    return given;
}

/* ---- the table of passes */

const char *relax_pass_name(size_t pass)
{
    const rlx_pass_row *row = rlx_pass_at(pass);
    return row ? row->name : NULL;
}

const char *relax_pass_help(size_t pass)
{
    const rlx_pass_row *row = rlx_pass_at(pass);
    return row ? row->help : NULL;
}

const char *relax_pass_needs(size_t pass)
{
    const rlx_pass_row *row = rlx_pass_at(pass);
    return row ? row->needs : NULL;
}

const char *relax_pass_option(size_t pass, size_t option, const char **deflt, const char **help)
{
    const rlx_pass_row *row = rlx_pass_at(pass);
    const rlx_pass_option *o =
        row && option < (size_t)row->num_options ? &row->options[option] : NULL;
    if (deflt)
        *deflt = o ? o->deflt : NULL;
    if (help)
        *help = o ? o->help : NULL;
    return o ? o->name : NULL;
}
