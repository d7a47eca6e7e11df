/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: After a known file, on_body doesn't call expect_header; so it takes the next header for a body.
 *   culprit: on_body
 *   victim: await_reply|back_up|laptop
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A vault for backups. Clients send PUT, sum, size and a body, or GET and sum; each file is kept once. */

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
	CLIENTS = 3,
	FILES = 30,
	BLOCK = 3000,
	KEPT = 256
};

struct client {
	struct bufferevent *stream;
	unsigned sum;
	size_t size;
};

struct machine {
	const char *name;
	unsigned first_sum;
	int fd;
	pthread_t thread;
};

static struct event_base *base;
static struct event *keep_alive;
static unsigned kept[KEPT];
static int kept_count, open_clients = CLIENTS;
static bool expects_header;

static void on_header(struct bufferevent *stream, void *data);

static bool is_kept(unsigned sum)
{
	for (int i = 0; i < kept_count; i++)
		if (kept[i] == sum)
			return true;
	return false;
}

static void on_event(struct bufferevent *stream, short what, void *data)
{
	(void)what;
	free(data);
	bufferevent_free(stream);
	if (--open_clients == 0)
		event_del(keep_alive);
}

static void reply(struct client *client, const char *text)
{
	evbuffer_add_printf(bufferevent_get_output(client->stream), "%s %u\n", text, client->sum);
}

static void expect_header(struct client *client)
{
	bufferevent_setwatermark(client->stream, EV_READ, 0, 0);
	bufferevent_setcb(client->stream, on_header, NULL, on_event, client);
}

/* The low watermark is the size of the body, so the whole body is there. */
static void on_body(struct bufferevent *stream, void *data)
{
	struct client *client = data;
	struct evbuffer *input = bufferevent_get_input(stream);

	if (evbuffer_get_length(input) < client->size)
		return;
	evbuffer_drain(input, client->size);
	if (is_kept(client->sum)) {
		reply(client, "known");
		if (expects_header)
			expect_header(client);
		return;
	}
	kept[kept_count++ % KEPT] = client->sum;
	reply(client, "kept");
	expect_header(client);
}

static void expect_body(struct client *client)
{
	bufferevent_setwatermark(client->stream, EV_READ, client->size, 0);
	bufferevent_setcb(client->stream, on_body, NULL, on_event, client);
	if (evbuffer_get_length(bufferevent_get_input(client->stream)) >= client->size)
		on_body(client->stream, client);
}

static void on_header(struct bufferevent *stream, void *data)
{
	struct client *client = data;
	char *line = evbuffer_readln(bufferevent_get_input(stream), NULL, EVBUFFER_EOL_LF);

	if (!line)
		return;
	if (sscanf(line, "PUT %u %zu", &client->sum, &client->size) == 2)
		expect_body(client);
	else if (sscanf(line, "GET %u", &client->sum) == 1)
		reply(client, is_kept(client->sum) ? "here" : "none");
	free(line);
}

static void on_keep_alive(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	*(int *)data += 1;
}

static void await_reply(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) == 1 && byte != '\n')
		continue;
}

static void *back_up(void *data)
{
	struct machine *machine = data;
	char block[BLOCK], header[64];
	int length;

	pthread_setname_np(pthread_self(), machine->name);
	for (unsigned i = 0; i < FILES; i++) {
		memset(block, (int)i, sizeof block);
		length = snprintf(header, sizeof header, "PUT %u %d\n", machine->first_sum + i,
			BLOCK);
		send(machine->fd, header, length, MSG_NOSIGNAL);
		usleep(1500); /* reads the file */
		send(machine->fd, block, sizeof block, MSG_NOSIGNAL);
		await_reply(machine->fd);
		if (i % 5)
			continue;
		length = snprintf(header, sizeof header, "GET %u\n", machine->first_sum + i);
		send(machine->fd, header, length, MSG_NOSIGNAL);
		await_reply(machine->fd);
		usleep(2000);
	}
	close(machine->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	/* Both computers have the same library from file 120 on. */
	struct machine machines[CLIENTS] = {
		{.name = "laptop", .first_sum = 100},
		{.name = "desktop", .first_sum = 90 + FILES},
		{.name = "camera", .first_sum = 700},
	};
	struct timeval period = {0, 20000};
	int ticks = 0;

	expects_header = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	base = event_base_new();
	keep_alive = event_new(base, -1, EV_PERSIST, on_keep_alive, &ticks);
	event_add(keep_alive, &period);
	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = calloc(1, sizeof *client);
		int ends[2];

		if (!client || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		evutil_make_socket_nonblocking(ends[0]);
		machines[i].fd = ends[1];
		client->stream = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
		expect_header(client);
		bufferevent_enable(client->stream, EV_READ | EV_WRITE);
		pthread_create(&machines[i].thread, NULL, back_up, &machines[i]);
	}
	event_base_dispatch(base);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(machines[i].thread, NULL);
	printf("%d files, %d ticks\n", kept_count, ticks);
	return 0;
}
