/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: when a batch is full, flush_batch removes the timeout but leaves its number in flush_id. From then
 *     on add_to_batch takes the timeout for armed, and the last batch, which isn't full, is never flushed: its
 *     tasks never return.
 *   culprit: flush_batch|add_to_batch|flush_id|on_flush_time
 *   victim: on_uploaded|on_tick|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <gio/gio.h>
#include <glib.h>
#include <string.h>

/* Events are uploaded in batches: when there are four of them, or after 40 ms. */
enum {
	BATCH = 4,
	EVENTS = 17
};

static GMainLoop *loop;
static GPtrArray *batch;
static guint flush_id;
static int uploaded, added, batches, ticks;
static gboolean exact;

struct upload {
	GPtrArray *tasks;
	int number;
};

static void finish_upload(struct upload *upload)
{
	for (guint i = 0; i < upload->tasks->len; i++)
		g_task_return_int(upload->tasks->pdata[i], upload->number);
	g_ptr_array_unref(upload->tasks);
	g_free(upload);
}

/* The server's answer. */
static gboolean on_answer(gpointer data)
{
	finish_upload(data);
	return G_SOURCE_REMOVE;
}

static void send_batch(void)
{
	struct upload *upload = g_new0(struct upload, 1);

	upload->tasks = batch;
	upload->number = ++batches;
	batch = g_ptr_array_new_with_free_func(g_object_unref);
	g_timeout_add(8, on_answer, upload);
}

static void flush_batch(void)
{
	if (flush_id) {
		g_source_remove(flush_id);
		if (exact)
			flush_id = 0;
	}
	if (batch->len > 0)
		send_batch();
}

static gboolean on_flush_time(gpointer data)
{
	(void)data;
	flush_id = 0;
	flush_batch();
	return G_SOURCE_REMOVE;
}

static void add_to_batch(GTask *task)
{
	g_ptr_array_add(batch, task);
	if (batch->len == BATCH)
		flush_batch();
	else if (!flush_id)
		flush_id = g_timeout_add(40, on_flush_time, NULL);
}

static void upload_async(int number, GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);
	char *name = g_strdup_printf("upload of event %d", number);

	g_task_set_name(task, name);
	g_free(name);
	add_to_batch(task);
}

static gboolean on_burst(gpointer data);

static void on_uploaded(GObject *source, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	(void)source;
	(void)data;
	if (g_task_propagate_int(G_TASK(result), &error) < 0) {
		g_printerr("%s\n", error->message);
		g_error_free(error);
	}
	if (++uploaded == 2)
		g_timeout_add(20, on_burst, NULL);
	if (uploaded == EVENTS)
		g_main_loop_quit(loop);
}

static void add_event(void)
{
	upload_async(added++, on_uploaded, NULL);
}

/* The first two come alone, so that the time ends their batch; the others in quick succession. */
static gboolean on_event(gpointer data)
{
	(void)data;
	add_event();
	return added < 2 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean on_burst(gpointer data)
{
	(void)data;
	for (int i = 0; i < BATCH; i++)
		add_event();
	if (added + BATCH <= EVENTS)
		return G_SOURCE_CONTINUE;
	while (added < EVENTS)
		add_event();
	return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer data)
{
	(void)data;
	ticks++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	exact = argc < 2 || strcmp(argv[1], "broken") != 0;
	loop = g_main_loop_new(NULL, FALSE);
	batch = g_ptr_array_new_with_free_func(g_object_unref);
	g_timeout_add(5, on_event, NULL);
	g_timeout_add(100, on_tick, NULL);
	g_main_loop_run(loop);
	g_print("%d events in %d batches, %d ticks\n", uploaded, batches, ticks);
	g_ptr_array_unref(batch);
	g_main_loop_unref(loop);
	return 0;
}
