/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 700
 *   ask: why
 *   truth: the rebalancer stopped "queue billing", and its consumer "consumer billing" ended; route() still puts later messages into the stopped queue, where nobody takes them. "flush confirms" of the producer waits for their confirmation for ever.
 *   culprit: (consumer|queue) billing
 *   victim: flush confirms|producer|deliver billing
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* hopbroker: routes messages to queues, each with a consumer, and confirms them to the producer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	ORDERS,
	BILLING,
	MAIL,
	QUEUES
};
struct message {
	int number;
	thrum_task deliver;
	struct message *next;
};
static struct queue {
	const char *topic;
	struct message *first, **end;
	bool stopped;
	int readers;
	pthread_cond_t changed;
	pthread_t consumer;
	thrum_task task;
} queues[QUEUES] = {{.topic = "orders"}, {.topic = "billing"}, {.topic = "mail"}};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t confirmed = PTHREAD_COND_INITIALIZER;
static int unconfirmed;

static void *consume(void *data)
{
	struct queue *queue = data;
	struct message *message;
	char name[40];

	snprintf(name, sizeof(name), "consumer %s", queue->topic);
	thrum_lane_name(name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		queue->readers++;
		while (!queue->first && !queue->stopped) {
			thrum_task_wait(thrum_task_current(), queue->task);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&queue->changed, &mutex);
			thrum_resume();
		}
		queue->readers--;
		if (!queue->first)
			break;
		message = queue->first;
		queue->first = message->next;
		if (!queue->first)
			queue->end = &queue->first;
		thrum_task_read(thrum_task_current(), queue->task);
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (message->deliver) {
			usleep(6000);
			pthread_mutex_lock(&mutex);
			thrum_task_resolve(message->deliver);
		}
		unconfirmed--;
		pthread_cond_signal(&confirmed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void start_queue(struct queue *queue)
{
	queue->stopped = false;
	pthread_create(&queue->consumer, NULL, consume, queue);
}

static void stop_queue(struct queue *queue)
{
	pthread_mutex_lock(&mutex);
	queue->stopped = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_join(queue->consumer, NULL);
	thrum_resume();
}

/* Puts a message into a queue. Doesn't ask whether the queue is stopped. */
static void route(struct queue *queue, struct message *message)
{
	message->deliver = thrum_task_createf(THRUM_KIND_TASK, "deliver %s #%d", queue->topic,
		message->number);
	thrum_task_should_resolve(message->deliver);
	pthread_mutex_lock(&mutex);
	unconfirmed++;
	thrum_task_wait(message->deliver, queue->task);
	*queue->end = message;
	queue->end = &message->next;
	thrum_task_signal(queue->task, queue->readers);
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	static struct message messages[24];
	thrum_task producer, flush;

	for (int i = 0; i < QUEUES; i++) {
		char name[40];

		snprintf(name, sizeof(name), "queue %s", queues[i].topic);
		queues[i].task = thrum_task_create(THRUM_KIND_MAILBOX, name);
		queues[i].end = &queues[i].first;
		pthread_cond_init(&queues[i].changed, NULL);
		start_queue(&queues[i]);
	}
	producer = thrum_task_create(THRUM_KIND_TASK, "producer");
	thrum_task_should_resolve(producer);
	for (int i = 0; i < 24; i++) {
		if (i == 12) { /* the rebalancer moves the queue to another consumer */
			stop_queue(&queues[BILLING]);
			if (!broken)
				start_queue(&queues[BILLING]);
		}
		messages[i].number = i;
		THRUM_RUN (producer)
			route(&queues[i % QUEUES], &messages[i]);
		usleep(4000);
	}
	thrum_task_switch(producer);
	flush = thrum_task_create(THRUM_KIND_JOIN, "flush confirms");
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 24; i++)
		thrum_task_wait(flush, messages[i].deliver);
	thrum_task_wait(producer, flush);
	while (unconfirmed) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&confirmed, &mutex);
		thrum_resume();
	}
	pthread_mutex_unlock(&mutex);
	thrum_task_resolve(flush);
	thrum_task_read(producer, flush);
	thrum_task_resolve(producer);
	thrum_task_switch(THRUM_TASK_NONE);
	for (int i = 0; i < QUEUES; i++)
		stop_queue(&queues[i]);
	puts("all confirmed");
	return 0;
}
