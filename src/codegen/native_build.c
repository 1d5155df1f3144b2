/* native_build: units of source to shared objects.
 *
 * What is not in the cache is compiled in a private directory, all units at a time, one process
 * each. The directory is also the compiler's TMPDIR, so that nothing stays behind of a compiler
 * that was stopped. */
#include "codegen/native_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORDS 64
#define MAX_UNITS 8
#define MAX_PATH 4096
#define MAX_OBJECT ((size_t)1 << 28)
#define SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"

static const char *const flags[] = { "-std=c99",
                                     "-O3",
                                     "-fwrapv",
                                     "-fno-strict-aliasing",
                                     "-ffp-contract=off",
                                     "-fno-math-errno",
                                     "-fno-trapping-math",
                                     "-fPIC",
                                     "-shared",
                                     "-w" };
/* Of GCC: two bounds one after the other stay two instructions. Others refuse what they do not know. */
static const char tuning[] = "-fno-thread-jumps";
static const char failing[] = "it failed";

typedef struct build {
    rlx_context *ctx;
    const rlx_native_options *o;
    rlx_buf text;                     /* of words and variables, one NUL behind each */
    size_t word_at[MAX_WORDS];
    size_t num_words;
    rlx_buf program;                  /* path of the first word */
    RLX_VEC(char *) environment;
    rlx_directory directory;
    rlx_buf said;
    const char *why;                  /* static text */
    bool malformed;                   /* the command: not the compiler's fault */
    bool untuned;                     /* the compiler is not GCC, or might not be */
} build;

bool rlx_native_may_compile(void)
{
    return !getauxval(AT_SECURE) && geteuid() == getuid() && getegid() == getgid();
}

static bool failed(build *b, const char *why)
{
    if (!b->why)
        b->why = why;
    return false;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* The words of a command: blanks part them, quotes and \ keep what they do in a shell. No
 * variables, no globs. */
static bool split_command(build *b, const char *p)
{
    while (*p) {
        while (*p == ' ' || *p == '\t')
            p++;
        if (!*p)
            break;
        if (b->num_words == MAX_WORDS - 32)
            return failed(b, "its command has too many words");
        b->word_at[b->num_words++] = b->text.len;
        char quote = 0;
        for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
            if (quote ? *p == quote : *p == '\'' || *p == '"')
                quote = quote ? 0 : *p;
            else if (*p == '\\' && quote != '\'' && p[1])
                rlx_buf_char(&b->text, *++p);
            else
                rlx_buf_char(&b->text, *p);
        }
        rlx_buf_char(&b->text, 0);
        b->malformed |= quote != 0;
    }
    if (b->malformed)
        return failed(b, "a quote in its command is not closed");
    return b->num_words ? true : failed(b, "no C compiler is named");
}

static const char *variable(const build *b, const char *name)
{
    size_t len = strlen(name);
    for (const char *const *e = b->o->environment; e && *e; e++)
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return *e + len + 1;
    return NULL;
}

