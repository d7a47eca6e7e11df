/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: libuv issue #2618 ("uv_fs_read hangs"): each index_document runs on a thread of libuv's pool and waits in
 *     load_part for a file that the loop reads with uv_fs_open and uv_fs_read, which need a thread of the same pool.
 *     With six documents at once all four threads wait, and the requests of the files are never begun. The loop and its
 *     timer on_progress go on.
 *   culprit: index_document|load_part
 *   victim: on_opened
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A search index: documents are split into words on libuv's thread pool. The files that they include are read by the
 * loop, which keeps their descriptors. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define BATCHES 6
#define MOST 6

struct document {
	uv_work_t work;
	int number;
	unsigned words;
	/* the part that it asks for */
	uv_sem_t loaded;
	uv_fs_t request;
	uv_file file;
	char text[512];
	ssize_t size;
	struct document *next;
};

static const int batch_sizes[BATCHES] = {1, 2, 3, 2, 6, 3};

static uv_loop_t *loop;
static uv_async_t wanted;
static uv_timer_t progress;
static uv_mutex_t wanted_lock;
static struct document *wanted_first;
static struct document documents[MOST];
static bool careful;
static int batch;
static int running;
static int started;
static unsigned words;
static unsigned looks;
static const char path[] = "/tmp/by_indexer_part.txt";

static void start_batch(void);
static void start_documents(void);

static void on_closed(uv_fs_t *request)
{
	struct document *document = request->data;

	uv_fs_req_cleanup(request);
	uv_sem_post(&document->loaded);
}

static void on_read(uv_fs_t *request)
{
	struct document *document = request->data;

	document->size = request->result;
	uv_fs_req_cleanup(request);
	uv_fs_close(loop, &document->request, document->file, on_closed);
}

static void on_opened(uv_fs_t *request)
{
	struct document *document = request->data;
	uv_buf_t buffer = uv_buf_init(document->text, sizeof document->text);

	document->file = (uv_file)request->result;
	uv_fs_req_cleanup(request);
	if (document->file < 0)
		abort();
	uv_fs_read(loop, &document->request, document->file, &buffer, 1, 0, on_read);
}

/* In the loop: documents want files. */
static void on_wanted(uv_async_t *async)
{
	struct document *document;

	(void)async;
	uv_mutex_lock(&wanted_lock);
	document = wanted_first;
	wanted_first = NULL;
	uv_mutex_unlock(&wanted_lock);
	while (document) {
		struct document *next = document->next;

		document->request.data = document;
		uv_fs_open(loop, &document->request, path, O_RDONLY, 0, on_opened);
		document = next;
	}
}

/* In the pool: gets the file that the document includes. */
static void load_part(struct document *document)
{
	uv_mutex_lock(&wanted_lock);
	document->next = wanted_first;
	wanted_first = document;
	uv_mutex_unlock(&wanted_lock);
	uv_async_send(&wanted);
	uv_sem_wait(&document->loaded);
}

static void index_document(uv_work_t *work)
{
	struct document *document = work->data;

	uv_sleep(5); /* split the document itself */
	load_part(document);
	document->words = 0;
	for (ssize_t i = 0; i < document->size; i++)
		document->words += document->text[i] == ' ';
}

static void on_indexed(uv_work_t *work, int status)
{
	struct document *document = work->data;

	(void)status;
	words += document->words;
	running--;
	if (started < batch_sizes[batch])
		start_documents();
	else if (!running && ++batch < BATCHES)
		start_batch();
	else if (!running) {
		uv_timer_stop(&progress);
		uv_close((uv_handle_t *)&progress, NULL);
		uv_close((uv_handle_t *)&wanted, NULL);
	}
}

static void start_documents(void)
{
	int most = careful ? 3 : MOST;

	while (started < batch_sizes[batch] && running < most) {
		struct document *document = &documents[started];

		document->number = started++;
		running++;
		document->work.data = document;
		uv_queue_work(loop, &document->work, index_document, on_indexed);
	}
}

static void start_batch(void)
{
	started = 0;
	start_documents();
}

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	looks++;
}

int main(int argc, char **argv)
{
	FILE *file;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	file = fopen(path, "w");
	if (!file)
		return 1;
	for (int i = 0; i < 80; i++)
		fputs("word ", file);
	fclose(file);

	loop = uv_default_loop();
	uv_mutex_init(&wanted_lock);
	for (int i = 0; i < MOST; i++)
		uv_sem_init(&documents[i].loaded, 0);
	uv_async_init(loop, &wanted, on_wanted);
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, on_progress, 20, 20);
	start_batch();
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%u words\n", words);
	return 0;
}
