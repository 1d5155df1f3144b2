/* test_hostile.c: compiled files that mean harm: sound files damaged everywhere, with the sums as
 * they were and with sums that fit; tables that lie; programs that pass the verifier and then try
 * to run away. Each is refused (LD), or runs to a result or an error. RELAX_LONG: every bit, byte
 * and length; otherwise a sample. */
#include "assemble.h"

#include <relax/relax.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "compiled_file.h"

#define EMIT(...) RLX_EMIT(&k->w, __VA_ARGS__)

typedef struct image { unsigned char *data; size_t size; } image;

static void read_text(const char *path, char *text, size_t room, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("cannot read %s", path);
    *size = fread(text, 1, room, f);
    fclose(f);
}

/* A program of test/vm/hostile, compiled. */
static image compile(const char *name)
{
    char path[128], text[8192];
    size_t size;
    snprintf(path, sizeof path, "test/vm/hostile/%s.py", name);
    read_text(path, text, sizeof text, &size);
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = relax_module_parse(ctx, "m.py", 4, text, size);
    relax_executable *exe = m ? relax_module_compile(ctx, m, NULL) : NULL;
    relax_bytes *bytes = NULL;
    if (!exe || relax_executable_serialize(exe, &bytes, NULL) != RELAX_OK)
        fail_msg("%s does not compile", path);
    image i = { malloc(relax_bytes_size(bytes)), relax_bytes_size(bytes) };
    memcpy(i.data, relax_bytes_data(bytes), i.size);
    relax_bytes_release(bytes);
    relax_executable_release(exe);
    relax_context_release(ctx);
    return i;
}

static bool is_long(void) { return getenv("RELAX_LONG") != NULL; }

/* ---- damage everywhere ---------------------------------------------------------------------- */

static const char *const programs[] = { "digits", "control", "memory" };
static const compiled_limits damaged_limits = { .load_memory = (size_t)64 << 20,
                                                .run_memory = (size_t)8 << 20,
                                                .timeout = 3000000 };

typedef struct tally { size_t tried, loaded, succeeded; } tally;

static void drive(const unsigned char *data, size_t size, const char *what, size_t at, tally *t)
{
    compiled_report r;
    compiled_drive(data, size, &damaged_limits, &r);
    if (r.problem[0])
        fail_msg("%s at %zu: %s", what, at, r.problem);
    t->tried++;
    t->loaded += r.loaded;
    t->succeeded += r.succeeded > 0;
}

/* Byte `at` becomes `value`: the sums tell; then with sums that fit, anything but harm may
 * happen. */
static void change_byte(const image *i, unsigned char *copy, size_t at, unsigned char value,
                        const char *what, tally *t)
{
    tally noticed = { 0, 0, 0 };
    if (i->data[at] == value)
        return;
    memcpy(copy, i->data, i->size);
    copy[at] = value;
    drive(copy, i->size, what, at, &noticed);
    if (noticed.loaded)
        fail_msg("%s at %zu was not noticed", what, at);
    compiled_repair(copy, i->size);
    drive(copy, i->size, what, at, t);
}

static void damage_program(const char *name)
{
    static const unsigned char values[] = { 0x00, 0xff, 0x80 };
    image i = compile(name);
    unsigned char *copy = malloc(i.size);
    tally bits = { 0, 0, 0 }, bytes = { 0, 0, 0 };
    for (size_t at = 0; at < i.size * 8; at += is_long() ? 1 : 13)
        change_byte(&i, copy, at / 8, i.data[at / 8] ^ (unsigned char)(1 << at % 8), "bit flipped",
                    &bits);
    for (size_t at = 0; at < i.size * 3; at += is_long() ? 1 : 7)
        change_byte(&i, copy, at / 3, values[at % 3], "byte replaced", &bytes);
    /* Some of it is content and stays a program, most is structure. */
    assert_true(bits.succeeded > bits.tried / 20 && bits.loaded < bits.tried * 19 / 20);
    assert_true(bytes.loaded > 0 && bytes.loaded < bytes.tried);
    free(copy);
    free(i.data);
}

static void survives_damage(void **state)
{
    for (size_t p = 0; p < RLX_COUNT(programs); p++)
        damage_program(programs[p]);
}

