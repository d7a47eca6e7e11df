/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Each reply of a gauge arms the timer for the next question. When a gauge says that it is busy, on_reply
 *     returns before it arms the timer again, so the gauge "harbour" is never asked again. The forecaster waits for a fresh
 *     level of that gauge.
 *   culprit: on_reply|ask_timer|ask_gauge
 *   victim: forecast
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A tide station: it asks three gauges for their levels in turn, and makes a forecast of each round. */
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	GAUGES = 3,
	ROUNDS = 12,
	BUSY_AT = 6
};

struct gauge {
	const char *name;
	int near_end;
	int far_end;
	struct event *reply;
	struct event *ask_timer;
	unsigned asked; /* of the device */
	pthread_mutex_t mutex;
	pthread_cond_t fresh;
	unsigned samples;
	int level;
};

static struct gauge gauges[GAUGES] = {
	{.name = "pier"},
	{.name = "harbour"},
	{.name = "lock"},
};
static struct event_base *base;
static bool ask_again;
static const struct timeval interval = {0, 20000};
static struct event *finish;
static int done[2];

static void ask_gauge(evutil_socket_t fd, short what, void *data)
{
	struct gauge *gauge = data;

	(void)fd;
	(void)what;
	if (write(gauge->near_end, "?", 1) != 1)
		fprintf(stderr, "%s is gone\n", gauge->name);
}

static void on_reply(evutil_socket_t fd, short what, void *data)
{
	struct gauge *gauge = data;
	char reply[2];

	(void)what;
	if (read(fd, reply, sizeof reply) != (ssize_t)sizeof reply)
		return;
	if (reply[0] == 'B') { /* the float is being calibrated */
		if (ask_again)
			event_add(gauge->ask_timer, &interval);
		return;
	}
	pthread_mutex_lock(&gauge->mutex);
	gauge->level = reply[1];
	gauge->samples++;
	pthread_cond_signal(&gauge->fresh);
	pthread_mutex_unlock(&gauge->mutex);
	event_add(gauge->ask_timer, &interval);
}

/* The devices at the other ends of the lines. */
static void *run_devices(void *data)
{
	struct pollfd lines[GAUGES];
	char question;
	char reply[2];

	(void)data;
	pthread_setname_np(pthread_self(), "devices");
	for (int i = 0; i < GAUGES; i++)
		lines[i] = (struct pollfd){.fd = gauges[i].far_end, .events = POLLIN};
	for (;;) {
		poll(lines, GAUGES, -1);
		for (int i = 0; i < GAUGES; i++) {
			if (!lines[i].revents)
				continue;
			if (read(lines[i].fd, &question, 1) != 1 || question == 'x')
				return NULL;
			gauges[i].asked++;
			reply[0] = i == 1 && gauges[i].asked == BUSY_AT ? 'B' : 'L';
			reply[1] = (char)(40 + i * 10 + gauges[i].asked % 7);
			if (write(lines[i].fd, reply, sizeof reply) != (ssize_t)sizeof reply)
				return NULL;
		}
	}
}

static int level_of(struct gauge *gauge, unsigned round)
{
	int level;

	pthread_mutex_lock(&gauge->mutex);
	while (gauge->samples < round)
		pthread_cond_wait(&gauge->fresh, &gauge->mutex);
	level = gauge->level;
	pthread_mutex_unlock(&gauge->mutex);
	return level;
}

static void *forecast(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "forecast");
	for (unsigned round = 1; round <= ROUNDS; round++) {
		int sum = 0;

		for (int i = 0; i < GAUGES; i++)
			sum += level_of(&gauges[i], round);
		printf("forecast %u: %d cm\n", round, sum / GAUGES);
	}
	close(done[1]);
	return NULL;
}

static void on_finish(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	event_base_loopbreak(base);
}

int main(int argc, char **argv)
{
	pthread_t devices;
	pthread_t forecaster;
	int ends[2];

	ask_again = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	base = event_base_new();
	for (int i = 0; i < GAUGES; i++) {
		struct gauge *gauge = &gauges[i];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		gauge->near_end = ends[0];
		gauge->far_end = ends[1];
		pthread_mutex_init(&gauge->mutex, NULL);
		pthread_cond_init(&gauge->fresh, NULL);
		gauge->reply = event_new(base, ends[0], EV_READ | EV_PERSIST, on_reply, gauge);
		gauge->ask_timer = event_new(base, -1, 0, ask_gauge, gauge);
		event_add(gauge->reply, NULL);
		event_add(gauge->ask_timer, &interval);
	}
	if (pipe(done))
		return 1;
	finish = event_new(base, done[0], EV_READ, on_finish, NULL);
	event_add(finish, NULL);
	pthread_create(&devices, NULL, run_devices, NULL);
	pthread_create(&forecaster, NULL, forecast, NULL);
	event_base_dispatch(base);
	pthread_join(forecaster, NULL);
	if (write(gauges[0].near_end, "x", 1) == 1)
		pthread_join(devices, NULL);
	return 0;
}
