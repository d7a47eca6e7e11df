/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: accept_feed limits the input of a connection to 4096 bytes by its high watermark, but on_record
 *     takes nothing out before the whole record is there. A record of 4200 bytes never is: libevent stops
 *     reading at 4096 bytes and calls on_record again and again, in vain; the rest stays in the socket. So
 *     station_b waits for its receipt for ever.
 *   culprit: on_record|accept_feed
 *   victim: station_b|await_receipt
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Weather stations send records to a server, each with its length before it, and get a byte as a receipt. */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	STATIONS = 2,
	ROUNDS_A = 100,
	ROUNDS_B = 12,
	LARGEST = 16384,
	LIMIT = 4096
};

static bool broken;

struct server {
	struct event_base *base;
	struct evconnlistener *listener;
	struct sockaddr_in address;
	int records;
	int gone;
};

static struct server server;

/* ---- The server ---- */

static void on_record(struct bufferevent *feed, void *data)
{
	struct evbuffer *input = bufferevent_get_input(feed);
	uint32_t size;

	(void)data;
	while (evbuffer_copyout(input, &size, sizeof(size)) == sizeof(size)) {
		size = ntohl(size);
		if (size > LARGEST) {
			bufferevent_free(feed);
			return;
		}
		if (evbuffer_get_length(input) < sizeof(size) + size)
			return; /* the rest is still to come */
		evbuffer_drain(input, sizeof(size) + size);
		server.records++;
		bufferevent_write(feed, "R", 1);
	}
}

static void on_feed_end(struct bufferevent *feed, short what, void *data)
{
	(void)data;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(feed);
	if (++server.gone == STATIONS)
		evconnlistener_free(server.listener);
}

static void accept_feed(struct evconnlistener *listener, evutil_socket_t socket,
	struct sockaddr *from, int length, void *data)
{
	struct bufferevent *feed = bufferevent_socket_new(evconnlistener_get_base(listener), socket,
		BEV_OPT_CLOSE_ON_FREE);

	(void)from;
	(void)length;
	(void)data;
	if (!feed)
		abort();
	bufferevent_setcb(feed, on_record, NULL, on_feed_end, NULL);
	bufferevent_setwatermark(feed, EV_READ, 0, broken ? LIMIT : LARGEST + sizeof(uint32_t));
	bufferevent_enable(feed, EV_READ | EV_WRITE);
}

static void *run_server(void *data)
{
	event_base_dispatch(server.base);
	return data;
}

/* ---- The stations ---- */

static int station_connect(void)
{
	int link = socket(AF_INET, SOCK_STREAM, 0);

	if (link < 0 || connect(link, (struct sockaddr *)&server.address, sizeof(server.address))) {
		perror("connect");
		exit(1);
	}
	return link;
}

static void send_record(int link, uint32_t size)
{
	static char zeros[LARGEST];
	uint32_t head = htonl(size);
	struct iovec parts[] = {{&head, sizeof(head)}, {zeros, size}};

	if (writev(link, parts, 2) != (ssize_t)(sizeof(head) + size)) {
		perror("writev");
		exit(1);
	}
}

static void await_receipt(int link)
{
	char receipt;

	if (read(link, &receipt, 1) != 1)
		exit(1);
}

/* Sends a short record now and then. */
static void *station_a(void *data)
{
	int link = station_connect();

	for (int round = 0; round < ROUNDS_A; round++) {
		send_record(link, 40);
		await_receipt(link);
		usleep(20000);
	}
	close(link);
	return data;
}

/* Its records grow: they have all that was measured since the last full hour. */
static void *station_b(void *data)
{
	int link = station_connect();

	for (int round = 1; round <= ROUNDS_B; round++) {
		send_record(link, (uint32_t)(round * 600));
		await_receipt(link);
		usleep(10000);
	}
	close(link);
	return data;
}

int main(int argc, char **argv)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(server.address);
	pthread_t loop, a, b;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	server.base = event_base_new();
	server.listener = evconnlistener_new_bind(server.base, accept_feed, NULL,
		LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&any, sizeof(any));
	if (!server.listener)
		return 1;
	getsockname(evconnlistener_get_fd(server.listener), (struct sockaddr *)&server.address,
		&size);
	if (pthread_create(&loop, NULL, run_server, NULL) ||
		pthread_create(&a, NULL, station_a, NULL) ||
		pthread_create(&b, NULL, station_b, NULL))
		return 1;
	pthread_join(b, NULL);
	pthread_join(a, NULL);
	pthread_join(loop, NULL);
	event_base_free(server.base);
	printf("%d records\n", server.records);
	return 0;
}
