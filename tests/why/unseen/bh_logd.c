/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the supervisor restarts its services now and then. It stops the logger first: stop_logger
 *     tells it so, and from then on the logger serves nobody but the supervisor. Then it stops the
 *     workers. But a worker that stops sends its last lines to the logger and waits until they are
 *     written; so it never ends, and the supervisor waits for it.
 *   culprit: stop_logger|run_logger|logger
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 3
};
enum word {
	LINE = 1,
	FLUSH,
	WRITTEN,
	STOP,
	END
};

struct service {
	pid_t pid;
	int control; /* the supervisor's end */
	int log;     /* a worker's end of its way to the logger */
};

static struct service logger, workers[WORKERS];
static int log_ends[WORKERS]; /* the logger's */

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void say(int to, enum word word)
{
	uint32_t message = word;

	if (send(to, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
		_exit(1);
}

/* Returns 0 at the end. */
static uint32_t hear(int from)
{
	uint32_t message;

	return recv(from, &message, sizeof message, MSG_WAITALL) == sizeof message ? message : 0;
}

/* ---- The services ---- */

static void run_logger(int control)
{
	struct pollfd watched[WORKERS + 1];
	unsigned lines = 0;

	watched[WORKERS] = (struct pollfd){control, POLLIN, 0};
	for (unsigned i = 0; i < WORKERS; i++)
		watched[i] = (struct pollfd){log_ends[i], POLLIN, 0};
	while (!(watched[WORKERS].revents)) {
		if (poll(watched, WORKERS + 1, -1) < 0)
			return;
		for (unsigned i = 0; i < WORKERS; i++) {
			if (!watched[i].revents)
				continue;
			switch (hear(watched[i].fd)) {
			case LINE: lines++; break;
			case FLUSH:
				pause_ms(1);
				say(watched[i].fd, WRITTEN);
				break;
			default: watched[i].fd = -1; /* this worker has ended */
			}
		}
	}
	hear(control);
	/* The file is closed. The process stays for its statistics until it is told to end. */
	say(control, WRITTEN);
	hear(control);
}

static void log_flush(int log)
{
	say(log, FLUSH);
	hear(log);
}

static void run_worker(int control, int log)
{
	struct pollfd watched = {control, POLLIN, 0};

	while (poll(&watched, 1, 3) == 0) {
		say(log, LINE);
		log_flush(log);
	}
	hear(control);
	say(log, LINE);
	log_flush(log);
}

/* ---- The supervisor ---- */

static void close_ends(void)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		close(log_ends[i]);
		close(workers[i].log);
	}
}

static void start(struct service *service, const char *name)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	service->control = ends[0];
	service->pid = fork();
	if (service->pid < 0)
		exit(1);
	if (service->pid) {
		close(ends[1]);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	close(ends[0]);
	if (service == &logger) {
		for (unsigned i = 0; i < WORKERS; i++)
			close(workers[i].log);
		run_logger(ends[1]);
	} else {
		int log = dup(service->log);

		close_ends();
		close(logger.control);
		for (struct service *other = workers; other < service; other++)
			close(other->control);
		run_worker(ends[1], log);
	}
	_exit(0);
}

static void start_all(void)
{
	for (unsigned i = 0; i < WORKERS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			exit(1);
		workers[i].log = ends[0];
		log_ends[i] = ends[1];
	}
	start(&logger, "logger");
	for (unsigned i = 0; i < WORKERS; i++)
		start(&workers[i], "worker");
	close_ends();
}

static __attribute__((noinline)) void stop_logger(void)
{
	say(logger.control, STOP);
	hear(logger.control);
}

static __attribute__((noinline)) void stop_workers(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		say(workers[i].control, STOP);
	for (unsigned i = 0; i < WORKERS; i++) {
		waitpid(workers[i].pid, NULL, 0);
		close(workers[i].control);
	}
}

int main(int count, char **arguments)
{
	bool logger_first = count > 1 && !strcmp(arguments[1], "broken");

	for (unsigned restarts = 1;; restarts++) {
		start_all();
		pause_ms(200);
		if (logger_first)
			stop_logger();
		stop_workers();
		if (!logger_first)
			stop_logger();
		say(logger.control, END);
		waitpid(logger.pid, NULL, 0);
		close(logger.control);
		fprintf(stderr, "restart %u\n", restarts);
	}
}
