/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: on_compared gives up the task of a file that hasn't changed without returning it, so on_synced is never called
 *     for that file, and the round of the directory "photos" never ends.
 *   culprit: on_compared|sync_file_async|sync photos/cat
 *   victim: round_start|main\b
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* Keeps two directories alike: compares checksums in a thread, and copies what differs. */
#include <gio/gio.h>
#include <string.h>

struct entry {
	const char *path;
	guint local, remote;
};

struct round {
	const char *directory;
	struct entry *entries;
	guint count, open, number;
};

static gboolean fixed;

static struct entry photos[] = {
	{"photos/dog", 1, 2},
	{"photos/cat", 7, 7},
	{"photos/bird", 3, 4},
};
static struct entry notes[] = {
	{"notes/todo", 1, 0},
	{"notes/ideas", 5, 0},
};

static void round_start(struct round *round);

static gboolean copy_done(gpointer data)
{
	GTask *task = data;
	struct entry *entry = g_task_get_task_data(task);

	entry->remote = entry->local;
	g_task_return_boolean(task, TRUE);
	g_object_unref(task);
	return G_SOURCE_REMOVE;
}

static void checksum_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	struct entry *entry = data;

	(void)source;
	(void)cancellable;
	g_usleep(5000);
	g_task_return_boolean(task, entry->local == entry->remote);
}

static void on_compared(GObject *source, GAsyncResult *result, gpointer data)
{
	GTask *task = data;
	gboolean same = g_task_propagate_boolean(G_TASK(result), NULL);

	(void)source;
	if (same) {
		g_debug("nothing to do");
		if (fixed) {
			g_task_return_boolean(task, FALSE);
			g_object_unref(task);
		}
		return;
	}
	g_timeout_add(20, copy_done, task);
}

static void sync_file_async(struct entry *entry, GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);
	GTask *compare = g_task_new(NULL, NULL, on_compared, task);
	char *name = g_strconcat("sync ", entry->path, NULL);

	g_task_set_source_tag(task, sync_file_async);
	g_task_set_name(task, name);
	g_free(name);
	g_task_set_task_data(task, entry, NULL);
	g_task_set_task_data(compare, entry, NULL);
	g_task_set_name(compare, "checksum");
	g_task_run_in_thread(compare, checksum_thread);
	g_object_unref(compare);
}

static gboolean next_round(gpointer data)
{
	struct round *round = data;

	for (guint i = 0; i < round->count; i++)
		if (round->entries != photos || i != 1 || round->number % 4 == 0)
			round->entries[i].local++; /* the user has edited it */
	round_start(round);
	return G_SOURCE_REMOVE;
}

static void on_synced(GObject *source, GAsyncResult *result, gpointer data)
{
	struct round *round = data;

	(void)source;
	g_task_propagate_boolean(G_TASK(result), NULL);
	if (--round->open > 0)
		return;
	g_print("%s: round %u is done\n", round->directory, round->number);
	g_timeout_add(60, next_round, round);
}

static void round_start(struct round *round)
{
	round->number++;
	round->open = round->count;
	for (guint i = 0; i < round->count; i++)
		sync_file_async(&round->entries[i], on_synced, round);
}

static gboolean heartbeat(gpointer data)
{
	guint *beats = data;

	g_print("alive for %u s\n", ++*beats);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	struct round rounds[] = {
		{"photos", photos, G_N_ELEMENTS(photos), 0, 0},
		{"notes", notes, G_N_ELEMENTS(notes), 0, 0},
	};
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	guint beats = 0;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	photos[1].local = 8; /* it is copied in the first round */
	for (guint i = 0; i < G_N_ELEMENTS(rounds); i++)
		round_start(&rounds[i]);
	g_timeout_add(1000, heartbeat, &beats);
	g_main_loop_run(loop);
	return 0;
}
