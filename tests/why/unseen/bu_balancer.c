/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: When a backend answers 503, on_backend puts the request back in the line but doesn't count down the backend's
 *     in_flight. After two such answers each backend looks full for ever, and no request is sent to it any more.
 *   culprit: on_backend|requeue|dispatch
 *   victim: client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BACKENDS 2
#define CLIENTS 3
#define PER_BACKEND 2
#define REQUESTS 40

struct message {
	int client; /* -1: health probe */
	int number;
	int status;
};

struct backend {
	int fd, far;
	int in_flight;
	long probes;
};

struct source {
	enum {
		CLIENT,
		BACKEND,
		TIMER
	} type;
	int index;
};

static struct backend backends[BACKENDS];
static int client_fd[CLIENTS], client_far[CLIENTS];
static struct message line[64];
static int line_length;
static int epoll;
static bool count_all;

static void put(int fd, const struct message *message)
{
	if (write(fd, message, sizeof(*message)) != sizeof(*message))
		err(1, "write");
}

/* Sends what stands in the line to the backend with the fewest requests. */
static void dispatch(void)
{
	while (line_length > 0) {
		struct backend *best = &backends[0];

		for (int i = 1; i < BACKENDS; i++)
			if (backends[i].in_flight < best->in_flight)
				best = &backends[i];
		if (best->in_flight >= PER_BACKEND)
			return;
		best->in_flight++;
		put(best->fd, &line[0]);
		memmove(line, line + 1, --line_length * sizeof(line[0]));
	}
}

static void requeue(struct message *message)
{
	message->status = 0;
	line[line_length++] = *message;
}

static void on_backend(struct backend *backend)
{
	struct message message;

	if (read(backend->fd, &message, sizeof(message)) != sizeof(message))
		return;
	if (message.client < 0) {
		backend->probes++;
		return;
	}
	if (message.status == 503) {
		if (count_all)
			backend->in_flight--;
		requeue(&message);
		dispatch();
		return;
	}
	backend->in_flight--;
	put(client_fd[message.client], &message);
	dispatch();
}

/* Returns false when the client has hung up. */
static bool on_client(int index)
{
	struct message message;

	if (read(client_fd[index], &message, sizeof(message)) != sizeof(message)) {
		epoll_ctl(epoll, EPOLL_CTL_DEL, client_fd[index], NULL);
		return false;
	}
	line[line_length++] = message;
	dispatch();
	return true;
}

static void on_timer(int fd)
{
	struct message probe = {.client = -1};
	uint64_t ticks;

	if (read(fd, &ticks, sizeof(ticks)) != sizeof(ticks))
		return;
	for (int i = 0; i < BACKENDS; i++)
		put(backends[i].fd, &probe);
}

static void *backend_main(void *data)
{
	struct backend *backend = data;
	struct message message;
	int served = 0;

	while (read(backend->far, &message, sizeof(message)) == sizeof(message)) {
		if (message.client >= 0) {
			usleep(2000);
			message.status = ++served % 7 == 0 ? 503 : 200;
		}
		put(backend->far, &message);
	}
	return NULL;
}

static void *client_main(void *data)
{
	int index = *(int *)data;

	for (int i = 0; i < REQUESTS; i++) {
		struct message message = {.client = index, .number = i};

		put(client_far[index], &message);
		if (read(client_far[index], &message, sizeof(message)) != sizeof(message))
			break;
	}
	close(client_far[index]);
	return NULL;
}

static void watch(int fd, int type, int index)
{
	struct source *source = malloc(sizeof(*source));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	source->type = type;
	source->index = index;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "epoll_ctl");
}

int main(int argc, char **argv)
{
	struct itimerspec often = {{0, 50000000}, {0, 50000000}};
	static int numbers[CLIENTS];
	pthread_t thread;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), open_clients = CLIENTS, pair[2];

	count_all = argc > 1 && !strcmp(argv[1], "healthy");
	epoll = epoll_create1(0);
	timerfd_settime(timer, 0, &often, NULL);
	watch(timer, TIMER, 0);
	for (int i = 0; i < BACKENDS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			err(1, "socketpair");
		backends[i].fd = pair[0];
		backends[i].far = pair[1];
		watch(pair[0], BACKEND, i);
		pthread_create(&thread, NULL, backend_main, &backends[i]);
	}
	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			err(1, "socketpair");
		numbers[i] = i;
		client_fd[i] = pair[0];
		client_far[i] = pair[1];
		watch(pair[0], CLIENT, i);
		pthread_create(&thread, NULL, client_main, &numbers[i]);
	}
	while (open_clients > 0) {
		struct epoll_event event;
		struct source *source;

		if (epoll_wait(epoll, &event, 1, -1) != 1)
			continue;
		source = event.data.ptr;
		if (source->type == TIMER)
			on_timer(timer);
		else if (source->type == BACKEND)
			on_backend(&backends[source->index]);
		else if (!on_client(source->index))
			open_clients--;
	}
	printf("served all, %ld probes\n", backends[0].probes);
	return 0;
}
