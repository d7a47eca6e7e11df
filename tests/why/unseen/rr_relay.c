/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pause_origin() stops reading from the origin while the client is slow. Then on_client_drained()
 *     enables reading of the client's bufferevent instead of the origin's, so the origin is never read again.
 *   culprit: pause_origin|on_client_drained
 *   victim: fetch_blob|serve_blob
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This relay stands between a client and an origin, and holds some 64 KiB for a client that is slow. */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BLOB = 3 << 20,
	HIGH = 64 << 10,
	LOW = 16 << 10
};

struct relay {
	struct event_base *base;
	struct bufferevent *client;
	struct bufferevent *origin;
	struct event *meter;
	size_t passed, metered;
	int pauses;
	bool confused;
};

static void *serve_blob(void *argument)
{
	int fd = *(int *)argument;
	char request[64], block[8192];
	size_t sent = 0;

	if (read(fd, request, sizeof(request)) <= 0)
		return NULL;
	memset(block, 'b', sizeof(block));
	while (sent < BLOB) {
		ssize_t count = write(fd, block, sizeof(block));

		if (count <= 0)
			break;
		sent += (size_t)count;
	}
	close(fd);
	return NULL;
}

static void *fetch_blob(void *argument)
{
	int fd = *(int *)argument;
	static const char request[] = "GET /releases/image.bin\n";
	char block[16384];
	size_t received = 0;

	if (write(fd, request, strlen(request)) < 0)
		return NULL;
	/* The disk must spin up before the first block can be stored. */
	usleep(40000);
	while (received < BLOB) {
		ssize_t count = read(fd, block, sizeof(block));

		if (count <= 0)
			break;
		received += (size_t)count;
		if (received % (512 << 10) < sizeof(block))
			usleep(2000);
	}
	printf("the client has %zu of %d bytes\n", received, BLOB);
	close(fd);
	return NULL;
}

static void on_client_drained(struct bufferevent *client, void *data);
static void on_request(struct bufferevent *client, void *data);
static void on_gone(struct bufferevent *side, short what, void *data);

static void pause_origin(struct relay *relay)
{
	relay->pauses++;
	bufferevent_setcb(relay->client, on_request, on_client_drained, on_gone, relay);
	bufferevent_setwatermark(relay->client, EV_WRITE, LOW, 0);
	bufferevent_disable(relay->origin, EV_READ);
}

static void on_client_drained(struct bufferevent *client, void *data)
{
	struct relay *relay = data;

	bufferevent_setcb(client, on_request, NULL, on_gone, relay);
	bufferevent_setwatermark(client, EV_WRITE, 0, 0);
	bufferevent_enable(relay->confused ? client : relay->origin, EV_READ);
}

static void on_request(struct bufferevent *client, void *data)
{
	struct relay *relay = data;

	bufferevent_read_buffer(client, bufferevent_get_output(relay->origin));
}

static void on_answer(struct bufferevent *origin, void *data)
{
	struct relay *relay = data;
	struct evbuffer *output = bufferevent_get_output(relay->client);

	relay->passed += evbuffer_get_length(bufferevent_get_input(origin));
	bufferevent_read_buffer(origin, output);
	if (evbuffer_get_length(output) >= HIGH)
		pause_origin(relay);
}

static void on_gone(struct bufferevent *side, short what, void *data)
{
	struct relay *relay = data;

	if (side == relay->origin && !(what & BEV_EVENT_ERROR)) {
		bufferevent_disable(side, EV_READ);
		return;
	}
	event_base_loopexit(relay->base, NULL);
}

static void on_meter(evutil_socket_t fd, short what, void *data)
{
	struct relay *relay = data;

	(void)fd;
	(void)what;
	relay->metered = relay->passed;
}

int main(int argc, char **argv)
{
	struct relay relay = {.confused = argc > 1 && !strcmp(argv[1], "broken")};
	const struct timeval often = {.tv_usec = 50000};
	int client[2], origin[2];
	pthread_t client_thread, origin_thread;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, client) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, origin))
		return 1;
	evutil_make_socket_nonblocking(client[0]);
	evutil_make_socket_nonblocking(origin[0]);
	relay.base = event_base_new();
	relay.client = bufferevent_socket_new(relay.base, client[0], BEV_OPT_CLOSE_ON_FREE);
	relay.origin = bufferevent_socket_new(relay.base, origin[0], BEV_OPT_CLOSE_ON_FREE);
	relay.meter = event_new(relay.base, -1, EV_PERSIST, on_meter, &relay);
	bufferevent_setcb(relay.client, on_request, NULL, on_gone, &relay);
	bufferevent_setcb(relay.origin, on_answer, NULL, on_gone, &relay);
	bufferevent_enable(relay.client, EV_READ | EV_WRITE);
	bufferevent_enable(relay.origin, EV_READ | EV_WRITE);
	event_add(relay.meter, &often);
	if (pthread_create(&origin_thread, NULL, serve_blob, &origin[1]) ||
		pthread_create(&client_thread, NULL, fetch_blob, &client[1]))
		return 1;
	event_base_dispatch(relay.base);
	pthread_join(client_thread, NULL);
	pthread_join(origin_thread, NULL);
	event_free(relay.meter);
	bufferevent_free(relay.client);
	bufferevent_free(relay.origin);
	event_base_free(relay.base);
	printf("%zu bytes passed with %d pauses\n", relay.passed, relay.pauses);
	return 0;
}
