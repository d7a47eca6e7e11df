/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1600
 *   ask: why
 *   truth: timer_cancel disarms the timerfd if the timer is the next one, but doesn't arm it for the timer behind it.
 *     The answers of meters 1 and 2 come, the telegram to meter 3 is lost, and its timer "repeat meter 3" never
 *     fires, though it is long overdue.
 *   culprit: repeat meter 3|timer_cancel
 *   victim: “read meter 3|round
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Reads meters over a bus that loses telegrams: a loop of its own with epoll, and timers on one timerfd. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <thrum.h>

#define METERS 3
#define PATIENCE (INT64_C(300) * 1000000)

struct timer {
	struct timer *next;
	int64_t due;
	void (*fire)(void *data);
	void *data;
	thrum_task task;
};

struct meter {
	int number, tries;
	bool done;
	struct timer timer;
	thrum_task request, answer;
};

static bool broken;
static int clock_fd, bus[2];
static struct timer *timers; /* the next one first */
static struct meter meters[METERS];
static thrum_task bus_handle;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void arm(int64_t due)
{
	struct itimerspec spec = {.it_value = {due / 1000000000, due % 1000000000}};

	timerfd_settime(clock_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void timer_add(struct timer *timer, const char *label, int64_t ns)
{
	struct timer **link = &timers;

	timer->due = now() + ns;
	timer->task = thrum_task_create(THRUM_KIND_TIMER, label);
	thrum_task_due(timer->task, ns);
	while (*link && (*link)->due <= timer->due)
		link = &(*link)->next;
	timer->next = *link;
	*link = timer;
	if (timers == timer)
		arm(timer->due);
}

static void timer_cancel(struct timer *timer)
{
	struct timer **link = &timers;
	bool was_next = timers == timer;

	while (*link && *link != timer)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = timer->next;
	thrum_task_cancel(timer->task);
	if (was_next)
		arm(!broken && timers ? timers->due : 0);
}

static void timers_run(void)
{
	uint64_t count;

	if (read(clock_fd, &count, sizeof(count)) != sizeof(count))
		return;
	while (timers && timers->due <= now()) {
		struct timer *timer = timers;

		timers = timer->next;
		THRUM_RUN (timer->task) {
			thrum_task_resolve(timer->task);
			timer->fire(timer->data);
		}
	}
	if (timers)
		arm(timers->due);
}

static void meter_repeat(void *data);

static void meter_send(struct meter *meter)
{
	char label[32];
	unsigned char telegram[2] = {(unsigned char)meter->number, (unsigned char)meter->tries++};

	snprintf(label, sizeof(label), "repeat meter %d", meter->number);
	meter->timer.fire = meter_repeat;
	meter->timer.data = meter;
	timer_add(&meter->timer, label, PATIENCE);
	meter->answer = thrum_task_create(THRUM_KIND_CHOOSE, "answer or patience");
	thrum_task_wait(meter->answer, bus_handle);
	thrum_task_wait(meter->answer, meter->timer.task);
	thrum_task_wait(meter->request, meter->answer);
	if (write(bus[0], telegram, 2) != 2)
		thrum_task_fail(meter->request, "write");
}

static void meter_repeat(void *data)
{
	struct meter *meter = data;

	thrum_task_resolve(meter->answer);
	THRUM_RUN (meter->request)
		meter_send(meter);
}

static void meter_begin(struct meter *meter, int number)
{
	meter->number = number;
	meter->request = thrum_task_createf(THRUM_KIND_REQUEST, "read meter %d", number);
	thrum_task_should_resolve(meter->request);
	THRUM_RUN (meter->request)
		meter_send(meter);
}

static void on_telegram(void)
{
	unsigned char telegram[2];
	struct meter *meter;

	if (read(bus[0], telegram, 2) != 2)
		return;
	meter = &meters[telegram[0] - 1];
	if (meter->done)
		return;
	THRUM_RUN (meter->request) {
		timer_cancel(&meter->timer);
		thrum_task_read(meter->answer, bus_handle);
		thrum_task_resolve(meter->answer);
		meter->done = true;
		thrum_task_resolve(meter->request);
	}
}

/* The meters at the other end of the bus. The third one doesn't hear the first telegram. */
static void *meters_thread(void *data)
{
	unsigned char telegram[2];

	(void)data;
	thrum_lane_name("bus");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (read(bus[1], telegram, 2) != 2)
			return NULL;
		thrum_resume();
		if (telegram[0] == 3 && telegram[1] == 0)
			continue;
		if (write(bus[1], telegram, 2) != 2)
			return NULL;
	}
}

static bool all_read(void)
{
	for (int i = 0; i < METERS; i++)
		if (!meters[i].done)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	thrum_task round_task;
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	clock_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (epoll < 0 || clock_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bus))
		return 1;
	bus_handle = thrum_task_create(THRUM_KIND_HANDLE, "bus");
	event.data.fd = clock_fd;
	epoll_ctl(epoll, EPOLL_CTL_ADD, clock_fd, &event);
	event.data.fd = bus[0];
	epoll_ctl(epoll, EPOLL_CTL_ADD, bus[0], &event);
	round_task = thrum_task_create(THRUM_KIND_JOIN, "round of readings");
	thrum_task_should_resolve(round_task);
	for (int i = 0; i < METERS; i++) {
		meter_begin(&meters[i], i + 1);
		thrum_task_wait(round_task, meters[i].request);
	}
	pthread_create(&thread, NULL, meters_thread, NULL);
	while (!all_read()) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		epoll_wait(epoll, &event, 1, -1);
		thrum_resume();
		if (event.data.fd == clock_fd)
			timers_run();
		else
			on_telegram();
	}
	thrum_task_resolve(round_task);
	thrum_stop();
	printf("read %d meters\n", METERS);
	return 0;
}
