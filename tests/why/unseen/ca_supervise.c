/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: The supervisor blocks SIGTERM, as it reads signals from a signalfd. start_service leaves this mask to the
 *     service, which therefore never takes the SIGTERM that stop_service sends; so the wait for its end never ends.
 *   culprit: start_service|SIGTERM
 *   victim: stop_service|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A small supervisor: it runs jobs that end by themselves, and a service that it stops and starts anew when its
 * configuration has changed. A thread counts the lines of the journal. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS 5

static bool plain;
static sigset_t handled, before;
static int signals;
static unsigned jobs_done;

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned lines, counted;
static volatile bool over;

static void journal(const char *line)
{
	pthread_mutex_lock(&journal_lock);
	if (line[0])
		lines++;
	pthread_mutex_unlock(&journal_lock);
}

static void *count_journal(void *data)
{
	(void)data;
	while (!over) {
		pthread_mutex_lock(&journal_lock);
		counted = lines;
		pthread_mutex_unlock(&journal_lock);
		usleep(150 * 1000);
	}
	return NULL;
}

static pid_t start_job(const char *seconds)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	execlp("sleep", "sleep", seconds, NULL);
	_exit(127);
}

static pid_t start_service(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (!plain)
		sigprocmask(SIG_SETMASK, &before, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it must not outlive the supervisor */
	execlp("tail", "tail", "-f", "/dev/null", NULL);
	_exit(127);
}

static void stop_service(pid_t pid)
{
	int status;

	journal("stop");
	kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) == pid)
		journal("stopped");
}

/* Takes the jobs that have ended. The service is looked after by others. */
static void take_jobs(pid_t service)
{
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
			return;
		if (info.si_pid == service)
			return;
		waitpid(info.si_pid, NULL, 0);
		jobs_done++;
		journal("job done");
	}
}

/* Runs one job, and returns when it has ended. */
static void run_job(pid_t service)
{
	struct pollfd poller = {.fd = signals, .events = POLLIN};
	struct signalfd_siginfo info;
	unsigned target = jobs_done + 1;

	start_job("0.08");
	while (jobs_done < target) {
		if (poll(&poller, 1, -1) != 1)
			continue;
		if (read(signals, &info, sizeof(info)) != sizeof(info))
			continue;
		if (info.ssi_signo == SIGCHLD)
			take_jobs(service);
	}
}

int main(int argc, char **argv)
{
	pthread_t counter;
	pid_t service;

	plain = argc > 1 && !strcmp(argv[1], "broken");
	sigemptyset(&handled);
	sigaddset(&handled, SIGCHLD);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGINT);
	sigprocmask(SIG_BLOCK, &handled, &before);
	signals = signalfd(-1, &handled, SFD_CLOEXEC);
	pthread_create(&counter, NULL, count_journal, NULL);

	service = start_service();
	for (int i = 0; i < JOBS; i++)
		run_job(service);
	journal("new configuration");
	stop_service(service);
	service = start_service();
	for (int i = 0; i < JOBS; i++)
		run_job(service);
	stop_service(service);

	over = true;
	pthread_join(counter, NULL);
	printf("%u jobs, %u lines, %u counted\n", jobs_done, lines, counted);
	return 0;
}
