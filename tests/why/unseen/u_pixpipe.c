/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the decoder thread (decode_images) meets a corrupt image and returns quietly, without closing either queue. The reader then waits for ever for room in the full raw queue, the resizer and the writer for pictures, and main for the reader.
 *   culprit: decode_images|decode-images|\bdecoder?\b
 *   victim: read_files|resize_images|write_thumbs|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* pixpipe: makes thumbnails: read -> decode -> resize -> write. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOM 4
struct picture {
	int number;
	bool corrupt;
};
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty, not_full;
	struct picture items[ROOM];
	int first, count;
	bool closed;
};
#define QUEUE \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER, \
		.not_full = PTHREAD_COND_INITIALIZER \
	}
static struct queue raw_queue = QUEUE, pixel_queue = QUEUE, thumb_queue = QUEUE;
static bool broken;
static int skipped, written;

static void queue_push(struct queue *q, struct picture p)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == ROOM)
		pthread_cond_wait(&q->not_full, &q->lock);
	q->items[(q->first + q->count++) % ROOM] = p;
	pthread_cond_signal(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

static bool queue_pop(struct queue *q, struct picture *p)
{
	pthread_mutex_lock(&q->lock);
	while (!q->count && !q->closed)
		pthread_cond_wait(&q->not_empty, &q->lock);
	bool got = q->count > 0;
	if (got) {
		*p = q->items[q->first++ % ROOM];
		q->count--;
		pthread_cond_signal(&q->not_full);
	}
	pthread_mutex_unlock(&q->lock);
	return got;
}

static void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

static void *read_files(void *none)
{
	for (int i = 0; i < 40; i++) {
		usleep(2000);
		queue_push(&raw_queue, (struct picture){i, i == 17});
	}
	queue_close(&raw_queue);
	return none;
}

static int decode(struct picture *p)
{
	usleep(4000);
	return p->corrupt ? -1 : 0;
}

static void *decode_images(void *none)
{
	struct picture p;

	while (queue_pop(&raw_queue, &p)) {
		if (decode(&p) < 0) {
			if (broken)
				return NULL; /* the bug */
			skipped++;
			continue;
		}
		queue_push(&pixel_queue, p);
	}
	queue_close(&pixel_queue);
	return none;
}

static void *resize_images(void *none)
{
	struct picture p;

	while (queue_pop(&pixel_queue, &p)) {
		usleep(1500);
		queue_push(&thumb_queue, p);
	}
	queue_close(&thumb_queue);
	return none;
}

static void *write_thumbs(void *none)
{
	struct picture p;

	while (queue_pop(&thumb_queue, &p)) {
		usleep(500);
		written++;
	}
	return none;
}

int main(int argc, char **argv)
{
	pthread_t reader, decoder, resizer, writer;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&reader, NULL, read_files, NULL);
	pthread_create(&decoder, NULL, decode_images, NULL);
	pthread_create(&resizer, NULL, resize_images, NULL);
	pthread_create(&writer, NULL, write_thumbs, NULL);
	pthread_join(reader, NULL);
	pthread_join(decoder, NULL);
	pthread_join(resizer, NULL);
	pthread_join(writer, NULL);
	printf("%d thumbs, %d skipped\n", written, skipped);
	return 0;
}
