/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the hashing threads call uv_async_send once for each digest, but libuv makes one call of
 *     on_digests from several of these. on_digests takes only one digest out of the outbox each time; so the
 *     rest stays in it, and the loop waits for ever for digests that it has already got.
 *   culprit: on_digests
 *   victim: hasher|hash_batches|uv_run|main|on_progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Builds an index of files: threads compute digests, and the loop collects them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define THREADS 2
#define BATCH 4
#define BATCHES 10

struct digest {
	int file;
	uint32_t sum;
	struct digest *next;
};

struct indexer {
	uv_loop_t loop;
	uv_async_t arrived;
	uv_timer_t scan;
	uv_timer_t progress;
	uv_mutex_t mutex; /* guards the rest */
	uv_cond_t has_batch;
	int batch[BATCHES];
	int batches;
	int taken;
	bool closed;
	struct digest *outbox;
	struct digest **outbox_end;
	/* of the loop's thread */
	int scanned;
	int indexed;
	uint32_t index[BATCH * BATCHES];
	bool drains;
};

static struct indexer indexer;

static uint32_t digest_file(int file)
{
	uint32_t sum = 2166136261u;

	usleep(1500 + 300 * (file % 3)); /* reads the file */
	for (int i = 0; i < 4096; i++)
		sum = (sum ^ (uint32_t)(file + i)) * 16777619u;
	return sum;
}

/* Hands the digests of a batch to the loop. */
static void publish_batch(struct digest **digests)
{
	uv_mutex_lock(&indexer.mutex);
	for (int i = 0; i < BATCH; i++) {
		digests[i]->next = NULL;
		*indexer.outbox_end = digests[i];
		indexer.outbox_end = &digests[i]->next;
		uv_async_send(&indexer.arrived);
	}
	uv_mutex_unlock(&indexer.mutex);
}

static bool take_batch(int *batch)
{
	bool have;

	uv_mutex_lock(&indexer.mutex);
	while (indexer.taken == indexer.batches && !indexer.closed)
		uv_cond_wait(&indexer.has_batch, &indexer.mutex);
	have = indexer.taken < indexer.batches;
	if (have)
		*batch = indexer.batch[indexer.taken++];
	uv_mutex_unlock(&indexer.mutex);
	return have;
}

static void hash_batches(void *data)
{
	struct digest *digests[BATCH];
	char name[16];
	int batch;

	snprintf(name, sizeof(name), "hasher-%d", (int)(intptr_t)data);
	pthread_setname_np(pthread_self(), name);
	while (take_batch(&batch)) {
		for (int i = 0; i < BATCH; i++) {
			digests[i] = malloc(sizeof(**digests));
			digests[i]->file = batch * BATCH + i;
			digests[i]->sum = digest_file(digests[i]->file);
		}
		publish_batch(digests);
	}
}

static struct digest *outbox_pop(void)
{
	struct digest *digest;

	uv_mutex_lock(&indexer.mutex);
	digest = indexer.outbox;
	if (digest)
		indexer.outbox = digest->next;
	if (!indexer.outbox)
		indexer.outbox_end = &indexer.outbox;
	uv_mutex_unlock(&indexer.mutex);
	return digest;
}

static void index_digest(struct digest *digest)
{
	indexer.index[digest->file] = digest->sum;
	indexer.indexed++;
	free(digest);
}

static void close_all(void)
{
	uv_mutex_lock(&indexer.mutex);
	indexer.closed = true;
	uv_cond_broadcast(&indexer.has_batch);
	uv_mutex_unlock(&indexer.mutex);
	uv_close((uv_handle_t *)&indexer.arrived, NULL);
	uv_close((uv_handle_t *)&indexer.progress, NULL);
}

static void on_digests(uv_async_t *async)
{
	struct digest *digest;

	(void)async;
	do {
		digest = outbox_pop();
		if (digest)
			index_digest(digest);
	} while (digest && indexer.drains);
	if (indexer.indexed == BATCH * BATCHES)
		close_all();
}

/* Finds the files of the next folder. */
static void on_scan(uv_timer_t *timer)
{
	uv_mutex_lock(&indexer.mutex);
	indexer.batch[indexer.batches++] = indexer.scanned++;
	uv_cond_signal(&indexer.has_batch);
	uv_mutex_unlock(&indexer.mutex);
	if (indexer.scanned == BATCHES)
		uv_close((uv_handle_t *)timer, NULL);
}

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	printf("%d of %d files\n", indexer.indexed, indexer.scanned * BATCH);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uv_thread_t thread[THREADS];

	if (argc < 2)
		return 2;
	indexer.drains = !strcmp(argv[1], "healthy");
	indexer.outbox_end = &indexer.outbox;
	uv_mutex_init(&indexer.mutex);
	uv_cond_init(&indexer.has_batch);
	uv_loop_init(&indexer.loop);
	uv_async_init(&indexer.loop, &indexer.arrived, on_digests);
	uv_timer_init(&indexer.loop, &indexer.scan);
	uv_timer_init(&indexer.loop, &indexer.progress);
	uv_timer_start(&indexer.scan, on_scan, 5, 15);
	uv_timer_start(&indexer.progress, on_progress, 100, 100);
	for (intptr_t i = 0; i < THREADS; i++)
		uv_thread_create(&thread[i], hash_batches, (void *)(i + 1));
	uv_run(&indexer.loop, UV_RUN_DEFAULT);
	for (int i = 0; i < THREADS; i++)
		uv_thread_join(&thread[i]);
	uv_loop_close(&indexer.loop);
	uv_cond_destroy(&indexer.has_batch);
	uv_mutex_destroy(&indexer.mutex);
	printf("%d files indexed\n", indexer.indexed);
	return indexer.indexed == BATCH * BATCHES ? 0 : 1;
}
