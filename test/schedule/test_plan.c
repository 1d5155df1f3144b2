/*- test_plan.c: what is decided about loop nests, before any code is written. The programs
 * stand in plan.programs, each with the plans of its nests, in order:
 *
 *     k | strip j merged i [n * m] | C= contiguous, A fixed | no update
 *
 * the loops that stay loops; the strip loop with those that are merged and the elements that it
 * runs over; how each access moves along it (`=`: a store); why it is not one instruction. One
 * that is: `contract A B`, `sum A` or `partial A` with `row`, `column`, `step`, `copy` with the sizes of the box,
 * `map div A B` with `row`, `column`, `normalize` with the sides that there are, the sizes of the box and its bounds, or `pack A` with
 * the loops of the panel, the lanes, where they start and their digits, strides, and the
 * ranges that are checked. A nest whose loops stay as they stand is `plain` with the reason, and is
 * looked into. `--- plan: sizes unknown` plans as where no size has a value. */
#include <stdlib.h>

#include "../base/cmocka_all.h"
#include "schedule/plan.h"
#include "format/kernel_format.h"
#include "text_file.h"
#include "text_module.h"

static const char *const reasons[] = {
    [RLX_PLAN_NO_LOOP] = "no loop",
    [RLX_PLAN_BOUND_TYPE] = "bound type",
    [RLX_PLAN_OTHER_STATEMENT] = "other statement",
    [RLX_PLAN_NO_STORE] = "no store",
    [RLX_PLAN_TWO_PLACES] = "two places",
    [RLX_PLAN_PARTIAL_SUMS] = "partial sums",
    [RLX_PLAN_NOTHING_DETERMINED] = "nothing determined",
    [RLX_PLAN_NO_UPDATE] = "no update",
    [RLX_PLAN_UPDATE_DTYPE] = "update dtype",
    [RLX_PLAN_UPDATE_INDEX] = "update index",
    [RLX_PLAN_NO_STEP] = "no step",
    [RLX_PLAN_PLACE_MOVES] = "place moves",
};
static const char *const walks[] = { [RLX_PLAN_SCATTERED] = "scattered",
                                     [RLX_PLAN_FIXED] = "fixed",
                                     [RLX_PLAN_CONTIGUOUS] = "contiguous",
                                     [RLX_PLAN_STRIDED] = "strided" };
static const char *const reductions[] = { [RLX_KERNEL_REDUCE_ADD] = "sum",
                                          [RLX_KERNEL_REDUCE_MUL] = "product",
                                          [RLX_KERNEL_REDUCE_MIN] = "min",
                                          [RLX_KERNEL_REDUCE_MAX] = "max" };

typedef struct case_run {
    rlx_context *ctx;
    rlx_ptrmap known;               /* variables that have a value */
    rlx_buf text;
} case_run;

static bool knows(const void *user, const rlx_prim *var)
{
    return rlx_ptrmap_has(&((const case_run *)user)->known, var);
}

/* ---- a plan as text ------------------------------------------------------------------------- */

static void write_loop(rlx_buf *out, const rlx_nest_plan *p, const char *what, int loop)
{
    if (loop >= 0) {
        rlx_buf_z(out, what);
        rlx_text_prim(out, p->loops[loop].var);
    }
}

static const char *name_of(const rlx_plan_access *a)
{
    return rlx_as_buffer(a->buffer)->name->data;
}

static void write_term(rlx_buf *out, const char *what, const rlx_prim *e)
{
    rlx_buf_z(out, what);
    rlx_text_prim(out, e);
}

static void write_pack(rlx_buf *out, const rlx_nest_plan *p)
{
    const rlx_plan_pack *k = &p->pack;
    rlx_buf_format(out, "| pack %s", name_of(&p->accesses.data[1]));
    write_loop(out, p, " lane ", k->lane);
    if (k->four >= 0) {
        write_loop(out, p, " four ", k->four);
        write_term(out, " of ", k->steps);
        write_term(out, " by ", k->depth_stride[0]);
    }
    for (int i = 0; i < 3; i++)
        if (k->depth[i] >= 0) {
            write_loop(out, p, " depth ", k->depth[i]);
            write_term(out, " by ", k->depth_stride[i]);
        }
    write_term(out, " lanes ", k->lanes);
    write_term(out, " from ", k->from);
    write_term(out, " start ", k->start);
    write_term(out, " width ", k->width);
    write_term(out, " by ", k->high);
    write_term(out, ", ", k->low);
    for (size_t d = 0; d < p->accesses.data[1].num_indices; d++)
        if (k->least[d]) {
            rlx_buf_format(out, " check %zu:", d);
            write_term(out, " ", k->least[d]);
            write_term(out, " .. ", k->greatest[d]);
        }
}

