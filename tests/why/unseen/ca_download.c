/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: The user cancels the sixth download. on_cancelled, the handler of its cancellable, finishes the download
 *     at once, and finish_download calls g_cancellable_disconnect, which waits until the handler has returned: the
 *     main loop's thread waits for itself.
 *   culprit: on_cancelled|finish_download|g_cancellable_disconnect
 *   victim: run_remote|update_disk_space|main loop
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A download manager: a queue of downloads in the main loop, and a remote control that adds and cancels them from a
 * thread of its own. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define DOWNLOADS 9
#define CHUNKS 12

struct download {
	unsigned number;
	unsigned chunks;
	GCancellable *cancellable;
	gulong handler;
	guint timer;
	gboolean ended;
};

struct command {
	const char *verb;
	unsigned number;
	gboolean done;
};

static gboolean hasty;
static GMainLoop *main_loop;
static struct download downloads[DOWNLOADS + 1];
static unsigned finished;
static GMutex answer_lock;
static GCond answered;

static void start_download(struct download *download);

/* Lets go of all that a download has. */
static void finish_download(struct download *download)
{
	if (download->timer) {
		g_source_remove(download->timer);
		download->timer = 0;
	}
	g_cancellable_disconnect(download->cancellable, download->handler);
	download->handler = 0;
	download->ended = TRUE;
	finished++;
	if (finished == DOWNLOADS)
		g_main_loop_quit(main_loop);
}

static gboolean finish_later(gpointer data)
{
	finish_download(data);
	return G_SOURCE_REMOVE;
}

static void on_cancelled(GCancellable *cancellable, gpointer data)
{
	struct download *download = data;

	(void)cancellable;
	if (download->ended)
		return;
	if (hasty)
		finish_download(download);
	else
		g_idle_add(finish_later, download);
}

static gboolean on_chunk(gpointer data)
{
	struct download *download = data;

	download->chunks++;
	if (download->chunks < CHUNKS)
		return G_SOURCE_CONTINUE;
	download->timer = 0;
	finish_download(download);
	return G_SOURCE_REMOVE;
}

static void start_download(struct download *download)
{
	download->cancellable = g_cancellable_new();
	download->handler = g_cancellable_connect(download->cancellable, G_CALLBACK(on_cancelled),
		download, NULL);
	download->timer = g_timeout_add(6, on_chunk, download);
}

static gboolean obey(gpointer data)
{
	struct command *command = data;
	struct download *download = &downloads[command->number];

	if (!strcmp(command->verb, "add"))
		start_download(download);
	else if (!download->ended)
		g_cancellable_cancel(download->cancellable);
	g_mutex_lock(&answer_lock);
	command->done = TRUE;
	g_cond_broadcast(&answered);
	g_mutex_unlock(&answer_lock);
	return G_SOURCE_REMOVE;
}

/* Has a command run in the main loop. */
static void command(const char *verb, unsigned number)
{
	struct command order = {verb, number, FALSE};

	g_idle_add(obey, &order);
	g_mutex_lock(&answer_lock);
	while (!order.done)
		g_cond_wait(&answered, &answer_lock);
	g_mutex_unlock(&answer_lock);
}

static gpointer run_remote(gpointer data)
{
	(void)data;
	for (unsigned number = 1; number <= DOWNLOADS; number++) {
		command("add", number);
		g_usleep(40 * 1000);
		if (number == 3)
			g_usleep(100 * 1000);
		if (number == 3 || number == 6) /* the third is complete by then */
			command("cancel", number);
		g_usleep(60 * 1000);
	}
	return NULL;
}

static gboolean update_disk_space(gpointer data)
{
	unsigned *updates = data;

	(*updates)++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	unsigned updates = 0;
	GThread *remote;
	guint timer;

	hasty = argc > 1 && !strcmp(argv[1], "broken");
	for (unsigned i = 1; i <= DOWNLOADS; i++)
		downloads[i].number = i;
	main_loop = g_main_loop_new(NULL, FALSE);
	timer = g_timeout_add(70, update_disk_space, &updates);
	remote = g_thread_new("remote", run_remote, NULL);
	g_main_loop_run(main_loop);
	g_thread_join(remote);
	g_source_remove(timer);
	for (unsigned i = 1; i <= DOWNLOADS; i++)
		g_object_unref(downloads[i].cancellable);
	g_main_loop_unref(main_loop);
	printf("%u downloads, %u updates\n", finished, updates);
	return 0;
}
