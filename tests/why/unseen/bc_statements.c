/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: after the schema has changed (migrate), statement_get prepares a statement anew, but doesn't note
 *     the new version in the cache's entry: from then on each query prepares its statement again; there are
 *     ten times as many tasks "prepare …", and queries take longer
 *   culprit: prepare
 *   victim: query|connection
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client of a database: connections of a few threads, each with a cache of prepared statements. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	CONNECTIONS = 3,
	QUERIES = 48,
	STATEMENTS = 4,
	MIGRATION = 16
};

static const char *const texts[STATEMENTS] = {
	"select user",
	"select orders",
	"update stock",
	"insert event",
};

struct statement {
	bool prepared;
	int schema; /* the version for which it was prepared */
	int handle;
};

struct connection {
	int number;
	pthread_t thread;
	struct statement cache[STATEMENTS];
	int next_handle;
	int prepared, answered;
};

/* The server. */
static atomic_int schema = 1;
static pthread_barrier_t migration;
static bool notes_version;

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

static void server_parse(void)
{
	pause_us(6000);
}

/* Returns false if the statement was prepared for another schema. */
static bool server_execute(const struct statement *statement, int number)
{
	if (statement->schema != atomic_load(&schema))
		return false;
	pause_us(1500 + number % 4 * 300);
	return true;
}

static int statement_prepare(struct connection *connection, int which)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_REQUEST, "prepare %s", texts[which]);

	thrum_task_wait(thrum_task_current(), task);
	server_parse();
	connection->prepared++;
	thrum_task_resolve(task);
	return ++connection->next_handle;
}

/* Returns a statement that suits the schema. */
static struct statement statement_get(struct connection *connection, int which)
{
	struct statement *cached = &connection->cache[which], result;
	int version = atomic_load(&schema);

	if (cached->prepared && cached->schema == version)
		return *cached;
	result.handle = statement_prepare(connection, which);
	result.schema = version;
	result.prepared = true;
	if (!cached->prepared || notes_version)
		*cached = result;
	else
		cached->handle = result.handle;
	return result;
}

static void query(struct connection *connection, int number)
{
	const char *text = texts[number % STATEMENTS];
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "query %s %d", text, number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		struct statement statement = statement_get(connection, number % STATEMENTS);

		if (server_execute(&statement, number)) {
			connection->answered++;
			thrum_task_resolve(task);
		} else {
			thrum_task_fail(task, "cached plan must not change result type");
		}
	}
}

/* Adds a column. All connections stand still meanwhile. */
static void migrate(struct connection *connection)
{
	int result = pthread_barrier_wait(&migration);

	if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
		thrum_log("alter table stock add column shelf");
		atomic_fetch_add(&schema, 1);
	}
	pthread_barrier_wait(&migration);
	if (connection->number == 0)
		thrum_logf("schema %d", atomic_load(&schema));
}

static void *connection_main(void *data)
{
	struct connection *connection = data;
	char name[24];

	snprintf(name, sizeof(name), "connection %d", connection->number);
	thrum_lane_name(name);
	for (int i = 0; i < QUERIES; i++) {
		if (i == MIGRATION)
			migrate(connection);
		query(connection, i);
		pause_us(500);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct connection connections[CONNECTIONS];
	int prepared = 0, answered = 0;

	notes_version = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	pthread_barrier_init(&migration, NULL, CONNECTIONS);
	for (int i = 0; i < CONNECTIONS; i++) {
		connections[i].number = i;
		pthread_create(&connections[i].thread, NULL, connection_main, &connections[i]);
	}
	for (int i = 0; i < CONNECTIONS; i++) {
		pthread_join(connections[i].thread, NULL);
		prepared += connections[i].prepared;
		answered += connections[i].answered;
	}
	thrum_stop();
	pthread_barrier_destroy(&migration);
	printf("%d answered, %d prepared\n", answered, prepared);
	return answered == CONNECTIONS * QUERIES ? 0 : 1;
}
