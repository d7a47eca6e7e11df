/* SPDX-License-Identifier: ISC */
/*
 * After nginx/unit, issue #164.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The watches are one-shot. nxt_conn_read arms the watch of a connection again after it got data, but not when
 *     the layer below says NXT_AGAIN, as only a part of a record has come. The rest of the record comes later, and
 *     nobody reads it. The client "mobile" waits for its answer for ever.
 *   culprit: nxt_conn_read
 *   victim: mobile
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An application server: an engine with one-shot watches, connections that exchange records. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define NXT_AGAIN (-2)
#define NXT_ERROR (-1)
#define CLIENTS 3

typedef enum {
	NXT_EVENT_INACTIVE,
	NXT_EVENT_DISABLED,
	NXT_EVENT_ACTIVE,
} nxt_event_state;

typedef struct {
	int fd;
	nxt_event_state read;
	uint8_t partial[256];
	size_t have;
	unsigned requests;
	bool closed;
} nxt_conn_t;

static int engine;
static nxt_conn_t conns[CLIENTS];
static bool rearm;
static atomic_int busy = 2; /* clients whose work ends */

static void nxt_fd_event_enable_read(nxt_conn_t *c)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = c};

	epoll_ctl(engine, c->read == NXT_EVENT_INACTIVE ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd,
		&event);
	c->read = NXT_EVENT_ACTIVE;
}

/* Returns the size of the next whole record, 0 at the end, NXT_AGAIN if it hasn't come yet. */
static int nxt_record_recv(nxt_conn_t *c, uint8_t *record)
{
	ssize_t got = recv(c->fd, c->partial + c->have, sizeof(c->partial) - c->have, MSG_DONTWAIT);
	size_t size;

	if (got == 0)
		return 0;
	if (got < 0)
		return errno == EAGAIN ? NXT_AGAIN : NXT_ERROR;
	c->have += (size_t)got;
	size = 1 + (size_t)c->partial[0];
	if (c->have < size)
		return NXT_AGAIN;
	memcpy(record, c->partial + 1, size - 1);
	memmove(c->partial, c->partial + size, c->have - size);
	c->have -= size;
	return (int)size - 1;
}

static void nxt_conn_close(nxt_conn_t *c)
{
	epoll_ctl(engine, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->closed = true;
}

static void nxt_router_process(nxt_conn_t *c, const uint8_t *record, int size)
{
	uint8_t answer[257];

	c->requests++;
	answer[0] = (uint8_t)size;
	for (int i = 0; i < size; i++)
		answer[1 + i] = record[size - 1 - i];
	if (send(c->fd, answer, (size_t)size + 1, MSG_NOSIGNAL) < 0)
		c->closed = true;
}

static void nxt_conn_read(nxt_conn_t *c)
{
	uint8_t record[256];
	int n;

	if (!rearm) {
		n = nxt_record_recv(c, record);
		if (n == NXT_AGAIN)
			return; /* more will come */
		c->read = NXT_EVENT_DISABLED;
	} else {
		c->read = NXT_EVENT_DISABLED;
		n = nxt_record_recv(c, record);
		if (n == NXT_AGAIN) {
			nxt_fd_event_enable_read(c);
			return;
		}
	}
	if (n <= 0) {
		nxt_conn_close(c);
		return;
	}
	nxt_router_process(c, record, n);
	if (c->read != NXT_EVENT_ACTIVE)
		nxt_fd_event_enable_read(c);
}

static void *nxt_event_engine_start(void *data)
{
	struct epoll_event events[8];
	int open = CLIENTS;

	(void)data;
	while (open) {
		int count = epoll_wait(engine, events, 8, -1);

		for (int i = 0; i < count; i++) {
			nxt_conn_t *c = events[i].data.ptr;

			nxt_conn_read(c);
			if (c->closed)
				open--;
		}
	}
	return NULL;
}

/* Sends a record in two parts of which the second comes after a while, and waits for the answer. */
static void request(int fd, const char *text, size_t first)
{
	uint8_t record[257];
	size_t size = strlen(text), got = 0;

	record[0] = (uint8_t)size;
	memcpy(record + 1, text, size++);
	if (send(fd, record, first < size ? first : size, MSG_NOSIGNAL) < 0)
		abort();
	if (first < size) {
		usleep(30000);
		if (send(fd, record + first, size - first, MSG_NOSIGNAL) < 0)
			abort();
	}
	while (got < size) {
		ssize_t n = read(fd, record, sizeof(record));

		if (n <= 0)
			abort();
		got += (size_t)n;
	}
}

static void *desktop(void *data)
{
	int fd = *(int *)data;

	for (int i = 0; i < 12; i++) {
		request(fd, "GET /prices?from=monday&to=friday", 1000);
		usleep(4000);
	}
	busy--;
	close(fd);
	return NULL;
}

static void *monitor(void *data)
{
	int fd = *(int *)data;

	while (busy) {
		request(fd, "GET /status", 1000);
		usleep(30000);
	}
	close(fd);
	return NULL;
}

/* Its network is poor: after a while a record comes in two segments. */
static void *mobile(void *data)
{
	int fd = *(int *)data;

	for (int i = 0; i < 10; i++) {
		request(fd, "POST /order item=4711 pieces=3", i >= 6 ? 14 : 1000);
		usleep(10000);
	}
	busy--;
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const run[CLIENTS])(void *) = {desktop, monitor, mobile};
	pthread_t threads[CLIENTS], server;
	int ends[CLIENTS];

	if (argc < 2)
		return 2;
	rearm = !strcmp(argv[1], "healthy");
	engine = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < CLIENTS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 2;
		ends[i] = pair[0];
		conns[i].fd = pair[1];
		nxt_fd_event_enable_read(&conns[i]);
	}
	pthread_create(&server, NULL, nxt_event_engine_start, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, run[i], &ends[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(server, NULL);
	printf("%u, %u and %u requests\n", conns[0].requests, conns[1].requests, conns[2].requests);
	return 0;
}
