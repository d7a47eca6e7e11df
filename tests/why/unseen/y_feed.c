/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the decoder watches the feed edge-triggered but reads only once for each event; a batch that is larger than its buffer stays in the socket, no new event comes, and the publisher waits for the acknowledgement.
 *   culprit: decoder|decode_feed|on_feed
 *   victim: publisher|publish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TICK = 16,
	BUFFER = 8 * TICK
};

/* The ticks of each batch; the publisher wants an acknowledgement for each. */
static const int batches[] = {2, 5, 3, 8, 1, 6, 7, 12, 4, 2, 20, 3};
static int publisher_end, decoder_end;
static bool broken;
static long decoded;

static void *publish(void *data)
{
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
		char ticks[32 * TICK], acknowledgement;

		memset(ticks, 0, sizeof ticks);
		for (int j = 0; j < batches[i]; j++)
			snprintf(ticks + j * TICK, TICK, "EUR %d", 10000 + j);
		ticks[(batches[i] - 1) * TICK + TICK - 1] = '$'; /* the last one */
		if (write(publisher_end, ticks, (size_t)batches[i] * TICK) < 0)
			perror("publish");
		if (read(publisher_end, &acknowledgement, 1) != 1)
			break;
		usleep(20000);
	}
	shutdown(publisher_end, SHUT_WR);
	return data;
}

static void decode(const char *tick)
{
	decoded++;
	if (tick[TICK - 1] == '$' && write(decoder_end, "+", 1) != 1)
		perror("acknowledge");
}

/* Returns false at the end of the feed. */
static bool on_feed(void)
{
	char buffer[BUFFER];

	for (;;) {
		ssize_t n = recv(decoder_end, buffer, sizeof buffer, MSG_DONTWAIT);

		if (n == 0)
			return false;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		for (ssize_t i = 0; i + TICK <= n; i += TICK)
			decode(buffer + i);
		if (broken)
			return true;
	}
}

static void *decode_feed(void *data)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, decoder_end, &event);
	for (;;) {
		int n = epoll_wait(epoll, &event, 1, -1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !on_feed())
			break;
	}
	close(epoll);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t publisher, decoder;
	int ends[2];

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
		perror("socketpair");
		return 1;
	}
	publisher_end = ends[0];
	decoder_end = ends[1];
	pthread_create(&decoder, NULL, decode_feed, NULL);
	pthread_setname_np(decoder, "decoder");
	pthread_create(&publisher, NULL, publish, NULL);
	pthread_setname_np(publisher, "publisher");
	pthread_join(publisher, NULL);
	pthread_join(decoder, NULL);
	printf("%ld ticks\n", decoded);
	return 0;
}
