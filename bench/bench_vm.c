/*- bench_vm.c: what calls, branches and casts cost in the VM, with the floors of this machine
 * beside them.
 *
 *   cc -O2 -Iinclude -Isrc -D_GNU_SOURCE bench/bench_vm.c lib/librelax.a -lm -lpthread -ldl -o
 *   build/bench_vm && build/bench_vm
 *
 * Each figure: nanoseconds per operation, best of many runs. --json prints one JSON object
 * instead of the table.
 */
#include <relax/relax.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "vm/vm.h"

#define REPEAT 1000 /* operations in one program */
#define TRIES 200

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* ---- programs ------------------------------------------------------------------------------- */

typedef struct program {
    rlx_memory memory;
    rlx_file_writer w;
    relax_registry *registry;
    relax_executable *exe;
    relax_vm *vm;
} program;

static int nothing(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    return 0;
}

/* What a careful kernel does: three tensors, rank and one size checked. */
static int checks_three(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    if (n != 3)
        return -1;
    for (int i = 0; i < 3; i++) {
        const DLTensor *t = args[i].v.p;
        if (args[i].type_index != RELAX_VALUE_TENSOR_VIEW || t->ndim != 2 || t->shape[1] != 64)
            return -1;
    }
    return 0;
}

static uint32_t tensors(program *p, uint32_t count, bool symbolic)
{
    rlx_desc_writer d;
    rlx_desc_begin(&d, &p->w);
    rlx_desc_params(&d);
    for (uint32_t i = 0; i < count; i++) {
        int64_t n = i || !symbolic ? rlx_desc_dim_symbol(&p->w, 0, RLX_SLICE("n"))
                                   : rlx_desc_dim_bind(&p->w, 0, RLX_SLICE("n"));
        int64_t dims[] = { symbolic ? n : rlx_desc_dim_literal(&p->w, 16),
                           rlx_desc_dim_literal(&p->w, 64) };
        rlx_desc_param(&d, RLX_SLICE("x"));
        rlx_desc_tensor(&d, RELAX_FLOAT32, 2, dims);
    }
    rlx_desc_close(&d);
    return rlx_desc_end(&d);
}

static uint32_t cast_to(program *p, uint32_t rank)
{
    rlx_desc_writer d;
    int64_t dims[8];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = rlx_desc_dim_bind(&p->w, i, RLX_SLICE("d"));
    rlx_desc_begin(&d, &p->w);
    rlx_desc_tensor(&d, RELAX_FLOAT32, (int32_t)rank, dims);
    return rlx_desc_end(&d);
}

static void add_function(program *p, uint32_t number, const char *name, uint32_t code,
                         uint32_t params, uint32_t num_params)
{
    rlx_file_function f = { .name = rlx_file_writer_name(&p->w, rlx_slice_z(name)),
                            .flags = RLX_FUNCTION_PUBLIC,
                            .code = code,
                            .code_len = rlx_file_writer_here(&p->w) - code,
                            .num_params = num_params,
                            .num_regs = 8,
                            .num_syms = 8,
                            .params = params,
                            .result = RLX_NO_INDEX,
                            .signature = RLX_NO_INDEX };
    rlx_file_writer_set_function(&p->w, number, &f);
}

enum what {
    EMPTY, MOVES, PACKED_EMPTY, PACKED_CHECKS, CALLS, CALLS_CHECKED, BRANCHES, CAST1, CAST2, CAST4,
    ALLOCS
};

