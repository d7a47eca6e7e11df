/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: hook_start only makes a pipe for the hook's output, and hook_exited reads it after the hook's exit. The hook
 *     "lint" prints more than a pipe holds, so it blocks in its write and never exits.
 *   culprit: hook_start|hook_exited|lint
 *   victim: next_hook|uptime
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Runs the hooks of a repository one after the other when something is pushed, and keeps what they print. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct hook {
	const char *name;
	const char *command;
	uv_process_t process;
	uv_pipe_t output;
	char *text;
	size_t size, room;
	int64_t status;
	unsigned open; /* handles */
};

static struct hook hooks[] = {
	{.name = "check-size", .command = "echo 14 objects, 12 KiB"},
	{.name = "lint",
		.command =
			"i=0; while [ $i -lt 3000 ]; do "
			"echo \"src/file$i.c:$i: warning: line is longer than 100 columns\"; i=$((i+1)); done"},
	{.name = "mail", .command = "echo sent to 3 subscribers"},
};

static uv_loop_t *loop;
static uv_timer_t uptime;
static bool read_early;
static unsigned current;

static void next_hook(void);

static void hook_closed(uv_handle_t *handle)
{
	struct hook *hook = handle->data;

	if (--hook->open)
		return;
	printf("%s: status %d, %zu bytes of output\n", hook->name, (int)hook->status, hook->size);
	free(hook->text);
	current++;
	next_hook();
}

static void hook_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct hook *hook = handle->data;

	(void)suggested;
	if (hook->room - hook->size < 4096) {
		hook->room = hook->room * 2 + 8192;
		hook->text = realloc(hook->text, hook->room);
		if (!hook->text)
			abort();
	}
	*buffer = uv_buf_init(hook->text + hook->size, hook->room - hook->size);
}

static void hook_output(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct hook *hook = stream->data;

	(void)buffer;
	if (count < 0)
		uv_close((uv_handle_t *)stream, hook_closed);
	else
		hook->size += count;
}

static void hook_exited(uv_process_t *process, int64_t status, int signal)
{
	struct hook *hook = process->data;

	(void)signal;
	hook->status = status;
	uv_close((uv_handle_t *)process, hook_closed);
	if (!read_early)
		uv_read_start((uv_stream_t *)&hook->output, hook_alloc, hook_output);
}

static void hook_start(struct hook *hook)
{
	char *arguments[] = {"sh", "-c", (char *)hook->command, NULL};
	uv_stdio_container_t stdio[3] = {0};
	uv_process_options_t options = {0};
	int error;

	uv_pipe_init(loop, &hook->output, 0);
	hook->output.data = hook->process.data = hook;
	hook->open = 2;
	stdio[0].flags = UV_IGNORE;
	stdio[1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
	stdio[1].data.stream = (uv_stream_t *)&hook->output;
	stdio[2].flags = UV_INHERIT_FD;
	stdio[2].data.fd = 2;
	options.file = "/bin/sh";
	options.args = arguments;
	options.stdio = stdio;
	options.stdio_count = 3;
	options.exit_cb = hook_exited;
	error = uv_spawn(loop, &hook->process, &options);
	if (error) {
		fprintf(stderr, "%s: %s\n", hook->name, uv_strerror(error));
		exit(1);
	}
	if (read_early)
		uv_read_start((uv_stream_t *)&hook->output, hook_alloc, hook_output);
}

static void next_hook(void)
{
	if (current < sizeof(hooks) / sizeof(*hooks)) {
		hook_start(&hooks[current]);
		return;
	}
	puts("push accepted");
	uv_close((uv_handle_t *)&uptime, NULL);
}

static void on_uptime(uv_timer_t *timer)
{
	static unsigned ticks;

	(void)timer;
	printf("up for %u ticks\n", ++ticks);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_early = strcmp(argv[1], "broken") != 0;
	loop = uv_default_loop();
	uv_timer_init(loop, &uptime);
	uv_timer_start(&uptime, on_uptime, 150, 150);
	next_hook();
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	return 0;
}
