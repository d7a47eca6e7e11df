/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The poll loop, run_loop, fires timers only when poll times out; the chatty telemetry socket has data every
 *     3 ms, so poll never times out, the timer "flush batch" never fires though it is long due, and "commit batch"
 *     waits for ever. The telemetry traffic (with that loop) is the culprit, timer and commit are the victims.
 *   culprit: telemetry|run_loop|\bloop (never|doesn't|didn't|ran|runs|woke|wakes|is busy)
 *   victim: commit batch|flush batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A metrics collector: points come in on a socket, a timer writes them out in batches. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 4

static atomic_bool stop;
static bool quiet_only;
static int sensor_end, batches;
static unsigned points;
static int64_t flush_due;
static thrum_task telemetry, flush_timer, commit;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *sensor(void *unused)
{
	while (!stop) {
		if (write(sensor_end, "temp 21.5\n", 10) != 10)
			break;
		usleep(3000);
	}
	return unused;
}

static void arm_flush(void)
{
	flush_due = now() + 60000000;
	flush_timer = thrum_task_create(THRUM_KIND_TIMER, "flush batch");
	thrum_task_due(flush_timer, 60000000);
	commit = thrum_task_create(THRUM_KIND_TASK, "commit batch");
	thrum_task_should_resolve(commit);
	thrum_task_wait(commit, flush_timer);
}

static void run_timers(void)
{
	if (!flush_due || now() < flush_due)
		return;
	flush_due = 0;
	thrum_task_resolve(flush_timer);
	THRUM_RUN (commit) {
		thrum_task_read(commit, flush_timer);
		points = 0;
		batches++;
		thrum_task_resolve(commit);
	}
	if (batches < BATCHES)
		arm_flush();
}

static void on_points(int fd)
{
	char line[256];

	THRUM_RUN (telemetry) {
		ssize_t size = read(fd, line, sizeof(line));

		for (ssize_t i = 0; i < size; i++)
			points += line[i] == '\n';
	}
}

static void run_loop(struct pollfd *fds)
{
	int ready;

	while (batches < BATCHES) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		ready = poll(fds, 2, 15);
		thrum_resume();
		if (ready == 0 || !quiet_only)
			run_timers();
		if (ready > 0 && fds[0].revents & POLLIN)
			on_points(fds[0].fd);
	}
}

int main(int argc, char **argv)
{
	int input[2], admin[2];
	struct pollfd fds[2];
	pthread_t thread;

	quiet_only = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, input) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, admin))
		return 1;
	telemetry = thrum_task_create(THRUM_KIND_HANDLE, "telemetry");
	(void)thrum_task_create(THRUM_KIND_HANDLE, "admin socket");
	sensor_end = input[1];
	fds[0] = (struct pollfd){.fd = input[0], .events = POLLIN};
	fds[1] = (struct pollfd){.fd = admin[0], .events = POLLIN};
	pthread_create(&thread, NULL, sensor, NULL);
	arm_flush();
	run_loop(fds);
	thrum_stop();
	stop = true;
	pthread_join(thread, NULL);
	printf("%d batches\n", batches);
	return 0;
}
