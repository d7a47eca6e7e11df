/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The station's list is empty, so stop_bus calls g_main_loop_quit before the thread "bus" has come to
 *     g_main_loop_run; that sets the loop running again, and nobody quits it a second time.
 *   culprit: \bbus\b|run_bus|stop_bus|g_main_loop
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about Liquidsoap, which hung at its end if it ended right after its start. A player of internet
 * radio has a thread with a GLib main loop, the bus, that plays the tracks of a station's list.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static GMainContext *context;
static GMainLoop *loop;
static GThread *bus;
static GMutex registry_lock;
static GPtrArray *registry;
static int played;

/* ---- Codecs, which are registered at the start ---- */

static void registry_fill(void)
{
	static const char *const names[] = {"vorbis", "opus", "mp3", "aac"};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_ptr_array_add(registry, g_strdup(names[i]));
}

static gsize registry_count(void)
{
	gsize count;

	g_mutex_lock(&registry_lock);
	count = registry->len;
	g_mutex_unlock(&registry_lock);
	return count;
}

/* ---- The bus ---- */

static gpointer run_bus(gpointer unused)
{
	(void)unused;
	g_main_context_push_thread_default(context);
	if (registry_count() == 0)
		fprintf(stderr, "bus: no codecs\n");
	g_main_loop_run(loop);
	g_main_context_pop_thread_default(context);
	return NULL;
}

static gboolean on_track(gpointer unused)
{
	(void)unused;
	played++;
	return G_SOURCE_REMOVE;
}

static gboolean on_quit(gpointer unused)
{
	(void)unused;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void in_bus(GSource *source, GSourceFunc function)
{
	g_source_set_callback(source, function, NULL, NULL);
	g_source_attach(source, context);
	g_source_unref(source);
}

static void start_bus(void)
{
	context = g_main_context_new();
	loop = g_main_loop_new(context, FALSE);
	bus = g_thread_new("bus", run_bus, NULL);
}

static void stop_bus(gboolean broken)
{
	GSource *source;

	if (broken) {
		g_main_loop_quit(loop);
		return;
	}
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_LOW);
	in_bus(source, on_quit);
}

/* ---- The station ---- */

static gpointer run_station(gpointer data)
{
	int socket = GPOINTER_TO_INT(data);
	char request[16];

	if (read(socket, request, sizeof(request)) > 0 && write(socket, "tracks 0\n", 9) != 9)
		perror("station");
	close(socket);
	return NULL;
}

static int ask_station(void)
{
	char answer[32] = "";
	int ends[2], tracks = 0;
	GThread *station;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 0;
	station = g_thread_new("station", run_station, GINT_TO_POINTER(ends[1]));
	if (write(ends[0], "list\n", 5) == 5 && read(ends[0], answer, sizeof(answer) - 1) > 0)
		sscanf(answer, "tracks %d", &tracks);
	g_thread_join(station);
	close(ends[0]);
	return tracks;
}

int main(int argc, char **argv)
{
	gboolean broken = argc > 1 && !strcmp(argv[1], "broken");
	int tracks;

	registry = g_ptr_array_new_with_free_func(g_free);
	/* The bus must not see a registry that is half full. */
	g_mutex_lock(&registry_lock);
	start_bus();
	registry_fill();
	tracks = ask_station();
	for (int i = 0; i < tracks; i++)
		in_bus(g_timeout_source_new(20 * (guint)i), on_track);
	if (tracks == 0)
		stop_bus(broken);
	g_mutex_unlock(&registry_lock);
	if (tracks > 0)
		stop_bus(broken);
	g_thread_join(bus);
	printf("played %d of %d\n", played, tracks);
	g_main_loop_unref(loop);
	g_main_context_unref(context);
	g_ptr_array_unref(registry);
	return 0;
}
