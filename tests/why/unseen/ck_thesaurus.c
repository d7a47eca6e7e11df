/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: The first lookup in a language loads its index; later ones join the index's list of waiting lookups. When
 *     the file of the Cornish index can't be read, index_loaded returns the error only to the lookup that began the
 *     loading. The two others stay in the list, and the check of their document never ends.
 *   culprit: index_loaded|lookup kw
 *   victim: check_document|document_part|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A helper of a word processor: it looks up the words of documents in an index for each language. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WORDS = 3
};

struct index {
	const char *language;
	char *text;
	bool loading;
	GTask *starter;
	GQueue waiting; /* GTask */
};

struct document {
	const char *title;
	const char *language;
	const char *words[WORDS];
	unsigned pending;
	unsigned unknown;
};

static struct index indices[] = {
	{.language = "en"},
	{.language = "de"},
	{.language = "kw"},
};
static struct document documents[] = {
	{"minutes", "en", {"agenda", "quorum", "motion"}, 0, 0},
	{"brief", "de", {"gruss", "anlage", "frist"}, 0, 0},
	{"memo", "en", {"budget", "motion", "quorum"}, 0, 0},
	{"song", "kw", {"mor", "lowen", "kernow"}, 0, 0},
	{"invoice", "en", {"budget", "agenda", "total"}, 0, 0},
	{"vertrag", "de", {"frist", "anlage", "haftung"}, 0, 0},
};
static GMainLoop *loop;
static char *folder;
static bool tell_all;
static unsigned next_document;
static unsigned open_documents = G_N_ELEMENTS(documents);

static struct index *index_of(const char *language)
{
	for (size_t i = 0; i < G_N_ELEMENTS(indices); i++)
		if (!strcmp(indices[i].language, language))
			return &indices[i];
	abort();
}

static void answer(GTask *task, const struct index *index)
{
	g_task_return_boolean(task, strstr(index->text, g_task_get_task_data(task)) != NULL);
	g_object_unref(task);
}

static void index_loaded(GObject *source, GAsyncResult *result, gpointer data)
{
	struct index *index = data;
	GTask *starter = index->starter;
	GError *error = NULL;
	GTask *task;

	index->loading = false;
	index->starter = NULL;
	if (!g_file_load_contents_finish(G_FILE(source), result, &index->text, NULL, NULL,
		    &error)) {
		if (tell_all)
			while ((task = g_queue_pop_head(&index->waiting))) {
				g_task_return_error(task, g_error_copy(error));
				g_object_unref(task);
			}
		g_task_return_error(starter, error);
		g_object_unref(starter);
		return;
	}
	answer(starter, index);
	while ((task = g_queue_pop_head(&index->waiting)))
		answer(task, index);
}

static void lookup_async(const char *language, const char *word, GAsyncReadyCallback callback,
	gpointer data)
{
	struct index *index = index_of(language);
	GTask *task = g_task_new(NULL, NULL, callback, data);
	char *name = g_strdup_printf("lookup %s:%s", language, word);
	char *path;
	GFile *file;

	g_task_set_name(task, name);
	g_task_set_task_data(task, g_strdup(word), g_free);
	g_free(name);
	if (index->text) {
		answer(task, index);
		return;
	}
	if (index->loading) {
		g_queue_push_tail(&index->waiting, task);
		return;
	}
	index->loading = true;
	index->starter = task;
	path = g_strdup_printf("%s/%s.index", folder, language);
	file = g_file_new_for_path(path);
	g_file_load_contents_async(file, NULL, index_loaded, index);
	g_object_unref(file);
	g_free(path);
}

static void document_part(GObject *source, GAsyncResult *result, gpointer data)
{
	struct document *document = data;
	GError *error = NULL;

	(void)source;
	if (!g_task_propagate_boolean(G_TASK(result), &error))
		document->unknown++;
	g_clear_error(&error);
	if (--document->pending > 0)
		return;
	printf("%s: %u unknown words\n", document->title, document->unknown);
	if (--open_documents == 0)
		g_main_loop_quit(loop);
}

static gboolean check_document(gpointer data)
{
	struct document *document = &documents[next_document++];

	(void)data;
	document->pending = WORDS;
	for (int i = 0; i < WORDS; i++)
		lookup_async(document->language, document->words[i], document_part, document);
	return next_document < G_N_ELEMENTS(documents) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void write_index(const char *language, const char *text)
{
	char *path = g_strdup_printf("%s/%s.index", folder, language);

	g_file_set_contents(path, text, -1, NULL);
	g_free(path);
}

static void remove_index(const char *language)
{
	char *path = g_strdup_printf("%s/%s.index", folder, language);

	remove(path);
	g_free(path);
}

static void remove_folder(void)
{
	remove_index("en");
	remove_index("de");
	remove(folder);
}

/* The word processor asks from time to time whether the helper is still there. */
static gboolean on_ping(gpointer data)
{
	++*(unsigned *)data;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	unsigned pings = 0;

	tell_all = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	folder = g_dir_make_tmp("thesaurus-XXXXXX", NULL);
	if (!folder)
		return 1;
	write_index("en", "agenda budget motion quorum total");
	write_index("de", "anlage frist gruss haftung");
	loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(40, check_document, NULL);
	g_timeout_add(100, on_ping, &pings);
	g_main_loop_run(loop);
	remove_folder();
	return 0;
}
