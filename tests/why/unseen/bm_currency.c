/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When the table of rates can't be opened, on_opened returns with the flag `refreshing` still set. So
 *     no refresh is begun any more, and requests that wait for a fresh table, those of the client threads, are
 *     never answered.
 *   culprit: on_opened|refresh|uv_fs_open
 *   victim: ask_rates
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server of exchange rates, which it reads anew from a file when they are old. Clients are threads with a socket each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define CLIENTS 3
#define QUESTIONS 60
#define FRESH_MS 40

struct peer {
	uv_pipe_t pipe;
	uv_write_t write;
	char answer[32];
	bool waiting;
	int socket; /* the client's end */
	uv_thread_t thread;
};

static uv_loop_t *loop;
static struct peer peers[CLIENTS];
static uv_timer_t ticker;
static uv_fs_t open_request;
static uv_fs_t read_request;
static uv_fs_t close_request;
static char table_path[64];
static char table[64] = "1000";
static uint64_t table_time;
static bool refreshing;
static bool robust;
static int refreshes;
static int failures;
static int answered;
static int connected = CLIENTS;

/* ---- answers ---- */

static void answer(struct peer *peer)
{
	uv_buf_t buffer;

	peer->waiting = false;
	answered++;
	snprintf(peer->answer, sizeof peer->answer, "%.10s\n", table);
	buffer = uv_buf_init(peer->answer, (unsigned)strlen(peer->answer));
	uv_write(&peer->write, (uv_stream_t *)&peer->pipe, &buffer, 1, NULL);
}

static void answer_all(void)
{
	for (int i = 0; i < CLIENTS; i++) {
		if (peers[i].waiting)
			answer(&peers[i]);
	}
}

/* ---- refresh ---- */

static void on_read(uv_fs_t *request)
{
	if (request->result > 0) {
		table[request->result] = 0;
		table[strcspn(table, "\n")] = 0;
	}
	uv_fs_req_cleanup(request);
	uv_fs_close(loop, &close_request, (uv_file)open_request.result, NULL);
	uv_fs_req_cleanup(&close_request);
	uv_fs_req_cleanup(&open_request);
	table_time = uv_now(loop);
	refreshing = false;
	refreshes++;
	answer_all();
}

static void on_opened(uv_fs_t *request)
{
	static uv_buf_t buffer;

	if (request->result < 0) {
		failures++;
		fprintf(stderr, "rates: %s\n", uv_strerror((int)request->result));
		uv_fs_req_cleanup(request);
		if (robust) {
			refreshing = false;
			answer_all();
		}
		return;
	}
	buffer = uv_buf_init(table, sizeof table - 1);
	uv_fs_read(loop, &read_request, (uv_file)request->result, &buffer, 1, 0, on_read);
}

static void refresh(void)
{
	if (refreshing)
		return;
	refreshing = true;
	uv_fs_open(loop, &open_request, table_path, O_RDONLY | O_CLOEXEC, 0, on_opened);
}

/* ---- connections ---- */

static void get_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char bytes[256];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_question(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct peer *peer = stream->data;

	(void)buffer;
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		if (--connected == 0)
			uv_close((uv_handle_t *)&ticker, NULL);
		return;
	}
	peer->waiting = true;
	if (uv_now(loop) - table_time < FRESH_MS)
		answer(peer);
	else
		refresh();
}

static void write_table(int rate)
{
	FILE *file = fopen(table_path, "w");

	if (!file)
		exit(1);
	fprintf(file, "%d\n", rate);
	fclose(file);
}

/* The publisher of the rates replaces the file; for some time it isn't there. */
static void on_tick(uv_timer_t *timer)
{
	static int ticks;

	(void)timer;
	ticks++;
	if (ticks == 5)
		unlink(table_path);
	else if (ticks < 5 || ticks > 9)
		write_table(1000 + ticks);
	printf("%d answered, %d refreshes, %d failed\n", answered, refreshes, failures);
	fflush(stdout);
}

static void ask_rates(void *data)
{
	struct peer *self = data;
	char text[32];

	for (int i = 0; i < QUESTIONS; i++) {
		if (write(self->socket, "rate\n", 5) != 5 ||
			read(self->socket, text, sizeof text) <= 0)
			break;
		uv_sleep(7);
	}
	close(self->socket);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	robust = !strcmp(argv[1], "healthy");
	loop = uv_default_loop();
	snprintf(table_path, sizeof table_path, "/tmp/rates.%d", (int)getpid());
	write_table(1000);
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		uv_pipe_init(loop, &peers[i].pipe, 0);
		uv_pipe_open(&peers[i].pipe, ends[0]);
		peers[i].pipe.data = &peers[i];
		peers[i].socket = ends[1];
		uv_read_start((uv_stream_t *)&peers[i].pipe, get_buffer, on_question);
		uv_thread_create(&peers[i].thread, ask_rates, &peers[i]);
	}
	uv_timer_init(loop, &ticker);
	uv_timer_start(&ticker, on_tick, 30, 30);
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < CLIENTS; i++)
		uv_thread_join(&peers[i].thread);
	unlink(table_path);
	printf("%d answered, %d refreshes, %d failed\n", answered, refreshes, failures);
	return 0;
}
