/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The watcher thread signals `running` before watcher_start waits for it, and watcher_start doesn't look whether it runs already: lost wake-up.
 *   culprit: (cond|condition) “?running|watch_loop|Signal lost|signal.*(nobody|before)
 *   victim: main|watcher_start
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about fsevents: starting a watcher hangs now and then, because the new thread signals "running"
 * before the starter waits for it; the wait has no predicate. Resizing the terminal helped.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t state_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t running = PTHREAD_COND_INITIALIZER;
static sem_t scanned;
static bool broken, is_running;
static int events[2];
static unsigned changes;

static void *watch_loop(void *unused)
{
	char event;

	pthread_setname_np(pthread_self(), "fsevents");
	pthread_mutex_lock(&state_mutex);
	is_running = true;
	pthread_cond_signal(&running);
	pthread_mutex_unlock(&state_mutex);
	sem_post(&scanned);
	while (read(events[0], &event, 1) == 1)
		changes++;
	return unused;
}

/* Returns when the watcher runs. */
static void watcher_start(pthread_t *thread)
{
	pthread_create(thread, NULL, watch_loop, NULL);
	/* The first scan of the folder goes on meanwhile. */
	sem_wait(&scanned);
	pthread_mutex_lock(&state_mutex);
	if (broken)
		pthread_cond_wait(&running, &state_mutex);
	else
		while (!is_running)
			pthread_cond_wait(&running, &state_mutex);
	pthread_mutex_unlock(&state_mutex);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&scanned, 0, 0);
	if (pipe(events))
		return 1;
	watcher_start(&thread);
	for (int i = 0; i < 30; i++)
		if (write(events[1], "e", 1) != 1)
			return 1;
	close(events[1]);
	pthread_join(thread, NULL);
	printf("%u changes\n", changes);
	return 0;
}
