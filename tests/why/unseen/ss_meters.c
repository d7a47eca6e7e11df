/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The end of session north stops the poll timer of south too. It should stop only north's own.
 *   culprit: poll timer of south|end_session|session north
 *   victim: session south|collect
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Reads water meters over lines: one loop, a session and a periodic timer for each meter. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	METERS = 4,
	MS = 1000000
};

struct timer {
	bool armed;
	unsigned owner;
	int64_t due, period;
	thrum_task task;
	void (*fired)(void *data);
	void *data;
};

struct meter {
	const char *name;
	unsigned address;
	int wanted, count, period, line[2]; /* ours, the meter's */
	thrum_task session, handle;
	struct timer *timer;
};
static struct meter meters[METERS] = {
	{.name = "north", .address = 0x12, .wanted = 12, .period = 7},
	{.name = "east", .address = 0x23, .wanted = 60, .period = 5},
	{.name = "south", .address = 0x32, .wanted = 30, .period = 9},
	{.name = "west", .address = 0x41, .wanted = 25, .period = 11},
};
static struct timer timers[METERS + 1];
static int timer_count, sessions, total;
static bool broken;

static int64_t now(void)
{
	struct timespec time;

	return clock_gettime(CLOCK_MONOTONIC, &time),
	       (int64_t)time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void timer_arm(struct timer *timer)
{
	timer->armed = true;
	timer->due = now() + timer->period;
	thrum_task_due(timer->task, timer->period);
}

static struct timer *timer_new(unsigned owner, const char *name, int ms, void (*fired)(void *),
	void *data)
{
	struct timer *timer = &timers[timer_count++];

	*timer = (struct timer){.owner = owner,
		.period = (int64_t)ms * MS,
		.fired = fired,
		.data = data};
	timer->task = thrum_task_createf(THRUM_KIND_TIMER, "poll timer of %s", name);
	timer_arm(timer);
	return timer;
}

/* The old bus had addresses of four bits, and its owners still do. */
static unsigned owner_of(const struct meter *meter)
{
	return broken ? meter->address & 0xf : meter->address;
}

static void timers_stop(unsigned owner)
{
	for (int i = 0; i < timer_count; i++)
		if (timers[i].armed && timers[i].owner == owner) {
			timers[i].armed = false;
			thrum_task_due(timers[i].task, INT64_MAX);
		}
}

static void end_session(struct meter *meter)
{
	timers_stop(owner_of(meter));
	thrum_task_cancel(meter->timer->task);
	thrum_task_resolve(meter->session);
	sessions--;
}

static void poll_meter(void *data)
{
	struct meter *meter = data;

	THRUM_RUN (meter->session) {
		thrum_task_read(meter->session, meter->timer->task);
		thrum_task_wait(meter->session, meter->handle);
		(void)!write(meter->line[0], "?", 1);
	}
}

static void on_reading(struct meter *meter)
{
	uint16_t litres;

	THRUM_RUN (meter->session) {
		if (read(meter->line[0], &litres, sizeof(litres)) != sizeof(litres))
			break;
		thrum_task_read(meter->session, meter->handle);
		total += litres;
		if (++meter->count < meter->wanted)
			thrum_task_wait(meter->session, meter->timer->task);
		else
			end_session(meter);
	}
}

static void keep_modem_awake(void *data)
{
	(*(unsigned *)data)++;
}

/* The meter's side of the line. */
static void *meter_answers(void *data)
{
	struct meter *meter = data;
	uint16_t litres = 17;
	char question;

	while (read(meter->line[1], &question, 1) == 1 &&
		write(meter->line[1], &litres, sizeof(litres)) > 0)
		continue;
	return NULL;
}

static void run_loop(void)
{
	struct pollfd polls[METERS];

	while (sessions) {
		int64_t next = INT64_MAX, time = now();

		for (int i = 0; i < timer_count; i++)
			if (timers[i].armed && timers[i].due <= time) {
				timer_arm(&timers[i]);
				timers[i].fired(timers[i].data);
			}
		for (int i = 0; i < timer_count; i++)
			if (timers[i].armed && timers[i].due < next)
				next = timers[i].due;
		for (int i = 0; i < METERS; i++)
			polls[i] = (struct pollfd){.fd = meters[i].line[0], .events = POLLIN};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polls, METERS, next > time ? (int)((next - time) / MS) + 1 : 0);
		thrum_resume();
		for (int i = 0; i < METERS; i++)
			if (polls[i].revents & POLLIN)
				on_reading(&meters[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned kicks = 0;
	pthread_t thread;
	thrum_task collect;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	(void)!thrum_start(NULL);
	collect = thrum_task_create(THRUM_KIND_JOIN, "collect");
	thrum_task_should_resolve(collect);
	for (struct meter *meter = meters; meter < meters + METERS; meter++, sessions++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, meter->line))
			return 1;
		meter->handle = thrum_task_createf(THRUM_KIND_HANDLE, "line to %s", meter->name);
		meter->session = thrum_task_createf(THRUM_KIND_TASK, "session %s", meter->name);
		thrum_task_wait(collect, meter->session);
		meter->timer = timer_new(owner_of(meter), meter->name, meter->period, poll_meter,
			meter);
		thrum_task_wait(meter->session, meter->timer->task);
		if (pthread_create(&thread, NULL, meter_answers, meter))
			return 1;
	}
	timer_new(0x100, "modem", 15, keep_modem_awake, &kicks);
	run_loop();
	thrum_task_resolve(collect);
	thrum_stop();
	printf("%d litres, the modem was kicked %u times\n", total, kicks);
	return 0;
}