static bool is_program(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* The next part of a list of directories that is absolute: an empty or relative one would take
 * programs from wherever the process happens to be. */
static const char *next_directory(const char *path, size_t *len)
{
    while (path && *path) {
        *len = strcspn(path, ":");
        if (*path == '/')
            return path;
        path += *len + (path[*len] == ':');
    }
    return NULL;
}

/* Where the program is. */
static bool find_program(const build *b, const char *name, rlx_buf *out)
{
    const char *path = variable(b, "PATH");
    out->len = 0;
    if (strchr(name, '/')) {
        rlx_buf_z(out, name);
        return !out->failed && is_program(out->data);
    }
    size_t n;
    for (const char *p = path ? path : SYSTEM_PATH; (p = next_directory(p, &n)) != NULL; p += n) {
        out->len = 0;
        rlx_buf_format(out, "%.*s/%s", (int)(n < MAX_PATH ? n : MAX_PATH), p, name);
        if (out->failed)
            return false;
        if (is_program(out->data))
            return true;
    }
    return false;
}

static bool read_command(build *b)
{
    const char *command = b->o->compiler ? b->o->compiler : "cc";
    if (!split_command(b, command) || b->text.failed)
        return b->text.failed ? false : false;
    if (find_program(b, b->text.data + b->word_at[0], &b->program))
        return true;
    return b->program.failed ? false : failed(b, "there is no such program");
}

/* ---- what an object depends on -------------------------------------------------------------- */

static void add_text(rlx_sha256_state *s, const char *text)
{
    rlx_sha256_add(s, text, strlen(text) + 1);
}

/* A program is known by its place, size and time: asking it for its version would be another
 * process. */
static void add_program(rlx_sha256_state *s, const char *path)
{
    char text[160];
    struct stat st;
    if (stat(path, &st))
        return;
    snprintf(text, sizeof text, "%llu %llu %lld %lld.%09ld", (unsigned long long)st.st_dev,
             (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
             (long)st.st_mtim.tv_nsec);
    add_text(s, path);
    add_text(s, text);
}

static bool is_native(const build *b)
{
    return b->o->cpu && strcmp(b->o->cpu, "native") == 0;
}

/* False: out of memory, and then it may lack a program. */
static bool make_key(build *b, const rlx_native_unit *u, char key[2 * RLX_SHA256_BYTES + 1])
{
    unsigned char digest[RLX_SHA256_BYTES];
    char cpu[RLX_CPU_TEXT] = "";
    rlx_sha256_state s;
    rlx_buf path;
    rlx_buf_init(&path, &b->ctx->memory);
    rlx_sha256_begin(&s);
    add_text(&s, "librelax " RLX_VERSION);
    add_text(&s, rlx_cpu_target());
    if (is_native(b))
        rlx_cpu_features(cpu);
    add_text(&s, cpu);
    for (size_t i = 0; i < RLX_COUNT(flags); i++)
        add_text(&s, flags[i]);
    add_text(&s, tuning);
    for (size_t i = 0; i < b->num_words; i++) {
        const char *word = b->text.data + b->word_at[i];
        add_text(&s, word);
        if (word[0] != '-' && find_program(b, word, &path)) /* a wrapper, and what it wraps */
            add_program(&s, path.data);
    }
    rlx_sha256_add(&s, u->source.data, u->source.len);
    rlx_sha256_end(&s, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(key + 2 * i, 3, "%02x", digest[i]);
    bool ok = !path.failed;
    rlx_buf_free(&path);
    return ok;
}

/* ---- running it ----------------------------------------------------------------------------- */

static bool make_directory(build *b)
{
    return rlx_directory_make(&b->directory, b->o->temp_dir ? b->o->temp_dir : "/tmp") ||
           failed(b, "no temporary directory can be made");
}

/* PATH without what next_directory leaves out. */
static void put_path(build *b)
{
    const char *path = variable(b, "PATH"), *p;
    size_t n, begin = b->text.len;
    for (p = path ? path : SYSTEM_PATH; (p = next_directory(p, &n)) != NULL; p += n) {
        rlx_buf_z(&b->text, b->text.len > begin ? ":" : "PATH=");
        rlx_buf_put(&b->text, p, n);
    }
    rlx_buf_z(&b->text, b->text.len > begin ? "" : "PATH=" SYSTEM_PATH);
    rlx_buf_char(&b->text, 0);
}

/* The variables of the host, but for the three that we choose. */
static bool make_environment(build *b)
{
    static const char *const ours[] = { "TMPDIR=", "LC_ALL=", "PATH=" };
    rlx_memory *m = &b->ctx->memory;
    size_t at = b->text.len;
    bool ok = true;
    rlx_buf_format(&b->text, "TMPDIR=%s%cLC_ALL=C%c", b->directory.path, 0, 0);
    put_path(b);
    if (b->text.failed)
        return false;
    for (const char *const *e = b->o->environment; ok && e && *e; e++) {
        bool chosen = false;
        for (size_t i = 0; i < RLX_COUNT(ours); i++)
            chosen |= strncmp(*e, ours[i], strlen(ours[i])) == 0;
        ok = chosen || rlx_vec_push(m, &b->environment, (char *)(uintptr_t)*e);
    }
    for (char *own = b->text.data + at; ok && own < b->text.data + b->text.len;
         own += strlen(own) + 1)
        ok = rlx_vec_push(m, &b->environment, own);
    return ok && rlx_vec_push(m, &b->environment, NULL);
}

static bool write_file(build *b, const char *path, const rlx_buf *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t at = 0;
    while (fd >= 0 && at < content->len) {
        ssize_t n = write(fd, content->data + at, content->len - at);
        if (n <= 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    bool ok = fd >= 0 && at == content->len;
    if (fd >= 0 && close(fd))
        ok = false;
    return ok || failed(b, errno == ENOSPC ? "there is no room for its input"
                                           : "its input cannot be written");
}

static bool start(build *b, rlx_process *p, size_t number)
{
    char source[MAX_PATH], object[MAX_PATH], libm[] = "-lm", march[] = "-march=native",
                                             output[] = "-o";
    char *argv[MAX_WORDS];
    size_t n = 0;
    snprintf(source, sizeof source, "%.*s/k%zu.c", (int)(sizeof source - 32), b->directory.path,
             number);
    snprintf(object, sizeof object, "%.*s/k%zu.so", (int)(sizeof object - 32), b->directory.path,
             number);
    argv[n++] = b->program.data;
    for (size_t i = 1; i < b->num_words; i++)
        argv[n++] = b->text.data + b->word_at[i];
    for (size_t i = 0; i < RLX_COUNT(flags); i++)
        argv[n++] = (char *)(uintptr_t)flags[i];
    if (!b->untuned)
        argv[n++] = (char *)(uintptr_t)tuning;
    if (is_native(b))
        argv[n++] = march;
    argv[n++] = output;
    argv[n++] = object;
    argv[n++] = source;
    argv[n++] = libm;
    argv[n] = NULL;
    const char *why;
    rlx_process_limits limits = { b->o->memory, b->o->seconds };
    return rlx_process_start(p, argv, b->environment.data, &limits, &b->said, &why) ||
           failed(b, why);
}

/* A regular file of ours, whole. */
static bool read_file(int fd, rlx_buf *out)
{
    struct stat s;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_size <= 0 ||
        (uint64_t)s.st_size > MAX_OBJECT || !rlx_buf_grow(out, (size_t)s.st_size))
        return false;
    while (out->len < (size_t)s.st_size) {
        ssize_t n = pread(fd, out->data + out->len, (size_t)s.st_size - out->len, (off_t)out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        out->len += (size_t)n;
    }
    return true;
}

static bool has_text(const rlx_buf *b, const char *text)
{
    return memmem(b->data, b->len, text, strlen(text)) != NULL;
}

static bool fits(const rlx_native_unit *u)
{
    return rlx_native_is_object(u->object.data, u->object.len) && has_text(&u->object, u->key) &&
           has_text(&u->object, RLX_NATIVE_SYMBOL);
}

static bool collect(build *b, rlx_native_unit *u, const rlx_process *p, size_t number)
{
    char path[MAX_PATH];
    if (!p->ok)
        return failed(b, failing);
    snprintf(path, sizeof path, "%.*s/k%zu.so", (int)(sizeof path - 32), b->directory.path, number);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool ok = fd >= 0 && read_file(fd, &u->object);
    if (fd >= 0)
        close(fd);
    if (u->object.failed)
        return false;
    if (!ok)
        return failed(b, "it said that all was well and made nothing");
    return fits(u) ||
           failed(b, "what it made is no shared object of these kernels for this machine");
}

static bool compile_once(build *b, rlx_native_unit **units, size_t count, uint32_t *started,
                         bool *cancelled)
{
    rlx_process p[MAX_UNITS];
    size_t n = 0;
    *cancelled = b->o->cancelled && b->o->cancelled(b->o->user);
    if (*cancelled)
        return false;
    bool ok = make_directory(b) && make_environment(b);
    for (size_t i = 0; i < count && ok; i++) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%.*s/k%zu.c", (int)(sizeof path - 32), b->directory.path, i);
        ok = write_file(b, path, &units[i]->source) && start(b, &p[n], i);
        n += ok;
    }
    *started += (uint32_t)n;
    const char *why =
        n ? rlx_process_wait(p, n, ok ? b->o->seconds : 0, b->o->cancelled, b->o->user) : NULL;
    *cancelled = ok && why && b->o->cancelled && b->o->cancelled(b->o->user);
    if (why && ok)
        ok = failed(b, why);
    for (size_t i = 0; i < count && ok; i++)
        ok = collect(b, units[i], &p[i], i);
    rlx_directory_remove(&b->directory);
    return ok;
}

/* Who fails may not know what the code is tuned by. */
static bool compile(build *b, rlx_native_unit **units, size_t count, uint32_t *started,
                    bool *cancelled)
{
    b->untuned = strstr(b->program.data, "clang") != NULL;
    bool ok = compile_once(b, units, count, started, cancelled);
    if (ok || b->untuned || *cancelled || b->why != failing)
        return ok;
    b->untuned = true;
    b->why = NULL;
    b->said.len = 0;
    for (size_t i = 0; i < count; i++)
        rlx_buf_free(&units[i]->object);
    b->environment.len = 0;
    return compile_once(b, units, count, started, cancelled);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool from_cache(rlx_cache *c, const char *key, rlx_native_unit *u)
{
    if (!rlx_cache_get(c, key, &u->object))
        return false;
    if (fits(u))
        return true;
    rlx_buf_free(&u->object);
    return false;
}

static bool build_units(build *b, rlx_native_unit *units, size_t count, uint32_t *started,
                        bool *cancelled)
{
    char keys[MAX_UNITS][2 * RLX_SHA256_BYTES + 1];
    rlx_native_unit *missing[MAX_UNITS];
    size_t missing_key[MAX_UNITS], n = 0;
    rlx_cache cache;
    rlx_cache_open(&cache, b->o->cache_dir, b->o->cache_bytes);
    if (cache.why)
        rlx_report(b->ctx, RLX_CG17, RLX_SEVERITY_WARNING, RLX_NO_PLACE,
                   "compiled kernels are not kept in %.200s: %s", b->o->cache_dir, cache.why);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        ok = make_key(b, &units[i], keys[i]);
        if (ok && !from_cache(&cache, keys[i], &units[i])) {
            ok = !units[i].object.failed;
            missing_key[n] = i;
            missing[n++] = &units[i];
        }
    }
    ok = ok && (!n || compile(b, missing, n, started, cancelled));
    for (size_t i = 0; i < n && ok; i++)
        rlx_cache_put(&cache, keys[missing_key[i]], &missing[i]->object);
    rlx_cache_close(&cache);
    return ok;
}

static void report(build *b)
{
    const char *command = b->o->compiler ? b->o->compiler : "cc";
    if (b->malformed) {
        rlx_error(b->ctx, RLX_OP05, RLX_NO_PLACE, "C compiler %.200s: %s", command, b->why);
        return;
    }
    rlx_report(b->ctx, RLX_CG13, RLX_SEVERITY_WARNING, RLX_NO_PLACE,
               "C compiler %.200s: %s; kernels are interpreted", command, b->why);
    if (b->said.len && !b->said.failed)
        rlx_note(b->ctx, RLX_NO_PLACE, "it said: %.*s",
                 (int)(b->said.len < 800 ? b->said.len : 800), b->said.data);
}

bool rlx_native_compile(rlx_context *ctx, const rlx_native_options *o, rlx_native_unit *units,
                        size_t count, uint32_t *started, bool *cancelled)
{
    build b = { .ctx = ctx, .o = o };
    int saved = errno;
    rlx_buf *buffers[] = { &b.text, &b.program, &b.said };
    *cancelled = false;
    for (size_t i = 0; i < RLX_COUNT(buffers); i++)
        rlx_buf_init(buffers[i], &ctx->memory);
    bool ok =
        count <= MAX_UNITS &&
        (rlx_native_may_compile() || failed(&b, "a process with raised privileges starts none")) &&
        read_command(&b) && build_units(&b, units, count, started, cancelled);
    if (!ok && !*cancelled && b.why)
        report(&b);
    for (size_t i = 0; i < RLX_COUNT(buffers); i++)
        rlx_buf_free(buffers[i]);
    rlx_vec_free(&ctx->memory, &b.environment);
    errno = saved;
    return ok;
}
