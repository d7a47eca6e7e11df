/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The player loads one track at a time, which player.loading tells. skip_track cancels the load
 *     of track 4. on_loaded then gets G_IO_ERROR_CANCELLED and returns at once, so player.loading stays
 *     true. Each later call of load_next returns without a load, and no track is played any more. The fix
 *     clears the flag and goes on to the next track also after a cancelled load.
 *   culprit: on_loaded|skip_track|cancel
 *   victim: scrobble|show_position|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A music player on GLib: GTasks decode the tracks, and a thread tells a service which ones were played. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	TRACKS = 9,
	DULL_TRACK = 4, /* the user skips it */
	LENGTH_MS = 60
};

static struct {
	GMainLoop *loop;
	GCancellable *cancellable;
	bool loading;
	int number; /* of the track that is loaded or played */
	int played;
	int position;
} player;

static GAsyncQueue *to_scrobble;
static bool broken;

static void load_next(void);

/* ---- Playing -------------------------------------------------------------------------------- */

static gboolean on_track_end(gpointer data)
{
	(void)data;
	player.played++;
	g_async_queue_push(to_scrobble, GINT_TO_POINTER(player.number));
	load_next();
	return G_SOURCE_REMOVE;
}

static void play(int number)
{
	player.position = 0;
	printf("track %d\n", number);
	g_timeout_add(LENGTH_MS, on_track_end, NULL);
}

static gboolean show_position(gpointer data)
{
	(void)data;
	player.position++;
	return G_SOURCE_CONTINUE;
}

/* ---- Loading -------------------------------------------------------------------------------- */

/* Runs in a thread of its own. */
static void decode(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	(void)source;
	(void)data;
	for (int block = 0; block < 10; block++) {
		g_usleep(8000);
		if (g_cancellable_is_cancelled(cancellable))
			break;
	}
	if (!g_task_return_error_if_cancelled(task))
		g_task_return_boolean(task, TRUE);
}

static void on_loaded(GObject *source, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	(void)source;
	(void)data;
	g_task_propagate_boolean(G_TASK(result), &error);
	if (broken && g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_error_free(error);
		return;
	}
	player.loading = false;
	if (error) {
		g_error_free(error);
		load_next();
		return;
	}
	play(player.number);
}

/* The user has pressed the key. */
static gboolean skip_track(gpointer data)
{
	(void)data;
	printf("skip\n");
	g_cancellable_cancel(player.cancellable);
	load_next();
	return G_SOURCE_REMOVE;
}

static void load_next(void)
{
	GTask *task;

	if (player.loading)
		return; /* on_loaded goes on */
	if (player.number == TRACKS) {
		g_async_queue_push(to_scrobble, GINT_TO_POINTER(-1));
		g_main_loop_quit(player.loop);
		return;
	}
	player.loading = true;
	player.number++;
	g_cancellable_reset(player.cancellable);
	task = g_task_new(NULL, player.cancellable, on_loaded, NULL);
	g_task_set_name(task, "decode");
	g_task_run_in_thread(task, decode);
	g_object_unref(task);
	if (player.number == DULL_TRACK)
		g_timeout_add(20, skip_track, NULL);
}

static gboolean press_play(gpointer data)
{
	(void)data;
	load_next();
	return G_SOURCE_REMOVE;
}

/* ---- The service ---------------------------------------------------------------------------- */

static gpointer scrobble(gpointer data)
{
	int *count = data;

	while (GPOINTER_TO_INT(g_async_queue_pop(to_scrobble)) > 0) {
		g_usleep(10000); /* the service answers */
		++*count;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	GThread *scrobbler;
	int count = 0;
	guint display;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	to_scrobble = g_async_queue_new();
	player.loop = g_main_loop_new(NULL, FALSE);
	player.cancellable = g_cancellable_new();
	scrobbler = g_thread_new("scrobbler", scrobble, &count);
	display = g_timeout_add(100, show_position, NULL);
	g_idle_add(press_play, NULL);
	g_main_loop_run(player.loop);
	g_source_remove(display);
	g_thread_join(scrobbler);
	printf("%d played, %d scrobbled\n", player.played, count);
	g_object_unref(player.cancellable);
	g_main_loop_unref(player.loop);
	g_async_queue_unref(to_scrobble);
	return 0;
}
