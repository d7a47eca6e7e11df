/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Four build_report() occupy all four threads of libuv's pool and wait in wait_for_chart() for charts, which
 *     draw_chart() should draw in the same pool. It is queued four times and never gets a thread.
 *   culprit: build_report|wait_for_chart
 *   victim: draw_chart|on_report_built
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Makes the monthly reports: in libuv's thread pool, some at a time; each report orders a chart from the loop. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define NOINLINE __attribute__((noinline))
#define REPORTS 4

struct report {
	uv_work_t work;
	uv_work_t chart_work;
	struct report *next; /* in the queue of those who want a chart */
	const char *title;
	int sum;
	bool chart_drawn;
	char text[96];
};

static uv_loop_t loop;
static uv_async_t chart_wanted;
static pthread_mutex_t charts_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t chart_ready = PTHREAD_COND_INITIALIZER;
static struct report *charts_queue;
static struct report reports[REPORTS] = {
	{.title = "sales"},
	{.title = "stock"},
	{.title = "staff"},
	{.title = "travel"},
};
static unsigned parallel, started, finished;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* In the pool: reads the month's bookings. */
static NOINLINE int read_bookings(const char *title)
{
	int sum = 0;

	pause_ms(200);
	for (const char *letter = title; *letter; letter++)
		sum = sum * 3 + *letter;
	return sum;
}

/* In the pool. */
static NOINLINE void draw_chart(uv_work_t *work)
{
	struct report *report = work->data;

	pause_ms(20);
	pthread_mutex_lock(&charts_lock);
	report->chart_drawn = true;
	pthread_cond_broadcast(&chart_ready);
	pthread_mutex_unlock(&charts_lock);
}

static NOINLINE void on_chart_drawn(uv_work_t *work, int status)
{
	struct report *report = work->data;

	if (status)
		fprintf(stderr, "chart of %s: %s\n", report->title, uv_strerror(status));
}

/* In the loop: uv_queue_work() may only be called there. */
static NOINLINE void on_chart_wanted(uv_async_t *async)
{
	struct report *report;

	pthread_mutex_lock(&charts_lock);
	report = charts_queue;
	charts_queue = NULL;
	pthread_mutex_unlock(&charts_lock);
	while (report) {
		struct report *next = report->next;

		report->chart_work.data = report;
		uv_queue_work(async->loop, &report->chart_work, draw_chart, on_chart_drawn);
		report = next;
	}
}

static NOINLINE void wait_for_chart(struct report *report)
{
	pthread_mutex_lock(&charts_lock);
	report->next = charts_queue;
	charts_queue = report;
	uv_async_send(&chart_wanted);
	while (!report->chart_drawn)
		pthread_cond_wait(&chart_ready, &charts_lock);
	pthread_mutex_unlock(&charts_lock);
}

/* In the pool. */
static NOINLINE void build_report(uv_work_t *work)
{
	struct report *report = work->data;

	report->sum = read_bookings(report->title);
	wait_for_chart(report);
	snprintf(report->text, sizeof(report->text), "report %s: %d, with a chart", report->title,
		report->sum);
}

static void on_report_built(uv_work_t *work, int status);

static NOINLINE void start_report(void)
{
	struct report *report = &reports[started++];

	report->work.data = report;
	if (uv_queue_work(&loop, &report->work, build_report, on_report_built))
		exit(EXIT_FAILURE);
}

static NOINLINE void on_report_built(uv_work_t *work, int status)
{
	struct report *report = work->data;

	if (status)
		fprintf(stderr, "report %s: %s\n", report->title, uv_strerror(status));
	else
		puts(report->text);
	finished++;
	if (started < REPORTS)
		start_report();
	else if (finished == REPORTS)
		uv_close((uv_handle_t *)&chart_wanted, NULL);
}

int main(int argc, char **argv)
{
	int result;

	setenv("UV_THREADPOOL_SIZE", "4", 1);
	/* The administrator's setting: how many reports are built at the same time. */
	parallel = argc > 1 && !strcmp(argv[1], "broken") ? 4 : 2;
	if (uv_loop_init(&loop) || uv_async_init(&loop, &chart_wanted, on_chart_wanted))
		return EXIT_FAILURE;
	for (unsigned i = 0; i < parallel; i++)
		start_report();
	result = uv_run(&loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&loop))
		result = 1;
	printf("%u of %d reports\n", finished, REPORTS);
	return result ? EXIT_FAILURE : EXIT_SUCCESS;
}
