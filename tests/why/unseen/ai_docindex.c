/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: schedule_rebuild takes the path of a folder as it comes as the key of the folder's timer. If the changes of one
 *     folder come with different spellings (docs/./api), each of them has a timer of its own, and the index is rebuilt
 *     six times (rebuild_index) instead of once.
 *   culprit: schedule_rebuild|start_rebuild|rebuild_index
 *   victim: \bmain\b|play_change|search_index
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* docindex: keeps the index of a folder of documents up to date. It waits until a folder is quiet, and rebuilds its
 * index in a thread. */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define QUIET_MS 250
#define REBUILD_MS 70
#define CHANGES 6

struct change {
	guint after_ms; /* since the change before */
	const char *path;
};

struct index {
	GMainLoop *loop;
	GHashTable *timers; /* by folder: of folders that have changed and aren't quiet yet */
	GMutex index_lock;
	guint rebuilding, rebuilds, documents;
	const struct change *changes;
	guint next_change;
	gboolean all_played;
};

/* A folder that waits until it is quiet. */
struct quiet {
	struct index *index;
	char *folder;
	guint timer;
};

static void quiet_free(gpointer data)
{
	struct quiet *quiet = data;

	if (quiet->timer != 0)
		g_source_remove(quiet->timer);
	g_free(quiet->folder);
	g_free(quiet);
}

__attribute__((noinline)) void quit_if_idle(struct index *index)
{
	if (index->all_played && index->rebuilding == 0 && g_hash_table_size(index->timers) == 0)
		g_main_loop_quit(index->loop);
}

/* ---- Rebuilding ---- */

/* Reads the documents of the folder. In a thread of GLib's. */
__attribute__((noinline)) void rebuild_index(GTask *task, gpointer source, gpointer data,
	GCancellable *cancellable)
{
	struct index *index = data;

	(void)source, (void)cancellable;
	g_mutex_lock(&index->index_lock);
	g_usleep(REBUILD_MS * 1000);
	index->documents = CHANGES;
	index->rebuilds++;
	g_mutex_unlock(&index->index_lock);
	g_task_return_boolean(task, TRUE);
}

void on_rebuilt(GObject *source, GAsyncResult *result, gpointer data)
{
	struct index *index = data;
	GError *error = NULL;

	(void)source;
	if (!g_task_propagate_boolean(G_TASK(result), &error)) {
		fprintf(stderr, "docindex: %s\n", error->message);
		g_clear_error(&error);
	}
	index->rebuilding--;
	quit_if_idle(index);
}

/* The folder has been quiet for long enough. */
gboolean start_rebuild(gpointer data)
{
	struct quiet *quiet = data;
	struct index *index = quiet->index;
	GTask *task = g_task_new(NULL, NULL, on_rebuilt, index);

	quiet->timer = 0;
	g_hash_table_remove(index->timers, quiet->folder);
	index->rebuilding++;
	g_task_set_task_data(task, index, NULL);
	g_task_run_in_thread(task, rebuild_index);
	g_object_unref(task);
	return G_SOURCE_REMOVE;
}

/* Says that a document has changed. The folder's timer begins again. */
__attribute__((noinline)) void schedule_rebuild(struct index *index, const char *path)
{
	char *folder = g_path_get_dirname(path);
	struct quiet *quiet = g_hash_table_lookup(index->timers, folder);

	if (quiet) {
		g_free(folder);
		g_source_remove(quiet->timer);
	} else {
		quiet = g_new0(struct quiet, 1);
		quiet->index = index;
		quiet->folder = folder;
		g_hash_table_insert(index->timers, quiet->folder, quiet);
	}
	quiet->timer = g_timeout_add(QUIET_MS, start_rebuild, quiet);
}

/* ---- Changes ---- */

/* Plays the next change, as if an editor had saved a document. */
gboolean play_change(gpointer data)
{
	struct index *index = data;
	const struct change *change = &index->changes[index->next_change++];

	schedule_rebuild(index, change->path);
	if (index->next_change == CHANGES)
		index->all_played = TRUE;
	else
		g_timeout_add(index->changes[index->next_change].after_ms, play_change, index);
	return G_SOURCE_REMOVE;
}

__attribute__((noinline)) guint search_index(struct index *index)
{
	guint found;

	g_mutex_lock(&index->index_lock);
	found = index->documents;
	g_mutex_unlock(&index->index_lock);
	return found;
}

static const struct change from_one_editor[CHANGES] = {
	{20, "docs/api/open.md"},
	{20, "docs/api/close.md"},
	{20, "docs/api/read.md"},
	{20, "docs/api/write.md"},
	{20, "docs/api/seek.md"},
	{20, "docs/api/sync.md"},
};

/* The same documents, saved by a script that makes its paths from parts. */
static const struct change from_script[CHANGES] = {
	{20, "docs/api/open.md"},
	{20, "docs/./api/close.md"},
	{20, "./docs/api/read.md"},
	{20, "docs//api/write.md"},
	{20, "docs/api/../api/seek.md"},
	{20, "docs/api/./sync.md"},
};

int main(int argc, char **argv)
{
	struct index index = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: docindex broken|healthy\n");
		return 2;
	}
	index.changes = strcmp(argv[1], "broken") == 0 ? from_script : from_one_editor;
	index.loop = g_main_loop_new(NULL, FALSE);
	index.timers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, quiet_free);
	g_mutex_init(&index.index_lock);
	g_timeout_add(index.changes[0].after_ms, play_change, &index);
	g_main_loop_run(index.loop);
	printf("%u documents, %u rebuilds\n", search_index(&index), index.rebuilds);
	g_mutex_clear(&index.index_lock);
	g_hash_table_unref(index.timers);
	g_main_loop_unref(index.loop);
	return 0;
}
