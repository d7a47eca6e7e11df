/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: the loop watches "i2c bridge" edge-triggered and on_bridge reads one reply for each event. While the
 *          SD card was slow three replies came in one edge; two stay unread in the socket ("read humidity" and
 *          "read pressure" never end), so "poll cycle 4" never ends either.
 *   culprit: i2c bridge|on_bridge|read (humidity|pressure)
 *   victim: (poll cycle|publish)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

enum {
	SENSORS = 3,
	CYCLES = 8
};
static const char *names[SENSORS] = {"read temperature", "read humidity", "read pressure"};

static int drain; /* read until EAGAIN */
static int bridge[2], ticker, mqtt[2];
static thrum_task bridge_handle, mqtt_handle, requests[SENSORS], cycle;
static int cycle_number, open_requests;

/* The firmware on the other side of the wire. */
static void *firmware(void *data)
{
	char c;

	(void)data;
	thrum_lane_name("firmware");
	while (recv(bridge[1], &c, 1, 0) == 1) {
		usleep(4000);
		if (send(bridge[1], &c, 1, 0) != 1)
			break;
	}
	return NULL;
}

static void begin_cycle(void)
{
	if (open_requests || cycle_number == CYCLES)
		return; /* the last one is still running */
	cycle_number++;
	cycle = thrum_task_createf(THRUM_KIND_TASK, "poll cycle %d", cycle_number);
	thrum_task_should_resolve(cycle);
	THRUM_RUN (cycle) {
		for (int i = 0; i < SENSORS; i++) {
			char c = (char)i;

			requests[i] = thrum_task_create(THRUM_KIND_REQUEST, names[i]);
			thrum_task_wait(requests[i], bridge_handle);
			thrum_task_wait(cycle, requests[i]);
			if (send(bridge[0], &c, 1, 0) == 1)
				open_requests++;
		}
		if (cycle_number == 4) {
			thrum_log("SD card is slow");
			usleep(30000);
		}
	}
}

static int on_reply(void)
{
	char c;

	if (recv(bridge[0], &c, 1, MSG_DONTWAIT) != 1)
		return 0;
	THRUM_RUN (requests[(int)c]) {
		thrum_task_read(requests[(int)c], bridge_handle);
		thrum_task_resolve(requests[(int)c]);
	}
	if (--open_requests == 0)
		THRUM_RUN (cycle) {
			for (int i = 0; i < SENSORS; i++)
				thrum_task_read(cycle, requests[i]);
			thrum_task_resolve(cycle);
		}
	return 1;
}

static void on_bridge(void)
{
	do {
		if (!on_reply())
			break;
	} while (drain);
}

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 40000000}, {0, 5000000}};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET}, tick = {.events = EPOLLIN};
	pthread_t device;
	int epoll = epoll_create1(0);

	drain = !(argc > 1 && !strcmp(argv[1], "broken"));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bridge) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, mqtt))
		return 1;
	bridge_handle = thrum_task_create(THRUM_KIND_HANDLE, "i2c bridge");
	mqtt_handle = thrum_task_create(THRUM_KIND_HANDLE, "mqtt commands"); /* nobody sends any */
	ticker = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(ticker, 0, &every, NULL);
	event.data.fd = bridge[0];
	epoll_ctl(epoll, EPOLL_CTL_ADD, bridge[0], &event);
	tick.data.fd = ticker;
	epoll_ctl(epoll, EPOLL_CTL_ADD, ticker, &tick);
	tick.data.fd = mqtt[0];
	epoll_ctl(epoll, EPOLL_CTL_ADD, mqtt[0], &tick);
	pthread_create(&device, NULL, firmware, NULL);
	while (cycle_number < CYCLES || open_requests) {
		struct epoll_event got;
		uint64_t ticks;
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epoll, &got, 1, -1);
		thrum_resume();
		if (n != 1)
			continue;
		if (got.data.fd == ticker) {
			if (read(ticker, &ticks, sizeof(ticks)) == sizeof(ticks))
				begin_cycle();
		} else if (got.data.fd == bridge[0])
			on_bridge();
	}
	shutdown(bridge[0], SHUT_RDWR);
	pthread_join(device, NULL);
	thrum_task_resolve(bridge_handle);
	thrum_task_cancel(mqtt_handle);
	return 0;
}
