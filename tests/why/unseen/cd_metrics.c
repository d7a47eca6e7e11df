/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=dispatch
 *   truth: collectd issue #2486 ("Per-(write)-plugin threads", also #2104): each of the two "write threads" calls all
 *     write plugins for a value one after the other. When the graphite server doesn't answer, both are in
 *     write_graphite ("connect graphite", 260 ms), and all other values wait for a write thread, though rrd and
 *     csv would take them at once.
 *   culprit: graphite
 *   victim: write rrd|write csv|reader
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Collects statistics on promises: readers dispatch values, and write threads hand them to the plugins rrd, graphite
 * and csv. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define READERS 2
#define VALUES 90 /* of each reader */

struct reader {
	const char *name;
	unsigned interval_ms;
	int left;
};

static struct thrum_semaphore *write_threads;
static struct thrum_semaphore *graphite_thread;
static struct thrum_promise *dispatched[READERS * VALUES];
static size_t dispatched_count;
static unsigned graphite_values, outages;
static bool own_thread;

/* ---- write plugins ---- */

static struct thrum_promise *write_rrd(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 1), "write rrd");
}

static struct thrum_promise *write_csv(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 1), "write csv");
}

/* Connects anew when the server has closed the connection, which it does when it restarts. */
static struct thrum_promise *write_graphite(struct thrum_loop *loop)
{
	graphite_values++;
	if (graphite_values == 70 || graphite_values == 71) {
		outages++;
		return thrum_promise_label(thrum_sleep(loop, 260), "connect graphite");
	}
	return thrum_promise_label(thrum_sleep(loop, 2), "write graphite");
}

/* ---- dispatch ---- */

static struct thrum_promise *then_csv(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return write_csv(loop);
}

static struct thrum_promise *then_graphite(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return write_graphite(loop);
}

static struct thrum_promise *call_plugins(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *work = write_rrd(loop);

	if (!own_thread)
		work = thrum_promise_bind(work, then_graphite, data, NULL);
	return thrum_promise_bind(work, then_csv, data, NULL);
}

static struct thrum_promise *call_graphite(struct thrum_loop *loop, void *data)
{
	(void)data;
	return write_graphite(loop);
}

static struct thrum_promise *graphite_queue(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_semaphore_with(graphite_thread, call_graphite, data, NULL);
}

static void dispatch(struct thrum_loop *loop, struct reader *reader)
{
	struct thrum_promise *written = thrum_semaphore_with(write_threads, call_plugins, reader,
		NULL);

	if (own_thread)
		thrum_promise_async(loop, "graphite queue", graphite_queue, reader, NULL);
	thrum_promise_should_resolve(thrum_promise_label(written, "dispatch"));
	dispatched[dispatched_count++] = written;
}

/* ---- readers ---- */

static struct thrum_promise *reader_step(struct thrum_loop *loop, void *value, void *data)
{
	struct reader *reader = data;

	(void)value;
	if (reader->left-- == 0)
		return thrum_promise_return(loop, thrum_value_none());
	dispatch(loop, reader);
	return thrum_promise_bind(thrum_sleep(loop, reader->interval_ms), reader_step, reader,
		NULL);
}

static struct thrum_promise *all_dispatched(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_join(loop, dispatched, dispatched_count);
}

int main(int argc, char **argv)
{
	static struct reader readers[READERS] = {{"cpu", 9, VALUES}, {"disk", 11, VALUES}};
	struct thrum_promise *reading[READERS], *all;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code, i;

	if (argc < 2)
		return 2;
	own_thread = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	write_threads = thrum_semaphore_create(loop, "write threads", 2);
	graphite_thread = thrum_semaphore_create(loop, "graphite thread", 1);
	for (i = 0; i < READERS; i++) {
		reading[i] = reader_step(loop, NULL, &readers[i]);
		thrum_promise_labelf(reading[i], "reader %s", readers[i].name);
	}
	all = thrum_promise_bind(thrum_promise_join(loop, reading, READERS), all_dispatched, NULL,
		NULL);
	code = thrum_promise_run(thrum_promise_label(all, "main"));
	uv_run(&uv, UV_RUN_DEFAULT);
	printf("%zu values, %u for graphite, %u outages, %d\n", dispatched_count, graphite_values,
		outages, code);
	thrum_stop();
	return code != 0;
}
