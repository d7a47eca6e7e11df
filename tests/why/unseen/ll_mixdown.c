/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: skip_silence doesn't count chunks_open down. It should have counted the silent chunk as mixed.
 *   culprit: skip_silence|chunks_open
 *   victim: bounce_song|song_mixed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_MIXERS 3
#define N_CHUNKS 48
#define CHUNK 2048

struct song {
	const char *title;
	unsigned loudness[N_CHUNKS]; /* 0: the chunk is silent. */
};

static pthread_mutex_t desk_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t chunks_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t song_mixed = PTHREAD_COND_INITIALIZER;
static const struct song *playing;
static int next_chunk = N_CHUNKS;
static int chunks_open;
static int chunks_silent;
static bool desk_closed, exact;
static double peak;

static double mix_chunk(unsigned loudness, int index)
{
	double highest = 0;
	for (int i = 0; i < CHUNK; i++) {
		double sample = loudness * sin(i * 0.01 * (index + 1)) + 0.5 * cos(i * 0.003);
		if (sample > highest)
			highest = sample;
	}
	usleep(800);
	return highest;
}

static void finish_chunk(double highest)
{
	pthread_mutex_lock(&desk_lock);
	if (highest > peak)
		peak = highest;
	if (--chunks_open == 0)
		pthread_cond_signal(&song_mixed);
	pthread_mutex_unlock(&desk_lock);
}

static void skip_silence(void)
{
	pthread_mutex_lock(&desk_lock);
	chunks_silent++;
	if (exact && --chunks_open == 0)
		pthread_cond_signal(&song_mixed);
	pthread_mutex_unlock(&desk_lock);
}

static void *mixer(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&desk_lock);
		while (next_chunk == N_CHUNKS && !desk_closed)
			pthread_cond_wait(&chunks_ready, &desk_lock);
		if (next_chunk == N_CHUNKS) {
			pthread_mutex_unlock(&desk_lock);
			return NULL;
		}
		int chunk = next_chunk++;
		unsigned loudness = playing->loudness[chunk];
		pthread_mutex_unlock(&desk_lock);
		if (loudness == 0)
			skip_silence();
		else
			finish_chunk(mix_chunk(loudness, chunk));
	}
}

static void bounce_song(const struct song *song)
{
	pthread_mutex_lock(&desk_lock);
	playing = song;
	next_chunk = 0;
	chunks_open = N_CHUNKS;
	peak = 0;
	pthread_cond_broadcast(&chunks_ready);
	while (chunks_open > 0)
		pthread_cond_wait(&song_mixed, &desk_lock);
	printf("%s: peak %.2f, %d silent\n", song->title, peak, chunks_silent);
	pthread_mutex_unlock(&desk_lock);
}

int main(int argc, char **argv)
{
	static struct song songs[] = {{"overture", {0}}, {"waltz", {0}}, {"finale", {0}}};
	pthread_t mixers[N_MIXERS];

	exact = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int s = 0; s < 3; s++)
		for (int c = 0; c < N_CHUNKS; c++)
			songs[s].loudness[c] = 1 + (c * 7 + s) % 5;
	songs[1].loudness[20] = 0; /* The waltz has a rest. */
	songs[2].loudness[47] = 0;
	for (int i = 0; i < N_MIXERS; i++)
		pthread_create(&mixers[i], NULL, mixer, NULL);
	for (int s = 0; s < 3; s++)
		bounce_song(&songs[s]);
	pthread_mutex_lock(&desk_lock);
	desk_closed = true;
	pthread_cond_broadcast(&chunks_ready);
	pthread_mutex_unlock(&desk_lock);
	for (int i = 0; i < N_MIXERS; i++)
		pthread_join(mixers[i], NULL);
	return 0;
}
