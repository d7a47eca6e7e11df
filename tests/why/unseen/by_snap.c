/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: snapd-glib issue #10 and pull request #11 ("Often hangs when called from gnome-software", "Only iterate
 *     our own GMainContext"): snapd_get_sync runs a loop in a context of its own, but watches the socket by g_io_add_watch, which
 *     attaches to the default context. That works while the main thread runs its loop. Now the main thread waits for
 *     the plugin's thread, in g_thread_join of on_refresh, so the answer is never read: on_answer doesn't run.
 *   culprit: on_answer|snapd_get_sync|on_refresh|g_io_add_watch
 *   victim: on_tick
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A software shop: a plugin asks a daemon about packages, in threads of its own, by a library whose calls
 * wait for the answer. The daemon is another process. */
#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct call {
	GMainContext *context;
	GMainLoop *loop;
	char answer[64];
};

struct lookup {
	const char *package;
	char version[64];
};

static int daemon_socket;
static GMutex daemon_lock; /* one request at a time */
static GMainLoop *main_loop;
static bool careful;
static unsigned ticks;
static unsigned shown;

/* ---- The daemon ---- */

static _Noreturn void run_daemon(int socket)
{
	char request[64];
	ssize_t size;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((size = read(socket, request, sizeof request - 16)) > 0) {
		usleep(20000);
		memcpy(request + size, " 1.0", 4);
		if (write(socket, request, (size_t)size + 4) < 0)
			break;
	}
	_exit(0);
}

/* ---- The library ---- */

static gboolean on_answer(GIOChannel *channel, GIOCondition condition, gpointer data)
{
	struct call *call = data;
	ssize_t size = read(g_io_channel_unix_get_fd(channel), call->answer,
		sizeof call->answer - 1);

	(void)condition;
	call->answer[size > 0 ? size : 0] = 0;
	g_main_loop_quit(call->loop);
	return G_SOURCE_REMOVE;
}

static void watch_socket(struct call *call, GIOChannel *channel)
{
	if (careful) {
		GSource *source = g_io_create_watch(channel, G_IO_IN);

		g_source_set_callback(source, G_SOURCE_FUNC(on_answer), call, NULL);
		g_source_attach(source, call->context);
		g_source_unref(source);
	} else {
		g_io_add_watch(channel, G_IO_IN, on_answer, call);
	}
}

static void snapd_get_sync(const char *package, char *version, size_t size)
{
	struct call call = {.context = g_main_context_new()};
	GIOChannel *channel = g_io_channel_unix_new(daemon_socket);

	g_mutex_lock(&daemon_lock);
	g_main_context_push_thread_default(call.context);
	call.loop = g_main_loop_new(call.context, FALSE);
	watch_socket(&call, channel);
	if (write(daemon_socket, package, strlen(package)) > 0)
		g_main_loop_run(call.loop);
	g_main_loop_unref(call.loop);
	g_main_context_pop_thread_default(call.context);
	g_mutex_unlock(&daemon_lock);
	g_io_channel_unref(channel);
	g_main_context_unref(call.context);
	g_strlcpy(version, call.answer, size);
}

/* ---- The shop ---- */

static gboolean on_found(gpointer data)
{
	struct lookup *lookup = data;

	shown++;
	g_free(lookup);
	return G_SOURCE_REMOVE;
}

/* Looks a package up for a page that the user opens, and shows it when it is there. */
static gpointer look_up_page(gpointer data)
{
	struct lookup *lookup = data;

	snapd_get_sync(lookup->package, lookup->version, sizeof lookup->version);
	g_idle_add(on_found, lookup);
	return NULL;
}

/* Looks a package up for the list of updates. */
static gpointer look_up_update(gpointer data)
{
	struct lookup *lookup = data;

	snapd_get_sync(lookup->package, lookup->version, sizeof lookup->version);
	return lookup;
}

static gboolean on_open_page(gpointer data)
{
	static const char *const packages[] = {"vlc", "gimp", "inkscape", "krita"};
	static unsigned next;
	struct lookup *lookup = g_new0(struct lookup, 1);

	(void)data;
	lookup->package = packages[next++ % 4];
	g_thread_unref(g_thread_new("plugin page", look_up_page, lookup));
	return next < 4 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* The user presses “refresh”: the list is made anew before it is drawn. */
static gboolean on_refresh(gpointer data)
{
	struct lookup update = {.package = "core"};
	GThread *thread = g_thread_new("plugin updates", look_up_update, &update);

	(void)data;
	g_thread_join(thread);
	shown++;
	return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	ticks++; /* the progress bar */
	return G_SOURCE_CONTINUE;
}

static gboolean on_close(gpointer data)
{
	(void)data;
	g_main_loop_quit(main_loop);
	return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
	int sockets[2];

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	if (!fork()) {
		close(sockets[0]);
		run_daemon(sockets[1]);
	}
	close(sockets[1]);
	daemon_socket = sockets[0];
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(30, on_tick, NULL);
	g_timeout_add(100, on_open_page, NULL);
	g_timeout_add(800, on_refresh, NULL);
	g_timeout_add(1200, on_close, NULL);
	g_main_loop_run(main_loop);
	g_main_loop_unref(main_loop);
	close(daemon_socket);
	printf("showed %u packages\n", shown);
	return 0;
}
