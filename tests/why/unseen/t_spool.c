/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 650
 *   ask: why
 *   truth: Flusher and uploader wait for different things on one condition "changed". "grant credit" (credits thread) signals once, which wakes the flusher, whose predicate is still false; it sleeps again, the uploader never learns of its credit. The wrong waiter took the wake-up: the cause is the single signal in grant_credit / the flusher.
 *   culprit: flusher|grant_credit|credit service
 *   victim: uploader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A spool: the uploader needs credits to send, the flusher needs dirty pages, one condition serves both. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int credits, dirty;
	bool closed;
} spool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, false};

static bool broken;
static int uploaded, flushed;

static void *flusher(void *data)
{
	thrum_lane_name("flusher");
	pthread_mutex_lock(&spool.mutex);
	for (;;) {
		while (!spool.dirty && !spool.closed)
			pthread_cond_wait(&spool.changed, &spool.mutex);
		if (!spool.dirty)
			break;
		flushed += spool.dirty;
		spool.dirty = 0;
	}
	pthread_mutex_unlock(&spool.mutex);
	return NULL;
}

static void *uploader(void *data)
{
	thrum_lane_name("uploader");
	usleep(30000); /* connects; the flusher sleeps by now */
	pthread_mutex_lock(&spool.mutex);
	for (int block = 0; block < 3; block++) {
		while (!spool.credits)
			pthread_cond_wait(&spool.changed, &spool.mutex);
		spool.credits--;
		uploaded++;
		spool.dirty++; /* the log of what was sent */
		pthread_cond_signal(&spool.changed);
	}
	spool.closed = true;
	pthread_cond_broadcast(&spool.changed);
	pthread_mutex_unlock(&spool.mutex);
	return NULL;
}

static void grant_credit(int credits)
{
	pthread_mutex_lock(&spool.mutex);
	spool.credits += credits;
	if (broken)
		pthread_cond_signal(&spool.changed);
	else
		pthread_cond_broadcast(&spool.changed);
	pthread_mutex_unlock(&spool.mutex);
}

static void *credit_service(void *data)
{
	thrum_lane_name("credit service");
	usleep(90000);
	grant_credit(3);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&threads[0], NULL, flusher, NULL);
	pthread_create(&threads[1], NULL, uploader, NULL);
	pthread_create(&threads[2], NULL, credit_service, NULL);
	pthread_join(threads[2], NULL);
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
	printf("uploaded %d, flushed %d\n", uploaded, flushed);
	return 0;
}
