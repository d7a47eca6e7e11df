/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_agent_data raises the read watermark of the agent's bufferevent to the length of the batch's body. When it
 *     rejects the batch (reject_batch), it forgets to set the watermark back to the header's length, so libevent doesn't
 *     call it for the next, shorter batch, and agent-disk waits in await_ack for ever.
 *   culprit: on_agent_data|reject_batch
 *   victim: agent-disk|await_ack
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* metricsd gathers batches of samples from agents: a header with version and length, then the body; each is acknowledged. */

#include <errno.h>
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
#include <time.h>
#include <unistd.h>

#define VERSION 2
#define MAX_BODY 1024

struct header {
	uint16_t version, length;
};

struct batch {
	uint16_t version, length;
};

struct agent {
	const char *name;
	const struct batch *batches;
	pthread_t thread;
	int fd;
};

struct peer {
	struct bufferevent *channel;
	struct header header;
	bool in_body;
	unsigned samples;
};

static const struct batch cpu_batches[] = {{VERSION, 64}, {VERSION, 320}, {VERSION, 64},
	{VERSION, 64}, {0, 0}};
static const struct batch net_batches[] = {{VERSION, 700}, {VERSION, 32}, {VERSION, 700},
	{VERSION, 96}, {0, 0}};
static const struct batch disk_healthy[] = {{VERSION, 128}, {VERSION, 640}, {VERSION, 128},
	{VERSION, 40}, {0, 0}};
/* An agent that was updated halfway sends its full report in the old version. */
static const struct batch disk_broken[] = {{VERSION, 128}, {1, 640}, {VERSION, 128}, {VERSION, 40},
	{0, 0}};

static struct agent agents[] = {
	{.name = "agent-cpu", .batches = cpu_batches},
	{.name = "agent-net", .batches = net_batches},
	{.name = "agent-disk", .batches = disk_healthy},
};

#define AGENTS (sizeof agents / sizeof agents[0])

static struct event_base *base;
static struct event *housekeeping;
static unsigned connected, total_samples;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&left, NULL);
}

/* The server */

static void expect(struct peer *peer, size_t length)
{
	bufferevent_setwatermark(peer->channel, EV_READ, length, 4 * MAX_BODY);
}

__attribute__((noinline)) void store_batch(struct peer *peer, struct evbuffer *input)
{
	evbuffer_drain(input, peer->header.length);
	peer->samples += peer->header.length / 8;
	peer->in_body = false;
	expect(peer, sizeof(struct header));
	bufferevent_write(peer->channel, "ok\n", 3);
}

__attribute__((noinline)) void reject_batch(struct peer *peer, struct evbuffer *input)
{
	evbuffer_drain(input, peer->header.length);
	peer->in_body = false;
	fprintf(stderr, "metricsd: batch of version %u rejected\n", peer->header.version);
	bufferevent_write(peer->channel, "no\n", 3);
}

void on_agent_data(struct bufferevent *channel, void *data)
{
	struct evbuffer *input = bufferevent_get_input(channel);
	struct peer *peer = data;

	for (;;) {
		if (!peer->in_body) {
			if (evbuffer_get_length(input) < sizeof peer->header)
				break;
			evbuffer_remove(input, &peer->header, sizeof peer->header);
			peer->in_body = true;
			expect(peer, peer->header.length);
		}
		if (evbuffer_get_length(input) < peer->header.length)
			break;
		if (peer->header.version == VERSION)
			store_batch(peer, input);
		else
			reject_batch(peer, input);
	}
}

void on_agent_event(struct bufferevent *channel, short events, void *data)
{
	struct peer *peer = data;

	if (!(events & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	total_samples += peer->samples;
	bufferevent_free(channel);
	free(peer);
	if (!--connected)
		event_base_loopbreak(base);
}

void on_housekeeping(evutil_socket_t fd, short events, void *data)
{
	(void)fd;
	(void)events;
	(void)data;
	if (connected > AGENTS)
		fprintf(stderr, "metricsd: more agents than expected\n");
}

static void adopt(int fd)
{
	struct peer *peer = calloc(1, sizeof *peer);

	evutil_make_socket_nonblocking(fd);
	peer->channel = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(peer->channel, on_agent_data, NULL, on_agent_event, peer);
	expect(peer, sizeof(struct header));
	bufferevent_enable(peer->channel, EV_READ | EV_WRITE);
	connected++;
}

/* The agents */

static void send_all(int fd, const void *data, size_t length)
{
	const char *bytes = data;

	while (length) {
		ssize_t sent = write(fd, bytes, length);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			exit(2);
		bytes += sent;
		length -= (size_t)sent;
	}
}

__attribute__((noinline)) void send_batch(int fd, const struct batch *batch)
{
	struct header header = {batch->version, batch->length};
	char body[MAX_BODY];

	memset(body, 0x5a, sizeof body);
	send_all(fd, &header, sizeof header);
	pause_ms(5); /* samples are read from /proc meanwhile */
	send_all(fd, body, batch->length);
}

__attribute__((noinline)) bool await_ack(int fd)
{
	char answer[4];
	size_t length = 0;

	while (length < 3) {
		ssize_t got = read(fd, answer + length, 3 - length);

		if (got <= 0)
			return false;
		length += (size_t)got;
	}
	return answer[0] == 'o';
}

static void *run_agent(void *data)
{
	struct agent *agent = data;
	unsigned rejected = 0;

	pthread_setname_np(pthread_self(), agent->name);
	for (const struct batch *batch = agent->batches; batch->version; batch++) {
		pause_ms(50);
		send_batch(agent->fd, batch);
		if (!await_ack(agent->fd))
			rejected++;
	}
	if (rejected)
		fprintf(stderr, "%s: %u batches were rejected\n", agent->name, rejected);
	close(agent->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timeval period = {0, 200000};

	if (argc > 1 && !strcmp(argv[1], "broken"))
		agents[2].batches = disk_broken;
	base = event_base_new();
	housekeeping = event_new(base, -1, EV_PERSIST, on_housekeeping, NULL);
	event_add(housekeeping, &period);
	for (unsigned i = 0; i < AGENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
			perror("metricsd: socketpair");
			return 1;
		}
		adopt(ends[0]);
		agents[i].fd = ends[1];
	}
	for (unsigned i = 0; i < AGENTS; i++)
		pthread_create(&agents[i].thread, NULL, run_agent, &agents[i]);
	event_base_dispatch(base);
	for (unsigned i = 0; i < AGENTS; i++)
		pthread_join(agents[i].thread, NULL);
	printf("%u samples\n", total_samples);
	event_free(housekeeping);
	event_base_free(base);
	return 0;
}
