/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A cycle of back-pressure: a big order gives many fills; the risk desk answers each with a hedge order, and blocks when the queue “orders” is full, instead of keeping the hedge for later. The matcher blocks as “fills” is full, and it is the only reader of “orders”. So the gateways hang too.
 *   culprit: risk desk
 *   victim: gateway|matcher
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An exchange: two gateways send orders to the matcher, which sends the fills to the risk desk. The
 * desk hedges some of them, with orders of its own. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CAPACITY 8
#define ORDERS 60 /* of each gateway */

enum type {
	LIMIT,
	BLOCK,
	HEDGE,
	CLOSE,
	END
};

struct message {
	enum type type;
	unsigned quantity;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct message messages[CAPACITY];
	unsigned first, count, readers;
	thrum_task task;
};

static struct queue orders = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static struct queue fills = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static struct message backlog[128];
static unsigned backlog_count, hedged, quotes;
static bool keep_backlog;
static volatile bool closed;

static void pause_us(long microseconds)
{
	struct timespec time = {0, microseconds * 1000};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* The caller holds the mutex. */
static void queue_wait(struct queue *queue)
{
	thrum_task_wait(thrum_task_current(), queue->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&queue->changed, &queue->mutex);
	thrum_resume();
}

/* Puts a message into the queue. If it is full: waits for room, or returns false. */
static bool queue_put(struct queue *queue, struct message message, bool wait)
{
	bool room;

	pthread_mutex_lock(&queue->mutex);
	while (queue->count == CAPACITY && wait)
		queue_wait(queue);
	room = queue->count < CAPACITY;
	if (room) {
		queue->messages[(queue->first + queue->count++) % CAPACITY] = message;
		thrum_task_signal(queue->task, queue->readers);
		pthread_cond_broadcast(&queue->changed);
	}
	pthread_mutex_unlock(&queue->mutex);
	return room;
}

static struct message queue_take(struct queue *queue)
{
	struct message message;

	pthread_mutex_lock(&queue->mutex);
	queue->readers++;
	while (queue->count == 0)
		queue_wait(queue);
	queue->readers--;
	message = queue->messages[queue->first++ % CAPACITY];
	queue->count--;
	thrum_task_read(thrum_task_current(), queue->task);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	return message;
}

static void *run_gateway(void *data)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_FIBER, "gateway %s", (const char *)data);
	bool institutional = !strcmp(data, "institutional");

	thrum_lane_name("gateway");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (unsigned i = 0; i < ORDERS; i++) {
			struct message order = {LIMIT, 1 + i % 3};

			if (institutional && i == 30)
				order = (struct message){BLOCK, 40};
			queue_put(&orders, order, true);
			if (i % 10 == 0)
				pause_us(1000);
		}
		thrum_task_resolve(task);
	}
	return NULL;
}

/* A limit order fills at once; a block is filled in slices. */
static void *run_matcher(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_FIBER, "matcher");
	struct message order;

	thrum_lane_name("matcher");
	THRUM_RUN (task) {
		while ((order = queue_take(&orders)).type != END) {
			if (order.type == LIMIT || order.type == CLOSE)
				queue_put(&fills, order, true);
			if (order.type == BLOCK)
				for (unsigned i = 0; i < order.quantity; i++)
					queue_put(&fills, (struct message){BLOCK, 1}, true);
		}
		thrum_task_resolve(task);
	}
	return NULL;
}

static void send_hedge(struct message hedge)
{
	hedged++;
	if (!keep_backlog) {
		queue_put(&orders, hedge, true);
		return;
	}
	backlog[backlog_count++] = hedge;
	while (backlog_count > 0 && queue_put(&orders, backlog[backlog_count - 1], false))
		backlog_count--;
}

static void *run_risk_desk(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_FIBER, "risk desk");
	struct message fill;

	thrum_lane_name("risk");
	THRUM_RUN (task) {
		while ((fill = queue_take(&fills)).type != CLOSE)
			if (fill.type == BLOCK)
				send_hedge((struct message){HEDGE, fill.quantity});
		while (backlog_count > 0)
			queue_put(&orders, backlog[--backlog_count], true);
		queue_put(&orders, (struct message){END}, true);
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *publish_quotes(void *data)
{
	thrum_lane_name("quotes");
	while (!closed) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "publish quotes");

		THRUM_RUN (task) {
			pause_us(15000);
			quotes++;
			thrum_task_resolve(task);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t gateways[2], matcher, risk, publisher;

	keep_backlog = argc < 2 || strcmp(argv[1], "broken");
	orders.task = thrum_task_create(THRUM_KIND_MAILBOX, "orders");
	fills.task = thrum_task_create(THRUM_KIND_MAILBOX, "fills");
	pthread_create(&publisher, NULL, publish_quotes, NULL);
	pthread_create(&matcher, NULL, run_matcher, NULL);
	pthread_create(&risk, NULL, run_risk_desk, NULL);
	pthread_create(&gateways[0], NULL, run_gateway, "retail");
	pthread_create(&gateways[1], NULL, run_gateway, "institutional");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < 2; i++)
		pthread_join(gateways[i], NULL);
	thrum_resume();
	queue_put(&orders, (struct message){CLOSE}, true);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_join(matcher, NULL);
	pthread_join(risk, NULL);
	closed = true;
	pthread_join(publisher, NULL);
	thrum_resume();
	fprintf(stderr, "%u hedges, %u quotes\n", hedged, quotes);
	return hedged == 40 ? 0 : 1;
}
