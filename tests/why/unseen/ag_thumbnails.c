/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: thumbnail_raw() takes a place of the semaphore “decoders” and returns without sem_post() if the file is
 *     truncated. After two such files both places are gone, and all workers wait in thumbnail_jpeg() for a place.
 *   culprit: thumbnail_raw
 *   victim: thumbnail_jpeg|wait_for_album
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A thumbnailer: three workers make thumbnails of a camera's pictures, and at most two decode at the same time. */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define WORKERS 3
#define DECODERS 2
#define MAX_IMAGES 32

struct image {
	const char *name;
	size_t size;
};

struct album {
	struct image images[MAX_IMAGES];
	size_t count, next, done, failed;
	bool complete;
};

static const struct image first_card[] = {
	{"beach.jpg", 81000},
	{"harbour.raw", 940000},
	{"tower.raw", 940000},
	{"market.jpg", 77000},
	{"notes.txt", 1200},
};

/* The camera's battery was empty. */
static const struct image first_card_cut[] = {
	{"beach.jpg", 81000},
	{"harbour.raw", 311000},
	{"tower.raw", 4096},
	{"market.jpg", 77000},
	{"notes.txt", 1200},
};

static const struct image second_card[] = {
	{"boat.jpg", 64000},
	{"sunset.jpg", 90500},
	{"dinner.jpg", 70100},
	{"train.jpg", 69000},
	{"home.jpg", 55000},
};

static pthread_mutex_t album_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more_images = PTHREAD_COND_INITIALIZER;
static pthread_cond_t album_done = PTHREAD_COND_INITIALIZER;
static struct album album;
static sem_t decoders;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static NOINLINE void add_card(const struct image *images, size_t count)
{
	pthread_mutex_lock(&album_lock);
	for (size_t i = 0; i < count && album.count < MAX_IMAGES; i++)
		album.images[album.count++] = images[i];
	pthread_cond_broadcast(&more_images);
	pthread_mutex_unlock(&album_lock);
}

/* The work of the decoder chip. */
static NOINLINE void decode(const struct image *image)
{
	pause_ms(image->size > 500000 ? 40 : 20);
}

static NOINLINE int thumbnail_jpeg(const struct image *image)
{
	int result = 0;

	while (sem_wait(&decoders))
		continue;
	decode(image);
	if (image->size < 1000)
		result = -1;
	sem_post(&decoders);
	return result;
}

static NOINLINE int thumbnail_raw(const struct image *image)
{
	while (sem_wait(&decoders))
		continue;
	pause_ms(5); /* reads the head of the file */
	if (image->size < 940000) {
		fprintf(stderr, "%s: file is truncated\n", image->name);
		return -1;
	}
	decode(image);
	sem_post(&decoders);
	return 0;
}

static bool has_suffix(const char *name, const char *suffix)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcmp(dot, suffix);
}

static NOINLINE int make_thumbnail(const struct image *image)
{
	int result = -1;

	if (has_suffix(image->name, ".jpg"))
		result = thumbnail_jpeg(image);
	else if (has_suffix(image->name, ".raw"))
		result = thumbnail_raw(image);
	if (result)
		fprintf(stderr, "%s: no thumbnail\n", image->name);
	return result;
}

static NOINLINE const struct image *next_image(void)
{
	const struct image *image = NULL;

	pthread_mutex_lock(&album_lock);
	while (album.next == album.count && !album.complete)
		pthread_cond_wait(&more_images, &album_lock);
	if (album.next < album.count)
		image = &album.images[album.next++];
	pthread_mutex_unlock(&album_lock);
	return image;
}

static NOINLINE void finish_image(int result)
{
	pthread_mutex_lock(&album_lock);
	album.done++;
	if (result)
		album.failed++;
	if (album.done == album.count)
		pthread_cond_signal(&album_done);
	pthread_mutex_unlock(&album_lock);
}

static void *thumbnail_worker(void *data)
{
	const struct image *image;
	char name[16];

	snprintf(name, sizeof(name), "thumb-%d", (int)(size_t)data);
	pthread_setname_np(pthread_self(), name);
	while ((image = next_image()))
		finish_image(make_thumbnail(image));
	return NULL;
}

static NOINLINE size_t wait_for_album(void)
{
	size_t failed;

	pthread_mutex_lock(&album_lock);
	album.complete = true;
	pthread_cond_broadcast(&more_images);
	while (album.done < album.count)
		pthread_cond_wait(&album_done, &album_lock);
	failed = album.failed;
	pthread_mutex_unlock(&album_lock);
	return failed;
}

int main(int argc, char **argv)
{
	bool cut = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t workers[WORKERS];
	size_t failed;

	if (sem_init(&decoders, 0, DECODERS))
		return EXIT_FAILURE;
	for (size_t i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, thumbnail_worker, (void *)(i + 1)))
			return EXIT_FAILURE;
	add_card(cut ? first_card_cut : first_card, sizeof(first_card) / sizeof(*first_card));
	pause_ms(450); /* the user changes the card */
	add_card(second_card, sizeof(second_card) / sizeof(*second_card));
	failed = wait_for_album();
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	sem_destroy(&decoders);
	printf("%zu thumbnails, %zu files without\n", album.count - failed, failed);
	return EXIT_SUCCESS;
}
