/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: stop_shipper (the main thread) joins flush_loop while it holds ship_lock; flush_loop needs ship_lock for its last flush. The one at fault is the joiner that keeps the lock. (No annotations.)
 *   culprit: (?i)\b(holds?|held|holding|joins|joined|joining|owner|owned)\b|stop_shipper|waits for .*flush_loop
 *   victim: flush_loop
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t ship_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ship_wakeup = PTHREAD_COND_INITIALIZER;
static pthread_t flusher;
static pthread_t sources[2];
static int buffered, shipped;
static bool stopping, broken;

static void ship(void)
{
	shipped += buffered;
	buffered = 0;
}

static void *flush_loop(void *unused)
{
	bool last = false;

	while (!last) {
		struct timespec until;
		int lines;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_mutex_lock(&ship_lock);
		if (!stopping)
			pthread_cond_timedwait(&ship_wakeup, &ship_lock, &until);
		last = stopping;
		lines = buffered;
		pthread_mutex_unlock(&ship_lock);
		usleep(lines > 0 ? 3000 : 500); /* compresses */
		pthread_mutex_lock(&ship_lock);
		ship();
		pthread_mutex_unlock(&ship_lock);
	}
	return unused;
}

static void *tail_file(void *unused)
{
	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&ship_lock);
		buffered++;
		if (buffered > 8)
			pthread_cond_signal(&ship_wakeup);
		pthread_mutex_unlock(&ship_lock);
		usleep(4000);
	}
	return unused;
}

static void stop_shipper(void)
{
	pthread_mutex_lock(&ship_lock);
	stopping = true;
	pthread_cond_signal(&ship_wakeup);
	if (!broken)
		pthread_mutex_unlock(&ship_lock);
	pthread_join(flusher, NULL);
	if (!broken)
		pthread_mutex_lock(&ship_lock);
	ship();
	pthread_mutex_unlock(&ship_lock);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	pthread_create(&flusher, NULL, flush_loop, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&sources[i], NULL, tail_file, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(sources[i], NULL);
	stop_shipper();
	return shipped == 80 ? 0 : 1;
}
