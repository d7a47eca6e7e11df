/* SPDX-License-Identifier: ISC */
/*
 * After tsl0922/ttyd #1573.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: read_cb stops reading first, and goes on when the web socket has taken the text. When no buffer is free
 *     (UV_ENOBUFS), as for the fifth session, it returns, and nobody calls uv_read_start for this terminal any more. So
 *     it is never read again: "shell 5" blocks in a write for ever, while the other sessions go on.
 *   culprit: read_cb|pty
 *   victim: shell 5|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Shares terminals in the web: the output of each shell goes to a web socket, through a few buffers. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	SESSIONS = 5,
	BUFFERS = 4,
	BUFFER = 1024,
	LINE = 256,
	WRITE_MS = 40,
	PING_MS = 50
};

struct session {
	int number;
	int lines; /* that its shell prints */
	unsigned start_ms;
	uv_timer_t start;
	uv_pipe_t pty;
	uv_timer_t ws; /* the web socket's write */
	char *pending;
	bool starved;
	int shell_end;
	pthread_t shell;
	size_t sent;
};

static struct session sessions[SESSIONS] = {
	{.number = 1, .lines = 100, .start_ms = 1},
	{.number = 2, .lines = 100, .start_ms = 1},
	{.number = 3, .lines = 80, .start_ms = 105},
	{.number = 4, .lines = 80, .start_ms = 105},
	{.number = 5, .lines = 48, .start_ms = 213},
};
static char buffers[BUFFERS][BUFFER];
static bool taken[BUFFERS];
static uv_timer_t ping;
static int open_sessions = SESSIONS;
static bool broken;

static void must(bool good)
{
	if (!good)
		exit(2);
}

/* ---- The shells ----------------------------------------------------------------------------- */

static void *shell(void *data)
{
	struct session *session = data;
	char name[16], line[LINE];

	snprintf(name, sizeof(name), "shell %d", session->number);
	pthread_setname_np(pthread_self(), name);
	memset(line, 'a' + session->number, sizeof(line));
	for (int i = 0; i < session->lines; i++)
		must(write(session->shell_end, line, sizeof(line)) == sizeof(line));
	close(session->shell_end);
	return NULL;
}

/* ---- The terminals -------------------------------------------------------------------------- */

static void pty_resume(struct session *session);

static void alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(NULL, 0);
	for (int i = 0; i < BUFFERS; i++) {
		if (taken[i])
			continue;
		taken[i] = true;
		*buffer = uv_buf_init(buffers[i], BUFFER);
		return;
	}
}

static void buffer_release(const char *buffer)
{
	for (int i = 0; i < BUFFERS; i++)
		if (buffer == buffers[i])
			taken[i] = false;
	for (int i = 0; i < SESSIONS; i++) {
		if (!sessions[i].starved)
			continue;
		sessions[i].starved = false;
		pty_resume(&sessions[i]);
		break;
	}
}

static void ws_written(uv_timer_t *timer)
{
	struct session *session = timer->data;

	buffer_release(session->pending);
	session->pending = NULL;
	pty_resume(session);
}

static void session_close(struct session *session)
{
	uv_close((uv_handle_t *)&session->pty, NULL);
	uv_close((uv_handle_t *)&session->ws, NULL);
	printf("session %d: %zu bytes\n", session->number, session->sent);
	if (!--open_sessions)
		uv_close((uv_handle_t *)&ping, NULL);
}

static void read_cb(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct session *session = stream->data;

	uv_read_stop(stream);
	if (size <= 0) {
		if (buffer->base)
			buffer_release(buffer->base);
		if (size == UV_ENOBUFS || size == 0) {
			if (!broken)
				session->starved = true; /* until a buffer is free */
			return;
		}
		session_close(session);
		return;
	}
	session->pending = buffer->base;
	session->sent += (size_t)size;
	uv_timer_start(&session->ws, ws_written, WRITE_MS, 0);
}

static void pty_resume(struct session *session)
{
	must(!uv_read_start((uv_stream_t *)&session->pty, alloc_cb, read_cb));
}

static void session_open(uv_timer_t *timer)
{
	struct session *session = timer->data;
	int ends[2], size = 4096;

	uv_close((uv_handle_t *)timer, NULL);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	session->shell_end = ends[1];
	uv_pipe_init(timer->loop, &session->pty, 0);
	uv_timer_init(timer->loop, &session->ws);
	session->pty.data = session->ws.data = session;
	must(!uv_pipe_open(&session->pty, ends[0]));
	pty_resume(session);
	must(!pthread_create(&session->shell, NULL, shell, session));
}

static void send_ping(uv_timer_t *timer)
{
	(void)timer;
	printf("ping to %d browsers\n", open_sessions);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	uv_timer_init(loop, &ping);
	uv_timer_start(&ping, send_ping, PING_MS, PING_MS);
	for (int i = 0; i < SESSIONS; i++) {
		uv_timer_init(loop, &sessions[i].start);
		sessions[i].start.data = &sessions[i];
		uv_timer_start(&sessions[i].start, session_open, sessions[i].start_ms, 0);
	}
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i].shell, NULL);
	uv_loop_close(loop);
	puts("all shells have ended");
	return 0;
}