static void refuses_every_length(void **state)
{
    for (size_t p = 0; p < RLX_COUNT(programs); p++) {
        image i = compile(programs[p]);
        tally t = { 0, 0, 0 };
        for (size_t size = 0; size < i.size; size += is_long() ? 1 : 11) {
            /* exactly, so that reading on is seen */
            unsigned char *copy = malloc(size ? size : 1);
            memcpy(copy, i.data, size);
            drive(copy, size, "cut", size, &t);
            if (size >= sizeof(rlx_file_header)) {
                ((rlx_file_header *)(void *)copy)->file_size = size;
                compiled_repair(copy, size);
                drive(copy, size, "cut, and said so", size, &t);
            }
            free(copy);
        }
        assert_true(t.loaded == 0 && t.tried > i.size / 11);
        free(i.data);
    }
}

/* From disk, read and mapped: nothing is different. */
static void refuses_files_too(void **state)
{
    char path[512];
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/hostile_%d.rlx", dir ? dir : "/tmp", (int)getpid());
    image i = compile("memory");
    tally t = { 0, 0, 0 };
    for (size_t at = 0; at < i.size; at += is_long() ? 7 : 97) {
        i.data[at] ^= 0x40;
        compiled_repair(i.data, i.size);
        size_t size = at % 5 ? i.size : at;
        FILE *f = fopen(path, "wb");
        assert_true(f && fwrite(i.data, 1, size, f) == size && fclose(f) == 0);
        for (int map = 0; map < 2; map++) {
            compiled_report r;
            compiled_drive_file(path, map, &damaged_limits, &r);
            if (r.problem[0])
                fail_msg("file changed at %zu: %s", at, r.problem);
            t.tried++;
            t.loaded += r.loaded;
        }
        i.data[at] ^= 0x40;
    }
    assert_true(t.loaded > 0 && t.loaded < t.tried);
    remove(path);
    free(i.data);
}

/* ---- tables that lie ------------------------------------------------------------------------ */

static void expect_load(const unsigned char *data, size_t size, const char *want, const char *what)
{
    compiled_report r;
    compiled_drive(data, size, &compiled_usual_limits, &r);
    if (r.problem[0])
        fail_msg("%s: %s", what, r.problem);
    bool fits = want ? !r.loaded && strncmp(r.code, want, strlen(want)) == 0 : r.loaded;
    if (!fits)
        fail_msg("%s: wanted %s, got %s", what, want ? want : "a program",
                 r.loaded ? "a program" : r.code);
}

enum where { HEADER, ROW, SECTION }; /* ROW: the table's row of a section */
#define FIELD(type, field) (uint32_t)offsetof(type, field)
#define CONSTANT_FIELD(field) (8 + FIELD(rlx_file_constant, field))
#define KERNEL_FIELD(field) (8 + FIELD(rlx_file_kernel, field))
#define F(field) FIELD(rlx_file_function, field)
#define HIGH 4 /* the upper half of a 64-bit field */

