/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_indexer calls g_timeout_add, which attaches the timer to the default context, but the thread runs the loop of a context of its own; nobody runs the default context, as main joins the thread.
 *   culprit: indexer|start_ticks|on_tick
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A desktop tool that indexes documents in a thread with a main loop of its own: a timer takes one document at
 * each tick, so that the disk stays usable.
 */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

struct indexer {
	GMainContext *context;
	GMainLoop *loop;
	GQueue documents;
	GHashTable *words;
};

static bool broken;

static void index_document(struct indexer *indexer, const char *text)
{
	char **words = g_strsplit(text, " ", -1);

	for (char **word = words; *word; word++)
		g_hash_table_add(indexer->words, g_strdup(*word));
	g_strfreev(words);
}

/* Takes a document, and ends the loop after the last one. */
static gboolean on_tick(gpointer data)
{
	struct indexer *indexer = data;
	char *text = g_queue_pop_head(&indexer->documents);

	if (!text) {
		g_main_loop_quit(indexer->loop);
		return G_SOURCE_REMOVE;
	}
	index_document(indexer, text);
	g_free(text);
	return G_SOURCE_CONTINUE;
}

static void start_ticks(struct indexer *indexer)
{
	GSource *timer;

	if (broken) {
		g_timeout_add(15, on_tick, indexer);
		return;
	}
	timer = g_timeout_source_new(15);
	g_source_set_callback(timer, on_tick, indexer, NULL);
	g_source_attach(timer, indexer->context);
	g_source_unref(timer);
}

static gpointer run_indexer(gpointer data)
{
	struct indexer *indexer = data;

	g_main_context_push_thread_default(indexer->context);
	start_ticks(indexer);
	g_main_loop_run(indexer->loop);
	g_main_context_pop_thread_default(indexer->context);
	return NULL;
}

static void add_documents(struct indexer *indexer)
{
	static const char *const texts[] = {"warp weft", "the loom has a heddle",
		"a reed beats the weft", "thrums are warp ends", "the shuttle flies"};

	for (unsigned i = 0; i < 4 * G_N_ELEMENTS(texts); i++)
		g_queue_push_tail(&indexer->documents, g_strdup(texts[i % G_N_ELEMENTS(texts)]));
}

int main(int argc, char **argv)
{
	struct indexer indexer = {.documents = G_QUEUE_INIT};
	GThread *thread;

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	indexer.context = g_main_context_new();
	indexer.loop = g_main_loop_new(indexer.context, FALSE);
	indexer.words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	add_documents(&indexer);
	thread = g_thread_new("indexer", run_indexer, &indexer);
	g_thread_join(thread);
	g_print("%u words\n", g_hash_table_size(indexer.words));
	g_hash_table_destroy(indexer.words);
	g_main_loop_unref(indexer.loop);
	g_main_context_unref(indexer.context);
	return 0;
}
