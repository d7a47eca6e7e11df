/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: seafile issue #1119 ("fileserver does not respond, web downloads hang"; the fault is in
 *     libevhtp's pause and resume): while a block is hashed, its connection is paused. resume_connection
 *     waits for the writing, and leaves it to write_done to enable EV_READ again when the reply is written.
 *     CHUNK has no reply, so write_done is never called, and the connection isn't read any more. The sync
 *     client has sent COMMIT and waits for its answer.
 *   culprit: resume_connection|write_done|on_hashed
 *   victim: sync client
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* A server of files on libevent. Clients send blocks, each of which is hashed before the next one is read.
 * */
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

struct connection {
	struct bufferevent *bev;
	struct event *hashed;
	char *line; /* the request that is being hashed */
	bool paused;
};

static struct event_base *base;
static bool triggers; /* whether a connection without a reply is resumed, too */
static unsigned blocks, commits;

static void process_input(struct connection *connection);

/* ---- pause and resume ---- */

static void pause_connection(struct connection *connection)
{
	connection->paused = true;
	bufferevent_disable(connection->bev, EV_READ);
}

static void resume_connection(struct connection *connection)
{
	connection->paused = false;
	/* A reply goes out first: write_done reads on. */
	if (triggers && !evbuffer_get_length(bufferevent_get_output(connection->bev))) {
		bufferevent_enable(connection->bev, EV_READ);
		process_input(connection);
	}
}

static void write_done(struct bufferevent *bev, void *data)
{
	struct connection *connection = data;

	if (connection->paused)
		return;
	bufferevent_enable(bev, EV_READ);
	process_input(connection);
}

/* ---- requests ---- */

static void on_hashed(evutil_socket_t fd, short what, void *data)
{
	struct connection *connection = data;

	(void)fd, (void)what;
	blocks++;
	if (!strcmp(connection->line, "POST")) {
		evbuffer_add_printf(bufferevent_get_output(connection->bev), "OK %u\n", blocks);
	} else if (!strcmp(connection->line, "COMMIT")) {
		commits++;
		evbuffer_add_printf(bufferevent_get_output(connection->bev), "COMMITTED %u\n",
			commits);
	}
	free(connection->line);
	connection->line = NULL;
	resume_connection(connection);
}

static void process_input(struct connection *connection)
{
	static const struct timeval hash = {.tv_usec = 4000};

	if (connection->paused)
		return;
	connection->line = evbuffer_readln(bufferevent_get_input(connection->bev), NULL,
		EVBUFFER_EOL_LF);
	if (!connection->line)
		return;
	pause_connection(connection);
	event_add(connection->hashed, &hash);
}

static void on_read(struct bufferevent *bev, void *data)
{
	(void)bev;
	process_input(data);
}

/* The client's end of a new connection. */
static int connection_open(void)
{
	struct connection *connection = calloc(1, sizeof *connection);
	int ends[2];

	if (!connection || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	evutil_make_socket_nonblocking(ends[0]);
	connection->bev = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	connection->hashed = evtimer_new(base, on_hashed, connection);
	bufferevent_setcb(connection->bev, on_read, write_done, NULL, connection);
	bufferevent_enable(connection->bev, EV_READ | EV_WRITE);
	return ends[1];
}

/* ---- clients ---- */

static void send_line(int fd, const char *line)
{
	if (write(fd, line, strlen(line)) < 0)
		exit(1);
}

static void wait_reply(int fd)
{
	char byte = 0;

	while (byte != '\n') {
		if (read(fd, &byte, 1) != 1)
			exit(1);
	}
}

static void *web_client(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "web client");
	for (;;) {
		send_line(fd, "POST\n");
		wait_reply(fd);
		usleep(20000);
	}
	return NULL;
}

/* Each sixth file is too large for one block. */
static void *sync_client(void *data)
{
	int fd = *(int *)data;
	unsigned file;

	pthread_setname_np(pthread_self(), "sync client");
	for (file = 1;; file++) {
		if (file % 6 == 0) {
			send_line(fd, "CHUNK\n");
			usleep(8000);
			send_line(fd, "CHUNK\n");
			usleep(8000);
		}
		send_line(fd, "COMMIT\n");
		wait_reply(fd);
		usleep(30000);
	}
	return NULL;
}

static void print_counts(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what, (void)data;
	printf("%u blocks, %u commits\n", blocks, commits);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct timeval every = {.tv_usec = 200000};
	pthread_t thread;
	struct event *counts;
	int web, sync;

	if (argc < 2)
		return 2;
	triggers = !strcmp(argv[1], "healthy");
	base = event_base_new();
	web = connection_open();
	sync = connection_open();
	pthread_create(&thread, NULL, web_client, &web);
	pthread_create(&thread, NULL, sync_client, &sync);
	counts = event_new(base, -1, EV_PERSIST, print_counts, NULL);
	event_add(counts, &every);
	event_base_dispatch(base);
	return 0;
}
