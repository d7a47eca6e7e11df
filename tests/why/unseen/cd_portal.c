/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: xdg-desktop-portal issue #2091 ("OpenPipeWireRemote handler deadlocks the portal after a monitor
 *     reconfiguration"; the rt module's blocking call to the portal itself is pull request #2012): the worker thread
 *     (open_remote) holds session_lock while remote_destroy joins the module's thread. That thread (rt_main) waits
 *     for an answer of the Realtime portal, which only the main loop gives. The main loop is in on_monitors_changed,
 *     which waits for session_lock. So three threads wait for each other in a ring, and every other call hangs.
 *   culprit: session_lock|open_remote|remote_destroy|on_monitors_changed
 *   victim: file_chooser|file-chooser
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A desktop portal: the main loop answers calls; those that take long are answered by a worker thread. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 10

struct call {
	const char *method;
	GMutex mutex;
	GCond answered;
	bool done;
};

/* A connection to the sound and video server, with a module of its own thread. */
struct remote {
	GThread *rt;
};

static GMainLoop *loop;
static GMutex session_lock; /* guards the session's streams */
static int streams, monitors = 2, opened, answers;
static bool unlock_first;

/* ---- calls to the portal, from other threads ---- */

static gboolean on_call(gpointer data)
{
	struct call *call = data;

	answers++;
	g_mutex_lock(&call->mutex);
	call->done = true;
	g_cond_signal(&call->answered);
	g_mutex_unlock(&call->mutex);
	return G_SOURCE_REMOVE;
}

/* Calls a method of the portal and waits for the answer. */
static void portal_call_sync(const char *method)
{
	struct call call = {.method = method};

	g_mutex_init(&call.mutex);
	g_cond_init(&call.answered);
	g_idle_add(on_call, &call);
	g_mutex_lock(&call.mutex);
	while (!call.done)
		g_cond_wait(&call.answered, &call.mutex);
	g_mutex_unlock(&call.mutex);
	g_mutex_clear(&call.mutex);
	g_cond_clear(&call.answered);
}

/* ---- the remote ---- */

static gpointer rt_main(gpointer data)
{
	(void)data;
	g_usleep(60000); /* looks up its limits */
	portal_call_sync("Realtime.MakeThreadRealtime");
	return NULL;
}

static struct remote *remote_new(void)
{
	struct remote *remote = g_new0(struct remote, 1);

	remote->rt = g_thread_new("module-rt", rt_main, remote);
	g_usleep(90000); /* a round trip to the server */
	return remote;
}

static void remote_destroy(struct remote *remote)
{
	g_thread_join(remote->rt);
	g_free(remote);
}

/* ---- the screen cast portal ---- */

static void open_remote(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct remote *remote;

	(void)source, (void)data, (void)cancellable;
	g_mutex_lock(&session_lock);
	remote = remote_new();
	streams++;
	if (unlock_first) {
		g_mutex_unlock(&session_lock);
		remote_destroy(remote);
	} else {
		remote_destroy(remote);
		g_mutex_unlock(&session_lock);
	}
	g_task_return_boolean(task, TRUE);
}

static gboolean on_monitors_changed(gpointer data)
{
	(void)data;
	g_mutex_lock(&session_lock);
	monitors = 3 - monitors;
	streams = 0;
	g_mutex_unlock(&session_lock);
	return G_SOURCE_REMOVE;
}

static gboolean on_quit(gpointer data)
{
	(void)data;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gboolean on_next(gpointer data);

static void on_opened(GObject *source, GAsyncResult *result, gpointer data)
{
	(void)source;
	if (g_task_propagate_boolean(G_TASK(result), NULL))
		opened++;
	if (opened == 2)
		on_monitors_changed(NULL);
	if (opened == ROUNDS)
		g_timeout_add(300, on_quit, NULL);
	else
		g_timeout_add(30, on_next, data);
}

static gboolean on_next(gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, on_opened, data);

	g_task_set_name(task, "OpenPipeWireRemote");
	g_task_run_in_thread(task, open_remote);
	g_object_unref(task);
	if (opened == 6)
		g_timeout_add(30, on_monitors_changed, NULL);
	return G_SOURCE_REMOVE;
}

/* ---- another client ---- */

static gpointer file_chooser(gpointer data)
{
	int i;

	(void)data;
	for (i = 0; i < 14; i++) {
		portal_call_sync("FileChooser.OpenFile");
		g_usleep(50000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	GThread *client;

	unlock_first = argc > 1 && !strcmp(argv[1], "healthy");
	loop = g_main_loop_new(NULL, FALSE);
	client = g_thread_new("file-chooser", file_chooser, NULL);
	g_timeout_add(20, on_next, NULL);
	g_main_loop_run(loop);
	g_thread_join(client);
	g_main_loop_unref(loop);
	printf("%d remotes, %d answers, %d monitors\n", opened, answers, monitors);
	return 0;
}