static void write_innermost(rlx_buf *out, const rlx_nest_plan *p)
{
    if (p->form == RLX_PLAN_FUSED || p->form == RLX_PLAN_PARTIAL) {
        bool partial = p->form == RLX_PLAN_PARTIAL;
        rlx_buf_format(out, "| %s", partial             ? "partial"
                                    : p->fused.contract ? "contract"
                                                        : reductions[p->fused.op]);
        rlx_buf_format(out, " %s", name_of(&p->accesses.data[p->fused.a]));
        if (partial ? p->fused.value == RLX_KERNEL_VALUE_SQUARE : p->fused.contract)
            rlx_buf_format(out, " %s", name_of(&p->accesses.data[p->fused.b]));
        static const char *const roles[RLX_FUSED_LOOPS] = { " group ", " row ", " column ", " turn ", " step " };
        for (int i = 0; i < RLX_FUSED_LOOPS; i++)
            if (p->fused.loop[i] >= 0 || (i != RLX_FUSED_GROUP && i != RLX_FUSED_TURN))
                write_loop(out, p, roles[i], p->fused.loop[i]);
        return;
    }
    if (p->form == RLX_PLAN_NORMALIZE) {
        rlx_buf_z(out, "| normalize");
        for (int k = 1; k < RLX_NORMALIZE_SIDES; k++) {
            size_t at = p->normalize.access[k];
            rlx_buf_format(out, " %s", at == SIZE_MAX ? "-" : name_of(&p->accesses.data[at]));
        }
        for (int i = 0; i < 2; i++) {
            write_term(out, " [", p->normalize.extent[i]);
            rlx_buf_z(out, "]");
        }
        if (p->normalize.bounded)
            rlx_buf_format(out, " from %g to %g", (double)p->normalize.low, (double)p->normalize.high);
        return;
    }
    if (p->form == RLX_PLAN_PACK) {
        write_pack(out, p);
        return;
    }
    if (p->form == RLX_PLAN_COPY) {
        rlx_buf_z(out, "| copy");
        for (int i = 0; i < 4; i++)
            if (!rlx_is_int_value(p->copy.extent[i], 1)) {
                rlx_buf_z(out, " [");
                rlx_text_prim(out, p->copy.extent[i]);
                rlx_buf_z(out, "]");
            }
        return;
    }
    if (p->form == RLX_PLAN_UNPACK) {
        const rlx_plan_unpack *u = &p->unpack;
        rlx_buf_format(out, "| unpack %lld bits of %s by %s from %lld", (long long)u->bits,
                       name_of(&p->accesses.data[u->words]), name_of(&p->accesses.data[u->scales]),
                       (long long)u->zero);
        write_loop(out, p, " group ", u->group);
        write_loop(out, p, " word ", u->word);
        write_loop(out, p, " digit ", u->digit);
        write_loop(out, p, " lane ", u->lane);
        return;
    }
    if (p->form == RLX_PLAN_MAP) {
        static const char *const functions[RLX_KERNEL_MAP_COUNT] = {
            [RLX_KERNEL_MAP_ADD] = "add", [RLX_KERNEL_MAP_SUB] = "sub", [RLX_KERNEL_MAP_MUL] = "mul",
            [RLX_KERNEL_MAP_DIV] = "div", [RLX_KERNEL_MAP_EXP_SUB] = "exp sub",
            [RLX_KERNEL_MAP_RECIPROCAL] = "reciprocal", [RLX_KERNEL_MAP_LOG] = "log",
        };
        rlx_buf_format(out, "| map %s %s %s", functions[p->map.function],
                       name_of(&p->accesses.data[p->map.a]), name_of(&p->accesses.data[p->map.b]));
        write_loop(out, p, " row ", p->map.row);
        write_loop(out, p, " column ", p->map.column);
        for (size_t i = 0; i < p->count; i++)
            if (p->loops[i].role == RLX_PLAN_BOX)
                write_loop(out, p, " merged ", (int)i);
        return;
    }
    write_loop(out, p, "| strip ", p->strip);
    for (size_t i = 0; i < p->count; i++)
        if (p->loops[i].role == RLX_PLAN_MERGED)
            write_loop(out, p, " merged ", (int)i);
    if (p->row >= 0)
        write_loop(out, p, " copies row ", p->row);
    rlx_buf_z(out, " [");
    rlx_text_prim(out, p->strip_extent);
    rlx_buf_z(out, "]");
}

