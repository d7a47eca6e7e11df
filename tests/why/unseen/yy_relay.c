/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pause_origin stops to read from the origin, and only a write event of the client resumes it. When
 *   	flush_client then empties the buffer at once, no write event comes; it should have resumed the origin.
 *   culprit: pause_origin|flush_client
 *   victim: origin|client|send_object|fetch_object
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define OBJECT (768 * 1024)
#define BUFFER (64 * 1024)
#define HIGH_MARK (48 * 1024)
#define LOW_MARK (16 * 1024)

enum {
	EV_ORIGIN,
	EV_CLIENT,
	EV_STATS
};

static int epfd, origin_fd, client_fd, stats_fd;
static uint8_t buffer[BUFFER];
static size_t used, relayed, markup;
static bool paused;
static int samples, pauses;
static bool broken;

static void watch(int op, int fd, uint32_t events, uint32_t what)
{
	struct epoll_event ev = {.events = events, .data.u32 = what};
	epoll_ctl(epfd, op, fd, &ev);
}

static void pause_origin(void)
{
	paused = true;
	pauses++;
	watch(EPOLL_CTL_MOD, origin_fd, 0, EV_ORIGIN);
}

static void resume_origin(void)
{
	paused = false;
	watch(EPOLL_CTL_MOD, origin_fd, EPOLLIN, EV_ORIGIN);
}

static void flush_client(void)
{
	while (used > 0) {
		ssize_t n = write(client_fd, buffer, used);
		if (n < 0)
			break;
		memmove(buffer, buffer + n, used - (size_t)n);
		used -= (size_t)n;
		relayed += (size_t)n;
	}
	watch(EPOLL_CTL_MOD, client_fd, used ? EPOLLOUT : 0, EV_CLIENT);
	if (!broken && paused && used <= LOW_MARK)
		resume_origin();
}

static void on_client_writable(void)
{
	flush_client();
	if (paused && used <= LOW_MARK)
		resume_origin();
}

/* Looks for markup that the filter removes. */
static size_t scan_content(const uint8_t *data, size_t len)
{
	size_t found = 0;
	for (size_t i = 0; i < len; i++)
		found += data[i] == '<';
	usleep(400);
	return found;
}

static void on_origin_readable(void)
{
	ssize_t n = read(origin_fd, buffer + used, BUFFER - used);
	if (n <= 0)
		return;
	markup += scan_content(buffer + used, (size_t)n);
	used += (size_t)n;
	if (used >= HIGH_MARK)
		pause_origin();
	flush_client();
}

static void run_relay(void)
{
	while (relayed < OBJECT) {
		struct epoll_event evs[4];
		int n = epoll_wait(epfd, evs, 4, -1);
		for (int i = 0; i < n; i++) {
			uint64_t ticks;
			if (evs[i].data.u32 == EV_ORIGIN)
				on_origin_readable();
			else if (evs[i].data.u32 == EV_CLIENT)
				on_client_writable();
			else if (read(stats_fd, &ticks, sizeof ticks) > 0)
				samples++;
		}
	}
}

static void *send_object(void *arg)
{
	int fd = *(int *)arg;
	static uint8_t page[8192];
	pthread_setname_np(pthread_self(), "origin");
	for (size_t sent = 0; sent < OBJECT;) {
		ssize_t n = write(fd, page, sizeof page);
		if (n < 0)
			break;
		sent += (size_t)n;
		if (sent < 96 * 1024)
			usleep(1000);
	}
	return NULL;
}

static void *fetch_object(void *arg)
{
	int fd = *(int *)arg;
	static uint8_t page[16384];
	size_t got = 0;
	ssize_t n;
	pthread_setname_np(pthread_self(), "client");
	while (got < OBJECT && (n = read(fd, page, sizeof page)) > 0) {
		got += (size_t)n;
		usleep(2500);
	}
	return (void *)got;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	int up[2], down[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, up) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, down) < 0)
		return 1;
	origin_fd = up[0];
	client_fd = down[0];
	fcntl(origin_fd, F_SETFL, O_NONBLOCK);
	fcntl(client_fd, F_SETFL, O_NONBLOCK);
	stats_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec every = {{0, 20000000}, {0, 20000000}};
	timerfd_settime(stats_fd, 0, &every, NULL);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	watch(EPOLL_CTL_ADD, origin_fd, EPOLLIN, EV_ORIGIN);
	watch(EPOLL_CTL_ADD, client_fd, 0, EV_CLIENT);
	watch(EPOLL_CTL_ADD, stats_fd, EPOLLIN, EV_STATS);
	pthread_t origin, client;
	pthread_create(&client, NULL, fetch_object, &down[1]);
	pthread_create(&origin, NULL, send_object, &up[1]);
	run_relay();
	void *got;
	pthread_join(origin, NULL);
	pthread_join(client, &got);
	printf("%zu of %d bytes relayed, %d pauses\n", (size_t)got, OBJECT, pauses);
	return (size_t)got != OBJECT;
}
