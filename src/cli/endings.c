/* endings.c: what the tool takes with it when a signal ends it: compilers and their directory, a
 * file that is not whole yet. Signals that its caller has it ignore stay ignored. */
#include "cli/cli.h"

#include <signal.h>
#include <unistd.h>

static const int endings[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
#define COUNT (sizeof endings / sizeof endings[0])

/* A handler has no other way to what it is about. */
static struct sigaction before[COUNT];
static bool listening, waiting;
static const char *volatile unfinished;
static volatile sig_atomic_t came;

/* Compilers are waited for: the library asks whether it is to end them. Else at once. */
static void end(int number)
{
    came = number;
    if (waiting)
        return;
    if (unfinished)
        unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number);
}

static void listen(void)
{
    struct sigaction action = { .sa_handler = end, .sa_flags = SA_NODEFER };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT && !listening; i++) {
        sigaction(endings[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL)
            sigaction(endings[i], &action, NULL);
    }
    listening = true;
}

static void stop_listening(void)
{
    for (size_t i = 0; i < COUNT && listening; i++)
        sigaction(endings[i], &before[i], NULL);
    listening = false;
}

int32_t cli_is_ended(void *user)
{
    (void)user;
    waiting = true;
    listen();
    return came != 0;
}

void cli_compilers_are_gone(void)
{
    if (!unfinished)
        stop_listening();
    waiting = false;
    if (came)
        raise((int)came);
}

void cli_hold_signals(bool hold)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT; i++)
        sigaddset(&set, endings[i]);
    sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void cli_unfinished(const char *path)
{
    unfinished = path;
    if (path)
        listen();
    else
        stop_listening();
}