/* One 32-bit word of a sound file (hostile/memory.py) replaced; the sums fit. */
static const struct {
    const char *what;
    enum where where;
    uint32_t kind, at, value;
    const char *want;
} lies[] = {
    { "magic", HEADER, 0, 0, 0x584c5288, "LD01" },
    { "future major version", HEADER, 0, FIELD(rlx_file_header, major), 2, "LD02" },
    { "major version 0", HEADER, 0, FIELD(rlx_file_header, major), 0, "LD02" },
    { "future minor version", HEADER, 0, FIELD(rlx_file_header, minor), 7, NULL },
    { "no sections", HEADER, 0, FIELD(rlx_file_header, num_sections), 0, "LD05" },
    { "more sections than fit", HEADER, 0, FIELD(rlx_file_header, num_sections), 64, "LD05" },
    { "2^32 - 1 sections", HEADER, 0, FIELD(rlx_file_header, num_sections), UINT32_MAX, "LD05" },
    { "huge size", HEADER, 0, FIELD(rlx_file_header, file_size) + HIGH, UINT32_MAX, "LD03" },
    { "small size", HEADER, 0, FIELD(rlx_file_header, file_size), 64, "LD05" },
    { "reserved bytes", HEADER, 0, FIELD(rlx_file_header, reserved), 1, "LD05" },
    { "unknown kind", ROW, RLX_SECTION_PLACES, FIELD(rlx_file_section, kind), 99, "LD05" },
    { "kind 0", ROW, RLX_SECTION_NAMES, FIELD(rlx_file_section, kind), 0, "LD05" },
    { "one kind twice", ROW, RLX_SECTION_CODE, FIELD(rlx_file_section, kind),
      RLX_SECTION_FUNCTIONS, "LD05" },
    { "kinds out of order", ROW, RLX_SECTION_NAMES, FIELD(rlx_file_section, kind),
      RLX_SECTION_CODE, "LD05" },
    { "overlap", ROW, RLX_SECTION_CODE, FIELD(rlx_file_section, offset), 320, "LD05" },
    { "section over the table", ROW, RLX_SECTION_NAMES, FIELD(rlx_file_section, offset), 0,
      "LD05" },
    { "unaligned", ROW, RLX_SECTION_NAMES, FIELD(rlx_file_section, offset), 321, "LD05" },
    { "offset beyond the end", ROW, RLX_SECTION_DESCS, FIELD(rlx_file_section, offset) + HIGH, 1,
      "LD05" },
    { "offset near 2^64", ROW, RLX_SECTION_DESCS, FIELD(rlx_file_section, offset) + HIGH,
      UINT32_MAX, "LD05" },
    { "length near 2^64", ROW, RLX_SECTION_CODE, FIELD(rlx_file_section, length) + HIGH,
      UINT32_MAX, "LD05" },
    { "shorter section", ROW, RLX_SECTION_KERNELS, FIELD(rlx_file_section, length), 64, "LD05" },
    { "reserved word", ROW, RLX_SECTION_CODE, FIELD(rlx_file_section, reserved), 1, "LD05" },
    { "number of names", SECTION, RLX_SECTION_NAMES, 0, UINT32_MAX, "LD17" },
    { "no names", SECTION, RLX_SECTION_NAMES, 0, 0, "LD17" },
    { "first name's place", SECTION, RLX_SECTION_NAMES, 4, 1, "LD17" },
    { "names backwards", SECTION, RLX_SECTION_NAMES, 8, 0, "LD17" },
    { "a name beyond the end", SECTION, RLX_SECTION_NAMES, 8, UINT32_MAX, "LD17" },
    { "name of a function", SECTION, RLX_SECTION_FUNCTIONS, F(name), 0x10000, "LD16" },
    { "no name of a function", SECTION, RLX_SECTION_FUNCTIONS, F(name), RLX_NO_INDEX, "LD16" },
    { "flags", SECTION, RLX_SECTION_FUNCTIONS, F(flags), 8, "LD16" },
    { "a Relax function as a kernel", SECTION, RLX_SECTION_FUNCTIONS, F(flags),
      RLX_FUNCTION_KERNEL, "LD16" },
    { "code beyond the end", SECTION, RLX_SECTION_FUNCTIONS, F(code), 0x7fffffff, "LD16" },
    { "code over the end", SECTION, RLX_SECTION_FUNCTIONS, F(code_len), 0x10000, "LD16" },
    { "no code", SECTION, RLX_SECTION_FUNCTIONS, F(code_len), 0, "LD16" },
    { "code from the middle of an instruction", SECTION, RLX_SECTION_FUNCTIONS, F(code), 1, "LD" },
    { "more parameters", SECTION, RLX_SECTION_FUNCTIONS, F(num_params), 3, "LD16" },
    { "2^32 - 1 parameters", SECTION, RLX_SECTION_FUNCTIONS, F(num_params), UINT32_MAX, "LD16" },
    { "2^24 registers", SECTION, RLX_SECTION_FUNCTIONS, F(num_regs), RLX_MAX_REGISTERS, "LD16" },
    { "2^32 - 1 registers", SECTION, RLX_SECTION_FUNCTIONS, F(num_regs), UINT32_MAX, "LD16" },
    { "2 registers", SECTION, RLX_SECTION_FUNCTIONS, F(num_regs), 2, "LD07" },
    { "2^24 symbols", SECTION, RLX_SECTION_FUNCTIONS, F(num_syms), RLX_MAX_SYMBOLS, "LD16" },
    { "no symbols", SECTION, RLX_SECTION_FUNCTIONS, F(num_syms), 0, "LD16" },
    { "parameters nowhere", SECTION, RLX_SECTION_FUNCTIONS, F(params), RLX_NO_INDEX, "LD16" },
    { "parameters from the middle", SECTION, RLX_SECTION_FUNCTIONS, F(params), 1, "LD16" },
    { "result nowhere", SECTION, RLX_SECTION_FUNCTIONS, F(result), 0x1000, "LD16" },
    { "signature nowhere", SECTION, RLX_SECTION_FUNCTIONS, F(signature), 0x1000, "LD16" },
    { "reserved word of a function", SECTION, RLX_SECTION_FUNCTIONS, F(reserved), 1, "LD16" },
    { "number of kernels", SECTION, RLX_SECTION_KERNELS, 0, UINT32_MAX, "LD05" },
    { "a kernel's name", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(name), UINT32_MAX, "LD08" },
    { "a kernel's reserved word", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(reserved), 1,
      "LD08" },
    { "a kernel in the table", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(offset), 0, "LD08" },
    { "a kernel unaligned", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(offset), 257, "LD08" },
    { "a kernel beyond the end", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(offset) + HIGH, 1,
      "LD08" },
    { "a kernel near 2^64", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(length) + HIGH, UINT32_MAX,
      "LD08" },
    { "a kernel of no bytes", SECTION, RLX_SECTION_KERNELS, KERNEL_FIELD(length), 0, "LD08" },
    { "number of constants", SECTION, RLX_SECTION_CONSTANTS, 0, UINT32_MAX, "LD05" },
    { "kind of a constant", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(kind),
      RLX_CONSTANT_KINDS, "LD09" },
    { "a tensor of vectors", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(dtype),
      RELAX_INT32 + 0x10000, "LD09" },
    { "a tensor of another width", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(dtype),
      RELAX_INT64, "LD09" },
    { "a tensor of nothing", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(dtype), RELAX_VOID,
      "LD09" },
    { "rank 65", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(ndim), 65, "LD09" },
    { "rank 2^32 - 1", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(ndim), UINT32_MAX, "LD09" },
    { "a constant in the table", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(offset), 0,
      "LD09" },
    { "a constant unaligned", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(offset), 132,
      "LD09" },
    { "a constant near 2^64", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(offset) + HIGH,
      UINT32_MAX, "LD09" },
    { "a long constant", SECTION, RLX_SECTION_CONSTANTS, CONSTANT_FIELD(length) + HIGH, 1,
      "LD09" },
    { "an item of no words", SECTION, RLX_SECTION_DESCS, 0, 0, "LD10" },
    { "an item without content", SECTION, RLX_SECTION_DESCS, 0, 2, "LD10" },
    { "an item over the end", SECTION, RLX_SECTION_DESCS, 0, UINT32_MAX, "LD10" },
    { "an item of no type", SECTION, RLX_SECTION_DESCS, 4, 9, "LD10" },
    { "an item of 2^32 - 1 symbols", SECTION, RLX_SECTION_DESCS, 8, UINT32_MAX, "LD10" },
    { "an item of 2^32 - 1 registers", SECTION, RLX_SECTION_DESCS, 12, UINT32_MAX, "LD10" },
    { "a place behind the code", SECTION, RLX_SECTION_PLACES, 0, UINT32_MAX, "LD05" },
    { "a place of no name", SECTION, RLX_SECTION_PLACES, FIELD(rlx_file_place, binding), 0x10000,
      "LD05" },
};

