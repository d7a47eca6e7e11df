/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The broker watches subscribers with EPOLLONESHOT. Subscriber billing's acknowledgement comes in two halves; after the short read the broker returns without arming the socket again, so "subscriber billing" is never looked at again and delivery 6 waits for ever (and 7, 8 queue behind it).
 *   culprit: subscriber billing
 *   victim: deliver|drain
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define SUBSCRIBERS 4
#define MESSAGES 12

struct frame {
	unsigned number, check;
};

struct subscriber {
	const char *name;
	int fd, peer;
	thrum_task task;
	struct frame in;
	size_t have;
	unsigned queue[MESSAGES], first, last;
	bool busy;
};

static struct subscriber subs[SUBSCRIBERS] = {
	{.name = "subscriber mail"},
	{.name = "subscriber search"},
	{.name = "subscriber billing"},
	{.name = "subscriber audit"},
};
static thrum_task deliveries[MESSAGES];
static int epfd;
static unsigned acked;
static bool broken;

static void msleep(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* The other ends: one thread plays a subscriber process. */
static void *subscriber_process(void *data)
{
	struct subscriber *s = data;
	struct frame f;

	while (read(s->peer, &f, sizeof(f)) == sizeof(f)) {
		msleep(4);
		f.check = ~f.number;
		if (f.number == 6) { /* its TCP window was small */
			if (write(s->peer, &f, 4) != 4)
				break;
			msleep(15);
			if (write(s->peer, (char *)&f + 4, 4) != 4)
				break;
			continue;
		}
		if (write(s->peer, &f, sizeof(f)) != sizeof(f))
			break;
	}
	return NULL;
}

static void arm(struct subscriber *s, int op)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = s};

	epoll_ctl(epfd, op, s->fd, &e);
}

static void deliver_next(struct subscriber *s)
{
	struct frame f = {0};

	if (s->busy || s->first == s->last)
		return;
	f.number = s->queue[s->first++];
	s->busy = true;
	thrum_task_wait(deliveries[f.number], s->task);
	if (write(s->fd, &f, sizeof(f)) < 0)
		perror("write");
}

static void on_readable(struct subscriber *s)
{
	ssize_t n = recv(s->fd, (char *)&s->in + s->have, sizeof(s->in) - s->have, MSG_DONTWAIT);

	if (n <= 0)
		return;
	s->have += n;
	if (s->have < sizeof(s->in)) {
		if (!broken)
			arm(s, EPOLL_CTL_MOD);
		return;
	}
	s->have = 0;
	s->busy = false;
	acked++;
	THRUM_RUN (deliveries[s->in.number]) {
		thrum_task_read(deliveries[s->in.number], s->task);
		thrum_task_resolve(deliveries[s->in.number]);
	}
	deliver_next(s);
	arm(s, EPOLL_CTL_MOD);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct epoll_event events[8];
	int published = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epfd = epoll_create1(0);
	for (int i = 0; i < SUBSCRIBERS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		subs[i].fd = ends[0];
		subs[i].peer = ends[1];
		subs[i].task = thrum_task_create(THRUM_KIND_HANDLE, subs[i].name);
		arm(&subs[i], EPOLL_CTL_ADD);
		pthread_create(&thread, NULL, subscriber_process, &subs[i]);
		pthread_detach(thread);
	}
	while (acked < MESSAGES) {
		int n;

		if (published < MESSAGES) {
			/* all but billing's are topic messages */
			struct subscriber *s = published >= 6 && published <= 8
				? &subs[2]
				: &subs[published % 4];

			deliveries[published] = thrum_task_createf(THRUM_KIND_REQUEST, "deliver %d",
				published);
			thrum_task_should_resolve(deliveries[published]);
			s->queue[s->last++] = published++;
			deliver_next(s);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epfd, events, 8, published < MESSAGES ? 8 : -1);
		thrum_resume();
		for (int i = 0; i < n; i++)
			on_readable(events[i].data.ptr);
	}
	printf("%u acked\n", acked);
	return 0;
}