static void write_plan(rlx_buf *out, const rlx_nest_plan *p)
{
    if (p->form == RLX_PLAN_EMPTY || p->form == RLX_PLAN_PLAIN) {
        rlx_buf_z(out, p->form == RLX_PLAN_EMPTY ? "empty" : "plain: ");
        rlx_buf_z(out, p->form == RLX_PLAN_EMPTY ? "" : reasons[p->reason]);
        rlx_buf_z(out, "\n");
        return;
    }
    for (size_t i = 0; i < p->num_order; i++) {
        write_loop(out, p, "", p->order[i]);
        rlx_buf_z(out, " ");
    }
    write_innermost(out, p);
    for (size_t i = 0; i < p->accesses.len; i++) {
        const rlx_plan_access *a = &p->accesses.data[i];
        rlx_buf_format(out, "%s%s%s %s", i ? ", " : " | ", name_of(a), a->stores ? "=" : "",
                       walks[a->walk]);
    }
    if (p->form == RLX_PLAN_STRIP)
        rlx_buf_format(out, " | %s", reasons[p->reason]);
    else if (p->form == RLX_PLAN_ORDERED)
        rlx_buf_z(out, " | in order");
    rlx_buf_z(out, "\n");
}

/* ---- laws ----------------------------------------------------------------------------------- */

/* When a loop of the plan runs: those in `order` by their place there, all others innermost. */
static size_t rank_of(const rlx_nest_plan *p, size_t loop)
{
    size_t at = 0;
    while (at < p->num_order && p->order[at] != loop)
        at++;
    return at;
}

/* Every loop is in the order or innermost, once; of two that change places one is determined. */
static void check_plan(const rlx_nest_plan *p)
{
    size_t innermost = 0;
    for (size_t i = 0; i < p->count; i++) {
        assert_int_equal(rank_of(p, i) < p->num_order, p->loops[i].role == RLX_PLAN_LOOP);
        innermost += p->loops[i].role != RLX_PLAN_LOOP;
        for (size_t k = i + 1; k < p->count; k++)
            if (rank_of(p, i) > rank_of(p, k))
                assert_true(p->loops[i].determined || p->loops[k].determined);
    }
    assert_int_equal(innermost + p->num_order, p->count);
    if (p->form == RLX_PLAN_COPY || p->form == RLX_PLAN_NORMALIZE)
        return;
    if (p->form == RLX_PLAN_MAP) {
        for (size_t i = 0; i < p->count; i++)
            assert_true(p->loops[i].determined);
        for (size_t i = 0; i < 3; i++)
            assert_true(p->accesses.data[i].literal);
        assert_true((p->map.row < 0 || p->loops[p->map.row].role == RLX_PLAN_ROW) &&
                    (p->map.column < 0 || p->loops[p->map.column].role == RLX_PLAN_COLUMN));
        return;
    }
    if (p->form == RLX_PLAN_STRIP || p->form == RLX_PLAN_ORDERED)
        assert_true(p->loops[p->strip].determined == (p->form == RLX_PLAN_STRIP) &&
                    p->loops[p->strip].role == RLX_PLAN_STRIP_LOOP);
    else if (p->form == RLX_PLAN_UNPACK)
        assert_true(p->loops[p->unpack.lane].role == RLX_PLAN_FIELD);
    else if (p->form == RLX_PLAN_PACK) {
        assert_true(p->loops[p->pack.lane].role == RLX_PLAN_LANE);
        assert_true(p->accesses.data[0].literal && p->accesses.data[1].num_indices);
    } else {
        const rlx_plan_fused *f = &p->fused;
        assert_true(f->loop[RLX_FUSED_STEP] >= 0 && p->reason == RLX_PLAN_NO_REASON);
        for (int i = 0; i < RLX_FUSED_LOOPS; i++)
            assert_true(f->loop[i] < 0 || p->loops[f->loop[i]].determined == (i < RLX_FUSED_TURN));
        assert_true(p->accesses.data[f->acc].literal && p->accesses.data[f->a].literal &&
                    p->accesses.data[f->b].literal);
    }
}

