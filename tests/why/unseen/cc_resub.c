/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: on_connected subscribes the handler again after each reconnect, though the old subscription is still in the list. So each message is pushed to the phone as many times as the gateway has connected.
 *   culprit: push to phone|subscri|on_connected
 *   victim: \bbus\b
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

/* A gateway pushes the messages of a bus to phones. The bus closes connections after some time. */

#define CONNECTIONS 4
#define MESSAGES 12 /* on each connection */

typedef void handler(int number);

static bool broken;
static int pairs[CONNECTIONS][2];
static handler *handlers[16];
static int handler_count, pushed;

static void *run_bus(void *unused)
{
	int number = 0;

	(void)unused;
	thrum_lane_name("bus");
	for (int i = 0; i < CONNECTIONS; i++) {
		for (int j = 0; j < MESSAGES; j++, number++) {
			if (write(pairs[i][1], &number, sizeof(number)) != sizeof(number))
				abort();
			usleep(1000);
		}
		close(pairs[i][1]);
	}
	return NULL;
}

static void push_to_phone(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "push to phone %d", number % 3);

	THRUM_RUN (task) {
		usleep(500);
		pushed++;
		thrum_task_resolve(task);
	}
}

static void subscribe(handler *handler)
{
	if (handler_count < 16)
		handlers[handler_count++] = handler;
}

static void unsubscribe_all(void)
{
	handler_count = 0;
}

static void on_connected(void)
{
	if (!broken)
		unsubscribe_all();
	subscribe(push_to_phone);
}

static void on_message(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "message %d", number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (int i = 0; i < handler_count; i++)
			handlers[i](number);
		thrum_task_resolve(task);
	}
}

/* Returns when the bus has closed the connection. */
static void read_messages(int fd)
{
	int number;
	ssize_t got;

	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		got = read(fd, &number, sizeof(number));
		thrum_resume();
		if (got != sizeof(number))
			return;
		on_message(number);
	}
}

int main(int argc, char **argv)
{
	pthread_t bus;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < CONNECTIONS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			return 1;
	pthread_create(&bus, NULL, run_bus, NULL);
	for (int i = 0; i < CONNECTIONS; i++) {
		on_connected();
		read_messages(pairs[i][0]);
		close(pairs[i][0]);
	}
	pthread_join(bus, NULL);
	printf("%d pushes of %d messages\n", pushed, CONNECTIONS * MESSAGES);
	return 0;
}
