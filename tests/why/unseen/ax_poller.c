/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: arm_timer sets the timerfd to zero when the next sensor is already due, but zero doesn't mean
 *     "now": it disarms the timer; the loop sleeps in epoll_wait for ever, and the worker waits for requests
 *   culprit: arm_timer|schedule
 *   victim: main|run_loop|epoll_wait|worker|bus
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * Polls sensors at their own periods over a bus that a thread serves; the loop has a timerfd and an
 * eventfd.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SENSORS 3
#define READINGS 40

struct sensor {
	const char *name;
	int64_t period_us;
	int64_t due_us;
	int readings;
	int value;
};

struct bus {
	pthread_mutex_t lock;
	pthread_cond_t asked;
	struct sensor *queue[SENSORS];
	int queued;
	struct sensor *answered[SENSORS];
	int answers;
	bool stop;
	int answer_event;
};

struct poller {
	struct sensor sensors[SENSORS];
	struct bus bus;
	int epoll;
	int timer;
	int readings;
	int64_t shortest_us;
	bool finished;
};

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void pause_us(int64_t microseconds)
{
	struct timespec time = {0, (long)microseconds * 1000};

	nanosleep(&time, NULL);
}

static void *bus_main(void *data)
{
	struct bus *bus = data;
	const uint64_t one = 1;

	pthread_mutex_lock(&bus->lock);
	for (;;) {
		struct sensor *sensor;

		while (!bus->queued && !bus->stop)
			pthread_cond_wait(&bus->asked, &bus->lock);
		if (bus->stop)
			break;
		sensor = bus->queue[--bus->queued];
		pthread_mutex_unlock(&bus->lock);
		pause_us(1500);
		pthread_mutex_lock(&bus->lock);
		sensor->value = sensor->value * 3 + 1;
		bus->answered[bus->answers++] = sensor;
		if (write(bus->answer_event, &one, sizeof(one)) != (ssize_t)sizeof(one))
			perror("eventfd");
	}
	pthread_mutex_unlock(&bus->lock);
	return NULL;
}

static void bus_ask(struct bus *bus, struct sensor *sensor)
{
	pthread_mutex_lock(&bus->lock);
	bus->queue[bus->queued++] = sensor;
	pthread_cond_signal(&bus->asked);
	pthread_mutex_unlock(&bus->lock);
}

static void arm_timer(struct poller *poller, int64_t delay_us)
{
	struct itimerspec time = {.it_value = {0, 0}};

	if (delay_us < poller->shortest_us)
		delay_us = poller->shortest_us;
	time.it_value.tv_sec = delay_us / 1000000;
	time.it_value.tv_nsec = delay_us % 1000000 * 1000;
	timerfd_settime(poller->timer, 0, &time, NULL);
}

static void schedule(struct poller *poller)
{
	int64_t due = INT64_MAX;

	for (int i = 0; i < SENSORS; i++)
		if (poller->sensors[i].due_us < due)
			due = poller->sensors[i].due_us;
	if (due != INT64_MAX)
		arm_timer(poller, due - now_us());
}

/* Every sixteenth reading of all is kept in the log, which takes longer than the shortest period. */
static void save_log(struct poller *poller)
{
	if (poller->readings % 16 == 0)
		pause_us(45000);
}

static void on_answers(struct poller *poller)
{
	struct bus *bus = &poller->bus;
	struct sensor *answered[SENSORS];
	uint64_t count;
	int answers;

	if (read(bus->answer_event, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&bus->lock);
	answers = bus->answers;
	memcpy(answered, bus->answered, sizeof(answered));
	bus->answers = 0;
	pthread_mutex_unlock(&bus->lock);
	for (int i = 0; i < answers; i++) {
		struct sensor *sensor = answered[i];

		sensor->readings++;
		poller->readings++;
		sensor->due_us = now_us() + sensor->period_us;
		save_log(poller);
	}
	if (poller->readings >= READINGS)
		poller->finished = true;
	schedule(poller);
}

static void on_timer(struct poller *poller)
{
	uint64_t count;
	int64_t now = now_us();

	if (read(poller->timer, &count, sizeof(count)) < 0)
		return;
	for (int i = 0; i < SENSORS; i++) {
		struct sensor *sensor = &poller->sensors[i];

		if (sensor->due_us <= now) {
			sensor->due_us = INT64_MAX;
			bus_ask(&poller->bus, sensor);
		}
	}
	schedule(poller);
}

static void watch(struct poller *poller, int file)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = file};

	epoll_ctl(poller->epoll, EPOLL_CTL_ADD, file, &event);
}

static void run_loop(struct poller *poller)
{
	while (!poller->finished) {
		struct epoll_event events[4];
		int count = epoll_wait(poller->epoll, events, 4, -1);

		if (count < 0 && errno != EINTR)
			return;
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == poller->timer)
				on_timer(poller);
			else
				on_answers(poller);
		}
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct poller poller = {
		.sensors = {{.name = "door", .period_us = 8000},
			{.name = "lamp", .period_us = 12000}, {.name = "heat", .period_us = 20000}},
		.bus = {.lock = PTHREAD_MUTEX_INITIALIZER, .asked = PTHREAD_COND_INITIALIZER},
	};
	pthread_t worker;

	poller.shortest_us = !strcmp(mode, "broken") ? 0 : 1;
	poller.epoll = epoll_create1(EPOLL_CLOEXEC);
	poller.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	poller.bus.answer_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	watch(&poller, poller.timer);
	watch(&poller, poller.bus.answer_event);
	for (int i = 0; i < SENSORS; i++)
		poller.sensors[i].due_us = now_us() + 1000 * (i + 1);
	if (pthread_create(&worker, NULL, bus_main, &poller.bus))
		return 2;
	pthread_setname_np(worker, "bus");
	schedule(&poller);
	run_loop(&poller);
	pthread_mutex_lock(&poller.bus.lock);
	poller.bus.stop = true;
	pthread_cond_signal(&poller.bus.asked);
	pthread_mutex_unlock(&poller.bus.lock);
	pthread_join(worker, NULL);
	for (int i = 0; i < SENSORS; i++)
		printf("%s: %d readings\n", poller.sensors[i].name, poller.sensors[i].readings);
	return poller.readings >= READINGS ? 0 : 1;
}
