/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=commit
 *   truth: One commit waits for the sync of its log, and that waits for the disk, which a checkpoint occupies
 *     with one huge write. The checkpoint should have written in small pieces.
 *   culprit: checkpoint|write pages
 *   victim: sync log|disk
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why --slow=commit
 *   culprit: nothing
 */
/*
 * The log of a database. A client commits; the commit needs a sync of the log; the disk does one operation
 * at a time, in the order of their arrival. From time to time a checkpoint writes changed pages.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define COMMITS 10
#define CHECKPOINT_AT 4
#define PIECES 40
#define OPERATIONS 64
#define MS 1000000LL

struct operation {
	thrum_task task;
	int64_t takes; /* ns */
	void (*done)(void);
};

static struct operation disk[OPERATIONS];
static unsigned disk_first, disk_last;
static int64_t disk_busy_until; /* 0: idle */
static int64_t next_commit_at;
static thrum_task disk_task, commit_task, sync_task, checkpoint_task;
static int commits, pieces_left;
static bool broken, in_commit;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void start_operation(void)
{
	struct operation *next = &disk[disk_first % OPERATIONS];

	if (disk_busy_until || disk_first == disk_last)
		return;
	THRUM_RUN (next->task)
		thrum_lock_acquired(disk_task);
	disk_busy_until = now() + next->takes;
}

static thrum_task submit(const char *label, int64_t takes, void (*done)(void))
{
	struct operation *operation = &disk[disk_last++ % OPERATIONS];

	operation->task = thrum_task_create(THRUM_KIND_REQUEST, label);
	operation->takes = takes;
	operation->done = done;
	if (disk_busy_until)
		thrum_task_wait(operation->task, disk_task);
	start_operation();
	return operation->task;
}

static void finish_operation(void)
{
	struct operation *operation = &disk[disk_first++ % OPERATIONS];

	disk_busy_until = 0;
	THRUM_RUN (operation->task) {
		thrum_lock_released(disk_task);
		thrum_task_resolve(operation->task);
		operation->done();
	}
	start_operation();
}

/* Writes a piece, and the next one when that is on the disk. */
static void write_pages(void)
{
	int count = broken ? PIECES : 1;

	THRUM_RUN (checkpoint_task) {
		if (pieces_left == 0) {
			thrum_task_resolve(checkpoint_task);
			break;
		}
		pieces_left -= count;
		thrum_task_wait(checkpoint_task,
			submit("write pages", count * 2 * MS, write_pages));
	}
}

static void begin_checkpoint(void)
{
	checkpoint_task = thrum_task_create(THRUM_KIND_TASK, "checkpoint");
	pieces_left = PIECES;
	write_pages();
}

static void synced(void)
{
	THRUM_RUN (commit_task) {
		thrum_task_read(commit_task, sync_task);
		thrum_task_resolve(commit_task);
	}
	in_commit = false;
	commits++;
	next_commit_at = now() + 4 * MS;
}

static void begin_commit(void)
{
	in_commit = true;
	commit_task = thrum_task_create(THRUM_KIND_TASK, "commit");
	thrum_task_should_resolve(commit_task);
	THRUM_RUN (commit_task) {
		sync_task = submit("sync log", 5 * MS, synced);
		thrum_task_wait(commit_task, sync_task);
	}
}

int main(int argc, char **argv)
{
	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	disk_task = thrum_task_create(THRUM_KIND_LOCK, "disk");
	next_commit_at = now();
	while (commits < COMMITS || disk_first != disk_last) {
		int64_t until = disk_busy_until;

		if (!in_commit && commits < COMMITS && (!until || next_commit_at < until))
			until = next_commit_at;
		if (until > now()) {
			struct timespec rest = {0, until - now()};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&rest, NULL);
			thrum_resume();
			continue;
		}
		if (disk_busy_until && until == disk_busy_until) {
			finish_operation();
			continue;
		}
		if (commits == CHECKPOINT_AT && !checkpoint_task && pieces_left == 0)
			begin_checkpoint();
		begin_commit();
	}
	thrum_stop();
	printf("%d commits, %u operations of the disk\n", commits, disk_first);
	return 0;
}
