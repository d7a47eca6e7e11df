/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: close_document, a callback of the main loop, joins the document's indexer thread. The indexer asks the main
 *     loop for a colour at that time (ask_main) and waits for its answer. The main loop can't give it, as it is blocked
 *     in close_document: both wait for each other.
 *   culprit: close_document
 *   victim: printer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An editor on GLib: each document has a thread that makes its index, and asks the main thread for what only that knows. */
#include <glib.h>
#include <string.h>

struct question {
	GMutex mutex;
	GCond answered;
	gboolean done;
	int colour;
};

struct document {
	int number;
	int index_ms; /* how long its index takes */
	int open_ms;  /* how long the user looks at it */
	GThread *indexer;
	gboolean closing;
	gboolean indexed;
};

static GMainLoop *loop;
static gboolean patient; /* close the document when its index is done */
static int next_document;
static int printed;
static gint printer_stop;

static gboolean open_document(gpointer data);

static gboolean answer_question(gpointer data)
{
	struct question *question = data;

	g_mutex_lock(&question->mutex);
	question->colour = 7;
	question->done = TRUE;
	g_cond_signal(&question->answered);
	g_mutex_unlock(&question->mutex);
	return G_SOURCE_REMOVE;
}

/* Called by other threads. */
static int ask_main(void)
{
	struct question question;

	memset(&question, 0, sizeof(question));
	g_mutex_init(&question.mutex);
	g_cond_init(&question.answered);
	g_idle_add(answer_question, &question);
	g_mutex_lock(&question.mutex);
	while (!question.done)
		g_cond_wait(&question.answered, &question.mutex);
	g_mutex_unlock(&question.mutex);
	g_cond_clear(&question.answered);
	g_mutex_clear(&question.mutex);
	return question.colour;
}

static void document_gone(struct document *document)
{
	g_thread_join(document->indexer);
	g_print("document %d closed\n", document->number);
	g_free(document);
	g_timeout_add(10, open_document, NULL);
}

static gboolean index_done(gpointer data)
{
	struct document *document = data;

	document->indexed = TRUE;
	if (document->closing)
		document_gone(document);
	return G_SOURCE_REMOVE;
}

static gpointer make_index(gpointer data)
{
	struct document *document = data;
	int colour;

	g_usleep((gulong)document->index_ms * 1000);
	colour = ask_main();
	g_usleep((gulong)colour * 100);
	if (patient)
		g_idle_add(index_done, document);
	return NULL;
}

/* The user has closed the tab. */
static gboolean close_document(gpointer data)
{
	struct document *document = data;

	if (patient && !document->indexed) {
		document->closing = TRUE;
		return G_SOURCE_REMOVE;
	}
	document_gone(document);
	return G_SOURCE_REMOVE;
}

static gboolean open_document(gpointer data)
{
	static const int open_ms[] = {80, 60, 90, 70, 80, 30, 60};
	static const int index_ms[] = {20, 10, 30, 20, 15, 120, 20};
	struct document *document;

	(void)data;
	if (next_document == (int)G_N_ELEMENTS(open_ms)) {
		g_main_loop_quit(loop);
		return G_SOURCE_REMOVE;
	}
	document = g_new0(struct document, 1);
	document->number = next_document + 1;
	document->open_ms = open_ms[next_document];
	document->index_ms = index_ms[next_document];
	next_document++;
	document->indexer = g_thread_new("indexer", make_index, document);
	g_timeout_add((guint)document->open_ms, close_document, document);
	return G_SOURCE_REMOVE;
}

static gboolean page_printed(gpointer data)
{
	(void)data;
	printed++;
	return G_SOURCE_REMOVE;
}

/* Prints in the background, and tells the main loop of each page. */
static gpointer run_printer(gpointer data)
{
	while (!g_atomic_int_get(&printer_stop)) {
		g_usleep(100000);
		g_idle_add(page_printed, NULL);
	}
	return data;
}

int main(int argc, char **argv)
{
	GThread *printer;

	patient = argc > 1 && !strcmp(argv[1], "healthy");
	loop = g_main_loop_new(NULL, FALSE);
	printer = g_thread_new("printer", run_printer, NULL);
	g_timeout_add(10, open_document, NULL);
	g_main_loop_run(loop);
	g_atomic_int_set(&printer_stop, 1);
	g_thread_join(printer);
	g_print("%d pages printed\n", printed);
	g_main_loop_unref(loop);
	return 0;
}
