/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: three watchers take the readers-writer lock "refs" again as soon as they have released it, so that one of them always holds it; the lock prefers readers, and "pack refs" never gets it to write.
 *   culprit: watch (status|branches|diff)
 *   victim: pack refs
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

static struct {
	pthread_rwlock_t lock;
	thrum_task task;
	int values[64];
} refs;
static bool broken;

static void refs_lock(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&refs.lock)
		     : pthread_rwlock_tryrdlock(&refs.lock)) {
		thrum_task_wait(thrum_task_current(), refs.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&refs.lock);
		else
			pthread_rwlock_rdlock(&refs.lock);
		thrum_resume();
	}
	thrum_lock_acquired(refs.task);
}

static void refs_unlock(void)
{
	thrum_lock_released(refs.task);
	pthread_rwlock_unlock(&refs.lock);
}

struct watcher {
	const char *name;
	int us;
};

/* Looks at all refs, again and again, to notice changes. */
static void *watch(void *data)
{
	struct watcher *watcher = data;
	time_t end = time(NULL) + 20;
	int sum = 0;

	thrum_lane_name(watcher->name);
	for (int i = 0; broken ? time(NULL) < end : i < 40; i++) {
		refs_lock(false);
		for (int j = 0; j < 64; j++)
			sum += refs.values[j];
		usleep((unsigned)watcher->us);
		refs_unlock();
		if (!broken)
			usleep(4000);
	}
	return sum ? data : NULL;
}

static void *pack(void *data)
{
	usleep(80000);
	thrum_lane_name("packer");
	for (int i = 0; i < 2; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "pack refs");

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			refs_lock(true);
			for (int j = 0; j < 64; j++)
				refs.values[j]++;
			usleep(3000);
			refs_unlock();
			thrum_task_resolve(task);
		}
		usleep(30000);
	}
	return data;
}

int main(int argc, char **argv)
{
	static struct watcher watchers[] = {{"watch status", 7000}, {"watch branches", 11000},
		{"watch diff", 13000}};
	pthread_t threads[4];
	pthread_rwlockattr_t attributes;

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	pthread_rwlockattr_init(&attributes);
	if (!broken)
		pthread_rwlockattr_setkind_np(&attributes,
			PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&refs.lock, &attributes);
	refs.task = thrum_task_create(THRUM_KIND_LOCK, "refs");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, watch, &watchers[i]);
	pthread_create(&threads[3], NULL, pack, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	thrum_task_resolve(refs.task);
	puts("done");
	return 0;
}
