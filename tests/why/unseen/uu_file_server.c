/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When a page can't be opened, on_opened() logs the error and returns: it sends no 404 answer and
 *     does not close the connection. So the browser thread waits for the answer to that request for ever.
 *   culprit: on_opened
 *   victim: browse|receive_answer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Serves the pages of a folder over a socket: a line with a name comes in, a length and the page go out. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define BROWSERS 3

struct client {
	uv_pipe_t pipe;
	uv_fs_t file;
	uv_write_t write;
	uv_file fd;
	char line[128], page[2048], head[32];
	size_t length;
};

static char folder[] = "/tmp/pages-XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static uv_pipe_t listener;
static uv_async_t stopping;
static int errors;
static bool fixed;

static const char *const pages[] = {"index", "news", "about", "prices", "contact"};
#define PAGES (sizeof pages / sizeof *pages)

/* The browsers: each asks for pages over a connection of its own, one after the other. */
static bool receive_answer(FILE *stream, char *page, size_t size)
{
	char head[64];
	if (!fgets(head, sizeof head, stream))
		return false;
	size_t length = (size_t)atoi(head + 4);
	return length < size && fread(page, 1, length, stream) == length;
}

static void *browse(void *argument)
{
	int number = (int)(intptr_t)argument, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof address))
		exit(1);
	FILE *stream = fdopen(fd, "r");
	for (int i = 0; i < 30; i++) {
		char page[2048];
		const char *name = number == 1 && i == 17 ? "favicon"
							  : pages[(i + number) % (int)PAGES];
		dprintf(fd, "%s\n", name);
		if (!receive_answer(stream, page, sizeof page))
			exit(1);
		usleep(500);
	}
	fclose(stream);
	return NULL;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void answer(struct client *client, int status, size_t length)
{
	int head = snprintf(client->head, sizeof client->head, "%d %zu\n", status, length);
	uv_buf_t buffers[2] = {uv_buf_init(client->head, (unsigned)head)};
	buffers[1] = uv_buf_init(client->page, (unsigned)length);
	uv_write(&client->write, (uv_stream_t *)&client->pipe, buffers, 2, NULL);
}

static void on_page_read(uv_fs_t *file)
{
	struct client *client = file->data;
	ssize_t length = file->result;
	uv_fs_req_cleanup(file);
	close(client->fd);
	answer(client, length < 0 ? 500 : 200, length < 0 ? 0 : (size_t)length);
}

static void on_opened(uv_fs_t *file)
{
	struct client *client = file->data;
	ssize_t fd = file->result;
	uv_fs_req_cleanup(file);
	if (fd < 0) {
		errors++;
		if (fixed)
			answer(client, 404, 0);
		return;
	}
	client->fd = (uv_file)fd;
	uv_buf_t buffer = uv_buf_init(client->page, sizeof client->page);
	uv_fs_read(client->pipe.loop, file, client->fd, &buffer, 1, 0, on_page_read);
}

static void on_request(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	(void)buffer;
	struct client *client = stream->data;
	if (length < 0) {
		uv_close((uv_handle_t *)stream, on_closed);
		return;
	}
	client->length += (size_t)length;
	char *end = memchr(client->line, '\n', client->length), path[192];
	if (!end)
		return;
	*end = 0;
	client->length = 0;
	snprintf(path, sizeof path, "%s/%s.html", folder, client->line);
	uv_fs_open(stream->loop, &client->file, path, O_RDONLY, 0, on_opened);
}

static void give_space(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)suggested;
	struct client *client = handle->data;
	size_t room = sizeof client->line - client->length;
	*buffer = uv_buf_init(client->line + client->length, (unsigned)room);
}

static void on_connection(uv_stream_t *server, int status)
{
	if (status < 0)
		return;
	struct client *client = calloc(1, sizeof *client);
	client->pipe.data = client->file.data = client;
	uv_pipe_init(server->loop, &client->pipe, 0);
	uv_accept(server, (uv_stream_t *)&client->pipe);
	uv_read_start((uv_stream_t *)&client->pipe, give_space, on_request);
}

static void on_stop(uv_async_t *async)
{
	uv_close((uv_handle_t *)&listener, NULL);
	uv_close((uv_handle_t *)async, NULL);
}

static void *serve(void *argument)
{
	uv_run(argument, UV_RUN_DEFAULT);
	return NULL;
}

static void write_pages(void)
{
	for (size_t i = 0; i < PAGES; i++) {
		char path[192];
		snprintf(path, sizeof path, "%s/%s.html", folder, pages[i]);
		FILE *page = fopen(path, "w");
		if (!page)
			exit(1);
		for (size_t line = 0; line < 20 + 10 * i; line++)
			fprintf(page, "<p>%zu\n", line);
		fclose(page);
	}
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (!mkdtemp(folder))
		return 1;
	write_pages();
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
	uv_loop_t *loop = uv_default_loop();
	uv_async_init(loop, &stopping, on_stop);
	uv_pipe_init(loop, &listener, 0);
	if (uv_pipe_bind(&listener, address.sun_path))
		return 1;
	if (uv_listen((uv_stream_t *)&listener, 16, on_connection))
		return 1;
	pthread_t server, browsers[BROWSERS];
	pthread_create(&server, NULL, serve, loop);
	for (intptr_t i = 0; i < BROWSERS; i++)
		pthread_create(&browsers[i], NULL, browse, (void *)i);
	for (int i = 0; i < BROWSERS; i++)
		pthread_join(browsers[i], NULL);
	uv_async_send(&stopping);
	pthread_join(server, NULL);
	for (size_t i = 0; i < PAGES; i++) {
		char path[192];
		snprintf(path, sizeof path, "%s/%s.html", folder, pages[i]);
		unlink(path);
	}
	rmdir(folder);
	printf("served; %d pages not found\n", errors);
	return errors == 1 ? 0 : 1;
}
