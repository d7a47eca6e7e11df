/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=GET #
 *   truth: pack_all puts all its "pack" jobs into libuv's pool of 4 threads at once; each of them takes
 *     long, so that the small file reads of the requests stand behind them in the pool's queue
 *   culprit: \bpack\b|pack_block|pack_all|bundle
 *   victim: GET [0-9]+|load|open|stat
 * case: healthy
 *   args: healthy
 *   ask: why --slow=GET #
 *   culprit: nothing
 */
/* A server of small asset files, which packs a bundle of all of them in the background. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define FILES 5
#define BLOCKS 12
#define REQUESTS 40

struct block {
	unsigned seed;
	unsigned long sum;
	struct thrum_semaphore *turn;
};

static char directory[] = "/tmp/assets-XXXXXX";
static char paths[FILES][64];
static size_t served;
static uint64_t slowest;
static bool one_at_a_time;
static int units;

/* The compressor: it also waits for the disk between its windows. */
static int pack_block(void *data, struct thrum_value *result)
{
	struct block *block = data;

	(void)result;
	for (int window = 0; window < units; window++) {
		for (int i = 0; i < 200000; i++)
			block->sum = block->sum * 31 + (block->seed ^ (unsigned)i);
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		usleep(6000);
		thrum_resume();
	}
	return 0;
}

static struct thrum_promise *pack_begin(struct thrum_loop *loop, void *data)
{
	return thrum_work(loop, "pack", pack_block, data, NULL);
}

static struct thrum_promise *pack_all(struct thrum_loop *loop, struct block *blocks,
	struct thrum_semaphore *turn)
{
	struct thrum_promise *all[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i].seed = (unsigned)i;
		if (one_at_a_time)
			all[i] = thrum_semaphore_with(turn, pack_begin, &blocks[i], NULL);
		else
			all[i] = pack_begin(loop, &blocks[i]);
	}
	return thrum_promise_label(thrum_promise_join(loop, all, BLOCKS), "bundle");
}

static struct thrum_promise *asset_send(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;

	(void)data;
	served += bytes->size;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *asset_load(struct thrum_loop *loop, void *value, void *data)
{
	const uv_stat_t *stat = value;

	if (stat->st_size == 0)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_file_load(loop, data), asset_send, NULL, NULL);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_file_stat(loop, data), asset_load, data, NULL);
}

struct client {
	int count;
	uint64_t began;
};

static void on_served(struct thrum_loop *loop, void *data)
{
	struct client *client = data;
	uint64_t took = uv_hrtime() - client->began;

	(void)loop;
	if (took > slowest)
		slowest = took;
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct thrum_promise *get;

	(void)value;
	if (client->count == REQUESTS)
		return thrum_promise_return(loop, thrum_value_none());
	client->began = uv_hrtime();
	get = serve(loop, NULL, paths[client->count % FILES]);
	get = thrum_promise_should_resolve(thrum_promise_labelf(get, "GET %d", client->count++));
	thrum_promise_on_termination(thrum_promise_ref(get), on_served, client, NULL);
	return thrum_promise_bind(thrum_promise_join(loop,
					  (struct thrum_promise *[]){get, thrum_sleep(loop, 5)}, 2),
		client_next, client, NULL);
}

static struct thrum_promise *bundle_later(struct thrum_loop *loop, void *value, void *data)
{
	static struct block blocks[BLOCKS];

	(void)value;
	return pack_all(loop, blocks, data);
}

static void make_files(void)
{
	if (!mkdtemp(directory))
		exit(1);
	for (int i = 0; i < FILES; i++) {
		FILE *file;

		snprintf(paths[i], sizeof(paths[i]), "%s/asset%d.css", directory, i);
		file = fopen(paths[i], "w");
		if (!file)
			exit(1);
		for (int line = 0; line < 20 * i + 10; line++)
			fprintf(file, ".c%d { margin: %dpx }\n", line, i);
		fclose(file);
	}
}

static void remove_files(void)
{
	for (int i = 0; i < FILES; i++)
		unlink(paths[i]);
	rmdir(directory);
}

int main(int argc, char **argv)
{
	struct client client = {0};
	struct thrum_promise *both[2];
	struct thrum_semaphore *turn;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	one_at_a_time = argc < 2 || strcmp(argv[1], "broken") != 0;
	units = 16;
	make_files();
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	turn = thrum_semaphore_create(loop, "packer", 1);
	both[0] = client_next(loop, NULL, &client);
	both[1] = thrum_promise_bind(thrum_sleep(loop, 60), bundle_later, turn, NULL);
	error = thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, both, 2), "main"));
	thrum_stop();
	remove_files();
	printf("%zu bytes served, slowest request %.1f ms\n", served, (double)slowest / 1e6);
	thrum_semaphore_destroy(turn);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
