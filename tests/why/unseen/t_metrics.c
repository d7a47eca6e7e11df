/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: The thread aggregate returns when the store refuses a sample, without emptying or closing the queue; nobody drains it any more, it fills up, and the samplers wait for room for ever.
 *   culprit: \baggregate\b
 *   victim: sample_cpu|sample_disk|sample_net|\bmain\b|room
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOM 8

static pthread_mutex_t samples_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t samples_room = PTHREAD_COND_INITIALIZER;
static pthread_cond_t samples_here = PTHREAD_COND_INITIALIZER;
static int samples[ROOM], first, count, samplers = 3;
static int broken, stored, dropped;

static void submit(int value)
{
	pthread_mutex_lock(&samples_lock);
	while (count == ROOM)
		pthread_cond_wait(&samples_room, &samples_lock);
	samples[(first + count++) % ROOM] = value;
	pthread_cond_signal(&samples_here);
	pthread_mutex_unlock(&samples_lock);
}

static void sampler_ends(void)
{
	pthread_mutex_lock(&samples_lock);
	samplers--;
	pthread_cond_signal(&samples_here);
	pthread_mutex_unlock(&samples_lock);
}

static void *sample_cpu(void *data)
{
	for (int i = 0; i < 40; i++) {
		submit(i);
		usleep(7000);
	}
	sampler_ends();
	return NULL;
}

static void *sample_disk(void *data)
{
	for (int i = 0; i < 20; i++) {
		submit(i == 7 ? -1 : 100 + i); /* the counter wrapped */
		usleep(14000);
	}
	sampler_ends();
	return NULL;
}

static void *sample_net(void *data)
{
	for (int i = 0; i < 25; i++) {
		submit(200 + i);
		usleep(11000);
	}
	sampler_ends();
	return NULL;
}

static int store(int value)
{
	usleep(1500);
	if (value < 0)
		return -ERANGE;
	stored++;
	return 0;
}

static void *aggregate(void *data)
{
	for (;;) {
		int value;

		pthread_mutex_lock(&samples_lock);
		while (!count && samplers)
			pthread_cond_wait(&samples_here, &samples_lock);
		if (!count) {
			pthread_mutex_unlock(&samples_lock);
			return NULL;
		}
		value = samples[first];
		first = (first + 1) % ROOM;
		count--;
		pthread_cond_signal(&samples_room);
		pthread_mutex_unlock(&samples_lock);
		if (store(value) < 0) {
			if (broken)
				return NULL;
			dropped++;
		}
	}
}

int main(int argc, char **argv)
{
	void *(*functions[])(void *) = {sample_cpu, sample_disk, sample_net, aggregate};
	pthread_t threads[4];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, functions[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d stored, %d dropped\n", stored, dropped);
	return 0;
}
