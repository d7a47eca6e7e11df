/* SPDX-License-Identifier: ISC */
/*
 * After h2o/h2o #912.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: When a connection has as many open streams as the server allows and one more request comes, expect_request
 *     stops reading from the connection. But the open streams need WINDOW_UPDATE frames, which come over the same
 *     connection. They are never read, so the open streams never close, and the server never reads again.
 *   culprit: expect_request|h2 server|on_readable
 *   victim: browser|main\b|monitor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server that sends several answers over one connection, each only as far as its window allows. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MAX_CONCURRENT = 2,
	STREAMS = 8,
	WINDOW = 4096,
	PART = 1024
};
enum {
	REQUEST = 1,
	WINDOW_UPDATE,
	DATA
};

struct frame {
	uint16_t type;
	uint16_t stream;
	uint32_t value; /* the size of the answer, of the update, of the data */
};

struct stream {
	bool used, open;
	uint32_t left;
	uint32_t window;
};

struct connection {
	struct bufferevent *bev;
	struct stream stream[STREAMS];
	int open;
	int pending;
};

static bool broken;
static struct event_base *base;
static int connections = 2;

static void must(bool good)
{
	if (!good)
		exit(2);
}

/* ---- The server ----------------------------------------------------------------------------- */

static void stream_send(struct connection *connection, uint16_t id)
{
	static const char zeros[PART];
	struct stream *stream = &connection->stream[id];

	while (stream->left && stream->window >= PART) {
		struct frame frame = {DATA, id, PART};

		bufferevent_write(connection->bev, &frame, sizeof(frame));
		bufferevent_write(connection->bev, zeros, PART);
		stream->left -= PART;
		stream->window -= PART;
	}
}

static void run_pending(struct connection *connection)
{
	for (uint16_t id = 0; id < STREAMS && connection->open < MAX_CONCURRENT; id++) {
		struct stream *stream = &connection->stream[id];

		if (!stream->used || stream->open)
			continue;
		stream->open = true;
		connection->open++;
		connection->pending--;
		stream_send(connection, id);
	}
}

/* Takes requests as long as there is place for them. */
static void expect_request(struct connection *connection)
{
	if (!broken)
		return;
	if (connection->pending)
		bufferevent_disable(connection->bev, EV_READ);
	else
		bufferevent_enable(connection->bev, EV_READ);
}

static void close_finished(struct connection *connection)
{
	for (int id = 0; id < STREAMS; id++) {
		struct stream *stream = &connection->stream[id];

		if (!stream->open || stream->left)
			continue;
		memset(stream, 0, sizeof(*stream));
		connection->open--;
	}
}

static void on_readable(struct bufferevent *bev, void *data)
{
	struct connection *connection = data;
	struct evbuffer *input = bufferevent_get_input(bev);
	struct frame frame;

	while (evbuffer_get_length(input) >= sizeof(frame)) {
		evbuffer_remove(input, &frame, sizeof(frame));
		must(frame.stream < STREAMS);
		if (frame.type == REQUEST) {
			connection->stream[frame.stream] = (struct stream){true, false, frame.value,
				WINDOW};
			connection->pending++;
		} else if (connection->stream[frame.stream].open) {
			connection->stream[frame.stream].window += frame.value;
			stream_send(connection, frame.stream);
		}
		close_finished(connection);
		run_pending(connection);
		close_finished(connection);
	}
	run_pending(connection);
	expect_request(connection);
}

static void on_event(struct bufferevent *bev, short what, void *data)
{
	(void)data;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(bev);
	if (!--connections)
		event_base_loopbreak(base);
}

static void *server(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "h2 server");
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

/* ---- The clients ---------------------------------------------------------------------------- */

struct client {
	const char *name;
	int socket;
	const int *pages; /* the number of files of each, up to 0 */
	uint32_t size;    /* of each file */
	unsigned pause_ms;
};

static void send_frame(int socket, uint16_t type, uint16_t stream, uint32_t value)
{
	struct frame frame = {type, stream, value};

	must(send(socket, &frame, sizeof(frame), MSG_NOSIGNAL) == sizeof(frame));
}

static void load_page(struct client *client, int files)
{
	uint32_t got[STREAMS] = {0}, unacknowledged[STREAMS] = {0};
	char part[PART];
	struct frame frame;
	int left = files;

	for (int i = 0; i < files; i++) {
		send_frame(client->socket, REQUEST, (uint16_t)i, client->size);
		usleep(1000);
	}
	while (left) {
		must(recv(client->socket, &frame, sizeof(frame), MSG_WAITALL) == sizeof(frame));
		must(recv(client->socket, part, frame.value, MSG_WAITALL) == (ssize_t)frame.value);
		got[frame.stream] += frame.value;
		unacknowledged[frame.stream] += frame.value;
		if (got[frame.stream] == client->size)
			left--;
		else if (unacknowledged[frame.stream] >= WINDOW / 2) {
			usleep(3000); /* the file is decoded as it comes */
			send_frame(client->socket, WINDOW_UPDATE, frame.stream,
				unacknowledged[frame.stream]);
			unacknowledged[frame.stream] = 0;
		}
	}
}

static void *client_thread(void *data)
{
	struct client *client = data;

	pthread_setname_np(pthread_self(), client->name);
	for (const int *page = client->pages; *page; page++) {
		load_page(client, *page);
		printf("%s: a page of %d files\n", client->name, *page);
		usleep(client->pause_ms * 1000);
	}
	close(client->socket);
	return NULL;
}

int main(int argc, char **argv)
{
	static const int browser_pages[] = {1, 2, 2, 1, 5, 2, 0};
	static const int monitor_pages[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 0};
	struct client clients[2] = {
		{"browser", -1, browser_pages, 12 * PART, 20},
		{"monitor", -1, monitor_pages, PART, 25},
	};
	static struct connection connection[2];
	pthread_t threads[3];

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	base = event_base_new();
	must(base);
	for (int i = 0; i < 2; i++) {
		int ends[2];

		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
		evutil_make_socket_nonblocking(ends[0]);
		clients[i].socket = ends[1];
		connection[i].bev = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
		bufferevent_setcb(connection[i].bev, on_readable, NULL, on_event, &connection[i]);
		bufferevent_enable(connection[i].bev, EV_READ | EV_WRITE);
	}
	must(!pthread_create(&threads[2], NULL, server, NULL));
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&threads[i], NULL, client_thread, &clients[i]));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	event_base_free(base);
	puts("server stops");
	return 0;
}
