/* SPDX-License-Identifier: ISC */
/*
 * After stackia/rtp2httpd #465 (a review of it: "drain resumed HTTP upstream until EAGAIN").
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The proxy's epoll is edge-triggered. When a viewer is slow, the proxy pauses the upstream, and when the viewer
 *     has caught up, http_proxy_resume reads only once instead of until EAGAIN. The rest of the segment stays in the
 *     socket, no new edge comes, and the proxy waits in epoll_wait for ever. The viewer "tv" waits for the rest.
 *   culprit: http_proxy_resume|http_proxy_receive|proxy
 *   victim: tv\b|main\b|upstream
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A proxy for streams: it fetches segments from upstream servers and hands them on to viewers. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CHANNELS = 2,
	CHUNK = 4096,
	HIGH_WATER = 16384,
	LOW_WATER = 4096,
	ROOM = HIGH_WATER + CHUNK
};

struct channel {
	const char *name;
	const unsigned *segments; /* in KiB, up to 0 */
	unsigned pace_us;         /* the viewer's time for each 2 KiB */
	int client, client_far;
	int upstream, upstream_far;
	/* of the proxy: */
	char queue[ROOM];
	size_t queued;
	bool upstream_paused, closed;
};

static const unsigned radio_segments[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
	4, 4, 4, 0};
static const unsigned tv_segments[] = {4, 8, 8, 8, 64, 8, 8, 0}; /* the fifth has the key frame */

static struct channel channels[CHANNELS] = {
	{.name = "radio", .segments = radio_segments, .pace_us = 15000},
	{.name = "tv", .segments = tv_segments, .pace_us = 1500},
};
static bool broken;

static void must(bool good)
{
	if (!good)
		exit(2);
}

static void set_nonblocking(int descriptor)
{
	must(!fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK));
}

/* ---- The proxy ------------------------------------------------------------------------------ */

static void client_flush(struct channel *channel)
{
	while (channel->queued) {
		ssize_t size = send(channel->client, channel->queue, channel->queued, MSG_NOSIGNAL);

		if (size <= 0)
			return;
		channel->queued -= (size_t)size;
		memmove(channel->queue, channel->queue + size, channel->queued);
	}
}

/* Moves one chunk; returns false if nothing is there. */
static bool http_proxy_receive(struct channel *channel)
{
	ssize_t size = recv(channel->upstream, channel->queue + channel->queued, CHUNK, 0);

	if (size < 0)
		return false;
	if (size == 0) {
		channel->closed = true;
		return false;
	}
	channel->queued += (size_t)size;
	client_flush(channel);
	if (channel->queued >= HIGH_WATER)
		channel->upstream_paused = true;
	return true;
}

static void http_proxy_on_upstream(struct channel *channel)
{
	while (!channel->upstream_paused && http_proxy_receive(channel))
		continue;
}

static void http_proxy_resume(struct channel *channel)
{
	channel->upstream_paused = false;
	if (broken)
		http_proxy_receive(channel);
	else
		http_proxy_on_upstream(channel);
}

static void http_proxy_on_client(struct channel *channel)
{
	char request;

	while (recv(channel->client, &request, 1, 0) == 1) /* asks for the next segment */
		must(send(channel->upstream, &request, 1, MSG_NOSIGNAL) == 1);
	client_flush(channel);
	if (channel->upstream_paused && channel->queued <= LOW_WATER)
		http_proxy_resume(channel);
}

static void *proxy(void *data)
{
	int poller = epoll_create1(0);
	int open = CHANNELS;

	(void)data;
	pthread_setname_np(pthread_self(), "proxy");
	for (uint64_t i = 0; i < CHANNELS; i++) {
		struct epoll_event up = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
			.data.u64 = 2 * i};
		struct epoll_event down = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
			.data.u64 = 2 * i + 1};

		set_nonblocking(channels[i].upstream);
		set_nonblocking(channels[i].client);
		must(!epoll_ctl(poller, EPOLL_CTL_ADD, channels[i].upstream, &up));
		must(!epoll_ctl(poller, EPOLL_CTL_ADD, channels[i].client, &down));
	}
	while (open) {
		struct epoll_event events[8];
		int count = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < count; i++) {
			struct channel *channel = &channels[events[i].data.u64 / 2];

			if (channel->closed)
				continue;
			if (events[i].data.u64 % 2)
				http_proxy_on_client(channel);
			else
				http_proxy_on_upstream(channel);
			if (channel->closed) {
				close(channel->client);
				close(channel->upstream);
				open--;
			}
		}
	}
	close(poller);
	return NULL;
}

/* ---- The upstream servers and the viewers ---------------------------------------------------- */

static void *upstream(void *data)
{
	struct channel *channel = data;
	static const char zeros[1024];
	char request, name[32];

	snprintf(name, sizeof(name), "upstream %s", channel->name);
	pthread_setname_np(pthread_self(), name);
	for (const unsigned *segment = channel->segments; *segment; segment++) {
		if (recv(channel->upstream_far, &request, 1, 0) != 1)
			break;
		for (unsigned i = 0; i < *segment; i++)
			must(send(channel->upstream_far, zeros, sizeof(zeros), MSG_NOSIGNAL) ==
				sizeof(zeros));
	}
	if (recv(channel->upstream_far, &request, 1, 0) == 1)
		close(channel->upstream_far);
	return NULL;
}

static void *viewer(void *data)
{
	struct channel *channel = data;
	char part[2048];
	unsigned count = 0;

	pthread_setname_np(pthread_self(), channel->name);
	for (const unsigned *segment = channel->segments; *segment; segment++) {
		size_t left = *segment * 1024;

		must(send(channel->client_far, "n", 1, MSG_NOSIGNAL) == 1);
		while (left) {
			ssize_t size = recv(channel->client_far, part,
				left < sizeof(part) ? left : sizeof(part), 0);

			must(size > 0);
			left -= (size_t)size;
			usleep(channel->pace_us);
		}
		count++;
	}
	must(send(channel->client_far, "n", 1, MSG_NOSIGNAL) == 1);
	printf("%s: %u segments\n", channel->name, count);
	return NULL;
}

static void pair(int *one, int *other, int buffer)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	*one = ends[0];
	*other = ends[1];
}

int main(int argc, char **argv)
{
	pthread_t threads[1 + 2 * CHANNELS];

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	for (int i = 0; i < CHANNELS; i++) {
		pair(&channels[i].upstream, &channels[i].upstream_far, 200000);
		pair(&channels[i].client, &channels[i].client_far, 4096);
	}
	must(!pthread_create(&threads[0], NULL, proxy, NULL));
	for (int i = 0; i < CHANNELS; i++) {
		must(!pthread_create(&threads[1 + 2 * i], NULL, upstream, &channels[i]));
		must(!pthread_create(&threads[2 + 2 * i], NULL, viewer, &channels[i]));
	}
	for (int i = 0; i < 1 + 2 * CHANNELS; i++)
		pthread_join(threads[i], NULL);
	puts("off the air");
	return 0;
}
