/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The descriptors are watched with EPOLLONESHOT. Phone 3 acknowledges in two pieces; after the first piece on_readable returns without arming "conn phone-3" again, so the rest is never read and the push over it hangs.
 *   culprit: conn phone-3|on_readable|\barm\b
 *   victim: push 1003|push 1013|campaign
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A push gateway: one epoll loop with one-shot watches; the phones are a thread at the other ends. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

enum {
	PHONES = 6
};

struct conn {
	int number, fd, other;
	thrum_task handle, push;
	char buffer[32];
	size_t filled;
	int round;
};

static struct conn conns[PHONES];
static int epoll, outstanding;
static thrum_task campaign;
static bool broken;

static void arm(struct conn *conn, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = conn};

	epoll_ctl(epoll, operation, conn->fd, &event);
}

static void send_push(struct conn *conn)
{
	char text[32];

	conn->push = thrum_task_createf(THRUM_KIND_REQUEST, "push %d",
		1000 + 10 * conn->round + conn->number);
	thrum_task_should_resolve(conn->push);
	thrum_task_wait(conn->push, conn->handle);
	thrum_task_wait(campaign, conn->push);
	outstanding++;
	snprintf(text, sizeof(text), "N%d", conn->round);
	if (write(conn->fd, text, strlen(text)) < 0)
		thrum_task_fail(conn->push, "write");
}

static void on_ack(struct conn *conn)
{
	THRUM_RUN (conn->push) {
		thrum_task_read(conn->push, conn->handle);
		thrum_task_resolve(conn->push);
	}
	thrum_task_read(campaign, conn->push);
	outstanding--;
	conn->filled = 0;
	if (++conn->round < 3)
		send_push(conn);
}

static void on_readable(struct conn *conn)
{
	ssize_t got = read(conn->fd, conn->buffer + conn->filled,
		sizeof(conn->buffer) - conn->filled);

	if (got <= 0)
		return;
	conn->filled += got;
	if (conn->buffer[conn->filled - 1] != '\n') {
		thrum_log("incomplete acknowledgement");
		if (!broken)
			arm(conn, EPOLL_CTL_MOD);
		return;
	}
	on_ack(conn);
	arm(conn, EPOLL_CTL_MOD);
}

static void *phones(void *data)
{
	char text[32];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < PHONES - 1; i++) { /* the last phone is silent */
			if (broken && i == 3 && round > 0)
				continue;
			if (read(conns[i].other, text, sizeof(text)) <= 0)
				return NULL;
			usleep(7000);
			if (i == 3) {
				if (write(conns[i].other, "AC", 2) < 0)
					return NULL;
				usleep(9000);
				if (write(conns[i].other, "K\n", 2) < 0)
					return NULL;
			} else if (write(conns[i].other, "ACK\n", 4) < 0)
				return NULL;
		}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	epoll = epoll_create1(0);
	campaign = thrum_task_create(THRUM_KIND_JOIN, "campaign");
	thrum_task_should_resolve(campaign);
	for (int i = 0; i < PHONES; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		conns[i].number = i;
		conns[i].fd = ends[0];
		conns[i].other = ends[1];
		conns[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "conn phone-%d", i);
		arm(&conns[i], EPOLL_CTL_ADD);
		if (i < PHONES - 1)
			send_push(&conns[i]);
	}
	pthread_create(&thread, NULL, phones, NULL);
	while (outstanding > 0) {
		struct epoll_event events[4];

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		int n = epoll_wait(epoll, events, 4, -1);
		thrum_resume();
		for (int i = 0; i < n; i++)
			on_readable(events[i].data.ptr);
	}
	thrum_task_resolve(campaign);
	pthread_join(thread, NULL);
	puts("campaign done");
	thrum_stop();
	return 0;
}
