/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: a download takes one of 3 connections and gives it back in on_transferred, which only runs when
 *     the transfer succeeds. The transfer of a slow file fails by its time limit, so its connection is never
 *     given back. After the files 4, 8 and 12 none is left, and download 13 waits for ever.
 *   culprit: download (4|8|12)\b|connections
 *   victim: mirror|download 13
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A mirror of a package archive: one file after the other, some of which come too slowly and are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	FILES = 18,
	CONNECTIONS = 3,
	LIMIT_MS = 60
};

struct mirror {
	struct thrum_loop *loop;
	struct thrum_semaphore *connections;
	bool is_broken;
	int number; /* of the file that comes now */
	unsigned loaded;
	unsigned left_out;
	unsigned pings;
	bool is_finished;
};

static unsigned transfer_ms(int number)
{
	return number % 4 == 0 ? 400 : 10;
}

static struct thrum_promise *give_back(struct thrum_loop *loop, void *data)
{
	struct mirror *mirror = data;

	thrum_semaphore_release(mirror->connections);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_transferred(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return give_back(loop, data);
}

static struct thrum_promise *transfer(struct thrum_loop *loop, void *value, void *data)
{
	struct mirror *mirror = data;
	struct thrum_promise *bytes = thrum_sleep(loop, transfer_ms(mirror->number));

	(void)value;
	bytes = thrum_promise_labelf(bytes, "bytes of file %d", mirror->number);
	/* The limit is for the transfer; a download may stand in line as long as it likes. */
	bytes = thrum_timeout(bytes, LIMIT_MS);
	if (mirror->is_broken)
		return thrum_promise_bind(bytes, on_transferred, mirror, NULL);
	return thrum_promise_finalize(bytes, give_back, mirror, NULL);
}

static struct thrum_promise *download(struct mirror *mirror)
{
	struct thrum_promise *connection = thrum_semaphore_acquire(mirror->connections);
	struct thrum_promise *file = thrum_promise_bind(connection, transfer, mirror, NULL);

	return thrum_promise_labelf(file, "download %d", mirror->number);
}

static struct thrum_promise *next_file(struct mirror *mirror);

static struct thrum_promise *on_loaded(struct thrum_loop *loop, void *value, void *data)
{
	struct mirror *mirror = data;

	(void)loop;
	(void)value;
	mirror->loaded++;
	return next_file(mirror);
}

static struct thrum_promise *on_failed(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct mirror *mirror = data;

	(void)loop;
	(void)failure;
	mirror->left_out++;
	return next_file(mirror);
}

static struct thrum_promise *next_file(struct mirror *mirror)
{
	if (++mirror->number > FILES) {
		mirror->is_finished = true;
		return thrum_promise_return(mirror->loop, thrum_value_none());
	}
	return thrum_promise_try_bind(download(mirror), on_loaded, on_failed, mirror, NULL);
}

/* ---- The archive's server is told that this mirror is alive. ---- */

static struct thrum_promise *ping(struct thrum_loop *loop, void *value, void *data)
{
	struct mirror *mirror = data;

	(void)value;
	if (mirror->is_finished)
		return thrum_promise_return(loop, thrum_value_none());
	mirror->pings++;
	return thrum_promise_bind(thrum_sleep(loop, 100), ping, mirror, NULL);
}

static struct thrum_promise *begin_pings(struct thrum_loop *loop, void *data)
{
	return ping(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct mirror mirror = {.is_broken = argc > 1 && !strcmp(argv[1], "broken")};
	struct thrum_promise *all;
	uv_loop_t uv;
	int error;

	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &mirror.loop))
		return 1;
	mirror.connections = thrum_semaphore_create(mirror.loop, "connections", CONNECTIONS);
	thrum_promise_async(mirror.loop, "pings", begin_pings, &mirror, NULL);
	all = thrum_promise_label(next_file(&mirror), "mirror");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%s: %u files loaded, %u left out, %u pings\n", thrum_promise_error_message(error),
		mirror.loaded, mirror.left_out, mirror.pings);
	thrum_semaphore_destroy(mirror.connections);
	thrum_loop_destroy(mirror.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) ? 1 : 0;
}
