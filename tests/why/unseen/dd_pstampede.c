/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="GET /chart"
 *   truth: The cache gets the chart only when it is ready, so every request that comes before that renders it again; the slowest GET /chart waits until the "render chart" of the others have left the two threads.
 *   culprit: render chart|render_chart
 *   victim: GET /chart
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A server of statistics: a chart is rendered by a thread of the pool when somebody asks for it, and is kept in a
 * cache. All dashboards ask at the full hour.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "thrum/promise.h"

#define DASHBOARDS 10

static bool broken, cached;
static struct thrum_promise *rendering;
static int renders;

/* Runs in the pool. */
static int render_chart(void *data, struct thrum_value *result)
{
	struct timespec time = {.tv_nsec = 90000000};

	(void)data;
	(void)result;
	nanosleep(&time, NULL);
	return 0;
}

static struct thrum_value keep_chart(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	cached = true;
	return thrum_value_none();
}

static struct thrum_promise *start_render(struct thrum_loop *loop)
{
	renders++;
	return thrum_promise_map(thrum_work(loop, "render chart", render_chart, NULL, NULL),
		keep_chart, NULL, NULL);
}

static struct thrum_promise *get_chart(struct thrum_loop *loop)
{
	if (cached)
		return thrum_promise_return(loop, thrum_value_none());
	if (broken)
		return start_render(loop);
	/* One renders, the others wait for it. */
	if (!rendering)
		rendering = start_render(loop);
	return thrum_promise_ref(rendering);
}

static struct thrum_promise *send_page(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 3), "send page");
}

/* Answers one request. */
static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *page = thrum_promise_bind(get_chart(loop), send_page, NULL, NULL);

	(void)value;
	(void)data;
	return thrum_promise_should_resolve(thrum_promise_label(page, "GET /chart"));
}

int main(int argc, char **argv)
{
	struct thrum_promise *pages[DASHBOARDS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	setenv("UV_THREADPOOL_SIZE", "2", 1);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (unsigned i = 0; i < DASHBOARDS; i++) {
		struct thrum_promise *arrives = thrum_promise_label(thrum_sleep(loop, 5 + 4 * i),
			"arrives");

		pages[i] = thrum_promise_bind(arrives, serve, NULL, NULL);
	}
	error = thrum_promise_run(thrum_promise_join(loop, pages, DASHBOARDS));
	thrum_stop();
	printf("%d renders\n", renders);
	thrum_promise_unref(rendering);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
