/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: "feed spamd" writes the whole message into the filter's pipe before it reads a verdict; message 4 is
 *          1 MiB. The filter blocks at writing its annotated copy, which nobody reads, and so reads no more.
 *   culprit: feed spamd|feed_all|spamd stdin
 *   victim: (scan|queue run|bounce)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

/* A mail server that pipes its mails through a filter process, which copies them with a header. */
static int to_filter[2], from_filter[2];
static thrum_task filter_in, filter_out;
static char chunk[4096];

static void filter(void)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(to_filter[0], buffer, sizeof(buffer))) > 0) {
		for (ssize_t done = 0; done < n;) {
			ssize_t written = write(from_filter[1], buffer + done, (size_t)(n - done));

			if (written <= 0)
				_exit(1);
			done += written;
		}
	}
	_exit(0);
}

static void feed_all(size_t size)
{
	for (size_t done = 0; done < size;) {
		size_t part = size - done < sizeof(chunk) ? size - done : sizeof(chunk);
		ssize_t n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = write(to_filter[1], chunk, part);
		thrum_resume();
		if (n > 0)
			done += (size_t)n;
	}
}

static void drain_all(size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = read(from_filter[0], chunk, sizeof(chunk));
		thrum_resume();
		if (n > 0)
			done += (size_t)n;
	}
}

/* Both at a time. */
static void pump(size_t size)
{
	size_t in = 0, out = 0;

	fcntl(to_filter[1], F_SETFL, O_NONBLOCK);
	while (out < size) {
		struct pollfd p[2] = {{from_filter[0], POLLIN, 0},
			{in < size ? to_filter[1] : -1, POLLOUT, 0}};

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(p, 2, -1);
		thrum_resume();
		if (p[0].revents & POLLIN) {
			ssize_t n = read(from_filter[0], chunk, sizeof(chunk));

			if (n > 0)
				out += (size_t)n;
		}
		if (p[1].revents & POLLOUT) {
			size_t part = size - in < sizeof(chunk) ? size - in : sizeof(chunk);
			ssize_t n = write(to_filter[1], chunk, part);

			if (n > 0)
				in += (size_t)n;
		}
	}
}

static void scan_mail(int number, size_t size, int broken)
{
	thrum_task scan = thrum_task_createf(THRUM_KIND_TASK, "scan mail %d", number);

	thrum_task_should_resolve(scan);
	THRUM_RUN (scan) {
		thrum_task feed = thrum_task_create(THRUM_KIND_TASK, "feed spamd");
		thrum_task verdict = thrum_task_create(THRUM_KIND_REQUEST, "verdict");

		thrum_task_wait(verdict, filter_out);
		thrum_task_wait(scan, feed);
		thrum_task_wait(scan, verdict);
		thrum_logf("%zu bytes", size);
		THRUM_RUN (feed) {
			if (broken) {
				thrum_task_wait(feed, filter_in);
				feed_all(size);
				thrum_task_read(feed, filter_in);
				thrum_task_resolve(feed);
				thrum_task_switch(verdict);
				drain_all(size);
			} else {
				pump(size);
				thrum_task_resolve(feed);
			}
		}
		THRUM_RUN (verdict) {
			thrum_task_read(verdict, filter_out);
			thrum_task_resolve(verdict);
		}
		thrum_task_read(scan, feed);
		thrum_task_read(scan, verdict);
		thrum_task_resolve(scan);
	}
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {800, 30000, 2000, 1 << 20, 4000, 60000};
	int broken = argc > 1 && !strcmp(argv[1], "broken"), status;
	thrum_task run;
	pid_t child;

	if (pipe(to_filter) || pipe(from_filter))
		return 1;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to_filter[1]);
		close(from_filter[0]);
		filter();
	}
	close(to_filter[0]);
	close(from_filter[1]);
	filter_in = thrum_task_create(THRUM_KIND_HANDLE, "spamd stdin");
	filter_out = thrum_task_create(THRUM_KIND_HANDLE, "spamd stdout");
	run = thrum_task_create(THRUM_KIND_TASK, "queue run");
	THRUM_RUN (run) {
		for (int i = 0; i < 6; i++) {
			scan_mail(i + 1, sizes[i], broken);
			usleep(10000);
		}
		thrum_task_resolve(run);
	}
	close(to_filter[1]);
	thrum_task_resolve(filter_in);
	waitpid(child, &status, 0);
	thrum_task_resolve(filter_out);
	return 0;
}
