/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pause_sources takes EPOLLIN away by epoll_ctl itself and leaves the cached mask of the source as
 *     it was. So set_interest thinks later that the source is still watched, and the pause is never lifted.
 *   culprit: pause_sources
 *   victim: ship_lines|await_receipt
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A log relay: shippers send lines to the relay, which forwards them to one archive that reads slowly. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHIPPERS 3
#define LINE 512
#define LINES 240
#define HIGH (24 * 1024)
#define LOW (6 * 1024)

struct peer {
	int fd;
	uint32_t interest; /* the mask that epoll has for it, to save calls */
	size_t received;
};

static struct peer sources[SHIPPERS], archive;
static int shipper_ends[SHIPPERS], archive_end;
static int poller;
static bool cached_pause, paused;
static char backlog[HIGH + SHIPPERS * 4096];
static size_t backlog_size;

static void set_interest(struct peer *peer, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = peer};

	if (peer->interest == events)
		return;
	epoll_ctl(poller, EPOLL_CTL_MOD, peer->fd, &event);
	peer->interest = events;
}

static void pause_sources(void)
{
	for (int i = 0; i < SHIPPERS; i++) {
		struct epoll_event nothing = {.events = 0, .data.ptr = &sources[i]};

		if (cached_pause)
			set_interest(&sources[i], 0);
		else /* quick path: a source that sends is always watched */
			epoll_ctl(poller, EPOLL_CTL_MOD, sources[i].fd, &nothing);
	}
	paused = true;
}

static void resume_sources(void)
{
	for (int i = 0; i < SHIPPERS; i++)
		set_interest(&sources[i], EPOLLIN);
	paused = false;
}

static void flush_backlog(void)
{
	ssize_t sent = send(archive.fd, backlog, backlog_size, MSG_NOSIGNAL);

	if (sent > 0) {
		backlog_size -= (size_t)sent;
		memmove(backlog, backlog + sent, backlog_size);
	}
	set_interest(&archive, backlog_size ? EPOLLOUT : 0);
	if (paused && backlog_size < LOW)
		resume_sources();
}

/* Returns whether the source was complete and got its receipt. */
static bool take_lines(struct peer *source)
{
	ssize_t got = read(source->fd, backlog + backlog_size, 4096);

	if (got > 0) {
		backlog_size += (size_t)got;
		source->received += (size_t)got;
		set_interest(&archive, EPOLLOUT);
		if (!paused && backlog_size > HIGH)
			pause_sources();
	}
	return source->received == LINE * LINES && write(source->fd, "K", 1) == 1;
}

static void *run_relay(void *unused)
{
	struct epoll_event events[8];
	int receipts = 0;

	(void)unused;
	while (receipts < SHIPPERS || backlog_size > 0) {
		int ready = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < ready; i++) {
			struct peer *peer = events[i].data.ptr;

			if (peer == &archive)
				flush_backlog();
			else if (!paused && (events[i].events & EPOLLIN))
				receipts += take_lines(peer);
		}
	}
	shutdown(archive.fd, SHUT_WR);
	return NULL;
}

static void await_receipt(int fd)
{
	char answer;

	if (read(fd, &answer, 1) != 1 || answer != 'K')
		fputs("no receipt\n", stderr);
}

static void *ship_lines(void *data)
{
	int fd = *(int *)data;
	char line[LINE];

	memset(line, 'x', sizeof(line));
	line[LINE - 1] = '\n';
	for (int i = 0; i < LINES; i++)
		if (write(fd, line, LINE) != LINE)
			break;
	await_receipt(fd);
	return NULL;
}

static void *run_archive(void *unused)
{
	char block[4096];
	size_t stored = 0;
	ssize_t got;

	(void)unused;
	while ((got = read(archive_end, block, sizeof(block))) > 0) {
		stored += (size_t)got;
		usleep(1000);
	}
	printf("archived %zu bytes\n", stored);
	return NULL;
}

static void add_peer(struct peer *peer, int *other, uint32_t interest)
{
	int ends[2], room = 16 * 1024;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		exit(1);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	peer->fd = ends[0];
	peer->interest = interest;
	*other = ends[1];
	epoll_ctl(poller, EPOLL_CTL_ADD, peer->fd,
		&(struct epoll_event){.events = interest, .data.ptr = peer});
}

int main(int argc, char **argv)
{
	pthread_t relay, store, shippers[SHIPPERS];

	cached_pause = argc > 1 && !strcmp(argv[1], "healthy");
	poller = epoll_create1(EPOLL_CLOEXEC);
	add_peer(&archive, &archive_end, 0);
	for (int i = 0; i < SHIPPERS; i++)
		add_peer(&sources[i], &shipper_ends[i], EPOLLIN);
	pthread_create(&store, NULL, run_archive, NULL);
	pthread_create(&relay, NULL, run_relay, NULL);
	for (int i = 0; i < SHIPPERS; i++)
		pthread_create(&shippers[i], NULL, ship_lines, &shipper_ends[i]);
	for (int i = 0; i < SHIPPERS; i++)
		pthread_join(shippers[i], NULL);
	pthread_join(relay, NULL);
	pthread_join(store, NULL);
	return 0;
}
