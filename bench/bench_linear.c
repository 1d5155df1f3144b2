/*- bench_linear: what every stage of a compile job costs and needs for one module, so that
 * linear.py can compare sizes.
 *
 *     bench_linear FILE.py RUNS
 *
 * Prints lines `stage TAB seconds TAB first TAB peak TAB kept TAB blocks`: best processor time of
 * the runs, that of the first run, most bytes beyond those held when the stage began, bytes held
 * more when it ended, allocations. Each pass runs alone on what it needs; "pipeline" is all of
 * level 1 in one. A line `text` has the bytes of the text in place of the seconds, a line
 * `touch` the seconds that the first touch of a byte of fresh memory costs here. Built with
 * librelax.a.
 *
 * malloc keeps what is freed, as a host may tell it to: the first run pays for fresh memory, the
 * later ones do not, at any size. */
#include <limits.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "analysis/well_formed.h"
#include "codegen/codegen.h"
#include "op/op.h"
#include "script/print.h"
#include "script/read.h"
#include "transform/transform.h"
#include "vm/vm.h"

enum { MOST_STAGES = 32, TOUCHED_BYTES = 32 << 20, PAGE = 4096 };

typedef struct stage { const char *name; double best, first; size_t peak, kept, blocks; } stage;
typedef struct bench {
    rlx_context *ctx;
    rlx_memory *memory;   /* what is watched */
    stage stages[MOST_STAGES];
    size_t count, at;
    double began;
    size_t held, blocks;
} bench;

/* Of the process: others may share the machine. */
static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(bench *b)
{
    rlx_memory *m = b->memory;
    b->held = rlx_mem_live(m);
    b->blocks = atomic_load(&m->count);
    atomic_store(&m->peak, b->held);
    b->began = cpu_seconds();
}

static void end(bench *b, const char *name)
{
    double seconds = cpu_seconds() - b->began;
    const rlx_memory *m = b->memory;
    stage *s = &b->stages[b->at++];
    if (b->at > b->count) {
        *s = (stage){ name, seconds, seconds, 0, 0, 0 };
        b->count = b->at;
    }
    size_t live = rlx_mem_live(m);
    s->best = seconds < s->best ? seconds : s->best;
    s->peak = atomic_load(&m->peak) - b->held;
    s->kept = live > b->held ? live - b->held : 0;
    s->blocks = atomic_load(&m->count) - b->blocks;
}

static const void *need(const bench *b, const void *result, const char *what)
{
    if (!result)
        bench_die(what, b->ctx->diags.first ? b->ctx->diags.first->message : "failed");
    return result;
}

static const rlx_module *pass(bench *b, const rlx_module *m, const char *name)
{
    rlx_pass_step step = { .row = rlx_pass_find(rlx_slice_z(name)) };
    begin(b);
    const rlx_module *out = rlx_run_passes(b->ctx, m, &step, 1, NULL);
    end(b, name);
    return need(b, out, name);
}

static const rlx_module *read_text(bench *b, const char *text, size_t len)
{
    rlx_parsed parsed = { NULL };
    begin(b);
    uint32_t source = rlx_diags_add_source(&b->ctx->diags, RLX_SLICE("bench"), text, len);
    bool ok = source && rlx_script_parse(b->ctx, source, NULL, &parsed);
    end(b, "parse");
    return need(b, ok ? parsed.module : NULL, "parse");
}

static void print(bench *b, const rlx_module *m, const char *text, size_t len)
{
    rlx_buf out;
    rlx_buf_init(&out, &b->ctx->memory);
    begin(b);
    rlx_script_print(&b->ctx->memory, &m->node, NULL, &out);
    end(b, "print");
    len -= text[len - 1] == '\n';
    if (out.failed || out.len != len || memcmp(out.data, text, len) != 0)
        bench_die("print", "what is printed differs from what was read");
    rlx_buf_free(&out);
}

