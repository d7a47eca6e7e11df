/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow='list apps #'
 *   truth: gnome-software-plugin-apk pull request #59 ("Make DBus calls in async operations async", with
 *     issue #44): the operations of the plugin run in the main context. "refresh metadata" calls the
 *     package daemon synchronously there (refresh_metadata, 300 ms), and the main loop runs nothing else
 *     meanwhile. "list apps 23" was ready just after the call had begun, and waits for the main thread
 *     until it returns. Its own work takes as long as always.
 *   culprit: refresh metadata|refresh_metadata|daemon call
 *   victim: list apps 23
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A software centre: its main loop lists applications for clients on the bus, and refreshes its metadata.
 * */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>

#define LISTS 40

THRUM_TAG(daemon_call, NULL, "daemon call", 0);

struct list {
	thrum_task task;
	unsigned number;
};

static GMainLoop *loop;
static bool is_async;
static thrum_task refresh;
static thrum_task reply;
static unsigned listed;
static bool refreshed;

static void quit_if_done(void)
{
	if (listed == LISTS && refreshed)
		g_main_loop_quit(loop);
}

/* ---- the package daemon ---- */

static gboolean on_refreshed(gpointer data)
{
	(void)data;
	thrum_task_resolve(reply);
	THRUM_RUN (refresh) {
		thrum_task_read(refresh, reply);
		thrum_task_resolve(refresh);
	}
	refreshed = true;
	quit_if_done();
	return G_SOURCE_REMOVE;
}

static void apkd_refresh_async(void)
{
	reply = thrum_task_create(THRUM_KIND_REQUEST, "UpdateRepositories");
	thrum_task_wait(refresh, reply);
	g_timeout_add(300, on_refreshed, NULL);
}

static void apkd_refresh_sync(void)
{
	thrum_suspend(&daemon_call);
	g_usleep(300000);
	thrum_resume();
}

/* ---- the plugin's operations ---- */

static gboolean refresh_metadata(gpointer data)
{
	(void)data;
	refresh = thrum_task_create(THRUM_KIND_TASK, "refresh metadata");
	thrum_task_should_resolve(refresh);
	THRUM_RUN (refresh) {
		if (is_async) {
			apkd_refresh_async();
		} else {
			apkd_refresh_sync();
			thrum_task_resolve(refresh);
			refreshed = true;
		}
	}
	return G_SOURCE_REMOVE;
}

static gboolean list_apps(gpointer data)
{
	struct list *list = data;

	THRUM_RUN (list->task) {
		g_usleep(1000 + list->number % 4 * 200);
		thrum_task_resolve(list->task);
	}
	listed++;
	g_free(list);
	quit_if_done();
	return G_SOURCE_REMOVE;
}

/* ---- the bus ---- */

static void pause_us(gulong us)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	g_usleep(us);
	thrum_resume();
}

/* Clients ask for lists, one each 14 ms. */
static gpointer bus_main(gpointer data)
{
	struct list *list;
	unsigned number;

	(void)data;
	thrum_lane_name("gdbus");
	for (number = 1; number <= LISTS; number++) {
		if (number == 23) {
			g_timeout_add(0, refresh_metadata, NULL);
			pause_us(3000);
		}
		list = g_new0(struct list, 1);
		list->number = number;
		list->task = thrum_task_createf(THRUM_KIND_TASK, "list apps %u", number);
		thrum_task_should_resolve(list->task);
		thrum_task_ready(list->task);
		g_idle_add_full(G_PRIORITY_DEFAULT, list_apps, list, NULL);
		/* The next client comes when it has seen something. */
		pause_us(number == 23 ? 330000 : 14000);
	}
	return NULL;
}

/* The loop's poll: the thread waits for work. */
static gint poll_idle(GPollFD *descriptors, guint count, gint timeout)
{
	gint result;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	result = g_poll(descriptors, count, timeout);
	thrum_resume();
	return result;
}

int main(int argc, char **argv)
{
	GThread *bus;

	if (argc < 2)
		return 2;
	is_async = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	loop = g_main_loop_new(NULL, FALSE);
	g_main_context_set_poll_func(NULL, poll_idle);
	bus = g_thread_new("gdbus", bus_main, NULL);
	g_main_loop_run(loop);
	g_thread_join(bus);
	printf("%u lists\n", listed);
	thrum_stop();
	return 0;
}
