/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow=PUT
 *   truth: A PUT waits for the memtable lock, which the compaction thread holds for a quarter of a second at a stretch.
 *   culprit: compaction
 *   victim: PUT
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* kv: a key-value store with client threads and a compaction thread */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static pthread_mutex_t memtable = PTHREAD_MUTEX_INITIALIZER;
static thrum_task memtable_task;
static bool slow;

static void lock(void)
{
	if (pthread_mutex_trylock(&memtable)) {
		thrum_task_wait(thrum_task_current(), memtable_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&memtable);
		thrum_resume();
	}
	thrum_lock_acquired(memtable_task);
}

static void unlock(void)
{
	thrum_lock_released(memtable_task);
	pthread_mutex_unlock(&memtable);
}

static void pause_ms(int ms)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(ms * 1000);
	thrum_resume();
}

static void *client(void *data)
{
	bool main_client = !strcmp(data, "client 1");

	thrum_lane_name(data);
	for (int i = 0; i < 25; i++) {
		thrum_task put = thrum_task_create(THRUM_KIND_REQUEST,
			i % 3 || main_client ? "PUT" : "GET");

		thrum_task_should_resolve(put);
		THRUM_RUN (put) {
			lock();
			usleep(300);
			unlock();
			thrum_task_resolve(put);
		}
		pause_ms(12);
	}
	return NULL;
}

static void *compactor(void *data)
{
	thrum_task compaction;

	thrum_lane_name("compactor");
	pause_ms(120);
	compaction = thrum_task_create(THRUM_KIND_TASK, "compaction");
	THRUM_RUN (compaction) {
		if (slow) {
			lock();
			usleep(250000);
			unlock();
		} else {
			for (int table = 0; table < 50; table++) {
				usleep(4500);
				lock();
				usleep(300);
				unlock();
			}
		}
		thrum_task_resolve(compaction);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	slow = argc > 1 && !strcmp(argv[1], "slow");
	memtable_task = thrum_task_create(THRUM_KIND_LOCK, "memtable lock");
	pthread_create(&threads[0], NULL, client, "client 1");
	pthread_create(&threads[1], NULL, client, "client 2");
	pthread_create(&threads[2], NULL, compactor, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("kv: done\n");
	return 0;
}
