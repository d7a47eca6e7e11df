/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: compact_segment takes the token of the disk, and give_back runs only if the merge succeeds; the
 *     merge of segment 5 fails (its checksum is wrong), so the token is never put back and all later takers
 *     wait for it
 *   culprit: compact_segment|merge_segment|check_sum
 *   victim: scrub_segment|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Keeps a store of segments small: compacts and scrubs them, one at a time, as there is one disk only. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SEGMENTS 8

struct segment {
	unsigned number, records, dead;
	uint32_t sum;
	bool compacted, scrubbed;
};

static struct segment segments[SEGMENTS];
static struct thrum_mvar *disk; /* who has its token may use the disk */
static bool finished;

static uint32_t sum_of(const struct segment *segment)
{
	uint32_t sum = 2166136261u;

	for (unsigned i = 0; i < segment->records; i++)
		sum = (sum ^ (segment->number * 31 + i)) * 16777619u;
	return sum;
}

/* ---- The disk ---- */

static struct thrum_promise *disk_take(void)
{
	return thrum_mvar_take(disk);
}

static void disk_put(void)
{
	if (!thrum_mvar_try_put(disk, thrum_value_int(1)))
		abort(); /* there is one token only */
}

static struct thrum_value give_back(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	disk_put();
	return thrum_value_none();
}

/* ---- Compacting ---- */

static struct thrum_promise *check_sum(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;

	(void)value;
	if (sum_of(segment) != segment->sum)
		return thrum_promise_fail(loop, -EILSEQ, "segment %u: bad checksum",
			segment->number);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *write_merged(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;

	(void)value;
	segment->records -= segment->dead;
	segment->dead = 0;
	segment->sum = sum_of(segment);
	segment->compacted = true;
	return thrum_sleep(loop, 12);
}

static struct thrum_promise *merge_segment(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *merged = thrum_sleep(loop, 8); /* read it */

	(void)value;
	merged = thrum_promise_bind(merged, check_sum, data, NULL);
	return thrum_promise_bind(merged, write_merged, data, NULL);
}

static struct thrum_promise *skip_segment(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct segment *segment = data;

	fprintf(stderr, "compact: %s; left as it is\n", failure->message);
	segment->compacted = true;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Takes out what is dead. A segment that is damaged is left to the scrubber. */
static struct thrum_promise *compact_segment(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done;

	(void)loop;
	(void)value;
	done = thrum_promise_bind(disk_take(), merge_segment, data, NULL);
	done = thrum_promise_map(done, give_back, data, NULL);
	return thrum_promise_catch(done, skip_segment, data, NULL);
}

/* ---- Scrubbing ---- */

static struct thrum_promise *read_whole(struct thrum_loop *loop, void *value, void *data)
{
	struct segment *segment = data;

	(void)value;
	if (sum_of(segment) != segment->sum)
		segment->sum = sum_of(segment); /* repair it from its copy */
	segment->scrubbed = true;
	return thrum_sleep(loop, 5);
}

static struct thrum_promise *scrub_segment(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done;

	(void)loop;
	(void)value;
	done = thrum_promise_bind(disk_take(), read_whole, data, NULL);
	return thrum_promise_map(done, give_back, data, NULL);
}

/* ---- The tool ---- */

static struct thrum_promise *show_progress(struct thrum_loop *loop, void *value, void *data)
{
	unsigned compacted = 0, scrubbed = 0;

	(void)value;
	for (unsigned i = 0; i < SEGMENTS; i++) {
		compacted += segments[i].compacted;
		scrubbed += segments[i].scrubbed;
	}
	printf("compacted %u, scrubbed %u of %u\n", compacted, scrubbed, SEGMENTS);
	if (finished)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 100), show_progress, data, NULL);
}

static struct thrum_promise *keep_segment(struct thrum_loop *loop, struct segment *segment)
{
	struct thrum_promise *kept = thrum_sleep(loop, 10 * segment->number);

	if (segment->dead * 4 > segment->records)
		kept = thrum_promise_bind(kept, compact_segment, segment, NULL);
	return thrum_promise_bind(kept, scrub_segment, segment, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[SEGMENTS], *progress;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (unsigned i = 0; i < SEGMENTS; i++) {
		segments[i].number = i + 1;
		segments[i].records = 200 + 10 * i;
		segments[i].dead = i % 3 ? 100 : 10;
		segments[i].sum = sum_of(&segments[i]);
	}
	if (argc > 1 && !strcmp(argv[1], "broken"))
		segments[4].sum ^= 0x40; /* a bit has flipped on the disk */
	disk = thrum_mvar_create(loop, NULL);
	disk_put();
	progress = show_progress(loop, NULL, NULL);
	for (unsigned i = 0; i < SEGMENTS; i++)
		all[i] = keep_segment(loop, &segments[i]);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_join(loop, all, SEGMENTS)));
	finished = true;
	error |= thrum_promise_run(progress);
	thrum_stop();
	thrum_mvar_destroy(disk);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