static void body(program *p, enum what what, uint32_t inner, uint32_t checked, uint32_t desc,
                 uint32_t packed)
{
    uint32_t args[] = { 0, 1, 2 }, n = rlx_operand_imm(64), dead = 4;
    switch (what) {
    case MOVES: RLX_EMIT(&p->w, RLX_OP_MOVE, 5, 1); break;
    case PACKED_EMPTY: RLX_EMIT_LIST(&p->w, RLX_OP_CALL_PACKED, NULL, 0, 4, packed); break;
    case PACKED_CHECKS: RLX_EMIT_LIST(&p->w, RLX_OP_CALL_PACKED, args, 3, 4, packed); break;
    case CALLS: RLX_EMIT_LIST(&p->w, RLX_OP_CALL, args, 3, 4, inner, RLX_CALL_PROVED); break;
    case CALLS_CHECKED: RLX_EMIT_LIST(&p->w, RLX_OP_CALL, args, 3, 4, checked, 0); break;
    case BRANCHES: RLX_EMIT(&p->w, RLX_OP_BRANCH, 3, 3); break;
    case CAST1:
    case CAST2:
    case CAST4: RLX_EMIT(&p->w, RLX_OP_MATCH, 0, desc, RLX_MATCH_CAST, RLX_NO_INDEX); break;
    case ALLOCS:
        RLX_EMIT_LIST(&p->w, RLX_OP_ALLOC_TENSOR, &n, 1, 4, RELAX_FLOAT32);
        rlx_file_writer_emit(&p->w, RLX_OP_KILL, NULL, &dead, 1);
        break;
    default: break;
    }
}

static void make(program *p, enum what what)
{
    memset(p, 0, sizeof *p);
    rlx_memory_init(&p->memory, NULL, SIZE_MAX);
    rlx_file_writer_init(&p->w, &p->memory);
    relax_registry_create(NULL, &p->registry, NULL);
    relax_registry_register(p->registry, "f", 1, what == PACKED_CHECKS ? checks_three : nothing,
                            NULL, NULL, NULL);
    uint32_t main_ = rlx_file_writer_function(&p->w), inner = rlx_file_writer_function(&p->w),
             checked = rlx_file_writer_function(&p->w);
    uint32_t packed = rlx_file_writer_packed(&p->w, RLX_SLICE("f")), literal = tensors(p, 3, false),
             symbolic = tensors(p, 3, true);
    uint32_t desc = cast_to(p, what == CAST1   ? 1
                               : what == CAST2 ? 2
                                               : 4),
             code = rlx_file_writer_here(&p->w);
    RLX_EMIT(&p->w, RLX_OP_PRIM, 3, RELAX_BOOL, rlx_operand_imm(1));
    for (int i = 0; i < REPEAT; i++)
        body(p, what, inner, checked, desc, packed);
    RLX_EMIT(&p->w, RLX_OP_RETURN, 3);
    rlx_desc_writer d;
    rlx_desc_begin(&d, &p->w);
    rlx_desc_params(&d);
    for (int i = 0; i < 3; i++) {
        rlx_desc_param(&d, RLX_SLICE("x"));
        rlx_desc_object(&d);
    }
    rlx_desc_close(&d);
    add_function(p, main_, "main", code, rlx_desc_end(&d), 3);
    code = rlx_file_writer_here(&p->w);
    RLX_EMIT(&p->w, RLX_OP_RETURN, 0);
    add_function(p, inner, "inner", code, literal, 3);
    code = rlx_file_writer_here(&p->w);
    RLX_EMIT(&p->w, RLX_OP_RETURN, 0);
    add_function(p, checked, "checked", code, symbolic, 3);
    rlx_blob *file = rlx_file_writer_finish(&p->w, p->w.memory);
    relax_error *err = NULL;
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.registry = p->registry;
    if (!file ||
        relax_executable_load(file->data, file->size, NULL, &p->exe, &err) != RELAX_OK ||
        relax_vm_create(p->exe, &o, &p->vm, &err) != RELAX_OK) {
        fprintf(stderr, "bench_vm: %s\n", relax_error_message(err, NULL));
        exit(3);
    }
    rlx_blob_release(file);
}

static void drop(program *p)
{
    relax_vm_release(p->vm);
    relax_executable_release(p->exe);
    relax_registry_release(p->registry);
    rlx_file_writer_free(&p->w);
}

static double best_call(program *p, const relax_value *args)
{
    double best = 1e18;
    for (int i = 0; i < TRIES; i++) {
        relax_value y;
        double t = now_ns();
        if (relax_vm_call_function(p->vm, 0, args, 3, &y, NULL) != RELAX_OK)
            exit(3);
        t = now_ns() - t;
        best = t < best ? t : best;
        relax_value_release(&y);
    }
    return best;
}

