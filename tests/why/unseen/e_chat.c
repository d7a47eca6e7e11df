/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 600
 *   ask: why
 *   truth: bob's connection was closed by bob. The server takes the end of the input for "nothing to read", so his socket stays readable for ever (the loop spins), and the broadcasts wait for his acknowledgement.
 *   culprit: bob
 *   victim: broadcast
 * case: healthy
 *   args: healthy
 *   run: stop 600
 *   ask: why
 *   culprit: nothing
 */
/* chatd: broadcasts to its clients, who acknowledge; no should_resolve anywhere */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

struct client {
	const char *name;
	int fd, peer, quits_after;
	bool gone;
	thrum_task handle, ack;
};

static struct client clients[] = {{"alice"}, {"bob", .quits_after = 3}, {"carol"}};
static bool broken;
static int epoll;
static thrum_task broadcast;
static int number, missing;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A client, somewhere in the net. */
static void *user(void *data)
{
	struct client *client = data;
	char byte;
	int got = 0;

	while (read(client->peer, &byte, 1) == 1) {
		if (++got == client->quits_after)
			break;
		usleep(2000);
		if (write(client->peer, "a", 1) != 1)
			break;
	}
	close(client->peer);
	return NULL;
}

static void send_all(void)
{
	broadcast = thrum_task_createf(THRUM_KIND_JOIN, "broadcast %d", ++number);
	for (int i = 0; i < 3; i++) {
		if (clients[i].gone)
			continue;
		clients[i].ack = thrum_task_createf(THRUM_KIND_REQUEST, "ack of %s",
			clients[i].name);
		thrum_task_wait(clients[i].ack, clients[i].handle);
		thrum_task_wait(broadcast, clients[i].ack);
		missing++;
		if (send(clients[i].fd, "m", 1, MSG_NOSIGNAL) != 1)
			perror("send");
	}
}

static void acked(struct client *client, bool came)
{
	thrum_task ack = client->ack;

	client->ack = THRUM_TASK_NONE;
	THRUM_RUN (ack) {
		if (came)
			thrum_task_resolve(ack);
		else
			thrum_task_cancel(ack);
	}
	if (--missing == 0) {
		thrum_task_resolve(broadcast);
		broadcast = THRUM_TASK_NONE;
	}
}

static void on_readable(struct client *client)
{
	char byte;
	ssize_t size = recv(client->fd, &byte, 1, MSG_DONTWAIT);

	if (size == 1) {
		acked(client, true);
		return;
	}
	if (broken)
		return; /* nothing to read */
	client->gone = true;
	epoll_ctl(epoll, EPOLL_CTL_DEL, client->fd, NULL);
	close(client->fd);
	if (missing)
		acked(client, false);
	thrum_task_resolve(client->handle);
}

int main(int argc, char **argv)
{
	long end = now() + 1150, next = now();
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	epoll = epoll_create1(0);
	for (int i = 0; i < 3; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		clients[i].fd = ends[0];
		clients[i].peer = ends[1];
		clients[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "client %s",
			clients[i].name);
		epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
		pthread_create(&thread, NULL, user, &clients[i]);
	}
	while (now() < end) {
		struct epoll_event event;
		int n;

		if (now() >= next && !missing) {
			send_all();
			next = now() + 40;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epoll, &event, 1, 20);
		thrum_resume();
		if (n == 1)
			on_readable(event.data.ptr);
	}
	return 0;
}
