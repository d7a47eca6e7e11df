/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: on_client_writable looks at the fill level before it writes; the client with the large buffer
 *     takes the whole full buffer in one write, so the level was never seen below the low mark: the origin,
 *     paused at the high mark, is not resumed, and relay 2 waits for it for ever
 *   culprit: origin 2|origin paused|on_client_writable
 *   victim: relay 2|client 2
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Relays bodies from origins to clients; pauses an origin while its client is slow. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define RELAYS 3
#define BODY 120000
#define HIGH 32768
#define LOW 16384

enum state {
	FLOWING,
	PAUSED,
	FINISHING,
	CLOSED
};

struct endpoint {
	struct relay *relay;
	int fd, far; /* our end, and the end of the simulated peer */
	unsigned events;
	thrum_task task;
};

struct relay {
	int number;
	enum state state;
	struct endpoint origin, client;
	char buffer[HIGH];
	size_t used;
	thrum_task task;
	pthread_t origin_thread, client_thread;
	size_t received;
};

static int poll_fd, open_relays = RELAYS;
static bool level_after;

static void watch(struct endpoint *end, unsigned events)
{
	struct epoll_event event = {.events = events, .data.ptr = end};

	if (end->events != events)
		epoll_ctl(poll_fd, EPOLL_CTL_MOD, end->fd, &event);
	end->events = events;
}

static void relay_close(struct relay *relay)
{
	relay->state = CLOSED;
	thrum_task_resolve(relay->task);
	thrum_task_resolve(relay->origin.task);
	thrum_task_resolve(relay->client.task);
	close(relay->origin.fd);
	close(relay->client.fd);
	open_relays--;
}

static void on_origin_readable(struct relay *relay)
{
	ssize_t count = 1;

	thrum_task_read(relay->task, relay->origin.task);
	while (relay->used < HIGH && count > 0) {
		count = read(relay->origin.fd, relay->buffer + relay->used, HIGH - relay->used);
		if (count > 0)
			relay->used += (size_t)count;
	}
	if (count == 0) {
		relay->state = FINISHING;
		watch(&relay->origin, 0);
		epoll_ctl(poll_fd, EPOLL_CTL_DEL, relay->origin.fd, NULL);
		if (relay->used == 0) {
			relay_close(relay);
			return;
		}
	} else if (relay->used == HIGH) {
		relay->state = PAUSED;
		watch(&relay->origin, 0);
		thrum_log("origin paused");
	}
	if (relay->used > 0)
		watch(&relay->client, EPOLLOUT);
	thrum_task_wait(relay->task, relay->used > 0 ? relay->client.task : relay->origin.task);
}

static void on_client_writable(struct relay *relay)
{
	size_t level = relay->used;
	ssize_t count = write(relay->client.fd, relay->buffer, relay->used);

	if (count < 0)
		return;
	thrum_task_read(relay->task, relay->client.task);
	relay->used -= (size_t)count;
	memmove(relay->buffer, relay->buffer + count, relay->used);
	if (level_after)
		level = relay->used;
	if (relay->state == PAUSED && level < LOW) {
		relay->state = FLOWING;
		watch(&relay->origin, EPOLLIN);
		thrum_log("origin resumed");
	}
	if (relay->used == 0) {
		watch(&relay->client, 0);
		if (relay->state == FINISHING) {
			relay_close(relay);
			return;
		}
	}
	thrum_task_wait(relay->task, relay->used > 0 ? relay->client.task : relay->origin.task);
}

static void relay_event(struct endpoint *end)
{
	struct relay *relay = end->relay;

	if (relay->state == CLOSED)
		return;
	THRUM_RUN (relay->task) {
		if (end == &relay->origin)
			on_origin_readable(relay);
		else
			on_client_writable(relay);
	}
}

/* The simulated peers. */
static void *origin_run(void *data)
{
	struct relay *relay = data;
	static const char body[4000];

	for (size_t sent = 0; sent < BODY; sent += sizeof(body))
		if (write(relay->origin.far, body, sizeof(body)) < 0)
			break;
	shutdown(relay->origin.far, SHUT_WR);
	return NULL;
}

static void *client_run(void *data)
{
	struct relay *relay = data;
	char part[3000];
	ssize_t count;

	while ((count = read(relay->client.far, part, sizeof(part))) > 0) {
		relay->received += (size_t)count;
		if (relay->number != 2)
			usleep(1500);
	}
	return NULL;
}

static void endpoint_open(struct endpoint *end, struct relay *relay, const char *name,
	unsigned events)
{
	struct epoll_event event = {.events = events, .data.ptr = end};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	end->relay = relay;
	end->fd = ends[0];
	end->far = ends[1];
	end->events = events;
	end->task = thrum_task_createf(THRUM_KIND_HANDLE, "%s %d", name, relay->number);
	fcntl(end->fd, F_SETFL, O_NONBLOCK);
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, end->fd, &event);
}

static void relay_open(struct relay *relay, int number)
{
	int size = 8192;

	relay->number = number;
	relay->task = thrum_task_createf(THRUM_KIND_TASK, "relay %d", number);
	thrum_task_should_resolve(relay->task);
	endpoint_open(&relay->origin, relay, "origin", EPOLLIN);
	endpoint_open(&relay->client, relay, "client", 0);
	/* Most clients are on thin lines. */
	if (number != 2)
		setsockopt(relay->client.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	thrum_task_wait(relay->task, relay->origin.task);
	pthread_create(&relay->origin_thread, NULL, origin_run, relay);
	pthread_create(&relay->client_thread, NULL, client_run, relay);
}

int main(int argc, char **argv)
{
	static struct relay relays[RELAYS];
	struct epoll_event events[8];

	level_after = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < RELAYS; i++)
		relay_open(&relays[i], i + 1);
	usleep(20000); /* the origins answer meanwhile */
	while (open_relays > 0) {
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(poll_fd, events, 8, -1);
		thrum_resume();
		for (int i = 0; i < count; i++)
			relay_event(events[i].data.ptr);
	}
	thrum_stop();
	for (int i = 0; i < RELAYS; i++) {
		pthread_join(relays[i].origin_thread, NULL);
		pthread_join(relays[i].client_thread, NULL);
		printf("relay %d: %zu bytes\n", i + 1, relays[i].received);
	}
	return 0;
}
