/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: batch_add arms the shard's flush timer only for the first row of an empty batch. When batch_flush writes a
 *     full batch, the rows that were too many stay as a new batch without a timer, and wait for ever if no more rows come.
 *   culprit: batch eu|batch_flush|batch_open
 *   victim: put eu|import
 * case: healthy
 *   args: healthy
 *   run: self kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A writer of rows for a database of several shards: rows are gathered and written in batches, by size or by time. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define BATCH 8
#define FLUSH_MS 40

struct row {
	int number;
	thrum_task task; /* the request to put it */
	thrum_task import;
	struct row *next;
};

struct shard {
	const char *name;
	struct row *first, **end;
	int count;
	unsigned batches, written;
	thrum_task batch;
	thrum_task timer;
	long flush_at; /* 0: the timer rests */
	long next_import;
	int import_size, import_every, open_rows, imports;
	thrum_task import;
};

static struct shard shards[] = {
	{.name = "us", .import_size = 3, .import_every = 60},
	{.name = "eu", .import_size = 8, .import_every = 90},
	{.name = "asia", .import_size = 5, .import_every = 75},
};
#define SHARDS (sizeof shards / sizeof *shards)

static bool arm_again;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void batch_open(struct shard *shard)
{
	shard->batch = thrum_task_createf(THRUM_KIND_PROMISE, "batch %s", shard->name);
}

static void timer_arm(struct shard *shard)
{
	shard->flush_at = now_ms() + FLUSH_MS;
	shard->timer = thrum_task_createf(THRUM_KIND_TIMER, "flush timer %s", shard->name);
	thrum_task_due(shard->timer, FLUSH_MS * 1000000ll);
	thrum_task_wait(shard->batch, shard->timer);
}

static void timer_disarm(struct shard *shard)
{
	if (!shard->flush_at)
		return;
	shard->flush_at = 0;
	thrum_task_cancel(shard->timer);
}

static void row_done(struct shard *shard, struct row *row)
{
	THRUM_RUN (row->task) {
		thrum_task_read(row->task, shard->batch);
		thrum_task_resolve(row->task);
	}
	if (!--shard->open_rows)
		thrum_task_resolve(shard->import);
	free(row);
}

/* Writes at most BATCH rows. */
static void batch_flush(struct shard *shard)
{
	struct row *rows[BATCH], *row;
	int count = 0;

	timer_disarm(shard);
	while (count < BATCH && (row = shard->first)) {
		shard->first = row->next;
		rows[count++] = row;
	}
	if (!shard->first)
		shard->end = &shard->first;
	shard->count -= count;
	thrum_task_resolve(shard->batch);
	shard->batches++;
	shard->written += (unsigned)count;
	for (int i = 0; i < count; i++)
		row_done(shard, rows[i]);
	shard->batch = THRUM_TASK_NONE;
	if (shard->count) {
		batch_open(shard);
		for (row = shard->first; row; row = row->next)
			thrum_task_wait(row->task, shard->batch);
		if (arm_again)
			timer_arm(shard);
	}
}

static void batch_add(struct shard *shard, struct row *row)
{
	if (!shard->count) {
		batch_open(shard);
		timer_arm(shard);
	}
	thrum_task_wait(row->task, shard->batch);
	*shard->end = row;
	shard->end = &row->next;
	shard->count++;
}

/* A client sends the next import when all rows of the last one are written. */
static void import_begin(struct shard *shard, long now)
{
	int size = shard->import_size + shard->imports++ % 4;

	shard->next_import = now + shard->import_every;
	shard->open_rows = size;
	shard->import = thrum_task_createf(THRUM_KIND_JOIN, "import %s", shard->name);
	thrum_task_should_resolve(shard->import);
	for (int i = 0; i < size; i++) {
		struct row *row = calloc(1, sizeof *row);

		row->number = i;
		row->task = thrum_task_createf(THRUM_KIND_TASK, "put %s row %d", shard->name, i);
		thrum_task_wait(shard->import, row->task);
		batch_add(shard, row);
	}
	if (shard->count >= BATCH)
		batch_flush(shard);
}

static int run_due(long now)
{
	long next = now + 1000;

	for (struct shard *shard = shards; shard < shards + SHARDS; shard++) {
		if (shard->flush_at && shard->flush_at <= now) {
			shard->flush_at = 0;
			thrum_task_resolve(shard->timer);
			batch_flush(shard);
		}
		if (!shard->open_rows && shard->next_import <= now)
			import_begin(shard, now);
		if (shard->flush_at && shard->flush_at < next)
			next = shard->flush_at;
		if (!shard->open_rows && shard->next_import < next)
			next = shard->next_import;
	}
	return next > now ? (int)(next - now) : 0;
}

int main(int argc, char **argv)
{
	long report = now_ms();

	arm_again = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	for (size_t i = 0; i < SHARDS; i++)
		shards[i].end = &shards[i].first;
	for (;;) {
		long now = now_ms();
		int pause = run_due(now);

		if (now >= report) {
			for (size_t i = 0; i < SHARDS; i++)
				printf("%s %u rows in %u batches%s", shards[i].name,
					shards[i].written, shards[i].batches,
					i + 1 < SHARDS ? ", " : "\n");
			fflush(stdout);
			report = now + 200;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, pause < 200 ? pause : 200);
		thrum_resume();
	}
}
