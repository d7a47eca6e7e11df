/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The pipeline has six frame buffers. inspect_frame gives a torn frame to drop_frame, which
 *     counts it and forgets to give its buffer back to the pool. Each torn frame costs one buffer. After
 *     six of them the pool is empty, take_buffer waits for ever, and the stages behind it get no frames.
 *     The fix calls give_buffer in drop_frame.
 *   culprit: drop_frame|inspect_frame
 *   victim: take_buffer|queue_take|run_sensor|run_encoder|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A surveillance camera: sensor, inspector and encoder are threads that hand frames on. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFERS = 6,
	FRAMES = 120
};

struct frame {
	struct frame *next;
	int number; /* 0: the last one */
	bool torn, moved;
	unsigned char pixels[640];
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct frame *first, **end;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t returned;
	struct frame frames[BUFFERS];
	struct frame *unused;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .returned = PTHREAD_COND_INITIALIZER};

static struct queue to_inspect = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.end = &to_inspect.first};
static struct queue to_encode = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.end = &to_encode.first};

static struct {
	pthread_mutex_t lock;
	int dropped, still, encoded;
} statistics = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool broken;

static struct frame *__attribute__((noinline)) take_buffer(void)
{
	struct frame *frame;

	pthread_mutex_lock(&pool.lock);
	while (!pool.unused)
		pthread_cond_wait(&pool.returned, &pool.lock);
	frame = pool.unused;
	pool.unused = frame->next;
	pthread_mutex_unlock(&pool.lock);
	return frame;
}

static void __attribute__((noinline)) give_buffer(struct frame *frame)
{
	pthread_mutex_lock(&pool.lock);
	frame->next = pool.unused;
	pool.unused = frame;
	pthread_cond_signal(&pool.returned);
	pthread_mutex_unlock(&pool.lock);
}

static void queue_put(struct queue *queue, struct frame *frame)
{
	pthread_mutex_lock(&queue->lock);
	frame->next = NULL;
	*queue->end = frame;
	queue->end = &frame->next;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

static struct frame *__attribute__((noinline)) queue_take(struct queue *queue)
{
	struct frame *frame;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first)
		pthread_cond_wait(&queue->filled, &queue->lock);
	frame = queue->first;
	queue->first = frame->next;
	if (!queue->first)
		queue->end = &queue->first;
	pthread_mutex_unlock(&queue->lock);
	return frame;
}

static void count(int *number)
{
	pthread_mutex_lock(&statistics.lock);
	++*number;
	pthread_mutex_unlock(&statistics.lock);
}

/* The sensor was read while it was exposed. */
static void __attribute__((noinline)) drop_frame(struct frame *frame)
{
	count(&statistics.dropped);
	if (!broken)
		give_buffer(frame);
}

/* Nothing moves: there is nothing to encode. */
static void __attribute__((noinline)) skip_frame(struct frame *frame)
{
	count(&statistics.still);
	give_buffer(frame);
}

static void __attribute__((noinline)) inspect_frame(struct frame *frame)
{
	usleep(2000);
	if (frame->number == 0)
		queue_put(&to_encode, frame);
	else if (frame->torn)
		drop_frame(frame);
	else if (!frame->moved)
		skip_frame(frame);
	else
		queue_put(&to_encode, frame);
}

static void *run_sensor(void *data)
{
	(void)data;
	for (int number = 1; number <= FRAMES + 1; number++) {
		struct frame *frame = take_buffer();

		usleep(8000); /* exposure */
		frame->number = number <= FRAMES ? number : 0;
		frame->torn = number % 13 == 5;
		frame->moved = number % 4 != 0;
		memset(frame->pixels, number, sizeof(frame->pixels));
		queue_put(&to_inspect, frame);
	}
	return NULL;
}

static void *run_inspector(void *data)
{
	bool last;

	(void)data;
	do {
		struct frame *frame = queue_take(&to_inspect);

		last = frame->number == 0;
		inspect_frame(frame);
	} while (!last);
	return NULL;
}

static void *run_encoder(void *data)
{
	struct frame *frame;

	(void)data;
	while ((frame = queue_take(&to_encode))->number) {
		usleep(5000);
		count(&statistics.encoded);
		give_buffer(frame);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const run[])(void *) = {run_sensor, run_inspector, run_encoder};
	static const char *const names[] = {"sensor", "inspector", "encoder"};
	pthread_t stages[3];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < BUFFERS; i++) {
		pool.frames[i].next = pool.unused;
		pool.unused = &pool.frames[i];
	}
	for (int i = 0; i < 3; i++) {
		pthread_create(&stages[i], NULL, run[i], NULL);
		pthread_setname_np(stages[i], names[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(stages[i], NULL);
	printf("%d encoded, %d still, %d dropped\n", statistics.encoded, statistics.still,
		statistics.dropped);
	return 0;
}
