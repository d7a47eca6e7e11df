/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: collect_jobs takes one child per SIGCHLD. In the small hours both short jobs end while main writes the journal,
 *     and the two signals become one. So the second job stays a zombie, `running` never gets 0, and collect_jobs waits
 *     in sigwaitinfo for a signal that has been.
 *   culprit: collect_jobs|collect_one|SIGCHLD|sigwaitinfo
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A batch runner: in each shift it starts the shift's jobs as processes, writes its journal, and collects the jobs. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	JOBS = 3,
	SHIFTS = 5
};

struct job {
	const char *name;
	unsigned ms;
	pid_t process;
	int status;
};

struct shift {
	const char *name;
	struct job jobs[JOBS];
};

static struct shift shifts[SHIFTS] = {
	{"evening", {{"totals", 40, 0, 0}, {"letters", 80, 0, 0}, {"backup", 120, 0, 0}}},
	{"late", {{"stock", 60, 0, 0}, {"prices", 100, 0, 0}, {"labels", 140, 0, 0}}},
	{"midnight", {{"close", 120, 0, 0}, {"interest", 40, 0, 0}, {"mirror", 80, 0, 0}}},
	{"small hours", {{"empty", 3, 0, 0}, {"compress", 90, 0, 0}, {"expire", 5, 0, 0}}},
	{"dawn", {{"mail", 50, 0, 0}, {"report", 90, 0, 0}, {"news", 130, 0, 0}}},
};
static bool collect_all;
static unsigned running;
static FILE *journal;
static volatile bool is_day;

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static void start_job(struct job *job)
{
	job->process = fork();
	if (job->process == 0) {
		pause_ms(job->ms);
		_exit(job->ms > 100 ? 1 : 0);
	}
	if (job->process > 0)
		running++;
}

/* The journal is on a slow disk. */
static void write_journal(const struct shift *shift)
{
	fprintf(journal, "shift %s:", shift->name);
	for (int i = 0; i < JOBS; i++)
		fprintf(journal, " %s", shift->jobs[i].name);
	fprintf(journal, "\n");
	fflush(journal);
	pause_ms(30);
}

static bool collect_one(struct shift *shift)
{
	int status;
	pid_t process = waitpid(-1, &status, WNOHANG);

	if (process <= 0)
		return false;
	for (int i = 0; i < JOBS; i++)
		if (shift->jobs[i].process == process)
			shift->jobs[i].status = WEXITSTATUS(status);
	running--;
	return true;
}

static void collect_jobs(struct shift *shift)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (running > 0) {
		if (sigwaitinfo(&child, NULL) < 0)
			continue;
		if (!collect_all)
			collect_one(shift);
		else
			while (collect_one(shift))
				continue;
	}
}

/* Feeds the hardware's watchdog. */
static void *feed_watchdog(void *data)
{
	unsigned *meals = data;

	pthread_setname_np(pthread_self(), "watchdog");
	while (!is_day) {
		pause_ms(50);
		++*meals;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t watchdog;
	unsigned meals = 0;
	sigset_t child;
	int failed;

	collect_all = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	journal = fopen("/dev/null", "w");
	if (!journal)
		return 1;
	pthread_create(&watchdog, NULL, feed_watchdog, &meals);
	for (int i = 0; i < SHIFTS; i++) {
		for (int k = 0; k < JOBS; k++)
			start_job(&shifts[i].jobs[k]);
		write_journal(&shifts[i]);
		collect_jobs(&shifts[i]);
		failed = 0;
		for (int k = 0; k < JOBS; k++)
			failed += shifts[i].jobs[k].status != 0;
		printf("%s: %d failed\n", shifts[i].name, failed);
	}
	is_day = true;
	pthread_join(watchdog, NULL);
	fclose(journal);
	return 0;
}
