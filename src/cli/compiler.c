/* compiler.c: how the tool has kernels compiled: which target, which compiler, where compiled
 * kernels are kept. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char *command(void)
{
    const char *cc = getenv("RELAX_CC");
    return cc ? cc : "cc";
}

static bool is_executable(const char *dir, size_t dir_len, const char *name, size_t len)
{
    char path[4096];
    struct stat s;
    if (dir_len + len + 2 > sizeof path)
        return false;
    snprintf(path, sizeof path, "%.*s%s%.*s", (int)dir_len, dir, dir_len ? "/" : "", (int)len,
             name);
    return stat(path, &s) == 0 && S_ISREG(s.st_mode) && access(path, X_OK) == 0;
}

/* Is there a compiler? Only its first word is looked at; one in quotes is believed. Only absolute
 * parts of PATH count, as for the library. */
static bool has_compiler(void)
{
    const char *name = command(), *path = getenv("PATH");
    name += strspn(name, " \t");
    size_t len = strcspn(name, " \t");
    if (!len || *name == '"' || *name == '\'')
        return len > 0;
    if (memchr(name, '/', len))
        return is_executable("", 0, name, len);
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; p;
         p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL)
        if (*p == '/' && is_executable(p, strcspn(p, ":"), name, len))
            return true;
    return false;
}

/* XDG_CACHE_HOME/relax or HOME/.cache/relax; NULL: nowhere. */
static const char *cache_directory(char *out, size_t size)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (base && *base == '/')
        n = snprintf(out, size, "%s", base);
    else if (home && *home == '/')
        n = snprintf(out, size, "%s/.cache", home);
    else
        return NULL;
    if (n < 0 || (size_t)n > size - 8 || (mkdir(out, 0700) && errno != EEXIST))
        return NULL;
    memcpy(out + n, "/relax", 7);
    return out;
}

bool cli_is_for_interpreter(const cli *c)
{
    return c->target ? !strcmp(c->target, "interp") : !has_compiler();
}

void cli_target(const cli *c, relax_compile_options *o)
{
    static char cache[4096]; /* lives as long as the options */
    bool chosen = c->target != NULL;
    o->target = chosen ? c->target : has_compiler() ? "c" : "interp";
    o->allow_compiler = 1;
    o->compiler = command();
    o->environment = (const char *const *)environ;
    o->cpu = c->cpu ? c->cpu : "native";
    o->unchecked = c->unchecked;
    if (c->timeout > 0)
        o->compiler_seconds = c->timeout;
    o->compiler_memory = (uint64_t)c->compiler_memory;
    o->cancelled = cli_is_ended;
    o->temp_dir = getenv("TMPDIR");
    if (o->temp_dir && *o->temp_dir != '/')
        o->temp_dir = NULL;
    o->cache_dir = c->cache ? (*c->cache ? c->cache : NULL) : cache_directory(cache, sizeof cache);
}
