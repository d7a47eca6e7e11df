/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=request #
 *   truth: shard_by_low_bits takes the two lowest bits of the tenant's id, but ids are given out in steps of
 *     8; so all requests queue for the thread "shard 0", which is busy with other requests, while shards 1
 *     to 3 are idle
 *   culprit: shard 0|shard_by_low_bits
 *   victim: request \d+|request #|read block
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A store for many tenants: each belongs to a shard, and each shard has a thread, a queue and a cache. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define SHARDS 4
#define TENANTS 24
#define REQUESTS 140
#define CACHE 8

THRUM_TAG(disk, NULL, "read block", 0);

struct request {
	struct request *next;
	uint32_t tenant;
	thrum_task task;
};

struct shard {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t work;
	unsigned number, served, hits;
	struct request *first, **end;
	uint32_t cache[CACHE];
	bool closed;
};

struct store {
	struct shard shards[SHARDS];
	struct request requests[REQUESTS];
	unsigned (*shard_of)(uint32_t tenant);
};

static void pause_us(unsigned us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000L};

	nanosleep(&time, NULL);
}

static unsigned shard_by_low_bits(uint32_t tenant)
{
	return tenant % SHARDS;
}

static unsigned shard_by_hash(uint32_t tenant)
{
	return (tenant * 2654435769u) >> 30;
}

/* ---- Shards ---- */

static void read_block(struct shard *shard, uint32_t tenant)
{
	thrum_suspend(&disk);
	pause_us(5000);
	thrum_resume();
	shard->cache[tenant / 8 % CACHE] = tenant;
}

static void serve(struct shard *shard, const struct request *request)
{
	if (shard->cache[request->tenant / 8 % CACHE] == request->tenant)
		shard->hits++;
	else
		read_block(shard, request->tenant);
	shard->served++;
}

static void *shard_run(void *data)
{
	struct shard *shard = data;
	char name[16];

	snprintf(name, sizeof(name), "shard %u", shard->number);
	thrum_lane_name(name);
	pthread_mutex_lock(&shard->mutex);
	for (;;) {
		struct request *request;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!shard->first && !shard->closed)
			pthread_cond_wait(&shard->work, &shard->mutex);
		thrum_resume();
		request = shard->first;
		if (!request)
			break;
		if (!(shard->first = request->next))
			shard->end = &shard->first;
		pthread_mutex_unlock(&shard->mutex);
		THRUM_RUN (request->task) {
			serve(shard, request);
			thrum_task_resolve(request->task);
		}
		pthread_mutex_lock(&shard->mutex);
	}
	pthread_mutex_unlock(&shard->mutex);
	return NULL;
}

static void shard_open(struct shard *shard, unsigned number)
{
	shard->number = number;
	shard->end = &shard->first;
	pthread_mutex_init(&shard->mutex, NULL);
	pthread_cond_init(&shard->work, NULL);
	if (pthread_create(&shard->thread, NULL, shard_run, shard))
		abort();
}

static void shard_close(struct shard *shard)
{
	pthread_mutex_lock(&shard->mutex);
	shard->closed = true;
	pthread_cond_signal(&shard->work);
	pthread_mutex_unlock(&shard->mutex);
	pthread_join(shard->thread, NULL);
}

static void shard_queue(struct shard *shard, struct request *request)
{
	pthread_mutex_lock(&shard->mutex);
	request->next = NULL;
	*shard->end = request;
	shard->end = &request->next;
	thrum_task_ready(request->task);
	pthread_cond_signal(&shard->work);
	pthread_mutex_unlock(&shard->mutex);
}

/* ---- The front end ---- */

/* Tenants get ids in steps of 8: the others are for their replicas and snapshots. */
static uint32_t tenant_id(unsigned tenant)
{
	return 4096 + tenant * 8;
}

static void accept_request(struct store *store, unsigned number, unsigned tenant)
{
	struct request *request = &store->requests[number];

	request->tenant = tenant_id(tenant);
	request->task = thrum_task_createf(THRUM_KIND_TASK, "request %u", number);
	thrum_task_should_resolve(request->task);
	shard_queue(&store->shards[store->shard_of(request->tenant)], request);
}

int main(int argc, char **argv)
{
	static struct store store;
	unsigned random = 7;

	if (argc != 2 || thrum_start(NULL))
		return 2;
	store.shard_of = strcmp(argv[1], "healthy") == 0 ? shard_by_hash : shard_by_low_bits;
	for (unsigned i = 0; i < SHARDS; i++)
		shard_open(&store.shards[i], i);
	for (unsigned i = 0; i < REQUESTS; i++) {
		random = random * 1103515245 + 12345;
		accept_request(&store, i, (random >> 16) % TENANTS);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_us(2000);
		thrum_resume();
	}
	for (unsigned i = 0; i < SHARDS; i++)
		shard_close(&store.shards[i]);
	thrum_stop();
	for (unsigned i = 0; i < SHARDS; i++)
		printf("shard %u: %u served, %u hits\n", i, store.shards[i].served,
			store.shards[i].hits);
	return 0;
}
