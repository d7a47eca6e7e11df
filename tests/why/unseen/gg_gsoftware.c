/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_cancelled, the handler of "cancelled", calls g_cancellable_disconnect for itself; that waits until no
 *     handler runs any more, so g_cancellable_cancel in the thread ui never returns, and the download isn't told to stop.
 *   culprit: \bui\b|on_cancelled|press_cancel|g_cancellable
 *   victim: \bmain\b|download
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A software centre: a package is downloaded, and the user presses Cancel. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct download {
	GCancellable *cancellable;
	gulong handler;
	GMutex lock;
	GCond changed;
	unsigned chunks;
	bool stops;
};

static bool disconnects_later;

/* The user has cancelled: stops the download. */
static void on_cancelled(GCancellable *cancellable, gpointer data)
{
	struct download *download = data;

	if (!disconnects_later)
		g_cancellable_disconnect(cancellable, download->handler);
	g_mutex_lock(&download->lock);
	download->stops = true;
	g_cond_broadcast(&download->changed);
	g_mutex_unlock(&download->lock);
}

/* Gets a chunk every 20 ms. */
static gpointer run_download(gpointer data)
{
	struct download *download = data;
	gint64 next = g_get_monotonic_time();

	g_mutex_lock(&download->lock);
	while (!download->stops) {
		download->chunks++;
		g_cond_broadcast(&download->changed);
		/* Only few chunks are left in the mirror's queue; then the link stalls. */
		if (download->chunks == 5)
			while (!download->stops)
				g_cond_wait(&download->changed, &download->lock);
		next += 20 * G_TIME_SPAN_MILLISECOND;
		g_cond_wait_until(&download->changed, &download->lock, next);
	}
	g_mutex_unlock(&download->lock);
	if (disconnects_later)
		g_cancellable_disconnect(download->cancellable, download->handler);
	return NULL;
}

/* The user looks at the progress bar for a while, and gives up. */
static gpointer press_cancel(gpointer data)
{
	struct download *download = data;

	g_mutex_lock(&download->lock);
	while (download->chunks < 5)
		g_cond_wait(&download->changed, &download->lock);
	g_mutex_unlock(&download->lock);
	g_cancellable_cancel(download->cancellable);
	return NULL;
}

int main(int argc, char **argv)
{
	struct download download = {.stops = false};
	GThread *thread, *ui;

	disconnects_later = argc > 1 && strcmp(argv[1], "healthy") == 0;
	g_mutex_init(&download.lock);
	g_cond_init(&download.changed);
	download.cancellable = g_cancellable_new();
	download.handler = g_cancellable_connect(download.cancellable, G_CALLBACK(on_cancelled),
		&download, NULL);
	thread = g_thread_new("download", run_download, &download);
	ui = g_thread_new("ui", press_cancel, &download);
	g_thread_join(ui);
	g_thread_join(thread);
	printf("cancelled after %u chunks\n", download.chunks);
	g_object_unref(download.cancellable);
	return 0;
}
