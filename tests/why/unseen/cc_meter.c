/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: A meter is polled by a timer that on_reply starts again after each answer. When an answer has a wrong
 *     checksum, on_reply returns before that, so this meter (of the heating) is never polled again. The bill waits
 *     for its next reading (wait_reading) for ever; the other meters go on.
 *   culprit: on_reply|poll_meter
 *   victim: wait_reading|bill
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A collector on libevent polls the meters of a house over a bus, and a thread makes the bills. */
#include <event2/event.h>
#include <event2/util.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define METERS 3
#define ROUNDS 12

struct meter {
	const char *name;
	int fd;     /* the collector's end */
	int device; /* the meter's end */
	struct event *due;
	struct event *reply;
	pthread_mutex_t mutex;
	pthread_cond_t fresh;
	int readings;
	int value;
};

struct frame {
	int value;
	int checksum;
};

static struct meter meters[METERS] = {{.name = "water"}, {.name = "heating"}, {.name = "power"}};
static struct event_base *base;
static struct event *quit_check;
static bool always;
static atomic_bool stopping;
static const struct timeval pause_time = {0, 20000};

static void poll_meter(evutil_socket_t fd, short what, void *data)
{
	struct meter *meter = data;

	(void)fd;
	(void)what;
	if (write(meter->fd, "?", 1) != 1)
		event_base_loopbreak(base);
}

static void on_reply(evutil_socket_t fd, short what, void *data)
{
	struct meter *meter = data;
	struct frame frame;

	(void)what;
	if (read(fd, &frame, sizeof(frame)) != sizeof(frame))
		return;
	if (frame.checksum != ~frame.value) {
		fprintf(stderr, "%s: line noise\n", meter->name);
		if (always)
			event_add(meter->due, &pause_time);
		return;
	}
	pthread_mutex_lock(&meter->mutex);
	meter->value = frame.value;
	meter->readings++;
	pthread_cond_signal(&meter->fresh);
	pthread_mutex_unlock(&meter->mutex);
	event_add(meter->due, &pause_time);
}

static void check_quit(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	if (atomic_load(&stopping))
		event_base_loopbreak(base);
}

static void *run_collector(void *data)
{
	static const struct timeval often = {0, 100000};

	pthread_setname_np(pthread_self(), "collector");
	base = event_base_new();
	for (int i = 0; i < METERS; i++) {
		struct meter *meter = &meters[i];

		meter->due = evtimer_new(base, poll_meter, meter);
		meter->reply = event_new(base, meter->fd, EV_READ | EV_PERSIST, on_reply, meter);
		event_add(meter->reply, NULL);
		event_add(meter->due, &pause_time);
	}
	quit_check = event_new(base, -1, EV_PERSIST, check_quit, NULL);
	event_add(quit_check, &often);
	event_base_dispatch(base);
	event_free(quit_check);
	for (int i = 0; i < METERS; i++) {
		event_free(meters[i].due);
		event_free(meters[i].reply);
		close(meters[i].fd);
	}
	event_base_free(base);
	return data;
}

/* The device: answers each question with its value. */
static void *run_device(void *data)
{
	struct meter *meter = data;
	struct frame frame;
	char question;
	int asked = 0;

	pthread_setname_np(pthread_self(), meter->name);
	while (read(meter->device, &question, 1) == 1) {
		asked++;
		frame.value = asked * 10;
		frame.checksum = ~frame.value;
		if (meter == &meters[1] && asked == 8)
			frame.checksum ^= 4;
		if (write(meter->device, &frame, sizeof(frame)) < 0)
			break;
	}
	close(meter->device);
	return NULL;
}

/* Returns the meter's value when it has been read so many times. */
static int wait_reading(struct meter *meter, int readings)
{
	int value;

	pthread_mutex_lock(&meter->mutex);
	while (meter->readings < readings)
		pthread_cond_wait(&meter->fresh, &meter->mutex);
	value = meter->value;
	pthread_mutex_unlock(&meter->mutex);
	return value;
}

static void *make_bills(void *data)
{
	int sum;

	pthread_setname_np(pthread_self(), "bill");
	for (int round = 1; round <= ROUNDS; round++) {
		sum = 0;
		for (int i = 0; i < METERS; i++)
			sum += wait_reading(&meters[i], round);
		printf("bill %d: %d\n", round, sum);
		fflush(stdout);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t collector, bill, devices[METERS];
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	always = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < METERS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		meters[i].fd = ends[0];
		meters[i].device = ends[1];
		pthread_mutex_init(&meters[i].mutex, NULL);
		pthread_cond_init(&meters[i].fresh, NULL);
		pthread_create(&devices[i], NULL, run_device, &meters[i]);
	}
	pthread_create(&collector, NULL, run_collector, NULL);
	pthread_create(&bill, NULL, make_bills, NULL);
	pthread_join(bill, NULL);
	atomic_store(&stopping, true);
	pthread_join(collector, NULL);
	for (int i = 0; i < METERS; i++)
		pthread_join(devices[i], NULL);
	return 0;
}
