/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: queue_cancel takes the waiting segments of a film that its viewer has left out of the queue, but doesn't count them
 *     down in `outstanding`. So film_wait waits for segments that nobody encodes any more.
 *   culprit: queue_cancel|viewer_leaves|outstanding
 *   victim: film_wait|publisher-|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Encodes films in segments, on a pool of threads. A publisher writes the index when all segments of its film are done. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ENCODERS = 3,
	FILMS = 4,
	SEGMENTS = 14
};

struct film {
	const char *title;
	pthread_t publisher;
	pthread_mutex_t mutex;
	pthread_cond_t all_done;
	int outstanding;
	int encoded;
};

struct segment {
	struct film *film;
	int number;
	struct segment *next;
};

static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct segment *queue_first;
static struct segment **queue_end = &queue_first;
static bool is_closing;
static bool counts_cancelled;
static atomic_int frames;
static struct film films[FILMS] = {{.title = "harbour"}, {.title = "glacier"}, {.title = "orchard"},
	{.title = "foundry"}};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static void segment_done(struct film *film, bool is_encoded)
{
	pthread_mutex_lock(&film->mutex);
	film->encoded += is_encoded;
	if (--film->outstanding == 0)
		pthread_cond_signal(&film->all_done);
	pthread_mutex_unlock(&film->mutex);
}

static void queue_add(struct film *film, int number)
{
	struct segment *segment = calloc(1, sizeof(*segment));

	if (!segment)
		abort();
	segment->film = film;
	segment->number = number;
	pthread_mutex_lock(&film->mutex);
	film->outstanding++;
	pthread_mutex_unlock(&film->mutex);
	pthread_mutex_lock(&queue_mutex);
	*queue_end = segment;
	queue_end = &segment->next;
	pthread_cond_signal(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
}

static int queue_cancel(struct film *film)
{
	int count = 0;

	pthread_mutex_lock(&queue_mutex);
	for (struct segment **place = &queue_first; *place;) {
		struct segment *segment = *place;

		if (segment->film != film) {
			place = &segment->next;
			continue;
		}
		*place = segment->next;
		if (!*place)
			queue_end = place;
		free(segment);
		if (counts_cancelled)
			segment_done(film, false);
		count++;
	}
	pthread_mutex_unlock(&queue_mutex);
	return count;
}

static void *encode(void *data)
{
	char name[16];

	snprintf(name, sizeof(name), "encoder-%d", *(int *)data);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&queue_mutex);
	for (;;) {
		struct segment *segment = queue_first;

		if (!segment && is_closing)
			break;
		if (!segment) {
			pthread_cond_wait(&queue_changed, &queue_mutex);
			continue;
		}
		queue_first = segment->next;
		if (!queue_first)
			queue_end = &queue_first;
		pthread_mutex_unlock(&queue_mutex);
		pause_ms(15);
		atomic_fetch_add(&frames, 50);
		segment_done(segment->film, true);
		free(segment);
		pthread_mutex_lock(&queue_mutex);
	}
	pthread_mutex_unlock(&queue_mutex);
	return NULL;
}

static void film_wait(struct film *film)
{
	pthread_mutex_lock(&film->mutex);
	while (film->outstanding > 0)
		pthread_cond_wait(&film->all_done, &film->mutex);
	pthread_mutex_unlock(&film->mutex);
}

static void *publish(void *data)
{
	struct film *film = data;
	char name[16];

	snprintf(name, sizeof(name), "publisher-%d", (int)(film - films));
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < SEGMENTS; i++)
		queue_add(film, i);
	film_wait(film);
	printf("%s: index of %d segments written\n", film->title, film->encoded);
	return NULL;
}

static void viewer_leaves(struct film *film)
{
	printf("%s: viewer left, %d segments dropped\n", film->title, queue_cancel(film));
}

static void *meter(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "meter");
	for (;;) {
		pause_ms(100);
		printf("%d frames\n", atomic_load(&frames));
		fflush(stdout);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t encoders[ENCODERS];
	pthread_t meter_thread;
	int numbers[ENCODERS];

	if (count < 2)
		return 2;
	counts_cancelled = !strcmp(arguments[1], "healthy");
	pthread_create(&meter_thread, NULL, meter, NULL);
	for (int i = 0; i < ENCODERS; i++) {
		numbers[i] = i;
		pthread_create(&encoders[i], NULL, encode, &numbers[i]);
	}
	for (int i = 0; i < FILMS; i++) {
		pthread_mutex_init(&films[i].mutex, NULL);
		pthread_cond_init(&films[i].all_done, NULL);
		pthread_create(&films[i].publisher, NULL, publish, &films[i]);
		pause_ms(5);
	}
	pause_ms(60);
	viewer_leaves(&films[2]);
	for (int i = 0; i < FILMS; i++)
		pthread_join(films[i].publisher, NULL);
	pthread_mutex_lock(&queue_mutex);
	is_closing = true;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
	for (int i = 0; i < ENCODERS; i++)
		pthread_join(encoders[i], NULL);
	return 0;
}
