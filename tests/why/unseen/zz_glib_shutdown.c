/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stop_indexers joins the indexers in the main loop, but one of them asks the main loop in ask_user.
 *   culprit: stop_indexers
 *   victim: ask_user|index_folder|indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <glib.h>
#include <string.h>

/*
 * A search tool indexes folders in threads. If a file has no known type they ask the user, in the main loop.
 */

enum {
	INDEXERS = 3,
	FILES = 90
};

struct question {
	char name[32];
	GMutex mutex;
	GCond answered;
	gboolean has_answer, is_text;
};

static GMainLoop *loop;
static GThread *indexers[INDEXERS];
static gboolean broken;
static gint stopping, indexed, done_indexers;

static gboolean show_question(gpointer data)
{
	struct question *question = data;

	g_mutex_lock(&question->mutex);
	question->is_text = question->name[strlen(question->name) - 1] != '0';
	question->has_answer = TRUE;
	g_cond_signal(&question->answered);
	g_mutex_unlock(&question->mutex);
	return G_SOURCE_REMOVE;
}

static gboolean ask_user(const char *name)
{
	struct question question = {.has_answer = FALSE};

	g_strlcpy(question.name, name, sizeof(question.name));
	g_mutex_init(&question.mutex);
	g_cond_init(&question.answered);
	g_idle_add(show_question, &question);
	g_mutex_lock(&question.mutex);
	while (!question.has_answer)
		g_cond_wait(&question.answered, &question.mutex);
	g_mutex_unlock(&question.mutex);
	g_cond_clear(&question.answered);
	g_mutex_clear(&question.mutex);
	return question.is_text;
}

static void index_text(const char *name)
{
	GHashTable *words = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (int i = 0; i < 500; i++)
		g_hash_table_add(words, g_strdup_printf("%s-%d", name, i % 77));
	g_hash_table_unref(words);
	g_usleep(1500);
}

static gboolean indexer_ended(gpointer data)
{
	(void)data;
	if (++done_indexers == INDEXERS)
		g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer index_folder(gpointer data)
{
	char name[32];

	for (int i = 0; i < FILES && !g_atomic_int_get(&stopping); i++) {
		g_snprintf(name, sizeof(name), "%s/%d", (const char *)data, i);
		if (i % 3 == 2 && !ask_user(name))
			continue;
		index_text(name);
		g_atomic_int_inc(&indexed);
	}
	/* The last file is always asked for: it tells the user that the folder is done. */
	ask_user(data);
	g_idle_add(indexer_ended, NULL);
	return NULL;
}

static void stop_indexers(void)
{
	g_atomic_int_set(&stopping, TRUE);
	for (int i = 0; i < INDEXERS; i++) {
		if (indexers[i])
			g_thread_join(indexers[i]);
		indexers[i] = NULL;
	}
}

static gboolean on_window_closed(gpointer data)
{
	(void)data;
	if (broken) {
		stop_indexers();
		g_main_loop_quit(loop);
	} else {
		g_atomic_int_set(&stopping, TRUE); /* the last indexer ends the loop */
	}
	return G_SOURCE_REMOVE;
}

static gboolean show_progress(gpointer data)
{
	(void)data;
	(void)g_atomic_int_get(&indexed);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	static const char *const folders[INDEXERS] = {"mail", "notes", "papers"};

	broken = argc > 1 && !strcmp(argv[1], "broken");
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(10, show_progress, NULL);
	g_timeout_add(100, on_window_closed, NULL);
	for (int i = 0; i < INDEXERS; i++)
		indexers[i] = g_thread_new("indexer", index_folder, (gpointer)folders[i]);
	g_main_loop_run(loop);
	stop_indexers();
	g_main_loop_unref(loop);
	return 0;
}
