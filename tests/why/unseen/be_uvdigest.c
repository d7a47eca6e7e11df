/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: libuv merges calls of uv_async_send that come while the loop is busy, but on_results takes only
 *     one result for each call; while on_checkpoint writes, several results come, so that some stay in the
 *     queue: their files are never closed, no new ones are scanned, the scanners sleep, and so does the loop
 *   culprit: on_results
 *   victim: scan-\d|scanner_run|main|uv_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Computes digests of files: threads scan, the libuv loop hands out files and writes down what they found. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define SCANNERS 3
#define FILES 60
#define OPEN_MAX_FILES 4 /* files that may be with the scanners at a time */
#define CHECKPOINT_MS 60

struct file {
	struct file *next;
	unsigned number;
	uint32_t digest;
};

struct queue {
	struct file *first, **end;
};

struct scanner {
	struct digester *digester;
	pthread_t thread;
	unsigned number;
};

struct digester {
	uv_loop_t loop;
	uv_async_t results;
	uv_timer_t checkpoint;
	pthread_mutex_t mutex;
	pthread_cond_t work;
	struct queue to_scan, scanned;
	struct scanner scanners[SCANNERS];
	struct file files[FILES];
	unsigned handed, open, written, checkpoints;
	bool closed;
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void queue_put(struct queue *queue, struct file *file)
{
	file->next = NULL;
	*queue->end = file;
	queue->end = &file->next;
}

static struct file *queue_take(struct queue *queue)
{
	struct file *file = queue->first;

	if (file && !(queue->first = file->next))
		queue->end = &queue->first;
	return file;
}

/* ---- The scanners ---- */

static uint32_t digest(const struct file *file)
{
	uint32_t sum = 2166136261u;

	for (unsigned i = 0; i < 20000; i++)
		sum = (sum ^ (file->number + i) % 251) * 16777619u;
	pause_ms(3 + file->number % 3); /* the disk */
	return sum;
}

static void *scanner_run(void *data)
{
	struct scanner *self = data;
	struct digester *digester = self->digester;
	char name[16];

	snprintf(name, sizeof(name), "scan-%u", self->number);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&digester->mutex);
	while (!digester->closed) {
		struct file *file = queue_take(&digester->to_scan);

		if (!file) {
			pthread_cond_wait(&digester->work, &digester->mutex);
			continue;
		}
		pthread_mutex_unlock(&digester->mutex);
		file->digest = digest(file);
		pthread_mutex_lock(&digester->mutex);
		queue_put(&digester->scanned, file);
		uv_async_send(&digester->results);
	}
	pthread_mutex_unlock(&digester->mutex);
	return NULL;
}

/* ---- The loop ---- */

static void hand_out(struct digester *digester)
{
	pthread_mutex_lock(&digester->mutex);
	while (digester->open < OPEN_MAX_FILES && digester->handed < FILES) {
		queue_put(&digester->to_scan, &digester->files[digester->handed++]);
		digester->open++;
		pthread_cond_signal(&digester->work);
	}
	pthread_mutex_unlock(&digester->mutex);
}

static bool take_result(struct digester *digester)
{
	struct file *file;

	pthread_mutex_lock(&digester->mutex);
	file = queue_take(&digester->scanned);
	pthread_mutex_unlock(&digester->mutex);
	if (!file)
		return false;
	digester->open--;
	digester->written++;
	return true;
}

static void finish(struct digester *digester)
{
	pthread_mutex_lock(&digester->mutex);
	digester->closed = true;
	pthread_cond_broadcast(&digester->work);
	pthread_mutex_unlock(&digester->mutex);
	uv_close((uv_handle_t *)&digester->results, NULL);
	if (!uv_is_closing((uv_handle_t *)&digester->checkpoint))
		uv_close((uv_handle_t *)&digester->checkpoint, NULL);
}

static void on_results(uv_async_t *async)
{
	struct digester *digester = async->data;

	take_result(digester);
	if (digester->written == FILES)
		finish(digester);
	else
		hand_out(digester);
}

static void on_results_all(uv_async_t *async)
{
	struct digester *digester = async->data;

	while (take_result(digester))
		continue;
	if (digester->written == FILES)
		finish(digester);
	else
		hand_out(digester);
}

/* Writes down what is known so far. There is nothing new to write after the first few. */
static void on_checkpoint(uv_timer_t *timer)
{
	struct digester *digester = timer->data;

	pause_ms(14); /* fsync */
	if (++digester->checkpoints == 4)
		uv_timer_stop(timer);
}

int main(int argc, char **argv)
{
	static struct digester digester;
	uv_async_cb on_async = on_results;

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "healthy") == 0)
		on_async = on_results_all;
	pthread_mutex_init(&digester.mutex, NULL);
	pthread_cond_init(&digester.work, NULL);
	digester.to_scan.end = &digester.to_scan.first;
	digester.scanned.end = &digester.scanned.first;
	uv_loop_init(&digester.loop);
	uv_async_init(&digester.loop, &digester.results, on_async);
	uv_timer_init(&digester.loop, &digester.checkpoint);
	digester.results.data = digester.checkpoint.data = &digester;
	uv_timer_start(&digester.checkpoint, on_checkpoint, CHECKPOINT_MS / 3, CHECKPOINT_MS);
	for (unsigned i = 0; i < FILES; i++)
		digester.files[i].number = i;
	for (unsigned i = 0; i < SCANNERS; i++) {
		digester.scanners[i].digester = &digester;
		digester.scanners[i].number = i + 1;
		if (pthread_create(&digester.scanners[i].thread, NULL, scanner_run,
			    &digester.scanners[i]))
			return 2;
	}
	hand_out(&digester);
	uv_run(&digester.loop, UV_RUN_DEFAULT);
	for (unsigned i = 0; i < SCANNERS; i++)
		pthread_join(digester.scanners[i].thread, NULL);
	printf("%u digests, %u checkpoints\n", digester.written, digester.checkpoints);
	return uv_loop_close(&digester.loop) ? 1 : 0;
}
