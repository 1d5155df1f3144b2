/* native_process: compilers as child processes.
 *
 * A child gets an argument vector and no shell, no descriptor but its own three, default
 * signals, limits, its end when we end, and a process group of its own, so that ending it ends
 * what it has started. posix_spawn knows neither limits nor the end of a parent, and set from
 * here they would come too late: hence vfork, with nothing but system calls in the child. Whether
 * it is done is seen from its pipe and from waitpid; where the host ignores SIGCHLD, waitpid
 * knows nothing, and the caller judges by the output file. */
#include "codegen/native_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
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

/* ---- in the child: the memory is the parent's, so nothing is written but what is its own ---- */

typedef struct start {
    char *const *argv, *const *environment;
    rlx_process_limits limits;
    int output;
    pid_t parent;
    volatile int failed; /* the child tells the parent */
} start;

static void lower(int what, uint64_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) || now.rlim_cur <= most)
        return;
    now.rlim_cur = (rlim_t)most;
    setrlimit(what, &now);
}

/* Standard input is empty, the other two are the pipe, more there is not. */
static bool set_files(int output)
{
    output = fcntl(output, F_DUPFD, 3); /* out of the way of the three */
    int none = open("/dev/null", O_RDONLY);
    if (output < 0 || none < 0 || dup2(none, 0) || dup2(output, 1) != 1 || dup2(output, 2) != 2)
        return false;
#ifdef RLX_HAS_CLOSEFROM
    if (close_range(3, ~0u, 0) == 0)
        return true;
#endif
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    return true;
}

static void set_signals(void)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t none;
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &action, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Processor time is for one that nobody waits for any more. */
static void become(start *s)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != s->parent || setpgid(0, 0) ||
        !set_files(s->output))
        s->failed = ENOMEM;
    else {
        lower(RLIMIT_AS, s->limits.memory);
        lower(RLIMIT_CPU, (uint64_t)s->limits.seconds * 2 + 2);
        set_signals();
        execve(s->argv[0], s->argv, s->environment);
        s->failed = errno;
    }
    _exit(127);
}

/* ---- in the parent -------------------------------------------------------------------------- */

/* No handler of the host runs in the child, and no thread is ended meanwhile. */
static int spawn(start *s, int *pid)
{
    sigset_t all, before;
    int cancel;
    sigfillset(&all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = vfork();
    if (child == 0)
        become(s);
    int failed = child < 0 ? errno : s->failed;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_setcancelstate(cancel, NULL);
    if (child > 0 && failed)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    *pid = child;
    return failed;
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
    start how = { argv, environment, *limits, ends[1], getpid(), 0 };
    int failed = spawn(&how, &pid);
    close(ends[1]);
    errno = saved;
    if (failed) {
        close(ends[0]);
        *why = failed == ENOENT   ? "there is no such program"
               : failed == EACCES ? "it may not be executed"
                                  : "it cannot be started";
        return false;
    }
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
            size_t space = p->said->len < MOST_SAID ? MOST_SAID - p->said->len : 0;
            rlx_buf_put(p->said, part, (size_t)n < space ? (size_t)n : space);
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

static size_t poll_processes(rlx_process *p, size_t count)
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
    while (poll_processes(p, count)) {
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

/* ---- of somebody who is gone ---------------------------------------------------------------- */

/* Does a process have this variable, "TMPDIR=..." behind a NUL and in front of one? */
static bool has_variable(int proc, const char *pid, const char *variable, size_t size)
{
    char name[32], text[32768] = ""; /* the first one follows nothing: a NUL */
    size_t len = 1;
    ssize_t got = 0;
    snprintf(name, sizeof name, "%.15s/environ", pid);
    int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && len < sizeof text && (got = read(fd, text + len, sizeof text - len)) > 0)
        len += (size_t)got;
    if (fd >= 0)
        close(fd);
    return memmem(text, len, variable, size) != NULL;
}

static int to_pid(const char *name)
{
    int pid = 0;
    for (; *name >= '0' && *name <= '9' && pid < 100000000; name++)
        pid = pid * 10 + *name - '0';
    return *name ? 0 : pid;
}

void rlx_process_end_strays(const char *directory)
{
    char variable[RLX_DIRECTORY_PATH + 16];
    int n = snprintf(variable, sizeof variable, "%cTMPDIR=%s", 0, directory);
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rlx_listing l;
    if (proc < 0)
        return;
    rlx_listing_begin(&l, proc);
    for (const char *name = rlx_listing_next(&l); name; name = rlx_listing_next(&l)) {
        int pid = to_pid(name);
        if (pid > 1 && pid != getpid() && has_variable(proc, name, variable, (size_t)n + 1))
            kill(pid, SIGKILL);
    }
    close(proc);
}
