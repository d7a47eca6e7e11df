/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: in the bad run "invalidate cache 7" runs before "store row 7" instead of after it, so a reader fills the cache
 *     with the old row; the check of row 7 fails.
 *   culprit: invalidate|store row
 *   victim: check
 * case: other
 *   args: other
 *   ask: diff good
 *   truth: healthy, too: only the independent statistics jobs run at other times.
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* A write-through cache with a job queue on one thread. An update stores a row, invalidates the cached one, reads it
 * again and checks it. Statistics are taken in between. */
static int rows[16], cache[16];
static int failed;

static thrum_task job(const char *name, int row)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", name, row);

	thrum_task_should_resolve(task);
	thrum_task_ready(task);
	usleep(700);
	return task;
}

static void store(int row)
{
	thrum_task task = job("store row", row);

	THRUM_RUN (task) {
		rows[row]++;
		thrum_task_resolve(task);
	}
}

static void invalidate(int row)
{
	thrum_task task = job("invalidate cache", row);

	THRUM_RUN (task) {
		cache[row] = -1;
		thrum_task_resolve(task);
	}
}

static void read_row(int row)
{
	thrum_task task = job("read row", row);

	THRUM_RUN (task) {
		if (cache[row] < 0) {
			cache[row] = rows[row];
			thrum_log("cache filled");
		}
		thrum_task_resolve(task);
	}
}

static void check(int row)
{
	thrum_task task = job("check row", row);

	THRUM_RUN (task) {
		if (cache[row] == rows[row])
			thrum_task_resolve(task);
		else {
			thrum_task_fail(task, "stale row in the cache");
			failed++;
		}
	}
}

static void statistics(int number)
{
	thrum_task task = job("statistics", number);

	THRUM_RUN (task) {
		usleep(500);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "good";
	bool bad = !strcmp(mode, "bad"), other = !strcmp(mode, "other");

	for (int row = 0; row < 12; row++) {
		if (row % 4 == 0 && !other)
			statistics(row / 4);
		if (bad && row == 7) {
			invalidate(row);
			read_row(row);
			store(row);
		} else {
			store(row);
			invalidate(row);
			read_row(row);
		}
		if (row % 4 == 2 && other)
			statistics(row / 4);
		check(row);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(other ? 4000 : 3000);
		thrum_resume();
	}
	thrum_stop();
	printf("rows: %d failed\n", failed);
	return failed != 0;
}