static void compare(bench *b, const rlx_module *m)
{
    bool lost = false;
    begin(b);
    uint64_t hash = rlx_hash(b->memory, &m->node, &lost);
    end(b, "hash");
    rlx_context *other = rlx_context_create(NULL, 0);
    b->memory = &other->memory;
    begin(b);
    const rlx_node *copy = rlx_copy_to(other, &m->node, NULL, 0);
    end(b, "copy");
    b->memory = &b->ctx->memory;
    need(b, copy, "copy");
    begin(b);
    bool same = rlx_equal(b->memory, &m->node, copy, false, &lost);
    end(b, "equal");
    if (!same || lost || hash != rlx_hash(b->memory, copy, &lost))
        bench_die("equal", "a copy differs");
    rlx_context_release(other);
}

static rlx_blob *compile(bench *b, const rlx_module *m)
{
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    begin(b);
    m = rlx_run_passes(b->ctx, m, steps, rlx_build_pipeline(1, steps), NULL);
    end(b, "pipeline");
    rlx_codegen_options options = { .target = rlx_target_find(RLX_SLICE("interp")) };
    need(b, m, "pipeline");
    begin(b);
    rlx_blob *file = rlx_codegen(b->ctx, m, &options);
    end(b, "codegen");
    need(b, file, "codegen");
    return file;
}

static void load(bench *b, rlx_blob *file)
{
    rlx_shared_memory *shared = rlx_shared_memory_create(NULL, SIZE_MAX);
    relax_executable *exe = NULL;
    rlx_fault why = { 0 };
    b->memory = &shared->memory;
    begin(b);
    rlx_blob *image = rlx_blob_create(b->memory, file->data, file->size);
    bool ok =
        rlx_executable_load(shared, image, (rlx_load_how){ .check_constants = true }, &exe, &why);
    end(b, "load");
    if (!ok)
        bench_die("load", "the file is refused");
    rlx_executable_release(exe);
    rlx_shared_memory_release(shared);
    rlx_blob_release(file);
}

static void run(bench *b, const char *text, size_t len)
{
    b->at = 0;
    b->ctx = rlx_context_create(NULL, 0);
    b->ctx->ops = rlx_op_table_get();
    b->memory = &b->ctx->memory;
    const rlx_module *m = read_text(b, text, len);
    begin(b);
    bool well = rlx_well_formed(b->ctx, m, RLX_STAGE_NORMAL);
    end(b, "check");
    need(b, well ? m : NULL, "check");
    print(b, m, text, len);
    compare(b, m);
    pass(b, m, "normalize");
    pass(b, m, "canonicalize_bindings");
    pass(b, m, "fold_constant");
    pass(b, m, "eliminate_common_subexpr");
    pass(b, m, "dead_code_elimination");
    pass(b, m, "convert_to_dataflow");
    pass(b, m, "to_non_dataflow");
    const rlx_module *lowered = pass(b, m, "legalize_ops");
    lowered = pass(b, lowered, "call_tir_rewrite");
    pass(b, lowered, "plan_memory");
    load(b, compile(b, m));
    rlx_context_release(b->ctx);
}

/* Seconds for each byte of memory that the system has not yet given out. */
static double first_touch(void)
{
    char *fresh = mmap(NULL, TOUCHED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    if (fresh == MAP_FAILED)
        return 0;
    double began = cpu_seconds();
    for (size_t i = 0; i < TOUCHED_BYTES; i += PAGE)
        fresh[i] = 1;
    double seconds = cpu_seconds() - began;
    munmap(fresh, TOUCHED_BYTES);
    return seconds / TOUCHED_BYTES;
}

int main(int argc, char **argv)
{
    static bench b;
    int runs = argc == 3 ? atoi(argv[2]) : 0;
    if (runs < 1)
        bench_die("usage", "bench_linear FILE.py RUNS");
    size_t len;
    char *text = bench_read(argv[1], &len);
    double touch = first_touch();
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 1 << 20);
    for (int i = 0; i < runs; i++)
        run(&b, text, len);
    printf("text\t%zu\t0\t0\t0\t0\ntouch\t%.6g\t0\t0\t0\t0\n", len, touch);
    for (const stage *s = b.stages; s < b.stages + b.count; s++)
        printf("%s\t%.6g\t%.6g\t%zu\t%zu\t%zu\n", s->name, s->best, s->first, s->peak, s->kept,
               s->blocks);
    free(text);
    return 0;
}
