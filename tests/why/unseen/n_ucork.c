/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="POST *"
 *   truth: on_request corks the connection and, if the body comes in pieces, returns without uncorking it;
 *     the answer leaves only when the cork's timer of 200 ms runs out.
 *   culprit: \bcork\b|on_cork_timer|cork_answer
 *   victim: GET|parse
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about uWebSockets: a POST whose body comes in separate chunks is answered after 200 ms, as
 * one path returns from the handler while the socket is still corked.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <uv.h>

#define REQUESTS 4

static uv_loop_t loop;
static uv_pipe_t server, client;
static uv_timer_t cork;
static thrum_task request, cork_task;
static bool healthy, corked;
static int begun, answered;

static void ask_next(void);

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char memory[256];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(memory, sizeof(memory));
}

static void send_text(uv_pipe_t *pipe, const char *text)
{
	uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));

	if (uv_try_write((uv_stream_t *)pipe, &buffer, 1) < 0)
		fprintf(stderr, "write failed\n");
}

static void uncork(void)
{
	if (!corked)
		return;
	corked = false;
	uv_timer_stop(&cork);
	thrum_task_resolve(cork_task);
	THRUM_RUN (request) {
		thrum_task_read(request, cork_task);
		send_text(&server, "200 OK\n");
	}
}

static void on_cork_timer(uv_timer_t *timer)
{
	(void)timer;
	uncork();
}

/* Small writes are gathered while the connection is corked. */
static void cork_answer(void)
{
	corked = true;
	cork_task = thrum_task_create(THRUM_KIND_TIMER, "cork");
	thrum_task_due(cork_task, 200000000);
	thrum_task_wait(request, cork_task);
	uv_timer_start(&cork, on_cork_timer, 200, 0);
}

static void on_request(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	bool chunked;

	(void)stream;
	if (size <= 0)
		return;
	chunked = memchr(buffer->base, '+', (size_t)size) != NULL;
	THRUM_RUN (request)
		cork_answer();
	if (chunked && !healthy)
		return;
	uncork();
}

static void on_answer(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)stream;
	(void)buffer;
	if (size <= 0)
		return;
	thrum_task_resolve(request);
	answered++;
	ask_next();
}

static void ask_next(void)
{
	if (begun == REQUESTS) {
		uv_close((uv_handle_t *)&cork, NULL);
		uv_close((uv_handle_t *)&server, NULL);
		uv_close((uv_handle_t *)&client, NULL);
		return;
	}
	begun++;
	if (begun % 2) {
		request = thrum_task_createf(THRUM_KIND_TASK, "GET /orders/%d", begun);
		thrum_task_should_resolve(request);
		send_text(&client, "GET /orders\n");
	} else {
		request = thrum_task_createf(THRUM_KIND_TASK, "POST /orders/%d", begun);
		thrum_task_should_resolve(request);
		send_text(&client, "POST /orders\n+chunk\n");
	}
}

int main(int argc, char **argv)
{
	int sockets[2];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets))
		return 1;
	thrum_start(NULL);
	uv_loop_init(&loop);
	uv_pipe_init(&loop, &server, 0);
	uv_pipe_init(&loop, &client, 0);
	uv_pipe_open(&server, sockets[0]);
	uv_pipe_open(&client, sockets[1]);
	uv_timer_init(&loop, &cork);
	uv_read_start((uv_stream_t *)&server, allocate, on_request);
	uv_read_start((uv_stream_t *)&client, allocate, on_answer);
	ask_next();
	uv_run(&loop, UV_RUN_DEFAULT);
	thrum_stop();
	uv_loop_close(&loop);
	printf("%d answered\n", answered);
	return 0;
}
