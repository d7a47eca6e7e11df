/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: session_read of the server searches the end of a command, CR LF, only in the bytes that came
 *     last. When CR and LF of the console's command come in two reads, it is never found: the server (thread
 *     "kv-server") waits for more bytes, and the thread "console" waits for a reply.
 *   culprit: session_read|kv-server
 *   victim: console|monitor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small store of keys and values in memory, on libuv, with two clients. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define NKEYS 16

struct session {
	uv_pipe_t stream;
	char input[512];
	size_t used;
};

struct reply {
	uv_write_t request;
	char text[96];
};

/* Text that a client types, in the pieces in which it is sent. */
struct client {
	const char *name;
	int fd;
	const char *const *pieces;
	int replies;
};

static struct {
	char key[32], value[64];
} store[NKEYS];
static unsigned saved, commands;

static const char *const monitor_pieces[] = {"SET up 1\r\n", "GET up\r\n", "GET load\r\n", NULL};
static const char *const console_pieces[] = {"SET name thr", "ead\r\nGET ", "up\r\nGET name\r\n",
	NULL};
static const char *const console_slow_pieces[] = {"SET name thr", "ead\r\nGET ", "up\r\nGET name\r",
	"\n", NULL};

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static void reply_sent(uv_write_t *request, int status)
{
	if (status < 0)
		fprintf(stderr, "kv: reply: %s\n", uv_strerror(status));
	free(request->data);
}

static void session_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Does one command, and sends the reply. */
__attribute__((noinline)) void execute_command(struct session *session, char *command)
{
	struct reply *reply = malloc(sizeof(*reply));
	char verb[8] = "", key[32] = "", value[64] = "";
	uv_buf_t buffer;
	int i, n;

	n = sscanf(command, "%7s %31s %63s", verb, key, value);
	for (i = 0; i < NKEYS - 1 && store[i].key[0] && strcmp(store[i].key, key); i++)
		;
	if (n == 3 && !strcmp(verb, "SET")) {
		snprintf(store[i].key, sizeof(store[i].key), "%s", key);
		snprintf(store[i].value, sizeof(store[i].value), "%s", value);
		snprintf(reply->text, sizeof(reply->text), "+OK\n");
	} else if (n == 2 && !strcmp(verb, "GET") && store[i].key[0]) {
		snprintf(reply->text, sizeof(reply->text), "+%s\n", store[i].value);
	} else {
		snprintf(reply->text, sizeof(reply->text), "-NONE\n");
	}
	commands++;
	reply->request.data = reply;
	buffer = uv_buf_init(reply->text, strlen(reply->text));
	uv_write(&reply->request, (uv_stream_t *)&session->stream, &buffer, 1, reply_sent);
}

static void session_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct session *session = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(session->input + session->used,
		sizeof(session->input) - session->used);
}

/* Bytes came: does the commands that are complete now. */
void session_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct session *session = stream->data;
	char *begin = session->input, *search = buffer->base, *end;

	if (n < 0) {
		uv_close((uv_handle_t *)stream, session_closed);
		return;
	}
	session->used += (size_t)n;
	/* The bytes before have no end of a command, so don't search it again. */
	while ((end = memmem(search, (size_t)(session->input + session->used - search), "\r\n",
			2))) {
		*end = '\0';
		execute_command(session, begin);
		begin = search = end + 2;
	}
	session->used -= (size_t)(begin - session->input);
	memmove(session->input, begin, session->used);
}

__attribute__((noinline)) void open_session(uv_loop_t *loop, int fd)
{
	struct session *session = calloc(1, sizeof(*session));

	uv_pipe_init(loop, &session->stream, 0);
	session->stream.data = session;
	uv_pipe_open(&session->stream, fd);
	uv_read_start((uv_stream_t *)&session->stream, session_buffer, session_read);
}

void autosave(uv_timer_t *timer)
{
	(void)timer;
	saved = commands;
}

__attribute__((noinline)) void await_replies(struct client *client, int expected)
{
	char text[256];
	ssize_t n, i;

	while (client->replies < expected) {
		n = read(client->fd, text, sizeof(text));
		if (n <= 0)
			return;
		for (i = 0; i < n; i++)
			client->replies += text[i] == '\n';
	}
}

static void *run_client(void *argument)
{
	struct client *client = argument;
	const char *c;
	int i, expected = 0;

	pthread_setname_np(pthread_self(), client->name);
	for (i = 0; client->pieces[i]; i++) {
		if (write(client->fd, client->pieces[i], strlen(client->pieces[i])) < 0)
			return NULL;
		for (c = client->pieces[i]; *c; c++)
			expected += *c == '\n';
		sleep_ms(160);
	}
	await_replies(client, expected);
	close(client->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct client clients[2] = {
		{.name = "console", .pieces = console_pieces},
		{.name = "monitor", .pieces = monitor_pieces},
	};
	pthread_t threads[2];
	uv_timer_t timer;
	uv_loop_t loop;
	int i, pair[2];

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken"))
		clients[0].pieces = console_slow_pieces;
	uv_loop_init(&loop);
	uv_timer_init(&loop, &timer);
	uv_timer_start(&timer, autosave, 250, 250);
	uv_unref((uv_handle_t *)&timer);
	for (i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
			perror("socketpair");
			return 1;
		}
		open_session(&loop, pair[0]);
		clients[i].fd = pair[1];
		pthread_create(&threads[i], NULL, run_client, &clients[i]);
	}
	pthread_setname_np(pthread_self(), "kv-server");
	uv_run(&loop, UV_RUN_DEFAULT);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	printf("kv: %u commands, %u saved, %d replies to the console\n", commands, saved,
		clients[0].replies);
	return uv_loop_close(&loop) ? 1 : 0;
}
