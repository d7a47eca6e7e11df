/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: after_render returns at once for work that drop_page cancelled, and doesn't count it as ended; so
 *     the album's `pending` never gets to 0, finish_album isn't called, and the client waits for its answer
 *   culprit: after_render|drop_page
 *   victim: browser|ask_album|finish_album|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Renders albums of thumbnails in libuv's thread pool; a client asks for albums over a socket. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define PAGES 10
#define ALBUMS 4

struct album;

struct page {
	uv_work_t work;
	struct album *album;
	int number;
	unsigned hash;
};

struct album {
	struct server *server;
	struct page pages[PAGES];
	int number, pending, dropped;
};

struct server {
	uv_loop_t loop;
	uv_pipe_t client;
	uv_timer_t budget; /* the time that an album may take */
	uv_timer_t statistics;
	struct album *album;
	char buffer[64];
	int served;
	bool is_strict;
};

struct answer {
	uv_write_t request;
	char text[64];
};

static void on_written(uv_write_t *request, int status)
{
	if (status < 0)
		fprintf(stderr, "write: %s\n", uv_strerror(status));
	free(request->data);
}

static void finish_album(struct album *album)
{
	struct server *server = album->server;
	struct answer *answer = malloc(sizeof(*answer));
	uv_buf_t buffer;

	uv_timer_stop(&server->budget);
	server->album = NULL;
	server->served++;
	snprintf(answer->text, sizeof(answer->text), "album %d: %d pages, %d dropped\n",
		album->number, PAGES, album->dropped);
	buffer = uv_buf_init(answer->text, (unsigned)strlen(answer->text));
	answer->request.data = answer;
	uv_write(&answer->request, (uv_stream_t *)&server->client, &buffer, 1, on_written);
	free(album);
}

/* Runs in the thread pool. */
static void render(uv_work_t *work)
{
	struct page *page = work->data;
	struct timespec time = {0, (page->album->number == 3 ? 60 : 8) * 1000000L};

	for (int i = 0; i < 1000; i++)
		page->hash = page->hash * 33 + (unsigned)(page->number + i);
	nanosleep(&time, NULL); /* the disk */
}

static void after_render(uv_work_t *work, int status)
{
	struct page *page = work->data;
	struct album *album = page->album;

	if (status == UV_ECANCELED) {
		album->dropped++;
		if (album->server->is_strict && --album->pending == 0)
			finish_album(album);
		return;
	}
	if (--album->pending == 0)
		finish_album(album);
}

/* Takes a page that hasn't begun out of the queue. */
__attribute__((noinline)) static void drop_page(struct page *page)
{
	uv_cancel((uv_req_t *)&page->work);
}

static void on_budget(uv_timer_t *timer)
{
	struct server *server = timer->data;

	if (!server->album)
		return;
	for (int i = PAGES / 2; i < PAGES; i++)
		drop_page(&server->album->pages[i]);
}

static void begin_album(struct server *server, int number)
{
	struct album *album = calloc(1, sizeof(*album));

	album->server = server;
	album->number = number;
	server->album = album;
	uv_timer_start(&server->budget, on_budget, 50, 0);
	for (int i = 0; i < PAGES; i++) {
		struct page *page = &album->pages[i];

		page->album = album;
		page->number = i;
		page->work.data = page;
		if (uv_queue_work(&server->loop, &page->work, render, after_render) == 0)
			album->pending++;
	}
}

static void on_statistics(uv_timer_t *timer)
{
	struct server *server = timer->data;

	fprintf(stderr, "served %d\n", server->served);
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct server *server = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(server->buffer, sizeof(server->buffer) - 1);
}

static void on_question(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
	struct server *server = stream->data;
	int number;

	if (got < 0) {
		uv_close((uv_handle_t *)&server->client, NULL);
		uv_close((uv_handle_t *)&server->budget, NULL);
		uv_close((uv_handle_t *)&server->statistics, NULL);
		return;
	}
	buffer->base[got] = '\0';
	if (sscanf(buffer->base, "album %d", &number) == 1)
		begin_album(server, number);
}

__attribute__((noinline)) static bool ask_album(int socket, int number)
{
	char text[64];
	int length = snprintf(text, sizeof(text), "album %d\n", number);
	ssize_t got;

	if (write(socket, text, (size_t)length) != length)
		return false;
	got = read(socket, text, sizeof(text) - 1);
	if (got <= 0)
		return false;
	text[got] = '\0';
	fputs(text, stdout);
	return true;
}

static void *run_browser(void *data)
{
	int socket = *(int *)data;

	pthread_setname_np(pthread_self(), "browser");
	for (int i = 1; i <= ALBUMS; i++)
		if (!ask_album(socket, i))
			break;
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct server server;
	pthread_t browser;
	int ends[2];

	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 2;
	server.is_strict = strcmp(argv[1], "healthy") == 0;
	uv_loop_init(&server.loop);
	uv_pipe_init(&server.loop, &server.client, 0);
	uv_pipe_open(&server.client, ends[0]);
	uv_timer_init(&server.loop, &server.budget);
	uv_timer_init(&server.loop, &server.statistics);
	server.client.data = server.budget.data = server.statistics.data = &server;
	uv_timer_start(&server.statistics, on_statistics, 200, 200);
	uv_read_start((uv_stream_t *)&server.client, allocate, on_question);
	pthread_create(&browser, NULL, run_browser, &ends[1]);
	uv_run(&server.loop, UV_RUN_DEFAULT);
	pthread_join(browser, NULL);
	uv_loop_close(&server.loop);
	return server.served == ALBUMS ? 0 : 1;
}
