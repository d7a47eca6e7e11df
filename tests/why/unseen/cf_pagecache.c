/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: netdata pull request #6911 ("Detect deadlock in dbengine page cache" when there are too many metrics).
 *     Each metric keeps a page of the cache until it is full. When containers start, there are more metrics than
 *     pages. Both collectors then wait in pg_cache_reserve for a free page, while all pages are held half full by the
 *     metrics of these same collectors; a page is only written and freed when its collector has filled it. The thread
 *     of dbengine has nothing to write. The thread "web" goes on.
 *   culprit: pg_cache_reserve|collector
 *   victim: main\b|thread dbengine
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Collects metrics into the pages of a cache; an engine on libuv writes the full ones to disk. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PAGES 8
#define POINTS 12 /* of a page */
#define COLLECTORS 2
#define METRICS 5 /* of a collector, at most */
#define TICKS 200

struct page {
	unsigned points;
	int values[POINTS];
	bool used;
	struct page *next; /* to be written */
	uv_fs_t fs;
	uv_buf_t buffer;
};

struct metric {
	struct page *page;
	bool dropped;
	unsigned collected;
};

struct collector {
	const char *name;
	uv_thread_t thread;
	struct metric metrics[METRICS];
	unsigned count;
};

static struct {
	uv_mutex_t lock;
	uv_cond_t page_freed;
	struct page pages[PAGES];
	unsigned pinned; /* metrics that have a page */
	struct page *dirty;
	uv_loop_t loop;
	uv_async_t wake;
	uv_file file;
	unsigned written, dropped;
	bool shutdown;
} engine;

static bool fixed;
static volatile bool stopped;

/* ---- page cache ---- */

static struct page *pg_cache_find(void)
{
	unsigned i;

	for (i = 0; i < PAGES; i++) {
		if (!engine.pages[i].used)
			return &engine.pages[i];
	}
	return NULL;
}

/* Returns a page for a metric. */
static struct page *pg_cache_reserve(struct metric *metric)
{
	struct page *page;

	uv_mutex_lock(&engine.lock);
	if (fixed && !metric->collected && engine.pinned + 1 >= PAGES) {
		metric->dropped = true; /* too many metrics for this cache: raises an alarm, too */
		engine.dropped++;
		uv_mutex_unlock(&engine.lock);
		return NULL;
	}
	if (!metric->collected)
		engine.pinned++;
	while (!(page = pg_cache_find()))
		uv_cond_wait(&engine.page_freed, &engine.lock);
	page->used = true;
	page->points = 0;
	uv_mutex_unlock(&engine.lock);
	return page;
}

/* Hands a full page to the engine. */
static void pg_cache_commit(struct page *page)
{
	uv_mutex_lock(&engine.lock);
	page->next = engine.dirty;
	engine.dirty = page;
	uv_mutex_unlock(&engine.lock);
	uv_async_send(&engine.wake);
}

/* ---- engine ---- */

static void on_written(uv_fs_t *fs)
{
	struct page *page = fs->data;

	uv_fs_req_cleanup(fs);
	uv_mutex_lock(&engine.lock);
	page->used = false;
	engine.written++;
	uv_cond_signal(&engine.page_freed);
	uv_mutex_unlock(&engine.lock);
}

static void on_wake(uv_async_t *async)
{
	struct page *page, *next;
	bool shutdown;

	uv_mutex_lock(&engine.lock);
	page = engine.dirty;
	engine.dirty = NULL;
	shutdown = engine.shutdown;
	uv_mutex_unlock(&engine.lock);
	for (; page; page = next) {
		next = page->next;
		page->fs.data = page;
		page->buffer = uv_buf_init((char *)page->values, sizeof(page->values));
		uv_fs_write(&engine.loop, &page->fs, engine.file, &page->buffer, 1, -1, on_written);
	}
	if (shutdown)
		uv_close((uv_handle_t *)async, NULL);
}

static void run_engine(void *arg)
{
	(void)arg;
	uv_run(&engine.loop, UV_RUN_DEFAULT);
}

/* ---- collectors ---- */

static void store_metric(struct metric *metric, int value)
{
	if (metric->dropped)
		return;
	if (!metric->page)
		metric->page = pg_cache_reserve(metric);
	if (!metric->page)
		return;
	metric->page->values[metric->page->points++] = value;
	metric->collected++;
	if (metric->page->points == POINTS) {
		pg_cache_commit(metric->page);
		metric->page = NULL;
	}
}

static void run_collector(void *arg)
{
	struct collector *collector = arg;
	unsigned tick, i;

	for (tick = 0; tick < TICKS; tick++) {
		usleep(5000);
		if (tick == 60) /* containers start */
			collector->count = METRICS;
		for (i = 0; i < collector->count; i++) {
			if (tick % (1 + i) == 0) /* not all are collected equally often */
				store_metric(&collector->metrics[i], (int)(tick * i));
		}
	}
	for (i = 0; i < collector->count; i++) {
		if (collector->metrics[i].page)
			pg_cache_commit(collector->metrics[i].page);
	}
}

/* Shows how much was written. */
static void run_web(void *arg)
{
	(void)arg;
	while (!stopped) {
		usleep(100000);
		uv_mutex_lock(&engine.lock);
		printf("%u pages written, %u metrics dropped\n", engine.written, engine.dropped);
		uv_mutex_unlock(&engine.lock);
		fflush(stdout);
	}
}

static void run_named(void *arg)
{
	struct collector *collector = arg;

	pthread_setname_np(pthread_self(), collector->name);
	run_collector(collector);
}

int main(int argc, char **argv)
{
	static struct collector collectors[COLLECTORS] = {
		{.name = "collector proc", .count = 3},
		{.name = "collector cgrp", .count = 3},
	};
	char path[] = "/tmp/datafile-XXXXXX";
	uv_thread_t writer, web;
	unsigned i;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	engine.file = mkstemp(path);
	unlink(path);
	uv_mutex_init(&engine.lock);
	uv_cond_init(&engine.page_freed);
	uv_loop_init(&engine.loop);
	uv_async_init(&engine.loop, &engine.wake, on_wake);
	uv_thread_create(&writer, run_engine, NULL);
	pthread_setname_np(writer, "dbengine");
	uv_thread_create(&web, run_web, NULL);
	pthread_setname_np(web, "web");
	for (i = 0; i < COLLECTORS; i++)
		uv_thread_create(&collectors[i].thread, run_named, &collectors[i]);
	for (i = 0; i < COLLECTORS; i++)
		uv_thread_join(&collectors[i].thread);
	uv_mutex_lock(&engine.lock);
	engine.shutdown = true;
	uv_mutex_unlock(&engine.lock);
	uv_async_send(&engine.wake);
	uv_thread_join(&writer);
	stopped = true;
	uv_thread_join(&web);
	printf("%u pages written, %u metrics dropped\n", engine.written, engine.dropped);
	return 0;
}
