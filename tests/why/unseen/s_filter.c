/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: “feed lines” writes all its input to the filter process with blocking writes before anybody reads the output. The
 *     filter blocks because its output pipe is full, so the input pipe fills too, and the write in “feed lines” never returns.
 *     “collect output”, which would drain the pipe, has no turn, and “summary” waits for it.
 *   culprit: feed lines
 *   victim: collect output|summary
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define TOTAL (600 * 1024)

static int to_filter[2], from_filter[2];
static size_t fed, collected;
static thrum_task feed, collect, summary;

/* The filter: a process that writes what it reads, in capitals. */
static void filter(void)
{
	char buffer[4096];
	ssize_t size;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(to_filter[1]);
	close(from_filter[0]);
	while ((size = read(to_filter[0], buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < size; i++)
			buffer[i] = (char)toupper(buffer[i]);
		if (write(from_filter[1], buffer, (size_t)size) != size)
			break;
	}
	_exit(0);
}

/* Writes some lines; returns false when all is written, or there is no room now. */
static int feed_some(void)
{
	char line[2048];
	ssize_t size;

	memset(line, 'a', sizeof(line));
	size = write(to_filter[1], line, TOTAL - fed < sizeof(line) ? TOTAL - fed : sizeof(line));
	if (size < 0)
		return 0;
	fed += (size_t)size;
	if (fed < TOTAL)
		return 1;
	close(to_filter[1]);
	to_filter[1] = -1;
	thrum_task_resolve(feed);
	return 0;
}

/* Reads some output; returns false at its end, or when there is none now. */
static int collect_some(void)
{
	char buffer[8192];
	ssize_t size = read(from_filter[0], buffer, sizeof(buffer));

	if (size > 0) {
		collected += (size_t)size;
		return 1;
	}
	if (size == 0) {
		close(from_filter[0]);
		from_filter[0] = -1;
		thrum_task_resolve(collect);
	}
	return 0;
}

static void one_after_the_other(void)
{
	thrum_task_ready(collect);
	THRUM_RUN (feed)
		while (feed_some())
			;
	THRUM_RUN (collect)
		while (collect_some())
			;
}

static void both_at_once(void)
{
	fcntl(to_filter[1], F_SETFL, O_NONBLOCK);
	fcntl(from_filter[0], F_SETFL, O_NONBLOCK);
	while (from_filter[0] >= 0) {
		struct pollfd watch[2] = {
			{.fd = to_filter[1], .events = POLLOUT},
			{.fd = from_filter[0], .events = POLLIN},
		};

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(watch, 2, -1);
		thrum_resume();
		if (watch[0].revents)
			THRUM_RUN (feed)
				while (feed_some())
					;
		if (watch[1].revents)
			THRUM_RUN (collect)
				while (collect_some())
					;
	}
}

int main(int argc, char **argv)
{
	int broken = argc > 1 && !strcmp(argv[1], "broken"), status;
	pid_t child;

	if (pipe2(to_filter, O_CLOEXEC) || pipe2(from_filter, O_CLOEXEC))
		return 1;
	child = fork();
	if (child == 0)
		filter();
	close(to_filter[0]);
	close(from_filter[1]);
	feed = thrum_task_create(THRUM_KIND_TASK, "feed lines");
	collect = thrum_task_create(THRUM_KIND_TASK, "collect output");
	summary = thrum_task_create(THRUM_KIND_TASK, "summary");
	thrum_task_should_resolve(summary);
	thrum_task_wait(summary, collect);
	if (broken)
		one_after_the_other();
	else
		both_at_once();
	waitpid(child, &status, 0);
	THRUM_RUN (summary)
		printf("%zu bytes in, %zu bytes out\n", fed, collected);
	thrum_task_resolve(summary);
	return fed != collected;
}