static double measure(enum what what, uint32_t rank)
{
    program p;
    relax_value args[3];
    int64_t dims[8] = { 16, 64, 1, 1 };
    for (int i = 0; i < 3; i++) {
        relax_tensor *t;
        relax_tensor_create(RELAX_FLOAT32, dims, (int32_t)rank, NULL, &t, NULL);
        relax_value_set_tensor(&args[i], t);
        relax_tensor_release(t);
    }
    make(&p, what);
    double ns = best_call(&p, args);
    drop(&p);
    for (int i = 0; i < 3; i++)
        relax_value_release(&args[i]);
    return ns;
}

/* ---- closures ------------------------------------------------------------------------------- */

static int same(void *self, const relax_value *args, int32_t n, relax_value *result)
{
    (void)self;
    return relax_value_keep(&args[0], result) == RELAX_OK ? 0 : -1;
}

/* Nobody knows which function f and i are: they have been through the host. i is inner, f gives back
 * what it has captured, which has to be counted. */
static relax_executable *compile_calls(const char *call, int count)
{
    static const char head[] =
        "from tvm.script import ir as I\nfrom tvm.script import relax as R\n"
        "@I.ir_module\nclass M:\n"
        "  @R.function(private=True)\n"
        "  def inner(a: R.Tensor((16, 64), 'float32'), b: R.Tensor((16, 64), 'float32'), c: R.Tensor((16, 64), 'float32')) -> R.Tensor((16, 64), 'float32'):\n"
        "    return a\n"
        "  @R.function(pure=False)\n"
        "  def main(x: R.Tensor((16, 64), 'float32'), y: R.Tensor((16, 64), 'float32'), z: R.Tensor((16, 64), 'float32')):\n"
        "    cls = M\n"
        "    k = R.call_packed('same', x, sinfo_args=(R.Tensor((16, 64), 'float32'),))\n"
        "    @R.function(pure=False)\n"
        "    def g(b: R.Tensor((16, 64), 'float32'), c: R.Tensor((16, 64), 'float32')) -> R.Tensor((16, 64), 'float32'):\n"
        "      return k\n"
        "    o = R.call_packed('same', g, sinfo_args=(R.Object,))\n"
        "    f = R.match_cast(o, R.Callable((R.Tensor((16, 64), 'float32'), R.Tensor((16, 64), 'float32')), R.Tensor((16, 64), 'float32'), False))\n"
        "    p = R.call_packed('same', R.make_closure(cls.inner, (k,)), sinfo_args=(R.Object,))\n"
        "    i = R.match_cast(p, R.Callable((R.Tensor((16, 64), 'float32'), R.Tensor((16, 64), 'float32')), R.Tensor((16, 64), 'float32'), False))\n";
    size_t room = sizeof head + (size_t)count * 64 + 64;
    char *text = malloc(room);
    size_t len = (size_t)snprintf(text, room, "%s", head);
    for (int i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, room - len, "    v%d = %s\n", i, call);
    len += (size_t)snprintf(text + len, room - len, "    return v0\n");
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = relax_module_parse(ctx, "m", 1, text, len);
    relax_executable *exe = m ? relax_module_compile(ctx, m, NULL) : NULL;
    relax_context_release(ctx);
    free(text);
    if (!exe)
        exit(3);
    return exe;
}

static double measure_calls(const char *call, int count)
{
    program p = { .exe = compile_calls(call, count) };
    relax_value args[3];
    int64_t dims[] = { 16, 64 };
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    relax_registry_create(NULL, &o.registry, NULL);
    relax_registry_register(o.registry, "same", 4, same, NULL, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        relax_tensor *t;
        relax_tensor_create(RELAX_FLOAT32, dims, 2, NULL, &t, NULL);
        relax_value_set_tensor(&args[i], t);
        relax_tensor_release(t);
    }
    if (relax_vm_create(p.exe, &o, &p.vm, NULL) != RELAX_OK)
        exit(3);
    double ns = best_call(&p, args);
    for (int i = 0; i < 3; i++)
        relax_value_release(&args[i]);
    relax_vm_release(p.vm);
    relax_executable_release(p.exe);
    relax_registry_release(o.registry);
    return ns;
}