static unsigned char *place_of_lie(unsigned char *file, size_t i)
{
    rlx_file_header h;
    memcpy(&h, file, sizeof h);
    if (lies[i].where == HEADER)
        return file + lies[i].at;
    for (uint32_t n = 0; n < h.num_sections; n++) {
        rlx_file_section s;
        unsigned char *row = file + sizeof h + n * sizeof s;
        memcpy(&s, row, sizeof s);
        if (s.kind == lies[i].kind)
            return (lies[i].where == ROW ? row : file + s.offset) + lies[i].at;
    }
    return NULL;
}

static void refuses_lies(void **state)
{
    image sound = compile("memory");
    unsigned char *copy = malloc(sound.size);
    expect_load(sound.data, sound.size, NULL, "the sound file");
    for (size_t i = 0; i < RLX_COUNT(lies); i++) {
        memcpy(copy, sound.data, sound.size);
        unsigned char *at = place_of_lie(copy, i);
        assert_non_null(at);
        memcpy(at, &lies[i].value, sizeof lies[i].value);
        compiled_repair(copy, sound.size);
        expect_load(copy, sound.size, lies[i].want, lies[i].what);
    }
    free(copy);
    free(sound.data);
}

/* Each section left out, empty, doubled, cut, or with the content of each other one. */
static void survives_moved_sections(void **state)
{
    enum { ROOM = 1 << 16 };
    unsigned char *out = malloc(ROOM);
    for (size_t p = 0; p < RLX_COUNT(programs); p++) {
        image i = compile(programs[p]);
        compiled_file f;
        tally t = { 0, 0, 0 };
        assert_true(compiled_unpack(i.data, i.size, &f));
        for (uint32_t a = 0; a < f.count; a++) {
            compiled_section s = f.sections[a];
            for (size_t size = 0; size < s.size; size += 1 + size / 4) {
                f.sections[a].size = size;
                drive(out, compiled_pack(&f, out, ROOM), "short section", a, &t);
            }
            for (uint32_t b = 0; b < f.count; b++) {
                f.sections[a] =
                    (compiled_section){ s.kind, f.sections[b].data, f.sections[b].size };
                if (b != a)
                    drive(out, compiled_pack(&f, out, ROOM), "section of another kind", a * 16 + b,
                          &t);
                f.sections[a] = s;
            }
            compiled_file less = { .count = 0 };
            for (uint32_t b = 0; b < f.count; b++)
                if (b != a)
                    less.sections[less.count++] = f.sections[b];
            drive(out, compiled_pack(&less, out, ROOM), "missing section", a, &t);
        }
        f.sections[f.count++] =
            (compiled_section){ RLX_SECTION_END + 5, f.sections[0].data, f.sections[0].size };
        drive(out, compiled_pack(&f, out, ROOM), "unknown section", 0, &t);
        assert_true(t.loaded > 0 && t.loaded * 4 < t.tried); /* places may be missing or short */
        f.count--;
        compiled_free(&f);
        free(i.data);
    }
    free(out);
}

