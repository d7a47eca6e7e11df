/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 700
 *   ask: why
 *   truth: The server watches its connections edge-triggered, but on_readable reads only once (160 bytes) per event. The
 *     camera's third frame is longer: its rest stays unread in the socket of "camera uplink", no new edge comes, and
 *     the task "assemble frame" waits for bytes that are long there. The camera's thread waits for its
 *     acknowledgement.
 *   culprit: camera uplink
 *   victim: assemble frame|\bdevice\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Collects frames from devices: two bytes of length, then the frame; each is acknowledged by one byte. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define DEVICES 3
#define FRAMES 4

struct uplink {
	const char *name;
	uint16_t sizes[FRAMES];
	int fd, device_fd, frames;
	size_t have;
	uint8_t buffer[512];
	thrum_task handle, frame;
};

static struct uplink uplinks[DEVICES] = {
	{.name = "thermostat uplink", .sizes = {20, 20, 24, 20}},
	{.name = "doorbell uplink", .sizes = {64, 30, 70, 30}},
	{.name = "camera uplink", .sizes = {120, 140, 300, 110}},
};
static bool once;
static int complete;

/* A device: sends its frames, waits for each acknowledgement. */
static void *device(void *data)
{
	const struct uplink *uplink = data;
	uint8_t frame[512];
	char ack;

	for (int i = 0; i < FRAMES; i++) {
		uint16_t size = uplink->sizes[i];

		usleep(15000);
		memcpy(frame, &size, 2);
		memset(frame + 2, i, size);
		if (write(uplink->device_fd, frame, size + 2) != size + 2)
			break;
		if (read(uplink->device_fd, &ack, 1) != 1)
			break;
	}
	return NULL;
}

static void frame_end(struct uplink *uplink, uint16_t size)
{
	uplink->have -= size + 2;
	memmove(uplink->buffer, uplink->buffer + size + 2, uplink->have);
	if (write(uplink->fd, "+", 1) != 1)
		thrum_task_fail(uplink->frame, "ack");
	else
		thrum_task_resolve(uplink->frame);
	uplink->frame = THRUM_TASK_NONE;
	uplink->frames++;
	complete++;
}

static void on_readable(struct uplink *uplink)
{
	uint16_t size;
	ssize_t got;

	do {
		got = read(uplink->fd, uplink->buffer + uplink->have, 160);
		if (got <= 0)
			return;
		if (!uplink->have) {
			uplink->frame = thrum_task_create(THRUM_KIND_TASK, "assemble frame");
			thrum_task_should_resolve(uplink->frame);
		}
		uplink->have += got;
		THRUM_RUN (uplink->frame) {
			thrum_task_read(uplink->frame, uplink->handle);
			memcpy(&size, uplink->buffer, 2);
			if (uplink->have >= (size_t)size + 2)
				frame_end(uplink, size);
			else
				thrum_task_wait(uplink->frame, uplink->handle);
		}
	} while (!once);
}

int main(int argc, char **argv)
{
	struct epoll_event event, events[8];
	pthread_t threads[DEVICES];
	int epoll = epoll_create1(0), pair[2];

	once = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < DEVICES; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		fcntl(pair[0], F_SETFL, O_NONBLOCK);
		uplinks[i].fd = pair[0];
		uplinks[i].device_fd = pair[1];
		uplinks[i].handle = thrum_task_create(THRUM_KIND_HANDLE, uplinks[i].name);
		event = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.ptr = &uplinks[i]};
		epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
		pthread_create(&threads[i], NULL, device, &uplinks[i]);
	}
	while (complete < DEVICES * FRAMES) {
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(epoll, events, 8, -1);
		thrum_resume();
		for (int i = 0; i < count; i++)
			on_readable(events[i].data.ptr);
	}
	for (int i = 0; i < DEVICES; i++)
		pthread_join(threads[i], NULL);
	printf("%d frames\n", complete);
	return 0;
}
