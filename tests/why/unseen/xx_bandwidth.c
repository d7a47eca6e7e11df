/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_refill returns early when no peer waits for bandwidth, and so doesn't add its timer again.
 *          The next peer that uses up the budget stops reading and is never allowed to read again.
 *   culprit: on_refill
 *   victim: (seed_pieces|on_piece|await_torrent)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A torrent session: each peer sends pieces, and a common budget limits what is read of them. */
#define PEERS 3
#define PIECE 16384
#define PIECES 12
#define BUDGET (4 * PIECE)

struct peer {
	struct bufferevent *stream;
	pthread_t seeder;
	int remote;
	size_t received;
	bool choked, finished;
};

static struct event_base *base;
static struct event *refill;
static struct peer peers[PEERS];
static const struct timeval refill_interval = {0, 15000};
static long budget = BUDGET;
static int finished;
static bool healthy;

/* The remote side of a peer. */
static void *seed_pieces(void *data)
{
	struct peer *peer = data;
	char piece[PIECE], thanks;

	memset(piece, 'p', sizeof piece);
	usleep(60000); /* the handshake takes a while */
	for (int i = 0; i < PIECES; i++) {
		for (size_t sent = 0; sent < PIECE;) {
			ssize_t part = write(peer->remote, piece + sent, PIECE - sent);

			if (part <= 0)
				return NULL;
			sent += part;
		}
		usleep(1000);
	}
	if (read(peer->remote, &thanks, 1) != 1)
		perror("seeder");
	return NULL;
}

static void choke(struct peer *peer)
{
	peer->choked = true;
	bufferevent_disable(peer->stream, EV_READ);
}

static void on_piece(struct bufferevent *stream, void *data)
{
	struct peer *peer = data;
	struct evbuffer *input = bufferevent_get_input(stream);
	size_t size = evbuffer_get_length(input);

	evbuffer_drain(input, size);
	peer->received += size;
	budget -= size;
	if (peer->received >= (size_t)PIECE * PIECES && !peer->finished) {
		peer->finished = true;
		bufferevent_write(stream, "!", 1);
		if (++finished == PEERS)
			event_del(refill);
	} else if (budget <= 0) {
		choke(peer);
	}
}

static void on_refill(int fd, short what, void *unused)
{
	int waiting = 0;

	(void)fd, (void)what, (void)unused;
	budget = BUDGET;
	for (int i = 0; i < PEERS; i++)
		waiting += peers[i].choked;
	if (waiting == 0 && !healthy)
		return;
	for (int i = 0; i < PEERS; i++) {
		if (!peers[i].choked)
			continue;
		peers[i].choked = false;
		bufferevent_enable(peers[i].stream, EV_READ);
	}
	if (finished < PEERS)
		event_add(refill, &refill_interval);
}

static void on_lost(struct bufferevent *stream, short what, void *data)
{
	(void)what, (void)data;
	bufferevent_disable(stream, EV_READ | EV_WRITE);
}

static void add_peer(struct peer *peer)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	evutil_make_socket_nonblocking(ends[0]);
	peer->remote = ends[1];
	peer->stream = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(peer->stream, on_piece, NULL, on_lost, peer);
	bufferevent_enable(peer->stream, EV_READ | EV_WRITE);
	pthread_create(&peer->seeder, NULL, seed_pieces, peer);
}

static void await_torrent(void)
{
	for (int i = 0; i < PEERS; i++)
		pthread_join(peers[i].seeder, NULL);
}

static void *run_session(void *unused)
{
	(void)unused;
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t session;

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	evthread_use_pthreads();
	base = event_base_new();
	refill = event_new(base, -1, 0, on_refill, NULL);
	event_add(refill, &refill_interval);
	for (int i = 0; i < PEERS; i++)
		add_peer(&peers[i]);
	pthread_create(&session, NULL, run_session, NULL);
	await_torrent();
	event_base_loopbreak(base);
	pthread_join(session, NULL);
	for (int i = 0; i < PEERS; i++)
		bufferevent_free(peers[i].stream);
	event_free(refill);
	event_base_free(base);
	printf("session: %d peers finished\n", finished);
	return 0;
}
