/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=transcode
 *   truth: refresh_model holds the lock "language model" while it downloads the new model for 250 ms. The
 *     recordings that come meanwhile wait for the lock, though they need the model only for a moment.
 *   culprit: refresh_model|refresh model|download
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Transcodes speech. Three threads look up the language model, which another thread refreshes now and then. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	THREADS = 3,
	CLIPS = 40,
	REFRESHES = 2
};

THRUM_TAG(download_tag, NULL, "download model", 0);
THRUM_TAG(encode_tag, NULL, "encode", 0);
THRUM_TAG(pause_tag, NULL, "pause", 0);

struct lock {
	pthread_mutex_t mutex;
	thrum_task task;
};

struct thread {
	pthread_t id;
	int number;
};

static bool healthy;
static struct lock model_lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static int model_version = 1;
static int words;

static void sleep_for(struct thrum_tag *tag, int ms)
{
	thrum_suspend(tag);
	usleep(ms * 1000);
	thrum_resume();
}

static void lock_take(struct lock *lock)
{
	if (pthread_mutex_trylock(&lock->mutex)) {
		thrum_task_wait(thrum_task_current(), lock->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&lock->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(lock->task);
}

static void lock_release(struct lock *lock)
{
	thrum_lock_released(lock->task);
	pthread_mutex_unlock(&lock->mutex);
}

static int download_model(void)
{
	sleep_for(&download_tag, 250);
	return 1;
}

static void refresh_model(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "refresh model %d", number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		int newer = 0;

		if (healthy)
			newer = download_model();
		lock_take(&model_lock);
		if (!healthy)
			newer = download_model();
		model_version += newer;
		lock_release(&model_lock);
		thrum_task_resolve(task);
	}
}

static void *refresher(void *data)
{
	(void)data;
	thrum_lane_name("refresher");
	for (int i = 0; i < REFRESHES; i++) {
		sleep_for(&pause_tag, 150);
		refresh_model(i);
	}
	return NULL;
}

static int guess_words(int clip)
{
	int count;

	lock_take(&model_lock);
	count = clip % 7 + model_version;
	words += count;
	lock_release(&model_lock);
	return count;
}

static void transcode(int clip)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "transcode %d", clip);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		sleep_for(&encode_tag, 8);
		guess_words(clip);
		sleep_for(&encode_tag, 4);
		thrum_task_resolve(task);
	}
}

static void *transcoder(void *data)
{
	struct thread *thread = data;
	char name[32];

	snprintf(name, sizeof(name), "transcoder %d", thread->number);
	thrum_lane_name(name);
	for (int i = 0; i < CLIPS; i++) {
		transcode(i * THREADS + thread->number);
		sleep_for(&pause_tag, 8);
	}
	return NULL;
}

static void join(pthread_t id)
{
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(id, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	struct thread threads[THREADS];
	pthread_t refresh;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	model_lock.task = thrum_task_create(THRUM_KIND_LOCK, "language model");
	pthread_create(&refresh, NULL, refresher, NULL);
	for (int i = 0; i < THREADS; i++) {
		threads[i].number = i;
		pthread_create(&threads[i].id, NULL, transcoder, &threads[i]);
	}
	for (int i = 0; i < THREADS; i++)
		join(threads[i].id);
	join(refresh);
	thrum_stop();
	printf("%d words, model %d\n", words, model_version);
	return 0;
}
