/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: The decoder thread meets a corrupt frame and returns without leaving the barrier of three; resampler and mixer wait for the third party of the barrier, main waits for them.
 *   culprit: decode_thread
 *   victim: resample_thread|mix_thread|frame_barrier|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An audio renderer: three stages work in step, a frame at a time. Knows nothing of tracers. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct barrier {
	pthread_mutex_t mutex;
	pthread_cond_t turned;
	int parties, arrived;
	unsigned turn;
};

static struct barrier frame_barrier = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 3, 0,
	0};
static bool broken;
static int frames_mixed;

static void barrier_turn(struct barrier *barrier)
{
	barrier->arrived = 0;
	barrier->turn++;
	pthread_cond_broadcast(&barrier->turned);
}

static void barrier_arrive(struct barrier *barrier)
{
	pthread_mutex_lock(&barrier->mutex);
	unsigned turn = barrier->turn;

	if (++barrier->arrived >= barrier->parties)
		barrier_turn(barrier);
	while (turn == barrier->turn)
		pthread_cond_wait(&barrier->turned, &barrier->mutex);
	pthread_mutex_unlock(&barrier->mutex);
}

static void barrier_leave(struct barrier *barrier)
{
	pthread_mutex_lock(&barrier->mutex);
	barrier->parties--;
	if (barrier->parties > 0 && barrier->arrived >= barrier->parties)
		barrier_turn(barrier);
	pthread_mutex_unlock(&barrier->mutex);
}

static void *decode_thread(void *data)
{
	for (int frame = 0; frame < 20; frame++) {
		usleep(6000);
		if (frame == 12) {
			fprintf(stderr, "frame %d is corrupt, the rest is silence\n", frame);
			if (!broken)
				barrier_leave(&frame_barrier);
			return NULL;
		}
		barrier_arrive(&frame_barrier);
	}
	return NULL;
}

static void *resample_thread(void *data)
{
	for (int frame = 0; frame < 20; frame++) {
		usleep(3000);
		barrier_arrive(&frame_barrier);
	}
	return NULL;
}

static void *mix_thread(void *data)
{
	for (int frame = 0; frame < 20; frame++) {
		usleep(4000);
		frames_mixed++;
		barrier_arrive(&frame_barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t decoder, resampler, mixer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&decoder, NULL, decode_thread, NULL);
	pthread_create(&resampler, NULL, resample_thread, NULL);
	pthread_create(&mixer, NULL, mix_thread, NULL);
	pthread_join(decoder, NULL);
	pthread_join(resampler, NULL);
	pthread_join(mixer, NULL);
	printf("%d frames\n", frames_mixed);
	return 0;
}
