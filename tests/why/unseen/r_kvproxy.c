/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="GET session"
 *   truth: The proxy has one connection to its store, and one command at a time on it ("backend wire"). SCAN orders
 *     occupies it for 180 ms, so the slowest GET session queues behind it; the GET's own answer is as fast as ever.
 *   culprit: SCAN orders
 *   victim: GET session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A key-value proxy: commands queue for the one connection to the store. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS 24

struct command {
	struct command *next;
	char verb;
	thrum_task task;
};

static struct command *queue, **queue_end = &queue, *flying;
static thrum_task wire, store_handle;
static int proxy_end, store_end, done;
static int scan_ms = 8;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* The store stands in for a server elsewhere. */
static void *store(void *unused)
{
	char verb;

	while (read(store_end, &verb, 1) == 1) {
		usleep(verb == 'S' ? scan_ms * 1000 : verb == 'P' ? 5000 : 3000);
		if (write(store_end, "+", 1) != 1)
			break;
	}
	return unused;
}

static void send_next(void)
{
	if (flying || !queue)
		return;
	flying = queue;
	queue = queue->next;
	if (!queue)
		queue_end = &queue;
	THRUM_RUN (flying->task) {
		thrum_lock_acquired(wire);
		if (write(proxy_end, &flying->verb, 1) != 1)
			exit(1);
		thrum_task_wait(flying->task, store_handle);
	}
}

static void submit(char verb, const char *name)
{
	struct command *command = calloc(1, sizeof(*command));

	command->verb = verb;
	command->task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(command->task);
	*queue_end = command;
	queue_end = &command->next;
	if (flying)
		thrum_task_wait(command->task, wire);
	send_next();
}

static void on_reply(void)
{
	char reply;

	if (read(proxy_end, &reply, 1) != 1)
		exit(1);
	THRUM_RUN (flying->task) {
		thrum_task_read(flying->task, store_handle);
		thrum_lock_released(wire);
		thrum_task_resolve(flying->task);
	}
	free(flying);
	flying = NULL;
	done++;
	send_next();
}

int main(int argc, char **argv)
{
	struct pollfd fd;
	pthread_t thread;
	int pair[2], submitted = 0;
	int64_t start = now_ms();

	if (argc > 1 && !strcmp(argv[1], "broken"))
		scan_ms = 180;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	proxy_end = pair[0];
	store_end = pair[1];
	wire = thrum_task_create(THRUM_KIND_LOCK, "backend wire");
	store_handle = thrum_task_create(THRUM_KIND_HANDLE, "store:6379");
	pthread_create(&thread, NULL, store, NULL);
	fd = (struct pollfd){.fd = proxy_end, .events = POLLIN};
	while (done < COMMANDS) {
		int64_t left = start + submitted * 12 - now_ms();

		if (submitted < COMMANDS && left <= 0) {
			if (submitted == 9)
				submit('S', "SCAN orders");
			else if (submitted % 4 == 3)
				submit('P', "PUT cart");
			else
				submit('G', "GET session");
			submitted++;
			continue;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&fd, 1, submitted < COMMANDS ? (int)left : -1);
		thrum_resume();
		if (fd.revents & POLLIN)
			on_reply();
	}
	shutdown(proxy_end, SHUT_RDWR);
	pthread_join(thread, NULL);
	printf("%d commands\n", done);
	return 0;
}
