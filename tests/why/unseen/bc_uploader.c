/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: backoff_wait() computes the time of the next try with CLOCK_REALTIME, but the condition counts in
 *     CLOCK_MONOTONIC (pthread_condattr_setclock): the thread uploader-2 waits some decades instead of 40
 *     ms; main waits for its chunk
 *   culprit: backoff_wait|uploader-2
 *   victim: main|wait_for_all|stats
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Uploads a file in chunks, three at a time. A chunk that is refused is sent again after a while. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	CHUNKS = 12,
	UPLOADERS = 3,
	TRIES = 5
};

struct upload {
	pthread_mutex_t lock;
	pthread_cond_t
		changed; /* a chunk was sent, or all are to stop; counts in CLOCK_MONOTONIC */
	int next_chunk[UPLOADERS];
	int sent;
	int refused;
	int reports;
	bool stopping;
	clockid_t backoff_clock;
};

static struct upload upload = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static struct timespec time_after(clockid_t clock, long ms)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += ms / 1000;
	time.tv_nsec += ms % 1000 * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

/* Sends a chunk to the store. It is busy at times. */
static bool store_put(int chunk, int try)
{
	pause_ms(8 + chunk % 3);
	return !(chunk == 5 && try == 0);
}

/* Waits before another try. Returns false if the upload is to stop. */
static __attribute__((noinline)) bool backoff_wait(int try)
{
	struct timespec until = time_after(upload.backoff_clock, 40L << try);
	bool goes_on;

	pthread_mutex_lock(&upload.lock);
	while (!upload.stopping)
		if (pthread_cond_timedwait(&upload.changed, &upload.lock, &until))
			break;
	goes_on = !upload.stopping;
	pthread_mutex_unlock(&upload.lock);
	return goes_on;
}

static bool send_chunk(int chunk)
{
	for (int try = 0; try < TRIES; try++) {
		if (store_put(chunk, try))
			return true;
		pthread_mutex_lock(&upload.lock);
		upload.refused++;
		pthread_mutex_unlock(&upload.lock);
		if (!backoff_wait(try))
			return false;
	}
	return false;
}

static void *uploader(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "uploader-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int chunk = number; chunk < CHUNKS; chunk += UPLOADERS) {
		bool is_sent = send_chunk(chunk);

		pthread_mutex_lock(&upload.lock);
		upload.next_chunk[number] = chunk + UPLOADERS;
		if (is_sent)
			upload.sent++;
		pthread_cond_broadcast(&upload.changed);
		pthread_mutex_unlock(&upload.lock);
		if (!is_sent)
			break;
	}
	return NULL;
}

/* Reports the progress every 30 ms. */
static void *stats(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "stats");
	pthread_mutex_lock(&upload.lock);
	while (!upload.stopping) {
		struct timespec until = time_after(CLOCK_MONOTONIC, 30);

		while (!upload.stopping)
			if (pthread_cond_timedwait(&upload.changed, &upload.lock, &until))
				break;
		upload.reports++;
	}
	pthread_mutex_unlock(&upload.lock);
	return NULL;
}

static __attribute__((noinline)) void wait_for_all(void)
{
	pthread_mutex_lock(&upload.lock);
	while (upload.sent < CHUNKS)
		pthread_cond_wait(&upload.changed, &upload.lock);
	upload.stopping = true;
	pthread_cond_broadcast(&upload.changed);
	pthread_mutex_unlock(&upload.lock);
}

int main(int argc, char **argv)
{
	pthread_t uploaders[UPLOADERS], reporter;
	pthread_condattr_t attributes;

	upload.backoff_clock = argc > 1 && !strcmp(argv[1], "healthy") ? CLOCK_MONOTONIC
								       : CLOCK_REALTIME;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&upload.changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_create(&reporter, NULL, stats, NULL);
	for (long i = 0; i < UPLOADERS; i++)
		pthread_create(&uploaders[i], NULL, uploader, (void *)i);
	wait_for_all();
	for (int i = 0; i < UPLOADERS; i++)
		pthread_join(uploaders[i], NULL);
	pthread_join(reporter, NULL);
	printf("%d chunks sent, %d refused, %d reports\n", upload.sent, upload.refused,
		upload.reports);
	pthread_cond_destroy(&upload.changed);
	return 0;
}
