/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: printer_full stops reading from the client when the printer's queue is full, and counts on the callback of
 *     the write to start it again; but that callback, job_printed, resumes only while the queue isn't empty, and the
 *     last write has found it empty. So nobody reads the rest of the client's document, and the client waits.
 *   culprit: printer_full|job_printed|on_client|uv_read_stop|stopped
 *   victim: client|send_document|spool
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A print spooler on libuv: what a client sends goes on to the printer's socket. Client and printer are threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PIECE 4096
#define DOCUMENT (400 * 1024)
#define HIGH (64 * 1024)

static uv_loop_t loop;
static uv_pipe_t client, printer;
static uv_timer_t status;
static int client_ends[2], printer_ends[2];
static size_t queued, printed;
static bool broken, paused;

struct job {
	uv_write_t request;
	char data[PIECE];
	size_t size;
};

static void on_client(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct job *job = malloc(sizeof(*job));

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(job->data, sizeof(job->data));
}

static struct job *job_of(const uv_buf_t *buffer)
{
	return (struct job *)(buffer->base - offsetof(struct job, data));
}

static void job_printed(uv_write_t *request, int error)
{
	struct job *job = (struct job *)request;

	(void)error;
	queued -= job->size;
	free(job);
	if (paused && (broken ? queued > 0 && queued < HIGH / 64 : queued < HIGH / 2)) {
		paused = false;
		uv_read_start((uv_stream_t *)&client, give_room, on_client);
	}
}

static void printer_full(void)
{
	paused = true;
	uv_read_stop((uv_stream_t *)&client);
}

static void on_client(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct job *job = buffer->base ? job_of(buffer) : NULL;
	uv_buf_t piece;

	if (size <= 0) {
		free(job);
		if (size < 0) {
			uv_close((uv_handle_t *)stream, NULL);
			uv_close((uv_handle_t *)&printer, NULL);
			uv_close((uv_handle_t *)&status, NULL);
		}
		return;
	}
	job->size = (size_t)size;
	queued += job->size;
	piece = uv_buf_init(job->data, (unsigned)size);
	uv_write(&job->request, (uv_stream_t *)&printer, &piece, 1, job_printed);
	if (queued >= HIGH)
		printer_full();
}

static void on_status(uv_timer_t *timer)
{
	(void)timer;
}

static void *send_document(void *data)
{
	static char page[PIECE];
	size_t sent = 0;

	pthread_setname_np(pthread_self(), "client");
	while (sent < DOCUMENT) {
		ssize_t size = write(client_ends[1], page, sizeof(page));

		if (size <= 0)
			break;
		sent += (size_t)size;
	}
	shutdown(client_ends[1], SHUT_WR);
	return data;
}

static void *print(void *data)
{
	static char page[32 * 1024];
	ssize_t size;

	pthread_setname_np(pthread_self(), "printer");
	while ((size = read(printer_ends[1], page, sizeof(page))) > 0) {
		printed += (size_t)size;
		usleep(1500);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	int small = 16 * 1024;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client_ends);
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, printer_ends);
	setsockopt(printer_ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	uv_loop_init(&loop);
	uv_pipe_init(&loop, &client, 0);
	uv_pipe_open(&client, client_ends[0]);
	uv_pipe_init(&loop, &printer, 0);
	uv_pipe_open(&printer, printer_ends[0]);
	uv_timer_init(&loop, &status);
	uv_timer_start(&status, on_status, 100, 100);
	uv_read_start((uv_stream_t *)&client, give_room, on_client);
	pthread_create(&threads[0], NULL, send_document, NULL);
	pthread_create(&threads[1], NULL, print, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%zu bytes printed\n", printed);
	return 0;
}
