/*- bench_start: how long a command takes from its start to its end.
 *
 *     bench_start KEY RUNS COMMAND [ARGUMENT...]
 *
 * Its output is dropped; it must exit 0. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { MOST_RUNS = 1000 };
extern char **environ;

static double run(char **command, posix_spawn_file_actions_t *quiet)
{
    pid_t child;
    int status = 0;
    double start = bench_now();
    if (posix_spawn(&child, command[0], quiet, NULL, command, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        bench_die(command[0], "did not run, or failed");
    return bench_now() - start;
}

int main(int argc, char **argv)
{
    static double times[MOST_RUNS];
    int runs = argc > 3 ? atoi(argv[2]) : 0;
    if (runs < 1 || runs > MOST_RUNS)
        bench_die("usage", "bench_start KEY RUNS COMMAND [ARGUMENT...]");
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    run(argv + 3, &quiet); /* the first one fills the page cache */
    for (int i = 0; i < runs; i++)
        times[i] = run(argv + 3, &quiet);
    bench_times(argv[1], times, runs, 1e3, "ms");
    posix_spawn_file_actions_destroy(&quiet);
    return 0;
}
