/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: await_reply of the thread "poll-2" waits with a deadline of CLOCK_REALTIME on a condition whose
 *     clock is CLOCK_MONOTONIC; when a reply is lost the time limit of 150 ms is never over, and it asks no
 *     second time
 *   culprit: await_reply|poll-2
 *   victim: main|sum_up
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Reads the meters of a house over a bus: a thread for each meter asks, and one takes the replies from the bus. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define METERS 3
#define ROUNDS 5
#define LIMIT_MS 150
#define TRIES 3

struct frame {
	unsigned meter, round, value;
};

struct meter {
	unsigned number, round, value;
	bool has_value;
	unsigned total, retries;
	pthread_mutex_t mutex;
	pthread_cond_t replied;
	pthread_t thread;
};

static struct meter meters[METERS];
static int bus[2]; /* our end, the meters' end */
static bool noisy;

/* ---- The bus: stands for the wire and the meters at it ---- */

static void *run_wire(void *data)
{
	unsigned lost = 0;
	struct frame frame;

	(void)data;
	pthread_setname_np(pthread_self(), "wire");
	while (recv(bus[1], &frame, sizeof(frame), 0) == (ssize_t)sizeof(frame)) {
		usleep(8000);
		if (noisy && frame.meter == 2 && frame.round == 3 && !lost++)
			continue; /* somebody uses the drill */
		frame.value = 100 * frame.meter + frame.round;
		if (send(bus[1], &frame, sizeof(frame), MSG_NOSIGNAL) < 0)
			break;
	}
	return NULL;
}

/* ---- Replies ---- */

__attribute__((noinline)) void deliver_reply(const struct frame *frame)
{
	struct meter *meter = &meters[frame->meter - 1];

	pthread_mutex_lock(&meter->mutex);
	if (frame->round == meter->round) {
		meter->value = frame->value;
		meter->has_value = true;
		pthread_cond_signal(&meter->replied);
	}
	pthread_mutex_unlock(&meter->mutex);
}

__attribute__((noinline)) void *read_bus(void *data)
{
	struct frame frame;

	(void)data;
	pthread_setname_np(pthread_self(), "bus-reader");
	while (recv(bus[0], &frame, sizeof(frame), 0) == (ssize_t)sizeof(frame))
		if (frame.meter >= 1 && frame.meter <= METERS)
			deliver_reply(&frame);
	return NULL;
}

/* ---- Questions ---- */

static void deadline_in(struct timespec *deadline, unsigned ms)
{
	clock_gettime(CLOCK_REALTIME, deadline);
	deadline->tv_nsec += (long)ms * 1000000;
	deadline->tv_sec += deadline->tv_nsec / 1000000000;
	deadline->tv_nsec %= 1000000000;
}

__attribute__((noinline)) void send_question(struct meter *meter)
{
	struct frame frame = {meter->number, meter->round, 0};

	if (send(bus[0], &frame, sizeof(frame), MSG_NOSIGNAL) < 0)
		perror("bus");
}

/* Returns whether a reply has come in time. */
__attribute__((noinline)) bool await_reply(struct meter *meter)
{
	struct timespec deadline;
	int error = 0;
	bool came;

	deadline_in(&deadline, LIMIT_MS);
	pthread_mutex_lock(&meter->mutex);
	while (!meter->has_value && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&meter->replied, &meter->mutex, &deadline);
	came = meter->has_value;
	if (came)
		meter->total += meter->value;
	pthread_mutex_unlock(&meter->mutex);
	return came;
}

__attribute__((noinline)) void *poll_meter(void *data)
{
	struct meter *meter = data;
	char name[16];

	snprintf(name, sizeof(name), "poll-%u", meter->number);
	pthread_setname_np(pthread_self(), name);
	for (unsigned round = 1; round <= ROUNDS; round++) {
		pthread_mutex_lock(&meter->mutex);
		meter->round = round;
		meter->has_value = false;
		pthread_mutex_unlock(&meter->mutex);
		for (unsigned try = 0; try < TRIES; try++) {
			send_question(meter);
			if (await_reply(meter))
				break;
			meter->retries++;
		}
		usleep(15000);
	}
	return NULL;
}

static void meter_init(struct meter *meter, unsigned number)
{
	pthread_condattr_t attributes;

	meter->number = number;
	pthread_mutex_init(&meter->mutex, NULL);
	/* The clock is set by radio now and then: don't be led astray by that. */
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&meter->replied, &attributes);
	pthread_condattr_destroy(&attributes);
}

__attribute__((noinline)) void sum_up(void)
{
	for (unsigned i = 0; i < METERS; i++) {
		pthread_join(meters[i].thread, NULL);
		printf("meter %u: %u, asked again %u times\n", i + 1, meters[i].total,
			meters[i].retries);
	}
}

int main(int argc, char **argv)
{
	pthread_t wire, reader;

	noisy = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bus))
		return 1;
	for (unsigned i = 0; i < METERS; i++)
		meter_init(&meters[i], i + 1);
	if (pthread_create(&wire, NULL, run_wire, NULL) ||
		pthread_create(&reader, NULL, read_bus, NULL))
		return 1;
	for (unsigned i = 0; i < METERS; i++)
		if (pthread_create(&meters[i].thread, NULL, poll_meter, &meters[i]))
			return 1;
	sum_up();
	shutdown(bus[0], SHUT_RDWR);
	pthread_join(reader, NULL);
	pthread_join(wire, NULL);
	return 0;
}
