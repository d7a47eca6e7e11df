/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: pump_jobs removed its source at the limit and kept pump_id, so nobody starts the pump again.
 *   culprit: pump_jobs
 *   victim: make album|album|save_progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A photo album: a scan finds photos, an idle source starts their thumbnails, a few at a time. */

#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define SCANS 8
#define PHOTOS 6
#define AT_ONCE 3

struct album {
	GMainLoop *loop;
	GTask *task;
	GQueue jobs;
	guint pump_id;
	guint autosave_id;
	int scans;
	int running, made, saves;
	gboolean resets_id;
};

struct photo {
	struct album *album;
	int number;
};

static void schedule_pump(struct album *album);

static void make_thumb(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	const struct photo *photo = data;
	guint32 sum = 0;

	(void)source;
	(void)cancellable;
	for (guint32 i = 0; i < 20000; i++)
		sum = sum * 31 + (i ^ (guint32)photo->number);
	g_usleep(2000 + photo->number % 3 * 700);
	g_task_return_int(task, sum >> 1);
}

static void finish_album(struct album *album)
{
	if (album->made == SCANS * PHOTOS)
		g_task_return_boolean(album->task, TRUE);
}

static void on_thumb_made(GObject *source, GAsyncResult *result, gpointer data)
{
	struct photo *photo = data;
	struct album *album = photo->album;
	GError *error = NULL;

	(void)source;
	g_task_propagate_int(G_TASK(result), &error);
	g_clear_error(&error);
	g_free(photo);
	album->running--;
	album->made++;
	schedule_pump(album);
	finish_album(album);
}

static void start_thumb(struct album *album, struct photo *photo)
{
	GTask *task = g_task_new(NULL, NULL, on_thumb_made, photo);

	g_task_set_name(task, "thumbnail");
	g_task_set_task_data(task, photo, NULL);
	g_task_run_in_thread(task, make_thumb);
	g_object_unref(task);
	album->running++;
}

/* Starts one job at each idle moment. */
static gboolean pump_jobs(gpointer data)
{
	struct album *album = data;

	if (album->running >= AT_ONCE) {
		/* The next thumbnail that is made schedules the pump. */
		if (album->resets_id)
			album->pump_id = 0;
		return G_SOURCE_REMOVE;
	}
	if (g_queue_is_empty(&album->jobs)) {
		album->pump_id = 0;
		return G_SOURCE_REMOVE;
	}
	start_thumb(album, g_queue_pop_head(&album->jobs));
	return G_SOURCE_CONTINUE;
}

static void schedule_pump(struct album *album)
{
	if (album->pump_id == 0 && !g_queue_is_empty(&album->jobs))
		album->pump_id = g_idle_add(pump_jobs, album);
}

/* The first folders have a photo or two, the later ones are full. */
static gboolean scan_folder(gpointer data)
{
	struct album *album = data;
	int count = album->scans < 4 ? 2 : 2 * PHOTOS - 2;

	for (int i = 0; i < count; i++) {
		struct photo *photo = g_new0(struct photo, 1);

		photo->album = album;
		photo->number = album->scans * PHOTOS + i;
		g_queue_push_tail(&album->jobs, photo);
	}
	schedule_pump(album);
	return ++album->scans < SCANS ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean save_progress(gpointer data)
{
	struct album *album = data;

	album->saves++;
	return G_SOURCE_CONTINUE;
}

static void on_album_made(GObject *source, GAsyncResult *result, gpointer data)
{
	struct album *album = data;

	(void)source;
	g_task_propagate_boolean(G_TASK(result), NULL);
	g_source_remove(album->autosave_id);
	g_main_loop_quit(album->loop);
}

int main(int argc, char **argv)
{
	struct album album = {.resets_id = argc < 2 || strcmp(argv[1], "broken") != 0};

	g_queue_init(&album.jobs);
	album.loop = g_main_loop_new(NULL, FALSE);
	album.task = g_task_new(NULL, NULL, on_album_made, &album);
	g_task_set_name(album.task, "make album");
	g_timeout_add(12, scan_folder, &album);
	album.autosave_id = g_timeout_add(20, save_progress, &album);
	g_main_loop_run(album.loop);

	g_object_unref(album.task);
	g_main_loop_unref(album.loop);
	printf("%d thumbnails of %d folders, %d saves\n", album.made, album.scans, album.saves);
	return 0;
}
