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
    return !c->target || !strcmp(c->target, "interp");
}

void cli_target(const cli *c, relax_compile_options *o)
{
    static char cache[4096]; /* lives as long as the options */
    o->target = c->target ? c->target : "interp";
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
