/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=page
 *   truth: sweep holds the mutex "sessions" while it writes the expired sessions to the archive, which takes 80 ms.
 *     Each page looks up its session under that mutex; the pages that come meanwhile wait for the sweep.
 *   culprit: sweep|archive
 *   victim: page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A web application: each page looks up its session in a table; now and then a sweep archives expired sessions. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	PAGES = 90,
	SWEEPS = 4,
};

static bool broken;
static struct thrum_mutex *sessions;
static unsigned expired[64];
static unsigned expired_count;
static unsigned archived;
static unsigned served;
static bool is_swept;

static struct thrum_promise *on_looked_up(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data);

	(void)value;
	if (number % 8 == 0 && expired_count < 64)
		expired[expired_count++] = number;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Looks up a session; the caller holds the mutex. */
static struct thrum_promise *look_up(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_promise_label(thrum_promise_pause(loop), "look up"),
		on_looked_up, data, NULL);
}

static struct thrum_promise *on_rendered(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	served++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *render(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *template;

	(void)value;
	template = thrum_promise_label(thrum_sleep(loop, 3), "read template");
	return thrum_promise_bind(template, on_rendered, data, NULL);
}

static struct thrum_promise *serve_page(struct thrum_loop *loop, void *number)
{
	struct thrum_promise *page;

	(void)loop;
	page = thrum_promise_label(thrum_mutex_with(sessions, look_up, number, NULL), "session");
	page = thrum_promise_label(thrum_promise_bind(page, render, NULL, NULL), "page");
	return thrum_promise_should_resolve(page);
}

/* A browser asks for a page every 10 ms. */
static struct thrum_promise *visit_next(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data) + 1;

	(void)value;
	if (number > PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	thrum_promise_ignore_result(serve_page(loop, (void *)(intptr_t)number));
	return thrum_promise_bind(thrum_sleep(loop, 10), visit_next, (void *)(intptr_t)number,
		NULL);
}

static struct thrum_promise *visits_run(struct thrum_loop *loop, void *data)
{
	(void)data;
	return visit_next(loop, NULL, NULL);
}

/* Writes that many sessions to the archive. */
static struct thrum_promise *archive(struct thrum_loop *loop, unsigned count)
{
	archived += count;
	return thrum_promise_label(thrum_sleep(loop, 80), "write archive");
}

/* Takes the expired sessions out of the table; the caller holds the mutex. */
static struct thrum_promise *sweep_table(struct thrum_loop *loop, void *data)
{
	unsigned *count = data;

	*count = expired_count;
	memset(expired, 0, sizeof(expired));
	expired_count = 0;
	if (broken)
		return archive(loop, *count);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_swept(struct thrum_loop *loop, void *value, void *data)
{
	unsigned *count = data;

	(void)value;
	if (broken)
		return thrum_promise_return(loop, thrum_value_none());
	return archive(loop, *count);
}

static struct thrum_promise *sweep(struct thrum_loop *loop)
{
	static unsigned count;
	struct thrum_promise *swept;

	(void)loop;
	swept = thrum_mutex_with(sessions, sweep_table, &count, NULL);
	swept = thrum_promise_bind(swept, on_swept, &count, NULL);
	return thrum_promise_label(swept, "sweep");
}

static struct thrum_promise *sweep_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *on_sweep_time(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(sweep(loop), sweep_next, data, NULL);
}

static struct thrum_promise *sweep_next(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data) + 1;

	(void)value;
	if (number > SWEEPS) {
		is_swept = true;
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, 150), on_sweep_time, (void *)(intptr_t)number,
		NULL);
}

static struct thrum_promise *sweeps_run(struct thrum_loop *loop, void *data)
{
	(void)data;
	return sweep_next(loop, NULL, NULL);
}

static void on_tick(uv_timer_t *timer)
{
	if (served == PAGES && is_swept)
		uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_timer_t tick;
	uv_loop_t uv;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL) != 0)
		fputs("pages: nothing is recorded\n", stderr);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop) != 0)
		return 1;
	sessions = thrum_mutex_create(loop, "sessions");
	uv_timer_init(&uv, &tick);
	uv_timer_start(&tick, on_tick, 50, 50);
	thrum_promise_async(loop, "visitors", visits_run, NULL, NULL);
	thrum_promise_async(loop, "sweeper", sweeps_run, NULL, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%u pages, %u sessions archived\n", served, archived);
	thrum_mutex_destroy(sessions);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
