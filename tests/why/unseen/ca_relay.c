/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: relay stops reading from the store while a reader is slow. When the reader has taken enough, on_drained
 *     lets the reader's own side read again instead of the store's, so nobody ever reads from the store again.
 *   culprit: on_drained
 *   victim: run_reader|run_store
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A relay between readers and a store of films, on libevent. It holds back the store while a reader is slow. */
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

#define SESSIONS 2
#define HIGH (64 * 1024)
#define LOW (16 * 1024)

struct side {
	struct bufferevent *stream;
	struct side *other;
	bool is_reader;
};

struct session {
	struct side reader, store;
	int to_reader[2], to_store[2];
	unsigned count;
	unsigned sizes[16];
	unsigned pace; /* microseconds for each piece */
	pthread_t reader_thread, store_thread;
};

static bool mixed_up;
static struct event_base *base;
static struct session sessions[SESSIONS];
static unsigned open_sessions;

static void on_drained(struct bufferevent *stream, void *data);
static void on_input(struct bufferevent *stream, void *data);
static void on_event(struct bufferevent *stream, short what, void *data);

/* Moves what has come from one side to the other. */
static void relay(struct side *from)
{
	struct side *to = from->other;

	evbuffer_add_buffer(bufferevent_get_output(to->stream),
		bufferevent_get_input(from->stream));
	if (evbuffer_get_length(bufferevent_get_output(to->stream)) < HIGH)
		return;
	bufferevent_disable(from->stream, EV_READ);
	bufferevent_setwatermark(to->stream, EV_WRITE, LOW, 0);
	bufferevent_setcb(to->stream, on_input, on_drained, on_event, to);
}

static void on_input(struct bufferevent *stream, void *data)
{
	(void)stream;
	relay(data);
}

static void on_drained(struct bufferevent *stream, void *data)
{
	struct side *side = data;

	bufferevent_setcb(stream, on_input, NULL, on_event, side);
	bufferevent_enable(mixed_up ? side->stream : side->other->stream, EV_READ);
}

static void on_event(struct bufferevent *stream, short what, void *data)
{
	struct side *side = data;

	(void)stream;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) || !side->is_reader)
		return;
	bufferevent_free(side->other->stream);
	bufferevent_free(side->stream);
	if (--open_sessions == 0)
		event_base_loopexit(base, NULL);
}

static void open_side(struct side *side, struct side *other, int fd)
{
	side->other = other;
	evutil_make_socket_nonblocking(fd);
	side->stream = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(side->stream, on_input, NULL, on_event, side);
	bufferevent_enable(side->stream, EV_READ | EV_WRITE);
}

/* Asks for one film after the other, and watches it. */
static void *run_reader(void *data)
{
	struct session *session = data;
	char piece[8192];

	for (unsigned i = 0; i < session->count; i++) {
		unsigned size = session->sizes[i % 16];
		size_t left = size;

		if (write(session->to_reader[1], &size, sizeof(size)) != sizeof(size))
			break;
		while (left > 0) {
			ssize_t got = read(session->to_reader[1], piece, sizeof(piece));

			if (got <= 0)
				return NULL;
			left -= (size_t)got;
			usleep(session->pace);
		}
		usleep(30 * 1000);
	}
	close(session->to_reader[1]);
	return NULL;
}

/* Sends as many bytes as it is asked for. */
static void *run_store(void *data)
{
	struct session *session = data;
	static const char film[4096];
	unsigned size;

	while (read(session->to_store[1], &size, sizeof(size)) == sizeof(size)) {
		size_t left = size;

		while (left > 0) {
			size_t part = left < sizeof(film) ? left : sizeof(film);
			ssize_t sent = send(session->to_store[1], film, part, MSG_NOSIGNAL);

			if (sent <= 0)
				return NULL;
			left -= (size_t)sent;
		}
	}
	close(session->to_store[1]);
	return NULL;
}

static void start_session(struct session *session)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, session->to_reader) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, session->to_store))
		abort();
	session->reader.is_reader = true;
	open_side(&session->reader, &session->store, session->to_reader[0]);
	open_side(&session->store, &session->reader, session->to_store[0]);
	open_sessions++;
	pthread_create(&session->reader_thread, NULL, run_reader, session);
	pthread_create(&session->store_thread, NULL, run_store, session);
}

int main(int argc, char **argv)
{
	mixed_up = argc > 1 && !strcmp(argv[1], "broken");
	base = event_base_new();
	/* Short films, and a long one at the end. */
	sessions[0].count = 10;
	sessions[0].pace = 1500;
	for (unsigned i = 0; i < 16; i++)
		sessions[0].sizes[i] = i == 8 ? 2 << 20 : 2000 + i * 3000;
	/* Stills only. */
	sessions[1].count = 120;
	sessions[1].pace = 100;
	for (unsigned i = 0; i < 16; i++)
		sessions[1].sizes[i] = 500 + i * 100;
	for (unsigned i = 0; i < SESSIONS; i++)
		start_session(&sessions[i]);
	event_base_dispatch(base);
	for (unsigned i = 0; i < SESSIONS; i++) {
		pthread_join(sessions[i].reader_thread, NULL);
		pthread_join(sessions[i].store_thread, NULL);
	}
	event_base_free(base);
	printf("all films were seen\n");
	return 0;
}
