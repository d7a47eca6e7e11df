/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: uv_spawn of the missing tool "luacheck" fails; start_tool logs that and returns without ending the
 *     resolver of "exit of luacheck", for which nobody is left to call back, so "check init.lua" and "check
 *     all" wait for ever.
 *   culprit: luacheck|start_tool
 *   victim: check init.lua|check all
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about luvit's coro-spawn: it hangs if uv.spawn returns an error, as it then waits for an
 * exit callback that never comes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct tool {
	uv_process_t process;
	struct thrum_resolver *exited;
};

struct check {
	const char *file, *tool;
};

static const struct check checks[] = {
	{"main.lua", "/bin/true"},
	{"init.lua", "/usr/lib/no-such-place/luacheck"},
	{"util.lua", "/bin/true"},
};
static bool healthy;

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_exit_cb(uv_process_t *process, int64_t status, int signal)
{
	struct tool *tool = process->data;

	(void)signal;
	thrum_resolver_resolve(tool->exited, thrum_value_int((intptr_t)status));
	uv_close((uv_handle_t *)process, on_closed);
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static struct thrum_promise *start_tool(struct thrum_loop *loop, const char *path, const char *file)
{
	char *arguments[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)file, NULL};
	uv_process_options_t options = {.file = path, .args = arguments, .exit_cb = on_exit_cb};
	struct tool *tool = calloc(1, sizeof(*tool));
	struct thrum_promise *promise;
	int error;

	if (!tool)
		return NULL;
	promise = thrum_promise_wait(loop, NULL, &tool->exited);
	thrum_promise_labelf(promise, "exit of %s", base_name(path));
	tool->process.data = tool;
	error = uv_spawn(thrum_loop_uv(loop), &tool->process, &options);
	if (error) {
		fprintf(stderr, "%s: %s\n", path, uv_strerror(error));
		if (healthy)
			thrum_resolver_fail(tool->exited, error, "can't start %s", path);
		uv_close((uv_handle_t *)&tool->process, on_closed);
	}
	return promise;
}

static struct thrum_promise *report(struct thrum_loop *loop, void *value, void *data)
{
	printf("%s: %d\n", (const char *)data, (int)thrum_int(value));
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *skip(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	printf("%s: skipped: %s\n", (const char *)data, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static void blink(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[3], *joined;
	struct thrum_loop *loop;
	uv_timer_t cursor;
	uv_loop_t uv;
	int error;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	/* The editor's cursor blinks while the checks run. */
	uv_timer_init(&uv, &cursor);
	uv_timer_start(&cursor, blink, 100, 100);
	for (int i = 0; i < 3; i++) {
		void *file = (void *)(uintptr_t)checks[i].file;

		all[i] = thrum_promise_try_bind(start_tool(loop, checks[i].tool, checks[i].file),
			report, skip, file, NULL);
		thrum_promise_labelf(all[i], "check %s", checks[i].file);
	}
	joined = thrum_promise_join(loop, all, 3);
	thrum_promise_label(joined, "check all");
	error = thrum_promise_run(thrum_promise_should_resolve(joined));
	thrum_stop();
	uv_close((uv_handle_t *)&cursor, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
