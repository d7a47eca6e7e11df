/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: start_monitor forks the supplies monitor while the pipe to the next filter is open, and the
 *          monitor never closes its copy of the writing end. So the filter of this job never sees the end of
 *          the data.
 *   culprit: start_monitor|run_monitor
 *   victim: run_filter|finish_job
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	JOBS = 12,
	COLOR_JOB = 4,
	PAGE = 3000
};

struct job {
	int number, pages;
	int data[2], raster[2]; /* pipes to the filter and from it */
	pid_t filter;
	size_t printed;
};

static bool broken;
static pid_t monitor;
static int monitor_control[2];

static void open_pipe(int ends[2])
{
	if (pipe(ends)) {
		perror("pipe");
		exit(2);
	}
}

/* Looks at the printer's ink now and then, until the scheduler closes the control pipe. */
static void run_monitor(void)
{
	struct pollfd control = {.fd = monitor_control[0], .events = POLLIN};
	int level = 1000;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	close(monitor_control[1]);
	while (poll(&control, 1, 15) == 0)
		level--;
	exit(level > 0 ? 0 : 1);
}

static void start_monitor(struct job *job)
{
	open_pipe(monitor_control);
	monitor = fork();
	if (monitor == 0) {
		if (!broken) {
			close(job->data[0]);
			close(job->data[1]);
			close(job->raster[0]);
			close(job->raster[1]);
		}
		run_monitor();
	}
	close(monitor_control[0]);
}

/* Makes a raster of the whole document, which it must have read first. */
static void run_filter(int from, int to)
{
	size_t length = 0, room = 1 << 16;
	char *document = malloc(room);
	ssize_t n;

	while ((n = read(from, document + length, room - length)) > 0)
		length += n;
	for (size_t i = 0; i < length; i++)
		document[i] = (char)(document[i] * 31 + (char)i);
	usleep(2000);
	for (size_t sent = 0; sent < length; sent += n) {
		n = write(to, document + sent, length - sent);
		if (n <= 0)
			exit(1);
	}
	exit(0);
}

static void start_filter(struct job *job)
{
	job->filter = fork();
	if (job->filter == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		close(job->data[1]);
		close(job->raster[0]);
		if (monitor)
			close(monitor_control[1]);
		run_filter(job->data[0], job->raster[1]);
	}
	close(job->data[0]);
	close(job->raster[1]);
}

static void send_pages(struct job *job)
{
	char page[PAGE];

	for (int i = 0; i < job->pages; i++) {
		memset(page, 'a' + i, sizeof page);
		if (write(job->data[1], page, sizeof page) != sizeof page)
			perror("page");
	}
	close(job->data[1]);
}

static bool finish_job(struct job *job)
{
	char band[1024];
	ssize_t n;
	int status;

	while ((n = read(job->raster[0], band, sizeof band)) > 0)
		job->printed += n;
	close(job->raster[0]);
	waitpid(job->filter, &status, 0);
	return status == 0 && job->printed == (size_t)job->pages * PAGE;
}

static bool print_job(int number)
{
	struct job job = {.number = number, .pages = 2 + number % 4};

	open_pipe(job.data);
	open_pipe(job.raster);
	/* the first job in colour wants to know whether there is enough ink */
	if (number == COLOR_JOB)
		start_monitor(&job);
	start_filter(&job);
	send_pages(&job);
	return finish_job(&job);
}

int main(int argc, char **argv)
{
	int printed = 0, status = 1;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int number = 0; number < JOBS; number++)
		printed += print_job(number);
	close(monitor_control[1]);
	waitpid(monitor, &status, 0);
	printf("%d of %d jobs\n", printed, JOBS);
	return printed == JOBS && status == 0 ? 0 : 1;
}
