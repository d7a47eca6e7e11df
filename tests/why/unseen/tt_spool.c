/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The notifier child got the writing end of the filter's status pipe by the fork in start_notifier,
 *     and does not close it. The filter has ended, but read_status never sees the end of that pipe.
 *   culprit: start_notifier
 *   victim: read_status|status-[0-9]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS 5

struct job {
	int number;
	int pages;
	int status_pipe[2];
	pid_t filter;
	int lines;
	pthread_t reader;
};

static bool broken;
static int notifier_in = -1;
static pid_t notifier;

/* The filter's process: it prints the pages and reports each of them. */
static void run_filter(struct job *job)
{
	char line[64];

	close(job->status_pipe[0]);
	if (notifier_in >= 0)
		close(notifier_in);
	for (int page = 1; page <= job->pages; page++) {
		int size = snprintf(line, sizeof(line), "PAGE: %d %d\n", job->number, page);

		if (write(job->status_pipe[1], line, (size_t)size) != size)
			_exit(1);
		usleep(2000);
	}
	_exit(0);
}

/* Reads a filter's status lines to the end. */
static void *read_status(void *argument)
{
	struct job *job = argument;
	char buffer[256], name[16];
	ssize_t count;

	snprintf(name, sizeof(name), "status-%d", job->number);
	pthread_setname_np(pthread_self(), name);
	while ((count = read(job->status_pipe[0], buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < count; i++)
			job->lines += buffer[i] == '\n';
	}
	close(job->status_pipe[0]);
	return NULL;
}

/* The notifier's process: it mails the owner of each job that has been printed. It ends with its input. */
static void run_notifier(int input)
{
	char subject[64];
	unsigned mails = 0;

	while (read(input, subject, sizeof(subject)) > 0) {
		usleep(1000);
		mails++;
	}
	_exit(mails > 0 ? 0 : 1);
}

/* It is started with the first job that wants a mail. */
static int start_notifier(struct job *job)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	notifier = fork();
	if (notifier < 0)
		return -1;
	if (notifier == 0) {
		close(ends[1]);
		if (!broken) {
			close(job->status_pipe[0]);
			close(job->status_pipe[1]);
		}
		run_notifier(ends[0]);
	}
	close(ends[0]);
	notifier_in = ends[1];
	return 0;
}

static int print_job(struct job *job, bool wants_mail)
{
	int status;

	if (pipe(job->status_pipe))
		return -1;
	job->filter = fork();
	if (job->filter < 0)
		return -1;
	if (job->filter == 0)
		run_filter(job);
	if (wants_mail && notifier_in < 0 && start_notifier(job))
		return -1;
	close(job->status_pipe[1]);
	if (pthread_create(&job->reader, NULL, read_status, job))
		return -1;
	if (waitpid(job->filter, &status, 0) != job->filter || status)
		return -1;
	pthread_join(job->reader, NULL);
	if (wants_mail)
		dprintf(notifier_in, "job %d: %d pages printed\n", job->number, job->lines);
	return job->lines == job->pages ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct job jobs[JOBS];
	int failures = 0, status = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	memset(jobs, 0, sizeof(jobs));
	for (int i = 0; i < JOBS; i++) {
		jobs[i].number = i + 1;
		jobs[i].pages = 8 + 3 * i;
		failures += print_job(&jobs[i], i >= 2) != 0;
	}
	if (notifier_in >= 0) {
		close(notifier_in);
		if (waitpid(notifier, &status, 0) != notifier || status)
			failures++;
	}
	printf("%d jobs, %d failed\n", JOBS, failures);
	return failures ? 1 : 0;
}
