/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Four mount_partition jobs occupy all four threads of the pool and wait for sector reads that are queued in the same pool.
 *   culprit: mount_partition|sector_ready|sector_mutex
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about node-lkl: mounting more than three partitions at once hangs; each mount occupies a thread of
 * libuv's pool and waits for a read that libuv would do in the same pool.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
	POOL = 4
};

static pthread_mutex_t sector_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sector_ready = PTHREAD_COND_INITIALIZER;
static uv_loop_t *loop;
static uv_async_t ask_main;
static uv_work_t mounts[POOL], reads[POOL];
static int asked, begun, done, ready, count, finished;

static void read_sector(uv_work_t *work)
{
	(void)work;
	pthread_mutex_lock(&sector_mutex);
	ready++;
	pthread_cond_broadcast(&sector_ready);
	pthread_mutex_unlock(&sector_mutex);
}

static void sector_read(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	done++;
}

/* Runs in the loop: queues the reads for which mounts asked. */
static void queue_reads(uv_async_t *async)
{
	int until;

	(void)async;
	pthread_mutex_lock(&sector_mutex);
	until = asked;
	pthread_mutex_unlock(&sector_mutex);
	for (; begun < until; begun++)
		uv_queue_work(loop, &reads[begun], read_sector, sector_read);
}

/* Runs in the pool: reads the superblock through the loop, and waits for it. */
static void mount_partition(uv_work_t *work)
{
	(void)work;
	pthread_mutex_lock(&sector_mutex);
	asked++;
	pthread_cond_broadcast(&sector_ready);
	/* The reads are asked for when all mounts have opened their devices. */
	while (asked < count)
		pthread_cond_wait(&sector_ready, &sector_mutex);
	pthread_mutex_unlock(&sector_mutex);
	uv_async_send(&ask_main);
	pthread_mutex_lock(&sector_mutex);
	while (ready < count)
		pthread_cond_wait(&sector_ready, &sector_mutex);
	pthread_mutex_unlock(&sector_mutex);
}

static void mounted(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	if (++finished == count)
		uv_close((uv_handle_t *)&ask_main, NULL);
}

int main(int argc, char **argv)
{
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	loop = uv_default_loop();
	count = argc > 1 && !strcmp(argv[1], "broken") ? POOL : POOL - 1;
	uv_async_init(loop, &ask_main, queue_reads);
	for (int i = 0; i < count; i++)
		uv_queue_work(loop, &mounts[i], mount_partition, mounted);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d mounted, %d sectors\n", finished, done);
	return 0;
}
