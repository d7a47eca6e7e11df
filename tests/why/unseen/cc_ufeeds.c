/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_reply returns early when a feed hasn't changed (304) and doesn't close that feed's connection, which the server keeps alive. So the tcp handle stays open for ever, and uv_run never returns.
 *   culprit: fetch_feed|on_reply|on_connect|\btcp\b
 *   victim: serve_feeds|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

/* A reader of feeds asks a server for each of them, and ends when all have answered. */

#define FEEDS 5

struct feed {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	char request[32], reply[256];
	size_t have;
};

static bool broken;
static int listener;
static struct feed feeds[FEEDS];
static int changed, same;

/* The server: one thread with poll. It keeps connections open until the client closes them. */
static void *serve_feeds(void *unused)
{
	struct pollfd fds[FEEDS + 1] = {{listener, POLLIN, 0}};
	int count = 1, closed = 0;

	(void)unused;
	while (closed < FEEDS) {
		poll(fds, (nfds_t)count, -1);
		for (int i = 1; i < count; i++) {
			char request[32] = "";
			const char *reply;

			if (!fds[i].revents)
				continue;
			if (read(fds[i].fd, request, sizeof(request) - 1) <= 0) {
				close(fds[i].fd);
				fds[i].fd = -1;
				closed++;
				continue;
			}
			reply = strchr(request, '3') ? "304\n" : "200 news\n";
			if (write(fds[i].fd, reply, strlen(reply)) < 0)
				abort();
		}
		if (fds[0].revents && count <= FEEDS) {
			fds[count].fd = accept(listener, NULL, NULL);
			fds[count].events = POLLIN;
			fds[count++].revents = 0;
		}
	}
	return NULL;
}

static void close_feed(struct feed *feed)
{
	uv_close((uv_handle_t *)&feed->tcp, NULL);
}

static void on_reply(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
	struct feed *feed = stream->data;

	(void)buffer;
	if (got < 0) {
		close_feed(feed);
		return;
	}
	feed->have += (size_t)got;
	if (feed->reply[feed->have - 1] != '\n')
		return;
	if (!strncmp(feed->reply, "304", 3)) {
		same++;
		if (!broken)
			close_feed(feed);
		return;
	}
	changed++;
	close_feed(feed);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct feed *feed = handle->data;

	(void)size;
	*buffer = uv_buf_init(feed->reply + feed->have,
		(unsigned)(sizeof(feed->reply) - feed->have));
}

static void on_connect(uv_connect_t *connect, int status)
{
	struct feed *feed = connect->data;
	uv_buf_t buffer = uv_buf_init(feed->request, (unsigned)strlen(feed->request));

	if (status) {
		close_feed(feed);
		return;
	}
	uv_write(&feed->write, connect->handle, &buffer, 1, NULL);
	uv_read_start(connect->handle, on_alloc, on_reply);
}

static void fetch_feed(int number, const struct sockaddr *address)
{
	struct feed *feed = &feeds[number];

	snprintf(feed->request, sizeof(feed->request), "GET /feed/%d\n", number);
	uv_tcp_init(uv_default_loop(), &feed->tcp);
	feed->tcp.data = feed;
	feed->connect.data = feed;
	uv_tcp_connect(&feed->connect, &feed->tcp, address, on_connect);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	pthread_t server;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 8) ||
		getsockname(listener, (struct sockaddr *)&address, &size))
		return 1;
	pthread_create(&server, NULL, serve_feeds, NULL);
	pthread_setname_np(server, "feed-server");
	for (int i = 0; i < FEEDS; i++)
		fetch_feed(i, (const struct sockaddr *)&address);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	pthread_join(server, NULL);
	printf("%d feeds have news, %d have none\n", changed, same);
	return 0;
}
