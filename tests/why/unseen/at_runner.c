/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_sigchld calls waitpid once per signal; several children that end while SIGCHLD is blocked
 *     raise it once, so that some are never reaped, their slots stay taken, and run_batch waits in
 *     sigsuspend
 *   culprit: on_sigchld|reap_jobs
 *   victim: main|run_batch|wait_for_change
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Runs the jobs of a list, some at a time, each in a process of its own, as make and parallel do. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 14
#define SLOTS 4

enum state {
	WAITING,
	RUNNING,
	DONE,
	FAILED
};

struct job {
	const char *name;
	int ms;
	int tries;
	volatile sig_atomic_t state;
	volatile pid_t pid;
};

static struct job jobs[JOBS] = {
	{.name = "configure", .ms = 20},
	{.name = "lexer.o", .ms = 12},
	{.name = "parser.o", .ms = 12},
	{.name = "types.o", .ms = 12},
	{.name = "emit.o", .ms = 14},
	{.name = "opt.o", .ms = 15},
	{.name = "regs.o", .ms = 15},
	{.name = "link.o", .ms = 15},
	{.name = "main.o", .ms = 6},
	{.name = "util.o", .ms = 6},
	{.name = "hash.o", .ms = 6},
	{.name = "list.o", .ms = 18},
	{.name = "docs", .ms = 9},
	{.name = "manual", .ms = 9},
};
static volatile sig_atomic_t running, finished;
static bool reap_all;
static int journal[2];

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		continue;
}

static struct job *job_of(pid_t pid)
{
	for (int i = 0; i < JOBS; i++)
		if (jobs[i].state == RUNNING && jobs[i].pid == pid)
			return &jobs[i];
	return NULL;
}

static void reap_jobs(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct job *job = job_of(pid);

		if (job) {
			job->state = WIFEXITED(status) && !WEXITSTATUS(status) ? DONE : FAILED;
			running--;
			finished++;
		}
		if (!reap_all)
			break;
	}
}

static void on_sigchld(int signal)
{
	int saved = errno;

	(void)signal;
	reap_jobs();
	errno = saved;
}

/* The work of a child. */
static int run_job(const struct job *job)
{
	char line[64];
	int size;

	nap_ms(job->ms);
	size = snprintf(line, sizeof(line), "%s: %d ms\n", job->name, job->ms);
	if (write(journal[1], line, size) != size)
		return 1;
	/* The first try to write the manual fails. */
	return !strcmp(job->name, "manual") && job->tries == 1;
}

static void start_job(struct job *job)
{
	pid_t pid;

	job->tries++;
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, job->name);
		close(journal[0]);
		_exit(run_job(job));
	}
	job->pid = pid;
	job->state = RUNNING;
	running++;
}

/* Prints what the jobs have written since. */
static void copy_journal(void)
{
	char text[512];
	ssize_t size = read(journal[0], text, sizeof(text));

	if (size > 0)
		fwrite(text, 1, size, stdout);
	nap_ms(8); /* the log server */
}

/* SIGCHLD is blocked but here. */
static void wait_for_change(const sigset_t *unblocked)
{
	sigsuspend(unblocked);
}

static int run_batch(const sigset_t *unblocked)
{
	int failed = 0;

	for (;;) {
		bool waiting = false;

		for (int i = 0; i < JOBS; i++) {
			struct job *job = &jobs[i];

			if (job->state == FAILED && job->tries < 2)
				job->state = WAITING;
			if (job->state == WAITING && running < SLOTS)
				start_job(job);
			waiting |= job->state == WAITING;
		}
		if (!waiting && !running)
			break;
		copy_journal();
		wait_for_change(unblocked);
	}
	for (int i = 0; i < JOBS; i++)
		failed += jobs[i].state != DONE;
	return failed;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_sigchld, .sa_flags = SA_RESTART};
	sigset_t blocked, unblocked;
	int failed;

	reap_all = argc > 1 && !strcmp(argv[1], "healthy");
	if (pipe2(journal, O_CLOEXEC) < 0 || fcntl(journal[0], F_SETFL, O_NONBLOCK) < 0)
		return 1;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &unblocked);
	sigaction(SIGCHLD, &action, NULL);
	if (write(journal[1], "journal:\n", 9) != 9)
		return 1;
	while (finished == 0 && jobs[0].state != DONE) {
		start_job(&jobs[0]);
		wait_for_change(&unblocked);
	}
	failed = run_batch(&unblocked);
	printf("%d jobs failed\n", failed);
	return failed != 0;
}
