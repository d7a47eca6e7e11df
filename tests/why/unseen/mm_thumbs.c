/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: close_queue signals one worker, but four sleep on has_jobs; it should have broadcast.
 *   culprit: close_queue
 *   victim: scale_worker|join_workers|has_jobs
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Makes thumbnails of a photo album with a pool of threads, and prints how many bytes they take. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WORKERS = 4,
	PHOTOS = 48,
	DECODERS = 2,
	SIZES = 8
};

struct photo {
	struct photo *next;
	int number;
	unsigned width, height;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_jobs = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static struct photo *queue_head, **queue_tail = &queue_head;
static int unfinished;
static bool closing, stop_all;

static pthread_rwlock_t sizes_lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned size_count[SIZES];
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total_bytes;
static sem_t decoders;
static pthread_t workers[WORKERS];

static struct photo *take_photo(void)
{
	struct photo *photo;

	pthread_mutex_lock(&queue_lock);
	while (!queue_head && !closing)
		pthread_cond_wait(&has_jobs, &queue_lock);
	photo = queue_head;
	if (photo) {
		queue_head = photo->next;
		if (!queue_head)
			queue_tail = &queue_head;
	}
	pthread_mutex_unlock(&queue_lock);
	return photo;
}

static void finish_photo(struct photo *photo)
{
	free(photo);
	pthread_mutex_lock(&queue_lock);
	if (--unfinished == 0)
		pthread_cond_signal(&all_done);
	pthread_mutex_unlock(&queue_lock);
}

/* The decoder needs much memory, so only two photos are decoded at a time. */
static unsigned long decode(const struct photo *photo)
{
	unsigned long sum = photo->number;

	while (sem_wait(&decoders))
		continue;
	for (unsigned i = 0; i < photo->width * 40; i++)
		sum = sum * 31 + i;
	usleep(1500);
	sem_post(&decoders);
	return 900 + sum % 500;
}

static void note_size(const struct photo *photo)
{
	unsigned bucket = photo->width / 400 % SIZES;
	bool known;

	pthread_rwlock_rdlock(&sizes_lock);
	known = size_count[bucket] > 0;
	pthread_rwlock_unlock(&sizes_lock);
	if (known && photo->number % 3)
		return;
	pthread_rwlock_wrlock(&sizes_lock);
	size_count[bucket]++;
	pthread_rwlock_unlock(&sizes_lock);
}

static void *scale_worker(void *unused)
{
	struct photo *photo;
	unsigned long bytes;

	(void)unused;
	while ((photo = take_photo())) {
		bytes = decode(photo);
		note_size(photo);
		pthread_mutex_lock(&total_lock);
		total_bytes += bytes;
		pthread_mutex_unlock(&total_lock);
		finish_photo(photo);
	}
	return NULL;
}

static void submit(int number)
{
	struct photo *photo = calloc(1, sizeof(*photo));

	if (!photo)
		abort();
	photo->number = number;
	photo->width = 640 + number * 37;
	photo->height = photo->width * 3 / 4;
	pthread_mutex_lock(&queue_lock);
	*queue_tail = photo;
	queue_tail = &photo->next;
	unfinished++;
	pthread_cond_signal(&has_jobs);
	pthread_mutex_unlock(&queue_lock);
}

static void wait_for_album(void)
{
	pthread_mutex_lock(&queue_lock);
	while (unfinished > 0)
		pthread_cond_wait(&all_done, &queue_lock);
	pthread_mutex_unlock(&queue_lock);
}

static void close_queue(void)
{
	pthread_mutex_lock(&queue_lock);
	closing = true;
	if (stop_all)
		pthread_cond_broadcast(&has_jobs);
	else
		pthread_cond_signal(&has_jobs); /* the bug: one worker wakes */
	pthread_mutex_unlock(&queue_lock);
}

static void join_workers(void)
{
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

int main(int argc, char **argv)
{
	stop_all = argc > 1 && !strcmp(argv[1], "healthy");
	if (sem_init(&decoders, 0, DECODERS))
		return 1;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, scale_worker, NULL))
			return 1;
	for (int number = 0; number < PHOTOS; number++) {
		submit(number);
		if (number % 12 == 11)
			usleep(8000); /* the next folder is read */
	}
	wait_for_album();
	printf("%d thumbnails, %lu bytes\n", PHOTOS, total_bytes);
	fflush(stdout);
	usleep(25000); /* writes the index page */
	close_queue();
	join_workers();
	puts("done");
	return 0;
}
