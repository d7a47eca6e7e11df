/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The recognizer puts each page's text into a list and calls uv_async_send for each. libuv merges
 *     sends that follow each other; on_results takes only one page from the list for each call. The last
 *     pages of a document of four stay in the list, and the document is never answered: the client waits in read.
 *   culprit: on_results
 *   victim: client_main|client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Text recognition: a client sends documents, a thread recognizes their pages, and the loop puts them together. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

struct page {
	struct page *next;
	struct document *document;
	unsigned letters;
};

struct document {
	unsigned pages;
	unsigned recognized;
	unsigned letters;
};

/* Pages in the order in which they came. */
struct list {
	struct page *first;
	struct page **end;
};

static bool broken;
static uv_pipe_t connection;
static uv_async_t results_ready;
static uv_timer_t statistics;
static unsigned documents;

static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_comes = PTHREAD_COND_INITIALIZER;
static struct list work;
static bool is_over;

static pthread_mutex_t results_lock = PTHREAD_MUTEX_INITIALIZER;
static struct list results;

static void list_add(struct list *list, struct page *page)
{
	page->next = NULL;
	*list->end = page;
	list->end = &page->next;
}

static struct page *list_take(struct list *list)
{
	struct page *page = list->first;

	if (page) {
		list->first = page->next;
		if (!list->first)
			list->end = &list->first;
	}
	return page;
}

static void recognize(struct page *page)
{
	usleep(2000);
	page->letters = 1800;
}

static void *recognizer_main(void *data)
{
	struct list done;
	struct page *page;

	(void)data;
	for (;;) {
		done.first = NULL;
		done.end = &done.first;
		pthread_mutex_lock(&work_lock);
		while (!work.first && !is_over)
			pthread_cond_wait(&work_comes, &work_lock);
		if (!work.first) {
			pthread_mutex_unlock(&work_lock);
			return NULL;
		}
		while ((page = list_take(&work)))
			list_add(&done, page);
		pthread_mutex_unlock(&work_lock);
		for (page = done.first; page; page = page->next)
			recognize(page);
		pthread_mutex_lock(&results_lock);
		while ((page = list_take(&done))) {
			list_add(&results, page);
			uv_async_send(&results_ready);
		}
		pthread_mutex_unlock(&results_lock);
	}
}

static void document_answer(struct document *document)
{
	uv_buf_t answer = uv_buf_init((char *)&document->letters, sizeof(document->letters));

	documents++;
	uv_try_write((uv_stream_t *)&connection, &answer, 1);
	free(document);
}

static void on_page(struct page *page)
{
	struct document *document = page->document;

	document->letters += page->letters;
	free(page);
	if (++document->recognized == document->pages)
		document_answer(document);
}

static struct page *take_result(void)
{
	struct page *page;

	pthread_mutex_lock(&results_lock);
	page = list_take(&results);
	pthread_mutex_unlock(&results_lock);
	return page;
}

static void on_results(uv_async_t *async)
{
	struct page *page;

	(void)async;
	while ((page = take_result())) {
		on_page(page);
		if (broken)
			break;
	}
}

static void on_statistics(uv_timer_t *timer)
{
	static unsigned before;

	if (documents - before > 1000)
		printf("busy: %u documents\n", documents - before);
	before = documents;
	(void)timer;
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	static char room[64];

	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(room, sizeof(room));
}

/* A document comes: one byte, the number of its pages. */
static void on_document(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&results_ready, NULL);
		uv_close((uv_handle_t *)&statistics, NULL);
		return;
	}
	for (ssize_t i = 0; i < size; i++) {
		struct document *document = calloc(1, sizeof(*document));

		document->pages = (unsigned)buffer->base[i];
		pthread_mutex_lock(&work_lock);
		for (unsigned j = 0; j < document->pages; j++) {
			struct page *page = calloc(1, sizeof(*page));

			page->document = document;
			list_add(&work, page);
		}
		pthread_cond_signal(&work_comes);
		pthread_mutex_unlock(&work_lock);
	}
}

static void *client_main(void *data)
{
	static const char pages[] = {1, 1, 1, 1, 1, 1, 4, 1, 1, 2};
	int socket = *(int *)data;
	unsigned letters;

	for (size_t i = 0; i < sizeof(pages); i++) {
		usleep(15000);
		if (write(socket, &pages[i], 1) != 1 ||
			read(socket, &letters, sizeof(letters)) != sizeof(letters))
			break;
	}
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	pthread_t recognizer, client;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	work.end = &work.first;
	results.end = &results.first;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	uv_pipe_init(loop, &connection, 0);
	uv_pipe_open(&connection, ends[0]);
	uv_read_start((uv_stream_t *)&connection, on_room, on_document);
	uv_async_init(loop, &results_ready, on_results);
	uv_timer_init(loop, &statistics);
	uv_timer_start(&statistics, on_statistics, 100, 100);
	pthread_create(&recognizer, NULL, recognizer_main, NULL);
	pthread_create(&client, NULL, client_main, &ends[1]);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(client, NULL);
	pthread_mutex_lock(&work_lock);
	is_over = true;
	pthread_cond_signal(&work_comes);
	pthread_mutex_unlock(&work_lock);
	pthread_join(recognizer, NULL);
	printf("%u documents\n", documents);
	return 0;
}
