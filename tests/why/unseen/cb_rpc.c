/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: neovim #14451 ("nvim_get_mode deadlocks plugin if run during rpcrequest"). The editor asks the plugin
 *     (rpc_request, "buf_enter") and waits. The plugin's handler asks back for the mode (ask_editor) before it
 *     answers. The editor's on_read puts that request into the queue of its main loop, which doesn't run while
 *     rpc_request waits. So editor and plugin each wait for the other's answer.
 *   culprit: rpc_request|ask_editor|plugin
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* An editor on libuv and a plugin's host in a thread, which call each other over a socket. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	REQUEST,
	RESPONSE
};

struct message {
	int type;
	int id;
	char text[56];
};

struct queued {
	struct message message;
	struct queued *next;
};

struct frame { /* a call that waits for its answer */
	int id;
	bool returned;
	char result[56];
	struct frame *outer;
};

static bool fixed;
static uv_loop_t loop;
static uv_pipe_t channel;
static uv_timer_t keys, blink;
static struct frame *frames;
static struct queued *queue;
static char input[2 * sizeof(struct message)];
static size_t input_size;
static unsigned pressed, blinks;
static int ends[2];

static void send_message(int fd, int type, int id, const char *text)
{
	struct message message;

	memset(&message, 0, sizeof(message));
	message.type = type;
	message.id = id;
	snprintf(message.text, sizeof(message.text), "%s", text);
	if (write(fd, &message, sizeof(message)) != sizeof(message))
		exit(1);
}

/* ---- The plugin ---- */

static int next_question = 1000;

static void ask_editor(const char *what, char *answer, size_t size)
{
	struct message message;
	int id = next_question++;

	send_message(ends[1], REQUEST, id, what);
	do {
		if (read(ends[1], &message, sizeof(message)) != sizeof(message))
			pthread_exit(NULL);
	} while (message.type != RESPONSE || message.id != id);
	snprintf(answer, size, "%.50s", message.text);
}

static void plugin_handle(const struct message *message)
{
	char mode[56] = "drawn";

	if (!strcmp(message->text, "buf_enter"))
		ask_editor("get_mode", mode, sizeof(mode));
	send_message(ends[1], RESPONSE, message->id, mode);
}

static void *plugin_host(void *data)
{
	struct message message;
	char lines[56];

	(void)data;
	ask_editor("line_count", lines, sizeof(lines));
	while (read(ends[1], &message, sizeof(message)) == sizeof(message)) {
		if (message.type == REQUEST)
			plugin_handle(&message);
	}
	return NULL;
}

/* ---- The editor ---- */

static void handle_request(const struct message *message)
{
	send_message(ends[0], RESPONSE, message->id,
		!strcmp(message->text, "get_mode") ? "n" : "120");
}

static void on_message(const struct message *message)
{
	struct queued *item, **end;
	struct frame *frame;

	if (message->type == RESPONSE) {
		for (frame = frames; frame; frame = frame->outer) {
			if (frame->id == message->id) {
				memcpy(frame->result, message->text, sizeof(frame->result));
				frame->returned = true;
			}
		}
		return;
	}
	if (fixed && !strcmp(message->text, "get_mode")) {
		handle_request(message); /* it changes nothing, and may run at any time */
		return;
	}
	item = calloc(1, sizeof(*item));
	item->message = *message;
	for (end = &queue; *end; end = &(*end)->next)
		continue;
	*end = item;
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	(void)handle;
	(void)size;
	*buf = uv_buf_init(input + input_size, (unsigned)(sizeof(input) - input_size));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
	struct message message;

	(void)stream;
	(void)buf;
	if (count <= 0)
		return;
	input_size += (size_t)count;
	while (input_size >= sizeof(message)) {
		memcpy(&message, input, sizeof(message));
		input_size -= sizeof(message);
		memmove(input, input + sizeof(message), input_size);
		on_message(&message);
	}
}

static void process_queue(void)
{
	struct queued *item;

	while ((item = queue)) {
		queue = item->next;
		handle_request(&item->message);
		free(item);
	}
}

static void rpc_request(const char *what)
{
	static int next_id = 1;
	struct frame frame = {.id = next_id++, .outer = frames};

	frames = &frame;
	send_message(ends[0], REQUEST, frame.id, what);
	while (!frame.returned)
		uv_run(&loop, UV_RUN_ONCE);
	frames = frame.outer;
}

static void on_key(uv_timer_t *timer)
{
	(void)timer;
	pressed++;
}

static void on_blink(uv_timer_t *timer)
{
	(void)timer;
	blinks++;
}

int main(int argc, char **argv)
{
	unsigned handled = 0;
	pthread_t plugin;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	uv_loop_init(&loop);
	uv_pipe_init(&loop, &channel, 0);
	uv_pipe_open(&channel, ends[0]);
	uv_stream_set_blocking((uv_stream_t *)&channel, 0);
	uv_read_start((uv_stream_t *)&channel, on_alloc, on_read);
	uv_timer_init(&loop, &keys);
	uv_timer_start(&keys, on_key, 50, 50);
	uv_timer_init(&loop, &blink);
	uv_timer_start(&blink, on_blink, 300, 300);
	if (pthread_create(&plugin, NULL, plugin_host, NULL))
		return 1;
	pthread_setname_np(plugin, "plugin");
	while (handled < 30) {
		uv_run(&loop, UV_RUN_ONCE);
		process_queue();
		if (pressed > handled) {
			handled++;
			/* After some typing, the user opens another file. */
			rpc_request(handled == 18 ? "buf_enter" : "redraw");
		}
	}
	printf("%u keys, %u blinks\n", handled, blinks);
	return 0;
}
