/* bench_onnx: an ONNX model to a module, by node, and to a compiled program. The model is a chain of Add and Relu on
 * (batch, 64), every eighth node a MatMul with its own weight. */
#include <string.h>

#include <relax/onnx.h>
#include <relax/relax.h>
#include "bench.h"

enum { RUNS = 9, SIZE = 64, FEW = 1000, MANY = 20000 };

typedef struct bytes { unsigned char *data; size_t len, room; } bytes;

static void put(bytes *b, const void *data, size_t len)
{
    if (b->len + len > b->room) {
        b->room = 2 * b->room + len + 64;
        b->data = realloc(b->data, b->room);
        if (!b->data)
            bench_die("bench_onnx", "out of memory");
    }
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

static void put_number(bytes *b, size_t v)
{
    for (;; v >>= 7) {
        unsigned char c = (unsigned char)(v < 128 ? v : v | 128);
        put(b, &c, 1);
        if (v < 128)
            return;
    }
}

static void put_int(bytes *b, size_t field, size_t v)
{
    put_number(b, field << 3);
    put_number(b, v);
}

static void put_data(bytes *b, size_t field, const void *data, size_t len)
{
    put_number(b, field << 3 | 2);
    put_number(b, len);
    put(b, data, len);
}

static void put_text(bytes *b, size_t field, const char *text) { put_data(b, field, text, strlen(text)); }

static void put_node(bytes *graph, const char *op, int in, const char *other, int out)
{
    bytes node = { .len = 0 };
    char name[32];
    snprintf(name, sizeof name, "v%d", in);
    put_text(&node, 1, name);
    if (other)
        put_text(&node, 1, other);
    snprintf(name, sizeof name, "v%d", out);
    put_text(&node, 2, name);
    put_text(&node, 4, op);
    put_data(graph, 1, node.data, node.len);
    free(node.data);
}

static void put_weight(bytes *graph, const char *name)
{
    static const float zeros[SIZE * SIZE];
    bytes t = { .len = 0 };
    put_int(&t, 1, SIZE);
    put_int(&t, 1, SIZE);
    put_int(&t, 2, 1);
    put_text(&t, 8, name);
    put_data(&t, 9, zeros, sizeof zeros);
    put_data(graph, 5, t.data, t.len);
    free(t.data);
}

static void put_value(bytes *graph, size_t field, const char *name)
{
    bytes value = { .len = 0 }, type = { .len = 0 }, tensor = { .len = 0 }, shape = { .len = 0 }, dim = { .len = 0 };
    put_text(&dim, 2, "batch");
    put_data(&shape, 1, dim.data, dim.len);
    dim.len = 0;
    put_int(&dim, 1, SIZE);
    put_data(&shape, 1, dim.data, dim.len);
    put_int(&tensor, 1, 1);
    put_data(&tensor, 2, shape.data, shape.len);
    put_data(&type, 1, tensor.data, tensor.len);
    put_text(&value, 1, name);
    put_data(&value, 2, type.data, type.len);
    put_data(graph, field, value.data, value.len);
    free(value.data), free(type.data), free(tensor.data), free(shape.data), free(dim.data);
}

static bytes model_of(int nodes)
{
    bytes model = { .len = 0 }, graph = { .len = 0 }, set = { .len = 0 };
    char name[32];
    put_value(&graph, 11, "v0");
    for (int i = 0; i < nodes; i++) {
        snprintf(name, sizeof name, "w%d", i);
        if (i % 8 == 7)
            put_weight(&graph, name);
        put_node(&graph, i % 8 == 7 ? "MatMul" : i % 2 ? "Relu" : "Add", i, i % 8 == 7 ? name : i % 2 ? NULL : "v0", i + 1);
    }
    snprintf(name, sizeof name, "v%d", nodes);
    put_value(&graph, 12, name);
    put_text(&set, 1, "");
    put_int(&set, 2, 17);
    put_int(&model, 1, 8);
    put_data(&model, 7, graph.data, graph.len);
    put_data(&model, 8, set.data, set.len);
    free(graph.data), free(set.data);
    return model;
}

/* Seconds; with `build`, until the program is compiled. */
static double import(const bytes *m, int build)
{
    double begin = bench_now();
    relax_context *ctx = relax_context_create(NULL);
    relax_onnx_import *i = relax_onnx_import_memory(ctx, m->data, m->len, NULL, NULL, NULL);
    relax_module *module = relax_onnx_import_module(i);
    relax_executable *exe = module && build ? relax_module_compile(ctx, module, NULL) : NULL;
    double took = bench_now() - begin;
    if (!module || (build && !exe))
        bench_die("bench_onnx", relax_diagnostic_message(ctx, 0, NULL));
    relax_executable_release(exe);
    relax_onnx_import_destroy(i);
    relax_context_release(ctx);
    return took;
}

int main(void)
{
    double times[RUNS];
    bytes few = model_of(FEW), many = model_of(MANY);
    for (int i = 0; i < RUNS; i++)
        times[i] = import(&many, 0);
    bench_times("onnx.import", times, RUNS, 1e6 / MANY, "us/node");
    for (int i = 0; i < RUNS; i++)
        times[i] = import(&few, 0);
    bench_times("onnx.import_few", times, RUNS, 1e6 / FEW, "us/node");
    for (int i = 0; i < RUNS; i++)
        times[i] = import(&few, 1);
    bench_times("onnx.build", times, RUNS, 1e3, "ms");
    free(few.data), free(many.data);
    return 0;
}
