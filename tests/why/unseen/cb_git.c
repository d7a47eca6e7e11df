/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: microsoft/git pull request #75 ("run-command: close all parent file descriptors"). While a filter runs, start_monitor
 *     starts a second program that stays. It inherits the end of the pipe through which the filter is fed, as the
 *     pipes aren't close-on-exec. The parent closes its own end, but the filter sees no end of its input and
 *     doesn't end, so the parent waits for the end of the filter's output for ever: the monitor holds the pipe open.
 *   culprit: start_monitor|\bmonitor\b|\bsleep\b
 *   victim: filter_blob|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Checks files in: each goes through a filter, a program of its own. A monitor of the file system helps later. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct filter {
	pid_t pid;
	int in;  /* what we write to it */
	int out; /* what it writes */
};

static bool fixed;
static atomic_uint files;
static pid_t monitor;

static void make_pipe(int ends[2])
{
	if (pipe2(ends, fixed ? O_CLOEXEC : 0)) {
		perror("pipe");
		exit(1);
	}
}

static void start_filter(struct filter *filter)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	filter->pid = fork();
	if (filter->pid < 0)
		exit(1);
	if (!filter->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[0]);
		close(in[1]);
		close(out[0]);
		close(out[1]);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	filter->in = in[1];
	filter->out = out[0];
}

/* A daemon that watches the work tree. It is started when the first large file comes. */
static void start_monitor(void)
{
	monitor = fork();
	if (monitor < 0)
		exit(1);
	if (monitor)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("sleep", "sleep", "60", (char *)NULL);
	_exit(127);
}

static void feed(const struct filter *filter, const char *blob, size_t size)
{
	if (write(filter->in, blob, size) != (ssize_t)size)
		exit(1);
}

static size_t read_result(const struct filter *filter)
{
	char buffer[4096];
	size_t total = 0;
	ssize_t n;

	while ((n = read(filter->out, buffer, sizeof(buffer))) > 0)
		total += (size_t)n;
	return total;
}

static size_t filter_blob(const char *blob, size_t size)
{
	struct filter filter;
	size_t result;

	start_filter(&filter);
	feed(&filter, blob, size / 2);
	if (size > 2000 && !monitor)
		start_monitor();
	feed(&filter, blob + size / 2, size - size / 2);
	close(filter.in);
	result = read_result(&filter);
	close(filter.out);
	waitpid(filter.pid, NULL, 0);
	return result;
}

static void *progress(void *data)
{
	(void)data;
	for (;;) {
		usleep(100000);
		fprintf(stderr, "Filtering content: %u\r", atomic_load(&files));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char blob[4000];
	pthread_t thread;
	size_t size;
	unsigned i;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	if (pthread_create(&thread, NULL, progress, NULL))
		return 1;
	pthread_setname_np(thread, "progress");
	memset(blob, 'x', sizeof(blob));
	for (i = 0; i < 12; i++) {
		size = i == 8 ? 3000 : 100 + 50 * i;
		if (filter_blob(blob, size) != size)
			return 1;
		files++;
		usleep(40000);
	}
	printf("%u files filtered\n", atomic_load(&files));
	kill(monitor, SIGKILL);
	waitpid(monitor, NULL, 0);
	return 0;
}
