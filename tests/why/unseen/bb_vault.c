/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: store_append holds the mutex "segments" (thrum_mutex_with) when the segment is full and
 *     rotate_segment runs; rotate_segment writes the index by index_write_locked, which locks "segments"
 *     again. The mutex is not recursive: the append waits for itself, and all later appends and the reader
 *     wait for it.
 *   culprit: rotate|index_write_locked
 *   victim: append|lookup|vault
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A vault: records are appended to segments; a full segment is closed, and the index written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define APPENDS 14
#define LOOKUPS 10
#define SEGMENT_SIZE 5

struct store {
	struct thrum_loop *loop;
	struct thrum_mutex *segments;
	int records, in_segment, segments_closed, index_entries;
	thrum_begin *write_index;
};

struct append {
	struct store *store;
	int number;
};

static struct store store;

static struct thrum_promise *index_is_written(struct thrum_loop *loop, void *value, void *data)
{
	struct store *in = data;

	(void)value;
	in->index_entries = in->records;
	return thrum_promise_return(loop, thrum_value_none());
}

/* The caller holds the mutex. */
static struct thrum_promise *index_write(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *written = thrum_sleep(loop, 4);

	return thrum_promise_label(thrum_promise_bind(written, index_is_written, data, NULL),
		"write index");
}

static struct thrum_promise *index_write_locked(struct thrum_loop *loop, void *data)
{
	struct store *in = data;

	(void)loop;
	return thrum_mutex_with(in->segments, index_write, in, NULL);
}

/* Every now and then, and at the end. */
static struct thrum_promise *index_checkpoint(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_label(index_write_locked(loop, data), "checkpoint");
}

static struct thrum_promise *rotate_segment(struct thrum_loop *loop, struct store *in)
{
	in->in_segment = 0;
	in->segments_closed++;
	return thrum_promise_label(in->write_index(loop, in), "rotate segment");
}

static struct thrum_promise *record_is_written(struct thrum_loop *loop, void *value, void *data)
{
	struct append *append = data;
	struct store *in = append->store;

	(void)value;
	in->records++;
	if (++in->in_segment == SEGMENT_SIZE)
		return rotate_segment(loop, in);
	return thrum_promise_return(loop, thrum_value_none());
}

/* The mutex is held. */
static struct thrum_promise *record_write(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 3), record_is_written, data, NULL);
}

static struct thrum_promise *store_append(struct thrum_loop *loop, void *value, void *data)
{
	struct append *append = data;

	(void)loop;
	(void)value;
	return thrum_mutex_with(append->store->segments, record_write, append, NULL);
}

static struct thrum_promise *record_read(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_sleep(loop, 1);
}

static struct thrum_promise *store_lookup(struct thrum_loop *loop, void *value, void *data)
{
	struct store *in = data;

	(void)loop;
	(void)value;
	return thrum_mutex_with(in->segments, record_read, in, NULL);
}

static struct thrum_promise *start_append(int number)
{
	static struct append appends[APPENDS];
	struct append *append = &appends[number];
	struct thrum_promise *promise = thrum_sleep(store.loop, (uint64_t)number * 17);

	append->store = &store;
	append->number = number;
	promise = thrum_promise_bind(promise, store_append, append, NULL);
	return thrum_promise_labelf(promise, "append %d", number);
}

/* Keeps the service up, and would print its state. */
static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[APPENDS + LOOKUPS + 1];
	size_t count = 0;
	uv_timer_t tick;
	uv_loop_t *uv = uv_default_loop();
	int code;

	if (argc != 2 || thrum_start(NULL) || thrum_loop_create(uv, &store.loop))
		return 2;
	store.write_index = strcmp(argv[1], "healthy") == 0 ? index_write : index_write_locked;
	store.segments = thrum_mutex_create(store.loop, "segments");
	uv_timer_init(uv, &tick);
	uv_timer_start(&tick, on_tick, 100, 100);
	for (int i = 0; i < APPENDS; i++)
		all[count++] = start_append(i);
	for (int i = 0; i < LOOKUPS; i++) {
		all[count] = thrum_sleep(store.loop, (uint64_t)(10 + 21 * i));
		all[count] = thrum_promise_bind(all[count], store_lookup, &store, NULL);
		all[count] = thrum_promise_labelf(all[count], "lookup %d", i);
		count++;
	}
	all[count++] = thrum_promise_bind(thrum_sleep(store.loop, 20), index_checkpoint, &store,
		NULL);
	code = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(store.loop, all, count), "vault")));
	thrum_stop();
	printf("%d records, %d segments, index of %d\n", store.records, store.segments_closed,
		store.index_entries);
	uv_close((uv_handle_t *)&tick, NULL);
	thrum_mutex_destroy(store.segments);
	thrum_loop_destroy(store.loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return code ? 1 : 0;
}
