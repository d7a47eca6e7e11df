/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: uv_async_send may merge several sends into one call of on_result, but on_result takes only one
 *     result from the queue. A document with five sections leaves at least three results in the
 *     queue; thread "indexer" waits for ever until they are taken, and the loop is never woken again.
 *   culprit: on_result|results_ready
 *   victim: indexer|index_document
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A search index: a thread reads documents section by section and hands the results to the loop of libuv,
 * which owns the index. The thread waits until a document's results are in the index. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define SECTIONS_MAX 8

struct document {
	const char *title;
	int sections;
};

struct result {
	struct result *next;
	char text[64];
	bool last;
};

static uv_async_t results_ready;
static uv_timer_t progress;
static uv_mutex_t results_lock;
static struct result *results, **results_end = &results;
static uv_sem_t taken;
static unsigned indexed;

/* ---- The thread ------------------------------------------------------------------------------ */

/* The caller holds the lock. */
static void push_result(const char *title, int section, bool last)
{
	struct result *result = calloc(1, sizeof *result);

	if (!result)
		abort();
	snprintf(result->text, sizeof result->text, "%.30s, section %d", title, section);
	result->last = last;
	*results_end = result;
	results_end = &result->next;
	uv_async_send(&results_ready);
}

static __attribute__((noinline)) void index_document(const struct document *document)
{
	usleep(30000); /* reads and parses it */
	uv_mutex_lock(&results_lock);
	for (int section = 1; section <= document->sections; section++)
		push_result(document->title, section, false);
	uv_mutex_unlock(&results_lock);
	for (int section = 1; section <= document->sections; section++)
		uv_sem_wait(&taken);
}

static void run_indexer(void *data)
{
	const struct document *document = data;

	pthread_setname_np(pthread_self(), "indexer");
	for (; document->title; document++)
		index_document(document);
	uv_mutex_lock(&results_lock);
	push_result("end", 0, true);
	uv_mutex_unlock(&results_lock);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static struct result *take_result(void)
{
	struct result *result;

	uv_mutex_lock(&results_lock);
	result = results;
	if (result) {
		results = result->next;
		if (!results)
			results_end = &results;
	}
	uv_mutex_unlock(&results_lock);
	return result;
}

static __attribute__((noinline)) void add_to_index(const struct result *result)
{
	printf("%s\n", result->text);
	indexed++;
}

static void on_result(uv_async_t *async)
{
	struct result *result = take_result();

	if (!result)
		return;
	if (result->last) {
		uv_close((uv_handle_t *)async, NULL);
		uv_close((uv_handle_t *)&progress, NULL);
	} else {
		add_to_index(result);
		uv_sem_post(&taken);
	}
	free(result);
}

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%u sections\n", indexed);
}

int main(int count, char **arguments)
{
	static const struct document letters[] = {{"to Anna", 1}, {"to Bert", 1}, {"to Carl", 1},
		{"to Dora", 1}, {"to Emil", 1}, {NULL, 0}};
	static const struct document papers[] = {{"to Anna", 1}, {"to Bert", 1}, {"On the loom", 5},
		{"to Carl", 1}, {NULL, 0}};
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	uv_loop_t *loop = uv_default_loop();
	uv_thread_t indexer;

	if (uv_mutex_init(&results_lock) || uv_sem_init(&taken, 0))
		return 2;
	uv_async_init(loop, &results_ready, on_result);
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, on_progress, 300, 300);
	uv_unref((uv_handle_t *)&progress);
	if (uv_thread_create(&indexer, run_indexer, (void *)(healthy ? letters : papers)))
		return 2;
	uv_run(loop, UV_RUN_DEFAULT);
	uv_thread_join(&indexer);
	uv_loop_close(loop);
	uv_sem_destroy(&taken);
	uv_mutex_destroy(&results_lock);
	printf("%u sections in the index\n", indexed);
	return healthy && indexed != 5 ? 1 : 0;
}