/* ---- programs ------------------------------------------------------------------------------- */

static enum rlx_step plan_nest(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    case_run *run = user;
    const rlx_plan_scope scope = { .knows = knows, .user = run };
    const rlx_for_stmt *loop = rlx_as_for_stmt(n);
    rlx_nest_plan plan;
    if (n->kind == RLX_NODE_LET_STMT)
        rlx_ptrmap_put(&run->known, ((const rlx_let_stmt *)n)->var, 1);
    if (!loop)
        return RLX_STEP_ON;
    size_t errors = rlx_error_count(run->ctx);
    assert_true(rlx_plan_nest(run->ctx, &scope, loop, &plan));
    assert_int_equal(rlx_error_count(run->ctx), errors);
    bool plain = plan.form == RLX_PLAN_PLAIN;
    write_plan(&run->text, &plan);
    if (!plain && plan.form != RLX_PLAN_EMPTY)
        check_plan(&plan);
    rlx_nest_plan_free(run->ctx, &plan);
    rlx_ptrmap_put(&run->known, loop->loop_var, 1);
    return plain ? RLX_STEP_ON : RLX_STEP_SKIP;
}

static void know_params(case_run *run, const rlx_prim_func *f)
{
    rlx_prim_vars sizes = { 0 };
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_buffer *b = rlx_as_buffer(f->buffers[i]);
        rlx_ptrmap_put(&run->known, f->params[i], 1);
        for (size_t d = 0; b && d < b->num_shape; d++)
            assert_true(rlx_collect_prim_vars(&run->ctx->memory, b->shape[d], false, &sizes));
    }
    for (size_t i = 0; i < sizes.len; i++)
        rlx_ptrmap_put(&run->known, sizes.data[i], 1);
    rlx_vec_free(&run->ctx->memory, &sizes);
}

/* The plans of the function f of a program, as text; to be freed. */
static char *plans_of(const char *program, bool knows_sizes)
{
    case_run run = { .ctx = rlx_context_create(NULL, 0) };
    const rlx_module *m = text_module(run.ctx, program);
    if (!m || rlx_error_count(run.ctx)) {
        char *said = text_diagnostics(run.ctx);
        print_message("%s", said);
        free(said);
        fail();
    }
    int64_t at = rlx_module_find(m, RLX_SLICE("f"));
    const rlx_prim_func *f =
        at < 0 ? NULL : rlx_tir_lower_blocks(run.ctx, rlx_as_prim_func(m->functions[at]));
    assert_non_null(f);
    rlx_ptrmap_init(&run.known, &run.ctx->memory);
    rlx_buf_init(&run.text, &run.ctx->memory);
    if (knows_sizes)
        know_params(&run, f);
    const rlx_walker walker = { .enter = plan_nest, .user = &run };
    rlx_walk(&run.ctx->memory, f->body, &walker, NULL);
    rlx_buf_char(&run.text, 0);
    char *text = strdup(run.text.data);
    rlx_buf_free(&run.text);
    rlx_ptrmap_free(&run.known);
    rlx_context_release(run.ctx);
    return text;
}

static void plans(void **state)
{
    size_t count = 0, cases = 0, wrong = 0;
    const text_part *parts = text_file_parts("test/schedule/plan.programs", &count);
    assert_non_null(parts);
    for (size_t i = 0; i + 1 < count; i += 2, cases++) {
        assert_string_equal(parts[i + 1].kind, "plan");
        char *got = plans_of(parts[i].text, strcmp(parts[i + 1].argument, "sizes unknown") != 0);
        if (strcmp(got, parts[i + 1].text) != 0) {
            print_message("%s\nwanted:\n%sgot:\n%s\n", parts[i].name, parts[i + 1].text, got);
            wrong++;
        }
        free(got);
    }
    assert_int_equal(wrong, 0);
    assert_true(cases >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(plans) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
