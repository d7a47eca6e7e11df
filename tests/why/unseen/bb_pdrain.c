/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: rate_limit_lifted resumes the paused source by hand and leaves await_drain at 1; the next
 *     full buffer makes it 2, but only one drain event comes for it, so on_drain never signals "source
 *     resumed" again and the pump waits for it for ever.
 *   culprit: source resumed|on_drain|source_resume
 *   victim: copy backup\.tar|\bmain\b|written
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about streams of Node: after a manual resume() the counter awaitDrain is increased twice
 * for one drain, and the pipe stalls. Here a file is copied to a slow peer.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CHUNKS 24
#define HIGH_WATER 6

static struct thrum_loop *loop;

static struct {
	bool paused;
	int await_drain; /* drain events to wait for */
	int sent;
	struct thrum_condition *resumed;
} source;

static struct {
	int queued, written;
	bool need_drain, closed;
	struct thrum_condition *data;
} sink;

static bool limited = true, broken;

static void source_resume(void)
{
	source.paused = false;
	thrum_condition_broadcast(source.resumed, thrum_value_none());
}

/* The peer has taken enough for its window, so the limit of the rate is lifted. */
static void rate_limit_lifted(void)
{
	limited = false;
	if (!source.paused)
		return;
	if (!broken)
		source.await_drain = 0;
	source_resume();
}

static void on_drain(void)
{
	if (source.await_drain > 0 && --source.await_drain == 0)
		source_resume();
}

/* Returns false if the buffer is full: the caller ought to wait for the drain event. */
static bool sink_write(void)
{
	sink.queued++;
	thrum_condition_signal(sink.data, thrum_value_none());
	if (sink.queued < HIGH_WATER)
		return true;
	sink.need_drain = true;
	return false;
}

static struct thrum_promise *write_chunks(struct thrum_loop *current, void *value, void *data);

static struct thrum_promise *written(struct thrum_loop *current, void *value, void *data)
{
	sink.written++;
	sink.queued--;
	if (limited && sink.written == 2)
		rate_limit_lifted();
	if (sink.queued == 0 && sink.need_drain) {
		sink.need_drain = false;
		on_drain();
	}
	return write_chunks(current, value, data);
}

/* Writes what is queued to the peer, chunk after chunk, until the source is at its end. */
static struct thrum_promise *write_chunks(struct thrum_loop *current, void *value, void *data)
{
	struct thrum_promise *next;

	(void)value;
	(void)data;
	if (sink.queued > 0) {
		next = thrum_promise_label(thrum_sleep(current, 3), "write chunk");
		return thrum_promise_bind(next, written, NULL, NULL);
	}
	if (sink.closed)
		return thrum_promise_return(current, thrum_value_none());
	next = thrum_condition_wait(sink.data, NULL);
	return thrum_promise_bind(next, write_chunks, NULL, NULL);
}

static struct thrum_promise *pump(struct thrum_loop *current, void *value, void *data);

static struct thrum_promise *wait_for_resume(void)
{
	return thrum_promise_bind(thrum_condition_wait(source.resumed, NULL), pump, NULL, NULL);
}

static struct thrum_promise *pump(struct thrum_loop *current, void *value, void *data)
{
	(void)value;
	(void)data;
	while (source.sent < CHUNKS) {
		if (source.paused)
			return wait_for_resume();
		source.sent++;
		if (!sink_write()) {
			source.await_drain++;
			source.paused = true;
		}
	}
	sink.closed = true;
	thrum_condition_signal(sink.data, thrum_value_none());
	return thrum_promise_return(current, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *both[2], *copy;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return EXIT_FAILURE;
	source.resumed = thrum_condition_create(loop, "source resumed");
	sink.data = thrum_condition_create(loop, "data for the peer");
	both[0] = write_chunks(loop, NULL, NULL);
	both[1] = pump(loop, NULL, NULL);
	copy = thrum_promise_join(loop, both, 2);
	copy = thrum_promise_should_resolve(thrum_promise_label(copy, "copy backup.tar"));
	error = thrum_promise_run(copy);
	printf("%d of %d chunks\n", sink.written, CHUNKS);
	thrum_stop();
	if (!error) {
		thrum_condition_destroy(source.resumed);
		thrum_condition_destroy(sink.data);
		thrum_loop_destroy(loop);
		uv_run(&uv, UV_RUN_DEFAULT);
		uv_loop_close(&uv);
	}
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
