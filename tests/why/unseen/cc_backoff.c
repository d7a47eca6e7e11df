/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="publish reading #"
 *   truth: The pause after a busy answer doubles each time and is never set back after a success. So reading 37, which the broker refuses just once, waits 320 ms in the "backoff" timer instead of 10 ms.
 *   culprit: backoff
 *   victim: broker
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "thrum.h"

/* A gateway publishes the readings of a meter to a broker, which is busy now and then. */

#define READINGS 40

struct link {
	int fd;
	unsigned pause_ms; /* before the next try, if the broker is busy */
};

static bool broken;
static int broker_end;

static void *run_broker(void *unused)
{
	/* It merges its files then. */
	static const char busy_at[] = {3, 7, 12, 18, 24, 37};
	char reading, answer;
	bool refused[READINGS] = {false};

	(void)unused;
	thrum_lane_name("broker");
	while (read(broker_end, &reading, 1) == 1) {
		answer = 'y';
		if (memchr(busy_at, reading, sizeof(busy_at)) && !refused[(int)reading]) {
			refused[(int)reading] = true;
			answer = 'b';
		}
		usleep(1000);
		if (write(broker_end, &answer, 1) != 1)
			abort();
	}
	return NULL;
}

/* Returns false if the broker is busy. */
static bool send_reading(struct link *link, char reading)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, "send");
	char answer = 'b';

	thrum_task_wait(thrum_task_current(), request);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (write(link->fd, &reading, 1) != 1 || read(link->fd, &answer, 1) != 1)
		abort();
	thrum_resume();
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
	return answer == 'y';
}

static void back_off(struct link *link)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "backoff");

	thrum_task_due(timer, link->pause_ms * 1000000ll);
	thrum_task_wait(thrum_task_current(), timer);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(link->pause_ms * 1000);
	thrum_resume();
	thrum_task_resolve(timer);
	thrum_task_read(thrum_task_current(), timer);
	link->pause_ms *= 2;
}

static void publish(struct link *link, int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "publish reading %d", number);

	THRUM_RUN (task) {
		while (!send_reading(link, (char)number))
			back_off(link);
		if (!broken)
			link->pause_ms = 10;
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	struct link link = {.pause_ms = 10};
	pthread_t broker;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	link.fd = ends[0];
	broker_end = ends[1];
	pthread_create(&broker, NULL, run_broker, NULL);
	for (int i = 1; i < READINGS; i++)
		publish(&link, i);
	thrum_stop();
	close(link.fd);
	pthread_join(broker, NULL);
	printf("%d readings published\n", READINGS - 1);
	return 0;
}
