/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_hook forks while the thread "rotate" holds log_lock. The child's copy of the lock stays locked for ever,
 *     for the child has no such thread; the child wants to log a line before it executes the hook, and hangs in
 *     log_line. The main thread waits in run_hook for the child to end.
 *   culprit: run_hook|child|process \d+
 *   victim: client|rotate|log_reopen
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A daemon that writes a log. One thread rotates the log, and the main thread runs a hook after that. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file, log_lines;
static int rotated;   /* an eventfd: the old log may be packed */
static int hook_runs; /* an eventfd: the hook has been started */
static int hook_done; /* an eventfd: it has ended */
static int orders[2]; /* from clients */

static void log_line(const char *format, ...)
{
	char text[160];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&log_lock);
	if (write(log_file, text, (size_t)size) == size)
		log_lines++;
	pthread_mutex_unlock(&log_lock);
}

static void log_reopen(void)
{
	int old = log_file;

	log_file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	close(old);
	log_lines = 0;
}

/* Rotates the log. Nobody may write into it until the old one is handed to the hook. */
static void *rotate_thread(void *data)
{
	uint64_t count = 1;

	(void)data;
	for (int i = 0; i < 3; i++) {
		usleep(60000);
		pthread_mutex_lock(&log_lock);
		log_reopen();
		if (write(rotated, &count, sizeof(count)) != sizeof(count) ||
			read(hook_runs, &count, sizeof(count)) != sizeof(count))
			return NULL;
		pthread_mutex_unlock(&log_lock);
		if (read(hook_done, &count, sizeof(count)) != sizeof(count))
			return NULL;
		count = 1;
	}
	return NULL;
}

/* Packs the old log in a process of its own, and returns when that has ended. */
static int run_hook(void)
{
	pid_t parent = getpid(), child = fork();
	uint64_t count = 1;
	int status = 1;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		if (broken)
			log_line("hook: process %d packs the old log\n", (int)getpid());
		execl("/bin/true", "true", "postrotate", (char *)NULL);
		_exit(127);
	}
	if (write(hook_runs, &count, sizeof(count)) != sizeof(count))
		return 1;
	if (!broken)
		log_line("hook: process %d packs the old log\n", (int)child);
	while (child > 0 && waitpid(child, &status, 0) != child)
		continue;
	return write(hook_done, &count, sizeof(count)) == sizeof(count) ? status : 1;
}

/* A client asks for the number of lines, again and again, and then says goodbye. */
static void *client_thread(void *data)
{
	int lines;

	(void)data;
	for (int i = 0; i < 50; i++) {
		if (write(orders[1], "?", 1) != 1 || read(orders[1], &lines, sizeof(lines)) <= 0)
			return NULL;
		log_line("client: %d lines\n", lines);
		usleep(5000);
	}
	shutdown(orders[1], SHUT_WR);
	return NULL;
}

static bool take_order(void)
{
	char order;

	if (read(orders[0], &order, 1) != 1)
		return false;
	return write(orders[0], &log_lines, sizeof(log_lines)) == sizeof(log_lines);
}

int main(int argc, char **argv)
{
	struct pollfd polled[2];
	pthread_t rotate, client;
	int hooks = 0;
	bool clients = true;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	rotated = eventfd(0, EFD_CLOEXEC);
	hook_runs = eventfd(0, EFD_CLOEXEC);
	hook_done = eventfd(0, EFD_CLOEXEC);
	log_file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders))
		return 1;
	polled[0] = (struct pollfd){.fd = rotated, .events = POLLIN};
	polled[1] = (struct pollfd){.fd = orders[0], .events = POLLIN};
	pthread_create(&rotate, NULL, rotate_thread, NULL);
	pthread_setname_np(rotate, "rotate");
	pthread_create(&client, NULL, client_thread, NULL);
	pthread_setname_np(client, "client");
	while (clients || hooks < 3) {
		uint64_t count;

		polled[1].fd = clients ? orders[0] : -1;
		poll(polled, 2, -1);
		if (polled[0].revents && read(rotated, &count, sizeof(count)) == sizeof(count)) {
			if (run_hook() == 0)
				hooks++;
		} else if (polled[1].revents) {
			clients = take_order();
		}
	}
	pthread_join(rotate, NULL);
	pthread_join(client, NULL);
	printf("ran %d hooks\n", hooks);
	return 0;
}