/* ---- programs that run away ----------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Function 0, whose code begins at 0, takes anything and has `regs` registers. Loaded with
 * limits. */
static void load_main(kit *k, uint32_t params, uint32_t num_params, uint32_t regs, uint32_t syms)
{
    relax_vm_options o;
    relax_vm_options_init(&o, sizeof o);
    o.max_memory = (size_t)64 << 20;
    o.max_depth = 1000;
    kit_function(k, 0, "main", 0, params, num_params, regs, syms);
    kit_load_with(k, &o);
}

static void expect_end(kit *k, const char *code, double most)
{
    relax_value y;
    double begin = seconds();
    relax_vm_set_timeout(k->vm, 20000000);
    relax_status s = relax_vm_call(k->vm, "main", 4, NULL, 0, &y, &k->err);
    assert_int_not_equal(s, RELAX_OK);
    assert_string_equal(relax_error_code(k->err), code);
    double taken = seconds() - begin;
    if (taken > most)
        fail_msg("%s after %.2f s, the limit was 0.02", code, taken);
}

static void loops_end(void **state)
{
    kit kit_, *k = &kit_;
    /* an empty loop; one that makes ever deeper tuples; recursion; recursion in place; ever
     * more memory */
    for (int way = 0; way < 5; way++) {
        static const char *const want[] = { "RT12", NULL, "RT11", "RT12", "RT10" };
        kit_begin(k);
        rlx_file_writer_function(&k->w);
        uint32_t params = kit_objects(k, 0), one[] = { 0 }, size[] = { rlx_operand_imm(1 << 20) };
        RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, one, 0, 0);
        uint32_t begin = rlx_file_writer_here(&k->w);
        if (way == 1)
            RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, one, 1, 0);
        else if (way == 2)
            RLX_EMIT_LIST(&k->w, RLX_OP_CALL, one, 0, 0, 0, 0);
        else if (way == 3)
            RLX_EMIT_LIST(&k->w, RLX_OP_TAIL_CALL, one, 0, 0, 0);
        else if (way == 4) {
            RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_TENSOR, size, 1, 1, RELAX_FLOAT32);
            RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, ((uint32_t[]){ 0, 1 }), 2, 0);
        }
        uint32_t jump = EMIT(RLX_OP_JUMP, 0);
        rlx_file_writer_patch(&k->w, jump, begin);
        load_main(k, params, 0, 2, 0);
        relax_value y;
        relax_vm_set_timeout(k->vm, 20000000);
        assert_int_not_equal(relax_vm_call(k->vm, "main", 4, NULL, 0, &y, &k->err), RELAX_OK);
        if (want[way])
            assert_string_equal(relax_error_code(k->err), want[way]);
        kit_end(k);
    }
}

