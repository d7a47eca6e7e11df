/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: record 6 is empty; convert_record skips it and returns without passing the turn on, so "turn 6" is never
 *     resolved: all later records wait for their turns, the workers are used up, and the export hangs.
 *   culprit: turn 6\b|convert 6\b
 *   victim: (convert|turn) ([789]|1\d)\b|worker|export batch
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Exports records in parallel on promises; the results are written to a pipe in the order of the input. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <uv.h>

#define RECORDS 12
#define WORKERS 3

struct record {
	unsigned number;
	const char *text;
	unsigned cost_ms;
	/* Resolved when this record is in the output. */
	struct thrum_promise *turn;
	struct thrum_resolver *turn_resolver;
};

static struct record records[RECORDS] = {
	{.text = "ash"},
	{.text = "birch"},
	{.text = "cedar"},
	{.text = "elm"},
	{.text = "fir"},
	{.text = "hazel"},
	{.text = "larch"},
	{.text = "maple"},
	{.text = "oak"},
	{.text = "pine"},
	{.text = "rowan"},
	{.text = "yew"},
};
static struct thrum_stream *input;
static struct thrum_semaphore *memory; /* room for converted records that aren't written yet */
static struct thrum_file *output;
static unsigned written;

/* ---- Output in order ----------------------------------------------------------------------------- */

static void pass_turn(struct record *record)
{
	struct thrum_resolver *resolver = record->turn_resolver;

	record->turn_resolver = NULL;
	thrum_resolver_resolve(resolver, thrum_value_none());
}

static struct thrum_value after_write(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	written++;
	thrum_semaphore_release(memory);
	pass_turn(data);
	return thrum_value_none();
}

static struct thrum_promise *write_record(struct thrum_loop *loop, void *value, void *data)
{
	struct record *record = data;

	(void)loop;
	(void)value;
	return thrum_promise_map(thrum_file_write(output, thrum_value_static(record->text),
					 strlen(record->text), -1),
		after_write, record, NULL);
}

static struct thrum_promise *write_in_turn(struct thrum_loop *loop, void *value, void *data)
{
	struct record *record = data;

	(void)value;
	if (record->number == 1)
		return write_record(loop, NULL, record);
	return thrum_promise_bind(thrum_promise_ref(records[record->number - 2].turn), write_record,
		record, NULL);
}

/* ---- Converting ------------------------------------------------------------------------------------ */

static struct thrum_promise *convert_record(struct thrum_loop *loop, void *value, void *data)
{
	struct record *record = data;

	(void)value;
	if (!*record->text) { /* nothing to write */
		thrum_semaphore_release(memory);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, record->cost_ms), write_in_turn, record, NULL);
}

static struct thrum_promise *worker_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *worker_take(struct thrum_loop *loop, void *value, void *data)
{
	struct record *record = value;
	struct thrum_promise *converted;

	if (!record) /* the end of the input */
		return thrum_promise_return(loop, thrum_value_none());
	converted = thrum_promise_bind(thrum_semaphore_acquire(memory), convert_record, record,
		NULL);
	converted = thrum_promise_labelf(converted, "convert %u", record->number);
	return thrum_promise_bind(converted, worker_next, data, NULL);
}

static struct thrum_promise *worker_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(input), worker_take, data, NULL);
}

/* ---- Reading the batch ------------------------------------------------------------------------------ */

static struct thrum_promise *read_batch(struct thrum_loop *loop, void *value, void *data)
{
	uintptr_t next = (uintptr_t)data;

	(void)value;
	if (next == RECORDS) {
		thrum_stream_close(input);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_stream_push(input, thrum_value_static(&records[next])),
		read_batch, (void *)(next + 1), NULL);
}

static struct thrum_promise *hang_up(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_fail(loop, -EINTR, "stopped by a signal");
}

int main(int argc, char **argv)
{
	struct thrum_promise *parts[WORKERS + 1], *either[2], *opened;
	struct thrum_value file;
	struct thrum_loop *loop;
	int result;

	if (thrum_start(NULL) || thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	if (argc > 1 && !strcmp(argv[1], "broken"))
		records[5].text = ""; /* hazel was deleted */
	input = thrum_stream_create(loop, "batch", 4);
	memory = thrum_semaphore_create(loop, "memory", 8);
	opened = thrum_file_open(loop, "/dev/null", O_WRONLY, 0);
	if (thrum_promise_run(thrum_promise_ref(opened)) || !thrum_promise_take(opened, &file))
		return 2;
	thrum_promise_unref(opened);
	output = file.data;
	for (unsigned i = 0; i < RECORDS; i++) {
		records[i].number = i + 1;
		records[i].cost_ms = 4 + i * 7 % 11;
		records[i].turn = thrum_promise_wait(loop, NULL, &records[i].turn_resolver);
		thrum_promise_labelf(records[i].turn, "turn %u", i + 1);
	}
	for (uintptr_t i = 0; i < WORKERS; i++)
		parts[i] = thrum_promise_labelf(worker_next(loop, NULL, (void *)i), "worker %u",
			(unsigned)i);
	parts[WORKERS] = thrum_promise_label(read_batch(loop, NULL, NULL), "read batch");
	either[0] = thrum_promise_label(thrum_promise_join(loop, parts, WORKERS + 1),
		"export batch");
	thrum_promise_should_resolve(either[0]);
	either[1] = thrum_promise_bind(thrum_signal_wait(loop, SIGTERM), hang_up, NULL, NULL);
	result = thrum_promise_run(thrum_promise_pick(loop, either, 2));
	thrum_stop();
	printf("%u records written\n", written);
	for (unsigned i = 0; i < RECORDS; i++) {
		thrum_promise_unref(records[i].turn);
		thrum_resolver_drop(records[i].turn_resolver);
	}
	thrum_file_close(output);
	thrum_semaphore_destroy(memory);
	thrum_stream_destroy(input);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return result || written != RECORDS ? 1 : 0;
}
