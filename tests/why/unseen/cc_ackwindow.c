/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The consumer refuses refunds, which it doesn't know, and returns without an acknowledgement. Each refund keeps its place of the "prefetch window"; after four of them the broker can't deliver the next order.
 *   culprit: refund|consume_message
 *   victim: order|broker
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thrum.h"

/* A broker delivers messages to a consumer, of which at most WINDOW are without acknowledgement. */

#define WINDOW 4
#define MESSAGES 40

struct message {
	int number;
	bool is_refund;
	thrum_task task;
};

static bool broken;
static sem_t window;
static thrum_task window_task;
static struct message messages[MESSAGES];
static int queue[2];
static int done, refused;

static void window_take(void)
{
	if (sem_trywait(&window)) {
		thrum_task_wait(thrum_task_current(), window_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&window))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(window_task);
}

static void acknowledge(void)
{
	thrum_lock_released(window_task);
	sem_post(&window);
}

static void *run_broker(void *unused)
{
	(void)unused;
	thrum_lane_name("broker");
	for (int i = 0; i < MESSAGES; i++) {
		struct message *message = &messages[i];

		message->number = i;
		message->is_refund = i % 7 == 6;
		message->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d",
			message->is_refund ? "refund" : "order", i);
		thrum_task_should_resolve(message->task);
		THRUM_RUN (message->task)
			window_take();
		if (write(queue[1], &message, sizeof(message)) != sizeof(message))
			abort();
	}
	close(queue[1]);
	return NULL;
}

/* Runs as the message's task. */
static void consume_message(struct message *message)
{
	if (message->is_refund) {
		refused++;
		if (!broken)
			acknowledge();
		thrum_task_resolve(message->task);
		return;
	}
	usleep(1000);
	done++;
	acknowledge();
	thrum_task_resolve(message->task);
}

static void *run_consumer(void *unused)
{
	struct message *message;
	ssize_t got;

	(void)unused;
	thrum_lane_name("consumer");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		got = read(queue[0], &message, sizeof(message));
		thrum_resume();
		if (got != sizeof(message))
			return NULL;
		THRUM_RUN (message->task)
			consume_message(message);
	}
}

int main(int argc, char **argv)
{
	pthread_t broker, consumer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(queue))
		return 1;
	sem_init(&window, 0, WINDOW);
	window_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "prefetch window");
	pthread_create(&broker, NULL, run_broker, NULL);
	pthread_create(&consumer, NULL, run_consumer, NULL);
	pthread_join(broker, NULL);
	pthread_join(consumer, NULL);
	printf("%d done, %d refused\n", done, refused);
	return 0;
}
