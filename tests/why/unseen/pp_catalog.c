/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: For a duplicate drain_records removes its source but leaves drain_id set, so nobody adds it again.
 *   culprit: drain_records
 *   victim: submit_record|import|stored
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A catalogue of records. Importer threads hand them to the main loop, which alone changes the table. */

#include <glib.h>
#include <stdio.h>
#include <string.h>

#define IMPORTERS 3
#define RECORDS 60
#define AT_ONCE 4

struct record {
	char *isbn;
	gboolean is_done, is_new;
};

struct importer {
	const char *name;
	guint first;
	guint added;
	GThread *thread;
};

static GMainLoop *loop;
static GHashTable *catalog;
static gboolean goes_on;

static GMutex lock;
static GCond stored;
static GQueue inbox = G_QUEUE_INIT;
static guint drain_id; /* the idle source that empties the inbox, or 0 */
static guint importers_left = IMPORTERS;

/* The caller holds the lock. */
static void store(struct record *record)
{
	record->is_new = g_hash_table_add(catalog, g_strdup(record->isbn));
	record->is_done = TRUE;
	g_cond_broadcast(&stored);
}

/* The caller holds the lock. The table stays as it is, but the duplicate goes to the log. */
static void refuse(struct record *record)
{
	g_printerr("%s is in the catalogue already\n", record->isbn);
	record->is_done = TRUE;
	g_cond_broadcast(&stored);
}

static gboolean drain_records(gpointer data)
{
	struct record *record;
	gboolean more;

	(void)data;
	g_mutex_lock(&lock);
	for (int i = 0; i < AT_ONCE && (record = g_queue_pop_head(&inbox)); i++) {
		if (!g_hash_table_contains(catalog, record->isbn)) {
			store(record);
			continue;
		}
		refuse(record);
		if (!goes_on) {
			g_mutex_unlock(&lock);
			return G_SOURCE_REMOVE;
		}
	}
	more = !g_queue_is_empty(&inbox);
	if (!more)
		drain_id = 0;
	g_mutex_unlock(&lock);
	return more ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static gboolean submit_record(char *isbn)
{
	struct record record = {.isbn = isbn};

	g_mutex_lock(&lock);
	g_queue_push_tail(&inbox, &record);
	if (!drain_id)
		drain_id = g_idle_add(drain_records, NULL);
	while (!record.is_done)
		g_cond_wait(&stored, &lock);
	g_mutex_unlock(&lock);
	return record.is_new;
}

static gboolean leave_loop(gpointer data)
{
	(void)data;
	g_main_loop_quit(loop);
	return G_SOURCE_REMOVE;
}

static gpointer import_records(gpointer data)
{
	struct importer *importer = data;

	for (guint i = 0; i < RECORDS; i++) {
		char isbn[32];

		g_snprintf(isbn, sizeof isbn, "978-%06u", importer->first + i);
		importer->added += submit_record(isbn);
		g_usleep(1000 + importer->first % 7 * 100); /* parses the next record */
	}
	g_mutex_lock(&lock);
	if (--importers_left == 0)
		g_idle_add(leave_loop, NULL);
	g_mutex_unlock(&lock);
	return NULL;
}

static gboolean save_catalog(gpointer data)
{
	GHashTableIter iter;
	gpointer isbn;
	guint sum = 0;

	(void)data;
	g_mutex_lock(&lock);
	g_hash_table_iter_init(&iter, catalog);
	while (g_hash_table_iter_next(&iter, &isbn, NULL))
		sum += g_str_hash(isbn);
	g_mutex_unlock(&lock);
	g_debug("saved, checksum %u", sum);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	/* The last records of the branch are those with which the shop begins. */
	struct importer importers[IMPORTERS] = {
		{.name = "import-central", .first = 1000},
		{.name = "import-branch", .first = 2000},
		{.name = "import-shop", .first = 2000 + RECORDS - 12},
	};
	guint added = 0, saver;

	goes_on = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	loop = g_main_loop_new(NULL, FALSE);
	catalog = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	saver = g_timeout_add(15, save_catalog, NULL);
	for (int i = 0; i < IMPORTERS; i++)
		importers[i].thread = g_thread_new(importers[i].name, import_records,
			&importers[i]);
	g_main_loop_run(loop);
	for (int i = 0; i < IMPORTERS; i++) {
		g_thread_join(importers[i].thread);
		added += importers[i].added;
	}
	g_source_remove(saver);
	printf("%u records are new\n", added);
	g_hash_table_unref(catalog);
	g_main_loop_unref(loop);
	return 0;
}
