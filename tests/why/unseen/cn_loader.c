/* SPDX-License-Identifier: ISC */
/*
 * After mydumper/mydumper #2104.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The workers that build indexes end when each has got a job of kind JOB_SHUTDOWN by index_queue. It is the
 *     data workers that put these there, as their last act. A restore without data has no data workers, so the
 *     index workers wait in process_index for ever, and main waits for them in wait_index_worker_to_finish.
 *   culprit: index_queue|process_index|index worker|data worker|process_data
 *   victim: main\b|wait_index_worker_to_finish
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Restores dumps of databases: tables are created, filled, and get their indexes, each by workers of its own. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

enum {
	SCHEMA_WORKERS = 2,
	DATA_WORKERS = 3,
	INDEX_WORKERS = 2
};

enum job_type {
	JOB_RESTORE,
	JOB_SHUTDOWN
};

struct job {
	enum job_type type;
	char *table;
};

struct configuration {
	const char *database;
	guint tables;
	gboolean no_data;
	GAsyncQueue *schema_queue;
	GAsyncQueue *data_queue;
	GAsyncQueue *index_queue;
	gint data_workers_left;
	gint created, filled, indexed;
};

static gboolean broken;

static struct job *new_job(enum job_type type, const char *table)
{
	struct job *job = g_new0(struct job, 1);

	job->type = type;
	job->table = g_strdup(table);
	return job;
}

static enum job_type free_job(struct job *job)
{
	enum job_type type = job->type;

	g_free(job->table);
	g_free(job);
	return type;
}

static void shutdown_workers(GAsyncQueue *queue, guint count)
{
	for (guint i = 0; i < count; i++)
		g_async_queue_push(queue, new_job(JOB_SHUTDOWN, NULL));
}

/* ---- The workers ---------------------------------------------------------------------------- */

static gpointer process_schema(gpointer data)
{
	struct configuration *conf = data;

	for (;;) {
		struct job *job = g_async_queue_pop(conf->schema_queue);

		if (job->type == JOB_RESTORE) {
			g_usleep(3000); /* CREATE TABLE */
			g_atomic_int_inc(&conf->created);
			g_async_queue_push(conf->no_data ? conf->index_queue : conf->data_queue,
				new_job(JOB_RESTORE, job->table));
		}
		if (free_job(job) == JOB_SHUTDOWN)
			return NULL;
	}
}

static gpointer process_data(gpointer data)
{
	struct configuration *conf = data;

	for (;;) {
		struct job *job = g_async_queue_pop(conf->data_queue);

		if (job->type == JOB_RESTORE) {
			g_usleep(8000); /* INSERT */
			g_atomic_int_inc(&conf->filled);
			g_async_queue_push(conf->index_queue, new_job(JOB_RESTORE, job->table));
		}
		if (free_job(job) == JOB_SHUTDOWN)
			break;
	}
	if (g_atomic_int_dec_and_test(&conf->data_workers_left))
		shutdown_workers(conf->index_queue, INDEX_WORKERS);
	return NULL;
}

static gpointer process_index(gpointer data)
{
	struct configuration *conf = data;

	for (;;) {
		struct job *job = g_async_queue_pop(conf->index_queue);

		if (job->type == JOB_RESTORE) {
			g_usleep(2000); /* ALTER TABLE … ADD INDEX */
			g_atomic_int_inc(&conf->indexed);
		}
		if (free_job(job) == JOB_SHUTDOWN)
			return NULL;
	}
}

/* ---- A restore ------------------------------------------------------------------------------ */

static void start_workers(GThread **threads, guint count, const char *name, GThreadFunc run,
	struct configuration *conf)
{
	for (guint i = 0; i < count; i++) {
		char *label = g_strdup_printf("%s %u", name, i + 1);

		threads[i] = g_thread_new(label, run, conf);
		g_free(label);
	}
}

static void join_workers(GThread **threads, guint count)
{
	for (guint i = 0; i < count; i++)
		g_thread_join(threads[i]);
}

static void wait_schema_worker_to_finish(struct configuration *conf, GThread **threads)
{
	join_workers(threads, SCHEMA_WORKERS);
	if (!broken && conf->no_data)
		shutdown_workers(conf->index_queue, INDEX_WORKERS);
}

static void wait_data_worker_to_finish(struct configuration *conf, GThread **threads)
{
	shutdown_workers(conf->data_queue, DATA_WORKERS);
	join_workers(threads, DATA_WORKERS);
}

static void wait_index_worker_to_finish(GThread **threads)
{
	join_workers(threads, INDEX_WORKERS);
}

static void restore(struct configuration *conf)
{
	GThread *schema[SCHEMA_WORKERS], *filling[DATA_WORKERS], *indexing[INDEX_WORKERS];

	conf->schema_queue = g_async_queue_new();
	conf->data_queue = g_async_queue_new();
	conf->index_queue = g_async_queue_new();
	conf->data_workers_left = DATA_WORKERS;
	start_workers(schema, SCHEMA_WORKERS, "schema worker", process_schema, conf);
	if (!conf->no_data)
		start_workers(filling, DATA_WORKERS, "data worker", process_data, conf);
	start_workers(indexing, INDEX_WORKERS, "index worker", process_index, conf);
	for (guint i = 0; i < conf->tables; i++) {
		char *table = g_strdup_printf("%s.t%u", conf->database, i + 1);

		g_async_queue_push(conf->schema_queue, new_job(JOB_RESTORE, table));
		g_free(table);
	}
	shutdown_workers(conf->schema_queue, SCHEMA_WORKERS);
	wait_schema_worker_to_finish(conf, schema);
	if (!conf->no_data)
		wait_data_worker_to_finish(conf, filling);
	wait_index_worker_to_finish(indexing);
	g_async_queue_unref(conf->schema_queue);
	g_async_queue_unref(conf->data_queue);
	g_async_queue_unref(conf->index_queue);
	printf("%s: %d tables created, %d filled, %d indexed\n", conf->database, conf->created,
		conf->filled, conf->indexed);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct configuration dumps[] = {
		{.database = "sakila", .tables = 16},
		{.database = "world", .tables = 5},
		{.database = "shop", .tables = 24},
		{.database = "template", .tables = 12, .no_data = TRUE},
		{.database = "archive", .tables = 8},
	};

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	for (guint i = 0; i < G_N_ELEMENTS(dumps); i++)
		restore(&dumps[i]);
	return 0;
}
