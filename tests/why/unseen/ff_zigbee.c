/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Sequence numbers have 4 bits. "interview thermostat" still waits for its sleepy device under number 0 when
 *     send_request gives number 0 to the 16th request after it and overwrites its entry; the device's answer then finds no
 *     entry and is dropped.
 *   culprit: interview thermostat|send_request
 *   victim: pair thermostat
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about Zigbee coordinators whose sequence numbers collide. The gateway talks to its radio over a socket;
 * the radio is a thread here, which also plays the lamps and a thermostat that sleeps most of the time.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define NUMBERS 16
#define POLLS 24

struct frame {
	uint8_t number;
	uint8_t device; /* 0: the thermostat; others: lamps */
	uint8_t value;
};

/* ---- The radio ---- */

static void *run_radio(void *data)
{
	int socket = *(int *)data;
	struct frame frame, held;
	int lamps = 0;
	bool holds = false;

	while (read(socket, &frame, sizeof(frame)) == sizeof(frame)) {
		if (frame.device == 0) {
			held = frame; /* until it wakes up */
			holds = true;
			continue;
		}
		frame.value = (uint8_t)(lamps * 7);
		if (write(socket, &frame, sizeof(frame)) != sizeof(frame))
			break;
		if (++lamps == 20 && holds) {
			held.value = 21;
			if (write(socket, &held, sizeof(held)) != sizeof(held))
				break;
		}
	}
	close(socket);
	return NULL;
}

/* ---- The gateway ---- */

struct request {
	thrum_task task;
	uint8_t device;
	bool done;
};

static struct {
	int radio;
	uint8_t number;
	struct request *pending[NUMBERS];
	int dropped;
	bool broken;
} gateway;

static uint8_t new_number(void)
{
	uint8_t number = gateway.number++ % NUMBERS;

	if (!gateway.broken)
		while (gateway.pending[number])
			number = gateway.number++ % NUMBERS;
	return number;
}

static void send_request(struct request *request, uint8_t device, const char *what)
{
	struct frame frame = {.number = new_number(), .device = device};

	request->device = device;
	request->task = thrum_task_create(THRUM_KIND_REQUEST, what);
	gateway.pending[frame.number] = request;
	if (write(gateway.radio, &frame, sizeof(frame)) != sizeof(frame))
		thrum_task_fail(request->task, "write");
}

static bool handle_frame(void)
{
	struct request *request;
	struct frame frame;
	ssize_t size;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	size = read(gateway.radio, &frame, sizeof(frame));
	thrum_resume();
	if (size != sizeof(frame))
		return false;
	request = gateway.pending[frame.number];
	if (!request || request->device != frame.device) {
		gateway.dropped++;
		thrum_logf("a frame of device %d with the unknown number %d", frame.device,
			frame.number);
		return true;
	}
	gateway.pending[frame.number] = NULL;
	THRUM_RUN (request->task) {
		request->done = true;
		thrum_task_resolve(request->task);
	}
	return true;
}

static void poll_lamps(void)
{
	struct request poll;
	char what[32];

	for (int i = 0; i < POLLS; i++) {
		poll.done = false;
		snprintf(what, sizeof(what), "read lamp %d", i % 3 + 1);
		send_request(&poll, (uint8_t)(i % 3 + 1), what);
		while (!poll.done && handle_frame())
			continue;
	}
}

int main(int argc, char **argv)
{
	struct request interview = {.done = false};
	thrum_task pairing;
	pthread_t radio;
	int ends[2];

	gateway.broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	gateway.radio = ends[0];
	pthread_create(&radio, NULL, run_radio, &ends[1]);

	pairing = thrum_task_create(THRUM_KIND_TASK, "pair thermostat");
	thrum_task_should_resolve(pairing);
	THRUM_RUN (pairing) {
		send_request(&interview, 0, "interview thermostat");
		thrum_task_wait(pairing, interview.task);
	}
	poll_lamps();
	while (!interview.done && handle_frame())
		continue;
	THRUM_RUN (pairing) {
		thrum_task_read(pairing, interview.task);
		thrum_task_resolve(pairing);
	}
	shutdown(gateway.radio, SHUT_WR);
	pthread_join(radio, NULL);
	close(gateway.radio);
	printf("paired, %d frames dropped\n", gateway.dropped);
	return 0;
}
