/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: sslsplit issue #109 ("EV_READ event re-enable bug"). When too much waits in the buffer towards the
 *     browser, pxy_bev_readcb disables reading from the origin. pxy_bev_writecb should enable it again, but only does
 *     so if its output buffer isn't empty. The browser's socket took all at once, so the buffer is empty, and reading
 *     from the origin stays disabled for ever: the origin waits for room to write, and the thread "download" for the
 *     rest of the file. The thread "news" goes on over its own connection.
 *   culprit: pxy_bev_writecb|pxy_bev_readcb
 *   victim: thread download|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A proxy on libevent between browsers and origin servers, with a limit for what it keeps of a slow browser. */
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

#define OUTBUF_LIMIT (64 * 1024)
#define BIG (3 * 1024 * 1024)

struct pxy_conn;

struct pxy_end {
	struct bufferevent *bev;
	struct pxy_conn *conn;
	struct pxy_end *other;
	bool closed;
};

struct pxy_conn {
	struct pxy_end src, dst;
};

struct browser {
	const char *name;
	int fd, origin;
	int small; /* pages to fetch */
	bool big;  /* then a large file */
	size_t bytes;
	pthread_t thread, server;
};

static bool fixed;

/* ---- proxy ---- */

static void pxy_close(struct pxy_end *end)
{
	bufferevent_free(end->bev);
	end->closed = true;
	end->bev = NULL;
}

static void pxy_bev_readcb(struct bufferevent *bev, void *arg)
{
	struct pxy_end *end = arg, *other = end->other;
	struct evbuffer *outbuf;

	if (other->closed) {
		evbuffer_drain(bufferevent_get_input(bev), SIZE_MAX);
		return;
	}
	outbuf = bufferevent_get_output(other->bev);
	evbuffer_add_buffer(outbuf, bufferevent_get_input(bev));
	if (evbuffer_get_length(outbuf) >= OUTBUF_LIMIT) {
		/* temporarily disable the data source, set an appropriate watermark */
		bufferevent_setwatermark(other->bev, EV_WRITE, OUTBUF_LIMIT / 2, OUTBUF_LIMIT);
		bufferevent_disable(bev, EV_READ);
	}
}

static void pxy_bev_writecb(struct bufferevent *bev, void *arg)
{
	struct pxy_end *end = arg, *other = end->other;
	size_t length = evbuffer_get_length(bufferevent_get_output(bev));

	if (other->closed) {
		if (!length)
			pxy_close(end);
		return;
	}
	if (fixed ? !(bufferevent_get_enabled(other->bev) & EV_READ) : length > 0) {
		/* data source temporarily disabled; re-enable and reset watermark to 0 */
		bufferevent_setwatermark(bev, EV_WRITE, 0, 0);
		bufferevent_enable(other->bev, EV_READ);
	}
}

static void pxy_bev_eventcb(struct bufferevent *bev, short events, void *arg)
{
	struct pxy_end *end = arg, *other = end->other;

	if (!(events & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	if (!other->closed)
		evbuffer_add_buffer(bufferevent_get_output(other->bev), bufferevent_get_input(bev));
	pxy_close(end);
	if (!other->closed && !evbuffer_get_length(bufferevent_get_output(other->bev)))
		pxy_close(other);
}

static void pxy_end_setup(struct event_base *base, struct pxy_end *end, struct pxy_conn *conn,
	struct pxy_end *other, int fd)
{
	evutil_make_socket_nonblocking(fd);
	end->conn = conn;
	end->other = other;
	end->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_set_max_single_write(end->bev, 1 << 20);
	bufferevent_setcb(end->bev, pxy_bev_readcb, pxy_bev_writecb, pxy_bev_eventcb, end);
	bufferevent_enable(end->bev, EV_READ | EV_WRITE);
}

static void *proxy_thread(void *arg)
{
	event_base_dispatch(arg);
	return NULL;
}

/* ---- origin servers and browsers ---- */

static bool transfer(int fd, char *buffer, size_t size, bool out)
{
	ssize_t count;
	size_t part;

	for (; size; size -= (size_t)count) {
		part = size > 32768 ? 32768 : size;
		count = out ? write(fd, buffer, part) : read(fd, buffer, part);
		if (count <= 0)
			return false;
	}
	return true;
}

static void *serve_origin(void *arg)
{
	struct browser *browser = arg;
	static __thread char page[32768];
	uint32_t size;

	while (transfer(browser->origin, (char *)&size, sizeof(size), false)) {
		usleep(3000);
		if (!transfer(browser->origin, page, size, true))
			break;
	}
	close(browser->origin);
	return NULL;
}

static bool fetch(struct browser *browser, uint32_t size, unsigned pause_us)
{
	static __thread char page[32768];

	if (!transfer(browser->fd, (char *)&size, sizeof(size), true))
		return false;
	usleep(pause_us); /* opens the file for it */
	if (!transfer(browser->fd, page, size, false))
		return false;
	browser->bytes += size;
	return true;
}

static void *browse(void *arg)
{
	struct browser *browser = arg;
	int i;

	for (i = 0; i < browser->small; i++) {
		if (!fetch(browser, 4096, 2000))
			return NULL;
		usleep(15000);
	}
	if (browser->big && !fetch(browser, BIG, 200000))
		return NULL;
	close(browser->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct browser browsers[] = {
		{.name = "news", .small = 150},
		{.name = "download", .small = 20, .big = true},
	};
	static struct pxy_conn conns[2];
	struct event_base *base;
	int near[2], far[2], size = 1 << 20;
	pthread_t proxy;
	unsigned i;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	base = event_base_new();
	for (i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, near) ||
			socketpair(AF_UNIX, SOCK_STREAM, 0, far))
			return 1;
		setsockopt(near[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
		browsers[i].fd = near[0];
		browsers[i].origin = far[0];
		pxy_end_setup(base, &conns[i].src, &conns[i], &conns[i].dst, near[1]);
		pxy_end_setup(base, &conns[i].dst, &conns[i], &conns[i].src, far[1]);
	}
	pthread_create(&proxy, NULL, proxy_thread, base);
	pthread_setname_np(proxy, "proxy");
	for (i = 0; i < 2; i++) {
		pthread_create(&browsers[i].server, NULL, serve_origin, &browsers[i]);
		pthread_setname_np(browsers[i].server, "origin");
		pthread_create(&browsers[i].thread, NULL, browse, &browsers[i]);
		pthread_setname_np(browsers[i].thread, browsers[i].name);
	}
	for (i = 2; i-- > 0;) {
		pthread_join(browsers[i].thread, NULL);
		pthread_join(browsers[i].server, NULL);
		printf("%s: %zu bytes\n", browsers[i].name, browsers[i].bytes);
	}
	pthread_join(proxy, NULL);
	event_base_free(base);
	return 0;
}
