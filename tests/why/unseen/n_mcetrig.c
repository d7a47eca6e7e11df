/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: trigger_wait reaps one child for each SIGCHLD, but the signals of children that ended together are
 *     one; it waits in sigwait for a SIGCHLD of children that have long ended.
 *   culprit: trigger_wait|sigwait|SIGCHLD|run_trigger|mce-trigger|\bmain\b|n_mcetrig(?!\.c)
 *   victim: cron-log|report_log
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about mcelog: without its daemon mode it hangs at its end in trigger_wait, an endless loop
 * of sigwait, because the number of children isn't reduced for each child that ended.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHILDREN 4

static pid_t children[MAX_CHILDREN];
static int num_children;
static int log_pipe[2];
static bool healthy;

/* The trigger is a function of this program, so the child runs no other program. */
static void run_trigger(const char *name, int cpu)
{
	pid_t parent = getpid();
	pid_t child = fork();

	if (child < 0)
		return;
	if (child > 0) {
		children[num_children++] = child;
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, "mce-trigger");
	close(log_pipe[0]);
	dprintf(log_pipe[1], "trigger %s for cpu %d\n", name, cpu);
	usleep(20000);
	_exit(0);
}

/* Returns whether a child was there to reap. */
static bool finish_child(void)
{
	int status;
	pid_t child = waitpid(-1, &status, WNOHANG);

	if (child <= 0)
		return false;
	for (int i = 0; i < MAX_CHILDREN; i++) {
		if (children[i] == child)
			children[i] = 0;
	}
	num_children--;
	return true;
}

static void trigger_wait(void)
{
	sigset_t mask;
	int signal;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	while (num_children > 0) {
		if (sigwait(&mask, &signal))
			break;
		while (finish_child() && healthy)
			continue;
	}
}

/* Logs how the triggers ended; trigger_wait reaps them later. */
static void log_triggers(void)
{
	for (int i = 0; i < num_children; i++) {
		siginfo_t info;

		if (!waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOWAIT))
			dprintf(log_pipe[1], "trigger %d: status %d\n", i, info.si_status);
	}
}

/* Collects the log for the mail that cron sends. */
static void *report_log(void *data)
{
	char text[256];
	ssize_t size;

	(void)data;
	pthread_setname_np(pthread_self(), "cron-log");
	while ((size = read(log_pipe[0], text, sizeof(text))) > 0)
		printf("%.*s", (int)size, text);
	return NULL;
}

int main(int argc, char **argv)
{
	sigset_t mask;
	pthread_t reporter;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	if (pipe(log_pipe))
		return 1;
	run_trigger("unknown-error", 5);
	run_trigger("socket-memory", 0);
	run_trigger("page-error", 1);
	pthread_create(&reporter, NULL, report_log, NULL);
	log_triggers();
	trigger_wait();
	close(log_pipe[1]);
	pthread_join(reporter, NULL);
	return 0;
}
