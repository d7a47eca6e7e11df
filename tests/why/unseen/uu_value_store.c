/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: swallow_value() refuses a value that is too large, but leaves the read watermark of the connection
 *     at the size of that value. The next request is shorter, so the store waits for more bytes and never
 *     calls on_client_read() for it.
 *   culprit: swallow_value|on_client_read
 *   victim: run_client|call_store|importer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A store of keys and values on libevent: a header comes in, then the value; a reply goes out. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LIMIT 2048
#define SLOTS 64

enum {
	GET = 1,
	SET,
	DONE = 0,
	TOO_LARGE = 3
};

struct header {
	uint32_t operation, key, length;
};
struct reply {
	uint32_t status, length;
};

struct client {
	struct header header;
	bool has_header;
};

static struct {
	char *data;
	uint32_t length;
} slots[SLOTS];
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct event_base *base;
static unsigned served, refused, ticks;
static bool fixed;

static void send_reply(struct bufferevent *connection, uint32_t status, const void *data,
	uint32_t length)
{
	struct reply reply = {.status = status, .length = length};
	bufferevent_write(connection, &reply, sizeof reply);
	if (length)
		bufferevent_write(connection, data, length);
	served++;
}

static void expect_header(struct bufferevent *connection, struct client *client)
{
	client->has_header = false;
	bufferevent_setwatermark(connection, EV_READ, sizeof client->header, 0);
}

static void store_value(struct bufferevent *connection, struct client *client)
{
	uint32_t length = client->header.length, slot = client->header.key % SLOTS;
	free(slots[slot].data);
	slots[slot].data = malloc(length + 1);
	slots[slot].length = length;
	bufferevent_read(connection, slots[slot].data, length);
	expect_header(connection, client);
	send_reply(connection, DONE, NULL, 0);
}

static void swallow_value(struct bufferevent *connection, struct client *client)
{
	evbuffer_drain(bufferevent_get_input(connection), client->header.length);
	refused++;
	if (fixed)
		expect_header(connection, client);
	else
		client->has_header = false;
	send_reply(connection, TOO_LARGE, NULL, 0);
}

static void on_client_read(struct bufferevent *connection, void *argument)
{
	struct client *client = argument;
	struct evbuffer *input = bufferevent_get_input(connection);
	for (;;) {
		struct header *header = &client->header;
		if (!client->has_header) {
			if (evbuffer_get_length(input) < sizeof *header)
				return;
			evbuffer_remove(input, header, sizeof *header);
			client->has_header = true;
		}
		if (header->operation == GET) {
			uint32_t slot = header->key % SLOTS;
			client->has_header = false;
			send_reply(connection, DONE, slots[slot].data, slots[slot].length);
			continue;
		}
		if (evbuffer_get_length(input) < header->length) {
			bufferevent_setwatermark(connection, EV_READ, header->length, 0);
			return;
		}
		if (header->length > LIMIT)
			swallow_value(connection, client);
		else
			store_value(connection, client);
	}
}

static void on_client_event(struct bufferevent *connection, short events, void *argument)
{
	if (events & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		bufferevent_free(connection);
	free(argument);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int n,
	void *data)
{
	(void)l, (void)from, (void)n, (void)data;
	struct client *client = calloc(1, sizeof *client);
	struct bufferevent *connection = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(connection, on_client_read, NULL, on_client_event, client);
	expect_header(connection, client);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
}

static void expire_keys(evutil_socket_t fd, short events, void *argument)
{
	(void)fd, (void)events, (void)argument;
	ticks++;
}

/* The clients. */
static bool call_store(int fd, uint32_t operation, uint32_t key, const char *value, uint32_t length)
{
	struct header header = {operation, key, length};
	struct reply reply;
	char data[LIMIT];
	send(fd, &header, sizeof header, 0);
	if (length)
		send(fd, value, length, 0);
	if (recv(fd, &reply, sizeof reply, MSG_WAITALL) < (ssize_t)sizeof reply)
		exit(1);
	if (reply.length)
		recv(fd, data, reply.length, MSG_WAITALL);
	return reply.status == DONE;
}

static void *run_client(void *argument)
{
	const uint32_t *largest = argument;
	char *value = calloc(1, *largest);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), failed = 0;
	if (connect(fd, (struct sockaddr *)&address, sizeof address))
		exit(1);
	for (uint32_t i = 0; i < 60; i++) {
		uint32_t length = i == 30 ? *largest : 100 + i;
		failed += !call_store(fd, SET, i, value, length);
		failed += !call_store(fd, GET, i, NULL, 0);
		usleep(200);
	}
	close(fd);
	free(value);
	return (void *)(intptr_t)failed;
}

static void *run_store(void *argument)
{
	event_base_dispatch(base);
	return argument;
}

int main(int argc, char **argv)
{
	static const uint32_t largest[] = {1500, 6000, 800};
	static const char *const names[] = {"web", "importer", "session"};
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	evthread_use_pthreads();
	base = event_base_new();
	snprintf(address.sun_path, sizeof address.sun_path, "/tmp/values-%d", (int)getpid());
	struct evconnlistener *listener = evconnlistener_new_bind(base, on_accept, NULL,
		LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&address, sizeof address);
	struct event *expiry = event_new(base, -1, EV_PERSIST, expire_keys, NULL);
	event_add(expiry, &(struct timeval){.tv_usec = 5000});
	pthread_t store, clients[3];
	pthread_create(&store, NULL, run_store, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_create(&clients[i], NULL, run_client, (void *)&largest[i]);
		pthread_setname_np(clients[i], names[i]);
	}
	intptr_t failed = 0;
	for (int i = 0; i < 3; i++) {
		void *result;
		pthread_join(clients[i], &result);
		failed += (intptr_t)result;
	}
	event_base_loopexit(base, NULL);
	pthread_join(store, NULL);
	event_free(expiry);
	evconnlistener_free(listener);
	unlink(address.sun_path);
	printf("%u requests served, %u refused, %u ticks\n", served, refused, ticks);
	return failed == 1 && refused == 1 ? 0 : 1;
}
