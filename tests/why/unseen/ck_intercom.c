/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The doors are watched with EPOLLONESHOT. When a frame has come only in part, serve_door returns without arming
 *     the door's descriptor again; so the rest of the frame of door-3 is never read, and the door waits for its reply.
 *   culprit: serve_door|rearm|run_server|EPOLLONESHOT|epoll_ctl
 *   victim: ring_door|door-3|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The exchange of an intercom: doors send frames, and two threads serve all doors through one epoll instance. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	DOORS = 4,
	CALLS = 12,
	SERVERS = 2,
	FRAME_MAX = 64
};

struct frame {
	unsigned char length;
	char body[FRAME_MAX];
};

struct door {
	int number;
	int exchange_end;
	int door_end;
	struct frame frame;
	size_t have;
	unsigned calls;
	pthread_t thread;
};

static struct door doors[DOORS];
static int poller;
static bool arm_always;

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static void rearm(struct door *door)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = door};

	epoll_ctl(poller, EPOLL_CTL_MOD, door->exchange_end, &event);
}

static void open_latch(struct door *door)
{
	char reply = 'o';

	pause_ms(2);
	door->calls++;
	if (write(door->exchange_end, &reply, 1) != 1)
		fprintf(stderr, "door %d is gone\n", door->number);
}

static void serve_door(struct door *door)
{
	ssize_t got = read(door->exchange_end, (char *)&door->frame + door->have,
		sizeof door->frame - door->have);

	if (got <= 0) {
		epoll_ctl(poller, EPOLL_CTL_DEL, door->exchange_end, NULL);
		return;
	}
	door->have += (size_t)got;
	if (door->have < 1u + door->frame.length) {
		if (arm_always)
			rearm(door);
		return;
	}
	door->have = 0;
	open_latch(door);
	rearm(door);
}

static void *run_server(void *data)
{
	struct epoll_event event;

	(void)data;
	pthread_setname_np(pthread_self(), "exchange");
	while (epoll_wait(poller, &event, 1, -1) == 1) {
		if (!event.data.ptr)
			break;
		serve_door(event.data.ptr);
	}
	return NULL;
}

static bool send_part(struct door *door, const char *part, size_t size)
{
	return write(door->door_end, part, size) == (ssize_t)size;
}

/* A door with a camera sends a picture, too. It is a slow line: such a frame comes in two parts. */
static bool ring(struct door *door, int call)
{
	struct frame frame;
	size_t size;

	memset(&frame, 0, sizeof frame);
	snprintf(frame.body, sizeof frame.body, "door %d call %d", door->number, call);
	frame.length = (unsigned char)strlen(frame.body);
	if (door->number == 3 && call == 6) {
		memset(frame.body + frame.length, '#', 30);
		frame.length = (unsigned char)(frame.length + 30);
	}
	size = 1u + frame.length;
	if (size <= 32)
		return send_part(door, (char *)&frame, size);
	if (!send_part(door, (char *)&frame, 32))
		return false;
	pause_ms(30);
	return send_part(door, (char *)&frame + 32, size - 32);
}

static void *ring_door(void *data)
{
	struct door *door = data;
	char name[16];
	char reply;

	snprintf(name, sizeof name, "door-%d", door->number);
	pthread_setname_np(pthread_self(), name);
	for (int call = 0; call < CALLS; call++) {
		if (!ring(door, call) || read(door->door_end, &reply, 1) != 1)
			break;
		pause_ms(10);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t servers[SERVERS];
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
	int ends[2];
	int stop[2];

	arm_always = argc > 1 && !strcmp(argv[1], "healthy");
	poller = epoll_create1(0);
	for (int i = 0; i < DOORS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		doors[i].number = i + 1;
		doors[i].exchange_end = ends[0];
		doors[i].door_end = ends[1];
		event.data.ptr = &doors[i];
		epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
	}
	if (pipe(stop))
		return 1;
	event.events = EPOLLIN;
	event.data.ptr = NULL;
	epoll_ctl(poller, EPOLL_CTL_ADD, stop[0], &event);
	for (int i = 0; i < SERVERS; i++)
		pthread_create(&servers[i], NULL, run_server, NULL);
	for (int i = 0; i < DOORS; i++)
		pthread_create(&doors[i].thread, NULL, ring_door, &doors[i]);
	for (int i = 0; i < DOORS; i++) {
		pthread_join(doors[i].thread, NULL);
		printf("door %d: %u calls\n", doors[i].number, doors[i].calls);
	}
	if (write(stop[1], "x", 1) != 1)
		return 1;
	for (int i = 0; i < SERVERS; i++)
		pthread_join(servers[i], NULL);
	return 0;
}
