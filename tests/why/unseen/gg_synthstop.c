/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The audio thread waits in fifo_read for a rendered buffer while it holds audio_lock; the renderer has ended
 *     and posted no last empty buffer. stop_processing wants audio_lock to pause the device, and waits behind it.
 *   culprit: audio-out|fifo_read|run_device|fill_buffer|render
 *   victim: \bmain\b|stop_processing
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The sound output of a music program: a renderer fills a queue, the device's callback empties it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 4
#define PERIODS 12

struct fifo {
	sem_t filled, free;
	float slots[SLOTS];
	bool is_last[SLOTS];
	unsigned first, next;
	bool has_ended; /* seen by the reader */
};

static bool sends_last;
static struct fifo fifo;
static atomic_uint underruns;

static pthread_mutex_t audio_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_paused;
static float played;

static void fifo_write(float sample, bool is_last)
{
	while (sem_wait(&fifo.free))
		continue;
	fifo.slots[fifo.next % SLOTS] = sample;
	fifo.is_last[fifo.next++ % SLOTS] = is_last;
	sem_post(&fifo.filled);
}

static float fifo_read(void)
{
	float sample;

	if (fifo.has_ended) {
		atomic_fetch_add(&underruns, 1);
		return 0;
	}
	if (sem_trywait(&fifo.filled)) {
		atomic_fetch_add(&underruns, 1);
		while (sem_wait(&fifo.filled))
			continue;
	}
	sample = fifo.slots[fifo.first % SLOTS];
	fifo.has_ended = fifo.is_last[fifo.first++ % SLOTS];
	sem_post(&fifo.free);
	return sample;
}

/* The callback of the device. The device's lock is held. */
static void fill_buffer(void)
{
	played += fifo_read();
}

static void *run_device(void *data)
{
	bool goes_on = true;

	(void)data;
	pthread_setname_np(pthread_self(), "audio-out");
	while (goes_on) {
		pthread_mutex_lock(&audio_lock);
		if (!is_paused)
			fill_buffer();
		goes_on = !is_paused;
		pthread_mutex_unlock(&audio_lock);
		usleep(2000);
	}
	return NULL;
}

static void *render(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "render");
	for (unsigned i = 0; i < PERIODS; i++)
		fifo_write((float)i / PERIODS, false);
	if (sends_last)
		fifo_write(0, true);
	return NULL;
}

static void stop_processing(void)
{
	pthread_mutex_lock(&audio_lock);
	is_paused = true;
	pthread_mutex_unlock(&audio_lock);
}

int main(int argc, char **argv)
{
	pthread_t device, renderer;
	unsigned before;

	sends_last = argc > 1 && strcmp(argv[1], "healthy") == 0;
	sem_init(&fifo.filled, 0, 0);
	sem_init(&fifo.free, 0, SLOTS);
	pthread_create(&renderer, NULL, render, NULL);
	pthread_create(&device, NULL, run_device, NULL);
	pthread_join(renderer, NULL);
	before = atomic_load(&underruns);
	/* The song has ended. The window is closed some time after the last sound. */
	for (int i = 0; i < 200 && atomic_load(&underruns) == before; i++)
		usleep(10000);
	stop_processing();
	pthread_join(device, NULL);
	printf("played %.1f\n", (double)played);
	return 0;
}
