/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: back-pressure that never ends: the compactor merges segments in pairs and lifts the write stall only when none is left; the tombstone segment made their number odd, so one stays, the compactor sleeps, and the stall on "import" is never lifted.
 *   culprit: compactor
 *   victim: import
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A log-structured store: a memtable, segments, a compactor. Only the stall is annotated. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define MEMTABLE 8
#define STALL_AT 4
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t unstalled, grown;
	int rows, segments, stalls, merged;
	bool stalled, closing;
	int waiters;
	thrum_task stall;
} db = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.unstalled = PTHREAD_COND_INITIALIZER,
	.grown = PTHREAD_COND_INITIALIZER};
static bool broken;

static void add_segment(void)
{
	if (++db.segments >= STALL_AT && !db.stalled) {
		db.stalled = true;
		db.stalls++;
	}
	if (db.stalled)
		pthread_cond_signal(&db.grown);
}

static void *compact(void *none)
{
	thrum_lane_name("compactor");
	pthread_mutex_lock(&db.mutex);
	while (!db.closing) {
		if (!db.stalled || db.segments < 2) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&db.grown, &db.mutex);
			thrum_resume();
			continue;
		}
		pthread_mutex_unlock(&db.mutex);
		usleep(8000); /* merge two segments into the level below */
		pthread_mutex_lock(&db.mutex);
		db.segments -= 2;
		db.merged++;
		if (db.segments < (broken ? 1 : 2)) {
			db.stalled = false;
			thrum_task_signal(db.stall, db.waiters);
			db.waiters = 0;
			pthread_cond_broadcast(&db.unstalled);
		}
	}
	pthread_mutex_unlock(&db.mutex);
	return none;
}

static void put(int key)
{
	pthread_mutex_lock(&db.mutex);
	while (db.stalled) {
		db.waiters++;
		thrum_task_wait(thrum_task_current(), db.stall);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&db.unstalled, &db.mutex);
		thrum_resume();
		thrum_task_read(thrum_task_current(), db.stall);
	}
	if (++db.rows % MEMTABLE == 0)
		add_segment();
	if (key == 127) /* expired rows: their tombstones are a segment of their own */
		add_segment();
	pthread_mutex_unlock(&db.mutex);
}

int main(int argc, char **argv)
{
	pthread_t compactor;
	thrum_task import;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	db.stall = thrum_task_create(THRUM_KIND_CONDITION, "write stall");
	pthread_create(&compactor, NULL, compact, NULL);
	import = thrum_task_create(THRUM_KIND_TASK, "import");
	thrum_task_should_resolve(import);
	THRUM_RUN (import) {
		for (int key = 0; key < 300; key++) {
			usleep(200);
			put(key);
		}
		thrum_task_resolve(import);
	}
	pthread_mutex_lock(&db.mutex);
	db.closing = true;
	pthread_cond_signal(&db.grown);
	pthread_mutex_unlock(&db.mutex);
	pthread_join(compactor, NULL);
	printf("%d rows, %d stalls, %d merges\n", db.rows, db.stalls, db.merged);
	return 0;
}
