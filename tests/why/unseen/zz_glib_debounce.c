/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: document_save_async replaces the save that still waits for its delay, and never answers its GTask.
 *   culprit: document_save_async|save draft
 *   victim: close_document|on_saved|autosave
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <gio/gio.h>
#include <string.h>

/* An editor joins saves that follow each other quickly. It closes a document once all saves are answered. */

struct document {
	const char *name;
	GString *text;
	GTask *waiting; /* the save that begins after the delay */
	GSList *joined; /* older saves that it stands for */
	guint delay;
	int unanswered;
	int saves;
};

static GMainLoop *loop;
static gboolean broken;
static int open_documents;

static void write_document(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);

	(void)source, (void)cancellable;
	for (int i = 0; i < 200; i++)
		g_checksum_update(sum, (guchar *)data, (gssize)strlen(data));
	g_checksum_free(sum);
	g_usleep(1000);
	g_task_return_boolean(task, TRUE);
}

static gboolean begin_save(gpointer data)
{
	struct document *document = data;
	GTask *task = document->waiting;

	document->waiting = NULL;
	document->delay = 0;
	g_task_set_task_data(task, g_strdup(document->text->str), g_free);
	g_task_run_in_thread(task, write_document);
	g_object_unref(task);
	while (document->joined) {
		task = document->joined->data;
		document->joined = g_slist_delete_link(document->joined, document->joined);
		g_task_return_boolean(task, TRUE);
		g_object_unref(task);
	}
	return G_SOURCE_REMOVE;
}

static void document_save_async(struct document *document, GAsyncReadyCallback callback,
	gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);

	g_task_set_name(task, "save draft");
	if (document->delay) {
		g_source_remove(document->delay);
		if (!broken)
			document->joined = g_slist_prepend(document->joined, document->waiting);
	}
	document->waiting = task;
	document->delay = g_timeout_add(10, begin_save, document);
}

static gboolean close_document(gpointer data)
{
	struct document *document = data;

	if (document->unanswered > 0)
		return G_SOURCE_REMOVE; /* the last save closes it */
	g_string_free(document->text, TRUE);
	document->text = NULL;
	if (--open_documents == 0)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static void on_saved(GObject *source, GAsyncResult *result, gpointer data)
{
	struct document *document = data;

	(void)source;
	if (!g_task_propagate_boolean(G_TASK(result), NULL))
		g_warning("%s is not saved", document->name);
	document->unanswered--;
	if (document->saves == 12)
		close_document(document);
}

static gboolean press_save(gpointer data)
{
	struct document *document = data;

	document->unanswered++;
	document_save_async(document, on_saved, document);
	return G_SOURCE_REMOVE;
}

static gboolean autosave(gpointer data)
{
	struct document *document = data;

	if (document->saves == 12)
		return G_SOURCE_REMOVE;
	g_string_append_printf(document->text, "paragraph %d\n", ++document->saves);
	document->unanswered++;
	document_save_async(document, on_saved, document);
	/* The user of notes.md presses Ctrl+S just then. */
	if (document->saves == 7 && !strcmp(document->name, "notes.md"))
		g_idle_add(press_save, document);
	return document->saves < 12;
}

int main(int argc, char **argv)
{
	static struct document documents[] = {{.name = "notes.md"}, {.name = "todo.md"},
		{.name = "diary"}};

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = g_main_loop_new(NULL, FALSE);
	for (int i = 0; i < 3; i++) {
		documents[i].text = g_string_new("# ");
		open_documents++;
		g_timeout_add(15 + 2 * i, autosave, &documents[i]);
	}
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	return 0;
}
