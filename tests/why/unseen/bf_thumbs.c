/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_album waits for the condition album_idle until no picture is left. finish_picture counts
 *     down and signals it, but drop_picture, for damaged pictures, only counts down. The last picture of
 *     album 5 is damaged, so nobody signals.
 *   culprit: album_idle|drop_picture|finish_picture
 *   victim: next_album|upload
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* Two threads make small pictures of an album; the album is done when none is left. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAKERS 2
#define PICTURES 12

static pthread_mutex_t album_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t picture_queued = PTHREAD_COND_INITIALIZER;
static pthread_cond_t album_idle = PTHREAD_COND_INITIALIZER;
static int queue[64], queue_first, queue_count;
static int pictures_left, made, damaged;
static bool drops_quietly;

static pthread_mutex_t upload_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next_album = PTHREAD_COND_INITIALIZER;
static int albums_done, albums_uploaded;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void __attribute__((noinline)) finish_picture(void)
{
	pthread_mutex_lock(&album_lock);
	made++;
	if (--pictures_left == 0)
		pthread_cond_signal(&album_idle);
	pthread_mutex_unlock(&album_lock);
}

/* A damaged picture has no small one. */
static void __attribute__((noinline)) drop_picture(void)
{
	pthread_mutex_lock(&album_lock);
	damaged++;
	if (--pictures_left == 0 && !drops_quietly)
		pthread_cond_signal(&album_idle);
	pthread_mutex_unlock(&album_lock);
}

static bool scale_picture(int picture)
{
	/* Picture 11 of album 5 takes longest to read, and ends in the middle. */
	if (picture == 511) {
		pause_ms(80);
		return false;
	}
	pause_ms(1 + picture % 3);
	return true;
}

static void *make_small(void *data)
{
	(void)data;
	for (;;) {
		int picture;

		pthread_mutex_lock(&album_lock);
		while (queue_count == 0)
			pthread_cond_wait(&picture_queued, &album_lock);
		picture = queue[queue_first];
		queue_first = (queue_first + 1) % 64;
		queue_count--;
		pthread_mutex_unlock(&album_lock);
		if (scale_picture(picture))
			finish_picture();
		else
			drop_picture();
	}
	return NULL;
}

static void queue_album(int album)
{
	pthread_mutex_lock(&album_lock);
	for (int i = 0; i < PICTURES; i++) {
		queue[(queue_first + queue_count) % 64] = album * 100 + i;
		queue_count++;
	}
	pictures_left = PICTURES;
	pthread_cond_broadcast(&picture_queued);
	pthread_mutex_unlock(&album_lock);
}

static void __attribute__((noinline)) run_album(int album)
{
	queue_album(album);
	pthread_mutex_lock(&album_lock);
	while (pictures_left > 0)
		pthread_cond_wait(&album_idle, &album_lock);
	pthread_mutex_unlock(&album_lock);
}

/* Uploads the albums that are done. */
static void *upload(void *data)
{
	(void)data;
	for (;;) {
		pthread_mutex_lock(&upload_lock);
		while (albums_uploaded == albums_done)
			pthread_cond_wait(&next_album, &upload_lock);
		albums_uploaded++;
		pthread_mutex_unlock(&upload_lock);
		pause_ms(5);
		if (albums_uploaded % 10 == 0) {
			printf("%d albums\n", albums_uploaded);
			fflush(stdout);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	drops_quietly = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < MAKERS; i++)
		if (pthread_create(&thread, NULL, make_small, NULL))
			return 1;
	if (pthread_create(&thread, NULL, upload, NULL))
		return 1;
	for (int album = 1;; album++) {
		run_album(album);
		pthread_mutex_lock(&upload_lock);
		albums_done++;
		pthread_cond_signal(&next_album);
		pthread_mutex_unlock(&upload_lock);
	}
}
