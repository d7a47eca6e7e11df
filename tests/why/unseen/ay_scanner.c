/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: drain_queue removes its idle source when enough scans are running, but forgets to set drain_id to
 *     0 on that way; so when a scan ends, ensure_drain believes that the source is still there and adds
 *     none, and the scans that are left in the queue never begin
 *   culprit: idle drain|drain_queue|ensure_drain
 *   victim: scan /\S+|library
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A media scanner on the GLib main loop: an idle source begins scans, at most three at a time. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>

#define MAX_RUNNING 3

struct scan {
	char *path;
	guint ms;
	thrum_task task, timer;
};

struct scanner {
	GMainLoop *loop;
	GQueue queue;
	guint drain_id;
	thrum_task drain_task;
	int running, added, finished;
	bool all_added;
};

static const char *const first_folders[] = {"/music/a", "/music/b"};
static const char *const more_folders[] = {"/photos/2021", "/photos/2022", "/photos/2023",
	"/photos/2024", "/photos/2025", "/video"};
static gboolean forget_always;

static void ensure_drain(struct scanner *scanner);

static void check_end(struct scanner *scanner)
{
	if (scanner->all_added && scanner->finished == scanner->added)
		g_main_loop_quit(scanner->loop);
}

static gboolean on_scanned(gpointer data)
{
	struct scanner *scanner = g_object_get_data(data, "scanner");
	struct scan *scan = g_object_get_data(data, "scan");

	thrum_task_resolve(scan->timer);
	THRUM_RUN (scan->task) {
		thrum_task_read(scan->task, scan->timer);
		thrum_task_resolve(scan->task);
	}
	g_free(scan->path);
	g_free(scan);
	scanner->running--;
	scanner->finished++;
	ensure_drain(scanner);
	check_end(scanner);
	return G_SOURCE_REMOVE;
}

/* The index answers when it has looked at the folder. */
static void scan_begin(struct scanner *scanner, struct scan *scan)
{
	GObject *context = g_object_new(G_TYPE_OBJECT, NULL);

	g_object_set_data(context, "scanner", scanner);
	g_object_set_data(context, "scan", scan);
	THRUM_RUN (scan->task) {
		scan->timer = thrum_task_create(THRUM_KIND_TIMER, "index");
		thrum_task_due(scan->timer, scan->ms * G_GINT64_CONSTANT(1000000));
		thrum_task_wait(scan->task, scan->timer);
	}
	scanner->running++;
	g_timeout_add_full(G_PRIORITY_DEFAULT, scan->ms, on_scanned, context, g_object_unref);
}

static gboolean drain_queue(gpointer data)
{
	struct scanner *scanner = data;
	struct scan *scan;

	if (scanner->running >= MAX_RUNNING) {
		/* A scan that ends begins the next one. */
		if (forget_always)
			scanner->drain_id = 0;
		thrum_task_resolve(scanner->drain_task);
		return G_SOURCE_REMOVE;
	}
	scan = g_queue_pop_head(&scanner->queue);
	if (!scan) {
		scanner->drain_id = 0;
		thrum_task_resolve(scanner->drain_task);
		return G_SOURCE_REMOVE;
	}
	scan_begin(scanner, scan);
	return G_SOURCE_CONTINUE;
}

static void ensure_drain(struct scanner *scanner)
{
	if (scanner->drain_id || g_queue_is_empty(&scanner->queue))
		return;
	scanner->drain_task = thrum_task_create(THRUM_KIND_HANDLE, "idle drain");
	scanner->drain_id = g_idle_add(drain_queue, scanner);
}

static void scanner_add(struct scanner *scanner, const char *path, guint ms)
{
	struct scan *scan = g_new0(struct scan, 1);

	scan->path = g_strdup(path);
	scan->ms = ms;
	scan->task = thrum_task_createf(THRUM_KIND_TASK, "scan %s", path);
	thrum_task_should_resolve(scan->task);
	thrum_task_ready(scan->task);
	scanner->added++;
	g_queue_push_tail(&scanner->queue, scan);
	ensure_drain(scanner);
}

/* The user opens the library. */
static gboolean on_open(gpointer data)
{
	for (guint i = 0; i < G_N_ELEMENTS(first_folders); i++)
		scanner_add(data, first_folders[i], 15 + 10 * i);
	return G_SOURCE_REMOVE;
}

/* A disk is plugged in. */
static gboolean on_disk(gpointer data)
{
	struct scanner *scanner = data;

	for (guint i = 0; i < G_N_ELEMENTS(more_folders); i++)
		scanner_add(scanner, more_folders[i], 20 + 5 * (i % 3));
	scanner->all_added = true;
	return G_SOURCE_REMOVE;
}

static gboolean on_status(gpointer data)
{
	struct scanner *scanner = data;

	g_printerr("%d of %d folders\n", scanner->finished, scanner->added);
	return G_SOURCE_CONTINUE;
}

static gint poll_and_tell(GPollFD *fds, guint count, gint timeout)
{
	gint ready;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	ready = g_poll(fds, count, timeout);
	thrum_resume();
	return ready;
}

int main(int argc, char **argv)
{
	struct scanner scanner = {.queue = G_QUEUE_INIT};
	guint status;

	forget_always = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	scanner.loop = g_main_loop_new(NULL, FALSE);
	g_main_context_set_poll_func(NULL, poll_and_tell);
	g_timeout_add(5, on_open, &scanner);
	g_timeout_add(60, on_disk, &scanner);
	status = g_timeout_add(250, on_status, &scanner);
	g_main_loop_run(scanner.loop);
	thrum_stop();
	g_source_remove(status);
	g_print("%d folders\n", scanner.finished);
	g_main_loop_unref(scanner.loop);
	return 0;
}