/* Of one call, with the result that its binding says. */
static double one_call(const char *call)
{
    return (measure_calls(call, REPEAT + 1) - measure_calls(call, 1)) / REPEAT;
}

/* ---- floors --------------------------------------------------------------------------------- */

static relax_packed_fn volatile floor_fn = nothing;
static double floor_indirect(void)
{
    relax_value args[3] = { { 0, 0, { 0 } } }, r;
    double best = 1e18;
    for (int k = 0; k < TRIES; k++) {
        double t = now_ns();
        for (int i = 0; i < REPEAT; i++)
            floor_fn(NULL, args, 3, &r);
        t = now_ns() - t;
        best = t < best ? t : best;
    }
    return best / REPEAT;
}

static double floor_atomic(void)
{
    static atomic_size_t counter;
    double best = 1e18;
    for (int k = 0; k < TRIES; k++) {
        double t = now_ns();
        for (int i = 0; i < REPEAT; i++)
            atomic_fetch_add(&counter, 1);
        t = now_ns() - t;
        best = t < best ? t : best;
    }
    return best / REPEAT;
}

int main(int argc, char **argv)
{
    static const struct {
        enum what what;
        uint32_t rank;
        const char *name;
        double target;
    } rows[] = {
        { MOVES, 2, "move", 0 },
        { PACKED_EMPTY, 2, "packed call, no arguments", 0 },
        { PACKED_CHECKS, 2, "packed call, three checked tensors", 20 },
        { CALLS, 2, "Relax call, three tensors, proved", 30 },
        { CALLS_CHECKED, 2, "Relax call, three tensors, checked, one symbol", 47 },
        { BRANCHES, 2, "branch", 3 },
        { CAST1, 1, "match_cast, 1 dimension", 18 },
        { CAST2, 2, "match_cast, 2 dimensions", 21 },
        { CAST4, 4, "match_cast, 4 dimensions", 27 },
        { ALLOCS, 2, "tensor of 256 bytes made and dropped", 0 },
    };
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    double call = measure(EMPTY, 2);
    if (json)
        printf("{\"call from outside\": %.1f", call);
    else
        printf("%-52s %8.2f ns\n", "call from outside", call);
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        double ns = (measure(rows[i].what, rows[i].rank) - call) / REPEAT;
        if (json)
            printf(", \"%s\": %.2f", rows[i].name, ns);
        else if (rows[i].target > 0)
            printf("%-52s %8.2f ns   target %.0f\n", rows[i].name, ns, rows[i].target);
        else
            printf("%-52s %8.2f ns\n", rows[i].name, ns);
    }
    double direct = one_call("cls.inner(x, y, z)"), closure = one_call("i(y, z)"),
           direct_counted = one_call("cls.inner(k, y, z)"), counted = one_call("f(y, z)");
    if (json)
        printf(", \"compiled Relax call, three tensors\": %.2f, \"closure call, two tensors and one captured\": %.2f"
               ", \"compiled Relax call that gives back a counted tensor\": %.2f, \"closure call that gives back what it captured\": %.2f",
               direct, closure, direct_counted, counted);
    else
        printf("%-52s %8.2f ns\n%-52s %8.2f ns   %.2f times that, target 1.5\n"
               "%-52s %8.2f ns\n%-52s %8.2f ns   %.2f times that, target 1.5\n",
               "compiled Relax call, three tensors", direct,
               "closure call, two tensors and one captured", closure, closure / direct,
               "compiled Relax call that gives back a counted tensor", direct_counted,
               "closure call that gives back what it captured", counted, counted / direct_counted);
    if (json)
        printf(", \"floor: indirect call\": %.2f, \"floor: atomic add\": %.2f}\n",
               floor_indirect(), floor_atomic());
    else
        printf("%-52s %8.2f ns\n%-52s %8.2f ns\n", "floor: indirect call", floor_indirect(),
               "floor: atomic add", floor_atomic());
    return 0;
}
