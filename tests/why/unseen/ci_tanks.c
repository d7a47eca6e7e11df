/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The probe of a tank answers with a wrong checksum once. on_frame counts that and returns, without
 *     arming the timer that asks the next probe, as it does after each good frame. So the sweep
 *     of the tanks never ends, and the cash desk waits for the levels for ever.
 *   culprit: on_frame
 *   victim: cash_desk
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A filling station: the daemon asks the level probes of its tanks over one serial bus, one after the other,
 * and gives the sum of each sweep to the cash desk that asks for it. */
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TANKS = 4,
	SWEEPS = 6,
	GAP_US = 4000, /* silence between two frames on the bus */
};

struct frame {
	uint8_t tank;
	uint8_t level;
	uint8_t checksum;
};

struct station {
	struct event_base *base;
	struct event *frame, *gap, *desk, *watchdog;
	int bus, counter;
	unsigned tank; /* which is asked */
	unsigned sum;
	bool is_asked; /* the desk waits */
	unsigned bad, kicks;
};

static bool healthy;

/* The probes, in a process of their own. */
static void run_probes(int bus)
{
	unsigned answers = 0;
	uint8_t tank;

	while (read(bus, &tank, 1) == 1) {
		struct frame frame = {tank, (uint8_t)(40 + tank), 0};

		usleep(1500);
		frame.checksum = frame.tank ^ frame.level;
		if (++answers == 4 * TANKS + 2)
			frame.checksum ^= 0x10; /* a motor was switched on */
		if (write(bus, &frame, sizeof(frame)) != sizeof(frame))
			break;
	}
	_exit(0);
}

static void arm_gap(struct station *station)
{
	struct timeval gap = {0, GAP_US};

	event_add(station->gap, &gap);
}

static void ask_probe(struct station *station)
{
	uint8_t tank = (uint8_t)station->tank;

	if (write(station->bus, &tank, 1) != 1)
		event_base_loopbreak(station->base);
}

static void on_gap(evutil_socket_t descriptor, short what, void *data)
{
	(void)descriptor, (void)what;
	ask_probe(data);
}

static void end_sweep(struct station *station)
{
	if (station->is_asked && write(station->counter, &station->sum, sizeof(station->sum)) < 0)
		event_base_loopbreak(station->base);
	station->is_asked = false;
	station->sum = 0;
	station->tank = 0;
}

static void on_frame(evutil_socket_t descriptor, short what, void *data)
{
	struct station *station = data;
	struct frame frame;

	(void)what;
	if (read(descriptor, &frame, sizeof(frame)) != sizeof(frame)) {
		event_base_loopbreak(station->base);
		return;
	}
	if ((frame.tank ^ frame.level) != frame.checksum) {
		station->bad++;
		if (healthy)
			arm_gap(station); /* asks the same probe again */
		return;
	}
	station->sum += frame.level;
	station->tank++;
	if (station->tank < TANKS)
		arm_gap(station);
	else
		end_sweep(station);
}

/* The cash desk asks for the levels, or has gone home. */
static void on_desk(evutil_socket_t descriptor, short what, void *data)
{
	struct station *station = data;
	char byte;

	(void)what;
	if (read(descriptor, &byte, 1) != 1) {
		event_base_loopbreak(station->base);
		return;
	}
	station->is_asked = true;
	arm_gap(station);
}

static void on_watchdog(evutil_socket_t descriptor, short what, void *data)
{
	struct station *station = data;

	(void)descriptor, (void)what;
	station->kicks++;
}

static void *cash_desk(void *data)
{
	int counter = *(int *)data;
	unsigned sum;

	for (int i = 0; i < SWEEPS; i++) {
		if (write(counter, "?", 1) != 1 || read(counter, &sum, sizeof(sum)) != sizeof(sum))
			break;
		printf("all tanks: %u\n", sum);
		usleep(10000);
	}
	close(counter);
	return NULL;
}

int main(int count, char **arguments)
{
	struct timeval half = {0, 200000};
	struct station station = {0};
	int bus[2], counter[2];
	pthread_t desk;
	pid_t probes;

	if (count != 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, bus))
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	probes = fork();
	if (!probes) {
		close(bus[0]);
		run_probes(bus[1]);
	}
	close(bus[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, counter))
		return 2;
	station.bus = bus[0];
	station.counter = counter[0];
	station.base = event_base_new();
	station.frame = event_new(station.base, bus[0], EV_READ | EV_PERSIST, on_frame, &station);
	station.desk = event_new(station.base, counter[0], EV_READ | EV_PERSIST, on_desk, &station);
	station.watchdog = event_new(station.base, -1, EV_PERSIST, on_watchdog, &station);
	station.gap = event_new(station.base, -1, 0, on_gap, &station);
	event_add(station.frame, NULL);
	event_add(station.desk, NULL);
	event_add(station.watchdog, &half);
	pthread_create(&desk, NULL, cash_desk, &counter[1]);
	event_base_dispatch(station.base);
	pthread_join(desk, NULL);
	close(bus[0]);
	waitpid(probes, NULL, 0);
	printf("%u bad frames\n", station.bad);
	event_free(station.frame);
	event_free(station.desk);
	event_free(station.watchdog);
	event_free(station.gap);
	event_base_free(station.base);
	return 0;
}
