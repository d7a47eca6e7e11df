/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: click_export blocks the window's own thread in wait_for_export until the plug-in's thread has exported the
 *     photo; but the plug-in first asks the user whether to overwrite the file, in the loop of the window, which is blocked.
 *   culprit: wait_for_export|click_export|\bexported\b|\bmain\b|\bmenu\b
 *   victim: ask to overwrite|encode|plug-in
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A photo editor. Plug-ins run in a thread with a loop of its own, and the window has the loop of the main thread. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_inbox *window, *plugins;
static sem_t plugins_ready, exported;
static bool broken;

/* ---- The plug-in ---- */

/* The user says yes. */
static struct thrum_promise *ask_user(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_sleep(loop, 15);
}

static struct thrum_promise *write_file(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_sleep(loop, 5);
}

static struct thrum_promise *encoded(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *yes = thrum_inbox_call(window, loop, "ask to overwrite", ask_user,
		NULL, NULL);

	(void)value;
	(void)data;
	return thrum_promise_bind(yes, write_file, NULL, NULL);
}

static int encode(void *data, struct thrum_value *result)
{
	unsigned sum = 1;

	(void)data;
	for (unsigned i = 1; i < 50000; i++)
		sum = sum * 31 + i;
	*result = thrum_value_int((intptr_t)(sum & 0xff));
	return 0;
}

static struct thrum_promise *export_photo(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_bind(thrum_work(loop, "encode", encode, NULL, NULL), encoded, NULL,
		NULL);
}

static void on_exported(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	sem_post(&exported);
}

static struct thrum_promise *export_and_tell(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *end = export_photo(loop, data);

	thrum_promise_on_termination(thrum_promise_ref(end), on_exported, NULL, NULL);
	return end;
}

static struct thrum_promise *end_plugins(struct thrum_loop *loop, void *data)
{
	(void)data;
	thrum_inbox_close(plugins);
	return thrum_promise_return(loop, thrum_value_none());
}

static void *run_plugins(void *unused)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	(void)unused;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		abort();
	plugins = thrum_inbox_create(loop, "plug-ins");
	sem_post(&plugins_ready);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return NULL;
}

/* ---- The window ---- */

/* The menu expects that the photo is there when it goes on. */
static void wait_for_export(void)
{
	while (sem_wait(&exported))
		continue;
}

static struct thrum_promise *click_export(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (!broken)
		return thrum_inbox_call(plugins, loop, "export photo", export_photo, NULL, NULL);
	if (thrum_inbox_post(plugins, "export photo", export_and_tell, NULL, NULL) == 0)
		wait_for_export();
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *menu;
	struct thrum_loop *loop;
	pthread_t thread;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&plugins_ready, 0, 0);
	sem_init(&exported, 0, 0);
	if (thrum_loop_create(uv, &loop))
		return 1;
	window = thrum_inbox_create(loop, "window");
	pthread_create(&thread, NULL, run_plugins, NULL);
	pthread_setname_np(thread, "plug-in");
	sem_wait(&plugins_ready);

	menu = thrum_promise_bind(thrum_sleep(loop, 20), click_export, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(menu, "menu"));
	error = thrum_promise_run(menu);
	printf("export: %s\n", thrum_promise_error_message(error));

	if (thrum_inbox_post(plugins, "end", end_plugins, NULL, NULL))
		return 1;
	pthread_join(thread, NULL);
	thrum_stop();
	thrum_inbox_close(window);
	thrum_inbox_unref(window);
	thrum_inbox_unref(plugins);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return error != 0;
}
