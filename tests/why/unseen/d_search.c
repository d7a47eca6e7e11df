/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The coordinator doesn't wait for the last shard: "build index" begins before "load shard 3" has ended. So shard 3 has no index, and each query on it makes a "full scan".
 *   culprit: build index|load shard 3
 *   victim: full scan|query
 * case: again
 *   args: again
 *   ask: diff good
 *   culprit: nothing
 */
/* Starts a search node: loads four shards in threads, builds their index, and answers queries. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	SHARDS = 4
};

static struct shard {
	int number, ms;
	bool loaded, indexed;
	thrum_task load;
} shards[SHARDS] = {{0, 20}, {1, 26}, {2, 34}, {3, 75}};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;
static int loaded_count, needed = SHARDS;
static thrum_task index_task;

static void *load_shard(void *data)
{
	struct shard *shard = data;

	THRUM_RUN (shard->load) {
		usleep(shard->ms * 1000);
		pthread_mutex_lock(&mutex);
		shard->loaded = true;
		loaded_count++;
		thrum_task_resolve(shard->load);
		pthread_cond_signal(&loaded);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void build_index(void)
{
	index_task = thrum_task_create(THRUM_KIND_TASK, "build index");
	thrum_task_should_resolve(index_task);
	THRUM_RUN (index_task) {
		for (int i = 0; i < SHARDS; i++) {
			if (!shards[i].loaded)
				continue;
			thrum_task_read(index_task, shards[i].load);
			usleep(3000);
			shards[i].indexed = true;
		}
		thrum_task_resolve(index_task);
	}
}

static void query(int number)
{
	struct shard *shard = &shards[number % SHARDS];
	thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "query");

	THRUM_RUN (task) {
		if (!shard->indexed) {
			thrum_task scan = thrum_task_create(THRUM_KIND_TASK, "full scan");

			THRUM_RUN (scan) {
				usleep(60000);
				thrum_task_resolve(scan);
			}
			thrum_task_read(task, scan);
		} else
			usleep(2000);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[SHARDS];
	const char *mode = argc > 1 ? argv[1] : "good";

	if (!strcmp(mode, "bad"))
		needed = SHARDS - 1;
	if (!strcmp(mode, "again")) {
		shards[0].ms = 28;
		shards[1].ms = 19;
	}
	for (int i = 0; i < SHARDS; i++) {
		shards[i].load = thrum_task_createf(THRUM_KIND_TASK, "load shard %d", i);
		thrum_task_should_resolve(shards[i].load);
		pthread_create(&threads[i], NULL, load_shard, &shards[i]);
	}
	thrum_task ready = thrum_task_create(THRUM_KIND_JOIN, "shards ready");
	for (int i = 0; i < needed; i++)
		thrum_task_wait(ready, shards[i].load);
	pthread_mutex_lock(&mutex);
	thrum_task_wait(thrum_task_current(), ready);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (loaded_count < needed)
		pthread_cond_wait(&loaded, &mutex);
	thrum_resume();
	pthread_mutex_unlock(&mutex);
	thrum_task_resolve(ready);
	thrum_task_read(thrum_task_current(), ready);
	build_index();
	for (int i = 0; i < SHARDS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 12; i++)
		query(i);
	puts("12 queries");
	return 0;
}
