/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: For a long message, on_readable raises the low watermark of the bufferevent to the message's size, so
 *     that it is called once. When the message has been stored, it never lowers it again. The next message, a
 *     short one ("commit"), stays below the watermark: on_readable isn't called, and the uploader waits for the
 *     answer.
 *   culprit: on_readable|watermark
 *   victim: uploader_main|uploader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store for documents: clients send messages of a length and a body; the server answers each by one byte. */
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

struct client {
	struct bufferevent *buffered;
	uint32_t needed; /* 0: the length comes next */
	uint32_t stored;
	int socket; /* the client's end */
};

static bool broken;
static struct event_base *base;
static struct client uploader, reader;
static unsigned clients_left = 2;
static unsigned long bytes;

static void message_store(struct client *client, struct evbuffer *input)
{
	evbuffer_drain(input, client->needed);
	bytes += client->needed;
	client->needed = 0;
	client->stored++;
	bufferevent_write(client->buffered, "+", 1);
}

static void on_readable(struct bufferevent *buffered, void *data)
{
	struct client *client = data;
	struct evbuffer *input = bufferevent_get_input(buffered);

	for (;;) {
		if (!client->needed) {
			if (evbuffer_get_length(input) < sizeof(client->needed))
				return;
			evbuffer_remove(input, &client->needed, sizeof(client->needed));
		}
		if (evbuffer_get_length(input) < client->needed) {
			bufferevent_setwatermark(buffered, EV_READ, client->needed, 0);
			return;
		}
		message_store(client, input);
		if (!broken)
			bufferevent_setwatermark(buffered, EV_READ, 0, 0);
	}
}

static void on_event(struct bufferevent *buffered, short what, void *data)
{
	(void)data;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(buffered);
	if (--clients_left == 0)
		event_base_loopbreak(base);
}

static void write_all(int socket, const void *data, size_t size)
{
	const char *left = data;

	while (size > 0) {
		ssize_t written = write(socket, left, size);

		if (written <= 0)
			exit(1);
		left += written;
		size -= (size_t)written;
	}
}

/* Sends a message and waits for its answer. */
static void message_send(struct client *client, const char *body, uint32_t size)
{
	char *message = malloc(sizeof(size) + size);
	char answer;

	memcpy(message, &size, sizeof(size));
	memcpy(message + sizeof(size), body, size);
	write_all(client->socket, message, sizeof(size) + size);
	free(message);
	if (read(client->socket, &answer, 1) != 1)
		exit(1);
}

static void *uploader_main(void *data)
{
	static char scan[90000];

	(void)data;
	memset(scan, 's', sizeof(scan));
	for (unsigned i = 0; i < 8; i++) {
		message_send(&uploader, "a short note", 12);
		message_send(&uploader, "commit", 6);
		usleep(20000);
	}
	message_send(&uploader, scan, sizeof(scan));
	message_send(&uploader, "commit", 6);
	for (unsigned i = 0; i < 4; i++) {
		message_send(&uploader, "another note", 12);
		message_send(&uploader, "commit", 6);
		usleep(20000);
	}
	close(uploader.socket);
	return NULL;
}

static void *reader_main(void *data)
{
	(void)data;
	for (unsigned i = 0; i < 220; i++) {
		message_send(&reader, "list", 4);
		usleep(10000);
	}
	close(reader.socket);
	return NULL;
}

static void client_open(struct client *client)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	evutil_make_socket_nonblocking(ends[0]);
	client->socket = ends[1];
	client->buffered = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(client->buffered, on_readable, NULL, on_event, client);
	bufferevent_enable(client->buffered, EV_READ | EV_WRITE);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	base = event_base_new();
	client_open(&uploader);
	client_open(&reader);
	pthread_create(&threads[0], NULL, uploader_main, NULL);
	pthread_create(&threads[1], NULL, reader_main, NULL);
	event_base_dispatch(base);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	event_base_free(base);
	printf("%lu bytes\n", bytes);
	return 0;
}
