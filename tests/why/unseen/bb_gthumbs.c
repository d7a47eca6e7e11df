/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: scale_later uses g_idle_add, which attaches the idle source to the default context. The
 *     thumbnailer runs a context of its own, and main, which owns the default one, doesn't iterate it, as it
 *     waits for the thumbnail. So scale_picture never runs for large pictures.
 *   culprit: scale_later|scale_picture
 *   victim: main|thumbnailer|next_thumbnail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A file manager's thumbnailer: a thread with a GMainContext of its own decodes pictures. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

struct picture {
	const char *name;
	guint width;
	guint rows_decoded;
	gboolean is_scaled;
};

static struct picture pictures[] = {
	{"icon.png", 48, 0, FALSE},
	{"avatar.png", 128, 0, FALSE},
	{"beach.jpg", 4000, 0, FALSE},
	{"logo.svg", 64, 0, FALSE},
	{"mountain.jpg", 3000, 0, FALSE},
};

struct thumbnailer {
	GThread *thread;
	GMainContext *context;
	GMainLoop *loop;
	GAsyncQueue *finished;
	void (*call_later)(struct thumbnailer *, GSourceFunc, gpointer);
};

struct job {
	struct thumbnailer *thumbnailer;
	struct picture *picture;
};

static void scale_later(struct thumbnailer *thumbnailer, GSourceFunc function, gpointer data)
{
	(void)thumbnailer;
	g_idle_add(function, data);
}

static void scale_in_context(struct thumbnailer *thumbnailer, GSourceFunc function, gpointer data)
{
	GSource *source = g_idle_source_new();

	g_source_set_callback(source, function, data, NULL);
	g_source_attach(source, thumbnailer->context);
	g_source_unref(source);
}

static void finish_picture(struct job *job)
{
	g_async_queue_push(job->thumbnailer->finished, job->picture);
	g_free(job);
}

static gboolean scale_picture(gpointer data)
{
	struct job *job = data;

	g_usleep(4000);
	job->picture->is_scaled = TRUE;
	finish_picture(job);
	return G_SOURCE_REMOVE;
}

static gboolean decode_rows(gpointer data)
{
	struct job *job = data;

	job->picture->rows_decoded += 1000;
	if (job->picture->rows_decoded < job->picture->width)
		return G_SOURCE_CONTINUE;
	if (job->picture->width > 512)
		job->thumbnailer->call_later(job->thumbnailer, scale_picture, job);
	else
		finish_picture(job);
	return G_SOURCE_REMOVE;
}

static gboolean start_picture(gpointer data)
{
	struct job *job = data;
	GSource *source = g_timeout_source_new(5);

	g_source_set_callback(source, decode_rows, job, NULL);
	g_source_attach(source, job->thumbnailer->context);
	g_source_unref(source);
	return G_SOURCE_REMOVE;
}

static gpointer thumbnailer_run(gpointer data)
{
	struct thumbnailer *thumbnailer = data;

	g_main_context_push_thread_default(thumbnailer->context);
	g_main_loop_run(thumbnailer->loop);
	g_main_context_pop_thread_default(thumbnailer->context);
	return NULL;
}

static void thumbnailer_request(struct thumbnailer *thumbnailer, struct picture *picture)
{
	struct job *job = g_new0(struct job, 1);

	job->thumbnailer = thumbnailer;
	job->picture = picture;
	g_main_context_invoke_full(thumbnailer->context, G_PRIORITY_DEFAULT, start_picture, job,
		NULL);
}

static struct picture *next_thumbnail(struct thumbnailer *thumbnailer)
{
	return g_async_queue_pop(thumbnailer->finished);
}

static gboolean stop_loop(gpointer data)
{
	g_main_loop_quit(data);
	return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
	guint *left = data;

	return --*left > 0;
}

int main(int argc, char **argv)
{
	struct thumbnailer thumbnailer = {0};
	guint ticks = 10;

	if (argc != 2)
		return 2;
	thumbnailer.call_later = strcmp(argv[1], "healthy") == 0 ? scale_in_context : scale_later;
	thumbnailer.context = g_main_context_new();
	thumbnailer.loop = g_main_loop_new(thumbnailer.context, FALSE);
	thumbnailer.finished = g_async_queue_new();
	thumbnailer.thread = g_thread_new("thumbnailer", thumbnailer_run, &thumbnailer);

	/* The window is shown for a while before the folder is opened. */
	g_timeout_add(10, on_tick, &ticks);
	while (ticks > 0)
		g_main_context_iteration(NULL, TRUE);

	for (guint i = 0; i < G_N_ELEMENTS(pictures); i++) {
		struct picture *picture;

		thumbnailer_request(&thumbnailer, &pictures[i]);
		picture = next_thumbnail(&thumbnailer);
		printf("%s: %s\n", picture->name, picture->is_scaled ? "scaled" : "small");
	}
	g_main_context_invoke(thumbnailer.context, stop_loop, thumbnailer.loop);
	g_thread_join(thumbnailer.thread);
	g_async_queue_unref(thumbnailer.finished);
	g_main_loop_unref(thumbnailer.loop);
	g_main_context_unref(thumbnailer.context);
	return 0;
}
