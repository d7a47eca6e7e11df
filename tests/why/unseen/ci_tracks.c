/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: The matcher is the only one that takes tracks from the queue. A track whose map isn't there yet it
 *     puts back, and waits for room while the queue is full: for itself. The uploader waits behind it.
 *   culprit: matcher
 *   victim: uploader
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A service for hikers: phones upload the tracks of a day, and a matcher lays each over the map. Maps that it
 * hasn't got are fetched by a thread of their own; the track is looked at again later. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	ROOM = 4,
	TRACKS = 24,
	FAR_TRACK = 13, /* in a region that nobody has walked before */
	REGIONS = 4,
};

struct track {
	int number;
	int region;
};

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct track *tracks[TRACKS + 1];
	unsigned room, first, count;
	unsigned readers; /* who wait for a track */
	thrum_task task;
};

struct worker {
	pthread_t thread;
	thrum_task task;
	const char *name;
};

static struct track tracks[TRACKS];
static struct queue queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER};
static bool has_map[REGIONS] = {true, true, true, false};
static bool healthy;
static unsigned matched;

/* The caller holds the mutex. */
static void queue_wait(void)
{
	thrum_task_wait(thrum_task_current(), queue.task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&queue.changed, &queue.mutex);
	thrum_resume();
}

/* Puts a track into the queue; one that comes again may find it full. */
static void queue_put(struct track *track, bool is_again)
{
	pthread_mutex_lock(&queue.mutex);
	while (queue.count >= queue.room && !is_again)
		queue_wait();
	queue.tracks[(queue.first + queue.count++) % (TRACKS + 1)] = track;
	thrum_task_signal(queue.task, queue.readers);
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.mutex);
}

static struct track *queue_take(void)
{
	struct track *track;

	pthread_mutex_lock(&queue.mutex);
	queue.readers++;
	while (!queue.count)
		queue_wait();
	queue.readers--;
	track = queue.tracks[queue.first];
	queue.first = (queue.first + 1) % (TRACKS + 1);
	queue.count--;
	thrum_task_read(thrum_task_current(), queue.task);
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.mutex);
	return track;
}

static void nap(unsigned us)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(us);
	thrum_resume();
}

static void *upload(void *data)
{
	struct worker *self = data;

	thrum_lane_name(self->name);
	thrum_task_become(self->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < TRACKS; i++) {
		tracks[i].number = i;
		tracks[i].region = i == FAR_TRACK ? REGIONS - 1 : i % (REGIONS - 1);
		queue_put(&tracks[i], false);
		if (i < 6)
			nap(10000); /* the first hikers come home one by one */
	}
	return NULL;
}

/* Returns false if the map of the track's region isn't there. */
static bool match_track(const struct track *track)
{
	if (!has_map[track->region]) {
		nap(4000); /* orders the map, which is there when the track comes again */
		has_map[track->region] = true;
		return false;
	}
	nap(3000);
	return true;
}

static void *match(void *data)
{
	struct worker *self = data;

	thrum_lane_name(self->name);
	thrum_task_become(self->task, thrum_task_current());
	thrum_task_should_resolve(thrum_task_current());
	while (matched < TRACKS) {
		struct track *track = queue_take();

		if (match_track(track))
			matched++;
		else
			queue_put(track, healthy);
	}
	return NULL;
}

/* Looks at the server's battery all the time. */
static void *watch_battery(void *data)
{
	const bool *is_over = data;

	thrum_lane_name("battery");
	while (!__atomic_load_n(is_over, __ATOMIC_ACQUIRE))
		nap(50000);
	return NULL;
}

static void start(struct worker *worker, const char *name, void *(*run)(void *))
{
	worker->name = name;
	worker->task = thrum_task_create(THRUM_KIND_THREAD, name);
	pthread_create(&worker->thread, NULL, run, worker);
}

static void join(struct worker *worker)
{
	thrum_task_wait(thrum_task_current(), worker->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_join(worker->thread, NULL);
	thrum_resume();
	thrum_task_read(thrum_task_current(), worker->task);
}

int main(int count, char **arguments)
{
	struct worker uploader, matcher;
	bool is_over = false;
	pthread_t battery;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	queue.room = ROOM;
	queue.task = thrum_task_create(THRUM_KIND_MAILBOX, "tracks");
	pthread_create(&battery, NULL, watch_battery, &is_over);
	start(&uploader, "uploader", upload);
	start(&matcher, "matcher", match);
	join(&uploader);
	join(&matcher);
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(battery, NULL);
	thrum_stop();
	printf("%u tracks\n", matched);
	return 0;
}
