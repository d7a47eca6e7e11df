/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: track_get blocks the main loop's thread until the loader has delivered the track. But the loader delivers by
 *     an idle callback (on_loaded) in the main context, which the blocked thread would have to run itself.
 *   culprit: track_get|on_loaded|on_tap
 *   victim: visitor|loader
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */

/* A museum's audio guide: visitors tap exhibits and hear a track, which is loaded from the archive once. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

struct track {
	int exhibit;
	gboolean is_loaded;
	char *text;
};

static GMutex tracks_lock;
static GCond track_loaded;
static GHashTable *tracks; /* by exhibit */
static GThreadPool *loader;
static gboolean broken;
static unsigned taps;

static void track_store(struct track *track, char *text)
{
	g_mutex_lock(&tracks_lock);
	track->text = text;
	track->is_loaded = TRUE;
	g_cond_broadcast(&track_loaded);
	g_mutex_unlock(&tracks_lock);
}

struct delivery {
	struct track *track;
	char *text;
};

static gboolean on_loaded(gpointer data)
{
	struct delivery *delivery = data;

	track_store(delivery->track, delivery->text);
	g_free(delivery);
	return G_SOURCE_REMOVE;
}

/* Runs in the loader's thread. */
static void load_track(gpointer data, gpointer unused)
{
	struct track *track = data;
	char *text = g_strdup_printf("track of exhibit %d", track->exhibit);

	(void)unused;
	g_usleep(3000);
	if (broken) {
		struct delivery *delivery = g_new(struct delivery, 1);

		delivery->track = track;
		delivery->text = text;
		g_idle_add(on_loaded, delivery);
	} else {
		track_store(track, text);
	}
}

static struct track *track_find(int exhibit)
{
	struct track *track = g_hash_table_lookup(tracks, GINT_TO_POINTER(exhibit));

	if (!track) {
		track = g_new0(struct track, 1);
		track->exhibit = exhibit;
		g_hash_table_insert(tracks, GINT_TO_POINTER(exhibit), track);
		g_thread_pool_push(loader, track, NULL);
	}
	return track;
}

/* Returns the text of a track; loads it if it has to. */
static const char *track_get(int exhibit)
{
	struct track *track = track_find(exhibit);

	g_mutex_lock(&tracks_lock);
	while (!track->is_loaded)
		g_cond_wait(&track_loaded, &tracks_lock);
	g_mutex_unlock(&tracks_lock);
	return track->text;
}

/* The most popular tracks are loaded when the museum opens. */
static void preload(void)
{
	for (int exhibit = 1; exhibit <= 3; exhibit++)
		track_find(exhibit);
}

static gboolean on_tap(gpointer data)
{
	static const int route[] = {1, 2, 1, 3, 2, 1, 3, 7, 2, 9};
	int exhibit = route[taps % G_N_ELEMENTS(route)];

	(void)data;
	taps++;
	printf("tap %u: %s\n", taps, track_get(exhibit));
	return G_SOURCE_CONTINUE;
}

/* Radio beacons tell the phones where they are. */
static gpointer send_beacons(gpointer data)
{
	unsigned sent = 0;

	(void)data;
	for (;;) {
		g_usleep(100000);
		if (++sent % 5 == 0)
			printf("%u beacons\n", sent);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setlinebuf(stdout);
	tracks = g_hash_table_new(NULL, NULL);
	loader = g_thread_pool_new(load_track, NULL, 1, TRUE, NULL);
	g_thread_new("beacons", send_beacons, NULL);
	preload();
	g_timeout_add(60, on_tap, NULL);
	g_main_loop_run(loop);
	return 0;
}
