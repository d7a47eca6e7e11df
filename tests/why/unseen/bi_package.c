/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: diff healthy
 *   truth: after each chunk that is written, verify_next reads the package again from its first block,
 *     to compute the checksum; in the healthy case only once, when the package is complete. So the number
 *     of reads grows with the square of the package's size.
 *   culprit: verify|fs_?read|hash_block
 *   victim: sync_package
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* A package mirror on libuv: packages are stored chunk by chunk, and verified in the thread pool. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define CHUNK 8192
#define CHUNKS 24
#define PACKAGES 12

struct package {
	int number, file, chunks, verified;
	uint32_t sum;
	uv_fs_t write, read;
	uv_work_t hash;
	uv_timer_t network;
	char chunk[CHUNK], block[CHUNK];
};

static uv_loop_t *loop;
static bool verify_each;
static int next_package = 1, finished, reads;

static void sync_package(struct package *package);
static void on_chunk(uv_timer_t *timer);
static void verify_next(struct package *package);

static void on_closed(uv_handle_t *timer)
{
	struct package *package = timer->data;

	close(package->file);
	finished++;
	if (next_package <= PACKAGES) {
		sync_package(package);
		return;
	}
	free(package);
}

/* The package is written and verified up to here. */
static void chunk_done(struct package *package)
{
	if (package->chunks < CHUNKS)
		uv_timer_start(&package->network, on_chunk, 2, 0);
	else
		uv_close((uv_handle_t *)&package->network, on_closed);
}

/* In the thread pool. */
static void hash_block(uv_work_t *work)
{
	struct package *package = work->data;

	for (int i = 0; i < CHUNK; i++)
		package->sum = (package->sum ^ (uint8_t)package->block[i]) * 16777619u;
}

static void on_hashed(uv_work_t *work, int status)
{
	struct package *package = work->data;

	(void)status;
	if (++package->verified < package->chunks)
		verify_next(package);
	else
		chunk_done(package);
}

static void on_block(uv_fs_t *read)
{
	struct package *package = read->data;

	if (read->result != CHUNK)
		exit(1);
	uv_fs_req_cleanup(read);
	reads++;
	uv_queue_work(loop, &package->hash, hash_block, on_hashed);
}

static void verify_next(struct package *package)
{
	uv_buf_t buffer = uv_buf_init(package->block, CHUNK);

	uv_fs_read(loop, &package->read, package->file, &buffer, 1,
		(int64_t)package->verified * CHUNK, on_block);
}

static void on_written(uv_fs_t *write)
{
	struct package *package = write->data;

	if (write->result != CHUNK)
		exit(1);
	uv_fs_req_cleanup(write);
	package->chunks++;
	if (package->chunks == CHUNKS || verify_each) {
		package->verified = 0;
		package->sum = 2166136261u;
		verify_next(package);
	} else {
		chunk_done(package);
	}
}

/* A chunk has come from the upstream mirror. */
static void on_chunk(uv_timer_t *timer)
{
	struct package *package = timer->data;
	uv_buf_t buffer = uv_buf_init(package->chunk, CHUNK);

	memset(package->chunk, 'a' + (package->number + package->chunks) % 26, CHUNK);
	uv_fs_write(loop, &package->write, package->file, &buffer, 1,
		(int64_t)package->chunks * CHUNK, on_written);
}

static void sync_package(struct package *package)
{
	char path[] = "/tmp/bi_package.XXXXXX";

	package->number = next_package++;
	package->file = mkostemp(path, O_CLOEXEC);
	if (package->file < 0)
		exit(1);
	unlink(path);
	package->chunks = 0;
	package->write.data = package->read.data = package->hash.data = package;
	uv_timer_init(loop, &package->network);
	package->network.data = package;
	uv_timer_start(&package->network, on_chunk, 2, 0);
}

int main(int argc, char **argv)
{
	uint64_t begin;

	verify_each = argc > 1 && !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	begin = uv_hrtime();
	for (int i = 0; i < 2; i++) {
		struct package *package = calloc(1, sizeof(*package));

		if (!package)
			return 1;
		sync_package(package);
	}
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d packages, %d reads, %d ms\n", finished, reads,
		(int)((uv_hrtime() - begin) / 1000000));
	return uv_loop_close(loop);
}
