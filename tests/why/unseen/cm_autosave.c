/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 4000
 *   ask: why
 *   truth: a document is saved once nothing came for 80 ms: each message sets the timer of on_save anew
 *     (touch_document, called by on_message). A second author's cursor moves every 30 ms and counts as a
 *     message, too. So the timer is put off for ever, nothing is saved, and the publisher waits for it.
 *   culprit: on_save|touch_document
 *   victim: publish
 * case: healthy
 *   args: healthy
 *   run: kill 4000
 *   ask: why
 *   culprit: nothing
 */

/* A shared document: authors send changes, the server saves it when they pause, a publisher asks for what is saved. */
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	QUIET_MS = 80,
	PEERS = 3
};
enum {
	AUTHOR,
	COAUTHOR,
	PUBLISHER
};

/* A message is one byte: '+' a change, '.' a move of the cursor, '?' asks to save; the answer is '!'. */
struct server {
	struct event_base *base;
	struct event *save;
	struct event *peer[PEERS];
	int socket[PEERS];
	unsigned changes, cursors, saves;
	bool is_dirty;
	bool publisher_waits;
};

static struct server server;
static int client[PEERS];
static bool broken;

static void nap(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The server's loop ---- */

static void answer_publisher(void)
{
	server.publisher_waits = false;
	if (write(server.socket[PUBLISHER], "!", 1) != 1)
		event_base_loopbreak(server.base);
}

/* Nobody has touched the document for a while. */
static void on_save(evutil_socket_t socket, short what, void *data)
{
	(void)socket;
	(void)what;
	(void)data;
	nap(2);
	server.is_dirty = false;
	server.saves++;
	if (server.publisher_waits)
		answer_publisher();
}

static void touch_document(void)
{
	struct timeval quiet = {0, QUIET_MS * 1000};

	event_add(server.save, &quiet);
}

static void on_message(evutil_socket_t socket, short what, void *data)
{
	char message;

	(void)what;
	(void)data;
	if (read(socket, &message, 1) != 1)
		return;
	switch (message) {
	case '+':
		server.changes++;
		server.is_dirty = true;
		touch_document();
		break;
	case '.':
		server.cursors++;
		if (broken)
			touch_document();
		break;
	case '?':
		server.publisher_waits = true;
		if (!server.is_dirty)
			answer_publisher();
		break;
	}
}

static void on_statistics(evutil_socket_t socket, short what, void *data)
{
	(void)socket;
	(void)what;
	(void)data;
	printf("%u changes, %u moves, saved %u times\n", server.changes, server.cursors,
		server.saves);
	fflush(stdout);
}

/* ---- Those who use it, each a thread ---- */

static void send_message(unsigned who, char message)
{
	if (write(client[who], &message, 1) != 1)
		pthread_exit(NULL);
}

static void *type_text(void *data)
{
	for (;;) {
		for (unsigned i = 0; i < 4; i++) {
			send_message(AUTHOR, '+');
			nap(20);
		}
		nap(140);
	}
	return data;
}

/* The second author reads along. */
static void *move_cursor(void *data)
{
	nap(900);
	for (;;) {
		send_message(COAUTHOR, '.');
		nap(30);
	}
	return data;
}

/* Publishes what is saved. */
static void *publish(void *data)
{
	unsigned published = 0;
	char answer;

	nap(50);
	for (;;) {
		send_message(PUBLISHER, '?');
		if (read(client[PUBLISHER], &answer, 1) != 1)
			break;
		printf("published %u\n", ++published);
		nap(120);
	}
	return data;
}

int main(int argc, char **argv)
{
	struct timeval period = {0, 250000};
	struct event *statistics;
	pthread_t author, coauthor, publisher;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	server.base = event_base_new();
	server.save = event_new(server.base, -1, 0, on_save, NULL);
	statistics = event_new(server.base, -1, EV_PERSIST, on_statistics, NULL);
	event_add(statistics, &period);
	for (unsigned i = 0; i < PEERS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		server.socket[i] = ends[0];
		client[i] = ends[1];
		server.peer[i] = event_new(server.base, ends[0], EV_READ | EV_PERSIST, on_message,
			NULL);
		event_add(server.peer[i], NULL);
	}
	pthread_create(&author, NULL, type_text, NULL);
	pthread_create(&coauthor, NULL, move_cursor, NULL);
	pthread_create(&publisher, NULL, publish, NULL);
	event_base_dispatch(server.base);
	return 0;
}
