/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The uploader thread returns after an upload that fails (quota), without a word to anybody. The queue "resized" before it fills up; then the resizer and the decoder block, too.
 *   culprit: uploader
 *   victim: resizer|decoder
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* thumbs: decoder -> resizer -> uploader, over bounded queues; annotated sparsely */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define IMAGES 30
#define ROOM 4

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int images[ROOM], first, count, readers;
	thrum_task task;
};

static struct queue decoded = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static struct queue resized = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static bool broken;

static void block(struct queue *queue)
{
	thrum_task_wait(thrum_task_current(), queue->task);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&queue->changed, &queue->mutex);
	thrum_resume();
}

static void put(struct queue *queue, int image)
{
	pthread_mutex_lock(&queue->mutex);
	while (queue->count == ROOM)
		block(queue);
	queue->images[(queue->first + queue->count++) % ROOM] = image;
	thrum_task_signal(queue->task, queue->readers);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
}

static int take(struct queue *queue)
{
	int image;

	pthread_mutex_lock(&queue->mutex);
	queue->readers++;
	while (queue->count == 0)
		block(queue);
	queue->readers--;
	image = queue->images[queue->first++ % ROOM];
	queue->count--;
	thrum_task_read(thrum_task_current(), queue->task);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	return image;
}

static void *decoder(void *data)
{
	thrum_lane_name("decoder");
	for (int i = 1; i <= IMAGES; i++) {
		usleep(2000);
		put(&decoded, i);
	}
	put(&decoded, 0);
	return NULL;
}

static void *resizer(void *data)
{
	int image;

	thrum_lane_name("resizer");
	do {
		image = take(&decoded);
		usleep(4000);
		put(&resized, image);
	} while (image);
	return NULL;
}

static bool upload(int image)
{
	usleep(3000);
	return image != 12;
}

static void *uploader(void *data)
{
	int image;

	thrum_lane_name("uploader");
	while ((image = take(&resized))) {
		if (!upload(image)) {
			fprintf(stderr, "thumbs: image %d: quota exceeded\n", image);
			if (broken)
				return NULL;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*stages[])(void *) = {decoder, resizer, uploader};
	pthread_t threads[3];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	decoded.task = thrum_task_create(THRUM_KIND_MAILBOX, "decoded");
	resized.task = thrum_task_create(THRUM_KIND_MAILBOX, "resized");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, stages[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("thumbs: done\n");
	return 0;
}
