/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: shardq_rebalance moves jobs to the queue of an idle shard and then signals the condition of the
 *     shard that it took them from; the worker of the other one sleeps on with jobs in its queue, and main
 *     waits for these jobs
 *   culprit: shardq_rebalance|balancer
 *   victim: worker-\d|shardq_next|shardq_drain|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A log indexer: files go to worker threads over a sharded queue, which a balancer evens out. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- shardq, a small library for work queues ---- */

#define SHARDQ_SHARDS 4

struct shardq_item {
	struct shardq_item *next;
	void *data;
};

struct shardq_shard {
	struct shardq_item *first, *last;
	unsigned length;
	pthread_cond_t filled;
};

struct shardq {
	pthread_mutex_t mutex;
	pthread_cond_t drained;
	struct shardq_shard shards[SHARDQ_SHARDS];
	unsigned pending; /* queued or in work */
	bool is_stopped;
};

static void shardq_init(struct shardq *queue)
{
	memset(queue, 0, sizeof(*queue));
	pthread_mutex_init(&queue->mutex, NULL);
	pthread_cond_init(&queue->drained, NULL);
	for (int i = 0; i < SHARDQ_SHARDS; i++)
		pthread_cond_init(&queue->shards[i].filled, NULL);
}

static void shard_append(struct shardq_shard *shard, struct shardq_item *item)
{
	item->next = NULL;
	if (shard->last)
		shard->last->next = item;
	else
		shard->first = item;
	shard->last = item;
	shard->length++;
}

static struct shardq_item *shard_shift(struct shardq_shard *shard)
{
	struct shardq_item *item = shard->first;

	shard->first = item->next;
	if (!shard->first)
		shard->last = NULL;
	shard->length--;
	return item;
}

static void shardq_push(struct shardq *queue, unsigned hash, void *data)
{
	struct shardq_shard *shard = &queue->shards[hash % SHARDQ_SHARDS];
	struct shardq_item *item = malloc(sizeof(*item));

	item->data = data;
	pthread_mutex_lock(&queue->mutex);
	queue->pending++;
	shard_append(shard, item);
	pthread_cond_signal(&shard->filled);
	pthread_mutex_unlock(&queue->mutex);
}

/* Returns the shard's next value; NULL when the queue is stopped. */
static void *shardq_next(struct shardq *queue, unsigned index)
{
	struct shardq_shard *shard = &queue->shards[index];
	struct shardq_item *item;
	void *data = NULL;

	pthread_mutex_lock(&queue->mutex);
	while (!shard->first && !queue->is_stopped)
		pthread_cond_wait(&shard->filled, &queue->mutex);
	if (shard->first) {
		item = shard_shift(shard);
		data = item->data;
		free(item);
	}
	pthread_mutex_unlock(&queue->mutex);
	return data;
}

static void shardq_done(struct shardq *queue)
{
	pthread_mutex_lock(&queue->mutex);
	if (--queue->pending == 0)
		pthread_cond_broadcast(&queue->drained);
	pthread_mutex_unlock(&queue->mutex);
}

static void shardq_drain(struct shardq *queue)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->pending > 0)
		pthread_cond_wait(&queue->drained, &queue->mutex);
	pthread_mutex_unlock(&queue->mutex);
}

static void shardq_stop(struct shardq *queue)
{
	pthread_mutex_lock(&queue->mutex);
	queue->is_stopped = true;
	for (int i = 0; i < SHARDQ_SHARDS; i++)
		pthread_cond_broadcast(&queue->shards[i].filled);
	pthread_mutex_unlock(&queue->mutex);
}

enum shardq_wake {
	SHARDQ_WAKE_DONOR,
	SHARDQ_WAKE_TAKER
};

/* Gives one value of the longest shard to one that has nothing to do. Returns false if it is stopped. */
static bool shardq_rebalance(struct shardq *queue, enum shardq_wake wake)
{
	struct shardq_shard *from = queue->shards, *to = queue->shards;
	bool goes_on;

	pthread_mutex_lock(&queue->mutex);
	for (int i = 1; i < SHARDQ_SHARDS; i++) {
		if (queue->shards[i].length > from->length)
			from = &queue->shards[i];
		if (queue->shards[i].length < to->length)
			to = &queue->shards[i];
	}
	if (to->length == 0 && from->length >= 2) {
		shard_append(to, shard_shift(from));
		pthread_cond_signal(wake == SHARDQ_WAKE_TAKER ? &to->filled : &from->filled);
	}
	goes_on = !queue->is_stopped;
	pthread_mutex_unlock(&queue->mutex);
	return goes_on;
}

/* ---- The indexer ---- */

struct file {
	char name[32];
	unsigned cost_us;
};

static struct shardq queue;
static enum shardq_wake wake;
static unsigned indexed;

static void index_file(const struct file *file)
{
	usleep(file->cost_us);
	__atomic_add_fetch(&indexed, 1, __ATOMIC_RELAXED);
}

static void *worker(void *data)
{
	unsigned shard = (unsigned)(uintptr_t)data;
	struct file *file;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", shard);
	pthread_setname_np(pthread_self(), name);
	while ((file = shardq_next(&queue, shard))) {
		index_file(file);
		free(file);
		shardq_done(&queue);
	}
	return NULL;
}

static void *balancer(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "balancer");
	while (shardq_rebalance(&queue, wake))
		usleep(3000);
	return NULL;
}

static void add_file(const char *folder, int number, unsigned hash, unsigned cost_us)
{
	struct file *file = malloc(sizeof(*file));

	snprintf(file->name, sizeof(file->name), "%s/%d.log", folder, number);
	file->cost_us = cost_us;
	shardq_push(&queue, hash, file);
}

int main(int argc, char **argv)
{
	pthread_t workers[SHARDQ_SHARDS], balancing;

	if (argc != 2)
		return 2;
	wake = strcmp(argv[1], "broken") ? SHARDQ_WAKE_TAKER : SHARDQ_WAKE_DONOR;
	shardq_init(&queue);
	for (uintptr_t i = 0; i < SHARDQ_SHARDS; i++)
		pthread_create(&workers[i], NULL, worker, (void *)i);
	pthread_create(&balancing, NULL, balancer, NULL);

	/* Files of all hosts, then those of a host that writes more than the others. */
	for (int i = 0; i < 40; i++) {
		add_file("hosts", i, (unsigned)i, 500);
		usleep(2000);
	}
	for (int i = 0; i < 24; i++)
		add_file("mailer", i, 0, 8000);
	shardq_drain(&queue);
	shardq_stop(&queue);
	for (int i = 0; i < SHARDQ_SHARDS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(balancing, NULL);
	printf("%u files indexed\n", indexed);
	return 0;
}
