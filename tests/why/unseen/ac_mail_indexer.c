/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: schedule_commit adds the timer of the commit to the default main context. No thread runs that
 *     context, as the main thread joins the indexer, so commit_index is never called and the indexer's
 *     loop never quits.
 *   culprit: schedule_commit|commit_index
 *   victim: indexer|run_indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define MESSAGES 48
#define BATCH 4

struct indexer {
	GMainContext *context;
	GMainLoop *loop;
	GHashTable *words;
	unsigned indexed, progress;
	gboolean own_context; /* the commit's timer belongs to the indexer's own context */
	gboolean committed;
};

static const char *const subjects[] = {
	"minutes of the meeting on monday",
	"your invoice is attached",
	"re: re: build is red again",
	"lunch at noon",
	"new printer on the second floor",
	"call for papers and posters",
};

static void add_words(struct indexer *indexer, const char *text)
{
	gchar **words = g_strsplit(text, " ", -1);

	for (gchar **word = words; *word; word++) {
		gpointer count = g_hash_table_lookup(indexer->words, *word);

		g_hash_table_replace(indexer->words, g_strdup(*word),
			GUINT_TO_POINTER(GPOINTER_TO_UINT(count) + 1));
	}
	g_strfreev(words);
}

static gboolean commit_index(gpointer data)
{
	struct indexer *indexer = data;

	indexer->committed = TRUE;
	printf("committed %u messages, %u words\n", indexer->indexed,
		g_hash_table_size(indexer->words));
	g_main_loop_quit(indexer->loop);
	return G_SOURCE_REMOVE;
}

/* Commits some milliseconds later, so that more batches may join. */
static void schedule_commit(struct indexer *indexer)
{
	GSource *timer;

	if (!indexer->own_context) {
		g_timeout_add(10, commit_index, indexer);
		return;
	}
	timer = g_timeout_source_new(10);
	g_source_set_callback(timer, commit_index, indexer, NULL);
	g_source_attach(timer, indexer->context);
	g_source_unref(timer);
}

static gboolean index_batch(gpointer data)
{
	struct indexer *indexer = data;

	for (unsigned i = 0; i < BATCH && indexer->indexed < MESSAGES; i++, indexer->indexed++)
		add_words(indexer, subjects[indexer->indexed % G_N_ELEMENTS(subjects)]);
	if (indexer->indexed < MESSAGES)
		return G_SOURCE_CONTINUE;
	schedule_commit(indexer);
	return G_SOURCE_REMOVE;
}

static gboolean show_progress(gpointer data)
{
	struct indexer *indexer = data;

	indexer->progress = indexer->indexed * 100 / MESSAGES;
	return G_SOURCE_CONTINUE;
}

static void attach_timer(struct indexer *indexer, guint period, GSourceFunc function)
{
	GSource *timer = g_timeout_source_new(period);

	g_source_set_callback(timer, function, indexer, NULL);
	g_source_attach(timer, indexer->context);
	g_source_unref(timer);
}

static gpointer run_indexer(gpointer data)
{
	struct indexer *indexer = data;

	g_main_context_push_thread_default(indexer->context);
	attach_timer(indexer, 3, index_batch);
	attach_timer(indexer, 15, show_progress);
	g_main_loop_run(indexer->loop);
	g_main_context_pop_thread_default(indexer->context);
	return NULL;
}

int main(int argc, char **argv)
{
	struct indexer indexer = {0};
	GThread *thread;

	indexer.own_context = argc > 1 && !strcmp(argv[1], "healthy");
	indexer.context = g_main_context_new();
	indexer.loop = g_main_loop_new(indexer.context, FALSE);
	indexer.words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	thread = g_thread_new("indexer", run_indexer, &indexer);
	/* The command line tool has nothing else to do. */
	g_thread_join(thread);
	g_hash_table_destroy(indexer.words);
	g_main_loop_unref(indexer.loop);
	g_main_context_unref(indexer.context);
	return indexer.committed ? 0 : 1;
}
