/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: the user takes track 4 off the album, its job is cancelled in the queue, but nobody counts it down or tells the album, which waits for it until the program gives up.
 *   culprit: transcode track 4
 *   victim: assemble album
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	TRACKS = 6,
	THREADS = 2
};

static struct track {
	int number;
	enum {
		QUEUED,
		RUNNING,
		DONE,
		CANCELLED
	} state;
	thrum_task task;
} tracks[TRACKS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
static int left = TRACKS;
static bool broken;

/* The caller holds the mutex. */
static struct track *next_track(void)
{
	for (int i = 0; i < TRACKS; i++)
		if (tracks[i].state == QUEUED)
			return &tracks[i];
	return NULL;
}

static void *transcoder(void *data)
{
	struct track *track;

	thrum_lane_name("transcoder");
	pthread_mutex_lock(&mutex);
	while ((track = next_track())) {
		track->state = RUNNING;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (track->task) {
			usleep(60000);
			thrum_task_resolve(track->task);
		}
		pthread_mutex_lock(&mutex);
		track->state = DONE;
		left--;
		pthread_cond_signal(&progress);
	}
	pthread_mutex_unlock(&mutex);
	return data;
}

static void remove_track(struct track *track)
{
	pthread_mutex_lock(&mutex);
	if (track->state == QUEUED) {
		track->state = CANCELLED;
		thrum_task_cancel(track->task);
		if (!broken) {
			left--;
			pthread_cond_signal(&progress);
		}
	}
	pthread_mutex_unlock(&mutex);
}

/* Returns whether all tracks were done in time. */
static bool assemble(thrum_task album)
{
	struct timespec end;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5;
	pthread_mutex_lock(&mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (left > 0 && !error)
		error = pthread_cond_timedwait(&progress, &mutex, &end);
	thrum_resume();
	pthread_mutex_unlock(&mutex);
	if (error)
		return false;
	for (int i = 0; i < TRACKS; i++)
		if (tracks[i].state == DONE)
			thrum_task_read(album, tracks[i].task);
	return true;
}

int main(int argc, char **argv)
{
	thrum_task album = thrum_task_create(THRUM_KIND_JOIN, "assemble album");
	pthread_t threads[THREADS];

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	thrum_task_should_resolve(album);
	for (int i = 0; i < TRACKS; i++) {
		tracks[i].number = i + 1;
		tracks[i].task = thrum_task_createf(THRUM_KIND_TASK, "transcode track %d", i + 1);
		thrum_task_wait(album, tracks[i].task);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, transcoder, NULL);
	usleep(20000);
	remove_track(&tracks[3]);
	if (!assemble(album)) {
		fprintf(stderr, "giving up\n");
		return 1;
	}
	thrum_task_resolve(album);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
