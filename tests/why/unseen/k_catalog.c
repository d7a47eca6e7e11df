/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   run:
 *   ask: why --slow="GET /report"
 *   truth: One of the reports took about 190 ms instead of some ms, because it waited for the lock "catalog", which "rebuild index" held during its whole work. The mail job, which sleeps at the same time, and the slow but unrelated backup have nothing to do with it.
 *   culprit: rebuild index
 *   victim: GET /report
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_mutex *catalog;

static struct thrum_promise *look_up(struct thrum_loop *loop, void *data)
{
	return thrum_sleep(loop, (uint64_t)thrum_int(data));
}

static struct thrum_promise *scan_tables(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 190), "scan tables");
}

static struct thrum_promise *get(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_mutex_with(catalog, look_up, data, NULL);
}

static struct thrum_promise *rebuild(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_mutex_with(catalog, scan_tables, data, NULL);
}

/* A request is a promise from its arrival on. */
static struct thrum_promise *arrive(struct thrum_loop *loop, void *value, void *data)
{
	const char *url = data;
	struct thrum_promise *p;

	(void)value;
	p = thrum_promise_bind(thrum_promise_pause(loop), get,
		(void *)(intptr_t)(url[5] == 'r' ? 4 : 2), NULL);
	return thrum_promise_label(p, url);
}

int main(void)
{
	struct thrum_promise *all[24], *end;
	struct thrum_loop *loop;
	size_t n = 0;
	int rc;

	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	catalog = thrum_mutex_create(loop, "catalog");
	for (unsigned i = 0; i < 9; i++) {
		/* no request but one report comes between 110 and 320 ms */
		unsigned at = i < 4 ? 10 + 25 * i : i == 4 ? 125 : 330 + 20 * i;

		all[n++] = thrum_promise_bind(thrum_sleep(loop, at), arrive, "GET /report", NULL);
		if (i != 4)
			all[n++] = thrum_promise_bind(thrum_sleep(loop, at + 12), arrive,
				"GET /items", NULL);
	}
	all[n] = thrum_promise_bind(thrum_sleep(loop, 120), rebuild, NULL, NULL);
	thrum_promise_label(all[n++], "rebuild index");
	all[n] = thrum_sleep(loop, 410);
	thrum_promise_label(all[n++], "backup");
	all[n] = thrum_promise_label(thrum_sleep(loop, 300), "send mail");
	n++;
	end = thrum_promise_label(thrum_promise_join(loop, all, n), "all done");
	rc = thrum_promise_run(end);
	thrum_mutex_destroy(catalog);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return rc ? 1 : 0;
}
