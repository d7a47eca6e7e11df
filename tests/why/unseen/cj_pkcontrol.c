/* SPDX-License-Identifier: ISC */
/*
 * After PackageKit/PackageKit, pull request #352.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: pk_control_connect is called by the first synchronous call, pk_client_get_details. That has pushed a
 *     temporary context as the thread's default, so the source for the signal "updates-changed" is attached to this
 *     context, which nobody runs any more. The signals that the daemon sends are never dispatched, and the
 *     refresh of the list of updates waits for ever.
 *   culprit: pk_control_connect|updates-changed
 *   victim: clock_tick
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A software centre: it asks the package daemon for details, and hears from it when there are updates. */
#include <gio/gio.h>
#include <glib-unix.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
	int calls;   /* questions and answers */
	int signals; /* what the daemon tells unasked */
	GSource *source;
	GMainContext *context;
	GTask *waiting; /* a refresh that waits for updates-changed */
	unsigned changes;
} PkControl;

struct answer {
	GMainLoop *loop;
	char text[64];
};

static GMainLoop *loop;
static unsigned ticks, refreshes;

/* The daemon. */
static gpointer packagekitd(gpointer data)
{
	int *sockets = data;
	char question[64];
	ssize_t got;

	while ((got = read(sockets[0], question, sizeof(question))) > 0) {
		g_usleep(2000);
		if (question[0] == 'r') {
			/* It looks for updates, and tells later. */
			g_usleep(20000);
			if (write(sockets[1], "updates-changed", 15) != 15)
				break;
		} else if (write(sockets[0], question, (size_t)got) != got) {
			break;
		}
	}
	return NULL;
}

static gboolean pk_control_signal_cb(int fd, GIOCondition condition, gpointer data)
{
	PkControl *control = data;
	char name[15];
	GTask *task;

	(void)condition;
	if (read(fd, name, sizeof(name)) != (ssize_t)sizeof(name))
		return G_SOURCE_REMOVE;
	control->changes++;
	task = g_steal_pointer(&control->waiting);
	if (task) {
		g_task_return_boolean(task, TRUE);
		g_object_unref(task);
	}
	return G_SOURCE_CONTINUE;
}

/* Connects to the daemon's signals, once. They come in the context that is the thread's default now. */
static void pk_control_connect(PkControl *control)
{
	if (control->source)
		return;
	control->context = g_main_context_ref_thread_default();
	control->source = g_unix_fd_source_new(control->signals, G_IO_IN);
	g_source_set_name(control->source, "updates-changed");
	g_source_set_callback(control->source, G_SOURCE_FUNC(pk_control_signal_cb), control, NULL);
	g_source_attach(control->source, control->context);
}

static gboolean details_cb(int fd, GIOCondition condition, gpointer data)
{
	struct answer *answer = data;

	(void)condition;
	if (read(fd, answer->text, sizeof(answer->text)) > 0)
		g_main_loop_quit(answer->loop);
	return G_SOURCE_REMOVE;
}

static void pk_client_get_details_async(PkControl *control, const char *package,
	struct answer *answer)
{
	GSource *reply;

	pk_control_connect(control);
	reply = g_unix_fd_source_new(control->calls, G_IO_IN);
	g_source_set_callback(reply, G_SOURCE_FUNC(details_cb), answer, NULL);
	g_source_attach(reply, g_main_context_get_thread_default());
	g_source_unref(reply);
	if (write(control->calls, package, strlen(package)) < 0)
		g_error("the daemon has gone");
}

/* The synchronous call runs the asynchronous one in a context of its own. */
static void pk_client_get_details(PkControl *control, const char *package)
{
	GMainContext *context = g_main_context_new();
	struct answer answer = {0};

	g_main_context_push_thread_default(context);
	answer.loop = g_main_loop_new(context, FALSE);
	pk_client_get_details_async(control, package, &answer);
	g_main_loop_run(answer.loop);
	g_main_context_pop_thread_default(context);
	g_main_loop_unref(answer.loop);
	g_main_context_unref(context);
}

static void refreshed(GObject *object, GAsyncResult *result, gpointer data);

static void refresh_updates(PkControl *control)
{
	control->waiting = g_task_new(NULL, NULL, refreshed, control);
	g_task_set_name(control->waiting, "refresh");
	if (write(control->calls, "refresh", 7) != 7)
		g_error("the daemon has gone");
}

static void refreshed(GObject *object, GAsyncResult *result, gpointer data)
{
	(void)object;
	g_task_propagate_boolean(G_TASK(result), NULL);
	if (++refreshes < 4)
		refresh_updates(data);
	else
		g_main_loop_quit(loop);
}

static gboolean clock_tick(gpointer data)
{
	(void)data;
	ticks++;
	return G_SOURCE_CONTINUE;
}

static gboolean first_refresh(gpointer data)
{
	refresh_updates(data);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	static const char *const shown[] = {"gimp", "inkscape", "darktable", "krita", "blender",
		"scribus"};
	static PkControl control;
	static int daemon_ends[2];
	int calls[2], signals[2];
	GThread *daemon;

	if (argc < 2 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, calls) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET, 0, signals))
		return 2;
	control.calls = calls[0];
	control.signals = signals[0];
	daemon_ends[0] = calls[1];
	daemon_ends[1] = signals[1];
	daemon = g_thread_new("packagekitd", packagekitd, daemon_ends);
	if (!strcmp(argv[1], "healthy"))
		pk_control_connect(&control);
	for (size_t i = 0; i < G_N_ELEMENTS(shown); i++)
		pk_client_get_details(&control, shown[i]);
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, clock_tick, NULL);
	g_timeout_add(60, first_refresh, &control);
	g_main_loop_run(loop);
	shutdown(calls[0], SHUT_RDWR);
	g_thread_join(daemon);
	printf("%u changes, %u refreshes, %u ticks\n", control.changes, refreshes, ticks);
	return 0;
}
