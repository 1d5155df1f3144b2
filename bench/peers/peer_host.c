/* peer_host: one process that calls librelax, ONNX Runtime and oneDNN through their C interfaces, and
 * what the machine can do at most. A shared library that race.py drives through ctypes. ONNX
 * Runtime is opened when it is asked for; oneDNN is there where HAVE_DNNL says so.
 *
 * All of them become contenders: something that can be called again and again, with the same
 * arguments and results that stay where they are. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <relax/value.h>
#include <relax/vm.h>
#ifdef HAVE_DNNL
#include <dnnl.h>
#endif

enum { MAX_TENSORS = 64, LONG_CALL = 200000 /* ns */ };

typedef struct contender {
    void (*call)(void *self);
    void (*close)(void *self);
    int threads;
} contender;

/* Threads of the contenders that are opened from now on. */
static int threads = 1;
void host_set_threads(int count) { threads = count; }

/* Memory that belongs to race.py and outlives the contenders. */
typedef struct array { int32_t dtype, ndim; const int64_t *shape; void *data; } array;

/* A dtype is its row in this table; race.py has the same order. */
static const struct { relax_dtype relax; int onnx; size_t size; } dtypes[] = {
    { RELAX_FLOAT32, 1, 4 }, { RELAX_INT64, 7, 8 }, { RELAX_INT8, 3, 1 },
    { RELAX_INT32, 6, 4 },   { RELAX_BOOL, 9, 1 },  { RELAX_UINT8, 2, 1 },
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

static void *zeroed(size_t size)
{
    void *p = calloc(1, size);
    if (!p)
        die("host", "out of memory");
    return p;
}

/* ---- time ----------------------------------------------------------------------------------- */

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The shortest of `calls` calls in ns. Long calls on one thread are measured by its processor
 * time, which other programs on the machine do not lengthen; for short ones that clock is too
 * slow, and `burst` of them are measured at a time. */
double host_time(contender *c, int calls, int burst, double expected)
{
    clockid_t clock = expected > LONG_CALL && c->threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    double best = 1e30;
    for (int i = 0; i < calls; i++) {
        double start = now(clock);
        for (int k = 0; k < burst; k++)
            c->call(c);
        double took = (now(clock) - start) / burst;
        best = took < best ? took : best;
    }
    return best;
}

void host_close(contender *c) { c->close(c); }

/* ---- librelax ------------------------------------------------------------------------------- */

typedef struct ours {
    contender base;
    relax_vm *vm;
    size_t function, num_args, num_results;
    double lent;                /* ns of a call that threads could have shared */
    relax_value args[MAX_TENSORS];
    relax_tensor *results[MAX_TENSORS];
} ours;

static void check(relax_status status, relax_error *error, const char *what)
{
    if (status != RELAX_OK)
        die(what, error ? relax_error_message(error, NULL) : "failed");
}

static void call_ours(void *self)
{
    ours *c = self;
    relax_error *error = NULL;
    check(relax_vm_call_into(c->vm, c->function, c->args, c->num_args, c->results, c->num_results,
                             &error), error, "call");
}

static void close_ours(void *self)
{
    ours *c = self;
    for (size_t i = 0; i < c->num_args; i++)
        relax_value_release(&c->args[i]);
    for (size_t i = 0; i < c->num_results; i++)
        relax_tensor_release(c->results[i]);
    relax_vm_release(c->vm);
    free(c);
}

static relax_tensor *tensor_of(const array *a)
{
    relax_tensor *tensor = NULL;
    relax_error *error = NULL;
    check(relax_tensor_from_memory(dtypes[a->dtype].relax, a->shape, (size_t)a->ndim, a->data, NULL,
                                   NULL, &tensor, &error), error, "tensor");
    return tensor;
}

/* A host that lends threads, which are its own one: what it is asked for could have been shared. */
static void run_alone(void *user, void (*task)(void *data, size_t index), void *data, size_t count)
{
    ours *c = user;
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < count; i++)
        task(data, i);
    c->lent += now(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Of the shortest of `calls` calls of a contender that was opened `alone`: the part that threads can share. */
double host_shared(contender *self, int calls)
{
    ours *c = (ours *)self;
    double best = 1e30, part = 0;
    for (int i = 0; i < calls; i++) {
        c->lent = 0;
        double start = now(CLOCK_THREAD_CPUTIME_ID);
        self->call(self);
        double took = now(CLOCK_THREAD_CPUTIME_ID) - start;
        if (took < best)
            best = took, part = c->lent / took;
    }
    return part;
}

static contender *open_ours(const char *path, const array *args, size_t num_args, const array *results,
                            size_t num_results, int alone)
{
    ours *c = zeroed(sizeof *c);
    relax_vm_options machine;
    relax_load_options options;
    relax_executable *executable = NULL;
    relax_error *error = NULL;
    relax_load_options_init(&options, sizeof options);
    options.allow_native = 1;
    check(relax_executable_load_file(path, strlen(path), &options, &executable, &error), error, path);
    relax_vm_options_init(&machine, sizeof machine);
    machine.num_threads = (uint64_t)threads;
    machine.parallel_for = alone ? run_alone : NULL;
    machine.parallel_user = c;
    check(relax_vm_create(executable, &machine, &c->vm, &error), error, path);
    c->function = relax_executable_find(executable, "main", 4);
    relax_executable_release(executable);
    for (; c->num_args < num_args; c->num_args++) {
        relax_tensor *tensor = tensor_of(&args[c->num_args]);
        relax_value_set_tensor(&c->args[c->num_args], tensor);
        relax_tensor_release(tensor);
    }
    for (; c->num_results < num_results; c->num_results++)
        c->results[c->num_results] = tensor_of(&results[c->num_results]);
    c->base = (contender){ call_ours, close_ours, threads };
    return &c->base;
}

contender *host_open_relax(const char *path, const array *args, size_t num_args,
                           const array *results, size_t num_results)
{
    return open_ours(path, args, num_args, results, num_results, 0);
}

contender *host_open_alone(const char *path, const array *args, size_t num_args,
                           const array *results, size_t num_results)
{
    return open_ours(path, args, num_args, results, num_results, 1);
}

/* How many kernels are machine code, and the most bytes that were live in the last call. */
void host_counters(const contender *self, uint64_t *out)
{
    relax_vm_counters counters = { .struct_size = sizeof counters };
    if (relax_vm_get_counters(((const ours *)self)->vm, &counters) == RELAX_OK) {
        out[0] = counters.native_kernels;
        out[1] = counters.peak_bytes;
    }
}

/* ---- ONNX Runtime --------------------------------------------------------------------------- */

/* Its interface is a table of functions that only grows; these are the places we need of it. The
 * first returns the message of a status; all others return a status, NULL for success. */
enum {
    ORT_VERSION = 10, ORT_MESSAGE = 2, ORT_CREATE_ENV = 3, ORT_CREATE_SESSION = 7, ORT_RUN = 9,
    ORT_CREATE_OPTIONS = 10, ORT_SET_LEVEL = 23, ORT_SET_INTRA = 24, ORT_SET_INTER = 25,
    ORT_INPUT_COUNT = 30, ORT_OUTPUT_COUNT = 31, ORT_INPUT_NAME = 36, ORT_OUTPUT_NAME = 37,
    ORT_CREATE_TENSOR = 49, ORT_CPU_MEMORY = 69, ORT_ALLOCATOR = 78, ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96, ORT_RELEASE_OPTIONS = 100, ORT_ALL_OPTIMISATIONS = 99, ORT_WARNINGS = 3,
};
typedef void *(*ort_function)();    /* called with the arguments that its place wants */
static const ort_function *ort;
static void *ort_env, *ort_memory, *ort_allocator;

typedef struct theirs {
    contender base;
    void *session;
    size_t num_args, num_results;
    char *arg_names[MAX_TENSORS], *result_names[MAX_TENSORS];
    void *args[MAX_TENSORS], *results[MAX_TENSORS];
} theirs;

static void ort_check(void *status, const char *what)
{
    if (status)
        die(what, (const char *)ort[ORT_MESSAGE](status));
}

/* Opens the library; its version, or NULL if it cannot be opened. */
const char *host_ort_init(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    struct base { const void *(*api)(uint32_t); const char *(*version)(void); } *base;
    void *entry = handle ? dlsym(handle, "OrtGetApiBase") : NULL;
    if (!entry)
        return NULL;
    base = ((struct base *(*)(void))entry)();
    ort = base->api(ORT_VERSION);
    ort_check(ort[ORT_CREATE_ENV](ORT_WARNINGS, "bench", &ort_env), "environment");
    ort_check(ort[ORT_CPU_MEMORY](1, 0, &ort_memory), "memory");
    ort_check(ort[ORT_ALLOCATOR](&ort_allocator), "allocator");
    return base->version();
}

static void call_theirs(void *self)
{
    theirs *c = self;
    ort_check(ort[ORT_RUN](c->session, NULL, c->arg_names, c->args, c->num_args, c->result_names,
                           c->num_results, c->results), "run");
}

static void close_theirs(void *self)
{
    theirs *c = self;
    for (size_t i = 0; i < c->num_args; i++)
        ort[ORT_RELEASE_VALUE](c->args[i]);
    for (size_t i = 0; i < c->num_results; i++)
        ort[ORT_RELEASE_VALUE](c->results[i]);
    ort[ORT_RELEASE_SESSION](c->session);
    free(c);
}

static void *ort_tensor(const array *a)
{
    size_t size = dtypes[a->dtype].size;
    void *tensor = NULL;
    for (int32_t i = 0; i < a->ndim; i++)
        size *= (size_t)a->shape[i];
    ort_check(ort[ORT_CREATE_TENSOR](ort_memory, a->data, size, a->shape, (size_t)a->ndim,
                                     dtypes[a->dtype].onnx, &tensor), "tensor");
    return tensor;
}

contender *host_open_ort(const char *path, const array *args, size_t num_args,
                         const array *results, size_t num_results)
{
    theirs *c = zeroed(sizeof *c);
    void *options = NULL;
    ort_check(ort[ORT_CREATE_OPTIONS](&options), "options");
    ort_check(ort[ORT_SET_LEVEL](options, ORT_ALL_OPTIMISATIONS), "options");
    ort_check(ort[ORT_SET_INTRA](options, threads), "options");
    ort_check(ort[ORT_SET_INTER](options, 1), "options");
    ort_check(ort[ORT_CREATE_SESSION](ort_env, path, options, &c->session), path);
    ort[ORT_RELEASE_OPTIONS](options);
    for (; c->num_args < num_args; c->num_args++) {
        size_t i = c->num_args;
        ort_check(ort[ORT_INPUT_NAME](c->session, i, ort_allocator, &c->arg_names[i]), path);
        c->args[i] = ort_tensor(&args[i]);
    }
    for (; c->num_results < num_results; c->num_results++) {
        size_t i = c->num_results;
        ort_check(ort[ORT_OUTPUT_NAME](c->session, i, ort_allocator, &c->result_names[i]), path);
        c->results[i] = ort_tensor(&results[i]);
    }
    c->base = (contender){ call_theirs, close_theirs, threads };
    return &c->base;
}

/* ---- oneDNN --------------------------------------------------------------------------------- */

#ifdef HAVE_DNNL
typedef struct product { contender base; int64_t m, n, k; const float *a, *b; float *c; } product;

static void call_product(void *self)
{
    product *p = self;
    dnnl_sgemm('N', 'N', p->m, p->n, p->k, 1, p->a, p->k, p->b, p->n, 0, p->c, p->n);
}

contender *host_open_sgemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c)
{
    product *p = zeroed(sizeof *p);
    *p = (product){ { call_product, free, threads }, m, n, k, a, b, c };
    return &p->base;
}
#endif

/* ---- the machine ---------------------------------------------------------------------------- */

/* The widest vectors of this processor, and as many sums as hide the latency of a product. */
#ifdef __AVX512F__
enum { WIDE = 64, SUMS = 24 };
#elif defined __AVX__
enum { WIDE = 32, SUMS = 12 };
#else
enum { WIDE = 16, SUMS = 12 };
#endif
typedef float wide __attribute__((vector_size(WIDE), aligned(4)));
static volatile float sink;

/* GFLOP/s of products added to sums in registers (contracted to fma, see run.sh). */
double host_peak_fma(int rounds)
{
    enum { STEPS = 8000 };
    double best = 0;
    for (int r = 0; r < rounds; r++) {
        wide sum[SUMS], x = (wide){ 0 } + 0.999f, y = (wide){ 0 } + 1e-4f;
        for (int i = 0; i < SUMS; i++)
            sum[i] = (wide){ 0 } + (float)i;
        double start = now(CLOCK_MONOTONIC);
        for (int step = 0; step < STEPS; step++)
#pragma GCC unroll 24
            for (int i = 0; i < SUMS; i++)
                sum[i] = sum[i] * x + y;
        double took = now(CLOCK_MONOTONIC) - start, rate = 2. * STEPS * SUMS * WIDE / 4 / took;
        best = rate > best ? rate : best;
        for (int i = 0; i < SUMS; i++)
            sink = sum[i][0];
    }
    return best;
}

/* GB/s of reading `bytes` of memory again and again: of the cache that they fit into. */
double host_peak_read(size_t bytes, int rounds)
{
    enum { LANES = WIDE / 4, STREAMS = 8 };
    size_t count = bytes / 4 / (LANES * STREAMS) * (LANES * STREAMS);
    clockid_t clock = bytes < 1 << 20 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    float *data = aligned_alloc(64, (bytes + 4095) / 64 * 64);
    double best = 0;
    if (!data)
        die("host", "out of memory");
    memset(data, 0, bytes);
    for (int r = 0; r < rounds; r++) {
        wide sum[STREAMS] = { 0 };
        double start = now(clock);
        for (size_t i = 0; i < count; i += LANES * STREAMS)
#pragma GCC unroll 8
            for (int k = 0; k < STREAMS; k++)
                sum[k] += *(const wide *)(data + i + k * LANES);
        double took = now(clock) - start, rate = (double)count * 4 / took;
        best = rate > best ? rate : best;
        for (int k = 0; k < STREAMS; k++)
            sink = sum[k][0];
    }
    free(data);
    return best;
}
