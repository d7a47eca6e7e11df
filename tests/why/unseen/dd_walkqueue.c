/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The walkers put the folders that they find into the queue "folders" that only they empty; it is full, and all three walkers wait in queue_put for room.
 *   culprit: walker|folders|queue_put
 *   victim: backup|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A backup tool: three threads walk through the folders. A queue with room for 16 holds the folders that are still to be
 * read.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define WALKERS 3
#define ROOM 16

struct folder {
	int depth, files;
};

static bool broken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct folder queue[ROOM];
static unsigned first, count, takers;
static thrum_task folders, finished;
static int unread; /* folders that are queued or being read */
static long files;
static bool main_waits;

/* The caller holds the mutex. */
static void wait_for(thrum_task what)
{
	thrum_task_wait(thrum_task_current(), what);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&changed, &mutex);
	thrum_resume();
}

/* The caller holds the mutex, and there is room. */
static void append(struct folder folder)
{
	queue[(first + count++) % ROOM] = folder;
	unread++;
	thrum_task_signal(folders, takers);
	pthread_cond_broadcast(&changed);
}

static void queue_put(struct folder folder)
{
	pthread_mutex_lock(&mutex);
	while (count == ROOM)
		wait_for(folders);
	append(folder);
	pthread_mutex_unlock(&mutex);
}

static bool queue_try_put(struct folder folder)
{
	bool room;

	pthread_mutex_lock(&mutex);
	room = count < ROOM;
	if (room)
		append(folder);
	pthread_mutex_unlock(&mutex);
	return room;
}

/* Returns false when all folders have been read. */
static bool queue_take(struct folder *folder)
{
	pthread_mutex_lock(&mutex);
	takers++;
	while (count == 0 && unread > 0)
		wait_for(folders);
	takers--;
	if (count == 0) {
		pthread_mutex_unlock(&mutex);
		return false;
	}
	*folder = queue[first++ % ROOM];
	count--;
	thrum_task_read(thrum_task_current(), folders);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return true;
}

static void read_folder(struct folder folder)
{
	static const int children[] = {6, 6, 4, 0};
	struct folder child = {.depth = folder.depth + 1, .files = folder.files + 1};

	for (int i = 0; i < children[folder.depth]; i++)
		if (broken)
			queue_put(child);
		else if (!queue_try_put(child))
			read_folder(child); /* it is full: this thread reads the folder itself */
	__atomic_fetch_add(&files, folder.files, __ATOMIC_RELAXED);
}

static void *walk(void *name)
{
	struct folder folder;

	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	while (queue_take(&folder)) {
		read_folder(folder);
		pthread_mutex_lock(&mutex);
		if (--unread == 0) {
			thrum_task_signal(finished, main_waits);
			pthread_cond_broadcast(&changed);
		}
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"walker 1", "walker 2", "walker 3"};
	pthread_t threads[WALKERS];
	thrum_task backup;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	folders = thrum_task_create(THRUM_KIND_MAILBOX, "folders");
	finished = thrum_task_create(THRUM_KIND_CONDITION, "all read");
	backup = thrum_task_create(THRUM_KIND_TASK, "backup");
	thrum_task_should_resolve(backup);
	THRUM_RUN (backup) {
		queue_put((struct folder){.depth = 0, .files = 3});
		for (int i = 0; i < WALKERS; i++)
			if (pthread_create(&threads[i], NULL, walk, (void *)names[i]))
				return 1;
		pthread_mutex_lock(&mutex);
		main_waits = true;
		while (unread > 0)
			wait_for(finished);
		thrum_task_read(backup, finished);
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < WALKERS; i++)
			pthread_join(threads[i], NULL);
		thrum_task_resolve(backup);
	}
	printf("%ld files\n", files);
	return 0;
}
