/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: add_hint_callback calls the callback under hints_lock and the callback takes loop_lock; the loop's thread holds loop_lock and asks for a hint, which takes hints_lock: lock order.
 *   culprit: hints_lock|loop_lock
 *   victim: ui
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about SDL with PipeWire: opening a device hangs in pw_thread_loop_lock inside a hint callback, while
 * the loop's thread, which holds its own lock, wants the lock of the hints.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t hints_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t in_hints, in_loop;
static const char *stream_name = "game";
static bool broken;
static unsigned renamed, processed;

static void stream_name_changed(void)
{
	pthread_mutex_lock(&loop_lock);
	renamed++;
	pthread_mutex_unlock(&loop_lock);
}

static void add_hint_callback(void (*callback)(void))
{
	pthread_mutex_lock(&hints_lock);
	if (broken) {
		sem_post(&in_hints);
		sem_wait(&in_loop);
		callback();
	}
	pthread_mutex_unlock(&hints_lock);
	if (!broken)
		callback();
}

static const char *get_hint(void)
{
	const char *name;

	pthread_mutex_lock(&hints_lock);
	name = stream_name;
	pthread_mutex_unlock(&hints_lock);
	return name;
}

/* The loop of the sound library. It runs all events under its lock. */
static void *pipewire_loop(void *unused)
{
	pthread_setname_np(pthread_self(), "pw-loop");
	if (broken)
		sem_wait(&in_hints);
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&loop_lock);
		if (broken && !i)
			sem_post(&in_loop);
		if (strlen(get_hint()))
			processed++;
		pthread_mutex_unlock(&loop_lock);
	}
	return unused;
}

static void *open_device(void *unused)
{
	pthread_setname_np(pthread_self(), "open device");
	add_hint_callback(stream_name_changed);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t loop, opener;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&in_hints, 0, 0);
	sem_init(&in_loop, 0, 0);
	pthread_create(&loop, NULL, pipewire_loop, NULL);
	pthread_create(&opener, NULL, open_device, NULL);
	pthread_join(opener, NULL);
	pthread_join(loop, NULL);
	printf("%u renamed, %u processed\n", renamed, processed);
	return 0;
}
