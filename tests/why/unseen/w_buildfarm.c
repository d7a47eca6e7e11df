/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: builder-2 crashes once and is started again with a new socket, which the coordinator never adds to its poll set; the answer of the new builder-2 stays unread in it, so "compile codec.c" and the link behind it never end.
 *   culprit: builder-2
 *   victim: link firmware|compile codec
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* buildfarm: a coordinator and three builder processes on socketpairs. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

enum {
	BUILDERS = 3,
	UNITS = 9
};

struct order {
	int unit, key;
	char file[24];
};
struct builder {
	pid_t pid;
	int fd, incarnation, unit;
	thrum_task handle;
};

static const char *const files[UNITS] = {"main.c", "uart.c", "codec.c", "flash.c", "usb.c",
	"gpio.c", "heap.c", "crc.c", "rtc.c"};
static struct builder builders[BUILDERS];
static struct pollfd pollfds[BUILDERS];
static thrum_task requests[UNITS];
static bool built[UNITS];
static int next_unit, remaining = UNITS, keys;

static void builder_main(int fd, int number, int incarnation)
{
	struct order order;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &order, sizeof order) == sizeof order) {
		usleep(12000 + 5000 * (order.unit % 3));
		if (number == 2 && incarnation == 0)
			_exit(1); /* the compiler's host ran out of memory */
		if (write(fd, &order, sizeof order) != sizeof order)
			break;
	}
	_exit(0);
}

static void start_builder(int number)
{
	struct builder *builder = &builders[number];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		exit(1);
	builder->handle = thrum_task_createf(THRUM_KIND_HANDLE, "builder-%d", number);
	fflush(NULL);
	builder->pid = fork();
	if (builder->pid == 0) {
		for (int i = 0; i < BUILDERS; i++)
			if (i != number && builders[i].pid)
				close(builders[i].fd);
		close(pair[0]);
		builder_main(pair[1], number, builder->incarnation);
	}
	close(pair[1]);
	builder->fd = pair[0];
	builder->unit = -1;
}

static void give(struct builder *builder, int unit)
{
	struct order order = {.unit = unit, .key = ++keys};

	snprintf(order.file, sizeof order.file, "%s", files[unit]);
	builder->unit = unit;
	if (!requests[unit]) {
		requests[unit] = thrum_task_createf(THRUM_KIND_REQUEST, "compile %s", files[unit]);
		thrum_task_should_resolve(requests[unit]);
	}
	THRUM_RUN (requests[unit]) {
		thrum_link_send(&order.key, sizeof order.key);
		thrum_task_wait(requests[unit], builder->handle);
		if (write(builder->fd, &order, sizeof order) != sizeof order)
			perror("buildfarm");
	}
}

static void on_builder(int number, bool watch_again)
{
	struct builder *builder = &builders[number];
	struct order order;
	int unit = builder->unit;

	if (read(builder->fd, &order, sizeof order) != sizeof order) {
		fprintf(stderr, "buildfarm: builder-%d died, starting another\n", number);
		thrum_task_fail(builder->handle, "closed");
		waitpid(builder->pid, NULL, 0);
		if (!watch_again) {
			/* keeps the old number from being used again */
			pollfds[number].fd = -1;
			builder->incarnation++;
			start_builder(number);
		} else {
			close(builder->fd);
			builder->incarnation++;
			start_builder(number);
			pollfds[number].fd = builder->fd;
		}
		give(builder, unit);
		return;
	}
	THRUM_RUN (requests[unit]) {
		thrum_link_receive(&order.key, sizeof order.key);
		thrum_task_read(requests[unit], builder->handle);
		thrum_task_resolve(requests[unit]);
	}
	built[unit] = true;
	remaining--;
	builder->unit = -1;
	if (next_unit < UNITS)
		give(builder, next_unit++);
}

int main(int argc, char **argv)
{
	bool watch_again = !(argc > 1 && !strcmp(argv[1], "broken"));
	thrum_task link_task;

	signal(SIGPIPE, SIG_IGN);
	thrum_lane_name("coordinator");
	for (int i = 0; i < BUILDERS; i++) {
		start_builder(i);
		pollfds[i] = (struct pollfd){builders[i].fd, POLLIN, 0};
	}
	for (int i = 0; i < BUILDERS; i++)
		give(&builders[i], next_unit++);
	while (next_unit < UNITS) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(pollfds, BUILDERS, -1);
		thrum_resume();
		for (int i = 0; i < BUILDERS; i++)
			if (pollfds[i].revents)
				on_builder(i, watch_again);
	}
	link_task = thrum_task_create(THRUM_KIND_JOIN, "link firmware");
	thrum_task_should_resolve(link_task);
	for (int i = 0; i < UNITS; i++)
		if (!built[i])
			thrum_task_wait(link_task, requests[i]);
	while (remaining) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(pollfds, BUILDERS, -1);
		thrum_resume();
		for (int i = 0; i < BUILDERS; i++)
			if (pollfds[i].revents)
				on_builder(i, watch_again);
	}
	THRUM_RUN (link_task)
		thrum_task_resolve(link_task);
	thrum_stop();
	for (int i = 0; i < BUILDERS; i++) {
		close(builders[i].fd);
		waitpid(builders[i].pid, NULL, 0);
	}
	puts("firmware.bin");
	return 0;
}
