/* issue.c: what cannot be imported, and why: each reason once, however many nodes have it. */
#include "onnx/onnx_int.h"

#include <stdio.h>

enum { LONGEST_REASON = 500 };

static rlx_onnx_issue *find_issue(rlx_importer *m, rlx_slice key)
{
    size_t at = (size_t)(uintptr_t)rlx_map_get(&m->issue_of, key);
    return at ? &m->issues.data[at - 1] : NULL;
}

static rlx_onnx_issue *make_issue(rlx_importer *m, rlx_slice key, rlx_onnx_issue issue)
{
    if (!issue.domain || !issue.op || !issue.reason ||
        !rlx_vec_push(&m->ctx->memory, &m->issues, issue) ||
        !rlx_map_put(&m->issue_of, key, (void *)(uintptr_t)m->issues.len))
        return NULL;
    return &rlx_vec_last(&m->issues);
}

/* Text of a file, made harmless. */
static const rlx_string *shown(rlx_context *ctx, rlx_slice s)
{
    char text[80];
    size_t n = s.len < sizeof text ? s.len : sizeof text;
    memcpy(text, s.data ? s.data : "", s.data ? n : 0);
    n = s.data ? n : 0;
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)text[i] < 0x20 ? '?' : text[i];
    rlx_utf8_mend(text, n);
    return rlx_string_intern(ctx, (rlx_slice){ text, n });
}

static void add_issue(rlx_importer *m, rlx_onnx_issue issue, rlx_place place, const char *reason)
{
    char key[LONGEST_REASON + 200];
    if (!issue.domain || !issue.op)
        return;
    int n = snprintf(key, sizeof key, "%d %s.%s %s", (int)issue.code, issue.domain->data,
                     issue.op->data, reason);
    rlx_slice text = { key, n < 0 ? 0 : (size_t)n < sizeof key ? (size_t)n : sizeof key - 1 };
    rlx_onnx_issue *i = find_issue(m, text);
    issue.reason = rlx_string_intern(m->ctx, rlx_slice_z(reason));
    if (!i)
        i = make_issue(m, text, issue);
    if (i && i->count < 3)
        i->places[i->count] = place;
    if (i)
        i->count++;
}

static void *vadd(rlx_importer *m, rlx_onnx_issue issue, rlx_place place, const char *format,
                  va_list args)
{
    rlx_buf b;
    if (m->unheard) {
        m->num_unheard++;
        return NULL;
    }
    rlx_buf_init(&b, &m->ctx->memory);
    b.most = LONGEST_REASON;
    rlx_buf_vformat(&b, format, args);
    if (b.len) {
        rlx_utf8_mend(b.data, b.len);
        add_issue(m, issue, place, b.data);
    }
    rlx_buf_free(&b);
    return NULL;
}

void *rlx_onnx_issue_add(rlx_importer *m, enum rlx_code_id code, bool is_warning, rlx_slice domain,
                         rlx_slice op, int64_t version, rlx_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rlx_onnx_issue issue = { .code = code,
                             .is_warning = is_warning,
                             .domain = shown(m->ctx, domain),
                             .op = shown(m->ctx, op),
                             .version = version };
    vadd(m, issue, place, format, args);
    va_end(args);
    return NULL;
}

static rlx_onnx_issue issue_of(rlx_onnx_conv *c, enum rlx_code_id code, bool is_warning)
{
    return (rlx_onnx_issue){ .code = code,
                             .is_warning = is_warning,
                             .domain = shown(c->ctx, c->node->domain),
                             .op = shown(c->ctx, c->node->op),
                             .version = c->version };
}

void *rlx_onnx_fail(rlx_onnx_conv *c, enum rlx_code_id code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!c->failed) /* one reason for each node */
        vadd(c->m, issue_of(c, code, false), c->place, format, args);
    va_end(args);
    c->failed = true;
    return NULL;
}

void rlx_onnx_warn(rlx_onnx_conv *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vadd(c->m, issue_of(c, RLX_ON11, true), c->place, format, args);
    va_end(args);
}

void *rlx_onnx_needs(rlx_onnx_conv *c, size_t i, const char *what)
{
    const rlx_onnx_value *v = i < c->num_inputs ? c->inputs[i] : NULL;
    uint64_t on = v ? v->depends : 0;
    c->m->needed |= on;
    for (size_t k = 0; on && k < c->m->small_inputs.len && k < 64; k++)
        if (on >> k & 1)
            return rlx_onnx_fail(c, RLX_ON07, "%s (operand %zu) has to be known; it depends on the "
                                 "input %s, whose value may be given", what, i,
                                 c->m->small_inputs.data[k]->data);
    return rlx_onnx_fail(c, RLX_ON07, "%s (operand %zu) has to be known", what, i);
}

static void report_one(rlx_importer *m, const rlx_onnx_issue *i)
{
    const char *dot = i->domain->len ? "." : "";
    uint8_t severity = i->is_warning ? RLX_SEVERITY_WARNING : RLX_SEVERITY_ERROR;
    if (i->op->len && i->version)
        rlx_report(m->ctx, i->code, severity, i->places[0], "%s%s%s (operator set %lld): %s",
                   i->domain->data, dot, i->op->data, (long long)i->version, i->reason->data);
    else
        rlx_report(m->ctx, i->code, severity, i->places[0], "%s%s%s", i->op->data,
                   i->op->len ? ": " : "", i->reason->data);
    for (size_t k = 1; k < i->count && k < 3; k++)
        rlx_note(m->ctx, i->places[k], "here, too");
    if (i->count > 3)
        rlx_note(m->ctx, RLX_NO_PLACE, "%zu nodes in all", i->count);
}

void rlx_onnx_issues_report(rlx_importer *m)
{
    for (size_t i = 0; i < m->issues.len; i++)
        report_one(m, &m->issues.data[i]);
}
