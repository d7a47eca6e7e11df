/* SPDX-License-Identifier: ISC */
/* A queue between threads, which holds at most four letters. With the bug, its only reader returns
 * early. */
#include "annotate.h"

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int letters[4];
	unsigned first, count, readers; /* readers: those who wait */
	thrum_task task;                /* thrum_task_create(THRUM_KIND_MAILBOX, "orders") */
};

/* The caller holds the mutex, and has found the queue full or empty. */
static void queue_wait(struct queue *queue)
{
	thrum_task_wait(thrum_task_current(), queue->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&queue->changed, &queue->mutex);
	thrum_resume();
}

static void queue_put(struct queue *queue, int letter)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count == 4)
		queue_wait(queue);
	queue->letters[(queue->first + queue->count++) % 4] = letter;
	thrum_task_signal(queue->task, queue->readers);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

static int queue_take(struct queue *queue)
{
	int letter;

	pthread_mutex_lock(&queue->mutex);
	queue->readers++;
	while (queue->count == 0)
		queue_wait(queue);
	queue->readers--;
	letter = queue->letters[queue->first++ % 4];
	queue->count--;
	thrum_task_read(thrum_task_current(), queue->task);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	return letter;
}

static struct queue orders = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};

static void *cook(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_FIBER, "cook");

	THRUM_RUN (task) {
		while (queue_take(&orders) != (broken ? 7 : 20))
			pause_ms(1);
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *serve(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_FIBER, "waitress");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (int i = 1; i <= 20; i++)
			queue_put(&orders, i);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	begin(argc);
	orders.task = thrum_task_create(THRUM_KIND_MAILBOX, "orders");
	threads[0] = start(cook, NULL);
	threads[1] = start(serve, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
