/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=*shutdown*
 *   truth: The thread disk-slow sleeps for its whole step in pause_step and doesn't hear that it is to stop; the
 *     shutdown, which joins the collectors, waits for the rest of that sleep.
 *   culprit: disk-slow|collect_disks
 *   victim: \bmain\b|cpu-fast|net-fast
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A monitoring agent with collectors of different steps, which is told to stop. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COLLECTORS 3

static bool disks_listen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool stops;
static unsigned samples[COLLECTORS];
static pthread_t collectors[COLLECTORS];

static bool must_stop(void)
{
	bool must;

	pthread_mutex_lock(&lock);
	must = stops;
	pthread_mutex_unlock(&lock);
	return must;
}

/* Waits for the next step, or until the agent stops. */
static void wait_step(unsigned milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)milliseconds * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	while (!stops && pthread_cond_timedwait(&changed, &lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&lock);
}

static void pause_step(unsigned milliseconds)
{
	struct timespec step = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	nanosleep(&step, NULL);
}

static void take_sample(unsigned number)
{
	pthread_mutex_lock(&lock);
	samples[number]++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *collect_cpu(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "cpu-fast");
	for (; !must_stop(); wait_step(20))
		take_sample(0);
	return NULL;
}

static void *collect_net(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "net-fast");
	for (; !must_stop(); wait_step(30))
		take_sample(1);
	return NULL;
}

static void *collect_disks(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "disk-slow");
	while (!must_stop()) {
		take_sample(2);
		if (disks_listen)
			wait_step(900);
		else
			pause_step(900);
	}
	return NULL;
}

static void *run_shutdown(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "shutdown");
	pthread_mutex_lock(&lock);
	stops = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < COLLECTORS; i++)
		pthread_join(collectors[i], NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t shutdown;

	disks_listen = argc > 1 && strcmp(argv[1], "healthy") == 0;
	pthread_create(&collectors[0], NULL, collect_cpu, NULL);
	pthread_create(&collectors[1], NULL, collect_net, NULL);
	pthread_create(&collectors[2], NULL, collect_disks, NULL);
	pthread_mutex_lock(&lock);
	while (samples[0] < 3 || samples[2] < 1)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	pthread_create(&shutdown, NULL, run_shutdown, NULL);
	pthread_join(shutdown, NULL);
	printf("%u %u %u samples\n", samples[0], samples[1], samples[2]);
	return 0;
}
