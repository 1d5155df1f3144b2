/* native_process: compilers as child processes.
 *
 * A child gets an argument vector and no shell, no descriptor but its own three, default
 * signals, and a process group of its own, so that ending it ends what it has started. What it
 * may take is limited as soon as it runs, before it can have started another. Whether
 * it is done is seen from its pipe and from waitpid; where the host ignores SIGCHLD, waitpid
 * knows nothing, and the caller judges by the output file. */
#include "codegen/native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20            /* between two looks at the clock and the cancel flag */
#define MOST_SAID ((size_t)16384)

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool set_attributes(posix_spawnattr_t *a)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    return !posix_spawnattr_setsigmask(a, &none) && !posix_spawnattr_setsigdefault(a, &all) &&
           !posix_spawnattr_setpgroup(a, 0) &&
           !posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);
}

static bool set_files(posix_spawn_file_actions_t *f, int output)
{
    bool ok = !posix_spawn_file_actions_addopen(f, 0, "/dev/null", O_RDONLY, 0) &&
              !posix_spawn_file_actions_adddup2(f, output, 1) &&
              !posix_spawn_file_actions_adddup2(f, output, 2);
#ifdef RLX_HAS_CLOSEFROM
    ok = ok && !posix_spawn_file_actions_addclosefrom_np(f, 3);
#endif
    return ok;
}

static int spawn(char *const *argv, char *const *environment, int output, int *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files))
        return ENOMEM;
    int failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = set_attributes(&attributes) && set_files(&files, output)
                     ? posix_spawn(pid, argv[0], &files, &attributes, argv, environment)
                     : ENOMEM;
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static void lower(int pid, int what, uint64_t most)
{
    struct rlimit now;
    if (prlimit(pid, what, NULL, &now) || now.rlim_cur <= most)
        return;
    now.rlim_cur = (rlim_t)most;
    prlimit(pid, what, &now, NULL);
}

/* Processor time: for one that nobody waits for any more, as its parent was killed. */
static void set_limits(int pid, const rlx_process_limits *limits)
{
    lower(pid, RLIMIT_AS, limits->memory);
    lower(pid, RLIMIT_CPU, (uint64_t)limits->seconds * 2 + 2);
}

bool rlx_process_start(rlx_process *p, char *const *argv, char *const *environment,
                       const rlx_process_limits *limits, rlx_buf *said, const char **why)
{
    int ends[2], saved = errno, pid = 0;
    *p = (rlx_process){ .output = -1, .said = said };
    if (pipe2(ends, O_CLOEXEC)) {
        errno = saved;
        *why = "no pipe to hear what it says";
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int failed = spawn(argv, environment, ends[1], &pid);
    close(ends[1]);
    errno = saved;
    if (failed) {
        close(ends[0]);
        *why = failed == ENOENT   ? "there is no such program"
               : failed == EACCES ? "it may not be executed"
                                  : "it cannot be started";
        return false;
    }
    set_limits(pid, limits);
    errno = saved;
    p->pid = pid;
    p->output = ends[0];
    return true;
}

/* Reads what is there. */
static void listen(rlx_process *p)
{
    char part[2048];
    for (;;) {
        ssize_t n = read(p->output, part, sizeof part);
        if (n > 0) {
            size_t room = p->said->len < MOST_SAID ? MOST_SAID - p->said->len : 0;
            rlx_buf_put(p->said, part, (size_t)n < room ? (size_t)n : room);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else {
            if (n == 0 || errno != EAGAIN) {
                close(p->output);
                p->output = -1;
            }
            return;
        }
    }
}

static void look(rlx_process *p)
{
    int status, got;
    if (p->ended)
        return;
    do
        got = waitpid(p->pid, &status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return;
    /* ECHILD: somebody else, or the system, has its status; then it has ended once its pipe is
     * closed */
    if (got < 0 && p->output >= 0)
        return;
    p->ended = true;
    p->ok = got < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void finish(rlx_process *p)
{
    if (p->output >= 0)
        listen(p);
    if (p->output >= 0) { /* something that it has started still holds the pipe */
        kill(-p->pid, SIGKILL);
        close(p->output);
        p->output = -1;
    }
}

static void end_now(rlx_process *p)
{
    int status;
    if (!p->ended) {
        kill(-p->pid, SIGKILL);
        while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
            ;
        p->ended = true;
    }
    if (p->output >= 0)
        close(p->output);
    p->output = -1;
}

static size_t step(rlx_process *p, size_t count)
{
    struct pollfd fds[8];
    size_t n = 0, left = 0;
    for (size_t i = 0; i < count && n < RLX_COUNT(fds); i++)
        if (p[i].output >= 0 && !p[i].ended)
            fds[n++] = (struct pollfd){ .fd = p[i].output, .events = POLLIN };
    poll(fds, (nfds_t)n, n ? TICK_MS : 1); /* pipe closed, status not there yet: soon */
    for (size_t i = 0; i < count; i++) {
        if (p[i].ended)
            continue;
        if (p[i].output >= 0)
            listen(&p[i]);
        look(&p[i]);
        if (p[i].ended)
            finish(&p[i]);
        left += !p[i].ended;
    }
    return left;
}

const char *rlx_process_wait(rlx_process *p, size_t count, double seconds,
                             int32_t (*cancelled)(void *user), void *user)
{
    int saved = errno;
    int64_t until = now_ms() + (int64_t)(seconds * 1000);
    const char *why = NULL;
    while (step(p, count)) {
        if (cancelled && cancelled(user))
            why = "it was cancelled";
        else if (now_ms() > until)
            why = "it took too long and was stopped";
        if (why)
            break;
    }
    for (size_t i = 0; i < count; i++)
        end_now(&p[i]);
    errno = saved;
    return why;
}

/* Numbers of processes are used again: its environment says whether it is the one. */
void rlx_process_end_stray(int pid, const char *directory)
{
    char name[32], variable[RLX_DIRECTORY_PATH + 16], text[32768];
    int n = snprintf(variable, sizeof variable, "%cTMPDIR=%s", 0, directory);
    snprintf(name, sizeof name, "/proc/%d/environ", pid);
    int fd = pid > 1 && n > 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    size_t len = 1; /* the first one follows nothing: a NUL */
    ssize_t got = 0;
    text[0] = 0;
    while (fd >= 0 && len < sizeof text && (got = read(fd, text + len, sizeof text - len)) > 0)
        len += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (memmem(text, len, variable, (size_t)n + 1))
        kill(-pid, SIGKILL);
}