static uint32_t long_expr(kit *k, size_t terms)
{
    rlx_desc_expr_writer e;
    rlx_desc_expr_begin(&e, &k->w);
    rlx_desc_expr_int(&e, 1);
    for (size_t i = 0; i < terms; i++) {
        rlx_desc_expr_int(&e, (int64_t)(i & 1));
        rlx_desc_expr_put_op(&e, RLX_EXPR_MAX);
    }
    return rlx_desc_expr_end(&e);
}

/* A small file in which everything refers to the same long expression. */
static void long_expressions_end(void **state)
{
    enum { USES = 20000 };
    kit kit_, *k = &kit_;
    kit_begin(k);
    rlx_file_writer_function(&k->w);
    uint32_t params = kit_objects(k, 0), *list = malloc(USES * sizeof *list);
    uint32_t expr = long_expr(k, RLX_EXPR_MAX_WORDS / 2 - 1);
    for (size_t i = 0; i < USES; i++)
        list[i] = rlx_operand(RLX_OPERAND_EXPR, expr);
    RLX_EMIT_LIST(&k->w, RLX_OP_SHAPE, list, USES, 0);
    EMIT(RLX_OP_RETURN, 0);
    load_main(k, params, 0, 1, 0);
    expect_end(k, "RT12", 1.5);
    free(list);
    kit_end(k);
}

static void refuses_longer_expressions(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    long_expr(k, RLX_EXPR_MAX_WORDS / 2 + 1);
    assert_true(k->w.too_large); /* the writer does not write what the loader refuses */
    kit_end(k);
    kit_begin(k);
    uint32_t expr = long_expr(k, RLX_EXPR_MAX_WORDS / 2 - 1);
    int64_t dims[RLX_DESC_MAX_WORK / RLX_EXPR_MAX_WORDS + 2];
    for (size_t i = 0; i < RLX_COUNT(dims); i++)
        dims[i] = rlx_desc_dim_expr(expr);
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    rlx_desc_shape(&d, (int32_t)RLX_COUNT(dims), dims);
    rlx_desc_end(&d);
    assert_non_null(k->file = rlx_file_writer_finish(&k->w, &k->memory));
    expect_load((const unsigned char *)k->file->data, k->file->size, "LD10",
                "a description of many long expressions");
    kit_end(k);
}

/* Large copies without any jump between them. */
static void copies_end(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    rlx_file_writer_function(&k->w);
    uint32_t params = kit_objects(k, 0), size[] = { rlx_operand_imm(2 << 20) }, one[] = { 0 };
    uint32_t copy = rlx_file_writer_packed(&k->w, RLX_SLICE("vm.builtin.copy"));
    RLX_EMIT_LIST(&k->w, RLX_OP_ALLOC_TENSOR, size, 1, 0, RELAX_FLOAT32);
    for (int i = 0; i < 5000; i++)
        RLX_EMIT_LIST(&k->w, RLX_OP_CALL_BUILTIN, one, 1, 1, copy);
    EMIT(RLX_OP_RETURN, 0);
    load_main(k, params, 0, 2, 0);
    expect_end(k, "RT12", 1.5);
    kit_end(k);
}

/* 2^60 empty tuples, made of sixty objects. */
static void results_without_end_are_refused(void **state)
{
    kit kit_, *k = &kit_;
    kit_begin(k);
    rlx_file_writer_function(&k->w);
    uint32_t params = kit_objects(k, 0), pair[] = { 0, 0 };
    RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, pair, 0, 0);
    for (int i = 0; i < 60; i++)
        RLX_EMIT_LIST(&k->w, RLX_OP_TUPLE, pair, 2, 0);
    EMIT(RLX_OP_RETURN, 0);
    load_main(k, params, 0, 1, 0);
    relax_value y;
    assert_int_equal(relax_vm_call(k->vm, "main", 4, NULL, 0, &y, NULL), RELAX_OK);
    relax_value_release(&y);
    assert_int_not_equal(relax_vm_call_into(k->vm, 0, NULL, 0, NULL, 0, &k->err), RELAX_OK);
    assert_string_equal(relax_error_code(k->err), "RT07");
    kit_end(k);
}

/* ---- operands that mislead ------------------------------------------------------------------ */

