/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: drop_silent() closed the silent client's descriptor and left its number on the retired list; the
 *     next client got the same number, and purge_retired() then removed that client's descriptor from the
 *     epoll set (EPOLL_CTL_DEL): its request is never read
 *   culprit: purge_retired|drop_silent
 *   victim: client-late|serve_request
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small line server with an epoll loop of its own, a login timeout and a list
 * of retired connections. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAXFD 64
#define TICK_MS 50
#define LOGIN_TICKS 4 /* a client must speak within this */
#define PURGE_TICKS 14

static struct conn {
	int used, spoke, ticks;
} conns[MAXFD];
static int retired[MAXFD], nretired;
static int ep, lis, timer, served;
static struct sockaddr_un addr = {.sun_family = AF_UNIX};
static socklen_t addr_len;
static int first_speaks; /* or only looks whether the port is open */

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void watch(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		abort();
}

static __attribute__((noinline)) void accept_client(void)
{
	int fd = accept4(lis, NULL, NULL, SOCK_NONBLOCK);

	if (fd < 0 || fd >= MAXFD)
		abort();
	conns[fd] = (struct conn){1, 0, 0};
	watch(fd);
}

/* A connection that left on its own: its descriptor is closed at the next
 * purge. */
static __attribute__((noinline)) void retire(int fd)
{
	conns[fd].used = 0;
	retired[nretired++] = fd;
}

static __attribute__((noinline)) void drop_silent(int fd)
{
	retire(fd);
	shutdown(fd, SHUT_RDWR);
	close(fd); /* at once: such clients come in numbers */
}

static __attribute__((noinline)) void purge_retired(void)
{
	for (int i = 0; i < nretired; i++) {
		epoll_ctl(ep, EPOLL_CTL_DEL, retired[i], NULL);
		if (!conns[retired[i]].used)
			close(retired[i]);
	}
	nretired = 0;
}

static __attribute__((noinline)) void serve_request(int fd)
{
	char line[64];
	ssize_t n = read(fd, line, sizeof line);

	conns[fd].spoke = 1;
	if (n <= 0) {
		epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
		retire(fd);
		return;
	}
	if (send(fd, line, n, MSG_NOSIGNAL) == n)
		served++;
}

static __attribute__((noinline)) void on_tick(void)
{
	unsigned long long n;
	static unsigned long long since_purge;

	if (read(timer, &n, sizeof n) != (ssize_t)sizeof n)
		return;
	since_purge += n;
	if (since_purge >= PURGE_TICKS) {
		purge_retired();
		since_purge = 0;
	}
	for (int fd = 0; fd < MAXFD; fd++)
		if (conns[fd].used && !conns[fd].spoke && (conns[fd].ticks += n) > LOGIN_TICKS)
			drop_silent(fd);
}

static int dial(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, addr_len))
		abort();
	return fd;
}

static __attribute__((noinline)) void ask(int fd, const char *line)
{
	char answer[64];

	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0 || read(fd, answer, sizeof answer) <= 0)
		abort();
}

static int dialed[2];

static void *first_main(void *arg)
{
	(void)arg;
	if (first_speaks)
		ask(dialed[0], "hello\n");
	return NULL;
}

/* Comes later, asks, and asks again after a pause. */
static void *late_main(void *arg)
{
	(void)arg;
	nap(450);
	if (connect(dialed[1], (struct sockaddr *)&addr, addr_len))
		abort();
	ask(dialed[1], "hello\n");
	nap(600);
	ask(dialed[1], "again\n");
	return NULL;
}

static void *loop_main(void *arg)
{
	struct epoll_event ev[8];

	(void)arg;
	for (;;) {
		int n = epoll_wait(ep, ev, 8, -1);

		for (int i = 0; i < n; i++) {
			int fd = ev[i].data.fd;

			if (fd == lis)
				accept_client();
			else if (fd == timer)
				on_tick();
			else if (conns[fd].used)
				serve_request(fd);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, TICK_MS * 1000000L}, {0, TICK_MS * 1000000L}};
	pthread_t loop, first, late;

	first_speaks = !(argc > 1 && !strcmp(argv[1], "broken"));
	addr_len = offsetof(struct sockaddr_un, sun_path) + 1 +
		snprintf(addr.sun_path + 1, sizeof addr.sun_path - 1, "ap_echod.%d", (int)getpid());
	ep = epoll_create1(0);
	lis = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (bind(lis, (struct sockaddr *)&addr, addr_len) || listen(lis, 8))
		return 1;
	watch(lis);
	watch(timer);
	dialed[0] = dial();
	dialed[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	timerfd_settime(timer, 0, &every, NULL);
	pthread_create(&loop, NULL, loop_main, NULL);
	pthread_setname_np(loop, "echod-loop");
	pthread_create(&first, NULL, first_main, NULL);
	pthread_setname_np(first, "client-first");
	pthread_create(&late, NULL, late_main, NULL);
	pthread_setname_np(late, "client-late");
	pthread_join(first, NULL);
	pthread_join(late, NULL);
	printf("served %d\n", served);
	return 0;
}
