/* SPDX-License-Identifier: ISC */
/*
 * After obsproject/obs-studio #9946.
 *
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: When an encoder fails, gpu_encode_thread itself stops it: full_stop, remove_connection, stop_gpu_encode. That
 *     waits for the event "gpu_encode_inactive", which only gpu_encode_thread signals, at the end of the same frame. So
 *     the thread waits for itself; the other encoder gets no frames either, and the one who stops the outputs hangs.
 *   culprit: gpu_encode|gpu encode|stop_gpu_encode
 *   victim: main\b|graphics
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A recorder of the screen: one thread composes frames, one encodes them for the stream and for the file. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	QUEUE = 3,
	ENCODERS = 2,
	FRAMES = 40,
	FULL_AT = 22
};

struct os_event {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool signalled;
};

static void os_event_init(struct os_event *event, bool signalled)
{
	pthread_mutex_init(&event->mutex, NULL);
	pthread_cond_init(&event->cond, NULL);
	event->signalled = signalled;
}

static void os_event_signal(struct os_event *event)
{
	pthread_mutex_lock(&event->mutex);
	event->signalled = true;
	pthread_cond_broadcast(&event->cond);
	pthread_mutex_unlock(&event->mutex);
}

static void os_event_reset(struct os_event *event)
{
	pthread_mutex_lock(&event->mutex);
	event->signalled = false;
	pthread_mutex_unlock(&event->mutex);
}

static void os_event_wait(struct os_event *event)
{
	pthread_mutex_lock(&event->mutex);
	while (!event->signalled)
		pthread_cond_wait(&event->cond, &event->mutex);
	pthread_mutex_unlock(&event->mutex);
}

struct obs_encoder {
	const char *name;
	_Atomic bool active;
	unsigned packets;
	unsigned room; /* for packets */
};

static struct core_video {
	struct obs_encoder encoder[ENCODERS];
	pthread_mutex_t encoder_mutex;
	sem_t gpu_encode_semaphore; /* frames in the queue */
	sem_t free_textures;
	struct os_event gpu_encode_inactive; /* no frame is under way */
	struct os_event stopped;             /* no encoder is active any more */
	_Atomic bool encode_stop;
	bool broken;
	unsigned frames;
} video;

static void encoders_changed(void)
{
	bool any = false;

	pthread_mutex_lock(&video.encoder_mutex);
	for (int i = 0; i < ENCODERS; i++)
		any |= video.encoder[i].active;
	pthread_mutex_unlock(&video.encoder_mutex);
	if (!any)
		os_event_signal(&video.stopped);
}

/* After this, the encoder isn't used by the thread any more. */
static void stop_gpu_encode(struct obs_encoder *encoder)
{
	pthread_mutex_lock(&video.encoder_mutex);
	encoder->active = false;
	pthread_mutex_unlock(&video.encoder_mutex);
	os_event_wait(&video.gpu_encode_inactive);
}

static void remove_connection(struct obs_encoder *encoder)
{
	stop_gpu_encode(encoder);
	printf("%s: closed after %u packets\n", encoder->name, encoder->packets);
}

static void full_stop(struct obs_encoder *encoder)
{
	remove_connection(encoder);
	encoders_changed();
}

static bool encode(struct obs_encoder *encoder)
{
	usleep(1500);
	if (encoder->packets == encoder->room)
		return false;
	encoder->packets++;
	return true;
}

static void *gpu_encode_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "gpu encode");
	for (;;) {
		struct obs_encoder *failed = NULL;

		sem_wait(&video.gpu_encode_semaphore);
		if (video.encode_stop)
			break;
		os_event_reset(&video.gpu_encode_inactive);
		for (int i = 0; i < ENCODERS; i++) {
			struct obs_encoder *encoder = &video.encoder[i];

			if (!encoder->active)
				continue;
			if (!encode(encoder)) {
				if (video.broken)
					full_stop(encoder);
				else
					failed = encoder;
			}
		}
		os_event_signal(&video.gpu_encode_inactive);
		if (failed)
			full_stop(failed);
		sem_post(&video.free_textures);
	}
	return NULL;
}

static void *graphics_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "graphics");
	while (!video.encode_stop) {
		usleep(8000); /* composes the scene */
		/* A frame that finds no texture is skipped, so that the preview goes on. */
		if (!sem_trywait(&video.free_textures))
			sem_post(&video.gpu_encode_semaphore);
		video.frames++;
	}
	return NULL;
}

static void *audio_thread(void *data)
{
	unsigned *ticks = data;

	pthread_setname_np(pthread_self(), "audio");
	while (!video.encode_stop) {
		usleep(10000);
		++*ticks;
	}
	return NULL;
}

static pthread_t start(void *(*function)(void *), void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, data))
		exit(2);
	return thread;
}

int main(int argc, char **argv)
{
	static unsigned ticks;
	pthread_t encoder, graphics, audio;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	video.broken = !strcmp(argv[1], "broken");
	pthread_mutex_init(&video.encoder_mutex, NULL);
	sem_init(&video.gpu_encode_semaphore, 0, 0);
	sem_init(&video.free_textures, 0, QUEUE);
	os_event_init(&video.gpu_encode_inactive, true);
	os_event_init(&video.stopped, false);
	video.encoder[0] = (struct obs_encoder){"recording", true, 0, FULL_AT};
	video.encoder[1] = (struct obs_encoder){"stream", true, 0, 1000000};
	encoder = start(gpu_encode_thread, NULL);
	graphics = start(graphics_thread, NULL);
	audio = start(audio_thread, &ticks);
	usleep(FRAMES * 10000);
	/* The user stops the stream. The recording has ended before, for lack of space. */
	full_stop(&video.encoder[1]);
	os_event_wait(&video.stopped);
	video.encode_stop = true;
	sem_post(&video.gpu_encode_semaphore);
	pthread_join(graphics, NULL);
	pthread_join(audio, NULL);
	pthread_join(encoder, NULL);
	printf("%u frames, %u ticks\n", video.frames, ticks);
	return 0;
}
