/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 900
 *   ask: why
 *   truth: checkpoint 3 waits for the flushes of 8 shards; shard 5's last write fails with EAGAIN, and this path
 *     forgets to complete the flush. Checkpoint and main wait for "flush shard 5" for ever.
 *   culprit: shard 5
 *   victim: checkpoint
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define SHARDS 8

/* kvstore: pages are written all the time; a checkpoint waits until each shard has flushed. Nothing is marked as
 * something that must end. */
struct shard {
	thrum_task flush;
	int pages;
	bool busy;
};
static struct shard shards[SHARDS];
static thrum_task checkpoint;
static int flushing, checkpoints, page_writes;
static bool complete_errors;
THRUM_TAG(bytes, NULL, "kv/bytes", 1);

static void shard_done(int number)
{
	struct shard *shard = &shards[number];

	THRUM_RUN (shard->flush)
		thrum_task_resolve(shard->flush);
	shard->busy = false;
	if (--flushing == 0) {
		thrum_task_resolve(checkpoint);
		checkpoints++;
	}
}

/* One page of a flush has been written, or not. */
static void on_written(int number, int error)
{
	struct shard *shard = &shards[number];

	THRUM_RUN (shard->flush)
		thrum_logf("page %d: %s", shard->pages, error ? strerror(error) : "written");
	if (error && !complete_errors)
		return; /* TODO: tell the checkpoint */
	if (--shard->pages == 0)
		shard_done(number);
}

static void begin_checkpoint(void)
{
	checkpoint = thrum_task_createf(THRUM_KIND_JOIN, "checkpoint %d", checkpoints + 1);
	for (int i = 0; i < SHARDS; i++) {
		shards[i].pages = 5 + i % 3;
		shards[i].flush = thrum_task_createf(THRUM_KIND_TASK, "flush shard %d", i);
		shards[i].busy = true;
		thrum_task_wait(checkpoint, shards[i].flush);
		flushing++;
	}
}

int main(int argc, char **argv)
{
	int doorbell = eventfd(0, EFD_NONBLOCK), turn = 0;

	complete_errors = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	while (checkpoints < 30) {
		struct pollfd fd = {.fd = doorbell, .events = POLLIN};
		uint64_t one = 1;

		/* the clients' writes */
		for (int i = 0; i < 40; i++) {
			thrum_task page = thrum_task_createf(THRUM_KIND_TASK, "page %d",
				page_writes++ % 512);

			THRUM_RUN (page) {
				thrum_tag_value(&bytes, 4096);
				thrum_task_resolve(page);
			}
		}
		if (turn % 8 == 0 && !flushing)
			begin_checkpoint();
		/* the disk: one page of each shard in a turn */
		if (flushing)
			for (int i = 0; i < SHARDS; i++)
				if (shards[i].busy)
					on_written(i,
						checkpoints == 2 && i == 5 && shards[i].pages == 1
							? EAGAIN
							: 0);
		if (turn++ % 4 == 0 && write(doorbell, &one, sizeof one) != sizeof one)
			return 2;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&fd, 1, 2);
		thrum_resume();
		if (fd.revents && read(doorbell, &one, sizeof one) != sizeof one)
			return 2;
	}
	thrum_stop();
	printf("kvstore: %d checkpoints\n", checkpoints);
	return 0;
}
