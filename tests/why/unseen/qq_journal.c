/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The compaction asks the editor for its quota, and blocks the thread of the storage until the
 *          answer comes. The editor first asks the storage for its usage, which that thread can't tell.
 *   culprit: compact journal
 *   victim: save [a-z]+ [0-9]+|usage|quota
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define DOCUMENTS 3
#define SAVES 16

struct document {
	const char *name;
	int saves;
};

struct quota {
	sem_t known;
	long bytes;
	int age;
};

static struct document documents[DOCUMENTS] = {{"notes", 0}, {"letter", 0}, {"budget", 0}};
static struct thrum_inbox *editor, *storage;
static sem_t storage_runs;
static bool broken, compacting;

static struct quota quota = {.bytes = 4000};
static struct thrum_resolver *storage_end, *ended_early;
static long journal, segment;

static struct thrum_promise *usage(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_int(journal + segment));
}

/* These two run in the editor's thread. */
static struct thrum_value set_quota(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	quota.bytes = 4000 + thrum_int(value) / 2;
	sem_post(&quota.known);
	return thrum_value_none();
}

static struct thrum_promise *ask_quota(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *used = thrum_inbox_call(storage, loop, "usage", usage, data, NULL);

	return thrum_promise_map(used, set_quota, NULL, NULL);
}

static int rewrite_segment(void *data, struct thrum_value *result)
{
	(void)result;
	uv_sleep(*(unsigned *)data);
	return 0;
}

static struct thrum_value rewritten(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	segment = segment + journal > quota.bytes ? quota.bytes : segment + journal;
	journal = 0;
	compacting = false;
	quota.age++;
	thrum_resolver_resolve(ended_early, thrum_value_none()); /* NULL: goes on */
	return thrum_value_none();
}

static struct thrum_promise *rewrite(struct thrum_loop *loop, void *value, void *data)
{
	static unsigned ms = 4;
	struct thrum_promise *work = thrum_work(loop, "rewrite segment", rewrite_segment, &ms,
		NULL);

	(void)value;
	return thrum_promise_map(work, rewritten, data, NULL);
}

static struct thrum_promise *compact(struct thrum_loop *loop, void *data)
{
	/* A quota is good for two compactions. */
	if (quota.age < 2)
		return rewrite(loop, NULL, data);
	quota.age = 0;
	if (!broken)
		return thrum_promise_bind(thrum_inbox_call(editor, loop, "quota", ask_quota, data,
						  NULL),
			rewrite, data, NULL);
	if (thrum_inbox_post(editor, "quota", ask_quota, NULL, NULL) == 0)
		while (sem_wait(&quota.known))
			continue;
	return rewrite(loop, NULL, data);
}

static struct thrum_promise *save(struct thrum_loop *loop, void *data)
{
	(void)data;
	journal += 40;
	if (journal >= 320 && !compacting) {
		compacting = true;
		thrum_promise_async(loop, "compact journal", compact, NULL, NULL);
	}
	return thrum_sleep(loop, 2);
}

static struct thrum_promise *end_storage(struct thrum_loop *loop, void *data)
{
	if (compacting)
		ended_early = data;
	else
		thrum_resolver_resolve(data, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static void *run_storage(void *data)
{
	struct thrum_promise *end;
	struct thrum_loop *loop;
	uv_loop_t uv;

	(void)data;
	thrum_lane_name("storage");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		abort();
	storage = thrum_inbox_create(loop, "storage");
	end = thrum_promise_task(loop, "storage runs", &storage_end);
	sem_post(&storage_runs);
	if (thrum_promise_run(end))
		fprintf(stderr, "storage: failed\n");
	thrum_inbox_close(storage);
	return NULL;
}

static struct thrum_promise *edit(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *save_document(struct thrum_loop *loop, void *value, void *data)
{
	struct document *document = data;
	struct thrum_promise *saved = thrum_inbox_call(storage, loop, "save", save, NULL, NULL);

	(void)value;
	thrum_promise_labelf(saved, "save %s %d", document->name, ++document->saves);
	return thrum_promise_bind(thrum_promise_should_resolve(saved), edit, document, NULL);
}

static struct thrum_promise *edit(struct thrum_loop *loop, void *value, void *data)
{
	struct document *document = data;

	(void)value;
	if (document->saves == SAVES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 9), save_document, document, NULL);
}

static struct thrum_promise *blink_cursor(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	fputs("_\b", stderr);
	return thrum_promise_bind(thrum_sleep(loop, 20), blink_cursor, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *edits[DOCUMENTS];
	struct thrum_loop *loop;
	pthread_t thread;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	sem_init(&storage_runs, 0, 0);
	sem_init(&quota.known, 0, 0);
	editor = thrum_inbox_create(loop, "editor");
	pthread_create(&thread, NULL, run_storage, NULL);
	while (sem_wait(&storage_runs))
		continue;
	thrum_promise_ignore_result(blink_cursor(loop, NULL, NULL));
	for (int i = 0; i < DOCUMENTS; i++)
		edits[i] = edit(loop, NULL, &documents[i]);
	result = thrum_promise_run(thrum_promise_join(loop, edits, DOCUMENTS));
	if (result || thrum_inbox_post(storage, "end", end_storage, storage_end, NULL))
		return 1;
	pthread_join(thread, NULL);
	thrum_stop();
	return 0;
}
