/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the relay stops reading from a source when much is buffered (pause_input); on_writable returns
 *     early when the buffer has become empty, and never calls resume_input; upload and store wait
 *   culprit: on_writable|pause_input|resume_input
 *   victim: source|sink|upload|store|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A relay between uploads and a slow storage, with an epoll loop and back-pressure. */
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
#include <time.h>
#include <unistd.h>

#define FLOWS 2
#define HIGH (48 * 1024)
#define LOW (16 * 1024)
#define ROOM (64 * 1024)
#define SIZE (1024 * 1024)

struct flow {
	int source, in; /* upload writes to source, the relay reads in */
	int out, sink;  /* the relay writes to out, the storage reads sink */
	char buffer[ROOM];
	size_t used;
	bool paused, ended, closed;
	size_t stored;
	pthread_t uploader, storage;
};

static struct flow flows[FLOWS];
static int epoll;
static int open_flows = FLOWS;
static bool always_check_low;

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static void watch(int op, int fd, uint32_t events, struct flow *flow)
{
	/* The lowest bit tells the output from the input. */
	struct epoll_event event = {.events = events};

	event.data.u64 = (uint64_t)(flow - flows) * 2 + (fd == flow->out);
	if (epoll_ctl(epoll, op, fd, &event) < 0)
		abort();
}

static void pause_input(struct flow *flow)
{
	flow->paused = true;
	watch(EPOLL_CTL_DEL, flow->in, 0, flow);
}

static void resume_input(struct flow *flow)
{
	flow->paused = false;
	watch(EPOLL_CTL_ADD, flow->in, EPOLLIN, flow);
}

static void close_flow(struct flow *flow)
{
	watch(EPOLL_CTL_DEL, flow->out, 0, flow);
	close(flow->out);
	flow->closed = true;
	open_flows--;
}

/* Writes as much as goes. */
static void flush(struct flow *flow)
{
	while (flow->used) {
		ssize_t size = send(flow->out, flow->buffer, flow->used, MSG_NOSIGNAL);

		if (size < 0) {
			if (errno == EAGAIN)
				return;
			abort();
		}
		flow->used -= size;
		memmove(flow->buffer, flow->buffer + size, flow->used);
	}
}

static void on_writable(struct flow *flow)
{
	flush(flow);
	if (!flow->used) {
		watch(EPOLL_CTL_MOD, flow->out, 0, flow);
		if (flow->ended) {
			close_flow(flow);
			return;
		}
		if (!always_check_low)
			return;
	}
	if (flow->paused && flow->used < LOW)
		resume_input(flow);
}

static void on_readable(struct flow *flow)
{
	ssize_t size = read(flow->in, flow->buffer + flow->used, ROOM - flow->used);

	if (size < 0 && errno == EAGAIN)
		return;
	if (size <= 0) {
		watch(EPOLL_CTL_DEL, flow->in, 0, flow);
		close(flow->in);
		flow->ended = true;
		if (!flow->used)
			close_flow(flow);
		return;
	}
	flow->used += size;
	flush(flow);
	if (flow->used)
		watch(EPOLL_CTL_MOD, flow->out, EPOLLOUT, flow);
	if (flow->used > HIGH)
		pause_input(flow);
}

static void *relay_loop(void *data)
{
	struct epoll_event events[8];

	(void)data;
	pthread_setname_np(pthread_self(), "relay");
	while (open_flows) {
		int count = epoll_wait(epoll, events, 8, -1);

		for (int i = 0; i < count; i++) {
			struct flow *flow = &flows[events[i].data.u64 / 2];

			if (flow->closed || (flow->paused && events[i].data.u64 % 2 == 0))
				continue;
			if (events[i].data.u64 % 2) {
				if (events[i].events & EPOLLOUT)
					on_writable(flow);
			} else if (events[i].events & (EPOLLIN | EPOLLHUP)) {
				on_readable(flow);
			}
		}
	}
	return NULL;
}

static void *upload(void *data)
{
	struct flow *flow = data;
	char block[16384];
	size_t sent = 0;

	pthread_setname_np(pthread_self(), "upload");
	memset(block, 'u', sizeof(block));
	while (sent < SIZE) {
		ssize_t size = write(flow->source, block, sizeof(block));

		if (size <= 0)
			abort();
		sent += size;
	}
	close(flow->source);
	return NULL;
}

static void *store(void *data)
{
	struct flow *flow = data;
	char block[32768];
	ssize_t size;

	pthread_setname_np(pthread_self(), "store");
	while ((size = read(flow->sink, block, sizeof(block))) > 0) {
		flow->stored += size;
		nap_ms(3); /* the disk */
	}
	close(flow->sink);
	return NULL;
}

static void open_flow(struct flow *flow)
{
	int in[2], out[2], room = 64 * 1024;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out) < 0)
		abort();
	flow->source = in[0];
	flow->in = in[1];
	flow->out = out[0];
	flow->sink = out[1];
	setsockopt(flow->out, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	fcntl(flow->in, F_SETFL, O_NONBLOCK);
	fcntl(flow->out, F_SETFL, O_NONBLOCK);
	watch(EPOLL_CTL_ADD, flow->in, EPOLLIN, flow);
	watch(EPOLL_CTL_ADD, flow->out, 0, flow);
}

int main(int argc, char **argv)
{
	pthread_t relay;
	size_t stored = 0;

	always_check_low = argc > 1 && !strcmp(argv[1], "healthy");
	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < FLOWS; i++)
		open_flow(&flows[i]);
	pthread_create(&relay, NULL, relay_loop, NULL);
	for (int i = 0; i < FLOWS; i++) {
		pthread_create(&flows[i].storage, NULL, store, &flows[i]);
		pthread_create(&flows[i].uploader, NULL, upload, &flows[i]);
	}
	for (int i = 0; i < FLOWS; i++) {
		pthread_join(flows[i].uploader, NULL);
		pthread_join(flows[i].storage, NULL);
		stored += flows[i].stored;
	}
	pthread_join(relay, NULL);
	printf("%zu bytes stored\n", stored);
	return stored != FLOWS * SIZE;
}
