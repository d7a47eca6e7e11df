/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: the importer ("import bookworm") fails at a malformed entry of the index; nobody is told, and nobody
 *          reads the stream any more. The download blocks at the full stream for ever, and the sync behind it.
 *   culprit: import[ _](bookworm|next|entry)|malformed
 *   victim: (download|sync)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A package mirror: download an index, and import its entries through a bounded stream. */
static struct thrum_stream *entries;
static int strict_import;
static int imported, skipped;

static struct thrum_promise *import_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *import_more(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_stream_next(entries), import_next, NULL, NULL);
}

static struct thrum_promise *skip_entry(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	skipped++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *import_entry(struct thrum_loop *loop, intptr_t number)
{
	if (number == 23)
		return thrum_promise_fail(loop, 7, "malformed entry in Packages, line %d",
			(int)number);
	imported++;
	/* The database is slow at a checkpoint. */
	return thrum_promise_label(thrum_sleep(loop, number == 30 ? 120 : 2), "INSERT package");
}

static struct thrum_promise *import_next(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *inserted;

	(void)data;
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	inserted = import_entry(loop, thrum_int(value));
	if (!strict_import)
		inserted = thrum_promise_catch(inserted, skip_entry, NULL, NULL);
	return thrum_promise_bind(inserted, import_more, NULL, NULL);
}

static struct thrum_promise *import(struct thrum_loop *loop, void *data)
{
	return import_more(loop, NULL, data);
}

static struct thrum_promise *download_chunk(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *push_entry(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_push(entries, thrum_value_int(thrum_int(data))),
		download_chunk, data, NULL);
}

static struct thrum_promise *download_chunk(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data) + 1;

	(void)value;
	if (number > 60) {
		thrum_stream_close(entries);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, number % 20 ? 0 : 15), push_entry,
		(void *)number, NULL);
}

static struct thrum_promise *trixie(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 90), "sync trixie");
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_listener *status;
	struct thrum_promise *both[2], *done, *visitor;
	int result;

	strict_import = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop) ||
		thrum_tcp_listen(loop, (struct sockaddr *)&address, 4, &status))
		return 1;
	visitor = thrum_promise_label(thrum_listener_accept(status), "status page");
	entries = thrum_stream_create(loop, "index entries", 8);
	thrum_promise_async(loop, "import bookworm", import, NULL, NULL);
	both[0] = thrum_promise_label(download_chunk(loop, NULL, NULL), "download Packages");
	both[1] = trixie(loop);
	done = thrum_promise_label(thrum_promise_join(loop, both, 2), "sync all suites");
	result = thrum_promise_run(done);
	/* let the importer take what is left, as long as it works */
	for (int i = 0; i < 100 && imported + skipped < 60; i++)
		uv_run(&uv, UV_RUN_ONCE);
	thrum_promise_cancel(visitor);
	thrum_promise_unref(visitor);
	thrum_stop();
	thrum_promise_unref(thrum_listener_close(status));
	uv_run(&uv, UV_RUN_NOWAIT);
	thrum_stream_destroy(entries);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_NOWAIT);
	return result ? 1 : 0;
}