/* A tensor of vectors would be longer than the scalar that fills it. */
static void builtins_refuse_vectors(void **state)
{
    for (int lanes = 1; lanes <= 2000; lanes += 1999)
        for (int way = 0; way < 2; way++) {
            kit kit_, *k = &kit_;
            kit_begin(k);
            rlx_file_writer_function(&k->w);
            uint32_t params = kit_objects(k, 0);
            uint32_t dtype = rlx_file_writer_const_scalar(
                &k->w, RLX_CONSTANT_DTYPE, rlx_dtype_make(RELAX_DTYPE_INT, 32, lanes), 0);
            int64_t two = 2;
            uint32_t first =
                way ? rlx_operand(RLX_OPERAND_CONST, rlx_file_writer_const_shape(&k->w, &two, 1))
                    : rlx_operand_imm(3);
            uint32_t list[] = { first, rlx_operand(RLX_OPERAND_CONST, dtype) };
            uint32_t fn =
                rlx_file_writer_packed(&k->w, way ? RLX_SLICE("vm.builtin.alloc_tensor")
                                                  : RLX_SLICE("vm.builtin.scalar_to_tensor"));
            RLX_EMIT_LIST(&k->w, RLX_OP_CALL_BUILTIN, list, 2, 0, fn);
            EMIT(RLX_OP_RETURN, 0);
            load_main(k, params, 0, 1, 0);
            relax_value y;
            relax_status s = relax_vm_call(k->vm, "main", 4, NULL, 0, &y, &k->err);
            assert_int_equal(s == RELAX_OK, lanes == 1);
            if (lanes > 1)
                assert_string_equal(relax_error_code(k->err), "RT19");
            relax_value_release(&y);
            kit_end(k);
        }
}

static void refuses_dtypes_without_bits(void **state)
{
    static const rlx_dtype dtypes[] = { RELAX_INT32, 0x10000, 0x10001, 0x10000 | 65 << 8,
                                        0x10001 | 255 << 8 };
    for (size_t i = 0; i < RLX_COUNT(dtypes); i++)
        for (int cast = 0; cast < 2; cast++) {
            kit kit_, *k = &kit_;
            kit_begin(k);
            if (cast) {
                rlx_desc_expr_writer e;
                rlx_desc_expr_begin(&e, &k->w);
                rlx_desc_expr_int(&e, 5);
                rlx_desc_expr_cast(&e, dtypes[i]);
                rlx_desc_expr_end(&e);
            } else {
                rlx_desc_writer d;
                rlx_desc_begin(&d, &k->w);
                rlx_desc_prim(&d, dtypes[i], NULL);
                rlx_desc_end(&d);
            }
            assert_non_null(k->file = rlx_file_writer_finish(&k->w, &k->memory));
            expect_load((const unsigned char *)k->file->data, k->file->size, i ? "LD10" : NULL,
                        cast ? "cast" : "scalar");
            kit_end(k);
        }
}

/* One long name shared by many instructions must not make a listing of gigabytes. */
static void listings_stay_in_proportion(void **state)
{
    enum { NAME = 100000, CALLS = 5000 };
    kit kit_, *k = &kit_;
    char *name = malloc(NAME + 1);
    memset(name, 'x', NAME);
    name[NAME] = 0;
    kit_begin(k);
    rlx_file_writer_function(&k->w);
    uint32_t params = kit_objects(k, 0), packed = rlx_file_writer_packed(&k->w, rlx_slice_z(name));
    for (int i = 0; i < CALLS; i++)
        RLX_EMIT_LIST(&k->w, RLX_OP_CALL_PACKED, &packed, 0, 0, packed);
    EMIT(RLX_OP_RETURN, 0);
    load_main(k, params, 0, 1, 0);
    relax_bytes *text = NULL;
    assert_int_equal(relax_executable_disassemble(k->exe, &text, NULL), RELAX_OK);
    assert_true(relax_bytes_size(text) < (2 << 20) + 64 * k->file->size);
    assert_non_null(strstr(relax_bytes_data(text), "too long"));
    relax_bytes_release(text);
    free(name);
    kit_end(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(refuses_every_length),
        cmocka_unit_test(refuses_files_too),
        cmocka_unit_test(refuses_lies),
        cmocka_unit_test(survives_moved_sections),
        cmocka_unit_test(loops_end),
        cmocka_unit_test(long_expressions_end),
        cmocka_unit_test(refuses_longer_expressions),
        cmocka_unit_test(copies_end),
        cmocka_unit_test(results_without_end_are_refused),
        cmocka_unit_test(builtins_refuse_vectors),
        cmocka_unit_test(refuses_dtypes_without_bits),
        cmocka_unit_test(listings_stay_in_proportion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
