/* SPDX-License-Identifier: ISC */
/* A pipeline: each thread does one step of the work on an item, and hands it to the next thread. With the
 * bug, the second thread drops an item. */
#include "annotate.h"

struct item {
	struct item *next;
	int number;
	thrum_task task;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct item *first, **end;
};

static struct queue to_check, to_write;

THRUM_TAG(disk, NULL, "read the disk", 0);

static void read_disk(void)
{
	thrum_suspend(&disk);
	pause_ms(2);
	thrum_resume();
}

/* The item's task doesn't run here. */
static void queue_put(struct queue *queue, struct item *item)
{
	thrum_task_ready(item->task);
	pthread_mutex_lock(&queue->mutex);
	item->next = NULL;
	*queue->end = item;
	queue->end = &item->next;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

static struct item *queue_take(struct queue *queue)
{
	struct item *item;

	pthread_mutex_lock(&queue->mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!queue->first)
		pthread_cond_wait(&queue->changed, &queue->mutex);
	thrum_resume();
	item = queue->first;
	queue->first = item->next;
	if (!queue->first)
		queue->end = &queue->first;
	pthread_mutex_unlock(&queue->mutex);
	return item;
}

static bool check(struct item *item)
{
	read_disk();
	return !broken || item->number != 4;
}

static void *check_all(void *data)
{
	bool is_good;

	thrum_lane_name("checker");
	for (;;) {
		struct item *item = queue_take(&to_check);

		THRUM_RUN (item->task)
			is_good = check(item);
		if (is_good)
			queue_put(&to_write, item); /* the next thread may end the task */
	}
	return NULL;
}

static void queue_init(struct queue *queue)
{
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->changed, NULL);
	queue->end = &queue->first;
}

int main(int argc, char **argv)
{
	static struct item items[6];

	begin(argc);
	queue_init(&to_check);
	queue_init(&to_write);
	start(check_all, NULL);
	for (int i = 0; i < 6; i++) {
		items[i].number = i + 1;
		items[i].task = thrum_task_createf(THRUM_KIND_TASK, "item %d", i + 1);
		thrum_task_should_resolve(items[i].task);
		queue_put(&to_check, &items[i]);
	}
	for (int i = 0; i < 6; i++) {
		struct item *item = queue_take(&to_write);

		THRUM_RUN (item->task)
			thrum_task_resolve(item->task);
	}
	return 0;
}
