/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The token bucket's timer is rearmed by on_refill only while requests wait. It returns early as the queue is
 *     empty, but leaves bucket->refilling set, so that hold_request of the second burst believes that the timer runs, and
 *     doesn't add it. Nobody refills the bucket, and the requests of the second burst are never answered.
 *   culprit: on_refill|hold_request|start_refill
 *   victim: \bclient\b|read_answer|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* bucket: a server that answers a limited number of requests per second, and a client that asks in bursts. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TOKENS 2
#define REFILL_MS 40
#define THINK_MS 350

struct request {
	TAILQ_ENTRY(request) link;
	char text[32];
};

struct bucket {
	struct event *refill;
	unsigned tokens;
	bool refilling;
};

struct server {
	struct event_base *base;
	struct bufferevent *connection;
	struct bucket bucket;
	TAILQ_HEAD(, request) held; /* requests that wait for a token */
	unsigned answered, delayed;
};

struct client {
	int socket;
	unsigned bursts, burst_size;
	unsigned answers;
};

/* ---- The client, in a thread ---- */

/* Sends all requests of a burst at once. */
__attribute__((noinline)) bool ask_burst(int socket, unsigned first, unsigned count)
{
	char lines[256];
	size_t size = 0;

	for (unsigned i = 0; i < count && size + 32 < sizeof lines; i++)
		size += (size_t)snprintf(lines + size, sizeof lines - size, "item %u\n", first + i);
	return send(socket, lines, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Reads a line. */
__attribute__((noinline)) bool read_answer(int socket)
{
	char c;

	while (read(socket, &c, 1) == 1)
		if (c == '\n')
			return true;
	return false;
}

__attribute__((noinline)) void think(void)
{
	struct timespec time = {0, THINK_MS * 1000000L};

	nanosleep(&time, NULL);
}

void *run_client(void *data)
{
	struct client *client = data;

	for (unsigned burst = 0; burst < client->bursts; burst++) {
		if (burst > 0)
			think();
		if (!ask_burst(client->socket, burst * 100, client->burst_size))
			return NULL;
		for (unsigned i = 0; i < client->burst_size; i++) {
			if (!read_answer(client->socket))
				return NULL;
			client->answers++;
		}
	}
	close(client->socket);
	return NULL;
}

/* ---- The server ---- */

__attribute__((noinline)) void answer_request(struct server *server, const char *text)
{
	evbuffer_add_printf(bufferevent_get_output(server->connection), "%s: 3 in stock\n", text);
	server->answered++;
}

__attribute__((noinline)) void start_refill(struct bucket *bucket)
{
	static const struct timeval time = {0, REFILL_MS * 1000};

	bucket->refilling = true;
	event_add(bucket->refill, &time);
}

/* Keeps a request until there is a token for it. */
__attribute__((noinline)) void hold_request(struct server *server, const char *text)
{
	struct request *request = calloc(1, sizeof *request);

	if (!request)
		return;
	snprintf(request->text, sizeof request->text, "%s", text);
	TAILQ_INSERT_TAIL(&server->held, request, link);
	server->delayed++;
	if (!server->bucket.refilling)
		start_refill(&server->bucket);
}

static void answer_first_held(struct server *server)
{
	struct request *request = TAILQ_FIRST(&server->held);

	TAILQ_REMOVE(&server->held, request, link);
	server->bucket.tokens--;
	answer_request(server, request->text);
	free(request);
}

/* There is another token. */
void on_refill(evutil_socket_t fd, short what, void *data)
{
	struct server *server = data;
	struct bucket *bucket = &server->bucket;

	(void)fd, (void)what;
	bucket->tokens++;
	while (bucket->tokens > 0 && !TAILQ_EMPTY(&server->held))
		answer_first_held(server);
	if (bucket->tokens == TOKENS) {
		bucket->refilling = false;
		return;
	}
	if (TAILQ_EMPTY(&server->held))
		return; /* nobody needs a token now: let the machine sleep */
	start_refill(bucket);
}

void on_request(struct bufferevent *connection, void *data)
{
	struct server *server = data;
	char *line;

	while ((line = evbuffer_readln(bufferevent_get_input(connection), NULL, EVBUFFER_EOL_LF))) {
		if (server->bucket.tokens > 0 && TAILQ_EMPTY(&server->held)) {
			server->bucket.tokens--;
			answer_request(server, line);
		} else {
			hold_request(server, line);
		}
		free(line);
	}
}

void on_connection_event(struct bufferevent *connection, short what, void *data)
{
	struct server *server = data;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_disable(connection, EV_READ | EV_WRITE);
	event_del(server->bucket.refill);
	event_base_loopexit(server->base, NULL);
}

__attribute__((noinline)) int server_init(struct server *server, int socket)
{
	TAILQ_INIT(&server->held);
	server->base = event_base_new();
	if (!server->base)
		return -1;
	evutil_make_socket_nonblocking(socket);
	server->connection = bufferevent_socket_new(server->base, socket, BEV_OPT_CLOSE_ON_FREE);
	server->bucket.tokens = TOKENS;
	server->bucket.refill = evtimer_new(server->base, on_refill, server);
	if (!server->connection || !server->bucket.refill)
		return -1;
	bufferevent_setcb(server->connection, on_request, NULL, on_connection_event, server);
	return bufferevent_enable(server->connection, EV_READ | EV_WRITE);
}

static void server_destroy(struct server *server)
{
	while (!TAILQ_EMPTY(&server->held)) {
		struct request *request = TAILQ_FIRST(&server->held);

		TAILQ_REMOVE(&server->held, request, link);
		free(request);
	}
	event_free(server->bucket.refill);
	bufferevent_free(server->connection);
	event_base_free(server->base);
}

int main(int argc, char **argv)
{
	struct client client = {.bursts = 1, .burst_size = 8};
	struct server server = {0};
	pthread_t thread;
	int ends[2];

	if (argc != 2) {
		fprintf(stderr, "usage: bucket broken|healthy\n");
		return 2;
	}
	if (strcmp(argv[1], "broken") == 0) {
		client.bursts = 2;
		client.burst_size = 4;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || server_init(&server, ends[0]) != 0)
		return 1;
	client.socket = ends[1];
	if (pthread_create(&thread, NULL, run_client, &client) != 0)
		return 1;
	pthread_setname_np(thread, "client");
	event_base_dispatch(server.base);
	pthread_join(thread, NULL);
	printf("%u answers, %u of them delayed\n", client.answers, server.delayed);
	server_destroy(&server);
	return 0;
}
